// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/cuda/cases.hpp"
#include "mscclpp/from_program.hpp"
#include "mscclpp/from_trees.hpp"
#include "mscclpp/plan_shell.hpp"

/// Execution plans of MSCCL++ that backends are tried with.
namespace coppice::executor::cuda::test {

using SharedPlan = std::shared_ptr<const mscclpp::ExecutionPlan>;

struct PlanCase {
  std::string preset;
  std::map<std::string, std::string> arguments;
  Collective collective = Collective::allgather;
  program::Protocol protocol = program::Protocol::simple;
  bool inPlace = false;
};

inline std::vector<int> boxesIn(const fabric::Fabric& fabric) {
  std::map<std::string, int> numbers;
  std::vector<int> boxes;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    boxes.push_back(numbers.try_emplace(fabric.nodes()[gpu].box, static_cast<int>(numbers.size())).first->second);
  }
  return boxes;
}

/// By trees. @param root of it
inline Result<SharedPlan> executionPlanOf(const PlanCase& what, int& root) {
  const auto made = generated(what.preset, what.arguments, what.collective);
  if (!made) {
    return made.error();
  }
  root = made->schedule.root.value_or(-1);
  const auto program =
      lowering::lower(made->fabric, made->schedule,
                      {.runtime = program::Runtime::mscclpp, .protocol = what.protocol, .inPlace = what.inPlace});
  if (!program) {
    return program.error();
  }
  auto plan = mscclpp::fromProgram(*program, {.boxOf = boxesIn(made->fabric)});
  return plan ? Result<SharedPlan>(std::make_shared<const mscclpp::ExecutionPlan>(*std::move(plan))) : plan.error();
}

/// An allreduce by NVSwitches, with ports between boxes.
inline Result<SharedPlan> switchPlan(const std::string& boxes, int instances, bool inPlace) {
  const auto description = presets::make("dgx-h100", {{"boxes", boxes}, {"nvls", "true"}});
  const fabric::Fabric fabric = fabric::Fabric::build(*description).value();
  const auto made = forestcoll::generate(fabric, {.collective = Collective::allreduce});
  auto plan =
      mscclpp::fromTrees(fabric, made->schedule,
                         {.boxOf = boxesIn(fabric), .inPlace = inPlace, .instances = instances, .name = "switches"});
  return plan ? Result<SharedPlan>(std::make_shared<const mscclpp::ExecutionPlan>(*std::move(plan))) : plan.error();
}

/// Two launches at a size of `units` chunks of 16 bytes. Empty, or what went wrong.
inline QString runPlan(Backend& backend, const mscclpp::ExecutionPlan& plan, int root, std::int64_t units,
                       DataType type = DataType::float32) {
  const std::int64_t bytes = sizeUnit(plan) * units;
  return runAndCheck(backend, shellOf(plan, root), {.type = type, .bytes = bytes, .piece = bytes}, 8);
}

}  // namespace coppice::executor::cuda::test
