// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>

#include "program/msccl_xml.hpp"
#include "support/sample_programs.hpp"
#include "verify/judgement.hpp"

using namespace coppice;
using namespace coppice::program;
using namespace coppice::samples;

namespace {

QString allTexts(const std::vector<Finding>& findings) {
  QString texts;
  for (const Finding& finding : findings) {
    texts += QString::fromStdString(describe(finding)) + "\n";
  }
  return texts;
}

/// As the programs that come with RCCL do it: every rank adds up its own chunk in one threadblock, straight in the
/// input, and the threadblocks of the peers send it on from there.
Program allPairs(int ranks) {
  Program program = empty(Collective::allreduce, ranks, ranks, true, ranks, 0, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    const int others = ranks - 1;
    ThreadBlock sum;
    for (int other = 0; other + 1 < others; ++other) {
      sum.steps.push_back(nop(other, 1));
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) {
        const Step add = step(StepType::reduce, {kScratch, peer}, {kIn, rank});
        const bool isFirst = sum.steps.empty() || sum.steps.back().type == StepType::nop;
        sum.steps.push_back(isFirst ? waiting(add, others - 1, 1) : add);
      }
    }
    sum.steps.back().hasDependent = true;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) {
        ThreadBlock block = {.sendPeer = peer, .recvPeer = peer};
        block.steps.push_back(step(StepType::send, {kIn, peer}, {kScratch, rank}));
        block.steps.push_back(awaited(step(StepType::recv, {kIn, rank}, {kScratch, peer})));
        block.steps.push_back(
            waiting(step(StepType::send, {kIn, rank}), others, static_cast<int>(sum.steps.size()) - 1));
        block.steps.push_back(step(StepType::recv, {kIn, peer}));
        blocks.push_back(block);
      }
    }
    blocks.push_back(sum);
  }
  return program;
}

/// Rank 0 receives from all others in a threadblock each, and each of these adds its own to the sum.
Program addedByAll(int ranks, Buffer buffer) {
  const bool isInput = buffer == kIn;
  Program program = empty(isInput ? Collective::reduce : Collective::allreduce, ranks, 1, true, isInput ? 1 : 0,
                          isInput ? 0 : 1, ranks);
  for (int peer = 1; peer < ranks; ++peer) {
    program.ranks[peer].threadBlocks = {
        {.sendPeer = 0, .steps = {step(StepType::send, {buffer, 0}, {kScratch, peer})}}};
    ThreadBlock block = {.recvPeer = peer};
    block.steps.push_back(step(StepType::recv, {buffer, 0}, {kScratch, peer}));
    Step add = step(StepType::reduce, {kScratch, peer}, {buffer, 0});
    add.hasDependent = peer + 1 < ranks;
    block.steps.push_back(peer == 1 ? add : waiting(add, peer - 2, 1));
    program.ranks[0].threadBlocks.push_back(block);
  }
  return program;
}

/// Rank 1 passes on what it got in o, but waits for a later step, which writes to `landing`.
Program relayed(Slot landing, int waitsFor) {
  Program program = empty(Collective::broadcast, 3, 2, true, 0, 2, 1);
  program.ranks[0].threadBlocks = {
      {.sendPeer = 1, .steps = {step(StepType::send, {kOut, 0}), step(StepType::send, {kOut, 1})}},
      {.sendPeer = 2, .steps = {step(StepType::send, {kOut, 1})}}};
  ThreadBlock in = {.recvPeer = 0};
  in.steps = {step(StepType::recv, {kOut, 0}), step(StepType::recv, landing)};
  in.steps[waitsFor].hasDependent = true;
  ThreadBlock out = {.sendPeer = 2};
  out.steps = {waiting(step(StepType::send, {kOut, 0}), 0, waitsFor)};
  program.ranks[1].threadBlocks = {in, out};
  if (landing.buffer == kScratch) {
    program.ranks[1].threadBlocks.push_back({.steps = {waiting(step(StepType::copy, landing, {kOut, 1}), 0, 1)}});
    program.ranks[1].threadBlocks[0].steps[1].hasDependent = true;
  }
  program.ranks[2].threadBlocks = {{.recvPeer = 1, .steps = {step(StepType::recv, {kOut, 0})}},
                                   {.recvPeer = 0, .steps = {step(StepType::recv, {kOut, 1})}}};
  return program;
}

struct Case {
  const char* name;
  std::function<Program()> make;
  QString text = {};  ///< of the warning; empty = none
  Runtime runtime = Runtime::rccl;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"summed as RCCL's own programs do", [] { return allPairs(8); }},
      {"summed out of place by one threadblock", [] { return directAllreduce(5); }},
      {"two adders: the first has what it wrote", [] { return addedByAll(3, kIn); }},
      {"three adders", [] { return addedByAll(4, kIn); },
       "rank 0, threadblock 2, step 1 (re) can read stale data from o[0], which rank 0, threadblock 1, step 1 (re) "
       "wrote: rccl waits with acquire order only before a step whose srcbuf is o"},
      {"summed as RCCL's own programs do, ROCm 6.1", [] { return allPairs(8); }, "", Runtime::rccl61},
      {"summed as RCCL's own programs do, ROCm 6.0", [] { return allPairs(8); },
       "rccl-6.0 orders no memory between threadblocks, here and elsewhere", Runtime::rccl60},
      {"three adders, ROCm 6.1", [] { return addedByAll(4, kIn); },
       "wrote: rccl-6.1 never waits with acquire order, here and elsewhere", Runtime::rccl61},
      {"waits for an s, ROCm 6.1",
       [] {
         return relayed({kScratch, 0}, 1);
       },
       "", Runtime::rccl61},
      {"three adders, where the memory is coherent", [] { return addedByAll(4, kIn); }, "", Runtime::msccl},
      {"waits for the step that writes",
       [] {
         return relayed({kOut, 1}, 0);
       }},
      {"waits for a later step, to o",
       [] {
         return relayed({kOut, 1}, 1);
       }},
      {"waits for a later step, to scratch",
       [] {
         return relayed({kScratch, 0}, 1);
       },
       "rccl publishes with release order only after a step whose dstbuf is not s"},
  };
  return kCases;
}

}  // namespace

class TestProgramMemory : public QObject {
  Q_OBJECT

private slots:
  void staleReads_data();
  void staleReads();
  void judgedOnce();
  void resultThatNobodyDefines();
  void rootsAndProtocols_data();
  void rootsAndProtocols();
};

void TestProgramMemory::staleReads_data() {
  QTest::addColumn<int>("index");
  for (std::size_t index = 0; index < cases().size(); ++index) {
    QTest::newRow(cases()[index].name) << static_cast<int>(index);
  }
}

void TestProgramMemory::staleReads() {
  QFETCH(int, index);
  const Case& wanted = cases()[index];
  const auto verdict = verify::verifyProgram(wanted.make(), {.runtime = wanted.runtime});
  QVERIFY(verdict);
  const QString texts = allTexts(verdict->findings);
  QVERIFY2(verdict->ok, qPrintable(texts));
  QVERIFY2(wanted.text.isEmpty() ? !texts.contains("stale") : texts.contains(wanted.text), qPrintable(texts));
}

/// The reader and the verifier both see an empty window; it is listed once, with its place in the file.
void TestProgramMemory::judgedOnce() {
  Program program = ringAllgather(3, 1, true);
  program.minBytes = program.maxBytes;
  const auto judged = verify::judgeProgram(writeMscclXml(program, Runtime::msccl), "a.xml", {}, Reach::unknown, {});
  QVERIFY(judged);
  const QString texts = allTexts(judged->findings);
  QVERIFY2(judged->ok && texts.count("the size window is empty") == 1, qPrintable(texts));
  QVERIFY2(texts.contains("a.xml:1:"), qPrintable(texts));
}

void TestProgramMemory::resultThatNobodyDefines() {
  Program program = ringAllgather(3, 1, true);
  program.collectiveText = "custom";
  auto judged = verify::judgeProgram(writeMscclXml(program, Runtime::msccl), "a.xml", {}, Reach::unknown, {});
  QVERIFY(judged);
  QVERIFY2(!judged->ok && !judged->isResultJudged && judged->isRestSound, qPrintable(allTexts(judged->findings)));
  QVERIFY(allTexts(judged->findings).contains("so it is not judged; races, deadlock and limits are"));
  program.ranks[0].threadBlocks[0].steps.pop_back();
  judged = verify::judgeProgram(writeMscclXml(program, Runtime::msccl), "a.xml", {}, Reach::unknown, {});
  QVERIFY(judged && !judged->ok && !judged->isRestSound);
}

void TestProgramMemory::rootsAndProtocols_data() {
  QTest::addColumn<int>("protocol");
  QTest::addColumn<int>("reach");
  QTest::addColumn<bool>("hangs");
  const auto row = [](const char* name, Protocol protocol, Reach reach, bool hangs) {
    QTest::newRow(name) << static_cast<int>(protocol) << static_cast<int>(reach) << hangs;
  };
  row("Simple between boxes", Protocol::simple, Reach::severalBoxes, true);
  row("Simple, who knows where", Protocol::simple, Reach::unknown, true);
  row("Simple in a box", Protocol::simple, Reach::oneBox, false);
  row("LL between boxes", Protocol::ll, Reach::severalBoxes, false);
  row("LL128, who knows where", Protocol::ll128, Reach::unknown, false);
}

void TestProgramMemory::rootsAndProtocols() {
  QFETCH(int, protocol);
  QFETCH(int, reach);
  QFETCH(bool, hangs);
  for (Program program : {chainBroadcast(4, 2, true), chainReduce(4, 2, true), ringAllreduce(4, true)}) {
    program.protocol = static_cast<Protocol>(protocol);
    const bool isRootedOne = program.collective != Collective::allreduce;
    for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl}) {
      const auto judged = verify::judgeProgram(writeMscclXml(program, runtime), "a.xml", {.runtime = runtime},
                                               static_cast<Reach>(reach), {});
      QVERIFY(judged);
      const QString texts = allTexts(judged->findings);
      QVERIFY2(judged->ok, qPrintable(texts));
      QVERIFY2(texts.contains("Simple hangs on all runtimes") == (hangs && isRootedOne), qPrintable(texts));
      const QString root = "another root than rank " + QString::number(judged->verdict.root) + " also runs";
      QVERIFY2(texts.contains(root) == isRootedOne, qPrintable(texts));
    }
  }
}

QTEST_GUILESS_MAIN(TestProgramMemory)
#include "tst_program_memory.moc"
