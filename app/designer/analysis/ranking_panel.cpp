// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/ranking_panel.hpp"

#include <QHeaderView>
#include <QScrollBar>
#include <QShowEvent>
#include <QSortFilterProxyModel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Sorts by exact numbers; the order given is that of the model.
class ExactOrder : public QSortFilterProxyModel {
public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
  [[nodiscard]] bool lessThan(const QModelIndex& a, const QModelIndex& b) const override {
    return static_cast<const RankingModel*>(sourceModel())->isLess(a, b);
  }
};

}  // namespace

RankingPanel::Kind upgradesKind() {
  return {u"upgrades"_s, RankingPanel::tr("Upgrades"),
          RankingPanel::tr("Open a fabric to see which of its links gain most from more bandwidth."), upgradeHeaders(),
          rankUpgrades};
}

RankingPanel::Kind damageKind() {
  return {u"damage"_s, RankingPanel::tr("Failures (N-1)"),
          RankingPanel::tr("Open a fabric to see what it loses when a link, NIC, switch or GPU fails."),
          damageHeaders(), rankDamage};
}

RankingPanel::RankingPanel(Kind kind, QWidget* parent)
    : QWidget(parent),
      m_kind(std::move(kind)),
      m_model(m_kind.headers),
      m_pages(new QStackedWidget(this)),
      m_message(new QLabel(this)),
      m_state(new QLabel(this)),
      m_head(new QHBoxLayout),
      m_progress(new QProgressBar(this)),
      m_table(new QTableView(this)),
      m_job([this](std::shared_ptr<const Ranking> ranking) { receive(*ranking); }, 0ms) {
  setObjectName(m_kind.name);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_message->setObjectName(m_kind.name + u"Message"_s);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setProperty("role", u"muted"_s);
  m_state->setObjectName(m_kind.name + u"State"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  constexpr int kMargin = 6;
  m_state->setContentsMargins(kMargin, kMargin / 2, kMargin, kMargin / 2);
  setUpThinProgress(*m_progress, m_kind.name + u"Progress"_s);
  m_table->setObjectName(m_kind.name + u"Table"_s);
  m_table->setAccessibleName(m_kind.title);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setAlternatingRowColors(true);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->verticalHeader()->hide();
  m_table->horizontalHeader()->setHighlightSections(false);
  auto* order = new ExactOrder(this);
  order->setSourceModel(&m_model);
  m_table->setModel(order);
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(-1, Qt::AscendingOrder);
  m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  m_pages->addWidget(m_message);
  m_pages->addWidget(m_table);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_progress);
  m_head->setContentsMargins({});
  m_head->addWidget(m_state, 1);
  layout->addLayout(m_head);
  layout->addWidget(m_pages, 1);
  const auto choose = [this](const QModelIndex& index) {
    const QModelIndex source = static_cast<const QSortFilterProxyModel*>(m_table->model())->mapToSource(index);
    if (source.isValid() && isCurrent()) {
      const RankedRow& row = m_model.rows()[source.row()];
      Q_EMIT elementsChosen(row.elements, row.cells.front().text);
    }
  };
  connect(m_table, &QTableView::clicked, this, choose);
  connect(m_table, &QTableView::activated, this, choose);
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, [this] { m_progress->setValue(m_done ? m_done->load() : 0); });
  refresh();
}

RankingPanel::~RankingPanel() = default;

void RankingPanel::setSubject(Document* document, LiveBound* bound) {
  if (m_document == document && m_bound == bound) {
    return;
  }
  m_followed.clear();
  m_job.cancel();
  m_isOrdered = false;
  m_hasAnswer = false;
  m_model.setRows({});
  m_document = document;
  m_bound = bound;
  if (m_bound) {
    m_followed.connect(m_bound, &LiveBound::changed, [this] { follow(); });
  }
  follow();
}

void RankingPanel::setAction(QAction* action) {
  auto* button = new QToolButton(this);
  button->setObjectName(m_kind.name + u"Action"_s);
  button->setDefaultAction(action);
  button->setToolButtonStyle(Qt::ToolButtonTextOnly);
  const auto follow = [button, action] { button->setVisible(action->isEnabled()); };
  connect(action, &QAction::enabledChanged, button, follow);
  follow();
  constexpr int kMargin = 6;
  m_head->setContentsMargins(0, kMargin / 2, kMargin, kMargin / 2);
  m_head->addWidget(button, 0, Qt::AlignRight);
}

bool RankingPanel::isCurrent() const {
  return m_hasAnswer && m_document && m_bound && m_factRevision == m_document->factRevision() &&
         m_question == m_bound->question();
}

void RankingPanel::fitColumns() {
  // In a narrow panel the heads of the numbers shrink to the width of their numbers, so that names stay readable.
  constexpr int kReadable = 300;
  constexpr int kPadding = 28;       // of a cell
  constexpr std::size_t kRead = 60;  // rows; names of classes are the first
  QHeaderView* header = m_table->horizontalHeader();
  header->setTextElideMode(Qt::ElideRight);
  const QAbstractItemView& view = *m_table;  // where the hints are public
  std::vector<int> min;
  std::vector<int> full;
  int wanted = 0;
  for (std::size_t row = 0; row < std::min(kRead, m_model.rows().size()); ++row) {
    wanted = std::max(wanted, m_table->fontMetrics().horizontalAdvance(m_model.rows()[row].cells.front().text));
  }
  wanted = std::min(wanted + kPadding, kReadable);
  int spare = 0;
  for (int column = 1; column < m_model.columnCount(); ++column) {
    min.push_back(std::max(view.sizeHintForColumn(column), header->minimumSectionSize()));
    full.push_back(std::max(min.back(), header->sectionSizeHint(column)));
    wanted += full.back();
    spare += full.back() - min.back();
  }
  // The table may not have been laid out for this width yet.
  const int room = width() - m_table->verticalScrollBar()->sizeHint().width();
  const int missing = std::clamp(wanted - room, 0, spare);
  for (int column = 1; column < m_model.columnCount(); ++column) {
    const auto at = static_cast<std::size_t>(column - 1);
    const int give = spare > 0 ? (full[at] - min[at]) * missing / spare : 0;
    header->setSectionResizeMode(column, QHeaderView::Interactive);
    header->resizeSection(column, full[at] - give);
  }
}

void RankingPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitColumns();
}

void RankingPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void RankingPanel::follow() {
  const bool hasBound = m_document && m_bound && m_bound->isCurrent() && m_bound->bound()->algbw;
  const bool isOrderRight = m_isOrdered && hasBound && m_orderedRevision == m_document->factRevision() &&
                            m_orderedQuestion == m_bound->question();
  if (m_isOrdered && !isOrderRight) {
    m_job.cancel();
    m_isOrdered = false;
  }
  if (hasBound && !isCurrent() && !m_isOrdered && isVisible()) {
    m_done = std::make_shared<std::atomic<int>>(0);
    m_isOrdered = true;
    m_orderedRevision = m_document->factRevision();
    m_orderedQuestion = m_bound->question();
    m_job.submit([rank = m_kind.rank, solver = m_bound->solver(), snapshot = Snapshot::of(*m_document),
                  question = m_orderedQuestion, done = m_done](std::stop_token stop) {
      return std::make_shared<const Ranking>(rank(*solver, snapshot, question, done, std::move(stop)));
    });
  }
  refresh();
}

void RankingPanel::receive(Ranking ranking) {
  m_isOrdered = false;
  if (!ranking.isAnswered) {
    refresh();
    return;
  }
  m_hasAnswer = true;
  m_factRevision = ranking.factRevision;
  m_question = ranking.question;
  m_why = std::move(ranking.why);
  m_note = std::move(ranking.note);
  m_table->sortByColumn(-1, Qt::AscendingOrder);
  m_model.setRows(std::move(ranking.rows));
  fitColumns();
  follow();
}

void RankingPanel::refresh() {
  const std::shared_ptr<const Bound> bound = m_bound ? m_bound->bound() : nullptr;
  const bool isBoundCurrent = m_bound && m_bound->isCurrent();
  const bool hasNoBound = isBoundCurrent && !bound->algbw;
  QString message;
  QString state;
  if (!m_document) {
    message = m_kind.empty;
  } else if (hasNoBound) {
    message = bound->why;
  } else if (isCurrent()) {
    message = m_model.rowCount() > 0 ? QString() : (m_why.isEmpty() ? tr("Nothing to rank.") : m_why);
    state = m_note;
    // That of an allreduce by trees counts all that switches do.
    if (!bound->note.isEmpty() && bound->scope != schedule::BoundScope::trees) {
      state = tr("This fabric is limited by switches that only forward. The ranking considers only its cuts.");
    }
  } else if (m_model.rowCount() > 0) {
    state = tr("The fabric has changed. Computing the new ranking…");
  } else {
    message = tr("Working…");
  }
  const bool isWorking = m_document && !hasNoBound && !isCurrent();
  m_message->setText(message);
  m_pages->setCurrentWidget(message.isEmpty() ? static_cast<QWidget*>(m_table) : m_message);
  m_table->setEnabled(isCurrent());
  m_state->setText(state);
  m_state->setVisible(!state.isEmpty());
  m_progress->setVisible(isWorking);
  if (isWorking) {
    m_progress->setValue(m_isOrdered ? m_done->load() : 0);
    m_tick.start();
  } else {
    m_tick.stop();
  }
}

}  // namespace coppice::designer
