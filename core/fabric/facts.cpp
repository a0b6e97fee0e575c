// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts.hpp"

#include <utility>

namespace coppice::fabric {

Description describeFacts(const Fabric& fabric) {
  Description description;
  description.name = fabric.name();
  for (const Node& node : fabric.nodes()) {
    NodeDescription item;
    item.id = node.id;
    item.kind = toString(node.kind);
    item.box = node.box;
    if (node.kind == NodeKind::gpu) {
      item.rank = node.rank;
    }
    item.multicast = node.multicast;
    item.aggregation = node.aggregation;
    description.nodes.push_back(std::move(item));
  }
  for (const Arc& arc : fabric.arcs()) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    const Arc* reverse = back ? &fabric.arcs()[*back] : nullptr;
    const bool duplex = reverse != nullptr && reverse->bandwidth == arc.bandwidth && reverse->latency == arc.latency;
    if (duplex && arc.head < arc.tail) {
      continue;
    }
    LinkDescription link;
    link.src = fabric.nodes()[arc.tail].id;
    link.dst = fabric.nodes()[arc.head].id;
    link.bandwidth = toExactText(arc.bandwidth);
    link.duplex = duplex;
    if (arc.latency) {
      link.latency = toExactText(arc.latency->count());
    }
    description.links.push_back(std::move(link));
  }
  return description;
}

}  // namespace coppice::fabric
