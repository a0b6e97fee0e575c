// SPDX-License-Identifier: Apache-2.0
#include "workflow/switch_plan.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
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

/// One program for the window in a protocol.
Result<PlannedProgram> plannedIn(const Target& target, const Contender& contender, PlannedProgram program,
                                 lowering::Options lowered, program::Protocol protocol, const Progress& progress) {
  const Playable& playable = contender.playable;
  lowered.name = "coppice " + std::string(playable.subject->collectiveName()) + " " + program.name;
  lowered.protocol = protocol;
  lowered.minBytes = program.first;
  lowered.maxBytes = program.last;
  auto exported = target.write(playable.fabric(), *playable.schedule, lowered,
                               program.name + std::string(target.extension), progress);
  if (!exported) {
    return exported.error();
  }
  program.text = std::move(exported->text);
  return program;
}

/// The last of the sizes from the first one on at which the simulation, with latencies by default, finds the protocol
/// faster than Simple; nullopt = not even the first.
Result<std::optional<std::int64_t>> lastFaster(const Target& target, const Contender& contender,
                                               const PlannedProgram& program, const lowering::Options& lowered,
                                               program::Protocol protocol, std::span<const std::int64_t> sizes,
                                               const Progress& progress) {
  const Playable& playable = contender.playable;
  std::optional<std::int64_t> last;
  std::vector<std::unique_ptr<simulate::Subject>> subjects;
  for (const program::Protocol each : {protocol, program::Protocol::simple}) {
    lowering::Options asked = lowered;
    asked.protocol = each;
    asked.maxBytes = std::min(program.last, target.mostPacketBytes);
    const auto exported = target.write(playable.fabric(), *playable.schedule, asked, program.name, progress);
    if (!exported) {
      return exported.error();
    }
    subjects.push_back(exported->file.subject(playable.fabric(), {}));
  }
  for (const std::int64_t size : sizes) {
    if (size < program.first || size > std::min(program.last, target.mostPacketBytes)) {
      continue;
    }
    const auto packets = subjects[0]->simulate(size, {}, progress);
    const auto simple = subjects[1]->simulate(size, {}, progress);
    if (!packets || !simple) {
      return packets ? simple.error() : packets.error();
    }
    if (packets->row.time >= simple->row.time) {
      break;
    }
    last = size;
  }
  return last;
}

/// In Simple, and in another protocol below the first size at which that is no longer faster.
Result<std::vector<PlannedProgram>> plannedFor(const Target& target, const Contender& contender,
                                               const PlannedProgram& program, const lowering::Options& lowered,
                                               std::span<const std::int64_t> sizes, const Progress& progress) {
  std::vector<PlannedProgram> programs;
  PlannedProgram rest = program;
  for (const program::Protocol protocol : target.protocols) {
    if (protocol == program::Protocol::simple || program.first > target.mostPacketBytes) {
      continue;
    }
    const auto last = lastFaster(target, contender, program, lowered, protocol, sizes, progress);
    if (!last && last.error().code == ErrorCode::cancelled) {
      return last.error();
    }
    if (!last || !*last) {
      continue;  // not in this protocol
    }
    const auto next = std::upper_bound(sizes.begin(), sizes.end(), **last);
    PlannedProgram small = program;
    small.last = next == sizes.end() ? program.last : std::min(program.last, *next - 1);
    small.name += "-" + std::string(program::toString(protocol));
    auto planned = plannedIn(target, contender, std::move(small), lowered, protocol, progress);
    if (!planned) {
      return planned.error();
    }
    rest.first = planned->last + 1;
    programs.push_back(*std::move(planned));
    break;
  }
  if (rest.first <= rest.last) {
    auto planned = plannedIn(target, contender, std::move(rest), lowered, program::Protocol::simple, progress);
    if (!planned) {
      return planned.error();
    }
    programs.push_back(*std::move(planned));
  }
  return programs;
}

/// @pre the contender is a schedule
Result<std::vector<PlannedProgram>> planned(const Contender& contender, PlannedProgram program,
                                            const Destination& destination, std::span<const std::int64_t> sizes,
                                            const Progress& progress) {
  const Playable& playable = contender.playable;
  lowering::Options lowered{.runtime = destination.runtime};
  lowered.minBytes = program.first;
  // MSCCL's window ends before its maximum, those of the others with it.
  lowered.maxBytes = lowered.runtime == program::Runtime::msccl ? program.last + 1 : program.last;
  if (destination.target != nullptr) {
    return plannedFor(*destination.target, contender, program, lowered, sizes, progress);
  }
  auto exported = requireProgram(playable.fabric(), *playable.schedule, lowered, program.name + ".xml", progress);
  if (!exported) {
    return exported.error();
  }
  program.text = std::move(exported->xml);
  return std::vector<PlannedProgram>{std::move(program)};
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
                             destination, options.sizes, progress);
      if (program) {
        std::ranges::move(*program, std::back_inserter(plan.programs));
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
