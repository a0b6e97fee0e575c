// SPDX-License-Identifier: Apache-2.0
#include "workflow/sccl_method.hpp"

#include <string>
#include <utility>

#include "synth/sccl.hpp"

namespace coppice::workflow {
namespace {

/// Beyond, the routes between all pairs and their symmetries take too much memory.
constexpr int kMaxGpus = 256;

Result<Made> generate(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                      const Progress& progress) {
  if (!demand.amounts.empty()) {
    return optionError("amounts", "sccl gives every GPU the same amount of data",
                       "leave --amounts out, or choose another method");
  }
  if (fabric.gpuCount() > kMaxGpus) {
    return Error{ErrorCode::limit,
                 "sccl searches fabrics of up to " + std::to_string(kMaxGpus) + " GPUs; this one has " +
                     std::to_string(fabric.gpuCount()),
                 "choose forestcoll or bfb"};
  }
  const auto goal = schedule::CollectiveTable::make(demand.collective, fabric.gpuCount(), demand.root);
  if (!goal) {
    return goal.error();
  }
  synth::SynthesisOptions options;
  options.seconds = static_cast<double>(values.integer("seconds").value_or(0));
  auto front = synth::synthesizeFront(
      fabric, *goal, {values.integer("max-steps").value_or(0), 0}, options, [](const synth::Candidate&) {}, progress);
  if (!front) {
    return front.error();
  }
  if (progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "interrupted"};
  }
  if (front->points.empty()) {
    return Error{ErrorCode::infeasible,
                 "sccl found no schedule; none has fewer than " + std::to_string(front->leastSteps) + " steps",
                 "allow more with --max-steps or --seconds, or choose another method"};
  }
  return Made{.schedule = std::move(front->points.back().schedule)};
}

}  // namespace

Generator scclMethod() {
  return {
      .id = "sccl",
      .title = "SCCL",
      .description = "Search for schedules of few steps, with bounds that prove how good they are",
      .collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                      Collective::reduce, Collective::alltoall, Collective::gather, Collective::scatter},
      .options = {{.name = "max-steps",
                   .title = "Maximum steps",
                   .help = "The best throughput within this many steps; default: four more than the minimum",
                   .kind = OptionKind::integer,
                   .min = 1,
                   .max = 1000,
                   .placeholder = "STEPS"},
                  {.name = "seconds",
                   .title = "Time limit",
                   .help = "Seconds for the search",
                   .kind = OptionKind::integer,
                   .defaultText = "60",
                   .min = 1,
                   .max = 86400,
                   .placeholder = "SECONDS"}},
      .form = ScheduleForm::steps,
      .generate = generate};
}

}  // namespace coppice::workflow
