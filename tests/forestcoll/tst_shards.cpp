// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "flow/lemon/max_flow.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/single_root/shard_routes.hpp"
#include "forestcoll/tied_cuts.hpp"
#include "presets/presets.hpp"
#include "random_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/bound_check.hpp"
#include "verify/step_verifier.hpp"

/// Gather and scatter against every node set, and their routes against the verifier.
using namespace coppice;
using std::int64_t;
using test::built;
using test::presetFabric;

namespace {

/// "mi250,boxes=2"
/// The amounts that each S without the root holds, over what leaves it (gather) or enters it (scatter), by listing
/// every S.
Rational worstOfAll(const fabric::Fabric& fabric, Collective collective, int root,
                    const std::vector<int64_t>& amounts) {
  Rational worst;
  for (unsigned set = 1; set < (1U << fabric.nodeCount()); ++set) {
    const auto isIn = [&](int node) { return (set >> node & 1U) != 0; };
    if (isIn(fabric.gpus()[root])) {
      continue;
    }
    int64_t held = 0;
    for (int rank = 0; rank < fabric.gpuCount(); ++rank) {
      held += isIn(fabric.gpus()[rank]) ? amounts[rank] : 0;
    }
    Rational crossing;
    for (const fabric::Arc& arc : fabric.arcs()) {
      const bool crosses =
          collective == Collective::gather ? isIn(arc.tail) && !isIn(arc.head) : isIn(arc.head) && !isIn(arc.tail);
      crossing += crosses ? arc.bandwidth.gigabytesPerSecond() : Rational(0);
    }
    if (held > 0) {
      worst = std::max(worst, Rational(held) / crossing);
    }
  }
  return worst;
}

/// Empty where the schedule is sound and exactly as fast as its optimum, which the verifier proves.
QString faultOf(const fabric::Fabric& fabric, const forestcoll::Routed& routed) {
  const auto verdict = verify::verifySteps(fabric, routed.schedule);
  if (!verdict || !verdict->ok) {
    return QString::fromStdString(verdict ? describe(verdict->findings.front()) : describe(verdict.error()));
  }
  if (verdict->cost->algbw != routed.optimum.algbw || !verdict->findings.empty()) {
    return QStringLiteral("below the bound, or with findings");
  }
  const auto proof = verify::proveShardRate(fabric, routed.schedule.goal, routed.optimum.algbw);
  return proof.proof == verify::RateProof::exact ? QString() : QStringLiteral("the bound is not proved");
}

/// Whether k pieces per unit of amount reach the ratio, by LEMON.
bool suffices(const forestcoll::ShardProblem& problem, const Rational& ratio, int64_t k) {
  std::vector<flow::lemon::Arc> arcs;
  for (const auto& arc : problem.network.arcs) {
    arcs.push_back({arc.tail, arc.head, (ratio * Rational(arc.capacity) * Rational(k)).floor()});
  }
  for (const int gpu : problem.network.gpus) {
    arcs.push_back({problem.network.nodeCount, gpu, problem.network.demand[gpu] * k});
  }
  return flow::lemon::maxFlow(problem.network.nodeCount + 1, arcs, problem.network.nodeCount, problem.root) ==
         problem.network.totalDemand * k;
}

}  // namespace

class TestShards : public QObject {
  Q_OBJECT

private slots:
  void randomFabrics_data();
  void randomFabrics();
  void minPieces();
  void presets_data();
  void presets();
  void shortWays();
  void refuses_data();
  void refuses();
};

void TestShards::randomFabrics_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("isDuplex");
  QTest::addColumn<bool>("hasAmounts");
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    for (const bool isDuplex : {true, false}) {
      for (const bool hasAmounts : {false, true}) {
        QTest::addRow("%s, %s, %s", std::string(toString(collective)).c_str(), isDuplex ? "duplex" : "one-way",
                      hasAmounts ? "amounts" : "equal")
            << int(collective) << isDuplex << hasAmounts;
      }
    }
  }
}

void TestShards::randomFabrics() {
  QFETCH(int, collective);
  QFETCH(bool, isDuplex);
  QFETCH(bool, hasAmounts);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto fabric = built(test::randomFabric(
        {.gpus = 2 + int(seed % 4), .switches = int(seed % 5), .largestBandwidth = 12, .duplex = isDuplex}, seed));
    std::mt19937 dice(seed);
    forestcoll::Request request{.collective = static_cast<Collective>(collective),
                                .root = int(dice() % unsigned(fabric.gpuCount()))};
    std::vector<int64_t> amounts(std::size_t(fabric.gpuCount()), 1);
    if (hasAmounts) {
      for (int64_t& amount : amounts) {
        amount = dice() % 5;
      }
      amounts[(*request.root + 1) % fabric.gpuCount()] += 2;
      request.amounts = amounts;
    }
    const Rational worst = worstOfAll(fabric, request.collective, *request.root, amounts);
    Rational total;
    for (const int64_t amount : amounts) {
      total += Rational(amount);
    }
    const Bandwidth best(total / worst);
    const auto routed = forestcoll::routeShards(fabric, request);
    QVERIFY2(routed.hasValue(), routed ? "" : describe(routed.error()).c_str());
    const QByteArray what = QByteArray::number(seed);
    QVERIFY2(routed->optimum.algbw == best, what.constData());
    const QString fault = faultOf(fabric, *routed);
    QVERIFY2(fault.isEmpty(), qPrintable(QString::number(seed) + ": " + fault));
    // Any higher rate is refused.
    QVERIFY(verify::proveShardRate(fabric, routed->schedule.goal, best * Rational(1000001, 1000000)).proof ==
            verify::RateProof::tooHigh);
    QVERIFY(verify::proveShardRate(fabric, routed->schedule.goal, best * Rational(999, 1000)).proof ==
            verify::RateProof::achievable);

    const auto optimum = forestcoll::optimum(fabric, request);
    QVERIFY(optimum && optimum->algbw == routed->optimum.algbw);
    const auto cuts = forestcoll::tiedCuts(fabric, request, optimum->bottlenecks.front());
    QVERIFY(cuts && cuts->cuts == optimum->bottlenecks);
    for (const schedule::Cut& cut : cuts->cuts) {
      QVERIFY(!std::binary_search(cut.nodes.begin(), cut.nodes.end(), fabric.gpus()[*request.root]));
      const auto direction =
          request.collective == Collective::gather ? schedule::Direction::out : schedule::Direction::in;
      QVERIFY(verify::crossingBandwidth(fabric, cut.nodes, direction) == cut.exitBandwidth);
      QVERIFY(Rational(cut.demand) / cut.exitBandwidth == optimum->inverseRate);
    }
  }
}

void TestShards::minPieces() {
  int larger = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto fabric =
        built(test::randomFabric({.gpus = 5, .switches = 2, .largestBandwidth = 9, .duplex = seed % 2 == 0}, seed));
    const forestcoll::Request request{.collective = Collective::gather, .root = 0};
    const auto problem = forestcoll::shardProblem(fabric, request);
    const Rational ratio = forestcoll::worstShardCut(problem, {}).value();
    const auto pieces = forestcoll::minPieces(problem, ratio, forestcoll::tightShardCuts(problem, ratio, {}), {});
    QVERIFY(pieces.isMinimum);
    QVERIFY(suffices(problem, ratio, pieces.k));
    for (int64_t k = 1; k < pieces.k; ++k) {
      QVERIFY2(!suffices(problem, ratio, k), QByteArray::number(seed).constData());
    }
    larger += pieces.k > 1 ? 1 : 0;
  }
  QVERIFY(larger > 20);
}

void TestShards::presets_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("root");
  QTest::addColumn<QString>("algbw");
  // The root's links, 300 + 25 GB/s, carry 15 of 16 shards; the way from the other box, 8 * 25 GB/s, 8 of 16.
  QTest::newRow("2x A100") << "dgx-a100,boxes=2" << 3 << "1040/3";
  // 450 + 50 GB/s against 15 / 16 of the data; 400 GB/s against 8 / 16.
  QTest::newRow("2x H100") << "dgx-h100,boxes=2" << 0 << "1600/3";
  // From 4 boxes, 24 of 32 shards come in through 8 * 50 GB/s, and 31 through 500.
  QTest::newRow("4x H100") << "dgx-h100,boxes=4" << 9 << "16000/31";
  QTest::newRow("8x H100") << "dgx-h100,boxes=8" << 9 << "3200/7";
  // Both neighbours.
  QTest::newRow("ring") << "ring,gpus=9,bandwidth=50" << 4 << "225/2";
  QTest::newRow("hypercube") << "hypercube,dimension=4,bandwidth=30" << 5 << "128";
}

void TestShards::presets() {
  QFETCH(QString, preset);
  QFETCH(int, root);
  QFETCH(QString, algbw);
  const auto fabric = presetFabric(preset, u',');
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    const auto routed = forestcoll::routeShards(fabric, {.collective = collective, .root = root});
    QVERIFY2(routed.hasValue(), routed ? "" : describe(routed.error()).c_str());
    QCOMPARE(QString::fromStdString(toFraction(routed->optimum.algbw)), algbw);
    const QString fault = faultOf(fabric, *routed);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
  }
}

/// On a ring of 9 both sides send what is nearest to them, whole: 1 + 2 + 3 + 4 hops each.
void TestShards::shortWays() {
  const auto fabric = presetFabric("ring,gpus=9,bandwidth=50", u',');
  const auto routed = forestcoll::routeShards(fabric, {.collective = Collective::scatter, .root = 0});
  QVERIFY(routed.hasValue());
  QCOMPARE(routed->schedule.denominator, 1);
  QCOMPARE(routed->schedule.transfers.size(), std::size_t(20));
  const auto verdict = verify::verifySteps(fabric, routed->schedule);
  QVERIFY(verdict && verdict->ok);
  QCOMPARE(verdict->cost->steps, 4);
  // One crossbar: the root's link is the limit, and no GPU needs to relay.
  const auto star = presetFabric("dgx-a100,boxes=1", u',');
  const auto direct = forestcoll::routeShards(star, {.collective = Collective::gather, .root = 0});
  QVERIFY(direct.hasValue());
  QCOMPARE(direct->schedule.transfers.size(), std::size_t(7));
}

void TestShards::refuses_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("root");
  QTest::addColumn<QList<int>>("amounts");
  QTest::addColumn<int>("k");
  QTest::addColumn<int>("code");
  const auto row = [](const char* name, Collective collective, int root, const QList<int>& amounts, int k,
                      ErrorCode code) { QTest::newRow(name) << int(collective) << root << amounts << k << int(code); };
  row("no root", Collective::gather, -1, {}, 0, ErrorCode::badUsage);
  row("no such root", Collective::gather, 99, {}, 0, ErrorCode::badUsage);
  row("trees", Collective::allgather, -1, {}, 0, ErrorCode::badUsage);
  row("number of trees", Collective::scatter, 0, {}, 3, ErrorCode::badUsage);
  row("too few amounts", Collective::scatter, 0, {1, 2}, 0, ErrorCode::badUsage);
  row("negative", Collective::scatter, 0, {1, 2, -1, 3}, 0, ErrorCode::badUsage);
  row("all zero", Collective::scatter, 0, {0, 0, 0, 0}, 0, ErrorCode::badUsage);
  row("only the root", Collective::scatter, 0, {5, 0, 0, 0}, 0, ErrorCode::infeasible);
}

void TestShards::refuses() {
  QFETCH(int, collective);
  QFETCH(int, root);
  QFETCH(QList<int>, amounts);
  QFETCH(int, k);
  QFETCH(int, code);
  forestcoll::Request request{.collective = static_cast<Collective>(collective)};
  if (root >= 0) {
    request.root = root;
  }
  request.amounts.assign(amounts.begin(), amounts.end());
  if (k > 0) {
    request.fixedK = k;
  }
  const auto routed = forestcoll::routeShards(presetFabric("ring,gpus=4,bandwidth=50", u','), request);
  QVERIFY(!routed);
  QCOMPARE(int(routed.error().code), code);
  QVERIFY(!routed.error().fix.empty());
}

QTEST_APPLESS_MAIN(TestShards)
#include "tst_shards.moc"
