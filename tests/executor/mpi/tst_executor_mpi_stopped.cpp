// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <QtTest>
#include <vector>

#include "executor/mpi/mpi_run.hpp"
#include "support/processes.hpp"

using namespace coppice;
using executor::test::kPatience;
using executor::test::MpiRun;
using executor::test::sharedMemory;
using program::RunExit;
using test::isGone;

/// Runs of which a process stands still.
class ExecutorMpiStoppedTest : public QObject {
  Q_OBJECT

private slots:
  void cleanup();
  void stopped_data();
  void stopped();
};

void ExecutorMpiStoppedTest::cleanup() {
  QCOMPARE(sharedMemory(), QStringList());
}

void ExecutorMpiStoppedTest::stopped_data() {
  QTest::addColumn<int>("rank");
  QTest::addColumn<bool>("forcesNetwork");
  QTest::newRow("rank 2") << 2 << false;
  QTest::newRow("rank 0") << 0 << false;
  QTest::newRow("rank 1, network") << 1 << true;
  QTest::newRow("rank 0, network") << 0 << true;
}

void ExecutorMpiStoppedTest::stopped() {
  NEEDS_MPIRUN();
  QFETCH(int, rank);
  QFETCH(bool, forcesNetwork);
  const auto run = MpiRun::endless(forcesNetwork, {"--stall", "3"});
  QVERIFY(run);
  const std::vector<pid_t> ranks = run->members(4);
  QVERIFY(ranks[rank] > 0);
  QCOMPARE(::kill(ranks[rank], SIGSTOP), 0);
  QCOMPARE(run->finish(), static_cast<int>(RunExit::hang));
  const auto* error = run->last<program::ErrorRecord>();
  QVERIFY(error != nullptr);
  QVERIFY2(error->error.message.starts_with("rank " + std::to_string(rank) + " "), error->error.message.c_str());
  if (rank == 0 && forcesNetwork) {
    // It is named before the others have waited for its last words.
    const auto* note = run->last<program::LogRecord>();
    QVERIFY(note != nullptr);
    QVERIFY2(note->text.starts_with("rank 0 (on "), note->text.c_str());
  }
  for (const pid_t other : ranks) {
    QTRY_VERIFY_WITH_TIMEOUT(isGone(other), kPatience);
  }
}

QTEST_GUILESS_MAIN(ExecutorMpiStoppedTest)
#include "tst_executor_mpi_stopped.moc"
