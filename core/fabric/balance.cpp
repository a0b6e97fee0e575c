// SPDX-License-Identifier: Apache-2.0
#include "fabric/balance.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "fabric/inspection.hpp"

namespace coppice::fabric {
namespace detail {
namespace {

// Beyond this many visited arcs the search for further use of existing links stops: the total added is minimal anyway,
// only the split between raised and new links would change.
constexpr std::size_t kSearchBudget = 2'000'000;

/// An arc that could carry an increase: from a node short of egress to a node short of ingress.
struct Candidate {
  std::size_t arc = 0;
  Bandwidth raised = {};
};

/// Bipartite transportation with unbounded arcs: greedy, then shortest augmenting paths.
class Transport {
public:
  Transport(std::span<const Bandwidth> excess, std::span<const Arc> arcs)
      : m_arcs(arcs),
        m_needEgress(excess.size()),
        m_needIngress(excess.size()),
        m_out(excess.size()),
        m_in(excess.size()) {
    for (std::size_t v = 0; v < excess.size(); ++v) {
      if (excess[v] > Bandwidth()) {
        m_needEgress[v] = excess[v];
      } else if (excess[v] < Bandwidth()) {
        m_needIngress[v] = -excess[v];
      }
    }
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      const auto tail = static_cast<std::size_t>(arcs[a].tail);
      const auto head = static_cast<std::size_t>(arcs[a].head);
      if (excess[tail] > Bandwidth() && excess[head] < Bandwidth()) {
        m_out[tail].push_back(m_candidates.size());
        m_in[head].push_back(m_candidates.size());
        m_candidates.push_back({a});
      }
    }
  }

  std::vector<Raise> solve() {
    for (Candidate& candidate : m_candidates) {
      Bandwidth& egress = m_needEgress[tailOf(candidate)];
      Bandwidth& ingress = m_needIngress[headOf(candidate)];
      const Bandwidth amount = std::min(egress, ingress);
      candidate.raised += amount;
      egress -= amount;
      ingress -= amount;
    }
    for (std::size_t v = 0; v < m_needEgress.size(); ++v) {
      while (m_needEgress[v].isPositive() && m_visits < kSearchBudget && augmentFrom(v)) {
      }
    }
    std::vector<Raise> raises;
    for (const Candidate& candidate : m_candidates) {
      if (candidate.raised.isPositive()) {
        raises.push_back({m_arcs[candidate.arc].tail, m_arcs[candidate.arc].head, candidate.raised, false});
      }
    }
    // Every existing arc has one end served by now, so what is left needs new links.
    std::size_t sink = 0;
    for (std::size_t v = 0; v < m_needEgress.size(); ++v) {
      while (m_needEgress[v].isPositive()) {
        while (sink < m_needIngress.size() && !m_needIngress[sink].isPositive()) {
          ++sink;
        }
        if (sink == m_needIngress.size()) {
          break;  // only if the excesses do not add up to zero
        }
        const Bandwidth amount = std::min(m_needEgress[v], m_needIngress[sink]);
        raises.push_back({static_cast<NodeIndex>(v), static_cast<NodeIndex>(sink), amount, true});
        m_needEgress[v] -= amount;
        m_needIngress[sink] -= amount;
      }
    }
    std::sort(raises.begin(), raises.end(),
              [](const Raise& a, const Raise& b) { return std::pair(a.tail, a.head) < std::pair(b.tail, b.head); });
    std::vector<Raise> merged;
    for (const Raise& raise : raises) {
      if (!merged.empty() && merged.back().tail == raise.tail && merged.back().head == raise.head) {
        merged.back().amount += raise.amount;
      } else {
        merged.push_back(raise);
      }
    }
    return merged;
  }

private:
  [[nodiscard]] std::size_t tailOf(const Candidate& candidate) const {
    return static_cast<std::size_t>(m_arcs[candidate.arc].tail);
  }
  [[nodiscard]] std::size_t headOf(const Candidate& candidate) const {
    return static_cast<std::size_t>(m_arcs[candidate.arc].head);
  }

  /// One shortest path source -> arc -> sink, backwards over raised arcs where that frees a sink. False: none.
  bool augmentFrom(std::size_t source) {
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    if (m_reachedBy.empty()) {
      m_reachedBy.assign(m_needEgress.size(), kNone);  // the candidate over which a node was reached
    }
    std::vector<std::size_t> queue{source};
    std::size_t end = kNone;
    for (std::size_t at = 0; at < queue.size() && end == kNone; ++at) {
      const std::size_t v = queue[at];
      for (const std::size_t c : m_out[v]) {
        ++m_visits;
        const std::size_t head = headOf(m_candidates[c]);
        if (head != source && m_reachedBy[head] == kNone) {
          m_reachedBy[head] = c;
          queue.push_back(head);
          if (m_needIngress[head].isPositive()) {
            end = head;
            break;
          }
        }
      }
      for (const std::size_t c : m_in[v]) {
        ++m_visits;
        const std::size_t tail = tailOf(m_candidates[c]);
        if (m_candidates[c].raised.isPositive() && tail != source && m_reachedBy[tail] == kNone) {
          m_reachedBy[tail] = c;
          queue.push_back(tail);
        }
      }
    }
    if (end != kNone) {
      Bandwidth amount = std::min(m_needEgress[source], m_needIngress[end]);
      walk(source, end, [&](Candidate& candidate, bool forward) {
        if (!forward) {
          amount = std::min(amount, candidate.raised);
        }
      });
      walk(source, end, [&](Candidate& candidate, bool forward) { candidate.raised += forward ? amount : -amount; });
      m_needEgress[source] -= amount;
      m_needIngress[end] -= amount;
    }
    for (const std::size_t v : queue) {
      m_reachedBy[v] = kNone;
    }
    return end != kNone;
  }

  template <typename Step>
  void walk(std::size_t source, std::size_t end, const Step& step) {
    for (std::size_t v = end; v != source;) {
      Candidate& candidate = m_candidates[m_reachedBy[v]];
      const bool forward = headOf(candidate) == v;
      step(candidate, forward);
      v = forward ? tailOf(candidate) : headOf(candidate);
    }
  }

  std::span<const Arc> m_arcs;
  std::vector<Bandwidth> m_needEgress;
  std::vector<Bandwidth> m_needIngress;
  std::vector<std::vector<std::size_t>> m_out;
  std::vector<std::vector<std::size_t>> m_in;
  std::vector<Candidate> m_candidates;
  std::vector<std::size_t> m_reachedBy;
  std::size_t m_visits = 0;
};

}  // namespace

std::vector<Raise> balancingRaises(std::span<const Bandwidth> excess, std::span<const Arc> arcs) {
  return Transport(excess, arcs).solve();
}

}  // namespace detail

Result<std::vector<BalanceChange>> smallestBalanceChange(const Fabric& fabric) {
  try {
    std::vector<Bandwidth> excess;
    for (NodeIndex v = 0; v < fabric.nodeCount(); ++v) {
      excess.push_back(fabric.ingress(v) - fabric.egress(v));
    }
    std::vector<BalanceChange> changes;
    for (const detail::Raise& raise : detail::balancingRaises(excess, fabric.arcs())) {
      changes.push_back(
          {fabric.nodes()[raise.tail].id, fabric.nodes()[raise.head].id, Bandwidth(raise.amount), raise.isNew});
    }
    return changes;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, std::string("the imbalance cannot be computed exactly: ") + error.what(),
                 "use bandwidths with fewer digits"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory", "use a smaller fabric"};
  }
}

std::string describe(const BalanceChange& change) {
  const std::string ends = inQuotes(change.src) + " -> " + inQuotes(change.dst);
  const std::string amount = toExactText(change.increase) + " GB/s";
  return change.isNewLink ? "add a one-way link " + ends + " of " + amount : "raise " + ends + " by " + amount;
}

}  // namespace coppice::fabric
