// SPDX-License-Identifier: Apache-2.0
#include "lp/modular.hpp"

#include <algorithm>
#include <utility>

#include "lp/stop_poll.hpp"

namespace coppice::lp {

namespace {

__extension__ typedef unsigned __int128 UInt128;

constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
constexpr std::int64_t kReconstructionBound = std::int64_t{1} << 60;

std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  const UInt128 product = static_cast<UInt128>(a) * b;
  const std::uint64_t folded = static_cast<std::uint64_t>(product & kPrime) + static_cast<std::uint64_t>(product >> 61);
  return folded >= kPrime ? folded - kPrime : folded;
}

std::uint64_t subtract(std::uint64_t a, std::uint64_t b) {
  return a >= b ? a - b : a + kPrime - b;
}

std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result = multiply(result, a);
    }
    a = multiply(a, a);
  }
  return result;
}

std::uint64_t reduce(Int128 value) {
  const Int128 remainder = value % static_cast<Int128>(kPrime);
  return static_cast<std::uint64_t>(remainder < 0 ? remainder + static_cast<Int128>(kPrime) : remainder);
}

// L and U of the row-permuted matrix, dense, modulo the prime.
class Factors {
public:
  explicit Factors(const SparseMatrix& matrix) : m_size(matrix.size()), m_values(m_size), m_order(m_size) {
    for (std::size_t row = 0; row < m_size; ++row) {
      m_order[row] = row;
      m_values[row].assign(m_size, 0);
      for (const SparseEntry& entry : matrix[row]) {
        m_values[row][entry.column] = reduce(entry.value);
      }
    }
  }

  [[nodiscard]] bool factor(const StopTest& stop) {
    m_pivotInverse.resize(m_size);
    std::vector<std::size_t> used;
    StopPoll poll(stop);
    for (std::size_t k = 0; k < m_size; ++k) {
      if (poll.spend((m_size - k) * (m_size - k))) {
        return false;
      }
      std::size_t best = m_size;
      std::ptrdiff_t bestCount = 0;
      for (std::size_t row = k; row < m_size; ++row) {
        if (m_values[row][k] != 0) {
          const auto begin = m_values[row].begin() + static_cast<std::ptrdiff_t>(k);
          const std::ptrdiff_t count = -std::count(begin, m_values[row].end(), std::uint64_t{0});
          if (best == m_size || count < bestCount) {
            best = row;
            bestCount = count;
          }
        }
      }
      if (best == m_size) {
        return false;
      }
      std::swap(m_values[k], m_values[best]);
      std::swap(m_order[k], m_order[best]);
      const std::vector<std::uint64_t>& pivot = m_values[k];
      m_pivotInverse[k] = inverse(pivot[k]);
      used.clear();
      for (std::size_t column = k + 1; column < m_size; ++column) {
        if (pivot[column] != 0) {
          used.push_back(column);
        }
      }
      for (std::size_t row = k + 1; row < m_size; ++row) {
        std::vector<std::uint64_t>& values = m_values[row];
        if (values[k] == 0) {
          continue;
        }
        values[k] = multiply(values[k], m_pivotInverse[k]);
        for (const std::size_t column : used) {
          values[column] = subtract(values[column], multiply(values[k], pivot[column]));
        }
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<std::uint64_t> solve(const std::vector<Int128>& rhs) const {
    std::vector<std::uint64_t> x(m_size);
    for (std::size_t row = 0; row < m_size; ++row) {
      std::uint64_t sum = reduce(rhs[m_order[row]]);
      for (std::size_t column = 0; column < row; ++column) {
        if (m_values[row][column] != 0) {
          sum = subtract(sum, multiply(m_values[row][column], x[column]));
        }
      }
      x[row] = sum;
    }
    for (std::size_t row = m_size; row-- > 0;) {
      std::uint64_t sum = x[row];
      for (std::size_t column = row + 1; column < m_size; ++column) {
        if (m_values[row][column] != 0) {
          sum = subtract(sum, multiply(m_values[row][column], x[column]));
        }
      }
      x[row] = multiply(sum, m_pivotInverse[row]);
    }
    return x;
  }

private:
  std::size_t m_size;
  std::vector<std::vector<std::uint64_t>> m_values;
  std::vector<std::size_t> m_order;
  std::vector<std::uint64_t> m_pivotInverse;
};

// n/d = residue modulo `modulus` with |n|, d <= bound (Wang's half-extended Euclid).
std::optional<Fraction64> reconstruct(UInt128 residue, UInt128 modulus) {
  const auto bound = static_cast<UInt128>(kReconstructionBound);
  Int128 remainder0 = static_cast<Int128>(modulus);
  Int128 remainder1 = static_cast<Int128>(residue);
  Int128 factor0 = 0;
  Int128 factor1 = 1;
  while (static_cast<UInt128>(remainder1) > bound) {
    const Int128 quotient = remainder0 / remainder1;
    remainder0 = std::exchange(remainder1, remainder0 - quotient * remainder1);
    factor0 = std::exchange(factor1, factor0 - quotient * factor1);
  }
  if (factor1 < 0) {
    factor1 = -factor1;
    remainder1 = -remainder1;
  }
  if (factor1 == 0 || static_cast<UInt128>(factor1) > bound) {
    return std::nullopt;
  }
  return Fraction64{static_cast<std::int64_t>(remainder1), static_cast<std::int64_t>(factor1)};
}

}  // namespace

std::optional<std::vector<Fraction64>> solveRational(const SparseMatrix& matrix, const std::vector<Int128>& rhs,
                                                     const StopTest& stop) {
  Factors factors(matrix);
  if (!factors.factor(stop)) {
    return std::nullopt;
  }
  const std::vector<std::uint64_t> first = factors.solve(rhs);
  std::vector<Int128> lifted(rhs.size());
  for (std::size_t row = 0; row < rhs.size(); ++row) {
    Int128 residual = rhs[row];
    for (const SparseEntry& entry : matrix[row]) {
      residual -= static_cast<Int128>(entry.value) * static_cast<Int128>(first[entry.column]);
    }
    lifted[row] = residual / static_cast<Int128>(kPrime);
  }
  if (stop()) {
    return std::nullopt;
  }
  const std::vector<std::uint64_t> second = factors.solve(lifted);
  const UInt128 modulus = static_cast<UInt128>(kPrime) * kPrime;
  std::vector<Fraction64> solution;
  solution.reserve(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto fraction = reconstruct(first[i] + static_cast<UInt128>(second[i]) * kPrime, modulus);
    if (!fraction) {
      return std::nullopt;
    }
    solution.push_back(*fraction);
  }
  return solution;
}

}  // namespace coppice::lp
