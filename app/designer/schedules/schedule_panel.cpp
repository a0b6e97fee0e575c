// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/schedule_panel.hpp"

#include <QApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kSchedulePanelMargin = 12;
constexpr int kLineGap = 4;
constexpr int kTreeThousand = 1000;

enum Role { kIdRole = Qt::UserRole + 1, kLineRole, kStateRole, kMarkRole };
/// What stands behind the name, and in which colour.
enum class State { good, lossy, stale, reading, refused };

/// Three lines: the name with the state at the right, and the numbers.
class RowDelegate : public QStyledItemDelegate {
public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    constexpr QSize kSize(120, 62);
    return kSize;
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = Theme::instance();
    const auto state = static_cast<State>(index.data(kMarkRole).toInt());
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF row = QRectF(option.rect).adjusted(4, 1, -4, -1);
    constexpr double kRadius = 6;
    if (option.state.testFlag(QStyle::State_Selected) || option.state.testFlag(QStyle::State_MouseOver)) {
      painter->setPen(option.state.testFlag(QStyle::State_HasFocus) ? QPen(theme.color(Token::accent)) : Qt::NoPen);
      painter->setBrush(theme.color(option.state.testFlag(QStyle::State_Selected) ? Token::accentSoft : Token::hover));
      painter->drawRoundedRect(row, kRadius, kRadius);
    }
    const bool isQuiet = state == State::stale || state == State::reading;
    const QRectF text = row.adjusted(8, 4, -8, -4);
    const QString mark = index.data(kStateRole).toString();
    const QFont small = uiFont(11.5, QFont::DemiBold);
    const double markWidth = QFontMetricsF(small).horizontalAdvance(mark);
    painter->setFont(small);
    painter->setPen(theme.color(state == State::good      ? Token::accent
                                : state == State::refused ? Token::error
                                : state == State::lossy   ? Token::warning
                                                          : Token::muted));
    constexpr int kLines = 3;
    const double height = text.height() / kLines;
    const QRectF upper(text.left(), text.top(), text.width(), height);
    painter->drawText(upper, Qt::AlignRight | Qt::AlignVCenter, mark);
    const QFont nameFont = uiFont(13, QFont::DemiBold);
    painter->setFont(nameFont);
    painter->setPen(theme.color(isQuiet ? Token::muted : Token::text));
    const QRectF name = upper.adjusted(0, 0, -markWidth - 8, 0);
    painter->drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                      QFontMetricsF(nameFont).elidedText(index.data().toString(), Qt::ElideRight, name.width()));
    const QFont figures = figureFont(11.5);
    painter->setFont(figures);
    painter->setPen(theme.color(isQuiet ? Token::faint : Token::muted));
    const QStringList lines = index.data(kLineRole).toString().split(u'\n');
    for (qsizetype line = 0; line < lines.size() && line + 1 < kLines; ++line) {
      const QRectF lower(text.left(), text.top() + static_cast<double>(line + 1) * height, text.width(), height);
      painter->drawText(lower, Qt::AlignLeft | Qt::AlignVCenter,
                        QFontMetricsF(figures).elidedText(lines[line], Qt::ElideRight, lower.width()));
    }
    painter->restore();
  }
};

QString hops(int count) {
  return counted(count, SchedulePanel::tr("hop"), SchedulePanel::tr("hops"));
}

bool isFixed(const ScheduleResult& result) {
  return result.forests() != nullptr && result.forests()->fixedK.has_value();
}

/// Why the number of trees is what it is.
QString reasonForCount(const ScheduleResult& result) {
  if (const std::string asked = result.options.text(kBySizes); !asked.empty() && isFixed(result)) {
    const QString sizes = asked == "pow2" ? SchedulePanel::tr("powers of two") : QString::fromStdString(asked);
    return u", "_s + SchedulePanel::tr("for %1").arg(sizes) +
           (result.chosen
                ? u", "_s +
                      SchedulePanel::tr("loses %1").arg(QString::fromStdString(advice::lossText(result.chosen->loss)))
                : QString());
  }
  if (const std::string loss = result.options.text(kByLoss); !loss.empty()) {
    return u", "_s + SchedulePanel::tr("loses at most %1").arg(QString::fromStdString(loss));
  }
  return isFixed(result) ? u", "_s + SchedulePanel::tr("fixed") : QString();
}

using FactRow = std::function<void(const QString& what, const QString& value)>;

/// Steps of a schedule that has no trees.
void addStepFacts(const ScheduleResult& result, const FactRow& row) {
  const schedule::StepSchedule& schedule = *result.stepSchedule();
  const schedule::StepCost& cost = *result.cost;
  row(SchedulePanel::tr("Steps"),
      schedule.isSynchronous
          ? QString::number(cost.steps) +
                (cost.rounds > cost.steps ? u", "_s + SchedulePanel::tr("%1 rounds").arg(cost.rounds) : QString())
          : SchedulePanel::tr("none; at most %1 transfers in a row").arg(cost.steps));
  row(SchedulePanel::tr("Transfers"), QString::number(schedule.transfers.size()));
  row(SchedulePanel::tr("Smallest piece"), schedule.denominator == 1
                                               ? SchedulePanel::tr("a whole shard")
                                               : SchedulePanel::tr("1/%1 of a shard").arg(schedule.denominator));
  row(SchedulePanel::tr("Links per transfer"),
      SchedulePanel::tr("mean %1, maximum %2").arg(QString::number(cost.meanStretch, 'f', 2)).arg(cost.maxStretch));
  row(SchedulePanel::tr("Traffic"), SchedulePanel::tr("%1 times the data").arg(decimal(cost.totalTraffic)));
}

void addForestFacts(const ScheduleResult& result, const FactRow& row) {
  row(SchedulePanel::tr("Trees per root"), u"k = %1"_s.arg(result.k) + reasonForCount(result));
  if (result.paperK > 0 && (result.paperK != result.k || result.optimumK != result.k)) {
    row(SchedulePanel::tr("At the bound"),
        SchedulePanel::tr("k = %1; in the paper %2").arg(result.optimumK).arg(result.paperK));
  }
  row(SchedulePanel::tr("Trees"),
      QString::number(result.trees) + u", "_s + SchedulePanel::tr("%1 distinct").arg(result.differentTrees) +
          (result.hasRotations ? u", "_s + SchedulePanel::tr("rotations of those of one GPU") : QString()));
  if (result.isOverlapped()) {
    row(SchedulePanel::tr("Halves"), SchedulePanel::tr("both at the same time"));
  }
  if (result.forests()->ownCopies) {
    row(SchedulePanel::tr("Own copies"), SchedulePanel::tr("GPUs also get their own data through the switch"));
  }
  // An allreduce runs its trees twice: inwards, then outwards.
  const QString each = result.isOverlapped()    ? SchedulePanel::tr(", in each half")
                       : result.hasTwoForests() ? SchedulePanel::tr(", in each phase")
                                                : QString();
  row(SchedulePanel::tr("Height"),
      SchedulePanel::tr("%1 between GPUs, %2")
              .arg(hops(result.heights.logicalMax),
                   counted(result.heights.physicalMax, SchedulePanel::tr("link"), SchedulePanel::tr("links"))) +
          each);
  row(SchedulePanel::tr("Latency"),
      SchedulePanel::tr("%1 µs from root to leaf").arg(QString::number(result.heights.latencyMax.count(), 'f', 1)) +
          each);
}

/// "346.67 GB/s · k 13 · height 2"
QString summaryOf(const ScheduleResult& result) {
  const QString speed = gigabytes(result.algbw);
  if (result.cost) {
    return speed + u" · "_s +
           (result.stepSchedule()->isSynchronous
                ? counted(result.cost->steps, SchedulePanel::tr("step"), SchedulePanel::tr("steps"))
                : SchedulePanel::tr("without steps"));
  }
  return speed + u" · "_s + SchedulePanel::tr("k %1 · height %2").arg(result.k).arg(result.heights.logicalMax);
}

/// Names from files are text, whatever they look like.
QString plainTip(const QString& text) {
  return u"<p style='white-space:pre-wrap'>"_s + text.toHtmlEscaped() + u"</p>"_s;
}

QString factsOf(const ScheduleResult& result) {
  QString text = u"<table cellspacing=0 cellpadding=0>"_s;
  const FactRow row = [&](const QString& what, const QString& value) {
    text +=
        u"<tr><td style='padding:1px 12px 1px 0; white-space:nowrap'>%1</td><td style='padding:1px 0'>%2</td></tr>"_s
            .arg(what.toHtmlEscaped(), value.toHtmlEscaped());
  };
  if (const QString method = result.methodText(); !method.isEmpty()) {
    row(SchedulePanel::tr("Method"), method);
  }
  if (result.cost) {
    addStepFacts(result, row);
  } else {
    addForestFacts(result, row);
  }
  row(SchedulePanel::tr("GPUs"), QString::number(result.fabric->gpuCount()) +
                                     (result.options.gpus.empty() ? QString() : u", "_s + SchedulePanel::tr("a part")));
  if (result.seconds > 0) {
    row(SchedulePanel::tr("Generated in"), duration(result.seconds));
  }
  for (const workflow::Fact& fact : result.methodFacts) {
    if (!fact.text.empty()) {
      QString label = QString::fromStdString(fact.label);
      if (!label.isEmpty()) {
        label[0] = label[0].toUpper();
      }
      row(label, inWordsOfTheWindow(QString::fromStdString(fact.text)));
    }
  }
  return text + u"</table>"_s;
}

}  // namespace

SchedulePanel::SchedulePanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_emptyText(new QLabel(this)),
      m_emptyButton(new QPushButton(tr("Generate"), this)),
      m_verdict(new QLabel(this)),
      m_number(new QLabel(this)),
      m_exact(new QLabel(this)),
      m_details(new QLabel(this)),
      m_facts(new QLabel(this)),
      m_running(new QWidget(this)),
      m_phase(new QLabel(m_running)),
      m_progress(new QProgressBar(m_running)),
      m_cancel(new QPushButton(tr("Cancel"), m_running)),
      m_failureRow(new QWidget(this)),
      m_failure(new QLabel(m_failureRow)),
      m_list(new QListView(this)),
      m_rerun(iconButton(u"scheduleRerun"_s, u"generate"_s, tr("Generate again with these settings"), this)),
      m_rename(iconButton(u"scheduleRename"_s, u"rename"_s, tr("Rename…"), this)),
      m_remove(iconButton(u"scheduleRemove"_s, u"delete"_s, tr("Delete…"), this)),
      m_export(new QPushButton(tr("Export…"), this)) {
  setObjectName(u"schedulePanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);

  m_pages->addWidget(makeEmptyPage());
  m_pages->addWidget(makeCard());
  setUpRunning();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_running);
  layout->addWidget(m_failureRow);
  layout->addWidget(m_pages, 1);
  connectAll();
  refresh();
}

QWidget* SchedulePanel::makeEmptyPage() {
  auto* empty = new QWidget(m_pages);
  m_emptyText->setObjectName(u"scheduleEmpty"_s);
  m_emptyText->setWordWrap(true);
  m_emptyText->setAlignment(Qt::AlignCenter);
  m_emptyText->setProperty("role", u"muted"_s);
  m_emptyButton->setObjectName(u"scheduleEmptyButton"_s);
  m_emptyButton->setProperty("role", u"primary"_s);
  auto* layout = new QVBoxLayout(empty);
  layout->setContentsMargins(kSchedulePanelMargin, kSchedulePanelMargin, kSchedulePanelMargin, kSchedulePanelMargin);
  layout->addStretch(1);
  layout->addWidget(m_emptyText);
  layout->addSpacing(kSchedulePanelMargin);
  layout->addWidget(m_emptyButton, 0, Qt::AlignHCenter);
  layout->addStretch(2);
  return empty;
}

QWidget* SchedulePanel::makeCard() {
  auto* card = new QWidget(m_pages);
  constexpr double kNumberPixels = 34;
  constexpr double kFigurePixels = 13;
  m_verdict->setObjectName(u"scheduleVerdict"_s);
  m_verdict->setFont(uiFont(kFigurePixels, QFont::DemiBold));
  m_verdict->setWordWrap(true);
  m_number->setObjectName(u"scheduleNumber"_s);
  m_number->setFont(uiFont(kNumberPixels, QFont::Bold));
  m_exact->setObjectName(u"scheduleExact"_s);
  m_exact->setFont(figureFont(kFigurePixels));
  m_details->setObjectName(u"scheduleDetails"_s);
  m_details->setProperty("role", u"muted"_s);
  m_facts->setObjectName(u"scheduleFacts"_s);
  m_facts->setTextFormat(Qt::RichText);
  for (QLabel* label : {m_exact, m_details, m_facts}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  m_export->setObjectName(u"scheduleExportButton"_s);
  auto* layout = new QVBoxLayout(card);
  layout->setContentsMargins(kSchedulePanelMargin, kSchedulePanelMargin / 2, kSchedulePanelMargin,
                             kSchedulePanelMargin);
  layout->setSpacing(kLineGap);
  // All of them first, then the chosen one.
  setUpList();
  layout->addWidget(m_list);
  layout->addWidget(scrolled(makeChosen(), card), 1);
  layout->addWidget(m_export);
  return card;
}

QWidget* SchedulePanel::makeChosen() {
  auto* chosen = new QWidget(m_pages);
  auto* layout = new QVBoxLayout(chosen);
  layout->setContentsMargins(0, kLineGap, 0, 0);
  layout->setSpacing(kLineGap);
  layout->addWidget(m_verdict);
  layout->addLayout(makeHead());
  layout->addWidget(m_exact);
  layout->addSpacing(kLineGap);
  layout->addWidget(m_details);
  layout->addSpacing(kLineGap);
  layout->addWidget(m_facts);
  layout->addStretch(1);
  return chosen;
}

QLayout* SchedulePanel::makeHead() {
  auto* line = new QHBoxLayout;
  line->addWidget(m_number, 1);
  for (QToolButton* button : {m_rerun, m_rename, m_remove}) {
    line->addWidget(button);
  }
  line->setSpacing(0);
  return line;
}

void SchedulePanel::setUpList() {
  m_list->setObjectName(u"scheduleList"_s);
  m_list->setAccessibleName(tr("Schedules"));
  // As high as it needs, up to four of them.
  const auto fit = [this] {
    constexpr int kMaxRows = 4;
    const int rows = std::clamp(m_model.rowCount(), 1, kMaxRows);
    m_list->setFixedHeight(rows * std::max(m_list->sizeHintForRow(0), 0));
  };
  connect(&m_model, &QAbstractItemModel::modelReset, m_list, fit);
  connect(&m_model, &QAbstractItemModel::rowsInserted, m_list, fit);
  connect(&m_model, &QAbstractItemModel::rowsRemoved, m_list, fit);
  m_list->setModel(&m_model);
  m_list->setItemDelegate(new RowDelegate(m_list));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setMouseTracking(true);
  m_list->setUniformItemSizes(true);
  m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
  constexpr int kListHeight = 100;
  m_list->setMinimumHeight(kListHeight);
}

void SchedulePanel::setUpRunning() {
  m_running->setObjectName(u"scheduleRunning"_s);
  m_phase->setObjectName(u"schedulePhase"_s);
  m_progress->setRange(0, kTreeThousand);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Progress"));
  m_cancel->setObjectName(u"scheduleCancel"_s);
  auto* layout = new QVBoxLayout(m_running);
  layout->setContentsMargins(kSchedulePanelMargin, kSchedulePanelMargin / 2, kSchedulePanelMargin,
                             kSchedulePanelMargin / 2);
  auto* line = new QHBoxLayout;
  line->addWidget(m_phase, 1);
  line->addWidget(m_cancel);
  layout->addLayout(line);
  layout->addWidget(m_progress);
  m_failure->setObjectName(u"scheduleFailure"_s);
  m_failure->setProperty("role", u"error"_s);
  m_failure->setWordWrap(true);
  m_failure->setTextInteractionFlags(Qt::TextSelectableByMouse);
  QToolButton* dismiss = iconButton(u"scheduleDismiss"_s, u"close"_s, tr("Dismiss"), m_failureRow);
  connect(dismiss, &QToolButton::clicked, this, [this] {
    if (m_book) {
      m_book->dismissFailure();
    }
  });
  auto* row = new QHBoxLayout(m_failureRow);
  row->setContentsMargins(kSchedulePanelMargin, kSchedulePanelMargin / 2, kSchedulePanelMargin / 2,
                          kSchedulePanelMargin / 2);
  row->addWidget(m_failure, 1);
  row->addWidget(dismiss, 0, Qt::AlignTop);
}

void SchedulePanel::connectAll() {
  connect(m_emptyButton, &QPushButton::clicked, this, &SchedulePanel::generateWanted);
  connect(m_export, &QPushButton::clicked, this, &SchedulePanel::exportWanted);
  connect(m_cancel, &QPushButton::clicked, this, [this] {
    if (m_book) {
      m_book->cancel();
    }
  });
  connect(m_rerun, &QToolButton::clicked, this, [this] { Q_EMIT rerunWanted(chosen()); });
  connect(m_rename, &QToolButton::clicked, this, [this] { Q_EMIT renameWanted(chosen()); });
  connect(m_remove, &QToolButton::clicked, this, [this] { Q_EMIT removeWanted(chosen()); });
  connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (m_book && !m_isFilling && index.isValid()) {
      m_book->setCurrent(index.data(kIdRole).toInt());
    }
  });
  connect(m_list, &QListView::doubleClicked, this, [this] { Q_EMIT renameWanted(chosen()); });
  connect(&Theme::instance(), &Theme::changed, this, &SchedulePanel::refresh);
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, &SchedulePanel::updateRunning);
}

void SchedulePanel::setBook(ScheduleBook* book) {
  if (m_book == book) {
    return;
  }
  m_followed.clear();
  m_book = book;
  if (m_book) {
    m_followed.connect(m_book, &ScheduleBook::changed, [this] { refresh(); });
    m_followed.connect(m_book, &ScheduleBook::currentChanged, [this] { refresh(); });
    m_followed.connect(m_book, &ScheduleBook::runningChanged, [this] { refresh(); });
  }
  refresh();
}

int SchedulePanel::chosen() const {
  const QModelIndex index = m_list->currentIndex();
  return index.isValid() ? index.data(kIdRole).toInt() : 0;
}

void SchedulePanel::refresh() {
  updateRunning();
  updateList();
  updateCard();
}

void SchedulePanel::updateRunning() {
  const bool isRunning = m_book && m_book->isRunning();
  m_running->setVisible(isRunning);
  if (isRunning) {
    const JobProgress::State state = m_book->progress();
    m_phase->setText(state.stage.empty() ? tr("Starting…") : stageName(state.stage) + u"…"_s);
    m_progress->setValue(static_cast<int>(state.fraction * kTreeThousand));
    m_tick.start();
  } else {
    m_tick.stop();
  }
  const QString failure = m_book ? m_book->failure() : QString();
  m_failure->setText(failure);
  m_failureRow->setVisible(!failure.isEmpty());
}

void SchedulePanel::updateList() {
  m_isFilling = true;
  m_model.clear();
  if (m_book) {
    for (const ScheduleEntry& entry : m_book->entries()) {
      auto* item = new QStandardItem(entry.name);
      item->setData(entry.id, kIdRole);
      State state = State::reading;
      QString mark = tr("checking…");
      QString line;
      if (entry.result) {
        const ScheduleResult& result = *entry.result;
        const bool isFresh = m_book->isFresh(entry);
        state = !isFresh ? State::stale : (result.meetsBound ? State::good : State::lossy);
        mark = result.shareOfBound() + (isFresh ? QString() : u" · "_s + tr("stale"));
        line = summaryOf(result) + u'\n' + QString::fromStdString(toFraction(result.algbw)) + u" · "_s +
               result.sizeText() + u" · "_s + (result.seconds > 0 ? duration(result.seconds) : tr("from file"));
        QStringList tip{entry.name, collectiveName(result.options.collective) + u": "_s + line, result.methodText(),
                        isFresh ? QString() : tr("The fabric has changed since."), entry.problem};
        tip.removeAll(QString());
        item->setToolTip(plainTip(tip.join(u'\n')));
        if (!entry.problem.isEmpty()) {
          state = State::refused;
          mark = tr("not saved");
        }
      } else if (!entry.problem.isEmpty()) {
        state = State::refused;
        mark = tr("refused");
        line = entry.problem.left(60) + u'\n' + entry.problem.mid(60);
        item->setToolTip(plainTip(entry.name + u'\n' + entry.problem));
      }
      item->setData(line, kLineRole);
      item->setData(mark, kStateRole);
      item->setData(static_cast<int>(state), kMarkRole);
      item->setData(entry.name + u", "_s + mark + u", "_s + line, Qt::AccessibleTextRole);
      m_model.appendRow(item);
      if (m_book->current() == &entry) {
        m_list->setCurrentIndex(item->index());
      }
    }
  }
  m_isFilling = false;
}

void SchedulePanel::setHasNodes(bool hasNodes) {
  if (m_hasNodes != hasNodes) {
    m_hasNodes = hasNodes;
    updateCard();
  }
}

void SchedulePanel::updateCard() {
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  const bool hasResult = entry != nullptr && entry->result;
  const bool hasRows = m_book && !m_book->entries().empty();
  m_pages->setCurrentIndex(hasRows ? 1 : 0);
  const bool canGenerate = m_book && m_hasNodes;
  m_emptyText->setText(canGenerate
                           ? tr("A schedule defines how data moves over the links. Generate builds a forest of "
                                "spanning trees that reaches the bound, for the collective in the tool bar, and "
                                "verifies it. Methods has the others.")
                           : tr("Open or draw a fabric; Generate then builds spanning trees that reach its bound."));
  m_emptyButton->setVisible(canGenerate);
  m_emptyButton->setEnabled(canGenerate && !m_book->isRunning());
  for (QWidget* widget : {static_cast<QWidget*>(m_number), static_cast<QWidget*>(m_exact),
                          static_cast<QWidget*>(m_details), static_cast<QWidget*>(m_facts)}) {
    widget->setVisible(hasResult);
  }
  m_rerun->setEnabled(hasResult);
  m_rename->setEnabled(entry != nullptr);
  m_remove->setEnabled(hasRows);
  m_export->setEnabled(hasResult);
  if (!hasResult) {
    m_verdict->setText(hasRows ? tr("Choose a schedule") : QString());
    m_verdict->setStyleSheet({});
    return;
  }
  const ScheduleResult& result = *entry->result;
  const Theme& theme = Theme::instance();
  const bool isFresh = m_book->isFresh(*entry);
  const Token token = !isFresh ? Token::muted : result.meetsBound ? Token::accent : Token::warning;
  const QString color = u"color: %1"_s.arg(theme.color(token).name());
  m_verdict->setStyleSheet(color);
  m_verdict->setText((isFresh && result.meetsBound ? u"✓ "_s : QString()) +
                     (isFresh ? result.verdictText() : tr("Stale: the fabric has changed since")));
  m_number->setText(
      decimal(result.algbw) +
      u"<span style='font-size:14px; font-weight:400; color:%1'> GB/s</span>"_s.arg(theme.color(Token::muted).name()));
  m_number->setEnabled(isFresh);
  m_exact->setEnabled(isFresh);
  const QString fraction = QString::fromStdString(toFraction(result.algbw));
  m_exact->setText(u"= %1 · %2 · %3"_s.arg(fraction, collectiveName(result.options.collective),
                                           counted(result.fabric->gpuCount(), tr("GPU"), tr("GPUs"))));
  m_details->setText(result.verdictDetails());
  m_facts->setText(factsOf(result));
}

}  // namespace coppice::designer
