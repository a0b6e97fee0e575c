// SPDX-License-Identifier: Apache-2.0
#include "baselines/builder.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/from_forest.hpp"

/// Blink (Wang et al., MLSys 2020): the best packing of spanning trees from one root. Switches, which Blink does not
/// know, are removed as ForestColl does ("Blink+Switch" in dissertation 4.6). Allreduce reduces to the root, then
/// broadcasts from it, so that the links of the root are passed twice.
namespace coppice::baselines {
namespace {

/// Adds the trees of one direction as a phase.
void addTrees(Builder& builder, Collective collective, int phase, std::int64_t& denominator,
              std::vector<schedule::StepSchedule>& parts) {
  forestcoll::Request request;
  request.collective = collective;
  request.root = builder.root();
  const auto generated = orThrow(forestcoll::generate(builder.fabric(), request, builder.progress()));
  auto part = orThrow(schedule::stepScheduleOf(builder.fabric(), generated.schedule, 1, builder.progress()));
  denominator = leastCommonMultiple(denominator, part.denominator);
  parts.resize(phase + 1);
  parts[phase] = std::move(part);
}

}  // namespace

void addBlink(Builder& builder) {
  std::vector<schedule::StepSchedule> parts;
  std::int64_t denominator = 1;
  int phase = 0;
  if (reduces(builder.collective())) {
    addTrees(builder, Collective::reduce, phase++, denominator, parts);
  }
  if (builder.collective() != Collective::reduce) {
    addTrees(builder, Collective::broadcast, phase++, denominator, parts);
  }
  builder.setAsynchronous();
  builder.setDenominator(denominator);
  for (int p = 0; p < phase; ++p) {
    const schedule::StepSchedule& part = parts[p];
    const std::int64_t scale = denominator / part.denominator;
    const schedule::PathId first = builder.addRoutes(part.paths);
    for (std::size_t i = 0; i < part.transfers.size(); ++i) {
      const schedule::Transfer transfer = part.transfers[i];
      builder.send(p, 0, transfer.begin * scale, transfer.end * scale, transfer.from, transfer.to,
                   first + transfer.route, transfer.reduces);
    }
  }
}

}  // namespace coppice::baselines
