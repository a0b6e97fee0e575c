// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/measured_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Items of the list, as their data: 0 = none, 1 = what was given, then the runs, then those that were imported.
constexpr int kGiven = 1;
constexpr int kFirstRun = 2;

QString signedTime(Microseconds time) {
  return (time < Microseconds(0) ? u"−"_s : u"+"_s) + timeText(abs(time));
}

QString ratioText(const std::optional<double>& ratio) {
  return ratio ? QString::number(*ratio, 'f', 2) + u'×' : u"–"_s;
}

}  // namespace

MeasuredPanel::MeasuredPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_which(new QComboBox(this)),
      m_open(iconButton(u"measuredOpen"_s, u"open"_s,
                        tr("Import a run: records, logs and graph dumps of NCCL, nccl-tests, Inspector…"), this)),
      m_paste(iconButton(u"measuredPaste"_s, u"paste"_s, tr("Paste NCCL's log or the table of nccl-tests"), this)),
      m_traces(new QComboBox(this)),
      m_parts(new QComboBox(this)),
      m_what(new QComboBox(this)),
      m_profile(iconButton(u"measuredProfile"_s, u"settings"_s,
                           tr("Simulate with the latencies and bandwidths that coppice-exec profile measured…"), this)),
      m_copy(iconButton(u"measuredCopy"_s, u"copy"_s, tr("Copy all numbers as CSV"), this)),
      m_text(new QLabel(this)),
      m_views(new QStackedWidget(this)),
      m_chart(new MeasuredChart(this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_nccl(new NcclPanel(this)),
      m_job([this](const RunComparisonPtr& comparison) { receive(comparison); }, 0ms) {
  setObjectName(u"measuredPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty =
      new EmptyPage(tr("Compares a recorded run, or an nccl-tests table, with the prediction of the "
                       "schedule: speed by size, and the links and ranks that lost time. Drop or paste "
                       "NCCL's log to see its rings on this fabric, with or without a schedule. Without a log, "
                       "our version of NCCL's search says what it would choose."),
                    tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &MeasuredPanel::generateWanted);
  connect(empty->addButton(expectationTitle()), &QPushButton::clicked, this, &MeasuredPanel::expectationWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);
  connect(m_open, &QToolButton::clicked, this, &MeasuredPanel::fileWanted);
  connect(m_paste, &QToolButton::clicked, this, &MeasuredPanel::pasteWanted);
  connect(m_profile, &QToolButton::clicked, this, &MeasuredPanel::profileWanted);
  connect(m_copy, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(m_import ? m_nccl->csv() : csv()); });
  connect(m_which, &QComboBox::activated, this, &MeasuredPanel::choose);
  connect(m_traces, &QComboBox::activated, this, [this](int index) { compare(static_cast<std::size_t>(index)); });
  connect(m_parts, &QComboBox::currentIndexChanged, this, &MeasuredPanel::fillTable);
  connect(m_what, &QComboBox::currentIndexChanged, this, [this](int index) {
    m_chart->setWhat(static_cast<MeasuredChart::What>(index));
    m_nccl->setWhat(static_cast<MeasuredChart::What>(index));
  });
  connect(m_table, &QTableWidget::itemSelectionChanged, this, &MeasuredPanel::chosenChanged);
  connect(&SimulationSettings::instance(), &SimulationSettings::changed, this, [this] {
    const auto trace = m_comparison ? std::optional(m_comparison->trace) : std::nullopt;
    m_comparison.reset();
    compare(trace);
  });
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    const int row = chosen() ? m_table->currentRow() : -1;
    fillTable();
    if (row >= 0) {
      m_table->selectRow(row);
    }
  });
  fillRuns();
  tell();
}

MeasuredPanel::~MeasuredPanel() = default;

QString MeasuredPanel::expectationTitle() {
  return tr("What Stock NCCL Would Do");
}

void MeasuredPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  Q_EMIT chosenChanged();
}

void MeasuredPanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  Q_EMIT chosenChanged();
}

QLayout* MeasuredPanel::makeHead() {
  m_which->setObjectName(u"measuredRun"_s);
  m_which->setAccessibleName(tr("Recorded run"));
  m_which->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  constexpr int kNameLength = 22;
  m_which->setMinimumContentsLength(kNameLength);
  m_profile->setCheckable(true);
  m_traces->setObjectName(u"measuredTrace"_s);
  m_traces->setAccessibleName(tr("Recorded size"));
  m_parts->setObjectName(u"measuredParts"_s);
  m_parts->setAccessibleName(tr("What is ranked"));
  m_parts->addItems({tr("Links"), tr("Ranks")});
  m_what->setObjectName(u"measuredWhat"_s);
  m_what->setAccessibleName(tr("What is drawn"));
  m_what->addItems({tr("algbw"), tr("busbw"), tr("time")});
  m_text->setObjectName(u"measuredText"_s);
  m_text->setProperty("role", u"muted"_s);
  m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  return controlRow({m_which, m_open, m_paste, m_what, m_traces, m_parts, m_profile, m_copy}, m_text);
}

QWidget* MeasuredPanel::makeBody() {
  setUpTable();
  auto* body = new QWidget(m_pages);
  auto* empty = new EmptyPage(tr("Compares the records of coppice-exec run --json --trace, or the table of an "
                                 "nccl-tests program, with the prediction of this schedule, and shows what NCCL chose: "
                                 "drop or paste its log."),
                              tr("Import a Run…"), m_views);
  connect(empty, &EmptyPage::clicked, this, &MeasuredPanel::fileWanted);
  connect(empty->addButton(expectationTitle()), &QPushButton::clicked, this, &MeasuredPanel::expectationWanted);
  m_views->addWidget(empty);
  auto* halves = new QSplitter(Qt::Horizontal, m_views);
  m_views->addWidget(halves);
  m_views->addWidget(scrolled(m_nccl, m_views));  // small windows have little height for it
  halves->addWidget(m_chart);
  halves->addWidget(m_table);
  halves->setChildrenCollapsible(false);
  constexpr int kChartWidth = 420;
  constexpr int kTableWidth = 560;
  halves->setSizes({kChartWidth, kTableWidth});
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(makeHead());
  layout->addWidget(m_views, 1);
  return body;
}

void MeasuredPanel::setUpTable() {
  setUpRowTable(*m_table, u"measuredTable"_s, tr("Time lost against the plan"));
  QHeaderView* header = m_table->horizontalHeader();
  header->setStretchLastSection(true);
  header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  constexpr int kNameWidth = 160;
  constexpr int kFigureWidth = 84;
  header->resizeSection(kName, kNameWidth);
  for (const int column : {kPlanned, kMeasured, kRatio}) {
    header->resizeSection(column, kFigureWidth);
  }
}

void MeasuredPanel::setResult(ScheduleResultPtr result) {
  if (m_result == result) {
    return;
  }
  m_result = std::move(result);
  showPage();
  compare(std::nullopt);
}

void MeasuredPanel::setRuns(std::vector<RecordedRun> runs) {
  if (m_runs == runs) {
    return;
  }
  m_runs = std::move(runs);
  fillRuns();
}

void MeasuredPanel::take(RecordedRun run) {
  m_given = std::move(run);
  m_chosen = m_given;
  m_import.reset();
  fillRuns();
  compare(std::nullopt);
  Q_EMIT importChosen();
}

void MeasuredPanel::setImports(std::vector<NcclImportPtr> imports, const NcclImportPtr& shown) {
  if (m_imports == imports && m_import == shown) {
    return;
  }
  m_imports = std::move(imports);
  m_import = shown;
  if (m_import) {
    m_chosen.reset();
  }
  fillRuns();
  showPage();
  compare(std::nullopt);
}

void MeasuredPanel::showPage() {
  m_pages->setCurrentIndex(m_result || !m_imports.empty() ? 1 : 0);
}

void MeasuredPanel::choose(int index) {
  const int which = m_which->itemData(index).toInt();
  const int firstImport = kFirstRun + static_cast<int>(m_runs.size());
  m_import = which >= firstImport ? m_imports[which - firstImport] : nullptr;
  m_chosen = which == kGiven                             ? m_given
             : which >= kFirstRun && which < firstImport ? std::optional(m_runs[which - kFirstRun])
                                                         : std::nullopt;
  compare(std::nullopt);
  Q_EMIT importChosen();
}

void MeasuredPanel::setProfile(const QString& name) {
  m_profile->setChecked(!name.isEmpty());
  m_profile->setToolTip(name.isEmpty() ? m_profile->accessibleName()
                                       : tr("Simulated with the profile %1. Press to use the defaults.").arg(name));
}

void MeasuredPanel::fillRuns() {
  const QSignalBlocker quiet(m_which);
  m_which->clear();
  m_which->addItem(tr("No run"), 0);
  int chosen = 0;
  const auto add = [&](const QString& title, int item, bool isChosen) {
    if (isChosen) {
      chosen = m_which->count();
    }
    m_which->addItem(title, item);
  };
  if (m_given) {
    add(m_given->title, kGiven, m_chosen && *m_chosen == *m_given);
  }
  int place = kFirstRun;
  for (const RecordedRun& run : m_runs) {
    add(run.title, place++, m_chosen && *m_chosen == run);
  }
  for (const NcclImportPtr& import : m_imports) {
    add(import->title, place++, m_import == import);
  }
  m_which->setCurrentIndex(chosen);
}

void MeasuredPanel::compare(std::optional<std::size_t> trace) {
  m_views->setCurrentIndex(m_import ? 2 : m_chosen ? 1 : 0);
  if (!m_result || !m_chosen) {
    m_job.cancel();
    receive(nullptr);
    return;
  }
  m_job.submit([result = m_result, source = *m_chosen, trace, before = m_comparison](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return compareRun(result, source, trace, before, progress);
  });
  tell();
}

void MeasuredPanel::receive(const RunComparisonPtr& comparison) {
  if (comparison && (comparison->result != m_result || !m_chosen || !(comparison->source == *m_chosen))) {
    return;
  }
  m_comparison = comparison;
  m_chart->setComparison(comparison);
  fillTraces();
  fillTable();
  Q_EMIT comparisonChanged();
}

void MeasuredPanel::fillTraces() {
  const QSignalBlocker quiet(m_traces);
  m_traces->clear();
  if (m_comparison && m_comparison->run) {
    for (const workflow::MeasuredTrace& trace : m_comparison->run->traces) {
      m_traces->addItem(trace.inPlace ? tr("%1, in place").arg(bytesText(trace.size)) : bytesText(trace.size));
    }
    m_traces->setCurrentIndex(static_cast<int>(m_comparison->trace));
  }
  m_traces->setVisible(m_traces->count() > 0);
  m_parts->setVisible(m_traces->count() > 0);
}

const std::vector<simulate::ComparedPart>* MeasuredPanel::parts() const {
  if (!m_comparison || !m_comparison->measured) {
    return nullptr;
  }
  return showsLinks() ? &m_comparison->parts.links : &m_comparison->parts.ranks;
}

QString MeasuredPanel::nameOf(const simulate::ComparedPart& part) const {
  const fabric::Fabric& fabric = *m_result->fabric;
  const auto node = [&](fabric::NodeIndex index) { return QString::fromStdString(fabric.nodes()[index].id); };
  const auto index = static_cast<std::size_t>(part.index);
  return showsLinks() ? node(fabric.arcs()[index].tail) + u" → "_s + node(fabric.arcs()[index].head)
                      : tr("rank %1, %2").arg(part.index).arg(node(fabric.gpus()[index]));
}

void MeasuredPanel::fillTable() {
  {
    const QSignalBlocker quiet(m_table);
    const std::vector<simulate::ComparedPart>* listed = parts();
    m_table->setVisible(listed != nullptr);
    m_table->clearContents();
    m_table->setHorizontalHeaderLabels(
        {showsLinks() ? tr("Link") : tr("Sender"), tr("Planned"), tr("Measured"), tr("Ratio"), tr("Time lost")});
    m_table->setRowCount(listed != nullptr ? static_cast<int>(listed->size()) : 0);
    for (int row = 0; row < m_table->rowCount(); ++row) {
      const simulate::ComparedPart& part = (*listed)[row];
      const QStringList texts{nameOf(part), timeText(part.planned), timeText(part.measured), ratioText(part.ratio()),
                              signedTime(part.lost())};
      for (int column = 0; column < kColumns; ++column) {
        QTableWidgetItem& item = setCell(*m_table, row, column, texts[column], column != kName,
                                         tr("%1: last arrival planned at %2, measured at %3")
                                             .arg(texts[kName], timeText(part.plannedEnd), timeText(part.measuredEnd)));
        if (column == kLost && part.lost() > Microseconds(0)) {
          item.setForeground(Theme::instance().color(Token::warning));
        }
      }
    }
    for (const int column : {kPlanned, kMeasured, kRatio, kLost}) {
      m_table->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    }
    m_table->horizontalHeaderItem(kPlanned)->setToolTip(tr("Time during which a message was under way, simulated"));
    m_table->horizontalHeaderItem(kMeasured)->setToolTip(tr("The same, in the recorded run"));
  }
  tell();
  Q_EMIT chosenChanged();
}

std::optional<simulate::ComparedPart> MeasuredPanel::chosen() const {
  const std::vector<simulate::ComparedPart>* listed = parts();
  const int row = m_table->currentRow();
  if (listed == nullptr || row < 0 || row >= static_cast<int>(listed->size()) || m_table->selectedItems().isEmpty()) {
    return std::nullopt;
  }
  return (*listed)[row];
}

void MeasuredPanel::tell() {
  QString text;
  if (m_import && !m_import->run) {
    text = tr("No log was read: by our version of NCCL's search and tuning model");
  } else if (m_import) {
    const nccl::Run& log = m_import->run->log;
    text = log.version.empty() ? QString() : QString::fromStdString(log.library + " " + log.version);
    if (const nccl::Communicator* communicator = m_import->run->largest()) {
      text += (text.isEmpty() ? QString() : u" · "_s) + counted(communicator->ranks, tr("rank"), tr("ranks")) +
              tr(" on ") + counted(communicator->hostCount(), tr("host"), tr("hosts"));
    }
  } else if (m_job.isRunning()) {
    text = tr("Comparing…");
  } else if (!m_chosen) {
    text = m_result ? tr("Choose a run, import one, or paste a table of nccl-tests")
                    : tr("Choose a run, import one, or generate a schedule to compare with");
  } else if (m_comparison && !m_comparison->problem.isEmpty()) {
    text = m_comparison->problem;
  } else if (m_comparison && m_comparison->measured) {
    const simulate::Comparison& parts = m_comparison->parts;
    text = tr("%1 the plan: %2, planned %3")
               .arg(ratioText(parts.measured / std::max(parts.planned, Microseconds(1e-9))), timeText(parts.measured),
                    timeText(parts.planned));
    if (m_comparison->run->droppedEvents > 0) {
      text +=
          u" · "_s + counted(m_comparison->run->droppedEvents, tr("event"), tr("events")) + u' ' + tr("not recorded");
    }
  } else if (m_comparison && m_comparison->run) {
    text = counted(static_cast<std::int64_t>(m_comparison->run->rows.size()), tr("size"), tr("sizes")) + u" · "_s +
           tr("no trace: links and ranks cannot be compared");
  }
  if (m_comparison && m_comparison->run && !m_comparison->run->label.empty()) {
    text += u" · "_s + QString::fromStdString(m_comparison->run->label);
  }
  m_text->setText(text);
  m_text->setToolTip(text);
  m_copy->setEnabled(m_import || (m_comparison && m_comparison->run));
}

QString MeasuredPanel::csv() const {
  if (!m_comparison || !m_comparison->run) {
    return {};
  }
  QString text = u"size_bytes,predicted_us,measured_us,measured_in_place_us\n"_s;
  const auto number = [](const std::optional<io::NcclTime>& time) {
    return time ? QString::number(time->time.count(), 'g', 9) : QString();
  };
  for (std::size_t at = 0; at < m_comparison->run->rows.size(); ++at) {
    const io::NcclRow& row = m_comparison->run->rows[at];
    const QString predicted = at < m_comparison->predicted.size()
                                  ? QString::number(m_comparison->predicted[at].time.count(), 'g', 9)
                                  : QString();
    text += u"%1,%2,%3,%4\n"_s.arg(row.size).arg(predicted, number(row.outOfPlace), number(row.inPlace));
  }
  if (const auto* listed = parts()) {
    text += (showsLinks() ? u"\nlink"_s : u"\nrank"_s) + u",planned_us,measured_us,lost_us\n"_s;
    for (const simulate::ComparedPart& part : *listed) {
      QString name = nameOf(part);
      name.replace(u'"', u"\"\""_s);
      text += u"\"%1\",%2,%3,%4\n"_s.arg(name)
                  .arg(part.planned.count(), 0, 'g', 9)
                  .arg(part.measured.count(), 0, 'g', 9)
                  .arg(part.lost().count(), 0, 'g', 9);
    }
  }
  return text;
}

}  // namespace coppice::designer
