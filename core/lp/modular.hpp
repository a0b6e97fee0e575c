// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/checked.hpp"

namespace coppice::lp {

/// Asked now and then by long work; true = give up.
using StopTest = std::function<bool()>;

/// A square integer matrix, row by row, without zeros.
struct SparseEntry {
  int column = 0;
  std::int64_t value = 0;
};
using SparseMatrix = std::vector<std::vector<SparseEntry>>;

struct Fraction64 {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

/// Solves M z = b over the rationals: elimination modulo the prime 2^61 - 1, one lifting step, and rational
/// reconstruction (Dixon, Numer. Math. 40 (1982)). Gives a candidate that the caller must check: it is the solution
/// whenever all its numerators and denominators are below 2^60. nullopt: singular, or no such fractions exist, or
/// stopped.
/// @pre per row: the sum of the entries' magnitudes below 2^62, |b| < 2^120
std::optional<std::vector<Fraction64>> solveRational(const SparseMatrix& matrix, const std::vector<Int128>& rhs,
                                                     const StopTest& stop);

}  // namespace coppice::lp
