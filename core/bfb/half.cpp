// SPDX-License-Identifier: Apache-2.0
#include "bfb/half.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "bfb/box_wiring.hpp"

namespace coppice::bfb {
namespace {

using schedule::PathId;
using std::int64_t;

constexpr int64_t kMaxDeliveries = int64_t{1} << 30;

/// V_t of every step, or nothing where some step would lose against the exact loads and none may.
std::optional<std::vector<Rational>> wholeLoads(const Survey& found, int64_t chunks, bool mayLose) {
  std::vector<Rational> loads(found.stepLoads.size());
  for (const SurveyBlock& block : found.blocks) {
    std::unordered_map<std::uint32_t, Rational> known;
    for (const SurveyBlock::Step& step : block.steps) {
      const auto [entry, isNew] = known.try_emplace(step.problem);
      if (isNew) {
        entry->second =
            solveWhole(block.problems.problem(step.problem), block.problems.value(step.problem).ratio, chunks);
      }
      Rational& load = loads[step.step - 1];
      load = std::max(load, entry->second);
      if (!mayLose && load > found.stepLoads[step.step - 1] * Rational(chunks)) {
        return std::nullopt;
      }
    }
  }
  return loads;
}

/// A number of chunks with which all capacities are whole numbers.
int64_t enoughChunks(const Half& half) {
  int64_t common = 1;
  const auto include = [&](const Rational& value) {
    common = leastCommonMultiple(common, value.denominator());
    if (common > kMaxChunks) {
      throw Failure{{ErrorCode::limit, "More than 2^31 chunks per shard would be needed to lose nothing",
                     "choose their number with --chunks"}};
    }
  };
  const Digraph& graph = half.logical.graph;
  for (const Rational& load : half.found.stepLoads) {
    if (graph.latencies.empty()) {
      include(load);
      continue;
    }
    for (std::size_t link = 0; link < graph.links.size(); ++link) {
      if (load > graph.latencies[link]) {
        include((load - graph.latencies[link]) * Rational(graph.links[link].width));
      }
    }
  }
  return common;
}

/// Hands the chunks of the shards to the links that the assignment gives to their classes.
class Dealer {
public:
  Dealer(const Arrivals& arrivals, const Assignment& assignment, std::span<const int> links, int64_t chunks,
         std::vector<Send>& sends)
      : m_arrivals(arrivals), m_assignment(assignment), m_links(links), m_chunks(chunks), m_sends(sends) {}

  void deal() {
    m_next.assign(m_assignment.rowCount(), 0);
    m_used.assign(m_next.size(), 0);
    for (std::size_t i = 0; i < m_arrivals.owners.size(); ++i) {
      dealOne(m_arrivals.owners[i], m_arrivals.classOf[i]);
    }
  }

private:
  void dealOne(int owner, std::uint32_t at) {
    for (int64_t begin = 0; begin < m_chunks;) {
      const Share& share = m_assignment[at][m_next[at]];
      const int64_t end = std::min(m_chunks, begin + share.amount - m_used[at]);
      m_sends.push_back({owner, m_links[share.link], static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
      m_used[at] += end - begin;
      if (m_used[at] == share.amount) {
        m_used[at] = 0;
        ++m_next[at];
      }
      begin = end;
    }
  }

  const Arrivals& m_arrivals;
  const Assignment& m_assignment;
  std::span<const int> m_links;
  int64_t m_chunks;
  std::vector<Send>& m_sends;
  std::vector<std::size_t> m_next;  ///< by class, into its shares
  std::vector<int64_t> m_used;      ///< by class: of that share
};

void sendBlock(const Half& half, const Deliveries& deliveries, const SurveyBlock& block, BlockSends& out,
               const Progress& progress) {
  DeliveryReader reader(deliveries);
  std::unordered_map<int64_t, Assignment> known;  // by problem and step, which sets the capacities
  out.start.push_back(0);
  for (int target = block.first; target < block.last; ++target) {
    throwIfCancelled(progress);
    (void)reader.find(target);
    const std::size_t first = block.start[target - block.first];
    for (int i = 0; i < reader.count(); ++i) {
      const Arrivals& arrivals = reader.at(i, true);
      const std::uint32_t problem = block.steps[first + static_cast<std::size_t>(i)].problem;
      const auto [entry, isNew] = known.try_emplace((int64_t{arrivals.step} << 32) + problem);
      if (isNew) {
        ClassFlow flow(arrivals.problem);
        const Rational& load = half.wholeLoads[arrivals.step - 1];
        if (!flow.fill(half.chunks, wholeCapacities(arrivals.problem, load, half.chunks))) {
          throw Failure{{ErrorCode::internal, "the links of a step do not hold the load that was proven for it"}};
        }
        entry->second = flow.assignment();
      }
      Dealer(arrivals, entry->second, deliveries.in().linksInto(target), half.chunks, out.sends).deal();
      out.start.push_back(out.sends.size());
    }
  }
}

}  // namespace

std::size_t wiringCount(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const bool hasChoice = request.throughSwitches && fabric.gpuCount() != fabric.nodeCount();
  return 1 + (hasChoice ? boxWirings(fabric, progress).size() : 0);
}

Half makeHalf(const fabric::Fabric& fabric, const Request& request, bool isTurned, std::size_t wiring,
              const Progress& progress) {
  const fabric::Fabric transposed = isTurned ? fabric.transposed() : fabric;
  if (wiring > 0) {
    return Half{isTurned, std::move(boxWirings(transposed, progress).at(wiring - 1)), {}, 1, {}, {}};
  }
  auto logical = orThrow(logicalGraph(transposed, request.throughSwitches, progress));
  return Half{isTurned, std::move(logical), {}, 1, {}, {}};
}

void setLatencies(const fabric::Fabric& fabric, const Request& request, Half& half) {
  constexpr int64_t kPicoseconds = 1'000'000;  // in a microsecond
  const Rational shard = Rational(*request.bytes) / Rational(isRooted(request.collective) ? 1 : fabric.gpuCount());
  const Rational perMicrosecond = bytesIn(ExactMicroseconds(1), half.logical.unit) / shard;
  for (const auto& route : half.logical.routes) {
    Rational latency;
    for (std::size_t i = 1; i < route.size(); ++i) {
      const auto arc = half.isTurned ? fabric.findArc(route[i], route[i - 1]) : fabric.findArc(route[i - 1], route[i]);
      latency += Rational(schedule::latencyPicoseconds(fabric, fabric.arcs()[arc.value()]), kPicoseconds);
    }
    half.logical.graph.latencies.push_back(latency * perMicrosecond);
  }
}

void surveyHalf(Half& half, const Deliveries& deliveries, int lastTarget, const Progress& progress) {
  half.found = orThrow(survey(deliveries, 0, lastTarget, progress));
  const auto& pairs = half.found.pairs;
  if (std::accumulate(pairs.begin(), pairs.end(), int64_t{0}) > kMaxDeliveries) {
    throw Failure{{ErrorCode::limit, "The schedule would have more than 2^30 transfers",
                   "keep fewer GPUs; where all GPUs are alike, a schedule by rule has no such limit"}};
  }
}

void chooseChunks(Half& half, const std::optional<int64_t>& asked) {
  if (asked) {
    half.chunks = *asked;
    half.wholeLoads = *wholeLoads(half.found, half.chunks, true);
    return;
  }
  const int64_t common = enoughChunks(half);
  for (int64_t chunks = 1; chunks <= common; ++chunks) {
    if (common % chunks == 0) {
      if (auto loads = wholeLoads(half.found, chunks, false)) {
        half.chunks = chunks;
        half.wholeLoads = *std::move(loads);
        return;
      }
    }
  }
}

void makeSends(Half& half, const Deliveries& deliveries, const Progress& progress) {
  half.sends.resize(half.found.blocks.size());
  parallelFor(half.sends.size(),
              [&](std::size_t at) { sendBlock(half, deliveries, half.found.blocks[at], half.sends[at], progress); });
}

void addCosts(const Half& half, PathId firstRoute, Costs& costs) {
  const int steps = static_cast<int>(half.found.stepLoads.size());
  const int firstStep = static_cast<int>(costs.loads.size());
  costs.routes.push_back(half.logical.name);
  for (int i = 0; i < steps; ++i) {
    const auto t = static_cast<std::size_t>(half.isTurned ? steps - 1 - i : i);
    costs.exactLoads.push_back(half.found.stepLoads[t]);
    costs.loads.push_back(half.wholeLoads[t] / Rational(half.chunks));
    costs.deliveries.push_back(half.found.pairs[t]);
    const TightSet& tight = half.found.tight[t];
    Witness witness{firstStep + i, tight.node, half.isTurned, {}, tight.shards, tight.width};
    for (const int link : tight.links) {
      witness.routes.push_back(firstRoute + link);
    }
    costs.witnesses.push_back(std::move(witness));
  }
}

void shareUnit(std::vector<Half>& halves) {
  if (halves.size() < 2 || halves[0].logical.unit == halves[1].logical.unit) {
    return;
  }
  const Rational ratio = halves[0].logical.unit / halves[1].logical.unit;
  const Bandwidth unit = halves[0].logical.unit / Rational(ratio.numerator());
  for (Half& half : halves) {
    const int64_t factor = (half.logical.unit / unit).numerator();
    half.logical.unit = unit;
    for (Link& link : half.logical.graph.links) {
      link.width = checkedMul(link.width, factor);
    }
  }
}

}  // namespace coppice::bfb
