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

/// A chart of the current schedule: what fixed numbers of trees would give (of a step schedule: which share of the time
/// each step takes), or how the loads of links spread.
/// The first is computed in the background, k by k, once the panel can be seen.
class ChartPanel : public QWidget {
  Q_OBJECT

public:
  enum class Which { treeCount, histogram };
  explicit ChartPanel(Which which, QWidget* parent = nullptr);
  ~ChartPanel() override;

  void setResult(ScheduleResultPtr result);
  /// algbw by k, as far as it is known.
  [[nodiscard]] const std::vector<KValue>& values() const { return m_values; }
  [[nodiscard]] std::int64_t maxK() const { return m_maxK->value(); }
  void setMaxK(std::int64_t k) { m_maxK->setValue(static_cast<int>(k)); }

  /// The numbers as CSV with a head line.
  [[nodiscard]] QString csv() const;
  /// ".svg" or ".png" by the name. Errors: io, badUsage (another ending).
  Outcome savePicture(const QString& path) const;

Q_SIGNALS:
  void generateWanted();
  /// "Save picture" was chosen: the owner asks where.
  void pictureWanted();

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Found {
    std::int64_t k = 0;
    std::optional<KValue> value;
    QString why;
  };
  void setUpPlot(const QString& name, const QString& title);
  void follow();
  void receive(const Found& found);
  void drawTreeCount();
  void drawSteps();
  [[nodiscard]] QString stepsCsv() const;
  void drawHistogram();
  void draw();
  [[nodiscard]] bool isHistogram() const { return m_which == Which::histogram; }
  [[nodiscard]] std::vector<int> histogram() const;

  Which m_which;
  ScheduleResultPtr m_result;
  std::vector<KValue> m_values;
  QString m_why;
  std::int64_t m_ordered = 0;
  QStackedWidget* m_pages;
  QLabel* m_heading;
  QComboBox* m_unit;
  QSpinBox* m_maxK;
  QLabel* m_state;
  Plot* m_plot;
  LatestJob<Found> m_job;
};

}  // namespace coppice::designer
