// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/step_schedule.hpp"
#include "verify/demand.hpp"

namespace coppice::verify {

struct StepFault {
  std::string text;
  ElementRef element;
  bool isWarning = false;
};

/// Plays the transfers of one shard after another and notes what breaks the rules of verifySteps.
class ShardPlayer {
public:
  /// `place`: by transfer, its position in the order to play; empty if the schedule is synchronous.
  ShardPlayer(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule, const Demand& demand,
              std::span<const std::uint32_t> place);

  /// `transfers`: all of the shard, ascending.
  void play(std::int64_t shard, std::span<const std::uint32_t> transfers);

  [[nodiscard]] std::int64_t faultCount() const { return m_faultCount; }
  /// The first hundred, warnings included.
  [[nodiscard]] std::vector<StepFault> takeFaults() { return std::move(m_faults); }

private:
  using Word = std::uint64_t;

  void playInterval(std::span<const std::uint32_t> transfers);
  void start();
  void playTogether(std::span<const std::uint32_t> transfers);
  void write(std::uint32_t transfer, std::span<const Word> sent, Word isSent);
  void finish();
  void fault(const std::string& text, const ElementRef& element, bool isWarning = false);
  [[nodiscard]] std::string pieceText() const;
  [[nodiscard]] ElementRef transferElement(std::uint32_t transfer) const;
  [[nodiscard]] std::span<Word> setOf(fabric::Rank rank) {
    return std::span(m_sets).subspan(static_cast<std::size_t>(rank) * m_words, m_words);
  }
  [[nodiscard]] bool isEmpty(fabric::Rank rank);

  const fabric::Fabric& m_fabric;
  const schedule::StepSchedule& m_schedule;
  const Demand& m_demand;
  std::span<const std::uint32_t> m_place;
  std::size_t m_words = 1;  ///< of a set of contributors; 1 where the shard does not combine
  bool m_combines = false;
  std::int64_t m_shard = 0;
  std::int64_t m_begin = 0;  ///< of the interval
  std::int64_t m_end = 0;
  std::vector<Word> m_sets;             ///< by rank; of a shard that does not combine, bit 0: the rank holds it
  std::vector<Word> m_full;             ///< all contributors
  std::vector<Word> m_sent;             ///< by transfer played together: what its sender had
  std::vector<std::int64_t> m_writer;   ///< by rank: the transfer that wrote in this step, or -1
  std::vector<fabric::Rank> m_written;  ///< ranks of m_writer
  std::vector<std::uint32_t> m_order;
  std::vector<StepFault> m_faults;
  std::int64_t m_faultCount = 0;
};

}  // namespace coppice::verify
