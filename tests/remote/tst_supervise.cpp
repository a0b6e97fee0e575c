// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <optional>

#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "support/processes.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using coppice::waiting::kPatience;

namespace {

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

void fill(const QString& path, const QByteArray& text) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(text);
}

std::optional<program::EndRecord> endIn(const QByteArray& output) {
  std::optional<program::EndRecord> end;
  for (const QByteArray& line : output.split('\n')) {
    if (const auto record = program::readRecord(line.toStdString())) {
      if (const auto* found = std::get_if<program::EndRecord>(&*record)) {
        end = *found;
      }
    }
  }
  return end;
}

}  // namespace

/// coppice-exec supervise and attach, on folders as a connection leaves them; what runs is a stand-in.
class TestSupervise : public QObject {
  Q_OBJECT

private:
  /// A folder that is ready for `supervise`; the first word of the schedule says how the run behaves.
  static void prepare(const QString& folder, const QByteArray& schedule, bool endsWithStarter = true) {
    QDir().mkpath(folder);
    QFile::setPermissions(folder, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    program::RunJob job;
    job.arguments = {"run", "schedule.xml"};
    job.endsWithStarter = endsWithStarter;
    fill(folder + "/job.json", QByteArray::fromStdString(program::writeJob(job)));
    fill(folder + "/schedule.xml", schedule);
  }
  static void waitForEnd(QProcess& process) {
    QTRY_VERIFY_WITH_TIMEOUT(process.state() == QProcess::NotRunning, kPatience);
  }

private Q_SLOTS:
  void stopIsNamed_data() {
    QTest::addColumn<QByteArray>("schedule");
    QTest::newRow("one that listens to it") << QByteArray("children mark");
    QTest::newRow("one that listens to TERM") << QByteArray("deaf mark");
    QTest::newRow("one that ignores it") << QByteArray("stubborn mark");
  }
  void stopIsNamed() {
    QFETCH(QByteArray, schedule);
    QTemporaryDir home;
    const QString folder = home.filePath("run");
    prepare(folder, schedule);
    QProcess process;
    QByteArray output;
    process.start(COPPICE_STAND_IN, {"supervise", folder});
    QTRY_VERIFY_WITH_TIMEOUT((output += process.readAllStandardOutput()).contains("67108864"), kPatience);
    process.write("{\"t\":\"cancel\"}\n");
    waitForEnd(process);
    output += process.readAllStandardOutput();
    QCOMPARE(process.exitCode(), static_cast<int>(program::RunExit::cancelled));
    const auto end = endIn(output);
    QVERIFY(end);
    QCOMPARE(QString::fromStdString(end->reason), "stopped by the user");
    QVERIFY(!QFileInfo::exists(folder + "/reserve"));
    QVERIFY(!bytesOf(folder + "/log.txt").contains("cancelled"));
  }

  /// A supervisor that is stopped (SIGSTOP, a frozen container) is named; a stop ends its run nevertheless.
  void frozenSupervisor() {
    QTemporaryDir home;
    const QString folder = home.filePath("run");
    prepare(folder, "stubborn mark");
    QProcess process;
    QByteArray output;
    process.start(COPPICE_STAND_IN, {"supervise", folder});
    QTRY_VERIFY_WITH_TIMEOUT((output += process.readAllStandardOutput()).contains("67108864"), kPatience);
    const int supervisor = bytesOf(folder + "/lock").trimmed().toInt();
    QVERIFY(supervisor > 1);
    QCOMPARE(kill(supervisor, SIGSTOP), 0);
    QTRY_VERIFY_WITH_TIMEOUT((output += process.readAllStandardOutput()).contains("does not respond"), kPatience);
    QVERIFY(output.contains("process " + QByteArray::number(supervisor)));
    process.write("{\"t\":\"cancel\"}\n");
    waitForEnd(process);
    output += process.readAllStandardOutput();
    QCOMPARE(process.exitCode(), static_cast<int>(program::RunExit::cancelled));
    const auto end = endIn(output);
    QVERIFY(end);
    QVERIFY(end->reason.find("all of its processes were killed") != std::string::npos);
    QTRY_VERIFY_WITH_TIMEOUT(test::isGone(supervisor), kPatience);
    QCOMPARE(bytesOf(folder + "/ended"), QByteArray("7\n"));
  }

  /// What a login printed without ending its line must not swallow the first record.
  void firstRecordHasItsOwnLine() {
    QTemporaryDir home;
    prepare(home.filePath("run"), "ok");
    QProcess process;
    process.start("/bin/sh",
                  {"-c", "printf Welcome; exec \"$@\"", "sh", COPPICE_STAND_IN, "supervise", home.filePath("run")});
    waitForEnd(process);
    const QByteArray output = process.readAllStandardOutput();
    QCOMPARE(process.exitCode(), 0);
    QVERIFY(output.startsWith("Welcome\n{\"t\":\"attached\""));
  }

  void tornRecord_data() {
    QTest::addColumn<QByteArray>("ended");
    QTest::addColumn<QByteArray>("expected");
    QTest::newRow("the machine restarted") << QByteArray() << QByteArray("the machine may have restarted");
    QTest::newRow("the disk was full") << QByteArray("3\n") << QByteArray("could not be written");
  }
  /// A last record that is cut off is not passed on, and is named.
  void tornRecord() {
    QFETCH(QByteArray, ended);
    QFETCH(QByteArray, expected);
    QTemporaryDir home;
    const QString folder = home.filePath("run");
    prepare(folder, "ok");
    const QByteArray whole = R"({"t":"hello","proto":1,"version":"0.1.0","pid":1,"pgid":1})";
    const QByteArray torn = R"({"t":"result","size":10)";
    fill(folder + "/records.jsonl", whole + "\n" + torn);
    fill(folder + "/lock", "4711\n");
    if (!ended.isEmpty()) {
      fill(folder + "/ended", ended);
    }
    QProcess process;
    process.start(COPPICE_STAND_IN, {"attach", folder});
    waitForEnd(process);
    const QByteArray output = process.readAllStandardOutput();
    QVERIFY(output.contains(whole + "\n"));
    QVERIFY2(!output.contains(torn), output.constData());
    const auto end = endIn(output);
    QVERIFY(end);
    QVERIFY2(end->reason.find(expected.toStdString()) != std::string::npos, end->reason.c_str());
    QVERIFY2(end->reason.find("the last record is cut off after 23 bytes") != std::string::npos, end->reason.c_str());
    QCOMPARE(process.exitCode(), static_cast<int>(end->code));
  }

  /// Records that do not fit: the run ends and says so, and what is kept are whole lines.
  void fullDisk() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QSKIP("skipped: sanitizers write files of their own");
#endif
    QTemporaryDir home;
    const QString folder = home.filePath("run");
    prepare(folder, "ok");
    QProcess process;
    // A file that is too large stands in for a full disk: both fail in the middle of a line.
    process.start("/bin/sh",
                  {"-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh", COPPICE_STAND_IN, "supervise", folder});
    waitForEnd(process);
    const auto end = endIn(process.readAllStandardOutput());
    QVERIFY(end);
    QCOMPARE(process.exitCode(), static_cast<int>(program::RunExit::machineLacks));
    QVERIFY2(end->reason.find("written") != std::string::npos, end->reason.c_str());
    const QByteArray records = bytesOf(folder + "/records.jsonl");
    QVERIFY(!records.isEmpty());
    QVERIFY(records.endsWith('\n'));
    QCOMPARE(bytesOf(folder + "/ended"), QByteArray("3\n"));
  }
};

QTEST_GUILESS_MAIN(TestSupervise)
#include "tst_supervise.moc"
