// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QStringList>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/palette/entries.hpp"

namespace coppice::designer {

/// The bound of a template over the values of one of its parameters, as a chart: boxes, rates, oversubscription.
/// Computed in the background, value by value. Runs that were measured on as many GPUs stand beside it.
class SweepDialog : public QDialog {
  Q_OBJECT

public:
  using Arguments = std::map<std::string, std::string>;
  /// @param fixed the other parameters
  SweepDialog(PaletteEntry entry, Arguments fixed, QWidget* parent = nullptr);

  struct Point {
    QString value;
    QString why = {};  ///< why there is no bound
    std::optional<Bandwidth> bound = {};
    int gpus = 0;
  };
  [[nodiscard]] const std::vector<Point>& points() const { return m_points; }
  /// Nothing is left to compute.
  [[nodiscard]] bool isSettled() const { return m_points.size() == static_cast<std::size_t>(m_values.size()); }
  [[nodiscard]] QString csv() const;

private:
  void propose();
  void restart();
  void computeNext();
  void draw();
  void drawMeasured(const QList<QPointF>& line, const std::vector<std::size_t>& which);
  [[nodiscard]] Collective collective() const;

  PaletteEntry m_entry;
  Arguments m_fixed;
  QStringList m_values;
  std::vector<Point> m_points;  ///< of the first values
  QComboBox* m_parameter;
  QLineEdit* m_list;
  QComboBox* m_collective;
  Plot* m_plot;
  QLabel* m_state;
  LatestJob<std::shared_ptr<const Point>> m_job;
};

}  // namespace coppice::designer
