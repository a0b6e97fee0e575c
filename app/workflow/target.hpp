// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "schedule/step_schedule.hpp"
#include "simulate/sweep.hpp"
#include "workflow/facts.hpp"

/// Runtimes with a file format of their own, beside those that read MSCCL XML. What the command line and the window do
/// with them (export, verify, simulate, choose by size, bundle) asks this list alone.
namespace coppice::workflow {

/// One line of what the runtime limits.
struct TargetLimit {
  std::string name;    ///< "threadblocks of a rank"
  std::string value;   ///< what the file has
  std::string limit;   ///< what the runtime takes
  std::string detail;  ///< one sentence
  bool isMet = true;
};

/// What a file of the target is and does.
struct TargetFile {
  bool isOk = false;        ///< no finding is an error
  bool isRunnable = false;  ///< it can be played, whatever comes of it
  std::vector<Finding> findings = {};
  int ranks = 0;
  int root = -1;                ///< of rooted collectives, as given or inferred
  std::string collective = {};  ///< as in the file
  Facts facts = {};
  std::vector<TargetLimit> limits = {};
  std::vector<std::string> notes = {};  ///< what its user has to see to, one sentence each
  std::string proof = {};               ///< what was established, where it is right
  /// Of a rank: what each threadblock does, an operation a line.
  std::function<std::vector<std::vector<std::string>>(int rank)> operations = {};
  /// What plays it on a fabric, which must outlive that. @pre isRunnable
  std::function<std::unique_ptr<simulate::Subject>(const fabric::Fabric&, const simulate::Model&)> subject = {};
};

struct TargetCheckOptions {
  /// Threadblocks that a GPU runs at once; nullopt = what the name of the plan tells, see namedMultiprocessors().
  std::optional<int> multiprocessors = {};
  int root = -1;  ///< -1 = inferred
  /// What a custom collective demands, for this number of ranks; asked where the file does not say what it computes.
  std::function<Result<schedule::CollectiveTable>(int ranks)> goal = {};
};

/// A file that was written, read back and judged. A file that is returned may be saved.
struct ExportedFile {
  std::string text;
  TargetFile file;
  double lowering = 0;   ///< seconds
  double verifying = 0;  ///< seconds
};

/// A file of a launch bundle.
struct LaunchFile {
  std::string name;
  std::string text;
};

struct Target {
  std::string_view id;         ///< word of --target
  std::string_view title;      ///< "MSCCL++ (0.8 and later)"
  std::string_view what;       ///< "an execution plan of MSCCL++"
  std::string_view help;       ///< of --target: "an execution plan of MSCCL++"
  std::string_view format;     ///< in JSON
  std::string_view extension;  ///< ".plan.json"
  /// The fastest of these at the middle of its window is taken where a program is chosen for a band of sizes.
  std::vector<program::Protocol> protocols;
  std::int64_t mostPacketBytes = 0;  ///< protocols but Simple are tried up to here

  /// Errors: those of lowering (limit: it does not fit); verification where what was written is refused.
  Result<ExportedFile> (*write)(const fabric::Fabric&, const schedule::AnySchedule&, const lowering::Options&,
                                const std::string& fileName, const Progress&);
  /// By its words alone.
  bool (*isFile)(std::string_view text);
  /// Errors: badInput (it cannot be read), badUsage (the root is no rank), limit, cancelled.
  Result<TargetFile> (*read)(const std::string& text, const std::string& fileName, const TargetCheckOptions&,
                             const Progress&);
  /// What starts these files, to lie beside them. Errors: badUsage (files that no process can load together).
  Result<std::vector<LaunchFile>> (*launch)(std::span<const LaunchFile> files);
};

/// What a schedule is exported for: a runtime that reads MSCCL XML, or a target.
struct Destination {
  program::Runtime runtime = program::Runtime::msccl;
  const Target* target = nullptr;

  [[nodiscard]] std::string_view id() const { return target != nullptr ? target->id : program::toString(runtime); }
  [[nodiscard]] std::string_view extension() const { return target != nullptr ? target->extension : ".xml"; }
};
/// All of them, in the order in which they are offered.
[[nodiscard]] std::span<const Destination> destinations();

/// In the order in which they are offered.
[[nodiscard]] std::span<const Target> targets();
/// nullptr = none of that name.
[[nodiscard]] const Target* findTarget(std::string_view id);
/// The target whose file this text is; nullptr = none.
[[nodiscard]] const Target* targetOfFile(std::string_view text);
/// "mscclpp (an execution plan of MSCCL++), …".
[[nodiscard]] std::string targetHelp();

}  // namespace coppice::workflow
