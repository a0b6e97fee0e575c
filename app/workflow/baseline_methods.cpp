// SPDX-License-Identifier: Apache-2.0
#include "workflow/baseline_methods.hpp"

#include <string>
#include <utility>

#include "baselines/baselines.hpp"

namespace coppice::workflow {

std::vector<Method> baselineMethods() {
  std::vector<Method> methods;
  for (const baselines::Baseline& baseline : baselines::list()) {
    Method method;
    method.id = baseline.name;
    method.title = baseline.title;
    method.description = baseline.about;
    method.collectives = baseline.collectives;
    method.form = baseline.isForest ? ScheduleForm::forest : ScheduleForm::steps;
    method.front = frontOfOne([name = baseline.name](const fabric::Fabric& fabric, const Demand& demand,
                                                     const OptionValues&, const Progress& progress) -> Result<Made> {
      auto made = baselines::generate(name, fabric, {.collective = demand.collective, .root = demand.root}, progress);
      if (!made) {
        return made.error();
      }
      return Made{.schedule = *std::move(made)};
    });
    methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace coppice::workflow
