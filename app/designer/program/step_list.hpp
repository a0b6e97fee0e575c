// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QListWidget>
#include <QString>
#include <cstddef>

#include "program/step_place.hpp"

namespace coppice::designer {

/// Sentences, each about a step. A click or Return on one chooses its step.
class StepList : public QListWidget {
  Q_OBJECT

public:
  /// Lists of steps end here; a step that thousands wait for is rare, and longer lists are not read.
  static constexpr std::size_t kMaxListed = 500;

  /// @param title for screen readers
  StepList(const QString& name, const QString& title, QWidget* parent);

  QListWidgetItem* add(const QString& text, const program::StepPlace& place);

Q_SIGNALS:
  /// Comes after the click, since the list may be filled again by it: the program may be another one by then.
  void chosen(const coppice::program::StepPlace& place);

private:
  void choose(const QListWidgetItem* item);
};

}  // namespace coppice::designer
