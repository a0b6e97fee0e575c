// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace coppice {

/// By row where it begins in a list whose items stand row by row, and one more for the end. `rowOf` is a function of an
/// item, or a member of it.
template <typename Offset = std::int32_t, typename Items, typename RowOf>
[[nodiscard]] std::vector<Offset> rowStarts(std::size_t rowCount, const Items& items, RowOf rowOf) {
  std::vector<Offset> starts(rowCount + 1, 0);
  for (const auto& item : items) {
    ++starts[static_cast<std::size_t>(std::invoke(rowOf, item)) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

/// A ragged table, such as the arcs of each node: rows of any length, one after the other in one array. Offset counts
/// the entries of all rows together.
template <typename T, typename Offset = std::uint32_t>
class Rows {
public:
  Rows() = default;
  /// `list(add)` calls add(row, entry) for each entry. It is called twice and must do the same both times. Entries of
  /// one row keep their order.
  template <typename List>
  Rows(std::size_t rowCount, const List& list) {
    assign(rowCount, list);
  }

  /// The same as a new table, in the memory of this one.
  template <typename List>
  void assign(std::size_t rowCount, const List& list) {
    // Counts stand two places on. Once summed, a row's start stands one place on, and filling moves it to the next
    // row's start.
    m_start.assign(rowCount + 2, 0);
    list([this](auto row, const auto& /*entry*/) { ++m_start[static_cast<std::size_t>(row) + 2]; });
    std::partial_sum(m_start.begin(), m_start.end(), m_start.begin());
    m_entries.resize(static_cast<std::size_t>(m_start.back()));
    list([this](auto row, const auto& entry) { m_entries[m_start[static_cast<std::size_t>(row) + 1]++] = entry; });
    m_start.pop_back();
  }

  [[nodiscard]] std::size_t rowCount() const { return m_start.empty() ? 0 : m_start.size() - 1; }
  [[nodiscard]] std::size_t size(std::size_t row) const { return m_start[row + 1] - m_start[row]; }
  [[nodiscard]] std::span<const T> operator[](std::size_t row) const {
    return {m_entries.data() + m_start[row], size(row)};
  }
  [[nodiscard]] std::span<T> operator[](std::size_t row) { return {m_entries.data() + m_start[row], size(row)}; }
  /// Where the row begins among the entries of all rows; at rowCount() their number.
  [[nodiscard]] Offset start(std::size_t row) const { return m_start[row]; }
  [[nodiscard]] std::span<const T> entries() const { return m_entries; }
  [[nodiscard]] std::span<T> entries() { return m_entries; }

private:
  std::vector<Offset> m_start;
  std::vector<T> m_entries;
};

/// The items of a list by row, each as its number in the list.
template <typename Index = std::int32_t, typename Items, typename RowOf>
[[nodiscard]] Rows<Index> numbersByRow(std::size_t rowCount, const Items& items, RowOf rowOf) {
  return Rows<Index>(rowCount, [&](const auto& add) {
    Index number = 0;
    for (const auto& item : items) {
      add(std::invoke(rowOf, item), number++);
    }
  });
}

}  // namespace coppice
