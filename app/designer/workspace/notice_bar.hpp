// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <functional>
#include <vector>

namespace coppice::designer {

/// A line above a document that tells what happened and offers answers, while work continues below it.
class NoticeBar : public QFrame {
  Q_OBJECT

public:
  struct Answer {
    QString text;  ///< of the button; "&" marks its key
    QString name;  ///< object name of the button
    std::function<void()> chosen;
  };

  explicit NoticeBar(QWidget* parent);

  /// In place of what was shown before. The bar goes away before an answer runs.
  void tell(const QString& text, const std::vector<Answer>& answers);
  void withdraw();
  [[nodiscard]] QString text() const { return isHidden() ? QString() : m_text->text(); }

private:
  QLabel* m_text;
  QHBoxLayout* m_buttons;
};

}  // namespace coppice::designer
