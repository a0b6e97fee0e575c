// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTableWidget>
#include <QTimer>
#include <QWidget>
#include <memory>

#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/option_form.hpp"
#include "designer/training/plan_details.hpp"
#include "designer/training/training_search.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// A training step on the current fabric: what is asked, the plans, best first, and the chosen one. A search runs in
/// the background. After an edit of the fabric it runs again by itself where the last one was quick; otherwise the
/// plans are greyed until the search is started again.
class TrainingPanel : public QWidget {
  Q_OBJECT

public:
  explicit TrainingPanel(QWidget* parent = nullptr);

  /// nullptr: none.
  void setContext(EditorContext* context);
  [[nodiscard]] OptionForm& form() { return *m_form; }
  [[nodiscard]] QTableWidget& table() { return *m_table; }
  [[nodiscard]] PlanDetails& details() { return *m_details; }
  /// Starts a search, or stops the one that runs.
  void search();
  [[nodiscard]] bool isSearching() const { return m_job.isRunning(); }
  /// The plans are of the fabric and the options as they are now.
  [[nodiscard]] bool isCurrent() const;

Q_SIGNALS:
  /// What is to be laid over the drawing changed.
  void marksChanged();

protected:
  void hideEvent(QHideEvent* event) override;

private:
  void layOut();
  [[nodiscard]] QWidget* makeAsked();
  [[nodiscard]] QWidget* makePlans();
  void followFacts();
  void receive(const TrainingAnswerPtr& answer);
  void fill();
  void showPlan();
  void refresh();
  void copyCommand();

  QPointer<EditorContext> m_context;
  Followed m_followed;
  TrainingAnswerPtr m_answer;
  workflow::Values m_asked;  ///< of the last search
  std::shared_ptr<JobProgress> m_progress;
  OptionForm* m_form;
  QPushButton* m_search;
  QStackedWidget* m_pages;
  QLabel* m_message;
  QLabel* m_headline;
  QLabel* m_state;
  QProgressBar* m_bar;
  QTableWidget* m_table;
  PlanDetails* m_details;
  QTimer m_tick;
  LatestJob<TrainingAnswerPtr> m_job;
};

}  // namespace coppice::designer
