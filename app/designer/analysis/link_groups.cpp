// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/link_groups.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/units.hpp"

namespace coppice::designer {
namespace {

/// Collects links; parallel ones between the same nodes become one arc with their weight.
class Collector {
public:
  void add(LinkId id, fabric::NodeIndex src, fabric::NodeIndex dst, const fabric::LinkDescription& link,
           const Bandwidth& bandwidth) {
    m_links.bandwidth = m_links.ids.empty() ? bandwidth : std::min(m_links.bandwidth, bandwidth);
    m_links.max = m_links.ids.empty() ? bandwidth : std::max(m_links.max, bandwidth);
    m_links.ids.push_back(id);
    m_links.count += link.count;
    m_weights[{src, dst}] += link.count;
    if (link.duplex) {
      m_weights[{dst, src}] += link.count;
    }
  }
  [[nodiscard]] PricedLinks take(std::string name) {
    m_links.group.name = std::move(name);
    for (const auto& [ends, weight] : m_weights) {
      m_links.group.arcs.push_back({ends.first, ends.second, weight});
    }
    return std::move(m_links);
  }
  [[nodiscard]] std::size_t size() const { return m_links.ids.size(); }

private:
  PricedLinks m_links;
  std::map<std::pair<fabric::NodeIndex, fabric::NodeIndex>, std::int64_t> m_weights;
};

/// Calls use(id, src, dst, link, bandwidth) for every link that is in the fabric.
template <typename Use>
void forEachLink(const Snapshot& snapshot, Use&& use) {
  std::unordered_map<std::string_view, fabric::NodeIndex> byId;
  byId.reserve(snapshot.facts->nodes.size());
  for (const fabric::NodeDescription& node : snapshot.facts->nodes) {
    byId.emplace(node.id, static_cast<fabric::NodeIndex>(byId.size()));
  }
  for (std::size_t i = 0; i < snapshot.links.size(); ++i) {
    const fabric::LinkDescription& link = snapshot.facts->links[i];
    const auto src = byId.find(link.src);
    const auto dst = byId.find(link.dst);
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (src != byId.end() && dst != byId.end() && src->second != dst->second && bandwidth && link.count > 0) {
      use(snapshot.links[i], src->second, dst->second, link, *bandwidth);
    }
  }
}

/// "GPU", "NIC", "switch".
std::string kindName(fabric::NodeKind kind) {
  switch (kind) {
    case fabric::NodeKind::gpu:
      return "GPU";
    case fabric::NodeKind::nic:
      return "NIC";
    case fabric::NodeKind::switchNode:
      break;
  }
  return "switch";
}

}  // namespace

std::vector<PricedLinks> linkClassesOf(const Snapshot& snapshot) {
  using Key = std::tuple<fabric::NodeKind, fabric::NodeKind, bool, bool, Bandwidth>;
  std::map<Key, Collector> classes;
  forEachLink(snapshot,
              [&](LinkId id, fabric::NodeIndex src, fabric::NodeIndex dst, const auto& link, const auto& bandwidth) {
                const fabric::NodeDescription& a = snapshot.facts->nodes[src];
                const fabric::NodeDescription& b = snapshot.facts->nodes[dst];
                fabric::NodeKind tail = *fabric::parseNodeKind(a.kind);
                fabric::NodeKind head = *fabric::parseNodeKind(b.kind);
                if (link.duplex && head < tail) {
                  std::swap(tail, head);
                }
                const bool isInside = !a.box.empty() && a.box == b.box;
                classes[{tail, head, link.duplex, isInside, bandwidth}].add(id, src, dst, link, bandwidth);
              });
  std::vector<PricedLinks> result;
  for (auto& [key, collector] : classes) {
    if (collector.size() > 1) {
      const auto& [tail, head, isDuplex, isInside, bandwidth] = key;
      result.push_back(collector.take((isInside ? "in-box " : "") + kindName(tail) + (isDuplex ? "–" : "→") +
                                      kindName(head) + " links, " + toExactText(bandwidth) + " GB/s"));
    }
  }
  return result;
}

std::vector<PricedLinks> singleLinksOf(const Snapshot& snapshot) {
  std::vector<PricedLinks> result;
  forEachLink(snapshot,
              [&](LinkId id, fabric::NodeIndex src, fabric::NodeIndex dst, const auto& link, const auto& bandwidth) {
                Collector one;
                one.add(id, src, dst, link, bandwidth);
                result.push_back(one.take(link.src + (link.duplex ? " – " : " → ") + link.dst));
              });
  return result;
}

PricedLinks linksTogether(const Snapshot& snapshot, const std::set<LinkId>& links) {
  Collector together;
  forEachLink(snapshot,
              [&](LinkId id, fabric::NodeIndex src, fabric::NodeIndex dst, const auto& link, const auto& bandwidth) {
                if (links.contains(id)) {
                  together.add(id, src, dst, link, bandwidth);
                }
              });
  return together.take({});
}

}  // namespace coppice::designer
