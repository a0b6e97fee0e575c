// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "executor/mpi/mpi_run.hpp"
#include "mpi/host_state.hpp"
#include "mpi/spin_limit.hpp"
#include "plan/plan.hpp"
#include "program/msccl_xml.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using executor::test::dataFile;
using executor::test::kIsSanitized;
using executor::test::kPatience;
using executor::test::MpiRun;
using executor::test::sharedMemory;

class ExecutorMpiTest : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void cleanup();
  void customCollective();
  void schedules_data();
  void schedules();
  void iterations_data();
  void iterations();
  void records();
  void oddNumbers_data();
  void oddNumbers();
  void oneClock();
  void spinLimit();
  void patience();

private:
  static void drive(const QStringList& launch, const QStringList& driver, const QProcessEnvironment& variables,
                    int min);
};

void ExecutorMpiTest::initTestCase() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorMpiTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

/// Every process reads the table.
void ExecutorMpiTest::customCollective() {
  const QString folder = QString(COPPICE_TEST_DATA) + "/executor/";
  for (const bool forcesNetwork : {false, true}) {
    const QStringList sizes{"-b", "4000", "-e", "64000", "-f", "16", "-n", "2"};
    MpiRun run(QStringList{folder + "custom.xml", "--goal", folder + "custom.csv"} + sizes, forcesNetwork);
    QCOMPARE(run.finish(), 0);
    int results = 0;
    for (const program::Record& record : run.records()) {
      if (const auto* result = std::get_if<program::ResultRecord>(&record)) {
        QCOMPARE(result->wrong.value_or(-1), 0);
        ++results;
      }
    }
    QCOMPARE(results, 2);
  }
}

void ExecutorMpiTest::schedules_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::addColumn<QString>("set");
  QTest::addColumn<int>("min");
  // 16 sanitized processes at once would be too much.
  const int max = kIsSanitized ? 8 : 16;
  QTest::addRow("presets up to %d GPUs, shared memory", max) << max << false << "presets" << (kIsSanitized ? 30 : 80);
  QTest::newRow("8 processes, network only") << 8 << true << "forward" << 20;
  QTest::newRow("8 processes, shared memory") << 8 << false << "forward" << 20;
}

void ExecutorMpiTest::schedules() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(bool, forcesNetwork);
  QFETCH(QString, set);
  QFETCH(int, min);
  drive({"-n", QString::number(processes)}, {set}, MpiRun::environment(forcesNetwork), min);
}

/// Runs mpi_driver with arguments of its own; `min` schedules are right and none is wrong.
void ExecutorMpiTest::drive(const QStringList& launch, const QStringList& driver, const QProcessEnvironment& variables,
                            int min) {
  QProcess process;
  process.setProcessEnvironment(variables);
  const QStringList arguments = launch + QStringList{"--oversubscribe", "--bind-to", "none"};
  process.start("mpirun", arguments + QStringList{COPPICE_MPI_DRIVER, COPPICE_EXEC_MPI} + driver);
  QVERIFY2(process.waitForFinished(kPatience), "the processes do not end");
  int right = 0;
  bool hasEnded = false;
  const QByteArray output = process.readAllStandardOutput();
  for (const QByteArray& line : output.split('\n')) {
    right += line.startsWith("ok ") ? 1 : 0;
    hasEnded = hasEnded || line == "end";
    QVERIFY2(!line.startsWith("wrong "), line.constData());
  }
  const QByteArray errors = process.readAllStandardError();
  QVERIFY2(hasEnded, (output.right(500) + errors).constData());
  QVERIFY2(right >= min, QByteArray::number(right).constData());
  QCOMPARE(process.exitCode(), 0);
}

void ExecutorMpiTest::iterations_data() {
  QTest::addColumn<int>("processes");
  QTest::addColumn<int>("workers");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::addColumn<int>("jitter");  // microseconds
  QTest::addColumn<int>("min");
  QTest::newRow("2 processes") << 2 << 1 << false << 0 << 5;
  QTest::newRow("2 processes, random sleeps") << 2 << 1 << false << 300 << 5;
  QTest::newRow("4 processes") << 4 << 1 << false << 0 << 15;
  QTest::newRow("4 processes, random sleeps") << 4 << 1 << false << 300 << 15;
  QTest::newRow("4 processes of 3 workers, random sleeps") << 4 << 3 << false << 300 << 15;
  QTest::newRow("4 processes, network, random sleeps") << 4 << 1 << true << 300 << 15;
  QTest::newRow("8 processes, random sleeps") << 8 << 1 << false << 100 << 20;
}

/// Iterations that go on with each other's data leave what iterations separated by barriers leave, however late any
/// process is.
void ExecutorMpiTest::iterations() {
  NEEDS_MPIRUN();
  QFETCH(int, processes);
  QFETCH(int, workers);
  QFETCH(bool, forcesNetwork);
  QFETCH(int, jitter);
  QFETCH(int, min);
  QProcessEnvironment variables = MpiRun::environment(forcesNetwork);
  variables.insert("COPPICE_EXEC_JITTER", QString::number(jitter));
  const QString count = QString::number(processes);
  drive({"-n", count}, {"iterations", count, QString::number(workers)}, variables, min);
}

/// Through the launcher: one hello, one end, as the protocol has it.
void ExecutorMpiTest::records() {
  NEEDS_MPIRUN();
  MpiRun run(
      {dataFile("ring4_allgather.xml"), "-b", "1000", "-e", "100000", "-f", "10", "-n", "2", "-w", "1", "--trace"});
  QCOMPARE(run.finish(), 0);
  const auto& records = run.records();
  QVERIFY(std::holds_alternative<program::HelloRecord>(records.front()));
  QVERIFY(std::holds_alternative<program::EndRecord>(records.back()));
  int hellos = 0;
  int ends = 0;
  int results = 0;
  std::set<int> traced;
  for (const program::Record& record : records) {
    hellos += std::holds_alternative<program::HelloRecord>(record) ? 1 : 0;
    ends += std::holds_alternative<program::EndRecord>(record) ? 1 : 0;
    if (const auto* result = std::get_if<program::ResultRecord>(&record)) {
      ++results;
      QCOMPARE(result->wrong.value_or(-1), 0);
    }
    if (const auto* trace = std::get_if<program::TraceRecord>(&record)) {
      for (const program::TraceEvent& event : trace->events) {
        traced.insert(event.rank);
      }
    }
  }
  QCOMPARE(hellos, 1);
  QCOMPARE(ends, 1);
  QCOMPARE(results, 3);
  QCOMPARE(traced, (std::set<int>{0, 1, 2, 3}));
}

void ExecutorMpiTest::oddNumbers_data() {
  QTest::addColumn<int>("ranks");
  QTest::addColumn<int>("workers");
  QTest::newRow("3 ranks") << 3 << 1;
  QTest::newRow("3 ranks, 2 workers each") << 3 << 2;
  QTest::newRow("5 ranks") << 5 << 1;
}

/// Memory is measured too, by processes that do not divide it evenly.
void ExecutorMpiTest::oddNumbers() {
  NEEDS_MPIRUN();
  QFETCH(int, ranks);
  QFETCH(int, workers);
  QTemporaryDir folder;
  QFile file(folder.filePath("ring.xml"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  const std::string xml = program::writeMscclXml(samples::ringAllreduce(ranks, true), program::Runtime::msccl);
  file.write(xml.data(), static_cast<qint64>(xml.size()));
  file.close();
  for (const bool forcesNetwork : {false, true}) {
    MpiRun run({file.fileName(), "-b", "1M", "-e", "1M", "-n", "3", "-w", "1", "--workers", QString::number(workers)},
               forcesNetwork);
    QCOMPARE(run.finish(), 0);
    QVERIFY(run.last<program::SummaryRecord>() != nullptr);
    QCOMPARE(run.last<program::SummaryRecord>()->wrong, 0);
    QVERIFY(run.last<program::SummaryRecord>()->memory_GBps.value_or(0) > 0);
  }
}

/// Processes of a host trace by one clock: no message is received before its sending began.
void ExecutorMpiTest::oneClock() {
  NEEDS_MPIRUN();
  QFile file(dataFile("ring4_allgather.xml"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const auto xml = program::readMscclXml(file.readAll().toStdString(), program::Runtime::msccl);
  QVERIFY(xml);
  const auto plans = executor::makePlans(xml->program, {});
  QVERIFY(plans && plans->ok);
  const executor::Plan& plan = plans->inPlace ? *plans->inPlace : *plans->outOfPlace;
  MpiRun run({dataFile("ring4_allgather.xml"), "-b", "64K", "-e", "64K", "-n", "5", "-w", "1", "--trace"});
  QCOMPARE(run.finish(), 0);
  std::map<std::pair<int, int>, std::vector<program::TraceEvent>> events;  // by first step's number and tile
  for (const program::Record& record : run.records()) {
    if (const auto* trace = std::get_if<program::TraceRecord>(&record)) {
      for (const program::TraceEvent& event : trace->events) {
        const executor::PlanRank& rank = plan.ranks[event.rank];
        const int block = rank.firstBlock + event.threadBlock;
        events[{plan.blocks[block].firstStep + event.step, event.tile}].push_back(event);
      }
    }
  }
  int messages = 0;
  for (auto& [place, sent] : events) {
    const int receiver = plan.steps[place.first].peerSend;
    if (receiver < 0) {
      continue;
    }
    auto& received = events[{receiver, place.second}];
    QCOMPARE(received.size(), sent.size());
    const auto byTime = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
    std::sort(sent.begin(), sent.end(), byTime);
    std::sort(received.begin(), received.end(), byTime);
    for (std::size_t i = 0; i < sent.size(); ++i) {
      QVERIFY2(received[i].end_ns >= sent[i].start_ns,
               qPrintable(QString("%1 ns before").arg(sent[i].start_ns - received[i].end_ns)));
      ++messages;
    }
  }
  QVERIFY(messages >= 12);
}

/// Waits are made up. The limit never falls to what it takes to wake a process, and grows again after short waits.
void ExecutorMpiTest::spinLimit() {
  using executor::SpinLimit;
  constexpr SpinLimit::Duration kWakeUp = std::chrono::microseconds(30);
  SpinLimit limit;
  QVERIFY(limit.current() == SpinLimit::kMax);
  for (int wait = 0; wait < 20; ++wait) {
    limit.slept(std::chrono::milliseconds(3));
    QVERIFY(limit.current() > kWakeUp);
  }
  QVERIFY(limit.current() == SpinLimit::kMin);
  for (int wait = 0; wait < 20; ++wait) {
    const SpinLimit::Duration before = limit.current();
    limit.slept(kWakeUp);
    QVERIFY(limit.current() > before || before == SpinLimit::kMax);
  }
  QVERIFY(limit.current() == SpinLimit::kMax);
}

/// Ranks that do not continue are named before the run gives up for want of progress, each before those that wait for
/// it.
void ExecutorMpiTest::patience() {
  constexpr double kStall = 10;
  QVERIFY(executor::stopPatience(kStall) < executor::silenceOfOthers(kStall));
  QVERIFY(executor::silenceOfFirst(kStall) < kStall);
  for (const double stall : {0.5, 1.0, 5.0, 10.0, 100.0}) {
    QVERIFY(executor::silenceOfOthers(stall) < executor::silenceOfFirst(stall));
    QVERIFY(executor::silenceOfFirst(stall) > 0.85 * stall);
  }
  QCOMPARE(executor::silenceOfFirst(0), 0.0);
}

QTEST_GUILESS_MAIN(ExecutorMpiTest)
#include "tst_executor_mpi.moc"
