// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QTableWidget>
#include <QTimer>
#include <memory>
#include <vector>

#include "designer/frontier/frontier_chart.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/job_progress.hpp"
#include "designer/schedules/option_form.hpp"

namespace coppice::designer {

/// What networks cost that join boxes, and what they reach. Not modal: it stays open beside the fabrics that it opens,
/// and follows every change of its fields.
class FrontierDialog : public QDialog {
  Q_OBJECT

public:
  explicit FrontierDialog(QWidget* parent = nullptr);

  [[nodiscard]] OptionForm& form() { return *m_form; }
  [[nodiscard]] QTableWidget& table() { return *m_table; }
  [[nodiscard]] FrontierChart& chart() { return *m_chart; }
  [[nodiscard]] const FrontierAnswerPtr& answer() const { return m_answer; }
  /// Index of the chosen network among the points; -1 = none.
  [[nodiscard]] int chosen() const;
  /// What is shown is of the fields as they are.
  [[nodiscard]] bool isSettled() const { return !m_job.isRunning() && !m_wait.isActive(); }
  void search();
  void done(int result) override;

Q_SIGNALS:
  void openWanted(const coppice::fabric::Description& description, const QString& name);
  /// @param suggestion name of the file
  void saveWanted(const QString& suggestion, const std::string& text);

protected:
  void showEvent(QShowEvent* event) override;

private:
  [[nodiscard]] QWidget* makeAsked();
  [[nodiscard]] QWidget* makeAnswer();
  void connectAll();
  void receive(const FrontierAnswerPtr& answer);
  void fill();
  void showChosen();
  void refresh();
  void open();
  void save(bool areCables);
  void choose(int point);

  FrontierAnswerPtr m_answer;
  std::vector<int> m_rows;  ///< point of each row of the table
  std::shared_ptr<JobProgress> m_progress;
  OptionForm* m_form;
  QComboBox* m_cost;
  QComboBox* m_gain;
  QCheckBox* m_isAll;
  FrontierChart* m_chart;
  QTableWidget* m_table;
  QLabel* m_bill;
  QLabel* m_state;
  QProgressBar* m_bar;
  QPushButton* m_stop;
  QPushButton* m_open;
  QPushButton* m_saveBill;
  QPushButton* m_saveCables;
  QTimer m_wait;  ///< until no more is typed
  QTimer m_tick;
  LatestJob<FrontierAnswerPtr> m_job;
};

}  // namespace coppice::designer
