// SPDX-License-Identifier: Apache-2.0
#include "synth/symmetry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "symmetry/automorphisms.hpp"
#include "symmetry/free_group.hpp"
#include "symmetry/groups.hpp"

namespace coppice::synth {
namespace {

using Ranks = std::vector<int>;

constexpr int kMaxFreeGroups = 6;
/// Of nauty, which finds the symmetries.
constexpr std::int64_t kMaxWork = std::int64_t{1} << 30;

/// Ranks; then arcs that share limits, these limits, and classes of several sources or destinations. Other arcs and
/// classes are arcs between ranks.
symmetry::ColouredDigraph graphOf(const Problem& problem) {
  enum class Kind { rank, arc, limit, chunks, sends, arrives, counts, starts, ends };
  const Topology& topology = problem.topology;
  symmetry::ColouredDigraph graph;
  symmetry::Numbering<std::pair<Kind, std::vector<Rational>>> colours;
  const auto addNode = [&](Kind kind, const std::vector<Rational>& rates) {
    graph.colourOf.push_back(colours({kind, rates}));
    return graph.nodeCount() - 1;
  };
  const auto addArc = [&](int tail, int head, Kind kind, const std::vector<Rational>& rates) {
    graph.arcs.push_back({tail, head, colours({kind, rates})});
  };
  for (int rank = 0; rank < topology.nodes; ++rank) {
    addNode(Kind::rank, {});
  }
  std::vector<int> nodeOfLimit;
  for (const Limit& limit : topology.limits) {
    nodeOfLimit.push_back(limit.arcs.size() > 1 ? addNode(Kind::limit, {limit.perRound}) : -1);
  }
  for (std::size_t arc = 0; arc < topology.arcs.size(); ++arc) {
    std::vector<Rational> own;
    std::vector<int> shared;
    for (const int limit : topology.limitsOf[arc]) {
      if (nodeOfLimit[limit] >= 0) {
        shared.push_back(nodeOfLimit[limit]);
      } else {
        own.push_back(topology.limits[limit].perRound);
      }
    }
    std::sort(own.begin(), own.end());
    const LogicalArc& ends = topology.arcs[arc];
    if (shared.empty()) {
      addArc(ends.from, ends.to, Kind::arc, own);
      continue;
    }
    const int node = addNode(Kind::arc, own);
    addArc(ends.from, node, Kind::sends, {});
    addArc(node, ends.to, Kind::arrives, {});
    for (const int limit : shared) {
      addArc(node, limit, Kind::counts, {});
    }
  }
  for (const ChunkClass& chunks : problem.classes) {
    const auto from = std::find(chunks.pre.begin(), chunks.pre.end(), true) - chunks.pre.begin();
    const auto to = std::find(chunks.post.begin(), chunks.post.end(), true) - chunks.post.begin();
    if (std::count(chunks.pre.begin(), chunks.pre.end(), true) == 1 &&
        std::count(chunks.post.begin(), chunks.post.end(), true) == 1) {
      addArc(static_cast<int>(from), static_cast<int>(to), Kind::chunks, {});
      continue;
    }
    const int node = addNode(Kind::chunks, {});
    for (int rank = 0; rank < topology.nodes; ++rank) {
      if (chunks.pre[rank]) {
        addArc(node, rank, Kind::starts, {});
      }
      if (chunks.post[rank]) {
        addArc(node, rank, Kind::ends, {});
      }
    }
  }
  return graph;
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
      Ranks next = symmetry::composed(queue[head], each);
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
  std::vector<Symmetry> found;
  const int nodes = problem.topology.nodes;
  const Ranks identity = symmetry::identity(nodes);
  for (const Ranks& image : symmetry::generators(graphOf(problem), kMaxWork, progress)) {
    const Ranks ranks(image.begin(), image.begin() + nodes);
    if (auto each = symmetryOf(problem, ranks); each && ranks != identity) {
      found.push_back(*std::move(each));
    }
  }
  return found;
}

std::vector<std::vector<Symmetry>> freeGroups(const Problem& problem, const Progress& progress) {
  std::vector<std::set<Ranks>> groups{grown(exclusiveOrs(problem)), grown(rotations(problem))};
  std::vector<Ranks> symmetries;
  for (Symmetry& each : generators(problem, progress)) {
    symmetries.push_back(std::move(each.node));
  }
  const Ranks all = symmetry::identity(problem.topology.nodes);
  for (const auto& generating : symmetry::freeGroups(symmetries, all, kMaxFreeGroups, progress)) {
    groups.push_back(grown(generating));
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

}  // namespace coppice::synth
