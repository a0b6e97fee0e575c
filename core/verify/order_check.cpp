// SPDX-License-Identifier: Apache-2.0
#include "verify/order_check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/failure.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

/// Parts of what goes from one GPU to others, by the arcs that it passes.
class Shares {
public:
  explicit Shares(const fabric::Fabric& fabric)
      : m_fabric(fabric), m_into(static_cast<std::size_t>(fabric.nodeCount())) {
    for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
      m_into[fabric.arcs()[arc].head].push_back(static_cast<int>(arc));
    }
  }

  void startFrom(Rank from) {
    m_start = m_fabric.gpus()[from];
    m_without = distances(false);
    m_through.clear();
  }

  /// Adds amount times its part to each arc that leads to the GPU.
  void add(Rank to, const Rational& amount, std::map<int, Rational>& loads) {
    const NodeIndex end = m_fabric.gpus()[to];
    const bool relays = m_without[end] < 0;
    if (relays && m_through.empty()) {
      m_through = distances(true);
    }
    const std::vector<int>& distance = relays ? m_through : m_without;
    std::map<NodeIndex, Rational> parts{{end, amount}};
    for (int hops = distance[end]; hops > 0; --hops) {
      std::map<NodeIndex, Rational> before;
      for (const auto& [node, part] : parts) {
        const std::vector<int> arcs = widestInto(node, hops, distance, relays);
        const Rational each = part / Rational(static_cast<std::int64_t>(arcs.size()));
        for (const int arc : arcs) {
          loads[arc] += each;
          before[m_fabric.arcs()[arc].tail] += each;
        }
      }
      parts = std::move(before);
    }
  }

private:
  [[nodiscard]] bool mayRelay(NodeIndex node, bool relays) const {
    return relays || node == m_start || m_fabric.nodes()[node].kind != fabric::NodeKind::gpu;
  }

  /// Level by level, over all arcs, until none leads further.
  [[nodiscard]] std::vector<int> distances(bool relays) const {
    std::vector<std::vector<NodeIndex>> out(m_into.size());
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      out[arc.tail].push_back(arc.head);
    }
    std::vector<int> distance(m_into.size(), -1);
    distance[m_start] = 0;
    std::set<NodeIndex> level{m_start};
    for (int hops = 1; !level.empty(); ++hops) {
      std::set<NodeIndex> next;
      for (const NodeIndex node : level) {
        for (const NodeIndex head : mayRelay(node, relays) ? out[node] : std::vector<NodeIndex>()) {
          if (distance[head] < 0) {
            next.insert(head);
          }
        }
      }
      for (const NodeIndex node : next) {
        distance[node] = hops;
      }
      level = std::move(next);
    }
    return distance;
  }

  [[nodiscard]] std::vector<int> widestInto(NodeIndex node, int hops, const std::vector<int>& distance,
                                            bool relays) const {
    Bandwidth widest;
    std::vector<int> arcs;
    for (const int arc : m_into[node]) {
      const fabric::Arc& at = m_fabric.arcs()[arc];
      if (distance[at.tail] == hops - 1 && mayRelay(at.tail, relays)) {
        widest = std::max(widest, at.bandwidth);
        arcs.push_back(arc);
      }
    }
    std::erase_if(arcs, [&](int arc) { return m_fabric.arcs()[arc].bandwidth != widest; });
    return arcs;
  }

  const fabric::Fabric& m_fabric;
  std::vector<std::vector<int>> m_into;
  NodeIndex m_start = 0;
  std::vector<int> m_without;
  std::vector<int> m_through;
};

Error fault(const char* message) {
  return {ErrorCode::verification, message, "please report this with the fabric"};
}

}  // namespace

Result<InverseBandwidth> provenOrderTime(const fabric::Fabric& fabric, const schedule::RankPattern& pattern,
                                         std::span<const Rank> order, const Progress& progress) {
  return guarded([&]() -> Result<InverseBandwidth> {
    std::vector<Rank> sorted(order.begin(), order.end());
    std::sort(sorted.begin(), sorted.end());
    bool isOrder = static_cast<int>(sorted.size()) == fabric.gpuCount() && pattern.places == fabric.gpuCount();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      isOrder = isOrder && sorted[i] == static_cast<Rank>(i);
    }
    if (!isOrder) {
      return fault("the order does not have each GPU once");
    }
    // Sender by sender over all steps: one search each.
    std::vector<std::map<int, Rational>> loads(pattern.steps.size());
    std::vector<std::vector<std::pair<std::size_t, const schedule::RankMessage*>>> sent(sorted.size());
    for (std::size_t step = 0; step < pattern.steps.size(); ++step) {
      for (const schedule::RankMessage& message : pattern.steps[step].messages) {
        if (message.from == message.to) {
          return fault("a message stays at its place");
        }
        sent[message.from].emplace_back(step, &message);
      }
    }
    Shares shares(fabric);
    for (std::size_t place = 0; place < sent.size(); ++place) {
      throwIfCancelled(progress);
      shares.startFrom(order[place]);
      for (const auto& [step, message] : sent[place]) {
        shares.add(order[message->to], message->amount, loads[step]);
      }
    }
    InverseBandwidth time;
    for (std::size_t step = 0; step < loads.size(); ++step) {
      InverseBandwidth longest;
      for (const auto& [arc, load] : loads[step]) {
        longest = std::max(longest, load / fabric.arcs()[arc].bandwidth);
      }
      time += longest * Rational(pattern.steps[step].count);
    }
    return time;
  });
}

}  // namespace coppice::verify
