// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "program/program.hpp"

/// At which calls a runtime takes a program. At all others it runs an algorithm of its own, without a message.
///
/// Read in the sources: MSCCL counts in elements, but allgather, broadcast and alltoall in bytes
/// (src/misc/argcheck.cc), and the total in a 32-bit int (src/graph/tuning.cc); nchunksperloop must divide that.
/// msccl-executor-nccl (NCCL 2.23) and RCCL (ROCm 6.3) count elements in 64 bits (src/misc/msccl/msccl_lifecycle.cc);
/// RCCL up to ROCm 6.2 counts those of one rank where the others count those of all. nccl-tests gives every rank of
/// allgather, reduce_scatter, alltoall, gather and scatter a multiple of 16 bytes (src/*.cu).
namespace coppice::program {

/// What of a program decides at which calls it is used.
struct SizeFacts {
  Collective collective = Collective::allgather;
  std::string collectiveText = {};  ///< as Program::collectiveText
  int ranks = 1;
  std::int64_t chunks = 1;    ///< nchunksperloop; 1 or more
  std::int64_t minBytes = 0;  ///< as in the file; of gather and scatter bytes of one rank's share
  std::int64_t maxBytes = 0;
};
[[nodiscard]] SizeFacts sizeFacts(const Program& program);

/// Sizes of a sweep, each twice the one before, in bytes as nccl-tests' -b and -e take them.
struct SizeSweep {
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend bool operator==(const SizeSweep&, const SizeSweep&) = default;
};

struct UsedSizes {
  std::int64_t multipleOf = 1;  ///< what a call's elements (or bytes) of the whole collective must be a multiple of
  bool inBytes = false;
  /// RCCL up to ROCm 6.2: what the elements of each rank must be a multiple of.
  std::optional<std::int64_t> olderMultiplePerRank = {};
  std::int64_t minBytes = 0;                  ///< of the whole collective, included
  std::optional<std::int64_t> maxBytes = {};  ///< included; absent = no end
  /// Gather and scatter: minBytes and maxBytes as the runtimes compare them, with bytes of one rank's share; last 0 =
  /// no end.
  std::optional<SizeSweep> windowOfShard = {};
  bool powersOfTwo = false;  ///< at every power of two of `sweep`, which then is that of powers of two
  /// A sweep of nccl-tests (float32, -f 2) that uses the program at every size; absent where the window holds none.
  std::optional<SizeSweep> sweep = {};
};

/// @pre facts.chunks >= 1 and facts.ranks >= 1. Numbers beyond 64 bits leave sizes out of the sweep.
[[nodiscard]] UsedSizes usedSizes(const SizeFacts& facts, Runtime runtime);

/// Whether nccl-tests, asked for this many bytes of float32 (-b), makes a call that the runtime takes the program for.
[[nodiscard]] bool isUsedAt(const SizeFacts& facts, Runtime runtime, std::int64_t bytes);

/// "multiples of 208 elements (bytes) of the whole call; no powers of two": at which calls, in one line.
[[nodiscard]] std::string describe(const UsedSizes& used);

/// "512 bytes", "64 KiB", "1 GiB": the largest unit that divides it.
[[nodiscard]] std::string byteText(std::int64_t bytes);

}  // namespace coppice::program
