// SPDX-License-Identifier: Apache-2.0
#include "mpi/network.hpp"

#include <algorithm>

#include "engine/pause.hpp"
#include "mpi/waiting.hpp"

namespace coppice::executor {
namespace {

// Messages of a connection and their credits use a tag of their own each; MPI grants 32767 tags at least.
constexpr int kOrderTag = 1;
constexpr int kAnswerTag = 2;
constexpr auto kRoundWhenIdle = std::chrono::milliseconds(5);
constexpr auto kRoundWhenBusy = std::chrono::milliseconds(200);

void takeBack(MPI_Request& request) {
  if (request != MPI_REQUEST_NULL) {
    MPI_Cancel(&request);
    waitFor(request);
  }
}

class ViewSender : public SendingEnd {
public:
  ViewSender(ConnectionView& view, int depth, std::int64_t slotBytes)
      : m_view(view), m_depth(static_cast<std::uint64_t>(depth)), m_slotBytes(static_cast<std::uint64_t>(slotBytes)) {}
  [[nodiscard]] std::optional<std::span<const std::byte>> message(std::uint64_t number) const override {
    if (number >= m_view.tail->load(std::memory_order_acquire)) {
      return std::nullopt;
    }
    const std::uint64_t slot = number % m_depth;
    return std::span<const std::byte>(m_view.slots + slot * m_slotBytes,
                                      static_cast<std::size_t>(m_view.messages[slot].bytes));
  }
  void setHead(std::uint64_t head) override { m_view.head->store(head, std::memory_order_seq_cst); }

private:
  ConnectionView& m_view;
  std::uint64_t m_depth;
  std::uint64_t m_slotBytes;
};

class ViewReceiver : public ReceivingEnd {
public:
  ViewReceiver(ConnectionView& view, int depth, std::int64_t slotBytes)
      : m_view(view), m_depth(static_cast<std::uint64_t>(depth)), m_slotBytes(static_cast<std::uint64_t>(slotBytes)) {}
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t number) const override {
    return {m_view.slots + number % m_depth * m_slotBytes, m_slotBytes};
  }
  void setArrived(std::uint64_t number, std::int64_t bytes) override {
    m_view.messages[number % m_depth] = {.offset = 0, .bytes = bytes, .rank = Message::kInSlot};
    m_view.tail->store(number + 1, std::memory_order_seq_cst);
  }
  [[nodiscard]] std::uint64_t consumed() const override { return m_view.head->load(std::memory_order_acquire); }

private:
  ConnectionView& m_view;
  std::uint64_t m_depth;
  std::uint64_t m_slotBytes;
};

}  // namespace

std::unique_ptr<SendingEnd> sendingEnd(ConnectionView& view, int depth, std::int64_t slotBytes) {
  return std::make_unique<ViewSender>(view, depth, slotBytes);
}

std::unique_ptr<ReceivingEnd> receivingEnd(ConnectionView& view, int depth, std::int64_t slotBytes) {
  return std::make_unique<ViewReceiver>(view, depth, slotBytes);
}

// ---- proxy

void Proxy::addSender(int peer, int channel, std::unique_ptr<SendingEnd> end) {
  m_senders.push_back(std::make_unique<Sender>());
  m_senders.back()->peer = peer;
  m_senders.back()->tag = 2 * channel;
  m_senders.back()->end = std::move(end);
}

void Proxy::addReceiver(int peer, int channel, std::unique_ptr<ReceivingEnd> end) {
  m_receivers.push_back(std::make_unique<Receiver>());
  m_receivers.back()->peer = peer;
  m_receivers.back()->tag = 2 * channel;
  m_receivers.back()->end = std::move(end);
}

void Proxy::start(int depth) {
  m_depth = static_cast<std::uint64_t>(depth);
  for (const auto& sender : m_senders) {
    sender->sends.assign(m_depth, MPI_REQUEST_NULL);
    MPI_Irecv(&sender->creditBuffer, 1, MPI_UINT64_T, sender->peer, sender->tag + 1, m_comm, &sender->creditRequest);
  }
  for (const auto& receiver : m_receivers) {
    receiver->receives.assign(m_depth, MPI_REQUEST_NULL);
    postReceives(*receiver, 0);
  }
}

void Proxy::postReceives(Receiver& receiver, std::uint64_t consumed) {
  for (; receiver.posted < consumed + m_depth; ++receiver.posted) {
    const std::span<std::byte> slot = receiver.end->slot(receiver.posted);
    MPI_Irecv(slot.data(), static_cast<int>(slot.size()), MPI_BYTE, receiver.peer, receiver.tag, m_comm,
              &receiver.receives[receiver.posted % m_depth]);
  }
}

bool Proxy::poll() {
  bool moved = false;
  for (const auto& receiver : m_receivers) {
    moved |= poll(*receiver);
  }
  for (const auto& sender : m_senders) {
    moved |= poll(*sender);
  }
  return moved;
}

bool Proxy::poll(Sender& sender) {
  bool moved = false;
  while (const auto message = sender.end->message(sender.posted)) {
    MPI_Isend(message->data(), static_cast<int>(message->size()), MPI_BYTE, sender.peer, sender.tag, m_comm,
              &sender.sends[sender.posted % m_depth]);
    ++sender.posted;
    ++m_handed;
    moved = true;
  }
  while (sender.completed < sender.posted && isDone(sender.sends[sender.completed % m_depth])) {
    ++sender.completed;
    moved = true;
  }
  while (isDone(sender.creditRequest)) {
    sender.credit = sender.creditBuffer;
    ++m_taken;
    moved = true;
    MPI_Irecv(&sender.creditBuffer, 1, MPI_UINT64_T, sender.peer, sender.tag + 1, m_comm, &sender.creditRequest);
  }
  if (const std::uint64_t head = std::min(sender.credit, sender.completed); head > sender.head) {
    sender.head = head;
    sender.end->setHead(head);
  }
  return moved;
}

bool Proxy::poll(Receiver& receiver) {
  bool moved = false;
  while (receiver.arrived < receiver.posted) {
    const std::uint64_t slot = receiver.arrived % m_depth;
    int done = 0;
    MPI_Status status;
    MPI_Test(&receiver.receives[slot], &done, &status);
    if (done == 0) {
      break;
    }
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    receiver.end->setArrived(receiver.arrived, bytes);
    ++receiver.arrived;
    ++m_taken;
    moved = true;
  }
  const std::uint64_t consumed = receiver.end->consumed();
  postReceives(receiver, consumed);
  if (consumed > receiver.credited && isDone(receiver.creditRequest)) {
    receiver.creditBuffer = consumed;
    receiver.credited = consumed;
    MPI_Isend(&receiver.creditBuffer, 1, MPI_UINT64_T, receiver.peer, receiver.tag + 1, m_comm,
              &receiver.creditRequest);
    ++m_handed;
    moved = true;
  }
  return moved;
}

void Proxy::stop() {
  for (const auto& sender : m_senders) {
    waitFor(sender->sends);
  }
  for (const auto& receiver : m_receivers) {
    waitFor(receiver->creditRequest);
  }
  barrier(m_comm);
  for (const auto& sender : m_senders) {
    takeBack(sender->creditRequest);
  }
  for (const auto& receiver : m_receivers) {
    for (MPI_Request& request : receiver->receives) {
      takeBack(request);
    }
  }
  m_senders.clear();
  m_receivers.clear();
}

// ---- watch

Watch::Watch(MPI_Comm comm) : m_comm(comm) {
  MPI_Comm_rank(comm, &m_process);
  MPI_Comm_size(comm, &m_processes);
  const auto count = static_cast<std::size_t>(m_processes);
  m_requests.assign(count, MPI_REQUEST_NULL);
  m_orders.assign(count, MPI_REQUEST_NULL);
  m_answers.resize(count);
}

void Watch::begin(double stallSeconds) {
  m_stallSeconds = stallSeconds;
  m_verdict = Verdict::none;
  m_culprit = -1;
  m_changed = Clock::now();
  m_asked = m_changed;
  m_polled = m_changed;
  m_wasStopped = false;
  m_isAsking = false;
  m_before.clear();
  ++m_run;
  m_round = m_run << 32U;
  if (m_process == 0) {
    for (int peer = 1; peer < m_processes; ++peer) {
      listen(peer);
    }
  } else {
    MPI_Irecv(&m_order, sizeof(Order), MPI_BYTE, 0, kOrderTag, m_comm, &m_orderRequest);
  }
}

Verdict Watch::poll(Standing own) {
  if (m_verdict == Verdict::none) {
    m_verdict = m_process == 0 ? lead(own) : follow(own);
  }
  return m_verdict;
}

void Watch::listen(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  MPI_Irecv(&m_answers[at], sizeof(Standing), MPI_BYTE, peer, kAnswerTag, m_comm, &m_requests[at]);
}

void Watch::ask(Verdict verdict, int culprit) {
  m_order = {.round = m_round, .verdict = static_cast<std::int64_t>(verdict), .culprit = culprit};
  for (int peer = 1; peer < m_processes; ++peer) {
    MPI_Isend(&m_order, sizeof(Order), MPI_BYTE, peer, kOrderTag, m_comm, &m_orders[peer]);
  }
}

Verdict Watch::lead(Standing own) {
  const Clock::time_point now = Clock::now();
  // A process that was stopped itself finds the others gone when it continues.
  if (m_stallSeconds > 0 &&
      std::chrono::duration<double>(now - m_polled).count() > silenceOfFirst(m_stallSeconds) / 2) {
    m_asked += now - m_polled;
    m_changed += now - m_polled;
    m_wasStopped = true;
  }
  m_polled = now;
  if (!m_isAsking) {
    if (now - m_asked < (own.isIdle != 0 ? kRoundWhenIdle : kRoundWhenBusy)) {
      return Verdict::none;
    }
    // Orders of the round before were answered, so they have gone.
    waitFor(m_orders);
    ++m_round;
    m_isAsking = true;
    m_asked = now;
    own.round = m_round;
    m_answers[0] = own;
    ask(Verdict::none, -1);
    return Verdict::none;
  }
  bool done = true;
  for (int peer = 1; peer < m_processes; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    done &= isDone(m_requests[at]);
    if (m_requests[at] == MPI_REQUEST_NULL && m_answers[at].round != m_round) {
      listen(peer);
      done = false;
    }
  }
  Verdict verdict = Verdict::none;
  if (done) {
    verdict = judge();
    m_isAsking = false;
    for (int peer = 1; peer < m_processes; ++peer) {
      listen(peer);
    }
  } else if (m_stallSeconds > 0 &&
             std::chrono::duration<double>(now - m_asked).count() > silenceOfOthers(m_stallSeconds)) {
    verdict = Verdict::stall;
    for (int peer = m_processes - 1; peer > 0; --peer) {
      m_culprit = m_requests[peer] == MPI_REQUEST_NULL ? m_culprit : peer;
    }
    m_culprit = m_wasStopped ? m_process : m_culprit;
  }
  if (verdict != Verdict::none) {
    ask(verdict, m_culprit);
  }
  return verdict;
}

Verdict Watch::judge() {
  bool areAllIdle = true;
  std::int64_t waiting = 0;
  std::uint64_t handed = 0;
  std::uint64_t taken = 0;
  for (int process = 0; process < m_processes; ++process) {
    const Standing& answer = m_answers[process];
    if (answer.lost != 0) {
      m_culprit = static_cast<int>(answer.lost) - 1;
      return Verdict::lost;
    }
    if (answer.wantsStop != 0) {
      return Verdict::cancelled;
    }
    areAllIdle = areAllIdle && answer.isIdle != 0;
    waiting += answer.waits;
    handed += answer.handed;
    taken += answer.taken;
  }
  const auto differs = [](const Standing& a, const Standing& b) { return a.progress != b.progress; };
  const bool isChanged = m_before.size() != m_answers.size() ||
                         !std::equal(m_before.begin(), m_before.end(), m_answers.begin(),
                                     [&](const Standing& a, const Standing& b) { return !differs(a, b); });
  const bool wereAllIdle =
      std::all_of(m_before.begin(), m_before.end(), [](const Standing& s) { return s.isIdle != 0; });
  const Clock::time_point now = Clock::now();
  m_changed = isChanged ? now : m_changed;
  const bool isDeadlock = !isChanged && areAllIdle && wereAllIdle && waiting > 0 && handed == taken;
  m_before = m_answers;
  if (isDeadlock) {
    return Verdict::deadlock;
  }
  const bool isStall = m_stallSeconds > 0 && std::chrono::duration<double>(now - m_changed).count() > m_stallSeconds;
  return isStall ? Verdict::stall : Verdict::none;
}

Verdict Watch::follow(Standing own) {
  int done = 0;
  MPI_Test(&m_orderRequest, &done, MPI_STATUS_IGNORE);
  const Clock::time_point now = Clock::now();
  if (done == 0) {
    // Process 0 asks five times a second; silence for so long means that it is stopped or gone.
    const bool isSilent =
        m_stallSeconds > 0 && std::chrono::duration<double>(now - m_changed).count() > silenceOfFirst(m_stallSeconds);
    if (isSilent) {
      m_culprit = 0;
    }
    return isSilent ? Verdict::stall : Verdict::none;
  }
  m_changed = now;
  const Order order = m_order;
  if (order.round >> 32U != m_run) {
    MPI_Irecv(&m_order, sizeof(Order), MPI_BYTE, 0, kOrderTag, m_comm, &m_orderRequest);
    return Verdict::none;
  }
  if (order.verdict != 0) {
    m_culprit = static_cast<int>(order.culprit);
    return static_cast<Verdict>(order.verdict);
  }
  MPI_Irecv(&m_order, sizeof(Order), MPI_BYTE, 0, kOrderTag, m_comm, &m_orderRequest);
  waitFor(m_answerRequest);
  m_own = own;
  m_own.round = order.round;
  MPI_Isend(&m_own, sizeof(Standing), MPI_BYTE, 0, kAnswerTag, m_comm, &m_answerRequest);
  return Verdict::none;
}

Verdict Watch::end() {
  if (m_process == 0) {
    waitFor(m_orders);
  }
  int own = static_cast<int>(m_verdict);
  int all = 0;
  MPI_Request agreement = MPI_REQUEST_NULL;
  MPI_Iallreduce(&own, &all, 1, MPI_INT, MPI_MAX, m_comm, &agreement);
  for (Pause pause(kYields); !isDone(agreement); pause.rest()) {
    // Large orders would wait for their receiver; these are small, but nothing says so.
    if (m_orderRequest != MPI_REQUEST_NULL && isDone(m_orderRequest)) {
      MPI_Irecv(&m_order, sizeof(Order), MPI_BYTE, 0, kOrderTag, m_comm, &m_orderRequest);
    }
  }
  takeBack(m_orderRequest);
  waitFor(m_answerRequest);
  barrier(m_comm);
  for (MPI_Request& request : m_requests) {
    takeBack(request);
  }
  return static_cast<Verdict>(all);
}

}  // namespace coppice::executor
