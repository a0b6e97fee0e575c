// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/network.hpp"
#include "mscclpp/plan_machine.hpp"
#include "mscclpp/plan_network.hpp"

namespace coppice::executor {

/// An execution plan's way to ranks on other hosts: a message with a head for each write, signal and question, in order
/// from one process to another, and the data behind it. Only poll and what is declared below it call MPI.
class PlanTraffic : public PlanNetwork {
public:
  /// @param peers processes behind the network @param rank of this process; -1 = none
  PlanTraffic(MPI_Comm comm, const std::vector<int>& peers, PlanMachine& machine, int rank);

  std::uint64_t write(const FarPlace& to, std::span<const std::byte> data, bool isPacked) override;
  void write(const FarPlace& to, std::vector<std::byte> data, bool isPacked) override;
  [[nodiscard]] bool isSent(int rank, std::uint64_t number) override;
  void signal(int rank, int end) override;
  void read(const FarPlace& from, FarRead& into) override;
  bool poll() override;

  /// All processes, when none of them runs blocks: nothing is under way between two barriers. @pre isQuiet
  void close();
  /// What this process sent has been received, and what it asked for has come.
  [[nodiscard]] bool isQuiet();
  /// Writes and signals given to other processes, less those that came: zero over all processes that are quiet means
  /// that everything has arrived.
  [[nodiscard]] std::int64_t balance() const { return m_given - m_taken; }
  /// Messages that began or came, ever.
  [[nodiscard]] std::uint64_t moves() const { return m_moves; }

private:
  enum class Kind : std::int32_t { write, signal, question, answer };
  struct Head {
    Kind kind = Kind::write;
    std::int32_t buffer = 0;
    std::int32_t end = 0;
    std::int32_t isPacked = 0;
    std::int64_t offset = 0;  ///< in the buffer; of an answer: in what was asked for
    std::int64_t bytes = 0;
    std::uint64_t read = 0;  ///< of who asked
  };
  struct Letter {
    Head head = {};
    std::shared_ptr<const std::vector<std::byte>> owner = {};
    const std::byte* data = nullptr;
    std::uint64_t number = 0;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  };
  struct Peer {
    int process = 0;
    std::mutex mutex = {};
    std::deque<Letter> letters = {};  ///< the first `posted` are with MPI
    std::size_t posted = 0;
    std::uint64_t given = 0;
    std::atomic<std::uint64_t> sent = 0;
    Head head = {};  ///< of what comes next
    MPI_Request request = MPI_REQUEST_NULL;
    bool hasHead = false;
    std::vector<std::byte> packets = {};
  };

  [[nodiscard]] Peer& peerOf(int process) const { return *m_peers[m_places[process]]; }
  std::uint64_t send(int process, Head head, const std::byte* data,
                     std::shared_ptr<const std::vector<std::byte>> owner);
  bool pollSent(Peer& peer);
  bool pollCome(Peer& peer);
  void listen(Peer& peer);
  void startData(Peer& peer);
  void apply(Peer& peer);
  [[nodiscard]] std::byte* placeOf(const Head& head) const {
    return m_machine.memory()[m_rank].start(static_cast<mscclpp::Buffer>(head.buffer)) + head.offset;
  }

  MPI_Comm m_comm;
  PlanMachine& m_machine;
  int m_rank;
  std::vector<std::size_t> m_places;  ///< in m_peers, by process
  std::vector<std::unique_ptr<Peer>> m_peers;
  std::atomic<std::int64_t> m_given = 0;
  std::int64_t m_taken = 0;
  std::atomic<std::int64_t> m_openReads = 0;
  std::uint64_t m_moves = 0;
};

}  // namespace coppice::executor
