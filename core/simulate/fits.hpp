// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/throughput.hpp"
#include "fabric/fabric.hpp"

namespace coppice::simulate {

/// Messages from one GPU to another as they were measured, alone.
struct PairFit {
  fabric::Rank from = 0;
  fabric::Rank to = 0;
  Microseconds latency{};  ///< of a message without bytes
  Throughput rate = {};
};

/// What measurements put in place of the defaults of one fabric.
struct Fits {
  /// By Fabric::arcs(); 0 = as the fabric states.
  std::vector<Throughput> linkRates;
  /// By pairKey().
  std::unordered_map<std::uint64_t, Microseconds> latencies;
  /// Model::additionTime where the model states none; 0 = not measured.
  Microseconds additionTime{};

  [[nodiscard]] static std::uint64_t pairKey(fabric::Rank from, fabric::Rank to) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U | static_cast<std::uint32_t>(to);
  }
  [[nodiscard]] std::optional<Microseconds> latency(fabric::Rank from, fabric::Rank to) const {
    const auto found = latencies.find(pairKey(from, to));
    return found != latencies.end() ? std::optional(found->second) : std::nullopt;
  }
};

/// The latency of a pair replaces overhead and latency of its messages. Its rate replaces the bandwidth of those links
/// of its shortest route that are the slowest there, since only they can have set it; of several pairs the fastest
/// counts. Errors: badInput (a rank outside the fabric, a rate or latency that is not a number, no route).
[[nodiscard]] Result<std::shared_ptr<const Fits>> fitsFor(const fabric::Fabric& fabric, std::span<const PairFit> pairs,
                                                          Microseconds additionTime = {});

}  // namespace coppice::simulate
