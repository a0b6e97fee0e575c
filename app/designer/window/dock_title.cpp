// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/dock_title.hpp"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QMainWindow>
#include <algorithm>

#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

DockTitle::DockTitle(QDockWidget* dock)
    : QWidget(dock), m_dock(dock), m_name(new QLabel(dock->windowTitle(), this)), m_close(new QToolButton(this)) {
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_name->setFont(sectionFont());
  m_name->setProperty("role", u"section"_s);
  m_close->setIcon(icon(u"close"_s));
  m_close->setAutoRaise(true);
  m_close->setFocusPolicy(Qt::NoFocus);
  constexpr QSize kIcon(12, 12);
  m_close->setIconSize(kIcon);
  m_close->setStyleSheet(u"padding: 2px"_s);
  m_close->setToolTip(tr("Close %1 (View > Docks brings it back)").arg(dock->windowTitle()));
  m_close->setAccessibleName(tr("Close %1").arg(dock->windowTitle()));
  auto* layout = new QHBoxLayout(this);
  constexpr QMargins kMargins(14, 8, 8, 2);
  layout->setContentsMargins(kMargins);
  layout->setSpacing(0);
  layout->addWidget(m_name, 1);
  layout->addWidget(m_close);
  connect(m_close, &QToolButton::clicked, dock, &QDockWidget::close);
}

QSize DockTitle::sizeHint() const {
  return m_isShown ? QWidget::sizeHint() : QSize(0, 0);
}

void DockTitle::refresh() {
  const auto* window = qobject_cast<const QMainWindow*>(m_dock->parentWidget());
  bool isTabbed = false;
  if (window != nullptr && !m_dock->isFloating()) {
    const QList<QDockWidget*> others = window->tabifiedDockWidgets(m_dock);
    isTabbed = std::any_of(others.begin(), others.end(), [](const QDockWidget* other) { return !other->isHidden(); });
  }
  if (m_isShown == isTabbed) {
    m_isShown = !isTabbed;
    m_name->setVisible(m_isShown);
    m_close->setVisible(m_isShown);
    layout()->setContentsMargins(m_isShown ? QMargins(14, 8, 8, 2) : QMargins());
    updateGeometry();
  }
}

}  // namespace coppice::designer
