// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/files.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/options.hpp"
#include "workflow/request.hpp"

/// What subcommands read: fabrics in any form, and the question about them.
namespace coppice::cli {

using FabricOptions = workflow::FabricSource;
using workflow::inputName;
using workflow::loadDescription;
using workflow::LoadedDescription;
using workflow::LoadedFabric;
using workflow::loadFabric;

/// Standard input to its end. Errors: io; badInput above maxBytes.
[[nodiscard]] Result<std::string> readStandardInput(std::size_t maxBytes);
/// Text of a file, or of standard input for "-". Errors: io; badInput or limit above maxBytes.
[[nodiscard]] Result<std::string> readText(const std::string& path, std::size_t maxBytes = io::kMaxFileBytes);
/// Puts a finished text where -o says: into the file (whole or not at all), and a line of `label` and path into the
/// report; or, for "-", into Report::document. Errors: io; badUsage for "-" together with --json.
[[nodiscard]] Outcome deliver(const std::string& output, std::string text, const std::string& label, bool json,
                              Report& report);

/// The same for a text too large to hold: `write` streams it into the file.
[[nodiscard]] Outcome deliver(const std::string& output, const std::function<Outcome(std::ostream&)>& write,
                              const std::string& label, bool json, Report& report);

/// Errors: badUsage where both are the same file, by whatever names.
[[nodiscard]] Outcome keepInput(const std::string& input, const std::string& output);

/// Adds the positional argument F with the options that say how to read it.
void addFabricOptions(CLI::App& sub, FabricOptions& options);
/// Those that say what a foreign file leaves open; addFabricOptions has them too.
void addImportOptions(CLI::App& sub, io::ImportAnswers& import);

/// Collective, root and amounts.
void addDemandOptions(CLI::App& sub, workflow::DemandText& options);

/// Adds `--name` for each option that is not there yet; what is given goes into `values`, unchecked.
/// @param group heading in --help; empty = that of the others
void addOptions(CLI::App& sub, const std::vector<workflow::Option>& options, workflow::Values& values,
                const std::string& group = {});

}  // namespace coppice::cli
