// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/arrangement_blocks.hpp"

#include <QRectF>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>

#include "designer/document/measures.hpp"

namespace coppice::designer::arrangement {
namespace {

constexpr int kOutsideGroup = -1;
constexpr int kRelay = -2;

constexpr double kGap = 44;       // between GPUs of a row
constexpr double kBlockGap = 60;  // between blocks
constexpr double kInnerGap = 64;  // between a row of GPUs and the relays next to it
constexpr double kHubGap = 110;   // between blocks and the network
constexpr double kBarGap = 32;    // between switches of a row
constexpr double kNicGap = 12;    // and between NICs
constexpr double kMarginX = 28;   // of a box: what the measures add
constexpr double kMarginY = 42;   // with room for the title on either side
constexpr double kLooseMargin = 20;
constexpr double kThin = 60;
constexpr std::size_t kMaxInRow = 10;
constexpr std::size_t kMaxInPodRow = 4;  // where there are many such rows
constexpr std::size_t kManyPods = 6;
constexpr std::size_t kMaxOneSided = 24;  // GPUs on one side of their switch, where there are two
constexpr double kStagger = 50;
constexpr double kDenseStagger = 38;
constexpr double kWanted = 1.7;     // width to height
constexpr double kMaxAspect = 4.5;  // of a fat tree before it is folded about its spines
constexpr double kMaxWideAspect = 2.6;
constexpr double kWideUnit = 640;
constexpr double kPerLine = 3;  // room that a line needs between blocks

struct UnionFind {
  explicit UnionFind(std::size_t count) : parent(count) { std::iota(parent.begin(), parent.end(), std::size_t{0}); }
  std::size_t find(std::size_t x) {
    while (parent[x] != x) {
      x = parent[x] = parent[parent[x]];
    }
    return x;
  }
  bool unite(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
    return a != b;
  }
  std::vector<std::size_t> parent;
};

int firstOf(const Block& block) {
  int first = std::numeric_limits<int>::max();
  for (const auto& [vertex, place] : block.places) {
    first = std::min(first, vertex);
  }
  return first;
}

double widest(const std::vector<Block>& units) {
  double width = 0;
  for (const Block& unit : units) {
    width = std::max(width, unit.width);
  }
  return width;
}

double highest(const std::vector<Block>& units) {
  double height = 0;
  for (const Block& unit : units) {
    height = std::max(height, unit.height);
  }
  return height;
}

/// A row of blocks whose tops are level.
Block inRow(const std::vector<Block>& units, double gap) {
  Block row;
  for (const Block& unit : units) {
    const double x = row.width > 0 ? row.width + gap : 0;
    row.add(unit, {x, 0});
  }
  return row;
}

/// `rows` rows, each centred.
Block inRows(const std::vector<Block>& units, std::size_t rows, double gapX, double gapY) {
  const std::size_t columns = (units.size() + rows - 1) / rows;
  const double cell = widest(units) + gapX;
  Block field;
  const double width = cell * static_cast<double>(columns) - gapX;
  double y = 0;
  for (std::size_t start = 0; start < units.size(); start += columns) {
    const std::size_t end = std::min(units.size(), start + columns);
    const double left = (width - (cell * static_cast<double>(end - start) - gapX)) / 2;
    double height = 0;
    for (std::size_t i = start; i < end; ++i) {
      field.add(units[i], {left + cell * static_cast<double>(i - start) + (cell - gapX - units[i].width) / 2, y});
      height = std::max(height, units[i].height);
    }
    y += height + gapY;
  }
  field.width = std::max(field.width, width);
  return field;
}

/// Thin things in rows that are set off against each other, so that above and below each there is a free column.
Block staggered(const std::vector<Block>& units, std::size_t rows) {
  const double step = rows > 2 ? kDenseStagger : kStagger;
  const double pitch = highest(units) + kGap;
  Block field;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const double centre = kThin / 2 + step * static_cast<double>(i);
    field.add(units[i], {centre - units[i].width / 2, pitch * static_cast<double>(i % rows)});
  }
  return field;
}

}  // namespace

Tiers::Tiers(const Model& model, const Graph& graph, const Progress& progress)
    : m_model(model), m_graph(graph), m_progress(progress), m_unitOf(graph.vertices.size(), kOutsideGroup) {
  std::set<BoxId> known;
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    BoxId box = graph.vertices[i].box;
    m_inBox[box].push_back(static_cast<int>(i));
    while (box.isValid() && known.insert(box).second) {
      const BoxId parent = model.find(box)->parent;
      m_boxesIn[parent].push_back(box);
      box = parent;
    }
  }
}

double Tiers::barWidth(int relay) const {
  return m_graph.width(relay);
}

Block Tiers::boxed(BoxId box) {
  throwIfCancelled(m_progress);
  Block block = inside(box);
  block.pad(kMarginX, kMarginY);
  return block;
}

Block Tiers::inside(BoxId box) {
  Group group;
  if (const auto inner = m_boxesIn.find(box); inner != m_boxesIn.end()) {
    for (const BoxId id : inner->second) {
      group.units.push_back(boxed(id));
    }
  }
  if (const auto direct = m_inBox.find(box); direct != m_inBox.end()) {
    for (const int vertex : direct->second) {
      if (m_graph.vertices[static_cast<std::size_t>(vertex)].kind == Kind::gpu) {
        group.units.push_back(blockOf(m_graph, vertex));
      } else {
        group.relays.push_back(vertex);
      }
    }
  }
  return joined(std::move(group));
}

Block Tiers::all() {
  Group group;
  group.isTop = true;
  if (const auto inner = m_boxesIn.find(BoxId{}); inner != m_boxesIn.end()) {
    for (const BoxId id : inner->second) {
      group.units.push_back(boxed(id));
    }
  }
  std::set<int> taken;
  if (const auto direct = m_inBox.find(BoxId{}); direct != m_inBox.end()) {
    for (Group& cluster : clusters(direct->second)) {
      for (const Block& unit : cluster.units) {
        taken.insert(unit.places.front().first);
      }
      taken.insert(cluster.relays.begin(), cluster.relays.end());
      Block block = joined(std::move(cluster));
      block.pad(kLooseMargin, kLooseMargin);
      group.units.push_back(std::move(block));
    }
    for (const int vertex : direct->second) {
      if (taken.contains(vertex)) {
        continue;
      }
      if (m_graph.vertices[static_cast<std::size_t>(vertex)].kind == Kind::gpu) {
        group.units.push_back(blockOf(m_graph, vertex));
      } else {
        group.relays.push_back(vertex);
      }
    }
  }
  return joined(std::move(group));
}

std::vector<Tiers::Group> Tiers::clusters(const std::vector<int>& loose) const {
  const auto vertex = [&](int i) -> const Graph::Vertex& { return m_graph.vertices[static_cast<std::size_t>(i)]; };
  // Sets of GPUs that share a switch or are joined directly, the strongest first; those that do not cut across each
  // other are taken.
  struct Candidate {
    double bandwidth = 0;
    std::vector<int> gpus;
  };
  std::vector<Candidate> candidates;
  std::vector<int> gpus;
  for (const int i : loose) {
    if (vertex(i).kind == Kind::gpu) {
      gpus.push_back(i);
    }
    if (vertex(i).kind != Kind::bar) {
      continue;
    }
    Candidate candidate;
    for (const Graph::Edge& edge : vertex(i).edges) {
      if (vertex(edge.to).kind == Kind::gpu && !vertex(edge.to).box.isValid()) {
        candidate.gpus.push_back(edge.to);
        candidate.bandwidth += edge.bandwidth;
      }
    }
    if (candidate.gpus.size() > 1) {
      candidate.bandwidth /= static_cast<double>(candidate.gpus.size());
      std::sort(candidate.gpus.begin(), candidate.gpus.end());
      candidates.push_back(std::move(candidate));
    }
  }
  UnionFind direct(m_graph.vertices.size());
  std::map<std::size_t, Candidate> meshes;
  for (const int i : gpus) {
    for (const Graph::Edge& edge : vertex(i).edges) {
      if (vertex(edge.to).kind == Kind::gpu && !vertex(edge.to).box.isValid()) {
        direct.unite(static_cast<std::size_t>(i), static_cast<std::size_t>(edge.to));
      }
    }
  }
  for (const int i : gpus) {
    Candidate& mesh = meshes[direct.find(static_cast<std::size_t>(i))];
    mesh.gpus.push_back(i);
    for (const Graph::Edge& edge : vertex(i).edges) {
      mesh.bandwidth = std::max(mesh.bandwidth, vertex(edge.to).kind == Kind::gpu ? edge.bandwidth : 0);
    }
  }
  for (auto& [root, mesh] : meshes) {
    if (mesh.gpus.size() > 1) {
      candidates.push_back(std::move(mesh));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bandwidth > b.bandwidth; });
  std::map<int, std::size_t> clusterOf;
  std::size_t count = 0;
  for (const Candidate& candidate : candidates) {
    const bool isFree =
        std::none_of(candidate.gpus.begin(), candidate.gpus.end(), [&](int gpu) { return clusterOf.contains(gpu); });
    if (isFree && candidate.gpus.size() < gpus.size()) {
      for (const int gpu : candidate.gpus) {
        clusterOf[gpu] = count;
      }
      ++count;
    }
  }
  if (count < 2) {
    return {};
  }
  std::vector<Group> groups(count);
  for (const int gpu : gpus) {
    if (const auto found = clusterOf.find(gpu); found != clusterOf.end()) {
      groups[found->second].units.push_back(blockOf(m_graph, gpu));
    }
  }
  // What serves the GPUs of one cluster alone comes along, NICs and switches behind them too.
  std::map<int, std::set<std::size_t>> serves;
  for (int round = 0; round < 3; ++round) {
    std::map<int, std::size_t> found;
    for (const int i : loose) {
      if (vertex(i).kind == Kind::gpu || clusterOf.contains(i)) {
        continue;
      }
      std::set<std::size_t> near;
      bool isOpen = false;
      for (const Graph::Edge& edge : vertex(i).edges) {
        const auto cluster = clusterOf.find(edge.to);
        if (cluster != clusterOf.end()) {
          near.insert(cluster->second);
        } else {
          isOpen = isOpen || vertex(edge.to).kind == Kind::gpu;
        }
      }
      // A switch behind switches or NICs alone belongs to the network, unless it leads nowhere else.
      const bool isNext = round == 0 || vertex(i).kind == Kind::nic;
      if (near.size() == 1 && !isOpen && isNext) {
        found[i] = *near.begin();
      }
    }
    for (const auto& [relay, cluster] : found) {
      clusterOf[relay] = cluster;
      groups[cluster].relays.push_back(relay);
    }
  }
  return groups;
}

Block Tiers::joined(Group group) {
  const auto vertex = [&](int i) -> const Graph::Vertex& { return m_graph.vertices[static_cast<std::size_t>(i)]; };
  const auto at = [&](int i) -> int& { return m_unitOf[static_cast<std::size_t>(i)]; };
  if (group.units.empty()) {
    // Switches alone: the first tier stands for units.
    for (const int relay : group.relays) {
      group.units.push_back(blockOf(m_graph, relay));
    }
    group.relays.clear();
  }
  if (group.units.empty()) {
    return {};
  }
  std::stable_sort(group.units.begin(), group.units.end(),
                   [](const Block& a, const Block& b) { return firstOf(a) < firstOf(b); });
  std::sort(group.relays.begin(), group.relays.end());

  const auto mark = [&] {
    for (std::size_t u = 0; u < group.units.size(); ++u) {
      for (const auto& [i, place] : group.units[u].places) {
        at(i) = static_cast<int>(u);
      }
    }
    for (const int relay : group.relays) {
      at(relay) = kRelay;
    }
  };
  const auto unmark = [&] {
    for (const Block& unit : group.units) {
      for (const auto& [i, place] : unit.places) {
        at(i) = kOutsideGroup;
      }
    }
    for (const int relay : group.relays) {
      at(relay) = kOutsideGroup;
    }
  };
  mark();
  const auto leadsOut = [&](int i) {
    return vertex(i).isLinkedOut || std::any_of(vertex(i).edges.begin(), vertex(i).edges.end(),
                                                [&](const Graph::Edge& edge) { return at(edge.to) == kOutsideGroup; });
  };

  // Relays from which a way leads out that avoids all units are above, the rest below. Where nothing leads out, all
  // are above.
  std::vector<int> far;
  bool isOpen = false;
  for (const Block& unit : group.units) {
    isOpen = isOpen || std::any_of(unit.places.begin(), unit.places.end(),
                                   [&](const auto& place) { return leadsOut(place.first); });
  }
  std::set<int> near;
  std::vector<int> open;
  for (const int relay : group.relays) {
    if (leadsOut(relay)) {
      open.push_back(relay);
      near.insert(relay);
    }
  }
  isOpen = isOpen || !open.empty();
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const Graph::Edge& edge : vertex(open[i]).edges) {
      if (at(edge.to) == kRelay && near.insert(edge.to).second) {
        open.push_back(edge.to);
      }
    }
  }
  if (isOpen) {
    std::vector<int> rest;
    for (const int relay : group.relays) {
      (near.contains(relay) ? rest : far).push_back(relay);
    }
    group.relays = std::move(rest);
  }
  const auto tiersOf = [&] {
    std::map<int, std::size_t> tierOf;
    std::vector<int> front;
    for (const int relay : group.relays) {
      if (std::any_of(vertex(relay).edges.begin(), vertex(relay).edges.end(),
                      [&](const Graph::Edge& edge) { return at(edge.to) >= 0; })) {
        tierOf[relay] = 0;
        front.push_back(relay);
      }
    }
    for (std::size_t i = 0; i < front.size(); ++i) {
      for (const Graph::Edge& edge : vertex(front[i]).edges) {
        if (at(edge.to) == kRelay && std::binary_search(group.relays.begin(), group.relays.end(), edge.to) &&
            tierOf.try_emplace(edge.to, tierOf[front[i]] + 1).second) {
          front.push_back(edge.to);
        }
      }
    }
    std::vector<std::vector<int>> tiers;
    for (const int relay : group.relays) {
      const auto found = tierOf.find(relay);
      const std::size_t tier = found != tierOf.end() ? found->second : 0;
      tiers.resize(std::max(tiers.size(), tier + 1));
      tiers[tier].push_back(relay);
    }
    return tiers;
  };

  // Units that are linked directly.
  std::set<std::pair<int, int>> direct;
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    for (const auto& [i, place] : group.units[u].places) {
      for (const Graph::Edge& edge : vertex(i).edges) {
        const int other = at(edge.to);
        if (other > static_cast<int>(u)) {
          direct.emplace(static_cast<int>(u), other);
        }
      }
    }
  }
  if (!direct.empty()) {
    const std::vector<std::pair<int, int>> links(direct.begin(), direct.end());
    const int count = static_cast<int>(group.units.size());
    const bool areBlocks = widest(group.units) > kThin;
    std::vector<QPointF> places;
    if (!areBlocks) {
      places = meshPlaces(count, links, isOpen || !group.relays.empty(), m_progress);
    } else {
      // Round an ellipse, their network sides towards its middle; a great many in rows.
      const double w = widest(group.units) + 2 * kBlockGap;
      const double h = highest(group.units) + 2 * kBlockGap;
      if (count <= 24) {
        const auto on = [&](double grow) {
          places.clear();
          for (int i = 0; i < count; ++i) {
            const double angle = 2 * std::numbers::pi * (i + (count % 2 == 0 ? 0.5 : 0)) / count;
            places.emplace_back(std::round(grow * w * std::sin(angle)), std::round(-grow * h * std::cos(angle)));
          }
          for (int a = 0; a < count; ++a) {
            for (int b = 0; b < a; ++b) {
              const QPointF d = places[static_cast<std::size_t>(a)] - places[static_cast<std::size_t>(b)];
              if (std::abs(d.x()) < w && std::abs(d.y()) < h) {
                return false;
              }
            }
          }
          return true;
        };
        for (double grow = 0.5; !on(grow); grow *= 1.1) {
        }
      } else {
        const auto rows = static_cast<int>(std::max(1.0, std::round(std::sqrt(count * w / h / kWanted))));
        const int columns = (count + rows - 1) / rows;
        for (int i = 0; i < count; ++i) {
          places.emplace_back(i % columns * w, i / columns * h);
        }
      }
    }
    QPointF low(std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
    double middle = 0;
    for (std::size_t u = 0; u < group.units.size(); ++u) {
      const QPointF half(group.units[u].width / 2, group.units[u].height / 2);
      low = {std::min(low.x(), places[u].x() - half.x()), std::min(low.y(), places[u].y() - half.y())};
      middle += places[u].y() / static_cast<double>(count);
    }
    Block field;
    for (std::size_t u = 0; u < group.units.size(); ++u) {
      Block unit = group.units[u];
      if (areBlocks && places[u].y() < middle - 1) {
        unit.flip();
      }
      field.add(unit, places[u] - low - QPointF(unit.width / 2, unit.height / 2));
    }
    const auto tiers = tiersOf();
    unmark();
    for (const int relay : far) {
      at(relay) = kOutsideGroup;
    }
    return stacked({std::move(field)}, tiers, far, Place::open);
  }

  // Pods: what the lowest tier joins, as long as it does not join everything.
  std::vector<std::vector<int>> tiers = tiersOf();
  while (!tiers.empty()) {
    throwIfCancelled(m_progress);
    UnionFind pods(group.units.size());
    std::vector<bool> isJoined(group.units.size());
    for (const int relay : tiers.front()) {
      int first = -1;
      for (const Graph::Edge& edge : vertex(relay).edges) {
        if (const int unit = at(edge.to); unit >= 0) {
          first = first < 0 ? unit : first;
          isJoined[static_cast<std::size_t>(unit)] = true;
          pods.unite(static_cast<std::size_t>(first), static_cast<std::size_t>(unit));
        }
      }
    }
    std::map<std::size_t, std::vector<int>> relaysOf;
    std::vector<int> homeless;
    for (const int relay : tiers.front()) {
      const auto unit = std::find_if(vertex(relay).edges.begin(), vertex(relay).edges.end(),
                                     [&](const Graph::Edge& edge) { return at(edge.to) >= 0; });
      if (unit != vertex(relay).edges.end()) {
        relaysOf[pods.find(static_cast<std::size_t>(at(unit->to)))].push_back(relay);
      } else {
        homeless.push_back(relay);
      }
    }
    std::set<std::size_t> roots;
    for (std::size_t u = 0; u < group.units.size(); ++u) {
      roots.insert(pods.find(u));
    }
    if (roots.size() < 2 || relaysOf.empty()) {
      break;
    }
    unmark();
    std::map<std::size_t, std::vector<Block>> unitsOf;
    for (std::size_t u = 0; u < group.units.size(); ++u) {
      unitsOf[pods.find(u)].push_back(std::move(group.units[u]));
    }
    std::vector<Block> next;
    for (auto& [root, units] : unitsOf) {
      const auto relays = relaysOf.find(root);
      if (relays == relaysOf.end()) {
        for (Block& unit : units) {
          next.push_back(std::move(unit));
        }
      } else {
        next.push_back(
            stacked(std::move(units), {relays->second}, {}, roots.size() > kManyPods ? Place::pod : Place::open));
      }
    }
    for (const int relay : tiers.front()) {
      at(relay) = kOutsideGroup;
    }
    std::vector<int> rest = homeless;
    for (std::size_t t = 1; t < tiers.size(); ++t) {
      rest.insert(rest.end(), tiers[t].begin(), tiers[t].end());
    }
    std::sort(rest.begin(), rest.end());
    const bool isStuck = rest.size() == group.relays.size();
    group.units = std::move(next);
    group.relays = std::move(rest);
    std::stable_sort(group.units.begin(), group.units.end(),
                     [](const Block& a, const Block& b) { return firstOf(a) < firstOf(b); });
    mark();
    tiers = tiersOf();
    if (isStuck) {
      break;
    }
  }
  unmark();
  for (const int relay : far) {
    at(relay) = kOutsideGroup;
  }
  return stacked(std::move(group.units), tiers, far, group.isTop ? Place::top : isOpen ? Place::open : Place::alone);
}

Block Tiers::stacked(std::vector<Block> units, const std::vector<std::vector<int>>& tiers, const std::vector<int>& far,
                     Place role) {
  const bool isTop = role == Place::top;
  const double w = widest(units);
  const double h = highest(units);
  const auto count = static_cast<double>(units.size());
  const bool areThin = w <= kThin;
  const bool hasHub = !tiers.empty();
  // Lines that leave a unit: what the ways between units must hold.
  double linesOut = 0;
  if (!areThin) {
    std::set<int> inside;
    for (const Block& unit : units) {
      std::set<int> own;
      for (const auto& [i, place] : unit.places) {
        own.insert(i);
      }
      double lines = 0;
      for (const int i : own) {
        for (const Graph::Edge& edge : m_graph.vertices[static_cast<std::size_t>(i)].edges) {
          lines += own.contains(edge.to) ? 0 : 1;
        }
      }
      linesOut = std::max(linesOut, lines);
    }
  }
  double hubWidth = 0;
  for (const std::vector<int>& tier : tiers) {
    double width = 0;
    for (const int relay : tier) {
      width += barWidth(relay) + kBarGap;
    }
    hubWidth = std::max(hubWidth, width);
  }

  // How many rows: what comes nearest to the wanted shape, about the network where that is everything's.
  std::size_t rows = 1;
  bool isFolded = false;
  const auto gapsFor = [&](std::size_t r) {
    const double behind = static_cast<double>(isFolded ? (r + 1) / 2 : r) - 1;
    return std::pair(areThin ? kGap : kBlockGap + kPerLine * linesOut * behind,
                     areThin ? kGap : kBlockGap + (behind > 0 ? kPerLine * linesOut : 0));
  };
  const std::size_t maxInRow = role == Place::pod ? kMaxInPodRow : kMaxInRow;
  if (areThin && units.size() > maxInRow && (hasHub || !far.empty() || linesOut == 0)) {
    rows = units.size() > 64 ? 3 : 2;
  } else if (!areThin && units.size() > 1) {
    const double hubHeight = hasHub ? 2 * kHubGap + 60 * static_cast<double>(tiers.size()) : 0;
    double best = std::numeric_limits<double>::max();
    const std::size_t most = std::min<std::size_t>(units.size(), 40);
    const double rowAspect = (w + kBlockGap) * count / (h + hubHeight);
    // A tree with its leaves in a row is what everybody knows; it is folded only where it grows too wide.
    const bool isTree = std::all_of(units.begin(), units.end(), [&](const Block& unit) {
      return std::any_of(unit.places.begin(), unit.places.end(), [&](const auto& place) {
        const Graph::Vertex& vertex = m_graph.vertices[static_cast<std::size_t>(place.first)];
        return vertex.kind == Kind::bar &&
               std::any_of(vertex.edges.begin(), vertex.edges.end(), [&](const Graph::Edge& edge) {
                 return m_graph.vertices[static_cast<std::size_t>(edge.to)].kind == Kind::bar;
               });
      });
    });
    const bool staysTree = hasHub && isTree && rowAspect <= (w > kWideUnit ? kMaxWideAspect : kMaxAspect);
    // Inside a box a row stays a row: what is below and above it is reached straight.
    if (!staysTree && (isTop || rowAspect > 3 * kMaxAspect)) {
      for (std::size_t r = 1; r <= most; ++r) {
        const std::size_t columns = (units.size() + r - 1) / r;
        if ((units.size() + columns - 1) / columns != r) {
          continue;
        }
        isFolded = isTop && hasHub && r > 1;
        const auto [gapX, gapY] = gapsFor(r);
        const double width = std::max((w + gapX) * static_cast<double>(columns), hubWidth * 0.4);
        const double height = (h + gapY) * static_cast<double>(r) + hubHeight;
        const double empty = static_cast<double>(columns * r) / count;
        // Rows behind others have long ways; an odd number of them is not the same above and below.
        const double behind = isFolded ? static_cast<double>((r + 1) / 2 - 1) : static_cast<double>(r - 1);
        const double cost = std::abs(std::log(width / height / kWanted)) + std::log(empty) +
                            (hasHub ? 0.2 * behind + (isFolded && r % 2 == 1 ? 0.35 : 0) : 0);
        if (cost < best) {
          best = cost;
          rows = r;
        }
      }
    }
    isFolded = isTop && hasHub && rows > 1;
  }
  const auto [gapX, gapY] = gapsFor(rows);

  Block block;
  const double growth = 0.03 * (w + gapX) * std::ceil(count / static_cast<double>(rows));
  const double hubGap = areThin ? kInnerGap : std::clamp(kHubGap + growth - 40, kHubGap, 420.0);
  if (role == Place::alone && areThin && units.size() > kMaxOneSided && tiers.size() == 1 && far.empty()) {
    // GPUs on both sides of their switch.
    const std::size_t half = (units.size() + 1) / 2;
    Block above = staggered({units.begin(), units.begin() + static_cast<std::ptrdiff_t>(half)}, 2);
    above.flip();
    const Block below = staggered({units.begin() + static_cast<std::ptrdiff_t>(half), units.end()}, 2);
    block.add(above, {0, 0});
    const double height = addRelays(block, tiers.front(), above.height, kInnerGap, false, 0, above.width);
    block.add(below, {0, above.height + 2 * kInnerGap + height});
  } else if (isFolded) {
    const std::size_t columns = (units.size() + rows - 1) / rows;
    const std::size_t split = std::min(units.size(), columns * ((rows + 1) / 2));
    std::vector<Block> above(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(split));
    std::vector<Block> below(units.begin() + static_cast<std::ptrdiff_t>(split), units.end());
    for (Block& unit : above) {
      unit.flip();
    }
    // Short units are next to the network.
    const Block top = [&] {
      Block field;
      const std::size_t n = (rows + 1) / 2;
      for (Block& unit : above) {
        Block level;
        level.add(unit, {0, highest(above) - unit.height});
        level.height = highest(above);
        unit = std::move(level);
      }
      field = inRows(above, n, gapX, gapY);
      return field;
    }();
    const Block bottom = inRows(below, rows / 2, gapX, gapY);
    const double width = std::max(top.width, bottom.width);
    block.add(top, {(width - top.width) / 2, 0});
    // Relays are placed by where both sides are.
    Block both = block;
    both.add(bottom, {(width - bottom.width) / 2, top.height});
    Block hub = both;
    double y = top.height + hubGap;
    const std::size_t before = hub.places.size();
    for (const std::vector<int>& tier : tiers) {
      y += addRelays(hub, tier, y, 0, false, 0, width) + 70;
    }
    for (std::size_t i = before; i < hub.places.size(); ++i) {
      block.places.push_back(hub.places[i]);
    }
    block.add(bottom, {(width - bottom.width) / 2, y - 70 + hubGap});
  } else {
    Block field;
    if (units.size() == 1) {
      field = std::move(units.front());
    } else if (areThin && rows > 1) {
      field = staggered(units, rows);
    } else if (rows > 1) {
      field = inRows(units, rows, gapX, gapY);
    } else {
      field = inRow(units, areThin ? kGap : kBlockGap);
    }
    const double width = field.width;
    block = std::move(field);
    double top = 0;
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const bool isNics = std::all_of(tiers[t].begin(), tiers[t].end(), [&](int relay) {
        return m_graph.vertices[static_cast<std::size_t>(relay)].kind == Kind::nic;
      });
      const double gap = isNics ? kInnerGap : (t == 0 ? hubGap : std::max(90.0, hubGap * 0.8));
      top -= addRelays(block, tiers[t], top, gap, true, 0, width) + gap;
    }
    if (!far.empty()) {
      addRelays(block, far, block.height, kInnerGap, false, 0, width);
    }
  }
  // To the corner.
  QRectF all;
  for (const auto& [i, place] : block.places) {
    const QSizeF size(m_graph.width(i), m_graph.height(i));
    all |= QRectF(place - QPointF(size.width() / 2, size.height() / 2), size);
  }
  // Margins of boxes at the rim count too.
  const QRectF frame = all | QRectF(0, 0, block.width, block.height);
  Block result;
  for (const auto& [i, place] : block.places) {
    result.places.emplace_back(i, place - frame.topLeft());
  }
  result.width = frame.width();
  result.height = frame.height();
  return result;
}

double Tiers::addRelays(Block& block, const std::vector<int>& relays, double top, double gap, bool isAbove, double left,
                        double right) {
  std::map<int, QPointF> placed;
  for (const auto& [i, place] : block.places) {
    placed[i] = place;
  }
  struct Wanted {
    int relay;
    double x;
  };
  std::vector<Wanted> wanted;
  double total = 0;
  for (const int relay : relays) {
    double sum = 0;
    double weight = 0;
    for (const Graph::Edge& edge : m_graph.vertices[static_cast<std::size_t>(relay)].edges) {
      if (const auto found = placed.find(edge.to); found != placed.end()) {
        sum += found->second.x();
        weight += 1;
      }
    }
    wanted.push_back({relay, weight > 0 ? sum / weight : (left + right) / 2});
    const bool isNic = m_graph.vertices[static_cast<std::size_t>(relay)].kind == Kind::nic;
    total += barWidth(relay) + (isNic ? kNicGap : kBarGap);
  }
  // Those that are led to from nearly the same place keep their natural order.
  const double same = std::max(10.0, (right - left) * 0.02);
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Wanted& a, const Wanted& b) { return std::floor(a.x / same) < std::floor(b.x / same); });
  const double most = std::max({(right - left) * 1.25, 700.0});
  const auto rows = static_cast<std::size_t>(std::max(1.0, std::ceil(total / most - 0.001)));
  const std::size_t perRow = (wanted.size() + rows - 1) / rows;
  double height = 0;
  double y = top - (isAbove ? gap : -gap);
  for (std::size_t start = 0; start < wanted.size(); start += perRow) {
    const std::size_t end = std::min(wanted.size(), start + perRow);
    std::vector<double> centres;
    std::vector<double> widths;
    double rowHeight = 0;
    double sum = 0;
    for (std::size_t i = start; i < end; ++i) {
      centres.push_back(wanted[i].x);
      widths.push_back(barWidth(wanted[i].relay));
      sum += widths.back();
      rowHeight = std::max(rowHeight, m_graph.height(wanted[i].relay));
    }
    // A bar between two close neighbours may be narrower than its ports ask for.
    const double room = (right - left) - kBarGap * static_cast<double>(widths.size() - 1);
    if (sum > room && room > 0) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        if (m_graph.vertices[static_cast<std::size_t>(wanted[start + i].relay)].box.isValid() && widths[i] > 72) {
          widths[i] = std::max(72.0, widths[i] * room / sum);
        }
      }
    }
    const bool areNics = rowHeight < 30;
    const std::vector<double> x = spreadOut(centres, widths, areNics ? kNicGap : kBarGap);
    for (std::size_t i = start; i < end; ++i) {
      block.places.emplace_back(wanted[i].relay,
                                QPointF(x[i - start], isAbove ? y - rowHeight / 2 : y + rowHeight / 2));
    }
    const double step = rowHeight + (end < wanted.size() ? 50 : 0);
    y += isAbove ? -step : step;
    height += step;
  }
  if (!isAbove) {
    block.height = std::max(block.height, top + gap + height);
  }
  return height;
}

}  // namespace coppice::designer::arrangement
