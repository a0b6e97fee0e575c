// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeWidget>
#include <functional>

#include "coppice/test_paths.hpp"
#include "designer/answers.hpp"
#include "designer/document/exchange.hpp"
#include "designer/export/export_check.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/program/program_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/test_application.hpp"
#include "designer/theme/theme.hpp"
#include "designer/trees/tree_panel.hpp"
#include "designer/window/main_window.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "support/sample_programs.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace coppice::program;
using namespace coppice::samples;
using namespace Qt::StringLiterals;

namespace {

constexpr int kLong = 60000;

/// Two ranks that both receive before they send.
Program stuck() {
  return with(ringAllgather(2, 1, true), [](Program& program) {
    for (RankProgram& rank : program.ranks) {
      std::swap(rank.threadBlocks[0].steps[0], rank.threadBlocks[0].steps[1]);
    }
  });
}
/// Rank 1 forgets to add its own.
Program wrong() {
  return with(chainAllreduce(4, 2),
              [](Program& program) { program.ranks[1].threadBlocks[0].steps[1].type = StepType::recv; });
}

struct Fixture {
  Fixture() {
    auto owned = std::make_unique<Answers>();
    answers = owned.get();
    window =
        std::make_unique<MainWindow>(WindowOptions{.recoveryFolder = {}, .keepsSettings = false}, std::move(owned));
    window->show();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
    panel = window->findChild<ProgramPanel*>(u"programPanel"_s);
  }
  [[nodiscard]] QString write(const std::string& xml, const char* name = "program.xml") const {
    QString path = dir.filePath(QLatin1String(name));
    return io::saveFile(path.toStdString(), xml) ? path : QString();
  }
  [[nodiscard]] bool open(const Program& program) const { return open(writeMscclXml(program, Runtime::msccl)); }
  [[nodiscard]] bool open(const std::string& xml) const {
    QSignalSpy read(panel, &ProgramPanel::readingChanged);
    window->files().openFile(write(xml));
    return read.wait(kLong) || !read.isEmpty();
  }
  template <typename Widget>
  [[nodiscard]] Widget* child(const char* name) const {
    return panel->findChild<Widget*>(QLatin1String(name));
  }

  QTemporaryDir dir;
  Answers* answers;
  std::unique_ptr<MainWindow> window;
  ProgramPanel* panel;
};

QString textOf(const StepModel& model, const QModelIndex& index, int column) {
  return model.data(index.siblingAtColumn(column)).toString();
}

}  // namespace

class TestDesignerProgram : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void opensWithoutAFabric();
  void opensBesideADocument();
  void programsBelongToTheirDocument();
  void filesAreClosed();
  void filesComeBack();
  void droppedOnTheWindow();
  void stepsOfAProgram();
  void oneRankAlone();
  void waitsBothWays();
  void buffersAtAStep();
  void threadblocksOfARank();
  void aDeadlockIsNamedAtOnce();
  void aWrongResultIsTraced();
  void limitsOfEachRuntime();
  void madeForEachRuntime();
  void plansOfAnotherTarget();
  void unreadableFiles();
  void stoppedWhileReading();
  void treesAndTheirSteps_data();
  void treesAndTheirSteps();
  void pictures();
};

void TestDesignerProgram::initTestCase() {
  QVERIFY(useLightFusion());
  QCoreApplication::setOrganizationName(u"coppice-test"_s);
  QCoreApplication::setApplicationName(u"coppice-program-%1"_s.arg(QCoreApplication::applicationPid()));
}

void TestDesignerProgram::opensWithoutAFabric() {
  Fixture f;
  QVERIFY(f.window->workspace().contexts().empty());
  QVERIFY(!f.panel->isVisible());
  QVERIFY(f.open(chainAllreduce(4, 2)));
  QVERIFY(f.panel->isVisible());
  QVERIFY2(f.panel->isOk(), qPrintable(f.panel->verdict()));
  QVERIFY(f.panel->verdict().contains(u"AllReduce"_s));
  QVERIFY(f.panel->facts().contains(u"4 ranks"_s));
  QVERIFY(f.panel->finding().isEmpty());
  QVERIFY(f.window->workspace().contexts().empty());
  QVERIFY(f.answers->failures.isEmpty());
  // It has most of the window, since there is nothing else.
  QVERIFY(f.panel->height() > f.window->height() / 2);
}

void TestDesignerProgram::opensBesideADocument() {
  Fixture f;
  f.window->workspace().newDocument();
  QVERIFY(f.open(ringAllgather(3, 1, true)));
  QCOMPARE(f.window->workspace().contexts().size(), 1U);
  QCOMPARE(f.window->workspace().mode(), Mode::schedule);
  QVERIFY(f.panel->isVisible());
  // The command brings it back from another mode.
  f.window->workspace().setMode(Mode::draw);
  QVERIFY(!f.panel->isVisible());
  f.window->actions()[u"schedule.program"_s]->trigger();
  QTRY_VERIFY_WITH_TIMEOUT(f.panel->isVisible(), coppice::waiting::kPatience);
  QVERIFY(f.panel->reading() != nullptr);
}

/// A file stays with the document that it was opened under; a schedule has its own program, without asking.
void TestDesignerProgram::programsBelongToTheirDocument() {
  const Fixture f;
  const EditorContext* first = f.window->workspace().newDocument();
  QVERIFY(f.open(ringAllgather(2, 1, true)));
  QVERIFY(f.panel->reading());
  EditorContext* second =
      f.window->workspace().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "1"}})).model, {}, u"one box"_s);
  QVERIFY(!f.panel->reading() && !f.panel->isReading());
  f.window->actions()[u"view.program"_s]->trigger();
  f.window->actions()[u"schedule.generate"_s]->trigger();
  QVERIFY(QTest::qWaitFor([&] { return f.panel->reading() != nullptr; }, kLong));
  QCOMPARE(f.panel->reading()->program().ranks.size(), std::size_t{8});
  f.window->workspace().activate(f.window->workspace().contexts().front());
  QCOMPARE(f.window->workspace().current(), first);
  QVERIFY(QTest::qWaitFor([&] { return f.panel->reading() != nullptr; }, kLong));
  QCOMPARE(f.panel->reading()->program().ranks.size(), std::size_t{2});
  f.window->workspace().activate(second);
  QVERIFY(QTest::qWaitFor(
      [&] { return f.panel->reading() != nullptr && f.panel->reading()->program().ranks.size() == 8; }, kLong));
}

/// A file that was opened alone goes to the document that is opened next, and can be closed there.
void TestDesignerProgram::filesAreClosed() {
  const Fixture f;
  auto* close = f.child<QToolButton>("programClose");
  QVERIFY(f.open(ringAllgather(8, 1, true)));
  QVERIFY(close->isVisibleTo(f.panel));
  f.window->workspace().adopt(readModel(*presets::make("dgx-a100", {{"boxes", "1"}})).model, {}, u"one box"_s);
  QVERIFY(QTest::qWaitFor([&] { return f.panel->reading() != nullptr; }, kLong));
  QVERIFY(f.panel->reading()->path.endsWith(u"program.xml"_s));
  f.window->actions()[u"schedule.generate"_s]->trigger();
  QVERIFY(QTest::qWaitFor(
      [&] {
        return f.child<QToolButton>("programOfSchedule")->isEnabled() && f.panel->reading() && !f.panel->isReading();
      },
      kLong));
  // The file stays; once it is closed, the program of the schedule takes its place.
  QVERIFY(f.panel->reading()->path.endsWith(u"program.xml"_s));
  f.window->actions()[u"schedule.program"_s]->trigger();
  close->click();
  QVERIFY(QTest::qWaitFor([&] { return f.panel->reading() && !f.panel->reading()->path.endsWith(u"program.xml"_s); },
                          kLong));
  QVERIFY(!close->isVisibleTo(f.panel));
}

void TestDesignerProgram::filesComeBack() {
  const QTemporaryDir dir;
  const QString fabric = dir.filePath(u"a.fabric.json"_s);
  const QString beside = dir.filePath(u"beside.xml"_s);
  const QString alone = dir.filePath(u"alone.xml"_s);
  QVERIFY(QFile::copy(QStringLiteral(COPPICE_EXAMPLES "/fig-4-5.fabric.json"), fabric));
  QVERIFY(io::saveFile(beside.toStdString(), writeMscclXml(ringAllgather(3, 1, true), Runtime::msccl)));
  QVERIFY(io::saveFile(alone.toStdString(), writeMscclXml(ringAllgather(2, 1, true), Runtime::msccl)));
  const auto session = [&](const QStringList& files) {
    MainWindow window({.recoveryFolder = {}}, std::make_unique<Answers>());
    window.show();
    window.files().session().restore();
    window.files().openFiles(files);
    window.files().session().keep();
    const auto* panel = window.findChild<ProgramPanel*>(u"programPanel"_s);
    window.actions()[u"view.program"_s]->trigger();
    const bool isRead = QTest::qWaitFor([&] { return panel->reading() != nullptr && !panel->isReading(); }, kLong);
    return isRead ? static_cast<int>(panel->reading()->program().ranks.size()) : 0;
    // Not closed: destroyed.
  };
  QCOMPARE(session({alone}), 2);
  QCOMPARE(session({}), 2);
  QFile::remove(alone);
  QCOMPARE(session({fabric, beside}), 3);
  QCOMPARE(session({}), 3);
}

void TestDesignerProgram::droppedOnTheWindow() {
  Fixture f;
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(f.write(writeMscclXml(stuck(), Runtime::msccl)))});
  QSignalSpy read(f.panel, &ProgramPanel::readingChanged);
  QDragEnterEvent enter({200, 200}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(f.window.get(), &enter);
  QVERIFY(enter.isAccepted());
  QDropEvent drop(QPointF(200, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(f.window.get(), &drop);
  QVERIFY(read.wait(kLong));
  QVERIFY(f.panel->finding().contains(u"Deadlock"_s));
}

void TestDesignerProgram::stepsOfAProgram() {
  Fixture f;
  QAbstractItemModelTester tester(&f.panel->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
  QVERIFY(f.open(chainAllreduce(4, 2)));
  const StepModel& model = f.panel->model();
  QCOMPARE(model.rowCount(), 4);
  const QModelIndex rank = model.index(1, 0);
  QCOMPARE(textOf(model, rank, StepModel::kName), u"Rank 1"_s);
  QCOMPARE(model.rowCount(rank), 4);
  const QModelIndex block = model.index(1, 0, rank);
  QCOMPARE(textOf(model, block, StepModel::kSend), u"rank 2"_s);
  QCOMPARE(textOf(model, block, StepModel::kChannel), u"0"_s);
  const QModelIndex step = model.index(1, 0, block);
  QCOMPARE(model.placeAt(step), std::optional(StepPlace{1, 1, 1}));
  QCOMPARE(model.indexOf({1, 1, 1}), step);
  QCOMPARE(textOf(model, step, StepModel::kType), u"s"_s);
  QCOMPARE(textOf(model, step, StepModel::kSource), u"o[1]"_s);
  QCOMPARE(textOf(model, step, StepModel::kDestination), QString());
  QCOMPARE(textOf(model, step, StepModel::kWaits), u"threadblock 0, step 1"_s);
  QCOMPARE(textOf(model, step, StepModel::kCount), u"1"_s);
  QVERIFY(!model.placeAt(block));
  QVERIFY(!model.indexOf({1, 1, 9}).isValid());
}

void TestDesignerProgram::oneRankAlone() {
  Fixture f;
  QVERIFY(f.open(chainAllreduce(4, 2)));
  auto* ranks = f.child<QComboBox>("programRank");
  QCOMPARE(ranks->count(), 5);
  ranks->setCurrentIndex(3);
  const StepModel& model = f.panel->model();
  QCOMPARE(model.rowCount(), 1);
  QCOMPARE(textOf(model, model.index(0, 0), StepModel::kName), u"Rank 2"_s);
  QVERIFY(!model.indexOf({1, 0, 0}).isValid());
  // A step of another rank brings its rank.
  f.panel->choose({1, 0, 0});
  QCOMPARE(model.rank(), std::optional(1));
  QCOMPARE(f.child<QTreeView>("programSteps")->currentIndex(), model.indexOf({1, 0, 0}));
}

void TestDesignerProgram::waitsBothWays() {
  Fixture f;
  QVERIFY(f.open(chainAllreduce(4, 2)));
  f.panel->choose({1, 1, 1});
  const auto textsOf = [&](const char* name) {
    QStringList texts;
    const auto* list = f.child<QListWidget>(name);
    for (int row = 0; row < list->count(); ++row) {
      texts << list->item(row)->text();
    }
    return texts;
  };
  QCOMPARE(textsOf("programWaitsFor"), (QStringList{u"order  rank 1, threadblock 1, step 0 (s to rank 2)"_s,
                                                    u"flag  rank 1, threadblock 0, step 1 (rrc from rank 0)"_s}));
  QCOMPARE(textsOf("programReleases"), (QStringList{u"data  rank 2, threadblock 0, step 1 (rrc from rank 1)"_s}));
  // [ and ] walk, wherever the focus is in the dock.
  QWidget* tree = f.child<QTreeView>("programSteps");
  tree->setFocus();
  QTest::keyClick(tree, Qt::Key_BracketRight);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{2, 0, 1}));
  QTest::keyClick(tree, Qt::Key_BracketLeft);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 1, 1}));
  QTest::keyClick(tree, Qt::Key_BracketLeft);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 1}));
  // A click in a list goes there.
  auto* after = f.child<QListWidget>("programReleases");
  QCOMPARE(after->item(0)->text(), u"flag  rank 1, threadblock 1, step 1 (s to rank 2)"_s);
  Q_EMIT after->itemClicked(after->item(0));
  QTRY_COMPARE_WITH_TIMEOUT(f.panel->current(), std::optional(StepPlace{1, 1, 1}), coppice::waiting::kPatience);
}

void TestDesignerProgram::buffersAtAStep() {
  Fixture f;
  QVERIFY(f.open(ringAllreduce(3, false)));
  f.panel->choose({1, 0, 1});
  BufferView& buffers = f.panel->buffers();
  QCOMPARE(buffers.slotCount(), 6);
  QCOMPARE(buffers.nameOf(3), u"o[0]"_s);
  using Kind = verify::SlotContent::Kind;
  QCOMPARE(buffers.contentOf(3).kind, Kind::sum);
  QCOMPARE(buffers.contentOf(3).ranks, (std::vector<int>{0, 1}));
  QCOMPARE(buffers.contentOf(4).kind, Kind::nothing);
  buffers.choose(3);
  const QString text = f.child<QLabel>("programSlot")->text();
  QVERIFY2(text.contains(u"the sum of chunk 0 over ranks 0, 1"_s), qPrintable(text));
  QVERIFY(text.contains(u"written by rank 1, threadblock 0, step 1"_s));
  // The slider goes through the events and takes the step along.
  auto* slider = f.child<QSlider>("programMoment");
  QCOMPARE(slider->maximum(), static_cast<int>(f.panel->reading()->study().outOfPlace->events().size()));
  slider->setValue(slider->maximum());
  QVERIFY(buffers.contentOf(3).isFinal && buffers.contentOf(5).isFinal);
  QCOMPARE(f.panel->current(), std::optional(f.panel->reading()->study().outOfPlace->events().back().place));
  slider->setValue(0);
  QCOMPARE(buffers.contentOf(3).kind, Kind::nothing);
  // Another rank than that of the step.
  f.child<QComboBox>("programBufferRank")->setCurrentIndex(3);
  QCOMPARE(buffers.contentOf(0).ranks, std::vector<int>{2});
}

void TestDesignerProgram::threadblocksOfARank() {
  Fixture f;
  QVERIFY(f.open(chainAllreduce(4, 2)));
  f.panel->choose({1, 1, 1});
  BlockView& blocks = f.panel->blocks();
  QCOMPARE(blocks.rank(), 1);
  QCOMPARE(blocks.arrowCount(), 4);
  // What waits stands to the right of what it waits for.
  QVERIFY(blocks.boxOf({1, 1, 1}).left() > blocks.boxOf({1, 0, 1}).left());
  QVERIFY(blocks.boxOf({2, 0, 0}).isNull());
  auto* pages = f.child<QTabWidget>("programPages");
  pages->setCurrentIndex(ProgramPanel::kBlocks);
  blocks.horizontalScrollBar()->setValue(0);
  blocks.verticalScrollBar()->setValue(0);
  QTest::mouseClick(blocks.viewport(), Qt::LeftButton, {}, blocks.boxOf({1, 0, 0}).center());
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 0}));
  QTest::keyClick(&blocks, Qt::Key_Right);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 1}));
  QTest::keyClick(&blocks, Qt::Key_Down);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 1, 1}));
}

void TestDesignerProgram::aDeadlockIsNamedAtOnce() {
  Fixture f;
  QVERIFY(f.open(stuck()));  // one action, and the ring is there
  QVERIFY(!f.panel->isOk());
  QCOMPARE(f.panel->page(), ProgramPanel::kRing);
  QCOMPARE(f.panel->finding(), u"Deadlock: 2 steps wait for each other in a ring."_s);
  QCOMPARE(f.panel->ring().drawn(), 2);
  const auto* list = f.child<QListWidget>("programRingSteps");
  QCOMPARE(list->count(), 2);
  QCOMPARE(list->item(0)->text(),
           u"1. rank 0, threadblock 0, step 0 (r from rank 1) waits for data from rank 1, threadblock 0, step 1"_s);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{0, 0, 0}));
  QTest::keyClick(&f.panel->ring(), Qt::Key_Right);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 0}));
  const QString remedy = f.child<QLabel>("programRemedy")->text();
  QVERIFY2(remedy.contains(u"move step 1 (s to rank 1) before step 0"_s), qPrintable(remedy));
  // The change can be saved, and what is saved is sound.
  f.answers->saveTo = f.dir.filePath(u"freed.xml"_s);
  f.child<QPushButton>("programSave")->click();
  QCOMPARE(f.answers->suggestions, QStringList{u"program-freed.xml"_s});
  const auto saved = io::readFile(f.answers->saveTo.toStdString());
  QVERIFY(saved);
  QVERIFY(f.open(*saved));
  QVERIFY2(f.panel->isOk(), qPrintable(f.panel->verdict()));
  QVERIFY(f.panel->page() != ProgramPanel::kRing);
  QVERIFY(f.panel->finding().isEmpty());
}

void TestDesignerProgram::aWrongResultIsTraced() {
  Fixture f;
  QVERIFY(f.open(wrong()));
  QVERIFY(!f.panel->isOk());
  QCOMPARE(f.panel->page(), ProgramPanel::kBuffers);
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 1}));
  QVERIFY2(f.panel->finding().startsWith(
               u"First wrong in place: rank 1, threadblock 0, step 1 (r from rank 0) leaves out chunk 1 of rank 1"_s),
           qPrintable(f.panel->finding()));
}

void TestDesignerProgram::limitsOfEachRuntime() {
  Fixture f;
  QVERIFY(f.open(ringAllreduce(3, true)));
  QVERIFY(f.panel->isOk());
  auto* runtime = f.child<QComboBox>("programRuntime");
  const auto rows = f.panel->rows().size();
  QVERIFY(rows > 4);
  QSignalSpy read(f.panel, &ProgramPanel::readingChanged);
  f.panel->choose({1, 0, 1});
  runtime->setCurrentIndex(runtime->findData(static_cast<int>(Runtime::rccl)));
  QVERIFY(read.wait(kLong));
  QVERIFY(!f.panel->isOk());  // RCCL has no fused steps
  QCOMPARE(f.panel->page(), ProgramPanel::kChecks);
  QCOMPARE(f.panel->rows().front().state, CheckState::bad);
  QVERIFY(!f.panel->finding().isEmpty());
  QCOMPARE(f.panel->current(), std::optional(StepPlace{1, 0, 1}));
}

/// A text is made again for each runtime. Where it cannot be made, the one before says nothing of it.
void TestDesignerProgram::madeForEachRuntime() {
  const Fixture f;
  QSignalSpy read(f.panel, &ProgramPanel::readingChanged);
  f.panel->open(u"made.xml"_s, [](Runtime runtime, const Progress& /*progress*/) -> Result<MadeProgram> {
    if (runtime != Runtime::msccl) {
      return Error{.code = ErrorCode::limit, .message = "too large"};
    }
    return MadeProgram{writeMscclXml(ringAllgather(3, 1, true), runtime), {}};
  });
  QVERIFY(read.wait(kLong));
  QVERIFY2(f.panel->isOk(), qPrintable(f.panel->verdict()));
  auto* runtime = f.child<QComboBox>("programRuntime");
  runtime->setCurrentIndex(runtime->findData(static_cast<int>(Runtime::rccl)));
  QVERIFY(read.wait(kLong));
  QVERIFY(!f.panel->reading());
  QCOMPARE(f.panel->verdict(), u"There is no program"_s);
  QVERIFY(f.panel->finding().contains(u"too large"_s, Qt::CaseInsensitive));
}

void TestDesignerProgram::plansOfAnotherTarget() {
  const QByteArray plan = R"({"name":"one","collective":"allreduce","protocol":"Simple","inplace":false,"gpus":[
    {"id":0,"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"channels":[],"remote_buffers":[],"threadblocks":[
      {"id":0,"channels":[],"ops":[{"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],
                                    "dst_buff":[{"type":"o","index":0,"size":1}]}]}]}]})";
  Fixture f;
  QVERIFY(f.open(plan.toStdString()));
  QVERIFY2(f.panel->isOk(), qPrintable(f.panel->verdict() + f.panel->finding()));
  QCOMPARE(f.panel->page(), ProgramPanel::kChecks);
  auto* operations = f.child<QTreeWidget>("programOperations");
  QVERIFY(operations->isVisibleTo(f.panel));
  QCOMPARE(operations->topLevelItemCount(), 1);
  const QTreeWidgetItem* block = operations->topLevelItem(0)->child(0);
  QVERIFY(block != nullptr);
  QCOMPARE(block->child(0)->text(0), u"copy i[0] to o[0]"_s);
  // Its output is left as it was.
  QVERIFY(f.open(QByteArray(plan).replace("\"type\":\"o\"", "\"type\":\"i\"").toStdString()));
  QVERIFY(!f.panel->isOk());
  QVERIFY(!f.panel->finding().isEmpty());
  // A program again.
  QVERIFY(f.open(ringAllgather(3, 1, true)));
  QVERIFY(f.panel->isOk());
  QVERIFY(!operations->isVisibleTo(f.panel));
}

void TestDesignerProgram::unreadableFiles() {
  Fixture f;
  QVERIFY(f.open(ringAllgather(3, 1, true)));
  QVERIFY(f.open(std::string("<algo >\n<gpu id=\"0\"")));
  QVERIFY(!f.panel->isOk());
  QVERIFY(!f.panel->finding().isEmpty());
  QVERIFY(!f.panel->rows().empty());
  f.panel->walk(1);
  f.panel->setPosition(3);
  // Peers and waits that do not exist.
  QVERIFY(f.open(with(ringAllgather(3, 1, true), [](Program& program) {
    program.ranks[1].threadBlocks[0].sendPeer = 1;
    program.ranks[2].threadBlocks[0].steps[0].dependsOnTb = 5;
  })));
  QVERIFY(!f.panel->isOk());
  QCOMPARE(f.panel->page(), ProgramPanel::kChecks);
  QCOMPARE(f.panel->model().rowCount(), 3);
  f.panel->choose({1, 0, 0});
  f.panel->walk(-1);
  f.panel->walk(1);
  QCOMPARE(f.panel->buffers().slotCount(), 0);
}

void TestDesignerProgram::stoppedWhileReading() {
  Fixture f;
  QSignalSpy read(f.panel, &ProgramPanel::readingChanged);
  f.panel->open(u"/x/large.xml"_s, writeMscclXml(ringAllgather(96, 24, true), Runtime::msccl));
  QVERIFY(f.panel->isReading());
  f.child<QToolButton>("programCancel")->click();
  QVERIFY(!f.panel->isReading());
  QVERIFY(f.panel->reading() == nullptr);
  QVERIFY(f.open(ringAllgather(3, 1, true)));
  QCOMPARE(read.size(), 1);
  QVERIFY(f.panel->isOk());
}

void TestDesignerProgram::treesAndTheirSteps_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("isFile");
  QTest::newRow("allgather") << static_cast<int>(Collective::allgather) << false;
  QTest::newRow("allreduce, trees of two halves") << static_cast<int>(Collective::allreduce) << false;
  QTest::newRow("a file of it") << static_cast<int>(Collective::allgather) << true;
}

/// Choosing a tree shows the steps that serve it, choosing a step its tree.
void TestDesignerProgram::treesAndTheirSteps() {
  QFETCH(const int, collective);
  QFETCH(const bool, isFile);
  Fixture f;
  f.window->workspace().adopt(readArranged(*presets::make("dgx-a100", {{"boxes", "1"}})).model, {}, u"box"_s);
  auto* const schedules = f.window->findChild<ScheduleFeature*>();
  ScheduleOptions options;
  options.collective = static_cast<Collective>(collective);
  const auto made = makeSchedule(f.window->workspace().current()->document().model().description(), options, {});
  QVERIFY(made);
  schedules->book()->add(*made, u"mine"_s);
  QSignalSpy read(f.panel, &ProgramPanel::readingChanged);
  if (isFile) {
    QVERIFY(f.open(checkExport(**made, {}, {}).xml));
  } else {
    f.window->actions()[u"schedule.program"_s]->trigger();
    QVERIFY(read.wait(kLong) || !read.isEmpty());
  }
  QVERIFY2(f.panel->isOk(), qPrintable(f.panel->verdict()));
  const ProgramReading& reading = *f.panel->reading();
  QVERIFY(!reading.origins.empty());
  QVERIFY(f.panel->treesText().isEmpty());
  TreePanel& trees = *f.window->findChild<TreePanel*>();
  for (int half = 0; half < 2; ++half) {
    schedule::TreeReader* reader = trees.model().readerOf(half);
    if (reader == nullptr) {
      continue;
    }
    const TreeRef last{half, reader->size() - 1};
    trees.showTree(last);
    QCOMPARE(trees.chosenTrees(), std::vector{last});
    QVERIFY(f.panel->current() && reading.serves(*f.panel->current(), {last}));
    const auto steps = reading.stepsOf({last});
    QVERIFY2(f.panel->treesText().startsWith(u"1 tree: %1 steps"_s.arg(steps.size())),
             qPrintable(f.panel->treesText()));
    // Every edge of the tree is sent and taken by them.
    std::set<std::pair<int, int>> edges;
    const schedule::TreeReader::View view = reader->read(last.tree);
    for (const schedule::TreeEdge& edge : view.edges) {
      edges.insert(half == 0 ? std::pair(edge.child, edge.parent) : std::pair(edge.parent, edge.child));
    }
    std::set<std::pair<int, int>> sent;
    for (const StepPlace& place : steps) {
      const ThreadBlock& block = reading.program()
                                     .ranks[static_cast<std::size_t>(place.rank)]
                                     .threadBlocks[static_cast<std::size_t>(place.threadBlock)];
      if (sends(block.steps[static_cast<std::size_t>(place.step)].type) &&
          edges.contains({place.rank, block.sendPeer})) {
        sent.insert({place.rank, block.sendPeer});
      }
      const QModelIndex row = f.panel->model().indexOf(place);
      QVERIFY(f.panel->model().data(row, Qt::BackgroundRole).isValid());
      QVERIFY(textOf(f.panel->model(), row, StepModel::kServes).contains(trees.model().titleOf(last)));
    }
    QCOMPARE(sent, edges);
    // A step of another tree chooses that tree.
    const TreeRef first{half, 0};
    const StepPlace other = reading.stepsOf({first}).back();
    QVERIFY(!reading.serves(other, {last}));
    f.panel->choose(other);
    QCOMPARE(trees.chosenTrees(), reading.treesOf(other).size() == 1 ? std::vector{first} : trees.chosenTrees());
    QVERIFY(reading.serves(other, {trees.chosenTrees().front()}));
    QCOMPARE(f.panel->current(), std::optional(other));
  }
  // Trees of another schedule say nothing about these steps.
  ScheduleOptions others = options;
  others.methodOptions = {{kFixedK, "2"}};
  const auto second = makeSchedule(f.window->workspace().current()->document().model().description(), others, {});
  QVERIFY(second);
  schedules->book()->add(*second, u"another"_s);
  trees.showTree({1, 0});
  QVERIFY(f.panel->treesText().isEmpty());
}

void TestDesignerProgram::pictures() {
  Fixture f;
  QVERIFY(f.open(stuck()));
  for (const SchemeChoice scheme : {SchemeChoice::light, SchemeChoice::dark}) {
    Theme::instance().setChoice(scheme);
    auto* pages = f.child<QTabWidget>("programPages");
    for (int page = 0; page < pages->count(); ++page) {
      pages->setCurrentIndex(page);
      QVERIFY(!f.panel->grab().isNull());
    }
    // The ring has arrows in the colour of faults.
    pages->setCurrentIndex(ProgramPanel::kRing);
    const QImage image = f.panel->ring().grab().toImage();
    const QColor error = Theme::instance().color(Token::error);
    int found = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        found += image.pixelColor(x, y) == error ? 1 : 0;
      }
    }
    QVERIFY(found > 20);
  }
  Theme::instance().setChoice(SchemeChoice::light);
}

QTEST_MAIN(TestDesignerProgram)
#include "tst_designer_program.moc"
