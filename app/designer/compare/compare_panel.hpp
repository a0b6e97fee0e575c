// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
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
#include "designer/theme/seen.hpp"

namespace coppice::designer {

/// The dock "Compare": the schedules of one collective with their exact figures and their predicted speed by size. They
/// are simulated in the background while the panel can be seen: the chosen size of each schedule first, then the
/// others. Runs have the speed that was measured, and take no part in which is fastest.
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
  [[nodiscard]] bool isSimulating() const { return m_running != nullptr; }
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

private:
  struct Answer {
    ScheduleResultPtr result;
    PredictionPtr prediction;
  };
  /// One simulation.
  struct Task {
    ScheduleResultPtr result;
    std::int64_t size = 0;
  };
  /// nullptr while it is not known.
  [[nodiscard]] PredictionPtr knownOf(const ComparedSchedule& schedule) const;
  QWidget* makeBody();
  void setUpTable();
  void predictNext();
  /// What is simulated next: nothing where all is known, or where the user has stopped it.
  [[nodiscard]] std::optional<Task> nextTask() const;
  void stop();
  /// From scratch: the assumptions of the simulation have changed.
  void predictAgain();
  void submit(const Task& task);
  void showProgress();
  void receive(const Answer& answer);
  void fill();
  void fillRow(int row);
  void draw();
  void tell(const QString& richText);
  /// That some figures are of a part of the trees; empty where none is.
  [[nodiscard]] QString sampleText() const;
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
  bool m_isStopped = false;  ///< by the user; a new list or size goes on
  /// Of the schedule that was simulated last: its messages need not be made again for the next size.
  std::shared_ptr<Predictor> m_predictor;
  ScheduleResultPtr m_running;  ///< that m_job simulates
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
  QWidget* m_progressRow;
  QProgressBar* m_progress;
  QPushButton* m_stop;
  Seen m_seen;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
