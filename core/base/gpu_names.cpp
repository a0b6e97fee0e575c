// SPDX-License-Identifier: Apache-2.0
#include "base/gpu_names.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/ascii.hpp"

namespace coppice {
namespace {

constexpr int kAnyMultiprocessors = 108;

struct GpuKind {
  std::string_view name;  ///< in lower case
  int capability;         ///< 0 = not of NVIDIA
  int multiprocessors;    ///< that are enabled
};

/// From the architecture white papers of NVIDIA and the data sheets of AMD Instinct. What is named by more words comes
/// first: the H100 has 132 multiprocessors as a module of such boxes, and 114 as a card.
constexpr GpuKind kKinds[] = {{"b300", 103, 148},   {"b200", 100, 148},  {"dgx h100", 90, 132}, {"hgx h100", 90, 132},
                              {"nd h100", 90, 132}, {"aws p5", 90, 132}, {"h100", 90, 114},     {"h200", 90, 132},
                              {"h800", 90, 114},    {"a100", 80, 108},   {"v100", 70, 80},      {"dgx-2", 70, 80},
                              {"ndv2", 70, 80},     {"mi355", 0, 256},   {"mi325", 0, 304},     {"mi300", 0, 304},
                              {"mi250", 0, 104},    {"mi50", 0, 60}};

}  // namespace

std::optional<int> namedCapability(std::string_view text) {
  const std::string names = lowered(text);
  for (const GpuKind& kind : kKinds) {
    if (kind.capability > 0 && names.find(kind.name) != std::string::npos) {
      return kind.capability;
    }
  }
  return std::nullopt;
}

int namedMultiprocessors(std::string_view text) {
  std::string names = lowered(text);
  int least = std::numeric_limits<int>::max();
  for (const GpuKind& kind : kKinds) {
    for (std::size_t at = names.find(kind.name); at != std::string::npos; at = names.find(kind.name, at)) {
      least = std::min(least, kind.multiprocessors);
      names.replace(at, kind.name.size(), kind.name.size(), ' ');
    }
  }
  return least == std::numeric_limits<int>::max() ? kAnyMultiprocessors : least;
}

}  // namespace coppice
