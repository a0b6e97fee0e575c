// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// Internal to the check of execution plans: what a cell holds, as a sum of cells of inputs.
namespace coppice::verify {

/// Sums by number; equal sums have equal numbers. 0 = nothing that the plan has written.
class MscclppValues {
public:
  static constexpr int kUndefined = 0;

  /// The input cell of a rank in a launch.
  int input(int launch, int rank, std::int64_t cell) { return single(termOf(launch, rank, cell)); }
  int add(int a, int b);
  /// The sum of a cell of all ranks' inputs.
  int sumOfInputs(int launch, int ranks, std::int64_t cell);
  /// Terms: input cells, how often.
  using Terms = std::vector<std::pair<std::int64_t, int>>;
  [[nodiscard]] const Terms& terms(int value) const { return m_terms[value]; }
  static int rankOf(std::int64_t term) { return static_cast<int>((term >> 40) & 0xFFFF); }
  static std::int64_t cellOf(std::int64_t term) { return term & ((std::int64_t{1} << 40) - 1); }
  static int launchOf(std::int64_t term) { return static_cast<int>(term >> 56); }

private:
  static std::int64_t termOf(int launch, int rank, std::int64_t cell) {
    return (static_cast<std::int64_t>(launch) << 56) | (static_cast<std::int64_t>(rank) << 40) | cell;
  }
  int single(std::int64_t term);
  int numberOf(Terms terms);

  std::vector<Terms> m_terms{Terms{}};
  std::unordered_multimap<std::uint64_t, int> m_numbers;  ///< by hash of the terms
  std::unordered_map<std::int64_t, int> m_singles;
  std::unordered_map<std::uint64_t, int> m_sums;
  std::unordered_map<std::int64_t, int> m_inputSums;  ///< by the term of rank 0
};

}  // namespace coppice::verify
