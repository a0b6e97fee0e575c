// SPDX-License-Identifier: Apache-2.0
#include "taccl/problem.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "sketch/make_model.hpp"
#include "sketch/propose.hpp"

namespace coppice::taccl {
namespace {

constexpr int kFar = 1 << 28;

class Maker {
public:
  Maker(const Model& model, Collective collective, int root, const ProblemOptions& options)
      : m_model(model), m_collective(collective), m_root(root), m_options(options) {}

  Problem make() {
    auto chunks = orThrow(chunksOf(m_model, m_collective, m_root));
    m_problem.model = &m_model;
    m_problem.allChunks = std::move(chunks);
    m_problem.sendsOneAtATime = m_options.sendsOneAtATime;
    makeTicks();
    findLinks();
    measureHops();
    measureLocal();
    makeGroup();
    chooseChunks();
    makeOrbits();
    m_problem.takesDetour.resize(m_problem.allChunks.size());
    for (std::size_t i = 0; i < m_problem.chunks.size(); ++i) {
      addItems(static_cast<int>(i));
    }
    m_problem.firstItem.push_back(static_cast<int>(m_problem.items.size()));
    return std::move(m_problem);
  }

private:
  [[nodiscard]] int gpus() const { return m_model.gpus(); }

  void makeTicks() {
    std::int64_t scale = 1;
    for (const Link& link : m_model.links) {
      scale = leastCommonMultiple(scale, link.alpha.denominator());
      scale = leastCommonMultiple(scale, link.beta.denominator());
    }
    m_problem.ticksPerUnit = scale;
    Ticks longest = 1;
    for (const Link& link : m_model.links) {
      m_problem.alpha.push_back((link.alpha * Rational(scale)).numerator());
      m_problem.beta.push_back((link.beta * Rational(scale)).numerator());
      longest = std::max(longest, checkedAdd(m_problem.alpha.back(), m_problem.beta.back()));
    }
    // No schedule is longer than all sends one after another.
    const auto sends = checkedMul<std::int64_t>(static_cast<std::int64_t>(m_problem.allChunks.size()), gpus());
    static_cast<void>(checkedMul<std::int64_t>(checkedMul<std::int64_t>(longest, sends), 8));
  }

  void findLinks() {
    m_first.assign(static_cast<std::size_t>(gpus()) * gpus(), -1);
    m_lanes.assign(m_first.size(), 0);
    m_in.resize(gpus());
    m_out.resize(gpus());
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      const Link& link = m_model.links[i];
      const std::size_t pair = static_cast<std::size_t>(link.from) * gpus() + link.to;
      if (m_lanes[pair]++ == 0) {
        m_first[pair] = static_cast<int>(i);
      }
      m_in[link.to].push_back(static_cast<int>(i));
      m_out[link.from].push_back(static_cast<int>(i));
    }
  }

  void measureHops() {
    m_problem.hops.assign(gpus(), {});
    for (int start = 0; start < gpus(); ++start) {
      std::vector<int>& hops = m_problem.hops[start];
      hops.assign(gpus(), kFar);
      hops[start] = 0;
      std::vector<int> queue = {start};
      for (std::size_t at = 0; at < queue.size(); ++at) {
        for (const int link : m_out[queue[at]]) {
          const int next = m_model.links[link].to;
          if (hops[next] == kFar) {
            hops[next] = hops[queue[at]] + 1;
            queue.push_back(next);
          }
        }
      }
    }
  }

  void measureLocal() {
    auto& distance = m_problem.localDistance;
    distance.assign(gpus(), std::vector<Ticks>(static_cast<std::size_t>(gpus()), -1));
    using Entry = std::pair<Ticks, int>;
    for (int start = 0; start < gpus(); ++start) {
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      queue.emplace(0, start);
      while (!queue.empty()) {
        const auto [time, gpu] = queue.top();
        queue.pop();
        if (distance[start][gpu] >= 0) {
          continue;
        }
        distance[start][gpu] = time;
        for (const int link : m_out[gpu]) {
          if (!m_model.links[link].isRemote) {
            queue.emplace(time + m_problem.cost(link), m_model.links[link].to);
          }
        }
      }
    }
  }

  [[nodiscard]] int imageOfLink(int link, const Permutation& permutation) const {
    const Link& from = m_model.links[link];
    const std::size_t pair = static_cast<std::size_t>(permutation[from.from]) * gpus() + permutation[from.to];
    return m_first[pair] < 0 || from.lane >= m_lanes[pair] ? -1 : m_first[pair] + from.lane;
  }

  /// All products of the generators; empty where one of them keeps a GPU in its place.
  [[nodiscard]] std::vector<Permutation> closure(const std::vector<Permutation>& generators) const {
    Permutation identity(static_cast<std::size_t>(gpus()));
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      identity[gpu] = gpu;
    }
    std::vector<Permutation> all = {identity};
    std::set<Permutation> known = {identity};
    for (std::size_t at = 0; at < all.size(); ++at) {
      for (const Permutation& generator : generators) {
        Permutation product(identity.size());
        for (int gpu = 0; gpu < gpus(); ++gpu) {
          product[gpu] = generator[all[at][gpu]];
        }
        if (known.insert(product).second) {
          for (int gpu = 0; gpu < gpus(); ++gpu) {
            if (product[gpu] == gpu) {
              return {};
            }
          }
          all.push_back(std::move(product));
        }
      }
    }
    return all;
  }

  /// Two GPUs of a NIC change places, so that images of a send would need it at the same time.
  [[nodiscard]] bool keepsNic(const Permutation& permutation) const {
    const int m = m_model.gpusPerNode;
    for (int gpu = 0; !m_model.nics.empty() && gpu < gpus(); ++gpu) {
      const int image = permutation[gpu];
      if (m_model.nodeOf(image) == m_model.nodeOf(gpu) && m_model.nics[image % m] == m_model.nics[gpu % m]) {
        return true;
      }
    }
    return false;
  }

  void makeGroup() {
    std::vector<Permutation> generators;
    m_problem.group = closure({});
    for (const auto& [offset, size] : m_model.offsets) {
      const std::string name = "[" + std::to_string(offset) + ", " + std::to_string(size) + "]";
      Permutation permutation(static_cast<std::size_t>(gpus()));
      for (int gpu = 0; gpu < gpus(); ++gpu) {
        permutation[gpu] = (gpu % size + offset) % size + gpu / size * size;
      }
      if (!m_options.usesSymmetry || isRooted(m_collective)) {
        continue;
      }
      if (!sketch::isSymmetry(m_model, permutation)) {
        m_problem.ignored.push_back(name);
        continue;
      }
      generators.push_back(std::move(permutation));
      std::vector<Permutation> all = closure(generators);
      if (all.empty() || std::any_of(all.begin() + 1, all.end(), [&](const auto& each) { return keepsNic(each); })) {
        generators.pop_back();
        m_problem.ignored.push_back(name);
      } else {
        m_problem.group = std::move(all);
      }
    }
  }

  void chooseChunks() {
    std::vector<bool> isSeen(m_problem.allChunks.size());
    for (std::size_t i = 0; i < isSeen.size(); ++i) {
      if (isSeen[i]) {
        continue;
      }
      for (const Permutation& permutation : m_problem.group) {
        isSeen[imageOf(m_problem, m_collective, static_cast<int>(i), permutation)] = true;
      }
      if (!m_problem.allChunks[i].targets.empty()) {
        m_problem.chunks.push_back(static_cast<int>(i));
      }
    }
  }

  void makeOrbits() {
    m_problem.linkOrbit.assign(m_model.links.size(), -1);
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      if (m_problem.linkOrbit[i] < 0) {
        for (const Permutation& permutation : m_problem.group) {
          m_problem.linkOrbit[imageOfLink(static_cast<int>(i), permutation)] = m_problem.linkOrbitCount;
        }
        ++m_problem.linkOrbitCount;
      }
    }
    std::map<std::vector<int>, int> byLinks;
    for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
      byLinks.emplace(m_model.machines[i].links, static_cast<int>(i));
    }
    m_problem.machineOrbit.assign(m_model.machines.size(), -1);
    m_problem.linkMachines.resize(m_model.links.size());
    for (std::size_t i = 0; i < m_model.machines.size(); ++i) {
      if (m_problem.machineOrbit[i] < 0) {
        for (const Permutation& permutation : m_problem.group) {
          std::vector<int> links;
          for (const int link : m_model.machines[i].links) {
            links.push_back(imageOfLink(link, permutation));
          }
          std::sort(links.begin(), links.end());
          m_problem.machineOrbit[byLinks.at(links)] = m_problem.machineCount;
        }
        ++m_problem.machineCount;
      }
      for (const int link : m_model.machines[i].links) {
        auto& machines = m_problem.linkMachines[link];
        if (std::find(machines.begin(), machines.end(), m_problem.machineOrbit[i]) == machines.end()) {
          machines.push_back(m_problem.machineOrbit[i]);
        }
      }
    }
  }

  /// Nodes that the chunk may be in.
  [[nodiscard]] std::vector<bool> nodesOf(const Chunk& chunk) const {
    std::vector<bool> nodes(static_cast<std::size_t>(m_model.nodes));
    nodes[m_model.nodeOf(chunk.origin)] = true;
    for (const int target : chunk.targets) {
      nodes[m_model.nodeOf(target)] = true;
    }
    return nodes;
  }

  /// GPUs on a shortest way in hops from the origin to a target, in nodes that the chunk may visit.
  [[nodiscard]] std::vector<int> placesOf(const Chunk& chunk) const {
    const std::vector<bool> nodes = nodesOf(chunk);
    std::vector<int> places = {chunk.origin};
    for (int gpu = 0; gpu < gpus(); ++gpu) {
      if (gpu != chunk.origin && nodes[m_model.nodeOf(gpu)] && m_problem.mayVisit(chunk, gpu)) {
        places.push_back(gpu);
      }
    }
    return places;
  }

  /// Hops from one GPU, or to it, over links that the chunk may take.
  [[nodiscard]] std::vector<int> allowedHops(const Chunk& chunk, int start, bool isBackwards) const {
    const std::vector<bool> nodes = nodesOf(chunk);
    std::vector<int> hops(static_cast<std::size_t>(gpus()), kFar);
    hops[start] = 0;
    std::vector<int> queue = {start};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const int link : (isBackwards ? m_in : m_out)[queue[at]]) {
        const Link& arc = m_model.links[link];
        const int next = isBackwards ? arc.from : arc.to;
        if (hops[next] == kFar && nodes[m_model.nodeOf(next)] && (!arc.isRemote || mayCross(chunk, arc))) {
          hops[next] = hops[queue[at]] + 1;
          queue.push_back(next);
        }
      }
    }
    return hops;
  }

  /// As placesOf, for shortest ways among those that relays allow.
  [[nodiscard]] std::vector<int> detourOf(const Chunk& chunk) const {
    const std::vector<int> from = allowedHops(chunk, chunk.origin, false);
    std::set<int> places;
    for (const int target : chunk.targets) {
      const std::vector<int> onward = allowedHops(chunk, target, true);
      for (int gpu = 0; gpu < gpus(); ++gpu) {
        if (gpu != chunk.origin && from[target] < kFar && from[gpu] + onward[gpu] == from[target]) {
          places.insert(gpu);
        }
      }
    }
    std::vector<int> all = {chunk.origin};
    all.insert(all.end(), places.begin(), places.end());
    return all;
  }

  [[nodiscard]] bool mayCross(const Chunk& chunk, const Link& link) const {
    return m_model.nodeOf(link.from) == m_model.nodeOf(chunk.origin) &&
           // Backwards, the link's receiver is the sender of the sketch.
           m_model.mayRelay(chunk.origin, m_problem.sendsOneAtATime ? link.to : link.from);
  }

  void addItems(int index) {
    const Chunk& chunk = m_problem.allChunks[m_problem.chunks[index]];
    const int home = m_model.nodeOf(chunk.origin);
    const int first = static_cast<int>(m_problem.items.size());
    m_problem.firstItem.push_back(first);
    std::vector<int> places = reachable(chunk, placesOf(chunk));
    const bool isComplete = std::all_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
      return std::binary_search(places.begin() + 1, places.end(), target);
    });
    if (!isComplete && !m_model.relays.empty()) {
      places = reachable(chunk, detourOf(chunk));
      for (const Permutation& permutation : m_problem.group) {
        m_problem.takesDetour[imageOf(m_problem, m_collective, m_problem.chunks[index], permutation)] = 1;
      }
    }
    std::map<int, int> blockOf;
    std::map<int, int> itemOf;
    for (const int gpu : places) {
      Item item{.chunk = index, .gpu = gpu};
      item.isTarget = std::binary_search(chunk.targets.begin(), chunk.targets.end(), gpu);
      const int id = static_cast<int>(m_problem.items.size());
      if (const int node = m_model.nodeOf(gpu); node != home) {
        const auto [at, isNew] = blockOf.emplace(node, static_cast<int>(m_problem.blocks.size()));
        if (isNew) {
          m_problem.blocks.push_back({.chunk = index, .items = {}, .entries = {}, .entered = {}});
        }
        item.block = at->second;
        m_problem.blocks[item.block].items.push_back(id);
      }
      if (item.isTarget) {
        m_problem.targetItems.push_back(id);
      }
      itemOf.emplace(gpu, id);
      m_problem.items.push_back(item);
    }
    for (const auto& [gpu, id] : itemOf) {
      addOptions(chunk, id, itemOf);
    }
    checkTargets(chunk, itemOf);
  }

  void addOptions(const Chunk& chunk, int id, const std::map<int, int>& itemOf) {
    Item& item = m_problem.items[id];
    item.firstOption = static_cast<int>(m_problem.options.size());
    for (const int link : m_in[item.gpu]) {
      const Link& arc = m_model.links[link];
      const auto from = itemOf.find(arc.from);
      if (item.gpu == chunk.origin || from == itemOf.end()) {
        continue;
      }
      if (!arc.isRemote) {
        m_problem.options.push_back({link, from->second});
      } else if (item.block >= 0 && mayCross(chunk, arc)) {
        m_problem.blocks[item.block].entries.push_back({link, from->second});
        m_problem.blocks[item.block].entered.push_back(id);
      }
      if (++m_pairs > m_options.maxPairs) {
        throw Failure{{ErrorCode::limit, "more than " + std::to_string(m_options.maxPairs) + " pairs of chunk and link",
                       "use fewer GPUs or chunks, or give symmetry offsets"}};
      }
    }
    item.optionCount = static_cast<int>(m_problem.options.size()) - item.firstOption;
  }

  /// Those of the places that the chunk can get to.
  [[nodiscard]] std::vector<int> reachable(const Chunk& chunk, const std::vector<int>& places) const {
    std::vector<bool> isPlace(static_cast<std::size_t>(gpus()));
    for (const int gpu : places) {
      isPlace[gpu] = true;
    }
    std::vector<bool> isReached(isPlace.size());
    isReached[chunk.origin] = true;
    std::vector<int> queue = {chunk.origin};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const int link : m_out[queue[at]]) {
        const Link& arc = m_model.links[link];
        if (isPlace[arc.to] && !isReached[arc.to] && (!arc.isRemote || mayCross(chunk, arc))) {
          isReached[arc.to] = true;
          queue.push_back(arc.to);
        }
      }
    }
    std::sort(queue.begin() + 1, queue.end());
    return queue;
  }

  void checkTargets(const Chunk& chunk, const std::map<int, int>& itemOf) const {
    for (const int target : chunk.targets) {
      if (!itemOf.contains(target)) {
        throw Failure{{ErrorCode::infeasible,
                       "a chunk of GPU " + std::to_string(chunk.origin) + " cannot reach GPU " + std::to_string(target),
                       "give the sketch links, senders and receivers that join them"}};
      }
    }
    // From one entry alone, the chunk must reach all its targets of a node.
    const int first = m_problem.firstItem.back();
    std::set<int> blocks;
    for (std::size_t i = static_cast<std::size_t>(first); i < m_problem.items.size(); ++i) {
      if (m_problem.items[i].block >= 0) {
        blocks.insert(m_problem.items[i].block);
      }
    }
    for (const int block : blocks) {
      checkEntries(chunk, block);
    }
  }

  void checkEntries(const Chunk& chunk, int blockIndex) const {
    const Block& block = m_problem.blocks[blockIndex];
    int missed = -1;
    for (const int entry : block.entered) {
      const int from = m_problem.items[entry].gpu;
      missed = -1;
      for (const int id : block.items) {
        const Item& item = m_problem.items[id];
        if (item.isTarget && m_problem.localDistance[from][item.gpu] < 0) {
          missed = item.gpu;
        }
      }
      if (missed < 0) {
        return;
      }
    }
    throw Failure{{ErrorCode::infeasible,
                   "a chunk of GPU " + std::to_string(chunk.origin) + " cannot reach GPU " +
                       std::to_string(missed < 0 ? m_problem.items[block.items.front()].gpu : missed) +
                       " from where it enters the node",
                   "choose receivers that reach all GPUs of a node"}};
  }

  const Model& m_model;
  Collective m_collective;
  int m_root;
  ProblemOptions m_options;
  Problem m_problem;
  std::vector<int> m_first;
  std::vector<int> m_lanes;
  std::vector<std::vector<int>> m_in;
  std::vector<std::vector<int>> m_out;
  std::int64_t m_pairs = 0;
};

}  // namespace

bool Problem::mayVisit(const Chunk& chunk, int gpu) const {
  const std::vector<int>& from = hops[chunk.origin];
  const std::vector<int>& onward = hops[gpu];
  return gpu == chunk.origin || std::any_of(chunk.targets.begin(), chunk.targets.end(), [&](int target) {
           return from[target] < kFar && from[gpu] + onward[target] == from[target];
         });
}

int imageOf(const Problem& problem, Collective collective, int chunk, const Permutation& permutation) {
  const int perGpu = problem.model->chunksPerGpu;
  const int gpus = problem.model->gpus();
  const int k = chunk % perGpu;
  const int place = chunk / perGpu;
  switch (collective) {
    case Collective::allgather:
    case Collective::reduceScatter:
      return permutation[place] * perGpu + k;
    case Collective::alltoall:
      return (permutation[place / gpus] * gpus + permutation[place % gpus]) * perGpu + k;
    default:
      return chunk;  // rooted: only the identity keeps the root
  }
}

Result<Problem> makeProblem(const Model& model, Collective collective, int root, const ProblemOptions& options) {
  return guarded([&] { return Maker(model, collective, root, options).make(); },
                 {.overflowFix = "use costs with fewer digits"});
}

}  // namespace coppice::taccl
