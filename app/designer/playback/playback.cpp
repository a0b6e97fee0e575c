// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/playback/playback.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "base/failure.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/prediction.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "fabric/gpu_boxes.hpp"
#include "lowering/lowering.hpp"
#include "workflow/guarded.hpp"
#include "workflow/measured_run.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct PlaybackTexts {
  Q_DECLARE_TR_FUNCTIONS(Playback)
};

constexpr double kPlaybackNanoseconds = 1000;  // in a microsecond
/// How far collect() is, about.
constexpr double kSorted = 0.3;
constexpr double kAddedUp = 0.8;

QString waitText(simulate::Wait wait) {
  switch (wait) {
    case simulate::Wait::nothing:
      return PlaybackTexts::tr("did not wait");
    case simulate::Wait::data:
      return PlaybackTexts::tr("waited for its data");
    case simulate::Wait::order:
      return PlaybackTexts::tr("waited for the previous message");
    case simulate::Wait::window:
      return PlaybackTexts::tr("waited for messages of its connection to arrive");
    case simulate::Wait::threadblock:
      return PlaybackTexts::tr("waited for the previous step of its threadblock");
    case simulate::Wait::dependency:
      return PlaybackTexts::tr("waited for another threadblock");
    case simulate::Wait::space:
      return PlaybackTexts::tr("waited for space at the receiver");
    case simulate::Wait::barrier:
      return PlaybackTexts::tr("waited for the end of the previous step");
  }
  return {};
}

/// Runs that some part of the window still shows. One that asks for the same takes it: runs of large fabrics fill the
/// memory.
class ShownRuns {
public:
  struct Key {
    const ScheduleResult* result = nullptr;
    std::int64_t bytes = 0;
    Playback::Played played = Playback::Played::schedule;
    std::uint64_t settings = 0;

    friend bool operator==(const Key&, const Key&) = default;
  };

  [[nodiscard]] PlaybackPtr find(const Key& key) {
    const std::lock_guard lock(m_mutex);
    for (const auto& [known, run] : m_runs) {
      if (known == key) {
        return run.lock();
      }
    }
    return nullptr;
  }
  void add(const Key& key, const PlaybackPtr& run) {
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_runs, [&](const auto& each) { return each.first == key || each.second.expired(); });
    m_runs.emplace_back(key, run);
  }

private:
  std::mutex m_mutex;
  std::vector<std::pair<Key, std::weak_ptr<const Playback>>> m_runs;
};

ShownRuns& shownRuns() {
  static ShownRuns runs;
  return runs;
}

}  // namespace

Result<PlaybackPtr> Playback::record(const ScheduleResultPtr& result, std::int64_t bytes, const Progress& progress,
                                     Played played) {
  const ShownRuns::Key key{result.get(), bytes, played, SimulationSettings::instance().revision()};
  if (PlaybackPtr shown = shownRuns().find(key)) {
    return shown;
  }
  return workflow::guarded<PlaybackPtr>([&]() -> Result<PlaybackPtr> {
    auto playback = std::make_shared<Playback>();
    playback->m_result = result;
    playback->m_bytes = bytes;
    if (played == Played::program && !result->program) {
      const bool isInPlace = lowering::hasInPlace(result->options.collective);
      auto program = workflow::executedProgram(*result->fabric, result->schedule, isInPlace, progress);
      if (!program) {
        return program.error();
      }
      playback->m_program = std::make_shared<const program::Program>(*std::move(program));
      playback->m_subject =
          simulate::subjectOf(*result->fabric, *playback->m_program, SimulationSettings::instance().modelFor(*result));
    } else {
      auto subject = subjectOf(*result, progress, kMaxPlayedMessages);
      if (!subject) {
        return subject.error();
      }
      playback->m_subject = *std::move(subject);
      playback->m_sample = sampleText(*result, kMaxPlayedMessages);
    }
    auto details = playback->m_subject->simulate(bytes, {.record = true}, progress);
    if (!details) {
      return details.error();
    }
    playback->m_details = *std::move(details);
    playback->collect(progress);
    const PlaybackPtr run = std::move(playback);
    shownRuns().add(key, run);
    return run;
  });
}

PlaybackPtr Playback::of(ScheduleResultPtr result, simulate::Details details) {
  auto playback = std::make_shared<Playback>();
  playback->m_result = std::move(result);
  playback->m_bytes = details.row.size;
  playback->m_details = std::move(details);
  playback->collect();
  return playback;
}

void Playback::collect(const Progress& progress) {
  // A box is as one colour; GPUs without a box are boxes of their own.
  const fabric::Fabric& fabric = *m_result->fabric;
  m_boxOf = fabric::gpuBoxes(fabric, fabric::Unboxed::alone).boxOf;
  struct Begin {
    double time = 0;
    std::uint32_t interval = 0;
  };
  std::vector<Begin> begins;
  std::vector<std::pair<std::uint32_t, simulate::Wait>> critical;  // by interval
  Microseconds offset(0);
  for (const simulate::Phase& phase : m_details.phases) {
    const simulate::Run& run = phase.run;
    m_firstOfPhase.push_back(begins.size());
    m_beginOfPhase.push_back(offset.count() * kPlaybackNanoseconds);
    std::map<std::pair<simulate::MessageId, std::uint32_t>, simulate::Wait> waits;
    for (const simulate::CriticalMessage& each : run.criticalPath) {
      waits[{each.when.message, each.when.repeat}] = each.waitedFor;
    }
    begins.reserve(begins.size() + run.intervals.size());
    m_arrivals.reserve(begins.capacity());
    for (const simulate::Interval& interval : run.intervals) {
      const auto at = static_cast<std::uint32_t>(begins.size());
      if (at % kMessagesPerLook == 0) {
        throwIfCancelled(progress);
      }
      const double begin = m_beginOfPhase.back() + interval.flowing.count() * kPlaybackNanoseconds;
      const double arrived = m_beginOfPhase.back() + interval.arrived.count() * kPlaybackNanoseconds;
      begins.push_back({begin, at});
      m_arrivals.push_back(arrived);
      m_longest = std::max(m_longest, arrived - begin);
      if (const auto found = waits.find({interval.message, interval.repeat}); found != waits.end()) {
        critical.emplace_back(at, found->second);
      }
    }
    offset += run.time;
  }
  progress.report("collecting", kSorted);
  m_duration = offset.count() * kPlaybackNanoseconds;
  std::sort(begins.begin(), begins.end(), [](const Begin& a, const Begin& b) {
    return a.time != b.time ? a.time < b.time : a.interval < b.interval;
  });
  throwIfCancelled(progress);
  m_order.reserve(begins.size());
  for (const Begin& begin : begins) {
    m_order.push_back(begin.interval);
  }
  for (const auto& [interval, wait] : critical) {
    const double begin = intervalTimes(interval).begin;
    const auto place = std::lower_bound(
        begins.begin(), begins.end(), Begin{begin, interval},
        [](const Begin& a, const Begin& b) { return a.time != b.time ? a.time < b.time : a.interval < b.interval; });
    m_critical.emplace(static_cast<std::size_t>(place - begins.begin()), wait);
    m_criticalTimes.push_back(begin);
  }
  begins = {};
  std::sort(m_criticalTimes.begin(), m_criticalTimes.end());
  m_blockArrived.assign((m_order.size() + kBlock - 1) / kBlock, 0);
  for (std::size_t at = 0; at < m_order.size(); ++at) {
    double& last = m_blockArrived[at / kBlock];
    last = std::max(last, m_arrivals[m_order[at]]);
  }
  throwIfCancelled(progress);
  progress.report("collecting", kAddedUp);
  if (m_order.size() > kMaxExactMessages) {
    const std::jthread sorting([this] { std::sort(m_arrivals.begin(), m_arrivals.end()); });
    addUpParts(progress);
  } else {
    std::sort(m_arrivals.begin(), m_arrivals.end());
    addUpArrivals();
  }
}

std::uint32_t Playback::phaseOf(std::size_t interval) const {
  std::uint32_t phase = 0;
  while (phase + 1 < m_firstOfPhase.size() && interval >= m_firstOfPhase[phase + 1]) {
    ++phase;
  }
  return phase;
}

Playback::Message Playback::intervalTimes(std::size_t interval) const {
  const std::uint32_t phase = phaseOf(interval);
  const simulate::Interval times = m_details.phases[phase].run.intervals[interval - m_firstOfPhase[phase]];
  // Added as collect() adds it: the same begin to the last bit.
  const double offset = m_beginOfPhase[phase];
  Message message;
  message.begin = offset + times.flowing.count() * kPlaybackNanoseconds;
  message.end = offset + times.left.count() * kPlaybackNanoseconds;
  message.arrived = offset + times.arrived.count() * kPlaybackNanoseconds;
  message.message = times.message;
  message.phase = phase;
  return message;
}

Playback::Message Playback::messageAt(std::size_t at) const {
  Message message = intervalTimes(m_order[at]);
  if (!m_critical.empty()) {
    if (const auto found = m_critical.find(at); found != m_critical.end()) {
      message.waitedFor = found->second;
    }
  }
  return message;
}

void Playback::addUpArrivals() {
  std::vector<std::uint32_t> byArrival;
  std::vector<Message> all;
  for (std::size_t at = 0; at < m_order.size(); ++at) {
    all.push_back(messageAt(at));
    if (!arcsOf(all.back()).empty()) {
      byArrival.push_back(static_cast<std::uint32_t>(at));
    }
  }
  std::sort(byArrival.begin(), byArrival.end(),
            [&](std::uint32_t a, std::uint32_t b) { return all[a].arrived < all[b].arrived; });
  m_received.resize(m_result->fabric->gpus().size());
  for (const std::uint32_t at : byArrival) {
    const Message& message = all[at];
    Received& received = m_received[messageOf(message).to];
    received.times.push_back(message.arrived);
    received.bytes.push_back((received.bytes.empty() ? 0 : received.bytes.back()) + bytesOf(message));
    if (messageOf(message).reduces) {
      received.merges.push_back(message.arrived);
    }
  }
}

std::vector<Motion::Arrival> Playback::arrivalsAt(double time, const FabricMap& map) const {
  // Long enough to be seen at the usual speed.
  constexpr double kMergeShare = 0.03;
  std::vector<Motion::Arrival> arrivals;
  if (time < 0 || time > m_duration) {
    return arrivals;
  }
  if (!m_partShares.empty()) {
    const std::size_t gpus = m_result->fabric->gpus().size();
    const std::size_t part = std::min(static_cast<std::size_t>(time / m_duration * kParts), kParts - 1);
    constexpr auto kMergeParts = static_cast<std::size_t>(kMergeShare * kParts);
    for (std::size_t rank = 0; rank < gpus; ++rank) {
      const NodeId gpu = map.nodeOf(m_result->fabric->gpus()[rank]);
      if (m_partShares[(kParts - 1) * gpus + rank] <= 0 || !gpu.isValid()) {
        continue;
      }
      Motion::Arrival arrival{gpu};
      arrival.share = m_partShares[part * gpus + rank];
      for (std::size_t before = 0; before < kMergeParts && before <= part && arrival.merging <= 0; ++before) {
        arrival.merging = m_partMerges[(part - before) * gpus + rank]
                              ? 1 - static_cast<double>(before) / static_cast<double>(kMergeParts)
                              : 0;
      }
      arrivals.push_back(arrival);
    }
    return arrivals;
  }
  for (std::size_t rank = 0; rank < m_received.size(); ++rank) {
    const Received& received = m_received[rank];
    const NodeId gpu = map.nodeOf(m_result->fabric->gpus()[rank]);
    if (received.times.empty() || !gpu.isValid()) {
      continue;
    }
    Motion::Arrival arrival{gpu};
    const auto last =
        time < m_duration ? std::upper_bound(received.times.begin(), received.times.end(), time) : received.times.end();
    const auto count = last - received.times.begin();
    arrival.share = count == 0 ? 0 : received.bytes[static_cast<std::size_t>(count) - 1] / received.bytes.back();
    const auto merge = std::upper_bound(received.merges.begin(), received.merges.end(), time);
    if (merge != received.merges.begin()) {
      arrival.merging = std::max(0.0, 1 - (time - *std::prev(merge)) / (kMergeShare * m_duration));
    }
    arrivals.push_back(arrival);
  }
  return arrivals;
}

std::span<const std::int32_t> Playback::arcsOf(const Message& message) const {
  const simulate::Job& job = jobOf(message);
  return job.arcsOf(job.routes()[messageOf(message).route]);
}

double Playback::bytesOf(const Message& message) const {
  return messageOf(message).share * static_cast<double>(m_bytes) / m_details.row.pieces;
}

int Playback::labelOf(const Message& message) const {
  const bool isStep = jobOf(message).labels() == simulate::LabelKind::step;
  return messageOf(message).label + (isStep ? 1 : 0);
}

int Playback::categoryOf(const Message& message, ColorBy color) const {
  const std::int32_t shard = messageOf(message).shard;
  if (color == ColorBy::parts || shard < 0) {
    return labelOf(message);
  }
  return color == ColorBy::boxes ? m_boxOf[static_cast<std::size_t>(shard)] : shard;
}

QString Playback::gpuName(fabric::Rank rank) const {
  const fabric::Fabric& fabric = *m_result->fabric;
  return QString::fromStdString(fabric.nodes()[fabric.gpus()[rank]].id);
}

QString Playback::arcName(std::size_t arc) const {
  const fabric::Fabric& fabric = *m_result->fabric;
  const auto name = [&](fabric::NodeIndex node) { return QString::fromStdString(fabric.nodes()[node].id); };
  return name(fabric.arcs()[arc].tail) + u" → "_s + name(fabric.arcs()[arc].head);
}

TimelineBar Playback::barOf(std::size_t at, const Message& message, ColorBy color) const {
  return {message.begin,
          message.end,
          categoryOf(message, color),
          labelOf(message),
          static_cast<std::uint32_t>(at),
          message.waitedFor.has_value(),
          static_cast<std::uint8_t>(message.waitedFor.value_or(simulate::Wait::nothing))};
}

template <typename Add>
void Playback::eachLane(const Message& message, LaneKind kind, const Add& add) const {
  switch (kind) {
    case LaneKind::links:
      for (const std::int32_t arc : arcsOf(message)) {
        add(static_cast<std::size_t>(arc));
      }
      break;
    case LaneKind::gpus:
      add(static_cast<std::size_t>(messageOf(message).from));
      break;
    case LaneKind::blocks:
      add(static_cast<std::size_t>(messageOf(message).from) * kBlocksOfRank +
          static_cast<std::size_t>(std::max(0, messageOf(message).block)));
      break;
    case LaneKind::parts:
      add(partOf(message));
      break;
  }
}

std::map<std::size_t, TimelineLane> Playback::lanesByKey(LaneKind kind, ColorBy color) const {
  std::map<std::size_t, TimelineLane> lanes;
  for (std::size_t at = 0; at < m_order.size(); ++at) {
    const Message message = messageAt(at);
    const TimelineBar bar = barOf(at, message, color);
    eachLane(message, kind, [&](std::size_t key) { lanes[key].bars.push_back(bar); });
  }
  return lanes;
}

TimelineLanes Playback::lanesOnDemand(const std::shared_ptr<const Playback>& run, LaneKind kind, ColorBy color,
                                      const Progress& progress) {
  // Which messages each lane has, in one list: 4 bytes for each place of a message.
  struct Places {
    std::vector<std::uint32_t> messages;
    std::vector<std::size_t> first;  // by lane, and the end
  };
  const auto places = std::make_shared<Places>();
  // Links and GPUs are counted by their number, as each message is in several lanes.
  const std::size_t numbers = kind == LaneKind::links  ? run->m_result->fabric->arcs().size()
                              : kind == LaneKind::gpus ? run->m_result->fabric->gpus().size()
                                                       : 0;
  std::vector<std::size_t> byNumber(numbers, 0);
  std::map<std::size_t, std::size_t> count;  // by key
  TimelineLanes lanes;
  std::vector<simulate::MessageId> messageOf;  // by interval
  messageOf.reserve(run->m_order.size());
  for (std::size_t interval = 0; interval < run->m_order.size(); ++interval) {
    if (interval % kMessagesPerLook == 0 && progress.isCancelled()) {
      return {};
    }
    const Message message = run->intervalTimes(interval);
    messageOf.push_back(message.message);
    lanes.end = std::max(lanes.end, message.end);
    run->eachLane(message, kind, [&](std::size_t key) { ++(numbers > 0 ? byNumber[key] : count[key]); });
  }
  for (std::size_t number = 0; number < numbers; ++number) {
    if (byNumber[number] > 0) {
      count.emplace_hint(count.end(), number, byNumber[number]);
    }
  }
  std::vector<std::size_t>& laneOfNumber = byNumber;
  std::unordered_map<std::size_t, std::size_t> laneOf;
  std::size_t all = 0;
  std::optional<std::size_t> last;
  for (const auto& [key, size] : count) {
    if (numbers > 0) {
      laneOfNumber[key] = lanes.lanes.size();
    } else {
      laneOf.emplace(key, lanes.lanes.size());
    }
    lanes.lanes.push_back(
        {run->laneName(key, kind), {}, kind != LaneKind::gpus && (!last || !run->isSameGroup(key, *last, kind))});
    last = key;
    places->first.push_back(all);
    all += size;
  }
  places->first.push_back(all);
  places->messages.resize(all);
  std::vector<std::size_t> next(places->first.begin(), std::prev(places->first.end()));
  lanes.paths.resize(1);
  for (std::size_t at = 0; at < run->m_order.size(); ++at) {
    if (at % kMessagesPerLook == 0 && progress.isCancelled()) {
      return {};
    }
    Message message;
    message.message = messageOf[run->m_order[at]];
    message.phase = run->phaseOf(run->m_order[at]);
    if (run->m_critical.contains(at)) {
      message = run->messageAt(at);
    }
    bool isFirst = true;
    run->eachLane(message, kind, [&](std::size_t key) {
      const std::size_t lane = numbers > 0 ? laneOfNumber[key] : laneOf.at(key);
      places->messages[next[lane]++] = static_cast<std::uint32_t>(at);
      if (std::exchange(isFirst, false) && message.waitedFor) {
        lanes.paths[0].push_back(
            {lane, message.begin, message.end, waitName(static_cast<std::uint8_t>(*message.waitedFor))});
      }
    });
  }
  lanes.longest.assign(lanes.lanes.size(), run->m_longest);
  lanes.barsOf = [run, places, color](std::size_t lane) {
    std::vector<TimelineBar> bars;
    bars.reserve(places->first[lane + 1] - places->first[lane]);
    for (std::size_t at = places->first[lane]; at < places->first[lane + 1]; ++at) {
      const std::uint32_t message = places->messages[at];
      bars.push_back(run->barOf(message, run->messageAt(message), color));
    }
    return bars;
  };
  return lanes;
}

std::size_t Playback::partOf(const Message& message) const {
  return message.phase * kPartsOfPhase + static_cast<std::size_t>(labelOf(message));
}

QString Playback::laneName(std::size_t key, LaneKind kind) const {
  switch (kind) {
    case LaneKind::gpus:
      return gpuName(static_cast<fabric::Rank>(key));
    case LaneKind::links:
      return arcName(key);
    case LaneKind::blocks:
      return PlaybackTexts::tr("%1 · tb %2")
          .arg(gpuName(static_cast<fabric::Rank>(key / kBlocksOfRank)))
          .arg(key % kBlocksOfRank);
    case LaneKind::parts:
      break;
  }
  const auto phase = key / kPartsOfPhase;
  const QString part = QString::fromUtf8(simulate::toString(m_details.phases[phase].job->labels()).data()) + u' ' +
                       QString::number(key % kPartsOfPhase);
  return m_details.phases.size() > 1 ? PlaybackTexts::tr("phase %1, %2").arg(phase + 1).arg(part) : part;
}

const char* Playback::waitName(std::uint8_t wait) {
  return simulate::toString(static_cast<simulate::Wait>(wait)).data();
}

QString Playback::partsName() const {
  switch (m_details.phases.empty() ? simulate::LabelKind::step : m_details.phases.front().job->labels()) {
    case simulate::LabelKind::tree:
      return PlaybackTexts::tr("Trees");
    case simulate::LabelKind::transfer:
      return PlaybackTexts::tr("Transfers");
    case simulate::LabelKind::step:
    case simulate::LabelKind::instruction:
      break;
  }
  return PlaybackTexts::tr("Steps");
}

bool Playback::isSameGroup(std::size_t key, std::size_t before, LaneKind kind) const {
  switch (kind) {
    case LaneKind::gpus:
      return true;
    case LaneKind::blocks:
      return key / kBlocksOfRank == before / kBlocksOfRank;
    case LaneKind::links:
      return m_result->fabric->arcs()[key].tail == m_result->fabric->arcs()[before].tail;
    case LaneKind::parts:
      break;
  }
  return key / kPartsOfPhase == before / kPartsOfPhase;
}

std::vector<TimelineLane> Playback::lanes(LaneKind kind, ColorBy color) const {
  std::vector<TimelineLane> result;
  std::optional<std::size_t> last;
  std::map<std::size_t, TimelineLane> lanes = lanesByKey(kind, color);
  for (auto& [key, lane] : lanes) {
    lane.name = laneName(key, kind);
    lane.beginsGroup = kind != LaneKind::gpus && (!last || !isSameGroup(key, *last, kind));
    last = key;
    result.push_back(std::move(lane));
  }
  return result;
}

std::vector<TimelineLane> Playback::lanesOfBoth(const Playback& first, const Playback& second, LaneKind kind,
                                                ColorBy color) {
  std::map<std::size_t, TimelineLane> planned = first.lanesByKey(kind, color);
  std::map<std::size_t, TimelineLane> measured = second.lanesByKey(kind, color);
  for (const auto& [key, lane] : measured) {
    planned.try_emplace(key);
  }
  std::vector<TimelineLane> result;
  for (auto& [key, lane] : planned) {
    lane.name = first.laneName(key, kind);
    lane.beginsGroup = true;
    result.push_back(std::move(lane));
    TimelineLane below = std::move(measured[key]);
    below.name = PlaybackTexts::tr("measured");
    below.source = 1;
    result.push_back(std::move(below));
  }
  return result;
}

std::vector<std::size_t> Playback::activeAt(double time, std::size_t max) const {
  std::vector<std::size_t> active;
  for (std::size_t block = 0; block < m_blockArrived.size() && messageAt(block * kBlock).begin <= time; ++block) {
    if (m_blockArrived[block] < time) {
      continue;
    }
    const std::size_t end = std::min(m_order.size(), (block + 1) * kBlock);
    for (std::size_t at = block * kBlock; at < end; ++at) {
      const Message message = messageAt(at);
      if (message.begin > time) {
        break;
      }
      if (message.arrived >= time) {
        active.push_back(at);
      }
      if (active.size() == max) {
        return active;
      }
    }
  }
  return active;
}

std::size_t Playback::firstFrom(double time) const {
  const auto found = std::partition_point(m_order.begin(), m_order.end(), [&](const std::uint32_t& interval) {
    return intervalTimes(interval).begin < time;
  });
  return static_cast<std::size_t>(found - m_order.begin());
}

std::int64_t Playback::activeCount(double time) const {
  const auto begun = std::partition_point(m_order.begin(), m_order.end(), [&](const std::uint32_t& interval) {
    return intervalTimes(interval).begin <= time;
  });
  const auto arrived = std::lower_bound(m_arrivals.begin(), m_arrivals.end(), time);
  return std::max<std::int64_t>(0, (begun - m_order.begin()) - (arrived - m_arrivals.begin()));
}

void Playback::addUpParts(const Progress& progress) {
  const std::size_t arcs = m_result->fabric->arcs().size();
  const double part = m_duration / kParts;
  const auto partOf = [&](double time) { return std::min(static_cast<std::size_t>(time / part), kParts - 1); };
  // Differences first: a message adds its rate where it begins and takes it away behind its end.
  std::vector<float> changes((kParts + 1) * arcs, 0);
  const std::size_t gpus = m_result->fabric->gpus().size();
  m_partShares.assign(kParts * gpus, 0);
  m_partMerges.assign(kParts * gpus, false);
  // As they are recorded, which reads memory in order.
  for (std::size_t interval = 0; interval < m_order.size(); ++interval) {
    if (interval % kMessagesPerLook == 0) {
      throwIfCancelled(progress);
    }
    const Message message = intervalTimes(interval);
    if (const auto links = arcsOf(message); !links.empty()) {
      const std::size_t place = partOf(message.arrived) * gpus + static_cast<std::size_t>(messageOf(message).to);
      m_partShares[place] += static_cast<float>(bytesOf(message));
      m_partMerges[place] = m_partMerges[place] || messageOf(message).reduces;
    }
    const double rate = bytesOf(message) / std::max(part, message.end - message.begin);
    for (const std::int32_t arc : arcsOf(message)) {
      changes[partOf(message.begin) * arcs + static_cast<std::size_t>(arc)] += static_cast<float>(rate);
      changes[(partOf(message.end) + 1) * arcs + static_cast<std::size_t>(arc)] -= static_cast<float>(rate);
    }
  }
  for (std::size_t at = arcs; at < kParts * arcs; ++at) {
    changes[at] += changes[at - arcs];
  }
  changes.resize(kParts * arcs);
  m_partRates = std::move(changes);
  for (std::size_t at = gpus; at < m_partShares.size(); ++at) {
    m_partShares[at] += m_partShares[at - gpus];
  }
  for (std::size_t at = 0; at < m_partShares.size(); ++at) {
    const float whole = m_partShares[(kParts - 1) * gpus + at % gpus];
    m_partShares[at] = at < (kParts - 1) * gpus && whole > 0 ? m_partShares[at] / whole : m_partShares[at];
  }
  for (std::size_t at = (kParts - 1) * gpus; at < m_partShares.size(); ++at) {
    m_partShares[at] = m_partShares[at] > 0 ? 1 : 0;
  }
}

std::vector<double> Playback::throughput(std::size_t parts) const {
  const double part = m_duration / static_cast<double>(parts);
  const auto partOf = [&](double time) { return std::min(static_cast<std::size_t>(time / part), parts - 1); };
  const auto beginOf = [&](std::size_t at) { return static_cast<double>(at) * part; };
  std::vector<double> sent(parts, 0);
  // Of the parts that a message fills: its rate begins here, and ends here.
  std::vector<double> changes(parts + 1, 0);
  for (std::size_t at = 0; at < m_order.size(); ++at) {
    const Message message = messageAt(at);
    const double rate = bytesOf(message) / std::max(message.end - message.begin, 1e-9);
    const std::size_t first = partOf(message.begin);
    const std::size_t last = partOf(message.end);
    if (first == last) {
      sent[first] += bytesOf(message);
      continue;
    }
    sent[first] += rate * (beginOf(first + 1) - message.begin);
    sent[last] += rate * (message.end - beginOf(last));
    changes[first + 1] += rate;
    changes[last] -= rate;
  }
  double rate = 0;
  for (std::size_t at = 0; at < parts; ++at) {
    rate += changes[at];
    sent[at] = sent[at] / part + rate;
  }
  return sent;
}

std::vector<std::pair<std::size_t, double>> Playback::ratesAt(double time) const {
  std::vector<std::pair<std::size_t, double>> rates;
  const std::size_t arcs = m_result->fabric->arcs().size();
  if (!m_partRates.empty()) {
    if (time < 0 || time >= m_duration) {
      return rates;
    }
    // Less is what rounding leaves of nothing.
    constexpr float kMin = 1e-3F;
    const auto first = static_cast<std::size_t>(time / m_duration * kParts) * arcs;
    for (std::size_t arc = 0; arc < arcs; ++arc) {
      if (m_partRates[first + arc] > kMin) {
        rates.emplace_back(arc, m_partRates[first + arc]);
      }
    }
    return rates;
  }
  std::vector<double> byArc(arcs, 0);
  for (const std::size_t at : activeAt(time, kMaxExactMessages)) {
    const Message message = messageAt(at);
    if (time <= message.end && message.end > message.begin) {
      for (const std::int32_t arc : arcsOf(message)) {
        byArc[arc] += bytesOf(message) / (message.end - message.begin);
      }
    }
  }
  for (std::size_t arc = 0; arc < arcs; ++arc) {
    if (byArc[arc] > 0) {
      rates.emplace_back(arc, byArc[arc]);
    }
  }
  return rates;
}

Motion Playback::motionAt(double time, const FabricMap& map, ColorBy color) const {
  // Pieces beyond this number only hide the links.
  constexpr std::size_t kMaxPieces = 600;
  const Scheme scheme = Theme::instance().scheme();
  Motion motion;
  for (const std::size_t at : activeAt(time, kMaxPieces)) {
    const Message message = messageAt(at);
    const std::span<const std::int32_t> arcs = arcsOf(message);
    if (arcs.empty()) {
      continue;
    }
    // A piece lies on all its links at once; what is drawn goes along them within its time.
    const double share = (time - message.begin) / std::max(1.0, message.arrived - message.begin);
    const double along = std::clamp(share, 0.0, 1.0) * static_cast<double>(arcs.size());
    const auto hop = std::min(static_cast<std::size_t>(along), arcs.size() - 1);
    const std::vector<LinkStep>& steps = map.stepsOf(static_cast<std::size_t>(arcs[hop]));
    if (!steps.empty()) {
      motion.pieces.push_back(
          {steps.front(), along - static_cast<double>(hop), mutedHue(categoryOf(message, color), scheme)});
    }
  }
  motion.arrivals = arrivalsAt(time, map);
  for (const auto& [arc, rate] : ratesAt(time)) {
    const double bandwidth = toGBps(m_result->fabric->arcs()[arc].bandwidth);
    const double share = std::clamp(rate / bandwidth, 0.0, 1.0);
    for (const LinkStep& step : map.stepsOf(arc)) {
      motion.flows.push_back({step, share, heat(share, scheme)});
    }
  }
  return motion;
}

Playback::Track Playback::trackAt(std::size_t at, ColorBy color) const {
  const Message message = messageAt(at);
  return {message.begin,
          message.end,
          message.arrived,
          arcsOf(message),
          bytesOf(message),
          messageOf(message).to,
          categoryOf(message, color),
          partOf(message)};
}

QString Playback::describe(std::size_t at) const {
  const Message message = messageAt(at);
  const QString name = PlaybackTexts::tr("%1 → %2, %3 %4")
                           .arg(gpuName(messageOf(message).from), gpuName(messageOf(message).to),
                                QString::fromUtf8(simulate::toString(jobOf(message).labels()).data()),
                                QString::number(labelOf(message)));
  QString text = PlaybackTexts::tr("%1: %2, %3 from %4")
                     .arg(name, bytesText(static_cast<std::int64_t>(bytesOf(message))),
                          timeText(message.end - message.begin), timeText(message.begin));
  if (message.waitedFor) {
    text += u"; "_s + PlaybackTexts::tr("on the critical path, %1").arg(waitText(*message.waitedFor));
  }
  return text;
}

QString Playback::describeRange(double begin, double end) const {
  std::vector<double> carried(m_result->fabric->arcs().size(), 0);
  std::int64_t count = 0;
  double total = 0;
  for (std::size_t at = firstFrom(begin - m_longest); at < m_order.size(); ++at) {
    const Message message = messageAt(at);
    if (message.begin >= end) {
      break;
    }
    const double overlap = std::min(message.end, end) - std::max(message.begin, begin);
    if (overlap <= 0) {
      continue;
    }
    const double bytes = bytesOf(message) * overlap / (message.end - message.begin);
    ++count;
    total += bytes;
    for (const std::int32_t arc : arcsOf(message)) {
      carried[arc] += bytes;
    }
  }
  QString text = PlaybackTexts::tr("%1 to %2 (%3): %4, %5 sent")
                     .arg(timeText(begin), timeText(end), timeText(end - begin),
                          counted(count, PlaybackTexts::tr("message"), PlaybackTexts::tr("messages")),
                          bytesText(static_cast<std::int64_t>(total)));
  const auto shareOf = [&](std::size_t arc) {
    return carried[arc] / (end - begin) / toGBps(m_result->fabric->arcs()[arc].bandwidth);
  };
  std::size_t busiest = 0;
  for (std::size_t arc = 1; arc < carried.size(); ++arc) {
    busiest = shareOf(arc) > shareOf(busiest) ? arc : busiest;
  }
  if (count > 0) {
    constexpr double kHundred = 100;
    text += u"; "_s +
            PlaybackTexts::tr("busiest: %1, %2 %").arg(arcName(busiest)).arg(kHundred * shareOf(busiest), 0, 'f', 0);
  }
  return text;
}

}  // namespace coppice::designer
