// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "cuda/gpus.hpp"
#include "mpi/network.hpp"

/// Ends of connections between blocks and the network: stamps and slots in host memory that the blocks reach.
namespace coppice::executor::cuda {

/// One strand of a connection's end.
struct StampRing {
  Word* stamps = nullptr;  ///< depth
  Word* head = nullptr;
  unsigned char* slots = nullptr;
  std::uint64_t depth = 1;
  std::int64_t stride = 0;

  [[nodiscard]] unsigned char* slot(std::uint64_t number) const {
    return slots + static_cast<std::int64_t>(number % depth) * stride;
  }
  [[nodiscard]] std::atomic_ref<Word> stamp(std::uint64_t number) const {
    return std::atomic_ref<Word>(stamps[number % depth]);
  }
};

/// A block puts messages into the ring.
class StampSender : public SendingEnd {
public:
  StampSender(Gpus& gpus, const StampRing& ring) : m_gpus(gpus), m_ring(ring) {}
  [[nodiscard]] std::optional<std::span<const std::byte>> message(std::uint64_t number) const override {
    const Word stamp = m_ring.stamp(number).load(std::memory_order_acquire);
    if (!isStampOf(stamp, number)) {
      return std::nullopt;
    }
    return std::span<const std::byte>(reinterpret_cast<const std::byte*>(m_ring.slot(number) + stampSkew(stamp)),
                                      static_cast<std::size_t>(stampBytes(stamp)));
  }
  void setHead(std::uint64_t head) override {
    std::atomic_ref<Word>(*m_ring.head).store(head, std::memory_order_release);
    m_gpus.wake(m_ring.head);
  }

private:
  Gpus& m_gpus;
  StampRing m_ring;
};

/// A block takes messages from the ring.
class StampReceiver : public ReceivingEnd {
public:
  StampReceiver(Gpus& gpus, const StampRing& ring) : m_gpus(gpus), m_ring(ring) {}
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t number) const override {
    return {reinterpret_cast<std::byte*>(m_ring.slot(number)), static_cast<std::size_t>(m_ring.stride)};
  }
  void setArrived(std::uint64_t number, std::int64_t bytes) override {
    m_ring.stamp(number).store(makeStamp(number, 0, bytes), std::memory_order_release);
    m_gpus.wake(m_ring.stamps + number % m_ring.depth);
  }
  [[nodiscard]] std::uint64_t consumed() const override {
    return std::atomic_ref<Word>(*m_ring.head).load(std::memory_order_acquire);
  }

private:
  Gpus& m_gpus;
  StampRing m_ring;
};

}  // namespace coppice::executor::cuda
