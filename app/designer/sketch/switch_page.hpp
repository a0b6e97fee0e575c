// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>

#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// The switches within a box and their policies: one row for each.
class SwitchPage : public QWidget {
  Q_OBJECT

public:
  explicit SwitchPage(QWidget* parent = nullptr);

  /// nullptr: there is no document.
  void setDesk(SketchDesk* desk);
  void fill();
  /// Index of the switch that is chosen; -1 = none.
  [[nodiscard]] int chosen() const;

Q_SIGNALS:
  void switchChosen();
  /// The GPUs that are selected on the drawing share a switch.
  void switchWanted();
  void refused(const QString& why);

private:
  void take(int row, const QString& text);
  void addPolicyBox(int row, const std::string& policy);

  SketchDesk* m_desk = nullptr;
  bool m_isFilling = false;
  QComboBox* m_strategy;
  QPushButton* m_add;
  QPushButton* m_remove;
  QTableWidget* m_table;
  QLabel* m_hint;
};

}  // namespace coppice::designer
