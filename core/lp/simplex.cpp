// SPDX-License-Identifier: Apache-2.0
#include "lp/simplex.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "lp/stop_poll.hpp"

namespace coppice::lp {

namespace {

// All relative to data scaled to about 1.
constexpr double kPrimalTolerance = 1e-9;
/// Rounding noise of a large local value, as a share of kPrimalTolerance; matters only after refine().
constexpr double kNoiseFactor = 1e-4;
constexpr double kPivotTolerance = 1e-8;
constexpr double kDropTolerance = 1e-12;
constexpr double kUnknown = -1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Multipliers of a Farkas proof are rounded to multiples of 1 / kMultiplierScale; any multipliers are valid.
constexpr double kMultiplierScale = 1099511627776.0;

Int128 multiplyWide(Int128 a, Int128 b) {
  return checkedMul<Int128>(a, b);
}

double sumOf(double a, double b) {
  const double sum = a + b;
  return std::abs(sum) < kDropTolerance ? 0.0 : sum;
}

/// Of two arrays that do not overlap, so that several entries are computed at once.
void addScaled(double* __restrict to, const double* __restrict from, double factor, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    to[i] = sumOf(to[i], factor * from[i]);
  }
}

/// By four sums, since each addition waits for the one before.
double sumOfSquares(const std::vector<double>& row) {
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= row.size(); i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += row[i + lane] * row[i + lane];
    }
  }
  for (; i < row.size(); ++i) {
    sums[0] += row[i] * row[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The common denominator of all fractions, or nullopt past 62 bits.
std::optional<std::int64_t> commonDenominator(const std::vector<Fraction64>& fractions) {
  Int128 common = 1;
  for (const Fraction64& fraction : fractions) {
    common = common / std::gcd(static_cast<std::int64_t>(common), fraction.denominator) * fraction.denominator;
    if (common >= (static_cast<Int128>(1) << 62)) {
      return std::nullopt;
    }
  }
  return static_cast<std::int64_t>(common);
}

}  // namespace

Simplex::Simplex(std::vector<Column> columns)
    : m_columns(std::move(columns)), m_origin{std::vector<std::int64_t>(m_columns.size(), 0), 1} {
  double largestCost = 0;
  for (const Column& column : m_columns) {
    largestCost = std::max(largestCost, std::abs(static_cast<double>(column.cost) * column.scale));
  }
  const double costScale = largestCost > 0 ? 1.0 / largestCost : 1.0;
  for (int j = 0; j < columnCount(); ++j) {
    const Column& column = m_columns[j];
    m_bounds.emplace_back();
    computeColumnBounds(j);
    const Bounds& bounds = m_bounds.back();
    const double cost = static_cast<double>(column.cost) * column.scale * costScale + column.preference;
    m_atUpper.push_back(cost > 0);
    m_value.push_back(cost > 0 ? bounds.upper : bounds.lower);
    m_where.push_back(j);
    m_nonbasic.push_back(j);
    m_cost.push_back(cost);
  }
  m_reduced = m_cost;
}

double Simplex::value(int column) const {
  return static_cast<double>(m_origin.numerators[column]) / static_cast<double>(m_origin.denominator) +
         m_value[column] * scaleOf(column) / m_zoom;
}

double Simplex::multiplier(int row) const {
  const int where = m_where[columnCount() + row];
  return where >= 0 ? m_reduced[where] / m_rowScale[row] : 0.0;
}

double Simplex::toLocal(std::int64_t bound, Int128 origin, double scale) const {
  const Int128 distance = checkedSub(multiplyWide(bound, m_origin.denominator), origin);
  return static_cast<double>(distance) / static_cast<double>(m_origin.denominator) / scale * m_zoom;
}

Int128 Simplex::rowOrigin(const Row& row) const {
  Int128 sum = 0;
  for (const Term& term : row.terms) {
    sum = checkedAdd(sum, multiplyWide(term.coefficient, m_origin.numerators[term.column]));
  }
  return sum;
}

void Simplex::computeColumnBounds(int column) {
  const Column& data = m_columns[column];
  const std::int64_t origin = m_origin.numerators[column];
  m_bounds[column] = {toLocal(data.lower, origin, data.scale), toLocal(data.upper, origin, data.scale)};
}

void Simplex::computeRowBounds(int row) {
  const Row& data = m_rows[row];
  const Int128 origin = rowOrigin(data);
  const double scale = m_rowScale[row];
  m_bounds[columnCount() + row] = {data.lower ? toLocal(*data.lower, origin, scale) : -kInfinity,
                                   data.upper ? toLocal(*data.upper, origin, scale) : kInfinity};
}

bool Simplex::isFixed(int variable) const {
  return m_bounds[variable].lower == m_bounds[variable].upper;
}

void Simplex::addRow(Row row) {
  double scale = 0;
  for (const Term& term : row.terms) {
    scale = std::max(scale, std::abs(static_cast<double>(term.coefficient)) * scaleOf(term.column));
  }
  scale = scale > 0 ? scale : 1.0;
  const int rowIndex = static_cast<int>(m_rows.size());
  m_rowScale.push_back(scale);
  m_bounds.emplace_back();
  m_value.push_back(0);
  m_atUpper.push_back(false);
  m_where.push_back(0);
  m_rows.push_back(std::move(row));
  computeRowBounds(rowIndex);
  appendDictionaryRow(rowIndex);
}

void Simplex::appendDictionaryRow(int rowIndex) {
  std::vector<double> combination(m_nonbasic.size(), 0.0);
  double sum = 0;
  for (const Term& term : m_rows[rowIndex].terms) {
    const double coefficient = static_cast<double>(term.coefficient) * scaleOf(term.column) / m_rowScale[rowIndex];
    sum += coefficient * m_value[term.column];
    if (const int where = m_where[term.column]; where >= 0) {
      combination[where] += coefficient;
    } else {
      const std::vector<double>& basic = m_dictionary[-1 - where];
      for (std::size_t slot = 0; slot < combination.size(); ++slot) {
        combination[slot] += coefficient * basic[slot];
      }
    }
  }
  for (double& entry : combination) {
    entry = std::abs(entry) < kDropTolerance ? 0.0 : entry;
  }
  const int variable = columnCount() + rowIndex;
  m_value[variable] = sum;
  m_where[variable] = -1 - static_cast<int>(m_basic.size());
  m_basic.push_back(variable);
  m_dictionary.push_back(std::move(combination));
  m_norm.push_back(kUnknown);
}

void Simplex::shiftNonbasic(int slot, double newValue) {
  const int variable = m_nonbasic[slot];
  const double change = newValue - m_value[variable];
  m_value[variable] = newValue;
  if (change == 0) {
    return;
  }
  for (std::size_t position = 0; position < m_basic.size(); ++position) {
    m_value[m_basic[position]] += m_dictionary[position][slot] * change;
  }
}

void Simplex::setBounds(int column, std::int64_t lower, std::int64_t upper) {
  m_columns[column].lower = lower;
  m_columns[column].upper = upper;
  computeColumnBounds(column);
  const Bounds& bounds = m_bounds[column];
  if (const int slot = m_where[column]; slot >= 0) {
    // A fixed variable's reduced cost may have either sign; the side must follow it once the bounds part.
    const bool upperSide = m_reduced[slot] > 0;
    m_atUpper[column] = upperSide;
    shiftNonbasic(slot, upperSide ? bounds.upper : bounds.lower);
  }
}

double Simplex::normOf(int position) {
  double& norm = m_norm[position];
  if (norm == kUnknown) {
    const std::vector<double>& row = m_dictionary[position];
    norm = sumOfSquares(row);
  }
  return norm;
}

int Simplex::leavingPosition() {
  int best = -1;
  double bestScore = 0;
  for (std::size_t position = 0; position < m_basic.size(); ++position) {
    const int variable = m_basic[position];
    const double value = m_value[variable];
    const double excess = std::max(m_bounds[variable].lower - value, value - m_bounds[variable].upper);
    if (excess > kPrimalTolerance * std::max(1.0, kNoiseFactor * std::abs(value))) {
      const double score = excess * excess / (1.0 + normOf(static_cast<int>(position)));
      if (score > bestScore) {
        bestScore = score;
        best = static_cast<int>(position);
      }
    }
  }
  return best;
}

SimplexStatus Simplex::solve(const StopTest& stop) {
  struct Candidate {
    double ratio = 0;
    double size = 0;
    int slot = 0;
  };
  std::vector<Candidate> candidates;
  m_blocked = -1;
  StopPoll poll(stop);
  for (;;) {
    // A pivot changes the whole dictionary at most.
    if (poll.spend(m_dictionary.size() * m_nonbasic.size())) {
      return SimplexStatus::stopped;
    }
    const int position = leavingPosition();
    if (position < 0) {
      return SimplexStatus::optimal;
    }
    const int leaving = m_basic[position];
    const Bounds& bounds = m_bounds[leaving];
    const bool raise = m_value[leaving] < bounds.lower;
    const double missing = raise ? bounds.lower - m_value[leaving] : m_value[leaving] - bounds.upper;
    const std::vector<double>& row = m_dictionary[position];

    candidates.clear();
    for (std::size_t slot = 0; slot < row.size(); ++slot) {
      const int variable = m_nonbasic[slot];
      const double entry = raise ? row[slot] : -row[slot];
      if (std::abs(entry) < kPivotTolerance || isFixed(variable) || (entry > 0) == m_atUpper[variable]) {
        continue;
      }
      candidates.push_back({std::abs(m_reduced[slot]) / std::abs(entry), std::abs(entry), static_cast<int>(slot)});
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.ratio != b.ratio ? a.ratio < b.ratio : a.size > b.size;
    });
    // Long step: variables whose whole range does not satisfy the row flip to their other bound; the first one that
    // would overshoot enters. An earlier candidate with a larger pivot is as valid, and safer against rounding.
    std::size_t entering = candidates.size();
    double slope = missing;
    double largest = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Bounds& range = m_bounds[m_nonbasic[candidates[i].slot]];
      largest = std::max(largest, candidates[i].size);
      slope -= candidates[i].size * (range.upper - range.lower);
      if (slope <= 0) {
        entering = i;
        break;
      }
    }
    if (entering == candidates.size()) {
      if (slope > kPrimalTolerance || candidates.empty()) {
        m_blocked = position;
        return SimplexStatus::infeasible;
      }
      entering = candidates.size() - 1;
    }
    while (entering > 0 && candidates[entering].size < 1e-3 * largest) {
      --entering;
    }
    for (std::size_t i = 0; i < entering; ++i) {
      const int slot = candidates[i].slot;
      const int variable = m_nonbasic[slot];
      m_atUpper[variable] = !m_atUpper[variable];
      shiftNonbasic(slot, m_atUpper[variable] ? m_bounds[variable].upper : m_bounds[variable].lower);
    }
    const double target = raise ? bounds.lower : bounds.upper;
    const int slot = candidates[entering].slot;
    const int enteringVariable = m_nonbasic[slot];
    const double step = (target - m_value[leaving]) / row[slot];
    shiftNonbasic(slot, m_value[enteringVariable] + step);
    m_value[leaving] = target;
    m_atUpper[leaving] = !raise;
    pivot(position, slot);
  }
}

// Exchanges basic variable `position` with nonbasic `slot` in the dictionary and the reduced costs.
void Simplex::pivot(int position, int slot) {
  std::vector<double>& pivotRow = m_dictionary[position];
  const double inverse = 1.0 / pivotRow[slot];
  std::vector<int> used;
  for (std::size_t j = 0; j < pivotRow.size(); ++j) {
    if (static_cast<int>(j) == slot) {
      pivotRow[j] = inverse;
    } else if (pivotRow[j] != 0) {
      pivotRow[j] *= -inverse;
      used.push_back(static_cast<int>(j));
    }
  }
  m_norm[position] = kUnknown;
  // Zeros add nothing, so that both ways have the same results; a whole row takes several entries at once.
  const bool isDense = used.size() * 4 > pivotRow.size();
  const auto update = [&](std::vector<double>& values) {
    const double factor = values[slot];
    if (isDense) {
      addScaled(values.data(), pivotRow.data(), factor, values.size());
    } else {
      for (const int j : used) {
        values[j] = sumOf(values[j], factor * pivotRow[j]);
      }
    }
    values[slot] = factor * inverse;
  };
  for (std::size_t i = 0; i < m_dictionary.size(); ++i) {
    std::vector<double>& values = m_dictionary[i];
    if (static_cast<int>(i) == position || values[slot] == 0) {
      continue;
    }
    update(values);
    m_norm[i] = kUnknown;
  }
  update(m_reduced);
  std::swap(m_basic[position], m_nonbasic[slot]);
  m_where[m_basic[position]] = -1 - position;
  m_where[m_nonbasic[slot]] = slot;
}

void Simplex::resetValues() {
  for (std::size_t position = 0; position < m_basic.size(); ++position) {
    double sum = 0;
    for (std::size_t slot = 0; slot < m_nonbasic.size(); ++slot) {
      sum += m_dictionary[position][slot] * m_value[m_nonbasic[slot]];
    }
    m_value[m_basic[position]] = sum;
  }
}

/// The basis of the rows, as at the start: feasible in the dual whatever the sides of the columns.
void Simplex::resetBasis() {
  m_basic.clear();
  m_dictionary.clear();
  m_norm.clear();
  m_reduced = m_cost;
  for (int j = 0; j < columnCount(); ++j) {
    m_nonbasic[j] = j;
    m_where[j] = j;
  }
  for (int row = 0; row < static_cast<int>(m_rows.size()); ++row) {
    appendDictionaryRow(row);
  }
}

bool Simplex::refactor(const StopTest& stop) {
  std::vector<bool> wantBasic(m_bounds.size(), false);
  for (const int variable : m_basic) {
    wantBasic[variable] = true;
  }
  const std::vector<double> values = m_value;
  resetBasis();
  StopPoll poll(stop);
  bool isWhole = true;
  for (int j = 0; j < columnCount(); ++j) {
    if (!wantBasic[j]) {
      continue;
    }
    if (poll.spend(m_dictionary.size() * m_nonbasic.size())) {
      isWhole = false;
      resetBasis();
      break;
    }
    const int slot = m_where[j];
    int best = -1;
    double bestSize = kPivotTolerance;
    for (std::size_t position = 0; position < m_basic.size(); ++position) {
      const double size = std::abs(m_dictionary[position][slot]);
      if (!wantBasic[m_basic[position]] && size > bestSize) {
        best = static_cast<int>(position);
        bestSize = size;
      }
    }
    if (best >= 0) {
      pivot(best, slot);
    }
  }
  m_value = values;
  for (std::size_t slot = 0; slot < m_nonbasic.size(); ++slot) {
    const int variable = m_nonbasic[slot];
    const Bounds& bounds = m_bounds[variable];
    // The side must agree with the reduced cost's sign; without one it stays.
    if (!std::isfinite(bounds.lower) || !std::isfinite(bounds.upper)) {
      m_atUpper[variable] = !std::isfinite(bounds.lower);
    } else if (std::abs(m_reduced[slot]) > kDropTolerance) {
      m_atUpper[variable] = m_reduced[slot] > 0;
    }
    m_value[variable] = m_atUpper[variable] ? bounds.upper : bounds.lower;
  }
  resetValues();
  return isWhole;
}

std::optional<ExactPoint> Simplex::basicSolution(const StopTest& stop) const {
  std::vector<int> unknowns;
  std::vector<int> unknownOf(m_columns.size(), -1);
  for (int j = 0; j < columnCount(); ++j) {
    if (m_where[j] < 0) {
      unknownOf[j] = static_cast<int>(unknowns.size());
      unknowns.push_back(j);
    }
  }
  const auto boundOf = [this](int column) {
    return m_atUpper[column] ? m_columns[column].upper : m_columns[column].lower;
  };
  SparseMatrix matrix;
  std::vector<Int128> rhs;
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    const int slack = columnCount() + static_cast<int>(i);
    if (m_where[slack] < 0) {
      continue;
    }
    const std::optional<std::int64_t>& bound = m_atUpper[slack] ? m_rows[i].upper : m_rows[i].lower;
    if (!bound) {
      return std::nullopt;
    }
    Int128 remaining = *bound;
    std::vector<SparseEntry> entries;
    for (const Term& term : m_rows[i].terms) {
      if (unknownOf[term.column] >= 0) {
        entries.push_back({unknownOf[term.column], term.coefficient});
      } else {
        remaining -= static_cast<Int128>(term.coefficient) * boundOf(term.column);
      }
    }
    matrix.push_back(std::move(entries));
    rhs.push_back(remaining);
  }
  if (matrix.size() != unknowns.size()) {
    return std::nullopt;
  }
  const auto solution = solveRational(matrix, rhs, stop);
  if (!solution) {
    return std::nullopt;
  }
  const auto denominator = commonDenominator(*solution);
  if (!denominator) {
    return std::nullopt;
  }
  try {
    ExactPoint point{std::vector<std::int64_t>(m_columns.size()), *denominator};
    for (int j = 0; j < columnCount(); ++j) {
      if (const int unknown = unknownOf[j]; unknown >= 0) {
        const Fraction64& fraction = (*solution)[unknown];
        point.numerators[j] = checkedMul(fraction.numerator, *denominator / fraction.denominator);
      } else {
        point.numerators[j] = checkedMul(boundOf(j), *denominator);
      }
    }
    return point;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

double Simplex::largestViolation(const ExactPoint& point) const {
  double largest = 0;
  const auto compare = [&](const std::optional<std::int64_t>& lower, const std::optional<std::int64_t>& upper,
                           Int128 value, double scale) {
    Int128 excess = 0;
    if (lower) {
      excess = std::max(excess, checkedSub(multiplyWide(*lower, point.denominator), value));
    }
    if (upper) {
      excess = std::max(excess, checkedSub(value, multiplyWide(*upper, point.denominator)));
    }
    largest = std::max(largest, static_cast<double>(excess) / static_cast<double>(point.denominator) / scale);
  };
  for (std::size_t j = 0; j < m_columns.size(); ++j) {
    compare(m_columns[j].lower, m_columns[j].upper, point.numerators[j], m_columns[j].scale);
  }
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    Int128 sum = 0;
    for (const Term& term : m_rows[i].terms) {
      sum = checkedAdd(sum, multiplyWide(term.coefficient, point.numerators[term.column]));
    }
    compare(m_rows[i].lower, m_rows[i].upper, sum, m_rowScale[i]);
  }
  return largest;
}

std::optional<ExactPoint> Simplex::exactPoint(const StopTest& stop) const {
  try {
    auto point = basicSolution(stop);
    return point && largestViolation(*point) == 0 ? std::move(point) : std::nullopt;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

bool Simplex::refine(const StopTest& stop) {
  try {
    if (!refactor(stop)) {
      return true;
    }
    auto point = basicSolution(stop);
    const double violation = point ? largestViolation(*point) : 0;
    if (violation == 0) {
      return false;
    }
    m_origin = *std::move(point);
    m_zoom = 1.0 / violation;
    for (int j = 0; j < columnCount(); ++j) {
      computeColumnBounds(j);
    }
    for (int row = 0; row < static_cast<int>(m_rows.size()); ++row) {
      computeRowBounds(row);
    }
    for (const int variable : m_nonbasic) {
      const Bounds& bounds = m_bounds[variable];
      m_value[variable] = m_atUpper[variable] ? bounds.upper : bounds.lower;
    }
    resetValues();
    return true;
  } catch (const OverflowError&) {
    return false;
  }
}

std::optional<ExactPoint> Simplex::exactMultipliers(const StopTest& stop) const {
  // Multipliers y of the nonbasic rows: sum over them of y_i a_ij = cost_j for every basic column j.
  std::vector<int> tightRows;
  std::vector<int> equationOf(m_columns.size(), -1);
  int equations = 0;
  for (int j = 0; j < columnCount(); ++j) {
    if (m_where[j] < 0) {
      equationOf[j] = equations++;
    }
  }
  SparseMatrix matrix(static_cast<std::size_t>(equations));
  std::vector<Int128> rhs(equations);
  for (int i = 0; i < static_cast<int>(m_rows.size()); ++i) {
    if (m_where[columnCount() + i] < 0) {
      continue;
    }
    for (const Term& term : m_rows[i].terms) {
      if (const int equation = equationOf[term.column]; equation >= 0) {
        matrix[equation].push_back({static_cast<int>(tightRows.size()), term.coefficient});
      }
    }
    tightRows.push_back(i);
  }
  if (tightRows.size() != static_cast<std::size_t>(equations)) {
    return std::nullopt;
  }
  for (int j = 0; j < columnCount(); ++j) {
    if (equationOf[j] >= 0) {
      rhs[equationOf[j]] = m_columns[j].cost;
    }
  }
  const auto solution = solveRational(matrix, rhs, stop);
  if (!solution) {
    return std::nullopt;
  }
  const auto denominator = commonDenominator(*solution);
  if (!denominator) {
    return std::nullopt;
  }
  try {
    ExactPoint multipliers{std::vector<std::int64_t>(m_rows.size(), 0), *denominator};
    for (std::size_t k = 0; k < tightRows.size(); ++k) {
      const Fraction64& fraction = (*solution)[k];
      multipliers.numerators[tightRows[k]] = checkedMul(fraction.numerator, *denominator / fraction.denominator);
    }
    return multipliers;
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

std::optional<WideFraction> Simplex::provedBound(const StopTest& stop) const {
  const auto multipliers = exactMultipliers(stop);
  if (!multipliers) {
    return std::nullopt;
  }
  // Weak duality with these multipliers, whatever they are: cost . z = sum y_i s_i + sum (cost_j - sum y_i a_ij) z_j,
  // each term at most its value at one end of its range.
  try {
    std::vector<Int128> rest(m_columns.size());
    for (std::size_t j = 0; j < rest.size(); ++j) {
      rest[j] = multiplyWide(m_columns[j].cost, multipliers->denominator);
    }
    Int128 bound = 0;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
      const Row& row = m_rows[i];
      const std::int64_t multiplier = multipliers->numerators[i];
      const std::optional<std::int64_t>& end = multiplier > 0 ? row.upper : row.lower;
      if (multiplier == 0 || !end) {
        continue;
      }
      bound = checkedAdd(bound, multiplyWide(multiplier, *end));
      for (const Term& term : row.terms) {
        rest[term.column] = checkedSub(rest[term.column], multiplyWide(multiplier, term.coefficient));
      }
    }
    for (std::size_t j = 0; j < rest.size(); ++j) {
      bound = checkedAdd(bound, multiplyWide(rest[j], rest[j] > 0 ? m_columns[j].upper : m_columns[j].lower));
    }
    return WideFraction{bound, multipliers->denominator};
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

bool Simplex::infeasibilityProved() const {
  if (m_blocked < 0) {
    return false;
  }
  // The blocked dictionary row is a combination of the identities s_i - a_i z = 0. With its multipliers rounded to
  // integers Y_i, L = sum Y_i s_i - sum (sum Y_i a_ij) z_j is 0 for every z; if L's range over the bounds leaves out 0,
  // no point satisfies them all.
  const int blocked = m_basic[m_blocked];
  const bool raise = m_value[blocked] < m_bounds[blocked].lower;
  std::vector<double> multipliers(m_rows.size(), 0.0);
  const double sign = raise ? 1.0 : -1.0;
  if (blocked >= columnCount()) {
    multipliers[blocked - columnCount()] = sign;
  }
  for (std::size_t slot = 0; slot < m_nonbasic.size(); ++slot) {
    if (m_nonbasic[slot] >= columnCount()) {
      multipliers[m_nonbasic[slot] - columnCount()] = -sign * m_dictionary[m_blocked][slot];
    }
  }
  double largest = 0;
  for (std::size_t i = 0; i < multipliers.size(); ++i) {
    multipliers[i] /= m_rowScale[i];
    largest = std::max(largest, std::abs(multipliers[i]));
  }
  if (largest == 0) {
    return false;
  }
  try {
    std::vector<Int128> coefficients(m_columns.size());
    Int128 min = 0;
    for (std::size_t i = 0; i < multipliers.size(); ++i) {
      const auto multiplier = static_cast<std::int64_t>(std::llround(multipliers[i] / largest * kMultiplierScale));
      const std::optional<std::int64_t>& end = multiplier > 0 ? m_rows[i].lower : m_rows[i].upper;
      if (multiplier == 0 || !end) {
        continue;
      }
      min = checkedAdd(min, multiplyWide(multiplier, *end));
      for (const Term& term : m_rows[i].terms) {
        coefficients[term.column] = checkedSub(coefficients[term.column], multiplyWide(multiplier, term.coefficient));
      }
    }
    for (std::size_t j = 0; j < coefficients.size(); ++j) {
      const std::int64_t end = coefficients[j] > 0 ? m_columns[j].lower : m_columns[j].upper;
      min = checkedAdd(min, multiplyWide(coefficients[j], end));
    }
    return min > 0;
  } catch (const OverflowError&) {
    return false;
  }
}

}  // namespace coppice::lp
