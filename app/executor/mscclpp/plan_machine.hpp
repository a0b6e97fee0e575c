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
#include "mscclpp/plan_network.hpp"
#include "mscclpp/plan_places.hpp"
#include "plan/types.hpp"

/// An execution plan on threads, or one rank of it in a process of its own, as MSCCL++'s kernel runs it: one operation
/// of a threadblock at a time, threadblocks in any order, ports behind the back of those that ask them.
namespace coppice::executor {

/// Memory of one rank; null where this process does not share it.
struct PlanMemory {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;

  [[nodiscard]] std::byte* start(mscclpp::Buffer buffer) const {
    return buffer == mscclpp::Buffer::input ? input : buffer == mscclpp::Buffer::output ? output : scratch;
  }
};

/// What a channel has been signalled, ever, as its waiting side counts it.
using SignalCounter = std::atomic<std::uint64_t>;
static_assert(SignalCounter::is_always_lock_free);

class PlanMachine {
public:
  /// @param ranks that this machine runs
  PlanMachine(const mscclpp::ExecutionPlan& plan, const std::vector<int>& ranks, DataType type, std::int64_t chunkBytes,
              int workers);

  /// By rank; to be set before the first run.
  [[nodiscard]] std::vector<PlanMemory>& memory() { return m_memory; }
  /// One for each end of a channel of the plan.
  [[nodiscard]] std::size_t counters() const { return m_ends.size(); }
  /// Counters that several machines share, zero before the first run; otherwise the machine has its own.
  void shareCounters(SignalCounter* counters);
  /// Leads to ranks without memory here.
  void setNetwork(PlanNetwork* network) { m_network = network; }
  /// What the network brought. @pre the rank is one of this machine's
  void receive(int end) { m_ends[end].inbound->fetch_add(1, std::memory_order_release); }
  static void receivePackets(std::byte* to, const std::byte* from, std::int64_t bytes) { copyPackets(from, to, bytes); }

  /// Before the workers start. Launches follow each other rank by rank, as in a stream: no rank waits for another one
  /// between two, unless the plan does.
  void begin(int launches, std::uint64_t seed);
  /// Runs the share of one worker until all launches have ended, nothing moves for `stallSeconds`, or `stop` is set.
  void work(int worker, const std::atomic<bool>& stop, double stallSeconds);
  /// Where threadblocks stand, after a stall; empty where all have ended.
  [[nodiscard]] std::string stuckText() const;
  [[nodiscard]] bool isStalled() const { return m_isStalled; }
  /// Operations done, ever.
  [[nodiscard]] std::uint64_t moves() const { return m_moves.load(std::memory_order_relaxed); }

private:
  struct Span {
    std::byte* at = nullptr;  ///< null: behind the network
    std::int64_t bytes = 0;   ///< of data
    bool isPacked = false;
    FarPlace place = {};
  };
  struct Moved {
    std::vector<Span> sources = {};
    std::vector<Span> destinations = {};
    bool waits = false;
  };
  struct Push {
    bool isSignal = false;
    Span source = {};
    Span destination = {};
  };
  struct End {
    std::size_t number = 0;
    SignalCounter* inbound = nullptr;
    std::uint64_t expected = 0;
    std::mutex mutex = {};
    std::deque<Push> pushes = {};  ///< ports: what the proxy has to do
    std::uint64_t lastSent = 0;    ///< ports: what the network was given last
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
    /// By operation; of a pipeline, by what is inside.
    std::vector<std::vector<std::vector<RunTransfer>>> transfers = {};
    std::vector<std::byte> sum = {};
    std::vector<std::byte> part = {};
    std::deque<FarRead> reads = {};  ///< of the current operation
  };

  [[nodiscard]] const mscclpp::Operation* current(const Block& block) const;
  bool step(Block& block);
  bool execute(Block& block, const mscclpp::Operation& op);
  void advance(Block& block);
  bool move(Block& block);
  bool moveByPort(Block& block, const mscclpp::Operation& op);
  /// The sum of the sources of a transfer: where it is.
  const std::byte* addUp(Block& block, const Moved& transfer) const;
  bool fetch(Block& block, std::vector<Moved>& transfers);
  void store(const Span& to, const std::byte* data, std::uint32_t flag);
  [[nodiscard]] int otherOf(const End& end) const { return m_channels.all()[end.number].other; }
  [[nodiscard]] int rankOf(int end) const { return m_channels.all()[end].rank; }
  void signalOther(const End& end);
  void serve(End& end, bool all);
  [[nodiscard]] bool haveBlocksEnded() const;
  [[nodiscard]] End& endOf(const Block& block, const mscclpp::Operation& op, std::size_t index);
  [[nodiscard]] std::vector<Moved> transfersNow(const Block& block) const;
  [[nodiscard]] Span spanOf(const Block& block, const RunPlace& run, std::int64_t bytes) const;
  [[nodiscard]] bool lacksFlags(const Block& block, const Moved& transfer) const;
  [[nodiscard]] std::uint32_t flagOf(const Block& block) const {
    return m_launchesBefore + static_cast<std::uint32_t>(block.launch) + 1;
  }
  [[nodiscard]] static bool hasFlags(const Span& packets, std::uint32_t flag);
  static void unpack(std::byte* to, const Span& packets);
  static void pack(std::byte* to, const std::byte* from, std::int64_t bytes, std::uint32_t flag);
  static void copyPackets(const std::byte* from, std::byte* to, std::int64_t bytes);
  void add(std::byte* into, const std::byte* other, std::int64_t bytes) const;

  const mscclpp::ExecutionPlan& m_plan;
  DataType m_type;
  std::int64_t m_chunkBytes;
  int m_workers;
  std::vector<PlanMemory> m_memory;
  PlanNetwork* m_network = nullptr;
  std::deque<SignalCounter> m_counters;  ///< where they are not shared
  ChannelEnds m_channels;
  std::deque<End> m_ends;  ///< as in m_channels
  std::vector<std::deque<std::atomic<int>>> m_semaphores;
  std::vector<std::deque<Barrier>> m_barriers;
  std::deque<Block> m_blocks;
  std::deque<std::atomic<std::int64_t>> m_ended;  ///< by rank: threadblocks that ended, over all launches
  std::uint32_t m_launchesBefore = 0;
  int m_launches = 0;
  std::uint64_t m_seed = 1;
  std::atomic<std::uint64_t> m_moves = 0;
  std::atomic<bool> m_isStalled = false;
};

}  // namespace coppice::executor
