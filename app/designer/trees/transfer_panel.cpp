// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/transfer_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// A menu of more is useless; the search finds a GPU.
constexpr std::int64_t kMaxListedShards = 4096;

void setUpTable(QTableView& table, TransferModel& model) {
  setUpRowTable(table, u"transferTable"_s, TransferPanel::tr("Transfers"), QAbstractItemView::ExtendedSelection);
  table.setModel(&model);
  table.setAlternatingRowColors(true);
  QHeaderView* header = table.horizontalHeader();
  header->setStretchLastSection(true);
  constexpr int kStepWidth = 60;
  constexpr int kNameWidth = 130;
  header->resizeSection(TransferModel::kStep, kStepWidth);
  for (const int column : {TransferModel::kData, TransferModel::kPiece, TransferModel::kFrom, TransferModel::kTo}) {
    header->resizeSection(column, kNameWidth);
  }
}

}  // namespace

TransferPanel::TransferPanel(QWidget* parent)
    : QWidget(parent),
      m_previous(iconButton(u"transferPrevious"_s, u"previous"_s, tr("Previous step"), this)),
      m_play(iconButton(u"transferPlay"_s, u"run"_s, tr("Play the steps one after another"), this)),
      m_next(iconButton(u"transferNext"_s, u"next"_s, tr("Next step"), this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_stepText(new QLabel(this)),
      m_shard(new QComboBox(this)),
      m_search(new QLineEdit(this)),
      m_state(new QLabel(this)),
      m_table(new QTableView(this)) {
  setObjectName(u"transferPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  setProperty("helpTopic", u"transfers"_s);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(makeBody());

  connect(m_previous, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() - 1); });
  connect(m_next, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() + 1); });
  connect(m_play, &QToolButton::clicked, this, [this] { setPlaying(!m_clock.isActive()); });
  connect(m_slider, &QSlider::valueChanged, this, &TransferPanel::applyFilter);
  connect(m_shard, &QComboBox::currentIndexChanged, this, &TransferPanel::applyFilter);
  connect(m_search, &QLineEdit::textChanged, this, &TransferPanel::applyFilter);
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    refresh();
    Q_EMIT chosenChanged();
  });
  connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
    const auto [from, to] = m_model.endsAt(index.row());
    Q_EMIT endsActivated(from, to);
  });
  m_clock.setInterval(700ms);
  connect(&m_clock, &QTimer::timeout, this, &TransferPanel::advance);
  refresh();
}

QWidget* TransferPanel::makeBody() {
  m_slider->setObjectName(u"transferStep"_s);
  m_slider->setAccessibleName(tr("Step"));
  m_slider->setPageStep(1);
  constexpr int kSliderWidth = 160;
  m_slider->setFixedWidth(kSliderWidth);
  m_stepText->setObjectName(u"transferStepText"_s);
  constexpr int kTextWidth = 190;
  m_stepText->setMinimumWidth(kTextWidth);
  m_shard->setObjectName(u"transferShard"_s);
  m_shard->setAccessibleName(tr("Data"));
  m_shard->setToolTip(tr("Follow the data of one GPU"));
  constexpr int kSearchWidth = 160;
  setUpSearch(*m_search, u"transferSearch"_s, tr("Find a GPU"), kSearchWidth);
  m_state->setObjectName(u"transferState"_s);
  m_state->setProperty("role", u"muted"_s);
  setUpTable(*m_table, m_model);
  return panelPage(controlRow({m_previous, m_play, m_next, m_slider, m_stepText, m_shard, m_search}, m_state), m_table,
                   this);
}

void TransferPanel::setResult(ScheduleResultPtr result) {
  setPlaying(false);
  const ScheduleResultPtr shown = result && result->stepSchedule() != nullptr ? result : nullptr;
  if (m_model.result() != shown) {
    m_isFilling = true;
    m_model.setResult(shown);
    m_slider->setRange(0, shown ? shown->stepSchedule()->stepCount : 0);
    m_slider->setValue(0);
    m_search->clear();
    fillShards();
    m_isFilling = false;
    m_table->scrollToTop();
  }
  refresh();
  Q_EMIT chosenChanged();
}

void TransferPanel::fillShards() {
  m_shard->clear();
  const schedule::StepSchedule* schedule = m_model.schedule();
  if (schedule == nullptr) {
    return;
  }
  m_shard->addItem(tr("All data"), QVariant::fromValue<qint64>(-1));
  const std::int64_t count = schedule->goal.shardCount();
  for (std::int64_t shard = 0; shard < count && count <= kMaxListedShards; ++shard) {
    m_shard->addItem(tr("Data: %1").arg(m_model.nameOfShard(shard)), QVariant::fromValue<qint64>(shard));
  }
  m_shard->setVisible(count > 1 && count <= kMaxListedShards);
}

std::optional<std::int32_t> TransferPanel::step() const {
  return m_slider->value() > 0 ? std::optional(static_cast<std::int32_t>(m_slider->value() - 1)) : std::nullopt;
}

void TransferPanel::setStep(std::optional<std::int32_t> step) {
  m_slider->setValue(step ? *step + 1 : 0);
}

std::vector<std::size_t> TransferPanel::chosenTransfers() const {
  std::vector<std::size_t> chosen;
  for (const QModelIndex& row : m_table->selectionModel()->selectedRows()) {
    chosen.push_back(m_model.transferAt(row.row()));
  }
  std::sort(chosen.begin(), chosen.end());
  if (chosen.size() > static_cast<std::size_t>(maxTransfers())) {
    chosen.resize(maxTransfers());
  }
  return chosen;
}

void TransferPanel::clearChoice() {
  setPlaying(false);
  m_table->clearSelection();
  m_shard->setCurrentIndex(0);
  m_slider->setValue(0);
}

void TransferPanel::applyFilter() {
  if (m_isFilling || m_model.schedule() == nullptr) {
    return;
  }
  const qint64 shard = m_shard->currentData().toLongLong();
  m_model.setFilter(
      {step(), shard >= 0 ? std::optional<std::int64_t>(shard) : std::nullopt, m_search->text().trimmed()});
  m_table->scrollToTop();
  refresh();
  Q_EMIT chosenChanged();
}

void TransferPanel::setPlaying(bool isPlaying) {
  if (isPlaying == m_clock.isActive()) {
    return;
  }
  if (isPlaying) {
    if (m_slider->value() == m_slider->maximum()) {
      m_slider->setValue(0);
    }
    advance();
    m_clock.start();
  } else {
    m_clock.stop();
  }
  refresh();
}

void TransferPanel::advance() {
  m_slider->setValue(m_slider->value() + 1);
  if (m_slider->value() == m_slider->maximum()) {
    setPlaying(false);
  }
}

void TransferPanel::refresh() {
  const bool isPlaying = m_clock.isActive();
  m_play->setIcon(icon(isPlaying ? u"pause"_s : u"run"_s));
  m_play->setToolTip(isPlaying ? tr("Pause") : tr("Play the steps one after another"));
  m_play->setAccessibleName(m_play->toolTip());
  m_previous->setEnabled(m_slider->value() > 0);
  m_next->setEnabled(m_slider->value() < m_slider->maximum());
  m_play->setEnabled(m_slider->maximum() > 0);
  const schedule::StepSchedule* schedule = m_model.schedule();
  if (schedule == nullptr) {
    return;
  }
  const schedule::StepCost& cost = *m_model.result()->cost;
  if (const auto at = step()) {
    const InverseBandwidth& time = cost.stepLoads[*at].time;
    m_stepText->setText(tr("%1 of %2 · %3 of the time")
                            .arg(stepTitle(*schedule, *at))
                            .arg(schedule->stepCount)
                            .arg(percentOf(time.perGBps(), cost.timePerByte.perGBps())));
  } else {
    m_stepText->setText(schedule->isSynchronous ? counted(schedule->stepCount, tr("step"), tr("steps"))
                                                : counted(schedule->stepCount, tr("phase"), tr("phases")));
  }
  const auto rows = static_cast<std::size_t>(m_model.rowCount());
  m_state->setText(rows == schedule->transfers.size()
                       ? counted(static_cast<qsizetype>(rows), tr("transfer"), tr("transfers"))
                       : tr("%1 of %2 transfers").arg(rows).arg(schedule->transfers.size()));
}

}  // namespace coppice::designer
