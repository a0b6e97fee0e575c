// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/splitting/exact_split.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "flow/feasibility.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

std::pair<int, int> endsOf(const TreeArc& arc) {
  return {arc.tail, arc.head};
}

/// One arc per ordered pair, sorted, with those that pairings may fill.
std::vector<TreeArc> mergedArcs(std::vector<TreeArc> arcs, const std::vector<Port>& ports) {
  for (const Port& a : ports) {
    for (const Port& b : ports) {
      if (a.node != b.node) {
        arcs.push_back({a.node, b.node, 0});
      }
    }
  }
  std::sort(arcs.begin(), arcs.end(), [](const TreeArc& a, const TreeArc& b) { return endsOf(a) < endsOf(b); });
  std::vector<TreeArc> merged;
  for (const TreeArc& arc : arcs) {
    if (!merged.empty() && endsOf(merged.back()) == endsOf(arc)) {
      merged.back().capacity += arc.capacity;
    } else {
      merged.push_back(arc);
    }
  }
  return merged;
}

/// Pairs in batches. A tentative split of amount x that leaves the largest deficit D shows gamma = x - D exactly,
/// because every dangerous cut loses one unit per unit split. A pair with gamma used up stays blocked: the tight set
/// that blocks it stays tight.
class ExactSplit {
public:
  ExactSplit(const SplitProblem& problem, const Progress& progress)
      : m_problem(problem),
        m_progress(progress),
        m_arcs(mergedArcs(problem.arcs, problem.ports)),
        m_oracle(problem.network.nodeCount, m_arcs, problem.supply, problem.network.gpus),
        m_portOf(static_cast<std::size_t>(problem.network.nodeCount), -1),
        m_left(problem.ports),
        m_blocked(problem.ports.size() * problem.ports.size(), 0) {
    for (int i = 0; i < count(); ++i) {
      m_portOf[m_left[i].node] = i;
    }
  }

  std::vector<Pairing> run(const std::vector<Pairing>& first) {
    tryBatch(first);
    // What is left, pair by pair; loops (u = t) last, since they only waste capacity.
    for (const bool loops : {false, true}) {
      for (auto batch = nextBatch(loops); !batch.empty(); batch = nextBatch(loops)) {
        tryBatch(batch);
      }
    }
    if (std::any_of(m_left.begin(), m_left.end(), [](const Port& port) { return port.in != 0 || port.out != 0; })) {
      throw Failure{{ErrorCode::internal, "a switch could not be removed completely",
                     "please report this fabric: the splitting theorem guarantees a pairing for balanced switches"}};
    }
    return std::move(m_accepted);
  }

private:
  [[nodiscard]] int count() const { return static_cast<int>(m_left.size()); }
  char& blocked(int from, int to) {
    return m_blocked[static_cast<std::size_t>(from) * m_left.size() + static_cast<std::size_t>(to)];
  }
  [[nodiscard]] int handle(int tail, int head) const {
    const auto found =
        std::lower_bound(m_arcs.begin(), m_arcs.end(), std::pair(tail, head),
                         [](const TreeArc& arc, const std::pair<int, int>& key) { return endsOf(arc) < key; });
    return static_cast<int>(found - m_arcs.begin());
  }

  /// Moves so much of the pairing past the switch; back, where negative.
  void shift(const Pairing& pairing, int64_t amount) {
    m_oracle.addCapacity(handle(pairing.from, m_problem.node), -amount);
    m_oracle.addCapacity(handle(m_problem.node, pairing.to), -amount);
    if (pairing.from != pairing.to) {
      m_oracle.addCapacity(handle(pairing.from, pairing.to), amount);
    }
  }

  void accept(const Pairing& pairing, int64_t amount) {
    m_left[m_portOf[pairing.from]].in -= amount;
    m_left[m_portOf[pairing.to]].out -= amount;
    if (amount > 0) {
      m_accepted.push_back({pairing.from, pairing.to, amount});
    }
  }

  /// As much of the batch as is sound: all of it, or its halves, or gamma of the one pair that it is.
  void tryBatch(std::span<const Pairing> batch) {
    throwIfCancelled(m_progress);
    m_progress.spend(m_oracle.takeWork());
    if (batch.empty()) {
      return;
    }
    for (const Pairing& pairing : batch) {
      shift(pairing, pairing.amount);
    }
    if (batch.size() == 1) {
      keepGamma(batch.front());
      return;
    }
    if (m_oracle.isFeasible()) {
      for (const Pairing& pairing : batch) {
        accept(pairing, pairing.amount);
      }
      return;
    }
    for (const Pairing& pairing : batch) {
      shift(pairing, -pairing.amount);
    }
    tryBatch(batch.first(batch.size() / 2));
    tryBatch(batch.subspan(batch.size() / 2));
  }

  /// Of a pairing that is split in full: what is beyond gamma goes back.
  void keepGamma(const Pairing& pairing) {
    const int64_t deficit = m_oracle.largestDeficit();
    const int64_t gamma = std::max<int64_t>(0, pairing.amount - deficit);
    shift(pairing, gamma - pairing.amount);
    accept(pairing, gamma);
    if (deficit > 0) {
      blocked(m_portOf[pairing.from], m_portOf[pairing.to]) = 1;
    }
  }

  /// Pairs that are not blocked, for what is left at the ports. Partners rotate, so that no two rows begin alike.
  std::vector<Pairing> nextBatch(bool loops) {
    std::vector<Port> left = m_left;
    std::vector<Pairing> batch;
    for (int step = loops ? 0 : 1; step < (loops ? 1 : count()); ++step) {
      for (int i = 0; i < count(); ++i) {
        const int j = (i + step) % count();
        const int64_t amount = std::min(left[i].in, left[j].out);
        if (amount > 0 && blocked(i, j) == 0) {
          batch.push_back({left[i].node, left[j].node, amount});
          left[i].in -= amount;
          left[j].out -= amount;
        }
      }
    }
    return batch;
  }

  const SplitProblem& m_problem;
  const Progress& m_progress;
  std::vector<TreeArc> m_arcs;
  flow::FeasibilityOracle<int64_t> m_oracle;
  std::vector<int> m_portOf;    // by node
  std::vector<Port> m_left;     // what is not paired yet
  std::vector<char> m_blocked;  // by pair of ports
  std::vector<Pairing> m_accepted;
};

}  // namespace

std::vector<Pairing> splitExactly(const SplitProblem& problem, const std::vector<Pairing>& first,
                                  const Progress& progress) {
  return ExactSplit(problem, progress).run(first);
}

}  // namespace coppice::forestcoll
