// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

/// MSCCL XML, as the runtimes read it (formats note, sections 1.1 to 1.13). Their hand-written parser is not an XML
/// parser: no prolog, no tabs, double quotes only, one tag on one line with single blanks between attributes.
namespace coppice::program {

/// The portable form (1.13): one element per line, all attributes of the hierarchy algo > gpu > tb > step present, ids
/// and s in order. Runtimes differ in the spelling of reduce-scatter alone. The name is cleaned: markup, control and
/// non-ASCII characters become '_', at most 63 characters, and never exactly "2D", which MSCCL takes for a built-in.
[[nodiscard]] std::string writeMscclXml(const Program& program, Runtime runtime);
/// The same, rank by rank, without holding the text in memory.
void writeMscclXml(std::ostream& out, const Program& program, Runtime runtime);

/// What a file says, and everything in it that the runtime refuses or reads differently than a person would.
struct MscclFile {
  Program program;
  /// Severity::error: some rank of that runtime rejects the file or misbehaves (rejection by one rank alone hangs the
  /// job). warning: read, but hardly as meant. note: ignored by the runtime. In order of discovery, with line and
  /// column; at most 200.
  std::vector<Finding> findings;
};

/// Reads any MSCCL XML, even if the runtime would reject it: faults become findings and reading continues, so that all
/// of them come at once. Where the runtime's reading is defined (integers like strtol with base 0, the first of two
/// equal attributes, the first 16 attribute slots), the program holds that reading; threadblocks whose ids are not a
/// permutation of 0..n-1 keep the document's order. root stays -1. Without the attributes, minBytes and maxBytes get
/// MSCCL's defaults 0 and 2^27, and outOfPlace = not inPlace.
/// Linear in the text. Errors: badInput when there is no `algo` element to speak of or elements nest deeper than 256;
/// limit for texts above 1 GiB or more than 2^22 tb and step elements.
Result<MscclFile> readMscclXml(std::string_view text, Runtime runtime, std::string_view fileName = {});

}  // namespace coppice::program
