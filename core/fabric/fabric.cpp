// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <unordered_set>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "fabric/inspection.hpp"

namespace coppice::fabric {
namespace {

__extension__ typedef unsigned __int128 Uint128;

/// FNV-1a, 128 bits. It tells fabrics apart; it does not protect against forgery, and need not: a schedule that does
/// not fit its fabric fails the verifier whatever its digest says.
class Hash {
public:
  void add(std::string_view text) {
    for (const char c : text) {
      m_state ^= static_cast<unsigned char>(c);
      m_state *= kPrime;
    }
    // Ids hold no control characters, so the separator keeps ("ab", "c") and ("a", "bc") apart.
    m_state ^= 0x1f;
    m_state *= kPrime;
  }

  [[nodiscard]] std::string hex() const {
    constexpr std::array<char, 16> kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                              '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    std::string text(32, '0');
    Uint128 rest = m_state;
    for (std::size_t i = text.size(); i-- > 0; rest >>= 4) {
      text[i] = kDigits[rest & 0xf];
    }
    return text;
  }

private:
  static constexpr Uint128 kPrime = (Uint128{1} << 88) + 0x13b;
  Uint128 m_state = (Uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

std::string computeDigest(std::span<const Node> nodes, std::span<const Arc> arcs) {
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return nodes[a].id < nodes[b].id; });
  std::vector<int> place(nodes.size());
  Hash hash;
  hash.add("fabric 1");
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = nodes[order[i]];
    place[order[i]] = static_cast<int>(i);
    hash.add(node.id);
    hash.add(toString(node.kind));
    hash.add(std::to_string(node.rank));
    hash.add(node.multicast ? "1" : "0");
    hash.add(node.aggregation ? "1" : "0");
  }
  std::vector<const Arc*> sorted;
  sorted.reserve(arcs.size());
  for (const Arc& arc : arcs) {
    sorted.push_back(&arc);
  }
  const auto key = [&](const Arc* arc) { return std::pair(place[arc->tail], place[arc->head]); };
  std::sort(sorted.begin(), sorted.end(), [&](const Arc* a, const Arc* b) { return key(a) < key(b); });
  for (const Arc* arc : sorted) {
    const auto [tail, head] = key(arc);
    hash.add(std::to_string(tail));
    hash.add(std::to_string(head));
    hash.add(arc->bandwidth.gigabytesPerSecond().toString());
  }
  return hash.hex();
}

void addTo(std::optional<Bandwidth>& sum, const Bandwidth& bandwidth) {
  try {
    sum = sum ? std::optional(*sum + bandwidth) : std::nullopt;
  } catch (const OverflowError&) {
    sum.reset();
  }
}

bool byEnds(const Arc& a, const Arc& b) {
  return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
}

}  // namespace

Result<Fabric> Fabric::build(const Description& description) {
  return guarded(
      [&]() -> Result<Fabric> {
        detail::Inspection inspection = detail::inspect(description, false);
        for (Finding& finding : inspection.findings) {
          if (finding.severity == Severity::error) {
            return Error{finding.code, std::move(finding.text), std::move(finding.fix), std::move(finding.where)};
          }
        }
        Fabric fabric;
        fabric.m_name = description.name;
        fabric.m_nodes = std::move(inspection.nodes);
        fabric.m_arcs = std::move(inspection.arcs);
        fabric.m_gpus = std::move(inspection.gpus);
        fabric.index();
        return fabric;
      },
      {.memory = "not enough memory for this fabric"});
}

void Fabric::index() {
  m_byId.clear();
  m_byId.reserve(m_nodes.size());
  for (std::size_t i = 0; i < m_nodes.size(); ++i) {
    m_byId.emplace(m_nodes[i].id, static_cast<NodeIndex>(i));
  }
  m_ingress.assign(m_nodes.size(), Bandwidth());
  m_egress.assign(m_nodes.size(), Bandwidth());
  for (const Arc& arc : m_arcs) {
    addTo(m_egress[arc.tail], arc.bandwidth);
    addTo(m_ingress[arc.head], arc.bandwidth);
  }
  m_isBalanced = true;
  for (NodeIndex node = 0; node < nodeCount() && m_isBalanced; ++node) {
    m_isBalanced = m_ingress[node] && m_egress[node] ? m_ingress[node] == m_egress[node] : isBalancedAt(node);
  }
  m_digest = computeDigest(m_nodes, m_arcs);
}

std::optional<NodeIndex> Fabric::find(std::string_view id) const {
  const auto found = m_byId.find(std::string(id));
  return found == m_byId.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> Fabric::findArc(NodeIndex tail, NodeIndex head) const {
  Arc key;
  key.tail = tail;
  key.head = head;
  const auto at = std::lower_bound(m_arcs.begin(), m_arcs.end(), key, byEnds);
  if (at == m_arcs.end() || at->tail != tail || at->head != head) {
    return std::nullopt;
  }
  return static_cast<int>(at - m_arcs.begin());
}

Bandwidth Fabric::known(const std::optional<Bandwidth>& sum) {
  if (!sum) {
    throw OverflowError("the sum of the bandwidths at a node leaves the exact 64-bit range");
  }
  return *sum;
}

bool Fabric::isBalancedAt(NodeIndex node) const {
  std::vector<Rational> terms;
  for (const Arc& arc : m_arcs) {
    if (arc.head == node) {
      terms.push_back(arc.bandwidth.gigabytesPerSecond());
    }
    if (arc.tail == node) {
      terms.push_back(-arc.bandwidth.gigabytesPerSecond());
    }
  }
  return sumsToZero(terms);
}

Fabric Fabric::transposed() const {
  Fabric result = *this;
  for (Node& node : result.m_nodes) {
    std::swap(node.multicast, node.aggregation);
  }
  for (Arc& arc : result.m_arcs) {
    std::swap(arc.tail, arc.head);
  }
  std::sort(result.m_arcs.begin(), result.m_arcs.end(), byEnds);
  result.index();
  return result;
}

Result<Description> subset(const Description& description, std::span<const std::string> gpuIds) {
  return guarded(
      [&]() -> Result<Description> {
        std::unordered_map<std::string_view, const NodeDescription*> byId;
        for (const NodeDescription& node : description.nodes) {
          byId.emplace(node.id, &node);
        }
        std::unordered_set<std::string_view> kept;
        for (const std::string& id : gpuIds) {
          const auto found = byId.find(id);
          if (found == byId.end()) {
            return Error{ErrorCode::badUsage, "there is no node " + inQuotes(id) + " to keep",
                         "name GPUs of the fabric by their ids"};
          }
          if (parseNodeKind(found->second->kind) != NodeKind::gpu) {
            return Error{ErrorCode::badUsage, inQuotes(id) + " is a " + inQuotes(found->second->kind) + ", not a GPU",
                         "name GPUs only; switches and nics are always kept"};
          }
          if (!kept.insert(id).second) {
            return Error{ErrorCode::badUsage, "GPU " + inQuotes(id) + " is named twice", "name each GPU once"};
          }
        }
        if (kept.size() < 2) {
          return Error{ErrorCode::badUsage,
                       "a subset needs at least two GPUs, and " + std::to_string(kept.size()) +
                           (kept.size() == 1 ? " is" : " are") + " named",
                       "name two or more"};
        }

        const auto isDropped = [&](const NodeDescription& node) {
          return parseNodeKind(node.kind) == NodeKind::gpu && !kept.contains(node.id);
        };
        std::unordered_set<std::string_view> dropped;
        for (const NodeDescription& node : description.nodes) {
          if (isDropped(node)) {
            dropped.insert(node.id);
          }
        }
        Description result;
        result.name = description.name;
        result.extra = description.extra;
        std::unordered_set<std::string_view> attached;
        for (const LinkDescription& link : description.links) {
          if (!dropped.contains(link.src) && !dropped.contains(link.dst)) {
            result.links.push_back(link);
            attached.insert(link.src);
            attached.insert(link.dst);
          }
        }
        std::vector<std::size_t> ranked;
        bool allRanked = true;
        for (const NodeDescription& node : description.nodes) {
          const bool isGpu = parseNodeKind(node.kind) == NodeKind::gpu;
          if (isGpu ? !kept.contains(node.id) : !attached.contains(node.id)) {
            continue;
          }
          if (isGpu) {
            allRanked = allRanked && node.rank.has_value();
            ranked.push_back(result.nodes.size());
          }
          result.nodes.push_back(node);
        }
        if (allRanked) {
          std::stable_sort(ranked.begin(), ranked.end(),
                           [&](std::size_t a, std::size_t b) { return *result.nodes[a].rank < *result.nodes[b].rank; });
          for (std::size_t i = 0; i < ranked.size(); ++i) {
            result.nodes[ranked[i]].rank = static_cast<int>(i);
          }
        }
        return result;
      },
      {.memory = "not enough memory for this fabric"});
}

}  // namespace coppice::fabric
