// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/hub_trees.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/rational.hpp"
#include "forestcoll/in_network/hub_parts.hpp"
#include "forestcoll/in_network/joined_trees.hpp"
#include "forestcoll/in_network/side_by_side.hpp"

namespace coppice::forestcoll {
namespace {

class HubPacking {
public:
  HubPacking(const TreeGraph& graph, const std::vector<bool>& mayBranch, const Bandwidth& upper,
             std::chrono::milliseconds budget, ColumnEffort effort, const Progress& progress)
      : m_parts(graph, mayBranch), m_upper(upper), m_budget(budget), m_effort(effort), m_progress(progress) {}

  std::optional<TreePacking> run() {
    std::vector<int> candidates = m_parts.hubs();
    std::optional<TreePacking> best;
    while (!candidates.empty()) {
      const HubSplit split = m_parts.splitBy(candidates);
      if (auto packing = split.parts.size() > 1 ? pack(split) : std::nullopt;
          packing && (!best || best->algbw() < packing->algbw())) {
        best = std::move(packing);
      }
      if (best && best->algbw() >= m_upper) {
        break;
      }
      const bool mayJoin = split.parts.size() > 1 && m_effort == ColumnEffort::thorough;
      if (auto packing = mayJoin ? packJoined(m_parts, split, m_upper, m_budget, m_progress) : std::nullopt;
          packing && (!best || best->algbw() < packing->algbw())) {
        best = std::move(packing);
      }
      candidates = m_parts.withoutLowest(candidates);
    }
    return best;
  }

private:
  std::optional<TreePacking> pack(const HubSplit& split) {
    const std::vector<Rational> shares = m_parts.sharesOf(split);
    struct Kind {
      PartProblem problem;
      Bandwidth upper;
      std::optional<TreePacking> packing = {};
    };
    std::map<PartProblem::Key, std::size_t> numberOf;
    std::vector<Kind> kinds;
    std::vector<std::vector<std::size_t>> kindOf(split.hubs.size());  // by hub and part
    Rational limit;
    for (std::size_t hub = 0; hub < split.hubs.size(); ++hub) {
      if (shares[hub].isZero()) {
        continue;
      }
      Rational least = m_upper.gigabytesPerSecond();
      for (std::size_t part = 0; part < split.parts.size(); ++part) {
        throwIfCancelled(m_progress);
        PartProblem problem = m_parts.oneHubProblem(split, static_cast<int>(part), split.hubs[hub], shares[hub]);
        least = std::min(least, leastIntoGpu(problem.graph).gigabytesPerSecond());
        const auto [found, isNew] = numberOf.try_emplace(problem.key(), kinds.size());
        if (isNew) {
          kinds.push_back({std::move(problem), m_upper * shares[hub]});
        }
        if (kinds.size() > kMaxPartKinds) {
          return std::nullopt;
        }
        kindOf[hub].push_back(found->second);
      }
      limit += least;
    }
    if (kinds.empty() || limit < m_upper.gigabytesPerSecond() * kHubsWorthIt) {
      return std::nullopt;
    }
    for (Kind& kind : kinds) {
      kind.packing = packTrees(kind.problem.graph, kind.problem.mayBranch, std::nullopt, kind.upper,
                               m_budget / static_cast<int>(kinds.size()), m_effort, m_progress);
      if (!kind.packing) {
        return std::nullopt;
      }
    }
    WholeTrees trees;
    for (std::size_t hub = 0; hub < split.hubs.size(); ++hub) {
      if (kindOf[hub].empty()) {
        continue;
      }
      Rational rate = m_upper.gigabytesPerSecond();
      for (const std::size_t kind : kindOf[hub]) {
        rate = std::min(rate, kinds[kind].packing->algbw().gigabytesPerSecond());
      }
      std::vector<std::vector<TreePiece>> sequences;
      for (std::size_t part = 0; part < split.parts.size(); ++part) {
        const std::vector<int>& nodes = split.parts[part];
        sequences.push_back(sequenceOf(*kinds[kindOf[hub][part]].packing, rate, [&](int number, int) {
          return number == static_cast<int>(nodes.size()) ? split.hubs[hub] : nodes[number];
        }));
      }
      addSideBySide(sequences, split.hubs[hub], rate, m_progress, trees);
    }
    return packingOf(std::move(trees));
  }

  HubParts m_parts;
  const Bandwidth& m_upper;
  std::chrono::milliseconds m_budget;
  ColumnEffort m_effort;
  const Progress& m_progress;
};

}  // namespace

std::optional<TreePacking> packOverHubs(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                        const Bandwidth& upper, std::chrono::milliseconds budget, ColumnEffort effort,
                                        const Progress& progress) {
  return HubPacking(graph, mayBranch, upper, budget, effort, progress).run();
}

}  // namespace coppice::forestcoll
