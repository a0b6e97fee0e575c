// SPDX-License-Identifier: Apache-2.0
#include "verify/rule_check.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

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
  StepTimes(const fabric::Fabric& fabric, const schedule::Forest& forest, std::vector<schedule::Rotation> rotations)
      : m_fabric(fabric),
        m_forest(forest),
        m_rotations(std::move(rotations)),
        m_finder(fabric, forest.direction),
        m_classOf(fabric.arcs().size(), -1) {}

  Result<std::vector<InverseBandwidth>> run(const Progress& progress) {
    schedule::TreeReader reader(m_forest, m_fabric.gpus());
    const std::int64_t trees = schedule::rotatedTrees(m_forest);
    for (std::int64_t tree = 0; tree < trees; ++tree) {
      throwIfCancelled(progress);
      progress.report("verifying", static_cast<double>(tree) / static_cast<double>(trees));
      if (auto fault = addTree(reader.read(tree))) {
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
  std::optional<Error> addTree(const schedule::TreeReader::View& tree) {
    m_depth.assign(m_fabric.gpuCount(), -1);
    m_depth[tree.root] = 0;
    for (const auto& edge : tree.edges) {
      const int depth = m_depth[edge.parent] + 1;
      m_depth[edge.child] = depth;
      const Rank parent = turnedBack(edge.parent, edge.child, m_rotations);
      const std::int32_t arc = m_finder.find(m_fabric.gpus()[parent], m_fabric.gpus().front());
      if (depth < 1 || arc == schedule::kNoArc) {
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
  std::vector<schedule::Rotation> m_rotations;
  schedule::ArcFinder m_finder;
  std::vector<int> m_classOf;                      ///< by arc at rank 0
  std::vector<Bandwidth> m_bandwidths;             ///< by class
  std::vector<std::vector<std::int64_t>> m_loads;  ///< by depth - 1, then class
  std::vector<int> m_depth;                        ///< by rank
};

}  // namespace

Result<std::vector<InverseBandwidth>> stepTimesByRule(const fabric::Fabric& fabric, const schedule::Forest& forest,
                                                      const Progress& progress) {
  if (schedule::rotatedTrees(forest) == 0 || fabric.gpuCount() != fabric.nodeCount()) {
    return Error{ErrorCode::badUsage, "Steps by rule need a rotated forest on a fabric of GPUs alone"};
  }
  if (const auto findings = schedule::checkStructure(*forest.factored, fabric.gpuCount(), fabric.nodeCount(), progress);
      !findings.empty()) {
    return broken(toText(findings.front().where.element) + " " + findings.front().text);
  }
  std::vector<schedule::Rotation> rotations = schedule::rotationsIn(*forest.factored);
  for (std::size_t i = 0; i < rotations.size(); ++i) {
    if (const auto fault = schedule::symmetryFault(fabric, rotations[i])) {
      return broken("rotation " + std::to_string(i) + " " + *fault);
    }
  }
  try {
    return StepTimes(fabric, forest, std::move(rotations)).run(progress);
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The loads of the steps leave the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::verify
