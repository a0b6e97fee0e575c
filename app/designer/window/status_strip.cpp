// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/status_strip.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>

#include "designer/document/counted.hpp"
#include "designer/jobs/bound.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// A dynamic property that the style sheet may ask for; the palette does for the rest.
void setStale(QWidget* widget, bool isStale) {
  if (widget->property("stale").toBool() != isStale) {
    widget->setProperty("stale", isStale);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
  }
  QPalette palette = widget->parentWidget()->palette();
  if (isStale) {
    palette.setColor(QPalette::ButtonText, palette.color(QPalette::Disabled, QPalette::ButtonText));
    palette.setColor(QPalette::WindowText, palette.color(QPalette::Disabled, QPalette::WindowText));
  }
  widget->setPalette(palette);
}

}  // namespace

StatusStrip::StatusStrip(QWidget* parent) : QWidget(parent) {
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
  m_hint = new QLabel(this);
  m_hint->setObjectName(u"statusHint"_s);
  layout->addWidget(m_hint, 1, Qt::AlignRight);
  m_counts = addPart("statusCounts", tr("Size of the fabric"));
  QFont font = m_bound->font();
  font.setBold(true);
  m_bound->setFont(font);
  connect(m_bound, &QToolButton::clicked, this, &StatusStrip::boundClicked);
  connect(m_cut, &QToolButton::clicked, this, &StatusStrip::cutClicked);
  connect(m_problems, &QToolButton::clicked, this, &StatusStrip::problemsClicked);
  connect(m_saved, &QToolButton::clicked, this, &StatusStrip::savedClicked);
  update();
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

void StatusStrip::setEditor(Editor* editor) {
  if (m_editor == editor) {
    return;
  }
  if (m_editor) {
    disconnect(m_editor, nullptr, this, nullptr);
    disconnect(&m_editor->bound(), nullptr, this, nullptr);
    disconnect(&m_editor->problems(), nullptr, this, nullptr);
    disconnect(&m_editor->document(), nullptr, this, nullptr);
  }
  m_editor = editor;
  if (m_editor) {
    connect(m_editor, &Editor::titleChanged, this, &StatusStrip::update);
    connect(m_editor, &Editor::shownCutChanged, this, &StatusStrip::update);
    connect(&m_editor->bound(), &LiveBound::changed, this, &StatusStrip::update);
    connect(&m_editor->problems(), &QAbstractItemModel::modelReset, this, &StatusStrip::update);
    connect(&m_editor->document(), &Document::changed, this, &StatusStrip::update);
  }
  update();
}

void StatusStrip::setHint(const QString& hint) {
  m_hint->setText(hint);
}

void StatusStrip::update() {
  for (QToolButton* part : {m_bound, m_cut, m_problems, m_saved, m_counts}) {
    part->setVisible(m_editor != nullptr);
  }
  if (!m_editor) {
    return;
  }
  LiveBound& live = m_editor->bound();
  const bool isStale = !live.isCurrent();
  if (const auto& bound = live.bound()) {
    m_bound->setText(bound->algbw ? bound->headline() : tr("%1: no bound").arg(bound->headline()));
    m_bound->setToolTip(bound->algbw ? tr("The exact bound: no schedule of this collective is faster on this fabric")
                                     : bound->why);
    // The one that the canvas shows; a stale answer keeps the words of the cut that it was shown with.
    const std::size_t shown = m_editor->shownCut() < bound->cuts.size() ? m_editor->shownCut() : 0;
    m_cut->setText(bound->cuts.empty() ? QString() : tr("cut: %1").arg(bound->cuts[shown].words));
    m_cut->setToolTip(bound->cuts.empty() ? QString() : bound->cuts[shown].sentence);
    m_cut->setVisible(!bound->cuts.empty());
    const int errors = bound->errors();
    const int warnings = bound->warnings();
    m_problems->setText(errors + warnings == 0 ? tr("no problems")
                                               : counted(errors, tr("error"), tr("errors")) + u' ' +
                                                     counted(warnings, tr("warning"), tr("warnings")));
  } else {
    m_bound->setText(tr("%1: computing").arg(collectiveName(live.question().collective)));
    m_cut->setVisible(false);
    m_problems->setText(tr("checking"));
  }
  for (QToolButton* part : {m_bound, m_cut, m_problems}) {
    setStale(part, isStale);
  }
  if (m_editor->file().isModified()) {
    m_saved->setText(tr("not saved"));
  } else if (m_editor->file().savedAt().isValid()) {
    m_saved->setText(tr("saved %1").arg(m_editor->file().savedAt().toString(u"HH:mm"_s)));
  } else {
    m_saved->setText(tr("new"));
  }
  m_counts->setText(counted(static_cast<qsizetype>(m_editor->model().nodes().size()), tr("node"), tr("nodes")) +
                    u" · "_s +
                    counted(static_cast<qsizetype>(m_editor->model().links().size()), tr("link"), tr("links")) +
                    u" · "_s + tr("GB/s per direction"));
}

}  // namespace coppice::designer
