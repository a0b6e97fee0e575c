// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lowering/plan.hpp"

/// Internal to core/lowering: how a plan comes about.
namespace coppice::lowering {

/// How hard to press the program into the limits.
struct Tactics {
  std::int64_t blockRate = kBlockRate;  ///< GB/s per channel
  bool separatePhases = true;  ///< allreduce: both halves on channels of their own, so that neither waits for the other
  /// Threadblocks that serve both directions though these have little in common.
  enum class Sharing { none, whereScarce, everywhere } sharing = Sharing::none;
};

/// All messages between two ranks that ask for the same channel parity.
struct Group {
  int from = 0;
  int to = 0;
  Parity parity = Parity::any;
  int phase = -1;  ///< -1 = both
  std::int64_t load = 0;
  int messages = 0;
  int steps = 0;
  int longest = 1;         ///< steps that one message takes
  std::vector<int> lanes;  ///< connections
};

/// Channels (lanes.cpp), threadblocks and fused steps (blocks.cpp), pressed into the limits (plan.cpp).
class Planner {
public:
  Planner(const Moves& moves, const Options& options, const Style& style, const std::vector<CopyNeed>& copies,
          const Progress& progress);
  Result<Plan> run();

private:
  [[nodiscard]] const Move& at(int message) const { return m_moves.moves[message]; }
  [[nodiscard]] int countOf(int message) const { return at(message).count; }
  /// Of the longer end.
  [[nodiscard]] int stepsOf(int message) const { return std::max(at(message).receiveSteps, at(message).sendSteps); }
  [[nodiscard]] int sendBlockOf(int message) const { return m_plan.sendBlockOf(at(message), message); }
  [[nodiscard]] int recvBlockOf(int message) const { return m_plan.recvBlockOf(at(message), message); }

  // plan.cpp
  [[nodiscard]] Outcome squeeze(Tactics tactics);
  [[nodiscard]] bool relax(Tactics& tactics);
  [[nodiscard]] std::optional<Error> checkPeers() const;
  [[nodiscard]] std::optional<Error> attempt(const Tactics& tactics);
  void countSteps();
  template <typename Measure>
  [[nodiscard]] int busiestRank(const Measure& measure) const;
  [[nodiscard]] int blocksOf(int rank) const {
    return static_cast<int>(m_plan.blocks[rank].size()) + m_copies[rank].blocks;
  }
  [[nodiscard]] std::int64_t elementsOf(int rank) const;
  [[nodiscard]] std::string runtimeName() const { return std::string(program::toString(m_options.runtime)); }
  [[nodiscard]] Error tooFewChannels(const Group& group, int min) const;

  // lanes.cpp
  void makeGroups(const Tactics& tactics);
  [[nodiscard]] int wantedLanes(const Group& group, const Tactics& tactics, int min) const;
  [[nodiscard]] std::optional<Error> openConnections(const Tactics& tactics);
  void openLanes(Group& group, int wanted);
  void assignByTime();
  void assignAlongNeighbours();
  void put(int message, int connection);
  void dropUnused();
  [[nodiscard]] int pickLane(int message, int preferredChannel) const;

  // blocks.cpp
  struct Pair {
    int in = 0;
    int out = 0;
    std::int64_t load = 0;
    int messages = 0;
  };
  [[nodiscard]] std::vector<Pair> forwardingPairs() const;
  void pairConnections(const Tactics& tactics);
  void makeBlocks(const std::vector<bool>& outTaken);
  template <typename IsScarce, typename Join>
  void packRest(const std::vector<bool>& outTaken, const IsScarce& isScarce, const Join& join);
  void fuse();
  void cutChains();

  const Moves& m_moves;
  const Options& m_options;
  const std::vector<CopyNeed>& m_copies;
  const Progress& m_progress;
  const program::RuntimeLimits& m_limit;
  const Style& m_style;
  const bool m_fuses;
  int m_channelsEach = 1;
  int m_blocksEach = 1;
  bool m_hasSpareLanes = false;
  std::vector<Group> m_groups;
  std::vector<int> m_groupOrder;
  std::vector<int> m_groupOf;
  std::vector<int> m_mateOfIn;
  std::vector<int> m_steps;  ///< by rank
  // While connections open: peers in use by rank and channel, and connections by sender, receiver and channel.
  std::vector<int> m_senders;
  std::vector<int> m_receivers;
  std::unordered_map<std::int64_t, int> m_known;
  Plan m_plan;
};

}  // namespace coppice::lowering
