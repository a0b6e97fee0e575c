// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
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
  int input(int launch, int rank, std::int64_t cell) {
    return single((static_cast<std::int64_t>(launch) << 56) | (static_cast<std::int64_t>(rank) << 40) | cell);
  }
  int add(int a, int b);
  /// Terms: input cells, how often.
  using Terms = std::vector<std::pair<std::int64_t, int>>;
  [[nodiscard]] const Terms& terms(int value) const { return m_terms[value]; }
  static int rankOf(std::int64_t term) { return static_cast<int>((term >> 40) & 0xFFFF); }
  static std::int64_t cellOf(std::int64_t term) { return term & ((std::int64_t{1} << 40) - 1); }
  static int launchOf(std::int64_t term) { return static_cast<int>(term >> 56); }

private:
  int single(std::int64_t term);

  std::vector<Terms> m_terms{Terms{}};
  std::map<Terms, int> m_numberOf;
  std::unordered_map<std::int64_t, int> m_singles;
  std::unordered_map<std::uint64_t, int> m_sums;
};

}  // namespace coppice::verify
