// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checked.hpp"

namespace coppice::lp {

/// Asked now and then by long work, which says how many numbers it has touched since the last question; true = give up.
/// Made of a function of that number, or of one without arguments where the work does not matter.
class StopTest {
public:
  StopTest() = default;
  template <typename Test>
  requires(!std::is_same_v<std::remove_cvref_t<Test>, StopTest>)
      StopTest(Test test) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_invocable_v<Test&, std::size_t>) {
      m_test = std::move(test);
    } else {
      m_test = [test = std::move(test)](std::size_t) mutable { return test(); };
    }
  }
  bool operator()(std::size_t work = 0) const { return m_test(work); }

private:
  std::function<bool(std::size_t)> m_test;
};

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
