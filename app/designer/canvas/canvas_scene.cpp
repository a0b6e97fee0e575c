// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_scene.hpp"

#include <QCoreApplication>
#include <QPolygonF>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/units.hpp"
#include "designer/document/fold_view.hpp"
#include "designer/document/measures.hpp"

namespace coppice::designer {
namespace {

constexpr double kPortMargin = 14;  // of a bar's rounded ends
constexpr double kRim = 8;          // of a box, where it can be grabbed
constexpr double kTitleHeight = 30;
constexpr std::size_t kMaxAtOnce = 1200;      // lines that are routed while the user waits
constexpr std::size_t kMaxWhileMoving = 160;  // and of what is being dragged
constexpr std::size_t kMaxApart = 500;        // lines that are painted again along their curves alone
constexpr std::size_t kMaxBundles = 500;

QString text(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

/// Where the curve runs, in pieces that are much smaller than its bounds.
void addCurve(const Curve& curve, Region& region) {
  constexpr std::size_t kPoints = 4;
  const std::vector<QPointF> points = curve.points();
  for (std::size_t start = 0; start + 1 < points.size(); start += kPoints) {
    QPolygonF piece;
    for (std::size_t i = start; i <= std::min(start + kPoints, points.size() - 1); ++i) {
      piece.append(points[i]);
    }
    region.push_back(piece.boundingRect().adjusted(-1, -1, 1, 1));
  }
}

}  // namespace

QString shortLabel(const QString& name, const QString& box, bool isNumbered) {
  QString own = name;
  if (!box.isEmpty() && name.startsWith(box)) {
    own.remove(0, box.size());
    while (!own.isEmpty() && !own.front().isLetterOrNumber()) {
      own.remove(0, 1);
    }
  }
  if (own.isEmpty()) {
    own = name;
  }
  if (!isNumbered) {
    return own;
  }
  // Coordinates are one number only all together.
  static const QRegularExpression kCoordinates(QStringLiteral("^x\\d{1,3}y\\d{1,3}(?:z\\d{1,3})?$"));
  if (kCoordinates.match(own).hasMatch()) {
    static const QRegularExpression kLetters(QStringLiteral("[yz]"));
    return own.mid(1).replace(kLetters, QStringLiteral("."));
  }
  qsizetype start = name.size();
  while (start > 0 && name[start - 1].isDigit() && name.size() - start < 4) {
    --start;
  }
  return start < name.size() ? name.mid(start) : name;
}

CanvasScene::CanvasScene(const Model& model, Routing routing) : m_model(model), m_routing(routing) {}

void CanvasScene::rebuild() {
  m_isStale = true;
}

void CanvasScene::ensure() const {
  // What is shown is a function of the model alone; computing it late changes nothing that callers see.
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
  m_cellOf.clear();
  m_lineAt.clear();
  m_noteAt.clear();
  m_nodeIndex.clear();
  m_lineIndex.clear();
  m_bundles.reset();
  m_bounds.reset();
  addNodes();
  addLines();
  placeTitles();
  for (std::uint32_t at = 0; at < m_nodes.size(); ++at) {
    assignPorts(at);
  }
  m_wiring.reset();
  m_isRouted = m_routing == Routing::atOnce || m_lines.size() <= kMaxAtOnce;
  put(m_isRouted ? *routesOf(wiring()) : straightRoutes(wiring()));
  for (const auto& [id, note] : m_model.notes()) {
    m_noteAt[id] = static_cast<std::uint32_t>(m_notes.size());
    m_notes.push_back({id, noteRect(m_model, id), text(note.text)});
  }
}

void CanvasScene::addNode(NodeItem item) {
  const auto at = static_cast<std::uint32_t>(m_nodes.size());
  m_nodeAt[item.id] = at;
  m_nodeIndex.insert(at, item.rect);
  m_nodes.push_back(std::move(item));
}

void CanvasScene::addNodes() {
  m_stacks = Stacks(m_model);
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
    const Box* box = m_model.find(node.facts.box);
    item.label = shortLabel(text(node.facts.name), box != nullptr ? text(box->name) : QString(),
                            kind == fabric::NodeKind::gpu || kind == fabric::NodeKind::nic);
    item.isPinned = node.drawing.isPinned;
    item.isCapable = node.facts.multicast || node.facts.aggregation;
    addNode(std::move(item));
  }
  // Outer boxes first, so that inner ones are painted over them. Nesting is a tree, walked from the top.
  struct Open {
    BoxId id;
    int depth;
    std::int32_t parent;
  };
  std::vector<Open> open;
  std::vector<std::pair<BoxId, std::int32_t>> stacks;  // first box, parent
  for (const BoxId id : m_model.boxesIn({})) {
    open.push_back({id, 0, -1});
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [id, depth, parent] = open[i];
    const Box& box = *m_model.find(id);
    if (box.isFolded) {
      if (const std::span<const BoxId> stack = m_stacks.with(id); stack.empty()) {
        addFoldedBox(id, parent);
      } else if (stack.front() == id) {
        stacks.emplace_back(id, parent);
      }
      continue;
    }
    BoxItem item;
    item.id = id;
    item.rect = boxOutline(m_model, id);
    item.title = text(box.name);
    item.detail = countedNodes(m_model, m_model.allNodesIn(id));
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
  // Last, as they keep off everything else.
  for (const auto& [first, parent] : stacks) {
    addStack(m_stacks.with(first), parent);
  }
  for (NodeItem& item : m_nodes) {
    if (item.id.kind == ElementKind::node) {
      const auto found = m_boxAt.find(m_model.find(item.id.node())->facts.box);
      item.box = found != m_boxAt.end() ? static_cast<std::int32_t>(found->second) : -1;
    }
  }
}

bool CanvasScene::placeTitles() {
  // Links that leave a box above it would run through a title there.
  std::vector<int> above(m_boxes.size(), 0);
  const auto count = [&](const NodeItem& inside, const NodeItem& other) {
    std::vector<std::int32_t> around;
    for (std::int32_t box = other.box; box >= 0; box = m_boxes[box].parent) {
      around.push_back(box);
    }
    for (std::int32_t box = inside.box; box >= 0; box = m_boxes[box].parent) {
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
  bool hasMoved = false;
  for (std::size_t i = 0; i < m_boxes.size(); ++i) {
    hasMoved = hasMoved || m_boxes[i].isTitleBelow != (above[i] > 0);
    m_boxes[i].isTitleBelow = above[i] > 0;
  }
  constexpr double kWidestGap = 200;
  std::vector<std::uint32_t> near;
  for (std::size_t i = 0; i < m_boxes.size(); ++i) {
    BoxItem& box = m_boxes[i];
    const double before = box.titleGap;
    box.titleGap = kWidestGap;
    if (box.parent >= 0) {
      continue;
    }
    const QRectF beside(box.rect.left(), box.isTitleBelow ? box.rect.bottom() : box.rect.top() - kWidestGap,
                        box.rect.width(), kWidestGap);
    const auto keepOff = [&](const QRectF& rect) {
      if (rect.intersects(beside)) {
        box.titleGap = std::min(box.titleGap, std::max(0.0, box.isTitleBelow ? rect.top() - box.rect.bottom()
                                                                             : box.rect.top() - rect.bottom()));
      }
    };
    for (std::size_t j = 0; j < m_boxes.size(); ++j) {
      if (j != i && m_boxes[j].parent < 0) {
        keepOff(m_boxes[j].rect);
      }
    }
    m_nodeIndex.query(beside, near);
    for (const std::uint32_t at : near) {
      if (m_nodes[at].box < 0) {
        keepOff(m_nodes[at].rect);
      }
    }
    hasMoved = hasMoved || before != box.titleGap;
  }
  return hasMoved;
}

void CanvasScene::addLines() {
  for (const LinkBundle& bundle : linkBundles(m_model, m_stacks)) {
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
    const auto number = [](const std::optional<Bandwidth>& value) { return value ? toGBps(*value) : 0.0; };
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
    const bool isStack = !node.cells.empty();
    const bool isBar = (node.shape == Shape::switchBar || isStack) && isVertical;
    const double half = std::max(0.0, length / 2 - (isBar ? kPortMargin : length * 0.2));
    const auto count = static_cast<double>(lines.size());
    // Straight down where everything is under the bar with room between.
    bool isStraight = isBar;
    for (std::size_t i = 0; i < lines.size() && isStraight; ++i) {
      isStraight = std::abs(along(lines[i]) - middle) <= half && (i == 0 || along(lines[i]) - along(lines[i - 1]) >= 4);
    }
    const Shape ports = node.shape == Shape::switchBar && !isVertical ? Shape::unknown : node.shape;
    // Few lines of a stack are not at its corners.
    constexpr double kStackShare = 0.3;
    const double widest = isStack ? length * kStackShare : styleOf(ports).portGap;
    const double gap = count > 1 ? std::min(2 * half / (count - 1), widest) : 0;
    // The group leans towards what it leads to.
    double mean = 0;
    for (const std::uint32_t line : lines) {
      mean += (along(line) - middle) / count;
    }
    const double room = half - gap * (count - 1) / 2;
    double shift = isBar ? std::clamp(mean, -room, std::max(-room, room)) : 0;
    if (!isBar) {
      // What is straight ahead is reached straight; the rest goes to either side of it.
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

Wiring CanvasScene::wiring() const {
  Wiring result;
  result.shapes.reserve(m_nodes.size());
  for (const NodeItem& node : m_nodes) {
    result.shapes.push_back({node.rect, node.box});
  }
  result.rooms.reserve(m_boxes.size());
  for (const BoxItem& box : m_boxes) {
    result.rooms.push_back({box.rect, box.parent});
  }
  result.wires.reserve(m_lines.size());
  for (std::size_t at = 0; at < m_lines.size(); ++at) {
    const LineItem& line = m_lines[at];
    result.wires.push_back(
        {line.a, line.b, m_ports[at].a, m_ports[at].b, line.style, static_cast<std::uint32_t>(line.number.size())});
  }
  return result;
}

void CanvasScene::put(Routes routes) {
  for (std::size_t at = 0; at < m_lines.size(); ++at) {
    m_lines[at].curve = std::move(routes.curves[at]);
    m_lines[at].bounds = routes.bounds[at];
    m_lines[at].numberAt = routes.numberAt[at];
  }
  m_lineIndex = std::move(routes.index);
  m_bounds.reset();
  m_bundles.reset();
}

std::shared_ptr<const Wiring> CanvasScene::unrouted() const {
  ensure();
  if (m_isRouted) {
    return nullptr;
  }
  if (!m_wiring) {
    m_wiring = std::make_shared<const Wiring>(wiring());
  }
  return m_wiring;
}

std::optional<Region> CanvasScene::applyRoutes(const std::shared_ptr<const Wiring>& of, Routes routes) {
  if (m_isStale || m_isRouted || of != m_wiring) {
    return std::nullopt;
  }
  std::vector<std::size_t> changed;
  for (std::size_t at = 0; at < m_lines.size(); ++at) {
    if (m_lines[at].curve != routes.curves[at] || m_lines[at].numberAt != routes.numberAt[at]) {
      changed.push_back(at);
    }
  }
  Region dirty;
  if (changed.size() > kMaxApart) {
    dirty.push_back(bounds());
  } else {
    for (const std::size_t at : changed) {
      addCurve(m_lines[at].curve, dirty);
      addCurve(routes.curves[at], dirty);
    }
  }
  put(std::move(routes));
  if (placeTitles() || changed.size() > kMaxApart) {
    dirty.push_back(bounds());
  }
  m_isRouted = true;
  m_wiring.reset();
  return dirty;
}

bool CanvasScene::finishRouting() {
  ensure();
  if (m_isRouted) {
    return false;
  }
  put(*routesOf(wiring()));
  placeTitles();
  m_isRouted = true;
  m_wiring.reset();
  return true;
}

void CanvasScene::nodesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const {
  ensure();
  m_nodeIndex.query(rect, result);
}

void CanvasScene::linesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const {
  ensure();
  m_lineIndex.query(rect, result);
}

void CanvasScene::reroute(const std::vector<std::uint32_t>& moved, Region& dirty) {
  // Neighbours assign their ports again, as the order of the lines may be another.
  std::set<std::uint32_t> nodes(moved.begin(), moved.end());
  for (const std::uint32_t at : moved) {
    for (const std::uint32_t line : m_nodes[at].lines) {
      nodes.insert(m_lines[line].a);
      nodes.insert(m_lines[line].b);
    }
  }
  for (const std::uint32_t at : nodes) {
    assignPorts(at);
  }
  m_wiring.reset();
  if (m_routing == Routing::atOnce) {
    dirty.push_back(bounds());
    put(*routesOf(wiring()));
    dirty.push_back(bounds());
    return;
  }
  std::set<std::uint32_t> touched;
  for (const std::uint32_t at : nodes) {
    touched.insert(m_nodes[at].lines.begin(), m_nodes[at].lines.end());
  }
  const std::vector<std::uint32_t> lines(touched.begin(), touched.end());
  const Wiring now = wiring();
  std::vector<Curve> curves;
  if (lines.size() <= kMaxWhileMoving) {
    curves = *routed(now, lines);
  } else {
    for (const std::uint32_t at : lines) {
      curves.push_back(straightCurve(now, at));
    }
  }
  // The rest may need other routes too, around what is there now.
  m_isRouted = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    LineItem& line = m_lines[lines[i]];
    if (line.curve == curves[i]) {
      continue;
    }
    addCurve(line.curve, dirty);
    line.curve = std::move(curves[i]);
    line.bounds = line.curve.bounds();
    addCurve(line.curve, dirty);
    m_lineIndex.remove(lines[i]);
    m_lineIndex.insert(lines[i], line.curve.points());
  }
}

std::optional<Region> CanvasScene::follow(const ChangeEvent& event) {
  constexpr Aspects kInPlace = Aspects(Aspect::position) | Aspect::marks | Aspect::header;
  const bool isSmall = !event.isReset && (event.aspects & ~kInPlace) == Aspects() && event.nodes.added.empty() &&
                       event.nodes.removed.empty() && event.links.isEmpty() && event.boxes.added.empty() &&
                       event.boxes.removed.empty() && event.notes.added.empty() && event.notes.removed.empty();
  // Beyond a share of all, doing everything is quicker. What moves may leave a stack, or be in its way.
  if (m_isStale || !isSmall || !m_stacks.isEmpty() || event.nodes.changed.size() * 2 > m_nodes.size() + 8) {
    rebuild();
    return std::nullopt;
  }
  m_bundles.reset();
  m_bounds.reset();
  Region dirty;
  std::set<std::uint32_t> moved;
  std::vector<BoxId> boxes = event.boxes.changed;
  const auto refresh = [&](std::uint32_t at) {
    NodeItem& item = m_nodes[at];
    const QRectF rect = elementRect(m_model, item.id);
    if (rect != item.rect) {
      dirty.insert(dirty.end(), {item.rect, rect});
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
    dirty.push_back(m_nodes[found->second].rect);
    refresh(found->second);
    // Bars stretch over what they connect, and move aside for their neighbours.
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
    dirty.push_back(item.rect);
    item.rect = noteRect(m_model, id);
    item.text = text(m_model.find(id)->text);
    dirty.push_back(item.rect);
  }
  // Outlines of all boxes around, and folded boxes among them.
  bool hasNewRooms = false;
  std::set<BoxId> around;
  for (BoxId box : boxes) {
    while (m_model.find(box) != nullptr && around.insert(box).second) {
      box = m_model.find(box)->parent;
    }
  }
  for (const BoxId id : around) {
    if (const auto found = m_boxAt.find(id); found != m_boxAt.end()) {
      BoxItem& item = m_boxes[found->second];
      const bool wasInstance = item.isInstance;
      const QRectF rect = boxOutline(m_model, id);
      item.isInstance = !m_model.find(id)->type.empty();
      if (rect != item.rect || item.isInstance != wasInstance) {
        hasNewRooms = hasNewRooms || rect != item.rect;
        dirty.insert(dirty.end(), {item.rect, rect});
        item.rect = rect;
      }
    } else if (const auto folded = m_nodeAt.find(id); folded != m_nodeAt.end()) {
      refresh(folded->second);
    }
  }
  if (!moved.empty() || hasNewRooms) {
    reroute({moved.begin(), moved.end()}, dirty);
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
    for (int i = 0; m_bundles->size() > kMaxBundles && i < 6; ++i) {
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
    const bool isFolded = !outermost.isValid() && item.shape == Shape::foldedBox;
    if ((outermost.isValid() || isFolded) && !mergesBoxes) {
      const auto [found, isNew] = byBox.try_emplace(isFolded ? item.id : ElementId(outermost), rooms.size());
      if (isNew) {
        rooms.push_back(isFolded ? item.rect : m_boxes[m_boxAt.at(outermost)].rect);
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
    bundle.isAlong.push_back(roomOf[line.a] == a);
  }
  std::vector<BundleItem> result;
  result.reserve(bundles.size());
  for (auto& [ends, bundle] : bundles) {
    bundle.a = rooms[ends.first];
    bundle.b = rooms[ends.second];
    // The route of the middle line, which goes around what is between.
    const std::size_t middle = bundle.lines.size() / 2;
    bundle.curve = m_lines[bundle.lines[middle]].curve;
    if (!bundle.isAlong[middle]) {
      bundle.isAlong.flip();
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
  if (const auto cell = m_cellOf.find(id.box()); cell != m_cellOf.end()) {
    return cell->second;
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
    if (const QRectF cell = cellOf(inner); !cell.isNull()) {
      return cell;
    }
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
      result.merge(drawnWith(m_nodes[at].id));
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
