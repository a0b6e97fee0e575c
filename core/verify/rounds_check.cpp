// SPDX-License-Identifier: Apache-2.0
#include "verify/rounds_check.hpp"

#include <map>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::verify {

Result<std::vector<Finding>> checkRounds(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                         const std::optional<Bandwidth>& unit, const Progress& progress) {
  if (static_cast<std::int64_t>(schedule.rounds.size()) != schedule.stepCount) {
    return Error{ErrorCode::badInput, "The schedule does not state the rounds of its steps"};
  }
  std::map<std::pair<int, int>, std::int64_t> loads;
  return guarded(
      [&]() -> Result<std::vector<Finding>> {
        for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
          if (i % 65536 == 0 && progress.isCancelled()) {
            return Error{ErrorCode::cancelled, "interrupted"};
          }
          const schedule::Transfer transfer = schedule.transfers[i];
          if (transfer.step < 0 || transfer.step >= schedule.stepCount) {
            return Error{ErrorCode::badInput, "Transfer " + std::to_string(i) + " is in a step that does not exist"};
          }
          if (transfer.route < 0 || transfer.route >= schedule.paths.size()) {
            return Error{ErrorCode::badInput, "Transfer " + std::to_string(i) + " has no route"};
          }
          const auto nodes = schedule.paths[transfer.route];
          for (std::size_t hop = 0; hop + 1 < nodes.size(); ++hop) {
            const auto arc = fabric.findArc(nodes[hop], nodes[hop + 1]);
            if (!arc) {
              return Error{ErrorCode::badInput, "The route of transfer " + std::to_string(i) + " leaves the fabric"};
            }
            std::int64_t& load = loads[{transfer.step, *arc}];
            load = checkedAdd(load, transfer.end - transfer.begin);
          }
        }
        std::vector<Finding> findings;
        for (const auto& [place, load] : loads) {
          const auto& [step, index] = place;
          const fabric::Arc& arc = fabric.arcs()[index];
          const Rational perRound = unit ? arc.bandwidth / *unit : Rational(1);
          const std::int64_t room = (perRound * Rational(schedule.rounds[step])).floor();
          if (load > room) {
            findings.push_back({.code = ErrorCode::verification,
                                .text = "The link from " + inQuotes(fabric.nodes()[arc.tail].id) + " to " +
                                        inQuotes(fabric.nodes()[arc.head].id) + " carries " + std::to_string(load) +
                                        " pieces in step " + std::to_string(step) + "; its " +
                                        std::to_string(schedule.rounds[step]) + " rounds hold " +
                                        std::to_string(room)});
          }
        }
        return findings;
      },
      {.overflowFix = {}});
}

}  // namespace coppice::verify
