// SPDX-License-Identifier: Apache-2.0
#include "alltoall/mixture.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.hpp"

namespace coppice::alltoall {
namespace {

using fabric::NodeIndex;
using std::int64_t;

/// Parts of the program in floating point.
constexpr int64_t kParts = int64_t{1} << 20;
/// Whole parts are this many times finer.
constexpr int64_t kFiner = int64_t{1} << 18;
constexpr std::size_t kMaxMoves = 20'000;
/// Numbers that a core touches in the time that it takes to find a move in a map, about.
constexpr std::size_t kPerMove = 200;

/// One part of a tree takes another link into a node.
struct Move {
  std::size_t row = 0;  ///< the tree that it leaves
  NodeIndex node = 0;
  std::int32_t arc = -1;        ///< instead of the tree's own
  std::vector<int64_t> change;  ///< of the loads, by orbit
};

/// An integer combination of moves that changes `orbit` by change[orbit] and no orbit of the pivots before.
struct Pivot {
  std::size_t orbit = 0;
  std::vector<int64_t> change;
  std::map<std::size_t, int64_t> moves;  ///< how many of each
};

class Correction {
public:
  Correction(TreeSet trees, std::span<const int64_t> lengths, const lp::StopTest& stop)
      : m_trees(std::move(trees)), m_lengths(lengths), m_stop(stop), m_orbits(m_trees.capacity.size()) {
    for (const int64_t length : lengths) {
      m_isBound.push_back(length > 0 ? 1 : 0);
    }
  }

  std::optional<WholeMixture> run() {
    constexpr int kRounds = 12;
    findTheta();
    for (int round = 0; round < kRounds && !isStopped(); ++round) {
      findMoves();
      eliminate();
      m_isRefined = false;
      if (auto mixture = correctedMixture()) {
        return mixture;
      }
      if (!m_isRefined) {
        break;
      }
    }
    return std::nullopt;
  }

private:
  [[nodiscard]] bool isStopped() { return m_stop(std::exchange(m_work, 0)); }

  /// theta = numerator / denominator, the load of each unit of capacity.
  void findTheta() {
    Int128 distances = 0;
    Int128 capacity = 0;
    std::vector<char> isSeen(m_trees.group.sources.size(), 0);
    for (std::size_t i = 0; i < m_trees.rows.size(); ++i) {
      if (std::exchange(isSeen[m_trees.rows[i].source], 1) != 0) {
        continue;
      }
      for (std::size_t k = 0; k < m_orbits; ++k) {
        distances = checkedAdd(distances, checkedMul<Int128>(m_trees.load(i, k), m_lengths[k]));
      }
    }
    for (std::size_t k = 0; k < m_orbits; ++k) {
      capacity = checkedAdd(capacity, checkedMul<Int128>(m_trees.capacity[k], m_lengths[k]));
    }
    Int128 a = distances;
    Int128 b = capacity;
    while (b != 0) {
      a = std::exchange(b, a % b);
    }
    m_theta = Rational(narrow64(distances / a), narrow64(capacity / a));
  }

  // Moves.

  void findMoves() {
    m_moves.clear();
    m_pivots.clear();
    std::set<std::vector<int64_t>> known;
    for (std::size_t row = 0; row < m_trees.rows.size() && m_moves.size() < kMaxMoves && !isStopped(); ++row) {
      readTree(row);
      for (NodeIndex node = 0; node < m_trees.network.nodeCount(); ++node) {
        if (m_trees.rows[row].arcInto[node] < 0 || m_behind[node] == 0) {
          continue;
        }
        for (const std::int32_t arc : m_trees.network.in[node]) {
          addMove(row, node, arc, known);
        }
      }
    }
  }

  /// Distances along the tree, and the GPUs behind each node.
  void readTree(std::size_t row) {
    constexpr std::size_t kPerNode = 50;  // the nodes on its path, and memory for them
    m_work += kPerNode * static_cast<std::size_t>(m_trees.network.nodeCount());
    const TreeRow& tree = m_trees.rows[row];
    const auto nodes = static_cast<std::size_t>(m_trees.network.nodeCount());
    m_distance.assign(nodes, -1);
    m_behind.assign(nodes, 0);
    m_distance[m_trees.group.sources[tree.source]] = 0;
    for (NodeIndex node = 0; node < m_trees.network.nodeCount(); ++node) {
      measure(tree, node);
      if (m_trees.network.fabric.nodes()[node].kind == fabric::NodeKind::gpu) {
        for (NodeIndex at = node; tree.arcInto[at] >= 0; at = tailOf(tree.arcInto[at])) {
          ++m_behind[at];
        }
      }
    }
  }

  void measure(const TreeRow& tree, NodeIndex node) {
    std::vector<NodeIndex> way;
    for (NodeIndex at = node; m_distance[at] < 0 && tree.arcInto[at] >= 0; at = tailOf(tree.arcInto[at])) {
      way.push_back(at);
    }
    for (std::size_t i = way.size(); i-- > 0;) {
      const std::int32_t arc = tree.arcInto[way[i]];
      if (m_distance[tailOf(arc)] >= 0) {
        m_distance[way[i]] = m_distance[tailOf(arc)] + lengthOf(arc);
      }
    }
  }

  [[nodiscard]] NodeIndex tailOf(std::int32_t arc) const { return m_trees.network.fabric.arcs()[arc].tail; }
  [[nodiscard]] std::size_t orbitOf(std::int32_t arc) const {
    return static_cast<std::size_t>(m_trees.group.orbitOfArc[arc]);
  }
  [[nodiscard]] Int128 lengthOf(std::int32_t arc) const { return m_lengths[orbitOf(arc)]; }

  /// Where the other link is on a shortest path too, and changes the loads in a way that no move before does.
  void addMove(std::size_t row, NodeIndex node, std::int32_t arc, std::set<std::vector<int64_t>>& known) {
    const TreeRow& tree = m_trees.rows[row];
    const NodeIndex tail = tailOf(arc);
    if (arc == tree.arcInto[node] || m_distance[tail] < 0 || m_distance[tail] + lengthOf(arc) != m_distance[node]) {
      return;
    }
    m_work += kPerMove + m_orbits * (2 + m_others.size());
    const int64_t amount = checkedMul(m_behind[node], m_trees.group.sourceWeight[tree.source]);
    std::vector<int64_t> change(m_orbits, 0);
    change[orbitOf(arc)] += amount;
    for (NodeIndex at = tail; tree.arcInto[at] >= 0; at = tailOf(tree.arcInto[at])) {
      if (at == node) {
        return;  // behind itself, over links without length
      }
      change[orbitOf(tree.arcInto[at])] += amount;
    }
    for (NodeIndex at = node; tree.arcInto[at] >= 0; at = tailOf(tree.arcInto[at])) {
      change[orbitOf(tree.arcInto[at])] -= amount;
    }
    const bool isChange = std::any_of(change.begin(), change.end(), [](int64_t value) { return value != 0; });
    if (isChange && keepsOtherLengths(change) && known.insert(change).second) {
      m_moves.push_back({row, node, arc, std::move(change)});
    }
  }

  /// The variant is as short as the tree for the other optimal lengths as well.
  [[nodiscard]] bool keepsOtherLengths(const std::vector<int64_t>& change) const {
    return std::all_of(m_others.begin(), m_others.end(), [&](const std::vector<double>& other) {
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < m_orbits; ++k) {
        sum += static_cast<double>(change[k]) * other[k];
        size += std::abs(static_cast<double>(change[k])) * other[k];
      }
      return std::abs(sum) <= kClose * size;
    });
  }

  /// Takes the multipliers as lengths. Trees that are longer than others for them have no part in a mixture.
  void refine(const TreeSet& all, const lp::Simplex& simplex) {
    std::vector<double> other;
    for (std::size_t k = 0; k < m_orbits; ++k) {
      other.push_back(std::max(0.0, simplex.multiplier(static_cast<int>(k))));
    }
    const double longest = *std::max_element(other.begin(), other.end());
    for (std::size_t k = 0; k < m_orbits; ++k) {
      other[k] = other[k] > kClose * longest ? other[k] / longest : 0.0;
      m_isRefined = m_isRefined || (other[k] > 0 && m_isBound[k] == 0);
      m_isBound[k] = m_isBound[k] != 0 || other[k] > 0 ? 1 : 0;
    }
    std::vector<double> lengths;
    std::vector<double> min(all.group.sources.size(), -1);
    for (const TreeRow& tree : m_trees.rows) {
      double length = 0;
      for (std::size_t k = 0; k < m_orbits; ++k) {
        length += static_cast<double>(tree.uses[k]) * other[k];
      }
      double& shortest = min[tree.source];
      shortest = shortest < 0 ? length : std::min(shortest, length);
      lengths.push_back(length);
    }
    std::vector<TreeRow> kept;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] <= min[m_trees.rows[i].source] * (1 + kClose)) {
        kept.push_back(std::move(m_trees.rows[i]));
      }
    }
    m_isRefined = m_isRefined || kept.size() < lengths.size();
    m_trees.rows = std::move(kept);
    m_others.push_back(std::move(other));
  }

  // Elimination.

  [[nodiscard]] bool mustMeet(std::size_t orbit) const { return m_isBound[orbit] != 0; }

  static int64_t sizeOf(const std::vector<int64_t>& change) {
    int64_t size = 0;
    for (const int64_t value : change) {
      size += std::abs(value);
    }
    return size;
  }

  /// Smallest changes first; each is reduced by the pivots that there are, and becomes one if something is left.
  void eliminate() {
    std::vector<std::size_t> order(m_moves.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sizeOf(m_moves[a].change) < sizeOf(m_moves[b].change);
    });
    int64_t unit = 0;
    for (const Move& move : m_moves) {
      unit = std::accumulate(move.change.begin(), move.change.end(), unit,
                             [](int64_t a, int64_t b) { return std::gcd(a, b); });
    }
    for (const std::size_t move : order) {
      if (isStopped() || isComplete(unit)) {
        return;
      }
      try {
        insert({0, m_moves[move].change, {{move, 1}}});
      } catch (const OverflowError&) {
        continue;  // the basis does without it
      }
    }
  }

  /// All loads on shortest paths weigh the same in all, so that one orbit follows from the others.
  [[nodiscard]] bool isComplete(int64_t unit) {
    m_work += m_orbits;
    std::size_t bound = 0;
    for (std::size_t k = 0; k < m_orbits; ++k) {
      bound += mustMeet(k) ? 1 : 0;
    }
    return m_pivots.size() + 1 >= bound && std::all_of(m_pivots.begin(), m_pivots.end(), [&](const auto& entry) {
             return std::abs(entry.second.change[entry.first]) == unit;
           });
  }

  /// Euclid's algorithm against the pivot of each orbit in turn keeps the greatest common divisors there.
  void insert(Pivot next) {
    for (std::size_t k = 0; k < m_orbits; ++k) {
      if (!mustMeet(k) || next.change[k] == 0) {
        continue;
      }
      const auto found = m_pivots.find(k);
      if (found == m_pivots.end()) {
        next.orbit = k;
        m_pivots.emplace(k, std::move(next));
        return;
      }
      while (next.change[k] != 0) {
        if (std::abs(next.change[k]) < std::abs(found->second.change[k])) {
          std::swap(next.change, found->second.change);
          std::swap(next.moves, found->second.moves);
        }
        subtract(next, found->second, next.change[k] / found->second.change[k]);
      }
    }
  }

  void subtract(Pivot& from, const Pivot& pivot, int64_t times) {
    m_work += 2 * m_orbits + kPerMove * pivot.moves.size();
    for (std::size_t k = 0; k < from.change.size(); ++k) {
      from.change[k] = checkedSub(from.change[k], checkedMul(times, pivot.change[k]));
    }
    for (const auto& [move, count] : pivot.moves) {
      int64_t& sum = from.moves[move];
      sum = checkedSub(sum, checkedMul(times, count));
      if (sum == 0) {
        from.moves.erase(move);
      }
    }
  }

  // The mixture.

  [[nodiscard]] TreeRow variantOf(const Move& move) const {
    TreeRow tree = m_trees.rows[move.row];
    const int64_t weight = m_trees.group.sourceWeight[tree.source];
    tree.arcInto[move.node] = move.arc;
    for (std::size_t k = 0; k < m_orbits; ++k) {
      tree.uses[k] += move.change[k] / weight;
    }
    return tree;
  }

  std::optional<WholeMixture> correctedMixture() {
    constexpr int64_t min = 16;
    TreeSet all = m_trees;
    std::vector<int64_t> atLeast(all.rows.size(), 0);
    std::map<std::size_t, std::size_t> variants;  // by move, among all trees
    for (const auto& [orbit, pivot] : m_pivots) {
      for (const auto& [move, count] : pivot.moves) {
        if (variants.try_emplace(move, all.rows.size()).second) {
          all.rows.push_back(variantOf(m_moves[move]));
          atLeast.push_back(min);
          atLeast[m_moves[move].row] += min;
        }
      }
    }
    std::vector<int64_t> spare;
    for (std::size_t k = 0; k < m_orbits; ++k) {
      spare.push_back(mustMeet(k) ? 0 : min);
    }
    std::vector<double> preferences;  // keep the simplex from many steps without progress
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
      preferences.push_back(-1e-11 * static_cast<double>(1 + (i * 2654435761U) % 1009U) / 1009.0);
    }
    lp::Simplex simplex =
        mixtureProgram(all, {.parts = kParts, .min = atLeast, .spare = spare, .preferences = preferences});
    m_work += 2 * all.rows.size() * m_orbits;
    if (isStopped() || simplex.solve(m_stop) != lp::SimplexStatus::optimal) {
      return std::nullopt;
    }
    const double theta = simplex.value(static_cast<int>(all.rows.size())) / static_cast<double>(kParts);
    if (theta > m_theta.toDouble() * (1 + 1e-10)) {
      refine(all, simplex);
      return std::nullopt;
    }
    WholeMixture mixture = rounded(all, simplex);
    return correct(all, variants, mixture) ? std::optional(std::move(mixture)) : std::nullopt;
  }

  /// What is left over by rounding goes to the largest part of each source.
  WholeMixture rounded(const TreeSet& all, const lp::Simplex& simplex) const {
    WholeMixture mixture;
    // theta C becomes a whole number of parts.
    mixture.denominator = checkedMul(checkedMul(kParts, kFiner), m_theta.denominator());
    const int64_t finer = mixture.denominator / kParts;
    std::vector<int64_t> left(m_trees.group.sources.size(), mixture.denominator);
    std::vector<std::size_t> largest(left.size(), all.rows.size());
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
      const auto source = static_cast<std::size_t>(all.rows[i].source);
      const double value = std::max(0.0, simplex.value(static_cast<int>(i)));
      mixture.weights.push_back(static_cast<int64_t>(std::llround(value * static_cast<double>(finer))));
      left[source] -= mixture.weights.back();
      std::size_t& top = largest[source];
      top = top == all.rows.size() || mixture.weights[i] > mixture.weights[top] ? i : top;
    }
    for (std::size_t s = 0; s < left.size(); ++s) {
      mixture.weights[largest[s]] += left[s];
    }
    return mixture;
  }

  [[nodiscard]] int64_t wanted(std::size_t orbit, int64_t denominator) const {
    return checkedMul(checkedMul(denominator / m_theta.denominator(), m_theta.numerator()), m_trees.capacity[orbit]);
  }

  /// Loads above what the orbits are to have. Links without a length may have less.
  [[nodiscard]] std::vector<int64_t> excess(const TreeSet& all, const WholeMixture& mixture) const {
    std::vector<int64_t> above;
    for (std::size_t k = 0; k < m_orbits; ++k) {
      int64_t sum = -wanted(k, mixture.denominator);
      for (std::size_t i = 0; i < all.rows.size(); ++i) {
        sum = checkedAdd(sum, checkedMul(mixture.weights[i], all.load(i, k)));
      }
      above.push_back(sum);
    }
    return above;
  }

  bool correct(const TreeSet& all, const std::map<std::size_t, std::size_t>& variants, WholeMixture& mixture) const {
    std::vector<int64_t> above = excess(all, mixture);
    for (const auto& [k, pivot] : m_pivots) {
      if (above[k] % pivot.change[k] != 0) {
        return false;
      }
      const int64_t times = above[k] / pivot.change[k];
      for (std::size_t orbit = 0; orbit < m_orbits; ++orbit) {
        above[orbit] = checkedSub(above[orbit], checkedMul(times, pivot.change[orbit]));
      }
      for (const auto& [move, count] : pivot.moves) {
        const int64_t parts = checkedMul(times, count);
        mixture.weights[m_moves[move].row] += parts;
        mixture.weights[variants.at(move)] -= parts;
      }
    }
    const std::vector<int64_t> after = excess(all, mixture);
    for (std::size_t k = 0; k < m_orbits; ++k) {
      if (after[k] > 0) {
        return false;
      }
    }
    mixture.rows = all.rows;
    return std::all_of(mixture.weights.begin(), mixture.weights.end(), [](int64_t weight) { return weight >= 0; });
  }

  static constexpr double kClose = 1e-6;

  TreeSet m_trees;
  std::span<const int64_t> m_lengths;
  const lp::StopTest& m_stop;
  std::size_t m_work = 0;  ///< numbers touched since m_stop was asked
  std::size_t m_orbits;
  Rational m_theta;
  std::vector<Int128> m_distance;
  std::vector<int64_t> m_behind;
  std::vector<Move> m_moves;
  std::vector<char> m_isBound;                ///< by orbit: some optimal lengths give it one
  std::vector<std::vector<double>> m_others;  ///< further optimal lengths
  bool m_isRefined = false;
  std::map<std::size_t, Pivot> m_pivots;  ///< by orbit, ascending: none changes the orbits of those before
};

}  // namespace

lp::Simplex mixtureProgram(const TreeSet& trees, const MixtureOptions& options) {
  const int64_t parts = options.parts;
  const std::size_t orbits = trees.capacity.size();
  const std::size_t sources = trees.group.sources.size();
  int64_t maxTheta = 1;
  for (std::size_t k = 0; k < orbits; ++k) {
    std::vector<int64_t> largest(sources, 0);
    for (std::size_t i = 0; i < trees.rows.size(); ++i) {
      int64_t& max = largest[trees.rows[i].source];
      max = std::max(max, trees.load(i, k));
    }
    maxTheta = std::max(maxTheta, std::accumulate(largest.begin(), largest.end(), int64_t{0}) / trees.capacity[k] + 1);
  }
  std::vector<lp::Column> columns;
  for (std::size_t i = 0; i < trees.rows.size(); ++i) {
    columns.push_back({.lower = options.min.empty() ? 0 : options.min[i],
                       .upper = parts,
                       .cost = 0,
                       .scale = static_cast<double>(parts),
                       .preference = options.preferences.empty() ? 0.0 : options.preferences[i]});
  }
  const auto theta = static_cast<int>(columns.size());
  const int64_t max = checkedMul(maxTheta, parts);
  columns.push_back({.lower = 0, .upper = max, .cost = -1, .scale = static_cast<double>(max)});
  lp::Simplex simplex(columns);
  for (std::size_t k = 0; k < orbits; ++k) {
    lp::Row row{{{theta, -trees.capacity[k]}}, {}, options.spare.empty() ? 0 : -options.spare[k]};
    for (std::size_t i = 0; i < trees.rows.size(); ++i) {
      if (trees.rows[i].uses[k] != 0) {
        row.terms.push_back({static_cast<int>(i), trees.load(i, k)});
      }
    }
    simplex.addRow(std::move(row));
  }
  for (std::size_t s = 0; s < sources; ++s) {
    lp::Row row{{}, parts, parts};
    for (std::size_t i = 0; i < trees.rows.size(); ++i) {
      if (static_cast<std::size_t>(trees.rows[i].source) == s) {
        row.terms.push_back({static_cast<int>(i), 1});
      }
    }
    simplex.addRow(std::move(row));
  }
  return simplex;
}

std::optional<WholeMixture> wholeMixture(TreeSet trees, std::span<const int64_t> lengths, const lp::StopTest& stop) {
  return Correction(std::move(trees), lengths, stop).run();
}

}  // namespace coppice::alltoall
