// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "nccl/tuning.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/request.hpp"
#include "workflow/run_doubts.hpp"

namespace coppice::workflow {
namespace {

using SizeKey = std::pair<std::int64_t, std::string>;  // bytes, collective

/// What NCCL's model needs of a communicator, besides its table.
nccl::TuningInput inputOf(const ImportedRun& run, const nccl::Communicator& communicator) {
  if (run.expectation) {
    return run.expectation->tuning;
  }
  return {
      .ranks = communicator.ranks, .nodes = std::max(communicator.hostCount(), 1), .channels = communicator.channels};
}

void findFaster(RunSize& size, const nccl::Communicator& communicator, const nccl::TuningInput& input,
                const RunOnFabric& on) {
  // Less is within what such a model can tell.
  constexpr double kWorthSaying = 0.98;
  if (size.algorithm.empty() || size.collective != toString(on.collective)) {
    return;
  }
  std::optional<Microseconds> own;
  const nccl::Estimate* best = nullptr;
  std::optional<Microseconds> least;
  for (const nccl::Estimate& estimate : communicator.estimates) {
    if (estimate.collective != size.collective || !(estimate.algbw > Throughput(0))) {
      continue;
    }
    const Microseconds time = nccl::estimatedTime(input, nccl::limitedBy(on.reaches, estimate), size.bytes);
    if (estimate.algorithm == size.algorithm && estimate.protocol == size.protocol) {
      own = time;
      size.predicted = time;
      size.estimated = size.estimated ? size.estimated : nccl::estimatedTime(input, estimate, size.bytes);
    }
    if (!least || time < *least) {
      least = time;
      best = &estimate;
    }
  }
  if (own && best != nullptr) {
    if (*least < *own * kWorthSaying) {
      size.faster = best->algorithm + " " + best->protocol;
      size.fasterTime = least;
    }
    return;
  }
  const nccl::Load* chosen = on.loadOf(size.algorithm);
  for (const nccl::Reach& reach : on.reaches) {
    if (chosen != nullptr && chosen->algbw < reach.load.algbw) {
      chosen = &reach.load;
      size.faster = reach.algorithm;
    }
  }
}

}  // namespace

std::vector<const MeasuredRun*> comparedRuns(const ImportedRun& run, std::string_view collective) {
  std::set<std::pair<std::string, std::string>> seen;  // file, collective
  std::vector<const MeasuredRun*> compared;
  for (const MeasuredRun& measured : run.measured) {
    const std::string is = measured.collective.empty() ? std::string(collective) : measured.collective;
    if (measured.mayBeOf(is) && seen.emplace(measured.name, is).second) {
      compared.push_back(&measured);
    }
  }
  return compared;
}

std::vector<RunSize> runSizes(const ImportedRun& run, const RunOnFabric& on) {
  std::map<SizeKey, RunSize> sizes;
  const auto at = [&](const std::string& collective, std::int64_t bytes) -> RunSize& {
    RunSize& size = sizes[{bytes, collective}];
    size.collective = collective;
    size.bytes = bytes;
    return size;
  };
  const nccl::Communicator* communicator = run.largest();
  if (communicator != nullptr) {
    std::map<SizeKey, int> times;
    for (const nccl::Choice& choice : communicator->choices) {
      // What was chosen most often.
      int& most = times[{choice.bytes, choice.collective}];
      if (choice.times <= most) {
        continue;
      }
      most = choice.times;
      RunSize& size = at(choice.collective, choice.bytes);
      size.algorithm = choice.algorithm;
      size.protocol = choice.protocol;
      size.channels = choice.channels;
      size.estimated = choice.time;
    }
  }
  for (const nccl::InspectedCalls& calls : run.calls) {
    if (communicator != nullptr && calls.ranks != communicator->ranks) {
      continue;
    }
    RunSize& size = at(calls.collective, calls.bytes);
    size.measured = calls.time;
    size.calls = calls.calls;
    size.algbw = calls.algbw;
    size.slowestRank = calls.slowestRank;
  }
  for (const MeasuredRun* measured : comparedRuns(run, toString(on.collective))) {
    const std::string collective =
        measured->collective.empty() ? std::string(toString(on.collective)) : measured->collective;
    for (const io::NcclRow& row : measured->rows) {
      if (const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace) {
        RunSize& size = at(collective, row.size);
        size.measured = time->time;
        size.calls = 1;
        size.algbw = time->algbw;
      }
    }
  }
  std::vector<RunSize> all;
  for (auto& [unused, size] : sizes) {
    if (communicator != nullptr) {
      findFaster(size, *communicator, inputOf(run, *communicator), on);
    }
    if (const nccl::Load* load = on.loadOf(size.algorithm);
        load != nullptr && size.collective == toString(on.collective)) {
      size.reachable = load->algbw;
      size.predicted =
          size.predicted ? size.predicted : Microseconds(static_cast<double>(size.bytes) / 1000 / toGBps(load->algbw));
    }
    all.push_back(std::move(size));
  }
  return all;
}

namespace {

/// Those that are named, by the number of their sizes.
std::vector<Collective> namedCollectives(const ImportedRun& run) {
  RunOnFabric none;
  none.collective = Collective::custom;  // stands for measurements that are not clear
  std::vector<std::pair<Collective, int>> counts;
  for (const RunSize& size : runSizes(run, none)) {
    if (const auto collective = readCollective(size.collective); collective && *collective != none.collective) {
      const auto known =
          std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == *collective; });
      if (known != counts.end()) {
        ++known->second;
      } else {
        counts.emplace_back(*collective, 1);
      }
    }
  }
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<Collective> collectives;
  for (const auto& [collective, unused] : counts) {
    collectives.push_back(collective);
  }
  return collectives;
}

/// "allgather, alltoall" of tables that are not clear.
std::vector<std::string> possibleCollectives(const ImportedRun& run) {
  std::vector<std::string> possible;
  for (const MeasuredRun& measured : run.measured) {
    for (const std::string& each : measured.fits) {
      if (measured.collective.empty() && std::find(possible.begin(), possible.end(), each) == possible.end()) {
        possible.push_back(each);
      }
    }
  }
  return possible;
}

bool isUnclear(const MeasuredRun& measured) {
  return measured.collective.empty() && measured.line > 0;
}

}  // namespace

std::vector<Collective> collectivesOf(const ImportedRun& run) {
  std::vector<Collective> collectives = namedCollectives(run);
  for (const std::string& each : possibleCollectives(run)) {
    const auto collective = readCollective(each);
    if (collective && std::find(collectives.begin(), collectives.end(), *collective) == collectives.end()) {
      collectives.push_back(*collective);
    }
  }
  if (collectives.empty()) {
    collectives.push_back(Collective::allreduce);
  }
  return collectives;
}

Result<Collective> comparedCollective(const ImportedRun& run, const std::string& asked) {
  if (!asked.empty()) {
    return readCollective(asked);
  }
  const auto unclear = std::find_if(run.measured.begin(), run.measured.end(), isUnclear);
  if (unclear == run.measured.end() || !namedCollectives(run).empty()) {
    return collectivesOf(run).front();
  }
  const Finding why = doubtsOf({*unclear}).front();
  return Error{ErrorCode::badUsage, why.text, why.fix, why.where};
}

}  // namespace coppice::workflow
