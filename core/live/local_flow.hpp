// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checked.hpp"
#include "flow/blocking_flow.hpp"
#include "live/cut_graph.hpp"

namespace coppice::live {

/// Which nodes feed a flow.
struct Sources {
  std::span<const std::int64_t> demand;  ///< by node: a(v), 0 where nothing is rooted
  std::span<const int> order;            ///< by node: place among the sinks; nodes below `limit` feed without limit
  int limit = 0;
};

/// One maximum flow into one sink (flow::BlockingFlow), on a graph that changes and at a scale that is chosen for each
/// flow: capacities are scaled when they are first touched, so a flow that stays near its sink costs nothing elsewhere.
/// Cap is std::int64_t or Int128. @pre the scaled capacities and supplies sum to less than a quarter of Cap's range.
template <typename Cap>
class LocalFlow {
public:
  /// Capacities times `scale` (fine ones times `fineScale`), supplies a(v) * supplyScale; at most `wanted` into the
  /// sink. Returns the flow.
  Cap into(const CutGraph& graph, const Sources& sources, int sink, Cap scale, Cap fineScale, Cap supplyScale,
           Cap wanted);
  /// After into() fell short: the nodes from which residual paths lead to the sink, ascending.
  [[nodiscard]] std::vector<int> reaching();
  /// After into(): calls use(arc, flow) for every arc that carries a positive flow.
  template <typename Use>
  void forEachUse(Use&& use) const {
    for (const int pair : m_touched) {
      const auto first = 2 * static_cast<std::size_t>(pair);
      const Cap flow = scaled(2 * pair) - m_residual[first];
      if (flow > 0) {
        use(2 * pair, flow);
      } else if (flow < 0) {
        use(2 * pair + 1, -flow);
      }
    }
  }

private:
  [[nodiscard]] Cap scaled(int arc) const {
    return Cap{m_graph->capacity(arc)} * (m_graph->isFine(arc) ? m_fineScale : m_scale);
  }
  [[nodiscard]] bool isOpen(int arc) const {
    return m_pairStamp[arc / 2] == m_flowNow ? m_residual[arc] > 0 : m_graph->capacity(arc) > 0;
  }
  void touch(int arc);
  [[nodiscard]] bool isUnlimitedSource(int node) const { return m_sources.order[node] < m_sources.limit; }
  Cap& left(int node);

  /// As flow::BlockingFlow wants it.
  class Network {
  public:
    struct List {
      std::span<const Half> halves;
      [[nodiscard]] int size() const { return static_cast<int>(halves.size()); }
      [[nodiscard]] int node(int i) const { return halves[i].node; }
      [[nodiscard]] int arc(int i) const { return halves[i].arc; }
    };
    explicit Network(LocalFlow& flow) : m_flow(flow) {}
    [[nodiscard]] List into(int node) const { return {m_flow.m_graph->into(node)}; }
    [[nodiscard]] bool isOpen(int arc) const { return m_flow.isOpen(arc); }
    void enter(int arc) { m_flow.touch(arc); }
    [[nodiscard]] Cap room(int arc) const { return m_flow.m_residual[arc]; }
    void push(int arc, Cap amount) {
      m_flow.m_residual[arc] -= amount;
      m_flow.m_residual[arc ^ 1] += amount;
    }
    [[nodiscard]] bool isUnlimited(int node) const { return m_flow.isUnlimitedSource(node); }
    [[nodiscard]] Cap left(int node) { return m_flow.m_sources.demand[node] > 0 ? m_flow.left(node) : Cap{0}; }
    void take(int node, Cap amount) { m_flow.left(node) -= amount; }

  private:
    LocalFlow& m_flow;
  };

  const CutGraph* m_graph = nullptr;
  Sources m_sources;
  int m_sink = 0;
  Cap m_scale = 0;
  Cap m_fineScale = 0;
  Cap m_supplyScale = 0;

  std::uint32_t m_flowNow = 0;
  std::vector<std::uint32_t> m_pairStamp;
  std::vector<Cap> m_residual;
  std::vector<int> m_touched;
  std::vector<std::uint32_t> m_nodeStamp;
  std::vector<Cap> m_left;

  flow::BlockingFlow<Cap> m_blocking;
};

extern template class LocalFlow<std::int64_t>;
extern template class LocalFlow<Int128>;

}  // namespace coppice::live
