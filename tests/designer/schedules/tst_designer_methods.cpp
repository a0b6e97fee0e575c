// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <cmath>

#include "designer/compare/compare_panel.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/figures.hpp"
#include "designer/export/export_check.hpp"
#include "designer/export/export_command.hpp"
#include "designer/playback/playback.hpp"
#include "designer/playback/timeline_panel.hpp"
#include "designer/run/measured_panel.hpp"
#include "designer/schedules/methods_panel.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/loads_panel.hpp"
#include "designer/trees/transfer_panel.hpp"
#include "presets/presets.hpp"
#include "support/recorded_events.hpp"
#include "support/waiting.hpp"
#include "support/window_turns.hpp"
#include "workflow/method.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// Every method appears in the Generate dialog with its options, and no file of the window knows it.
namespace {

constexpr int kLong = 60000;

struct Fixture {
  Fixture() {
    file.adopt(readModel(*presets::make("mi250", {{"boxes", "2"}})).model, {});
    dialog.setSubject(&book, &file, &selection, &bound);
  }
  template <typename Widget>
  [[nodiscard]] Widget* child(const char* name) const {
    return dialog.findChild<Widget*>(QLatin1String(name));
  }

  DocumentFile file;
  Selection selection{file.document()};
  LiveBound bound{file.document()};
  ScheduleBook book{file, bound};
  MethodsPanel dialog;
};

/// The steps' loads, weighted by their times, are those of the whole schedule, and each step fills a link.
void checkLoadsOfSteps(const ScheduleResult& result) {
  std::vector<Bandwidth> sums(result.loads.size());
  for (std::int32_t step = 0; step < result.stepSchedule()->stepCount; ++step) {
    const auto loads = arcLoadsInStep(*result.fabric, *result.stepSchedule(), *result.cost, step);
    const Rational share = result.cost->stepLoads[static_cast<std::size_t>(step)].time / result.cost->timePerByte;
    bool isFull = false;
    for (std::size_t arc = 0; arc < loads.size(); ++arc) {
      sums[arc] += loads[arc].rate * share;
      isFull = isFull || loads[arc].rate == loads[arc].bandwidth;
      QVERIFY(loads[arc].rate <= loads[arc].bandwidth);
    }
    QVERIFY(isFull);
  }
  for (std::size_t arc = 0; arc < sums.size(); ++arc) {
    QCOMPARE(sums[arc], result.loads[arc].rate);
  }
}

}  // namespace

class TestDesignerMethods : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void appearsWithItsOptions() {
    Fixture fixture;
    auto* method = fixture.child<QComboBox>("generateMethod");
    for (const workflow::Method& each : workflow::methods()) {
      QVERIFY2(method->findData(QString::fromStdString(each.id)) >= 0, each.id.c_str());
      QVERIFY2(each.description.ends_with('.') && !each.description.ends_with(".."), each.description.c_str());
    }
    QCOMPARE(method->currentData().toString(), QLatin1String(workflow::kDefaultMethod));
    for (const workflow::Method& each : workflow::methods()) {
      method->setCurrentIndex(method->findData(QString::fromStdString(each.id)));
      for (const workflow::Option& option : each.options) {
        const std::string name = "option-" + option.name;
        const auto* field = fixture.child<QWidget>(name.c_str());
        QVERIFY2(field != nullptr, name.c_str());
        QCOMPARE(field->isVisibleTo(&fixture.dialog), option.appliesTo(Collective::allgather));
      }
    }
  }

  /// Of ForestColl's ways to choose the number of trees one holds, and shards of a gather have no trees.
  void choicesExcludeEachOther() {
    Fixture fixture;
    auto* fixed = fixture.child<QRadioButton>("set-k");
    auto* loss = fixture.child<QRadioButton>("set-within");
    QVERIFY(fixture.child<QRadioButton>("otherwise-k")->isChecked());
    fixed->click();
    fixture.child<QSpinBox>("option-k")->setValue(5);
    QVERIFY(fixture.dialog.options().methodOptions == (workflow::Values{{"k", "5"}}));
    loss->click();
    QVERIFY(!fixed->isChecked() && !fixture.child<QSpinBox>("option-k")->isEnabled());
    QVERIFY(fixture.dialog.options().methodOptions == (workflow::Values{{"within", "1%"}}));
    Question question = fixture.bound.question();
    question.collective = Collective::gather;
    fixture.bound.setQuestion(question);
    fixture.dialog.show();
    QVERIFY(fixture.dialog.options().methodOptions.empty());
    QVERIFY(!loss->isVisible());
  }

  void optionsAreValues() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"TACCL"_s);
    QVERIFY(fixture.dialog.options().methodOptions.empty());
    fixture.child<QSpinBox>("option-search-time")->setValue(3);
    fixture.child<QComboBox>("option-search-engine")->setCurrentText(u"milp"_s);
    const workflow::Values expected{{"search-time", "3"}, {"search-engine", "milp"}};
    QCOMPARE(fixture.dialog.options().method, std::string("taccl"));
    QVERIFY(fixture.dialog.options().methodOptions == expected);
    // They are remembered with the document.
    QVERIFY(fixture.book.options().methodOptions == expected);
    fixture.child<QToolButton>("generateCopy")->click();
    const QString command = QGuiApplication::clipboard()->text();
    QVERIFY2(command.contains(u"--method taccl --search-engine milp --search-time 3"_s), qPrintable(command));
  }

  void generates() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"BFB"_s);
    fixture.child<QCheckBox>("option-through-switches")->setChecked(true);
    fixture.child<QCheckBox>("option-trees")->setChecked(true);
    fixture.child<QPushButton>("generateButton")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.book.isRunning(), kLong);
    QVERIFY2(fixture.book.failure().isEmpty(), qPrintable(fixture.book.failure()));
    QVERIFY(fixture.book.current() != nullptr);
    const ScheduleResultPtr& result = fixture.book.current()->result;
    QVERIFY(result->forests() != nullptr && result->bound && result->algbw <= *result->bound);
    QVERIFY(result->verdict.ok);
    QVERIFY(fixture.book.current()->name.contains(u"BFB"_s));
    // Kept in the file with its options.
    QTemporaryDir folder;
    const QString path = folder.filePath(u"a.forest.json"_s);
    QVERIFY(saveSchedule(path, *result));
    const auto loaded = loadSchedule(path, {});
    QVERIFY2(loaded, loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY((*loaded)->options == result->options);
  }

  void schedulesOfSteps() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"Ring"_s);
    QVERIFY(!fixture.child<QLabel>("generateMethodText")->text().isEmpty());
    fixture.child<QPushButton>("generateButton")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.book.isRunning(), kLong);
    QVERIFY2(fixture.book.failure().isEmpty(), qPrintable(fixture.book.failure()));
    QVERIFY(fixture.book.current() != nullptr);
    const ScheduleResultPtr result = fixture.book.current()->result;
    const schedule::StepSchedule* steps = result->stepSchedule();
    QVERIFY(steps != nullptr && result->forests() == nullptr && result->forest(1) == nullptr);
    QVERIFY(result->cost && result->cost->steps == 31 && steps->stepCount == 31);
    QCOMPARE(result->algbw, result->cost->algbw);
    QVERIFY(result->bound && result->algbw < *result->bound && !result->meetsBound);
    QCOMPARE(result->shareOfBound(), percentOf(result->algbw, *result->bound));
    QVERIFY(result->sizeText().startsWith(QString::number(steps->transfers.size())));
    checkLoadsOfSteps(*result);
    // Kept in a file of its own kind.
    QCOMPARE(fileSuffix(*result), u".schedule.json"_s);
    QCOMPARE(fileSuffix(fixture.dialog.options()), u".schedule.json"_s);
    QTemporaryDir folder;
    const QString path = folder.filePath(u"a.schedule.json"_s);
    QVERIFY(saveSchedule(path, *result));
    const auto loaded = loadSchedule(path, {});
    QVERIFY2(loaded, loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY((*loaded)->options == result->options);
    QVERIFY(*(*loaded)->stepSchedule() == *steps);
    QCOMPARE(*(*loaded)->bound, *result->bound);
    // The same again is not a second schedule.
    fixture.child<QPushButton>("generateButton")->click();
    QTRY_VERIFY_WITH_TIMEOUT(!fixture.book.isRunning(), kLong);
    QCOMPARE(fixture.book.entries().size(), std::size_t(1));
  }

  void transfersAreFiltered() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "ring";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    TransferPanel panel;
    panel.setResult(*made);
    TransferModel& model = panel.model();
    const auto all = static_cast<int>((*made)->stepSchedule()->transfers.size());
    QCOMPARE(model.rowCount(), all);
    const FabricMap map(**made, fixture.file.document().model());
    QVERIFY(transferMarks(model, {}, map, {}).empty());
    // A step of a ring: one transfer to each GPU.
    panel.setStep(4);
    QCOMPARE(model.rowCount(), 32);
    QCOMPARE(model.index(0, TransferModel::kStep).data().toString(), u"5"_s);
    std::vector<TreeMark> marks = transferMarks(model, {}, map, u" !"_s);
    QCOMPARE(marks.size(), std::size_t(1));
    QCOMPARE(marks.front().label, u"Step 5 (32) !"_s);
    QVERIFY(!marks.front().paths.empty() && !marks.front().paths.front().empty());
    // One shard visits every other GPU.
    panel.setStep({});
    panel.findChild<QComboBox*>(u"transferShard"_s)->setCurrentIndex(1);
    QCOMPARE(model.rowCount(), 31);
    for (int row = 0; row < model.rowCount(); ++row) {
      QCOMPARE(model.index(row, TransferModel::kData).data().toString(), model.nameOfShard(0));
    }
    panel.findChild<QLineEdit*>(u"transferSearch"_s)->setText(model.gpuName(3));
    QVERIFY(model.rowCount() >= 1 && model.rowCount() < 31);
    panel.clearChoice();
    panel.findChild<QLineEdit*>(u"transferSearch"_s)->clear();
    QCOMPARE(model.rowCount(), all);
    // Chosen rows are drawn alone.
    panel.table().selectRow(7);
    QCOMPARE(panel.chosenTransfers(), std::vector<std::size_t>{7});
    marks = transferMarks(model, panel.chosenTransfers(), map, {});
    QCOMPARE(marks.size(), std::size_t(1));
    QCOMPARE(marks.front().paths.size(), std::size_t(1));
    panel.setResult(nullptr);
    QCOMPARE(model.rowCount(), 0);
  }

  void stepsPlay() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "recursive-doubling";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    TransferPanel panel;
    panel.setResult(*made);
    panel.findChild<QToolButton*>(u"transferPlay"_s)->click();
    QVERIFY(panel.step() == 0);
    QTRY_VERIFY_WITH_TIMEOUT(panel.step() == (*made)->stepSchedule()->stepCount - 1, kLong);
    panel.findChild<QToolButton*>(u"transferPrevious"_s)->click();
    QVERIFY(panel.step() == (*made)->stepSchedule()->stepCount - 2);
  }

  void comparison() {
    Fixture fixture;
    std::vector<ComparedSchedule> schedules;
    for (const char* method : {"forestcoll", "ring", "recursive-doubling"}) {
      ScheduleOptions options;
      options.method = method;
      const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
      QVERIFY2(made, made ? "" : describe(made.error()).c_str());
      schedules.push_back({static_cast<int>(schedules.size()) + 1, QString::fromLatin1(method), *made});
    }
    ComparePanel panel;
    panel.resize(900, 260);
    panel.setSchedules(schedules, 2);
    // Nothing is simulated while nobody looks.
    coppice::waiting::settle();
    QVERIFY(!panel.isSettled());
    QVERIFY(panel.predictionOf(0) == nullptr);
    panel.show();
    QTRY_VERIFY_WITH_TIMEOUT(panel.isSettled(), kLong);
    QCOMPARE(panel.table().rowCount(), 3);
    QCOMPARE(panel.table().currentRow(), 1);
    for (std::size_t row = 0; row < schedules.size(); ++row) {
      const Prediction* prediction = panel.predictionOf(static_cast<int>(row));
      QVERIFY2(prediction->problem.isEmpty(), qPrintable(prediction->problem));
      QCOMPARE(prediction->rows.size(), comparedSizes().size());
      for (const simulate::Row& each : prediction->rows) {
        QVERIFY(each.algbw.gigabytesPerSecond() <= toGBps(schedules[row].result->algbw) * (1 + 1e-9));
      }
    }
    // Few steps win where latency counts, the optimum where bandwidth does.
    QVERIFY2(panel.fastestSizes(2).startsWith(u"1 KiB"_s), qPrintable(panel.fastestSizes(2)));
    QVERIFY2(panel.fastestSizes(0).contains(u"from "_s), qPrintable(panel.fastestSizes(0)));
    QCOMPARE(panel.chart().csv().count(u'\n'), static_cast<qsizetype>(1 + 3 * comparedSizes().size()));
    QSignalSpy chosen(&panel, &ComparePanel::chosen);
    panel.table().selectRow(2);
    QCOMPARE(chosen.size(), 1);
    QCOMPARE(chosen.front().front().toInt(), 3);
    // What stays is not simulated again.
    schedules.erase(schedules.begin());
    panel.setSchedules(schedules, 2);
    QVERIFY(panel.isSettled());
    QVERIFY(panel.fastestSizes(0).contains(u"1 GiB"_s) || panel.fastestSizes(0).contains(u"from "_s) ||
            panel.fastestSizes(1) == u"all sizes"_s);
  }

  void playback_data() {
    QTest::addColumn<QString>("method");
    QTest::addColumn<int>("collective");
    QTest::newRow("forest") << u"forestcoll"_s << static_cast<int>(Collective::allgather);
    QTest::newRow("forest in two phases") << u"forestcoll"_s << static_cast<int>(Collective::allreduce);
    QTest::newRow("steps") << u"recursive-doubling"_s << static_cast<int>(Collective::allgather);
    QTest::newRow("without steps") << u"double-binary-tree"_s << static_cast<int>(Collective::allreduce);
  }

  void playback() {
    QFETCH(const QString, method);
    QFETCH(const int, collective);
    Fixture fixture;
    ScheduleOptions options;
    options.method = method.toStdString();
    options.collective = static_cast<Collective>(collective);
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    constexpr std::int64_t kBytes = 1 << 20;
    const auto recorded = Playback::record(*made, kBytes, {});
    QVERIFY2(recorded, recorded ? "" : describe(recorded.error()).c_str());
    const Playback& run = **recorded;
    QVERIFY(run.messageCount() > 0 && !run.criticalTimes().empty());
    QVERIFY(std::abs(run.duration() - run.row().time.count() * 1000) < 1e-3 * run.duration());
    double last = 0;
    double moved = 0;
    for (std::size_t at = 0; at < run.messageCount(); ++at) {
      const Playback::Message message = run.messageAt(at);
      QVERIFY(at == 0 || run.messageAt(at - 1).begin <= message.begin);
      QVERIFY(message.begin <= message.end && message.end <= message.arrived);
      last = std::max(last, message.arrived);
      moved += message.end - message.begin;
    }
    QVERIFY(moved > 0);
    QVERIFY(std::abs(last - run.duration()) < 1e-3 * run.duration());
    const FabricMap map(**made, fixture.file.document().model());
    QVERIFY(run.motionAt(run.duration() * 2, map).isEmpty());
    bool hasMoved = false;
    constexpr int kMoments = 40;
    for (int moment = 0; moment < kMoments; ++moment) {
      const Motion motion = run.motionAt(run.duration() * moment / kMoments, map);
      hasMoved = hasMoved || (!motion.flows.empty() && !motion.pieces.empty());
      for (const Motion::Flow& flow : motion.flows) {
        QVERIFY(flow.step.link.isValid() && flow.share > 0 && flow.share <= 1);
      }
      for (const Motion::Piece& piece : motion.pieces) {
        QVERIFY(piece.at >= 0 && piece.at <= 1);
      }
    }
    QVERIFY(hasMoved);
    // GPUs fill from nothing to all; where pieces are added up, they are seen to be.
    std::map<NodeId, double> shares;
    bool hasMerged = false;
    for (int moment = 0; moment <= kMoments; ++moment) {
      const Motion motion = run.motionAt(run.duration() * moment / kMoments, map);
      for (const Motion::Arrival& arrival : motion.arrivals) {
        QVERIFY(arrival.share >= shares[arrival.gpu] && arrival.share <= 1);
        shares[arrival.gpu] = arrival.share;
        hasMerged = hasMerged || arrival.merging > 0;
      }
    }
    QVERIFY(!shares.empty());
    for (const auto& [gpu, share] : shares) {
      QCOMPARE(share, 1.0);
    }
    const auto kind = static_cast<Collective>(collective);
    QCOMPARE(hasMerged, kind == Collective::allreduce || kind == Collective::reduceScatter);
    for (const double share : {0.1, 0.5, 0.9}) {
      const double time = run.duration() * share;
      QCOMPARE(run.activeCount(time), static_cast<std::int64_t>(run.activeAt(time, run.messageCount()).size()));
    }
    std::size_t inParts = 0;
    for (const TimelineLane& lane : run.lanes(Playback::LaneKind::parts)) {
      inParts += lane.bars.size();
    }
    QCOMPARE(inParts, run.messageCount());
    // Every message lies in one lane of its sender, and in one of each of its links.
    std::size_t bars = 0;
    bool hasCritical = false;
    for (const TimelineLane& lane : run.lanes(Playback::LaneKind::gpus)) {
      bars += lane.bars.size();
      for (const TimelineBar& bar : lane.bars) {
        hasCritical = hasCritical || bar.isCritical;
      }
    }
    QCOMPARE(bars, run.messageCount());
    QVERIFY(hasCritical);
    QVERIFY(!run.lanes(Playback::LaneKind::links).empty());
    // By shard there are other colours than by tree or step, where a message is of one shard.
    std::set<int> colors;
    for (const TimelineLane& lane : run.lanes(Playback::LaneKind::gpus, Playback::ColorBy::shards)) {
      for (const TimelineBar& bar : lane.bars) {
        colors.insert(bar.category);
      }
    }
    QVERIFY(!colors.empty() && *colors.rbegin() < (*made)->fabric->gpuCount());
    QVERIFY(run.describe(0).contains(u" → "_s));
    QVERIFY(run.describeRange(0, run.duration()).contains(u" sent"_s));
  }

  /// The run of the program has a lane for each threadblock that sends.
  void threadblocks() {
    Fixture fixture;
    const auto made = makeSchedule(*fixture.file.document().facts(), {}, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const auto run = Playback::record(*made, 1 << 20, {}, Playback::Played::program);
    QVERIFY2(run, run ? "" : describe(run.error()).c_str());
    const auto program = workflow::executedProgram(*(*made)->fabric, (*made)->schedule, true, {});
    QVERIFY(program);
    std::size_t senders = 0;
    for (const program::RankProgram& rank : program->ranks) {
      senders += static_cast<std::size_t>(
          std::count_if(rank.threadBlocks.begin(), rank.threadBlocks.end(), [](const program::ThreadBlock& block) {
            return std::any_of(block.steps.begin(), block.steps.end(),
                               [](const program::Step& step) { return program::sends(step.type); });
          }));
    }
    const std::vector<TimelineLane> lanes = (*run)->lanes(Playback::LaneKind::blocks);
    QCOMPARE(lanes.size(), senders);
    QVERIFY(lanes.front().name.contains(u" · tb "_s));
    // One after another: a threadblock does one thing at a time.
    for (const TimelineLane& lane : lanes) {
      for (std::size_t at = 1; at < lane.bars.size(); ++at) {
        QVERIFY(lane.bars[at].begin >= lane.bars[at - 1].end - 1e-6);
      }
    }
    TimelineView view;
    view.setLanes(lanes, (*run)->duration());
    QCOMPARE(view.pathLength(), (*run)->criticalTimes().size());
    TimelinePanel panel;
    panel.setResult(*made);
    panel.show();
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() != nullptr, kLong);
    auto* const kinds = panel.findChild<QComboBox*>(u"timelineLanes"_s);
    kinds->setCurrentIndex(kinds->findText(u"Threadblocks"_s));
    QTRY_COMPARE_WITH_TIMEOUT(static_cast<std::size_t>(panel.view().laneCount()), senders, kLong);
    kinds->setCurrentIndex(0);
    QTRY_VERIFY_WITH_TIMEOUT(
        panel.playback() && panel.view().laneCount() > 0 && !panel.view().lanes().front().name.contains(u" · tb "_s),
        kLong);
  }

  void timelinePlays() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "recursive-doubling";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    TimelinePanel panel;
    panel.resize(900, 240);
    panel.setResult(*made);
    QVERIFY(panel.playback() == nullptr);
    panel.show();
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() != nullptr, kLong);
    QVERIFY(!panel.time());
    QVERIFY(panel.view().laneCount() > 0);
    panel.findChild<QComboBox*>(u"timelineLanes"_s)->setCurrentIndex(1);
    QTRY_COMPARE_WITH_TIMEOUT(panel.view().laneCount(), 32, kLong);
    // Along the critical path, there and back.
    panel.stepCritical(1);
    QVERIFY(panel.time() == panel.playback()->criticalTimes().front());
    panel.stepCritical(1);
    QVERIFY(*panel.time() > panel.playback()->criticalTimes().front());
    panel.stepCritical(-1);
    QVERIFY(panel.time() == panel.playback()->criticalTimes().front());
    panel.findChild<QComboBox*>(u"timelineSpeed"_s)->setCurrentIndex(4);
    panel.setPlaying(true);
    QVERIFY(panel.isPlaying());
    QTRY_VERIFY_WITH_TIMEOUT(!panel.isPlaying(), kLong);
    QVERIFY(panel.time() == panel.playback()->duration());
    // Another size is another run.
    const double before = panel.playback()->duration();
    panel.setBytes(1 << 10);
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() != nullptr, kLong);
    QVERIFY(panel.playback()->duration() < before);
    QVERIFY(!panel.time());
    panel.setTime(10);
    QVERIFY(panel.time().has_value());
    // The drawing plays it also while the lanes cannot be seen; what is not known yet is simulated for that.
    panel.hide();
    QVERIFY(panel.time().has_value());
    panel.setBytes(2 << 10);
    QVERIFY(panel.playback() == nullptr && !panel.isRecording());
    panel.setPlaying(true);
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() != nullptr && panel.isPlaying(), kLong);
  }

  /// Timeline, loads and every frame of the drawing leave the window's thread free, also at 512 GPUs.
  void windowStaysFree() {
    DocumentFile file;
    file.adopt(readModel(*presets::make("dgx-a100", {{"boxes", "64"}})).model, {});
    ScheduleOptions options;
    options.method = "recursive-doubling";
    const auto made = makeSchedule(*file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const ScheduleResultPtr& result = *made;
    const double limit = coppice::test::longestTurn();
    test::WindowTurns turns;
    TimelinePanel timeline;
    timeline.resize(1200, 260);
    timeline.show();
    const double taken = turns.longest([&] { timeline.setResult(result); },
                                       [&] { return timeline.playback() && timeline.view().laneCount() > 0; });
    QVERIFY2(taken < limit, qPrintable(u"timeline: %1 ms"_s.arg(taken)));
    const double drawn = turns.longest([&] { timeline.grab(); }, [] { return true; });
    QVERIFY2(drawn < limit, qPrintable(u"timeline drawn: %1 ms"_s.arg(drawn)));
    LoadsPanel loads;
    loads.resize(500, 600);
    loads.show();
    const auto list = [&] {
      loads.setResult(result);
      loads.grab();
    };
    const double listed = turns.longest(list, [] { return true; });
    QVERIFY2(listed < limit, qPrintable(u"loads: %1 ms"_s.arg(listed)));
    const FabricMap map(*result, file.document().model());
    const Playback& run = *timeline.playback();
    double slowest = 0;
    constexpr int kMoments = 20;
    for (int moment = 0; moment < kMoments; ++moment) {
      const auto move = [&] { (void)run.motionAt(run.duration() * moment / kMoments, map); };
      slowest = std::max(slowest, turns.longest(move, [] { return true; }));
    }
    QVERIFY2(slowest < limit, qPrintable(u"a frame: %1 ms"_s.arg(slowest)));
  }

  /// A recorded run and the simulation of what was run share the timeline's clock; the slow rank leads the list.
  void planAndRun() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "ring";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const ScheduleResultPtr& result = *made;
    const auto program = workflow::executedProgram(*result->fabric, result->schedule, true, {});
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    constexpr int kSlow = 5;
    const auto events = test::recordedEvents(
        *program, [](const program::StepPlace& place) { return place.rank == kSlow ? 90'000 : 3'000; });
    std::string records = program::writeRecord(program::ResultRecord{.size = 1 << 20, .time_us = 500, .algbw_GBps = 2});
    for (std::size_t at = 0; at < events.size(); at += program::kMaxTraceEvents) {
      const std::size_t end = std::min(events.size(), at + program::kMaxTraceEvents);
      records +=
          program::writeRecord(program::TraceRecord{.size = 1 << 20,
                                                    .inPlace = true,
                                                    .events = {events.begin() + static_cast<std::ptrdiff_t>(at),
                                                               events.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
    MeasuredPanel panel;
    TimelinePanel timeline;
    panel.resize(1000, 260);
    timeline.resize(1000, 260);
    panel.setResult(result);
    timeline.setResult(result);
    panel.show();
    timeline.show();
    QTRY_VERIFY_WITH_TIMEOUT(timeline.playback() != nullptr, kLong);
    const int lanes = timeline.view().laneCount();
    panel.take({.id = {}, .title = u"records"_s, .records = {}, .schedule = {}, .text = records});
    QTRY_VERIFY_WITH_TIMEOUT(panel.comparison() != nullptr, kLong);
    const RunComparison& comparison = *panel.comparison();
    QVERIFY2(comparison.problem.isEmpty(), qPrintable(comparison.problem));
    QVERIFY(comparison.planned && comparison.measured);
    QCOMPARE(comparison.parts.ranks.front().index, kSlow);
    QVERIFY(comparison.parts.measured > comparison.parts.planned);
    QCOMPARE(panel.chart().lineNames(), QStringList({u"predicted"_s, u"measured"_s, u"bound"_s}));
    QCOMPARE(panel.table().rowCount(), static_cast<int>(comparison.parts.links.size()));
    panel.findChild<QComboBox*>(u"measuredParts"_s)->setCurrentIndex(1);
    QVERIFY(panel.table().item(0, MeasuredPanel::kName)->text().startsWith(u"rank 5,"_s));
    QVERIFY(panel.table().item(0, MeasuredPanel::kLost)->text().startsWith(u'+'));
    panel.table().selectRow(0);
    QVERIFY(panel.chosen() && panel.chosen()->index == kSlow);
    QVERIFY(panel.csv().contains(u"planned_us"_s) && panel.csv().contains(u"1048576,"_s));
    timeline.setRuns(comparison.planned, comparison.measured);
    QVERIFY(timeline.hasMeasured());
    QTRY_VERIFY_WITH_TIMEOUT(timeline.view().laneCount() >= lanes, kLong);
    QCOMPARE(timeline.view().laneCount() % 2, 0);
    QVERIFY(timeline.view().end() >= comparison.measured->duration());
    for (const TimelineLane& lane : timeline.view().lanes()) {
      QVERIFY(lane.source == 0 || lane.name == u"measured"_s);
    }
    // Either of them can be played; the clock runs to the end of the longer one.
    QVERIFY(timeline.playback() == comparison.planned);
    timeline.findChild<QComboBox*>(u"timelineWhich"_s)->setCurrentIndex(1);
    QVERIFY(timeline.playback() == comparison.measured);
    timeline.setTime(comparison.measured->duration() / 2);
    QVERIFY(timeline.time().has_value());
    timeline.setRuns(nullptr, nullptr);
    QTRY_COMPARE_WITH_TIMEOUT(timeline.view().laneCount(), lanes, kLong);
    QVERIFY(!timeline.hasMeasured());
    // A table has no trace, and a broken one names its line.
    panel.take({.id = {},
                .title = u"table"_s,
                .records = {},
                .schedule = {},
                .text = "1048576 65536 float none -1 35 29.8 27.9 0\n"});
    QTRY_VERIFY_WITH_TIMEOUT(panel.comparison() && panel.comparison()->source.title == u"table"_s, kLong);
    QVERIFY(panel.comparison()->problem.isEmpty() && !panel.comparison()->measured);
    QCOMPARE(panel.table().rowCount(), 0);
    panel.take({.id = {},
                .title = u"broken"_s,
                .records = {},
                .schedule = {},
                .text = "1048576 65536 float none -1 35.1 x 27.9 0\n"});
    QTRY_VERIFY_WITH_TIMEOUT(panel.comparison() && panel.comparison()->source.title == u"broken"_s, kLong);
    QVERIFY(panel.findChild<QLabel*>(u"measuredText"_s)->text().contains(u"column 7"_s));
  }

  /// Measured latencies replace the defaults for every simulation of that fabric, and can be taken back.
  void measuredProfile() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "ring";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const ScheduleResultPtr& result = *made;
    const auto duration = [&] { return (*Playback::record(result, 1 << 16, {}))->duration(); };
    const double before = duration();
    std::vector<simulate::PairFit> pairs;
    for (int from = 0; from < result->fabric->gpuCount(); ++from) {
      for (int to = 0; to < result->fabric->gpuCount(); ++to) {
        if (from != to) {
          pairs.push_back({from, to, Microseconds(100), Throughput(1)});
        }
      }
    }
    const auto fits = simulate::fitsFor(*result->fabric, pairs);
    QVERIFY(fits);
    SimulationSettings& settings = SimulationSettings::instance();
    TimelinePanel panel;
    panel.resize(900, 240);
    panel.setResult(result);
    panel.show();
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() != nullptr, kLong);
    const double shown = panel.playback()->duration();
    settings.setProfile(result->fabricDigest(), u"p.json"_s, *fits);
    QCOMPARE(settings.profileOf(result->fabricDigest()), u"p.json"_s);
    QVERIFY(duration() > before + 100'000);
    QTRY_VERIFY_WITH_TIMEOUT(panel.playback() && panel.playback()->duration() > shown, kLong);
    settings.clearProfile(result->fabricDigest());
    QCOMPARE(duration(), before);
  }

  void exported() {
    Fixture fixture;
    ScheduleOptions options;
    options.method = "ring";
    const auto made = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const ExportCheck check = checkExport(**made, {}, {});
    QVERIFY2(check.isOk, qPrintable(check.summary));
    QVERIFY(!check.xml.empty());
    // Chunks that are asked for are what the program has.
    lowering::Options cut;
    cut.chunks = 4;
    const ExportCheck inChunks = checkExport(**made, cut, {});
    QVERIFY2(inChunks.isOk, qPrintable(inChunks.summary));
    QCOMPARE(inChunks.facts.chunksPerLoop, 4 * 32);
    QVERIFY(exportCommand(u"a.schedule.json"_s, cut, u"a.xml"_s).contains(u"--chunks 4"_s));
  }

  void collectiveThatItDoesNotMake() {
    Fixture fixture;
    fixture.child<QComboBox>("generateMethod")->setCurrentText(u"BFB"_s);
    QVERIFY(fixture.child<QPushButton>("generateButton")->isEnabled());
    fixture.dialog.show();
    fixture.bound.setQuestion({.collective = Collective::alltoall});
    // Another takes its place, and it cannot be chosen, with the reason.
    auto* method = fixture.child<QComboBox>("generateMethod");
    QTRY_COMPARE_WITH_TIMEOUT(method->currentData().toString(), u"alltoall"_s, kLong);
    QVERIFY(fixture.child<QPushButton>("generateButton")->isEnabled());
    const QModelIndex bfb = method->model()->index(method->findData(u"bfb"_s), 0);
    QVERIFY(!bfb.flags().testFlag(Qt::ItemIsEnabled));
    QVERIFY2(bfb.data().toString().contains(u"not for AllToAll"_s), qPrintable(bfb.data().toString()));
    QVERIFY(bfb.data(Qt::ToolTipRole).toString().contains(u"BFB does not support"_s));
    // It comes back with what it can do.
    fixture.bound.setQuestion({.collective = Collective::allgather});
    QTRY_COMPARE_WITH_TIMEOUT(method->currentData().toString(), u"bfb"_s, kLong);
    QVERIFY(method->model()->index(method->findData(u"bfb"_s), 0).flags().testFlag(Qt::ItemIsEnabled));
    ScheduleOptions options = fixture.dialog.options();
    options.collective = Collective::alltoall;
    const auto refused = makeSchedule(*fixture.file.document().facts(), options, {});
    QVERIFY(!refused);
    QVERIFY2(QString::fromStdString(refused.error().message).contains(u"BFB does not support alltoall"_s),
             refused.error().message.c_str());
  }
};

QTEST_MAIN(TestDesignerMethods)
#include "tst_designer_methods.moc"
