// SPDX-License-Identifier: Apache-2.0
#include "synth/symmetry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace coppice::synth {
namespace {

using Ranks = std::vector<int>;

/// Nodes that one search for a symmetry may visit before it gives up, and all searches together.
constexpr std::int64_t kSearchBudget = 20'000;
constexpr std::int64_t kTotalBudget = 2'000'000;
constexpr int kMaxFreeGroups = 6;
/// Looking at this many arcs costs as much of the budget as one rank.
constexpr std::int64_t kArcsOfRank = 16;

/// The limits of an arc as they look from outside: size and rate.
using ArcLook = std::vector<std::pair<std::size_t, Rational>>;

/// What two ranks are to each other, as small numbers that symmetries keep.
class Labels {
public:
  explicit Labels(const Problem& problem) : m_nodes(problem.topology.nodes) {
    const Topology& topology = problem.topology;
    std::map<std::vector<ArcLook>, int> numbers;
    std::vector<std::vector<ArcLook>> looks(static_cast<std::size_t>(m_nodes) * m_nodes);
    for (std::size_t arc = 0; arc < topology.arcs.size(); ++arc) {
      ArcLook look;
      for (const int limit : topology.limitsOf[arc]) {
        look.emplace_back(topology.limits[limit].arcs.size(), topology.limits[limit].perRound);
      }
      std::sort(look.begin(), look.end());
      looks[topology.arcs[arc].from * m_nodes + topology.arcs[arc].to].push_back(std::move(look));
    }
    for (auto& look : looks) {
      std::sort(look.begin(), look.end());
      m_labels.push_back(numbers.try_emplace(look, static_cast<int>(numbers.size())).first->second);
    }
    std::map<std::vector<std::size_t>, int> roles;
    for (int node = 0; node < m_nodes; ++node) {
      std::vector<std::size_t> role;
      for (const ChunkClass& chunks : problem.classes) {
        const auto pre = static_cast<std::size_t>(std::count(chunks.pre.begin(), chunks.pre.end(), true));
        const auto post = static_cast<std::size_t>(std::count(chunks.post.begin(), chunks.post.end(), true));
        const std::size_t here = (chunks.pre[node] ? 2U : 0U) + (chunks.post[node] ? 1U : 0U);
        role.push_back((pre * (m_nodes + 1) + post) * 4 + here);
      }
      std::sort(role.begin(), role.end());
      m_labels[node * m_nodes + node] = -1 - roles.try_emplace(role, static_cast<int>(roles.size())).first->second;
    }
  }

  [[nodiscard]] int operator()(int from, int to) const { return m_labels[from * m_nodes + to]; }

private:
  int m_nodes;
  std::vector<int> m_labels;
};

/// Looks for a symmetry that maps some first ranks as told.
class SymmetrySearch {
public:
  SymmetrySearch(const Problem& problem, const Progress& progress)
      : m_problem(problem), m_progress(progress), m_labels(problem) {
    // Neighbours follow each other, so that wrong choices show early.
    const int nodes = problem.topology.nodes;
    std::vector<bool> isIn(nodes, false);
    for (int start = 0; start < nodes; ++start) {
      if (isIn[start]) {
        continue;
      }
      isIn[start] = true;
      m_order.push_back(start);
      for (std::size_t head = m_order.size() - 1; head < m_order.size(); ++head) {
        for (const int arc : problem.topology.out[m_order[head]]) {
          const int next = problem.topology.arcs[arc].to;
          if (!isIn[next]) {
            isIn[next] = true;
            m_order.push_back(next);
          }
        }
      }
    }
  }

  [[nodiscard]] const Ranks& order() const { return m_order; }
  [[nodiscard]] bool isSpent() const { return m_total <= 0; }

  /// The images of order()[0 .. size-1] are given. With `isFree`, no rank may be its own image.
  std::optional<Symmetry> find(const Ranks& images, bool isFree) {
    m_image.assign(m_order.size(), -1);
    m_isUsed.assign(m_order.size(), false);
    m_isFree = isFree;
    m_left = std::min(kSearchBudget, m_total);
    m_total -= m_left;
    std::optional<Symmetry> found;
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (!fits(i, images[i])) {
        m_total += m_left;
        return std::nullopt;
      }
      set(i, images[i]);
    }
    found = extend(images.size());
    m_total += m_left;
    return found;
  }

private:
  void set(std::size_t place, int image) {
    m_image[m_order[place]] = image;
    m_isUsed[image] = true;
  }

  [[nodiscard]] bool fits(std::size_t place, int image) const {
    const int node = m_order[place];
    if (m_isUsed[image] || (m_isFree && image == node) || m_labels(node, node) != m_labels(image, image)) {
      return false;
    }
    for (std::size_t i = 0; i < place; ++i) {
      const int other = m_order[i];
      if (m_labels(node, other) != m_labels(image, m_image[other]) ||
          m_labels(other, node) != m_labels(m_image[other], image)) {
        return false;
      }
    }
    return true;
  }

  std::optional<Symmetry> extend(std::size_t place) {
    if (place == m_order.size()) {
      // Looking at all arcs takes as long as many ranks.
      m_left -= static_cast<std::int64_t>(m_problem.topology.arcs.size()) / kArcsOfRank;
      throwIfCancelled(m_progress);
      return symmetryOf(m_problem, m_image);
    }
    for (int image = 0; image < static_cast<int>(m_order.size()); ++image) {
      if (!fits(place, image)) {
        continue;
      }
      if (m_left-- <= 0) {
        return std::nullopt;
      }
      if (m_left % 256 == 0) {
        throwIfCancelled(m_progress);
      }
      set(place, image);
      if (auto found = extend(place + 1)) {
        return found;
      }
      m_isUsed[image] = false;
      m_image[m_order[place]] = -1;
    }
    return std::nullopt;
  }

  const Problem& m_problem;
  const Progress& m_progress;
  Labels m_labels;
  Ranks m_order;
  Ranks m_image;
  std::vector<bool> m_isUsed;
  bool m_isFree = false;
  std::int64_t m_left = 0;
  std::int64_t m_total = kTotalBudget;
};

Ranks composedRanks(const Ranks& first, const Ranks& second) {
  Ranks result(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    result[i] = second[first[i]];
  }
  return result;
}

/// All products; nullopt where one but the identity fixes a rank.
std::optional<std::set<Ranks>> freeClosure(const std::set<Ranks>& group, const Ranks& extra) {
  std::vector<Ranks> generating(group.begin(), group.end());
  generating.push_back(extra);
  Ranks identity(extra.size());
  std::iota(identity.begin(), identity.end(), 0);
  std::set<Ranks> all{identity};
  std::vector<Ranks> queue{identity};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Ranks& each : generating) {
      Ranks next = composedRanks(queue[head], each);
      if (!all.insert(next).second) {
        continue;
      }
      for (std::size_t i = 0; i < next.size(); ++i) {
        if (next != identity && next[i] == static_cast<int>(i)) {
          return std::nullopt;
        }
      }
      if (all.size() > next.size()) {
        return std::nullopt;
      }
      queue.push_back(std::move(next));
    }
  }
  return all;
}

/// Products of the given renamings, as long as none fixes a rank.
std::set<Ranks> grown(const std::vector<Ranks>& candidates) {
  std::set<Ranks> group;
  for (const Ranks& candidate : candidates) {
    if (group.contains(candidate)) {
      continue;
    }
    if (auto larger = freeClosure(group, candidate)) {
      group = *std::move(larger);
    }
    if (group.size() == candidate.size()) {
      break;
    }
  }
  return group;
}

std::vector<Ranks> exclusiveOrs(const Problem& problem) {
  std::vector<Ranks> found;
  const int nodes = problem.topology.nodes;
  for (int bit = 1; bit < nodes; bit *= 2) {
    Ranks ranks(nodes);
    for (int i = 0; i < nodes; ++i) {
      ranks[i] = i ^ bit;
    }
    if (*std::max_element(ranks.begin(), ranks.end()) < nodes && symmetryOf(problem, ranks)) {
      found.push_back(std::move(ranks));
    }
  }
  return found;
}

/// Rotations of all ranks, of rows and of columns of every shape that the number of ranks has.
std::vector<Ranks> rotations(const Problem& problem) {
  std::vector<Ranks> found;
  const int nodes = problem.topology.nodes;
  for (int width = nodes; width > 1; --width) {
    if (nodes % width != 0) {
      continue;
    }
    Ranks within(nodes);
    Ranks across(nodes);
    for (int i = 0; i < nodes; ++i) {
      within[i] = i / width * width + (i + 1) % width;
      across[i] = (i + width) % nodes;
    }
    for (Ranks& each : {std::ref(within), std::ref(across)}) {
      if (symmetryOf(problem, each)) {
        found.push_back(each);
      }
    }
  }
  return found;
}

/// Images of the sources, -1, and images of the destinations: short where few ranks are either.
Ranks endsOf(const ChunkClass& chunks, const Ranks& image) {
  Ranks ends;
  for (const auto* side : {&chunks.pre, &chunks.post}) {
    const auto first = static_cast<std::ptrdiff_t>(ends.size());
    for (std::size_t node = 0; node < image.size(); ++node) {
      if ((*side)[node]) {
        ends.push_back(image[node]);
      }
    }
    std::sort(ends.begin() + first, ends.end());
    ends.push_back(-1);
  }
  return ends;
}

}  // namespace

std::optional<Symmetry> symmetryOf(const Problem& problem, const std::vector<int>& ranks) {
  const Topology& topology = problem.topology;
  Symmetry result{ranks, std::vector<int>(topology.arcs.size(), -1), {}, {}, std::vector<int>(problem.groups, -1)};
  for (int node = 0; node < topology.nodes; ++node) {
    std::map<int, std::vector<int>> images;
    for (const int arc : topology.out[ranks[node]]) {
      images[topology.arcs[arc].to].push_back(arc);
    }
    std::map<int, std::size_t> taken;
    if (topology.out[node].size() != topology.out[ranks[node]].size()) {
      return std::nullopt;
    }
    for (const int arc : topology.out[node]) {
      const int to = ranks[topology.arcs[arc].to];
      const auto found = images.find(to);
      const std::size_t place = taken[to]++;
      if (found == images.end() || place >= found->second.size()) {
        return std::nullopt;
      }
      result.arc[arc] = found->second[place];
    }
  }
  for (const Limit& limit : topology.limits) {
    std::vector<int> image;
    for (const int arc : limit.arcs) {
      image.push_back(result.arc[arc]);
    }
    std::sort(image.begin(), image.end());
    const auto& others = topology.limitsOf[image.front()];
    const auto same = std::find_if(others.begin(), others.end(), [&](int other) {
      return topology.limits[other].perRound == limit.perRound && topology.limits[other].arcs == image;
    });
    if (same == others.end()) {
      return std::nullopt;
    }
    result.limit.push_back(*same);
  }
  struct SameEnds {
    std::vector<int> classes;
    std::size_t taken = 0;
  };
  std::map<Ranks, SameEnds> classesOf;
  Ranks identity(topology.nodes);
  std::iota(identity.begin(), identity.end(), 0);
  for (int c = 0; c < static_cast<int>(problem.classes.size()); ++c) {
    classesOf[endsOf(problem.classes[c], identity)].classes.push_back(c);
  }
  for (std::size_t c = 0; c < problem.classes.size(); ++c) {
    const auto found = classesOf.find(endsOf(problem.classes[c], ranks));
    if (found == classesOf.end() || found->second.taken == found->second.classes.size()) {
      return std::nullopt;
    }
    const int to = found->second.classes[found->second.taken++];
    result.chunkClass.push_back(to);
    int& group = result.group[problem.groupOf[c]];
    if (group >= 0 && group != problem.groupOf[to]) {
      return std::nullopt;
    }
    group = problem.groupOf[to];
  }
  return result;
}

std::vector<Symmetry> generators(const Problem& problem, const Progress& progress) {
  SymmetrySearch search(problem, progress);
  std::vector<Symmetry> found;
  const Ranks& order = search.order();
  const int nodes = problem.topology.nodes;
  // From the last base point to the first, so that deeper stabilisers shorten the orbits of the ones above.
  for (int depth = nodes - 1; depth >= 0 && !search.isSpent(); --depth) {
    Orbits orbits(nodes);
    for (const Symmetry& each : found) {
      for (int node = 0; node < nodes; ++node) {
        orbits.join(node, each.node[node]);
      }
    }
    Ranks images(order.begin(), order.begin() + depth + 1);
    std::set<int> refused;
    for (int place = depth + 1; place < nodes && !search.isSpent(); ++place) {
      const int image = order[place];
      const int orbit = orbits.smallest(image);
      if (orbit == orbits.smallest(order[depth]) || refused.contains(orbit)) {
        continue;
      }
      images[depth] = image;
      if (auto each = search.find(images, false)) {
        for (int node = 0; node < nodes; ++node) {
          orbits.join(node, each->node[node]);
        }
        found.push_back(*std::move(each));
      } else {
        refused.insert(orbit);
      }
    }
  }
  return found;
}

std::vector<std::vector<Symmetry>> freeGroups(const Problem& problem, const Progress& progress) {
  std::vector<std::set<Ranks>> groups{grown(exclusiveOrs(problem)), grown(rotations(problem))};
  SymmetrySearch search(problem, progress);
  std::vector<Ranks> moves;
  for (int image = 0; image < problem.topology.nodes && !search.isSpent(); ++image) {
    if (image == search.order().front()) {
      continue;
    }
    if (const auto found = search.find({image}, true)) {
      moves.push_back(found->node);
    }
  }
  for (std::size_t first = 0; first < moves.size() && first < kMaxFreeGroups; ++first) {
    groups.push_back(grown(moves));
    std::rotate(moves.begin(), moves.begin() + 1, moves.end());
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::vector<Symmetry>> result;
  std::set<std::set<Ranks>> seen;
  for (const auto& group : groups) {
    if (group.size() < 2 || !seen.insert(group).second || result.size() == kMaxFreeGroups) {
      continue;
    }
    std::vector<Symmetry> elements;
    for (const Ranks& ranks : group) {
      if (auto each = symmetryOf(problem, ranks)) {
        elements.push_back(*std::move(each));
      }
    }
    if (elements.size() == group.size()) {
      result.push_back(std::move(elements));
    }
  }
  return result;
}

Orbits::Orbits(int count) : m_parent(count) {
  std::iota(m_parent.begin(), m_parent.end(), 0);
}

int Orbits::smallest(int element) {
  while (m_parent[element] != element) {
    m_parent[element] = m_parent[m_parent[element]];
    element = m_parent[element];
  }
  return element;
}

void Orbits::join(int a, int b) {
  a = smallest(a);
  b = smallest(b);
  m_parent[std::max(a, b)] = std::min(a, b);
}

}  // namespace coppice::synth
