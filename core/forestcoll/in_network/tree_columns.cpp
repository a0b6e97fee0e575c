// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/in_network/tree_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "forestcoll/in_network/gpu_forest.hpp"
#include "forestcoll/in_network/hub_trees.hpp"
#include "forestcoll/in_network/tree_grower.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::NodeIndex;
using std::int64_t;

constexpr double kGain = 1e-7;  ///< what a tree must cost less than 1 to be taken up
/// The part of the bound that is enough for trees of the program.
const Rational kCloseToBound(99, 100);

/// A link between two nodes, both directions.
struct DuplexLink {
  int a = 0;
  int b = 0;
  int64_t capacity = 0;  ///< in units
};

/// The parts of the trees, by tree, over one denominator.
struct Parts {
  std::vector<int64_t> numerators;
  int64_t denominator = 1;
};

class ColumnSearch {
public:
  ColumnSearch(const TreeGraph& graph, std::vector<bool> capable, const std::optional<TreeMixture>& mixture,
               const Bandwidth& upper, lp::Milliseconds budget, const Progress& progress);
  std::optional<TreePacking> run(ColumnEffort effort);

private:
  /// How trees are grown: where they may branch, whether they reach all of that, and how often it is done.
  struct Way {
    std::vector<bool> mayBranch;
    bool spansRelays = false;
    double weight = 1;
    double grown = 0;
  };

  void addWays(const TreeMixture& mixture);
  const Way& nextWay();
  GrownTree grow(const LinkWeights& weights, double hop);
  std::pair<std::size_t, bool> takeUp(GrownTree&& tree);
  [[nodiscard]] int evenCount() const;
  void load(const GrownTree& tree, double amount);
  double fillWeights(double steepness, double amount, LinkWeights& weights) const;
  [[nodiscard]] double amountOf(int count) const { return toGBps(m_upper) * static_cast<double>(m_unit) / count; }
  std::vector<GrownTree> growEqual(int count, double steepness, LinkWeights& weights);
  void growFirst();
  void growEven();
  void growAgain(double steepness, double amount, LinkWeights& weights, std::vector<GrownTree>& trees);
  [[nodiscard]] double fullest() const;
  void activateFirst();
  void extendProgram();
  bool solve();
  void findSingleLinks();
  [[nodiscard]] bool activateOverloaded();
  void centre(const std::vector<double>& weights, double cost);
  bool addCheaper(double smoothness);
  void improve();
  void keepSolution();
  [[nodiscard]] bool isClose() const;
  [[nodiscard]] bool isModerate(std::size_t mostNumbers) const;
  void solveProgram();
  [[nodiscard]] std::vector<double> smoothWeights(double smoothness) const;
  [[nodiscard]] std::optional<Parts> exactParts() const;
  [[nodiscard]] Parts roundedParts() const;
  [[nodiscard]] bool fits(const Parts& parts) const;
  void keep(const Parts& parts);
  [[nodiscard]] Bandwidth rateOf(const Parts& parts) const;
  [[nodiscard]] TreePacking packing();
  [[nodiscard]] int startOf(int turn) const;

  const TreeGraph& m_graph;
  const Bandwidth& m_upper;
  const Progress& m_progress;
  const lp::Milliseconds m_firstBudget;
  lp::WorkBudget m_budget;
  std::vector<Way> m_ways;
  int64_t m_unit = 1;  ///< capacities are in 1 / unit GB/s
  std::vector<DuplexLink> m_links;
  TreeGrower m_grower;
  std::vector<GrownTree> m_trees;
  std::map<std::vector<std::pair<int, int>>, std::size_t> m_known;  ///< trees by their uses
  std::vector<bool> m_isActive;                                     ///< by link: has a price
  std::vector<bool> m_isSpokenFor;                                  ///< by link: another one is as full and narrower
  std::optional<lp::Simplex> m_simplex;
  std::vector<double> m_centre;  ///< by link: prices of the best bound so far
  double m_centreBound = std::numeric_limits<double>::infinity();
  std::vector<int> m_columnOf;     ///< by link, -1 = none
  std::vector<double> m_price;     ///< by link, so that the cheapest tree costs 1
  std::vector<double> m_part;      ///< by tree
  std::vector<double> m_feasible;  ///< the last of these that fit
  std::vector<double> m_load;      ///< by link
  double m_rate = 0;
  int m_turn = 0;
  std::optional<Parts> m_best;
};

ColumnSearch::ColumnSearch(const TreeGraph& graph, std::vector<bool> capable, const std::optional<TreeMixture>& mixture,
                           const Bandwidth& upper, lp::Milliseconds budget, const Progress& progress)
    : m_graph(graph),
      m_upper(upper),
      m_progress(progress),
      m_firstBudget(budget),
      m_budget(m_firstBudget),
      m_grower(graph) {
  if (std::find(capable.begin(), capable.end(), true) != capable.end()) {
    m_ways.push_back({capable, false, 1});
  }
  m_ways.push_back({std::move(capable), true, 1});
  if (mixture) {
    addWays(*mixture);
  }
  for (const lp::RateArc& arc : graph.arcs) {
    m_unit = leastCommonMultiple(m_unit, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  for (const lp::RateArc& arc : graph.arcs) {
    if (arc.tail < arc.head && arc.bandwidth.isPositive()) {
      const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
      m_links.push_back({arc.tail, arc.head, checkedMul(bandwidth.numerator(), m_unit / bandwidth.denominator())});
      m_grower.addLink(arc.tail, arc.head);
    }
  }
  m_isActive.assign(m_links.size(), false);
  m_price.assign(m_links.size(), 0);
  m_centre.assign(m_links.size(), 0);
  m_load.assign(m_links.size(), 0);
}

/// The kinds of trees of the mixture, as often as they take part in it, together as often as the other ways.
void ColumnSearch::addWays(const TreeMixture& mixture) {
  constexpr std::size_t kMaxWays = 256;
  double sum = 0;
  const std::size_t first = m_ways.size();
  for (const TreeShare& share : mixture.kinds) {
    double part = 0;
    for (const int64_t root : share.roots) {
      part += static_cast<double>(root);
    }
    for (const symmetry::Permutation& image : share.images) {
      if (m_ways.size() == kMaxWays) {
        break;
      }
      Way way{std::vector<bool>(share.reaches.size(), false), true, part / static_cast<double>(share.images.size())};
      for (std::size_t node = 0; node < share.reaches.size(); ++node) {
        way.mayBranch[image[node]] = share.reaches[node];
      }
      sum += way.weight;
      m_ways.push_back(std::move(way));
    }
  }
  for (std::size_t i = first; i < m_ways.size(); ++i) {
    m_ways[i].weight *= static_cast<double>(first) / sum;
  }
}

/// The way whose turn it is.
const ColumnSearch::Way& ColumnSearch::nextWay() {
  Way& next = *std::min_element(m_ways.begin(), m_ways.end(), [](const Way& a, const Way& b) {
    return (a.grown + 1) / a.weight < (b.grown + 1) / b.weight;
  });
  ++next.grown;
  return next;
}

/// GPUs in turn, far from each other.
int ColumnSearch::startOf(int turn) const {
  const auto gpus = static_cast<int64_t>(m_graph.gpus.size());
  int64_t step = std::max<int64_t>(1, (gpus * 618) / 1000);
  while (std::gcd(step, gpus) != 1) {
    ++step;
  }
  return m_graph.gpus[static_cast<std::size_t>(turn * step % gpus)];
}

GrownTree ColumnSearch::grow(const LinkWeights& weights, double hop) {
  const Way& way = nextWay();
  const std::size_t before = m_grower.work;
  GrownTree tree = m_grower.grow(weights, startOf(m_turn++), hop, way.mayBranch, way.spansRelays);
  constexpr std::size_t kNumbersPerStep = 12;
  m_budget.spend(kNumbersPerStep * (m_grower.work - before));
  return tree;
}

/// Its number, and whether it is new.
std::pair<std::size_t, bool> ColumnSearch::takeUp(GrownTree&& tree) {
  const auto [known, isNew] = m_known.try_emplace(tree.uses, m_trees.size());
  if (isNew) {
    m_trees.push_back(std::move(tree));
  }
  return {known->second, isNew};
}

void ColumnSearch::load(const GrownTree& tree, double amount) {
  for (const auto& [link, times] : tree.uses) {
    m_load[link] += amount * times;
  }
}

/// How full the fullest link is.
double ColumnSearch::fullest() const {
  double most = 0;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    most = std::max(most, m_load[link] / static_cast<double>(m_links[link].capacity));
  }
  return most;
}

/// A number of trees of one rate that fills most of every link: where 12.5 and 200 GB/s are to carry 205.6, 477 trees
/// use all of both.
int ColumnSearch::evenCount() const {
  constexpr int kFewest = 320;
  constexpr int kMost = 640;
  std::set<int64_t> capacities;
  for (const DuplexLink& link : m_links) {
    capacities.insert(link.capacity);
  }
  const double upper = toGBps(m_upper) * static_cast<double>(m_unit);
  int best = kFewest;
  double bestShare = 0;
  for (int count = kFewest; count <= kMost; ++count) {
    double share = 1;
    for (const int64_t capacity : capacities) {
      const double trees = static_cast<double>(capacity) * count / upper;
      share = std::min(share, std::floor(trees + kGain) / trees);
    }
    if (share > bestShare + kGain) {
      best = count;
      bestShare = share;
    }
  }
  return best;
}

/// e^(steepness * full), about, and the same on every machine.
double steep(double full, double steepness) {
  constexpr int kSquares = 12;
  double power = 1 + full * steepness / (1 << kSquares);
  for (int i = 0; i < kSquares; ++i) {
    power *= power;
  }
  return power;
}

/// Weights that grow steeply with how full a link is (Garg and Koenemann, SIAM J. Comput. 37 (2007)). What a GPU
/// between a node and the root weighs: little beside a link of the mean weight, or, where the fullest links make up
/// nearly all of that, beside a link as full as all together.
double ColumnSearch::fillWeights(double steepness, double amount, LinkWeights& weights) const {
  constexpr double kGentle = 10;
  double sum = 0;
  double load = 0;
  double capacity = 0;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    const auto width = static_cast<double>(m_links[link].capacity);
    weights.first[link] = steep(m_load[link] / width, steepness) / width;
    weights.factor[link] = steep(amount / width, steepness);
    sum += weights.first[link];
    load += m_load[link];
    capacity += width;
  }
  const auto count = static_cast<double>(m_links.size());
  return 0.03 * (steepness <= kGentle ? sum / count : steep(load / capacity, steepness) / (capacity / count));
}

/// Trees of one rate that keep out of each other's way, one after the other.
std::vector<GrownTree> ColumnSearch::growEqual(int count, double steepness, LinkWeights& weights) {
  const double amount = amountOf(count);
  std::fill(m_load.begin(), m_load.end(), 0);
  std::vector<GrownTree> trees;
  while (static_cast<int>(trees.size()) < count && !m_budget.isSpent()) {
    throwIfCancelled(m_progress);
    const double hop = fillWeights(steepness, amount, weights);
    trees.push_back(grow(weights, hop));
    load(trees.back(), amount);
    centre(weights.first, weightOf(trees.back().uses, weights));
  }
  return trees;
}

/// Trees to begin with.
void ColumnSearch::growFirst() {
  constexpr int kFirst = 160;
  constexpr double kSteepness = 10;
  LinkWeights weights(m_links.size());
  for (GrownTree& tree : growEqual(kFirst, kSteepness, weights)) {
    takeUp(std::move(tree));
  }
}

/// Many trees of one rate, each grown again among the others until no link is much fuller than the others: where the
/// program is large, it has not come far with its own.
void ColumnSearch::growEven() {
  m_progress.report("trees of one rate", 0);
  const int count = evenCount();
  const double amount = amountOf(count);
  LinkWeights weights(m_links.size());
  constexpr double kFirstSteepness = 50;
  std::vector<GrownTree> trees = growEqual(count, kFirstSteepness, weights);
  std::vector<GrownTree> best = trees;
  double least = fullest();
  for (const double steepness : {50.0, 100.0, 150.0, 200.0}) {
    if (static_cast<int>(trees.size()) < count || least <= 1 + kGain || m_budget.isSpent()) {
      break;
    }
    growAgain(steepness, amount, weights, trees);
    if (const double most = fullest(); most < least) {
      least = most;
      best = trees;
    }
  }
  m_feasible.assign(m_trees.size(), 0);
  for (GrownTree& tree : best) {
    const std::size_t number = takeUp(std::move(tree)).first;
    m_feasible.resize(m_trees.size(), 0);
    ++m_feasible[number];
  }
  keep(roundedParts());
}

/// Until the work is spent.
void ColumnSearch::growAgain(double steepness, double amount, LinkWeights& weights, std::vector<GrownTree>& trees) {
  for (GrownTree& tree : trees) {
    throwIfCancelled(m_progress);
    load(tree, -amount);
    const double hop = fillWeights(steepness, amount, weights);
    if (GrownTree other = grow(weights, hop); weightOf(other.uses, weights) < weightOf(tree.uses, weights)) {
      tree = std::move(other);
    }
    load(tree, amount);
    if (m_budget.isSpent()) {
      return;
    }
  }
}

/// Prices for the links that the first trees fill, and for those of the GPU with the least bandwidth, which every tree
/// enters.
void ColumnSearch::activateFirst() {
  findSingleLinks();
  std::vector<int64_t> through(static_cast<std::size_t>(m_graph.nodeCount), 0);
  for (const DuplexLink& link : m_links) {
    through[link.a] = checkedAdd(through[link.a], link.capacity);
    through[link.b] = checkedAdd(through[link.b], link.capacity);
  }
  const int narrow = *std::min_element(m_graph.gpus.begin(), m_graph.gpus.end(),
                                       [&](int a, int b) { return through[a] < through[b]; });
  constexpr double kNearlyFull = 0.95;
  for (std::size_t i = 0; i < m_links.size(); ++i) {
    const DuplexLink& link = m_links[i];
    if (link.a == narrow || link.b == narrow ||
        (!m_isSpokenFor[i] && m_load[i] > kNearlyFull * static_cast<double>(link.capacity))) {
      m_isActive[i] = true;
    }
  }
}

/// The dual program: the least price of all capacity so that every tree costs at least 1. Its rows are the trees, its
/// columns the links that were full once.
void ColumnSearch::extendProgram() {
  if (!m_simplex) {
    m_columnOf.assign(m_links.size(), -1);
    std::vector<lp::Column> columns;
    for (std::size_t link = 0; link < m_links.size(); ++link) {
      if (m_isActive[link]) {
        m_columnOf[link] = static_cast<int>(columns.size());
        columns.push_back({.lower = 0,
                           .upper = 1,
                           .cost = -m_links[link].capacity,
                           .scale = 0.01,
                           .preference = -1e-9 * lp::spread(static_cast<int>(link))});
      }
    }
    m_simplex.emplace(std::move(columns));
  }
  for (std::size_t tree = m_simplex->rows().size(); tree < m_trees.size(); ++tree) {
    lp::Row row;
    row.lower = 1;
    for (const auto& [link, times] : m_trees[tree].uses) {
      if (m_columnOf[link] >= 0) {
        row.terms.push_back({m_columnOf[link], times});
      }
    }
    m_simplex->addRow(std::move(row));
  }
}

/// Prices of the links and parts of the trees so far. False where it was stopped.
bool ColumnSearch::solve() {
  for (;;) {
    throwIfCancelled(m_progress);
    extendProgram();
    const lp::StopTest stop = lp::stopTest(m_budget, m_progress);
    if (m_simplex->solve(stop) != lp::SimplexStatus::optimal) {
      throwIfCancelled(m_progress);
      return false;
    }
    m_rate = 0;
    std::fill(m_price.begin(), m_price.end(), 0);
    for (std::size_t link = 0; link < m_links.size(); ++link) {
      if (m_columnOf[link] >= 0) {
        m_price[link] = std::max(0.0, m_simplex->value(m_columnOf[link]));
        m_rate += m_price[link] * static_cast<double>(m_links[link].capacity);
      }
    }
    // Multipliers have one factor in common.
    double sum = 0;
    m_part.assign(m_trees.size(), 0);
    for (std::size_t tree = 0; tree < m_trees.size(); ++tree) {
      m_part[tree] = std::max(0.0, -m_simplex->multiplier(static_cast<int>(tree)));
      sum += m_part[tree];
    }
    if (sum <= 0) {
      return false;
    }
    std::fill(m_load.begin(), m_load.end(), 0);
    for (std::size_t tree = 0; tree < m_trees.size(); ++tree) {
      m_part[tree] *= m_rate / sum;
      for (const auto& [link, times] : m_trees[tree].uses) {
        m_load[link] += m_part[tree] * times;
      }
    }
    if (!activateOverloaded()) {
      m_feasible = m_part;
      return true;
    }
    m_simplex.reset();
  }
}

/// A GPU's only link carries every tree once: of all such links the narrowest speaks for the others.
void ColumnSearch::findSingleLinks() {
  std::vector<int> degree(static_cast<std::size_t>(m_graph.nodeCount), 0);
  for (const DuplexLink& link : m_links) {
    ++degree[link.a];
    ++degree[link.b];
  }
  std::vector<bool> isSingle(degree.size(), false);
  for (const int gpu : m_graph.gpus) {
    isSingle[gpu] = degree[gpu] == 1;
  }
  const std::vector<bool>& mayBranch = m_ways.front().mayBranch;
  m_isSpokenFor.assign(m_links.size(), false);
  int narrowest = -1;
  for (std::size_t i = 0; i < m_links.size(); ++i) {
    if ((isSingle[m_links[i].a] && mayBranch[m_links[i].b]) || (isSingle[m_links[i].b] && mayBranch[m_links[i].a])) {
      m_isSpokenFor[i] = true;
      if (narrowest < 0 || m_links[i].capacity < m_links[narrowest].capacity) {
        narrowest = static_cast<int>(i);
      }
    }
  }
  if (narrowest >= 0) {
    m_isSpokenFor[narrowest] = false;
    m_isActive[narrowest] = true;
  }
}

bool ColumnSearch::activateOverloaded() {
  constexpr double kTolerance = 1e-9;
  bool isNew = false;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    if (!m_isActive[link] && !m_isSpokenFor[link] &&
        m_load[link] > static_cast<double>(m_links[link].capacity) * (1 + kTolerance)) {
      m_isActive[link] = true;
      isNew = true;
    }
  }
  return isNew;
}

std::optional<Parts> ColumnSearch::exactParts() const {
  lp::WorkBudget grace{lp::Milliseconds(500)};
  const auto multipliers = m_simplex->exactMultipliers(lp::stopTest(grace, m_progress));
  throwIfCancelled(m_progress);
  if (!multipliers) {
    return std::nullopt;
  }
  Parts parts;
  parts.denominator = multipliers->denominator;
  for (const int64_t numerator : multipliers->numerators) {
    if (numerator > 0) {
      return std::nullopt;
    }
    parts.numerators.push_back(-numerator);
  }
  return parts;
}

/// The floating-point parts that fit, a little less than these; or any parts, as much of them as fits.
Parts ColumnSearch::roundedParts() const {
  std::vector<double> parts = m_feasible.empty() ? std::vector<double>(m_trees.size(), 1) : m_feasible;
  std::vector<double> loads(m_links.size(), 0);
  double most = 0;
  for (std::size_t tree = 0; tree < parts.size(); ++tree) {
    for (const auto& [link, times] : m_trees[tree].uses) {
      loads[link] += parts[tree] * times;
      most = std::max(most, loads[link] / static_cast<double>(m_links[link].capacity));
    }
  }
  constexpr double kLess = 1 - 1e-9;
  Parts rounded;
  rounded.denominator = int64_t{1} << 20;
  for (const double part : parts) {
    rounded.numerators.push_back(
        static_cast<int64_t>(std::floor(part / most * kLess * static_cast<double>(rounded.denominator))));
  }
  return rounded;
}

/// In exact arithmetic; and the trees reach all GPUs, which one that was grown at weights beyond all numbers may not.
bool ColumnSearch::fits(const Parts& parts) const {
  std::vector<Int128> loads(m_links.size(), 0);
  for (std::size_t tree = 0; tree < parts.numerators.size(); ++tree) {
    if (parts.numerators[tree] > 0 && m_trees[tree].edges.size() + 1 < m_graph.gpus.size()) {
      return false;
    }
    for (const auto& [link, times] : m_trees[tree].uses) {
      loads[link] += Int128{parts.numerators[tree]} * times;
    }
  }
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    if (loads[link] > Int128{m_links[link].capacity} * parts.denominator) {
      return false;
    }
  }
  return true;
}

Bandwidth ColumnSearch::rateOf(const Parts& parts) const {
  int64_t sum = 0;
  for (const int64_t numerator : parts.numerators) {
    sum = checkedAdd(sum, numerator);
  }
  return {sum, checkedMul(parts.denominator, m_unit)};
}

void ColumnSearch::keep(const Parts& parts) {
  if (fits(parts) && (!m_best || rateOf(parts) >= rateOf(*m_best))) {
    m_best = parts;
  }
}

/// Prices of which the cheapest tree costs `cost` bound the rate, as far as that tree is the cheapest there is.
void ColumnSearch::centre(const std::vector<double>& weights, double cost) {
  double bound = 0;
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    bound += weights[link] * static_cast<double>(m_links[link].capacity);
  }
  // Below what is proved, the tree was not the cheapest.
  if (bound < m_centreBound * cost && bound >= toGBps(m_upper) * static_cast<double>(m_unit) * (1 - kGain) * cost) {
    m_centreBound = bound / cost;
    m_centre = weights;
    for (double& price : m_centre) {
      price /= cost;
    }
  }
}

/// Prices between those of the program, which jump, and those of the best bound (Wentges, Int. Trans. Oper. Res. 4
/// (1997)); and a little for each link, more where it is full, which decides between trees of one price.
std::vector<double> ColumnSearch::smoothWeights(double smoothness) const {
  constexpr double kSoftness = 1e-3;
  std::vector<double> weights(m_links.size());
  const auto gpus = static_cast<double>(m_graph.gpus.size());
  for (std::size_t link = 0; link < m_links.size(); ++link) {
    const double share = m_load[link] / static_cast<double>(m_links[link].capacity);
    weights[link] = (1 - smoothness) * m_price[link] + smoothness * m_centre[link] +
                    kSoftness / gpus * (0.05 + share * share) * std::max(smoothness, 1e-3);
  }
  return weights;
}

/// Trees that gain, from several roots.
bool ColumnSearch::addCheaper(double smoothness) {
  constexpr int kTrees = 12;
  const double share = 1e-3 / static_cast<double>(m_graph.gpus.size()) * std::max(smoothness, 1e-3);
  LinkWeights weights(m_links.size());
  weights.first = smoothWeights(smoothness);
  std::fill(weights.more.begin(), weights.more.end(), share);
  const double hop = 0.3 * share;
  bool isNew = false;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTrees && !m_budget.isSpent(); ++i) {
    throwIfCancelled(m_progress);
    GrownTree tree = grow(weights, hop);
    double cost = 0;
    double smoothCost = 0;
    for (const auto& [link, times] : tree.uses) {
      cost += m_price[link] * times;
      smoothCost += weights.first[link] * times;
    }
    least = std::min(least, smoothCost);
    isNew = (cost < 1 - kGain && takeUp(std::move(tree)).second) || isNew;
  }
  centre(weights.first, least);
  return isNew;
}

/// The same tree from a GPU in its middle, so that it is as low as it can be: between the ends of a longest way,
/// counted in GPUs.
GrownTree fromItsMiddle(const GrownTree& tree, const TreeGraph& graph) {
  struct Side {
    int node = 0;
    std::size_t edge = 0;
  };
  const auto count = static_cast<std::size_t>(graph.nodeCount);
  std::vector<std::vector<Side>> sides(count);
  for (std::size_t i = 0; i < tree.edges.size(); ++i) {
    sides[tree.edges[i].parent].push_back({tree.edges[i].child, i});
    sides[tree.edges[i].child].push_back({tree.edges[i].parent, i});
  }
  std::vector<int> weight(count, 0);
  for (const int gpu : graph.gpus) {
    weight[gpu] = 1;
  }
  std::vector<int> order;
  std::vector<Side> from(count);
  std::vector<int> depth(count, 0);
  const auto visit = [&](int root) {
    order.assign(1, root);
    from[root] = {-1, 0};
    depth[root] = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int node = order[i];
      for (const Side& side : sides[node]) {
        if (side.node != from[node].node) {
          from[side.node] = {node, side.edge};
          depth[side.node] = depth[node] + weight[side.node];
          order.push_back(side.node);
        }
      }
    }
    return *std::max_element(graph.gpus.begin(), graph.gpus.end(), [&](int a, int b) { return depth[a] < depth[b]; });
  };
  const int end = visit(visit(tree.root));
  int middle = end;
  const int half = depth[end] / 2;
  while (weight[middle] == 0 || depth[middle] > half) {
    middle = from[middle].node;
  }
  visit(middle);
  GrownTree turned;
  turned.root = middle;
  turned.uses = tree.uses;
  for (std::size_t i = 1; i < order.size(); ++i) {
    GrownTree::Edge edge = tree.edges[from[order[i]].edge];
    if (edge.child != order[i]) {
      std::swap(edge.parent, edge.child);
      std::reverse(edge.path.begin(), edge.path.end());
    }
    turned.edges.push_back(std::move(edge));
  }
  return turned;
}

/// @post the trees are moved out
TreePacking ColumnSearch::packing() {
  int64_t divisor = 0;
  for (const int64_t numerator : m_best->numerators) {
    divisor = std::gcd(divisor, numerator);
  }
  TreePacking packing{.unit = Bandwidth(divisor, checkedMul(m_best->denominator, m_unit))};
  for (std::size_t i = 0; i < m_best->numerators.size(); ++i) {
    if (m_best->numerators[i] > 0) {
      packing.parts.push_back({std::move(m_trees[i]), m_best->numerators[i] / divisor});
    }
  }
  return packing;
}

/// Trees that gain, until none does or the work is spent.
void ColumnSearch::improve() {
  const double upper = toGBps(m_upper) * static_cast<double>(m_unit);
  constexpr std::array kSmoothness = {0.7, 0.3, 0.0};
  bool isNew = true;
  while (isNew && solve()) {
    if (m_rate >= upper * (1 - kGain)) {
      break;
    }
    isNew = false;
    for (std::size_t i = 0; i < kSmoothness.size() && !isNew; ++i) {
      isNew = addCheaper(kSmoothness[i]);
    }
  }
}

/// What the program gives to the trees, and what fits of it if it is not exact.
void ColumnSearch::keepSolution() {
  if (std::optional<Parts> parts = exactParts(); parts && fits(*parts)) {
    keep(*parts);
  }
  keep(roundedParts());
}

bool ColumnSearch::isClose() const {
  return m_best && rateOf(*m_best) >= m_upper * kCloseToBound;
}

/// Whether the program over all trees so far has at most this number of entries.
bool ColumnSearch::isModerate(std::size_t mostNumbers) const {
  const auto active = static_cast<std::size_t>(std::count(m_isActive.begin(), m_isActive.end(), true));
  return m_trees.size() * active <= mostNumbers;
}

void ColumnSearch::solveProgram() {
  improve();
  if (m_simplex) {
    keepSolution();
  }
}

std::optional<TreePacking> ColumnSearch::run(ColumnEffort effort) {
  // Beyond these the budget ends before the program over the trees so far is solved, or soon after.
  constexpr std::size_t kMostFirstNumbers = 600'000;
  constexpr std::size_t kMostNumbers = 400'000;
  m_progress.report("trees one by one", 0);
  growFirst();
  activateFirst();
  if (isModerate(kMostFirstNumbers)) {
    solveProgram();
  }
  if (effort == ColumnEffort::thorough && !isClose()) {
    m_budget = lp::WorkBudget(m_firstBudget);
    growEven();
    if (!isClose() && isModerate(kMostNumbers)) {
      m_budget = lp::WorkBudget(m_firstBudget);
      solveProgram();
    }
  }
  if (!m_best || rateOf(*m_best).isZero()) {
    return std::nullopt;
  }
  return packing();
}

ColumnTrees write(const fabric::Fabric& fabric, const TreeGraph& graph, const TreePacking& packing) {
  const Rational& unit = packing.unit.gigabytesPerSecond();
  GpuForest forest(fabric, InverseBandwidth(unit.denominator(), unit.numerator()));
  for (const TreePacking::Part& part : packing.parts) {
    const GrownTree tree = fromItsMiddle(part.tree, graph);
    std::vector<GpuForest::Edge> edges;
    edges.reserve(tree.edges.size());
    for (const GrownTree::Edge& edge : tree.edges) {
      edges.push_back({edge.parent, edge.child, edge.path});
    }
    forest.addTree(tree.root, part.count, edges);
  }
  return {packing.algbw(), forest.take()};
}

}  // namespace

Bandwidth leastIntoGpu(const TreeGraph& graph) {
  std::vector<Rational> into(static_cast<std::size_t>(graph.nodeCount));
  for (const lp::RateArc& arc : graph.arcs) {
    into[arc.head] += arc.bandwidth.gigabytesPerSecond();
  }
  Rational least = into[graph.gpus.front()];
  for (const int gpu : graph.gpus) {
    least = std::min(least, into[gpu]);
  }
  return Bandwidth(least);
}

Bandwidth TreePacking::algbw() const {
  int64_t count = 0;
  for (const Part& part : parts) {
    count = checkedAdd(count, part.count);
  }
  return unit * Rational(count);
}

std::optional<TreePacking> packTrees(const TreeGraph& graph, const std::vector<bool>& mayBranch,
                                     const std::optional<TreeMixture>& mixture, const Bandwidth& upper,
                                     std::chrono::milliseconds budget, ColumnEffort effort, const Progress& progress) {
  // A rate far beyond the links makes weights overflow.
  const Bandwidth reachable = std::min(upper, leastIntoGpu(graph));
  return ColumnSearch(graph, mayBranch, mixture, reachable, budget, progress).run(effort);
}

std::optional<ColumnTrees> treesByColumns(const fabric::Fabric& fabric, const TreeDemand& demand,
                                          const std::optional<TreeMixture>& mixture, const Bandwidth& upper,
                                          ColumnEffort effort, const Progress& progress) {
  const TreeGraph graph = treeGraph(fabric);
  if (demand.ownCopies || !isMirrored(graph, demand)) {
    return std::nullopt;
  }
  const std::chrono::milliseconds budget = demand.budget / 5;
  const std::vector<bool> mayBranch = branching(graph, demand, false);
  const auto attempt = [](const auto& pack) -> std::optional<TreePacking> {
    try {
      return pack();
    } catch (const OverflowError&) {
      return std::nullopt;
    }
  };
  std::optional<TreePacking> best =
      attempt([&] { return packOverHubs(graph, mayBranch, upper, budget, effort, progress); });
  if (effort == ColumnEffort::thorough && (!best || best->algbw() < upper)) {
    std::optional<TreePacking> own =
        attempt([&] { return packTrees(graph, mayBranch, mixture, upper, budget, effort, progress); });
    if (own && (!best || best->algbw() < own->algbw())) {
      best = std::move(own);
    }
  }
  return best ? std::optional(write(fabric, graph, *best)) : std::nullopt;
}

}  // namespace coppice::forestcoll
