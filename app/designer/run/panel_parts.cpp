// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/panel_parts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

void setUpPanel(QWidget* panel, const QString& name, const QString& title) {
  panel->setObjectName(name);
  panel->setAccessibleName(title);
  panel->setProperty("role", u"panel"_s);
  panel->setAttribute(Qt::WA_StyledBackground);
}

QLabel* emptyLabel(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setAlignment(Qt::AlignCenter);
  label->setWordWrap(true);
  label->setProperty("role", u"muted"_s);
  constexpr int kMargin = 16;
  label->setMargin(kMargin);
  return label;
}

QToolButton* plainButton(const QString& id, const QString& text, const QString& toolTip, QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setObjectName(id);
  button->setText(text);
  button->setToolTip(toolTip);
  button->setAccessibleName(text);
  button->setProperty("role", u"plain"_s);
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace coppice::designer
