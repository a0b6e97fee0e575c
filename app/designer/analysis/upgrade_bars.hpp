// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/units.hpp"
#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"

namespace coppice::designer {

/// What one more GB/s gains on one group of links.
struct UpgradeBar {
  QString title;
  std::set<LinkId> links;
  Bandwidth bandwidth;             ///< per direction now, of the slowest
  Rational raise;                  ///< of the bound, for each GB/s on every one of them
  std::optional<Bandwidth> until;  ///< bandwidth at which another cut takes over
};

struct UpgradeBars {
  Question question;
  std::uint64_t factRevision = 0;
  std::set<LinkId> cut;
  bool isAnswered = true;  ///< as Ranking::isAnswered
  QString why;
  std::vector<UpgradeBar> bars;  ///< the best first
};

/// Classes of links, and the links of one cut by themselves. Never fails. Meant for another thread, after the bound of
/// this snapshot was found by the solver.
[[nodiscard]] UpgradeBars upgradeBars(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                                      const std::set<LinkId>& cut, const QString& cutName, std::stop_token stop);

/// "One more GB/s on … gains": the few best groups of links as bars. A click selects the links.
class UpgradeBarsView : public QWidget {
  Q_OBJECT

public:
  explicit UpgradeBarsView(QWidget* parent = nullptr);
  ~UpgradeBarsView() override;

  /// Both or neither.
  void setSubject(Document* document, LiveBound* bound);
  /// The cut that is shown.
  void setCut(const std::set<LinkId>& links, const QString& name);
  [[nodiscard]] bool isCurrent() const;
  [[nodiscard]] const UpgradeBars& bars() const { return m_bars; }

Q_SIGNALS:
  void linksChosen(const std::set<coppice::designer::LinkId>& links);

protected:
  void showEvent(QShowEvent* event) override;

private:
  class Row;
  void follow();
  void submit();
  void show(UpgradeBars bars);

  QPointer<Document> m_document;
  QPointer<LiveBound> m_bound;
  Followed m_followed;  ///< connections to the document
  std::set<LinkId> m_cut;
  QString m_cutName;
  UpgradeBars m_bars;
  QLabel* m_note;
  std::vector<Row*> m_rows;
  QTimer m_timer;
  LatestJob<std::shared_ptr<const UpgradeBars>> m_job;
};

}  // namespace coppice::designer
