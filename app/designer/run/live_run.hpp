// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFile>
#include <QObject>
#include <QPointer>
#include <QProcess>
#include <QTimer>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/run/connection.hpp"
#include "designer/run/run_data.hpp"
#include "designer/run/run_store.hpp"
#include "remote/run_watch.hpp"
#include "remote/send_run.hpp"

namespace coppice::designer {

/// A run under way on a connected machine or over several, or one that is joined again. What it says is kept in its
/// folder as it comes. Destruction leaves the machine: a run that ends with the window then ends, one that keeps
/// running continues.
class LiveRun : public QObject {
  Q_OBJECT

public:
  /// @param others  machines that the run is over besides; it starts on the first
  LiveRun(RunInfo info, Connection& connection, const std::vector<Connection*>& others = {}, QObject* parent = nullptr);
  ~LiveRun() override;

  [[nodiscard]] const RunInfo& info() const { return m_info; }
  [[nodiscard]] const RunData& data() const { return *m_data; }
  [[nodiscard]] std::shared_ptr<RunData> sharedData() const { return m_data; }
  [[nodiscard]] RunState state() const { return m_info.state; }
  [[nodiscard]] bool isCancelling() const { return m_isCancelling; }
  /// Neither ended nor lost.
  [[nodiscard]] bool isUnderWay() const {
    return m_info.state == RunState::running || m_info.state == RunState::preparing;
  }
  /// No line for so long that the connection may be gone.
  [[nodiscard]] bool isSilent() const;

  /// Copies job and schedule there and starts. @pre the connection is ready
  void start();
  /// Shows a run that was left, from its beginning. @pre the connection is ready
  void rejoin();
  /// The run and all its processes end; the last records still come.
  void cancel();

Q_SIGNALS:
  /// Something new was said; at most every 50 ms.
  void advanced();
  void stateChanged();

private:
  [[nodiscard]] remote::Limits limits() const;
  /// For a terminal; empty = the run is here.
  [[nodiscard]] QString attachCommand() const;
  /// Whether all machines are connected; then they have seats.
  bool takeSeats();
  void onSent(const Outcome& sent);
  void dropFolders();
  void launch(const QString& command);
  void tick();
  void read();
  void processEnded();
  void setState(RunState state, const QString& reason = {});
  void openFiles();
  void keepFiles();

  RunInfo m_info;
  QPointer<Connection> m_connection;
  std::vector<QPointer<Connection>> m_others;
  std::vector<remote::Seat> m_seats;
  LatestJob<Outcome> m_sending;
  std::stop_source m_stopSending;
  std::shared_ptr<RunData> m_data;
  QProcess* m_process = nullptr;
  QFile m_records;
  QFile m_log;
  qint64 m_kept = 0;
  bool m_isCancelling = false;
  bool m_isRejoining = false;
  QTimer m_tell;
  QTimer m_tick;
  std::optional<remote::RunWatch> m_watch;
};

}  // namespace coppice::designer
