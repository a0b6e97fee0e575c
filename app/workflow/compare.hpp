// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "schedule/bound_scope.hpp"
#include "simulate/sweep.hpp"
#include "workflow/method.hpp"
#include "workflow/playable.hpp"

/// Schedules and programs of one fabric and one collective, held against each other: exact figures, simulated times,
/// and which of them to use from which size on.
namespace coppice::workflow {

/// One schedule or program that takes part, with its exact figures.
struct Contender {
  Playable playable;
  std::string method = {};              ///< that made it; empty = not known
  std::optional<Bandwidth> algbw = {};  ///< of a program, what its links allow
  std::optional<Bandwidth> bound = {};  ///< absent where it is not known
  schedule::BoundScope boundScope = schedule::BoundScope::all;
  std::int64_t steps = 0;                     ///< the longest chain of transfers or messages
  int maxStretch = 0;                         ///< links per transfer
  double meanStretch = 0;                     ///< weighted by bytes
  double traffic = 0;                         ///< bytes over all links per byte of the collective
  std::optional<Rational> exactTraffic = {};  ///< the same; absent for programs and where switches copy
  /// The minimum that transfers between GPUs can do (schedule::minTraffic); absent where that is not known.
  std::optional<Rational> minTraffic = {};
  int busiestArc = -1;      ///< into Fabric::arcs()
  double busiestShare = 0;  ///< bytes over it per byte of the collective
  std::vector<Finding> notes = {};
};

/// Judges it and computes the figures. Errors: verification (with the first fault), those of judge, forestcoll::optimum
/// and of the simulation of a program.
[[nodiscard]] Result<Contender> contenderOf(Playable playable, const Progress& progress);

/// A method that did not make a schedule.
struct Refused {
  std::string method;
  Error error;
};

/// What came of a method.
struct Tried {
  std::string method;
  std::size_t schedules = 0;
  double seconds = 0;  ///< for making and judging them
};

struct MethodContenders {
  std::vector<Contender> contenders;
  std::vector<Refused> refused;
  std::vector<Tried> tried;  ///< each method once
};

/// How the schedules of methods are made and played.
struct PlayOptions {
  simulate::Model model = {};
  simulate::Barriers barriers = simulate::Barriers::steps;
  std::optional<double> secondsPerMethod = {};  ///< a method that takes longer is refused
  bool areForPrograms = false;                  ///< programs send between GPUs: methods take switches as plain
  /// For all methods: each gets an equal share of what is left, those that search until they are stopped the last.
  std::optional<double> secondsTogether = {};
};

/// The methods of these ids; for none, all that make this collective. Errors: badUsage (an unknown id).
[[nodiscard]] Result<std::vector<const Method*>> methodsOf(std::span<const std::string> ids, Collective collective);

/// All schedules of these methods, also those that were found when the time of a search ended. A method that fails is
/// refused. Errors: cancelled.
[[nodiscard]] Result<MethodContenders> contendersOfMethods(const std::shared_ptr<const LoadedFabric>& loaded,
                                                           std::span<const Method* const> methods, const Demand& demand,
                                                           const PlayOptions& options, const Progress& progress);

/// One fabric and one collective for all. Errors: badUsage naming the two that differ.
[[nodiscard]] Outcome requireComparable(std::span<const Contender> contenders);

/// Gives all the largest of their bounds, with its scope: that of an allreduce forest is the bound of its two halves,
/// which transfers that overlap may exceed. @pre requireComparable
void agreeOnBound(std::span<Contender> contenders);

struct SweepOptions {
  std::vector<std::int64_t> sizes = {};  ///< ascending
  /// Bytes within which a switch-over is found: 1 = to the byte; absent = 1/1024 of the size.
  std::optional<std::int64_t> resolution = {};
  bool bestPieces = false;  ///< search the number of pieces in earnest (simulate::bestPieces)
};

/// From this size on, up to the next band, a contender is fastest.
struct Band {
  std::int64_t from = 0;
  std::int64_t resolution = 0;  ///< bytes: at from - resolution the band before was fastest; 0 for the first band
  std::size_t contender = 0;
};

struct Comparison {
  std::vector<std::vector<simulate::Row>> rows = {};  ///< by contender, then size
  std::vector<std::size_t> best = {};                 ///< contender, by size; the first wins ties
  std::vector<Band> bands = {};
};

/// Simulates all at all sizes. Where the fastest changes between two sizes, halves the interval; contenders that take
/// more than twice the time of the fastest at both ends are left out there. A contender that is fastest only within an
/// interval whose two halving points it loses is not found. Errors: those of Subject::simulate, with the contender's
/// name. @pre contenders and sizes are not empty
[[nodiscard]] Result<Comparison> compare(std::span<const Contender> contenders, const SweepOptions& options,
                                         const Progress& progress);

/// The comparison among some of the contenders, whose rows are known: best and bands are of these alone. Errors: as
/// compare(). @pre `among` is not empty
[[nodiscard]] Result<Comparison> comparedAmong(std::span<const Contender> contenders,
                                               std::span<const std::size_t> among,
                                               std::vector<std::vector<simulate::Row>> rows,
                                               const SweepOptions& options, const Progress& progress);

}  // namespace coppice::workflow
