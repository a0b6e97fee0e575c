// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/charts/plot.hpp"

#include <QGraphicsLayout>
#include <QGraphicsLineItem>
#include <QGraphicsSimpleTextItem>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QtCharts/QAreaSeries>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <QtCharts/QValueAxis>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kLabelPixels = 10.5;
constexpr double kHintPixels = 12.5;
/// On the frame.
constexpr double kEverywhere = std::numeric_limits<double>::infinity();

QAbstractAxis* makeSizeAxis(const FittedAxis& fit) {
  auto* axis = new QCategoryAxis;
  axis->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  axis->setStartValue(std::log2(fit.min));
  axis->setRange(std::log2(fit.min), std::log2(fit.max));
  return axis;
}

QAbstractAxis* makeLogAxis(const FittedAxis& fit) {
  auto* axis = new QLogValueAxis;
  constexpr double kBase = 10;
  axis->setBase(kBase);
  // Over many decades the lines between them would be a grey band.
  constexpr double kFewDecades = 2.5;
  constexpr int kLinesBetween = 8;
  axis->setMinorTickCount(std::log10(fit.max / fit.min) < kFewDecades ? kLinesBetween : 0);
  axis->setLabelFormat(fit.format);
  axis->setRange(fit.min, fit.max);
  return axis;
}

QAbstractAxis* makeValueAxis(const FittedAxis& fit) {
  auto* axis = new QValueAxis;
  if (fit.tick > 0) {
    axis->setTickType(QValueAxis::TicksDynamic);
    axis->setTickAnchor(0);
    axis->setTickInterval(fit.tick);
  }
  axis->setLabelFormat(fit.format);
  axis->setRange(fit.min, fit.max);
  return axis;
}

QAbstractAxis* makeAxis(const PlotAxis& wanted, const FittedAxis& fit) {
  const Theme& theme = Theme::instance();
  QAbstractAxis* axis = wanted.scale == PlotAxis::Scale::sizes         ? makeSizeAxis(fit)
                        : wanted.scale == PlotAxis::Scale::logarithmic ? makeLogAxis(fit)
                                                                       : makeValueAxis(fit);
  axis->setTitleText(wanted.title);
  axis->setTitleFont(uiFont(kLabelPixels));
  axis->setTitleBrush(theme.color(Token::muted));
  axis->setLabelsFont(figureFont(kLabelPixels));
  // Labels that have no room are left out; dots say nothing.
  axis->setTruncateLabels(false);
  axis->setLabelsColor(theme.color(Token::muted));
  axis->setLinePenColor(theme.color(Token::line));
  axis->setGridLineColor(theme.color(Token::grid));
  axis->setMinorGridLineColor(theme.color(Token::grid));
  axis->setGridLineVisible(wanted.hasGrid);
  return axis;
}

/// From a position to the line from a to b.
double distanceTo(const QPointF& position, const QPointF& a, const QPointF& b) {
  const QPointF along = b - a;
  const double squared = QPointF::dotProduct(along, along);
  const double share = squared > 0 ? std::clamp(QPointF::dotProduct(position - a, along) / squared, 0.0, 1.0) : 0;
  return QLineF(position, a + share * along).length();
}

}  // namespace

Plot::Plot(QWidget* parent) : QChartView(new QChart, parent), m_legend(new PlotLegend(chart())) {
  setRenderHint(QPainter::Antialiasing);
  setFrameShape(QFrame::NoFrame);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
  chart()->layout()->setContentsMargins(0, 0, 0, 0);
  chart()->setBackgroundRoundness(0);
  chart()->legend()->hide();
  // Thousands are grouped, as everywhere in the window.
  chart()->setLocale(QLocale::English);
  chart()->setLocalizeNumbers(true);
  connect(chart(), &QChart::plotAreaChanged, this, [this] {
    fitLabels();
    placePins();
  });
  connect(&Theme::instance(), &Theme::changed, this, &Plot::redraw);
}

void Plot::setDraw(std::function<void()> draw) {
  m_draw = std::move(draw);
  redraw();
}

void Plot::setLegendSide(LegendSide side) {
  m_legendSide = side;
  placeLegend();
}

// ---- drawing

void Plot::redraw() {
  const Theme& theme = Theme::instance();
  qDeleteAll(std::exchange(m_pinItems, {}));
  m_pins.clear();
  m_items.clear();
  m_hint.clear();
  chart()->removeAllSeries();
  for (QAbstractAxis* axis : chart()->axes()) {
    // Qt Charts deletes labels and lines of an axis only when the event loop gets to it; hidden, they go at once.
    axis->hide();
    chart()->removeAxis(axis);
    delete axis;
  }
  setBackgroundBrush(theme.color(Token::panel));
  chart()->setBackgroundBrush(theme.color(Token::panel));
  chart()->setPlotAreaBackgroundBrush(theme.color(Token::canvas));
  if (m_draw) {
    m_draw();
  }
  if (!isEmpty()) {
    fitAxes();
  }
  for (const Item& item : m_items) {
    addSeries(item);
  }
  chart()->setPlotAreaBackgroundVisible(!isEmpty());
  std::vector<PlotLegend::Key> keys;
  for (const Item& item : m_items) {
    if (!item.name.isEmpty()) {
      keys.push_back({item.kind, item.name, item.style});
    }
  }
  m_legend->setKeys(std::move(keys));
  placeLegend();
  fitLabels();
  placePins();
  viewport()->update();
}

void Plot::placeLegend() {
  // The text of the last size reaches over the end of the axis.
  constexpr int kMargin = 8;
  constexpr int kForSizes = 20;
  constexpr int kGap = 4;
  QMargins margins(kGap, 0, m_xWanted.scale == PlotAxis::Scale::sizes && !isEmpty() ? kForSizes : kMargin, 0);
  const QSizeF room = chart()->size();
  if (!m_legend->isEmpty() && m_legendSide == LegendSide::top) {
    m_legend->layOutRows(room.width() - 2 * kMargin);
    m_legend->setPos(kMargin, kGap);
    margins.setTop(kGap + static_cast<int>(m_legend->size().height()));
  } else if (!m_legend->isEmpty()) {
    m_legend->layOutColumn(room.width() / 2);
    m_legend->setPos(room.width() - kMargin - m_legend->size().width(), kMargin);
    margins.setRight(margins.right() + kMargin + static_cast<int>(m_legend->size().width()));
  }
  chart()->setMargins(margins);
}

QSize Plot::sizeHint() const {
  constexpr QSize kSmall(240, 140);
  return kSmall;
}

void Plot::resizeEvent(QResizeEvent* event) {
  QChartView::resizeEvent(event);
  placeLegend();
}

void Plot::drawForeground(QPainter* painter, const QRectF& rect) {
  QChartView::drawForeground(painter, rect);
  if (isEmpty() && !m_hint.isEmpty()) {
    constexpr double kMargin = 12;
    painter->setFont(uiFont(kHintPixels));
    painter->setPen(Theme::instance().color(Token::muted));
    painter->drawText(chart()->rect().adjusted(kMargin, 0, -kMargin, 0), Qt::AlignCenter | Qt::TextWordWrap, m_hint);
  }
}

void Plot::setAxes(const PlotAxis& x, const PlotAxis& y) {
  m_xWanted = x;
  m_yWanted = y;
}

void Plot::fitAxes() {
  std::vector<double> xs;
  std::vector<double> ys;
  const auto cover = [](std::vector<double>& values, double value) {
    if (std::isfinite(value)) {
      values.push_back(value);
    }
  };
  for (const Item& item : m_items) {
    for (const QPointF& point : item.style.isFitted ? item.points : QList<QPointF>()) {
      cover(xs, point.x() - item.barWidth / 2);
      cover(xs, point.x() + item.barWidth / 2);
      cover(ys, point.y());
    }
  }
  m_x = fitted(m_xWanted, xs);
  m_y = fitted(m_yWanted, ys);
  m_labelStep = 0;
  chart()->addAxis(makeAxis(m_xWanted, m_x), Qt::AlignBottom);
  chart()->addAxis(makeAxis(m_yWanted, m_y), Qt::AlignLeft);
}

void Plot::addSeries(const Item& item) {
  QAbstractSeries* series = item.kind == PlotKind::line     ? lineOf(item)
                            : item.kind == PlotKind::points ? pointsOf(item)
                                                            : areaOf(item);
  series->setName(item.name);
  chart()->addSeries(series);
  for (QAbstractAxis* axis : chart()->axes()) {
    series->attachAxis(axis);
  }
}

QAbstractSeries* Plot::lineOf(const Item& item) const {
  auto* line = new QLineSeries;
  line->setPen(QPen(item.style.color, item.style.width, item.style.dash));
  line->setPointsVisible(item.style.marker > 0);
  line->setMarkerSize(item.style.marker);
  line->replace(onChart(item.points));
  return line;
}

QAbstractSeries* Plot::pointsOf(const Item& item) const {
  auto* points = new QScatterSeries;
  points->setMarkerShape(item.style.shape);
  points->setMarkerSize(item.style.marker);
  points->setBrush(item.style.fill.isValid() ? item.style.fill : item.style.color);
  points->setPen(QPen(item.style.color, item.style.width));
  points->replace(onChart(item.points));
  return points;
}

QAbstractSeries* Plot::areaOf(const Item& item) const {
  QList<QPointF> top = item.points;
  QList<QPointF> ground = item.ground;
  if (item.kind == PlotKind::bars) {
    constexpr double kShare = 0.9;  // of the width
    const QPointF half(item.barWidth / 2 * kShare, 0);
    top.clear();
    for (const QPointF& bar : item.points) {
      const QPointF foot(bar.x(), 0);
      top << foot - half << bar - half << bar + half << foot + half;
    }
    ground = {top.front(), top.back()};
  }
  auto* upper = new QLineSeries;
  auto* lower = new QLineSeries;
  upper->replace(onChart(top));
  lower->replace(onChart(ground));
  auto* area = new QAreaSeries(upper, lower);
  upper->setParent(area);
  lower->setParent(area);
  area->setPen(item.style.width > 0 ? QPen(item.style.color, item.style.width, item.style.dash) : QPen(Qt::NoPen));
  area->setBrush(item.style.fill.isValid() ? item.style.fill : item.style.color);
  return area;
}

void Plot::addLine(const QString& name, const QList<QPointF>& points, const PlotStyle& style, Tip tip) {
  m_items.push_back({PlotKind::line, name, points, {}, style, std::move(tip)});
}

void Plot::addPoints(const QString& name, const QList<QPointF>& points, const PlotStyle& style, Tip tip) {
  m_items.push_back({PlotKind::points, name, points, {}, style, std::move(tip)});
}

void Plot::addLevel(const QString& name, double y, const PlotStyle& style, Tip tip) {
  addLine(name, {{-kEverywhere, y}, {kEverywhere, y}}, style, std::move(tip));
}

void Plot::addArea(const QString& name, const QList<QPointF>& top, const QList<QPointF>& ground,
                   const PlotStyle& style) {
  m_items.push_back({PlotKind::area, name, top, ground, style, {}});
}

void Plot::addBars(const QString& name, double first, double width, const std::vector<double>& heights,
                   const PlotStyle& style, Tip tip) {
  QList<QPointF> tops;
  for (std::size_t at = 0; at < heights.size(); ++at) {
    tops.append({first + (static_cast<double>(at) + 0.5) * width, heights[at]});
  }
  m_items.push_back({PlotKind::bars, name, tops, {}, style, std::move(tip), width});
}

void Plot::addPin(PlotPin pin) {
  m_pins.push_back(std::move(pin));
}

void Plot::fitLabels() {
  const QRectF area = chart()->plotArea();
  constexpr double kLabelWidth = 64;
  constexpr double kLabelHeight = 24;
  constexpr int kMaxTicks = 5;
  for (QAbstractAxis* axis : chart()->axes()) {
    const bool isBelow = axis->orientation() == Qt::Horizontal;
    const int room = static_cast<int>(isBelow ? area.width() / kLabelWidth : area.height() / kLabelHeight);
    if (auto* values = qobject_cast<QCategoryAxis*>(axis)) {
      const std::vector<std::int64_t>& sizes = m_x.sizes;
      const std::size_t labels = std::max<std::size_t>(2, static_cast<std::size_t>(std::max(room, 0)));
      const std::size_t step = (sizes.size() + labels - 1) / labels;
      if (step == std::exchange(m_labelStep, step)) {
        continue;
      }
      for (const QString& label : values->categoriesLabels()) {
        values->remove(label);
      }
      for (std::size_t at = 0; at < sizes.size(); at += step) {
        values->append(roughBytes(static_cast<double>(sizes[at])), std::log2(static_cast<double>(sizes[at])));
      }
    } else if (auto* numbers = qobject_cast<QValueAxis*>(axis); numbers != nullptr && (isBelow ? m_x : m_y).tick == 0) {
      numbers->setTickCount(std::clamp(room, 2, kMaxTicks));
    }
  }
}

// ---- pins

void Plot::placePins() {
  qDeleteAll(std::exchange(m_pinItems, {}));
  if (!isEmpty()) {
    for (const PlotPin& pin : m_pins) {
      placePin(pin);
    }
  }
}

void Plot::placePin(const PlotPin& pin) {
  const Theme& theme = Theme::instance();
  const QRectF plot = chart()->plotArea();
  const double x = chart()->mapToPosition(onChart(QPointF(pin.x, m_y.max))).x();
  auto* line = new QGraphicsLineItem(QLineF(x, plot.top(), x, plot.bottom()), chart());
  line->setPen(QPen(theme.color(Token::muted), 1, Qt::DashLine));
  m_pinItems << line;
  struct Text {
    QString text;
    QColor color;
    double bottom;  ///< where its value is drawn
  };
  std::vector<Text> texts{{pin.label, theme.color(Token::text), plot.top()}};
  for (const PlotPin::Value& value : pin.values) {
    texts.push_back({value.text, value.color, chart()->mapToPosition(onChart(QPointF(pin.x, value.y))).y()});
  }
  // One below the other, none over another.
  std::stable_sort(texts.begin(), texts.end(), [](const Text& a, const Text& b) { return a.bottom < b.bottom; });
  double last = plot.top();
  for (std::size_t at = 0; at < texts.size(); ++at) {
    auto* label = new QGraphicsSimpleTextItem(texts[at].text, chart());
    label->setFont(figureFont(kLabelPixels));
    label->setBrush(texts[at].color);
    const QSizeF size = label->boundingRect().size();
    const double left = static_cast<double>(texts.size() - at) * size.height();  // with those that follow
    const double y = std::max(last, std::min(texts[at].bottom - size.height(), plot.bottom() - left));
    constexpr double kGap = 4;
    const bool isBefore = x + size.width() + kGap > plot.right();
    label->setPos(isBefore ? x - size.width() - kGap : x + kGap, y);
    last = y + size.height();
    m_pinItems << label;
  }
}

// ---- the pointer

QStringList Plot::names() const {
  QStringList names;
  for (const Item& item : m_items) {
    if (!item.name.isEmpty()) {
      names << item.name;
    }
  }
  return names;
}

QPointF Plot::onChart(QPointF value) const {
  value = {std::isinf(value.x()) ? std::clamp(value.x(), m_x.min, m_x.max) : value.x(),
           std::isinf(value.y()) ? std::clamp(value.y(), m_y.min, m_y.max) : value.y()};
  return m_xWanted.scale == PlotAxis::Scale::sizes ? QPointF(std::log2(value.x()), value.y()) : value;
}

QList<QPointF> Plot::onChart(const QList<QPointF>& values) const {
  QList<QPointF> all;
  all.reserve(values.size());
  for (const QPointF& value : values) {
    all << onChart(value);
  }
  return all;
}

QPointF Plot::placeOf(const QPointF& value) const {
  return mapFromScene(chart()->mapToScene(chart()->mapToPosition(onChart(value))));
}

std::optional<Plot::Near> Plot::nearest(const Item& item, const QPointF& position) const {
  constexpr double kReach = 12;
  constexpr double kReachOfLine = 6;
  const bool isLine = item.kind == PlotKind::line;
  std::optional<Near> found;
  double best = isLine ? kEverywhere : kReach;
  double toLine = kReachOfLine;
  QPointF last;
  for (qsizetype at = 0; at < item.points.size(); ++at) {
    const QPointF place = placeOf(item.points[at]);
    const bool isBar = item.kind == PlotKind::bars;
    const double away = isBar ? distanceToBar(item, at, position) : QLineF(place, position).length();
    if (at > 0) {
      toLine = std::min(toLine, distanceTo(position, last, place));
    }
    last = place;
    if (away < best) {
      best = away;
      found = Near{static_cast<std::size_t>(at), away};
    }
  }
  if (isLine && found) {
    // Anywhere on the line its nearest point is meant.
    found = toLine < kReachOfLine ? std::optional(Near{found->point, toLine}) : std::nullopt;
  }
  return found;
}

double Plot::distanceToBar(const Item& item, qsizetype at, const QPointF& position) const {
  const QPointF& top = item.points[at];
  const QRectF bar(placeOf(top - QPointF(item.barWidth / 2, 0)), placeOf({top.x() + item.barWidth / 2, 0}));
  return bar.contains(position) ? 0 : kEverywhere;
}

PlotPlace Plot::placeAt(const QPointF& position) const {
  PlotPlace place;
  if (isEmpty()) {
    return place;
  }
  const double x = chart()->mapToValue(chart()->mapFromScene(mapToScene(position.toPoint()))).x();
  place.x = m_xWanted.scale == PlotAxis::Scale::sizes ? std::exp2(x) : x;
  // Points before lines; of equal distances what lies on top.
  for (const bool isLine : {true, false}) {
    double distance = kEverywhere;
    for (std::size_t item = 0; item < m_items.size(); ++item) {
      const Item& each = m_items[item];
      const bool isTarget = each.kind == PlotKind::line ? isLine && each.tip : !isLine && each.style.isTarget;
      const auto near = isTarget && each.kind != PlotKind::area ? nearest(each, position) : std::nullopt;
      if (near && near->distance <= distance) {
        distance = near->distance;
        place.hit = PlotPlace::Hit{item, near->point};
      }
    }
  }
  return place;
}

void Plot::mouseMoveEvent(QMouseEvent* event) {
  QChartView::mouseMoveEvent(event);
  const PlotPlace place = placeAt(event->position());
  const Tip* tip = place.hit ? &m_items[place.hit->item].tip : nullptr;
  const QString text = tip != nullptr && *tip ? (*tip)(place.hit->point) : QString();
  if (!text.isEmpty()) {
    QToolTip::showText(event->globalPosition().toPoint(), text, this);
  } else if (QToolTip::isVisible()) {
    QToolTip::hideText();
  }
  Q_EMIT pointed(place);
}

void Plot::mousePressEvent(QMouseEvent* event) {
  QChartView::mousePressEvent(event);
  if (event->button() == Qt::LeftButton) {
    Q_EMIT pressed(placeAt(event->position()));
  }
}

void Plot::mouseDoubleClickEvent(QMouseEvent* event) {
  QChartView::mouseDoubleClickEvent(event);
  if (event->button() == Qt::LeftButton) {
    Q_EMIT activated(placeAt(event->position()));
  }
}

void Plot::leaveEvent(QEvent* event) {
  QChartView::leaveEvent(event);
  Q_EMIT pointed({});
}

}  // namespace coppice::designer
