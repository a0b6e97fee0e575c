// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/side_by_side_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/compare/side_letter.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/elided_combo_box.hpp"
#include "designer/theme/elided_label.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kSideMargin = 8;
constexpr int kSideLetters = 16;  // of a list of schedules, at least
constexpr std::size_t kStripParts = 240;

/// The difference as a bar from the middle: to the right in the colour of B, to the left in that of A.
class DifferenceDelegate : public QStyledItemDelegate {
public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const double share = std::clamp(index.data(DifferenceModel::kShareRole).toDouble(), -1.0, 1.0);
    constexpr double kTextWidth = 86;
    constexpr double kHeight = 7;
    const QRectF cell(option.rect);
    const double half = std::max(0.0, (cell.width() - kTextWidth) / 2);
    QStyledItemDelegate::paint(painter, option, index);
    if (half <= kHeight) {
      return;
    }
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(category(share > 0 ? 1 : 0, Theme::instance().scheme()));
    const double middle = cell.left() + half;
    const double width = (half - 4) * std::abs(share);
    painter->drawRoundedRect(
        QRectF(share > 0 ? middle : middle - width, cell.center().y() - kHeight / 2 + 0.5, width, kHeight), 2, 2);
    painter->restore();
  }
};

}  // namespace

SideBySidePanel::SideBySidePanel(QWidget* parent)
    : QWidget(parent),
      m_seen(*this, [this](bool isSeen) { setSeen(isSeen); }),
      m_pages(new QStackedWidget(this)),
      m_lists{new ElidedComboBox(kSideLetters, this), new ElidedComboBox(kSideLetters, this)},
      m_swap(iconButton(u"sideSwap"_s, u"swap"_s, tr("Swap A and B"), this)),
      m_size(new QComboBox(this)),
      m_kind(new QComboBox(this)),
      m_copy(iconButton(u"sideCopy"_s, u"copy"_s, tr("Copy the table as CSV"), this)),
      m_plan(iconButton(u"sidePlan"_s, u"export"_s,
                        tr("Export the fastest schedule for each band of sizes as programs"), this)),
      m_state(new ElidedLabel(this)),
      m_controls(new PlayControls(m_clock, u"side"_s, tr("message of a critical path"), this)),
      m_strip(new ClockStrip(m_clock, this)),
      m_table(new QTableView(this)),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"sideBySidePanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty = new EmptyPage(tr("Two schedules on two drawings, played on one clock, and where they differ. Generate "
                                 "a second schedule first, for example with another method."),
                              tr("Methods…"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &SideBySidePanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);

  for (int side = 0; side < kSides; ++side) {
    connect(m_lists[side], &QComboBox::currentIndexChanged, this, [this, side] {
      if (!m_isFilling) {
        m_chosen[side] = m_lists[side]->currentData().toInt();
        order();
      }
    });
  }
  connect(m_swap, &QToolButton::clicked, this, &SideBySidePanel::swap);
  connect(m_size, &QComboBox::currentIndexChanged, this, &SideBySidePanel::order);
  connect(m_kind, &QComboBox::currentIndexChanged, this,
          [this] { m_model.setKind(static_cast<DifferenceModel::Kind>(m_kind->currentData().toInt())); });
  connect(m_copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_model.csv()); });
  connect(m_plan, &QToolButton::clicked, this, &SideBySidePanel::planWanted);
  connect(m_controls, &PlayControls::stepWanted, this, &SideBySidePanel::step);
  connect(m_strip, &ClockStrip::stepWanted, this, &SideBySidePanel::step);
  connect(&m_clock, &PlayClock::timeChanged, this, [this] {
    refresh();
    Q_EMIT timeChanged();
  });
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &SideBySidePanel::chooseRow);
  connect(&SimulationSettings::instance(), &SimulationSettings::changed, this, [this] {
    m_known = {};
    m_shown = {};
    order();
  });
  refresh();
}

SideBySidePanel::~SideBySidePanel() = default;

QWidget* SideBySidePanel::makeBody() {
  auto* body = new QWidget(m_pages);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(kSideMargin, kSideMargin / 2, kSideMargin, 0);
  line->setSpacing(kSideMargin);
  for (int side = 0; side < kSides; ++side) {
    QComboBox* list = m_lists[side];
    list->setObjectName(u"side"_s + sideLetter(side));
    list->setAccessibleName(tr("Schedule %1").arg(sideLetter(side)));
    line->addWidget(list);
    if (side == 0) {
      line->addWidget(m_swap);
    }
  }
  m_size->setObjectName(u"sideSize"_s);
  m_size->setAccessibleName(tr("Size of the collective"));
  fillWithSizes(*m_size, kUsualSize, tr("at %1"));
  m_kind->setObjectName(u"sideKind"_s);
  m_kind->setAccessibleName(tr("What is compared"));
  m_kind->addItem(tr("Links"), static_cast<int>(DifferenceModel::Kind::links));
  m_kind->addItem(tr("GPUs"), static_cast<int>(DifferenceModel::Kind::gpus));
  m_state->setObjectName(u"sideState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  for (QWidget* widget : {static_cast<QWidget*>(m_size), static_cast<QWidget*>(m_kind), static_cast<QWidget*>(m_copy),
                          static_cast<QWidget*>(m_plan)}) {
    line->addWidget(widget);
  }
  line->addWidget(m_state, 1);
  m_strip->setObjectName(u"sideStrip"_s);
  auto* time = new QHBoxLayout;
  time->setContentsMargins(kSideMargin, kSideMargin / 2, kSideMargin, kSideMargin / 2);
  time->setSpacing(kSideMargin);
  time->addWidget(m_controls);
  time->addWidget(m_strip, 1);
  setUpTable();
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(line);
  layout->addLayout(time);
  layout->addWidget(m_table, 1);
  return body;
}

void SideBySidePanel::setUpTable() {
  m_sorted.setSourceModel(&m_model);
  m_sorted.setSortRole(DifferenceModel::kSortRole);
  setUpRowTable(*m_table, u"sideTable"_s, tr("Differences"));
  m_table->setModel(&m_sorted);
  m_table->setAlternatingRowColors(true);
  m_table->setItemDelegateForColumn(DifferenceModel::kDifference, new DifferenceDelegate(m_table));
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(DifferenceModel::kDifference, Qt::DescendingOrder);
  QHeaderView* header = m_table->horizontalHeader();
  header->setStretchLastSection(true);
  constexpr int kNameWidth = 230;
  constexpr int kFigureWidth = 88;
  header->resizeSection(DifferenceModel::kName, kNameWidth);
  for (int column = DifferenceModel::kBytesA; column < DifferenceModel::kDifference; ++column) {
    header->resizeSection(column, kFigureWidth);
  }
}

const ComparedSchedule* SideBySidePanel::schedule(int side) const {
  const int id = m_chosen[side];
  const auto found = std::find_if(m_schedules.begin(), m_schedules.end(),
                                  [id](const ComparedSchedule& each) { return each.id == id; });
  return found != m_schedules.end() && m_schedules.size() >= kSides ? &*found : nullptr;
}

void SideBySidePanel::setSchedules(std::vector<ComparedSchedule> schedules) {
  if (m_schedules == schedules) {
    return;
  }
  m_schedules = std::move(schedules);
  const auto isListed = [this](int id) {
    return std::any_of(m_schedules.begin(), m_schedules.end(),
                       [id](const ComparedSchedule& each) { return each.id == id; });
  };
  if (m_schedules.size() < kSides) {
    m_chosen = {};
  } else {
    if (!isListed(m_chosen[0])) {
      m_chosen[0] = m_schedules.front().id != m_chosen[1] ? m_schedules.front().id : m_schedules.back().id;
    }
    if (!isListed(m_chosen[1])) {
      m_chosen[1] = m_schedules.back().id != m_chosen[0] ? m_schedules.back().id : m_schedules.front().id;
    }
  }
  fillLists();
  order();
}

void SideBySidePanel::choose(int a, int b) {
  const std::array<int, kSides> wanted{a, b};
  for (std::size_t side = 0; side < wanted.size(); ++side) {
    const int row = m_lists[side]->findData(wanted[side]);
    if (row >= 0) {
      m_chosen[side] = wanted[side];
    }
  }
  fillLists();
  order();
}

void SideBySidePanel::swap() {
  std::swap(m_chosen[0], m_chosen[1]);
  fillLists();
  order();
}

void SideBySidePanel::fillLists() {
  m_isFilling = true;
  for (int side = 0; side < kSides; ++side) {
    QComboBox& list = *m_lists[side];
    list.clear();
    for (const ComparedSchedule& each : m_schedules) {
      list.addItem(sideLetter(side) + u": "_s + each.name, each.id);
      list.setItemData(list.count() - 1, each.name, Qt::ToolTipRole);
    }
    list.setCurrentIndex(list.findData(m_chosen[side]));
  }
  m_isFilling = false;
  m_pages->setCurrentIndex(m_schedules.size() >= kSides ? 1 : 0);
}

void SideBySidePanel::setBytes(std::int64_t bytes) {
  chooseSize(*m_size, bytes);
}

void SideBySidePanel::setSeen(bool isSeen) {
  if (m_isSeen == isSeen) {
    return;
  }
  m_isSeen = isSeen;
  if (isSeen) {
    record();
  } else {
    // Hidden drawings do not move.
    m_clock.setTime(std::nullopt);
  }
  Q_EMIT changed();
}

void SideBySidePanel::order() {
  const auto isKnown = [this](int side) {
    const ComparedSchedule* chosen = schedule(side);
    const PlaybackPtr& run = playback(side);
    return chosen != nullptr && run &&
           (chosen->recorded ? run == chosen->recorded
                             : &run->result() == chosen->result.get() && run->bytes() == bytes());
  };
  if (schedule(0) != nullptr && isKnown(0) && isKnown(1)) {
    return;
  }
  m_isRecordWanted = schedule(0) != nullptr && schedule(1) != nullptr;
  // A run was recorded at one size, so the other side is simulated at that.
  m_size->setEnabled(!m_isRecordWanted || (!schedule(0)->recorded && !schedule(1)->recorded));
  m_job.cancel();
  m_shown = {};
  // Runs of large fabrics fill the memory: those that nothing asks for go before the next ones come.
  for (PlaybackPtr& run : m_known) {
    const bool isChosen =
        run && std::any_of(m_schedules.begin(), m_schedules.end(), [&](const ComparedSchedule& each) {
          return each.result.get() == &run->result() && (each.id == m_chosen[0] || each.id == m_chosen[1]);
        });
    if (!isChosen || run->bytes() != bytes()) {
      run.reset();
    }
  }
  m_clock.setEnd(0);
  m_strip->setRows({});
  m_model.setDifferences({}, {});
  record();
  Q_EMIT changed();
}

void SideBySidePanel::record() {
  if (m_isRecordWanted && m_isSeen) {
    m_isRecordWanted = false;
    const std::array<ComparedSchedule, kSides> sides{*schedule(0), *schedule(1)};
    m_job.submit([sides, known = m_known, bytes = bytes()](std::stop_token stop) {
      Progress progress;
      progress.stop = std::move(stop);
      return compare(sides, known, bytes, progress);
    });
  }
  refresh();
}

std::int64_t SideBySidePanel::bytes() const {
  for (int side = 0; side < kSides; ++side) {
    if (const ComparedSchedule* chosen = schedule(side); chosen != nullptr && chosen->recorded) {
      return chosen->recorded->bytes();
    }
  }
  return sizeIn(*m_size);
}

SideBySidePanel::Answer SideBySidePanel::compare(const std::array<ComparedSchedule, kSides>& sides,
                                                 const std::array<PlaybackPtr, kSides>& known, std::int64_t bytes,
                                                 const Progress& progress) {
  auto pair = std::make_shared<Pair>();
  const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const ScheduleResultPtr& result = sides[side].result;
      const auto same = std::find_if(known.begin(), known.end(), [&](const PlaybackPtr& run) {
        return run && run->isSimulated() && &run->result() == result.get() && run->bytes() == bytes;
      });
      if (sides[side].recorded) {
        pair->runs[side] = sides[side].recorded;
      } else if (same != known.end()) {
        pair->runs[side] = *same;
      } else if (side > 0 && sides[0].result == result && !sides[0].recorded) {
        pair->runs[side] = pair->runs[0];
      } else {
        auto run = Playback::record(result, bytes, progress);
        if (!run) {
          return run.error();
        }
        pair->runs[side] = *std::move(run);
      }
      const Playback& run = *pair->runs[side];
      pair->rows.push_back({sideLetter(static_cast<int>(side)), run.duration(), run.throughput(kStripParts)});
    }
    pair->links = simulate::linkDifferences(pair->runs[0]->details(), pair->runs[1]->details());
    pair->gpus = simulate::rankDifferences(pair->runs[0]->details(), pair->runs[1]->details());
    return Done{};
  });
  if (!done) {
    pair->problem = sentence(done.error());
    pair->runs = {};
    pair->rows.clear();
  }
  return pair;
}

void SideBySidePanel::receive(const Answer& answer) {
  m_known = answer->runs;
  m_model.setDifferences(std::move(answer->links), std::move(answer->gpus));
  m_strip->setRows(std::move(answer->rows));
  m_shown = {answer->runs, {}, {}, {}, answer->problem};
  m_clock.setEnd(answer->problem.isEmpty() ? std::max(playback(0)->duration(), playback(1)->duration()) : 0);
  m_table->scrollToTop();
  refresh();
  Q_EMIT changed();
}

void SideBySidePanel::step(int direction) {
  if (!playback(0)) {
    return;
  }
  m_clock.setPlaying(false);
  // The nearest on either critical path.
  std::optional<double> nearest;
  const double now = m_clock.time().value_or(direction > 0 ? -1 : 0);
  for (int side = 0; side < kSides; ++side) {
    const std::vector<double>& times = playback(side)->criticalTimes();
    if (direction > 0) {
      const auto next = std::upper_bound(times.begin(), times.end(), now);
      if (next != times.end() && (!nearest || *next < *nearest)) {
        nearest = *next;
      }
    } else {
      const auto at = std::lower_bound(times.begin(), times.end(), now);
      if (at != times.begin() && (!nearest || *std::prev(at) > *nearest)) {
        nearest = *std::prev(at);
      }
    }
  }
  m_clock.setTime(nearest.value_or(direction > 0 ? m_clock.end() : 0));
}

void SideBySidePanel::chooseRow() {
  const QModelIndex source = m_sorted.mapToSource(m_table->currentIndex());
  if (!source.isValid()) {
    return;
  }
  const auto [tail, head] = m_model.endsAt(source.row());
  if (head.isEmpty()) {
    Q_EMIT gpuChosen(tail);
  } else {
    Q_EMIT linkChosen(tail, head);
  }
}

QString SideBySidePanel::numbers(int side) const {
  const PlaybackPtr& run = playback(side);
  if (!run) {
    return {};
  }
  const QString predicted = tr("%1 GB/s at %2 in %3")
                                .arg(QString::number(run->row().algbw.gigabytesPerSecond(), 'f', 2),
                                     bytesText(run->bytes()), timeText(run->duration()));
  if (!m_clock.time()) {
    return predicted;
  }
  const double time = *m_clock.time();
  return predicted + u" · "_s +
         (time >= run->duration()
              ? tr("done")
              : tr("%1 under way").arg(counted(run->activeCount(time), tr("message"), tr("messages"))));
}

void SideBySidePanel::refresh() {
  // The strip stays enabled: it has the focus before the runs are there.
  m_copy->setEnabled(playback(0) != nullptr);
  if (!m_shown.problem.isEmpty()) {
    m_state->setText(m_shown.problem);
  } else if (!playback(0)) {
    m_state->setText(tr("Simulating…"));
  } else if (m_clock.time()) {
    m_state->setText(tr("%1 of %2").arg(timeText(*m_clock.time()), timeText(m_clock.end())));
  } else {
    m_state->setText(tr("algbw: A %1, B %2 GB/s")
                         .arg(playback(0)->row().algbw.gigabytesPerSecond(), 0, 'f', 2)
                         .arg(playback(1)->row().algbw.gigabytesPerSecond(), 0, 'f', 2));
  }
  m_state->setToolTip(m_state->text());
}

}  // namespace coppice::designer
