// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QTimer>
#include <memory>

#include "designer/document/document.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/jobs/latest_job.hpp"

namespace coppice::designer {

/// The bound of one document, kept up to date: every change of facts orders a new one on another thread. The last
/// answer stays available while a newer one is computed, but isCurrent() says no until then. Of a very large fabric the
/// bound comes with one cut, and again when it is completed.
class LiveBound : public QObject {
  Q_OBJECT

public:
  explicit LiveBound(Document& document, QObject* parent = nullptr);
  ~LiveBound() override;

  [[nodiscard]] const Question& question() const { return m_question; }
  void setQuestion(const Question& question);

  /// The last answer; null before the first.
  [[nodiscard]] const std::shared_ptr<const Bound>& bound() const { return m_bound; }
  /// The answer is to this question about the facts as they are now.
  [[nodiscard]] bool isCurrent() const;
  /// What is behind the answers, for further questions on other threads (BoundSolver::stateOf).
  [[nodiscard]] const std::shared_ptr<BoundSolver>& solver() const { return m_solver; }

Q_SIGNALS:
  /// A new answer, or the old one has become stale.
  void changed();

private:
  void refresh();

  Document& m_document;
  Question m_question;
  std::shared_ptr<const Bound> m_bound;
  std::shared_ptr<BoundSolver> m_solver = std::make_shared<BoundSolver>();
  bool m_hasFacts = false;  ///< m_solver has the facts of the document and gets its changes
  QTimer m_timer;
  LatestJob<std::shared_ptr<const Bound>> m_completion;
  LatestJob<std::shared_ptr<const Bound>> m_job;
};

}  // namespace coppice::designer
