// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_painter.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "designer/canvas/paint_steps.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/fonts.hpp"

namespace coppice::designer {
namespace {

constexpr double kNearScale = 0.27;
constexpr double kFarScale = 0.11;
constexpr double kMaxVisibleLines = 6000;
/// Below this scale the lines between two rooms are one trunk, where there are many lines.
constexpr double kTrunkScale = 0.2;
constexpr std::size_t kMinTrunkedLines = 1500;
constexpr double kViewArea = 1600.0 * 1000.0;
constexpr double kMaxGridDots = 40000;

QColor fillOf(const BoxItem& box, bool isSelected, const Colors& colors) {
  const QColor room = colors[Token::room];
  if (isSelected) {
    return mixed(room, colors[Token::accentSoft], 0.5);
  }
  return box.depth % 2 == 0 ? room : mixed(room, colors[Token::boxLine], 0.16);
}

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
  if (visible > kMaxVisibleLines && scale < kNearScale) {
    return Detail::far;
  }
  return scale < kNearScale ? Detail::mid : Detail::near;
}

bool drawsTrunks(Detail detail, double scale, std::size_t lines) {
  return detail == Detail::far || (detail == Detail::mid && scale < kTrunkScale && lines > kMinTrunkedLines);
}

double lineWidth(double gigabytesPerSecond) {
  const double share = std::clamp(std::log10(std::max(1.0, gigabytesPerSecond)) / 3, 0.0, 1.0);
  return 0.9 + 4.1 * share * share;
}

namespace {

/// Gaps between the nodes of a set that hold no other node are part of its hull.
QPainterPath withoutEmptyHoles(const QPainterPath& path, const CanvasScene& scene, const std::set<NodeId>& nodes) {
  const QList<QPolygonF> rings = path.toSubpathPolygons();
  QPainterPath filled;
  filled.setFillRule(Qt::OddEvenFill);
  for (const QPolygonF& ring : rings) {
    const bool isHole = std::any_of(rings.begin(), rings.end(), [&](const QPolygonF& other) {
      return &other != &ring && other.boundingRect().contains(ring.boundingRect()) &&
             other.containsPoint(ring.front(), Qt::OddEvenFill);
    });
    const auto holds = [&](NodeId id) { return ring.containsPoint(scene.rectOf(id).center(), Qt::OddEvenFill); };
    bool isKept = !isHole;
    if (isHole) {
      for (const auto& [id, node] : scene.model().nodes()) {
        isKept = isKept || (!nodes.contains(id) && holds(id));
      }
    }
    if (isKept) {
      filled.addPolygon(ring);
    }
  }
  return filled;
}

}  // namespace

QPainterPath hullOf(const CanvasScene& scene, const std::set<NodeId>& nodes, double margin) {
  // Boxes that are in the set whole count as their outline; other nodes join what they are close to.
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
  // Cells of a stack are close together.
  constexpr double kCellMargin = 4;
  std::set<std::pair<double, double>> cells;
  for (const NodeId id : open) {
    const QRectF rect = scene.rectOf(id);
    if (!scene.cellOf(id).isNull()) {
      if (cells.emplace(rect.x(), rect.y()).second) {
        rects.push_back(rect.adjusted(-kCellMargin, -kCellMargin, kCellMargin, kCellMargin));
      }
    } else if (!rect.isNull()) {
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
  return withoutEmptyHoles(path, scene, nodes);
}

CanvasPainter::CanvasPainter(const CanvasScene& scene, const Colors& colors, const CanvasState& state)
    : m_scene(scene), m_colors(colors), m_state(state) {}

bool CanvasPainter::isSelected(const ElementId& id) const {
  return m_state.selection != nullptr && m_state.selection->contains(id);
}

bool CanvasPainter::isSelected(const NodeItem& node) const {
  return node.cells.empty() ? isSelected(node.id)
                            : std::all_of(node.cells.begin(), node.cells.end(),
                                          [this](const NodeItem::Cell& cell) { return isSelected(cell.box); });
}

void CanvasPainter::paint(QPainter& painter, const QRectF& part, double scale, Detail detail) {
  for (const auto& step : steps(part, scale, detail).steps) {
    step(painter);
  }
}

PaintSteps CanvasPainter::steps(const QRectF& part, double scale, Detail detail) {
  m_scale = scale;
  m_detail = detail;
  PaintSteps result;
  const auto add = [&](auto step) { result.steps.emplace_back(std::move(step)); };
  add([this, part](QPainter& painter) {
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    if (m_state.hasBackground) {
      painter.fillRect(part.adjusted(-1, -1, 1, 1), m_colors[Token::canvas]);
    }
    if (m_state.hasGrid) {
      paintGrid(painter, part);
    }
    paintBoxes(painter, part);
    paintHulls(painter, part);
  });
  m_isBundled.clear();
  m_isTrunked = drawsTrunks(detail, scale, m_scene.lines().size());
  if (m_isTrunked) {
    m_isBundled.assign(m_scene.lines().size(), 0);
    for (const BundleItem& bundle : m_scene.bundles()) {
      for (const std::uint32_t at : bundle.lines) {
        m_isBundled[at] = 1;
      }
    }
    add([this, part](QPainter& painter) { paintBundles(painter, part); });
  }
  if (detail != Detail::far) {
    addLineSteps(part, result);
  }
  addMarkSteps(part, result);
  if (detail == Detail::near) {
    addNumberSteps(part, result);
  }
  // At small scales a title has no space of its own and covers the nodes.
  const auto titles = [this, part](QPainter& painter) { paintTitles(painter, part); };
  if (m_state.hasTitles && detail != Detail::far) {
    add(titles);
  }
  addNodeSteps(part, result);
  if (m_state.hasTitles && detail == Detail::far) {
    add(titles);
  }
  add([this, part](QPainter& painter) {
    paintFailedNodes(painter, part);
    paintLinkProblems(painter, part);
    paintNotes(painter, part);
  });
  return result;
}

void CanvasPainter::paintSome(QPainter& painter, const std::vector<std::uint32_t>& lines,
                              const std::vector<std::uint32_t>& nodes, double scale, Detail detail) {
  m_scale = scale;
  m_detail = detail;
  painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
  for (const std::uint32_t at : lines) {
    paintLine(painter, m_scene.lines()[at], restingColor(), widthOf(m_scene.lines()[at]));
  }
  for (const std::uint32_t at : nodes) {
    paintNode(painter, m_scene.nodes()[at]);
  }
}

void CanvasPainter::paintGrid(QPainter& painter, const QRectF& part) const {
  double step = kGridStep;
  while (step * m_scale < 9) {
    step *= 5;
  }
  const double left = std::floor(part.left() / step) * step;
  const double top = std::floor(part.top() / step) * step;
  if ((part.width() / step) * (part.height() / step) > kMaxGridDots || !std::isfinite(left) || !std::isfinite(top)) {
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
    painter.setBrush(fillOf(box, isOn, m_colors));
    painter.setPen(QPen(m_colors[isOn ? Token::accent : Token::boxLine], isOn ? px(2) : std::max(1.2, px(1))));
    if (m_detail == Detail::far) {
      painter.drawRoundedRect(box.rect, px(3), px(3));
    } else {
      painter.drawRoundedRect(box.rect, 14, 14);
    }
  }
}

QColor CanvasPainter::groundOf(const BoxItem& box) const {
  QColor ground = fillOf(box, isSelected(box.id), m_colors);
  if (m_state.layer != nullptr) {
    for (std::size_t i = 0; i < m_state.layer->hulls().size(); ++i) {
      if (m_state.layer->hulls()[i].contains(box.rect.center())) {
        ground = mixed(ground, fillOf(m_state.layer->overlay().hulls[i], m_colors), kHullOpacity);
      }
    }
  }
  return ground;
}

std::optional<CanvasPainter::Title> CanvasPainter::titleOf(const BoxItem& box) const {
  // 17 units, but never below what can be read while the box has room for it.
  const bool isFar = m_detail == Detail::far;
  constexpr double kMinPixels = 7;
  double size = std::max(17.0, px(isFar ? 9.5 : 11.5));
  Title title;
  if (isFar || size > titleRoom(box) * 0.8) {
    // The title's room is too low for it: it is drawn beside the box, as high as the free gap.
    if (box.depth > 0) {
      return std::nullopt;
    }
    const double inGap = std::min(size, box.titleGap / 1.35);
    title.isOutside = inGap * m_scale >= kMinPixels;
    if (title.isOutside) {
      size = inGap;
    } else if (!isFar) {
      return std::nullopt;
    }
  }
  if (box.rect.width() < size * 2.2 || (!title.isOutside && box.rect.height() < size * 1.4)) {
    return std::nullopt;
  }
  const QFontMetricsF bold(uiFont(100, QFont::DemiBold));
  title.shrink = size / 100;
  const double x = title.isOutside ? 4 : isFar ? size * 0.4 : 18;
  const double aside = title.isOutside ? -size * 1.35 : isFar ? size * 0.15 : 8;
  const double y = box.isTitleBelow ? box.rect.bottom() - aside - size * 1.25 : box.rect.top() + aside;
  title.origin = QPointF(box.rect.left() + x, y);
  const double room = (box.rect.width() - (isFar ? size * 0.8 : 36)) / title.shrink;
  title.text = bold.elidedText(box.title, Qt::ElideRight, room);
  double width = bold.horizontalAdvance(title.text);
  if (!isFar && !box.detail.isEmpty()) {
    const double begin = width + 70;
    const double end = begin + QFontMetricsF(uiFont(100)).horizontalAdvance(box.detail);
    if (end <= room) {
      title.detailAt = begin;
      width = end;
    }
  }
  title.ground = QRectF(-20, 0, width + 40, bold.height());
  if (isFar && !title.isOutside) {
    // Inside it covers nodes: as few as can be.
    std::size_t min = std::numeric_limits<std::size_t>::max();
    std::vector<std::uint32_t> covered;
    for (const double top : {y, box.rect.center().y() - size * 0.62,
                             box.isTitleBelow ? box.rect.top() + aside : box.rect.bottom() - aside - size * 1.25}) {
      Title moved = title;
      moved.origin.setY(top);
      m_scene.nodesIn(moved.rect(), covered);
      const auto count = static_cast<std::size_t>(std::count_if(covered.begin(), covered.end(), [&](std::uint32_t at) {
        return m_scene.nodes()[at].rect.intersects(moved.rect());
      }));
      if (count < min) {
        min = count;
        title.origin.setY(top);
      }
    }
  }
  return title;
}

std::vector<QRectF> CanvasPainter::titleRects(double scale, Detail detail, const std::optional<QRectF>& part) {
  m_scale = scale;
  m_detail = detail;
  std::vector<QRectF> result;
  for (const BoxItem& box : m_scene.boxes()) {
    if (!isShown(box.id) || (part && !mayHaveTitleIn(box, *part))) {
      continue;
    }
    const std::optional<Title> title = titleOf(box);
    if (title && (!part || title->rect().intersects(*part))) {
      result.push_back(title->rect());
    }
  }
  return result;
}

bool CanvasPainter::mayHaveTitleIn(const BoxItem& box, const QRectF& part) const {
  // A title may be just outside its box.
  const double reach = std::max(17.0, px(11.5)) * 1.5;
  return box.rect.adjusted(0, -reach, 0, reach).intersects(part);
}

void CanvasPainter::paintTitles(QPainter& painter, const QRectF& part) const {
  for (const BoxItem& box : m_scene.boxes()) {
    if (!mayHaveTitleIn(box, part) || !isShown(box.id)) {
      continue;
    }
    const std::optional<Title> title = titleOf(box);
    if (!title || !title->rect().intersects(part)) {
      continue;
    }
    painter.save();
    painter.translate(title->origin);
    painter.scale(title->shrink, title->shrink);
    // A quiet ground, as lines may pass.
    QColor ground = title->isOutside ? m_colors[Token::canvas] : groundOf(box);
    ground.setAlphaF(m_detail == Detail::far ? 0.92F : 0.8F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ground);
    painter.drawRoundedRect(title->ground, 30, 30);
    const QFont bold = uiFont(100, QFont::DemiBold);
    const double base = QFontMetricsF(bold).ascent();
    painter.setFont(bold);
    painter.setPen(m_colors[isSelected(box.id) ? Token::accent : Token::text]);
    painter.drawText(QPointF(0, base), title->text);
    if (title->detailAt >= 0) {
      painter.setFont(uiFont(100));
      painter.setPen(m_colors[Token::muted]);
      painter.drawText(QPointF(title->detailAt, base), box.detail);
    }
    painter.restore();
  }
}

double CanvasPainter::pillWidth(const QString& text, double pixels) const {
  return (QFontMetricsF(uiFont(100, QFont::DemiBold)).horizontalAdvance(text) + 110) * px(pixels) / 100;
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
  const bool isDimmed = m_state.layer != nullptr && m_state.layer->overlay().isRestDimmed;
  for (const BundleItem& bundle : m_scene.bundles()) {
    if (!bundle.curve.bounds().adjusted(-1, -1, 1, 1).intersects(part)) {
      continue;
    }
    const bool isLoaded =
        m_state.layer != nullptr && std::any_of(bundle.lines.begin(), bundle.lines.end(), [&](std::uint32_t at) {
          const OverlayLayer::OnLine* on = m_state.layer->on(at);
          return on != nullptr && on->load;
        });
    if (isLoaded) {
      continue;  // heat takes the place of the trunk
    }
    QColor color = m_colors[Token::link];
    color = mixed(m_colors[Token::canvas], color, isDimmed ? kDimmedOpacity : 0.85);
    painter.setPen(
        QPen(color, std::min(trunkWidth(1), px(std::clamp(0.5 + 0.35 * std::log10(1 + bundle.bandwidth), 0.6, 2.4)))));
    painter.drawPath(bundle.curve.path());
  }
}

QColor CanvasPainter::restingColor() const {
  const bool isDimmed = m_state.layer != nullptr && m_state.layer->overlay().isRestDimmed;
  return isDimmed ? mixed(m_colors[Token::canvas], m_colors[Token::link], 0.45) : m_colors[Token::link];
}

double CanvasPainter::widthOf(const LineItem& line) const {
  return std::max(lineWidth(line.bandwidth), m_detail == Detail::near ? px(1) : px(0.7));
}

void CanvasPainter::paintLine(QPainter& painter, const LineItem& line, const QColor& color, double width) const {
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
}

void CanvasPainter::paintSelectedLine(QPainter& painter, const LineItem& line) const {
  QColor glow = m_colors[Token::accent];
  glow.setAlphaF(0.22F);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(glow, widthOf(line) + px(6)));
  painter.drawPath(line.curve.path());
  paintLine(painter, line, m_colors[Token::accent], widthOf(line) + px(0.5));
}

void CanvasPainter::paintNumber(QPainter& painter, const LineItem& line) const {
  const double size = 10.5 * std::clamp(m_scale / 0.55, 0.8, 1.4);
  const QPointF way = line.curve.to - line.curve.from;
  const double length = std::hypot(way.x(), way.y());
  if (line.curve.isStraight() && length * m_scale < 12 * size && length > 0) {
    // Too short to be broken by a number: it is drawn beside the line.
    const QPointF across(-way.y() / length, way.x() / length);
    const double side = std::abs(way.x()) > std::abs(way.y()) ? px(size * 0.85) : pillWidth(line.number, size) / 2;
    const double sign = across.y() > 0 ? -1 : 1;
    paintPill(painter, line.curve.at(0.5) + across * sign * side, line.number, Qt::transparent,
              m_colors[Token::linkText], size);
  } else {
    paintPill(painter, line.curve.at(line.numberAt < 0 ? 0.5 : line.numberAt), line.number, m_colors[Token::canvas],
              m_colors[Token::linkText], size);
  }
}

void CanvasPainter::addLineSteps(const QRectF& part, PaintSteps& result) {
  m_scene.linesIn(part.adjusted(-8, -8, 8, 8), m_found);
  std::vector<std::uint32_t> below;
  std::vector<std::uint32_t> above;
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    if (m_state.only != nullptr && !isShown(line.links.front())) {
      continue;
    }
    const bool isOn = m_state.selection != nullptr && !m_state.selection->empty() &&
                      std::any_of(line.links.begin(), line.links.end(), [&](LinkId id) { return isSelected(id); });
    const OverlayLayer::OnLine* on = m_state.layer != nullptr ? m_state.layer->on(at) : nullptr;
    if (isOn) {
      above.push_back(at);
    } else if ((on == nullptr || !on->load) && !isOnTrunk(at)) {
      below.push_back(at);  // heat takes the place of the line
    }
  }
  addInSteps(result, std::move(below), [this](QPainter& painter, std::uint32_t at) {
    const LineItem& line = m_scene.lines()[at];
    paintLine(painter, line, restingColor(), widthOf(line));
  });
  addInSteps(result, std::move(above),
             [this](QPainter& painter, std::uint32_t at) { paintSelectedLine(painter, m_scene.lines()[at]); });
}

void CanvasPainter::addNumberSteps(const QRectF& part, PaintSteps& result) {
  // Numbers where one line stands for several.
  constexpr double kAllNumbers = 1.1;  // the scale from which those are shown that are in each other's way
  m_scene.linesIn(part.adjusted(-8, -8, 8, 8), m_found);
  std::vector<std::uint32_t> numbered;
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    const OverlayLayer::OnLine* on = m_state.layer != nullptr ? m_state.layer->on(at) : nullptr;
    const bool hasText = on != nullptr && on->load && !on->load->text.isEmpty();
    if (!line.number.isEmpty() && !hasText && (line.numberAt >= 0 || m_scale >= kAllNumbers) &&
        (m_state.only == nullptr || isShown(line.links.front()))) {
      numbered.push_back(at);
    }
  }
  addInSteps(result, std::move(numbered),
             [this](QPainter& painter, std::uint32_t at) { paintNumber(painter, m_scene.lines()[at]); });
}

void CanvasPainter::addNodeSteps(const QRectF& part, PaintSteps& result) {
  m_scene.nodesIn(part.adjusted(-12, -12, 12, 12), m_found);
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t at : m_found) {
    const NodeItem& node = m_scene.nodes()[at];
    if (isShown(node.id) && node.rect.adjusted(-12, -12, 12, 12).intersects(part)) {
      shown.push_back(at);
    }
  }
  addInSteps(result, std::move(shown), [this](QPainter& painter, std::uint32_t at) {
    const bool isDim = m_state.layer != nullptr && !m_state.layer->isBright(at);
    if (isDim) {
      painter.setOpacity(kDimmedOpacity + 0.2);
    }
    paintNode(painter, m_scene.nodes()[at]);
    if (isDim) {
      painter.setOpacity(1);
    }
  });
}

void CanvasPainter::paintNode(QPainter& painter, const NodeItem& node) const {
  if (m_detail == Detail::far) {
    paintFarNode(painter, node);
    return;
  }
  paintShape(painter, node);
  if (node.shape == Shape::foldedBox) {
    paintFoldedLabel(painter, node);
  } else if (m_detail == Detail::near) {
    paintLabel(painter, node);
    if (node.isPinned) {
      painter.setPen(Qt::NoPen);
      painter.setBrush(m_colors[Token::muted]);
      painter.drawEllipse(QPointF(node.rect.left() + 6, node.rect.top() + 6), 2.5, 2.5);
    }
  }
  if (m_state.problems != nullptr) {
    if (const auto found = m_state.problems->find(node.id); found != m_state.problems->end()) {
      paintProblem(painter, node.rect.topRight(), found->second, std::max(9.0, px(5)));
    }
  }
}

void CanvasPainter::paintFarNode(QPainter& painter, const NodeItem& node) const {
  const bool isOn = isSelected(node);
  const ShapeStyle& style = styleOf(node.shape);
  if (node.shape == Shape::foldedBox) {
    painter.setBrush(m_colors[isOn ? Token::accentSoft : style.fill]);
    painter.setPen(QPen(m_colors[isOn ? Token::accent : style.line], px(1.2)));
    painter.drawRoundedRect(node.rect, px(3), px(3));
    paintFoldedLabel(painter, node);
    return;
  }
  const bool isDot = node.rect.width() * m_scale < 1.2;
  painter.fillRect(isDot ? QRectF(node.rect.center(), QSizeF(px(1), px(1))) : node.rect,
                   m_colors[isOn ? Token::accent : style.line]);
}

void CanvasPainter::paintShape(QPainter& painter, const NodeItem& node) const {
  const ShapeStyle& style = styleOf(node.shape);
  const double radius = style.radiusIn(node.rect);
  const bool isOn = isSelected(node);
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
    painter.drawRoundedRect(node.rect.translated(8, -8), radius, radius);
    painter.drawRoundedRect(node.rect.translated(4, -4), radius, radius);
  }
  painter.setBrush(m_colors[style.fill]);
  painter.setPen(
      QPen(m_colors[isOn ? Token::accent : style.line], isOn ? std::max(2.0, px(2)) : std::max(1.8, px(0.8))));
  painter.drawRoundedRect(node.rect, radius, radius);
  if (node.isCapable) {
    // A second rim: it does more than relay.
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_colors[style.line], 1));
    painter.drawRoundedRect(node.rect.adjusted(4, 4, -4, -4), radius - 4, radius - 4);
  }
}

void CanvasPainter::paintLabel(QPainter& painter, const NodeItem& node) const {
  constexpr double kMinPixels = 5.5;
  const ShapeStyle& style = styleOf(node.shape);
  const QFont bold = uiFont(100, QFont::DemiBold);
  const QFontMetricsF metrics(bold);
  double size = style.fontSizeOf(node.label.size());
  // Lengths in hundredths of the font size.
  const double room = (node.rect.width() - style.labelMargin - 2) * 100 / size;
  if (const double width = metrics.horizontalAdvance(node.label); style.shrinksLabel() && width > room) {
    size = std::max(style.minFontSize, size * room / width);
  }
  if (size * m_scale < kMinPixels) {
    return;
  }
  const double space = (node.rect.width() - style.labelMargin) * 100 / size;
  const QString label = metrics.elidedText(node.label, Qt::ElideRight, space);
  const double width = metrics.horizontalAdvance(label);
  const QString tail = node.detail.isEmpty() ? QString() : QStringLiteral("  ·  ") + node.detail;
  QFont plain = bold;
  plain.setWeight(QFont::Normal);
  const double tailWidth = QFontMetricsF(plain).horizontalAdvance(tail);
  const bool hasTail = !tail.isEmpty() && width + tailWidth <= space - style.detailMargin * 100 / size;
  const double left = -(width + (hasTail ? tailWidth : 0)) / 2;
  const double base = (metrics.ascent() - metrics.descent()) / 2;
  painter.save();
  painter.translate(node.rect.center());
  painter.scale(size / 100, size / 100);
  painter.setFont(bold);
  painter.setPen(m_colors[style.line]);
  painter.drawText(QPointF(left, base), label);
  if (hasTail) {
    painter.setFont(plain);
    painter.drawText(QPointF(left + width, base), tail);
  }
  painter.restore();
}

void CanvasPainter::paintFoldedLabel(QPainter& painter, const NodeItem& node) const {
  if (!node.cells.empty()) {
    paintStack(painter, node);
    return;
  }
  // The name as large as a quarter of the box, but not below what can be read while there is room; then the GPUs.
  constexpr double kMinPixels = 6;
  constexpr double kReadPixels = 10;
  const double min = px(kReadPixels);
  double size = std::min(std::max(node.rect.height() / 4, min), node.rect.height() * 0.8);
  const QFont bold = uiFont(100, QFont::DemiBold);
  const QFontMetricsF metrics(bold);
  const double room = node.rect.width() * 0.92;
  const double wide = metrics.horizontalAdvance(node.label) / 100;
  if (size * wide > room) {
    size = std::max(room / wide, px(kMinPixels));
  }
  if (size * m_scale < kMinPixels || size > node.rect.height()) {
    return;
  }
  painter.save();
  painter.translate(node.rect.center());
  painter.scale(size / 100, size / 100);
  const double space = room * 100 / size;
  const QString label = metrics.elidedText(node.label, Qt::ElideMiddle, space);
  const QFont plain = uiFont(100);
  const QFontMetricsF small(plain);
  // As many lines of it as there is height for.
  constexpr double kLine = 125;
  QStringList details = node.detail.split(u'\n', Qt::SkipEmptyParts);
  while (!details.isEmpty() && size * (1.35 + 1.25 * static_cast<double>(details.size())) >= node.rect.height()) {
    details.removeLast();
  }
  if (size * m_scale * 0.9 <= kMinPixels) {
    details.clear();
  }
  const double base = (metrics.ascent() - metrics.descent()) / 2 - kLine * 0.48 * static_cast<double>(details.size());
  painter.setFont(bold);
  painter.setPen(m_colors[isSelected(node) ? Token::accent : Token::text]);
  painter.drawText(QPointF(-metrics.horizontalAdvance(label) / 2, base), label);
  painter.setFont(plain);
  painter.setPen(m_colors[Token::muted]);
  for (qsizetype i = 0; i < details.size(); ++i) {
    const QString detail = small.elidedText(details[i], Qt::ElideRight, space);
    painter.drawText(QPointF(-small.horizontalAdvance(detail) / 2, base + kLine * static_cast<double>(i + 1)), detail);
  }
  painter.restore();
}

void CanvasPainter::paintProblem(QPainter& painter, const QPointF& centre, Severity severity, double r) const {
  painter.setPen(QPen(m_colors[Token::canvas], px(1.5)));
  painter.setBrush(m_colors[severity == Severity::error ? Token::error : Token::warning]);
  painter.drawEllipse(centre, r, r);
  painter.setPen(QPen(m_colors[Token::canvas], r * 0.22, Qt::SolidLine, Qt::RoundCap));
  painter.drawLine(centre - QPointF(0, r * 0.5), centre + QPointF(0, r * 0.1));
  painter.drawPoint(centre + QPointF(0, r * 0.5));
}

void CanvasPainter::paintLinkProblems(QPainter& painter, const QRectF& part) {
  if (m_state.problems == nullptr || m_state.problems->empty() || m_detail == Detail::far) {
    return;
  }
  const double r = std::max(8.0, px(5));
  m_scene.linesIn(part.adjusted(-2 * r, -2 * r, 2 * r, 2 * r), m_found);
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    if (!isShown(line.links.front())) {
      continue;
    }
    std::optional<Severity> worst;
    for (const LinkId id : line.links) {
      if (const auto found = m_state.problems->find(id); found != m_state.problems->end()) {
        worst = worst == Severity::error ? worst : found->second;
      }
    }
    if (worst) {
      // Beside the middle, where numbers are.
      paintProblem(painter, line.curve.at(0.28), *worst, r);
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

}  // namespace coppice::designer
