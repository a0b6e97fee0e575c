// SPDX-License-Identifier: Apache-2.0
#include "groups/regions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "symmetry/fabric_parts.hpp"

namespace coppice::groups {

using fabric::NodeIndex;
using fabric::NodeKind;
using schedule::PlacementRegion;

void NumberSet::addShifted(const NumberSet& other, int shift) {
  const auto words = static_cast<std::size_t>(shift / kBits);
  const int bits = shift % kBits;
  for (std::size_t word = 0; word < other.m_words.size() && word + words < m_words.size(); ++word) {
    m_words[word + words] |= other.m_words[word] << bits;
    if (bits > 0 && word + words + 1 < m_words.size()) {
      m_words[word + words + 1] |= other.m_words[word] >> (kBits - bits);
    }
  }
  // Beyond the limit there is nothing.
  const int used = m_limit % kBits + 1;
  if (used < kBits) {
    m_words.back() &= (std::uint64_t{1} << used) - 1;
  }
}

Regions::Regions(const fabric::Fabric& fabric, const schedule::PlacementQuestion& question)
    : m_fabric(fabric),
      m_question(question),
      m_arcsAt(fabric.nodes().size(),
               [&](const auto& add) {
                 for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
                   add(fabric.arcs()[arc].tail, static_cast<int>(arc));
                   add(fabric.arcs()[arc].head, static_cast<int>(arc));
                 }
               }),
      m_insideOf(fabric.nodes().size(), 0) {
  addRegions();
  m_children.resize(m_regions.size());
  m_most.assign(m_regions.size(), 0);
  m_height.assign(m_regions.size(), 0);
  for (std::size_t i = 0; i < m_regions.size(); ++i) {
    if (m_regions[i].parent >= 0) {
      m_children[m_regions[i].parent].push_back(i);
      m_height[m_regions[i].parent] = std::max(m_height[m_regions[i].parent], m_height[i] + 1);
    }
    for (const NodeIndex node : m_regions[i].nodes) {
      const fabric::Rank rank = fabric.nodes()[node].rank;
      m_most[i] += rank >= 0 && question.isFree[rank] ? 1 : 0;
    }
    m_most[i] = std::min(m_most[i], question.size);
    addCapacity(i);
  }
}

/// Smaller ones first; one that overlaps others in part is left out.
void Regions::addRegions() {
  std::vector<std::vector<NodeIndex>> sets;
  for (const NodeIndex gpu : m_fabric.gpus()) {
    if (m_question.isFree[m_fabric.nodes()[gpu].rank]) {
      sets.push_back({gpu});
    }
  }
  for (const symmetry::Parts& parts : symmetry::candidateParts(symmetry::graphOf(m_fabric), m_fabric)) {
    std::map<int, std::vector<NodeIndex>> nodesOf;
    for (NodeIndex node = 0; node < m_fabric.nodeCount(); ++node) {
      if (parts[node] >= 0) {
        nodesOf[parts[node]].push_back(node);
      }
    }
    for (auto& [part, nodes] : nodesOf) {
      if (nodes.size() > 1) {
        sets.push_back(std::move(nodes));
      }
    }
  }
  sets.emplace_back(static_cast<std::size_t>(m_fabric.nodeCount()));
  std::iota(sets.back().begin(), sets.back().end(), 0);
  std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<int> topOf(static_cast<std::size_t>(m_fabric.nodeCount()), -1);
  for (std::vector<NodeIndex>& nodes : sets) {
    std::map<int, std::size_t> covered;
    for (const NodeIndex node : nodes) {
      if (topOf[node] >= 0) {
        ++covered[topOf[node]];
      }
    }
    const bool isNested = std::all_of(covered.begin(), covered.end(),
                                      [&](const auto& top) { return top.second == m_regions[top.first].nodes.size(); });
    const bool isKnown = covered.size() == 1 && covered.begin()->second == nodes.size();
    if (covered.empty() && nodes.size() > 1 && nodes.size() < topOf.size()) {
      continue;  // it has no free GPUs
    }
    if (!isNested || isKnown) {
      continue;
    }
    const int index = static_cast<int>(m_regions.size());
    for (const auto& [top, count] : covered) {
      m_regions[top].parent = index;
    }
    for (const NodeIndex node : nodes) {
      topOf[node] = index;
    }
    m_regions.push_back({std::move(nodes), -1});
  }
}

bool Regions::isUsable(NodeIndex node) const {
  const fabric::Rank rank = m_fabric.nodes()[node].rank;
  return rank < 0 || m_question.relays || m_question.isFree[rank];
}

/// Of links between the region and the rest: those between nodes that pass everything on are there for any members. Of
/// the others only those of members count, and each GPU has at most size - 1 chosen neighbours.
void Regions::addCapacity(std::size_t region) {
  for (const NodeIndex node : m_regions[region].nodes) {
    m_insideOf[node] = region + 1;
  }
  const auto isInside = [&](NodeIndex node) { return m_insideOf[node] == region + 1; };
  const auto passes = [&](NodeIndex node) { return m_question.relays || m_fabric.nodes()[node].kind != NodeKind::gpu; };
  Capacity capacity;
  for (const bool isOut : {true, false}) {
    Bandwidth always;
    std::map<NodeIndex, std::pair<Bandwidth, std::vector<Bandwidth>>> ofGpu;  // to what passes on, and to GPUs
    const auto add = [&](const fabric::Arc& arc) {
      const NodeIndex inner = isOut ? arc.tail : arc.head;
      const NodeIndex outer = isOut ? arc.head : arc.tail;
      if (!isInside(inner) || isInside(outer) || !isUsable(inner) || !isUsable(outer)) {
        return;
      }
      if (passes(inner)) {
        always += arc.bandwidth;
      } else if (passes(outer)) {
        ofGpu[inner].first += arc.bandwidth;
      } else {
        ofGpu[inner].second.push_back(arc.bandwidth);
      }
    };
    for (const NodeIndex node : m_regions[region].nodes) {
      for (const int arc : m_arcsAt[node]) {
        add(m_fabric.arcs()[arc]);
      }
    }
    std::vector<Bandwidth> each;
    for (auto& [gpu, links] : ofGpu) {
      std::sort(links.second.begin(), links.second.end(), std::greater<>());
      const std::size_t count = std::min(links.second.size(), static_cast<std::size_t>(m_question.size - 1));
      each.push_back(std::accumulate(links.second.begin(), links.second.begin() + static_cast<std::ptrdiff_t>(count),
                                     links.first));
    }
    std::sort(each.begin(), each.end(), std::greater<>());
    std::vector<Bandwidth>& list = isOut ? capacity.out : capacity.in;
    list.push_back(always);
    for (int members = 1; members <= m_most[region]; ++members) {
      const auto place = static_cast<std::size_t>(members - 1);
      list.push_back(place < each.size() ? list.back() + each[place] : list.back());
    }
  }
  m_capacity.push_back(std::move(capacity));
}

/// What leaves a set with this many members, for algbw 1.
Rational Regions::demand(int inside) const {
  const int size = m_question.size;
  if (inside == 0 || inside == size) {
    return 0;
  }
  switch (m_question.collective) {
    case Collective::allgather:
      return {inside, size};
    case Collective::reduceScatter:
      return {size - inside, size};
    case Collective::alltoall:
      return {std::int64_t{inside} * (size - inside), size};
    default:
      return 1;
  }
}

bool Regions::allows(std::size_t region, int members, const Bandwidth& algbw) const {
  return demand(members) * algbw <= m_capacity[region].out[members] &&
         demand(m_question.size - members) * algbw <= m_capacity[region].in[members];
}

/// Where some number of members becomes impossible.
std::vector<Bandwidth> Regions::thresholds() const {
  std::set<Bandwidth> found;
  for (std::size_t region = 0; region < m_regions.size(); ++region) {
    for (int members = 0; members <= m_most[region]; ++members) {
      if (const Rational out = demand(members); out.isPositive()) {
        found.insert(m_capacity[region].out[members] / out);
      }
      if (const Rational in = demand(m_question.size - members); in.isPositive()) {
        found.insert(m_capacity[region].in[members] / in);
      }
    }
  }
  return {found.begin(), found.end()};
}

NumberSet Regions::sumsOf(const NumberSet& sums, std::size_t child, const NumberSet& of) const {
  NumberSet more(m_question.size);
  for (int members = 0; members <= m_most[child]; ++members) {
    if (of.has(members)) {
      more.addShifted(sums, members);
    }
  }
  return more;
}

std::vector<NumberSet> Regions::possible(const Bandwidth& algbw) const {
  std::vector<NumberSet> possible;
  for (std::size_t region = 0; region < m_regions.size(); ++region) {
    NumberSet sums(m_question.size);
    sums.add(0);
    for (const std::size_t child : m_children[region]) {
      sums = sumsOf(sums, child, possible[child]);
    }
    NumberSet own(m_question.size);
    for (int members = 0; members <= m_most[region]; ++members) {
      const bool isMade = m_children[region].empty() || sums.has(members);
      if (isMade && allows(region, members, algbw)) {
        own.add(members);
      }
    }
    possible.push_back(std::move(own));
  }
  return possible;
}

Bandwidth Regions::bound(const Progress& progress) const {
  const std::vector<Bandwidth> values = thresholds();
  std::size_t low = 0;  // values before it are possible
  std::size_t high = values.size();
  while (low < high) {
    throwIfCancelled(progress);
    const std::size_t middle = low + (high - low) / 2;
    if (possible(values[middle]).back().has(m_question.size)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const Bandwidth numbers = low == 0 ? Bandwidth() : values[low - 1];
  return std::min(numbers, heightBound().value_or(numbers));
}

std::optional<Bandwidth> Regions::heightBound() const {
  std::optional<Bandwidth> least;
  if (m_question.collective != Collective::allreduce) {
    return least;
  }
  for (int height = 0; height < m_height.back(); ++height) {
    std::vector<int> most;
    std::vector<Bandwidth> in;
    for (std::size_t region = 0; region < m_regions.size(); ++region) {
      const int parent = m_regions[region].parent;
      if (m_height[region] <= height && parent >= 0 && m_height[parent] > height && m_most[region] > 0) {
        most.push_back(m_most[region]);
        in.push_back(m_capacity[region].in[m_most[region]]);
      }
    }
    std::sort(most.begin(), most.end(), std::greater<>());
    std::sort(in.begin(), in.end(), std::greater<>());
    std::size_t sets = 0;
    for (int members = 0; members < m_question.size; ++sets) {
      members += most[sets];
    }
    if (sets > 1) {
      const Bandwidth sum = std::accumulate(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(sets), Bandwidth());
      const Bandwidth bound = sum / Rational(2 * static_cast<std::int64_t>(sets) - 2);
      least = least ? std::min(*least, bound) : bound;
    }
  }
  return least;
}

std::optional<std::vector<fabric::Rank>> Regions::choose(const Bandwidth& algbw, Taste taste) const {
  const std::vector<NumberSet> possible = this->possible(algbw);
  if (!possible.back().has(m_question.size)) {
    return std::nullopt;
  }
  std::vector<fabric::Rank> ranks;
  std::vector<std::pair<std::size_t, int>> open{{m_regions.size() - 1, m_question.size}};
  while (!open.empty()) {
    const auto [region, members] = open.back();
    open.pop_back();
    if (m_children[region].empty() && members > 0) {
      ranks.push_back(m_fabric.nodes()[m_regions[region].nodes.front()].rank);
    }
    // By child, what those behind it can have together.
    const std::vector<std::size_t>& children = m_children[region];
    std::vector<NumberSet> behind(children.size() + 1, NumberSet(m_question.size));
    behind.back().add(0);
    for (std::size_t i = children.size(); i-- > 0;) {
      behind[i] = sumsOf(behind[i + 1], children[i], possible[children[i]]);
    }
    int left = members;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const int most = std::min(m_most[children[i]], left);
      const int even = (left + static_cast<int>(children.size() - i) - 1) / static_cast<int>(children.size() - i);
      int chosen = -1;
      const int wished = taste == Taste::packed ? most : std::min(even, most);
      for (int distance = 0; chosen < 0; ++distance) {
        for (const int count : {wished + distance, wished - distance}) {
          if (chosen < 0 && count <= most && possible[children[i]].has(count) && behind[i + 1].has(left - count)) {
            chosen = count;
          }
        }
      }
      if (chosen > 0) {
        open.emplace_back(children[i], chosen);
      }
      left -= chosen;
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace coppice::groups
