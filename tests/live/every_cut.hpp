// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QTest>
#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/checked.hpp"
#include "fabric/edited_fabric.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "live/cut_bound.hpp"
#include "live/prices.hpp"
#include "support/must.hpp"

/// Small random fabrics and their edits, whose bounds and prices are found by trying every cut.
namespace coppice::test {

using live::Answer;
using live::CutBound;

/// The fabric of a description: nodes and then links have the keys 1, 2, ...
inline fabric::EditedFabric edited(const fabric::Description& description) {
  fabric::FabricDelta delta;
  fabric::Key key = 0;
  for (const fabric::NodeDescription& node : description.nodes) {
    delta.nodes.push_back({++key, node});
  }
  for (const fabric::LinkDescription& link : description.links) {
    delta.links.push_back({++key, 0, 0, link});
  }
  fabric::EditedFabric fabric;
  fabric.apply(std::move(delta));
  return fabric;
}

/// Its bound, though GPUs may be cut off.
inline Result<CutBound> boundOf(const fabric::Description& description, const forestcoll::Request& request = {}) {
  return CutBound::create(edited(description), request);
}

/// A small fabric in the plainest form, judged by trying every cut.
struct Reference {
  Collective collective = Collective::allgather;
  int root = -1;  ///< gather, scatter: the only sink
  std::vector<std::string> ids;
  std::vector<bool> isAlive;
  std::vector<bool> isGpu;
  std::vector<std::int64_t> amount;
  std::vector<std::vector<Rational>> bandwidth;

  [[nodiscard]] int size() const { return static_cast<int>(ids.size()); }

  int add(const std::string& id, bool gpu, std::int64_t data) {
    ids.push_back(id);
    isAlive.push_back(true);
    isGpu.push_back(gpu);
    amount.push_back(gpu ? data : 0);
    for (auto& row : bandwidth) {
      row.emplace_back();
    }
    bandwidth.emplace_back(ids.size());
    return size() - 1;
  }

  void remove(int v) {
    isAlive[v] = false;
    for (int u = 0; u < size(); ++u) {
      bandwidth[u][v] = 0;
      bandwidth[v][u] = 0;
    }
  }

  /// The nodes that are left, in order.
  [[nodiscard]] std::vector<int> alive() const {
    std::vector<int> nodes;
    for (int v = 0; v < size(); ++v) {
      if (isAlive[v]) {
        nodes.push_back(v);
      }
    }
    return nodes;
  }

  [[nodiscard]] fabric::Description description() const {
    fabric::Description result;
    for (const int v : alive()) {
      result.nodes.push_back({.id = ids[v], .kind = isGpu[v] ? "gpu" : "switch"});
      for (int u = 0; u < size(); ++u) {
        if (bandwidth[v][u].isPositive()) {
          result.links.push_back(
              {.src = ids[v], .dst = ids[u], .bandwidth = bandwidth[v][u].toString(), .duplex = false});
        }
      }
    }
    return result;
  }

  /// With the amounts and the root that are left.
  [[nodiscard]] forestcoll::Request request(const forestcoll::Request& before, int rootNode) const {
    forestcoll::Request result = before;
    result.amounts.clear();
    int rank = 0;
    for (const int v : alive()) {
      if (isGpu[v]) {
        if (v == rootNode) {
          result.root = rank;
        }
        if (!before.amounts.empty()) {
          result.amounts.push_back(amount[v]);
        }
        ++rank;
      }
    }
    return result;
  }

  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (int v = 0; v < size(); ++v) {
      sum += isAlive[v] ? amount[v] : 0;
    }
    return sum;
  }

  struct Line {
    Rational fixed;
    std::int64_t weight = 0;
    std::int64_t demand = 1;

    [[nodiscard]] Rational value(const Rational& t) const { return (fixed + Rational(weight) * t) / Rational(demand); }
    [[nodiscard]] Rational slope() const { return {weight, demand}; }
  };

  /// Every cut as the rate that it allows under a change of the group; `turned`: on the transpose.
  [[nodiscard]] std::vector<Line> lines(bool turned, const live::LinkGroup& group) const {
    std::vector<Line> all;
    std::set<std::tuple<Rational, std::int64_t, std::int64_t>> seen;
    for (unsigned set = 1; set + 1 < (1U << ids.size()); ++set) {
      const auto holds = [&](int v) { return (set >> v & 1U) != 0; };
      Line line{0, 0, 0};
      bool hasSink = false;
      bool isProper = true;
      for (int v = 0; v < size(); ++v) {
        isProper = isProper && (isAlive[v] || !holds(v));
        line.demand += holds(v) && isAlive[v] ? amount[v] : 0;
        hasSink = hasSink || (!holds(v) && isAlive[v] && isGpu[v] && (root < 0 || v == root));
      }
      if (!isProper || !hasSink || line.demand == 0) {
        continue;
      }
      for (int u = 0; u < size(); ++u) {
        for (int v = 0; v < size(); ++v) {
          if (holds(u) && !holds(v)) {
            line.fixed += turned ? bandwidth[v][u] : bandwidth[u][v];
          }
        }
      }
      for (const live::GroupArc& arc : group.arcs) {
        const int tail = turned ? arc.dst : arc.src;
        const int head = turned ? arc.src : arc.dst;
        line.weight += holds(tail) && !holds(head) ? arc.weight : 0;
      }
      if (seen.emplace(line.fixed, line.weight, line.demand).second) {
        all.push_back(line);
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<std::vector<Line>> halves(const live::LinkGroup& group) const {
    switch (collective) {
      case Collective::allgather:
      case Collective::broadcast:
      case Collective::gather:
        return {lines(false, group)};
      case Collective::reduceScatter:
      case Collective::reduce:
      case Collective::scatter:
        return {lines(true, group)};
      default:
        break;
    }
    return {lines(false, group), lines(true, group)};
  }

  [[nodiscard]] Rational algbw(const std::vector<std::vector<Line>>& halfLines, const Rational& t) const {
    std::vector<Rational> rates;
    for (const auto& cuts : halfLines) {
      Rational min = cuts.front().value(t);
      for (const Line& line : cuts) {
        min = std::min(min, line.value(t));
      }
      rates.push_back(min);
    }
    if (rates.size() == 1) {
      return Rational(total()) * rates[0];
    }
    return rates[0].isZero() || rates[1].isZero() ? Rational(0)
                                                  : Rational(total()) / (rates[0].inverse() + rates[1].inverse());
  }

  [[nodiscard]] Rational algbw() const {
    const auto all = halves({});
    return all.front().empty() ? Rational(0) : algbw(all, 0);
  }

  [[nodiscard]] bool isBalanced() const {
    for (int v = 0; v < size(); ++v) {
      Rational surplus;
      for (int u = 0; u < size(); ++u) {
        surplus += bandwidth[u][v] - bandwidth[v][u];
      }
      if (isAlive[v] && !isGpu[v] && !surplus.isZero()) {
        return false;
      }
    }
    return true;
  }
};

struct Side {
  Rational slope;
  std::optional<Rational> change;
};

/// Slope of the lower envelope above 0 and where it changes next.
inline Side envelopeAbove(const std::vector<Reference::Line>& lines) {
  Rational now = lines.front().value(0);
  for (const auto& line : lines) {
    now = std::min(now, line.value(0));
  }
  std::optional<Rational> slope;
  for (const auto& line : lines) {
    if (line.value(0) == now && (!slope || line.slope() < *slope)) {
      slope = line.slope();
    }
  }
  Side side{*slope, {}};
  for (const auto& line : lines) {
    if (line.slope() < side.slope) {
      const Rational t = (line.value(0) - now) / (side.slope - line.slope());
      if (!side.change || t < *side.change) {
        side.change = t;
      }
    }
  }
  return side;
}

inline Side envelopeBelow(const std::vector<Reference::Line>& lines, const Rational& room) {
  Rational now = lines.front().value(0);
  for (const auto& line : lines) {
    now = std::min(now, line.value(0));
  }
  std::optional<Rational> slope;
  for (const auto& line : lines) {
    if (line.value(0) == now && (!slope || line.slope() > *slope)) {
      slope = line.slope();
    }
  }
  Side side{*slope, {}};
  for (const auto& line : lines) {
    if (line.slope() > side.slope) {
      const Rational t = (now - line.value(0)) / (line.slope() - side.slope);
      if (t > -room && (!side.change || t > *side.change)) {
        side.change = t;
      }
    }
  }
  return side;
}

struct Scene {
  Reference reference;
  forestcoll::Request request;
  fabric::Description description;
  int root = -1;  ///< node, of a collective with a root
};

class CutDice {
public:
  explicit CutDice(unsigned seed) : m_random(seed) {}
  int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  Rational bandwidth() {
    const Rational values[] = {1, 2, 3, 5, 25, Rational(1, 2), Rational(25, 2), Rational(7, 3), Rational(121, 10)};
    return values[below(chance(70) ? 4 : 9)];
  }

private:
  std::mt19937 m_random;
};

inline Scene randomScene(CutDice& dice, Collective collective, bool weighted, int maxNodes) {
  Scene scene;
  scene.reference.collective = collective;
  scene.request.collective = collective;
  scene.request.allreduceBudget = {};  // the cuts are those of reduce-scatter and allgather
  const int gpus = 2 + dice.below(std::min(5, maxNodes - 3));
  const int switches = dice.below(maxNodes - gpus - 1);
  const bool isRooted = collective == Collective::broadcast || collective == Collective::reduce;
  const int root = dice.below(gpus);
  for (int v = 0; v < gpus + switches; ++v) {
    const bool isGpu = v < gpus;
    const int busy = movesShards(collective) && root == 0 ? 1 : 0;  // it has data, and is not the root of a gather
    const std::int64_t amount = isRooted ? (v == root ? 1 : 0) : (weighted ? (v == busy ? 1 : dice.below(4)) : 1);
    const std::string id = (isGpu ? "g" : "s") + std::to_string(v);
    scene.reference.add(id, isGpu, amount);
    fabric::NodeDescription node;
    node.id = id;
    node.kind = isGpu ? "gpu" : "switch";
    scene.description.nodes.push_back(node);
    if (weighted && isGpu) {
      scene.request.amounts.push_back(amount);
    }
  }
  if (coppice::isRooted(collective)) {
    scene.request.root = root;
    scene.root = root;
  }
  scene.reference.root = movesShards(collective) ? root : -1;
  const auto link = [&](int a, int b) {
    const Rational value = dice.bandwidth();
    const bool duplex = dice.chance(75);
    fabric::LinkDescription entry;
    entry.src = scene.reference.ids[a];
    entry.dst = scene.reference.ids[b];
    entry.bandwidth = value.toString();
    entry.duplex = duplex;
    scene.description.links.push_back(entry);
    scene.reference.bandwidth[a][b] += value;
    if (duplex) {
      scene.reference.bandwidth[b][a] += value;
    }
  };
  const int n = gpus + switches;
  for (int v = 1; v < n; ++v) {
    link(dice.below(v), v);
  }
  for (int i = 0; i < n; ++i) {
    const int a = dice.below(n);
    const int b = dice.below(n);
    if (a != b) {
      link(a, b);
    }
  }
  return scene;
}

/// One random edit; false where the dice fell on something that cannot be done.
inline bool randomEdit(CutDice& dice, Reference& reference, bool weighted, int maxNodes, int serial) {
  const std::vector<int> alive = reference.alive();
  if (alive.size() < 2) {
    return false;
  }
  const int a = alive[dice.below(static_cast<int>(alive.size()))];
  const int b = alive[dice.below(static_cast<int>(alive.size()))];
  auto& there = reference.bandwidth[a][b];
  auto& back = reference.bandwidth[b][a];
  const bool isRooted = reference.collective == Collective::broadcast || reference.collective == Collective::reduce;
  switch (dice.below(8)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (a == b) {
        return false;
      }
      there = dice.chance(15) ? Rational(0) : dice.bandwidth();
      back = dice.chance(60) ? there : back;
      return true;
    case 4:
      if (dice.chance(50)) {
        return false;
      }
      reference.remove(a);
      return true;
    case 5:
    case 6: {
      if (reference.size() >= maxNodes) {
        return false;
      }
      const bool isGpu = dice.chance(60);
      const std::int64_t amount = isRooted ? 0 : (weighted ? dice.below(3) : 1);
      const int v = reference.add("n" + std::to_string(serial), isGpu, amount);
      reference.bandwidth[v][a] = dice.bandwidth();
      reference.bandwidth[a][v] = reference.bandwidth[v][a];
      return true;
    }
    default:  // a node that went comes back
      for (int v = 0; v < reference.size(); ++v) {
        if (!reference.isAlive[v]) {
          reference.isAlive[v] = true;
          reference.bandwidth[v][a] = dice.bandwidth();
          return true;
        }
      }
      return false;
  }
}

/// The cut's own numbers, from the reference's bandwidths.
inline std::string cutFault(const Reference& reference, const Answer& answer) {
  if (answer.cut.nodes.empty()) {
    return answer.finding ? "" : "no cut and no finding";
  }
  // The reference numbers those that went too.
  const std::vector<int> alive = reference.alive();
  std::vector<bool> holds(static_cast<std::size_t>(reference.size()), false);
  for (const int v : answer.cut.nodes) {
    holds[alive[v]] = true;
  }
  Rational exit;  // GB/s
  std::int64_t demand = 0;
  for (int u = 0; u < reference.size(); ++u) {
    const bool in = holds[u];
    demand += in && reference.isAlive[u] ? reference.amount[u] : 0;
    for (int v = 0; v < reference.size(); ++v) {
      if (in && !holds[v]) {
        exit += answer.isReduction ? reference.bandwidth[v][u] : reference.bandwidth[u][v];
      }
    }
  }
  if (exit != answer.cut.exitBandwidth.gigabytesPerSecond()) {
    return "exit " + toFraction(answer.cut.exitBandwidth) + ", really " + exit.toString();
  }
  if (demand % answer.cut.demand != 0) {
    return "demand " + std::to_string(answer.cut.demand) + ", really " + std::to_string(demand);
  }
  const Rational rate = exit / Rational(demand);
  if (reference.collective != Collective::allreduce &&
      Rational(reference.total()) * rate != answer.algbw.gigabytesPerSecond()) {
    return "the cut allows " + (Rational(reference.total()) * rate).toString() + ", the bound is " +
           toFraction(answer.algbw);
  }
  return "";
}

/// By the generator's own search, which knows of no equal parts here; 0 where GPUs are cut off.
inline Rational algbwFromNothing(const fabric::EditedFabric& fabric, Collective collective) {
  const fabric::EditedFabric::Indexed indexed = fabric.indexed();
  const std::vector<std::int64_t> demand(indexed.gpus.size(), 1);
  forestcoll::Network network =
      forestcoll::makeNetwork(static_cast<int>(indexed.keys.size()), indexed.gpus, indexed.arcs, demand);
  if (collective == Collective::reduceScatter) {
    for (forestcoll::TreeArc& arc : network.arcs) {
      std::swap(arc.tail, arc.head);
    }
  }
  try {
    return (Rational(network.totalDemand) / forestcoll::worstCut(network, {}).value() * network.unit)
        .gigabytesPerSecond();
  } catch (const Failure&) {
    return 0;
  }
}

inline fabric::Description star(int gpus, const std::string& bandwidth = "10") {
  fabric::Description description;
  description.name = "star";
  for (int g = 0; g < gpus; ++g) {
    fabric::NodeDescription node;
    node.id = "g" + std::to_string(g);
    description.nodes.push_back(node);
    fabric::LinkDescription link;
    link.src = node.id;
    link.dst = "s";
    link.bandwidth = bandwidth;
    description.links.push_back(link);
  }
  fabric::NodeDescription hub;
  hub.id = "s";
  hub.kind = "switch";
  description.nodes.push_back(hub);
  return description;
}

inline live::LinkGroup link(const fabric::Fabric& fabric, const std::string& a, const std::string& b,
                            bool duplex = true) {
  live::LinkGroup group{a + b, {{*fabric.find(a), *fabric.find(b), 1}}};
  if (duplex) {
    group.arcs.push_back({*fabric.find(b), *fabric.find(a), 1});
  }
  return group;
}

/// The nodes that every cut is tried for.
inline constexpr int kMaxNodes = 9;

inline QByteArray told(const std::string& text) {
  return QByteArray::fromStdString(text);
}

/// Rows of a test: "collective", an int, and "weighted".
inline void addCollectives() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("weighted");
  QTest::newRow("allgather") << static_cast<int>(Collective::allgather) << false;
  QTest::newRow("allgather with amounts") << static_cast<int>(Collective::allgather) << true;
  QTest::newRow("reduce_scatter") << static_cast<int>(Collective::reduceScatter) << false;
  QTest::newRow("reduce_scatter with amounts") << static_cast<int>(Collective::reduceScatter) << true;
  QTest::newRow("allreduce") << static_cast<int>(Collective::allreduce) << false;
  QTest::newRow("broadcast") << static_cast<int>(Collective::broadcast) << false;
  QTest::newRow("reduce") << static_cast<int>(Collective::reduce) << false;
  QTest::newRow("gather") << static_cast<int>(Collective::gather) << false;
  QTest::newRow("gather with amounts") << static_cast<int>(Collective::gather) << true;
  QTest::newRow("scatter") << static_cast<int>(Collective::scatter) << false;
  QTest::newRow("scatter with amounts") << static_cast<int>(Collective::scatter) << true;
}

}  // namespace coppice::test
