// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "advice/tree_count.hpp"
#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/method.hpp"
#include "workflow/options.hpp"

/// The methods that make schedules. `coppice-cli generate --method` and the window's Generate dialog read this list, so
/// a new method needs one entry here (generator.cpp) beside its own folder in core/.
namespace coppice::workflow {

/// A forest, or transfers in steps.
using schedule::AnySchedule;

/// What a schedule is made for.
struct Demand {
  Collective collective = Collective::allgather;
  std::optional<fabric::Rank> root = {};   ///< broadcast, reduce, gather and scatter
  std::vector<std::int64_t> amounts = {};  ///< relative data of each rank, where hasAmounts(); empty = equal
};

/// What a method made.
struct Made {
  AnySchedule schedule;
  std::vector<forestcoll::StageSeconds> seconds = {};  ///< of its stages, in order
  /// Only of methods that find the optimum themselves.
  std::optional<forestcoll::Optimum> optimum = {};
  std::optional<advice::TreeCount> treeCount = {};  ///< where sizes chose the number of trees
};

/// What a method makes.
enum class ScheduleForm { forest, steps };

struct Generator {
  std::string id;           ///< "forestcoll", as on the command line
  std::string title;        ///< "ForestColl", as in the window
  std::string description;  ///< one sentence
  std::vector<Collective> collectives;
  std::vector<Option> options = {};
  ScheduleForm form = ScheduleForm::forest;  ///< of kForestCollectives; gather, scatter and alltoall are steps
  /// Makes a schedule, unverified. Errors: badUsage as optionError(); those of core.
  std::function<Result<Made>(const fabric::Fabric&, const Demand&, const OptionValues&, const Progress&)> generate;

  [[nodiscard]] bool makes(Collective collective) const;
};

/// All methods, the default one first.
[[nodiscard]] std::span<const Generator> generators();
/// nullptr where there is none of that id.
[[nodiscard]] const Generator* findGenerator(std::string_view id);
/// "forestcoll, ring": for messages and help.
[[nodiscard]] std::string generatorNames();

/// Adds a method to those of this program. Call it before the lists are read: spans and pointers that were handed out
/// become invalid. Not for use from several threads.
void addGenerator(Generator generator);

}  // namespace coppice::workflow
