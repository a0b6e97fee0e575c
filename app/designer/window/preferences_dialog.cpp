// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/preferences_dialog.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace coppice::designer {

PreferencesDialog::PreferencesDialog(ActionRegistry& actions, QWidget* parent) : QDialog(parent), m_actions(actions) {
  setObjectName(u"preferencesDialog"_s);
  setWindowTitle(tr("Preferences"));
  auto* theme = new QComboBox(this);
  theme->setObjectName(u"preferencesTheme"_s);
  for (const QString& id : {u"theme.system"_s, u"theme.light"_s, u"theme.dark"_s}) {
    const QAction* action = m_actions[id];
    theme->addItem(ActionRegistry::plainText(action), id);
    if (action->isChecked()) {
      theme->setCurrentIndex(theme->count() - 1);
    }
  }
  connect(theme, &QComboBox::activated, this,
          [this, theme](int index) { m_actions[theme->itemData(index).toString()]->trigger(); });
  auto* wheel = new QComboBox(this);
  wheel->setObjectName(u"preferencesWheel"_s);
  wheel->addItems({tr("zooms"), tr("scrolls, and zooms with Ctrl")});
  QAction* scrolls = m_actions[u"view.wheel-scrolls"_s];
  wheel->setCurrentIndex(scrolls->isChecked() ? 1 : 0);
  connect(wheel, &QComboBox::activated, this, [scrolls](int index) {
    if (scrolls->isChecked() != (index == 1)) {
      scrolls->trigger();
    }
  });
  auto* form = new QFormLayout;
  form->addRow(tr("&Theme:"), theme);
  form->addRow(tr("&Wheel over the drawing:"), wheel);
  form->addRow(tr("&Schedules:"), boxOf(u"schedule.folder"_s));
  form->addRow(tr("Simulation:"), buttonOf(u"schedule.addition-time"_s, tr("Time of &Additions…")));
  form->addRow(tr("Keyboard:"), buttonOf(u"help.shortcuts"_s, tr("S&hortcuts…")));
  form->addRow(tr("Docks:"), buttonOf(u"view.reset-layout"_s, tr("&Reset Layout")));
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(buttons);
}

QWidget* PreferencesDialog::boxOf(const QString& id) {
  QAction* action = m_actions[id];
  auto* box = new QCheckBox(ActionRegistry::plainText(action), this);
  box->setObjectName(id);
  box->setToolTip(action->statusTip());
  box->setChecked(action->isChecked());
  connect(box, &QCheckBox::clicked, action, &QAction::trigger);
  // The action may not do it: its question may be cancelled.
  connect(action, &QAction::toggled, box, [box](bool isOn) {
    const QSignalBlocker quiet(box);
    box->setChecked(isOn);
  });
  return box;
}

QWidget* PreferencesDialog::buttonOf(const QString& id, const QString& text) {
  QAction* action = m_actions[id];
  auto* button = new QPushButton(text, this);
  button->setObjectName(id);
  button->setToolTip(action->statusTip());
  button->setAutoDefault(false);
  connect(button, &QPushButton::clicked, action, &QAction::trigger);
  return button;
}

}  // namespace coppice::designer
