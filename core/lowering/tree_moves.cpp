// SPDX-License-Identifier: Apache-2.0
#include "lowering/tree_moves.hpp"

#include <algorithm>
#include <tuple>

#include "lowering/sums.hpp"

namespace coppice::lowering {

namespace {

/// The children of a rank in the order in which it adds up what they send: shallow subtrees first, the fused one last.
/// Among equals the same order of peers for all parts: then every threadblock works at the same place of the sequence
/// for all of them, and the sequence is a pipeline.
class Arrivals {
public:
  /// @param plan may be null: nothing is fused yet
  Arrivals(const Work& work, const Options& options, const Plan* plan)
      : m_work(work), m_plan(plan), m_splitsReduce(program::isRccl(options.runtime)) {
    if (m_splitsReduce) {
      m_sums = planSums(work);
    }
  }

  void at(int part, int v, std::vector<int>& children) const {
    const TreeShape& tree = m_work.tree(part, Phase::reduce);
    children.assign(tree.children[v].begin(), tree.children[v].end());
    const auto key = [&](int c) {
      const bool isFused = m_plan != nullptr && m_plan->next[m_work.message(part, Phase::reduce, c)] >= 0;
      const bool isLast = m_splitsReduce &&
                          m_sums.lastChild[static_cast<std::size_t>(part) * static_cast<std::size_t>(m_work.gpuCount) +
                                           static_cast<std::size_t>(v)] == c;
      return std::tuple(isFused, tree.height[c], isLast, (c - v + m_work.gpuCount) % m_work.gpuCount);
    };
    std::sort(children.begin(), children.end(), [&](int a, int b) { return key(a) < key(b); });
  }

private:
  const Work& m_work;
  const Plan* m_plan;
  const bool m_splitsReduce;
  Sums m_sums;
};

void addMessages(const Work& work, Moves& made) {
  made.moves.resize(work.messageCount());
  for (int part = 0; part < static_cast<int>(work.parts.size()); ++part) {
    for (const Phase phase : work.phases) {
      const TreeShape& tree = work.tree(part, phase);
      for (std::size_t i = 1; i < tree.breadthFirst.size(); ++i) {
        const int v = tree.breadthFirst[i];
        const int m = work.message(part, phase, v);
        const Ends ends = endsOf(work, m);
        const int above = tree.parent[v];
        made.moves[m] = {.from = ends.from,
                         .to = ends.to,
                         .count = work.parts[part].count,
                         .parity = tree.parityOf[v],
                         .phase = static_cast<int>(phase),
                         .neighbour = above == tree.root ? -1 : work.message(part, phase, above)};
        made.order.push_back(m);
      }
    }
  }
}

void addFusible(const Work& work, Moves& made) {
  for (int part = 0; part < static_cast<int>(work.parts.size()); ++part) {
    for (const Phase phase : work.phases) {
      const TreeShape& tree = work.tree(part, phase);
      for (const int v : tree.breadthFirst) {
        for (const int c : tree.children[v]) {
          if (v != tree.root) {
            const int outer = work.message(part, phase, v);
            const int inner = work.message(part, phase, c);
            made.fusible.push_back(phase == Phase::broadcast ? Fusible{outer, inner} : Fusible{inner, outer});
          } else if (phase == Phase::reduce && work.phases.size() == 2 &&
                     work.tree(part, Phase::broadcast).parent[c] == v) {
            made.fusible.push_back(
                {work.message(part, Phase::reduce, c), work.message(part, Phase::broadcast, c), part});
          }
        }
      }
    }
  }
}

/// RCCL receives and reduces in steps of their own.
void countArrivalSteps(const Work& work, const Arrivals& arrivals, Moves& made) {
  std::vector<int> children;
  for (int part = 0; work.hasPhase(Phase::reduce) && part < static_cast<int>(work.parts.size()); ++part) {
    for (int v = 0; v < work.gpuCount; ++v) {
      arrivals.at(part, v, children);
      for (std::size_t i = 0; i < children.size(); ++i) {
        made.moves[work.message(part, Phase::reduce, children[i])].receiveSteps =
            stepsOfArrival(static_cast<int>(i), static_cast<int>(children.size()));
      }
    }
  }
}

void estimateTimes(const Work& work, const Arrivals& arrivals, Moves& made) {
  std::vector<std::int64_t> done(work.gpuCount, 0);
  std::vector<int> children;
  for (int part = 0; part < static_cast<int>(work.parts.size()); ++part) {
    const std::int64_t count = work.parts[part].count;
    std::int64_t start = 0;
    if (work.hasPhase(Phase::reduce)) {
      const TreeShape& tree = work.tree(part, Phase::reduce);
      for (std::size_t i = tree.breadthFirst.size(); i-- > 0;) {
        const int v = tree.breadthFirst[i];
        std::int64_t time = 0;
        arrivals.at(part, v, children);
        for (const int c : children) {
          time = std::max(time, done[c]) + count;
          made.moves[work.message(part, Phase::reduce, c)].time = time;
        }
        done[v] = time;
      }
      start = done[tree.root];
    }
    if (work.hasPhase(Phase::broadcast)) {
      const TreeShape& tree = work.tree(part, Phase::broadcast);
      for (std::size_t i = 1; i < tree.breadthFirst.size(); ++i) {
        const int v = tree.breadthFirst[i];
        made.moves[work.message(part, Phase::broadcast, v)].time = start + count * tree.depth[v];
      }
    }
  }
}

/// What waits for what in a finished plan.
class TreeWaits {
public:
  TreeWaits(const Work& work, const Moves& moves, const Options& options, const Plan& plan)
      : m_work(work), m_moves(moves), m_plan(plan), m_nextArrival(moves.moves.size(), -1) {
    const Arrivals arrivals(work, options, &plan);
    std::vector<int> children;
    for (int part = 0; work.hasPhase(Phase::reduce) && part < static_cast<int>(work.parts.size()); ++part) {
      for (int v = 0; v < work.gpuCount; ++v) {
        arrivals.at(part, v, children);
        for (std::size_t i = 1; i < children.size(); ++i) {
          m_nextArrival[work.message(part, Phase::reduce, children[i - 1])] =
              work.message(part, Phase::reduce, children[i]);
        }
      }
    }
  }

  Waits list() {
    m_waits.remaining.assign(m_moves.moves.size(), 0);
    m_waits.passed.assign(m_moves.moves.size(), 0);
    for (const int m : m_moves.order) {
      m_waits.remaining[m] = remainingOf(m);
      m_waits.passed[m] = m_work.tree(m_work.partOf(m), m_work.phaseOf(m)).height[m_work.childOf(m)];
      addDependents(m);
    }
    return std::move(m_waits);
  }

private:
  /// Hops still to come after a message.
  [[nodiscard]] int remainingOf(int message) const {
    const int part = m_work.partOf(message);
    const int child = m_work.childOf(message);
    const TreeShape& tree = m_work.tree(part, m_work.phaseOf(message));
    if (m_work.phaseOf(message) == Phase::broadcast) {
      return tree.height[child];
    }
    const int rest = m_work.phases.size() == 2 ? m_work.tree(part, Phase::broadcast).height[tree.root] : 0;
    return tree.depth[child] - 1 + rest;
  }

  void add(int arriving, Event waiting) { m_waits.pairs.emplace_back(idOf({arriving, true}), idOf(waiting)); }
  void addStart(int arriving, int message) {
    if (m_plan.previous[message] < 0) {
      add(arriving, {message, false});
    }
  }

  /// Everything that waits, on its own rank, for this arrival.
  void addDependents(int arriving) {
    const int part = m_work.partOf(arriving);
    const int v = m_moves.moves[arriving].to;
    if (m_work.phaseOf(arriving) == Phase::reduce) {
      if (m_nextArrival[arriving] >= 0) {
        add(arriving, {m_nextArrival[arriving], true});
        return;
      }
      if (v != m_work.tree(part, Phase::reduce).root) {
        addStart(arriving, m_work.message(part, Phase::reduce, v));
        return;
      }
      if (m_work.phases.size() == 1) {
        return;
      }
    }
    for (const int c : m_work.tree(part, Phase::broadcast).children[v]) {
      addStart(arriving, m_work.message(part, Phase::broadcast, c));
    }
  }

  const Work& m_work;
  const Moves& m_moves;
  const Plan& m_plan;
  std::vector<int> m_nextArrival;  ///< by reducing message: the one that its receiver adds next, -1 = none
  Waits m_waits;
};

}  // namespace

Ends endsOf(const Work& work, int message) {
  const Phase phase = work.phaseOf(message);
  const int child = work.childOf(message);
  const int parent = work.tree(work.partOf(message), phase).parent[child];
  return phase == Phase::reduce ? Ends{child, parent} : Ends{parent, child};
}

Moves movesOf(const Work& work, const Options& options, const Progress& progress) {
  Moves made;
  made.gpuCount = work.gpuCount;
  made.phases = static_cast<int>(work.phases.size());
  made.chunks = work.chunks;
  made.algbw = work.algbw;
  made.fix = suggestedFix(work, options);
  addMessages(work, made);
  throwIfCancelled(progress);
  addFusible(work, made);
  throwIfCancelled(progress);
  const Arrivals arrivals(work, options, nullptr);
  if (program::isRccl(options.runtime)) {
    countArrivalSteps(work, arrivals, made);
  }
  estimateTimes(work, arrivals, made);
  return made;
}

Outcome orderTrees(const Work& work, const Moves& moves, const Options& options, const Style& style, Plan& plan,
                   const Progress& progress) {
  const Waits waits = TreeWaits(work, moves, options, plan).list();
  plan.order.clear();
  if (style.order == StepOrder::chains) {
    plan.order = orderOfChains(moves, plan, waits, progress);
  } else {
    // Reducing is gathering run backwards, and so is a good order for it: forwards, a greedy run would send every share
    // as early as it can, and shares that are needed late would block the connections.
    for (const Phase phase : work.phases) {
      const bool isReduction = phase == Phase::reduce;
      std::vector<Event> order = greedyRun(
          moves, plan, waits, {.phase = static_cast<int>(phase), .backwards = isReduction}, options, progress);
      if (isReduction) {
        std::reverse(order.begin(), order.end());
      }
      plan.order.insert(plan.order.end(), order.begin(), order.end());
    }
  }
  if (static_cast<int>(plan.order.size()) != plan.events) {
    return Error{ErrorCode::infeasible, "the steps wait for each other in this order", {}, {}};
  }
  return Done{};
}

}  // namespace coppice::lowering
