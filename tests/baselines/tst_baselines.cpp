// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <random>
#include <variant>

#include "baselines/baselines.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "presets/presets.hpp"
#include "schedule/step_cost.hpp"
#include "support/overlapped_bound.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using test::presetFabric;

namespace {

baselines::Request requestOf(Collective collective) {
  baselines::Request request{collective, {}};
  if (isRooted(collective)) {
    request.root = 0;
  }
  return request;
}

/// Empty where the schedule is sound. Halves that overlap are held against the least of each GPU's bandwidths, as
/// baselines leave their bound open.
QString faultOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule) {
  std::vector<Finding> findings;
  bool isSound = false;
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    if (forest->overlapped && (!forest->bound.isZero() || forest->allreduceBound || !forest->bottlenecks.empty())) {
      return "states a bound";
    }
    const auto verdict = verify::verifySchedule(fabric, test::withBound(fabric, *forest));
    if (!verdict) {
      return QString::fromStdString(describe(verdict.error()));
    }
    isSound = verdict->ok;
    findings = verdict->findings;
    const auto& trees = forest->reduceForest ? forest->reduceForest : forest->broadcastForest;
    if (isSound && forest->overlapped && verdict->busiestLoad != trees->scale) {
      return "is slower than its busiest link";
    }
  } else {
    const auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(schedule));
    if (!verdict) {
      return QString::fromStdString(describe(verdict.error()));
    }
    isSound = verdict->ok;
    findings = verdict->findings;
  }
  return isSound ? QString() : QString::fromStdString(findings.empty() ? "refused" : describe(findings.front()));
}

/// The exact optimum where ForestColl has one for the collective.
std::optional<Bandwidth> optimumOf(const fabric::Fabric& fabric, Collective collective) {
  if (!parseForestCollective(toString(collective)) && !movesShards(collective)) {
    return std::nullopt;
  }
  forestcoll::Request request;
  request.collective = collective;
  request.allreduceBudget = std::chrono::milliseconds(0);
  if (isRooted(collective)) {
    request.root = 0;
  }
  const auto optimum = forestcoll::optimum(fabric, request);
  return optimum ? std::optional(optimum->algbw) : std::nullopt;
}

}  // namespace

class TestBaselines : public QObject {
  Q_OBJECT

  /// What ForestColl generates has the algbw that the baselines are held against.
  void reachesOptimum(const fabric::Fabric& fabric, unsigned seed);

private slots:
  void knownValues_data();
  void knownValues();
  void throughSwitches_data();
  void throughSwitches();
  void sumsOfBoxes();
  void everyPreset_data();
  void everyPreset();
  void randomClusters();
  void randomFabrics();
  void largePresets_data();
  void largePresets();
  void refuses_data();
  void refuses();
};

void TestBaselines::knownValues_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QString>("algbw");
  QTest::addColumn<int>("steps");
  // The 62.5 % gap that the ForestColl preprint derives against 1040/3.
  QTest::newRow("2x A100, rings") << "dgx-a100 boxes=2"
                                  << "multi-ring"
                                  << "allgather"
                                  << "640/3" << 15;
  QTest::newRow("2x A100, rings, rs") << "dgx-a100 boxes=2"
                                      << "multi-ring"
                                      << "reduce_scatter"
                                      << "640/3" << 15;
  QTest::newRow("2x A100, rings, ar") << "dgx-a100 boxes=2"
                                      << "multi-ring"
                                      << "allreduce"
                                      << "320/3" << 30;
  QTest::newRow("4x H100 rails, rings") << "dgx-h100 boxes=4 network=rails"
                                        << "multi-ring"
                                        << "allgather"
                                        << "12800/31" << 31;
  // The 8 NICs of the other box, of 25 GB/s each, are the narrowest cut from any root.
  QTest::newRow("2x A100, Blink broadcast") << "dgx-a100 boxes=2"
                                            << "blink"
                                            << "broadcast"
                                            << "200" << 0;
  QTest::newRow("2x A100, Blink allreduce") << "dgx-a100 boxes=2"
                                            << "blink"
                                            << "allreduce"
                                            << "100" << 0;
  // A uniform ring: N / (N - 1) * b.
  QTest::newRow("ring of 8") << "ring gpus=8 bandwidth=50"
                             << "ring"
                             << "allgather"
                             << "400/7" << 7;
  QTest::newRow("hypercube, doubling") << "hypercube dimension=3 bandwidth=50"
                                       << "recursive-doubling"
                                       << "allgather"
                                       << "400/7" << 3;
}

void TestBaselines::knownValues() {
  QFETCH(QString, preset);
  QFETCH(QString, name);
  QFETCH(QString, collective);
  QFETCH(QString, algbw);
  QFETCH(int, steps);
  const auto fabric = presetFabric(preset);
  const auto schedule =
      baselines::generate(name.toStdString(), fabric, requestOf(*parseCollective(collective.toStdString())));
  QVERIFY2(schedule.hasValue(), schedule ? "" : describe(schedule.error()).c_str());
  QCOMPARE(QString::fromStdString(toFraction(algbwOf(*schedule))), algbw);
  const QString fault = faultOf(fabric, *schedule);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
  if (steps > 0) {
    QCOMPARE(stepCost(fabric, std::get<schedule::StepSchedule>(*schedule))->steps, steps);
  }
}

void TestBaselines::throughSwitches_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QString>("algbw");
  const auto row = [](const char* preset, const char* name, const char* collective, const char* algbw) {
    QTest::addRow("%s %s %s", preset, name, collective) << preset << name << collective << algbw;
  };
  // One box of n GPUs with links of b: a link carries 8 of 8 trees; with own copies 9.
  row("dgx-h100 boxes=1", "in-network", "allreduce", "450");
  row("dgx-h100 boxes=1", "nvls", "allreduce", "400");
  row("dgx-b200 boxes=1", "nvls", "allreduce", "800");
  row("gb200-nvl72", "in-network", "allreduce", "900");
  row("gb200-nvl72", "nvls", "allreduce", "64800/73");
  // 8 shards enter each GPU instead of 7.
  row("dgx-h100 boxes=1", "nvls", "allgather", "450");
  row("dgx-h100 boxes=1", "nvls", "reduce_scatter", "450");
  row("dgx-h100 boxes=1", "in-network", "allgather", "3600/7");
  // Every NIC sends and receives 1/8 of the data; NVLinks alone would allow 400 too.
  row("dgx-h100 boxes=2 sharp=true", "nvls", "allreduce", "400");
  row("dgx-h100 boxes=4 network=rails sharp=true", "nvls", "allreduce", "400");
  row("dgx-h100 boxes=4 network=leaf-spine sharp=true", "nvls", "allreduce", "400");
  row("dgx-b200 boxes=2 sharp=true", "nvls", "allreduce", "400");
  // All 16 shards enter each GPU from its NVSwitch.
  row("dgx-h100 boxes=2 sharp=true", "nvls", "allgather", "450");
  // Each NIC carries its two shards, and inside each GPU sends 2 shards to 7 others.
  row("dgx-h100 boxes=2 sharp=true", "collnet", "allgather", "3600/7");
  // Two boxes exchange half of each NIC's share in each direction twice: 16 trees, two on each NIC link.
  row("dgx-h100 boxes=2", "nvls-tree", "allreduce", "400");
  row("dgx-b200 boxes=2", "nvls-tree", "allreduce", "400");
  // Three boxes: three of 16 trees on a NIC link. From four on, an inner box of one tree is a leaf of the other: 4.
  row("dgx-h100 boxes=3", "nvls-tree", "allreduce", "800/3");
  row("dgx-h100 boxes=4 network=rails", "nvls-tree", "allreduce", "200");
  row("dgx-h100 boxes=8 network=rail-only", "nvls-tree", "allreduce", "200");
  // Inside the box each head takes 7 contributions and sends 7 copies: 14 of 8 trees on a link of 450.
  row("dgx-h100 boxes=2 sharp=true", "collnet", "allreduce", "1800/7");
  row("dgx-h100 boxes=4 network=rails sharp=true", "collnet", "allreduce", "1800/7");
  row("dgx-a100 boxes=4 network=simple sharp=true", "collnet", "allreduce", "1200/7");
}

void TestBaselines::throughSwitches() {
  QFETCH(QString, preset);
  QFETCH(QString, name);
  QFETCH(QString, collective);
  QFETCH(QString, algbw);
  const auto fabric = presetFabric(preset);
  const auto schedule =
      baselines::generate(name.toStdString(), fabric, requestOf(*parseCollective(collective.toStdString())));
  QVERIFY2(schedule.hasValue(), schedule ? "" : describe(schedule.error()).c_str());
  QCOMPARE(QString::fromStdString(toFraction(algbwOf(*schedule))), algbw);
  const auto& forests = std::get<schedule::Schedule>(*schedule);
  QCOMPARE(forests.overlapped, collective == "allreduce");
  QCOMPARE(forests.ownCopies, name.startsWith("nvls"));
  const QString fault = faultOf(fabric, *schedule);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

/// The trees of nvls-tree and collnet: one edge between the box of a head and that of its parent, and only switches
/// outside the boxes (inside them) that sum.
void TestBaselines::sumsOfBoxes() {
  const auto fabric = presetFabric("dgx-h100 boxes=4 network=rails sharp=true");
  const auto boxOf = [&](fabric::Rank rank) { return fabric.nodes()[fabric.gpus()[rank]].box; };
  for (const char* const name : {"nvls-tree", "collnet", "nvls"}) {
    const auto schedule = baselines::generate(name, fabric, requestOf(Collective::allreduce));
    QVERIFY2(schedule.hasValue(), schedule ? "" : describe(schedule.error()).c_str());
    const schedule::Forest& forest = *std::get<schedule::Schedule>(*schedule).reduceForest;
    QCOMPARE(forest.trees.size(), std::size_t(name == std::string("nvls-tree") ? 16 : 8));
    for (const schedule::Tree& tree : forest.trees) {
      int between = 0;
      int prunedBetween = 0;
      int prunedInside = 0;
      for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
        const bool leaves = boxOf(edge.parent) != boxOf(edge.child);
        between += leaves ? 1 : 0;
        (leaves ? prunedBetween : prunedInside) += edge.pruned > 0 ? 1 : 0;
      }
      QCOMPARE(between, 3);
      QCOMPARE(prunedBetween, name == std::string("nvls-tree") ? 0 : 2);
      QCOMPARE(prunedInside, name == std::string("collnet") ? 0 : 4 * 6);
    }
  }
}

void TestBaselines::everyPreset_data() {
  QTest::addColumn<QString>("preset");
  for (const presets::Preset& preset : presets::catalogue()) {
    const QString name = QString::fromStdString(preset.name);
    if (presetFabric(name).gpuCount() <= 32) {
      QTest::newRow(qPrintable(name)) << name;
    }
    const bool hasBoxes = std::any_of(preset.parameters.begin(), preset.parameters.end(),
                                      [](const presets::Parameter& p) { return p.name == "boxes"; });
    if (hasBoxes && presetFabric(name + " boxes=2").gpuCount() <= 32) {
      QTest::newRow(qPrintable(name + " boxes=2")) << name + " boxes=2";
    }
  }
}

void TestBaselines::everyPreset() {
  QFETCH(QString, preset);
  const auto fabric = presetFabric(preset);
  int generated = 0;
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const auto schedule = baselines::generate(baseline.name, fabric, requestOf(collective));
      const std::string what = std::string(baseline.name) + " " + std::string(toString(collective));
      if (!schedule) {
        QVERIFY2(schedule.error().code == ErrorCode::infeasible && !schedule.error().fix.empty(),
                 (what + ": " + describe(schedule.error())).c_str());
        continue;
      }
      ++generated;
      const QString fault = faultOf(fabric, *schedule);
      QVERIFY2(fault.isEmpty(), qPrintable(QString::fromStdString(what) + ": " + fault));
      if (const auto optimum = optimumOf(fabric, collective); optimum && !baseline.isForest) {
        QVERIFY2(algbwOf(*schedule) <= *optimum, what.c_str());
      }
    }
  }
  QVERIFY(generated > 0);
}

void TestBaselines::randomClusters() {
  std::mt19937 dice(20260814);
  const auto pick = [&](std::initializer_list<const char*> values) {
    return QString::fromLatin1(*(values.begin() + dice() % values.size()));
  };
  for (int i = 0; i < 25; ++i) {
    const QString preset = "cluster boxes=" + pick({"2", "3", "4"}) + " gpus=" + pick({"2", "4", "5"}) +
                           " nvlink=" + pick({"100", "300", "450"}) + " nic=" + pick({"12.5", "25", "50", "100"});
    const auto fabric = presetFabric(preset);
    std::map<Collective, std::optional<Bandwidth>> optimum;
    for (const baselines::Baseline& baseline : baselines::list()) {
      for (const Collective collective : baseline.collectives) {
        const auto schedule = baselines::generate(baseline.name, fabric, requestOf(collective));
        if (!schedule) {
          continue;
        }
        const QString what = preset + ": " +
                             QString::fromLatin1(baseline.name.data(), qsizetype(baseline.name.size())) + " " +
                             QString::fromStdString(std::string(toString(collective)));
        const QString fault = faultOf(fabric, *schedule);
        QVERIFY2(fault.isEmpty(), qPrintable(what + ": " + fault));
        const auto bound = optimum.try_emplace(collective, optimumOf(fabric, collective)).first->second;
        if (bound && !baseline.isForest) {
          QVERIFY2(algbwOf(*schedule) <= *bound, qPrintable(what));
        }
      }
    }
  }
}

void TestBaselines::reachesOptimum(const fabric::Fabric& fabric, unsigned seed) {
  for (const Collective collective :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
        Collective::reduce, Collective::gather, Collective::scatter}) {
    const std::string what = std::string(toString(collective)) + ", seed " + std::to_string(seed);
    forestcoll::Request request;
    request.collective = collective;
    request.root = requestOf(collective).root;
    request.allreduceBudget = std::chrono::milliseconds(0);
    const auto optimum = optimumOf(fabric, collective);
    QVERIFY2(optimum.has_value(), what.c_str());
    Bandwidth algbw;
    if (movesShards(collective)) {
      const auto routed = forestcoll::routeShards(fabric, request);
      QVERIFY2(routed.hasValue(), what.c_str());
      algbw = routed->schedule.algbw;
      const QString fault = faultOf(fabric, routed->schedule);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
    } else {
      const auto generated = forestcoll::generate(fabric, request);
      QVERIFY2(generated.hasValue(), (what + (generated ? "" : ": " + describe(generated.error()))).c_str());
      algbw = generated->schedule.algbw;
      const QString fault = faultOf(fabric, generated->schedule);
      QVERIFY2(fault.isEmpty(), qPrintable(fault));
    }
    QVERIFY2(algbw == *optimum, (what + ": " + toFraction(algbw) + " of " + toFraction(*optimum)).c_str());
  }
}

/// 500 small fabrics without any symmetry: no baseline is faster than ForestColl. Reduce-scatter then allgather is not
/// the best allreduce on all of them (a GPU with a narrow link is better off as a leaf of one tree up and down); the
/// trees of the linear program of B.7 are.
void TestBaselines::randomFabrics() {
  int compared = 0;
  int fasterAllreduces = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const auto fabric = fabric::Fabric::build(test::randomFabric(
        {.gpus = 2 + int(seed % 5), .switches = int(seed % 4), .largestBandwidth = 9, .duplex = seed % 3 != 0}, seed));
    QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
    std::map<Collective, std::optional<Bandwidth>> optimum;
    if (seed % 10 == 0) {
      reachesOptimum(*fabric, seed);
    }
    for (const baselines::Baseline& baseline : baselines::list()) {
      for (const Collective collective : baseline.collectives) {
        const auto schedule = baselines::generate(baseline.name, *fabric, requestOf(collective));
        if (!schedule) {
          QVERIFY(schedule.error().code == ErrorCode::infeasible);
          continue;
        }
        if (seed % 5 == 0) {
          const QString fault = faultOf(*fabric, *schedule);
          QVERIFY2(fault.isEmpty(), qPrintable(QString::fromLatin1(baseline.name.data()) + ": " + fault));
        }
        const auto bound = optimum.try_emplace(collective, optimumOf(*fabric, collective)).first->second;
        if (!bound || algbwOf(*schedule) <= *bound) {
          compared += bound ? 1 : 0;
          continue;
        }
        const std::string what = std::string(baseline.name) + " " + std::string(toString(collective)) + ", seed " +
                                 std::to_string(seed) + ": " + toFraction(algbwOf(*schedule)) + " > " +
                                 toFraction(*bound);
        QVERIFY2(collective == Collective::allreduce, what.c_str());
        const auto shared = forestcoll::optimum(*fabric, {.collective = collective});
        QVERIFY2(shared && shared->allreduceLimit && algbwOf(*schedule) <= shared->allreduceLimit->algbw, what.c_str());
        ++fasterAllreduces;
      }
    }
  }
  QVERIFY(compared > 5000);
  qInfo("%d comparisons; %d baselines for allreduce are faster than reduce-scatter then allgather", compared,
        fasterAllreduces);
}

void TestBaselines::largePresets_data() {
  QTest::addColumn<QString>("preset");
  for (const presets::Preset& preset : presets::catalogue()) {
    const QString name = QString::fromStdString(preset.name);
    if (presetFabric(name).gpuCount() > 32 && presetFabric(name).gpuCount() <= 128) {
      QTest::newRow(qPrintable(name)) << name;
    }
  }
}

/// The presets that everyPreset() leaves out, up to 128 GPUs: no baseline is faster than the optimum.
void TestBaselines::largePresets() {
  QFETCH(QString, preset);
  const auto fabric = presetFabric(preset);
  std::map<Collective, std::optional<Bandwidth>> optimum;
  int compared = 0;
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const auto bound = optimum.try_emplace(collective, optimumOf(fabric, collective)).first->second;
      const auto schedule = baselines::generate(baseline.name, fabric, requestOf(collective));
      if (bound && schedule && !baseline.isForest) {
        QVERIFY2(algbwOf(*schedule) <= *bound,
                 (std::string(baseline.name) + " " + std::string(toString(collective))).c_str());
        ++compared;
      }
    }
  }
  QVERIFY(compared > 10);
}

void TestBaselines::refuses_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<int>("code");
  QTest::newRow("unknown") << "dgx-a100"
                           << "star"
                           << "allgather" << int(ErrorCode::badUsage);
  QTest::newRow("no such collective") << "dgx-a100"
                                      << "bruck"
                                      << "allreduce" << int(ErrorCode::badUsage);
  QTest::newRow("no power of two") << "ring gpus=6"
                                   << "recursive-halving"
                                   << "reduce_scatter" << int(ErrorCode::infeasible);
  QTest::newRow("one box") << "dgx-a100 boxes=1"
                           << "hierarchical"
                           << "allreduce" << int(ErrorCode::infeasible);
  QTest::newRow("switches") << "dgx-a100"
                            << "shifted-ring"
                            << "allgather" << int(ErrorCode::infeasible);
  QTest::newRow("no capable switch") << "dgx-a100"
                                     << "in-network"
                                     << "allreduce" << int(ErrorCode::infeasible);
  const auto infeasible = [](const char* title, const char* preset, const char* name, const char* collective) {
    QTest::newRow(title) << preset << name << collective << int(ErrorCode::infeasible);
  };
  infeasible("no NVLS", "dgx-a100 boxes=1", "nvls", "allreduce");
  infeasible("no NVLS in the boxes", "dgx-a100 sharp=true", "nvls-tree", "allreduce");
  infeasible("no SHARP", "dgx-h100 boxes=2", "nvls", "allreduce");
  infeasible("no SHARP for collnet", "dgx-h100 boxes=2", "collnet", "allreduce");
  infeasible("one box, trees", "dgx-h100 boxes=1", "nvls-tree", "allreduce");
  infeasible("one box, collnet", "dgx-h100 boxes=1", "collnet", "allreduce");
  infeasible("unequal boxes", "cluster boxes=2 gpus=8,4 nvls=true sharp=true", "nvls", "allgather");
  infeasible("chains, allgather", "hgx-mi300x sharp=true", "collnet", "allgather");
}

void TestBaselines::refuses() {
  QFETCH(QString, preset);
  QFETCH(QString, name);
  QFETCH(QString, collective);
  QFETCH(int, code);
  const auto schedule = baselines::generate(name.toStdString(), presetFabric(preset),
                                            requestOf(*parseCollective(collective.toStdString())));
  QVERIFY(!schedule);
  QCOMPARE(int(schedule.error().code), code);
  QVERIFY(!schedule.error().fix.empty());
}

QTEST_APPLESS_MAIN(TestBaselines)
#include "tst_baselines.moc"
