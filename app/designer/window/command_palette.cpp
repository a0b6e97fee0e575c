// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/command_palette.hpp"

#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <utility>
#include <vector>

#include "designer/models/fuzzy_score.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

namespace {

constexpr int kKeysRole = Qt::UserRole + 1;
constexpr int kRowHeight = 28;
constexpr int kIconSize = 16;
constexpr int kPadding = 8;

/// Icon, name and shortcut, each in a column of its own.
class CommandRow : public QStyledItemDelegate {
public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {0, kRowHeight};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem row = option;
    initStyleOption(&row, index);
    const QString text = std::exchange(row.text, QString());
    const QIcon icon = std::exchange(row.icon, QIcon());
    row.features = {};
    row.widget->style()->drawControl(QStyle::CE_ItemViewItem, &row, painter, row.widget);
    const bool isEnabled = row.state.testFlag(QStyle::State_Enabled);
    const auto group = isEnabled ? QPalette::Active : QPalette::Disabled;
    QRect rest = row.rect.adjusted(kPadding, 0, -kPadding, 0);
    icon.paint(painter, QRect(rest.left(), rest.center().y() - kIconSize / 2 + 1, kIconSize, kIconSize),
               Qt::AlignCenter, isEnabled ? QIcon::Normal : QIcon::Disabled);
    rest.setLeft(rest.left() + kIconSize + kPadding);
    const QString keys = index.data(kKeysRole).toString();
    painter->setFont(row.font);
    painter->setPen(row.palette.color(isEnabled ? QPalette::Active : QPalette::Disabled,
                                      isEnabled ? QPalette::PlaceholderText : QPalette::Text));
    painter->drawText(rest, Qt::AlignRight | Qt::AlignVCenter, keys);
    rest.setRight(rest.right() - row.fontMetrics.horizontalAdvance(keys) - kPadding);
    painter->setPen(row.palette.color(group, QPalette::Text));
    painter->drawText(rest, Qt::AlignLeft | Qt::AlignVCenter,
                      row.fontMetrics.elidedText(text, Qt::ElideRight, rest.width()));
  }
};

}  // namespace

CommandPalette::CommandPalette(const ActionRegistry& actions, QWidget* parent)
    : PickPopup({u"commandPalette"_s, tr("Type the name of a command"), tr("Command"), tr("Commands"),
                 tr("No command has such a name")},
                QSize(560, 420), parent),
      m_actions(actions) {
  list().setFrameShape(QFrame::NoFrame);
  list().setItemDelegate(new CommandRow(&list()));
  start();
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
  for (const auto& [score, action] : hits) {
    const QString text = ActionRegistry::groupOf(action) + u": "_s + ActionRegistry::plainText(action);
    auto* item = new QListWidgetItem(action->icon(), text, &list());
    item->setToolTip(action->toolTip());
    item->setData(Qt::UserRole, ActionRegistry::idOf(action));
    item->setData(kKeysRole, action->shortcut().toString(QKeySequence::NativeText));
    if (!action->isEnabled()) {
      item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
    }
  }
}

void CommandPalette::take(const QListWidgetItem& item) {
  if (!item.flags().testFlag(Qt::ItemIsEnabled)) {
    return;
  }
  QAction* action = m_actions.find(item.data(Qt::UserRole).toString());
  close();
  // After this window is gone, so that dialogs get the focus.
  QMetaObject::invokeMethod(action, &QAction::trigger, Qt::QueuedConnection);
}

}  // namespace coppice::designer
