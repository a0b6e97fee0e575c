// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <memory>
#include <set>

#include "coppice/test_paths.hpp"
#include "remote/scripts.hpp"
#include "support/loopback_sshd.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using coppice::waiting::kPatience;

namespace {

constexpr int kInterrupted = 130;

/// Processes with each of these words in their command line, by id.
std::set<int> processesWith(const QList<QByteArray>& words) {
  std::set<int> found;
  for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
    bool isNumber = false;
    const int pid = name.toInt(&isNumber);
    QFile file("/proc/" + name + "/cmdline");
    if (isNumber && file.open(QIODevice::ReadOnly)) {
      const QByteArray line = file.readAll();
      if (std::all_of(words.begin(), words.end(), [&](const QByteArray& word) { return line.contains(word); })) {
        found.insert(pid);
      }
    }
  }
  return found;
}

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// A coppice-cli under way.
struct Cli {
  QProcess process;
  QByteArray output;

  QByteArray heard() {
    output += process.readAll();
    return output;
  }
  void signal(int number) const { kill(static_cast<pid_t>(process.processId()), number); }
};

}  // namespace

/// coppice-cli run --host against a real sshd on the loopback that has no sftp.
class TestRemoteCli : public QObject {
  Q_OBJECT

private:
  LoopbackSshd m_sshd;
  QString m_why;
  QTemporaryDir m_files;

  QString file(const QString& name, const QByteArray& text) {
    QFile out(m_files.filePath(name));
    if (out.open(QIODevice::WriteOnly)) {
      out.write(text);
    }
    return out.fileName();
  }
  [[nodiscard]] QStringList there() const {
    return {"--executor", COPPICE_STAND_IN, "--host", "loop", "--ssh-config", m_sshd.config()};
  }
  /// @param limits  as COPPICE_REMOTE_LIMITS
  static std::unique_ptr<Cli> start(const QStringList& arguments, const QString& limits = {}) {
    auto cli = std::make_unique<Cli>();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    if (!limits.isEmpty()) {
      environment.insert("COPPICE_REMOTE_LIMITS", limits);
    }
    cli->process.setProcessEnvironment(environment);
    cli->process.setProcessChannelMode(QProcess::MergedChannels);
    cli->process.setStandardInputFile(QProcess::nullDevice());
    cli->process.start(COPPICE_CLI, QStringList{"run"} + arguments);
    return cli;
  }
  /// Runs to the end; the exit code, or -1 for one that does not end.
  static int finish(Cli& cli) {
    if (cli.process.state() != QProcess::NotRunning && !cli.process.waitForFinished(kPatience)) {
      return -1;
    }
    cli.heard();
    return cli.process.exitCode();
  }
  static QByteArray run(const QStringList& arguments, int code, const QString& limits = {}) {
    const auto cli = start(arguments, limits);
    const int found = finish(*cli);
    if (found != code) {
      qWarning("exit code %d instead of %d:\n%s", found, code, cli->output.constData());
      return {};
    }
    return cli->output;
  }
  [[nodiscard]] std::set<int> masters() const { return processesWith({"ControlMaster=yes", m_sshd.config().toUtf8()}); }
  /// The private folder of the connection that is open; empty = none.
  [[nodiscard]] QString privateFolder() const {
    for (const int pid : masters()) {
      const QByteArray line = bytesOf(QStringLiteral("/proc/%1/cmdline").arg(pid));
      const qsizetype at = line.indexOf("ControlPath=");
      if (at >= 0) {
        const QByteArray path = line.mid(at + 12);
        return QFileInfo(QString::fromUtf8(path.constData())).path();
      }
    }
    return {};
  }
  /// What a session does before its command.
  void setRc(const QByteArray& text) { m_sshd.write("home/rc", text); }
  /// Hangs in sessions whose command has this word, and leaves a file that says so.
  void hangAt(const QByteArray& word) {
    setRc("case \"$SSH_ORIGINAL_COMMAND\" in\n  *'" + word + "'*) : >hanging; exec sleep 3600 ;;\nesac\n");
  }
  /// A schedule of which the run goes on after its first size when release() is called.
  QString heldFile() {
    QFile::remove(m_files.filePath("released"));
    return file("held.xml", "held " + m_files.filePath("released").toLocal8Bit());
  }
  void release() { file("released", {}); }
  void forget() { QDir(m_sshd.path("home/.cache")).removeRecursively(); }
  [[nodiscard]] QString installed() const {
    const QStringList found = QDir(m_sshd.path("home/.cache/coppice")).entryList({"*-*"}, QDir::Dirs);
    return found.isEmpty() ? QString() : m_sshd.path("home/.cache/coppice/" + found.front());
  }
  /// The folder of the only remote run.
  [[nodiscard]] QString runFolder() const {
    const QString runs = m_sshd.path("home/.cache/coppice/runs");
    const QStringList found = QDir(runs).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    return found.isEmpty() ? QString() : runs + "/" + found.front();
  }

private Q_SLOTS:
  void initTestCase() {
    qunsetenv("SSH_AUTH_SOCK");
    qunsetenv("COPPICE_REMOTE_LIMITS");
    m_why = m_sshd.start();
    if (!m_why.isEmpty()) {
      QSKIP(qPrintable(m_why));
    }
  }
  void init() {
    m_sshd.writeClientConfig();
    m_sshd.trustHost();
    QFile::remove(m_sshd.path("home/rc"));
    QFile::remove(m_sshd.path("home/hanging"));
    QDir(m_sshd.path("home/.cache/coppice/runs")).removeRecursively();
  }

  void here() {
    const QStringList exec{"--executor", COPPICE_STAND_IN};
    QVERIFY(run(QStringList{file("ok.xml", "ok")} + exec, 0).contains("67108864"));
    QVERIFY(run(QStringList{file("crash.xml", "crash")} + exec, 2).contains("without a final record"));
    QVERIFY(run(QStringList{file("ok.xml", "ok"), "-b", "many"} + exec, 2).contains("not a size"));
    QVERIFY(run(QStringList{file("ok.xml", "ok"), "--host", "-oProxyCommand=id"} + exec, 2).contains("is not a host"));
    QVERIFY(run(QStringList{file("ok.xml", "ok")} + there(), 2, "script=soon").contains("is not a time limit"));
  }

  void overSsh() {
    m_sshd.forgetHost();
    QVERIFY(run(QStringList{file("ok.xml", "ok")} + there(), 2).contains("not known yet"));
    QVERIFY(!QFileInfo::exists(m_sshd.path("known_hosts")));
    m_sshd.trustHost();
    QVERIFY(run(QStringList{file("ok.xml", "ok"), "--json"} + there(), 0).contains("\"results\":[{"));
    QCOMPARE(runFolder(), QString());
    const QByteArray left = run(QStringList{heldFile(), "--detach"} + there(), 0);
    // The command as it is printed shows the run.
    const QRegularExpressionMatch command =
        QRegularExpression("coppice-cli run (.*--attach cli-[0-9a-f]+)\n").match(QString::fromUtf8(left));
    QVERIFY2(command.hasMatch(), left.constData());
    const auto again = start(QProcess::splitCommand(command.captured(1)) + QStringList{"--executor", COPPICE_STAND_IN});
    QTRY_VERIFY_WITH_TIMEOUT(again->heard().contains("1048576"), kPatience);
    release();
    QCOMPARE(finish(*again), 0);
    QVERIFY2(again->output.contains("67108864"), again->output.constData());
  }

  void interruptEndsTheRun() {
    const QByteArray mark = "mark-" + QByteArray::number(QCoreApplication::applicationPid()) + "-interrupt";
    const auto cli = start(QStringList{file("children.xml", "children " + mark)} + there());
    QTRY_COMPARE_WITH_TIMEOUT(processesWith({mark}).size(), std::size_t{3}, kPatience);
    const QString folder = privateFolder();
    QVERIFY(QFileInfo::exists(folder));
    cli->signal(SIGINT);
    QCOMPARE(finish(*cli), kInterrupted);
    QVERIFY2(cli->output.contains("stopped by the user"), cli->output.constData());
    QVERIFY(processesWith({mark}).empty());
    QVERIFY(masters().empty());
    QVERIFY(!QFileInfo::exists(folder));
    QCOMPARE(runFolder(), QString());
  }

  /// Two first launches to one home folder at the same time: both run, and nothing unfinished is left.
  void twoFirstLaunches() {
    forget();
    // Both are there with their first file before either goes on.
    setRc(
        "case \"$SSH_ORIGINAL_COMMAND\" in\n  *'cat >'*coppice-exec*) : >\"here.$$\"\n"
        "    while [ \"$(ls here.* | wc -l)\" -lt 2 ]; do sleep 0.1; done ;;\nesac\n");
    const QString schedule = file("ok.xml", "ok");
    const auto first = start(QStringList{schedule} + there());
    const auto second = start(QStringList{schedule} + there());
    QVERIFY2(finish(*first) == 0, first->output.constData());
    QVERIFY2(finish(*second) == 0, second->output.constData());
    QVERIFY(first->output.contains("copying coppice-exec") && second->output.contains("copying coppice-exec"));
    QCOMPARE(QDir(installed()).entryList({"*.part"}), QStringList());
    QVERIFY(QFileInfo(installed() + "/coppice-exec").isExecutable());
    for (const QString& name : QDir(m_sshd.path("home")).entryList({"here.*"})) {
      QFile::remove(m_sshd.path("home/" + name));
    }
  }

  void oddNames() {
    const QString odd = file("we*ird [1]? 'n.xml", "ok");
    file("we-ird 1x 'n.xml", "crash");
    QVERIFY(run(QStringList{odd} + there(), 0).contains("67108864"));
  }

  void foreignFolder() {
    forget();
    QDir().mkpath(m_sshd.path("home/.cache"));
    QDir().mkpath(m_sshd.path("home/elsewhere"));
    QVERIFY(QFile::link(m_sshd.path("home/elsewhere"), m_sshd.path("home/.cache/coppice")));
    const QByteArray said = run(QStringList{file("ok.xml", "ok")} + there(), 2);
    QVERIFY2(said.contains("~/.cache/coppice on loop is a symbolic link"), said.constData());
    QVERIFY(QDir(m_sshd.path("home/elsewhere")).isEmpty());
    forget();
  }

  /// A login that prints something without ending the line.
  void noisyLogin() {
    setRc("printf Welcome\n");
    QVERIFY(run(QStringList{file("ok.xml", "ok")} + there(), 0).contains("67108864"));
    QVERIFY(run(QStringList{heldFile(), "--detach"} + there(), 0).contains("--attach cli-"));
    release();
  }

  // ---- steps that hang

  void hangs_data() {
    QTest::addColumn<QByteArray>("word");
    QTest::addColumn<QString>("limits");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("a script") << QByteArray("/bin/sh -s") << "script=1"
                              << QByteArray("loop did not answer within 1 s while reading its system");
    QTest::newRow("a script, named before its limit")
        << QByteArray("/bin/sh -s") << "script=3,silence=1"
        << QByteArray("# loop has not answered for 1 s while reading its system; waiting up to 3 s");
    QTest::newRow("a copy") << QByteArray("coppice-exec.") << "upload=1"
                            << QByteArray("loop did not answer within 1 s while receiving coppice-exec");
    QTest::newRow("the start") << QByteArray("supervise") << "start=1" << QByteArray("loop did not start the run cli-");
  }
  /// A step that exceeds its limit is named; nothing of it is left here.
  void hangs() {
    QFETCH(QByteArray, word);
    QFETCH(QString, limits);
    QFETCH(QByteArray, expected);
    forget();
    hangAt(word);
    const auto cli = start(QStringList{file("ok.xml", "ok")} + there(), limits + ",clean_up=60");
    QTRY_VERIFY_WITH_TIMEOUT(!masters().empty() || cli->process.state() == QProcess::NotRunning, kPatience);
    const QString folder = privateFolder();
    QCOMPARE(finish(*cli), 2);
    QVERIFY2(cli->output.contains(expected), cli->output.constData());
    QVERIFY(masters().empty());
    QVERIFY(folder.isEmpty() || !QFileInfo::exists(folder));
    if (!installed().isEmpty()) {
      QCOMPARE(QDir(installed()).entryList({"*.part"}), QStringList());
    }
  }

  void silentServer() {
    QTcpServer silent;
    QVERIFY(silent.listen(QHostAddress::LocalHost));
    const QByteArray said = run({file("ok.xml", "ok"), "--executor", COPPICE_STAND_IN, "--ssh-config", m_sshd.config(),
                                 "--host", "127.0.0.1:" + QString::number(silent.serverPort())},
                                2, "login=1");
    QVERIFY2(said.contains("127.0.0.1 did not answer within 1 s while logging in"), said.constData());
  }

  void interruptWhileItHangs_data() {
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("a script") << QByteArray("/bin/sh -s");
    QTest::newRow("a copy") << QByteArray("coppice-exec.");
    QTest::newRow("the start") << QByteArray("supervise");
  }
  /// The first Ctrl+C ends it, wherever it waits, and nothing is left.
  void interruptWhileItHangs() {
    QFETCH(QByteArray, word);
    forget();
    hangAt(word);
    // No limit would end it in the time of this test.
    const auto cli =
        start(QStringList{file("ok.xml", "ok")} + there(), "script=3600,upload=3600,start=3600,clean_up=5,stop=1");
    QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(m_sshd.path("home/hanging")), kPatience);
    const QString folder = privateFolder();
    QVERIFY(QFileInfo::exists(folder));
    cli->signal(SIGINT);
    QCOMPARE(finish(*cli), kInterrupted);
    QVERIFY(masters().empty());
    QVERIFY(!QFileInfo::exists(folder));
  }

  /// A second Ctrl+C ends it at once; the connection and its folder go even then.
  void secondInterrupt() {
    hangAt("supervise");
    const auto cli = start(QStringList{file("ok.xml", "ok")} + there(), "start=3600,stop=3600");
    QTRY_VERIFY_WITH_TIMEOUT(QFileInfo::exists(m_sshd.path("home/hanging")), kPatience);
    const QString folder = privateFolder();
    cli->signal(SIGINT);
    // Until it has taken the first: two at the same time may count as one.
    QTRY_VERIFY_WITH_TIMEOUT(cli->process.state() == QProcess::NotRunning || (cli->signal(SIGINT), false), kPatience);
    QCOMPARE(finish(*cli), kInterrupted);
    QTRY_VERIFY_WITH_TIMEOUT(masters().empty(), kPatience);
    QVERIFY(!QFileInfo::exists(folder));
  }

  /// A machine that freezes in a run is named, and then given up with the name of the run and the way back to it.
  void frozenMachine() {
    const auto cli = start(QStringList{file("stubborn.xml", "stubborn x")} + there(), "silence=1,lost=4");
    QTRY_VERIFY_WITH_TIMEOUT(!bytesOf(runFolder() + "/lock").isEmpty(), kPatience);
    const QString folder = runFolder();
    const QByteArray id = QFileInfo(folder).fileName().toUtf8();
    const int supervisor = bytesOf(folder + "/lock").trimmed().toInt();
    // What answers us, and not what runs.
    std::set<int> frozen = processesWith({"coppice-exec", "supervise", id});
    frozen.erase(supervisor);
    for (const int pid : frozen) {
      kill(pid, SIGSTOP);
    }
    const int code = finish(*cli);
    for (const int pid : frozen) {
      kill(pid, SIGCONT);
    }
    QCOMPARE(code, 2);
    QVERIFY2(cli->output.contains("# loop has not answered for 1 s"), cli->output.constData());
    QVERIFY2(cli->output.contains("the run " + id + " was left"), cli->output.constData());
    QVERIFY2(cli->output.contains("--host loop --ssh-config " + m_sshd.config().toUtf8() + " --attach " + id),
             cli->output.constData());
    QTRY_VERIFY_WITH_TIMEOUT(!bytesOf(folder + "/ended").isEmpty(), kPatience);
  }

  /// The shared connection dies under a run that goes on.
  void droppedConnection() {
    const QByteArray left = run(QStringList{heldFile(), "--detach"} + there(), 0);
    const QByteArray id = left.mid(left.indexOf("--attach ") + 9).split('\n').front();
    const auto cli = start(QStringList{"--attach", id} + there());
    QTRY_VERIFY_WITH_TIMEOUT(cli->heard().contains("1048576"), kPatience);
    for (const int pid : masters()) {
      kill(pid, SIGKILL);
    }
    QCOMPARE(finish(*cli), 2);
    QVERIFY2(cli->output.contains("the connection to loop was lost in the run " + id), cli->output.constData());
    QVERIFY2(cli->output.contains("to attach again: coppice-cli run --host loop"), cli->output.constData());
    release();
    QVERIFY(run(QStringList{"--attach", id} + there(), 0).contains("67108864"));
  }

  /// A key with a passphrase, at a terminal: ssh may ask for it; Ctrl+C there ends all of it.
  void passphrase_data() {
    QTest::addColumn<QByteArray>("typed");
    QTest::addColumn<int>("code");
    QTest::newRow("typed") << QByteArray("secret words\n") << 0;
    QTest::newRow("Ctrl+C") << QByteArray("\x03") << kInterrupted;
  }
  void passphrase() {
    QFETCH(QByteArray, typed);
    QFETCH(int, code);
    if (!QFileInfo::exists(m_sshd.path("locked_key"))) {
      QVERIFY(m_sshd.makeKey("locked_key", "secret words"));
      QFile keys(m_sshd.path("authorized_keys"));
      QVERIFY(keys.open(QIODevice::Append));
      keys.write(bytesOf(m_sshd.path("locked_key.pub")));
    }
    m_sshd.writeClientConfig("locked_key");
    const QString schedule = file("ok.xml", "ok");
    std::vector<QByteArray> words{COPPICE_CLI, "run", schedule.toLocal8Bit()};
    for (const QString& word : there()) {
      words.push_back(word.toLocal8Bit());
    }
    std::vector<char*> argv;
    for (QByteArray& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    int terminal = -1;
    const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
    QVERIFY(pid >= 0);
    if (pid == 0) {
      execv(argv.front(), argv.data());
      _exit(127);
    }
    fcntl(terminal, F_SETFL, fcntl(terminal, F_GETFL) | O_NONBLOCK);
    QByteArray shown;
    int raw = 0;
    bool hasEnded = false;
    const auto look = [&] {
      char buffer[4096];
      for (ssize_t got = read(terminal, buffer, sizeof(buffer)); got > 0;
           got = read(terminal, buffer, sizeof(buffer))) {
        shown.append(buffer, static_cast<qsizetype>(got));
      }
      hasEnded = hasEnded || waitpid(pid, &raw, WNOHANG) == pid;
      return hasEnded;
    };
    const bool asks = QTest::qWaitFor([&] { return look() || shown.contains("passphrase"); }, kPatience);
    QVERIFY2(asks && !hasEnded, shown.constData());
    QCOMPARE(write(terminal, typed.constData(), static_cast<std::size_t>(typed.size())),
             static_cast<ssize_t>(typed.size()));
    const bool ended = QTest::qWaitFor(look, kPatience);
    if (!ended) {
      kill(pid, SIGKILL);
      waitpid(pid, &raw, 0);
    }
    look();
    close(terminal);
    QVERIFY2(ended, shown.constData());
    QVERIFY2(WIFEXITED(raw) && WEXITSTATUS(raw) == code, shown.constData());
    QVERIFY2(code != 0 || shown.contains("67108864"), shown.constData());
    QVERIFY(masters().empty());
  }

  // ---- bundles

  /// On a full disk there is no bundle, rather than one with half an executor.
  void bundleOnFullDisk() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QSKIP("skipped: sanitizers write files of their own");
#endif
    QTemporaryDir folder;
    const QString schedule = QStringLiteral(COPPICE_TEST_DATA "/executor/ring-allgather.xml");
    const QStringList arguments{
        COPPICE_CLI, "run", schedule, "--executor", COPPICE_STAND_IN, "--bundle", folder.filePath("bundle")};
    QProcess process;
    // A file that is too large stands in for a full disk; 32 KiB are less than any executor has.
    process.start("/bin/sh", QStringList{"-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"} + arguments);
    QVERIFY(process.waitForFinished(kPatience));
    const QByteArray said = process.readAllStandardError();
    QCOMPARE(process.exitCode(), 2);
    QVERIFY2(said.contains("bundle/coppice-exec") && said.contains("cannot write"), said.constData());
    QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot), QStringList());
    process.start(arguments.front(), arguments.mid(1));
    QVERIFY(process.waitForFinished(kPatience));
    QCOMPARE(process.exitCode(), 0);
    QCOMPARE(bytesOf(folder.filePath("bundle/coppice-exec")), bytesOf(COPPICE_STAND_IN));
    QVERIFY(QFileInfo(folder.filePath("bundle/coppice-exec")).isExecutable());
  }
};

QTEST_GUILESS_MAIN(TestRemoteCli)
#include "tst_remote_cli.moc"
