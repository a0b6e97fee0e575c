// SPDX-License-Identifier: Apache-2.0
#include "verify/step_state.hpp"

#include <algorithm>

#include "base/rational.hpp"
#include "verify/fault_log.hpp"
#include "verify/step_order.hpp"

namespace coppice::verify {
namespace {

using fabric::Rank;
using schedule::Transfer;

constexpr std::size_t kBits = 64;

}  // namespace

ShardPlayer::ShardPlayer(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule, const Demand& demand,
                         std::span<const std::uint32_t> place)
    : m_fabric(fabric), m_schedule(schedule), m_demand(demand), m_place(place), m_writer(fabric.gpuCount(), -1) {}

void ShardPlayer::play(std::int64_t shard, std::span<const std::uint32_t> transfers) {
  if (m_demand.share(shard).isZero()) {
    return;
  }
  m_shard = shard;
  m_combines = m_demand.combines(shard);
  m_words = m_combines ? (static_cast<std::size_t>(m_fabric.gpuCount()) + kBits - 1) / kBits : 1;
  m_sets.resize(m_words * static_cast<std::size_t>(m_fabric.gpuCount()));
  for (PieceSweep sweep(m_schedule, transfers); sweep.next();) {
    m_begin = sweep.begin();
    m_end = sweep.end();
    playInterval(sweep.transfers());
  }
}

void ShardPlayer::playInterval(std::span<const std::uint32_t> transfers) {
  start();
  m_order.assign(transfers.begin(), transfers.end());
  if (!m_place.empty()) {
    std::sort(m_order.begin(), m_order.end(), [this](auto a, auto b) { return m_place[a] < m_place[b]; });
  }
  const auto steps = m_schedule.transfers.steps();
  for (std::size_t first = 0; first < m_order.size();) {
    std::size_t last = first + 1;
    while (m_schedule.isSynchronous && last < m_order.size() && steps[m_order[last]] == steps[m_order[first]]) {
      ++last;
    }
    playTogether(std::span(m_order).subspan(first, last - first));
    first = last;
  }
  finish();
}

void ShardPlayer::start() {
  std::fill(m_sets.begin(), m_sets.end(), 0);
  for (const Rank source : m_demand.sources(m_shard)) {
    if (m_combines) {
      setOf(source)[static_cast<std::size_t>(source) / kBits] |= Word{1} << (static_cast<std::size_t>(source) % kBits);
    } else {
      setOf(source)[0] = 1;
    }
  }
}

bool ShardPlayer::isEmpty(Rank rank) {
  const auto set = setOf(rank);
  return std::all_of(set.begin(), set.end(), [](Word word) { return word == 0; });
}

void ShardPlayer::playTogether(std::span<const std::uint32_t> transfers) {
  m_sent.resize(transfers.size() * m_words);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Rank from = m_schedule.transfers.senders()[transfers[i]];
    const auto held = setOf(from);
    std::copy(held.begin(), held.end(), m_sent.begin() + static_cast<std::ptrdiff_t>(i * m_words));
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const auto sent = std::span<const Word>(m_sent).subspan(i * m_words, m_words);
    const Word any = std::any_of(sent.begin(), sent.end(), [](Word word) { return word != 0; }) ? 1 : 0;
    write(transfers[i], sent, any);
  }
  for (const Rank rank : m_written) {
    m_writer[rank] = -1;
  }
  m_written.clear();
}

void ShardPlayer::write(std::uint32_t index, std::span<const Word> sent, Word isSent) {
  const Transfer transfer = m_schedule.transfers[index];
  if (isSent == 0) {
    fault(gpuName(m_fabric, transfer.from) + " sends " + pieceText() + " before it has it", transferElement(index));
    return;
  }
  const auto set = setOf(transfer.to);
  const std::int64_t other = m_writer[transfer.to];
  m_writer[transfer.to] = index;
  if (other < 0) {
    m_written.push_back(transfer.to);
  }
  if (transfer.reduces) {
    if (other >= 0 && !m_schedule.transfers[other].reduces) {
      fault(gpuName(m_fabric, transfer.to) + " is to add to and to store " + pieceText() +
                " in the same step (transfer " + std::to_string(other) + ")",
            transferElement(index));
    }
    for (std::size_t w = 0; w < m_words; ++w) {
      if (const Word twice = set[w] & sent[w]; twice != 0) {
        const auto rank = static_cast<Rank>(w * kBits + static_cast<std::size_t>(__builtin_ctzll(twice)));
        fault("the contribution of " + gpuName(m_fabric, rank) + " to " + pieceText() + " is added twice at " +
                  gpuName(m_fabric, transfer.to),
              transferElement(index));
        break;
      }
    }
    for (std::size_t w = 0; w < m_words; ++w) {
      set[w] |= sent[w];
    }
    return;
  }
  const bool isSame = std::equal(set.begin(), set.end(), sent.begin());
  if (other >= 0 && (!isSame || m_schedule.transfers[other].reduces)) {
    fault(gpuName(m_fabric, transfer.to) + " is written twice in the same step at " + pieceText() + " (transfer " +
              std::to_string(other) + ")",
          transferElement(index));
  } else if (isSame) {
    fault(gpuName(m_fabric, transfer.to) + " has " + pieceText() + " already", transferElement(index), true);
  }
  std::copy(sent.begin(), sent.end(), set.begin());
}

void ShardPlayer::finish() {
  const auto sources = m_demand.sources(m_shard);
  m_full.assign(m_words, 0);
  for (const Rank source : sources) {
    const auto at = static_cast<std::size_t>(source);
    m_full[m_combines ? at / kBits : 0] |= Word{1} << (at % kBits);
  }
  for (const Rank rank : m_demand.destinations(m_shard)) {
    const auto set = setOf(rank);
    if (!m_combines) {
      if (set[0] == 0) {
        fault(gpuName(m_fabric, rank) + " never gets " + pieceText(), {RefKind::shard, m_shard});
      }
      continue;
    }
    if (std::equal(set.begin(), set.end(), m_full.begin())) {
      continue;
    }
    for (const Rank source : sources) {
      const auto at = static_cast<std::size_t>(source);
      if ((set[at / kBits] >> (at % kBits) & 1) == 0) {
        fault(gpuName(m_fabric, rank) + " ends without the contribution of " + gpuName(m_fabric, source) + " to " +
                  pieceText(),
              {RefKind::shard, m_shard});
        break;
      }
    }
  }
}

void ShardPlayer::fault(const std::string& text, const ElementRef& element, bool isWarning) {
  m_faultCount += isWarning ? 0 : 1;
  if (m_faults.size() < FaultLog::kMaxListed) {
    m_faults.push_back({text, element, isWarning});
  }
}

std::string ShardPlayer::pieceText() const {
  std::string text = "shard " + std::to_string(m_shard);
  if (m_begin > 0 || m_end < m_schedule.denominator) {
    text += " [" + Rational(m_begin, m_schedule.denominator).toString() + ", " +
            Rational(m_end, m_schedule.denominator).toString() + ")";
  }
  return text;
}

ElementRef ShardPlayer::transferElement(std::uint32_t transfer) const {
  return ElementRef(RefKind::step, m_schedule.transfers.steps()[transfer]).with({RefKind::transfer, transfer});
}

}  // namespace coppice::verify
