// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QPointer>
#include <QProgressBar>
#include <QStackedWidget>
#include <QTableView>
#include <QTimer>
#include <QWidget>
#include <functional>
#include <memory>

#include "designer/analysis/ranking.hpp"
#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"

namespace coppice::designer {

/// A ranking of the current document, made in the background once the bound is known and the panel can be seen. A click
/// tells which elements the row is about. A ranking of facts that have changed is greyed until the new one is there.
class RankingPanel : public QWidget {
  Q_OBJECT

public:
  using Rank =
      std::function<Ranking(const BoundSolver&, const Snapshot&, const Question&, const WorkDone&, std::stop_token)>;
  struct Kind {
    QString name;   ///< object name, and of its table with "Table" behind it
    QString title;  ///< for screen readers
    QString empty;  ///< what fills the panel, while no document is open
    QStringList headers;
    Rank rank;
  };
  explicit RankingPanel(Kind kind, QWidget* parent = nullptr);
  ~RankingPanel() override;

  /// Both or neither. They must live until others take their place.
  void setSubject(Document* document, LiveBound* bound);
  [[nodiscard]] RankingModel& model() { return m_model; }
  /// A button beside the state that triggers the action; seen while that can be done.
  void setAction(QAction* action);
  /// The rows are about the facts as they are now.
  [[nodiscard]] bool isCurrent() const;

Q_SIGNALS:
  /// A row was chosen; the name is that of its first column.
  void elementsChosen(const std::set<ElementId>& elements, const QString& name);

protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

private:
  void follow();
  void fitColumns();
  void receive(Ranking ranking);
  void refresh();

  Kind m_kind;
  RankingModel m_model;
  QPointer<Document> m_document;
  QPointer<LiveBound> m_bound;
  Followed m_followed;               ///< connections to the document
  std::uint64_t m_factRevision = 0;  ///< of the rows
  Question m_question;
  bool m_hasAnswer = false;
  QString m_why;
  QString m_note;
  WorkDone m_done;
  std::uint64_t m_orderedRevision = 0;
  Question m_orderedQuestion;
  bool m_isOrdered = false;

  QStackedWidget* m_pages;
  QLabel* m_message;
  QLabel* m_state;
  QHBoxLayout* m_head;  ///< the state, and the button
  QProgressBar* m_progress;
  QTableView* m_table;
  QTimer m_tick;
  LatestJob<std::shared_ptr<const Ranking>> m_job;
};

/// The two that the program has.
[[nodiscard]] RankingPanel::Kind upgradesKind();
[[nodiscard]] RankingPanel::Kind damageKind();

}  // namespace coppice::designer
