// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QString>
#include <QToolButton>
#include <QWidget>
#include <optional>

#include "program/program.hpp"

namespace coppice::designer {

/// The row above a program: where it comes from, the verdict, and for which runtime and which rank it is shown.
class ProgramHead : public QWidget {
  Q_OBJECT

public:
  explicit ProgramHead(QWidget* parent = nullptr);

  /// @param isFile it can be closed
  void setFile(const QString& path, bool isFile);
  /// Whether there is a schedule whose program could be shown.
  void setHasSchedule(bool hasSchedule) { m_ofSchedule->setEnabled(hasSchedule); }
  /// @param role of the text, see setRole()
  void setVerdict(const QString& text, const QString& role = {});
  [[nodiscard]] QString verdict() const { return m_verdict->text(); }
  /// What is chosen in the dock Trees.
  void setTrees(const QString& text) { m_trees->setText(text); }
  [[nodiscard]] QString trees() const { return m_trees->text(); }
  /// 0 to 1; nullopt = nothing is being read.
  void setProgress(std::optional<double> fraction);
  /// All are shown again, without a signal.
  void setRanks(int count);
  /// -1: all.
  void setRank(int rank);
  [[nodiscard]] program::Runtime runtime() const;
  /// Whether there is a choice of the runtime.
  void setHasRuntime(bool hasRuntime) { m_runtime->setEnabled(hasRuntime); }

Q_SIGNALS:
  void openWanted();
  void closeWanted();
  /// The program of the current schedule.
  void scheduleWanted();
  /// Not to be read any further.
  void stopWanted();
  void runtimeChanged();
  /// -1: all.
  void rankChanged(int rank);

private:
  QToolButton* m_open;
  QToolButton* m_ofSchedule;
  QLabel* m_file;
  QToolButton* m_close;
  QLabel* m_verdict;
  QLabel* m_trees;
  QProgressBar* m_progress;
  QToolButton* m_stop;
  QComboBox* m_rank;
  QComboBox* m_runtime;
};

}  // namespace coppice::designer
