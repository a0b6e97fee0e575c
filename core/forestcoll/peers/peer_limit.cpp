// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/peers/peer_limit.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/packing/growth.hpp"
#include "forestcoll/peers/peer_wiring.hpp"
#include "schedule/expansion.hpp"
#include "schedule/peers.hpp"

namespace coppice::forestcoll {
namespace {

using fabric::Fabric;
using std::int64_t;

void requireUsable(const Fabric& fabric, int maxPeers) {
  if (maxPeers < 1) {
    throw Failure{{ErrorCode::badUsage, "a GPU needs at least 1 peer", "give a whole number of peers, 1 or more"}};
  }
  const auto name = [&](int node) { return inQuotes(fabric.nodes()[node].id); };
  for (const fabric::Arc& arc : fabric.arcs()) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    const Bandwidth other = back ? fabric.arcs()[*back].bandwidth : Bandwidth();
    if (other != arc.bandwidth) {
      throw Failure{{ErrorCode::unbalanced,
                     "a limit on peers needs links with the same bandwidth both ways, and from " + name(arc.tail) +
                         " to " + name(arc.head) + " it is " + toExactText(arc.bandwidth) + " GB/s, back " +
                         toExactText(other),
                     "leave the limit out, or make the links duplex",
                     {{}, 0, 0, {RefKind::node, fabric.nodes()[arc.tail].id, arc.tail}}}};
    }
  }
  std::vector<int> linked(fabric.nodeCount(), 0);
  for (const fabric::Arc& arc : fabric.arcs()) {
    const bool joinsGpus = fabric.nodes()[arc.tail].kind == fabric::NodeKind::gpu &&
                           fabric.nodes()[arc.head].kind == fabric::NodeKind::gpu;
    linked[arc.tail] += joinsGpus ? 1 : 0;
  }
  const auto max = std::max_element(linked.begin(), linked.end());
  if (*max > maxPeers) {
    const auto node = static_cast<int>(max - linked.begin());
    throw Failure{{ErrorCode::infeasible,
                   name(node) + " is linked to " + std::to_string(*max) +
                       " GPUs directly, and a limit on peers only applies to what runs through switches",
                   "allow at least " + std::to_string(*max) + " peers",
                   {{}, 0, 0, {RefKind::node, fabric.nodes()[node].id, node}}}};
  }
}

/// The fabric with wires in place of some switches. A wire is a switch of its own between two GPUs, so that routes name
/// it.
struct WiredFabric {
  Fabric fabric;
  std::vector<int> nodeOf;  ///< by its nodes: the original's node, -1 = a wire
  std::vector<int> wireOf;  ///< by its nodes: into wires, -1 = none
  std::vector<Wire> wires;
};

WiredFabric buildWired(const Fabric& fabric, PeerWiring&& wiring, const Bandwidth& bandwidthOfTree) {
  fabric::Description description;
  description.name = fabric.name();
  std::vector<int> nodeOf;
  std::vector<int> wireOf;
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    const fabric::Node& original = fabric.nodes()[node];
    if (wiring.isReplaced[node] != 0) {
      continue;
    }
    fabric::NodeDescription added;
    added.id = original.id;
    added.kind = fabric::toString(original.kind);
    if (original.rank >= 0) {
      added.rank = original.rank;
    }
    description.nodes.push_back(std::move(added));
    nodeOf.push_back(node);
    wireOf.push_back(-1);
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    if (arc.tail < arc.head && wiring.isReplaced[arc.tail] == 0 && wiring.isReplaced[arc.head] == 0) {
      fabric::LinkDescription link;
      link.src = fabric.nodes()[arc.tail].id;
      link.dst = fabric.nodes()[arc.head].id;
      link.bandwidth = toExactText(arc.bandwidth);
      description.links.push_back(std::move(link));
    }
  }
  // No id of the fabric is as long as this one.
  std::size_t longest = 0;
  for (const fabric::Node& node : fabric.nodes()) {
    longest = std::max(longest, node.id.size());
  }
  const std::string prefix = std::string(longest, 'w') + " wire ";
  for (std::size_t i = 0; i < wiring.wires.size(); ++i) {
    const Wire& wire = wiring.wires[i];
    fabric::NodeDescription added;
    added.id = prefix + std::to_string(i);
    added.kind = fabric::toString(fabric::NodeKind::switchNode);
    const std::string bandwidth = toExactText(Rational(wire.trees) * bandwidthOfTree);
    for (const int gpu : {wire.a, wire.b}) {
      fabric::LinkDescription link;
      link.src = fabric.nodes()[gpu].id;
      link.dst = added.id;
      link.bandwidth = bandwidth;
      description.links.push_back(std::move(link));
    }
    description.nodes.push_back(std::move(added));
    nodeOf.push_back(-1);
    wireOf.push_back(static_cast<int>(i));
  }
  return {orThrow(Fabric::build(description)), std::move(nodeOf), std::move(wireOf), std::move(wiring.wires)};
}

/// Routes of the wired fabric as routes of the original.
schedule::Forest onFabric(const WiredFabric& wired, schedule::Forest&& forest, const Progress& progress) {
  // The wires need not have the symmetries of the fabric.
  forest = orThrow(schedule::expanded(forest, wired.fabric, schedule::kMaxWrittenBytes, progress));
  schedule::PathPool paths;
  std::vector<fabric::NodeIndex> route;
  for (schedule::PathId id = 0; id < forest.paths.size(); ++id) {
    route.clear();
    for (const fabric::NodeIndex node : forest.paths[id]) {
      const int index = wired.wireOf[node];
      if (index < 0) {
        route.push_back(wired.nodeOf[node]);
        continue;
      }
      const Wire& wire = wired.wires[index];
      if (route.back() == wire.a) {
        route.insert(route.end(), wire.relays.begin(), wire.relays.end());
      } else {
        route.insert(route.end(), wire.relays.rbegin(), wire.relays.rend());
      }
    }
    paths.add(route);
  }
  forest.paths = std::move(paths);
  return std::move(forest);
}

/// A wiring with what it reaches.
struct WiredAttempt {
  WiredFabric wired;
  Bandwidth algbw;
  int64_t k = 0;
};

class PeerLimiter {
public:
  PeerLimiter(const Fabric& fabric, const Request& request, int maxPeers, const Progress& progress)
      : m_fabric(fabric),
        m_request(request),
        m_maxPeers(maxPeers),
        m_progress(progress),
        m_network(makeNetwork(fabric, std::vector<int64_t>(static_cast<std::size_t>(fabric.gpuCount()), 1))) {}

  PeerLimited run() {
    std::vector<StageSeconds> seconds;
    StageClock clock(seconds);
    Request halves = withoutTreeLimits(m_request);
    halves.overlap = Overlap::never;
    m_bound = orThrow(optimum(m_fabric, halves, m_progress));
    m_optimum = m_bound;
    if (limitsTrees(m_request)) {
      Request fixed = m_request;
      fixed.allreduceBudget = {};
      m_optimum = orThrow(optimum(m_fabric, fixed, m_progress));
      m_optimum.allreduceLimit = m_bound.allreduceLimit;
    }
    clock.done("optimum");
    if (keepsLimitByItself()) {
      PeerLimited plain;
      plain.generated = orThrow(generate(m_fabric, m_request, m_progress));
      plain.maxPeers = schedule::maxPeers(plain.generated.schedule, m_fabric, m_progress);
      return plain;
    }
    std::optional<WiredAttempt> best = findWiring();
    clock.done("wiring");
    PeerLimited result = growOn(*best);
    for (StageSeconds& stage : result.generated.seconds) {
      seconds.push_back(std::move(stage));
    }
    result.generated.seconds = std::move(seconds);
    return result;
  }

private:
  [[nodiscard]] std::vector<TreeArc> capacitiesAt(const InverseBandwidth& scale) const {
    return scaledArcs(m_network, scale * m_network.unit);
  }

  [[nodiscard]] bool keepsLimitByItself() const {
    try {
      return !wirePeers(m_network, capacitiesAt(m_optimum.scale), m_maxPeers, WiringStyle::even, m_progress);
    } catch (const Failure& failure) {
      if (failure.error.code != ErrorCode::infeasible) {
        throw;
      }
      return false;  // more trees per root may have a wiring
    }
  }

  /// The next larger scale at which a port of a replaced switch has room for one tree more.
  [[nodiscard]] InverseBandwidth scaleAfter(const InverseBandwidth& scale, const std::vector<char>& isReplaced) const {
    std::optional<InverseBandwidth> next;
    for (const TreeArc& arc : m_network.arcs) {
      if (isReplaced[arc.tail] != 0 || isReplaced[arc.head] != 0) {
        const Bandwidth bandwidth = Rational(arc.capacity) * m_network.unit;
        const InverseBandwidth candidate = Rational((scale * bandwidth).floor() + 1) / bandwidth;
        next = next ? std::min(*next, candidate) : candidate;
      }
    }
    return next.value_or(scale);
  }

  std::optional<WiredAttempt> findWiring() const {
    std::optional<WiredAttempt> best;
    std::optional<Error> failure;
    bool hasLeaves = false;
    for (const WiringStyle style : {WiringStyle::even, WiringStyle::leaves}) {
      if (style == WiringStyle::leaves && !hasLeaves) {
        break;
      }
      for (const int64_t factor : {1, 2, 4}) {
        const int64_t k = checkedMul(m_optimum.treesPerRoot, factor);
        const bool mayTake = factor == 1 || !limitsTrees(m_request) || (m_request.maxK && k <= *m_request.maxK);
        if (mayTake && tryRoundings(style, k, m_optimum.scale * Rational(factor), best, failure, hasLeaves)) {
          return best;
        }
      }
    }
    if (!best) {
      suggestLimit(*failure);
    }
    return best;
  }

  /// Wirings at the scale and some above it. True where one keeps the optimum.
  bool tryRoundings(WiringStyle style, int64_t k, InverseBandwidth scale, std::optional<WiredAttempt>& best,
                    std::optional<Error>& failure, bool& hasLeaves) const {
    constexpr int kRoundings = 3;
    for (int rounding = 0; rounding < kRoundings; ++rounding) {
      throwIfCancelled(m_progress);
      std::optional<PeerWiring> wiring;
      try {
        wiring = wirePeers(m_network, capacitiesAt(scale), m_maxPeers, style, m_progress);
      } catch (const Failure& error) {
        if (error.error.code != ErrorCode::infeasible) {
          throw;
        }
        failure = error.error;
        return false;
      }
      if (!wiring) {
        return false;  // rounding alone cannot make the limit hold
      }
      hasLeaves = hasLeaves || wiring->hasLeaves;
      const InverseBandwidth next = scaleAfter(scale, wiring->isReplaced);
      WiredAttempt attempt{buildWired(m_fabric, *std::move(wiring), scale.inverse()), {}, k};
      Request fixed = m_request;
      fixed.maxK.reset();
      fixed.maxLoss.reset();
      fixed.fixedK = k;
      fixed.allreduceBudget = {};
      attempt.algbw = orThrow(optimum(attempt.wired.fabric, fixed, m_progress)).algbw;
      if (!best || attempt.algbw > best->algbw) {
        best = std::move(attempt);
      }
      if (best->algbw == m_optimum.algbw) {
        return true;
      }
      scale = next;
    }
    return false;
  }

  /// Throws the failure with the smallest limit for which there is a wiring.
  [[noreturn]] void suggestLimit(Error failure) const {
    constexpr int kMaxTries = 64;
    const std::vector<TreeArc> capacities = capacitiesAt(m_optimum.scale * Rational(4));
    for (int peers = m_maxPeers + 1; peers <= m_maxPeers + kMaxTries; ++peers) {
      try {
        static_cast<void>(wirePeers(m_network, capacities, peers, WiringStyle::even, m_progress));
        failure.fix = "allow at least " + std::to_string(peers) + " peers";
        break;
      } catch (const Failure&) {
        continue;
      }
    }
    throw Failure{std::move(failure)};
  }

  PeerLimited growOn(const WiredAttempt& best) const {
    Request request = m_request;
    request.allreduceBudget = {};
    request.maxK.reset();
    request.maxLoss.reset();
    const bool keepsOptimum = best.algbw == m_bound.algbw;
    if (!keepsOptimum || limitsTrees(m_request)) {
      request.fixedK = best.k;
    }
    PeerLimited result;
    result.isWired = true;
    result.generated = orThrow(generate(best.wired.fabric, request, m_progress));
    schedule::Schedule& schedule = result.generated.schedule;
    for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest) {
        *forest = onFabric(best.wired, std::move(**forest), m_progress);
      }
    }
    schedule.fabricName = m_fabric.name();
    schedule.fabricDigest = m_fabric.digest();
    schedule.bound = m_bound.algbw;
    schedule.bottlenecks = m_bound.bottlenecks;
    if (m_bound.allreduceLimit) {
      schedule.allreduceBound = m_bound.allreduceLimit->algbw;
    }
    const int64_t k = result.generated.optimum.treesPerRoot;
    if (schedule.algbw < schedule.bound || limitsTrees(m_request)) {
      schedule.fixedK = k;
    }
    const InverseBandwidth scale = result.generated.optimum.scale;
    result.generated.optimum = m_optimum;
    result.generated.optimum.treesPerRoot = k;
    result.generated.optimum.scale = scale;
    result.maxPeers = schedule::maxPeers(schedule, m_fabric, m_progress);
    if (result.maxPeers > m_maxPeers) {
      throw Failure{{ErrorCode::internal,
                     "a GPU has " + std::to_string(result.maxPeers) + " peers, more than the limit of " +
                         std::to_string(m_maxPeers),
                     "please report this fabric"}};
    }
    return result;
  }

  const Fabric& m_fabric;
  const Request& m_request;
  int m_maxPeers;
  const Progress& m_progress;
  Network m_network;
  Optimum m_bound;    ///< with any k
  Optimum m_optimum;  ///< with the k of the request
};

}  // namespace

Result<PeerLimited> generateWithPeers(const Fabric& fabric, const Request& request, int maxPeers,
                                      const Progress& progress) {
  return guarded(
      [&]() -> Result<PeerLimited> {
        requireUsable(fabric, maxPeers);
        return PeerLimiter(fabric, request, maxPeers, progress).run();
      },
      {.overflow = "with a limit on peers the fabric's numbers leave the range in which results are proven exact",
       .overflowFix = "use a smaller k, bandwidths with fewer digits, or leave the limit out",
       .memoryFix = "allow more memory, or use a smaller k"});
}

Result<Generated> generateLimited(const Fabric& fabric, const Request& request, std::optional<int> maxPeers,
                                  const Progress& progress) {
  if (!maxPeers) {
    return generate(fabric, request, progress);
  }
  auto limited = generateWithPeers(fabric, request, *maxPeers, progress);
  if (!limited) {
    return limited.error();
  }
  return std::move(limited->generated);
}

}  // namespace coppice::forestcoll
