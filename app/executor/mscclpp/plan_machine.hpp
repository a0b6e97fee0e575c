// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "mscclpp/execution_plan.hpp"
#include "plan/types.hpp"

/// An execution plan on threads, as MSCCL++'s kernel runs it: one operation of a threadblock at a time, threadblocks in
/// any order, ports behind the back of those that ask them.
namespace coppice::executor {

/// Memory of one rank.
struct PlanMemory {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};

class PlanMachine {
public:
  PlanMachine(const mscclpp::ExecutionPlan& plan, DataType type, std::int64_t chunkBytes, int workers);

  [[nodiscard]] static std::int64_t scratchBytes(const mscclpp::ExecutionPlan& plan, int rank, std::int64_t chunkBytes);
  [[nodiscard]] std::vector<PlanMemory>& memory() { return m_memory; }

  /// Before the workers start. Launches follow each other rank by rank, as in a stream: no rank waits for another one
  /// between two, unless the plan does.
  void begin(int launches, std::uint64_t seed);
  /// Runs the share of one worker until all launches have ended, nothing moves for `stallSeconds`, or `stop` is set.
  void work(int worker, const std::atomic<bool>& stop, double stallSeconds);
  /// Where threadblocks stand, after a stall; empty where all have ended.
  [[nodiscard]] std::string stuckText() const;
  [[nodiscard]] bool isStalled() const { return m_isStalled; }

private:
  struct Push {
    bool isSignal = false;
    bool isPacked = false;
    const std::byte* source = nullptr;
    std::byte* destination = nullptr;
    std::int64_t bytes = 0;
  };
  struct End {
    int other = -1;
    std::atomic<std::uint64_t> inbound = 0;
    std::uint64_t expected = 0;
    std::mutex mutex = {};
    std::deque<Push> pushes = {};  ///< ports: what the proxy has to do
  };
  struct Barrier {
    std::atomic<int> count = 0;
    std::atomic<std::uint32_t> round = 0;
  };
  struct Block {
    int rank = 0;
    int index = 0;
    int launch = 0;  ///< launches that have ended
    std::size_t op = 0;
    std::size_t inner = 0;
    std::int64_t piece = 0;
    bool isAtBarrier = false;
    bool hasPushed = false;  ///< pwsf: asked, and waits for the proxy
    std::uint32_t round = 0;
    std::vector<std::byte> sum = {};
  };
  struct Span {
    std::byte* at = nullptr;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] const mscclpp::Operation* current(const Block& block) const;
  bool step(Block& block);
  bool execute(Block& block, const mscclpp::Operation& op);
  void advance(Block& block);
  bool move(Block& block, const mscclpp::Operation& op);
  bool moveByPort(Block& block, const mscclpp::Operation& op);
  void serve(End& end, bool all);
  [[nodiscard]] End& endOf(const Block& block, const mscclpp::Operation& op, std::size_t index);
  [[nodiscard]] std::vector<Span> spansOf(const Block& block, const mscclpp::Operation& op,
                                          const mscclpp::ChunkRun& run, bool isPacked) const;
  [[nodiscard]] Span spanOf(const Block& block, const mscclpp::Operation& op, const mscclpp::ChunkRun& run, int owner,
                            mscclpp::Buffer buffer, bool isPacked, bool isRemote) const;
  [[nodiscard]] std::uint32_t flagOf(const Block& block) const {
    return m_launchesBefore + static_cast<std::uint32_t>(block.launch) + 1;
  }
  [[nodiscard]] static bool hasFlags(const Span& packets, std::uint32_t flag);
  static void unpack(std::byte* to, const Span& packets);
  static void pack(const Span& packets, const std::byte* from, std::uint32_t flag);
  static void copyPackets(const std::byte* from, std::byte* to, std::int64_t bytes);
  void add(std::byte* into, const std::byte* other, std::int64_t bytes) const;

  const mscclpp::ExecutionPlan& m_plan;
  DataType m_type;
  std::int64_t m_chunkBytes;
  int m_workers;
  std::vector<PlanMemory> m_memory;
  std::deque<End> m_ends;
  std::vector<std::vector<int>> m_memoryEnds;
  std::vector<std::vector<int>> m_portEnds;
  std::vector<std::deque<std::atomic<int>>> m_semaphores;
  std::vector<std::deque<Barrier>> m_barriers;
  std::vector<Block> m_blocks;
  std::deque<std::atomic<std::int64_t>> m_ended;  ///< by rank: threadblocks that ended, over all launches
  std::uint32_t m_launchesBefore = 0;
  int m_launches = 0;
  std::uint64_t m_seed = 1;
  std::atomic<std::uint64_t> m_moves = 0;
  std::atomic<bool> m_isStalled = false;
};

}  // namespace coppice::executor
