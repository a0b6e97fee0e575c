// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "bfb/bfb.hpp"
#include "fabric/description.hpp"
#include "finder/finder.hpp"
#include "finder/time_model.hpp"
#include "topology/digraph.hpp"

/// From numbers of nodes and ports to topologies with their exact costs, and to the fabric of one of them.
namespace coppice::workflow {

/// The times that are asked for, as a person writes them.
struct TopologyTimesText {
  std::string alpha = "10";       ///< microseconds a step
  std::string bandwidth = "100";  ///< of all ports of a node together, per direction
  /// Above 0: `bandwidth` is that of one port, and a node has this many.
  int ports = 0;
  std::vector<std::string> sizes = {};
  std::string collective = "allreduce";
};

struct TopologyTimes {
  finder::TimeModel model;
  std::vector<finder::WeightedSize> sizes = {};
  Collective collective = Collective::allreduce;
};
/// Errors: badUsage as optionError().
[[nodiscard]] Result<TopologyTimes> readTopologyTimes(const TopologyTimesText& text);

struct NodeRange {
  int first = 0;
  int last = 0;
};
/// "5..12": FIRST..LAST with 2 or more. Errors: badUsage as optionError() of "all-n".
[[nodiscard]] Result<NodeRange> parseNodeRange(const std::string& text);

/// T_A of an all-to-all in units of M/B, where M is the buffer of one node.
struct AlltoallTime {
  Rational least;                        ///< proved: no routing is faster
  std::optional<Rational> reached = {};  ///< by a routing, verified; absent: `least` is the mean distance alone

  [[nodiscard]] bool isExact() const { return reached && *reached == least; }
};
/// @param isSolved otherwise the bound by the distances alone
/// Errors: verification; those of alltoall::optimum.
[[nodiscard]] Result<AlltoallTime> alltoallTime(const topology::Digraph& graph, const Rational& meanDistance,
                                                bool isSolved, const Progress& progress);

/// An entry of the front with what is computed beside it.
struct FoundTopology {
  finder::Entry entry;
  std::optional<Rational> reduceScatterTime = {};  ///< T_B of reduce_scatter; absent where it was not computed
  std::optional<int> diameter = {};                ///< absent where the graph is too large, or is not built
  std::optional<AlltoallTime> alltoall = {};       ///< absent where the graph is too large, or is not built
  bool isChecked = false;                          ///< BFB on the built graph has the stated values
};

/// The entry with its reduce_scatter and all-to-all, and checked against BFB on the built graph, as far as both are
/// cheap. May throw CancelledError. Errors: verification where the check disagrees; those of finder::build.
[[nodiscard]] Result<FoundTopology> completed(finder::Entry entry, const Progress& progress);

/// The front with each entry completed. With the all-to-all as a goal, entries that another one is proved to be as good
/// as for all three are left out. May throw as completed() does. Errors: those of Finder::front and completed().
[[nodiscard]] Result<std::vector<FoundTopology>> findTopologies(finder::Finder& finder, const finder::Query& query,
                                                                const Progress& progress,
                                                                std::vector<std::string>* notes = nullptr);

/// The halves that the collective has; nullopt where one of them is unknown. An all-to-all takes as many steps as the
/// diameter, and the time that a routing reaches.
/// @param collective allgather, reduce_scatter, allreduce or alltoall
[[nodiscard]] std::optional<finder::Cost> costOf(const FoundTopology& found, Collective collective);

/// From which size on which entry is the fastest, over all sizes; exact. Entries of unknown cost are left out; empty
/// where all are. SizeRange::entry is an index into `found`. Throws OverflowError.
[[nodiscard]] std::vector<finder::SizeRange> fastestBySize(std::span<const FoundTopology> found,
                                                           const TopologyTimes& times);
/// The entry with the minimum weighted sum of the times of times.sizes; nullopt where no cost or no size is known.
/// Throws OverflowError.
[[nodiscard]] std::optional<std::size_t> fastestFor(std::span<const FoundTopology> found, const TopologyTimes& times);

/// A change from the present topology to another one, and the job that it is for.
struct ChangeText {
  std::string time = {};      ///< of the change: "10ms" (an optical switch), "5min" (a patch panel)
  std::int64_t jobSteps = 0;  ///< steps of the job, each with the calls of TopologyTimes::sizes; 0 = not known
};
struct ChangeQuestion {
  ExactMicroseconds time{};
  std::optional<Rational> jobSteps = {};
};
/// Errors: badUsage as optionError().
[[nodiscard]] Result<ChangeQuestion> readChange(const ChangeText& text);

struct Present {
  finder::Cost cost;
  finder::TimeModel model;
};
/// What a wired fabric of GPUs alone costs, by BFB or the routes of an all-to-all. Errors: badUsage (switches, nodes of
/// unequal degree, too large); those of bfb::loads and alltoallTime; infeasible where the time of an all-to-all is not
/// known.
[[nodiscard]] Result<Present> presentTopology(const fabric::Fabric& fabric, const TopologyTimes& times,
                                              const Progress& progress);

/// What a change to an entry gains.
struct Change {
  ExactMicroseconds present{};  ///< a step of the job, its calls alone, on the present topology
  ExactMicroseconds changed{};  ///< on the entry
  /// From this many steps on the change pays: saved time is more than that of the change. Absent: it never does.
  std::optional<std::int64_t> paysFrom = {};
  std::optional<ExactMicroseconds> gain = {};  ///< over the job, less the change; negative where it does not pay
};
/// nullopt where the cost of the entry is not known. @pre times.sizes is not empty. Throws OverflowError.
[[nodiscard]] std::optional<Change> changeTo(const FoundTopology& found, const Present& present,
                                             const TopologyTimes& times, const ChangeQuestion& question);

/// The graph as a fabric whose nodes have `bandwidth` in all. Errors: those of finder::build and topology::describe.
[[nodiscard]] Result<fabric::Description> fabricOf(const finder::Entry& entry, Bandwidth bandwidth);

[[nodiscard]] bfb::Digraph asBfb(const topology::Digraph& graph);

}  // namespace coppice::workflow
