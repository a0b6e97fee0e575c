// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_scene.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/units.hpp"
#include "designer/document/fold_view.hpp"
#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

constexpr double kPortMargin = 14;   // of a bar's rounded ends
constexpr double kMostPortGap = 28;  // between lines that leave a bar without a place of their own
constexpr double kNodePortGap = 9;   // between lines that leave a small node
constexpr double kRim = 8;           // of a box, where it can be grabbed
constexpr double kTitleHeight = 30;
constexpr std::size_t kMostRouted = 60000;  // lines that look for a way round nodes
constexpr std::size_t kMostBundles = 500;
constexpr std::size_t kMostUnindexed = 64;  // things of a level that are simply gone through
constexpr double kLaneGap = 7;              // between lines that share a passage

QString text(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

QString counted(const Model& model, const std::vector<NodeId>& nodes) {
  int gpus = 0;
  for (const NodeId id : nodes) {
    gpus += model.find(id)->kind() == fabric::NodeKind::gpu ? 1 : 0;
  }
  if (gpus == 0) {
    return nodes.empty() ? QString()
                         : QCoreApplication::translate("Canvas", "%n node(s)", nullptr, static_cast<int>(nodes.size()));
  }
  return gpus == 1 ? QCoreApplication::translate("Canvas", "1 GPU")
                   : QCoreApplication::translate("Canvas", "%1 GPUs").arg(gpus);
}

}  // namespace

QString shortLabel(const Model& model, NodeId id) {
  const Node* node = model.find(id);
  if (node == nullptr) {
    return {};
  }
  const QString name = text(node->facts.name);
  if (node->kind() == fabric::NodeKind::gpu || node->kind() == fabric::NodeKind::nic) {
    qsizetype start = name.size();
    while (start > 0 && name[start - 1].isDigit() && name.size() - start < 4) {
      --start;
    }
    if (start < name.size()) {
      return name.mid(start);
    }
    return name;
  }
  const Box* box = model.find(node->facts.box);
  const QString prefix = box != nullptr ? text(box->name) : QString();
  if (!prefix.isEmpty() && name.startsWith(prefix) && name.size() > prefix.size()) {
    QString rest = name.mid(prefix.size());
    while (!rest.isEmpty() && !rest.front().isLetterOrNumber()) {
      rest.remove(0, 1);
    }
    return rest.isEmpty() ? name : rest;
  }
  return name;
}

CanvasScene::CanvasScene(const Model& model) : m_model(model) {}

void CanvasScene::rebuild() {
  m_isStale = true;
}

void CanvasScene::ensure() const {
  // What is shown is a function of the model alone; that it is worked out late is nobody's business.
  if (m_isStale) {
    const_cast<CanvasScene*>(this)->build();
  }
}

void CanvasScene::build() {
  m_isStale = false;
  m_nodes.clear();
  m_boxes.clear();
  m_lines.clear();
  m_notes.clear();
  m_ports.clear();
  m_nodeAt.clear();
  m_boxAt.clear();
  m_lineAt.clear();
  m_noteAt.clear();
  m_nodeIndex.clear();
  m_lineIndex.clear();
  m_bundles.reset();
  m_bounds.reset();
  addNodes();
  addLines();
  placeTitles();
  addLevels();
  std::vector<std::uint32_t> all(m_nodes.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  route(all);
  placeNumbers();
  for (const auto& [id, note] : m_model.notes()) {
    m_noteAt[id] = static_cast<std::uint32_t>(m_notes.size());
    m_notes.push_back({id, noteRect(m_model, id), text(note.text)});
  }
}

void CanvasScene::addNodes() {
  const auto add = [&](NodeItem item) {
    const auto at = static_cast<std::uint32_t>(m_nodes.size());
    m_nodeAt[item.id] = at;
    m_nodeIndex.insert(at, item.rect);
    m_nodes.push_back(std::move(item));
  };
  for (const auto& [id, node] : m_model.nodes()) {
    if (visibleEnd(m_model, id) != ElementId(id)) {
      continue;
    }
    NodeItem item;
    item.id = id;
    item.rect = nodeRect(m_model, id);
    const auto kind = node.kind();
    item.shape = !kind                            ? Shape::unknown
                 : *kind == fabric::NodeKind::gpu ? Shape::gpu
                 : *kind == fabric::NodeKind::nic ? Shape::nic
                                                  : Shape::switchBar;
    item.label = shortLabel(m_model, id);
    item.isPinned = node.drawing.isPinned;
    item.isCapable = node.facts.multicast || node.facts.aggregation;
    add(std::move(item));
  }
  // Outer boxes first, so that inner ones are painted over them. Nesting is a tree, walked from the top.
  struct Open {
    BoxId id;
    int depth;
    std::int32_t parent;
  };
  std::vector<Open> open;
  for (const BoxId id : m_model.boxesIn({})) {
    open.push_back({id, 0, -1});
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [id, depth, parent] = open[i];
    const Box& box = *m_model.find(id);
    if (box.isFolded) {
      NodeItem item;
      item.id = id;
      item.rect = foldedRect(m_model, id);
      item.shape = Shape::foldedBox;
      item.label = text(box.name);
      item.detail = counted(m_model, m_model.allNodesIn(id));
      item.box = parent;
      add(std::move(item));
      continue;
    }
    BoxItem item;
    item.id = id;
    item.rect = boxOutline(m_model, id);
    item.title = text(box.name);
    item.detail = counted(m_model, m_model.allNodesIn(id));
    item.depth = depth;
    item.isInstance = !box.type.empty();
    item.parent = parent;
    const auto at = static_cast<std::int32_t>(m_boxes.size());
    m_boxAt[id] = static_cast<std::uint32_t>(at);
    m_boxes.push_back(std::move(item));
    for (const BoxId inner : m_model.boxesIn(id)) {
      open.push_back({inner, depth + 1, at});
    }
  }
  for (NodeItem& item : m_nodes) {
    if (item.id.kind == ElementKind::node) {
      const auto found = m_boxAt.find(m_model.find(item.id.node())->facts.box);
      item.box = found != m_boxAt.end() ? static_cast<std::int32_t>(found->second) : -1;
    }
  }
}

void CanvasScene::placeNumbers() {
  // As large as they are at about half size, the smallest at which they are read.
  constexpr double kHeight = 34;
  constexpr double kCharacter = 12.5;
  constexpr double kPadding = 22;
  GridIndex taken(200);
  std::vector<QRectF> rects;
  std::vector<std::uint32_t> near;
  for (LineItem& line : m_lines) {
    if (line.number.isEmpty()) {
      continue;
    }
    const QSizeF size(kPadding + kCharacter * static_cast<double>(line.number.size()), kHeight);
    for (const double t : {0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78}) {
      const QRectF rect(line.curve.at(t) - QPointF(size.width() / 2, size.height() / 2), size);
      taken.query(rect, near);
      if (std::none_of(near.begin(), near.end(), [&](std::uint32_t i) { return rects[i].intersects(rect); })) {
        line.numberAt = t;
        taken.insert(static_cast<std::uint32_t>(rects.size()), rect);
        rects.push_back(rect);
        break;
      }
    }
  }
}

void CanvasScene::placeTitles() {
  // Links that leave a box above it would run through a title there.
  std::vector<int> above(m_boxes.size(), 0);
  const auto count = [&](const NodeItem& inside, const NodeItem& other) {
    std::vector<std::int32_t> around;
    for (std::int32_t box = other.box; box >= 0; box = m_boxes[static_cast<std::size_t>(box)].parent) {
      around.push_back(box);
    }
    for (std::int32_t box = inside.box; box >= 0; box = m_boxes[static_cast<std::size_t>(box)].parent) {
      const auto at = static_cast<std::size_t>(box);
      if (std::find(around.begin(), around.end(), box) == around.end()) {
        above[at] += other.rect.center().y() < m_boxes[at].rect.center().y() ? 1 : -1;
      }
    }
  };
  for (const LineItem& line : m_lines) {
    count(m_nodes[line.a], m_nodes[line.b]);
    count(m_nodes[line.b], m_nodes[line.a]);
  }
  for (std::size_t i = 0; i < m_boxes.size(); ++i) {
    m_boxes[i].isTitleBelow = above[i] > 0;
  }
}

void CanvasScene::addLevels() {
  m_levels.assign(m_boxes.size() + 1, {});
  const auto level = [&](std::int32_t box) -> Level& { return m_levels[static_cast<std::size_t>(box + 1)]; };
  for (std::uint32_t i = 0; i < m_nodes.size(); ++i) {
    level(m_nodes[i].box).things.push_back({m_nodes[i].rect, i, false});
  }
  for (std::uint32_t i = 0; i < m_boxes.size(); ++i) {
    level(m_boxes[i].parent).things.push_back({m_boxes[i].rect, i, true});
  }
  for (Level& each : m_levels) {
    if (each.things.size() > kMostUnindexed) {
      each.index.emplace();
      for (std::uint32_t i = 0; i < each.things.size(); ++i) {
        each.index->insert(i, each.things[i].rect);
      }
    }
  }
}

void CanvasScene::obstaclesOf(const LineItem& line, const QRectF& area, std::vector<QRectF>& result) const {
  // In a crowd no way is free, and nobody could follow one.
  if (m_lines.size() > kMostRouted) {
    return;
  }
  // On the levels of both ends and of all boxes around them: other nodes there, and other boxes as a whole.
  std::vector<std::int32_t> around{-1};
  for (const std::uint32_t end : {line.a, line.b}) {
    for (std::int32_t box = m_nodes[end].box; box >= 0; box = m_boxes[static_cast<std::size_t>(box)].parent) {
      if (std::find(around.begin(), around.end(), box) == around.end()) {
        around.push_back(box);
      }
    }
  }
  const QRectF& a = m_nodes[line.a].rect;
  const QRectF& b = m_nodes[line.b].rect;
  const auto take = [&](const Level::Thing& thing) {
    if (!thing.rect.intersects(area)) {
      return;
    }
    if (thing.isBox) {
      const bool isAround =
          std::find(around.begin(), around.end(), static_cast<std::int32_t>(thing.item)) != around.end();
      if (isAround || thing.rect.intersects(a) || thing.rect.intersects(b)) {
        return;
      }
    } else if (thing.item == line.a || thing.item == line.b) {
      return;
    }
    result.push_back(thing.rect);
  };
  for (const std::int32_t box : around) {
    const Level& level = m_levels[static_cast<std::size_t>(box + 1)];
    if (level.index) {
      level.index->query(area, m_scratch);
      for (const std::uint32_t i : m_scratch) {
        take(level.things[i]);
      }
    } else {
      std::for_each(level.things.begin(), level.things.end(), take);
    }
  }
}

void CanvasScene::addLines() {
  for (const LinkBundle& bundle : linkBundles(m_model)) {
    const auto a = m_nodeAt.find(bundle.a);
    const auto b = m_nodeAt.find(bundle.b);
    if (a == m_nodeAt.end() || b == m_nodeAt.end() || a == b) {
      continue;
    }
    const auto at = static_cast<std::uint32_t>(m_lines.size());
    LineItem line;
    line.a = a->second;
    line.b = b->second;
    line.links = bundle.links;
    line.count = bundle.lines;
    line.hasForward = bundle.hasForward;
    line.hasBackward = bundle.hasBackward;
    const auto number = [](const std::optional<Rational>& value) { return value ? value->toDouble() : 0.0; };
    line.bandwidth = std::max(number(bundle.forward), number(bundle.backward));
    line.label = bundle.label();
    const bool isFolded = m_nodes[line.a].shape == Shape::foldedBox || m_nodes[line.b].shape == Shape::foldedBox;
    line.number = isFolded ? line.label : line.count > 1 ? QStringLiteral("×%1").arg(line.count) : QString();
    const auto isPlain = [&](const NodeItem& node) { return node.shape == Shape::gpu || node.shape == Shape::unknown; };
    const bool isDirect =
        isPlain(m_nodes[line.a]) && isPlain(m_nodes[line.b]) && m_nodes[line.a].box == m_nodes[line.b].box;
    line.style = isDirect ? LineStyle::direct : LineStyle::cable;
    for (const LinkId id : line.links) {
      m_lineAt[id] = at;
    }
    m_nodes[line.a].lines.push_back(at);
    m_nodes[line.b].lines.push_back(at);
    m_lines.push_back(std::move(line));
  }
  m_ports.resize(m_lines.size());
  // A switch of one speed says it.
  for (NodeItem& node : m_nodes) {
    if (node.shape != Shape::switchBar || node.lines.empty()) {
      continue;
    }
    const QString& first = m_lines[node.lines.front()].label;
    if (std::all_of(node.lines.begin(), node.lines.end(),
                    [&](std::uint32_t line) { return m_lines[line].label == first; })) {
      node.detail = first;
    }
  }
}

void CanvasScene::assignPorts(std::uint32_t at) {
  const NodeItem& node = m_nodes[at];
  const auto other = [&](std::uint32_t line) { return m_lines[line].a == at ? m_lines[line].b : m_lines[line].a; };
  std::array<std::vector<std::uint32_t>, 4> sides;
  for (const std::uint32_t line : node.lines) {
    if (m_lines[line].style == LineStyle::direct) {
      continue;
    }
    sides[static_cast<std::size_t>(sideOf(node.rect, m_nodes[other(line)].rect))].push_back(line);
  }
  const auto put = [&](std::uint32_t line, double place) {
    (m_lines[line].a == at ? m_ports[line].a : m_ports[line].b) = place;
  };
  for (std::size_t side = 0; side < sides.size(); ++side) {
    std::vector<std::uint32_t>& lines = sides[side];
    if (lines.empty()) {
      continue;
    }
    const bool isVertical = side < 2;
    const auto along = [&](std::uint32_t line) {
      const QPointF centre = m_nodes[other(line)].rect.center();
      return isVertical ? centre.x() : centre.y();
    };
    std::stable_sort(lines.begin(), lines.end(), [&](std::uint32_t x, std::uint32_t y) { return along(x) < along(y); });
    const double middle = isVertical ? node.rect.center().x() : node.rect.center().y();
    const double length = isVertical ? node.rect.width() : node.rect.height();
    const bool isBar = node.shape == Shape::switchBar && isVertical;
    const double half = std::max(0.0, length / 2 - (isBar ? kPortMargin : length * 0.2));
    const auto count = static_cast<double>(lines.size());
    // Straight down where everything lies under the bar with room between.
    bool isStraight = isBar;
    for (std::size_t i = 0; i < lines.size() && isStraight; ++i) {
      isStraight = std::abs(along(lines[i]) - middle) <= half && (i == 0 || along(lines[i]) - along(lines[i - 1]) >= 4);
    }
    const double gap = count > 1 ? std::min(2 * half / (count - 1),
                                            isBar || node.shape == Shape::foldedBox ? kMostPortGap : kNodePortGap)
                                 : 0;
    // The group leans towards what it leads to.
    double mean = 0;
    for (const std::uint32_t line : lines) {
      mean += (along(line) - middle) / count;
    }
    const double room = half - gap * (count - 1) / 2;
    double shift = isBar ? std::clamp(mean, -room, std::max(-room, room)) : 0;
    if (!isBar) {
      // What lies straight ahead is met straight; the rest goes to either side of it.
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (std::abs(along(lines[i]) - middle) < 1) {
          shift = std::clamp(-gap * (static_cast<double>(i) - (count - 1) / 2), -half, half);
          break;
        }
      }
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      put(lines[i], isStraight ? along(lines[i]) - middle
                               : std::clamp(shift + gap * (static_cast<double>(i) - (count - 1) / 2), -half, half));
    }
  }
}

LineRequest CanvasScene::requestOf(std::uint32_t at) const {
  const LineItem& line = m_lines[at];
  return {m_nodes[line.a].rect, m_nodes[line.b].rect, m_ports[at].a, m_ports[at].b, line.style};
}

void CanvasScene::shape(const std::vector<std::uint32_t>& lines) {
  Router router;
  struct Shared {
    std::uint32_t line;
    std::size_t passage;
    double aim;  // where the line comes from and goes to
  };
  // Passages that are the same room, by its rims.
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::vector<Shared>> rooms;
  std::unordered_map<std::uint32_t, Router::Route> bent;
  for (const std::uint32_t at : lines) {
    const LineRequest request = requestOf(at);
    LineItem& line = m_lines[at];
    Router::Route route = router.route(
        request, [&](const QRectF& area, std::vector<QRectF>& result) { obstaclesOf(line, area, result); });
    line.curve = route.curve;
    if (route.passages.empty()) {
      continue;
    }
    const bool isLevel = route.way == Router::Way::bridge;
    for (std::size_t i = 0; i < route.passages.size(); ++i) {
      const Router::Passage& passage = route.passages[i];
      constexpr double kMost = 1e12;
      if (!passage.isFixed && std::abs(passage.low) < kMost && std::abs(passage.high) < kMost) {
        const double aim = isLevel ? passage.end - passage.start : request.a.center().x() + request.b.center().x();
        rooms[{isLevel, std::llround(passage.low), std::llround(passage.high)}].push_back({at, i, aim});
      }
    }
    bent.emplace(at, std::move(route));
  }
  // Lines that share a room keep apart in it.
  std::unordered_map<std::uint32_t, std::vector<double>> places;
  for (const auto& [at, route] : bent) {
    for (const Router::Passage& passage : route.passages) {
      places[at].push_back(passage.wish);
    }
  }
  const auto passageOf = [&](const Shared& user) -> const Router::Passage& {
    return bent.at(user.line).passages[user.passage];
  };
  const auto keepApart = [&](std::span<Shared> users, bool isLevel) {
    if (users.size() < 2) {
      return;
    }
    // Short bridges first; of stretches those that come from the left first.
    std::stable_sort(users.begin(), users.end(), [](const Shared& x, const Shared& y) { return x.aim < y.aim; });
    // Each takes the first lane that is free along its stretch.
    std::vector<std::vector<std::pair<double, double>>> lanes;
    std::vector<std::size_t> laneOf(users.size());
    for (std::size_t i = 0; i < users.size(); ++i) {
      const Router::Passage& passage = passageOf(users[i]);
      std::size_t lane = 0;
      for (; lane < lanes.size(); ++lane) {
        if (std::none_of(lanes[lane].begin(), lanes[lane].end(), [&](const auto& taken) {
              return taken.first < passage.end && passage.start < taken.second;
            })) {
          break;
        }
      }
      lanes.resize(std::max(lanes.size(), lane + 1));
      lanes[lane].emplace_back(passage.start, passage.end);
      laneOf[i] = lane;
    }
    const double low = passageOf(users.front()).low;
    const double high = passageOf(users.front()).high;
    const double step = std::min(kLaneGap, (high - low) / static_cast<double>(lanes.size()));
    const double extent = step * static_cast<double>(lanes.size() - 1);
    double mean = 0;
    for (const Shared& user : users) {
      mean += passageOf(user).wish / static_cast<double>(users.size());
    }
    const bool isLow = mean < (low + high) / 2;
    for (std::size_t i = 0; i < users.size(); ++i) {
      const auto lane = static_cast<double>(laneOf[i]);
      // Bridges grow away from their row; stretches stand about where they were wished.
      const double place = !isLevel ? std::clamp(mean - extent / 2, low, std::max(low, high - extent)) + step * lane
                           : isLow  ? low + step * lane
                                    : high - step * lane;
      places.at(users[i].line)[users[i].passage] = std::clamp(place, low, high);
    }
  };
  for (auto& [key, users] : rooms) {
    std::stable_sort(users.begin(), users.end(),
                     [&](const Shared& x, const Shared& y) { return passageOf(x).wish < passageOf(y).wish; });
    for (std::size_t start = 0; start < users.size();) {
      std::size_t end = start + 1;
      while (end < users.size() && passageOf(users[end]).wish - passageOf(users[end - 1]).wish < kLaneGap) {
        ++end;
      }
      keepApart(std::span(users).subspan(start, end - start), std::get<0>(key));
      start = end;
    }
  }
  for (const auto& [at, route] : bent) {
    m_lines[at].curve = Router::through(requestOf(at), route, places.at(at));
  }
}

void CanvasScene::route(const std::vector<std::uint32_t>& nodes) {
  for (const std::uint32_t at : nodes) {
    assignPorts(at);
  }
  std::vector<std::uint32_t> touched;
  const bool isAll = nodes.size() == m_nodes.size();
  if (isAll) {
    touched.resize(m_lines.size());
    std::iota(touched.begin(), touched.end(), 0U);
  } else {
    std::set<std::uint32_t> some;
    for (const std::uint32_t at : nodes) {
      some.insert(m_nodes[at].lines.begin(), m_nodes[at].lines.end());
    }
    touched.assign(some.begin(), some.end());
    for (const std::uint32_t at : touched) {
      m_lineIndex.remove(at);
    }
  }
  shape(touched);
  for (const std::uint32_t at : touched) {
    m_lines[at].bounds = m_lines[at].curve.bounds();
    m_lineIndex.insert(at, m_lines[at].curve.points());
  }
}

void CanvasScene::nodesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const {
  ensure();
  m_nodeIndex.query(rect, result);
}

void CanvasScene::linesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const {
  ensure();
  m_lineIndex.query(rect, result);
}

QRectF CanvasScene::reroute(const std::vector<std::uint32_t>& moved) {
  // Neighbours assign their ports anew, as the order of the lines may be another.
  std::set<std::uint32_t> nodes(moved.begin(), moved.end());
  for (const std::uint32_t at : moved) {
    for (const std::uint32_t line : m_nodes[at].lines) {
      nodes.insert(m_lines[line].a);
      nodes.insert(m_lines[line].b);
    }
  }
  const auto extent = [&] {
    QRectF rect;
    for (const std::uint32_t at : nodes) {
      for (const std::uint32_t line : m_nodes[at].lines) {
        rect |= m_lines[line].bounds.adjusted(-1, -1, 1, 1);
      }
      rect |= m_nodes[at].rect;
    }
    return rect;
  };
  QRectF dirty = extent();
  route({nodes.begin(), nodes.end()});
  dirty |= extent();
  return dirty;
}

std::optional<QRectF> CanvasScene::follow(const ChangeEvent& event) {
  constexpr Aspects kInPlace = Aspects(Aspect::position) | Aspect::marks | Aspect::header;
  const bool isSmall = !event.isReset && (event.aspects & ~kInPlace) == Aspects() && event.nodes.added.empty() &&
                       event.nodes.removed.empty() && event.links.isEmpty() && event.boxes.added.empty() &&
                       event.boxes.removed.empty() && event.notes.added.empty() && event.notes.removed.empty();
  // Beyond a share of all, doing everything is quicker.
  if (m_isStale || !isSmall || event.nodes.changed.size() * 2 > m_nodes.size() + 8) {
    rebuild();
    return std::nullopt;
  }
  m_bundles.reset();
  m_bounds.reset();
  QRectF dirty;
  std::set<std::uint32_t> moved;
  std::vector<BoxId> boxes = event.boxes.changed;
  const auto refresh = [&](std::uint32_t at) {
    NodeItem& item = m_nodes[at];
    const QRectF rect = elementRect(m_model, item.id);
    if (rect != item.rect) {
      dirty |= item.rect | rect;
      m_nodeIndex.remove(at);
      item.rect = rect;
      m_nodeIndex.insert(at, rect);
      moved.insert(at);
    }
  };
  for (const NodeId id : event.nodes.changed) {
    const Node& node = *m_model.find(id);
    boxes.push_back(node.facts.box);
    const auto found = m_nodeAt.find(id);
    if (found == m_nodeAt.end()) {
      continue;
    }
    m_nodes[found->second].isPinned = node.drawing.isPinned;
    dirty |= m_nodes[found->second].rect;
    refresh(found->second);
    // Bars stretch over what they connect, and give way to their neighbours.
    for (const std::uint32_t line : m_nodes[found->second].lines) {
      for (const std::uint32_t end : {m_lines[line].a, m_lines[line].b}) {
        if (m_nodes[end].shape == Shape::switchBar) {
          refresh(end);
        }
      }
    }
    for (const NodeId sibling : node.facts.box.isValid() ? m_model.nodesIn(node.facts.box) : std::vector<NodeId>()) {
      const auto at = m_nodeAt.find(sibling);
      if (at != m_nodeAt.end() && m_nodes[at->second].shape == Shape::switchBar) {
        refresh(at->second);
      }
    }
  }
  for (const NoteId id : event.notes.changed) {
    NoteItem& item = m_notes[m_noteAt.at(id)];
    dirty |= item.rect;
    item.rect = noteRect(m_model, id);
    item.text = text(m_model.find(id)->text);
    dirty |= item.rect;
  }
  // Outlines of all boxes around, and folded boxes among them.
  std::set<BoxId> around;
  for (BoxId box : boxes) {
    while (m_model.find(box) != nullptr && around.insert(box).second) {
      box = m_model.find(box)->parent;
    }
  }
  for (const BoxId id : around) {
    if (const auto found = m_boxAt.find(id); found != m_boxAt.end()) {
      BoxItem& item = m_boxes[found->second];
      dirty |= item.rect;
      item.rect = boxOutline(m_model, id);
      item.isInstance = !m_model.find(id)->type.empty();
      dirty |= item.rect;
    } else if (const auto folded = m_nodeAt.find(id); folded != m_nodeAt.end()) {
      refresh(folded->second);
    }
  }
  if (!moved.empty()) {
    addLevels();
    dirty |= reroute({moved.begin(), moved.end()});
  }
  return dirty;
}

const std::vector<BundleItem>& CanvasScene::bundles() const {
  ensure();
  if (!m_bundles) {
    const QRectF all = bounds();
    double cell = std::max({all.width() / 40, all.height() / 30, 150.0});
    m_bundles = bundlesBy(cell, false);
    // Coarser until there are few enough to be drawn in no time.
    for (int i = 0; m_bundles->size() > kMostBundles && i < 6; ++i) {
      cell *= 1.6;
      m_bundles = bundlesBy(cell, true);
    }
  }
  return *m_bundles;
}

std::vector<BundleItem> CanvasScene::bundlesBy(double cell, bool mergesBoxes) const {
  std::vector<QRectF> rooms;
  std::map<ElementId, std::size_t> byBox;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> byCell;
  const QRectF all = bounds();
  std::vector<std::size_t> roomOf(m_nodes.size());
  for (std::size_t i = 0; i < m_nodes.size(); ++i) {
    const NodeItem& item = m_nodes[i];
    BoxId outermost;
    if (item.id.kind == ElementKind::node) {
      for (BoxId at = m_model.find(item.id.node())->facts.box; at.isValid(); at = m_model.find(at)->parent) {
        outermost = at;
      }
    } else {
      for (BoxId at = m_model.find(item.id.box())->parent; at.isValid(); at = m_model.find(at)->parent) {
        outermost = at;
      }
    }
    if (outermost.isValid() && !mergesBoxes) {
      const auto [found, isNew] = byBox.try_emplace(outermost, rooms.size());
      if (isNew) {
        rooms.push_back(m_boxes[m_boxAt.at(outermost)].rect);
      }
      roomOf[i] = found->second;
    } else {
      const QPointF centre = item.rect.center();
      const auto [found, isNew] = byCell.try_emplace({static_cast<std::int64_t>((centre.x() - all.left()) / cell),
                                                      static_cast<std::int64_t>((centre.y() - all.top()) / cell)},
                                                     rooms.size());
      if (isNew) {
        rooms.push_back(item.rect);
      } else {
        rooms[found->second] |= item.rect;
      }
      roomOf[i] = found->second;
    }
  }
  std::map<std::pair<std::size_t, std::size_t>, BundleItem> bundles;
  for (std::uint32_t at = 0; at < m_lines.size(); ++at) {
    const LineItem& line = m_lines[at];
    const auto [a, b] = std::minmax(roomOf[line.a], roomOf[line.b]);
    if (a == b) {
      continue;
    }
    BundleItem& bundle = bundles[{a, b}];
    bundle.count += line.count;
    bundle.bandwidth += line.bandwidth;
    bundle.lines.push_back(at);
  }
  std::vector<BundleItem> result;
  result.reserve(bundles.size());
  for (auto& [ends, bundle] : bundles) {
    bundle.a = rooms[ends.first];
    bundle.b = rooms[ends.second];
    const QPointF a = bundle.a.center();
    const QPointF b = bundle.b.center();
    const Side side = sideOf(bundle.a, bundle.b);
    if (side == Side::top || side == Side::bottom) {
      const double sign = side == Side::bottom ? 1 : -1;
      const auto lean = [](const QRectF& rect, double towards) {
        return std::clamp((towards - rect.center().x()) * 0.3, -rect.width() * 0.35, rect.width() * 0.35);
      };
      const QPointF from(a.x() + lean(bundle.a, b.x()), sign > 0 ? bundle.a.bottom() : bundle.a.top());
      const QPointF to(b.x() + lean(bundle.b, a.x()), sign > 0 ? bundle.b.top() : bundle.b.bottom());
      const double pull = (to.y() - from.y()) / 2;
      bundle.curve = Curve::cubic(from, from + QPointF(0, pull), to - QPointF(0, pull), to);
    } else {
      bundle.curve = Curve::line({side == Side::right ? bundle.a.right() : bundle.a.left(), a.y()},
                                 {side == Side::right ? bundle.b.left() : bundle.b.right(), b.y()});
    }
    result.push_back(std::move(bundle));
  }
  return result;
}

QRectF CanvasScene::bounds() const {
  ensure();
  if (m_bounds) {
    return *m_bounds;
  }
  QRectF rect;
  for (const NodeItem& item : m_nodes) {
    rect |= item.rect;
  }
  for (const BoxItem& item : m_boxes) {
    rect |= item.rect;
  }
  for (const NoteItem& item : m_notes) {
    rect |= item.rect;
  }
  for (const LineItem& item : m_lines) {
    rect |= item.bounds;
  }
  m_bounds = rect;
  return rect;
}

const NodeItem* CanvasScene::node(const ElementId& id) const {
  ensure();
  const auto found = m_nodeAt.find(id);
  return found != m_nodeAt.end() ? &m_nodes[found->second] : nullptr;
}

const BoxItem* CanvasScene::box(BoxId id) const {
  ensure();
  const auto found = m_boxAt.find(id);
  return found != m_boxAt.end() ? &m_boxes[found->second] : nullptr;
}

const LineItem* CanvasScene::line(LinkId id) const {
  ensure();
  const auto found = m_lineAt.find(id);
  return found != m_lineAt.end() ? &m_lines[found->second] : nullptr;
}

std::optional<std::uint32_t> CanvasScene::nodeAt(const ElementId& id) const {
  ensure();
  const auto found = m_nodeAt.find(id);
  return found != m_nodeAt.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::uint32_t> CanvasScene::lineAt(LinkId id) const {
  ensure();
  const auto found = m_lineAt.find(id);
  return found != m_lineAt.end() ? std::optional(found->second) : std::nullopt;
}

const NoteItem* CanvasScene::note(NoteId id) const {
  ensure();
  const auto found = m_noteAt.find(id);
  return found != m_noteAt.end() ? &m_notes[found->second] : nullptr;
}

QRectF CanvasScene::rectOf(const ElementId& id) const {
  if (const NodeItem* item = node(id)) {
    return item->rect;
  }
  if (const BoxItem* item = box(id.box())) {
    return item->rect;
  }
  if (const NoteItem* item = note(id.note())) {
    return item->rect;
  }
  if (const LineItem* item = line(id.link())) {
    return item->curve.bounds();
  }
  // Inside a folded box.
  NodeId inner = id.node();
  if (const Link* link = m_model.find(id.link())) {
    inner = link->tail.node;
  }
  if (inner.isValid()) {
    if (const NodeItem* item = node(visibleEnd(m_model, inner))) {
      return item->rect;
    }
  }
  for (const Box* box = m_model.find(id.box()); box != nullptr; box = m_model.find(box->parent)) {
    if (const NodeItem* item = node(box->parent)) {
      return item->rect;
    }
  }
  return {};
}

ElementId CanvasScene::hit(const QPointF& point, double tolerance) const {
  ensure();
  for (auto note = m_notes.rbegin(); note != m_notes.rend(); ++note) {
    if (note->rect.contains(point)) {
      return note->id;
    }
  }
  std::vector<std::uint32_t> near;
  const QRectF around(point.x() - tolerance, point.y() - tolerance, 2 * tolerance, 2 * tolerance);
  nodesIn(around, near);
  for (auto at = near.rbegin(); at != near.rend(); ++at) {
    if (m_nodes[*at].rect.contains(point)) {
      return m_nodes[*at].id;
    }
  }
  linesIn(around, near);
  double best = tolerance;
  ElementId result;
  for (const std::uint32_t at : near) {
    if (const double distance = m_lines[at].curve.distanceTo(point); distance <= best) {
      best = distance;
      result = m_lines[at].links.front();
    }
  }
  if (result.isValid()) {
    return result;
  }
  for (auto box = m_boxes.rbegin(); box != m_boxes.rend(); ++box) {
    const QRectF inside = box->rect.adjusted(kRim, box->isTitleBelow ? kRim : kTitleHeight, -kRim,
                                             box->isTitleBelow ? -kTitleHeight : -kRim);
    if (box->rect.contains(point) && !inside.contains(point)) {
      return box->id;
    }
  }
  return {};
}

BoxId CanvasScene::boxAt(const QPointF& point) const {
  ensure();
  for (auto box = m_boxes.rbegin(); box != m_boxes.rend(); ++box) {
    if (box->rect.contains(point)) {
      return box->id;
    }
  }
  return {};
}

std::set<ElementId> CanvasScene::within(const QRectF& rect) const {
  ensure();
  std::set<ElementId> result;
  std::vector<std::uint32_t> near;
  nodesIn(rect, near);
  std::vector<std::uint32_t> inside;
  for (const std::uint32_t at : near) {
    if (rect.contains(m_nodes[at].rect)) {
      result.insert(m_nodes[at].id);
      inside.push_back(at);
    }
  }
  for (const std::uint32_t at : inside) {
    for (const std::uint32_t line : m_nodes[at].lines) {
      if (result.contains(m_nodes[m_lines[line].a].id) && result.contains(m_nodes[m_lines[line].b].id)) {
        result.insert(m_lines[line].links.begin(), m_lines[line].links.end());
      }
    }
  }
  for (const BoxItem& box : m_boxes) {
    if (rect.contains(box.rect)) {
      result.insert(box.id);
    }
  }
  for (const NoteItem& note : m_notes) {
    if (rect.contains(note.rect)) {
      result.insert(note.id);
    }
  }
  return result;
}

}  // namespace coppice::designer
