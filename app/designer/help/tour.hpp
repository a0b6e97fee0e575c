// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

namespace coppice::designer {

struct TourStep {
  QString title;
  QString text;
  /// What the step is about; nullptr, or a widget that is not to be seen: the whole window.
  std::function<QWidget*()> target = {};
  /// Called before the step is shown: brings the window into the state that the text speaks of.
  std::function<void()> enter = {};
};

/// A tour of a window: all but the subject of the step is dimmed; the subject stays usable, beside it is what there
/// is to know. By keys: Enter or Right continues, Left goes back, Esc ends it.
class Tour : public QWidget {
  Q_OBJECT

public:
  /// Covers the window from start() on, and deletes itself at the end. @pre there are steps
  /// @param leave what the button says that ends it before its last step
  Tour(QWidget* window, std::vector<TourStep> steps, const QString& leave);

  void start();
  [[nodiscard]] int step() const { return m_step; }
  [[nodiscard]] int stepCount() const { return static_cast<int>(m_steps.size()); }

Q_SIGNALS:
  /// All steps were seen, or the person had enough.
  void finished(bool isComplete);

protected:
  bool event(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool focusNextPrevChild(bool isNext) override;

private:
  void goTo(int step);
  void place();
  void end(bool isComplete);

  std::vector<TourStep> m_steps;
  int m_step = -1;
  QRect m_hole;  ///< of what the step is about; empty = nothing in particular
  QFrame* m_bubble;
  QLabel* m_title;
  QLabel* m_text;
  QLabel* m_count;
  QPushButton* m_skip;
  QPushButton* m_back;
  QPushButton* m_next;
};

}  // namespace coppice::designer
