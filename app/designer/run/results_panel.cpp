// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/results_panel.hpp"

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/run/panel_parts.hpp"
#include "designer/theme/elided_label.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

enum Column { kSize, kCount, kType, kRedop, kRoot, kTime, kAlgbw, kBusbw, kWrong, kBound, kHalf, kColumns = 15 };
constexpr int kHalfColumns = kHalf - kTime;
/// What goes first where all do not fit. Sizes, times, algbw and what is wrong stay.
constexpr std::array kDispensable{int{kRoot},  int{kRedop},           int{kType},
                                  int{kCount}, kBound + kHalfColumns, kBusbw + kHalfColumns,
                                  int{kBusbw}, kAlgbw + kHalfColumns};

QString formula(const RunData* data) {
  if (data == nullptr || !data->plan()) {
    return {};
  }
  const int n = data->plan()->ranks;
  const QString collective = QString::fromStdString(data->plan()->collective);
  if (collective == u"allreduce") {
    return ResultsModel::tr("busbw = algbw × 2(n−1)/n = algbw × %1/%2").arg(2 * (n - 1)).arg(n);
  }
  if (collective == u"broadcast" || collective == u"reduce") {
    return ResultsModel::tr("busbw = algbw");
  }
  return ResultsModel::tr("busbw = algbw × (n−1)/n = algbw × %1/%2").arg(n - 1).arg(n);
}

}  // namespace

void ResultsModel::setRun(std::shared_ptr<const RunData> data) {
  if (m_data == data) {
    follow();
    return;
  }
  beginResetModel();
  m_data = std::move(data);
  m_rows = m_data ? static_cast<int>(m_data->rows().size()) : 0;
  endResetModel();
}

void ResultsModel::follow() {
  const int now = m_data ? static_cast<int>(m_data->rows().size()) : 0;
  if (now > m_rows) {
    beginInsertRows({}, m_rows, now - 1);
    m_rows = now;
    endInsertRows();
  }
  if (m_rows > 0) {
    Q_EMIT dataChanged(index(0, 0), index(m_rows - 1, kColumns - 1));
  }
}

int ResultsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : m_rows;
}

int ResultsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ResultsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_data || index.row() >= static_cast<int>(m_data->rows().size())) {
    return {};
  }
  const ResultRow& row = m_data->rows()[index.row()];
  const bool isIn = index.column() >= kHalf;
  const int column = isIn ? index.column() - kHalfColumns : index.column();
  const std::optional<program::ResultRecord>& half = isIn ? row.inPlace : row.outOfPlace;
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((index.column() == kType || index.column() == kRedop ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignVCenter);
  }
  if (role == Qt::FontRole) {
    return figureFont();
  }
  if (role == Qt::ForegroundRole) {
    const bool isWrong = half && half->wrong && *half->wrong > 0;
    if (isWrong && index.column() >= kTime) {
      return Theme::instance().color(Token::error);
    }
    return index.column() >= kTime && column != kBusbw && column != kAlgbw
               ? QVariant(Theme::instance().color(Token::muted))
               : QVariant();
  }
  if (role == Qt::ToolTipRole) {
    return index.column() == kSize ? sizeTip(row) : half ? valueTip(*half, column) : QVariant();
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  return index.column() < kTime ? settingText(row, index.column()) : half ? valueText(*half, column) : QVariant();
}

QVariant ResultsModel::valueTip(const program::ResultRecord& half, int column) const {
  if (column == kTime) {
    return tr("mean of %1; minimum %2, median %3, 99th percentile %4 µs")
        .arg(half.iterations)
        .arg(half.min_us, 0, 'f', 1)
        .arg(half.median_us, 0, 'f', 1)
        .arg(half.p99_us, 0, 'f', 1);
  }
  if (column == kBusbw) {
    return formula(m_data.get());
  }
  if (const QString why = noBoundReason(*m_data); column == kBound && !why.isEmpty()) {
    return why;
  }
  if (column == kBound && m_data->plan() && m_data->plan()->boundGBps) {
    // A run does not know whether switches of its fabric sum.
    return (m_data->plan()->collective == "allreduce" ? tr("%1 of %2 GB/s, the bound of transfers between GPUs")
                                                      : tr("%1 of %2 GB/s"))
        .arg(half.algbw_GBps, 0, 'f', 2)
        .arg(*m_data->plan()->boundGBps, 0, 'f', 2);
  }
  return {};
}

QString ResultsModel::sizeTip(const ResultRow& row) const {
  // All that a narrow window leaves out.
  const program::ResultRecord& known = row.any();
  QString text = tr("%1 bytes, %2 elements of %3")
                     .arg(QLocale().toString(row.size), QLocale().toString(static_cast<qulonglong>(known.count)),
                          QString::fromStdString(known.type));
  if (known.redop != "none") {
    text += u", "_s + QString::fromStdString(known.redop);
  }
  if (known.root >= 0) {
    text += u", "_s + tr("root %1").arg(known.root);
  }
  const auto add = [this, &text](const QString& name, const std::optional<program::ResultRecord>& one) {
    if (one) {
      text += u'\n' + name + u": "_s +
              tr("%1 µs, algbw %2, busbw %3 GB/s")
                  .arg(one->time_us, 0, 'f', 2)
                  .arg(one->algbw_GBps, 0, 'f', 2)
                  .arg(one->busbw_GBps, 0, 'f', 2) +
              (one->boundPercent && noBoundReason(*m_data).isEmpty()
                   ? u", "_s + tr("%1 % of the bound").arg(*one->boundPercent, 0, 'f', 1)
                   : QString());
    }
  };
  add(tr("Out of place"), row.outOfPlace);
  add(tr("In place"), row.inPlace);
  return text;
}

QString ResultsModel::settingText(const ResultRow& row, int column) {
  const program::ResultRecord& any = row.any();
  switch (column) {
    case kSize:
      return roughBytes(static_cast<double>(row.size));
    case kCount:
      return QString::number(any.count);
    case kType:
      return QString::fromStdString(any.type);
    case kRedop:
      return QString::fromStdString(any.redop);
    case kRoot:
      return any.root < 0 ? u"–"_s : QString::number(any.root);
    default:
      return {};
  }
}

QString ResultsModel::valueText(const program::ResultRecord& half, int column) const {
  switch (column) {
    case kTime:
      return QString::number(half.time_us, 'f', half.time_us >= 1000 ? 0 : 2);
    case kAlgbw:
      return QString::number(half.algbw_GBps, 'f', 2);
    case kBusbw:
      return QString::number(half.busbw_GBps, 'f', 2);
    case kWrong:
      return half.wrong ? QString::number(*half.wrong) : u"N/A"_s;
    default:
      if (!noBoundReason(*m_data).isEmpty()) {
        return u"–"_s;
      }
      return half.boundPercent ? QString::number(*half.boundPercent, 'f', 1) + u" %"_s : QString();
  }
}

QVariant ResultsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  const bool isIn = section >= kHalf;
  const int column = isIn ? section - kHalfColumns : section;
  if (role == Qt::DisplayRole) {
    const std::array<QString, kHalf> names{tr("Size"), tr("Count"), tr("Type"),  tr("Op"),    tr("Root"),
                                           tr("Time"), tr("algbw"), tr("busbw"), tr("wrong"), tr("bound")};
    const QString name = names[column];
    return section == kTime ? tr("µs") : (section == kHalf ? tr("in place: µs") : name);
  }
  if (role == Qt::ToolTipRole) {
    const std::array<QString, kHalf> texts{tr("Bytes, as nccl-tests counts them for the collective"),
                                           tr("Elements"),
                                           tr("Data type"),
                                           tr("Operation of a reduction"),
                                           tr("Root of broadcast and reduce"),
                                           tr("Mean time of one collective in microseconds"),
                                           tr("Size divided by time, 10⁹ bytes per second"),
                                           formula(m_data.get()),
                                           tr("Elements with a wrong value; N/A = not checked"),
                                           tr("algbw as a share of the maximum that the fabric allows")};
    return texts[column];
  }
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((section == kType || section == kRedop ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignVCenter);
  }
  return {};
}

QString outcomeText(const RunInfo& info, const RunData* data) {
  switch (info.state) {
    case RunState::preparing:
      return ResultsPanel::tr("copying to the machine…");
    case RunState::running:
      return data != nullptr && !data->stage().isEmpty() && data->stage() != u"running"
                 ? ResultsPanel::tr("running: %1").arg(data->stage())
                 : ResultsPanel::tr("running");
    case RunState::lost:
      return ResultsPanel::tr("lost: %1").arg(info.reason);
    case RunState::ended:
      break;
  }
  using program::RunExit;
  switch (static_cast<RunExit>(info.code)) {
    case RunExit::ok:
      return data != nullptr && data->summary() && !data->summary()->checked
                 ? ResultsPanel::tr("finished, data not checked")
                 : ResultsPanel::tr("finished, all data correct");
    case RunExit::wrongResult:
      return ResultsPanel::tr("wrong data: %1").arg(info.reason);
    case RunExit::hang:
      return ResultsPanel::tr("stuck: %1").arg(info.reason);
    case RunExit::rankLost:
      return ResultsPanel::tr("a rank was lost: %1").arg(info.reason);
    case RunExit::cancelled:
      return info.reason.isEmpty() ? ResultsPanel::tr("stopped") : ResultsPanel::tr("stopped: %1").arg(info.reason);
    case RunExit::planRejected:
      return ResultsPanel::tr("the schedule was refused: %1").arg(info.reason);
    case RunExit::machineLacks:
      return ResultsPanel::tr("missing on the machine: %1").arg(info.reason);
    case RunExit::badUsage:
    case RunExit::internal:
      break;
  }
  return ResultsPanel::tr("failed: %1").arg(info.reason);
}

bool isBadOutcome(const RunInfo& info) {
  return info.state == RunState::lost || (info.state == RunState::ended && info.code != 0 &&
                                          info.code != static_cast<int>(program::RunExit::cancelled));
}

ResultsPanel::ResultsPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_title(new QLabel(this)),
      m_state(new ElidedLabel(this)),
      m_progress(new QProgressBar(this)),
      m_table(new QTableView(this)),
      m_rerun(plainButton(u"resultsRerun"_s, tr("Run Again"), tr("The same schedule with the same settings"), this)),
      m_rejoin(plainButton(u"resultsRejoin"_s, tr("Reattach"), tr("Show the run that is still active on the machine"),
                           this)),
      m_copy(plainButton(u"resultsCopy"_s, tr("Copy"), tr("Copy the table, or save it"), this)) {
  setUpPanel(this, u"results"_s, tr("Results"));
  m_table->setObjectName(u"resultsTable"_s);
  m_table->setAccessibleName(tr("Results"));
  m_table->setModel(&m_model);
  m_table->setShowGrid(false);
  m_table->setAlternatingRowColors(true);
  m_table->setWordWrap(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->verticalHeader()->hide();
  m_table->horizontalHeader()->setHighlightSections(false);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  m_table->horizontalHeader()->setMinimumSectionSize(40);
  m_table->viewport()->installEventFilter(this);
  m_title->setTextFormat(Qt::PlainText);
  m_title->setFont(uiFont(13, QFont::DemiBold));
  m_state->setObjectName(u"resultsState"_s);
  setUpThinProgress(*m_progress, u"resultsProgress"_s);
  auto* menu = new QMenu(m_copy);
  menu->addAction(tr("As nccl-tests prints it"), this, [this] { copy(ncclTestsText(*m_data)); });
  menu->addAction(tr("As CSV"), this, [this] { copy(csvText(*m_data)); });
  menu->addAction(tr("As JSON"), this, [this] { copy(QString::fromUtf8(jsonText(*m_data))); });
  menu->addSeparator();
  menu->addAction(tr("Save as CSV…"), this,
                  [this] { Q_EMIT saveWanted(m_info.id + u".csv"_s, csvText(*m_data).toUtf8()); });
  menu->addAction(tr("Save as JSON…"), this, [this] { Q_EMIT saveWanted(m_info.id + u".json"_s, jsonText(*m_data)); });
  m_copy->setMenu(menu);
  m_copy->setPopupMode(QToolButton::InstantPopup);
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, kSmall);
  head->setSpacing(kSmall);
  head->addWidget(m_title);
  head->addSpacing(kMargin);
  head->addWidget(m_state, 1);
  head->addWidget(m_rejoin);
  head->addWidget(m_rerun);
  head->addWidget(m_copy);
  auto* page = new QWidget(this);
  auto* inner = new QVBoxLayout(page);
  inner->setContentsMargins({});
  inner->setSpacing(0);
  inner->addWidget(m_progress);
  inner->addLayout(head);
  inner->addWidget(m_table, 1);
  m_pages->addWidget(emptyLabel(tr("Choose a machine and a schedule, then press Run: sizes, times and bandwidths "
                                   "appear here as they are measured."),
                                this));
  m_pages->addWidget(page);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  connect(m_rerun, &QToolButton::clicked, this, &ResultsPanel::rerunWanted);
  connect(m_rejoin, &QToolButton::clicked, this, &ResultsPanel::rejoinWanted);
}

void ResultsPanel::clear() {
  m_data.reset();
  m_model.setRun(nullptr);
  m_pages->setCurrentIndex(0);
}

void ResultsPanel::setRun(const RunInfo& info, std::shared_ptr<const RunData> run, bool isLive, bool isSilent) {
  m_info = info;
  m_data = std::move(run);
  m_model.setRun(m_data);
  m_pages->setCurrentIndex(1);
  fitColumns();
  m_title->setText(info.title());
  QString state = outcomeText(info, m_data.get());
  if (isSilent) {
    state = tr("the machine does not respond; waiting…");
  } else if (m_data->environment() && !m_data->environment()->backendLabel.empty()) {
    state += u" · "_s + QString::fromStdString(m_data->environment()->backendLabel);
  }
  m_state->setText(state);
  m_state->setToolTip(state);
  m_state->setProperty("role", isBadOutcome(info) ? u"error"_s : u"muted"_s);
  m_state->setStyle(m_state->style());
  const bool isRunning = isLive && (info.state == RunState::running || info.state == RunState::preparing);
  m_progress->setVisible(isRunning);
  m_progress->setValue(m_data->progress() ? static_cast<int>(m_data->progress()->fraction * kProgressParts) : 0);
  m_rerun->setEnabled(!isRunning);
  m_rejoin->setVisible(info.state == RunState::lost && info.keepsRunning);
  m_copy->setEnabled(!m_data->rows().empty());
}

bool ResultsPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) {
    fitColumns();
  }
  return QWidget::eventFilter(watched, event);
}

void ResultsPanel::fitColumns() {
  if (m_isFitting) {
    return;
  }
  m_isFitting = true;
  QHeaderView* header = m_table->horizontalHeader();
  // The header knows no width of a hidden column.
  for (const int column : kDispensable) {
    m_table->setColumnHidden(column, false);
  }
  const QAbstractItemView* view = m_table;
  const auto width = [&](int column) {
    return std::max({view->sizeHintForColumn(column), header->sectionSizeHint(column), header->minimumSectionSize()});
  };
  int needed = 0;
  for (int column = 0; column < kColumns; ++column) {
    needed += width(column);
  }
  for (const int column : kDispensable) {
    const bool isHidden = needed > m_table->viewport()->width();
    if (isHidden) {
      needed -= width(column);
    }
    m_table->setColumnHidden(column, isHidden);
  }
  m_isFitting = false;
}

void ResultsPanel::copy(const QString& text) {
  QGuiApplication::clipboard()->setText(text);
}

}  // namespace coppice::designer
