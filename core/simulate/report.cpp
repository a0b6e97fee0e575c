// SPDX-License-Identifier: Apache-2.0
#include "simulate/report.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <queue>
#include <tuple>
#include <utility>

#include "base/formatted.hpp"
#include "base/text.hpp"

namespace coppice::simulate {
namespace {

/// As nccl-tests: whole microseconds above 10,000, then one and two places.
std::string shortTime(Microseconds microseconds) {
  const double time = microseconds.count();
  return time >= 10'000 ? formatted("%8.0f", time) : time >= 100 ? formatted("%8.1f", time) : formatted("%8.2f", time);
}

/// A string of JSON, with quotes. Bytes that are not UTF-8 become '?'.
std::string jsonText(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8SequenceLength(text, at);
    const char c = text[at];
    if (length == 0) {
      quoted += '?';
    } else if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += formatted("\\u%04x", static_cast<unsigned>(c));
    } else {
      quoted += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return quoted + "\"";
}

const std::string& gpuName(const Job& job, fabric::Rank rank) {
  return job.fabric().nodes()[job.fabric().gpus()[rank]].id;
}

}  // namespace

std::string tableOf(std::span<const Row> rows, bool hasPieces) {
  std::string text = formatted("%16s  %8s  %14s  %12s  %12s\n", "size (B)", hasPieces ? "pieces" : "turns", "time (us)",
                               "algbw (GB/s)", "busbw (GB/s)");
  for (const Row& row : rows) {
    text += formatted("%16lld  %8u  %14.2f  %12.2f  %12.2f\n", static_cast<long long>(row.size), row.pieces,
                      row.time.count(), row.algbw.gigabytesPerSecond(), row.busbw.gigabytesPerSecond());
  }
  return text;
}

std::string csvOf(std::span<const Row> rows) {
  std::string text = "size,pieces,time_us,algbw_GBps,busbw_GBps,resolution_us\n";
  for (const Row& row : rows) {
    text +=
        formatted("%lld,%u,%.17g,%.17g,%.17g,%.17g\n", static_cast<long long>(row.size), row.pieces, row.time.count(),
                  row.algbw.gigabytesPerSecond(), row.busbw.gigabytesPerSecond(), row.resolution.count());
  }
  return text;
}

std::string ncclTestsTextOf(std::span<const Row> rows, const std::string& collective, int root) {
  const bool reduces = collective == "allreduce" || collective == "reduce" || collective == "reduce_scatter";
  std::string text = "# simulated " + collective + ", not measured\n";
  text += formatted("#%11s %12s %8s %6s %6s   %-31s   %-31s\n", "", "", "", "", "", "        out-of-place",
                    "          in-place");
  const char* const columns = "    time   algbw   busbw #wrong";
  text += formatted("#%11s %12s %8s %6s %6s  %s  %s\n", "size", "count", "type", "redop", "root", columns, columns);
  text += formatted("#%11s %12s %8s %6s %6s  %s  %s\n", "(B)", "(elements)", "", "", "",
                    "    (us)  (GB/s)  (GB/s)       ", "    (us)  (GB/s)  (GB/s)       ");
  constexpr std::int64_t kFloat = 4;
  for (const Row& row : rows) {
    const std::string half = shortTime(row.time) + formatted(" %7.2f %7.2f    N/A", row.algbw.gigabytesPerSecond(),
                                                             row.busbw.gigabytesPerSecond());
    text += formatted("%12lld %12lld %8s %6s %6d  ", static_cast<long long>(row.size),
                      static_cast<long long>(row.size / kFloat), "float", reduces ? "sum" : "none", root) +
            half + "  " + half + "\n";
  }
  return text;
}

std::string describe(const Job& job, const CriticalMessage& message) {
  const Interval& when = message.when;
  return formatted("%.3f us  ", when.ready.count()) + nameOf(job, when.message, when.repeat) + ", after " +
         std::string(toString(message.waitedFor)) +
         formatted("; overhead %.3f, sending %.3f, sharing %.3f, latency %.3f us", (when.flowing - when.ready).count(),
                   message.alone.count(), std::max(0.0, (when.left - when.flowing - message.alone).count()),
                   (when.arrived - when.adding - when.left).count()) +
         (when.adding > Microseconds(0) ? formatted(", adding %.3f us", when.adding.count()) : std::string());
}

std::vector<PathPart> pathParts(const Details& details) {
  std::vector<PathPart> parts;
  for (std::size_t phase = 0; phase < details.phases.size(); ++phase) {
    const std::vector<CriticalMessage>& path = details.phases[phase].run.criticalPath;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const CriticalMessage& message = path[i];
      const Interval& when = message.when;
      const bool goesOn = i > 0 && path[i - 1].when.message == when.message;
      if (!goesOn) {
        parts.push_back({.phase = phase, .first = message});
      }
      PathPart& part = parts.back();
      part.last = message;
      ++part.messages;
      part.overhead += when.flowing - when.ready;
      part.sending += std::min(message.alone, when.left - when.flowing);
      part.sharing += std::max(Microseconds(0), when.left - when.flowing - message.alone);
      // What begins when this one has left does not wait for its latency.
      if (i + 1 == path.size() || endsOnArrival(path[i + 1].waitedFor)) {
        part.latency += when.arrived - when.adding - when.left;
        part.adding += when.adding;
      }
    }
  }
  return parts;
}

std::vector<LinkLoad> linkLoads(const Details& details) {
  std::vector<LinkLoad> loads;
  if (details.phases.empty()) {
    return loads;
  }
  const std::span<const double> rates = details.phases.front().job->linkRates();
  for (std::size_t arc = 0; arc < details.phases.front().run.links.size(); ++arc) {
    LinkLoad load{.arc = static_cast<int>(arc)};
    for (const Phase& phase : details.phases) {
      load.bytes += phase.run.links[arc].bytes;
      load.busy += phase.run.links[arc].busy;
    }
    if (load.bytes > 0) {
      load.utilization = load.bytes / (rates[arc] * details.row.time.count());
      loads.push_back(load);
    }
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.utilization > b.utilization; });
  return loads;
}

void writeTrace(std::ostream& out, const Details& details) {
  struct Event {
    fabric::Rank from = 0;
    fabric::Rank to = 0;
    Microseconds began{};
    Microseconds left{};
    std::size_t phase = 0;
    Interval interval = {};
  };
  std::vector<Event> events;
  Microseconds began(0);
  for (std::size_t phase = 0; phase < details.phases.size(); ++phase) {
    const Run& run = details.phases[phase].run;
    for (const Interval& interval : run.intervals) {
      const Message& message = details.phases[phase].job->messages()[interval.message];
      events.push_back({message.from, message.to, began + interval.ready, began + interval.left, phase, interval});
    }
    began += run.time;
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.from, a.to, a.began) < std::tie(b.from, b.to, b.began);
  });

  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* separator = "\n";
  const auto name = [&](const char* what, fabric::Rank rank, std::int64_t row, const std::string& text) {
    out << separator << R"({"name":")" << what << R"(","ph":"M","pid":)" << rank << R"(,"tid":)" << row
        << R"(,"args":{"name":)" << jsonText(text) << "}}";
    separator = ",\n";
  };
  // Messages of a pair that overlap go to separate rows; a row is used again when it is free.
  using FreeRow = std::pair<Microseconds, std::int64_t>;  // free from, number
  std::priority_queue<FreeRow, std::vector<FreeRow>, std::greater<>> rows;
  std::int64_t rowCount = 0;  // of the sender
  std::int64_t pairRows = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const Job& job = *details.phases[event.phase].job;
    if (i == 0 || events[i - 1].from != event.from) {
      rowCount = 0;
      name("process_name", event.from, 0, "rank " + std::to_string(event.from) + " " + gpuName(job, event.from));
    }
    if (i == 0 || events[i - 1].from != event.from || events[i - 1].to != event.to) {
      rows = {};
      pairRows = 0;
    }
    std::int64_t row = rowCount;
    if (!rows.empty() && rows.top().first <= event.began) {
      row = rows.top().second;
      rows.pop();
    } else {
      ++rowCount;
      ++pairRows;
      name("thread_name", event.from, row,
           "to rank " + std::to_string(event.to) + (pairRows > 1 ? " (" + std::to_string(pairRows) + ")" : ""));
    }
    rows.emplace(event.left, row);
    out << separator << R"({"name":")" << toString(job.labels()) << " " << job.messages()[event.interval.message].label
        << R"(","ph":"X","pid":)" << event.from << R"(,"tid":)" << row
        << formatted(R"(,"ts":%.6f,"dur":%.6f,"args":{"piece":%u,"overhead_us":%.6f,"latency_us":%.6f}})",
                     event.began.count(), (event.left - event.began).count(), event.interval.repeat,
                     (event.interval.flowing - event.interval.ready).count(),
                     (event.interval.arrived - event.interval.left).count());
  }
  out << "\n]}\n";
}

}  // namespace coppice::simulate
