// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rows.hpp"
#include "program/program.hpp"
#include "program/step_place.hpp"

/// What the steps of a program wait for. Works for any program, also for one that no runtime would take.
namespace coppice::verify {

/// The waits of all steps, both ways. The k-th sending step of a connection (sender, receiver, channel) is paired with
/// the k-th receiving one. Keeps no reference to the program.
class StepLinks {
public:
  StepLinks() = default;
  explicit StepLinks(const program::Program& program);

  /// What the step waits for: order, flag, data, space. @pre the step exists
  [[nodiscard]] std::vector<program::StepLink> waitsFor(const program::StepPlace& place) const;
  /// What waits for the step. @pre the step exists
  [[nodiscard]] std::vector<program::StepLink> releases(const program::StepPlace& place) const;
  /// The step at the other end of what it sends. @pre the step exists
  [[nodiscard]] std::optional<program::StepPlace> receiverOf(const program::StepPlace& place) const;
  /// The step at the other end of what it receives. @pre the step exists
  [[nodiscard]] std::optional<program::StepPlace> senderOf(const program::StepPlace& place) const;
  [[nodiscard]] std::size_t stepCount() const { return m_flagOf.size(); }

private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// A step among the sends or receives of its connection.
  struct End {
    std::uint32_t connection = kNone;
    std::uint32_t at = 0;
  };
  /// Steps in order, and the number of the first message of each and of one past the end.
  struct Side {
    std::vector<std::uint32_t> steps;
    std::vector<std::int64_t> firstMessage{0};
  };
  struct Connection {
    Side sends;
    Side receives;
  };

  [[nodiscard]] std::uint32_t indexOf(const program::StepPlace& place) const;
  [[nodiscard]] program::StepPlace placeOf(std::uint32_t index) const;
  void addFlags(const program::Program& program);
  void connect(const program::Program& program);

  int m_depth = 0;
  std::vector<std::size_t> m_firstBlock;  ///< by rank, and one past the end
  std::vector<int> m_rankOfBlock;
  std::vector<std::uint32_t> m_firstStep;  ///< by threadblock of all ranks, and one past the end
  std::vector<std::uint32_t> m_flagOf;     ///< by step: the step whose flag it waits for
  Rows<std::uint32_t> m_waiters;           ///< by step those that wait for its flag
  std::vector<End> m_sends;
  std::vector<End> m_receives;
  std::vector<Connection> m_connections;
};

}  // namespace coppice::verify
