// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QWidget>
#include <functional>
#include <optional>
#include <vector>

#include "designer/run/machine_book.hpp"
#include "designer/run/run_document.hpp"
#include "program/run_job.hpp"
#include "workflow/schedule_facts.hpp"

namespace coppice::designer {

/// The choices of a run, and whether all is ready for it.
class RunPanel : public QWidget {
  Q_OBJECT

public:
  RunPanel(MachineBook& book, QWidget* parent = nullptr);

  /// One, or several for a run over all of them.
  void setMachines(const QStringList& ids);
  void setSchedules(const std::vector<RunnableSchedule>& schedules, const QString& currentKey);
  /// A file beside those of the document; becomes the chosen one.
  void addFile(const RunnableSchedule& schedule);
  /// What a file turned out to hold; nothing where it has been removed since.
  void setFileFacts(const QString& key, const workflow::ScheduleFacts& facts);
  /// A run is under way: Stop instead of Run.
  void setRunning(bool isRunning, bool isCancelling);

  [[nodiscard]] const QStringList& machines() const { return m_machines; }
  /// Ranks of each of several machines, "3,1"; empty = even shares.
  [[nodiscard]] QString shares() const;
  /// nullptr if none is chosen.
  [[nodiscard]] const RunnableSchedule* schedule() const;
  [[nodiscard]] program::RunRequest request() const;
  [[nodiscard]] bool keepsRunning() const { return m_keeps->currentIndex() == 1; }
  /// Nothing is in the way.
  [[nodiscard]] bool isReady() const { return m_isReady; }
  /// The first thing that does.
  [[nodiscard]] QString obstacle() const { return m_obstacle; }

Q_SIGNALS:
  void runWanted();
  void stopWanted();
  void fileWanted();
  void bundleWanted();
  void readyChanged();

private:
  // ---- built once, by the constructor
  /// Machine, schedule, backend and processes.
  void makeTarget(QWidget* content);
  void makeSizes(QWidget* content);
  void makeSettings(QWidget* content);
  void makePreflight(QWidget* content);
  void makeForm(QWidget* content);
  QLayout* makeButtons();
  void connectChoices();

  void refresh();
  void fillBackends();
  void fillSchedules();
  void check();
  using Note = std::function<void(bool isGood, const QString& text, bool isBlocking)>;
  void checkMachine(const Note& add) const;
  void checkSeveral(const Note& add) const;
  void checkSchedule(const Note& add) const;
  void checkEnvironment(const program::RunRequest& wanted, const Note& add) const;
  void suggestShares();
  void showPreflight();

  MachineBook& m_book;
  QStringList m_machines{QStringLiteral("local")};
  std::vector<RunnableSchedule> m_schedules;
  std::vector<RunnableSchedule> m_files;
  QLabel* m_machineText;
  QComboBox* m_schedule;
  QComboBox* m_backend;
  QComboBox* m_launch;
  QLineEdit* m_hosts;
  QLineEdit* m_shares;
  QComboBox* m_partition;
  QLineEdit* m_from;
  QLineEdit* m_to;
  QLineEdit* m_factor;
  QSpinBox* m_iterations;
  QSpinBox* m_warmup;
  QComboBox* m_type;
  QComboBox* m_operation;
  QCheckBox* m_checks;
  QCheckBox* m_traces;
  QComboBox* m_keeps;
  QListWidget* m_preflight;
  QPushButton* m_run;
  QToolButton* m_stop;
  QFormLayout* m_form;
  bool m_isReady = false;
  bool m_isRunning = false;
  bool m_isCancelling = false;
  QString m_obstacle;
};

}  // namespace coppice::designer
