// SPDX-License-Identifier: Apache-2.0
#include "workflow/front_method.hpp"

#include <algorithm>
#include <utility>

#include "workflow/sccl_method.hpp"

namespace coppice::workflow {
namespace {

std::vector<FrontMethod>& registry() {
  static std::vector<FrontMethod> methods = {scclFront()};
  return methods;
}

}  // namespace

const FrontMethod* findFrontMethod(std::string_view id) {
  const auto& all = registry();
  const auto found = std::find_if(all.begin(), all.end(), [&](const FrontMethod& each) { return each.id == id; });
  return found != all.end() ? &*found : nullptr;
}

void addFrontMethod(FrontMethod method) {
  registry().push_back(std::move(method));
}

}  // namespace coppice::workflow
