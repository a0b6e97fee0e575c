// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <QtTest>
#include <functional>
#include <set>
#include <vector>

#include "coppice/test_paths.hpp"
#include "executor/exec_run.hpp"
#include "program/run_protocol.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::ExecRun;
using executor::test::kPatience;
using executor::test::mpiEnvironment;
using executor::test::sharedMemory;
using program::RunExit;

namespace {

using Variables = QMap<QString, QString>;

/// A run with several ranks in each process.
class TeamRun : public ExecRun {
public:
  TeamRun(const QStringList& arguments, const Variables& variables)
      : ExecRun(COPPICE_DOUBLE, arguments + QStringList{"--backend", "cuda"}, mpiEnvironment(variables)) {}
};

const Variables kNetwork = {{"COPPICE_EXEC_FORCE_NETWORK", "1"}};

}  // namespace

/// The backend for GPUs of several processes, with host threads in place of GPUs: all but the CUDA runtime is real.
class ExecutorTeamTest : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void cleanup();

  void schedules_data();
  void schedules();
  void paths_data();
  void paths();
  void idleProcesses_data();
  void idleProcesses();
  void traced();
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

void ExecutorTeamTest::initTestCase() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorTeamTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorTeamTest::schedules_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<Variables>("variables");
  QTest::addColumn<QString>("set");
  QTest::addColumn<int>("ranks");
  QTest::newRow("two processes") << 2 << Variables() << "presets" << 8;
  QTest::newRow("four processes") << 4 << Variables() << "presets" << 8;
  QTest::newRow("three processes, uneven") << 3 << Variables() << "presets" << 8;
  QTest::newRow("GPUs that do not map each other") << 3 << Variables{{"COPPICE_EXEC_NO_PEER", "1"}} << "presets" << 8;
  QTest::newRow("a driver that refuses to map") << 2 << Variables{{"COPPICE_DOUBLE_NO_MAPS", "1"}} << "forward" << 8;
  QTest::newRow("network") << 4 << kNetwork << "presets" << 8;
  QTest::newRow("network, three processes, uneven") << 3 << kNetwork << "forward" << 8;
  QTest::newRow("one GPU for all") << 3 << Variables{{"COPPICE_DOUBLE_GPUS", "1"}} << "forward" << 8;
  QTest::newRow("GPUs of their own") << 2 << Variables{{"COPPICE_DOUBLE_OWN", "1"}, {"COPPICE_DOUBLE_GPUS", "2"}}
                                     << "forward" << 8;
  QTest::newRow("many strands") << 2 << Variables{{"COPPICE_DOUBLE_STRANDS", "5"}} << "forward" << 8;
}

void ExecutorTeamTest::schedules() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(Variables, variables);
  QFETCH(QString, set);
  QFETCH(int, ranks);
  QStringList words = {"-n", QString::number(processes), "--oversubscribe", "--bind-to", "none"};
  for (const QString& name : variables.keys()) {
    words << "-x" << name;
  }
  QProcess driver;
  driver.setProcessEnvironment(mpiEnvironment(variables));
  driver.start("mpirun", words + QStringList{COPPICE_MPI_DRIVER, COPPICE_DOUBLE_PLUGIN, set, QString::number(ranks)});
  QVERIFY(driver.waitForFinished(kPatience));
  const QString output = driver.readAllStandardOutput();
  QStringList wrong;
  for (const QString& line : output.split('\n')) {
    if (line.startsWith("wrong")) {
      wrong << line;
    }
  }
  QCOMPARE(wrong, QStringList());
  QVERIFY2(output.contains("\nend\n"), qPrintable(output.right(500) + driver.readAllStandardError().left(2000)));
  QVERIFY(output.count("ok ") >= 20);
  QCOMPARE(driver.exitCode(), 0);
}

void ExecutorTeamTest::paths_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<Variables>("variables");
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("summary");
  QTest::newRow("mapped") << 2 << Variables() << "mapped memory of the other GPU for 4 pairs of GPUs"
                          << "cuda, 4 ranks on 4 GPUs in 2 processes on 1 host";
  QTest::newRow("not mapped") << 4 << Variables{{"COPPICE_DOUBLE_NO_MAPS", "1"}}
                              << "host memory that both processes share for 6 pairs of GPUs"
                              << "cuda, 4 ranks on 4 GPUs in 4 processes on 1 host";
  QTest::newRow("network") << 4 << kNetwork << "host memory of each process, and MPI for 6 pairs of GPUs"
                           << "cuda, 4 ranks on 4 GPUs in 4 processes on 1 host";
}

/// What the run says of itself, and its results.
void ExecutorTeamTest::paths() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(Variables, variables);
  QFETCH(QString, path);
  QFETCH(QString, summary);
  variables["COPPICE_DOUBLE_GPUS"] = "4";
  TeamRun run({dataFile("ring4_allgather.xml"), "-b", "1000", "-e", "100000", "-f", "100", "-n", "3", "--processes",
               QString::number(processes)},
              variables);
  const int code = run.finish();
  QVERIFY2(code == 0, qPrintable(run.errors()));
  const auto env = run.all<program::EnvRecord>();
  QCOMPARE(env.size(), std::size_t{1});
  QCOMPARE(QString::fromStdString(env[0].backend), summary);
  QCOMPARE(QString::fromStdString(env[0].facts.at("between processes")), path);
  QCOMPARE(env[0].facts.at("GPUs"), std::string("4 x host threads"));
  QVERIFY(!env[0].facts.contains("GPU 0"));
  QCOMPARE(env[0].facts.contains("not mapped because"), variables.contains("COPPICE_DOUBLE_NO_MAPS"));
  const auto results = run.all<program::ResultRecord>();
  QCOMPARE(results.size(), std::size_t{2});
  for (const auto& result : results) {
    QVERIFY(result.time_us > 0);
    QVERIFY(result.wrong && *result.wrong == 0);
  }
}

void ExecutorTeamTest::idleProcesses_data() {
  QTest::addColumn<Variables>("variables");
  QTest::newRow("mapped") << Variables();
  QTest::newRow("network") << kNetwork;
}

/// mpirun started more processes than there are ranks.
void ExecutorTeamTest::idleProcesses() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  QStringList words = {"-n", "5", "--oversubscribe", "--bind-to", "none"};
  for (const QString& name : variables.keys()) {
    words << "-x" << name;
  }
  QProcess run;
  run.setProcessEnvironment(mpiEnvironment(variables));
  run.start("mpirun", words + QStringList{COPPICE_DOUBLE, "run", dataFile("ring4_allgather.xml"), "-b", "1000", "-e",
                                          "1000", "-n", "2", "--backend", "cuda"});
  QVERIFY(run.waitForFinished(kPatience));
  const QString output = run.readAllStandardOutput();
  QVERIFY2(run.exitCode() == 0 && output.contains("4 ranks on 4 GPUs in 5 processes"), qPrintable(output));
  QVERIFY(output.contains("Out of bounds values : 0 OK"));
}

/// Events of all ranks, from the same zero.
void ExecutorTeamTest::traced() {
  NEEDS_MPIRUN();
  TeamRun run({dataFile("ring4_allgather.xml"), "-b", "4096", "-e", "4096", "-n", "1", "--trace", "--processes", "2"},
              {});
  QCOMPARE(run.finish(), 0);
  std::set<int> ranks;
  std::int64_t last = 0;
  for (const auto& record : run.all<program::TraceRecord>()) {
    for (const auto& event : record.events) {
      ranks.insert(event.rank);
      QVERIFY(event.start_ns >= 0 && event.start_ns <= event.end_ns);
      last = std::max(last, event.end_ns);
    }
  }
  QCOMPARE(ranks, (std::set<int>{0, 1, 2, 3}));
  QVERIFY(last > 0 && last < 60'000'000'000);
}

void ExecutorTeamTest::deadlock_data() {
  QTest::addColumn<Variables>("variables");
  QTest::newRow("mapped") << Variables();
  QTest::newRow("network") << kNetwork;
}

/// All four ranks are named, though each process knows only its own.
void ExecutorTeamTest::deadlock() {
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

void ExecutorTeamTest::killed_data() {
  QTest::addColumn<Variables>("variables");
  QTest::addColumn<int>("victim");
  QTest::newRow("mapped") << Variables() << 1;
  QTest::newRow("not mapped") << Variables{{"COPPICE_EXEC_NO_PEER", "1"}} << 1;
  QTest::newRow("network") << kNetwork << 1;
  QTest::newRow("process 0") << Variables() << 0;
}

/// A process that is killed in the middle of a run ends it with its name.
void ExecutorTeamTest::killed() {
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
void ExecutorTeamTest::stopped() {
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

void ExecutorTeamTest::interrupted_data() {
  QTest::addColumn<Variables>("variables");
  QTest::newRow("mapped") << Variables();
  QTest::newRow("network") << kNetwork;
}

void ExecutorTeamTest::interrupted() {
  NEEDS_MPIRUN();
  QFETCH(Variables, variables);
  TeamRun run({dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "1000000", "--processes", "2"},
              variables);
  QVERIFY(run.waitUntilInside(2));
  ::kill(static_cast<pid_t>(run.process().processId()), SIGINT);
  QCOMPARE(run.finish(), static_cast<int>(RunExit::cancelled));
  QTRY_COMPARE_WITH_TIMEOUT(run.members(2), std::vector<pid_t>(2, 0), kPatience);
}

void ExecutorTeamTest::refused_data() {
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

void ExecutorTeamTest::refused() {
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

void ExecutorTeamTest::withoutGpus_data() {
  QTest::addColumn<bool>("launches");
  QTest::newRow("--processes") << true;
  QTest::newRow("under mpirun") << false;
}

/// The real plug-in on a machine without a GPU: one message, all processes end.
void ExecutorTeamTest::withoutGpus() {
  NEEDS_MPIRUN();
#ifdef COPPICE_EXEC
  QFETCH(bool, launches);
  QProcess test;
  test.start(COPPICE_EXEC, {"self-test"});
  QVERIFY(test.waitForFinished());
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

QTEST_GUILESS_MAIN(ExecutorTeamTest)
#include "tst_executor_team.moc"
