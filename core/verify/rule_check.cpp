// SPDX-License-Identifier: Apache-2.0
#include "verify/rule_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "verify/arc_index.hpp"
#include "verify/symmetry_check.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::Direction;

/// The rank to which the rotations that take `turned` to rank 0 take `rank`, digit by digit.
Rank turnedBack(Rank rank, Rank turned, const std::vector<schedule::Rotation>& rotations) {
  Rank result = 0;
  for (const schedule::Rotation& rotation : rotations) {
    const int place = rank / rotation.step % rotation.count;
    const int back = turned / rotation.step % rotation.count;
    result += (place - back + rotation.count) % rotation.count * rotation.step;
  }
  return result;
}

Error broken(const std::string& text) {
  return {ErrorCode::verification, "the steps do not follow from the rule: " + text};
}

class StepTimes {
public:
  StepTimes(const fabric::Fabric& fabric, const schedule::Forest& forest, const ArcIndex& index)
      : m_fabric(fabric), m_forest(forest), m_index(index), m_classOf(fabric.arcs().size(), -1) {}

  Result<std::vector<InverseBandwidth>> run(const Progress& progress) {
    for (std::size_t tree = 0; tree < m_forest.trees.size(); ++tree) {
      throwIfCancelled(progress);
      progress.report("verifying", static_cast<double>(tree) / static_cast<double>(m_forest.trees.size()));
      if (auto fault = addTree(m_forest.trees[tree])) {
        return *std::move(fault);
      }
    }
    std::vector<InverseBandwidth> times;
    const Rational shard(m_forest.treesOfRoot.front());
    for (const std::vector<std::int64_t>& loads : m_loads) {
      InverseBandwidth busiest;
      for (std::size_t i = 0; i < loads.size(); ++i) {
        busiest = std::max(busiest, Rational(loads[i]) / m_bandwidths[i]);
      }
      times.push_back(busiest / shard);
    }
    if (m_forest.direction == Direction::in) {
      std::reverse(times.begin(), times.end());
    }
    return times;
  }

private:
  std::optional<Error> addTree(const schedule::Tree& tree) {
    m_depth.assign(m_fabric.gpuCount(), -1);
    m_depth[tree.root] = 0;
    for (const schedule::TreeEdge& edge : m_forest.edgesOf(tree)) {
      const int depth = m_depth[edge.parent] + 1;
      m_depth[edge.child] = depth;
      const NodeIndex parent = m_fabric.gpus()[turnedBack(edge.parent, edge.child, m_forest.rotations)];
      const NodeIndex child = m_fabric.gpus().front();
      const std::int32_t arc =
          m_forest.direction == Direction::out ? m_index.find(parent, child) : m_index.find(child, parent);
      if (depth < 1 || arc == ArcIndex::kNone) {
        return broken("the edge from rank " + std::to_string(edge.parent) + " to rank " + std::to_string(edge.child) +
                      (depth < 1 ? " starts where the data has not arrived" : " is not a link"));
      }
      if (m_classOf[arc] < 0) {
        m_classOf[arc] = static_cast<int>(m_bandwidths.size());
        m_bandwidths.push_back(m_fabric.arcs()[arc].bandwidth);
      }
      const auto step = static_cast<std::size_t>(depth) - 1;
      const auto at = static_cast<std::size_t>(m_classOf[arc]);
      m_loads.resize(std::max(m_loads.size(), step + 1));
      m_loads[step].resize(std::max(m_loads[step].size(), at + 1), 0);
      m_loads[step][at] = checkedAdd(m_loads[step][at], tree.multiplicity);
    }
    return std::nullopt;
  }

  const fabric::Fabric& m_fabric;
  const schedule::Forest& m_forest;
  const ArcIndex& m_index;
  std::vector<int> m_classOf;                      ///< by arc at rank 0
  std::vector<Bandwidth> m_bandwidths;             ///< by class
  std::vector<std::vector<std::int64_t>> m_loads;  ///< by depth - 1, then class
  std::vector<int> m_depth;                        ///< by rank
};

}  // namespace

Result<std::vector<InverseBandwidth>> stepTimesByRule(const fabric::Fabric& fabric, const schedule::Forest& forest,
                                                      const Progress& progress) {
  if (forest.rotations.empty() || fabric.gpuCount() != fabric.nodeCount()) {
    return Error{ErrorCode::badUsage, "Steps by rule need a forest with rotations on a fabric of GPUs alone"};
  }
  if (const auto fault = rotationFault(forest.rotations, fabric)) {
    return broken(*fault);
  }
  const ArcIndex index(fabric);
  for (std::size_t i = 0; i < forest.rotations.size(); ++i) {
    if (const auto fault = arcImages(fabric, index, forest.rotations[i], false).fault) {
      return broken("rotation " + std::to_string(i) + " " + *fault);
    }
  }
  try {
    return StepTimes(fabric, forest, index).run(progress);
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The loads of the steps leave the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::verify
