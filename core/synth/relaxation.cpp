// SPDX-License-Identifier: Apache-2.0
#include "synth/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"
#include "flow/max_flow.hpp"
#include "lp/program_support.hpp"

namespace coppice::synth {
namespace {

constexpr std::int64_t kEnough = std::int64_t{1} << 60;
/// Floating-point values become integers of this many units for the search for cuts.
constexpr double kUnits = 1e9;
/// A cut violated by less is left to exact arithmetic.
constexpr std::int64_t kTolerance = 2'000;
/// Common denominators above this leave no room for sums of flows.
constexpr std::int64_t kMaxDenominator = std::int64_t{1} << 36;
constexpr int kMaxCutRounds = 400;
constexpr std::size_t kMaxColumns = 6'000;
/// Arcs times groups of chunks: 4 bytes each before orbits join them.
constexpr std::size_t kMaxArcsOfGroups = 40'000'000;
/// Entries of the dense simplex: time per pivot.
constexpr std::size_t kMaxDictionary = 8'000'000;

int ceilingOf(const Rational& value) {
  return static_cast<int>(std::min<std::int64_t>(-(-value).floor(), std::numeric_limits<int>::max() / 4));
}

}  // namespace

std::vector<int> orbitsOfArcs(const Problem& problem, std::span<const Symmetry> symmetries, const Progress& progress) {
  const std::size_t arcs = problem.topology.arcs.size();
  if (arcs * problem.groups > kMaxArcsOfGroups) {
    return {};
  }
  DisjointSets orbits(static_cast<int>(arcs) * problem.groups);
  for (const Symmetry& each : symmetries) {
    for (int group = 0; group < problem.groups; ++group) {
      throwIfCancelled(progress);
      for (std::size_t arc = 0; arc < arcs; ++arc) {
        orbits.join(static_cast<int>(group * arcs + arc), static_cast<int>(each.group[group] * arcs + each.arc[arc]));
      }
    }
  }
  std::vector<int> min(arcs * problem.groups);
  for (std::size_t i = 0; i < min.size(); ++i) {
    min[i] = orbits.find(static_cast<int>(i));
  }
  return min;
}

Relaxation::Relaxation(const Problem& problem, std::span<const Symmetry> symmetries, const std::vector<int>& orbits,
                       int steps, std::int64_t rounds, const Progress& progress)
    : m_problem(problem), m_symmetries(symmetries), m_steps(steps), m_rounds(rounds), m_orbitOf(orbits) {
  if (orbits.size() != problem.topology.arcs.size() * problem.groups) {
    m_isUsable = false;  // too many
    return;
  }
  chooseRequirements(progress);
  makeColumns(progress);
  if (m_data.size() > kMaxColumns) {
    m_isUsable = false;
    return;
  }
  m_simplex.emplace(m_data);
  makeRows(progress);
}

/// One requirement of each orbit: a group with its demands.
void Relaxation::chooseRequirements(const Progress& progress) {
  std::map<std::pair<int, std::map<int, std::int64_t>>, int> numbers;
  const auto& all = m_problem.requirements;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    numbers[{all[i].group, all[i].demand}] = i;
  }
  DisjointSets orbits(static_cast<int>(all.size()));
  for (const Symmetry& each : m_symmetries) {
    throwIfCancelled(progress);
    for (int i = 0; i < static_cast<int>(all.size()); ++i) {
      std::map<int, std::int64_t> image;
      for (const auto& [node, amount] : all[i].demand) {
        image[each.node[node]] = amount;
      }
      if (const auto found = numbers.find({each.group[all[i].group], image}); found != numbers.end()) {
        orbits.join(i, found->second);
      }
    }
  }
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    if (orbits.find(i) == i) {
      m_requirements.push_back(i);
    }
  }
}

int Relaxation::columnOf(int group, int arc, int step) const {
  const int orbit = m_orbitOf[group * m_problem.topology.arcs.size() + arc];
  return m_firstColumn[orbit] < 0 ? -1 : m_columns[static_cast<std::size_t>(m_firstColumn[orbit]) + step];
}

void Relaxation::makeColumns(const Progress& progress) {
  const Topology& topology = m_problem.topology;
  Rational total = 0;
  for (const Limit& limit : topology.limits) {
    total += limit.perRound;
  }
  m_largest = total * Rational(m_rounds) + Rational(1);
  const int largest = ceilingOf(m_largest);
  m_data.push_back({.lower = 0, .upper = largest, .cost = 1, .scale = static_cast<double>(m_rounds)});
  for (int step = 0; step < layers(); ++step) {
    m_data.push_back({.lower = 0, .upper = m_rounds, .scale = static_cast<double>(m_rounds)});
  }
  m_firstColumn.assign(m_orbitOf.size(), -1);
  std::vector<std::vector<bool>> sourcesOf(m_problem.groups, std::vector<bool>(topology.nodes, false));
  std::vector<std::vector<bool>> sinksOf = sourcesOf;
  for (const Requirement& requirement : m_problem.requirements) {
    for (const auto& [node, amount] : requirement.supply) {
      sourcesOf[requirement.group][node] = true;
    }
    for (const auto& [node, amount] : requirement.demand) {
      sinksOf[requirement.group][node] = true;
    }
  }
  constexpr int kArcsPerQuestion = 4096;
  for (int group = 0; group < m_problem.groups; ++group) {
    const auto& sources = sourcesOf[group];
    const auto& sinks = sinksOf[group];
    const auto after = distancesFrom(topology, sources);
    const auto before = distancesTo(topology, sinks);
    for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
      const int from = after[topology.arcs[arc].from];
      const int to = before[topology.arcs[arc].to];
      const int orbit = m_orbitOf[group * topology.arcs.size() + arc];
      if (arc % kArcsPerQuestion == 0) {
        throwIfCancelled(progress);
      }
      if (m_data.size() > kMaxColumns) {
        return;
      }
      for (int step = 0; from >= 0 && to >= 0 && step < layers(); ++step) {
        if (columnOf(group, arc, step) >= 0 || (m_steps > 0 && (from > step || step + 1 + to > m_steps))) {
          continue;
        }
        if (m_firstColumn[orbit] < 0) {
          m_firstColumn[orbit] = static_cast<int>(m_columns.size());
          m_columns.resize(m_columns.size() + layers(), -1);
        }
        m_columns[static_cast<std::size_t>(m_firstColumn[orbit]) + step] = static_cast<int>(m_data.size());
        Rational max = m_largest;
        for (const int limit : topology.limitsOf[arc]) {
          max = std::min(max, topology.limits[limit].perRound);
        }
        m_data.push_back(
            {.lower = 0, .upper = ceilingOf(max * Rational(m_rounds)), .scale = static_cast<double>(m_rounds)});
      }
    }
  }
}

void Relaxation::makeRows(const Progress& progress) {
  const Topology& topology = m_problem.topology;
  lp::Row sum{.terms = {}, .lower = m_rounds, .upper = m_rounds};
  for (int step = 0; step < layers(); ++step) {
    sum.terms.push_back({1 + step, 1});
  }
  m_simplex->addRow(std::move(sum));
  DisjointSets orbits(static_cast<int>(topology.limits.size()));
  for (const Symmetry& each : m_symmetries) {
    for (std::size_t limit = 0; limit < topology.limits.size(); ++limit) {
      orbits.join(static_cast<int>(limit), each.limit[limit]);
    }
  }
  for (int limit = 0; limit < static_cast<int>(topology.limits.size()); ++limit) {
    if (orbits.find(limit) != limit) {
      continue;
    }
    const Rational& rate = topology.limits[limit].perRound;
    for (int step = 0; step < layers(); ++step) {
      throwIfCancelled(progress);
      std::map<int, std::int64_t> counts;
      for (const int arc : topology.limits[limit].arcs) {
        for (int group = 0; group < m_problem.groups; ++group) {
          if (const int column = columnOf(group, arc, step); column >= 0) {
            counts[column] += rate.denominator();
          }
        }
      }
      if (counts.empty()) {
        continue;
      }
      lp::Row row{.terms = {}, .upper = 0};
      row.terms.push_back({1 + step, -rate.numerator()});
      for (const auto& [column, count] : counts) {
        row.terms.push_back({column, count});
      }
      m_simplex->addRow(std::move(row));
    }
  }
  m_isUsable = m_simplex->rows().size() * m_data.size() <= kMaxDictionary;
}

void Relaxation::setRounds(int step, std::int64_t min, std::int64_t max) {
  m_simplex->setBounds(1 + step, min, max);
}

bool Relaxation::addCut(const Requirement& requirement, const std::vector<bool>& side) {
  const Topology& topology = m_problem.topology;
  std::map<int, std::int64_t> counts;
  const int last = layers();
  for (int step = 0; step < layers(); ++step) {
    for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
      const int column = columnOf(requirement.group, arc, step);
      if (column >= 0 && side[nodeAt(topology.arcs[arc].from, step)] &&
          !side[nodeAt(topology.arcs[arc].to, step + 1)]) {
        ++counts[column];
      }
    }
  }
  // What must cross: demands beyond the cut less supplies beyond it.
  std::int64_t need = 0;
  for (const auto& [node, amount] : requirement.demand) {
    need += side[nodeAt(node, m_steps == 0 ? 0 : last)] ? 0 : amount;
  }
  for (const auto& [node, amount] : requirement.supply) {
    need -= side[nodeAt(node, 0)] ? 0 : amount;
  }
  lp::Row row{.terms = {}, .lower = 0};
  row.terms.push_back({0, -need});
  for (const auto& [column, count] : counts) {
    row.terms.push_back({column, count});
  }
  const auto isSame = [&](const std::vector<lp::Term>& other) {
    return std::equal(
        other.begin(), other.end(), row.terms.begin(), row.terms.end(),
        [](const lp::Term& a, const lp::Term& b) { return a.column == b.column && a.coefficient == b.coefficient; });
  };
  if (need <= 0 || std::any_of(m_cuts.begin(), m_cuts.end(), isSame)) {
    return false;
  }
  m_cuts.push_back(row.terms);
  m_simplex->addRow(std::move(row));
  return true;
}

std::optional<bool> Relaxation::addCuts(const std::function<std::int64_t(int)>& valueOf, std::int64_t chunks,
                                        std::int64_t tolerance, const lp::StopTest& stop) {
  const Topology& topology = m_problem.topology;
  const int nodes = m_steps == 0 ? topology.nodes : (m_steps + 1) * topology.nodes;
  bool isAdded = false;
  for (const int index : m_requirements) {
    if (stop()) {
      return std::nullopt;
    }
    const Requirement& requirement = m_problem.requirements[index];
    flow::MaxFlow flow(nodes + 2);
    const int source = nodes;
    const int sink = nodes + 1;
    std::int64_t target = 0;
    for (const auto& [node, amount] : requirement.supply) {
      flow.addArc(source, nodeAt(node, 0), checkedMul(amount, chunks));
    }
    for (const auto& [node, amount] : requirement.demand) {
      const std::int64_t part = checkedMul(amount, chunks);
      flow.addArc(nodeAt(node, m_steps), sink, part);
      target = checkedAdd(target, part);
    }
    for (int node = 0; node < topology.nodes; ++node) {
      for (int step = 0; step < m_steps; ++step) {
        flow.addArc(nodeAt(node, step), nodeAt(node, step + 1), kEnough);
      }
    }
    for (int step = 0; step < layers(); ++step) {
      for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
        const int column = columnOf(requirement.group, arc, step);
        const std::int64_t value = column >= 0 ? valueOf(column) : 0;
        if (value > 0) {
          flow.addArc(nodeAt(topology.arcs[arc].from, step), nodeAt(topology.arcs[arc].to, step + 1), value);
        }
      }
    }
    if (flow.run(source, sink, target) >= target - tolerance) {
      continue;
    }
    isAdded = addCut(requirement, flow.sourceSideNearSink(sink)) || isAdded;
    isAdded = addCut(requirement, flow.sourceSide(source)) || isAdded;
  }
  return isAdded;
}

std::optional<bool> Relaxation::addFloatingCuts(const lp::StopTest& stop) {
  const double scale = kUnits / static_cast<double>(m_rounds);
  const auto toUnits = [&](double value) { return std::max<std::int64_t>(0, std::llround(value * scale)); };
  return addCuts([&](int column) { return toUnits(m_simplex->value(column)); }, toUnits(m_simplex->value(0)),
                 kTolerance, stop);
}

std::optional<bool> Relaxation::addExactCuts(const lp::StopTest& stop) {
  const auto point = m_simplex->exactPoint(stop);
  if (!point || point->denominator > kMaxDenominator) {
    return std::nullopt;
  }
  return addCuts([&](int column) { return point->numerators[column]; }, point->numerators[0], 0, stop);
}

std::optional<Rational> Relaxation::provedNow(const lp::StopTest& stop) const {
  const auto bound = m_simplex->provedBound(stop);
  if (!bound || bound->numerator < 0) {
    return std::nullopt;
  }
  Int128 a = bound->numerator;
  Int128 b = bound->denominator;
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  try {
    return Rational(narrow64(bound->numerator / a), narrow64(bound->denominator / a));
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

std::optional<ProvedBound> Relaxation::solve(const Rational& enough, const lp::StopTest& stop,
                                             const Progress& progress) {
  int refinements = 0;
  for (int i = 0; i < kMaxCutRounds; ++i) {
    throwIfCancelled(progress);
    if (m_simplex->rows().size() * m_data.size() > kMaxDictionary ||
        m_simplex->solve(stop) != lp::SimplexStatus::optimal) {
      return std::nullopt;
    }
    if (m_simplex->value(0) < enough.toDouble() - 1e-6) {
      const auto bound = provedNow(stop);
      if (bound && *bound < enough) {
        return ProvedBound{*bound, false};
      }
    }
    const auto isCut = addFloatingCuts(stop);
    if (!isCut) {
      return std::nullopt;
    }
    if (*isCut) {
      continue;
    }
    const auto added = addExactCuts(stop);
    if (added && !*added) {
      const auto bound = provedNow(stop);
      if (bound) {
        return ProvedBound{*bound, true};
      }
    }
    if (added && *added) {
      continue;
    }
    if (refinements++ == lp::kMaxRefinements || !m_simplex->refine(stop)) {
      break;
    }
  }
  const auto bound = provedNow(stop);
  return bound ? std::optional(ProvedBound{*bound, false}) : std::nullopt;
}

}  // namespace coppice::synth
