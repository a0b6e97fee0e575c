// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_bound.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"

namespace coppice::verify {
namespace {

using sketch::Chunk;
using sketch::Link;
using sketch::Model;

using Time = std::int64_t;

constexpr int kFar = 1 << 28;
constexpr Time kNever = std::numeric_limits<Time>::max() / 8;
constexpr Int128 kPriceless = Int128{1} << 120;
constexpr std::int64_t kMaxWeight = std::int64_t{1} << 32;  ///< so that prices stay far below

/// Takes chunks one after another: each `alpha` alone, then up to `most` of them `beta` apart, and again.
struct Server {
  Time alpha = 0;
  Time beta = 0;
  int most = 1;
};

/// The earliest time at which the n-th chunk has passed, if all may be taken from the beginning.
Time nthTime(const std::vector<Server>& servers, std::size_t n) {
  if (n == 0) {
    return 0;
  }
  using Event = std::tuple<Time, std::size_t, int>;  // time, server, which one of its batch
  std::priority_queue<Event, std::vector<Event>, std::greater<>> next;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    next.emplace(servers[i].alpha + servers[i].beta, i, 1);
  }
  while (!next.empty()) {
    const auto [time, server, place] = next.top();
    next.pop();
    if (--n == 0) {
      return time;
    }
    const Server& each = servers[server];
    const bool isLast = place == each.most;
    next.emplace(time + each.beta + (isLast ? each.alpha : 0), server, isLast ? 1 : place + 1);
  }
  return kNever;
}

/// The same where the chunks are there from the given times on: some k last ones are all taken after the first of them.
Time timeFrom(std::vector<Time> ready, const std::vector<Server>& servers) {
  std::sort(ready.begin(), ready.end(), std::greater<>());
  Time best = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (i + 1 == ready.size() || ready[i + 1] != ready[i]) {
      best = std::max(best, ready[i] + nthTime(servers, i + 1));
    }
  }
  return best;
}

/// One server in batches, exactly: the least time until the first k have passed, for ascending k.
Time batched(std::vector<Time> ready, const Server& server) {
  std::sort(ready.begin(), ready.end());
  std::vector<Time> through = {0};
  for (std::size_t k = 1; k <= ready.size(); ++k) {
    Time best = kNever;
    Time start = 0;
    for (std::size_t size = 1; size <= k && size <= static_cast<std::size_t>(server.most); ++size) {
      start = std::max(ready[k - 1], through[k - size]);
      best = std::min(best, start + server.alpha + server.beta * static_cast<Time>(size));
    }
    through.push_back(best);
  }
  return through.back();
}

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

class BoundProof {
public:
  BoundProof(const Model& model, const std::vector<Chunk>& chunks, bool isReduction,
             const std::vector<std::int64_t>& weights, const Progress& progress)
      : m_model(model), m_chunks(chunks), m_isReduction(isReduction), m_weights(weights), m_progress(progress) {
    std::int64_t scale = 1;
    for (const Link& link : model.links) {
      scale = leastCommonMultiple(scale, link.alpha.denominator());
      scale = leastCommonMultiple(scale, link.beta.denominator());
    }
    m_scale = scale;
    Time sum = 1;
    for (const Link& link : model.links) {
      m_alpha.push_back((link.alpha * Rational(scale)).numerator());
      m_beta.push_back((link.beta * Rational(scale)).numerator());
      sum = checkedAdd(sum, checkedAdd(m_alpha.back(), m_beta.back()));
    }
    static_cast<void>(checkedMul<Time>(checkedMul<Time>(sum, static_cast<Time>(chunks.size()) + 1), 64));
    m_from.resize(model.gpus());
    m_to.resize(m_from.size());
    for (std::size_t i = 0; i < model.links.size(); ++i) {
      m_from[model.links[i].from].push_back(static_cast<int>(i));
      m_to[model.links[i].to].push_back(static_cast<int>(i));
    }
    measure();
    findPassages();
  }

  Rational prove(const std::string& name) {
    static const std::map<std::string, Time (BoundProof::*)()> kKinds = {
        {"path", &BoundProof::path},
        {"links between nodes", &BoundProof::nodeLinks},
        {"ports to other nodes", &BoundProof::sendingPorts},
        {"ports from other nodes", &BoundProof::receivingPorts},
        {"receiver", &BoundProof::receivers},
        {"sender", &BoundProof::senders},
        {"cut of a node", &BoundProof::cuts},
        {"forwarding", &BoundProof::forwarding},
        {"flow", &BoundProof::flow}};
    const auto kind = kKinds.find(name);
    return kind == kKinds.end() ? Rational(0) : Rational((this->*kind->second)(), m_scale);
  }

private:
  [[nodiscard]] const Link& link(int index) const { return m_model.links[index]; }
  [[nodiscard]] int nodeOf(int gpu) const { return m_model.nodeOf(gpu); }
  [[nodiscard]] Time cost(int index) const { return m_alpha[index] + m_beta[index]; }
  [[nodiscard]] bool isTarget(const Chunk& chunk, int gpu) const {
    return std::binary_search(chunk.targets.begin(), chunk.targets.end(), gpu);
  }

  /// Times within nodes and hops over all links, between all pairs.
  void measure() {
    const auto gpus = static_cast<std::size_t>(m_model.gpus());
    m_time.assign(gpus, std::vector<Time>(gpus, kNever));
    m_hops.assign(gpus, std::vector<int>(gpus, kFar));
    for (int start = 0; start < m_model.gpus(); ++start) {
      throwIfCancelled(m_progress);
      std::vector<Time>& time = m_time[start];
      std::set<std::pair<Time, int>> queue = {{0, start}};
      time[start] = 0;
      while (!queue.empty()) {
        const int gpu = queue.begin()->second;
        queue.erase(queue.begin());
        for (const int index : linksFrom(gpu)) {
          const int to = link(index).to;
          if (!link(index).isRemote && time[gpu] + cost(index) < time[to]) {
            queue.erase({time[to], to});
            time[to] = time[gpu] + cost(index);
            queue.emplace(time[to], to);
          }
        }
      }
      std::vector<int>& hops = m_hops[start];
      std::vector<int> line = {start};
      hops[start] = 0;
      for (std::size_t at = 0; at < line.size(); ++at) {
        for (const int index : linksFrom(line[at])) {
          if (hops[link(index).to] == kFar) {
            hops[link(index).to] = hops[line[at]] + 1;
            line.push_back(link(index).to);
          }
        }
      }
    }
  }

  /// What the links of one end share: a number for each port, -1 - link for a link of its own.
  [[nodiscard]] int portOf(int index, bool isIn) const {
    const Link& each = link(index);
    const int gpu = isIn ? each.to : each.from;
    const int perGpu = static_cast<int>(m_model.switches.size()) + 1;
    if (each.isRemote && !m_model.nics.empty()) {
      return m_model.gpus() * perGpu + nodeOf(gpu) * m_model.gpusPerNode + m_model.nics[gpu % m_model.gpusPerNode];
    }
    if (each.isRemote) {
      return m_model.nodes > 2 ? gpu * perGpu + perGpu - 1 : -1 - index;
    }
    int lane = each.lane;
    for (std::size_t i = 0; i < m_model.switches.size(); ++i) {
      const std::vector<int>& members = m_model.switches[i];
      const auto joins = [&](int end) {
        return std::find(members.begin(), members.end(), end % m_model.gpusPerNode) != members.end();
      };
      if (joins(each.from) && joins(each.to) && lane-- == 0) {
        return gpu * perGpu + static_cast<int>(i);
      }
    }
    return -1 - index;
  }

  /// Servers that the links stand for, a shared port once. Those between nodes take messages.
  [[nodiscard]] std::vector<Server> serversOf(const std::vector<int>& links, bool isIn) const {
    std::map<int, Server> byPort;
    for (const int index : links) {
      const Server own{m_alpha[index], m_beta[index], link(index).isRemote ? m_model.maxTogether : 1};
      const auto [at, isNew] = byPort.emplace(portOf(index, isIn), own);
      at->second.alpha = std::min(at->second.alpha, own.alpha);
      at->second.beta = std::min(at->second.beta, own.beta);
    }
    std::vector<Server> servers;
    for (const auto& [port, server] : byPort) {
      servers.push_back(server);
    }
    return servers;
  }

  [[nodiscard]] std::vector<int> linksOf(int gpu, bool isIn, bool withRemote) const {
    std::vector<int> links;
    std::copy_if((isIn ? m_to : m_from)[gpu].begin(), (isIn ? m_to : m_from)[gpu].end(), std::back_inserter(links),
                 [&](int index) { return withRemote || !link(index).isRemote; });
    return links;
  }

  // Where chunks may go.

  [[nodiscard]] bool isBetween(const Chunk& chunk, int gpu) const {
    return gpu == chunk.origin || std::any_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
             const int all = m_hops[chunk.origin][target];
             return all < kFar && m_hops[chunk.origin][gpu] + m_hops[gpu][target] == all;
           });
  }

  [[nodiscard]] bool mayLeave(const Chunk& chunk, int index) const {
    const Link& each = link(index);
    return each.isRemote && nodeOf(each.from) == nodeOf(chunk.origin) &&
           m_model.mayRelay(chunk.origin, m_isReduction ? each.to : each.from);
  }

  /// Not all targets can be reached along shortest ways in hops, for relays.
  [[nodiscard]] bool needsDetour(const Chunk& chunk) const {
    if (m_model.relays.empty()) {
      return false;
    }
    std::vector<char> nodes(static_cast<std::size_t>(m_model.nodes));
    nodes[nodeOf(chunk.origin)] = 1;
    for (const int target : chunk.targets) {
      nodes[nodeOf(target)] = 1;
    }
    std::vector<char> seen(static_cast<std::size_t>(m_model.gpus()));
    seen[chunk.origin] = 1;
    std::vector<int> stack = {chunk.origin};
    while (!stack.empty()) {
      const int gpu = stack.back();
      stack.pop_back();
      for (const int index : linksFrom(gpu)) {
        const int to = link(index).to;
        const bool isAllowed = !link(index).isRemote || mayLeave(chunk, index);
        if (seen[to] == 0 && nodes[nodeOf(to)] != 0 && isAllowed && isBetween(chunk, to)) {
          seen[to] = 1;
          stack.push_back(to);
        }
      }
    }
    return !std::all_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) { return seen[target] != 0; });
  }

  [[nodiscard]] const std::vector<int>& linksFrom(int gpu) const { return m_from[gpu]; }

  /// From one GPU to all of the targets, which are in its node. Reductions take in one sum at a time, so that played
  /// backwards a GPU sends one at a time.
  [[nodiscard]] Time spread(int from, std::vector<int> targets) {
    std::erase(targets, from);
    Time farthest = 0;
    for (const int target : targets) {
      farthest = std::max(farthest, m_time[from][target]);
    }
    if (!m_isReduction || targets.empty() || farthest >= kNever) {
      return farthest;
    }
    const auto [known, isNew] = m_spread.try_emplace({from, targets}, 0);
    if (isNew) {
      known->second = spreadOneByOne(from, targets, farthest);
    }
    return known->second;
  }

  [[nodiscard]] Time spreadOneByOne(int from, const std::vector<int>& targets, Time least) const {
    const int node = nodeOf(from);
    std::set<Time> costs;
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      if (!m_model.links[i].isRemote && nodeOf(m_model.links[i].from) == node) {
        costs.insert(cost(static_cast<int>(i)));
      }
    }
    Time bound = least;
    Time doubling = 0;
    for (std::size_t holders = 1; holders < targets.size() + 1; holders *= 2) {
      doubling += *costs.begin();
    }
    bound = std::max(bound, doubling);
    if (m_model.gpusPerNode > 8) {
      return bound;
    }
    // The least limit that can be kept is a sum of costs.
    std::set<Time> sums = {0};
    for (int i = 1; i < m_model.gpusPerNode && sums.size() < 4096; ++i) {
      std::set<Time> longer = sums;
      for (const Time sum : sums) {
        for (const Time each : costs) {
          longer.insert(sum + each);
        }
      }
      sums = std::move(longer);
    }
    for (auto limit = sums.lower_bound(bound); limit != sums.end(); ++limit) {
      m_steps = 0;
      std::vector<Time> free(static_cast<std::size_t>(m_model.gpusPerNode), kNever);
      free[from % m_model.gpusPerNode] = 0;
      if (canSpread(node, targets, free, 0, *limit)) {
        return *limit;
      }
      if (m_steps > kMaxSteps) {
        return bound;
      }
      bound = *limit;
    }
    return bound;
  }

  /// The GPU that is free first sends to one that lacks the chunk, or never again. `done`: bits of those that do not.
  bool canSpread(int node, const std::vector<int>& targets, std::vector<Time>& free, unsigned done, Time limit) const {
    if (++m_steps > kMaxSteps) {
      return false;
    }
    const int m = m_model.gpusPerNode;
    int sender = -1;
    for (int gpu = 0; gpu < m; ++gpu) {
      if (free[gpu] < kNever && (done >> static_cast<unsigned>(gpu) & 1U) == 0 &&
          (sender < 0 || free[gpu] < free[sender])) {
        sender = gpu;
      }
    }
    bool isOver = true;
    for (const int target : targets) {
      if (free[target % m] < kNever) {
        continue;
      }
      isOver = false;
      bool isNear = false;
      for (int gpu = 0; gpu < m && !isNear; ++gpu) {
        isNear = free[gpu] < kNever && (done >> static_cast<unsigned>(gpu) & 1U) == 0 &&
                 free[gpu] + m_time[node * m + gpu][target] <= limit;
      }
      if (!isNear) {
        return false;
      }
    }
    if (isOver || sender < 0) {
      return isOver;
    }
    const Time before = free[sender];
    for (const int index : linksFrom(node * m + sender)) {
      const int to = link(index).to % m;
      const Time end = before + cost(index);
      if (link(index).isRemote || free[to] < kNever || end > limit) {
        continue;
      }
      free[sender] = free[to] = end;
      const bool isPossible = canSpread(node, targets, free, done, limit);
      free[sender] = before;
      free[to] = kNever;
      if (isPossible) {
        return true;
      }
    }
    return canSpread(node, targets, free, done | 1U << static_cast<unsigned>(sender), limit);
  }

  void findPassages() {
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      if (m_model.links[i].isRemote) {
        m_between[{nodeOf(m_model.links[i].from), nodeOf(m_model.links[i].to)}].push_back(static_cast<int>(i));
      }
    }
    for (std::size_t i = 0; i < m_chunks.size(); ++i) {
      throwIfCancelled(m_progress);
      const Chunk& chunk = m_chunks[i];
      std::map<int, std::vector<int>> byNode;
      for (const int target : chunk.targets) {
        byNode[nodeOf(target)].push_back(target);
      }
      const bool isFree = byNode.empty() || needsDetour(chunk);
      for (const auto& [node, targets] : byNode) {
        if (node != nodeOf(chunk.origin)) {
          addPassage(static_cast<int>(i), node, targets, isFree);
        }
      }
    }
  }

  void addPassage(int index, int node, const std::vector<int>& targets, bool isFree) {
    const Chunk& chunk = m_chunks[index];
    Passage passage;
    passage.chunk = index;
    passage.node = node;
    for (const int each : m_between[{nodeOf(chunk.origin), node}]) {
      const int from = link(each).from;
      const int to = link(each).to;
      if (!mayLeave(chunk, each) || (!isFree && !(isBetween(chunk, from) && isBetween(chunk, to)))) {
        continue;
      }
      const Time head = m_time[chunk.origin][from];
      const Time tail = spread(to, targets);
      passage.links.push_back(each);
      passage.head = std::min(passage.head, head);
      passage.tail = std::min(passage.tail, tail);
      passage.entry = std::min(passage.entry, head + cost(each));
      passage.whole = std::min(passage.whole, head + cost(each) + tail);
    }
    m_passages.push_back(std::move(passage));
  }

  // The relaxations.

  static Time known(Time time) { return time >= kNever ? 0 : time; }

  Time path() {
    Time best = 0;
    for (const Passage& passage : m_passages) {
      best = std::max(best, known(passage.whole));
    }
    for (const Chunk& chunk : m_chunks) {
      std::vector<int> here;
      for (const int target : chunk.targets) {
        if (nodeOf(target) == nodeOf(chunk.origin)) {
          here.push_back(target);
        }
      }
      best = std::max(best, known(spread(chunk.origin, here)));
    }
    return best;
  }

  /// All of these passages by `ways` machines that each take one message at a time.
  [[nodiscard]] Time passTime(const std::vector<const Passage*>& passages, std::size_t ways) const {
    Server server{kNever, kNever, m_model.maxTogether};
    std::set<Time> tails;
    for (const Passage* passage : passages) {
      for (const int index : passage->links) {
        server.alpha = std::min(server.alpha, m_alpha[index]);
        server.beta = std::min(server.beta, m_beta[index]);
      }
      tails.insert(passage->tail);
    }
    Time best = 0;
    for (const Time tail : tails) {
      std::vector<Time> heads;
      for (const Passage* passage : passages) {
        if (passage->tail >= tail) {
          heads.push_back(passage->head);
        }
      }
      best = std::max(best, known(evenly(heads, server, ways) + tail));
      if (ways == 1) {
        holdBack(passages, tail, heads);
        best =
            std::max({best, known(batched(heads, server) + tail), known(spreadingTime(heads, server, tail, passages))});
      }
    }
    return best;
  }

  /// From one sender, passages can only begin as chunks come in there; heads later than those that are given.
  void holdBack(const std::vector<const Passage*>& passages, Time tail, std::vector<Time>& heads) const {
    std::set<int> senders;
    std::set<int> origins;
    std::map<int, int> passagesOf;  // by chunk of other GPUs
    int own = 0;
    for (const Passage* passage : passages) {
      for (const int index : passage->links) {
        senders.insert(link(index).from);
      }
    }
    if (senders.size() != 1) {
      return;
    }
    const int sender = *senders.begin();
    for (const Passage* passage : passages) {
      if (const int origin = m_chunks[passage->chunk].origin; passage->tail >= tail && origin == sender) {
        ++own;
      } else if (passage->tail >= tail) {
        ++passagesOf[passage->chunk];
        origins.insert(origin);
      }
    }
    int copies = 1;
    for (const auto& [chunk, count] : passagesOf) {
      copies = std::max(copies, count);
    }
    std::map<int, Way> in;
    for (const int index : linksOf(sender, true, false)) {
      Time begin = kNever;
      for (const int origin : origins) {
        begin = std::min(begin, m_time[origin][link(index).from]);
      }
      widen(in[portOf(index, true)], begin, cost(index));
    }
    std::sort(heads.begin(), heads.end());
    const std::vector<Time> times = firstTimes(in, passagesOf.size(), false);
    for (int k = own; k < static_cast<int>(heads.size()); ++k) {
      heads[k] = std::max(heads[k], times[(k - own) / copies]);
    }
  }

  /// Takes chunks one after the other from some time on.
  struct Way {
    Time begin = kNever;
    Time each = kNever;
  };
  static void widen(Way& way, Time begin, Time each) {
    way.begin = std::min(way.begin, begin);
    way.each = std::min(way.each, each);
  }
  /// When the ways begin to take chunks, or have taken them: the first n times.
  static std::vector<Time> firstTimes(const std::map<int, Way>& ways, std::size_t n, bool isBegun) {
    std::vector<Time> times;
    for (const auto& [port, way] : ways) {
      for (std::size_t i = 0; i < n; ++i) {
        times.push_back(way.begin + way.each * static_cast<Time>(isBegun ? i : i + 1));
      }
    }
    std::sort(times.begin(), times.end());
    times.resize(n, kNever);
    return times;
  }

  /// One way, after which the chunks of a message have to get from where it ends to all of the node together: the least
  /// limit that the messages can keep. 0 where some chunk is not for the whole node.
  [[nodiscard]] Time spreadingTime(std::vector<Time> ready, const Server& server, Time tail,
                                   const std::vector<const Passage*>& passages) const {
    std::set<int> ends;
    for (const Passage* passage : passages) {
      if (static_cast<int>(targetsIn(m_chunks[passage->chunk], passage->node).size()) < m_model.gpusPerNode) {
        return 0;
      }
      for (const int index : passage->links) {
        ends.insert(link(index).to);
      }
    }
    std::vector<Time> after = {0};  // by size of the message
    for (int size = 1; size <= server.most && static_cast<std::size_t>(size) <= passages.size(); ++size) {
      Time least = kNever;
      for (const int end : ends) {
        least = std::min(least, spreadTogether(end, static_cast<std::size_t>(size)));
      }
      after.push_back(std::max(tail, least));
    }
    std::sort(ready.begin(), ready.end());
    // From the end: by how many chunks are left, the latest time at which their messages may begin.
    const auto canKeep = [&](Time limit) {
      std::vector<Time> latest(ready.size() + 1, -1);
      latest[0] = limit;
      for (std::size_t left = 1; left <= ready.size(); ++left) {
        for (std::size_t size = 1; size < after.size() && size <= left; ++size) {
          const Time length = server.alpha + server.beta * static_cast<Time>(size);
          const Time begin = std::min(latest[left - size], limit - after[size]) - length;
          // The chunks that are there last go last.
          if (begin >= ready[ready.size() - left + size - 1]) {
            latest[left] = std::max(latest[left], begin);
          }
        }
      }
      return latest.back() >= 0;
    };
    Time low = 0;
    Time high = ready.back() + (server.alpha + server.beta + after.back()) * static_cast<Time>(ready.size());
    while (low < high) {
      const Time middle = low + (high - low) / 2;
      if (canKeep(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// n chunks that are at one GPU, to all others of its node: what each takes in, and the last one to leave.
  [[nodiscard]] Time spreadTogether(int from, std::size_t n) const {
    Time best = 0;
    std::map<int, Way> out;
    for (const int index : linksOf(from, false, false)) {
      widen(out[portOf(index, false)], 0, cost(index));
    }
    for (int gpu = from - from % m_model.gpusPerNode; gpu < from - from % m_model.gpusPerNode + m_model.gpusPerNode;
         ++gpu) {
      if (gpu == from) {
        continue;
      }
      std::map<int, Way> in;
      for (const int index : linksOf(gpu, true, false)) {
        widen(in[portOf(index, true)], m_time[from][link(index).from], cost(index));
      }
      best = std::max({best, firstTimes(in, n, false).back(), firstTimes(out, n, true).back() + m_time[from][gpu]});
    }
    return best;
  }

  /// One of the ways takes at least its share of those that come last.
  static Time evenly(std::vector<Time> heads, const Server& server, std::size_t ways) {
    std::sort(heads.begin(), heads.end(), std::greater<>());
    Time best = 0;
    for (std::size_t n = 1; n <= heads.size(); ++n) {
      const auto share = static_cast<Time>((n + ways - 1) / ways);
      const Time batches = (share + server.most - 1) / server.most;
      best = std::max(best, heads[n - 1] + batches * server.alpha + share * server.beta);
    }
    return best;
  }

  /// Passages that a set of links, or of GPUs at their ends, cannot be avoided by.
  Time passBy(const std::function<int(int)>& machineOf) {
    std::map<std::vector<int>, std::vector<const Passage*>> bySet;
    for (const Passage& passage : m_passages) {
      std::set<int> machines;
      for (const int index : passage.links) {
        machines.insert(machineOf(index));
      }
      bySet[{machines.begin(), machines.end()}].push_back(&passage);
    }
    Time best = 0;
    for (const auto& [machines, own] : bySet) {
      throwIfCancelled(m_progress);
      std::vector<const Passage*> all;
      for (const auto& [others, passages] : bySet) {
        if (!others.empty() && std::includes(machines.begin(), machines.end(), others.begin(), others.end())) {
          all.insert(all.end(), passages.begin(), passages.end());
        }
      }
      if (!all.empty()) {
        best = std::max(best, passTime(all, machines.size()));
      }
    }
    return best;
  }

  Time nodeLinks() {
    return passBy([](int index) { return index; });
  }
  Time sendingPorts() {
    return passBy([this](int index) { return portOf(index, false); });
  }
  Time receivingPorts() {
    return passBy([this](int index) { return portOf(index, true); });
  }

  /// When chunks from other nodes are in this one: the k-th over the same links not before the k-th of these.
  void addEntries(const std::vector<const Passage*>& passages, std::vector<Time>& ready) const {
    std::map<std::vector<int>, std::vector<const Passage*>> bySet;
    for (const Passage* passage : passages) {
      bySet[passage->links].push_back(passage);
    }
    for (const auto& [links, same] : bySet) {
      std::vector<Time> entries;
      Time head = kNever;
      Server server{kNever, kNever, m_model.maxTogether};
      for (const Passage* passage : same) {
        entries.push_back(passage->entry);
        head = std::min(head, passage->head);
      }
      for (const int index : links) {
        server.alpha = std::min(server.alpha, m_alpha[index]);
        server.beta = std::min(server.beta, m_beta[index]);
      }
      std::sort(entries.begin(), entries.end());
      for (std::size_t k = 0; k < entries.size() && !links.empty(); ++k) {
        // Each link has its share; messages of `most` save alphas.
        const auto share = static_cast<Time>(k / links.size()) + 1;
        const Time batches = (share + server.most - 1) / server.most;
        ready.push_back(std::max(entries[k], head + batches * server.alpha + share * server.beta));
      }
    }
  }

  /// Chunks that have to come into a set of GPUs of one node over links from the rest of the node.
  Time intoSet(const std::set<int>& inside) {
    const int node = nodeOf(*inside.begin());
    std::vector<int> links;
    std::set<int> beside;
    for (const int gpu : inside) {
      for (const int index : linksOf(gpu, true, false)) {
        if (!inside.contains(link(index).from)) {
          links.push_back(index);
          beside.insert(link(index).from);
        }
      }
    }
    std::vector<Time> ready;
    std::vector<const Passage*> passages;
    for (const Chunk& chunk : m_chunks) {
      const bool isWanted = std::any_of(inside.begin(), inside.end(), [&](int gpu) { return isTarget(chunk, gpu); });
      if (isWanted && nodeOf(chunk.origin) == node && !inside.contains(chunk.origin)) {
        Time head = kNever;
        for (const int gpu : beside) {
          head = std::min(head, m_time[chunk.origin][gpu]);
        }
        ready.push_back(head);
      }
    }
    for (const Passage& passage : m_passages) {
      const Chunk& chunk = m_chunks[passage.chunk];
      const bool isWanted = passage.node == node &&
                            std::any_of(inside.begin(), inside.end(), [&](int gpu) { return isTarget(chunk, gpu); });
      const bool mayEnter = std::any_of(passage.links.begin(), passage.links.end(),
                                        [&](int index) { return inside.contains(link(index).to); });
      if (isWanted && !mayEnter) {
        passages.push_back(&passage);
      }
    }
    addEntries(passages, ready);
    return ready.empty() ? 0
                         : std::max(known(timeFrom(ready, serversOf(links, true))),
                                    known(timeFrom(ready, serversOf(links, false))));
  }

  Time receivers() {
    Time best = 0;
    for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
      throwIfCancelled(m_progress);
      const auto wanted =
          std::count_if(m_chunks.begin(), m_chunks.end(), [&](const Chunk& chunk) { return isTarget(chunk, gpu); });
      const Time all = nthTime(serversOf(linksOf(gpu, true, true), true), static_cast<std::size_t>(wanted));
      best = std::max({best, intoSet({gpu}), known(all)});
    }
    return best;
  }

  Time senders() {
    Time best = 0;
    for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
      throwIfCancelled(m_progress);
      const auto owned = std::count_if(m_chunks.begin(), m_chunks.end(), [&](const Chunk& chunk) {
        return chunk.origin == gpu && !chunk.targets.empty();
      });
      best =
          std::max(best, known(nthTime(serversOf(linksOf(gpu, false, true), false), static_cast<std::size_t>(owned))));
      const std::vector<int> local = linksOf(gpu, false, false);
      std::vector<Time> tails;  // turned round in time, they are heads
      for (const Chunk& chunk : m_chunks) {
        Time tail = -1;
        for (const int target : chunk.targets) {
          if (chunk.origin == gpu && nodeOf(target) == nodeOf(gpu)) {
            Time nearest = kNever;
            for (const int index : local) {
              nearest = std::min(nearest, m_time[link(index).to][target]);
            }
            tail = std::max(tail, nearest);
          }
        }
        if (tail >= 0) {
          tails.push_back(tail);
        }
      }
      if (!tails.empty()) {
        best = std::max(best, known(timeFrom(tails, serversOf(local, false))));
      }
    }
    return best;
  }

  Time cuts() {
    const int m = m_model.gpusPerNode;
    Time best = 0;
    for (unsigned bits = 1; m <= 8 && bits + 1 < 1U << static_cast<unsigned>(m); ++bits) {
      throwIfCancelled(m_progress);
      std::set<int> inside;
      for (int gpu = 0; gpu < m; ++gpu) {
        if ((bits >> static_cast<unsigned>(gpu) & 1U) != 0) {
          inside.insert(gpu);
        }
      }
      best = std::max(best, inside.size() > 1 ? intoSet(inside) : 0);
    }
    return best;
  }

  // Weights of machines: what each send costs, and what all chunks cost together.

  /// The links are one, or share a port.
  [[nodiscard]] bool takesOneAtATime(const std::vector<int>& links) const {
    const auto share = [&](bool isIn) {
      const int port = portOf(links.front(), isIn);
      return port >= 0 &&
             std::all_of(links.begin(), links.end(), [&](int index) { return portOf(index, isIn) == port; });
    };
    return links.size() == 1 || (!links.empty() && (share(false) || share(true)));
  }

  /// By link; empty where the weights are not those of machines.
  [[nodiscard]] std::vector<Int128> prices() const {
    std::vector<Int128> prices(m_model.links.size());
    for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
      const std::vector<int>& links = m_model.machines[i].links;
      if (m_weights[i] < 0 || m_weights[i] > kMaxWeight || (m_weights[i] > 0 && !takesOneAtATime(links))) {
        return {};
      }
      for (const int index : links) {
        prices[index] += m_weights[i];
      }
    }
    for (std::size_t i = 0; i < prices.size(); ++i) {
      // For as many chunks as go together, which pay alpha once.
      const Int128 most = m_model.maxTogether;
      const Int128 alphas = m_model.links[i].isRemote ? 1 : most;
      prices[i] *= alphas * m_alpha[i] + most * m_beta[i];
    }
    return prices;
  }

  /// Between the GPUs of each node, by Floyd and Warshall.
  [[nodiscard]] std::vector<std::vector<Int128>> distancesBy(const std::vector<Int128>& prices) const {
    const int m = m_model.gpusPerNode;
    const auto gpus = static_cast<std::size_t>(m_model.gpus());
    std::vector<std::vector<Int128>> distance(gpus, std::vector<Int128>(static_cast<std::size_t>(m), kPriceless));
    for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
      distance[gpu][gpu % m] = 0;
    }
    for (std::size_t i = 0; i < prices.size(); ++i) {
      if (!m_model.links[i].isRemote) {
        Int128& known = distance[m_model.links[i].from][m_model.links[i].to % m];
        known = std::min(known, prices[i]);
      }
    }
    for (int through = 0; through < m_model.gpus(); ++through) {
      const int first = through - through % m;
      for (int from = first; from < first + m; ++from) {
        for (int to = 0; to < m; ++to) {
          distance[from][to] = std::min(distance[from][to], distance[from][through % m] + distance[through][to]);
        }
      }
    }
    return distance;
  }

  /// The cheapest tree from the root to all GPUs of its node, by the sets that it must enter (Fulkerson, Math.
  /// Programming 6, 1974): a least set without the root that no free link enters costs the cheapest link into it.
  [[nodiscard]] Int128 treePrice(int root, std::vector<Int128> prices) const {
    const int m = m_model.gpusPerNode;
    const auto bit = [m](int gpu) { return std::uint32_t{1} << static_cast<unsigned>(gpu % m); };
    std::vector<int> links;
    for (int gpu = root - root % m; gpu < root - root % m + m; ++gpu) {
      for (const int index : linksFrom(gpu)) {
        if (!link(index).isRemote) {
          links.push_back(index);
        }
      }
    }
    for (Int128 sum = 0;;) {
      std::vector<std::uint32_t> before(static_cast<std::size_t>(m));  // from which free links lead there
      for (int gpu = 0; gpu < m; ++gpu) {
        before[gpu] = bit(gpu);
      }
      for (const int index : links) {
        before[link(index).to % m] |= prices[index] == 0 ? bit(link(index).from) : 0;
      }
      for (int through = 0; through < m; ++through) {
        for (std::uint32_t& set : before) {
          set |= (set & bit(through)) != 0 ? before[through] : 0;
        }
      }
      std::uint32_t least = 0;
      for (const std::uint32_t set : before) {
        if ((set & bit(root)) == 0 && (least == 0 || std::popcount(set) < std::popcount(least))) {
          least = set;
        }
      }
      if (least == 0) {
        return sum;
      }
      Int128 entry = kPriceless;
      const auto enters = [&](int index) {
        return (least & bit(link(index).to)) != 0 && (least & bit(link(index).from)) == 0;
      };
      for (const int index : links) {
        entry = enters(index) ? std::min(entry, prices[index]) : entry;
      }
      if (entry == kPriceless) {
        return kPriceless;
      }
      for (const int index : links) {
        prices[index] -= enters(index) ? entry : 0;
      }
      sum += entry;
    }
  }

  /// All machines together are busy, each times its weight, for no less than the cheapest routes of all chunks cost;
  /// then some machine is busy for that over the sum of the weights.
  Time flow() {
    const bool hasTrees =
        std::any_of(m_chunks.begin(), m_chunks.end(), [](const Chunk& chunk) { return chunk.targets.size() > 1; });
    if (m_weights.size() != m_model.machines.size() || (hasTrees && m_model.gpusPerNode > 32)) {
      return 0;
    }
    const Int128 sum = std::accumulate(m_weights.begin(), m_weights.end(), Int128{0});
    const std::vector<Int128> price = prices();
    if (price.empty() || sum <= 0) {
      return 0;
    }
    const std::vector<std::vector<Int128>> distance = distancesBy(price);
    std::map<int, Int128> trees;
    const auto spreadPrice = [&](int from, const std::vector<int>& targets) {
      Int128 farthest = 0;
      std::size_t others = 0;
      for (const int target : targets) {
        farthest = std::max(farthest, distance[from][target % m_model.gpusPerNode]);
        others += target != from ? 1 : 0;
      }
      if (others + 1 < static_cast<std::size_t>(m_model.gpusPerNode) || others < 2) {
        return farthest;
      }
      const auto [known, isNew] = trees.try_emplace(from, 0);
      if (isNew) {
        known->second = treePrice(from, price);
      }
      return known->second;
    };
    Int128 total = 0;
    const auto add = [&](Int128 cost) { total = std::min(kPriceless, total + cost); };
    for (const Chunk& chunk : m_chunks) {
      add(spreadPrice(chunk.origin, targetsIn(chunk, nodeOf(chunk.origin))));
    }
    for (const Passage& passage : m_passages) {
      throwIfCancelled(m_progress);
      const Chunk& chunk = m_chunks[passage.chunk];
      const std::vector<int> targets = targetsIn(chunk, passage.node);
      Int128 least = kPriceless;
      for (const int index : passage.links) {
        const Int128 head =
            chunk.targets.size() > 1 ? 0 : distance[chunk.origin][link(index).from % m_model.gpusPerNode];
        least = std::min(least, head + price[index] + spreadPrice(link(index).to, targets));
      }
      add(least);
    }
    const Int128 whole = sum * m_model.maxTogether;
    return total >= kPriceless ? 0 : narrow64((total + whole - 1) / whole);
  }

  [[nodiscard]] std::vector<int> targetsIn(const Chunk& chunk, int node) const {
    std::vector<int> targets;
    std::copy_if(chunk.targets.begin(), chunk.targets.end(), std::back_inserter(targets),
                 [&](int target) { return nodeOf(target) == node; });
    return targets;
  }

  /// All chunks of a pair of nodes, or from all nodes, enter at one GPU, which sends them on by one port.
  Time forwarding() {
    std::map<std::pair<int, int>, std::vector<const Passage*>> byEntry;
    for (const Passage& passage : m_passages) {
      std::set<int> ends;
      for (const int index : passage.links) {
        ends.insert(link(index).to);
      }
      if (passage.links.size() == 1) {
        byEntry[{passage.links.front(), *ends.begin()}].push_back(&passage);
      }
      if (ends.size() == 1 && m_model.nodes > 2) {
        byEntry[{-1, *ends.begin()}].push_back(&passage);
      }
    }
    Time best = 0;
    std::map<std::tuple<std::size_t, int, Time, Time, Time>, Time> times;
    for (const auto& [key, passages] : byEntry) {
      throwIfCancelled(m_progress);
      const int gpu = key.second;
      const std::vector<Server> servers = serversOf(linksOf(gpu, false, false), false);
      if (servers.size() != 1 || passages.size() > 300) {
        continue;
      }
      Server in{kNever, kNever, m_model.maxTogether};
      int kept = 0;
      for (const Passage* passage : passages) {
        for (const int index : passage->links) {
          in.alpha = std::min(in.alpha, m_alpha[index]);
          in.beta = std::min(in.beta, m_beta[index]);
        }
        const Chunk& chunk = m_chunks[passage->chunk];
        const bool goesOn = std::any_of(chunk.targets.begin(), chunk.targets.end(),
                                        [&](int target) { return target != gpu && nodeOf(target) == passage->node; });
        kept += goesOn ? 0 : 1;
      }
      const auto [at, isNew] = times.try_emplace({passages.size(), kept, in.alpha, in.beta, servers[0].beta}, 0);
      if (isNew) {
        at->second = forwardTime(static_cast<int>(passages.size()), kept, in, servers[0].beta);
      }
      best = std::max(best, at->second);
    }
    return best;
  }

  /// Is there a way to form messages such that all is forwarded by the limit? By the fewest messages before each.
  static bool canForward(int n, int kept, const Server& in, Time forward, Time limit) {
    if (forward * (n - kept) > limit) {
      return false;
    }
    // fewest[k]: messages in which the first k chunks can be in, each message early enough for what it and later ones
    // bring; those that stay come last.
    constexpr int kNone = 1 << 20;
    std::vector<int> fewest(static_cast<std::size_t>(n) + 1, kNone);
    fewest[0] = 0;
    for (int k = 1; k <= n; ++k) {
      for (int size = 1; size <= std::min(k, in.most); ++size) {
        const int before = fewest[k - size];
        const Time end = in.alpha * (before + 1) + in.beta * k;
        const Time onward = forward * std::max(0, n - (k - size) - kept);
        if (before < kNone && end + onward <= limit) {
          fewest[k] = std::min(fewest[k], before + 1);
        }
      }
    }
    return fewest[n] < kNone;
  }

  static Time forwardTime(int n, int kept, const Server& in, Time forward) {
    Time low = 0;
    Time high = (in.alpha + in.beta + forward) * (n + 1);
    while (low < high) {
      const Time middle = low + (high - low) / 2;
      if (canForward(n, kept, in, forward, middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

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

}  // namespace

Rational provedBound(const sketch::Model& model, const std::vector<sketch::Chunk>& chunks, bool isReduction,
                     const std::string& name, const std::vector<std::int64_t>& weights, const Progress& progress) {
  return BoundProof(model, chunks, isReduction, weights, progress).prove(name);
}

}  // namespace coppice::verify
