// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/plan_dialog.hpp"

#include <QDir>
#include <QFile>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/export/export_check.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "program/program.hpp"
#include "workflow/guarded.hpp"
#include "workflow/plan_files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Sizes at which the fastest changes are seldom round.
QString shortBytes(std::int64_t bytes) {
  constexpr qsizetype kShort = 7;
  const QString exact = bytesText(bytes);
  return exact.size() <= kShort ? exact : roughBytes(static_cast<double>(bytes));
}

Result<std::vector<workflow::Contender>> contendersOf(const std::vector<ComparedSchedule>& schedules,
                                                      const Progress& progress) {
  std::vector<workflow::Contender> contenders;
  for (const ComparedSchedule& each : schedules) {
    const ScheduleResult& result = *each.result;
    auto loaded =
        std::make_shared<workflow::LoadedFabric>(workflow::LoadedFabric{*result.description, *result.fabric, {}});
    auto playable =
        workflow::playableOf(each.name.toStdString(), std::move(loaded), result.schedule,
                             SimulationSettings::instance().modelFor(result), simulate::Barriers::steps, progress);
    if (!playable) {
      return playable.error();
    }
    auto contender = workflow::contenderOf(*std::move(playable), progress);
    if (!contender) {
      return contender.error();
    }
    contenders.push_back(*std::move(contender));
  }
  return contenders;
}

}  // namespace

PlanDialog::PlanDialog(std::vector<ComparedSchedule> schedules, const QString& folder, AskFolder askFolder,
                       QWidget* parent)
    : QDialog(parent),
      m_schedules(std::move(schedules)),
      m_askFolder(std::move(askFolder)),
      m_runtime(new QComboBox(this)),
      m_first(new QComboBox(this)),
      m_last(new QComboBox(this)),
      m_folder(new QLineEdit(QDir::toNativeSeparators(folder), this)),
      m_browse(new QPushButton(tr("Browse…"), this)),
      m_list(new QStackedWidget(this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_state(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_export(new QPushButton(tr("Export"), this)),
      m_close(new QPushButton(tr("Close"), this)),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  setObjectName(u"planDialog"_s);
  setWindowTitle(tr("Export a Switch-Over Plan"));
  setModal(false);
  layOut();
  connect(m_browse, &QPushButton::clicked, this, [this] {
    if (const QString chosen = m_askFolder(m_folder->text()); !chosen.isEmpty()) {
      m_folder->setText(QDir::toNativeSeparators(chosen));
    }
  });
  for (QComboBox* list : {m_first, m_last}) {
    connect(list, &QComboBox::currentIndexChanged, this, &PlanDialog::updateWidgets);
  }
  connect(m_folder, &QLineEdit::textChanged, this, &PlanDialog::updateWidgets);
  connect(m_export, &QPushButton::clicked, this, [this] { m_job.isRunning() ? stop() : start(); });
  connect(m_close, &QPushButton::clicked, this, &PlanDialog::reject);
  connect(this, &QDialog::finished, this, [this] { stop(); });
  connect(&m_timer, &QTimer::timeout, this, [this] {
    if (m_shared) {
      const JobProgress::State state = m_shared->state();
      m_state->setText(stageName(state.stage));
    }
  });
  updateWidgets();
}

PlanDialog::~PlanDialog() = default;

void PlanDialog::layOut() {
  auto* text =
      new QLabel(tr("Simulates %1 at all sizes. The fastest one in each band of sizes becomes a program for that band, "
                    "so that a runtime with all of them loaded runs the right one.")
                     .arg(counted(static_cast<qsizetype>(m_schedules.size()), tr("schedule"), tr("schedules"))),
                 this);
  text->setWordWrap(true);
  text->setProperty("role", u"muted"_s);
  m_runtime->setObjectName(u"planRuntime"_s);
  for (const workflow::Destination& destination : workflow::destinations()) {
    m_runtime->addItem(destinationTitle(destination), m_runtime->count());
  }
  m_first->setObjectName(u"planFirst"_s);
  m_last->setObjectName(u"planLast"_s);
  fillWithSizes(*m_first, comparedSizes().front());
  fillWithSizes(*m_last, comparedSizes().back());
  m_folder->setObjectName(u"planFolder"_s);
  m_folder->setPlaceholderText(tr("A new or existing folder"));
  m_state->setObjectName(u"planState"_s);
  m_state->setWordWrap(true);
  m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_progress->setRange(0, 0);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Working"));
  constexpr int kBarHeight = 4;
  m_progress->setFixedHeight(kBarHeight);
  m_export->setObjectName(u"planExport"_s);
  m_export->setDefault(true);
  m_close->setAutoDefault(false);
  m_browse->setAutoDefault(false);
  setUpRowTable(*m_table, u"planTable"_s, tr("Programs"));
  m_table->setFrameShape(QFrame::StyledPanel);
  m_table->setHorizontalHeaderLabels({tr("Sizes"), tr("Schedule"), tr("Program")});
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeader()->setSectionResizeMode(kSchedule, QHeaderView::Stretch);
  constexpr int kSizesWidth = 170;
  constexpr int kFileWidth = 240;
  m_table->horizontalHeader()->resizeSection(kSizes, kSizesWidth);
  m_table->horizontalHeader()->resizeSection(kFile, kFileWidth);
  constexpr int kTableHeight = 150;
  m_table->setMinimumHeight(kTableHeight);

  auto* sizes = new QHBoxLayout;
  auto* to = new QLabel(tr("to"), this);
  to->setBuddy(m_last);
  sizes->addWidget(m_first);
  sizes->addWidget(to);
  sizes->addWidget(m_last);
  sizes->addStretch();
  auto* place = new QHBoxLayout;
  place->addWidget(m_folder, 1);
  place->addWidget(m_browse);
  auto* form = new QFormLayout;
  form->addRow(tr("Runtime"), m_runtime);
  form->addRow(tr("Sizes"), sizes);
  form->addRow(tr("Folder"), place);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch();
  buttons->addWidget(m_close);
  buttons->addWidget(m_export);
  m_list->addWidget(new EmptyPage(tr("The programs and their sizes appear here."), {}, m_list));
  m_list->addWidget(m_table);
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->addWidget(text);
  layout->addLayout(form);
  layout->addWidget(m_list, 1);
  layout->addWidget(m_progress);
  layout->addWidget(m_state);
  layout->addLayout(buttons);
  constexpr QSize kSize(680, 460);
  resize(kSize);
}

PlanDialog::Answer PlanDialog::makePlan(const std::vector<ComparedSchedule>& schedules, const QString& folder,
                                        std::int64_t first, std::int64_t last, int runtime, const Progress& progress) {
  Answer answer{.folder = folder, .rows = {}, .refused = {}, .fault = {}};
  const auto done = workflow::guarded<Done>([&]() -> Outcome {
    auto contenders = contendersOf(schedules, progress);
    if (!contenders) {
      return contenders.error();
    }
    constexpr int kFactor = 2;
    const workflow::SweepOptions sweep{.sizes = simulate::sizesOf(first, last, kFactor)};
    auto comparison = workflow::compare(*contenders, sweep, progress);
    if (!comparison) {
      return comparison.error();
    }
    const workflow::Destination& target = workflow::destinations()[static_cast<std::size_t>(runtime)];
    const auto plan = workflow::switchPlan(*contenders, *std::move(comparison), sweep, target, progress);
    if (!plan) {
      return plan.error();
    }
    const auto files =
        workflow::writePlan(QFile::encodeName(folder).toStdString(), *contenders, *plan, target, progress);
    if (!files) {
      return files.error();
    }
    for (std::size_t i = 0; i < plan->programs.size(); ++i) {
      const workflow::PlannedProgram& program = plan->programs[i];
      answer.rows.push_back({tr("%1 to %2").arg(shortBytes(program.first), shortBytes(program.last)),
                             tr("%1 to %2 bytes").arg(program.first).arg(program.last),
                             QString::fromStdString((*contenders)[program.contender].playable.name),
                             QString::fromStdString((*files)[i].program)});
    }
    for (const workflow::Refused& each : plan->refused) {
      answer.refused << QString::fromStdString(each.method) + u": "_s + sentence(each.error);
    }
    return Done{};
  });
  if (!done) {
    answer.fault = sentence(done.error());
  }
  return answer;
}

void PlanDialog::start() {
  m_table->setRowCount(0);
  m_shared = std::make_shared<JobProgress>();
  const QString folder = QDir::fromNativeSeparators(m_folder->text().trimmed());
  m_job.submit([schedules = m_schedules, folder, first = sizeIn(*m_first), last = sizeIn(*m_last),
                runtime = m_runtime->currentData().toInt(), shared = m_shared](std::stop_token stop) {
    return makePlan(schedules, folder, first, last, runtime, JobProgress::forCore(shared, std::move(stop)));
  });
  constexpr int kInterval = 100;
  m_timer.start(kInterval);
  updateWidgets();
}

void PlanDialog::stop() {
  if (m_timer.isActive()) {
    m_job.cancel();
    m_timer.stop();
    m_state->setText(tr("Stopped. Files that were already written are kept."));
    updateWidgets();
  }
}

void PlanDialog::receive(const Answer& answer) {
  m_timer.stop();
  m_table->setRowCount(static_cast<int>(answer.rows.size()));
  for (int row = 0; row < m_table->rowCount(); ++row) {
    const Row& each = answer.rows[row];
    const QStringList texts{each.sizes, each.schedule, each.file};
    for (int column = 0; column < kColumns; ++column) {
      auto* item = new QTableWidgetItem(texts[column]);
      item->setToolTip(column == kSizes ? each.exactSizes : texts[column]);
      m_table->setItem(row, column, item);
    }
  }
  updateWidgets();
  const bool isWritten = answer.fault.isEmpty();
  m_state->setText(
      isWritten ? (QStringList{
                       tr("Wrote %1 and plan.json.").arg(counted(m_table->rowCount(), tr("program"), tr("programs")))} +
                   answer.refused)
                      .join(u'\n')
                : answer.fault);
  m_state->setProperty("role", isWritten ? u"good"_s : u"error"_s);
  m_state->style()->polish(m_state);
  if (isWritten) {
    Q_EMIT written(answer.folder);
  }
}

void PlanDialog::updateWidgets() {
  const bool isWorking = m_timer.isActive();
  const bool isRange = m_first->currentIndex() <= m_last->currentIndex();
  const bool hasFolder = !m_folder->text().trimmed().isEmpty();
  m_list->setCurrentIndex(m_table->rowCount() > 0 ? 1 : 0);
  m_progress->setVisible(isWorking);
  m_export->setText(isWorking ? tr("Stop") : tr("Export"));
  m_export->setEnabled(isWorking || (isRange && hasFolder));
  for (QWidget* each : std::initializer_list<QWidget*>{m_runtime, m_first, m_last, m_folder, m_browse}) {
    each->setEnabled(!isWorking);
  }
  if (!isWorking) {
    m_state->setProperty("role", isRange ? u"muted"_s : u"error"_s);
    m_state->style()->polish(m_state);
    if (!isRange) {
      m_state->setText(tr("The smallest size is above the largest."));
    } else if (m_table->rowCount() == 0 && !hasFolder) {
      m_state->setText(tr("Choose a folder."));
    } else if (m_table->rowCount() == 0) {
      m_state->clear();
    }
  }
}

}  // namespace coppice::designer
