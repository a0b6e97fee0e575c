// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/deadlock_page.hpp"

#include <QFileInfo>
#include <QVBoxLayout>

#include "designer/program/selectable_text.hpp"
#include "program/msccl_xml.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

DeadlockPage::DeadlockPage(QWidget* parent)
    : QSplitter(Qt::Horizontal, parent),
      m_ring(new RingView),
      // A splitter takes every child for a part of its own, so the layout gives these their parent.
      m_steps(new StepList(u"programRingSteps"_s, tr("Steps of the ring, in order"), nullptr)),
      m_remedy(selectableText(u"programRemedy"_s, nullptr)),
      m_save(new QPushButton(tr("Save Changed Program…"))) {
  auto* side = new QWidget;
  m_save->setObjectName(u"programSave"_s);
  m_save->setToolTip(tr("Save the program with this change as a new file"));
  constexpr int kMargin = 8;
  auto* layout = new QVBoxLayout(side);
  layout->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  layout->setSpacing(kMargin / 2);
  layout->addWidget(m_steps, 1);
  layout->addWidget(m_remedy);
  layout->addWidget(m_save, 0, Qt::AlignLeft);
  addWidget(m_ring);
  addWidget(side);
  setStretchFactor(0, 1);
  setStretchFactor(1, 1);
  setChildrenCollapsible(false);
  connect(m_ring, &RingView::chosen, this, &DeadlockPage::chosen);
  connect(m_steps, &StepList::chosen, this, &DeadlockPage::chosen);
  connect(m_save, &QPushButton::clicked, this, &DeadlockPage::saveChanged);
}

void DeadlockPage::setReading(const ProgramReadingPtr& reading) {
  m_reading = reading;
  m_ring->setReading(reading);
  m_steps->clear();
  if (!reading || reading->study().ring.empty()) {
    return;
  }
  const verify::ProgramStudy& study = reading->study();
  for (std::size_t at = 0; at < study.ring.size() && at < StepList::kMaxListed; ++at) {
    const std::string text = verify::describe(reading->program(), study.ring[at]);
    QListWidgetItem* item =
        m_steps->add(QString::number(at + 1) + u". "_s + QString::fromStdString(text), study.ring[at].place);
    item->setToolTip(item->text());
  }
  m_remedy->setText(
      study.change
          ? tr("Smallest change that resolves it, verified: %1.").arg(QString::fromStdString(study.change->text))
          : tr("No single change that was tried resolves it; %1.").arg(QString::fromStdString(study.remedy)));
  m_remedy->setToolTip(m_remedy->text());
  m_save->setVisible(study.change.has_value());
}

void DeadlockPage::saveChanged() {
  if (m_reading && m_reading->study().change) {
    Q_EMIT saveWanted(QFileInfo(m_reading->path).completeBaseName() + u"-freed.xml"_s,
                      program::writeMscclXml(m_reading->study().change->after, m_reading->runtime));
  }
}

}  // namespace coppice::designer
