// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <string>
#include <vector>

#include "remote/bundle.hpp"
#include "remote/elf.hpp"
#include "remote/host.hpp"
#include "remote/host_key.hpp"
#include "remote/limits.hpp"
#include "remote/quoting.hpp"
#include "remote/run_watch.hpp"
#include "remote/scripts.hpp"
#include "remote/session_steps.hpp"
#include "remote/several.hpp"
#include "remote/sha256.hpp"
#include "remote/site.hpp"
#include "remote/ssh.hpp"
#include "remote/ssh_config.hpp"
#include "remote/ssh_fault.hpp"
#include "remote/transfer.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using remote::SshTrouble;

namespace {

QStringList toStringList(const std::vector<std::string>& words) {
  QStringList list;
  for (const std::string& word : words) {
    list << QString::fromStdString(word);
  }
  return list;
}

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("cannot be read");
}

void fill(const QString& path, const QByteArray& text) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(text);
}

}  // namespace

/// Everything in app/remote, without another machine: its scripts run in a home folder of their own here.
class TestRemote : public QObject {
  Q_OBJECT

private:
  struct Said {
    int status = -1;
    remote::Facts facts;
    std::string errors;
  };
  /// As /bin/sh on the machine would.
  static Said shell(const QString& home, const QStringList& arguments, const QByteArray& input) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("HOME", home);
    process.setProcessEnvironment(environment);
    process.setWorkingDirectory("/");
    process.start("/bin/sh", arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(60'000)) {
      return {};
    }
    return {process.exitCode(), remote::factsIn(process.readAllStandardOutput().toStdString()),
            process.readAllStandardError().toStdString()};
  }
  static Said script(const QString& home, const std::string& text) {
    return shell(home, {"-s"}, QByteArray::fromStdString(text));
  }
  static Said receive(const QString& home, const std::string& folder, const remote::Upload& file,
                      const std::string& mark) {
    return shell(home, {"-c", QString::fromStdString(remote::receiveCommand(folder, file, mark))},
                 bytesOf(QString::fromStdString(file.source.string())));
  }
  static QStringList entries(const QString& folder) {
    return QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot, QDir::Name);
  }

private Q_SLOTS:
  void hostNames_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isGood");
    QTest::addColumn<QString>("host");
    QTest::addColumn<int>("port");
    QTest::newRow("plain") << "node1" << true << "node1" << 0;
    QTest::newRow("user") << "ann@node1.example.org" << true << "node1.example.org" << 0;
    QTest::newRow("port") << "ann@node1:2222" << true << "node1" << 2222;
    QTest::newRow("IPv6") << "fe80::1" << true << "fe80::1" << 0;
    QTest::newRow("IPv6 with port") << "[fe80::1]:22" << true << "fe80::1" << 22;
    QTest::newRow("empty") << "" << false << "" << 0;
    QTest::newRow("option") << "-oProxyCommand=id" << false << "" << 0;
    QTest::newRow("option behind user") << "ann@-oProxyCommand=id" << false << "" << 0;
    QTest::newRow("option as user") << "-lroot@node" << false << "" << 0;
    QTest::newRow("shell") << "node;id" << false << "" << 0;
    QTest::newRow("substitution") << "$(id)" << false << "" << 0;
    QTest::newRow("backquote") << "`id`" << false << "" << 0;
    QTest::newRow("space") << "node 1" << false << "" << 0;
    QTest::newRow("newline") << "node\nid" << false << "" << 0;
    QTest::newRow("percent") << "%h" << false << "" << 0;
    QTest::newRow("port too large") << "node:70000" << false << "" << 0;
    QTest::newRow("port is not a number") << "node:2x" << false << "" << 0;
    QTest::newRow("open bracket") << "[fe80::1" << false << "" << 0;
    QTest::newRow("behind bracket") << "[fe80::1]x" << false << "" << 0;
    QTest::newRow("too long") << QString(300, 'a') << false << "" << 0;
  }
  void hostNames() {
    QFETCH(QString, text);
    QFETCH(bool, isGood);
    const auto target = remote::parseTarget(text.toStdString());
    QCOMPARE(static_cast<bool>(target), isGood);
    if (isGood) {
      QTEST(QString::fromStdString(target->host), "host");
      QTEST(target->port, "port");
    }
  }

  void quoting_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text : {"plain", "", "two words", "it's", "a'b'c", "$(touch x)", "`id`", "\"quoted\"",
                             "back\\slash", "new\nline", "-n", "*", "~", "a;b&c|d", "!x", "\xc3\xa4\xff"}) {
      QTest::newRow(QByteArray(text).toPercentEncoding("").constData()) << QByteArray(text);
    }
  }
  void quoting() {
    QFETCH(QByteArray, text);
    QProcess shell;
    shell.start(
        "/bin/sh",
        {"-c", "printf %s " + QString::fromLatin1(QByteArray::fromStdString(remote::shellWord(text.toStdString())))});
    // Through a file, because a QString cannot carry every byte.
    shell.waitForFinished(coppice::waiting::kPatience);
    QTemporaryDir folder;
    QFile script(folder.filePath("s.sh"));
    QVERIFY(script.open(QIODevice::WriteOnly));
    script.write("printf %s " + QByteArray::fromStdString(remote::shellWord(text.toStdString())));
    script.close();
    shell.start("/bin/sh", {script.fileName()});
    QVERIFY(shell.waitForFinished(coppice::waiting::kPatience));
    QCOMPARE(shell.readAllStandardOutput(), text);
  }

  void commandLinesHaveNoShell() {
    remote::SshOptions options;
    options.controlSocket = "/tmp/x/c";
    const remote::Target target{"node1", "ann", 2222};
    for (const auto& words :
         {remote::masterArguments(options, target), remote::commandArguments(options, target, "true"),
          remote::settingsArguments(options, target)}) {
      const QStringList list = toStringList(words);
      const qsizetype dashes = list.indexOf("--");
      QVERIFY(dashes > 0);
      QCOMPARE(list[dashes + 1], "node1");
      QVERIFY(list.contains("StrictHostKeyChecking=yes"));
      QVERIFY(list.contains("BatchMode=yes"));
      QVERIFY(list.contains("Port=2222"));
    }
  }

  void sshConfiguration() {
    QTemporaryDir folder;
    const auto write = [&](const QString& name, const QByteArray& text) {
      QFile file(folder.filePath(name));
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(text);
    };
    QDir(folder.path()).mkdir("conf.d");
    write("config",
          "# comment\nHost one two *.example !three \"four five\" -bad a;b\n  HostName x\nhost=six\n"
          "HOST seven # eight\nInclude conf.d/*.conf\nInclude ~/more\nInclude config\nMatch host nine\nHost one\n");
    write("conf.d/a.conf", "Host ten\nInclude b.conf\n");
    write("more", "Host eleven\n");
    const auto hosts = remote::configuredHosts(folder.filePath("config").toStdString(), folder.path().toStdString(),
                                               folder.path().toStdString());
    QCOMPARE(toStringList(hosts), QStringList({"one", "two", "six", "seven", "ten", "eleven"}));
    QCOMPARE(remote::configuredHosts(folder.filePath("none").toStdString(), "/", "/").size(), std::size_t{0});
  }

  void faults_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("trouble");
    const auto row = [](const char* name, const char* text, SshTrouble trouble) {
      QTest::newRow(name) << text << static_cast<int>(trouble);
    };
    row("unknown key",
        "No ED25519 host key is known for x and you have requested strict checking.\nHost key verification failed.",
        SshTrouble::hostKeyUnknown);
    row("changed key",
        "@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key for x has changed and you have "
        "requested "
        "strict checking.\nHost key verification failed.",
        SshTrouble::hostKeyChanged);
    row("auth", "ann@x: Permission denied (publickey).", SshTrouble::keyRefused);
    row("name", "ssh: Could not resolve hostname x: Name or service not known", SshTrouble::nameUnknown);
    row("route", "ssh: connect to host x port 22: No route to host", SshTrouble::noRoute);
    row("timeout", "ssh: connect to host x port 22: Connection timed out", SshTrouble::timeout);
    row("refused", "ssh: connect to host x port 22: Connection refused", SshTrouble::refused);
    row("debug lines do not decide",
        "debug1: connect to address ::1 port 22: Connection refused\nann@x: Permission denied (publickey).",
        SshTrouble::keyRefused);
    row("config", "/x/config: line 3: Bad configuration option: foo", SshTrouble::badConfiguration);
    row("the shared connection is gone", "Control socket connect(/tmp/c): Connection refused", SshTrouble::lost);
    row("nothing", "", SshTrouble::other);
  }
  void faults() {
    QFETCH(QString, text);
    QFETCH(int, trouble);
    const remote::SshFault fault = remote::sshFault(text.toStdString(), "x");
    QCOMPARE(static_cast<int>(fault.trouble), trouble);
    QVERIFY(!fault.message.empty());
    QVERIFY(!fault.fix.empty());
  }

  void members_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");  // empty = refused
    QTest::newRow("two") << "a,b"
                         << "a,b";
    QTest::newRow("ranks, users, spaces") << "a:2, ann@b:4"
                                          << "a:2,ann@b:4";
    QTest::newRow("one") << "a"
                         << "a";
    QTest::newRow("twice") << "a,a:2"
                           << "";
    QTest::newRow("no number") << "a:x"
                               << "";
    QTest::newRow("zero") << "a:0"
                          << "";
    QTest::newRow("an option") << "a,-oProxyCommand=x"
                               << "";
    QTest::newRow("nothing between commas") << "a,,b"
                                            << "";
    QTest::newRow("empty") << ""
                           << "";
  }
  void members() {
    QFETCH(QString, text);
    QFETCH(QString, expected);
    const auto read = remote::parseMembers(text.toStdString());
    QCOMPARE(read ? QString::fromStdString(remote::membersText(*read)) : QString(), expected);
  }

  void reach() {
    using Names = std::vector<std::string>;
    QCOMPARE(remote::namesOf("nodeB", "b", "10.0.0.2"), (Names{"nodeB", "b", "10.0.0.2"}));
    QCOMPARE(remote::namesOf("b", "b", "fe80::1"), Names{"b"});
    QCOMPARE(remote::namesOf("localhost", "b;id", "127.0.0.1"), Names{});
    // One that is reached by its second name, one that is not, one that leads elsewhere, one of which nothing is said.
    const auto facts = remote::factsIn(
        "coppice:missed 0 nodeB ssh: Could not resolve hostname nodeB: Name or service not known \n"
        "coppice:reached 0 b\n"
        "coppice:missed 1 nodeC ann@nodec: Permission denied (publickey). \n"
        "coppice:missed 1 c ssh: Could not resolve hostname c: Name or service not known \n"
        "coppice:missed 2 d Welcome! coppice-is-elsewhere \n"
        "coppice:reached 99 x\ncoppice:reached 3 -x\n");
    const auto reaches = remote::reachesIn(facts, {"b", "c", "d", "e"}, "a");
    QCOMPARE(reaches[0].name, std::string("b"));
    QVERIFY(reaches[1].name.empty());
    QVERIFY(reaches[1].error.message.find("as \"nodeC\": the login is refused") != std::string::npos);
    QVERIFY(reaches[2].error.message.find("another machine or user") != std::string::npos);
    QVERIFY(reaches[3].name.empty() && !reaches[3].error.message.empty());
    QVERIFY(remote::differenceOf("a", "Open MPI v4", "b", "Open MPI v4").message.empty());
    QVERIFY(!remote::differenceOf("a", "Open MPI v4", "b", "Open MPI v5").message.empty());
    QVERIFY(remote::differenceOf("a", "Open MPI v4", "b", "").message.find("b has no MPI") != std::string::npos);
  }

  // ---- limits

  void limits_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("isGood");
    QTest::newRow("none") << "" << true;
    QTest::newRow("two") << "script=1.5,login_by_hand=600" << true;
    QTest::newRow("unknown") << "scripts=1" << false;
    QTest::newRow("no number") << "script=soon" << false;
    QTest::newRow("no sign") << "script" << false;
    QTest::newRow("zero") << "script=0" << false;
    QTest::newRow("negative") << "script=-1" << false;
    QTest::newRow("not a number") << "script=nan" << false;
    QTest::newRow("too long") << "script=1e9" << false;
  }
  void limits() {
    QFETCH(QString, text);
    const auto read = remote::parseLimits(text.toStdString());
    QTEST(static_cast<bool>(read), "isGood");
    if (text.startsWith("script=1.5")) {
      QCOMPARE(QString::fromStdString(remote::secondsText(read->script)), "1.5 s");
      QCOMPARE(QString::fromStdString(remote::secondsText(read->loginByHand)), "600 s");
      QVERIFY(read->login == remote::Limits{}.login);
    }
    if (!read) {
      QVERIFY(read.error().message.find("COPPICE_REMOTE_LIMITS") != std::string::npos);
      QVERIFY(read.error().fix.find("login_by_hand") != std::string::npos);
    }
  }

  // ---- following a run

  void watch_data() {
    QTest::addColumn<QString>("options");
    QTest::addColumn<QString>("events");
    QTest::addColumn<QString>("expected");
    // Limits: silence 8, lost 60, start 60, stop 20, leave 2. Events: SECONDS and h (heard), b (begun), s (stop).
    QTest::newRow("signs of life") << ""
                                   << "1h 3h 9h 13h"
                                   << "6 ping, 12 ping";
    QTest::newRow("falls silent and answers") << ""
                                              << "1h 2h 12h 15h"
                                              << "6 ping, 11 silent, 12 ping answers";
    QTest::newRow("never says a word") << ""
                                       << "62"
                                       << "6 ping, 9 silent, 12 ping, 18 ping, 24 ping, 30 ping, 36 ping, "
                                          "42 ping, 48 ping, 54 ping, 60 ping, 61 kill late, 62 kill late";
    QTest::newRow("lost") << "lost=10"
                          << "1h 12"
                          << "6 ping, 10 silent, 12 ping kill lost";
    QTest::newRow("an executor here may be silent") << "here"
                                                    << "13"
                                                    << "6 ping, 12 ping";
    QTest::newRow("stops when asked") << ""
                                      << "1h 2s 4h 8h"
                                      << "2 cancel";
    QTest::newRow("does not stop") << "stop=4"
                                   << "1h 2s 3h 4h 5h 6h 7h"
                                   << "2 cancel, 7 kill abandoned";
    QTest::newRow("was silent, and does not stop") << ""
                                                   << "1h 11s 14"
                                                   << "6 ping, 10 silent, 11 cancel, 14 kill abandoned";
    QTest::newRow("left to itself") << "leaves,stop=3"
                                    << "1h 2b 3h 6h"
                                    << "2 leave, 6 kill";
  }
  void watch() {
    QFETCH(QString, options);
    QFETCH(QString, events);
    remote::RunWatch::Options wanted;
    for (const QString& word : options.split(',', Qt::SkipEmptyParts)) {
      if (word == "here") {
        wanted.expectsWords = false;
      } else if (word == "leaves") {
        wanted.leavesAfterHello = true;
      } else {
        wanted.limits.*(word.startsWith("stop") ? &remote::Limits::stop : &remote::Limits::lost) =
            std::chrono::seconds(word.section('=', 1).toInt());
      }
    }
    QMap<int, QChar> at;
    int last = 0;
    for (QString event : events.split(' ')) {
      const QChar what = event.back();
      if (what.isLetter()) {
        event.chop(1);
      }
      last = event.toInt();
      at[last] = what;
    }
    const remote::RunWatch::Time start{};
    remote::RunWatch watch(wanted, start);
    QStringList done;
    for (int second = 1; second <= last; ++second) {
      const auto now = start + std::chrono::seconds(second);
      const QChar what = at.value(second);
      if (what == 'h') {
        watch.hear(now);
      } else if (what == 'b') {
        watch.begin();
      } else if (what == 's') {
        watch.stop();
      }
      const remote::RunWatch::Acts acts = watch.tick(now);
      QStringList words;
      const auto add = [&words](bool is, const char* word) {
        if (is) {
          words << word;
        }
      };
      add(acts.ping, "ping");
      add(acts.cancel, "cancel");
      add(acts.closeInput, "leave");
      add(acts.kill, "kill");
      add(acts.fellSilent, "silent");
      add(acts.answersAgain, "answers");
      add(acts.kill && watch.isLate(), "late");
      add(acts.kill && watch.isLost(), "lost");
      add(acts.kill && watch.isAbandoned(), "abandoned");
      if (!words.isEmpty()) {
        done << QString::number(second) + ' ' + words.join(' ');
      }
    }
    QTEST(done.join(", "), "expected");
  }

  void steps() {
    QStringList told;
    remote::StepLog log([&](remote::Step step, const remote::StepReport& report) {
      told << QString::number(static_cast<int>(step)) + ':' + QString::number(static_cast<int>(report.state));
    });
    log.reset({remote::Step::resolve});
    // Before any step has begun.
    log.end(remote::Step::executor, remote::StepReport::State::failed, "message", "fix");
    QVERIFY(log[remote::Step::executor].seconds < 60);
    told.clear();
    log.reset({remote::Step::resolve});
    log.begin(remote::Step::system);
    log.setOutput(remote::Step::system, std::string(30'000, 'x'));
    log.end(remote::Step::system, remote::StepReport::State::failed, "message", "fix");
    QCOMPARE(told, (QStringList{"0:4", "4:1", "4:1", "4:3"}));
    QVERIFY(log[remote::Step::system].output.size() < 20'100);
    QVERIFY(log[remote::Step::system].seconds >= 0);
    log.reset({});
    QVERIFY(log[remote::Step::system].state == remote::StepReport::State::waiting);
    QVERIFY(log[remote::Step::system].output.empty());
    for (std::size_t i = 0; i < remote::kSteps; ++i) {
      QCOMPARE(static_cast<std::size_t>(remote::stepFacts()[i].step), i);
    }
  }

  /// A key is added once, in a line of its own, to a file that only its owner reads.
  void knownHosts_data() {
    QTest::addColumn<QByteArray>("before");
    QTest::addColumn<QByteArray>("after");
    QTest::newRow("no file") << QByteArray() << QByteArray("host key\n");
    QTest::newRow("a whole line") << QByteArray("a b\n") << QByteArray("a b\nhost key\n");
    QTest::newRow("a line without its end") << QByteArray("a b") << QByteArray("a b\nhost key\n");
  }
  void knownHosts() {
    QFETCH(QByteArray, before);
    const QTemporaryDir folder;
    const QString path = folder.filePath("ssh/known_hosts");
    if (!before.isEmpty()) {
      QDir().mkpath(folder.filePath("ssh"));
      fill(path, before);
    }
    const Outcome added = remote::addKnownHost(path.toStdString(), {"host key", {}});
    QVERIFY(static_cast<bool>(added));
    QTEST(bytesOf(path), "after");
    if (before.isEmpty()) {
      struct stat facts = {};
      QCOMPARE(stat(qPrintable(path), &facts), 0);
      QCOMPARE(facts.st_mode & 0777U, 0600U);
      QCOMPARE(stat(qPrintable(folder.filePath("ssh")), &facts), 0);
      QCOMPARE(facts.st_mode & 0777U, 0700U);
    }
    QVERIFY(!remote::addKnownHost(folder.filePath("ssh").toStdString(), {"host key", {}}));
  }

  // ---- checksums

  void digests_data() {
    QTest::addColumn<QByteArray>("text");
    // FIPS 180-4 examples, and lengths around the end of a block.
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("abc") << QByteArray("abc");
    for (const int length : {55, 56, 57, 63, 64, 65, 119, 120, 1000, 200'000}) {
      QTest::addRow("%d", length) << QByteArray(length, static_cast<char>('a' + length % 26));
    }
  }
  void digests() {
    QFETCH(QByteArray, text);
    const std::string expected = QCryptographicHash::hash(text, QCryptographicHash::Sha256).toHex().toStdString();
    QCOMPARE(remote::sha256(text.toStdString()), expected);
    QTemporaryDir folder;
    fill(folder.filePath("f"), text);
    const auto found = remote::sha256OfFile(folder.filePath("f").toStdString());
    QVERIFY(static_cast<bool>(found));
    QCOMPARE(*found, expected);
    QVERIFY(!remote::sha256OfFile(folder.filePath("none").toStdString()));
  }

  // ---- what a login prints

  void noise_data() {
    QTest::addColumn<QByteArray>("before");
    QTest::newRow("nothing") << QByteArray();
    QTest::newRow("lines") << QByteArray("echo Welcome; echo coppice; ");
    QTest::newRow("no final newline") << QByteArray("printf Welcome; ");
    QTest::newRow("carriage return") << QByteArray("printf 'Welcome\\r'; ");
  }
  void noise() {
    QFETCH(QByteArray, before);
    QTemporaryDir home;
    const Said said =
        shell(home.path(), {"-c", before + "exec /bin/sh -s"}, QByteArray::fromStdString(remote::systemScript()));
    QCOMPARE(QString::fromStdString(remote::fact(said.facts, "system")), "Linux");
    QVERIFY(!remote::fact(said.facts, "host").empty());
    QVERIFY(remote::systemFault("there", said.facts, {remote::fact(said.facts, "architecture"), {}, {}, {}})
                .message.empty());
    QVERIFY(remote::systemFault("there", said.facts, {"none", {}, {}, {}}).message.find("Linux none") !=
            std::string::npos);
    QVERIFY(remote::systemFault("there", {}, {}).message.find("does not run scripts") != std::string::npos);
  }

  // ---- transfers

  void transfer() {
    QTemporaryDir here;
    QTemporaryDir home;
    const QString odd = here.filePath("it's [o]dd*?.xml");
    fill(odd, "schedule");
    fill(here.filePath("program"), QByteArray(300'000, 'p'));
    const auto schedule = remote::uploadOf(odd.toStdString(), "schedule.xml");
    const auto program = remote::uploadOf(here.filePath("program").toStdString(), "coppice-exec", true);
    QVERIFY(schedule && program);
    const std::vector<remote::Upload> files{*program, *schedule};
    const std::string folder = remote::installFolder("x86_64");
    const QString there = home.filePath(QString::fromStdString(folder));
    QVERIFY(script(home.path(), remote::spaceScript()).facts.contains("home"));
    const Said before = script(home.path(), remote::installedScript(folder, files));
    const auto areThere = remote::areInstalled("m", before.facts, files);
    QVERIFY(areThere && !*areThere);

    // Two at the same time, each of whose steps falls between two of the other: both succeed, no part is seen or stays.
    const std::string first = remote::newMark();
    const std::string second = remote::newMark();
    QVERIFY(first != second);
    for (const remote::Upload& file : files) {
      QCOMPARE(receive(home.path(), folder, file, first).status, 0);
      QCOMPARE(receive(home.path(), folder, file, second).status, 0);
    }
    QVERIFY(!QFileInfo::exists(there + "/coppice-exec"));
    QVERIFY(remote::installed("m", script(home.path(), remote::installScript(folder, files, second)).facts, {}));
    QFile running(there + "/coppice-exec");
    QVERIFY(running.open(QIODevice::ReadOnly));
    QVERIFY(remote::installed("m", script(home.path(), remote::installScript(folder, files, first)).facts, {}));
    QCOMPARE(entries(there), QStringList({"coppice-exec", "schedule.xml"}));
    QCOMPARE(bytesOf(there + "/schedule.xml"), QByteArray("schedule"));
    QVERIFY(QFileInfo(there + "/coppice-exec").isExecutable());
    QVERIFY(!QFileInfo(there + "/schedule.xml").isExecutable());
    // What may be running is not replaced by the same.
    struct stat opened = {};
    struct stat named = {};
    QCOMPARE(fstat(running.handle(), &opened), 0);
    QCOMPARE(stat((there + "/coppice-exec").toLocal8Bit().constData(), &named), 0);
    QCOMPARE(opened.st_ino, named.st_ino);
    const Said after = script(home.path(), remote::installedScript(folder, {*program}));
    const auto isThere = remote::areInstalled("m", after.facts, {*program});
    QVERIFY(isThere && *isThere);

    // Another content replaces it; a cut one does not, and leaves nothing.
    fill(here.filePath("program"), QByteArray(300'000, 'q'));
    const auto changed = remote::uploadOf(here.filePath("program").toStdString(), "coppice-exec", true);
    const std::string third = remote::newMark();
    QCOMPARE(receive(home.path(), folder, *changed, third).status, 0);
    const QString part = there + "/coppice-exec." + QString::fromStdString(third) + ".part";
    QVERIFY(QFile::resize(part, 1000));
    const Said bad = script(home.path(), remote::installScript(folder, {*changed}, third));
    const Outcome refused = remote::installed("m", bad.facts, bad.errors);
    QVERIFY(!refused);
    QVERIFY(refused.error().message.find("another checksum") != std::string::npos);
    QCOMPARE(entries(there), QStringList({"coppice-exec", "schedule.xml"}));
    QCOMPARE(bytesOf(there + "/coppice-exec").front(), 'p');
    const std::string fourth = remote::newMark();
    QCOMPARE(receive(home.path(), folder, *changed, fourth).status, 0);
    QVERIFY(remote::installed("m", script(home.path(), remote::installScript(folder, {*changed}, fourth)).facts, {}));
    QCOMPARE(bytesOf(there + "/coppice-exec").front(), 'q');

    // Given up: what was sent goes.
    const std::string fifth = remote::newMark();
    QCOMPARE(receive(home.path(), folder, *schedule, fifth).status, 0);
    QVERIFY(script(home.path(), remote::discardScript(folder, files, fifth)).facts.contains("dropped"));
    QCOMPARE(entries(there), QStringList({"coppice-exec", "schedule.xml"}));
    // A temporary name that another user has put there is not followed.
    const std::string sixth = remote::newMark();
    const QString trap = home.filePath("trap");
    QVERIFY(QFile::link(trap, there + "/schedule.xml." + QString::fromStdString(sixth) + ".part"));
    const Said trapped = receive(home.path(), folder, *schedule, sixth);
    QVERIFY(trapped.status != 0);
    QVERIFY(!QFileInfo::exists(trap));
    QVERIFY(!remote::received("m", *schedule, trapped.status, trapped.errors));
  }

  void fullDisk() {
    const Outcome full =
        remote::received("node1", {{}, "schedule.xml", {}, 0, false}, 1, "cat: write error: No space left on device");
    QVERIFY(!full);
    QCOMPARE(QString::fromStdString(full.error().fix), "free some space in its home folder");
    QVERIFY(full.error().message.find("No space left on device") != std::string::npos);
  }

  void foreignFolder_data() {
    QTest::addColumn<QString>("trap");
    QTest::addColumn<QString>("expected");
    QTest::newRow("a link") << "ln -s elsewhere .cache/coppice"
                            << "is a symbolic link";
    QTest::newRow("a link to nothing") << "ln -s nowhere .cache/coppice"
                                       << "is a symbolic link";
    QTest::newRow("a link below") << "mkdir .cache/coppice; ln -s ../../elsewhere .cache/coppice/runs"
                                  << "is a symbolic link";
    QTest::newRow("a file") << ": >.cache/coppice"
                            << "is not a folder";
    QTest::newRow("of another user") << "mkdir .cache/coppice; chown 4711 .cache/coppice"
                                     << "belongs to another user, \"4711\"";
  }
  void foreignFolder() {
    QFETCH(QString, trap);
    QFETCH(QString, expected);
    if (trap.contains("chown") && geteuid() != 0) {
      QSKIP("skipped: needs root");
    }
    QTemporaryDir home;
    const Said made = shell(home.path(), {"-c", "cd; mkdir .cache elsewhere; " + trap}, {});
    QCOMPARE(made.status, 0);
    for (const std::string& text : {remote::spaceScript(), remote::runFolderScript("run-1")}) {
      const Said said = script(home.path(), text);
      const Error fault = remote::folderFault("node1", said.facts);
      QVERIFY2(fault.message.find(expected.toStdString()) != std::string::npos, fault.message.c_str());
      QVERIFY(fault.message.find("node1") != std::string::npos);
      QVERIFY(!fault.fix.empty());
      QVERIFY(!said.facts.contains("home") && !said.facts.contains("run"));
    }
    QCOMPARE(entries(home.filePath("elsewhere")), QStringList());
    // A link further up is the user's own affair: many clusters have one.
    QTemporaryDir other;
    QCOMPARE(shell(other.path(), {"-c", "cd; mkdir scratch; ln -s scratch .cache"}, {}).status, 0);
    QVERIFY(script(other.path(), remote::spaceScript()).facts.contains("home"));
  }

  void runFolders() {
    QTemporaryDir home;
    QCOMPARE(remote::fact(script(home.path(), remote::runFolderScript("run-1")).facts, "run"), std::string("made"));
    QVERIFY(!script(home.path(), remote::runFolderScript("run-1")).facts.contains("run"));
    // On a second machine with the same home folder.
    QCOMPARE(remote::fact(script(home.path(), remote::sameRunFolderScript("run-1")).facts, "run"),
             std::string("shared"));
    QVERIFY(script(home.path(), remote::dropRunScript("run-1")).facts.contains("run"));
    QCOMPARE(entries(home.filePath(".cache/coppice/runs")), QStringList());
  }

  void attachCommands() {
    const auto member = [](const char* text) { return remote::Member{*remote::parseTarget(text), 0}; };
    QCOMPARE(remote::attachCommand({member("ann@node1:2222")}, "my config", "cli-1"),
             std::string("coppice-cli run --host ann@node1:2222 --ssh-config 'my config' --attach cli-1"));
    QCOMPARE(remote::attachCommand({member("a"), member("ann@b")}, {}, "cli-1"),
             std::string("coppice-cli run --hosts a,ann@b --attach cli-1"));
    for (const char* text : {"node1", "ann@node1", "node1:22", "ann@[fe80::1]:22", "fe80::1"}) {
      QCOMPARE(remote::fullText(*remote::parseTarget(text)), std::string(text));
    }
  }

  // ---- bundles

  void bundleFolder() {
    QTemporaryDir folder;
    std::map<std::string, remote::BundleFile> files{{"a.sh", {"#!/bin/sh\n", true}}, {"b", {"text", false}}};
    const QString target = folder.filePath("bundle");
    QVERIFY(remote::writeBundleFolder(target.toStdString() + "/", files));
    QCOMPARE(entries(target), QStringList({"a.sh", "b"}));
    QVERIFY(QFileInfo(target + "/a.sh").isExecutable());
    QVERIFY(!QFileInfo(target + "/b").isExecutable());
    QVERIFY(!remote::writeBundleFolder(target.toStdString(), files));
    // An error in the middle leaves nothing, neither here nor beside it.
    files["c/d"] = {"in a folder that is not there", true};
    QDir(folder.path()).mkdir("empty");
    QVERIFY(!remote::writeBundleFolder(folder.filePath("empty").toStdString(), files));
    QVERIFY(!remote::writeBundleFolder(folder.filePath("other").toStdString(), files));
    QCOMPARE(entries(folder.path()), QStringList({"bundle", "empty"}));
    QCOMPARE(entries(folder.filePath("empty")), QStringList());
  }

  /// HOSTS is a list of names, also where a name looks like a pattern that fits files.
  void bundleHosts() {
    QTemporaryDir folder;
    program::RunRequest request;
    request.schedule = "schedule.xml";
    const auto files = remote::bundleFiles(request, {"test", "0.1.0", 4, true, true});
    const QString script = folder.filePath("run-mpi.sh");
    fill(script, QByteArray::fromStdString(files.at("run-mpi.sh").text));
    for (const char* program : {"coppice-exec", "ssh"}) {
      fill(folder.filePath(program), "#!/bin/sh\nprintf '%s|' \"$@\" >>\"$LOG\"\ncat >/dev/null\n");
      QFile::setPermissions(folder.filePath(program), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("PATH", folder.path() + ":" + environment.value("PATH"));
    environment.insert("LOG", folder.filePath("log"));
    environment.insert("COPY", "1");
    environment.insert("HOSTS", "*:2,node?");
    fill(folder.filePath("node1"), "a file that fits the pattern");
    process.setProcessEnvironment(environment);
    process.setStandardInputFile(QProcess::nullDevice());
    process.start("/bin/sh", {script});
    QVERIFY(process.waitForFinished(60'000));
    const QByteArray log = bytesOf(folder.filePath("log"));
    QVERIFY2(log.contains("|--|*|") && log.contains("|--|node?|"), log.constData());
    QVERIFY2(!log.contains("node1") && !log.contains("|schedule.xml|--|"), log.constData());
    QVERIFY2(log.contains("|--hosts|*:2,node?|"), log.constData());
  }
};

QTEST_GUILESS_MAIN(TestRemote)
#include "tst_remote.moc"
