// SPDX-License-Identifier: Apache-2.0
#include "bfb/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/rows.hpp"
#include "bfb/half.hpp"
#include "bfb/rule.hpp"
#include "schedule/step_cost.hpp"

namespace coppice::bfb {
namespace {

using fabric::Rank;
using schedule::PathId;
using std::int64_t;

/// Puts the halves one after the other into one schedule.
class Assembly {
public:
  Assembly(const fabric::Fabric& fabric, const Request& request, const std::vector<Half>& halves)
      : m_fabric(fabric), m_collective(request.collective), m_halves(halves) {
    m_schedule.goal = orThrow(schedule::CollectiveTable::make(request.collective, fabric.gpuCount(), request.root));
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
    const Rows<Batch> batches = batchesByStep(half, steps);
    for (int i = 0; i < steps; ++i) {
      throwIfCancelled(progress);
      for (const Batch& batch : batches[static_cast<std::size_t>(half.isTurned ? steps - 1 - i : i)]) {
        addBatch(half, batch, firstRoute, m_schedule.stepCount + i);
      }
    }
    m_schedule.stepCount += steps;
  }

  struct Batch {
    std::uint32_t block = 0;
    std::uint32_t step = 0;  ///< into SurveyBlock::steps
  };

  /// What targets get, by step.
  static Rows<Batch> batchesByStep(const Half& half, int steps) {
    return Rows<Batch>(static_cast<std::size_t>(steps), [&](const auto& add) {
      for (std::uint32_t b = 0; b < half.found.blocks.size(); ++b) {
        const auto& list = half.found.blocks[b].steps;
        for (std::uint32_t s = 0; s < list.size(); ++s) {
          add(list[s].step - 1, Batch{b, s});
        }
      }
    });
  }

  void addBatch(const Half& half, const Batch& batch, PathId firstRoute, int step) {
    const BlockSends& block = half.sends[batch.block];
    const int64_t scale = m_chunks / half.chunks;
    for (std::size_t i = block.start[batch.step]; i < block.start[batch.step + 1]; ++i) {
      const Send& send = block.sends[i];
      const Link& link = half.logical.graph.links[send.link];
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
};

void requireSound(const fabric::Fabric& fabric, const Request& request) {
  using enum Collective;
  const Collective all[] = {allgather, reduceScatter, allreduce, broadcast, reduce};
  if (std::find(std::begin(all), std::end(all), request.collective) == std::end(all)) {
    throw Failure{{ErrorCode::badUsage, "BFB does not support " + std::string(toString(request.collective)),
                   "use allgather, reduce_scatter, allreduce, broadcast or reduce"}};
  }
  if (request.chunks && (*request.chunks < 1 || *request.chunks > kMaxChunks)) {
    throw Failure{{ErrorCode::badUsage,
                   "the number of chunks per shard is between 1 and 2147483647",
                   "give a small number, or exact",
                   {.element = {RefKind::option, "--chunks"}}}};
  }
  if (request.bytes && *request.bytes < 1) {
    throw Failure{{ErrorCode::badUsage, "the data of the collective has less than one byte", "give a size"}};
  }
  if (isRooted(request.collective) && (!request.root || *request.root < 0 || *request.root >= fabric.gpuCount())) {
    throw Failure{{ErrorCode::badUsage, std::string(toString(request.collective)) + " needs a root of the fabric",
                   "name the root GPU"}};
  }
}

/// @param wiring which logical topology: see wiringCount
Generated makeOn(const fabric::Fabric& fabric, const Request& request, std::size_t wiring, const Progress& progress) {
  const std::optional<int> root = isRooted(request.collective) ? request.root : std::nullopt;
  std::vector<Half> halves;
  if (reduces(request.collective)) {
    halves.push_back(makeHalf(fabric, request, true, wiring, progress));
  }
  if (request.collective != Collective::reduceScatter && request.collective != Collective::reduce) {
    halves.push_back(makeHalf(fabric, request, false, wiring, progress));
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
    surveyHalf(half, deliveries, half.logical.graph.nodeCount, progress);
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
  result.schedule.algbw = orThrow(schedule::stepCost(fabric, result.schedule, progress)).algbw;
  return result;
}

bool isFaster(const Generated& a, const Generated& b) {
  if (a.costs.isTimed) {
    const auto planned = [](const Costs& costs) {
      return std::accumulate(costs.loads.begin(), costs.loads.end(), Rational()) / costs.unit;
    };
    return planned(a.costs) < planned(b.costs);
  }
  return a.schedule.algbw > b.schedule.algbw;
}

/// Of the logical topologies the one whose schedule is the fastest. Those that cannot be made are ignored.
Generated make(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  requireSound(fabric, request);
  if (request.byRule || needsRule(fabric, request)) {
    return makeByRule(fabric, request, progress);
  }
  const std::size_t wirings = wiringCount(fabric, request, progress);
  std::optional<Generated> best;
  std::optional<Failure> failed;
  for (std::size_t wiring = 0; wiring < wirings; ++wiring) {
    try {
      Generated made = makeOn(fabric, request, wiring, progress);
      if (!best || isFaster(made, *best)) {
        best = std::move(made);
      }
    } catch (const Failure& failure) {
      failed = failed ? failed : std::optional(failure);
    }
  }
  if (!best) {
    throw Failure(*failed);
  }
  return *std::move(best);
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
  return guarded([&] { return make(fabric, request, progress); },
                 {.overflow = "The loads leave the 64-bit range",
                  .overflowFix = "use bandwidths with a simple ratio, or choose --chunks"});
}

}  // namespace coppice::bfb
