// SPDX-License-Identifier: Apache-2.0
// Not a test: takes the pictures of resources/screenshots, or those of the help, from the real window.
// resources/scripts/screenshots.sh builds and runs it. Usage: coppice-screenshots FOLDER [help]
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>
#include <cstdio>
#include <string_view>

#include "coppice/test_paths.hpp"
#include "designer/compare/compare_panel.hpp"
#include "designer/compare/side_by_side_panel.hpp"
#include "designer/compare/traffic_panel.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/export/export_dialog.hpp"
#include "designer/finder/finder_dialog.hpp"
#include "designer/frontier/frontier_dialog.hpp"
#include "designer/help/plurals.hpp"
#include "designer/palette/card_list.hpp"
#include "designer/palette/fabric_preview.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/program/program_panel.hpp"
#include "designer/run/measured_panel.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/search/synthesize_dialog.hpp"
#include "designer/theme/theme.hpp"
#include "designer/training/training_panel.hpp"
#include "designer/trees/tree_panel.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"
#include "support/recorded_events.hpp"
#include "support/waiting.hpp"
#include "workflow/measured_run.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr int kLong = 120000;  // ms

class WindowCamera {
public:
  explicit WindowCamera(QString folder) : m_folder(std::move(folder)) {}

  void startPage() {
    open();
    // Pictures and bounds of the cards come from another thread.
    const auto* cards = m_window->findChild<CardList*>(u"startFabrics"_s);
    const bool isWhole = QTest::qWaitFor(
        [&] {
          for (int i = 0; i < cards->count(); ++i) {
            const CardFacts* facts = cards->factsOf(*cards->item(i));
            if (facts == nullptr || (facts->bound.isEmpty() && facts->why.isEmpty())) {
              return false;
            }
          }
          return true;
        },
        kLong);
    if (!isWhole) {
      fail("the cards of the start page do not come");
    }
    coppice::waiting::settle();
    shoot(u"start"_s);
  }

  void cluster() {
    open();
    adopt("dgx-h100", {{"boxes", "4"}, {"network", "rails"}}, u"4x DGX H100, rails"_s);
    const Model& model = editor().model();
    editor().selection().set({ElementId(model.linksOf(model.nodeNamed("b0g0")).front())});
    shoot(u"draw"_s);
    editor().selection().clear();
    run("mode.analyse");
    run("view.upgrades");
    awaitGains();
    shoot(u"analyse"_s);
    Theme::instance().setChoice(SchemeChoice::dark);
    shoot(u"dark"_s);
    Theme::instance().setChoice(SchemeChoice::light);
    training();
    generate();
    auto* trees = m_window->findChild<TreePanel*>();
    trees->showRoot(0);
    QTreeView& view = trees->view();
    const QModelIndex other = view.model()->index(19, 0);
    view.model()->fetchMore(other);
    view.selectionModel()->select(view.model()->index(0, 0, other),
                                  QItemSelectionModel::Select | QItemSelectionModel::Rows);
    run("view.routes");
    shoot(u"schedule"_s);
    run("schedule.export");
    auto* dialog = m_window->findChild<ExportDialog*>();
    if (dialog == nullptr || !QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong)) {
      fail("the export dialog does not answer");
      return;
    }
    constexpr QSize kDialog(860, 860);
    dialog->resize(kDialog);
    save(u"export"_s, dialog);
    dialog->close();
    rehearse();
  }

  /// Several schedules of one fabric: compared, played, listed, and against a run.
  void schedules() {
    open();
    adopt("dgx-a100", {{"boxes", "2"}}, u"2x DGX A100"_s);
    generate();
    auto* schedules = m_window->findChild<ScheduleFeature*>();
    for (const char* method : {"recursive-doubling", "ring"}) {
      ScheduleOptions options;
      options.method = method;
      schedules->book()->generate(options);
      if (!QTest::qWaitFor([&] { return !schedules->book()->isRunning() && schedules->book()->isSettled(); }, kLong)) {
        fail("a schedule does not come");
      }
    }
    run("view.compare");
    auto* compare = m_window->findChild<ComparePanel*>();
    if (!QTest::qWaitFor([&] { return compare->isSettled(); }, kLong)) {
      fail("the comparison does not come");
    }
    shoot(u"compare"_s);
    run("view.routes");
    shoot(u"transfers"_s);
    run("schedule.program");
    auto* program = m_window->findChild<ProgramPanel*>();
    if (!QTest::qWaitFor([&] { return program->reading() != nullptr && !program->isReading(); }, kLong)) {
      fail("the program does not come");
    }
    shoot(u"program"_s);
    play();
    compareWithRun(*schedules->book()->current()->result);
    shoot(u"measured"_s);
  }

  /// A run of stock NCCL: its log with the table of nccl-tests in it, pasted.
  void ncclRun() {
    open();
    adopt("dgx-h100", {{"boxes", "2"}, {"network", "rails"}}, u"2x DGX H100, rails"_s);
    QString text;
    for (const char* name : {"two_h100.log", "two_h100_all_reduce.txt"}) {
      QFile file(QStringLiteral(COPPICE_TEST_DATA "/nccl/") + QString::fromLatin1(name));
      if (!file.open(QIODevice::ReadOnly)) {
        fail("a sample of NCCL's log is missing");
        return;
      }
      text += QString::fromUtf8(file.readAll());
    }
    QGuiApplication::clipboard()->setText(text);
    run("schedule.paste-run");
    auto* panel = m_window->findChild<MeasuredPanel*>();
    wait([&] { return panel->nccl().view() != nullptr && panel->nccl().view()->on; }, "the run does not come");
    panel->nccl().channels().selectRow(0);
    constexpr int kDock = 360;
    m_window->resizeDocks({m_window->findChild<QDockWidget*>(u"measuredDock"_s)}, {kDock}, Qt::Vertical);
    shoot(u"nccl"_s);
  }

  /// A communication sketch with the schedule that was found within it.
  void sketch() {
    open();
    adopt("azure-ndv2", {{"boxes", "2"}}, u"2x NDv2"_s);
    run("sketch.propose");
    auto* start = m_window->findChild<QPushButton*>(u"sketchRun"_s);
    wait([&] { return start->isVisible() && start->isEnabled(); }, "the sketch does not come");
    start->click();
    auto* schedules = m_window->findChild<ScheduleFeature*>();
    wait([&] { return schedules->book()->current() != nullptr; }, "the search finds no schedule");
    run("view.sketch");
    m_window->resizeDocks({m_window->findChild<QDockWidget*>(u"sketchDock"_s)}, {kHelpDock}, Qt::Vertical);
    shoot(u"sketch"_s);
  }

  void large() {
    open();
    adopt("dgx-h100", {{"boxes", "128"}}, u"128x DGX H100"_s);
    run("mode.analyse");
    awaitGains();
    shoot(u"folded"_s);
    run("mode.draw");
    run("arrange.unfold-all");
    editor().selection().clear();
    shoot(u"unfolded"_s);
  }

  void topologies() {
    open();
    run("file.find-topology");
    auto* finder = m_window->findChild<FinderDialog*>();
    awaitTopologies(*finder);
    coppice::waiting::settle();
    save(u"finder"_s, finder);
    finder->close();
  }

  /// Docks and dialogs for the pages of the help, each in light and dark.
  void helpPages() {
    open();
    adopt("dgx-a100", {{"boxes", "2"}}, u"2x DGX A100"_s);
    generate();
    auto* schedules = m_window->findChild<ScheduleFeature*>();
    ScheduleOptions ring;
    ring.method = "ring";
    schedules->book()->generate(ring);
    wait([&] { return !schedules->book()->isRunning() && schedules->book()->isSettled(); }, "a schedule does not come");
    m_window->findChild<QDockWidget*>(u"schedulesDock"_s)->hide();
    m_window->resize(kHelpWindow);
    run("view.compare");
    auto* compare = m_window->findChild<ComparePanel*>();
    wait([&] { return compare->isSettled(); }, "the comparison does not come");
    saveBoth(u"compare"_s, compare);
    run("schedule.side-by-side");
    auto* pair = m_window->findChild<SideBySidePanel*>();
    wait([&] { return pair->isSettled() && pair->playback(0) != nullptr; }, "the two runs do not come");
    pair->clock().setTime(kHelpMoment * pair->playback(0)->duration());
    saveBoth(u"side-by-side"_s, pair, Crop::withDrawing);
    pair->clock().setTime(std::nullopt);
    run("schedule.traffic");
    auto* traffic = m_window->findChild<TrafficPanel*>();
    schedules->book()->setCurrent(schedules->book()->entries().front().id);
    wait([&] { return traffic->isSettled() && traffic->table() != nullptr; }, "the traffic does not come");
    saveBoth(u"traffic"_s, traffic);
    run("view.timeline");
    auto* timeline = m_window->findChild<TimelinePanel*>();
    wait([&] { return timeline->playback() != nullptr && timeline->view().laneCount() > 0; },
         "the timeline does not come");
    timeline->setTime(kHelpMoment * timeline->playback()->duration());
    saveBoth(u"timeline"_s, timeline, Crop::withDrawing);
    timeline->setTime(std::nullopt);
    compareWithRun(*schedules->book()->current()->result);
    saveBoth(u"measured"_s, m_window->findChild<MeasuredPanel*>());
    run("schedule.program");
    auto* program = m_window->findChild<ProgramPanel*>();
    wait([&] { return program->reading() != nullptr && !program->isReading(); }, "the program does not come");
    saveBoth(u"program"_s, program);
    run("sketch.propose");
    auto* sketch = m_window->findChild<QWidget*>(u"sketchPanel"_s);
    auto* start = m_window->findChild<QPushButton*>(u"sketchRun"_s);
    wait([&] { return start->isVisible() && start->isEnabled(); }, "the sketch does not come");
    saveBoth(u"sketch"_s, sketch, Crop::withDrawing);
    run("schedule.synthesize");
    auto* synthesize = m_window->findChild<SynthesizeDialog*>();
    synthesize->start();
    wait([&] { return !synthesize->search().isRunning() && synthesize->current().has_value(); },
         "the front does not come");
    synthesize->resize(kHelpDialog);
    saveBoth(u"synthesize"_s, synthesize, Crop::whole);
    synthesize->close();
    run("file.find-topology");
    auto* finder = m_window->findChild<FinderDialog*>();
    awaitTopologies(*finder);
    saveBoth(u"topologies"_s, finder, Crop::whole);
    finder->close();
    run("file.price-networks");
    auto* prices = m_window->findChild<FrontierDialog*>();
    prices->form().setValues({{"gpus", "256"}, {"network", "leaf-spine,two-plane,rails"}, {"nic", "25,50"}});
    prices->search();
    wait([&] { return prices->isSettled() && prices->chosen() >= 0; }, "the networks do not come");
    prices->findChild<QComboBox*>(u"frontierGain"_s)->setCurrentIndex(1);
    prices->resize(kHelpDialog);
    saveBoth(u"prices"_s, prices, Crop::whole);
    prices->close();
  }

  [[nodiscard]] bool hasFailed() const { return m_hasFailed; }

private:
  /// What limits the tensor axis of the best plan, on the drawing.
  void training() {
    run("view.training");
    auto* panel = m_window->findChild<TrainingPanel*>();
    panel->search();
    coppice::waiting::settle();
    [[maybe_unused]] const bool isFound = QTest::qWaitFor([&] { return panel->isCurrent(); }, kLong);
    panel->details().setCurrentIndex(1);
    panel->findChild<QTableWidget*>(u"trainingParts"_s)->selectRow(2);
    coppice::waiting::settle();
    shoot(u"training"_s);
    run("view.upgrades");
  }

  static constexpr QSize kHelpWindow{1000, 760};
  static constexpr QSize kHelpDialog{1140, 620};
  static constexpr int kHelpDock = 330;
  static constexpr double kHelpMoment = 0.43;
  /// What a picture of the help has: a dialog or a dock alone, or the drawing above the dock too.
  enum class Crop { whole, withDrawing };

  template <typename Condition>
  void wait(const Condition& condition, const char* fault) {
    if (!QTest::qWaitFor(condition, kLong)) {
      fail(fault);
    }
  }

  /// What one more GB/s gains, in the card of the bound.
  void awaitGains() {
    const auto* first = m_window->findChild<QWidget*>(u"upgradeBar"_s);
    wait([&] { return !first->isHidden(); }, "the gains do not come");
    coppice::waiting::settle();
  }
  void awaitTopologies(FinderDialog& finder) {
    const auto* preview = finder.findChild<FabricPreview*>();
    wait([&] { return !finder.search().isRunning() && finder.chosen() >= 0; }, "the topologies do not come");
    wait([&] { return !preview->isWorking() && preview->model() != nullptr; },
         "the picture of a topology does not come");
  }

  void open() {
    m_window.reset();
    QSettings().clear();
    m_window = std::make_unique<MainWindow>(WindowOptions{.keepsSettings = false});
    m_window->resize(1440, 900);
    m_window->show();
    coppice::waiting::settle();
  }
  EditorContext& editor() { return *m_window->workspace().current(); }
  void run(const char* id) { m_window->actions()[QLatin1String(id)]->trigger(); }
  void fail(const char* why) {
    std::fprintf(stderr, "coppice-screenshots: %s\n", why);
    m_hasFailed = true;
  }

  void adopt(const std::string& preset, const std::map<std::string, std::string>& arguments, const QString& name) {
    const auto made = presets::make(preset, arguments);
    m_window->workspace().adopt(readArranged(*made).model, {}, name);
    if (!QTest::qWaitFor([&] { return editor().bound().isCurrent(); }, kLong)) {
      fail("the bound does not come");
    }
  }
  void generate() {
    auto* schedules = m_window->findChild<ScheduleFeature*>();
    run("schedule.generate");
    if (!QTest::qWaitFor([&] { return schedules->book()->current() != nullptr && !schedules->book()->isRunning(); },
                         kLong)) {
      fail("the schedule does not come");
    }
  }

  void play() {
    run("view.timeline");
    auto* timeline = m_window->findChild<TimelinePanel*>();
    if (!QTest::qWaitFor([&] { return timeline->playback() != nullptr && timeline->view().laneCount() > 0; }, kLong)) {
      fail("the timeline does not come");
      return;
    }
    constexpr double kMoment = 0.43;
    const double moment = kMoment * timeline->playback()->duration();
    timeline->setTime(moment);
    shoot(u"timeline"_s);
    Theme::instance().setChoice(SchemeChoice::dark);
    timeline->setTime(std::nullopt);
    timeline->setTime(moment);
    shoot(u"timeline-dark"_s);
    Theme::instance().setChoice(SchemeChoice::light);
    timeline->setTime(std::nullopt);
  }

  /// A made-up run on which one GPU was slow.
  void compareWithRun(const ScheduleResult& result) {
    constexpr std::int64_t kBytes = std::int64_t{1} << 20;
    constexpr int kSlow = 5;
    const auto program = workflow::executedProgram(*result.fabric, result.schedule, true, {});
    if (!program) {
      fail("the schedule has no program");
      return;
    }
    const auto events = test::recordedEvents(
        *program, [](const program::StepPlace& place) { return place.rank == kSlow ? 9'500 : 3'600; });
    std::string records;
    for (std::int64_t size = kBytes >> 10; size <= kBytes << 6; size *= 2) {
      const double time = 130 + static_cast<double>(size) / 148'000;
      records += program::writeRecord(
          program::ResultRecord{.size = size, .time_us = time, .algbw_GBps = static_cast<double>(size) / time / 1000});
    }
    for (std::size_t at = 0; at < events.size(); at += program::kMaxTraceEvents) {
      const auto begin = events.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          events.begin() + static_cast<std::ptrdiff_t>(std::min(at + program::kMaxTraceEvents, events.size()));
      records += program::writeRecord(program::TraceRecord{.size = kBytes, .inPlace = true, .events = {begin, end}});
    }
    run("view.measured");
    auto* panel = m_window->findChild<MeasuredPanel*>();
    panel->take({.id = {}, .title = u"run.jsonl"_s, .records = {}, .schedule = {}, .text = records});
    if (!QTest::qWaitFor([&] { return panel->comparison() && panel->comparison()->measured; }, kLong)) {
      fail("the comparison with the run does not come");
      return;
    }
    panel->table().selectRow(0);
  }

  void rehearse() {
    auto* activity = m_window->findChild<RunActivity*>();
    run("mode.run");
    if (!QTest::qWaitFor([&] { return activity->isReady(); }, kLong)) {
      fail("this computer is not ready to run the schedule");
      return;
    }
    run("run.start");
    if (!QTest::qWaitFor([&] { return activity->isRunning(); }, kLong) ||
        !QTest::qWaitFor([&] { return !activity->isRunning(); }, kLong)) {
      fail("the run does not end");
      return;
    }
    run("view.results");
    shoot(u"run"_s);
  }

  /// The whole window. The drawing is fitted.
  void shoot(const QString& name) {
    if (m_window->workspace().current() != nullptr) {
      run("zoom.fit");
      coppice::waiting::settle();
      editor().canvas().complete();
    }
    save(name, m_window.get());
  }
  void saveBoth(const QString& name, QWidget* widget, Crop crop = Crop::whole) {
    if (crop == Crop::withDrawing) {
      run("zoom.fit");
      editor().canvas().complete();
    }
    for (QWidget* dock = widget; dock != nullptr; dock = dock->parentWidget()) {
      if (auto* found = qobject_cast<QDockWidget*>(dock)) {
        m_window->resizeDocks({found}, {kHelpDock}, Qt::Vertical);
      }
    }
    for (const SchemeChoice scheme : {SchemeChoice::dark, SchemeChoice::light}) {
      Theme::instance().setChoice(scheme);
      coppice::waiting::settle();
      QPixmap picture = widget->grab();
      if (crop == Crop::withDrawing) {
        const QRect dock(widget->mapTo(m_window.get(), QPoint()), widget->size());
        const QWidget* pane = m_window->centralWidget();
        const QRect drawing(pane->mapTo(m_window.get(), QPoint()), pane->size());
        picture = m_window->grab(drawing.united(dock));
      }
      const QString file = m_folder + u'/' + name + (scheme == SchemeChoice::dark ? u"-dark.png"_s : u"-light.png"_s);
      if (!picture.save(file)) {
        fail("a picture cannot be written");
      }
    }
  }
  void save(const QString& name, QWidget* widget) {
    coppice::waiting::settle();
    if (!widget->grab().save(m_folder + u'/' + name + u".png"_s)) {
      fail("a picture cannot be written");
    }
  }

  QString m_folder;
  std::unique_ptr<MainWindow> m_window;
  bool m_hasFailed = false;
};

}  // namespace

int main(int argc, char** argv) {
  // The script names a screen that is large enough for the window.
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const bool isHelp = argc == 3 && std::string_view(argv[2]) == "help";
  if (isHelp) {
    qputenv("QT_SCALE_FACTOR", "2");
  }
  QApplication app(argc, argv);
  if ((argc != 2 && !isHelp) || !QDir().mkpath(QString::fromLocal8Bit(argv[1]))) {
    std::fprintf(stderr, "Usage: coppice-screenshots FOLDER [help]\n");
    return 2;
  }
  QCoreApplication::setOrganizationName(u"coppice-screenshots"_s);
  QCoreApplication::setApplicationName(u"coppice"_s);
  QCoreApplication::installTranslator(new Plurals(&app));
  Theme::instance().applyTo(app);
  Theme::instance().setChoice(SchemeChoice::light);
  Theme::instance().setAnimated(false);
  WindowCamera camera(QString::fromLocal8Bit(argv[1]));
  if (isHelp) {
    camera.helpPages();
  } else {
    camera.startPage();
    camera.cluster();
    camera.schedules();
    camera.ncclRun();
    camera.sketch();
    camera.large();
    camera.topologies();
  }
  return camera.hasFailed() ? 1 : 0;
}
