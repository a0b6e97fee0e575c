// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.hpp"

/// Small right programs of every collective, written by hand.
namespace coppice::samples {

using program::Buffer;
using program::Program;
using program::RankProgram;
using program::Slot;
using program::Step;
using program::StepType;
using program::ThreadBlock;

constexpr auto kIn = Buffer::input;
constexpr auto kOut = Buffer::output;
constexpr auto kScratch = Buffer::scratch;

inline Step step(StepType type, Slot src, Slot dst, int count = 1) {
  return {.type = type, .src = src, .dst = dst, .count = count};
}
/// Source and destination in the same slot.
inline Step step(StepType type, Slot slot, int count = 1) {
  return step(type, slot, slot, count);
}
inline Step waiting(Step step, int tb, int at) {
  step.dependsOnTb = tb;
  step.dependsOnStep = at;
  return step;
}
inline Step awaited(Step step) {
  step.hasDependent = true;
  return step;
}
inline Step nop(int tb, int at) {
  return {.type = StepType::nop, .dependsOnTb = tb, .dependsOnStep = at};
}

inline Program empty(Collective collective, int ranks, int chunks, bool inPlace, int input, int output,
                     int scratch = 0) {
  Program program;
  program.name = "sample";
  program.collective = collective;
  program.chunksPerLoop = chunks;
  program.inPlace = inPlace;
  program.outOfPlace = !inPlace;
  program.maxBytes = std::int64_t{1} << 30;
  for (int rank = 0; rank < ranks; ++rank) {
    program.ranks.push_back({.inputChunks = input, .outputChunks = output, .scratchChunks = scratch});
  }
  return program;
}

/// One threadblock per rank sends to the next rank and receives from the one before; `parts` chunks per rank.
/// Several chunks are taken in before they are passed on: fused steps of two messages would fill the ring and stop it.
inline Program ringAllgather(int ranks, int parts, bool inPlace) {
  Program program = empty(Collective::allgather, ranks, ranks * parts, inPlace, inPlace ? 0 : parts, ranks * parts);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = (rank + 1) % ranks, .recvPeer = (rank + ranks - 1) % ranks};
    if (!inPlace) {
      block.steps.push_back(step(StepType::copy, {kIn, 0}, {kOut, rank * parts}, parts));
    }
    for (int hop = 0; hop < ranks; ++hop) {
      const Slot slot = {kOut, (rank + ranks - hop) % ranks * parts};
      if (hop > 0 && hop < ranks - 1 && parts == 1) {
        block.steps.push_back(step(StepType::recvCopySend, slot));
        continue;
      }
      if (hop > 0) {
        block.steps.push_back(step(StepType::recv, slot, parts));
      }
      if (hop < ranks - 1) {
        block.steps.push_back(step(StepType::send, slot, parts));
      }
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// One chunk per rank runs round the ring and is reduced on its way.
inline Program ringReduceScatter(int ranks, bool inPlace) {
  Program program = empty(Collective::reduceScatter, ranks, ranks, inPlace, ranks, inPlace ? 0 : 1);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = (rank + 1) % ranks, .recvPeer = (rank + ranks - 1) % ranks};
    for (int hop = 0; hop < ranks; ++hop) {
      const int chunk = (rank + 2 * ranks - 1 - hop) % ranks;
      const Slot local = {kIn, chunk};
      if (hop == 0) {
        block.steps.push_back(step(StepType::send, local));
      } else if (hop < ranks - 1) {
        block.steps.push_back(step(StepType::recvReduceSend, local));
      } else {
        block.steps.push_back(step(StepType::recvReduceCopy, local, inPlace ? local : Slot{kOut, 0}));
      }
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// Reduce-scatter then allgather on one ring in one threadblock: s, rrcs…, rcs…, r.
inline Program ringAllreduce(int ranks, bool inPlace) {
  Program program = empty(Collective::allreduce, ranks, ranks, inPlace, inPlace ? 0 : ranks, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = (rank + 1) % ranks, .recvPeer = (rank + ranks - 1) % ranks};
    for (int hop = 0; hop <= 2 * ranks - 2; ++hop) {
      const int chunk = (rank + 2 * ranks - hop) % ranks;
      const Slot local = {inPlace ? kOut : kIn, chunk};
      const Slot result = {kOut, chunk};
      if (hop == 0) {
        block.steps.push_back(step(StepType::send, local));
      } else if (hop < ranks) {
        block.steps.push_back(step(StepType::recvReduceCopySend, local, result));
      } else {
        block.steps.push_back(step(hop < 2 * ranks - 2 ? StepType::recvCopySend : StepType::recv, result));
      }
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// In place: partial sums go up a chain to the last rank, the result comes down; each direction has its own receiving
/// and sending threadblock. What comes down overwrites what went up: only the round trip orders the two.
inline Program chainAllreduce(int ranks, int chunks) {
  Program program = empty(Collective::allreduce, ranks, chunks, true, 0, chunks);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    const bool first = rank == 0;
    const bool last = rank == ranks - 1;
    ThreadBlock upIn = {.recvPeer = rank - 1};
    ThreadBlock upOut = {.sendPeer = last ? -1 : rank + 1};
    ThreadBlock downIn = {.recvPeer = last ? -1 : rank + 1};
    ThreadBlock downOut = {.sendPeer = rank - 1};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Slot slot = {kOut, chunk};
      upIn.steps.push_back(awaited(step(StepType::recvReduceCopy, slot)));
      upOut.steps.push_back(step(StepType::send, slot));
      downIn.steps.push_back(step(StepType::recv, slot));
      downIn.steps.back().hasDependent = !first;
      downOut.steps.push_back(waiting(step(StepType::send, slot), 2, chunk));
    }
    if (first) {
      blocks = {upOut, downIn};
    } else if (last) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        downOut.steps[chunk].dependsOnTb = 0;
      }
      blocks = {upIn, downOut};
    } else {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        Step& send = upOut.steps[chunk];
        send = waiting(send, 0, chunk);
      }
      blocks = {upIn, upOut, downIn, downOut};
    }
  }
  return program;
}

/// From rank 0 along the ranks.
inline Program chainBroadcast(int ranks, int chunks, bool inPlace) {
  Program program = empty(Collective::broadcast, ranks, chunks, inPlace, inPlace ? 0 : chunks, chunks);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = rank + 1 < ranks ? rank + 1 : -1, .recvPeer = rank - 1};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Slot slot = {kOut, chunk};
      if (rank == 0 && !inPlace) {
        block.steps.push_back(step(StepType::copy, {kIn, chunk}, slot));
      }
      block.steps.push_back(step(rank == 0          ? StepType::send
                                 : rank < ranks - 1 ? StepType::recvCopySend
                                                    : StepType::recv,
                                 slot));
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// To the last rank along the ranks, never storing a partial sum.
inline Program chainReduce(int ranks, int chunks, bool inPlace) {
  Program program = empty(Collective::reduce, ranks, chunks, inPlace, chunks, inPlace ? 0 : chunks);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = rank + 1 < ranks ? rank + 1 : -1, .recvPeer = rank - 1};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Slot slot = {kIn, chunk};
      block.steps.push_back(step(rank == 0          ? StepType::send
                                 : rank < ranks - 1 ? StepType::recvReduceSend
                                                    : StepType::recvReduceCopy,
                                 slot, rank < ranks - 1 || inPlace ? slot : Slot{kOut, chunk}));
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// Only s, r, cpy, re and nop, as RCCL demands: everyone sends its whole input to everyone, and sums from scratch.
inline Program directAllreduce(int ranks) {
  Program program = empty(Collective::allreduce, ranks, 1, false, 1, 1, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    ThreadBlock sum;
    sum.steps.push_back(step(StepType::copy, {kIn, 0}, {kOut, 0}));
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) {
        continue;
      }
      ThreadBlock block = {.sendPeer = peer, .recvPeer = peer};
      block.steps.push_back(step(StepType::send, {kIn, 0}, {kScratch, rank}));
      block.steps.push_back(awaited(step(StepType::recv, {kIn, 0}, {kScratch, peer})));
      blocks.push_back(block);
    }
    const int others = ranks - 1;
    for (int other = 0; other + 1 < others; ++other) {
      sum.steps.push_back(nop(other, 1));
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) {
        Step reduce = step(StepType::reduce, {kScratch, peer}, {kOut, 0});
        const bool isFirst = sum.steps.back().type != StepType::reduce;
        sum.steps.push_back(isFirst ? waiting(reduce, others - 1, 1) : reduce);
      }
    }
    blocks.push_back(sum);
  }
  return program;
}

inline Program directAlltoall(int ranks) {
  Program program = empty(Collective::allgather, ranks, ranks, false, ranks, ranks);
  program.collectiveText = "alltoall";
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    blocks.push_back({.steps = {step(StepType::copy, {kIn, rank}, {kOut, rank})}});
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank) {
        blocks.push_back({.sendPeer = peer,
                          .recvPeer = peer,
                          .steps = {step(StepType::send, {kIn, peer}, {kOut, rank}),
                                    step(StepType::recv, {kIn, rank}, {kOut, peer})}});
      }
    }
  }
  return program;
}

/// An empty gather or scatter. nchunksperloop counts one rank's share, as the runtimes that know them have it.
inline Program emptyRooted(const char* collective, int ranks, int parts, bool inPlace, int scratch = 0) {
  const bool gathers = std::string(collective) == "gather";
  const int shorter = inPlace ? 0 : parts;
  Program program = empty(Collective::allgather, ranks, parts, inPlace, gathers ? shorter : ranks * parts,
                          gathers ? ranks * parts : shorter, scratch);
  program.collectiveText = collective;
  return program;
}

/// Everybody sends to the root.
inline Program directGather(int ranks, int root, int parts, bool inPlace) {
  Program program = emptyRooted("gather", ranks, parts, inPlace);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    const Slot own = inPlace ? Slot{kOut, rank * parts} : Slot{kIn, 0};
    if (rank != root) {
      blocks.push_back({.sendPeer = root, .steps = {step(StepType::send, own, parts)}});
      continue;
    }
    if (!inPlace) {
      blocks.push_back({.steps = {step(StepType::copy, own, {kOut, rank * parts}, parts)}});
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != root) {
        blocks.push_back({.recvPeer = peer, .steps = {step(StepType::recv, {kOut, peer * parts}, parts)}});
      }
    }
  }
  return program;
}

/// The root sends to everybody.
inline Program directScatter(int ranks, int root, int parts, bool inPlace) {
  Program program = emptyRooted("scatter", ranks, parts, inPlace);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& blocks = program.ranks[rank].threadBlocks;
    const Slot own = inPlace ? Slot{kIn, rank * parts} : Slot{kOut, 0};
    if (rank != root) {
      blocks.push_back({.recvPeer = root, .steps = {step(StepType::recv, own, parts)}});
      continue;
    }
    if (!inPlace) {
      blocks.push_back({.steps = {step(StepType::copy, {kIn, rank * parts}, own, parts)}});
    }
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != root) {
        blocks.push_back({.sendPeer = peer, .steps = {step(StepType::send, {kIn, peer * parts}, parts)}});
      }
    }
  }
  return program;
}

/// To rank 0 along the ranks, through scratch.
inline Program chainGather(int ranks) {
  Program program = emptyRooted("gather", ranks, 1, false, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = rank - 1, .recvPeer = rank + 1 < ranks ? rank + 1 : -1};
    block.steps.push_back(rank == 0 ? step(StepType::copy, {kIn, 0}, {kOut, 0}) : step(StepType::send, {kIn, 0}));
    for (int from = rank + 1; from < ranks; ++from) {
      block.steps.push_back(rank == 0 ? step(StepType::recv, {kOut, from})
                                      : step(StepType::recvCopySend, {kScratch, from}));
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// From rank 0 along the ranks, what has farthest to go first.
inline Program chainScatter(int ranks) {
  Program program = emptyRooted("scatter", ranks, 1, false, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadBlock block = {.sendPeer = rank + 1 < ranks ? rank + 1 : -1, .recvPeer = rank - 1};
    for (int to = ranks - 1; to > rank; --to) {
      block.steps.push_back(rank == 0 ? step(StepType::send, {kIn, to}) : step(StepType::recvCopySend, {kScratch, to}));
    }
    block.steps.push_back(rank == 0 ? step(StepType::copy, {kIn, 0}, {kOut, 0}) : step(StepType::recv, {kOut, 0}));
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// The same program with a change.
inline Program with(Program program, const std::function<void(Program&)>& change) {
  change(program);
  return program;
}

/// Allgather of two ranks in one threadblock each: first all sends, then all receives (or the reverse).
inline Program exchange(int chunks, bool sendFirst) {
  Program program = empty(Collective::allgather, 2, 2 * chunks, true, 0, 2 * chunks);
  for (int rank = 0; rank < 2; ++rank) {
    ThreadBlock both = {.sendPeer = 1 - rank, .recvPeer = 1 - rank};
    for (const bool sending : {sendFirst, !sendFirst}) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const int owner = sending ? rank : 1 - rank;
        both.steps.push_back(step(sending ? StepType::send : StepType::recv, {kOut, owner * chunks + chunk}));
      }
    }
    program.ranks[rank].threadBlocks = {both};
  }
  return program;
}

/// All collectives above at a few sizes.
inline std::vector<std::pair<std::string, Program>> allPrograms() {
  std::vector<std::pair<std::string, Program>> all;
  for (const int ranks : {2, 3, 5}) {
    const std::string size = " of " + std::to_string(ranks);
    for (const bool inPlace : {true, false}) {
      const std::string form = size + (inPlace ? " in place" : " out of place");
      all.emplace_back("ring allgather" + form, ringAllgather(ranks, 1, inPlace));
      all.emplace_back("ring allgather, two chunks," + form, ringAllgather(ranks, 2, inPlace));
      all.emplace_back("ring reduce_scatter" + form, ringReduceScatter(ranks, inPlace));
      all.emplace_back("ring allreduce" + form, ringAllreduce(ranks, inPlace));
      all.emplace_back("chain broadcast" + form, chainBroadcast(ranks, 3, inPlace));
      all.emplace_back("chain reduce" + form, chainReduce(ranks, 3, inPlace));
      all.emplace_back("direct gather" + form, directGather(ranks, ranks / 2, 2, inPlace));
      all.emplace_back("direct scatter" + form, directScatter(ranks, ranks / 2, 2, inPlace));
    }
    all.emplace_back("chain allreduce" + size, chainAllreduce(ranks, 4));
    all.emplace_back("direct allreduce" + size, directAllreduce(ranks));
    all.emplace_back("direct alltoall" + size, directAlltoall(ranks));
    all.emplace_back("chain gather" + size, chainGather(ranks));
    all.emplace_back("chain scatter" + size, chainScatter(ranks));
  }
  return all;
}

}  // namespace coppice::samples
