// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <optional>

namespace coppice::designer {

/// A moment of a run, which can be moved and played. Times are in nanoseconds.
class PlayClock : public QObject {
  Q_OBJECT

public:
  /// That a whole run takes at speed 1.
  static constexpr double kSecondsPerRun = 8;

  explicit PlayClock(QObject* parent = nullptr);

  /// When the run ends; 0 = there is none. The clock then stands nowhere.
  void setEnd(double end);
  [[nodiscard]] double end() const { return m_end; }
  /// Where it stands; nullopt = nothing is played.
  [[nodiscard]] const std::optional<double>& time() const { return m_time; }
  /// Kept within the run. nullopt stops it too.
  void setTime(std::optional<double> time);
  /// From the begin where it stands nowhere or at the end. Without a run, it plays the next one.
  void setPlaying(bool isPlaying);
  [[nodiscard]] bool isPlaying() const { return m_frame.isActive(); }
  void setSpeed(double speed) { m_speed = speed; }
  /// From the end on to the begin.
  void setLooped(bool isLooped) { m_isLooped = isLooped; }
  /// Moves by that much of real time, as it does by itself while it plays.
  void advance(double seconds);

Q_SIGNALS:
  void endChanged();
  void timeChanged();
  void playingChanged();

private:
  double m_end = 0;
  double m_speed = 1;
  bool m_isLooped = false;
  bool m_playsWhenKnown = false;  ///< the run is being simulated
  std::optional<double> m_time;
  QTimer m_frame;
  QElapsedTimer m_since;
};

}  // namespace coppice::designer
