// SPDX-License-Identifier: Apache-2.0
#pragma once

// Open MPI's header brings casts of the C kind.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <mpi.h>
#pragma GCC diagnostic pop

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/interpreter.hpp"
#include "mpi/host_state.hpp"

namespace coppice::executor {

/// One end of a connection, as its process sees it: in memory shared with the other end, or private, with the proxy
/// between.
struct ConnectionView {
  std::atomic<std::uint64_t>* tail = nullptr;
  std::atomic<std::uint64_t>* head = nullptr;
  Message* messages = nullptr;  ///< depth
  std::byte* slots = nullptr;   ///< depth times slotBytes
  int senderSeat = -1;          ///< process of this host at that end; -1 = behind the network, or none of ours
  int receiverSeat = -1;
};

/// The sending end of a connection that crosses the network, wherever its words and slots are.
class SendingEnd {
public:
  virtual ~SendingEnd() = default;
  /// A message, once it is there; it stays until its slot is free. Messages are asked for in order.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> message(std::uint64_t number) const = 0;
  /// Number of messages that are consumed and have left their slots. Only grows.
  virtual void setHead(std::uint64_t head) = 0;
};

class ReceivingEnd {
public:
  virtual ~ReceivingEnd() = default;
  /// Where a message goes, as long as it may be.
  [[nodiscard]] virtual std::span<std::byte> slot(std::uint64_t number) const = 0;
  virtual void setArrived(std::uint64_t number, std::int64_t bytes) = 0;
  /// Messages that are consumed. Only grows.
  [[nodiscard]] virtual std::uint64_t consumed() const = 0;
};

/// Ends in memory of this process. The view must outlive them.
[[nodiscard]] std::unique_ptr<SendingEnd> sendingEnd(ConnectionView& view, int depth, std::int64_t slotBytes);
[[nodiscard]] std::unique_ptr<ReceivingEnd> receivingEnd(ConnectionView& view, int depth, std::int64_t slotBytes);

/// Moves the messages of connections that cross the network. Everything here is called by the main thread alone.
///
/// A receiver keeps `depth` receives posted and tells the sender how many messages it has consumed (credit); a sender
/// sends no more than it has credit for. So a connection holds as many messages as in shared memory, none of them
/// unexpected.
class Proxy {
public:
  explicit Proxy(MPI_Comm comm) : m_comm(comm) {}
  ~Proxy() = default;
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// @param peer process of the other end @param channel a number of its own among those from one process to another
  void addSender(int peer, int channel, std::unique_ptr<SendingEnd> end);
  void addReceiver(int peer, int channel, std::unique_ptr<ReceivingEnd> end);
  /// Posts the first receives. Afterwards a barrier over all processes.
  void start(int depth);
  /// Moves what can be moved. @return whether something was
  bool poll();
  /// Lets sends under way end and takes receives back. Between two barriers over all processes.
  void stop();

  /// Messages and credits handed to MPI, and taken from it, ever.
  [[nodiscard]] std::uint64_t handed() const { return m_handed; }
  [[nodiscard]] std::uint64_t taken() const { return m_taken; }
  [[nodiscard]] bool isIdle() const { return m_senders.empty() && m_receivers.empty(); }

private:
  struct Sender {
    int peer = 0;
    int tag = 0;
    std::unique_ptr<SendingEnd> end = {};
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    std::uint64_t credit = 0;        ///< messages the receiver has consumed
    std::uint64_t creditBuffer = 0;  ///< where the next credit arrives
    std::uint64_t head = 0;          ///< as told to the block
    MPI_Request creditRequest = MPI_REQUEST_NULL;
    std::vector<MPI_Request> sends = {};
  };
  struct Receiver {
    int peer = 0;
    int tag = 0;
    std::unique_ptr<ReceivingEnd> end = {};
    std::uint64_t posted = 0;
    std::uint64_t arrived = 0;
    std::uint64_t creditBuffer = 0;
    std::uint64_t credited = 0;
    MPI_Request creditRequest = MPI_REQUEST_NULL;
    std::vector<MPI_Request> receives = {};
  };

  bool poll(Sender& sender);
  bool poll(Receiver& receiver);
  void postReceives(Receiver& receiver, std::uint64_t consumed);

  MPI_Comm m_comm;
  std::uint64_t m_depth = 8;
  // Buffers of pending operations must not move.
  std::vector<std::unique_ptr<Sender>> m_senders;
  std::vector<std::unique_ptr<Receiver>> m_receivers;
  std::uint64_t m_handed = 0;
  std::uint64_t m_taken = 0;
};

/// What a process says of itself when process 0 asks.
struct Standing {
  std::int64_t round = 0;      ///< the question it answers
  std::int64_t isIdle = 0;     ///< nothing was ready in the last look
  std::int64_t waits = 1;      ///< it is not through: something here waits, or may
  std::int64_t wantsStop = 0;  ///< it was told to stop
  std::int64_t lost = 0;       ///< rank that it found dead, plus one
  std::uint64_t progress = 0;  ///< operations and messages, ever
  std::uint64_t handed = 0;    ///< to the network
  std::uint64_t taken = 0;     ///< from the network
};

/// How processes of several hosts learn that nothing moves. Process 0 asks all, again and again; each answers
/// at once. If in two rounds running all were idle, no progress counter differs, as many messages were taken as were
/// handed over, and some process has not finished, then between the rounds every process was idle and nothing was
/// under way: a deadlock, for certain (Mattern, "Algorithms for distributed termination detection", 1987, the
/// four-counter method). If nothing progressed for the stall time, or a process did not answer for that time, it is a
/// stall. Process 0 tells everybody. Everything here is called by the main thread alone.
class Watch {
public:
  explicit Watch(MPI_Comm comm);
  ~Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// All processes, at the start of a run. @param stallSeconds 0 = forever
  void begin(double stallSeconds);
  /// @return the verdict when there is one, with its rank in culprit()
  Verdict poll(Standing own);
  [[nodiscard]] int culprit() const { return m_culprit; }
  /// All processes, at the end of a run without a lost process: the verdict that counts for all, which may have come
  /// while some had finished. Takes the posted receives back.
  Verdict end();

private:
  using Clock = std::chrono::steady_clock;
  struct Order {
    std::int64_t round = 0;
    std::int64_t verdict = 0;
    std::int64_t culprit = -1;
  };

  Verdict lead(Standing own);
  Verdict follow(Standing own);
  Verdict judge();
  void ask(Verdict verdict, int culprit);
  void listen(int peer);

  MPI_Comm m_comm;
  int m_process = 0;
  int m_processes = 1;
  double m_stallSeconds = 0;
  Clock::time_point m_changed;  ///< last time that a progress counter differed, or that process 0 asked
  Clock::time_point m_asked;
  Clock::time_point m_polled;  ///< process 0: last call of poll
  bool m_wasStopped = false;   ///< process 0, in this run
  std::int64_t m_run = 0;
  std::int64_t m_round = 0;  ///< run in the upper half: a message of an earlier run may come late
  bool m_isAsking = false;
  int m_culprit = -1;
  Verdict m_verdict = Verdict::none;
  Order m_order;
  Standing m_own;
  MPI_Request m_orderRequest = MPI_REQUEST_NULL;
  MPI_Request m_answerRequest = MPI_REQUEST_NULL;
  std::vector<MPI_Request> m_requests;  ///< process 0: answers
  std::vector<MPI_Request> m_orders;    ///< process 0: orders under way
  std::vector<Standing> m_answers;
  std::vector<Standing> m_before;
};

}  // namespace coppice::executor
