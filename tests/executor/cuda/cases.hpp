// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <map>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "check/reference.hpp"
#include "engine/backend.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "plan/plan.hpp"
#include "presets/presets.hpp"

/// Schedules and sizes that backends are tried with.
namespace coppice::executor::cuda::test {

inline constexpr std::uint64_t kDataSeed = 20261121;
inline const std::vector<Collective> kCollectives{Collective::allgather, Collective::reduceScatter,
                                                  Collective::allreduce, Collective::broadcast, Collective::reduce};

struct Case {
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::int64_t bytes = 0;
  std::int64_t piece = 4096;
  int rounds = 2;
};

inline PlanSet plansOf(const program::Program& program, int depth = 0) {
  return makePlans(program, {.depth = depth}).value();
}

inline const Plan& planOf(const PlanSet& set) {
  return set.inPlace ? *set.inPlace : *set.outOfPlace;
}

/// Runs and checks this many rounds; from the second on the counters of those before matter. Empty, or what went wrong.
inline QString runAndCheck(Backend& backend, const Plan& plan, const Case& what, int depth) {
  const auto geometry =
      makeGeometry(plan, {.type = what.type, .bytes = what.bytes, .pieceBytes = what.piece, .depth = depth});
  if (!geometry) {
    return QString::fromStdString(describe(geometry.error()));
  }
  if (const Outcome ready = backend.prepare(plan, *geometry); !ready) {
    return QString::fromStdString(describe(ready.error()));
  }
  const Reference reference(plan, *geometry, what.op, kDataSeed);
  for (int round = 0; round < what.rounds; ++round) {
    if (const Outcome filled = reference.fill(backend); !filled) {
      return QString::fromStdString(describe(filled.error()));
    }
    const RunResult result = backend.run({.op = what.op, .stallSeconds = 100});
    if (!result) {
      return QString::fromStdString(describe(result.failure().error));
    }
    const auto report = reference.check(backend);
    if (!report || report->wrong != 0 || report->damagedGuards != 0) {
      const auto& example = report->examples;
      return QString("round %1: %2 wrong, %3 guards damaged; %4")
          .arg(round)
          .arg(report->wrong)
          .arg(report->damagedGuards)
          .arg(example.empty()
                   ? QString()
                   : QString("rank %1 element %2: %3 instead of %4")
                         .arg(example[0].rank)
                         .arg(example[0].element)
                         .arg(QString::fromStdString(example[0].found), QString::fromStdString(example[0].expected)));
    }
  }
  return {};
}

/// The schedule of a preset with its default parameters, or those given.
struct Generated {
  fabric::Fabric fabric;
  schedule::Schedule schedule;

  [[nodiscard]] Result<program::Program> lowered(bool inPlace) const {
    return lowering::lower(fabric, schedule, {.inPlace = inPlace});
  }
};
inline Result<Generated> generated(const std::string& preset, const std::map<std::string, std::string>& arguments,
                                   Collective collective) {
  const auto description = presets::make(preset, arguments);
  if (!description) {
    return description.error();
  }
  const fabric::Fabric fabric = fabric::Fabric::build(*description).value();
  forestcoll::Request request;
  request.collective = collective;
  request.plainSwitches = true;  // programs send between GPUs
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    request.root = fabric.gpuCount() / 3;
  }
  auto made = forestcoll::generate(fabric, request);
  if (!made) {
    return made.error();
  }
  return Generated{fabric, std::move(made->schedule)};
}

}  // namespace coppice::executor::cuda::test
