// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "fabric/description.hpp"

/// How long a message takes from rank to rank: latency alpha and seconds per byte beta, for every ordered pair.
namespace coppice::probe {

/// One measurement: messages of `bytes` passed `hops` times back and forth, each after the one before.
struct Point {
  int hops = 1;
  std::int64_t bytes = 0;
  double seconds = 0;  ///< median
};

struct Fit {
  double alpha = 0;     ///< seconds of a message of no bytes; not negative
  double beta = 0;      ///< seconds per byte; positive
  double constant = 0;  ///< seconds to start and end a run, which neither depends on
  double residual = 0;  ///< root of the mean square of (measured - fitted) / measured
};

/// Least squares over T = constant + alpha * hops + beta * hops * bytes, each point weighted with 1 / T, so that small
/// messages count as much as large ones. The method of TACCL (NSDI 2023, section 4): n messages of s bytes one after
/// another take n (alpha + beta s), n at once alpha + n beta s; here the latter is one message of n s bytes, and a run
/// has a cost of its own. A negative alpha is set to zero and the rest fitted again. Errors: infeasible with points
/// that tell no three numbers apart, or where more bytes take less time.
[[nodiscard]] Result<Fit> fitAlphaBeta(const std::vector<Point>& points);

struct PairProfile {
  int source = 0;
  int target = 0;
  Fit fit = {};
  std::vector<Point> points = {};
};

/// Messages of all ranks at once: round after round, each rank sends one to the next.
struct GroupProfile {
  int ranks = 0;
  /// Of one message among them: where ranks share cores or memory, more than a message that runs alone would suggest.
  Fit fit = {};
  std::vector<Point> points = {};  ///< hops = rounds; bytes of each message
};

/// All that is measured.
struct Profile {
  int ranks = 0;
  std::vector<PairProfile> pairs = {};
  std::optional<GroupProfile> together = {};
  /// Messages of which the receiver adds each to what it has (float32), between some pairs; empty = not measured.
  std::vector<PairProfile> additions = {};
};

struct ProfileOptions {
  int ranks = 2;
  std::int64_t firstBytes = 1 << 10;
  std::int64_t lastBytes = std::int64_t{64} << 20;
  std::vector<int> hops = {1, 2, 4, 8, 16};
  int repeats = 7;
  std::stop_token stop = {};
};

/// A program in which two ranks pass one message back and forth, the others do nothing.
/// @param adds each adds what arrives to what it has, and sends the sum
[[nodiscard]] executor::Plan passPlan(int ranks, int source, int target, int hops, bool adds = false);
/// A program in which each rank sends one message to the next rank and takes one from the rank before, `rounds` times.
[[nodiscard]] executor::Plan turnPlan(int ranks, int rounds);

/// Measures every ordered pair, one after the other, over the backend's own connections. All processes of a run call
/// it. Errors: those of the backend, of fitAlphaBeta, cancelled.
[[nodiscard]] Result<std::vector<PairProfile>> profileRanks(executor::Backend& backend, const ProfileOptions& options);
/// Measures all ranks at once, with messages from 64 bytes on, as far as all of one round are of no more than
/// `lastBytes`.
/// Errors: as profileRanks().
[[nodiscard]] Result<GroupProfile> profileTogether(executor::Backend& backend, const ProfileOptions& options);
/// Measures messages that are added, from each rank to the next. Errors: as profileRanks().
[[nodiscard]] Result<std::vector<PairProfile>> profileAdditions(executor::Backend& backend,
                                                                const ProfileOptions& options);
/// Seconds that a rank takes to add one byte: the median of how much longer messages take that are added. nullopt where
/// none were measured, or not alone too.
[[nodiscard]] std::optional<double> additionSecondsPerByte(const Profile& profile);
/// The share of one message: of the fit over rounds, a part for each rank. Errors: those of fitAlphaBeta.
[[nodiscard]] Result<Fit> fitTogether(const std::vector<Point>& points, int ranks);

/// Ranks as GPUs, a one-way link per pair with its measured bandwidth (three digits) and latency, marked "basis":
/// "measured".
[[nodiscard]] fabric::Description profileFabric(const std::vector<PairProfile>& pairs, int ranks,
                                                const std::string& name);
[[nodiscard]] std::string profileText(const Profile& profile, const executor::BackendInfo& info);
/// One line: {"t":"profile","format":1,"backend":…,"links":[{"src":0,"dst":1,"alpha_us":…,"beta_us_per_MB":…,
/// "bandwidth_GBps":…,"residual":…,"points":[[hops,bytes,seconds],…]},…],"together":{"ranks":…,"alpha_us":…,…},
/// "addition":{"ps_per_byte":…,"links":[…]},"fabric":{…}}.
[[nodiscard]] std::string profileJson(const Profile& profile, const executor::BackendInfo& info);

}  // namespace coppice::probe
