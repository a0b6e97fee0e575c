// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/joined_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/rational.hpp"
#include "forestcoll/in_network/side_by_side.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

class JoinedPacking {
public:
  JoinedPacking(const HubParts& parts, const HubSplit& split, const Bandwidth& upper, std::chrono::milliseconds budget,
                const Progress& progress)
      : m_parts(parts), m_split(split), m_upper(upper), m_budget(budget), m_progress(progress) {}

  [[nodiscard]] std::optional<TreePacking> run() const {
    const std::optional<Joining> joining = m_split.hubs.size() < 2 ? std::nullopt : joiningOf();
    if (!joining) {
      return std::nullopt;
    }
    const std::vector<int>& turns = joining->turns;
    JoinedPackings made{{}, std::vector<int>(m_split.parts.size(), -1)};
    made.rate = m_upper.gigabytesPerSecond();
    for (const auto& [key, parts] : joining->kinds) {
      if (std::all_of(parts.begin(), parts.end(),
                      [&](int part) { return std::find(turns.begin(), turns.end(), part) != turns.end(); })) {
        continue;
      }
      auto packing =
          packPart(m_parts.mergedProblem(m_split, parts.front(), {}), m_upper.gigabytesPerSecond(), *joining);
      if (!packing) {
        return std::nullopt;
      }
      made.rate = std::min(made.rate, packing->algbw().gigabytesPerSecond());
      for (const int part : parts) {
        made.otherOf[part] = static_cast<int>(made.others.size());
      }
      made.others.push_back(*std::move(packing));
    }
    for (const int part : turns) {
      made.otherOf[part] = -1;
    }
    // Trees that join in one of the turns, and what these leave of the links in the others.
    const int first = turns.front();
    auto join =
        packPart(m_parts.joiningProblem(m_split, first, joining->hubs[first]), m_upper.gigabytesPerSecond(), *joining);
    if (!join) {
      return std::nullopt;
    }
    constexpr int64_t kGrid = int64_t{1} << 16;
    const auto count = static_cast<int64_t>(turns.size());
    const double wanted = made.rate.toDouble() / static_cast<double>(count) / toGBps(join->algbw());
    const Rational share(static_cast<int64_t>(std::ceil(wanted * kGrid)), kGrid);
    if (share >= Rational(1)) {
      return std::nullopt;
    }
    if (count > 1) {
      const Rational others(count - 1, count);
      made.rest = packPart(m_parts.mergedProblem(m_split, first, loadsOf(*joining, *join, share)), made.rate * others,
                           *joining);
      if (!made.rest) {
        return std::nullopt;
      }
      made.rate = std::min(made.rate, made.rest->algbw().gigabytesPerSecond() / others);
    }
    made.join = *std::move(join);
    return made.rate < m_upper.gigabytesPerSecond() * kHubsWorthIt ? std::nullopt : joined(*joining, made);
  }

private:
  /// How parts take turns in joining several hubs.
  struct Joining {
    std::vector<std::vector<int>> hubs = {};                  ///< by part
    std::map<PartProblem::Key, std::vector<int>> kinds = {};  ///< parts by their problem with merged hubs
    std::vector<int> turns = {};                              ///< equal parts that join, in turn
  };

  /// The largest set of equal parts among those with the most room; nullopt where no part has links to all hubs, or
  /// some part reaches too little.
  [[nodiscard]] std::optional<Joining> joiningOf() const {
    const auto count = static_cast<int>(m_split.parts.size());
    Joining joining;
    std::set<int> all;
    for (int part = 0; part < count; ++part) {
      joining.hubs.push_back(m_parts.hubsOf(m_split, part));
      all.insert(joining.hubs.back().begin(), joining.hubs.back().end());
    }
    std::map<PartProblem::Key, std::vector<int>> candidates;
    Rational roomiest;
    for (int part = 0; part < count; ++part) {
      throwIfCancelled(m_progress);
      const std::vector<int>& hubs = joining.hubs[part];
      const PartProblem problem = m_parts.mergedProblem(m_split, part, {});
      if (hubs.empty() || leastIntoGpu(problem.graph) < m_upper * kHubsWorthIt) {
        return std::nullopt;
      }
      joining.kinds[problem.key()].push_back(part);
      const Rational room = problem.bandwidthPerTerminal();
      if (hubs.size() < all.size() || room < roomiest) {
        continue;
      }
      if (room > roomiest) {
        roomiest = room;
        candidates.clear();
      }
      candidates[m_parts.joiningProblem(m_split, part, hubs).key()].push_back(part);
    }
    if (candidates.empty() || joining.kinds.size() > kMaxPartKinds) {
      return std::nullopt;
    }
    joining.turns = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
                      return a.second.size() < b.second.size();
                    })->second;
    return joining;
  }

  [[nodiscard]] std::optional<TreePacking> packPart(const PartProblem& problem, const Rational& upper,
                                                    const Joining& joining) const {
    auto packing = packTrees(problem.graph, problem.mayBranch, std::nullopt, Bandwidth(upper),
                             m_budget / static_cast<int>(joining.kinds.size() + 2), ColumnEffort::thorough, m_progress);
    return packing && !packing->algbw().isZero() ? std::move(packing) : std::nullopt;
  }

  /// By number of a node in joiningProblem(): the node of the fabric.
  [[nodiscard]] NodeOf joiningNodes(const Joining& joining, int part) const {
    return [&nodes = m_split.parts[part], &hubs = joining.hubs[part]](int number, int) {
      const auto inPart = static_cast<int>(nodes.size());
      return number < inPart ? nodes[number] : hubs[number - inPart];
    };
  }

  /// What a share of these trees takes of the links of the first part that joins.
  [[nodiscard]] LinkLoads loadsOf(const Joining& joining, const TreePacking& join, const Rational& share) const {
    LinkLoads loads;
    for (const TreePacking::Part& part : join.parts) {
      const Rational load = join.unit.gigabytesPerSecond() * Rational(part.count) * share;
      for (const GrownTree::Edge& edge : inFabric(part.tree, joiningNodes(joining, joining.turns.front())).edges) {
        for (std::size_t i = 0; i + 1 < edge.path.size(); ++i) {
          loads[std::minmax(edge.path[i], edge.path[i + 1])] += load;
        }
      }
    }
    return loads;
  }

  /// The packings of the parts of a whole.
  struct JoinedPackings {
    std::vector<TreePacking> others;       ///< of parts that never join
    std::vector<int> otherOf;              ///< by part, of `others`; -1 = it joins
    TreePacking join = {};                 ///< of a part while it joins
    std::optional<TreePacking> rest = {};  ///< of a part that joins in another turn
    Rational rate = {};
  };

  /// Of a part in units of the whole, of which a turn has `turn`.
  [[nodiscard]] std::vector<TreePiece> sequenceOf(const Joining& joining, const JoinedPackings& packings, int part,
                                                  int64_t turn) const {
    const auto merged = [&, problem = m_parts.mergedProblem(m_split, part, {})](int number, int beside) {
      const auto inPart = static_cast<int>(m_split.parts[part].size());
      return number < inPart ? m_split.parts[part][number] : number == inPart ? problem.nodeAt[beside] : -1;
    };
    const int64_t units = turn * static_cast<int64_t>(joining.turns.size());
    if (packings.otherOf[part] >= 0) {
      return roundedSequence(packings.others[packings.otherOf[part]], units, merged);
    }
    const auto place = std::find(joining.turns.begin(), joining.turns.end(), part) - joining.turns.begin();
    const Rational begin(turn * place);
    const std::vector<TreePiece> rest =
        packings.rest ? roundedSequence(*packings.rest, units - turn, merged) : std::vector<TreePiece>();
    std::vector<TreePiece> pieces;
    for (const TreePiece& piece : rest) {
      if (pieces.empty() ? begin.isPositive() : pieces.back().end < begin) {
        pieces.push_back({piece.tree, std::min(piece.end, begin)});
      }
    }
    for (TreePiece& piece : roundedSequence(packings.join, turn, joiningNodes(joining, part))) {
      pieces.push_back({std::move(piece.tree), begin + piece.end});
    }
    for (const TreePiece& piece : rest) {
      if (piece.end > begin) {
        pieces.push_back({piece.tree, piece.end + Rational(turn)});
      }
    }
    return pieces;
  }

  /// Ends of trees are rounded to a grid, for which the rate is a little less.
  [[nodiscard]] std::optional<TreePacking> joined(const Joining& joining, const JoinedPackings& packings) const {
    constexpr int64_t kTurn = int64_t{1} << 20;
    constexpr double kLess = 1 - 1.0 / (1 << 14);
    constexpr int kBits = 22;  // of the rate
    const int64_t units = checkedMul(kTurn, static_cast<int64_t>(joining.turns.size()));
    const double most = packings.rate.toDouble();
    const double exponent = std::clamp(kBits - std::floor(std::log2(most)), 0.0, 30.0);
    const auto scale = static_cast<int64_t>(std::exp2(exponent));
    const Rational rate(static_cast<int64_t>(most * kLess * static_cast<double>(scale)), scale);
    std::vector<std::vector<TreePiece>> sequences;
    for (std::size_t part = 0; part < m_split.parts.size(); ++part) {
      sequences.push_back(sequenceOf(joining, packings, static_cast<int>(part), kTurn));
    }
    WholeTrees trees;
    addSideBySide(sequences, m_parts.graph().gpus.front(), Rational(units), m_progress, trees);
    for (auto& [tree, width] : trees) {
      dropBareHubs(tree);
    }
    std::optional<TreePacking> packing = packingOf(std::move(trees));
    if (packing) {
      packing->unit = packing->unit * (rate / Rational(units));
    }
    return packing && fits(*packing) ? std::move(packing) : std::nullopt;
  }

  /// Hubs at which nothing hangs that they do not come from.
  void dropBareHubs(GrownTree& tree) const {
    for (bool isLess = true; isLess;) {
      std::map<int, int> degree;
      for (const GrownTree::Edge& edge : tree.edges) {
        ++degree[edge.parent];
        ++degree[edge.child];
      }
      const auto isBare = [&](int node) { return !m_parts.isGpu(node) && degree[node] == 1; };
      isLess = std::erase_if(tree.edges, [&](const GrownTree::Edge& edge) {
                 return isBare(edge.parent) || isBare(edge.child);
               }) > 0;
    }
  }

  /// In exact arithmetic.
  [[nodiscard]] bool fits(const TreePacking& packing) const {
    std::map<std::pair<int, int>, int64_t> loads;
    for (const TreePacking::Part& part : packing.parts) {
      for (const GrownTree::Edge& edge : part.tree.edges) {
        for (std::size_t i = 0; i + 1 < edge.path.size(); ++i) {
          int64_t& load = loads[std::minmax(edge.path[i], edge.path[i + 1])];
          load = checkedAdd(load, part.count);
        }
      }
    }
    return std::all_of(m_parts.graph().arcs.begin(), m_parts.graph().arcs.end(), [&](const lp::RateArc& arc) {
      const auto load = loads.find(std::minmax(arc.tail, arc.head));
      return load == loads.end() || packing.unit * Rational(load->second) <= arc.bandwidth;
    });
  }

  const HubParts& m_parts;
  const HubSplit& m_split;
  const Bandwidth& m_upper;
  std::chrono::milliseconds m_budget;
  const Progress& m_progress;
};

}  // namespace

std::optional<TreePacking> packJoined(const HubParts& parts, const HubSplit& split, const Bandwidth& upper,
                                      std::chrono::milliseconds budget, const Progress& progress) {
  return JoinedPacking(parts, split, upper, budget, progress).run();
}

}  // namespace coppice::forestcoll
