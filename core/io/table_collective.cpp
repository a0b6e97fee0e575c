// SPDX-License-Identifier: Apache-2.0
#include "io/table_collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace coppice::io {
namespace {

bool isProgramLetter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

/// 0: not known.
std::int64_t bytesOf(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> kTypes{{{"int8", 1},
                                                                                     {"char", 1},
                                                                                     {"uint8", 1},
                                                                                     {"f8e4m3", 1},
                                                                                     {"f8e5m2", 1},
                                                                                     {"half", 2},
                                                                                     {"bfloat16", 2},
                                                                                     {"int32", 4},
                                                                                     {"int", 4},
                                                                                     {"uint32", 4},
                                                                                     {"float", 4},
                                                                                     {"int64", 8},
                                                                                     {"uint64", 8},
                                                                                     {"double", 8},
                                                                                     {"fp8_e4m3", 1}}};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& each) { return each.first == type; });
  return found == kTypes.end() ? 0 : found->second;
}

bool hasShards(Collective collective) {
  return collective != Collective::allreduce && collective != Collective::broadcast && collective != Collective::reduce;
}

/// By the check of the results: alltoall_perf alone has none in place.
std::vector<Collective> withoutReduction(const RowEvidence& row) {
  if (row.isChecked) {
    return {row.isCheckedInPlace ? Collective::allgather : Collective::alltoall};
  }
  return {Collective::allgather, Collective::alltoall};
}

/// By the reduction and the root. Old versions print no word where alltoall has no reduction, and no such column for
/// allgather.
std::vector<Collective> byColumns(const RowEvidence& row) {
  const bool isRooted = row.root.value_or(-1) >= 0;
  if (!row.redop.empty() && row.redop != "none") {
    return isRooted ? std::vector{Collective::reduce} : std::vector{Collective::allreduce, Collective::reduceScatter};
  }
  if (isRooted) {
    return {Collective::broadcast, Collective::gather, Collective::scatter};
  }
  if (row.lacksRedop) {
    return {Collective::allgather};
  }
  return row.redop.empty() ? std::vector{Collective::alltoall} : withoutReduction(row);
}

/// Ranks whose shards make the size; 1 where the count is of the whole; 0 where nothing can be said.
std::int64_t shardsOf(const RowEvidence& row) {
  const std::int64_t bytes = bytesOf(row.type);
  const bool isWhole =
      bytes > 0 && row.count > 0 && row.count <= row.size / bytes && row.size % (row.count * bytes) == 0;
  return isWhole ? row.size / (row.count * bytes) : 0;
}

/// busbw of algbw 1.
double busFactor(Collective collective, std::int64_t ranks) {
  if (!hasShards(collective) && collective != Collective::allreduce) {
    return 1;
  }
  const double sent = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return collective == Collective::allreduce ? 2 * sent : sent;
}

/// Both are rounded to two places.
bool isNear(double busbw, double expected, double factor) {
  return std::abs(busbw - expected) <= 0.006 * (1 + factor);
}

/// With any number of ranks.
bool fitsSomeRatio(const RowEvidence& row, Collective collective) {
  if (collective == Collective::allreduce) {
    return row.busbw >= row.algbw - 0.01;
  }
  return hasShards(collective) ? row.busbw < row.algbw : isNear(row.busbw, row.algbw, 1);
}

bool fitsRatio(const RowEvidence& row, Collective collective, std::int64_t ranks) {
  if (row.algbw <= 0) {
    return true;
  }
  if (ranks < 2) {
    return fitsSomeRatio(row, collective);
  }
  const double factor = busFactor(collective, ranks);
  return isNear(row.busbw, row.algbw * factor, factor);
}

bool fitsCount(const RowEvidence& row, Collective collective, int ranks) {
  const std::int64_t shards = shardsOf(row);
  if (!hasShards(collective)) {
    return shards < 2 && fitsRatio(row, collective, ranks);
  }
  return shards != 1 && fitsRatio(row, collective, shards > 1 ? shards : ranks);
}

}  // namespace

std::optional<Collective> collectiveOfProgram(std::string_view text) {
  constexpr std::string_view kEnd = "_perf";
  for (std::size_t at = text.find(kEnd); at != std::string_view::npos; at = text.find(kEnd, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && isProgramLetter(text[begin - 1])) {
      --begin;
    }
    const auto collective = parseCollective(text.substr(begin, at - begin));
    if (collective && *collective != Collective::custom) {
      return collective;
    }
  }
  return std::nullopt;
}

std::vector<std::string> fittingCollectives(const RowEvidence& row, int ranks) {
  std::vector<std::string> fitting;
  const auto keep = [&](const auto& fits) {
    for (const Collective collective : byColumns(row)) {
      if (fits(collective)) {
        fitting.emplace_back(toString(collective));
      }
    }
  };
  keep([&](Collective collective) { return fitsCount(row, collective, ranks); });
  if (fitting.empty()) {
    keep([&](Collective collective) { return fitsRatio(row, collective, 0); });
  }
  return fitting;
}

}  // namespace coppice::io
