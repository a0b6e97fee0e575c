// SPDX-License-Identifier: Apache-2.0
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <span>

#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/measured_points.hpp"
#include "designer/run/measured_panel.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "support/waiting.hpp"
#include "window/window_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;
using test::Fixture;

namespace {

QString data(const char* name) {
  return QStringLiteral(COPPICE_TEST_DATA) + u"/nccl/"_s + QLatin1String(name);
}

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

struct Imported : Fixture {
  Imported() : panel(window->findChild<MeasuredPanel*>()) {}

  void open(const std::string& preset, const std::string& boxes) const {
    const auto made = presets::make(preset, {{"boxes", boxes}});
    QVERIFY(made);
    window->workspace().adopt(readArranged(*made).model, {}, u"fabric"_s);
  }
  void openTwoBoxes() const { open("dgx-h100", "2"); }
  [[nodiscard]] bool waitForView() const {
    return QTest::qWaitFor([&] { return panel->nccl().view() != nullptr; }, waiting::kPatience);
  }
  /// What a drop on the window does once the source has let go.
  void drop(const QStringList& paths) const { window->files().openFiles(paths); }

  MeasuredPanel* panel;
};

}  // namespace

/// Runs of stock NCCL in the window.
class TestDesignerNccl : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void pastedLog();
  void droppedFiles();
  void slowRanks();
  void logBeforeTheFabric();
  void withoutALog();
  void withoutALogThroughOtherGpus();
  void cardOfTheMethod();
  void editsAreFollowed();
  void otherFabric();
  void ringsBecomeASchedule();
  void bundle();
  void tablesStayWithTheSchedule();
  void badText();
};

void TestDesignerNccl::initTestCase() {
  designer::test::prepareApplication("nccl");
}

/// One action with the fabric open: the rings are on the drawing, the gap is a line of text.
void TestDesignerNccl::pastedLog() {
  const Imported f;
  f.openTwoBoxes();
  QGuiApplication::clipboard()->setText(QString::fromUtf8(read(data("two_h100.log"))));
  f.run("edit.paste");
  QVERIFY(f.waitForView());
  QCOMPARE(f.window->workspace().mode(), Mode::schedule);
  QCOMPARE(f.editor()->model().nodes().size(), 2 * (8 + 1) + 1);  // nothing was pasted into the fabric
  const QString answer = f.panel->nccl().answer();
  QVERIFY2(answer.startsWith(u"AllReduce: Rings reach 106.67 GB/s, 26.6 % of the bound"_s), qPrintable(answer));
  QVERIFY2(answer.contains(u"Trees reach 200 GB/s, 50.0 % of the bound"_s), qPrintable(answer));
  QVERIFY2(answer.contains(u"holds them back"_s) && answer.contains(u"bound 400 GB/s"_s), qPrintable(answer));
  QCOMPARE(f.panel->nccl().channels().rowCount(), 8);
  QCOMPARE(f.panel->nccl().sizes().rowCount(), 6);
  QCOMPARE(f.panel->nccl().sizes().item(0, NcclPanel::kChosen)->text(), u"Tree LL128"_s);
  QCOMPARE(f.panel->nccl().sizes().item(2, NcclPanel::kFaster)->text(), u"Tree"_s);
  // The ghost: each ring once, with the link that holds them back.
  QVERIFY(QTest::qWaitFor([&] { return !f.editor()->canvas().overlay().trees.empty(); }, waiting::kPatience));
  const Overlay& overlay = f.editor()->canvas().overlay();
  QCOMPARE(overlay.trees.size(), std::size_t{4});
  QCOMPARE(overlay.trees.front().paths.size(), std::size_t{16});
  QCOMPARE(overlay.heat.load.size(), std::size_t{1});
  QVERIFY(overlay.heat.load.begin()->second.isBottleneck);
  // A tree alone, when it is chosen.
  f.panel->nccl().channels().selectRow(4);
  QVERIFY(QTest::qWaitFor([&] { return f.editor()->canvas().overlay().trees.size() == 1; }, waiting::kPatience));
  QCOMPARE(f.editor()->canvas().overlay().trees.front().roots.size(), std::size_t{1});
}

/// Our version of NCCL's search stands in for a log: what it reaches, draws and chooses, and the same after an edit.
void TestDesignerNccl::withoutALog() {
  const Imported f;
  f.open("dgx-h100", "1");
  f.run("schedule.expect-nccl");
  QVERIFY(f.waitForView());
  QCOMPARE(f.window->workspace().mode(), Mode::schedule);
  const auto choose = [&](Collective collective) {
    Q_EMIT f.panel->nccl().collectiveWanted(collective);
    return QTest::qWaitFor([&] { return f.panel->nccl().view() && f.panel->nccl().view()->collective == collective; },
                           waiting::kPatience);
  };
  QVERIFY(choose(Collective::allreduce));
  const QString answer = f.panel->nccl().answer();
  QVERIFY2(answer.contains(u"NVLS reaches 400 GB/s"_s), qPrintable(answer));
  QVERIFY2(answer.contains(u"Rings reach 257.14 GB/s"_s), qPrintable(answer));
  QTableWidget& sizes = f.panel->nccl().sizes();
  QCOMPARE(sizes.rowCount(), 24);
  QCOMPARE(sizes.item(23, NcclPanel::kChosen)->text(), u"NVLS Simple"_s);
  QVERIFY(!sizes.isColumnHidden(NcclPanel::kEstimated) && sizes.isColumnHidden(NcclPanel::kMeasured));
  QVERIFY(f.panel->nccl().plot().names().contains(u"NCCL's estimate"_s));
  QVERIFY(f.panel->nccl().channels().rowCount() > 0);
  QVERIFY(QTest::qWaitFor([&] { return !f.editor()->canvas().overlay().trees.empty(); }, waiting::kPatience));
  QVERIFY(f.panel->nccl().view()->run->missing.empty());
  // A second time shows the same one.
  f.run("schedule.expect-nccl");
  auto* which = f.panel->findChild<QComboBox*>(u"measuredRun"_s);
  QCOMPARE(which->count(), 2);
  // Half of the bandwidth of every link: half of the throughput.
  QVERIFY(choose(Collective::allreduce));
  std::vector<LinkId> links;
  for (const auto& link : f.editor()->model().links()) {
    links.push_back(link.id);
  }
  f.editor()->document().edit(
      u"test"_s, [&](Edit& edit) { edits::changeLinks(edit, links, [](Link& each) { each.bandwidth = "225"; }); });
  QVERIFY(QTest::qWaitFor(
      [&] { return f.panel->nccl().view() && f.panel->nccl().answer().contains(u"NVLS reaches 200 GB/s"_s); },
      waiting::kPatience));
}

/// Rings that leave a box through another GPU have figures and a drawing, but no schedule; the method says where.
void TestDesignerNccl::withoutALogThroughOtherGpus() {
  const Imported f;
  f.open("dgx-a100", "2");
  f.run("schedule.expect-nccl");
  QVERIFY(f.waitForView());
  QVERIFY2(f.panel->nccl().answer().contains(u"Rings reach"_s), qPrintable(f.panel->nccl().answer()));
  auto* asSchedule = f.panel->findChild<QPushButton*>(u"ncclAsSchedule"_s);
  QVERIFY(!asSchedule->isEnabled());
  QVERIFY(asSchedule->toolTip().contains(u"PXN"_s));
  QVERIFY(inWordsOfTheWindow(u"see what NCCL reaches without a schedule: baseline nccl without -o"_s)
              .endsWith(u"Schedule > What Stock NCCL Would Do"_s));
}

/// The card of a schedule says what its method says: of NCCL's rings also what NVLS reaches, and what NCCL would take.
void TestDesignerNccl::cardOfTheMethod() {
  const Imported f;
  f.open("dgx-h100", "1");
  ScheduleOptions options;
  options.method = "nccl";
  options.collective = Collective::allreduce;
  const auto result = makeSchedule(*f.editor()->document().facts(), options, {});
  QVERIFY2(result, result ? "" : describe(result.error()).c_str());
  ScheduleBook::of(f.editor()->file(), f.editor()->bound())->add(*result, u"NCCL"_s);
  const auto* facts = f.window->findChild<QLabel*>(u"scheduleFacts"_s);
  QTRY_VERIFY2_WITH_TIMEOUT(facts->text().contains(u"its NVLS reaches 400 GB/s"_s), qPrintable(facts->text()),
                            waiting::kPatience);
  QVERIFY2(facts->text().contains(u"NVLS Simple"_s), qPrintable(facts->text()));
}

/// A log and a table that are dropped together are one run, with measured points.
void TestDesignerNccl::droppedFiles() {
  const Imported f;
  f.openTwoBoxes();
  f.drop({data("two_h100.log"), data("two_h100_all_reduce.txt")});
  QVERIFY(f.waitForView());
  QCOMPARE(f.window->workspace().contexts().size(), std::size_t{1});
  QCOMPARE(f.panel->nccl().sizes().item(1, NcclPanel::kAlgbw)->text(), u"56.56"_s);
  QVERIFY(f.panel->nccl().plot().names().contains(u"measured"_s));
  QVERIFY(f.panel->nccl().plot().names().contains(u"bound"_s));
  QVERIFY(f.panel->nccl().csv().contains(u"allreduce,1048576,Tree,LL128,4,"_s));
  QVERIFY(f.panel->nccl().plot().names().contains(u"predicted"_s));
  // Links that lost time, of which one is marked when it is chosen.
  QVERIFY(f.panel->nccl().lost().rowCount() > 0);
  f.panel->nccl().lost().selectRow(0);
  QVERIFY(QTest::qWaitFor(
      [&] {
        const auto& load = f.editor()->canvas().overlay().heat.load;
        return load.size() == 1 && load.begin()->second.text.endsWith(u"lost"_s);
      },
      waiting::kPatience));
  // The sweep of a template has the run where as many GPUs are.
  const auto points = MeasuredPoints::instance().of(Collective::allreduce, 16);
  QCOMPARE(points.size(), std::size_t{1});
  QCOMPARE(points.front().algbw.gigabytesPerSecond(), 94.75);
  QVERIFY(MeasuredPoints::instance().of(Collective::allreduce, 32).empty());
  // Another choice of the list, and back.
  auto* which = f.panel->findChild<QComboBox*>(u"measuredRun"_s);
  which->setCurrentIndex(0);
  Q_EMIT which->activated(0);
  QVERIFY(f.panel->nccl().view() == nullptr);
  which->setCurrentIndex(which->count() - 1);
  Q_EMIT which->activated(which->count() - 1);
  QVERIFY(f.waitForView());
}

/// The rank that the Inspector saw last most often is named, and marked where its size is chosen.
void TestDesignerNccl::slowRanks() {
  const Imported f;
  f.openTwoBoxes();
  f.drop({data("two_h100.log")});
  QVERIFY(f.waitForView());
  QVERIFY(f.panel->nccl().sizes().isColumnHidden(NcclPanel::kLast));
  f.drop({data("two_h100.log"), data("two_h100_inspector.jsonl")});
  QVERIFY(
      QTest::qWaitFor([&] { return !f.panel->nccl().sizes().isColumnHidden(NcclPanel::kLast); }, waiting::kPatience));
  QCOMPARE(f.panel->nccl().sizes().item(0, NcclPanel::kLast)->text(), u"5"_s);
  f.panel->nccl().sizes().selectRow(0);
  QVERIFY(QTest::qWaitFor([&] { return !f.editor()->canvas().overlay().hulls.empty(); }, waiting::kPatience));
  QCOMPARE(*f.editor()->canvas().overlay().hulls.front().nodes.begin(), f.editor()->model().nodeNamed("b0g5"));
}

void TestDesignerNccl::logBeforeTheFabric() {
  const Imported f;
  f.drop({data("two_h100.log")});
  QSignalSpy said(&f.window->workspace(), &Workspace::said);
  QVERIFY(said.wait(waiting::kPatience));
  QVERIFY(said.front().front().toString().contains(u"open the fabric"_s));
  f.openTwoBoxes();
  QVERIFY(f.waitForView());
  QVERIFY(f.panel->nccl().answer().contains(u"Rings reach"_s));
}

/// The answer is about the fabric as it stands.
void TestDesignerNccl::editsAreFollowed() {
  const Imported f;
  f.openTwoBoxes();
  f.drop({data("two_h100.log")});
  QVERIFY(f.waitForView());
  const NcclViewPtr before = f.panel->nccl().view();
  const LinkId link = (*f.editor()->model().links().begin()).id;
  f.editor()->document().edit(u"test"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::span(&link, 1), [](Link& each) { each.bandwidth = "1"; });
  });
  QVERIFY(QTest::qWaitFor([&] { return f.panel->nccl().view() != nullptr && f.panel->nccl().view() != before; },
                          waiting::kPatience));
  QCOMPARE(f.panel->nccl().view()->factRevision, f.editor()->document().factRevision());
}

void TestDesignerNccl::otherFabric() {
  const Imported f;
  f.open("dgx-a100", "1");
  f.drop({data("two_h100.log")});
  QVERIFY(f.waitForView());
  QVERIFY2(f.panel->nccl().answer().contains(u"16 ranks"_s), qPrintable(f.panel->nccl().answer()));
  QVERIFY(f.editor()->canvas().overlay().trees.empty());
}

void TestDesignerNccl::ringsBecomeASchedule() {
  const Imported f;
  f.openTwoBoxes();
  f.drop({data("two_h100.log"), data("two_h100_all_reduce.txt")});
  QVERIFY(f.waitForView());
  f.panel->findChild<QPushButton*>(u"ncclAsSchedule"_s)->click();
  const ScheduleBook* book = ScheduleBook::of(f.editor()->file(), f.editor()->bound());
  QVERIFY(QTest::qWaitFor([&] { return book->current() != nullptr && book->current()->result; }, waiting::kPatience));
  QCOMPARE(toGBps(book->current()->result->algbw * Rational(3)), 320.0);
  QVERIFY(book->current()->name.startsWith(u"Rings of NCCL"_s));
}

void TestDesignerNccl::bundle() {
  const Imported f;
  f.openTwoBoxes();
  f.drop({data("two_h100.log"), data("two_h100_all_reduce.txt")});
  QVERIFY(f.waitForView());
  f.answers->count = 90;
  f.answers->saveTo = f.dir.filePath(u"bundle"_s);
  f.panel->findChild<QPushButton*>(u"ncclExport"_s)->click();
  const QString readme = f.dir.filePath(u"bundle/README.md"_s);
  QVERIFY(QTest::qWaitFor([&] { return QFile::exists(readme); }, waiting::kPatience));
  QVERIFY(read(readme).contains("fitted to 6 measured times"));
  QCOMPARE(f.answers->suggestions.size(), 1);
  // A folder that is in use is kept.
  f.run("file.export-nccl");
  QVERIFY(QTest::qWaitFor([&] { return !f.answers->failures.isEmpty(); }, waiting::kPatience));
}

/// A table of nccl-tests alone stands beside the prediction of a schedule of its collective.
void TestDesignerNccl::tablesStayWithTheSchedule() {
  const Imported f;
  f.openTwoBoxes();
  Question question = f.editor()->bound().question();
  question.collective = Collective::allreduce;
  f.editor()->bound().setQuestion(question);
  f.run("schedule.generate");
  const ScheduleBook* book = ScheduleBook::of(f.editor()->file(), f.editor()->bound());
  QVERIFY(QTest::qWaitFor([&] { return book->current() != nullptr && book->current()->result; }, waiting::kPatience));
  const QAction* compare = f.window->actions()[u"schedule.open-run"_s];
  QVERIFY(QTest::qWaitFor([&] { return compare->isEnabled(); }, waiting::kPatience));
  f.drop({data("two_h100_all_reduce.txt")});
  QVERIFY(QTest::qWaitFor([&] { return f.panel->comparison() && f.panel->comparison()->run; }, waiting::kPatience));
  QVERIFY(f.panel->shownImport() == nullptr);
}

void TestDesignerNccl::badText() {
  const Imported f;
  f.openTwoBoxes();
  QGuiApplication::clipboard()->setText(u"<graphs version=\"1\"><graph id=\"0\"/></graphs>"_s);
  f.run("edit.paste");
  QVERIFY(QTest::qWaitFor([&] { return !f.answers->failures.isEmpty(); }, waiting::kPatience));
  QVERIFY(f.panel->shownImport() == nullptr);
}

QTEST_MAIN(TestDesignerNccl)
#include "tst_designer_nccl.moc"
