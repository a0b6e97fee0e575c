// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractScrollArea>
#include <QString>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace coppice::designer {

/// One interval of a lane.
struct TimelineBar {
  double begin = 0;         ///< ns
  double end = 0;           ///< ns, not before begin
  int category = 0;         ///< gives the colour: one of many, as in mutedHue()
  int number = 0;           ///< on a wide bar
  std::uint32_t item = 0;   ///< of the owner
  bool isCritical = false;  ///< on the critical path: framed, and joined with the next one
  std::uint8_t wait = 0;    ///< of the owner: why it began no earlier, where it is critical
};

struct TimelineLane {
  QString name;
  std::vector<TimelineBar> bars;
  bool beginsGroup = false;  ///< a stronger line above it
  int source = 0;            ///< of the owner: which of its runs the items are from
};

/// Lanes with what the view has to know of them. Making it costs a look at every bar, for any thread.
struct TimelineLanes {
  /// One word for a TimelineBar::wait.
  using WaitName = const char* (*)(std::uint8_t wait);

  TimelineLanes() = default;
  /// Sorts the bars of each lane.
  explicit TimelineLanes(std::vector<TimelineLane> all, WaitName waitName = nullptr);

  struct PathBar {
    std::size_t lane = 0;
    double begin = 0;
    double end = 0;
    const char* wait = "";
  };
  std::vector<TimelineLane> lanes;
  /// Makes the bars of a lane, by begin, where the lanes have none of their own: only those that are seen have them.
  std::function<std::vector<TimelineBar>(std::size_t lane)> barsOf;
  std::vector<double> longest;              ///< by lane: its longest bar, or more
  std::vector<std::vector<PathBar>> paths;  ///< critical path of each run, by begin: each item in its first lane
  double end = 0;                           ///< of the last bar
};

/// Lanes of intervals over time, as in Perfetto: W and S zoom, A and D move, F shows all; the wheel zooms, dragging
/// moves, Shift with dragging measures, a click sets the cursor. Several bars on one pixel are drawn as one, so that a
/// million of them stay smooth.
class TimelineView : public QAbstractScrollArea {
  Q_OBJECT

public:
  explicit TimelineView(QWidget* parent = nullptr);

  /// @param end of the time axis, ns; the last bar's end where that is later
  void setLanes(TimelineLanes lanes, double end = 0);
  /// What stands in the middle while there are no lanes.
  void setMessage(const QString& message);
  void setLanes(std::vector<TimelineLane> lanes, double end = 0) { setLanes(TimelineLanes(std::move(lanes)), end); }
  [[nodiscard]] const std::vector<TimelineLane>& lanes() const { return m_shown.lanes; }
  /// Bars that the line of the critical path joins, of all runs.
  [[nodiscard]] std::size_t pathLength() const;
  [[nodiscard]] int laneCount() const { return static_cast<int>(m_shown.lanes.size()); }
  /// Pixels in which all lanes can be seen.
  [[nodiscard]] int heightForAll() const;
  /// What is shown, in nanoseconds.
  [[nodiscard]] double from() const { return m_from; }
  [[nodiscard]] double to() const { return m_to; }
  [[nodiscard]] double end() const { return m_end; }
  /// A vertical line; nullopt = none. It stays in view.
  void setCursor(std::optional<double> time);
  /// That was measured last.
  [[nodiscard]] const std::optional<std::pair<double, double>>& range() const { return m_range; }

Q_SIGNALS:
  /// The bar under the pointer; nullptr where there is none. Valid until the lanes change.
  void pointed(const coppice::designer::TimelineLane* lane, const coppice::designer::TimelineBar* bar);
  void cursorMoved(double time);
  /// begin = end: the measurement has ended.
  void rangeChosen(double begin, double end);
  /// [ and ]: -1 and 1.
  void stepWanted(int direction);
  /// Space.
  void playWanted();

protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

private:
  void zoom(double factor, double around);
  void pan(double share);
  void showAll();
  void updateBars();
  /// With its bars.
  [[nodiscard]] const TimelineLane& lane(std::size_t at) const;
  void measure(double x);
  void paintHead(QPainter& painter) const;
  void paintLane(QPainter& painter, int at, double y) const;
  void paintPath(QPainter& painter) const;
  void paintBars(QPainter& painter, const TimelineLane& lane, double longest, double y) const;
  void paintCursor(QPainter& painter) const;
  [[nodiscard]] double timeAt(double x) const;
  [[nodiscard]] double xAt(double time) const;
  [[nodiscard]] std::pair<const TimelineLane*, const TimelineBar*> barAt(const QPointF& position) const;

  mutable TimelineLanes m_shown;
  mutable std::vector<std::size_t> m_filled;  ///< lanes whose bars barsOf made, the oldest first
  QString m_message;
  double m_end = 1;
  double m_from = 0;
  double m_to = 1;
  std::optional<double> m_cursor;
  std::optional<std::pair<double, double>> m_range;
  QPointF m_grip;
  QPointF m_pressed;
  bool m_isMeasuring = false;
};

}  // namespace coppice::designer
