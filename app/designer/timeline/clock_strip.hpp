// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "designer/timeline/play_clock.hpp"

namespace coppice::designer {

/// The time of a clock as a strip: for each run a row with its rate over time, and a line where the clock stands. A
/// click or a drag moves the clock; so do Left, Right, Home and End. Space plays.
class ClockStrip : public QWidget {
  Q_OBJECT

public:
  struct Row {
    QString name;               ///< a letter or two
    double end = 0;             ///< ns
    std::vector<double> rates;  ///< of equal parts from 0 to the end, any unit
  };

  /// The clock must outlive the strip.
  explicit ClockStrip(PlayClock& clock, QWidget* parent = nullptr);

  /// All rows have one scale of time, and one of rates.
  void setRows(std::vector<Row> rows);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
  /// [ and ]: -1 and 1.
  void stepWanted(int direction);

protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

private:
  void paintRow(QPainter& painter, const Row& row, int index, const QRectF& place) const;
  void moveTo(double x);
  [[nodiscard]] double xAt(double time) const;

  PlayClock& m_clock;
  std::vector<Row> m_rows;
  double m_max = 0;  ///< of all rates
};

}  // namespace coppice::designer
