// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/checked.hpp"
#include "lp/modular.hpp"

/// A linear program with integer data: floating-point dual simplex to find the vertex, exact arithmetic to state it.
namespace coppice::lp {

struct Term {
  int column = 0;
  std::int64_t coefficient = 0;
};

/// lower <= sum of the terms <= upper; an absent side is unlimited. Each column at most once.
struct Row {
  std::vector<Term> terms;
  std::optional<std::int64_t> lower = {};
  std::optional<std::int64_t> upper = {};
};

/// lower <= z <= upper, both finite, so that every set of row multipliers proves some bound.
struct Column {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  /// Coefficient in the objective, which is maximised.
  std::int64_t cost = 0;
  /// Typical size of z, for the floating-point part only.
  double scale = 1.0;
  /// Tiny extra cost that decides between equal optima (relative to 1; also keeps the simplex from cycling).
  double preference = 0.0;
};

/// Values in common denominator: column j is numerators[j] / denominator.
struct ExactPoint {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
};

/// numerator / denominator, too wide for Rational until reduced.
struct WideFraction {
  Int128 numerator = 0;
  Int128 denominator = 1;
};

enum class SimplexStatus { optimal, infeasible, stopped };

/// maximise cost . z within bounds and rows. Rows are only ever added, bounds may move; each solve() starts from the
/// last basis. Bounded dual simplex on a dense dictionary (basic variables as combinations of the nonbasic ones).
class Simplex {
public:
  explicit Simplex(std::vector<Column> columns);

  void addRow(Row row);
  void setBounds(int column, std::int64_t lower, std::int64_t upper);

  /// `stop` is asked now and then; true ends with SimplexStatus::stopped (the basis stays usable).
  [[nodiscard]] SimplexStatus solve(const StopTest& stop);
  /// For when exact arithmetic does not confirm the floating-point answer: recomputes the dictionary from the integer
  /// data, then moves the origin to the exact basic solution and enlarges the scale until its largest violation is 1,
  /// so that the next solve() sees what was below its tolerance (iterative refinement: Gleixner, Steffy and Wolter,
  /// INFORMS J. Comput. 28 (2016)). False when the basic solution violates nothing or its numbers leave 64 bits; true
  /// also where it was stopped, which the next solve() says.
  [[nodiscard]] bool refine(const StopTest& stop);

  /// Floating-point value of a column at the present basis.
  [[nodiscard]] double value(int column) const;
  /// Floating-point multiplier of a row at the present basis, up to one factor for all rows: positive where its upper
  /// side holds the objective back, 0 for a row that does not.
  [[nodiscard]] double multiplier(int row) const;
  [[nodiscard]] const std::vector<Column>& columns() const { return m_columns; }
  [[nodiscard]] const std::vector<Row>& rows() const { return m_rows; }

  /// The present basic solution in exact arithmetic, checked against every row and bound; nullopt when it is not
  /// feasible, its numbers leave 64 bits, or stopped.
  [[nodiscard]] std::optional<ExactPoint> exactPoint(const StopTest& stop) const;
  /// The multipliers of the rows at the present basis in exact arithmetic, in common denominator: with them every basic
  /// column costs nothing. nullopt when the numbers leave their range, or stopped.
  [[nodiscard]] std::optional<ExactPoint> exactMultipliers(const StopTest& stop) const;
  /// An upper bound on the objective that the present basis' multipliers prove, in exact arithmetic. Equal to the
  /// optimum when the basis is optimal. nullopt when the numbers leave their range, or stopped.
  [[nodiscard]] std::optional<WideFraction> provedBound(const StopTest& stop) const;
  /// After SimplexStatus::infeasible: true when exact integer arithmetic confirms it (Farkas).
  [[nodiscard]] bool infeasibilityProved() const;

private:
  struct Bounds {
    double lower = 0;
    double upper = 0;
  };

  [[nodiscard]] int columnCount() const { return static_cast<int>(m_columns.size()); }
  [[nodiscard]] double toLocal(std::int64_t bound, Int128 origin, double scale) const;
  [[nodiscard]] Int128 rowOrigin(const Row& row) const;
  void computeColumnBounds(int column);
  void computeRowBounds(int row);
  [[nodiscard]] std::optional<ExactPoint> basicSolution(const StopTest& stop) const;
  /// Largest violation of a bound or row, in scaled units; 0 = feasible.
  [[nodiscard]] double largestViolation(const ExactPoint& point) const;
  void resetBasis();
  /// False where it was stopped: then the basis is that of the start.
  [[nodiscard]] bool refactor(const StopTest& stop);
  [[nodiscard]] double scaleOf(int column) const { return m_columns[column].scale; }
  [[nodiscard]] bool isFixed(int variable) const;
  [[nodiscard]] double normOf(int position);
  [[nodiscard]] int leavingPosition();
  void pivot(int position, int entering);
  void shiftNonbasic(int slot, double newValue);
  void appendDictionaryRow(int rowIndex);
  void resetValues();

  std::vector<Column> m_columns;
  std::vector<Row> m_rows;
  std::vector<double> m_rowScale;
  std::vector<double> m_cost;  // per column, scaled, with its preference

  // Floating-point numbers are local: (true value - origin) / scale * zoom. The origin satisfies the row identities.
  ExactPoint m_origin;
  double m_zoom = 1.0;

  // Variables: columns first, then one slack per row (its value is the row's sum). All local.
  std::vector<Bounds> m_bounds;
  std::vector<double> m_value;
  std::vector<int> m_where;       // >= 0: slot among the nonbasic; < 0: -1 - position among the basic
  std::vector<bool> m_atUpper;    // nonbasic only
  std::vector<int> m_nonbasic;    // slot -> variable
  std::vector<double> m_reduced;  // slot -> reduced cost
  std::vector<int> m_basic;       // position -> variable
  std::vector<std::vector<double>> m_dictionary;
  std::vector<double> m_norm;  // by position: sum of squares of its row; found where it is asked for
  int m_blocked = -1;  // position that proved infeasibility
};

}  // namespace coppice::lp
