// SPDX-License-Identifier: Apache-2.0
#include "order/pattern.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "base/bus_factor.hpp"
#include "base/comma_list.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "baselines/baselines.hpp"
#include "fabric/fabric.hpp"
#include "groups/groups.hpp"

namespace coppice::order {
namespace {

using Pair = std::pair<int, int>;
using Amounts = std::map<Pair, Rational>;

constexpr std::array kAlgorithms{
    Algorithm{"ring", "One ring in the order of ranks.", Collective::allreduce},
    Algorithm{
        "multi-ring",
        "One ring for each GPU of a host, on its rail from host to host, as NCCL's; what is inside hosts is left out.",
        Collective::allreduce},
    Algorithm{"double-binary-tree", "Two binary trees over the ranks, with half of the data each.",
              Collective::allreduce},
    Algorithm{"recursive-doubling", "Ranks at distance 1, 2, 4, ... exchange all that they have.",
              Collective::allgather},
    Algorithm{"recursive-halving", "Ranks at distance N/2, N/4, ... exchange halves (Rabenseifner).",
              Collective::allreduce},
    Algorithm{"binomial", "A binomial tree, as for a broadcast of small data.", Collective::broadcast},
    Algorithm{"bruck", "Ceiling of log2 N steps for any N.", Collective::allgather},
    Algorithm{"pairwise", "In step t every rank sends to the one at distance t.", Collective::alltoall},
    Algorithm{"direct", "Every rank sends to every other at the same time.", Collective::alltoall},
    Algorithm{"two-level", "All-to-all inside the hosts, then between GPUs with the same place in their hosts.",
              Collective::alltoall},
    Algorithm{"hierarchical", "Inside the hosts, then rings between GPUs with the same place in their hosts.",
              Collective::allreduce}};

bool treatsHostsApart(std::string_view algorithm) {
  return algorithm == "multi-ring" || algorithm == "two-level" || algorithm == "hierarchical";
}

/// GPUs at one switch, or hosts with a switch and a NIC for each GPU: links are all alike, so that what a baseline
/// does on it follows from the ranks alone.
fabric::Fabric plainFabric(std::span<const int> hostSizes, bool hasHosts) {
  fabric::Description description;
  const auto add = [&](std::string id, const char* kind, const std::string& box) {
    fabric::NodeDescription node;
    node.id = std::move(id);
    node.kind = kind;
    node.box = box;
    description.nodes.push_back(std::move(node));
  };
  add("network", "switch", "");
  int place = 0;
  for (std::size_t host = 0; host < hostSizes.size(); ++host) {
    const std::string box = hasHosts ? "host" + std::to_string(host) : "";
    const std::string inner = "switch" + std::to_string(host);
    if (hasHosts) {
      add(inner, "switch", box);
    }
    for (int i = 0; i < hostSizes[host]; ++i, ++place) {
      const std::string gpu = "gpu" + std::to_string(place);
      const std::string nic = "nic" + std::to_string(place);
      add(gpu, "gpu", box);
      if (hasHosts) {
        add(nic, "nic", box);
        description.links.push_back({gpu, inner, "16"});
        description.links.push_back({gpu, nic, "1"});
      }
      description.links.push_back({hasHosts ? nic : gpu, "network", "1"});
    }
  }
  return orThrow(fabric::Fabric::build(description));
}

Step stepOf(const Amounts& amounts) {
  Step step;
  for (const auto& [pair, amount] : amounts) {
    step.messages.push_back({pair.first, pair.second, amount});
  }
  return step;
}

/// Steps that send the same are one, with its count.
void addStep(Pattern& pattern, std::map<std::vector<std::pair<Pair, Rational>>, std::size_t>& known,
             const Amounts& amounts) {
  if (amounts.empty()) {
    return;
  }
  const auto [found, isNew] = known.try_emplace({amounts.begin(), amounts.end()}, pattern.steps.size());
  if (isNew) {
    pattern.steps.push_back(stepOf(amounts));
  } else {
    ++pattern.steps[found->second].count;
  }
}

schedule::StepSchedule baselineOf(std::string_view name, Collective collective, std::span<const int> hostSizes,
                                  bool hasHosts, const Progress& progress) {
  auto made =
      orThrow(baselines::generate(name, plainFabric(hostSizes, hasHosts), {.collective = collective}, progress));
  return std::get<schedule::StepSchedule>(std::move(made));
}

Pattern fromSchedule(const schedule::StepSchedule& schedule, int places) {
  Pattern pattern{.places = places};
  std::vector<Amounts> steps(static_cast<std::size_t>(schedule.stepCount));
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const schedule::Transfer transfer = schedule.transfers[i];
    steps[static_cast<std::size_t>(transfer.step)][{transfer.from, transfer.to}] +=
        schedule.goal.share(transfer.shard) * Rational(transfer.end - transfer.begin, schedule.denominator);
  }
  std::map<std::vector<std::pair<Pair, Rational>>, std::size_t> known;
  for (const Amounts& step : steps) {
    addStep(pattern, known, step);
  }
  return pattern;
}

/// What passes each hop of a ring over `ranks` ranks, per byte of M.
Rational perHop(std::string_view algorithm, Collective collective, int ranks) {
  switch (collective) {
    case Collective::allgather:
    case Collective::reduceScatter:
    case Collective::allreduce:
      return busFactor(collective, ranks);
    default:
      throw Failure{Error{ErrorCode::badUsage, std::string(algorithm) + " has no " + std::string(toString(collective)),
                          "it has allgather, reduce_scatter, allreduce"}};
  }
}

Pattern ringPattern(Collective collective, int places) {
  const Rational amount = perHop("ring", collective, places);
  Amounts hops;
  for (int place = 0; place < places; ++place) {
    hops[{place, (place + 1) % places}] = amount;
  }
  return {places, false, {stepOf(hops)}};
}

/// Hops between hosts alone: those inside NCCL chooses by the host's own links, whatever the order. The baseline's
/// broadcast has all hops of each ring but the one that closes it, and one piece for each ring.
Pattern multiRingPattern(Collective collective, std::span<const int> hostSizes, int places, const Progress& progress) {
  if (hostSizes.size() < 2) {
    return ringPattern(collective, places);
  }
  const auto broadcast = baselineOf("multi-ring", Collective::broadcast, hostSizes, true, progress);
  const Rational amount = perHop("multi-ring", collective, places) / Rational(broadcast.denominator);
  Amounts hops;
  const auto add = [&](int from, int to) {
    if (from / hostSizes.front() != to / hostSizes.front()) {
      hops[{from, to}] += amount;
    }
  };
  std::vector<std::vector<char>> sends(static_cast<std::size_t>(broadcast.denominator),
                                       std::vector<char>(static_cast<std::size_t>(places), 0));
  auto receives = sends;
  for (std::size_t i = 0; i < broadcast.transfers.size(); ++i) {
    const schedule::Transfer hop = broadcast.transfers[i];
    add(hop.from, hop.to);
    sends[hop.begin][hop.from] = 1;
    receives[hop.begin][hop.to] = 1;
  }
  for (std::size_t ring = 0; ring < sends.size(); ++ring) {
    const auto last = std::find(sends[ring].begin(), sends[ring].end(), 0) - sends[ring].begin();
    const auto first = std::find(receives[ring].begin(), receives[ring].end(), 0) - receives[ring].begin();
    add(static_cast<int>(last), static_cast<int>(first));
  }
  return {places, true, {stepOf(hops)}};
}

Pattern makePattern(std::string_view algorithm, Collective collective, std::span<const int> hostSizes,
                    const Progress& progress) {
  if (const auto found = findAlgorithm(algorithm); !found) {
    throw Failure{found.error()};
  }
  const int places = std::accumulate(hostSizes.begin(), hostSizes.end(), 0);
  const bool usesHosts = treatsHostsApart(algorithm);
  if (usesHosts && std::adjacent_find(hostSizes.begin(), hostSizes.end(), std::not_equal_to<>()) != hostSizes.end()) {
    throw Failure{Error{ErrorCode::infeasible, std::string(algorithm) + " needs hosts with as many GPUs each",
                        "choose ring, or leave GPUs out with --gpus"}};
  }
  if (algorithm == "ring") {
    return ringPattern(collective, places);
  }
  if (algorithm == "multi-ring") {
    return multiRingPattern(collective, hostSizes, places, progress);
  }
  const bool isBinomial = algorithm == "binomial";
  if (isBinomial && collective != Collective::broadcast && collective != Collective::reduce) {
    throw Failure{Error{ErrorCode::badUsage, "binomial has no " + std::string(toString(collective)),
                        "it has broadcast and reduce"}};
  }
  Pattern pattern = fromSchedule(
      baselineOf(isBinomial ? "recursive-doubling" : algorithm, collective, hostSizes, usesHosts, progress), places);
  pattern.usesHosts = usesHosts;
  return pattern;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  return kAlgorithms;
}

Result<Algorithm> findAlgorithm(std::string_view name) {
  for (const Algorithm& each : kAlgorithms) {
    if (each.name == name) {
      return each;
    }
  }
  const std::string names = commaList(kAlgorithms, &Algorithm::name);
  return Error{ErrorCode::badUsage, "there is no algorithm " + inQuotes(name), "choose one of " + names};
}

Result<Pattern> patternOf(std::string_view algorithm, Collective collective, std::span<const int> hostSizes,
                          const Progress& progress) {
  return guarded([&]() -> Result<Pattern> { return makePattern(algorithm, collective, hostSizes, progress); });
}

Result<Pattern> meshPattern(std::string_view algorithm, Collective collective, std::span<const int> sizes,
                            std::span<const int> axes, int ranks, const Progress& progress) {
  return guarded([&]() -> Result<Pattern> {
    if (treatsHostsApart(algorithm)) {
      return Error{ErrorCode::badUsage, std::string(algorithm) + " is not for the groups of a mesh",
                   "choose ring, recursive-halving or direct"};
    }
    Pattern pattern{.places = ranks};
    Amounts together;
    std::map<std::vector<std::pair<Pair, Rational>>, std::size_t> known;
    for (const int axis : axes) {
      const auto groups = orThrow(groups::meshGroups(sizes, axis, ranks));
      const std::array group{static_cast<int>(groups.front().ranks.size())};
      const Pattern inGroup = makePattern(algorithm, collective, group, progress);
      for (const Step& step : inGroup.steps) {
        Amounts amounts;
        for (const auto& each : groups) {
          for (const Message& message : step.messages) {
            const Pair pair{each.ranks[message.from], each.ranks[message.to]};
            (axes.size() > 1 ? together : amounts)[pair] += message.amount * Rational(axes.size() > 1 ? step.count : 1);
          }
        }
        for (std::int64_t i = 0; i < step.count; ++i) {
          addStep(pattern, known, amounts);
        }
      }
    }
    addStep(pattern, known, together);
    return pattern;
  });
}

bool isUniform(const Pattern& pattern) {
  const auto all = static_cast<std::size_t>(pattern.places) * static_cast<std::size_t>(pattern.places - 1);
  return std::all_of(pattern.steps.begin(), pattern.steps.end(), [&](const Step& step) {
    return step.messages.size() == all &&
           std::all_of(step.messages.begin(), step.messages.end(),
                       [&](const Message& message) { return message.amount == step.messages.front().amount; });
  });
}

}  // namespace coppice::order
