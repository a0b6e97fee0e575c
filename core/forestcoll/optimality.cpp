// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/checked.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/scaled_oracle.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

int64_t demandOf(const Network& network, std::span<const int> nodes) {
  int64_t sum = 0;
  for (const int node : nodes) {
    sum += network.demand[node];
  }
  return sum;
}

std::vector<char> flags(int nodeCount, std::span<const int> nodes) {
  std::vector<char> in(nodeCount, 0);
  for (const int node : nodes) {
    in[node] = 1;
  }
  return in;
}

int64_t enteringBandwidth(const Network& network, const std::vector<char>& inSet) {
  int64_t sum = 0;
  for (const TreeArc& arc : network.arcs) {
    if (inSet[arc.tail] == 0 && inSet[arc.head] != 0) {
      sum = checkedAdd(sum, arc.capacity);
    }
  }
  return sum;
}

std::vector<int> complement(int nodeCount, std::span<const int> nodes) {
  const std::vector<char> in = flags(nodeCount, nodes);
  std::vector<int> rest;
  for (int v = 0; v < nodeCount; ++v) {
    if (in[v] == 0) {
      rest.push_back(v);
    }
  }
  return rest;
}

int64_t totalBandwidth(const Network& network) {
  int64_t sum = 0;
  for (const TreeArc& arc : network.arcs) {
    sum = checkedAdd(sum, arc.capacity);
  }
  return sum;
}

[[noreturn]] void failUnreachable() {
  throw Failure{{ErrorCode::infeasible, "some GPUs cannot reach the others, so the collective can never finish",
                 "add links until every GPU reaches every other"}};
}

CutRatio startRatio(const Network& network) {
  std::vector<int64_t> ingress(network.nodeCount, 0);
  for (const TreeArc& arc : network.arcs) {
    ingress[arc.head] = checkedAdd(ingress[arc.head], arc.capacity);
  }
  CutRatio best;
  int bestNode = -1;
  for (const int gpu : network.gpus) {
    const int64_t demand = network.totalDemand - network.demand[gpu];
    if (demand == 0) {
      continue;
    }
    if (ingress[gpu] == 0) {
      failUnreachable();
    }
    if (bestNode < 0 || Int128{demand} * best.exit > Int128{best.demand} * ingress[gpu]) {
      best.demand = demand;
      best.exit = ingress[gpu];
      bestNode = gpu;
    }
  }
  if (bestNode < 0) {
    throw Failure{{ErrorCode::infeasible, "there is nothing to send: fewer than two GPUs take part",
                   "use a fabric with at least two GPUs"}};
  }
  const int sink[] = {bestNode};
  best.nodes = complement(network.nodeCount, sink);
  return best;
}

/// The GPUs of each orbit; each GPU alone where none was looked for.
class OrbitMembers {
public:
  explicit OrbitMembers(const Network& network)
      : m_members(static_cast<std::size_t>(network.nodeCount)), m_network(network) {
    for (const int gpu : network.gpus) {
      m_members[orbitOf(gpu)].push_back(gpu);
    }
  }
  [[nodiscard]] const std::vector<int>& of(int gpu) const { return m_members[orbitOf(gpu)]; }

private:
  [[nodiscard]] int orbitOf(int gpu) const { return m_network.orbitOf.empty() ? gpu : m_network.orbitOf[gpu]; }

  std::vector<std::vector<int>> m_members;
  const Network& m_network;
};

template <typename Cap>
CutRatio newton(const Network& network, const Progress& progress) {
  CutRatio worst = startRatio(network);
  Rational ratio = worst.value();
  auto oracle = scaledOracle<Cap>(network, ratio.numerator(), ratio.denominator());
  const std::vector<int> order(oracle.sinkOrder().begin(), oracle.sinkOrder().end());
  const OrbitMembers members(network);
  std::vector<char> isDone(network.nodeCount, 0);
  std::size_t done = 0;
  for (const int sink : order) {
    if (isDone[sink] != 0) {
      continue;
    }
    throwIfCancelled(progress);
    progress.report("optimum", static_cast<double>(done) / static_cast<double>(order.size()));
    while (true) {
      const Cap flow = oracle.flowInto(sink, oracle.target());
      if (flow == oracle.target()) {
        break;
      }
      bool isClosed = false;
      const int seeds[] = {sink};
      const std::vector<int> violated = oracle.reaching(seeds, isClosed);
      oracle.undo();
      worst.demand = network.totalDemand - demandOf(network, violated);
      worst.exit = enteringBandwidth(network, flags(network.nodeCount, violated));
      if (worst.exit == 0) {
        failUnreachable();
      }
      worst.nodes = complement(network.nodeCount, violated);
      ratio = worst.value();
      for (std::size_t i = 0; i < network.arcs.size(); ++i) {
        oracle.setCapacity(static_cast<int>(i), Cap{network.arcs[i].capacity} * ratio.numerator());
      }
      for (const int gpu : network.gpus) {
        oracle.setSupply(gpu, Cap{network.demand[gpu]} * ratio.denominator());
      }
    }
    oracle.undo();
    // No set with this sink is violated: those that also hold an earlier one were seen there. So none with an image of
    // the sink under a symmetry is.
    for (const int image : members.of(sink)) {
      oracle.absorb(image);
      isDone[image] = 1;
      ++done;
    }
  }
  progress.report("optimum", 1);
  return worst;
}

template <typename Cap>
std::vector<schedule::Cut> tightCuts(const Network& network, const CutRatio& worst, const Progress& progress) {
  constexpr std::size_t kMaxCuts = 32;
  const Rational ratio = worst.value();
  std::vector<schedule::Cut> cuts;
  std::set<std::vector<int>> seen;
  const auto add = [&](std::vector<int> nodes) {
    if (cuts.size() >= kMaxCuts || seen.count(nodes) != 0) {
      return;
    }
    const int64_t demand = demandOf(network, nodes);
    std::vector<char> outside(network.nodeCount, 1);
    for (const int node : nodes) {
      outside[node] = 0;
    }
    const int64_t exit = enteringBandwidth(network, outside);
    if (demand == 0 || exit == 0 || Rational(demand, exit) != ratio) {
      return;
    }
    seen.insert(nodes);
    cuts.push_back({std::move(nodes), demand, Rational(exit) * network.unit});
  };
  add(worst.nodes);

  auto oracle = scaledOracle<Cap>(network, ratio.numerator(), ratio.denominator());
  const std::size_t sinks = network.gpus.size() <= 128 ? 32 : 4;
  const std::size_t sources = network.gpus.size() <= 128 ? network.gpus.size() : 8;
  for (std::size_t i = 0; i < std::min(sinks, network.gpus.size()); ++i) {
    throwIfCancelled(progress);
    const int sink = oracle.sinkOrder()[i];
    oracle.flowInto(sink, oracle.target());
    bool isClosed = false;
    const int seeds[] = {sink};
    const std::vector<int> nearest = oracle.reaching(seeds, isClosed);  // all others are the maximal S
    if (isClosed) {
      add(complement(network.nodeCount, nearest));
    }
    std::vector<char> isDone = flags(network.nodeCount, nearest);
    for (std::size_t j = 0; j < sources && cuts.size() < kMaxCuts; ++j) {
      const int source = oracle.sinkOrder()[network.gpus.size() - 1 - j];
      if (isDone[source] != 0) {
        continue;
      }
      std::vector<int> side = oracle.reachableFrom(source);  // minimal S around the source
      // It is that of all that reach each other.
      const int around[] = {source};
      for (const int node : oracle.reaching(around, isClosed)) {
        isDone[node] = std::binary_search(side.begin(), side.end(), node) ? 1 : isDone[node];
      }
      if (!std::binary_search(side.begin(), side.end(), sink)) {
        add(std::move(side));
      }
    }
    oracle.undo();
  }
  return cuts;
}

}  // namespace

bool fits64(const Network& network) {
  // Divided rather than multiplied by 4: the product itself may use all but one of the 128 bits.
  const Int128 bound = Int128{totalBandwidth(network)} * network.totalDemand;
  return bound < std::numeric_limits<int64_t>::max() / 4;
}

CutRatio worstCut(const Network& network, const Progress& progress) {
  return fits64(network) ? newton<int64_t>(network, progress) : newton<Int128>(network, progress);
}

std::vector<schedule::Cut> bottleneckCuts(const Network& network, const CutRatio& worst, const Progress& progress) {
  return fits64(network) ? tightCuts<int64_t>(network, worst, progress) : tightCuts<Int128>(network, worst, progress);
}

}  // namespace coppice::forestcoll
