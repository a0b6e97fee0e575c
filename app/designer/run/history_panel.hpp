// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSet>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QWidget>
#include <vector>

#include "designer/run/run_store.hpp"

namespace coppice::designer {

/// All runs of a document, newest first. The chosen one is shown by the other docks; ticked ones are compared with it.
class HistoryPanel : public QWidget {
  Q_OBJECT

public:
  explicit HistoryPanel(QWidget* parent = nullptr);
  void setRuns(const std::vector<RunInfo>& runs, const QString& current);
  /// How far a run that is under way has come.
  void setOutcome(const QString& id, const QString& text);
  [[nodiscard]] QStringList ticked() const;

Q_SIGNALS:
  void chosen(const QString& id);
  void tickedChanged();
  void rerunWanted(const QString& id);
  void rejoinWanted(const QString& id);
  void stopWanted(const QString& id);
  void removeWanted(const QString& id);
  void folderWanted(const QString& id);

private:
  [[nodiscard]] QString current() const;
  void updateButtons();

  std::vector<RunInfo> m_runs;
  QStackedWidget* m_pages;
  QTreeWidget* m_list;
  QToolButton* m_rerun;
  QToolButton* m_rejoin;
  QToolButton* m_stop;
  QToolButton* m_folder;
  QToolButton* m_remove;
};

}  // namespace coppice::designer
