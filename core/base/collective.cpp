// SPDX-License-Identifier: Apache-2.0
#include "base/collective.hpp"

#include <array>
#include <utility>

namespace coppice {
namespace {
constexpr std::array<std::pair<Collective, std::string_view>, 5> kNames{{{Collective::allgather, "allgather"},
                                                                         {Collective::reduceScatter, "reduce_scatter"},
                                                                         {Collective::allreduce, "allreduce"},
                                                                         {Collective::broadcast, "broadcast"},
                                                                         {Collective::reduce, "reduce"}}};
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
  if (text == "reducescatter" || text == "reduce-scatter") {
    return Collective::reduceScatter;
  }
  for (const auto& [value, name] : kNames) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace coppice
