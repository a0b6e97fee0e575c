// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QRadioButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <algorithm>

#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/figures.hpp"
#include "designer/export/export_command.hpp"
#include "designer/export/export_dialog.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/schedules/methods_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/schedules/schedule_fixture.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "io/files.hpp"
#include "io/tree_xml.hpp"
#include "program/msccl_xml.hpp"
#include "support/waiting.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

/// Generating schedules, their verdicts, options and export.
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
  void generateShowsTheVerdict();
  void fixedTreesSayWhatTheyLose();
  void failuresAreOneMessage();
  void theCardIsClearOfTheList();
  void methodsThatDoNotSuitAreNotTaken();
  void errorsNameFields();
  void wordsOfOptions_data();
  void wordsOfOptions();
  void cancelKeepsTheLastResult();
  void staleAfterAnEdit();
  void treesForSizesAndLoss();
  void theOptionsDialog();
  void amountsPerGpu();
  void aPartOfTheGpus();
  void exportWritesAVerifiedProgram();
  void aFixMendsWhatDoesNotFit();
  void commandLines();
  void actionsWithoutASchedule();
};

void TestDesignerSchedule::initTestCase() {
  QVERIFY(useLightFusion());
  Theme::instance().applyTo(*qApp);
}

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

void TestDesignerSchedule::generateShowsTheVerdict() {
  ScheduleFixture fixture;
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
  QVERIFY(fixture.label("scheduleExact").contains(QString::fromStdString(toFraction(result.algbw))));
  QVERIFY(fixture.label("scheduleNumber").startsWith(decimal(result.algbw)));
  QVERIFY(fixture.label("scheduleDetails").contains(u"no schedule of this collective is faster"_s));
  auto* list = fixture.window->findChild<QListView*>(u"scheduleList"_s);
  QCOMPARE(list->model()->rowCount(), 1);
  QCOMPARE(list->currentIndex().row(), 0);
  QVERIFY(!fixture.window->findChild<QWidget*>(u"scheduleRunning"_s)->isVisible());
}

void TestDesignerSchedule::fixedTreesSayWhatTheyLose() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("mi250", {{"boxes", "2"}}));
  ScheduleOptions options = fixture.book()->options();
  options.methodOptions = {{kFixedK, "1"}};
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  const ScheduleResult& lossy = *fixture.current()->result;
  QVERIFY(lossy.algbw < *lossy.bound);
  QVERIFY(!lossy.meetsBound);
  QCOMPARE(lossy.k, 1);
  QVERIFY(lossy.verdictText().contains(percentOf(lossy.algbw, *lossy.bound)));
  // The scan takes the best, with the fewest trees among equals.
  options.methodOptions = {{kBestOfK, "4"}};
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
  ScheduleFixture fixture;
  fixture.window->workspace().newDocument();
  QVERIFY2(!fixture.window->actions()[u"schedule.generate"_s]->isEnabled(), "there is nothing to generate for");
  fixture.editor()->document().edit(u"one"_s, [](Edit& edit) {
    edits::addNode(edit, fabric::NodeKind::gpu, {500, 500});
  });
  fixture.run("schedule.generate");
  QVERIFY(fixture.isDone());
  QVERIFY(!fixture.book()->failure().isEmpty());
  QVERIFY(!fixture.book()->failure().contains(u'\n'));
  QCOMPARE(fixture.label("scheduleFailure"), fixture.book()->failure());
  QVERIFY(fixture.book()->entries().empty());
  // It goes when it is dismissed.
  QTest::mouseClick(fixture.window->findChild<QToolButton*>(u"scheduleDismiss"_s), Qt::LeftButton);
  QVERIFY(fixture.book()->failure().isEmpty());
  QVERIFY(!fixture.window->findChild<QLabel*>(u"scheduleFailure"_s)->isVisible());
  fixture.run("schedule.generate");
  QVERIFY(fixture.isDone());
  QVERIFY(!fixture.book()->failure().isEmpty());
  // The next attempt clears it.
  fixture.run("edit.undo");
  fixture.editor()->document().edit(u"two"_s, [](Edit& edit) {
    const NodeId a = edits::addNode(edit, fabric::NodeKind::gpu, {});
    const NodeId b = edits::addNode(edit, fabric::NodeKind::gpu, {100, 0});
    QVERIFY(edits::addLink(edit, a, b, {.bandwidth = "10"}));
  });
  QVERIFY(fixture.generate());
  QVERIFY(fixture.book()->failure().isEmpty());
}

/// However many schedules there are and whatever an error says: nothing lies over anything else, and the window stays
/// as large as it was.
void TestDesignerSchedule::theCardIsClearOfTheList() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  constexpr QSize kSmall(1272, 680);
  fixture.window->resize(kSmall);
  for (const char* method : {"forestcoll", "ring", "multi-ring", "direct", "bfb"}) {
    ScheduleOptions options = fixture.book()->options();
    options.method = method;
    fixture.book()->setOptions(options);
    fixture.run("schedule.generate");
    QVERIFY(fixture.isDone());
    QCoreApplication::processEvents();
    const auto* panel = fixture.window->findChild<QWidget*>(u"schedulePanel"_s);
    const auto placeOf = [&](const QWidget* widget) { return QRect(widget->mapTo(panel, QPoint()), widget->size()); };
    const auto* verdict = fixture.window->findChild<QLabel*>(u"scheduleVerdict"_s);
    const QWidget* card = nullptr;
    for (const QWidget* each = verdict; each != panel && card == nullptr; each = each->parentWidget()) {
      card = qobject_cast<const QScrollArea*>(each);
    }
    QVERIFY(card != nullptr);
    const QRect list = placeOf(fixture.window->findChild<QListView*>(u"scheduleList"_s));
    QVERIFY2(list.bottom() < placeOf(card).top(), method);
    QVERIFY2(placeOf(card).bottom() < placeOf(fixture.window->findChild<QWidget*>(u"scheduleExportButton"_s)).top(),
             method);
    QVERIFY2(card->height() > 2 * verdict->height(), method);
    QCOMPARE(fixture.window->size(), kSmall);
  }
  QVERIFY(fixture.book()->entries().size() >= 3U);
  QVERIFY(!fixture.book()->failure().isEmpty());
}

/// What was chosen for one collective does not make another fail, and the button says what it does.
void TestDesignerSchedule::methodsThatDoNotSuitAreNotTaken() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QAction* action = fixture.window->actions()[u"schedule.generate"_s];
  QCOMPARE(action->iconText(), u"Generate F5"_s);
  ScheduleOptions options = fixture.book()->options();
  options.method = "forestcoll-overlap";
  fixture.book()->setOptions(options);
  const auto ask = [&](Collective collective) {
    Question question = fixture.editor()->bound().question();
    question.collective = collective;
    fixture.editor()->bound().setQuestion(question);
  };
  ask(Collective::allreduce);
  QCOMPARE(fixture.book()->nextOptions().method, options.method);
  QVERIFY2(QTest::qWaitFor([&] { return action->iconText().contains(u"overlapped"_s); }, kLong),
           qPrintable(action->iconText()));
  QVERIFY(action->toolTip().contains(u"overlapped"_s));
  ask(Collective::allgather);
  QCOMPARE(fixture.book()->nextOptions().method, std::string(workflow::kDefaultMethod));
  ask(Collective::alltoall);
  QCOMPARE(fixture.book()->nextOptions().method, std::string("alltoall"));
  QVERIFY(fixture.generate());
  QVERIFY(fixture.current()->result->verdict.ok);
}

/// The core names options of the command line; the window names its fields, also in the dialog that has them.
void TestDesignerSchedule::errorsNameFields() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("dgx-h100", {{"boxes", "2"}}));
  fixture.run("schedule.options");
  ScheduleOptions options = fixture.book()->options();
  options.method = "bfb";
  fixture.book()->setOptions(options);
  fixture.run("schedule.generate");
  QVERIFY(fixture.isDone());
  const QString failure = fixture.book()->failure();
  QVERIFY2(failure.contains(u"Turn on “Through switches”"_s), qPrintable(failure));
  QVERIFY2(!failure.contains(u"--"_s), qPrintable(failure));
  QCOMPARE(fixture.label("generateFailure"), failure);
}

void TestDesignerSchedule::wordsOfOptions_data() {
  QTest::addColumn<QString>("core");
  QTest::addColumn<QString>("window");
  QTest::newRow("flag") << u"add --through-switches to split links"_s << u"turn on “Through switches” to split links"_s;
  QTest::newRow("value") << u"add --root ID"_s << u"fill in “Root”"_s;
  QTest::newRow("left out") << u"leave --amounts out, or not"_s << u"leave “Data per GPU” out, or not"_s;
  QTest::newRow("of another program") << u"record it with coppice-exec run --trace"_s
                                      << u"record it with coppice-exec run --trace"_s;
  QTest::newRow("two") << u"raise --time-limit or --max-steps"_s << u"raise “Time limit” or “Maximum steps”"_s;
}

void TestDesignerSchedule::wordsOfOptions() {
  QFETCH(QString, core);
  const ScheduleFixture fixture;
  QTEST(inWordsOfTheWindow(core), "window");
}

void TestDesignerSchedule::cancelKeepsTheLastResult() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("torus", {{"dims", "4x4x4"}}));
  QVERIFY(fixture.generate());
  const int first = fixture.current()->id;
  ScheduleOptions heavy = fixture.book()->options();
  heavy.methodOptions = {{kBestOfK, std::to_string(kMaxScannedK)},
                         {"height-effort", std::to_string(workflow::kMaxHeightEffort)}};
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
  other.methodOptions = {{kFixedK, "2"}};
  fixture.book()->setOptions(other);
  QVERIFY(fixture.generate());
  QCOMPARE(fixture.book()->entries().size(), 2U);
}

void TestDesignerSchedule::staleAfterAnEdit() {
  ScheduleFixture fixture;
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
  coppice::waiting::settle();
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

/// As `generate --sizes` and `--within`; beside the k that is used stand those of the bound and of the paper.
void TestDesignerSchedule::treesForSizesAndLoss() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  fixture.run("schedule.options");
  auto* dialog = fixture.schedules->methodsPanel();
  auto* generate = dialog->findChild<QPushButton*>(u"generateButton"_s);
  auto* fault = dialog->findChild<QLabel*>(u"optionFault"_s);
  auto* sizes = dialog->findChild<QLineEdit*>(u"option-sizes"_s);
  auto* loss = dialog->findChild<QLineEdit*>(u"option-within"_s);
  QVERIFY(!sizes->isEnabled() && !loss->isEnabled());
  dialog->findChild<QRadioButton*>(u"set-sizes"_s)->click();
  QVERIFY(sizes->isEnabled() && !loss->isEnabled());
  QCOMPARE(dialog->options().methodOptions, (workflow::Values{{kBySizes, "pow2"}}));
  // The word of the command line is not one for people.
  QCOMPARE(sizes->text(), u"powers of two"_s);
  QVERIFY2(!sizes->toolTip().contains(u"pow2"_s), qPrintable(sizes->toolTip()));
  sizes->setText(u"Powers of two, 1MiB"_s);
  QCOMPARE(fixture.book()->options().text(kBySizes), "pow2, 1MiB");
  sizes->setText(u"3 apples"_s);
  QVERIFY(fault->isVisible() && !generate->isEnabled());
  QVERIFY2(!fault->text().contains(u"pow2"_s), qPrintable(fault->text()));
  sizes->setText(u"1MiB, 64KiB"_s);
  QVERIFY(fault->isHidden() && generate->isEnabled());
  QCOMPARE(fixture.book()->options().text(kBySizes), "1MiB, 64KiB");
  QVERIFY(generateCommand({}, dialog->options(), u"a"_s).contains(u"--sizes '1MiB, 64KiB'"_s));
  sizes->setText(u"pow2"_s);
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
  dialog->findChild<QRadioButton*>(u"set-within"_s)->click();
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
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  fixture.run("schedule.options");
  auto* dialog = fixture.schedules->methodsPanel();
  QVERIFY(dialog->isVisible());
  QVERIFY(!dialog->isModal());
  QVERIFY(!dialog->findChild<QComboBox*>(u"generateRoot"_s)->isVisible());
  dialog->findChild<QRadioButton*>(u"set-k-max"_s)->click();
  dialog->findChild<QSpinBox*>(u"option-k-max"_s)->setValue(3);
  auto* table = dialog->findChild<QTableWidget*>(u"generateTable"_s);
  QVERIFY(QTest::qWaitFor([&] { return table->rowCount() == 3; }, kLong));
  QCOMPARE(dialog->options().methodOptions, (workflow::Values{{kBestOfK, "3"}}));
  QCOMPARE(fixture.book()->options().integer(kBestOfK), std::optional<std::int64_t>(3));
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
  dialog->findChild<QRadioButton*>(u"otherwise-k"_s)->click();
  QTest::mouseClick(dialog->findChild<QPushButton*>(u"generateButton"_s), Qt::LeftButton);
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.current() != nullptr, qPrintable(fixture.book()->failure()));
  QCOMPARE(*fixture.current()->result->root(), 5);
  QCOMPARE(fixture.window->workspace().mode(), Mode::schedule);
}

void TestDesignerSchedule::amountsPerGpu() {
  ScheduleFixture fixture;
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
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  std::set<ElementId> chosen;
  for (const auto& [id, node] : fixture.editor()->model().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu && chosen.size() < 4) {
      chosen.insert(id);
    }
  }
  fixture.editor()->selection().set(chosen);
  fixture.run("schedule.options");
  auto* dialog = fixture.schedules->methodsPanel();
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
  QCOMPARE(digestNow(*fixture.editor()->document().facts(), (*loaded)->options.part()), (*loaded)->fabricDigest());
}

void TestDesignerSchedule::exportWritesAVerifiedProgram() {
  ScheduleFixture fixture;
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
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  ExportDialog* dialog = fixture.exports->exportCurrent();
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
  options.methodOptions = {{kFixedK, "3"}, {kMaxHeight, "4"}, {kMaxPeers, "12"}, {kMulticast, "true"}};
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

void TestDesignerSchedule::actionsWithoutASchedule() {
  ScheduleFixture fixture;
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
    fixture.schedules->methodsPanel()->hide();
  };
  fixture.run("mode.schedule");
  QVERIFY(fixture.exports->exportCurrent() == nullptr);
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

QTEST_MAIN(TestDesignerSchedule)
#include "tst_designer_schedule.moc"
