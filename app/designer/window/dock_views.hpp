// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QButtonGroup>
#include <QStackedWidget>
#include <QString>
#include <QVBoxLayout>
#include <QWidget>

namespace coppice::designer {

/// The content of a dock with several views of one thing, which a column at its left names. Docks below the drawing are
/// wide and not high, so the names take width.
class DockViews : public QWidget {
  Q_OBJECT

public:
  /// @param title for screen readers
  explicit DockViews(const QString& title, QWidget* parent = nullptr);

  /// @param id names the button for tests: "view-<id>"
  void add(const QString& id, const QString& title, QWidget* view);
  void show(QWidget* view);
  [[nodiscard]] QWidget* current() const { return m_views->currentWidget(); }
  /// The view of that place, in the order in which they were added.
  void setCurrentIndex(int index);
  [[nodiscard]] int currentIndex() const { return m_views->currentIndex(); }

private:
  QVBoxLayout* m_column;
  QButtonGroup* m_buttons;
  QStackedWidget* m_views;
};

}  // namespace coppice::designer
