// SPDX-License-Identifier: Apache-2.0
#include "lp/tree_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::lp {
namespace {

using std::int64_t;

constexpr Milliseconds kProofWork(2000);

/// Numbers orbits in the order of their lowest members.
struct Classes {
  std::vector<int> of;     ///< by member: its class
  std::vector<int> first;  ///< by class: the lowest member
  std::vector<int> size;   ///< by class

  Classes(const std::vector<int>& lowest, std::size_t count) : of(count, -1) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto low = lowest.empty() ? i : static_cast<std::size_t>(lowest[i]);
      if (low == i) {
        of[i] = static_cast<int>(first.size());
        first.push_back(static_cast<int>(i));
        size.push_back(0);
      } else {
        of[i] = of[low];
      }
      ++size[of[i]];
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(first.size()); }
};

/// What a row of the program says.
enum class RowKind { capacity, balance, roots, cut };
struct RowMeaning {
  RowKind kind = RowKind::cut;
  int layer = -1;
  int index = -1;    ///< class of arcs or nodes; cut: into m_cuts
  int64_t size = 1;  ///< capacity: arcs that the row was divided by
};

/// The columns of a layer.
struct LayerColumns {
  Classes nodes;
  Classes arcs;
  std::vector<int> rootAt;  ///< by class of nodes: column of x, -1 = relay
  int firstArc = 0;         ///< column of the first class of arcs
};

class TreeSearch {
public:
  TreeSearch(const TreeProblem& problem, const TreeProgramOptions& options, const Progress& progress);
  Result<TreeRates> run();

private:
  [[nodiscard]] int layerCount() const { return static_cast<int>(m_problem.layers.size()); }
  [[nodiscard]] int rootColumn(int layer, int gpu) const {
    return m_layers[layer].rootAt[m_layers[layer].nodes.of[gpu]];
  }
  [[nodiscard]] int arcColumn(int layer, int arc) const {
    return m_layers[layer].firstArc + m_layers[layer].arcs.of[arc];
  }
  [[nodiscard]] bool hasAmounts() const { return !m_problem.amounts.empty(); }
  [[nodiscard]] int rateColumn() const { return m_columns - 1; }
  [[nodiscard]] int columnCount() const { return m_columns; }
  [[nodiscard]] bool isGpu(int node) const { return m_rankOf[node] >= 0; }
  [[nodiscard]] bool reaches(int layer, int node) const { return m_problem.layers[layer].reaches[node]; }

  [[nodiscard]] bool mayEnd() const;
  Simplex buildProgram();
  void addCapacities(Simplex& simplex);
  void addBalance(Simplex& simplex, int layer);
  void addRoots(Simplex& simplex);
  void addRow(Simplex& simplex, std::map<int, int64_t>&& terms, std::optional<int64_t> lower,
              std::optional<int64_t> upper, const RowMeaning& meaning);
  bool addCut(Simplex& simplex, const NodeSet& set, int layer);
  template <typename ValueOf>
  bool separate(Simplex& simplex, int64_t tolerance, const ValueOf& valueOf);
  [[nodiscard]] Bandwidth inGigabytes(const WideFraction& value) const;
  void takeShares(const ExactPoint& point, TreeRates& rates) const;
  [[nodiscard]] std::optional<TreeDual> dualOf(const Simplex& simplex, const StopTest& stop) const;
  Result<TreeRates> conclude(const Simplex& simplex, BoundStatus status, std::string reason) const;

  const TreeProblem& m_problem;
  const TreeProgramOptions& m_options;
  const Progress& m_progress;
  WorkBudget m_budget;
  Classes m_nodes;
  Classes m_arcs;
  std::vector<LayerColumns> m_layers;
  int m_columns = 0;
  std::vector<int> m_rankOf;    ///< by node, -1 = relay
  std::vector<int> m_opposite;  ///< by arc: the arc back, or -1
  std::vector<int64_t> m_capacities;
  int64_t m_unit = 1;
  double m_largest = 1;
  std::vector<CutFinder> m_finders;  ///< by layer
  std::vector<std::set<std::vector<std::pair<int, int64_t>>>> m_known;
  std::vector<RowMeaning> m_meaning;  ///< by row
  std::vector<NodeSet> m_cuts;
};

std::vector<ArcEnds> endsOf(const TreeProblem& problem, bool isIn) {
  std::vector<ArcEnds> ends;
  ends.reserve(problem.arcs.size());
  for (const RateArc& arc : problem.arcs) {
    ends.push_back(isIn ? ArcEnds{arc.head, arc.tail} : ArcEnds{arc.tail, arc.head});
  }
  return ends;
}

TreeSearch::TreeSearch(const TreeProblem& problem, const TreeProgramOptions& options, const Progress& progress)
    : m_problem(problem),
      m_options(options),
      m_progress(progress),
      m_budget(options.budget),
      m_nodes(problem.nodeOrbit, static_cast<std::size_t>(problem.nodeCount)),
      m_arcs(problem.arcOrbit, problem.arcs.size()),
      m_rankOf(static_cast<std::size_t>(problem.nodeCount), -1),
      m_known(problem.layers.size()) {
  for (std::size_t rank = 0; rank < problem.gpus.size(); ++rank) {
    m_rankOf[problem.gpus[rank]] = static_cast<int>(rank);
  }
  for (const TreeLayer& layer : problem.layers) {
    const bool isOwn = !layer.nodeOrbit.empty();
    LayerColumns columns{Classes(isOwn ? layer.nodeOrbit : problem.nodeOrbit, m_rankOf.size()),
                         Classes(isOwn ? layer.arcOrbit : problem.arcOrbit, problem.arcs.size()),
                         {},
                         0};
    int shared = -1;
    for (const int node : columns.nodes.first) {
      const bool isNew = isGpu(node) && (shared < 0 || !problem.hasEvenRoots);
      shared = isNew ? m_columns++ : shared;
      columns.rootAt.push_back(isGpu(node) ? shared : -1);
    }
    columns.firstArc = m_columns;
    m_columns += columns.arcs.count();
    m_layers.push_back(std::move(columns));
  }
  m_columns += hasAmounts() ? 1 : 0;
  std::map<std::pair<int, int>, int> arcAt;
  for (const RateArc& arc : problem.arcs) {
    m_unit = leastCommonMultiple(m_unit, arc.bandwidth.gigabytesPerSecond().denominator());
    arcAt.emplace(std::pair(arc.tail, arc.head), static_cast<int>(arcAt.size()));
  }
  for (const RateArc& arc : problem.arcs) {
    const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
    m_capacities.push_back(checkedMul(bandwidth.numerator(), m_unit / bandwidth.denominator()));
    m_largest = std::max(m_largest, static_cast<double>(m_capacities.back()));
    const auto back = arcAt.find({arc.head, arc.tail});
    m_opposite.push_back(back == arcAt.end() ? -1 : back->second);
  }
  for (int layer = 0; layer < layerCount(); ++layer) {
    std::vector<bool> sinks(static_cast<std::size_t>(problem.nodeCount), false);
    for (const int node : m_layers[layer].nodes.first) {
      sinks[node] = isGpu(node) || reaches(layer, node);
    }
    m_finders.emplace_back(problem.nodeCount, sinks, endsOf(problem, problem.layers[layer].isIn));
  }
}

void TreeSearch::addRow(Simplex& simplex, std::map<int, int64_t>&& terms, std::optional<int64_t> lower,
                        std::optional<int64_t> upper, const RowMeaning& meaning) {
  Row row;
  row.lower = lower;
  row.upper = upper;
  for (const auto& [column, coefficient] : terms) {
    if (coefficient != 0) {
      row.terms.push_back({column, coefficient});
    }
  }
  if (!row.terms.empty()) {
    simplex.addRow(std::move(row));
    m_meaning.push_back(meaning);
  }
}

void TreeSearch::addCapacities(Simplex& simplex) {
  std::vector<std::map<int, int64_t>> terms(m_arcs.first.size());
  for (int arc = 0; arc < static_cast<int>(m_problem.arcs.size()); ++arc) {
    const int back = m_opposite[arc];
    std::map<int, int64_t>& row = terms[m_arcs.of[arc]];
    const auto [tail, head, bandwidth] = m_problem.arcs[arc];
    for (int layer = 0; layer < layerCount(); ++layer) {
      const bool isIn = m_problem.layers[layer].isIn;
      ++row[arcColumn(layer, arc)];
      // A copy comes back to the GPU that sent to the switch; a sum takes what its receiver has itself.
      const bool isOwn = !m_problem.ownCopies.empty() && m_problem.ownCopies[arc] && back >= 0;
      const bool towardsGpu = isOwn && isGpu(head) && reaches(layer, tail);
      const bool fromGpu = isOwn && isGpu(tail) && reaches(layer, head);
      if (isIn ? fromGpu : towardsGpu) {
        ++row[arcColumn(layer, back)];
      }
      if (m_problem.isMirrored) {
        ++row[arcColumn(layer, back)];
        if (fromGpu) {
          ++row[arcColumn(layer, arc)];
        }
      }
    }
  }
  for (int orbit = 0; orbit < m_arcs.count(); ++orbit) {
    const int arc = m_arcs.first[orbit];
    if (m_problem.isMirrored && m_arcs.of[m_opposite[arc]] < orbit) {
      continue;  // the same row
    }
    int64_t size = m_arcs.size[orbit];
    const int64_t capacity = checkedMul(m_capacities[arc], size);
    for (const auto& [column, coefficient] : terms[orbit]) {
      size = std::gcd(size, coefficient);
    }
    size = std::gcd(size, capacity);
    for (auto& [column, coefficient] : terms[orbit]) {
      coefficient /= size;
    }
    addRow(simplex, std::move(terms[orbit]), std::nullopt, capacity / size, {RowKind::capacity, -1, orbit, size});
  }
}

void TreeSearch::addBalance(Simplex& simplex, int layer) {
  const Classes& nodes = m_layers[layer].nodes;
  std::vector<std::map<int, int64_t>> terms(nodes.first.size());
  const TreeLayer& described = m_problem.layers[layer];
  for (std::size_t arc = 0; arc < m_problem.arcs.size(); ++arc) {
    const auto& [tail, head, bandwidth] = m_problem.arcs[arc];
    const int from = described.isIn ? head : tail;
    const int to = described.isIn ? tail : head;
    // In minus out, seen from the root, at one node of each class.
    if (nodes.first[nodes.of[to]] == to) {
      ++terms[nodes.of[to]][arcColumn(layer, static_cast<int>(arc))];
    }
    if (nodes.first[nodes.of[from]] == from) {
      --terms[nodes.of[from]][arcColumn(layer, static_cast<int>(arc))];
    }
  }
  for (int orbit = 0; orbit < nodes.count(); ++orbit) {
    const int node = nodes.first[orbit];
    if (!isGpu(node) && !described.reaches[node]) {
      addRow(simplex, std::move(terms[orbit]), described.branches[node] ? std::nullopt : std::optional<int64_t>(0), 0,
             {RowKind::balance, layer, orbit});
    }
  }
}

/// What is rooted at equal GPUs in all layers.
void TreeSearch::addRoots(Simplex& simplex) {
  if (m_problem.isMirrored) {
    return;
  }
  std::map<int, std::map<int, int64_t>> terms;
  for (const int gpu : m_problem.gpus) {
    std::map<int, int64_t>& row = terms[m_nodes.of[gpu]];
    for (int layer = 0; layer < layerCount(); ++layer) {
      row[rootColumn(layer, gpu)] += !hasAmounts() && m_problem.layers[layer].isIn ? -1 : 1;
    }
    if (hasAmounts()) {
      row[rateColumn()] -= m_problem.amounts[m_rankOf[gpu]];
    }
  }
  for (auto& [orbit, row] : terms) {
    addRow(simplex, std::move(row), 0, 0, {RowKind::roots, -1, orbit});
  }
}

Simplex TreeSearch::buildProgram() {
  std::vector<int64_t> through(static_cast<std::size_t>(m_problem.nodeCount), 0);
  for (std::size_t i = 0; i < m_capacities.size(); ++i) {
    through[m_problem.arcs[i].tail] = checkedAdd(through[m_problem.arcs[i].tail], m_capacities[i]);
    through[m_problem.arcs[i].head] = checkedAdd(through[m_problem.arcs[i].head], m_capacities[i]);
  }
  // The ranges are wider than what any solution has, so that no proof needs them.
  std::vector<Column> columns(static_cast<std::size_t>(m_columns));
  int64_t most = 0;
  for (int layer = 0; layer < layerCount(); ++layer) {
    const LayerColumns& own = m_layers[layer];
    const bool counts = !hasAmounts() && !m_problem.layers[layer].isIn;
    for (int orbit = 0; orbit < own.nodes.count(); ++orbit) {
      if (const int column = own.rootAt[orbit]; column >= 0) {
        const int gpu = own.nodes.first[orbit];
        const int64_t sharers = m_nodes.size[m_nodes.of[gpu]];
        // Classes that share the column add up what it counts for.
        const int64_t others = columns[column].cost;
        columns[column] = {.lower = 0,
                           .upper = checkedMul(checkedAdd(through[gpu], int64_t{1}), sharers),
                           .cost = counts ? others + own.nodes.size[orbit] : 0,
                           .scale = m_largest / static_cast<double>(m_problem.gpus.size()),
                           .preference = 1e-7 * spread(column)};
        most = std::max(most, columns[column].upper);
      }
    }
    for (int orbit = 0; orbit < own.arcs.count(); ++orbit) {
      const int arc = own.arcs.first[orbit];
      const int column = own.firstArc + orbit;
      columns[column] = {
          .lower = 0,
          .upper = checkedMul(checkedAdd(m_capacities[arc], int64_t{1}), int64_t{m_arcs.size[m_arcs.of[arc]]}),
          .cost = 0,
          .scale = m_largest,
          .preference = -1e-7 * (0.5 + spread(column))};
    }
  }
  if (hasAmounts()) {
    const int64_t total = std::accumulate(m_problem.amounts.begin(), m_problem.amounts.end(), int64_t{0});
    columns[rateColumn()] = {.lower = 0, .upper = most, .cost = total, .scale = m_largest};
  }
  Simplex simplex(std::move(columns));
  addCapacities(simplex);
  for (int layer = 0; layer < layerCount(); ++layer) {
    addBalance(simplex, layer);
  }
  addRoots(simplex);
  for (int layer = 0; layer < layerCount(); ++layer) {
    for (const int node : m_layers[layer].nodes.first) {
      if (isGpu(node) || reaches(layer, node)) {
        NodeSet alone(static_cast<std::size_t>(m_problem.nodeCount), false);
        alone[node] = true;
        addCut(simplex, alone, layer);
      }
      if (isGpu(node)) {
        NodeSet others(static_cast<std::size_t>(m_problem.nodeCount), true);
        others[node] = false;
        addCut(simplex, others, layer);
      }
    }
  }
  return simplex;
}

/// What enters the set (leaves it, of in-trees) is at least what is rooted outside.
bool TreeSearch::addCut(Simplex& simplex, const NodeSet& set, int layer) {
  std::map<int, int64_t> terms;
  const bool isIn = m_problem.layers[layer].isIn;
  for (std::size_t arc = 0; arc < m_problem.arcs.size(); ++arc) {
    const auto& [tail, head, bandwidth] = m_problem.arcs[arc];
    if (isIn ? set[tail] && !set[head] : set[head] && !set[tail]) {
      ++terms[arcColumn(layer, static_cast<int>(arc))];
    }
  }
  for (const int gpu : m_problem.gpus) {
    if (!set[gpu]) {
      --terms[rootColumn(layer, gpu)];
    }
  }
  if (!m_known[layer].insert(std::vector<std::pair<int, int64_t>>(terms.begin(), terms.end())).second) {
    return false;
  }
  addRow(simplex, std::move(terms), 0, std::nullopt, {RowKind::cut, layer, static_cast<int>(m_cuts.size())});
  m_cuts.push_back(set);
  return true;
}

/// Adds what the values of the columns violate by more than the tolerance.
template <typename ValueOf>
bool TreeSearch::separate(Simplex& simplex, int64_t tolerance, const ValueOf& valueOf) {
  constexpr std::size_t kWorkPerArc = 16;  // of one maximum flow, about
  bool added = false;
  for (int layer = 0; layer < layerCount(); ++layer) {
    std::vector<int64_t> supplies(static_cast<std::size_t>(m_problem.nodeCount), 0);
    for (const int gpu : m_problem.gpus) {
      supplies[gpu] = valueOf(rootColumn(layer, gpu));
    }
    std::vector<int64_t> capacities;
    capacities.reserve(m_problem.arcs.size());
    for (int arc = 0; arc < static_cast<int>(m_problem.arcs.size()); ++arc) {
      capacities.push_back(valueOf(arcColumn(layer, arc)));
    }
    m_budget.spend(kWorkPerArc * m_problem.arcs.size());
    for (const NodeSet& set : m_finders[layer].violated(capacities, supplies, tolerance, false, m_progress)) {
      added = addCut(simplex, set, layer) || added;
    }
  }
  return added;
}

Bandwidth TreeSearch::inGigabytes(const WideFraction& value) const {
  Int128 a = value.numerator;
  Int128 b = checkedMul<Int128>(value.denominator, m_unit);
  Int128 x = a;
  for (Int128 y = b; y != 0;) {
    x = std::exchange(y, x % y);
  }
  a /= x;
  b /= x;
  return {narrow64(a), narrow64(b)};
}

void TreeSearch::takeShares(const ExactPoint& point, TreeRates& rates) const {
  rates.denominator = checkedMul(point.denominator, m_unit);
  for (int layer = 0; layer < layerCount(); ++layer) {
    LayerShares shares;
    for (const int gpu : m_problem.gpus) {
      shares.roots.push_back(point.numerators[rootColumn(layer, gpu)]);
    }
    for (int arc = 0; arc < static_cast<int>(m_problem.arcs.size()); ++arc) {
      shares.bandwidths.push_back(point.numerators[arcColumn(layer, arc)]);
    }
    rates.layers.push_back(std::move(shares));
  }
}

/// A row of a class speaks for all its members: what it costs is shared among them. In a mirrored problem a row of the
/// out-trees stands for one of the in-trees too, and the row of a link for that of the link back.
std::optional<TreeDual> TreeSearch::dualOf(const Simplex& simplex, const StopTest& stop) const {
  const auto count = [&](bool isIn) {
    return std::count_if(m_problem.layers.begin(), m_problem.layers.end(),
                         [&](const TreeLayer& layer) { return layer.isIn == isIn; });
  };
  const auto multipliers = count(false) > 1 || count(true) > 1 ? std::nullopt : simplex.exactMultipliers(stop);
  if (!multipliers) {
    return std::nullopt;
  }
  const Rational part = m_problem.isMirrored ? Rational(1, 2) : Rational(1);
  TreeDual dual;
  dual.linkPrice.resize(m_problem.arcs.size());
  dual.outPotential.resize(static_cast<std::size_t>(m_problem.nodeCount));
  dual.inPotential = dual.outPotential;
  for (std::size_t row = 0; row < m_meaning.size(); ++row) {
    if (multipliers->numerators[row] == 0) {
      continue;
    }
    const RowMeaning& meaning = m_meaning[row];
    const Rational value(multipliers->numerators[row], multipliers->denominator);
    const bool isIn = meaning.layer >= 0 && m_problem.layers[meaning.layer].isIn;
    if (meaning.kind == RowKind::capacity) {
      const int back = m_problem.isMirrored ? m_arcs.of[m_opposite[m_arcs.first[meaning.index]]] : meaning.index;
      const Rational price = value * (back == meaning.index ? Rational(1) : part) / Rational(meaning.size);
      for (std::size_t arc = 0; arc < m_problem.arcs.size(); ++arc) {
        if (m_arcs.of[arc] == meaning.index || m_arcs.of[arc] == back) {
          dual.linkPrice[arc] = price;
        }
      }
    } else if (meaning.kind == RowKind::balance) {
      const Rational potential = value * part / Rational(m_nodes.size[meaning.index]);
      for (int node = 0; node < m_problem.nodeCount; ++node) {
        if (m_nodes.of[node] == meaning.index) {
          (isIn ? dual.inPotential : dual.outPotential)[node] = potential;
          if (m_problem.isMirrored) {
            dual.inPotential[node] = potential;
          }
        }
      }
    } else if (meaning.kind == RowKind::cut) {
      dual.cuts.push_back({m_cuts[meaning.index], isIn, -value * part});
      if (m_problem.isMirrored) {
        dual.cuts.push_back({m_cuts[meaning.index], true, -value * part});
      }
    }
  }
  return dual;
}

Result<TreeRates> TreeSearch::conclude(const Simplex& simplex, BoundStatus status, std::string reason) const {
  TreeRates rates;
  // The proof may take a little more than the budget: without it the work was done for nothing.
  WorkBudget grace(kProofWork);
  const StopTest stop = stopTest(grace, m_progress);
  const auto proved = simplex.provedBound(stop);
  throwIfCancelled(m_progress);
  rates.reason = std::move(reason);
  if (!proved || proved->numerator < 0) {
    return rates;
  }
  bool hasRate = false;
  try {
    rates.rate = inGigabytes(*proved);
    hasRate = true;
    rates.dual = dualOf(simplex, stop);
  } catch (const OverflowError&) {
    if (!hasRate) {
      rates.reason = "the bound has more digits than 64 bits hold";
      return rates;
    }
  }
  rates.status = m_options.known == rates.rate ? BoundStatus::exact : status;
  rates.cuts = static_cast<int>(m_cuts.size());
  if (m_options.known && rates.rate < *m_options.known) {
    return Error{
        ErrorCode::internal,
        "the known bandwidth " + toFraction(*m_options.known) + " is above the proved bound " + toFraction(rates.rate),
        "report this with the fabric file"};
  }
  return rates;
}

/// A pivot touches all of the dense dictionary, and about as many are needed as there are rows. By size alone, not by
/// speed, so that the same fabric is treated alike on all machines.
bool TreeSearch::mayEnd() const {
  int64_t rows = m_arcs.count();
  for (const LayerColumns& layer : m_layers) {
    rows += int64_t{2} * layer.nodes.count();
  }
  return Int128{rows} * rows * columnCount() <= Int128{kNumbersPerMillisecond} * m_options.budget.count();
}

Result<TreeRates> TreeSearch::run() {
  const auto columns = static_cast<std::size_t>(columnCount());
  if (isTooLarge(static_cast<std::size_t>(m_arcs.count()), columns)) {
    return TreeRates{.reason = "the fabric is too large for the linear program of trees"};
  }
  if (!mayEnd()) {
    return TreeRates{.reason = "the linear program of trees would not end within its budget"};
  }
  m_progress.report("bound of trees", 0.0);
  Simplex simplex = buildProgram();
  const double known = m_options.known ? toGBps(*m_options.known) * static_cast<double>(m_unit) : 0;
  const auto stop = stopTest(m_budget, m_progress);
  int refinements = 0;
  for (;;) {
    throwIfCancelled(m_progress);
    const SimplexStatus status = simplex.solve(stop);
    throwIfCancelled(m_progress);
    if (status == SimplexStatus::stopped) {
      return conclude(simplex, BoundStatus::upperBound,
                      "out of work; the bound is valid, but whether it can be reached is unknown");
    }
    bool added = false;
    if (status == SimplexStatus::optimal) {
      double objective = 0;
      double largest = m_largest;
      for (int column = 0; column < columnCount(); ++column) {
        objective += static_cast<double>(simplex.columns()[column].cost) * simplex.value(column);
        largest = std::max(largest, simplex.value(column));
      }
      if (m_options.known && objective <= known * (1 + 1e-7)) {
        Result<TreeRates> rates = conclude(simplex, BoundStatus::upperBound, "equal to the known value");
        if (!rates || rates->status == BoundStatus::exact) {
          return rates;
        }
      }
      added = separate(simplex, kCutTolerance, [&](int column) { return toCutUnits(simplex.value(column), largest); });
      if (!added) {
        if (const auto point = simplex.exactPoint(stop)) {
          added = separate(simplex, 0, [&](int column) { return point->numerators[column]; });
          const auto proved = added ? std::nullopt : simplex.provedBound(stop);
          Int128 sum = 0;
          for (int column = 0; column < columnCount(); ++column) {
            sum += Int128{simplex.columns()[column].cost} * point->numerators[column];
          }
          if (proved && checkedMul<Int128>(proved->numerator, point->denominator) ==
                            checkedMul<Int128>(sum, proved->denominator)) {
            Result<TreeRates> rates = conclude(simplex, BoundStatus::exact, "optimum of the linear program");
            if (rates && rates->status == BoundStatus::exact) {
              takeShares(*point, *rates);
            }
            return rates;
          }
        }
      }
    }
    if (isTooLarge(simplex.rows().size(), columns)) {
      return conclude(simplex, BoundStatus::upperBound,
                      "too many cuts; the bound is valid, but whether it can be reached is unknown");
    }
    if (!added) {
      if (++refinements > kMaxRefinements || !simplex.refine(stop)) {
        return conclude(simplex, BoundStatus::upperBound,
                        "the numbers grew too large to prove that the bound is reached");
      }
    }
  }
}

}  // namespace

Result<TreeRates> solveTreeProgram(const TreeProblem& problem, const TreeProgramOptions& options,
                                   const Progress& progress) {
  return TreeSearch(problem, options, progress).run();
}

}  // namespace coppice::lp
