// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractScrollArea>
#include <optional>
#include <set>
#include <vector>

#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// The threadblocks of one rank as lanes of steps, from left to right in the order of their rounds, with an arrow for
/// each flag that one waits for. A click chooses a step.
class BlockView : public QAbstractScrollArea {
  Q_OBJECT

public:
  explicit BlockView(QWidget* parent = nullptr);

  void setReading(ProgramReadingPtr reading);
  void setRank(int rank);
  [[nodiscard]] int rank() const { return m_rank; }
  /// Steps that serve one of them stand out.
  void setTrees(std::set<TreeRef> trees);
  void setCurrent(std::optional<program::StepPlace> place);
  /// Flags that are drawn as arrows.
  [[nodiscard]] int arrowCount() const { return static_cast<int>(m_arrows.size()); }
  [[nodiscard]] QRect boxOf(const program::StepPlace& place) const;

Q_SIGNALS:
  void chosen(const coppice::program::StepPlace& place);

protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

private:
  void arrange();
  void updateBars();
  void bringIntoView();
  [[nodiscard]] std::optional<program::StepPlace> stepAt(const QPoint& position) const;
  void paintStep(QPainter& painter, const program::StepPlace& place) const;
  void paintArrows(QPainter& painter) const;

  ProgramReadingPtr m_reading;
  int m_rank = 0;
  std::optional<program::StepPlace> m_current;
  std::set<TreeRef> m_trees;
  std::set<program::StepPlace> m_faulty;
  std::vector<std::vector<int>> m_columns;  ///< by threadblock and step
  int m_columnCount = 0;
  struct Arrow {
    program::StepPlace from;
    program::StepPlace to;
  };
  std::vector<Arrow> m_arrows;
};

}  // namespace coppice::designer
