// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSpinBox>
#include <QStackedWidget>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "designer/charts/plot.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// Two charts of the current schedule: what fixed numbers of trees would give (of a step schedule: which share of the
/// time each step takes), and how the loads of links spread.
/// The first is computed in the background, k by k, once the panel can be seen.
class ChartPanel : public QWidget {
  Q_OBJECT

public:
  explicit ChartPanel(QWidget* parent = nullptr);
  ~ChartPanel() override;

  void setResult(ScheduleResultPtr result);
  /// algbw by k, as far as it is known.
  [[nodiscard]] const std::vector<KValue>& values() const { return m_values; }
  [[nodiscard]] std::int64_t maxK() const { return m_maxK->value(); }
  void setMaxK(std::int64_t k) { m_maxK->setValue(static_cast<int>(k)); }

  enum class Which { treeCount, histogram };
  /// Numbers of a chart as CSV with a head line.
  [[nodiscard]] QString csv(Which which) const;
  /// ".svg" or ".png" by the name. Errors: io, badUsage (another ending).
  Outcome savePicture(Which which, const QString& path) const;

Q_SIGNALS:
  void generateWanted();
  /// "Save picture" was chosen: the owner asks where.
  void pictureWanted(Which which);

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Found {
    std::int64_t k = 0;
    std::optional<KValue> value;
    QString why;
  };
  Plot* makePlot(const QString& name, const QString& title, Which which);
  void follow();
  void receive(const Found& found);
  void drawTreeCount();
  void drawSteps();
  [[nodiscard]] QString stepsCsv() const;
  void drawHistogram();
  void draw();
  [[nodiscard]] std::vector<int> histogram() const;

  ScheduleResultPtr m_result;
  std::vector<KValue> m_values;
  QString m_why;
  std::int64_t m_ordered = 0;
  QStackedWidget* m_pages;
  QLabel* m_heading;
  QComboBox* m_unit;
  QSpinBox* m_maxK;
  QLabel* m_state;
  Plot* m_treeCount;
  Plot* m_histogram;
  LatestJob<Found> m_job;
};

}  // namespace coppice::designer
