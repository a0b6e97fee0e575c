// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/theme/seen.hpp"

#include <QDockWidget>
#include <QEvent>
#include <QWidget>
#include <utility>

namespace coppice::designer {

Seen::Seen(QWidget& widget, std::function<void(bool)> changed) : m_widget(widget), m_changed(std::move(changed)) {
  // Docks come and go several times while a layout is restored.
  m_timer.setSingleShot(true);
  m_timer.setInterval(0);
  connect(&m_timer, &QTimer::timeout, this, &Seen::look);
  m_widget.installEventFilter(this);
}

bool Seen::isSeen() const {
  // The docks behind a tab lie outside of the window. The visible region would leave out what children cover.
  const QWidget& window = *m_widget.window();
  const QRect place(m_widget.mapTo(&window, QPoint()), m_widget.size());
  return m_widget.isVisible() && window.rect().intersects(place);
}

bool Seen::eventFilter(QObject* watched, QEvent* event) {
  switch (event->type()) {
    case QEvent::Show:
      followDock();
      [[fallthrough]];
    case QEvent::Hide:
    case QEvent::Resize:
      m_timer.start();
      break;
    default:
      break;
  }
  return QObject::eventFilter(watched, event);
}

void Seen::followDock() {
  const QWidget* each = &m_widget;
  while (each != nullptr && qobject_cast<const QDockWidget*>(each) == nullptr) {
    each = each->parentWidget();
  }
  const auto* dock = qobject_cast<const QDockWidget*>(each);
  if (dock == nullptr || dock == m_dock) {
    return;
  }
  m_dock = dock;
  connect(dock, &QDockWidget::visibilityChanged, &m_timer, qOverload<>(&QTimer::start));
}

void Seen::look() {
  if (const bool isSeen = this->isSeen(); isSeen != m_wasSeen) {
    m_wasSeen = isSeen;
    m_changed(isSeen);
  }
}

}  // namespace coppice::designer
