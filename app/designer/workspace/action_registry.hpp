// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QHash>
#include <QIcon>
#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QString>
#include <functional>
#include <vector>

namespace coppice::designer {

/// An action as it is defined, before the user changes its shortcut.
struct ActionSpec {
  QString id;            ///< stable: "edit.duplicate"; the part before the point is its group
  QString text;          ///< as in the menu, with "&"
  QString toolTip = {};  ///< what it does, one sentence; empty = the text
  QList<QKeySequence> shortcuts = {};
  QString icon = {};  ///< name of an icon of the theme
  bool isCheckable = false;
};

/// Takes the place of an icon in menus, so that all texts begin at one line.
[[nodiscard]] QIcon blankIcon();

/// Every action of the program, by id: menus, tool bar, command palette, shortcut sheet and scripts all ask here.
/// Shortcuts that a person changed are kept in the settings.
class ActionRegistry : public QObject {
  Q_OBJECT

public:
  explicit ActionRegistry(QObject* parent = nullptr);

  /// @pre the id is new. The action belongs to the registry; `run` is called with the check state.
  QAction* add(const ActionSpec& spec, std::function<void(bool)> run);
  /// nullptr if there is none.
  [[nodiscard]] QAction* find(const QString& id) const;
  /// @pre it exists
  [[nodiscard]] QAction* operator[](const QString& id) const;
  /// In the order of adding.
  [[nodiscard]] const std::vector<QAction*>& all() const { return m_all; }

  [[nodiscard]] static QString idOf(const QAction* action) { return action->objectName(); }
  /// "Edit", the group of an id for a person.
  [[nodiscard]] static QString groupOf(const QAction* action);
  /// The text without "&" and "…".
  [[nodiscard]] static QString plainText(const QAction* action);
  [[nodiscard]] QList<QKeySequence> defaultShortcuts(const QAction* action) const;

  /// Another action that has the shortcut; nullptr if it is free.
  [[nodiscard]] QAction* holderOf(const QKeySequence& shortcut, const QAction* except = nullptr) const;
  /// Sets and remembers. Takes the shortcut from the command that has it.
  void setShortcut(QAction* action, const QKeySequence& shortcut);
  void resetShortcuts();

  /// Tooltip: what, and by which key. To be called where the status tip has changed.
  static void tell(QAction* action);

Q_SIGNALS:
  void shortcutsChanged();

private:
  void remember(const QAction* action) const;

  std::vector<QAction*> m_all;
  QHash<QString, QAction*> m_byId;
  QHash<QString, QList<QKeySequence>> m_defaults;
};

}  // namespace coppice::designer
