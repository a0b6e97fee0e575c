// SPDX-License-Identifier: Apache-2.0
#include "workflow/method.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/baseline_methods.hpp"
#include "workflow/bfb_method.hpp"
#include "workflow/forestcoll_method.hpp"
#include "workflow/nccl_method.hpp"
#include "workflow/overlap_method.hpp"
#include "workflow/sccl_method.hpp"
#include "workflow/taccl_method.hpp"

namespace coppice::workflow {

bool Method::makes(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

decltype(Method::front) frontOfOne(Method::Make<Made> make) {
  return [make = std::move(make)](const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                                  Wanted, const Progress& progress) -> Result<Front> {
    auto made = make(fabric, demand, values, progress);
    if (!made) {
      return made.error();
    }
    Front front;
    front.made.push_back(*std::move(made));
    return front;
  };
}

std::span<const Method> methods() {
  static const std::vector<Method> kMethods = [] {
    // One line for each method, or for a list of them.
    std::vector<Method> all = {forestCollMethod(), overlapMethod(), bfbMethod(),
                               alltoallMethod(),   scclMethod(),    tacclMethod()};
    std::ranges::move(baselineMethods(), std::back_inserter(all));
    all.push_back(ncclMethod());
    return all;
  }();
  return kMethods;
}

const Method* findMethod(std::string_view id) {
  const auto all = methods();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Method& each) { return equalWords(each.id, id); });
  return found != all.end() ? &*found : nullptr;
}

std::string methodNames() {
  return commaList(methods(), &Method::id);
}

}  // namespace coppice::workflow
