// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableWidget>
#include <QTimer>
#include <functional>
#include <memory>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/compared_schedule.hpp"
#include "designer/schedules/job_progress.hpp"

namespace coppice::designer {

/// The fastest of some schedules for each band of sizes, written as a set of programs with their windows and plan.json.
/// Works in the background; closing stops it.
class PlanDialog : public QDialog {
  Q_OBJECT

public:
  /// Asks for a folder that exists; empty = cancelled.
  using AskFolder = std::function<QString(const QString& folder)>;
  enum Column { kSizes, kSchedule, kFile, kColumns };

  PlanDialog(std::vector<ComparedSchedule> schedules, const QString& folder, AskFolder askFolder,
             QWidget* parent = nullptr);
  ~PlanDialog() override;

  [[nodiscard]] bool isWorking() const { return m_job.isRunning(); }

Q_SIGNALS:
  /// Files were written.
  void written(const QString& folder);

private:
  struct Row {
    QString sizes;
    QString exactSizes;
    QString schedule;
    QString file;
  };
  struct Answer {
    QString folder;
    std::vector<Row> rows;
    QStringList refused;  ///< the fastest somewhere, but not as a program of this runtime; with the reason
    QString fault;        ///< empty where files were written
  };
  [[nodiscard]] static Answer makePlan(const std::vector<ComparedSchedule>& schedules, const QString& folder,
                                       std::int64_t first, std::int64_t last, int runtime, const Progress& progress);
  void layOut();
  void start();
  void stop();
  void receive(const Answer& answer);
  void updateWidgets();

  std::vector<ComparedSchedule> m_schedules;
  AskFolder m_askFolder;
  QComboBox* m_runtime;
  QComboBox* m_first;
  QComboBox* m_last;
  QLineEdit* m_folder;
  QPushButton* m_browse;
  QStackedWidget* m_list;  ///< a hint, then the table
  QTableWidget* m_table;
  QLabel* m_state;
  QProgressBar* m_progress;
  QPushButton* m_export;
  QPushButton* m_close;
  QTimer m_timer;
  std::shared_ptr<JobProgress> m_shared;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
