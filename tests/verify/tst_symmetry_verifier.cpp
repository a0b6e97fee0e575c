// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <functional>
#include <limits>
#include <stop_token>

#include "schedule/expansion.hpp"
#include "support/rotated_clusters.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::RegularCluster;
using samples::Sample;
using schedule::Forest;

namespace {

using Spoil = std::function<void(Forest&)>;

constexpr std::int64_t kBySymmetry = 0;
constexpr std::int64_t kByEdges = std::numeric_limits<std::int64_t>::max();

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> result;
  for (const Finding& finding : findings) {
    result.push_back(describe(finding));
  }
  return result;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

Forest& forestOf(Sample& sample) {
  return sample.schedule.broadcastForest ? *sample.schedule.broadcastForest : *sample.schedule.reduceForest;
}

verify::ScheduleVerdict verdictOf(const Sample& sample, std::int64_t maxEdges) {
  auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxFlow = false, .maxEdges = maxEdges});
  if (!verdict) {
    throw std::runtime_error(describe(verdict.error()));
  }
  return *std::move(verdict);
}

}  // namespace

class TestSymmetryVerifier : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<int>("pods");
    QTest::addColumn<int>("boxes");
    QTest::addColumn<int>("gpus");
    QTest::newRow("boxes") << 1 << 4 << 4;
    QTest::newRow("boxes of one") << 1 << 6 << 1;
    QTest::newRow("pods") << 3 << 2 << 2;
    QTest::newRow("128 boxes of 8") << 1 << 128 << 8;
    QTest::newRow("8 pods of 16 boxes of 16") << 8 << 16 << 16;
  }

  void accepts() {
    QFETCH(int, pods);
    QFETCH(int, boxes);
    QFETCH(int, gpus);
    const Sample sample = RegularCluster{pods, boxes, gpus}.sample();
    const bool isSmall = sample.fabric.gpuCount() < 100;
    for (const Sample& turned : {sample, samples::reduceScattered(sample), samples::allreduced(sample)}) {
      for (const std::int64_t maxEdges : {kBySymmetry, kByEdges}) {
        if (maxEdges == kByEdges && !isSmall) {
          continue;
        }
        const auto verdict =
            verify::verifySchedule(turned.fabric, turned.schedule, {.maxFlow = isSmall, .maxEdges = maxEdges});
        QVERIFY(verdict.hasValue());
        QVERIFY2(verdict->ok, joined(texts(verdict->findings)).c_str());
        QVERIFY(verdict->boundProved);
        QCOMPARE(verdict->isBySymmetry, maxEdges == kBySymmetry);
        QCOMPARE(verdict->algbw, turned.schedule.algbw);
        QCOMPARE(verdict->busiestLoad, sample.schedule.broadcastForest->scale);
      }
    }
  }

  /// Faults of the trees, found edge by edge as in the written-out forest, word for word; by symmetry as well.
  void findsWhatWrittenTreesShow_data() {
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isRight");
    const auto row = [](const char* name, const char* text, const Spoil& spoil) {
      QTest::newRow(name) << spoil << text << false;
    };
    // Three pods of two boxes of two GPUs. The edges of rank 0: to the pods, to its box mates, and so on.
    const RegularCluster cluster{3, 2, 2};
    const auto setPath = [](Forest& forest, schedule::PathId changed, std::vector<fabric::NodeIndex> route) {
      if (forest.direction == schedule::Direction::in) {
        std::reverse(route.begin(), route.end());
      }
      schedule::PathPool paths;
      for (schedule::PathId id = 0; id < forest.paths.size(); ++id) {
        const auto path = forest.paths[id];
        paths.add(id == changed ? std::span<const fabric::NodeIndex>(route) : path);
      }
      forest.paths = std::move(paths);
    };
    QTest::newRow("nothing") << Spoil([](Forest&) {}) << "" << true;
    row("switch of another box", "has no link", [=](Forest& f) { setPath(f, 3, {0, cluster.boxSwitch(1), 1}); });
    row("GPU as a relay", "passes through GPU", [=](Forest& f) { setPath(f, 3, {0, 3, 1}); });
    row("NIC of another GPU", "has no link", [=](Forest& f) {
      setPath(f, 2, {0, cluster.nic(1), cluster.podSwitch(0), cluster.nic(2), 2});
    });
    row("pod's switch for the core", "has no link", [=](Forest& f) {
      setPath(f, 0, {0, cluster.nic(0), cluster.podSwitch(0), cluster.podSwitch(1), cluster.nic(4), 4});
    });
    row("a node that is not there", "which is not in the fabric", [=](Forest& f) { setPath(f, 3, {0, 999, 1}); });
    row("parent not reached", "breadth-first", [](Forest& f) { std::swap(f.edges[0], f.edges[10]); });
    row("two parents", "has two parents", [](Forest& f) { f.edges[10] = f.edges[9]; });
    row("rank that is not there", "an end is not a GPU", [](Forest& f) { f.edges[3].child = 99; });
    row("route that is not there", "names route 77", [](Forest& f) { f.edges[3].path = 77; });
    row("edges outside", "its edges lie outside", [](Forest& f) { f.trees[0].firstEdge = 5; });
    row("no copies", "multiplicity is 0", [](Forest& f) { f.trees[0].multiplicity = 0; });
    row("heavier trees", "its capacity is", [](Forest& f) {
      f.trees[0].multiplicity = 2;
      f.treesOfRoot.assign(f.treesOfRoot.size(), 2);
    });
    row("multiplicity not stated", "add up to 2", [](Forest& f) { f.trees[0].multiplicity = 2; });
    row("multiplicities past 64 bits", "more than 2^63", [](Forest& f) {
      f.trees.push_back(f.trees[0]);
      f.trees[0].multiplicity = std::numeric_limits<std::int64_t>::max();
      f.trees[1].multiplicity = std::numeric_limits<std::int64_t>::max();
    });
    row("one root states more", "add up to 1", [](Forest& f) { f.treesOfRoot[5] = 2; });
    row("no trees", "add up to 0", [](Forest& f) {
      f.trees.clear();
      f.edges.clear();
    });
    row("pruned", "which cannot", [](Forest& f) { f.edges[0].pruned = 1; });
    row("scale", "its capacity is 4", [](Forest& f) { f.scale = InverseBandwidth(4); });
  }

  void findsWhatWrittenTreesShow() {
    QFETCH(Spoil, spoil);
    QFETCH(QString, text);
    QFETCH(bool, isRight);
    const Sample sound = RegularCluster{3, 2, 2}.sample();
    for (Sample sample : {sound, samples::reduceScattered(sound)}) {
      spoil(forestOf(sample));
      const auto bySymmetry = verdictOf(sample, kBySymmetry);
      const auto byEdges = verdictOf(sample, kByEdges);
      QCOMPARE(bySymmetry.ok, isRight);
      QCOMPARE(byEdges.ok, isRight);
      QCOMPARE(bySymmetry.isBySymmetry, !forestOf(sample).trees.empty());
      QVERIFY(!byEdges.isBySymmetry);
      QCOMPARE(bySymmetry.busiestLoad, byEdges.busiestLoad);
      QCOMPARE(bySymmetry.algbw, byEdges.algbw);
      for (const auto& verdict : {bySymmetry, byEdges}) {
        const std::string all = joined(texts(verdict.findings));
        QVERIFY2(all.find(text.toStdString()) != std::string::npos, all.c_str());
      }
    }
  }

  /// The images of sound trees are those that a reader gives: as written, the verdict is the same.
  void agreesWithTheReader() {
    const Sample sound = RegularCluster{3, 2, 2}.sample();
    for (Sample sample : {sound, samples::reduceScattered(sound)}) {
      const auto byEdges = verdictOf(sample, kByEdges);
      auto written = schedule::expanded(forestOf(sample), sample.fabric);
      QVERIFY2(written.hasValue(), written ? "" : describe(written.error()).c_str());
      forestOf(sample) = *std::move(written);
      const auto plain = verdictOf(sample, kByEdges);
      QVERIFY2(plain.ok, joined(texts(plain.findings)).c_str());
      QCOMPARE(plain.busiestLoad, byEdges.busiestLoad);
    }
  }

  void refusesBrokenRotations_data() {
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* name, const char* text, const Spoil& spoil) {
      QTest::newRow(name) << spoil << text;
    };
    row("GPUs", "11 GPUs", [](Forest& f) { f.gpuCount = 11; });
    row("roots", "11 roots", [](Forest& f) { f.treesOfRoot.pop_back(); });
    row("root", "its root is not rank 0", [](Forest& f) { f.trees[0].root = 1; });
    row("too few", "multiply to less", [](Forest& f) { f.rotations.pop_back(); });
    row("too many", "multiply to more", [](Forest& f) { f.rotations.push_back({12, 2, f.rotations[0].image}); });
    row("step", "its step must be 2", [](Forest& f) { f.rotations[1].step = 3; });
    row("count", "its count at least 2", [](Forest& f) { f.rotations[0].count = 1; });
    row("too few nodes", "nodes of the fabric's", [](Forest& f) { f.rotations[0].image.pop_back(); });
    row("node outside", "one to one", [](Forest& f) { f.rotations[0].image[3] = 4711; });
    row("node negative", "one to one", [](Forest& f) { f.rotations[0].image[3] = -1; });
    row("node twice", "one to one", [](Forest& f) { f.rotations[0].image[3] = f.rotations[0].image[4]; });
    row("never back", "does not bring all nodes back", [](Forest& f) {
      std::rotate(f.rotations[0].image.begin(), f.rotations[0].image.begin() + 1, f.rotations[0].image.end());
    });
    row("no symmetry", "is not its equal", [](Forest& f) {
      std::swap(f.rotations[0].image[0], f.rotations[0].image[12]);
      std::swap(f.rotations[0].image[1], f.rotations[0].image[13]);
    });
    row("no symmetry of links", "where there is no equal link",
        [](Forest& f) { std::swap(f.rotations[0].image[12], f.rotations[0].image[13]); });
  }

  void refusesBrokenRotations() {
    QFETCH(Spoil, spoil);
    QFETCH(QString, text);
    Sample sample = RegularCluster{3, 2, 2}.sample();
    spoil(forestOf(sample));
    const auto verdict = verdictOf(sample, kBySymmetry);
    QVERIFY(!verdict.ok);
    const std::string all = joined(texts(verdict.findings));
    QVERIFY2(all.find(text.toStdString()) != std::string::npos, all.c_str());
    QVERIFY(!verdictOf(sample, kByEdges).ok);
  }

  /// A link that differs is a fault by symmetry, though every image fits.
  void fabricWithoutTheSymmetry() {
    Sample sample = RegularCluster{1, 4, 2}.sample();
    sample.description.links.front().bandwidth = "5";
    sample.fabric = samples::buildFabric(sample.description);
    sample.schedule.fabricDigest = sample.fabric.digest();
    QVERIFY(verdictOf(sample, kByEdges).ok);
    const auto verdict = verdictOf(sample, kBySymmetry);
    QVERIFY(!verdict.ok);
    const std::string all = joined(texts(verdict.findings));
    QVERIFY2(all.find("where there is no equal link") != std::string::npos, all.c_str());
  }

  void canBeCancelled() {
    const Sample sample = RegularCluster{1, 16, 8}.sample();
    std::stop_source stop;
    int reports = 0;
    const Progress progress{.onReport =
                                [&](std::string_view stage, double fraction) {
                                  QCOMPARE(stage, std::string_view("verifying"));
                                  QVERIFY(fraction >= 0 && fraction <= 1);
                                  if (++reports == 5) {
                                    stop.request_stop();
                                  }
                                },
                            .stop = stop.get_token()};
    const auto verdict =
        verify::verifySchedule(sample.fabric, sample.schedule, {.maxFlow = false, .maxEdges = kByEdges}, progress);
    QVERIFY(!verdict && verdict.error().code == ErrorCode::cancelled);
    QCOMPARE(reports, 5);
  }
};

QTEST_GUILESS_MAIN(TestSymmetryVerifier)
#include "tst_symmetry_verifier.moc"
