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

/// An entry of the front with what is computed beside it.
struct FoundTopology {
  finder::Entry entry;
  std::optional<Rational> reduceScatterTime = {};  ///< T_B of reduce_scatter; absent where it was not computed
  bool isChecked = false;                          ///< BFB on the built graph has the stated values
};

/// The entry with its reduce_scatter, and checked against BFB on the built graph, as far as both are cheap.
/// May throw CancelledError. Errors: verification where the check disagrees; those of finder::build.
[[nodiscard]] Result<FoundTopology> completed(finder::Entry entry, const Progress& progress);

/// The front with each entry completed. May throw as completed() does. Errors: those of Finder::front and completed().
[[nodiscard]] Result<std::vector<FoundTopology>> findTopologies(finder::Finder& finder, const finder::Query& query,
                                                                const Progress& progress,
                                                                std::vector<std::string>* notes = nullptr);

/// The halves that the collective has; nullopt where one of them is unknown.
/// @param collective allgather, reduce_scatter or allreduce
[[nodiscard]] std::optional<finder::Cost> costOf(const FoundTopology& found, Collective collective);

/// From which size on which entry is the fastest, over all sizes; exact. Entries of unknown cost are left out; empty
/// where all are. SizeRange::entry is an index into `found`. Throws OverflowError.
[[nodiscard]] std::vector<finder::SizeRange> fastestBySize(std::span<const FoundTopology> found,
                                                           const TopologyTimes& times);
/// The entry with the minimum weighted sum of the times of times.sizes; nullopt where no cost or no size is known.
/// Throws OverflowError.
[[nodiscard]] std::optional<std::size_t> fastestFor(std::span<const FoundTopology> found, const TopologyTimes& times);

/// The graph as a fabric whose nodes have `bandwidth` in all. Errors: those of finder::build and topology::describe.
[[nodiscard]] Result<fabric::Description> fabricOf(const finder::Entry& entry, Bandwidth bandwidth);

[[nodiscard]] bfb::Digraph asBfb(const topology::Digraph& graph);

}  // namespace coppice::workflow
