// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "program/program.hpp"

/// Internal to core/mscclpp: the messages of a program, and what happens before what.
namespace coppice::mscclpp {

/// A step by its numbers in the whole program.
struct StepRef {
  int rank = -1;
  int block = -1;
  int step = -1;
};

/// One connection of the program: a threadblock that sends to one that receives.
struct Link {
  int from = 0;
  int to = 0;
  int sendBlock = -1;
  int recvBlock = -1;
  bool isPort = false;
};

struct Message {
  int link = 0;
  StepRef sending;
  StepRef receiving;
  int count = 0;
  /// Where the sender writes: the place where the message is wanted, or scratch of this message alone.
  program::Slot landing = {};
  bool isDirect = false;
  /// By a port, from a place that is written again before it is known to be read: it is copied first.
  bool copiesSource = false;
};

class Messages {
public:
  /// Pairs the sends and receives of all connections. Errors: badInput.
  [[nodiscard]] static Result<Messages> of(const program::Program& program, const std::vector<int>& boxOf);

  [[nodiscard]] const std::vector<Link>& links() const { return m_links; }
  [[nodiscard]] std::vector<Message>& all() { return m_messages; }
  /// The message that a step receives or sends; -1 = none.
  [[nodiscard]] int received(int rank, int block, int step) const { return m_received[indexOf(rank, block, step)]; }
  [[nodiscard]] int sent(int rank, int block, int step) const { return m_sent[indexOf(rank, block, step)]; }
  /// Link of a threadblock, -1 = none.
  [[nodiscard]] int linkIn(int rank, int block) const { return m_linkIn[m_firstBlock[rank] + block]; }
  [[nodiscard]] int linkOut(int rank, int block) const { return m_linkOut[m_firstBlock[rank] + block]; }

  /// Finds which messages may be written straight to their place, and which sources have to be copied.
  /// Errors: badInput where steps wait for each other.
  [[nodiscard]] Outcome decide();
  /// Steps of other threadblocks that wrote where this one writes, and come before it. Packets that say so order no
  /// plain data. @pre decide()
  [[nodiscard]] const std::vector<StepRef>& writesBefore(const StepRef& step) const {
    return m_writesBefore[indexOf(step.rank, step.block, step.step)];
  }

private:
  explicit Messages(const program::Program& program) : m_program(program) {}
  [[nodiscard]] std::size_t indexOf(int rank, int block, int step) const {
    return m_firstStep[m_firstBlock[rank] + block] + static_cast<std::size_t>(step);
  }
  [[nodiscard]] Outcome order();
  void know(int rank);
  /// @pre know(the rank of the first), where they are in different threadblocks
  [[nodiscard]] bool isBefore(const StepRef& first, const StepRef& second) const;
  void decideLanding(Message& message) const;
  [[nodiscard]] std::vector<StepRef> writersBehind(const Message& message) const;
  [[nodiscard]] std::vector<StepRef> findWritesBefore(const StepRef& here) const;

  /// What a rank does to its buffers.
  struct Access {
    StepRef step;
    program::Slot slot = {};
    int count = 0;
    bool writes = false;
    int message = -1;  ///< the write of what this message brings
  };
  void listAccesses();

  const program::Program& m_program;
  std::vector<int> m_firstBlock;  ///< by rank; one more at the end
  std::vector<std::size_t> m_firstStep;
  std::vector<Link> m_links;
  std::vector<Message> m_messages;
  std::vector<int> m_received;
  std::vector<int> m_sent;
  std::vector<int> m_linkIn;
  std::vector<int> m_linkOut;
  std::vector<StepRef> m_order;  ///< steps, each after all that it waits for
  /// By step, by threadblock of m_knownRank: how many of its steps have ended before this one ends.
  std::vector<std::uint16_t> m_known;
  int m_knownRank = -1;
  std::size_t m_width = 0;
  std::vector<std::vector<StepRef>> m_writesBefore;  ///< by step
  std::size_t m_blocks = 0;
  std::vector<std::vector<std::vector<int>>> m_touching;  ///< by rank, buffer x chunk: accesses
  std::vector<Access> m_accesses;
};

}  // namespace coppice::mscclpp
