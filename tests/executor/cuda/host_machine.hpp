// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda/block_interpreter.hpp"
#include "cuda/elements.hpp"
#include "cuda/plan_interpreter.hpp"
#include "engine/half.hpp"
#include "plan/types.hpp"

/// The machine of host threads: one for each lane of each block.
namespace coppice::executor::cuda::test {

/// Where the lanes of a block wait for each other. std::barrier yields before it sleeps, and beside other work each
/// yield takes a turn of that work.
class Meeting {
public:
  explicit Meeting(unsigned lanes) : m_lanes(lanes) {}
  void wait();

private:
  unsigned m_lanes;
  std::atomic<unsigned> m_come = 0;
  std::atomic<unsigned> m_sleepers = 0;
  std::atomic<std::uint32_t> m_round = 0;
};

/// One block of the grid.
template <typename SharedMemory>
struct HostBlock {
  explicit HostBlock(unsigned lanes) : count(lanes), meeting(lanes) {}

  unsigned count;
  Meeting meeting;
  SharedMemory shared;
};

/// Sleep at words, and waking.
class Sleepers {
public:
  /// Wakes who sleeps at a word.
  static void call(const Word* word);
  /// From now on other processes may sleep at any word.
  static void shareMemory();
  /// Sleeps until call, if the half of the word is as seen; for 20 ms at most, since an abort wakes nobody.
  static void sleep(const Word* word, Word seen, bool upperHalf);
};

/// What both interpreters ask for.
template <typename SharedMemory>
class HostLane {
public:
  static constexpr unsigned kPollSpins = 1;

  HostLane(HostBlock<SharedMemory>& block, unsigned lane, const Word* abort)
      : m_block(block), m_lane(lane), m_abort(abort) {}

  [[nodiscard]] unsigned lane() const { return m_lane; }
  [[nodiscard]] unsigned lanes() const { return m_block.count; }
  void sync() {
    if (m_block.count > 1) {
      m_block.meeting.wait();
    }
  }
  SharedMemory& shared() { return m_block.shared; }
  [[nodiscard]] Word acquire(const Word* word) const { return view(word).load(std::memory_order_acquire); }
  void fence() {}  // every publish is a release by itself
  void publish(Word* word, Word value) {
    view(word).store(value);
    Sleepers::call(word);
  }
  [[nodiscard]] bool isAborted() const { return view(m_abort).load(std::memory_order_relaxed) != 0; }
  void report(Word progress) { view(m_block.shared.view.progress).store(progress, std::memory_order_relaxed); }

protected:
  static std::atomic_ref<Word> view(const Word* word) { return std::atomic_ref<Word>(*const_cast<Word*>(word)); }

private:
  HostBlock<SharedMemory>& m_block;
  unsigned m_lane;
  const Word* m_abort;
};

class HostMachine : public HostLane<Shared> {
public:
  HostMachine(HostBlock<Shared>& block, unsigned lane, const RunView& run)
      : HostLane(block, lane, run.abort), m_depth(run.depth) {}

  void idle(const Word* word, Word seen, unsigned spins);
  [[nodiscard]] Word now() const;

private:
  std::uint32_t m_depth;
};

class HostPlanMachine : public HostLane<PlanShared> {
public:
  HostPlanMachine(HostBlock<PlanShared>& block, unsigned lane, const PlanRun& run) : HostLane(block, lane, run.abort) {}

  Word add(Word* word, Word value) {
    const Word before = view(word).fetch_add(value);
    Sleepers::call(word);
    return before;
  }
  Word exchange(Word* word, Word seen, Word by) {
    view(word).compare_exchange_strong(seen, by);
    return seen;
  }
  void idle(const Word* word, Word seen, unsigned /*spins*/) { Sleepers::sleep(word, seen, false); }
  [[nodiscard]] Word loadPacket(const Word* packet) const { return view(packet).load(std::memory_order_acquire); }
  void storePacket(Word* packet, Word value) { view(packet).store(value, std::memory_order_release); }
  /// Packets are stored without a call for each; those who wait sleep at a word for each page of memory.
  [[nodiscard]] Word watch(const Word* packet) const { return acquire(wordOfPage(packet)); }
  void idlePacket(const Word* packet, Word watched, unsigned /*spins*/) {
    Sleepers::sleep(wordOfPage(packet), watched, false);
  }
  void tellPackets(const unsigned char* at, std::int64_t bytes);

private:
  static Word* wordOfPage(const void* at);
};

struct HostHalf {
  static float toFloat(std::uint16_t bits) { return half::fromHalf(bits); }
  static std::uint16_t fromFloat(float value) { return half::toHalf(value); }
};
struct HostBfloat {
  static float toFloat(std::uint16_t bits) { return half::fromBfloat(bits); }
  static std::uint16_t fromFloat(float value) { return half::toBfloat(value); }
};

/// Calls what it is given with the Element of a type.
template <typename Use>
void withElement(DataType type, Use use) {
  switch (type) {
    case DataType::int8:
      return use(PlainElement<std::int8_t>());
    case DataType::uint8:
      return use(PlainElement<std::uint8_t>());
    case DataType::int32:
      return use(PlainElement<std::int32_t>());
    case DataType::int64:
      return use(PlainElement<std::int64_t>());
    case DataType::float16:
      return use(ShortFloatElement<HostHalf>());
    case DataType::bfloat16:
      return use(ShortFloatElement<HostBfloat>());
    case DataType::float32:
      return use(PlainElement<float>());
    case DataType::float64:
      return use(PlainElement<double>());
  }
}

}  // namespace coppice::executor::cuda::test
