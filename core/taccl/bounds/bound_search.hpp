// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "taccl/bound.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

/// A chunk that goes from its node to another one.
struct Crossing {
  int chunk = 0;           ///< into allChunks
  int node = 0;            ///< where to
  std::vector<int> links;  ///< that it may take, ascending
  Ticks head = 0;          ///< minimum time until it is at one of their senders
  Ticks tail = 0;          ///< minimum time from an entry to the last target there
  Ticks arrival = 0;       ///< minimum time until it is in the node
};

/// Something that takes one chunk after another, each for `time`.
using Servers = std::vector<Ticks>;

/// The minimum time in which servers can take n chunks.
[[nodiscard]] Ticks serveTime(const Servers& servers, std::int64_t n);

/// max over k of ready_k plus the time that the chunks from k on take. Sorts `ready`.
[[nodiscard]] Ticks afterReady(std::vector<Ticks>& ready, const Servers& servers);

/// Finds the largest relaxation of bound.hpp: "path", links and ports in crossings.cpp, receivers and cuts in
/// sets.cpp, "forwarding" in a file of that name, "flow" in flow_bound.hpp; broadcast.cpp has times within a node.
class BoundSearch {
public:
  BoundSearch(const Problem& problem, const Progress& progress)
      : m_problem(problem), m_model(*problem.model), m_progress(progress), m_distance(problem.localDistance) {}

  /// Within these link orbits alone; kNever where they do not join all.
  Ticks findWithin(const std::vector<char>& allowed);

  Bound find();

private:
  void offer(Ticks time, const char* name, std::string members) {
    if (time > m_best.time && time < kNever) {
      m_best = {time, {name, std::move(members), {}}};
    }
  }

  [[nodiscard]] bool isAllowed(std::size_t link) const {
    return m_allowed == nullptr || m_model.links[link].isRemote || (*m_allowed)[m_problem.linkOrbit[link]] != 0;
  }

  /// Over the allowed links within nodes.
  void measureDistances();

  void findLinks();

  [[nodiscard]] Ticks distance(int from, int to) const {
    const Ticks ticks = m_distance[from][to];
    return ticks < 0 ? kNever : ticks;
  }

  [[nodiscard]] bool mayCross(int origin, int link) const {
    const Link& each = m_model.links[link];
    return each.isRemote && m_model.nodeOf(each.from) == m_model.nodeOf(origin) &&
           m_model.mayRelay(origin, m_problem.sendsOneAtATime ? each.to : each.from);
  }

  [[nodiscard]] bool mayVisit(int chunk, int gpu) const {
    return m_problem.takesDetour[chunk] != 0 || m_problem.mayVisit(m_problem.allChunks[chunk], gpu);
  }

  /// Where sends of a chunk go one at a time, its time to all targets is that of a broadcast.
  [[nodiscard]] Ticks spreadTime(int from, std::vector<int> targets);

  [[nodiscard]] Ticks broadcastTime(int from, const std::vector<int>& targets, Ticks min) const;

  void findCrossings();

  void addCrossing(int index, int node, const std::vector<int>& targets);

  void boundPaths();

  /// By port, or by link below 0: when it can begin, and how long it takes for a chunk.
  using TimedServers = std::map<int, std::pair<Ticks, Ticks>>;

  void join(TimedServers& servers, int link, const std::vector<std::vector<int>>& ports, Ticks begin) const;

  /// When servers have taken each of n chunks, or begin to, in order of time.
  static std::vector<Ticks> timesOf(const TimedServers& servers, int n, bool isBegin);

  /// The minimum time in which n chunks that are at one GPU get to all others of its node, by its links and by those of
  /// each other one.
  [[nodiscard]] Ticks spreadOf(int from, int n);

  /// Where all crossings leave from one GPU, the k-th cannot before the chunks of k crossings have come in there.
  /// `ready` ascends.
  void waitForInput(const std::vector<const Crossing*>& crossings, std::vector<Ticks>& ready) const;

  /// By size of a message, the time after its arrival until its chunks are in all of the node; empty where some chunk
  /// is not for all of it.
  [[nodiscard]] std::vector<Ticks> spreadOf(const std::vector<const Crossing*>& crossings, Ticks tail);

  /// n crossings with at least the given heads and tails, over machines of which each takes one message at a time.
  void boundCrossings(const std::vector<const Crossing*>& crossings, std::size_t machines, const std::string& members,
                      const char* name);

  /// Chunks that only a few links between two nodes may take.
  void boundLinks();

  /// The same for the ports of relays: crossings to all nodes by a set of senders.
  void boundPorts();

  /// What carries chunks over the links, one at a time each: shared ports once, other links for themselves.
  [[nodiscard]] Servers serversOf(const std::vector<int>& links, const std::vector<std::vector<int>>& ports) const;

  /// The k-th chunk that comes into a node over the same links cannot come before the k-th of these.
  [[nodiscard]] std::vector<Ticks> arrivalsOf(const std::vector<const Crossing*>& crossings) const;

  /// Chunks that must come to one of the GPUs `inside` over links within their node: when they can be beside it at the
  /// earliest.
  [[nodiscard]] std::vector<Ticks> readyFor(const std::set<int>& inside, const std::vector<int>& links) const;

  [[nodiscard]] std::vector<int> linksInto(const std::set<int>& inside) const;

  void boundSet(const std::set<int>& inside, const char* name);

  /// Sets of two or more GPUs of one node; all nodes are alike up to what comes from others, so the first is enough.
  void boundSubsets();

  /// A GPU that all chunks between two nodes, or from all nodes, enter by and that sends them on by one port.
  void boundForwarding();

  /// All machines together.
  void boundFlow();

  const Problem& m_problem;
  const Model& m_model;
  const Progress& m_progress;
  std::vector<std::vector<Ticks>> m_distance;    ///< as Problem::localDistance
  const std::vector<char>* m_allowed = nullptr;  ///< by link orbit; nullptr = all
  Bound m_best;
  std::vector<std::vector<int>> m_in;
  std::vector<std::vector<int>> m_out;
  std::vector<std::vector<int>> m_inPorts;   ///< by link: machines of several links to its receiver
  std::vector<std::vector<int>> m_outPorts;  ///< by link: machines of several links from its sender
  std::vector<Crossing> m_crossings;
  std::vector<std::vector<int>> m_crossingsOf;  ///< by chunk
  std::map<std::pair<int, int>, Ticks> m_pathTo;
  std::map<std::pair<int, std::vector<int>>, Ticks> m_spread;
  std::map<std::pair<int, int>, Ticks> m_spreadOf;  ///< by GPU and number of chunks
};

}  // namespace coppice::taccl
