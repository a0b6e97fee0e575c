// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/rows.hpp"
#include "fabric/fabric.hpp"

namespace coppice::simulate {

/// Shortest routes between GPUs, for messages that come without a route: programs name peers only.
///
/// A route passes NICs and switches alone if there is one; else other GPUs as well, as NCCL's proxies on the way
/// (PXN) do. Among equally short routes it takes links of the largest bandwidth, and spreads over those that are equal
/// by rank and channel, as a network's hashing would, but always the same.
class ShortestRoutes {
public:
  explicit ShortestRoutes(const fabric::Fabric& fabric);

  /// Nodes from GPU to GPU, both included; valid until the next call. @pre from != to, both ranks of the fabric
  [[nodiscard]] const std::vector<fabric::NodeIndex>& find(fabric::Rank from, fabric::Rank to, int channel);
  /// The mean over all such routes, where each node that they pass is reached over all its links evenly: by arc, in
  /// ascending order, the part of the data that passes it. @pre as above
  [[nodiscard]] std::vector<std::pair<std::int32_t, Rational>> shares(fabric::Rank from, fabric::Rank to);
  /// Pairs of ranks, found so far, whose route passes other GPUs.
  [[nodiscard]] std::int64_t throughGpus() const { return m_throughGpus; }

  /// Arcs looked at to find distances.
  [[nodiscard]] std::uint64_t searched() const { return m_searched; }

private:
  /// From one GPU.
  struct Source {
    fabric::Rank rank = -1;
    std::vector<int> distance;  ///< by node, without other GPUs; -1 = none
    std::vector<int> overGpus;  ///< the same with them; empty until needed
  };
  struct Distances {
    const std::vector<int>& byNode;
    bool overGpus = false;
  };

  std::vector<int> search(fabric::Rank from, bool overGpus);
  /// Distances from a GPU, through other GPUs only where `to` is not reached without them.
  Distances distances(fabric::Rank from, fabric::Rank to);
  /// Arcs on which the shortest routes reach a node: those of the largest bandwidth.
  const std::vector<std::int32_t>& choicesInto(fabric::NodeIndex node, const Distances& from);

  const fabric::Fabric& m_fabric;
  std::vector<std::int32_t> m_firstOut;  ///< by node, into Fabric::arcs()
  Rows<std::int32_t> m_in;               ///< by node
  std::vector<Source> m_sources;         ///< by rank, or the last one where they would be too many
  std::vector<fabric::NodeIndex> m_path;
  std::vector<std::int32_t> m_choices;
  std::int64_t m_throughGpus = 0;
  std::uint64_t m_searched = 0;
};

}  // namespace coppice::simulate
