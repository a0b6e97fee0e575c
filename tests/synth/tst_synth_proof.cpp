// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <sstream>

#include "drat_check.hpp"
#include "support/preset_fabrics.hpp"
#include "synth/refutation.hpp"

using namespace coppice;
using synth::Refutation;
using test::faultOfProof;

namespace {

constexpr synth::SynthesisOptions kOptions{.seconds = 100};

schedule::CollectiveTable goalOf(Collective collective, const fabric::Fabric& fabric) {
  return *schedule::CollectiveTable::make(collective, fabric.gpuCount(),
                                          isRooted(collective) ? std::optional<fabric::Rank>(0) : std::nullopt);
}

}  // namespace

/// Proofs of unsat, checked by code that knows nothing of schedules.
class TestSynthProof : public QObject {
  Q_OBJECT

private slots:
  void proofs_data();
  void proofs();
  void noProofs_data();
  void noProofs();
};

void TestSynthProof::proofs_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<int>("chunks");
  QTest::addColumn<int>("steps");
  QTest::addColumn<int>("rounds");
  QTest::newRow("allreduce, ring of 4") << "ring gpus=4" << Collective::allreduce << 3 << 2 << 3;
  QTest::newRow("allreduce, ring of 5") << "ring gpus=5" << Collective::allreduce << 3 << 3 << 3;
  QTest::newRow("broadcast, cube") << "hypercube" << Collective::broadcast << 5 << 3 << 5;
  // A bound refutes these too, which the solver does not know.
  QTest::newRow("too far") << "hypercube" << Collective::allgather << 1 << 2 << 2;
  QTest::newRow("allgather, cube") << "hypercube" << Collective::allgather << 2 << 3 << 4;
  QTest::newRow("reduce, ring of 5") << "ring gpus=5" << Collective::reduce << 5 << 3 << 3;
}

void TestSynthProof::proofs() {
  QFETCH(QString, fabric);
  QFETCH(Collective, collective);
  QFETCH(int, chunks);
  QFETCH(int, steps);
  QFETCH(int, rounds);
  if (!synth::SatSolver::isAvailable()) {
    QSKIP("this build has no CaDiCaL");
  }
  const fabric::Fabric made = test::built(test::describedBy(fabric));
  const auto refutation = Refutation::make(made, goalOf(collective, made), {chunks, steps, rounds}, kOptions, {});
  QVERIFY2(refutation, refutation ? "" : describe(refutation.error()).c_str());
  std::ostringstream clauses;
  std::ostringstream proof;
  QVERIFY(refutation->writeClauses(clauses));
  QVERIFY(refutation->writeProof(proof));
  QCOMPARE(QString::fromStdString(faultOfProof(clauses.str(), proof.str())), QString());
  std::ostringstream again;
  QVERIFY(refutation->writeProof(again));
  QVERIFY(again.str() == proof.str());
}

/// The checker is not content with less.
void TestSynthProof::noProofs_data() {
  QTest::addColumn<QByteArray>("clauses");
  QTest::addColumn<QByteArray>("proof");
  QTest::addColumn<QString>("fault");
  const QByteArray square = "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n";
  QTest::newRow("proof") << square << QByteArray("2 0\n0\n") << "";
  QTest::newRow("nothing derived") << square << QByteArray() << "the empty clause is not derived";
  QTest::newRow("at once") << square << QByteArray("0\n") << "line 1 does not follow";
  QTest::newRow("satisfiable") << QByteArray("p cnf 2 3\n1 2 0\n-1 2 0\n1 -2 0\n") << QByteArray("2 0\n0\n")
                               << "line 2 does not follow";
  QTest::newRow("deleted before") << square << QByteArray("d 1 2 0\n2 0\n0\n") << "line 2 does not follow";
  QTest::newRow("deletes nothing") << square << QByteArray("d 1 0\n") << "line 1 deletes what is not there";
}

void TestSynthProof::noProofs() {
  QFETCH(QByteArray, clauses);
  QFETCH(QByteArray, proof);
  QFETCH(QString, fault);
  QCOMPARE(QString::fromStdString(faultOfProof(clauses.toStdString(), proof.toStdString())), fault);
}

QTEST_APPLESS_MAIN(TestSynthProof)
#include "tst_synth_proof.moc"
