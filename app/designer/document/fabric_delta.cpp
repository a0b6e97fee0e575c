// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/fabric_delta.hpp"

#include <set>
#include <string>
#include <unordered_map>

namespace coppice::designer {
namespace {

class DeltaMaker {
public:
  DeltaMaker(const Model& model, const Patch& patch) : m_model(model), m_patch(patch) {}

  fabric::FabricDelta make() {
    std::set<NodeId> nodes;
    for (const Swap<Node>& swap : m_patch.nodes) {
      if (!swap.before || !swap.after || swap.before->facts != swap.after->facts) {
        nodes.insert(swap.id);
      }
    }
    for (const Swap<Box>& swap : m_patch.boxes) {
      if (swap.before && swap.after &&
          (swap.before->name != swap.after->name || swap.before->parent != swap.after->parent)) {
        const std::vector<NodeId> inside = m_model.allNodesIn(swap.id);
        nodes.insert(inside.begin(), inside.end());
      }
    }
    for (const NodeId id : nodes) {
      addNode(id);
    }
    for (const Swap<Link>& swap : m_patch.links) {
      addLink(swap.id);
    }
    return std::move(m_delta);
  }

private:
  void addNode(NodeId id) {
    fabric::NodeChange& change = m_delta.nodes.emplace_back();
    change.key = id.value;
    if (const Node* node = m_model.find(id)) {
      const NodeFacts& facts = node->facts;
      change.after = fabric::NodeDescription{.id = facts.name,
                                             .kind = facts.kind,
                                             .box = pathOf(facts.box),
                                             .rank = facts.rank,
                                             .multicast = facts.multicast,
                                             .aggregation = facts.aggregation};
    }
  }

  void addLink(LinkId id) {
    fabric::LinkChange& change = m_delta.links.emplace_back();
    change.key = id.value;
    if (const Link* link = m_model.find(id)) {
      change.tail = link->tail.node.value;
      change.head = link->head.node.value;
      change.after = fabric::LinkDescription{.src = link->tail.missing,
                                             .dst = link->head.missing,
                                             .bandwidth = link->bandwidth,
                                             .duplex = link->duplex,
                                             .count = link->count,
                                             .latency = link->latency};
    }
  }

  const std::string& pathOf(BoxId box) {
    const auto [path, isNew] = m_paths.try_emplace(box);
    if (isNew && box.isValid()) {
      path->second = m_model.boxPath(box);
    }
    return path->second;
  }

  const Model& m_model;
  const Patch& m_patch;
  fabric::FabricDelta m_delta;
  std::unordered_map<BoxId, std::string> m_paths;
};

}  // namespace

fabric::FabricDelta deltaOf(const Model& model, const Patch& patch) {
  return DeltaMaker(model, patch).make();
}

}  // namespace coppice::designer
