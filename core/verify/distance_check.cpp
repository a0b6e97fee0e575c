// SPDX-License-Identifier: Apache-2.0
#include "verify/distance_check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;

/// Distances over the arcs, or over the arcs turned round.
class Distances {
public:
  Distances(const fabric::Fabric& fabric, bool isTurned) : m_next(static_cast<std::size_t>(fabric.nodeCount())) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_next[isTurned ? arc.head : arc.tail].push_back(isTurned ? arc.tail : arc.head);
    }
  }

  /// By node; -1 = not reached.
  [[nodiscard]] std::vector<int> from(NodeIndex node) const {
    std::vector<int> distance(m_next.size(), -1);
    std::vector<NodeIndex> queue{node};
    distance[node] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const NodeIndex next : m_next[queue[i]]) {
        if (distance[next] < 0) {
          distance[next] = distance[queue[i]] + 1;
          queue.push_back(next);
        }
      }
    }
    return distance;
  }

private:
  std::vector<std::vector<NodeIndex>> m_next;
};

class ClaimCheck {
public:
  ClaimCheck(const fabric::Fabric& fabric, const std::vector<StepClaim>& claims, bool isTransitive,
             const Progress& progress)
      : m_fabric(fabric),
        m_claims(claims),
        m_isTransitive(isTransitive),
        m_progress(progress),
        m_forward(fabric, false),
        m_backward(fabric, true) {}

  std::vector<Finding> run() {
    checkSteps();
    for (std::size_t i = 0; i < m_claims.size() && m_findings.empty(); ++i) {
      throwIfCancelled(m_progress);
      checkClaim(i);
    }
    return std::move(m_findings);
  }

private:
  void fault(std::string text, ElementRef element) {
    m_findings.push_back(
        {Severity::error, ErrorCode::verification, std::move(text), {}, {.element = std::move(element)}});
  }

  /// Each distance up to the diameter has its claim, for each direction that is used at all.
  void checkSteps() {
    int diameter = 0;
    const std::vector<NodeIndex> sources(m_fabric.gpus().begin(),
                                         m_isTransitive ? m_fabric.gpus().begin() + 1 : m_fabric.gpus().end());
    for (const NodeIndex node : sources) {
      throwIfCancelled(m_progress);
      const std::vector<int> distance = m_forward.from(node);
      diameter = std::max(diameter, *std::max_element(distance.begin(), distance.end()));
    }
    for (const bool isReducing : {false, true}) {
      std::multiset<int> stated;
      for (const StepClaim& claim : m_claims) {
        if (claim.isReducing == isReducing) {
          stated.insert(claim.distance);
        }
      }
      for (int t = 1; t <= diameter && !stated.empty(); ++t) {
        if (stated.count(t) != 1) {
          fault("distance " + std::to_string(t) + " has " + std::to_string(stated.count(t)) + " claims, not one",
                {RefKind::field, "steps"});
        }
      }
      if (!stated.empty() && static_cast<int>(stated.size()) != diameter) {
        fault("takes " + std::to_string(stated.size()) + " steps, the largest distance is " + std::to_string(diameter),
              {RefKind::field, "steps"});
      }
    }
  }

  void checkClaim(std::size_t index) {
    constexpr std::size_t kMaxKept = 64;
    if (m_kept.size() >= kMaxKept) {
      m_kept.clear();
    }
    const StepClaim& claim = m_claims[index];
    const ElementRef name{RefKind::step, index};
    if (claim.gpu < 0 || claim.gpu >= m_fabric.gpuCount()) {
      fault("there is no GPU " + std::to_string(claim.gpu), name);
      return;
    }
    const NodeIndex node = m_fabric.gpus()[claim.gpu];
    std::set<int> claimed;
    Bandwidth bandwidth;
    for (const int arc : claim.arcs) {
      if (arc < 0 || arc >= static_cast<int>(m_fabric.arcs().size()) || nearEnd(claim, arc) != node ||
          !claimed.insert(arc).second) {
        fault("link " + std::to_string(arc) + " does not end at the GPU, or is named twice", name);
        return;
      }
      bandwidth += m_fabric.arcs()[arc].bandwidth;
    }
    if (!bandwidth.isPositive()) {
      fault("names no link", name);
      return;
    }
    const std::int64_t jobs = jobsOf(claim, node, claimed);
    if (const InverseBandwidth time = Rational(jobs) / bandwidth; time != claim.time) {
      fault("claims that it takes at least " + toFraction(claim.time) + " shards per GB/s, its links show " +
                toFraction(time),
            name);
    }
  }

  /// The nodes at the claim's distance that have no shortest path over another link.
  std::int64_t jobsOf(const StepClaim& claim, NodeIndex node, const std::set<int>& claimed) {
    std::vector<const std::vector<int>*> others;  // distances from the neighbours on links that are not claimed
    for (const int arc : aroundOf(claim, node).arcs) {
      if (!claimed.contains(arc)) {
        others.push_back(&aroundOf(claim, farEnd(claim, arc)).distance);
      }
    }
    const Around& around = aroundOf(claim, node);
    const auto at = static_cast<std::size_t>(claim.distance);
    if (claim.distance < 1 || at >= around.atDistance.size()) {
      return 0;
    }
    return std::count_if(around.atDistance[at].begin(), around.atDistance[at].end(), [&](NodeIndex v) {
      return std::none_of(others.begin(), others.end(),
                          [&](const std::vector<int>* distance) { return (*distance)[v] == claim.distance - 1; });
    });
  }

  /// What is seen from a node. Claims about one GPU follow each other where one stands for all.
  struct Around {
    std::vector<int> distance;                       ///< by node
    std::vector<std::vector<NodeIndex>> atDistance;  ///< nodes by distance
    std::vector<int> arcs;                           ///< that end here, or when reducing start here
  };
  const Around& aroundOf(const StepClaim& claim, NodeIndex node) {
    const auto [entry, isNew] = m_kept.try_emplace({claim.isReducing, node});
    Around& around = entry->second;
    if (isNew) {
      around.distance = (claim.isReducing ? m_forward : m_backward).from(node);
      for (NodeIndex v = 0; v < m_fabric.nodeCount(); ++v) {
        const int distance = around.distance[v];
        if (distance >= 0) {
          around.atDistance.resize(std::max(around.atDistance.size(), static_cast<std::size_t>(distance) + 1));
          around.atDistance[distance].push_back(v);
        }
      }
      for (int arc = 0; arc < static_cast<int>(m_fabric.arcs().size()); ++arc) {
        if (nearEnd(claim, arc) == node) {
          around.arcs.push_back(arc);
        }
      }
    }
    return around;
  }

  [[nodiscard]] NodeIndex nearEnd(const StepClaim& claim, int arc) const {
    return claim.isReducing ? m_fabric.arcs()[arc].tail : m_fabric.arcs()[arc].head;
  }
  [[nodiscard]] NodeIndex farEnd(const StepClaim& claim, int arc) const {
    return claim.isReducing ? m_fabric.arcs()[arc].head : m_fabric.arcs()[arc].tail;
  }

  const fabric::Fabric& m_fabric;
  const std::vector<StepClaim>& m_claims;
  bool m_isTransitive;
  const Progress& m_progress;
  Distances m_forward;
  Distances m_backward;                                 ///< from(x)[v] is the distance from v to x
  std::map<std::pair<bool, NodeIndex>, Around> m_kept;  ///< by direction and node
  std::vector<Finding> m_findings;
};

}  // namespace

Result<std::vector<Finding>> checkStepClaims(const fabric::Fabric& fabric, const std::vector<StepClaim>& claims,
                                             const Progress& progress, bool isTransitive) {
  if (fabric.gpuCount() != fabric.nodeCount()) {
    return Error{ErrorCode::badUsage, "Distances in steps need a fabric of GPUs alone"};
  }
  return guarded([&] { return ClaimCheck(fabric, claims, isTransitive, progress).run(); },
                 {.overflow = "The bandwidths of the links leave the 64-bit range", .overflowFix = {}});
}

}  // namespace coppice::verify
