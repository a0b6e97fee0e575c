// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "schedule/forest.hpp"

/// Schedules as transfers of pieces of shards: what rings, recursive doubling, BFB, SCCL and TACCL produce.
namespace coppice::schedule {

inline constexpr PathId kNoRoute = -1;

/// One GPU sends one piece of one shard to another.
struct Transfer {
  std::int64_t shard = 0;
  std::int64_t begin = 0;  ///< the piece [begin, end), in units of 1 / StepSchedule::denominator of the shard
  std::int64_t end = 0;
  fabric::Rank from = 0;
  fabric::Rank to = 0;
  PathId route = kNoRoute;  ///< nodes from sender to receiver; kNoRoute = a shortest one
  std::int32_t step = 0;    ///< from 0; in an asynchronous schedule, of a phase
  bool reduces = false;     ///< the receiver adds the piece to what it has; otherwise it stores it

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// A list of transfers, stored by columns: 37 bytes each.
class TransferList {
public:
  void add(const Transfer& transfer);
  void reserve(std::size_t count);
  [[nodiscard]] std::size_t size() const { return m_from.size(); }
  [[nodiscard]] bool empty() const { return m_from.empty(); }
  [[nodiscard]] Transfer operator[](std::size_t i) const {
    return {m_shard[i], m_begin[i], m_end[i], m_from[i], m_to[i], m_route[i], m_step[i], m_reduces[i] != 0};
  }
  void setRoute(std::size_t i, PathId route) { m_route[i] = route; }

  [[nodiscard]] std::span<const std::int64_t> shards() const { return m_shard; }
  [[nodiscard]] std::span<const std::int64_t> begins() const { return m_begin; }
  [[nodiscard]] std::span<const std::int64_t> ends() const { return m_end; }
  [[nodiscard]] std::span<const fabric::Rank> senders() const { return m_from; }
  [[nodiscard]] std::span<const fabric::Rank> receivers() const { return m_to; }
  [[nodiscard]] std::span<const PathId> routes() const { return m_route; }
  [[nodiscard]] std::span<const std::int32_t> steps() const { return m_step; }

  /// Ascending by step; transfers of one step keep their order.
  void sortBySteps();

  friend bool operator==(const TransferList&, const TransferList&) = default;

private:
  std::vector<std::int64_t> m_shard;
  std::vector<std::int64_t> m_begin;
  std::vector<std::int64_t> m_end;
  std::vector<fabric::Rank> m_from;
  std::vector<fabric::Rank> m_to;
  std::vector<PathId> m_route;
  std::vector<std::int32_t> m_step;
  std::vector<std::uint8_t> m_reduces;
};

/// A schedule of one collective on one fabric as a list of transfers.
///
/// Synchronous: transfers of step t read what their sender held when step t began, and all write at its end. Several
/// transfers of one step may add to the same piece of a rank; none may store to it beside them.
///
/// Asynchronous: a transfer starts when its sender holds the piece in its final state for that use. Exactly, for each
/// point of the piece: a transfer that reduces waits for all that reduce into its sender; one that stores waits for all
/// that store to its sender or, where there are none, for all that reduce into it; and what is stored to a rank waits
/// until that rank has sent what it reduces elsewhere. Steps are phases here: a transfer also waits for all of earlier
/// phases (reduce-scatter, then allgather). With `keepsOrder`, transfers between the same two GPUs also
/// start in the order of the list.
struct StepSchedule {
  CollectiveTable goal;
  std::string method;  ///< of the generator, "ring"; free text
  std::string fabricName;
  std::string fabricDigest;
  std::int64_t denominator = 1;  ///< of the pieces
  bool isSynchronous = true;
  bool keepsOrder = false;           ///< asynchronous only
  std::int32_t stepCount = 1;        ///< asynchronous: phases
  std::vector<std::int32_t> rounds;  ///< by step (SCCL); empty = 1 each
  TransferList transfers;            ///< by step
  PathPool paths;
  Bandwidth algbw;  ///< 1 / t_b of stepCost, recomputed by the verifier

  friend bool operator==(const StepSchedule&, const StepSchedule&) = default;
};

/// Every kind of schedule.
using AnySchedule = std::variant<Schedule, StepSchedule>;

[[nodiscard]] Collective collectiveOf(const AnySchedule& schedule);
[[nodiscard]] std::optional<fabric::Rank> rootOf(const AnySchedule& schedule);
[[nodiscard]] const Bandwidth& algbwOf(const AnySchedule& schedule);
[[nodiscard]] const std::string& digestOf(const AnySchedule& schedule);

}  // namespace coppice::schedule
