// SPDX-License-Identifier: Apache-2.0
#include "workflow/generator.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "workflow/alltoall_method.hpp"
#include "workflow/baseline_methods.hpp"
#include "workflow/bfb_method.hpp"
#include "workflow/forestcoll_method.hpp"
#include "workflow/overlap_method.hpp"
#include "workflow/sccl_method.hpp"
#include "workflow/taccl_method.hpp"

namespace coppice::workflow {
namespace {

std::vector<Generator>& generatorRegistry() {
  static std::vector<Generator> methods = [] {
    // One line for each method, or for a list of them.
    std::vector<Generator> all = {forestCollMethod(), overlapMethod(), bfbMethod(),
                                  alltoallMethod(),   scclMethod(),    tacclMethod()};
    std::ranges::move(baselineMethods(), std::back_inserter(all));
    return all;
  }();
  return methods;
}

}  // namespace

bool Generator::makes(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

std::span<const Generator> generators() {
  return generatorRegistry();
}

const Generator* findGenerator(std::string_view id) {
  const auto& all = generatorRegistry();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Generator& each) { return each.id == id; });
  return found != all.end() ? &*found : nullptr;
}

std::string generatorNames() {
  std::string names;
  for (const Generator& each : generatorRegistry()) {
    names += (names.empty() ? "" : ", ") + each.id;
  }
  return names;
}

void addGenerator(Generator generator) {
  generatorRegistry().push_back(std::move(generator));
}

}  // namespace coppice::workflow
