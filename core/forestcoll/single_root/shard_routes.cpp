// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/single_root/shard_routes.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "flow/cheapest_flow.hpp"
#include "schedule/route_index.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::PathId;
using std::int64_t;

/// What k pieces per unit leave of each arc; absent where the sums leave the range of exact flows.
std::vector<int64_t> wholePieces(const Network& network, const Rational& ratio, int64_t k) {
  std::vector<int64_t> capacities;
  capacities.reserve(network.arcs.size());
  Int128 sum = Int128{network.totalDemand} * k;
  for (const TreeArc& arc : network.arcs) {
    const Int128 product = checkedMul(checkedMul(Int128{arc.capacity}, Int128{k}), Int128{ratio.numerator()});
    capacities.push_back(narrow64(product / ratio.denominator()));
    sum += capacities.back();
  }
  if (sum >= std::numeric_limits<int64_t>::max() / 4) {
    throw OverflowError("the pieces leave the exact integer range");
  }
  return capacities;
}

bool isFeasible(const ShardProblem& problem, const std::vector<int64_t>& capacities, int64_t k) {
  const Network& network = problem.network;
  std::vector<TreeArc> arcs = network.arcs;
  std::vector<int64_t> supply = network.demand;
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    arcs[i].capacity = capacities[i];
  }
  for (int64_t& amount : supply) {
    amount *= k;
  }
  flow::FeasibilityOracle<int64_t> oracle(network.nodeCount, arcs, std::move(supply), {problem.root});
  return oracle.flowInto(problem.root, oracle.target()) == oracle.target();
}

/// A number that divides every k with which all arcs out of S carry whole pieces.
int64_t divisorOfPieces(const Network& network, const std::vector<int>& nodes, int64_t denominator) {
  int64_t divisor = denominator;
  for (const TreeArc& arc : network.arcs) {
    if (std::binary_search(nodes.begin(), nodes.end(), arc.tail) &&
        !std::binary_search(nodes.begin(), nodes.end(), arc.head)) {
      divisor = std::gcd(divisor, arc.capacity);
    }
  }
  return denominator / divisor;
}

/// Part of a shard on one way to the root.
struct ShardPath {
  std::vector<NodeIndex> nodes;
  int64_t pieces = 0;
};

/// The flow, taken apart shard by shard.
class Paths {
public:
  Paths(const ShardProblem& problem, std::vector<int64_t> flow)
      : m_problem(problem), m_flow(std::move(flow)), m_out(static_cast<std::size_t>(problem.network.nodeCount)) {
    for (std::size_t i = 0; i < problem.network.arcs.size(); ++i) {
      if (m_flow[i] > 0) {
        m_out[problem.network.arcs[i].tail].push_back(static_cast<int>(i));
      }
    }
  }

  /// Ways that begin alike follow each other.
  std::vector<ShardPath> of(int gpu, int64_t pieces) {
    std::map<std::vector<NodeIndex>, int64_t> paths;
    while (pieces > 0) {
      std::vector<int> arcs;
      int64_t amount = pieces;
      for (int node = gpu; node != m_problem.root; node = m_problem.network.arcs[arcs.back()].head) {
        arcs.push_back(widest(node));
        amount = std::min(amount, m_flow[arcs.back()]);
      }
      std::vector<NodeIndex> nodes{gpu};
      for (const int arc : arcs) {
        m_flow[arc] -= amount;
        nodes.push_back(m_problem.network.arcs[arc].head);
      }
      paths[nodes] += amount;
      pieces -= amount;
    }
    std::vector<ShardPath> result;
    for (const auto& [nodes, amount] : paths) {
      result.push_back({nodes, amount});
    }
    return result;
  }

private:
  int widest(int node) const {
    int best = -1;
    for (const int arc : m_out[node]) {
      if (m_flow[arc] > 0 && (best < 0 || m_flow[arc] > m_flow[best])) {
        best = arc;
      }
    }
    if (best < 0) {
      throw Failure{{ErrorCode::internal, "the flow of the shards ends before the root"}};
    }
    return best;
  }

  const ShardProblem& m_problem;
  std::vector<int64_t> m_flow;
  std::vector<std::vector<int>> m_out;  ///< by node: arcs with flow
};

/// A transfer whose piece is not yet in units of the schedule.
struct Leg {
  schedule::Transfer transfer;
  int64_t units = 1;  ///< begin and end count these parts of the shard
  int order = 0;      ///< legs between it and the rank that the shard is named after
};

class Legs {
public:
  Legs(const fabric::Fabric& fabric, bool isScatter) : m_fabric(fabric), m_isScatter(isScatter) {}

  void addShard(Rank shard, const std::vector<ShardPath>& paths, int64_t units) {
    m_lastOn.clear();
    int64_t begin = 0;
    for (const ShardPath& path : paths) {
      addPath(shard, path, begin, units);
      begin += path.pieces;
    }
  }

  /// Into the schedule. Between the same two GPUs, a gather sends first what has come the fewest hops, a scatter what
  /// has the most hops before it: so no relay waits for what could have come earlier.
  void finish(schedule::StepSchedule& schedule) {
    std::stable_sort(m_legs.begin(), m_legs.end(), [this](const Leg& a, const Leg& b) {
      return m_isScatter ? a.order > b.order : a.order < b.order;
    });
    int64_t denominator = 1;
    for (const Leg& leg : m_legs) {
      denominator = leastCommonMultiple(denominator, Rational(leg.transfer.begin, leg.units).denominator());
      denominator = leastCommonMultiple(denominator, Rational(leg.transfer.end, leg.units).denominator());
    }
    schedule.denominator = denominator;
    schedule.paths = m_routes.takePaths();
    schedule.transfers.reserve(m_legs.size());
    for (const Leg& leg : m_legs) {
      schedule::Transfer transfer = leg.transfer;
      transfer.begin = (Rational(transfer.begin, leg.units) * Rational(denominator)).numerator();
      transfer.end = (Rational(transfer.end, leg.units) * Rational(denominator)).numerator();
      schedule.transfers.add(transfer);
    }
  }

private:
  void addPath(Rank shard, const ShardPath& path, int64_t begin, int64_t units) {
    std::vector<NodeIndex> nodes = path.nodes;
    if (m_isScatter) {
      std::reverse(nodes.begin(), nodes.end());
    }
    std::vector<std::ptrdiff_t> ends;  // places of the GPUs
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (m_fabric.nodes()[nodes[i]].kind == fabric::NodeKind::gpu) {
        ends.push_back(static_cast<std::ptrdiff_t>(i));
      }
    }
    const int legs = static_cast<int>(ends.size()) - 1;
    for (int i = 0; i < legs; ++i) {
      addLeg(shard, {nodes.begin() + ends[i], nodes.begin() + ends[i + 1] + 1}, begin, begin + path.pieces, units,
             m_isScatter ? legs - 1 - i : i);
    }
  }

  void addLeg(Rank shard, const std::vector<NodeIndex>& nodes, int64_t begin, int64_t end, int64_t units, int order) {
    const PathId route = m_routes.idOf(nodes);
    const auto [last, isFirst] = m_lastOn.try_emplace(route, m_legs.size());
    if (!isFirst && m_legs[last->second].transfer.end == begin) {
      m_legs[last->second].transfer.end = end;  // continues where the previous path ended
      m_legs[last->second].order = std::max(m_legs[last->second].order, order);
      return;
    }
    last->second = m_legs.size();
    m_legs.push_back({{.shard = shard,
                       .begin = begin,
                       .end = end,
                       .from = m_fabric.nodes()[nodes.front()].rank,
                       .to = m_fabric.nodes()[nodes.back()].rank,
                       .route = route},
                      units,
                      order});
  }

  const fabric::Fabric& m_fabric;
  bool m_isScatter;
  schedule::RouteIndex m_routes;
  std::map<PathId, std::size_t> m_lastOn;  ///< of this shard: the last leg on a route
  std::vector<Leg> m_legs;
};

std::vector<int64_t> cheapestShardFlow(const ShardProblem& problem, const PieceCount& pieces,
                                       const Progress& progress) {
  const Network& network = problem.network;
  const int source = network.nodeCount;
  // Above what any cycle of the residual network changes in links, so that transfers count first.
  const int64_t transferCost = int64_t{network.nodeCount} + 2;
  std::vector<flow::PricedArc> arcs;
  for (std::size_t i = 0; i < network.arcs.size(); ++i) {
    const TreeArc& arc = network.arcs[i];
    arcs.push_back({arc.tail, arc.head, pieces.capacities[i], 1 + (network.isGpu[arc.head] != 0 ? transferCost : 0)});
  }
  for (const int gpu : network.gpus) {
    if (network.demand[gpu] > 0) {
      arcs.push_back({source, gpu, network.demand[gpu] * pieces.k, 0});
    }
  }
  const int64_t wanted = network.totalDemand * pieces.k;
  flow::CheapestFlow found = flow::cheapestFlow(source + 1, arcs, source, problem.root, wanted, progress);
  if (found.value != wanted) {
    throw Failure{{ErrorCode::internal, "the shards do not fit into the capacities of their bound"}};
  }
  found.flow.resize(network.arcs.size());
  return std::move(found.flow);
}

}  // namespace

PieceCount minPieces(const ShardProblem& problem, const Rational& ratio, const TiedCuts& cuts,
                     const Progress& progress) {
  constexpr int64_t kMaxTries = 64;
  const int64_t enough = ratio.denominator();
  int64_t step = 1;
  for (const schedule::Cut& cut : cuts.cuts) {
    step = leastCommonMultiple(step, divisorOfPieces(problem.network, cut.nodes, enough));
  }
  PieceCount pieces;
  pieces.isMinimum = true;
  for (int64_t k = step; k < enough; k += step) {
    throwIfCancelled(progress);
    if (k / step > kMaxTries) {
      pieces.isMinimum = false;
      break;
    }
    std::vector<int64_t> capacities = wholePieces(problem.network, ratio, k);
    if (isFeasible(problem, capacities, k)) {
      pieces.k = k;
      pieces.capacities = std::move(capacities);
      return pieces;
    }
  }
  pieces.k = enough;
  pieces.capacities = wholePieces(problem.network, ratio, enough);
  return pieces;
}

schedule::StepSchedule shardRoutes(const fabric::Fabric& fabric, const Request& request, const ShardProblem& problem,
                                   const PieceCount& pieces, const Progress& progress) {
  Paths paths(problem, cheapestShardFlow(problem, pieces, progress));
  Legs legs(fabric, request.collective == Collective::scatter);
  for (Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    throwIfCancelled(progress);
    const int gpu = fabric.gpus()[rank];
    const int64_t units = problem.network.demand[gpu] * pieces.k;
    if (units > 0) {
      legs.addShard(rank, paths.of(gpu, units), units);
    }
  }
  const std::vector<int64_t> amounts = request.amounts.empty() ? std::vector<int64_t>() : problem.amounts;
  auto goal = orThrow(schedule::CollectiveTable::make(request.collective, fabric.gpuCount(), request.root, amounts));
  schedule::StepSchedule schedule;
  schedule.goal = std::move(goal);
  schedule.method = "forestcoll";
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.isSynchronous = false;
  legs.finish(schedule);
  return schedule;
}

}  // namespace coppice::forestcoll
