// SPDX-License-Identifier: Apache-2.0
#include "base/collective.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"

namespace coppice {
namespace {
constexpr std::array<std::pair<Collective, std::string_view>, 9> kNames{{{Collective::allgather, "allgather"},
                                                                         {Collective::reduceScatter, "reduce_scatter"},
                                                                         {Collective::allreduce, "allreduce"},
                                                                         {Collective::broadcast, "broadcast"},
                                                                         {Collective::reduce, "reduce"},
                                                                         {Collective::alltoall, "alltoall"},
                                                                         {Collective::gather, "gather"},
                                                                         {Collective::scatter, "scatter"},
                                                                         {Collective::custom, "custom"}}};
}  // namespace

std::string_view toString(Collective collective) {
  for (const auto& [value, name] : kNames) {
    if (value == collective) {
      return name;
    }
  }
  return "?";
}

std::optional<Collective> parseCollective(std::string_view text) {
  const auto lettersOf = [](std::string_view word) {
    std::string letters = lowered(word);
    std::erase_if(letters, [](char c) { return c == '_' || c == '-'; });
    return letters;
  };
  const std::string letters = lettersOf(text);
  for (const auto& [value, name] : kNames) {
    if (lettersOf(name) == letters) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<Collective> parseForestCollective(std::string_view text) {
  const auto collective = parseCollective(text);
  const bool isOne = collective && std::find(kForestCollectives.begin(), kForestCollectives.end(), *collective) !=
                                       kForestCollectives.end();
  return isOne ? collective : std::nullopt;
}

bool isRooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

bool movesShards(Collective collective) {
  return collective == Collective::gather || collective == Collective::scatter;
}

bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduceScatter ||
         collective == Collective::reduce;
}

}  // namespace coppice
