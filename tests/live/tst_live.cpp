// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "live/bound_follower.hpp"
#include "live/failures.hpp"
#include "live/live_bound.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using live::Answer;
using live::Edit;
using live::LiveBound;

namespace {

QByteArray told(const std::string& text) {
  return QByteArray::fromStdString(text);
}

template <typename T>
const T& must(const Result<T>& result) {
  if (!result) {
    qFatal("%s", describe(result.error()).c_str());
  }
  return result.value();
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
      Rational least = cuts.front().value(t);
      for (const Line& line : cuts) {
        least = std::min(least, line.value(t));
      }
      rates.push_back(least);
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
Side envelopeAbove(const std::vector<Reference::Line>& lines) {
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

Side envelopeBelow(const std::vector<Reference::Line>& lines, const Rational& room) {
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
};

class Dice {
public:
  explicit Dice(unsigned seed) : m_random(seed) {}
  int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  Rational bandwidth() {
    const Rational values[] = {1, 2, 3, 5, 25, Rational(1, 2), Rational(25, 2), Rational(7, 3), Rational(121, 10)};
    return values[below(chance(70) ? 4 : 9)];
  }

private:
  std::mt19937 m_random;
};

Scene randomScene(Dice& dice, Collective collective, bool weighted, int maxNodes) {
  Scene scene;
  scene.reference.collective = collective;
  scene.request.collective = collective;
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

/// One random edit on both; empty when the dice fell on something that cannot be done.
std::vector<Edit> randomEdit(Dice& dice, Reference& reference, bool weighted, int maxNodes, int serial) {
  std::vector<int> alive;
  for (int v = 0; v < reference.size(); ++v) {
    if (reference.isAlive[v]) {
      alive.push_back(v);
    }
  }
  if (alive.size() < 2) {
    return {};
  }
  const int a = alive[dice.below(static_cast<int>(alive.size()))];
  const int b = alive[dice.below(static_cast<int>(alive.size()))];
  const std::string& idA = reference.ids[a];
  const std::string& idB = reference.ids[b];
  auto& there = reference.bandwidth[a][b];
  auto& back = reference.bandwidth[b][a];
  const bool isRooted = reference.collective == Collective::broadcast || reference.collective == Collective::reduce;
  switch (dice.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (a == b) {
        return {};
      }
      there = dice.chance(15) ? Rational(0) : dice.bandwidth();
      if (dice.chance(60)) {
        back = there;
        return {live::SetLink{idA, idB, Bandwidth(there)}};
      }
      return {live::SetArc{idA, idB, Bandwidth(there)}};
    case 4:
    case 5:
      if (a == b) {
        return {};
      } else {
        const Rational change = dice.chance(50) ? dice.bandwidth() : -std::min(there, back);
        there += change;
        back += change;
        return {live::ChangeBandwidth{idA, idB, Bandwidth(change), true}};
      }
    case 6:
      if (dice.chance(50)) {
        return {};
      }
      reference.remove(a);
      return {live::RemoveNode{idA}};
    case 7:
    case 8: {
      if (reference.size() >= maxNodes) {
        return {};
      }
      const bool isGpu = dice.chance(60);
      const std::int64_t amount = isRooted ? 0 : (weighted ? dice.below(3) : 1);
      const std::string id = "n" + std::to_string(serial);
      const int v = reference.add(id, isGpu, amount);
      const Rational value = dice.bandwidth();
      reference.bandwidth[v][a] = value;
      reference.bandwidth[a][v] = value;
      return {live::AddNode{id, isGpu ? fabric::NodeKind::gpu : fabric::NodeKind::switchNode, "", amount},
              live::SetLink{id, reference.ids[a], Bandwidth(value)}};
    }
    default: {  // a node that went comes back
      for (int v = 0; v < reference.size(); ++v) {
        if (!reference.isAlive[v]) {
          reference.isAlive[v] = true;
          const Rational value = dice.bandwidth();
          reference.bandwidth[v][a] = value;
          const bool isGpu = reference.isGpu[v];
          return {live::AddNode{reference.ids[v], isGpu ? fabric::NodeKind::gpu : fabric::NodeKind::switchNode, "",
                                reference.amount[v]},
                  live::SetArc{reference.ids[v], reference.ids[a], Bandwidth(value)}};
        }
      }
      return {};
    }
  }
}

/// The cut's own numbers, from the reference's bandwidths.
std::string cutFault(const Reference& reference, const LiveBound& live, const Answer& answer) {
  if (answer.cut.nodes.empty()) {
    return answer.finding ? "" : "no cut and no finding";
  }
  // The reference numbers its nodes in its own way.
  std::vector<bool> holds(static_cast<std::size_t>(reference.size()), false);
  for (const int v : answer.cut.nodes) {
    const auto found = std::find(reference.ids.begin(), reference.ids.end(), live.id(v));
    holds[static_cast<int>(found - reference.ids.begin())] = true;
  }
  Rational exit;
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
  if (exit != answer.cut.exitBandwidth) {
    return "exit " + answer.cut.exitBandwidth.toString() + ", really " + exit.toString();
  }
  if (demand % answer.cut.demand != 0) {
    return "demand " + std::to_string(answer.cut.demand) + ", really " + std::to_string(demand);
  }
  const Rational rate = exit / Rational(demand);
  if (reference.collective != Collective::allreduce && Rational(reference.total()) * rate != answer.algbw) {
    return "the cut allows " + (Rational(reference.total()) * rate).toString() + ", the bound is " +
           answer.algbw.toString();
  }
  return "";
}

/// From nothing, by the generator's own code.
Rational algbwFromNothing(const LiveBound& live, Collective collective) {
  std::vector<live::LiveLink> links = live.links();
  forestcoll::Network network;
  network.nodeCount = live.nodeLimit();
  network.isGpu.assign(static_cast<std::size_t>(network.nodeCount), 0);
  network.demand.assign(static_cast<std::size_t>(network.nodeCount), 0);
  for (int v = 0; v < network.nodeCount; ++v) {
    if (live.isAlive(v) && live.kind(v) == fabric::NodeKind::gpu) {
      network.isGpu[v] = 1;
      network.demand[v] = 1;
      network.gpus.push_back(v);
      ++network.totalDemand;
    }
  }
  std::int64_t denominator = 1;
  for (const live::LiveLink& link : links) {
    denominator = leastCommonMultiple(denominator, link.forward.gigabytesPerSecond().denominator());
    denominator = leastCommonMultiple(denominator, link.backward.gigabytesPerSecond().denominator());
  }
  const bool isTurned = collective == Collective::reduceScatter;
  for (const live::LiveLink& link : links) {
    const Rational forward = link.forward.gigabytesPerSecond() * Rational(denominator);
    const Rational backward = link.backward.gigabytesPerSecond() * Rational(denominator);
    network.arcs.push_back({link.a, link.b, (isTurned ? backward : forward).numerator()});
    network.arcs.push_back({link.b, link.a, (isTurned ? forward : backward).numerator()});
  }
  try {
    return Rational(network.totalDemand) / (forestcoll::worstCut(network, {}).value() * Rational(denominator));
  } catch (const forestcoll::Failure&) {
    return 0;
  }
}

fabric::Description star(int gpus, const std::string& bandwidth = "10") {
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

live::LinkGroup link(const LiveBound& live, const std::string& a, const std::string& b, bool duplex = true) {
  live::LinkGroup group{a + b, {{*live.find(a), *live.find(b), 1}}};
  if (duplex) {
    group.arcs.push_back({*live.find(b), *live.find(a), 1});
  }
  return group;
}

constexpr int kMaxNodes = 9;

}  // namespace

class TestLive : public QObject {
  Q_OBJECT

private slots:
  void againstEveryCut_data();
  void againstEveryCut();
  void againstFromNothing_data();
  void againstFromNothing();
  void pricesAgainstEveryCut_data();
  void pricesAgainstEveryCut();
  void wideNumbers();
  void undoAll();
  void cutOffAndBack();
  void rootGoesAndComesBack();
  void wrongEdits_data();
  void wrongEdits();
  void wrongRequests_data();
  void wrongRequests();
  void cancelled();
  void followsAnEditedFabric();
  void invalidDescriptions();
  void boxes();
  void ties();
  void priceOfOneWayLink();
  void priceWithoutEnd();
  void curveOfOneLink();
  void curveErrors();
  void classes();
  void sweep();
  void sweepOfParallelLinks();
  void agreesWithOptimum_data();
  void agreesWithOptimum();
};

void TestLive::againstEveryCut_data() {
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

void TestLive::againstEveryCut() {
  QFETCH(int, collective);
  QFETCH(bool, weighted);
  for (unsigned seed = 0; seed < 120; ++seed) {
    Dice dice(1000 * seed + static_cast<unsigned>(collective));
    Scene scene = randomScene(dice, static_cast<Collective>(collective), weighted, kMaxNodes);
    auto live = LiveBound::create(scene.description, scene.request);
    QVERIFY2(live.hasValue(), live ? "" : describe(live.error()).c_str());
    QCOMPARE(told(must(live->bound()).algbw.toString()), told(scene.reference.algbw().toString()));
    for (int i = 0; i < 14; ++i) {
      const std::string place = "seed " + std::to_string(seed) + ", edit " + std::to_string(i);
      Reference changed = scene.reference;
      const std::vector<Edit> edits = randomEdit(dice, changed, weighted, kMaxNodes, i);
      if (edits.empty()) {
        continue;
      }
      const Rational want = changed.algbw();
      const auto probed = live->probe(edits);
      QVERIFY2(probed.hasValue(), place.c_str());
      QVERIFY2(probed->algbw == want,
               (place + ": probe " + probed->algbw.toString() + ", want " + want.toString()).c_str());
      if (dice.chance(30)) {
        const auto still = live->bound();
        QVERIFY2(still->algbw == scene.reference.algbw(), (place + ": the probe left something").c_str());
        continue;
      }
      const auto answer = live->apply(edits);
      QVERIFY2(answer.hasValue(), place.c_str());
      QVERIFY2(answer->algbw == want, (place + ": " + answer->algbw.toString() + ", want " + want.toString()).c_str());
      QVERIFY2(answer->isBalanced == changed.isBalanced(), place.c_str());
      QVERIFY2(answer->finding.has_value() == want.isZero(), place.c_str());
      const std::string fault = cutFault(changed, *live, *answer);
      QVERIFY2(fault.empty(), (place + ": " + fault).c_str());
      if (dice.chance(25)) {
        const auto undone = live->undo();
        QVERIFY2(undone->algbw == scene.reference.algbw(), (place + ": undo").c_str());
      } else {
        scene.reference = changed;
      }
    }
  }
}

void TestLive::againstFromNothing_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::newRow("a100") << "dgx-a100"
                        << "boxes"
                        << "4";
  QTest::newRow("mi250") << "mi250"
                         << "boxes"
                         << "3";
  QTest::newRow("h100 rails") << "dgx-h100"
                              << "network"
                              << "rails";
  QTest::newRow("fat tree") << "fat-tree-2"
                            << "spines"
                            << "3";
  QTest::newRow("3-tier fat tree") << "fat-tree-3"
                                   << "pods"
                                   << "4";
  QTest::newRow("dragonfly") << "dragonfly"
                             << "a"
                             << "4";
  QTest::newRow("torus") << "torus"
                         << "dims"
                         << "4x4x2";
  QTest::newRow("irregular boxes") << "cluster"
                                   << "gpus"
                                   << "8,3";
}

void TestLive::againstFromNothing() {
  QFETCH(QString, preset);
  QFETCH(QString, key);
  QFETCH(QString, value);
  const auto description = presets::make(preset.toStdString(), {{key.toStdString(), value.toStdString()}});
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
    forestcoll::Request request;
    request.collective = collective;
    auto live = LiveBound::create(must(fabric::Fabric::build(must(description))), request);
    Dice dice(77);
    for (int i = 0; i < 250; ++i) {
      const std::vector<live::LiveLink> links = live->links();
      const live::LiveLink& chosen = links[dice.below(static_cast<int>(links.size()))];
      std::vector<Edit> edits;
      const Rational factors[] = {Rational(1, 2), 2, Rational(9, 10), Rational(5, 4), 1, 0};
      const Rational factor = factors[dice.below(6)];
      const Rational was = std::max(chosen.forward, chosen.backward).gigabytesPerSecond();
      // Back to near the start now and then: otherwise the bandwidths' denominators grow without end.
      const Rational next = i % 7 == 6 ? Rational(50) : Rational((was * factor * Rational(2)).floor(), 2);
      switch (dice.below(6)) {
        case 0:
          edits.push_back(live::SetArc{live->id(chosen.a), live->id(chosen.b), Bandwidth(next)});
          break;
        case 1:
          edits.push_back(live::RemoveNode{live->id(chosen.a)});
          break;
        default:
          edits.push_back(live::SetLink{live->id(chosen.a), live->id(chosen.b), Bandwidth(next)});
          break;
      }
      const auto answer = live->apply(edits);
      QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
      const Rational want = algbwFromNothing(*live, collective);
      QVERIFY2(answer->algbw == want,
               (std::to_string(i) + ": " + answer->algbw.toString() + ", from nothing " + want.toString()).c_str());
      if (want.isZero() || i % 3 == 0) {
        const auto undone = live->undo();
        QVERIFY(undone.hasValue());
        QVERIFY2(undone->algbw == algbwFromNothing(*live, collective), (std::to_string(i) + ": undo").c_str());
      }
    }
  }
}

void TestLive::pricesAgainstEveryCut_data() {
  againstEveryCut_data();
}

void TestLive::pricesAgainstEveryCut() {
  QFETCH(int, collective);
  QFETCH(bool, weighted);
  for (unsigned seed = 0; seed < 60; ++seed) {
    Dice dice(500 * seed + static_cast<unsigned>(collective));
    const Scene scene = randomScene(dice, static_cast<Collective>(collective), weighted, 8);
    const Reference& reference = scene.reference;
    auto live = LiveBound::create(scene.description, scene.request);
    std::vector<live::LinkGroup> groups;
    for (const live::LiveLink& each : live->links()) {
      groups.push_back(live::groupOf(*live, each));
    }
    const std::size_t single = groups.size();
    for (int i = 0; i < 4; ++i) {
      live::LinkGroup mixed{"mixed", {}};
      for (std::size_t j = 0; j < single; ++j) {
        if (dice.chance(40)) {
          for (live::GroupArc arc : groups[j].arcs) {
            arc.weight = 1 + dice.below(3);
            mixed.arcs.push_back(arc);
          }
        }
      }
      if (!mixed.arcs.empty()) {
        groups.push_back(mixed);
      }
    }
    for (const live::LinkGroup& group : groups) {
      const std::string place = "seed " + std::to_string(seed) + ", " + group.name;
      const auto price = live::priceOf(*live, group);
      QVERIFY2(price.hasValue(), (place + (price ? "" : ": " + describe(price.error()))).c_str());
      const auto halves = reference.halves(group);
      Rational room = reference.bandwidth[group.arcs[0].src][group.arcs[0].dst];
      for (const live::GroupArc& arc : group.arcs) {
        room = std::min(room, reference.bandwidth[arc.src][arc.dst] / Rational(arc.weight));
      }
      std::optional<Rational> above;
      std::optional<Rational> below;
      std::vector<Rational> raises;
      std::vector<Rational> lowers;
      std::vector<Rational> rates;
      for (const auto& lines : halves) {
        const Side up = envelopeAbove(lines);
        const Side down = envelopeBelow(lines, room);
        raises.push_back(up.slope);
        lowers.push_back(down.slope);
        rates.push_back(reference.algbw({lines}, 0) / Rational(reference.total()));
        above = up.change && (!above || *up.change < *above) ? up.change : above;
        below = down.change && (!below || *down.change > *below) ? down.change : below;
      }
      const auto joined = [&](const std::vector<Rational>& slopes) {
        if (slopes.size() == 1) {
          return Rational(reference.total()) * slopes[0];
        }
        const Rational f = rates[0];
        const Rational g = rates[1];
        if (f.isZero() && g.isZero()) {
          return slopes[0].isZero() || slopes[1].isZero()
                     ? Rational(0)
                     : Rational(reference.total()) / (slopes[0].inverse() + slopes[1].inverse());
        }
        return Rational(reference.total()) * (slopes[0] * g * g + slopes[1] * f * f) / ((f + g) * (f + g));
      };
      QVERIFY2(price->raise == joined(raises),
               (place + ": raise " + price->raise.toString() + ", want " + joined(raises).toString()).c_str());
      QVERIFY2(price->lower == joined(lowers),
               (place + ": lower " + price->lower.toString() + ", want " + joined(lowers).toString()).c_str());
      QVERIFY2(price->nextAbove == above, (place + ": next above").c_str());
      QVERIFY2(price->nextBelow == below, (place + ": next below").c_str());

      const Rational to = room + Rational(20);
      const auto curve = live::curveOf(*live, group, -room, to);
      QVERIFY2(curve.hasValue(), place.c_str());
      const auto& points = curve->points;
      QVERIFY2(points.front().change == -room && points.back().change == to, place.c_str());
      for (std::size_t i = 0; i < points.size(); ++i) {
        QVERIFY2(points[i].algbw == reference.algbw(halves, points[i].change), place.c_str());
        if (i > 0) {
          const Rational middle = (points[i - 1].change + points[i].change) / Rational(2);
          const Rational value = reference.algbw(halves, middle);
          if (curve->isPiecewiseLinear) {
            QVERIFY2(points[i - 1].algbw + points[i - 1].slopeAfter * (middle - points[i - 1].change) == value,
                     place.c_str());
            QVERIFY2(points[i].slopeBefore == points[i - 1].slopeAfter, place.c_str());
            QVERIFY2(i + 1 == points.size() || points[i].slopeBefore > points[i].slopeAfter, place.c_str());
          } else {
            QVERIFY2(points[i - 1].slopeAfter >= points[i].slopeBefore, place.c_str());
          }
        }
      }
    }
  }
}

void TestLive::wideNumbers() {
  // Flows that need 128 bits: capacities times demands beyond 2^60.
  auto huge = LiveBound::create(star(4, "400000000000000001"), {});
  QVERIFY2(huge.hasValue(), huge ? "" : describe(huge.error()).c_str());
  QCOMPARE(told(must(huge->bound()).algbw.toString()),
           told((Rational(400000000000000001) * Rational(4, 3)).toString()));
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    const std::string gpu = "g" + std::to_string(random() % 4);
    const Bandwidth next(Rational(static_cast<std::int64_t>(1 + random() % 400000000000000001U)));
    const Edit edit = random() % 2 == 0 ? Edit(live::SetArc{gpu, "s", next}) : Edit(live::SetLink{gpu, "s", next});
    const auto answer = huge->apply({&edit, 1});
    QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
    QCOMPARE(told(answer->algbw.toString()), told(algbwFromNothing(*huge, Collective::allgather).toString()));
  }

  // Wide fractions, and then one that no common unit takes in.
  fabric::Description description = star(3, "1000000007/1000003");
  description.links[1].bandwidth = "999999937/999983";
  auto live = LiveBound::create(description, {});
  QVERIFY2(live.hasValue(), live ? "" : describe(live.error()).c_str());
  // Every GPU takes in two shards: the slowest link decides.
  const Rational slow = std::min(Rational(1000000007, 1000003), Rational(999999937, 999983));
  QCOMPARE(told(must(live->bound()).algbw.toString()), told((slow * Rational(3, 2)).toString()));
  const auto before = must(live->bound()).algbw;
  const Edit wide = live::SetLink{"g2", "s", Bandwidth(Rational(4000000000000000037, 3000000000000000053))};
  const auto refused = live->apply({&wide, 1});
  QVERIFY(!refused.hasValue());
  QCOMPARE(refused.error().code, ErrorCode::overflow);
  QCOMPARE(told(must(live->bound()).algbw.toString()), told(before.toString()));
  const Edit plain = live::SetLink{"g2", "s", Bandwidth(Rational(5))};
  QCOMPARE(told(must(live->apply({&plain, 1})).algbw.toString()), told("15/2"));
}

void TestLive::undoAll() {
  const auto description = presets::make("dgx-a100", {{"boxes", "3"}});
  auto live = LiveBound::create(must(description), {});
  const Rational start = must(live->bound()).algbw;
  Dice dice(5);
  std::vector<Rational> values;
  for (int i = 0; i < 60; ++i) {
    const auto links = live->links();
    const live::LiveLink& each = links[dice.below(static_cast<int>(links.size()))];
    std::vector<Edit> edits{live::SetLink{live->id(each.a), live->id(each.b), Bandwidth(dice.bandwidth())}};
    if (i % 9 == 8) {
      edits = {live::RemoveNode{live->id(each.a)}};
    }
    values.push_back(must(live->bound()).algbw);
    QVERIFY(live->apply(edits).hasValue());
  }
  while (!values.empty()) {
    QVERIFY(live->canUndo());
    QCOMPARE(told(must(live->undo()).algbw.toString()), told(values.back().toString()));
    values.pop_back();
  }
  QVERIFY(!live->canUndo());
  QCOMPARE(must(live->bound()).algbw, start);
  QCOMPARE(live->undo().error().code, ErrorCode::badUsage);
}

void TestLive::cutOffAndBack() {
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce}) {
    forestcoll::Request request;
    request.collective = collective;
    auto live = LiveBound::create(star(4), request);
    const Rational whole = must(live->bound()).algbw;
    const Edit oneWay = live::SetArc{"g2", "s", Bandwidth()};
    Answer answer = must(live->apply({&oneWay, 1}));
    QVERIFY(answer.algbw.isZero() && !answer.inverseRate && answer.finding);
    QCOMPARE(answer.finding->code, ErrorCode::infeasible);
    QCOMPARE(told(answer.finding->where.element), told("node \"g2\""));
    QVERIFY2(answer.finding->text.find("from it") != std::string::npos, answer.finding->text.c_str());
    QVERIFY(answer.cut.exitBandwidth.isZero());
    const Edit other = live::SetArc{"s", "g2", Bandwidth()};
    answer = must(live->apply({&other, 1}));
    QVERIFY(answer.algbw.isZero());
    QVERIFY(!live::rankFailures(*live, {}).hasValue());
    const Edit repair = live::SetLink{"s", "g2", Bandwidth(Rational(10))};
    QCOMPARE(must(live->apply({&repair, 1})).algbw, whole);
    const Edit gone[] = {live::RemoveNode{"g0"}, live::RemoveNode{"g1"}, live::RemoveNode{"g2"}};
    answer = must(live->apply(gone));
    QVERIFY(answer.algbw.isZero() && answer.finding);
    QVERIFY2(answer.finding->text.find("only one GPU") != std::string::npos, answer.finding->text.c_str());
    QCOMPARE(must(live->undo()).algbw, whole);
  }
}

void TestLive::rootGoesAndComesBack() {
  forestcoll::Request request;
  request.collective = Collective::broadcast;
  request.root = 1;
  auto live = LiveBound::create(star(4), request);
  QCOMPARE(told(must(live->bound()).algbw.toString()), told("10"));
  const Edit gone = live::RemoveNode{"g1"};
  const Answer answer = must(live->apply({&gone, 1}));
  QVERIFY(answer.finding && answer.finding->text.find("\"g1\"") != std::string::npos);
  const Edit back[] = {live::AddNode{"g1"}, live::SetLink{"g1", "s", Bandwidth(Rational(7))}};
  QCOMPARE(told(must(live->apply(back)).algbw.toString()), told("7"));
}

void TestLive::wrongEdits_data() {
  QTest::addColumn<int>("which");
  QTest::addColumn<QString>("text");
  QTest::newRow("unknown node") << 0 << "nowhere";
  QTest::newRow("below zero") << 1 << "below 0";
  QTest::newRow("itself") << 2 << "itself";
  QTest::newRow("id taken") << 3 << "already";
  QTest::newRow("unknown box") << 4 << "box";
  QTest::newRow("empty id") << 5 << "id";
  QTest::newRow("negative amount") << 6 << "amount";
  QTest::newRow("removed node") << 7 << "\"g1\"";
  QTest::newRow("second of two") << 8 << "nowhere";
}

void TestLive::wrongEdits() {
  QFETCH(int, which);
  QFETCH(QString, text);
  auto live = LiveBound::create(star(4), {});
  const Rational before = must(live->bound()).algbw;
  const std::vector<std::vector<Edit>> cases = {
      {live::SetArc{"g0", "nowhere", Bandwidth(Rational(1))}},
      {live::ChangeBandwidth{"g0", "s", Bandwidth(Rational(-11)), true}},
      {live::SetLink{"g0", "g0", Bandwidth(Rational(1))}},
      {live::AddNode{"g3"}},
      {live::RemoveBox{"b7"}},
      {live::AddNode{""}},
      {live::AddNode{"x", fabric::NodeKind::gpu, "", -1}},
      {live::RemoveNode{"g1"}, live::SetLink{"g1", "s", Bandwidth(Rational(1))}},
      {live::SetLink{"g0", "s", Bandwidth(Rational(1))}, live::RemoveNode{"nowhere"}}};
  for (const bool isProbe : {true, false}) {
    const auto answer = isProbe ? live->probe(cases[which]) : live->apply(cases[which]);
    QVERIFY(!answer.hasValue());
    QCOMPARE(answer.error().code, ErrorCode::badUsage);
    QVERIFY2(QString::fromStdString(describe(answer.error())).contains(text), describe(answer.error()).c_str());
    QCOMPARE(must(live->bound()).algbw, before);
    QVERIFY(live->find("g1").has_value() && !live->canUndo());
  }
}

void TestLive::wrongRequests_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("root");
  QTest::addColumn<QString>("amounts");
  QTest::newRow("no root") << static_cast<int>(Collective::broadcast) << -9 << "";
  QTest::newRow("root out of range") << static_cast<int>(Collective::reduce) << 4 << "";
  QTest::newRow("negative root") << static_cast<int>(Collective::reduce) << -1 << "";
  QTest::newRow("root too many") << static_cast<int>(Collective::allgather) << 0 << "";
  QTest::newRow("too few amounts") << static_cast<int>(Collective::allgather) << -9 << "1,2";
  QTest::newRow("negative amount") << static_cast<int>(Collective::allgather) << -9 << "1,2,-1,1";
  QTest::newRow("all zero") << static_cast<int>(Collective::reduceScatter) << -9 << "0,0,0,0";
  QTest::newRow("allreduce") << static_cast<int>(Collective::allreduce) << -9 << "1,1,1,1";
}

void TestLive::wrongRequests() {
  QFETCH(int, collective);
  QFETCH(int, root);
  QFETCH(QString, amounts);
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  if (root != -9) {
    request.root = root;
  }
  for (const QString& amount : amounts.split(',', Qt::SkipEmptyParts)) {
    request.amounts.push_back(amount.toInt());
  }
  const auto live = LiveBound::create(star(4), request);
  QVERIFY(!live.hasValue());
  QCOMPARE(live.error().code, ErrorCode::badUsage);
}

void TestLive::cancelled() {
  auto live = LiveBound::create(must(presets::make("mi250", {{"boxes", "3"}})), {});
  std::stop_source stop;
  stop.request_stop();
  const auto links = live->links();
  const Edit edit = live::SetLink{live->id(links[3].a), live->id(links[3].b), Bandwidth(Rational(1, 3))};
  const auto answer = live->apply({&edit, 1}, {{}, stop.get_token()});
  QCOMPARE(answer.error().code, ErrorCode::cancelled);
  QCOMPARE(must(live->bound()).algbw, algbwFromNothing(*live, Collective::allgather));
  // In the middle of the work, too.
  std::stop_source later;
  const Progress progress{[&](std::string_view, double) { later.request_stop(); }, later.get_token()};
  const auto groups = live::linkClasses(*live);
  QCOMPARE(live::rankPrices(*live, groups, progress).error().code, ErrorCode::cancelled);
  QCOMPARE(must(live->bound()).algbw, algbwFromNothing(*live, Collective::allgather));
}

/// One fabric after another as deltas: what a follower says of each is what nothing kept says.
void TestLive::followsAnEditedFabric() {
  Dice dice(11);
  for (int round = 0; round < 60; ++round) {
    fabric::EditedFabric edited;
    live::BoundFollower follower;
    std::map<std::string, fabric::Key> keys;
    fabric::Key nextLink = 1;
    fabric::Key firstLink = 1;
    for (int i = 0; i < 5; ++i) {
      const Scene next = randomScene(dice, Collective::allgather, false, kMaxNodes);
      fabric::FabricDelta delta;
      for (fabric::Key link = firstLink; link < nextLink; ++link) {
        delta.links.push_back({link, 0, 0, std::nullopt});
      }
      std::map<std::string, fabric::Key> before = keys;
      for (const fabric::NodeDescription& node : next.description.nodes) {
        before.erase(node.id);
        const fabric::Key key = keys.try_emplace(node.id, static_cast<fabric::Key>(keys.size()) + 1).first->second;
        delta.nodes.push_back({key, node});
      }
      for (const auto& [id, key] : before) {
        delta.nodes.push_back({key, std::nullopt});
      }
      firstLink = nextLink;
      for (const fabric::LinkDescription& link : next.description.links) {
        // Half of the links know their ends, half name them.
        const bool isKnown = dice.chance(50);
        delta.links.push_back({nextLink++, isKnown ? keys.at(link.src) : 0, isKnown ? keys.at(link.dst) : 0, link});
      }
      edited.apply(std::move(delta));
      QVERIFY(edited.isSound());
      const Answer answer = must(follower.answer(edited, {}, 0));
      QCOMPARE(told(answer.algbw.toString()), told(next.reference.algbw().toString()));
      QCOMPARE(answer.gpuCount, edited.gpuCount());
      for (const live::NodeId node : answer.cut.nodes) {
        QCOMPARE(told(edited.find(follower.keyOf(node))->facts.id), told(follower.bound()->id(node)));
      }
    }
  }
}

void TestLive::invalidDescriptions() {
  std::vector<fabric::Description> faulty(7, star(3));
  faulty[0].links[0].dst = "x";
  faulty[1].links[0].bandwidth = "fast";
  faulty[2].links[0].bandwidth = "0";
  faulty[3].nodes[1].id = "g0";
  faulty[4].nodes[1].kind = "toaster";
  faulty[5].links[0].count = 0;
  faulty[6].nodes[1].rank = 7;
  for (const fabric::Description& description : faulty) {
    const auto made = LiveBound::create(description, {});
    QVERIFY(!made.hasValue());
    QVERIFY(made.error().code == ErrorCode::invalidFabric);
  }
  // GPUs apart are an answer, not an error.
  fabric::Description apart = star(3);
  apart.links.pop_back();
  QVERIFY(must(LiveBound::create(apart, {}).value().bound()).finding.has_value());
}

void TestLive::boxes() {
  auto live = LiveBound::create(must(presets::make("dgx-a100", {{"boxes", "3"}})), {});
  const auto two = LiveBound::create(must(presets::make("dgx-a100", {{"boxes", "2"}})), {});
  const Rational three = must(live->bound()).algbw;
  const Edit gone = live::RemoveBox{"b2"};
  const Answer answer = must(live->apply({&gone, 1}));
  QCOMPARE(answer.gpuCount, 16);
  QCOMPARE(told(answer.algbw.toString()), told(must(LiveBound(*two).bound()).algbw.toString()));
  // The same box again, as one batch.
  const fabric::Description whole = must(presets::make("dgx-a100", {{"boxes", "3"}}));
  std::vector<Edit> back;
  for (const fabric::NodeDescription& node : whole.nodes) {
    if (node.box == "b2") {
      back.push_back(live::AddNode{node.id, *fabric::parseNodeKind(node.kind), node.box});
    }
  }
  for (const fabric::LinkDescription& each : whole.links) {
    if (each.src.starts_with("b2") || each.dst.starts_with("b2")) {
      back.push_back(live::ChangeBandwidth{each.src, each.dst, must(Bandwidth::parse(each.bandwidth)), true});
    }
  }
  QCOMPARE(told(must(live->apply(back)).algbw.toString()), told(three.toString()));
}

void TestLive::ties() {
  // Three GPUs on a switch, 10 GB/s each: any two shards must come in over 10, for each GPU alike.
  auto live = LiveBound::create(star(3), {});
  QCOMPARE(must(live->bound()).algbw, Rational(15));
  const auto one = must(live::priceOf(*live, link(*live, "g0", "s")));
  QCOMPARE(one.raise, Rational(0));
  QVERIFY(!one.nextAbove);
  QCOMPARE(one.lower, Rational(3, 2));
  QVERIFY(!one.nextBelow);
  live::LinkGroup all{"all", {}};
  for (const char* gpu : {"g0", "g1", "g2"}) {
    const auto each = link(*live, gpu, "s");
    all.arcs.insert(all.arcs.end(), each.arcs.begin(), each.arcs.end());
  }
  const auto together = must(live::priceOf(*live, all));
  QCOMPARE(together.raise, Rational(3, 2));
  QVERIFY(!together.nextAbove);
  QCOMPARE(together.lower, Rational(3, 2));
  // The slow one alone is worth raising, until it is as fast as the others.
  const Edit slow = live::SetLink{"g0", "s", Bandwidth(Rational(4))};
  QCOMPARE(must(live->apply({&slow, 1})).algbw, Rational(6));
  const auto price = must(live::priceOf(*live, link(*live, "g0", "s")));
  QCOMPARE(price.raise, Rational(3, 2));
  QVERIFY(price.nextAbove == Rational(6));
  const auto other = must(live::priceOf(*live, link(*live, "g1", "s")));
  QCOMPARE(other.raise, Rational(0));
  QCOMPARE(other.lower, Rational(0));
  QVERIFY(other.nextBelow == Rational(-6));
  const auto links = live->links();
  std::vector<live::LinkGroup> groups;
  for (const live::LiveLink& each : links) {
    groups.push_back(live::groupOf(*live, each));
  }
  const auto ranking = must(live::rankPrices(*live, groups));
  QCOMPARE(ranking.size(), std::size_t{3});
  QCOMPARE(told(groups[ranking[0].group].name), told("g0 - s"));
}

void TestLive::priceOfOneWayLink() {
  // A ring of three, in one direction: each arc carries two of three shards.
  fabric::Description ring;
  for (int i = 0; i < 3; ++i) {
    fabric::NodeDescription node;
    node.id = "g" + std::to_string(i);
    ring.nodes.push_back(node);
    fabric::LinkDescription arc;
    arc.src = node.id;
    arc.dst = "g" + std::to_string((i + 1) % 3);
    arc.bandwidth = i == 0 ? "4" : "6";
    arc.duplex = false;
    ring.links.push_back(arc);
  }
  auto live = LiveBound::create(ring, {});
  QCOMPARE(must(live->bound()).algbw, Rational(6));
  const auto price = must(live::priceOf(*live, link(*live, "g0", "g1", false)));
  QCOMPARE(price.raise, Rational(3, 2));
  QVERIFY(price.nextAbove == Rational(2));
  // What a link that is not there yet would be worth: g0 -> g1 is the narrow place, and g1 -> g0 helps nothing.
  QCOMPARE(must(live::priceOf(*live, link(*live, "g1", "g0", false))).raise, Rational(0));
  const auto groups = must(live::groupsOf(*live, ring));
  QCOMPARE(groups.size(), std::size_t{3});
  QCOMPARE(told(groups[0].name), told("g0 -> g1"));
}

void TestLive::priceWithoutEnd() {
  // Two GPUs and one link: it is the only cut, however wide it gets.
  fabric::Description pair;
  pair.nodes.resize(2);
  pair.nodes[0].id = "a";
  pair.nodes[1].id = "b";
  fabric::LinkDescription only;
  only.src = "a";
  only.dst = "b";
  only.bandwidth = "3";
  pair.links.push_back(only);
  auto live = LiveBound::create(pair, {});
  const auto price = must(live::priceOf(*live, link(*live, "a", "b")));
  QCOMPARE(price.raise, Rational(2));
  QVERIFY(!price.nextAbove);
  QCOMPARE(price.lower, Rational(2));
  QVERIFY(!price.nextBelow);
}

void TestLive::curveOfOneLink() {
  auto live = LiveBound::create(star(3), {});
  const auto curve = must(live::curveOf(*live, link(*live, "g0", "s"), Rational(-10), Rational(5)));
  QVERIFY(curve.isPiecewiseLinear);
  QCOMPARE(curve.points.size(), std::size_t{3});
  QCOMPARE(curve.points[0].algbw, Rational(0));
  QCOMPARE(curve.points[0].slopeAfter, Rational(3, 2));
  QCOMPARE(curve.points[1].change, Rational(0));
  QCOMPARE(curve.points[1].algbw, Rational(15));
  QCOMPARE(curve.points[1].slopeAfter, Rational(0));
  QCOMPARE(curve.points[2].algbw, Rational(15));
  const auto point = must(live::curveOf(*live, link(*live, "g0", "s"), Rational(1), Rational(1)));
  QCOMPARE(point.points.size(), std::size_t{1});
}

void TestLive::curveErrors() {
  auto live = LiveBound::create(star(3), {});
  const auto group = link(*live, "g0", "s");
  QCOMPARE(live::curveOf(*live, group, Rational(1), Rational(0)).error().code, ErrorCode::badUsage);
  QCOMPARE(live::curveOf(*live, group, Rational(-11), Rational(0)).error().code, ErrorCode::badUsage);
  live::LinkGroup twice = group;
  twice.arcs.push_back(twice.arcs.front());
  live::LinkGroup weightless = group;
  weightless.arcs[0].weight = 0;
  live::LinkGroup nowhere{"nowhere", {{0, 99, 1}}};
  for (const live::LinkGroup& wrong : {twice, weightless, nowhere, live::LinkGroup{}}) {
    QCOMPARE(live::priceOf(*live, wrong).error().code, ErrorCode::badUsage);
  }
}

void TestLive::classes() {
  auto live = LiveBound::create(must(presets::make("dgx-h100", {{"boxes", "4"}, {"network", "rails"}})), {});
  const auto groups = live::linkClasses(*live);
  std::size_t arcs = 0;
  for (const live::LinkGroup& group : groups) {
    arcs += group.arcs.size();
  }
  QCOMPARE(arcs, 2 * live->links().size());
  // Fig.: the rails are the narrow place; every NIC link together is worth something, one alone is not.
  const auto ranking = must(live::rankPrices(*live, groups));
  QVERIFY(ranking.front().price.raise.isPositive());
  QVERIFY2(groups[ranking.front().group].name.find("gpu - switch") == 0, groups[ranking.front().group].name.c_str());
}

void TestLive::sweep() {
  const fabric::Description description = must(presets::make("dgx-h100", {{"boxes", "2"}, {"network", "rails"}}));
  for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
    forestcoll::Request request;
    request.collective = collective;
    auto live = LiveBound::create(description, request);
    const Rational before = must(live->bound()).algbw;
    const auto failures = live::singleFailures(description, true);
    QCOMPARE(failures.size(), description.links.size() + description.nodes.size() + 2);
    const auto ranking = must(live::rankFailures(*live, failures));
    QCOMPARE(ranking.size(), failures.size());
    QCOMPARE(must(live->bound()).algbw, before);
    for (std::size_t i = 0; i < ranking.size(); ++i) {
      const live::Damage& damage = ranking[i];
      QVERIFY(i == 0 || ranking[i - 1].loss >= damage.loss);
      QVERIFY(damage.loss == Rational(1) - damage.algbw / before);
      // The same by really doing it, from nothing.
      auto copy = LiveBound::create(description, request);
      const Answer answer = must(copy->apply(failures[damage.failure].edits));
      QVERIFY2(answer.algbw == damage.algbw, failures[damage.failure].name.c_str());
      QVERIFY(answer.finding.has_value() == damage.finding.has_value());
      if (collective == Collective::allgather) {
        QVERIFY2(algbwFromNothing(*copy, collective) == damage.algbw, failures[damage.failure].name.c_str());
      }
    }
  }
}

void TestLive::sweepOfParallelLinks() {
  fabric::Description description = star(3, "5");
  for (auto& each : description.links) {
    each.count = 2;
  }
  auto live = LiveBound::create(description, {});
  QCOMPARE(must(live->bound()).algbw, Rational(15));
  const auto ranking = must(live::rankFailures(*live, live::singleFailures(description)));
  // The switch takes everything; a GPU leaves two; one of two parallel links leaves half.
  QCOMPARE(ranking.front().loss, Rational(1));
  QVERIFY(ranking.front().finding.has_value());
  QCOMPARE(ranking[1].algbw, Rational(15, 2));
  QCOMPARE(ranking.back().algbw, Rational(20));
  QCOMPARE(ranking.back().loss, Rational(-1, 3));
}

void TestLive::agreesWithOptimum_data() {
  QTest::addColumn<int>("collective");
  QTest::newRow("allgather") << static_cast<int>(Collective::allgather);
  QTest::newRow("reduce_scatter") << static_cast<int>(Collective::reduceScatter);
  QTest::newRow("allreduce") << static_cast<int>(Collective::allreduce);
  QTest::newRow("broadcast") << static_cast<int>(Collective::broadcast);
  QTest::newRow("reduce") << static_cast<int>(Collective::reduce);
  QTest::newRow("gather") << static_cast<int>(Collective::gather);
  QTest::newRow("scatter") << static_cast<int>(Collective::scatter);
}

void TestLive::agreesWithOptimum() {
  QFETCH(int, collective);
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  if (isRooted(request.collective)) {
    request.root = 3;
  }
  request.allreduceBudget = {};
  for (const char* name : {"dgx-a100", "mi250", "dragonfly", "fat-tree-3", "fig-4-5"}) {
    const auto fabric = must(fabric::Fabric::build(must(presets::make(name, {}))));
    auto live = LiveBound::create(fabric, request);
    const Answer answer = must(live->bound());
    const auto optimum = must(forestcoll::optimum(fabric, request));
    QVERIFY(answer.isBalanced);
    QCOMPARE(told(answer.algbw.toString()), told(optimum.algbw.toString()));
    QCOMPARE(told(answer.inverseRate->toString()), told(optimum.inverseRate.toString()));
  }
}

QTEST_GUILESS_MAIN(TestLive)
#include "tst_live.moc"
