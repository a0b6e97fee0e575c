// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advice/tree_count.hpp"
#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "designer/jobs/snapshot.hpp"
#include "designer/schedules/arc_loads.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/repair/repair.hpp"
#include "io/origin.hpp"
#include "program/program.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_schedule.hpp"
#include "schedule/tree_reader.hpp"
#include "verify/schedule_verifier.hpp"
#include "workflow/facts.hpp"
#include "workflow/method.hpp"
#include "workflow/options.hpp"

namespace coppice::designer {

/// What of a fabric takes part.
struct FabricPart {
  std::vector<std::string> gpus = {};    ///< empty = all
  std::vector<std::string> failed = {};  ///< parts that are gone, as workflow::partNames calls them

  friend auto operator<=>(const FabricPart&, const FabricPart&) = default;
};

/// What is asked for with F5. Nodes are named, so that it can be kept beside the result and asked again.
struct ScheduleOptions {
  Collective collective = Collective::allgather;
  std::string root = {};                 ///< broadcast and reduce; empty = the first GPU
  std::vector<std::string> gpus = {};    ///< that take part; empty = all
  std::vector<std::string> failed = {};  ///< parts that are gone: the schedule is one for a failure
  /// allgather and reduce_scatter: relative data of each GPU, as forestcoll::parseAmounts reads it; empty = equal.
  std::string amounts = {};
  std::string method = workflow::kDefaultMethod;  ///< one of workflow::methods()
  workflow::Values methodOptions = {};            ///< what differs from their defaults

  /// An option of the method as it is written, or as a number; empty or nullopt where it is not set.
  [[nodiscard]] std::string text(const std::string& option) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& option) const;
  [[nodiscard]] FabricPart part() const { return {gpus, failed}; }

  friend bool operator==(const ScheduleOptions&, const ScheduleOptions&) = default;
};

/// What the file of a schedule says of how it was made. The table of a custom collective is in the schedule itself.
[[nodiscard]] io::Origin originOf(const ScheduleOptions& options);

/// Options of ForestColl that the window knows: with kBestOfK up to kMaxScannedK it shows each k that is tried.
inline constexpr const char* kFixedK = "k";
inline constexpr const char* kBestOfK = "k-max";
inline constexpr const char* kBySizes = "sizes";
inline constexpr const char* kByLoss = "within";
inline constexpr const char* kMaxHeight = "max-height";
inline constexpr const char* kMaxPeers = "max-peers";
inline constexpr const char* kMulticast = "prune";
inline constexpr std::int64_t kMaxScannedK = 64;

using workflow::KValue;

/// A schedule with all that is shown of it. Immutable, shared by the docks and by jobs.
struct ScheduleResult {
  ScheduleOptions options;
  /// What it, or what it is a change of, was made by; without a method where a file does not say it. The method may be
  /// one of another version.
  io::Origin origin = {};
  std::shared_ptr<const fabric::Description> description;  ///< of what was scheduled: the subset, if it is one
  std::optional<fabric::Fabric> fabric;                    ///< always set
  schedule::AnySchedule schedule;
  /// Of a program without a schedule: what is simulated. `schedule` then says which collective, and has no transfers.
  std::shared_ptr<const program::Program> program = {};
  verify::ScheduleVerdict verdict;  ///< ok
  Bandwidth algbw;
  std::optional<Bandwidth> bound;  ///< exact; absent where it is not known
  schedule::BoundScope boundScope = schedule::BoundScope::all;
  bool meetsBound = false;                 ///< algbw equals the bound
  bool dependsOnTime = false;              ///< as workflow::Made says
  std::optional<schedule::StepCost> cost;  ///< of a step schedule, always; of a forest never
  // ---- of forests alone, from here to `readers`; loads are those of every schedule
  std::int64_t k = 0;      ///< trees per root; the maximum where roots differ
  std::int64_t trees = 0;  ///< in all, copies counted
  std::int64_t differentTrees = 0;
  bool hasRotations = false;  ///< the trees are those of one GPU and their images
  schedule::Heights heights;  ///< means are those of the last forest
  std::vector<ArcLoad> loads;
  std::vector<KValue> scanned;              ///< kBestOfK: each k that was tried
  std::optional<advice::TreeCount> chosen;  ///< kBySizes: its k and what it gives up
  /// With which every link carries a whole number of trees: k of the ForestColl paper. 0 = not known.
  std::int64_t paperK = 0;
  std::int64_t optimumK = 0;  ///< the minimum known that reaches the bound; 0 = not known
  QString name = {};          ///< that it is given in the list; empty = by what was asked for
  double seconds = 0;         ///< generation and verification
  /// What the method says of it, as the command line prints it; empty for a schedule of a file.
  workflow::Facts methodFacts = {};
  std::optional<forestcoll::RepairCount> repair;  ///< of a schedule that was repaired here
  /// Copy it before reading trees; by half: reduce, broadcast.
  std::array<std::optional<schedule::TreeReader>, 2> readers;

  /// nullptr for a step schedule.
  [[nodiscard]] const schedule::Schedule* forests() const { return std::get_if<schedule::Schedule>(&schedule); }
  /// nullptr for a forest.
  [[nodiscard]] const schedule::StepSchedule* stepSchedule() const {
    return std::get_if<schedule::StepSchedule>(&schedule);
  }
  [[nodiscard]] const schedule::Forest* forest(std::size_t half) const {
    if (forests() == nullptr) {
      return nullptr;
    }
    const std::optional<schedule::Forest>& forest = half == 0 ? forests()->reduceForest : forests()->broadcastForest;
    return forest ? &*forest : nullptr;
  }
  [[nodiscard]] const std::string& fabricDigest() const { return schedule::digestOf(schedule); }
  [[nodiscard]] std::optional<fabric::Rank> root() const { return schedule::rootOf(schedule); }
  /// "Trees in two phases": an allreduce by reduce trees, then broadcast trees.
  [[nodiscard]] bool hasTwoForests() const { return forest(0) != nullptr && forest(1) != nullptr; }
  /// Both forests run at the same time.
  [[nodiscard]] bool isOverlapped() const { return forests() != nullptr && forests()->overlapped; }
  /// Trees over a link as a number to show: those that share it at the same time.
  [[nodiscard]] std::int64_t treesAtOnce(const ArcLoad& load) const {
    return isOverlapped() ? load.trees[0] + load.trees[1] : std::max(load.trees[0], load.trees[1]);
  }
  /// "208 trees", "960 transfers"
  [[nodiscard]] QString sizeText() const;
  /// "ForestColl, maximum height 6 hops"; empty where it is not known. Not longer than a line or two.
  [[nodiscard]] QString methodText() const;
  /// "98.4 %", or "–" where the bound is not known.
  [[nodiscard]] QString shareOfBound() const;
  /// "Meets the bound, verified", or what else the verifier established.
  [[nodiscard]] QString verdictText() const;
  /// The numbers behind the verdict, in one or two sentences.
  [[nodiscard]] QString verdictDetails() const;
};
using ScheduleResultPtr = std::shared_ptr<const ScheduleResult>;

/// The description of what takes part. Errors: badUsage.
[[nodiscard]] Result<fabric::Description> chosenPart(const fabric::Description& facts, const FabricPart& part);

/// Generates, verifies and measures. Meant for another thread. Errors: those of core, and verification where the
/// independent verifier rejects the trees.
[[nodiscard]] Result<ScheduleResultPtr> makeSchedule(const fabric::Description& facts, const ScheduleOptions& options,
                                                     const Progress& progress);

/// The same for a schedule that exists: verifies and measures. Errors: verification, overflow, cancelled, limit.
[[nodiscard]] Result<ScheduleResultPtr> examineSchedule(fabric::Description description, fabric::Fabric fabric,
                                                        schedule::AnySchedule schedule, const ScheduleOptions& options,
                                                        const Progress& progress);

/// The schedule for the fabric without more parts, with as many of its trees as can stay. Meant for another thread.
/// Errors: those of forestcoll::repaired, badUsage (a schedule in steps), and those of examineSchedule.
[[nodiscard]] Result<ScheduleResultPtr> repairSchedule(const fabric::Description& facts, const ScheduleResult& base,
                                                       const std::vector<std::string>& failed,
                                                       const Progress& progress);

/// algbw for k = first to last, by the options' collective and root; `onValue` hears each as it is known (on this
/// thread). Errors: those of core; cancelled.
Outcome scanTreeCounts(const fabric::Fabric& fabric, const ScheduleOptions& options, std::int64_t first,
                       std::int64_t last, const std::function<void(const KValue&)>& onValue, const Progress& progress);

/// The digest that a schedule with these options would have now; empty where the fabric has faults.
[[nodiscard]] std::string digestNow(const fabric::Description& facts, const FabricPart& part);

// ---- files: `.forest.json` or `.schedule.json`, with the options as one more key of the embedded fabric

inline const QString kForestSuffix = QStringLiteral(".forest.json");
inline const QString kStepsSuffix = QStringLiteral(".schedule.json");
/// By the form of the schedule.
[[nodiscard]] const QString& fileSuffix(const ScheduleResult& result);
/// What the method of the options makes.
[[nodiscard]] const QString& fileSuffix(const ScheduleOptions& options);

/// Writes the file in one step. Errors: io, cancelled.
Outcome saveSchedule(const QString& path, const ScheduleResult& result, const Progress& progress = {});
/// Reads, verifies and measures. Errors: io, badInput with the place, verification.
[[nodiscard]] Result<ScheduleResultPtr> loadSchedule(const QString& path, const Progress& progress);
/// The same of a text; fileName is for messages.
[[nodiscard]] Result<ScheduleResultPtr> readSchedule(const std::string& text, const QString& fileName,
                                                     const Progress& progress);

}  // namespace coppice::designer
