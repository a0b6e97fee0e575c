// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Fabrics and schedules worked out by hand, small enough to check with a pencil.
namespace coppice::samples {

struct Sample {
  fabric::Description description;
  fabric::Fabric fabric;
  schedule::Schedule schedule;
};

struct Link {
  std::string src;
  std::string dst;
  std::string bandwidth;
  bool duplex = true;
};

inline fabric::Description describeFabric(const std::string& name, std::initializer_list<std::string> gpus,
                                          std::initializer_list<std::string> switches,
                                          std::initializer_list<Link> links, bool capable = false) {
  fabric::Description description;
  description.name = name;
  for (const std::string& id : gpus) {
    description.nodes.push_back({.id = id, .kind = "gpu"});
  }
  for (const std::string& id : switches) {
    description.nodes.push_back({.id = id, .kind = "switch", .multicast = capable, .aggregation = capable});
  }
  for (const Link& link : links) {
    description.links.push_back({.src = link.src, .dst = link.dst, .bandwidth = link.bandwidth, .duplex = link.duplex});
  }
  return description;
}

inline fabric::Fabric buildFabric(const fabric::Description& description) {
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    throw std::runtime_error(describe(fabric.error()));
  }
  return std::move(fabric).value();
}

/// One edge with its route; GPUs of the samples have node index == rank.
struct Hop {
  fabric::Rank parent;
  fabric::Rank child;
  std::vector<fabric::NodeIndex> route;  ///< in the direction of the data
  std::int32_t pruned = 0;
};

inline void addTree(schedule::Forest& forest, fabric::Rank root, std::int64_t multiplicity,
                    const std::vector<Hop>& hops) {
  forest.trees.push_back({root, multiplicity, static_cast<std::int64_t>(forest.edges.size())});
  for (const Hop& hop : hops) {
    forest.edges.push_back({hop.parent, hop.child, forest.paths.add(hop.route), hop.pruned});
  }
}

inline schedule::Forest emptyForest(int gpuCount, std::vector<std::int64_t> treesOfRoot, Rational scale,
                                    schedule::Direction direction = schedule::Direction::out) {
  schedule::Forest forest;
  forest.direction = direction;
  forest.gpuCount = gpuCount;
  forest.treesOfRoot = std::move(treesOfRoot);
  forest.scale = InverseBandwidth(scale);
  return forest;
}

inline Sample finish(fabric::Description description, Collective collective, const Bandwidth& algbw,
                     std::vector<schedule::Cut> cuts) {
  fabric::Fabric fabric = buildFabric(description);
  schedule::Schedule schedule;
  schedule.collective = collective;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.algbw = algbw;
  schedule.bound = algbw;
  schedule.bottlenecks = std::move(cuts);
  return {std::move(description), std::move(fabric), std::move(schedule)};
}

/// g0 <-> g1 at 25 GB/s: 50 GB/s, k 1.
inline Sample twoGpus() {
  Sample sample = finish(describeFabric("two", {"g0", "g1"}, {}, {{"g0", "g1", "25"}}), Collective::allgather,
                         Bandwidth(50), {{{0}, 1, Bandwidth(25)}});
  schedule::Forest forest = emptyForest(2, {1, 1}, Rational(1, 25));
  addTree(forest, 0, 1, {{0, 1, {0, 1}}});
  addTree(forest, 1, 1, {{1, 0, {1, 0}}});
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// Four GPUs in a ring of 10 GB/s links: 80/3 GB/s, k 2 (once round each way), every link full with 3 trees.
inline Sample ring() {
  Sample sample =
      finish(describeFabric("ring", {"g0", "g1", "g2", "g3"}, {},
                            {{"g0", "g1", "10"}, {"g1", "g2", "10"}, {"g2", "g3", "10"}, {"g3", "g0", "10"}}),
             Collective::allgather, Bandwidth(80, 3), {{{0, 1, 2}, 3, Bandwidth(20)}});
  schedule::Forest forest = emptyForest(4, {2, 2, 2, 2}, Rational(3, 10));
  for (int root = 0; root < 4; ++root) {
    for (const int step : {1, 3}) {
      std::vector<Hop> hops;
      for (int hop = 0; hop < 3; ++hop) {
        const int from = (root + hop * step) % 4;
        const int to = (from + step) % 4;
        hops.push_back({from, to, {from, to}});
      }
      addTree(forest, root, 1, hops);
    }
  }
  sample.schedule.broadcastForest = forest;
  return sample;
}

inline fabric::Description describeStar(bool capable = false) {
  return describeFabric("star", {"g0", "g1", "g2"}, {"sw"},
                        {{"g0", "sw", "10"}, {"g1", "sw", "10"}, {"g2", "sw", "10"}}, capable);
}

/// Three GPUs at 10 GB/s round a switch (node 3): 15 GB/s, k 1, chains.
inline Sample star(bool capable = false) {
  Sample sample = finish(describeStar(capable), Collective::allgather, Bandwidth(15), {{{0, 1, 3}, 2, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 5));
  for (int root = 0; root < 3; ++root) {
    const int next = (root + 1) % 3;
    const int last = (root + 2) % 3;
    addTree(forest, root, 1, {{root, next, {root, 3, next}}, {next, last, {next, 3, last}}});
  }
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// The star with a multicast switch: each root sends once, the switch copies.
inline Sample prunedStar() {
  Sample sample = star(true);
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 5));
  for (int root = 0; root < 3; ++root) {
    const int next = (root + 1) % 3;
    const int last = (root + 2) % 3;
    addTree(forest, root, 1, {{root, next, {root, 3, next}}, {root, last, {root, 3, last}, 1}});
  }
  sample.schedule.broadcastForest = forest;
  return sample;
}

inline Sample reduceScattered(Sample sample) {
  sample.schedule.collective = Collective::reduceScatter;
  sample.schedule.reduceForest = schedule::reversed(*sample.schedule.broadcastForest);
  sample.schedule.broadcastForest.reset();
  return sample;
}

inline Sample allreduced(Sample sample) {
  sample.schedule.collective = Collective::allreduce;
  sample.schedule.reduceForest = schedule::reversed(*sample.schedule.broadcastForest);
  sample.schedule.algbw = sample.schedule.algbw / Rational(2);
  sample.schedule.bound = sample.schedule.algbw;
  return sample;
}

/// From g1 round the star: 10 GB/s, k 1.
inline Sample broadcastStar() {
  Sample sample = finish(describeStar(), Collective::broadcast, Bandwidth(10), {{{1}, 1, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(3, {0, 1, 0}, Rational(1, 10));
  addTree(forest, 1, 1, {{1, 2, {1, 3, 2}}, {2, 0, {2, 3, 0}}});
  sample.schedule.root = 1;
  sample.schedule.broadcastForest = forest;
  return sample;
}

inline Sample reduceStar() {
  Sample sample = broadcastStar();
  sample.schedule.collective = Collective::reduce;
  sample.schedule.reduceForest = schedule::reversed(*sample.schedule.broadcastForest);
  sample.schedule.broadcastForest.reset();
  return sample;
}

/// Amounts 2, 1, 0 on the star: g2 must receive 3 units at 10 GB/s, so 10 GB/s in all.
inline Sample unevenStar() {
  Sample sample = finish(describeStar(), Collective::allgather, Bandwidth(10), {{{0, 1, 3}, 3, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(3, {2, 1, 0}, Rational(3, 10));
  addTree(forest, 0, 2, {{0, 1, {0, 3, 1}}, {1, 2, {1, 3, 2}}});
  addTree(forest, 1, 1, {{1, 2, {1, 3, 2}}, {2, 0, {2, 3, 0}}});
  sample.schedule.amounts = {2, 1, 0};
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// g0 -> g1 at 20 GB/s, back at 10: allgather 20 GB/s, bound by what leaves g1.
inline Sample lopsided() {
  Sample sample =
      finish(describeFabric("lopsided", {"g0", "g1"}, {}, {{"g0", "g1", "20", false}, {"g1", "g0", "10", false}}),
             Collective::allgather, Bandwidth(20), {{{1}, 1, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(2, {1, 1}, Rational(1, 10));
  addTree(forest, 0, 1, {{0, 1, {0, 1}}});
  addTree(forest, 1, 1, {{1, 0, {1, 0}}});
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// The same pair, summing: now g0's sum must enter it at 10 GB/s.
inline Sample lopsidedReduceScatter() {
  Sample sample = lopsided();
  sample.schedule.collective = Collective::reduceScatter;
  schedule::Forest forest = emptyForest(2, {1, 1}, Rational(1, 10), schedule::Direction::in);
  addTree(forest, 0, 1, {{0, 1, {1, 0}}});
  addTree(forest, 1, 1, {{1, 0, {0, 1}}});
  sample.schedule.broadcastForest.reset();
  sample.schedule.reduceForest = forest;
  sample.schedule.bottlenecks = {{{0}, 1, Bandwidth(10)}};
  return sample;
}

/// g0 <-> g1 at 100 GB/s, g1 -> g2 at 10, g2 -> g1 at 30: allgather 15 GB/s (what leaves {g0, g1}).
inline Sample oneSided() {
  Sample sample = finish(describeFabric("one-sided", {"g0", "g1", "g2"}, {},
                                        {{"g0", "g1", "100"}, {"g1", "g2", "10", false}, {"g2", "g1", "30", false}}),
                         Collective::allgather, Bandwidth(15), {{{0, 1}, 2, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 5));
  addTree(forest, 0, 1, {{0, 1, {0, 1}}, {1, 2, {1, 2}}});
  addTree(forest, 1, 1, {{1, 0, {1, 0}}, {1, 2, {1, 2}}});
  addTree(forest, 2, 1, {{2, 1, {2, 1}}, {1, 0, {1, 0}}});
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// Reduce-scatter on it reaches 30 GB/s (what enters {g2}).
inline Sample oneSidedReduceScatter() {
  Sample sample = oneSided();
  sample.schedule.collective = Collective::reduceScatter;
  sample.schedule.algbw = sample.schedule.bound = Bandwidth(30);
  sample.schedule.bottlenecks = {{{2}, 1, Bandwidth(10)}};
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 10), schedule::Direction::in);
  addTree(forest, 0, 1, {{0, 1, {1, 0}}, {1, 2, {2, 1}}});
  addTree(forest, 1, 1, {{1, 0, {0, 1}}, {1, 2, {2, 1}}});
  addTree(forest, 2, 1, {{2, 1, {1, 2}}, {1, 0, {0, 1}}});
  sample.schedule.broadcastForest.reset();
  sample.schedule.reduceForest = forest;
  return sample;
}

/// Both after another: 1 / (1/15 + 1/30) = 10 GB/s.
inline Sample oneSidedAllreduce() {
  Sample sample = oneSided();
  sample.schedule.collective = Collective::allreduce;
  sample.schedule.reduceForest = oneSidedReduceScatter().schedule.reduceForest;
  sample.schedule.algbw = sample.schedule.bound = Bandwidth(10);
  return sample;
}

/// A one-way ring of three at 10 GB/s: allgather 15 GB/s along the ring.
inline Sample oneWayRing() {
  Sample sample =
      finish(describeFabric("one-way", {"g0", "g1", "g2"}, {},
                            {{"g0", "g1", "10", false}, {"g1", "g2", "10", false}, {"g2", "g0", "10", false}}),
             Collective::allgather, Bandwidth(15), {{{0, 1}, 2, Bandwidth(10)}});
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 5));
  for (int root = 0; root < 3; ++root) {
    const int next = (root + 1) % 3;
    const int last = (root + 2) % 3;
    addTree(forest, root, 1, {{root, next, {root, next}}, {next, last, {next, last}}});
  }
  sample.schedule.broadcastForest = forest;
  return sample;
}

/// Its reduce-scatter is not the reversed allgather, whose routes would run against the links.
inline Sample oneWayReduceScatter() {
  Sample sample = oneWayRing();
  sample.schedule.collective = Collective::reduceScatter;
  schedule::Forest forest = emptyForest(3, {1, 1, 1}, Rational(1, 5), schedule::Direction::in);
  for (int root = 0; root < 3; ++root) {
    const int before = (root + 2) % 3;
    const int first = (root + 1) % 3;
    addTree(forest, root, 1, {{root, before, {before, root}}, {before, first, {first, before}}});
  }
  sample.schedule.broadcastForest.reset();
  sample.schedule.reduceForest = forest;
  return sample;
}

}  // namespace coppice::samples
