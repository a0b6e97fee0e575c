// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/playback.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <unordered_map>
#include <variant>

#include "designer/document/counted.hpp"
#include "designer/schedule/figures.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Playback)
};

constexpr double kNanoseconds = 1000;  // in a microsecond

QString waitText(simulate::Wait wait) {
  switch (wait) {
    case simulate::Wait::nothing:
      return Texts::tr("waited for nothing");
    case simulate::Wait::data:
      return Texts::tr("waited for its data");
    case simulate::Wait::order:
      return Texts::tr("waited for the message before it");
    case simulate::Wait::window:
      return Texts::tr("waited for messages of its connection to arrive");
    case simulate::Wait::threadblock:
      return Texts::tr("waited for the step before it in its threadblock");
    case simulate::Wait::dependency:
      return Texts::tr("waited for another threadblock");
    case simulate::Wait::space:
      return Texts::tr("waited for space at the receiver");
    case simulate::Wait::barrier:
      return Texts::tr("waited for the end of the step before it");
  }
  return {};
}

}  // namespace

Result<PlaybackPtr> Playback::record(const ScheduleResultPtr& result, std::int64_t bytes, const Progress& progress) {
  return workflow::guarded<PlaybackPtr>([&]() -> Result<PlaybackPtr> {
    auto playback = std::make_shared<Playback>();
    playback->m_result = result;
    playback->m_bytes = bytes;
    auto subject = std::visit(
        [&](const auto& schedule) { return simulate::subjectOf(*result->fabric, schedule, simulate::Model{}); },
        result->schedule);
    if (!subject) {
      return subject.error();
    }
    playback->m_subject = *std::move(subject);
    auto details = playback->m_subject->simulate(bytes, {.record = true}, progress);
    if (!details) {
      return details.error();
    }
    playback->m_details = *std::move(details);
    playback->collect();
    return PlaybackPtr(std::move(playback));
  });
}

void Playback::collect() {
  double offset = 0;
  for (std::uint32_t phase = 0; phase < m_details.phases.size(); ++phase) {
    const simulate::Run& run = m_details.phases[phase].run;
    std::map<std::pair<simulate::MessageId, std::uint32_t>, const simulate::CriticalMessage*> critical;
    for (const simulate::CriticalMessage& each : run.criticalPath) {
      critical[{each.when.message, each.when.repeat}] = &each;
    }
    for (const simulate::Interval& interval : run.intervals) {
      Message message;
      message.begin = (offset + interval.flowing) * kNanoseconds;
      message.end = (offset + interval.left) * kNanoseconds;
      message.arrived = (offset + interval.arrived) * kNanoseconds;
      message.phase = phase;
      message.interval = interval;
      if (const auto found = critical.find({interval.message, interval.repeat}); found != critical.end()) {
        message.critical = *found->second;
        m_criticalTimes.push_back(message.begin);
      }
      m_longest = std::max(m_longest, message.arrived - message.begin);
      m_messages.push_back(std::move(message));
    }
    offset += run.time;
  }
  m_duration = offset * kNanoseconds;
  std::sort(m_messages.begin(), m_messages.end(),
            [](const Message& a, const Message& b) { return a.begin < b.begin; });
  std::sort(m_criticalTimes.begin(), m_criticalTimes.end());
}

std::span<const std::int32_t> Playback::arcsOf(const Message& message) const {
  const simulate::Job& job = jobOf(message);
  return job.arcsOf(job.routes()[static_cast<std::size_t>(messageOf(message).route)]);
}

double Playback::bytesOf(const Message& message) const {
  return messageOf(message).share * static_cast<double>(m_bytes) / m_details.row.pieces;
}

QString Playback::gpuName(fabric::Rank rank) const {
  const fabric::Fabric& fabric = *m_result->fabric;
  return QString::fromStdString(
      fabric.nodes()[static_cast<std::size_t>(fabric.gpus()[static_cast<std::size_t>(rank)])].id);
}

QString Playback::arcName(std::size_t arc) const {
  const fabric::Fabric& fabric = *m_result->fabric;
  const auto name = [&](fabric::NodeIndex node) {
    return QString::fromStdString(fabric.nodes()[static_cast<std::size_t>(node)].id);
  };
  return name(fabric.arcs()[arc].tail) + u" → "_s + name(fabric.arcs()[arc].head);
}

std::vector<TimelineLane> Playback::lanes(LaneKind kind) const {
  std::map<std::size_t, TimelineLane> lanes;
  for (std::size_t at = 0; at < m_messages.size(); ++at) {
    const Message& message = m_messages[at];
    const TimelineBar bar{message.begin, message.end, messageOf(message).label, at, message.critical.has_value()};
    if (kind == LaneKind::gpus) {
      lanes[static_cast<std::size_t>(messageOf(message).from)].bars.push_back(bar);
      continue;
    }
    for (const std::int32_t arc : arcsOf(message)) {
      lanes[static_cast<std::size_t>(arc)].bars.push_back(bar);
    }
  }
  std::vector<TimelineLane> result;
  fabric::NodeIndex lastTail = -1;
  for (auto& [key, lane] : lanes) {
    if (kind == LaneKind::gpus) {
      lane.name = gpuName(static_cast<fabric::Rank>(key));
    } else {
      lane.name = arcName(key);
      lane.beginsGroup = m_result->fabric->arcs()[key].tail != lastTail;
      lastTail = m_result->fabric->arcs()[key].tail;
    }
    result.push_back(std::move(lane));
  }
  return result;
}

std::vector<std::size_t> Playback::activeAt(double time) const {
  std::vector<std::size_t> active;
  const auto first = std::lower_bound(m_messages.begin(), m_messages.end(), time - m_longest,
                                      [](const Message& message, double begin) { return message.begin < begin; });
  for (auto message = first; message != m_messages.end() && message->begin <= time; ++message) {
    if (message->arrived >= time) {
      active.push_back(static_cast<std::size_t>(message - m_messages.begin()));
    }
  }
  return active;
}

Motion Playback::motionAt(double time, const FabricMap& map) const {
  /// Pieces beyond this number only hide the links.
  constexpr std::size_t kMaxPieces = 600;
  struct Use {
    double rate = 0;  // GB/s
    int label = 0;
  };
  const Scheme scheme = Theme::instance().scheme();
  std::unordered_map<std::int32_t, Use> uses;
  Motion motion;
  for (const std::size_t at : activeAt(time)) {
    const Message& message = m_messages[at];
    const std::span<const std::int32_t> arcs = arcsOf(message);
    const int label = messageOf(message).label;
    if (time <= message.end && message.end > message.begin) {
      for (const std::int32_t arc : arcs) {
        Use& use = uses[arc];
        use.rate += bytesOf(message) / (message.end - message.begin);
        use.label = label;
      }
    }
    if (motion.pieces.size() >= kMaxPieces || arcs.empty()) {
      continue;
    }
    // The middle of the message: it is a moment long, and its links carry it together.
    const double share = (time - message.begin) / std::max(1.0, message.arrived - message.begin);
    const double along = std::clamp(share, 0.0, 1.0) * static_cast<double>(arcs.size());
    const auto hop = std::min(static_cast<std::size_t>(along), arcs.size() - 1);
    const std::vector<LinkStep>& steps = map.stepsOf(static_cast<std::size_t>(arcs[hop]));
    if (!steps.empty()) {
      motion.pieces.push_back({steps.front(), along - static_cast<double>(hop), category(label, scheme)});
    }
  }
  for (const auto& [arc, use] : uses) {
    const double bandwidth =
        m_result->fabric->arcs()[static_cast<std::size_t>(arc)].bandwidth.gigabytesPerSecond().toDouble();
    const double share = std::clamp(use.rate / bandwidth, 0.0, 1.0);
    for (const LinkStep& step : map.stepsOf(static_cast<std::size_t>(arc))) {
      motion.flows.push_back({step, share, heat(share, scheme)});
    }
  }
  return motion;
}

QString Playback::describe(std::size_t at) const {
  const Message& message = m_messages[at];
  const QString name = Texts::tr("%1 → %2, %3 %4")
                           .arg(gpuName(messageOf(message).from), gpuName(messageOf(message).to),
                                QString::fromUtf8(simulate::toString(jobOf(message).labels()).data()),
                                QString::number(messageOf(message).label));
  QString text = Texts::tr("%1: %2, %3 from %4")
                     .arg(name, bytesText(static_cast<std::int64_t>(bytesOf(message))),
                          timeText(message.end - message.begin), timeText(message.begin));
  if (message.critical) {
    text += u"; "_s + Texts::tr("on the critical path, %1").arg(waitText(message.critical->waitedFor));
  }
  return text;
}

QString Playback::describeRange(double begin, double end) const {
  std::vector<double> carried(m_result->fabric->arcs().size(), 0);
  std::int64_t count = 0;
  double total = 0;
  const auto first = std::lower_bound(m_messages.begin(), m_messages.end(), begin - m_longest,
                                      [](const Message& message, double time) { return message.begin < time; });
  for (auto message = first; message != m_messages.end() && message->begin < end; ++message) {
    const double overlap = std::min(message->end, end) - std::max(message->begin, begin);
    if (overlap <= 0) {
      continue;
    }
    const double bytes = bytesOf(*message) * overlap / (message->end - message->begin);
    ++count;
    total += bytes;
    for (const std::int32_t arc : arcsOf(*message)) {
      carried[static_cast<std::size_t>(arc)] += bytes;
    }
  }
  QString text = Texts::tr("%1 to %2 (%3): %4, %5 sent")
                     .arg(timeText(begin), timeText(end), timeText(end - begin),
                          counted(count, Texts::tr("message"), Texts::tr("messages")),
                          bytesText(static_cast<std::int64_t>(total)));
  const auto shareOf = [&](std::size_t arc) {
    return carried[arc] / (end - begin) /
           m_result->fabric->arcs()[arc].bandwidth.gigabytesPerSecond().toDouble();
  };
  std::size_t busiest = 0;
  for (std::size_t arc = 1; arc < carried.size(); ++arc) {
    busiest = shareOf(arc) > shareOf(busiest) ? arc : busiest;
  }
  if (count > 0) {
    constexpr double kHundred = 100;
    text += u"; "_s + Texts::tr("busiest: %1, %2 %").arg(arcName(busiest)).arg(kHundred * shareOf(busiest), 0, 'f', 0);
  }
  return text;
}

}  // namespace coppice::designer
