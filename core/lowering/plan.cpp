// SPDX-License-Identifier: Apache-2.0
#include "lowering/plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lowering/early_check.hpp"
#include "lowering/planner.hpp"

namespace coppice::lowering {

Planner::Planner(const Moves& moves, const Options& options, const Style& style, const std::vector<CopyNeed>& copies,
                 const Progress& progress)
    : m_moves(moves),
      m_options(options),
      m_copies(copies),
      m_progress(progress),
      m_limit(program::limits(options.runtime)),
      m_style(style),
      m_fuses(style.fuses && !program::isRccl(options.runtime)) {
  m_channelsEach = std::min(m_limit.channels, 32) / options.instances;
  if (options.channels == ChannelPolicy::nicPlanes) {
    m_channelsEach -= m_channelsEach % 2;
  }
  m_blocksEach = blocksAtOnce(options) / options.instances;
}

Result<Plan> Planner::run() {
  if (m_channelsEach < 1) {
    return Error{ErrorCode::limit,
                 std::to_string(m_options.instances) + " instances need " +
                     (m_options.channels == ChannelPolicy::nicPlanes ? "two channels each" : "a channel each") +
                     ", and " + runtimeName() + " has " + std::to_string(std::min(m_limit.channels, 32)),
                 "use fewer instances",
                 {}};
  }
  Tactics tactics;
  tactics.blockRate = m_style.blockRate;
  // The halves of an allreduce need different channels, of either parity where that matters.
  const int classes = m_options.channels == ChannelPolicy::nicPlanes ? 2 : 1;
  tactics.separatePhases = m_moves.phases == 2 && m_channelsEach >= 2 * classes;
  makeGroups(tactics);
  if (const std::optional<Error> failed = checkPeers()) {
    return *failed;
  }
  if (const Outcome fits = squeeze(tactics); !fits) {
    return fits.error();
  }
  return std::move(m_plan);
}

Outcome Planner::squeeze(Tactics tactics) {
  do {
    throwIfCancelled(m_progress);
    if (const std::optional<Error> failed = attempt(tactics)) {
      return *failed;
    }
  } while (relax(tactics));
  const int max = busiestRank([&](int rank) { return blocksOf(rank); });
  if (blocksOf(max) > m_blocksEach) {
    return tooManyBlocks(max, blocksOf(max), m_options, m_moves.fix);
  }
  const int fullest = busiestRank([&](int rank) { return elementsOf(rank); });
  if (elementsOf(fullest) > m_limit.xmlNodes) {
    return tooManyElements(fullest, elementsOf(fullest), false, m_options, m_moves.fix);
  }
  return Done{};
}

/// What to try where the plan takes too much. False where it does not, or where nothing is left to try.
bool Planner::relax(Tactics& tactics) {
  const int blocks = blocksOf(busiestRank([&](int rank) { return blocksOf(rank); }));
  if (blocks > std::min(m_blocksEach, m_style.blocks / m_options.instances) && m_hasSpareLanes) {
    tactics.blockRate += std::max<std::int64_t>(tactics.blockRate / 4, 1);
    return true;
  }
  if (blocks > m_blocksEach && tactics.separatePhases) {
    tactics.separatePhases = false;
    makeGroups(tactics);
    return true;
  }
  if (blocks > m_blocksEach) {
    const bool isLeft = tactics.sharing == Tactics::Sharing::none;
    tactics.sharing = Tactics::Sharing::whereScarce;
    return isLeft;
  }
  const int fullest = busiestRank([&](int rank) { return elementsOf(rank); });
  if (elementsOf(fullest) > m_limit.xmlNodes && tactics.sharing != Tactics::Sharing::everywhere) {
    tactics.sharing = Tactics::Sharing::everywhere;
    return true;
  }
  return false;
}

/// However they are shared: every peer that a rank sends to takes a threadblock, and so does every one it receives
/// from.
std::optional<Error> Planner::checkPeers() const {
  std::vector<std::pair<int, int>> out;
  std::vector<std::pair<int, int>> in;
  for (const Group& group : m_groups) {
    out.emplace_back(group.from, group.to);
    in.emplace_back(group.to, group.from);
  }
  std::vector<int> need(m_moves.gpuCount, 0);
  for (std::vector<std::pair<int, int>>* const pairs : {&out, &in}) {
    std::sort(pairs->begin(), pairs->end());
    pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
    std::vector<int> peers(m_moves.gpuCount, 0);
    for (const auto& [rank, peer] : *pairs) {
      need[rank] = std::max(need[rank], ++peers[rank]);
    }
  }
  for (int rank = 0; rank < m_moves.gpuCount; ++rank) {
    if (need[rank] + m_copies[rank].blocks > m_blocksEach) {
      return tooManyBlocks(rank, need[rank] + m_copies[rank].blocks, m_options, m_moves.fix);
    }
  }
  return std::nullopt;
}

std::optional<Error> Planner::attempt(const Tactics& tactics) {
  m_plan = Plan{};
  m_plan.connectionOf.assign(m_moves.moves.size(), -1);
  m_plan.next.assign(m_moves.moves.size(), -1);
  m_plan.previous.assign(m_moves.moves.size(), -1);
  if (std::optional<Error> failed = openConnections(tactics)) {
    return failed;
  }
  if (m_fuses) {
    assignAlongNeighbours();
  } else {
    assignByTime();
  }
  dropUnused();
  pairConnections(tactics);
  fuse();
  cutChains();
  countSteps();
  return std::nullopt;
}

void Planner::countSteps() {
  m_plan.events = 0;
  m_steps.assign(m_moves.gpuCount, 0);
  for (int rank = 0; rank < m_moves.gpuCount; ++rank) {
    m_steps[rank] = m_copies[rank].steps;
  }
  for (const int m : m_moves.order) {
    const bool starts = m_plan.previous[m] < 0;
    m_steps[at(m).from] += starts ? at(m).sendSteps : 0;
    m_steps[at(m).to] += at(m).receiveSteps;
    m_plan.events += starts ? 2 : 1;
  }
}

template <typename Measure>
int Planner::busiestRank(const Measure& measure) const {
  int best = 0;
  for (int rank = 1; rank < m_moves.gpuCount; ++rank) {
    if (measure(rank) > measure(best)) {
      best = rank;
    }
  }
  return best;
}

/// XML elements that the rank's parser counts: algo, gpus, its threadblocks and its steps.
std::int64_t Planner::elementsOf(int rank) const {
  return std::int64_t{1} + m_moves.gpuCount + std::int64_t{m_options.instances} * (blocksOf(rank) + m_steps[rank]);
}

Error Planner::tooFewChannels(const Group& group, int min) const {
  return {ErrorCode::limit,
          "rank " + std::to_string(group.from) + " sends " + std::to_string(group.steps) + " steps to rank " +
              std::to_string(group.to) + ", which takes " + std::to_string(min) + " channels of " +
              std::to_string(m_limit.stepsPerThreadBlock) + " steps and at most " +
              std::to_string(m_limit.peersPerChannel) + " peers; " + runtimeName() + " leaves " +
              std::to_string(group.lanes.size()) + " of " + std::to_string(m_channelsEach) + " for them (" +
              std::to_string(min - static_cast<int>(group.lanes.size())) + " too few)",
          m_moves.fix,
          {}};
}

Result<Plan> makePlan(const Moves& moves, const Options& options, const Style& style,
                      const std::vector<CopyNeed>& copies, const Progress& progress) {
  return Planner(moves, options, style, copies, progress).run();
}

}  // namespace coppice::lowering
