// SPDX-License-Identifier: Apache-2.0
#include "verify/bound_check.hpp"

#include <string>

#include "base/checked.hpp"
#include "flow/lemon/max_flow.hpp"
#include "verify/demand.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;
using fabric::Rank;
using schedule::Direction;

std::int64_t sumOf(std::span<const std::int64_t> values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) {
    sum = checkedAdd(sum, value);
  }
  return sum;
}

/// value * scale for a scale that value's denominator divides.
std::int64_t scaled(const Rational& value, std::int64_t scale) {
  return checkedMul(value.numerator(), scale / value.denominator());
}

}  // namespace

Bandwidth crossingBandwidth(const fabric::Fabric& fabric, std::span<const NodeIndex> nodes, Direction direction) {
  std::vector<bool> inside(fabric.nodeCount(), false);
  for (const NodeIndex node : nodes) {
    inside[node] = true;
  }
  Bandwidth sum;
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (inside[arc.tail] != inside[arc.head] && inside[arc.tail] == (direction == Direction::out)) {
      sum += arc.bandwidth;
    }
  }
  return sum;
}

bool isSoundCut(const fabric::Fabric& fabric, const schedule::Cut& cut, std::span<const std::int64_t> demand,
                const ElementRef& element, FaultLog& log) {
  NodeIndex last = -1;
  int gpus = 0;
  std::int64_t sum = 0;
  for (const NodeIndex node : cut.nodes) {
    if (node < 0 || node >= fabric.nodeCount()) {
      log.fault("holds node " + std::to_string(node) + ", which is not in the fabric", element);
      return false;
    }
    if (node <= last) {
      log.fault("its nodes are not in ascending order", element);
      return false;
    }
    last = node;
    const fabric::Node& info = fabric.nodes()[node];
    if (info.kind == NodeKind::gpu) {
      ++gpus;
      sum = checkedAdd(sum, demand[info.rank]);
    }
  }
  if (gpus == fabric.gpuCount()) {
    log.fault("holds every GPU, so nothing has to cross it", element);
    return false;
  }
  if (sum != cut.demand || sum == 0) {
    log.fault("states a demand of " + std::to_string(cut.demand) + "; its GPUs have " + std::to_string(sum) +
                  (sum == 0 ? ", so it bounds nothing" : ""),
              element);
    return false;
  }
  return true;
}

RateVerdict proveRate(const fabric::Fabric& fabric, std::span<const std::int64_t> demand, Direction direction,
                      const Bandwidth& rate, bool isTransitive, const Progress& progress) {
  const std::int64_t totalDemand = sumOf(demand);
  const Rational perUnit = rate.gigabytesPerSecond() / Rational(totalDemand);
  std::int64_t scale = perUnit.denominator();
  for (const fabric::Arc& arc : fabric.arcs()) {
    const std::int64_t denominator = arc.bandwidth.gigabytesPerSecond().denominator();
    if (scale % denominator != 0) {
      scale = leastCommonMultiple(scale, denominator);
    }
  }
  const std::int64_t unit = scaled(perUnit, scale);
  const std::int64_t target = checkedMul(unit, totalDemand);

  const int source = fabric.nodeCount();
  std::vector<flow::lemon::Arc> arcs;
  arcs.reserve(fabric.arcs().size() + static_cast<std::size_t>(fabric.gpuCount()));
  for (const fabric::Arc& arc : fabric.arcs()) {
    const std::int64_t capacity = scaled(arc.bandwidth.gigabytesPerSecond(), scale);
    if (direction == Direction::out) {
      arcs.push_back({arc.tail, arc.head, capacity});
    } else {
      arcs.push_back({arc.head, arc.tail, capacity});
    }
  }
  for (Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    if (demand[rank] > 0) {
      arcs.push_back({source, fabric.gpus()[rank], checkedMul(unit, demand[rank])});
    }
  }
  flow::lemon::MaxFlow network(source + 1, arcs);

  RateVerdict verdict;
  verdict.proof = RateProof::achievable;
  std::vector<bool> sourceSide;
  const Rank ranks = isTransitive ? 1 : fabric.gpuCount();
  for (Rank rank = 0; rank < ranks; ++rank) {
    throwIfCancelled(progress);
    progress.report("proving", static_cast<double>(rank) / fabric.gpuCount());
    const bool wantsCut = verdict.proof == RateProof::achievable;
    const std::int64_t value = network.run(source, fabric.gpus()[rank], wantsCut ? &sourceSide : nullptr);
    if (value >= target && !wantsCut) {
      continue;
    }
    if (!wantsCut) {
      network.run(source, fabric.gpus()[rank], &sourceSide);
    }
    // The largest source side holds every other minimum cut, so if this one has no demand, none has.
    std::vector<NodeIndex> cutNodes;
    std::int64_t cutDemand = 0;
    for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
      if (sourceSide[node]) {
        cutNodes.push_back(node);
        const fabric::Node& info = fabric.nodes()[node];
        cutDemand += info.kind == NodeKind::gpu ? demand[info.rank] : 0;
      }
    }
    if (value < target) {
      verdict.proof = RateProof::tooHigh;
      verdict.starved = rank;
      verdict.cutNodes = std::move(cutNodes);
      return verdict;
    }
    if (cutDemand > 0) {
      verdict.proof = RateProof::exact;
      verdict.cutNodes = std::move(cutNodes);
    }
  }
  return verdict;
}

RateVerdict proveShardRate(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal, const Bandwidth& rate) {
  const Demand demand(goal);
  const bool isGather = goal.collective() == Collective::gather;
  const Rank root = goal.root().value_or(0);
  std::vector<Rational> needs(fabric.gpuCount());  // GB/s by rank
  std::int64_t scale = 1;
  for (Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    needs[rank] = rank == root ? Rational(0) : demand.share(rank) * rate.gigabytesPerSecond();
    scale = leastCommonMultiple(scale, needs[rank].denominator());
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    scale = leastCommonMultiple(scale, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  // A scatter is played backwards, so that the shards' side is the source's in both.
  const int source = fabric.nodeCount();
  std::vector<flow::lemon::Arc> arcs;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const std::int64_t capacity = scaled(arc.bandwidth.gigabytesPerSecond(), scale);
    arcs.push_back({isGather ? arc.tail : arc.head, isGather ? arc.head : arc.tail, capacity});
  }
  std::int64_t target = 0;
  for (Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    const std::int64_t need = scaled(needs[rank], scale);
    target = checkedAdd(target, need);
    arcs.push_back({source, fabric.gpus()[rank], need});
  }
  std::vector<bool> sourceSide;
  const std::int64_t value = flow::lemon::MaxFlow(source + 1, arcs).run(source, fabric.gpus()[root], &sourceSide);
  RateVerdict verdict;
  bool hasData = false;
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (sourceSide[node]) {
      verdict.cutNodes.push_back(node);
      const fabric::Node& info = fabric.nodes()[node];
      hasData |= info.kind == NodeKind::gpu && needs[info.rank].isPositive();
    }
  }
  verdict.proof = value < target ? RateProof::tooHigh : hasData ? RateProof::exact : RateProof::achievable;
  if (verdict.proof == RateProof::achievable) {
    verdict.cutNodes.clear();
  }
  return verdict;
}

}  // namespace coppice::verify
