// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_painter.hpp"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <algorithm>
#include <array>
#include <cmath>

#include "designer/document/measures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"

namespace coppice::designer {
namespace {

constexpr double kNearScale = 0.27;
constexpr double kFarScale = 0.11;
constexpr double kMostVisibleLines = 6000;
constexpr double kViewArea = 1600.0 * 1000.0;
constexpr double kMostGridDots = 40000;
constexpr double kDimmed = 0.28;

double titleRoom(const BoxItem& box) {
  return std::min(box.rect.height(), 30.0);
}

}  // namespace

Detail detailAt(double scale, std::size_t lines, const QRectF& bounds) {
  if (scale < kFarScale) {
    return Detail::far;
  }
  const double area = bounds.width() * bounds.height() * scale * scale;
  const double visible = static_cast<double>(lines) * std::min(1.0, area > 0 ? kViewArea / area : 1.0);
  if (visible > kMostVisibleLines && scale < kNearScale) {
    return Detail::far;
  }
  return scale < kNearScale ? Detail::mid : Detail::near;
}

double lineWidth(double gigabytesPerSecond) {
  const double share = std::clamp(std::log10(std::max(1.0, gigabytesPerSecond)) / 3, 0.0, 1.0);
  return 0.9 + 4.1 * share * share;
}

QPainterPath hullOf(const CanvasScene& scene, const std::set<NodeId>& nodes, double margin) {
  // Boxes that lie in the set whole count as their outline; other nodes join what they stand close to.
  std::vector<QRectF> rects;
  std::set<NodeId> open = nodes;
  for (const BoxItem& box : scene.boxes()) {
    const std::vector<NodeId> inside = scene.model().allNodesIn(box.id);
    if (!inside.empty() && std::all_of(inside.begin(), inside.end(), [&](NodeId id) { return nodes.contains(id); })) {
      rects.push_back(box.rect);
      for (const NodeId id : inside) {
        open.erase(id);
      }
    }
  }
  for (const NodeId id : open) {
    const QRectF rect = scene.rectOf(id);
    if (!rect.isNull()) {
      rects.push_back(rect.adjusted(-margin, -margin, margin, margin));
    }
  }
  QPainterPath path;
  path.setFillRule(Qt::WindingFill);
  if (rects.size() > 400) {
    // Too many for a union of shapes: their rooms stand for them.
    for (const QRectF& rect : rects) {
      path.addRoundedRect(rect, 12, 12);
    }
    return path;
  }
  for (std::size_t i = 0; i < rects.size(); ++i) {
    QPainterPath one;
    one.addRoundedRect(rects[i], 14, 14);
    // A bridge to the nearest earlier one in the same row or column, where nothing but a gap is between.
    path = path.united(one);
    for (std::size_t j = 0; j < i; ++j) {
      const QRectF& a = rects[i];
      const QRectF& b = rects[j];
      const double gapX = std::max(a.left(), b.left()) - std::min(a.right(), b.right());
      const double gapY = std::max(a.top(), b.top()) - std::min(a.bottom(), b.bottom());
      if ((gapX > 0 && gapX < 70 && gapY < -10) || (gapY > 0 && gapY < 90 && gapX < -10)) {
        const double left = gapX > 0 ? std::min(a.right(), b.right()) - 14 : std::max(a.left(), b.left());
        const double right = gapX > 0 ? std::max(a.left(), b.left()) + 14 : std::min(a.right(), b.right());
        const double top = gapY > 0 ? std::min(a.bottom(), b.bottom()) - 14 : std::max(a.top(), b.top());
        const double bottom = gapY > 0 ? std::max(a.top(), b.top()) + 14 : std::min(a.bottom(), b.bottom());
        QPainterPath bridge;
        bridge.addRect(QRectF(QPointF(left, top), QPointF(right, bottom)));
        path = path.united(bridge);
      }
    }
  }
  return path;
}

CanvasPainter::CanvasPainter(const CanvasScene& scene, const Colors& colors, const CanvasState& state)
    : m_scene(scene), m_colors(colors), m_state(state) {
  const Overlay* overlay = m_state.overlay;
  if (overlay == nullptr || !overlay->isRestDimmed) {
    return;
  }
  const auto brighten = [this](LinkId id) {
    if (const Link* link = m_scene.model().find(id)) {
      m_bright.insert(link->tail.node);
      m_bright.insert(link->head.node);
    }
  };
  for (const Hull& hull : overlay->hulls) {
    m_bright.insert(hull.nodes.begin(), hull.nodes.end());
  }
  for (const LinkMark& mark : overlay->marks) {
    brighten(mark.link);
  }
  for (const TreeMark& tree : overlay->trees) {
    std::for_each(tree.links.begin(), tree.links.end(), brighten);
  }
}

bool CanvasPainter::isSelected(const ElementId& id) const {
  return m_state.selection != nullptr && m_state.selection->contains(id);
}

void CanvasPainter::paint(QPainter& painter, const QRectF& part, double scale, Detail detail) {
  m_scale = scale;
  m_detail = detail;
  painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  if (m_state.hasBackground) {
    painter.fillRect(part.adjusted(-1, -1, 1, 1), m_colors[Token::canvas]);
  }
  if (m_state.hasGrid) {
    paintGrid(painter, part);
  }
  paintBoxes(painter, part);
  paintHulls(painter, true);
  if (detail == Detail::far) {
    paintBundles(painter, part);
  } else {
    paintLines(painter, part);
  }
  paintMarks(painter, part);
  paintTitles(painter, part);
  paintNodes(painter, part);
  paintNotes(painter, part);
  paintHulls(painter, false);
}

void CanvasPainter::paintGrid(QPainter& painter, const QRectF& part) const {
  double step = kGridStep;
  while (step * m_scale < 9) {
    step *= 5;
  }
  const double left = std::floor(part.left() / step) * step;
  const double top = std::floor(part.top() / step) * step;
  if ((part.width() / step) * (part.height() / step) > kMostGridDots || !std::isfinite(left) || !std::isfinite(top)) {
    return;
  }
  QPen pen(m_colors[Token::grid], px(1.4));
  pen.setCapStyle(Qt::RoundCap);
  painter.setPen(pen);
  std::vector<QPointF> dots;
  for (double x = left; x <= part.right(); x += step) {
    for (double y = top; y <= part.bottom(); y += step) {
      dots.emplace_back(x, y);
    }
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.drawPoints(dots.data(), static_cast<int>(dots.size()));
  painter.setRenderHint(QPainter::Antialiasing, true);
}

void CanvasPainter::paintBoxes(QPainter& painter, const QRectF& part) const {
  for (const BoxItem& box : m_scene.boxes()) {
    if (!box.rect.adjusted(-4, -4, 4, 4).intersects(part) || !isShown(box.id)) {
      continue;
    }
    const bool isOn = isSelected(box.id);
    const QColor room = m_colors[Token::room];
    painter.setBrush(box.depth % 2 == 0 ? room : mixed(room, m_colors[Token::boxLine], 0.16));
    painter.setPen(QPen(m_colors[isOn ? Token::accent : Token::boxLine], isOn ? px(2) : std::max(1.2, px(1))));
    if (isOn) {
      painter.setBrush(mixed(room, m_colors[Token::accentSoft], 0.5));
    }
    if (m_detail == Detail::far) {
      painter.drawRoundedRect(box.rect, px(3), px(3));
    } else {
      painter.drawRoundedRect(box.rect, 14, 14);
    }
  }
}

void CanvasPainter::paintTitles(QPainter& painter, const QRectF& part) const {
  for (const BoxItem& box : m_scene.boxes()) {
    if (!box.rect.intersects(part) || !isShown(box.id)) {
      continue;
    }
    // 17 units, but never below 11 pixels while the box has room for it.
    const double size = std::max(17.0, px(m_detail == Detail::far ? 11 : 11.5));
    const bool isFar = m_detail == Detail::far;
    if (box.rect.width() < size * 2.2 || box.rect.height() < size * 1.4 || (isFar && box.depth > 0)) {
      continue;
    }
    // Where the title's room is too low for it, it stands on top of the box.
    const bool isAbove = !isFar && size > titleRoom(box) * 0.8;
    if (isAbove && box.depth > 0) {
      continue;
    }
    QFont font = uiFont(100, QFont::DemiBold);
    const double shrink = size / 100;
    const QFontMetricsF metrics(font);
    const bool isOn = isSelected(box.id);
    painter.save();
    painter.translate(box.rect.left() + (isFar     ? size * 0.4
                                         : isAbove ? 4
                                                   : 18),
                      box.rect.top() + (isFar     ? size * 0.15
                                        : isAbove ? -size * 1.35
                                                  : 8));
    painter.scale(shrink, shrink);
    const double room = (box.rect.width() - (isFar ? size * 0.8 : 36)) / shrink;
    const QString title = metrics.elidedText(box.title, Qt::ElideRight, room);
    // A quiet ground, as lines may pass.
    QColor ground = m_colors[isAbove ? Token::canvas : Token::room];
    ground.setAlphaF(0.8F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    const double used = metrics.horizontalAdvance(title) + 70;
    font.setWeight(QFont::Normal);
    const double detailWidth = QFontMetricsF(font).horizontalAdvance(box.detail);
    const bool hasDetail = !isFar && !box.detail.isEmpty() && used + detailWidth <= room;
    painter.drawRoundedRect(QRectF(-20, 0, (hasDetail ? used + detailWidth : used - 70) + 40, metrics.height()), 30,
                            30);
    font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(m_colors[isOn ? Token::accent : Token::text]);
    painter.drawText(QPointF(0, metrics.ascent()), title);
    if (hasDetail) {
      font.setWeight(QFont::Normal);
      painter.setFont(font);
      painter.setPen(m_colors[Token::muted]);
      painter.drawText(QPointF(used, metrics.ascent()), box.detail);
    }
    painter.restore();
  }
}

void CanvasPainter::paintHulls(QPainter& painter, bool isFill) const {
  if (m_state.overlay == nullptr) {
    return;
  }
  for (const Hull& hull : m_state.overlay->hulls) {
    const QPainterPath path = hullOf(m_scene, hull.nodes);
    if (path.isEmpty()) {
      continue;
    }
    if (isFill) {
      QColor fill = m_colors[hull.fill];
      fill.setAlphaF(0.82F);
      painter.setBrush(fill);
      QPen pen(m_colors[hull.line], px(2));
      if (hull.isDashed) {
        pen.setDashPattern({4, 3});
      }
      painter.setPen(pen);
      painter.drawPath(path);
    } else if (!hull.label.isEmpty()) {
      const QRectF rect = path.boundingRect();
      paintPill(painter, QPointF(rect.center().x(), rect.bottom()), hull.label, m_colors[hull.line],
                m_colors[hull.line == Token::cut ? Token::onCut : Token::onAccent], 12);
    }
  }
}

void CanvasPainter::paintPill(QPainter& painter, const QPointF& centre, const QString& text, const QColor& fill,
                              const QColor& ink, double pixels) const {
  const QFont font = uiFont(100, QFont::DemiBold);
  const QFontMetricsF metrics(font);
  const double shrink = px(pixels) / 100;
  const double width = metrics.horizontalAdvance(text) + 110;
  const double height = metrics.height() + 40;
  painter.save();
  painter.translate(centre);
  painter.scale(shrink, shrink);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fill);
  const QRectF rect(-width / 2, -height / 2, width, height);
  painter.drawRoundedRect(rect, height / 2, height / 2);
  painter.setFont(font);
  painter.setPen(ink);
  painter.drawText(rect, Qt::AlignCenter, text);
  painter.restore();
}

void CanvasPainter::paintArrow(QPainter& painter, const LineItem& line, bool isForward, const QColor& color,
                               double width) const {
  const double t = isForward ? 1.0 : 0.0;
  const QPointF tip = isForward ? line.curve.to : line.curve.from;
  QPointF along = line.curve.tangent(isForward ? t - 0.02 : t + 0.02) * (isForward ? 1.0 : -1.0);
  const double length = std::hypot(along.x(), along.y());
  if (length <= 0) {
    return;
  }
  along /= length;
  const double size = std::max(8.0 + width, px(6));
  const QPointF across(-along.y(), along.x());
  const std::array<QPointF, 3> corners{tip, tip - along * size + across * size * 0.42,
                                       tip - along * size - across * size * 0.42};
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawPolygon(corners.data(), 3);
}

void CanvasPainter::paintBundles(QPainter& painter, const QRectF& part) const {
  painter.setBrush(Qt::NoBrush);
  const bool isDimmed = m_state.overlay != nullptr && m_state.overlay->isRestDimmed;
  for (const BundleItem& bundle : m_scene.bundles()) {
    if (!bundle.curve.bounds().adjusted(-1, -1, 1, 1).intersects(part)) {
      continue;
    }
    QColor color = m_colors[Token::link];
    color = mixed(m_colors[Token::canvas], color, isDimmed ? kDimmed : 0.85);
    painter.setPen(QPen(color, px(std::clamp(0.5 + 0.35 * std::log10(1 + bundle.bandwidth), 0.6, 2.4))));
    painter.drawPath(bundle.curve.path());
  }
}

void CanvasPainter::paintLines(QPainter& painter, const QRectF& part) {
  m_scene.linesIn(part.adjusted(-8, -8, 8, 8), m_found);
  const Overlay* overlay = m_state.overlay;
  const bool isDimmed = overlay != nullptr && overlay->isRestDimmed;
  const QColor rest = isDimmed ? mixed(m_colors[Token::canvas], m_colors[Token::link], 0.45) : m_colors[Token::link];
  std::vector<std::uint32_t> above;
  const auto draw = [&](const LineItem& line, const QColor& color, double width) {
    painter.setBrush(Qt::NoBrush);
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    if (line.curve.isStraight()) {
      painter.drawLine(line.curve.from, line.curve.to);
    } else {
      painter.drawPath(line.curve.path());
    }
    if (line.hasForward != line.hasBackward) {
      paintArrow(painter, line, line.hasForward, color, width);
    }
  };
  const auto widthOf = [&](const LineItem& line) {
    return std::max(lineWidth(line.bandwidth), m_detail == Detail::mid ? px(0.7) : px(1));
  };
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    if (m_state.only != nullptr && !isShown(line.links.front())) {
      continue;
    }
    if (m_state.selection != nullptr && !m_state.selection->empty() &&
        std::any_of(line.links.begin(), line.links.end(), [&](LinkId id) { return isSelected(id); })) {
      above.push_back(at);
      continue;
    }
    draw(line, rest, widthOf(line));
  }
  for (const std::uint32_t at : above) {
    const LineItem& line = m_scene.lines()[at];
    QColor glow = m_colors[Token::accent];
    glow.setAlphaF(0.22F);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(glow, widthOf(line) + px(6)));
    painter.drawPath(line.curve.path());
    draw(line, m_colors[Token::accent], widthOf(line) + px(0.5));
  }
  if (m_detail != Detail::near) {
    return;
  }
  // Numbers where one line stands for several.
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    const bool isFolded =
        m_scene.nodes()[line.a].shape == Shape::foldedBox || m_scene.nodes()[line.b].shape == Shape::foldedBox;
    if ((line.count < 2 && !isFolded) || (m_state.only != nullptr && !isShown(line.links.front()))) {
      continue;
    }
    const QString label = isFolded ? line.label : QStringLiteral("×%1").arg(line.count);
    const double size = 10.5 * std::clamp(m_scale / 0.55, 0.8, 1.4);
    const QPointF way = line.curve.to - line.curve.from;
    const double length = std::hypot(way.x(), way.y());
    if (line.curve.isStraight() && length * m_scale < 12 * size && length > 0) {
      // Too short to be broken by a number: it stands beside.
      const QPointF across(-way.y() / length, way.x() / length);
      const double side = std::abs(way.x()) > std::abs(way.y()) ? size * 0.85 : size * 1.1;
      const double sign = across.y() > 0 ? -1 : 1;
      paintPill(painter, line.curve.at(0.5) + across * sign * px(side), label, Qt::transparent,
                m_colors[Token::linkText], size);
    } else {
      paintPill(painter, line.curve.at(0.5), label, m_colors[Token::canvas], m_colors[Token::linkText], size);
    }
  }
}

void CanvasPainter::paintMarks(QPainter& painter, const QRectF& part) const {
  const Overlay* overlay = m_state.overlay;
  if (overlay == nullptr) {
    return;
  }
  painter.setBrush(Qt::NoBrush);
  const QRectF near = part.adjusted(-20, -20, 20, 20);
  // Of several links of one line the hottest counts.
  std::map<const LineItem*, double> loads;
  for (const auto& [id, load] : overlay->heat.load) {
    if (const LineItem* line = m_scene.line(id)) {
      const auto [found, isNew] = loads.try_emplace(line, load);
      found->second = std::max(found->second, load);
    }
  }
  for (const auto& [line, load] : loads) {
    if (line->curve.bounds().adjusted(-1, -1, 1, 1).intersects(near)) {
      painter.setPen(QPen(heat(load, m_colors.scheme()), std::max(lineWidth(line->bandwidth), px(1.5 + 2.5 * load))));
      painter.drawPath(line->curve.path());
    }
  }
  for (const LinkMark& mark : overlay->marks) {
    const LineItem* line = m_scene.line(mark.link);
    if (line != nullptr && line->curve.bounds().adjusted(-1, -1, 1, 1).intersects(near)) {
      painter.setPen(QPen(m_colors[mark.color], std::max(lineWidth(line->bandwidth), px(mark.width))));
      painter.drawPath(line->curve.path());
      if (line->hasForward != line->hasBackward) {
        paintArrow(painter, *line, line->hasForward, m_colors[mark.color], mark.width);
        painter.setBrush(Qt::NoBrush);
      }
    }
  }
  // Trees side by side where they share a line.
  std::map<const LineItem*, int> used;
  std::map<const LineItem*, int> sharing;
  for (const TreeMark& tree : overlay->trees) {
    std::set<const LineItem*> lines;
    for (const LinkId id : tree.links) {
      lines.insert(m_scene.line(id));
    }
    for (const LineItem* line : lines) {
      ++sharing[line];
    }
  }
  for (const TreeMark& tree : overlay->trees) {
    std::set<const LineItem*> lines;
    for (const LinkId id : tree.links) {
      lines.insert(m_scene.line(id));
    }
    lines.erase(nullptr);
    QPen pen(category(tree.category, m_colors.scheme()), px(2.4), categoryDash(tree.category));
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    for (const LineItem* line : lines) {
      const double place = used[line]++ - (sharing[line] - 1) / 2.0;
      if (line->curve.bounds().adjusted(-1, -1, 1, 1).intersects(near)) {
        painter.drawPath(line->curve.shifted(place * px(4)).path());
      }
    }
    for (const NodeId root : tree.roots) {
      const QRectF rect = m_scene.rectOf(root).adjusted(-px(4), -px(4), px(4), px(4));
      painter.drawRoundedRect(rect, 12, 12);
    }
  }
}

void CanvasPainter::paintNodes(QPainter& painter, const QRectF& part) {
  m_scene.nodesIn(part.adjusted(-12, -12, 12, 12), m_found);
  for (const std::uint32_t at : m_found) {
    const NodeItem& node = m_scene.nodes()[at];
    if (!isShown(node.id) || !node.rect.adjusted(-12, -12, 12, 12).intersects(part)) {
      continue;
    }
    const bool isDim = m_state.overlay != nullptr && m_state.overlay->isRestDimmed &&
                       node.id.kind == ElementKind::node && !m_bright.contains(node.id.node());
    if (isDim) {
      painter.setOpacity(kDimmed + 0.2);
    }
    paintNode(painter, node);
    if (isDim) {
      painter.setOpacity(1);
    }
  }
}

void CanvasPainter::paintNode(QPainter& painter, const NodeItem& node) const {
  Token fill = Token::gpuFill;
  Token ink = Token::gpuLine;
  switch (node.shape) {
    case Shape::gpu:
      break;
    case Shape::nic:
      fill = Token::nicFill;
      ink = Token::nicLine;
      break;
    case Shape::switchBar:
      fill = Token::switchFill;
      ink = Token::switchLine;
      break;
    case Shape::unknown:
      fill = Token::unknownFill;
      ink = Token::unknownLine;
      break;
    case Shape::foldedBox:
      fill = Token::room;
      ink = Token::boxLine;
      break;
  }
  const bool isOn = isSelected(node.id);
  if (m_detail == Detail::far) {
    const QRectF device = node.rect;
    painter.fillRect(device.width() * m_scale < 1.2 ? QRectF(device.center(), QSizeF(px(1), px(1))) : device,
                     m_colors[isOn ? Token::accent : ink]);
    return;
  }
  const double radius = node.shape == Shape::switchBar   ? node.rect.height() / 2
                        : node.shape == Shape::nic       ? 7
                        : node.shape == Shape::foldedBox ? 14
                                                         : 12;
  if (isOn) {
    QColor glow = m_colors[Token::accent];
    glow.setAlphaF(0.25F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(glow);
    const double out = px(4);
    painter.drawRoundedRect(node.rect.adjusted(-out, -out, out, out), radius + out, radius + out);
  }
  if (node.shape == Shape::foldedBox) {
    // A pile: there is more inside.
    painter.setPen(QPen(m_colors[Token::boxLine], std::max(1.2, px(1))));
    painter.setBrush(m_colors[Token::canvas]);
    painter.drawRoundedRect(node.rect.translated(6, -6), radius, radius);
  }
  painter.setBrush(m_colors[fill]);
  painter.setPen(QPen(m_colors[isOn ? Token::accent : ink], isOn ? std::max(2.0, px(2)) : std::max(1.8, px(0.8))));
  painter.drawRoundedRect(node.rect, radius, radius);
  if (node.isCapable) {
    // A second rim: it does more than relay.
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_colors[ink], 1));
    painter.drawRoundedRect(node.rect.adjusted(4, 4, -4, -4), radius - 4, radius - 4);
  }
  if (m_detail == Detail::near) {
    const bool isFolded = node.shape == Shape::foldedBox;
    double size = node.shape == Shape::gpu         ? (node.label.size() < 3 ? 24 : 20)
                  : node.shape == Shape::nic       ? 11
                  : node.shape == Shape::switchBar ? 16
                                                   : 18;
    QFont font = uiFont(100, QFont::DemiBold);
    const QFontMetricsF metrics(font);
    const double room = (node.rect.width() - (node.shape == Shape::nic ? 6 : 14)) * 100 / size;
    QString label = node.label;
    double width = metrics.horizontalAdvance(label);
    if (node.shape == Shape::gpu && width > room) {
      size = std::max(12.0, size * room / width);
    }
    if (size * m_scale >= 5.5) {
      painter.save();
      painter.translate(node.rect.center());
      painter.scale(size / 100, size / 100);
      const double space = (node.rect.width() - (node.shape == Shape::nic ? 4 : 12)) * 100 / size;
      label = metrics.elidedText(label, Qt::ElideRight, space);
      width = metrics.horizontalAdvance(label);
      painter.setFont(font);
      painter.setPen(m_colors[isFolded ? Token::text : ink]);
      const QString tail = node.detail.isEmpty() || isFolded ? QString() : QStringLiteral("  ·  ") + node.detail;
      const double tailWidth = metrics.horizontalAdvance(tail) * 0.92;
      const bool hasTail = !tail.isEmpty() && width + tailWidth <= space;
      const double left = -(width + (hasTail ? tailWidth : 0)) / 2;
      const double base = (metrics.ascent() - metrics.descent()) / 2 - (isFolded && !node.detail.isEmpty() ? 55 : 0);
      painter.drawText(QPointF(left, base), label);
      if (hasTail) {
        font.setWeight(QFont::Normal);
        painter.setFont(font);
        painter.drawText(QPointF(left + width, base), tail);
      }
      if (isFolded) {
        font.setWeight(QFont::Normal);
        painter.setFont(font);
        painter.setPen(m_colors[Token::muted]);
        const QString detail = QFontMetricsF(font).elidedText(node.detail, Qt::ElideRight, space);
        painter.drawText(QPointF(-QFontMetricsF(font).horizontalAdvance(detail) / 2, base + 130), detail);
      }
      painter.restore();
    }
    if (node.isPinned) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(m_colors[Token::muted]);
      painter.drawEllipse(QPointF(node.rect.left() + 6, node.rect.top() + 6), 2.5, 2.5);
    }
  }
  if (m_state.problems != nullptr) {
    if (const auto found = m_state.problems->find(node.id); found != m_state.problems->end()) {
      const double r = std::max(9.0, px(5));
      const QPointF centre = node.rect.topRight();
      painter.setPen(QPen(m_colors[Token::canvas], px(1.5)));
      painter.setBrush(m_colors[found->second == Severity::error ? Token::error : Token::warning]);
      painter.drawEllipse(centre, r, r);
      painter.setPen(QPen(m_colors[Token::canvas], r * 0.22, Qt::SolidLine, Qt::RoundCap));
      painter.drawLine(centre - QPointF(0, r * 0.5), centre + QPointF(0, r * 0.1));
      painter.drawPoint(centre + QPointF(0, r * 0.5));
    }
  }
}

void CanvasPainter::paintNotes(QPainter& painter, const QRectF& part) const {
  for (const NoteItem& note : m_scene.notes()) {
    if (!note.rect.adjusted(-8, -8, 8, 8).intersects(part) || !isShown(note.id)) {
      continue;
    }
    const bool isOn = isSelected(note.id);
    painter.setPen(isOn ? QPen(m_colors[Token::accent], px(2)) : QPen(m_colors[Token::line], std::max(1.0, px(0.8))));
    painter.setBrush(m_colors[Token::noteFill]);
    painter.drawRoundedRect(note.rect.adjusted(-8, -6, 8, 6), 6, 6);
    if (m_detail == Detail::near) {
      painter.setFont(uiFont(15));
      painter.setPen(m_colors[Token::text]);
      painter.drawText(note.rect.adjusted(0, 0, 40, 0), Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, note.text);
    }
  }
}

QSizeF CanvasPainter::paintLegend(QPainter& painter, const QPointF& corner) const {
  const Overlay* overlay = m_state.overlay;
  if (overlay == nullptr || (overlay->heat.load.empty() && overlay->trees.empty())) {
    return {};
  }
  constexpr double kWidth = 190;
  constexpr double kRow = 20;
  constexpr std::size_t kMostRows = 12;
  const bool hasHeat = !overlay->heat.load.empty();
  const std::size_t rows = std::min(kMostRows, overlay->trees.size());
  const QSizeF size(kWidth, 20 + (hasHeat ? 52 : 0) + kRow * static_cast<double>(rows));
  const QRectF frame(corner - QPointF(kWidth, 0), size);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(m_colors[Token::line], 1));
  painter.setBrush(m_colors[Token::panel]);
  painter.drawRoundedRect(frame, 8, 8);
  double y = frame.top() + 10;
  const double left = frame.left() + 12;
  if (hasHeat) {
    painter.setFont(uiFont(11, QFont::DemiBold));
    painter.setPen(m_colors[Token::muted]);
    painter.drawText(QRectF(left, y, kWidth - 24, 16), Qt::AlignLeft | Qt::AlignVCenter, overlay->heat.title);
    QLinearGradient gradient(left, 0, left + kWidth - 24, 0);
    for (int i = 0; i <= 8; ++i) {
      gradient.setColorAt(i / 8.0, heat(i / 8.0, m_colors.scheme()));
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(gradient);
    painter.drawRoundedRect(QRectF(left, y + 19, kWidth - 24, 8), 4, 4);
    painter.setFont(figureFont(10.5));
    painter.setPen(m_colors[Token::muted]);
    painter.drawText(QRectF(left, y + 29, kWidth - 24, 14), Qt::AlignLeft, overlay->heat.low);
    painter.drawText(QRectF(left, y + 29, kWidth - 24, 14), Qt::AlignRight, overlay->heat.high);
    y += 52;
  }
  painter.setFont(uiFont(11.5));
  for (std::size_t i = 0; i < rows; ++i) {
    const TreeMark& tree = overlay->trees[i];
    painter.setPen(QPen(category(tree.category, m_colors.scheme()), 2.4, categoryDash(tree.category)));
    painter.drawLine(QPointF(left, y + kRow / 2), QPointF(left + 34, y + kRow / 2));
    painter.setPen(m_colors[Token::text]);
    const bool isRest = i + 1 == rows && overlay->trees.size() > rows;
    const QString label =
        isRest ? QCoreApplication::translate("Canvas", "and %1 more").arg(overlay->trees.size() - rows + 1)
               : painter.fontMetrics().elidedText(tree.label, Qt::ElideRight, static_cast<int>(kWidth - 70));
    painter.drawText(QRectF(left + 44, y, kWidth - 60, kRow), Qt::AlignLeft | Qt::AlignVCenter, label);
    y += kRow;
  }
  painter.restore();
  return size;
}

}  // namespace coppice::designer
