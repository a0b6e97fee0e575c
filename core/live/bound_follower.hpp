// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "fabric/edited_fabric.hpp"
#include "live/live_bound.hpp"

namespace coppice::live {

/// The bound of an edited fabric, each time from the state of the last answer and from what has changed since. Not
/// thread-safe.
class BoundFollower {
public:
  /// Takes the fabric's changes. Call it with the same fabric each time.
  /// @param root key of the GPU that request.root stands for; 0 for collectives without a root
  /// @pre fabric.isSound(). Errors as LiveBound::create; after `cancelled` the next call continues from there.
  Result<Answer> answer(fabric::EditedFabric& fabric, const forestcoll::Request& request, fabric::Key root,
                        const Progress& progress = {});

  /// Of the last answer; absent after an error.
  [[nodiscard]] const std::optional<LiveBound>& bound() const { return m_bound; }
  /// @pre node is part of the last answer
  [[nodiscard]] fabric::Key keyOf(NodeId node) const { return m_keys[node]; }
  /// The GPUs in an order in which every tightest cut of the answer has a first GPU that can be its first. Empty where
  /// that is not known: for an allreduce whose halves differ.
  struct OrderedGpu {
    fabric::Key key = 0;
    bool canBeFirst = true;
  };
  /// @pre the last answer has a cut
  [[nodiscard]] std::vector<OrderedGpu> orderedGpus();

private:
  /// Also which nodes are new to m_bound, ascending.
  [[nodiscard]] std::vector<Edit> editsOf(const fabric::EditedFabric& fabric, fabric::EditedFabric::Changes changes,
                                          std::vector<fabric::Key>& added);
  void enter(const fabric::EditedFabric& fabric, const std::vector<fabric::Key>& added);

  std::optional<LiveBound> m_bound;
  Collective m_collective = Collective::allgather;
  fabric::Key m_root = 0;
  int m_updates = 0;
  std::unordered_map<fabric::Key, NodeId> m_nodes;
  std::vector<fabric::Key> m_keys;  ///< by NodeId
};

}  // namespace coppice::live
