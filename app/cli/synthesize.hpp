// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "command.hpp"
#include "input.hpp"
#include "workflow/request.hpp"

/// `synthesize`: searches for schedules. Each method is one entry of the list in synthesize.cpp and one file.
namespace coppice::cli {

/// What all methods are asked.
struct SynthesisQuestion {
  FabricOptions fabric;  ///< the source is empty where none is given
  workflow::DemandText demand;
  double seconds = 60;
  std::uint64_t seed = 1;
  std::string output;
};

/// One way to search, with the options that only it has.
class SynthesisMethod {
public:
  virtual ~SynthesisMethod() = default;
  /// As --method takes it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Heading of its options in --help.
  [[nodiscard]] virtual std::string title() const = 0;
  virtual void addOptions(CLI::App& sub) = 0;
  [[nodiscard]] virtual Result<Report> run(const SynthesisQuestion& question, bool json, const Progress& progress) = 0;
};

[[nodiscard]] std::unique_ptr<SynthesisMethod> scclMethod();  // synthesize_sccl.cpp
[[nodiscard]] std::unique_ptr<SynthesisMethod> tacclMethod();  // synthesize_taccl.cpp

}  // namespace coppice::cli
