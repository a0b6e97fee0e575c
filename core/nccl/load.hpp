// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "nccl/channels.hpp"

namespace coppice::nccl {

/// What rings or trees reach on a fabric by congestion: the data of all channels over the links that their hops pass.
struct Load {
  Bandwidth algbw;                     ///< whole data over the time of the fullest link
  int arc = -1;                        ///< of the fabric: a link that holds it back
  std::vector<InverseBandwidth> time;  ///< by arc of the fabric: load / (data * bandwidth)
};

/// @param amounts by arc: of the whole data
[[nodiscard]] Load loadOf(const fabric::Fabric& fabric, const std::vector<Rational>& amounts);

/// Ways of hops over a fabric: inside a node a shortest one; between nodes through the NICs that the hop names, by the
/// order of the fabric's NICs in the box, else through the nearest. Where only another GPU reaches the NIC, the data go
/// through it (PXN). Equal ways share the load in turns.
class Ways {
public:
  /// @param progress says when to stop: nothing is found after that
  explicit Ways(const fabric::Fabric& fabric, Progress progress = {});

  /// NICs of the box of a rank, in the order of the fabric; its GPUs where it has none.
  [[nodiscard]] const std::vector<fabric::NodeIndex>& nicsOf(fabric::Rank rank) const;
  /// Nodes from one GPU to the other; the same for equal hops. Errors: infeasible, cancelled.
  [[nodiscard]] Result<std::vector<fabric::NodeIndex>> nodesOf(const Hop& hop);
  /// A shortest way between any two nodes, through GPUs only where nothing else leads there. Errors: infeasible,
  /// cancelled.
  [[nodiscard]] Result<std::vector<fabric::NodeIndex>> leg(fabric::NodeIndex from, fabric::NodeIndex to) const;
  [[nodiscard]] const fabric::Fabric& fabric() const { return m_fabric; }

private:
  using Key = std::pair<std::pair<int, int>, std::pair<int, int>>;

  void findParts();
  /// Otherwise no way leads from one to the other but through GPUs.
  [[nodiscard]] bool sharePart(fabric::NodeIndex a, fabric::NodeIndex b) const;
  [[nodiscard]] std::vector<fabric::NodeIndex> between(fabric::NodeIndex from, fabric::NodeIndex to,
                                                       bool mayPassGpus) const;

  const fabric::Fabric& m_fabric;
  Progress m_progress;
  std::map<std::string, std::vector<fabric::NodeIndex>> m_nics;  ///< by box
  std::vector<std::vector<std::pair<fabric::NodeIndex, int>>> m_out;
  std::vector<std::vector<int>> m_parts;  ///< by node: parts of the fabric without GPUs that it is in or beside
  std::vector<double> m_rates;            ///< by arc
  mutable std::vector<int> m_uses;        ///< by arc
  struct Visit {
    int search = 0;                              ///< the last that came here; the rest is of that
    std::pair<int, double> cost = {1 << 30, 0};  ///< links and uses
    fabric::NodeIndex before = -1;
    int arc = -1;
  };
  std::vector<std::vector<fabric::NodeIndex>> m_relaysInto;  ///< by node
  mutable std::vector<Visit> m_visits;                       ///< by node
  mutable int m_search = 0;
  std::map<Key, std::vector<fabric::NodeIndex>> m_ways;
};

/// A route leads through a GPU other than its ends (PXN).
[[nodiscard]] bool passesGpu(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& nodes);

/// Errors: badUsage (not allreduce, allgather, reduce_scatter, broadcast or reduce; ranks differ from the fabric's),
/// infeasible (no way for a hop), overflow.
[[nodiscard]] Result<Load> ringLoad(Ways& ways, const std::vector<Ring>& rings, Collective collective);
/// Of an allreduce: each tree carries its part up and down.
[[nodiscard]] Result<Load> treeLoad(Ways& ways, const std::vector<Tree>& trees);

}  // namespace coppice::nccl
