// SPDX-License-Identifier: Apache-2.0
#include "groups/shares.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"
#include "base/failure.hpp"
#include "groups/image.hpp"

namespace coppice::groups {
namespace {

using fabric::NodeIndex;
using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using schedule::ConcurrentTree;
using std::int64_t;

/// Pairs of a group and a link that are kept.
constexpr std::size_t kMaxPairs = std::size_t{1} << 26;

class Shares {
public:
  Shares(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const Optimum& optimum, const Progress& progress)
      : m_fabric(fabric), m_demand(demand), m_optimum(optimum), m_progress(progress), m_members(0), m_pairs(0) {
    int members = 0;
    for (const ConcurrentGroup& group : demand.groups) {
      m_firstMember.push_back(members);
      members += static_cast<int>(group.ranks.size());
    }
    m_members = DisjointSets(static_cast<std::size_t>(members));
  }

  schedule::LinkShares run() {
    chooseArcs();
    joinImages();
    addTrees();
    schedule::LinkShares shares = divided();
    addWaysBack(shares);
    return shares;
  }

private:
  [[nodiscard]] NodeIndex nodeOf(const ConcurrentGroup& group, int place) const {
    return m_fabric.gpus()[group.ranks[place]];
  }
  [[nodiscard]] int pairOf(std::size_t group, int arc) const {
    return static_cast<int>(group * m_arcs.size()) + m_slotOf[arc];
  }
  [[nodiscard]] int memberOf(std::size_t group, int place) const { return m_firstMember[group] + place; }

  /// Only links that some tree, or an image of it, uses.
  void chooseArcs() {
    DisjointSets links(m_fabric.arcs().size());
    for (const auto& moved : m_optimum.proof.symmetries) {
      const Image image(m_fabric, moved);
      for (int arc = 0; arc < static_cast<int>(m_fabric.arcs().size()); ++arc) {
        links.join(arc, image.arc(arc));
      }
    }
    std::vector<char> isUsed(m_fabric.arcs().size(), 0);
    for (const ConcurrentTree& tree : m_optimum.proof.trees) {
      forEachUse(tree, [&](int arc) { isUsed[links.find(arc)] = 1; });
    }
    m_slotOf.assign(m_fabric.arcs().size(), -1);
    for (int arc = 0; arc < static_cast<int>(m_fabric.arcs().size()); ++arc) {
      if (isUsed[links.find(arc)] != 0) {
        m_slotOf[arc] = static_cast<int>(m_arcs.size());
        m_arcs.push_back(arc);
      }
    }
    if (m_arcs.size() * m_demand.groups.size() > kMaxPairs) {
      throw Failure{{ErrorCode::limit, "there are too many groups and links to divide the links between the groups",
                     "use fewer groups"}};
    }
    m_pairs = DisjointSets(m_arcs.size() * m_demand.groups.size());
  }

  template <typename Use>
  static void forEachUse(const ConcurrentTree& tree, Use&& use) {
    for (const auto* paths : {&tree.outPaths, &tree.inPaths}) {
      for (const auto& path : *paths) {
        for (const std::int32_t arc : path) {
          use(arc);
        }
      }
    }
  }

  /// Groups, with their members and links, that the symmetries take to each other.
  void joinImages() {
    std::map<GroupKey, std::size_t> placeOf;
    const Image same(m_fabric, {});
    for (std::size_t i = 0; i < m_demand.groups.size(); ++i) {
      const auto [found, isNew] = placeOf.emplace(keyOf(m_fabric, m_demand.groups[i], same), i);
      if (!isNew) {
        join(i, found->second, same, m_arcs);
      }
    }
    for (const auto& moved : m_optimum.proof.symmetries) {
      throwIfCancelled(m_progress);
      const Image image(m_fabric, moved);
      std::vector<int> arcs;
      for (const int arc : m_arcs) {
        arcs.push_back(image.arc(arc));
      }
      for (std::size_t i = 0; i < m_demand.groups.size(); ++i) {
        join(i, placeOf.at(keyOf(m_fabric, m_demand.groups[i], image)), image, arcs);
      }
    }
  }

  /// @param arcs where the image takes each of m_arcs
  void join(std::size_t from, std::size_t to, const Image& image, const std::vector<int>& arcs) {
    for (std::size_t slot = 0; slot < m_arcs.size(); ++slot) {
      m_pairs.join(pairOf(from, m_arcs[slot]), pairOf(to, arcs[slot]));
    }
    const std::vector<fabric::Rank>& ranks = m_demand.groups[to].ranks;
    std::unordered_map<NodeIndex, int> placeAt;
    for (int place = 0; place < static_cast<int>(ranks.size()); ++place) {
      placeAt.emplace(m_fabric.gpus()[ranks[place]], place);
    }
    const ConcurrentGroup& group = m_demand.groups[from];
    for (int place = 0; place < static_cast<int>(group.ranks.size()); ++place) {
      m_members.join(memberOf(from, place), memberOf(to, placeAt.at(image.node(nodeOf(group, place)))));
    }
  }

  /// Of an allreduce all roots count as one: the trees of any may carry the data.
  [[nodiscard]] int rootOf(std::size_t group, int place) {
    const bool isAny = m_demand.groups[group].collective == Collective::allreduce;
    int root = m_members.find(memberOf(group, isAny ? 0 : place));
    for (int other = 1; isAny && other < static_cast<int>(m_demand.groups[group].ranks.size()); ++other) {
      root = std::min(root, m_members.find(memberOf(group, other)));
    }
    return root;
  }

  /// The data of one root, or path, at L = 1.
  [[nodiscard]] static Rational bytesOf(const ConcurrentGroup& group) {
    const bool isWhole = group.collective == Collective::allreduce || group.collective == Collective::broadcast ||
                         group.collective == Collective::reduce;
    return isWhole ? group.weight : group.weight / Rational(static_cast<int64_t>(group.ranks.size()));
  }

  void addTrees() {
    std::map<int, Rational> bytes;  // by class of roots, of all its roots together
    for (std::size_t i = 0; i < m_demand.groups.size(); ++i) {
      const ConcurrentGroup& group = m_demand.groups[i];
      const bool isOne = isRooted(group.collective) || group.collective == Collective::allreduce;
      const int first = isRooted(group.collective) ? group.root : 0;
      const int last = isOne ? first : static_cast<int>(group.ranks.size()) - 1;
      for (int place = first; place <= last; ++place) {
        bytes[rootOf(i, place)] += bytesOf(group);
      }
    }
    std::map<int, int64_t> weights;
    for (const ConcurrentTree& tree : m_optimum.proof.trees) {
      int64_t& weight = weights[rootOf(static_cast<std::size_t>(tree.group), tree.root)];
      weight = checkedAdd(weight, tree.weight);
    }
    std::map<std::pair<int, int>, int64_t> uses;  // by class of pairs and class of roots
    for (const ConcurrentTree& tree : m_optimum.proof.trees) {
      const int root = rootOf(static_cast<std::size_t>(tree.group), tree.root);
      forEachUse(tree, [&](int arc) {
        int64_t& use = uses[{m_pairs.find(pairOf(static_cast<std::size_t>(tree.group), arc)), root}];
        use = checkedAdd(use, tree.weight);
      });
    }
    for (const auto& [at, use] : uses) {
      m_load[at.first] += bytes.at(at.second) * Rational(use, weights.at(at.second));
    }
  }

  /// The load of each class of pairs, divided evenly among them.
  [[nodiscard]] schedule::LinkShares divided() {
    std::unordered_map<int, int64_t> sizes;
    for (std::size_t group = 0; group < m_demand.groups.size(); ++group) {
      for (const int arc : m_arcs) {
        ++sizes[m_pairs.find(pairOf(group, arc))];
      }
    }
    schedule::LinkShares shares(m_demand.groups.size());
    for (std::size_t group = 0; group < m_demand.groups.size(); ++group) {
      for (const int arc : m_arcs) {
        const int pair = m_pairs.find(pairOf(group, arc));
        if (const auto load = m_load.find(pair); load != m_load.end()) {
          shares[group].push_back({arc, m_optimum.lower * (load->second / Rational(sizes.at(pair)))});
        }
      }
    }
    return shares;
  }

  /// Of a fabric, all GPUs reach each other: groups whose data take one direction alone get equal parts of what is left
  /// of the other one.
  void addWaysBack(schedule::LinkShares& shares) const {
    std::map<int, Rational> left;
    std::map<int, std::vector<std::size_t>> groupsAt;  // by link
    for (std::size_t group = 0; group < shares.size(); ++group) {
      for (const schedule::LinkShare& share : shares[group]) {
        left.try_emplace(share.arc, m_fabric.arcs()[share.arc].bandwidth.gigabytesPerSecond()).first->second -=
            share.bandwidth.gigabytesPerSecond();
        const fabric::Arc& arc = m_fabric.arcs()[share.arc];
        const auto back = m_fabric.findArc(arc.head, arc.tail);
        if (isRooted(m_demand.groups[group].collective) && back && !hasArc(shares[group], *back)) {
          groupsAt[*back].push_back(group);
        }
      }
    }
    for (const auto& [arc, groups] : groupsAt) {
      const auto found = left.find(arc);
      const Rational rest = found == left.end() ? m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond() : found->second;
      for (const std::size_t group : groups) {
        if (rest.isPositive()) {
          shares[group].push_back({arc, Bandwidth(rest / Rational(static_cast<int64_t>(groups.size())))});
        }
      }
    }
    for (std::vector<schedule::LinkShare>& own : shares) {
      std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.arc < b.arc; });
    }
  }

  [[nodiscard]] static bool hasArc(const std::vector<schedule::LinkShare>& shares, int arc) {
    return std::any_of(shares.begin(), shares.end(),
                       [&](const schedule::LinkShare& share) { return share.arc == arc; });
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  const Optimum& m_optimum;
  const Progress& m_progress;
  std::vector<int> m_arcs;         ///< that are used
  std::vector<int> m_slotOf;       ///< by arc: its place there, or -1
  std::vector<int> m_firstMember;  ///< by group
  DisjointSets m_members;
  DisjointSets m_pairs;
  std::map<int, Rational> m_load;  ///< by class of pairs: of all of them together, at L = 1
};

}  // namespace

Result<schedule::LinkShares> linkShares(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                                        const Optimum& optimum, const Progress& progress) {
  return guarded([&] { return Shares(fabric, demand, optimum, progress).run(); });
}

}  // namespace coppice::groups
