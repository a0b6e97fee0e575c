// SPDX-License-Identifier: Apache-2.0
#include "verify/concurrent_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/disjoint_sets.hpp"
#include "verify/arc_index.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using schedule::ConcurrentProof;
using schedule::ConcurrentTree;
using std::int64_t;

constexpr Int128 kNoPath = Int128{1} << 110;

struct BadProof {
  std::string text;
  ElementRef element;
};

[[noreturn]] void refuse(std::string text, ElementRef element) {
  throw BadProof{std::move(text), std::move(element)};
}

template <typename Work>
Result<Bandwidth> guardedProof(Work&& work) {
  try {
    return work();
  } catch (const BadProof& bad) {
    return Error{ErrorCode::verification, bad.text, {}, {.element = bad.element}};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The proof of the rate of the groups leaves the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

Rational quotient(Int128 numerator, Int128 denominator) {
  Int128 a = numerator;
  for (Int128 b = denominator; b != 0;) {
    a = std::exchange(b, a % b);
  }
  return {narrow64(numerator / a), narrow64(denominator / a)};
}

ElementRef linkName(const fabric::Fabric& fabric, const fabric::Arc& arc) {
  return ElementPart{RefKind::link, -1, fabric.nodes()[arc.tail].id, fabric.nodes()[arc.head].id};
}

/// Which links, groups, and members of groups the symmetries take to each other. Checks that they are symmetries.
class Images {
public:
  Images(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const ConcurrentProof& proof)
      : m_fabric(fabric),
        m_demand(demand),
        m_proof(proof),
        m_index(fabric),
        m_links(fabric.arcs().size()),
        m_inAt(fabric.nodes().size(),
               [&](const auto& add) {
                 for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
                   add(fabric.arcs()[arc].head, static_cast<std::int32_t>(arc));
                 }
               }),
        m_outAt(numbersByRow<std::int32_t>(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::tail)),
        m_firstMember(1, 0),
        m_groups(demand.groups.size()),
        m_members(0) {
    for (const ConcurrentGroup& group : demand.groups) {
      for (std::size_t place = 0; place < group.ranks.size(); ++place) {
        m_placeOf.emplace(
            std::pair(static_cast<int>(&group - demand.groups.data()), nodeOf(group, static_cast<int>(place))),
            m_firstMember.back() + static_cast<int>(place));
      }
      m_firstMember.push_back(m_firstMember.back() + static_cast<int>(group.ranks.size()));
    }
    m_members = DisjointSets(static_cast<std::size_t>(m_firstMember.back()));
    m_groupsAt = Rows<int>(fabric.gpus().size(), [&](const auto& add) {
      for (std::size_t i = 0; i < demand.groups.size(); ++i) {
        for (const fabric::Rank rank : demand.groups[i].ranks) {
          add(rank, static_cast<int>(i));
        }
      }
    });
    for (std::size_t i = 0; i < demand.groups.size(); ++i) {
      const auto [found, isNew] = m_byKey.emplace(keyOf(demand.groups[i], {}), static_cast<int>(i));
      if (!isNew) {
        joinGroups(static_cast<int>(i), found->second, {});
      }
    }
    for (std::size_t s = 0; s < proof.symmetries.size(); ++s) {
      addSymmetry(s);
    }
  }

  [[nodiscard]] int group(int index) { return m_groups.find(index); }
  [[nodiscard]] int member(int group, int place) { return m_members.find(m_firstMember[group] + place); }
  [[nodiscard]] int link(int arc) { return m_links.find(arc); }

private:
  using Moved = std::unordered_map<NodeIndex, NodeIndex>;
  using Key = std::tuple<int, Rational, NodeIndex, std::vector<NodeIndex>>;

  static NodeIndex imageOf(NodeIndex node, const Moved& moved) {
    const auto found = moved.find(node);
    return found == moved.end() ? node : found->second;
  }

  [[nodiscard]] NodeIndex nodeOf(const ConcurrentGroup& group, int place) const {
    return m_fabric.gpus()[group.ranks[place]];
  }

  /// What makes groups the same: collective, weight, root and members, as their images.
  [[nodiscard]] Key keyOf(const ConcurrentGroup& group, const Moved& moved) const {
    std::vector<NodeIndex> members;
    for (std::size_t place = 0; place < group.ranks.size(); ++place) {
      members.push_back(imageOf(nodeOf(group, static_cast<int>(place)), moved));
    }
    std::sort(members.begin(), members.end());
    const NodeIndex root = isRooted(group.collective) ? imageOf(nodeOf(group, group.root), moved) : -1;
    return {static_cast<int>(group.collective), group.weight, root, std::move(members)};
  }

  void joinGroups(int from, int to, const Moved& moved) {
    m_groups.join(from, to);
    const ConcurrentGroup& image = m_demand.groups[to];
    std::unordered_map<NodeIndex, int> placeOf;
    for (std::size_t place = 0; place < image.ranks.size(); ++place) {
      placeOf.emplace(nodeOf(image, static_cast<int>(place)), static_cast<int>(place));
    }
    const ConcurrentGroup& group = m_demand.groups[from];
    for (std::size_t place = 0; place < group.ranks.size(); ++place) {
      const NodeIndex at = imageOf(nodeOf(group, static_cast<int>(place)), moved);
      m_members.join(m_firstMember[from] + static_cast<int>(place), m_firstMember[to] + placeOf.at(at));
    }
  }

  [[nodiscard]] bool relays(NodeIndex node) const {
    const fabric::Rank rank = m_fabric.nodes()[node].rank;
    return rank >= 0 && !m_demand.relays.empty() && m_demand.relays[rank];
  }

  /// Whether every member that moves goes to a member, and the root to itself: then the group is its own image.
  [[nodiscard]] bool keepsGroup(int index, const Moved& moved) const {
    const ConcurrentGroup& group = m_demand.groups[index];
    if (isRooted(group.collective) && moved.contains(nodeOf(group, group.root))) {
      return false;
    }
    const auto isMember = [&](NodeIndex node) { return m_placeOf.contains({index, node}); };
    // Whichever are fewer: what moves, or the members.
    if (moved.size() < group.ranks.size()) {
      return std::all_of(moved.begin(), moved.end(),
                         [&](const auto& each) { return !isMember(each.first) || isMember(each.second); });
    }
    return std::all_of(group.ranks.begin(), group.ranks.end(),
                       [&](fabric::Rank rank) { return isMember(imageOf(m_fabric.gpus()[rank], moved)); });
  }

  void addSymmetry(std::size_t index) {
    const ElementRef name{RefKind::symmetry, index};
    Moved moved;
    std::vector<NodeIndex> sources;
    std::vector<NodeIndex> targets;
    for (const auto& [node, image] : m_proof.symmetries[index]) {
      const auto isNode = [&](NodeIndex each) { return each >= 0 && each < m_fabric.nodeCount(); };
      if (!isNode(node) || !isNode(image) || !moved.emplace(node, image).second) {
        refuse("It does not permute the nodes", name);
      }
      sources.push_back(node);
      targets.push_back(image);
      if (m_fabric.nodes()[node].kind != m_fabric.nodes()[image].kind || relays(node) != relays(image)) {
        refuse("It maps a node to one of another kind", name);
      }
    }
    std::unordered_map<int, bool> staysWithin;
    std::sort(sources.begin(), sources.end());
    std::sort(targets.begin(), targets.end());
    if (sources != targets) {
      refuse("It does not permute the nodes", name);
    }
    for (const NodeIndex node : sources) {
      for (const auto* rows : {&m_inAt, &m_outAt}) {
        for (const std::int32_t arc : (*rows)[node]) {
          const fabric::Arc& at = m_fabric.arcs()[arc];
          const auto image = m_index.find(imageOf(at.tail, moved), imageOf(at.head, moved));
          if (image == ArcIndex::kNone || m_fabric.arcs()[image].bandwidth != at.bandwidth ||
              m_proof.prices[image] != m_proof.prices[arc]) {
            refuse("It maps a link to none, or to one of another bandwidth or price", name);
          }
          m_links.join(arc, image);
        }
      }
      if (const fabric::Rank rank = m_fabric.nodes()[node].rank; rank >= 0) {
        for (const int group : m_groupsAt[rank]) {
          const auto [at, isFirst] = staysWithin.try_emplace(group, true);
          if (isFirst) {
            at->second = keepsGroup(group, moved);
          }
          if (at->second) {
            m_members.join(m_placeOf.at({group, node}), m_placeOf.at({group, imageOf(node, moved)}));
          } else if (isFirst) {
            const auto image = m_byKey.find(keyOf(m_demand.groups[group], moved));
            if (image == m_byKey.end()) {
              refuse("It maps a group to none", name);
            }
            joinGroups(group, image->second, moved);
          }
        }
      }
    }
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  const ConcurrentProof& m_proof;
  ArcIndex m_index;
  DisjointSets m_links;
  Rows<std::int32_t> m_inAt;
  Rows<std::int32_t> m_outAt;
  std::vector<int> m_firstMember;
  DisjointSets m_groups;
  DisjointSets m_members;
  Rows<int> m_groupsAt;
  std::map<std::pair<int, NodeIndex>, int> m_placeOf;  ///< by group and node
  std::map<Key, int> m_byKey;
};

/// What the group does with the data of one of its members.
struct Traffic {
  bool out = false;      ///< from the root to the others
  bool in = false;       ///< from the others to the root
  bool isWhole = false;  ///< by trees of whole copies or sums; otherwise each member has data of its own
  bool isShard = false;  ///< a root has 1/n of the data, or a path carries as much
};

Traffic trafficOf(Collective collective) {
  switch (collective) {
    case Collective::allgather:
      return {.out = true, .isWhole = true, .isShard = true};
    case Collective::reduceScatter:
      return {.in = true, .isWhole = true, .isShard = true};
    case Collective::allreduce:
      return {.out = true, .in = true, .isWhole = true};
    case Collective::broadcast:
      return {.out = true, .isWhole = true};
    case Collective::reduce:
      return {.in = true, .isWhole = true};
    case Collective::alltoall:
    case Collective::scatter:
      return {.out = true, .isShard = true};
    case Collective::gather:
      return {.in = true, .isShard = true};
    case Collective::custom:
      break;
  }
  refuse("A group has no named collective", {RefKind::field, "groups"});
}

bool hasEveryRoot(Collective collective) {
  return !isRooted(collective) && collective != Collective::allreduce;
}

std::vector<char> nodesOf(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const ConcurrentGroup& group) {
  std::vector<char> mayUse(fabric.nodes().size(), 0);
  for (std::size_t node = 0; node < mayUse.size(); ++node) {
    const fabric::Rank rank = fabric.nodes()[node].rank;
    mayUse[node] = rank < 0 || (!demand.relays.empty() && demand.relays[rank]) ? 1 : 0;
  }
  for (const fabric::Rank rank : group.ranks) {
    mayUse[fabric.gpus()[rank]] = 1;
  }
  return mayUse;
}

/// The cost alone of the cheapest out-tree: every node takes its cheapest arc, and cycles become nodes, until there are
/// none. @param costs by head, then tail: large groups take long where these do not stand beside each other
Int128 cheapestTree(std::vector<std::vector<Int128>> costs, std::size_t root) {
  Int128 sum = 0;
  for (;;) {
    const std::size_t n = costs.size();
    std::vector<std::size_t> from(n, root);
    for (std::size_t head = 0; head < n; ++head) {
      if (head == root) {
        continue;
      }
      Int128 least = kNoPath;
      for (std::size_t tail = 0; tail < n; ++tail) {
        if (tail != head && costs[head][tail] < least) {
          least = costs[head][tail];
          from[head] = tail;
        }
      }
      sum = checkedAdd(sum, least);
      for (std::size_t tail = 0; tail < n; ++tail) {
        costs[head][tail] -= least;
      }
    }
    // Walk back from every node; who meets itself is on a cycle.
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> number(n, kNone);
    std::vector<std::size_t> seen(n, kNone);
    std::size_t count = 0;
    for (std::size_t start = 0; start < n; ++start) {
      std::size_t at = start;
      while (at != root && seen[at] == kNone) {
        seen[at] = start;
        at = from[at];
      }
      if (at != root && seen[at] == start && number[at] == kNone) {
        for (std::size_t next = at; number[next] == kNone; next = from[next]) {
          number[next] = count;
        }
        ++count;
      }
    }
    if (count == 0) {
      return sum;
    }
    for (std::size_t& each : number) {
      each = each == kNone ? count++ : each;
    }
    std::vector<std::vector<Int128>> contracted(count, std::vector<Int128>(count, kNoPath));
    for (std::size_t head = 0; head < n; ++head) {
      for (std::size_t tail = 0; tail < n; ++tail) {
        if (number[tail] != number[head]) {
          Int128& cost = contracted[number[head]][number[tail]];
          cost = std::min(cost, costs[head][tail]);
        }
      }
    }
    root = number[root];
    costs = std::move(contracted);
  }
}

/// What the group costs at the prices for L = 1, without its weight.
class GroupCost {
public:
  GroupCost(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const ConcurrentProof& proof, int group)
      : m_fabric(fabric), m_demand(demand), m_proof(proof), m_group(demand.groups[group]), m_index(group) {}

  Rational run(Images& images, const Progress& progress) {
    findDistances(progress);
    const std::size_t size = m_group.ranks.size();
    const Traffic traffic = trafficOf(m_group.collective);
    if (isRooted(m_group.collective)) {
      return share(costOfRoot(static_cast<std::size_t>(m_group.root), traffic), traffic);
    }
    std::map<int, Int128> costOfClass;
    Int128 sum = 0;
    Int128 least = kNoPath;
    for (std::size_t root = 0; root < size; ++root) {
      throwIfCancelled(progress);
      const auto [found, isNew] = costOfClass.emplace(images.member(m_index, static_cast<int>(root)), 0);
      if (isNew) {
        found->second = costOfRoot(root, traffic);
      }
      sum = checkedAdd(sum, found->second);
      least = std::min(least, found->second);
    }
    return m_group.collective == Collective::allreduce ? share(least, traffic) : share(sum, traffic);
  }

private:
  [[nodiscard]] Rational share(Int128 cost, const Traffic& traffic) const {
    return quotient(cost, traffic.isShard ? static_cast<Int128>(m_group.ranks.size()) : Int128{1});
  }

  void findDistances(const Progress& progress) {
    const std::vector<char> mayUse = nodesOf(m_fabric, m_demand, m_group);
    std::vector<std::size_t> arcs;
    for (std::size_t arc = 0; arc < m_fabric.arcs().size(); ++arc) {
      if (mayUse[m_fabric.arcs()[arc].tail] != 0 && mayUse[m_fabric.arcs()[arc].head] != 0) {
        arcs.push_back(arc);
      }
    }
    for (const fabric::Rank from : m_group.ranks) {
      throwIfCancelled(progress);
      std::vector<Int128> distance(m_fabric.nodes().size(), kNoPath);
      distance[m_fabric.gpus()[from]] = 0;
      for (bool isChanged = true; isChanged;) {
        isChanged = false;
        for (const std::size_t arc : arcs) {
          const fabric::Arc& at = m_fabric.arcs()[arc];
          if (distance[at.tail] + m_proof.prices[arc] < distance[at.head]) {
            distance[at.head] = distance[at.tail] + m_proof.prices[arc];
            isChanged = true;
          }
        }
      }
      m_distance.emplace_back();
      for (const fabric::Rank to : m_group.ranks) {
        m_distance.back().push_back(distance[m_fabric.gpus()[to]]);
      }
    }
  }

  [[nodiscard]] Int128 costOfRoot(std::size_t root, const Traffic& traffic) const {
    Int128 cost = 0;
    const std::size_t size = m_distance.size();
    if (!traffic.isWhole) {
      for (std::size_t other = 0; other < size; ++other) {
        cost = checkedAdd(cost, traffic.in ? m_distance[other][root] : m_distance[root][other]);
      }
      return cost;
    }
    if (traffic.in) {
      // Turned round: what enters a member in the tree leaves it on the links.
      cost = checkedAdd(cost, cheapestTree(m_distance, root));
    }
    if (traffic.out) {
      std::vector<std::vector<Int128>> turned(size, std::vector<Int128>(size));
      for (std::size_t from = 0; from < size; ++from) {
        for (std::size_t to = 0; to < size; ++to) {
          turned[to][from] = m_distance[from][to];
        }
      }
      cost = checkedAdd(cost, cheapestTree(std::move(turned), root));
    }
    return cost;
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  const ConcurrentProof& m_proof;
  const ConcurrentGroup& m_group;
  int m_index;
  std::vector<std::vector<Int128>> m_distance;
};

/// What mixtures of trees put on the links.
class TreeLoads {
public:
  TreeLoads(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const ConcurrentProof& proof)
      : m_fabric(fabric), m_demand(demand), m_proof(proof), m_images(fabric, demand, proof) {}

  Bandwidth run(const Progress& progress) {
    countRoots();
    for (std::size_t i = 0; i < m_proof.trees.size(); ++i) {
      throwIfCancelled(progress);
      addTree(i);
    }
    for (const auto& [root, bytes] : m_bytes) {
      if (!m_weight.contains(root)) {
        refuse("A root of a group has no trees", {RefKind::field, "groups"});
      }
    }
    std::map<int, Rational> bandwidth;
    for (std::size_t arc = 0; arc < m_fabric.arcs().size(); ++arc) {
      if (const int link = m_images.link(static_cast<int>(arc)); m_uses.contains(link)) {
        bandwidth[link] += m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond();
      }
    }
    std::optional<Rational> least;
    for (const auto& [link, uses] : m_uses) {
      Rational load;
      for (const auto& [root, paths] : uses) {
        load += m_bytes.at(root) * quotient(paths, m_weight.at(root));
      }
      const Rational rate = bandwidth.at(link) / load;
      least = least ? std::min(*least, rate) : rate;
    }
    return Bandwidth(least.value_or(Rational()));
  }

private:
  /// Of an allreduce all roots count as one: the trees of any may carry the data.
  [[nodiscard]] std::pair<int, int> rootOf(int group, int place) {
    const bool isAny = m_demand.groups[group].collective == Collective::allreduce;
    return {m_images.group(group), isAny ? -1 : m_images.member(group, place)};
  }

  void countRoots() {
    for (std::size_t i = 0; i < m_demand.groups.size(); ++i) {
      const ConcurrentGroup& group = m_demand.groups[i];
      const Traffic traffic = trafficOf(group.collective);
      const auto size = static_cast<int64_t>(group.ranks.size());
      const Rational bytes = traffic.isShard ? group.weight / Rational(size) : group.weight;
      for (int place = 0; place < static_cast<int>(size); ++place) {
        if (hasEveryRoot(group.collective) || place == (isRooted(group.collective) ? group.root : 0)) {
          m_bytes[rootOf(static_cast<int>(i), place)] += bytes;
        }
      }
    }
  }

  void addTree(std::size_t index) {
    const ConcurrentTree& tree = m_proof.trees[index];
    const ElementRef name{RefKind::tree, index};
    if (tree.group < 0 || tree.group >= static_cast<int>(m_demand.groups.size()) || tree.weight < 1) {
      refuse("It belongs to no group, or its weight is below 1", name);
    }
    const ConcurrentGroup& group = m_demand.groups[tree.group];
    const Traffic traffic = trafficOf(group.collective);
    if (tree.root < 0 || tree.root >= static_cast<int>(group.ranks.size()) ||
        (isRooted(group.collective) && tree.root != group.root)) {
      refuse("Its root is not one of its group", name);
    }
    const auto root = rootOf(tree.group, tree.root);
    m_weight[root] = checkedAdd<Int128>(m_weight[root], tree.weight);
    if ((traffic.out ? group.ranks.size() - 1 : 0) != tree.outPaths.size() ||
        (traffic.in ? group.ranks.size() - 1 : 0) != tree.inPaths.size()) {
      refuse("It does not have one path for each other member", name);
    }
    checkPaths(tree, tree.outPaths, false, traffic, name);
    checkPaths(tree, tree.inPaths, true, traffic, name);
    for (const auto* paths : {&tree.outPaths, &tree.inPaths}) {
      for (const auto& path : *paths) {
        for (const std::int32_t arc : path) {
          Int128& uses = m_uses[m_images.link(arc)][root];
          uses = checkedAdd<Int128>(uses, tree.weight);
        }
      }
    }
  }

  /// Members other than the root each get data once, from a member that has them; towards the root turned round.
  void checkPaths(const ConcurrentTree& tree, const std::vector<std::vector<std::int32_t>>& paths, bool isIn,
                  const Traffic& traffic, const ElementRef& name) const {
    const ConcurrentGroup& group = m_demand.groups[tree.group];
    const std::vector<char> mayUse = nodesOf(m_fabric, m_demand, group);
    std::unordered_map<NodeIndex, NodeIndex> sourceOf;
    const NodeIndex root = m_fabric.gpus()[group.ranks[tree.root]];
    for (const auto& path : paths) {
      if (path.empty()) {
        refuse("A path of it has no links", name);
      }
      NodeIndex at = -1;
      for (const std::int32_t arc : path) {
        if (arc < 0 || arc >= static_cast<std::int32_t>(m_fabric.arcs().size())) {
          refuse("A path of it takes a link that is none", name);
        }
        const fabric::Arc& link = m_fabric.arcs()[arc];
        if ((at >= 0 && link.tail != at) || mayUse[link.tail] == 0 || mayUse[link.head] == 0) {
          refuse("A path of it is broken, or takes a node that its group may not use", name);
        }
        at = link.head;
      }
      const NodeIndex first = m_fabric.arcs()[path.front()].tail;
      if (!sourceOf.emplace(isIn ? first : at, isIn ? at : first).second) {
        refuse("Two paths of it serve one member", name);
      }
    }
    if (paths.empty()) {
      return;
    }
    for (const fabric::Rank rank : group.ranks) {
      NodeIndex node = m_fabric.gpus()[rank];
      for (std::size_t hops = 0; node != root; ++hops) {
        const auto found = sourceOf.find(node);
        if (found == sourceOf.end() || hops > group.ranks.size() || (!traffic.isWhole && found->second != root)) {
          refuse("It does not join every member with its root", name);
        }
        node = found->second;
      }
    }
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  const ConcurrentProof& m_proof;
  Images m_images;
  std::map<std::pair<int, int>, Rational> m_bytes;              ///< by class of roots: for L = 1, of all images
  std::map<std::pair<int, int>, Int128> m_weight;               ///< of all its trees
  std::map<int, std::map<std::pair<int, int>, Int128>> m_uses;  ///< by class of links, by class of roots
};

void checkPrices(const fabric::Fabric& fabric, const ConcurrentProof& proof) {
  if (proof.prices.size() != fabric.arcs().size() ||
      std::any_of(proof.prices.begin(), proof.prices.end(), [](int64_t price) { return price < 0; })) {
    refuse("There is not one price for each link, or one is negative", {RefKind::field, "prices"});
  }
}

}  // namespace

Result<Bandwidth> provenConcurrentBound(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                                        const ConcurrentProof& proof, const Progress& progress) {
  return guardedProof([&] {
    checkPrices(fabric, proof);
    Images images(fabric, demand, proof);
    std::map<int, Rational> costOfClass;
    Rational cost;
    for (std::size_t i = 0; i < demand.groups.size(); ++i) {
      const int group = images.group(static_cast<int>(i));
      const auto [found, isNew] = costOfClass.emplace(group, 0);
      if (isNew) {
        found->second = GroupCost(fabric, demand, proof, group).run(images, progress);
      }
      cost += demand.groups[i].weight * found->second;
    }
    if (!cost.isPositive()) {
      refuse("The groups demand nothing at these prices, which proves nothing", {RefKind::field, "prices"});
    }
    Rational capacity;
    std::map<Bandwidth, Int128> prices;  // one product for each bandwidth
    for (std::size_t arc = 0; arc < proof.prices.size(); ++arc) {
      Int128& sum = prices[fabric.arcs()[arc].bandwidth];
      sum = checkedAdd<Int128>(sum, proof.prices[arc]);
    }
    for (const auto& [bandwidth, sum] : prices) {
      capacity += bandwidth.gigabytesPerSecond() * Rational(narrow64(sum));
    }
    return Bandwidth(capacity / cost);
  });
}

Result<Bandwidth> provenConcurrentRate(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                                       const ConcurrentProof& proof, const Progress& progress) {
  return guardedProof([&] {
    checkPrices(fabric, proof);
    return TreeLoads(fabric, demand, proof).run(progress);
  });
}

Outcome checkShares(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const schedule::LinkShares& shares) {
  const auto checked = guardedProof([&] {
    if (shares.size() != demand.groups.size()) {
      refuse("There is not one list of shares for each group", {RefKind::field, "groups"});
    }
    std::vector<Rational> used(fabric.arcs().size());
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::vector<char> mayUse = nodesOf(fabric, demand, demand.groups[i]);
      for (const schedule::LinkShare& share : shares[i]) {
        if (share.arc < 0 || share.arc >= static_cast<std::int32_t>(used.size()) || !share.bandwidth.isPositive()) {
          refuse("A share is of no link, or not above 0", {RefKind::field, "groups"});
        }
        const fabric::Arc& arc = fabric.arcs()[share.arc];
        if (mayUse[arc.tail] == 0 || mayUse[arc.head] == 0) {
          refuse("A group has a share of a link that it may not use", linkName(fabric, arc));
        }
        used[share.arc] += share.bandwidth.gigabytesPerSecond();
      }
    }
    for (std::size_t arc = 0; arc < used.size(); ++arc) {
      if (used[arc] > fabric.arcs()[arc].bandwidth.gigabytesPerSecond()) {
        refuse("The shares of all groups are more than the link carries", linkName(fabric, fabric.arcs()[arc]));
      }
    }
    return Bandwidth();
  });
  return checked ? Outcome(Done{}) : Outcome(checked.error());
}

}  // namespace coppice::verify
