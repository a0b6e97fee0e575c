// SPDX-License-Identifier: GPL-3.0-or-later
// What a mode lays over the drawing: hulls and their labels, marks, heat, trees, and the legend.
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QLinearGradient>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/paint_steps.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"

namespace coppice::designer {
namespace {

constexpr double kLegendWidth = 190;
constexpr double kLegendRow = 20;
constexpr double kLegendHeat = 52;
constexpr std::size_t kMaxLegendRows = 12;
/// From this scale on what is on a line has its full width in pixels; below, widths follow the zoom down to a share.
constexpr double kFullScale = 0.6;
constexpr double kMinShare = 0.3;
constexpr double kHeatLabelPixels = 10.5;
/// Up to this many parallel trunks have their full width; more are thinner.
constexpr double kWideTrunks = 30;

QColor colorOf(const TreeMark& tree, Scheme scheme) {
  return tree.color.value_or(category(tree.category, scheme));
}

/// A disc with a plus (sums) or with one line that becomes two (copies).
void paintSwitchSign(QPainter& painter, const QPointF& centre, double radius, bool isSum, const QColor& fill,
                     const QColor& ink) {
  painter.setPen(QPen(ink, radius * 0.24));
  painter.setBrush(fill);
  painter.drawEllipse(centre, radius, radius);
  QPen pen(ink, radius * 0.26);
  pen.setCapStyle(Qt::RoundCap);
  painter.setPen(pen);
  const double r = radius * 0.52;
  if (isSum) {
    painter.drawLine(centre - QPointF(r, 0), centre + QPointF(r, 0));
    painter.drawLine(centre - QPointF(0, r), centre + QPointF(0, r));
    return;
  }
  const QPointF fork = centre - QPointF(r * 0.2, 0);
  painter.drawLine(centre - QPointF(r, 0), fork);
  painter.drawLine(fork, centre + QPointF(r * 0.9, -r * 0.8));
  painter.drawLine(fork, centre + QPointF(r * 0.9, r * 0.8));
}

/// How many shapes a text that is hidden counts for.
constexpr double kText = 8;

/// How much the label hides of the node, in shapes: of a stack each cell counts, and its text for several.
double hiddenIn(const NodeItem& node, const QRectF& label) {
  if (!node.rect.intersects(label)) {
    return 0;
  }
  const auto cells = std::count_if(node.cells.begin(), node.cells.end(),
                                   [&](const NodeItem::Cell& cell) { return cell.rect.intersects(label); });
  const QRectF text(node.rect.topLeft(), QSizeF(node.rect.width(), node.textHeight));
  return std::max(1.0, static_cast<double>(cells)) + (label.intersects(text) ? kText : 0);
}

/// Whether switches sum, and whether they copy, in any of the trees.
std::array<bool, 2> signsOf(const Overlay& overlay) {
  std::array<bool, 2> signs{};
  for (const TreeMark& tree : overlay.trees) {
    signs[0] = signs[0] || !tree.summing.empty();
    signs[1] = signs[1] || !tree.copying.empty();
  }
  return signs;
}

/// Of a hull's label.
QColor textOn(const Hull& hull, const Colors& colors) {
  if (!hull.category) {
    return colors[hull.line == Token::cut ? Token::onCut : Token::onAccent];
  }
  const QColor line = lineOf(hull, colors);
  const QColor& light = colors[colors.isDark() ? Token::text : Token::canvas];
  const QColor& dark = colors[colors.isDark() ? Token::canvas : Token::text];
  return contrast(line, light) >= contrast(line, dark) ? light : dark;
}

Qt::PenStyle dashOf(const TreeMark& tree) {
  return tree.dash.value_or(categoryDash(tree.category));
}

}  // namespace

QColor lineOf(const Hull& hull, const Colors& colors) {
  return hull.category ? category(*hull.category, colors.scheme()) : colors[hull.line];
}

QColor fillOf(const Hull& hull, const Colors& colors) {
  constexpr double kTint = 0.3;
  return hull.category ? mixed(colors[Token::canvas], lineOf(hull, colors), kTint) : colors[hull.fill];
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
    QColor fill = fillOf(hulls[i], m_colors);
    fill.setAlphaF(static_cast<float>(kHullOpacity));
    painter.setBrush(fill);
    painter.setPen(hullPen(hulls[i]));
    painter.drawPath(path);
  }
}

QPen CanvasPainter::hullPen(const Hull& hull) const {
  QPen pen(lineOf(hull, m_colors), px(2));
  if (hull.isDashed) {
    pen.setDashPattern({4, 3});
  }
  return pen;
}

std::optional<QPointF> CanvasPainter::hullLabelPlace(std::size_t hull, const QSizeF& size, const QRectF& view) {
  const std::vector<QRectF>& parts = m_state.layer->hullParts()[hull];
  const QRectF rect = m_state.layer->hulls()[hull].boundingRect();
  const QRectF seen = rect & view;
  const double halfWidth = size.width() / 2;
  const double halfHeight = size.height() / 2;
  const QRectF centres = view.adjusted(halfWidth, halfHeight, -halfWidth, -halfHeight);
  if (centres.width() < 0 || centres.height() < 0) {
    return std::nullopt;
  }
  // Beside the hull, as near as can be; where it fills the view, what covers the least of it.
  const double gap = px(10);
  std::vector<QPointF> places;
  const std::array<double, 3> xs{seen.center().x(), seen.left() + halfWidth, seen.right() - halfWidth};
  const std::array<double, 3> ys{seen.center().y(), seen.top() + halfHeight, seen.bottom() - halfHeight};
  for (const double away : {gap, 2.5 * gap, 4 * gap}) {
    for (const double x : xs) {
      places.emplace_back(x, rect.bottom() + away + halfHeight);
      places.emplace_back(x, rect.top() - away - halfHeight);
    }
    for (const double y : ys) {
      places.emplace_back(rect.right() + away + halfWidth, y);
      places.emplace_back(rect.left() - away - halfWidth, y);
    }
  }
  constexpr int kRaster = 8;
  for (int i = 0; i <= kRaster; ++i) {
    for (int j = 0; j <= kRaster; ++j) {
      places.emplace_back(centres.left() + centres.width() * i / kRaster,
                          centres.top() + centres.height() * j / kRaster);
    }
  }
  std::vector<QRectF> titles;
  constexpr std::size_t kMaxTitles = 150;
  for (const BoxItem& box : m_scene.boxes()) {
    if (m_scene.boxes().size() <= kMaxTitles && box.rect.adjusted(-gap, -gap, gap, gap).intersects(view)) {
      if (const std::optional<Title> title = titleOf(box)) {
        titles.push_back(title->rect());
      }
    }
  }
  std::optional<QPointF> best;
  std::array<double, 3> min{};
  for (QPointF place : places) {
    place = {std::clamp(place.x(), centres.left(), centres.right()),
             std::clamp(place.y(), centres.top(), centres.bottom())};
    const QRectF label(place - QPointF(halfWidth, halfHeight), size);
    double hidden = 0;
    double away = std::numeric_limits<double>::max();
    for (const QRectF& part : parts) {
      const QRectF both = label & part;
      hidden += both.width() * both.height();
      const QPointF nearest(std::clamp(place.x(), part.left(), part.right()),
                            std::clamp(place.y(), part.top(), part.bottom()));
      away = std::min(away, std::hypot(place.x() - nearest.x(), place.y() - nearest.y()));
    }
    m_scene.nodesIn(label, m_found);
    const auto isHidden = [&](const QRectF& other) { return other.intersects(label); };
    double covered = kText * static_cast<double>(std::count_if(titles.begin(), titles.end(), isHidden));
    for (const std::uint32_t at : m_found) {
      covered += hiddenIn(m_scene.nodes()[at], label);
    }
    // A few nodes of others rather than a label far from its hull.
    const std::array<double, 3> cost{hidden, away / px(30) + covered, away};
    if (!best || cost < min) {
      best = place;
      min = cost;
    }
  }
  return best;
}

void CanvasPainter::paintHullLabels(QPainter& painter, const QRectF& view, double scale) {
  m_scale = scale;
  m_detail = detailAt(scale, m_scene.lines().size(), m_scene.bounds());
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
    const QSizeF size(pillWidth(hulls[i].label, kPixels), px(kPixels * 1.9));
    const QRectF inner = view.adjusted(px(8), px(8), -px(8), -px(8));
    const std::optional<QPointF> centre = hullLabelPlace(i, size, inner);
    const QRectF label(centre.value_or(view.center()) - QPointF(size.width() / 2, size.height() / 2), size);
    const QColor line = lineOf(hulls[i], m_colors);
    paintLeader(painter, label, m_state.layer->hullParts()[i], line);
    paintPill(painter, label.center(), hulls[i].label, line, textOn(hulls[i], m_colors), kPixels);
  }
}

void CanvasPainter::paintLeader(QPainter& painter, const QRectF& label, const std::vector<QRectF>& parts,
                                const QColor& color) const {
  QPointF from;
  QPointF to;
  double min = std::numeric_limits<double>::max();
  for (const QRectF& part : parts) {
    const QPointF end(std::clamp(label.center().x(), part.left(), part.right()),
                      std::clamp(label.center().y(), part.top(), part.bottom()));
    const QPointF start(std::clamp(end.x(), label.left(), label.right()),
                        std::clamp(end.y(), label.top(), label.bottom()));
    const double length = std::hypot(end.x() - start.x(), end.y() - start.y());
    if (length < min) {
      min = length;
      from = start;
      to = end;
    }
  }
  if (min > 0 && min < std::numeric_limits<double>::max()) {
    painter.setPen(QPen(color, px(1.5)));
    painter.drawLine(from, to);
  }
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
  paintSwitchSigns(painter, part);
}

void CanvasPainter::paintSwitchSigns(QPainter& painter, const QRectF& part) const {
  // Signs of several trees at one switch stand side by side.
  std::map<NodeId, int> used;
  const double radius = px(7);
  for (const TreeMark& tree : m_state.layer->overlay().trees) {
    for (const bool isSum : {true, false}) {
      for (const NodeId node : isSum ? tree.summing : tree.copying) {
        const QRectF rect = m_scene.rectOf(node);
        const int place = used[node]++;
        constexpr int kMaxSigns = 4;
        if (rect.isNull() || place >= kMaxSigns || !rect.adjusted(-px(70), -px(20), px(20), px(20)).intersects(part)) {
          continue;
        }
        const QPointF centre = rect.topRight() - QPointF(place * 2.2 * radius, 0);
        paintSwitchSign(painter, centre, radius, isSum, colorOf(tree, m_colors.scheme()), m_colors[Token::canvas]);
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
    // What is on a trunk is drawn on the trunk, as the lines themselves are; the rest inside its room.
    if (m_isTrunked) {
      result.steps.emplace_back([this, part](QPainter& painter) { paintTrunks(painter, part); });
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
      if (on->load && !isOnTrunk(at)) {
        loaded.emplace_back(at, on);
      }
      if (!on->marks.empty() && !isOnTrunk(at)) {
        marked.emplace_back(at, on);
      }
      if (!on->lanes.empty()) {
        laned.emplace_back(at, on);
      }
    }
    // The hotter, the higher.
    std::stable_sort(loaded.begin(), loaded.end(), [](const OnLine& x, const OnLine& y) {
      return std::pair(x.second->load->isBottleneck, x.second->load->max()) <
             std::pair(y.second->load->isBottleneck, y.second->load->max());
    });
    addInSteps(result, std::move(loaded), [this](QPainter& painter, const OnLine& each) {
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
      addHeatLabelSteps(part, result);
    }
  }
  result.steps.emplace_back([this, part](QPainter& painter) {
    paintRoots(painter, part);
    paintFailedLines(painter, part);
  });
}

void CanvasPainter::paintHeat(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load) const {
  painter.setBrush(Qt::NoBrush);
  const double zoomed = std::clamp(m_scale / kFullScale, kMinShare, 1.0);
  // From afar, thousands of wide lines would be one dark mass.
  constexpr std::size_t kManyLines = 600;
  const double share = m_detail == Detail::far && m_scene.lines().size() > kManyLines ? 0.4 : 1.0;
  const auto widthFor = [&](double value) {
    return std::max(share * lineWidth(line.bandwidth), px((1.5 + 2.5 * value) * zoomed * share));
  };
  const auto stroke = [&](const Curve& curve, const QColor& color, double width) {
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawPath(curve.path());
  };
  const bool isSplit =
      line.hasForward && line.hasBackward && std::abs(load.forward - load.backward) > 0.005 && m_detail != Detail::far;
  const double width = widthFor(load.max());
  const double whole = isSplit ? 2 * width + px(1) : width;
  if (load.isBottleneck) {
    stroke(line.curve, m_colors[Token::cut], whole + px(5 * zoomed));
    stroke(line.curve, m_colors[Token::canvas], whole + px(2 * zoomed));
  }
  if (!isSplit) {
    stroke(line.curve, heat(load.max(), m_colors.scheme()), width);
    return;
  }
  const double aside = (width + px(1)) / 2;
  stroke(line.curve.shifted(aside), heat(load.forward, m_colors.scheme()), width);
  stroke(line.curve.shifted(-aside), heat(load.backward, m_colors.scheme()), width);
}

QRectF CanvasPainter::heatLabelRect(const LineItem& line, const OverlayLayer::Load& load) const {
  const QPointF way = line.curve.to - line.curve.from;
  const double width = pillWidth(load.text, kHeatLabelPixels);
  if (load.text.isEmpty() || m_detail != Detail::near || std::hypot(way.x(), way.y()) <= width * 1.2) {
    return {};
  }
  QRectF rect(QPointF(), QSizeF(width, px(kHeatLabelPixels * 1.8)));
  rect.moveCenter(line.curve.at(0.5));
  return rect;
}

void CanvasPainter::addHeatLabelSteps(const QRectF& part, PaintSteps& result) {
  struct Label {
    std::uint32_t line = 0;
    const OverlayLayer::Load* load = nullptr;
    QRectF rect;
  };
  // Labels of fuller lines have precedence, whether these are shown or not: so each part of the drawing decides
  // alike.
  const double reach = px(160);
  m_scene.linesIn(part.adjusted(-reach, -reach, reach, reach), m_found);
  std::vector<Label> labels;
  for (const std::uint32_t at : m_found) {
    const OverlayLayer::OnLine* on = m_state.layer->on(at);
    if (on != nullptr && on->load && isShown(m_scene.lines()[at].links.front())) {
      labels.push_back({at, &*on->load, heatLabelRect(m_scene.lines()[at], *on->load)});
    }
  }
  const auto isBefore = [](const Label& a, const Label& b) {
    return std::tuple(b.load->isBottleneck, b.load->max(), a.line) <
           std::tuple(a.load->isBottleneck, a.load->max(), b.line);
  };
  constexpr std::size_t kMax = 1200;
  std::vector<std::pair<std::uint32_t, bool>> shown;  // line, with its text
  for (const Label& label : labels) {
    const bool isFree = !label.rect.isNull() && labels.size() <= kMax &&
                        std::none_of(labels.begin(), labels.end(), [&](const Label& other) {
                          return &other != &label && other.rect.intersects(label.rect) && isBefore(other, label);
                        });
    if (isFree || label.load->isBottleneck) {
      shown.emplace_back(label.line, isFree);
    }
  }
  addInSteps(result, std::move(shown), [this](QPainter& painter, const std::pair<std::uint32_t, bool>& label) {
    paintHeatLabel(painter, m_scene.lines()[label.first], *m_state.layer->on(label.first)->load, label.second);
  });
}

void CanvasPainter::paintHeatLabel(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load,
                                   bool hasText) const {
  if (hasText) {
    paintPill(painter, line.curve.at(0.5), load.text, m_colors[Token::canvas],
              m_colors[load.isBottleneck ? Token::cut : Token::linkText], kHeatLabelPixels);
    return;
  }
  // From afar the rim would be all that is seen of it.
  const double zoomed = std::clamp(m_scale / kFullScale, kMinShare, 1.0);
  const double r = px(5) * zoomed;
  const QPointF centre = line.curve.at(0.5);
  const std::array<QPointF, 4> corners{centre - QPointF(0, r), centre + QPointF(r, 0), centre + QPointF(0, r),
                                       centre - QPointF(r, 0)};
  painter.setPen(QPen(m_colors[Token::canvas], px(1.5) * zoomed * zoomed));
  painter.setBrush(m_colors[Token::cut]);
  painter.drawPolygon(corners.data(), 4);
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
  // A line has only so much room; lanes grow thinner before they grow too many to tell what they are on.
  constexpr double kMaxRoom = 44;
  const double gap = std::min(widest + 1.6, kMaxRoom / static_cast<double>(lanes.size()));
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
    // Arrowheads of neighbouring lanes are behind each other, not side by side.
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

double CanvasPainter::trunkWidth(double share) const {
  const double crowd = std::max(1.0, static_cast<double>(m_scene.bundles().size()) / kWideTrunks);
  return px((0.9 + 2.1 * share) * std::max(0.3, 1 / std::sqrt(crowd)));
}

void CanvasPainter::paintTrunks(QPainter& painter, const QRectF& part) const {
  struct Trunk {
    const BundleItem* bundle = nullptr;
    double max = -1;
    bool isBottleneck = false;
    const LinkMark* mark = nullptr;
  };
  std::vector<Trunk> trunks;
  for (const BundleItem& bundle : m_scene.bundles()) {
    if (!bundle.curve.bounds().adjusted(-px(6), -px(6), px(6), px(6)).intersects(part)) {
      continue;
    }
    Trunk trunk{.bundle = &bundle};
    for (const std::uint32_t at : bundle.lines) {
      const OverlayLayer::OnLine* on = m_state.layer->on(at);
      if (on != nullptr && on->load) {
        trunk.max = std::max(trunk.max, on->load->max());
        trunk.isBottleneck = trunk.isBottleneck || on->load->isBottleneck;
      }
      if (on != nullptr && !on->marks.empty()) {
        trunk.mark = &m_state.layer->overlay().marks[on->marks.back()];
      }
    }
    if (trunk.max >= 0 || trunk.mark != nullptr) {
      trunks.push_back(trunk);
    }
  }
  // The worst last.
  std::stable_sort(trunks.begin(), trunks.end(), [](const Trunk& a, const Trunk& b) {
    return std::tuple(a.mark != nullptr, a.isBottleneck, a.max) < std::tuple(b.mark != nullptr, b.isBottleneck, b.max);
  });
  painter.setBrush(Qt::NoBrush);
  for (const Trunk& trunk : trunks) {
    const QPainterPath path = trunk.bundle->curve.path();
    if (trunk.max >= 0) {
      const double width = trunkWidth(trunk.max);
      if (trunk.isBottleneck) {
        painter.setPen(QPen(m_colors[Token::cut], width + px(3)));
        painter.drawPath(path);
        painter.setPen(QPen(m_colors[Token::canvas], width + px(1)));
        painter.drawPath(path);
      }
      painter.setPen(QPen(heat(trunk.max, m_colors.scheme()), width));
      painter.drawPath(path);
    }
    if (trunk.mark != nullptr) {
      painter.setPen(QPen(m_colors[trunk.mark->color], std::max(px(trunk.mark->width * 0.7), trunkWidth(1))));
      painter.drawPath(path);
    }
  }
}

void CanvasPainter::paintCross(QPainter& painter, const QPointF& centre, double r) const {
  for (const auto& [color, width] : {std::pair(Token::canvas, 5.0), std::pair(Token::error, 2.4)}) {
    painter.setPen(QPen(m_colors[color], px(width), Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(centre - QPointF(r, r), centre + QPointF(r, r));
    painter.drawLine(centre - QPointF(r, -r), centre + QPointF(r, -r));
  }
}

void CanvasPainter::paintFailedLines(QPainter& painter, const QRectF& part) const {
  for (const ElementId& id : m_state.layer->overlay().failed) {
    const LineItem* line = m_scene.line(id.link());
    if (line == nullptr || !line->bounds.adjusted(-px(12), -px(12), px(12), px(12)).intersects(part)) {
      continue;
    }
    QPen pen(m_colors[Token::canvas], std::max(lineWidth(line->bandwidth), px(2)) + px(2));
    pen.setCapStyle(Qt::FlatCap);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(pen);
    painter.drawPath(line->curve.path());
    pen.setColor(m_colors[Token::error]);
    pen.setWidthF(std::max(lineWidth(line->bandwidth) * 0.6, px(2)));
    pen.setDashPattern({3, 3});
    painter.setPen(pen);
    painter.drawPath(line->curve.path());
    paintCross(painter, line->curve.at(0.5), px(7));
  }
}

void CanvasPainter::paintFailedNodes(QPainter& painter, const QRectF& part) const {
  if (m_state.layer == nullptr) {
    return;
  }
  for (const ElementId& id : m_state.layer->overlay().failed) {
    const QRectF rect = id.kind == ElementKind::node ? m_scene.rectOf(id) : QRectF();
    if (rect.isNull() || !rect.adjusted(-px(12), -px(12), px(12), px(12)).intersects(part)) {
      continue;
    }
    painter.setPen(QPen(m_colors[Token::error], px(2.4)));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(rect.adjusted(-px(3), -px(3), px(3), px(3)), px(6), px(6));
    paintCross(painter, rect.center(), std::max(px(7), std::min(rect.width(), rect.height()) * 0.32));
  }
}

QSizeF CanvasPainter::legendSize() const {
  if (m_state.layer == nullptr) {
    return {};
  }
  const Overlay& overlay = m_state.layer->overlay();
  if ((overlay.heat.load.empty() || !overlay.heat.hasLegend) && overlay.trees.empty()) {
    return {};
  }
  const std::size_t rows = std::min(kMaxLegendRows, overlay.trees.size());
  const std::array<bool, 2> signs = signsOf(overlay);
  const double below = (m_state.layer->hasBottleneck() ? kLegendRow : 0) +
                       kLegendRow * static_cast<double>(rows + (signs[0] ? 1U : 0U) + (signs[1] ? 1U : 0U));
  constexpr double kAfterHeat = 8;  // before what follows
  const bool hasScale = !overlay.heat.load.empty() && overlay.heat.hasLegend;
  return {kLegendWidth, 20 + (!hasScale ? 0 : kLegendHeat - (below > 0 ? 0 : kAfterHeat)) + below};
}

QSizeF CanvasPainter::paintLegend(QPainter& painter, const QPointF& corner) const {
  const QSizeF size = legendSize();
  if (size.isEmpty()) {
    return {};
  }
  const Overlay* overlay = &m_state.layer->overlay();
  constexpr double kWidth = kLegendWidth;
  constexpr double kRow = kLegendRow;
  const bool hasHeat = !overlay->heat.load.empty() && overlay->heat.hasLegend;
  const bool hasBottleneck = m_state.layer->hasBottleneck();
  const std::size_t rows = std::min(kMaxLegendRows, overlay->trees.size());
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
  const std::array<bool, 2> signs = signsOf(*overlay);
  for (const bool isSum : {true, false}) {
    if (!signs[isSum ? 0 : 1]) {
      continue;
    }
    constexpr double kRadius = 7;
    paintSwitchSign(painter, QPointF(left + 17, y + kRow / 2), kRadius, isSum, m_colors[Token::muted],
                    m_colors[Token::panel]);
    painter.setPen(m_colors[Token::text]);
    const QString words = isSum ? QCoreApplication::translate("Canvas", "the switch sums")
                                : QCoreApplication::translate("Canvas", "the switch copies");
    painter.drawText(QRectF(left + 44, y, kWidth - 60, kRow), Qt::AlignLeft | Qt::AlignVCenter, words);
    y += kRow;
  }
  painter.restore();
  return size;
}

}  // namespace coppice::designer
