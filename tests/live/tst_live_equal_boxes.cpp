// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "live/live_bound.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

/// Fabrics large enough that equal boxes are looked for: the bound is the same as from nothing, and an edit costs the
/// GPUs of the boxes that it touches, not all.
using namespace coppice;
using live::LiveBound;
using test::must;

namespace {

LiveBound follow(const fabric::Description& description) {
  return must(LiveBound::create(description, {}));
}

/// By the generator's own search on the fabric as it stands, with no symmetry; 0 where GPUs are cut off.
Bandwidth fromNothing(const LiveBound& live) {
  forestcoll::Network network;
  network.nodeCount = live.nodeLimit();
  network.isGpu.assign(static_cast<std::size_t>(network.nodeCount), 0);
  network.demand.assign(static_cast<std::size_t>(network.nodeCount), 0);
  for (int node = 0; node < network.nodeCount; ++node) {
    if (live.isAlive(node) && live.kind(node) == fabric::NodeKind::gpu) {
      network.isGpu[node] = 1;
      network.demand[node] = 1;
      network.gpus.push_back(node);
      ++network.totalDemand;
    }
  }
  std::int64_t denominator = 1;
  const auto links = live.links();
  for (const auto& link : links) {
    denominator = leastCommonMultiple(denominator, link.forward.gigabytesPerSecond().denominator());
    denominator = leastCommonMultiple(denominator, link.backward.gigabytesPerSecond().denominator());
  }
  for (const auto& link : links) {
    network.arcs.push_back({link.a, link.b, (link.forward.gigabytesPerSecond() * Rational(denominator)).numerator()});
    network.arcs.push_back({link.b, link.a, (link.backward.gigabytesPerSecond() * Rational(denominator)).numerator()});
  }
  try {
    return Bandwidth(Rational(network.totalDemand) /
                     (forestcoll::worstCut(network, {}).value() * Rational(denominator)));
  } catch (const Failure&) {
    return {};
  }
}

Bandwidth boundOf(const Result<live::Answer>& answer) {
  if (!answer) {
    qFatal("%s", describe(answer.error()).c_str());
  }
  return answer->algbw;
}

}  // namespace

class TestLiveEqualBoxes : public QObject {
  Q_OBJECT

private slots:
  void agreesWithNothing_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("boxes");
    QTest::addColumn<QString>("network");
    QTest::newRow("one switch") << "dgx-h100"
                                << "130"
                                << "simple";
    QTest::newRow("rails") << "dgx-h100"
                           << "130"
                           << "rails";
    QTest::newRow("leaves") << "dgx-h100"
                            << "130"
                            << "leaf-spine";
    QTest::newRow("NIC nodes") << "dgx-a100"
                               << "130"
                               << "planes";
  }

  /// Random edits, some of them taken back, some only asked about.
  void agreesWithNothing() {
    QFETCH(QString, preset);
    QFETCH(QString, boxes);
    QFETCH(QString, network);
    const fabric::Description description =
        must(presets::make(preset.toStdString(), {{"boxes", boxes.toStdString()}, {"network", network.toStdString()}}));
    LiveBound live = follow(description);
    QVERIFY(live.bound()->gpuCount >= 1024);
    QCOMPARE(live.bound()->algbw, fromNothing(live));
    std::mt19937 random(5);
    const auto below = [&](std::size_t count) { return static_cast<int>(random() % count); };
    for (int i = 0; i < 16; ++i) {
      std::vector<live::Edit> edits;
      const auto& link = description.links[below(description.links.size())];
      const std::string box = "b" + std::to_string(below(130));
      switch (i % 4) {
        case 0:
        case 1:
          edits = {live::SetLink{link.src, link.dst, Bandwidth(Rational(1 + below(900)))}};
          break;
        case 2:
          edits = {live::SetLink{box + "g1", box + "g2", Bandwidth(Rational(25))},
                   live::AddNode{"extra" + std::to_string(i), fabric::NodeKind::gpu, box},
                   live::SetLink{"extra" + std::to_string(i), box + "g0", Bandwidth(Rational(50))}};
          break;
        default:
          edits = {live::RemoveNode{box + "g3"}};
          break;
      }
      const auto probed = live.probe(edits);
      if (!probed) {
        continue;  // a node that an earlier edit took away
      }
      const Bandwidth before = live.bound()->algbw;
      QCOMPARE(boundOf(live.bound()), before);
      QCOMPARE(boundOf(live.apply(edits)), probed->algbw);
      QCOMPARE(probed->algbw, fromNothing(live));
      if (i % 3 == 0) {
        QCOMPARE(boundOf(live.undo()), before);
      }
    }
  }

  void anEditTouchesItsBoxesAlone() {
    LiveBound live = follow(must(presets::make("dgx-h100", {{"boxes", "160"}})));
    const auto slower = live.apply(std::vector<live::Edit>{live::SetLink{"b77g3", "ib", Bandwidth(Rational(40))}});
    QVERIFY(boundOf(slower) < Bandwidth(160 * 8 * 400, 159 * 8));
    QVERIFY2(slower->solvedAgain <= 64, std::to_string(slower->solvedAgain).c_str());
    // Every box slower by the same amount, one after the other: the last one is as tight as the first.
    const Bandwidth once = slower->algbw;
    for (const char* gpu : {"b0g0", "b1g5", "b159g7"}) {
      QCOMPARE(boundOf(live.apply(std::vector<live::Edit>{live::SetLink{gpu, "ib", Bandwidth(Rational(40))}})), once);
    }
    QCOMPARE(fromNothing(live), once);
  }

  /// The first question about a box certifies its sinks for all that follow.
  void aBoxIsCertifiedOnce() {
    LiveBound live = follow(must(presets::make("mi250", {{"boxes", "72"}})));
    QVERIFY(live.bound()->gpuCount >= 1024);
    int asked = 0;
    int solved = 0;
    for (const live::LiveLink& link : live.links()) {
      if (live.id(link.a).starts_with("b7g") || live.id(link.b).starts_with("b7g")) {
        const auto slower = live.probe(
            std::vector<live::Edit>{live::ChangeBandwidth{live.id(link.a), live.id(link.b), Bandwidth(-1, 10), true}});
        ++asked;
        solved += must(slower).solvedAgain;
      }
    }
    // Without certificates, each question solves the 16 GPUs of the box.
    QVERIFY2(asked > 0 && solved < 8 * asked, std::to_string(solved).c_str());
  }

  /// The slopes of a price against the bound as it is after the change.
  void pricesAgreeWithEdits() {
    LiveBound live = follow(must(presets::make("mi250", {{"boxes", "72"}})));
    const Bandwidth before = live.bound()->algbw;
    const auto links = live.links();
    std::mt19937 random(7);
    for (int i = 0; i < 6; ++i) {
      const live::LiveLink& link = links[random() % links.size()];
      const live::Price price = must(live::priceOf(live, live::groupOf(live, link)));
      const Bandwidth step(1, 8);
      for (const bool isRaise : {true, false}) {
        const auto& end = isRaise ? price.nextAbove : price.nextBelow;
        const Bandwidth change = end       ? (isRaise ? std::min(step, *end) : std::max(-step, *end))
                                 : isRaise ? step
                                           : -step;
        const Rational slope = isRaise ? price.raise : price.lower;
        const auto changed =
            live.probe(std::vector<live::Edit>{live::ChangeBandwidth{live.id(link.a), live.id(link.b), change, true}});
        QCOMPARE(boundOf(changed), before + change * slope);
      }
    }
  }

  /// Taking the switch between all boxes away touches all of them; afterwards they are equal again.
  void theSwitchBetweenAllBoxes() {
    LiveBound live = follow(must(presets::make("dgx-h100", {{"boxes", "160"}, {"network", "rails"}})));
    const Bandwidth before = live.bound()->algbw;
    const auto without = live.apply(std::vector<live::Edit>{live::RemoveNode{"rail3"}});
    QCOMPARE(boundOf(without), fromNothing(live));
    QVERIFY(boundOf(without) < before);
    QVERIFY2(without->solvedAgain <= 64, std::to_string(without->solvedAgain).c_str());
    const auto undone = live.undo();
    QCOMPARE(boundOf(undone), before);
    QVERIFY2(undone->solvedAgain <= 64, std::to_string(undone->solvedAgain).c_str());
  }
};

QTEST_GUILESS_MAIN(TestLiveEqualBoxes)
#include "support/must.hpp"
#include "tst_live_equal_boxes.moc"
