// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "fabric/fabric.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/step_routes.hpp"

/// Where traffic enters and leaves the boxes, and ways through the GPUs of a box.
namespace coppice::baselines {

/// Bandwidth that the routes found so far leave to another one between two GPUs, over the same shortest routes.
class Spare {
public:
  /// All must outlive it.
  Spare(const fabric::Fabric& fabric, schedule::RouteFinder& finder, schedule::PathPool& pool);

  /// The minimum bandwidth / (routes + 1) on the way; 0 where no route is.
  Rational between(fabric::Rank from, fabric::Rank to);
  void use(std::span<const fabric::NodeIndex> nodes);
  void use(fabric::Rank from, fabric::Rank to);
  schedule::PathId route(fabric::Rank from, fabric::Rank to);

private:
  struct Route {
    schedule::PathId route = schedule::kNoRoute;
    std::vector<int> arcs;
  };
  const std::vector<int>& arcsOf(fabric::Rank from, fabric::Rank to);

  const fabric::Fabric& m_fabric;
  schedule::RouteFinder& m_finder;
  schedule::PathPool& m_pool;
  schedule::ArcFinder m_arcs;
  std::vector<std::int64_t> m_uses;
  std::map<std::pair<fabric::Rank, fabric::Rank>, Route> m_routes;
};

/// The order of a box's GPUs from the first to the last of the list that leaves the narrowest hop as wide as can be
/// found; or a cycle. Empty where none was found.
[[nodiscard]] std::vector<fabric::Rank> widestOrder(Spare& spare, const std::vector<fabric::Rank>& gpus, bool isCycle);

/// A place where traffic leaves a box, and the GPU that stands nearest to it.
struct Gate {
  fabric::NodeIndex node = 0;
  fabric::Rank gpu = 0;
};

/// Gates of the boxes, in the order of the fabric's nodes.
class Gates {
public:
  Gates(const fabric::Fabric& fabric, schedule::RouteFinder& finder);

  [[nodiscard]] const std::vector<std::vector<fabric::Rank>>& boxes() const { return m_boxes; }
  [[nodiscard]] const std::vector<Gate>& of(int box) const { return m_gates[box]; }
  /// Gates that every box has.
  [[nodiscard]] int count() const;

private:
  void addGate(const fabric::Fabric& fabric, schedule::RouteFinder& finder, int box, fabric::NodeIndex node);

  std::vector<std::vector<fabric::Rank>> m_boxes;
  std::vector<std::vector<Gate>> m_gates;
  std::map<fabric::Rank, int> m_gatesOfGpu;
};

}  // namespace coppice::baselines
