// SPDX-License-Identifier: Apache-2.0
#include "schedule/step_schedule.hpp"

#include <algorithm>
#include <numeric>

namespace coppice::schedule {
namespace {

using fabric::Rank;

template <typename T>
void permute(std::vector<T>& column, const std::vector<std::uint32_t>& order) {
  std::vector<T> sorted(column.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted[i] = column[order[i]];
  }
  column = std::move(sorted);
}

}  // namespace

void TransferList::add(const Transfer& transfer) {
  m_shard.push_back(transfer.shard);
  m_begin.push_back(transfer.begin);
  m_end.push_back(transfer.end);
  m_from.push_back(transfer.from);
  m_to.push_back(transfer.to);
  m_route.push_back(transfer.route);
  m_step.push_back(transfer.step);
  m_reduces.push_back(transfer.reduces ? 1 : 0);
}

void TransferList::reserve(std::size_t count) {
  m_shard.reserve(count);
  m_begin.reserve(count);
  m_end.reserve(count);
  m_from.reserve(count);
  m_to.reserve(count);
  m_route.reserve(count);
  m_step.reserve(count);
  m_reduces.reserve(count);
}

void TransferList::sortBySteps() {
  if (std::is_sorted(m_step.begin(), m_step.end())) {
    return;
  }
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return m_step[a] < m_step[b]; });
  permute(m_shard, order);
  permute(m_begin, order);
  permute(m_end, order);
  permute(m_from, order);
  permute(m_to, order);
  permute(m_route, order);
  permute(m_step, order);
  permute(m_reduces, order);
}

Collective collectiveOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->collective : std::get<StepSchedule>(schedule).goal.collective();
}

std::optional<Rank> rootOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->root : std::get<StepSchedule>(schedule).goal.root();
}

const Bandwidth& algbwOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->algbw : std::get<StepSchedule>(schedule).algbw;
}

const std::string& digestOf(const AnySchedule& schedule) {
  const auto* forest = std::get_if<Schedule>(&schedule);
  return forest ? forest->fabricDigest : std::get<StepSchedule>(schedule).fabricDigest;
}

}  // namespace coppice::schedule
