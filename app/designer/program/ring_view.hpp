// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <QWidget>
#include <optional>
#include <vector>

#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// The ring of a deadlock: its steps in a circle, with an arrow from each to the one that it waits for. A click
/// chooses a step. A long ring leaves out its middle.
class RingView : public QWidget {
  Q_OBJECT

public:
  explicit RingView(QWidget* parent = nullptr);

  void setReading(ProgramReadingPtr reading);
  void setCurrent(std::optional<program::StepPlace> place);
  /// How many steps are drawn.
  [[nodiscard]] int drawn() const { return static_cast<int>(shown().size()); }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
  void chosen(const coppice::program::StepPlace& place);

protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

private:
  /// Indices into the ring; -1 stands for those that are left out.
  [[nodiscard]] std::vector<int> shown() const;
  [[nodiscard]] QRectF boxOf(int at, int count) const;
  [[nodiscard]] const std::vector<verify::RingStep>* ring() const;

  ProgramReadingPtr m_reading;
  std::optional<program::StepPlace> m_current;
};

}  // namespace coppice::designer
