// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Whole-number matrices with given sums: what the guesses of switch removal pair (an acceleration; each guess is
/// verified).
namespace coppice::forestcoll {

/// Integer matrix with given row and column sums near a given shape. Row-major, rows x columns.
struct Matrix {
  int rows = 0;
  int columns = 0;
  std::vector<std::int64_t> cell;

  Matrix(int r, int c) : rows(r), columns(c), cell(static_cast<std::size_t>(r) * static_cast<std::size_t>(c), 0) {}
  std::int64_t& operator()(int r, int c) {
    return cell[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)];
  }
};

/// Whole numbers near row_i * column_j with empty diagonal where possible; sums are met exactly. In multiples of the
/// grain as far as they go; only the rests are finer. Routes that carry whole multiples of the trees per root let trees
/// stay thick. @pre rows and columns have equal totals
[[nodiscard]] Matrix spreadInGrains(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns,
                                    std::int64_t grain);

/// Deals block totals to the ports of one class in proportion to their capacities; sums are met exactly.
/// @pre ports and blocks have equal totals
[[nodiscard]] Matrix dealToPorts(const std::vector<std::int64_t>& ports, const std::vector<std::int64_t>& blocks);

}  // namespace coppice::forestcoll
