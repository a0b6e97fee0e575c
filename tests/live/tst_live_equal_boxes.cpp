// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <random>
#include <string>
#include <vector>

#include "live/cut_bound.hpp"
#include "live/every_cut.hpp"
#include "live/failures.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

/// Fabrics in which equal parts are looked for: the bound, prices and failures are those of a search that knows of
/// none.
using namespace coppice;
using namespace coppice::test;

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

  /// Random edits, one after the other.
  void agreesWithNothing() {
    QFETCH(QString, preset);
    QFETCH(QString, boxes);
    QFETCH(QString, network);
    const fabric::Description description =
        must(presets::make(preset.toStdString(), {{"boxes", boxes.toStdString()}, {"network", network.toStdString()}}));
    fabric::EditedFabric fabric = edited(description);
    std::mt19937 random(5);
    const auto below = [&](std::size_t count) { return static_cast<fabric::Key>(random() % count); };
    const auto nodes = static_cast<fabric::Key>(description.nodes.size());
    fabric::Key next = nodes + static_cast<fabric::Key>(description.links.size()) + 1;
    for (int i = 0; i < 16; ++i) {
      const Answer answer = must(CutBound::create(fabric, {})).answer();
      QCOMPARE(told(answer.algbw.gigabytesPerSecond().toString()),
               told(algbwFromNothing(fabric, Collective::allgather).toString()));
      fabric::FabricDelta delta;
      const std::string box = "b" + std::to_string(below(130));
      switch (i % 3) {
        case 0: {
          const fabric::Key link = below(description.links.size());
          fabric::LinkDescription slower = description.links[link];
          slower.bandwidth = std::to_string(1 + below(900));
          delta.links.push_back({nodes + link + 1, 0, 0, slower});
          break;
        }
        case 1:
          delta.nodes.push_back({next, fabric::NodeDescription{.id = "extra" + std::to_string(i), .box = box}});
          delta.links.push_back(
              {next + 1, 0, 0,
               fabric::LinkDescription{.src = "extra" + std::to_string(i), .dst = box + "g0", .bandwidth = "50"}});
          next += 2;
          break;
        default:
          delta.links.push_back(
              {next++, 0, 0, fabric::LinkDescription{.src = box + "g1", .dst = box + "g2", .bandwidth = "25"}});
          break;
      }
      fabric.apply(std::move(delta));
    }
  }

  void pricesAgreeWithEdits_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("boxes");
    QTest::addColumn<QString>("network");
    QTest::newRow("one switch") << "dgx-h100"
                                << "5"
                                << "simple";
    QTest::newRow("leaves") << "dgx-h100"
                            << "6"
                            << "leaf-spine";
    QTest::newRow("NIC nodes") << "dgx-a100"
                               << "5"
                               << "planes";
    QTest::newRow("direct links") << "mi250"
                                  << "4"
                                  << "";
  }

  /// The slopes of each link's price against the bound as it is after the change.
  void pricesAgreeWithEdits() {
    QFETCH(QString, preset);
    QFETCH(QString, boxes);
    QFETCH(QString, network);
    std::map<std::string, std::string> arguments{{"boxes", boxes.toStdString()}};
    if (!network.isEmpty()) {
      arguments["network"] = network.toStdString();
    }
    fabric::Description description = must(presets::make(preset.toStdString(), arguments));
    // One link is slower, so that its box is none of the equal ones.
    description.links[3].bandwidth = "7";
    const fabric::Fabric whole = must(fabric::Fabric::build(description));
    const CutBound bound = must(CutBound::create(whole, {}));
    const Bandwidth before = bound.answer().algbw;
    const auto groups = must(live::groupsOf(whole, description));
    for (const live::RankedPrice& ranked : must(live::rankPrices(bound, groups))) {
      const live::Price& price = ranked.price;
      const Bandwidth step(1, 8);
      for (const bool isRaise : {true, false}) {
        const auto& end = isRaise ? price.nextAbove : price.nextBelow;
        Bandwidth change = isRaise ? step : -step;
        if (end) {
          change = isRaise ? std::min(step, *end) : std::max(-step, *end);
        }
        fabric::Description changed = description;
        fabric::LinkDescription& link = changed.links[ranked.group];
        link.bandwidth = toFraction(must(Bandwidth::parse(link.bandwidth)) + change);
        const Rational slope = isRaise ? price.raise : price.lower;
        const Bandwidth after = must(boundOf(changed)).answer().algbw;
        QVERIFY2(after == before + change * slope, (groups[ranked.group].name + ", " + toFraction(change)).c_str());
      }
    }
  }

  /// All links of a class at once keep what is equal.
  void classesAgreeWithEdits() {
    fabric::Description description = must(presets::make("dgx-h100", {{"boxes", "8"}, {"network", "leaf-spine"}}));
    const fabric::Fabric whole = must(fabric::Fabric::build(description));
    const CutBound bound = must(CutBound::create(whole, {}));
    for (const live::LinkGroup& group : live::linkClasses(whole)) {
      const Bandwidth now = whole.arcs()[*whole.findArc(group.arcs[0].src, group.arcs[0].dst)].bandwidth;
      const auto curve = must(live::curveOf(bound, group, -now, now * Rational(3)));
      QVERIFY(curve.isPiecewiseLinear);
      for (const live::CurvePoint& point : curve.points) {
        fabric::FabricDelta delta;
        fabric::EditedFabric fabric = edited(description);
        for (std::size_t i = 0; i < description.links.size(); ++i) {
          fabric::LinkDescription link = description.links[i];
          const int src = *whole.find(link.src);
          const int dst = *whole.find(link.dst);
          const bool isIn = std::ranges::any_of(
              group.arcs, [&](const live::GroupArc& arc) { return arc.src == src && arc.dst == dst; });
          if (isIn) {
            const Bandwidth changed = must(Bandwidth::parse(link.bandwidth)) + point.change / Rational(link.count);
            link.bandwidth = toFraction(changed);
            const auto key = static_cast<fabric::Key>(description.nodes.size() + i + 1);
            delta.links.push_back({key, 0, 0, changed.isZero() ? std::nullopt : std::optional(link)});
          }
        }
        fabric.apply(std::move(delta));
        QCOMPARE(told(toFraction(point.algbw)), told(algbwFromNothing(fabric, Collective::allgather).toString()));
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestLiveEqualBoxes)
#include "tst_live_equal_boxes.moc"
