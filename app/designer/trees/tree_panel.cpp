// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/tree_panel.hpp"

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/theme/elided_label.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Hides roots by their names; what lies below a root stays with it.
class RootFilter : public QSortFilterProxyModel {
public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    const QModelIndex index = sourceModel()->index(row, 0, parent);
    return static_cast<TreeModel::Level>(index.data(TreeModel::kLevelRole).toInt()) != TreeModel::Level::root ||
           index.data().toString().contains(filterRegularExpression());
  }
};

}  // namespace

TreePanel::TreePanel(QWidget* parent)
    : QWidget(parent),
      m_filter(new RootFilter(this)),
      m_pages(new QStackedWidget(this)),
      m_generate(nullptr),
      m_search(new QLineEdit(this)),
      m_state(new ElidedLabel(this)),
      m_view(new QTreeView(this)) {
  setObjectName(u"treePanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_filter->setSourceModel(&m_model);
  constexpr int kSearchWidth = 200;
  setUpSearch(*m_search, u"treeSearch"_s, tr("Find a root"), kSearchWidth);
  m_state->setObjectName(u"treeState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_view->setObjectName(u"treeView"_s);
  m_view->setAccessibleName(tr("Trees"));
  m_view->setModel(m_filter);
  m_view->setFrameShape(QFrame::NoFrame);
  m_view->setUniformRowHeights(true);
  m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_view->setMouseTracking(true);
  m_view->setAllColumnsShowFocus(true);
  m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_view->viewport()->installEventFilter(this);
  constexpr int kNameWidth = 180;
  constexpr int kFigureWidth = 68;
  constexpr int kLockWidth = 52;
  m_view->header()->setStretchLastSection(true);
  m_view->header()->resizeSection(TreeModel::kName, kNameWidth);
  for (const int column : {TreeModel::kCopies, TreeModel::kHeight, TreeModel::kRate}) {
    m_view->header()->resizeSection(column, kFigureWidth);
  }
  m_view->header()->resizeSection(TreeModel::kLock, kLockWidth);
  constexpr int kSpacing = 16;
  auto* body = panelPage(controlRow({m_search}, m_state, kSpacing), m_view, m_pages);
  auto* empty =
      new EmptyPage(tr("The trees along which the data of each GPU travels. Select trees to see them on the drawing."),
                    tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &TreePanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(body);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);

  connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_filter->setFilterRegularExpression(
        QRegularExpression(QRegularExpression::escape(text.trimmed()), QRegularExpression::CaseInsensitiveOption));
  });
  connect(m_view->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
    refresh();
    Q_EMIT chosenChanged();
  });
  connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this, &TreePanel::chosenChanged);
  connect(m_view, &QTreeView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT hovered(m_model.treeAt(m_filter->mapToSource(index))); });
  connect(m_view, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
    const auto [tail, head] = m_model.endsAt(m_filter->mapToSource(index));
    if (!tail.isEmpty()) {
      Q_EMIT endsActivated(tail, head);
    }
  });
  refresh();
}

void TreePanel::setResult(ScheduleResultPtr result) {
  // What consists of steps has no trees.
  if (result && result->stepSchedule() != nullptr) {
    result = nullptr;
  }
  if (m_model.result() == result) {
    refresh();
    return;
  }
  m_model.setResult(std::move(result));
  if (m_model.result() && m_model.rowCount() == 2 &&
      static_cast<TreeModel::Level>(m_model.index(0, 0).data(TreeModel::kLevelRole).toInt()) ==
          TreeModel::Level::half) {
    m_view->expandToDepth(0);
  }
  refresh();
  Q_EMIT chosenChanged();
}

std::vector<TreeRef> TreePanel::chosenTrees() const {
  std::vector<TreeRef> result;
  QModelIndexList rows = m_view->selectionModel()->selectedRows();
  for (const QModelIndex& row : std::as_const(rows)) {
    for (const TreeRef& tree : m_model.treesAt(m_filter->mapToSource(row), maxTrees())) {
      result.push_back(tree);
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  if (result.size() > static_cast<std::size_t>(maxTrees())) {
    result.resize(maxTrees());
  }
  return result;
}

std::optional<EdgeRef> TreePanel::chosenEdge() const {
  return m_model.edgeAt(m_filter->mapToSource(m_view->currentIndex()));
}

QModelIndex TreePanel::rootRow(int half, fabric::Rank rank) const {
  const auto search = [&](const QModelIndex& parent, auto& self) -> QModelIndex {
    for (int row = 0; row < m_model.rowCount(parent); ++row) {
      const QModelIndex index = m_model.index(row, 0, parent);
      const auto level = static_cast<TreeModel::Level>(index.data(TreeModel::kLevelRole).toInt());
      if (level == TreeModel::Level::half) {
        if (const QModelIndex found = self(index, self); found.isValid()) {
          return found;
        }
        continue;
      }
      const std::vector<TreeRef> trees = m_model.treesAt(index, 1);
      if (!trees.empty() && (half < 0 || trees.front().half == half) &&
          m_model.readerOf(trees.front().half)->head(trees.front().tree).root == rank) {
        return index;
      }
    }
    return {};
  };
  return search({}, search);
}

void TreePanel::showTreeAt(const QModelIndex& root, int row) {
  m_search->clear();
  while (m_model.canFetchMore(root) && m_model.rowCount(root) <= row) {
    m_model.fetchMore(root);
  }
  m_view->expand(m_filter->mapFromSource(root));
  const QModelIndex tree = m_filter->mapFromSource(m_model.index(row, 0, root));
  m_view->setCurrentIndex(tree);
  m_view->scrollTo(tree);
}

void TreePanel::showRoot(fabric::Rank rank) {
  if (const QModelIndex root = rootRow(-1, rank); root.isValid()) {
    showTreeAt(root, 0);
  }
}

void TreePanel::showTree(const TreeRef& tree) {
  schedule::TreeReader* reader = m_model.result() ? m_model.readerOf(tree.half) : nullptr;
  if (reader == nullptr || tree.tree < 0 || tree.tree >= reader->size()) {
    return;
  }
  if (const QModelIndex root = rootRow(tree.half, reader->head(tree.tree).root); root.isValid()) {
    showTreeAt(root, static_cast<int>(tree.tree - m_model.treesAt(root, 1).front().tree));
  }
}

void TreePanel::clearChoice() {
  m_view->clearSelection();
}

bool TreePanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Leave) {
    Q_EMIT hovered(std::nullopt);
  }
  return QWidget::eventFilter(watched, event);
}

void TreePanel::refresh() {
  m_pages->setCurrentIndex(m_model.result() ? 1 : 0);
  if (!m_model.result()) {
    return;
  }
  const std::size_t chosen = chosenTrees().size();
  m_state->setText(chosen == 0 ? tr("Choose trees to draw them. Point at one to preview it.")
                   : static_cast<int>(chosen) == maxTrees()
                       ? tr("%1 trees drawn (maximum)").arg(chosen)
                       : counted(static_cast<qsizetype>(chosen), tr("tree drawn"), tr("trees drawn")));
  m_state->setToolTip(m_state->text());
}

}  // namespace coppice::designer
