// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "mscclpp/execution_plan.hpp"
#include "verify/mscclpp_faults.hpp"
#include "verify/mscclpp_goal.hpp"
#include "verify/mscclpp_memory.hpp"
#include "verify/mscclpp_run.hpp"
#include "verify/mscclpp_shape.hpp"
#include "verify/mscclpp_values.hpp"

/// Internal to the check of execution plans: all threadblocks of all ranks, and what each knows of the others.
namespace coppice::verify::mscclpp_run {

using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::ExecutionPlan;
using mscclpp::Gpu;
using mscclpp::Operation;
using mscclpp::OpPlace;
using mscclpp::OpType;
using mscclpp::ThreadBlock;
using program::Buffer;
using RunPlace = ChunkRun::Place;

/// A signal on its way, or a release: what its sender knew.
struct Notice {
  MscclppTimes times;
  bool isRelaxed = false;
};

/// One end of a channel.
struct End {
  int rank = -1;
  int peer = -1;
  bool isPort = false;
  int number = 0;                   ///< among those of its type
  int other = -1;                   ///< the paired end, -1 = none
  std::deque<Notice> notices = {};  ///< for the waits of this end
  std::vector<int> sleepers = {};   ///< threadblocks that wait for notices
  int sent = 0;                     ///< in this launch
  int waited = 0;
  OpPlace lastSignal = {};
  // Who used it last, to see that no two threadblocks do without order.
  std::int32_t signaller = -1;
  std::uint32_t signalEpoch = 0;
  std::int32_t waiter = -1;
  std::uint32_t waitEpoch = 0;
  // Ports: the proxy.
  std::int32_t actor = -1;
  MscclppTimes proxy = {};
  std::int32_t pusher = -1;
  std::uint32_t pushEpoch = 0;
  int pushLane = -1;
};

struct Semaphore {
  int value = 0;
  int acquires = 0;
  struct Release {
    std::int32_t actor = 0;
    std::uint32_t epoch = 0;
    MscclppTimes times = {};
  };
  std::vector<Release> releases = {};
  std::vector<std::pair<std::int32_t, std::uint32_t>> acquirers = {};
  std::set<int> users = {};
  std::vector<int> sleepers = {};  ///< threadblocks that wait for it
};

struct Barrier {
  std::vector<int> arrived = {};
  std::vector<std::pair<std::int32_t, std::uint32_t>> last = {};  ///< who left it last, and when
  std::set<int> freed = {};
};

struct Block {
  int rank = 0;
  int index = 0;
  std::size_t op = 0;
  std::size_t inner = 0;
  std::int64_t piece = 0;  ///< of a pipeline
  bool isDone = false;
  bool isAtBarrier = false;
  MscclppTimes base = {};
  std::map<int, MscclppTimes> lanes = {};                   ///< what single threads heard since the last nop
  MscclppHistory::Moment flags = MscclppHistory::kNothing;  ///< what packets told since the last nop
};

/// A run of cells as an operation meets it.
struct Cells {
  std::int64_t first = 0;
  std::int64_t count = 0;      ///< of data; packets take twice as many cells
  std::int64_t wrapFrom = -1;  ///< start of a chunk of scratch that comes round; -1 = it does not
  bool isPacked = false;
};

/// A plan at one size.
class Run {
public:
  Run(const ExecutionPlan& plan, const MscclppShape& shape, const MscclppCheckOptions& options, MscclppFaults& faults,
      const Progress& progress);

  Result<MscclppOutcome> run();

private:
  void makeActors();
  void noteUsers(const Block& block, const Operation& op);
  void join(int actor, MscclppTimes& mine, const MscclppTimes& other) {
    mine.seen = m_seen->join(actor, mine.seen, other.seen);
    mine.ended = m_ended->join(actor, mine.ended, other.ended);
  }
  void mark(int actor, MscclppTimes& mine) {
    mine.seen = m_seen->mark(actor, mine.seen);
    mine.ended = m_ended->mark(actor, mine.ended);
  }

  /// The k-th of one rank to another is paired with the k-th of the other to the one.
  void pairEnds();

  [[nodiscard]] int actorOf(const Block& block) const { return m_firstBlock[block.rank] + block.index; }
  [[nodiscard]] int callerOf(int rank) const { return m_firstCaller + rank; }

  // Launches.

  void startLaunch();

  /// The caller goes on when all threadblocks of the rank have ended.
  void finishLaunch();

  /// The caller reads and writes its buffers from here on.
  void checkLeft(int rank, std::int64_t cell, const MscclppTimes& caller);

  void checkBalance();

  static std::string channelText(const End& end);

  // The run.

  /// False after a deadlock.
  bool play();
  void wake(int block);
  void wakeAll(std::vector<int>& sleepers);

  [[nodiscard]] const Operation* current(const Block& block, OpPlace& place) const;
  [[nodiscard]] std::int64_t unitOf(const Block& block) const;
  [[nodiscard]] std::int64_t piecesOf(const Operation& pipeline) const;

  void advance(Block& block);

  /// One operation; false where it has to wait.
  bool step(Block& block, bool mayShare);

  bool execute(Block& block, const Operation& op, const OpPlace& place, bool mayShare);

  // Synchronisation.

  /// Everything that the threads of a block did and heard is known to all of them.
  void nop(Block& block);
  [[nodiscard]] std::uint32_t epochOf(const Block& block) const { return m_seen->epochOf(actorOf(block)) + 1; }
  MscclppTimes& laneOf(Block& block, int lane);
  [[nodiscard]] const MscclppTimes& knownTo(const Block& block, int lane) const;

  bool barrier(Block& block, const Operation& op, const OpPlace& place);

  void release(Block& block, const Operation& op);

  static bool isShared(const Semaphore& semaphore);

  bool acquire(Block& block, const Operation& op, bool mayShare);

  /// Of which releases an acquire is certain: those without which fewer than needed could have come.
  void joinReleases(const Semaphore& semaphore, int needed, int actor, MscclppTimes& mine);

  [[nodiscard]] End& endOf(const Block& block, const Operation& op, std::size_t index);

  void checkUser(const Block& block, std::int32_t& user, std::uint32_t& epoch, const MscclppTimes& known,
                 const End& end, const char* does, const OpPlace& place);

  void signal(Block& block, const Operation& op, const OpPlace& place);
  void sendSignal(End& end, const MscclppTimes& known, bool isRelaxed, const OpPlace& place);

  bool wait(Block& block, const Operation& op, const OpPlace& place);

  /// A thread asks the proxy, which does all in the order in which it was asked.
  void push(Block& block, End& end, const MscclppTimes& known, int lane, const OpPlace& place, bool isSignal);

  // Data.

  [[nodiscard]] int half() const { return m_plan.doublesScratch ? (m_launch + 1) % 2 : 0; }

  /// @param position bytes of a pipeline's pieces before this one, in cells; unit 0 = no pipeline
  [[nodiscard]] Cells cellsOf(const Operation& op, const ChunkRun& run, int owner, Buffer buffer, bool isPacked,
                              bool isRemote, std::int64_t offset, std::int64_t unit) const;
  [[nodiscard]] std::int64_t cellAt(const Cells& cells, std::int64_t i) const;

  [[nodiscard]] std::vector<Cells> resolve(const Block& block, const Operation& op, const ChunkRun& run, bool isPacked,
                                           std::int64_t offset, std::int64_t unit) const;

  std::int32_t newInstance(const OpPlace& place);

  /// Sources and destinations of one transfer.
  struct Transfer {
    std::vector<Cells> sources = {};
    std::vector<Cells> destinations = {};
  };

  bool move(Block& block, const Operation& op, const OpPlace& place);

  [[nodiscard]] bool hasPackets(const Block& block, const std::vector<Transfer>& transfers);

  /// What the writers of packets had done before has ended; nothing says that it can be read.
  void hearFlags(Block& block, const std::vector<Transfer>& transfers, MscclppTimes& times);

  void moveByPort(Block& block, const Operation& op, const OpPlace& place, const std::vector<Transfer>& transfers,
                  bool waits);

  /// A port carries data to the rank that it is connected to.
  void checkEnd(const End& end, const Cells& destination, const OpPlace& place);

  void transferCells(const Transfer& transfer, MscclppAccess access, const MscclppTimes& times);

  int readCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times);

  void writeCell(const Cells& cells, std::int64_t i, const MscclppAccess& access, const MscclppTimes& times, int value);

  static void note(std::vector<MscclppAccess>& reads, const MscclppAccess& access);

  void read(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times);

  void write(std::int64_t cell, const MscclppAccess& access, const MscclppTimes& times, int value);

  /// The same thread of the same operation, which reads before it writes.
  static bool isSameOperation(const MscclppAccess& first, const MscclppAccess& second, bool bothWrite);

  [[nodiscard]] bool isOrdered(const MscclppAccess& first, const MscclppTimes& times, bool isRead);

  /// Whether a read has ended because packets told so: what it read went into packets, position by position, and
  /// the reader of these has ended, or is the one that writes now, at the same position.
  [[nodiscard]] bool isChained(const MscclppAccess& first, const MscclppAccess& second, const MscclppTimes& times);

  // Texts.

  [[nodiscard]] int ownerOf(std::int64_t cell) const;
  [[nodiscard]] std::string nameOf(std::int64_t cell) const;
  [[nodiscard]] std::string whoText(const MscclppAccess& access) const;
  [[nodiscard]] const Operation* opAt(const OpPlace& place) const;

  void tellRace(std::int64_t cell, const MscclppAccess& first, const char* firstDoes, const MscclppAccess& second,
                const char* secondDoes, const MscclppTimes& times);

  void tellDeadlock();
  void tellStuck(const Block& block, const Operation& op, const OpPlace& place);

  const ExecutionPlan& m_plan;
  MscclppShape m_shape;
  MscclppFaults& m_faults;
  const Progress& m_progress;
  MscclppLayout m_layout;
  MscclppValues m_values;
  MscclppGoal m_goal;
  int m_launch = 1;
  std::uint64_t m_events = 0;
  std::size_t m_actors = 0;
  int m_firstCaller = 0;
  std::vector<Block> m_blocks;
  std::vector<int> m_firstBlock;  ///< by rank; one more at the end
  std::vector<End> m_ends;
  std::vector<std::vector<int>> m_memoryEnds;  ///< by rank and channel
  std::vector<std::vector<int>> m_portEnds;
  std::vector<std::vector<Semaphore>> m_semaphores;
  std::vector<std::vector<Barrier>> m_barriers;
  /// Two graphs: MscclppTimes.
  std::optional<MscclppHistory> m_seen;
  std::optional<MscclppHistory> m_ended;
  std::vector<MscclppTimes> m_callers;
  std::vector<MscclppCell> m_cells;
  std::vector<MscclppInstance> m_instances;
  std::deque<int> m_ready;                         ///< threadblocks that may go on
  std::vector<bool> m_isReady;                     ///< by threadblock
  std::set<int> m_sharing;                         ///< those that only wait for others at a shared semaphore
  std::vector<std::vector<int>> m_packetSleepers;  ///< by rank: threadblocks that wait for packets there
  /// By instance that wrote packets: what had ended before.
  std::unordered_map<std::int32_t, MscclppHistory::Moment> m_sentWith;
  std::set<std::tuple<int, int, int, int, int, int>> m_told;
};

}  // namespace coppice::verify::mscclpp_run
