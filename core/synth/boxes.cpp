// SPDX-License-Identifier: Apache-2.0
#include "synth/boxes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace coppice::synth {
namespace {

using Ranks = std::vector<int>;

Ranks identityOf(int nodes) {
  Ranks ranks(nodes);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> composed(const std::vector<int>& first, const std::vector<int>& second) {
  std::vector<int> result(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    result[i] = second[first[i]];
  }
  return result;
}

Symmetry composed(const Symmetry& first, const Symmetry& second) {
  return {composed(first.node, second.node), composed(first.arc, second.arc), composed(first.limit, second.limit),
          composed(first.chunkClass, second.chunkClass), composed(first.group, second.group)};
}

Symmetry identityOf(const Symmetry& like) {
  const auto same = [](const std::vector<int>& map) { return identityOf(static_cast<int>(map.size())); };
  return {same(like.node), same(like.arc), same(like.limit), same(like.chunkClass), same(like.group)};
}

Boxes boxesFrom(std::vector<std::vector<int>> members, int nodes) {
  Boxes boxes;
  boxes.members = std::move(members);
  boxes.boxOf.assign(nodes, 0);
  boxes.placeOf.assign(nodes, 0);
  for (int box = 0; box < boxes.count(); ++box) {
    for (int place = 0; place < boxes.size(); ++place) {
      boxes.boxOf[boxes.members[box][place]] = box;
      boxes.placeOf[boxes.members[box][place]] = place;
    }
  }
  return boxes;
}

/// A problem without chunks: its symmetries are those of the topology.
Problem bare(const Topology& topology) {
  Problem problem;
  problem.topology = topology;
  return problem;
}

/// Ways to exchange the places of a box.
std::vector<Ranks> placeMoves(int size) {
  std::vector<Ranks> moves;
  for (const int apart : {1, 2}) {
    for (int place = 0; place + apart < size; ++place) {
      moves.push_back(identityOf(size));
      std::swap(moves.back()[place], moves.back()[place + apart]);
    }
  }
  for (int bit = 1; bit < size; bit *= 2) {
    Ranks move(size);
    for (int place = 0; place < size; ++place) {
      move[place] = place ^ bit;
    }
    if (*std::max_element(move.begin(), move.end()) < size) {
      moves.push_back(std::move(move));
    }
  }
  for (int pair = 0; pair + 3 < size; pair += 2) {
    Ranks move = identityOf(size);
    std::swap(move[pair], move[pair + 2]);
    std::swap(move[pair + 1], move[pair + 3]);
    moves.push_back(std::move(move));
  }
  for (const int by : {1, 2}) {
    Ranks move(size);
    for (int place = 0; place < size; ++place) {
      move[place] = (place + by) % size;
    }
    moves.push_back(std::move(move));
  }
  Ranks mirrored(size);
  for (int place = 0; place < size; ++place) {
    mirrored[place] = size - 1 - place;
  }
  moves.push_back(std::move(mirrored));
  return moves;
}

/// Of every shape that the number of ranks has: rows and columns rotated and mirrored.
std::vector<Ranks> gridMoves(int nodes) {
  std::vector<Ranks> moves;
  for (int width = nodes; width > 1; --width) {
    if (nodes % width != 0) {
      continue;
    }
    Ranks within(nodes);
    Ranks across(nodes);
    Ranks mirrored(nodes);
    for (int i = 0; i < nodes; ++i) {
      within[i] = i / width * width + (i + 1) % width;
      across[i] = (i + width) % nodes;
      mirrored[i] = i / width * width + (width - i % width) % width;
    }
    moves.push_back(std::move(within));
    moves.push_back(std::move(across));
    moves.push_back(std::move(mirrored));
  }
  return moves;
}

std::vector<Ranks> exclusiveOrs(int nodes) {
  std::vector<Ranks> moves;
  for (int bit = 1; bit < nodes; bit *= 2) {
    Ranks move(nodes);
    for (int i = 0; i < nodes; ++i) {
      move[i] = i ^ bit;
    }
    if (*std::max_element(move.begin(), move.end()) < nodes) {
      moves.push_back(std::move(move));
    }
  }
  return moves;
}

Ranks inBoxes(const Boxes& boxes, const Ranks& move, int first, int last) {
  Ranks ranks = identityOf(static_cast<int>(boxes.boxOf.size()));
  for (int box = first; box <= last; ++box) {
    for (int place = 0; place < boxes.size(); ++place) {
      ranks[boxes.members[box][place]] = boxes.members[box][move[place]];
    }
  }
  return ranks;
}

/// What the arcs into a rank from its box, or from others, carry in one round.
Rational rateInto(const Topology& topology, const Boxes& boxes, int rank, bool isFromWithin) {
  std::vector<int> arcs;
  std::copy_if(topology.in[rank].begin(), topology.in[rank].end(), std::back_inserter(arcs),
               [&](int arc) { return (boxes.boxOf[topology.arcs[arc].from] == boxes.boxOf[rank]) == isFromWithin; });
  return rateOver(topology, arcs);
}

Ranks renamed(const Boxes& boxes, const std::vector<int>& boxTo) {
  Ranks ranks(boxes.boxOf.size());
  for (int box = 0; box < boxes.count(); ++box) {
    for (int place = 0; place < boxes.size(); ++place) {
      ranks[boxes.members[box][place]] = boxes.members[boxTo[box]][place];
    }
  }
  return ranks;
}

/// Rotations of all boxes, or of blocks of boxes and within these, where they are symmetries.
std::vector<Ranks> movesOf(const Problem& problem, const Boxes& boxes) {
  const int count = boxes.count();
  for (int block = 1; block < count; ++block) {
    if (count % block != 0) {
      continue;
    }
    std::vector<int> across(count);
    std::vector<int> within(count);
    for (int box = 0; box < count; ++box) {
      across[box] = (box + block) % count;
      within[box] = box / block * block + (box + 1) % block;
    }
    std::vector<Ranks> moves{renamed(boxes, across)};
    if (block > 1) {
      moves.push_back(renamed(boxes, within));
    }
    if (std::all_of(moves.begin(), moves.end(), [&](const Ranks& each) { return symmetryOf(problem, each); })) {
      return moves;
    }
  }
  return {};
}

/// The first ranks of any two boxes reach each other directly.
bool exchange(const Topology& topology, const Boxes& boxes) {
  std::set<int> from;
  for (const int arc : topology.in[boxes.members[0][0]]) {
    from.insert(topology.arcs[arc].from);
  }
  return std::all_of(boxes.members.begin() + 1, boxes.members.end(),
                     [&](const auto& each) { return from.contains(each.front()); });
}

}  // namespace

std::optional<Boxes> equalBoxes(const Topology& topology) {
  const int nodes = topology.nodes;
  std::vector<std::vector<std::vector<int>>> choices;
  std::map<int, std::vector<int>> named;
  bool isNamed = topology.boxOf.size() == static_cast<std::size_t>(nodes);
  for (int rank = 0; isNamed && rank < nodes; ++rank) {
    isNamed = topology.boxOf[rank] >= 0;
    named[topology.boxOf[rank]].push_back(rank);
  }
  if (isNamed && named.size() > 1) {
    auto& members = choices.emplace_back();
    for (auto& [box, ranks] : named) {
      members.push_back(std::move(ranks));
    }
  } else if (!isNamed) {
    for (int size = nodes / 2; size > 1; --size) {
      if (nodes % size != 0) {
        continue;
      }
      auto& members = choices.emplace_back(nodes / size);
      for (int rank = 0; rank < nodes; ++rank) {
        members[rank / size].push_back(rank);
      }
    }
  }
  const Problem problem = bare(topology);
  for (auto& members : choices) {
    const std::size_t size = members.front().size();
    if (size < 2 ||
        std::any_of(members.begin(), members.end(), [&](const auto& each) { return each.size() != size; })) {
      continue;
    }
    Boxes boxes = boxesFrom(std::move(members), nodes);
    const int rank = boxes.members[0][0];
    const bool isSlower = rateInto(topology, boxes, rank, false) < rateInto(topology, boxes, rank, true);
    if (!(isNamed || isSlower) || !exchange(topology, boxes)) {
      continue;
    }
    boxes.moves = movesOf(problem, boxes);
    if (!boxes.moves.empty()) {
      return boxes;
    }
  }
  return std::nullopt;
}

Topology withArcs(const Topology& topology, std::span<const int> kept, std::span<const int> renamed, int nodes) {
  Topology part;
  part.nodes = nodes;
  part.unit = topology.unit;
  part.out.resize(nodes);
  part.in.resize(nodes);
  part.boxOf.assign(nodes, -1);
  part.gpus.assign(nodes, 0);
  part.limitsOf.resize(kept.size());
  part.isIntegral = true;
  std::vector<int> numberOf(topology.arcs.size(), -1);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const LogicalArc& arc = topology.arcs[kept[i]];
    numberOf[kept[i]] = static_cast<int>(i);
    part.arcs.push_back({renamed[arc.from], renamed[arc.to], {}});
    part.out[part.arcs.back().from].push_back(static_cast<int>(i));
    part.in[part.arcs.back().to].push_back(static_cast<int>(i));
  }
  for (const Limit& limit : topology.limits) {
    Limit inner{{}, limit.perRound};
    for (const int arc : limit.arcs) {
      if (numberOf[arc] >= 0) {
        inner.arcs.push_back(numberOf[arc]);
        part.limitsOf[numberOf[arc]].push_back(static_cast<int>(part.limits.size()));
      }
    }
    if (!inner.arcs.empty()) {
      part.isIntegral = part.isIntegral && limit.perRound.isInteger();
      part.limits.push_back(std::move(inner));
    }
  }
  return part;
}

std::vector<Symmetry> freeProducts(std::span<const Symmetry> generators) {
  if (generators.empty()) {
    return {};
  }
  std::vector<Symmetry> all{identityOf(generators.front())};
  std::set<Ranks> seen{all.front().node};
  for (std::size_t head = 0; head < all.size(); ++head) {
    for (const Symmetry& each : generators) {
      Ranks ranks = composed(all[head].node, each.node);
      if (!seen.insert(ranks).second) {
        continue;
      }
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] == static_cast<int>(i)) {
          return {};
        }
      }
      if (seen.size() > ranks.size()) {
        return {};
      }
      all.push_back(composed(all[head], each));
    }
  }
  return all;
}

std::optional<NarrowProblem> narrowed(const Problem& problem, const Boxes& boxes) {
  const Topology& topology = problem.topology;
  NarrowProblem narrow;
  int across = 0;
  int keptAcross = 0;
  for (int arc = 0; arc < static_cast<int>(topology.arcs.size()); ++arc) {
    const auto [from, to] = std::pair(topology.arcs[arc].from, topology.arcs[arc].to);
    const bool isWithin = boxes.boxOf[from] == boxes.boxOf[to];
    const bool isKept = isWithin || boxes.placeOf[from] == boxes.placeOf[to];
    across += isWithin ? 0 : 1;
    keptAcross += isKept && !isWithin ? 1 : 0;
    if (isKept) {
      narrow.arcs.push_back(arc);
    }
  }
  if (2 * keptAcross > across) {
    return std::nullopt;
  }
  Topology part = withArcs(topology, narrow.arcs, identityOf(topology.nodes), topology.nodes);
  part.boxOf = topology.boxOf;
  narrow.problem = problem;
  narrow.problem.topology = std::move(part);
  for (const ChunkClass& chunks : problem.classes) {
    const auto distance = distancesFrom(narrow.problem.topology, chunks.pre);
    for (int node = 0; node < topology.nodes; ++node) {
      if (chunks.post[node] && distance[node] < 0) {
        return std::nullopt;
      }
    }
  }
  return narrow;
}

std::vector<Symmetry> freeGroupByBoxes(const Problem& problem, const std::optional<Boxes>& boxes,
                                       const Progress& progress) {
  const int nodes = problem.topology.nodes;
  std::vector<Ranks> candidates;
  if (boxes) {
    candidates = boxes->moves;
    for (const Ranks& move : placeMoves(boxes->size())) {
      candidates.push_back(inBoxes(*boxes, move, 0, boxes->count() - 1));
    }
  }
  for (const auto& moves : {exclusiveOrs(nodes), gridMoves(nodes)}) {
    candidates.insert(candidates.end(), moves.begin(), moves.end());
  }
  std::vector<Symmetry> generators;
  std::vector<Symmetry> group;
  for (const Ranks& candidate : candidates) {
    throwIfCancelled(progress);
    const bool fixesOne = [&] {
      for (int i = 0; i < nodes; ++i) {
        if (candidate[i] == i) {
          return true;
        }
      }
      return false;
    }();
    const bool isKnown =
        std::any_of(group.begin(), group.end(), [&](const Symmetry& each) { return each.node == candidate; });
    if (fixesOne || isKnown) {
      continue;
    }
    auto each = symmetryOf(problem, candidate);
    if (!each) {
      continue;
    }
    generators.push_back(*std::move(each));
    auto larger = freeProducts(generators);
    if (larger.empty()) {
      generators.pop_back();
      continue;
    }
    group = std::move(larger);
    if (static_cast<int>(group.size()) == nodes) {
      break;
    }
  }
  return group;
}

}  // namespace coppice::synth
