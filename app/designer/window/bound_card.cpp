// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/bound_card.hpp"

#include <QSet>
#include <QVBoxLayout>

#include "base/units.hpp"
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
      m_cuts(new QListWidget(this)) {
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
  for (QLabel* label : {m_exact, m_why, m_formula}) {
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
  }
  m_editor = editor;
  if (m_editor) {
    connect(&m_editor->bound(), &LiveBound::changed, this, &BoundCard::update);
  }
  update();
}

void BoundCard::update() {
  const std::shared_ptr<const Bound> bound = m_editor ? m_editor->bound().bound() : nullptr;
  const bool isStale = m_editor && !m_editor->bound().isCurrent();
  for (QLabel* label : {m_number, m_exact, m_why, m_formula, m_cutsHead}) {
    label->setEnabled(!isStale);
  }
  m_cuts->setEnabled(!isStale);
  if (isStale && bound) {
    return;  // the old answer, greyed, until the new one is there
  }
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
  QString why = bound->cuts.empty() ? QString() : bound->cuts.front().sentence;
  if (!bound->note.isEmpty()) {
    why += u' ' + bound->note;
  }
  m_why->setText(why);
  const bool isUniform =
      bound->question.collective == Collective::allgather || bound->question.collective == Collective::reduceScatter;
  if (!bound->cuts.empty() && isUniform) {
    const CutView& cut = bound->cuts.front();
    m_formula->setText(tr("algbw = N · B⁺(S) / |S∩Vc|\n      = %1 · %2 / %3")
                           .arg(bound->gpuCount)
                           .arg(QString::fromStdString(Bandwidth(cut.exitBandwidth).toString()))
                           .arg(cut.demand));
  }
  // Cuts that differ in switches only read alike; the first of them stands for all.
  QSet<QString> seen;
  for (std::size_t i = 0; i < bound->cuts.size(); ++i) {
    const CutView& cut = bound->cuts[i];
    if (!seen.contains(cut.words)) {
      seen.insert(cut.words);
      auto* item = new QListWidgetItem(cut.words, m_cuts);
      item->setToolTip(cut.sentence);
      item->setData(Qt::UserRole, static_cast<int>(i));
    }
  }
  m_cutsHead->setText(counted(m_cuts->count(), tr("tied cut"), tr("tied cuts")));
}

}  // namespace coppice::designer
