// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QSet>
#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/run/connection_panel.hpp"
#include "designer/run/differences_panel.hpp"
#include "designer/run/history_panel.hpp"
#include "designer/run/live_run.hpp"
#include "designer/run/log_panel.hpp"
#include "designer/run/machine_book.hpp"
#include "designer/run/machines_panel.hpp"
#include "designer/run/results_panel.hpp"
#include "designer/run/run_chart.hpp"
#include "designer/run/run_document.hpp"
#include "designer/run/run_panel.hpp"
#include "designer/run/trace_panel.hpp"
#include "designer/workspace/prompts.hpp"

namespace coppice::designer {

struct RunOptions {
  RunEnvironment environment = {};
  bool keepsSettings = true;
  QString dataFolder = {};  ///< for runs of documents without a file; empty = the user's data folder
};

/// Run mode: owns the contents of its docks, follows the current document, starts runs and reads machines.
class RunActivity : public QObject {
  Q_OBJECT

public:
  RunActivity(Prompts& prompts, RunOptions options, QWidget* window);
  ~RunActivity() override;

  [[nodiscard]] MachineBook& machines() { return m_book; }
  [[nodiscard]] MachinesPanel* machinesPanel() const { return m_machinesPanel; }
  [[nodiscard]] RunPanel* runPanel() const { return m_runPanel; }
  [[nodiscard]] ResultsPanel* results() const { return m_results; }
  [[nodiscard]] RunChart* chart() const { return m_chart; }
  [[nodiscard]] TracePanel* trace() const { return m_trace; }
  [[nodiscard]] LogPanel* log() const { return m_log; }
  [[nodiscard]] ConnectionPanel* connection() const { return m_connectionPanel; }
  [[nodiscard]] HistoryPanel* history() const { return m_history; }
  [[nodiscard]] DifferencesPanel* differences() const { return m_differences; }

  /// nullopt on the start page.
  void setDocument(std::optional<RunDocument> document);
  /// Which box of the drawing a machine is compared with; asked when needed.
  void setChosenBox(std::function<BoxId()> chosenBox) { m_chosenBox = std::move(chosenBox); }

  /// The chosen run can start: nothing is in its way, and no machine of it runs another.
  [[nodiscard]] bool isReady() const { return m_runPanel->isReady() && runOn(m_runPanel->machines()) == nullptr; }
  /// Any run is under way.
  [[nodiscard]] bool isRunning() const;
  /// The shown run is over, and its machines are free.
  [[nodiscard]] bool canRerun() const;
  /// The run that the docks show; empty = none.
  [[nodiscard]] const QString& shownRun() const { return m_shown; }
  [[nodiscard]] const std::vector<RunInfo>& runs() const { return m_runs; }

  void start();
  /// The shown run if it is under way, else that of the chosen machines, else any.
  void stop();
  void stopRun(const QString& id);
  void rerun(const QString& id);
  void rejoin(const QString& id);
  void remove(const QString& id);
  void detect(const QString& machine);
  void compare(const QString& machine);
  /// Two fabrics side by side in the list of differences.
  void showDifferences(const QString& title, const Model& drawn, BoxId box, const Model& found);
  void chooseFile();
  void saveBundle();

Q_SIGNALS:
  void message(const QString& text);
  void stateChanged();
  /// A machine was read: the text of a .fabric.json.
  void fabricDetected(const QByteArray& text, const QString& name);
  void elementChosen(const coppice::designer::ElementId& element);
  /// Something is now in this view: "connection", "results", "differences".
  void dockWanted(const QString& id);

private:
  using Machines = std::vector<Connection*>;
  /// Connects first where that needs no question.
  void whenReady(const QStringList& machines, std::function<void(const Machines&)> then);
  void serveWaiting(const QString& changed);
  struct Choices {
    program::RunRequest request;
    QString shares;
    QString suffix;
    bool keepsRunning = false;
  };
  void startRun(const Machines& machines, const RunSubject& subject, const Choices& choices);
  LiveRun& follow(std::unique_ptr<LiveRun> run);
  /// The run of this id as far as this window follows it; nullptr = only what is kept.
  [[nodiscard]] LiveRun* live(const QString& id) const;
  /// The run under way that uses one of these machines.
  [[nodiscard]] LiveRun* runOn(const QStringList& machines) const;
  void tellBusy(const LiveRun& run);
  void show(const QString& id);
  void showLive(const LiveRun& run);
  void updateRunning();
  void refreshRuns();
  void reload();
  void probe(const QString& machine, const QString& purpose, std::function<void(QByteArray, QString)> done);
  void save(const QString& suggestion, const QByteArray& text);
  void updateChart();
  [[nodiscard]] RunInfo* find(const QString& id);
  [[nodiscard]] std::shared_ptr<RunData> dataOf(const QString& id);
  [[nodiscard]] QString folder() const;

  Prompts& m_prompts;
  QWidget* m_window;
  RunOptions m_options;
  MachineBook m_book;
  std::optional<RunDocument> m_document;
  std::function<BoxId()> m_chosenBox;
  QString m_folder;
  std::vector<RunInfo> m_runs;
  std::map<QString, std::shared_ptr<RunData>> m_data;
  std::map<QString, std::unique_ptr<LiveRun>> m_live;  ///< at most one under way for each machine
  QString m_shown;
  /// Something to do when all these machines are connected.
  struct Waiting {
    QStringList machines;
    std::function<void(const Machines&)> then;
  };
  std::vector<Waiting> m_waiting;
  QSet<QString> m_troubled;  ///< machines whose last message was that of a failure
  LatestJob<std::shared_ptr<const Result<Captured>>> m_probe;
  std::function<void(const Result<Captured>&)> m_onProbed;
  QTimer m_beat;

  MachinesPanel* m_machinesPanel;
  RunPanel* m_runPanel;
  struct FileFacts {
    QString key;
    std::optional<workflow::ScheduleFacts> facts;
  };
  LatestJob<std::shared_ptr<const FileFacts>> m_fileJob;
  ResultsPanel* m_results;
  RunChart* m_chart;
  TracePanel* m_trace;
  LogPanel* m_log;
  ConnectionPanel* m_connectionPanel;
  HistoryPanel* m_history;
  DifferencesPanel* m_differences;
};

}  // namespace coppice::designer
