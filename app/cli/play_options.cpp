// SPDX-License-Identifier: Apache-2.0
#include "play_options.hpp"

#include <cmath>

#include "base/rational.hpp"
#include "base/text.hpp"
#include "input.hpp"
#include "simulate/sweep.hpp"
#include "workflow/sizes.hpp"

namespace coppice::cli {

void addSizeOptions(CLI::App& sub, SizeOptions& options) {
  const std::string defaults = workflow::byteSize(options.defaultFirst);
  sub.add_option("-b,--begin", options.first,
                 "Smallest size of the whole collective, for example 64K or 1M (default " + defaults + ")");
  sub.add_option("-e,--end", options.last,
                 "Largest size (default: that of -b; without -b, " + workflow::byteSize(options.defaultLast) + ")");
  sub.add_option("-f,--factor", options.factor, "Factor from one size to the next")->capture_default_str();
}

Result<std::vector<std::int64_t>> sizesOf(const SizeOptions& options) {
  std::int64_t first = options.defaultFirst;
  std::int64_t last = options.defaultLast;
  if (!options.first.empty()) {
    const auto parsed = workflow::parseBytes(options.first, "begin");
    if (!parsed) {
      return parsed.error();
    }
    first = last = *parsed;
  }
  if (!options.last.empty()) {
    const auto parsed = workflow::parseBytes(options.last, "end");
    if (!parsed) {
      return parsed.error();
    }
    last = *parsed;
  }
  if (first < 1 || last < first) {
    return Error{ErrorCode::badUsage, first < 1 ? "-b: a simulation needs at least one byte" : "-e is smaller than -b",
                 "give sizes, for example -b 1M -e 1G"};
  }
  const auto factor = Rational::parse(options.factor);
  if (!factor || *factor <= Rational(1)) {
    return Error{ErrorCode::badUsage, "-f: " + inQuotes(options.factor) + " is not a number above 1",
                 "give the factor between two sizes, for example -f 2"};
  }
  auto sizes = simulate::sizesOf(first, last, factor->toDouble());
  constexpr std::size_t kMaxSizes = 1000;
  if (sizes.size() > kMaxSizes) {
    return Error{
        ErrorCode::badUsage,
        std::to_string(sizes.size()) + " sizes are too many; at most " + std::to_string(kMaxSizes) + " are simulated",
        "give a larger -f"};
  }
  return sizes;
}

void addModelOptions(CLI::App& sub, ModelOptions& options) {
  constexpr double kMaxNumber = 1e6;
  sub.add_option("--link-latency", options.linkLatency,
                 "Latency of every link in us (default: what the fabric states; else GPU-GPU 0.7, GPU-switch 0.35, "
                 "GPU-NIC 1, NIC-switch 1.25, NIC-NIC 2.5, switch-switch 0.5)")
      ->check(CLI::Range(0.0, kMaxNumber));
  sub.add_option("--message-overhead", options.messageOverhead,
                 "What each message costs its sender in us (default: 1, over a NIC 2)")
      ->check(CLI::Range(0.0, kMaxNumber));
  sub.add_option("--connection-rate", options.connectionRate,
                 "Maximum rate of one connection or threadblock in GB/s (default: that of its links)")
      ->check(CLI::Range(0.0, kMaxNumber));
  sub.add_option("--total-rate", options.totalRate,
                 "Maximum rate of all messages together in GB/s, for ranks that share the cores of one machine "
                 "(default: no limit but the links)")
      ->check(CLI::Range(0.0, kMaxNumber));
  constexpr double kMaxMessageBytes = 1e9;
  sub.add_option("--message-bytes", options.messageBytes,
                 "What each message costs its links, as bytes: headers, or work of the cores (default: 0)")
      ->check(CLI::Range(0.0, kMaxMessageBytes));
  sub.add_option("--addition-time", options.additionPicoseconds,
                 "What a GPU takes to add one byte to what it has, in ps: 1 ps is 1000 GB/s. Sums in switches take no "
                 "time (default: 0, or what --profile measured)")
      ->check(CLI::Range(0.0, simulate::kMaxAdditionPicoseconds));
  sub.add_option(
      "--profile", options.profile,
      "Use the message costs of a coppice-exec profile instead of the latencies and bandwidths of the fabric: for each "
      "pair of ranks (profile --json), or for all ranks at once (profile --together --json)");
  sub.add_option("--window", options.window, "Schedules: number of messages that a connection may have in flight")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
}

Result<simulate::Model> modelOf(const ModelOptions& options) {
  for (const double number :
       {options.linkLatency.value_or(0), options.messageOverhead.value_or(0), options.connectionRate, options.totalRate,
        options.messageBytes, options.additionPicoseconds}) {
    if (!std::isfinite(number)) {
      return Error{ErrorCode::badUsage, "latencies and rates are numbers",
                   "give numbers, for example --link-latency 0.5"};
    }
  }
  const auto time = [](const std::optional<double>& microseconds) {
    return microseconds ? std::optional(Microseconds(*microseconds)) : std::nullopt;
  };
  return simulate::Model{.linkLatency = time(options.linkLatency),
                         .messageOverhead = time(options.messageOverhead),
                         .rateCap = Throughput(options.connectionRate),
                         .totalRate = Throughput(options.totalRate),
                         .messageBytes = options.messageBytes,
                         .additionTime = simulate::additionTime(options.additionPicoseconds),
                         .window = options.window};
}

}  // namespace coppice::cli
