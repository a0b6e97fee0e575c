// SPDX-License-Identifier: Apache-2.0
#include "alltoall/program.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <utility>

#include "lp/simplex.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::alltoall {
namespace {

using std::int64_t;

/// Orbits and sources with which the dense simplex is still quick.
constexpr std::size_t kMaxColumns = 400;
constexpr int kPriceRounds = 40;
/// Rounds of prices whose mean is asked for as well: it often proves more than the latest prices.
constexpr int kMeanRounds = 16;
/// Largest length of a rounded query.
constexpr double kLengthScale = 1 << 30;
/// Parts that a mixture is rounded to where it has no exact form.
constexpr int64_t kRoundedParts = 1 << 30;
/// Work for an exact mixture by vertices, and by whole parts.
constexpr lp::Milliseconds kVerticesBudget(1000);
constexpr lp::Milliseconds kPartsBudget(4000);

/// Prices of links, which grow with the loads of the trees that they lead to (multiplicative weights).
class Prices {
public:
  explicit Prices(std::span<const int64_t> capacity)
      : m_capacity(capacity), m_price(capacity.size(), 0), m_mean(capacity.size(), 0) {}

  /// By orbit, for the next round.
  std::vector<double> lengths() {
    std::vector<double> lengths;
    for (std::size_t k = 0; k < m_price.size(); ++k) {
      lengths.push_back(std::exp(m_price[k]) / static_cast<double>(m_capacity[k]));
    }
    const double scale = 1 / std::accumulate(lengths.begin(), lengths.end(), 0.0);
    for (std::size_t k = 0; k < m_mean.size(); ++k) {
      m_mean[k] += lengths[k] * scale;
    }
    return lengths;
  }

  /// Of the rounds so far; earlier ones count less and less.
  std::vector<double> takeMean() {
    std::vector<double> mean = m_mean;
    for (double& each : m_mean) {
      each *= 0.5;
    }
    return mean;
  }

  /// @param load by orbit, for its capacity
  void grow(const std::vector<double>& load) {
    const double max = *std::ranges::max_element(load);
    for (std::size_t k = 0; k < m_price.size(); ++k) {
      m_price[k] += m_step * load[k] / max;
    }
    const double top = *std::ranges::max_element(m_price);
    for (double& each : m_price) {
      each = std::max(each - top, -20.0);
    }
    m_step = std::max(0.05, m_step * 0.97);
  }

private:
  std::span<const int64_t> m_capacity;
  std::vector<double> m_price;
  std::vector<double> m_mean;
  double m_step = 0.5;
};

}  // namespace

Program::Program(const Network& network, const SymmetryGroup& group, const Progress& progress)
    : m_network(network),
      m_group(group),
      m_progress(progress),
      m_paths(network),
      m_capacity(group.arcOrbits, 0),
      m_used(group.arcOrbits, 0),
      m_best(group.arcOrbits, 1),
      m_stop(lp::stopTest(m_work, progress)) {
  for (int arc = 0; arc < network.arcCount(); ++arc) {
    int64_t& sum = m_capacity[group.orbitOfArc[arc]];
    sum = checkedAdd(sum, network.capacity[arc]);
    // Fewer and wider links first; a small spread keeps trees from sharing all their links.
    const double spread = 1 + 1e-3 * static_cast<double>((arc * 2654435761U) % 1009U) / 1009.0;
    m_second.push_back(spread * (1 + 1.0 / static_cast<double>(network.capacity[arc])));
  }
}

bool Program::isBetter(Int128 capacity, Int128 distances) const {
  // capacity / distances is the bound; 128 bits hold the products of such lengths.
  return m_bestDistances == 0 || checkedMul(capacity, m_bestDistances) < checkedMul(m_bestCapacity, distances);
}

/// In the numbers of lp::WorkBudget: a tree of shortest paths for each source, with a heap of 128-bit lengths.
std::size_t Program::workOfQuery() const {
  constexpr std::size_t kPerArc = 40;
  constexpr std::size_t kPerNode = 200;
  return m_group.sources.size() *
         (kPerArc * m_group.orbitOfArc.size() + kPerNode * static_cast<std::size_t>(m_network.nodeCount()));
}

std::vector<int64_t> Program::byArc(const Lengths& lengths) const {
  std::vector<int64_t> lengthOf;
  for (const int orbit : m_group.orbitOfArc) {
    lengthOf.push_back(lengths[orbit]);
  }
  return lengthOf;
}

bool Program::query(const Lengths& lengths) {
  throwIfCancelled(m_progress);
  m_work.spend(workOfQuery());
  const std::vector<int64_t> lengthOf = byArc(lengths);
  Int128 distances = 0;
  std::vector<int64_t> uses(lengthOf.size());
  for (std::size_t s = 0; s < m_group.sources.size(); ++s) {
    m_paths.run(m_group.sources[s], lengthOf, m_second);
    distances += m_paths.gpuDistances() * m_group.sourceWeight[s];
    std::fill(uses.begin(), uses.end(), 0);
    m_paths.countUses(uses);
    TreeRow row{static_cast<int>(s), m_paths.arcInto(), std::vector<int64_t>(m_capacity.size(), 0)};
    for (std::size_t arc = 0; arc < uses.size(); ++arc) {
      row.uses[m_group.orbitOfArc[arc]] += uses[arc];
    }
    std::vector<double> load;
    for (std::size_t k = 0; k < m_capacity.size(); ++k) {
      load.push_back(static_cast<double>(row.uses[k]) / static_cast<double>(m_capacity[k]));
    }
    m_rows.push_back(std::move(row));
    spread(load);
  }
  return take(lengths, distances);
}

bool Program::take(const Lengths& lengths, Int128 distances) {
  Int128 capacity = 0;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    capacity = checkedAdd(capacity, checkedMul<Int128>(m_capacity[k], lengths[k]));
  }
  if (distances <= 0 || !isBetter(capacity, distances)) {
    return false;
  }
  m_best = lengths;
  m_bestCapacity = capacity;
  m_bestDistances = distances;
  return true;
}

/// Among equally long paths the next trees prefer links that those before used less for their capacity.
void Program::spread(const std::vector<double>& load) {
  for (std::size_t k = 0; k < m_capacity.size(); ++k) {
    m_used[k] = 0.9 * m_used[k] + load[k];
  }
  const double max = *std::max_element(m_used.begin(), m_used.end());
  for (std::size_t arc = 0; arc < m_second.size(); ++arc) {
    m_second[arc] = 0.01 + m_used[m_group.orbitOfArc[arc]] / max;
  }
}

Program::Lengths Program::rounded(const std::vector<double>& lengths) const {
  const double largest = *std::max_element(lengths.begin(), lengths.end());
  Lengths whole;
  for (const double length : lengths) {
    whole.push_back(static_cast<int64_t>(std::llround(std::max(0.0, length) / largest * kLengthScale)));
  }
  return whole;
}

/// The links into and out of parts of the fabric: those prove most that take longest for what crosses them.
void Program::askCuts(SharedPaths& paths) {
  constexpr std::size_t kMaxAsked = 4;
  struct Side {
    double amount = 0;
    double capacity = 0;
    std::set<int> orbits;
  };
  std::map<std::set<int>, double> timeOf;  // by the orbits of the links
  const fabric::Fabric& fabric = m_network.fabric;
  for (const symmetry::Parts& parts : symmetry::candidateParts(symmetry::graphOf(fabric), fabric)) {
    const auto count = static_cast<std::size_t>(*std::ranges::max_element(parts) + 1);
    // Of the nodes in no part too, the last.
    std::vector<Side> into(count + 1);
    std::vector<Side> outOf(count + 1);
    const auto partOf = [&](fabric::NodeIndex node) { return parts[node] < 0 ? count : std::size_t(parts[node]); };
    for (int arc = 0; arc < m_network.arcCount(); ++arc) {
      const fabric::Arc& ends = fabric.arcs()[arc];
      if (parts[ends.tail] != parts[ends.head]) {
        for (Side* side : {&outOf[partOf(ends.tail)], &into[partOf(ends.head)]}) {
          side->capacity += static_cast<double>(m_network.capacity[arc]);
          side->orbits.insert(m_group.orbitOfArc[arc]);
        }
      }
    }
    for (const fabric::NodeIndex from : fabric.gpus()) {
      for (const fabric::NodeIndex to : fabric.gpus()) {
        if (parts[from] != parts[to]) {
          const auto amount = static_cast<double>(m_network.amount(from, to));
          outOf[partOf(from)].amount += amount;
          into[partOf(to)].amount += amount;
        }
      }
    }
    for (std::vector<Side>* sides : {&into, &outOf}) {
      for (Side& side : *sides) {
        if (side.capacity > 0) {
          timeOf[std::move(side.orbits)] = side.amount / side.capacity;
        }
      }
    }
  }
  std::vector<std::pair<double, std::set<int>>> slowest;
  for (const auto& [orbits, time] : timeOf) {
    slowest.emplace_back(time, orbits);
  }
  std::ranges::sort(slowest, std::greater<>());
  for (std::size_t i = 0; i < std::min(kMaxAsked, slowest.size()); ++i) {
    Lengths lengths(m_capacity.size(), 0);
    for (const int orbit : slowest[i].second) {
      lengths[orbit] = 1;
    }
    queryShared(paths, lengths);
  }
}

/// The rounds of priceRounds() where many GPUs share their relays: a round takes little, and the trees of one block of
/// rounds alone are kept, the first whose mean comes close to what is proved, or the best.
double Program::sharedRounds(SharedPaths& paths) {
  const int block = std::min(64, mostTrees());
  const std::size_t orbits = m_capacity.size();
  const std::size_t work = paths.work(m_group.sources.size());
  Prices prices(m_capacity);
  std::vector<double> sum(orbits, 0);  // of the loads of a block of rounds
  std::vector<TreeRow> rows;           // of the best block
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0;; ++round) {
    throwIfCancelled(m_progress);
    if (round > 0 && round % block == 0) {
      if (const double time = *std::ranges::max_element(sum) / block; time < best) {
        best = time;
        rows.assign(std::move_iterator(m_rows.begin() + static_cast<std::ptrdiff_t>(m_evenFirst)),
                    std::move_iterator(m_rows.end()));
      }
      dropMixed();
      if (isNearly(best) || m_work.left() < Int128{2} * block * work) {
        break;
      }
      std::ranges::fill(sum, 0);
    }
    const std::vector<double> lengths = prices.lengths();
    if (round % kMeanRounds == kMeanRounds - 1) {
      queryShared(paths, rounded(prices.takeMean()));
    }
    const std::vector<double> load = queryShared(paths, rounded(lengths), true);
    prices.grow(load);
    for (std::size_t k = 0; k < orbits; ++k) {
      sum[k] += load[k];
    }
    spread(load);
    m_progress.report("alltoall", static_cast<double>(round % block) / block);
  }
  keepMixed(std::move(rows));
  return best;
}

/// As many as memory holds without effort.
int Program::mostTrees() const {
  constexpr std::size_t kMostArcs = std::size_t{1} << 28;
  constexpr std::size_t kFewest = 8;
  constexpr std::size_t kMost = 96;
  const std::size_t arcs = m_group.sources.size() * static_cast<std::size_t>(m_network.nodeCount());
  return static_cast<int>(std::clamp(kMostArcs / arcs, kFewest, kMost));
}

bool Program::isNearly(double time) const {
  const bool isSmall = m_capacity.size() + m_group.sources.size() <= kMaxColumns;
  return time <= (1 + (isSmall ? 1e-6 : 1e-3)) / provedRate();
}

/// Where many GPUs share their relays. True where that comes close enough.
bool Program::runShared() {
  auto paths = SharedPaths::from(m_network, m_group.sources);
  if (!paths) {
    return false;
  }
  askCuts(*paths);
  // GPUs that do not relay often have one path.
  std::vector<double> inverse;
  for (const int64_t capacity : m_capacity) {
    inverse.push_back(1.0 / static_cast<double>(capacity));
  }
  const auto ofOnePath = [&] {
    const std::vector<double> load = queryShared(*paths, rounded(inverse), true);
    const auto busiest = std::ranges::max_element(load);
    // What must pass the busiest links proves that.
    Lengths lengths(m_capacity.size(), 0);
    lengths[static_cast<std::size_t>(busiest - load.begin())] = 1;
    queryShared(*paths, lengths);
    return std::optional(*busiest);
  };
  const auto time = m_network.demand.relays ? pooledRounds(*paths) : ofOnePath();
  if (time && isNearly(*time)) {
    return true;
  }
  if (m_capacity.size() + m_group.sources.size() <= kMaxColumns) {
    dropMixed();
    return false;
  }
  std::vector<TreeRow> rows(m_rows.begin() + static_cast<std::ptrdiff_t>(m_evenFirst), m_rows.end());
  std::vector<int64_t> parts = m_parts;
  dropMixed();
  if (const double shared = sharedRounds(*paths); time && *time <= shared) {
    dropMixed();
    keepMixed(std::move(rows));
    m_parts = std::move(parts);
  }
  return true;
}

void Program::keepMixed(std::vector<TreeRow> rows) {
  m_evenFirst = m_rows.size();
  std::ranges::move(rows, std::back_inserter(m_rows));
  m_evenLast = m_rows.size();
}

void Program::dropMixed() {
  if (m_evenLast > 0) {
    m_rows.resize(m_evenFirst);
  }
  m_parts.clear();
  m_evenFirst = 0;
  m_evenLast = 0;
}

/// Asks for these lengths. What all trees put on the links of each orbit, for their capacity.
std::vector<double> Program::queryShared(SharedPaths& paths, const Lengths& lengths, bool isKept) {
  m_work.spend(paths.work(m_group.sources.size()));
  paths.run(byArc(lengths), m_second);
  Int128 distances = 0;
  m_evenFirst = isKept && m_evenLast == 0 ? m_rows.size() : m_evenFirst;
  for (std::size_t s = 0; s < m_group.sources.size(); ++s) {
    distances += paths.add(m_group.sources[s], m_group.sourceWeight[s]) * m_group.sourceWeight[s];
    if (isKept) {
      m_rows.push_back({static_cast<int>(s), paths.tree(), {}});
    }
  }
  m_evenLast = isKept ? m_rows.size() : m_evenLast;
  take(lengths, distances);
  std::vector<double> load(m_capacity.size(), 0);
  const std::vector<double> onArc = paths.takeLoads();
  for (std::size_t arc = 0; arc < onArc.size(); ++arc) {
    load[m_group.orbitOfArc[arc]] += onArc[arc];
  }
  for (std::size_t k = 0; k < load.size(); ++k) {
    load[k] /= static_cast<double>(m_capacity[k]);
  }
  return load;
}

double Program::provedRate() const {
  return static_cast<double>(m_bestCapacity) / static_cast<double>(m_bestDistances);
}

void Program::priceRounds(int maxRounds, Int128 keep) {
  Prices prices(m_capacity);
  const std::size_t columns = m_capacity.size() + m_group.sources.size();
  for (int round = 0; round < maxRounds && !m_stop() && m_work.left() > keep; ++round) {
    const std::vector<double> lengths = prices.lengths();
    if (round % kMeanRounds == kMeanRounds - 1) {
      // The trees of the mean lengths are not part of the mixture of the rounds.
      const std::size_t rows = m_rows.size();
      query(rounded(prices.takeMean()));
      m_rows.resize(rows);
    }
    m_priceStart.push_back(m_rows.size());
    query(rounded(lengths));
    m_work.spend((m_rows.size() - m_priceStart.back()) * m_capacity.size());
    std::vector<double> load(m_capacity.size(), 0);
    for (std::size_t i = m_priceStart.back(); i < m_rows.size(); ++i) {
      for (std::size_t k = 0; k < load.size(); ++k) {
        load[k] += static_cast<double>(m_rows[i].uses[k] * m_group.sourceWeight[m_rows[i].source]) /
                   static_cast<double>(m_capacity[k]);
      }
    }
    prices.grow(load);
    if (columns > kMaxColumns) {
      // Only their paths are mixed: thousands of rounds would fill the memory with what no program reads.
      for (std::size_t i = m_priceStart.back(); i < m_rows.size(); ++i) {
        m_rows[i].uses = std::vector<int64_t>();  // {} would keep the memory
      }
    }
    m_progress.report("alltoall", static_cast<double>(round % kPriceRounds) / kPriceRounds);
  }
  if (m_priceStart.size() > 1) {
    m_evenFirst = m_priceStart[m_priceStart.size() / 2];
    m_evenLast = m_rows.size();
  }
}

/// The program with those of the trees that its vertices have violated so far. Column k is the length of orbit k, the
/// columns behind are the D of the sources.
class Program::Cutting {
public:
  explicit Cutting(Program& program)
      : m_program(program),
        m_orbits(program.m_group.arcOrbits),
        m_total(std::accumulate(program.m_capacity.begin(), program.m_capacity.end(), int64_t{0})),
        m_simplex(columns()) {
    lp::Row norm{{}, m_total, m_total};
    for (int k = 0; k < m_orbits; ++k) {
      norm.terms.push_back({k, m_program.m_capacity[k]});
    }
    m_simplex.addRow(std::move(norm));
    // Many trees at once would make the first solution the slowest; the others follow where they are violated.
    constexpr std::size_t kMaxFirst = 1500;
    const std::size_t sources = m_program.m_group.sources.size();
    addTrees(m_program.m_rows.size() <= kMaxFirst ? 0 : m_program.m_rows.size() - sources);
  }

  void run() {
    while (!m_program.m_stop() && m_simplex.solve(m_program.m_stop) == lp::SimplexStatus::optimal) {
      readVertex();
      if (addViolated()) {
        continue;
      }
      readMultipliers();
      if (m_reached <= proved() * (1 + kClose)) {
        // Optimal as far as floating point tells.
        if (finishExactly()) {
          return;
        }
      } else {
        ask();
      }
    }
  }

private:
  static constexpr double kClose = 1e-7;

  [[nodiscard]] std::vector<lp::Column> columns() const {
    const int64_t most = mostSent();
    std::vector<lp::Column> columns;
    for (int k = 0; k < m_orbits; ++k) {
      columns.push_back({.lower = 0, .upper = m_total, .cost = 0, .scale = 1.0});
    }
    for (const int64_t weight : m_program.m_group.sourceWeight) {
      columns.push_back(
          {.lower = 0, .upper = checkedMul(m_total, most), .cost = weight, .scale = static_cast<double>(most)});
    }
    return columns;
  }

  /// By one GPU, to all others.
  [[nodiscard]] int64_t mostSent() const {
    const Network& network = m_program.m_network;
    int64_t most = 1;
    for (const fabric::NodeIndex from : network.fabric.gpus()) {
      int64_t sum = 0;
      for (const fabric::NodeIndex to : network.fabric.gpus()) {
        sum = checkedAdd(sum, network.amount(from, to));
      }
      most = std::max(most, sum);
    }
    return most;
  }

  void addTrees(std::size_t first) {
    for (std::size_t i = first; i < m_program.m_rows.size(); ++i) {
      addTree(i);
    }
  }

  void addTree(std::size_t index) {
    const TreeRow& tree = m_program.m_rows[index];
    lp::Row row{{{m_orbits + tree.source, 1}}, {}, 0};
    for (int k = 0; k < m_orbits; ++k) {
      if (tree.uses[k] != 0) {
        row.terms.push_back({k, -tree.uses[k]});
      }
    }
    m_simplex.addRow(std::move(row));
    m_added.push_back(index);
    m_isAdded.resize(std::max(m_isAdded.size(), index + 1), false);
    m_isAdded[index] = true;
  }

  void readVertex() {
    m_vertex.clear();
    for (int k = 0; k < m_orbits; ++k) {
      m_vertex.push_back(m_simplex.value(k));
    }
    m_sums.clear();
    m_reached = 0;
    for (std::size_t s = 0; s < m_program.m_group.sources.size(); ++s) {
      m_sums.push_back(m_simplex.value(m_orbits + static_cast<int>(s)));
      m_reached += m_sums.back() * static_cast<double>(m_program.m_group.sourceWeight[s]);
    }
    m_program.m_progress.report("alltoall", std::min(1.0, proved() / m_reached));
  }

  /// What the best lengths prove, in the program's units.
  [[nodiscard]] double proved() const {
    return static_cast<double>(m_program.m_bestDistances) * static_cast<double>(m_total) /
           static_cast<double>(m_program.m_bestCapacity);
  }

  /// Of the trees seen, the shortest of each source where the vertex claims more; false where there is none.
  bool addViolated() {
    m_program.m_work.spend(m_program.m_rows.size() * static_cast<std::size_t>(m_orbits));
    std::vector<std::size_t> shortest(m_sums.size(), m_program.m_rows.size());
    std::vector<double> min(m_sums);
    for (std::size_t i = 0; i < m_program.m_rows.size(); ++i) {
      const TreeRow& tree = m_program.m_rows[i];
      double length = 0;
      for (int k = 0; k < m_orbits; ++k) {
        length += static_cast<double>(tree.uses[k]) * m_vertex[k];
      }
      if (length < min[tree.source] - 1e-7 * (1 + m_sums[tree.source])) {
        min[tree.source] = length;
        shortest[tree.source] = i;
      }
    }
    bool isAny = false;
    for (const std::size_t i : shortest) {
      // What is in the program is violated by no more than its tolerance.
      if (i < m_program.m_rows.size() && (i >= m_isAdded.size() || !m_isAdded[i])) {
        addTree(i);
        isAny = true;
      }
    }
    return isAny;
  }

  void readMultipliers() {
    m_program.m_multipliers.assign(m_program.m_rows.size(), 0);
    for (std::size_t row = 0; row < m_added.size(); ++row) {
      m_program.m_multipliers[m_added[row]] += std::max(0.0, m_simplex.multiplier(1 + static_cast<int>(row)));
    }
  }

  /// The vertex in fractions: solved where its lengths make the shortest paths as long as it claims.
  bool finishExactly() {
    const auto point = m_simplex.exactPoint(m_program.m_stop);
    if (!point) {
      return true;  // beyond 64 bits
    }
    Lengths exact(point->numerators.begin(), point->numerators.begin() + m_orbits);
    Int128 claimed = 0;
    for (std::size_t s = 0; s < m_sums.size(); ++s) {
      claimed += Int128{point->numerators[static_cast<std::size_t>(m_orbits) + s]} * m_program.m_group.sourceWeight[s];
    }
    const std::size_t first = m_program.m_rows.size();
    m_program.query(exact);
    Int128 found = 0;
    for (std::size_t i = first; i < m_program.m_rows.size(); ++i) {
      const TreeRow& tree = m_program.m_rows[i];
      for (int k = 0; k < m_orbits; ++k) {
        found += Int128{tree.uses[k]} * exact[k] * m_program.m_group.sourceWeight[tree.source];
      }
    }
    if (found != claimed) {
      addTrees(first);
      return false;
    }
    m_program.m_isSolved = true;
    m_program.m_best = std::move(exact);
    return true;
  }

  /// New trees at lengths between the best and the vertex, or at the vertex where those teach nothing.
  void ask() {
    std::vector<double> mixed(m_vertex);
    const double scale = static_cast<double>(m_total) / static_cast<double>(m_program.m_bestCapacity);
    for (std::size_t k = 0; k < mixed.size(); ++k) {
      mixed[k] = m_inside * static_cast<double>(m_program.m_best[k]) * scale + (1 - m_inside) * m_vertex[k];
    }
    const std::size_t first = m_program.m_rows.size();
    const bool isBetter = m_program.query(m_program.rounded(mixed));
    m_inside = isBetter ? 0.5 : m_inside * 0.7;
    if (!isBetter) {
      m_program.query(m_program.rounded(m_vertex));
    }
    addTrees(first);
  }

  Program& m_program;
  int m_orbits;
  int64_t m_total;
  lp::Simplex m_simplex;
  std::vector<std::size_t> m_added;  ///< trees by row of the simplex, behind the first
  std::vector<bool> m_isAdded;       ///< by tree
  std::vector<double> m_vertex;
  std::vector<double> m_sums;  ///< D by source
  double m_reached = 0;
  double m_inside = 0.5;  ///< share of the best lengths in a query
};

void Program::run(lp::Milliseconds budget) {
  constexpr std::size_t kFewColumns = 64;
  constexpr lp::Milliseconds kLeastOfFew(1000);
  const std::size_t columns = m_capacity.size() + m_group.sources.size();
  m_work = lp::WorkBudget(columns <= kFewColumns ? std::max(budget, kLeastOfFew) : budget);
  if (columns > kMaxColumns / 4 && runShared()) {
    return;
  }
  const Int128 whole = m_work.left();
  query(m_best);
  std::vector<double> inverse;
  for (int k = 0; k < m_group.arcOrbits; ++k) {
    inverse.push_back(1.0 / static_cast<double>(m_capacity[k]));
  }
  query(rounded(inverse));
  // Where vertices may take longer than there is, prices alone come close.
  const bool isWide = columns > kMaxColumns / 2;
  if (columns > kMaxColumns / 4) {
    priceRounds(isWide ? std::numeric_limits<int>::max() : kPriceRounds,
                columns > kMaxColumns ? 0 : whole - whole / (isWide ? 2 : 4));
  }
  if (columns <= kMaxColumns) {
    Cutting(*this).run();
  }
}

schedule::ExchangeLengths Program::lengths() const {
  schedule::ExchangeLengths byArc(m_group.orbitOfArc.size());
  int64_t divisor = 0;
  for (const int64_t length : m_best) {
    divisor = std::gcd(divisor, length);
  }
  for (std::size_t arc = 0; arc < byArc.size(); ++arc) {
    byArc[arc] = m_best[m_group.orbitOfArc[arc]] / divisor;
  }
  return byArc;
}

std::optional<Bandwidth> Program::upper() const {
  if (m_bestDistances <= 0) {
    return std::nullopt;
  }
  Int128 common = m_bestCapacity;
  for (Int128 b = m_bestDistances; b != 0;) {
    common = std::exchange(b, common % b);
  }
  return Rational(narrow64(m_bestCapacity / common), narrow64(m_bestDistances / common)) * m_network.unit;
}

schedule::ExchangeRouting Program::routing() {
  schedule::ExchangeRouting routing;
  routing.symmetries = m_group.elements;
  m_isExact = m_isSolved && mixExactly(routing);
  if (m_isExact) {
    return routing;
  }
  Mixture mixture = evenMixture();
  if (auto rounded = roundedMixture(); rounded && (m_isSolved || timeOf(*rounded) <= timeOf(mixture))) {
    mixture = *std::move(rounded);
  }
  routing.denominator = mixture.denominator;
  addTrees(m_rows, mixture.weights, routing);
  return routing;
}

/// Rows that the optimal lengths make tight: no other tree is part of an optimal mixture (complementary slackness).
TreeSet Program::tightTrees() const {
  std::vector<Int128> length;
  std::vector<Int128> shortest(m_group.sources.size(), 0);
  for (const TreeRow& row : m_rows) {
    Int128 sum = 0;
    for (std::size_t k = 0; k < m_best.size(); ++k) {
      sum += Int128{row.uses[k]} * m_best[k];
    }
    Int128& min = shortest[row.source];
    min = length.empty() || min == 0 ? sum : std::min(min, sum);
    length.push_back(sum);
  }
  std::vector<std::size_t> those;
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    if (length[i] == shortest[m_rows[i].source]) {
      those.push_back(i);
    }
  }
  // The dense program of all would fill the memory. Those that support the vertex come first.
  constexpr std::size_t kMaxEntries = std::size_t{1} << 23;
  const std::size_t most = kMaxEntries / (m_capacity.size() + m_group.sources.size());
  if (those.size() > most) {
    std::ranges::stable_sort(those, std::greater<>(),
                             [&](std::size_t i) { return i < m_multipliers.size() ? m_multipliers[i] : 0.0; });
    those.resize(most);
    std::ranges::sort(those);
  }
  TreeSet tight{m_network, m_group, m_capacity, {}};
  for (const std::size_t i : those) {
    tight.rows.push_back(m_rows[i]);
  }
  return tight;
}

/// By a vertex of small denominator where there is one, or by whole parts.
bool Program::mixExactly(schedule::ExchangeRouting& routing) {
  constexpr unsigned kAttempts = 3;
  const TreeSet tight = tightTrees();
  lp::WorkBudget verticesWork(kVerticesBudget);
  const lp::StopTest stop = lp::stopTest(verticesWork, m_progress);
  for (unsigned attempt = 0; attempt < kAttempts && !stop(); ++attempt) {
    // Which of several optima is found decides how large its denominator is.
    std::mt19937 rng(attempt);
    std::vector<double> preferences;
    for (std::size_t i = 0; attempt > 0 && i < tight.rows.size(); ++i) {
      preferences.push_back(-1e-7 * (1 + static_cast<double>(rng() % 1000U) / 1000));
    }
    lp::Simplex simplex = mixtureProgram(tight, {.preferences = std::move(preferences)});
    if (simplex.solve(stop) != lp::SimplexStatus::optimal) {
      break;
    }
    if (const auto point = simplex.exactPoint(stop)) {
      std::vector<int64_t> weights(point->numerators.begin(), point->numerators.end() - 1);
      routing.denominator = point->denominator;
      addTrees(tight.rows, weights, routing);
      return true;
    }
  }
  try {
    lp::WorkBudget partsWork(kPartsBudget);
    if (const auto whole = wholeMixture(tight, m_best, lp::stopTest(partsWork, m_progress))) {
      routing.denominator = whole->denominator;
      addTrees(whole->rows, whole->weights, routing);
      return true;
    }
  } catch (const OverflowError&) {
    // The rounded mixture is within 10^-9.
  }
  return false;
}

/// The multipliers of the rows are an optimal mixture of the trees seen (duality). What is left over by rounding goes
/// to the largest part of each source. nullopt where the program was never solved.
std::optional<Program::Mixture> Program::roundedMixture() const {
  std::vector<double> sum(m_group.sources.size(), 0);
  for (std::size_t i = 0; i < m_multipliers.size(); ++i) {
    sum[m_rows[i].source] += std::max(0.0, m_multipliers[i]);
  }
  std::vector<int64_t> weights(m_rows.size(), 0);
  std::vector<int64_t> left(m_group.sources.size(), kRoundedParts);
  std::vector<std::size_t> largest(m_group.sources.size(), m_rows.size());
  for (std::size_t i = 0; i < m_multipliers.size(); ++i) {
    const int source = m_rows[i].source;
    const double share = sum[source] > 0 ? std::max(0.0, m_multipliers[i]) / sum[source] : 0;
    weights[i] = static_cast<int64_t>(std::floor(share * static_cast<double>(kRoundedParts)));
    left[source] -= weights[i];
    std::size_t& top = largest[source];
    top = top == m_rows.size() || weights[i] > weights[top] ? i : top;
  }
  for (std::size_t s = 0; s < left.size(); ++s) {
    if (!(sum[s] > 0) || weights[largest[s]] + left[s] < 0) {
      return std::nullopt;
    }
    weights[largest[s]] += left[s];
  }
  return Mixture{std::move(weights), kRoundedParts};
}

/// The longest time of an orbit of links; the least possible where the loads of rows are not kept.
double Program::timeOf(const Mixture& mixture) const {
  std::vector<double> load(m_capacity.size(), 0);
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    const double share = static_cast<double>(mixture.weights[i]) / static_cast<double>(mixture.denominator);
    for (std::size_t k = 0; share > 0 && k < m_rows[i].uses.size(); ++k) {
      load[k] += share * static_cast<double>(m_rows[i].uses[k]) *
                 static_cast<double>(m_group.sourceWeight[m_rows[i].source]) / static_cast<double>(m_capacity[k]);
    }
  }
  return *std::max_element(load.begin(), load.end());
}

/// The trees of the later half of the rounds, all with the same weight; of all rows where there were none. Of those
/// that have parts, by these.
Program::Mixture Program::evenMixture() const {
  const std::size_t last = m_evenLast > 0 ? m_evenLast : m_rows.size();
  std::vector<int64_t> weights(m_rows.size(), 0);
  int64_t sum = 0;  // of all sources alike
  for (std::size_t i = m_evenFirst; i < last; ++i) {
    weights[i] = m_parts.empty() ? 1 : m_parts[i - m_evenFirst];
    sum += m_rows[i].source == 0 ? weights[i] : 0;
  }
  return {std::move(weights), sum};
}

void Program::addTrees(const std::vector<TreeRow>& rows, const std::vector<int64_t>& weights,
                       schedule::ExchangeRouting& routing) const {
  for (std::size_t s = 0; s < m_group.sources.size(); ++s) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0 && static_cast<std::size_t>(rows[i].source) == s) {
        routing.trees.push_back({m_group.sources[s], weights[i], rows[i].arcInto});
      }
    }
  }
}

}  // namespace coppice::alltoall
