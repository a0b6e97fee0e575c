// SPDX-License-Identifier: Apache-2.0
#include "fabric/edited_fabric.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "fabric/inspection.hpp"

namespace coppice::fabric {

const EditedFabric::Node* EditedFabric::find(Key node) const {
  const auto found = m_nodes.find(node);
  return found == m_nodes.end() ? nullptr : &found->second;
}

bool EditedFabric::isSound() const {
  return m_faultyNodes == 0 && m_repeatedIds == 0 && m_loose.empty() && !m_hasRankFault && !m_isOverflown;
}

bool EditedFabric::isClean() const {
  return isSound() && m_advisedNodes == 0 && m_unbalanced == 0 && m_isolated == 0 && m_gpuCount >= 2;
}

void EditedFabric::apply(FabricDelta delta) {
  // Links leave before nodes change and join afterwards, so that an arc always has both its nodes.
  for (const LinkChange& change : delta.links) {
    removeLink(change.key);
  }
  if (!delta.nodes.empty()) {
    const std::set<Key> byName = m_attachedByName;
    for (const Key link : byName) {
      detach(link, m_links.at(link));
    }
    for (NodeChange& change : delta.nodes) {
      setNode(std::move(change));
    }
  }
  for (LinkChange& change : delta.links) {
    if (change.after) {
      m_links.emplace(change.key, Link{change.tail, change.head, std::move(*change.after), {}, {}, false});
      m_loose.insert(change.key);
    }
  }
  const std::set<Key> loose = m_loose;
  for (const Key link : loose) {
    attach(link, m_links.at(link));
  }
  if (m_isOverflown) {
    recount();
  }
  if (m_areGpusStale) {
    findGpus();
  }
}

// --- nodes ---

void EditedFabric::count(Key key, const Node& node, int sign) {
  m_faultyNodes += node.hasFault ? sign : 0;
  m_advisedNodes += node.hasAdvice ? sign : 0;
  m_unbalanced += node.surplus.isZero() ? 0 : sign;
  m_isolated += node.linkEnds == 0 ? sign : 0;
  m_gpuCount += node.kind == NodeKind::gpu ? sign : 0;
  std::set<Key>& same = m_byId[node.facts.id];
  m_repeatedIds -= same.size() > 1 ? 1 : 0;
  if (sign > 0) {
    same.insert(key);
  } else {
    same.erase(key);
  }
  m_repeatedIds += same.size() > 1 ? 1 : 0;
  if (same.empty()) {
    m_byId.erase(node.facts.id);
  }
}

void EditedFabric::setNode(NodeChange change) {
  const auto old = m_nodes.find(change.key);
  Node node;
  if (old != m_nodes.end()) {
    count(change.key, old->second, -1);
    node.surplus = old->second.surplus;
    node.linkEnds = old->second.linkEnds;
  }
  m_changes.nodes.insert(change.key);
  const bool wasGpu = old != m_nodes.end() && old->second.kind == NodeKind::gpu;
  const bool keepsRank = wasGpu && change.after && change.after->rank == old->second.facts.rank;
  if (!change.after) {
    m_areGpusStale = m_areGpusStale || wasGpu;
    if (old != m_nodes.end()) {
      m_nodes.erase(old);
    }
    return;
  }
  node.facts = std::move(*change.after);
  node.kind = parseNodeKind(node.facts.kind);
  const bool isGpu = node.kind == NodeKind::gpu;
  node.hasFault = !node.kind || !detail::isGoodId(node.facts.id) || (node.facts.rank && !isGpu);
  node.hasAdvice = isGpu && (node.facts.multicast || node.facts.aggregation);
  m_areGpusStale = m_areGpusStale || isGpu != wasGpu || (isGpu && !keepsRank);
  count(change.key, node, 1);
  m_nodes.insert_or_assign(change.key, std::move(node));
}

void EditedFabric::findGpus() {
  m_areGpusStale = false;
  m_hasRankFault = false;
  m_gpus.clear();
  std::size_t ranked = 0;
  for (const auto& [key, node] : m_nodes) {
    if (node.kind == NodeKind::gpu) {
      m_gpus.push_back(key);
      ranked += node.facts.rank ? 1 : 0;
    }
  }
  if (ranked == 0) {
    return;
  }
  std::vector<Key> byRank(m_gpus.size(), 0);
  m_hasRankFault = ranked != m_gpus.size();
  for (const Key gpu : m_gpus) {
    const int rank = m_nodes.at(gpu).facts.rank.value_or(-1);
    if (rank < 0 || rank >= static_cast<int>(byRank.size()) || byRank[rank] != 0) {
      m_hasRankFault = true;
    } else {
      byRank[rank] = gpu;
    }
  }
  if (!m_hasRankFault) {
    m_gpus = std::move(byRank);
  }
}

// --- links ---

Key EditedFabric::endOf(Key stated, const std::string& id) const {
  if (stated != 0) {
    return m_nodes.contains(stated) ? stated : 0;
  }
  const auto found = m_byId.find(id);
  return found == m_byId.end() ? 0 : *found->second.begin();
}

void EditedFabric::attach(Key key, Link& link) {
  const Key tail = endOf(link.tail, link.facts.src);
  const Key head = endOf(link.head, link.facts.dst);
  const std::optional<Bandwidth> total = detail::totalBandwidth(link.facts);
  if (tail == 0 || head == 0 || tail == head || !total) {
    return;
  }
  m_loose.erase(key);
  if (link.tail == 0 || link.head == 0) {
    m_attachedByName.insert(key);
  }
  link.ends = {tail, head};
  link.total = *total;
  link.isAttached = true;
  changeArcs(key, link, 1);
}

void EditedFabric::detach(Key key, Link& link) {
  if (link.isAttached) {
    link.isAttached = false;
    m_attachedByName.erase(key);
    m_loose.insert(key);
    changeArcs(key, link, -1);
  }
}

void EditedFabric::removeLink(Key key) {
  if (const auto old = m_links.find(key); old != m_links.end()) {
    detach(key, old->second);
    m_loose.erase(key);
    m_links.erase(old);
  }
}

void EditedFabric::changeArcs(Key key, const Link& link, int sign) {
  const auto [tail, head] = link.ends;
  changeArc(link.ends, key, sign);
  if (link.facts.duplex) {
    changeArc({head, tail}, key, sign);
  }
  for (const Key end : {tail, head}) {
    Node& node = m_nodes.at(end);
    m_isolated -= node.linkEnds == 0 ? 1 : 0;
    node.linkEnds += sign;
    m_isolated += node.linkEnds == 0 ? 1 : 0;
  }
}

void EditedFabric::changeArc(const Ends& ends, Key link, int sign) {
  m_changes.arcs.insert(ends);
  Arc& arc = m_arcs[ends];
  const auto place = std::lower_bound(arc.links.begin(), arc.links.end(), link);
  if (sign > 0) {
    arc.links.insert(place, link);
  } else {
    arc.links.erase(place);
  }
  const Bandwidth before = arc.bandwidth;
  try {
    arc.bandwidth = sumOf(arc);
    addSurplus(ends.second, arc.bandwidth - before);
    addSurplus(ends.first, before - arc.bandwidth);
  } catch (const OverflowError&) {
    m_isOverflown = true;
  }
  if (arc.links.empty()) {
    m_arcs.erase(ends);
  }
}

Bandwidth EditedFabric::sumOf(const Arc& arc) const {
  Bandwidth sum;
  for (const Key link : arc.links) {
    sum += m_links.at(link).total;
  }
  return sum;
}

void EditedFabric::addSurplus(Key key, const Bandwidth& delta) {
  Node& node = m_nodes.at(key);
  const Bandwidth after = node.surplus + delta;
  m_unbalanced += (after.isZero() ? 0 : 1) - (node.surplus.isZero() ? 0 : 1);
  node.surplus = after;
}

void EditedFabric::recount() {
  try {
    m_unbalanced = 0;
    for (auto& [key, node] : m_nodes) {
      node.surplus = {};
    }
    for (auto& [ends, arc] : m_arcs) {
      m_changes.arcs.insert(ends);
      arc.bandwidth = sumOf(arc);
      addSurplus(ends.second, arc.bandwidth);
      addSurplus(ends.first, -arc.bandwidth);
    }
    m_isOverflown = false;
  } catch (const OverflowError&) {
    // Not sound until links change.
  }
}

// --- as a whole ---

std::vector<Key> EditedFabric::linkKeys() const {
  std::vector<Key> keys;
  keys.reserve(m_links.size());
  for (const auto& [key, link] : m_links) {
    keys.push_back(key);
  }
  return keys;
}

Description EditedFabric::description() const {
  Description description;
  description.nodes.reserve(m_nodes.size());
  for (const auto& [key, node] : m_nodes) {
    description.nodes.push_back(node.facts);
  }
  description.links.reserve(m_links.size());
  for (const auto& [key, link] : m_links) {
    LinkDescription& facts = description.links.emplace_back(link.facts);
    if (const Node* tail = find(link.tail)) {
      facts.src = tail->facts.id;
    }
    if (const Node* head = find(link.head)) {
      facts.dst = head->facts.id;
    }
  }
  return description;
}

EditedFabric::Indexed EditedFabric::indexed() const {
  Indexed result;
  result.keys.reserve(m_nodes.size());
  result.nodes.reserve(m_nodes.size());
  for (const auto& [key, node] : m_nodes) {
    result.keys.push_back(key);
    result.nodes.push_back(&node);
  }
  // Keys are small numbers, since their owner counts them up.
  std::vector<NodeIndex> indexOf(result.keys.empty() ? 0 : std::size_t{result.keys.back()} + 1, -1);
  for (std::size_t i = 0; i < result.keys.size(); ++i) {
    indexOf[result.keys[i]] = static_cast<NodeIndex>(i);
  }
  result.ranks.assign(result.keys.size(), -1);
  result.gpus.reserve(m_gpus.size());
  for (const Key gpu : m_gpus) {
    result.gpus.push_back(indexOf[gpu]);
    result.ranks[result.gpus.back()] = static_cast<Rank>(result.gpus.size()) - 1;
  }
  result.arcs.reserve(m_arcs.size());
  for (const auto& [ends, arc] : m_arcs) {
    result.arcs.push_back({indexOf[ends.first], indexOf[ends.second], Bandwidth(arc.bandwidth), std::nullopt});
  }
  return result;
}

}  // namespace coppice::fabric
