// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QWidget>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>
#include <memory>
#include <vector>

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
  [[nodiscard]] QChart& chart() { return *m_chart; }

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void rebuild();
  void styleChart();
  void hover(const QPointF& position);

  std::vector<Series> m_series;
  QStackedWidget* m_pages;
  QComboBox* m_what;
  QComboBox* m_scale;
  QChart* m_chart;
  QChartView* m_view;
  QLabel* m_values;
  bool m_hasPoints = false;
};

}  // namespace coppice::designer
