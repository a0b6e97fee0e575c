// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QString>
#include <QTableWidget>
#include <QToolButton>
#include <QWidget>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "designer/compare/speed_chart.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/compared_schedule.hpp"
#include "designer/schedules/prediction.hpp"

namespace coppice::designer {

/// The dock "Compare": the schedules of one collective with their exact figures and their predicted speed by size. They
/// are simulated in the background, one after the other, once the panel can be seen. Runs have the speed that was
/// measured, and take no part in which is fastest.
class ComparePanel : public QWidget {
  Q_OBJECT

public:
  enum Column { kName, kBound, kAlgbw, kSteps, kAtSize, kFastest, kColumns };

  explicit ComparePanel(QWidget* parent = nullptr);
  ~ComparePanel() override;

  /// All of one collective. @param current of the book
  void setSchedules(std::vector<ComparedSchedule> schedules, int current);
  /// Of the schedule in that row; nullptr while it is not known.
  [[nodiscard]] const Prediction* predictionOf(int row) const;
  /// "1 KiB to 64 KiB, from 16 MiB": where no other schedule of the list is faster. Empty where there is no such size.
  [[nodiscard]] QString fastestSizes(int row) const;
  [[nodiscard]] const std::vector<ComparedSchedule>& schedules() const { return m_schedules; }
  [[nodiscard]] QTableWidget& table() { return *m_table; }
  /// Ids of the two that are chosen in the table, the upper one first; of the one that is chosen and, among the others,
  /// the one with the highest limit. nullopt: there are not two.
  [[nodiscard]] std::optional<std::pair<int, int>> pair() const;
  [[nodiscard]] SpeedChart& chart() { return *m_chart; }
  /// Nothing waits to be simulated.
  [[nodiscard]] bool isSettled() const;

Q_SIGNALS:
  void generateWanted();
  /// The fastest for each band of sizes is to be exported.
  void planWanted();
  /// The pair() is to be drawn side by side.
  void sideBySideWanted();
  /// The chart is to be saved as a picture; the owner asks where.
  void pictureWanted();
  /// A row was chosen, and no other.
  void chosen(int id);

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Answer {
    ScheduleResultPtr result;
    PredictionPtr prediction;
  };
  /// nullptr while it is not known.
  [[nodiscard]] PredictionPtr knownOf(const ComparedSchedule& schedule) const;
  QWidget* makeBody();
  void setUpTable();
  void predictNext();
  /// From scratch: the assumptions of the simulation have changed.
  void predictAgain();
  void submit(const ScheduleResultPtr& result);
  void receive(const Answer& answer);
  void fill();
  void fillRow(int row);
  void draw();
  void tell(const QString& richText);
  [[nodiscard]] SpeedChart::What what() const;
  [[nodiscard]] std::set<int> selectedRows() const;
  /// The largest that any of the schedules knows: that of an allreduce forest is the bound of its two halves.
  [[nodiscard]] std::optional<Bandwidth> commonBound() const;
  [[nodiscard]] QString boundTip() const;
  [[nodiscard]] QString shareOfBound(const ScheduleResult& result) const;

  std::vector<ComparedSchedule> m_schedules;
  std::map<const ScheduleResult*, PredictionPtr> m_predictions;  ///< simulated, of the schedules above
  int m_current = 0;
  bool m_isFilling = false;
  QStackedWidget* m_pages;
  QComboBox* m_what;
  QComboBox* m_size;
  QLabel* m_values;
  QToolButton* m_copy;
  QToolButton* m_sides;
  QToolButton* m_plan;
  QTableWidget* m_table;
  QToolButton* m_more;
  SpeedChart* m_chart;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
