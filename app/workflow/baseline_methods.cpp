// SPDX-License-Identifier: Apache-2.0
#include "workflow/baseline_methods.hpp"

#include <string>
#include <utility>

#include "baselines/baselines.hpp"

namespace coppice::workflow {

std::vector<Generator> baselineMethods() {
  std::vector<Generator> methods;
  for (const baselines::Baseline& baseline : baselines::list()) {
    Generator method;
    method.id = baseline.name;
    method.title = baseline.title;
    method.description = baseline.about;
    method.collectives = baseline.collectives;
    // Only this one is made of trees.
    method.form = baseline.name == "in-network" ? ScheduleForm::forest : ScheduleForm::steps;
    method.generate = [name = baseline.name](const fabric::Fabric& fabric, const Demand& demand, const OptionValues&,
                                             const Progress& progress) -> Result<Made> {
      if (!demand.amounts.empty()) {
        return optionError("amounts", std::string(name) + " gives every GPU the same amount of data",
                           "leave --amounts out, or choose another method");
      }
      auto made = baselines::generate(name, fabric, {.collective = demand.collective, .root = demand.root}, progress);
      if (!made) {
        return made.error();
      }
      return Made{.schedule = *std::move(made)};
    };
    methods.push_back(std::move(method));
  }
  return methods;
}

}  // namespace coppice::workflow
