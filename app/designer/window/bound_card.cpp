// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/bound_card.hpp"

#include <QVBoxLayout>

#include "base/units.hpp"
#include "designer/analysis/cut_lens.hpp"
#include "designer/document/counted.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/fonts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

BoundCard::BoundCard(QWidget* parent)
    : QWidget(parent),
      m_number(new QLabel(this)),
      m_exact(new QLabel(this)),
      m_why(new QLabel(this)),
      m_formula(new QLabel(this)),
      m_cutsHead(new QLabel(this)),
      m_cuts(new QListWidget(this)),
      m_lensHead(new QLabel(tr("Cut around the selection"), this)),
      m_lens(new QLabel(this)) {
  setObjectName(u"boundCard"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  constexpr double kNumberPixels = 38;
  constexpr double kFigurePixels = 13;
  m_number->setFont(uiFont(kNumberPixels, QFont::Bold));
  m_number->setObjectName(u"boundNumber"_s);
  m_number->setAccessibleName(tr("Bound in GB/s"));
  m_exact->setFont(figureFont(kFigurePixels));
  m_exact->setObjectName(u"boundExact"_s);
  m_formula->setFont(figureFont(kFigurePixels));
  m_formula->setForegroundRole(QPalette::PlaceholderText);
  QFont bold = m_cutsHead->font();
  bold.setBold(true);
  m_cutsHead->setFont(bold);
  m_lensHead->setFont(bold);
  m_lens->setObjectName(u"cutLens"_s);
  m_lens->setToolTip(tr("How fast the collective could be if this cut alone were in its way"));
  for (QLabel* label : {m_exact, m_why, m_formula, m_lens}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  m_cuts->setObjectName(u"boundCuts"_s);
  m_cuts->setAccessibleName(tr("Tied cuts"));
  m_cuts->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_number);
  layout->addWidget(m_exact);
  layout->addWidget(m_why);
  layout->addWidget(m_formula);
  layout->addWidget(m_cutsHead);
  layout->addWidget(m_cuts, 1);
  layout->addWidget(m_lensHead);
  layout->addWidget(m_lens);
  connect(m_cuts, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
    if (m_editor && item != nullptr) {
      m_editor->setShownCut(static_cast<std::size_t>(item->data(Qt::UserRole).toInt()));
    }
  });
  connect(m_cuts, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
    const auto row = static_cast<std::size_t>(item->data(Qt::UserRole).toInt());
    if (m_editor && m_editor->bound().isCurrent() && row < m_editor->bound().bound()->cuts.size()) {
      std::set<ElementId> inside;
      for (const NodeId id : m_editor->bound().bound()->cuts[row].inside) {
        inside.insert(id);
      }
      m_editor->selection().set(std::move(inside));
    }
  });
  update();
}

void BoundCard::setEditor(Editor* editor) {
  if (m_editor == editor) {
    return;
  }
  if (m_editor) {
    disconnect(&m_editor->bound(), nullptr, this, nullptr);
    disconnect(&m_editor->selection(), nullptr, this, nullptr);
    disconnect(m_editor, nullptr, this, nullptr);
  }
  m_editor = editor;
  if (m_editor) {
    connect(&m_editor->bound(), &LiveBound::changed, this, &BoundCard::update);
    connect(&m_editor->selection(), &Selection::changed, this, &BoundCard::showLens);
    connect(m_editor, &Editor::shownCutChanged, this, &BoundCard::showCut);
  }
  update();
}

void BoundCard::showCut() {
  if (!m_editor || !m_editor->bound().isCurrent() || !m_editor->bound().bound()->algbw) {
    return;
  }
  const Bound& bound = *m_editor->bound().bound();
  const std::size_t shown = m_editor->shownCut();
  const QSignalBlocker quiet(m_cuts);
  for (int row = 0; row < m_cuts->count(); ++row) {
    if (static_cast<std::size_t>(m_cuts->item(row)->data(Qt::UserRole).toInt()) == shown) {
      m_cuts->setCurrentRow(row);
    }
  }
  QString why = shown < bound.cuts.size() ? bound.cuts[shown].sentence : QString();
  if (!bound.note.isEmpty()) {
    why += u' ' + bound.note;
  }
  m_why->setText(why);
  const bool isUniform =
      bound.question.collective == Collective::allgather || bound.question.collective == Collective::reduceScatter;
  if (shown < bound.cuts.size() && isUniform) {
    const CutView& cut = bound.cuts[shown];
    m_formula->setText(tr("algbw = N · B⁺(S) / |S∩Vc|\n      = %1 · %2 / %3")
                           .arg(bound.gpuCount)
                           .arg(QString::fromStdString(Bandwidth(cut.exitBandwidth).toString()))
                           .arg(cut.demand));
  }
}

void BoundCard::showLens() {
  std::optional<CutLens> lens;
  if (m_editor) {
    const std::vector<NodeId> chosen = m_editor->selection().nodesAndContents();
    if (!chosen.empty()) {
      lens = lensOf(m_editor->model(), {chosen.begin(), chosen.end()}, m_editor->bound().question());
    }
  }
  m_lensHead->setVisible(lens.has_value());
  m_lens->setVisible(lens.has_value());
  m_lens->setText(lens ? lensText(*lens, m_editor->bound().question().collective) : QString());
}

void BoundCard::update() {
  showLens();
  const std::shared_ptr<const Bound> bound = m_editor ? m_editor->bound().bound() : nullptr;
  const bool isStale = m_editor && !m_editor->bound().isCurrent();
  for (QLabel* label : {m_number, m_exact, m_why, m_formula, m_cutsHead}) {
    label->setEnabled(!isStale);
  }
  m_cuts->setEnabled(!isStale);
  if (isStale && bound) {
    return;  // the old answer, greyed, until the new one is there
  }
  const QSignalBlocker quiet(m_cuts);
  m_cuts->clear();
  m_cutsHead->clear();
  m_formula->clear();
  if (!bound || !bound->algbw) {
    m_number->setText(u"–"_s);
    m_exact->clear();
    m_why->setText(!m_editor ? tr("Open a fabric to see how fast it can possibly run.")
                             : (bound ? bound->why : tr("Computing…")));
    return;
  }
  m_number->setText(tr("%1 GB/s").arg(QString::fromStdString(toDecimal(*bound->algbw))));
  m_exact->setText(u"= %1 · %2 · %3"_s.arg(QString::fromStdString(bound->algbw->toString()),
                                           collectiveName(bound->question.collective),
                                           counted(bound->gpuCount, tr("GPU"), tr("GPUs"))));
  for (const std::size_t i : bound->distinctCuts()) {
    auto* item = new QListWidgetItem(bound->cuts[i].words, m_cuts);
    item->setToolTip(bound->cuts[i].sentence);
    item->setData(Qt::UserRole, static_cast<int>(i));
  }
  showCut();
  m_cutsHead->setText(counted(m_cuts->count(), tr("tied cut"), tr("tied cuts")));
}

}  // namespace coppice::designer
