// SPDX-License-Identifier: Apache-2.0
// The axes that fit values, and what the pointer finds on a plot.
#include <QGraphicsTextItem>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/theme/theme.hpp"

using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr double kFrame = std::numeric_limits<double>::infinity();

class TestDesignerCharts : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void axes_data() {
    QTest::addColumn<int>("scale");
    QTest::addColumn<bool>("fromZero");
    QTest::addColumn<QList<double>>("values");
    QTest::addColumn<QList<double>>("range");
    QTest::addColumn<double>("tick");
    QTest::addColumn<QString>("format");
    const auto row = [](const char* name, PlotAxis::Scale scale, bool fromZero, const QList<double>& values,
                        const QList<double>& range, double tick, const QString& format) {
      QTest::newRow(name) << static_cast<int>(scale) << fromZero << values << range << tick << format;
    };
    using Scale = PlotAxis::Scale;
    row("from zero", Scale::linear, true, {30, 90}, {0, 100}, 20, u"%.0f"_s);
    row("around", Scale::linear, false, {300, 340}, {290, 350}, 10, u"%.0f"_s);
    row("fractions", Scale::linear, true, {0.4, 1.2}, {0, 1.5}, 0.5, u"%.1f"_s);
    row("all the same", Scale::linear, false, {100, 100}, {97.5, 100.5}, 0.5, u"%.1f"_s);
    row("nothing", Scale::linear, true, {0, 0}, {0, 1.2}, 0.2, u"%.1f"_s);
    row("whole", Scale::whole, false, {2, 7}, {1.4, 7.6}, 1, u"%.0f"_s);
    row("many", Scale::whole, false, {1, 40}, {0.4, 40.6}, 5, u"%.0f"_s);
    row("decades", Scale::logarithmic, false, {3, 250}, {1, 1000}, 0, u"%g"_s);
    row("on a decade", Scale::logarithmic, false, {10, 100}, {1, 1000}, 0, u"%g"_s);
  }

  void axes() {
    QFETCH(const int, scale);
    QFETCH(const bool, fromZero);
    QFETCH(const QList<double>, values);
    QFETCH(const QList<double>, range);
    QFETCH(const double, tick);
    QFETCH(const QString, format);
    const FittedAxis axis = fitted({.scale = static_cast<PlotAxis::Scale>(scale), .fromZero = fromZero},
                                   std::vector<double>(values.begin(), values.end()));
    QCOMPARE(axis.min, range[0]);
    QCOMPARE(axis.max, range[1]);
    QCOMPARE(axis.tick, tick);
    QCOMPARE(axis.format, format);
  }

  void sizes() {
    const FittedAxis axis = fitted({.scale = PlotAxis::Scale::sizes}, {4096, 1024, 4096, 65536});
    QCOMPARE(axis.sizes, (std::vector<std::int64_t>{1024, 4096, 65536}));
    QVERIFY(axis.min < 1024 && axis.max > 65536);
    QCOMPARE(nearestSize(axis.sizes, 2000), std::size_t{0});
    QCOMPARE(nearestSize(axis.sizes, 2100), std::size_t{1});
    QCOMPARE(nearestSize(axis.sizes, 1e9), std::size_t{2});
  }

  void thousandsAreGrouped() {
    Plot plot;
    plot.resize(600, 300);
    plot.setDraw([&plot] {
      plot.setAxes({}, {.fromZero = true});
      plot.addPoints({}, {{1'000'000, 1000}, {2'000'000, 5000}}, {.color = Qt::red, .marker = 8});
    });
    plot.grab();
    QStringList labels;
    for (const QGraphicsItem* item : plot.scene()->items()) {
      if (const auto* text = qgraphicsitem_cast<const QGraphicsTextItem*>(item)) {
        labels << text->toPlainText();
      }
    }
    QVERIFY2(labels.contains(u"1,400,000"_s) && labels.contains(u"4,000"_s), qPrintable(labels.join(u' ')));
  }

  void hint() {
    Plot plot;
    plot.resize(400, 200);
    bool hasPoints = false;
    plot.setDraw([&] {
      plot.setHint(u"Nothing yet"_s);
      if (hasPoints) {
        plot.addPoints(u"points"_s, {{1, 1}}, {.marker = 8});
      }
    });
    QVERIFY(plot.isEmpty() && plot.chart()->axes().isEmpty());
    const QImage empty = plot.grab().toImage();
    hasPoints = true;
    plot.redraw();
    QCOMPARE(plot.names(), QStringList{u"points"_s});
    QCOMPARE(plot.chart()->axes().size(), 2);
    QVERIFY(plot.grab().toImage() != empty);
  }

  /// A narrow plot names all that it shows, in rows above what it shows, and a wide one in a single row.
  void legendWraps() {
    Plot plot;
    plot.setDraw([&] {
      plot.setAxes({.fromZero = true}, {.fromZero = true});
      for (const QString& name :
           {u"measured"_s, u"predicted"_s, u"NCCL's estimate"_s, u"bound of rings"_s, u"bound"_s}) {
        plot.addLine(name, {{0, 0}, {10, 5}}, {.marker = 5});
      }
    });
    const auto rows = [&plot](int width) {
      plot.resize(width, 300);
      (void)plot.grab();
      QCoreApplication::processEvents();  // lays out
      std::set<double> tops;
      const std::vector<QRectF>& places = plot.legend().places();
      for (std::size_t at = 0; at < places.size(); ++at) {
        const QRectF place = places[at].translated(plot.legend().pos());
        if (plot.legend().textOf(at) != plot.names()[static_cast<qsizetype>(at)] ||
            !plot.chart()->rect().contains(place) || place.intersects(plot.chart()->plotArea()) ||
            std::any_of(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(at),
                        [&](const QRectF& other) { return other.intersects(places[at]); })) {
          return std::size_t{0};
        }
        tops.insert(place.top());
      }
      return places.size() == 5 ? tops.size() : 0;
    };
    QCOMPARE(rows(900), std::size_t{1});
    QVERIFY(rows(300) > 1);
    QVERIFY(rows(180) > rows(300));
    // At the right, one below the other.
    plot.setLegendSide(Plot::LegendSide::right);
    QCOMPARE(rows(400), std::size_t{5});
  }

  /// Points lie over lines, lines are met between their points, bars within; an area and a ring are not found.
  void pointer() {
    Plot plot;
    plot.resize(600, 400);
    const auto tip = [](std::size_t) { return u"tip"_s; };
    plot.setDraw([&] {
      plot.setAxes({.range = PlotAxis::Range{0, 10}}, {.range = PlotAxis::Range{0, 10}});
      plot.addArea({}, {{-kFrame, 10}, {kFrame, 10}}, {{-kFrame, 0}, {kFrame, 0}}, {.fill = Qt::gray});
      plot.addLine({}, {{0, 8}, {10, 8}}, {.color = Qt::blue}, tip);
      plot.addPoints({}, {{2, 8}, {5, 6}}, {.marker = 8});
      plot.addPoints({}, {{5, 6}}, {.marker = 20, .isTarget = false});
      plot.addBars({}, 6, 1, {3, 1}, {.fill = Qt::red}, tip);
    });
    plot.show();
    QVERIFY(QTest::qWaitForWindowExposed(&plot));
    const auto hitAt = [&](double x, double y) { return plot.placeAt(plot.placeOf({x, y})).hit; };
    const auto isHit = [&](double x, double y, std::size_t item, std::size_t point) {
      const auto hit = hitAt(x, y);
      return hit && hit->item == item && hit->point == point;
    };
    QVERIFY(isHit(2, 8, 2, 0));
    QVERIFY(isHit(5, 6, 2, 1));
    QVERIFY(isHit(4, 8, 1, 0));
    QVERIFY(isHit(9, 8, 1, 1));
    QVERIFY(isHit(6.5, 1.5, 4, 0));
    QVERIFY(isHit(7.5, 0.5, 4, 1));
    QVERIFY(!hitAt(7.5, 2));
    QVERIFY(!hitAt(1, 3));
    QVERIFY(std::abs(*plot.placeAt(plot.placeOf({3, 3})).x - 3) < 0.1);
    // A press tells where.
    std::optional<PlotPlace> pressed;
    connect(&plot, &Plot::pressed, &plot, [&](const PlotPlace& place) { pressed = place; });
    QTest::mouseClick(plot.viewport(), Qt::LeftButton, {}, plot.placeOf({5, 6}).toPoint());
    QVERIFY(pressed && pressed->hit && pressed->hit->item == 2);
  }

  /// What was drawn before is gone at once, not when the event loop gets to it.
  void nothingOfTheOldPlotStays() {
    const auto setUp = [](Plot& plot, const double& most) {
      plot.resize(400, 200);
      plot.setDraw([&plot, &most] {
        plot.setAxes({.title = u"across"_s}, {.title = u"up"_s, .fromZero = true});
        plot.addPoints(u"points"_s, {{1, most}, {most, 1}}, {.marker = 8});
      });
    };
    const double now = 3;
    Plot once;
    setUp(once, now);
    double most = 40;
    Plot again;
    setUp(again, most);
    const auto settle = [](Plot& plot) {
      (void)plot.grab();
      QCoreApplication::processEvents();  // lays out, and deletes nothing
    };
    settle(again);
    settle(once);
    most = now;
    again.redraw();
    settle(again);
    QCOMPARE(again.grab().toImage(), once.grab().toImage());
  }

  void themeDrawsAgain() {
    Theme::instance().setChoice(SchemeChoice::light);
    Plot plot;
    int drawn = 0;
    plot.setDraw([&] { ++drawn; });
    QCOMPARE(drawn, 1);
    Theme::instance().setChoice(SchemeChoice::dark);
    QCOMPARE(drawn, 2);
  }
};

}  // namespace

QTEST_MAIN(TestDesignerCharts)
#include "tst_designer_charts.moc"
