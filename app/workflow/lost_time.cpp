// SPDX-License-Identifier: Apache-2.0
#include "workflow/lost_time.hpp"

#include <algorithm>
#include <map>

namespace coppice::workflow {
namespace {

void addLinks(LostTime& lost, const RunOnFabric& on, const std::vector<RunSize>& sizes) {
  std::map<int, LostTime::Link> links;
  for (const RunSize& size : sizes) {
    const nccl::Load* load = size.collective == toString(on.collective) ? on.loadOf(size.algorithm) : nullptr;
    if (load == nullptr || !size.measured) {
      continue;
    }
    const double calls = std::max(size.calls, 1);
    // Microseconds at 1 GB/s, times what a link takes per GB/s.
    const double scale = static_cast<double>(size.bytes) / 1000 * calls;
    const Microseconds bound(scale / toGBps(on.bound));
    lost.measured += *size.measured * calls;
    lost.bound += bound;
    lost.congestion += Microseconds(scale / toGBps(load->algbw)) - bound;
    for (std::size_t arc = 0; arc < load->time.size(); ++arc) {
      if (load->time[arc].perGBps() * on.bound.gigabytesPerSecond() > Rational(1)) {
        LostTime::Link& link = links[static_cast<int>(arc)];
        const Microseconds busy(scale * load->time[arc].perGBps().toDouble());
        link.arc = static_cast<int>(arc);
        link.busy += busy;
        link.lost += busy - bound;
      }
    }
  }
  for (const auto& [unused, link] : links) {
    lost.links.push_back(link);
  }
  std::stable_sort(lost.links.begin(), lost.links.end(),
                   [](const LostTime::Link& a, const LostTime::Link& b) { return a.lost > b.lost; });
}

void addRanks(LostTime& lost, const ImportedRun& run) {
  const nccl::Communicator* communicator = run.largest();
  std::map<int, LostTime::Rank> ranks;
  const auto at = [&](int rank) -> LostTime::Rank& {
    LostTime::Rank& entry = ranks[rank];
    entry.rank = rank;
    if (communicator != nullptr && rank >= 0 && rank < communicator->ranks) {
      entry.host = communicator->places[rank].host;
    }
    return entry;
  };
  for (const nccl::InspectedCalls& calls : run.calls) {
    if (communicator != nullptr && calls.ranks != communicator->ranks) {
      continue;
    }
    for (const nccl::LateRank& late : calls.late) {
      LostTime::Rank& entry = at(late.rank);
      entry.calls += late.calls;
      entry.lost += late.lost;
    }
  }
  for (const nccl::RasStatus& status : run.ras) {
    for (const nccl::RasCommunicator& each : status.communicators) {
      if (communicator != nullptr && !communicator->id.empty() && !each.id.empty() && each.id != communicator->id &&
          each.ranks != communicator->ranks && status.communicators.size() > 1) {
        continue;
      }
      for (const nccl::RasRank& outlier : each.outliers) {
        LostTime::Rank& entry = at(outlier.rank);
        entry.host = entry.host.empty() ? outlier.host : entry.host;
        entry.state += (entry.state.empty() ? "" : "; ") + outlier.what;
      }
    }
  }
  for (auto& [unused, rank] : ranks) {
    lost.ranks.push_back(std::move(rank));
  }
  std::stable_sort(lost.ranks.begin(), lost.ranks.end(),
                   [](const LostTime::Rank& a, const LostTime::Rank& b) { return a.lost > b.lost; });
}

}  // namespace

LostTime lostTime(const ImportedRun& run, const RunOnFabric& on, const std::vector<RunSize>& sizes) {
  LostTime lost;
  addLinks(lost, on, sizes);
  addRanks(lost, run);
  return lost;
}

}  // namespace coppice::workflow
