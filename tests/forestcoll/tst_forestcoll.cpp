// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <numeric>

#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "forestcoll/trimming.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using test::built;

namespace {

/// "a>b 5; b-c 25/2": one-way and duplex links; names beginning with s or n are switches and nics, others GPUs.
fabric::Fabric fabricFrom(const std::string& text) {
  fabric::Description description;
  description.name = "test";
  const auto need = [&](const std::string& id) {
    for (const auto& node : description.nodes) {
      if (node.id == id) {
        return;
      }
    }
    fabric::NodeDescription node;
    node.id = id;
    node.kind = id[0] == 's' ? "switch" : (id[0] == 'n' ? "nic" : "gpu");
    node.multicast = id[0] == 's' && id.back() == 'm';
    node.aggregation = node.multicast;
    description.nodes.push_back(node);
  };
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string part = text.substr(at, end - at);
    at = end + 1;
    part.erase(0, part.find_first_not_of(' '));
    const std::size_t sign = part.find_first_of(">-");
    const std::size_t space = part.find(' ');
    fabric::LinkDescription link;
    link.src = part.substr(0, sign);
    link.dst = part.substr(sign + 1, space - sign - 1);
    link.duplex = part[sign] == '-';
    link.bandwidth = part.substr(space + 1);
    need(link.src);
    need(link.dst);
    description.links.push_back(link);
  }
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    qFatal("%s", describe(fabric.error()).c_str());
  }
  return std::move(*fabric);
}

QByteArray faults(const verify::ScheduleVerdict& verdict) {
  std::string text;
  for (const Finding& finding : verdict.findings) {
    text += describe(finding) + "\n";
  }
  return QByteArray::fromStdString(text);
}

constexpr Collective kCollectives[] = {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                       Collective::broadcast, Collective::reduce};

forestcoll::Request requestFor(Collective collective, int root) {
  forestcoll::Request request;
  request.collective = collective;
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    request.root = root;
  }
  request.allreduceBudget = std::chrono::milliseconds(0);
  return request;
}

/// Generates, verifies with max flow, and returns the result. Empty text = fine.
QByteArray generateAndVerify(const fabric::Fabric& fabric, const forestcoll::Request& request,
                             forestcoll::Generated* out = nullptr) {
  auto generated = forestcoll::generate(fabric, request);
  if (!generated) {
    return QByteArray::fromStdString(describe(generated.error()));
  }
  const auto verdict = verify::verifySchedule(fabric, generated->schedule);
  if (!verdict) {
    return QByteArray::fromStdString(describe(verdict.error()));
  }
  if (!verdict->ok) {
    return faults(*verdict);
  }
  if (verdict->algbw != generated->optimum.algbw) {
    return "algbw differs";
  }
  if (out != nullptr) {
    *out = std::move(*generated);
  }
  return {};
}

/// Checks a packing directly: spanning trees, capacities, supplies.
QByteArray checkPacking(const forestcoll::PackingProblem& problem, const std::vector<forestcoll::PackedTree>& trees) {
  std::vector<std::int64_t> load(problem.arcs.size(), 0);
  std::vector<std::int64_t> rooted(problem.supply.size(), 0);
  for (const forestcoll::PackedTree& tree : trees) {
    std::vector<char> reached(static_cast<std::size_t>(problem.nodeCount), 0);
    reached[tree.root] = 1;
    rooted[tree.root] += tree.multiplicity;
    for (const int arc : tree.arcs) {
      const auto& ends = problem.arcs[arc];
      if (reached[ends.tail] == 0 || reached[ends.head] != 0) {
        return "not an out-tree in parents-first order";
      }
      reached[ends.head] = 1;
      load[arc] += tree.multiplicity;
    }
    if (std::accumulate(reached.begin(), reached.end(), 0) != problem.nodeCount) {
      return "a tree does not span";
    }
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load[i] > problem.arcs[i].capacity) {
      return "an arc is overloaded";
    }
  }
  return rooted == problem.supply ? QByteArray() : QByteArray("wrong number of trees at a root");
}

}  // namespace

class TestForestColl : public QObject {
  Q_OBJECT

private slots:
  void handComputed_data();
  void handComputed();
  void paperFixedK_data();
  void paperFixedK();
  void randomFabrics_data();
  void randomFabrics();
  void amounts();
  void everyFallback_data();
  void everyFallback();
  void largeSwitchPairwise();
  void trimming();
  void pruning();
  void unbalanced_data();
  void unbalanced();
  void hugeBandwidths();
  void scanOfK();
  void badRequests_data();
  void badRequests();
  void progressAndCancel();
  void deterministic();
  void allreduceLimit();
};

void TestForestColl::handComputed_data() {
  QTest::addColumn<QString>("links");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("algbw");
  const auto row = [](const char* name, const char* links, Collective collective, const char* algbw) {
    QTest::newRow(name) << QString(links) << collective << QString(algbw);
  };
  row("two gpus", "a-b 7", Collective::allgather, "14");
  row("two gpus allreduce", "a-b 7", Collective::allreduce, "7");
  row("two gpus broadcast", "a-b 7", Collective::broadcast, "7");
  row("fractional bandwidth", "a-b 25/2", Collective::allgather, "25");
  row("decimal bandwidth", "a-b 12.5; b-c 12.5; c-a 12.5", Collective::allgather, "75/2");
  row("one-way ring", "a>b 3; b>c 3; c>a 3", Collective::allgather, "9/2");
  row("one-way ring reduce_scatter", "a>b 3; b>c 3; c>a 3", Collective::reduceScatter, "9/2");
  row("one-way ring broadcast", "a>b 3; b>c 3; c>a 3", Collective::broadcast, "3");
  row("one-way ring reduce", "a>b 3; b>c 3; c>a 3", Collective::reduce, "3");
  row("star", "a-s 10; b-s 10; c-s 10; d-s 10", Collective::allgather, "40/3");
  // A path's inner link carries the first node's whole message to all others.
  row("path broadcast", "a-b 10; b-c 4", Collective::broadcast, "4");
  row("nic chain", "a-n1 5; n1-s 5; b-n2 5; n2-s 5", Collective::allgather, "10");
}

void TestForestColl::handComputed() {
  QFETCH(QString, links);
  QFETCH(Collective, collective);
  QFETCH(QString, algbw);
  const fabric::Fabric fabric = fabricFrom(links.toStdString());
  forestcoll::Generated generated;
  const QByteArray problem = generateAndVerify(fabric, requestFor(collective, 0), &generated);
  QVERIFY2(problem.isEmpty(), problem);
  QCOMPARE(QString::fromStdString(toFraction(generated.optimum.algbw)), algbw);
}

void TestForestColl::paperFixedK_data() {
  // Dissertation Fig. 4.5 with b = 25: x* = b and k = 1.
  QTest::addColumn<int>("b");
  QTest::newRow("b=1") << 1;
  QTest::newRow("b=25") << 25;
}

void TestForestColl::paperFixedK() {
  QFETCH(int, b);
  std::string links;
  for (int box = 1; box <= 2; ++box) {
    for (int gpu = 1; gpu <= 4; ++gpu) {
      const std::string id = "c" + std::to_string(box) + std::to_string(gpu);
      links += id + "-s" + std::to_string(box) + " " + std::to_string(10 * b) + "; ";
      links += id + "-s0 " + std::to_string(b) + "; ";
    }
  }
  links.resize(links.size() - 2);
  forestcoll::Generated generated;
  const QByteArray problem = generateAndVerify(fabricFrom(links), {}, &generated);
  QVERIFY2(problem.isEmpty(), problem);
  QCOMPARE(generated.optimum.inverseRate, InverseBandwidth(1, b));
  QCOMPARE(generated.optimum.treesPerRoot, std::int64_t{1});
}

void TestForestColl::randomFabrics_data() {
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("switches");
  QTest::addColumn<qint64>("bandwidth");
  QTest::addColumn<bool>("duplex");
  for (const bool duplex : {true, false}) {
    for (const int gpus : {2, 3, 5, 8}) {
      for (const int switches : {0, 1, 4}) {
        for (const qint64 bandwidth : {1, 7, 1000003}) {
          QTest::addRow("%s %d gpus %d switches up to %lld", duplex ? "duplex" : "one-way", gpus, switches, bandwidth)
              << gpus << switches << bandwidth << duplex;
        }
      }
    }
  }
}

void TestForestColl::randomFabrics() {
  QFETCH(int, gpus);
  QFETCH(int, switches);
  QFETCH(qint64, bandwidth);
  QFETCH(bool, duplex);
  for (unsigned seed = 0; seed < 8; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({gpus, switches, bandwidth, duplex}, seed));
    const std::vector<std::int64_t> equal(static_cast<std::size_t>(gpus), 1);
    for (const Collective collective : kCollectives) {
      const int root = static_cast<int>(seed) % gpus;
      forestcoll::Generated generated;
      const QByteArray problem = generateAndVerify(fabric, requestFor(collective, root), &generated);
      QVERIFY2(problem.isEmpty(),
               ("seed " + std::to_string(seed) + " " + std::string(toString(collective)) + ": " + problem.toStdString())
                   .c_str());
      std::vector<std::int64_t> demand = equal;
      if (collective == Collective::broadcast || collective == Collective::reduce) {
        demand.assign(static_cast<std::size_t>(gpus), 0);
        demand[root] = 1;
      }
      // Balanced fabrics have the same cuts both ways.
      Rational expected = test::bruteForceRatio(fabric, demand);
      if (collective == Collective::reduce) {
        expected = test::bruteForceRatio(fabric.transposed(), demand);
      }
      if (collective == Collective::allreduce) {
        expected *= Rational(2);
      }
      QCOMPARE(generated.optimum.inverseRate.perGBps(), expected);
    }
    // A fixed k is never above the bound and verified too.
    for (const std::int64_t k : {1, 3}) {
      forestcoll::Request request;
      request.fixedK = k;
      forestcoll::Generated generated;
      const QByteArray problem = generateAndVerify(fabric, request, &generated);
      QVERIFY2(problem.isEmpty(), problem);
      QVERIFY(generated.optimum.algbw <= generated.schedule.bound);
    }
  }
}

void TestForestColl::amounts() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({5, 3, 9, seed % 2 == 0}, seed));
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
      forestcoll::Request request = requestFor(collective, 0);
      request.amounts = {0, 2, 4, static_cast<std::int64_t>(seed), 6};
      if (seed % 2 == 1) {
        request.amounts[3] = 0;
      }
      forestcoll::Generated generated;
      const QByteArray problem = generateAndVerify(fabric, request, &generated);
      QVERIFY2(problem.isEmpty(), problem);
      std::int64_t divisor = 0;
      for (const std::int64_t amount : request.amounts) {
        divisor = std::gcd(divisor, amount);
      }
      std::vector<std::int64_t> reduced = request.amounts;
      for (std::int64_t& amount : reduced) {
        amount /= divisor;
      }
      QCOMPARE(generated.schedule.amounts, reduced);
      const fabric::Fabric transposed = fabric.transposed();
      QCOMPARE(generated.optimum.inverseRate.perGBps(),
               test::bruteForceRatio(collective == Collective::allgather ? fabric : transposed, reduced));
    }
  }
}

void TestForestColl::everyFallback_data() {
  QTest::addColumn<bool>("pairwiseOnly");
  QTest::addColumn<bool>("decompose");
  QTest::addColumn<bool>("heuristics");
  for (const bool pairwise : {false, true}) {
    for (const bool decompose : {false, true}) {
      for (const bool heuristics : {false, true}) {
        QTest::addRow("%s splitting, %s, %s", pairwise ? "pairwise" : "structured", decompose ? "decomposed" : "whole",
                      heuristics ? "heuristic" : "edge by edge")
            << pairwise << decompose << heuristics;
      }
    }
  }
}

void TestForestColl::everyFallback() {
  QFETCH(bool, pairwiseOnly);
  QFETCH(bool, decompose);
  QFETCH(bool, heuristics);
  for (unsigned seed = 100; seed < 130; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({6, 4, 9, seed % 2 == 0}, seed));
    const forestcoll::Network network = forestcoll::makeNetwork(fabric, std::vector<std::int64_t>(6, 1));
    const Rational ratio = forestcoll::worstCut(network, {}).value();
    std::vector<forestcoll::TreeArc> capacities = network.arcs;
    for (auto& arc : capacities) {
      arc.capacity *= ratio.numerator();
    }
    const std::vector<std::int64_t> supply = forestcoll::supplies(network, ratio.denominator());
    const auto topology = forestcoll::removeSwitches(network, capacities, supply, {}, {pairwiseOnly, seed % 4 < 2});
    std::map<std::pair<int, int>, std::int64_t> merged;
    std::map<std::pair<int, int>, std::int64_t> load;
    for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
      const auto& atom = topology.atoms[i];
      if (atom.capacity > 0) {
        QVERIFY(network.isGpu[atom.tail] != 0);
        QVERIFY(network.isGpu[atom.head] != 0);
        merged[{atom.tail, atom.head}] += atom.capacity;
        const std::vector<int> path = forestcoll::route(topology.atoms, static_cast<int>(i));
        for (std::size_t j = 0; j + 1 < path.size(); ++j) {
          load[{path[j], path[j + 1]}] += atom.capacity;
        }
      }
    }
    for (const auto& arc : capacities) {
      QVERIFY((load[{arc.tail, arc.head}] <= arc.capacity));
    }
    forestcoll::PackingProblem problem;
    problem.nodeCount = 6;
    for (const auto& [ends, capacity] : merged) {
      problem.arcs.push_back({ends.first, ends.second, capacity});  // GPUs are nodes 0 to 5 here
    }
    problem.supply.assign(6, ratio.denominator());
    const auto trees = forestcoll::packTrees(problem, {}, {decompose, heuristics});
    const QByteArray wrong = checkPacking(problem, trees);
    QVERIFY2(wrong.isEmpty(), (std::to_string(seed) + ": " + wrong.toStdString()).c_str());
  }
}

void TestForestColl::largeSwitchPairwise() {
  // 48 unequal ports, one exact pair after the other.
  std::string links;
  for (int i = 0; i < 48; ++i) {
    links += "g" + std::to_string(i) + "-s " + std::to_string(3 + i * i % 17) + (i < 47 ? "; " : "");
  }
  const fabric::Fabric fabric = fabricFrom(links);
  const forestcoll::Network network = forestcoll::makeNetwork(fabric, std::vector<std::int64_t>(48, 1));
  const Rational ratio = forestcoll::worstCut(network, {}).value();
  QCOMPARE(ratio, Rational(47, 3));
  std::vector<forestcoll::TreeArc> capacities = network.arcs;
  for (auto& arc : capacities) {
    arc.capacity *= ratio.numerator();
  }
  const auto supply = forestcoll::supplies(network, ratio.denominator());
  const auto topology = forestcoll::removeSwitches(network, capacities, supply, {}, {true, false});
  std::vector<flow::CapacityArc<std::int64_t>> arcs;
  for (const auto& atom : topology.atoms) {
    if (atom.capacity > 0) {
      arcs.push_back({atom.tail, atom.head, atom.capacity});
    }
  }
  flow::FeasibilityOracle<std::int64_t> oracle(network.nodeCount, arcs, supply, network.gpus);
  QVERIFY(oracle.isFeasible());
}

void TestForestColl::trimming() {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({6, 6, 9, true}, seed));
    const forestcoll::Network network = forestcoll::makeNetwork(fabric, std::vector<std::int64_t>(6, 1));
    const Rational ratio = forestcoll::worstCut(network, {}).value();
    const auto supply = forestcoll::supplies(network, ratio.denominator());
    for (const auto policy : {forestcoll::Trimming::proportional, forestcoll::Trimming::restoring}) {
      std::vector<forestcoll::TreeArc> capacities = network.arcs;
      for (auto& arc : capacities) {
        arc.capacity *= ratio.numerator();
      }
      const auto before = capacities;
      forestcoll::trimCapacities(network, capacities, supply, policy, {});
      for (std::size_t i = 0; i < before.size(); ++i) {
        QVERIFY(capacities[i].capacity <= before[i].capacity);
        QVERIFY(capacities[i].capacity >= 0);
      }
      QVERIFY(forestcoll::unbalancedSwitches(network, capacities).empty());
      flow::FeasibilityOracle<std::int64_t> oracle(network.nodeCount, capacities, supply, network.gpus);
      QVERIFY(oracle.isFeasible());
    }
  }
}

void TestForestColl::pruning() {
  // Two boxes of four GPUs behind capable switches, joined by thin links.
  std::string links;
  for (const char* box : {"1", "2"}) {
    for (const char* gpu : {"1", "2", "3", "4"}) {
      links += std::string("c") + box + gpu + "-s" + box + "m 10; c" + box + gpu + "-s0 1; ";
    }
  }
  links.resize(links.size() - 2);
  const fabric::Fabric fabric = fabricFrom(links);
  const auto totalLoad = [&](const schedule::Forest& forest) {
    std::int64_t sum = 0;
    for (const schedule::Tree& tree : forest.trees) {
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        const auto hops = static_cast<std::int64_t>(forest.paths[edge.path].size()) - 1 - edge.pruned;
        sum += tree.multiplicity * hops;
      }
    }
    return sum;
  };
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce}) {
    auto generated = forestcoll::generate(fabric, requestFor(collective, 0));
    QVERIFY(generated.hasValue());
    for (auto* forest : {&generated->schedule.reduceForest, &generated->schedule.broadcastForest}) {
      if (*forest) {
        const std::int64_t before = totalLoad(**forest);
        forestcoll::pruneInNetwork(fabric, **forest);
        QVERIFY(totalLoad(**forest) < before);
      }
    }
    const auto verdict = verify::verifySchedule(fabric, generated->schedule);
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok, faults(*verdict));
  }
}

void TestForestColl::unbalanced_data() {
  QTest::addColumn<QString>("links");
  QTest::addColumn<QString>("inverse");
  QTest::addColumn<bool>("subCapacity");
  QTest::newRow("switch sends more than it gets: only 1 of 3 can be used")
      << "a>s 1; s>a 3; b>s 1; s>b 3; c>s 1; s>c 3; d>s 1; s>d 3"
      << "3" << true;
  QTest::newRow("switch gets more than it sends") << "a>s 6; s>a 3; b>s 6; s>b 3; c>s 6; s>c 3; d>s 6; s>d 3"
                                                  << "1" << true;
  QTest::newRow("no switch: unbalanced gpus need no balancing") << "a>b 5; b>c 5; c>a 5; a>c 3"
                                                                << "2/5" << false;
}

void TestForestColl::unbalanced() {
  QFETCH(QString, links);
  QFETCH(QString, inverse);
  QFETCH(bool, subCapacity);
  const fabric::Fabric fabric = fabricFrom(links.toStdString());
  forestcoll::Generated generated;
  const QByteArray problem = generateAndVerify(fabric, {}, &generated);
  QVERIFY2(problem.isEmpty(), problem);
  QCOMPARE(QString::fromStdString(toFraction(generated.optimum.inverseRate)), inverse);
  QCOMPARE(generated.optimum.usedSubCapacity, subCapacity);
  QCOMPARE(generated.optimum.note.empty(), !subCapacity);
}

void TestForestColl::hugeBandwidths() {
  // Coprime and close to 2^32, then beyond what is proven: a clear refusal, never a wrapped number.
  forestcoll::Generated generated;
  const QByteArray problem =
      generateAndVerify(fabricFrom("a-s 4294967291; b-s 4294967279; c-s 2147483579; d-s 4294967231"), {}, &generated);
  QVERIFY2(problem.isEmpty(), problem);
  QCOMPARE(generated.optimum.inverseRate, InverseBandwidth(3, 2147483579));
  const auto refused =
      forestcoll::generate(fabricFrom("a-s 1500000000000000003; b-s 1400000000000000009; c-s 1300000000000000021"), {});
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, ErrorCode::overflow);
}

void TestForestColl::scanOfK() {
  // 1/x* = 3/5 (one GPU against 2 + 3), so the optimum needs k = 5; within k <= 3 the best is kept.
  const fabric::Fabric fabric = fabricFrom("a-b 3; b-c 2; c-d 3; d-a 2");
  Bandwidth best;
  std::int64_t bestK = 0;
  for (std::int64_t k = 1; k <= 3; ++k) {
    forestcoll::Request request;
    request.fixedK = k;
    const auto fixed = forestcoll::optimum(fabric, request);
    QVERIFY(fixed.hasValue());
    if (fixed->algbw > best) {
      best = fixed->algbw;
      bestK = k;
    }
  }
  forestcoll::Request request;
  request.maxK = 3;
  const auto scanned = forestcoll::optimum(fabric, request);
  QVERIFY(scanned.hasValue());
  QCOMPARE(scanned->algbw, best);
  QCOMPARE(scanned->treesPerRoot, bestK);
  request.maxK = 9;
  const auto enough = forestcoll::optimum(fabric, request);
  QVERIFY(enough.hasValue());
  QCOMPARE(enough->algbw, Bandwidth(20, 3));
  QCOMPARE(enough->treesPerRoot, std::int64_t{5});
  QVERIFY(scanned->algbw < enough->algbw);
}

void TestForestColl::badRequests_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<int>("root");
  QTest::addColumn<qint64>("k");
  QTest::addColumn<qint64>("maxK");
  QTest::addColumn<QList<qint64>>("amounts");
  QTest::newRow("broadcast without root") << Collective::broadcast << -2 << qint64(0) << qint64(0) << QList<qint64>{};
  QTest::newRow("root out of range") << Collective::reduce << 3 << qint64(0) << qint64(0) << QList<qint64>{};
  QTest::newRow("negative root") << Collective::reduce << -1 << qint64(0) << qint64(0) << QList<qint64>{};
  QTest::newRow("root of an allgather") << Collective::allgather << 0 << qint64(0) << qint64(0) << QList<qint64>{};
  QTest::newRow("negative k") << Collective::allgather << -2 << qint64(-1) << qint64(0) << QList<qint64>{};
  QTest::newRow("k and k-max") << Collective::allgather << -2 << qint64(1) << qint64(2) << QList<qint64>{};
  QTest::newRow("k-max too large") << Collective::allgather << -2 << qint64(0) << qint64(1000000) << QList<qint64>{};
  QTest::newRow("too few amounts") << Collective::allgather << -2 << qint64(0) << qint64(0) << QList<qint64>{1, 2};
  QTest::newRow("negative amount") << Collective::allgather << -2 << qint64(0) << qint64(0) << QList<qint64>{1, 2, -1};
  QTest::newRow("zero amounts") << Collective::allgather << -2 << qint64(0) << qint64(0) << QList<qint64>{0, 0, 0};
  QTest::newRow("allreduce amounts") << Collective::allreduce << -2 << qint64(0) << qint64(0) << QList<qint64>{1, 1, 1};
}

void TestForestColl::badRequests() {
  QFETCH(Collective, collective);
  QFETCH(int, root);
  QFETCH(qint64, k);
  QFETCH(qint64, maxK);
  QFETCH(QList<qint64>, amounts);
  forestcoll::Request request;
  request.collective = collective;
  if (root != -2) {
    request.root = root;
  }
  if (k != 0) {
    request.fixedK = k;
  }
  if (maxK != 0) {
    request.maxK = maxK;
  }
  request.amounts.assign(amounts.begin(), amounts.end());
  const auto answer = forestcoll::optimum(fabricFrom("a-b 1; b-c 1; c-a 1"), request);
  QVERIFY(!answer);
  QCOMPARE(answer.error().code, ErrorCode::badUsage);
  QVERIFY(!answer.error().message.empty());
  QVERIFY(!answer.error().fix.empty());
}

void TestForestColl::progressAndCancel() {
  const fabric::Fabric fabric = built(test::randomFabric({12, 5, 9, true}, 5));
  std::map<std::string, double> last;
  bool isMonotone = true;
  Progress progress;
  progress.onReport = [&](std::string_view stage, double fraction) {
    isMonotone = isMonotone && fraction >= 0 && fraction <= 1;
    last[std::string(stage)] = fraction;
  };
  QVERIFY(forestcoll::generate(fabric, {}, progress).hasValue());
  QVERIFY(isMonotone);
  for (const char* stage : {"optimum", "splitting", "packing"}) {
    QVERIFY2(last.count(stage) != 0, stage);
    QCOMPARE(last[stage], 1.0);
  }
  // Stop at the first report of each stage.
  for (const char* stage : {"optimum", "splitting", "packing"}) {
    std::stop_source source;
    Progress stopping;
    stopping.stop = source.get_token();
    stopping.onReport = [&](std::string_view now, double) {
      if (now == stage) {
        source.request_stop();
      }
    };
    const auto stopped = forestcoll::generate(fabric, {}, stopping);
    QVERIFY2(!stopped, stage);
    QCOMPARE(stopped.error().code, ErrorCode::cancelled);
  }
}

void TestForestColl::deterministic() {
  const fabric::Fabric fabric = built(test::randomFabric({9, 5, 1000003, true}, 7));
  const auto first = forestcoll::generate(fabric, {});
  const auto second = forestcoll::generate(fabric, {});
  QVERIFY(first.hasValue() && second.hasValue());
  QVERIFY(first->schedule == second->schedule);
}

void TestForestColl::allreduceLimit() {
  forestcoll::Request request;
  request.collective = Collective::allreduce;
  const auto ring = forestcoll::optimum(fabricFrom("a-b 1; b-c 1; c-d 1; d-a 1"), request);
  QVERIFY(ring.hasValue());
  QCOMPARE(ring->algbw, Bandwidth(4, 3));
  QVERIFY(ring->allreduceLimit.has_value());
  QVERIFY(ring->allreduceLimit->isExact);
  QVERIFY(ring->allreduceLimit->isReached);
  QCOMPARE(ring->allreduceLimit->algbw, Bandwidth(4, 3));
}

QTEST_GUILESS_MAIN(TestForestColl)
#include "tst_forestcoll.moc"
