// SPDX-License-Identifier: Apache-2.0
#include <QSettings>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <memory>

#include "designer/answers.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/run/fabric_comparison.hpp"
#include "designer/run/launch_bundle.hpp"
#include "designer/run/results_panel.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/run/run_test.hpp"
#include "remote/executor_files.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;

/// Machines, requests, what the executor says, and the docks.
class TestDesignerRun : public RunTest {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { startServer(); }

  // ---- names and files

  void machines() {
    QTemporaryDir folder;
    QFile file(folder.filePath("config"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("Host one two *.example\n");
    file.close();
    const auto machines = knownMachines(file.fileName(), {"ann@added:22", "-evil", "one"});
    QCOMPARE(machines.size(), std::size_t{4});
    QCOMPARE(machines.front().id(), "local");
    QCOMPARE(machines.back().id(), "ssh:ann@added:22");
  }

  void programNeeds() {
    const auto own = remote::readExecutor(COPPICE_STAND_IN);
    QVERIFY(static_cast<bool>(own));
    QVERIFY(!own->needs.libraries.empty());
    QCOMPARE(QString::fromStdString(own->needs.architecture),
             QSysInfo::currentCpuArchitecture().replace("arm64", "aarch64"));
    QVERIFY(!own->needs.libc.empty());
    QFile file(QStringLiteral(COPPICE_STAND_IN));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray bytes = file.readAll();
    for (qsizetype length = 0; length < bytes.size(); length += qMax(qsizetype{1}, length / 7)) {
      [[maybe_unused]] const auto cut = remote::programNeeds(bytes.left(length).toStdString());
    }
    QVERIFY(!remote::programNeeds("#!/bin/sh\n"));
    QVERIFY(remote::isOlder("2.9", "2.34"));
    QVERIFY(!remote::isOlder("2.34", "2.34"));
    QVERIFY(remote::isOlder("2.34", "2.34.1"));
  }

  void jobs() {
    program::RunJob job;
    job.arguments = {"run", "schedule.xml", "weird \"word\" \xc3\xa4"};
    job.environment = {{"NCCL_DEBUG", "INFO"}};
    job.limitSeconds = 60;
    const auto again = program::readJob(program::writeJob(job));
    QVERIFY(static_cast<bool>(again));
    QVERIFY(*again == job);
    for (const char* bad : {"", "[]", "{}", R"({"arguments":[]})", R"({"arguments":[1]})",
                            R"({"arguments":["x"],"environment":{"LD_PRELOAD":"x"}})",
                            R"({"arguments":["x"],"limit_s":-1})", R"({"arguments":["a\u0000b"]})"}) {
      QVERIFY2(!program::readJob(bad), bad);
    }
    QVERIFY(!program::readJob(std::string(100'000, '[')));
    QVERIFY(!program::mayBeSet("LD_LIBRARY_PATH"));
    QVERIFY(!program::mayBeSet("NCCL_NET_PLUGIN"));
    QVERIFY(!program::mayBeSet("OMPI_MCA_plm_rsh_agent"));
    QVERIFY(program::mayBeSet("CUDA_VISIBLE_DEVICES"));
  }

  void requests_data() {
    QTest::addColumn<QString>("field");
    QTest::addColumn<QString>("value");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("as it comes") << ""
                                 << "" << true;
    QTest::newRow("size") << "min"
                          << "64K" << true;
    QTest::newRow("size zero") << "min"
                               << "0" << false;
    QTest::newRow("size word") << "min"
                               << "many" << false;
    QTest::newRow("size above") << "min"
                                << "1G" << false;
    QTest::newRow("size overflow") << "max"
                                   << "99999999999999999999" << false;
    QTest::newRow("factor 1") << "factor"
                              << "1" << false;
    QTest::newRow("factor nan") << "factor"
                                << "nan" << false;
    QTest::newRow("type option") << "type"
                                 << "--help" << false;
    QTest::newRow("host option") << "host"
                                 << "-x" << false;
    QTest::newRow("host shell") << "host"
                                << "a b" << false;
    QTest::newRow("host") << "host"
                          << "node1:4" << true;
    QTest::newRow("partition") << "partition"
                               << "gpu;id" << false;
  }
  void requests() {
    QFETCH(QString, field);
    QFETCH(QString, value);
    QFETCH(bool, isGood);
    program::RunRequest request;
    request.schedule = "s.xml";
    const std::string text = value.toStdString();
    if (field == "min") {
      request.minBytes = text;
    } else if (field == "max") {
      request.maxBytes = text;
    } else if (field == "factor") {
      request.factor = text;
    } else if (field == "type") {
      request.type = text;
    } else if (field == "host") {
      request.hosts = {text};
    } else if (field == "partition") {
      request.partition = text;
    }
    const auto found = program::faultsOf(request);
    QCOMPARE(found.empty(), isGood);
    for (const Finding& finding : found) {
      QVERIFY(!finding.fix.empty());
    }
  }

  // ---- the output of the executor

  void hostileRecords() {
    RunData data;
    data.feedRecords("Last login: yesterday\n");
    QVERIFY(!data.hello());
    data.feedRecords(R"({"t":"hello","proto":1,"version":"0.1.0","pid":1,"pgid":1})");
    QVERIFY(!data.hello());
    QCOMPARE(data.feedRecords("\n").count('\n'), 1);
    QVERIFY(data.hello());
    data.feedRecords(QByteArray(5 << 20, 'x'));
    data.feedRecords("tail of the long line\n{\"t\":\"unheard-of\"}\n");
    QCOMPARE(data.unreadableLines(), 2);
    QVERIFY(data.refusal().isEmpty());
    data.feedLog(QByteArray(10 << 20, 'y') + "\n");
    QVERIFY(data.log().back().text.size() < 10'000);
    for (int i = 0; i < 30'000; ++i) {
      data.feedLog("line\n");
    }
    QVERIFY(data.log().size() <= 20'000);
    QVERIFY(data.forgottenLines() > 0);
    data.feedLog("\x1b[31mred\x07\n");
    QVERIFY(!data.log().back().text.contains(QChar(0x1b)));
    for (int i = 0; i < 2'000; ++i) {
      data.feedRecords("noise\n");
    }
    QVERIFY(!data.refusal().isEmpty());
  }

  void otherProtocol() {
    RunData data;
    data.feedRecords(
        "{\"t\":\"hello\",\"proto\":2,\"version\":\"9\",\"pid\":1,\"pgid\":1}\n{\"t\":\"end\",\"code\":0,\"reason\":"
        "\"\"}\n");
    QVERIFY(!data.refusal().isEmpty());
    QVERIFY(!data.end());
  }

  // ---- drawn and found

  static Model model(
      const QByteArray& links,
      const QByteArray& nodes = R"({"id":"gpu0","kind":"gpu"},{"id":"gpu1","kind":"gpu"},{"id":"gpu2","kind":"gpu"})") {
    const auto read =
        readFabricFile(("{\"name\":\"x\",\"nodes\":[" + nodes + "],\"links\":[" + links + "]}").toStdString(), "x");
    return read ? read->model : Model{};
  }

  void differences_data() {
    QTest::addColumn<QByteArray>("drawn");
    QTest::addColumn<QByteArray>("found");
    QTest::addColumn<QStringList>("places");
    const QByteArray ring =
        R"({"src":"gpu0","dst":"gpu1","bandwidth":"50"},{"src":"gpu1","dst":"gpu2","bandwidth":"50"})";
    QTest::newRow("the same") << ring << ring << QStringList{};
    QTest::newRow("as parallel links")
        << ring
        << QByteArray(
               R"({"src":"gpu1","dst":"gpu0","bandwidth":"25","count":2},{"src":"gpu1","dst":"gpu2","bandwidth":"400Gb/s"})")
        << QStringList{};
    QTest::newRow("a missing link") << ring << QByteArray(R"({"src":"gpu0","dst":"gpu1","bandwidth":"50"})")
                                    << QStringList{"gpu1 – gpu2"};
    QTest::newRow("x8 instead of x16")
        << ring
        << QByteArray(R"({"src":"gpu0","dst":"gpu1","bandwidth":"25"},{"src":"gpu1","dst":"gpu2","bandwidth":"50"})")
        << QStringList{"gpu0 – gpu1"};
    QTest::newRow("one direction only")
        << ring
        << QByteArray(
               R"({"src":"gpu0","dst":"gpu1","bandwidth":"50","duplex":false},{"src":"gpu1","dst":"gpu2","bandwidth":"50"})")
        << QStringList{"gpu1 → gpu0"};
    QTest::newRow("one more") << QByteArray(R"({"src":"gpu0","dst":"gpu1","bandwidth":"50"})") << ring
                              << QStringList{"gpu1 – gpu2"};
  }
  /// Shared memory says nothing about the network, so there is nothing to compare with the bound.
  void rehearsalsHaveNoShareOfTheBound_data() {
    QTest::addColumn<QString>("label");
    QTest::addColumn<QString>("shown");
    QTest::newRow("rehearsal") << "one process per rank on one host: shared memory, not a network"
                               << "–";
    QTest::newRow("network") << ""
                             << "80.0 %";
  }
  void rehearsalsHaveNoShareOfTheBound() {
    QFETCH(QString, label);
    QFETCH(QString, shown);
    program::EnvRecord env;
    env.host = "node1";
    env.backend = "mpi";
    env.backendLabel = label.toStdString();
    program::ResultRecord result;
    result.size = 1024;
    result.count = 256;
    result.type = "float";
    result.redop = "none";
    result.iterations = 20;
    result.time_us = 10;
    result.algbw_GBps = 20;
    result.boundPercent = 80;
    auto data = std::make_shared<RunData>();
    for (const program::Record& record : {program::Record(env), program::Record(result)}) {
      data->feedRecords(QByteArray::fromStdString(program::writeRecord(record)));
    }
    QCOMPARE(data->rows().size(), std::size_t{1});
    ResultsModel model;
    model.setRun(data);
    int column = 0;
    while (model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString() != "bound") {
      QVERIFY(++column < model.columnCount());
    }
    const QModelIndex cell = model.index(0, column);
    QCOMPARE(cell.data().toString(), shown);
    QCOMPARE(cell.data(Qt::ToolTipRole).toString().contains("shared memory"), !label.isEmpty());
    QCOMPARE(ncclTestsText(*data).contains("80.0"), label.isEmpty());
    QCOMPARE(model.index(0, 0).data(Qt::ToolTipRole).toString().contains("of the bound"), label.isEmpty());
  }

  void differences() {
    QFETCH(QByteArray, drawn);
    QFETCH(QByteArray, found);
    const Model drawing = model(drawn);
    QStringList places;
    for (const FabricDifference& difference : compareFabrics(drawing, {}, model(found))) {
      places << difference.place;
      QVERIFY(!difference.text.isEmpty());
      QVERIFY(!difference.element.isValid() || drawing.contains(difference.element));
    }
    QTEST(places, "places");
  }
  void differencesOfOtherNames() {
    // Other names, another order: by kind and number. One GPU of the drawing is not there.
    const Model drawing = model(
        R"({"src":"b0g0","dst":"b0g10","bandwidth":"50"},{"src":"b0g0","dst":"b0g2","bandwidth":"20"})",
        R"({"id":"b0g10","kind":"gpu"},{"id":"b0g0","kind":"gpu"},{"id":"b0g2","kind":"gpu"},{"id":"b0g11","kind":"gpu"})");
    const Model machine =
        model(R"({"src":"gpu0","dst":"gpu2","bandwidth":"50"},{"src":"gpu0","dst":"gpu1","bandwidth":"10"})");
    const auto found = compareFabrics(drawing, {}, machine);
    QCOMPARE(found.size(), std::size_t{2});
    QCOMPARE(found[0].place, "b0g11");
    QCOMPARE(found[1].place, "b0g0 – b0g2");
  }

  // ---- bundles

  void bundle() {
    QTemporaryDir folder;
    program::RunRequest request;
    request.schedule = "schedule.xml";
    request.hosts = {"node1:4", "node2:4"};
    request.partition = "gpu";
    remote::BundleFacts facts{"it's \"$(id)\"\n`rm`", "0.1.0", 8, true};
    const auto executor = remote::readExecutor(COPPICE_STAND_IN);
    QVERIFY(static_cast<bool>(executor));
    facts.root = 5;
    const QString place = folder.filePath("it's a $(bundle)");
    const Outcome written = writeBundle(place, request, facts, "ok", &*executor);
    QVERIFY(static_cast<bool>(written));
    QVERIFY(!writeBundle(place, request, facts, "ok", nullptr));
    QFile readme(place + "/README.md");
    QVERIFY(readme.open(QIODevice::ReadOnly));
    const QByteArray told = readme.readAll();
    QVERIFY2(told.contains("The root is rank 5.") && told.contains("`name-root5.xml`"), told.constData());
    QProcess run;
    run.start(place + "/run.sh", {"--json"});
    QVERIFY(run.waitForFinished(coppice::waiting::kPatience));
    QCOMPARE(run.exitCode(), 0);
    QVERIFY(run.readAllStandardOutput().contains("\"t\":\"end\""));
    const QString check = QStandardPaths::findExecutable("shellcheck");
    for (const char* script : {"run.sh", "run-mpi.sh", "run.sbatch"}) {
      QVERIFY(QFileInfo(place + "/" + script).isExecutable());
      if (!check.isEmpty()) {
        QProcess lint;
        lint.start(check, {"-s", "sh", place + "/" + script});
        QVERIFY(lint.waitForFinished(coppice::waiting::kPatience));
        QCOMPARE(lint.readAllStandardOutput(), QByteArray());
      }
    }
    const QString archive = folder.filePath("a.tar.gz");
    QVERIFY(static_cast<bool>(writeBundle(archive, request, facts, "ok", nullptr)));
    QProcess tar;
    tar.start("tar", {"-tzf", archive});
    QVERIFY(tar.waitForFinished(coppice::waiting::kPatience));
    QVERIFY(tar.readAllStandardOutput().contains("a/run.sbatch"));
    // A program that cannot be read: nothing of the bundle is left.
    auto broken = *executor;
    broken.files.back().source = folder.filePath("gone").toStdString();
    const QStringList before = QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    QVERIFY(!writeBundle(folder.filePath("partial"), request, facts, "ok", &broken));
    QVERIFY(!writeBundle(folder.filePath("partial.tar"), request, facts, "ok", &broken));
    QVERIFY(!writeBundle(folder.filePath("no/such/folder.tar"), request, facts, "ok", nullptr));
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot), before);
    request.hosts = {"a;b"};
    QVERIFY(!writeBundle(folder.filePath("bad"), request, facts, "ok", nullptr));
  }

  /// A program chosen as a file: its root is read from its data, shown in the checklist and in the launch bundle.
  void rootOfAFile() {
    const QString xml = m_runs.filePath("rooted.xml");
    QFile file(xml);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(
        "<algo name=\"b\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"broadcast\" "
        "inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"1048576\">\n");
    for (const bool isRoot : {false, true}) {
      file.write(QString(R"(<gpu id="%1" i_chunks="0" o_chunks="1" s_chunks="0"><tb id="0" send="%2" recv="%3" chan="0">
<step s="0" type="%4" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu>
)")
                     .arg(isRoot ? "1" : "0", isRoot ? "0" : "-1", isRoot ? "-1" : "1", isRoot ? "s" : "r")
                     .toUtf8());
    }
    file.write("</algo>\n");
    file.close();
    QWidget window;
    const QString place = m_runs.filePath("rooted-bundle");
    test::Answers answers;
    answers.saveTo = place;
    answers.open = {xml};
    RunOptions options;
    options.environment = environment();
    options.keepsSettings = false;
    options.dataFolder = m_runs.filePath("data-of-rooted");
    RunActivity activity(answers, options, &window);
    activity.chooseFile();
    const RunnableSchedule* chosen = activity.runPanel()->schedule();
    QVERIFY(chosen != nullptr);
    QTRY_COMPARE_WITH_TIMEOUT(activity.runPanel()->schedule()->root, 1, kPatience);
    QCOMPARE(activity.runPanel()->schedule()->ranks, 2);
    auto* list = activity.runPanel()->findChild<QListWidget*>("runPreflight");
    QVERIFY(list != nullptr);
    QCOMPARE(list->findItems("The root is rank 1", Qt::MatchContains).size(), 1);
    activity.saveBundle();
    QCOMPARE(answers.failures, QStringList{});
    QFile readme(place + "/README.md");
    QVERIFY(readme.open(QIODevice::ReadOnly));
    QVERIFY(readme.readAll().contains("The root is rank 1."));
  }

  // ---- the docks

  void docks() {
    QWidget window;
    test::Answers answers;
    answers.saveTo = m_runs.filePath("saved");
    answers.open = {m_runs.filePath("chosen.xml")};
    answers.chosen = true;
    RunOptions options;
    options.environment = environment();
    options.keepsSettings = false;
    options.dataFolder = m_runs.filePath("data");
    RunActivity activity(answers, options, &window);
    QVERIFY(!activity.isReady());
    QVERIFY(!activity.runPanel()->obstacle().isEmpty());
    activity.start();
    QVERIFY(!activity.isRunning());
    // Machines: this computer and the host of the configuration; a bad name is refused with the reason.
    auto* list = activity.machinesPanel()->findChild<QTreeWidget*>("machineList");
    QCOMPARE(list->topLevelItemCount(), 2);
    QVERIFY(!activity.machines().add("-oProxyCommand=id"));
    QVERIFY(static_cast<bool>(activity.machines().add("ann@node1:2222")));
    QCOMPARE(list->topLevelItemCount(), 3);
    // A host that can be removed does not ask for a wider panel.
    activity.machinesPanel()->setCurrent("local");
    const int width = activity.machinesPanel()->minimumSizeHint().width();
    activity.machinesPanel()->setCurrent("ssh:ann@node1:2222");
    activity.machinesPanel()->layout()->invalidate();
    QCOMPARE(activity.machinesPanel()->minimumSizeHint().width(), width);
    // What is wrong with a host is said until it is changed.
    auto* host = activity.machinesPanel()->findChild<QLineEdit*>("machineHost");
    host->setText("no host");
    QTest::keyClick(host, Qt::Key_Return);
    QVERIFY(host->property("invalid").toBool() && !host->toolTip().isEmpty());
    QTest::keyClick(host, Qt::Key_Backspace);
    QVERIFY(!host->property("invalid").toBool() && host->toolTip().isEmpty());
    activity.machinesPanel()->setCurrent("local");
    activity.machines().remove("ssh:ann@node1:2222");
    QCOMPARE(list->topLevelItemCount(), 2);
    // A document with one schedule.
    const Model drawing = model(R"({"src":"gpu0","dst":"gpu1","bandwidth":"50"})");
    RunDocument document;
    document.name = "test";
    document.path = m_runs.filePath("test.fabric.json");
    document.fabric = [] { return QByteArray("{}"); };
    document.model = [&]() -> const Model& { return drawing; };
    RunnableSchedule schedule;
    schedule.key = "schedule:1";
    schedule.name = "allgather";
    schedule.suffix = "xml";
    schedule.bytes = []() -> Result<QByteArray> { return QByteArray("ok"); };
    document.schedules = {schedule};
    activity.setDocument(document);
    QVERIFY2(activity.isReady(), qPrintable(activity.runPanel()->obstacle()));
    activity.start();
    QVERIFY(QTest::qWaitFor([&] { return activity.isRunning(); }, kPatience));
    QVERIFY(QTest::qWaitFor([&] { return !activity.isRunning(); }, kPatience));
    QCOMPARE(activity.runs().size(), std::size_t{1});
    QCOMPARE(activity.runs().front().code, 0);
    QVERIFY(QFileInfo::exists(m_runs.filePath("test.runs/" + activity.runs().front().id + "/fabric.fabric.json")));
    QCOMPARE(activity.results()->findChild<QTableView*>("resultsTable")->model()->rowCount(), 7);
    QVERIFY(activity.chart()->plot().itemCount() >= 3);
    QCOMPARE(activity.trace()->view().laneCount(), 8);
    const double before = activity.trace()->view().to();
    QTest::keyClick(&activity.trace()->view(), Qt::Key_W);
    QVERIFY(activity.trace()->view().to() < before);
    QTest::keyClick(&activity.trace()->view(), Qt::Key_D);
    QVERIFY(activity.trace()->view().from() > 0);
    QTest::keyClick(&activity.trace()->view(), Qt::Key_F);
    QCOMPARE(activity.trace()->view().to(), before);
    QVERIFY(activity.log()->findChild<QPlainTextEdit*>("logText")->toPlainText().contains("stand-in runs ok"));
    activity.log()->findChild<QLineEdit*>("logFilter")->setText("no such line");
    QVERIFY(activity.log()->findChild<QPlainTextEdit*>("logText")->toPlainText().isEmpty());
    // The words on the buttons of a run that goes or is being stopped leave the dock as narrow as it was.
    const int narrow = activity.runPanel()->minimumSizeHint().width();
    for (const bool isCancelling : {false, true}) {
      activity.runPanel()->setRunning(true, isCancelling);
      QCOMPARE(activity.runPanel()->minimumSizeHint().width(), narrow);
      const auto* run = activity.runPanel()->findChild<QPushButton*>("runStart");
      QVERIFY2(run->minimumWidth() >= run->sizeHint().width(), qPrintable(run->text()));
    }
    activity.runPanel()->setRunning(false, false);
    QCOMPARE(activity.runPanel()->minimumSizeHint().width(), narrow);
    // Again, and both in the chart.
    activity.rerun(activity.runs().front().id);
    QVERIFY(
        QTest::qWaitFor([&] { return activity.runs().size() == 2 && activity.runs().front().code == 0; }, kPatience));
    auto* history = activity.history()->findChild<QTreeWidget*>("runList");
    QCOMPARE(history->topLevelItemCount(), 2);
    const std::size_t single = activity.chart()->plot().itemCount();
    history->topLevelItem(1)->setCheckState(0, Qt::Checked);
    QVERIFY(activity.chart()->plot().itemCount() > single);
    // What differs from the machine; the stand-in finds half the bandwidth.
    activity.compare("local");
    QVERIFY(QTest::qWaitFor([&] { return !activity.differences()->differences().empty(); }, kPatience));
    QSignalSpy went(&activity, &RunActivity::elementChosen);
    auto* found = activity.differences()->findChild<QTreeWidget*>("differenceList");
    Q_EMIT found->itemClicked(found->topLevelItem(0), 0);
    QCOMPARE(went.count(), 1);
    QSignalSpy detected(&activity, &RunActivity::fabricDetected);
    activity.detect("local");
    QVERIFY(QTest::qWaitFor([&] { return detected.count() == 1; }, kPatience));
    // Deleted: gone from the list and the disk.
    const QString folder = activity.runs().back().folder;
    activity.remove(activity.runs().back().id);
    QCOMPARE(activity.runs().size(), std::size_t{1});
    QVERIFY(!QFileInfo::exists(folder));
    QCOMPARE(answers.failures, QStringList{});
    // Another start of the program finds the runs.
    activity.setDocument(std::nullopt);
    QCOMPARE(activity.runs().size(), std::size_t{0});
    activity.setDocument(document);
    QCOMPARE(activity.runs().size(), std::size_t{1});
  }

  // ---- several machines

  /// A run on each of two machines at the same time: each has its row, its results and its end.
  void severalRuns() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    QWidget window;
    test::Answers answers;
    RunOptions options;
    options.environment = environment();
    options.keepsSettings = false;
    options.dataFolder = m_runs.filePath("several");
    RunActivity activity(answers, options, &window);
    RunDocument document;
    document.name = "several";
    document.path = m_runs.filePath("several.fabric.json");
    RunnableSchedule schedule;
    schedule.key = "schedule:1";
    schedule.name = "allgather";
    schedule.suffix = "xml";
    schedule.ranks = 4;
    schedule.bytes = []() -> Result<QByteArray> { return QByteArray("children several"); };
    document.schedules = {schedule};
    activity.setDocument(document);
    activity.start();
    QVERIFY(QTest::qWaitFor([&] { return activity.runs().size() == 1 && activity.isRunning(); }, kPatience));
    QVERIFY(!activity.isReady());
    activity.start();  // the machine is busy
    QCOMPARE(activity.runs().size(), std::size_t{1});
    activity.machinesPanel()->setCurrent("ssh:loop");
    activity.machines().connection("ssh:loop")->open();
    QVERIFY(QTest::qWaitFor([&] { return activity.isReady(); }, kPatience));
    activity.start();
    QVERIFY(QTest::qWaitFor(
        [&] { return activity.runs().size() == 2 && activity.runs().front().state == RunState::running; }, kPatience));
    const QString there = activity.runs()[0].id;
    const QString here = activity.runs()[1].id;
    QCOMPARE(activity.runs()[0].machineId, QString("ssh:loop"));
    QVERIFY(activity.runs()[1].state == RunState::running);
    QCOMPARE(activity.shownRun(), there);
    // Both are in the chart without being ticked.
    QVERIFY(QTest::qWaitFor([&] { return activity.chart()->runs() == 2; }, kPatience));
    auto* list = activity.history()->findChild<QTreeWidget*>("runList");
    QVERIFY(QTest::qWaitFor([&] { return list->topLevelItem(0)->text(5).contains("%"); }, kPatience));
    QSignalSpy said(&activity, &RunActivity::message);
    activity.stopRun(there);
    const auto state = [&](const QString& id) {
      const auto found = std::find_if(activity.runs().begin(), activity.runs().end(),
                                      [&](const RunInfo& info) { return info.id == id; });
      return std::pair(found->state, found->code);
    };
    QVERIFY(QTest::qWaitFor([&] { return state(there).first == RunState::ended; }, kPatience));
    QCOMPARE(state(there).second, static_cast<int>(program::RunExit::cancelled));
    // What the user did is said as such, and not as the signals that did it.
    QCOMPARE(said.last().front().toString(), QString("Stopped."));
    QCOMPARE(outcomeText(activity.runs()[0], nullptr), QString("stopped"));
    const QString log = activity.log()->findChild<QPlainTextEdit*>("logText")->toPlainText();
    QVERIFY2(log.contains("stopped by the user") && !log.contains("SIGTERM"), qPrintable(log));
    QVERIFY(state(here).first == RunState::running);
    activity.stop();  // what is shown is over, and so is the run on the chosen machine; the other is left
    QVERIFY(QTest::qWaitFor([&] { return state(here).first == RunState::ended; }, kPatience));
    QCOMPARE(state(here).second, static_cast<int>(program::RunExit::cancelled));
    QVERIFY(!activity.isRunning());
    QVERIFY(activity.isReady());
    // Several machines for one run: this computer is none of those, and the stand-in knows no MPI.
    auto* machines = activity.machinesPanel()->findChild<QTreeWidget*>("machineList");
    machines->topLevelItem(0)->setSelected(true);
    QCOMPARE(activity.runPanel()->machines(), (QStringList{"local", "ssh:loop"}));
    QVERIFY(!activity.isReady());
    QVERIFY2(activity.runPanel()->obstacle().contains("This computer cannot"),
             qPrintable(activity.runPanel()->obstacle()));
    QCOMPARE(activity.runPanel()->findChild<QLineEdit*>("runShares")->placeholderText(), QString("2, 2"));
    activity.runPanel()->findChild<QLineEdit*>("runShares")->setText("3");
    QVERIFY(!activity.isReady());
    machines->topLevelItem(0)->setSelected(false);
    QVERIFY(activity.isReady());
    QCOMPARE(answers.failures, QStringList{});
  }
};

QTEST_MAIN(TestDesignerRun)
#include "tst_designer_run.moc"
