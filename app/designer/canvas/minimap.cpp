// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/minimap.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "designer/canvas/canvas_view.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kMargin = 8;
constexpr int kRedrawDelay = 200;  // ms

}  // namespace

Minimap::Minimap(QWidget* parent) : QWidget(parent) {
  setMinimumSize(80, 60);
  setAccessibleName(tr("Overview"));
  m_redraw.setSingleShot(true);
  m_redraw.setInterval(kRedrawDelay);
  connect(&m_redraw, &QTimer::timeout, this, [this] {
    m_picture = {};
    update();
  });
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    m_picture = {};
    update();
  });
}

void Minimap::setView(CanvasView* view) {
  m_followed.clear();
  m_view = view;
  m_picture = {};
  if (m_view != nullptr) {
    m_followed.connect(m_view, &CanvasView::viewChanged, [this] { update(); });
    m_followed.connect(m_view, &QObject::destroyed, [this] {
      m_view = nullptr;
      m_picture = {};
      update();
    });
    m_followed.connect(&m_view->document(), &Document::changed, [this] {
      if (!m_redraw.isActive()) {
        m_redraw.start();
      }
    });
  }
  update();
}

void Minimap::fit() {
  QRectF all = m_view->scene().bounds();
  if (all.isNull()) {
    all = QRectF(-200, -150, 400, 300);
  }
  m_scale = std::min((width() - 2 * kMargin) / std::max(1.0, all.width()),
                     (height() - 2 * kMargin) / std::max(1.0, all.height()));
  m_offset = QPointF(width() / 2.0, height() / 2.0) - all.center() * m_scale;
}

void Minimap::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Colors& colors = Theme::instance().colors();
  painter.fillRect(rect(), colors[Token::panel]);
  if (m_view == nullptr) {
    return;
  }
  if (m_picture.isNull()) {
    fit();
    const double ratio = devicePixelRatioF();
    m_picture = QImage(size() * ratio, QImage::Format_RGB32);
    m_picture.setDevicePixelRatio(ratio);
    QPainter onPicture(&m_picture);
    onPicture.setRenderHint(QPainter::Antialiasing);
    onPicture.fillRect(rect(), colors[Token::panel]);
    onPicture.translate(m_offset);
    onPicture.scale(m_scale, m_scale);
    onPicture.setPen(QPen(colors[Token::boxLine], 1 / m_scale));
    onPicture.setBrush(colors[Token::window]);
    for (const BoxItem& box : m_view->scene().boxes()) {
      onPicture.drawRoundedRect(box.rect, 3 / m_scale, 3 / m_scale);
    }
    for (const NodeItem& node : m_view->scene().nodes()) {
      onPicture.fillRect(node.rect, colors[styleOf(node.shape).line]);
    }
  }
  painter.drawImage(QPointF(), m_picture);
  const QRectF seen = m_view->visibleScene();
  const QRectF frame(seen.topLeft() * m_scale + m_offset, seen.size() * m_scale);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor fill = colors[Token::accent];
  fill.setAlphaF(0.08F);
  painter.setBrush(fill);
  painter.setPen(QPen(colors[Token::accent], 1.5));
  painter.drawRoundedRect(frame.intersected(QRectF(rect()).adjusted(kMargin / 2, 1, -kMargin / 2, -1)), 3, 3);
}

void Minimap::goTo(const QPointF& place) {
  if (m_view != nullptr && m_scale > 0) {
    const QPointF scene = (place - m_offset) / m_scale;
    const QPointF now = m_view->visibleScene().center();
    m_view->panBy((now - scene) * m_view->zoom());
  }
}

void Minimap::mousePressEvent(QMouseEvent* event) {
  goTo(event->position());
}

void Minimap::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons().testFlag(Qt::LeftButton)) {
    goTo(event->position());
  }
}

void Minimap::wheelEvent(QWheelEvent* event) {
  if (m_view != nullptr) {
    m_view->setZoom(m_view->zoom() * std::pow(1.2, event->angleDelta().y() / 120.0));
  }
  event->accept();
}

void Minimap::resizeEvent(QResizeEvent*) {
  m_picture = {};
}

}  // namespace coppice::designer
