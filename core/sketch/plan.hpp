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

/// Why nothing is shorter: a relaxation, which drops all of a schedule but one machine or one cut.
struct BoundReason {
  std::string relaxation;             ///< "path", "in ports", "links between nodes", "flow", …
  std::string members;                ///< GPUs, nodes and how many chunks it is about
  std::vector<std::int64_t> weights;  ///< of "flow": by machine of the model

  friend bool operator==(const BoundReason&, const BoundReason&) = default;
};

/// A schedule with a planned time for everything.
struct Plan {
  Collective collective = Collective::allgather;
  int root = 0;                   ///< of a rooted collective
  std::vector<Message> messages;  ///< ascending by start, then link
  Rational makespan;
  Rational bound;  ///< nothing on these links is shorter; of allreduce: no reduction followed by a copy
  std::vector<BoundReason> boundReasons;  ///< one; of allreduce first the reduction's, then the copy's
  int connections = 0;                    ///< links in use within a node: the most of any node
  std::vector<Permutation> symmetries;    ///< that map the plan to itself: generators
};

/// For messages: "flow"; of allreduce "flow; path".
[[nodiscard]] std::string relaxationsOf(const Plan& plan);
/// Likewise the members.
[[nodiscard]] std::string boundMembersOf(const Plan& plan);

}  // namespace coppice::sketch
