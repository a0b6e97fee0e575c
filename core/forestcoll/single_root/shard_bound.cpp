// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/single_root/shard_bound.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "forestcoll/scaled_oracle.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

[[noreturn]] void refuse(std::string message, std::string fix, ErrorCode code = ErrorCode::badUsage) {
  throw Failure{{code, std::move(message), std::move(fix)}};
}

std::vector<int64_t> amountsByRank(const fabric::Fabric& fabric, const Request& request) {
  const auto count = static_cast<std::size_t>(fabric.gpuCount());
  const std::string word(toString(request.collective));
  if (!request.root) {
    refuse(word + " needs a root", "name the root GPU");
  }
  if (*request.root < 0 || *request.root >= fabric.gpuCount()) {
    refuse("rank " + std::to_string(*request.root) + " does not exist",
           "the fabric has ranks 0 to " + std::to_string(count - 1));
  }
  if (request.fixedK || request.maxK || request.maxLoss || request.maxHeight) {
    refuse(word + " has no trees whose number or height could be limited", "leave these limits out");
  }
  if (request.amounts.empty()) {
    return std::vector<int64_t>(count, 1);
  }
  if (request.amounts.size() != count) {
    refuse(std::to_string(request.amounts.size()) + " amounts for " + std::to_string(count) + " GPUs",
           "give one amount per rank");
  }
  if (*std::min_element(request.amounts.begin(), request.amounts.end()) < 0) {
    refuse("an amount is negative", "amounts are 0 or more");
  }
  return request.amounts;
}

int64_t divideByCommonDivisor(std::vector<int64_t>& values) {
  int64_t divisor = 0;
  for (const int64_t value : values) {
    divisor = std::gcd(divisor, value);
  }
  for (int64_t& value : values) {
    value /= std::max<int64_t>(divisor, 1);
  }
  return divisor;
}

/// What S holds and what leaves it.
CutRatio ratioOf(const Network& network, std::vector<int> nodes) {
  std::vector<char> isIn(network.nodeCount, 0);
  CutRatio cut;
  for (const int node : nodes) {
    isIn[node] = 1;
    cut.demand += network.demand[node];
  }
  for (const TreeArc& arc : network.arcs) {
    if (isIn[arc.tail] != 0 && isIn[arc.head] == 0) {
      cut.exit = checkedAdd(cut.exit, arc.capacity);
    }
  }
  cut.nodes = std::move(nodes);
  return cut;
}

/// The worse of: one GPU alone, and all nodes but the root.
CutRatio firstCut(const ShardProblem& problem) {
  const Network& network = problem.network;
  std::vector<int64_t> egress(network.nodeCount, 0);
  for (const TreeArc& arc : network.arcs) {
    egress[arc.tail] = checkedAdd(egress[arc.tail], arc.capacity);
  }
  std::vector<int> others;
  int worst = -1;
  for (int node = 0; node < network.nodeCount; ++node) {
    if (node == problem.root) {
      continue;
    }
    others.push_back(node);
    const auto isWorse = [&](int than) {
      return Int128{network.demand[node]} * egress[than] > Int128{network.demand[than]} * egress[node];
    };
    if (network.demand[node] > 0 && (worst < 0 || isWorse(worst))) {
      worst = node;
    }
  }
  CutRatio alone = ratioOf(network, {worst});
  CutRatio all = ratioOf(network, std::move(others));
  return alone.value() > all.value() ? alone : all;
}

std::vector<int> withoutNodes(int nodeCount, const std::vector<int>& sorted) {
  std::vector<int> rest;
  for (int node = 0; node < nodeCount; ++node) {
    if (!std::binary_search(sorted.begin(), sorted.end(), node)) {
      rest.push_back(node);
    }
  }
  return rest;
}

template <typename Cap>
CutRatio newton(const ShardProblem& problem, const Progress& progress) {
  const Network& network = problem.network;
  CutRatio worst = firstCut(problem);
  auto oracle =
      scaledOracle<Cap>(network, worst.value().numerator(), worst.value().denominator(), std::vector{problem.root});
  while (true) {
    throwIfCancelled(progress);
    if (oracle.flowInto(problem.root, oracle.target()) == oracle.target()) {
      return worst;
    }
    bool isClosed = false;
    const int seeds[] = {problem.root};
    const std::vector<int> violated = oracle.reaching(seeds, isClosed);
    oracle.undo();
    worst = ratioOf(network, withoutNodes(network.nodeCount, violated));
    const Rational ratio = worst.value();
    for (std::size_t i = 0; i < network.arcs.size(); ++i) {
      oracle.setCapacity(static_cast<int>(i), Cap{network.arcs[i].capacity} * ratio.numerator());
    }
    for (const int gpu : network.gpus) {
      oracle.setSupply(gpu, Cap{network.demand[gpu]} * ratio.denominator());
    }
  }
}

/// Nodes of S by GPUs alone: which switches stand on which side makes no other cut.
std::vector<int> gpusOf(const Network& network, const std::vector<int>& nodes) {
  std::vector<int> gpus;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(gpus),
               [&](int node) { return network.isGpu[node] != 0; });
  return gpus;
}

template <typename Cap>
std::vector<std::vector<int>> tightSets(const ShardProblem& problem, const Rational& ratio, const Progress& progress) {
  const Network& network = problem.network;
  auto oracle = scaledOracle<Cap>(network, ratio.numerator(), ratio.denominator(), std::vector{problem.root});
  oracle.flowInto(problem.root, oracle.target());
  std::vector<std::vector<int>> sets;
  std::set<std::vector<int>> seen;
  const auto add = [&](std::vector<int> nodes) {
    if (seen.insert(gpusOf(network, nodes)).second) {
      sets.push_back(std::move(nodes));
    }
  };
  for (const int gpu : network.gpus) {
    throwIfCancelled(progress);
    if (network.demand[gpu] == 0) {
      continue;
    }
    std::vector<int> side = oracle.reachableFrom(gpu);
    if (!std::binary_search(side.begin(), side.end(), problem.root)) {
      add(std::move(side));
    }
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [&](const auto& a, const auto& b) { return gpusOf(network, a).size() < gpusOf(network, b).size(); });
  std::set<int> all;
  for (const std::vector<int>& set : sets) {
    all.insert(set.begin(), set.end());
  }
  add({all.begin(), all.end()});  // a union of tight sets is tight
  return sets;
}

bool areNested(const Network& network, const std::vector<std::vector<int>>& sets) {
  for (std::size_t i = 1; i < sets.size(); ++i) {
    const auto inner = gpusOf(network, sets[i - 1]);
    const auto outer = gpusOf(network, sets[i]);
    if (!std::includes(outer.begin(), outer.end(), inner.begin(), inner.end())) {
      return false;
    }
  }
  return true;
}

}  // namespace

ShardProblem shardProblem(const fabric::Fabric& fabric, const Request& request) {
  ShardProblem problem;
  problem.amounts = amountsByRank(fabric, request);
  if (divideByCommonDivisor(problem.amounts) == 0) {
    refuse("all amounts are zero", "give at least one rank some data");
  }
  for (const int64_t amount : problem.amounts) {
    problem.totalAmount = checkedAdd(problem.totalAmount, amount);
  }
  std::vector<int64_t> moving = problem.amounts;
  moving[*request.root] = 0;
  problem.demandUnit = divideByCommonDivisor(moving);
  if (problem.demandUnit == 0) {
    refuse("there is nothing to send: only the root has data", "give another rank some data", ErrorCode::infeasible);
  }
  const auto network = [&](const fabric::Fabric& toRoot) {
    return makeNetwork(toRoot.nodeCount(), toRoot.gpus(), toRoot.arcs(), moving);
  };
  problem.network = request.collective == Collective::scatter ? network(fabric.transposed()) : network(fabric);
  problem.root = fabric.gpus()[*request.root];
  return problem;
}

CutRatio worstShardCut(const ShardProblem& problem, const Progress& progress) {
  return fits64(problem.network) ? newton<int64_t>(problem, progress) : newton<Int128>(problem, progress);
}

TiedCuts tightShardCuts(const ShardProblem& problem, const Rational& ratio, const Progress& progress) {
  constexpr std::size_t kListed = 64;
  const Network& network = problem.network;
  const auto sets =
      fits64(network) ? tightSets<int64_t>(problem, ratio, progress) : tightSets<Int128>(problem, ratio, progress);
  TiedCuts cuts;
  cuts.count = static_cast<int64_t>(sets.size());
  cuts.isExact = areNested(network, sets);
  for (const std::vector<int>& nodes : sets) {
    if (cuts.cuts.size() == kListed) {
      break;
    }
    const CutRatio cut = ratioOf(network, nodes);
    cuts.cuts.push_back({nodes, checkedMul(cut.demand, problem.demandUnit), Rational(cut.exit) * network.unit});
  }
  return cuts;
}

Optimum shardOptimum(const ShardProblem& problem, const Rational& ratio, const TiedCuts& cuts) {
  Optimum optimum;
  optimum.gpuCount = static_cast<int>(problem.network.gpus.size());
  optimum.inverseRate = ratio * Rational(problem.demandUnit) / problem.network.unit;
  optimum.algbw = Rational(problem.totalAmount) / optimum.inverseRate;
  optimum.bottlenecks = cuts.cuts;
  return optimum;
}

}  // namespace coppice::forestcoll
