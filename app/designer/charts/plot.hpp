// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QList>
#include <QPointF>
#include <QString>
#include <QtCharts/QChartView>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "designer/charts/plot_axis.hpp"
#include "designer/charts/plot_legend.hpp"
#include "designer/charts/plot_style.hpp"

class QXYSeries;

namespace coppice::designer {

/// A size or time that is marked over the whole height, with what the items are there.
struct PlotPin {
  struct Value {
    QString text;
    QColor color;
    double y;
  };
  double x;
  QString label;
  std::vector<Value> values;
};

/// Where the pointer is on a Plot.
struct PlotPlace {
  struct Hit {
    std::size_t item;  ///< in the order in which they were added
    std::size_t point;
  };
  std::optional<double> x;  ///< nullopt: outside, or there are no axes
  std::optional<Hit> hit;
};

/// Points, lines, bars and areas over two axes that fit them, in the colours of the theme. What an owner's draw
/// function adds is drawn; without items its hint stands there. An infinite value lies on the frame. The legend lists
/// the items that have a name.
class Plot : public QChartView {
  Q_OBJECT

public:
  explicit Plot(QWidget* parent = nullptr);

  /// Draws at once, and whenever the theme changes.
  void setDraw(std::function<void()> draw);
  /// Empties the plot and calls the draw function.
  void redraw();
  /// Above the plot, in rows, or at its right.
  enum class LegendSide { top, right };
  void setLegendSide(LegendSide side);

  // For the draw function.
  void setAxes(const PlotAxis& x, const PlotAxis& y);
  /// What will be drawn, in place of axes while there is no item.
  void setHint(const QString& hint) { m_hint = hint; }
  /// Of a point, shown as tool tip.
  using Tip = std::function<QString(std::size_t point)>;
  void addLine(const QString& name, const QList<QPointF>& points, const PlotStyle& style, Tip tip = {});
  void addPoints(const QString& name, const QList<QPointF>& points, const PlotStyle& style, Tip tip = {});
  /// A line over the whole width.
  void addLevel(const QString& name, double y, const PlotStyle& style, Tip tip = {});
  /// Between two lines.
  void addArea(const QString& name, const QList<QPointF>& top, const QList<QPointF>& ground, const PlotStyle& style);
  /// Side by side from `first` on, each `width` wide.
  void addBars(const QString& name, double first, double width, const std::vector<double>& heights,
               const PlotStyle& style, Tip tip = {});
  void addPin(PlotPin pin);

  /// Not that of a QGraphicsView, which asks for what it shows already: it could only grow.
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] bool isEmpty() const { return m_items.empty(); }
  /// Of the items with a name.
  [[nodiscard]] QStringList names() const;
  [[nodiscard]] const PlotLegend& legend() const { return *m_legend; }
  [[nodiscard]] std::size_t itemCount() const { return m_items.size(); }
  [[nodiscard]] const QList<QPointF>& points(std::size_t item) const { return m_items[item].points; }
  /// Where a value is on the viewport.
  [[nodiscard]] QPointF placeOf(const QPointF& value) const;
  [[nodiscard]] PlotPlace placeAt(const QPointF& position) const;

Q_SIGNALS:
  /// The pointer moved; an empty place: it left.
  void pointed(const coppice::designer::PlotPlace& place);
  /// The left button, once or twice.
  void pressed(const coppice::designer::PlotPlace& place);
  void activated(const coppice::designer::PlotPlace& place);

protected:
  void resizeEvent(QResizeEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;

private:
  struct Item {
    PlotKind kind;
    QString name;
    QList<QPointF> points;  ///< of areas and bars: their tops
    QList<QPointF> ground;  ///< of areas
    PlotStyle style;
    Tip tip;
    double barWidth = 0;
  };
  void fitAxes();
  /// With the room that it takes from the plot.
  void placeLegend();
  void addSeries(const Item& item);
  [[nodiscard]] QAbstractSeries* lineOf(const Item& item) const;
  [[nodiscard]] QAbstractSeries* pointsOf(const Item& item) const;
  [[nodiscard]] QAbstractSeries* areaOf(const Item& item) const;
  /// As many labels as there is room for.
  void fitLabels();
  void placePins();
  void placePin(const PlotPin& pin);
  /// On the axes of the chart, where sizes are powers of two.
  [[nodiscard]] QPointF onChart(QPointF value) const;
  [[nodiscard]] QList<QPointF> onChart(const QList<QPointF>& values) const;
  /// How far the item's nearest point is from a position of the viewport, in pixels; nullopt: it is out of reach.
  struct Near {
    std::size_t point;
    double distance;
  };
  [[nodiscard]] double distanceToBar(const Item& item, qsizetype at, const QPointF& position) const;
  [[nodiscard]] std::optional<Near> nearest(const Item& item, const QPointF& position) const;

  PlotLegend* m_legend;
  LegendSide m_legendSide = LegendSide::top;
  std::function<void()> m_draw;
  QString m_hint;
  PlotAxis m_xWanted;
  PlotAxis m_yWanted;
  FittedAxis m_x;
  FittedAxis m_y;
  std::vector<Item> m_items;
  std::vector<PlotPin> m_pins;
  QList<QGraphicsItem*> m_pinItems;
  std::size_t m_labelStep = 0;  ///< every n-th size is labelled
};

}  // namespace coppice::designer
