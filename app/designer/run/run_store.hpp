// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QDateTime>
#include <QString>
#include <QStringList>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "designer/run/run_data.hpp"
#include "program/run_job.hpp"

namespace coppice::designer {

/// What is run: a schedule with the fabric it was made for.
struct RunSubject {
  QString document;      ///< its name
  QString scheduleName;  ///< for a person
  QByteArray schedule;   ///< the file: MSCCL XML or .forest.json
  QByteArray fabric;     ///< .fabric.json; empty = not known
};

/// How a run went.
enum class RunState { preparing, running, lost, ended };

/// What `run.json` says.
struct RunInfo {
  QString id;
  QString folder;             ///< where it is kept here
  QString machineId;          ///< where it starts
  QStringList otherMachines;  ///< ids of those that it runs over besides
  QString shares;             ///< ranks of each, "3,1"; empty = even
  QString machine;            ///< for a person
  QString document;
  QString scheduleName;
  QString scheduleFile;  ///< within the folder
  QDateTime started;
  RunState state = RunState::preparing;
  int code = -1;              ///< program::RunExit, once ended
  QString reason;             ///< why it ended
  bool keepsRunning = false;  ///< outlives the window
  program::RunRequest request;

  /// "allgather on node1, 10:42" and the like.
  [[nodiscard]] QString title() const;
  /// Ids, the first first.
  [[nodiscard]] QStringList machines() const { return QStringList{machineId} + otherMachines; }
};

/// Runs on the disk: a folder for each, with run.json, job.json, the schedule, fabric.fabric.json, records.jsonl and
/// log.txt.
class RunStore {
public:
  /// `<name>.runs` beside the document, or `fallback` for one that has no file.
  [[nodiscard]] static QString folderFor(const QString& documentPath, const QString& fallback);

  /// Makes the folder of a new run and writes all that is known of it. Errors: io.
  [[nodiscard]] static Result<RunInfo> create(const QString& folder, const RunSubject& subject, RunInfo info,
                                              const program::RunJob& job);
  /// Writes run.json again. Errors: io.
  static Outcome save(const RunInfo& info);
  /// Newest first; folders that are not runs are ignored.
  [[nodiscard]] static std::vector<RunInfo> list(const QString& folder);
  /// What it said. At most 256 MiB of each file are read.
  [[nodiscard]] static std::shared_ptr<RunData> load(const RunInfo& info);
  /// The run's folder and what is in it. Only what looks like a run.
  static bool remove(const RunInfo& info);
  /// What was run, to run it again. Errors: io.
  [[nodiscard]] static Result<RunSubject> subject(const RunInfo& info);
};

/// A new id: sorts by time, plain characters only.
[[nodiscard]] QString newRunId();

}  // namespace coppice::designer
