// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/program_execution.hpp"

namespace coppice::verify {

/// Visitor of an Execution in which every threadblock carries how many events of some others it knows of, up to
/// `Columns` of them: by program order, by a dependency, or by messages, also through other ranks. It answers whether
/// one event happens before another.
template <std::size_t Columns>
class KnowledgeRun {
public:
  /// Does this event of `block` know of `needed` events of the threadblock in `column`? Events are counted from 1.
  struct Query {
    int block = 0;
    std::uint32_t event = 0;
    std::size_t column = 0;
    std::uint32_t needed = 0;
    std::size_t tag = 0;  ///< the caller's
  };

  /// @param columns the threadblock of each column, at most Columns of them
  KnowledgeRun(const FlatProgram& flat, std::uint32_t depth, const std::vector<int>& columns,
               std::vector<Query> queries)
      : m_flat(flat),
        m_depth(depth),
        m_queries(std::move(queries)),
        m_known(flat.blocks.size()),
        m_events(flat.blocks.size()),
        m_column(flat.blocks.size(), kNone),
        m_nextQuery(flat.blocks.size(), m_queries.size()),
        m_inFlight(flat.connections.size() * depth),
        m_clockOfStep(flat.steps.size(), kNone) {
    std::sort(m_queries.begin(), m_queries.end(), [](const Query& left, const Query& right) {
      return left.block != right.block ? left.block < right.block : left.event < right.event;
    });
    for (std::size_t column = 0; column < columns.size(); ++column) {
      m_column[columns[column]] = static_cast<std::uint32_t>(column);
    }
    for (std::size_t query = m_queries.size(); query-- > 0;) {
      m_nextQuery[m_queries[query].block] = query;
    }
  }

  void operator()(const Event& event) {
    const auto block = static_cast<std::size_t>(event.block);
    const FlatStep& step = m_flat.steps[event.step];
    Knowledge& known = m_known[block];
    if (event.isFirst && step.waitsForBlock >= 0) {
      join(known, m_stored[m_clockOfStep[step.waitsForStep]]);
    }
    if (event.recvConnection >= 0) {
      join(known, m_inFlight[static_cast<std::size_t>(event.recvConnection) * m_depth + event.recvSlot]);
    }
    ++m_events[block];
    if (m_column[block] != kNone) {
      known[m_column[block]] = m_events[block];
    }
    for (std::size_t& query = m_nextQuery[block];
         query < m_queries.size() && m_queries[query].block == event.block && m_queries[query].event == m_events[block];
         ++query) {
      if (known[m_queries[query].column] < m_queries[query].needed) {
        m_unordered.push_back(m_queries[query].tag);
      }
    }
    if (event.sendConnection >= 0) {
      m_inFlight[static_cast<std::size_t>(event.sendConnection) * m_depth + event.sendSlot] = known;
    }
    if (event.isLast && step.isTarget) {
      m_clockOfStep[event.step] = static_cast<std::uint32_t>(m_stored.size());
      m_stored.push_back(known);
    }
  }

  /// The tags of the queries whose answer is no.
  [[nodiscard]] const std::vector<std::size_t>& unordered() const { return m_unordered; }

private:
  using Knowledge = std::array<std::uint32_t, Columns>;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  static void join(Knowledge& into, const Knowledge& from) {
    for (std::size_t column = 0; column < Columns; ++column) {
      into[column] = std::max(into[column], from[column]);
    }
  }

  const FlatProgram& m_flat;
  std::uint32_t m_depth;
  std::vector<Query> m_queries;
  std::vector<Knowledge> m_known;  ///< by threadblock
  std::vector<std::uint32_t> m_events;
  std::vector<std::uint32_t> m_column;
  std::vector<std::size_t> m_nextQuery;
  std::vector<Knowledge> m_inFlight;
  std::vector<std::uint32_t> m_clockOfStep;
  std::vector<Knowledge> m_stored;
  std::vector<std::size_t> m_unordered;
};

}  // namespace coppice::verify
