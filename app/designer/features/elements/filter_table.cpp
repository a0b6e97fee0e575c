// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/filter_table.hpp"
#include "designer/document/error_text.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/models/element_table_model.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

FilterTable::FilterTable(QTableView* table, const QString& empty, bool hasFilter, QWidget* parent)
    : QWidget(parent),
      m_table(table),
      m_input(new QLineEdit(this)),
      m_state(new QLabel(this)),
      m_empty(new QLabel(this)),
      m_emptyText(empty),
      m_hasFilter(hasFilter) {
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_input->setObjectName(table->objectName() + u"Filter"_s);
  m_input->setPlaceholderText(tr("Filter: name, or bandwidth < 50, in cut, selected …"));
  m_input->setAccessibleName(tr("Filter of %1").arg(table->accessibleName()));
  m_input->setToolTip(tr("Accepts the same words and expressions as Find (Ctrl+F)"));
  m_input->setClearButtonEnabled(true);
  m_input->addAction(icon(u"find"_s), QLineEdit::LeadingPosition);
  constexpr int kWidth = 380;
  m_input->setMaximumWidth(kWidth);
  m_state->setProperty("role", u"muted"_s);
  m_state->setVisible(hasFilter);
  m_empty->setProperty("role", u"muted"_s);
  m_empty->setAlignment(Qt::AlignCenter);
  m_empty->setWordWrap(true);
  constexpr int kEmptyMargin = 12;
  m_empty->setMargin(kEmptyMargin);
  // By itself it asks for the height that the text has in a column as narrow as its longest word.
  m_empty->setMinimumHeight(m_empty->fontMetrics().height() + 2 * kEmptyMargin);
  // Its dock is as high as its rows.
  setProperty("fitsContent", true);
  m_table->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
  auto* top = new QHBoxLayout;
  constexpr QMargins kMargins(10, 6, 10, 4);
  top->setContentsMargins(hasFilter ? kMargins : QMargins());
  top->addWidget(m_input, 1);
  top->addWidget(m_state, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addLayout(top);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_empty, 1);
  setFocusProxy(m_table);
  m_timer.setSingleShot(true);
  m_timer.setInterval(120ms);
  connect(&m_timer, &QTimer::timeout, this, &FilterTable::filter);
  connect(m_input, &QLineEdit::textChanged, this, &FilterTable::filter);
  refresh();
}

void FilterTable::setSource(EditorContext* editor, QAbstractItemModel* source) {
  m_editor = editor;
  m_followed.clear();
  m_isFitted = false;
  QAbstractItemModel* old = m_table->model();
  QItemSelectionModel* oldSelection = m_table->selectionModel();
  if (source != nullptr) {
    auto* proxy = new QueryFilterModel(m_table);
    proxy->setSourceModel(source);
    proxy->setSortRole(kSortRole);
    m_table->setModel(proxy);
    m_table->sortByColumn(-1, Qt::AscendingOrder);
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
      connect(proxy, signal, this, &FilterTable::refresh);
    }
    connect(proxy, &QAbstractItemModel::modelReset, this, &FilterTable::refresh);
  } else {
    m_table->setModel(nullptr);
  }
  delete oldSelection;
  delete old;
  if (m_editor) {
    // Only questions about the selection or the cut change with it; asking again is cheap and waits for a pause.
    const auto again = [this] {
      if (!m_input->text().isEmpty() && !m_table->hasFocus()) {
        m_timer.start();
      }
    };
    m_followed.connect(&m_editor->selection(), &Selection::changed, again);
    m_followed.connect(m_editor, &EditorContext::shownCutChanged, again);
  }
  filter();
}

void FilterTable::filter() {
  auto* proxy = qobject_cast<QueryFilterModel*>(m_table->model());
  QString fault;
  if (proxy != nullptr && m_editor) {
    auto query = Query::parse(m_input->text());
    if (query) {
      proxy->setQuery(*query, [editor = m_editor] {
        QueryContext context = editor->queryContext();
        context.wordsFindLinks = true;
        return context;
      });
    } else {
      // The rows stay as they were until the question can be read.
      fault = sentence(query.error());
    }
  }
  m_input->setProperty("invalid", !fault.isEmpty());
  m_input->style()->unpolish(m_input);
  m_input->style()->polish(m_input);
  m_state->setText(fault);
  refresh();
}

void FilterTable::refresh() {
  const auto* proxy = qobject_cast<QueryFilterModel*>(m_table->model());
  const int all = proxy != nullptr ? proxy->sourceModel()->rowCount() : 0;
  const int shown = proxy != nullptr ? proxy->rowCount() : 0;
  if (!m_input->property("invalid").toBool()) {
    m_state->setText(m_input->text().trimmed().isEmpty() ? QString() : tr("%1 of %2").arg(shown).arg(all));
  }
  m_empty->setText(all == 0 ? m_emptyText : tr("Nothing matches the filter."));
  m_empty->setVisible(shown == 0);
  m_table->setVisible(shown > 0);
  if (shown > 0 && !m_isFitted) {
    // Once for each source: after that widths are the person's.
    m_isFitted = true;
    constexpr int kRowsAsked = 200;
    m_table->horizontalHeader()->setResizeContentsPrecision(kRowsAsked);
    m_table->resizeColumnsToContents();
    for (int column = 0; column < m_table->model()->columnCount(); ++column) {
      constexpr int kMax = 320;
      m_table->setColumnWidth(column, std::min(kMax, m_table->columnWidth(column)));
    }
  }
  m_input->setVisible(m_hasFilter && all > 0);
}

}  // namespace coppice::designer
