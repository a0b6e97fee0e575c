// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/arrangement_blocks.hpp"

#include <QRectF>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <set>
#include <utility>

#include "base/disjoint_sets.hpp"
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

void sortByFirst(std::vector<Block>& units) {
  std::stable_sort(units.begin(), units.end(), [](const Block& a, const Block& b) { return firstOf(a) < firstOf(b); });
}

/// Centres on an ellipse; a great many in rows.
std::vector<QPointF> placesAround(const std::vector<Block>& units) {
  const int count = static_cast<int>(units.size());
  const double w = widest(units) + 2 * kBlockGap;
  const double h = highest(units) + 2 * kBlockGap;
  std::vector<QPointF> places;
  constexpr int kMaxOnEllipse = 24;
  if (count > kMaxOnEllipse) {
    const auto rows = static_cast<int>(std::max(1.0, std::round(std::sqrt(count * w / h / kWanted))));
    const int columns = (count + rows - 1) / rows;
    for (int i = 0; i < count; ++i) {
      places.emplace_back(i % columns * w, i / columns * h);
    }
    return places;
  }
  const auto fitsAt = [&](double grow) {
    places.clear();
    for (int i = 0; i < count; ++i) {
      const double angle = 2 * std::numbers::pi * (i + (count % 2 == 0 ? 0.5 : 0)) / count;
      places.emplace_back(std::round(grow * w * std::sin(angle)), std::round(-grow * h * std::cos(angle)));
    }
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const QPointF d = places[a] - places[b];
        if (std::abs(d.x()) < w && std::abs(d.y()) < h) {
          return false;
        }
      }
    }
    return true;
  };
  for (double grow = 0.5; !fitsAt(grow); grow *= 1.1) {
  }
  return places;
}

/// Units at their centres. Blocks above the middle turn their network sides towards it.
Block placed(const std::vector<Block>& units, const std::vector<QPointF>& places, bool areBlocks) {
  QPointF low(std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  double middle = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const QPointF half(units[u].width / 2, units[u].height / 2);
    low = {std::min(low.x(), places[u].x() - half.x()), std::min(low.y(), places[u].y() - half.y())};
    middle += places[u].y() / static_cast<double>(units.size());
  }
  Block field;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Block unit = units[u];
    if (areBlocks && places[u].y() < middle - 1) {
      unit.flip();
    }
    field.add(unit, places[u] - low - QPointF(unit.width / 2, unit.height / 2));
  }
  return field;
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
      if (m_graph.vertices[vertex].kind == Kind::gpu) {
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
      if (m_graph.vertices[vertex].kind == Kind::gpu) {
        group.units.push_back(blockOf(m_graph, vertex));
      } else {
        group.relays.push_back(vertex);
      }
    }
  }
  return joined(std::move(group));
}

struct Tiers::Candidate {
  double bandwidth = 0;
  std::vector<int> gpus;
};

bool Tiers::isLooseGpu(int i) const {
  return vertex(i).kind == Kind::gpu && !vertex(i).box.isValid();
}

/// Sets of GPUs that share a switch or are joined directly, the strongest first.
std::vector<Tiers::Candidate> Tiers::candidatesAmong(const std::vector<int>& loose) const {
  std::vector<Candidate> candidates;
  DisjointSets direct(m_graph.vertices.size());
  for (const int i : loose) {
    if (vertex(i).kind == Kind::gpu) {
      for (const Graph::Edge& edge : vertex(i).edges) {
        if (isLooseGpu(edge.to)) {
          direct.join(i, edge.to);
        }
      }
    }
    if (vertex(i).kind != Kind::bar) {
      continue;
    }
    Candidate candidate;
    for (const Graph::Edge& edge : vertex(i).edges) {
      if (isLooseGpu(edge.to)) {
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
  std::map<int, Candidate> meshes;
  for (const int i : loose) {
    if (vertex(i).kind != Kind::gpu) {
      continue;
    }
    Candidate& mesh = meshes[direct.find(i)];
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
  return candidates;
}

/// The first candidates that do not cut across each other.
std::vector<Tiers::Group> Tiers::clusters(const std::vector<int>& loose) const {
  const auto gpus = std::ranges::count_if(loose, [&](int i) { return vertex(i).kind == Kind::gpu; });
  std::map<int, std::size_t> clusterOf;
  std::size_t count = 0;
  for (const Candidate& candidate : candidatesAmong(loose)) {
    const bool isFree = std::ranges::none_of(candidate.gpus, [&](int gpu) { return clusterOf.contains(gpu); });
    if (isFree && std::ssize(candidate.gpus) < gpus) {
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
  for (const int i : loose) {
    if (const auto found = clusterOf.find(i); found != clusterOf.end()) {
      groups[found->second].units.push_back(blockOf(m_graph, i));
    }
  }
  addRelaysOf(loose, clusterOf, groups);
  return groups;
}

/// What serves the GPUs of one cluster alone comes along, NICs and switches behind them too.
void Tiers::addRelaysOf(const std::vector<int>& loose, std::map<int, std::size_t>& clusterOf,
                        std::vector<Group>& groups) const {
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
}

void Tiers::mark(const Group& group) {
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    for (const auto& [i, place] : group.units[u].places) {
      unitOf(i) = static_cast<int>(u);
    }
  }
  for (const int relay : group.relays) {
    unitOf(relay) = kRelay;
  }
}

void Tiers::unmark(const Group& group, const std::vector<int>& far) {
  for (const Block& unit : group.units) {
    for (const auto& [i, place] : unit.places) {
      unitOf(i) = kOutsideGroup;
    }
  }
  for (const std::vector<int>& relays : {group.relays, far}) {
    for (const int relay : relays) {
      unitOf(relay) = kOutsideGroup;
    }
  }
}

bool Tiers::leadsOut(int i) const {
  const Graph::Vertex& own = vertex(i);
  return own.isLinkedOut || std::any_of(own.edges.begin(), own.edges.end(),
                                        [this](const Graph::Edge& edge) { return unitOf(edge.to) == kOutsideGroup; });
}

bool Tiers::leadsOut(const Group& group) const {
  return std::any_of(group.relays.begin(), group.relays.end(), [this](int relay) { return leadsOut(relay); }) ||
         std::any_of(group.units.begin(), group.units.end(), [this](const Block& unit) {
           return std::any_of(unit.places.begin(), unit.places.end(),
                              [this](const auto& place) { return leadsOut(place.first); });
         });
}

std::vector<int> Tiers::takeFarRelays(Group& group) const {
  std::set<int> near;
  std::vector<int> open;
  for (const int relay : group.relays) {
    if (leadsOut(relay)) {
      open.push_back(relay);
      near.insert(relay);
    }
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    for (const Graph::Edge& edge : vertex(open[i]).edges) {
      if (unitOf(edge.to) == kRelay && near.insert(edge.to).second) {
        open.push_back(edge.to);
      }
    }
  }
  std::vector<int> far;
  std::vector<int> rest;
  for (const int relay : group.relays) {
    (near.contains(relay) ? rest : far).push_back(relay);
  }
  group.relays = std::move(rest);
  return far;
}

std::vector<std::vector<int>> Tiers::tiersOf(const Group& group) const {
  std::map<int, std::size_t> tierOf;
  std::vector<int> front;
  for (const int relay : group.relays) {
    if (firstUnitOf(relay)) {
      tierOf[relay] = 0;
      front.push_back(relay);
    }
  }
  for (std::size_t i = 0; i < front.size(); ++i) {
    for (const Graph::Edge& edge : vertex(front[i]).edges) {
      if (unitOf(edge.to) == kRelay && std::binary_search(group.relays.begin(), group.relays.end(), edge.to) &&
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
}

std::optional<int> Tiers::firstUnitOf(int relay) const {
  for (const Graph::Edge& edge : vertex(relay).edges) {
    if (unitOf(edge.to) >= 0) {
      return unitOf(edge.to);
    }
  }
  return std::nullopt;
}

std::vector<std::pair<int, int>> Tiers::directLinks(const Group& group) const {
  std::set<std::pair<int, int>> direct;
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    for (const auto& [i, place] : group.units[u].places) {
      for (const Graph::Edge& edge : vertex(i).edges) {
        const int other = unitOf(edge.to);
        if (other > static_cast<int>(u)) {
          direct.emplace(static_cast<int>(u), other);
        }
      }
    }
  }
  return {direct.begin(), direct.end()};
}

Block Tiers::joined(Group group) {
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
  sortByFirst(group.units);
  std::sort(group.relays.begin(), group.relays.end());
  mark(group);

  // Relays from which a route leads out that avoids all units are above, the rest below. Where nothing leads out, all
  // are above.
  const bool isOpen = leadsOut(group);
  const std::vector<int> far = isOpen ? takeFarRelays(group) : std::vector<int>{};
  const std::vector<std::pair<int, int>> links = directLinks(group);
  if (!links.empty()) {
    const bool areBlocks = widest(group.units) > kThin;
    const std::vector<QPointF> places = areBlocks ? placesAround(group.units)
                                                  : meshPlaces(static_cast<int>(group.units.size()), links,
                                                               isOpen || !group.relays.empty(), m_progress);
    Block field = placed(group.units, places, areBlocks);
    const auto tiers = tiersOf(group);
    unmark(group, far);
    return stacked({std::move(field)}, tiers, far, Place::open);
  }
  std::vector<std::vector<int>> tiers = tiersOf(group);
  while (!tiers.empty() && joinPods(group, tiers)) {
  }
  unmark(group, far);
  return stacked(std::move(group.units), tiers, far, group.isTop ? Place::top : isOpen ? Place::open : Place::alone);
}

bool Tiers::joinPods(Group& group, std::vector<std::vector<int>>& tiers) {
  throwIfCancelled(m_progress);
  DisjointSets pods(group.units.size());
  std::vector<int> homeless;
  for (const int relay : tiers.front()) {
    const auto first = firstUnitOf(relay);
    if (!first) {
      homeless.push_back(relay);
    }
    for (const Graph::Edge& edge : vertex(relay).edges) {
      if (const int unit = unitOf(edge.to); unit >= 0) {
        pods.join(*first, unit);
      }
    }
  }
  std::map<int, std::vector<int>> relaysOf;
  for (const int relay : tiers.front()) {
    if (const auto first = firstUnitOf(relay)) {
      relaysOf[pods.find(*first)].push_back(relay);
    }
  }
  std::map<int, std::vector<std::size_t>> unitsOf;
  for (std::size_t u = 0; u < group.units.size(); ++u) {
    unitsOf[pods.find(static_cast<int>(u))].push_back(u);
  }
  if (unitsOf.size() < 2 || relaysOf.empty()) {
    return false;
  }
  unmark(group, {});
  std::vector<Block> next;
  for (const auto& [root, members] : unitsOf) {
    std::vector<Block> units;
    for (const std::size_t u : members) {
      units.push_back(std::move(group.units[u]));
    }
    const auto relays = relaysOf.find(root);
    if (relays == relaysOf.end()) {
      std::move(units.begin(), units.end(), std::back_inserter(next));
    } else {
      next.push_back(
          stacked(std::move(units), {relays->second}, {}, unitsOf.size() > kManyPods ? Place::pod : Place::open));
    }
  }
  std::vector<int> rest = homeless;
  for (std::size_t t = 1; t < tiers.size(); ++t) {
    rest.insert(rest.end(), tiers[t].begin(), tiers[t].end());
  }
  std::sort(rest.begin(), rest.end());
  const bool isStuck = rest.size() == group.relays.size();
  group.units = std::move(next);
  group.relays = std::move(rest);
  sortByFirst(group.units);
  mark(group);
  tiers = tiersOf(group);
  return !isStuck;
}

/// What decides the rows of a stack.
struct Tiers::Stack {
  double width;   ///< of the widest unit
  double height;  ///< of the highest unit
  double count;   ///< of units
  bool areThin;
  bool isTop;
  std::size_t tiers;
  double hubWidth;      ///< of the widest tier
  double linesOut = 0;  ///< the most lines that leave a unit: what the gaps between units must hold

  [[nodiscard]] bool hasHub() const { return tiers > 0; }
  [[nodiscard]] double hubHeight() const { return hasHub() ? 2 * kHubGap + 60 * static_cast<double>(tiers) : 0; }
  [[nodiscard]] std::pair<double, double> gaps(std::size_t rows, bool isFolded) const {
    const double behind = static_cast<double>(isFolded ? (rows + 1) / 2 : rows) - 1;
    return {areThin ? kGap : kBlockGap + kPerLine * linesOut * behind,
            areThin ? kGap : kBlockGap + (behind > 0 ? kPerLine * linesOut : 0)};
  }
  /// Of r rows; the smaller the better.
  [[nodiscard]] double cost(std::size_t r, std::size_t columns) const {
    const bool isFolded = isTop && hasHub() && r > 1;
    const auto [gapX, gapY] = gaps(r, isFolded);
    const double wide = std::max((width + gapX) * static_cast<double>(columns), hubWidth * 0.4);
    const double high = (height + gapY) * static_cast<double>(r) + hubHeight();
    const double empty = static_cast<double>(columns * r) / count;
    // Rows behind others have long routes; an odd number of them is not the same above and below.
    const double behind = isFolded ? static_cast<double>((r + 1) / 2 - 1) : static_cast<double>(r - 1);
    return std::abs(std::log(wide / high / kWanted)) + std::log(empty) +
           (hasHub() ? 0.2 * behind + (isFolded && r % 2 == 1 ? 0.35 : 0) : 0);
  }
};

Tiers::Stack Tiers::measured(const std::vector<Block>& units, const std::vector<std::vector<int>>& tiers,
                             Place role) const {
  Stack stack{.width = widest(units),
              .height = highest(units),
              .count = static_cast<double>(units.size()),
              .areThin = widest(units) <= kThin,
              .isTop = role == Place::top,
              .tiers = tiers.size(),
              .hubWidth = 0};
  for (const std::vector<int>& tier : tiers) {
    double width = 0;
    for (const int relay : tier) {
      width += barWidth(relay) + kBarGap;
    }
    stack.hubWidth = std::max(stack.hubWidth, width);
  }
  if (stack.areThin) {
    return stack;
  }
  for (const Block& unit : units) {
    std::set<int> own;
    for (const auto& [i, place] : unit.places) {
      own.insert(i);
    }
    double lines = 0;
    for (const int i : own) {
      for (const Graph::Edge& edge : vertex(i).edges) {
        lines += own.contains(edge.to) ? 0 : 1;
      }
    }
    stack.linesOut = std::max(stack.linesOut, lines);
  }
  return stack;
}

bool Tiers::areTrees(const std::vector<Block>& units) const {
  const auto isBar = [this](int i) { return vertex(i).kind == Kind::bar; };
  return std::all_of(units.begin(), units.end(), [&](const Block& unit) {
    return std::any_of(unit.places.begin(), unit.places.end(), [&](const auto& place) {
      const std::vector<Graph::Edge>& edges = vertex(place.first).edges;
      return isBar(place.first) &&
             std::any_of(edges.begin(), edges.end(), [&](const Graph::Edge& edge) { return isBar(edge.to); });
    });
  });
}

std::size_t Tiers::rowsOf(const Stack& stack, const std::vector<Block>& units, bool hasFar, Place role) const {
  const std::size_t maxInRow = role == Place::pod ? kMaxInPodRow : kMaxInRow;
  if (stack.areThin) {
    if (units.size() > maxInRow && (stack.hasHub() || hasFar || stack.linesOut == 0)) {
      return units.size() > 64 ? 3 : 2;
    }
    return 1;
  }
  const double rowAspect = (stack.width + kBlockGap) * stack.count / (stack.height + stack.hubHeight());
  // A tree with its leaves in a row is the usual picture; it is folded only where it grows too wide.
  const bool staysTree =
      stack.hasHub() && areTrees(units) && rowAspect <= (stack.width > kWideUnit ? kMaxWideAspect : kMaxAspect);
  // Inside a box a row stays a row: what is below and above it is reached straight.
  if (units.size() < 2 || staysTree || !(stack.isTop || rowAspect > 3 * kMaxAspect)) {
    return 1;
  }
  std::size_t rows = 1;
  double best = std::numeric_limits<double>::max();
  constexpr std::size_t kMaxRows = 40;
  for (std::size_t r = 1; r <= std::min(units.size(), kMaxRows); ++r) {
    const std::size_t columns = (units.size() + r - 1) / r;
    if ((units.size() + columns - 1) / columns != r) {
      continue;
    }
    const double cost = stack.cost(r, columns);
    if (cost < best) {
      best = cost;
      rows = r;
    }
  }
  return rows;
}

Block Tiers::stacked(std::vector<Block> units, const std::vector<std::vector<int>>& tiers, const std::vector<int>& far,
                     Place role) {
  const Stack stack = measured(units, tiers, role);
  const std::size_t rows = rowsOf(stack, units, !far.empty(), role);
  const bool isFolded = !stack.areThin && stack.isTop && stack.hasHub() && rows > 1;
  const auto [gapX, gapY] = stack.gaps(rows, isFolded);
  const double growth = 0.03 * (stack.width + gapX) * std::ceil(stack.count / static_cast<double>(rows));
  const double hubGap = stack.areThin ? kInnerGap : std::clamp(kHubGap + growth - 40, kHubGap, 420.0);
  if (role == Place::alone && stack.areThin && units.size() > kMaxOneSided && tiers.size() == 1 && far.empty()) {
    return toCorner(onBothSides(units, tiers.front()));
  }
  if (isFolded) {
    return toCorner(foldedAround(std::move(units), tiers, rows, {gapX, gapY}, hubGap));
  }
  Block block = units.size() == 1           ? std::move(units.front())
                : stack.areThin && rows > 1 ? staggered(units, rows)
                : rows > 1                  ? inRows(units, rows, gapX, gapY)
                                            : inRow(units, stack.areThin ? kGap : kBlockGap);
  const double width = block.width;
  double top = 0;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const bool areNics =
        std::all_of(tiers[t].begin(), tiers[t].end(), [this](int relay) { return vertex(relay).kind == Kind::nic; });
    const double gap = areNics ? kInnerGap : (t == 0 ? hubGap : std::max(90.0, hubGap * 0.8));
    top -= addRelays(block, tiers[t], top, gap, true, 0, width) + gap;
  }
  if (!far.empty()) {
    addRelays(block, far, block.height, kInnerGap, false, 0, width);
  }
  return toCorner(block);
}

Block Tiers::onBothSides(const std::vector<Block>& units, const std::vector<int>& relays) {
  const auto half = static_cast<std::ptrdiff_t>((units.size() + 1) / 2);
  Block above = staggered({units.begin(), units.begin() + half}, 2);
  above.flip();
  const Block below = staggered({units.begin() + half, units.end()}, 2);
  Block block;
  block.add(above, {0, 0});
  const double height = addRelays(block, relays, above.height, kInnerGap, false, 0, above.width);
  block.add(below, {0, above.height + 2 * kInnerGap + height});
  return block;
}

Block Tiers::foldedAround(std::vector<Block> units, const std::vector<std::vector<int>>& tiers, std::size_t rows,
                          QPointF gaps, double hubGap) {
  const std::size_t columns = (units.size() + rows - 1) / rows;
  const auto split = static_cast<std::ptrdiff_t>(std::min(units.size(), columns * ((rows + 1) / 2)));
  std::vector<Block> above(units.begin(), units.begin() + split);
  const std::vector<Block> below(units.begin() + split, units.end());
  // Short units are next to the network.
  const double highestAbove = highest(above);
  for (Block& unit : above) {
    unit.flip();
    Block level;
    level.add(unit, {0, highestAbove - unit.height});
    level.height = highestAbove;
    unit = std::move(level);
  }
  const Block top = inRows(above, (rows + 1) / 2, gaps.x(), gaps.y());
  const Block bottom = inRows(below, rows / 2, gaps.x(), gaps.y());
  const double width = std::max(top.width, bottom.width);
  Block block;
  block.add(top, {(width - top.width) / 2, 0});
  // Relays are placed by where both sides are.
  Block hub = block;
  hub.add(bottom, {(width - bottom.width) / 2, top.height});
  double y = top.height + hubGap;
  const std::size_t before = hub.places.size();
  constexpr double kTierGap = 70;
  for (const std::vector<int>& tier : tiers) {
    y += addRelays(hub, tier, y, 0, false, 0, width) + kTierGap;
  }
  for (std::size_t i = before; i < hub.places.size(); ++i) {
    block.places.push_back(hub.places[i]);
  }
  block.add(bottom, {(width - bottom.width) / 2, y - kTierGap + hubGap});
  return block;
}

Block Tiers::toCorner(const Block& block) const {
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
    for (const Graph::Edge& edge : m_graph.vertices[relay].edges) {
      if (const auto found = placed.find(edge.to); found != placed.end()) {
        sum += found->second.x();
        weight += 1;
      }
    }
    wanted.push_back({relay, weight > 0 ? sum / weight : (left + right) / 2});
    const bool isNic = m_graph.vertices[relay].kind == Kind::nic;
    total += barWidth(relay) + (isNic ? kNicGap : kBarGap);
  }
  // Those that are led to from nearly the same place keep their natural order.
  const double same = std::max(10.0, (right - left) * 0.02);
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Wanted& a, const Wanted& b) { return std::floor(a.x / same) < std::floor(b.x / same); });
  const double max = std::max({(right - left) * 1.25, 700.0});
  const auto rows = static_cast<std::size_t>(std::max(1.0, std::ceil(total / max - 0.001)));
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
        if (m_graph.vertices[wanted[start + i].relay].box.isValid() && widths[i] > 72) {
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
