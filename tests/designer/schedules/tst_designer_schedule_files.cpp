// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QDir>
#include <QListView>
#include <QScopeGuard>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/features/files/file_feature.hpp"
#include "designer/program/program_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/schedules/schedule_fixture.hpp"
#include "designer/theme/theme.hpp"
#include "designer/window/main_window.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/tree_xml.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

/// Schedules on disk: where they are kept, a crash, and files that are opened.
class TestDesignerScheduleFiles : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void keptInOneFolder();
  void keptBesideTheFile();
  void untitledIsWrittenOnceItHasAFile();
  void theSameAgainAddsNothing();
  void unsavedSchedulesSurviveACrash_data();
  void unsavedSchedulesSurviveACrash();
  void hostileFilesAreRefused();
  void openingAProgram();
  void openingAPlan();
  void openingABrokenProgram();
  void openingAForest();
  void openingTrees();
  void methodOfAFile();
};

void TestDesignerScheduleFiles::initTestCase() {
  QVERIFY(useLightFusion());
  Theme::instance().applyTo(*qApp);
}

void TestDesignerScheduleFiles::keptInOneFolder() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QString path = fixture.editor()->file().path();
  // Nothing was chosen: all stays as it is.
  fixture.run("schedule.folder");
  QVERIFY(fixture.book()->sharedFolder().isEmpty());
  QVERIFY(!fixture.window->actions()[u"schedule.folder"_s]->isChecked());
  const QTemporaryDir shared;
  fixture.answers->folderChosen = shared.path();
  fixture.run("schedule.folder");
  QCOMPARE(fixture.book()->sharedFolder(), shared.path());
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
  ScheduleBook* book = ScheduleBook::of(again, bound, shared.path());
  QTRY_VERIFY_WITH_TIMEOUT(book->isSettled() && book->current() != nullptr, kLong);
  QCOMPARE(book->current()->name, fixture.current()->name);
  // Untitled documents too.
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  QVERIFY(fixture.current()->path.startsWith(shared.path() + u'/'));
  // Back to the default.
  fixture.run("schedule.folder");
  QVERIFY(fixture.book()->sharedFolder().isEmpty());
}

void TestDesignerScheduleFiles::keptBesideTheFile() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QString path = fixture.editor()->file().path();
  ScheduleOptions options = fixture.book()->options();
  options.methodOptions = {{kBestOfK, "2"}, {"height-effort", "3"}};
  fixture.book()->setOptions(options);
  QVERIFY(fixture.generate());
  QVERIFY(fixture.isSettled());
  // Nothing stands beside the file before it is saved, and the schedule counts as unsaved.
  QVERIFY(!QFileInfo::exists(ScheduleBook::folderOf(path)));
  QVERIFY(fixture.editor()->file().isModified());
  QVERIFY(fixture.save());
  QVERIFY(!fixture.editor()->file().isModified());
  const Bandwidth algbw = fixture.current()->result->algbw;
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
  QVERIFY(fixture.current()->result->options == options);
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

void TestDesignerScheduleFiles::untitledIsWrittenOnceItHasAFile() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  ScheduleOptions other = fixture.book()->options();
  other.methodOptions = {{kFixedK, "2"}};
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

void TestDesignerScheduleFiles::theSameAgainAddsNothing() {
  ScheduleFixture fixture;
  QVERIFY(fixture.openPreset("dgx-a100", {{"boxes", "1"}}));
  QVERIFY(fixture.generate());
  const int first = fixture.current()->id;
  ScheduleOptions other = fixture.book()->options();
  other.methodOptions = {{kFixedK, "2"}};
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

void TestDesignerScheduleFiles::unsavedSchedulesSurviveACrash_data() {
  QTest::addColumn<bool>("isUntitled");
  QTest::newRow("untitled") << true;
  QTest::newRow("saved before") << false;
}

void TestDesignerScheduleFiles::unsavedSchedulesSurviveACrash() {
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
    ScheduleBook* book = ScheduleBook::of(file, bound);
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
  ScheduleBook* book = ScheduleBook::of(file, bound);
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

void TestDesignerScheduleFiles::hostileFilesAreRefused() {
  ScheduleFixture fixture;
  const QString path = fixture.example("2x-dgx-a100.fabric.json");
  const auto facts = io::readFile(path.toStdString());
  QVERIFY(facts);
  const auto description = io::readFabricJson(*facts, path.toStdString());
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
  const QByteArray claim = "\"algbw\": \"" + QByteArray::fromStdString(toFraction(result->algbw)) + '"';
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

void TestDesignerScheduleFiles::openingAProgram() {
  ScheduleFixture fixture;
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

/// A plan is judged beside an open fabric, and stays where the steps are asked for.
void TestDesignerScheduleFiles::openingAPlan() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  const QByteArray plan = R"({"name":"one","collective":"allreduce","protocol":"Simple","inplace":false,"gpus":[
    {"id":0,"input_chunks":1,"output_chunks":1,"scratch_chunks":0,"channels":[],"remote_buffers":[],"threadblocks":[
      {"id":0,"channels":[],"ops":[{"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],
                                    "dst_buff":[{"type":"o","index":0,"size":1}]}]}]}]})";
  const QString path = fixture.dir.filePath(u"one.json"_s);
  QVERIFY(io::saveFile(path.toStdString(), plan.toStdString()));
  QVERIFY(fixture.window->files().openFile(path) == nullptr);
  auto* report = fixture.window->findChild<ProgramPanel*>(u"programPanel"_s);
  QVERIFY(QTest::qWaitFor([&] { return report->hasFile() && !report->isReading(); }, kLong));
  QVERIFY2(report->isOk(), qPrintable(report->verdict() + report->finding()));
  QVERIFY(report->reading() == nullptr);
  QVERIFY(fixture.answers->failures.isEmpty());
  fixture.run("schedule.program");
  QVERIFY(report->hasFile() && !report->isReading());
}

void TestDesignerScheduleFiles::openingABrokenProgram() {
  ScheduleFixture fixture;
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

void TestDesignerScheduleFiles::openingAForest() {
  ScheduleFixture fixture;
  const ScheduleResultPtr result =
      made(preset("dgx-a100", {{"boxes", "2"}}), {.methodOptions = {{"height-effort", "2"}}});
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

void TestDesignerScheduleFiles::openingTrees() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const QString path = fixture.dir.filePath(u"ours.xml"_s);
  QVERIFY(io::saveFile(path.toStdString(), [&](std::ostream& out) {
    return io::writeTreeXml(out, *fixture.current()->result->forests(), *fixture.current()->result->fabric);
  }));
  const Bandwidth algbw = fixture.current()->result->algbw;
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.schedules->isOpening(); }, kLong));
  QVERIFY2(fixture.answers->failures.isEmpty(), qPrintable(fixture.answers->failures.join(u'\n')));
  QCOMPARE(fixture.window->workspace().contexts().size(), 1U);
  QCOMPARE(fixture.book()->entries().size(), 2U);
  QCOMPARE(fixture.current()->name, u"ours"_s);
  QCOMPARE(fixture.current()->result->algbw, algbw);
  QVERIFY(fixture.current()->result->meetsBound);
  // Without the fabric: one that carries exactly these trees.
  QVERIFY(fixture.window->files().close(*fixture.editor()));
  fixture.window->files().openFile(path);
  QVERIFY(QTest::qWaitFor([&] { return !fixture.schedules->isOpening(); }, kLong));
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

void TestDesignerScheduleFiles::methodOfAFile() {
  ScheduleFixture fixture;
  const ScheduleResultPtr result = made(preset("dgx-a100", {{"boxes", "2"}}), {});
  const QString path = fixture.dir.filePath(u"a.forest.json"_s);
  const auto write = [&](const io::Origin& origin) {
    return io::saveFile(path.toStdString(), [&](std::ostream& out) {
      return io::writeForestJson(out, *result->forests(), *result->fabric, result->description.get(), {}, origin);
    });
  };
  const auto openAgain = [&] {
    fixture.window->files().openFile(path);
    return QTest::qWaitFor([&] { return !fixture.schedules->isOpening() && fixture.current() != nullptr; }, kLong);
  };
  const auto tip = [&] {
    auto* list = fixture.window->findChild<QListView*>(u"scheduleList"_s);
    return list->currentIndex().data(Qt::ToolTipRole).toString();
  };
  // As the command line writes it.
  QVERIFY(write({"forestcoll", {{"max-height", "9"}, {"of-tomorrow", "1"}}}));
  QVERIFY(openAgain());
  QVERIFY2(fixture.label("scheduleFacts").contains(u"ForestColl, maximum height 9 hops between GPUs, of-tomorrow 1"_s),
           qPrintable(fixture.label("scheduleFacts")));
  QVERIFY(tip().contains(u"ForestColl, maximum height 9"_s));
  QCOMPARE(fixture.current()->result->options.methodOptions, (workflow::Values{{"max-height", "9"}}));
  // A method of another version, with a name that looks like a picture: text, and kept.
  const io::Origin odd{"<img src=x> & co", {{"a", std::string(5000, 'w')}}};
  QVERIFY(write(odd));
  QVERIFY(openAgain());
  QVERIFY(fixture.label("scheduleFacts").contains(u"&lt;img src=x&gt; &amp; co"_s));
  QVERIFY(tip().contains(u"&lt;img"_s) && tip().size() < 1000);
  QVERIFY(saveSchedule(path, *fixture.current()->result));
  QVERIFY((*loadSchedule(path, {}))->origin == odd);
  // Nothing is made up.
  QVERIFY(write({}));
  QVERIFY(openAgain());
  QVERIFY(!fixture.label("scheduleFacts").contains(u"ForestColl"_s));
  QVERIFY(fixture.label("scheduleFacts").contains(u"Trees"_s));
}

QTEST_MAIN(TestDesignerScheduleFiles)
#include "tst_designer_schedule_files.moc"
