// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QtTest>
#include <vector>

#include "executor/cuda/team_run.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::kNetwork;
using executor::test::kPatience;
using executor::test::mpiEnvironment;
using executor::test::sharedMemory;
using executor::test::TeamRun;
using executor::test::Variables;
using program::RunExit;

/// Runs of the backend for GPUs of several processes that end before their time, or do not begin.
class ExecutorTeamEndsTest : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void cleanup();

  void deadlock_data();
  void deadlock();
  void killed_data();
  void killed();
  void stopped();
  void interrupted_data();
  void interrupted();
  void refused_data();
  void refused();
  void withoutGpus_data();
  void withoutGpus();
};

void ExecutorTeamEndsTest::initTestCase() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorTeamEndsTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorTeamEndsTest::deadlock_data() {
  QTest::addColumn<Variables>("variables");
  QTest::newRow("mapped") << Variables();
  QTest::newRow("network") << kNetwork;
}

/// All four ranks are named, though each process knows only its own.
void ExecutorTeamEndsTest::deadlock() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  TeamRun run(
      {dataFile("ring4_deadlock.xml"), "--unchecked", "-b", "1K", "-e", "1K", "--stall", "60", "--processes", "2"},
      variables);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::hang));
  const auto stuck = run.all<program::StuckRecord>();
  QCOMPARE(stuck.size(), std::size_t{1});
  QVERIFY(stuck[0].isDeadlock);
  QCOMPARE(stuck[0].cycle.size(), std::size_t{4});
}

void ExecutorTeamEndsTest::killed_data() {
  QTest::addColumn<Variables>("variables");
  QTest::addColumn<int>("victim");
  QTest::newRow("mapped") << Variables() << 1;
  QTest::newRow("not mapped") << Variables{{"COPPICE_EXEC_NO_PEER", "1"}} << 1;
  QTest::newRow("network") << kNetwork << 1;
  QTest::newRow("process 0") << Variables() << 0;
}

/// A process that is killed in the middle of a run ends it with its name.
void ExecutorTeamEndsTest::killed() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  QFETCH(int, victim);
  TeamRun run({dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "1000000", "--processes", "2"},
              variables);
  QVERIFY(run.waitUntilInside(2));
  const pid_t pid = run.members(2)[static_cast<std::size_t>(victim)];
  QVERIFY(pid > 0);
  ::kill(pid, SIGKILL);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::rankLost));
  const auto end = run.all<program::EndRecord>();
  QCOMPARE(end.size(), std::size_t{1});
  QVERIFY(end[0].code == RunExit::rankLost);
  // By the neighbour, who knows its ranks, or by the launcher.
  const QString ranks = victim == 0 ? "the process of ranks 0 to 1" : "the process of ranks 2 to 3";
  const QString reason = QString::fromStdString(end[0].reason);
  QVERIFY2(reason == ranks + " (process " + QString::number(pid) + ") has died" ||
               reason.startsWith("process " + QString::number(victim) + " (on "),
           qPrintable(reason));
  QTRY_COMPARE_WITH_TIMEOUT(run.members(2), std::vector<pid_t>(2, 0), kPatience);  // nobody is left behind
}

/// A process that stands still is named, and nobody waits for it longer than --stall.
void ExecutorTeamEndsTest::stopped() {
  NEEDS_MPIRUN();
  TeamRun run(
      {dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "1000000", "--stall", "4", "--processes", "2"},
      {});
  QVERIFY(run.waitUntilInside(2));
  const pid_t pid = run.members(2)[1];
  QVERIFY(pid > 0);
  ::kill(pid, SIGSTOP);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::hang));
  const auto end = run.all<program::EndRecord>();
  QCOMPARE(end.size(), std::size_t{1});
  QVERIFY2(end[0].reason.find("the process of ranks 2 to 3 (process " + std::to_string(pid) +
                              ") is stopped by a signal") != std::string::npos,
           end[0].reason.c_str());
  QTRY_COMPARE_WITH_TIMEOUT(run.members(2), std::vector<pid_t>(2, 0), kPatience);
}

void ExecutorTeamEndsTest::interrupted_data() {
  QTest::addColumn<Variables>("variables");
  QTest::newRow("mapped") << Variables();
  QTest::newRow("network") << kNetwork;
}

void ExecutorTeamEndsTest::interrupted() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  TeamRun run({dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "1000000", "--processes", "2"},
              variables);
  QVERIFY(run.waitUntilInside(2));
  ::kill(static_cast<pid_t>(run.process().processId()), SIGINT);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::cancelled));
  QTRY_COMPARE_WITH_TIMEOUT(run.members(2), std::vector<pid_t>(2, 0), kPatience);
}

void ExecutorTeamEndsTest::refused_data() {
  QTest::addColumn<Variables>("variables");
  QTest::addColumn<QStringList>("words");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("message");
  QTest::newRow("a process without driver")
      << Variables{{"COPPICE_DOUBLE_BROKEN", "1"}} << QStringList() << 3 << "no driver here (in process 1)";
  QTest::newRow("process 0 without driver")
      << Variables{{"COPPICE_DOUBLE_BROKEN", "0"}} << QStringList() << 3 << "no driver here";
  QTest::newRow("a launch that fails") << Variables{{"COPPICE_DOUBLE_FAULT", "1"}} << QStringList() << 8
                                       << "the launch failed, as it was told to (in process 1)";
  QTest::newRow("too few GPUs") << Variables{{"COPPICE_DOUBLE_GPUS", "3"}} << QStringList() << 3
                                << "4 ranks, and 3 GPUs for them in 2 processes";
  QTest::newRow("too few GPUs, of which ranks may share one")
      << Variables{{"COPPICE_DOUBLE_GPUS", "1"}} << QStringList{"--virtual"} << 0 << "";
  QTest::newRow("more processes than ranks")
      << Variables() << QStringList{"--processes", "5"} << 1 << "5 processes for 4 ranks";
  QTest::newRow("no number of processes") << Variables() << QStringList{"--processes", "-1"} << 1 << "--processes";
}

void ExecutorTeamEndsTest::refused() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  QFETCH(QStringList, words);
  QFETCH(int, code);
  QFETCH(QString, message);
  if (!words.contains("--processes")) {
    words << "--processes"
          << "2";
  }
  TeamRun run(QStringList{dataFile("ring4_allgather.xml"), "-b", "1K", "-e", "1K", "-n", "2"} + words, variables);
  QCOMPARE(run.finish(), code);
  const auto errors = run.all<program::ErrorRecord>();
  QCOMPARE(errors.size(), std::size_t{code == 0 ? 0U : 1U});
  if (code != 0) {
    QVERIFY2(QString::fromStdString(errors[0].error.message).startsWith(message), errors[0].error.message.c_str());
  } else {
    const auto env = run.all<program::EnvRecord>();
    QVERIFY(!env.empty() && env[0].backendLabel.find("rehearsal") != std::string::npos);
  }
}

void ExecutorTeamEndsTest::withoutGpus_data() {
  QTest::addColumn<bool>("launches");
  QTest::newRow("--processes") << true;
  QTest::newRow("under mpirun") << false;
}

/// The real plug-in on a machine without a GPU: one message, all processes end.
void ExecutorTeamEndsTest::withoutGpus() {
  NEEDS_MPIRUN();
#ifdef COPPICE_EXEC
  QFETCH(bool, launches);
  QProcess test;
  test.start(COPPICE_EXEC, {"self-test"});
  QVERIFY(test.waitForFinished(coppice::waiting::kPatience));
  const QString notes = test.readAllStandardOutput();
  QVERIFY2(notes.contains("cuda-mpi: "), qPrintable(notes));
  if (notes.contains("cuda-mpi: available")) {
    QSKIP("skipped: there is a GPU");
  }
  const QStringList words = {"run", dataFile("ring4_allgather.xml"), "-b", "1K", "-e", "1K", "--backend", "cuda"};
  QProcess run;
  run.setProcessEnvironment(mpiEnvironment());
  if (launches) {
    run.start(COPPICE_EXEC, words + QStringList{"--processes", "2"});
  } else {
    run.start("mpirun", QStringList{"-n", "2", "--oversubscribe", COPPICE_EXEC} + words);
  }
  QVERIFY(run.waitForFinished(kPatience));
  QCOMPARE(run.exitCode(), static_cast<int>(RunExit::machineLacks));
  const QString errors = run.readAllStandardError();
  QVERIFY2(errors.count("coppice-exec: ") == 1 && errors.contains("NVIDIA"), qPrintable(errors));
#else
  QSKIP("skipped: needs nvcc for the plug-in");
#endif
}

QTEST_GUILESS_MAIN(ExecutorTeamEndsTest)
#include "tst_executor_team_ends.moc"
