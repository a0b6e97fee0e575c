// SPDX-License-Identifier: Apache-2.0
#include "workflow/switch_plan.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "workflow/export_program.hpp"

namespace coppice::workflow {
namespace {

/// Safe as the name of a file: "02-multi-ring".
std::string fileName(std::size_t index, const std::string& name) {
  std::string text = (index < 9 ? "0" : "") + std::to_string(index + 1) + "-";
  for (const char c : name) {
    const bool isSafe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    if (isSafe || text.back() != '-') {
      text += isSafe ? c : '-';
    }
  }
  if (text.back() == '-') {
    text.pop_back();
  }
  return text;
}

/// In the protocol that the simulation, with latencies by default, finds fastest in the middle of the window.
Result<PlannedProgram> plannedFor(const Target& target, const Contender& contender, PlannedProgram program,
                                  lowering::Options lowered, const Progress& progress) {
  const Playable& playable = contender.playable;
  lowered.name = "coppice " + std::string(playable.subject->collectiveName()) + " " + program.name;
  std::optional<Microseconds> fastest;
  std::optional<Error> refused;
  for (const program::Protocol protocol : target.protocols) {
    if (protocol != program::Protocol::simple && program.last > target.mostPacketBytes) {
      continue;
    }
    lowered.protocol = protocol;
    auto exported = target.write(playable.fabric(), *playable.schedule, lowered,
                                 program.name + std::string(target.extension), progress);
    if (!exported) {
      refused = refused ? refused : exported.error();
      continue;
    }
    const auto subject = exported->file.subject(playable.fabric(), {});
    const auto played = subject->simulate((program.first + program.last) / 2, {}, progress);
    if (!played) {
      return played.error();
    }
    if (!fastest || played->row.time < *fastest) {
      fastest = played->row.time;
      program.text = std::move(exported->text);
    }
  }
  if (!fastest) {
    return *refused;
  }
  return program;
}

/// @pre the contender is a schedule
Result<PlannedProgram> planned(const Contender& contender, PlannedProgram program, const Destination& destination,
                               const Progress& progress) {
  const Playable& playable = contender.playable;
  lowering::Options lowered{.runtime = destination.runtime};
  lowered.minBytes = program.first;
  // MSCCL's window ends before its maximum, those of the others with it.
  lowered.maxBytes = lowered.runtime == program::Runtime::msccl ? program.last + 1 : program.last;
  if (destination.target != nullptr) {
    return plannedFor(*destination.target, contender, std::move(program), std::move(lowered), progress);
  }
  auto exported = requireProgram(playable.fabric(), *playable.schedule, lowered, program.name + ".xml", progress);
  if (!exported) {
    return exported.error();
  }
  program.text = std::move(exported->xml);
  return program;
}

}  // namespace

Result<SwitchPlan> switchPlan(std::span<const Contender> contenders, Comparison comparison, const SweepOptions& options,
                              const Destination& destination, const Progress& progress) {
  SwitchPlan plan;
  std::vector<std::size_t> among(contenders.size());
  std::iota(among.begin(), among.end(), std::size_t{0});
  for (bool isWhole = false; !isWhole;) {
    isWhole = true;
    plan.programs.clear();
    for (std::size_t i = 0; i < comparison.bands.size() && isWhole; ++i) {
      const Band& band = comparison.bands[i];
      const Contender& contender = contenders[band.contender];
      const bool isLast = i + 1 == comparison.bands.size();
      auto program = planned(contender,
                             {.contender = band.contender,
                              .first = band.from,
                              .last = isLast ? options.sizes.back() : comparison.bands[i + 1].from - 1,
                              .name = fileName(i, contender.playable.name)},
                             destination, progress);
      if (program) {
        plan.programs.push_back(*std::move(program));
        continue;
      }
      if (program.error().code == ErrorCode::cancelled) {
        return program.error();
      }
      isWhole = false;
      plan.refused.push_back({contender.playable.name, program.error()});
      std::erase(among, band.contender);
    }
    if (isWhole) {
      break;
    }
    if (among.empty()) {
      return Error{ErrorCode::infeasible,
                   "no schedule can be exported as a program of " + std::string(destination.id()) + ": " +
                       plan.refused.front().method + ": " + plan.refused.front().error.message,
                   "leave -o out to see the bands"};
    }
    auto again = comparedAmong(contenders, among, std::move(comparison.rows), options, progress);
    if (!again) {
      return again.error();
    }
    comparison = *std::move(again);
  }
  plan.comparison = std::move(comparison);
  return plan;
}

}  // namespace coppice::workflow
