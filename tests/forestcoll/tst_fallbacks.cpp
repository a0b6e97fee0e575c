// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <string>

#include "forestcoll/path_recovery.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "posed.hpp"
#include "support/large_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// The exact fallbacks by themselves, without the guesses that usually spare them, at sizes that matter: a switch of
/// 512 ports split pair by pair (Theorem 28), and forests of hundreds of GPUs built edge by edge (Theorem 32).
using namespace coppice;
using std::int64_t;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr int kShrink = 8;  ///< instrumented and unoptimised code gets smaller fabrics
#else
constexpr int kShrink = 1;
#endif

QByteArray verifyForest(const test::Posed& posed, const forestcoll::LogicalTopology& topology,
                        const forestcoll::LogicalProblem& logical, std::vector<forestcoll::PackedTree>&& trees) {
  schedule::Schedule schedule;
  schedule.fabricName = posed.fabric.name();
  schedule.fabricDigest = posed.fabric.digest();
  schedule.broadcastForest = forestcoll::recoverPaths(topology, logical, std::move(trees), posed.optimum.scale, {});
  schedule.algbw = posed.optimum.algbw;
  schedule.bound = posed.optimum.algbw;
  schedule.bottlenecks = posed.optimum.bottlenecks;
  // Trees that reach a cut prove it tight; max flow beside them would take minutes here.
  const auto verdict = verify::verifySchedule(posed.fabric, schedule, {.maxFlow = false});
  if (!verdict) {
    return QByteArray::fromStdString(describe(verdict.error()));
  }
  if (!verdict->ok) {
    return QByteArray::fromStdString(describe(verdict->findings.front()));
  }
  return verdict->boundProved ? QByteArray() : QByteArray("the bound is not proved");
}

}  // namespace

class TestFallbacks : public QObject {
  Q_OBJECT

private slots:
  void pairwiseSplitting_data();
  void pairwiseSplitting();
  void edgeByEdge_data();
  void edgeByEdge();
};

void TestFallbacks::pairwiseSplitting_data() {
  QTest::addColumn<QString>("kind");
  QTest::addColumn<int>("gpus");
  QTest::newRow("512 unequal ports") << "ports" << 512;
  QTest::newRow("512 unequal ports and links at random") << "ports and links" << 512;
  QTest::newRow("512 GPUs of lossy boxes on one switch") << "lossy" << 512;
  QTest::newRow("256 GPUs of lossy boxes with slow NICs") << "slow NICs" << 256;
  QTest::newRow("256 GPUs on three linked switches") << "irregular" << 256;
}

void TestFallbacks::pairwiseSplitting() {
  QFETCH(QString, kind);
  QFETCH(int, gpus);
  gpus /= kShrink;
  constexpr unsigned kSeed = 1;
  constexpr int kMeanBox = 7;
  const test::Posed posed = test::pose(kind == "ports"             ? test::unequalPorts(gpus)
                                       : kind == "ports and links" ? test::unequalPorts(gpus, 4, kSeed)
                                       : kind == "irregular" ? test::irregularMultiSwitch(gpus / kMeanBox + 1, kSeed)
                                                             : test::lossyA100(gpus, kSeed, kind == "slow NICs"));
  const auto topology =
      forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {}, {.pairwiseOnly = true});
  const QByteArray routes = test::checkRoutes(posed, topology);
  QVERIFY2(routes.isEmpty(), routes);
  // Theorem 26: nothing was lost, so the trees still fit.
  const auto logical = forestcoll::logicalProblem(posed.network, topology, posed.supply);
  const QByteArray wrong = verifyForest(posed, topology, logical, forestcoll::packTrees(logical.packing, {}));
  QVERIFY2(wrong.isEmpty(), wrong);
}

void TestFallbacks::edgeByEdge_data() {
  QTest::addColumn<QString>("kind");
  QTest::addColumn<int>("size");
  QTest::addColumn<bool>("decompose");
  QTest::newRow("random one-way graph of 256 GPUs") << "one-way" << 256 << false;
  QTest::newRow("random one-way graph of 256 GPUs, at tight sets") << "one-way" << 256 << true;
  QTest::newRow("24 unequal ports, all joined") << "ports" << 24 << false;
  QTest::newRow("torus 12x12, no slack") << "torus" << 12 << false;
  QTest::newRow("3 MI250 boxes, k = 83") << "mi250" << 3 << false;
  QTest::newRow("3 MI250 boxes, k = 83, at tight sets") << "mi250" << 3 << true;
  QTest::newRow("128 GPUs of lossy boxes, split pair by pair") << "lossy" << 128 << false;
}

void TestFallbacks::edgeByEdge() {
  QFETCH(QString, kind);
  QFETCH(int, size);
  QFETCH(bool, decompose);
  constexpr unsigned kSeed = 1;
  if (size > 100) {
    size /= kShrink;
  }
  const std::string text = std::to_string(size);
  const test::Posed posed =
      test::pose(kind == "one-way" ? test::randomEulerian(size, 0, 8, kSeed)
                 : kind == "ports" ? test::unequalPorts(size)
                 : kind == "torus" ? test::presetDescription("torus", {{"dims", text + "x" + text}})
                 : kind == "mi250" ? test::presetDescription("mi250", {{"boxes", text}})
                                   : test::lossyA100(size, kSeed));
  const auto topology =
      forestcoll::removeSwitches(posed.network, posed.capacities, posed.supply, {}, {.pairwiseOnly = kind == "lossy"});
  const auto logical = forestcoll::logicalProblem(posed.network, topology, posed.supply);
  forestcoll::PackingOptions exactly;
  exactly.decompose = decompose;
  exactly.heuristics = false;
  const QByteArray wrong = verifyForest(posed, topology, logical, forestcoll::packTrees(logical.packing, {}, exactly));
  QVERIFY2(wrong.isEmpty(), wrong);
}

QTEST_GUILESS_MAIN(TestFallbacks)
#include "tst_fallbacks.moc"
