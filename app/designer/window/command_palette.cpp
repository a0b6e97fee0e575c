// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/command_palette.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>
#include <vector>

using namespace Qt::StringLiterals;

namespace coppice::designer {

int fuzzyScore(const QString& typed, const QString& title) {
  constexpr int kWordStart = 8;
  constexpr int kInARow = 5;
  int score = 0;
  qsizetype at = 0;
  qsizetype last = -2;
  for (const QChar wanted : typed.toLower()) {
    if (wanted.isSpace()) {
      continue;
    }
    // A letter that begins a word is meant rather than one in the middle.
    qsizetype found = -1;
    for (qsizetype i = at; i < title.size(); ++i) {
      if (title[i].toLower() == wanted) {
        const bool isStart = i == 0 || !title[i - 1].isLetterOrNumber();
        if (found < 0) {
          found = i;
        }
        if (isStart || i == last + 1) {
          found = i;
          break;
        }
      }
    }
    if (found < 0) {
      return -1;
    }
    score += found == last + 1 ? kInARow : 0;
    score += found == 0 || !title[found - 1].isLetterOrNumber() ? kWordStart : 0;
    last = found;
    at = found + 1;
  }
  return score;
}

CommandPalette::CommandPalette(const ActionRegistry& actions, QWidget* parent)
    : QDialog(parent, Qt::Popup), m_actions(actions), m_input(new QLineEdit(this)), m_list(new QListWidget(this)) {
  setObjectName(u"commandPalette"_s);
  setAttribute(Qt::WA_DeleteOnClose);
  m_input->setPlaceholderText(tr("Type the name of a command"));
  m_input->setAccessibleName(tr("Command"));
  m_list->setAccessibleName(tr("Commands"));
  m_list->setFocusPolicy(Qt::NoFocus);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_input);
  layout->addWidget(m_list);
  constexpr QSize kSize(560, 420);
  resize(kSize);
  m_input->installEventFilter(this);
  connect(m_input, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(m_input, &QLineEdit::returnPressed, this, &CommandPalette::run);
  connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::run);
  fill({});
  m_input->setFocus();
}

void CommandPalette::fill(const QString& typed) {
  std::vector<std::pair<int, QAction*>> hits;
  for (QAction* action : m_actions.all()) {
    const QString title = ActionRegistry::groupOf(action) + u": "_s + ActionRegistry::plainText(action);
    const int score = fuzzyScore(typed, title);
    if (score >= 0) {
      hits.emplace_back(score + (action->isEnabled() ? 1 : 0), action);
    }
  }
  std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  m_list->clear();
  for (const auto& [score, action] : hits) {
    QString text = ActionRegistry::groupOf(action) + u": "_s + ActionRegistry::plainText(action);
    if (!action->shortcut().isEmpty()) {
      text += u"    "_s + action->shortcut().toString(QKeySequence::NativeText);
    }
    auto* item = new QListWidgetItem(action->icon(), text, m_list);
    item->setToolTip(action->toolTip());
    item->setData(Qt::UserRole, ActionRegistry::idOf(action));
    if (!action->isEnabled()) {
      item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
    }
  }
  m_list->setCurrentRow(m_list->count() > 0 ? 0 : -1);
}

void CommandPalette::run() {
  const QListWidgetItem* item = m_list->currentItem();
  if (item == nullptr || !item->flags().testFlag(Qt::ItemIsEnabled)) {
    return;
  }
  QAction* action = m_actions.find(item->data(Qt::UserRole).toString());
  close();
  // After this window is gone, so that dialogs get the focus.
  QMetaObject::invokeMethod(action, &QAction::trigger, Qt::QueuedConnection);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == m_input && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
      QCoreApplication::sendEvent(m_list, event);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace coppice::designer
