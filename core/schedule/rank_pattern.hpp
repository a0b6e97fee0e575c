// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/rational.hpp"

namespace coppice::schedule {

/// What one place of an order of ranks sends to another one in a step.
struct RankMessage {
  int from = 0;
  int to = 0;
  Rational amount;  ///< bytes per byte of M

  friend bool operator==(const RankMessage&, const RankMessage&) = default;
};

/// Messages that run at the same time; the next step begins when all are there.
struct RankStep {
  std::int64_t count = 1;             ///< how often the same step runs
  std::vector<RankMessage> messages;  ///< by sender, then receiver, each pair once
};

/// What an algorithm sends, by ranks alone.
struct RankPattern {
  int places = 0;
  /// It treats the inside of hosts and the network apart: hosts have as many GPUs each, at consecutive places.
  bool usesHosts = false;
  std::vector<RankStep> steps = {};
};

}  // namespace coppice::schedule
