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
      : QWidget(parent), m_text(new QLabel(text, this)), m_button(new QPushButton(button, this)) {
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
    layout->addWidget(m_button, 0, Qt::AlignHCenter);
    layout->addStretch(1);
    m_button->setVisible(!button.isEmpty());
    connect(m_button, &QPushButton::clicked, this, &EmptyPage::clicked);
  }

  void setText(const QString& text) { m_text->setText(text); }
  [[nodiscard]] QString text() const { return m_text->text(); }

Q_SIGNALS:
  void clicked();

private:
  QLabel* m_text;
  QPushButton* m_button;
};

}  // namespace coppice::designer
