// SPDX-License-Identifier: Apache-2.0
#include "program/used_sizes.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/checked.hpp"

namespace coppice::program {
namespace {

/// float32, the type of nccl-tests where none is named.
constexpr std::int64_t kElementBytes = 4;
/// nccl-tests rounds what each rank has down to this.
constexpr std::int64_t kRankBytes = 16;
/// Sweeps end here: 1 TiB.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;

/// How the elements of a call and those that a runtime counts belong together.
enum class Count {
  whole,   ///< the call's count is that of the whole collective
  shared,  ///< every rank has an equal part; the parts are added up
  part     ///< every rank has an equal part; the runtimes count one of them (gather and scatter)
};

Count countOf(const SizeFacts& facts) {
  if (facts.collectiveText.empty()) {
    switch (facts.collective) {
      case Collective::allgather:
      case Collective::reduceScatter:
        return Count::shared;
      case Collective::gather:
      case Collective::scatter:
        return Count::part;
      default:
        return Count::whole;
    }
  }
  if (facts.collectiveText == "alltoall") {
    return Count::shared;
  }
  return facts.collectiveText == "gather" || facts.collectiveText == "scatter" ? Count::part : Count::whole;
}

std::int64_t timesOrMost(std::int64_t value, std::int64_t factor) {
  return value > std::numeric_limits<std::int64_t>::max() / factor ? std::numeric_limits<std::int64_t>::max()
                                                                   : value * factor;
}

bool countsBytes(const SizeFacts& facts, Runtime runtime) {
  if (runtime != Runtime::msccl) {
    return false;
  }
  return facts.collectiveText.empty()
             ? facts.collective == Collective::allgather || facts.collective == Collective::broadcast
             : facts.collectiveText == "alltoall";
}

bool isPowerOfTwo(std::int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

bool isInWindow(const SizeFacts& facts, Runtime runtime, std::int64_t bytes) {
  if (bytes < facts.minBytes) {
    return false;
  }
  return runtime == Runtime::msccl ? bytes < facts.maxBytes : facts.maxBytes == 0 || bytes <= facts.maxBytes;
}

/// What all sizes of a sweep are a multiple of; 0 beyond 64 bits.
std::int64_t baseBytes(const SizeFacts& facts, Runtime runtime) {
  try {
    const Count count = countOf(facts);
    std::int64_t base = checkedMul(facts.chunks, countsBytes(facts, runtime) ? 1 : kElementBytes);
    if (count == Count::part) {
      base = checkedMul(base, std::int64_t{facts.ranks});
    }
    const std::int64_t grain =
        count == Count::whole ? kElementBytes : checkedMul(kRankBytes, std::int64_t{facts.ranks});
    return checkedMul(base / std::gcd(base, grain), grain);
  } catch (const OverflowError&) {
    return 0;
  }
}

/// From `start` on, doubling: the first run of sizes at which the program is used.
std::optional<SizeSweep> sweepFrom(std::int64_t start, const SizeFacts& facts, Runtime runtime) {
  std::optional<SizeSweep> sweep;
  for (std::int64_t bytes = start; bytes > 0 && bytes <= kMaxBytes; bytes *= 2) {
    if (isUsedAt(facts, runtime, bytes)) {
      sweep = SizeSweep{sweep ? sweep->first : bytes, bytes};
    } else if (sweep) {
      break;
    }
  }
  return sweep;
}

/// The least multiple of the base that is not below the window; for gather and scatter the window is of one rank's
/// part.
std::int64_t firstFromWindow(std::int64_t base, const SizeFacts& facts) {
  const std::int64_t step = countOf(facts) == Count::part ? base / facts.ranks : base;
  return step <= 0 || facts.minBytes <= step ? base : timesOrMost(base, (facts.minBytes - 1) / step + 1);
}

/// Whether every power of two that is large enough divides well, the window aside.
bool dividesPowersOfTwo(const SizeFacts& facts, Runtime runtime) {
  if (isPowerOfTwo(facts.chunks) && (countOf(facts) == Count::whole || isPowerOfTwo(facts.ranks))) {
    return true;
  }
  // Each rank has some multiple of 16 bytes, and nothing more is known of it.
  const std::int64_t grain = countsBytes(facts, runtime) ? kRankBytes : kRankBytes / kElementBytes;
  switch (countOf(facts)) {
    case Count::whole:
      return false;
    case Count::shared:
      return grain * facts.ranks % facts.chunks == 0;
    case Count::part:
      return grain % facts.chunks == 0;
  }
  return false;
}

}  // namespace

SizeFacts sizeFacts(const Program& program) {
  return {program.collective,
          program.collectiveText,
          std::max(1, static_cast<int>(program.ranks.size())),
          std::max(1, program.chunksPerLoop),
          program.minBytes,
          program.maxBytes};
}

bool isUsedAt(const SizeFacts& facts, Runtime runtime, std::int64_t bytes) {
  const Count count = countOf(facts);
  std::int64_t elements = bytes / kElementBytes;
  if (count != Count::whole) {
    constexpr std::int64_t kGrain = kRankBytes / kElementBytes;
    const std::int64_t each = elements / facts.ranks / kGrain * kGrain;
    elements = count == Count::shared ? each * facts.ranks : each;
  }
  if (elements <= 0 || !isInWindow(facts, runtime, elements * kElementBytes)) {
    return false;
  }
  const std::int64_t units = countsBytes(facts, runtime) ? elements * kElementBytes : elements;
  // MSCCL keeps the total in an int.
  return (runtime == Runtime::msccl ? static_cast<std::int32_t>(units) : units) % facts.chunks == 0;
}

UsedSizes usedSizes(const SizeFacts& facts, Runtime runtime) {
  UsedSizes used;
  const Count count = countOf(facts);
  used.multipleOf = facts.chunks;
  if (count == Count::part && facts.chunks <= std::numeric_limits<std::int64_t>::max() / facts.ranks) {
    used.multipleOf *= facts.ranks;
  }
  used.inBytes = countsBytes(facts, runtime);
  if (isRccl(runtime) && count == Count::shared) {
    used.olderMultiplePerRank = facts.chunks;
  }
  used.minBytes = facts.minBytes;
  if (runtime == Runtime::msccl) {
    used.maxBytes = facts.maxBytes - 1;
  } else if (facts.maxBytes != 0) {
    used.maxBytes = facts.maxBytes;
  }
  if (count == Count::part) {
    used.windowOfShard = SizeSweep{used.minBytes, used.maxBytes.value_or(0)};
    used.minBytes = timesOrMost(used.minBytes, facts.ranks);
    if (used.maxBytes) {
      used.maxBytes = timesOrMost(*used.maxBytes, facts.ranks);
    }
  }
  if (dividesPowersOfTwo(facts, runtime)) {
    used.sweep = sweepFrom(kElementBytes, facts, runtime);
    used.powersOfTwo = used.sweep.has_value();
  }
  if (!used.powersOfTwo) {
    const std::int64_t base = baseBytes(facts, runtime);
    used.sweep = sweepFrom(base, facts, runtime);
    if (!used.sweep) {  // a window that no doubled base meets
      used.sweep = sweepFrom(firstFromWindow(base, facts), facts, runtime);
    }
  }
  return used;
}

std::string byteText(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + kUnits[unit];
}

std::string describe(const UsedSizes& used) {
  const std::string unit = used.inBytes ? "byte" : "element";
  std::string text = used.multipleOf == 1 ? "every number of " + unit + "s"
                                          : "multiples of " + std::to_string(used.multipleOf) + " " + unit + "s";
  if (used.powersOfTwo) {
    text += "; so at powers of two, from " + byteText(used.sweep->first);
    if (used.sweep->last < kMaxBytes / 2) {
      text += " to " + byteText(used.sweep->last);
    }
  } else if (used.sweep) {
    text += "; not at powers of two";
  } else {
    text += ", but none of them lies in the size window";
  }
  return text;
}

}  // namespace coppice::program
