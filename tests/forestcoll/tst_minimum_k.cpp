// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <string>

#include "forestcoll/forestcoll.hpp"
#include "forestcoll/minimum_k.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "presets/presets.hpp"
#include "random_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "support/schedule_faults.hpp"

/// The fewest trees that reach the optimum, or a share of it, against trying every k.
using namespace coppice;
using std::int64_t;
using test::built;
using test::faultsOf;
using test::presetFabric;

namespace {

Bandwidth algbwWith(const fabric::Fabric& fabric, forestcoll::Request request, int64_t k) {
  request.maxLoss.reset();
  request.fixedK = k;
  const auto found = forestcoll::optimum(fabric, request);
  if (!found) {
    qFatal("k = %lld: %s", static_cast<long long>(k), describe(found.error()).c_str());
  }
  return found->algbw;
}

/// The smallest k up to `last` that reaches the rate.
int64_t triedOut(const fabric::Fabric& fabric, const forestcoll::Request& request, const Bandwidth& rate,
                 int64_t last) {
  int64_t k = 1;
  while (k < last && algbwWith(fabric, request, k) < rate) {
    ++k;
  }
  return k;
}

}  // namespace

class TestMinimumK : public QObject {
  Q_OBJECT

private slots:
  void symmetrySparesWork();
  void presets_data();
  void presets();
  void randomFabrics_data();
  void randomFabrics();
  void withinLoss_data();
  void withinLoss();
  void badLoss_data();
  void badLoss();
};

void TestMinimumK::presets_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<qint64>("k");
  QTest::addColumn<qint64>("integralK");
  const auto row = [](const char* preset, Collective collective, qint64 k, qint64 integralK) {
    QTest::newRow(qPrintable(QString(preset) + ' ' + toString(collective).data()))
        << QString(preset) << collective << k << integralK;
  };
  row("azure-ndv2,boxes=2", Collective::allgather, 1, 125);
  row("azure-ndv2,boxes=64", Collective::allgather, 1, 125);
  row("azure-ndv2,boxes=2", Collective::allreduce, 1, 125);
  row("dgx2,boxes=8", Collective::reduceScatter, 1, 25);
  row("dgx2,boxes=2", Collective::allgather, 83, 332);
  row("mi250,boxes=2", Collective::allgather, 83, 83);
  row("mi250,boxes=16", Collective::allgather, 1, 8);
  row("dgx-a100,boxes=2", Collective::allgather, 13, 13);
  row("gb200-nvl72,racks=2", Collective::allgather, 19, 19);
}

void TestMinimumK::presets() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  const fabric::Fabric fabric = presetFabric(preset, u',');
  forestcoll::Request request;
  request.collective = collective;
  request.allreduceBudget = {};
  const auto generated = forestcoll::generate(fabric, request);
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  const forestcoll::Optimum& optimum = generated->optimum;
  QTEST(qint64(optimum.treesPerRoot), "k");
  QTEST(qint64(optimum.integralTreesPerRoot), "integralK");
  QVERIFY(optimum.isMinimumK);
  QCOMPARE(optimum.scale / Rational(optimum.treesPerRoot),
           optimum.integralScale / Rational(optimum.integralTreesPerRoot));
  QCOMPARE(generated->schedule.algbw, generated->schedule.bound);
  QVERIFY(!generated->schedule.fixedK);
  QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
}

void TestMinimumK::randomFabrics_data() {
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("switches");
  QTest::addColumn<bool>("duplex");
  QTest::addColumn<Collective>("collective");
  QTest::newRow("GPUs alone") << 4 << 0 << true << Collective::allgather;
  QTest::newRow("switches") << 5 << 3 << true << Collective::allgather;
  QTest::newRow("one-way GPUs") << 4 << 0 << false << Collective::allgather;
  QTest::newRow("one-way switches") << 4 << 2 << false << Collective::allgather;
  QTest::newRow("reduce-scatter, one-way") << 4 << 1 << false << Collective::reduceScatter;
  QTest::newRow("broadcast") << 5 << 2 << true << Collective::broadcast;
}

void TestMinimumK::randomFabrics() {
  QFETCH(int, gpus);
  QFETCH(int, switches);
  QFETCH(bool, duplex);
  QFETCH(Collective, collective);
  constexpr int64_t kMaxTried = 60;
  int fewer = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({gpus, switches, 9, duplex}, seed));
    forestcoll::Request request;
    request.collective = collective;
    if (collective == Collective::broadcast) {
      request.root = static_cast<int>(seed) % gpus;
    }
    const auto generated = forestcoll::generate(fabric, request);
    QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
    const forestcoll::Optimum& optimum = generated->optimum;
    if (!optimum.isMinimumK || optimum.integralTreesPerRoot > kMaxTried) {
      continue;
    }
    const QByteArray where = "seed " + QByteArray::number(seed);
    QVERIFY2(optimum.treesPerRoot == triedOut(fabric, request, optimum.algbw, optimum.integralTreesPerRoot), where);
    fewer += optimum.treesPerRoot < optimum.integralTreesPerRoot ? 1 : 0;
    QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
  }
  if (collective != Collective::broadcast) {
    QVERIFY2(fewer > 0, "no fabric of the table needs fewer trees than whole capacities take");
  }
}

void TestMinimumK::withinLoss_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("loss");
  QTest::addColumn<qint64>("k");
  QTest::newRow("4x H100, 1 %") << "dgx-h100,boxes=4" << Collective::allgather << "1/100" << qint64(1);
  QTest::newRow("4x H100, 1/280 exactly") << "dgx-h100,boxes=4" << Collective::allgather << "1/280" << qint64(1);
  QTest::newRow("4x H100, below 1/280") << "dgx-h100,boxes=4" << Collective::allgather << "1/281" << qint64(10);
  QTest::newRow("two MI250, 1 %") << "mi250,boxes=2" << Collective::allgather << "1/100" << qint64(9);
  QTest::newRow("two MI250, 1 %, allreduce") << "mi250,boxes=2" << Collective::allreduce << "1/100" << qint64(9);
  QTest::newRow("two DGX-2, 1 %") << "dgx2,boxes=2" << Collective::reduceScatter << "1/100" << qint64(1);
  QTest::newRow("two MI250, 10 %") << "mi250,boxes=2" << Collective::allgather << "1/10" << qint64(1);
  QTest::newRow("nothing to lose") << "dgx-h100,boxes=128" << Collective::allgather << "1/100" << qint64(1);
}

void TestMinimumK::withinLoss() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  QFETCH(QString, loss);
  const fabric::Fabric fabric = presetFabric(preset, u',');
  forestcoll::Request request;
  request.collective = collective;
  request.allreduceBudget = {};
  const auto best = forestcoll::optimum(fabric, request);
  QVERIFY(best.hasValue());
  request.maxLoss = *Rational::parse(loss.toStdString());
  const auto generated = forestcoll::generate(fabric, request);
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  QTEST(qint64(generated->optimum.treesPerRoot), "k");
  const Bandwidth accepted = best->algbw * (Rational(1) - *request.maxLoss);
  QVERIFY(generated->schedule.algbw >= accepted);
  QCOMPARE(generated->optimum.treesPerRoot, triedOut(fabric, request, accepted, best->treesPerRoot));
  QCOMPARE(generated->schedule.fixedK.has_value(), generated->schedule.algbw < best->algbw);
  QCOMPARE(faultsOf(fabric, generated->schedule), std::string());
}

void TestMinimumK::badLoss_data() {
  QTest::addColumn<QString>("loss");
  QTest::addColumn<bool>("hasK");
  QTest::newRow("zero") << "0" << false;
  QTest::newRow("negative") << "-1/100" << false;
  QTest::newRow("everything") << "1" << false;
  QTest::newRow("with a fixed k") << "1/100" << true;
}

void TestMinimumK::badLoss() {
  QFETCH(QString, loss);
  QFETCH(bool, hasK);
  forestcoll::Request request;
  request.maxLoss = *Rational::parse(loss.toStdString());
  if (hasK) {
    request.fixedK = 1;
  }
  const auto refused = forestcoll::optimum(built(test::randomFabric({}, 1)), request);
  QVERIFY(!refused);
  QCOMPARE(refused.error().code, ErrorCode::badUsage);
}

/// Of equal boxes only one is looked at, with the same answer.
void TestMinimumK::symmetrySparesWork() {
  const fabric::Fabric fabric = presetFabric("mi250,boxes=32", u',');
  auto network = forestcoll::makeNetwork(fabric, std::vector<int64_t>(fabric.gpuCount(), 1));
  QVERIFY(!network.orbitOf.empty());
  const auto worst = forestcoll::worstCut(network, {});
  const auto cuts = forestcoll::bottleneckCuts(network, worst, {});
  /// The answer, and the smallest power of two of steps with which it is found.
  const auto search = [&] {
    for (std::uint64_t limit = 1;; limit *= 2) {
      Progress progress;
      progress.work = std::make_shared<WorkMeter>(limit);
      try {
        forestcoll::MinimumK minimumK(network, worst.value(), cuts, worst.value().denominator());
        return std::pair(minimumK.next(progress), limit);
      } catch (const WorkLimitReached&) {
        continue;
      }
    }
  };
  const auto [k, steps] = search();
  network.orbitOf.clear();
  const auto [same, more] = search();
  QCOMPARE(k, same);
  QVERIFY2(8 * steps <= more, qPrintable(QString("%1 and %2 steps").arg(steps).arg(more)));
}

QTEST_GUILESS_MAIN(TestMinimumK)
#include "tst_minimum_k.moc"
