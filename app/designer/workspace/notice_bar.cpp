// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/notice_bar.hpp"

#include <QPushButton>

using namespace Qt::StringLiterals;

namespace coppice::designer {

NoticeBar::NoticeBar(QWidget* parent) : QFrame(parent), m_text(new QLabel(this)), m_buttons(new QHBoxLayout) {
  setObjectName(u"noticeBar"_s);
  setProperty("role", u"notice"_s);
  m_text->setObjectName(u"noticeText"_s);
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  auto* layout = new QHBoxLayout(this);
  constexpr QMargins kMargins(14, 6, 10, 6);
  layout->setContentsMargins(kMargins);
  layout->addWidget(m_text, 1);
  layout->addLayout(m_buttons);
  hide();
}

void NoticeBar::tell(const QString& text, const std::vector<Answer>& answers) {
  m_text->setText(text);
  setAccessibleName(text);
  while (QLayoutItem* item = m_buttons->takeAt(0)) {
    // One of them may be what is being clicked.
    item->widget()->hide();
    item->widget()->deleteLater();
    delete item;
  }
  for (const Answer& answer : answers) {
    auto* button = new QPushButton(answer.text, this);
    button->setObjectName(answer.name);
    button->setAutoDefault(false);
    connect(button, &QPushButton::clicked, this, [this, chosen = answer.chosen] {
      withdraw();
      chosen();
    });
    m_buttons->addWidget(button);
  }
  setVisible(true);
}

void NoticeBar::withdraw() {
  hide();
}

}  // namespace coppice::designer
