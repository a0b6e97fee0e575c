// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractScrollArea>
#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "designer/run/run_data.hpp"

namespace coppice::designer {

/// Lanes of threadblocks over time. W and S zoom, A and D move, F shows all; the wheel zooms, dragging moves.
class TraceView : public QAbstractScrollArea {
  Q_OBJECT

public:
  explicit TraceView(QWidget* parent = nullptr);
  void setEvents(const std::vector<program::TraceEvent>& events);
  [[nodiscard]] int laneCount() const { return static_cast<int>(m_lanes.size()); }
  /// What is shown, in nanoseconds.
  [[nodiscard]] double from() const { return m_from; }
  [[nodiscard]] double to() const { return m_to; }

Q_SIGNALS:
  void pointed(const QString& text);

protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

private:
  struct Lane {
    int rank;
    int threadBlock;
    std::vector<program::TraceEvent> events;  ///< by start
    std::int64_t longest = 0;
  };
  void zoom(double factor, double around);
  void pan(double share);
  void showAll();
  void updateBars();
  [[nodiscard]] double timeAt(double x) const;
  [[nodiscard]] double xAt(double time) const;
  [[nodiscard]] const program::TraceEvent* eventAt(const QPointF& position) const;

  std::vector<Lane> m_lanes;
  double m_end = 1;
  double m_from = 0;
  double m_to = 1;
  QPointF m_grip;
};

/// The trace of a run: one of its sizes at a time.
class TracePanel : public QWidget {
  Q_OBJECT

public:
  explicit TracePanel(QWidget* parent = nullptr);
  void setRun(std::shared_ptr<const RunData> run);
  void follow();
  [[nodiscard]] TraceView& view() { return *m_view; }

private:
  void showTrace();

  std::shared_ptr<const RunData> m_data;
  QStackedWidget* m_pages;
  QComboBox* m_which;
  QLabel* m_text;
  TraceView* m_view;
  std::size_t m_shownEvents = 0;
};

}  // namespace coppice::designer
