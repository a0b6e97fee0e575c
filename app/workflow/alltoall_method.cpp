// SPDX-License-Identifier: Apache-2.0
#include "workflow/alltoall_method.hpp"

#include <utility>

#include "verify/exchange_check.hpp"

namespace coppice::workflow {
namespace {

Result<Made> generateAllToAll(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                              const Progress& progress) {
  if (!demand.amounts.empty()) {
    return optionError("amounts", "every pair of GPUs exchanges the same amount of data", "leave --amounts out");
  }
  const auto request = alltoallRequest(values);
  if (!request) {
    return request.error();
  }
  const auto optimum = verifiedAlltoall(fabric, *request, progress);
  if (!optimum) {
    return optimum.error();
  }
  auto made = alltoall::scheduleOf(fabric, optimum->routing, alltoall::kMaxTransfers, progress);
  if (!made) {
    return made.error();
  }
  return Made{.schedule = *std::move(made)};
}

}  // namespace

std::vector<Option> alltoallOptions() {
  constexpr int kDefaultSeconds = 8;
  constexpr int kMaxSeconds = 86'400;
  constexpr int kMaxParts = 1 << 30;
  return {
      {.name = "seconds",
       .title = "Seconds",
       .help = "Processor seconds for the search for better routes and bounds; most fabrics are solved exactly sooner",
       .kind = OptionKind::integer,
       .defaultText = std::to_string(kDefaultSeconds),
       .max = kMaxSeconds,
       .placeholder = "S"},
      {.name = "parts",
       .title = "Parts",
       .help = "Round the routes to this many equal parts of what a GPU sends to another, for programs with few chunks",
       .kind = OptionKind::integer,
       .min = 1,
       .max = kMaxParts,
       .placeholder = "P"}};
}

Result<alltoall::Request> alltoallRequest(const OptionValues& values) {
  alltoall::Request request;
  request.budget = std::chrono::seconds(values.integer("seconds").value_or(0));
  request.parts = values.integer("parts");
  return request;
}

Result<alltoall::Optimum> verifiedAlltoall(const fabric::Fabric& fabric, const alltoall::Request& request,
                                           const Progress& progress) {
  auto optimum = alltoall::optimum(fabric, request, progress);
  if (!optimum) {
    return optimum;
  }
  progress.report("verifying", 0);
  const auto upper = verify::provenExchangeBound(fabric, optimum->lengths, progress);
  if (!upper) {
    return upper.error();
  }
  const auto lower = verify::provenExchangeRate(fabric, optimum->routing, progress);
  if (!lower) {
    return lower.error();
  }
  if (*upper != optimum->upper || *lower != optimum->lower) {
    return Error{ErrorCode::verification, "the certificates of the all-to-all give " + toFraction(*lower) + " and " +
                                              toFraction(*upper) + ", not the rates that were claimed"};
  }
  return optimum;
}

Generator alltoallMethod() {
  return {.id = "alltoall",
          .title = "Optimal alltoall",
          .description = "All-to-all over the routes of the maximum concurrent flow; GPUs on a route forward data",
          .collectives = {Collective::alltoall},
          .options = alltoallOptions(),
          .form = ScheduleForm::steps,
          .generate = generateAllToAll};
}

}  // namespace coppice::workflow
