// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QScopeGuard>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTest>
#include <QToolBar>
#include <QToolButton>
#include <algorithm>
#include <functional>

#include "designer/compare/compare_panel.hpp"
#include "designer/compare/second_drawing.hpp"
#include "designer/compare/side_by_side_panel.hpp"
#include "designer/compare/traffic_panel.hpp"
#include "designer/document/edits.hpp"
#include "designer/export/export_check.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/theme.hpp"
#include "io/files.hpp"
#include "support/waiting.hpp"
#include "support/window_turns.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using namespace std::chrono_literals;
using designer::test::Fixture;

/// The docks Compare, Side by Side and Traffic, alone and in the window.
namespace {

constexpr int kLong = 60000;

ScheduleResultPtr made(const fabric::Description& fabric, const char* method) {
  ScheduleOptions options;
  options.method = method;
  auto result = makeSchedule(fabric, options, {});
  if (!result) {
    qWarning("%s", describe(result.error()).c_str());
    return nullptr;
  }
  return *result;
}

std::vector<ComparedSchedule> schedulesOf(const fabric::Description& fabric, const std::vector<const char*>& methods) {
  std::vector<ComparedSchedule> schedules;
  for (const char* method : methods) {
    schedules.push_back({static_cast<int>(schedules.size()) + 1, QString::fromLatin1(method), made(fabric, method)});
  }
  return schedules;
}

fabric::Description twoBoxes() {
  return *presets::make("dgx-a100", {{"boxes", "2"}});
}

bool isReady(SideBySidePanel& panel) {
  return QTest::qWaitFor([&] { return panel.playback(0) && panel.playback(1); }, kLong);
}

/// Of the window, with two schedules of some boxes.
struct Sides {
  explicit Sides(const fabric::Description& fabric = twoBoxes()) {
    f.window->workspace().adopt(readArranged(fabric).model, {}, u"boxes"_s);
    book = f.window->findChild<ScheduleFeature*>()->book();
    add("forestcoll");
    add("ring");
    panel = f.window->findChild<SideBySidePanel*>();
  }
  void add(const char* method) const {
    ScheduleOptions options;
    options.method = method;
    book->generate(options);
    QVERIFY(QTest::qWaitFor([this] { return !book->isRunning(); }, kLong));
  }
  [[nodiscard]] SecondDrawing* second() const { return f.window->findChild<SecondDrawing*>(); }

  Fixture f;
  ScheduleBook* book = nullptr;
  SideBySidePanel* panel = nullptr;
};

void clickItem(QComboBox* list, const QString& text) {
  // The list takes no release within this time of the click that opened it.
  const auto restore =
      qScopeGuard([interval = QApplication::doubleClickInterval()] { QApplication::setDoubleClickInterval(interval); });
  QApplication::setDoubleClickInterval(0);
  QTest::mouseClick(list, Qt::LeftButton);
  QAbstractItemView* view = list->view();
  QTRY_VERIFY_WITH_TIMEOUT(view->isVisible(), coppice::waiting::kPatience);
  const QModelIndex index = list->model()->index(list->findText(text), 0);
  QVERIFY(index.isValid());
  view->scrollTo(index);
  QTest::mouseMove(view->viewport(), view->visualRect(index).center());
  QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(index).center());
}

}  // namespace

class TestDesignerCompare : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { designer::test::prepareApplication("compare"); }

  void clock() {
    PlayClock clock;
    QSignalSpy moved(&clock, &PlayClock::timeChanged);
    clock.setTime(5);
    QVERIFY(!clock.time());
    // Without a run it waits for one, unless it is stopped.
    clock.setPlaying(true);
    QVERIFY(!clock.isPlaying());
    clock.setPlaying(false);
    clock.setEnd(50);
    QVERIFY(!clock.isPlaying());
    clock.setEnd(0);
    clock.setPlaying(true);
    clock.setEnd(100);
    QVERIFY(clock.isPlaying());
    clock.setPlaying(false);
    clock.setTime(50);
    moved.clear();
    clock.setTime(-3);
    QCOMPARE(*clock.time(), 0.0);
    clock.setTime(130);
    QCOMPARE(*clock.time(), 100.0);
    QCOMPARE(moved.size(), 2);
    // From the end it begins again.
    clock.setPlaying(true);
    QVERIFY(clock.isPlaying());
    QCOMPARE(*clock.time(), 0.0);
    clock.advance(PlayClock::kSecondsPerRun / 4);
    QCOMPARE(*clock.time(), 25.0);
    clock.setSpeed(2);
    clock.advance(PlayClock::kSecondsPerRun / 4);
    QCOMPARE(*clock.time(), 75.0);
    clock.setLooped(true);
    clock.advance(PlayClock::kSecondsPerRun / 4);
    QCOMPARE(*clock.time(), 25.0);
    QVERIFY(clock.isPlaying());
    clock.setLooped(false);
    clock.advance(PlayClock::kSecondsPerRun);
    QCOMPARE(*clock.time(), 100.0);
    QVERIFY(!clock.isPlaying());
    clock.setEnd(0);
    QVERIFY(!clock.time());
  }

  void throughputAddsUp_data() {
    QTest::addColumn<QString>("method");
    QTest::newRow("forest") << u"forestcoll"_s;
    QTest::newRow("ring") << u"ring"_s;
  }

  void throughputAddsUp() {
    QFETCH(const QString, method);
    constexpr std::int64_t kBytes = 1 << 24;
    const auto run = Playback::record(made(twoBoxes(), method.toLatin1().constData()), kBytes, {});
    QVERIFY(run);
    double sent = 0;
    for (const simulate::RankUse& use : simulate::rankUses((*run)->details())) {
      sent += use.sent;
      QVERIFY(use.sending <= (*run)->row().time * (1 + 1e-9));
    }
    for (const std::size_t parts : {1, 7, 240}) {
      double all = 0;
      for (const double rate : (*run)->throughput(parts)) {
        all += rate * (*run)->duration() / static_cast<double>(parts);
      }
      QVERIFY2(std::abs(all - sent) < 1e-6 * sent, qPrintable(u"%1 instead of %2"_s.arg(all).arg(sent)));
    }
    // Every GPU receives all shards but its own.
    QVERIFY(std::abs(sent - 15.0 * kBytes) < 1e-6 * sent);
  }

  void theTableOfDifferences() {
    DifferenceModel model;
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setDifferences({{"a", "b", Throughput(25), {.bytes = 1024, .busy = 2us}, {.bytes = 4096, .busy = 8us}},
                          {"b", "a", Throughput(25), {.bytes = 2048, .busy = 4us}, {}}},
                         {{"a", {.sent = 10, .done = 3us}, {.sent = 20, .done = 1us}}});
    const auto text = [&](int row, int column) { return model.index(row, column).data().toString(); };
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(text(0, DifferenceModel::kName), u"a → b"_s);
    QCOMPARE(text(0, DifferenceModel::kBytesB), u"4 KiB"_s);
    QCOMPARE(text(0, DifferenceModel::kTimeA), u"2 µs"_s);
    QCOMPARE(text(0, DifferenceModel::kDifference), u"+6 µs"_s);
    QCOMPARE(text(1, DifferenceModel::kBytesB), u"–"_s);
    QCOMPARE(text(1, DifferenceModel::kDifference), u"−4 µs"_s);
    QCOMPARE(model.index(1, 0).data(DifferenceModel::kShareRole).toDouble(), -4.0 / 6);
    QCOMPARE(model.csv(),
             u"tail,head,bandwidth_GBps,a_bytes,b_bytes,a_busy_us,b_busy_us,difference_us\n"
             u"\"a\",\"b\",25,1024,4096,2,8,6\n\"b\",\"a\",25,2048,0,4,0,-4\n"_s);
    model.setKind(DifferenceModel::Kind::gpus);
    QCOMPARE(model.rowCount(), 1);
    QCOMPARE(text(0, DifferenceModel::kDifference), u"−2 µs"_s);
    QCOMPARE(model.endsAt(0), std::pair(u"a"_s, QString()));
    QVERIFY(model.csv().startsWith(u"gpu,"_s));
  }

  void pairsOfTheCompareDock() {
    ComparePanel panel;
    auto schedules = schedulesOf(twoBoxes(), {"ring", "forestcoll", "recursive-doubling"});
    QVERIFY(!panel.pair());
    panel.setSchedules({schedules[0]}, 1);
    QVERIFY(!panel.pair());
    panel.setSchedules(schedules, 3);
    // The chosen one, and the best of the others.
    QVERIFY(panel.pair() == std::pair(2, 3));
    QSignalSpy chosen(&panel, &ComparePanel::chosen);
    panel.table().selectionModel()->select(panel.table().model()->index(0, 0),
                                           QItemSelectionModel::Select | QItemSelectionModel::Rows);
    QVERIFY(panel.pair() == std::pair(1, 3));
    QCOMPARE(chosen.size(), 0);
    panel.table().selectAll();
    QVERIFY(!panel.pair());
  }

  /// The chosen size of each schedule comes first, and nothing is simulated that nobody sees, or that is gone.
  void simulatedSizeBySize() {
    ComparePanel panel;
    panel.resize(900, 300);
    auto schedules = schedulesOf(twoBoxes(), {"forestcoll", "ring"});
    panel.setSchedules(schedules, 1);
    coppice::waiting::settle();
    QVERIFY(!panel.isSimulating());
    panel.show();
    QVERIFY(QTest::qWaitFor([&] { return panel.isSimulating(); }, kLong));
    auto* size = panel.findChild<QComboBox*>(u"compareSize"_s);
    const std::int64_t chosen = sizeIn(*size);
    bool hasSeenPart = false;
    QVERIFY(QTest::qWaitFor(
        [&] {
          const Prediction* first = panel.predictionOf(0);
          const Prediction* second = panel.predictionOf(1);
          if (second != nullptr && !second->isComplete()) {
            hasSeenPart = true;
          }
          // The second one has its row before the first has a second.
          const bool isInOrder = first == nullptr || first->rows.size() < 2 || second != nullptr;
          return !isInOrder || panel.isSettled();
        },
        kLong));
    QVERIFY(panel.isSettled() && hasSeenPart);
    QVERIFY(panel.predictionOf(0)->at(chosen) != nullptr);
    QCOMPARE(panel.predictionOf(0)->rows.size(), comparedSizes().size());
    QVERIFY(panel.predictionOf(0)->sample.isEmpty());
    const PredictionPtr whole = predict(schedules[1].result, {});
    for (const simulate::Row& row : whole->rows) {
      QCOMPARE(panel.predictionOf(1)->at(row.size)->time, row.time);
    }
    QVERIFY(!panel.findChild<QProgressBar*>(u"compareProgress"_s)->isVisible());

    // Others take its place; when all are gone, nothing runs on.
    panel.setSchedules(schedulesOf(twoBoxes(), {"multi-ring"}), 1);
    QVERIFY(panel.isSimulating());
    panel.setSchedules({}, 0);
    QVERIFY(!panel.isSimulating());
    panel.setSchedules(schedulesOf(twoBoxes(), {"multi-ring"}), 1);
    auto* cancel = panel.findChild<QPushButton*>(u"compareStop"_s);
    QVERIFY(panel.isSimulating() && cancel->isVisible());
    cancel->click();
    QVERIFY(!panel.isSimulating());
    coppice::waiting::settle();
    QVERIFY(!panel.isSimulating() && !panel.isSettled());
    cancel->click();
    QVERIFY(panel.isSimulating());
    panel.hide();
    QVERIFY(QTest::qWaitFor([&] { return !panel.isSimulating(); }, kLong));
    panel.show();
    QVERIFY(QTest::qWaitFor([&] { return panel.isSettled(); }, kLong));
  }

  /// Whatever tab is chosen after a schedule was made shows something of it.
  void everyTabIsFull() {
    const Sides s;
    QStringList below;
    const std::vector<QDockWidget*> docks = s.f.window->layouts().docksOf(Mode::schedule);
    for (QDockWidget* dock : docks) {
      if (s.f.window->dockWidgetArea(dock) != Qt::BottomDockWidgetArea) {
        continue;
      }
      below << dock->windowTitle();
      dock->raise();
      coppice::waiting::settle();
      for (const EmptyPage* page : dock->findChildren<EmptyPage*>()) {
        QVERIFY2(!page->isVisible(), qPrintable(dock->windowTitle()));
      }
    }
    QCOMPARE(below, (QStringList{u"Routes"_s, u"Loads"_s, u"Timeline"_s, u"Compare"_s, u"Program"_s}));
  }

  /// Qt counts a dock behind another tab as shown.
  void nothingIsSimulatedBehindATab() {
    Sides s;
    auto* compare = s.f.window->findChild<ComparePanel*>();
    auto* timeline = s.f.window->findChild<TimelinePanel*>();
    s.f.run("view.routes");
    QVERIFY(QTest::qWaitFor([&] { return !compare->isSimulating() && !timeline->isRecording(); }, kLong));
    s.add("multi-ring");
    coppice::waiting::settle();
    QVERIFY(!compare->isSimulating() && !timeline->isRecording() && !timeline->playback());
    s.f.run("view.compare");
    QVERIFY(QTest::qWaitFor([&] { return compare->isSettled(); }, kLong));
    QVERIFY(!timeline->playback());
    s.f.run("view.timeline");
    QVERIFY(QTest::qWaitFor([&] { return timeline->playback() != nullptr; }, kLong));
  }

  /// Space on the drawing plays and pauses; while it moves the view it does not.
  void spacePlays() {
    Sides s;
    s.f.run("mode.schedule");
    s.f.run("view.timeline");
    auto* timeline = s.f.window->findChild<TimelinePanel*>();
    QVERIFY(QTest::qWaitFor([&] { return timeline->playback() != nullptr; }, kLong));
    CanvasView& canvas = s.f.editor()->canvas();
    canvas.setFocus();
    QTest::keyClick(&canvas, Qt::Key_Space);
    QVERIFY(timeline->isPlaying());
    QVERIFY(canvas.hasFocus());
    QTest::keyClick(&canvas, Qt::Key_Space);
    QVERIFY(!timeline->isPlaying());
    QTest::keyPress(&canvas, Qt::Key_Space);
    QTest::mousePress(&canvas, Qt::LeftButton, {}, QPoint(40, 40));
    QTest::mouseMove(&canvas, QPoint(60, 50));
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, QPoint(60, 50));
    QTest::keyRelease(&canvas, Qt::Key_Space);
    QVERIFY(!timeline->isPlaying());
  }

  /// Lanes whose bars are made when they are drawn are the same as those that are made at once.
  void lanesOnDemand_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<QString>("method");
    for (const char* method : {"forestcoll", "ring"}) {
      QTest::addRow("links, %s", method) << static_cast<int>(Playback::LaneKind::links)
                                         << QString(QLatin1String(method));
      QTest::addRow("gpus, %s", method) << static_cast<int>(Playback::LaneKind::gpus) << QString(QLatin1String(method));
      QTest::addRow("parts, %s", method) << static_cast<int>(Playback::LaneKind::parts)
                                         << QString(QLatin1String(method));
    }
  }

  void lanesOnDemand() {
    QFETCH(int, kind);
    QFETCH(QString, method);
    const auto run = Playback::record(made(twoBoxes(), method.toLatin1().constData()), 1 << 20, {});
    QVERIFY(run);
    const auto lanes = static_cast<Playback::LaneKind>(kind);
    const TimelineLanes whole((*run)->lanes(lanes, Playback::ColorBy::boxes), &Playback::waitName);
    const TimelineLanes lazy = Playback::lanesOnDemand(*run, lanes, Playback::ColorBy::boxes);
    QCOMPARE(lazy.lanes.size(), whole.lanes.size());
    QCOMPARE(lazy.end, whole.end);
    QCOMPARE(lazy.paths.front().size(), whole.paths.front().size());
    for (std::size_t lane = 0; lane < whole.lanes.size(); ++lane) {
      QCOMPARE(lazy.lanes[lane].name, whole.lanes[lane].name);
      QCOMPARE(lazy.lanes[lane].beginsGroup, whole.lanes[lane].beginsGroup);
      QVERIFY(lazy.longest[lane] >= whole.longest[lane]);
      const std::vector<TimelineBar> bars = lazy.barsOf(lane);
      QCOMPARE(bars.size(), whole.lanes[lane].bars.size());
      for (std::size_t bar = 0; bar < bars.size(); ++bar) {
        QCOMPARE(bars[bar].begin, whole.lanes[lane].bars[bar].begin);
        QCOMPARE(bars[bar].item, whole.lanes[lane].bars[bar].item);
        QCOMPARE(bars[bar].category, whole.lanes[lane].bars[bar].category);
        QCOMPARE(bars[bar].isCritical, whole.lanes[lane].bars[bar].isCritical);
      }
    }
  }

  void twoRunsByOneClock() {
    SideBySidePanel panel;
    panel.resize(900, 260);
    const auto schedules = schedulesOf(twoBoxes(), {"forestcoll", "ring", "recursive-doubling"});
    panel.setSchedules({schedules[0]});
    QVERIFY(panel.schedule(0) == nullptr);
    panel.setSchedules(schedules);
    QCOMPARE(panel.schedule(0)->id, 1);
    QCOMPARE(panel.schedule(1)->id, 3);
    panel.choose(1, 2);
    // Nothing is simulated while nobody looks.
    coppice::waiting::settle();
    QVERIFY(!panel.playback(0) && !panel.isSettled());
    panel.show();
    QVERIFY(isReady(panel));
    QCOMPARE(panel.playback(0)->result().stepSchedule() == nullptr, true);
    QCOMPARE(panel.clock().end(), std::max(panel.playback(0)->duration(), panel.playback(1)->duration()));
    QVERIFY(panel.playback(1)->duration() > panel.playback(0)->duration());
    QVERIFY2(panel.numbers(0).contains(u"GB/s at 64 MiB"_s), qPrintable(panel.numbers(0)));
    // The first row is where the ring keeps a link busy longest.
    const QAbstractItemModel& rows = *panel.table().model();
    const double first = rows.index(0, DifferenceModel::kDifference).data(DifferenceModel::kSortRole).toDouble();
    QVERIFY(first > 0);
    for (int row = 1; row < rows.rowCount(); ++row) {
      QVERIFY(rows.index(row, DifferenceModel::kDifference).data(DifferenceModel::kSortRole).toDouble() <= first);
    }
    QSignalSpy links(&panel, &SideBySidePanel::linkChosen);
    panel.table().selectRow(0);
    QCOMPARE(links.size(), 1);
    QCOMPARE(links[0][0].toString() + u" → "_s + links[0][1].toString(), rows.index(0, 0).data().toString());
    panel.findChild<QComboBox*>(u"sideKind"_s)->setCurrentIndex(1);
    QCOMPARE(rows.rowCount(), 16);
    QSignalSpy gpus(&panel, &SideBySidePanel::gpuChosen);
    panel.table().selectRow(3);
    QCOMPARE(gpus.size(), 1);

    // Along both critical paths, and by keys.
    ClockStrip& strip = panel.strip();
    QTest::keyClick(&strip, Qt::Key_BracketRight);
    QCOMPARE(*panel.clock().time(),
             std::min(panel.playback(0)->criticalTimes().front(), panel.playback(1)->criticalTimes().front()));
    QTest::keyClick(&strip, Qt::Key_End);
    QCOMPARE(*panel.clock().time(), panel.clock().end());
    QVERIFY(panel.numbers(0).endsWith(u"done"_s));
    QTest::keyClick(&strip, Qt::Key_BracketLeft);
    QVERIFY(*panel.clock().time() < panel.clock().end());
    QTest::keyClick(&strip, Qt::Key_Home);
    QCOMPARE(*panel.clock().time(), 0.0);
    QVERIFY(panel.numbers(0).endsWith(u"under way"_s));
    QTest::mouseClick(&strip, Qt::LeftButton, {}, QPoint(strip.width() / 2, 10));
    QVERIFY(*panel.clock().time() > 0.4 * panel.clock().end() && *panel.clock().time() < 0.6 * panel.clock().end());
    QTest::keyClick(&strip, Qt::Key_Space);
    QVERIFY(panel.clock().isPlaying());
    QTest::keyClick(&strip, Qt::Key_Space);
    QVERIFY(!panel.clock().isPlaying());

    // What stays the same is not simulated again.
    const PlaybackPtr forest = panel.playback(0);
    QTest::mouseClick(panel.findChild<QToolButton*>(u"sideSwap"_s), Qt::LeftButton);
    QVERIFY(!panel.clock().time());
    QVERIFY(isReady(panel));
    QCOMPARE(panel.playback(1), forest);
    panel.setBytes(1 << 10);
    QVERIFY(isReady(panel));
    QVERIFY(panel.playback(1) != forest);
    // Other latencies: neither run is valid.
    const double before = panel.playback(0)->duration();
    const ScheduleResult& ring = panel.playback(0)->result();
    std::vector<simulate::PairFit> pairs;
    for (int from = 0; from < ring.fabric->gpuCount(); ++from) {
      for (int to = 0; to < ring.fabric->gpuCount(); ++to) {
        if (from != to) {
          pairs.push_back({from, to, 100us, Throughput(1)});
        }
      }
    }
    const auto fits = simulate::fitsFor(*ring.fabric, pairs);
    QVERIFY(fits);
    panel.clock().setTime(1);
    SimulationSettings::instance().setProfile(ring.fabricDigest(), u"p.json"_s, *fits);
    QVERIFY(!panel.playback(0) && !panel.clock().time());
    QVERIFY(isReady(panel));
    QVERIFY(panel.playback(0)->duration() > before + 100'000);
    SimulationSettings::instance().clearProfile(ring.fabricDigest());
    QVERIFY(isReady(panel));
    QCOMPARE(panel.playback(0)->duration(), before);
    panel.clock().setTime(1);
    panel.hide();
    QTRY_VERIFY_WITH_TIMEOUT(!panel.clock().time(), coppice::waiting::kPatience);
  }

  /// A program of a file takes part with its figures, its speed and its motion; a run with what was measured.
  void programsAndRunsTakePart() {
    const Sides s;
    const ScheduleResultPtr ring = s.book->entries()[1].result;
    const auto xml = checkExport(*ring, {}, {}).xml;
    QVERIFY(!xml.empty());
    const QString path = s.f.dir.filePath(u"theirs.xml"_s);
    QVERIFY(io::saveFile(path.toStdString(), xml));
    auto* const compare = s.f.window->findChild<ComparePanel*>();
    QCOMPARE(compare->schedules().size(), 2U);
    s.f.window->files().openFile(path);
    QVERIFY(QTest::qWaitFor([&] { return compare->schedules().size() == 3; }, kLong));
    const ComparedSchedule program = compare->schedules().back();
    QCOMPARE(program.name, u"theirs.xml"_s);
    QVERIFY(!program.isOfBook() && !program.isRun() && program.result->program);
    // The ring's links allow its program what they allow the ring, of the same bound.
    QCOMPARE(program.result->algbw, ring->algbw);
    QVERIFY(program.result->bound == ring->bound);
    QCOMPARE(program.result->loads.size(), ring->loads.size());
    for (std::size_t arc = 0; arc < ring->loads.size(); ++arc) {
      QCOMPARE(program.result->loads[arc].rate, ring->loads[arc].rate);
    }
    s.f.run("view.compare");
    compare->show();
    QVERIFY(QTest::qWaitFor([&] { return compare->isSettled(); }, kLong));
    QVERIFY(compare->predictionOf(2) != nullptr && compare->predictionOf(2)->problem.isEmpty());
    QVERIFY(compare->table().item(2, ComparePanel::kAtSize)->text().toDouble() > 0);
    QVERIFY(compare->table().item(2, ComparePanel::kSteps)->text().toInt() >= 15);
    // Choosing it leaves the current schedule, and it plays beside another.
    const int current = s.book->current()->id;
    compare->table().selectRow(2);
    QCOMPARE(s.book->current()->id, current);
    s.f.run("schedule.side-by-side");
    s.panel->choose(s.book->entries()[0].id, program.id);
    QVERIFY(isReady(*s.panel));
    QCOMPARE(s.panel->schedule(1)->id, program.id);
    QVERIFY(s.panel->playback(1)->duration() > 0);
    // Within a step of the ring: between two of its 15 steps no data is under way.
    s.panel->clock().setTime(s.panel->clock().end() * 7 / 20);
    QVERIFY(!s.second()->canvas().motion().flows.empty());
    // On a fabric that has changed it would be wrong.
    EditorContext* editor = s.f.editor();
    const LinkId link = (*editor->model().links().begin()).id;
    editor->document().edit("remove", [&](Edit& edit) { edits::remove(edit, {ElementId(link)}); });
    QTRY_VERIFY_WITH_TIMEOUT(std::none_of(compare->schedules().begin(), compare->schedules().end(),
                                          [](const ComparedSchedule& each) { return !each.isOfBook(); }),
                             coppice::waiting::kPatience);
  }

  void aRunTakesPart() {
    const auto schedules = schedulesOf(twoBoxes(), {"forestcoll", "ring"});
    auto measured = std::make_shared<Prediction>();
    measured->rows.push_back({.size = 1 << 20, .time = 1us, .algbw = Throughput(1000), .busbw = Throughput(1000)});
    const auto recorded = Playback::record(schedules[1].result, 1 << 20, {});
    QVERIFY(recorded);
    std::vector<ComparedSchedule> all = schedules;
    all.push_back({-1, u"Run: today"_s, schedules[1].result, measured, *recorded});
    ComparePanel panel;
    panel.resize(1000, 300);
    panel.setSchedules(all, 1);
    panel.show();
    QVERIFY(QTest::qWaitFor([&] { return panel.isSettled(); }, kLong));
    auto* const size = panel.findChild<QComboBox*>(u"compareSize"_s);
    size->setCurrentIndex(size->findData(qint64{1} << 20));
    QCOMPARE(panel.table().item(2, ComparePanel::kAtSize)->text(), u"1000.00"_s);
    QCOMPARE(panel.table().item(2, ComparePanel::kFastest)->text(), u"measured"_s);
    // What was measured does not say which schedule is fastest.
    QVERIFY(!panel.fastestSizes(0).isEmpty());
    size->setCurrentIndex(size->findData(qint64{1} << 26));
    QCOMPARE(panel.table().item(2, ComparePanel::kAtSize)->text(), u"not measured"_s);
    QVERIFY(panel.chart().csv().contains(u"\"Run: today\""_s));

    SideBySidePanel sides;
    sides.setSchedules(all);
    sides.choose(1, -1);
    sides.show();
    QVERIFY(isReady(sides));
    QCOMPARE(sides.playback(1), *recorded);
    QCOMPARE(sides.playback(0)->bytes(), std::int64_t{1} << 20);
    QVERIFY(!sides.findChild<QComboBox*>(u"sideSize"_s)->isEnabled());
    sides.choose(1, 2);
    QVERIFY(isReady(sides));
    QCOMPARE(sides.playback(0)->bytes(), std::int64_t{1} << 26);
    QVERIFY(sides.findChild<QComboBox*>(u"sideSize"_s)->isEnabled());
  }

  void twoDrawings() {
    const Sides s;
    QVERIFY(s.second() == nullptr);
    s.f.run("schedule.side-by-side");
    QCOMPARE(s.f.window->workspace().mode(), Mode::schedule);
    QTRY_VERIFY_WITH_TIMEOUT(s.panel->isSeen(), coppice::waiting::kPatience);
    QVERIFY(s.panel->strip().hasFocus());
    QVERIFY(s.second() != nullptr);
    CanvasView& left = s.f.editor()->canvas();
    CanvasView& right = s.second()->canvas();
    QVERIFY(isReady(*s.panel));
    QTRY_VERIFY_WITH_TIMEOUT(right.isVisible(), coppice::waiting::kPatience);
    QVERIFY(std::abs(left.width() - right.width()) < left.width() / 4);
    // Each has the loads of its own schedule.
    QVERIFY(!left.overlay().heat.load.empty() && !right.overlay().heat.load.empty());
    const auto max = [](const CanvasView& canvas) {
      double sum = 0;
      for (const auto& [link, load] : canvas.overlay().heat.load) {
        sum += load.forward + load.backward;
      }
      return sum;
    };
    QVERIFY(max(left) > max(right));
    QVERIFY(s.f.window->findChild<DrawingCaption*>(u"captionA"_s)->text().contains(u"GB/s at 64 MiB"_s));
    QVERIFY(s.second()->caption().text().contains(u"Ring"_s));

    // One selection, one zoom.
    s.panel->table().selectRow(0);
    QVERIFY(!s.f.editor()->selection().links().empty());
    QCOMPARE(&left.selection(), &right.selection());
    left.setZoom(1.5);
    QCOMPARE(right.zoom(), 1.5);
    right.panBy({40, 30});
    const QPointF difference = left.visibleScene().center() - right.visibleScene().center();
    QVERIFY(std::abs(difference.x()) < 1 && std::abs(difference.y()) < 1);
    left.zoomToFit();
    QVERIFY(right.keepsFit());

    // Data moves on both, until the faster one is done.
    PlayClock& clock = s.panel->clock();
    clock.setTime(s.panel->playback(0)->duration() / 2);
    QVERIFY(!left.motion().isEmpty() && !right.motion().isEmpty());
    QVERIFY(left.overlay().heat.load.empty() && right.overlay().heat.load.empty());
    clock.setTime((s.panel->playback(0)->duration() + clock.end()) / 2);
    QVERIFY(left.motion().isEmpty() && !right.motion().isEmpty());
    clock.setTime(std::nullopt);
    QVERIFY(right.motion().isEmpty() && !right.overlay().heat.load.empty());

    // Play is for both while they are in front.
    s.f.run("schedule.play");
    QVERIFY(clock.isPlaying());
    QVERIFY(s.panel->isSeen());
    s.f.run("schedule.play");
    QVERIFY(!clock.isPlaying());

    // Another player on the same drawing takes over.
    clock.setTime(1000);
    auto* schedules = s.f.window->findChild<ScheduleFeature*>();
    const QObject other;
    schedules->setPlayed(&other, true);
    QVERIFY(!clock.time());
    schedules->setPlayed(&other, false);

    s.f.run("mode.draw");
    QVERIFY(s.second() == nullptr);
    QVERIFY(left.motion().isEmpty());
    s.f.run("schedule.side-by-side");
    QTRY_VERIFY_WITH_TIMEOUT(s.second() != nullptr, coppice::waiting::kPatience);
    // A timeline whose clock stands gives the drawing back.
    s.f.run("view.timeline");
    auto* timeline = s.f.window->findChild<TimelinePanel*>();
    QTRY_VERIFY_WITH_TIMEOUT(timeline->playback() != nullptr, coppice::waiting::kPatience);
    timeline->setTime(1000);
    QVERIFY(!left.motion().isEmpty() && left.overlay().heat.load.empty());
    s.f.run("view.side-by-side");
    QTRY_VERIFY_WITH_TIMEOUT(s.second() != nullptr, coppice::waiting::kPatience);
    QVERIFY(!timeline->time() && left.motion().isEmpty() && !left.overlay().heat.load.empty());
    // Another dock in front of it, another document, and a fabric that has changed.
    s.f.run("view.compare");
    QTRY_VERIFY_WITH_TIMEOUT(s.second() == nullptr, coppice::waiting::kPatience);
    s.f.run("view.side-by-side");
    QTRY_VERIFY_WITH_TIMEOUT(s.second() != nullptr, coppice::waiting::kPatience);
    EditorContext* first = s.f.editor();
    s.f.window->workspace().newDocument();
    QVERIFY(s.second() == nullptr);
    s.f.window->workspace().activate(first);
    QTRY_VERIFY_WITH_TIMEOUT(s.second() != nullptr, coppice::waiting::kPatience);
    first->document().edit(u"change"_s, [&](Edit& edit) {
      edit.change((*first->model().links().begin()).id, [](Link& link) { link.bandwidth = "7"; });
    });
    QTRY_VERIFY_WITH_TIMEOUT(s.second() == nullptr, coppice::waiting::kPatience);
  }

  /// Both docks and every moment of two runs leave the window's thread free, also at 1,024 GPUs.
  void windowStaysFree() {
    // What takes longest here touches much memory, which takes several times as long where other programs do so too:
    // far below a simulation in this thread is all that can be asked.
    const double limit = 15 * coppice::test::longestTurn();
    const Sides s(*presets::make("dgx-h100", {{"boxes", "128"}}));
    QCOMPARE(s.book->entries().size(), std::size_t{2});
    coppice::test::WindowTurns turns;
    const auto check = [&](const char* what, const std::function<void()>& work, const std::function<bool()>& isDone) {
      const double taken = turns.longest(work, isDone);
      QVERIFY2(taken < limit, qPrintable(u"%1: %2 ms"_s.arg(QLatin1String(what)).arg(taken)));
    };
    s.f.run("mode.schedule");
    QCoreApplication::processEvents();  // the Compare dock goes on simulating; nothing here waits for it
    check(
        "side by side", [&] { s.f.run("schedule.side-by-side"); },
        [&] { return s.panel->isSettled() && s.panel->playback(0) && s.panel->playback(1); });
    PlayClock& clock = s.panel->clock();
    constexpr int kMoments = 20;
    for (int moment = 0; moment <= kMoments; ++moment) {
      check(
          "moment", [&] { clock.setTime(clock.end() * moment / kMoments); }, [] { return true; });
    }
    check(
        "no moment", [&] { clock.setTime(std::nullopt); }, [] { return true; });
    check(
        "row", [&] { s.panel->table().selectRow(0); }, [] { return true; });
    check(
        "swap", [&] { QTest::mouseClick(s.panel->findChild<QToolButton*>(u"sideSwap"_s), Qt::LeftButton); },
        [&] { return s.panel->isSettled() && s.panel->playback(0); });
    auto* traffic = s.f.window->findChild<TrafficPanel*>();
    check(
        "traffic by boxes", [&] { s.f.run("schedule.traffic"); }, [&] { return traffic->table() != nullptr; });
    QVERIFY(traffic->table()->isByBoxes);
    for (const auto between : {TrafficPanel::Between::gpus, TrafficPanel::Between::gpusByBox}) {
      check(
          "traffic by GPUs", [&] { traffic->setBetween(between); },
          [&] { return traffic->table() && traffic->table()->traffic.size == 1024; });
      check(
          "matrix", [&] { traffic->view().grab(); }, [] { return true; });
    }
    check(
        "zoom",
        [&] {
          QTest::keyClick(&traffic->view(), Qt::Key_W);
          traffic->view().grab();
        },
        [] { return true; });
    check(
        "cell", [&] { QTest::keyClick(&traffic->view(), Qt::Key_Right); }, [] { return true; });
  }

  void speedChart() {
    SpeedChart chart;
    chart.resize(600, 300);
    std::vector<SpeedSeries> series;
    for (const ComparedSchedule& each : schedulesOf(twoBoxes(), {"forestcoll", "ring", "recursive-doubling"})) {
      series.push_back({each.name, each.result, predict(each.result, {})});
    }
    const Bandwidth bound = *series[0].result->bound;
    chart.setSeries(series, SpeedChart::What::algbw, bound);
    // Three lines and the bound.
    QCOMPARE(chart.chart()->series().size(), 4);
    const auto& sizes = comparedSizes();
    const auto at = static_cast<std::size_t>(std::find(sizes.begin(), sizes.end(), 1 << 26) - sizes.begin());
    const QString values = chart.valuesAt(at);
    for (const SpeedSeries& each : series) {
      QVERIFY2(values.contains(each.name), qPrintable(values));
      QVERIFY2(values.contains(QString::number(each.prediction->rows[at].algbw.gigabytesPerSecond(), 'f', 2)),
               qPrintable(values));
    }
    QVERIFY2(values.contains(QString::number(toGBps(bound), 'f', 2)), qPrintable(values));
    // The bus bandwidth has its own bound: 15/16 of it for 16 GPUs.
    chart.setSeries(series, SpeedChart::What::busbw, bound);
    QVERIFY(chart.valuesAt(at).contains(QString::number(toGBps(bound) * 15 / 16, 'f', 2)));
    chart.setSeries(series, SpeedChart::What::time, bound);
    for (const SpeedSeries& each : series) {
      QVERIFY(each.prediction->rows[at].time.count() >= static_cast<double>(sizes[at]) / (1000 * toGBps(bound)));
    }
    // Pins by mouse and keys.
    chart.show();
    QVERIFY(QTest::qWaitForWindowExposed(&chart));
    QTest::mouseClick(chart.viewport(), Qt::LeftButton, {}, chart.viewport()->rect().center());
    QCOMPARE(chart.pins().size(), std::size_t{1});
    QTest::mouseClick(chart.viewport(), Qt::LeftButton, {}, chart.viewport()->rect().center());
    QVERIFY(chart.pins().empty());
    QTest::keyClick(&chart, Qt::Key_Right);
    QTest::keyClick(&chart, Qt::Key_M);
    QCOMPARE(chart.pins().size(), std::size_t{1});
    // Who is beaten in both is not on the front.
    chart.setSeries(series, SpeedChart::What::latency, bound);
    const std::vector<std::size_t> front = chart.front();
    QVERIFY(!front.empty());
    for (std::size_t one = 0; one < series.size(); ++one) {
      bool isBeaten = false;
      for (const SpeedSeries& other : series) {
        isBeaten = isBeaten ||
                   (*latencyOf(other) <= *latencyOf(series[one]) && other.result->algbw > series[one].result->algbw);
      }
      QCOMPARE(std::find(front.begin(), front.end(), one) == front.end(), isBeaten);
    }
    QVERIFY(chart.ncclTestsText().count(u"# simulated allgather"_s) == 3);
    QCOMPARE(chart.csv().count(u'\n'), static_cast<qsizetype>(1 + 3 * sizes.size()));
  }

  void trafficOfASchedule_data() {
    QTest::addColumn<QString>("method");
    QTest::newRow("forest") << u"forestcoll"_s;
    QTest::newRow("ring") << u"ring"_s;
  }

  void trafficOfASchedule() {
    QFETCH(const QString, method);
    const ScheduleResultPtr result = made(twoBoxes(), method.toLatin1().constData());
    TrafficPanel panel;
    panel.resize(900, 500);
    panel.setResult(result);
    QVERIFY(!panel.table());
    panel.show();
    QTRY_VERIFY_WITH_TIMEOUT(panel.table() != nullptr, kLong);
    const TrafficTablePtr gpus = panel.table();
    QCOMPARE(gpus->traffic.size, 16);
    QCOMPARE(gpus->groups.size(), std::size_t{2});
    // Every GPU receives the 15 shards of the others, no matter which GPU sends them.
    QCOMPARE(gpus->total.toString(), std::string("15"));
    for (int to = 0; to < 16; ++to) {
      Rational received;
      for (int from = 0; from < 16; ++from) {
        received += gpus->traffic.share(from, to);
      }
      QCOMPARE(received.toString(), std::string("15/16"));
    }
    QCOMPARE(TrafficPanel::csv(*gpus, 1 << 20).count(u'\n'), static_cast<qsizetype>(1 + gpus->pairs));

    // By hand: exact bytes of a cell, and its GPUs.
    MatrixView& view = panel.view();
    QSignalSpy chosen(&panel, &TrafficPanel::gpusChosen);
    const QPoint place = view.rectOf({0, 1}).center().toPoint();
    // The pointer may stand there already.
    QTest::mouseMove(&view, QPoint(2, 2));
    QTest::mouseMove(&view, place);
    QTRY_VERIFY_WITH_TIMEOUT(view.current() == MatrixView::Cell(0, 1), coppice::waiting::kPatience);
    const QString text = panel.findChild<QLabel*>(u"trafficText"_s)->text();
    QVERIFY2(text.contains(QString::fromStdString(gpus->traffic.share(0, 1).toString())), qPrintable(text));
    QTest::mouseClick(&view, Qt::LeftButton, {}, place);
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(chosen[0][0].toStringList(), QStringList({gpus->names[0], gpus->names[1]}));
    QTest::keyClick(&view, Qt::Key_Down);
    QVERIFY(view.current() == MatrixView::Cell(1, 1));
    QTest::keyClick(&view, Qt::Key_W);
    QVERIFY(!view.rectOf({1, 1}).isNull());

    panel.setBetween(TrafficPanel::Between::boxes);
    QTRY_VERIFY_WITH_TIMEOUT(panel.table() && panel.table()->isByBoxes, kLong);
    QCOMPARE(panel.table()->traffic.size, 2);
    QCOMPARE(panel.table()->total.toString(), std::string("15"));
    Rational across;
    across += panel.table()->traffic.share(0, 1);
    across += panel.table()->traffic.share(1, 0);
    QCOMPARE(panel.table()->betweenBoxes.toString(), across.toString());
    QCOMPARE(panel.table()->gpus[0].size(), 8);
    const QTemporaryDir folder;
    for (const QString& name : {u"t.svg"_s, u"t.png"_s}) {
      QVERIFY(panel.savePicture(folder.filePath(name)));
      QVERIFY(QFileInfo(folder.filePath(name)).size() > 1000);
    }
    QVERIFY(!panel.savePicture(folder.filePath(u"t.txt"_s)));
  }

  /// From the start page to the files of the plan, with the mouse.
  void theWholePathByMouse() {
    const Fixture f;
    int actions = 0;
    const auto click = [&](QWidget* widget, const QPoint& at = {}) {
      ++actions;
      QVERIFY(widget != nullptr);
      QTRY_VERIFY2_WITH_TIMEOUT(widget->isVisible() && widget->isEnabled(), qPrintable(widget->objectName()), kLong);
      QTest::mouseClick(widget, Qt::LeftButton, {}, at.isNull() ? widget->rect().center() : at);
    };
    auto* cards = f.window->findChild<CardList*>(u"startFabrics"_s);
    QListWidgetItem* card = cards->itemOf(u"preset/dgx-a100?boxes=4"_s);
    QVERIFY(card != nullptr);
    click(cards->viewport(), cards->visualItemRect(card).center());
    auto* size = f.window->findChild<QDialog*>(u"templateDialog"_s);
    QVERIFY(size != nullptr && size->isVisible());
    click(size->findChild<QPushButton*>(u"chip-boxes-2"_s));
    click(size->findChild<QPushButton*>(u"templateCreate"_s));
    QTRY_VERIFY_WITH_TIMEOUT(f.editor() != nullptr, coppice::waiting::kPatience);
    QTRY_VERIFY_WITH_TIMEOUT(f.editor()->bound().isCurrent(), coppice::waiting::kPatience);
    QCOMPARE(f.editor()->bound().bound()->gpuCount, 16);
    auto* book = f.window->findChild<ScheduleFeature*>()->book();
    click(f.window->findChild<QToolButton*>(u"tool-schedule.generate"_s));
    QTRY_VERIFY_WITH_TIMEOUT(book->current() != nullptr && book->current()->result, kLong);
    // The tab of the dock, and the button in it.
    f.run("view.side-by-side");
    ++actions;
    auto* panel = f.window->findChild<SideBySidePanel*>();
    click(panel->findChild<QPushButton*>());
    auto* dialog = f.window->findChild<QWidget*>(u"methodsPanel"_s);
    QTRY_VERIFY_WITH_TIMEOUT(dialog->isVisible(), coppice::waiting::kPatience);
    clickItem(dialog->findChild<QComboBox*>(u"generateMethod"_s), u"Ring"_s);
    actions += 2;
    click(dialog->findChild<QPushButton*>(u"generateButton"_s));
    QTRY_COMPARE_WITH_TIMEOUT(book->entries().size(), std::size_t{2}, kLong);
    // The methods stay open for the next one.
    QVERIFY(panel->isSeen());
    QVERIFY(isReady(*panel));
    click(panel->findChild<QToolButton*>(u"sidePlay"_s));
    QVERIFY(panel->clock().isPlaying());
    // The link where the ring loses.
    click(panel->table().viewport(), panel->table().visualRect(panel->table().model()->index(0, 0)).center());
    QVERIFY(!f.editor()->selection().links().empty());
    // The predicted algbw at 64 MiB is in view.
    QVERIFY(f.window->findChild<DrawingCaption*>(u"captionB"_s)->text().contains(u"GB/s at 64 MiB"_s));
    click(panel->findChild<QToolButton*>(u"sidePlan"_s));
    auto* plan = f.window->findChild<QDialog*>(u"planDialog"_s);
    QTRY_VERIFY_WITH_TIMEOUT(plan != nullptr && plan->isVisible(), coppice::waiting::kPatience);
    const QString folder = f.dir.filePath(u"plan"_s);
    // A folder is proposed; the test writes into its own.
    auto* proposed = plan->findChild<QLineEdit*>(u"planFolder"_s);
    QVERIFY2(proposed->text().endsWith(u".plan"_s), qPrintable(proposed->text()));
    proposed->setText(folder);
    click(plan->findChild<QPushButton*>(u"planExport"_s));
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(folder + u"/plan.json"_s), kLong);
    qInfo("actions by mouse: %d", actions);
    QVERIFY(actions <= 15);
  }

  /// The same with keys alone. What is typed into one field counts once.
  void theWholePathByKeyboard() {
    const Fixture f;
    int actions = 0;
    const auto key = [&](const QKeySequence& keys) {
      ++actions;
      QWidget* focus = QApplication::focusWidget();
      QTest::keySequence(focus != nullptr ? focus->window() : f.window.get(), keys);
    };
    const auto press = [&](Qt::Key which) {
      ++actions;
      QVERIFY(QApplication::focusWidget() != nullptr);
      QTest::keyClick(QApplication::focusWidget(), which);
    };
    // The dialog for files takes the name and Enter.
    f.answers->open = {f.example("2x-dgx-a100.fabric.json")};
    key(QKeySequence(u"Ctrl+O"_s));
    actions += 2;
    QTRY_VERIFY_WITH_TIMEOUT(f.editor() != nullptr, coppice::waiting::kPatience);
    auto* book = f.window->findChild<ScheduleFeature*>()->book();
    key(QKeySequence(u"F5"_s));
    QTRY_VERIFY_WITH_TIMEOUT(book->current() != nullptr && book->current()->result, kLong);
    key(QKeySequence(u"Ctrl+Shift+F5"_s));
    auto* dialog = f.window->findChild<QWidget*>(u"methodsPanel"_s);
    QTRY_COMPARE_WITH_TIMEOUT(QApplication::focusWidget(), dialog->findChild<QComboBox*>(u"generateMethod"_s),
                              coppice::waiting::kPatience);
    QTest::keyClicks(QApplication::focusWidget(), u"ring"_s);
    ++actions;
    QCOMPARE(dialog->findChild<QComboBox*>(u"generateMethod"_s)->currentText(), u"Ring"_s);
    press(Qt::Key_Return);
    QTRY_COMPARE_WITH_TIMEOUT(book->entries().size(), std::size_t{2}, kLong);
    press(Qt::Key_Escape);
    QTRY_VERIFY_WITH_TIMEOUT(!dialog->isVisible(), coppice::waiting::kPatience);
    f.activate();
    key(QKeySequence(u"Ctrl+K, B"_s));
    auto* panel = f.window->findChild<SideBySidePanel*>();
    QVERIFY(isReady(*panel));
    press(Qt::Key_Space);
    QVERIFY(panel->clock().isPlaying());
    press(Qt::Key_Tab);
    QVERIFY(panel->table().hasFocus());
    QVERIFY(!f.editor()->selection().links().empty());
    QCOMPARE(panel->table().currentIndex().row(), 0);
    key(QKeySequence(u"Ctrl+K, E"_s));
    QDialog* plan = nullptr;
    QTRY_VERIFY_WITH_TIMEOUT(
        (plan = f.window->findChild<QDialog*>(u"planDialog"_s)) != nullptr && plan->isActiveWindow(),
        coppice::waiting::kPatience);
    // The folder beside the file is there already.
    press(Qt::Key_Return);
    QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(f.dir.filePath(u"2x-dgx-a100.plan/plan.json"_s)), kLong);
    qInfo("actions by keyboard: %d", actions);
    QVERIFY(actions <= 15);
  }
};

QTEST_MAIN(TestDesignerCompare)
#include "tst_designer_compare.moc"
