// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QRadioButton>
#include <QScopeGuard>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>
#include <algorithm>
#include <map>

#include "coppice/test_paths.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/program/program_panel.hpp"
#include "designer/schedule/command_text.hpp"
#include "designer/schedule/export_dialog.hpp"
#include "designer/schedule/figures.hpp"
#include "designer/schedule/generate_dialog.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/schedule/tree_drawing.hpp"
#include "designer/schedule/trees_on_link.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "io/files.hpp"
#include "io/tree_xml.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

constexpr int kLong = 60000;

/// Answers as the test says, and counts the questions.
class Answers : public Prompts {
public:
  Unsaved unsavedChanges(QWidget*, const QString&) override { return Unsaved::discard; }
  QStringList filesToOpen(QWidget*, const QString&, const QString&) override { return {}; }
  QString fileToSave(QWidget*, const QString& suggestion, const QString&) override {
    suggestions << suggestion;
    return saveTo;
  }
  QString folder(QWidget*, const QString&, const QString&) override { return folderChosen; }
  std::optional<QString> text(QWidget*, const QString&, const QString&, const QString&) override { return typed; }
  std::optional<int> number(QWidget*, const QString&, const QString&, int, int, int) override { return 2; }
  std::optional<bool> choice(QWidget*, const QString&, const QString& text, const QString&, const QString&) override {
    questions << text;
    return chosen;
  }
  void failure(QWidget*, const QString&, const QString& text) override { failures << text; }

  QString saveTo;
  QString folderChosen;
  std::optional<QString> typed;
  std::optional<bool> chosen = true;
  QStringList suggestions;
  QStringList questions;
  QStringList failures;
};

fabric::Description preset(const char* name, const std::map<std::string, std::string>& arguments) {
  auto made = presets::make(name, arguments);
  return made ? *std::move(made) : fabric::Description{};
}

struct Fixture {
  Fixture() {
    auto owned = std::make_unique<Answers>();
    answers = owned.get();
    window =
        std::make_unique<MainWindow>(WindowOptions{.recoveryFolder = {}, .keepsSettings = false}, std::move(owned));
    window->show();
    [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
    activity = window->findChild<ScheduleActivity*>();
  }
  void run(const char* id) const { window->actions()[QLatin1String(id)]->trigger(); }
  [[nodiscard]] EditorContext* editor() const { return window->workspace().current(); }
  [[nodiscard]] ScheduleBook* book() const { return activity->book(); }
  [[nodiscard]] const ScheduleEntry* current() const { return book()->current(); }
  [[nodiscard]] QString label(const char* name) const {
    return window->findChild<QLabel*>(QLatin1String(name))->text();
  }
  [[nodiscard]] const Overlay& overlay() const { return editor()->canvas().overlay(); }

  /// A copy, since schedules lie beside their files.
  [[nodiscard]] QString example(const char* name) const {
    const QString copy = dir.filePath(QLatin1String(name));
    QFile::copy(QDir(QStringLiteral(COPPICE_EXAMPLES)).filePath(QLatin1String(name)), copy);
    return copy;
  }
  bool open(const char* name) const { return window->files().openFile(example(name)) != nullptr; }
  bool openPreset(const char* name, const std::map<std::string, std::string>& arguments) const {
    return window->workspace().adopt(readModel(preset(name, arguments)).model, {}, QLatin1String(name)) != nullptr;
  }
  [[nodiscard]] bool isDone() const {
    return QTest::qWaitFor([&] { return !book()->isRunning(); }, kLong);
  }
  [[nodiscard]] bool isSettled() const {
    return QTest::qWaitFor([&] { return book()->isSettled(); }, kLong);
  }
  /// With all schedules.
  [[nodiscard]] bool save() const {
    run("file.save");
    return isSettled() && QTest::qWaitFor([&] { return !editor()->file().isModified(); }, kLong);
  }
  bool generate() const {
    run("schedule.generate");
    return isDone() && book()->failure().isEmpty() && current() != nullptr && current()->result;
  }

  QTemporaryDir dir;
  Answers* answers;
  std::unique_ptr<MainWindow> window;
  ScheduleActivity* activity;
};

ScheduleResultPtr made(const fabric::Description& description, const ScheduleOptions& options) {
  auto result = makeSchedule(description, options, {});
  if (!result) {
    qWarning("%s", describe(result.error()).c_str());
    return nullptr;
  }
  return *result;
}

/// Every step of a path begins where the one before ends.
bool isConnected(const Model& model, const std::vector<LinkStep>& path) {
  NodeId at;
  for (const LinkStep& step : path) {
    const Link* link = model.find(step.link);
    if (link == nullptr) {
      return false;
    }
    const NodeId from = step.isForward ? link->tail.node : link->head.node;
    if (at.isValid() && from != at) {
      return false;
    }
    at = step.isForward ? link->head.node : link->tail.node;
  }
  return !path.empty();
}

}  // namespace

class TestDesignerSchedule : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void sentences();
  void phases();
  void figures_data();
  void figures();
  void sizes_data();
  void sizes();
  void loadsAreThoseOfTheForest_data();
  void loadsAreThoseOfTheForest();
  void generateShowsTheVerdict();
  void fixedTreesSayWhatTheyLose();
  void treesForSizesAndLoss();
  void failuresAreOneMessage();
  void cancelKeepsTheLastResult();
  void staleAfterAnEdit();
  void keptInOneFolder();
  void keptBesideTheFile();
  void untitledIsWrittenOnceItHasAFile();
  void theSameAgainAddsNothing();
  void unsavedSchedulesSurviveACrash_data();
  void unsavedSchedulesSurviveACrash();
  void hostileFilesAreRefused();
  void treesAreReadLazily_data();
  void treesAreReadLazily();
  void treesAreDrawn();
  void treesOfALink();
  void heatAndTheTableOfLoads();
  void allreduceHasTwoHalves();
  void oneTreeAlone();
  void charts();
  void theOptionsDialog();
  void amountsPerGpu();
  void aPartOfTheGpus();
  void exportWritesAVerifiedProgram();
  void aFixMendsWhatDoesNotFit();
  void commandLines();
  void openingAProgram();
  void openingABrokenProgram();
  void openingAForest();
  void openingTrees();
  void actionsWithoutASchedule();
  void pictures();
};

void TestDesignerSchedule::initTestCase() {
  QVERIFY(QApplication::setStyle(u"fusion"_s) != nullptr);
  Theme::instance().setChoice(SchemeChoice::light);
  Theme::instance().setAnimated(false);
  Theme::instance().applyTo(*qApp);
}

// ---- numbers

void TestDesignerSchedule::sentences() {
  QCOMPARE(sentence({ErrorCode::badUsage, "a schedule needs a name", "type at least one letter"}),
           u"A schedule needs a name. Type at least one letter."_s);
  QCOMPARE(sentence({ErrorCode::badUsage, "b0g0 has no links", ""}), u"b0g0 has no links."_s);
  QCOMPARE(sentence({ErrorCode::badUsage, "k must be at least 1", "Is it?"}), u"k must be at least 1. Is it?"_s);
  QCOMPARE(sentence({ErrorCode::badUsage, "msccl counts bytes", ""}), u"msccl counts bytes."_s);
  QCOMPARE(sentence({ErrorCode::badUsage, "", ""}), QString());
}

/// Trees are also written out where nobody asked for multicast.
void TestDesignerSchedule::phases() {
  QVERIFY(!stageName("expanding").contains(u"multicast"_s));
  QVERIFY(stageName("pruning").contains(u"multicast"_s));
}

void TestDesignerSchedule::figures_data() {
  QTest::addColumn<qint64>("numerator");
  QTest::addColumn<qint64>("denominator");
  QTest::addColumn<QString>("percent");
  QTest::newRow("whole") << qint64{7} << qint64{7} << u"100 %"_s;
  QTest::newRow("nothing") << qint64{0} << qint64{7} << u"0 %"_s;
  QTest::newRow("half") << qint64{1} << qint64{2} << u"50.0 %"_s;
  QTest::newRow("never 100 for less") << qint64{999999} << qint64{1000000} << u"99.9 %"_s;
  QTest::newRow("never 0 for something") << qint64{1} << qint64{1000000} << u"0.1 %"_s;
}

void TestDesignerSchedule::figures() {
  QFETCH(qint64, numerator);
  QFETCH(qint64, denominator);
  QTEST(percentOf(Rational(numerator), Rational(denominator)), "percent");
}

void TestDesignerSchedule::sizes_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<qint64>("bytes");
  QTest::newRow("plain") << u"1000"_s << qint64{1000};
  QTest::newRow("binary") << u"64KiB"_s << qint64{65536};
  QTest::newRow("spaced") << u" 1 GiB "_s << (qint64{1} << 30);
  QTest::newRow("decimal") << u"2.5 MB"_s << qint64{2500000};
  QTest::newRow("no number") << u"MiB"_s << qint64{-1};
  QTest::newRow("no such unit") << u"3 miles"_s << qint64{-1};
  QTest::newRow("part of a byte") << u"0.3"_s << qint64{-1};
  QTest::newRow("too large") << u"99999999999 TiB"_s << qint64{-1};
  QTest::newRow("negative") << u"-5"_s << qint64{-1};
}

void TestDesignerSchedule::sizes() {
  QFETCH(QString, text);
  QFETCH(qint64, bytes);
  const auto parsed = parseBytes(text);
  QCOMPARE(parsed ? *parsed : -1, static_cast<std::int64_t>(bytes));
}

void TestDesignerSchedule::loadsAreThoseOfTheForest_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("usesMulticast");
  QTest::addColumn<int>("form");
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                      Collective::broadcast, Collective::reduce}) {
    QTest::newRow(std::string(toString(collective)).c_str()) << static_cast<int>(collective) << false << 0;
  }
  QTest::newRow("multicast out") << static_cast<int>(Collective::allgather) << true << 0;
  QTest::newRow("multicast in") << static_cast<int>(Collective::reduceScatter) << true << 0;
}

void TestDesignerSchedule::loadsAreThoseOfTheForest() {
  QFETCH(int, collective);
  QFETCH(bool, usesMulticast);
  fabric::Description description = preset("dgx-a100", {{"boxes", "2"}});
  for (fabric::NodeDescription& node : description.nodes) {
    node.multicast = node.aggregation = node.kind == "switch";
  }
  const ScheduleResultPtr result =
      made(description, {.collective = static_cast<Collective>(collective), .usesMulticast = usesMulticast});
  QVERIFY(result);
  QVERIFY(result->verdict.ok);
  Rational busiest;
  for (std::size_t half = 0; half < 2; ++half) {
    const schedule::Forest* forest = result->forest(half);
    std::int64_t inTable = 0;
    for (const ArcLoad& load : result->loads) {
      inTable += load.trees[half];
    }
    std::int64_t inForest = 0;
    if (forest != nullptr) {
      QVERIFY(!forest->factored);
      for (const schedule::Tree& tree : forest->trees) {
        for (const schedule::TreeEdge& edge : forest->edgesOf(tree)) {
          const auto hops = static_cast<std::int64_t>(forest->paths[edge.path].size()) - 1;
          inForest += tree.multiplicity * (hops - edge.pruned);
        }
      }
      QVERIFY(inForest > 0);
    }
    QCOMPARE(inTable, inForest);
  }
  bool hasBusiest = false;
  for (const ArcLoad& load : result->loads) {
    QVERIFY(load.rate <= load.bandwidth);
    for (std::size_t half = 0; half < 2; ++half) {
      busiest = std::max(busiest, Rational(load.trees[half]) / load.bandwidth);
    }
    hasBusiest = hasBusiest || load.isBusiest;
    QVERIFY(!load.isBusiest || load.rate == load.bandwidth || usesMulticast);
  }
  QVERIFY(hasBusiest);
  QCOMPARE(busiest, result->verdict.busiestLoad);
}

// ---- generation

void TestDesignerSchedule::generateShowsTheVerdict() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QCOMPARE(fixture.window->workspace().mode(), Mode::draw);
  QTest::keyClick(fixture.window.get(), Qt::Key_F5);
  QVERIFY(fixture.book()->isRunning());
  QCOMPARE(fixture.window->workspace().mode(), Mode::schedule);
  QVERIFY(fixture.isDone());
  QCOMPARE(fixture.book()->entries().size(), 1U);
  const ScheduleResult& result = *fixture.current()->result;
  QVERIFY(result.meetsBound && result.verdict.ok && result.verdict.boundProved);
  QVERIFY(QTest::qWaitFor([&] { return fixture.editor()->bound().isCurrent(); }, kLong));
  QCOMPARE(result.algbw, *fixture.editor()->bound().bound()->algbw);
  QVERIFY2(fixture.label("scheduleVerdict").contains(u"Meets the bound, verified"_s),
           qPrintable(fixture.label("scheduleVerdict")));
  QVERIFY(fixture.label("scheduleExact").contains(QString::fromStdString(result.algbw.toString())));
  QVERIFY(fixture.label("scheduleNumber").startsWith(decimal(result.algbw)));
  QVERIFY(fixture.label("scheduleDetails").contains(u"no schedule can be faster"_s));
  auto* list = fixture.window->findChild<QListView*>(u"scheduleList"_s);
  QCOMPARE(list->model()->rowCount(), 1);
  QCOMPARE(list->currentIndex().row(), 0);
  QVERIFY(!fixture.window->findChild<QWidget*>(u"scheduleRunning"_s)->isVisible());
}

void TestDesignerSchedule::fixedTreesSayWhatTheyLose() {
  Fixture fixture;
  QVERIFY(fixture.openPreset("mi250", {{"boxes", "2"}}));
  ScheduleOptions options = fixture.book()->options();
  options.treeCount = TreeCount::fixed;
  options.k = 1;
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  const ScheduleResult& lossy = *fixture.current()->result;
  QVERIFY(lossy.algbw < *lossy.bound);
  QVERIFY(!lossy.meetsBound);
  QCOMPARE(lossy.k, 1);
  QVERIFY(lossy.verdictText().contains(percentOf(lossy.algbw, *lossy.bound)));
  // The scan takes the best, with the fewest trees among equals.
  options.treeCount = TreeCount::scan;
  options.maxK = 4;
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  const ScheduleResult& scanned = *fixture.current()->result;
  QCOMPARE(scanned.scanned.size(), 4U);
  for (const KValue& value : scanned.scanned) {
    QVERIFY(value.algbw < scanned.algbw || value.k >= scanned.k);
    QVERIFY(value.algbw <= scanned.algbw);
  }
  QCOMPARE(scanned.scanned.front().algbw, lossy.algbw);
}

void TestDesignerSchedule::failuresAreOneMessage() {
  Fixture fixture;
  fixture.window->workspace().newDocument();
  fixture.run("schedule.generate");
  QVERIFY(fixture.isDone());
  QVERIFY(!fixture.book()->failure().isEmpty());
  QVERIFY(!fixture.book()->failure().contains(u'\n'));
  QCOMPARE(fixture.label("scheduleFailure"), fixture.book()->failure());
  QVERIFY(fixture.book()->entries().empty());
  // The next attempt clears it.
  fixture.editor()->document().edit(u"two"_s, [](Edit& edit) {
    const NodeId a = edits::addNode(edit, fabric::NodeKind::gpu, {});
    const NodeId b = edits::addNode(edit, fabric::NodeKind::gpu, {100, 0});
    QVERIFY(edits::addLink(edit, a, b, {.bandwidth = "10"}));
  });
  QVERIFY(fixture.generate());
  QVERIFY(fixture.book()->failure().isEmpty());
}

void TestDesignerSchedule::cancelKeepsTheLastResult() {
  Fixture fixture;
  QVERIFY(fixture.openPreset("torus", {{"dims", "4x4x4"}}));
  QVERIFY(fixture.generate());
  const int first = fixture.current()->id;
  ScheduleOptions heavy = fixture.book()->options();
  heavy.treeCount = TreeCount::scan;
  heavy.maxK = kMaxScannedK;
  heavy.heightEffort = kMaxHeightEffort;
  fixture.book()->setOptions(heavy);
  fixture.run("schedule.generate");
  QVERIFY(fixture.book()->isRunning());
  QVERIFY(QTest::qWaitFor([&] { return !fixture.book()->progress().stage.empty(); }, kLong));
  QVERIFY(fixture.window->findChild<QWidget*>(u"scheduleRunning"_s)->isVisible());
  QVERIFY(fixture.window->actions()[u"schedule.cancel"_s]->isEnabled());
  // The window continues: an edit while the job runs.
  QVERIFY(fixture.editor()->document().edit(u"note"_s, [](Edit& edit) { edits::addNote(edit, "still here", {0, 0}); }));
  fixture.editor()->canvas().setFocus();
  QTest::keyClick(&fixture.editor()->canvas(), Qt::Key_Escape);
  QVERIFY(!fixture.book()->isRunning());
  QVERIFY(fixture.book()->failure().isEmpty());
  QCOMPARE(fixture.book()->entries().size(), 1U);
  QCOMPARE(fixture.current()->id, first);
  QVERIFY(!fixture.window->actions()[u"schedule.cancel"_s]->isEnabled());
  // And the next one is not disturbed by the one that was stopped.
  ScheduleOptions other;
  other.treeCount = TreeCount::fixed;
  other.k = 2;
  fixture.book()->setOptions(other);
  QVERIFY(fixture.generate());
  QCOMPARE(fixture.book()->entries().size(), 2U);
}

void TestDesignerSchedule::staleAfterAnEdit() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  QVERIFY(fixture.book()->isFresh(*fixture.current()));
  QVERIFY(!fixture.overlay().heat.load.empty());
  const LinkId link = (*fixture.editor()->model().links().begin()).id;
  fixture.editor()->document().edit(u"faster"_s,
                                    [&](Edit& edit) { edit.change(link, [](Link& each) { each.bandwidth = "77"; }); });
  QVERIFY(!fixture.book()->isFresh(*fixture.current()));
  QVERIFY(fixture.label("scheduleVerdict").contains(u"Stale"_s));
  QVERIFY2(fixture.overlay().heat.load.empty(), "loads of another fabric are not shown as current");
  QTest::qWait(100);
  QVERIFY(!fixture.book()->isFresh(*fixture.current()));
  fixture.run("edit.undo");
  QVERIFY(QTest::qWaitFor([&] { return fixture.book()->isFresh(*fixture.current()); }, kLong));
  QVERIFY(fixture.label("scheduleVerdict").contains(u"Meets the bound"_s));
  QVERIFY(!fixture.overlay().heat.load.empty());
  // Moving a node changes no fact.
  const NodeId node = (*fixture.editor()->model().nodes().begin()).id;
  fixture.editor()->document().edit(u"move"_s, [&](Edit& edit) { edits::move(edit, {node}, {20, 20}); });
  QVERIFY(fixture.book()->isFresh(*fixture.current()));
}

// ---- files

void TestDesignerSchedule::keptInOneFolder() {
  const auto reset = qScopeGuard([] { ScheduleBook::setSharedFolder({}); });
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QString path = fixture.editor()->file().path();
  // Nothing was chosen: all stays as it is.
  fixture.run("schedule.folder");
  QVERIFY(ScheduleBook::sharedFolder().isEmpty());
  QVERIFY(!fixture.window->actions()[u"schedule.folder"_s]->isChecked());
  const QTemporaryDir shared;
  fixture.answers->folderChosen = shared.path();
  fixture.run("schedule.folder");
  QCOMPARE(ScheduleBook::sharedFolder(), shared.path());
  QVERIFY(fixture.window->actions()[u"schedule.folder"_s]->isChecked());
  // Written at once, and nothing is unsaved.
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  QCOMPARE(QFileInfo(fixture.current()->path).path(), shared.filePath(u"2x-dgx-a100.schedules"_s));
  QVERIFY(QFileInfo::exists(fixture.current()->path));
  QVERIFY(!fixture.editor()->file().isModified());
  QVERIFY(!QFileInfo::exists(fixture.dir.filePath(u"2x-dgx-a100.schedules"_s)));
  QVERIFY(loadSchedule(fixture.current()->path, {}));
  // It is there again with the document.
  DocumentFile again;
  QVERIFY(again.open(path));
  LiveBound bound(again.document());
  ScheduleBook* book = ScheduleActivity::bookOf(again, bound);
  QTRY_VERIFY_WITH_TIMEOUT(book->isSettled() && book->current() != nullptr, kLong);
  QCOMPARE(book->current()->name, fixture.current()->name);
  // Untitled documents too.
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  QVERIFY(fixture.current()->path.startsWith(shared.path() + u'/'));
  // Back to the default.
  fixture.run("schedule.folder");
  QVERIFY(ScheduleBook::sharedFolder().isEmpty());
}

void TestDesignerSchedule::keptBesideTheFile() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QString path = fixture.editor()->file().path();
  ScheduleOptions options = fixture.book()->options();
  options.heightEffort = 3;
  options.treeCount = TreeCount::scan;
  options.maxK = 2;
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  // Nothing stands beside the file before it is saved, and the schedule counts as unsaved.
  QVERIFY(!QFileInfo::exists(ScheduleBook::folderOf(path)));
  QVERIFY(fixture.editor()->file().isModified());
  QVERIFY(fixture.save());
  QVERIFY(!fixture.editor()->file().isModified());
  const Rational algbw = fixture.current()->result->algbw;
  const QString file = fixture.current()->path;
  QCOMPARE(QFileInfo(file).path(), ScheduleBook::folderOf(path));
  QVERIFY(QFileInfo::exists(file));
  // The file stands alone.
  QVERIFY(loadSchedule(file, {}));
  fixture.answers->typed = u"before/the upgrade"_s;
  fixture.run("schedule.rename");
  QCOMPARE(fixture.current()->name, u"before_the upgrade"_s);
  QVERIFY(!QFileInfo::exists(file));
  QVERIFY(QFileInfo::exists(fixture.current()->path));
  QVERIFY(!fixture.book()->rename(fixture.current()->id, u"  "_s));

  QVERIFY(fixture.window->files().close(*fixture.editor()));
  QVERIFY(fixture.window->files().openFile(path) != nullptr);
  QVERIFY(fixture.isSettled());
  QCOMPARE(fixture.book()->entries().size(), 1U);
  QVERIFY(fixture.current() != nullptr && fixture.current()->result);
  QCOMPARE(fixture.current()->name, u"before_the upgrade"_s);
  QCOMPARE(fixture.current()->result->algbw, algbw);
  QVERIFY(fixture.current()->result->options == [&] {
    ScheduleOptions same = options;
    same.k = fixture.current()->result->options.k;
    return same;
  }());
  QVERIFY(QTest::qWaitFor([&] { return fixture.book()->isFresh(*fixture.current()); }, kLong));

  fixture.answers->chosen = false;
  fixture.run("schedule.delete");
  QCOMPARE(fixture.book()->entries().size(), 1U);
  fixture.answers->chosen = true;
  fixture.run("schedule.delete");
  QCOMPARE(fixture.book()->entries().size(), 0U);
  QVERIFY(!QFileInfo::exists(ScheduleBook::folderOf(path)));
  QVERIFY(fixture.answers->questions.last().contains(u"before_the upgrade"_s));
}

void TestDesignerSchedule::untitledIsWrittenOnceItHasAFile() {
  Fixture fixture;
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  ScheduleOptions other = fixture.book()->options();
  other.treeCount = TreeCount::fixed;
  other.k = 2;
  fixture.book()->setOptions(other);
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  QCOMPARE(fixture.book()->entries().size(), 2U);
  QVERIFY(fixture.book()->isUnsaved(*fixture.current()));
  fixture.answers->saveTo = fixture.dir.filePath(u"one.fabric.json"_s);
  fixture.run("file.save-as");
  QVERIFY(QTest::qWaitFor([&] { return !fixture.editor()->file().isModified(); }, kLong));
  QVERIFY(fixture.isSettled());
  QCOMPARE(QDir(fixture.dir.filePath(u"one.schedules"_s)).entryList(QDir::Files).size(), 2);
  // "Save as" leaves the first folder and fills another.
  fixture.answers->saveTo = fixture.dir.filePath(u"two.fabric.json"_s);
  fixture.run("file.save-as");
  QVERIFY(fixture.isSettled());
  QCOMPARE(QDir(fixture.dir.filePath(u"one.schedules"_s)).entryList(QDir::Files).size(), 2);
  QCOMPARE(QDir(fixture.dir.filePath(u"two.schedules"_s)).entryList(QDir::Files).size(), 2);
  QVERIFY(fixture.current()->path.contains(u"two.schedules"_s));
}

void TestDesignerSchedule::theSameAgainAddsNothing() {
  Fixture fixture;
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  const int first = fixture.current()->id;
  ScheduleOptions other = fixture.book()->options();
  other.treeCount = TreeCount::fixed;
  other.k = 2;
  fixture.book()->generate(other);
  QVERIFY(fixture.isDone());
  QVERIFY(fixture.current()->id != first);
  QSignalSpy finished(fixture.book(), &ScheduleBook::finished);
  QVERIFY(fixture.generate());
  QCOMPARE(fixture.book()->entries().size(), 2U);
  QCOMPARE(fixture.current()->id, first);
  QCOMPARE(finished.size(), 1);
  // Another fabric gives another schedule, whatever its name.
  fixture.editor()->document().edit(u"x"_s, [](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}}, [](Link& link) { link.bandwidth = "20"; });
  });
  QVERIFY(fixture.generate());
  QCOMPARE(fixture.book()->entries().size(), 3U);
}

void TestDesignerSchedule::unsavedSchedulesSurviveACrash_data() {
  QTest::addColumn<bool>("isUntitled");
  QTest::newRow("untitled") << true;
  QTest::newRow("saved before") << false;
}

void TestDesignerSchedule::unsavedSchedulesSurviveACrash() {
  QFETCH(bool, isUntitled);
  QTemporaryDir dir;
  const QString recovery = dir.filePath(u"recovery"_s);
  const QString path = dir.filePath(u"a.fabric.json"_s);
  const fabric::Description description = preset("dgx-a100", {{"boxes", "1"}});
  const auto openIn = [&](DocumentFile& file) {
    if (isUntitled) {
      file.adopt(readModel(description).model, {});
      return true;
    }
    return static_cast<bool>(file.open(path));
  };
  QVERIFY(io::saveFile(path.toStdString(), writeFabricFile(readModel(description).model)));
  QString name;
  {
    // Goes without being saved or discarded, as in a crash.
    DocumentFile file(recovery);
    QVERIFY(openIn(file));
    LiveBound bound(file.document());
    ScheduleBook* book = ScheduleActivity::bookOf(file, bound);
    book->generate();
    QTRY_VERIFY_WITH_TIMEOUT(!book->isRunning(), kLong);
    QTRY_VERIFY_WITH_TIMEOUT(book->isSettled(), kLong);
    QVERIFY2(book->current() != nullptr && !book->current()->path.isEmpty(), qPrintable(book->failure()));
    QCOMPARE(QFileInfo(book->current()->path).dir(), QDir(file.workFolder()));
    QVERIFY(file.isModified());
    name = book->current()->name;
    delete book;
  }
  QVERIFY(!QFileInfo::exists(ScheduleBook::folderOf(path)));
  const std::vector<QString> journals = DocumentFile::abandonedJournals(recovery);
  QCOMPARE(journals.size(), 1U);
  auto recovered = recover(journals.front());
  QVERIFY(recovered);
  QVERIFY(QFile::remove(journals.front()));
  DocumentFile file(recovery);
  file.restore(*std::move(recovered));
  LiveBound bound(file.document());
  ScheduleBook* book = ScheduleActivity::bookOf(file, bound);
  QTRY_VERIFY_WITH_TIMEOUT(book->isSettled() && book->current() != nullptr, kLong);
  QCOMPARE(book->current()->name, name);
  QVERIFY(book->isUnsaved(*book->current()));
  QTRY_VERIFY_WITH_TIMEOUT(book->isFresh(*book->current()), kLong);
  const QString work = file.workFolder();
  QVERIFY(isUntitled ? file.saveAs(path) : file.save());
  QTRY_VERIFY_WITH_TIMEOUT(!file.isModified(), kLong);
  QVERIFY(QFileInfo::exists(ScheduleBook::folderOf(path) + u'/' + name + u".forest.json"_s));
  QVERIFY(!QFileInfo::exists(work));
  QVERIFY(DocumentFile::abandonedJournals(recovery).empty());
  delete book;
}

void TestDesignerSchedule::hostileFilesAreRefused() {
  Fixture fixture;
  const QString path = fixture.example("2x-dgx-a100.fabric.json");
  const auto description = io::loadFabricFile(path.toStdString());
  QVERIFY(description);
  const ScheduleResultPtr result = made(*description, {});
  const QString folder = ScheduleBook::folderOf(path);
  QVERIFY(QDir().mkpath(folder));
  QVERIFY(saveSchedule(folder + u"/good.forest.json"_s, *result));
  QFile good(folder + u"/good.forest.json"_s);
  QVERIFY(good.open(QIODevice::ReadOnly));
  const QByteArray text = good.readAll();
  const auto write = [&](const char* name, const QByteArray& bytes) {
    QFile file(folder + u'/' + QLatin1String(name));
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
  };
  QVERIFY(write("cut.forest.json", text.first(text.size() / 2)));
  QVERIFY(write("noise.forest.json", QByteArray(5000, '[')));
  QVERIFY(write("empty.forest.json", {}));
  // A claim that the trees do not keep.
  QByteArray faster = text;
  const QByteArray claim = "\"algbw\": \"" + QByteArray::fromStdString(result->algbw.toString()) + '"';
  const QByteArray compact = QByteArray(claim).replace(": ", ":");
  QVERIFY(faster.contains(claim) || faster.contains(compact));
  faster.replace(claim, "\"algbw\": \"99999\"").replace(compact, "\"algbw\":\"99999\"");
  QVERIFY(write("liar.forest.json", faster));
  QVERIFY(fixture.window->files().openFile(path) != nullptr);
  fixture.run("mode.schedule");
  QVERIFY(fixture.isSettled());
  QCOMPARE(fixture.book()->entries().size(), 5U);
  for (const ScheduleEntry& entry : fixture.book()->entries()) {
    QCOMPARE(entry.result != nullptr, entry.name == u"good"_s);
    QCOMPARE(entry.problem.isEmpty(), entry.name == u"good"_s);
  }
  QCOMPARE(fixture.current()->name, u"good"_s);
}

// ---- trees

void TestDesignerSchedule::treesAreReadLazily_data() {
  QTest::addColumn<int>("form");
  QTest::newRow("written out") << static_cast<int>(schedule::ForestForm::trees);
  QTest::newRow("by parts") << static_cast<int>(schedule::ForestForm::parts);
}

void TestDesignerSchedule::treesAreReadLazily() {
  QFETCH(int, form);
  const fabric::Description description = preset("dgx-h100", {{"boxes", "128"}});
  auto fabric = fabric::Fabric::build(description);
  QVERIFY(fabric);
  auto generated = forestcoll::generate(*fabric, {.form = static_cast<schedule::ForestForm>(form)});
  QVERIFY(generated);
  const auto examined = examineSchedule(description, *std::move(fabric), std::move(generated->schedule), {}, {});
  QVERIFY(examined);
  const ScheduleResultPtr& result = *examined;
  QCOMPARE(result->fabric->gpuCount(), 1024);
  QCOMPARE(result->isByParts, form == static_cast<int>(schedule::ForestForm::parts));
  TreeModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  tester.setUseFetchMore(false);
  model.setResult(result);
  QCOMPARE(model.rowCount(), 1024);
  const QModelIndex root = model.index(7, 0);
  QVERIFY(model.hasChildren(root));
  QCOMPARE(model.rowCount(root), 0);
  model.fetchMore(root);
  const int trees = model.rowCount(root);
  QVERIFY(trees >= 1);
  const QModelIndex tree = model.index(0, 0, root);
  QVERIFY(model.index(0, TreeModel::kHeight, root).data().toString().toInt() >= 2);
  QCOMPARE(model.rowCount(tree), 0);
  model.fetchMore(tree);
  QVERIFY(model.rowCount(tree) > 0);
  QVERIFY2(model.rowCount(tree) < 1023, "edges come in batches");
  while (model.canFetchMore(tree)) {
    model.fetchMore(tree);
  }
  QCOMPARE(model.rowCount(tree), 1023);
  const QModelIndex edge = model.index(1022, 0, tree);
  model.fetchMore(edge);
  QVERIFY(model.rowCount(edge) >= 1);
  const auto [from, to] = model.endsAt(edge);
  QCOMPARE(model.endsAt(model.index(0, 0, edge)).first, from);
  QCOMPARE(model.endsAt(model.index(model.rowCount(edge) - 1, 0, edge)).second, to);
  QCOMPARE(edge.data().toString(), from + u" → "_s + to);
  // Roots and copies add up to the whole forest.
  std::int64_t copies = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    copies += model.index(row, TreeModel::kCopies).data().toString().toLongLong();
  }
  QCOMPARE(copies, result->trees);
}

void TestDesignerSchedule::treesAreDrawn() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  QTreeView& view = fixture.activity->trees()->view();
  const Model& model = fixture.editor()->model();
  fixture.window->actions()[u"view.trees"_s]->trigger();
  const QModelIndex first = view.model()->index(0, 0);
  view.setCurrentIndex(first);
  view.selectionModel()->select(first, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  QVERIFY(!fixture.overlay().trees.empty());
  QVERIFY(fixture.overlay().heat.load.empty());
  for (const TreeMark& mark : fixture.overlay().trees) {
    QCOMPARE(mark.paths.size(), 15U);
    QCOMPARE(mark.roots.size(), 1U);
    QVERIFY(mark.label.startsWith(first.data().toString()));
    for (const auto& path : mark.paths) {
      QVERIFY(isConnected(model, path));
    }
  }
  // Several at once, each with a style of its own.
  const QModelIndex second = view.model()->index(1, 0);
  view.selectionModel()->select(second, QItemSelectionModel::Select | QItemSelectionModel::Rows);
  const std::size_t drawn = fixture.overlay().trees.size();
  QVERIFY(drawn >= 2);
  std::set<int> categories;
  for (const TreeMark& mark : fixture.overlay().trees) {
    categories.insert(mark.category);
  }
  QCOMPARE(categories.size(), drawn);
  // Hovering adds one, and takes it away again.
  view.expand(view.model()->index(5, 0));
  const QModelIndex hovered = view.model()->index(0, 0, view.model()->index(5, 0));
  QVERIFY(hovered.isValid());
  view.scrollTo(hovered);
  QTest::mouseMove(view.viewport(), view.visualRect(hovered).center());
  Q_EMIT view.entered(hovered);
  QCOMPARE(fixture.overlay().trees.size(), drawn + 1);
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(view.viewport(), &leave);
  QCOMPARE(fixture.overlay().trees.size(), drawn);
  // Away from the rows, where the next list would be hovered too.
  QTest::mouseMove(fixture.window.get(), QPoint(1, 1));
  // Another mode has the canvas to itself, and gives it back.
  fixture.run("mode.analyse");
  QVERIFY(fixture.overlay().trees.empty());
  fixture.run("mode.schedule");
  QCOMPARE(fixture.overlay().trees.size(), drawn);
  fixture.run("schedule.clear-trees");
  QVERIFY(fixture.overlay().trees.empty());
  QVERIFY(!fixture.overlay().heat.load.empty());
  fixture.run("mode.draw");
  QVERIFY(fixture.overlay().isEmpty());
  // From the drawing to the trees of a GPU.
  const NodeId gpu = model.nodeNamed("b1g3").isValid() ? model.nodeNamed("b1g3") : (*model.nodes().begin()).id;
  fixture.editor()->selection().set({gpu});
  fixture.run("schedule.trees-of-selection");
  QCOMPARE(fixture.overlay().trees.size(), 1U);
  QCOMPARE(*fixture.overlay().trees.front().roots.begin(), gpu);
  // The find field.
  auto* search = fixture.window->findChild<QLineEdit*>(u"treeSearch"_s);
  search->setText(model.title(gpu));
  QVERIFY(view.model()->rowCount() >= 1);
  QVERIFY(view.model()->rowCount() < 16);
}

void TestDesignerSchedule::treesOfALink() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr result = fixture.activity->book()->current()->result;
  // What the trees of an arc carry is the load of the arc, with each of them counted once for each copy.
  for (const ArcLoad& load : result->loads) {
    const TreesOnLink found = treesOn(*result, {{load.tail, load.head}}, 100000, {});
    QCOMPARE(found.first.size(), static_cast<std::size_t>(found.different));
    Rational sum;
    std::int64_t copies = 0;
    for (const TreeOnLink& tree : found.first) {
      sum = sum + tree.rate;
      copies += tree.copies;
    }
    QCOMPARE(copies, found.copies);
    QVERIFY(sum == load.rate);
  }
  // The canvas tells it beside the link under the pointer.
  CanvasView& canvas = fixture.editor()->canvas();
  const LineItem& line = canvas.scene().lines().front();
  canvas.setHovered(line.links.front());
  QTRY_VERIFY(canvas.hoverNote().has_value());
  QVERIFY(!canvas.hoverNote()->rows.empty());
  QVERIFY(canvas.hoverNote()->rows.front().second.endsWith(u" GB/s"_s));
  canvas.setHovered({});
  QVERIFY(!canvas.hoverNote());
  // In another mode links say what they are, no more.
  fixture.run("mode.draw");
  canvas.setHovered(line.links.front());
  QTest::qWait(50);
  QVERIFY(!canvas.hoverNote());
}

void TestDesignerSchedule::heatAndTheTableOfLoads() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const Heat heat = fixture.overlay().heat;
  QVERIFY(!heat.load.empty());
  // Marked are the fullest, unless most are.
  const auto marks =
      std::count_if(heat.load.begin(), heat.load.end(), [](const auto& each) { return each.second.isBottleneck; });
  QVERIFY(2 * static_cast<std::size_t>(marks) <= heat.load.size());
  for (const auto& [link, load] : heat.load) {
    QVERIFY(load.forward >= 0 && load.forward <= 1 && load.backward >= 0 && load.backward <= 1);
  }
  fixture.run("schedule.heat");
  QVERIFY(fixture.overlay().heat.load.empty());
  fixture.run("schedule.heat");
  QVERIFY(!fixture.overlay().heat.load.empty());

  fixture.window->actions()[u"view.link-loads"_s]->trigger();
  auto* table = fixture.window->findChild<QTableView*>(u"loadsTable"_s);
  const auto& loads = fixture.current()->result->loads;
  QCOMPARE(table->model()->rowCount(), static_cast<int>(loads.size()));
  // The fullest stand first.
  QVERIFY(table->model()->index(0, 0).data(LoadModel::kBusiestRole).toBool());
  auto* fullest = fixture.window->findChild<QCheckBox*>(u"loadsFullest"_s);
  fullest->setChecked(true);
  QCOMPARE(table->model()->rowCount(),
           static_cast<int>(std::count_if(loads.begin(), loads.end(), [](const ArcLoad& l) { return l.isBusiest; })));
  fullest->setChecked(false);
  auto* search = fixture.window->findChild<QLineEdit*>(u"loadsSearch"_s);
  const QModelIndex row = table->model()->index(3, 0);
  const QString name = row.data().toString();
  search->setText(name);
  QCOMPARE(table->model()->rowCount(), 1);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(table->model()->index(0, 0)).center());
  const std::vector<LinkId> chosen = fixture.editor()->selection().links();
  QVERIFY(!chosen.empty());
  const Link& link = *fixture.editor()->model().find(chosen.front());
  const QString ends = QString::fromStdString(fixture.editor()->model().nameOf(link.tail) + " → " +
                                              fixture.editor()->model().nameOf(link.head));
  const QString back = QString::fromStdString(fixture.editor()->model().nameOf(link.head) + " → " +
                                              fixture.editor()->model().nameOf(link.tail));
  QVERIFY(name == ends || name == back);
}

void TestDesignerSchedule::allreduceHasTwoHalves() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  Question question = fixture.editor()->bound().question();
  question.collective = Collective::allreduce;
  fixture.editor()->bound().setQuestion(question);
  QVERIFY(fixture.generate());
  TreeModel& model = fixture.activity->trees()->model();
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.rowCount(model.index(0, 0)), 16);
  QCOMPARE(model.rowCount(model.index(1, 0)), 16);
  // The trees of the first half run towards their roots.
  QTreeView& view = fixture.activity->trees()->view();
  view.setCurrentIndex(view.model()->index(0, 0, view.model()->index(0, 0)));
  QVERIFY(!fixture.overlay().trees.empty());
  const TreeMark& mark = fixture.overlay().trees.front();
  const NodeId root = *mark.roots.begin();
  bool arrives = false;
  bool leaves = false;
  for (const auto& path : mark.paths) {
    QVERIFY(isConnected(fixture.editor()->model(), path));
    const Link& last = *fixture.editor()->model().find(path.back().link);
    const Link& first = *fixture.editor()->model().find(path.front().link);
    arrives = arrives || (path.back().isForward ? last.head.node : last.tail.node) == root;
    leaves = leaves || (path.front().isForward ? first.tail.node : first.head.node) == root;
  }
  QVERIFY(arrives && !leaves);
}

void TestDesignerSchedule::oneTreeAlone() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  TreeDrawing* drawing = fixture.activity->drawing();
#ifdef COPPICE_DOT
  drawing->setHelper(QStringLiteral(COPPICE_DOT));
  fixture.activity->trees()->showRoot(0);
  fixture.window->actions()[u"view.tree"_s]->trigger();
  QVERIFY(QTest::qWaitFor([&] { return drawing->isDrawn() || drawing->isText(); }, kLong));
  QVERIFY2(drawing->isDrawn(), qPrintable(drawing->note()));
#endif
  drawing->setHelper(u"/nonexistent/coppice-dot"_s);
  fixture.window->actions()[u"view.tree"_s]->trigger();
  fixture.activity->trees()->showRoot(1);
  QVERIFY(QTest::qWaitFor([&] { return drawing->isText(); }, kLong));
  QVERIFY(drawing->note().contains(u"as text"_s));
  const QString text = fixture.window->findChild<QPlainTextEdit*>(u"treeText"_s)->toPlainText();
  QCOMPARE(text.trimmed().split(u'\n').size(), 16);
}

void TestDesignerSchedule::charts() {
  Fixture fixture;
  QVERIFY(fixture.openPreset("mi250", {{"boxes", "2"}}));
  QVERIFY(fixture.generate());
  ChartPanel* charts = fixture.activity->charts();
  charts->setMaxK(4);
  fixture.window->actions()[u"view.charts"_s]->trigger();
  QVERIFY(QTest::qWaitFor([&] { return charts->values().size() == 4; }, kLong));
  for (const KValue& value : charts->values()) {
    QVERIFY(value.algbw <= *fixture.current()->result->bound);
    QVERIFY(value.algbw.isPositive());
  }
  const QString csv = charts->csv(ChartPanel::Which::treeCount);
  QCOMPARE(csv.trimmed().split(u'\n').size(), 5);
  QVERIFY(csv.contains(QString::fromStdString(charts->values()[1].algbw.toString())));
  const QStringList bins = charts->csv(ChartPanel::Which::histogram).trimmed().split(u'\n');
  int links = 0;
  for (const QString& line : bins.mid(1)) {
    links += line.section(u',', 2).toInt();
  }
  QCOMPARE(links, static_cast<int>(fixture.current()->result->loads.size()));
  for (const QString& name : {u"k.svg"_s, u"k.png"_s}) {
    QVERIFY(charts->savePicture(ChartPanel::Which::treeCount, fixture.dir.filePath(name)));
    QVERIFY(QFileInfo(fixture.dir.filePath(name)).size() > 500);
  }
  QVERIFY(!QImage(fixture.dir.filePath(u"k.png"_s)).isNull());
  QVERIFY(!charts->savePicture(ChartPanel::Which::histogram, fixture.dir.filePath(u"k.bmp"_s)));
}

// ---- options

/// As `generate --sizes` and `--within`; beside the k that is used stand those of the bound and of the paper.
void TestDesignerSchedule::treesForSizesAndLoss() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  fixture.run("schedule.options");
  auto* dialog = fixture.activity->optionsDialog();
  auto* generate = dialog->findChild<QPushButton*>(u"generateButton"_s);
  auto* fault = dialog->findChild<QLabel*>(u"generateCountFault"_s);
  auto* sizes = dialog->findChild<QComboBox*>(u"generateSizes"_s);
  auto* loss = dialog->findChild<QLineEdit*>(u"generateLoss"_s);
  QVERIFY(!sizes->isEnabled() && !loss->isEnabled());
  dialog->findChild<QRadioButton*>(u"generateBySizes"_s)->click();
  QVERIFY(sizes->isEnabled() && !loss->isEnabled());
  QCOMPARE(dialog->options().treeCount, TreeCount::sizes);
  QCOMPARE(dialog->options().sizes, "pow2");
  sizes->setEditText(u"3 apples"_s);
  QVERIFY(fault->isVisible() && !generate->isEnabled());
  sizes->setEditText(u"1MiB, 64KiB"_s);
  QVERIFY(fault->isHidden() && generate->isEnabled());
  QCOMPARE(fixture.book()->options().sizes, "1MiB,64KiB");
  QVERIFY(generateCommand({}, dialog->options(), u"a"_s).contains(u"--sizes 1MiB,64KiB"_s));
  sizes->setCurrentIndex(0);
  sizes->setEditText(sizes->itemText(0));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr result = fixture.current()->result;
  QVERIFY(result->chosen.has_value());
  QCOMPARE(result->k, result->chosen->k);
  const Rational share = result->algbw / *result->bound;
  QVERIFY(result->chosen->loss == Rational(1) - share);
  QVERIFY(result->paperK > 0 && result->optimumK > 0 && result->optimumK <= result->paperK);
  QVERIFY(result->paperK != result->k);
  const QString facts = fixture.label("scheduleFacts");
  QVERIFY2(facts.contains(u"powers of two"_s), qPrintable(facts));
  QVERIFY2(facts.contains(u"in the paper %1"_s.arg(result->paperK)), qPrintable(facts));
  // The file keeps what was asked, and both numbers.
  const QString path = fixture.dir.filePath(u"sized.forest.json"_s);
  QVERIFY(saveSchedule(path, *result));
  const auto loaded = loadSchedule(path, {});
  QVERIFY(loaded);
  QVERIFY((*loaded)->options == result->options);
  QCOMPARE((*loaded)->paperK, result->paperK);
  QCOMPARE((*loaded)->optimumK, result->optimumK);
  dialog->findChild<QRadioButton*>(u"generateByLoss"_s)->click();
  loss->setText(u"100%"_s);
  QVERIFY(fault->isVisible() && !generate->isEnabled());
  loss->setText(u"5%"_s);
  QVERIFY(generateCommand({}, dialog->options(), u"a"_s).contains(u"--within 5%"_s));
  QVERIFY(fixture.generate());
  const ScheduleResult& lossy = *fixture.current()->result;
  QVERIFY(lossy.k < result->optimumK);
  QVERIFY(lossy.algbw / *lossy.bound >= Rational(95, 100));
  QVERIFY(fixture.label("scheduleFacts").contains(u"loses at most 5%"_s));
}

void TestDesignerSchedule::theOptionsDialog() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  fixture.run("schedule.options");
  auto* dialog = fixture.activity->optionsDialog();
  QVERIFY(dialog->isVisible());
  QVERIFY(!dialog->isModal());
  QVERIFY(!dialog->findChild<QComboBox*>(u"generateRoot"_s)->isVisible());
  dialog->findChild<QRadioButton*>(u"generateScan"_s)->click();
  dialog->findChild<QSpinBox*>(u"generateMostK"_s)->setValue(3);
  auto* table = dialog->findChild<QTableWidget*>(u"generateTable"_s);
  QVERIFY(QTest::qWaitFor([&] { return table->rowCount() == 3; }, kLong));
  QCOMPARE(dialog->options().treeCount, TreeCount::scan);
  QCOMPARE(fixture.book()->options().maxK, 3);
  // Amounts: what cannot be read is reported and not generated.
  auto* amounts = dialog->findChild<QLineEdit*>(u"generateAmounts"_s);
  auto* generate = dialog->findChild<QPushButton*>(u"generateButton"_s);
  QVERIFY(amounts->isVisible());
  amounts->setText(u"b9*=2"_s);
  QVERIFY(dialog->findChild<QLabel*>(u"generateAmountsFault"_s)->text().contains(u"b9*"));
  QVERIFY(!generate->isEnabled());
  amounts->clear();
  QVERIFY(generate->isEnabled());
  // The collective is that of the tool bar; a rooted one has a root.
  Question question = fixture.editor()->bound().question();
  question.collective = Collective::broadcast;
  fixture.editor()->bound().setQuestion(question);
  auto* root = dialog->findChild<QComboBox*>(u"generateRoot"_s);
  QVERIFY(root->isVisible());
  QVERIFY(!amounts->isVisible());
  QCOMPARE(root->count(), 16);
  root->setCurrentIndex(5);
  Q_EMIT root->activated(5);
  QCOMPARE(dialog->options().root, root->itemText(5).toStdString());
  QCOMPARE(fixture.editor()->model().title(fixture.editor()->bound().question().root), root->itemText(5));
  dialog->findChild<QRadioButton*>(u"generateExact"_s)->click();
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"generateButton"_s), Qt::LeftButton);
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.current() != nullptr, qPrintable(fixture.book()->failure()));
  QCOMPARE(*fixture.current()->result->root(), 5);
  QCOMPARE(fixture.window->workspace().mode(), Mode::schedule);
}

void TestDesignerSchedule::amountsPerGpu() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  ScheduleOptions options;
  options.amounts = "b0g3=3, b1*=0";
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  const ScheduleResultPtr result = fixture.current()->result;
  QCOMPARE(result->forests()->amounts, (std::vector<std::int64_t>{1, 1, 1, 3, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  QVERIFY(result->verdict.ok);
  QVERIFY(result->meetsBound);
  QVERIFY(fixture.save());
  // The file tells the amounts in the words they were given in.
  const QString path = fixture.current()->path;
  QVERIFY(!path.isEmpty());
  const auto again = loadSchedule(path, {});
  QVERIFY(again);
  QCOMPARE((*again)->options.amounts, options.amounts);
  QCOMPARE(generateCommand(u"a.fabric.json"_s, options, u"o.json"_s),
           u"coppice-cli generate a.fabric.json -c allgather --amounts 'b0g3=3, b1*=0' -o o.json"_s);
}

void TestDesignerSchedule::aPartOfTheGpus() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  std::set<ElementId> chosen;
  for (const auto& [id, node] : fixture.editor()->model().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu && chosen.size() < 4) {
      chosen.insert(id);
    }
  }
  fixture.editor()->selection().set(chosen);
  fixture.run("schedule.options");
  auto* dialog = fixture.activity->optionsDialog();
  auto* part = dialog->findChild<QComboBox*>(u"generateGpus"_s);
  QCOMPARE(part->count(), 2);
  part->setCurrentIndex(1);
  QCOMPARE(fixture.book()->options().gpus.size(), 4U);
  fixture.editor()->selection().clear();
  QCOMPARE(dialog->options().gpus.size(), 4U);
  QVERIFY(fixture.generate());
  QCOMPARE(fixture.current()->result->fabric->gpuCount(), 4);
  QVERIFY(fixture.current()->result->meetsBound);
  QVERIFY(fixture.book()->isFresh(*fixture.current()));
  QVERIFY(fixture.save());
  // Read again, it is still known to be of this fabric's part.
  const auto loaded = loadSchedule(fixture.current()->path, {});
  QVERIFY(loaded);
  QCOMPARE((*loaded)->options.gpus, fixture.current()->result->options.gpus);
  QCOMPARE(digestNow(*fixture.editor()->document().facts(), (*loaded)->options.gpus), (*loaded)->fabricDigest());
}

// ---- export

void TestDesignerSchedule::exportWritesAVerifiedProgram() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  QTest::keyClick(fixture.window.get(), Qt::Key_E, Qt::ControlModifier);
  auto* dialog = fixture.window->findChild<ExportDialog*>();
  QVERIFY(dialog != nullptr);
  QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong));
  QVERIFY2(dialog->check()->isOk, qPrintable(dialog->check()->summary));
  const auto& rows = dialog->check()->rows;
  QVERIFY(rows.size() >= 10);
  for (const CheckRow& row : rows) {
    QVERIFY(row.state != CheckState::bad);
    QVERIFY(!row.name.isEmpty());
  }
  const auto steps =
      std::find_if(rows.begin(), rows.end(), [](const CheckRow& row) { return row.name.contains(u"Steps"_s); });
  QVERIFY(steps != rows.end());
  QVERIFY(steps->value.toInt() >= 1 && steps->value.toInt() <= 256);
  QVERIFY(steps->limit.contains(u"256"_s));
  fixture.answers->saveTo = fixture.dir.filePath(u"ag.xml"_s);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"exportSave"_s), Qt::LeftButton);
  const auto text = io::readFile(fixture.answers->saveTo.toStdString());
  QVERIFY(text);
  const auto file = program::readMscclXml(*text, program::Runtime::msccl);
  QVERIFY(file);
  const auto verdict = verify::verifyProgram(file->program);
  QVERIFY(verdict && verdict->ok);
  QCOMPARE(verdict->ranks, 16);
  // Trees and the schedule itself.
  fixture.answers->saveTo = fixture.dir.filePath(u"ag.trees.xml"_s);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"exportTrees"_s), Qt::LeftButton);
  QVERIFY(io::readTreeXml(*io::readFile(fixture.answers->saveTo.toStdString())));
  fixture.answers->saveTo = fixture.dir.filePath(u"ag.forest.json"_s);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"exportSchedule"_s), Qt::LeftButton);
  QVERIFY(loadSchedule(fixture.answers->saveTo, {}));
  // A path that cannot be written is reported.
  fixture.answers->saveTo = fixture.dir.filePath(u"no/such/folder/ag.xml"_s);
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"exportSave"_s), Qt::LeftButton);
  QCOMPARE(fixture.answers->failures.size(), 1);
  // Sizes that cannot be read hold the button back.
  dialog->findChild<QLineEdit*>(u"exportMaxBytes"_s)->setText(u"many"_s);
  QVERIFY(dialog->check() == nullptr);
  QVERIFY(!dialog->findChild<QPushButton*>(u"exportSave"_s)->isEnabled());
  dialog->findChild<QLineEdit*>(u"exportMaxBytes"_s)->setText(u"1 GiB"_s);
  QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong));
  QCOMPARE(dialog->options().maxBytes, std::int64_t{1} << 30);
  QVERIFY(dialog->check()->xml.find("maxBytes=\"1073741824\"") != std::string::npos);
}

void TestDesignerSchedule::aFixMendsWhatDoesNotFit() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  ExportDialog* dialog = fixture.activity->exportCurrent();
  lowering::Options options = dialog->options();
  options.instances = 32;
  dialog->setOptions(options);
  QVERIFY(dialog->check() == nullptr);
  QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong));
  QVERIFY(!dialog->check()->isOk);
  QVERIFY(dialog->check()->xml.empty());
  QVERIFY(!dialog->findChild<QPushButton*>(u"exportSave"_s)->isEnabled());
  QVERIFY(!dialog->saveProgram(fixture.dir.filePath(u"x.xml"_s)));
  const CheckRow& row = dialog->check()->rows.front();
  QCOMPARE(row.state, CheckState::bad);
  QVERIFY(!row.fixes.empty());
  auto* fix = dialog->findChild<QPushButton*>(u"checkFix"_s);
  QVERIFY(fix != nullptr);
  QTest::mouseClick(fix, Qt::LeftButton);
  QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr && dialog->check()->isOk; }, kLong));
  QVERIFY(dialog->options().instances < 32);
  QVERIFY(dialog->saveProgram(fixture.dir.filePath(u"x.xml"_s)));
}

void TestDesignerSchedule::commandLines() {
  QCOMPARE(shellQuoted(u"plain.json"_s), u"plain.json"_s);
  QCOMPARE(shellQuoted(u"it's here"_s), u"'it'\\''s here'"_s);
  QCOMPARE(shellQuoted(u"-rf"_s), u"'-rf'"_s);
  QCOMPARE(shellQuoted({}), u"''"_s);
  ScheduleOptions options;
  options.collective = Collective::broadcast;
  options.root = "b0g2";
  options.gpus = {"b0g1", "b0g2"};
  options.treeCount = TreeCount::fixed;
  options.k = 3;
  options.maxHeight = 4;
  options.maxPeers = 12;
  options.usesMulticast = true;
  QCOMPARE(
      generateCommand(u"/tmp/a b.fabric.json"_s, options, u"out.forest.json"_s),
      u"coppice-cli generate '/tmp/a b.fabric.json' -c broadcast --gpus b0g1,b0g2 --root b0g2 --k 3 --max-height 4 "
      "--max-peers 12 --prune -o out.forest.json"_s);
  lowering::Options lowered;
  lowered.runtime = program::Runtime::mscclExecutorNccl;
  lowered.protocol = program::Protocol::simple;
  lowered.instances = 2;
  lowered.inPlace = false;
  lowered.maxBytes = 1048576;
  QCOMPARE(
      exportCommand(u"s.forest.json"_s, lowered, u"s.xml"_s),
      u"coppice-cli export s.forest.json --format msccl --target msccl-executor-nccl --protocol Simple --instances "
      "2 --max-bytes 1048576 --out-of-place -o s.xml"_s);
}

// ---- opening

void TestDesignerSchedule::openingAProgram() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ExportCheck check = checkExport(*fixture.current()->result, {}, {});
  QVERIFY(check.isOk);
  const QString path = fixture.dir.filePath(u"good.xml"_s);
  QVERIFY(io::saveFile(path.toStdString(), check.xml));
  QVERIFY(fixture.window->files().openFile(path) == nullptr);
  auto* report = fixture.window->findChild<ProgramPanel*>(u"programPanel"_s);
  QVERIFY(QTest::qWaitFor([&] { return !report->verdict().isEmpty() && !report->isReading(); }, kLong));
  QVERIFY2(report->isOk(), qPrintable(report->verdict()));
  QVERIFY(report->verdict().contains(u"AllGather"_s));
  QVERIFY(report->facts().contains(u"16 ranks"_s));
  QVERIFY(report->facts().contains(u"in place"_s));
  QVERIFY(fixture.answers->failures.isEmpty());
  QCOMPARE(fixture.window->workspace().contexts().size(), 1U);

  // The same program straight from the schedule.
  QSignalSpy read(report, &ProgramPanel::readingChanged);
  report->findChild<QToolButton*>(u"programOfSchedule"_s)->click();
  QVERIFY(QTest::qWaitFor([&] { return !read.isEmpty(); }, kLong));
  QVERIFY2(report->isOk(), qPrintable(report->verdict() + report->finding()));
  QCOMPARE(report->reading()->program().ranks.size(), std::size_t{16});
}

void TestDesignerSchedule::openingABrokenProgram() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ExportCheck check = checkExport(*fixture.current()->result, {}, {});
  std::string xml = check.xml;
  // The fourth receive of the file becomes one that nobody sends to.
  std::size_t at = 0;
  for (int i = 0; i < 4; ++i) {
    at = xml.find("recv=\"", at + 1);
    while (xml.compare(at, 8, "recv=\"-1") == 0) {
      at = xml.find("recv=\"", at + 1);
    }
  }
  QVERIFY(at != std::string::npos);
  xml.replace(at, xml.find('"', at + 6) - at + 1, "recv=\"9999\"");
  const auto line = std::count(xml.begin(), xml.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const QString path = fixture.dir.filePath(u"broken.xml"_s);
  QVERIFY(io::saveFile(path.toStdString(), xml));
  fixture.window->files().openFile(path);
  auto* report = fixture.window->findChild<ProgramPanel*>(u"programPanel"_s);
  QVERIFY(QTest::qWaitFor([&] { return !report->verdict().isEmpty() && !report->isReading(); }, kLong));
  QVERIFY(!report->isOk());
  const auto& rows = report->rows();
  QVERIFY(!rows.empty());
  QCOMPARE(rows.front().state, CheckState::bad);
  const bool hasPlace = std::any_of(rows.begin(), rows.end(), [&](const CheckRow& row) {
    return row.value.contains(u"line %1,"_s.arg(line)) || row.value.contains(u"rank"_s) || row.value.contains(u"tb"_s);
  });
  QVERIFY(hasPlace);

  // No program at all: told, with the place, and nothing opens.
  QVERIFY(io::saveFile(path.toStdString(), "<algo"));
  QVERIFY(io::saveFile(path.toStdString(), "<algo >\n<gpu id=\"0\""));
  QSignalSpy read(report, &ProgramPanel::readingChanged);
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !read.isEmpty(); }, kLong));
  QVERIFY(!report->isOk());
  QVERIFY(!report->rows().empty());
}

void TestDesignerSchedule::openingAForest() {
  Fixture fixture;
  const ScheduleResultPtr result = made(preset("dgx-a100", {{"boxes", "2"}}), {.heightEffort = 2});
  const QString path = fixture.dir.filePath(u"run 7.forest.json"_s);
  QVERIFY(saveSchedule(path, *result));
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return fixture.editor() != nullptr; }, kLong));
  QCOMPARE(fixture.window->workspace().mode(), Mode::schedule);
  QCOMPARE(fixture.book()->entries().size(), 1U);
  QCOMPARE(fixture.current()->name, u"run 7"_s);
  QCOMPARE(fixture.current()->result->algbw, result->algbw);
  QVERIFY(fixture.editor()->model().header().extra.find("coppice_request") == std::string::npos);
  QVERIFY(QTest::qWaitFor([&] { return fixture.book()->isFresh(*fixture.current()); }, kLong));
  // Once more: the document with these facts is open already.
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return fixture.book()->entries().size() == 2; }, kLong));
  QCOMPARE(fixture.window->workspace().contexts().size(), 1U);
  // A forest that is none.
  QVERIFY(io::saveFile(path.toStdString(), R"({"format": "coppice-forest", "version": 1, "collective": 3})"));
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.answers->failures.isEmpty(); }, kLong));
  QVERIFY(fixture.answers->failures.front().contains(u"run 7.forest.json"_s));
}

void TestDesignerSchedule::openingTrees() {
  Fixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const QString path = fixture.dir.filePath(u"ours.xml"_s);
  QVERIFY(io::saveFile(path.toStdString(), [&](std::ostream& out) {
    return io::writeTreeXml(out, *fixture.current()->result->forests(), *fixture.current()->result->fabric);
  }));
  const Rational algbw = fixture.current()->result->algbw;
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.activity->isOpening(); }, kLong));
  QVERIFY2(fixture.answers->failures.isEmpty(), qPrintable(fixture.answers->failures.join(u'\n')));
  QCOMPARE(fixture.window->workspace().contexts().size(), 1U);
  QCOMPARE(fixture.book()->entries().size(), 2U);
  QCOMPARE(fixture.current()->name, u"ours"_s);
  QCOMPARE(fixture.current()->result->algbw, algbw);
  QVERIFY(fixture.current()->result->meetsBound);
  // Without the fabric: one that carries exactly these trees.
  QVERIFY(fixture.window->files().close(*fixture.editor()));
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.activity->isOpening(); }, kLong));
  QVERIFY2(fixture.answers->failures.isEmpty(), qPrintable(fixture.answers->failures.join(u'\n')));
  QCOMPARE(fixture.window->workspace().contexts().size(), 1U);
  QCOMPARE(fixture.book()->entries().size(), 1U);
  QVERIFY(fixture.current()->result->verdict.ok);
  // Broken: the place is reported.
  QVERIFY(io::saveFile(path.toStdString(), "<Algo nchunkspernode=\"1\">\n<tree root=\"a\" index=\"0\" nchunks=\"x\">"));
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.answers->failures.isEmpty(); }, kLong));
  QVERIFY(fixture.answers->failures.front().contains(u"ours.xml:2"_s) ||
          fixture.answers->failures.front().contains(u"ours.xml:1"_s));
}

void TestDesignerSchedule::actionsWithoutASchedule() {
  Fixture fixture;
  const auto triggerAll = [&] {
    for (QAction* action : fixture.window->actions().all()) {
      const QString id = ActionRegistry::idOf(action);
      if (id.startsWith(u"schedule."_s)) {
        QVERIFY2(!action->shortcuts().isEmpty(), qPrintable(id));
        action->trigger();
        if (fixture.book() != nullptr) {
          QVERIFY(fixture.isDone());
        }
      }
    }
    fixture.activity->optionsDialog()->hide();
  };
  fixture.run("mode.schedule");
  QVERIFY(fixture.activity->exportCurrent() == nullptr);
  triggerAll();
  fixture.window->workspace().newDocument();
  triggerAll();
  // A fabric with faults.
  fixture.window->workspace().adopt(readModel([] {
                                      fabric::Description wrong = preset("dgx-a100", {{"boxes", "1"}});
                                      wrong.links[3].bandwidth = "fast";
                                      wrong.nodes[1].id = wrong.nodes[0].id;
                                      wrong.links[5].dst = "nobody";
                                      return wrong;
                                    }())
                                        .model,
                                    {}, u"wrong"_s);
  triggerAll();
  QVERIFY(!fixture.book()->failure().isEmpty());
  QVERIFY(fixture.book()->entries().empty());
}

/// Screenshots for looking at, on demand: COPPICE_PICTURES names the folder.
void TestDesignerSchedule::pictures() {
  const QString folder = qEnvironmentVariable("COPPICE_PICTURES");
  if (folder.isEmpty()) {
    QSKIP("COPPICE_PICTURES is not set");
  }
  QDir().mkpath(folder);
  for (const SchemeChoice scheme : {SchemeChoice::light, SchemeChoice::dark}) {
    Theme::instance().setChoice(scheme);
    const QString tail = scheme == SchemeChoice::light ? u"-light.png"_s : u"-dark.png"_s;
    Fixture fixture;
#ifdef COPPICE_DOT
    fixture.activity->drawing()->setHelper(QStringLiteral(COPPICE_DOT));
#endif
    fixture.window->resize(1600, 1000);
    const auto shoot = [&](const QString& name, QWidget* widget) {
      QTest::qWait(300);
      if (fixture.editor() != nullptr) {
        fixture.editor()->canvas().complete();
      }
      QTest::qWait(50);
      widget->grab().save(folder + u'/' + name + tail);
    };
    QVERIFY(fixture.openPreset("dgx-h100", {{"boxes", "4"}}));
    fixture.run("mode.schedule");
    shoot(u"empty"_s, fixture.window.get());
    QVERIFY(fixture.generate());
    fixture.run("zoom.fit");
    shoot(u"heat"_s, fixture.window.get());
    fixture.window->actions()[u"view.link-loads"_s]->trigger();
    shoot(u"loads"_s, fixture.window.get());
    fixture.activity->trees()->showRoot(3);
    fixture.window->actions()[u"view.trees"_s]->trigger();
    shoot(u"tree"_s, fixture.window.get());
    QTreeView& view = fixture.activity->trees()->view();
    view.selectionModel()->select(view.model()->index(12, 0), QItemSelectionModel::Select | QItemSelectionModel::Rows);
    view.selectionModel()->select(view.model()->index(30, 0), QItemSelectionModel::Select | QItemSelectionModel::Rows);
    shoot(u"trees"_s, fixture.window.get());
    fixture.window->actions()[u"view.tree"_s]->trigger();
    QTest::qWait(1500);
    shoot(u"alone"_s, fixture.window.get());
    fixture.window->actions()[u"view.charts"_s]->trigger();
    QVERIFY(QTest::qWaitFor([&] { return fixture.activity->charts()->values().size() >= 8; }, kLong));
    shoot(u"charts"_s, fixture.window.get());
    ExportDialog* dialog = fixture.activity->exportCurrent();
    QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong));
    shoot(u"export"_s, dialog);
    lowering::Options options = dialog->options();
    options.instances = 32;
    dialog->setOptions(options);
    QVERIFY(QTest::qWaitFor([&] { return dialog->check() != nullptr; }, kLong));
    shoot(u"export-bad"_s, dialog);
    dialog->close();
    fixture.run("schedule.options");
    fixture.activity->optionsDialog()->findChild<QRadioButton*>(u"generateScan"_s)->click();
    QTest::qWait(2000);
    shoot(u"options"_s, fixture.activity->optionsDialog());
    fixture.activity->optionsDialog()->hide();
    QVERIFY(fixture.openPreset("dgx-h100", {{"boxes", "128"}}));
    fixture.run("schedule.generate");
    QTest::qWait(400);
    shoot(u"running"_s, fixture.window.get());
    QVERIFY(fixture.isDone());
    QVERIFY(fixture.current() != nullptr && fixture.current()->result);
    fixture.run("zoom.fit");
    shoot(u"large-heat"_s, fixture.window.get());
    fixture.run("arrange.fold-all");
    fixture.run("zoom.fit");
    shoot(u"large-folded"_s, fixture.window.get());
    fixture.run("arrange.unfold-all");
    fixture.activity->trees()->showRoot(100);
    shoot(u"large-tree"_s, fixture.window.get());
    fixture.window->actions()[u"view.tree"_s]->trigger();
    QTest::qWait(3000);
    shoot(u"large-alone"_s, fixture.window.get());
  }
}

QTEST_MAIN(TestDesignerSchedule)
#include "tst_designer_schedule.moc"
