// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/pane_frame.hpp"

#include <QApplication>
#include <QEvent>
#include <QPainter>

#include "designer/theme/theme.hpp"

namespace coppice::designer {

PaneFrame::PaneFrame(QWidget* window) : QWidget(window) {
  setObjectName(QStringLiteral("paneFrame"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  hide();
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, const QWidget* now) {
    if (m_pane && now != nullptr && now != m_pane && !m_pane->isAncestorOf(now)) {
      drop();
    }
  });
}

void PaneFrame::showAround(QWidget* pane) {
  drop();
  m_pane = pane;
  pane->installEventFilter(this);
  qApp->installEventFilter(this);
  follow();
  show();
  raise();
}

void PaneFrame::drop() {
  if (m_pane) {
    m_pane->removeEventFilter(this);
  }
  qApp->removeEventFilter(this);
  m_pane.clear();
  hide();
}

void PaneFrame::follow() {
  setGeometry(QRect(m_pane->mapTo(parentWidget(), QPoint()), m_pane->size()));
}

bool PaneFrame::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress) {
    drop();
  } else if (m_pane && watched == m_pane) {
    if (event->type() == QEvent::Hide) {
      drop();
    } else if (event->type() == QEvent::Resize || event->type() == QEvent::Move) {
      follow();
    }
  }
  return QWidget::eventFilter(watched, event);
}

void PaneFrame::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  constexpr int kWidth = 2;
  painter.setPen(QPen(Theme::instance().color(Token::accent), kWidth));
  painter.drawRect(rect().adjusted(1, 1, -1, -1));
}

}  // namespace coppice::designer
