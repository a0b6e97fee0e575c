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
constexpr double kLegendWidth = 190;
constexpr double kLegendRow = 20;
constexpr double kLegendHeat = 52;
constexpr std::size_t kMostLegendRows = 12;

QColor colorOf(const TreeMark& tree, Scheme scheme) {
  return tree.color.value_or(category(tree.category, scheme));
}

Qt::PenStyle dashOf(const TreeMark& tree) {
  return tree.dash.value_or(categoryDash(tree.category));
}

/// Items a few at a time.
template <typename Item, typename Paint>
void addInSteps(PaintSteps& result, std::vector<Item> items, Paint paint) {
  constexpr std::size_t kAtATime = 48;
  const auto all = std::make_shared<const std::vector<Item>>(std::move(items));
  for (std::size_t start = 0; start < all->size(); start += kAtATime) {
    result.steps.emplace_back([all, start, paint](QPainter& painter) {
      for (std::size_t i = start; i < std::min(start + kAtATime, all->size()); ++i) {
        paint(painter, (*all)[i]);
      }
    });
  }
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
  if (visible > kMostVisibleLines && scale < kNearScale) {
    return Detail::far;
  }
  return scale < kNearScale ? Detail::mid : Detail::near;
}

double lineWidth(double gigabytesPerSecond) {
  const double share = std::clamp(std::log10(std::max(1.0, gigabytesPerSecond)) / 3, 0.0, 1.0);
  return 0.9 + 4.1 * share * share;
}

std::pair<Token, Token> tokensOf(Shape shape) {
  switch (shape) {
    case Shape::gpu:
      break;
    case Shape::nic:
      return {Token::nicFill, Token::nicLine};
    case Shape::switchBar:
      return {Token::switchFill, Token::switchLine};
    case Shape::unknown:
      return {Token::unknownFill, Token::unknownLine};
    case Shape::foldedBox:
      return {Token::room, Token::boxLine};
  }
  return {Token::gpuFill, Token::gpuLine};
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
    : m_scene(scene), m_colors(colors), m_state(state) {}

bool CanvasPainter::isSelected(const ElementId& id) const {
  return m_state.selection != nullptr && m_state.selection->contains(id);
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
  if (detail == Detail::far) {
    add([this, part](QPainter& painter) { paintBundles(painter, part); });
  } else {
    addLineSteps(part, result);
  }
  addMarkSteps(part, result);
  // From afar a title has no room of its own and stands on the nodes.
  const auto titles = [this, part](QPainter& painter) { paintTitles(painter, part); };
  if (m_state.hasTitles && detail != Detail::far) {
    add(titles);
  }
  addNodeSteps(part, result);
  if (m_state.hasTitles && detail == Detail::far) {
    add(titles);
  }
  add([this, part](QPainter& painter) {
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

std::optional<CanvasPainter::Title> CanvasPainter::titleOf(const BoxItem& box) const {
  // 17 units, but never below 11 pixels while the box has room for it.
  const bool isFar = m_detail == Detail::far;
  const double size = std::max(17.0, px(isFar ? 11 : 11.5));
  if (box.rect.width() < size * 2.2 || box.rect.height() < size * 1.4 || (isFar && box.depth > 0)) {
    return std::nullopt;
  }
  // Where the title's room is too low for it, it stands on top of the box.
  Title title;
  title.isOutside = !isFar && size > titleRoom(box) * 0.8;
  if (title.isOutside && box.depth > 0) {
    return std::nullopt;
  }
  const QFontMetricsF bold(uiFont(100, QFont::DemiBold));
  title.shrink = size / 100;
  const double x = isFar ? size * 0.4 : title.isOutside ? 4 : 18;
  const double aside = isFar ? size * 0.15 : title.isOutside ? -size * 1.35 : 8;
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
  return title;
}

QRectF CanvasPainter::titleBounds(double scale, Detail detail) {
  m_scale = scale;
  m_detail = detail;
  QRectF result;
  for (const BoxItem& box : m_scene.boxes()) {
    if (!isShown(box.id)) {
      continue;
    }
    if (const std::optional<Title> title = titleOf(box)) {
      result |= title->rect();
    }
  }
  return result;
}

void CanvasPainter::paintTitles(QPainter& painter, const QRectF& part) const {
  // A title may stand just outside its box.
  const double reach = std::max(17.0, px(11.5)) * 1.5;
  for (const BoxItem& box : m_scene.boxes()) {
    if (!box.rect.adjusted(0, -reach, 0, reach).intersects(part) || !isShown(box.id)) {
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
    QColor ground = m_colors[title->isOutside ? Token::canvas : Token::room];
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

void CanvasPainter::paintHulls(QPainter& painter, const QRectF& part) const {
  if (m_state.layer == nullptr) {
    return;
  }
  const std::vector<Hull>& hulls = m_state.layer->overlay().hulls;
  for (std::size_t i = 0; i < hulls.size(); ++i) {
    const QPainterPath& path = m_state.layer->hulls()[i];
    if (path.isEmpty() || !path.boundingRect().adjusted(-px(3), -px(3), px(3), px(3)).intersects(part)) {
      continue;
    }
    QColor fill = m_colors[hulls[i].fill];
    fill.setAlphaF(0.82F);
    painter.setBrush(fill);
    QPen pen(m_colors[hulls[i].line], px(2));
    if (hulls[i].isDashed) {
      pen.setDashPattern({4, 3});
    }
    painter.setPen(pen);
    painter.drawPath(path);
  }
}

void CanvasPainter::paintHullLabels(QPainter& painter, const QRectF& view, double scale) {
  m_scale = scale;
  if (m_state.layer == nullptr) {
    return;
  }
  constexpr double kPixels = 12;
  const std::vector<Hull>& hulls = m_state.layer->overlay().hulls;
  for (std::size_t i = 0; i < hulls.size(); ++i) {
    const QRectF rect = m_state.layer->hulls()[i].boundingRect();
    if (hulls[i].label.isEmpty() || rect.isNull() || !rect.intersects(view)) {
      continue;
    }
    const double halfWidth = pillWidth(hulls[i].label, kPixels) / 2 + px(8);
    const double halfHeight = px(kPixels * 1.6);
    const auto within = [](double value, double low, double high) {
      return low <= high ? std::clamp(value, low, high) : (low + high) / 2;
    };
    // Where the hull leaves the view, its label comes along as far as the hull goes.
    const QRectF seen = rect & view;
    const QPointF centre(
        within(seen.center().x(), view.left() + halfWidth, view.right() - halfWidth),
        within(std::min(rect.bottom(), view.bottom()), view.top() + halfHeight, view.bottom() - halfHeight));
    paintPill(painter, centre, hulls[i].label, m_colors[hulls[i].line],
              m_colors[hulls[i].line == Token::cut ? Token::onCut : Token::onAccent], kPixels);
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
    QColor color = m_colors[Token::link];
    color = mixed(m_colors[Token::canvas], color, isDimmed ? kDimmed : 0.85);
    painter.setPen(QPen(color, px(std::clamp(0.5 + 0.35 * std::log10(1 + bundle.bandwidth), 0.6, 2.4))));
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
    // Too short to be broken by a number: it stands beside.
    const QPointF across(-way.y() / length, way.x() / length);
    const double side = std::abs(way.x()) > std::abs(way.y()) ? size * 0.85 : size * 1.1;
    const double sign = across.y() > 0 ? -1 : 1;
    paintPill(painter, line.curve.at(0.5) + across * sign * px(side), line.number, Qt::transparent,
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
  std::vector<std::uint32_t> numbered;
  // Numbers where one line stands for several.
  constexpr double kAllNumbers = 1.1;  // the scale from which those are shown that stand in each other's way
  for (const std::uint32_t at : m_found) {
    const LineItem& line = m_scene.lines()[at];
    if (m_state.only != nullptr && !isShown(line.links.front())) {
      continue;
    }
    const bool isOn = m_state.selection != nullptr && !m_state.selection->empty() &&
                      std::any_of(line.links.begin(), line.links.end(), [&](LinkId id) { return isSelected(id); });
    (isOn ? above : below).push_back(at);
    if (m_detail == Detail::near && !line.number.isEmpty() && (line.numberAt >= 0 || m_scale >= kAllNumbers)) {
      numbered.push_back(at);
    }
  }
  addInSteps(result, std::move(below), [this](QPainter& painter, std::uint32_t at) {
    const LineItem& line = m_scene.lines()[at];
    paintLine(painter, line, restingColor(), widthOf(line));
  });
  addInSteps(result, std::move(above),
             [this](QPainter& painter, std::uint32_t at) { paintSelectedLine(painter, m_scene.lines()[at]); });
  addInSteps(result, std::move(numbered),
             [this](QPainter& painter, std::uint32_t at) { paintNumber(painter, m_scene.lines()[at]); });
}

void CanvasPainter::paintMark(QPainter& painter, const LineItem& line, const LinkMark& mark) const {
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(m_colors[mark.color], std::max(lineWidth(line.bandwidth), px(mark.width))));
  painter.drawPath(line.curve.path());
  if (line.hasForward != line.hasBackward) {
    paintArrow(painter, line, line.hasForward, m_colors[mark.color], mark.width);
  }
}

void CanvasPainter::paintRoots(QPainter& painter, const QRectF& part) const {
  painter.setBrush(Qt::NoBrush);
  for (const TreeMark& tree : m_state.layer->overlay().trees) {
    painter.setPen(QPen(colorOf(tree, m_colors.scheme()), px(2.4)));
    for (const NodeId root : tree.roots) {
      const QRectF rect = m_scene.rectOf(root);
      if (!rect.isNull() && rect.adjusted(-px(6), -px(6), px(6), px(6)).intersects(part)) {
        painter.drawRoundedRect(rect.adjusted(-px(4), -px(4), px(4), px(4)), 12, 12);
      }
    }
  }
}

void CanvasPainter::addMarkSteps(const QRectF& part, PaintSteps& result) {
  const OverlayLayer* layer = m_state.layer;
  if (layer == nullptr) {
    return;
  }
  if (layer->lineCount() > 0) {
    // From afar a great many loads are drawn by bundle, as the lines themselves are.
    const bool isBundled =
        m_detail == Detail::far && static_cast<double>(layer->overlay().heat.load.size()) > kMostVisibleLines;
    if (isBundled) {
      result.steps.emplace_back([this, part](QPainter& painter) { paintBundledHeat(painter, part); });
    }
    m_scene.linesIn(part.adjusted(-40, -40, 40, 40), m_found);
    using OnLine = std::pair<std::uint32_t, const OverlayLayer::OnLine*>;
    std::vector<OnLine> loaded;
    std::vector<OnLine> marked;
    std::vector<OnLine> laned;
    for (const std::uint32_t at : m_found) {
      const OverlayLayer::OnLine* on = layer->on(at);
      if (on == nullptr || !isShown(m_scene.lines()[at].links.front())) {
        continue;
      }
      if (on->load && !isBundled) {
        loaded.emplace_back(at, on);
      }
      if (!on->marks.empty()) {
        marked.emplace_back(at, on);
      }
      if (!on->lanes.empty()) {
        laned.emplace_back(at, on);
      }
    }
    // The hotter, the higher.
    std::vector<OnLine> byHeat = loaded;
    std::stable_sort(byHeat.begin(), byHeat.end(), [](const OnLine& x, const OnLine& y) {
      return std::pair(x.second->load->isBottleneck, x.second->load->most()) <
             std::pair(y.second->load->isBottleneck, y.second->load->most());
    });
    addInSteps(result, std::move(byHeat), [this](QPainter& painter, const OnLine& each) {
      paintHeat(painter, m_scene.lines()[each.first], *each.second->load);
    });
    addInSteps(result, std::move(marked), [this, layer](QPainter& painter, const OnLine& each) {
      for (const std::uint32_t i : each.second->marks) {
        paintMark(painter, m_scene.lines()[each.first], layer->overlay().marks[i]);
      }
    });
    addInSteps(result, std::move(laned), [this](QPainter& painter, const OnLine& each) {
      paintLanes(painter, m_scene.lines()[each.first], each.second->lanes);
    });
    if (m_detail != Detail::far) {
      addInSteps(result, std::move(loaded), [this](QPainter& painter, const OnLine& each) {
        paintHeatLabel(painter, m_scene.lines()[each.first], *each.second->load);
      });
    }
  }
  result.steps.emplace_back([this, part](QPainter& painter) { paintRoots(painter, part); });
}

void CanvasPainter::paintHeat(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load) const {
  painter.setBrush(Qt::NoBrush);
  const auto widthFor = [&](double value) { return std::max(lineWidth(line.bandwidth), px(1.5 + 2.5 * value)); };
  const auto stroke = [&](const Curve& curve, const QColor& color, double width) {
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawPath(curve.path());
  };
  const bool isSplit =
      line.hasForward && line.hasBackward && std::abs(load.forward - load.backward) > 0.005 && m_detail != Detail::far;
  const double width = widthFor(load.most());
  const double whole = isSplit ? 2 * width + px(1) : width;
  if (load.isBottleneck) {
    stroke(line.curve, m_colors[Token::cut], whole + px(5));
    stroke(line.curve, m_colors[Token::canvas], whole + px(2));
  }
  if (!isSplit) {
    stroke(line.curve, heat(load.most(), m_colors.scheme()), width);
    return;
  }
  const double aside = (width + px(1)) / 2;
  stroke(line.curve.shifted(aside), heat(load.forward, m_colors.scheme()), width);
  stroke(line.curve.shifted(-aside), heat(load.backward, m_colors.scheme()), width);
}

void CanvasPainter::paintHeatLabel(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load) const {
  const QPointF way = line.curve.to - line.curve.from;
  const double length = std::hypot(way.x(), way.y());
  constexpr double kPixels = 10.5;
  if (!load.text.isEmpty() && m_detail == Detail::near && length > pillWidth(load.text, kPixels) * 1.2) {
    paintPill(painter, line.curve.at(0.5), load.text, m_colors[Token::canvas],
              m_colors[load.isBottleneck ? Token::cut : Token::linkText], kPixels);
    return;
  }
  if (load.isBottleneck) {
    const double r = px(5);
    const QPointF centre = line.curve.at(0.5);
    const std::array<QPointF, 4> corners{centre - QPointF(0, r), centre + QPointF(r, 0), centre + QPointF(0, r),
                                         centre - QPointF(r, 0)};
    painter.setPen(QPen(m_colors[Token::canvas], px(1.5)));
    painter.setBrush(m_colors[Token::cut]);
    painter.drawPolygon(corners.data(), 4);
  }
}

void CanvasPainter::paintLanes(QPainter& painter, const LineItem& line,
                               const std::vector<OverlayLayer::Lane>& lanes) const {
  if (lanes.empty()) {
    return;
  }
  const std::vector<TreeMark>& trees = m_state.layer->overlay().trees;
  double widest = 0;
  for (const OverlayLayer::Lane& lane : lanes) {
    widest = std::max(widest, trees[lane.tree].width);
  }
  // A line has only so much room; lanes grow thinner before they grow too many to tell what they lie on.
  constexpr double kMostRoom = 44;
  const double gap = std::min(widest + 1.6, kMostRoom / static_cast<double>(lanes.size()));
  const double shrink = std::min(1.0, gap / (widest + 1.6));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const TreeMark& tree = trees[lanes[i].tree];
    const QColor color = colorOf(tree, m_colors.scheme());
    const double width = std::max(0.6, tree.width * shrink);
    const Curve curve = line.curve.shifted(lanes[i].place * px(gap));
    QPen pen(color, px(width), dashOf(tree));
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(curve.path());
    const QPointF way = curve.to - curve.from;
    const double size = px(4 + 2 * width);
    if (m_detail == Detail::far || std::hypot(way.x(), way.y()) < 2.2 * size) {
      continue;
    }
    // Arrowheads of neighbouring lanes stand behind each other, not side by side.
    const double t = std::clamp(0.56 + 0.1 * static_cast<double>(i % 3), 0.0, 1.0);
    const double at = lanes[i].isForward ? t : 1 - t;
    QPointF along = curve.tangent(at) * (lanes[i].isForward ? 1.0 : -1.0);
    const double length = std::hypot(along.x(), along.y());
    if (length <= 0) {
      continue;
    }
    along /= length;
    const QPointF across(-along.y(), along.x());
    const QPointF tip = curve.at(at) + along * size * 0.5;
    const std::array<QPointF, 3> corners{tip, tip - along * size + across * size * 0.45,
                                         tip - along * size - across * size * 0.45};
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(corners.data(), 3);
  }
}

void CanvasPainter::paintBundledHeat(QPainter& painter, const QRectF& part) const {
  painter.setBrush(Qt::NoBrush);
  for (const BundleItem& bundle : m_scene.bundles()) {
    if (!bundle.curve.bounds().adjusted(-1, -1, 1, 1).intersects(part)) {
      continue;
    }
    double most = -1;
    bool isBottleneck = false;
    for (const std::uint32_t at : bundle.lines) {
      if (const OverlayLayer::OnLine* on = m_state.layer->on(at); on != nullptr && on->load) {
        most = std::max(most, on->load->most());
        isBottleneck = isBottleneck || on->load->isBottleneck;
      }
    }
    if (most < 0) {
      continue;
    }
    if (isBottleneck) {
      painter.setPen(QPen(m_colors[Token::cut], px(5)));
      painter.drawPath(bundle.curve.path());
    }
    painter.setPen(QPen(heat(most, m_colors.scheme()), px(1 + 1.5 * most)));
    painter.drawPath(bundle.curve.path());
  }
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
      painter.setOpacity(kDimmed + 0.2);
    }
    paintNode(painter, m_scene.nodes()[at]);
    if (isDim) {
      painter.setOpacity(1);
    }
  });
}

void CanvasPainter::paintNode(QPainter& painter, const NodeItem& node) const {
  const auto [fill, ink] = tokensOf(node.shape);
  const bool isOn = isSelected(node.id);
  if (m_detail == Detail::far) {
    const QRectF device = node.rect;
    painter.fillRect(device.width() * m_scale < 1.2 ? QRectF(device.center(), QSizeF(px(1), px(1))) : device,
                     m_colors[isOn                             ? Token::accent
                              : node.shape == Shape::foldedBox ? Token::gpuLine
                                                               : ink]);
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
    painter.drawRoundedRect(node.rect.translated(8, -8), radius, radius);
    painter.drawRoundedRect(node.rect.translated(4, -4), radius, radius);
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
      paintProblem(painter, node.rect.topRight(), found->second, std::max(9.0, px(5)));
    }
  }
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
      // Beside the middle, where numbers stand.
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

QSizeF CanvasPainter::legendSize() const {
  if (m_state.layer == nullptr) {
    return {};
  }
  const Overlay& overlay = m_state.layer->overlay();
  if (overlay.heat.load.empty() && overlay.trees.empty()) {
    return {};
  }
  const std::size_t rows = std::min(kMostLegendRows, overlay.trees.size());
  return {kLegendWidth, 20 + (overlay.heat.load.empty() ? 0 : kLegendHeat) +
                            (m_state.layer->hasBottleneck() ? kLegendRow : 0) + kLegendRow * static_cast<double>(rows)};
}

QSizeF CanvasPainter::paintLegend(QPainter& painter, const QPointF& corner) const {
  const QSizeF size = legendSize();
  if (size.isEmpty()) {
    return {};
  }
  const Overlay* overlay = &m_state.layer->overlay();
  constexpr double kWidth = kLegendWidth;
  constexpr double kRow = kLegendRow;
  const bool hasHeat = !overlay->heat.load.empty();
  const bool hasBottleneck = m_state.layer->hasBottleneck();
  const std::size_t rows = std::min(kMostLegendRows, overlay->trees.size());
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
    y += kLegendHeat;
  }
  painter.setFont(uiFont(11.5));
  if (hasBottleneck) {
    const double middle = y + kRow / 2;
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_colors[Token::cut]);
    painter.drawRect(QRectF(left, middle - 3.5, 34, 1.5));
    painter.drawRect(QRectF(left, middle + 2, 34, 1.5));
    painter.setPen(m_colors[Token::text]);
    const QString words = overlay->heat.bottleneck.isEmpty() ? QCoreApplication::translate("Canvas", "bottleneck")
                                                             : overlay->heat.bottleneck;
    painter.drawText(QRectF(left + 44, y, kWidth - 60, kRow), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(kWidth - 70)));
    y += kRow;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const TreeMark& tree = overlay->trees[i];
    painter.setPen(QPen(colorOf(tree, m_colors.scheme()), 2.4, dashOf(tree)));
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
