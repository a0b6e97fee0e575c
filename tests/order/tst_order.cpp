// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "baselines/baselines.hpp"
#include "order/grid.hpp"
#include "order/loads.hpp"
#include "order/search.hpp"
#include "simulate/routes.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/order_check.hpp"

using namespace coppice;
using fabric::NodeIndex;
using fabric::Rank;
using test::must;
using test::presetFabric;

namespace {

/// Times of orders by their definition: no loads that change, no units, no routes of core/.
class ByDefinition {
public:
  ByDefinition(const fabric::Fabric& fabric, const order::Pattern& pattern) : m_fabric(fabric), m_pattern(pattern) {}

  Rational timeOf(const std::vector<Rank>& order) {
    Rational time;
    for (const order::Step& step : m_pattern.steps) {
      std::map<int, Rational> loads;
      for (const order::Message& message : step.messages) {
        for (const auto& [arc, part] : sharesOf(order[message.from], order[message.to])) {
          loads[arc] += part * message.amount / m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond();
        }
      }
      Rational most;
      for (const auto& [arc, load] : loads) {
        most = std::max(most, load);
      }
      time += most * Rational(step.count);
    }
    return time;
  }

private:
  const std::map<int, Rational>& sharesOf(Rank from, Rank to) {
    const auto [found, isNew] = m_shares.try_emplace({from, to});
    if (isNew) {
      auto distance = distances(from, false);
      const NodeIndex end = m_fabric.gpus()[to];
      const bool overGpus = distance[end] < 0;
      distance = overGpus ? distances(from, true) : distance;
      walkBack(end, Rational(1), distance, overGpus, found->second);
    }
    return found->second;
  }

  [[nodiscard]] bool isGpu(NodeIndex node) const { return m_fabric.nodes()[node].kind == fabric::NodeKind::gpu; }

  std::vector<int> distances(Rank from, bool overGpus) {
    std::vector<int> distance(m_fabric.nodeCount(), -1);
    distance[m_fabric.gpus()[from]] = 0;
    for (int hops = 0; hops < m_fabric.nodeCount(); ++hops) {
      for (const fabric::Arc& arc : m_fabric.arcs()) {
        if (distance[arc.tail] == hops && distance[arc.head] < 0 && (hops == 0 || overGpus || !isGpu(arc.tail))) {
          distance[arc.head] = hops + 1;
        }
      }
    }
    return distance;
  }

  void walkBack(NodeIndex node, const Rational& part, const std::vector<int>& distance, bool overGpus,
                std::map<int, Rational>& shares) {
    std::vector<int> choices;
    Bandwidth widest;
    for (int arc = 0; arc < static_cast<int>(m_fabric.arcs().size()); ++arc) {
      const fabric::Arc& at = m_fabric.arcs()[arc];
      const bool isRelay = distance[at.tail] == 0 || overGpus || !isGpu(at.tail);
      if (at.head == node && distance[at.tail] >= 0 && distance[at.tail] == distance[node] - 1 && isRelay) {
        choices.push_back(arc);
        widest = std::max(widest, at.bandwidth);
      }
    }
    std::erase_if(choices, [&](int arc) { return m_fabric.arcs()[arc].bandwidth < widest; });
    for (const int arc : choices) {
      const Rational each = part / Rational(static_cast<std::int64_t>(choices.size()));
      shares[arc] += each;
      walkBack(m_fabric.arcs()[arc].tail, each, distance, overGpus, shares);
    }
  }

  const fabric::Fabric& m_fabric;
  const order::Pattern& m_pattern;
  std::map<std::pair<Rank, Rank>, std::map<int, Rational>> m_shares;
};

/// GPUs at switches that are joined at random, with bandwidths of a few kinds; hosts are boxes.
fabric::Fabric randomFabric(unsigned seed, int gpus, int gpusPerHost) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const char* const rates[] = {"10", "25", "40/3", "100"};
  fabric::Description description;
  const int switches = 3;
  for (int i = 0; i < gpus; ++i) {
    fabric::NodeDescription node;
    node.id = "g" + std::to_string(i);
    node.box = gpusPerHost > 1 ? "h" + std::to_string(i / gpusPerHost) : "";
    description.nodes.push_back(node);
    const std::string at = "s" + std::to_string(below(switches));
    description.links.push_back({node.id, at, rates[1 + below(3)]});
    if (below(3) == 0) {
      description.links.push_back({node.id, at == "s0" ? "s1" : "s0", rates[below(4)]});
    }
  }
  for (int i = 0; i < switches; ++i) {
    fabric::NodeDescription node;
    node.id = "s" + std::to_string(i);
    node.kind = "switch";
    description.nodes.push_back(node);
    description.links.push_back({node.id, "s" + std::to_string((i + 1) % switches), rates[below(4)], below(4) > 0});
  }
  return test::built(description);
}

std::vector<int> sizesOf(const order::Hosts& hosts) {
  std::vector<int> sizes;
  for (const order::Host& host : hosts) {
    sizes.push_back(static_cast<int>(host.gpus.size()));
  }
  return sizes;
}

/// Calls with every order that keeps hosts together, or with all.
void forAllOrders(const order::Hosts& hosts, bool isFree, const std::function<void(const std::vector<Rank>&)>& each) {
  std::vector<int> hostOf(order::orderOf(hosts).size());
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    for (const Rank gpu : hosts[host].gpus) {
      hostOf[gpu] = static_cast<int>(host);
    }
  }
  std::vector<Rank> order(hostOf.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    std::set<int> begun;
    bool isAllowed = true;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const bool isNext = place > 0 && hostOf[order[place]] == hostOf[order[place - 1]];
      isAllowed = isAllowed && (isNext || begun.insert(hostOf[order[place]]).second);
    }
    if (isFree || isAllowed) {
      each(order);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace

class TestOrder : public QObject {
  Q_OBJECT

private slots:
  void bestOfAllOrders_data();
  void bestOfAllOrders();
  void orderedAsTheFabricIs_data();
  void orderedAsTheFabricIs();
  void sharesAreTheMeanOfRoutes();
  void wrongOrdersAreFound();
  void ranksApartOnTheirHosts();
  void boundOfACube();
  void largeTori_data();
  void largeTori();
  void orderOutOfRange();
  void gridsOfFabrics_data();
  void gridsOfFabrics();
  void ordersOfGrids_data();
  void ordersOfGrids();
  void bestOnSmallGrids_data();
  void bestOnSmallGrids();
  void multiRingIsTheBaseline();
  void meshesAndSteps();
  void questionsWithoutAnAnswer_data();
  void questionsWithoutAnAnswer();
};

void TestOrder::bestOfAllOrders_data() {
  QTest::addColumn<QString>("algorithm");
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("gpusPerHost");
  QTest::addColumn<bool>("isFree");
  const auto row = [](const char* name, Collective collective, int gpus, int perHost, bool isFree) {
    QTest::addRow("%s %d by %d%s", name, gpus, perHost, isFree ? " free" : "")
        << name << static_cast<int>(collective) << gpus << perHost << isFree;
  };
  row("ring", Collective::allreduce, 6, 1, false);
  row("ring", Collective::allgather, 8, 2, false);
  row("ring", Collective::allgather, 6, 3, true);
  row("recursive-halving", Collective::allreduce, 4, 2, false);
  row("recursive-halving", Collective::reduceScatter, 4, 1, false);
  row("binomial", Collective::broadcast, 6, 2, false);
  row("binomial", Collective::reduce, 5, 1, false);
  row("double-binary-tree", Collective::allreduce, 6, 3, false);
  row("bruck", Collective::allgather, 5, 1, false);
  row("pairwise", Collective::alltoall, 6, 2, false);
  row("multi-ring", Collective::allreduce, 8, 2, false);
  row("hierarchical", Collective::allreduce, 8, 2, false);
}

/// The best order, what it takes and the bound, against all permutations by definition.
void TestOrder::bestOfAllOrders() {
  QFETCH(QString, algorithm);
  QFETCH(int, collective);
  QFETCH(int, gpus);
  QFETCH(int, gpusPerHost);
  QFETCH(bool, isFree);
  int gains = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const fabric::Fabric fabric = randomFabric(seed, gpus, gpusPerHost);
    const order::Hosts hosts = order::hostsOf(fabric);
    QCOMPARE(static_cast<int>(hosts.size()), gpus / gpusPerHost);
    const order::Pattern pattern =
        must(order::patternOf(algorithm.toStdString(), static_cast<Collective>(collective), sizesOf(hosts)));
    const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts, {.isFree = isFree}));
    ByDefinition definition(fabric, pattern);
    std::optional<Rational> least;
    forAllOrders(hosts, isFree, [&](const std::vector<Rank>& order) {
      // Inside a host, NCCL does not follow the ranks.
      const bool keepsInside = !pattern.usesHosts || std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) {
        const auto first = std::find(order.begin(), order.end(), host.gpus.front());
        return std::equal(host.gpus.begin(), host.gpus.end(), first,
                          first + std::min<std::ptrdiff_t>(std::ssize(host.gpus), order.end() - first));
      });
      if (keepsInside) {
        const Rational time = definition.timeOf(order);
        least = least ? std::min(*least, time) : time;
      }
    });
    QCOMPARE(answer.best.time.perGBps(), *least);
    QCOMPARE(definition.timeOf(answer.order), *least);
    QCOMPARE(must(verify::provenOrderTime(fabric, pattern, answer.order)).perGBps(), *least);
    QCOMPARE(answer.given.time.perGBps(), definition.timeOf(order::orderOf(hosts)));
    QVERIFY(answer.isProved());
    QVERIFY(!answer.bound || answer.bound->time.perGBps() <= *least);
    gains += answer.best.time < answer.given.time ? 1 : 0;
  }
  QVERIFY(gains > 0);
}

void TestOrder::orderedAsTheFabricIs_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("algorithm");
  QTest::addColumn<QString>("best");
  // A ring enters and leaves each leaf once: only the links of the GPUs hold it back, 15/8 bytes over 50 GB/s.
  QTest::newRow("fat tree") << "fat-tree-2 oversubscription=4"
                            << "ring"
                            << "80/3";
  QTest::newRow("fat tree, 64 GPUs") << "fat-tree-2 leaves=8 gpus_per_leaf=8 oversubscription=8"
                                     << "ring"
                                     << "1600/63";
  // Of each half, 8/16 and 4/16 stay in the leaves, over 50 GB/s each; 2/16 and 1/16 of four GPUs share its 50 GB/s.
  QTest::newRow("fat tree, halving") << "fat-tree-2 oversubscription=4"
                                     << "recursive-halving"
                                     << "50/3";
  // Four steps of 50 GB/s, as no leaf sends twice in one.
  QTest::newRow("fat tree, binomial") << "fat-tree-2 oversubscription=4"
                                      << "binomial"
                                      << "25/2";
  // A torus with even sides has a cycle over neighbours, 15/8 bytes over 25 GB/s; pairs with two routes do better.
  QTest::newRow("torus") << "torus dims=4x4"
                         << "ring"
                         << "16";
}

/// Ranks that were dealt out at random come back in an order that is as good as the best one known; the bound of the
/// fat trees proves it. The search is the same each time.
void TestOrder::orderedAsTheFabricIs() {
  QFETCH(QString, preset);
  QFETCH(QString, algorithm);
  QFETCH(QString, best);
  const fabric::Fabric fabric = presetFabric(preset);
  std::vector<Rank> dealt(fabric.gpuCount());
  std::iota(dealt.begin(), dealt.end(), 0);
  std::shuffle(dealt.begin(), dealt.end(), std::mt19937(5));
  order::Hosts hosts;
  for (const Rank gpu : dealt) {
    hosts.push_back({"h" + std::to_string(gpu), {gpu}});
  }
  const Collective collective = algorithm == "binomial" ? Collective::broadcast : Collective::allreduce;
  const order::Pattern pattern = must(order::patternOf(algorithm.toStdString(), collective, sizesOf(hosts)));
  const order::Request request{.work = 100'000'000};
  const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts, request));
  QVERIFY(answer.given.time > answer.best.time);
  QCOMPARE(QString::fromStdString(toFraction(answer.best.algbw())), best);
  QCOMPARE(answer.isProved(), preset.startsWith("fat-tree"));
  std::vector<Rank> sorted = answer.order;
  std::sort(sorted.begin(), sorted.end());
  std::sort(dealt.begin(), dealt.end());
  QCOMPARE(sorted, dealt);
  const order::Answer again = must(order::bestOrder(fabric, pattern, hosts, request));
  QCOMPARE(again.order, answer.order);
  QCOMPARE(again.work, answer.work);
}

/// Over as many channels as there are choices, the routes of the simulator load each link like the shares.
void TestOrder::sharesAreTheMeanOfRoutes() {
  const fabric::Fabric fabric = presetFabric("fat-tree-2 spines=3");
  simulate::ShortestRoutes routes(fabric);
  std::map<int, Rational> mean;
  for (int channel = 0; channel < 3; ++channel) {
    const std::vector<NodeIndex> nodes = routes.find(0, 9, channel);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      mean[*fabric.findArc(nodes[i - 1], nodes[i])] += Rational(1, 3);
    }
  }
  const auto shares = routes.shares(0, 9);
  QCOMPARE(shares.size(), std::size_t{8});
  QVERIFY(std::equal(shares.begin(), shares.end(), mean.begin(), mean.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
}

void TestOrder::wrongOrdersAreFound() {
  const fabric::Fabric fabric = presetFabric("ring gpus=6");
  order::Pattern pattern = must(order::patternOf("ring", Collective::allgather, std::vector<int>{6}));
  const std::vector<Rank> good{0, 1, 2, 3, 4, 5};
  const InverseBandwidth time = must(verify::provenOrderTime(fabric, pattern, good));
  QCOMPARE(time.perGBps(), Rational(5, 6) / Rational(25));
  QVERIFY(must(verify::provenOrderTime(fabric, pattern, std::vector<Rank>{0, 2, 4, 1, 3, 5})) > time);
  for (const std::vector<Rank>& wrong :
       {std::vector<Rank>{0, 1, 2, 3, 4}, std::vector<Rank>{0, 1, 2, 3, 4, 4}, std::vector<Rank>{1, 2, 3, 4, 5, 6}}) {
    const auto proved = verify::provenOrderTime(fabric, pattern, wrong);
    QVERIFY(!proved);
    QCOMPARE(proved.error().code, ErrorCode::verification);
  }
  // A step that runs twice, or a message more, takes longer.
  pattern.steps.front().count = 2;
  QCOMPARE(must(verify::provenOrderTime(fabric, pattern, good)).perGBps(), time.perGBps() * Rational(2));
  pattern.steps.front().messages.push_back({0, 2, Rational(1)});
  QVERIFY(must(verify::provenOrderTime(fabric, pattern, good)).perGBps() > time.perGBps() * Rational(2));
  pattern.steps.front().messages.push_back({3, 3, Rational(1)});
  QVERIFY(!verify::provenOrderTime(fabric, pattern, good));
}

/// Ranks dealt out in turn to two hosts: what they reach is said of that order, not of one that keeps hosts together.
/// Halves of 4: 2/4 between neighbours two apart, 1/4 between the others; the network of 10 GB/s carries 1/4 in turn
/// order, from both GPUs of a host, and 2/4 where hosts keep their ranks.
void TestOrder::ranksApartOnTheirHosts() {
  fabric::Description description;
  for (const char* id : {"a0", "b0", "a1", "b1"}) {
    fabric::NodeDescription node;
    node.id = id;
    node.box = std::string(1, id[0]);
    description.nodes.push_back(node);
    description.links.push_back({id, node.box + "s", "100"});
  }
  for (const char* box : {"a", "b"}) {
    fabric::NodeDescription node;
    node.id = std::string(box) + "s";
    node.kind = "switch";
    node.box = box;
    description.nodes.push_back(node);
  }
  description.links.push_back({"as", "bs", "10"});
  const fabric::Fabric fabric = test::built(description);
  const order::Hosts hosts = order::hostsOf(fabric);
  QCOMPARE(order::orderOf(hosts), (std::vector<Rank>{0, 2, 1, 3}));
  const order::Pattern pattern = must(order::patternOf("recursive-halving", Collective::reduceScatter, sizesOf(hosts)));
  const std::vector<Rank> inTurn{0, 1, 2, 3};
  const order::Answer kept = must(order::bestOrder(fabric, pattern, hosts, {.present = inTurn}));
  QCOMPARE(kept.given.time.perGBps(), Rational(2, 4) / Rational(100) + Rational(2, 4) / Rational(10));
  QCOMPARE(kept.best.time.perGBps(), Rational(4, 4) / Rational(10) + Rational(1, 4) / Rational(100));
  const order::Answer free = must(order::bestOrder(fabric, pattern, hosts, {.present = inTurn, .isFree = true}));
  QCOMPARE(free.best.time.perGBps(), free.given.time.perGBps());
  QVERIFY(free.isProved());
}

/// 64 GPUs in leaves of 8 that have 100 GB/s to the spines: the six exchanges have a = 32/64 to 1/64 each way, twice.
/// All of a leaf outside would be 16 x 63/64 bytes over 100 GB/s, and the links of the GPUs take a/50 in any case. Of
/// the three exchanges that eight corners of a cube keep inside, 3/4 each of the four largest save what can be saved:
/// 63/400 less 3/4 x 16 x 60/64 over 100 GB/s is 18/400.
void TestOrder::largeTori_data() {
  QTest::addColumn<QString>("dims");
  QTest::newRow("1,024 GPUs") << "16x8x8";
  QTest::newRow("long") << "32x32";
  QTest::newRow("2,048 GPUs") << "16x16x8";
}

/// Shares of routes from corner to corner have no common unit in range: the search skips such orders.
void TestOrder::largeTori() {
  QFETCH(QString, dims);
  const fabric::Fabric fabric = presetFabric(QStringLiteral("torus dims=") + dims);
  const order::Hosts hosts = order::hostsOf(fabric);
  const order::Pattern pattern = must(order::patternOf("ring", Collective::allgather, sizesOf(hosts)));
  const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts, {.work = 3'000'000}));
  QVERIFY(answer.best.time.perGBps().isPositive());
  QVERIFY(!(answer.given.time < answer.best.time));
  QVERIFY(answer.bound && !(answer.best.time < answer.bound->time));
  std::vector<fabric::Rank> sorted = answer.order;
  std::sort(sorted.begin(), sorted.end());
  for (fabric::Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    QCOMPARE(sorted[rank], rank);
  }
}

/// An order whose loads leave the range leaves those of the order before.
void TestOrder::orderOutOfRange() {
  const fabric::Fabric fabric = presetFabric("torus dims=16x16x8");
  const order::Pattern pattern = must(order::patternOf("ring", Collective::allgather, std::vector<int>(2048, 1)));
  order::Loads loads(fabric, pattern);
  std::vector<fabric::Rank> order(2048);
  std::iota(order.begin(), order.end(), 0);
  loads.set(order);
  const auto time = loads.time();
  const std::vector<fabric::Rank> inTurn = order;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  std::shuffle(order.begin(), order.end(), random);
  QVERIFY_EXCEPTION_THROWN(loads.set(order), OverflowError);
  QCOMPARE(loads.time(), time);
  loads.set(inTurn);
  QCOMPARE(loads.time(), time);
}

void TestOrder::boundOfACube() {
  const fabric::Fabric fabric = presetFabric("fat-tree-2 leaves=8 gpus_per_leaf=8 oversubscription=4");
  const order::Hosts hosts = order::hostsOf(fabric);
  const order::Pattern pattern = must(order::patternOf("recursive-halving", Collective::allreduce, sizesOf(hosts)));
  const auto bound = order::orderBound(fabric, pattern, hosts, false);
  QVERIFY(bound);
  QCOMPARE(bound->time.perGBps(), Rational(18, 400));
  QCOMPARE(bound->gpus, 8);
  // Bits reversed, the three small exchanges cross: 2 x (56/64 over 50 GB/s and 8 x 7/64 over 100 GB/s).
  const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts, {.isFree = true, .work = 1'000'000}));
  QCOMPARE(answer.best.time.perGBps(), Rational(21, 400));
  QVERIFY(answer.given.time.perGBps() > Rational(21, 400));
}

namespace {

std::optional<order::Grid> gridOfGpus(const fabric::Fabric& fabric) {
  std::vector<int> rankOf;
  for (const fabric::Node& node : fabric.nodes()) {
    rankOf.push_back(node.rank);
  }
  return order::gridOf(fabric, rankOf, fabric.gpuCount());
}

}  // namespace

void TestOrder::gridsOfFabrics_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QList<int>>("sides");
  QTest::newRow("torus") << "torus dims=3x5" << QList<int>{3, 5};
  QTest::newRow("sides of four") << "torus dims=3x4x5" << QList<int>{3, 2, 2, 5};
  QTest::newRow("mesh") << "mesh dims=4x3" << QList<int>{4, 3};
  QTest::newRow("cube") << "hypercube dimension=4" << QList<int>{2, 2, 2, 2};
  QTest::newRow("ring") << "ring gpus=7" << QList<int>{7};
  QTest::newRow("twisted") << "twisted-torus" << QList<int>{};
  QTest::newRow("switches") << "fat-tree-2" << QList<int>{};
}

/// The sides of a product, found from the links alone; neighbours differ in one coordinate, by one or around the end.
void TestOrder::gridsOfFabrics() {
  QFETCH(QString, preset);
  QFETCH(QList<int>, sides);
  const fabric::Fabric fabric = presetFabric(preset);
  const auto grid = gridOfGpus(fabric);
  QCOMPARE(grid.has_value(), !sides.empty());
  if (!grid) {
    return;
  }
  QList<int> found;
  for (const order::Grid::Side& side : grid->sides) {
    found.append(side.length);
  }
  std::sort(found.begin(), found.end());
  std::sort(sides.begin(), sides.end());
  QCOMPARE(found, sides);
  std::set<std::vector<int>> points(grid->at.begin(), grid->at.end());
  QCOMPARE(static_cast<int>(points.size()), fabric.gpuCount());
  for (const fabric::Arc& arc : fabric.arcs()) {
    const auto& a = grid->at[fabric.nodes()[arc.tail].rank];
    const auto& b = grid->at[fabric.nodes()[arc.head].rank];
    int differences = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const int apart = std::abs(a[i] - b[i]);
      differences += apart > 0 ? 1 : 0;
      QVERIFY(apart <= 1 || apart == grid->sides[i].length - 1);
    }
    QCOMPARE(differences, 1);
  }
}

void TestOrder::ordersOfGrids_data() {
  QTest::addColumn<QString>("preset");
  QTest::newRow("8x8") << "torus dims=8x8";
  QTest::newRow("8x8x8") << "torus dims=8x8x8";
  QTest::newRow("5x6") << "torus dims=5x6";
  QTest::newRow("4x6x3") << "torus dims=4x6x3";
}

/// Every rule lists each GPU once; a curve goes from neighbour to neighbour, or closes a row by its ring.
void TestOrder::ordersOfGrids() {
  QFETCH(QString, preset);
  const fabric::Fabric fabric = presetFabric(preset);
  const auto grid = gridOfGpus(fabric);
  QVERIFY(grid.has_value());
  const auto isOrder = [&](std::vector<int> things) {
    std::sort(things.begin(), things.end());
    for (std::size_t i = 0; i < things.size(); ++i) {
      if (things[i] != static_cast<int>(i)) {
        return false;
      }
    }
    return static_cast<int>(things.size()) == fabric.gpuCount();
  };
  const auto curves = order::curves(*grid);
  QVERIFY(curves.size() >= 2);
  for (const std::vector<int>& curve : curves) {
    QVERIFY(isOrder(curve));
    for (std::size_t i = 1; i < curve.size(); ++i) {
      QVERIFY(fabric.findArc(fabric.gpus()[curve[i - 1]], fabric.gpus()[curve[i]]));
    }
  }
  std::size_t changes = 0;
  for (const bool arePrime : {true, false}) {
    for (const order::DigitRule& rule : order::digitRules(*grid, arePrime)) {
      QVERIFY(isOrder(order::orderBy(*grid, rule)));
      for (std::size_t change = 0; change < order::changesOf(*grid, rule); ++change) {
        const order::DigitRule other = order::changed(*grid, rule, change);
        QVERIFY(isOrder(order::orderBy(*grid, other)));
        QVERIFY(isOrder(
            order::orderBy(*grid, order::changed(*grid, other, (change * 7) % order::changesOf(*grid, other)))));
        ++changes;
      }
    }
  }
  QVERIFY(changes > 20);
}

void TestOrder::bestOnSmallGrids_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("algorithm");
  QTest::addColumn<int>("collective");
  for (const char* preset :
       {"torus dims=2x3", "mesh dims=2x3", "torus dims=6", "torus dims=2x4", "hypercube dimension=3"}) {
    const auto row = [&](const char* algorithm, Collective collective) {
      QTest::addRow("%s, %s", preset, algorithm) << preset << algorithm << static_cast<int>(collective);
    };
    const bool isPower = QString(preset).contains('4') || QString(preset).contains("hyper");
    row("ring", Collective::allreduce);
    row("double-binary-tree", Collective::allreduce);
    row("bruck", Collective::allgather);
    row("pairwise", Collective::alltoall);
    row("binomial", Collective::broadcast);
    if (isPower) {
      row("recursive-halving", Collective::allreduce);
      row("recursive-doubling", Collective::allgather);
    }
  }
}

/// No order is better than the one found, and none is better than the bound, against all orders by definition.
void TestOrder::bestOnSmallGrids() {
  QFETCH(QString, preset);
  QFETCH(QString, algorithm);
  QFETCH(int, collective);
  const fabric::Fabric fabric = presetFabric(preset);
  order::Hosts hosts;
  for (Rank gpu = 0; gpu < fabric.gpuCount(); ++gpu) {
    hosts.push_back({"h" + std::to_string(gpu), {gpu}});
  }
  const order::Pattern pattern =
      must(order::patternOf(algorithm.toStdString(), static_cast<Collective>(collective), sizesOf(hosts)));
  const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts));
  ByDefinition definition(fabric, pattern);
  std::optional<Rational> least;
  std::vector<Rank> order(fabric.gpuCount());
  std::iota(order.begin(), order.end(), 0);
  do {
    // All of these fabrics are alike from each GPU, but for the mesh.
    if (order.front() > 0 && !preset.startsWith("mesh")) {
      break;
    }
    const Rational time = definition.timeOf(order);
    least = least ? std::min(*least, time) : time;
  } while (std::next_permutation(order.begin(), order.end()));
  QCOMPARE(answer.best.time.perGBps(), *least);
  QVERIFY(answer.bound.has_value());
  QVERIFY(answer.bound->time.perGBps() <= *least);
}

/// On rails, as the schedule that is simulated and exported.
void TestOrder::multiRingIsTheBaseline() {
  const fabric::Fabric fabric = presetFabric("rail-optimised boxes=4 gpus=4");
  const order::Hosts hosts = order::hostsOf(fabric);
  for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
    const auto baseline = must(baselines::generate("multi-ring", fabric, {.collective = collective}));
    const order::Pattern pattern = must(order::patternOf("multi-ring", collective, sizesOf(hosts)));
    const order::Answer answer = must(order::bestOrder(fabric, pattern, hosts));
    QCOMPARE(toFraction(answer.given.algbw()), toFraction(schedule::algbwOf(baseline)));
  }
}

void TestOrder::meshesAndSteps() {
  // Recursive halving of 8: the steps of allgather are those of reduce_scatter, sent back.
  const order::Pattern halving =
      must(order::patternOf("recursive-halving", Collective::allreduce, std::vector<int>{8}));
  QCOMPARE(halving.steps.size(), std::size_t{3});
  Rational sum;
  for (const order::Step& step : halving.steps) {
    QCOMPARE(step.count, 2);
    QCOMPARE(step.messages.size(), std::size_t{8});
    sum += step.messages.front().amount;
  }
  QCOMPARE(sum, Rational(7, 8));
  // Axis 0 of 2x4: rings of two ranks, four apart.
  const order::Pattern mesh =
      must(order::meshPattern("ring", Collective::allgather, std::vector<int>{2, 4}, std::vector<int>{0}, 8));
  QCOMPARE(mesh.steps.size(), std::size_t{1});
  for (const order::Message& message : mesh.steps.front().messages) {
    QCOMPARE(std::abs(message.from - message.to), 4);
    QCOMPARE(message.amount, Rational(1, 2));
  }
  // All to all of a whole communicator: every order is the same.
  const order::Pattern direct = must(order::patternOf("direct", Collective::alltoall, std::vector<int>{2, 2, 2}));
  QVERIFY(order::isUniform(direct));
  QVERIFY(!order::isUniform(halving));
}

void TestOrder::questionsWithoutAnAnswer_data() {
  QTest::addColumn<QString>("algorithm");
  QTest::addColumn<int>("collective");
  QTest::addColumn<QList<int>>("sizes");
  QTest::addColumn<QString>("message");
  const auto row = [](const char* algorithm, Collective collective, const QList<int>& sizes, const char* message) {
    QTest::newRow(message) << algorithm << static_cast<int>(collective) << sizes << message;
  };
  row("rings", Collective::allreduce, {4}, "there is no algorithm");
  row("ring", Collective::alltoall, {4}, "ring has no alltoall");
  row("binomial", Collective::allgather, {4}, "binomial has no allgather");
  row("multi-ring", Collective::allreduce, {4, 2}, "needs hosts with as many GPUs");
  row("recursive-halving", Collective::allreduce, {3, 3}, "power of two");
}

void TestOrder::questionsWithoutAnAnswer() {
  QFETCH(QString, algorithm);
  QFETCH(int, collective);
  QFETCH(QList<int>, sizes);
  QFETCH(QString, message);
  const auto made = order::patternOf(algorithm.toStdString(), static_cast<Collective>(collective),
                                     std::vector<int>(sizes.begin(), sizes.end()));
  QVERIFY(!made);
  QVERIFY2(QString::fromStdString(describe(made.error())).contains(message), describe(made.error()).c_str());
}

QTEST_GUILESS_MAIN(TestOrder)
#include "tst_order.moc"
