// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "program/finding_sink.hpp"
#include "program/program.hpp"

using namespace coppice;
using namespace coppice::program;

class TestProgram : public QObject {
  Q_OBJECT

private slots:
  void words();
  void limitsOfRuntimes_data();
  void limitsOfRuntimes();
  void depth();
  void sinkNeverLosesAnError();
};

void TestProgram::words() {
  QCOMPARE(std::string(toString(Protocol::simple)), "Simple");
  QCOMPARE(std::string(toString(Protocol::ll)), "LL");
  QCOMPARE(std::string(toString(Protocol::ll128)), "LL128");
  QCOMPARE(letter(Buffer::input), 'i');
  QCOMPARE(letter(Buffer::output), 'o');
  QCOMPARE(letter(Buffer::scratch), 's');
  std::string types;
  for (const StepType type :
       {StepType::send, StepType::recv, StepType::recvCopySend, StepType::recvReduceSend, StepType::recvReduceCopy,
        StepType::recvReduceCopySend, StepType::copy, StepType::reduce, StepType::nop}) {
    types += std::string(toString(type)) + (sends(type) ? ">" : "") + (receives(type) ? "<" : "") +
             (usesSource(type) ? "s" : "") + (usesDestination(type) ? "d" : "") + " ";
  }
  QCOMPARE(types, "s>s r<d rcs><d rrs><s rrc<sd rrcs><sd cpysd resd nop ");
  QCOMPARE(std::string(toString(Runtime::msccl)), "msccl");
  QCOMPARE(std::string(toString(Runtime::mscclExecutorNccl)), "msccl-executor-nccl");
  QCOMPARE(std::string(toString(Runtime::rccl)), "rccl");
  QCOMPARE(runtimeNames(), "msccl, msccl-executor-nccl, rccl, rccl-6.1 or rccl-6.0");
  for (const Runtime runtime : kRuntimes) {
    QVERIFY(*parseRuntime(toString(runtime), "--runtime") == runtime);
  }
  const auto unknown = parseRuntime("rccl-5.5", "--target");
  QVERIFY(!unknown);
  QCOMPARE(describe(unknown.error()), "--target: \"rccl-5.5\" is not a runtime; use " + runtimeNames());
}

void TestProgram::limitsOfRuntimes_data() {
  QTest::addColumn<int>("runtime");
  QTest::addColumn<int>("steps");
  QTest::addColumn<int>("threadBlocks");
  QTest::addColumn<int>("channels");
  QTest::addColumn<int>("dependencyTb");
  QTest::newRow("msccl") << static_cast<int>(Runtime::msccl) << 256 << 216 << 32 << 127;
  QTest::newRow("executor") << static_cast<int>(Runtime::mscclExecutorNccl) << 64 << 1024 << 32 << 127;
  QTest::newRow("rccl") << static_cast<int>(Runtime::rccl) << 64 << 64 << 128 << 63;
  QTest::newRow("rccl-6.1") << static_cast<int>(Runtime::rccl61) << 64 << 64 << 64 << 63;
  QTest::newRow("rccl-6.0") << static_cast<int>(Runtime::rccl60) << 64 << 64 << 32 << 63;
}

void TestProgram::limitsOfRuntimes() {
  QFETCH(int, runtime);
  const RuntimeLimits& found = limits(static_cast<Runtime>(runtime));
  QTEST(found.stepsPerThreadBlock, "steps");
  QTEST(found.threadBlocksPerRank, "threadBlocks");
  QTEST(found.channels, "channels");
  QTEST(found.dependencyTb, "dependencyTb");
  QCOMPARE(found.peersPerChannel, 32);
  QCOMPARE(found.count, 71);
  QCOMPARE(found.offset, 32767);
  QCOMPARE(found.xmlNodes, 4095);
}

void TestProgram::depth() {
  QCOMPARE(connectionDepth(Protocol::simple), 2);
  QCOMPARE(connectionDepth(Protocol::ll), 8);
  QCOMPARE(connectionDepth(Protocol::ll128), 8);
}

void TestProgram::sinkNeverLosesAnError() {
  FindingSink sink(2, 3);
  for (int index = 0; index < 5; ++index) {
    if (sink.wants(1, Severity::warning)) {
      sink.add(1, {.severity = Severity::warning, .text = "w" + std::to_string(index)});
    }
  }
  for (int index = 0; index < 4; ++index) {
    if (sink.wants(2, Severity::warning)) {
      sink.add(2, {.severity = Severity::warning, .text = "v" + std::to_string(index)});
    }
  }
  QVERIFY(!sink.hasErrors());
  QVERIFY(!sink.wants(3, Severity::error));
  QVERIFY(sink.hasErrors());
  const std::vector<Finding> findings = sink.take();
  QCOMPARE(findings.size(), std::size_t{6});
  QCOMPARE(findings[0].text, "w0");
  QCOMPARE(findings[2].text, "v0");
  QCOMPARE(findings[3].text, "3 more like the first one here (w0)");
  QVERIFY(hasErrors(findings));
  QVERIFY(sink.take().empty());
}

QTEST_GUILESS_MAIN(TestProgram)
#include "tst_program.moc"
