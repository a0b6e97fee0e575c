// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

/// A table of links as a spreadsheet saves it: one link a row, columns tail, head, bandwidth, count, direction.
namespace coppice::io {

/// Reads comma, semicolon or tab separated text (RFC 4180 quoting; the separator is the one that the first row has most
/// of). A first row that names columns (tail/from/src/source, head/to/dst/target, bandwidth/gbps/bw, count/parallel,
/// direction/duplex, latency) may put them in any order; without one the order is as above and the first two or three
/// are needed. direction: both (also duplex, true, <->, empty) or one (also forward, false, ->). A bandwidth is
/// whatever Bandwidth::parse reads; it is kept as written. Lines that begin with # are ignored.
///
/// Nodes are made of the names, in the order in which they come up. Their kind is guessed by the name, with a note:
/// "nic", "hca", "mlx" → nic; "sw", "leaf", "spine", "tor", "core", "ib" and the like → switch; else gpu.
/// Errors: badInput with line and column, limit.
Result<ImportResult> readLinkCsv(std::string_view text, const std::string& fileName);

/// Header row, then one row a link. Reading the text gives the same links. What names the columns is not quoted; names
/// that need quotes are.
std::string writeLinkCsv(const fabric::Description& description);

/// The text looks like such a table: its first row that is no comment has two fields or more and either names tail and
/// head, or ends in something that reads as a bandwidth.
[[nodiscard]] bool looksLikeLinkCsv(std::string_view text);

}  // namespace coppice::io
