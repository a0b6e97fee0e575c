// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/dock_views.hpp"

#include <QFrame>
#include <QHBoxLayout>
#include <QToolButton>

using namespace Qt::StringLiterals;

namespace coppice::designer {

DockViews::DockViews(const QString& title, QWidget* parent)
    : QWidget(parent), m_column(new QVBoxLayout), m_buttons(new QButtonGroup(this)), m_views(new QStackedWidget(this)) {
  setAccessibleName(title);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  constexpr QMargins kMargins(8, 6, 8, 6);
  constexpr int kGap = 2;
  m_column->setContentsMargins(kMargins);
  m_column->setSpacing(kGap);
  m_column->addStretch(1);
  auto* line = new QFrame(this);
  line->setProperty("role", u"hairline"_s);
  line->setFixedWidth(1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(m_column);
  layout->addWidget(line);
  layout->addWidget(m_views, 1);
  connect(m_buttons, &QButtonGroup::idClicked, m_views, &QStackedWidget::setCurrentIndex);
}

void DockViews::add(const QString& id, const QString& title, QWidget* view) {
  auto* button = new QToolButton(this);
  button->setObjectName(u"view-"_s + id);
  button->setText(title);
  button->setProperty("role", u"view"_s);
  button->setCheckable(true);
  button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  const int index = m_views->addWidget(view);
  m_buttons->addButton(button, index);
  button->setChecked(index == 0);
  m_column->insertWidget(index, button);
}

void DockViews::show(QWidget* view) {
  setCurrentIndex(m_views->indexOf(view));
}

void DockViews::setCurrentIndex(int index) {
  if (QAbstractButton* button = m_buttons->button(index)) {
    button->setChecked(true);
    m_views->setCurrentIndex(index);
  }
}

}  // namespace coppice::designer
