// SPDX-License-Identifier: Apache-2.0
#include "workflow/front_method.hpp"

#include <algorithm>
#include <utility>

#include "workflow/bfb_method.hpp"
#include "workflow/overlap_method.hpp"
#include "workflow/sccl_method.hpp"
#include "workflow/taccl_method.hpp"

namespace coppice::workflow {
namespace {

std::vector<FrontMethod>& registry() {
  static std::vector<FrontMethod> methods = {bfbFront(), scclFront(), timedMethod(tacclMethod(), "search-time"),
                                             timedMethod(overlapMethod(), "seconds")};
  return methods;
}

}  // namespace

FrontMethod timedMethod(const Generator& generator, std::string timeOption) {
  FrontMethod method{.id = generator.id, .timeOption = std::move(timeOption), .generate = {}};
  method.generate = [id = generator.id, generate = generator.generate](
                        const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                        const Progress& progress) -> Result<FrontSchedules> {
    auto made = generate(fabric, demand, values, progress);
    if (!made) {
      return made.error();
    }
    return FrontSchedules{.schedules = {{id, std::move(made->schedule)}}};
  };
  return method;
}

const FrontMethod* findFrontMethod(std::string_view id) {
  const auto& all = registry();
  const auto found = std::find_if(all.begin(), all.end(), [&](const FrontMethod& each) { return each.id == id; });
  return found != all.end() ? &*found : nullptr;
}

void addFrontMethod(FrontMethod method) {
  registry().push_back(std::move(method));
}

}  // namespace coppice::workflow
