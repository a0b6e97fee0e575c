// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "forestcoll/in_network/tree_mixture.hpp"

namespace coppice::forestcoll {

/// Fabrics whose parts differ in more ways are left to trees over the whole.
inline constexpr std::size_t kMaxPartKinds = 48;
/// The share of a bound from which trees over hubs are taken.
inline const Rational kHubsWorthIt(99, 100);

/// What the trees over the GPUs of a part and a hub may use. Nodes are numbered from 0 as in the part, the hub last.
struct PartProblem {
  TreeGraph graph;
  std::vector<bool> mayBranch;
  std::vector<int> nodeAt = {};  ///< by number: the node of the fabric, of a relay of a link the hub; -1 = merged hubs

  /// Returns its number.
  int add(int node, bool isReached, bool branches);
  void sortArcs();
  [[nodiscard]] Rational bandwidthPerTerminal() const;

  /// Equal problems have equal keys.
  using Key = std::tuple<std::vector<int>, std::vector<bool>, std::vector<std::tuple<int, int, Rational>>>;
  [[nodiscard]] Key key() const;
};

/// Hubs, and the parts into which the fabric falls without them.
struct HubSplit {
  std::vector<int> hubs;
  std::vector<std::vector<int>> parts;  ///< their nodes in ascending order; each has a GPU
  std::vector<int> partOf;              ///< by node, -1 = none
  std::vector<std::vector<int>> arcs;   ///< by part: those with an end in it
};

/// By both ends of a link, the lower first.
using LinkLoads = std::map<std::pair<int, int>, Rational>;

/// Parts of a fabric between hubs, and what the trees within one of them may use.
class HubParts {
public:
  HubParts(const TreeGraph& graph, const std::vector<bool>& mayBranch);

  [[nodiscard]] const TreeGraph& graph() const { return m_graph; }
  [[nodiscard]] bool isGpu(int node) const { return m_isGpu[node]; }

  /// Switches outside boxes at which trees may branch.
  [[nodiscard]] std::vector<int> hubs() const;
  /// Switches farther from the GPUs than the nearest of these, such as the spines of leaves and spines.
  [[nodiscard]] std::vector<int> withoutLowest(const std::vector<int>& hubs) const;
  [[nodiscard]] HubSplit splitBy(const std::vector<int>& hubs) const;
  /// By hub: its part of all that enters hubs; 0 where it does not reach every part.
  [[nodiscard]] std::vector<Rational> sharesOf(const HubSplit& split) const;
  /// The hubs that a part has links to, in ascending order.
  [[nodiscard]] std::vector<int> hubsOf(const HubSplit& split, int part) const;

  /// The GPUs of a part and one hub, which has a share of the links inside the part: nodes as in the part, then the
  /// hub.
  [[nodiscard]] PartProblem oneHubProblem(const HubSplit& split, int part, int hub, const Rational& share) const;
  /// The GPUs of a part and its hubs, each of them reached by itself: nodes as in the part, then the hubs.
  [[nodiscard]] PartProblem joiningProblem(const HubSplit& split, int part, const std::vector<int>& hubs) const;
  /// The GPUs of a part and its hubs as one node: nodes as in the part, then the hub, then a relay for each link to a
  /// hub, which tells by `nodeAt` which one it is.
  /// @param loads taken from the links
  [[nodiscard]] PartProblem mergedProblem(const HubSplit& split, int part, const LinkLoads& loads) const;

private:
  [[nodiscard]] PartProblem emptyProblem(const std::vector<int>& nodes) const;

  const TreeGraph& m_graph;
  const std::vector<bool>& m_mayBranch;
  std::vector<bool> m_isGpu;
  std::vector<std::vector<int>> m_neighbours;
};

}  // namespace coppice::forestcoll
