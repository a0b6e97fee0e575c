// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QWidget>
#include <memory>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/run/run_data.hpp"

namespace coppice::designer {

/// Bandwidth against size for several runs, with the bound as a dashed line.
class RunChart : public QWidget {
  Q_OBJECT

public:
  struct Series {
    QString name;
    std::shared_ptr<const RunData> data;
  };
  explicit RunChart(QWidget* parent = nullptr);
  /// The first is the one in question; the others are compared with it.
  void setSeries(std::vector<Series> series);
  /// How many runs it draws.
  [[nodiscard]] int runs() const { return static_cast<int>(m_series.size()); }
  [[nodiscard]] const Plot& plot() const { return *m_plot; }

private:
  void draw();
  /// Of all series at the nearest size.
  void showValues(double bytes);

  std::vector<Series> m_series;
  QStackedWidget* m_pages;
  QComboBox* m_what;
  QComboBox* m_scale;
  Plot* m_plot;
  QLabel* m_values;
};

}  // namespace coppice::designer
