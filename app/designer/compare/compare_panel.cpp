// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/compare_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/swatch.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

using What = SpeedChart::What;

QString stepsOf(const ScheduleResult& result) {
  if (result.program) {
    return QString::number(result.cost->steps);
  }
  if (!result.cost) {
    return ComparePanel::tr("height %1").arg(result.heights.logicalMax);
  }
  return result.stepSchedule()->isSynchronous ? QString::number(result.cost->steps) : ComparePanel::tr("none");
}

}  // namespace

ComparePanel::ComparePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_what(new QComboBox(this)),
      m_size(new QComboBox(this)),
      m_values(new QLabel(this)),
      m_copy(iconButton(u"compareCopy"_s, u"copy"_s, tr("Copy all numbers as CSV"), this)),
      m_sides(iconButton(u"compareSides"_s, u"side-by-side"_s,
                         tr("Play the two chosen schedules side by side (Ctrl+click chooses a second one)"), this)),
      m_plan(iconButton(u"comparePlan"_s, u"export"_s,
                        tr("Export the fastest schedule for each band of sizes as programs"), this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_more(iconButton(u"compareMore"_s, u"more"_s, tr("Save or copy the chart"), this)),
      m_chart(new SpeedChart(this)),
      m_progressRow(new QWidget(this)),
      m_progress(new QProgressBar(m_progressRow)),
      m_stop(new QPushButton(tr("Cancel"), m_progressRow)),
      m_seen(*this,
             [this](bool isSeen) {
               if (isSeen) {
                 predictNext();
               } else {
                 stop();
               }
             }),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"comparePanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty =
      new EmptyPage(tr("The schedules of one collective side by side: exact figures, predicted speed by size, "
                       "and which of them is fastest at which sizes."),
                    tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &ComparePanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);

  connect(m_what, &QComboBox::currentIndexChanged, this, [this] {
    fill();
    draw();
  });
  connect(m_size, &QComboBox::currentIndexChanged, this, [this] {
    fill();
    // What was asked for last comes first.
    if (const auto task = nextTask(); task && task->size == sizeIn(*m_size)) {
      stop();
    }
    m_isStopped = false;
    predictNext();
  });
  connect(m_stop, &QPushButton::clicked, this, [this] {
    m_isStopped = !m_isStopped;
    if (m_isStopped) {
      stop();
    }
    predictNext();
  });
  connect(m_copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_chart->csv()); });
  connect(m_chart, &SpeedChart::told, this, &ComparePanel::tell);
  connect(m_plan, &QToolButton::clicked, this, &ComparePanel::planWanted);
  connect(m_sides, &QToolButton::clicked, this, &ComparePanel::sideBySideWanted);
  connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
    const std::set<int> rows = selectedRows();
    if (m_isFilling || rows.size() != 1) {
      return;
    }
    if (const ComparedSchedule& only = m_schedules[*rows.begin()]; only.isOfBook()) {
      Q_EMIT chosen(only.id);
    }
  });
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    fill();
    draw();
  });
  connect(&SimulationSettings::instance(), &SimulationSettings::changed, this, &ComparePanel::predictAgain);
}

ComparePanel::~ComparePanel() = default;

void ComparePanel::predictAgain() {
  m_predictions.clear();
  stop();
  m_predictor.reset();
  m_isStopped = false;
  fill();
  draw();
  predictNext();
}

void ComparePanel::stop() {
  m_job.cancel();
  m_running.reset();
  // A stopped simulation may still use it.
  m_predictor.reset();
  showProgress();
}

void ComparePanel::submit(const Task& task) {
  if (!m_predictor || m_predictor->result() != task.result) {
    m_predictor = std::make_shared<Predictor>(task.result);
  }
  m_running = task.result;
  const auto known = m_predictions.find(task.result.get());
  m_job.submit([predictor = m_predictor, size = task.size,
                before = known != m_predictions.end() ? known->second : nullptr](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return Answer{predictor->result(), predictor->at(size, before, progress)};
  });
}

QWidget* ComparePanel::makeBody() {
  m_what->setObjectName(u"compareWhat"_s);
  m_what->setAccessibleName(tr("What is compared"));
  m_what->addItem(tr("algbw, GB/s"), static_cast<int>(What::algbw));
  m_what->addItem(tr("busbw, GB/s"), static_cast<int>(What::busbw));
  m_what->addItem(tr("time"), static_cast<int>(What::time));
  m_what->addItem(tr("limit against latency"), static_cast<int>(What::latency));
  m_size->setObjectName(u"compareSize"_s);
  m_size->setAccessibleName(tr("Size in the table"));
  fillWithSizes(*m_size, kUsualSize, tr("at %1"));
  m_values->setObjectName(u"compareValues"_s);
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setUpTable();
  m_more->setPopupMode(QToolButton::InstantPopup);
  m_more->setStyleSheet(u"QToolButton::menu-indicator { image: none; }"_s);
  auto* menu = new QMenu(m_more);
  menu->addAction(tr("Save Picture…"), this, &ComparePanel::pictureWanted);
  menu->addAction(tr("Copy as nccl-tests Text"), this,
                  [this] { QGuiApplication::clipboard()->setText(m_chart->ncclTestsText()); });
  m_more->setMenu(menu);
  m_chart->setObjectName(u"compareChart"_s);
  auto* parts = new QSplitter(Qt::Horizontal, m_pages);
  parts->addWidget(m_table);
  parts->addWidget(m_chart);
  parts->setChildrenCollapsible(false);
  constexpr int kTableWidth = 640;
  constexpr int kChartWidth = 380;
  constexpr int kMinChartWidth = 260;
  m_chart->setMinimumWidth(kMinChartWidth);
  parts->setSizes({kTableWidth, kChartWidth});
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 2);
  m_progress->setObjectName(u"compareProgress"_s);
  m_progress->setAccessibleName(tr("Progress"));
  m_progress->setTextVisible(false);
  constexpr int kProgressWidth = 90;
  m_progress->setFixedWidth(kProgressWidth);
  m_stop->setObjectName(u"compareStop"_s);
  auto* line = new QHBoxLayout(m_progressRow);
  line->setContentsMargins({});
  line->addWidget(m_progress);
  line->addWidget(m_stop);
  m_progressRow->hide();
  return panelPage(controlRow({m_what, m_size, m_copy, m_sides, m_plan, m_more, m_progressRow}, m_values), parts,
                   m_pages);
}

void ComparePanel::setUpTable() {
  setUpRowTable(*m_table, u"compareTable"_s, tr("Schedules"), QAbstractItemView::ExtendedSelection);
  QHeaderView* header = m_table->horizontalHeader();
  header->setStretchLastSection(true);
  header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  constexpr int kNameWidth = 190;
  constexpr int kFigureWidth = 92;
  header->resizeSection(kName, kNameWidth);
  for (const int column : {kBound, kAlgbw, kSteps, kAtSize}) {
    header->resizeSection(column, kFigureWidth);
  }
}

void ComparePanel::setSchedules(std::vector<ComparedSchedule> schedules, int current) {
  if (m_schedules == schedules && m_current == current) {
    return;
  }
  const bool isSameList = m_schedules == schedules;
  m_schedules = std::move(schedules);
  m_current = current;
  std::erase_if(m_predictions, [this](const auto& known) {
    return std::none_of(m_schedules.begin(), m_schedules.end(),
                        [&](const ComparedSchedule& each) { return each.result.get() == known.first; });
  });
  m_pages->setCurrentIndex(m_schedules.empty() ? 0 : 1);
  fill();
  if (!isSameList) {
    // A simulation ends with what it is of.
    const auto isListed = [this](const ComparedSchedule& each) { return each.result == m_running; };
    if (m_running && std::ranges::none_of(m_schedules, isListed)) {
      stop();
    }
    m_isStopped = false;
    draw();
    predictNext();
  }
}

PredictionPtr ComparePanel::knownOf(const ComparedSchedule& schedule) const {
  if (schedule.isRun()) {
    return schedule.measured;
  }
  const auto found = m_predictions.find(schedule.result.get());
  return found != m_predictions.end() ? found->second : nullptr;
}

const Prediction* ComparePanel::predictionOf(int row) const {
  return knownOf(m_schedules[row]).get();
}

bool ComparePanel::isSettled() const {
  return std::all_of(m_schedules.begin(), m_schedules.end(), [this](const ComparedSchedule& each) {
    const PredictionPtr known = knownOf(each);
    return known != nullptr && (each.isRun() || known->isComplete());
  });
}

std::optional<ComparePanel::Task> ComparePanel::nextTask() const {
  if (m_isStopped) {
    return std::nullopt;
  }
  const auto lacks = [this](const ComparedSchedule& each, std::int64_t size) {
    const PredictionPtr known = knownOf(each);
    return !each.isRun() && (known == nullptr || (known->problem.isEmpty() && known->at(size) == nullptr));
  };
  const std::int64_t chosen = sizeIn(*m_size);
  for (const ComparedSchedule& each : m_schedules) {
    if (lacks(each, chosen)) {
      return Task{each.result, chosen};
    }
  }
  // The one that was simulated last goes on.
  for (const bool isKept : {true, false}) {
    for (const ComparedSchedule& each : m_schedules) {
      const bool isLast = m_predictor && m_predictor->result() == each.result;
      for (const std::int64_t size : comparedSizes()) {
        if (isLast == isKept && lacks(each, size)) {
          return Task{each.result, size};
        }
      }
    }
  }
  return std::nullopt;
}

void ComparePanel::predictNext() {
  if (m_seen.isSeen() && !m_running) {
    if (const auto task = nextTask()) {
      submit(*task);
    } else {
      m_predictor.reset();
    }
  }
  showProgress();
}

void ComparePanel::showProgress() {
  qsizetype done = 0;
  qsizetype all = 0;
  for (const ComparedSchedule& each : m_schedules) {
    if (!each.isRun()) {
      const auto sizes = static_cast<qsizetype>(comparedSizes().size());
      const PredictionPtr known = knownOf(each);
      all += sizes;
      done += known == nullptr ? 0 : known->isComplete() ? sizes : static_cast<qsizetype>(known->rows.size());
    }
  }
  m_progress->setRange(0, static_cast<int>(all));
  m_progress->setValue(static_cast<int>(done));
  m_progress->setToolTip(tr("%1 of %2 simulations").arg(done).arg(all));
  m_stop->setText(m_isStopped ? tr("Continue") : tr("Cancel"));
  m_progressRow->setVisible(done < all);
}

void ComparePanel::receive(const Answer& answer) {
  m_running.reset();
  const bool isListed = std::any_of(m_schedules.begin(), m_schedules.end(),
                                    [&](const ComparedSchedule& each) { return each.result == answer.result; });
  if (isListed) {
    m_predictions[answer.result.get()] = answer.prediction;
    fill();
    draw();
  }
  predictNext();
}

std::set<int> ComparePanel::selectedRows() const {
  std::set<int> rows;
  for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) {
    rows.insert(index.row());
  }
  return rows;
}

std::optional<std::pair<int, int>> ComparePanel::pair() const {
  std::set<int> rows = selectedRows();
  if (m_schedules.size() < 2 || rows.empty() || rows.size() > 2) {
    return std::nullopt;
  }
  if (rows.size() == 1) {
    int best = -1;
    for (int row = 0; row < static_cast<int>(m_schedules.size()); ++row) {
      const auto limitOf = [this](int of) { return m_schedules[of].result->algbw; };
      if (!rows.contains(row) && (best < 0 || limitOf(row) > limitOf(best))) {
        best = row;
      }
    }
    rows.insert(best);
  }
  return std::pair(m_schedules[*rows.begin()].id, m_schedules[*rows.rbegin()].id);
}

QString ComparePanel::fastestSizes(int row) const {
  const std::vector<std::int64_t>& sizes = comparedSizes();
  const auto timeOf = [this, &sizes](int of, std::size_t at) {
    const Prediction* prediction = m_schedules[of].isRun() ? nullptr : predictionOf(of);
    const simulate::Row* known = prediction != nullptr ? prediction->at(sizes[at]) : nullptr;
    return known != nullptr ? std::optional(known->time) : std::nullopt;
  };
  const auto isAwaited = [this](int of) {
    const Prediction* prediction = predictionOf(of);
    return !m_schedules[of].isRun() && (prediction == nullptr || !prediction->isComplete());
  };
  const auto isFastest = [&](std::size_t at) {
    const auto own = timeOf(row, at);
    for (int other = 0; own && other < static_cast<int>(m_schedules.size()); ++other) {
      const auto time = timeOf(other, at);
      if (time ? *time < *own : isAwaited(other)) {
        return false;
      }
    }
    return own.has_value();
  };
  QStringList ranges;
  for (std::size_t first = 0; first < sizes.size(); ++first) {
    if (!isFastest(first)) {
      continue;
    }
    std::size_t last = first;
    while (last + 1 < sizes.size() && isFastest(last + 1)) {
      ++last;
    }
    const bool isToEnd = last + 1 == sizes.size();
    ranges << (first == 0 && isToEnd ? tr("all sizes")
               : isToEnd             ? tr("from %1").arg(bytesText(sizes[first]))
               : first == last       ? bytesText(sizes[first])
                                     : tr("%1 to %2").arg(bytesText(sizes[first]), bytesText(sizes[last])));
    first = last;
  }
  return ranges.join(u", "_s);
}

std::optional<Bandwidth> ComparePanel::commonBound() const {
  std::optional<Bandwidth> bound;
  for (const ComparedSchedule& each : m_schedules) {
    bound = std::max(bound, each.result->bound);
  }
  return bound;
}

QString ComparePanel::boundTip() const {
  const auto bound = commonBound();
  const auto largest =
      std::ranges::find_if(m_schedules, [&](const auto& each) { return bound && each.result->bound == bound; });
  return largest == m_schedules.end()
             ? QString()
             : tr("Of %1").arg(QString::fromStdString(std::string(schedule::nameOf(largest->result->boundScope))));
}

QString ComparePanel::shareOfBound(const ScheduleResult& result) const {
  const auto bound = commonBound();
  return bound ? percentOf(result.algbw, *bound) : u"–"_s;
}

void ComparePanel::fill() {
  m_isFilling = true;
  m_table->setHorizontalHeaderLabels({tr("Schedule"), tr("Of bound"), tr("Limit, GB/s"), tr("Steps"),
                                      what() == What::time ? tr("Time") : tr("GB/s"), tr("Fastest at")});
  for (const int column : {kBound, kAlgbw, kSteps, kAtSize}) {
    m_table->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  m_table->horizontalHeaderItem(kBound)->setToolTip(boundTip());
  m_table->horizontalHeaderItem(kAlgbw)->setToolTip(tr("Exact algbw, which large sizes approach"));
  m_table->horizontalHeaderItem(kAtSize)->setToolTip(tr("Predicted by simulation, %1").arg(m_size->currentText()));
  m_table->setRowCount(static_cast<int>(m_schedules.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    fillRow(row);
  }
  // Two rows that are held against each other stay chosen.
  for (std::size_t row = 0; row < m_schedules.size() && selectedRows().size() < 2; ++row) {
    if (m_schedules[row].id == m_current && !selectedRows().contains(static_cast<int>(row))) {
      m_table->selectRow(static_cast<int>(row));
    }
  }
  m_sides->setEnabled(m_schedules.size() > 1);
  m_isFilling = false;
}

void ComparePanel::fillRow(int row) {
  const ComparedSchedule& schedule = m_schedules[row];
  const ScheduleResult& result = *schedule.result;
  const Prediction* prediction = predictionOf(row);
  QString value = m_isStopped ? tr("cancelled") : u"…"_s;
  const simulate::Row* found = prediction != nullptr ? prediction->at(sizeIn(*m_size)) : nullptr;
  if (prediction != nullptr && (found != nullptr || schedule.isRun() || prediction->isComplete())) {
    value = found == nullptr        ? (schedule.isRun() ? tr("not measured") : tr("not known"))
            : what() == What::time  ? timeText(found->time)
            : what() == What::busbw ? QString::number(found->busbw.gigabytesPerSecond(), 'f', 2)
                                    : QString::number(found->algbw.gigabytesPerSecond(), 'f', 2);
    if (found != nullptr && !prediction->sample.isEmpty()) {
      value = u"≈ "_s + value;
    }
  }
  const QStringList texts{schedule.name,
                          shareOfBound(result),
                          decimal(result.algbw),
                          stepsOf(result),
                          value,
                          schedule.isRun()        ? tr("measured")
                          : prediction != nullptr ? fastestSizes(row)
                                                  : QString()};
  for (int column = 0; column < kColumns; ++column) {
    setCell(*m_table, row, column, texts[column], column != kName && column != kFastest);
  }
  m_table->item(row, kName)->setIcon(swatch(row));
  m_table->item(row, kAlgbw)->setToolTip(tr("%1 GB/s").arg(exactly(result.algbw)));
  if (prediction != nullptr && !(prediction->problem.isEmpty() && prediction->sample.isEmpty())) {
    m_table->item(row, kAtSize)
        ->setToolTip(!prediction->problem.isEmpty() ? prediction->problem : tr("About: %1.").arg(prediction->sample));
  }
}

SpeedChart::What ComparePanel::what() const {
  return static_cast<What>(m_what->currentData().toInt());
}

void ComparePanel::draw() {
  std::vector<SpeedSeries> series;
  for (const ComparedSchedule& each : m_schedules) {
    series.push_back({each.name, each.result, knownOf(each)});
  }
  m_chart->setSeries(std::move(series), what(), commonBound());
  tell({});
}

QString ComparePanel::sampleText() const {
  for (const ComparedSchedule& each : m_schedules) {
    if (const PredictionPtr known = knownOf(each); known && !known->sample.isEmpty()) {
      return tr("≈ %1").arg(known->sample);
    }
  }
  return {};
}

void ComparePanel::tell(const QString& richText) {
  const QString waiting = m_schedules.empty()       ? QString()
                          : !sampleText().isEmpty() ? sampleText()
                          : m_isStopped             ? tr("Cancelled. Continue simulates the rest.")
                          : !isSettled()            ? tr("Simulating, %1 first").arg(bytesText(sizeIn(*m_size)))
                          : what() == What::latency ? tr("Point at a schedule to see its values")
                                                    : tr("Point at a size to see its values; a click pins it");
  m_values->setToolTip(waiting);
  const QString fitting = m_values->fontMetrics().elidedText(waiting, Qt::ElideRight, m_values->width());
  m_values->setText(!richText.isEmpty() ? richText
                                        : u"<span style='color:%1'>%2</span>"_s.arg(
                                              Theme::instance().color(Token::muted).name(), fitting));
}

}  // namespace coppice::designer
