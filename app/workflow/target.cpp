// SPDX-License-Identifier: Apache-2.0
#include "workflow/target.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "workflow/mscclpp_target.hpp"

namespace coppice::workflow {

std::span<const Target> targets() {
  // One line for each target, or for a list of them.
  static const std::vector<Target> kTargets = mscclppTargets();
  return kTargets;
}

std::span<const Destination> destinations() {
  static const std::vector<Destination> kDestinations = [] {
    std::vector<Destination> all;
    for (const program::Runtime runtime : program::kRuntimes) {
      all.push_back({.runtime = runtime});
    }
    for (const Target& target : targets()) {
      all.push_back({.runtime = program::Runtime::mscclpp, .target = &target});
    }
    return all;
  }();
  return kDestinations;
}

const Target* findTarget(std::string_view id) {
  const auto all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& each) { return equalWords(each.id, id); });
  return found != all.end() ? &*found : nullptr;
}

const Target* targetOfFile(std::string_view text) {
  const auto all = targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Target& each) { return each.isFile(text); });
  return found != all.end() ? &*found : nullptr;
}

std::string targetHelp() {
  return commaList(targets(),
                   [](const Target& each) { return std::string(each.id) + " (" + std::string(each.help) + ")"; });
}

}  // namespace coppice::workflow
