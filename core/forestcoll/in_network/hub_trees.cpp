// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/hub_trees.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/rational.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// More kinds of parts are left to trees over the whole fabric.
constexpr std::size_t kMaxKinds = 48;
const Rational kWorthIt(99, 100);

/// What the trees over the GPUs of a part and a hub may use. Nodes are numbered from 0 as in the part, the hub last.
struct PartProblem {
  TreeGraph graph;
  std::vector<bool> mayBranch;
  std::vector<int> nodeAt = {};  ///< by number: the node of the fabric, of a relay of a link the hub; -1 = merged hubs

  int add(int node, bool isReached, bool branches) {
    if (isReached) {
      graph.gpus.push_back(graph.nodeCount);
    }
    mayBranch.push_back(branches);
    nodeAt.push_back(node);
    return graph.nodeCount++;
  }

  void sortArcs() {
    std::sort(graph.arcs.begin(), graph.arcs.end(), [](const lp::RateArc& a, const lp::RateArc& b) {
      return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
    });
  }

  [[nodiscard]] Rational bandwidthPerTerminal() const {
    Rational sum;
    for (const lp::RateArc& arc : graph.arcs) {
      sum += arc.bandwidth.gigabytesPerSecond();
    }
    return sum / Rational(static_cast<int64_t>(graph.gpus.size()));
  }

  /// Equal problems have equal keys.
  using Key = std::tuple<std::vector<int>, std::vector<bool>, std::vector<std::tuple<int, int, Rational>>>;
  [[nodiscard]] Key key() const {
    Key key{graph.gpus, mayBranch, {}};
    for (const lp::RateArc& arc : graph.arcs) {
      std::get<2>(key).emplace_back(arc.tail, arc.head, arc.bandwidth.gigabytesPerSecond());
    }
    return key;
  }
};

/// Hubs, and the parts into which the fabric falls without them.
struct Split {
  std::vector<int> hubs;
  std::vector<std::vector<int>> parts;  ///< their nodes in ascending order; each has a GPU
  std::vector<int> partOf;              ///< by node, -1 = none
  std::vector<std::vector<int>> arcs;   ///< by part: those with an end in it
};

class HubPacking {
public:
  HubPacking(const TreeGraph& graph, const std::vector<bool>& mayBranch, const Bandwidth& upper,
             std::chrono::milliseconds budget, const Progress& progress)
      : m_graph(graph), m_mayBranch(mayBranch), m_upper(upper), m_budget(budget), m_progress(progress) {
    m_isGpu.assign(static_cast<std::size_t>(graph.nodeCount), false);
    for (const int gpu : graph.gpus) {
      m_isGpu[gpu] = true;
    }
    m_neighbours.resize(static_cast<std::size_t>(graph.nodeCount));
    for (const lp::RateArc& arc : graph.arcs) {
      if (arc.bandwidth.isPositive()) {
        m_neighbours[arc.tail].push_back(arc.head);
      }
    }
  }

  std::optional<TreePacking> run() {
    std::vector<int> candidates;
    for (int node = 0; node < m_graph.nodeCount; ++node) {
      if (m_mayBranch[node] && m_graph.boxOf[node].empty()) {
        candidates.push_back(node);
      }
    }
    std::optional<TreePacking> best;
    while (!candidates.empty()) {
      const Split split = splitBy(candidates);
      if (auto packing = split.parts.size() > 1 ? pack(split) : std::nullopt;
          packing && (!best || best->algbw() < packing->algbw())) {
        best = std::move(packing);
      }
      if (best && best->algbw() >= m_upper) {
        break;
      }
      if (auto packing = split.parts.size() > 1 ? packJoined(split) : std::nullopt;
          packing && (!best || best->algbw() < packing->algbw())) {
        best = std::move(packing);
      }
      candidates = withoutLowest(candidates);
    }
    return best;
  }

private:
  [[nodiscard]] Split splitBy(const std::vector<int>& hubs) const {
    Split split{.hubs = hubs, .parts = {}, .partOf = std::vector<int>(m_neighbours.size(), -1), .arcs = {}};
    std::vector<bool> isHub(m_neighbours.size(), false);
    for (const int hub : hubs) {
      isHub[hub] = true;
    }
    for (const int gpu : m_graph.gpus) {
      if (split.partOf[gpu] >= 0) {
        continue;
      }
      const auto part = static_cast<int>(split.parts.size());
      std::vector<int> nodes{gpu};
      split.partOf[gpu] = part;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const int next : m_neighbours[nodes[i]]) {
          if (!isHub[next] && split.partOf[next] < 0) {
            split.partOf[next] = part;
            nodes.push_back(next);
          }
        }
      }
      std::sort(nodes.begin(), nodes.end());
      split.parts.push_back(std::move(nodes));
    }
    split.arcs.resize(split.parts.size());
    for (std::size_t arc = 0; arc < m_graph.arcs.size(); ++arc) {
      const int part = std::max(split.partOf[m_graph.arcs[arc].tail], split.partOf[m_graph.arcs[arc].head]);
      if (part >= 0) {
        split.arcs[part].push_back(static_cast<int>(arc));
      }
    }
    return split;
  }

  /// Switches farther from the GPUs than the nearest of these, such as the spines of leaves and spines.
  [[nodiscard]] std::vector<int> withoutLowest(const std::vector<int>& hubs) const {
    std::vector<int> hops(m_neighbours.size(), -1);
    std::queue<int> open;
    for (const int gpu : m_graph.gpus) {
      hops[gpu] = 0;
      open.push(gpu);
    }
    while (!open.empty()) {
      const int at = open.front();
      open.pop();
      for (const int next : m_neighbours[at]) {
        if (hops[next] < 0) {
          hops[next] = hops[at] + 1;
          open.push(next);
        }
      }
    }
    int least = std::numeric_limits<int>::max();
    for (const int hub : hubs) {
      least = hops[hub] < 0 ? least : std::min(least, hops[hub]);
    }
    std::vector<int> higher;
    for (const int hub : hubs) {
      if (hops[hub] > least) {
        higher.push_back(hub);
      }
    }
    return higher;
  }

  /// By hub: its part of all that enters hubs; 0 where it does not reach every part.
  [[nodiscard]] std::vector<Rational> sharesOf(const Split& split) const {
    std::map<int, std::size_t> numberOf;
    for (std::size_t i = 0; i < split.hubs.size(); ++i) {
      numberOf[split.hubs[i]] = i;
    }
    std::vector<Rational> widths(split.hubs.size());
    std::vector<std::vector<bool>> reaches(split.hubs.size(), std::vector<bool>(split.parts.size(), false));
    for (const lp::RateArc& arc : m_graph.arcs) {
      const auto hub = numberOf.find(arc.head);
      if (hub != numberOf.end() && split.partOf[arc.tail] >= 0 && arc.bandwidth.isPositive()) {
        widths[hub->second] += arc.bandwidth.gigabytesPerSecond();
        reaches[hub->second][split.partOf[arc.tail]] = true;
      }
    }
    Rational sum;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (std::find(reaches[i].begin(), reaches[i].end(), false) != reaches[i].end()) {
        widths[i] = Rational(0);
      }
      sum += widths[i];
    }
    for (Rational& width : widths) {
      width = sum.isZero() ? Rational(0) : width / sum;
    }
    return widths;
  }

  [[nodiscard]] PartProblem problemOf(const Split& split, int part, int hub, const Rational& share) const {
    const std::vector<int>& nodes = split.parts[part];
    const auto count = static_cast<int>(nodes.size());
    PartProblem problem = emptyProblem(nodes);
    problem.add(hub, true, false);
    const auto numberOf = [&](int node) {
      return node == hub ? count : static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
    };
    for (const int number : split.arcs[part]) {
      const lp::RateArc& arc = m_graph.arcs[number];
      const bool isInside = split.partOf[arc.tail] == part && split.partOf[arc.head] == part;
      const bool isOfHub =
          (arc.head == hub && split.partOf[arc.tail] == part) || (arc.tail == hub && split.partOf[arc.head] == part);
      if (arc.bandwidth.isPositive() && (isInside || isOfHub)) {
        problem.graph.arcs.push_back(
            {numberOf(arc.tail), numberOf(arc.head), isInside ? arc.bandwidth * share : arc.bandwidth});
      }
    }
    problem.sortArcs();
    return problem;
  }

  std::optional<TreePacking> pack(const Split& split) {
    const std::vector<Rational> shares = sharesOf(split);
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
        PartProblem problem = problemOf(split, static_cast<int>(part), split.hubs[hub], shares[hub]);
        least = std::min(least, leastIntoGpu(problem.graph).gigabytesPerSecond());
        const auto [found, isNew] = numberOf.try_emplace(problem.key(), kinds.size());
        if (isNew) {
          kinds.push_back({std::move(problem), m_upper * shares[hub]});
        }
        if (kinds.size() > kMaxKinds) {
          return std::nullopt;
        }
        kindOf[hub].push_back(found->second);
      }
      limit += least;
    }
    if (kinds.empty() || limit < m_upper.gigabytesPerSecond() * kWorthIt) {
      return std::nullopt;
    }
    for (Kind& kind : kinds) {
      kind.packing = packTrees(kind.problem.graph, kind.problem.mayBranch, std::nullopt, kind.upper,
                               m_budget / static_cast<int>(kinds.size()), m_progress);
      if (!kind.packing) {
        return std::nullopt;
      }
    }
    std::vector<std::pair<GrownTree, Rational>> trees;
    for (std::size_t hub = 0; hub < split.hubs.size(); ++hub) {
      if (kindOf[hub].empty()) {
        continue;
      }
      Rational rate = m_upper.gigabytesPerSecond();
      for (const std::size_t kind : kindOf[hub]) {
        rate = std::min(rate, kinds[kind].packing->algbw().gigabytesPerSecond());
      }
      std::vector<std::vector<Piece>> sequences;
      for (std::size_t part = 0; part < split.parts.size(); ++part) {
        const std::vector<int>& nodes = split.parts[part];
        sequences.push_back(sequenceOf(*kinds[kindOf[hub][part]].packing, rate, [&](int number, int) {
          return number == static_cast<int>(nodes.size()) ? split.hubs[hub] : nodes[number];
        }));
      }
      addWhole(sequences, split.hubs[hub], rate, trees);
    }
    return inParts(std::move(trees));
  }

  /// A tree of a part in nodes of the fabric, and the rate of all up to it.
  struct Piece {
    GrownTree tree;
    Rational end;
  };

  using Loads = std::map<std::pair<int, int>, Rational>;  ///< by both ends of a link, the lower first

  /// The hubs that a part has links to, in ascending order.
  [[nodiscard]] std::vector<int> hubsOf(const Split& split, int part) const {
    std::vector<int> hubs;
    for (const int number : split.arcs[part]) {
      const lp::RateArc& arc = m_graph.arcs[number];
      if (arc.bandwidth.isPositive() && split.partOf[arc.head] != part) {
        hubs.push_back(arc.head);
      }
    }
    std::sort(hubs.begin(), hubs.end());
    hubs.erase(std::unique(hubs.begin(), hubs.end()), hubs.end());
    return hubs;
  }

  /// The GPUs of a part and its hubs, each of them reached by itself: nodes as in the part, then the hubs.
  [[nodiscard]] PartProblem joiningProblem(const Split& split, int part, const std::vector<int>& hubs) const {
    const std::vector<int>& nodes = split.parts[part];
    PartProblem problem = emptyProblem(nodes);
    for (const int hub : hubs) {
      problem.add(hub, true, false);
    }
    const auto numberOf = [&](int node) {
      return static_cast<int>(split.partOf[node] == part
                                  ? std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin()
                                  : std::lower_bound(hubs.begin(), hubs.end(), node) - hubs.begin() +
                                        static_cast<std::ptrdiff_t>(nodes.size()));
    };
    for (const int number : split.arcs[part]) {
      const lp::RateArc& arc = m_graph.arcs[number];
      if (arc.bandwidth.isPositive()) {
        problem.graph.arcs.push_back({numberOf(arc.tail), numberOf(arc.head), arc.bandwidth});
      }
    }
    problem.sortArcs();
    return problem;
  }

  /// The GPUs of a part and its hubs as one node: nodes as in the part, then the hub, then a relay for each link to a
  /// hub, which tells by `hubAt` which one it is.
  [[nodiscard]] PartProblem mergedProblem(const Split& split, int part, const Loads& loads) const {
    const std::vector<int>& nodes = split.parts[part];
    PartProblem problem = emptyProblem(nodes);
    const auto merged = static_cast<int>(nodes.size());
    problem.add(-1, true, false);
    const auto numberOf = [&](int node) {
      return static_cast<int>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
    };
    for (const int number : split.arcs[part]) {
      const lp::RateArc& arc = m_graph.arcs[number];
      const auto load = loads.find(std::minmax(arc.tail, arc.head));
      const Bandwidth left =
          load == loads.end() ? arc.bandwidth : Bandwidth(arc.bandwidth.gigabytesPerSecond() - load->second);
      const bool isInside = split.partOf[arc.tail] == part && split.partOf[arc.head] == part;
      const int relay = !isInside && split.partOf[arc.tail] == part ? problem.add(arc.head, false, false) : -1;
      if (!left.isPositive()) {
        continue;
      }
      if (isInside) {
        problem.graph.arcs.push_back({numberOf(arc.tail), numberOf(arc.head), left});
      } else if (relay >= 0) {
        for (const auto& [tail, head] : {std::pair(numberOf(arc.tail), relay), {relay, merged}}) {
          problem.graph.arcs.push_back({tail, head, left});
          problem.graph.arcs.push_back({head, tail, left});
        }
      }
    }
    problem.sortArcs();
    return problem;
  }

  [[nodiscard]] PartProblem emptyProblem(const std::vector<int>& nodes) const {
    PartProblem problem;
    for (const int node : nodes) {
      problem.add(node, m_isGpu[node], m_mayBranch[node]);
    }
    return problem;
  }

  /// How parts take turns in joining several hubs.
  struct Joining {
    std::vector<std::vector<int>> hubs = {};                  ///< by part
    std::map<PartProblem::Key, std::vector<int>> kinds = {};  ///< parts by their problem with merged hubs
    std::vector<int> turns = {};                              ///< equal parts that join, in turn
  };

  /// The largest set of equal parts among those with the most room; nullopt where no part has links to all hubs, or
  /// some part reaches too little.
  [[nodiscard]] std::optional<Joining> joiningOf(const Split& split) const {
    const auto count = static_cast<int>(split.parts.size());
    Joining joining;
    std::set<int> all;
    for (int part = 0; part < count; ++part) {
      joining.hubs.push_back(hubsOf(split, part));
      all.insert(joining.hubs.back().begin(), joining.hubs.back().end());
    }
    std::map<PartProblem::Key, std::vector<int>> candidates;
    Rational roomiest;
    for (int part = 0; part < count; ++part) {
      throwIfCancelled(m_progress);
      const std::vector<int>& hubs = joining.hubs[part];
      const PartProblem problem = mergedProblem(split, part, {});
      if (hubs.empty() || leastIntoGpu(problem.graph) < m_upper * kWorthIt) {
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
      candidates[joiningProblem(split, part, hubs).key()].push_back(part);
    }
    if (candidates.empty() || joining.kinds.size() > kMaxKinds) {
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
                             m_budget / static_cast<int>(joining.kinds.size() + 2), m_progress);
    return packing && !packing->algbw().isZero() ? std::move(packing) : std::nullopt;
  }

  /// By number of a node in joiningProblem(): the node of the fabric.
  static auto joiningNodes(const Split& split, const Joining& joining, int part) {
    return [&nodes = split.parts[part], &hubs = joining.hubs[part]](int number, int) {
      const auto inPart = static_cast<int>(nodes.size());
      return number < inPart ? nodes[number] : hubs[number - inPart];
    };
  }

  /// What a share of these trees takes of the links of the first part that joins.
  static Loads loadsOf(const Split& split, const Joining& joining, const TreePacking& join, const Rational& share) {
    Loads loads;
    for (const TreePacking::Part& part : join.parts) {
      const Rational load = join.unit.gigabytesPerSecond() * Rational(part.count) * share;
      for (const GrownTree::Edge& edge :
           inFabric(part.tree, joiningNodes(split, joining, joining.turns.front())).edges) {
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

  /// Trees over several hubs at once, such as rails: within a part each GPU hangs on any of them, and in turn one part
  /// joins them all.
  [[nodiscard]] std::optional<TreePacking> packJoined(const Split& split) const {
    const std::optional<Joining> joining = split.hubs.size() < 2 ? std::nullopt : joiningOf(split);
    if (!joining) {
      return std::nullopt;
    }
    const std::vector<int>& turns = joining->turns;
    JoinedPackings made{{}, std::vector<int>(split.parts.size(), -1)};
    made.rate = m_upper.gigabytesPerSecond();
    for (const auto& [key, parts] : joining->kinds) {
      if (std::all_of(parts.begin(), parts.end(),
                      [&](int part) { return std::find(turns.begin(), turns.end(), part) != turns.end(); })) {
        continue;
      }
      auto packing = packPart(mergedProblem(split, parts.front(), {}), m_upper.gigabytesPerSecond(), *joining);
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
    auto join = packPart(joiningProblem(split, first, joining->hubs[first]), m_upper.gigabytesPerSecond(), *joining);
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
      made.rest =
          packPart(mergedProblem(split, first, loadsOf(split, *joining, *join, share)), made.rate * others, *joining);
      if (!made.rest) {
        return std::nullopt;
      }
      made.rate = std::min(made.rate, made.rest->algbw().gigabytesPerSecond() / others);
    }
    made.join = *std::move(join);
    return made.rate < m_upper.gigabytesPerSecond() * kWorthIt ? std::nullopt : joined(split, *joining, made);
  }

  /// The trees of a packing one after the other over a length, whose ends are rounded.
  template <typename NodeOf>
  static std::vector<Piece> roundedSequence(const TreePacking& packing, int64_t length, const NodeOf& nodeOf) {
    std::vector<Piece> pieces;
    const double all = toGBps(packing.algbw());
    double sum = 0;
    for (const TreePacking::Part& part : packing.parts) {
      sum += toGBps(packing.unit) * static_cast<double>(part.count) / all;
      const Rational end(std::min(length, static_cast<int64_t>(std::llround(sum * static_cast<double>(length)))));
      if (pieces.empty() ? end.isPositive() : end > pieces.back().end) {
        pieces.push_back({inFabric(part.tree, nodeOf), end});
      }
    }
    pieces.back().end = Rational(length);
    return pieces;
  }

  /// Of a part in units of the whole, of which a turn has `turn`.
  [[nodiscard]] std::vector<Piece> sequenceOf(const Split& split, const Joining& joining,
                                              const JoinedPackings& packings, int part, int64_t turn) const {
    const auto merged = [&, problem = mergedProblem(split, part, {})](int number, int beside) {
      const auto inPart = static_cast<int>(split.parts[part].size());
      return number < inPart ? split.parts[part][number] : number == inPart ? problem.nodeAt[beside] : -1;
    };
    const int64_t units = turn * static_cast<int64_t>(joining.turns.size());
    if (packings.otherOf[part] >= 0) {
      return roundedSequence(packings.others[packings.otherOf[part]], units, merged);
    }
    const auto place = std::find(joining.turns.begin(), joining.turns.end(), part) - joining.turns.begin();
    const Rational begin(turn * place);
    const std::vector<Piece> rest =
        packings.rest ? roundedSequence(*packings.rest, units - turn, merged) : std::vector<Piece>();
    std::vector<Piece> pieces;
    for (const Piece& piece : rest) {
      if (pieces.empty() ? begin.isPositive() : pieces.back().end < begin) {
        pieces.push_back({piece.tree, std::min(piece.end, begin)});
      }
    }
    for (Piece& piece : roundedSequence(packings.join, turn, joiningNodes(split, joining, part))) {
      pieces.push_back({std::move(piece.tree), begin + piece.end});
    }
    for (const Piece& piece : rest) {
      if (piece.end > begin) {
        pieces.push_back({piece.tree, piece.end + Rational(turn)});
      }
    }
    return pieces;
  }

  /// Ends of trees are rounded to a grid, for which the rate is a little less.
  [[nodiscard]] std::optional<TreePacking> joined(const Split& split, const Joining& joining,
                                                  const JoinedPackings& packings) const {
    constexpr int64_t kTurn = int64_t{1} << 20;
    constexpr double kLess = 1 - 1.0 / (1 << 14);
    constexpr int kBits = 22;  // of the rate
    const int64_t units = checkedMul(kTurn, static_cast<int64_t>(joining.turns.size()));
    const double most = packings.rate.toDouble();
    const double exponent = std::clamp(kBits - std::floor(std::log2(most)), 0.0, 30.0);
    const auto scale = static_cast<int64_t>(std::exp2(exponent));
    const Rational rate(static_cast<int64_t>(most * kLess * static_cast<double>(scale)), scale);
    std::vector<std::vector<Piece>> sequences;
    for (std::size_t part = 0; part < split.parts.size(); ++part) {
      sequences.push_back(sequenceOf(split, joining, packings, static_cast<int>(part), kTurn));
    }
    std::vector<std::pair<GrownTree, Rational>> trees;
    addWhole(sequences, m_graph.gpus.front(), Rational(units), trees);
    for (auto& [tree, width] : trees) {
      dropBareHubs(tree);
    }
    std::optional<TreePacking> packing = inParts(std::move(trees));
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
      const auto isBare = [&](int node) { return !m_isGpu[node] && degree[node] == 1; };
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
    return std::all_of(m_graph.arcs.begin(), m_graph.arcs.end(), [&](const lp::RateArc& arc) {
      const auto load = loads.find(std::minmax(arc.tail, arc.head));
      return load == loads.end() || packing.unit * Rational(load->second) <= arc.bandwidth;
    });
  }

  /// The trees of the parts side by side, each time that one of them changes a new tree of the whole.
  /// @param sequences by part; each ends at the rate
  void addWhole(const std::vector<std::vector<Piece>>& sequences, int root, const Rational& rate,
                std::vector<std::pair<GrownTree, Rational>>& trees) const {
    std::vector<std::size_t> place(sequences.size(), 0);
    for (Rational from; from < rate;) {
      throwIfCancelled(m_progress);
      Rational to = rate;
      for (std::size_t part = 0; part < sequences.size(); ++part) {
        to = std::min(to, sequences[part][place[part]].end);
      }
      GrownTree whole;
      whole.root = root;
      for (std::size_t part = 0; part < sequences.size(); ++part) {
        const Piece& piece = sequences[part][place[part]];
        whole.edges.insert(whole.edges.end(), piece.tree.edges.begin(), piece.tree.edges.end());
        place[part] += piece.end == to ? 1 : 0;
      }
      trees.emplace_back(std::move(whole), to - from);
      from = to;
    }
  }

  /// The trees of a packing one after the other, as far as the rate, over `nodeOf` in nodes of the fabric.
  template <typename NodeOf>
  static std::vector<Piece> sequenceOf(const TreePacking& packing, const Rational& rate, const NodeOf& nodeOf) {
    std::vector<Piece> sequence;
    Rational end;
    for (const TreePacking::Part& part : packing.parts) {
      end += packing.unit.gigabytesPerSecond() * Rational(part.count);
      sequence.push_back({inFabric(part.tree, nodeOf), std::min(end, rate)});
      if (end >= rate) {
        break;
      }
    }
    return sequence;
  }

  /// @param nodeOf by number of a node in a part: the node, of a merged hub that next to the other node, -1 = left out
  template <typename NodeOf>
  static GrownTree inFabric(const GrownTree& tree, const NodeOf& nodeOf) {
    GrownTree mapped;
    for (const GrownTree::Edge& edge : tree.edges) {
      std::vector<fabric::NodeIndex> path;
      for (std::size_t i = 0; i < edge.path.size(); ++i) {
        const int beside = edge.path[i == 0 ? 1 : i - 1];
        if (const int node = nodeOf(edge.path[i], beside); node >= 0) {
          path.push_back(node);
        }
      }
      mapped.edges.push_back({path.front(), path.back(), path});
    }
    return mapped;
  }

  static std::optional<TreePacking> inParts(std::vector<std::pair<GrownTree, Rational>> trees) {
    int64_t denominator = 1;
    for (const auto& [tree, rate] : trees) {
      denominator = leastCommonMultiple(denominator, rate.denominator());
    }
    int64_t divisor = 0;
    std::vector<int64_t> counts;
    for (const auto& [tree, rate] : trees) {
      counts.push_back(checkedMul(rate.numerator(), denominator / rate.denominator()));
      divisor = std::gcd(divisor, counts.back());
    }
    if (divisor == 0) {
      return std::nullopt;
    }
    TreePacking packing{.unit = Bandwidth(divisor, denominator)};
    for (std::size_t i = 0; i < trees.size(); ++i) {
      packing.parts.push_back({std::move(trees[i].first), counts[i] / divisor});
    }
    return packing;
  }

  const TreeGraph& m_graph;
  const std::vector<bool>& m_mayBranch;
  const Bandwidth& m_upper;
  std::chrono::milliseconds m_budget;
  const Progress& m_progress;
  std::vector<bool> m_isGpu;
  std::vector<std::vector<int>> m_neighbours;
};

}  // namespace

std::optional<TreePacking> packOverHubs(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                        const Bandwidth& upper, std::chrono::milliseconds budget,
                                        const Progress& progress) {
  return HubPacking(graph, mayBranch, upper, budget, progress).run();
}

}  // namespace coppice::forestcoll
