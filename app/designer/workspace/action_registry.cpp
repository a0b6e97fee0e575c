// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/action_registry.hpp"

#include <QPixmap>
#include <QSettings>
#include <utility>

#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

const QString kSettingsGroup = u"shortcuts/"_s;
}  // namespace

QIcon blankIcon() {
  constexpr int kSize = 16;
  QPixmap pixmap(kSize, kSize);
  pixmap.fill(Qt::transparent);
  return pixmap;
}

ActionRegistry::ActionRegistry(QObject* parent) : QObject(parent) {}

QAction* ActionRegistry::add(const ActionSpec& spec, std::function<void(bool)> run) {
  Q_ASSERT(!m_byId.contains(spec.id));
  auto* action = new QAction(spec.text, this);
  action->setObjectName(spec.id);
  action->setCheckable(spec.isCheckable);
  m_defaults.insert(spec.id, spec.shortcuts);
  const QSettings settings;
  const QVariant changed = settings.value(kSettingsGroup + spec.id);
  action->setShortcuts(changed.isValid() ? QKeySequence::listFromString(changed.toString()) : spec.shortcuts);
  action->setShortcutContext(Qt::WindowShortcut);
  action->setStatusTip(spec.toolTip.isEmpty() ? plainText(action) : spec.toolTip);
  tell(action);
  if (!spec.icon.isEmpty()) {
    action->setIcon(icon(spec.icon));
  } else if (!spec.isCheckable) {
    action->setIcon(blankIcon());
  }
  connect(action, &QAction::triggered, this, [run = std::move(run)](bool isChecked) { run(isChecked); });
  m_all.push_back(action);
  m_byId.insert(spec.id, action);
  return action;
}

void ActionRegistry::tell(QAction* action) {
  QStringList keys;
  for (const QKeySequence& shortcut : action->shortcuts()) {
    keys << shortcut.toString(QKeySequence::NativeText);
  }
  const QString name = plainText(action);
  const QString what = action->statusTip() == name ? name : name + u": "_s + action->statusTip();
  action->setToolTip(keys.isEmpty() ? what : u"%1 (%2)"_s.arg(what, keys.join(u", "_s)));
}

QAction* ActionRegistry::find(const QString& id) const {
  return m_byId.value(id, nullptr);
}

QAction* ActionRegistry::operator[](const QString& id) const {
  QAction* action = find(id);
  Q_ASSERT(action != nullptr);
  return action;
}

QString ActionRegistry::groupOf(const QAction* action) {
  QString group = idOf(action).section(u'.', 0, 0);
  if (!group.isEmpty()) {
    group[0] = group[0].toUpper();
  }
  return group;
}

QString ActionRegistry::plainText(const QAction* action) {
  QString text = action->text();
  return text.remove(u'&').remove(u'…');
}

QList<QKeySequence> ActionRegistry::defaultShortcuts(const QAction* action) const {
  return m_defaults.value(idOf(action));
}

QAction* ActionRegistry::holderOf(const QKeySequence& shortcut, const QAction* except) const {
  for (QAction* action : m_all) {
    if (action != except && !shortcut.isEmpty() && action->shortcuts().contains(shortcut)) {
      return action;
    }
  }
  return nullptr;
}

void ActionRegistry::remember(const QAction* action) const {
  QSettings settings;
  if (action->shortcuts() == defaultShortcuts(action)) {
    settings.remove(kSettingsGroup + idOf(action));
  } else {
    settings.setValue(kSettingsGroup + idOf(action), QKeySequence::listToString(action->shortcuts()));
  }
}

void ActionRegistry::setShortcut(QAction* action, const QKeySequence& shortcut) {
  if (QAction* holder = holderOf(shortcut, action)) {
    QList<QKeySequence> rest = holder->shortcuts();
    rest.removeAll(shortcut);
    holder->setShortcuts(rest);
    tell(holder);
    remember(holder);
  }
  action->setShortcuts(shortcut.isEmpty() ? QList<QKeySequence>() : QList<QKeySequence>{shortcut});
  tell(action);
  remember(action);
  Q_EMIT shortcutsChanged();
}

void ActionRegistry::resetShortcuts() {
  for (QAction* action : m_all) {
    action->setShortcuts(defaultShortcuts(action));
    tell(action);
    remember(action);
  }
  Q_EMIT shortcutsChanged();
}

}  // namespace coppice::designer
