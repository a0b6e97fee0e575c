// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "simulate/job.hpp"

/// What the commands that simulate have in common: sizes, and the model of links and messages.
namespace coppice::cli {

struct SizeOptions {
  std::string first = {};
  std::string last = {};
  std::string factor = "2";
  std::int64_t defaultFirst = std::int64_t{1} << 20;
  std::int64_t defaultLast = std::int64_t{1} << 30;
};

/// -b, -e and -f.
void addSizeOptions(CLI::App& sub, SizeOptions& options);
/// Errors: badUsage (no size, too many).
[[nodiscard]] Result<std::vector<std::int64_t>> sizesOf(const SizeOptions& options);

struct ModelOptions {
  std::optional<double> linkLatency = {};
  std::optional<double> messageOverhead = {};
  double connectionRate = 0;
  double totalRate = 0;
  double messageBytes = 0;
  double additionPicoseconds = 0;  ///< per byte
  std::uint32_t window = 1;
  std::string profile = {};
};

/// --link-latency, --message-overhead, --connection-rate, --total-rate, --message-bytes, --addition-time,
/// --window and --profile.
void addModelOptions(CLI::App& sub, ModelOptions& options);
/// Without the profile, which needs the fabric (workflow::withProfile). Errors: badUsage for what is not a number.
[[nodiscard]] Result<simulate::Model> modelOf(const ModelOptions& options);

}  // namespace coppice::cli
