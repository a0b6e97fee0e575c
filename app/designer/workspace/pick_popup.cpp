// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/pick_popup.hpp"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QVBoxLayout>

namespace coppice::designer {

PickPopup::PickPopup(const Words& words, const QSize& size, QWidget* parent)
    : QDialog(parent, Qt::Popup),
      m_nothing(words.nothing),
      m_input(new QLineEdit(this)),
      m_list(new QListWidget(this)) {
  setObjectName(words.name);
  setAttribute(Qt::WA_DeleteOnClose);
  m_input->setPlaceholderText(words.placeholder);
  m_input->setAccessibleName(words.line);
  m_list->setAccessibleName(words.list);
  m_list->setFocusPolicy(Qt::NoFocus);
  m_list->setUniformItemSizes(true);
  // A border of its own, as a popup has no frame.
  setProperty("role", QStringLiteral("popup"));
  setAttribute(Qt::WA_StyledBackground);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_input);
  layout->addWidget(m_list);
  resize(size);
  m_input->installEventFilter(this);
  connect(m_input, &QLineEdit::textChanged, this, &PickPopup::refill);
  connect(m_input, &QLineEdit::returnPressed, this, &PickPopup::takeCurrent);
  connect(m_list, &QListWidget::itemClicked, this, &PickPopup::takeCurrent);
}

void PickPopup::start() {
  refill({});
  m_input->setFocus();
}

void PickPopup::refill(const QString& typed) {
  m_list->clear();
  fill(typed);
  const bool isEmpty = m_list->count() == 0;
  if (isEmpty) {
    auto* nothing = new QListWidgetItem(m_nothing, m_list);
    nothing->setFlags(Qt::NoItemFlags);
  }
  m_list->setCurrentRow(isEmpty ? -1 : 0);
}

void PickPopup::takeCurrent() {
  if (const QListWidgetItem* item = m_list->currentItem()) {
    take(*item);
  }
}

bool PickPopup::eventFilter(QObject* watched, QEvent* event) {
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
