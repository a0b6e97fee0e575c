// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "designer/charts/plot.hpp"
#include "designer/schedules/prediction.hpp"

namespace coppice::designer {

/// A schedule in a SpeedChart; its colour is that of its place in the list.
struct SpeedSeries {
  QString name;
  ScheduleResultPtr result;
  PredictionPtr prediction;  ///< null while it is not known
};

/// How fast schedules are: algbw, busbw or time against the size, on logarithmic axes, with the bound; or the limit of
/// each against its latency, with the Pareto front. A click pins a size: its values stay on the chart.
class SpeedChart : public Plot {
  Q_OBJECT

public:
  enum class What { algbw, busbw, time, latency };

  explicit SpeedChart(QWidget* parent = nullptr);

  /// @param bound GB/s of algbw
  void setSeries(std::vector<SpeedSeries> series, What what, const std::optional<Bandwidth>& bound);
  /// Those that no other one beats in both latency and limit, by index, ascending in latency.
  [[nodiscard]] std::vector<std::size_t> front() const;
  /// Indices into comparedSizes().
  [[nodiscard]] const std::set<std::size_t>& pins() const { return m_pins; }
  void togglePin(std::size_t size);
  /// Values of all series at that size, as rich text.
  [[nodiscard]] QString valuesAt(std::size_t size) const;
  /// Of the series in microseconds or GB/s; at the pinned sizes alone where there are some.
  [[nodiscard]] QString csv() const;
  /// The table of nccl-tests for each schedule, one after another.
  [[nodiscard]] QString ncclTestsText() const;

Q_SIGNALS:
  /// What the pointer is at; empty where it has left.
  void told(const QString& richText);

protected:
  void keyPressEvent(QKeyEvent* event) override;

private:
  void draw();
  void drawSizes();
  void drawLatency();
  void drawPins();
  void tell(const PlotPlace& place);
  [[nodiscard]] const simulate::Row* rowOf(std::size_t series, std::size_t size) const;
  /// GB/s or microseconds that nothing can beat; nullopt where no bound is known.
  [[nodiscard]] std::optional<double> boundAt(std::size_t size) const;
  [[nodiscard]] double valueOf(const simulate::Row& row) const;
  [[nodiscard]] QString valueText(const simulate::Row& row) const;
  [[nodiscard]] QString pointText(std::size_t series) const;

  std::vector<SpeedSeries> m_series;
  What m_what = What::algbw;
  std::optional<Bandwidth> m_bound;
  std::set<std::size_t> m_pins;
  std::optional<std::size_t> m_at;              ///< size under the pointer, or where keys went
  std::map<std::size_t, std::size_t> m_points;  ///< series of items, against latency
};

/// Time at the smallest of comparedSizes(), us; nullopt while it is not known.
[[nodiscard]] std::optional<double> latencyOf(const SpeedSeries& series);

}  // namespace coppice::designer
