// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/what_if_panel.hpp"

#include <QHBoxLayout>
#include <QShowEvent>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kSteps = 400;

}  // namespace

WhatIfPanel::WhatIfPanel(QWidget* parent)
    : QWidget(parent),
      m_message(new QLabel(this)),
      m_body(new QWidget(this)),
      m_heading(new QLabel(m_body)),
      m_curve(new BandwidthCurve(m_body)),
      m_slider(new QSlider(Qt::Horizontal, m_body)),
      m_before(new QPushButton(u"◂"_s, m_body)),
      m_after(new QPushButton(u"▸"_s, m_body)),
      m_result(new QLabel(m_body)),
      m_reset(new QPushButton(tr("Reset"), m_body)),
      m_apply(new QPushButton(tr("Apply"), m_body)),
      m_job([this](std::shared_ptr<const WhatIf> whatIf) { receive(*whatIf); }, 0ms) {
  setObjectName(u"whatIf"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_message->setObjectName(u"whatIfMessage"_s);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setProperty("role", u"muted"_s);
  m_heading->setObjectName(u"whatIfHeading"_s);
  m_result->setObjectName(u"whatIfResult"_s);
  m_result->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_slider->setObjectName(u"whatIfSlider"_s);
  m_slider->setAccessibleName(tr("Bandwidth of the selected links"));
  m_slider->setRange(0, kSteps);
  m_slider->setPageStep(kSteps / 20);
  m_before->setObjectName(u"whatIfBefore"_s);
  m_before->setToolTip(tr("Previous break point"));
  m_before->setAccessibleName(m_before->toolTip());
  m_after->setObjectName(u"whatIfAfter"_s);
  m_after->setToolTip(tr("Next break point, where another cut becomes the limit"));
  m_after->setAccessibleName(m_after->toolTip());
  m_reset->setObjectName(u"whatIfReset"_s);
  m_apply->setObjectName(u"whatIfApply"_s);
  m_apply->setProperty("role", u"primary"_s);
  m_apply->setToolTip(tr("Apply this bandwidth to the links as one step that can be undone"));

  auto* top = new QHBoxLayout;
  top->addWidget(m_heading, 1);
  top->addWidget(m_result);
  for (QPushButton* button : {m_before, m_after, m_reset, m_apply}) {
    top->addWidget(button);
  }
  auto* body = new QVBoxLayout(m_body);
  body->addLayout(top);
  body->addWidget(m_curve, 1);
  body->addWidget(m_slider);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_message, 1);
  layout->addWidget(m_body, 1);

  connect(m_slider, &QSlider::valueChanged, this, [this](int step) {
    try {
      if (!m_curve->whatIf().curve.points.empty()) {
        setChange(changeAt(m_curve->whatIf().curve, step, kSteps));
      }
    } catch (const OverflowError&) {
      // Between two numbers that can be written: the slider moves on to the next.
    }
  });
  connect(m_curve, &BandwidthCurve::dragged, this,
          [this](double share) { m_slider->setValue(static_cast<int>(std::lround(share * kSteps))); });
  connect(m_before, &QPushButton::clicked, this, [this] { goToBreak(false); });
  connect(m_after, &QPushButton::clicked, this, [this] { goToBreak(true); });
  connect(m_reset, &QPushButton::clicked, this, [this] { setChange(Bandwidth()); });
  connect(m_apply, &QPushButton::clicked, this, &WhatIfPanel::apply);
  refresh();
}

WhatIfPanel::~WhatIfPanel() = default;

void WhatIfPanel::setSubject(Document* document, Selection* selection, LiveBound* bound) {
  if (m_document == document && m_bound == bound) {
    return;
  }
  m_followed.clear();
  m_job.cancel();
  m_isOrdered = false;
  m_hasAnswer = false;
  m_document = document;
  m_selection = selection;
  m_bound = bound;
  if (m_bound) {
    m_followed.connect(m_bound, &LiveBound::changed, [this] { follow(); });
    m_followed.connect(m_selection, &Selection::changed, [this] { follow(); });
  }
  follow();
}

std::set<LinkId> WhatIfPanel::chosenLinks() const {
  std::set<LinkId> links;
  if (m_selection) {
    for (const ElementId& id : m_selection->elements()) {
      if (id.link().isValid()) {
        links.insert(id.link());
      }
    }
  }
  return links;
}

bool WhatIfPanel::isCurrent() const {
  const WhatIf& shown = m_curve->whatIf();
  return m_hasAnswer && m_document && m_bound && shown.factRevision == m_document->factRevision() &&
         shown.question == m_bound->question() && shown.links == chosenLinks();
}

void WhatIfPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void WhatIfPanel::follow() {
  const bool hasBound = m_document && m_bound && m_bound->isCurrent() && m_bound->bound()->algbw;
  const std::set<LinkId> links = chosenLinks();
  const bool isOrderRight = m_isOrdered && hasBound && m_orderedRevision == m_document->factRevision() &&
                            m_orderedQuestion == m_bound->question() && m_orderedLinks == links;
  if (m_isOrdered && !isOrderRight) {
    m_job.cancel();
    m_isOrdered = false;
  }
  if (hasBound && !links.empty() && !isCurrent() && !m_isOrdered && isVisible()) {
    m_isOrdered = true;
    m_orderedRevision = m_document->factRevision();
    m_orderedQuestion = m_bound->question();
    m_orderedLinks = links;
    m_job.submit([solver = m_bound->solver(), snapshot = Snapshot::of(*m_document), question = m_orderedQuestion,
                  links](std::stop_token stop) {
      return std::make_shared<const WhatIf>(whatIf(*solver, snapshot, question, links, std::move(stop)));
    });
  }
  refresh();
}

void WhatIfPanel::receive(WhatIf whatIf) {
  m_isOrdered = false;
  if (!whatIf.isAnswered) {
    refresh();
    return;
  }
  m_hasAnswer = true;
  m_curve->setWhatIf(std::move(whatIf));
  setChange(Bandwidth());
  follow();
}

void WhatIfPanel::setChange(const Bandwidth& change) {
  const WhatIf& shown = m_curve->whatIf();
  const live::Curve& curve = shown.curve;
  if (!curve.points.empty()) {
    constexpr std::int64_t kHundred = 100;
    try {
      Trial trial{valueAt(curve, change), shown.min + change, shown.max + change, {}};
      const Bandwidth before = valueAt(curve, Bandwidth()).algbw;
      if (before.isPositive()) {
        trial.percent = (trial.value.algbw / before - Rational(1)) * Rational(kHundred);
      }
      m_trial = std::move(trial);
    } catch (const OverflowError&) {
      return;
    }
    m_change = change;
    const QSignalBlocker quiet(m_slider);
    m_slider->setValue(stepOf(curve, change, kSteps));
    m_curve->setChange(change);
    const QString links = counted(static_cast<qsizetype>(shown.count), tr("link"), tr("links"));
    Q_EMIT tried(shown.links, change,
                 shown.min == shown.max ? tr("What if: %1 at %2 GB/s per direction").arg(links, decimal(m_trial.min))
                                        : tr("What if: %1, each %2%3 GB/s per direction")
                                              .arg(links, change.isPositive() ? u"+"_s : u"−"_s,
                                                   decimal(change.isPositive() ? change : -change)));
  }
  refresh();
}

void WhatIfPanel::goToBreak(bool isForward) {
  const auto& points = m_curve->whatIf().curve.points;
  std::optional<Bandwidth> next;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const Bandwidth& at = points[i].change;
    if (isForward ? m_change < at && !next : at < m_change) {
      next = at;
    }
  }
  if (next) {
    setChange(*next);
  }
}

void WhatIfPanel::apply() {
  if (!isCurrent() || m_change.isZero()) {
    return;
  }
  const std::set<LinkId> links = m_curve->whatIf().links;
  const Bandwidth change = m_change;
  Outcome outcome = Done{};
  m_document->edit(tr("Bandwidth of ") + counted(static_cast<qsizetype>(links.size()), tr("link"), tr("links")),
                   [&](Edit& edit) { outcome = changeBandwidths(edit, links, change); });
  if (!outcome) {
    Q_EMIT refused(errorText(outcome.error()));
  }
}

void WhatIfPanel::refresh() {
  const bool isNow = isCurrent();
  const WhatIf& shown = m_curve->whatIf();
  const bool hasCurve = m_hasAnswer && shown.curve.points.size() > 1;
  QString message;
  if (!m_document) {
    message = tr("Open a fabric to try other bandwidths on its links.");
  } else if (m_bound->isCurrent() && !m_bound->bound()->algbw) {
    message = m_bound->bound()->why;
  } else if (chosenLinks().empty()) {
    message =
        tr("Select links to try other bandwidths on them: the bound follows the slider, and nothing changes until "
           "you apply it.");
  } else if (isNow && !hasCurve) {
    message = shown.why.isEmpty() ? tr("These links have no bandwidth.") : shown.why;
  } else if (!hasCurve) {
    message = tr("Working…");
  }
  m_message->setText(message);
  m_message->setVisible(!message.isEmpty());
  m_body->setVisible(message.isEmpty());
  m_body->setEnabled(isNow);
  if (!message.isEmpty()) {
    return;
  }
  const bool isUniform = shown.min == shown.max;
  const QString links = counted(static_cast<qsizetype>(shown.count), tr("link"), tr("links"));
  const QString now = isUniform ? decimal(shown.min) : decimal(shown.min) + u" … "_s + decimal(shown.max);
  const QString then = isUniform ? decimal(m_trial.min) : decimal(m_trial.min) + u" … "_s + decimal(m_trial.max);
  m_heading->setText(m_change.isZero() ? tr("%1 of %2 GB/s per direction").arg(links, now)
                                       : tr("%1: %2 → %3 GB/s per direction").arg(links, now, then));
  m_heading->setToolTip(tr("Change of each: %1 GB/s").arg(QString::fromStdString(toFraction(m_change))));
  const CurveValue& value = m_trial.value;
  QString result = (value.isExact ? QString() : u"≈ "_s) + decimal(value.algbw) + u" GB/s"_s;
  if (value.isExact && !value.algbw.gigabytesPerSecond().isInteger()) {
    result += u" = "_s + QString::fromStdString(toFraction(value.algbw));
  }
  if (!m_trial.percent.isZero()) {
    result += u" ("_s +
              (m_trial.percent.isPositive() ? u"+"_s + decimal(m_trial.percent) : u"−"_s + decimal(-m_trial.percent)) +
              u" %)"_s;
  }
  m_result->setText(result);
  m_reset->setEnabled(isNow && !m_change.isZero());
  m_apply->setEnabled(isNow && !m_change.isZero() && m_trial.min.isPositive());
}

}  // namespace coppice::designer
