// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QDateTime>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <memory>

#include "designer/answers.hpp"
#include "designer/run/connection.hpp"
#include "designer/run/live_run.hpp"
#include "designer/run/run_activity.hpp"
#include "designer/run/run_store.hpp"
#include "designer/run/run_test.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using remote::SshTrouble;

namespace {

/// Processes whose command line holds the word.
int processesWith(const QByteArray& word) {
  int count = 0;
  for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
    bool isNumber = false;
    name.toInt(&isNumber);
    QFile file("/proc/" + name + "/cmdline");
    if (isNumber && file.open(QIODevice::ReadOnly) && file.readAll().contains(word)) {
      ++count;
    }
  }
  return count;
}

const ConnectStep* failedStep(const Connection& connection) {
  for (const ConnectStep& step : connection.steps()) {
    if (step.state == ConnectStep::State::failed) {
      return &step;
    }
  }
  return nullptr;
}

QByteArray describeSteps(const Connection& connection) {
  QString text;
  for (const ConnectStep& step : connection.steps()) {
    if (step.state == ConnectStep::State::done || step.state == ConnectStep::State::skipped) {
      continue;
    }
    text += QStringLiteral("%1 [%2] %3 %4\n%5\n")
                .arg(step.title, QString::number(static_cast<int>(step.state)), step.message, step.fix,
                     step.output.right(900));
  }
  return text.toUtf8();
}

}  // namespace

/// Connections, and runs over them: how they end, and what survives.
class TestDesignerConnection : public RunTest {
  Q_OBJECT

private:
  static Machine loop() { return {Machine::Kind::configured, remote::Target{"loop", {}, 0}}; }
  std::unique_ptr<Connection> connected(const Machine& machine) {
    auto connection = std::make_unique<Connection>(machine, environment());
    connection->open();
    [[maybe_unused]] const bool isOver =
        QTest::qWaitFor([&] { return connection->state() != Connection::State::connecting; }, kPatience);
    return connection;
  }
  RunInfo makeRun(const QByteArray& mode, bool keepsRunning = false) {
    RunInfo info;
    info.id = newRunId();
    info.machineId = "x";
    info.machine = "loop";
    info.started = QDateTime::currentDateTimeUtc();
    info.keepsRunning = keepsRunning;
    info.scheduleFile = "schedule.xml";
    info.request.schedule = "schedule.xml";
    program::RunJob job;
    job.arguments = program::executorArguments(info.request, true);
    job.endsWithStarter = !keepsRunning;
    const auto made = RunStore::create(m_runs.filePath("kept"), {"doc", "test", mode, {}}, info, job);
    return made ? *made : RunInfo{};
  }
  /// A run of "held FILE" goes on after its first size.
  static void release(const QString& file) { QVERIFY(QFile(file).open(QIODevice::WriteOnly)); }
  void waitFor(LiveRun& run, RunState state) {
    QVERIFY2(QTest::qWaitFor([&] { return run.state() == state; }, kPatience), qPrintable(run.info().reason));
  }

private Q_SLOTS:
  void initTestCase() { startServer(); }

  // ---- this computer

  void localRun() {
    const auto connection = connected({});
    QVERIFY2(connection->state() == Connection::State::ready, describeSteps(*connection).constData());
    QVERIFY(connection->facts().environment);
    LiveRun run(makeRun("ok"), *connection);
    run.start();
    waitFor(run, RunState::ended);
    QCOMPARE(run.info().code, 0);
    QCOMPARE(run.data().rows().size(), std::size_t{7});
    QVERIFY(run.data().rows().front().inPlace);
    QVERIFY(ncclTestsText(run.data()).contains("1048576"));
    QCOMPARE(csvText(run.data()).count('\n'), 15);
    QVERIFY(jsonText(run.data()).contains("busbw"));
    // Kept: the same again from the disk.
    const std::vector<RunInfo> kept = RunStore::list(m_runs.filePath("kept"));
    const auto same =
        std::find_if(kept.begin(), kept.end(), [&](const RunInfo& info) { return info.id == run.info().id; });
    QVERIFY(same != kept.end());
    QCOMPARE(same->code, 0);
    QVERIFY(same->request == run.info().request);
    const auto loaded = RunStore::load(*same);
    QCOMPARE(csvText(*loaded), csvText(run.data()));
    QCOMPARE(loaded->traces().size(), run.data().traces().size());
    const auto subject = RunStore::subject(*same);
    QVERIFY(static_cast<bool>(subject));
    QCOMPARE(subject->schedule, QByteArray("ok"));
  }

  /// An executor that is installed while the window is open is found by the next try.
  void findsTheExecutorWhenNeeded() {
    const QString beside = QCoreApplication::applicationDirPath() + "/coppice-exec";
    QVERIFY(!QFile::exists(beside));
    RunEnvironment ours = environment();
    ours.executor.clear();
    Connection connection({}, ours);
    const auto settled = [&] {
      connection.open();
      return QTest::qWaitFor([&] { return connection.state() != Connection::State::connecting; }, kPatience);
    };
    QVERIFY(settled());
    QCOMPARE(connection.state(), Connection::State::failed);
    QVERIFY(QFile::link(QStringLiteral(COPPICE_STAND_IN), beside));
    const bool isSettled = settled();
    QFile::remove(beside);
    QVERIFY(isSettled);
    QVERIFY2(connection.state() == Connection::State::ready, describeSteps(connection).constData());
  }

  void endings_data() {
    QTest::addColumn<QByteArray>("mode");
    QTest::addColumn<int>("code");
    QTest::newRow("flood") << QByteArray("flood") << 0;
    QTest::newRow("crash") << QByteArray("crash") << 8;
    QTest::newRow("no final record") << QByteArray("silent-end") << 3;
    QTest::newRow("other protocol") << QByteArray("other-protocol") << 8;
  }
  void endings() {
    QFETCH(QByteArray, mode);
    const auto connection = connected({});
    LiveRun run(makeRun(mode), *connection);
    run.start();
    waitFor(run, RunState::ended);
    QTEST(run.info().code, "code");
    QVERIFY(mode == "flood" || !run.info().reason.isEmpty());
  }

  void cancelKillsEverything_data() {
    QTest::addColumn<bool>("isRemote");
    QTest::addColumn<QByteArray>("mode");
    QTest::newRow("here, children in sessions of their own") << false << QByteArray("children");
    QTest::newRow("over ssh, children in sessions of their own") << true << QByteArray("children");
    QTest::newRow("here, one that ignores TERM") << false << QByteArray("stubborn");
  }
  void cancelKillsEverything() {
    QFETCH(bool, isRemote);
    QFETCH(QByteArray, mode);
    if (isRemote && !m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    const auto connection = connected(isRemote ? loop() : Machine{});
    QVERIFY2(connection->state() == Connection::State::ready, describeSteps(*connection).constData());
    const QByteArray mark = "mark-" + newRunId().toUtf8();
    LiveRun run(makeRun(mode + " " + mark), *connection);
    run.start();
    QVERIFY(QTest::qWaitFor([&] { return run.data().rows().size() >= 7; }, kPatience));
    // A child has its words once it is another program.
    QTRY_COMPARE_WITH_TIMEOUT(processesWith(mark), mode == "children" ? 3 : 0, kPatience);
    run.cancel();
    waitFor(run, RunState::ended);
    QCOMPARE(run.info().code, static_cast<int>(program::RunExit::cancelled));
    QCOMPARE(processesWith(mark), 0);
    QCOMPARE(processesWith(run.info().id.toUtf8()), 0);
  }

  void windowGone_data() {
    QTest::addColumn<bool>("isRemote");
    QTest::addColumn<bool>("keepsRunning");
    QTest::newRow("here, ends") << false << false;
    QTest::newRow("over ssh, ends") << true << false;
    QTest::newRow("here, goes on") << false << true;
    QTest::newRow("over ssh, goes on") << true << true;
  }
  void windowGone() {
    QFETCH(bool, isRemote);
    QFETCH(bool, keepsRunning);
    if (isRemote && !m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    auto connection = connected(isRemote ? loop() : Machine{});
    QVERIFY2(connection->state() == Connection::State::ready, describeSteps(*connection).constData());
    const QByteArray mark = "mark-" + newRunId().toUtf8();
    const QString released = m_runs.filePath("released-" + QString::fromUtf8(mark));
    auto run = std::make_unique<LiveRun>(makeRun("held " + released.toLocal8Bit(), keepsRunning), *connection);
    run->start();
    QVERIFY(QTest::qWaitFor([&] { return !run->data().rows().empty(); }, kPatience));
    RunInfo info = run->info();
    QVERIFY(processesWith(info.id.toUtf8()) > 0);
    // As if the window were killed: no clean end.
    run.reset();
    connection.reset();
    if (!keepsRunning) {
      QVERIFY(QTest::qWaitFor([&] { return processesWith(info.id.toUtf8()) == 0; }, kPatience));
      return;
    }
    QVERIFY(processesWith(info.id.toUtf8()) > 0);
    connection = connected(isRemote ? loop() : Machine{});
    QCOMPARE(connection->state(), Connection::State::ready);
    LiveRun again(info, *connection);
    again.rejoin();
    release(released);
    waitFor(again, RunState::ended);
    QCOMPARE(again.info().code, 0);
    QCOMPARE(again.data().rows().size(), std::size_t{7});
    QCOMPARE(processesWith(info.id.toUtf8()), 0);
    // What was kept before and after is one whole.
    QCOMPARE(RunStore::load(again.info())->rows().size(), std::size_t{7});
  }

  // ---- ssh

  void connectAndDeploy() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    QDir(m_sshd.path("home/.cache")).removeRecursively();
    auto connection = connected(loop());
    QVERIFY2(connection->state() == Connection::State::ready, describeSteps(*connection).constData());
    for (const ConnectStep& step : connection->steps()) {
      QVERIFY2(step.state == ConnectStep::State::done || step.state == ConnectStep::State::skipped,
               qPrintable(step.title));
      if (step.state == ConnectStep::State::done) {
        QVERIFY2(!step.command.isEmpty(), qPrintable(step.title));
        QVERIFY2(!step.message.isEmpty(), qPrintable(step.title));
      }
    }
    const QString folder = m_sshd.path("home/" + QString::fromStdString(remote::installFolder(
                                                     remote::readExecutor(COPPICE_STAND_IN)->needs.architecture)));
    QVERIFY(QFileInfo(folder + "/coppice-exec").isExecutable());
    QCOMPARE(QDir(folder).entryList({"*.part"}), QStringList());
    QCOMPARE(QFileInfo(m_sshd.path("home/.cache/coppice")).permissions() & (QFile::ReadOther | QFile::ReadGroup),
             QFile::Permissions());
    connection->close();
    // There now: not copied again, unless it was changed.
    connection = connected(loop());
    QCOMPARE(connection->state(), Connection::State::ready);
    QCOMPARE(connection->steps()[8].state, ConnectStep::State::skipped);
    QFile damaged(folder + "/coppice-exec");
    QVERIFY(damaged.open(QIODevice::Append));
    damaged.write("x");
    damaged.close();
    connection = connected(loop());
    QCOMPARE(connection->state(), Connection::State::ready);
    QCOMPARE(connection->steps()[8].state, ConnectStep::State::done);
    LiveRun run(makeRun("ok"), *connection);
    run.start();
    waitFor(run, RunState::ended);
    QCOMPARE(run.info().code, 0);
  }

  /// A step that waits for the machine ends at its limit, and the message of it does not outlive the next success.
  void steps_data() {
    QTest::addColumn<QByteArray>("rc");
    QTest::addColumn<QString>("trap");
    QTest::addColumn<int>("step");
    QTest::addColumn<bool>("hangs");
    QTest::addColumn<QString>("expected");
    QTest::newRow("a script that hangs") << QByteArray("exec sleep 3600\n") << "" << 4 << true
                                         << "loop did not answer within 1 s";
    QTest::newRow("a copy that hangs")
        << QByteArray("case $SSH_ORIGINAL_COMMAND in *coppice-exec.*) exec sleep 3600 ;; esac\n") << "" << 8 << true
        << "loop did not answer within 1 s while receiving coppice-exec";
    QTest::newRow("no room for the copy")
        << QByteArray(
               "case $SSH_ORIGINAL_COMMAND in *coppice-exec.*) echo 'cat: write error: No space left on device' "
               ">&2; exit 1 ;; esac\n")
        << "" << 8 << false << "coppice-exec could not be written on loop: \"cat: write error: No space left on device";
    QTest::newRow("a link in the place of the folder")
        << QByteArray() << "elsewhere" << 6 << false << "~/.cache/coppice on loop is a symbolic link";
  }
  void steps() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    QFETCH(QByteArray, rc);
    QFETCH(QString, trap);
    QFETCH(int, step);
    QFETCH(bool, hangs);
    QFETCH(QString, expected);
    m_sshd.trustHost();
    QDir(m_sshd.path("home/.cache")).removeRecursively();
    if (!trap.isEmpty()) {
      QDir().mkpath(m_sshd.path("home/.cache"));
      QVERIFY(QFile::link(m_sshd.path(trap), m_sshd.path("home/.cache/coppice")));
    }
    m_sshd.write("home/rc", rc);
    QWidget window;
    RunOptions options;
    options.environment = environment();
    // Only what hangs is bound to be too slow: anything else may take its time on a busy machine.
    if (hangs) {
      (step == 4 ? options.environment.limits.script : options.environment.limits.upload) = std::chrono::seconds(1);
    }
    options.keepsSettings = false;
    options.dataFolder = m_runs.filePath("steps");
    test::Answers answers;
    RunActivity activity(answers, options, &window);
    QSignalSpy said(&activity, &RunActivity::message);
    activity.machinesPanel()->setCurrent("ssh:loop");
    Connection* connection = activity.machines().connection("ssh:loop");
    connection->open();
    QTRY_COMPARE_WITH_TIMEOUT(connection->state(), Connection::State::failed, kPatience);
    QCOMPARE(failedStep(*connection), &connection->steps()[step]);
    QVERIFY2(connection->message().startsWith(expected), qPrintable(connection->message()));
    QVERIFY(!failedStep(*connection)->fix.isEmpty());
    const QString card = activity.machinesPanel()->findChild<QLabel*>("machineCard")->text();
    QVERIFY2(card.contains(connection->message().toHtmlEscaped()), qPrintable(card));
    const QString advice = adviceOf(*failedStep(*connection));
    QVERIFY2(advice.endsWith('.') && advice.contains(failedStep(*connection)->fix.mid(1)), qPrintable(advice));
    QVERIFY2(card.contains(advice.toHtmlEscaped()), qPrintable(card));
    // The output of the step begins with both: the column of results is too narrow for them.
    const QString output = activity.connection()->findChild<QPlainTextEdit*>("connectionOutput")->toPlainText();
    QVERIFY2(output.startsWith(connection->message() + '\n' + advice), qPrintable(output));
    QVERIFY2(!activity.runPanel()->obstacle().contains(".;"), qPrintable(activity.runPanel()->obstacle()));
    QCOMPARE(said.last().front().toString(), connection->message());
    QFile::remove(m_sshd.path("home/rc"));
    QFile::remove(m_sshd.path("home/.cache/coppice"));
  }
  void messageOfAFailureGoes() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    m_sshd.write("home/rc", "case $SSH_ORIGINAL_COMMAND in *self-test*) exit 1 ;; esac\n");
    QWidget window;
    RunOptions options;
    options.environment = environment();
    options.keepsSettings = false;
    options.dataFolder = m_runs.filePath("stale");
    test::Answers answers;
    RunActivity activity(answers, options, &window);
    QSignalSpy said(&activity, &RunActivity::message);
    Connection* connection = activity.machines().connection("ssh:loop");
    connection->open();
    QTRY_COMPARE_WITH_TIMEOUT(connection->state(), Connection::State::failed, kPatience);
    QFile::remove(m_sshd.path("home/rc"));
    connection->open();
    QTRY_COMPARE_WITH_TIMEOUT(connection->state(), Connection::State::ready, kPatience);
    QCOMPARE(said.last().front().toString(), QString("loop is connected."));
  }

  void unknownHostKeyNeedsConsent() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.forgetHost();
    const auto connection = connected(loop());
    QCOMPARE(connection->state(), Connection::State::needsConsent);
    QCOMPARE(connection->trouble(), SshTrouble::hostKeyUnknown);
    QVERIFY(!QFileInfo::exists(m_sshd.path("known_hosts")));
    QProcess keygen;
    keygen.start("ssh-keygen", {"-l", "-f", m_sshd.path("host_key.pub")});
    QVERIFY(keygen.waitForFinished(coppice::waiting::kPatience));
    const QString fingerprint = QString::fromUtf8(keygen.readAllStandardOutput()).section(' ', 1, 1);
    QVERIFY2(connection->fingerprints().join(' ').contains(fingerprint),
             qPrintable(connection->fingerprints().join(' ')));
    connection->acceptHostKey();
    QVERIFY(QTest::qWaitFor([&] { return connection->state() != Connection::State::connecting; }, kPatience));
    QVERIFY2(connection->state() == Connection::State::ready, describeSteps(*connection).constData());
    QFile known(m_sshd.path("known_hosts"));
    QVERIFY(known.open(QIODevice::ReadOnly));
    QCOMPARE(known.readAll().count('\n'), 1);
  }

  void changedHostKeyIsRefused() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost("other_host_key");
    QFile known(m_sshd.path("known_hosts"));
    QVERIFY(known.open(QIODevice::ReadOnly));
    const QByteArray before = known.readAll();
    const auto connection = connected(loop());
    QCOMPARE(connection->state(), Connection::State::failed);
    QCOMPARE(connection->trouble(), SshTrouble::hostKeyChanged);
    QVERIFY(failedStep(*connection));
    QCOMPARE(failedStep(*connection)->title, connection->steps()[2].title);
    connection->acceptHostKey();
    QCOMPARE(connection->state(), Connection::State::failed);
    known.seek(0);
    QCOMPARE(known.readAll(), before);
  }

  void loginRefused() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    m_sshd.writeClientConfig("unknown_key");
    const auto connection = connected(loop());
    m_sshd.writeClientConfig();
    QCOMPARE(connection->state(), Connection::State::failed);
    QCOMPARE(connection->trouble(), SshTrouble::keyRefused);
    QCOMPARE(failedStep(*connection)->title, connection->steps()[3].title);
  }

  void unreachable_data() {
    QTest::addColumn<QString>("host");
    QTest::addColumn<int>("port");
    QTest::addColumn<int>("trouble");
    QTest::newRow("no such name") << "no-such-host.invalid" << 0 << static_cast<int>(SshTrouble::nameUnknown);
    QTest::newRow("nobody listens") << "127.0.0.1" << 1 << static_cast<int>(SshTrouble::refused);
  }
  void unreachable() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    QFETCH(QString, host);
    QFETCH(int, port);
    const auto connection = connected({Machine::Kind::added, remote::Target{host.toStdString(), {}, port}});
    QCOMPARE(connection->state(), Connection::State::failed);
    QTEST(static_cast<int>(connection->trouble()), "trouble");
    QVERIFY(!failedStep(*connection)->fix.isEmpty());
  }

  void silentServerTimesOut() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    // Takes the connection and says nothing.
    QTcpServer silent;
    QVERIFY(silent.listen(QHostAddress::LocalHost));
    RunEnvironment hurried = environment();
    hurried.ssh.connectTimeout = 1;
    Connection connection({Machine::Kind::added, remote::Target{"127.0.0.1", {}, silent.serverPort()}}, hurried);
    connection.open();
    QVERIFY(QTest::qWaitFor([&] { return connection.state() != Connection::State::connecting; }, kPatience));
    QCOMPARE(connection.trouble(), SshTrouble::timeout);
  }

  void lostConnection() {
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
    m_sshd.trustHost();
    const auto connection = connected(loop());
    QCOMPARE(connection->state(), Connection::State::ready);
    const QString released = m_runs.filePath("released-lost");
    LiveRun run(makeRun("held " + released.toLocal8Bit(), true), *connection);
    run.start();
    QVERIFY(QTest::qWaitFor([&] { return !run.data().rows().empty(); }, kPatience));
    // The shared connection dies under the run.
    const QByteArray socket = "ControlPath=";
    for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
      QFile file("/proc/" + name + "/cmdline");
      if (file.open(QIODevice::ReadOnly)) {
        const QByteArray line = file.readAll();
        if (line.contains("ControlMaster=yes") && line.contains(m_sshd.config().toUtf8())) {
          kill(name.toInt(), SIGKILL);
        }
      }
    }
    QVERIFY(QTest::qWaitFor([&] { return connection->state() == Connection::State::lost; }, kPatience));
    waitFor(run, RunState::lost);
    connection->open();
    QVERIFY(QTest::qWaitFor([&] { return connection->state() == Connection::State::ready; }, kPatience));
    run.rejoin();
    release(released);
    waitFor(run, RunState::ended);
    QCOMPARE(run.info().code, 0);
    QCOMPARE(run.data().rows().size(), std::size_t{7});
  }
};

QTEST_MAIN(TestDesignerConnection)
#include "tst_designer_connection.moc"
