// SPDX-License-Identifier: Apache-2.0
#include "finder/search.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "finder/catalogue.hpp"
#include "finder/distances.hpp"
#include "topology/distance_regular.hpp"
#include "topology/families.hpp"

namespace coppice::finder {
namespace {

using std::int64_t;
using std::size_t;
using topology::Digraph;

/// Degrees up to this take part in products; the dissertation's search goes as far.
constexpr int kMaxProductDegree = 16;
/// Steps of searches (nodes times degree) spent on drawing Cayley digraphs that the catalogue does not have.
constexpr int64_t kDrawSteps = 12'000'000;
constexpr int64_t kMinDraws = 40;
constexpr int64_t kMaxDraws = 6000;
/// Cayley digraphs of equal values that are kept for their line graphs.
constexpr int kMaxEquals = 8;
/// Distances are added up to this many steps: starts times links.
constexpr int64_t kMaxDistanceSteps = 2'000'000'000;
/// Generalized Kautz graphs are evaluated at all targets up to N^2 d of this.
constexpr int64_t kMaxKautzSteps = 8'000'000'000;

Entry entryOf(int nodes, int degree, int steps, Rational time, bool isDuplex, ConstructionPtr construction) {
  Entry entry;
  entry.nodes = nodes;
  entry.degree = degree;
  entry.steps = steps;
  entry.bandwidthTime = time;
  entry.isDuplex = isDuplex;
  entry.isSymmetric = true;
  entry.construction = std::move(construction);
  return entry;
}

/// The values of a graph in which every node has the same loads.
Entry measured(const Digraph& graph, bool isDuplex, ConstructionPtr construction) {
  const Value value = valueOfOne(graph);
  return entryOf(graph.nodes, graph.degree, value.steps(), value.bandwidthTime(graph.nodes, graph.degree), isDuplex,
                 std::move(construction));
}

bool isDominatedBy(const std::vector<Entry>& entries, int steps, const Rational& time) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry& entry) { return entry.steps <= steps && entry.bandwidthTime <= time; });
}

/// Strictly: an equal entry does not beat.
bool isBeatenBy(const std::vector<Entry>& entries, int steps, const Rational& time) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.steps <= steps && entry.bandwidthTime <= time && (entry.steps < steps || entry.bandwidthTime < time);
  });
}

/// Some known entry is as good for all three goals.
bool isBeatenByThree(const std::vector<Entry>& entries, int steps, const Rational& time, const Rational& distance) {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.meanDistance && entry.steps <= steps && entry.bandwidthTime <= time && *entry.meanDistance <= distance;
  });
}

Rational optimum(int nodes) {
  return {nodes - 1, nodes};
}

}  // namespace

bool Finder::Search::isDominated(const std::vector<Entry>& entries, int steps, const Rational& time) const {
  return !m_hasAlltoall && isDominatedBy(entries, steps, time);
}

void Finder::Search::addBases(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries) {
  const auto add = [&](int steps, bool isTwoWay, ConstructionPtr construction) {
    if (isTwoWay || !isDuplex) {
      entries.push_back(entryOf(nodes, degree, steps, optimum(nodes), isTwoWay, std::move(construction)));
    }
  };
  if (degree == nodes - 1) {
    add(1, true, base(Operation::complete, {nodes}));
  }
  if (degree * 2 == nodes && degree > 1) {
    add(2, true, base(Operation::completeBipartite, {degree}));
  }
  if (degree + 2 == nodes && degree > 1) {
    add(2, false, base(Operation::directedCirculant, {degree}));
  }
  if (degree == 1 && nodes > 2) {
    add(nodes - 1, false, base(Operation::uniRing, {1, nodes}));
  }
  if (degree == 2 && nodes > 2) {
    add(nodes / 2, true, base(Operation::biRing, {2, nodes}));
  }
  for (const auto& known : topology::distanceRegularGraphs()) {
    if (known.nodes == nodes && known.degree == degree) {
      add(known.diameter, true, named(Operation::distanceRegular, known.name));
    }
  }
  if (degree == 4 && nodes > 6) {
    ConstructionPtr construction = base(Operation::denseCirculant, {nodes, 1});
    const auto graph = build(*construction);
    if (topology::isSimple(*graph)) {
      entries.push_back(measured(*graph, true, std::move(construction)));
    }
  }
}

/// Rings and circulants with parallel links exist for every number of nodes.
void Finder::Search::addParallelRings(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries) {
  if (nodes == 2) {
    entries.push_back(entryOf(2, degree, 1, optimum(2), true, base(Operation::uniRing, {degree, 2})));
    return;
  }
  if (degree >= nodes) {
    ConstructionPtr construction = base(Operation::multiComplete, {degree, nodes});
    const auto graph = build(*construction);
    if (const bool isTwoWay = topology::isDuplex(*graph); isTwoWay || !isDuplex) {
      entries.push_back(measured(*graph, isTwoWay, std::move(construction)));
    }
  }
  if (!isDuplex) {
    entries.push_back(
        entryOf(nodes, degree, nodes - 1, optimum(nodes), false, base(Operation::uniRing, {degree, nodes})));
  }
  if (degree % 2 == 0) {
    entries.push_back(
        entryOf(nodes, degree, nodes / 2, optimum(nodes), true, base(Operation::biRing, {degree, nodes})));
  }
  if (degree % 4 == 0 && degree > 4 && nodes > 6 &&
      !isDominated(entries, topology::denseCirculantSteps(nodes), optimum(nodes))) {
    ConstructionPtr construction = base(Operation::denseCirculant, {nodes, degree / 4});
    const auto graph = build(*construction);
    entries.push_back(measured(*graph, true, std::move(construction)));
  }
}

void Finder::Search::takeDraw(const CayleyDraw& draw, bool isDuplex, std::vector<Entry>& entries,
                              std::vector<Entry>& equals) {
  const int nodes = draw.group.order();
  const auto degree = static_cast<int>(draw.generators.size());
  if (!m_cayley.run(draw) || (!m_hasAlltoall && isBeatenBy(entries, m_cayley.steps(), optimum(nodes)))) {
    return;
  }
  const int steps = m_cayley.steps();
  const Rational time = m_cayley.value().bandwidthTime(nodes, degree);
  const Rational distance = meanDistance(m_cayley.profile(), nodes);
  if (m_hasAlltoall ? isBeatenByThree(entries, steps, time, distance) : isBeatenBy(entries, steps, time)) {
    return;
  }
  ConstructionPtr construction = cayleyOf(draw.group, draw.generators);
  const bool isTwoWay = isDuplex || topology::isDuplex(*build(*construction));
  Entry entry = entryOf(nodes, degree, steps, time, isTwoWay, std::move(construction));
  if (m_hasAlltoall) {
    entry.meanDistance = distance;
    entries.push_back(std::move(entry));
    return;
  }
  const auto equal = [&](const Entry& other) { return other.steps == steps && other.bandwidthTime == time; };
  if (std::none_of(entries.begin(), entries.end(), equal)) {
    entries.push_back(std::move(entry));
  } else if (std::count_if(equals.begin(), equals.end(), equal) < kMaxEquals) {
    equals.push_back(std::move(entry));
  }
}

void Finder::Search::addDraws(int nodes, int degree, bool isDuplex, Effort effort, std::vector<Entry>& entries,
                              const Progress& progress) {
  if (degree >= nodes - 1 || degree < 2) {
    return;  // complete graphs and rings are base graphs
  }
  Sampler sampler(nodes);
  std::vector<Entry>& equals = m_equals[{nodes, degree, isDuplex, effort}];
  const auto take = [&](std::uint32_t seed) {
    if (const auto draw = sampler.draw(degree, isDuplex, seed)) {
      takeDraw(*draw, isDuplex, entries, equals);
    }
  };
  if (const auto* seeds = cataloguedDraws(nodes, degree, isDuplex)) {
    std::for_each(seeds->begin(), seeds->end(), take);
    return;
  }
  if (effort == Effort::part) {
    return;
  }
  const int64_t draws = std::clamp(kDrawSteps / (int64_t{nodes} * degree), kMinDraws, kMaxDraws);
  for (int64_t seed = 0; seed < draws; ++seed) {
    throwIfCancelled(progress);
    take(static_cast<std::uint32_t>(seed));
    progress.report("drawing", static_cast<double>(seed) / static_cast<double>(draws));
  }
}

void Finder::Search::addDegreeExpansions(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries,
                                         const Progress& progress) {
  for (int copies = 2; copies <= degree; ++copies) {
    if (degree % copies != 0 || nodes % copies != 0 || nodes / copies < 2) {
      continue;
    }
    for (const Entry& part : symmetric(nodes / copies, degree / copies, isDuplex, Effort::part, progress)) {
      if (isDominated(entries, part.steps, optimum(nodes))) {
        continue;
      }
      ConstructionPtr construction = expanded(Operation::degreeExpansion, copies, part.construction);
      if (const auto graph = build(*construction)) {
        entries.push_back(measured(*graph, part.isDuplex, std::move(construction)));
      }
    }
  }
}

/// Theorem 13: a product of simple bandwidth-optimal factors is bandwidth-optimal, and its steps add up.
void Finder::Search::addProducts(int nodes, int degree, bool isDuplex, std::vector<Entry>& entries,
                                 const Progress& progress) {
  for (int first = 2; first * first <= nodes; ++first) {
    if (nodes % first != 0) {
      continue;
    }
    for (int firstDegree = 1; firstDegree < degree; ++firstDegree) {
      const Entry* a = bestOptimal(first, firstDegree, isDuplex, progress);
      const Entry* b = a == nullptr ? nullptr : bestOptimal(nodes / first, degree - firstDegree, isDuplex, progress);
      if (b == nullptr || isDominated(entries, a->steps + b->steps, optimum(nodes))) {
        continue;
      }
      const bool isPower = first * first == nodes && firstDegree * 2 == degree;
      entries.push_back(entryOf(
          nodes, degree, a->steps + b->steps, optimum(nodes), a->isDuplex && b->isDuplex,
          isPower ? expanded(Operation::power, 2, a->construction) : productOf(a->construction, b->construction)));
    }
  }
}

const std::vector<Entry>& Finder::Search::symmetric(int nodes, int degree, bool isDuplex, Effort effort,
                                                    const Progress& progress) {
  if (cataloguedDraws(nodes, degree, isDuplex) != nullptr) {
    effort = Effort::whole;
  }
  const Key key{nodes, degree, isDuplex, effort};
  if (const auto known = m_symmetric.find(key); known != m_symmetric.end()) {
    return known->second;
  }
  throwIfCancelled(progress);
  // What others are made of has two goals.
  const bool hasAlltoall = std::exchange(m_hasAlltoall, false);
  std::vector<Entry> entries = gathered(nodes, degree, isDuplex, effort, progress);
  m_hasAlltoall = hasAlltoall;
  return m_symmetric[key] = paretoFront(std::move(entries));
}

std::vector<Entry> Finder::Search::gathered(int nodes, int degree, bool isDuplex, Effort effort,
                                            const Progress& progress) {
  std::vector<Entry> entries;
  if (degree < nodes) {
    addBases(nodes, degree, isDuplex, entries);
    addDraws(nodes, degree, isDuplex, effort, entries, progress);
    addDegreeExpansions(nodes, degree, isDuplex, entries, progress);
    if (degree <= kMaxProductDegree) {
      addProducts(nodes, degree, isDuplex, entries, progress);
    }
  }
  return entries;
}

const Entry* Finder::Search::bestOptimal(int nodes, int degree, bool isDuplex, const Progress& progress) {
  const std::vector<Entry>& entries = symmetric(nodes, degree, isDuplex, Effort::part, progress);
  return entries.empty() || !entries.back().isBandwidthOptimal() ? nullptr : &entries.back();
}

void Finder::Search::addLineGraphs(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress) {
  if (degree < 2) {
    return;
  }
  int times = 1;
  for (int part = nodes; part % degree == 0; ++times) {
    part /= degree;
    if (part <= degree) {
      break;
    }
    std::vector<Entry> parts = symmetric(part, degree, false, Effort::whole, progress);
    const std::vector<Entry>& equals = m_equals[{part, degree, false, Effort::whole}];
    parts.insert(parts.end(), equals.begin(), equals.end());
    for (const Entry& entry : parts) {
      if (isDominated(entries, entry.steps + times, optimum(nodes))) {
        continue;
      }
      const auto graph = build(*entry.construction);
      ProfileSearch search(*graph);
      const Value value = lineGraphValue(*graph, search.at(0), times);
      Entry line = entryOf(nodes, degree, value.steps(), value.bandwidthTime(nodes, degree), false,
                           expanded(Operation::lineGraph, times, entry.construction));
      line.isSymmetric = false;
      entries.push_back(std::move(line));
    }
  }
}

void Finder::Search::addKautz(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress,
                              std::vector<std::string>* notes) {
  if (nodes <= degree || degree < 2) {
    return;
  }
  const auto known = cataloguedKautz(degree, nodes);
  const int steps = known ? known->steps : kautzSteps(degree, nodes);
  if (isDominated(entries, steps, optimum(nodes))) {
    return;
  }
  Rational sum;
  if (known) {
    sum = known->loadSum;
  } else if (int64_t{nodes} * nodes > kMaxKautzSteps / degree) {
    if (notes != nullptr) {
      notes->push_back("Pi_{" + std::to_string(degree) + "," + std::to_string(nodes) + "} has " +
                       std::to_string(steps) + " steps; its T_B takes too long at this size and it is left out");
    }
    return;
  } else {
    const Value value = kautzValue(degree, nodes, false, progress);
    for (const Rational& load : value.stepLoads) {
      sum += load;
    }
  }
  Entry entry =
      entryOf(nodes, degree, steps, sum * Rational(degree, nodes), false, base(Operation::kautz, {degree, nodes}));
  entry.isSymmetric = false;
  entries.push_back(std::move(entry));
}

/// A.1.6: a one-way topology and its transpose. Where the topology is symmetric, so are the two together.
void Finder::Search::addBothDirections(int nodes, int degree, std::vector<Entry>& entries, const Progress& progress) {
  if (degree % 2 != 0) {
    return;
  }
  for (const Entry& oneWay : symmetric(nodes, degree / 2, false, Effort::whole, progress)) {
    ConstructionPtr construction = expanded(Operation::duplex, 1, oneWay.construction);
    if (const auto graph = build(*construction)) {
      entries.push_back(measured(*graph, true, std::move(construction)));
    }
  }
}

void Finder::Search::addDistances(std::vector<Entry>& entries, const Progress& progress,
                                  std::vector<std::string>* notes) const {
  std::size_t done = 0;
  for (Entry& entry : entries) {
    progress.report("distances", static_cast<double>(done++) / static_cast<double>(entries.size()));
    if (!entry.meanDistance && distanceStarts(entry) * entry.nodes <= kMaxDistanceSteps / entry.degree) {
      if (const auto distance = meanDistance(entry, progress)) {
        entry.meanDistance = *distance;
      }
    }
    if (!entry.meanDistance && notes != nullptr) {
      notes->push_back(nameOf(*entry.construction) +
                       " is left out: its distances take too long at this size; search without the all-to-all");
    }
  }
  std::erase_if(entries, [](const Entry& entry) { return !entry.meanDistance; });
}

std::vector<Entry> Finder::Search::front(const Query& query, const Progress& progress,
                                         std::vector<std::string>* notes) {
  const int nodes = query.nodes;
  const int degree = query.degree;
  std::vector<Entry> entries = symmetric(nodes, degree, query.isDuplex, Effort::whole, progress);
  m_hasAlltoall = query.hasAlltoall;
  if (query.hasAlltoall) {
    std::vector<Entry> more = gathered(nodes, degree, query.isDuplex, Effort::whole, progress);
    entries.insert(entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (query.isDuplex) {
    addBothDirections(nodes, degree, entries, progress);
  } else {
    addLineGraphs(nodes, degree, entries, progress);
    addKautz(nodes, degree, entries, progress, notes);
  }
  addParallelRings(nodes, degree, query.isDuplex, entries);
  if (!query.hasAlltoall) {
    return paretoFront(std::move(entries));
  }
  addDistances(entries, progress, notes);
  return paretoFrontOfThree(std::move(entries));
}

}  // namespace coppice::finder
