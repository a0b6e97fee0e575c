// SPDX-License-Identifier: Apache-2.0
#include "groups/groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/failure.hpp"
#include "groups/classes.hpp"
#include "groups/demand_check.hpp"
#include "groups/oracle.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::groups {
namespace {

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using std::int64_t;

/// Columns with which the dense simplex is still quick.
constexpr std::size_t kMaxProgramColumns = 1500;
constexpr std::size_t kMaxSingleLinks = 40;
/// Uses of links that the trees of one query have.
constexpr std::size_t kMaxNumbersOfRound = 20'000'000;
/// Largest price of a rounded query, and parts that a mixture is rounded to.
constexpr double kPriceScale = 1 << 30;
constexpr int64_t kMixtureParts = 1 << 24;
/// Larger prices are also rounded: sums of them can leave 64 bits.
constexpr int64_t kLargestPrice = int64_t{1} << 31;
constexpr Int128 kLargestSum = Int128{1} << 62;
/// Rounds of prices where the program would be too large, and uses of links that their trees may have.
constexpr int kPriceRounds = 400;
constexpr std::size_t kMaxNumbersOfRounds = 50'000'000;
constexpr double kNearlyEqual = 1e-9;

Rational reduced(Int128 numerator, Int128 denominator) {
  Int128 a = numerator;
  for (Int128 b = denominator; b != 0;) {
    a = std::exchange(b, a % b);
  }
  return {narrow64(numerator / a), narrow64(denominator / a)};
}

/// maximise   sum over shares of coefficient * D
/// subject to sum over classes of C p = sum of C,   D <= uses . p for every tree of the share,   p >= 0
///
/// (C: the capacity of all links of a class). L = sum of C p / the optimum. Rows are added where the present prices
/// violate them; queries lie between the best prices known and those of the program (in-out separation, Ben-Ameur and
/// Neto 2007).
class PriceProgram {
public:
  PriceProgram(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const Request& request,
               const Progress& progress)
      : m_fabric(fabric),
        m_progress(progress),
        m_classes(classesOf(fabric, demand, progress)),
        m_oracle(fabric, demand, m_classes),
        m_unit(commonUnit(fabric.arcs(), &fabric::Arc::bandwidth)),
        m_capacity(m_classes.linkCount.size(), 0),
        m_used(m_capacity.size(), 0),
        m_work(request.budget),
        m_stop(lp::stopTest(m_work, progress)) {
    if (m_classes.shares.size() * m_capacity.size() > kMaxNumbersOfRound) {
      throw Failure{{ErrorCode::limit,
                     std::to_string(m_classes.shares.size()) + " kinds of groups on " +
                         std::to_string(m_capacity.size()) + " kinds of links are too many for the exact search",
                     "use groups or a fabric with more symmetry, or fewer groups"}};
    }
    for (std::size_t arc = 0; arc < m_classes.ofArc.size(); ++arc) {
      if (const int own = m_classes.ofArc[arc]; own >= 0) {
        const Rational units = fabric.arcs()[arc].bandwidth / m_unit;
        m_capacity[own] = checkedAdd(m_capacity[own], units.numerator());
      }
    }
    for (const Share& share : m_classes.shares) {
      m_denominator = leastCommonMultiple(m_denominator, share.amount.denominator());
    }
    int64_t common = 0;
    for (const Share& share : m_classes.shares) {
      m_coefficient.push_back(checkedMul(share.amount.numerator(), m_denominator / share.amount.denominator()));
      common = std::gcd(common, m_coefficient.back());
    }
    m_factor = common;
    for (int64_t& each : m_coefficient) {
      each /= common;
    }
    m_total = 0;
    for (const int64_t each : m_capacity) {
      m_total = checkedAdd(m_total, each);
    }
  }

  Optimum run() {
    query(std::vector<int64_t>(m_capacity.size(), 1));
    // A cut that many groups share often has links of one class.
    if (m_capacity.size() > kMaxSingleLinks) {
      std::vector<double> inverse;
      for (const int64_t capacity : m_capacity) {
        inverse.push_back(1.0 / static_cast<double>(capacity));
      }
      query(rounded(inverse));
    } else {
      for (std::size_t k = 0; k < m_capacity.size() && m_capacity.size() > 1; ++k) {
        std::vector<int64_t> alone(m_capacity.size(), 0);
        alone[k] = 1;
        query(alone);
      }
    }
    if (m_capacity.size() + m_coefficient.size() > kMaxProgramColumns) {
      priceRounds();
    } else {
      cutPlanes();
    }
    return conclude();
  }

private:
  using Prices = std::vector<int64_t>;  ///< by class of links

  [[nodiscard]] Int128 costOf(const TreeRow& row, const Prices& prices) const {
    Int128 cost = 0;
    for (std::size_t k = 0; k < prices.size(); ++k) {
      cost = checkedAdd(cost, checkedMul<Int128>(row.uses[k], prices[k]));
    }
    return cost;
  }

  /// Adds the cheapest trees at these prices, unless they were asked for before; true where they prove the best bound
  /// so far. The best prices are kept without common divisor.
  bool query(Prices prices) {
    throwIfCancelled(m_progress);
    divide(prices);
    if (std::any_of(prices.begin(), prices.end(), [](int64_t price) { return price > kLargestPrice; })) {
      const bool isBetter = ask(prices);
      return query(rounded({prices.begin(), prices.end()})) || isBetter;
    }
    return ask(std::move(prices));
  }

  bool ask(Prices prices) {
    const auto [asked, isNew] = m_demands.try_emplace(prices);
    if (!isNew) {
      return false;
    }
    m_work.spend(m_oracle.work());
    Int128 demand = 0;
    for (TreeRow& row : m_oracle.cheapest(prices, m_progress)) {
      asked->second.push_back(checkedMul<Int128>(m_coefficient[row.share], costOf(row, prices)));
      demand = checkedAdd(demand, asked->second.back());
      for (std::size_t k = 0; k < m_used.size(); ++k) {
        m_used[k] = 0.97 * m_used[k] + static_cast<double>(row.uses[k]) / static_cast<double>(m_capacity[k]);
      }
      m_rows.push_back(std::move(row));
    }
    m_oracle.prefer(m_used);
    Int128 capacity = 0;
    for (std::size_t k = 0; k < prices.size(); ++k) {
      capacity = checkedAdd(capacity, checkedMul<Int128>(m_capacity[k], prices[k]));
    }
    if (demand <= 0 || !isWritable(capacity, demand)) {
      return false;
    }
    // 128 bits do not hold the products of all such numbers.
    const bool isBetter = m_bestDemand == 0 || isBelow(capacity, demand, m_bestCapacity, m_bestDemand);
    if (isBetter) {
      m_best = prices;
      m_bestCapacity = capacity;
      m_bestDemand = demand;
    }
    return isBetter;
  }

  /// Whether all that is said of prices with these sums stays within 64 bits.
  [[nodiscard]] bool isWritable(Int128 capacity, Int128 demand) const {
    return capacity < kLargestSum && demand < kLargestSum / m_factor;
  }

  /// By the greatest common divisor, which is returned.
  static int64_t divide(Prices& prices) {
    int64_t divisor = 0;
    for (const int64_t price : prices) {
      divisor = std::gcd(divisor, price);
    }
    for (int64_t& price : prices) {
      price /= divisor;
    }
    return divisor;
  }

  /// a / b < c / d, all not negative, b and d positive.
  static bool isBelow(Int128 a, Int128 b, Int128 c, Int128 d) {
    for (bool isTurned = false;; isTurned = !isTurned) {
      const Int128 first = a / b;
      const Int128 second = c / d;
      if (first != second) {
        return (first < second) != isTurned;
      }
      a -= first * b;
      c -= second * d;
      if (a == 0 || c == 0) {
        const bool below = a == 0 && c != 0;
        const bool above = a != 0 && c == 0;
        return isTurned ? above : below;
      }
      std::swap(a, b);
      std::swap(c, d);
    }
  }

  [[nodiscard]] static Prices rounded(const std::vector<double>& prices) {
    const double largest = *std::max_element(prices.begin(), prices.end());
    Prices whole;
    for (const double price : prices) {
      whole.push_back(static_cast<int64_t>(std::llround(std::max(0.0, price) / largest * kPriceScale)));
    }
    return whole;
  }

  [[nodiscard]] lp::Simplex program() const {
    std::vector<lp::Column> columns;
    for (std::size_t k = 0; k < m_capacity.size(); ++k) {
      columns.push_back({.lower = 0, .upper = m_total, .cost = 0, .scale = 1.0});
    }
    for (std::size_t i = 0; i < m_coefficient.size(); ++i) {
      int64_t longest = 1;
      for (const TreeRow& row : m_rows) {
        if (row.share == static_cast<int>(i)) {
          longest = std::max(longest, std::accumulate(row.uses.begin(), row.uses.end(), int64_t{0}));
        }
      }
      columns.push_back({.lower = 0,
                         .upper = checkedMul(m_total, longest),
                         .cost = m_coefficient[i],
                         .scale = static_cast<double>(longest)});
    }
    lp::Simplex simplex(std::move(columns));
    lp::Row norm{{}, m_total, m_total};
    for (std::size_t k = 0; k < m_capacity.size(); ++k) {
      norm.terms.push_back({static_cast<int>(k), m_capacity[k]});
    }
    simplex.addRow(std::move(norm));
    return simplex;
  }

  /// False where a row with the same uses is there.
  bool addRow(lp::Simplex& simplex, std::size_t index) {
    const TreeRow& row = m_rows[index];
    if (!m_known.insert({row.share, row.uses}).second) {
      return false;
    }
    lp::Row of{{{static_cast<int>(m_capacity.size()) + row.share, 1}}, {}, 0};
    for (std::size_t k = 0; k < row.uses.size(); ++k) {
      if (row.uses[k] != 0) {
        of.terms.push_back({static_cast<int>(k), -row.uses[k]});
      }
    }
    simplex.addRow(std::move(of));
    m_inProgram.push_back(index);
    return true;
  }

  bool addRows(lp::Simplex& simplex, std::size_t first) {
    bool isAny = false;
    for (std::size_t i = first; i < m_rows.size(); ++i) {
      isAny = addRow(simplex, i) || isAny;
    }
    return isAny;
  }

  void cutPlanes() {
    lp::Simplex simplex = program();
    addRows(simplex, 0);
    double inside = 0.5;
    int refinements = 0;
    while (!m_stop() && !lp::isTooLarge(simplex.rows().size(), m_capacity.size() + m_coefficient.size()) &&
           simplex.solve(m_stop) == lp::SimplexStatus::optimal) {
      std::vector<double> vertex;
      for (std::size_t k = 0; k < m_capacity.size(); ++k) {
        vertex.push_back(simplex.value(static_cast<int>(k)));
      }
      double claimed = 0;
      for (std::size_t i = 0; i < m_coefficient.size(); ++i) {
        claimed += static_cast<double>(m_coefficient[i]) * simplex.value(static_cast<int>(m_capacity.size() + i));
      }
      m_multipliers.assign(m_rows.size(), 0);
      for (std::size_t row = 0; row < m_inProgram.size(); ++row) {
        m_multipliers[m_inProgram[row]] = std::max(0.0, simplex.multiplier(1 + static_cast<int>(row)));
      }
      const double proved =
          static_cast<double>(m_bestDemand) / static_cast<double>(m_bestCapacity) * static_cast<double>(m_total);
      m_progress.report("groups", std::min(1.0, proved / claimed));
      if (claimed > proved * (1 + kNearlyEqual)) {
        const std::size_t first = m_rows.size();
        const double scale = static_cast<double>(m_total) / static_cast<double>(m_bestCapacity);
        std::vector<double> mixed(vertex);
        for (std::size_t k = 0; k < mixed.size(); ++k) {
          mixed[k] = inside * static_cast<double>(m_best[k]) * scale + (1 - inside) * vertex[k];
        }
        const bool isBetter = query(rounded(mixed));
        inside = isBetter ? 0.5 : inside * 0.7;
        bool isAdded = addRows(simplex, first);
        if (!isBetter || !isAdded) {
          const std::size_t second = m_rows.size();
          query(rounded(vertex));
          isAdded = addRows(simplex, second) || isAdded;
        }
        if (isAdded) {
          continue;
        }
      }
      // As far as floating point tells, the vertex is the optimum.
      const auto point = simplex.exactPoint(m_stop);
      if (point) {
        Prices exact(point->numerators.begin(),
                     point->numerators.begin() + static_cast<std::ptrdiff_t>(m_capacity.size()));
        Int128 sum = 0;
        for (std::size_t i = 0; i < m_coefficient.size(); ++i) {
          sum = checkedAdd(sum, checkedMul<Int128>(m_coefficient[i], point->numerators[m_capacity.size() + i]));
        }
        const std::size_t first = m_rows.size();
        const int64_t divisor = divide(exact);
        query(exact);
        Int128 found = 0;
        for (const Int128 each : m_demands.at(exact)) {
          found = checkedAdd(found, each);
        }
        if (checkedMul<Int128>(found, divisor) >= sum) {
          // No prices prove more, so these are the best, or as good as those.
          m_exactMultipliers = simplex.exactMultipliers(m_stop);
          return;
        }
        if (addRows(simplex, first)) {
          continue;
        }
      }
      if (++refinements > lp::kMaxRefinements || !simplex.refine(m_stop)) {
        return;
      }
    }
    throwIfCancelled(m_progress);
  }

  /// Prices grow with the loads of the trees that they lead to (multiplicative weights): for fabrics with little
  /// symmetry, which have too many prices for the program.
  void priceRounds() {
    std::vector<double> price(m_capacity.size(), 0);
    std::vector<double> mean(m_capacity.size(), 0);
    double step = 0.5;
    m_multipliers.assign(m_rows.size(), 0);
    for (int round = 1; !m_stop(); ++round) {
      std::vector<double> prices;
      double sum = 0;
      for (std::size_t k = 0; k < price.size(); ++k) {
        prices.push_back(std::exp(price[k]) / static_cast<double>(m_capacity[k]));
        sum += prices[k];
      }
      for (std::size_t k = 0; k < price.size(); ++k) {
        mean[k] += prices[k] / sum;
      }
      const std::size_t first = m_rows.size();
      query(rounded(round % 8 == 0 ? mean : prices));
      if (m_rows.size() == first) {
        // These prices were asked for before; smaller steps lead to others.
        step *= 0.5;
        for (std::size_t k = 0; k < price.size(); ++k) {
          price[k] += step * static_cast<double>(k % 7) / 7;
        }
        if (round >= kPriceRounds) {
          break;
        }
        continue;
      }
      std::vector<double> load(price.size(), 0);
      for (std::size_t i = first; i < m_rows.size(); ++i) {
        for (std::size_t k = 0; k < price.size(); ++k) {
          load[k] += static_cast<double>(m_rows[i].uses[k]) * static_cast<double>(m_coefficient[m_rows[i].share]) /
                     static_cast<double>(m_capacity[k]);
        }
      }
      m_work.spend((m_rows.size() - first) * price.size());
      m_multipliers.resize(m_rows.size(), round % 8 == 0 ? 0 : round);  // later rounds count more
      const double max = *std::max_element(load.begin(), load.end());
      double top = -1e300;
      for (std::size_t k = 0; k < price.size(); ++k) {
        price[k] += step * load[k] / max;
        top = std::max(top, price[k]);
      }
      for (double& each : price) {
        each = std::max(each - top, -20.0);
      }
      step = std::max(0.02, step * 0.985);
      m_progress.report("groups", std::min(1.0, static_cast<double>(round) / kPriceRounds));
      if (round >= kPriceRounds || m_rows.size() * price.size() > kMaxNumbersOfRounds) {
        break;
      }
    }
    throwIfCancelled(m_progress);
  }

  /// L of the mixture of rows with these weights by row, relative to the others of their share; nothing where a share
  /// has none. Throws OverflowError.
  [[nodiscard]] std::optional<Bandwidth> reached(const std::vector<int64_t>& weights) const {
    std::vector<Int128> sums(m_coefficient.size(), 0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sums[m_rows[i].share] += weights[i];
    }
    if (std::any_of(sums.begin(), sums.end(), [](Int128 sum) { return sum == 0; })) {
      return std::nullopt;
    }
    std::vector<Int128> uses(sums.size());
    std::optional<Rational> most;
    for (std::size_t k = 0; k < m_capacity.size(); ++k) {
      std::fill(uses.begin(), uses.end(), 0);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] != 0) {
          uses[m_rows[i].share] = checkedAdd(uses[m_rows[i].share], checkedMul<Int128>(weights[i], m_rows[i].uses[k]));
        }
      }
      Rational load;
      for (std::size_t share = 0; share < uses.size(); ++share) {
        if (uses[share] != 0) {
          load += m_classes.shares[share].amount * reduced(uses[share], sums[share]);
        }
      }
      load /= Rational(m_capacity[k]);
      most = most ? std::max(*most, load) : load;
    }
    return m_unit / *most;
  }

  [[nodiscard]] std::vector<int64_t> exactWeights() const {
    std::vector<int64_t> weights(m_rows.size(), 0);
    for (std::size_t row = 0; row < m_inProgram.size(); ++row) {
      weights[m_inProgram[row]] = std::max(int64_t{0}, m_exactMultipliers->numerators[row + 1]);
    }
    return weights;
  }

  /// The weights of each share add up to kMixtureParts: loads of many shares then have a common denominator.
  [[nodiscard]] std::vector<int64_t> roundedWeights() const {
    std::vector<double> sums(m_coefficient.size(), 0);
    for (std::size_t i = 0; i < m_multipliers.size(); ++i) {
      sums[m_rows[i].share] += m_multipliers[i];
    }
    std::vector<int64_t> weights(m_rows.size(), 0);
    std::vector<int64_t> left(sums.size(), kMixtureParts);
    std::vector<std::size_t> heaviest(sums.size());
    // The first query had a row for each share, in order.
    std::iota(heaviest.begin(), heaviest.end(), std::size_t{0});
    for (std::size_t i = 0; i < m_multipliers.size(); ++i) {
      const int share = m_rows[i].share;
      if (sums[share] > 0) {
        weights[i] =
            static_cast<int64_t>(std::floor(m_multipliers[i] / sums[share] * static_cast<double>(kMixtureParts)));
        left[share] -= weights[i];
        heaviest[share] = weights[i] > weights[heaviest[share]] ? i : heaviest[share];
      }
    }
    for (std::size_t share = 0; share < sums.size(); ++share) {
      weights[heaviest[share]] += left[share];
    }
    return weights;
  }

  /// By group: its part of the demand at the best prices.
  [[nodiscard]] std::vector<Rational> demands() const {
    std::vector<Rational> whole(m_classes.ofGroup.size());
    std::vector<int> images(whole.size(), 0);
    const std::vector<Int128>& shares = m_demands.at(m_best);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      whole[m_classes.shares[i].group] += reduced(shares[i], m_bestDemand);
    }
    for (const int group : m_classes.ofGroup) {
      ++images[group];
    }
    std::vector<Rational> demands;
    for (const int group : m_classes.ofGroup) {
      demands.push_back(whole[group] / Rational(images[group]));
    }
    return demands;
  }

  Optimum conclude() {
    Optimum optimum;
    optimum.linkClasses = static_cast<int>(m_capacity.size());
    optimum.classes = m_classes.ofGroup;
    optimum.demands = demands();
    optimum.proof.symmetries = m_classes.symmetries;
    for (const int own : m_classes.ofArc) {
      optimum.proof.prices.push_back(own < 0 ? 0 : m_best[own]);
    }
    optimum.upper = m_unit * (reduced(m_bestCapacity, m_bestDemand) * Rational(m_denominator, m_factor));
    std::vector<int64_t> weights;
    std::optional<Bandwidth> lower;
    if (m_exactMultipliers) {
      try {
        weights = exactWeights();
        lower = reached(weights);
      } catch (const OverflowError&) {
        lower.reset();
      }
    }
    if (!lower) {
      weights = roundedWeights();
      lower = reached(weights);
    }
    optimum.lower = lower.value_or(Bandwidth());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0) {
        optimum.proof.trees.push_back(m_rows[i].tree);
        optimum.proof.trees.back().weight = weights[i];
      }
    }
    return optimum;
  }

  const fabric::Fabric& m_fabric;
  const Progress& m_progress;
  Classes m_classes;
  Oracle m_oracle;
  Bandwidth m_unit;
  std::vector<int64_t> m_capacity;  ///< C by class
  std::vector<double> m_used;
  std::vector<int64_t> m_coefficient;  ///< by share: amount * m_denominator / m_factor
  int64_t m_denominator = 1;
  int64_t m_factor = 1;
  int64_t m_total = 0;
  std::vector<TreeRow> m_rows;
  std::map<Prices, std::vector<Int128>> m_demands;  ///< by prices that were asked for: by share
  std::set<std::pair<int, std::vector<int64_t>>> m_known;
  std::vector<std::size_t> m_inProgram;  ///< rows by row of the simplex, behind the first
  std::vector<double> m_multipliers;     ///< by row
  std::optional<lp::ExactPoint> m_exactMultipliers;
  Prices m_best;
  Int128 m_bestCapacity = 0;
  Int128 m_bestDemand = 0;
  lp::WorkBudget m_work;
  lp::StopTest m_stop;
};

}  // namespace

Result<Optimum> optimum(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const Request& request,
                        const Progress& progress) {
  if (auto fault = faultOf(demand, fabric.gpuCount())) {
    return *std::move(fault);
  }
  return guarded([&] { return PriceProgram(fabric, demand, request, progress).run(); });
}

}  // namespace coppice::groups
