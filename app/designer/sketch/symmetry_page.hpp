// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>
#include <vector>

#include "designer/document/followed.hpp"
#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// The symmetry offsets, and the orbits that follow from them.
class SymmetryPage : public QWidget {
  Q_OBJECT

public:
  explicit SymmetryPage(QWidget* parent = nullptr);

  /// nullptr: there is no document.
  void setDesk(SketchDesk* desk);
  void fill();
  /// GPUs of all boxes that the offsets map to each other.
  [[nodiscard]] const std::vector<std::vector<int>>& orbits() const { return m_orbits; }
  /// Index of the orbit that is chosen; -1 = none.
  [[nodiscard]] int orbit() const;
  /// The orbit of a GPU is chosen; -1: none is.
  void chooseOrbitOf(int gpu);

Q_SIGNALS:
  void orbitChosen();
  void refused(const QString& why);

private:
  void fillOffsets();
  void fillOrbits();
  void take(int row);

  SketchDesk* m_desk = nullptr;
  Followed m_followed;  ///< connections to the desk
  bool m_isFilling = false;
  std::vector<std::vector<int>> m_orbits;
  QPushButton* m_find;
  QPushButton* m_add;
  QPushButton* m_remove;
  QTableWidget* m_offsets;
  QLabel* m_orbitsLabel;
  QListWidget* m_list;
};

}  // namespace coppice::designer
