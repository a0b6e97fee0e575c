// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/duration.hpp"
#include "base/rational.hpp"
#include "base/units.hpp"

/// Which entry of a front is fastest for which sizes.
namespace coppice::finder {

/// Hop latency and bandwidth of a node (all its ports together).
struct TimeModel {
  ExactMicroseconds alpha;  ///< of a step
  Bandwidth bandwidth;      ///< positive
};

/// Both halves of a collective that is made of them: allgather has one, allreduce two.
struct Cost {
  int steps = 0;
  Rational bandwidthTime;  ///< in units of M/B

  friend bool operator==(const Cost&, const Cost&) = default;
};
[[nodiscard]] Cost operator+(const Cost& a, const Cost& b);

/// T alpha + T_B M/B in microseconds. @param bytes M, the data of all nodes together. Throws OverflowError.
[[nodiscard]] ExactMicroseconds timeOf(const Cost& cost, const TimeModel& model, const Rational& bytes);

/// From `bytes` on the entry is the fastest, up to the next range.
struct SizeRange {
  Rational fromBytes;
  std::size_t entry = 0;
};
/// The lower envelope over all sizes from 0 on, exact; of equals the first. @param costs any order, not empty.
/// Throws OverflowError.
[[nodiscard]] std::vector<SizeRange> fastestBySize(std::span<const Cost> costs, const TimeModel& model);

/// The entry with the minimum weighted sum of times.
struct WeightedSize {
  Rational bytes;
  Rational weight = 1;
};
[[nodiscard]] std::size_t fastestFor(std::span<const Cost> costs, const TimeModel& model,
                                     std::span<const WeightedSize> sizes);

}  // namespace coppice::finder
