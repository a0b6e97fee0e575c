// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <QWidget>

namespace coppice::designer {

/// What a dock shows while it has nothing: what will fill it, and the button that does.
class EmptyPage : public QWidget {
  Q_OBJECT

public:
  EmptyPage(const QString& text, const QString& button, QWidget* parent)
      : QWidget(parent),
        m_text(new QLabel(text, this)),
        m_button(new QPushButton(button, this)),
        m_buttons(new QHBoxLayout) {
    m_text->setWordWrap(true);
    m_text->setAlignment(Qt::AlignCenter);
    m_text->setProperty("role", QStringLiteral("muted"));
    m_button->setProperty("role", QStringLiteral("primary"));
    constexpr int kMargin = 12;
    constexpr int kTextWidth = 420;
    m_text->setMaximumWidth(kTextWidth);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    layout->addStretch(1);
    // Centred as a whole, and no wider than can be read: in a wide dock a label alone would stand at the left.
    auto* line = new QHBoxLayout;
    line->addStretch(1);
    line->addWidget(m_text, kTextWidth);
    line->addStretch(1);
    layout->addLayout(line);
    m_buttons->addStretch(1);
    m_buttons->addWidget(m_button);
    m_buttons->addStretch(1);
    layout->addLayout(m_buttons);
    layout->addStretch(1);
    m_button->setVisible(!button.isEmpty());
    connect(m_button, &QPushButton::clicked, this, &EmptyPage::clicked);
  }

  /// Another way to fill it, beside the first.
  QPushButton* addButton(const QString& text) {
    auto* added = new QPushButton(text, this);
    m_buttons->insertWidget(m_buttons->count() - 1, added);
    return added;
  }

  void setText(const QString& text) { m_text->setText(text); }
  [[nodiscard]] QString text() const { return m_text->text(); }

Q_SIGNALS:
  void clicked();

private:
  QLabel* m_text;
  QPushButton* m_button;
  QHBoxLayout* m_buttons;
};

}  // namespace coppice::designer
