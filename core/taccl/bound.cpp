// SPDX-License-Identifier: Apache-2.0
#include "taccl/bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "taccl/flow_bound.hpp"

namespace coppice::taccl {
namespace {

constexpr Ticks kNever = std::numeric_limits<Ticks>::max() / 4;

/// A chunk that goes from its node to another one.
struct Crossing {
  int chunk = 0;           ///< into allChunks
  int node = 0;            ///< where to
  std::vector<int> links;  ///< that it may take, ascending
  Ticks head = 0;          ///< least time until it is at one of their senders
  Ticks tail = 0;          ///< least time from an entry to the last target there
  Ticks arrival = 0;       ///< least time until it is in the node
};

/// Something that takes one chunk after another, each for `time`.
using Servers = std::vector<Ticks>;

/// The least time in which servers can take n chunks.
Ticks serveTime(const Servers& servers, std::int64_t n) {
  if (n <= 0) {
    return 0;
  }
  if (servers.empty()) {
    return kNever;
  }
  Ticks low = 0;
  Ticks high = *std::min_element(servers.begin(), servers.end()) * n;
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    std::int64_t done = 0;
    for (const Ticks time : servers) {
      done += middle / time;
    }
    if (done >= n) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// max over k of ready_k plus the time that the chunks from k on take. Sorts `ready`.
Ticks afterReady(std::vector<Ticks>& ready, const Servers& servers) {
  std::sort(ready.begin(), ready.end());
  Ticks best = 0;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    if (k == 0 || ready[k] != ready[k - 1]) {
      best = std::max(best, ready[k] + serveTime(servers, static_cast<std::int64_t>(ready.size() - k)));
    }
  }
  return best;
}

class Bounder {
public:
  Bounder(const Problem& problem, const Progress& progress)
      : m_problem(problem), m_model(*problem.model), m_progress(progress), m_distance(problem.localDistance) {}

  /// Within these link orbits alone; kNever where they do not join all.
  Ticks findWithin(const std::vector<char>& allowed) {
    m_allowed = &allowed;
    findLinks();
    measureDistances();
    for (const Chunk& chunk : m_problem.allChunks) {
      for (const int target : chunk.targets) {
        if (m_model.nodeOf(target) == m_model.nodeOf(chunk.origin) && distance(chunk.origin, target) >= kNever) {
          return kNever;
        }
      }
    }
    findCrossings();
    for (const auto& [key, time] : m_pathTo) {
      if (time >= kNever) {
        return kNever;
      }
    }
    boundPaths();
    boundLinks();
    boundPorts();
    return m_best.time;
  }

  Bound find() {
    findLinks();
    findCrossings();
    boundPaths();
    boundLinks();
    boundPorts();
    for (int gpu = 0; gpu < m_model.gpus() && !m_progress.isCancelled(); ++gpu) {
      boundReceiver(gpu);
      boundSender(gpu);
    }
    if (!m_progress.isCancelled()) {
      boundSubsets();
      boundForwarding();
      boundFlow();
    }
    return m_best;
  }

private:
  void offer(Ticks time, const char* name, std::string members) {
    if (time > m_best.time && time < kNever) {
      m_best = {time, name, std::move(members), {}};
    }
  }

  [[nodiscard]] bool isAllowed(std::size_t link) const {
    return m_allowed == nullptr || m_model.links[link].isRemote || (*m_allowed)[m_problem.linkOrbit[link]] != 0;
  }

  /// Over the allowed links within nodes.
  void measureDistances() {
    using Entry = std::pair<Ticks, int>;
    for (int start = 0; start < m_model.gpus(); ++start) {
      std::vector<Ticks>& from = m_distance[start];
      std::fill(from.begin(), from.end(), Ticks{-1});
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      queue.emplace(0, start);
      while (!queue.empty()) {
        const auto [time, gpu] = queue.top();
        queue.pop();
        if (from[gpu] >= 0) {
          continue;
        }
        from[gpu] = time;
        for (const int link : m_out[gpu]) {
          if (!m_model.links[link].isRemote && from[m_model.links[link].to] < 0) {
            queue.emplace(time + m_problem.cost(link), m_model.links[link].to);
          }
        }
      }
    }
  }

  void findLinks() {
    m_in.resize(m_model.gpus());
    m_out.resize(m_model.gpus());
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      if (!isAllowed(i)) {
        continue;
      }
      m_in[m_model.links[i].to].push_back(static_cast<int>(i));
      m_out[m_model.links[i].from].push_back(static_cast<int>(i));
    }
    m_inPorts.resize(m_model.links.size());
    m_outPorts.resize(m_model.links.size());
    for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
      const std::vector<int>& links = m_model.machines[i].links;
      if (links.size() < 2) {
        continue;
      }
      const auto same = [&](auto end) {
        return std::all_of(links.begin(), links.end(),
                           [&](int link) { return end(m_model.links[link]) == end(m_model.links[links[0]]); });
      };
      const bool isIn = same([](const Link& link) { return link.to; });
      const bool isOut = same([](const Link& link) { return link.from; });
      for (const int link : links) {
        if (isIn) {
          m_inPorts[link].push_back(static_cast<int>(i));
        }
        if (isOut) {
          m_outPorts[link].push_back(static_cast<int>(i));
        }
      }
    }
  }

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
  [[nodiscard]] Ticks spreadTime(int from, std::vector<int> targets) {
    targets.erase(std::remove(targets.begin(), targets.end(), from), targets.end());
    Ticks farthest = 0;
    for (const int target : targets) {
      farthest = std::max(farthest, distance(from, target));
    }
    if (!m_problem.sendsOneAtATime || targets.empty()) {
      return farthest;
    }
    const auto key = std::pair(from, targets);
    const auto known = m_spread.find(key);
    return known != m_spread.end() ? known->second
                                   : m_spread.emplace(key, broadcastTime(from, targets, farthest)).first->second;
  }

  [[nodiscard]] Ticks broadcastTime(int from, const std::vector<int>& targets, Ticks least) const;

  void findCrossings() {
    m_crossingsOf.resize(m_problem.allChunks.size());
    for (std::size_t i = 0; i < m_problem.allChunks.size(); ++i) {
      const Chunk& chunk = m_problem.allChunks[i];
      std::map<int, std::vector<int>> targets;
      for (const int target : chunk.targets) {
        if (m_model.nodeOf(target) != m_model.nodeOf(chunk.origin)) {
          targets[m_model.nodeOf(target)].push_back(target);
        }
      }
      for (const auto& [node, there] : targets) {
        addCrossing(static_cast<int>(i), node, there);
      }
    }
  }

  void addCrossing(int index, int node, const std::vector<int>& targets) {
    const int origin = m_problem.allChunks[index].origin;
    Crossing crossing;
    crossing.chunk = index;
    crossing.node = node;
    crossing.head = crossing.tail = crossing.arrival = kNever;
    const int first = m_model.nodeOf(origin) * m_model.gpusPerNode;
    for (int gpu = first; gpu < first + m_model.gpusPerNode; ++gpu) {
      for (const int link : m_out[gpu]) {
        if (m_model.nodeOf(m_model.links[link].to) != node || !mayCross(origin, link) || !mayVisit(index, gpu) ||
            !mayVisit(index, m_model.links[link].to)) {
          continue;
        }
        crossing.links.push_back(link);
        const Ticks head = distance(origin, gpu);
        const Ticks tail = spreadTime(m_model.links[link].to, targets);
        crossing.head = std::min(crossing.head, head);
        crossing.tail = std::min(crossing.tail, tail);
        crossing.arrival = std::min(crossing.arrival, head + m_problem.cost(link));
        auto& through = m_pathTo[{index, node}];
        const Ticks whole = head + m_problem.cost(link) + tail;
        through = through == 0 ? whole : std::min(through, whole);
      }
    }
    m_crossingsOf[index].push_back(static_cast<int>(m_crossings.size()));
    m_crossings.push_back(std::move(crossing));
  }

  void boundPaths() {
    for (const auto& [key, time] : m_pathTo) {
      offer(time, "path",
            "a chunk of GPU " + std::to_string(m_problem.allChunks[key.first].origin) + " to node " +
                std::to_string(key.second));
    }
    for (const Chunk& chunk : m_problem.allChunks) {
      std::vector<int> here;
      for (const int target : chunk.targets) {
        if (m_model.nodeOf(target) == m_model.nodeOf(chunk.origin)) {
          here.push_back(target);
        }
      }
      offer(spreadTime(chunk.origin, here), "path", "a chunk of GPU " + std::to_string(chunk.origin) + " in its node");
    }
  }

  /// By port, or by link below 0: when it can begin, and how long it takes for a chunk.
  using TimedServers = std::map<int, std::pair<Ticks, Ticks>>;

  void join(TimedServers& servers, int link, const std::vector<std::vector<int>>& ports, Ticks begin) const {
    const int key = ports[link].empty() ? -1 - link : ports[link].front();
    const auto [at, isFirst] = servers.emplace(key, std::pair(begin, m_problem.cost(link)));
    at->second = {std::min(at->second.first, begin), std::min(at->second.second, m_problem.cost(link))};
  }

  /// When servers have taken each of n chunks, or begin to, in order of time.
  static std::vector<Ticks> timesOf(const TimedServers& servers, int n, bool isBegin) {
    std::vector<Ticks> times;
    for (const auto& [key, server] : servers) {
      for (int i = 1; i <= n; ++i) {
        times.push_back(server.first + server.second * (isBegin ? i - 1 : i));
      }
    }
    std::sort(times.begin(), times.end());
    times.resize(n, kNever);
    return times;
  }

  /// The least time in which n chunks that are at one GPU get to all others of its node, by its links and by those of
  /// each other one.
  [[nodiscard]] Ticks spreadOf(int from, int n) {
    const auto [known, isNew] = m_spreadOf.try_emplace({from, n}, 0);
    if (!isNew) {
      return known->second;
    }
    const int first = from - from % m_model.gpusPerNode;
    TimedServers out;
    Ticks farthest = 0;
    Ticks best = 0;
    for (int gpu = first; gpu < first + m_model.gpusPerNode; ++gpu) {
      TimedServers in;
      for (const int link : m_in[gpu]) {
        if (m_model.links[link].isRemote || gpu == from) {
          continue;
        }
        join(in, link, m_inPorts, distance(from, m_model.links[link].from));
        if (m_model.links[link].from == from) {
          join(out, link, m_outPorts, 0);
        }
      }
      if (gpu != from) {
        farthest = std::max(farthest, distance(from, gpu));
        best = std::max(best, timesOf(in, n, false).back());
      }
    }
    // The chunk that leaves last has the whole way before it then.
    best = std::max(best, out.empty() ? 0 : timesOf(out, n, true).back() + farthest);
    known->second = best;
    return best;
  }

  /// Where all crossings leave from one GPU, the k-th cannot before the chunks of k crossings have come in there.
  /// `ready` ascends.
  void waitForInput(const std::vector<const Crossing*>& crossings, std::vector<Ticks>& ready) const {
    const int sender = m_model.links[crossings.front()->links.front()].from;
    std::map<int, std::size_t> uses;  // by chunk of another GPU
    std::size_t own = 0;
    std::size_t most = 1;
    for (const Crossing* crossing : crossings) {
      for (const int link : crossing->links) {
        if (m_model.links[link].from != sender) {
          return;
        }
      }
      if (m_problem.allChunks[crossing->chunk].origin == sender) {
        ++own;
      } else {
        most = std::max(most, ++uses[crossing->chunk]);
      }
    }
    TimedServers in;
    for (const int link : m_in[sender]) {
      if (m_model.links[link].isRemote) {
        continue;
      }
      Ticks begin = kNever;
      for (const auto& [chunk, count] : uses) {
        begin = std::min(begin, distance(m_problem.allChunks[chunk].origin, m_model.links[link].from));
      }
      join(in, link, m_inPorts, begin);
    }
    const std::vector<Ticks> arrivals = timesOf(in, static_cast<int>(uses.size()), false);
    for (std::size_t k = own; k < ready.size(); ++k) {
      ready[k] = std::max(ready[k], arrivals[(k - own) / most]);
    }
  }

  /// By size of a message, the time after its arrival until its chunks are in all of the node; empty where some chunk
  /// is not for all of it.
  [[nodiscard]] std::vector<Ticks> spreadOf(const std::vector<const Crossing*>& crossings, Ticks tail) {
    std::set<int> receivers;
    for (const Crossing* crossing : crossings) {
      const std::vector<int>& targets = m_problem.allChunks[crossing->chunk].targets;
      const auto wanted = std::count_if(targets.begin(), targets.end(),
                                        [&](int target) { return m_model.nodeOf(target) == crossing->node; });
      if (wanted != m_model.gpusPerNode) {
        return {};
      }
      for (const int link : crossing->links) {
        receivers.insert(m_model.links[link].to);
      }
    }
    std::vector<Ticks> spread;
    for (int n = 1; n <= std::min<int>(m_model.maxTogether, static_cast<int>(crossings.size())); ++n) {
      Ticks least = kNever;
      for (const int receiver : receivers) {
        least = std::min(least, spreadOf(receiver, n));
      }
      spread.push_back(std::max(tail, least));
    }
    return spread;
  }

  /// n crossings with at least the given heads and tails, over machines of which each takes one message at a time.
  void boundCrossings(const std::vector<const Crossing*>& crossings, std::size_t machines, const std::string& members,
                      const char* name) {
    if (crossings.empty() || machines == 0) {
      return;
    }
    Ticks alpha = kNever;
    Ticks beta = kNever;
    std::set<Ticks> tails;
    std::set<Ticks> heads;
    for (const Crossing* crossing : crossings) {
      for (const int link : crossing->links) {
        alpha = std::min(alpha, m_problem.alpha[link]);
        beta = std::min(beta, m_problem.beta[link]);
      }
      tails.insert(crossing->tail);
      heads.insert(crossing->head);
    }
    const int most = m_model.maxTogether;
    for (const Ticks tail : tails) {
      std::vector<Ticks> ready;
      std::vector<const Crossing*> late;
      for (const Crossing* crossing : crossings) {
        if (crossing->tail >= tail) {
          ready.push_back(crossing->head);
          late.push_back(crossing);
        }
      }
      std::sort(ready.begin(), ready.end());
      if (machines == 1 && m_allowed == nullptr) {
        waitForInput(late, ready);
      }
      const std::string text = std::to_string(ready.size()) + " chunks " + members;
      if (machines == 1) {
        offer(batchTime(ready, alpha, beta, most) + tail, name, text);
        const std::vector<Ticks> spread = m_allowed == nullptr ? spreadOf(crossings, tail) : std::vector<Ticks>();
        if (!spread.empty()) {
          offer(batchTime(ready, alpha, beta, spread), name, text);
        }
      }
      for (const Ticks head : heads) {
        const auto from = std::lower_bound(ready.begin(), ready.end(), head);
        const auto n = static_cast<Ticks>(ready.end() - from);
        const Ticks each = (n + static_cast<Ticks>(machines) - 1) / static_cast<Ticks>(machines);
        offer(n == 0 ? 0 : head + alpha * ((each + most - 1) / most) + beta * each + tail, name, text);
      }
    }
  }

  /// Chunks that only a few links between two nodes may take.
  void boundLinks() {
    std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
    for (const Crossing& crossing : m_crossings) {
      bySet[crossing.links].push_back(&crossing);
    }
    if (bySet.size() > 4096) {
      return;
    }
    for (const auto& [links, own] : bySet) {
      std::vector<const Crossing*> inside;
      for (const auto& [others, crossings] : bySet) {
        if (std::includes(links.begin(), links.end(), others.begin(), others.end())) {
          inside.insert(inside.end(), crossings.begin(), crossings.end());
        }
      }
      const Link& link = m_model.links[links.front()];
      boundCrossings(inside, links.size(),
                     "from node " + std::to_string(m_model.nodeOf(link.from)) + " to node " +
                         std::to_string(m_model.nodeOf(link.to)),
                     "links between nodes");
    }
  }

  /// The same for the ports of relays: crossings to all nodes by a set of senders, or from all nodes by receivers.
  void boundPorts() {
    if (m_model.nodes < 3 && m_model.nics.empty()) {
      return;
    }
    // A GPU, or for all that share a NIC the first possible one.
    const auto portOf = [this](int gpu) {
      return m_model.nics.empty() ? gpu : gpu - gpu % m_model.gpusPerNode + m_model.nics[gpu % m_model.gpusPerNode];
    };
    for (const bool isIn : {false, true}) {
      std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
      for (const Crossing& crossing : m_crossings) {
        std::set<int> ends;
        for (const int link : crossing.links) {
          ends.insert(portOf(isIn ? m_model.links[link].to : m_model.links[link].from));
        }
        bySet[std::vector<int>(ends.begin(), ends.end())].push_back(&crossing);
      }
      for (const auto& [gpus, own] : bySet) {
        std::vector<const Crossing*> inside;
        for (const auto& [others, crossings] : bySet) {
          if (std::includes(gpus.begin(), gpus.end(), others.begin(), others.end())) {
            inside.insert(inside.end(), crossings.begin(), crossings.end());
          }
        }
        boundCrossings(inside, gpus.size(),
                       (isIn ? "into node " : "out of node ") + std::to_string(m_model.nodeOf(gpus.front())),
                       isIn ? "ports from other nodes" : "ports to other nodes");
      }
    }
  }

  /// What carries chunks over the links, one at a time each: shared ports once, other links for themselves.
  [[nodiscard]] Servers serversOf(const std::vector<int>& links, const std::vector<std::vector<int>>& ports) const {
    Servers servers;
    std::map<int, Ticks> shared;
    for (const int link : links) {
      if (ports[link].empty()) {
        servers.push_back(m_problem.beta[link]);
      } else {
        const auto [at, isNew] = shared.emplace(ports[link].front(), m_problem.beta[link]);
        at->second = std::min(at->second, m_problem.beta[link]);
      }
    }
    for (const auto& [port, time] : shared) {
      servers.push_back(time);
    }
    return servers;
  }

  /// The k-th chunk that comes into a node over the same links cannot come before the k-th of these.
  [[nodiscard]] std::vector<Ticks> arrivalsOf(const std::vector<const Crossing*>& crossings) const {
    std::map<std::vector<int>, std::vector<const Crossing*>> bySet;
    for (const Crossing* crossing : crossings) {
      bySet[crossing->links].push_back(crossing);
    }
    std::vector<Ticks> all;
    for (const auto& [links, same] : bySet) {
      std::vector<Ticks> arrivals;
      Ticks head = kNever;
      Ticks alpha = kNever;
      Ticks beta = kNever;
      for (const Crossing* crossing : same) {
        arrivals.push_back(crossing->arrival);
        head = std::min(head, crossing->head);
      }
      for (const int link : links) {
        alpha = std::min(alpha, m_problem.alpha[link]);
        beta = std::min(beta, m_problem.beta[link]);
      }
      std::sort(arrivals.begin(), arrivals.end());
      for (std::size_t j = 0; j < arrivals.size(); ++j) {
        const auto each = static_cast<Ticks>(j / links.size() + 1);
        arrivals[j] = std::max(arrivals[j],
                               head + alpha * ((each + m_model.maxTogether - 1) / m_model.maxTogether) + beta * each);
      }
      all.insert(all.end(), arrivals.begin(), arrivals.end());
    }
    return all;
  }

  /// Chunks that must come to one of the GPUs `inside` over links within their node: when they can be beside it at the
  /// earliest.
  [[nodiscard]] std::vector<Ticks> readyFor(const std::set<int>& inside, const std::vector<int>& links) const {
    const int node = m_model.nodeOf(*inside.begin());
    std::set<int> neighbours;
    for (const int link : links) {
      neighbours.insert(m_model.links[link].from);
    }
    std::vector<Ticks> ready;
    std::vector<const Crossing*> from;
    for (std::size_t i = 0; i < m_problem.allChunks.size(); ++i) {
      const Chunk& chunk = m_problem.allChunks[i];
      const bool isWanted =
          std::any_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) { return inside.contains(target); });
      if (!isWanted || inside.contains(chunk.origin)) {
        continue;
      }
      if (m_model.nodeOf(chunk.origin) == node) {
        Ticks head = kNever;
        for (const int gpu : neighbours) {
          head = std::min(head, distance(chunk.origin, gpu));
        }
        ready.push_back(head);
        continue;
      }
      for (const int index : m_crossingsOf[i]) {
        const Crossing& crossing = m_crossings[index];
        const bool mayEnter = std::any_of(crossing.links.begin(), crossing.links.end(),
                                          [&](int link) { return inside.contains(m_model.links[link].to); });
        if (crossing.node == node && !mayEnter) {
          from.push_back(&crossing);
        }
      }
    }
    const std::vector<Ticks> arrivals = arrivalsOf(from);
    ready.insert(ready.end(), arrivals.begin(), arrivals.end());
    return ready;
  }

  [[nodiscard]] std::vector<int> linksInto(const std::set<int>& inside) const {
    std::vector<int> links;
    for (const int gpu : inside) {
      for (const int link : m_in[gpu]) {
        if (!m_model.links[link].isRemote && !inside.contains(m_model.links[link].from)) {
          links.push_back(link);
        }
      }
    }
    return links;
  }

  void boundSet(const std::set<int>& inside, const char* name) {
    const std::vector<int> links = linksInto(inside);
    std::vector<Ticks> ready = readyFor(inside, links);
    if (ready.empty()) {
      return;
    }
    const Ticks time =
        std::max(afterReady(ready, serversOf(links, m_inPorts)), afterReady(ready, serversOf(links, m_outPorts)));
    std::string members;
    for (const int gpu : inside) {
      members += (members.empty() ? "" : ", ") + std::to_string(gpu);
    }
    offer(time, name, std::to_string(ready.size()) + " chunks into GPU " + members);
  }

  void boundReceiver(int gpu) {
    boundSet({gpu}, "receiver");
    // With what may enter at the GPU itself, over its links from other nodes as well.
    std::int64_t wanted = 0;
    for (const Chunk& chunk : m_problem.allChunks) {
      wanted += std::binary_search(chunk.targets.begin(), chunk.targets.end(), gpu) ? 1 : 0;
    }
    offer(mixedTime(m_in[gpu], m_inPorts, wanted), "receiver",
          std::to_string(wanted) + " chunks into GPU " + std::to_string(gpu));
  }

  void boundSender(int gpu) {
    std::int64_t owned = 0;
    for (const Chunk& chunk : m_problem.allChunks) {
      owned += chunk.origin == gpu && !chunk.targets.empty() ? 1 : 0;
    }
    offer(mixedTime(m_out[gpu], m_outPorts, owned), "sender",
          std::to_string(owned) + " chunks out of GPU " + std::to_string(gpu));
    // Chunks for one target each: those for other GPUs of the node leave over its links alone.
    std::vector<int> local;
    std::set<int> neighbours;
    for (const int link : m_out[gpu]) {
      if (!m_model.links[link].isRemote) {
        local.push_back(link);
        neighbours.insert(m_model.links[link].to);
      }
    }
    std::vector<Ticks> tails;
    for (const Chunk& chunk : m_problem.allChunks) {
      Ticks tail = -1;
      for (const int target : chunk.targets) {
        if (chunk.origin == gpu && m_model.nodeOf(target) == m_model.nodeOf(gpu)) {
          Ticks nearest = kNever;
          for (const int neighbour : neighbours) {
            nearest = std::min(nearest, distance(neighbour, target));
          }
          tail = std::max(tail, nearest);
        }
      }
      if (tail >= 0) {
        tails.push_back(tail);
      }
    }
    if (!tails.empty()) {
      offer(afterReady(tails, serversOf(local, m_outPorts)), "sender",
            std::to_string(tails.size()) + " chunks out of GPU " + std::to_string(gpu) + " within its node");
    }
  }

  /// Least time in which all links of a GPU, local ones chunk by chunk and remote ones in messages, take n chunks.
  [[nodiscard]] Ticks mixedTime(const std::vector<int>& links, const std::vector<std::vector<int>>& ports,
                                std::int64_t n) const {
    if (n <= 0) {
      return 0;
    }
    std::vector<int> local;
    std::map<int, std::pair<Ticks, Ticks>> remote;  // by port, or by link below 0
    for (const int link : links) {
      if (!m_model.links[link].isRemote) {
        local.push_back(link);
        continue;
      }
      const int key = ports[link].empty() ? -1 - link : ports[link].front();
      const auto [at, isNew] = remote.emplace(key, std::pair(m_problem.alpha[link], m_problem.beta[link]));
      at->second.first = std::min(at->second.first, m_problem.alpha[link]);
      at->second.second = std::min(at->second.second, m_problem.beta[link]);
    }
    const Servers servers = serversOf(local, ports);
    const auto taken = [&](Ticks time) {
      std::int64_t done = 0;
      for (const Ticks each : servers) {
        done += time / each;
      }
      for (const auto& [key, cost] : remote) {
        const Ticks full = cost.first + cost.second * m_model.maxTogether;
        const Ticks rest = time % full;
        done += time / full * m_model.maxTogether;
        done += cost.second > 0 ? std::clamp<Ticks>((rest - cost.first) / cost.second, 0, m_model.maxTogether)
                                : (rest >= cost.first ? m_model.maxTogether : 0);
      }
      return done;
    };
    Ticks high = 1;
    while (taken(high) < n) {
      high *= 2;
      if (high > kNever) {
        return 0;
      }
    }
    Ticks low = 0;
    while (low < high) {
      const Ticks middle = low + (high - low) / 2;
      if (taken(middle) >= n) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// Sets of two or more GPUs of one node; all nodes are alike up to what comes from others, so the first is enough.
  void boundSubsets() {
    const int m = m_model.gpusPerNode;
    if (m > 8) {
      return;
    }
    for (unsigned bits = 1; bits + 1 < 1U << static_cast<unsigned>(m); ++bits) {
      if (m_progress.isCancelled()) {
        return;
      }
      std::set<int> inside;
      for (int gpu = 0; gpu < m; ++gpu) {
        if ((bits >> static_cast<unsigned>(gpu) & 1U) != 0) {
          inside.insert(gpu);
        }
      }
      if (inside.size() > 1) {
        boundSet(inside, "cut of a node");
      }
    }
  }

  /// A GPU that all chunks between two nodes, or from all nodes, enter by and that sends them on by one port.
  void boundForwarding() {
    std::map<std::pair<int, int>, std::vector<const Crossing*>> byEntry;  // (link, or -1 with ports; receiver)
    for (const Crossing& crossing : m_crossings) {
      std::set<int> receivers;
      for (const int link : crossing.links) {
        receivers.insert(m_model.links[link].to);
      }
      if (crossing.links.size() == 1) {
        byEntry[{crossing.links.front(), *receivers.begin()}].push_back(&crossing);
      }
      if (receivers.size() == 1 && m_model.nodes > 2) {
        byEntry[{-1, *receivers.begin()}].push_back(&crossing);
      }
    }
    std::map<std::tuple<std::size_t, int, Ticks, Ticks, Ticks>, Ticks> times;
    for (const auto& [key, crossings] : byEntry) {
      const int gpu = key.second;
      std::vector<int> local;
      for (const int link : m_out[gpu]) {
        if (!m_model.links[link].isRemote) {
          local.push_back(link);
        }
      }
      const Servers servers = serversOf(local, m_outPorts);
      if (servers.size() != 1 || crossings.size() > 300) {
        continue;
      }
      int own = 0;
      Ticks alpha = kNever;
      Ticks beta = kNever;
      for (const Crossing* crossing : crossings) {
        const Chunk& chunk = m_problem.allChunks[crossing->chunk];
        const bool isForItself = std::none_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
          return target != gpu && m_model.nodeOf(target) == crossing->node;
        });
        own += isForItself ? 1 : 0;
        alpha = std::min(alpha, m_problem.alpha[crossing->links.front()]);
        beta = std::min(beta, m_problem.beta[crossing->links.front()]);
      }
      const auto [known, isNew] = times.emplace(std::tuple(crossings.size(), own, alpha, beta, servers.front()), 0);
      if (isNew) {
        known->second =
            forwardTime(static_cast<int>(crossings.size()), own, alpha, beta, m_model.maxTogether, servers.front());
      }
      offer(known->second, "forwarding",
            std::to_string(crossings.size()) + " chunks that enter at GPU " + std::to_string(gpu));
    }
  }

  /// All machines together.
  void boundFlow() {
    FlowBound flow = flowBound(m_problem, m_best.time, m_progress);
    const auto used =
        std::count_if(flow.weights.begin(), flow.weights.end(), [](std::int64_t each) { return each > 0; });
    if (flow.time > m_best.time) {
      m_best = {flow.time, "flow", "all chunks over " + std::to_string(used) + " links and ports",
                std::move(flow.weights)};
    }
  }

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

Ticks Bounder::broadcastTime(int from, const std::vector<int>& targets, Ticks least) const {
  // Doubling: in the time of the fastest send, each GPU that has the chunk can bring it to one more.
  const int first = m_model.nodeOf(from) * m_model.gpusPerNode;
  std::vector<int> links;
  Ticks fastest = kNever;
  for (std::size_t i = 0; i < m_model.links.size(); ++i) {
    const Link& link = m_model.links[i];
    if (!link.isRemote && m_model.nodeOf(link.from) == m_model.nodeOf(from) && isAllowed(i)) {
      links.push_back(static_cast<int>(i));
      fastest = std::min(fastest, m_problem.cost(static_cast<int>(i)));
    }
  }
  std::size_t holders = 1;
  Ticks doubling = 0;
  while (holders < targets.size() + 1 && fastest < kNever) {
    holders *= 2;
    doubling += fastest;
  }
  Ticks bound = std::max(least, doubling);
  const int m = m_model.gpusPerNode;
  if (m > 8 || m_allowed != nullptr) {
    return bound;
  }
  // Exactly, by trying all sends in the order of their ends: state = when each GPU that has it can send again.
  Ticks best = kNever;
  std::vector<Ticks> free(static_cast<std::size_t>(m), -1);
  free[from - first] = 0;
  std::int64_t steps = 0;
  const auto visit = [&](const auto& self, std::size_t left, Ticks lastEnd) -> void {
    if (left == 0) {
      best = std::min(best, lastEnd);
      return;
    }
    if (best <= bound || ++steps > 2'000'000) {
      return;
    }
    for (const int id : links) {
      const Link& link = m_model.links[id];
      const int u = link.from - first;
      const int v = link.to - first;
      if (free[u] < 0 || free[v] >= 0) {
        continue;
      }
      const Ticks end = free[u] + m_problem.cost(id);
      if (end < lastEnd || end >= best) {
        continue;
      }
      const Ticks before = free[u];
      free[u] = end;
      free[v] = end;
      const bool isTarget = std::binary_search(targets.begin(), targets.end(), link.to);
      self(self, left - (isTarget ? 1 : 0), end);
      free[u] = before;
      free[v] = -1;
    }
  };
  visit(visit, targets.size(), 0);
  return steps > 2'000'000 ? bound : std::max(bound, best);
}

}  // namespace

Ticks batchTime(const std::vector<Ticks>& ready, Ticks alpha, Ticks beta, int most) {
  std::vector<Ticks> done(ready.size() + 1, kNever);
  done[0] = 0;
  for (std::size_t k = 1; k <= ready.size(); ++k) {
    for (std::size_t j = 1; j <= std::min<std::size_t>(k, static_cast<std::size_t>(most)); ++j) {
      done[k] = std::min(done[k], std::max(done[k - j], ready[k - 1]) + alpha + beta * static_cast<Ticks>(j));
    }
  }
  return done.back();
}

Ticks batchTime(const std::vector<Ticks>& ready, Ticks alpha, Ticks beta, const std::vector<Ticks>& spread) {
  std::vector<Ticks> done(ready.size() + 1);
  const auto isEnough = [&](Ticks limit) {
    for (std::size_t k = 1; k <= ready.size(); ++k) {
      done[k] = kNever;
      for (std::size_t size = 1; size <= std::min(k, spread.size()); ++size) {
        const Ticks end = std::max(done[k - size], ready[k - 1]) + alpha + beta * static_cast<Ticks>(size);
        done[k] = end + spread[size - 1] <= limit ? std::min(done[k], end) : done[k];
      }
    }
    return done.back() < kNever;
  };
  // One after the other is possible, if slow.
  Ticks low = 0;
  Ticks high = ready.empty() ? 0 : ready.back() + (alpha + beta) * static_cast<Ticks>(ready.size()) + spread.front();
  while (low < high) {
    const Ticks middle = low + (high - low) / 2;
    if (isEnough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

Ticks forwardTime(int n, int own, Ticks alpha, Ticks beta, int most, Ticks forward) {
  // worst[k][b]: the least worst finish where k chunks came in b batches. Chunks for the GPU itself come last.
  std::vector<std::vector<Ticks>> worst(static_cast<std::size_t>(n) + 1,
                                        std::vector<Ticks>(static_cast<std::size_t>(n) + 1, kNever));
  worst[0][0] = 0;
  Ticks best = kNever;
  for (int k = 1; k <= n; ++k) {
    for (int batches = (k + most - 1) / most; batches <= k; ++batches) {
      for (int size = 1; size <= std::min(k, most); ++size) {
        const Ticks before = worst[k - size][batches - 1];
        if (before >= kNever) {
          continue;
        }
        const Ticks end = alpha * batches + beta * k;
        const Ticks left = std::max(0, n - (k - size) - own);
        worst[k][batches] = std::min(worst[k][batches], std::max(before, end + forward * left));
      }
      if (k == n) {
        best = std::min(best, worst[k][batches]);
      }
    }
  }
  return n == 0 ? 0 : std::max(best, forward * (n - own));
}

Bound lowerBound(const Problem& problem, const Progress& progress) {
  return Bounder(problem, progress).find();
}

Ticks lowerBoundWithin(const Problem& problem, const std::vector<char>& linkOrbits) {
  return Bounder(problem, {}).findWithin(linkOrbits);
}

}  // namespace coppice::taccl
