// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <map>
#include <random>

#include "coppice/test_paths.hpp"
#include "lowering/interpreter.hpp"
#include "program/msccl_xml.hpp"
#include "support/sample_programs.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using namespace coppice::program;
using namespace coppice::samples;
using verify::ProgramCheckOptions;
using verify::verifyProgram;

namespace {

const QString kData = QStringLiteral(COPPICE_TEST_DATA "/msccl/");
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

MscclFile readFile(const QString& name) {
  QFile file(kData + name);
  if (!file.open(QIODevice::ReadOnly)) {
    qFatal("cannot open %s", qPrintable(name));
  }
  const auto read = readMscclXml(file.readAll().toStdString(), Runtime::msccl);
  if (!read) {
    qFatal("cannot read %s", qPrintable(name));
  }
  return *read;
}

QString allTexts(const std::vector<Finding>& findings) {
  QString texts;
  for (const Finding& finding : findings) {
    texts += QString::fromStdString(describe(finding)) + "\n";
  }
  return texts;
}

ThreadBlock& block(Program& program, int rank, int id = 0) {
  return program.ranks[rank].threadBlocks[id];
}
Step& at(Program& program, int rank, int id, int index) {
  return block(program, rank, id).steps[index];
}

/// Rank 0 sends one chunk to everyone on one channel.
Program star(int ranks) {
  Program program = empty(Collective::broadcast, ranks, 1, true, 0, 1);
  for (int rank = 1; rank < ranks; ++rank) {
    program.ranks[0].threadBlocks.push_back({.sendPeer = rank, .steps = {step(StepType::send, {kOut, 0})}});
    program.ranks[rank].threadBlocks = {{.recvPeer = 0, .steps = {step(StepType::recv, {kOut, 0})}}};
  }
  return program;
}

/// A ring allgather of two ranks whose rank 0 has `blocks` threadblocks; the added ones copy its own chunk to scratch.
Program crowded(int blocks) {
  Program program = ringAllgather(2, 1, true);
  program.maxBytes = kMiB;
  program.ranks[0].scratchChunks = blocks;
  for (int id = 1; id < blocks; ++id) {
    program.ranks[0].threadBlocks.push_back({.steps = {step(StepType::copy, {kOut, 0}, {kScratch, id})}});
  }
  return program;
}
Program named(Program program, const char* name) {
  program.name = name;
  return program;
}
/// The last threadblock of a crowded rank waits for `target`.
Program crowdedAndWaiting(int target) {
  return with(crowded(target + 2), [&](Program& program) {
    at(program, 0, target, 0).hasDependent = true;
    at(program, 0, target + 1, 0) = waiting(at(program, 0, target + 1, 0), target, 0);
  });
}
/// The ring's threadblock of rank 0 runs on with copies to scratch.
Program longBlock(int steps) {
  return with(crowded(1), [&](Program& program) {
    block(program, 0).steps.resize(static_cast<std::size_t>(steps), step(StepType::copy, {kOut, 0}, {kScratch, 0}));
  });
}
/// As many XML elements as rank 0 may read, or more.
Program manyElements(int elements) {
  return with(crowded(18), [&](Program& program) {
    int left = elements - 1 - 2 - 18 - 2;
    for (int id = 1; id < 18; ++id) {
      auto& steps = block(program, 0, id).steps;
      const int mine = std::min(left, 240);
      steps.resize(static_cast<std::size_t>(mine), Step(steps.front()));
      left -= mine;
    }
  });
}
Program scratchUpTo(int last) {
  return with(crowded(1), [&](Program& program) {
    program.ranks[0].scratchChunks = last + 1;
    block(program, 0).steps.push_back(step(StepType::copy, {kOut, 0}, {kScratch, last}));
  });
}
/// Rank 0 of a ring allreduce ends with a chain of `count` reductions in scratch, all into one slot.
Program reduceChain(int count, int breakAt = -1) {
  return with(ringAllreduce(2, true), [&](Program& program) {
    program.maxBytes = kMiB;
    program.ranks[0].scratchChunks = count + 3;
    auto& steps = block(program, 0).steps;
    for (int chunk = 0; chunk < count + 3; ++chunk) {
      steps.push_back(step(StepType::copy, {kOut, 0}, {kScratch, chunk}));
    }
    for (int chunk = 1; chunk <= count; ++chunk) {
      steps.push_back(step(StepType::reduce, {kScratch, chunk}, {kScratch, 0}));
      steps.back().hasDependent = chunk == breakAt;
    }
  });
}
Program nopProgram(const std::vector<Step>& tail) {
  return with(crowded(3), [&](Program& program) {
    at(program, 0, 0, 1).hasDependent = true;
    at(program, 0, 1, 0).hasDependent = true;
    auto& steps = block(program, 0, 2).steps;
    steps.insert(steps.end(), tail.begin(), tail.end());
  });
}

struct Case {
  const char* name;
  bool isOk;
  std::function<Program()> make;
  QString text = {};  ///< part of an error, or, of a good program, of a warning; empty = no such finding
  ProgramCheckOptions options = {};
};

constexpr auto kCopy = StepType::copy;
const Step kScratchCopy = step(kCopy, {kOut, 0}, {kScratch, 2});
const ProgramCheckOptions kExecutor = {.runtime = Runtime::mscclExecutorNccl, .multiprocessors = 5000};
const ProgramCheckOptions kRccl = {.runtime = Runtime::rccl, .multiprocessors = 5000};
const ProgramCheckOptions kRccl61 = {.runtime = Runtime::rccl61, .multiprocessors = 5000};
const ProgramCheckOptions kRccl60 = {.runtime = Runtime::rccl60, .multiprocessors = 5000};

/// A program of s and r alone, with this many channels.
Program wide(int channels) {
  return with(exchange(1, true), [&](Program& program) { program.channels = channels; });
}
const ProgramCheckOptions kManyCores = {.multiprocessors = 5000};

const std::vector<Case>& deadlocks() {
  static const std::vector<Case> kCases = {
      {"eight messages ahead, Simple", false, [] { return exchange(8, true); },
       "deadlock: rank 0, threadblock 0, step 2 (s to rank 1) waits for space in its connection to rank 1, threadblock "
       "0, step 2 (s to rank 0), which waits for space in its connection to rank 0, threadblock 0, step 2; connections "
       "8 "
       "messages deep would resolve it; this protocol has 2"},
      {"eight messages ahead, LL", true,
       [] { return with(exchange(8, true), [](Program& program) { program.protocol = Protocol::ll; }); }},
      {"eight messages ahead, LL128", true,
       [] { return with(exchange(8, true), [](Program& program) { program.protocol = Protocol::ll128; }); }},
      {"nine messages ahead, LL", false,
       [] { return with(exchange(9, true), [](Program& program) { program.protocol = Protocol::ll; }); },
       "connections 9 messages deep would resolve it; this protocol has 8"},
      {"two messages ahead, Simple", true, [] { return exchange(2, true); }},
      {"both receive first", false, [] { return exchange(1, false); },
       "(r from rank 1) waits for data from rank 1, threadblock 0, step 0 (r from rank 0), which waits for data from "
       "rank 0, "
       "threadblock 0, step 0; no connection depth helps"},
      {"flags in a circle", false,
       [] {
         return with(crowded(3), [](Program& program) {
           at(program, 0, 1, 0) = awaited(waiting(at(program, 0, 1, 0), 2, 0));
           at(program, 0, 2, 0) = awaited(waiting(at(program, 0, 2, 0), 1, 0));
         });
       },
       "threadblock 1, step 0 (cpy) waits for the flag of rank 0, threadblock 2, step 0 (cpy), which waits for the "
       "flag of "
       "rank 0, threadblock 1, step 0; no connection depth helps"},
      {"a count above the depth is several messages", false,
       [] {
         return with(exchange(1, true), [](Program& program) {
           program = empty(Collective::allgather, 2, 6, true, 0, 6);
           for (int rank = 0; rank < 2; ++rank) {
             program.ranks[rank].threadBlocks = {
                 {.sendPeer = 1 - rank,
                  .recvPeer = 1 - rank,
                  .steps = {step(StepType::send, {kOut, 3 * rank}, 3), step(StepType::recv, {kOut, 3 - 3 * rank}, 3)}}};
           }
         });
       },
       "connections 3 messages deep would resolve it"},
      {"fused steps of two messages fill a ring", false,
       [] {
         Program program = empty(Collective::allgather, 3, 6, true, 0, 6);
         for (int rank = 0; rank < 3; ++rank) {
           program.ranks[rank].threadBlocks = {{.sendPeer = (rank + 1) % 3,
                                                .recvPeer = (rank + 2) % 3,
                                                .steps = {step(StepType::send, {kOut, 2 * rank}, 2),
                                                          step(StepType::recvCopySend, {kOut, (rank + 2) % 3 * 2}, 2),
                                                          step(StepType::recv, {kOut, (rank + 1) % 3 * 2}, 2)}}};
         }
         return program;
       },
       "step 1 (rcs from rank 2 to rank 1) waits for space in its connection to rank 1, threadblock 0, step 1 (rcs "
       "from rank 0 to rank 2), which waits for space"},
      {"a long cycle", false,
       [] {
         return with(ringAllgather(20, 1, true), [](Program& program) {
           for (RankProgram& rank : program.ranks) {
             std::swap(rank.threadBlocks[0].steps.front(), rank.threadBlocks[0].steps.back());
           }
         });
       },
       "8 more threadblocks, the last of which waits for the first; no connection depth helps"},
      {"the largest window that frees it", false,
       [] {
         return with(ringAllgather(2, 3, true), [](Program& program) { program.maxBytes = std::int64_t{1} << 40; });
       },
       "with maxBytes=6291456 in place of 1099511627776 it does not stop"},
      {"only the window prevents it", true,
       [] { return with(ringAllgather(2, 3, true), [](Program& program) { program.maxBytes = kMiB; }); },
       "only the size window prevents a deadlock: up to maxBytes=1048576"},
      {"one message too many, taken up by the connection for two iterations", false,
       [] {
         return with(ringAllgather(3, 1, true), [](Program& program) {
           auto& steps = block(program, 1).steps;
           steps.push_back(step(StepType::send, {kOut, 1}));
         });
       },
       "rank 1, threadblock 0, step 3: sends message 3 of its connection, but rank 2, threadblock 0 receives 2"},
  };
  return kCases;
}

const std::vector<Case>& dataFaults() {
  static const std::vector<Case> kCases = {
      {"race", false,
       [] { return with(chainAllreduce(3, 1), [](Program& program) { at(program, 1, 3, 0).dependsOnTb = -1; }); },
       "race on o[0]: "},
      {"two writers", false,
       [] { return with(crowded(3), [](Program& program) { at(program, 0, 2, 0).dst.offset = 1; }); },
       "race on s[1]: rank 0, threadblock 1, step 0 (cpy) writes it and rank 0, threadblock 2, step 0 (cpy) writes it"},
      {"two writers in order", true,
       [] {
         return with(crowded(3), [](Program& program) {
           at(program, 0, 1, 0).hasDependent = true;
           at(program, 0, 2, 0) = waiting(at(program, 0, 2, 0), 1, 0);
           at(program, 0, 2, 0).dst.offset = 1;
         });
       }},
      {"buffers that alias in place", false,
       [] {
         return with(ringAllreduce(2, true), [](Program& program) {
           program.ranks[0].inputChunks = 2;
           program.ranks[0].threadBlocks.push_back({.steps = {step(kCopy, {kIn, 1})}});
         });
       },
       "race on o[1]: "},
      {"unwritten output", false,
       [] {
         return with(ringAllgather(2, 1, false),
                     [](Program& program) { block(program, 0).steps.erase(block(program, 0).steps.begin()); });
       },
       "rank 0, threadblock 0, step 0: out of place: reads o[0], where nothing was written before"},
      {"unwritten scratch", false,
       [] { return with(crowded(2), [](Program& program) {
              at(program, 0, 1, 0).src = {kScratch, 0};
            }); },
       "rank 0, threadblock 1, step 0: in place: reads s[0], where nothing was written before"},
      {"wrong slot", false,
       [] { return with(ringAllgather(3, 1, true), [](Program& program) { at(program, 0, 0, 2).dst.offset = 2; }); },
       "rank 0: in place: o[1] of rank 0 must hold chunk 0 of rank 1, but holds nothing (it is never written); 2 "
       "chunks "
       "on 1 rank are wrong"},
      {"wrong chunk", false,
       [] { return with(ringReduceScatter(2, false), [](Program& program) { at(program, 1, 0, 1).src.offset = 0; }); },
       "o[0] of rank 1 must hold the sum of chunk 1 over all ranks, but holds a mixture of "},
      {"missing contribution", false,
       [] {
         return with(ringAllreduce(3, true),
                     [](Program& program) { at(program, 1, 0, 1).type = StepType::recvCopySend; });
       },
       "of rank 0 must hold the sum of chunk 0 over all ranks, but holds the sum of chunk 0 over"},
      {"counted twice", false,
       [] {
         return with(directAllreduce(2), [](Program& program) {
           auto& steps = block(program, 0, 1).steps;
           steps.push_back(step(StepType::reduce, {kScratch, 1}, {kOut, 0}));
         });
       },
       "o[0] of rank 0 must hold the sum of chunk 0 over all ranks, but holds a sum that counts chunk 0 of rank 1 "
       "twice "
       "(the second time at rank 0, threadblock 1, step 2)"},
      {"input written out of place", false,
       [] {
         return with(ringReduceScatter(2, false), [](Program& program) {
           at(program, 0, 0, 1).dst = {kIn, 0};
           block(program, 0).steps.push_back(step(kCopy, {kIn, 0}, {kOut, 0}));
         });
       },
       "rank 0, threadblock 0, step 1: out of place: writes i[0], the caller's input"},
      {"in place alone, claimed for both", false,
       [] { return with(ringAllreduce(3, true), [](Program& program) { program.outOfPlace = true; }); },
       "out of place: reads o["},
      {"out of place, claimed for both, does both", true,
       [] { return with(ringAllreduce(3, false), [](Program& program) { program.inPlace = true; }); }},
      {"overlapping copy", false,
       [] {
         return with(crowded(4), [](Program& program) {
           block(program, 0, 2).steps = {step(kCopy, {kScratch, 1}, {kScratch, 2}, 2)};
         });
       },
       "overlapping chunks of the same memory"},
      {"in place, i and o overlap", false,
       [] {
         return with(ringAllgather(2, 2, false), [](Program& program) {
           program.inPlace = true;
           at(program, 0, 0, 0).dst.offset = 1;
         });
       },
       "overlapping chunks of the same memory"},
      {"alltoall to the wrong peer", false,
       [] { return with(directAlltoall(3), [](Program& program) { at(program, 0, 1, 0).src.offset = 2; }); },
       "o[0] of rank 1 must hold chunk 1 of rank 0, but holds chunk 2 of rank 0"},
      {"gather to the wrong place", false,
       [] { return with(directGather(3, 1, 2, false), [](Program& program) { at(program, 1, 2, 0).dst.offset = 3; }); },
       "o[3] of rank 1 must hold chunk 1 of rank 1, but holds chunk 0 of rank 2"},
      {"gather in place to the wrong place", false,
       [] { return with(directGather(4, 1, 2, true), [](Program& program) { at(program, 1, 2, 0).dst.offset = 2; }); },
       "o[2] of rank 1 must hold chunk 0 of rank 1, but holds chunk 0 of rank 3"},
      {"gather that forgets its own", false,
       [] { return with(directGather(3, 1, 2, false), [](Program& program) { block(program, 1).steps.clear(); }); },
       "o[2] of rank 1 must hold chunk 0 of rank 1, but holds nothing"},
      {"gather to another root than asked for",
       false,
       [] { return directGather(3, 1, 2, false); },
       "o[0] of rank 0 must hold chunk 0 of rank 0, but holds nothing",
       {.root = 0}},
      {"scatter of the wrong chunk", false,
       [] {
         return with(directScatter(3, 1, 2, false), [](Program& program) { at(program, 1, 2, 0).src.offset = 0; });
       },
       "o[0] of rank 2 must hold chunk 4 of rank 1, but holds chunk 0 of rank 1"},
      {"scatter in place of the wrong chunk", false,
       [] { return with(directScatter(3, 1, 2, true), [](Program& program) { at(program, 2, 0, 0).dst.offset = 0; }); },
       "in place, that chunk is i[4]"},
      {"scatter from several roots", false,
       [] {
         return with(directScatter(3, 1, 2, false), [](Program& program) {
           program.ranks[2].threadBlocks.push_back({.steps = {waiting(step(kCopy, {kIn, 4}, {kOut, 0}, 2), 0, 0)}});
           at(program, 2, 0, 0).hasDependent = true;
         });
       },
       "o[0] of rank 2 must hold chunk 4 of rank 1, but holds chunk 4 of rank 2"},
      {"gather writes the caller's input", false,
       [] { return with(chainGather(3), [](Program& program) {
              at(program, 1, 0, 1).dst = {kIn, 0};
            }); },
       "rank 1, threadblock 0, step 1: out of place: writes i[0], the caller's input"},
      {"gather that waits for itself", false,
       [] {
         return with(chainGather(3), [](Program& program) {
           std::swap(at(program, 1, 0, 0), at(program, 1, 0, 1));
           block(program, 2).recvPeer = 1;
           block(program, 1, 0).sendPeer = 2;
           block(program, 0).recvPeer = -1;
           block(program, 0).steps.resize(1);
           block(program, 2).sendPeer = 1;
           block(program, 2).steps = {step(StepType::recv, {kScratch, 1}), step(StepType::recv, {kScratch, 0}),
                                      step(StepType::send, {kIn, 0})};
         });
       },
       "deadlock: "},
      {"gather and a copy race", false,
       [] {
         return with(directGather(3, 0, 1, false), [](Program& program) {
           block(program, 0, 0).steps.push_back(step(kCopy, {kOut, 1}, {kOut, 2}));
         });
       },
       "race on o[2]"},
      {"scatter from scratch that may not be filled yet", false,
       [] {
         return with(directScatter(2, 0, 1, false), [](Program& program) {
           program.ranks[0].scratchChunks = 1;
           block(program, 0).steps.push_back(step(kCopy, {kIn, 1}, {kScratch, 0}));
           at(program, 0, 1, 0).src = {kScratch, 0};
         });
       },
       "race on s[0]"},
      {"gather with the root's chunks in nchunksperloop", true,
       [] { return with(chainGather(3), [](Program& program) { program.chunksPerLoop = 3; }); },
       "is read as the chunks of the root's buffer; runtimes that know gather divide one rank's share"},
      {"scatter with the root's chunks in nchunksperloop", true,
       [] { return with(directScatter(4, 3, 2, true), [](Program& program) { program.chunksPerLoop = 8; }); },
       "is read as the chunks of the root's buffer; runtimes that know scatter divide one rank's share"},
      {"gather that says nothing of its buffers", false,
       [] {
         return with(directGather(3, 1, 2, true), [](Program& program) {
           for (RankProgram& rank : program.ranks) {
             rank.outputChunks = 0;
           }
         });
       },
       "nchunksperloop=2 is not a multiple of the 3 ranks"},
      {"gather with more shares than offsets", false,
       [] {
         return with(directGather(3, 1, 2, true), [](Program& program) {
           program.chunksPerLoop = 20000;
           for (RankProgram& rank : program.ranks) {
             rank.outputChunks = 60000;
           }
         });
       },
       "nchunksperloop=20000 for each of 3 ranks; offsets end at 32767"},
  };
  return kCases;
}

const std::vector<Case>& structureFaults() {
  static const std::vector<Case> kCases = {
      {"count mismatch", false,
       [] { return with(ringAllgather(2, 2, true), [](Program& program) { at(program, 1, 0, 1).count = 1; }); },
       "rank 1, threadblock 0, step 1: receives 1 chunks where rank 0, threadblock 0, step 0 sends 2"},
      {"unmatched send", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { block(program, 1).steps.pop_back(); }); },
       "rank 0, threadblock 0: sends to rank 1 on channel 0, but no threadblock of rank 1 receives from rank 0 there"},
      {"unmatched receive", false,
       [] {
         return with(exchange(2, true), [](Program& program) {
           auto& steps = block(program, 0).steps;
           steps.erase(steps.begin());
         });
       },
       "rank 1, threadblock 0, step 3: receives message 2 of its connection, but rank 0, threadblock 0 sends 1"},
      {"other channel", false,
       [] {
         return with(ringAllgather(2, 1, true), [](Program& program) {
           program.channels = 2;
           block(program, 1).channel = 1;
         });
       },
       "sends to rank 1 on channel 0, but no threadblock of rank 1 receives"},
      {"flag that is never written", false,
       [] { return with(chainAllreduce(3, 1), [](Program& program) { at(program, 1, 0, 0).hasDependent = false; }); },
       "rank 1, threadblock 1, step 0: waits for threadblock 0 step 0, but no step from there on has hasdep=1: it "
       "waits "
       "forever"},
      {"the flag of an earlier step alone", false,
       [] { return with(chainAllreduce(3, 2), [](Program& program) { at(program, 1, 0, 1).hasDependent = false; }); },
       "rank 1, threadblock 1, step 1: waits for threadblock 0 step 1, but no step from there on has hasdep=1"},
      {"the flag of a later step", true,
       [] { return with(chainAllreduce(3, 2), [](Program& program) { at(program, 1, 0, 0).hasDependent = false; }); },
       "which publishes nothing; it continues when step 1 is done"},
      {"official lowering that waits forever", false,
       [] { return readFile("bad/forestcoll_waits_for_ever.xml").program; },
       "no step from there on has hasdep=1: it waits forever"},
      {"waits for no threadblock", false,
       [] { return with(crowded(2), [](Program& program) { at(program, 0, 1, 0).dependsOnTb = 7; }); },
       "which does not exist: it waits forever"},
      {"waits for no step", false,
       [] {
         return with(crowded(2), [](Program& program) { at(program, 0, 1, 0) = waiting(at(program, 0, 1, 0), 0, 2); });
       },
       "waits for threadblock 0 step 2, which does not exist"},
      {"waits for itself", false,
       [] {
         return with(crowded(2),
                     [](Program& program) { at(program, 0, 1, 0) = awaited(waiting(at(program, 0, 1, 0), 1, 0)); });
       },
       "which is itself or comes after it"},
      {"waits for its own past", true,
       [] {
         return with(crowded(1), [](Program& program) {
           at(program, 0, 0, 0).hasDependent = true;
           at(program, 0, 0, 1) = waiting(at(program, 0, 0, 1), 0, 0);
         });
       },
       "of its own threadblock, which program order ensures"},
      {"nops and their step",
       true,
       [] {
         return nopProgram({nop(1, 0), waiting(kScratchCopy, 0, 1)});
       },
       "",
       {}},
      {"nop without dependency", false,
       [] {
         return nopProgram({nop(-1, -1), kScratchCopy});
       },
       "a nop without dependency shifts"},
      {"step without dependency after a nop", false,
       [] {
         return nopProgram({nop(1, 0), kScratchCopy});
       },
       "rank 0, threadblock 2, step 2: a step without dependency after a waiting nop"},
      {"nop at the end", true, [] { return nopProgram({nop(1, 0)}); }, "dropped without waiting"},
      {"waits for a nop", false,
       [] {
         return with(crowded(4), [](Program& program) {
           at(program, 0, 1, 0).hasDependent = true;
           block(program, 0, 2).steps.push_back(awaited(nop(1, 0)));
           at(program, 0, 3, 0) = waiting(at(program, 0, 3, 0), 2, 1);
         });
       },
       "waits for threadblock 2 step 1, but no step from there on has hasdep=1"},
      {"two owners of a connection", false,
       [] {
         return with(ringAllgather(2, 1, true), [](Program& program) {
           program.ranks[0].threadBlocks.push_back({.sendPeer = 1, .steps = {step(StepType::send, {kOut, 0})}});
         });
       },
       "rank 0, threadblock 1: sends to rank 1 on channel 0 as threadblock 0 does"},
      {"two receivers of a connection", false,
       [] {
         return with(ringAllgather(2, 1, true),
                     [](Program& program) { program.ranks[0].threadBlocks.push_back({.recvPeer = 1}); });
       },
       "receives from rank 1 on channel 0 as threadblock 0 does"},
      {"offset and count beyond the buffer", false,
       [] { return with(ringAllgather(2, 2, true), [](Program& program) { at(program, 0, 0, 1).dst.offset = 3; }); },
       "rank 0, threadblock 0, step 1: writes o[3] to o[4], but o has 4 chunks"},
      {"offset that is not set", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { at(program, 0, 0, 0).src.offset = -1; }); },
       "reads o[-1]"},
      {"offset of the operand of rrc", false,
       [] { return with(ringReduceScatter(2, true), [](Program& program) { at(program, 0, 0, 1).src.offset = 2; }); },
       "reads i[2] to i[2], but i has 2 chunks"},
      {"the unused half is not judged", true,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { at(program, 0, 0, 0).dst.offset = 99; }); }},
      {"sends without a peer", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { block(program, 0).sendPeer = -1; }); },
       "s sends, but the threadblock has no send peer"},
      {"its own peer", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { block(program, 0).sendPeer = 0; }); },
       "its peer is the rank itself"},
      {"peer beyond the ranks", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { block(program, 0).recvPeer = 2; }); },
       "peer 2 is not a rank"},
      {"channel that is not connected", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { block(program, 0).channel = 1; }); },
       "channel 1 is not below nchannels=1"},
      {"no chunks", true, [] { return with(longBlock(3), [](Program& program) { at(program, 0, 0, 2).count = 0; }); },
       "cpy of no chunks does nothing"},
      {"custom collective", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.collectiveText = "custom"; }); },
       "the result of coll=\"custom\" is not defined"},
      {"chunks that do not divide", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.chunksPerLoop = 3; }); },
       "is not a multiple of the 2 ranks"},
      {"no chunks per loop", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.chunksPerLoop = 0; }); },
       "nchunksperloop=0 must be positive"},
      {"buffer of another size", false,
       [] { return with(ringAllgather(2, 1, false), [](Program& program) { program.ranks[0].inputChunks = 2; }); },
       "rank 0: i_chunks=2, but the collective's buffer has 1 chunks: the rank rejects the program"},
      {"neither in place nor out of place", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.inPlace = false; }); },
       "neither inplace nor outofplace is set", kExecutor},
      {"reversed window", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.minBytes = kMiB << 20; }); },
       "is above maxBytes"},
      {"unbounded window of the executor", true,
       [] {
         return with(ringAllgather(2, 1, true), [](Program& program) {
           program.minBytes = kMiB;
           program.maxBytes = 0;
         });
       },
       "", kExecutor},
      {"too much scratch", false,
       [] { return with(crowded(2), [](Program& program) { program.maxBytes = std::int64_t{1} << 40; }); },
       "more than 64 GiB of scratch"},
  };
  return kCases;
}

const std::vector<Case>& limitCases() {
  static const std::vector<Case> kCases = {
      {"256 steps, msccl", true, [] { return longBlock(256); }},
      {"257 steps, msccl", false, [] { return longBlock(257); },
       "rank 0, threadblock 0: 257 steps; msccl takes 256 per threadblock"},
      {"64 steps, executor", true, [] { return longBlock(64); }, "", kExecutor},
      {"65 steps, executor", false, [] { return longBlock(65); }, "65 steps; msccl-executor-nccl takes 64", kExecutor},
      {"64 steps, rccl", true, [] { return longBlock(64); }, "", kRccl},
      {"65 steps, rccl", false, [] { return longBlock(65); }, "65 steps; rccl takes 64", kRccl},
      {"216 threadblocks, msccl", true, [] { return crowded(216); }, "", kManyCores},
      {"217 threadblocks, msccl", false, [] { return crowded(217); }, "217 threadblocks; msccl takes 216", kManyCores},
      {"1024 threadblocks, executor", true, [] { return crowded(1024); }, "", kExecutor},
      {"1025 threadblocks, executor", false, [] { return crowded(1025); },
       "1025 threadblocks; msccl-executor-nccl takes 1024", kExecutor},
      {"64 threadblocks, rccl", true, [] { return crowded(64); }, "", kRccl},
      {"65 threadblocks, rccl", false, [] { return crowded(65); }, "65 threadblocks; rccl takes 64", kRccl},
      {"108 threadblocks on 108 multiprocessors", true, [] { return crowded(108); }},
      {"109 threadblocks on 108 multiprocessors", false, [] { return crowded(109); },
       "109 threadblocks do not fit 108 multiprocessors"},
      {"109 threadblocks on 132 multiprocessors", true, [] { return crowded(109); }, "", {.multiprocessors = 132}},
      {"80 threadblocks on V100", true, [] { return named(crowded(80), "allgather on DGX-1 V100"); }},
      {"81 threadblocks on V100", false, [] { return named(crowded(81), "allgather on DGX-1 V100"); },
       "81 threadblocks do not fit 80 multiprocessors"},
      {"32 channels", true,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.channels = 32; }); }},
      {"33 channels", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.channels = 33; }); },
       "nchannels=33; msccl has 1 to 32"},
      {"64 channels, rccl", true,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.channels = 64; }); }, "", kRccl},
      {"no channels", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { program.channels = 0; }); }, "nchannels=0"},
      {"32 peers on a channel", true, [] { return star(33); }},
      {"33 peers on a channel", false, [] { return star(34); },
       "rank 0: more than 32 threadblocks with a send peer on channel 0"},
      {"71 chunks", true,
       [] {
         return with(ringAllgather(2, 71, true), [](Program& program) {
           program.protocol = Protocol::ll;
           program.maxBytes = 1;
         });
       },
       "only the size window"},
      {"72 chunks", false, [] { return ringAllgather(2, 72, true); }, "moves 72 chunks; a step takes 1 to 71"},
      {"negative count", false,
       [] { return with(ringAllgather(2, 1, true), [](Program& program) { at(program, 0, 0, 0).count = -1; }); },
       "moves -1 chunks"},
      {"waits for threadblock 127", true, [] { return crowdedAndWaiting(127); }, "", kManyCores},
      {"waits for threadblock 128", false, [] { return crowdedAndWaiting(128); },
       "dependencies reach threadblock 127 at most", kManyCores},
      {"waits for threadblock 62, rccl", true, [] { return crowdedAndWaiting(62); }, "", kRccl},
      {"offset 32767", true, [] { return scratchUpTo(32767); }},
      {"offset 32768", false, [] { return scratchUpTo(32768); }, "s_chunks=32769; offsets end at 32767"},
      {"4095 elements", true, [] { return manyElements(4095); }},
      {"4096 elements", false, [] { return manyElements(4096); }, "rank 0: 4096 XML elements"},
      {"RCCL: fused types", false, [] { return ringAllgather(3, 1, true); },
       "rank 0, threadblock 0, step 1: rcs is not built into rccl", kRccl},
      {"RCCL: rrc", false, [] { return ringReduceScatter(2, true); }, "rrc is not built into rccl: the call", kRccl},
      {"RCCL 6.0: cpy", false, [] { return directAllreduce(3); }, "cpy is not built into rccl-6.0", kRccl60},
      {"RCCL 6.1: cpy", true, [] { return directAllreduce(3); }, "", kRccl61},
      {"RCCL: 128 channels", true, [] { return wide(128); }, "", kRccl},
      {"RCCL: 129 channels", false, [] { return wide(129); }, "nchannels=129; rccl has 1 to 128", kRccl},
      {"RCCL 6.1: 65 channels", false, [] { return wide(65); }, "nchannels=65; rccl-6.1 has 1 to 64", kRccl61},
      {"RCCL 6.0: 33 channels", false, [] { return wide(33); }, "nchannels=33; rccl-6.0 has 1 to 32", kRccl60},
      {"RCCL: s, r, cpy, re and nop", true, [] { return directAllreduce(5); }, "", kRccl},
      {"16 fused reductions", false, [] { return reduceChain(16); },
       "more than 15 re steps are fused into one, the most in Simple"},
      {"16 fused reductions, LL", true,
       [] { return with(reduceChain(16), [](Program& program) { program.protocol = Protocol::ll; }); }},
      {"16 fused reductions, LL128", true,
       [] { return with(reduceChain(16), [](Program& program) { program.protocol = Protocol::ll128; }); }},
      {"17 fused reductions, LL", false,
       [] { return with(reduceChain(17), [](Program& program) { program.protocol = Protocol::ll; }); },
       "more than 16 re steps are fused into one, the most in LL"},
      {"a dependency on threadblock -2", true,
       [] { return with(crowded(2), [](Program& program) { at(program, 0, 1, 0).dependsOnTb = -2; }); }},
      {"reduction of unequal counts", false,
       [] { return with(reduceChain(3), [](Program& program) { block(program, 0).steps.back().count = 2; }); },
       "re with cnt=2 is fused with the one before, which has cnt=1"},
      {"2000 ranks", false, [] { return empty(Collective::allreduce, 2000, 1, true, 0, 1); }, "2000 ranks"},
  };
  return kCases;
}

}  // namespace

class TestProgramVerifier : public QObject {
  Q_OBJECT

private slots:
  void goodPrograms_data();
  void goodPrograms();
  void goodFiles_data();
  void goodFiles();
  void deadlockCases_data() { addRows(deadlocks()); }
  void deadlockCases() { check(deadlocks()); }
  void dataCases_data() { addRows(dataFaults()); }
  void dataCases() { check(dataFaults()); }
  void structureCases_data() { addRows(structureFaults()); }
  void structureCases() { check(structureFaults()); }
  void runtimeLimits_data() { addRows(limitCases()); }
  void runtimeLimits() { check(limitCases()); }
  void longReductionChains();
  void roots();
  void everyRankIsJudged();
  void noRanks();
  void cancellation();
  void mutations();

private:
  static void addRows(const std::vector<Case>& cases);
  static void check(const std::vector<Case>& cases);
};

void TestProgramVerifier::addRows(const std::vector<Case>& cases) {
  QTest::addColumn<int>("index");
  for (std::size_t index = 0; index < cases.size(); ++index) {
    QTest::newRow(cases[index].name) << static_cast<int>(index);
  }
}

void TestProgramVerifier::check(const std::vector<Case>& cases) {
  QFETCH(int, index);
  const Case& wanted = cases[index];
  const auto verdict = verifyProgram(wanted.make(), wanted.options);
  QVERIFY(verdict);
  const QString texts = allTexts(verdict->findings);
  QVERIFY2(verdict->ok == wanted.isOk, qPrintable(texts));
  const Severity severity = wanted.isOk ? Severity::warning : Severity::error;
  const bool found = std::any_of(verdict->findings.begin(), verdict->findings.end(), [&](const Finding& finding) {
    return finding.severity == severity && QString::fromStdString(describe(finding)).contains(wanted.text);
  });
  QVERIFY2(found != (wanted.isOk && wanted.text.isEmpty()), qPrintable(wanted.text + " is not among\n" + texts));
}

void TestProgramVerifier::goodPrograms_data() {
  QTest::addColumn<int>("index");
  QTest::addColumn<int>("protocol");
  const auto programs = allPrograms();
  for (std::size_t index = 0; index < programs.size(); ++index) {
    for (const Protocol protocol : {Protocol::simple, Protocol::ll, Protocol::ll128}) {
      QTest::addRow("%s, %s", programs[index].first.c_str(), std::string(toString(protocol)).c_str())
          << static_cast<int>(index) << static_cast<int>(protocol);
    }
  }
}

void TestProgramVerifier::goodPrograms() {
  QFETCH(int, index);
  QFETCH(int, protocol);
  Program program = allPrograms()[index].second;
  program.protocol = static_cast<Protocol>(protocol);
  for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl}) {
    const auto verdict = verifyProgram(program, {.runtime = runtime});
    QVERIFY(verdict);
    for (const Finding& finding : verdict->findings) {
      QVERIFY2(finding.severity == Severity::note, qPrintable(allTexts(verdict->findings)));
    }
    QVERIFY(verdict->ok);
    QCOMPARE(verdict->ranks, static_cast<int>(program.ranks.size()));
    QVERIFY(verdict->collective == program.collective);
  }
}

void TestProgramVerifier::goodFiles_data() {
  QTest::addColumn<QString>("name");
  for (const QString& name : QDir(kData + "good").entryList({"*.xml"}, QDir::Files, QDir::Name)) {
    QTest::newRow(qPrintable(name)) << "good/" + name;
  }
}

void TestProgramVerifier::goodFiles() {
  QFETCH(QString, name);
  const auto verdict = verifyProgram(readFile(name).program);
  QVERIFY(verdict);
  QVERIFY2(verdict->ok, qPrintable(allTexts(verdict->findings)));
}

void TestProgramVerifier::longReductionChains() {
  QVERIFY(verifyProgram(reduceChain(15))->findings.size() == verifyProgram(reduceChain(2))->findings.size());
  const auto broken = verifyProgram(reduceChain(20, 8));
  QVERIFY2(broken->ok, qPrintable(allTexts(broken->findings)));
}

void TestProgramVerifier::roots() {
  for (const bool inPlace : {true, false}) {
    const Program broadcast = chainBroadcast(4, 2, inPlace);
    const Program reduce = chainReduce(4, 2, inPlace);
    QCOMPARE(verifyProgram(broadcast)->root, 0);
    QCOMPARE(verifyProgram(reduce)->root, 3);
    QVERIFY(verifyProgram(broadcast, {.root = 0})->ok);
    QVERIFY(verifyProgram(reduce, {.root = 3})->ok);
    QVERIFY(verifyProgram(with(reduce, [](Program& program) { program.root = 3; }))->ok);
    const auto wrong = verifyProgram(broadcast, {.root = 1});
    QVERIFY(!wrong->ok);
    QVERIFY2(allTexts(wrong->findings).contains("of rank 0 must hold chunk 0 of rank 1, but holds "),
             qPrintable(allTexts(wrong->findings)));
    QVERIFY(!verifyProgram(reduce, {.root = 0})->ok);
    QVERIFY(!verifyProgram(with(reduce, [](Program& program) { program.root = 1; }))->ok);
    QVERIFY(verifyProgram(with(reduce, [](Program& program) { program.root = 1; }), {.root = 3})->ok);
    QVERIFY(allTexts(verifyProgram(reduce, {.root = 4})->findings).contains("is not a rank of this program"));
  }
  for (int root = 0; root < 3; ++root) {
    for (const bool inPlace : {true, false}) {
      for (const Program& program : {directGather(3, root, 2, inPlace), directScatter(3, root, 2, inPlace)}) {
        QCOMPARE(verifyProgram(program)->root, root);
        QVERIFY(verifyProgram(program, {.root = root})->ok);
        QVERIFY(!verifyProgram(program, {.root = (root + 1) % 3})->ok);
      }
    }
  }
  QCOMPARE(verifyProgram(chainGather(4))->root, 0);
  QCOMPARE(verifyProgram(chainScatter(4))->root, 0);
  QCOMPARE(verifyProgram(ringAllreduce(3, true))->root, -1);
}

/// A fault on the last rank alone is found as well as on the first.
void TestProgramVerifier::everyRankIsJudged() {
  for (int rank = 0; rank < 5; ++rank) {
    Program program = ringAllreduce(5, true);
    auto& steps = block(program, rank).steps;
    std::swap(steps[steps.size() - 1].dst.offset, steps[steps.size() - 2].dst.offset);
    const auto verdict = verifyProgram(program);
    QVERIFY(!verdict->ok);
    QVERIFY2(allTexts(verdict->findings).contains("of rank " + QString::number(rank) + " must hold"),
             qPrintable(allTexts(verdict->findings)));
  }
}

void TestProgramVerifier::noRanks() {
  const auto verdict = verifyProgram(Program());
  QVERIFY(!verdict);
  QCOMPARE(verdict.error().code, ErrorCode::badInput);
}

void TestProgramVerifier::cancellation() {
  std::stop_source source;
  source.request_stop();
  const auto verdict = verifyProgram(ringAllreduce(5, true), {}, Progress{.stop = source.get_token()});
  QVERIFY(!verdict);
  QCOMPARE(verdict.error().code, ErrorCode::cancelled);
}

namespace {

using Random = std::mt19937;

int pick(Random& random, int count) {
  return static_cast<int>(random() % static_cast<unsigned>(std::max(1, count)));
}

void mutateStep(Random& random, Program& program, const RankProgram& rank, Step& step) {
  const int blocks = static_cast<int>(rank.threadBlocks.size());
  switch (pick(random, 10)) {
    case 0:
      step.type = static_cast<StepType>(pick(random, 9));
      break;
    case 1:
      step.src.offset = pick(random, program.chunksPerLoop + 2) - 1;
      break;
    case 2:
      step.dst.offset = pick(random, program.chunksPerLoop + 2) - 1;
      break;
    case 3:
      step.src.buffer = static_cast<Buffer>(pick(random, 3));
      break;
    case 4:
      step.dst.buffer = static_cast<Buffer>(pick(random, 3));
      break;
    case 5:
      step.count = 1 + pick(random, 3);
      break;
    case 6:
      step.dependsOnTb = pick(random, blocks + 2) - 1;
      break;
    case 7:
      step.dependsOnStep = pick(random, 6) - 1;
      break;
    case 8:
      step.dependsOnTb = pick(random, blocks);
      step.dependsOnStep = pick(random, 4);
      break;
    default:
      step.hasDependent = !step.hasDependent;
  }
}

/// One change somewhere in the program.
void mutate(Random& random, Program& program) {
  const int ranks = static_cast<int>(program.ranks.size());
  RankProgram& rank = program.ranks[pick(random, ranks)];
  const int id = pick(random, static_cast<int>(rank.threadBlocks.size()));
  ThreadBlock& owner = rank.threadBlocks[id];
  const auto index = static_cast<std::ptrdiff_t>(pick(random, static_cast<int>(owner.steps.size())));
  switch (pick(random, 14)) {
    case 0:
      owner.sendPeer = pick(random, ranks + 2) - 1;
      break;
    case 1:
      owner.recvPeer = pick(random, ranks + 2) - 1;
      break;
    case 2:
      owner.channel = pick(random, 3);
      program.channels = 2;
      break;
    case 3:
      owner.steps.erase(owner.steps.begin() + index);
      break;
    case 4:
      owner.steps.insert(owner.steps.begin() + index, Step(owner.steps[index]));
      break;
    case 5:
    case 6:
      std::swap(owner.steps[index], owner.steps[pick(random, static_cast<int>(owner.steps.size()))]);
      break;
    case 7:
      rank.threadBlocks.erase(rank.threadBlocks.begin() + id);
      break;
    default:
      mutateStep(random, program, rank, owner.steps[index]);
  }
}

/// The interpreter can run it: peers and dependencies exist.
bool isRunnable(const Program& program) {
  const int ranks = static_cast<int>(program.ranks.size());
  for (const RankProgram& rank : program.ranks) {
    for (const ThreadBlock& owner : rank.threadBlocks) {
      if (owner.sendPeer >= ranks || owner.recvPeer >= ranks) {
        return false;
      }
      for (const Step& step : owner.steps) {
        const auto target = static_cast<std::size_t>(step.dependsOnTb);
        if (step.dependsOnTb != -1 &&
            (target >= rank.threadBlocks.size() ||
             static_cast<std::size_t>(step.dependsOnStep) >= rank.threadBlocks[target].steps.size())) {
          return false;
        }
      }
    }
  }
  return true;
}

/// What goes wrong at the protocol's depth, with messages of one chunk and of many, in several orders.
std::string interpret(const Program& program, int root) {
  for (const int chunksPerMessage : {1, 71}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      std::string fault = lowering::test::run(program, {.depth = connectionDepth(program.protocol),
                                                        .chunksPerMessage = chunksPerMessage,
                                                        .seed = seed,
                                                        .root = root});
      if (!fault.empty()) {
        return fault;
      }
    }
  }
  return {};
}

/// The finding speaks of what happens when the program runs, not of a rule that the runtime keeps before.
bool isOfRunning(const Finding& finding) {
  const QString text = QString::fromStdString(finding.text);
  for (const char* part : {"deadlock: ", "race on ", " must hold ", "where nothing was written", " message ",
                           "it waits forever", "the caller's input", " chunks where "}) {
    if (finding.severity == Severity::error && text.contains(part)) {
      return true;
    }
  }
  return false;
}

}  // namespace

/// What the verifier accepts, an interpreter that shares no code with it runs to the right end, without races and with
/// nothing left over; what the verifier refuses for its running fails there too.
void TestProgramVerifier::mutations() {
  constexpr unsigned kSeed = 20240611;
  constexpr int kRounds = 20000;
  Random random(kSeed);
  auto programs = allPrograms();
  for (int chunks = 2; chunks <= 9; ++chunks) {  // near the depths of the connections, on both sides
    programs.emplace_back("exchange of " + std::to_string(chunks), exchange(chunks, true));
  }
  std::map<std::string, int> meantRoots;
  for (const auto& [name, good] : programs) {
    meantRoots[name] = verifyProgram(good)->root;
  }
  int accepted = 0;
  int rejected = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto& [name, good] = programs[pick(random, static_cast<int>(programs.size()))];
    Program program = good;
    program.protocol = round % 2 == 0 ? Protocol::simple : Protocol::ll;
    mutate(random, program);
    const auto verdict = verifyProgram(program);
    QVERIFY(verdict);
    const bool refusesRun = std::any_of(verdict->findings.begin(), verdict->findings.end(), isOfRunning);
    (verdict->ok ? accepted : rejected) += 1;
    if (!isRunnable(program) || (!verdict->ok && !refusesRun)) {
      continue;
    }
    const int meantRoot = std::max(0, meantRoots.at(name));
    const std::string fault = interpret(program, verdict->ok ? verdict->root : meantRoot);
    if (fault.empty() != verdict->ok) {
      qWarning("seed %u, round %d, %s: %s; verifier: %s\n%s", kSeed, round, name.c_str(), fault.c_str(),
               qPrintable(allTexts(verdict->findings)), writeMscclXml(program, Runtime::msccl).c_str());
    }
    QCOMPARE(fault.empty(), verdict->ok);
  }
  qInfo("seed %u: %d mutations rejected, %d harmless", kSeed, rejected, accepted);
  QVERIFY(rejected > kRounds / 2);
  QVERIFY(accepted > kRounds / 20);
}

QTEST_GUILESS_MAIN(TestProgramVerifier)
#include "tst_program_verifier.moc"
