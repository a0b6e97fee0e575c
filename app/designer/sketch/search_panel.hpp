// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QWidget>

#include "designer/document/followed.hpp"
#include "designer/sketch/search_chart.hpp"
#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// The search within a sketch: what is asked, its two curves while it runs, and its figures.
class SearchPanel : public QWidget {
  Q_OBJECT

public:
  explicit SearchPanel(QWidget* parent = nullptr);

  /// nullptr: there is no document.
  void setDesk(SketchDesk* desk);
  void fill();
  /// For the form of the sizes.
  [[nodiscard]] QSpinBox* seed() const { return m_seed; }
  [[nodiscard]] QComboBox* engine() const { return m_engine; }
  [[nodiscard]] const SearchChart& chart() const { return *m_chart; }
  [[nodiscard]] QString figures() const { return m_figures->text(); }

Q_SIGNALS:
  void startWanted();
  void stopWanted();
  /// The engine of the stages was chosen, and its solver is not there.
  void refused(const QString& why);

private:
  void chooseEngine();
  void ask();
  void showRun();
  void showCurves();

  SketchDesk* m_desk = nullptr;
  Followed m_followed;  ///< connections to the desk
  bool m_isFilling = false;
  QComboBox* m_collective;
  QComboBox* m_root;
  QComboBox* m_engine;
  QSpinBox* m_seconds;
  QSpinBox* m_seed;
  QPushButton* m_run;
  QLabel* m_figures;
  SearchChart* m_chart;
  QTimer m_timer;
};

}  // namespace coppice::designer
