// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QGraphicsItem>
#include <QRectF>
#include <QString>
#include <vector>

#include "designer/charts/plot_style.hpp"

namespace coppice::designer {

/// Names of what a Plot shows, each beside a piece of it: in rows, or one below the other. QLegend has a single row,
/// and cuts the names that it has no room for.
class PlotLegend : public QGraphicsItem {
public:
  struct Key {
    PlotKind kind;
    QString name;
    PlotStyle style;
  };

  using QGraphicsItem::QGraphicsItem;

  void setKeys(std::vector<Key> keys);
  [[nodiscard]] bool isEmpty() const { return m_keys.empty(); }
  /// Rows as wide as this; a name that is wider alone is elided.
  void layOutRows(double width);
  /// One below the other, none wider than this.
  void layOutColumn(double width);
  [[nodiscard]] QSizeF size() const { return m_size; }
  /// Of each mark with its name.
  [[nodiscard]] const std::vector<QRectF>& places() const { return m_places; }
  /// As they are drawn.
  [[nodiscard]] QString textOf(std::size_t key) const;

  [[nodiscard]] QRectF boundingRect() const override { return {{}, m_size}; }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

private:
  [[nodiscard]] QSizeF sizeOf(const Key& key, double width) const;
  static void paintMark(QPainter& painter, const Key& key, const QRectF& mark);

  std::vector<Key> m_keys;
  std::vector<QRectF> m_places;
  QSizeF m_size;
};

}  // namespace coppice::designer
