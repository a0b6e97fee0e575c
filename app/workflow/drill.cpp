// SPDX-License-Identifier: Apache-2.0
#include "workflow/drill.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/failure.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "io/forest_json.hpp"
#include "live/damaged_fabric.hpp"
#include "live/failure_classes.hpp"
#include "live/failure_groups.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/request.hpp"
#include "workflow/schedule_file.hpp"

namespace coppice::workflow {
namespace {

using live::PartFailure;

/// GPUs that are alike send alike.
std::vector<std::int64_t> amountsOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule) {
  if (!schedule.root) {
    return schedule.amounts;
  }
  std::vector<std::int64_t> amounts(static_cast<std::size_t>(fabric.gpuCount()), 0);
  amounts[*schedule.root] = 1;
  return amounts;
}

Result<std::vector<PartFailure>> failuresOf(const DrillBase& base, const DrillSelection& selection) {
  const fabric::Description& description = base.loaded.description;
  if (selection.group == "leaf") {
    return live::leafFailures(description);
  }
  if (selection.group == "rail") {
    return live::railFailures(description);
  }
  if (!selection.group.empty()) {
    const auto text = readText(selection.group, {});
    if (!text) {
      return text.error();
    }
    auto groups = live::parseGroups(description, *text);
    if (!groups) {
      Error error = groups.error();
      error.where.file = selection.group;
      return error;
    }
    return groups;
  }
  std::vector<PartFailure> failures = live::singleFailures(description, selection.parts.contains(live::Part::box));
  std::erase_if(failures, [&](const PartFailure& failure) { return !selection.parts.contains(failure.part); });
  return failures;
}

std::vector<DrillCase> casesOf(const std::vector<PartFailure>& failures, const std::vector<std::size_t>& classes,
                               bool everyPart) {
  std::vector<DrillCase> cases;
  std::map<std::size_t, std::size_t> known;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const auto [at, isNew] = known.try_emplace(classes[i], cases.size());
    if (!isNew) {
      ++cases[at->second].alike;
    }
    if (isNew || everyPart) {
      cases.push_back({failures[i], at->second, 1});
    }
  }
  for (DrillCase& each : cases) {
    each.alike = cases[each.first].alike;
  }
  return cases;
}

/// The pairs of one failure of each class with all others, one of each class of what the first one leaves. Classes are
/// taken in their order, so that pairs of two different classes are counted once, and those within a class twice.
class Pairs {
public:
  Pairs(const DrillBase& base, const std::vector<PartFailure>& failures, const std::vector<std::size_t>& classes)
      : m_base(base), m_failures(failures), m_classes(classes) {}

  std::vector<DrillCase> list(const Progress& progress) {
    for (std::size_t i = 0; i < m_failures.size(); ++i) {
      if (m_classes[i] == i) {
        throwIfCancelled(progress);
        progress.report("pairs", static_cast<double>(i) / static_cast<double>(m_failures.size()));
        addWith(i, progress);
      }
    }
    return std::move(m_cases);
  }

private:
  /// Neither is taken along by the other one: a link by its switch, a GPU by its box.
  static bool areApart(const PartFailure& a, const PartFailure& b) {
    const live::PartFailure both = live::together(a, b);
    return both.nodes.size() == a.nodes.size() + b.nodes.size() &&
           both.losses.size() == a.losses.size() + b.losses.size();
  }

  void addWith(std::size_t first, const Progress& progress) {
    const auto damaged = orThrow(live::damagedFabric(m_base.loaded.description, m_failures[first]));
    const auto alike = static_cast<std::size_t>(std::ranges::count(m_classes, first));
    std::vector<std::size_t> others;
    std::vector<PartFailure> left;
    for (std::size_t i = 0; i < m_failures.size(); ++i) {
      PartFailure other = live::onDamaged(damaged, m_failures[i]);
      if (i != first && m_classes[i] >= first && areApart(m_failures[first], m_failures[i])) {
        others.push_back(i);
        left.push_back(std::move(other));
      }
    }
    std::vector<std::size_t> classes(left.size());
    std::iota(classes.begin(), classes.end(), std::size_t{0});
    if (const auto fabric = fabric::Fabric::build(damaged.description)) {
      std::vector<std::int64_t> amounts;
      const std::vector<std::int64_t> before = amountsOf(m_base.loaded.fabric, m_base.schedule);
      for (const fabric::NodeIndex gpu : fabric->gpus()) {
        const auto node = m_base.loaded.fabric.find(fabric->nodes()[gpu].id);
        if (!before.empty()) {
          amounts.push_back(before[m_base.loaded.fabric.nodes()[*node].rank]);
        }
      }
      classes = live::failureClasses(*fabric, amounts, left, progress);
    } else {
      std::ranges::fill(classes, std::size_t{0});  // nothing is left to save
    }
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> counts;
    for (std::size_t i = 0; i < left.size(); ++i) {
      ++counts[{m_classes[others[i]], classes[i]}];
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto found = counts.find({m_classes[others[i]], classes[i]});
      if (found == counts.end()) {
        continue;
      }
      const std::size_t ordered = alike * found->second;
      counts.erase(found);
      const bool isWithin = m_classes[others[i]] == first;
      m_cases.push_back({live::together(m_failures[first], m_failures[others[i]]), m_cases.size(),
                         isWithin ? std::max<std::size_t>(1, ordered / 2) : ordered});
    }
  }

  const DrillBase& m_base;
  const std::vector<PartFailure>& m_failures;
  const std::vector<std::size_t>& m_classes;
  std::vector<DrillCase> m_cases;
};

Outcome requireTrees(Collective collective) {
  if (parseForestCollective(toString(collective))) {
    return Done{};
  }
  return optionError("collective", std::string(toString(collective)) + " has no trees that could be repaired",
                     "use allgather, reduce_scatter, allreduce, broadcast or reduce");
}

}  // namespace

std::vector<std::string> partNames(const std::vector<PartFailure>& failures) {
  std::vector<std::string> names;
  std::map<std::string, int> counts;
  for (const PartFailure& failure : failures) {
    const std::string name = live::described(failure);
    const int count = ++counts[name];
    names.push_back(count == 1 ? name : name + " (" + std::to_string(count) + ")");
  }
  return names;
}

Result<fabric::Description> withoutParts(const fabric::Description& description,
                                         const std::vector<std::string>& names) {
  if (names.empty()) {
    return description;
  }
  const std::vector<PartFailure> failures = live::singleFailures(description, true);
  const std::vector<std::string> known = partNames(failures);
  PartFailure all{live::Part::group, {}};
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      return Error{ErrorCode::badUsage, "the fabric has no " + name, "choose another failure"};
    }
    all = live::together(all, failures[static_cast<std::size_t>(found - known.begin())]);
  }
  auto damaged = live::damagedFabric(description, all);
  return damaged ? Result<fabric::Description>(std::move(damaged->description)) : damaged.error();
}

Result<DrillBase> makeDrillBase(LoadedFabric loaded, const Demand& demand, const Progress& progress) {
  if (const Outcome has = requireTrees(demand.collective); !has) {
    return has.error();
  }
  forestcoll::Request request = requestOf(demand);
  request.plainSwitches = true;
  request.overlap = forestcoll::Overlap::never;
  request.allreduceBudget = std::chrono::milliseconds(0);
  request.maxTreeBytes = std::min(request.maxTreeBytes, memoryWithinLimits().value_or(request.maxTreeBytes));
  auto generated = forestcoll::generate(loaded.fabric, request, progress);
  if (!generated) {
    return generated.error();
  }
  if (const auto verdict = requireVerified(loaded.fabric, generated->schedule, progress); !verdict) {
    return verdict.error();
  }
  return DrillBase{std::move(loaded), std::move(generated->schedule), {.method = kDefaultMethod}};
}

Result<std::optional<DrillBase>> loadDrillBase(const FabricSource& source, const Progress& progress) {
  if (source.source == "-" || source.source.starts_with(kPresetPrefix)) {
    return std::optional<DrillBase>();
  }
  const auto text = readText(source.source, {}, io::kMaxForestBytes);
  if (!text) {
    return text.error();
  }
  const ScheduleFileKind kind = scheduleFileKind(*text);
  if (kind == ScheduleFileKind::none) {
    return std::optional<DrillBase>();
  }
  if (kind != ScheduleFileKind::forest) {
    return Error{ErrorCode::badUsage,
                 "only schedules of trees can be repaired",
                 "give a .forest.json, or the fabric alone",
                 {.file = source.source}};
  }
  auto loaded = loadFabric(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  auto read = readSchedule(*text, source.source);
  if (!read) {
    return read.error();
  }
  if (read->fabric.digest() != loaded->fabric.digest()) {
    return Error{ErrorCode::badUsage,
                 "the schedule is one of all GPUs of its fabric",
                 "leave --gpus out",
                 {.file = source.source}};
  }
  if (const Outcome verified = requireVerified(read->fabric, read->schedule, progress); !verified) {
    return verified.error();
  }
  return std::optional(
      DrillBase{*std::move(loaded), std::move(std::get<schedule::Schedule>(read->schedule)), std::move(read->origin)});
}

Result<std::vector<DrillCase>> drillCases(const DrillBase& base, const DrillSelection& selection,
                                          const Progress& progress) {
  return coppice::guarded([&]() -> Result<std::vector<DrillCase>> {
    const auto failures = failuresOf(base, selection);
    if (!failures) {
      return failures.error();
    }
    const std::vector<std::size_t> classes =
        live::failureClasses(base.loaded.fabric, amountsOf(base.loaded.fabric, base.schedule), *failures, progress);
    return selection.pairs ? Pairs(base, *failures, classes).list(progress)
                           : casesOf(*failures, classes, selection.everyPart);
  });
}

Result<DrillAnswer> drill(const DrillBase& base, const PartFailure& failure, const forestcoll::RepairOptions& options,
                          const Progress& progress) {
  auto damaged = live::damagedFabric(base.loaded.description, failure);
  if (!damaged) {
    return damaged.error();
  }
  DrillAnswer answer;
  answer.description = std::move(damaged->description);
  auto fabric = fabric::Fabric::build(answer.description);
  if (!fabric) {
    answer.impossible = fabric.error();
    return answer;
  }
  answer.fabric = *std::move(fabric);
  auto repaired = forestcoll::repaired(base.loaded.fabric, base.schedule, *answer.fabric, options, progress);
  if (!repaired) {
    if (repaired.error().code != ErrorCode::infeasible) {
      return repaired.error();
    }
    answer.impossible = repaired.error();
    return answer;
  }
  if (const auto verdict = requireVerified(*answer.fabric, repaired->schedule, progress); !verdict) {
    return verdict.error();
  }
  answer.repaired = *std::move(repaired);
  return answer;
}

Outcome drillAll(const DrillBase& base, const std::vector<DrillCase>& cases, const forestcoll::RepairOptions& options,
                 const std::function<Outcome(std::size_t, const DrillAnswer&)>& use, const Progress& progress) {
  const Progress quiet{.stop = progress.stop};
  std::mutex mutex;
  std::size_t done = 0;
  return coppice::guarded([&] {
    parallelFor(cases.size(), [&](std::size_t i) {
      throwIfCancelled(progress);
      orThrow(use(i, orThrow(drill(base, cases[i].failure, options, quiet))));
      const std::lock_guard lock(mutex);
      progress.report("drill", static_cast<double>(++done) / static_cast<double>(cases.size()));
    });
    return Outcome(Done{});
  });
}

}  // namespace coppice::workflow
