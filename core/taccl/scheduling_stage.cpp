// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lp/mixed_program.hpp"
#include "taccl/stages.hpp"

namespace coppice::taccl {
namespace {

using lp::MixedProgram;
using lp::MixedTerm;

/// The sends of each machine, in order.
std::vector<std::vector<int>> sequencesOf(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                          const std::vector<int>& order) {
  std::vector<std::vector<int>> machines(static_cast<std::size_t>(problem.machineCount));
  std::map<int, std::vector<int>> bySender;
  for (const int item : order) {
    const Send& send = graph.sends[trees[item]];
    for (const int machine : problem.linkMachines[send.link]) {
      machines[machine].push_back(item);
    }
    if (problem.sendsOneAtATime) {
      bySender[send.from].push_back(item);
    }
  }
  for (auto& [sender, items] : bySender) {
    machines.push_back(std::move(items));
  }
  return machines;
}

/// Rows of the third stage: what starts a message is free, the order is not.
class Scheduler {
public:
  Scheduler(const Problem& problem, const SendGraph& graph, const Trees& trees, const std::vector<int>& order,
            const StageOptions& options, const Progress& progress)
      : m_problem(problem),
        m_model(*problem.model),
        m_graph(graph),
        m_trees(trees),
        m_order(order),
        m_options(options),
        m_progress(progress) {}

  Result<Scheduling> run(double seconds) {
    Scheduling result;
    std::vector<char> isFirst(m_trees.size(), 1);
    auto single = timetableOf(m_problem, m_graph, m_trees, m_order, isFirst);
    result.times = *std::move(single);  // an order in which senders come first can always be kept
    result.report.stage = "scheduling";
    tell(result.times.makespan);
    if (!hasChoice()) {
      result.report.status = std::string(lp::toString(lp::MixedStatus::optimal));
      return finished(std::move(result));
    }
    try {
      if (Outcome solved = solve(seconds, result); !solved) {
        return solved.error();
      }
    } catch (const CancelledError&) {
      result.report.status = std::string(lp::toString(lp::MixedStatus::undecided));
      result.report.reason = "cancelled";
    }
    return finished(std::move(result));
  }

private:
  void tell(Ticks makespan) const {
    if (m_options.onBetter) {
      m_options.onBetter(makespan);
    }
  }

  Scheduling finished(Scheduling result) const {
    result.report.makespan = Rational(result.times.makespan, m_problem.ticksPerUnit);
    return result;
  }

  [[nodiscard]] bool isRemote(int item) const { return m_model.links[m_graph.sends[m_trees[item]].link].isRemote; }
  [[nodiscard]] int linkOf(int item) const { return m_graph.sends[m_trees[item]].link; }
  [[nodiscard]] double alphaOf(int item) const { return static_cast<double>(m_problem.alpha[linkOf(item)]); }
  [[nodiscard]] double betaOf(int item) const { return static_cast<double>(m_problem.beta[linkOf(item)]); }

  /// Whether two chunks could go together at all.
  [[nodiscard]] bool hasChoice() const {
    std::vector<int> count(m_model.links.size());
    for (const int item : m_order) {
      if (isRemote(item) && ++count[linkOf(item)] > 1 && m_model.maxTogether > 1) {
        return true;
      }
    }
    return false;
  }

  Outcome solve(double seconds, Scheduling& result) {
    build(result.times);
    lp::MixedOptions options;
    options.seconds = seconds;
    options.threads = m_options.threads;
    options.stage = "scheduling";
    options.start = startValues(result.times);
    const auto answer = lp::solveMixed(m_program, options, m_progress);
    if (!answer) {
      return answer.error();
    }
    result.report.status = std::string(lp::toString(answer->status));
    result.report.reason = answer->reason;
    if (answer->bound) {
      result.report.bound = *answer->bound / static_cast<double>(m_problem.ticksPerUnit);
    }
    if (answer->values.empty()) {
      // The start satisfies all rows, so "impossible" is a failure of the solver.
      result.report.status = std::string(lp::toString(lp::MixedStatus::undecided));
      if (answer->status == lp::MixedStatus::impossible) {
        result.report.reason = "CBC found no solution, but the start is one";
      }
      return Done{};
    }
    std::vector<char> isFirst(m_trees.size(), 1);
    for (const int item : m_order) {
      if (m_first[item] >= 0) {
        isFirst[item] = answer->values[m_first[item]] > 0.5 ? 1 : 0;
      }
    }
    auto times = timetableOf(m_problem, m_graph, m_trees, m_order, isFirst);
    if (times && times->makespan <= result.times.makespan) {
      result.times = *std::move(times);
      tell(result.times.makespan);
    }
    return Done{};
  }

  void build(const Timetable& single) {
    m_horizon = static_cast<double>(single.makespan);
    const double scale = m_horizon;
    m_start.assign(m_trees.size(), -1);
    m_end.assign(m_trees.size(), -1);
    m_first.assign(m_trees.size(), -1);
    m_time = m_program.addColumn({.upper = scale, .cost = 1});
    findLimits();
    for (const int item : m_order) {
      m_start[item] = m_program.addColumn({.lower = m_head[item], .upper = scale - m_tail[item]});
      if (isRemote(item)) {
        m_end[item] = m_program.addColumn({.lower = m_head[item], .upper = scale});
      }
    }
    for (const int item : m_order) {
      addSend(item);
    }
    std::map<int, std::vector<int>> byLink;
    for (const int item : m_order) {
      if (isRemote(item)) {
        byLink[linkOf(item)].push_back(item);
      }
    }
    for (const auto& [link, items] : byLink) {
      addMessages(items);
    }
    std::set<std::pair<int, int>> known;
    for (const std::vector<int>& items : sequencesOf(m_problem, m_graph, m_trees, m_order)) {
      for (std::size_t i = 1; i < items.size(); ++i) {
        const bool mayJoin = isRemote(items[i]) && linkOf(items[i]) == linkOf(items[i - 1]);
        if (!mayJoin && known.emplace(items[i - 1], items[i]).second) {
          addAfter(m_start[items[i]], items[i - 1], 0, -1);
        }
      }
    }
  }

  /// The minimum time before a send starts, and after that until all is over.
  void findLimits() {
    m_head.assign(m_trees.size(), 0);
    m_tail.assign(m_trees.size(), 0);
    std::vector<double> way(m_trees.size());
    for (const int item : downwards(m_problem, m_graph, m_trees)) {
      m_head[item] = way[m_graph.sends[m_trees[item]].from];
      way[item] = m_head[item] + alphaOf(item) + betaOf(item);
    }
    const std::vector<int> down = downwards(m_problem, m_graph, m_trees);
    for (auto at = down.rbegin(); at != down.rend(); ++at) {
      m_tail[*at] += alphaOf(*at) + betaOf(*at);
      double& before = m_tail[m_graph.sends[m_trees[*at]].from];
      before = std::max(before, m_tail[*at]);
    }
  }

  /// left >= end of the item + more - horizon * (1 - binary), without the last term where binary is -1.
  void addAfter(int left, int item, double more, int binary) {
    std::vector<MixedTerm> terms = {{left, 1}};
    double side = more;
    if (m_end[item] >= 0) {
      terms.push_back({m_end[item], -1});
    } else {
      terms.push_back({m_start[item], -1});
      side += alphaOf(item) + betaOf(item);
    }
    if (binary >= 0) {
      terms.push_back({binary, -m_horizon});
      side -= m_horizon;
    }
    m_program.rows.push_back({std::move(terms), side, lp::kInfinite});
  }

  void addSend(int item) {
    const int from = m_graph.sends[m_trees[item]].from;
    if (m_trees[from] >= 0) {
      addAfter(m_start[item], from, 0, -1);
    }
    if (m_tail[item] <= alphaOf(item) + betaOf(item)) {
      addAfter(m_time, item, 0, -1);
    }
  }

  void addMessages(const std::vector<int>& items) {
    const std::size_t max = static_cast<std::size_t>(m_model.maxTogether);
    for (std::size_t i = 1; i < items.size(); ++i) {
      m_first[items[i]] = m_program.addColumn({.upper = 1, .isInteger = true});
    }
    auto& rows = m_program.rows;
    for (std::size_t i = 0; i < items.size(); ++i) {
      // e[j] >= s[i] + a + b (j - i + 1), unless a message starts after i.
      for (std::size_t j = i; j < std::min(items.size(), i + max); ++j) {
        std::vector<MixedTerm> terms = {{m_end[items[j]], 1}, {m_start[items[i]], -1}};
        for (std::size_t k = i + 1; k <= j; ++k) {
          terms.push_back({m_first[items[k]], m_horizon});
        }
        const double length = alphaOf(items[i]) + betaOf(items[i]) * static_cast<double>(j - i + 1);
        rows.push_back({std::move(terms), length, lp::kInfinite});
      }
      if (i + 1 == items.size()) {
        break;
      }
      const int next = items[i + 1];
      const int starts = m_first[next];
      rows.push_back({{{m_start[next], 1}, {m_start[items[i]], -1}}, 0, lp::kInfinite});
      rows.push_back({{{m_start[next], 1}, {m_start[items[i]], -1}, {starts, -m_horizon}}, -lp::kInfinite, 0});
      rows.push_back({{{m_end[items[i]], 1}, {m_end[next], -1}, {starts, m_horizon}}, 0, lp::kInfinite});
      addAfter(m_start[next], items[i], 0, starts);
      if (i + max < items.size()) {
        std::vector<MixedTerm> terms;
        for (std::size_t k = i + 1; k <= i + max; ++k) {
          terms.push_back({m_first[items[k]], 1});
        }
        rows.push_back({std::move(terms), 1, lp::kInfinite});
      }
    }
  }

  [[nodiscard]] std::vector<double> startValues(const Timetable& times) const {
    std::vector<double> values(m_program.columns.size());
    values[m_time] = static_cast<double>(times.makespan);
    for (const int item : m_order) {
      values[m_start[item]] = static_cast<double>(times.start[item]);
      if (m_end[item] >= 0) {
        values[m_end[item]] = static_cast<double>(times.end[item]);
      }
      if (m_first[item] >= 0) {
        values[m_first[item]] = 1;
      }
    }
    return values;
  }

  const Problem& m_problem;
  const Model& m_model;
  const SendGraph& m_graph;
  const Trees& m_trees;
  const std::vector<int>& m_order;
  const StageOptions& m_options;
  const Progress& m_progress;
  MixedProgram m_program;  ///< in ticks
  double m_horizon = 0;
  int m_time = -1;
  std::vector<int> m_start;  ///< by item: column
  std::vector<int> m_end;    ///< by item between nodes: column; -1 = start and length
  std::vector<int> m_first;  ///< by item between nodes: column of "starts a message"; -1 = always
  std::vector<double> m_head;
  std::vector<double> m_tail;
};

}  // namespace

std::optional<Timetable> timetableOf(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                     const std::vector<int>& order, const std::vector<char>& isFirst) {
  Timetable times;
  times.start.assign(trees.size(), 0);
  times.end.assign(trees.size(), 0);
  times.message.assign(trees.size(), -1);
  // Messages in the order of their first sends.
  std::vector<std::vector<int>> messages;
  std::map<int, int> lastOf;  // by link
  const Model& model = *problem.model;
  for (const int item : order) {
    const int link = graph.sends[trees[item]].link;
    const auto last = lastOf.find(link);
    if (model.links[link].isRemote && isFirst[item] == 0 && last != lastOf.end()) {
      times.message[item] = last->second;
      messages[last->second].push_back(item);
    } else {
      times.message[item] = static_cast<int>(messages.size());
      lastOf[link] = times.message[item];
      messages.push_back({item});
    }
  }
  for (const std::vector<int>& items : messages) {
    if (static_cast<int>(items.size()) > model.maxTogether) {
      return std::nullopt;
    }
  }
  std::vector<std::vector<int>> after(messages.size());
  std::vector<int> waits(messages.size());
  const auto follow = [&](int before, int next) {
    after[before].push_back(next);
    ++waits[next];
  };
  for (const int item : order) {
    if (const int from = graph.sends[trees[item]].from; trees[from] >= 0) {
      follow(times.message[from], times.message[item]);
    }
  }
  for (const std::vector<int>& items : sequencesOf(problem, graph, trees, order)) {
    std::vector<int> seen;
    for (const int item : items) {
      const int message = times.message[item];
      if (seen.empty() || seen.back() != message) {
        if (!seen.empty()) {
          follow(seen.back(), message);
        }
        seen.push_back(message);
      }
    }
  }
  std::vector<Ticks> start(messages.size());
  std::vector<int> ready;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (waits[i] == 0) {
      ready.push_back(static_cast<int>(i));
    }
  }
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const int message = ready[at];
    const std::vector<int>& items = messages[message];
    const int link = graph.sends[trees[items.front()]].link;
    const Ticks end = start[message] + problem.alpha[link] + problem.beta[link] * static_cast<Ticks>(items.size());
    for (const int item : items) {
      times.start[item] = start[message];
      times.end[item] = end;
    }
    times.makespan = std::max(times.makespan, end);
    for (const int next : after[message]) {
      start[next] = std::max(start[next], end);
      if (--waits[next] == 0) {
        ready.push_back(next);
      }
    }
  }
  return ready.size() == messages.size() ? std::optional(std::move(times)) : std::nullopt;
}

Result<Scheduling> scheduleSends(const Problem& problem, const SendGraph& graph, const Trees& trees,
                                 const std::vector<int>& order, const StageOptions& options, double seconds,
                                 const Progress& progress) {
  return Scheduler(problem, graph, trees, order, options, progress).run(seconds);
}

}  // namespace coppice::taccl
