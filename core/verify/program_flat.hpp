// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/finding_sink.hpp"
#include "program/program.hpp"
#include "program/step_place.hpp"
#include "verify/program_verifier.hpp"

/// A program laid out for execution, and the rules that need no execution.
namespace coppice::verify {

/// What a program has to achieve; custom where its result is not defined (custom, alltoallv, …).
[[nodiscard]] Collective goalOf(const program::Program& program);
/// The longer buffer holds one share of each rank.
[[nodiscard]] bool isShared(Collective goal);

/// Every rule of the program verifier; findings of one rule beyond the first few are counted, not listed.
enum class Check {
  shape,
  collective,
  window,
  scratch,
  buffers,
  limits,
  residents,
  peer,
  channel,
  owner,
  type,
  count,
  offset,
  overlap,
  dependency,
  nop,
  reduceChain,
  uselessFlag,
  unmatched,
  countMismatch,
  deadlock,
  deadlockBySize,
  unwrittenRead,
  inputWrite,
  result,
  race,
  staleRead,
  notExamined
};

/// Sizes of the caller's buffers in chunks, as the collective defines them, the same for all ranks.
///
/// nchunksperloop counts the chunks of the longer buffer. Of gather and scatter, though, the runtimes that know them
/// divide one rank's share (mscclGetAlgoFromXmlFile: sizeMultiplier stays 1), while tools write them like the others;
/// i_chunks and o_chunks tell which, and without a word of theirs it is as for the others.
struct BufferSizes {
  int input = 0;
  int output = 0;
};
[[nodiscard]] BufferSizes callerBuffers(const program::Program& program, Collective goal);
/// Chunks of one rank's share; all chunks where nothing is shared out.
[[nodiscard]] int chunksPerShare(const program::Program& program, Collective goal);

struct FlatStep {
  program::StepType type = program::StepType::nop;
  program::Buffer srcBuffer = program::Buffer::input;
  program::Buffer dstBuffer = program::Buffer::input;
  bool isTarget = false;   ///< some step waits for this one
  bool publishes = false;  ///< writes its threadblock's flag
  bool exchanges = false;  ///< moves at least one message
  int count = 0;
  int srcOffset = -1;
  int dstOffset = -1;
  int waitsForBlock = -1;          ///< flat threadblock; -1 = none
  std::uint32_t waitsForStep = 0;  ///< flat step whose flag ends the wait: the first publishing one at or after `deps`
};

struct FlatBlock {
  int rank = 0;
  int id = 0;
  std::uint32_t firstStep = 0;
  std::uint32_t endStep = 0;
  int sendConnection = -1;
  int recvConnection = -1;
};

/// One FIFO: the owner of (sender rank, receiver rank, channel) on both ends, as flat threadblocks.
struct Connection {
  int sender = -1;
  int receiver = -1;
};

struct FlatProgram {
  std::vector<FlatBlock> blocks;  ///< rank by rank
  std::vector<FlatStep> steps;    ///< threadblock by threadblock
  std::vector<Connection> connections;
  std::vector<int> firstBlock;  ///< per rank, and one past the end
};

[[nodiscard]] inline program::StepPlace placeOf(const FlatProgram& flat, int block, std::uint32_t step) {
  const FlatBlock& owner = flat.blocks[block];
  return {owner.rank, owner.id, static_cast<int>(step - owner.firstStep)};
}
/// A flat step as `rank 3, threadblock 2, step 14`.
[[nodiscard]] ElementRef stepElement(const FlatProgram& flat, int block, std::uint32_t step);
/// The same with the operation, "rank 3, threadblock 2, step 14 (s to rank 5)".
[[nodiscard]] std::string nameOperation(const program::Program& program, const FlatProgram& flat, int block,
                                        std::uint32_t step);

/// Threadblocks of a rank that a GPU runs at once, as the options or the name of the program tell.
[[nodiscard]] int multiprocessorsOf(const program::Program& program, const ProgramCheckOptions& options);

/// Checks everything that needs no execution, for each rank. The flat program comes back when it can be executed: all
/// peers, offsets and dependencies exist and each message has its two ends.
std::optional<FlatProgram> checkStructure(const program::Program& program, const ProgramCheckOptions& options,
                                          const Progress& progress, program::FindingSink& sink);

}  // namespace coppice::verify
