// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/claims.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/options.hpp"

/// The methods that make schedules. The command line and the window read this list, so a new method needs one entry in
/// method.cpp beside its own folder in core/.
namespace coppice::workflow {

/// The id of the method that is used where none is named.
inline constexpr const char* kDefaultMethod = "forestcoll";
/// Of ForestColl's height-effort.
inline constexpr int kMaxHeightEffort = 8;

/// algbw with a number of trees per root.
struct KValue {
  std::int64_t k = 0;
  Bandwidth algbw;
};

/// A forest, or transfers in steps.
using schedule::AnySchedule;

struct Fact;    // facts.hpp
struct Judged;  // make_schedule.hpp

/// What a schedule is made for.
struct Demand {
  Collective collective = Collective::allgather;
  std::optional<fabric::Rank> root = {};   ///< broadcast, reduce, gather and scatter
  std::vector<std::int64_t> amounts = {};  ///< relative data of each rank, where hasAmounts(); empty = equal
};

/// What there is to say of a schedule that only its method knows. @param judged nullptr: of the fabric alone
using Describe = std::function<std::vector<Fact>(const LoadedFabric& loaded, const Judged* judged)>;

/// What a method made, unverified.
struct Made {
  AnySchedule schedule;
  std::string name = {};  ///< beside others of its front: "sccl (6, 3, 7)"; empty = the id of the method
  Claims claims = {};
  Describe facts = {};                                 ///< empty = there are none
  std::vector<forestcoll::StageSeconds> seconds = {};  ///< of its stages, in order
  std::optional<forestcoll::Optimum> optimum = {};     ///< of methods that find it themselves
  std::optional<advice::TreeCount> treeCount = {};     ///< where sizes chose the number of trees
  /// A limit of time ended a part of the search: another machine may find another schedule.
  bool dependsOnTime = false;
};

struct NamedError {
  std::string name;
  Error error;
};

/// All schedules of a method, none of which is the fastest at all sizes.
struct Front {
  std::vector<Made> made;
  std::vector<NamedError> refused = {};  ///< schedules that it could not make, with the reasons
};

/// Which schedules of its front a method is asked for.
enum class Wanted {
  one,  ///< the last of the front is the one that the options ask for; a stopped search gives none
  all   ///< with options that the fabric asks for; a stopped search gives what it has found
};

/// What is known of the best schedule without making it.
struct BestKnown {
  Claims claims;
  Describe facts;
};

/// What a method makes.
enum class ScheduleForm { forest, steps };

/// What a method is for: how lists of methods are grouped.
enum class Family {
  optimal,   ///< reaches the bound, or proves how near it is
  fewSteps,  ///< as few steps as there can be, and the throughput that they allow
  search,    ///< looks among many schedules for a limited time
  inUse      ///< what libraries do today, for comparison
};

struct Method {
  template <typename Value>
  using Make = std::function<Result<Value>(const fabric::Fabric&, const Demand&, const OptionValues&, const Progress&)>;

  std::string id;           ///< "forestcoll", as on the command line
  std::string title;        ///< "ForestColl", as in the window
  std::string description;  ///< one sentence
  std::vector<Collective> collectives;
  Family family = Family::inUse;
  std::vector<Option> options = {};
  ScheduleForm form = ScheduleForm::forest;  ///< of kForestCollectives; gather, scatter and alltoall are steps
  bool hasAmounts = false;                   ///< ranks may have different amounts of data
  std::string timeOption = {};               ///< the option that limits its time, in seconds; empty = it needs no limit
  /// Unverified. Errors: badUsage as optionError(); those of core; cancelled.
  std::function<Result<Front>(const fabric::Fabric&, const Demand&, const OptionValues&, Wanted, const Progress&)>
      front;
  Make<BestKnown> known = {};  ///< for fabrics whose schedules are too large to make; empty = nothing is known so

  [[nodiscard]] bool makes(Collective collective) const;
};

/// The front of a method that makes one schedule.
[[nodiscard]] decltype(Method::front) frontOfOne(Method::Make<Made> make);

/// All methods, the default one first.
[[nodiscard]] std::span<const Method> methods();
/// nullptr where there is none of that id.
[[nodiscard]] const Method* findMethod(std::string_view id);
/// "forestcoll, ring": for messages and help.
[[nodiscard]] std::string methodNames();

}  // namespace coppice::workflow
