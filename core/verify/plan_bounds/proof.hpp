// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/rational.hpp"
#include "sketch/model.hpp"
#include "verify/plan_bounds/servers.hpp"

namespace coppice::verify::plan_bounds {

using sketch::Chunk;
using sketch::Link;
using sketch::Model;

/// Hops to where no links lead.
inline constexpr int kFar = 1 << 28;

/// A chunk that has to come from its node into another one.
struct Passage {
  int chunk = 0;
  int node = 0;
  std::vector<int> links;
  Time head = kNever;
  Time tail = kNever;
  Time entry = kNever;
  Time whole = kNever;
};

/// Proves the relaxations of plan_bound.hpp: "path", links and ports in crossings.cpp, receivers and cuts in
/// sets.cpp, "forwarding" and "flow" in files of those names; broadcast.cpp has times within a node for all of them.
class BoundProof {
public:
  BoundProof(const Model& model, const std::vector<Chunk>& chunks, bool isReduction,
             const std::vector<std::int64_t>& weights, const Progress& progress);

  Rational prove(const std::string& name);

private:
  [[nodiscard]] const Link& link(int index) const { return m_model.links[index]; }
  [[nodiscard]] int nodeOf(int gpu) const { return m_model.nodeOf(gpu); }
  [[nodiscard]] Time cost(int index) const { return m_alpha[index] + m_beta[index]; }
  [[nodiscard]] bool isTarget(const Chunk& chunk, int gpu) const {
    return std::binary_search(chunk.targets.begin(), chunk.targets.end(), gpu);
  }

  /// Times within nodes and hops over all links, between all pairs.
  void measure();

  /// What the links of one end share: a number for each port, -1 - link for a link of its own.
  [[nodiscard]] int portOf(int index, bool isIn) const;

  /// Of links within a node: times for a chunk, a shared port once.
  [[nodiscard]] std::vector<Time> serversOf(const std::vector<int>& links, bool isIn) const;

  /// Within its node.
  [[nodiscard]] std::vector<int> linksOf(int gpu, bool isIn) const;

  // Where chunks may go.

  [[nodiscard]] bool isBetween(const Chunk& chunk, int gpu) const;

  [[nodiscard]] bool mayLeave(const Chunk& chunk, int index) const;

  /// Not all targets can be reached along shortest routes in hops, for relays.
  [[nodiscard]] bool needsDetour(const Chunk& chunk) const;

  [[nodiscard]] const std::vector<int>& linksFrom(int gpu) const { return m_from[gpu]; }

  /// From one GPU to all of the targets, which are in its node. Reductions take in one sum at a time, so that played
  /// backwards a GPU sends one at a time.
  [[nodiscard]] Time spread(int from, std::vector<int> targets);

  [[nodiscard]] Time spreadOneByOne(int from, const std::vector<int>& targets, Time min) const;

  /// The GPU that is free first sends to one that lacks the chunk, or never again. `done`: bits of those that do not.
  bool canSpread(int node, const std::vector<int>& targets, std::vector<Time>& free, unsigned done, Time limit) const;

  void findPassages();

  void addPassage(int index, int node, const std::vector<int>& targets, bool isFree);

  // The relaxations.

  static Time known(Time time) { return time >= kNever ? 0 : time; }

  Time path();

  /// All of these passages by `machines` machines that each take one message at a time.
  [[nodiscard]] Time passTime(const std::vector<const Passage*>& passages, std::size_t machines) const;

  /// From one sender, passages can only begin as chunks come in there; heads later than those that are given.
  void holdBack(const std::vector<const Passage*>& passages, Time tail, std::vector<Time>& heads) const;

  static void widen(TimedServer& server, Time begin, Time each);
  /// When the servers begin to take chunks, or have taken them: the first n times.
  static std::vector<Time> firstTimes(const std::map<int, TimedServer>& servers, std::size_t n, bool isBegun);

  /// One machine, after which the chunks of a message have to get from where it ends to all of the node together: the
  /// smallest limit that the messages can keep. 0 where some chunk is not for the whole node.
  [[nodiscard]] Time spreadingTime(std::vector<Time> ready, const Server& server, Time tail,
                                   const std::vector<const Passage*>& passages) const;

  /// n chunks that are at one GPU, to all others of its node: what each takes in, and the last one to leave.
  [[nodiscard]] Time spreadTogether(int from, std::size_t n) const;

  /// One of the machines takes at least its share of those that come last.
  static Time evenly(std::vector<Time> heads, const Server& server, std::size_t machines);

  /// Passages that a set of links, or of GPUs at their ends, cannot be avoided by.
  Time passBy(const std::function<int(int)>& machineOf);

  Time nodeLinks();
  Time sendingPorts();
  /// When chunks from other nodes are in this one: the k-th over the same links not before the k-th of these.
  void addEntries(const std::vector<const Passage*>& passages, std::vector<Time>& ready) const;

  /// Chunks that have to come into a set of GPUs of one node over links from the rest of the node.
  Time intoSet(const std::set<int>& inside);

  Time receivers();

  Time cuts();

  // Weights of machines: what each send costs, and what all chunks cost together.

  /// The links are one, or share a port.
  [[nodiscard]] bool takesOneAtATime(const std::vector<int>& links) const;

  /// By link; empty where the weights are not those of machines.
  [[nodiscard]] std::vector<Int128> prices() const;

  /// Between the GPUs of each node, by Floyd and Warshall.
  [[nodiscard]] std::vector<std::vector<Int128>> distancesBy(const std::vector<Int128>& prices) const;

  /// The cheapest tree from the root to all GPUs of its node, by the sets that it must enter (Fulkerson, Math.
  /// Programming 6, 1974): a smallest set without the root that no free link enters costs the cheapest link into it.
  [[nodiscard]] Int128 treePrice(int root, std::vector<Int128> prices) const;

  /// All machines together are busy, each times its weight, for no less than the cheapest routes of all chunks cost;
  /// then some machine is busy for that over the sum of the weights.
  Time flow();

  [[nodiscard]] std::vector<int> targetsIn(const Chunk& chunk, int node) const;

  /// All chunks of a pair of nodes, or from all nodes, enter at one GPU, which sends them on by one port.
  Time forwarding();

  /// Whether messages can be formed such that all is forwarded by the limit. By the fewest messages before each.
  static bool canForward(int n, int kept, const Server& in, Time forward, Time limit);

  static Time forwardTime(int n, int kept, const Server& in, Time forward);

  static constexpr std::int64_t kMaxSteps = 4'000'000;

  const Model& m_model;
  const std::vector<Chunk>& m_chunks;
  bool m_isReduction;
  const std::vector<std::int64_t>& m_weights;  ///< by machine
  const Progress& m_progress;
  std::int64_t m_scale = 1;
  std::vector<Time> m_alpha;  ///< by link
  std::vector<Time> m_beta;   ///< by link
  std::vector<std::vector<Time>> m_time;
  std::vector<std::vector<int>> m_hops;
  std::vector<std::vector<int>> m_from;  ///< by GPU: links, ascending
  std::vector<std::vector<int>> m_to;
  std::map<std::pair<int, int>, std::vector<int>> m_between;  ///< by nodes: links between them, ascending
  std::vector<Passage> m_passages;
  std::map<std::pair<int, std::vector<int>>, Time> m_spread;
  mutable std::int64_t m_steps = 0;
};

}  // namespace coppice::verify::plan_bounds
