// SPDX-License-Identifier: Apache-2.0
#include "finder/paper.hpp"

#include <algorithm>

#include "finder/catalogue.hpp"
#include "finder/drawn.hpp"
#include "topology/distance_regular.hpp"
#include "topology/families.hpp"

namespace coppice::finder {
namespace {

Entry entryOf(int nodes, int degree, int steps, Rational time, ConstructionPtr construction) {
  Entry entry;
  entry.nodes = nodes;
  entry.degree = degree;
  entry.steps = steps;
  entry.bandwidthTime = time;
  entry.isExact = false;
  entry.construction = std::move(construction);
  return entry;
}

/// L(L^k(G)) as L^(k+1)(G).
ConstructionPtr lineGraphOf(const ConstructionPtr& part) {
  return part->operation == Operation::lineGraph ? expanded(Operation::lineGraph, part->numbers[0] + 1, part->parts[0])
                                                 : expanded(Operation::lineGraph, 1, part);
}

}  // namespace

std::vector<Entry> Finder::Paper::front(int nodes, int degree, const Progress& progress) {
  return known(nodes, degree, progress);
}

void Finder::Paper::addBases(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress) {
  const Rational optimal(nodes - 1, nodes);
  std::vector<Entry>& factors = m_factors[{nodes, degree}];
  const auto add = [&](int steps, bool isDuplex, bool isSimple, ConstructionPtr construction) {
    entries.push_back(entryOf(nodes, degree, steps, optimal, std::move(construction)));
    entries.back().isDuplex = isDuplex;
    if (isSimple) {
      factors.push_back(entries.back());
    }
  };
  if (degree == nodes - 1) {
    add(1, true, true, base(Operation::complete, {nodes}));
  }
  if (degree * 2 == nodes) {
    add(degree == 1 ? 1 : 2, true, true, base(Operation::completeBipartite, {degree}));
  }
  if (degree + 2 == nodes) {
    add(2, false, true, base(Operation::directedCirculant, {degree}));
  }
  add(nodes - 1, false, degree == 1, base(Operation::uniRing, {degree, nodes}));
  if (degree % 2 == 0 && nodes >= 3) {
    add(nodes / 2, true, degree == 2, base(Operation::biRing, {degree, nodes}));
  }
  if (degree % 4 == 0 && nodes > 6) {
    add(topology::denseCirculantSteps(nodes), true, degree == 4 && topology::isSimple(*topology::denseCirculant(nodes)),
        base(Operation::denseCirculant, {nodes, degree / 4}));
  }
  for (const auto& graph : topology::distanceRegularGraphs()) {
    if (graph.nodes == nodes && graph.degree == degree && degree == 4) {
      add(graph.diameter, true, true, named(Operation::distanceRegular, graph.name));
    }
  }
  for (const Drawn& drawn : drawnGraphs()) {
    if (drawn.nodes == nodes && drawn.degree == degree) {
      add(drawn.steps, false, false, named(Operation::quoted, std::string(drawn.name)));
    }
  }
  constexpr std::int64_t kMaxSteps = 2'000'000'000;
  if (nodes > degree && degree > 1 && std::int64_t{nodes} * nodes < kMaxSteps / degree) {
    const auto table = cataloguedKautz(degree, nodes);
    Rational time;
    int steps = 0;
    if (table) {
      steps = table->steps;
      time = table->loadSum * Rational(degree, nodes);
    } else {
      const Value value = kautzValue(degree, nodes, false, progress);
      steps = value.steps();
      time = value.bandwidthTime(nodes, degree);
    }
    entries.push_back(entryOf(nodes, degree, steps, time, base(Operation::kautz, {degree, nodes})));
  }
}

void Finder::Paper::addExpansions(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress) {
  if (degree > 1 && nodes % degree == 0 && nodes / degree > 1) {
    const int part = nodes / degree;
    for (const Entry& entry : known(part, degree, progress)) {
      entries.push_back(entryOf(nodes, degree, entry.steps + 1, entry.bandwidthTime + Rational(1, part),
                                lineGraphOf(entry.construction)));
    }
  }
  for (int n = 2; n <= degree; ++n) {
    if (degree % n == 0 && nodes % n == 0 && nodes / n > 1) {
      for (const Entry& entry : known(nodes / n, degree / n, progress)) {
        // A generalized Kautz graph may have self-loops, for which the expansion is not defined.
        if (entry.construction->operation != Operation::kautz) {
          entries.push_back(entryOf(nodes, degree, entry.steps + 1, entry.bandwidthTime + Rational(n - 1, nodes),
                                    expanded(Operation::degreeExpansion, n, entry.construction)));
        }
      }
    }
    if (degree % n != 0) {
      continue;
    }
    for (int side = 2; side < nodes; ++side) {
      std::int64_t product = 1;
      for (int i = 0; i < n && product <= nodes; ++i) {
        product *= side;
      }
      if (product > nodes) {
        break;
      }
      if (product == nodes) {
        for (const Entry& entry : known(side, degree / n, progress)) {
          entries.push_back(entryOf(nodes, degree, entry.steps * n,
                                    entry.bandwidthTime * Rational(side, side - 1) * Rational(nodes - 1, nodes),
                                    expanded(Operation::power, n, entry.construction)));
        }
      }
    }
  }
}

void Finder::Paper::addProducts(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress) {
  std::vector<Entry> found;
  for (int first = 2; first * first <= nodes; ++first) {
    if (nodes % first != 0) {
      continue;
    }
    for (int firstDegree = 1; firstDegree < degree; ++firstDegree) {
      known(first, firstDegree, progress);
      known(nodes / first, degree - firstDegree, progress);
      const auto& a = m_factors[{first, firstDegree}];
      const auto& b = m_factors[{nodes / first, degree - firstDegree}];
      if (!a.empty() && !b.empty()) {
        found.push_back(entryOf(nodes, degree, a.front().steps + b.front().steps, Rational(nodes - 1, nodes),
                                productOf(a.front().construction, b.front().construction)));
        found.back().isDuplex = a.front().isDuplex && b.front().isDuplex;
      }
    }
  }
  entries.insert(entries.end(), found.begin(), found.end());
  std::vector<Entry>& factors = m_factors[{nodes, degree}];
  factors.insert(factors.end(), found.begin(), found.end());
}

const std::vector<Entry>& Finder::Paper::known(int nodes, int degree, const Progress& progress) {
  const auto [it, isNew] = m_known.try_emplace({nodes, degree});
  if (!isNew) {
    return it->second;
  }
  throwIfCancelled(progress);
  std::vector<Entry> entries;
  addBases(nodes, degree, entries, progress);
  addExpansions(nodes, degree, entries, progress);
  addProducts(nodes, degree, entries, progress);
  auto& factors = m_factors[{nodes, degree}];
  std::stable_sort(factors.begin(), factors.end(), [](const Entry& a, const Entry& b) { return a.steps < b.steps; });
  if (factors.size() > 1) {
    factors.resize(1);
  }
  return m_known[{nodes, degree}] = paretoFront(std::move(entries));
}

}  // namespace coppice::finder
