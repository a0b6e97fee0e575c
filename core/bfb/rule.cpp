// SPDX-License-Identifier: Apache-2.0
#include "bfb/rule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "bfb/half.hpp"
#include "schedule/rotation.hpp"

namespace coppice::bfb {
namespace {

using fabric::Rank;
using schedule::Rotation;
using std::int64_t;

/// Edges of the trees of one root, at most.
constexpr int64_t kMaxRootEdges = int64_t{1} << 26;

/// The rank from which the same rotations lead to rank 0 that lead from rank 0 to `rank`.
Rank opposite(Rank rank, const std::vector<Rotation>& rotations) {
  Rank result = 0;
  for (const Rotation& rotation : rotations) {
    const int place = rank / rotation.step % rotation.count;
    result += (rotation.count - place) % rotation.count * rotation.step;
  }
  return result;
}

/// The trees of rank 0, from what rank 0 gets.
class RootTrees {
public:
  RootTrees(const fabric::Fabric& fabric, const Half& half, const std::vector<Rotation>& rotations)
      : m_half(half),
        m_rotations(rotations),
        m_powers(rotations),
        m_gpus(fabric.gpus()),
        m_gpuCount(half.logical.graph.nodeCount) {}

  /// @param chunks a multiple of those of the half
  schedule::Forest run(int64_t chunks) {
    const int64_t scale = chunks / m_half.chunks;
    findIntervals();
    growTrees();
    schedule::Forest forest;
    forest.direction = m_half.isTurned ? schedule::Direction::in : schedule::Direction::out;
    forest.gpuCount = m_gpuCount;
    forest.treesOfRoot.assign(m_gpuCount, chunks);
    forest.scale = busiest() * Rational(scale);
    forest.rotations = m_rotations;
    addTrees(scale, forest);
    return forest;
  }

private:
  /// An edge of a tree: a link between two GPUs.
  struct Hop {
    Rank parent = 0;
    Rank child = 0;

    friend auto operator<=>(const Hop&, const Hop&) = default;
  };
  using Hops = std::vector<Hop>;

  [[nodiscard]] const std::vector<Send>& sends() const { return m_half.sends.front().sends; }

  /// Chunks between two neighbouring points travel alike.
  void findIntervals() {
    m_points = {0, m_half.chunks};
    for (const Send& send : sends()) {
      m_points.push_back(send.begin);
      m_points.push_back(send.end);
    }
    std::sort(m_points.begin(), m_points.end());
    m_points.erase(std::unique(m_points.begin(), m_points.end()), m_points.end());
    m_trees.resize(m_points.size() - 1);
    if (static_cast<int64_t>(m_trees.size()) > kMaxRootEdges / m_gpuCount) {
      throw Failure{{ErrorCode::limit,
                     "The chunks of a shard travel on " + std::to_string(m_trees.size()) + " trees, with more than " +
                         std::to_string(kMaxRootEdges) + " edges in all",
                     "choose fewer chunks with --chunks"}};
    }
  }

  /// Sends are in the order of the steps, so that parents come before children.
  void growTrees() {
    for (Hops& tree : m_trees) {
      tree.reserve(static_cast<std::size_t>(m_gpuCount) - 1);
    }
    for (const Send& send : sends()) {
      const Rank child = opposite(send.owner, m_rotations);
      const Rank parent = m_powers.imageOfRank(m_half.logical.graph.links[send.link].tail, child);
      const auto first = std::lower_bound(m_points.begin(), m_points.end(), send.begin) - m_points.begin();
      for (auto at = first; m_points[at] < send.end; ++at) {
        m_trees[at].push_back({parent, child});
      }
    }
  }

  /// What all steps put on a link of each class, in chunks per GB/s.
  [[nodiscard]] InverseBandwidth busiest() const {
    std::vector<int64_t> load(m_half.logical.graph.links.size(), 0);
    Rational max;
    for (const Send& send : sends()) {
      load[send.link] += send.end - send.begin;
    }
    for (std::size_t link = 0; link < load.size(); ++link) {
      if (load[link] > 0) {
        max = std::max(max, Rational(load[link], m_half.logical.graph.links[link].width));
      }
    }
    return max / m_half.logical.unit;
  }

  /// Equal trees once.
  void addTrees(int64_t scale, schedule::Forest& forest) {
    std::vector<std::size_t> kept;
    std::map<Hop, schedule::PathId> routes;
    for (std::size_t i = 0; i < m_trees.size(); ++i) {
      const int64_t multiplicity = checkedMul(m_points[i + 1] - m_points[i], scale);
      const auto known =
          std::find_if(kept.begin(), kept.end(), [&](std::size_t k) { return m_trees[k] == m_trees[i]; });
      if (known != kept.end()) {
        forest.trees[known - kept.begin()].multiplicity += multiplicity;
        continue;
      }
      kept.push_back(i);
      forest.trees.push_back({0, multiplicity, static_cast<int64_t>(forest.edges.size())});
      for (const Hop& hop : m_trees[i]) {
        const auto [route, isNew] = routes.try_emplace(hop, forest.paths.size());
        if (isNew) {
          std::array nodes{m_gpus[hop.parent], m_gpus[hop.child]};
          if (m_half.isTurned) {
            std::reverse(nodes.begin(), nodes.end());
          }
          forest.paths.add(nodes);
        }
        forest.edges.push_back({hop.parent, hop.child, route->second, 0});
      }
    }
  }

  const Half& m_half;
  const std::vector<Rotation>& m_rotations;
  schedule::RotationPowers m_powers;
  std::span<const fabric::NodeIndex> m_gpus;
  int m_gpuCount;
  std::vector<int64_t> m_points;
  std::vector<Hops> m_trees;  ///< by interval of chunks
};

/// What a single GPU gets or sends: no schedule has a higher throughput than this cut allows.
void stateBound(const fabric::Fabric& fabric, schedule::Schedule& schedule) {
  const bool isIn = schedule.collective == Collective::reduceScatter;
  const fabric::NodeIndex single = fabric.gpus().front();
  schedule::Cut cut;
  cut.demand = fabric.gpuCount() - 1;
  for (fabric::NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (node != single) {
      cut.nodes.push_back(node);
    }
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    if ((isIn ? arc.tail : arc.head) == single) {
      cut.exitBandwidth += arc.bandwidth;
    }
  }
  schedule.bound = cut.exitBandwidth * Rational(fabric.gpuCount(), fabric.gpuCount() - 1);
  if (schedule.collective == Collective::allreduce) {
    schedule.bound = schedule.bound / 2;
  }
  schedule.bottlenecks.push_back(std::move(cut));
}

std::vector<Rotation> requireRotations(const fabric::Fabric& fabric, const Request& request) {
  if (isRooted(request.collective)) {
    throw Failure{{ErrorCode::badUsage,
                   "A schedule by rule describes one GPU for all; in a " + std::string(toString(request.collective)) +
                       " the GPUs are not alike",
                   "leave --by-rule out"}};
  }
  if (fabric.gpuCount() != fabric.nodeCount()) {
    throw Failure{{ErrorCode::badUsage,
                   "A schedule by rule needs direct links between GPUs, and this fabric has switches or NICs",
                   "leave --by-rule out"}};
  }
  std::vector<Rotation> rotations = schedule::rotationsOf(fabric);
  if (rotations.empty() || (request.bytes && !schedule::keepsLatencies(fabric, rotations))) {
    throw Failure{{ErrorCode::badUsage,
                   "No rotations of the ranks map the fabric to itself and each GPU to every other one, so one GPU "
                   "cannot represent all",
                   "leave --by-rule out; circulants, tori, hypercubes and their products have such rotations where "
                   "their ranks are in order"}};
  }
  return rotations;
}

/// One of equal bandwidths: then the degree is what limits a fabric whose GPUs are alike.
bool hasEqualLinks(const fabric::Fabric& fabric) {
  const auto arcs = fabric.arcs();
  return std::all_of(arcs.begin(), arcs.end(),
                     [&](const fabric::Arc& arc) { return arc.bandwidth == arcs.front().bandwidth; });
}

/// The half, with the sends to rank 0.
Half halfOfRankZero(const fabric::Fabric& fabric, const Request& request, bool isTurned, const Progress& progress) {
  Half half = makeHalf(fabric, request, isTurned, 0, progress);
  if (request.bytes) {
    setLatencies(fabric, request, half);
  }
  const Deliveries deliveries(half.logical.graph, std::nullopt);
  surveyHalf(half, deliveries, 1, progress);
  chooseChunks(half, request.chunks);
  makeSends(half, deliveries, progress);
  for (int64_t& pairs : half.found.pairs) {
    pairs = checkedMul(pairs, int64_t{fabric.gpuCount()});
  }
  return half;
}

/// By step, the busiest link of rank 0 in shards per unit link.
std::vector<Rational> loadsAtRankZero(const Half& half) {
  const BlockSends& block = half.sends.front();
  std::vector<Rational> loads;
  for (std::size_t step = 0; step + 1 < block.start.size(); ++step) {
    std::map<std::int32_t, int64_t> chunksOver;
    for (std::size_t i = block.start[step]; i < block.start[step + 1]; ++i) {
      chunksOver[block.sends[i].link] += block.sends[i].end - block.sends[i].begin;
    }
    Rational max;
    for (const auto& [link, chunks] : chunksOver) {
      const int64_t width = half.logical.graph.links[link].width;
      max = std::max(max, Rational(chunks, checkedMul(width, half.chunks)));
    }
    loads.push_back(max);
  }
  return loads;
}

/// The frame of the schedule in steps, without its transfers.
schedule::StepSchedule frameOf(const fabric::Fabric& fabric, const Request& request, const std::vector<Half>& halves) {
  auto goal = schedule::CollectiveTable::make(request.collective, fabric.gpuCount());
  if (!goal) {
    throw Failure{goal.error()};
  }
  schedule::StepSchedule frame;
  frame.goal = *std::move(goal);
  frame.method = "bfb";
  frame.fabricName = fabric.name();
  frame.fabricDigest = fabric.digest();
  frame.stepCount = 0;
  for (const Half& half : halves) {
    frame.stepCount += static_cast<std::int32_t>(half.found.stepLoads.size());
    for (std::vector<fabric::NodeIndex> route : half.logical.routes) {
      if (half.isTurned) {
        std::reverse(route.begin(), route.end());
      }
      frame.paths.add(route);
    }
  }
  return frame;
}

schedule::Schedule ruleOf(const fabric::Fabric& fabric, const Request& request, const std::vector<Half>& halves,
                          const std::vector<Rotation>& rotations, int64_t chunks) {
  schedule::Schedule rule;
  rule.collective = request.collective;
  rule.fabricName = fabric.name();
  rule.fabricDigest = fabric.digest();
  rule.fixedK = chunks;
  InverseBandwidth time;
  for (const Half& half : halves) {
    auto& forest = half.isTurned ? rule.reduceForest : rule.broadcastForest;
    forest = RootTrees(fabric, half, rotations).run(chunks);
    time += forest->algbw().inverse();
  }
  rule.algbw = time.inverse();
  if (hasEqualLinks(fabric)) {
    stateBound(fabric, rule);
  }
  return rule;
}

}  // namespace

bool needsRule(const fabric::Fabric& fabric, const Request& request) {
  constexpr int kMaxGpus = 1 << 14;
  return fabric.gpuCount() > kMaxGpus && fabric.gpuCount() == fabric.nodeCount() && !isRooted(request.collective) &&
         !request.bytes && !schedule::rotationsOf(fabric).empty();
}

Generated makeByRule(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const std::vector<Rotation> rotations = requireRotations(fabric, request);
  throwIfCancelled(progress);
  std::vector<Half> halves;
  if (reduces(request.collective)) {
    halves.push_back(halfOfRankZero(fabric, request, true, progress));
  }
  if (request.collective != Collective::reduceScatter) {
    halves.push_back(halfOfRankZero(fabric, request, false, progress));
  }
  Generated result;
  result.gpuCount = fabric.gpuCount();
  schedule::PathId firstRoute = 0;
  for (const Half& half : halves) {
    addCosts(half, firstRoute, result.costs);
    firstRoute += static_cast<schedule::PathId>(half.logical.routes.size());
    result.chunks = leastCommonMultiple(result.chunks, half.chunks);
    result.costs.degree = std::max(result.costs.degree, half.logical.graph.degree());
  }
  result.costs.unit = halves.front().logical.unit;
  result.costs.isTimed = request.bytes.has_value();
  result.costs.shardsPerCollective = fabric.gpuCount();
  result.schedule = frameOf(fabric, request, halves);
  result.schedule.denominator = result.chunks;
  Rational shards;
  for (const Half& half : halves) {
    const std::vector<Rational> loads = loadsAtRankZero(half);
    shards = std::accumulate(loads.begin(), loads.end(), shards);
  }
  result.schedule.algbw = Rational(fabric.gpuCount()) * result.costs.unit / shards;
  result.rule = ruleOf(fabric, request, halves, rotations, result.chunks);
  return result;
}

}  // namespace coppice::bfb
