// SPDX-License-Identifier: Apache-2.0
#include "presets/builder.hpp"

#include <utility>

#include "presets/arguments.hpp"
#include "presets/presets.hpp"

namespace coppice::presets {
namespace {

[[noreturn]] void refuseSize(const std::string& what) {
  throw Failure{Error{ErrorCode::badUsage, what,
                      "choose smaller parameters: a preset makes at most " + std::to_string(kMaxNodes) + " nodes and " +
                          std::to_string(kMaxLinks) + " links"}};
}

}  // namespace

void Builder::expect(std::int64_t nodes, std::int64_t links) {
  if (nodes > kMaxNodes) {
    refuseSize(m_description.name + " would have " + std::to_string(nodes) + " nodes");
  }
  if (links > kMaxLinks) {
    refuseSize(m_description.name + " would have " + std::to_string(links) + " links");
  }
  m_description.nodes.reserve(nodes);
  m_description.links.reserve(links);
}

fabric::NodeDescription& Builder::add(std::string id, fabric::NodeKind kind, std::string_view box) {
  if (m_description.nodes.size() >= static_cast<std::size_t>(kMaxNodes)) {
    refuseSize(m_description.name + " would have more than " + std::to_string(kMaxNodes) + " nodes");
  }
  fabric::NodeDescription node;
  node.id = std::move(id);
  node.kind = std::string(fabric::toString(kind));
  node.box = std::string(box);
  m_description.nodes.push_back(std::move(node));
  return m_description.nodes.back();
}

std::string Builder::gpu(std::string id, std::string_view box) {
  fabric::NodeDescription& node = add(std::move(id), fabric::NodeKind::gpu, box);
  node.rank = m_nextRank++;
  return node.id;
}

std::string Builder::nic(std::string id, std::string_view box) {
  return add(std::move(id), fabric::NodeKind::nic, box).id;
}

std::string Builder::relay(std::string id, std::string_view box, Capability capability) {
  fabric::NodeDescription& node = add(std::move(id), fabric::NodeKind::switchNode, box);
  node.multicast = capability == Capability::multicastAndAggregation;
  node.aggregation = node.multicast;
  return node.id;
}

void Builder::addLink(fabric::LinkDescription link) {
  if (m_description.links.size() >= static_cast<std::size_t>(kMaxLinks)) {
    refuseSize(m_description.name + " would have more than " + std::to_string(kMaxLinks) + " links");
  }
  m_description.links.push_back(std::move(link));
}

void Builder::link(const std::string& a, const std::string& b, Bandwidth bandwidth, int count) {
  fabric::LinkDescription link;
  link.src = a;
  link.dst = b;
  link.bandwidth = toExactText(bandwidth);
  link.count = count;
  addLink(std::move(link));
}

void Builder::oneWayLink(const std::string& from, const std::string& to, Bandwidth bandwidth) {
  fabric::LinkDescription link;
  link.src = from;
  link.dst = to;
  link.bandwidth = toExactText(bandwidth);
  link.duplex = false;
  addLink(std::move(link));
}

}  // namespace coppice::presets
