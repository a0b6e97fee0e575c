// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <set>
#include <vector>

#include "coppice/test_paths.hpp"
#include "executor/cuda/team_run.hpp"
#include "program/run_protocol.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::kNetwork;
using executor::test::kPatience;
using executor::test::mpiEnvironment;
using executor::test::sharedMemory;
using executor::test::TeamRun;
using executor::test::Variables;
using program::RunExit;

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

QTEST_GUILESS_MAIN(ExecutorTeamTest)
#include "tst_executor_team.moc"
