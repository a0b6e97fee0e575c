// SPDX-License-Identifier: Apache-2.0
#include "bfb/schedule.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_map>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "bfb/logical.hpp"
#include "bfb/survey.hpp"
#include "schedule/step_cost.hpp"

namespace coppice::bfb {
namespace {

using fabric::Rank;
using schedule::PathId;
using std::int64_t;

constexpr int64_t kMaxChunks = std::numeric_limits<std::int32_t>::max();
constexpr int64_t kMaxDeliveries = int64_t{1} << 30;

/// Unwinds with the error that generate() returns.
struct Failure {
  Error error;
};

/// [begin, end) chunks of the owner's shard over a link.
struct Send {
  std::int32_t owner = 0;
  std::int32_t link = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// What the targets of a block get, by target and step.
struct BlockSends {
  std::vector<std::size_t> start;  ///< by SurveyBlock::steps, into `sends`; one more at the end
  std::vector<Send> sends;
};

/// One direction of data: an allgather or a broadcast on a digraph, or on its transpose to be turned round.
struct Half {
  bool isTurned = false;
  Logical logical;
  Survey found;
  int64_t chunks = 1;
  std::vector<Rational> wholeLoads;  ///< V_t in chunks per unit link
  std::vector<BlockSends> sends;     ///< by block
};

Half makeHalf(const fabric::Fabric& fabric, const Request& request, bool isTurned, const Progress& progress) {
  auto logical = logicalGraph(isTurned ? fabric.transposed() : fabric, request.throughSwitches, progress);
  if (!logical) {
    throw Failure{logical.error()};
  }
  return Half{isTurned, *std::move(logical), {}, 1, {}, {}};
}

/// Latencies of links in shards per unit link. @pre request.bytes
void setLatencies(const fabric::Fabric& fabric, const Request& request, Half& half) {
  constexpr int64_t kPicoseconds = 1'000'000;     // in a microsecond
  constexpr int64_t kBytesPerMicrosecond = 1000;  // of 1 GB/s
  const Rational shard = Rational(*request.bytes) / Rational(isRooted(request.collective) ? 1 : fabric.gpuCount());
  const Rational perMicrosecond = half.logical.unit * Rational(kBytesPerMicrosecond) / shard;
  for (const auto& route : half.logical.routes) {
    Rational latency;
    for (std::size_t i = 1; i < route.size(); ++i) {
      const auto arc = half.isTurned ? fabric.findArc(route[i], route[i - 1]) : fabric.findArc(route[i - 1], route[i]);
      latency += Rational(schedule::latencyPicoseconds(fabric, fabric.arcs()[arc.value()]), kPicoseconds);
    }
    half.logical.graph.latencies.push_back(latency * perMicrosecond);
  }
}

void surveyHalf(Half& half, const Deliveries& deliveries, const Progress& progress) {
  auto found = survey(deliveries, 0, half.logical.graph.nodeCount, progress);
  if (!found) {
    throw Failure{found.error()};
  }
  half.found = *std::move(found);
  const auto& pairs = half.found.pairs;
  if (std::accumulate(pairs.begin(), pairs.end(), int64_t{0}) > kMaxDeliveries) {
    throw Failure{{ErrorCode::limit, "The schedule would have more than 2^30 transfers", "ask for its loads only"}};
  }
}

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
      Rational& load = loads[static_cast<std::size_t>(step.step - 1)];
      load = std::max(load, entry->second);
      if (!mayLose && load > found.stepLoads[static_cast<std::size_t>(step.step - 1)] * Rational(chunks)) {
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

/// The fewest chunks that lose nothing: of the divisors of enoughChunks() the least; with links of width 1 that is the
/// common denominator of the loads.
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

/// Hands the chunks of the jobs to the links that the assignment gives to their classes.
class Dealer {
public:
  Dealer(const Arrivals& arrivals, const Assignment& assignment, std::span<const int> links, int64_t chunks,
         std::vector<Send>& sends)
      : m_arrivals(arrivals), m_assignment(assignment), m_links(links), m_chunks(chunks), m_sends(sends) {}

  void deal() {
    m_next.assign(m_assignment.first.begin(), m_assignment.first.end() - 1);
    m_used.assign(m_next.size(), 0);
    for (std::size_t i = 0; i < m_arrivals.owners.size(); ++i) {
      dealOne(m_arrivals.owners[i], m_arrivals.classOf[i]);
    }
  }

private:
  void dealOne(int owner, std::uint32_t at) {
    for (int64_t begin = 0; begin < m_chunks;) {
      const Share& share = m_assignment.shares[m_next[at]];
      const int64_t end = std::min(m_chunks, begin + share.amount - m_used[at]);
      m_sends.push_back({owner, m_links[static_cast<std::size_t>(share.link)], static_cast<std::int32_t>(begin),
                         static_cast<std::int32_t>(end)});
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
  std::vector<std::size_t> m_next;  ///< by class, into the shares
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
    const std::size_t first = block.start[static_cast<std::size_t>(target - block.first)];
    for (int i = 0; i < reader.count(); ++i) {
      const Arrivals& arrivals = reader.at(i, true);
      const std::uint32_t problem = block.steps[first + static_cast<std::size_t>(i)].problem;
      const auto [entry, isNew] = known.try_emplace((int64_t{arrivals.step} << 32) + problem);
      if (isNew) {
        ClassFlow flow(arrivals.problem);
        const Rational& load = half.wholeLoads[static_cast<std::size_t>(arrivals.step - 1)];
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

void makeSends(Half& half, const Deliveries& deliveries, const Progress& progress) {
  half.sends.resize(half.found.blocks.size());
  parallelFor(half.sends.size(),
              [&](std::size_t at) { sendBlock(half, deliveries, half.found.blocks[at], half.sends[at], progress); });
}

/// Puts the halves one after the other into one schedule.
class Assembly {
public:
  Assembly(const fabric::Fabric& fabric, const Request& request, const std::vector<Half>& halves)
      : m_fabric(fabric), m_collective(request.collective), m_halves(halves) {
    auto goal = schedule::CollectiveTable::make(request.collective, fabric.gpuCount(), request.root);
    if (!goal) {
      throw Failure{goal.error()};
    }
    m_schedule.goal = *std::move(goal);
    m_schedule.method = "bfb";
    m_schedule.fabricName = fabric.name();
    m_schedule.fabricDigest = fabric.digest();
  }

  schedule::StepSchedule run(int64_t chunks, const Progress& progress) {
    m_isOneShard = m_collective == Collective::allreduce;
    m_chunks = chunks;
    m_schedule.denominator = m_isOneShard ? checkedMul(chunks, int64_t{m_fabric.gpuCount()}) : chunks;
    std::size_t count = 0;
    m_schedule.stepCount = 0;
    for (const Half& half : m_halves) {
      for (const BlockSends& block : half.sends) {
        count += block.sends.size();
      }
    }
    m_schedule.transfers.reserve(count);
    for (const Half& half : m_halves) {
      addHalf(half, progress);
    }
    return std::move(m_schedule);
  }

private:
  void addHalf(const Half& half, const Progress& progress) {
    const PathId firstRoute = m_schedule.paths.size();
    for (std::vector<fabric::NodeIndex> route : half.logical.routes) {
      if (half.isTurned) {
        std::reverse(route.begin(), route.end());
      }
      m_schedule.paths.add(route);
    }
    const auto steps = static_cast<int>(half.found.stepLoads.size());
    const std::vector<Batch> batches = batchesByStep(half, steps);
    std::size_t at = 0;
    for (int i = 0; i < steps; ++i) {
      throwIfCancelled(progress);
      const int t = half.isTurned ? steps - i : i + 1;
      at = static_cast<std::size_t>(m_first[static_cast<std::size_t>(t) - 1]);
      for (; at < static_cast<std::size_t>(m_first[static_cast<std::size_t>(t)]); ++at) {
        addBatch(half, batches[at], firstRoute, m_schedule.stepCount + i);
      }
    }
    m_schedule.stepCount += steps;
  }

  struct Batch {
    std::uint32_t block = 0;
    std::uint32_t step = 0;  ///< into SurveyBlock::steps
  };

  /// What targets get, sorted by step; m_first says where a step begins.
  std::vector<Batch> batchesByStep(const Half& half, int steps) {
    m_first.assign(static_cast<std::size_t>(steps) + 1, 0);
    for (const SurveyBlock& block : half.found.blocks) {
      for (const SurveyBlock::Step& step : block.steps) {
        ++m_first[static_cast<std::size_t>(step.step)];
      }
    }
    std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
    std::vector<Batch> batches(static_cast<std::size_t>(m_first.back()));
    std::vector<int64_t> next(m_first.begin(), m_first.end());
    for (std::uint32_t b = 0; b < half.found.blocks.size(); ++b) {
      const auto& list = half.found.blocks[b].steps;
      for (std::uint32_t s = 0; s < list.size(); ++s) {
        batches[static_cast<std::size_t>(next[static_cast<std::size_t>(list[s].step) - 1]++)] = {b, s};
      }
    }
    return batches;
  }

  void addBatch(const Half& half, const Batch& batch, PathId firstRoute, int step) {
    const BlockSends& block = half.sends[batch.block];
    const int64_t scale = m_chunks / half.chunks;
    for (std::size_t i = block.start[batch.step]; i < block.start[batch.step + 1]; ++i) {
      const Send& send = block.sends[i];
      const Link& link = half.logical.graph.links[static_cast<std::size_t>(send.link)];
      const int64_t base = m_isOneShard ? send.owner * m_chunks : 0;
      m_schedule.transfers.add({shardOf(send.owner), base + send.begin * scale, base + send.end * scale,
                                half.isTurned ? link.head : link.tail, half.isTurned ? link.tail : link.head,
                                firstRoute + send.link, step, half.isTurned});
    }
  }

  [[nodiscard]] int64_t shardOf(int owner) const { return m_isOneShard || isRooted(m_collective) ? 0 : owner; }

  const fabric::Fabric& m_fabric;
  Collective m_collective;
  const std::vector<Half>& m_halves;
  schedule::StepSchedule m_schedule;
  bool m_isOneShard = false;
  int64_t m_chunks = 1;
  std::vector<int64_t> m_first;  ///< by step, into the batches
};

void addCosts(const Half& half, PathId firstRoute, Costs& costs) {
  const int steps = static_cast<int>(half.found.stepLoads.size());
  const int firstStep = static_cast<int>(costs.loads.size());
  for (int i = 0; i < steps; ++i) {
    const auto t = static_cast<std::size_t>(half.isTurned ? steps - 1 - i : i);
    costs.exactLoads.push_back(half.found.stepLoads[t]);
    costs.loads.push_back(half.wholeLoads[t] / Rational(half.chunks));
    costs.deliveries.push_back(half.found.pairs[t]);
    const TightSet& tight = half.found.tight[t];
    Witness witness{firstStep + i, tight.node, half.isTurned, {}, tight.jobs, tight.width};
    for (const int link : tight.links) {
      witness.routes.push_back(firstRoute + link);
    }
    costs.witnesses.push_back(std::move(witness));
  }
}

/// Halves are counted in the unit of the finer one.
void shareUnit(std::vector<Half>& halves) {
  if (halves.size() < 2 || halves[0].logical.unit == halves[1].logical.unit) {
    return;
  }
  const Rational ratio = halves[0].logical.unit / halves[1].logical.unit;
  const Rational unit = halves[0].logical.unit / Rational(ratio.numerator());
  for (Half& half : halves) {
    const int64_t factor = (half.logical.unit / unit).numerator();
    half.logical.unit = unit;
    for (Link& link : half.logical.graph.links) {
      link.width = checkedMul(link.width, factor);
    }
  }
}

void requireSound(const fabric::Fabric& fabric, const Request& request) {
  using enum Collective;
  const Collective all[] = {allgather, reduceScatter, allreduce, broadcast, reduce};
  if (std::find(std::begin(all), std::end(all), request.collective) == std::end(all)) {
    throw Failure{{ErrorCode::badUsage, "BFB makes no " + std::string(toString(request.collective)),
                   "use allgather, reduce_scatter, allreduce, broadcast or reduce"}};
  }
  if (request.chunks && (*request.chunks < 1 || *request.chunks > kMaxChunks)) {
    throw Failure{{ErrorCode::badUsage,
                   "the number of chunks per shard is between 1 and 2147483647",
                   "give a small number, or exact",
                   {.element = "--chunks"}}};
  }
  if (request.bytes && *request.bytes < 1) {
    throw Failure{{ErrorCode::badUsage, "the data of the collective has less than one byte", "give a size"}};
  }
  if (isRooted(request.collective) && (!request.root || *request.root < 0 || *request.root >= fabric.gpuCount())) {
    throw Failure{{ErrorCode::badUsage, std::string(toString(request.collective)) + " needs a root of the fabric",
                   "name the root GPU"}};
  }
}

Generated make(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  requireSound(fabric, request);
  const std::optional<int> root = isRooted(request.collective) ? request.root : std::nullopt;
  std::vector<Half> halves;
  if (reduces(request.collective)) {
    halves.push_back(makeHalf(fabric, request, true, progress));
  }
  if (request.collective != Collective::reduceScatter && request.collective != Collective::reduce) {
    halves.push_back(makeHalf(fabric, request, false, progress));
  }
  shareUnit(halves);
  Generated result;
  result.gpuCount = fabric.gpuCount();
  PathId firstRoute = 0;
  for (Half& half : halves) {
    if (request.bytes) {
      setLatencies(fabric, request, half);
    }
    const Deliveries deliveries(half.logical.graph, root);
    surveyHalf(half, deliveries, progress);
    chooseChunks(half, request.chunks);
    makeSends(half, deliveries, progress);
    addCosts(half, firstRoute, result.costs);
    firstRoute += static_cast<PathId>(half.logical.routes.size());
    result.chunks = leastCommonMultiple(result.chunks, half.chunks);
    result.costs.degree = std::max(result.costs.degree, half.logical.graph.degree());
  }
  result.costs.unit = halves.front().logical.unit;
  result.costs.isTimed = request.bytes.has_value();
  result.costs.shardsPerCollective = root ? 1 : fabric.gpuCount();
  result.schedule = Assembly(fabric, request, halves).run(result.chunks, progress);
  auto cost = schedule::stepCost(fabric, result.schedule, progress);
  if (!cost) {
    throw Failure{cost.error()};
  }
  result.schedule.algbw = cost->algbw;
  return result;
}

}  // namespace

Rational Costs::bandwidthTime(const std::vector<Rational>& of) const {
  return std::accumulate(of.begin(), of.end(), Rational()) * Rational(degree) / shardsPerCollective;
}

bool Generated::isBandwidthOptimal() const {
  const Collective collective = schedule.goal.collective();
  const Rational once(gpuCount - 1, gpuCount);
  const Rational time = Rational(costs.degree) * costs.unit / schedule.algbw;
  return !isRooted(collective) && time == (collective == Collective::allreduce ? once + once : once);
}

Result<Generated> generate(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  try {
    return make(fabric, request, progress);
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The loads leave the 64-bit range",
                 "use bandwidths with a simple ratio, or choose --chunks"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::bfb
