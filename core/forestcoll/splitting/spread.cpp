// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/splitting/spread.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Hands out what is left of rows and columns (equal totals), skipping forbidden cells while others can take it.
/// Starting columns rotate with the row, so that rests spread evenly.
void distributeRemainder(Matrix& matrix, std::vector<int64_t>& rowLeft, std::vector<int64_t>& columnLeft,
                         bool avoidDiagonal) {
  const int columns = matrix.columns;
  for (int r = 0; r < matrix.rows; ++r) {
    while (rowLeft[r] > 0) {
      int best = -1;
      for (int step = 1; step <= columns; ++step) {
        const int c = (r + step) % columns;
        if (columnLeft[c] > 0 && !(avoidDiagonal && c == r) && (best < 0 || columnLeft[c] > columnLeft[best])) {
          best = c;
        }
      }
      if (best < 0) {
        break;
      }
      // Units one by one when few are left keep the matrix even; larger rests go in proportion.
      const int64_t share = std::max<int64_t>(1, std::min(rowLeft[r], columnLeft[best]) / 2);
      matrix(r, best) += share;
      rowLeft[r] -= share;
      columnLeft[best] -= share;
    }
  }
  // Only diagonal cells can be left: swap them away against a cell (p, q) that touches neither.
  for (int r = 0; avoidDiagonal && r < matrix.rows; ++r) {
    for (int p = 0; p < matrix.rows && rowLeft[r] > 0; ++p) {
      for (int q = 0; q < columns && rowLeft[r] > 0; ++q) {
        const int64_t amount = std::min(rowLeft[r], matrix(p, q));
        if (p == r || q == r || amount == 0 || columnLeft[r] < amount) {
          continue;
        }
        matrix(p, q) -= amount;
        matrix(p, r) += amount;
        matrix(r, q) += amount;
        rowLeft[r] -= amount;
        columnLeft[r] -= amount;
      }
    }
  }
  for (int r = 0; r < matrix.rows; ++r) {
    for (int c = 0; c < columns && rowLeft[r] > 0; ++c) {
      const int64_t amount = std::min(rowLeft[r], columnLeft[c]);
      matrix(r, c) += amount;
      rowLeft[r] -= amount;
      columnLeft[c] -= amount;
    }
  }
}

/// Whole numbers near row_i * column_j with empty diagonal where possible; sums are met exactly.
Matrix spreadEvenly(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
  const int n = static_cast<int>(rows.size());
  std::vector<double> alpha(rows.begin(), rows.end());
  std::vector<double> beta(columns.begin(), columns.end());
  const double total = std::accumulate(alpha.begin(), alpha.end(), 0.0);
  if (total > 0) {
    for (double& value : beta) {
      value /= total;
    }
  }
  // Iterative proportional fitting of alpha_i * beta_j with an empty diagonal.
  for (int round = 0; round < 30; ++round) {
    double sum = std::accumulate(beta.begin(), beta.end(), 0.0);
    for (int i = 0; i < n; ++i) {
      const double others = sum - beta[i];
      alpha[i] = others > 0 ? static_cast<double>(rows[i]) / others : 0;
    }
    sum = std::accumulate(alpha.begin(), alpha.end(), 0.0);
    for (int j = 0; j < n; ++j) {
      const double others = sum - alpha[j];
      beta[j] = others > 0 ? static_cast<double>(columns[j]) / others : 0;
    }
  }
  Matrix matrix(n, n);
  std::vector<int64_t> rowLeft = rows;
  std::vector<int64_t> columnLeft = columns;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i == j) {
        continue;
      }
      // The guess need not be exact: it is verified. The small addend lets whole numbers survive rounding.
      const double wanted = std::floor(alpha[i] * beta[j] + 1e-7);
      const double max = static_cast<double>(std::min(rowLeft[i], columnLeft[j]));
      // Where no such spread exists the factors run away from each other, and their product may be no number.
      const auto value = wanted > 0 ? static_cast<int64_t>(std::min(wanted, max)) : int64_t{0};
      matrix(i, j) = std::min(value, std::min(rowLeft[i], columnLeft[j]));
      rowLeft[i] -= matrix(i, j);
      columnLeft[j] -= matrix(i, j);
    }
  }
  distributeRemainder(matrix, rowLeft, columnLeft, true);
  return matrix;
}

}  // namespace

Matrix spreadInGrains(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns, int64_t grain) {
  if (grain <= 1) {
    return spreadEvenly(rows, columns);
  }
  const int n = static_cast<int>(rows.size());
  std::vector<int64_t> coarseRows;
  std::vector<int64_t> coarseColumns;
  for (int i = 0; i < n; ++i) {
    coarseRows.push_back(rows[i] / grain);
    coarseColumns.push_back(columns[i] / grain);
  }
  Matrix matrix = spreadEvenly(coarseRows, coarseColumns);
  std::vector<int64_t> rowLeft = rows;
  std::vector<int64_t> columnLeft = columns;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      matrix(i, j) = i == j ? 0 : matrix(i, j) * grain;
      rowLeft[i] -= matrix(i, j);
      columnLeft[j] -= matrix(i, j);
    }
  }
  distributeRemainder(matrix, rowLeft, columnLeft, true);
  return matrix;
}

Matrix dealToPorts(const std::vector<int64_t>& ports, const std::vector<int64_t>& blocks) {
  Matrix matrix(static_cast<int>(ports.size()), static_cast<int>(blocks.size()));
  const Int128 total = std::accumulate(ports.begin(), ports.end(), Int128{0});
  std::vector<int64_t> portLeft = ports;
  std::vector<int64_t> blockLeft = blocks;
  if (total > 0) {
    for (int p = 0; p < matrix.rows; ++p) {
      for (int b = 0; b < matrix.columns; ++b) {
        const auto share = static_cast<int64_t>(Int128{blocks[b]} * ports[p] / total);
        matrix(p, b) = share;
        portLeft[p] -= share;
        blockLeft[b] -= share;
      }
    }
  }
  distributeRemainder(matrix, portLeft, blockLeft, false);
  return matrix;
}

}  // namespace coppice::forestcoll
