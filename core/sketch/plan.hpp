// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "sketch/model.hpp"

namespace coppice::sketch {

/// Chunks that go over a link together: one start, one arrival. Times are in the unit of the topology file.
struct Message {
  int link = 0;             ///< into Model::links
  std::vector<int> chunks;  ///< ascending, as chunksOf counts them
  Rational start;
  Rational end;
  bool reduces = false;  ///< the receiver adds the chunks to what it has
  int phase = 0;         ///< allreduce: 0 reduces, 1 copies

  friend bool operator==(const Message&, const Message&) = default;
};

/// A schedule with a planned time for everything.
struct Plan {
  Collective collective = Collective::allgather;
  int root = 0;                   ///< of a rooted collective
  std::vector<Message> messages;  ///< ascending by start, then link
  Rational makespan;
  Rational bound;  ///< nothing on these links is shorter; of allreduce: no reduction followed by a copy
  std::string boundName;
  std::string boundMembers;
  /// Of a bound "flow": weights by machine of the model, which prove it; of an allreduce, first the reduction's.
  std::vector<std::vector<std::int64_t>> boundWeights;
  int connections = 0;                  ///< links in use within a node: the most of any node
  std::vector<Permutation> symmetries;  ///< that map the plan to itself: generators
};

}  // namespace coppice::sketch
