// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/shortcut_dialog.hpp"

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "designer/models/fuzzy_score.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ShortcutDialog::ShortcutDialog(ActionRegistry& actions, QWidget* parent)
    : QDialog(parent),
      m_actions(actions),
      m_tree(new QTreeWidget(this)),
      m_edit(new QKeySequenceEdit(this)),
      m_hint(new QLabel(this)) {
  setObjectName(u"shortcutDialog"_s);
  setWindowTitle(tr("Keyboard Shortcuts"));
  auto* search = new QLineEdit(this);
  search->setPlaceholderText(tr("Find a command"));
  search->setAccessibleName(tr("Find a command"));
  search->setClearButtonEnabled(true);
  m_tree->setHeaderLabels({tr("Command"), tr("Shortcut")});
  m_tree->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  m_tree->setAccessibleName(tr("Commands and shortcuts"));
  auto* label = new QLabel(tr("&New shortcut:"), this);
  label->setBuddy(m_edit);
  auto* set = new QPushButton(tr("&Set"), this);
  auto* clear = new QPushButton(tr("&Remove"), this);
  auto* row = new QHBoxLayout;
  row->addWidget(label);
  row->addWidget(m_edit, 1);
  row->addWidget(set);
  row->addWidget(clear);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close | QDialogButtonBox::RestoreDefaults, this);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(search);
  layout->addWidget(m_tree, 1);
  layout->addLayout(row);
  layout->addWidget(m_hint);
  layout->addWidget(buttons);
  setTabOrder(search, m_tree);
  setTabOrder(m_tree, m_edit);
  setTabOrder(m_edit, set);
  search->setFocus();
  constexpr QSize kSize(560, 640);
  resize(kSize);

  connect(search, &QLineEdit::textChanged, this, &ShortcutDialog::filter);
  connect(m_tree, &QTreeWidget::currentItemChanged, this, &ShortcutDialog::showCurrent);
  connect(m_edit, &QKeySequenceEdit::keySequenceChanged, this, [this](const QKeySequence& keys) {
    const QAction* holder = m_actions.holderOf(keys, current());
    m_hint->setText(holder != nullptr
                        ? tr("Now used by “%1”, which would lose this shortcut").arg(ActionRegistry::plainText(holder))
                        : QString());
  });
  connect(set, &QPushButton::clicked, this, [this] {
    if (QAction* action = current()) {
      m_actions.setShortcut(action, m_edit->keySequence());
    }
  });
  connect(clear, &QPushButton::clicked, this, [this] {
    if (QAction* action = current()) {
      m_actions.setShortcut(action, {});
    }
  });
  connect(buttons->button(QDialogButtonBox::RestoreDefaults), &QPushButton::clicked, &m_actions,
          &ActionRegistry::resetShortcuts);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(&m_actions, &ActionRegistry::shortcutsChanged, this, &ShortcutDialog::fill);
  fill();
}

void ShortcutDialog::fill() {
  const QString chosen = current() != nullptr ? ActionRegistry::idOf(current()) : QString();
  m_tree->clear();
  QHash<QString, QTreeWidgetItem*> groups;
  for (const QAction* action : m_actions.all()) {
    QTreeWidgetItem*& group = groups[ActionRegistry::groupOf(action)];
    if (group == nullptr) {
      group = new QTreeWidgetItem(m_tree, {ActionRegistry::groupOf(action)});
      group->setExpanded(true);
      group->setFlags(Qt::ItemIsEnabled);
    }
    auto* item = new QTreeWidgetItem(
        group,
        {ActionRegistry::plainText(action), QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText)});
    item->setToolTip(0, action->toolTip());
    item->setData(0, Qt::UserRole, ActionRegistry::idOf(action));
    if (ActionRegistry::idOf(action) == chosen) {
      m_tree->setCurrentItem(item);
    }
  }
}

void ShortcutDialog::filter(const QString& typed) {
  for (int i = 0; i < m_tree->topLevelItemCount(); ++i) {
    QTreeWidgetItem* group = m_tree->topLevelItem(i);
    bool isEmpty = true;
    for (int j = 0; j < group->childCount(); ++j) {
      QTreeWidgetItem* item = group->child(j);
      const bool isHit = fuzzyScore(typed, item->text(0)) >= 0 || item->text(1).contains(typed, Qt::CaseInsensitive);
      item->setHidden(!isHit);
      isEmpty = isEmpty && !isHit;
    }
    group->setHidden(isEmpty);
  }
}

QAction* ShortcutDialog::current() const {
  const QTreeWidgetItem* item = m_tree->currentItem();
  return item != nullptr ? m_actions.find(item->data(0, Qt::UserRole).toString()) : nullptr;
}

void ShortcutDialog::showCurrent() {
  const QAction* action = current();
  m_edit->setEnabled(action != nullptr);
  m_edit->setKeySequence(action != nullptr ? action->shortcut() : QKeySequence());
}

}  // namespace coppice::designer
