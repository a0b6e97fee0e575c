// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_scene.hpp"

#include <QCoreApplication>
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

constexpr double kPortMargin = 14;   // of a bar's rounded ends
constexpr double kMostPortGap = 28;  // between lines that leave a bar without a place of their own
constexpr double kNodePortGap = 9;   // between lines that leave a small node
constexpr double kRim = 8;           // of a box, where it can be grabbed
constexpr double kTitleHeight = 30;
constexpr double kClearance = 3;           // between a line and a node it passes
constexpr std::size_t kMostRouted = 6000;  // lines that look for a way round nodes
constexpr std::size_t kMostBundles = 500;
constexpr double kLevel = 24;      // ends that differ by less are joined level
constexpr double kLeastRise = 12;  // between two rows that count as one above the other

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

/// Sides of a shape that lines leave from.
enum class Side { top, bottom, left, right };

/// Where a line between two shapes leaves the first: by where the second lies.
Side sideOf(const QRectF& self, const QRectF& other) {
  if (other.top() - self.bottom() >= kLeastRise) {
    return Side::bottom;
  }
  if (self.top() - other.bottom() >= kLeastRise) {
    return Side::top;
  }
  return other.center().x() >= self.center().x() ? Side::right : Side::left;
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

CanvasScene::CanvasScene(const Model& model) : m_model(model) {
  rebuild();
}

void CanvasScene::rebuild() {
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
  std::vector<std::uint32_t> all(m_nodes.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  route(all);
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
  std::vector<std::pair<BoxId, int>> open;
  for (const BoxId id : m_model.boxesIn({})) {
    open.emplace_back(id, 0);
  }
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto [id, depth] = open[i];
    const Box& box = *m_model.find(id);
    if (box.isFolded) {
      NodeItem item;
      item.id = id;
      item.rect = foldedRect(m_model, id);
      item.shape = Shape::foldedBox;
      item.label = text(box.name);
      item.detail = counted(m_model, m_model.allNodesIn(id));
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
    m_boxAt[id] = static_cast<std::uint32_t>(m_boxes.size());
    m_boxes.push_back(std::move(item));
    for (const BoxId inner : m_model.boxesIn(id)) {
      open.emplace_back(inner, depth + 1);
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

int CanvasScene::obstacles(const Curve& curve, std::uint32_t a, std::uint32_t b) const {
  // In a crowd no way is free, and nobody could follow one.
  if (m_lines.size() > kMostRouted) {
    return 0;
  }
  const QPointF margin(kClearance, kClearance);
  int hits = 0;
  m_nodeIndex.query(curve.bounds(), m_scratch);
  for (const std::uint32_t at : m_scratch) {
    if (at != a && at != b) {
      const QRectF rect = m_nodes[at].rect;
      hits += curve.meets(QRectF(rect.topLeft() - margin, rect.bottomRight() + margin)) ? 1 : 0;
    }
  }
  return hits;
}

void CanvasScene::shape(std::uint32_t at) {
  LineItem& line = m_lines[at];
  const QRectF& ra = m_nodes[line.a].rect;
  const QRectF& rb = m_nodes[line.b].rect;
  const auto anchor = [](const QRectF& rect, Side side, double place) -> QPointF {
    switch (side) {
      case Side::top:
        return {rect.center().x() + place, rect.top()};
      case Side::bottom:
        return {rect.center().x() + place, rect.bottom()};
      case Side::left:
        return {rect.left(), rect.center().y() + place};
      case Side::right:
        break;
    }
    return {rect.right(), rect.center().y() + place};
  };
  const Side sa = sideOf(ra, rb);
  const Side sb = sideOf(rb, ra);
  const QPointF from = anchor(ra, sa, m_ports[at].a);
  const QPointF to = anchor(rb, sb, m_ports[at].b);
  if (sa == Side::left || sa == Side::right) {
    // Side by side: level and straight, or an arch over what stands between.
    const double level = (from.y() + to.y()) / 2;
    line.curve =
        std::abs(from.y() - to.y()) < kLevel ? Curve::line({from.x(), level}, {to.x(), level}) : Curve::line(from, to);
    if (obstacles(line.curve, line.a, line.b) == 0) {
      return;
    }
    int least = INT32_MAX;
    const double span = std::abs(rb.center().x() - ra.center().x());
    const double lean = (rb.center().x() - ra.center().x()) * 0.12;
    for (const double share : {0.16, 0.3, 0.5}) {
      for (const bool isAbove : {true, false}) {
        const double sign = isAbove ? -1 : 1;
        const QPointF start(ra.center().x() + std::clamp(lean, -12.0, 12.0), isAbove ? ra.top() : ra.bottom());
        const QPointF end(rb.center().x() - std::clamp(lean, -12.0, 12.0), isAbove ? rb.top() : rb.bottom());
        const double rise = sign * (24 + share * span);
        const Curve arch{start, start + QPointF(lean, rise), end + QPointF(-lean, rise), end};
        if (const int hits = obstacles(arch, line.a, line.b); hits < least) {
          least = hits;
          line.curve = arch;
        }
        if (least == 0) {
          return;
        }
      }
    }
    return;
  }
  const double rise = to.y() - from.y();
  if (std::abs(to.x() - from.x()) < 0.5) {
    line.curve = Curve::line(from, {from.x(), to.y()});
  } else {
    // The look of a cable: vertical at both ends, at least a little where rows are close.
    const double pull = std::copysign(std::max(std::abs(rise) * 0.5, 16.0), rise);
    line.curve = {from, from + QPointF(0, pull), to - QPointF(0, pull), to};
  }
  int least = obstacles(line.curve, line.a, line.b);
  if (least == 0) {
    return;
  }
  const auto consider = [&](const Curve& curve) {
    if (const int hits = obstacles(curve, line.a, line.b); hits < least) {
      least = hits;
      line.curve = curve;
    }
    return least == 0;
  };
  // Later or earlier turns, then a bow round the side.
  for (const double share : {0.25, 0.75, 0.9, 0.1}) {
    if (consider({from, from + QPointF(0, rise * share), to - QPointF(0, rise * (1 - share)), to})) {
      return;
    }
  }
  const double reach = std::max(ra.width(), rb.width()) * 0.5;
  for (const double bow : {0.16, 0.3, 0.5, 0.8}) {
    for (const double sign : {1.0, -1.0}) {
      const double out = sign * (24 + std::min(reach, 60.0) + bow * std::abs(rise));
      const QPointF start(sign > 0 ? ra.right() : ra.left(), ra.center().y());
      const QPointF end(sign > 0 ? rb.right() : rb.left(), rb.center().y());
      if (consider({start, start + QPointF(out, rise * 0.1), end + QPointF(out, -rise * 0.1), end})) {
        return;
      }
    }
  }
}

void CanvasScene::route(const std::vector<std::uint32_t>& nodes) {
  for (const std::uint32_t at : nodes) {
    assignPorts(at);
  }
  std::set<std::uint32_t> touched;
  if (nodes.size() == m_nodes.size()) {
    for (std::uint32_t i = 0; i < m_lines.size(); ++i) {
      shape(i);
      m_lineIndex.insert(i, m_lines[i].curve.points());
    }
    return;
  }
  for (const std::uint32_t at : nodes) {
    touched.insert(m_nodes[at].lines.begin(), m_nodes[at].lines.end());
  }
  for (const std::uint32_t at : touched) {
    m_lineIndex.remove(at);
    shape(at);
    m_lineIndex.insert(at, m_lines[at].curve.points());
  }
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
        rect |= m_lines[line].curve.bounds().adjusted(-1, -1, 1, 1);
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
  if (!isSmall || event.nodes.changed.size() * 2 > m_nodes.size() + 8) {
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
    dirty |= reroute({moved.begin(), moved.end()});
  }
  return dirty;
}

const std::vector<BundleItem>& CanvasScene::bundles() const {
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
      bundle.curve = {from, from + QPointF(0, pull), to - QPointF(0, pull), to};
    } else {
      bundle.curve = Curve::line({side == Side::right ? bundle.a.right() : bundle.a.left(), a.y()},
                                 {side == Side::right ? bundle.b.left() : bundle.b.right(), b.y()});
    }
    result.push_back(std::move(bundle));
  }
  return result;
}

QRectF CanvasScene::bounds() const {
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
    rect |= item.curve.bounds();
  }
  m_bounds = rect;
  return rect;
}

const NodeItem* CanvasScene::node(const ElementId& id) const {
  const auto found = m_nodeAt.find(id);
  return found != m_nodeAt.end() ? &m_nodes[found->second] : nullptr;
}

const BoxItem* CanvasScene::box(BoxId id) const {
  const auto found = m_boxAt.find(id);
  return found != m_boxAt.end() ? &m_boxes[found->second] : nullptr;
}

const LineItem* CanvasScene::line(LinkId id) const {
  const auto found = m_lineAt.find(id);
  return found != m_lineAt.end() ? &m_lines[found->second] : nullptr;
}

std::optional<std::uint32_t> CanvasScene::nodeAt(const ElementId& id) const {
  const auto found = m_nodeAt.find(id);
  return found != m_nodeAt.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<std::uint32_t> CanvasScene::lineAt(LinkId id) const {
  const auto found = m_lineAt.find(id);
  return found != m_lineAt.end() ? std::optional(found->second) : std::nullopt;
}

const NoteItem* CanvasScene::note(NoteId id) const {
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
    const QRectF inside = box->rect.adjusted(kRim, kTitleHeight, -kRim, -kRim);
    if (box->rect.contains(point) && !inside.contains(point)) {
      return box->id;
    }
  }
  return {};
}

BoxId CanvasScene::boxAt(const QPointF& point) const {
  for (auto box = m_boxes.rbegin(); box != m_boxes.rend(); ++box) {
    if (box->rect.contains(point)) {
      return box->id;
    }
  }
  return {};
}

std::set<ElementId> CanvasScene::within(const QRectF& rect) const {
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
