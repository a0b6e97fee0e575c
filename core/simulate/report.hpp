// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "simulate/sweep.hpp"

/// Results of simulations as text for people and programs.
namespace coppice::simulate {

/// Aligned columns: size, pieces, time, algbw, busbw.
[[nodiscard]] std::string tableOf(std::span<const Row> rows, bool hasPieces);

/// "size,pieces,time_us,algbw_GBps,busbw_GBps,resolution_us" and a line for each row.
[[nodiscard]] std::string csvOf(std::span<const Row> rows);

/// The table of nccl-tests, so that its readers take it. Sizes are counted as float; there are no errors to count, so
/// #wrong is N/A; both columns hold the same, since a simulation does not tell in place from out of place.
[[nodiscard]] std::string ncclTestsTextOf(std::span<const Row> rows, const std::string& collective, int root);

/// One step of the critical path as a line: who sends what, what it waited for and how long each part took.
[[nodiscard]] std::string describe(const Job& job, const CriticalMessage& message);

/// Consecutive messages of one connection on a critical path that waited for each other.
struct PathPart {
  std::size_t phase = 0;
  CriticalMessage first;
  CriticalMessage last = {};
  std::int64_t messages = 0;
  Microseconds overhead{};  ///< sums over the messages
  Microseconds sending{};   ///< what the bytes take alone
  Microseconds sharing{};   ///< what they take longer, because others share their links
  Microseconds latency{};
  Microseconds adding{};  ///< at the receivers
};
/// The critical path with rows of pieces on one connection drawn together. Parts add up to the time of the run.
[[nodiscard]] std::vector<PathPart> pathParts(const Details& details);

/// How busy a link was, over all phases.
struct LinkLoad {
  int arc = 0;
  double bytes = 0;
  Microseconds busy{};
  double utilization = 0;  ///< bytes over what the link could carry in the whole time, 0 to 1
};
/// All links that carried something, in descending order of utilization.
[[nodiscard]] std::vector<LinkLoad> linkLoads(const Details& details);

/// Events of all recorded messages in the trace format of Chrome and Perfetto: a process for each GPU, and in
/// it a thread for each peer that it sends to (several where messages to it overlap); times in microseconds. @pre the
/// details were recorded
void writeTrace(std::ostream& out, const Details& details);

}  // namespace coppice::simulate
