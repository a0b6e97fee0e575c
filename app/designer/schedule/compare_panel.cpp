// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/compare_panel.hpp"

#include <QClipboard>
#include <QGraphicsLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>
#include <QtCharts/QCategoryAxis>
#include <QtCharts/QLegend>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "designer/jobs/bound.hpp"
#include "designer/schedule/chart_style.hpp"
#include "designer/schedule/empty_page.hpp"
#include "designer/schedule/figures.hpp"
#include "designer/schedule/simulation_settings.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

enum What { kAlgbwOf, kBusbwOf, kTimeOf };

constexpr int kMargin = 8;
constexpr double kLine = 1.8;

double valueOf(const simulate::Row& row, int what) {
  return what == kTimeOf ? row.time : what == kBusbwOf ? row.busbw : row.algbw;
}

/// Every doubling of the size is one step of the axis.
double place(std::int64_t size) {
  return std::log2(static_cast<double>(size));
}

QIcon swatch(int index) {
  constexpr int kSide = 12;
  QPixmap pixmap(kSide, kSide);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(category(index, Theme::instance().scheme()));
  painter.drawEllipse(1, 1, kSide - 2, kSide - 2);
  return QIcon(pixmap);
}

QString stepsOf(const ScheduleResult& result) {
  if (!result.cost) {
    return ComparePanel::tr("height %1").arg(result.heights.logicalMax);
  }
  return result.stepSchedule()->isSynchronous ? QString::number(result.cost->steps) : ComparePanel::tr("none");
}

QString timeText(double microseconds) {
  constexpr double kThousand = 1000;
  constexpr int kDigits = 4;
  return microseconds < kThousand ? QString::number(microseconds, 'g', kDigits) + u" µs"_s
                                  : QString::number(microseconds / kThousand, 'g', kDigits) + u" ms"_s;
}

}  // namespace

ComparePanel::ComparePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_what(new QComboBox(this)),
      m_size(new QComboBox(this)),
      m_values(new QLabel(this)),
      m_copy(new QToolButton(this)),
      m_plan(new QToolButton(this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_chart(new QChart),
      m_view(new QChartView(m_chart, this)),
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
  connect(m_size, &QComboBox::currentIndexChanged, this, &ComparePanel::fill);
  connect(m_copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(csv()); });
  connect(m_plan, &QToolButton::clicked, this, &ComparePanel::planWanted);
  connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
    const int row = m_table->currentRow();
    if (!m_isFilling && row >= 0 && row < static_cast<int>(m_schedules.size())) {
      Q_EMIT chosen(m_schedules[static_cast<std::size_t>(row)].id);
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
  fill();
  draw();
  if (m_schedules.empty() || !isVisible()) {
    m_job.cancel();
    return;
  }
  submit(m_schedules.front().result);
}

void ComparePanel::submit(const ScheduleResultPtr& result) {
  m_job.submit([result](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return Answer{result, predict(*result, progress)};
  });
}

QWidget* ComparePanel::makeBody() {
  m_what->setObjectName(u"compareWhat"_s);
  m_what->setAccessibleName(tr("What is compared"));
  m_what->addItem(tr("algbw, GB/s"), kAlgbwOf);
  m_what->addItem(tr("busbw, GB/s"), kBusbwOf);
  m_what->addItem(tr("time"), kTimeOf);
  m_size->setObjectName(u"compareSize"_s);
  m_size->setAccessibleName(tr("Size in the table"));
  for (const std::int64_t size : comparedSizes()) {
    m_size->addItem(tr("at %1").arg(bytesText(size)), QVariant::fromValue<qint64>(size));
  }
  constexpr qint64 kUsualSize = qint64{1} << 26;
  m_size->setCurrentIndex(m_size->findData(kUsualSize));
  m_copy->setObjectName(u"compareCopy"_s);
  m_copy->setIcon(icon(u"copy"_s));
  m_copy->setToolTip(tr("Copy all numbers as CSV"));
  m_copy->setAccessibleName(m_copy->toolTip());
  m_plan->setObjectName(u"comparePlan"_s);
  m_plan->setIcon(icon(u"export"_s));
  m_plan->setToolTip(tr("Export the fastest for each band of sizes as programs"));
  m_plan->setAccessibleName(m_plan->toolTip());
  m_values->setObjectName(u"compareValues"_s);
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setUpTable();
  m_view->setObjectName(u"compareChart"_s);
  m_view->setAccessibleName(tr("Predicted speed against size"));
  m_view->setRenderHint(QPainter::Antialiasing);
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->viewport()->setMouseTracking(true);
  m_view->viewport()->installEventFilter(this);
  m_chart->layout()->setContentsMargins(0, 0, 0, 0);
  m_chart->setBackgroundRoundness(0);
  m_chart->legend()->hide();
  auto* body = new QWidget(m_pages);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  line->setSpacing(kMargin);
  line->addWidget(m_what);
  line->addWidget(m_size);
  line->addWidget(m_copy);
  line->addWidget(m_plan);
  line->addWidget(m_values, 1);
  auto* parts = new QSplitter(Qt::Horizontal, body);
  parts->addWidget(m_table);
  parts->addWidget(m_view);
  parts->setChildrenCollapsible(false);
  // Sizes as at first; both grow alike.
  constexpr int kTableWidth = 600;
  constexpr int kChartWidth = 420;
  constexpr int kMinChartWidth = 260;
  m_view->setMinimumWidth(kMinChartWidth);
  parts->setSizes({kTableWidth, kChartWidth});
  parts->setStretchFactor(0, 1);
  parts->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(line);
  layout->addWidget(parts, 1);
  return body;
}

void ComparePanel::setUpTable() {
  m_table->setObjectName(u"compareTable"_s);
  m_table->setAccessibleName(tr("Schedules"));
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->verticalHeader()->hide();
  constexpr int kRowHeight = 26;
  m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  QHeaderView* header = m_table->horizontalHeader();
  header->setHighlightSections(false);
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
    draw();
    predictNext();
  }
}

const Prediction* ComparePanel::predictionOf(int row) const {
  const auto found = m_predictions.find(m_schedules[static_cast<std::size_t>(row)].result.get());
  return found != m_predictions.end() ? found->second.get() : nullptr;
}

bool ComparePanel::isSettled() const {
  return m_predictions.size() == m_schedules.size();
}

void ComparePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  predictNext();
}

void ComparePanel::predictNext() {
  if (!isVisible() || m_job.isRunning()) {
    return;
  }
  const auto next = std::find_if(m_schedules.begin(), m_schedules.end(), [this](const ComparedSchedule& each) {
    return !m_predictions.contains(each.result.get());
  });
  if (next == m_schedules.end()) {
    return;
  }
  submit(next->result);
}

void ComparePanel::receive(const Answer& answer) {
  const bool isListed = std::any_of(m_schedules.begin(), m_schedules.end(),
                                    [&](const ComparedSchedule& each) { return each.result == answer.result; });
  if (isListed) {
    m_predictions[answer.result.get()] = answer.prediction;
    fill();
    draw();
  }
  predictNext();
}

qint64 ComparePanel::chosenSize() const {
  return m_size->currentData().toLongLong();
}

QString ComparePanel::fastestSizes(int row) const {
  const std::vector<std::int64_t>& sizes = comparedSizes();
  const auto timeOf = [this](int of, std::size_t at) {
    const Prediction* prediction = predictionOf(of);
    return prediction != nullptr && at < prediction->rows.size() ? std::optional(prediction->rows[at].time)
                                                                 : std::nullopt;
  };
  const auto isFastest = [&](std::size_t at) {
    const auto own = timeOf(row, at);
    for (int other = 0; own && other < static_cast<int>(m_schedules.size()); ++other) {
      const auto time = timeOf(other, at);
      if (time && *time < *own) {
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

std::optional<Rational> ComparePanel::commonBound() const {
  std::optional<Rational> bound;
  for (const ComparedSchedule& each : m_schedules) {
    bound = std::max(bound, each.result->bound);
  }
  return bound;
}

QString ComparePanel::shareOfBound(const ScheduleResult& result) const {
  const auto bound = commonBound();
  return bound ? percentOf(result.algbw, *bound) : u"–"_s;
}

void ComparePanel::fill() {
  m_isFilling = true;
  const int what = m_what->currentData().toInt();
  m_table->setHorizontalHeaderLabels({tr("Schedule"), tr("Of bound"), tr("Limit, GB/s"), tr("Steps"),
                                      what == kTimeOf ? tr("Time") : tr("GB/s"), tr("Fastest at")});
  for (const int column : {kBound, kAlgbw, kSteps, kAtSize}) {
    m_table->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  m_table->horizontalHeaderItem(kAlgbw)->setToolTip(tr("Exact algbw: what large sizes approach"));
  m_table->horizontalHeaderItem(kAtSize)->setToolTip(tr("Predicted by simulation, %1").arg(m_size->currentText()));
  m_table->setRowCount(static_cast<int>(m_schedules.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    fillRow(row);
  }
  for (std::size_t row = 0; row < m_schedules.size(); ++row) {
    if (m_schedules[row].id == m_current) {
      m_table->selectRow(static_cast<int>(row));
    }
  }
  m_isFilling = false;
}

void ComparePanel::fillRow(int row) {
  const ComparedSchedule& schedule = m_schedules[static_cast<std::size_t>(row)];
  const ScheduleResult& result = *schedule.result;
  const Prediction* prediction = predictionOf(row);
  QString value = tr("simulating…");
  if (prediction != nullptr) {
    const auto found = std::find_if(prediction->rows.begin(), prediction->rows.end(),
                                    [&](const simulate::Row& each) { return each.size == chosenSize(); });
    const int what = m_what->currentData().toInt();
    value = found == prediction->rows.end() ? tr("not known")
            : what == kTimeOf               ? timeText(found->time)
                                            : QString::number(valueOf(*found, what), 'f', 2);
  }
  const QStringList texts{schedule.name,
                          shareOfBound(result),
                          decimal(result.algbw),
                          stepsOf(result),
                          value,
                          prediction != nullptr ? fastestSizes(row) : QString()};
  for (int column = 0; column < kColumns; ++column) {
    auto* item = new QTableWidgetItem(texts[column]);
    const bool isFigure = column != kName && column != kFastest;
    if (isFigure) {
      item->setFont(figureFont());
      item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    }
    m_table->setItem(row, column, item);
  }
  m_table->item(row, kName)->setIcon(swatch(row));
  m_table->item(row, kName)->setToolTip(schedule.name);
  m_table->item(row, kAlgbw)->setToolTip(tr("%1 GB/s").arg(exactly(result.algbw)));
  if (prediction != nullptr && !prediction->problem.isEmpty()) {
    m_table->item(row, kAtSize)->setToolTip(prediction->problem);
  }
  m_table->item(row, kFastest)->setToolTip(texts[kFastest]);
}

void ComparePanel::draw() {
  m_chart->removeAllSeries();
  for (QAbstractAxis* axis : m_chart->axes()) {
    m_chart->removeAxis(axis);
    delete axis;
  }
  const Theme& theme = Theme::instance();
  styleChart(*m_chart, *m_view);
  const int what = m_what->currentData().toInt();
  QList<QLineSeries*> lines;
  double least = 0;
  double most = 0;
  const auto add = [&](double x, double value, QLineSeries* line) {
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    line->append(x, value);
  };
  const double first = place(comparedSizes().front());
  const double last = place(comparedSizes().back());
  for (int row = 0; row < static_cast<int>(m_schedules.size()); ++row) {
    if (const Prediction* prediction = predictionOf(row); prediction != nullptr && !prediction->rows.empty()) {
      auto* line = new QLineSeries;
      line->setPen(QPen(category(row, theme.scheme()), kLine, categoryDash(row)));
      for (const simulate::Row& each : prediction->rows) {
        add(place(each.size), valueOf(each, what), line);
      }
      lines << line;
    }
  }
  if (lines.isEmpty()) {
    m_values->setText(u"<span style='color:%1'>%2</span>"_s.arg(theme.color(Token::muted).name(),
                                                                m_schedules.empty() ? QString() : tr("Simulating…")));
    return;
  }
  if (const auto bound = commonBound(); bound && what == kAlgbwOf) {
    auto* line = new QLineSeries;
    line->setPen(QPen(theme.color(Token::text), 1.2, Qt::DashLine));
    add(first, bound->toDouble(), line);
    add(last, bound->toDouble(), line);
    lines << line;
  }
  auto* x = new QCategoryAxis;
  x->setLabelsPosition(QCategoryAxis::AxisLabelsPositionOnValue);
  x->setStartValue(first);
  x->setRange(first, last);
  constexpr std::size_t kEvery = 4;
  for (std::size_t i = 0; i < comparedSizes().size(); i += kEvery) {
    x->append(bytesText(comparedSizes()[i]), place(comparedSizes()[i]));
  }
  auto* y = new QLogValueAxis;
  constexpr double kBase = 10;
  y->setBase(kBase);
  y->setLabelFormat(u"%g"_s);
  y->setRange(std::pow(kBase, std::floor(std::log10(least))), std::pow(kBase, std::ceil(std::log10(most * 1.01))));
  m_chart->addAxis(x, Qt::AlignBottom);
  m_chart->addAxis(y, Qt::AlignLeft);
  styleAxis(*x);
  styleAxis(*y);
  for (QLineSeries* line : lines) {
    m_chart->addSeries(line);
    line->attachAxis(x);
    line->attachAxis(y);
  }
  m_values->setText(u"<span style='color:%1'>%2</span>"_s.arg(
      theme.color(Token::muted).name(), isSettled() ? tr("Point at a size to see its values") : tr("Simulating…")));
}

bool ComparePanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseMove && !m_chart->series().isEmpty()) {
    hover(static_cast<QMouseEvent*>(event)->position());
  }
  return QWidget::eventFilter(watched, event);
}

void ComparePanel::hover(const QPointF& position) {
  const QPointF value = m_chart->mapToValue(m_chart->mapFromScene(m_view->mapToScene(position.toPoint())));
  const auto& sizes = comparedSizes();
  const auto at = static_cast<std::size_t>(std::clamp<long long>(std::llround(value.x() - place(sizes.front())), 0,
                                                                 static_cast<long long>(sizes.size()) - 1));
  const int what = m_what->currentData().toInt();
  QString text = u"<b>%1</b>"_s.arg(bytesText(sizes[at]));
  for (int row = 0; row < static_cast<int>(m_schedules.size()); ++row) {
    const Prediction* prediction = predictionOf(row);
    if (prediction == nullptr || at >= prediction->rows.size()) {
      continue;
    }
    const simulate::Row& each = prediction->rows[at];
    text += u" &nbsp; <span style='color:%1'>●</span> %2: <b>%3</b>"_s.arg(
        category(row, Theme::instance().scheme()).name(),
        m_schedules[static_cast<std::size_t>(row)].name.toHtmlEscaped(),
        what == kTimeOf ? timeText(each.time) : QString::number(valueOf(each, what), 'f', 2));
  }
  m_values->setText(text);
}

QString ComparePanel::csv() const {
  QString text = u"schedule,algbw_exact_GBps,bound_exact_GBps,size_bytes,time_us,algbw_GBps,busbw_GBps\n"_s;
  for (int row = 0; row < static_cast<int>(m_schedules.size()); ++row) {
    const ComparedSchedule& schedule = m_schedules[static_cast<std::size_t>(row)];
    const Prediction* prediction = predictionOf(row);
    QString name = schedule.name;
    name.replace(u'"', u"\"\""_s);
    for (const simulate::Row& each : prediction != nullptr ? prediction->rows : std::vector<simulate::Row>()) {
      constexpr int kDigits = 9;
      text += u"\"%1\",%2,%3,%4,%5,%6,%7\n"_s
                  .arg(name, QString::fromStdString(schedule.result->algbw.toString()),
                       schedule.result->bound ? QString::fromStdString(schedule.result->bound->toString()) : QString())
                  .arg(each.size)
                  .arg(each.time, 0, 'g', kDigits)
                  .arg(each.algbw, 0, 'g', kDigits)
                  .arg(each.busbw, 0, 'g', kDigits);
    }
  }
  return text;
}

}  // namespace coppice::designer
