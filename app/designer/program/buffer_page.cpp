// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/buffer_page.hpp"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/document/error_text.hpp"
#include "designer/program/selectable_text.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

BufferPage::BufferPage(QWidget* parent)
    : QWidget(parent),
      m_rank(new QComboBox(this)),
      m_variant(new QComboBox(this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_moment(new QLabel(this)),
      m_view(new BufferView(this)),
      m_slot(selectableText(u"programSlot"_s, this)) {
  m_rank->setObjectName(u"programBufferRank"_s);
  m_rank->setAccessibleName(tr("Rank whose buffers are shown"));
  m_rank->setToolTip(m_rank->accessibleName());
  m_variant->setObjectName(u"programVariant"_s);
  m_variant->setAccessibleName(tr("In place or out of place"));
  m_variant->setToolTip(tr("In-place or out-of-place call"));
  m_slider->setObjectName(u"programMoment"_s);
  m_slider->setAccessibleName(tr("Executed events"));
  m_slider->setPageStep(1);
  m_moment->setObjectName(u"programMomentText"_s);
  m_moment->setProperty("role", u"muted"_s);
  m_moment->setTextFormat(Qt::PlainText);
  m_moment->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  QToolButton* previous = iconButton(u"programPrevious"_s, u"previous"_s, tr("Previous event"), this);
  QToolButton* next = iconButton(u"programNext"_s, u"next"_s, tr("Next event"), this);
  constexpr int kMargin = 8;
  auto* line = new QHBoxLayout;
  line->setSpacing(kMargin);
  line->addWidget(m_rank);
  line->addWidget(m_variant);
  line->addWidget(previous);
  line->addWidget(m_slider, 1);
  line->addWidget(next);
  line->addWidget(m_moment, 1);
  setTabOrder(m_variant, previous);
  setTabOrder(m_slider, next);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  layout->setSpacing(kMargin / 2);
  layout->addLayout(line);
  layout->addWidget(m_view, 1);
  layout->addWidget(m_slot);
  connect(previous, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() - 1); });
  connect(next, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() + 1); });
  connect(m_slider, &QSlider::valueChanged, this,
          [this](int value) { Q_EMIT positionChosen(static_cast<std::size_t>(value)); });
  connect(m_rank, &QComboBox::currentIndexChanged, this, &BufferPage::refresh);
  connect(m_variant, &QComboBox::currentIndexChanged, this, &BufferPage::refresh);
  connect(m_view, &BufferView::chosenChanged, m_slot, &QLabel::setText);
  connect(m_view, &BufferView::writerWanted, this, &BufferPage::writerWanted);
}

void BufferPage::setReading(const ProgramReadingPtr& reading) {
  m_reading = reading;
  {
    const QSignalBlocker rankBlocker(m_rank);
    const QSignalBlocker variantBlocker(m_variant);
    m_rank->clear();
    m_rank->addItem(tr("Rank of the step"), -1);
    const int ranks = reading ? static_cast<int>(reading->program().ranks.size()) : 0;
    for (int rank = 0; rank < ranks; ++rank) {
      m_rank->addItem(tr("Rank %1").arg(rank), rank);
    }
    m_variant->clear();
    if (reading && reading->study().inPlace) {
      m_variant->addItem(tr("In place"), true);
    }
    if (reading && reading->study().outOfPlace) {
      m_variant->addItem(tr("Out of place"), false);
    }
  }
  m_variant->setVisible(m_variant->count() > 1);
  showMoment(0, 0);
}

void BufferPage::setInPlace(bool isInPlace) {
  m_variant->setCurrentIndex(std::max(0, m_variant->findData(isInPlace)));
}

std::shared_ptr<const verify::ProgramReplay> BufferPage::replay() const {
  if (!m_reading) {
    return nullptr;
  }
  const verify::ProgramStudy& study = m_reading->study();
  return m_variant->count() > 0 && !m_variant->currentData().toBool() ? study.outOfPlace : study.inPlace;
}

void BufferPage::showMoment(std::size_t position, int rankOfStep) {
  m_position = position;
  m_rankOfStep = rankOfStep;
  refresh();
}

void BufferPage::refresh() {
  const auto played = replay();
  {
    const QSignalBlocker blocker(m_slider);
    m_slider->setRange(0, played ? static_cast<int>(played->events().size()) : 0);
    m_slider->setValue(static_cast<int>(m_position));
    m_slider->setEnabled(played != nullptr);
  }
  if (!played) {
    m_view->setReplay(nullptr, 1);
    m_moment->setText(m_reading && m_reading->study().noReplay ? sentence(*m_reading->study().noReplay) : QString());
    return;
  }
  m_view->setReplay(played, static_cast<int>(m_reading->program().ranks.size()));
  const int asked = m_rank->currentData().toInt();
  m_view->showMoment(asked >= 0 ? asked : m_rankOfStep, m_position);
  if (m_position == 0) {
    m_moment->setText(tr("before the first step"));
  } else {
    const verify::ReplayEvent& last = played->events()[m_position - 1];
    m_moment->setText(tr("event %1 of %2, round %3").arg(m_position).arg(played->events().size()).arg(last.round));
  }
  m_moment->setToolTip(m_moment->text());
}

}  // namespace coppice::designer
