// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>
#include <cstddef>
#include <map>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/prediction.hpp"
#include "designer/search/front_search.hpp"
#include "workflow/compare.hpp"

namespace coppice::designer {

/// Simulated time against size of the schedules of a front, on logarithmic axes, and from which size on each is the
/// fastest. They are simulated in the background, one after the other, once the chart can be seen.
class SizeChart : public QWidget {
  Q_OBJECT

public:
  /// The search must outlive the chart.
  explicit SizeChart(const FrontSearch& search, QWidget* parent = nullptr);
  ~SizeChart() override;

  void refresh();
  /// "(2, 2, 3) below 256 KiB, (6, 3, 7) from 256 KiB". Empty while it is not known.
  [[nodiscard]] QString switchOvers() const;
  /// Lines that are drawn.
  [[nodiscard]] int lineCount() const;
  /// Nothing waits to be simulated or compared.
  [[nodiscard]] bool isSettled() const;

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Answer {
    ScheduleResultPtr result;
    PredictionPtr prediction;
  };
  /// What is fastest from which size on, among these schedules.
  struct Bands {
    std::vector<ScheduleResultPtr> among;
    std::vector<workflow::Band> bands;  ///< contenders as in `among`
    QString problem;                    ///< why there are none
  };
  void predictNext();
  void compareAll();
  void draw();
  void drawLines();
  [[nodiscard]] std::vector<ScheduleResultPtr> results() const;
  [[nodiscard]] const Prediction* predictionOf(std::size_t candidate) const;

  const FrontSearch& m_search;
  std::vector<std::size_t> m_front;  ///< candidates that have been measured
  std::map<const ScheduleResult*, Answer> m_predictions;
  QLabel* m_text;
  Plot* m_plot;
  Bands m_bands;
  LatestJob<Answer> m_job;
  LatestJob<Bands> m_comparer;
};

}  // namespace coppice::designer
