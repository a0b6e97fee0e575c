// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "program/program.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"
#include "simulate/engine.hpp"
#include "simulate/forest_job.hpp"
#include "simulate/job.hpp"
#include "simulate/step_job.hpp"

namespace coppice::simulate {

/// One size of a simulation.
struct Row {
  std::int64_t size = 0;  ///< bytes
  Microseconds time{};
  Throughput algbw = {};
  Throughput busbw = {};
  std::uint32_t pieces = 1;   ///< of each tree or transfer; of a program: turns of its loop
  Microseconds resolution{};  ///< between two computations of rates; 0 = exact
};

/// Runs of one row, after each other (an allreduce of trees has two).
struct Phase {
  const Job* job = nullptr;
  Run run;
};
struct Details {
  Row row = {};
  std::vector<Phase> phases = {};
  /// Keeps the jobs of the phases.
  std::shared_ptr<const void> owner = {};
};

struct SizeOptions {
  /// Absent: Subject::defaultPieces, doubled or halved while that is faster where the run has no more than
  /// kMaxSearchedMessages messages.
  std::optional<std::uint32_t> pieces = {};
  bool record = false;                          ///< critical path and intervals
  std::optional<Microseconds> resolution = {};  ///< as RunOptions
  /// What certainly takes longer may be given up, with an infinite time.
  Microseconds limit = kNoTimeLimit;
};

/// What is simulated: a schedule or a program on a fabric, at any size.
class Subject {
public:
  virtual ~Subject() = default;

  [[nodiscard]] virtual Collective collective() const = 0;
  /// "allgather", or what a program calls it.
  [[nodiscard]] virtual std::string collectiveName() const { return std::string(toString(collective())); }
  [[nodiscard]] virtual const fabric::Fabric& fabric() const = 0;
  /// Trees and transfers without steps are cut into pieces; programs and steps are not.
  [[nodiscard]] virtual bool hasPieces() const = 0;
  /// The number of pieces with the minimum time on a chain of messages: sqrt((h - 1) T / a), with h the messages on the
  /// longest chain, T the time that the links need and a the overhead and latency of a message. Limited to 1024, and to
  /// what keeps a run to kMaxDefaultMessages, but 4 are always allowed.
  [[nodiscard]] virtual std::uint32_t defaultPieces(double bytes) const = 0;
  /// What was assumed about the last run.
  [[nodiscard]] virtual std::vector<Finding> notes() const { return {}; }
  /// Errors: as run(), forestJobs() and programJob().
  [[nodiscard]] virtual Result<Details> simulate(std::int64_t bytes, const SizeOptions& options,
                                                 const Progress& progress = {}) = 0;
};
inline constexpr std::int64_t kMaxDefaultMessages = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxSearchedMessages = std::int64_t{1} << 16;
inline constexpr std::uint32_t kMaxDefaultPieces = 1024;

/// The fabric and the program must outlive the subject. @param maxMessages as forestJobs()
[[nodiscard]] Result<std::unique_ptr<Subject>> subjectOf(const fabric::Fabric& fabric,
                                                         const schedule::Schedule& schedule, const Model& model,
                                                         const Progress& progress = {},
                                                         std::int64_t maxMessages = kNoMessageLimit);
[[nodiscard]] Result<std::unique_ptr<Subject>> subjectOf(const fabric::Fabric& fabric,
                                                         const schedule::StepSchedule& schedule, const Model& model,
                                                         Barriers barriers = Barriers::steps,
                                                         const Progress& progress = {});
[[nodiscard]] std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric, const program::Program& program,
                                                 const Model& model);

/// One phase that can be cut into pieces, such as jobs joined to one. The fabric must outlive the subject.
/// @param ranks that busbw is counted for
[[nodiscard]] std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric, Collective collective, int ranks,
                                                 Job job);

/// Sizes from first to last, each `factor` times the one before (rounded down); first alone where last is smaller.
/// @pre first >= 1, factor > 1
[[nodiscard]] std::vector<std::int64_t> sizesOf(std::int64_t first, std::int64_t last, double factor);

/// The number of pieces with the minimum simulated time: doubled from 1 until twice in a row it takes longer, then a
/// golden-section search around the best. Every count tried is a simulation. @pre subject.hasPieces()
[[nodiscard]] Result<Row> bestPieces(Subject& subject, std::int64_t bytes, std::uint32_t maxPieces,
                                     const Progress& progress = {});

/// Rows of one contender, of the same sizes as all others.
struct Contender {
  std::string name;
  std::vector<Row> rows;
};
/// From this size on to the next entry's, one contender is fastest.
struct SwitchOver {
  std::int64_t from = 0;
  std::size_t contender = 0;
};
/// Which contender to use from which size on. The first wins ties. @pre all have rows of the same sizes
[[nodiscard]] std::vector<SwitchOver> switchOvers(std::span<const Contender> contenders);

}  // namespace coppice::simulate
