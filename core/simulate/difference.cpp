// SPDX-License-Identifier: Apache-2.0
#include "simulate/difference.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace coppice::simulate {
namespace {

const fabric::Fabric& fabricOf(const Details& details) {
  return details.phases.front().job->fabric();
}

void addPhase(const Phase& phase, Microseconds began, double bytesPerShare, std::vector<RankUse>& uses) {
  const Intervals& intervals = phase.run.intervals;
  std::vector<std::uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return intervals[a].flowing < intervals[b].flowing; });
  std::vector<Microseconds> busyUntil(uses.size(), Microseconds(0));
  for (const std::uint32_t at : order) {
    const Interval interval = intervals[at];
    const Message& message = phase.job->messages()[interval.message];
    const double bytes = message.share * bytesPerShare;
    RankUse& from = uses[message.from];
    RankUse& to = uses[message.to];
    Microseconds& until = busyUntil[message.from];
    from.sent += bytes;
    from.sending += std::max(Microseconds(0), interval.left - std::max(until, interval.flowing));
    until = std::max(until, interval.left);
    to.received += bytes;
    to.done = std::max(to.done, began + interval.arrived);
  }
}

}  // namespace

std::vector<RankUse> rankUses(const Details& details) {
  if (details.phases.empty()) {
    return {};
  }
  std::vector<RankUse> uses(static_cast<std::size_t>(fabricOf(details).gpuCount()));
  const double bytesPerShare = static_cast<double>(details.row.size) / details.row.pieces;
  Microseconds began(0);
  for (const Phase& phase : details.phases) {
    addPhase(phase, began, bytesPerShare, uses);
    began += phase.run.time;
  }
  return uses;
}

std::vector<LinkDifference> linkDifferences(const Details& first, const Details& second) {
  std::map<std::pair<std::string, std::string>, LinkDifference> links;
  for (const bool isSecond : {false, true}) {
    const Details& details = isSecond ? second : first;
    const fabric::Fabric& fabric = fabricOf(details);
    for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
      LinkUse use;
      for (const Phase& phase : details.phases) {
        use.bytes += phase.run.links[arc].bytes;
        use.busy += phase.run.links[arc].busy;
      }
      if (use.bytes <= 0) {
        continue;
      }
      const fabric::Arc& ends = fabric.arcs()[arc];
      const std::string& tail = fabric.nodes()[ends.tail].id;
      const std::string& head = fabric.nodes()[ends.head].id;
      LinkDifference& link = links[{tail, head}];
      if (link.tail.empty()) {
        link = {tail, head, Throughput(toGBps(ends.bandwidth)), {}, {}};
      }
      (isSecond ? link.second : link.first) = use;
    }
  }
  std::vector<LinkDifference> sorted;
  sorted.reserve(links.size());
  for (auto& [ends, link] : links) {
    sorted.push_back(std::move(link));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const LinkDifference& a, const LinkDifference& b) {
    return a.busyDifference() > b.busyDifference();
  });
  return sorted;
}

std::vector<RankDifference> rankDifferences(const Details& first, const Details& second) {
  std::vector<RankDifference> gpus;
  std::map<std::string, std::size_t> places;
  for (const bool isSecond : {false, true}) {
    const Details& details = isSecond ? second : first;
    const std::vector<RankUse> uses = rankUses(details);
    for (std::size_t rank = 0; rank < uses.size(); ++rank) {
      const fabric::Fabric& fabric = fabricOf(details);
      const std::string& name = fabric.nodes()[fabric.gpus()[rank]].id;
      const auto [place, isNew] = places.try_emplace(name, gpus.size());
      if (isNew) {
        gpus.push_back({name, {}, {}});
      }
      RankDifference& gpu = gpus[place->second];
      (isSecond ? gpu.second : gpu.first) = uses[rank];
    }
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const RankDifference& a, const RankDifference& b) {
    return a.doneDifference() > b.doneDifference();
  });
  return gpus;
}

}  // namespace coppice::simulate
