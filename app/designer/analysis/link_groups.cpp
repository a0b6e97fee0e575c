// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/link_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/units.hpp"

namespace coppice::designer {
namespace {

/// Collects links; parallel ones between the same nodes become one arc with their weight.
class Collector {
public:
  void add(LinkId id, live::NodeId src, live::NodeId dst, const fabric::LinkDescription& link,
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
  std::map<std::pair<live::NodeId, live::NodeId>, std::int64_t> m_weights;
};

/// Calls use(id, src, dst, link, bandwidth) for every link that is in the fabric.
template <typename Use>
void forEachLink(const live::LiveBound& live, const Snapshot& snapshot, Use&& use) {
  for (std::size_t i = 0; i < snapshot.links.size(); ++i) {
    const fabric::LinkDescription& link = snapshot.facts->links[i];
    const auto src = live.find(link.src);
    const auto dst = live.find(link.dst);
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (src && dst && *src != *dst && bandwidth && link.count > 0) {
      use(snapshot.links[i], *src, *dst, link, *bandwidth);
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

std::vector<PricedLinks> linkClassesOf(const live::LiveBound& live, const Snapshot& snapshot) {
  using Key = std::tuple<fabric::NodeKind, fabric::NodeKind, bool, bool, Bandwidth>;
  std::map<Key, Collector> classes;
  forEachLink(live, snapshot,
              [&](LinkId id, live::NodeId src, live::NodeId dst, const auto& link, const auto& bandwidth) {
                fabric::NodeKind tail = live.kind(src);
                fabric::NodeKind head = live.kind(dst);
                if (link.duplex && head < tail) {
                  std::swap(tail, head);
                }
                const bool isInside = !live.box(src).empty() && live.box(src) == live.box(dst);
                classes[{tail, head, link.duplex, isInside, bandwidth}].add(id, src, dst, link, bandwidth);
              });
  std::vector<PricedLinks> result;
  for (auto& [key, collector] : classes) {
    if (collector.size() > 1) {
      const auto& [tail, head, isDuplex, isInside, bandwidth] = key;
      result.push_back(collector.take("all " + kindName(tail) + (isDuplex ? "–" : "→") + kindName(head) + " links" +
                                      (isInside ? " within boxes, " : ", ") + toExactText(bandwidth) + " GB/s"));
    }
  }
  return result;
}

std::vector<PricedLinks> singleLinksOf(const live::LiveBound& live, const Snapshot& snapshot) {
  std::vector<PricedLinks> result;
  forEachLink(live, snapshot,
              [&](LinkId id, live::NodeId src, live::NodeId dst, const auto& link, const auto& bandwidth) {
                Collector one;
                one.add(id, src, dst, link, bandwidth);
                result.push_back(one.take(link.src + (link.duplex ? " – " : " → ") + link.dst));
              });
  return result;
}

PricedLinks linksTogether(const live::LiveBound& live, const Snapshot& snapshot, const std::set<LinkId>& links) {
  Collector together;
  forEachLink(live, snapshot,
              [&](LinkId id, live::NodeId src, live::NodeId dst, const auto& link, const auto& bandwidth) {
                if (links.contains(id)) {
                  together.add(id, src, dst, link, bandwidth);
                }
              });
  return together.take({});
}

}  // namespace coppice::designer
