// SPDX-License-Identifier: Apache-2.0
#include "verify/placement_check.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using schedule::PlacementQuestion;
using schedule::PlacementRegion;

struct BadRegion {
  std::string text;
};

[[noreturn]] void refuseRegion(std::size_t region, const std::string& what) {
  throw BadRegion{"Region " + std::to_string(region) + " " + what};
}

/// By number, whether a region can have this many members where all cuts in it carry more than the bound.
using Numbers = std::vector<char>;

class RegionCheck {
public:
  RegionCheck(const fabric::Fabric& fabric, const PlacementQuestion& question,
              const std::vector<PlacementRegion>& regions, const Bandwidth& upper)
      : m_fabric(fabric),
        m_question(question),
        m_regions(regions),
        m_upper(upper),
        m_arcs(fabric.nodes().size()),
        m_inside(fabric.nodes().size(), 0),
        m_sums(regions.size(), Numbers(1, 1)) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_arcs[arc.tail].push_back(&arc);
      m_arcs[arc.head].push_back(&arc);
    }
  }

  void run() {
    if (m_regions.empty() || static_cast<int>(m_regions.back().nodes.size()) != m_fabric.nodeCount()) {
      throw BadRegion{"The last region is not the whole fabric"};
    }
    for (std::size_t region = 0; region < m_regions.size(); ++region) {
      checkShape(region);
      const Numbers own = numbersOf(region);
      if (m_regions[region].parent >= 0) {
        m_sums[m_regions[region].parent] = sum(m_sums[m_regions[region].parent], own);
      } else if (static_cast<int>(own.size()) > m_question.size && own[m_question.size] != 0 && !isHeightTight()) {
        throw BadRegion{"Some numbers of members allow more than the bound"};
      }
    }
  }

private:
  /// What disjoint regions with members take in, where an allreduce needs 2 p - 2 paths between p of them.
  struct Height {
    std::vector<int> free;
    std::vector<Bandwidth> in;
  };

  /// An allreduce: the regions of some height, all of whose children are lower, forbid more than the bound.
  [[nodiscard]] bool isHeightTight() {
    if (m_question.collective != Collective::allreduce) {
      return false;
    }
    std::vector<int> heightOf(m_regions.size(), 0);
    std::map<int, Height> heights;
    for (std::size_t region = 0; region + 1 < m_regions.size(); ++region) {
      int& above = heightOf[m_regions[region].parent];
      above = std::max(above, heightOf[region] + 1);
    }
    for (std::size_t region = 0; region + 1 < m_regions.size(); ++region) {
      const auto free = static_cast<int>(std::count_if(m_regions[region].nodes.begin(), m_regions[region].nodes.end(),
                                                       [&](NodeIndex node) { return isFree(node); }));
      for (int height = heightOf[region]; free > 0 && height < heightOf[m_regions[region].parent]; ++height) {
        heights[height].free.push_back(free);
        heights[height].in.push_back(capacity(region, false, std::min(free, m_question.size)).back());
      }
    }
    return std::any_of(heights.begin(), heights.end(), [&](auto& height) { return isTight(height.second); });
  }

  /// Free GPUs that are in none of the sets could be members of their own, so that all have to be.
  [[nodiscard]] bool isTight(Height& height) const {
    std::sort(height.free.rbegin(), height.free.rend());
    std::sort(height.in.rbegin(), height.in.rend());
    const auto free = std::count(m_question.isFree.begin(), m_question.isFree.end(), true);
    if (std::accumulate(height.free.begin(), height.free.end(), std::int64_t{0}) != free) {
      return false;
    }
    std::int64_t sets = 0;
    Bandwidth sum;
    for (int members = 0; members < m_question.size; ++sets) {
      members += height.free[sets];
      sum += height.in[sets];
    }
    return sets > 1 && m_upper * Rational(2 * sets - 2) >= sum;
  }

  /// A region holds its children, which come before it and have no node in common.
  void checkShape(std::size_t region) {
    const PlacementRegion& own = m_regions[region];
    const bool isLast = region + 1 == m_regions.size();
    if (isLast ? own.parent != -1
               : own.parent <= static_cast<int>(region) || own.parent >= static_cast<int>(m_regions.size())) {
      refuseRegion(region, "has no region around it behind it in the list");
    }
    for (std::size_t i = 0; i < own.nodes.size(); ++i) {
      if (own.nodes[i] < 0 || own.nodes[i] >= m_fabric.nodeCount() || (i > 0 && own.nodes[i] <= own.nodes[i - 1])) {
        refuseRegion(region, "does not list its nodes once each");
      }
    }
    if (isLast) {
      return;
    }
    const PlacementRegion& parent = m_regions[own.parent];
    if (!std::includes(parent.nodes.begin(), parent.nodes.end(), own.nodes.begin(), own.nodes.end())) {
      refuseRegion(region, "is not inside the region around it");
    }
    std::vector<NodeIndex>& taken = m_taken[own.parent];
    taken.insert(taken.end(), own.nodes.begin(), own.nodes.end());
  }

  [[nodiscard]] bool isFree(NodeIndex node) const {
    const fabric::Rank rank = m_fabric.nodes()[node].rank;
    return rank >= 0 && m_question.isFree[rank];
  }

  /// Free GPUs in a region that are in none of its children count one by one.
  Numbers numbersOf(std::size_t region) {
    const PlacementRegion& own = m_regions[region];
    std::vector<NodeIndex>& taken = m_taken[static_cast<int>(region)];
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) {
      refuseRegion(region, "has children with nodes in common");
    }
    Numbers numbers = std::move(m_sums[region]);
    for (const NodeIndex node : own.nodes) {
      if (isFree(node) && !std::binary_search(taken.begin(), taken.end(), node)) {
        numbers = sum(numbers, {1, 1});
      }
    }
    taken = {};
    const std::vector<Bandwidth> out = capacity(region, true, static_cast<int>(numbers.size()) - 1);
    const std::vector<Bandwidth> in = capacity(region, false, static_cast<int>(numbers.size()) - 1);
    for (std::size_t count = 0; count < numbers.size(); ++count) {
      const int inside = static_cast<int>(count);
      if (!isAbove(out[count], inside) || !isAbove(in[count], m_question.size - inside)) {
        numbers[count] = 0;
      }
    }
    return numbers;
  }

  /// A side with `members` sends this to the other one, for more than the bound.
  [[nodiscard]] bool isAbove(const Bandwidth& links, int members) const {
    const std::int64_t size = m_question.size;
    if (members == 0 || members == size) {
      return true;
    }
    Rational part(1);
    if (m_question.collective == Collective::allgather) {
      part = Rational(members, size);
    } else if (m_question.collective == Collective::reduceScatter) {
      part = Rational(size - members, size);
    } else if (m_question.collective == Collective::alltoall) {
      part = Rational(members * (size - members), size);
    }
    return m_upper * part < links;
  }

  [[nodiscard]] Numbers sum(const Numbers& a, const Numbers& b) const {
    const std::size_t most = std::min(a.size() + b.size() - 2, static_cast<std::size_t>(m_question.size));
    Numbers sums(most + 1, 0);
    for (std::size_t j = 0; j < b.size(); ++j) {
      for (std::size_t i = 0; b[j] != 0 && i < a.size() && i + j <= most; ++i) {
        sums[i + j] = static_cast<char>(sums[i + j] | a[i]);
      }
    }
    return sums;
  }

  /// By members: what links between the region and the rest carry at most for them.
  std::vector<Bandwidth> capacity(std::size_t region, bool isOut, int most) {
    for (const NodeIndex node : m_regions[region].nodes) {
      m_inside[node] = 1;
    }
    Bandwidth open;
    std::vector<Bandwidth> ofMembers;
    for (const NodeIndex node : m_regions[region].nodes) {
      const bool isGpu = m_fabric.nodes()[node].rank >= 0;
      if (isGpu && !m_question.relays && !isFree(node)) {
        continue;
      }
      Bandwidth toRelays;
      std::vector<Bandwidth> toGpus;
      for (const fabric::Arc* arc : m_arcs[node]) {
        const NodeIndex other = isOut ? arc->head : arc->tail;
        if ((isOut ? arc->tail : arc->head) != node || m_inside[other] != 0) {
          continue;
        }
        if (m_fabric.nodes()[other].rank < 0 || m_question.relays) {
          toRelays += arc->bandwidth;
        } else if (isFree(other)) {
          toGpus.push_back(arc->bandwidth);
        }
      }
      std::sort(toGpus.begin(), toGpus.end(), std::greater<>());
      if (isGpu && !m_question.relays) {
        toGpus.resize(std::min(toGpus.size(), static_cast<std::size_t>(m_question.size) - 1));
      }
      for (const Bandwidth& each : toGpus) {
        toRelays += each;
      }
      if (isGpu && !m_question.relays) {
        ofMembers.push_back(toRelays);
      } else {
        open += toRelays;
      }
    }
    std::sort(ofMembers.begin(), ofMembers.end(), std::greater<>());
    std::vector<Bandwidth> byMembers{open};
    for (int count = 0; count < most; ++count) {
      const auto place = static_cast<std::size_t>(count);
      byMembers.push_back(place < ofMembers.size() ? byMembers.back() + ofMembers[place] : byMembers.back());
    }
    for (const NodeIndex node : m_regions[region].nodes) {
      m_inside[node] = 0;
    }
    return byMembers;
  }

  const fabric::Fabric& m_fabric;
  const PlacementQuestion& m_question;
  const std::vector<PlacementRegion>& m_regions;
  const Bandwidth& m_upper;
  std::vector<std::vector<const fabric::Arc*>> m_arcs;  ///< by node
  std::vector<char> m_inside;
  std::vector<Numbers> m_sums;                              ///< by region, of its children so far
  std::unordered_map<int, std::vector<NodeIndex>> m_taken;  ///< by region, nodes of its children
};

}  // namespace

Outcome checkPlacementBound(const fabric::Fabric& fabric, const PlacementQuestion& question,
                            const std::vector<PlacementRegion>& regions, const Bandwidth& upper) {
  try {
    RegionCheck(fabric, question, regions, upper).run();
    return Done{};
  } catch (const BadRegion& bad) {
    return Error{ErrorCode::verification, bad.text};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The bound of every choice leaves the 64-bit range"};
  }
}

}  // namespace coppice::verify
