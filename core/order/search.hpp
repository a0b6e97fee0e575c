// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "order/bound.hpp"
#include "order/hosts.hpp"
#include "order/pattern.hpp"

namespace coppice::order {

struct Request {
  /// The GPU at each rank as it is; empty = the hosts one after the other. It need not keep hosts together.
  std::vector<fabric::Rank> present = {};
  bool isFree = false;               ///< ranks of a host need not be consecutive
  std::uint64_t work = 200'000'000;  ///< links that may be looked at
  std::uint64_t seed = 1;            ///< of the changes that lead on from a local optimum
};

/// What an order reaches.
struct Worth {
  InverseBandwidth time;         ///< per byte of M: of the steps one after another, each as long as its fullest link
  int busiestArc = -1;           ///< the link with the longest time over all steps
  InverseBandwidth busiestTime;  ///< of this link; below `time` where steps have different busiest links

  [[nodiscard]] Bandwidth algbw() const { return time.inverse(); }
};

struct Answer {
  Worth given;                      ///< of the order as it is
  Worth best;                       ///< of `order`
  std::vector<fabric::Rank> order;  ///< by new rank: the GPU, by its rank in the fabric
  std::optional<Bound> bound;       ///< no order is faster; nullopt = none is known
  bool hasTriedAll = false;  ///< no order that is allowed is faster: all were tried, or cut off by what they load
  std::uint64_t work = 0;

  /// No order that is allowed is faster than the best one.
  [[nodiscard]] bool isProved() const { return hasTriedAll || (bound && bound->time == best.time); }
};

/// The best order found: from the given one and one by what hangs together in the fabric, by exchanging, turning round
/// and moving hosts and GPUs while that helps, then on from a changed optimum; with the rest of the work by trying all.
/// The same on every machine. @param hosts in the order as it is, which hold each GPU once
/// @pre request.present has each GPU once, or none
/// Errors: overflow, cancelled, limit.
[[nodiscard]] Result<Answer> bestOrder(const fabric::Fabric& fabric, const Pattern& pattern, const Hosts& hosts,
                                       const Request& request = {}, const Progress& progress = {});

}  // namespace coppice::order
