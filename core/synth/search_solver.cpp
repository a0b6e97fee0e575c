// SPDX-License-Identifier: Apache-2.0
// Exact search: every choice of rounds per step, by flow for one source or destination, else by the SAT solver.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "synth/search.hpp"
#include "synth/single_flow.hpp"

namespace coppice::synth {
namespace {

/// Where not all choices are listed, this many are tried one by one beside the choice of the solver.
constexpr std::size_t kMaxGuesses = 2;
constexpr int kMaxProgramNodes = 300;
constexpr int kMaxFlowNodes = 20'000;
constexpr std::int64_t kFirstTryConflicts = 2'000;
constexpr std::int64_t kTryGrowth = 4;
/// Literals of one encoding: some 4 GB at 50 bytes each.
constexpr std::int64_t kMaxTryEncoding = 80'000'000;

}  // namespace

/// Depth first over boxes of rounds; visit() hears every choice that is left open and ends the search by true.
Search::RoundChoices Search::roundChoices(const Size& size, std::size_t max,
                                          const std::function<bool(const std::vector<std::int64_t>&)>& visit,
                                          Clock::time_point deadline) {
  struct Box {
    std::vector<std::int64_t> min;
    std::vector<std::int64_t> max;
  };
  RoundChoices choices;
  Relaxation program(m_problem, m_generators, orbits(), size.steps, size.rounds, m_progress);
  const bool hasProgram = program.isUsable();
  const int limit = hasProgram ? kMaxProgramNodes : kMaxFlowNodes;
  std::vector<Box> stack{
      {std::vector<std::int64_t>(size.steps, 1), std::vector<std::int64_t>(size.steps, size.rounds - size.steps + 1)}};
  const auto stop = stopAt(deadline);
  for (int node = 0; !stack.empty(); ++node) {
    if (node == limit || stop()) {
      return choices;
    }
    Box box = std::move(stack.back());
    stack.pop_back();
    const auto minSum = std::accumulate(box.min.begin(), box.min.end(), std::int64_t{0});
    const auto maxSum = std::accumulate(box.max.begin(), box.max.end(), std::int64_t{0});
    if (minSum > size.rounds || maxSum < size.rounds) {
      continue;
    }
    for (int step = 0; step < size.steps; ++step) {
      const std::int64_t before = box.min[step];
      box.min[step] = std::max(box.min[step], size.rounds - (maxSum - box.max[step]));
      box.max[step] = std::min(box.max[step], size.rounds - (minSum - before));
    }
    if (hasProgram) {
      for (int step = 0; step < size.steps; ++step) {
        program.setRounds(step, box.min[step], box.max[step]);
      }
      const auto bound = program.solve(Rational(size.n), stop, m_progress);
      if (bound && bound->chunks < Rational(size.n)) {
        continue;
      }
    }
    int widest = 0;
    for (int step = 1; step < size.steps; ++step) {
      widest = box.max[step] - box.min[step] > box.max[widest] - box.min[widest] ? step : widest;
    }
    if (box.max[widest] == box.min[widest]) {
      if (visit(box.min)) {
        choices.open = {box.min};
        return choices;
      }
      choices.open.push_back(box.min);
      if (choices.open.size() > max) {
        return choices;
      }
      continue;
    }
    // What the program chose comes first, the rest of the box after it.
    const std::int64_t chosen = std::clamp(
        hasProgram ? static_cast<std::int64_t>(program.rounds(widest) + 0.5) : (box.min[widest] + box.max[widest]) / 2,
        box.min[widest], box.max[widest]);
    for (const int side : {1, -1, 0}) {
      Box part = box;
      part.min[widest] = side > 0 ? chosen + 1 : side < 0 ? box.min[widest] : chosen;
      part.max[widest] = side > 0 ? box.max[widest] : side < 0 ? chosen - 1 : chosen;
      if (part.min[widest] <= part.max[widest]) {
        stack.push_back(std::move(part));
      }
    }
  }
  choices.isComplete = true;
  return choices;
}

Decision Search::byFlow(const Size& size, const Effort& effort) {
  std::optional<Steps> found;
  bool isStopped = false;
  const std::function<bool()> stop = [&isStopped, over = stopAt(effort.deadline)] {
    isStopped = isStopped || over();
    return isStopped;
  };
  const auto visit = [&](const std::vector<std::int64_t>& rounds) {
    found = singleFlow(m_problem, size.n, rounds, stop);
    return found.has_value();
  };
  const RoundChoices choices = roundChoices(size, std::numeric_limits<std::size_t>::max(), visit, effort.deadline);
  if (found) {
    return accept(size, *std::move(found), "one maximum flow over the steps carries everything");
  }
  throwIfCancelled(m_progress);
  if (choices.isComplete && !isStopped) {
    return refuted(size, "no choice of rounds per step has a large enough flow (maximum flow over the steps, exact)");
  }
  return {Verdict::unknown, "not every choice of rounds per step was tried within the limits", {}};
}

/// Solvers for one instance: per choice of rounds and group of symmetries, in turn with growing effort.
class Search::Attempts {
public:
  /// Refuting all boxes from the first decisive one on refutes the instance; those before are guesses.
  Attempts(Search& search, const Size& size, std::vector<RoundBox> boxes, std::size_t firstDecisive)
      : m_search(search), m_size(size), m_boxes(std::move(boxes)), m_firstDecisive(firstDecisive) {
    for (const auto& group : search.groups()) {
      m_groups.push_back(&group);
    }
    m_groups.push_back(nullptr);
    m_isOut.assign(m_boxes.size() * m_groups.size(), false);
    m_solvers.resize(m_isOut.size());
  }

  /// nullopt = nothing more can be tried.
  std::optional<Verdict> round(std::int64_t conflicts, const std::function<bool()>& stop) {
    bool isAnyLeft = false;
    for (std::size_t group = 0; group < m_groups.size(); ++group) {
      for (std::size_t box = 0; box < m_boxes.size(); ++box) {
        const std::size_t at = group * m_boxes.size() + box;
        if (m_isOut[at] || stop()) {
          isAnyLeft = isAnyLeft || !m_isOut[at];
          continue;
        }
        const Verdict verdict = attempt(at, box, m_groups[group], conflicts, stop);
        if (verdict == Verdict::sat) {
          return verdict;
        }
        m_isOut[at] = m_isOut[at] || verdict == Verdict::unsat;
        isAnyLeft = isAnyLeft || !m_isOut[at];
        const bool isDecisive = m_groups[group] == nullptr && box >= m_firstDecisive;
        if (verdict == Verdict::unsat && isDecisive && ++m_refuted == m_boxes.size() - m_firstDecisive) {
          return verdict;
        }
      }
    }
    return isAnyLeft ? std::optional(Verdict::unknown) : std::nullopt;
  }

  [[nodiscard]] Steps takeFound() { return std::move(m_found); }
  [[nodiscard]] std::size_t foundGroup() const { return m_foundGroup; }

private:
  struct Instance {
    SatSolver solver;
    Encoding encoding;

    Instance(const Problem& problem, const Size& size, const RoundBox& box, const std::vector<Symmetry>& group,
             std::uint64_t seed, const EncodingGuard& guard)
        : solver(seed), encoding(problem, size.n, box, group, solver, guard) {}
  };

  Verdict attempt(std::size_t at, std::size_t box, const std::vector<Symmetry>* group, std::int64_t conflicts,
                  const std::function<bool()>& stop) {
    static const std::vector<Symmetry> kNone;
    const auto& symmetries = group != nullptr ? *group : kNone;
    if (!m_solvers[at]) {
      const auto size = Encoding::sizeOf(m_search.m_problem, m_size.n, m_size.steps, symmetries.size());
      if (size > kMaxTryEncoding) {
        m_isOut[at] = true;
        return Verdict::unknown;
      }
      // All solvers together keep within the limit: what does not fit beside the others may fit after them.
      std::int64_t others = 0;
      for (const auto& each : m_solvers) {
        others += each ? each->solver.literals() : 0;
      }
      try {
        m_solvers[at] = std::make_unique<Instance>(m_search.m_problem, m_size, m_boxes[box], symmetries,
                                                   m_search.m_seed, EncodingGuard{stop, kMaxTryEncoding - others});
      } catch (const EncodingStopped& stopped) {
        m_isOut[at] = stopped.isTooLarge && others == 0;
        return Verdict::unknown;
      }
    }
    const Verdict verdict = m_solvers[at]->solver.solve(conflicts, stop);
    if (verdict == Verdict::sat) {
      m_found = m_solvers[at]->encoding.decode();
      m_foundGroup = symmetries.size();
    }
    if (verdict != Verdict::unknown) {
      m_solvers[at].reset();
    }
    return verdict;
  }

  Search& m_search;
  Size m_size;
  std::vector<RoundBox> m_boxes;
  std::size_t m_firstDecisive;
  std::vector<const std::vector<Symmetry>*> m_groups;
  std::vector<bool> m_isOut;
  std::vector<std::unique_ptr<Instance>> m_solvers;
  std::size_t m_refuted = 0;
  Steps m_found;
  std::size_t m_foundGroup = 0;
};

Decision Search::bySat(const Size& size, const RoundChoices& choices, std::int64_t maxConflicts, const Effort& effort) {
  if (!SatSolver::isAvailable()) {
    return {Verdict::unknown, "bounds, flows and pull do not decide it, and this build has no CaDiCaL", {}};
  }
  std::vector<RoundBox> boxes;
  const std::size_t listed = std::min(choices.open.size(), choices.isComplete ? kMaxChoices : kMaxGuesses);
  for (std::size_t i = 0; i < listed; ++i) {
    boxes.push_back({choices.open[i], choices.open[i], size.rounds});
  }
  std::size_t firstDecisive = 0;
  if (!choices.isComplete) {
    firstDecisive = boxes.size();
    const std::vector<std::int64_t> min(size.steps, 1);
    const std::vector<std::int64_t> max(size.steps, size.rounds - size.steps + 1);
    boxes.push_back({min, max, size.rounds});
  }
  Attempts attempts(*this, size, std::move(boxes), firstDecisive);
  const auto stop = stopAt(effort.deadline);
  std::optional<Verdict> verdict = Verdict::unknown;
  for (std::int64_t conflicts = kFirstTryConflicts; verdict == Verdict::unknown && conflicts <= maxConflicts && !stop();
       conflicts *= kTryGrowth) {
    verdict = attempts.round(conflicts, stop);
  }
  throwIfCancelled(m_progress);
  if (verdict == Verdict::sat) {
    const std::size_t order = attempts.foundGroup();
    return accept(size, attempts.takeFound(),
                  order > 1 ? "found by SAT in the quotient by " + std::to_string(static_cast<std::int64_t>(order)) +
                                  " symmetries"
                            : "found by SAT");
  }
  if (verdict == Verdict::unsat) {
    return refuted(size, "the solver refutes the whole instance (SAT)", true);
  }
  return {Verdict::unknown,
          !verdict ? "the instance is too large for the solver"
          : stop() ? "no answer within the time limit"
                   : "no answer within the effort for one size",
          {}};
}

}  // namespace coppice::synth
