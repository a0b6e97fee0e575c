// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QtTest>
#include <algorithm>
#include <memory>
#include <vector>

#include "executor/mpi/mpi_run.hpp"
#include "support/processes.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::kPatience;
using executor::test::MpiRun;
using executor::test::sharedMemory;
using program::RunExit;
using test::isGone;

/// Runs over processes that end before their time.
class ExecutorMpiEndsTest : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void cleanup();
  void deadlock_data();
  void deadlock();
  void killed_data();
  void killed();
  void interrupted_data();
  void interrupted();
  void segmentsOfAKilledRun();
};

void ExecutorMpiEndsTest::initTestCase() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorMpiEndsTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorMpiEndsTest::deadlock_data() {
  QTest::addColumn<bool>("forcesNetwork");
  QTest::newRow("shared memory") << false;
  QTest::newRow("network") << true;
}

void ExecutorMpiEndsTest::deadlock() {
  NEEDS_MPIRUN();
  QFETCH(bool, forcesNetwork);
  MpiRun run({dataFile("ring4_deadlock.xml"), "-b", "1K", "-e", "1K", "--unchecked", "--stall", "1000"}, forcesNetwork);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::hang));
  const auto* stuck = run.last<program::StuckRecord>();
  QVERIFY(stuck != nullptr);
  QVERIFY(stuck->isDeadlock);
  QCOMPARE(stuck->cycle.size(), 4U);
  QVERIFY(run.last<program::EndRecord>()->code == RunExit::hang);
}

void ExecutorMpiEndsTest::killed_data() {
  QTest::addColumn<int>("rank");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::newRow("rank 2") << 2 << false;
  QTest::newRow("rank 0") << 0 << false;
  QTest::newRow("rank 1, network") << 1 << true;
}

void ExecutorMpiEndsTest::killed() {
  NEEDS_MPIRUN();
  QFETCH(int, rank);
  QFETCH(bool, forcesNetwork);
  const auto run = MpiRun::endless(forcesNetwork);
  QVERIFY(run);
  const std::vector<pid_t> ranks = run->members(4);
  QVERIFY(ranks[rank] > 0);
  QCOMPARE(::kill(ranks[rank], SIGKILL), 0);
  QCOMPARE(run->finish(), static_cast<int>(RunExit::rankLost));
  const auto* error = run->last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(error->error.message.starts_with("rank " + std::to_string(rank) + " "), error->error.message.c_str());
  QVERIFY(run->last<program::EndRecord>()->code == RunExit::rankLost);
  for (const pid_t other : ranks) {
    QTRY_VERIFY_WITH_TIMEOUT(isGone(other), kPatience);
  }
}

void ExecutorMpiEndsTest::interrupted_data() {
  QTest::addColumn<QString>("way");
  QTest::newRow("SIGINT") << "interrupt";
  QTest::newRow("cancel") << "cancel";
  QTest::newRow("end of input") << "input";
  QTest::newRow("launcher killed") << "kill";
}

void ExecutorMpiEndsTest::interrupted() {
  NEEDS_MPIRUN();
  QFETCH(QString, way);
  const auto run = MpiRun::endless(false, {"--lifeline"});
  QVERIFY(run);
  const std::vector<pid_t> ranks = run->members(4);
  QVERIFY(std::count(ranks.begin(), ranks.end(), 0) == 0);
  if (way == "interrupt") {
    ::kill(static_cast<pid_t>(run->process().processId()), SIGINT);
  } else if (way == "cancel") {
    run->process().write(program::writeCommand(program::RunCommand::ping).c_str());
    QVERIFY(run->waitUntil(
        [](const program::Record& record) { return std::holds_alternative<program::PongRecord>(record); }));
    run->process().write(program::writeCommand(program::RunCommand::cancel).c_str());
  } else if (way == "input") {
    run->process().closeWriteChannel();
  } else {
    run->process().kill();
  }
  const int code = run->finish();
  if (way != "kill") {
    QCOMPARE(code, static_cast<int>(RunExit::cancelled));
    QVERIFY(run->last<program::EndRecord>()->code == RunExit::cancelled);
  }
  for (const pid_t rank : ranks) {
    QTRY_VERIFY_WITH_TIMEOUT(isGone(rank), kPatience);
  }
}

/// mpirun is killed, and its ranks with it; the next start removes what they leave in /dev/shm.
void ExecutorMpiEndsTest::segmentsOfAKilledRun() {
  NEEDS_MPIRUN();
  const auto run = MpiRun::endless(false);
  QVERIFY(run);
  const std::vector<pid_t> ranks = run->members(4);
  QVERIFY(ranks.front() > 0);
  QFile status(QString("/proc/%1/status").arg(ranks.front()));
  QVERIFY(status.open(QIODevice::ReadOnly));
  const QByteArray text = status.readAll();
  const qsizetype at = text.indexOf("PPid:") + 5;
  const int launcher = text.mid(at, text.indexOf('\n', at) - at).trimmed().toInt();
  QVERIFY(launcher > 1);
  // Segments of this job: the files that a rank has mapped.
  QFile maps(QString("/proc/%1/maps").arg(ranks.front()));
  QVERIFY(maps.open(QIODevice::ReadOnly));
  QStringList segments;
  for (const QByteArray& line : maps.readAll().split('\n')) {
    const qsizetype path = line.indexOf("/dev/shm/vader_segment.");
    if (path >= 0 && !segments.contains(line.mid(path))) {
      segments << line.mid(path);
    }
  }
  QCOMPARE(::kill(launcher, SIGKILL), 0);
  run->finish();
  for (const pid_t rank : ranks) {
    QTRY_VERIFY_WITH_TIMEOUT(isGone(rank), kPatience);
  }
  // Whichever way that job ended, a file with its kind of name stays behind.
  const QString planted = QString("/dev/shm/vader_segment.coppice-test.%1").arg(QCoreApplication::applicationPid());
  QFile file(planted);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.close();
  segments << planted;
  MpiRun next({dataFile("ring4_allgather.xml"), "-b", "1K", "-e", "1K", "-n", "1", "-w", "0"});
  QCOMPARE(next.finish(), 0);
  for (const QString& segment : segments) {
    QVERIFY2(!QFile::exists(segment), qPrintable(segment));
  }
}

QTEST_GUILESS_MAIN(ExecutorMpiEndsTest)
#include "tst_executor_mpi_ends.moc"
