// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <optional>
#include <utility>
#include <vector>

namespace coppice::designer {

/// What a MatrixView shows.
struct MatrixData {
  int size = 0;
  std::vector<float> shares;  ///< by row, then column: above 0 to 1 by order of magnitude; 0 = nothing, left blank
  QStringList names;          ///< of rows and columns alike
  std::vector<int> groups;    ///< first row of each group, ascending; lines are drawn there
  QString low;                ///< the least that is not nothing: "64 KiB"
  QString high;               ///< what 1 is: "8 MiB"
};

/// A square matrix by colour: rows send, columns receive. The wheel zooms, dragging moves, F shows all; arrow keys walk
/// over the cells. Where several cells fall on one pixel the largest of them is drawn.
class MatrixView : public QWidget {
  Q_OBJECT

public:
  using Cell = std::pair<int, int>;  ///< row, column

  explicit MatrixView(QWidget* parent = nullptr);

  void setMatrix(MatrixData matrix);
  [[nodiscard]] const MatrixData& matrix() const { return m_matrix; }
  /// Under the pointer, or where the keys went.
  [[nodiscard]] const std::optional<Cell>& current() const { return m_current; }
  /// Of the widget; null where it is not in view.
  [[nodiscard]] QRectF rectOf(const Cell& cell) const;
  /// Draws all cells, whatever is zoomed here, into a picture of that size.
  void render(QPainter& painter, const QSizeF& size) const;
  [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
  /// Another cell is current; nullopt: none.
  void pointed(const std::optional<std::pair<int, int>>& cell);
  /// A click or Enter.
  void chosen(int row, int column);

protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

private:
  /// Cells that are shown, as fractions of cells.
  struct Range {
    double first = 0;
    double count = 1;
  };
  /// Where what is drawn.
  struct Layout {
    QRectF cells;
    Range rows;
    Range columns;
    double scale = 1;   ///< device pixels
    int rowStride = 1;  ///< rows from one name to the next
    int columnStride = 1;
    bool hasUprightNames = false;  ///< of columns
  };
  [[nodiscard]] Layout layoutFor(const QSizeF& size, const Range& rows, const Range& columns) const;
  [[nodiscard]] Layout layout() const;
  void paint(QPainter& painter, const Layout& layout) const;
  void paintCells(QPainter& painter, const Layout& layout) const;
  void paintNames(QPainter& painter, const Layout& layout) const;
  void paintGroups(QPainter& painter, const Layout& layout) const;
  void paintLegend(QPainter& painter, const Layout& layout) const;
  /// One pixel of the picture is the largest of the cells on it.
  [[nodiscard]] QImage pooled(const Layout& layout) const;
  [[nodiscard]] std::optional<Cell> cellAt(const QPointF& position) const;
  void setCurrent(std::optional<Cell> cell);
  void showAll();
  void zoom(double factor, const QPointF& around);
  void pan(double rows, double columns);
  void bringIntoView(const Cell& cell);

  MatrixData m_matrix;
  Range m_rows;
  Range m_columns;
  std::optional<Cell> m_current;
  std::optional<QPointF> m_pressed;
  QPointF m_grip;
  mutable QImage m_image;  ///< of m_imageOf
  mutable std::vector<double> m_imageOf;
};

}  // namespace coppice::designer
