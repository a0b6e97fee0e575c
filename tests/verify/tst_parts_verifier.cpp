// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <functional>
#include <limits>
#include <stop_token>

#include "schedule/expansion.hpp"
#include "support/factored_clusters.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::RegularCluster;
using samples::Sample;
using schedule::FactoredForest;
using schedule::Forest;

namespace {

using Spoil = std::function<void(Forest&, FactoredForest&)>;

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

void spoilParts(Forest& forest, const Spoil& spoil) {
  FactoredForest parts = *forest.factored;
  spoil(forest, parts);
  forest.factored = std::make_shared<const FactoredForest>(std::move(parts));
}

verify::ScheduleVerdict verdictOf(const Sample& sample) {
  auto verdict = verify::verifySchedule(sample.fabric, sample.schedule);
  if (!verdict) {
    throw std::runtime_error(describe(verdict.error()));
  }
  return *std::move(verdict);
}

}  // namespace

class TestPartsVerifier : public QObject {
  Q_OBJECT

private slots:
  void accepts_data() {
    QTest::addColumn<int>("pods");
    QTest::addColumn<int>("boxes");
    QTest::addColumn<int>("gpus");
    QTest::newRow("boxes") << 1 << 4 << 4;
    QTest::newRow("boxes of one") << 1 << 6 << 1;
    QTest::newRow("pods") << 3 << 2 << 2;
    // Enough edges for several threads.
    QTest::newRow("128 boxes of 8") << 1 << 128 << 8;
    QTest::newRow("8 pods of 16 boxes of 16") << 8 << 16 << 16;
  }

  void accepts() {
    QFETCH(int, pods);
    QFETCH(int, boxes);
    QFETCH(int, gpus);
    const Sample sample = RegularCluster{pods, boxes, gpus}.sample();
    const bool maxFlow = sample.fabric.gpuCount() < 100;
    for (const Sample& turned : {sample, samples::reduceScattered(sample), samples::allreduced(sample)}) {
      const auto verdict = verify::verifySchedule(turned.fabric, turned.schedule, {.maxFlow = maxFlow});
      QVERIFY(verdict.hasValue());
      QVERIFY2(verdict->ok, joined(texts(verdict->findings)).c_str());
      QVERIFY(verdict->boundProved);
      QCOMPARE(verdict->algbw, turned.schedule.algbw);
      QCOMPARE(verdict->busiestLoad, sample.schedule.broadcastForest->scale);
    }
  }

  /// Faults that no structure shows, each found as in the written-out forest, word for word.
  void findsWhatWrittenTreesShow_data() {
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isRight");
    const auto row = [](const char* name, const char* text, const Spoil& spoil) {
      QTest::newRow(name) << spoil << text << false;
    };
    // Three pods of two boxes of two GPUs: shapes box, pod, all; instances box, box, pod, box, box, pod, ...
    const RegularCluster cluster{3, 2, 2};
    QTest::newRow("nothing") << Spoil([](Forest&, FactoredForest&) {}) << "" << true;
    row("switch of another box", "has no link",
        [=](Forest&, FactoredForest& f) { f.instances[0].switches[0] = cluster.boxSwitch(1); });
    row("GPU as a relay", "passes through GPU", [](Forest&, FactoredForest& f) { f.instances[0].switches[0] = 3; });
    row("GPU as a port", "passes through GPU", [](Forest&, FactoredForest& f) { f.instances[5].switches[2] = 11; });
    row("NIC of another GPU", "has no link",
        [](Forest&, FactoredForest& f) { std::swap(f.instances[5].switches[1], f.instances[5].switches[2]); });
    row("pod's switch for the core", "has no link",
        [=](Forest&, FactoredForest& f) { f.instances[8 + 1].switches[0] = cluster.podSwitch(0); });
    row("port out for port in", "has no link",
        [](Forest&, FactoredForest& f) { std::swap(f.shapes[1].inPorts[0].via, f.shapes[1].outPorts[0].via); });
    row("switch visited twice", "has no link", [](Forest&, FactoredForest& f) {
      f.shapes[0].viaSwitches.insert(f.shapes[0].viaSwitches.begin(), 0);
      for (std::size_t i = 1; i < f.shapes[0].viaStart.size(); ++i) {
        ++f.shapes[0].viaStart[i];
      }
    });
    row("one NIC for all", "its capacity is", [](Forest&, FactoredForest& f) { f.shapes[1].choices[3].tailPort = 0; });
    row("heavier tree", "its capacity is", [](Forest& forest, FactoredForest& f) {
      f.shapes[2].trees[5].multiplicity = 2;
      forest.treesOfRoot[5] = 2;
    });
    row("multiplicity not stated", "add up to 2",
        [](Forest&, FactoredForest& f) { f.shapes[2].trees[5].multiplicity = 2; });
    row("multiplicities past 64 bits", "more than 2^63", [](Forest&, FactoredForest& f) {
      f.shapes[2].trees.push_back(f.shapes[2].trees.back());
      f.shapes[2].trees[11].multiplicity = std::numeric_limits<std::int64_t>::max();
      f.shapes[2].trees[12].multiplicity = std::numeric_limits<std::int64_t>::max();
    });
    row("order", "grouped", [](Forest&, FactoredForest& f) { std::swap(f.shapes[2].trees[0], f.shapes[2].trees[7]); });
    row("missing tree", "add up to 0", [](Forest&, FactoredForest& f) { f.shapes[2].trees.pop_back(); });
    row("no trees", "add up to 0", [](Forest&, FactoredForest& f) { f.shapes[2].trees.clear(); });
    row("scale", "its capacity is 4", [](Forest& forest, FactoredForest&) { forest.scale = InverseBandwidth(4); });
  }

  void findsWhatWrittenTreesShow() {
    QFETCH(Spoil, spoil);
    QFETCH(QString, text);
    QFETCH(bool, isRight);
    const Sample sound = RegularCluster{3, 2, 2}.sample();
    for (Sample sample : {sound, samples::reduceScattered(sound)}) {
      spoilParts(forestOf(sample), spoil);
      const auto parts = verdictOf(sample);
      QCOMPARE(parts.ok, isRight);
      auto written = schedule::expanded(forestOf(sample), sample.fabric);
      QVERIFY2(written.hasValue(), written ? "" : describe(written.error()).c_str());
      forestOf(sample) = *std::move(written);
      const auto trees = verdictOf(sample);
      QCOMPARE(trees.ok, parts.ok);
      QCOMPARE(trees.boundProved, parts.boundProved);
      QCOMPARE(trees.algbw, parts.algbw);
      QCOMPARE(trees.busiestLoad, parts.busiestLoad);
      auto partTexts = texts(parts.findings);
      auto treeTexts = texts(trees.findings);
      // Edges of a tree come in another order.
      std::sort(partTexts.begin(), partTexts.end());
      std::sort(treeTexts.begin(), treeTexts.end());
      QCOMPARE(joined(partTexts), joined(treeTexts));
      QVERIFY2(joined(partTexts).find(text.toStdString()) != std::string::npos, joined(partTexts).c_str());
    }
  }

  void refusesBrokenParts_data() {
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QString>("text");
    QTest::newRow("both forms") << Spoil([](Forest& forest, FactoredForest&) {
      forest.trees.push_back({0, 1, 0});
    }) << "at once";
    QTest::newRow("structure") << Spoil([](Forest&, FactoredForest& f) { f.top = -1; }) << "parts: the top is instance";
    QTest::newRow("empty") << Spoil([](Forest&, FactoredForest& f) { f = {}; }) << "parts: has 0 shapes";
    QTest::newRow("GPUs") << Spoil([](Forest& forest, FactoredForest&) { forest.gpuCount = 11; }) << "11 GPUs";
    QTest::newRow("roots") << Spoil([](Forest& forest, FactoredForest&) { forest.treesOfRoot.pop_back(); })
                           << "11 roots";
  }

  void refusesBrokenParts() {
    QFETCH(Spoil, spoil);
    QFETCH(QString, text);
    Sample sample = RegularCluster{3, 2, 2}.sample();
    spoilParts(forestOf(sample), spoil);
    const auto verdict = verdictOf(sample);
    QVERIFY(!verdict.ok);
    const std::string all = joined(texts(verdict.findings));
    QVERIFY2(all.find(text.toStdString()) != std::string::npos, all.c_str());
  }

  /// Threads share the trees; the findings come in the trees' order nevertheless.
  void findingsAreOrdered() {
    Sample sample = RegularCluster{1, 256, 8}.sample();
    spoilParts(forestOf(sample), [](Forest&, FactoredForest& f) {
      // The last boxes enter through each other's NICs.
      std::swap(f.instances[255].switches[3], f.instances[254].switches[3]);
    });
    std::vector<std::string> first;
    for (int run = 0; run < 2; ++run) {
      const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxFlow = false});
      QVERIFY(verdict.hasValue());
      QVERIFY(!verdict->ok);
      QCOMPARE(verdict->findings.size(), std::size_t{100});
      if (run == 0) {
        first = texts(verdict->findings);
        QVERIFY2(first[0].find("tree 2 ") != std::string::npos, first[0].c_str());
      }
      QVERIFY(texts(verdict->findings) == first);
    }
  }

  void canBeCancelled() {
    const Sample sample = RegularCluster{1, 256, 8}.sample();
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
    const auto verdict = verify::verifySchedule(sample.fabric, sample.schedule, {.maxFlow = false}, progress);
    QVERIFY(!verdict && verdict.error().code == ErrorCode::cancelled);
    QCOMPARE(reports, 5);
  }
};

QTEST_GUILESS_MAIN(TestPartsVerifier)
#include "tst_parts_verifier.moc"
