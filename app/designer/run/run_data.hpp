// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "program/run_protocol.hpp"

namespace coppice::designer {

/// One size of the table: out of place and in place, as nccl-tests prints them.
struct ResultRow {
  qint64 size = 0;
  std::optional<program::ResultRecord> outOfPlace;
  std::optional<program::ResultRecord> inPlace;

  /// Whichever there is. @pre one of them
  [[nodiscard]] const program::ResultRecord& any() const { return outOfPlace ? *outOfPlace : *inPlace; }
};

struct LogLine {
  Severity severity = Severity::note;
  QString source;
  QString text;
};

/// Everything a run has said so far. Fed with bytes as they arrive, from a machine that is trusted with nothing: lines
/// may be endless, wrong or of another version, and there may be no end of them.
class RunData {
public:
  /// Standard output: records. Returns the lines that were taken, to be kept.
  QByteArray feedRecords(const QByteArray& bytes);
  /// Standard error: text.
  void feedLog(const QByteArray& bytes);
  /// A line of our own in the log.
  void note(Severity severity, const QString& text);

  [[nodiscard]] const std::optional<program::HelloRecord>& hello() const { return m_hello; }
  [[nodiscard]] const std::optional<program::EnvRecord>& environment() const { return m_environment; }
  [[nodiscard]] const std::optional<program::PlanRecord>& plan() const { return m_plan; }
  [[nodiscard]] const std::optional<program::ProgressRecord>& progress() const { return m_progress; }
  [[nodiscard]] const QString& stage() const { return m_stage; }
  /// By size, in the order of their coming.
  [[nodiscard]] const std::vector<ResultRow>& rows() const { return m_rows; }
  [[nodiscard]] const std::vector<program::WrongRecord>& wrong() const { return m_wrong; }
  [[nodiscard]] const std::optional<program::StuckRecord>& stuck() const { return m_stuck; }
  [[nodiscard]] const std::vector<program::ErrorRecord>& errors() const { return m_errors; }
  [[nodiscard]] const std::optional<program::SummaryRecord>& summary() const { return m_summary; }
  [[nodiscard]] const std::optional<program::EndRecord>& end() const { return m_end; }
  /// The last lines; `forgotten` of them are gone.
  [[nodiscard]] const std::deque<LogLine>& log() const { return m_log; }
  [[nodiscard]] qint64 forgottenLines() const { return m_forgotten; }
  /// Traced sizes: (bytes, in place), and their events in the order of their coming.
  using TraceKey = std::pair<qint64, bool>;
  [[nodiscard]] const std::map<TraceKey, std::vector<program::TraceEvent>>& traces() const { return m_traces; }
  [[nodiscard]] qint64 droppedEvents() const { return m_dropped; }
  /// Not empty: nothing more is taken, for this reason (another protocol, nothing but noise).
  [[nodiscard]] const QString& refusal() const { return m_refusal; }
  [[nodiscard]] int unreadableLines() const { return m_unreadable; }
  /// The other side is alive: any line counts.
  [[nodiscard]] qint64 linesSeen() const { return m_lines; }
  /// Grows with every change.
  [[nodiscard]] qint64 revision() const { return m_revision; }

private:
  /// Whether the line is to be kept.
  bool take(const QByteArray& line);
  void takeResult(program::ResultRecord result);
  void takeTrace(const program::TraceRecord& trace);

  QByteArray m_line;
  bool m_isLineTooLong = false;
  QByteArray m_logLine;
  std::optional<program::HelloRecord> m_hello;
  std::optional<program::EnvRecord> m_environment;
  std::optional<program::PlanRecord> m_plan;
  std::optional<program::ProgressRecord> m_progress;
  QString m_stage;
  std::vector<ResultRow> m_rows;
  std::vector<program::WrongRecord> m_wrong;
  std::optional<program::StuckRecord> m_stuck;
  std::vector<program::ErrorRecord> m_errors;
  std::optional<program::SummaryRecord> m_summary;
  std::optional<program::EndRecord> m_end;
  std::deque<LogLine> m_log;
  qint64 m_forgotten = 0;
  std::map<TraceKey, std::vector<program::TraceEvent>> m_traces;
  std::size_t m_events = 0;
  qint64 m_dropped = 0;
  QString m_refusal;
  int m_unreadable = 0;
  qint64 m_lines = 0;
  qint64 m_revision = 0;
};

/// Why the times of this run say nothing about the fabric (all ranks in one process, shared memory), as a sentence;
/// empty where they do, so that shares of the bound can be shown.
[[nodiscard]] QString noBoundReason(const RunData& data);

/// The table as nccl-tests prints it.
[[nodiscard]] QString ncclTestsText(const RunData& data);
[[nodiscard]] QString csvText(const RunData& data);
/// One object: environment, plan, results.
[[nodiscard]] QByteArray jsonText(const RunData& data);

}  // namespace coppice::designer
