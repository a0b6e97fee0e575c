// SPDX-License-Identifier: Apache-2.0
#include "synth/scatter_gather.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "schedule/collective_table.hpp"

namespace coppice::synth {
namespace {

/// A scatter is found with the rounds of its bound, or some more where these do not divide well.
constexpr std::int64_t kMoreRounds = 3;
constexpr std::chrono::seconds kLongestScatter{2};
/// Chunks for each rank.
constexpr std::int64_t kMaxParts = 4;

std::int64_t sumOf(const Steps& steps) {
  return std::accumulate(steps.rounds.begin(), steps.rounds.end(), std::int64_t{0});
}

}  // namespace

std::unique_ptr<ScatterGather> ScatterGather::make(const Problem& broadcast, const Boxes& boxes, double seconds,
                                                   std::uint64_t seed, const Progress& progress) {
  if (broadcast.classes.size() != 1) {
    return nullptr;
  }
  const ChunkClass& chunks = broadcast.classes.front();
  const int nodes = broadcast.topology.nodes;
  const auto root = static_cast<int>(std::find(chunks.pre.begin(), chunks.pre.end(), true) - chunks.pre.begin());
  if (std::count(chunks.pre.begin(), chunks.pre.end(), true) != 1 ||
      std::find(chunks.post.begin(), chunks.post.end(), false) != chunks.post.end()) {
    return nullptr;
  }
  const auto all = schedule::CollectiveTable::make(Collective::allgather, nodes);
  const auto parts = schedule::CollectiveTable::make(Collective::scatter, nodes, root);
  if (!all || !parts) {
    return nullptr;
  }
  auto allgather = problemOf(broadcast.topology, *all);
  auto scatter = problemOf(broadcast.topology, *parts);
  if (!allgather || !scatter) {
    return nullptr;
  }
  std::unique_ptr<ScatterGather> result(new ScatterGather(*std::move(allgather)));
  result->m_broadcast = &broadcast;
  result->m_boxes = boxes.count();
  result->m_levels = TwoLevel::make(result->m_allgather, boxes, seconds, seed, progress);
  if (!result->m_levels) {
    return nullptr;
  }
  result->m_scatter = std::make_unique<Search>(*std::move(scatter), seed, progress);
  return result;
}

const Steps* ScatterGather::scatter(int steps, std::int64_t parts) {
  if (steps < m_scatter->minSteps()) {
    return nullptr;
  }
  const auto [known, isNew] = m_known.try_emplace({steps, parts});
  if (isNew) {
    const auto deadline = Clock::now() + kLongestScatter;
    const Rational bound = m_scatter->ratioBound(steps, deadline).ratio * Rational(parts);
    const std::int64_t first = std::max<std::int64_t>(steps, -(-bound).floor());
    for (std::int64_t rounds = first; !known->second && rounds <= first + kMoreRounds; ++rounds) {
      known->second = m_scatter->decide({steps, rounds, parts}, deadline).found;
    }
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<ScatterGather::Choice> ScatterGather::choose(int steps, std::int64_t parts) {
  std::optional<Choice> best;
  for (int first = 1; steps - first >= m_levels->minSteps(); ++first) {
    const Steps* scattered = scatter(first, parts);
    const auto gathered = m_levels->rounds(steps - first, parts);
    if (scattered != nullptr && gathered && (!best || sumOf(*scattered) + *gathered < best->rounds)) {
      best = Choice{first, sumOf(*scattered) + *gathered};
    }
  }
  return best;
}

std::int64_t ScatterGather::maxChunks() const {
  return kMaxParts * unit();
}

std::string ScatterGather::how() const {
  return "found by two levels: a scatter by maximum flow, then an allgather of " + std::to_string(m_boxes) + " boxes";
}

std::optional<std::int64_t> ScatterGather::rounds(int steps, std::int64_t n) {
  const auto choice = choose(steps, n / unit());
  return choice ? std::optional(choice->rounds) : std::nullopt;
}

std::optional<Steps> ScatterGather::schedule(int steps, std::int64_t n) {
  const std::int64_t parts = n / unit();
  const auto choice = choose(steps, parts);
  if (!choice) {
    return std::nullopt;
  }
  // Chunk i for rank v is number v * parts + i in all three problems.
  Steps result = *scatter(choice->scatterSteps, parts);
  auto gathered = m_levels->schedule(steps - choice->scatterSteps, parts);
  if (!gathered) {
    return std::nullopt;
  }
  result.rounds.insert(result.rounds.end(), gathered->rounds.begin(), gathered->rounds.end());
  for (Send send : gathered->sends) {
    send.step += choice->scatterSteps;
    result.sends.push_back(send);
  }
  prune(*m_broadcast, n, result);
  return result;
}

}  // namespace coppice::synth
