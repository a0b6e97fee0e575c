// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/snapshot.hpp"
#include "designer/jobs/timed_answer.hpp"
#include "designer/schedules/job_progress.hpp"
#include "designer/schedules/option_form.hpp"
#include "designer/theme/seen.hpp"
#include "designer/workspace/editor_context.hpp"
#include "workflow/concurrent.hpp"

namespace coppice::designer {

/// What is known of one state of a fabric.
struct PanelAnswer : TimedAnswer {
  Snapshot snapshot = {};
};
using PanelAnswerPtr = std::shared_ptr<const PanelAnswer>;

/// A question about the current fabric with options at the left, asked in the background, and its answer at the right.
/// After an edit of the fabric it is asked again by itself where the last answer was quick; otherwise the answer is
/// greyed until it is asked for again.
class QuestionPanel : public QWidget {
  Q_OBJECT

public:
  struct Texts {
    QString name;        ///< of the panel; its parts have names that begin with it: "training"
    QString noDocument;  ///< what fills it while no document is open
    QString invitation;  ///< and before the first answer
    QString action;      ///< the button: "Search"
    QString working;     ///< while the first answer comes
    QString command;     ///< subcommand of coppice-cli that asks the same
  };

  /// nullptr: none.
  void setContext(EditorContext* context);
  [[nodiscard]] OptionForm& form() { return *m_form; }
  /// Starts a search, or stops the one that runs.
  void search();
  [[nodiscard]] bool isSearching() const { return m_job.isRunning(); }
  /// The answer is about the fabric and the options as they are now.
  [[nodiscard]] bool isCurrent() const;
  /// Not behind another tab.
  [[nodiscard]] bool isSeen() const { return m_seen.isSeen(); }
  [[nodiscard]] EditorContext* context() const { return m_context; }
  /// What to lay over the drawing; empty without a current answer.
  [[nodiscard]] virtual Overlay marks() const = 0;

Q_SIGNALS:
  /// What is to be laid over the drawing changed.
  void marksChanged();

protected:
  using Work = std::function<PanelAnswerPtr(const Snapshot&, const workflow::Values&, const Progress&)>;

  /// @param work for another thread; after a stop its answer is worthless
  QuestionPanel(Texts texts, const std::vector<workflow::Option>& options, Work work, QWidget* parent);

  /// The document's facts are others than before, or it is another document: for examples in the form. @pre context()
  virtual void adaptForm() {}
  /// The answer's place: a column, of which what stretches scrolls by itself.
  void setContent(QWidget* content);
  /// Shows what was found; nullptr: nothing. The answer may be a problem.
  virtual void showAnswer(const PanelAnswerPtr& answer) = 0;
  /// Under the answer: how much was looked at, and how long that took.
  [[nodiscard]] virtual QString stateOf(const PanelAnswer& answer) const = 0;
  [[nodiscard]] QLabel* state() { return m_state; }

  void keyPressEvent(QKeyEvent* event) override;
  void hideEvent(QHideEvent* event) override;
  void showEvent(QShowEvent* event) override;

private:
  [[nodiscard]] QWidget* makeAsked();
  void followFacts();
  void receive(const PanelAnswerPtr& answer);
  void refresh();
  void copyCommand();

  Texts m_texts;
  Work m_work;
  QPointer<EditorContext> m_context;
  Followed m_followed;
  PanelAnswerPtr m_answer;
  workflow::Values m_asked;     ///< of the last search
  workflow::Values m_answered;  ///< of that which gave the answer
  std::shared_ptr<JobProgress> m_progress;
  OptionForm* m_form;
  QPushButton* m_search;
  QStackedWidget* m_pages;
  QWidget* m_content = nullptr;  ///< of an answer
  QLabel* m_message;
  QLabel* m_state;
  QProgressBar* m_bar;
  QTimer m_tick;
  LatestJob<PanelAnswerPtr> m_job;
  Seen m_seen;
};

/// The links of a shared cut, as they are drawn.
[[nodiscard]] std::vector<LinkMark> linkMarks(const EditorContext& context, const Snapshot& snapshot,
                                              const fabric::Fabric& fabric, const std::vector<workflow::CutLinks>& cut);

}  // namespace coppice::designer
