// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <random>
#include <string>

#include "forestcoll/random_fabrics.hpp"
#include "lp/allreduce_bound.hpp"
#include "lp/allreduce_partition.hpp"
#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"

/// Bounds on allreduce from partitions of the GPUs, against the linear program and known values.
using namespace coppice;
using test::built;
using test::presetFabric;

namespace {

Bandwidth bestOf(const fabric::Fabric& fabric) {
  Bandwidth best;
  for (const lp::Partition& partition : lp::naturalPartitions(fabric)) {
    const Bandwidth bound = lp::allreducePartitionBound(fabric, partition);
    best = best.isZero() ? bound : std::min(best, bound);
  }
  return best;
}

}  // namespace

class TestAllreducePartition : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
  void nestedBoxes();
  void againstProgram_data();
  void againstProgram();
  void fallsBackOnIt();
  void leavesOutLargePrograms();
};

void TestAllreducePartition::presets_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("algbw");
  // Half of what allgather reaches: by single GPUs where they are the bottleneck, by boxes elsewhere.
  QTest::newRow("2x A100: GPUs") << "dgx-a100 boxes=2"
                                 << "520/3";
  QTest::newRow("64x A100: boxes") << "dgx-a100 boxes=64"
                                   << "6400/63";
  QTest::newRow("72x B200: boxes") << "dgx-b200 boxes=72"
                                   << "14400/71";
  QTest::newRow("32x MI250: boxes") << "mi250 boxes=32"
                                    << "4096/31";
  QTest::newRow("64x NDv2: boxes") << "azure-ndv2 boxes=64"
                                   << "400/63";
  QTest::newRow("torus: GPUs") << "torus dims=8x8"
                               << "3200/63";
}

void TestAllreducePartition::presets() {
  QFETCH(QString, preset);
  QFETCH(QString, algbw);
  const fabric::Fabric fabric = presetFabric(preset);
  const Bandwidth known(*Rational::parse(algbw.toStdString()));
  QCOMPARE(bestOf(fabric), known);
  // No time for a linear program: the partition alone settles it.
  const auto bound = lp::allreduceBound(fabric, {.known = known, .budget = std::chrono::milliseconds(0)});
  QVERIFY2(bound.hasValue(), bound ? "" : describe(bound.error()).c_str());
  QCOMPARE(bound->status, lp::BoundStatus::exact);
  QCOMPARE(bound->algbw, known);
  QVERIFY(bound->knownIsOptimal);
}

/// A pod whose uplink is the bottleneck is found at its level of nesting.
void TestAllreducePartition::nestedBoxes() {
  fabric::Description description;
  description.name = "pods";
  description.nodes.push_back({.id = "core", .kind = "switch"});
  for (const std::string pod : {"p0", "p1"}) {
    description.nodes.push_back({.id = pod + "s", .kind = "switch", .box = pod});
    description.links.push_back({.src = pod + "s", .dst = "core", .bandwidth = "3"});
    for (const std::string box : {"b0", "b1"}) {
      for (const std::string gpu : {"g0", "g1"}) {
        const std::string id = pod + box + gpu;
        description.nodes.push_back({.id = id, .kind = "gpu", .box = pod + "/" + box});
        description.links.push_back({.src = id, .dst = pod + "s", .bandwidth = "10"});
      }
    }
  }
  const fabric::Fabric fabric = built(description);
  QCOMPARE(static_cast<int>(lp::naturalPartitions(fabric).size()), 3);
  QCOMPARE(bestOf(fabric), Bandwidth(3));
}

void TestAllreducePartition::againstProgram_data() {
  QTest::addColumn<bool>("duplex");
  QTest::newRow("duplex") << true;
  QTest::newRow("one-way") << false;
}

void TestAllreducePartition::againstProgram() {
  QFETCH(bool, duplex);
  int compared = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric({5, 2, 9, duplex}, seed));
    const auto exact = lp::allreduceBound(fabric, {.budget = std::chrono::seconds(60)});
    QVERIFY2(exact.hasValue(), exact ? "" : describe(exact.error()).c_str());
    if (exact->status != lp::BoundStatus::exact) {
      continue;
    }
    ++compared;
    QVERIFY(bestOf(fabric) >= exact->algbw);
    std::mt19937 random(seed);
    for (int i = 0; i < 20; ++i) {
      // Any two sets or more, with or without the switches.
      lp::Partition partition(static_cast<std::size_t>(fabric.nodeCount()), -1);
      const int sets = 2 + static_cast<int>(random() % 3);
      for (int node = 0; node < fabric.nodeCount(); ++node) {
        const bool isGpu = fabric.nodes()[node].kind == fabric::NodeKind::gpu;
        partition[node] = static_cast<int>(random() % static_cast<unsigned>(sets + (isGpu ? 0 : 1)));
        if (partition[node] == sets) {
          partition[node] = -1;
        }
      }
      for (int set = 0; set < sets; ++set) {  // every set has a GPU
        partition[fabric.gpus()[set]] = set;
      }
      QVERIFY(lp::allreducePartitionBound(fabric, partition) >= exact->algbw);
    }
  }
  QVERIFY(compared > 20);
}

/// Out of time, the program still answers with what a partition proves.
void TestAllreducePartition::fallsBackOnIt() {
  const fabric::Fabric fabric = presetFabric("mi250 boxes=2");
  const auto bound = lp::allreduceBound(fabric, {.budget = std::chrono::milliseconds(0)});
  QVERIFY2(bound.hasValue(), bound ? "" : describe(bound.error()).c_str());
  QCOMPARE(bound->status, lp::BoundStatus::upperBound);
  QVERIFY(bound->algbw <= bestOf(fabric));
}

/// A program that cannot end in time is not started, by its size alone.
void TestAllreducePartition::leavesOutLargePrograms() {
  const fabric::Fabric fabric = presetFabric("cluster boxes=3 gpus=200,200,199 nvlink=100 nic=100");
  const auto bound = lp::allreduceBound(fabric);
  QVERIFY2(bound.hasValue(), bound ? "" : describe(bound.error()).c_str());
  QCOMPARE(bound->status, lp::BoundStatus::upperBound);
  QVERIFY2(bound->reason.find("would not end") != std::string::npos, bound->reason.c_str());
  // The time that it would need is counted, not measured.
  const auto small = lp::allreduceBound(presetFabric("cluster boxes=3 gpus=4,4,3 nvlink=100 nic=100"));
  QVERIFY(small.hasValue());
  QVERIFY(small->reason.find("would not end") == std::string::npos);
}

QTEST_GUILESS_MAIN(TestAllreducePartition)
#include "tst_allreduce_partition.moc"
