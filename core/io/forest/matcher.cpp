// SPDX-License-Identifier: Apache-2.0
#include "io/forest/matcher.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "fabric/facts.hpp"
#include "io/json_text.hpp"
#include "schedule/expansion.hpp"
#include "schedule/rotation.hpp"

namespace coppice::io::forest {
namespace {

using fabric::NodeIndex;
using schedule::FactoredForest;
using schedule::Forest;
using schedule::PathPool;
using schedule::Schedule;

Rational readFraction(const std::string& text, const std::string& element) {
  auto value = Rational::parse(text);
  if (!value) {
    Error error = value.error();
    error.where.element = {RefKind::field, element};
    throw Refusal{std::move(error)};
  }
  return *value;
}

/// Turns the file's content into a schedule of a fabric.
class Matcher {
public:
  Matcher(Raw& raw, const fabric::Fabric& fabric) : m_raw(raw), m_fabric(fabric) {}

  Schedule match() {
    Schedule schedule;
    const auto collective = parseForestCollective(m_raw.collective);
    if (!collective) {
      refuse(inQuotes(m_raw.collective) + " is not a collective", "collective");
    }
    schedule.collective = *collective;
    if (m_raw.digest != m_fabric.digest()) {
      throw Refusal{{ErrorCode::verification,
                     "made for the fabric " + inQuotes(m_raw.fabricName) + " with digest " + inQuotes(m_raw.digest) +
                         "; this is " + inQuotes(m_fabric.name()) + " with digest \"" + m_fabric.digest() + "\"",
                     "use the fabric it was made for, or generate it again",
                     {}}};
    }
    const auto hasParts = [](const std::optional<RawForest>& forest) {
      return forest && (forest->parts || forest->sharedParts);
    };
    const auto isRotated = [](const std::optional<RawForest>& forest) { return forest && !forest->rotations.empty(); };
    const std::int64_t wanted = isRotated(m_raw.reduceForest) || isRotated(m_raw.broadcastForest) ? kRotatedVersion
                                : hasParts(m_raw.reduceForest) || hasParts(m_raw.broadcastForest) ? kPartsVersion
                                                                                                  : kVersion;
    if (m_raw.version != wanted) {
      refuse(wanted == kRotatedVersion ? "the file has rotations, but not version 3 of the format"
             : wanted == kPartsVersion
                 ? "the file has parts, but not version 2 of the format"
                 : "the file has version " + std::to_string(m_raw.version) + " of the format, but no parts",
             "version");
    }
    matchNodes();
    schedule.fabricName = m_raw.fabricName;
    schedule.fabricDigest = m_raw.digest;
    if (m_raw.root) {
      if (*m_raw.root < 0 || *m_raw.root >= m_fabric.gpuCount()) {
        refuse("rank " + std::to_string(*m_raw.root) + " is not in the fabric", "root");
      }
      schedule.root = static_cast<fabric::Rank>(*m_raw.root);
    }
    if (!m_raw.amounts.empty() && m_raw.amounts.size() != static_cast<std::size_t>(m_fabric.gpuCount())) {
      refuse("has " + std::to_string(m_raw.amounts.size()) + " entries for " + std::to_string(m_fabric.gpuCount()) +
                 " GPUs",
             "amounts");
    }
    schedule.amounts = std::move(m_raw.amounts);
    schedule.algbw = Bandwidth(readFraction(m_raw.algbw, "algbw"));
    schedule.bound = Bandwidth(readFraction(m_raw.bound, "bound"));
    schedule.fixedK = m_raw.fixedK;
    if (m_raw.allreduceBound) {
      schedule.allreduceBound = Bandwidth(readFraction(*m_raw.allreduceBound, "allreduce_bound"));
    }
    for (std::size_t i = 0; i < m_raw.cuts.size(); ++i) {
      const std::string element = "bottlenecks[" + std::to_string(i) + "]";
      schedule::Cut cut;
      for (const std::int64_t node : m_raw.cuts[i].nodes) {
        cut.nodes.push_back(nodeOf(node, element));
      }
      if (!m_isSameOrder) {
        std::sort(cut.nodes.begin(), cut.nodes.end());
      }
      cut.demand = m_raw.cuts[i].demand;
      cut.exitBandwidth = Bandwidth(readFraction(m_raw.cuts[i].exitBandwidth, element + ".exit_bandwidth"));
      schedule.bottlenecks.push_back(std::move(cut));
    }
    if (m_raw.reduceForest) {
      schedule.reduceForest = matchForest(*m_raw.reduceForest, schedule::Direction::in, "reduce_forest");
    }
    if (m_raw.broadcastForest) {
      schedule.broadcastForest = matchForest(*m_raw.broadcastForest, schedule::Direction::out, "broadcast_forest");
    }
    return schedule;
  }

private:
  void matchNodes() {
    if (m_raw.nodes.size() != static_cast<std::size_t>(m_fabric.nodeCount())) {
      refuse("names " + std::to_string(m_raw.nodes.size()) + " nodes, the fabric has " +
                 std::to_string(m_fabric.nodeCount()),
             "nodes");
    }
    std::vector<bool> taken(m_raw.nodes.size(), false);
    for (std::size_t i = 0; i < m_raw.nodes.size(); ++i) {
      const auto node = m_fabric.find(m_raw.nodes[i]);
      if (!node || taken[*node]) {
        refuse(inQuotes(m_raw.nodes[i]) + (node ? " appears twice" : " is not in the fabric"),
               "nodes[" + std::to_string(i) + "]");
      }
      taken[*node] = true;
      m_nodes.push_back(*node);
      m_isSameOrder = m_isSameOrder && static_cast<std::size_t>(*node) == i;
    }
    if (m_raw.gpus.size() != static_cast<std::size_t>(m_fabric.gpuCount())) {
      refuse(
          "names " + std::to_string(m_raw.gpus.size()) + " GPUs, the fabric has " + std::to_string(m_fabric.gpuCount()),
          "gpus");
    }
    for (std::size_t rank = 0; rank < m_raw.gpus.size(); ++rank) {
      const std::string element = "gpus[" + std::to_string(rank) + "]";
      if (nodeOf(m_raw.gpus[rank], element) != m_fabric.gpus()[rank]) {
        refuse("is not the GPU of this rank in the fabric", element);
      }
    }
  }

  [[nodiscard]] NodeIndex nodeOf(std::int64_t number, const std::string& element) const {
    if (number < 0 || static_cast<std::size_t>(number) >= m_nodes.size()) {
      refuse("node " + std::to_string(number) + " is not in the table of " + std::to_string(m_nodes.size()) + " nodes",
             element);
    }
    return m_nodes[number];
  }

  Forest matchForest(RawForest& rawForest, schedule::Direction direction, const std::string& element) {
    Forest forest = std::move(rawForest.forest);
    forest.direction = direction;
    forest.gpuCount = m_fabric.gpuCount();
    forest.scale = InverseBandwidth(readFraction(rawForest.scale, element + ".scale"));
    if (forest.treesOfRoot.size() != static_cast<std::size_t>(forest.gpuCount)) {
      refuse("has " + std::to_string(forest.treesOfRoot.size()) + " entries for " + std::to_string(forest.gpuCount) +
                 " GPUs",
             element + ".trees_of_root");
    }
    if (rawForest.parts || rawForest.sharedParts) {
      forest.factored = matchParts(rawForest, element + ".parts");
      return forest;
    }
    matchRoutes(forest, element);
    const std::int64_t edgesPerTree = forest.gpuCount - 1;
    for (std::size_t i = 0; i < forest.trees.size(); ++i) {
      const schedule::Tree& tree = forest.trees[i];
      const auto place = [&] { return element + ".trees[" + std::to_string(i) + "]"; };
      const std::int64_t end =
          i + 1 < forest.trees.size() ? forest.trees[i + 1].firstEdge : static_cast<std::int64_t>(forest.edges.size());
      if (end - tree.firstEdge != edgesPerTree) {
        refuse("has " + std::to_string(end - tree.firstEdge) + " edges; a tree over " +
                   std::to_string(forest.gpuCount) + " GPUs has " + std::to_string(edgesPerTree),
               place());
      }
      if (tree.root >= forest.gpuCount) {
        refuse("its root, rank " + std::to_string(tree.root) + ", is not in the fabric", place());
      }
      for (std::int64_t index = 0; index < edgesPerTree; ++index) {
        const schedule::TreeEdge& edge = forest.edges[tree.firstEdge + index];
        const auto edgePlace = [&] { return place() + ".edges[" + std::to_string(index) + "]"; };
        if (edge.parent >= forest.gpuCount || edge.child >= forest.gpuCount) {
          refuse("rank " + std::to_string(std::max(edge.parent, edge.child)) + " is not in the fabric", edgePlace());
        }
        if (edge.path >= forest.paths.size()) {
          refuse("path " + std::to_string(edge.path) + " is not among the " + std::to_string(forest.paths.size()) +
                     " paths",
                 edgePlace());
        }
        if (edge.pruned != 0 && static_cast<std::size_t>(edge.pruned) + 1 >= forest.paths[edge.path].size()) {
          refuse("prunes " + std::to_string(edge.pruned) + " hops of a path with fewer to spare", edgePlace());
        }
      }
    }
    return forest;
  }

  std::shared_ptr<const FactoredForest> matchParts(RawForest& rawForest, const std::string& element) {
    if (rawForest.sharedParts) {
      if (*rawForest.sharedParts != kSharedParts || !m_parts) {
        refuse(inQuotes(*rawForest.sharedParts) + " is no forest of this file whose parts are listed before", element);
      }
      return m_parts;
    }
    FactoredForest& parts = *rawForest.parts;
    for (std::size_t i = 0; i < parts.instances.size(); ++i) {
      for (NodeIndex& node : parts.instances[i].switches) {
        node = nodeOf(node, element + ".instances[" + std::to_string(i) + "].switches");
      }
    }
    for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
      const FactoredForest::Shape& shape = parts.shapes[i];
      const auto arcsEach = static_cast<std::int64_t>(shape.childShape.size()) - 1;
      for (std::size_t k = 0; k < shape.skeletons.size(); ++k) {
        const std::int64_t end = k + 1 < shape.skeletons.size() ? shape.skeletons[k + 1].firstArc
                                                                : static_cast<std::int64_t>(shape.arcs.size());
        if (end - shape.skeletons[k].firstArc != arcsEach) {
          refuse("has " + std::to_string(end - shape.skeletons[k].firstArc) + " arcs; a skeleton of " +
                     std::to_string(shape.childShape.size()) + " nodes has " + std::to_string(arcsEach),
                 element + ".shapes[" + std::to_string(i) + "].skeletons[" + std::to_string(k) + "]");
        }
      }
    }
    for (std::size_t i = 0; i < rawForest.rotations.size(); ++i) {
      const schedule::Rotation& named = rawForest.rotations[i];
      auto rotation = schedule::rotationOf(m_fabric, named.step, named.count);
      if (!rotation) {
        refuse("the fabric has no symmetry with step " + std::to_string(named.step) + " and count " +
                   std::to_string(named.count),
               element + ".rotations[" + std::to_string(i) + "]");
      }
      parts.instances.push_back(schedule::instanceOf(*std::move(rotation)));
    }
    const auto findings = checkStructure(parts, m_fabric.gpuCount(), m_fabric.nodeCount());
    if (!findings.empty()) {
      const std::string more = findings.size() == 1 ? "" : " (and more faults)";
      refuse(
          findings.front().text + more,
          ElementRef(RefKind::field, element)
              .with(findings.front().where.element.as(RefKind::field) ? ElementRef() : findings.front().where.element),
          findings.front().code);
    }
    return m_parts = rawForest.parts;
  }

  void matchRoutes(Forest& forest, const std::string& element) const {
    PathPool paths;
    std::vector<NodeIndex> route;
    for (schedule::PathId id = 0; id < forest.paths.size(); ++id) {
      route.clear();
      for (const NodeIndex number : forest.paths[id]) {
        if (static_cast<std::size_t>(number) >= m_nodes.size()) {
          (void)nodeOf(number, element + ".paths[" + std::to_string(id) + "]");
        }
        route.push_back(m_nodes[number]);
      }
      if (route.size() < 2) {
        refuse("has fewer than two nodes", element + ".paths[" + std::to_string(id) + "]");
      }
      if (!m_isSameOrder) {
        paths.add(route);
      }
    }
    if (!m_isSameOrder) {
      forest.paths = std::move(paths);
    }
  }

  Raw& m_raw;
  const fabric::Fabric& m_fabric;
  std::vector<NodeIndex> m_nodes;  ///< by number in the file's table
  bool m_isSameOrder = true;
  std::shared_ptr<const FactoredForest> m_parts;  ///< of the reduce forest
};

}  // namespace

Schedule match(Raw& raw, const fabric::Fabric& fabric) {
  return Matcher(raw, fabric).match();
}

}  // namespace coppice::io::forest
