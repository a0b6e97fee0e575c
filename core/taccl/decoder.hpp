// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "taccl/problem.hpp"

namespace coppice::taccl {

/// Ways, order and messages, from which the decoder makes a schedule.
struct Solution {
  std::vector<int> parent;  ///< by item: the item that sends to it; -1 at origins. Every item has one, needed or not
  std::vector<int> link;    ///< by item: the link used; -1 at origins
  std::vector<double> priority;  ///< by item, ticks: a larger one waits longer. Of a message, the minimum counts
  /// By item: items entered by links of one orbit with equal labels are one message. Where the sender's own chunks
  /// leave first, only one message of an orbit has own chunks and others; the own ones of other labels are messages
  /// apart.
  std::vector<int> label;
};

/// What a solution comes to.
struct Score {
  Ticks makespan = 0;
  double meanArrival = 0;
  int connections = 0;  ///< links within nodes that are used, up to symmetry and by weight
};

/// Turns solutions into schedules without gaps that a send could have used, in the order of start and priority.
/// One for each thread.
class Decoder {
public:
  explicit Decoder(const Problem& problem);

  Score decode(const Solution& solution);

  // Of the last decode:
  [[nodiscard]] const std::vector<Ticks>& arrivals() const { return m_arrival; }  ///< by item
  [[nodiscard]] const std::vector<Ticks>& starts() const { return m_start; }      ///< by item
  [[nodiscard]] const std::vector<char>& used() const { return m_isUsed; }        ///< by item
  /// By item: what its start waited for, the item that sent to it or the one before it on a machine; -1 = nothing.
  [[nodiscard]] const std::vector<int>& causes() const { return m_cause; }
  /// The items that arrive last.
  [[nodiscard]] const std::vector<int>& latest() const { return m_latest; }
  /// By item entered from another node: equal for those of one message.
  [[nodiscard]] const std::vector<int>& messages() const { return m_message; }
  /// Time of the longest way from an item to the targets below it, without waiting.
  [[nodiscard]] const std::vector<Ticks>& remaining(const Solution& solution);

  /// Weight of a link orbit among connections: its links within the first node.
  [[nodiscard]] const std::vector<int>& connectionWeight() const { return m_connectionWeight; }

private:
  void markUsed(const Solution& solution);
  void linkChildren(const Solution& solution);
  void gatherMessages(const Solution& solution);
  void findMixed(const Solution& solution);
  void waitForOwn(const Solution& solution);
  [[nodiscard]] bool isOwn(int item, int link) const;
  void release(const Solution& solution, int item, Ticks time);
  void push(const Solution& solution, int unit);
  [[nodiscard]] Ticks earliest(const Solution& solution, int unit) const;
  void raiseFirst(Ticks start);
  void dropFirst();
  void sink(std::pair<double, int> entry);
  void place(const Solution& solution, int unit);
  void arrive(const Solution& solution, int item, Ticks start, Ticks end);
  void countOwn(const Solution& solution, int message);
  [[nodiscard]] int causeOf(const Solution& solution, int unit, Ticks start) const;

  const Problem& m_problem;
  std::vector<int> m_connectionWeight;
  std::vector<char> m_isUsed;
  std::vector<int> m_usedItems;
  std::vector<int> m_firstChild;
  std::vector<int> m_nextSibling;
  std::vector<Ticks> m_arrival;
  std::vector<Ticks> m_start;
  std::vector<int> m_cause;
  std::vector<int> m_latest;
  std::vector<int> m_lastOn;       ///< by machine: the last item that it took; -1 = none
  std::vector<int> m_lastSent;     ///< by item: the last one that it sent to
  std::vector<Ticks> m_free;       ///< by machine
  std::vector<Ticks> m_sendFree;   ///< by item: when it may send again, where sends go one at a time
  std::vector<int> m_message;      ///< by item: twice its label, and one more for own chunks alone
  std::vector<int> m_firstMember;  ///< by message
  std::vector<int> m_nextMember;   ///< by item
  std::vector<int> m_size;         ///< by message
  std::vector<int> m_pending;      ///< by message
  std::vector<Ticks> m_ready;      ///< by unit: items, then messages
  std::vector<Ticks> m_pushed;     ///< by unit: the start that its key was made of
  std::vector<int> m_messages;     ///< those in use
  std::vector<int> m_ownLeft;      ///< by link orbit: messages with chunks of the sender alone that have not left
  std::vector<int> m_mixed;        ///< by link orbit: the message with own chunks and others; -1 = none
  std::vector<char> m_kind;        ///< by label: 1 = has chunks of others, 2 = has own ones
  std::vector<char> m_isConnection;
  std::vector<double> m_priority;              ///< by unit in the heap
  std::vector<int> m_unitLink;                 ///< by unit in the heap
  std::vector<std::pair<double, int>> m_heap;  ///< key and unit, the minimum first
  std::vector<int> m_firstMachine;             ///< by link, into m_machines
  std::vector<int> m_machines;                 ///< Problem::linkMachines, one after the other
  std::vector<Ticks> m_remaining;
};

}  // namespace coppice::taccl
