// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "mscclpp/execution_plan.hpp"
#include "mscclpp/plan_network.hpp"

/// Where the operations of an execution plan find their data at one size, as MSCCL++'s executor cuts it: for all
/// machines that run plans.
namespace coppice::executor {

/// Scratch of a rank.
[[nodiscard]] std::int64_t scratchBytes(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes);

/// A run of chunks as one operation of one threadblock meets it: its part of a group, in one rank's buffer.
struct RunPlace {
  FarPlace start = {};         ///< in the first piece of a pipeline, in a launch with an odd flag
  std::int64_t bytes = 0;      ///< of data; packets take twice as many
  std::int64_t half = 0;       ///< added in launches with an even flag
  std::int64_t wrap = 0;       ///< pieces come round after this many bytes; 0 = they do not
  std::int64_t unitBytes = 0;  ///< of a pipeline's piece; 0 = the whole run each time
  bool isPacked = false;

  /// @param piece of the pipeline
  [[nodiscard]] FarPlace placeAt(std::uint32_t flag, std::int64_t piece) const;
  [[nodiscard]] std::int64_t bytesAt(std::int64_t piece) const;
};

/// Every destination gets the sum of the sources. Those in packets come last.
struct RunTransfer {
  std::vector<RunPlace> sources = {};
  std::vector<RunPlace> destinations = {};
  bool waits = false;  ///< for the flags of its packets

  [[nodiscard]] std::int64_t bytesAt(std::int64_t piece) const;
};

/// What an operation moves, in its order; by a port, one transfer for each of its channels.
/// @param outer the pipeline that it is in, or itself
[[nodiscard]] std::vector<RunTransfer> transfersOf(const mscclpp::ExecutionPlan& plan, std::int64_t chunkBytes,
                                                   int rank, int block, const mscclpp::Operation& outer,
                                                   const mscclpp::Operation& op);
/// By a proxy, if they have one.
[[nodiscard]] bool movesByPort(const mscclpp::Operation& op);
/// Times that a pipeline runs its operations.
[[nodiscard]] std::int64_t piecesOf(const mscclpp::Operation& pipeline, std::int64_t chunkBytes);

/// One end of a channel; the k-th of A to B is paired with the k-th of B to A.
struct ChannelEnd {
  int rank = 0;
  int other = -1;  ///< the paired end, -1 = none
};

/// All ends, rank by rank, those of memory channels first.
class ChannelEnds {
public:
  explicit ChannelEnds(const mscclpp::ExecutionPlan& plan);

  [[nodiscard]] const std::vector<ChannelEnd>& all() const { return m_ends; }
  /// Of the channel that an operation names. @pre it does
  [[nodiscard]] int endOf(int rank, int block, const mscclpp::Operation& op, std::size_t index) const;
  [[nodiscard]] const std::vector<int>& portsOf(int rank) const { return m_ports[rank]; }

private:
  const mscclpp::ExecutionPlan& m_plan;
  std::vector<ChannelEnd> m_ends;
  std::vector<std::vector<int>> m_memory;  ///< by rank and channel
  std::vector<std::vector<int>> m_ports;
};

}  // namespace coppice::executor
