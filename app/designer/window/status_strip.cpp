// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/status_strip.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QTimer>
#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "designer/jobs/bound.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The style sheet colours the parts by these.
void setState(QWidget* widget, const char* property, const QVariant& value) {
  if (widget->property(property) != value) {
    widget->setProperty(property, value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
  }
}

/// Tells of each new width, which it also gets when its neighbours change their texts.
class HintLabel : public QLabel {
public:
  HintLabel(std::function<void()> resized, QWidget* parent) : QLabel(parent), m_resized(std::move(resized)) {}

protected:
  void resizeEvent(QResizeEvent* event) override {
    QLabel::resizeEvent(event);
    m_resized();
  }

private:
  std::function<void()> m_resized;
};

}  // namespace

StatusStrip::StatusStrip(QWidget* parent) : QWidget(parent), m_expiry(*new QTimer(this)) {
  setObjectName(u"statusStrip"_s);
  auto* layout = new QHBoxLayout(this);
  constexpr QMargins kMargins(8, 2, 8, 2);
  layout->setContentsMargins(kMargins);
  constexpr int kGap = 12;
  layout->setSpacing(kGap);
  m_bound = addPart("statusBound", tr("Bound"));
  m_cut = addPart("statusCut", tr("Bottleneck cut"));
  m_problems = addPart("statusProblems", tr("Problems"));
  m_saved = addPart("statusSaved", tr("Saved state"));
  m_hint = new HintLabel([this] { elideHint(); }, this);
  m_hint->setObjectName(u"statusHint"_s);
  m_hint->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  m_hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_hint->setProperty("role", u"muted"_s);
  layout->addWidget(m_hint, 1);
  m_counts = addPart("statusCounts", tr("Size of the fabric"));
  // The window may be narrower than the longest text; fit() chooses another.
  m_counts->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  m_counts->setMinimumWidth(1);
  QFont font = m_bound->font();
  font.setBold(true);
  m_bound->setFont(font);
  using namespace std::chrono_literals;
  m_expiry.setObjectName(u"statusExpiry"_s);
  m_expiry.setSingleShot(true);
  m_expiry.setInterval(15s);
  connect(&m_expiry, &QTimer::timeout, this, [this] { showHint(m_hintText); });
  connect(m_bound, &QToolButton::clicked, this, &StatusStrip::boundClicked);
  connect(m_cut, &QToolButton::clicked, this, &StatusStrip::cutClicked);
  connect(m_problems, &QToolButton::clicked, this, &StatusStrip::problemsClicked);
  connect(m_saved, &QToolButton::clicked, this, &StatusStrip::savedClicked);
  connect(m_counts, &QToolButton::clicked, this, [this] {
    if (m_editor) {
      m_editor->canvas().zoomToFit();
    }
  });
  refresh();
}

QToolButton* StatusStrip::addPart(const char* name, const QString& accessibleName) {
  auto* part = new QToolButton(this);
  part->setObjectName(QLatin1String(name));
  part->setAccessibleName(accessibleName);
  part->setAutoRaise(true);
  part->setToolButtonStyle(Qt::ToolButtonTextOnly);
  layout()->addWidget(part);
  return part;
}

void StatusStrip::setContext(EditorContext* editor) {
  if (m_editor == editor) {
    return;
  }
  m_editor = editor;
  m_followed.clear();
  // Words about one document say nothing of another.
  setHint({});
  if (m_editor) {
    const auto refreshed = [this] { refresh(); };
    m_followed.connect(m_editor, &EditorContext::titleChanged, refreshed);
    m_followed.connect(m_editor, &EditorContext::shownCutChanged, refreshed);
    m_followed.connect(m_editor, &EditorContext::assumptionChanged, refreshed);
    m_followed.connect(&m_editor->bound(), &LiveBound::changed, refreshed);
    m_followed.connect(&m_editor->problems(), &QAbstractItemModel::modelReset, refreshed);
    m_followed.connect(&m_editor->document(), &Document::changed, refreshed);
    m_followed.connect(&m_editor->canvas(), &CanvasView::zoomChanged, refreshed);
  }
  refresh();
}

void StatusStrip::setHint(const QString& hint) {
  m_expiry.stop();
  m_hintText = hint;
  showHint(hint);
}

void StatusStrip::say(const QString& text) {
  showHint(text);
  m_expiry.start();
}

void StatusStrip::showHint(const QString& text) {
  m_fullHint = text;
  m_hint->setToolTip(text);
  fit();
}

void StatusStrip::fit() {
  // The hint may be empty, but the gap beside it stays.
  int others = layout()->contentsMargins().left() + layout()->contentsMargins().right() + layout()->spacing();
  for (const QToolButton* part : {m_bound, m_cut, m_problems, m_saved}) {
    others += part->isVisibleTo(this) ? part->sizeHint().width() + layout()->spacing() : 0;
  }
  const int hint = m_hint->fontMetrics().horizontalAdvance(m_fullHint);
  bool isFitting = false;
  for (const QString& text : std::as_const(m_countTexts)) {
    m_counts->setText(text);
    isFitting = others + m_counts->sizeHint().width() <= width();
    // The unit, which every panel has, makes way for a whole sentence.
    if (isFitting && (&text != &m_countTexts.front() || others + m_counts->sizeHint().width() + hint <= width())) {
      break;
    }
  }
  m_counts->setVisible(m_editor && isFitting);
  elideHint();
}

void StatusStrip::elideHint() {
  const QString text = m_hint->fontMetrics().elidedText(m_fullHint, Qt::ElideRight, std::max(0, m_hint->width() - 2));
  m_hint->setText(text == u"…" ? QString() : text);
}

void StatusStrip::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  QTimer::singleShot(0, this, &StatusStrip::fit);
}

void StatusStrip::refresh() {
  for (QToolButton* part : {m_bound, m_cut, m_problems, m_saved}) {
    part->setVisible(m_editor != nullptr);
  }
  if (!m_editor) {
    m_counts->hide();
    return;
  }
  LiveBound& live = m_editor->bound();
  const auto& assumption = m_editor->assumption();
  // One thought at a time: while something is assumed, everything here is as if it were so.
  const std::shared_ptr<const Bound> assumed = assumption ? m_editor->shownBound() : nullptr;
  const bool isStale = !live.isCurrent() || (assumption && !assumed);
  if (const auto& bound = assumed ? assumed : live.bound()) {
    const QString headline = bound->algbw ? bound->headline() : tr("%1: no bound").arg(bound->headline());
    m_bound->setText(!assumption                   ? headline
                     : !assumption->failed.empty() ? tr("If it fails: %1").arg(headline)
                                                   : tr("What if: %1").arg(headline));
    m_bound->setToolTip(!bound->algbw    ? bound->why
                        : bound->reached ? tr("No schedule of this collective is faster on this fabric. Routes are "
                                              "known for %1 GB/s.")
                                               .arg(QString::fromStdString(toDecimal(*bound->reached)))
                                         : bound->claim());
    // The one that the canvas shows; a stale answer keeps the words of the cut that it was shown with.
    const CutView* cut = m_editor->shownCutView();
    if (cut == nullptr && !m_editor->assumption() && !bound->cuts.empty()) {
      cut = &bound->cuts[m_editor->shownCut() < bound->cuts.size() ? m_editor->shownCut() : 0];
    }
    m_cut->setText(cut == nullptr ? QString()
                                  : (cut->inside.empty() ? tr("limit: %1") : tr("cut: %1")).arg(cut->words));
    m_cut->setToolTip(cut == nullptr ? QString() : cut->sentence);
    m_cut->setVisible(cut != nullptr);
    const bool isEmpty = m_editor->model().nodes().isEmpty();
    // What the Problems dock lists, import notes included.
    const ProblemsModel& problems = m_editor->problems();
    const int errors = isEmpty ? 0 : problems.count(Severity::error);
    const int warnings = isEmpty ? 0 : problems.count(Severity::warning);
    const int notes = isEmpty ? 0 : problems.count(Severity::note);
    setState(m_problems, "state", errors > 0 ? u"error"_s : (warnings > 0 ? u"warning"_s : u"good"_s));
    QStringList found;
    if (errors > 0) {
      found << counted(errors, tr("error"), tr("errors"));
    }
    if (warnings > 0) {
      found << counted(warnings, tr("warning"), tr("warnings"));
    }
    if (found.isEmpty() && notes > 0) {
      found << counted(notes, tr("note"), tr("notes"));
    }
    m_problems->setText(isEmpty           ? tr("empty")
                        : found.isEmpty() ? tr("no problems")
                                          : found.join(u", "_s));
  } else {
    m_bound->setText(tr("%1: computing").arg(collectiveName(live.question().collective)));
    m_cut->setVisible(false);
    m_problems->setText(tr("checking"));
  }
  for (QToolButton* part : {m_bound, m_cut, m_problems}) {
    setState(part, "stale", isStale);
  }
  m_saved->setToolTip(m_editor->file().isReadOnly() ? tr("The file is write-protected: save under another name")
                                                    : QString());
  if (m_editor->file().isReadOnly()) {
    m_saved->setText(m_editor->file().isModified() ? tr("not saved, read-only file") : tr("read-only file"));
  } else if (m_editor->file().isModified()) {
    m_saved->setText(tr("not saved"));
  } else if (m_editor->file().savedAt().isValid()) {
    m_saved->setText(tr("saved %1").arg(m_editor->file().savedAt().toString(u"HH:mm"_s)));
  } else {
    m_saved->setText(tr("new"));
  }
  int kinds[3] = {0, 0, 0};
  for (const auto& [id, node] : m_editor->model().nodes()) {
    if (const auto kind = node.kind()) {
      ++kinds[static_cast<std::size_t>(*kind)];
    }
  }
  QStringList counts{counted(kinds[static_cast<std::size_t>(fabric::NodeKind::gpu)], tr("GPU"), tr("GPUs"))};
  if (const int switches = kinds[static_cast<std::size_t>(fabric::NodeKind::switchNode)]; switches > 0) {
    counts << counted(switches, tr("switch"), tr("switches"));
  }
  if (const int nics = kinds[static_cast<std::size_t>(fabric::NodeKind::nic)]; nics > 0) {
    counts << counted(nics, tr("NIC"), tr("NICs"));
  }
  constexpr double kHundred = 100;
  const QString unit = tr("GB/s per direction");
  const QString size = counts.join(u", "_s);
  const QString zoomed = tr("%1 %").arg(qRound(m_editor->canvas().zoom() * kHundred)) + u" · "_s + size;
  m_countTexts = {unit + u" · "_s + zoomed, zoomed, size, counts.front()};
  m_counts->setToolTip(unit + u". "_s + size + u"; "_s +
                       counted(static_cast<qsizetype>(m_editor->model().nodes().size()), tr("node"), tr("nodes")) +
                       u", "_s +
                       counted(static_cast<qsizetype>(m_editor->model().links().size()), tr("link"), tr("links")) +
                       u". "_s + tr("Click to show the whole drawing."));
  fit();
}

}  // namespace coppice::designer
