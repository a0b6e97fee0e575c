// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/sketch/relay_page.hpp"
#include "designer/sketch/search_panel.hpp"
#include "designer/sketch/sketch_desk.hpp"
#include "designer/sketch/sketch_overlay.hpp"
#include "designer/sketch/switch_page.hpp"
#include "designer/sketch/symmetry_page.hpp"

namespace coppice::designer {

/// The dock "Sketch": sizes and files, relays, switches and symmetry, and the search.
class SketchPanel : public QWidget {
  Q_OBJECT

public:
  explicit SketchPanel(QWidget* parent = nullptr);

  /// nullptr: there is no document.
  void setDesk(SketchDesk* desk);
  [[nodiscard]] SketchDesk* desk() const { return m_desk; }
  [[nodiscard]] RelayPage& relays() { return *m_relays; }
  [[nodiscard]] SwitchPage& switches() { return *m_switches; }
  [[nodiscard]] SymmetryPage& symmetry() { return *m_symmetry; }
  [[nodiscard]] SearchPanel& search() { return *m_search; }
  /// What is wrong, and how to fix it; empty where the sketch fits.
  [[nodiscard]] QString problem() const { return m_problem->text(); }
  /// What is chosen on the tab in front: an orbit, or a switch in all boxes.
  [[nodiscard]] SketchArea area() const;
  /// What the drawing shows with the tab in front: on that of the symmetry the orbits, else the relays.
  [[nodiscard]] SketchView view() const;
  /// A line of the page that says why something did not happen, until the sketch changes.
  void refuse(const QString& why);

Q_SIGNALS:
  void proposeWanted();
  void openWanted();
  void saveWanted();
  void topologyWanted();
  void undoWanted();
  /// area() is another one.
  void areaChanged();

private:
  QWidget* makeSizes();
  void fill();
  void showProblem();
  /// The tab that has the field of a key of the files; -1 = none.
  [[nodiscard]] int tabOf(const QString& key) const;

  SketchDesk* m_desk = nullptr;
  Followed m_followed;  ///< connections to the desk
  bool m_isFilling = false;
  QString m_refused;
  QStackedWidget* m_pages;
  QToolButton* m_open;
  QToolButton* m_save;
  QToolButton* m_topology;
  QToolButton* m_undo;
  QLabel* m_state;
  QSpinBox* m_chunks;
  QCheckBox* m_wholeNics;
  QLineEdit* m_size;
  QLabel* m_problem;
  QTabWidget* m_tabs;
  RelayPage* m_relays;
  SwitchPage* m_switches;
  SymmetryPage* m_symmetry;
  SearchPanel* m_search;
};

}  // namespace coppice::designer
