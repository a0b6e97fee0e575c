// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPointer>
#include <QPushButton>
#include <QSlider>
#include <QWidget>
#include <memory>

#include "base/units.hpp"
#include "designer/analysis/bandwidth_curve.hpp"
#include "designer/document/followed.hpp"
#include "designer/document/selection.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"

namespace coppice::designer {

/// A slider for the bandwidth of the selected links, the bound as it would be, and the points at which another cut
/// takes over. Nothing changes until Apply, which is one step of the history.
class WhatIfPanel : public QWidget {
  Q_OBJECT

public:
  explicit WhatIfPanel(QWidget* parent = nullptr);
  ~WhatIfPanel() override;

  /// All or none. They must live until others take their place.
  void setSubject(Document* document, Selection* selection, LiveBound* bound);
  /// The curve is about the selected links and the facts as they are now.
  [[nodiscard]] bool isCurrent() const;
  /// GB/s by which each link's bandwidth is changed on trial.
  [[nodiscard]] const Bandwidth& change() const { return m_change; }
  /// Nothing changes where the numbers would leave the exact range.
  void setChange(const Bandwidth& change);
  void apply();

Q_SIGNALS:
  /// Another bandwidth is tried on the links; a change of 0 is none.
  void tried(const std::set<LinkId>& links, const Bandwidth& change, const QString& title);
  /// An edit was refused; the text says why.
  void refused(const QString& why);

protected:
  void showEvent(QShowEvent* event) override;

private:
  void follow();
  void receive(WhatIf whatIf);
  void refresh();
  void goToBreak(bool isForward);
  [[nodiscard]] std::set<LinkId> chosenLinks() const;

  QPointer<Document> m_document;
  QPointer<Selection> m_selection;
  QPointer<LiveBound> m_bound;
  Followed m_followed;  ///< connections to the document
  Bandwidth m_change;
  /// What the change makes of the links and of the bound.
  struct Trial {
    CurveValue value;
    Bandwidth min;
    Bandwidth max;
    Rational percent;  ///< by which the bound rises
  };
  Trial m_trial;
  bool m_hasAnswer = false;
  bool m_isOrdered = false;
  std::uint64_t m_orderedRevision = 0;
  Question m_orderedQuestion;
  std::set<LinkId> m_orderedLinks;

  QLabel* m_message;
  QWidget* m_body;
  QLabel* m_heading;
  BandwidthCurve* m_curve;
  QSlider* m_slider;
  QPushButton* m_before;
  QPushButton* m_after;
  QLabel* m_result;
  QPushButton* m_reset;
  QPushButton* m_apply;
  LatestJob<std::shared_ptr<const WhatIf>> m_job;
};

}  // namespace coppice::designer
