// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "simulate/sweep.hpp"

/// Two runs held against each other, link by link and GPU by GPU.
namespace coppice::simulate {

/// What a GPU did in a run, over all phases.
struct RankUse {
  double sent = 0;         ///< bytes
  double received = 0;     ///< bytes
  Microseconds sending{};  ///< during which at least one of its messages was on its links
  Microseconds done{};     ///< until the last message to it has arrived; 0: it receives nothing
};
/// By rank. @pre the details were recorded
[[nodiscard]] std::vector<RankUse> rankUses(const Details& details);

/// A direction of a link in two runs.
struct LinkDifference {
  std::string tail;
  std::string head;
  Throughput bandwidth = {};  ///< of the first fabric that has the link
  LinkUse first;              ///< nothing where the first run does not use it
  LinkUse second;

  /// How much longer the second run keeps it busy.
  [[nodiscard]] Microseconds busyDifference() const { return second.busy - first.busy; }
};
/// All that carry something in at least one of the runs; those whose busy time grows most come first. The fabrics may
/// differ: links are matched by the names of their ends. @pre both have a phase
[[nodiscard]] std::vector<LinkDifference> linkDifferences(const Details& first, const Details& second);

/// A GPU in two runs.
struct RankDifference {
  std::string gpu;
  RankUse first;  ///< nothing where the first fabric does not have it
  RankUse second;

  /// How much later the second run is done there.
  [[nodiscard]] Microseconds doneDifference() const { return second.done - first.done; }
};
/// All GPUs of either fabric, matched by name; those that are done later by most come first. @pre both were recorded
[[nodiscard]] std::vector<RankDifference> rankDifferences(const Details& first, const Details& second);

}  // namespace coppice::simulate
