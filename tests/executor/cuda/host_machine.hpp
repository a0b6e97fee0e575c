// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <barrier>

#include "cuda/block_interpreter.hpp"
#include "cuda/elements.hpp"
#include "engine/half.hpp"
#include "plan/types.hpp"

/// The machine of host threads: one for each lane of each block.
namespace coppice::executor::cuda::test {

/// One block of the grid.
struct HostBlock {
  explicit HostBlock(unsigned lanes) : count(lanes), meeting(static_cast<std::ptrdiff_t>(lanes)) {}

  unsigned count;
  std::barrier<> meeting;
  Shared shared;
};

class HostMachine {
public:
  static constexpr unsigned kPollSpins = 1;

  HostMachine(HostBlock& block, unsigned lane, const RunView& run) : m_block(block), m_lane(lane), m_run(run) {}

  [[nodiscard]] unsigned lane() const { return m_lane; }
  [[nodiscard]] unsigned lanes() const { return m_block.count; }
  void sync() {
    if (m_block.count > 1) {
      m_block.meeting.arrive_and_wait();
    }
  }
  Shared& shared() { return m_block.shared; }
  [[nodiscard]] Word acquire(const Word* word) const { return view(word).load(std::memory_order_acquire); }
  void fence() {}  // every publish is a release by itself
  void publish(Word* word, Word value);
  /// Wakes who sleeps at a word.
  static void call(const Word* word);
  /// From now on other processes may sleep at any word.
  static void shareMemory();
  void idle(const Word* word, Word seen, unsigned spins);
  [[nodiscard]] bool isAborted() const { return view(m_run.abort).load(std::memory_order_relaxed) != 0; }
  void report(Word progress) { view(m_block.shared.view.progress).store(progress, std::memory_order_relaxed); }
  [[nodiscard]] Word now() const;

private:
  static std::atomic_ref<Word> view(const Word* word) { return std::atomic_ref<Word>(*const_cast<Word*>(word)); }

  HostBlock& m_block;
  unsigned m_lane;
  const RunView& m_run;
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
