// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/elements_feature.hpp"

#include <QHeaderView>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTreeView>

#include "designer/features/elements/filter_table.hpp"
#include "designer/features/elements/outline_view.hpp"
#include "designer/features/elements/properties_panel.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ElementsFeature::ElementsFeature(const FeatureHost& host)
    : Feature(host),
      m_menus(m_actions, m_workspace, m_window),
      m_outline(new OutlineView(m_window)),
      m_nodes(makeTable(u"nodesTable"_s, tr("Nodes"))),
      m_links(makeTable(u"linksTable"_s, tr("Links"))),
      m_problems(makeTable(u"problemsTable"_s, tr("Problems"))),
      m_nodesPane(new FilterTable(
          m_nodes, tr("No nodes yet. Drag a device or a template from the palette onto the drawing."), true, m_window)),
      m_linksPane(new FilterTable(m_links, tr("No links yet. Press L and drag from node to node."), true, m_window)),
      m_problemsPane(new FilterTable(m_problems, tr("No problems: the fabric follows every rule."), false, m_window)),
      m_properties(new PropertiesPanel(m_window)) {
  addActions();
  addDocks(host);
  connectViews();
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) { m_menus.attach(*context); });
  connect(&m_workspace, &Workspace::currentChanged, this, &ElementsFeature::follow);
  connect(&m_workspace, &Workspace::stateChanged, this,
          [this] { enable({"edit.bandwidth"}, current() != nullptr && !current()->selection().links().empty()); });
}

QTableView* ElementsFeature::makeTable(const QString& name, const QString& title) {
  auto* view = new QTableView(m_window);
  view->setObjectName(name);
  view->setAccessibleName(title);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setSortingEnabled(true);
  view->setAlternatingRowColors(true);
  view->setShowGrid(false);
  view->setFrameShape(QFrame::NoFrame);
  view->verticalHeader()->hide();
  view->horizontalHeader()->setHighlightSections(false);
  view->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  view->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                        QAbstractItemView::AnyKeyPressed);
  m_menus.attach(*view);
  return view;
}

void ElementsFeature::addActions() {
  addForCurrent({u"edit.bandwidth"_s, tr("Set Band&width…"), tr("Set the bandwidth of the selected links")},
                [](EditorContext& context) {
                  if (!context.selection().links().empty()) {
                    context.canvas().editBandwidth(context.selection().links());
                  }
                });
  m_actions.add({u"view.context-menu"_s,
                 tr("Context &Menu"),
                 tr("Show the actions for the selected element"),
                 {QKeySequence(u"Shift+F10"_s)}},
                [](bool) { ContextMenus::openAtFocus(); });
}

void ElementsFeature::addDocks(const FeatureHost& host) {
  const std::vector<Mode> drawing{Mode::draw, Mode::analyse};
  host.addDock({u"outline"_s, tr("Outline"), m_outline, Qt::LeftDockWidgetArea, drawing});
  host.addDock({u"properties"_s, tr("Properties"), m_properties, Qt::RightDockWidgetArea, drawing});
  // In the other modes the status bar brings it.
  host.addDock({u"problems"_s, tr("Problems"), m_problemsPane, Qt::BottomDockWidgetArea, {Mode::draw, Mode::analyse}});
  host.addDock({u"nodes"_s, tr("Nodes"), m_nodesPane, Qt::BottomDockWidgetArea, drawing});
  host.addDock({u"links"_s, tr("Links"), m_linksPane, Qt::BottomDockWidgetArea, drawing});
}

void ElementsFeature::connectViews() {
  m_menus.attach(*m_outline);
  for (const auto chosen : {&QTreeView::pressed, &QTreeView::activated}) {
    connect(m_outline, chosen, this, [this](const QModelIndex& index) {
      EditorContext* context = current();
      if (context != nullptr && !context->selection().contains(context->outline().elementAt(index))) {
        context->goTo(context->outline().elementAt(index));
      }
    });
  }
  connect(m_problems, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (EditorContext* context = current()) {
      context->goTo(index.data(kElementRole).value<ElementId>());
    }
  });
  connect(m_problems, &QTableView::activated, m_problems, &QTableView::clicked);
}

void ElementsFeature::follow() {
  EditorContext* context = current();
  m_properties->setContext(context);
  m_followed.clear();
  const QItemSelectionModel* oldSelection = m_outline->selectionModel();
  m_outline->setModel(context != nullptr ? &context->outline() : nullptr);
  delete oldSelection;
  m_nodesPane->setSource(context, context != nullptr ? &context->nodeTable() : nullptr);
  m_linksPane->setSource(context, context != nullptr ? &context->linkTable() : nullptr);
  m_problemsPane->setSource(context, context != nullptr ? &context->problems() : nullptr);
  if (context == nullptr) {
    return;
  }
  followOutline(*context);
  followTable(*m_nodes, *context);
  followTable(*m_links, *context);
  m_problems->horizontalHeader()->setSectionResizeMode(ProblemsModel::kText, QHeaderView::Stretch);
  m_followed.connect(&context->selection(), &Selection::changed, [this] { showSelection(); });
  showSelection();
}

void ElementsFeature::followOutline(EditorContext& context) {
  m_outline->header()->setSectionResizeMode(OutlineModel::kName, QHeaderView::Fixed);
  m_outline->header()->setSectionResizeMode(OutlineModel::kDetail, QHeaderView::ResizeToContents);
  m_followed.connect(m_outline->selectionModel(), &QItemSelectionModel::currentChanged,
                     [this, &context](const QModelIndex& index, const QModelIndex& previous) {
                       // A view that gets the focus makes its first row current without a choice of the user.
                       if (!m_isSelecting && m_outline->hasFocus() && previous.isValid()) {
                         context.showElement(context.outline().elementAt(index));
                       }
                     });
}

void ElementsFeature::followTable(QTableView& view, EditorContext& context) {
  m_followed.connect(view.selectionModel(), &QItemSelectionModel::selectionChanged, [this, &view, &context] {
    if (!m_isSelecting && view.hasFocus()) {
      std::set<ElementId> chosen;
      for (const QModelIndex& index : view.selectionModel()->selectedRows()) {
        chosen.insert(index.data(kElementRole).value<ElementId>());
      }
      m_isSelecting = true;
      context.selection().set(std::move(chosen));
      m_isSelecting = false;
    }
  });
}

void ElementsFeature::showSelection() {
  EditorContext* context = current();
  if (context == nullptr || m_isSelecting) {
    return;
  }
  m_isSelecting = true;
  // Tables show what is selected elsewhere; a selection of thousands is not worth a row each.
  constexpr std::size_t kMaxRows = 500;
  const bool isSmall = context->selection().elements().size() <= kMaxRows;
  const auto show = [&](QTableView* view, auto rowOf, const auto& ids) {
    auto* proxy = qobject_cast<QSortFilterProxyModel*>(view->model());
    if (proxy == nullptr || view->hasFocus()) {
      return;
    }
    QItemSelection rows;
    if (isSmall) {
      for (const auto id : ids) {
        const QModelIndex index = proxy->mapFromSource(proxy->sourceModel()->index(rowOf(id), 0));
        if (index.isValid()) {
          rows.select(index, index);
        }
      }
    }
    view->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    if (!rows.isEmpty()) {
      view->scrollTo(rows.indexes().front());
    }
  };
  show(
      m_nodes, [&](NodeId id) { return context->nodeTable().rowOf(id); }, context->selection().nodes());
  show(
      m_links, [&](LinkId id) { return context->linkTable().rowOf(id); }, context->selection().links());
  selectInOutline(*context, isSmall);
  m_isSelecting = false;
}

void ElementsFeature::selectInOutline(EditorContext& context, bool isSmall) {
  if (m_outline->hasFocus() || m_outline->selectionModel() == nullptr) {
    return;
  }
  QItemSelection rows;
  if (isSmall) {
    for (const ElementId& id : context.selection().elements()) {
      const QModelIndex index = context.outline().indexOf(id);
      if (index.isValid()) {
        rows.select(index, index);
      }
    }
  }
  m_outline->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
}

}  // namespace coppice::designer
