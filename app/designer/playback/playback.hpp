// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/canvas/motion.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/timeline/timeline_view.hpp"
#include "designer/trees/fabric_map.hpp"
#include "simulate/sweep.hpp"

namespace coppice::designer {

/// A simulated run of a schedule at one size, message by message. Times are in nanoseconds. Immutable.
class Playback {
public:
  struct Message {
    double begin = 0;    ///< first byte on its links
    double end = 0;      ///< last byte has left
    double arrived = 0;  ///< last byte at the receiver
    simulate::MessageId message = 0;
    std::uint32_t phase = 0;
    std::optional<simulate::Wait> waitedFor = {};  ///< of the critical path alone
  };
  /// `parts`: trees, steps or transfers, whatever the run counts. `blocks`: threadblocks of a program's run.
  enum class LaneKind { links, gpus, parts, blocks };
  /// What gives messages their colour: the part, the shard whose data they are, or the box of its GPU.
  enum class ColorBy { parts, shards, boxes };
  /// `program`: what the schedule is lowered to for an in-place call (where there is one), with its threadblocks.
  enum class Played { schedule, program };

  /// Simulates and records. Meant for another thread. Errors: those of the simulator and of lowering, limit (too many
  /// messages).
  [[nodiscard]] static Result<std::shared_ptr<const Playback>> record(const ScheduleResultPtr& result,
                                                                      std::int64_t bytes, const Progress& progress,
                                                                      Played played = Played::schedule);

  /// Of a run that was recorded already, simulated or measured, on the fabric of the result.
  [[nodiscard]] static std::shared_ptr<const Playback> of(ScheduleResultPtr result, simulate::Details details);

  [[nodiscard]] const ScheduleResult& result() const { return *m_result; }
  /// By record(), of the schedule itself.
  [[nodiscard]] bool isSimulated() const { return m_subject != nullptr; }
  [[nodiscard]] std::int64_t bytes() const { return m_bytes; }
  /// Until the last byte has arrived, ns.
  [[nodiscard]] double duration() const { return m_duration; }
  [[nodiscard]] const simulate::Row& row() const { return m_details.row; }
  [[nodiscard]] std::size_t messageCount() const { return m_order.size(); }
  /// The one that begins at-th.
  [[nodiscard]] Message messageAt(std::size_t at) const;
  /// What there is to draw of a message. Times in ns.
  struct Track {
    double begin = 0;
    double end = 0;
    double arrived = 0;
    std::span<const std::int32_t> arcs;  ///< of its route, in order; empty for a copy within a GPU
    double bytes = 0;
    fabric::Rank to = 0;
    int category = 0;      ///< gives its colour
    std::size_t part = 0;  ///< for partName()
  };
  /// Of the one that begins at-th.
  [[nodiscard]] Track trackAt(std::size_t at, ColorBy color = ColorBy::parts) const;
  /// "Tree 5", "Step 2".
  [[nodiscard]] QString partName(std::size_t part) const { return laneName(part, LaneKind::parts); }
  /// "b0g0 → b0nvs": of an arc of the fabric.
  [[nodiscard]] QString linkName(std::size_t arc) const { return arcName(arc); }
  /// "simulated with the trees of 256 of 4096 GPUs"; empty where all are.
  [[nodiscard]] const QString& sample() const { return m_sample; }
  /// Begins of the messages of the critical path, ascending.
  [[nodiscard]] const std::vector<double>& criticalTimes() const { return m_criticalTimes; }
  /// One lane for each link direction that carries something, for each GPU that sends, or for each part. Items are
  /// messages.
  [[nodiscard]] std::vector<TimelineLane> lanes(LaneKind kind, ColorBy color = ColorBy::parts) const;
  /// The same, whose bars are made when they are drawn: for runs of many messages. The run is kept by what comes back.
  /// Empty after a cancel.
  [[nodiscard]] static TimelineLanes lanesOnDemand(const std::shared_ptr<const Playback>& run, LaneKind kind,
                                                   ColorBy color, const Progress& progress = {});
  /// Runs with more messages have lanes on demand.
  static constexpr std::size_t kManyMessages = 500'000;
  /// Messages of a schedule that are recorded, before pieces. Of larger ones some roots stand for all.
  static constexpr std::int64_t kMaxPlayedMessages = std::int64_t{1} << 20;
  /// As TimelineLanes takes it.
  [[nodiscard]] static const char* waitName(std::uint8_t wait);
  /// Lanes of two runs, those of one link or GPU under each other: TimelineLane::source is 0 for the first run, 1 for
  /// the second.
  [[nodiscard]] static std::vector<TimelineLane> lanesOfBoth(const Playback& first, const Playback& second,
                                                             LaneKind kind, ColorBy color = ColorBy::parts);
  /// What is under way at that time.
  [[nodiscard]] Motion motionAt(double time, const FabricMap& map, ColorBy color = ColorBy::parts) const;
  /// Indices of the messages under way at that time, in order, at most `max`.
  [[nodiscard]] std::vector<std::size_t> activeAt(double time, std::size_t max) const;
  /// What the parts are: "Trees", "Steps" or "Transfers".
  [[nodiscard]] QString partsName() const;
  /// How many messages are under way at that time.
  [[nodiscard]] std::int64_t activeCount(double time) const;
  /// GB/s that all GPUs send together, the mean of each of `parts` equal parts of the run.
  [[nodiscard]] std::vector<double> throughput(std::size_t parts) const;
  /// "rank 0 to rank 3, tree 5: 64 KiB, 12.3 µs from 4 µs; on the critical path: waited for its data"
  [[nodiscard]] QString describe(std::size_t message) const;
  /// Totals between two times: bytes sent, messages, the busiest link with its use.
  [[nodiscard]] QString describeRange(double begin, double end) const;
  [[nodiscard]] const simulate::Details& details() const { return m_details; }

private:
  /// Messages that are skipped together where all of them have arrived.
  static constexpr std::size_t kBlock = 256;
  /// Between two looks at the stop token.
  static constexpr std::size_t kMessagesPerLook = std::size_t{1} << 16;
  /// Runs with more messages keep the use of each link for parts of the time, as no frame can add up all of them.
  static constexpr std::size_t kMaxExactMessages = 50'000;
  static constexpr std::size_t kParts = 512;
  static constexpr std::size_t kPartsOfPhase = std::size_t{1} << 32;
  static constexpr std::size_t kBlocksOfRank = std::size_t{1} << 20;
  void collect(const Progress& progress = {});
  [[nodiscard]] std::uint32_t phaseOf(std::size_t interval) const;
  /// Without the wait.
  [[nodiscard]] Message intervalTimes(std::size_t interval) const;
  /// Place in m_order of the first that begins then or later.
  [[nodiscard]] std::size_t firstFrom(double time) const;
  [[nodiscard]] TimelineBar barOf(std::size_t at, const Message& message, ColorBy color) const;
  /// Calls add(key) for each lane that the message is in.
  template <typename Add>
  void eachLane(const Message& message, LaneKind kind, const Add& add) const;
  /// Throws CancelledError.
  void addUpParts(const Progress& progress);
  void addUpArrivals();
  [[nodiscard]] std::vector<Motion::Arrival> arrivalsAt(double time, const FabricMap& map) const;
  /// By arc or rank, without names.
  [[nodiscard]] std::map<std::size_t, TimelineLane> lanesByKey(LaneKind kind, ColorBy color) const;
  [[nodiscard]] QString laneName(std::size_t key, LaneKind kind) const;
  /// Its key among the lanes of parts.
  [[nodiscard]] std::size_t partOf(const Message& message) const;
  [[nodiscard]] bool isSameGroup(std::size_t key, std::size_t before, LaneKind kind) const;
  /// GB/s of the arcs that carry something, ascending by arc.
  [[nodiscard]] std::vector<std::pair<std::size_t, double>> ratesAt(double time) const;
  [[nodiscard]] const simulate::Job& jobOf(const Message& message) const {
    return *m_details.phases[message.phase].job;
  }
  [[nodiscard]] const simulate::Message& messageOf(const Message& message) const {
    return jobOf(message).messages()[message.message];
  }
  [[nodiscard]] std::span<const std::int32_t> arcsOf(const Message& message) const;
  [[nodiscard]] double bytesOf(const Message& message) const;
  /// As people count: steps from 1.
  [[nodiscard]] int labelOf(const Message& message) const;
  /// Gives the colour.
  [[nodiscard]] int categoryOf(const Message& message, ColorBy color) const;
  [[nodiscard]] QString gpuName(fabric::Rank rank) const;
  [[nodiscard]] QString arcName(std::size_t arc) const;

  ScheduleResultPtr m_result;
  std::shared_ptr<const program::Program> m_program;  ///< that is played; nullptr = the schedule
  std::unique_ptr<simulate::Subject> m_subject;       ///< keeps what the jobs refer to
  std::int64_t m_bytes = 0;
  simulate::Details m_details;
  std::vector<int> m_boxOf;  ///< by rank
  double m_duration = 0;
  double m_longest = 0;                ///< of the messages
  std::vector<double> m_blockArrived;  ///< by block of kBlock messages: the last arrival
  QString m_sample;
  std::vector<std::size_t> m_firstOfPhase;  ///< by phase: its first interval among those of all phases
  std::vector<double> m_beginOfPhase;       ///< ns
  std::vector<std::uint32_t> m_order;       ///< intervals of all phases, by begin
  /// Messages of the critical path, by their place in m_order.
  std::unordered_map<std::size_t, simulate::Wait> m_critical;
  std::vector<double> m_arrivals;  ///< of all messages, ascending
  std::vector<float> m_partRates;  ///< by part of the time, then arc: mean GB/s; empty for runs of few messages
  std::vector<double> m_criticalTimes;
  /// What a GPU receives, ascending.
  struct Received {
    std::vector<double> times;
    std::vector<double> bytes;   ///< up to each of the times
    std::vector<double> merges;  ///< times of those that were added to what it had
  };
  std::vector<Received> m_received;  ///< by rank; empty for runs of many messages
  /// Runs of many messages: by part of the time, then rank, the share of its data that a GPU has.
  std::vector<float> m_partShares;
  std::vector<bool> m_partMerges;  ///< and whether it added something
};
using PlaybackPtr = std::shared_ptr<const Playback>;

}  // namespace coppice::designer
