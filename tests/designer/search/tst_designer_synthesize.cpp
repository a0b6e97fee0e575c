// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/schedules/opened_file.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/search/search_command.hpp"
#include "designer/search/synthesize_dialog.hpp"
#include "designer/search/table_editor.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// The dialog that searches for the front of step schedules.
namespace {

constexpr int kLong = 60000;

struct Fixture {
  explicit Fixture(const char* preset = "dgx1-v100") {
    file.adopt(readModel(*presets::make(preset, {})).model, {});
    dialog.setSubject(&book, &file, &bound);
    dialog.show();
  }
  template <typename Widget>
  [[nodiscard]] Widget* child(const char* name) const {
    return dialog.findChild<Widget*>(QLatin1String(name));
  }
  void choose(Collective collective) const {
    auto* box = child<QComboBox>("synthesizeCollective");
    box->setCurrentIndex(box->findData(static_cast<int>(collective)));
  }
  void click(const char* name) const { child<QPushButton>(name)->click(); }
  [[nodiscard]] bool isSettled() {
    return QTest::qWaitFor([&] { return dialog.search().isSettled(); }, kLong);
  }
  [[nodiscard]] QString state() const { return child<QLabel>("synthesizeState")->text(); }
  [[nodiscard]] const FrontCandidate& candidate(std::size_t index) { return dialog.search().candidates()[index]; }

  DocumentFile file;
  LiveBound bound{file.document()};
  ScheduleBook book{file, bound};
  SynthesizeDialog dialog{{}};
};

/// Written and read again; null where that fails.
ScheduleResultPtr openedSteps(const ScheduleResult& result, const QString& path) {
  return saveSchedule(path, result)
             ? openSchedule(path, ScheduleFileKind::steps, nullptr, Collective::allgather, {}).result
             : nullptr;
}

}  // namespace

class TestDesignerSynthesize : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void findsTheFront();
  void formFollowsTheCollective();
  void cancelKeepsWhatWasFound();
  void usesSeveral();
  void timesOverSize();
  void customTables();
  void editsATable();
  void saysWhatIsWrong();
  void unit();
  void commandLine();
  void menuEntry();
};

void TestDesignerSynthesize::findsTheFront() {
  Fixture fixture;
  fixture.choose(Collective::allgather);
  QVERIFY(fixture.dialog.search().candidates().empty());
  fixture.click("synthesizeStart");
  QVERIFY(fixture.dialog.search().isRunning());
  QVERIFY(!fixture.child<QPushButton>("synthesizeStart")->isEnabled());
  QVERIFY(fixture.isSettled());
  FrontSearch& search = fixture.dialog.search();
  QCOMPARE(search.failure(), QString());
  QVERIFY(search.end() && search.end()->isComplete);
  // The known front: (2, 2, 3), then (6, 3, 7), both proved.
  const std::vector<std::size_t> front = search.front();
  QCOMPARE(front.size(), 2U);
  QCOMPARE(fixture.candidate(front[0]).size.steps, 2);
  QCOMPARE(fixture.candidate(front[0]).ratio(), Rational(3, 2));
  QCOMPARE(fixture.candidate(front[1]).sizeText(), u"(6, 3, 7)"_s);
  for (const std::size_t each : front) {
    QVERIFY(fixture.candidate(each).isOptimal);
    QVERIFY(fixture.candidate(each).result);
    QVERIFY(fixture.candidate(each).result->verdict.ok);
  }
  QCOMPARE(search.bounds().at(0), Rational(7, 6));
  QCOMPARE(search.bounds().at(2), Rational(3, 2));
  // The table and the chart say the same.
  const QAbstractItemModel* rows = fixture.child<QTableView>("synthesizeTable")->model();
  QCOMPARE(rows->rowCount(), static_cast<int>(search.candidates().size()));
  const auto* chart = fixture.child<FrontChart>("frontChart");
  QCOMPARE(chart->pointCount(CandidateKind::optimal), 2);
  const auto text = [&](std::size_t row, int column) {
    return rows->index(static_cast<int>(row), column).data().toString();
  };
  QCOMPARE(text(front[1], CandidateModel::kRatio), u"7/6"_s);
  QCOMPARE(text(front[1], CandidateModel::kResult), u"found"_s);
  QCOMPARE(text(front[1], CandidateModel::kProof), u"optimal"_s);
  // Down at 2 steps to 3/2, at 3 to 7/6.
  QList<QPointF> corners = chart->stairs();
  QCOMPARE(corners.size(), 5);
  QCOMPARE(corners[1], QPointF(2, 1.5));
  QCOMPARE(corners[2], QPointF(3, 1.5));
  QVERIFY(fixture.state().contains(u"Reached the minimum rounds per chunk"_s));
  // The best is chosen; a click on a point chooses another.
  QCOMPARE(fixture.dialog.current(), std::optional(front[1]));
  QTest::mouseClick(const_cast<FrontChart*>(chart)->viewport(), Qt::LeftButton, {}, chart->placeOf(front[0]));
  QCOMPARE(fixture.dialog.current(), std::optional(front[0]));
}

void TestDesignerSynthesize::formFollowsTheCollective() {
  Fixture fixture;
  auto* root = fixture.child<QComboBox>("synthesizeRoot");
  QVERIFY(root->isHidden());
  QVERIFY(fixture.child<QWidget>("synthesizeDirect")->isHidden());
  fixture.choose(Collective::gather);
  QVERIFY(!root->isHidden());
  QCOMPARE(root->count(), 8);
  root->setCurrentIndex(3);
  FrontRequest request = fixture.dialog.request();
  QCOMPARE(request.search.demand.collective, std::string("gather"));
  QCOMPARE(request.search.demand.root, root->itemText(3).toStdString());
  fixture.choose(Collective::allreduce);
  QVERIFY(!fixture.child<QWidget>("synthesizeDirect")->isHidden());
  QCOMPARE(fixture.dialog.request().search.demand.root, std::string());
  fixture.child<QSpinBox>("synthesizeMaxSteps")->setValue(5);
  fixture.child<QSpinBox>("synthesizeSeed")->setValue(7);
  QVERIFY(!fixture.dialog.request().limits.extraRounds);
  fixture.child<QSpinBox>("synthesizeExtraRounds")->setValue(0);
  request = fixture.dialog.request();
  QCOMPARE(request.limits.extraRounds, std::optional<std::int64_t>(0));
  QVERIFY(synthesizeCommand({}, request).contains(u" --k 0 "_s));
  QCOMPARE(request.limits.maxSteps, 5);
  QCOMPARE(request.search.seed, std::uint64_t{7});
}

void TestDesignerSynthesize::cancelKeepsWhatWasFound() {
  Fixture fixture;
  // A front without an end: broadcast of more and more steps.
  fixture.choose(Collective::broadcast);
  fixture.child<QSpinBox>("synthesizeMaxSteps")->setValue(60);
  fixture.child<QSpinBox>("synthesizeMaxChunks")->setValue(100000);
  fixture.click("synthesizeStart");
  FrontSearch& search = fixture.dialog.search();
  QVERIFY(QTest::qWaitFor([&] { return search.front().size() > 1; }, kLong));
  QVERIFY(search.isRunning());
  const std::size_t found = search.front().size();
  QTRY_VERIFY_WITH_TIMEOUT(search.seconds() > 0, coppice::waiting::kPatience);
  const double passed = search.seconds();
  fixture.click("synthesizeCancel");
  QVERIFY(!search.isRunning());
  QVERIFY(search.wasCancelled());
  QVERIFY(search.seconds() >= passed);
  QVERIFY(search.front().size() >= found);
  QVERIFY(fixture.child<QPushButton>("synthesizeStart")->isEnabled());
  QVERIFY(fixture.isSettled());
  QCOMPARE(search.failure(), QString());
  QVERIFY(fixture.state().contains(u"kept"_s));
  fixture.dialog.setCurrent(search.front().front());
  fixture.click("synthesizeUse");
  QCOMPARE(fixture.book.entries().size(), 1U);
}

void TestDesignerSynthesize::usesSeveral() {
  Fixture fixture;
  fixture.choose(Collective::allgather);
  fixture.click("synthesizeStart");
  QVERIFY(fixture.isSettled());
  const QSignalSpy used(&fixture.dialog, &SynthesizeDialog::used);
  const std::vector<std::size_t> front = fixture.dialog.search().front();
  fixture.dialog.setCurrent(front[1]);
  fixture.click("synthesizeUse");
  QCOMPARE(fixture.book.entries().size(), 1U);
  const ScheduleEntry* entry = fixture.book.current();
  QVERIFY(entry != nullptr);
  QCOMPARE(entry->name, u"AllGather SCCL (6, 3, 7)"_s);
  QVERIFY(entry->result->stepSchedule() != nullptr);
  QVERIFY(entry->result->meetsBound);
  QCOMPARE(entry->result->options.method, std::string("sccl"));
  QVERIFY(QTest::qWaitFor([&] { return fixture.book.isFresh(*fixture.book.current()); }, kLong));
  // Another by a double click; the first again is the one that is there.
  auto* table = fixture.child<QTableView>("synthesizeTable");
  const QModelIndex other = table->model()->index(static_cast<int>(front[0]), CandidateModel::kSteps);
  table->scrollTo(other);
  const QPoint place = table->visualRect(other).center();
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, place);
  QTest::mouseDClick(table->viewport(), Qt::LeftButton, {}, place);
  QCOMPARE(fixture.book.entries().size(), 2U);
  fixture.dialog.setCurrent(front[1]);
  fixture.click("synthesizeUse");
  QCOMPARE(fixture.book.entries().size(), 2U);
  QCOMPARE(fixture.book.current()->name, u"AllGather SCCL (6, 3, 7)"_s);
  QCOMPARE(used.count(), 3);
  // What was removed is added again.
  QVERIFY(fixture.book.remove(fixture.book.current()->id));
  fixture.click("synthesizeUse");
  QCOMPARE(fixture.book.entries().size(), 2U);
}

void TestDesignerSynthesize::timesOverSize() {
  Fixture fixture;
  fixture.choose(Collective::allgather);
  fixture.click("synthesizeStart");
  QVERIFY(fixture.isSettled());
  auto* chart = fixture.child<SizeChart>("sizeChart");
  fixture.child<QTabWidget>("synthesizeCharts")->setCurrentWidget(chart);
  QVERIFY(QTest::qWaitFor([&] { return chart->isSettled(); }, kLong));
  QCOMPARE(chart->lineCount(), 2);
  // Few steps for small sizes, little data for large ones.
  const QString bands = chart->switchOvers();
  QVERIFY2(bands.startsWith(u"(2, 2, 3) below "_s), qPrintable(bands));
  QVERIFY2(bands.contains(u"(6, 3, 7) from "_s), qPrintable(bands));
  QVERIFY(fixture.child<QLabel>("switchOvers")->text().contains(bands));
}

void TestDesignerSynthesize::customTables() {
  Fixture fixture("hypercube");
  fixture.choose(Collective::custom);
  QVERIFY(!fixture.child<QPushButton>("synthesizeStart")->isEnabled());
  const QTemporaryDir folder;
  const auto write = [&](const QString& name, const QByteArray& text) {
    QFile table(folder.filePath(name));
    return table.open(QIODevice::WriteOnly) && table.write(text) == text.size() ? table.fileName() : QString();
  };
  QVERIFY(!fixture.dialog.openTable(write(u"bad.csv"_s, "sources,destinations\n0,99\n")));
  QVERIFY2(fixture.state().contains(u"bad.csv:2"_s), qPrintable(fixture.state()));
  QVERIFY(!fixture.child<QPushButton>("synthesizeStart")->isEnabled());
  QVERIFY(!fixture.dialog.openTable(write(u"uneven.csv"_s, "share,sources,destinations\n1/4,0,7\n3/4,7,0\n")));
  QVERIFY2(fixture.state().contains(u"uneven.csv"_s), qPrintable(fixture.state()));
  fixture.child<QSpinBox>("synthesizeMaxSteps")->setValue(3);
  fixture.child<QSpinBox>("synthesizeSeconds")->setValue(2);
  for (const QString& file : {write(u"a.csv"_s, "sources,destinations\n0,7\n7,0\n"),
                              write(u"b.csv"_s, "share,sources,destinations\n1/2,0,7\n1/2,7,0\n"),
                              write(u"c.json"_s, R"({"format": "coppice-collective", "version": 1, "shards": [
          {"share": "1/2", "sources": [0], "destinations": [7]},
          {"share": "1/2", "sources": [7], "destinations": [0]}]})")}) {
    QVERIFY2(fixture.dialog.openTable(file), qPrintable(fixture.state()));
    fixture.click("synthesizeStart");
    QVERIFY(fixture.isSettled());
    QVERIFY2(!fixture.dialog.search().front().empty(), qPrintable(fixture.state()));
    // Across the cube.
    QCOMPARE(fixture.dialog.search().candidates()[fixture.dialog.search().front().front()].size.steps, 3);
  }
  fixture.click("synthesizeUse");
  QCOMPARE(fixture.book.entries().size(), 1U);
  const ScheduleOptions options = fixture.book.current()->result->options;
  QVERIFY(options.collective == Collective::custom);
  // Generate Again knows the table, and finds the same schedule.
  fixture.book.generate(options);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.book.isRunning(); }, kLong));
  QCOMPARE(fixture.book.failure(), QString());
  QVERIFY(fixture.book.current()->result->options.collective == Collective::custom);
  const auto goalNow = [&] { return fixture.book.current()->result->stepSchedule()->goal; };
  QCOMPARE(goalNow().shardCount(), 2);
  QVERIFY(goalNow().destinations(0)[0] == 7 && goalNow().destinations(1)[0] == 0);
  // Also what comes from a file, without what was asked.
  const auto& result = *fixture.book.current()->result;
  const auto read = openedSteps(result, folder.filePath(u"custom.schedule.json"_s));
  QVERIFY2(read, "the file is refused");
  QCOMPARE(read->options.methodOptions.at("table"), options.methodOptions.at("table"));
  fixture.book.generate(read->options);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.book.isRunning(); }, kLong));
  QCOMPARE(fixture.book.failure(), QString());
}

void TestDesignerSynthesize::editsATable() {
  Fixture fixture("hypercube");
  fixture.choose(Collective::custom);
  TableEditor* editor = fixture.dialog.editTable();
  QVERIFY(editor != nullptr);
  auto* accept = editor->findChild<QPushButton*>(u"tableAccept"_s);
  const auto* state = editor->findChild<QLabel*>(u"tableState"_s);
  QVERIFY(!accept->isEnabled());
  const auto type = [&](int row, const QString& from, const QString& to) {
    editor->rows().item(row, TableEditor::kFrom)->setText(from);
    editor->rows().item(row, TableEditor::kTo)->setText(to);
  };
  type(0, u"0"_s, u"7"_s);
  QVERIFY(accept->isEnabled());
  type(2, u"1, 2"_s, u"99"_s);
  QVERIFY(!accept->isEnabled());
  QVERIFY2(state->text().startsWith(u"Row 3: "_s) && state->text().contains(u"99"_s), qPrintable(state->text()));
  editor->rows().setCurrentCell(2, 0);
  editor->findChild<QPushButton*>(u"tableRemove"_s)->click();
  QVERIFY(accept->isEnabled());
  type(1, u"3 5"_s, u"6"_s);
  accept->click();
  fixture.child<QSpinBox>("synthesizeSeconds")->setValue(2);
  fixture.click("synthesizeStart");
  QVERIFY(fixture.isSettled());
  QVERIFY2(!fixture.dialog.search().front().empty(), qPrintable(fixture.state()));
  // It is there again when it is edited again, with the names of the GPUs.
  editor = fixture.dialog.editTable();
  QCOMPARE(editor->rows().item(1, TableEditor::kFrom)->text().split(u' ').size(), 2);
  QVERIFY(!editor->fault());
}

void TestDesignerSynthesize::saysWhatIsWrong() {
  Fixture fixture;
  fabric::Description apart;
  apart.nodes = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
  apart.links = {{.src = "a", .dst = "b", .bandwidth = "10", .duplex = true}};
  fixture.file.adopt(readModel(apart).model, {});
  fixture.click("synthesizeStart");
  QVERIFY(fixture.isSettled());
  QVERIFY(!fixture.dialog.search().failure().isEmpty());
  QCOMPARE(fixture.state(), fixture.dialog.search().failure());
}

/// A finer unit than the one that is chosen means more rounds; one that is not a bandwidth is named.
void TestDesignerSynthesize::unit() {
  Fixture fixture;
  fixture.choose(Collective::allgather);
  auto* unit = fixture.child<QLineEdit>("synthesizeUnit");
  auto* isOne = fixture.child<QCheckBox>("synthesizeOneBandwidth");
  for (const auto& [text, why] : {std::pair("much", "much"), std::pair("1000", "1000"), std::pair("-1", "positive")}) {
    unit->setText(QLatin1String(text));
    fixture.click("synthesizeStart");
    QVERIFY(fixture.isSettled());
    QVERIFY2(fixture.state().contains(QLatin1String(why)), qPrintable(fixture.state()));
  }
  unit->setText(u"25/2"_s);
  fixture.child<QSpinBox>("synthesizeMaxSteps")->setValue(2);
  QVERIFY(synthesizeCommand({}, fixture.dialog.request()).contains(u" --unit 25/2 "_s));
  fixture.click("synthesizeStart");
  QVERIFY(fixture.isSettled());
  // 3/2 in rounds of 25 GB/s.
  QCOMPARE(fixture.dialog.search().bounds().at(2), Rational(3, 4));
  fixture.click("synthesizeUse");
  const ScheduleOptions options = fixture.book.current()->result->options;
  QCOMPARE(options.methodOptions.at("unit"), std::string("25/2"));
  fixture.book.generate(options);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.book.isRunning(); }, kLong));
  QCOMPARE(fixture.book.failure(), QString());
  isOne->setChecked(true);
  QVERIFY(!unit->isEnabled());
  QCOMPARE(fixture.dialog.request().search.unit, std::string());
}

void TestDesignerSynthesize::commandLine() {
  Fixture fixture;
  fixture.choose(Collective::broadcast);
  fixture.child<QSpinBox>("synthesizeMaxSteps")->setValue(6);
  QString command = synthesizeCommand(u"a b.fabric.json"_s, fixture.dialog.request());
  const QString root = fixture.child<QComboBox>("synthesizeRoot")->currentText();
  QCOMPARE(command,
           u"coppice-cli synthesize 'a b.fabric.json' -c broadcast --root %1 --pareto --max-steps 6 "
           "--time-limit 60s --seed 1 -o schedule.schedule.json"_s.arg(root));
}

void TestDesignerSynthesize::menuEntry() {
  MainWindow window(WindowOptions{.recoveryFolder = {}, .keepsSettings = false}, std::make_unique<Prompts>());
  window.show();
  QAction* action = window.actions()[u"schedule.synthesize"_s];
  QVERIFY(!action->isEnabled());
  QVERIFY(!action->icon().isNull());
  QVERIFY(!action->shortcuts().isEmpty());
  EditorContext* context = window.workspace().adopt(readModel(*presets::make("dgx1-v100", {})).model, {}, u"box"_s);
  QVERIFY(QTest::qWaitFor([&] { return action->isEnabled(); }, kLong));
  action->trigger();
  auto* dialog = window.findChild<SynthesizeDialog*>();
  QVERIFY(dialog != nullptr && dialog->isVisible());
  dialog->start();
  QVERIFY(QTest::qWaitFor([&] { return dialog->search().isSettled(); }, kLong));
  dialog->findChild<QPushButton*>(u"synthesizeUse"_s)->click();
  QCOMPARE(window.workspace().mode(), Mode::schedule);
  QVERIFY(context->bound().question().collective == Collective::allgather);
  auto* book = ScheduleBook::of(context->file(), context->bound());
  QCOMPARE(book->entries().size(), 1U);
  QVERIFY(book->current() != nullptr);
  // A table has no bound: the question stays.
  const QTemporaryDir folder;
  QFile table(folder.filePath(u"swap.csv"_s));
  QVERIFY(table.open(QIODevice::WriteOnly));
  table.write("sources,destinations\n0,7\n7,0\n");
  table.close();
  QVERIFY(dialog->openTable(table.fileName()));
  dialog->findChild<QSpinBox*>(u"synthesizeMaxSteps"_s)->setValue(2);
  dialog->start();
  QVERIFY(QTest::qWaitFor([&] { return dialog->search().isSettled(); }, kLong));
  dialog->findChild<QPushButton*>(u"synthesizeUse"_s)->click();
  QCOMPARE(book->entries().size(), 2U);
  QVERIFY(book->current()->result->options.collective == Collective::custom);
  QVERIFY(context->bound().question().collective == Collective::allgather);
  // With its document the entry goes; what was found stays to be read.
  window.workspace().remove(*context);
  QVERIFY(!action->isEnabled());
  QTRY_VERIFY_WITH_TIMEOUT(!dialog->findChild<QPushButton*>(u"synthesizeUse"_s)->isEnabled(),
                           coppice::waiting::kPatience);
}

QTEST_MAIN(TestDesignerSynthesize)
#include "tst_designer_synthesize.moc"
