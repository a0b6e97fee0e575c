// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/matrix_view.hpp"

#include <QKeyEvent>
#include <QLinearGradient>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kMatrixMargin = 8;
constexpr double kAxis = 16;    // its title
constexpr double kLegend = 88;  // bar and texts
constexpr double kMaxName = 96;
constexpr double kLetter = 10.5;  // pixels
constexpr double kRowRoom = 11;   // of a name
constexpr double kMinCells = 2;

QColor colorOf(float share) {
  const Theme& theme = Theme::instance();
  return share > 0 ? heat(share, theme.scheme()) : theme.color(Token::canvas);
}

/// Names stand at every first, second, fourth, … row or column, so that each has room.
int strideFor(double cell, double room) {
  int stride = 1;
  while (cell * stride < room && cell > 0) {
    stride *= 2;
  }
  return stride;
}

/// Within the matrix.
void keepInside(double& first, double& count, int size) {
  count = std::clamp(count, std::min<double>(kMinCells, size), static_cast<double>(size));
  first = std::clamp(first, 0.0, size - count);
}

}  // namespace

MatrixView::MatrixView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Traffic from each GPU to every other GPU"));
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    m_imageOf.clear();
    update();
  });
}

QSize MatrixView::minimumSizeHint() const {
  constexpr QSize kMin(240, 80);
  return kMin;
}

void MatrixView::setMatrix(MatrixData matrix) {
  m_matrix = std::move(matrix);
  m_imageOf.clear();
  setCurrent(std::nullopt);
  showAll();
}

void MatrixView::showAll() {
  m_rows = {0, static_cast<double>(std::max(1, m_matrix.size))};
  m_columns = m_rows;
  update();
}

MatrixView::Layout MatrixView::layoutFor(const QSizeF& size, const Range& rows, const Range& columns) const {
  Layout layout;
  layout.rows = rows;
  layout.columns = columns;
  const QFontMetricsF metrics(figureFont(kLetter));
  double longest = 0;
  for (const QString& name : m_matrix.names) {
    longest = std::max(longest, metrics.horizontalAdvance(name));
  }
  longest = std::min(longest + 6, kMaxName);
  const double height = size.height() - 2 * kMatrixMargin - kAxis;
  const double width = size.width() - 2 * kMatrixMargin - kAxis - kLegend;
  layout.rowStride = strideFor(height / rows.count, kRowRoom);
  // Upright names where each column has room for one, and where they leave most of the height to the cells.
  constexpr double kMinShare = 4;
  constexpr double kGap = 8;
  const double column = (width - longest) / columns.count;
  layout.hasUprightNames = column < longest + kGap && column >= kRowRoom && height > kMinShare * longest;
  layout.columnStride = layout.hasUprightNames ? 1 : strideFor(column, longest + kGap);
  const double top = layout.hasUprightNames ? longest : kRowRoom + kGap;
  layout.cells = QRectF(kMatrixMargin + kAxis + longest, kMatrixMargin + kAxis + top, std::max(1.0, width - longest),
                        std::max(1.0, height - top));
  return layout;
}

MatrixView::Layout MatrixView::layout() const {
  Layout layout = layoutFor(size(), m_rows, m_columns);
  layout.scale = devicePixelRatioF();
  return layout;
}

QRectF MatrixView::rectOf(const Cell& cell) const {
  const Layout where = layout();
  const double width = where.cells.width() / where.columns.count;
  const double height = where.cells.height() / where.rows.count;
  return QRectF(where.cells.left() + (cell.second - where.columns.first) * width,
                where.cells.top() + (cell.first - where.rows.first) * height, width, height) &
         where.cells;
}

void MatrixView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), Theme::instance().color(Token::panel));
  if (m_matrix.size == 0) {
    return;
  }
  paint(painter, layout());
  const Theme& theme = Theme::instance();
  if (m_current) {
    const QRectF cell = rectOf(*m_current).adjusted(-0.5, -0.5, 0.5, 0.5);
    const QRectF cells = layout().cells;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawLine(QPointF(cells.left(), cell.center().y()), QPointF(cell.left(), cell.center().y()));
    painter.drawLine(QPointF(cell.center().x(), cells.top()), QPointF(cell.center().x(), cell.top()));
    painter.setPen(QPen(theme.color(Token::accent), 2));
    painter.drawRect(cell);
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.color(Token::accent));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void MatrixView::render(QPainter& painter, const QSizeF& size) const {
  if (m_matrix.size > 0) {
    const Range all{0, static_cast<double>(m_matrix.size)};
    paint(painter, layoutFor(size, all, all));
  }
}

void MatrixView::paint(QPainter& painter, const Layout& layout) const {
  painter.fillRect(layout.cells, Theme::instance().color(Token::canvas));
  paintCells(painter, layout);
  paintGroups(painter, layout);
  paintNames(painter, layout);
  paintLegend(painter, layout);
}

QImage MatrixView::pooled(const Layout& layout) const {
  const int width = std::max(1, static_cast<int>(layout.cells.width() * layout.scale));
  const int height = std::max(1, static_cast<int>(layout.cells.height() * layout.scale));
  const std::vector<double> key{layout.rows.first,    layout.rows.count,          layout.columns.first,
                                layout.columns.count, static_cast<double>(width), static_cast<double>(height)};
  if (key == m_imageOf) {
    return m_image;
  }
  const auto place = [this](double pixel, const Range& range, int pixels) {
    return std::clamp(static_cast<int>(range.first + pixel * range.count / pixels), 0, m_matrix.size - 1);
  };
  // Colours of heat are looked up: there are more pixels than shades.
  constexpr int kShades = 255;
  std::vector<QRgb> shades;
  for (int shade = 0; shade <= kShades; ++shade) {
    shades.push_back(colorOf(static_cast<float>(shade) / kShades).rgb());
  }
  QImage image(width, height, QImage::Format_RGB32);
  std::vector<float> line(width);
  for (int y = 0; y < height; ++y) {
    std::fill(line.begin(), line.end(), 0.0F);
    const int firstRow = place(y, layout.rows, height);
    const int lastRow = std::max(firstRow, place(y + 1 - 1e-6, layout.rows, height));
    for (int row = firstRow; row <= lastRow; ++row) {
      const float* values = m_matrix.shares.data() + static_cast<std::size_t>(row) * m_matrix.size;
      for (int x = 0; x < width; ++x) {
        const int first = place(x, layout.columns, width);
        const int last = std::max(first, place(x + 1 - 1e-6, layout.columns, width));
        for (int column = first; column <= last; ++column) {
          line[x] = std::max(line[x], values[column]);
        }
      }
    }
    auto* pixels = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < width; ++x) {
      // What is not nothing is not drawn as nothing.
      const float share = line[x];
      pixels[x] = shades[static_cast<std::size_t>(share > 0 ? std::max(1.0F, std::ceil(share * kShades)) : 0)];
    }
  }
  m_image = image;
  m_imageOf = key;
  return image;
}

void MatrixView::paintCells(QPainter& painter, const Layout& layout) const {
  constexpr double kMaxRects = 10'000;
  if (layout.rows.count * layout.columns.count > kMaxRects) {
    painter.drawImage(layout.cells, pooled(layout));
    return;
  }
  painter.save();
  painter.setClipRect(layout.cells);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const double width = layout.cells.width() / layout.columns.count;
  const double height = layout.cells.height() / layout.rows.count;
  const int lastRow = std::min(m_matrix.size - 1, static_cast<int>(layout.rows.first + layout.rows.count));
  const int lastColumn = std::min(m_matrix.size - 1, static_cast<int>(layout.columns.first + layout.columns.count));
  for (int row = static_cast<int>(layout.rows.first); row <= lastRow; ++row) {
    for (int column = static_cast<int>(layout.columns.first); column <= lastColumn; ++column) {
      const float share = m_matrix.shares[static_cast<std::size_t>(row) * m_matrix.size + column];
      if (share > 0) {
        painter.fillRect(QRectF(layout.cells.left() + (column - layout.columns.first) * width,
                                layout.cells.top() + (row - layout.rows.first) * height, width + 0.3, height + 0.3),
                         colorOf(share));
      }
    }
  }
  painter.restore();
}

void MatrixView::paintGroups(QPainter& painter, const Layout& layout) const {
  const Theme& theme = Theme::instance();
  painter.save();
  painter.setPen(theme.color(Token::boxLine));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(layout.cells);
  const double width = layout.cells.width() / layout.columns.count;
  const double height = layout.cells.height() / layout.rows.count;
  constexpr double kMinGap = 6;
  const std::size_t groups = m_matrix.groups.size();
  const double meanRows = static_cast<double>(m_matrix.size) / std::max<double>(1, static_cast<double>(groups));
  for (std::size_t group = 1; group < groups; ++group) {
    const double y = layout.cells.top() + (m_matrix.groups[group] - layout.rows.first) * height;
    const double x = layout.cells.left() + (m_matrix.groups[group] - layout.columns.first) * width;
    if (meanRows * height >= kMinGap && y > layout.cells.top() && y < layout.cells.bottom()) {
      painter.drawLine(QPointF(layout.cells.left(), y), QPointF(layout.cells.right(), y));
    }
    if (meanRows * width >= kMinGap && x > layout.cells.left() && x < layout.cells.right()) {
      painter.drawLine(QPointF(x, layout.cells.top()), QPointF(x, layout.cells.bottom()));
    }
  }
  painter.restore();
}

void MatrixView::paintNames(QPainter& painter, const Layout& layout) const {
  const Theme& theme = Theme::instance();
  painter.save();
  painter.setPen(theme.color(Token::muted));
  painter.setFont(uiFont(kLetter));
  painter.drawText(QRectF(layout.cells.left() + kAxis, kMatrixMargin, layout.cells.width() - kAxis, kAxis),
                   Qt::AlignLeft | Qt::AlignVCenter, tr("to"));
  painter.drawText(QRectF(kMatrixMargin, layout.cells.top() - kAxis, 2 * kAxis, kAxis),
                   Qt::AlignLeft | Qt::AlignVCenter, tr("from"));
  painter.setFont(figureFont(kLetter));
  const QFontMetricsF metrics(painter.font());
  const double height = layout.cells.height() / layout.rows.count;
  const double width = layout.cells.width() / layout.columns.count;
  const double left = layout.cells.left() - kMatrixMargin - kAxis;
  const double top = layout.cells.top() - kMatrixMargin - kAxis;
  constexpr double kGap = 4;
  for (int at = 0; at < m_matrix.size; at += layout.rowStride) {
    const double y = layout.cells.top() + (at - layout.rows.first + 0.5) * height;
    if (y > layout.cells.top() && y < layout.cells.bottom()) {
      painter.drawText(QRectF(kMatrixMargin + kAxis, y - kRowRoom / 2, left - kGap, kRowRoom),
                       Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip,
                       metrics.elidedText(m_matrix.names[at], Qt::ElideMiddle, left - kGap));
    }
  }
  const double room = layout.hasUprightNames ? width : width * layout.columnStride - kGap;
  for (int at = 0; at < m_matrix.size; at += layout.columnStride) {
    const double x = layout.cells.left() + (at - layout.columns.first + 0.5) * width;
    if (x <= layout.cells.left() || x >= layout.cells.right()) {
      continue;
    }
    painter.save();
    painter.translate(x, layout.cells.top() - kGap);
    if (layout.hasUprightNames) {
      constexpr double kUpright = -90;
      painter.rotate(kUpright);
      painter.drawText(QRectF(0, -width / 2, top - kGap, width), Qt::AlignLeft | Qt::AlignVCenter,
                       metrics.elidedText(m_matrix.names[at], Qt::ElideMiddle, top - kGap));
    } else {
      painter.drawText(QRectF(-room / 2, kGap - top, room, top - kGap), Qt::AlignHCenter | Qt::AlignBottom,
                       metrics.elidedText(m_matrix.names[at], Qt::ElideMiddle, room));
    }
    painter.restore();
  }
  painter.restore();
}

void MatrixView::paintLegend(QPainter& painter, const Layout& layout) const {
  const Theme& theme = Theme::instance();
  constexpr double kBar = 10;
  const QRectF bar(layout.cells.right() + kMatrixMargin, layout.cells.top(), kBar, layout.cells.height());
  QLinearGradient shades(bar.bottomLeft(), bar.topLeft());
  constexpr int kStops = 8;
  for (int stop = 0; stop <= kStops; ++stop) {
    const double share = static_cast<double>(stop) / kStops;
    shades.setColorAt(share, heat(share, theme.scheme()));
  }
  painter.save();
  painter.fillRect(bar, shades);
  painter.setPen(theme.color(Token::muted));
  painter.setFont(figureFont(kLetter));
  const QRectF texts(bar.right() + 4, bar.top(), kLegend - kBar - 2 * kMatrixMargin, bar.height());
  painter.drawText(texts, Qt::AlignLeft | Qt::AlignTop, m_matrix.high);
  painter.drawText(texts, Qt::AlignLeft | Qt::AlignBottom, m_matrix.low);
  painter.restore();
}

std::optional<MatrixView::Cell> MatrixView::cellAt(const QPointF& position) const {
  const Layout where = layout();
  if (m_matrix.size == 0 || !where.cells.contains(position)) {
    return std::nullopt;
  }
  const double row = where.rows.first + (position.y() - where.cells.top()) / where.cells.height() * where.rows.count;
  const double column =
      where.columns.first + (position.x() - where.cells.left()) / where.cells.width() * where.columns.count;
  return Cell(std::clamp(static_cast<int>(row), 0, m_matrix.size - 1),
              std::clamp(static_cast<int>(column), 0, m_matrix.size - 1));
}

void MatrixView::setCurrent(std::optional<Cell> cell) {
  if (m_current != cell) {
    m_current = cell;
    update();
    Q_EMIT pointed(m_current);
  }
}

void MatrixView::zoom(double factor, const QPointF& around) {
  const Layout where = layout();
  const auto scale = [&](Range& range, double share) {
    const double fixed = range.first + share * range.count;
    range.count *= factor;
    keepInside(range.first, range.count, std::max(1, m_matrix.size));
    range.first = fixed - share * range.count;
    keepInside(range.first, range.count, std::max(1, m_matrix.size));
  };
  scale(m_rows, std::clamp((around.y() - where.cells.top()) / where.cells.height(), 0.0, 1.0));
  scale(m_columns, std::clamp((around.x() - where.cells.left()) / where.cells.width(), 0.0, 1.0));
  update();
}

void MatrixView::pan(double rows, double columns) {
  m_rows.first += rows;
  m_columns.first += columns;
  keepInside(m_rows.first, m_rows.count, std::max(1, m_matrix.size));
  keepInside(m_columns.first, m_columns.count, std::max(1, m_matrix.size));
  update();
}

void MatrixView::bringIntoView(const Cell& cell) {
  const auto beyond = [](const Range& range, int at) {
    return at < range.first ? at - range.first : std::max(0.0, at + 1 - range.first - range.count);
  };
  pan(beyond(m_rows, cell.first), beyond(m_columns, cell.second));
}

void MatrixView::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    m_pressed = event->position();
    m_grip = event->position();
  }
}

void MatrixView::mouseMoveEvent(QMouseEvent* event) {
  if (m_pressed && (event->buttons() & Qt::LeftButton) != 0) {
    const QPointF by = event->position() - m_grip;
    m_grip = event->position();
    const Layout where = layout();
    pan(-by.y() / where.cells.height() * where.rows.count, -by.x() / where.cells.width() * where.columns.count);
    return;
  }
  setCurrent(cellAt(event->position()));
}

void MatrixView::mouseReleaseEvent(QMouseEvent* event) {
  constexpr double kStill = 4;
  const bool isClick = m_pressed && (event->position() - *m_pressed).manhattanLength() < kStill;
  m_pressed.reset();
  if (const auto cell = cellAt(event->position()); isClick && cell) {
    setCurrent(cell);
    Q_EMIT chosen(cell->first, cell->second);
  }
}

void MatrixView::leaveEvent(QEvent*) {
  if (!hasFocus()) {
    setCurrent(std::nullopt);
  }
}

void MatrixView::wheelEvent(QWheelEvent* event) {
  constexpr double kPerUnit = 0.999;
  zoom(std::pow(kPerUnit, event->angleDelta().y()), event->position());
  event->accept();
}

void MatrixView::keyPressEvent(QKeyEvent* event) {
  if (m_matrix.size == 0) {
    QWidget::keyPressEvent(event);
    return;
  }
  constexpr double kIn = 0.7;
  Cell cell = m_current.value_or(Cell(0, 0));
  const QRectF place = rectOf(cell);
  switch (event->key()) {
    case Qt::Key_Up:
      --cell.first;
      break;
    case Qt::Key_Down:
      cell.first += m_current ? 1 : 0;
      break;
    case Qt::Key_Left:
      --cell.second;
      break;
    case Qt::Key_Right:
      cell.second += m_current ? 1 : 0;
      break;
    case Qt::Key_W:
    case Qt::Key_Plus:
      zoom(kIn, place.isNull() ? layout().cells.center() : place.center());
      return;
    case Qt::Key_S:
    case Qt::Key_Minus:
      zoom(1 / kIn, place.isNull() ? layout().cells.center() : place.center());
      return;
    case Qt::Key_F:
      showAll();
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (m_current) {
        Q_EMIT chosen(m_current->first, m_current->second);
      }
      return;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  cell.first = std::clamp(cell.first, 0, m_matrix.size - 1);
  cell.second = std::clamp(cell.second, 0, m_matrix.size - 1);
  bringIntoView(cell);
  setCurrent(cell);
}

}  // namespace coppice::designer
