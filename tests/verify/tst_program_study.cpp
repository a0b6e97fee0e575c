// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <functional>
#include <vector>

#include "support/sample_programs.hpp"
#include "verify/program_study.hpp"

using namespace coppice;
using namespace coppice::program;
using namespace coppice::samples;
using verify::ProgramReplay;
using verify::ProgramStudy;
using verify::SlotContent;
using verify::StepLinks;

namespace {

using Make = std::function<Program()>;

Step& at(Program& program, const StepPlace& place) {
  return program.ranks[place.rank].threadBlocks[place.threadBlock].steps[place.step];
}
/// A step of another type in the place of one.
Program retyped(Program program, const StepPlace& place, StepType type) {
  at(program, place).type = type;
  return program;
}

/// Two copies of rank 0 that wait for each other's flag; the first wait is not needed.
Program flagsInACircle() {
  return with(ringAllgather(2, 1, true), [](Program& program) {
    program.ranks[0].scratchChunks = 3;
    for (int id = 1; id < 3; ++id) {
      program.ranks[0].threadBlocks.push_back(
          {.steps = {awaited(waiting(step(StepType::copy, {kOut, 0}, {kScratch, id}), 3 - id, 0))}});
    }
  });
}

/// Every rank of a ring takes before it gives.
Program ringThatTakesFirst(int ranks) {
  return with(ringAllgather(ranks, 1, true), [](Program& program) {
    for (RankProgram& rank : program.ranks) {
      auto& steps = rank.threadBlocks[0].steps;
      std::swap(steps.front(), steps.back());
    }
  });
}

/// Twice the same, side by side: each moves its half of every chunk.
Program onTwoChannels(Program program) {
  const auto twice = [](Slot slot, int half) { return Slot{slot.buffer, 2 * slot.offset + half}; };
  program.channels = 2;
  program.chunksPerLoop *= 2;
  for (RankProgram& rank : program.ranks) {
    rank.inputChunks *= 2;
    rank.outputChunks *= 2;
    rank.threadBlocks.push_back(rank.threadBlocks.front());
    rank.threadBlocks.back().channel = 1;
    for (std::size_t half = 0; half < rank.threadBlocks.size(); ++half) {
      for (Step& step : rank.threadBlocks[half].steps) {
        step.src = twice(step.src, static_cast<int>(half));
        step.dst = twice(step.dst, static_cast<int>(half));
      }
    }
  }
  return program;
}

ProgramStudy studyOf(const Program& program) {
  auto study = verify::studyProgram(program, {});
  if (!study) {
    qFatal("%s", study.error().message.c_str());
  }
  return *std::move(study);
}

}  // namespace

class TestProgramStudy : public QObject {
  Q_OBJECT
private slots:
  void goodPrograms_data();
  void goodPrograms();
  void linksBothWays();
  void linksOfABrokenProgram();
  void rings_data();
  void rings();
  void firstWrong_data();
  void firstWrong();
  void contents();
  void cancellation();
};

void TestProgramStudy::goodPrograms_data() {
  QTest::addColumn<Make>("make");
  QTest::newRow("allgather in place") << Make([] { return ringAllgather(4, 2, true); });
  QTest::newRow("allgather out of place") << Make([] { return ringAllgather(3, 1, false); });
  QTest::newRow("reduce-scatter") << Make([] { return ringReduceScatter(4, true); });
  QTest::newRow("allreduce") << Make([] { return ringAllreduce(4, false); });
  QTest::newRow("chain") << Make([] { return chainAllreduce(4, 3); });
  QTest::newRow("broadcast") << Make([] { return chainBroadcast(4, 2, false); });
  QTest::newRow("reduce") << Make([] { return chainReduce(4, 2, true); });
  QTest::newRow("direct") << Make([] { return directAllreduce(4); });
  QTest::newRow("alltoall") << Make([] { return directAlltoall(4); });
}

void TestProgramStudy::goodPrograms() {
  QFETCH(Make, make);
  const Program program = make();
  const ProgramStudy study = studyOf(program);
  QVERIFY(study.ring.empty());
  QVERIFY(!study.change);
  QVERIFY(!study.firstWrong);
  const auto& replay = program.inPlace ? study.inPlace : study.outOfPlace;
  QVERIFY(replay != nullptr);
  // Every step happens, and what it waits for happened before: never in a later round.
  const StepLinks links(program);
  const auto& events = replay->events();
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (std::size_t block = 0; block < program.ranks[rank].threadBlocks.size(); ++block) {
      for (std::size_t step = 0; step < program.ranks[rank].threadBlocks[block].steps.size(); ++step) {
        const StepPlace place{static_cast<int>(rank), static_cast<int>(block), static_cast<int>(step)};
        const auto position = replay->positionAfter(place);
        QVERIFY(position);
        QCOMPARE(events[*position - 1].place, place);
        for (const StepLink& link : links.waitsFor(place)) {
          const auto before = replay->positionAfter(link.place);
          QVERIFY(before);
          if (link.reason == WaitReason::flag || link.reason == WaitReason::order) {
            QVERIFY(events[*before - 1].round < events[*position - 1].round);
          }
        }
      }
    }
  }
  // In the end every chunk that the collective names holds what it names.
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
    for (const SlotContent& slot : replay->contents(rank, kOut, events.size())) {
      QVERIFY2(slot.wanted.empty() || slot.isFinal, slot.text.c_str());
    }
  }
}

void TestProgramStudy::linksBothWays() {
  for (const Program& program : {chainAllreduce(4, 5), directAllreduce(4), ringAllreduce(5, true), exchange(8, true),
                                 with(ringAllgather(3, 4, true), [](Program& p) { p.protocol = Protocol::ll; })}) {
    const StepLinks links(program);
    std::size_t waits = 0;
    std::size_t releases = 0;
    for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
      for (std::size_t block = 0; block < program.ranks[rank].threadBlocks.size(); ++block) {
        for (std::size_t step = 0; step < program.ranks[rank].threadBlocks[block].steps.size(); ++step) {
          const StepPlace place{static_cast<int>(rank), static_cast<int>(block), static_cast<int>(step)};
          releases += links.releases(place).size();
          for (const StepLink& link : links.waitsFor(place)) {
            ++waits;
            const auto back = links.releases(link.place);
            const StepLink reverse{place, link.reason};
            QVERIFY2(std::find(back.begin(), back.end(), reverse) != back.end(), placeText(place).c_str());
          }
        }
      }
    }
    QCOMPARE(waits, releases);
    QVERIFY(waits > 0);
  }
  // The third send of eight waits until the first message is taken.
  const StepLinks links(exchange(8, true));
  const StepLink space{{1, 0, 8}, WaitReason::space};
  const auto waits = links.waitsFor({0, 0, 2});
  QVERIFY(std::find(waits.begin(), waits.end(), space) != waits.end());
  QCOMPARE(links.receiverOf({0, 0, 2}), std::optional(StepPlace{1, 0, 10}));
  QCOMPARE(links.senderOf({1, 0, 10}), std::optional(StepPlace{0, 0, 2}));
}

void TestProgramStudy::linksOfABrokenProgram() {
  Program program = ringAllgather(3, 1, true);
  program.ranks[0].threadBlocks[0].steps.pop_back();
  program.ranks[1].threadBlocks[0].sendPeer = 7;
  at(program, {2, 0, 0}).dependsOnTb = 9;
  at(program, {2, 0, 0}).dependsOnStep = 3;
  const StepLinks links(program);
  QVERIFY(links.waitsFor({2, 0, 0}).empty());
  QVERIFY(!links.receiverOf({1, 0, 0}));
  QVERIFY(!links.senderOf({2, 0, 1}));
  const ProgramStudy study = studyOf(program);
  QVERIFY(study.inPlace == nullptr);
  QVERIFY(study.noReplay);
  QVERIFY(study.ring.empty());
}

void TestProgramStudy::rings_data() {
  QTest::addColumn<Make>("make");
  QTest::addColumn<QStringList>("ring");
  QTest::addColumn<QString>("change");
  QTest::newRow("both receive first") << Make([] { return exchange(1, false); })
                                      << QStringList{"0/0/0 data 1/0/1", "1/0/0 data 0/0/1"}
                                      << "rank 0, threadblock 0: move step 1 (s to rank 1) before step 0";
  QTest::newRow("eight ahead") << Make([] { return exchange(8, true); })
                               << QStringList{"0/0/2 space 1/0/8", "1/0/2 space 0/0/8"}
                               << "rank 0, threadblock 0: its 8 receiving steps go to a new threadblock 1";
  QTest::newRow("flags") << Make(flagsInACircle) << QStringList{"0/1/0 flag 0/2/0", "0/2/0 flag 0/1/0"}
                         << "rank 0, threadblock 1: step 0 (cpy) no longer waits for threadblock 2, step 0";
  QTest::newRow("the same fault everywhere")
      << Make([] {
           return with(ringAllreduce(3, true), [](Program& program) {
             for (RankProgram& rank : program.ranks) {
               std::swap(rank.threadBlocks[0].steps[0], rank.threadBlocks[0].steps[1]);
             }
           });
         })
      << QStringList{"0/0/0 data 2/0/0", "2/0/0 data 1/0/0", "1/0/0 data 0/0/0"}
      << "rank 0, threadblock 0: move step 1 (s to rank 1) before step 0; rank 2, threadblock 0: move step 1";
  QTest::newRow("ring of five") << Make([] {
    return ringThatTakesFirst(5);
  }) << QStringList{"0/0/0 data 4/0/1", "4/0/0 data 3/0/1", "3/0/0 data 2/0/1", "2/0/0 data 1/0/1", "1/0/0 data 0/0/1"}
                                << "rank 0, threadblock 0: exchange step 0 (r from rank 4) with step 4 (s to rank 1); "
                                   "rank 4, threadblock 0: exchange step 0";
  QTest::newRow("the same ring on two channels")
      << Make([] { return onTwoChannels(ringThatTakesFirst(4)); })
      << QStringList{"0/0/0 data 3/0/1", "3/0/0 data 2/0/1", "2/0/0 data 1/0/1", "1/0/0 data 0/0/1"}
      << "and the like in the other 5 with the same steps";
}

void TestProgramStudy::rings() {
  QFETCH(Make, make);
  QFETCH(QStringList, ring);
  QFETCH(QString, change);
  const Program program = make();
  const ProgramStudy study = studyOf(program);
  QStringList found;
  const auto shortly = [](const StepPlace& place) {
    return QString("%1/%2/%3").arg(place.rank).arg(place.threadBlock).arg(place.step);
  };
  for (const verify::RingStep& step : study.ring) {
    const char* const reason = step.reason == WaitReason::flag   ? "flag"
                               : step.reason == WaitReason::data ? "data"
                                                                 : "space";
    found << shortly(step.place) + ' ' + reason + ' ' + shortly(step.needs);
  }
  QCOMPARE(found, ring);
  QVERIFY(!study.firstWrong);
  if (change.isEmpty()) {
    QVERIFY2(!study.change, study.change ? study.change->text.c_str() : "");
    QVERIFY(!study.remedy.empty());
    return;
  }
  QVERIFY(study.change);
  QVERIFY2(QString::fromStdString(study.change->text).contains(change), study.change->text.c_str());
  const auto verdict = verify::verifyProgram(study.change->after);
  QVERIFY(verdict && verdict->ok);
}

void TestProgramStudy::firstWrong_data() {
  QTest::addColumn<Make>("make");
  QTest::addColumn<QString>("place");
  QTest::addColumn<QString>("text");
  QTest::newRow("overwrites instead of adding") << Make([] {
    return retyped(chainAllreduce(4, 2), {1, 0, 1}, StepType::recv);
  }) << "rank 1, threadblock 0, step 1"
                                                << "leaves out chunk 1 of rank 1";
  QTest::newRow("passes on without adding") << Make([] {
    return retyped(ringAllreduce(4, false), {2, 0, 1}, StepType::recvCopySend);
  }) << "rank 2, threadblock 0, step 1"
                                            << "leaves out chunk 1 of rank 2";
  QTest::newRow("writes elsewhere")
      << Make([] {
           return with(ringAllgather(4, 1, true), [](Program& program) { at(program, {2, 0, 3}).dst.offset = 1; });
         })
      << "rank 2, threadblock 0, step 3"
      << "writes chunk 0 of rank 3 to o[1], where chunk 0 of rank 1 belongs; rank 1, threadblock 0, step 2 sent it";
  QTest::newRow("sends another chunk") << Make([] {
    return with(ringAllgather(4, 1, true), [](Program& program) { at(program, {0, 0, 0}).src.offset = 2; });
  }) << "rank 0, threadblock 0, step 0"
                                       << "reads where nothing was written before";
  QTest::newRow("adds twice") << Make([] {
    return with(chainAllreduce(3, 1), [](Program& program) {
      auto& block = program.ranks[1].threadBlocks[0];
      block.steps.push_back(step(StepType::reduce, {kOut, 0}, {kOut, 0}));
      std::swap(block.steps[0].hasDependent, block.steps[1].hasDependent);
      at(program, {1, 1, 0}).dependsOnStep = 1;
    });
  }) << "rank 1, threadblock 0, step 1"
                              << "a second time";
  QTest::newRow("adds another chunk") << Make([] {
    return with(ringReduceScatter(4, true), [](Program& program) { at(program, {2, 0, 1}).src.offset = 3; });
  }) << "rank 2, threadblock 0, step 1"
                                      << "adds chunk 3 of rank 2 to chunk 0 of rank 1";
  QTest::newRow("stops too early") << Make([] {
    return with(chainReduce(3, 2, false), [](Program& program) {
      program.root = 2;
      at(program, {2, 0, 1}).dst.offset = 0;
    });
  }) << "rank 2, threadblock 0, step 1"
                                   << "writes the sum of chunk 1 over all ranks to o[0]";
  QTest::newRow("never written") << Make([] {
    return with(ringAllgather(2, 1, false), [](Program& program) {
      auto& steps = program.ranks[1].threadBlocks[0].steps;
      at(program, {1, 0, 1}).src = {kIn, 0};
      steps.erase(steps.begin());
    });
  }) << ""
                                 << "nothing is written there";
}

void TestProgramStudy::firstWrong() {
  QFETCH(Make, make);
  QFETCH(QString, place);
  QFETCH(QString, text);
  const Program program = make();
  const auto verdict = verify::verifyProgram(program);
  QVERIFY(verdict && !verdict->ok);
  const ProgramStudy study = studyOf(program);
  QVERIFY(study.firstWrong);
  QCOMPARE(study.firstWrong->place ? QString::fromStdString(placeText(*study.firstWrong->place)) : QString(), place);
  QVERIFY2(QString::fromStdString(study.firstWrong->text).contains(text), study.firstWrong->text.c_str());
  QVERIFY(study.firstWrong->wrongChunks > 0);
}

void TestProgramStudy::contents() {
  const Program program = ringAllreduce(3, false);
  const ProgramStudy study = studyOf(program);
  QVERIFY(study.inPlace == nullptr);
  const ProgramReplay& replay = *study.outOfPlace;
  QCOMPARE(replay.size(1, kIn), 3);
  QCOMPARE(replay.size(1, kScratch), 0);
  const auto input = replay.contents(1, kIn, 0);
  QCOMPARE(input[2].kind, SlotContent::Kind::one);
  QCOMPARE(input[2].chunk, 2);
  QCOMPARE(input[2].ranks, std::vector<int>{1});
  QVERIFY(!input[2].writer);
  const auto before = replay.contents(1, kOut, 0);
  QCOMPARE(before[0].kind, SlotContent::Kind::nothing);
  QCOMPARE(before[0].wanted, std::string("the sum of chunk 0 over all ranks"));
  const auto position = replay.positionAfter({1, 0, 1});
  QVERIFY(position);
  const auto after = replay.contents(1, kOut, *position);
  QCOMPARE(after[0].kind, SlotContent::Kind::sum);
  QCOMPARE(after[0].ranks, (std::vector<int>{0, 1}));
  QVERIFY(!after[0].isFinal);
  QCOMPARE(replay.events()[*after[0].writer].place, (StepPlace{1, 0, 1}));
  // In a deadlock: as far as it comes.
  const ProgramStudy stuck = studyOf(exchange(8, true));
  QCOMPARE(stuck.inPlace->positionAfter({0, 0, 2}), std::nullopt);
  QVERIFY(stuck.inPlace->positionAfter({0, 0, 1}));
}

void TestProgramStudy::cancellation() {
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  const auto study = verify::studyProgram(ringAllgather(64, 8, true), {}, progress);
  QVERIFY(!study);
  QCOMPARE(study.error().code, ErrorCode::cancelled);
}

QTEST_GUILESS_MAIN(TestProgramStudy)
#include "tst_program_study.moc"
