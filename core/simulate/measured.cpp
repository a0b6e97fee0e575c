// SPDX-License-Identifier: Apache-2.0
#include "simulate/measured.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/failure.hpp"
#include "simulate/engine.hpp"
#include "simulate/program_job.hpp"
#include "simulate/routes.hpp"
#include "verify/step_links.hpp"

namespace coppice::simulate {
namespace {

using program::StepPlace;
using program::TraceEvent;

constexpr double kNanoseconds = 1000;  // in a microsecond
constexpr std::size_t kStride = 1 << 14;

StepPlace placeOf(const TraceEvent& event) {
  return {event.rank, event.threadBlock, event.step};
}

/// Events by step, tile and begin.
auto orderOf(const TraceEvent& event) {
  return std::tie(event.rank, event.threadBlock, event.step, event.tile, event.start_ns, event.end_ns);
}

Outcome check(const fabric::Fabric& fabric, const program::Program& program, std::span<const TraceEvent> events) {
  if (static_cast<int>(program.ranks.size()) != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the program is for " + std::to_string(program.ranks.size()) + " ranks, the fabric has " +
                     std::to_string(fabric.gpuCount()) + " GPUs",
                 "give the fabric that the program is for"};
  }
  if (events.empty()) {
    return Error{ErrorCode::badInput, "the trace has no events", "record it with coppice-exec run --trace"};
  }
  if (static_cast<std::int64_t>(events.size()) > kMaxRecorded) {
    return Error{ErrorCode::limit, "the trace has more than " + std::to_string(kMaxRecorded) + " events",
                 "record a smaller size"};
  }
  for (const TraceEvent& event : events) {
    if (!program::exists(program, placeOf(event))) {
      return Error{ErrorCode::badInput,
                   "the trace names " + program::placeText(placeOf(event)) + ", which the program does not have",
                   "give the schedule that was run"};
    }
    if (event.start_ns < 0 || event.end_ns < event.start_ns) {
      return Error{ErrorCode::badInput, "an event of " + program::placeText(placeOf(event)) + " ends before it begins",
                   "record it again"};
    }
  }
  return Done{};
}

class Recording {
public:
  Recording(const fabric::Fabric& fabric, const program::Program& program, std::span<const TraceEvent> events,
            const Progress& progress)
      : m_program(program),
        m_progress(progress),
        m_links(program),
        m_routes(fabric),
        m_job(fabric, {}),
        m_events(events.begin(), events.end()) {
    m_job.setWindowed(false);
    m_job.setLabels(LabelKind::instruction);
    std::sort(m_events.begin(), m_events.end(),
              [](const TraceEvent& a, const TraceEvent& b) { return orderOf(a) < orderOf(b); });
    m_origin = std::min_element(m_events.begin(), m_events.end(), [](const TraceEvent& a, const TraceEvent& b) {
                 return a.start_ns < b.start_ns;
               })->start_ns;
    findPrevious();
  }

  Outcome build() {
    const double chunks = chunksOf(m_program);
    for (std::size_t first = 0; first < m_events.size();) {
      const StepPlace place = placeOf(m_events[first]);
      std::size_t end = first;
      while (end < m_events.size() && placeOf(m_events[end]) == place) {
        ++end;
      }
      const program::ThreadBlock& block = m_program.ranks[place.rank].threadBlocks[place.threadBlock];
      const program::Step& step = block.steps[place.step];
      if (program::sends(step.type) && block.sendPeer >= 0 && step.count > 0) {
        const double share = step.count / chunks / static_cast<double>(end - first);
        if (Outcome added = addStep(place, block, share, first, end); !added) {
          return added;
        }
      }
      m_end = std::max(m_end, lastOf(first, end));
      first = end;
    }
    return Done{};
  }

  [[nodiscard]] Job takeJob() { return std::move(m_job); }
  [[nodiscard]] std::vector<Interval> takeIntervals() { return std::move(m_intervals); }
  [[nodiscard]] Microseconds end() const { return m_end; }

private:
  [[nodiscard]] Microseconds time(std::int64_t nanoseconds) const {
    return Microseconds(static_cast<double>(nanoseconds - m_origin) / kNanoseconds);
  }
  [[nodiscard]] Microseconds lastOf(std::size_t first, std::size_t end) const {
    Microseconds last(0);
    for (std::size_t at = first; at < end; ++at) {
      last = std::max(last, time(m_events[at].end_ns));
    }
    return last;
  }

  /// Of each event: when its threadblock ended the one before.
  void findPrevious() {
    std::vector<std::size_t> byBlock(m_events.size());
    for (std::size_t at = 0; at < byBlock.size(); ++at) {
      byBlock[at] = at;
    }
    const auto key = [this](std::size_t at) {
      const TraceEvent& event = m_events[at];
      return std::tuple(event.rank, event.threadBlock, event.start_ns, event.end_ns);
    };
    std::sort(byBlock.begin(), byBlock.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    m_freeSince.resize(m_events.size());
    for (std::size_t i = 1; i < byBlock.size(); ++i) {
      const TraceEvent& before = m_events[byBlock[i - 1]];
      const TraceEvent& event = m_events[byBlock[i]];
      if (before.rank == event.rank && before.threadBlock == event.threadBlock) {
        m_freeSince[byBlock[i]] = std::max(m_freeSince[byBlock[i - 1]], before.end_ns);
      }
    }
  }

  /// The first event of a step and tile, or the number of events.
  [[nodiscard]] std::size_t find(const StepPlace& place, int tile) const {
    const auto key = std::tuple(place.rank, place.threadBlock, place.step, tile);
    const auto found =
        std::lower_bound(m_events.begin(), m_events.end(), key, [](const TraceEvent& event, const auto& k) {
          return std::tie(event.rank, event.threadBlock, event.step, event.tile) < k;
        });
    const bool isThere = found != m_events.end() && placeOf(*found) == place && found->tile == tile;
    return isThere ? static_cast<std::size_t>(found - m_events.begin()) : m_events.size();
  }

  /// What is known of the step that takes a message.
  struct Receiver {
    std::vector<StepPlace> others = {};  ///< that it waits for besides its threadblock and the data: flags, free slots
    bool passesOn = false;               ///< a fused step, whose time is that of what it sends
    bool reduces = false;
  };

  Outcome addStep(const StepPlace& place, const program::ThreadBlock& block, double share, std::size_t first,
                  std::size_t end) {
    const auto route = m_job.route(m_routes.find(place.rank, block.sendPeer, block.channel));
    if (!route) {
      return route.error();
    }
    const auto receiver = m_links.receiverOf(place);
    Receiver taker;
    for (const program::StepLink& link : receiver ? m_links.waitsFor(*receiver) : std::vector<program::StepLink>()) {
      if (link.reason == program::WaitReason::flag || link.reason == program::WaitReason::space) {
        taker.others.push_back(link.place);
      }
    }
    if (receiver) {
      const auto type = m_program.ranks[receiver->rank].threadBlocks[receiver->threadBlock].steps[receiver->step].type;
      taker.passesOn = program::sends(type);
      taker.reduces = addsUp(type);
    }
    int lastTile = -1;
    std::size_t inTile = 0;
    for (std::size_t at = first; at < end; ++at) {
      if (at % kStride == 0) {
        throwIfCancelled(m_progress);
      }
      const TraceEvent& sent = m_events[at];
      inTile = sent.tile == lastTile ? inTile + 1 : 0;
      lastTile = sent.tile;
      const MessageId message = m_job.add({.route = *route,
                                           .share = share,
                                           .from = place.rank,
                                           .to = block.sendPeer,
                                           .label = place.step,
                                           .block = place.threadBlock,
                                           .reduces = taker.reduces});
      m_intervals.push_back(
          intervalOf(message, sent, receiver ? takenAt(*receiver, sent.tile, inTile) : nullptr, taker));
    }
    return Done{};
  }

  /// The piece that takes the k-th message of a tile.
  [[nodiscard]] const TraceEvent* takenAt(const StepPlace& receiver, int tile, std::size_t k) const {
    const std::size_t first = find(receiver, tile);
    const bool isThere =
        first + k < m_events.size() && placeOf(m_events[first + k]) == receiver && m_events[first + k].tile == tile;
    return isThere ? &m_events[first + k] : nullptr;
  }

  [[nodiscard]] Interval intervalOf(MessageId message, const TraceEvent& sent, const TraceEvent* taken,
                                    const Receiver& taker) const {
    std::int64_t begin = sent.start_ns;
    std::int64_t left = sent.end_ns;
    std::int64_t arrived = sent.end_ns;
    const std::int64_t takenEnd = taken == nullptr ? 0 : taker.passesOn ? taken->start_ns : taken->end_ns;
    if (taken != nullptr && takenEnd > sent.start_ns) {
      std::int64_t free = m_freeSince[taken - m_events.data()];
      for (const StepPlace& other : taker.others) {
        for (std::size_t at = find(other, taken->tile);
             at < m_events.size() && placeOf(m_events[at]) == other && m_events[at].tile == taken->tile; ++at) {
          free = std::max(free, m_events[at].end_ns);
        }
      }
      if (free <= sent.end_ns) {
        arrived = std::max(arrived, takenEnd);
        left = arrived;
      } else if (takenEnd - taken->start_ns > sent.end_ns - sent.start_ns) {
        begin = taken->start_ns;
        left = takenEnd;
        arrived = left;
      }
    }
    return {
        .message = message, .ready = time(begin), .flowing = time(begin), .left = time(left), .arrived = time(arrived)};
  }

  const program::Program& m_program;
  const Progress& m_progress;
  verify::StepLinks m_links;
  ShortestRoutes m_routes;
  Job m_job;
  std::vector<TraceEvent> m_events;
  std::vector<std::int64_t> m_freeSince;  ///< by event, ns
  std::vector<Interval> m_intervals;
  std::int64_t m_origin = 0;
  Microseconds m_end{};
};

using Span = std::pair<Microseconds, Microseconds>;

/// Time that the spans cover together.
Microseconds covered(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end());
  Microseconds sum(0);
  Microseconds until(0);
  for (const auto& [begin, end] : spans) {
    sum += std::max(Microseconds(0), end - std::max(begin, until));
    until = std::max(until, end);
  }
  return sum;
}

/// When links and ranks were busy in a run, by index.
struct Busy {
  std::map<int, std::vector<Span>> links;
  std::map<int, std::vector<Span>> ranks;
};

Busy busyTimes(const Details& details) {
  Busy busy;
  Microseconds offset(0);
  for (const Phase& phase : details.phases) {
    for (const Interval& interval : phase.run.intervals) {
      const Message& message = phase.job->messages()[interval.message];
      const Span span(offset + interval.ready, offset + interval.arrived);
      busy.ranks[message.from].push_back(span);
      for (const std::int32_t arc : phase.job->arcsOf(phase.job->routes()[message.route])) {
        busy.links[arc].push_back(span);
      }
    }
    offset += phase.run.time;
  }
  return busy;
}

std::vector<ComparedPart> comparedParts(std::map<int, std::vector<Span>>& planned,
                                        std::map<int, std::vector<Span>>& measured) {
  std::map<int, ComparedPart> parts;
  const auto lastEnd = [](const std::vector<Span>& spans) {
    Microseconds last(0);
    for (const Span& span : spans) {
      last = std::max(last, span.second);
    }
    return last;
  };
  for (auto& [index, spans] : planned) {
    ComparedPart& part = parts[index];
    part.planned = covered(spans);
    part.plannedEnd = lastEnd(spans);
  }
  for (auto& [index, spans] : measured) {
    ComparedPart& part = parts[index];
    part.measured = covered(spans);
    part.measuredEnd = lastEnd(spans);
  }
  std::vector<ComparedPart> sorted;
  for (auto& [index, part] : parts) {
    part.index = index;
    sorted.push_back(part);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ComparedPart& a, const ComparedPart& b) { return a.lost() > b.lost(); });
  return sorted;
}

/// As the engine counts them.
std::vector<LinkUse> usesOf(const Job& job, const Intervals& intervals, double bytes) {
  std::vector<LinkUse> uses(job.linkRates().size());
  std::vector<std::vector<Span>> spans(uses.size());
  for (const Interval& interval : intervals) {
    const Message& message = job.messages()[interval.message];
    for (const std::int32_t arc : job.arcsOf(job.routes()[message.route])) {
      uses[arc].bytes += message.share * bytes;
      spans[arc].emplace_back(interval.flowing, interval.left);
    }
  }
  for (std::size_t arc = 0; arc < uses.size(); ++arc) {
    uses[arc].busy = covered(spans[arc]);
  }
  return uses;
}

}  // namespace

Result<Details> measuredRun(const fabric::Fabric& fabric, const program::Program& program, std::int64_t bytes,
                            std::span<const TraceEvent> events, const Progress& progress) {
  if (Outcome checked = check(fabric, program, events); !checked) {
    return checked.error();
  }
  return guarded(
      [&]() -> Result<Details> {
        Recording recording(fabric, program, events, progress);
        if (Outcome built = recording.build(); !built) {
          return built.error();
        }
        const auto job = std::make_shared<const Job>(recording.takeJob());
        Run run;
        run.time = recording.end();
        run.intervals = recording.takeIntervals();
        run.links = usesOf(*job, run.intervals, static_cast<double>(bytes));
        run.messages = static_cast<std::int64_t>(run.intervals.size());
        Details details{.owner = job};
        details.row = {.size = bytes, .time = run.time};
        if (run.time > Microseconds(0)) {
          details.row.algbw = Throughput(static_cast<double>(bytes), run.time);
        }
        details.phases.push_back({job.get(), std::move(run)});
        return details;
      },
      {.cancelled = "the comparison was cancelled"});
}

Comparison compared(const Details& planned, const Details& measured) {
  Busy plannedBusy = busyTimes(planned);
  Busy measuredBusy = busyTimes(measured);
  return {.planned = planned.row.time,
          .measured = measured.row.time,
          .links = comparedParts(plannedBusy.links, measuredBusy.links),
          .ranks = comparedParts(plannedBusy.ranks, measuredBusy.ranks)};
}

}  // namespace coppice::simulate
