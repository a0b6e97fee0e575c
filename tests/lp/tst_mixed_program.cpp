// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <stop_token>
#include <thread>

#include "lp/mixed_program.hpp"

using namespace coppice;
using namespace coppice::lp;

/// Programs that the solver CBC solves in a process of its own, and solvers that fail in every way.
class TestMixedProgram : public QObject {
  Q_OBJECT

private slots:
  void solves_data();
  void solves();
  void startIsTaken();
  void missingSolverIsNamed();
  void brokenSolvers_data();
  void brokenSolvers();
  void cancelEndsTheSolver();
  void solverThatDoesNotEnd();

private:
  /// A program that takes the place of the solver.
  QString script(const QByteArray& text) {
    const QString name = m_folder.filePath("solver" + QString::number(++m_scripts));
    QFile file(name);
    if (!file.open(QIODevice::WriteOnly)) {
      return {};
    }
    // The file after -solution is where the answer goes.
    file.write("#!/bin/sh\nwhile [ \"$1\" != -solution ]; do shift; done\nout=$2\n" + text + "\n");
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return name;
  }

  QTemporaryDir m_folder;
  int m_scripts = 0;
};

namespace {

/// 3 a + 2 b + 2 c at most 4, at least one of a and b; most of 4 a + 3 b + 3 c + d / 2 with d - a in [-1, 1/2].
MixedProgram knapsack() {
  MixedProgram program;
  program.addColumn({.upper = 1, .cost = -4, .isInteger = true});
  program.addColumn({.upper = 1, .cost = -3, .isInteger = true});
  program.addColumn({.upper = 1, .cost = -3, .isInteger = true});
  program.addColumn({.lower = -kInfinite, .upper = kInfinite, .cost = -0.5});
  program.rows.push_back({{{0, 3}, {1, 2}, {2, 2}}, -kInfinite, 4});
  program.rows.push_back({{{0, 1}, {1, 1}}, 1, kInfinite});
  program.rows.push_back({{{3, 1}, {0, -1}}, -1, 0.5});
  return program;
}

bool hasSolver() {
  return findMixedSolver().hasValue();
}

}  // namespace

void TestMixedProgram::solves_data() {
  QTest::addColumn<int>("change");
  QTest::addColumn<QString>("status");
  QTest::addColumn<double>("cost");
  QTest::newRow("as it is") << 0 << "optimal" << -6.25;
  QTest::newRow("without b") << 1 << "optimal" << -4.75;
  QTest::newRow("without a and b") << 2 << "impossible" << 0.0;
}

void TestMixedProgram::solves() {
  QFETCH(int, change);
  QFETCH(QString, status);
  QFETCH(double, cost);
  if (!hasSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  MixedProgram program = knapsack();
  if (change > 0) {
    program.columns[1].upper = 0;
  }
  if (change > 1) {
    program.columns[0].upper = 0;
  }
  const auto answer = solveMixed(program, {.seconds = 20}, {});
  QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
  QCOMPARE(QString::fromStdString(std::string(toString(answer->status))), status);
  if (answer->status == MixedStatus::optimal) {
    double sum = 0;
    for (std::size_t i = 0; i < program.columns.size(); ++i) {
      sum += program.columns[i].cost * answer->values[i];
    }
    QVERIFY2(std::abs(sum - cost) < 1e-6, qPrintable(QString::number(sum)));
    QVERIFY(answer->bound.has_value());
  } else {
    QVERIFY(answer->values.empty());
  }
}

void TestMixedProgram::startIsTaken() {
  if (!hasSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  const auto answer = solveMixed(knapsack(), {.seconds = 20, .start = {1, 0, 0, 1.5}}, {});
  QVERIFY(answer.hasValue());
  QVERIFY(answer->status == MixedStatus::optimal);
}

void TestMixedProgram::missingSolverIsNamed() {
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", m_folder.path().toUtf8());
  const auto answer = solveMixed(knapsack(), {}, {});
  qputenv("PATH", path);
  QVERIFY(!answer);
  QCOMPARE(answer.error().code, ErrorCode::unavailable);
  QVERIFY(QString::fromStdString(answer.error().fix).contains("coinor-cbc"));
}

void TestMixedProgram::brokenSolvers_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("reason");
  const QByteArray title = "echo 'Optimal - objective value 1' > \"$out\"\n";
  QTest::newRow("says nothing") << QByteArray("exit 0") << "no answer";
  QTest::newRow("fails") << QByteArray("echo Stopped > \"$out\"; kill -SEGV $$") << "signal 11";
  QTest::newRow("no values") << QByteArray("echo 'Stopped on time (no integer solution - continuous used)' > \"$out\"")
                             << "no solution in the time";
  QTest::newRow("other names") << title + "echo '0 X0 1 0' >> \"$out\""
                               << "does not satisfy";
  QTest::newRow("column that is not there") << title + "echo '9 C9 1 0' >> \"$out\""
                                            << "does not satisfy";
  QTest::newRow("not a number") << title + "echo '0 C0 nan 0' >> \"$out\""
                                << "does not satisfy";
  QTest::newRow("half") << title + "echo '0 C0 0.5 0' >> \"$out\""
                        << "does not satisfy";
  QTest::newRow("too much") << title + "printf '0 C0 1 0\\n1 C1 1 0\\n' >> \"$out\""
                            << "does not satisfy";
}

void TestMixedProgram::brokenSolvers() {
  QFETCH(QByteArray, text);
  QFETCH(QString, reason);
  const auto answer = solveMixed(knapsack(), {.seconds = 20, .program = script(text).toStdString()}, {});
  QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
  QVERIFY(answer->status == MixedStatus::undecided);
  QVERIFY2(QString::fromStdString(answer->reason).contains(reason), answer->reason.c_str());
  QVERIFY(answer->values.empty());
}

void TestMixedProgram::cancelEndsTheSolver() {
  std::stop_source stop;
  Progress progress;
  progress.stop = stop.get_token();
  // The first report comes when the solver runs.
  progress.onReport = [&](std::string_view, double) { stop.request_stop(); };
  bool isCancelled = false;
  try {
    static_cast<void>(
        solveMixed(knapsack(), {.seconds = 1000, .program = script("exec sleep 1000").toStdString()}, progress));
  } catch (const CancelledError&) {
    isCancelled = true;
  }
  QVERIFY(isCancelled);
}

void TestMixedProgram::solverThatDoesNotEnd() {
  const auto answer = solveMixed(knapsack(), {.seconds = 0.01, .program = script("exec sleep 1000").toStdString()}, {});
  QVERIFY(answer.hasValue());
  QVERIFY(answer->status == MixedStatus::undecided);
  QVERIFY(QString::fromStdString(answer->reason).contains("did not end"));
}

QTEST_GUILESS_MAIN(TestMixedProgram)
#include "tst_mixed_program.moc"
