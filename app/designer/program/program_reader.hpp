// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/program/program_reading.hpp"
#include "designer/schedules/job_progress.hpp"
#include "workflow/target.hpp"

namespace coppice::designer {

/// The text of a program that was made, not read from a file.
struct MadeProgram {
  std::string xml;
  lowering::StepOrigins origins;  ///< of its steps; empty = not known
};
using MakeProgram = std::function<Result<MadeProgram>(program::Runtime runtime, const Progress& progress)>;
/// Which trees the steps of a program that was read serve; empty = none are known.
using FindOrigins = std::function<lowering::StepOrigins(const program::Program& program, program::Runtime runtime,
                                                        const Progress& progress)>;

/// What came of a text: one of the first three.
struct ProgramAnswer {
  ProgramReadingPtr reading = {};
  std::shared_ptr<const workflow::TargetFile> target = {};  ///< a file of a target that is not MSCCL XML
  std::optional<Error> error = {};
  bool hasText = true;  ///< false: it could not be made
};
using ProgramAnswerPtr = std::shared_ptr<const ProgramAnswer>;

/// Reads the text of a program, or makes it first, and judges it, on another thread.
class ProgramReader : public QObject {
  Q_OBJECT

public:
  explicit ProgramReader(QObject* parent = nullptr);

  /// The text of a file, and what finds out which trees its steps serve.
  void setFile(const QString& path, std::string xml, FindOrigins find);
  /// A text that is made for each runtime for which it is read.
  void setMade(const QString& name, MakeProgram make);
  /// No text.
  void clear();
  [[nodiscard]] bool hasSource() const { return m_xml || m_make; }
  [[nodiscard]] bool isMade() const { return static_cast<bool>(m_make); }
  /// By the rules of this runtime. No answer to what was asked before comes.
  /// @pre hasSource()
  void read(program::Runtime runtime);
  /// No answer follows.
  void stop();
  [[nodiscard]] bool isReading() const { return m_isReading; }

Q_SIGNALS:
  /// 0 to 1.
  void progressed(double fraction);
  void finished(const coppice::designer::ProgramAnswerPtr& answer);

private:
  void receive(const ProgramAnswerPtr& answer);

  QString m_path;
  std::shared_ptr<const std::string> m_xml;  ///< of the file; nullptr where it is made
  FindOrigins m_find;
  MakeProgram m_make;
  bool m_isReading = false;
  QTimer m_tick;
  std::shared_ptr<JobProgress> m_progress;
  LatestJob<ProgramAnswerPtr> m_job;
};

}  // namespace coppice::designer
