// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"

/// BFB schedules of fabrics.
namespace coppice::bfb {

struct Request {
  Collective collective = Collective::allgather;
  std::optional<fabric::Rank> root = {};    ///< broadcast and reduce
  std::optional<std::int64_t> chunks = {};  ///< P, equal chunks of a shard; absent = the fewest that lose nothing
  bool throughSwitches = false;             ///< see logicalGraph and boxWirings
  /// Plans with the latencies of links (schedule::latencyPicoseconds) for this size of the collective: in a step, a
  /// link of larger latency gets less.
  std::optional<std::int64_t> bytes = {};
  /// Where rotations of the ranks take the fabric to itself and every GPU to every other: what one GPU gets stands for
  /// all, so that 10^5 GPUs take no more room than their links. Above 2^14 such GPUs always. See Generated::rule.
  bool byRule = false;
};

/// Why a step cannot be faster on shortest paths: `shards` shards must be exchanged with `gpu` in this step over
/// `routes`, whose bandwidth is `width` unit links in all.
struct Witness {
  int step = 0;          ///< of the schedule, from 0
  fabric::Rank gpu = 0;  ///< that receives (or, in the reducing steps, sends) them
  bool isReducing = false;
  std::vector<schedule::PathId> routes;
  std::int64_t shards = 0;
  std::int64_t width = 1;
};

/// The exact costs. Loads are in shards per unit link, in the order of the steps; a shard is 1/N of the M bytes, or all
/// of them for broadcast and reduce.
struct Costs {
  Bandwidth unit;                        ///< of a unit link
  std::int64_t degree = 0;               ///< most unit links into or out of a GPU: B = degree * unit
  bool isTimed = false;                  ///< with Request::bytes: loads are times, latencies included
  Rational shardsPerCollective;          ///< N, or 1
  std::vector<Rational> exactLoads;      ///< U_t
  std::vector<Rational> loads;           ///< with these chunks; at least U_t
  std::vector<std::int64_t> deliveries;  ///< by step: shards times receivers (or, when reducing, senders)
  std::vector<Witness> witnesses;        ///< by step
  std::vector<std::string> routes;       ///< by half, how routes run through switches: Logical::name

  /// T_B in units of M/B: degree / N * the sum of the loads. Where routes run through switches, a link that several
  /// share may have room to spare, and the schedule is faster than that: see its algbw.
  [[nodiscard]] Rational bandwidthTime(const std::vector<Rational>& of) const;
};

struct Generated {
  schedule::StepSchedule schedule;
  std::int64_t chunks = 1;  ///< P
  Costs costs;
  int gpuCount = 0;
  /// With Request::byRule: a forest with rotations, the edges of depth t are what is sent in step t.
  /// `schedule` then has no transfers, but the steps, routes and algbw of the whole.
  std::optional<schedule::Schedule> rule = {};
  /// T_B = (N-1)/N for allgather and reduce_scatter, twice that for allreduce; not said of rooted collectives.
  [[nodiscard]] bool isBandwidthOptimal() const;
};

/// Collectives that BFB makes: allgather, reduce_scatter (the allgather of the transpose, turned round), allreduce (one
/// after the other), broadcast and reduce (what the allgather sends of one shard, spread for itself). Not verified
/// here. Errors: badUsage (root, chunks below 1, switches without throughSwitches; by rule: a rooted collective, a
/// fabric with relays or without such rotations), limit (more transfers or chunks
/// than a schedule holds), unbalanced, overflow, cancelled.
Result<Generated> generate(const fabric::Fabric& fabric, const Request& request, const Progress& progress = {});

}  // namespace coppice::bfb
