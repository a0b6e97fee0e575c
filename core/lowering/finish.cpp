// SPDX-License-Identifier: Apache-2.0
#include "lowering/finish.hpp"

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"

namespace coppice::lowering {

namespace {

/// MSCCL keeps this much of a program's name.
constexpr std::size_t kNameLength = 63;
/// Scratch that MSCCL reserves, where the caller gives no size, and the most where the caller does.
constexpr std::int64_t kScratchBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 33;
constexpr int kMaxInstances = 32;

bool isPlain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '<' && c != '>' && c != '&' && c != '\'';
}

Outcome checkScratch(const program::Program& program, const Options& options, const std::string& fix) {
  const int max = program::limits(options.runtime).offset + 1;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const int need = program.ranks[rank].scratchChunks;
    if (need > max) {
      return Error{ErrorCode::limit,
                   "rank " + std::to_string(rank) + " needs " + std::to_string(need) + " chunks of scratch; " +
                       std::string(program::toString(options.runtime)) + " addresses at most " + std::to_string(max) +
                       " (" + std::to_string(need - max) + " too many)",
                   fix,
                   {}};
    }
  }
  return Done{};
}

/// The window of sizes. Only MSCCL reserves scratch for the largest size beforehand.
Outcome reserveScratch(program::Program& program, const Options& options) {
  program.minBytes = options.minBytes;
  program.maxBytes = options.maxBytes;
  if (program.collective == Collective::gather || program.collective == Collective::scatter) {
    // The runtimes compare the window with bytes of one rank's share.
    const auto ranks = static_cast<std::int64_t>(program.ranks.size());
    program.minBytes = options.minBytes / ranks + (options.minBytes % ranks == 0 ? 0 : 1);
    if (options.maxBytes != kDefaultMaxBytes) {
      program.maxBytes = options.maxBytes / ranks;
    }
    if (program.maxBytes < program.minBytes || (program.maxBytes == 0 && options.maxBytes != 0)) {
      return Error{ErrorCode::badUsage,
                   "the size window from " + std::to_string(options.minBytes) + " to " +
                       std::to_string(options.maxBytes) + " bytes holds no equal share of " + std::to_string(ranks) +
                       " ranks",
                   "give a wider window"};
    }
  }
  int scratch = 0;
  for (const program::RankProgram& rank : program.ranks) {
    scratch = std::max(scratch, rank.scratchChunks);
  }
  if (options.runtime != program::Runtime::msccl || scratch == 0) {
    return Done{};
  }
  // Scratch is at most as large as the data: every chunk is summed up in one place.
  const auto scratchFor = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<Int128>(bytes) * scratch / program.chunksPerLoop);
  };
  if (options.maxBytes == kDefaultMaxBytes) {
    while (scratchFor(program.maxBytes) > kScratchBytes) {
      program.maxBytes /= 2;
    }
  }
  if (program.maxBytes <= program.minBytes || scratchFor(program.maxBytes) > kMaxScratchBytes) {
    return Error{ErrorCode::limit,
                 "msccl would reserve " + std::to_string(scratchFor(options.maxBytes) >> 20) +
                     " MiB of scratch on each rank for sizes up to " + std::to_string(options.maxBytes) + " bytes",
                 "give a smaller maxBytes, or lower the in-place program, which needs no scratch"};
  }
  return Done{};
}

}  // namespace

Outcome checkOptions(const Options& options) {
  if (options.instances < 1 || options.instances > kMaxInstances) {
    return Error{ErrorCode::badUsage, "instances must be 1 to " + std::to_string(kMaxInstances) + ", not " +
                                          std::to_string(options.instances)};
  }
  // MSCCL's window excludes its end; the others' includes it, and 0 means no end.
  const bool isMsccl = options.runtime == program::Runtime::msccl;
  const bool isOpen = !isMsccl && options.maxBytes == 0;
  const std::int64_t min = isMsccl ? options.minBytes : options.minBytes - 1;
  if (options.minBytes < 0 || (!isOpen && options.maxBytes <= min)) {
    return Error{ErrorCode::badUsage,
                 "the size window from " + std::to_string(options.minBytes) + " to " +
                     std::to_string(options.maxBytes) + " bytes is empty",
                 "give 0 <= minBytes < maxBytes"};
  }
  if (options.name.size() > kNameLength || !std::all_of(options.name.begin(), options.name.end(), isPlain)) {
    return Error{ErrorCode::badUsage, "the program's name must have at most " + std::to_string(kNameLength) +
                                          " printable ASCII characters and none of \" ' < > &"};
  }
  return Done{};
}

std::string makeName(const fabric::Fabric& fabric, Collective collective, const std::string& tail) {
  const std::string head = "coppice " + std::string(toString(collective)) + " ";
  const std::string end = tail.substr(0, kNameLength / 3);
  std::string name = fabric.name().empty() ? std::to_string(fabric.gpuCount()) + " gpus" : fabric.name();
  name = head + name.substr(0, kNameLength - head.size() - end.size()) + end;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isPlain(c); }, '_');
  return name;
}

Outcome setWindow(program::Program& program, const Options& options, const std::string& fix) {
  if (const Outcome fits = checkScratch(program, options, fix); !fits) {
    return fits;
  }
  return reserveScratch(program, options);
}

}  // namespace coppice::lowering
