// SPDX-License-Identifier: Apache-2.0
// GPUs of a box with the same links, as far as bandwidths go, are one pool: the links of all of them to a switch have
// one length. So few lengths are found by cutting planes even where no two GPUs send the same. Paths of a round then go
// through each GPU of a pool in turn, which loads their links alike where the links within the box have room.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "alltoall/program.hpp"
#include "base/disjoint_sets.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/twins.hpp"

namespace coppice::alltoall {

struct Program::Pools {
  std::vector<int> ofOrbit;  ///< by orbit of arcs
  int count = 0;
  std::vector<int> placeOf;  ///< by node: among its twins
  std::vector<int> sizeOf;   ///< by node: twins, itself among them
  std::vector<double> busy;  ///< by pool, with the first lengths: load for its capacity
};

namespace {

using std::int64_t;

/// Pools of links with which the dense simplex is quick.
constexpr int kMaxPools = 200;
constexpr int kMaxPoolRounds = 400;
constexpr double kPoolsClose = 1e-7;
/// Rounds whose trees are mixed, at most, and the parts that the amounts of a GPU are cut into.
constexpr std::size_t kMaxMixed = 24;
constexpr int64_t kWeightParts = int64_t{1} << 20;
/// Links with less load for their capacity than this part of the most, and what they cost among paths of equal length.
constexpr double kIdle = 0.1;
constexpr double kOfFree = 1e-6;

}  // namespace

Program::Pools Program::poolsOf(const Network& network, const SymmetryGroup& group) {
  Pools pools;
  const int nodes = network.nodeCount();
  pools.placeOf.assign(nodes, 0);
  pools.sizeOf.assign(nodes, 1);
  std::vector<int> classOf(nodes);
  std::iota(classOf.begin(), classOf.end(), 0);
  for (const std::vector<int>& twins : symmetry::twinsOf(symmetry::graphOf(network.fabric)).classes) {
    for (std::size_t i = 0; i < twins.size(); ++i) {
      classOf[twins[i]] = twins.front();
      pools.placeOf[twins[i]] = static_cast<int>(i);
      pools.sizeOf[twins[i]] = static_cast<int>(twins.size());
    }
  }
  DisjointSets orbits(group.arcOrbits);
  std::map<std::pair<int, int>, int> first;  // by classes of the ends
  for (int arc = 0; arc < network.arcCount(); ++arc) {
    const fabric::Arc& ends = network.fabric.arcs()[arc];
    const auto [at, isNew] = first.try_emplace({classOf[ends.tail], classOf[ends.head]}, group.orbitOfArc[arc]);
    orbits.join(at->second, group.orbitOfArc[arc]);
  }
  symmetry::Numbering<int> numbers;
  for (int orbit = 0; orbit < group.arcOrbits; ++orbit) {
    pools.ofOrbit.push_back(numbers(orbits.find(orbit)));
    pools.count = std::max(pools.count, pools.ofOrbit.back() + 1);
  }
  return pools;
}

std::optional<double> Program::pooledRounds(SharedPaths& paths) {
  Pools pools = poolsOf(m_network, m_group);
  if (pools.count > kMaxPools) {
    return std::nullopt;
  }
  std::vector<int64_t> capacity(pools.count, 0);
  for (std::size_t k = 0; k < m_capacity.size(); ++k) {
    capacity[pools.ofOrbit[k]] = checkedAdd(capacity[pools.ofOrbit[k]], m_capacity[k]);
  }
  const int64_t total = std::accumulate(capacity.begin(), capacity.end(), int64_t{0});
  const auto byOrbit = [&](const std::vector<double>& lengths) {
    std::vector<double> all;
    for (const int pool : pools.ofOrbit) {
      all.push_back(lengths[pool]);
    }
    return rounded(all);
  };
  std::vector<lp::Column> columns(pools.count, {.lower = 0, .upper = total, .cost = 0, .scale = 1.0});
  int64_t sent = 0;
  for (const fabric::NodeIndex from : m_network.fabric.gpus()) {
    for (const fabric::NodeIndex to : m_network.fabric.gpus()) {
      sent = checkedAdd(sent, m_network.amount(from, to));
    }
  }
  if (Int128{sent} * total > std::numeric_limits<int64_t>::max() / 4) {
    return std::nullopt;
  }
  columns.push_back({.lower = 0, .upper = sent * total, .cost = 1, .scale = static_cast<double>(sent)});
  lp::Simplex simplex(std::move(columns));
  lp::Row norm{{}, total, total};
  for (int pool = 0; pool < pools.count; ++pool) {
    norm.terms.push_back({pool, capacity[pool]});
  }
  simplex.addRow(std::move(norm));
  std::vector<Lengths> asked;
  const auto ask = [&](const Lengths& lengths) {
    const std::vector<double> load = queryShared(paths, lengths);
    std::vector<int64_t> uses(pools.count, 0);
    for (std::size_t k = 0; k < load.size(); ++k) {
      uses[pools.ofOrbit[k]] += std::llround(load[k] * static_cast<double>(m_capacity[k]));
    }
    if (asked.empty()) {
      for (int pool = 0; pool < pools.count; ++pool) {
        pools.busy.push_back(static_cast<double>(uses[pool]) / static_cast<double>(capacity[pool]));
      }
    }
    lp::Row row{{{pools.count, 1}}, {}, 0};
    for (int pool = 0; pool < pools.count; ++pool) {
      if (uses[pool] != 0) {
        row.terms.push_back({pool, -uses[pool]});
      }
    }
    simplex.addRow(std::move(row));
    asked.push_back(lengths);
  };
  std::vector<double> inverse;
  for (const int64_t each : capacity) {
    inverse.push_back(1.0 / static_cast<double>(each));
  }
  ask(byOrbit(inverse));
  bool isInside = true;
  for (int round = 0; round < kMaxPoolRounds && !m_stop() && simplex.solve(m_stop) == lp::SimplexStatus::optimal;
       ++round) {
    if (simplex.value(pools.count) <= static_cast<double>(total) / provedRate() * (1 + kPoolsClose)) {
      break;
    }
    // Between the vertex and the best lengths, and where that has not helped, at the vertex.
    std::vector<double> lengths(pools.count, 0);
    double most = 0;
    for (int pool = 0; pool < pools.count; ++pool) {
      lengths[pool] = std::max(0.0, simplex.value(pool));
      most = std::max(most, lengths[pool]);
    }
    if (isInside) {
      const auto largest = static_cast<double>(*std::ranges::max_element(m_best));
      std::vector<double> best(pools.count, 0);
      for (std::size_t k = 0; k < m_best.size(); ++k) {
        best[pools.ofOrbit[k]] = static_cast<double>(m_best[k]) / largest;
      }
      for (int pool = 0; pool < pools.count; ++pool) {
        lengths[pool] = 0.5 * (lengths[pool] / most + best[pool]);
      }
    }
    isInside = !isInside;
    ask(byOrbit(lengths));
    m_progress.report("alltoall",
                      std::min(1.0, static_cast<double>(total) / provedRate() / simplex.value(pools.count)));
  }
  // The rounds that support the vertex.
  std::vector<std::pair<double, Lengths>> rounds;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    rounds.emplace_back(std::max(0.0, simplex.multiplier(static_cast<int>(i) + 1)), std::move(asked[i]));
  }
  std::ranges::stable_sort(rounds, std::greater<>(), &std::pair<double, Lengths>::first);
  constexpr double kLeast = 1e-3;
  while (rounds.size() > 1 && (rounds.size() > kMaxMixed || rounds.back().first < kLeast * rounds.front().first)) {
    rounds.pop_back();
  }
  if (rounds.front().first <= 0) {
    rounds.front().first = 1;  // the search was stopped
  }
  return mixPools(paths, pools, rounds);
}

/// The trees of the rounds, with these weights, through each GPU of a pool in turn. Their time.
double Program::mixPools(SharedPaths& paths, const Pools& pools,
                         const std::vector<std::pair<double, Lengths>>& rounds) {
  double sum = 0;
  for (const auto& [weight, lengths] : rounds) {
    sum += weight;
  }
  // As many turns as divide evenly among pools of each size, where memory has room for their trees.
  const int room = mostTrees() / static_cast<int>(rounds.size());
  int most = *std::ranges::max_element(pools.sizeOf);
  int all = 1;
  for (const int size : pools.sizeOf) {
    all = all > room ? all : std::lcm(all, size);
  }
  most = all > room ? most : all;
  const int turns = std::clamp(room, 1, most);
  // Links with little to carry are free: paths go round through them, and load the others alike. Of these, those come
  // first that are of the GPU at place `-offset` of its pool.
  const double busiest = *std::ranges::max_element(pools.busy);
  const auto isFree = [&](int orbit) {
    return m_best[orbit] == 0 && pools.busy[pools.ofOrbit[orbit]] < kIdle * busiest;
  };
  const auto preferences = [&](int offset) {
    std::vector<double> second;
    for (int arc = 0; arc < m_network.arcCount(); ++arc) {
      const fabric::Arc& ends = m_network.fabric.arcs()[arc];
      const int node = pools.sizeOf[ends.tail] > 1 ? ends.tail : ends.head;
      const int size = pools.sizeOf[node];
      second.push_back(isFree(m_group.orbitOfArc[arc])
                           ? kOfFree
                           : 1 + 0.5 * ((pools.placeOf[node] + offset) % size) / static_cast<double>(size));
    }
    return second;
  };
  m_evenFirst = m_rows.size();
  std::vector<double> onOrbit(m_capacity.size(), 0);
  for (const auto& [weight, asked] : rounds) {
    Lengths lengths = asked;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      lengths[k] = m_best[k] > 0 ? lengths[k] : 0;
    }
    const auto parts = std::max<int64_t>(1, std::llround(weight / sum * static_cast<double>(kWeightParts) / turns));
    for (int offset = 0; offset < most; ++offset) {
      throwIfCancelled(m_progress);
      m_work.spend(paths.work(0));
      paths.run(byArc(lengths), preferences(offset));
      for (std::size_t s = 0; s < m_group.sources.size(); ++s) {
        for (int turn = 0; turn < turns; ++turn) {
          if ((pools.placeOf[m_group.sources[s]] + turn * most / turns) % most == offset) {
            static_cast<void>(paths.add(m_group.sources[s], checkedMul(m_group.sourceWeight[s], parts)));
            m_rows.push_back({static_cast<int>(s), paths.tree(), {}});
            m_parts.push_back(parts);
          }
        }
      }
      const std::vector<double> onArc = paths.takeLoads();
      for (std::size_t arc = 0; arc < onArc.size(); ++arc) {
        onOrbit[m_group.orbitOfArc[arc]] += onArc[arc];
      }
    }
  }
  m_evenLast = m_rows.size();
  double time = 0;
  for (std::size_t k = 0; k < onOrbit.size(); ++k) {
    time = std::max(time, onOrbit[k] / static_cast<double>(m_capacity[k]));
  }
  return time / static_cast<double>(evenMixture().denominator);
}

}  // namespace coppice::alltoall
