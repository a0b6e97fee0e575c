// SPDX-License-Identifier: Apache-2.0
#include "baselines/gates.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "baselines/builder.hpp"
#include "fabric/gpu_boxes.hpp"

namespace coppice::baselines {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::kNoRoute;
using schedule::PathId;

Spare::Spare(const fabric::Fabric& fabric, schedule::RouteFinder& finder, schedule::PathPool& pool)
    : m_fabric(fabric),
      m_finder(finder),
      m_pool(pool),
      m_arcs(fabric, schedule::Direction::out),
      m_uses(fabric.arcs().size(), 0) {}

Rational Spare::between(Rank from, Rank to) {
  const auto& arcs = arcsOf(from, to);
  if (arcs.empty()) {
    return 0;
  }
  std::optional<Rational> min;
  for (const int arc : arcs) {
    const Rational share = m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond() / Rational(m_uses[arc] + 1);
    min = min ? std::min(*min, share) : share;
  }
  return *min;
}

void Spare::use(std::span<const NodeIndex> nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    ++m_uses[m_arcs.find(nodes[i - 1], nodes[i])];
  }
}

void Spare::use(Rank from, Rank to) {
  for (const int arc : arcsOf(from, to)) {
    ++m_uses[arc];
  }
}

PathId Spare::route(Rank from, Rank to) {
  (void)arcsOf(from, to);
  return m_routes.at({from, to}).route;
}

const std::vector<int>& Spare::arcsOf(Rank from, Rank to) {
  const auto [found, isNew] = m_routes.try_emplace({from, to});
  if (isNew) {
    const auto gpus = m_fabric.gpus();
    const auto nodes = m_finder.nodesBetween(gpus[from], gpus[to]);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      found->second.arcs.push_back(m_arcs.find(nodes[i - 1], nodes[i]));
    }
    found->second.route = nodes.empty() ? kNoRoute : m_pool.add(nodes);
  }
  return found->second.arcs;
}

namespace {

/// Depth-first search for a path through all given GPUs, from the first to the last of them (or back to the first where
/// `isCycle`), over pairs with at least `min` to spare. Gives up after a fixed number of tries.
class PathSearch {
public:
  PathSearch(Spare& spare, const std::vector<Rank>& gpus, Rational min, bool isCycle)
      : m_gpus(gpus), m_isCycle(isCycle), m_isUsed(gpus.size(), 0), m_next(gpus.size()) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        // Those that follow come first, so that the order of the fabric is kept where all are equal.
        const std::size_t to = (i + 1 + j) % gpus.size();
        if (to != i && spare.between(gpus[i], gpus[to]) >= min) {
          m_next[i].push_back(to);
        }
      }
    }
  }

  /// Empty where none was found.
  std::vector<Rank> run() {
    m_path = {0};
    m_isUsed[0] = 1;
    std::vector<Rank> ranks;
    if (extend()) {
      for (const std::size_t i : m_path) {
        ranks.push_back(m_gpus[i]);
      }
    }
    return ranks;
  }

private:
  static constexpr int kMaxTries = 20'000;

  bool extend() {
    const std::size_t last = m_gpus.size() - 1;
    const std::size_t at = m_path.back();
    if (m_path.size() == m_gpus.size()) {
      return m_isCycle ? std::find(m_next[at].begin(), m_next[at].end(), 0U) != m_next[at].end() : at == last;
    }
    for (const std::size_t to : m_next[at]) {
      const bool isTooEarly = !m_isCycle && to == last && m_path.size() + 1 < m_gpus.size();
      if (m_isUsed[to] != 0 || isTooEarly) {
        continue;
      }
      if (++m_tries > kMaxTries) {
        return false;
      }
      m_isUsed[to] = 1;
      m_path.push_back(to);
      if (extend()) {
        return true;
      }
      m_path.pop_back();
      m_isUsed[to] = 0;
    }
    return false;
  }

  const std::vector<Rank>& m_gpus;
  bool m_isCycle;
  std::vector<char> m_isUsed;
  std::vector<std::vector<std::size_t>> m_next;
  std::vector<std::size_t> m_path;
  int m_tries = 0;
};

}  // namespace

std::vector<Rank> widestOrder(Spare& spare, const std::vector<Rank>& gpus, bool isCycle) {
  if (gpus.size() < 3) {
    return gpus;
  }
  std::set<Rational, std::greater<>> widths;
  for (const Rank from : gpus) {
    for (const Rank to : gpus) {
      if (from != to) {
        widths.insert(spare.between(from, to));
      }
    }
  }
  for (const Rational& width : widths) {
    auto order = PathSearch(spare, gpus, width, isCycle).run();
    if (!order.empty() && width.isPositive()) {
      return order;
    }
  }
  return {};
}

Gates::Gates(const fabric::Fabric& fabric, schedule::RouteFinder& finder) {
  std::map<std::string, int> boxNumber;
  for (fabric::GpuBox& box : fabric::gpuBoxes(fabric).boxes) {
    boxNumber[box.name] = static_cast<int>(m_boxes.size());
    m_boxes.push_back(std::move(box.ranks));
  }
  m_gates.resize(m_boxes.size());
  std::vector<char> leaves(fabric.nodeCount(), 0);
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (fabric.nodes()[arc.tail].box != fabric.nodes()[arc.head].box) {
      leaves[arc.tail] = 1;
    }
  }
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    const auto box = boxNumber.find(fabric.nodes()[node].box);
    if (leaves[node] != 0 && box != boxNumber.end()) {
      addGate(fabric, finder, box->second, node);
    }
  }
}

int Gates::count() const {
  std::size_t min = m_gates.front().size();
  for (const auto& gates : m_gates) {
    min = std::min(min, gates.size());
  }
  return static_cast<int>(min);
}

/// The nearest GPU; among equally near ones the one with the fewest gates.
void Gates::addGate(const fabric::Fabric& fabric, schedule::RouteFinder& finder, int box, NodeIndex node) {
  const auto gpus = fabric.gpus();
  std::optional<Gate> best;
  std::pair<std::size_t, int> bestCost;
  for (const Rank gpu : m_boxes[box]) {
    const auto nodes = gpus[gpu] == node ? std::vector<NodeIndex>{node} : finder.nodesBetween(gpus[gpu], node);
    const std::pair<std::size_t, int> cost{nodes.size(), m_gatesOfGpu[gpu]};
    if (!nodes.empty() && (!best || cost < bestCost)) {
      best = Gate{node, gpu};
      bestCost = cost;
    }
  }
  if (best) {
    ++m_gatesOfGpu[best->gpu];
    m_gates[box].push_back(*best);
  }
}

}  // namespace coppice::baselines
