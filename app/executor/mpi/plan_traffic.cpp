// SPDX-License-Identifier: Apache-2.0
#include "mpi/plan_traffic.hpp"

#include <algorithm>
#include <utility>

#include "mpi/waiting.hpp"

namespace coppice::executor {
namespace {

constexpr int kHeadTag = 1;
constexpr int kDataTag = 2;
constexpr std::int64_t kLetterBytes = std::int64_t{1} << 20;

bool isOver(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

}  // namespace

PlanTraffic::PlanTraffic(MPI_Comm comm, const std::vector<int>& peers, PlanMachine& machine, int rank)
    : m_comm(comm), m_machine(machine), m_rank(rank) {
  for (const int process : peers) {
    if (m_places.size() <= static_cast<std::size_t>(process)) {
      m_places.resize(static_cast<std::size_t>(process) + 1);
    }
    m_places[process] = m_peers.size();
    m_peers.push_back(std::make_unique<Peer>());
    m_peers.back()->process = process;
    listen(*m_peers.back());
  }
}

/// In pieces, so that no count exceeds what MPI takes and the other end may begin.
std::uint64_t PlanTraffic::send(int process, Head head, const std::byte* data,
                                std::shared_ptr<const std::vector<std::byte>> owner) {
  Peer& peer = peerOf(process);
  const std::scoped_lock lock(peer.mutex);
  const std::int64_t bytes = data == nullptr ? 0 : head.bytes;
  const std::int64_t start = head.offset;
  for (std::int64_t at = 0; at == 0 || at < bytes; at += kLetterBytes) {
    Letter& letter = peer.letters.emplace_back();
    letter.head = head;
    letter.head.offset = start + at;
    letter.owner = owner;
    letter.number = ++peer.given;
    if (data != nullptr) {
      letter.head.bytes = std::min(kLetterBytes, bytes - at);
      letter.data = data + at;
    }
    if (head.kind == Kind::write || head.kind == Kind::signal) {
      m_given.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return peer.given;
}

std::uint64_t PlanTraffic::write(const FarPlace& to, std::span<const std::byte> data, bool isPacked) {
  return send(to.rank,
              {.buffer = static_cast<std::int32_t>(to.buffer),
               .isPacked = isPacked ? 1 : 0,
               .offset = to.offset,
               .bytes = static_cast<std::int64_t>(data.size())},
              data.data(), nullptr);
}

void PlanTraffic::write(const FarPlace& to, std::vector<std::byte> data, bool isPacked) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  send(to.rank,
       {.buffer = static_cast<std::int32_t>(to.buffer),
        .isPacked = isPacked ? 1 : 0,
        .offset = to.offset,
        .bytes = static_cast<std::int64_t>(owner->size())},
       owner->data(), owner);
}

bool PlanTraffic::isSent(int rank, std::uint64_t number) {
  return peerOf(rank).sent.load(std::memory_order_acquire) >= number;
}

void PlanTraffic::signal(int rank, int end) {
  send(rank, {.kind = Kind::signal, .end = end}, nullptr, nullptr);
}

void PlanTraffic::read(const FarPlace& from, FarRead& into) {
  m_openReads.fetch_add(1, std::memory_order_relaxed);
  send(from.rank,
       {.kind = Kind::question,
        .buffer = static_cast<std::int32_t>(from.buffer),
        .offset = from.offset,
        .bytes = static_cast<std::int64_t>(into.data.size()),
        .read = reinterpret_cast<std::uint64_t>(&into)},
       nullptr, nullptr);
}

bool PlanTraffic::poll() {
  bool moved = false;
  for (const auto& peer : m_peers) {
    moved |= pollCome(*peer);
    moved |= pollSent(*peer);
  }
  m_moves += moved ? 1 : 0;
  return moved;
}

bool PlanTraffic::pollSent(Peer& peer) {
  bool moved = false;
  const std::scoped_lock lock(peer.mutex);
  for (; peer.posted < peer.letters.size(); ++peer.posted) {
    Letter& letter = peer.letters[peer.posted];
    MPI_Isend(&letter.head, sizeof(Head), MPI_BYTE, peer.process, kHeadTag, m_comm, &letter.requests[0]);
    if (letter.data != nullptr) {
      MPI_Isend(letter.data, static_cast<int>(letter.head.bytes), MPI_BYTE, peer.process, kDataTag, m_comm,
                &letter.requests[1]);
    }
    moved = true;
  }
  while (peer.posted > 0 && isOver(peer.letters.front().requests[0]) && isOver(peer.letters.front().requests[1])) {
    peer.sent.store(peer.letters.front().number, std::memory_order_release);
    peer.letters.pop_front();
    --peer.posted;
    moved = true;
  }
  return moved;
}

void PlanTraffic::listen(Peer& peer) {
  peer.hasHead = false;
  MPI_Irecv(&peer.head, sizeof(Head), MPI_BYTE, peer.process, kHeadTag, m_comm, &peer.request);
}

/// The data that follows a head goes to its place; packets are written with their flags when all have come.
void PlanTraffic::startData(Peer& peer) {
  std::byte* to = nullptr;
  if (peer.head.kind == Kind::answer) {
    to = reinterpret_cast<FarRead*>(peer.head.read)->data.data() + peer.head.offset;
  } else if (peer.head.isPacked != 0) {
    peer.packets.resize(static_cast<std::size_t>(peer.head.bytes));
    to = peer.packets.data();
  } else {
    to = placeOf(peer.head);
  }
  peer.hasHead = true;
  MPI_Irecv(to, static_cast<int>(peer.head.bytes), MPI_BYTE, peer.process, kDataTag, m_comm, &peer.request);
}

void PlanTraffic::apply(Peer& peer) {
  const Head& head = peer.head;
  switch (head.kind) {
    case Kind::write:
      if (head.isPacked != 0) {
        PlanMachine::receivePackets(placeOf(head), peer.packets.data(), head.bytes / 2);
      }
      ++m_taken;
      break;
    case Kind::signal:
      m_machine.receive(head.end);
      ++m_taken;
      break;
    case Kind::question:
      send(peer.process, {.kind = Kind::answer, .bytes = head.bytes, .read = head.read}, placeOf(head), nullptr);
      break;
    case Kind::answer:
      if (reinterpret_cast<FarRead*>(head.read)->missing.fetch_sub(head.bytes, std::memory_order_acq_rel) ==
          head.bytes) {
        m_openReads.fetch_sub(1, std::memory_order_relaxed);
      }
      break;
  }
}

bool PlanTraffic::pollCome(Peer& peer) {
  bool moved = false;
  while (isOver(peer.request)) {
    moved = true;
    const bool hasData = peer.head.kind == Kind::answer || (peer.head.kind == Kind::write && peer.head.bytes > 0);
    if (!peer.hasHead && hasData) {
      startData(peer);
      continue;
    }
    apply(peer);
    listen(peer);
  }
  return moved;
}

bool PlanTraffic::isQuiet() {
  return m_openReads.load(std::memory_order_relaxed) == 0 &&
         std::all_of(m_peers.begin(), m_peers.end(), [](const auto& peer) {
           const std::scoped_lock lock(peer->mutex);
           return peer->letters.empty();
         });
}

void PlanTraffic::close() {
  barrier(m_comm);
  for (const auto& peer : m_peers) {
    MPI_Cancel(&peer->request);
    waitFor(peer->request);
  }
  m_peers.clear();
}

}  // namespace coppice::executor
