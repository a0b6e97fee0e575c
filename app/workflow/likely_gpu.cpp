// SPDX-License-Identifier: Apache-2.0
#include "workflow/likely_gpu.hpp"

#include <algorithm>
#include <limits>

namespace coppice::workflow {
namespace {

constexpr int kAnyMultiprocessors = 108;

struct GpuKind {
  std::string_view name;  ///< in capital letters
  int capability;         ///< 0 = not of NVIDIA
  int multiprocessors;    ///< that are enabled
};

/// From the architecture white papers of NVIDIA and the data sheets of AMD Instinct. What is named by more words comes
/// first: the H100 has 132 multiprocessors as a module of such boxes, and 114 as a card.
constexpr GpuKind kKinds[] = {{"B300", 103, 148},   {"B200", 100, 148},  {"DGX H100", 90, 132}, {"HGX H100", 90, 132},
                              {"ND H100", 90, 132}, {"AWS P5", 90, 132}, {"H100", 90, 114},     {"H200", 90, 132},
                              {"H800", 90, 114},    {"A100", 80, 108},   {"V100", 70, 80},      {"DGX-2", 70, 80},
                              {"NDV2", 70, 80},     {"MI355", 0, 256},   {"MI325", 0, 304},     {"MI300", 0, 304},
                              {"MI250", 0, 104},    {"MI50", 0, 60}};

std::string inCapitals(std::string_view text) {
  std::string capitals(text);
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return capitals;
}

bool hasSummingBox(const fabric::Fabric& fabric) {
  return std::any_of(fabric.nodes().begin(), fabric.nodes().end(),
                     [](const fabric::Node& node) { return !node.box.empty() && node.multicast && node.aggregation; });
}

}  // namespace

std::string namesOf(const fabric::Fabric& fabric) {
  std::string names = fabric.name();
  for (const fabric::Node& node : fabric.nodes()) {
    names += ' ' + node.id + ' ' + node.box;
  }
  return inCapitals(names);
}

int likelyCapability(const fabric::Fabric& fabric) {
  const std::string names = namesOf(fabric);
  for (const GpuKind& kind : kKinds) {
    if (kind.capability > 0 && names.find(kind.name) != std::string::npos) {
      return kind.capability;
    }
  }
  return hasSummingBox(fabric) ? 90 : 80;
}

int likelyMultiprocessors(std::string_view text) {
  std::string names = inCapitals(text);
  int least = std::numeric_limits<int>::max();
  for (const GpuKind& kind : kKinds) {
    for (std::size_t at = names.find(kind.name); at != std::string::npos; at = names.find(kind.name)) {
      least = std::min(least, kind.multiprocessors);
      names.erase(at, kind.name.size());
    }
  }
  return least == std::numeric_limits<int>::max() ? kAnyMultiprocessors : least;
}

}  // namespace coppice::workflow
