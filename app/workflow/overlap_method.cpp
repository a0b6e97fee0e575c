// SPDX-License-Identifier: Apache-2.0
#include "workflow/overlap_method.hpp"

#include <chrono>
#include <utility>

#include "forestcoll/forestcoll.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

Result<Made> generateOverlapped(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                                const Progress& progress) {
  forestcoll::Request request{.collective = demand.collective, .overlap = forestcoll::Overlap::always};
  request.plainSwitches = values.flag("plain-switches");
  request.allreduceBudget = std::chrono::seconds(values.integer("seconds").value_or(0));
  auto made = forestcoll::generate(fabric, request, progress);
  if (!made) {
    return made.error();
  }
  if (!made->schedule.overlapped) {
    return Error{ErrorCode::limit, "The linear program of this allreduce was not solved within its work",
                 "use the method forestcoll, which reduces first and broadcasts then, or allow more seconds"};
  }
  Made result{.schedule = std::move(made->schedule), .seconds = std::move(made->seconds)};
  result.claims.treeBound = made->optimum.boundProof;
  result.claims.plainSwitches = request.plainSwitches;
  result.optimum = std::move(made->optimum);
  return result;
}

}  // namespace

Method overlapMethod() {
  constexpr int kDefaultSeconds = 20;
  constexpr int kMaxSeconds = 86'400;
  return {.id = "forestcoll-overlap",
          .title = "ForestColl, overlapped allreduce",
          .description =
              "Reduces and broadcasts at the same time, over roots of unequal shares: faster than "
              "reduce-scatter then allgather where GPUs have unequal bandwidth.",
          .collectives = {Collective::allreduce},
          .family = Family::optimal,
          .options = {{.name = "seconds",
                       .title = "Work for the linear program",
                       .help = "Work for the linear program, in seconds of one core; it is counted, so that every "
                               "machine stops at the same place",
                       .kind = OptionKind::integer,
                       .defaultText = std::to_string(kDefaultSeconds),
                       .min = 1,
                       .max = kMaxSeconds,
                       .placeholder = "S",
                       .unit = "s"},
                      plainSwitchesOption()},
          .timeOption = "seconds",
          .front = frontOfOne(generateOverlapped)};
}

}  // namespace coppice::workflow
