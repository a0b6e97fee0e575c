// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/sculpt_feature.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/sculpted_schedule.hpp"
#include "schedule/step_routes.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

SculptFeature::SculptFeature(const FeatureHost& host, ScheduleFeature& schedules, const TreesFeature& trees)
    : Feature(host), m_schedules(schedules), m_trees(*trees.trees()), m_parents(new QMenu(m_window)) {
  m_parents->setObjectName(u"newParents"_s);
  QAction* parent = m_actions.add({u"schedule.new-parent"_s,
                                   tr("New Parent…"),
                                   tr("Hang the GPU of the chosen edge below another GPU of its tree"),
                                   {QKeySequence(u"Ctrl+K, 1"_s)}},
                                  [this](bool) { offerParents(); });
  QAction* lock = m_actions.add({u"schedule.lock-trees"_s,
                                 tr("Lock or Unlock Trees"),
                                 tr("Lock the chosen trees: they stay when the rest is generated around them"),
                                 {QKeySequence(u"Ctrl+K, 2"_s)}},
                                [this](bool) { lockChosen(); });
  QAction* around = m_actions.add({u"schedule.around-locked"_s,
                                   tr("Generate Around Locked Trees"),
                                   tr("Keep the locked trees and generate the best others beside them"),
                                   {QKeySequence(u"Ctrl+K, 3"_s)}},
                                  [this](bool) { generateAround(); });
  QAction* drag =
      m_actions.add({u"schedule.drag-edges"_s,
                     tr("Drag Edges of the Tree"),
                     tr("Drag a GPU, or an edge of the one tree that is chosen, to its new parent or route"),
                     {QKeySequence(u"Ctrl+K, 4"_s)},
                     u"link"_s,
                     true},
                    [this](bool isOn) { setDragging(isOn); });
  // The same by the right mouse button and the menu key.
  m_trees.view().addActions({parent, drag, lock, around});
  m_trees.view().setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &SculptFeature::follow);
  connect(&m_schedules, &ScheduleFeature::runningChanged, this, &SculptFeature::update);
  connect(&m_trees, &TreePanel::chosenChanged, this, &SculptFeature::update);
  connect(&m_trees.model(), &TreeModel::locksChanged, this, &SculptFeature::update);
  connect(&m_workspace, &Workspace::added, this, [this, drag](EditorContext* context) {
    CanvasView& canvas = context->canvas();
    connect(&canvas, &CanvasView::pointing, context,
            [this, context](const ElementId& from, const ElementId& over) { preview(*context, from, over); });
    connect(&canvas, &CanvasView::pointed, context,
            [this, context](const ElementId& from, const ElementId& to) { drop(*context, from, to); });
    connect(&canvas, &CanvasView::toolChanged, this, [this, context, drag](ToolKind kind) {
      if (context == current() && kind != ToolKind::point) {
        drag->setChecked(false);
      }
    });
  });
  connect(&m_workspace, &Workspace::modeChanged, this, [this, drag] {
    if (drag->isChecked()) {
      setDragging(false);
    }
  });
  connect(&m_workspace, &Workspace::currentChanged, this, [this, drag] {
    for (EditorContext* each : m_workspace.contexts()) {
      if (drag->isChecked() && each->canvas().tool() == ToolKind::point) {
        each->canvas().setTool(ToolKind::select);
      }
    }
    drag->setChecked(false);
    update();
  });
  update();
}

void SculptFeature::follow() {
  if (m_book != m_schedules.book()) {
    disconnect(m_finished);
    m_isWanted = false;
    m_book = m_schedules.book();
    if (m_book) {
      m_finished = connect(m_book, &ScheduleBook::finished, this, &SculptFeature::show);
    }
  }
  update();
}

const ScheduleEntry* SculptFeature::base() const {
  const ScheduleEntry* entry = m_schedules.currentEntry();
  const bool isUsable = m_book && entry != nullptr && entry->result && entry->result == m_trees.model().result() &&
                        entry->result->forests() != nullptr && m_book->isFresh(*entry);
  return isUsable ? entry : nullptr;
}

void SculptFeature::update() {
  const bool isUsable = base() != nullptr;
  enable({"schedule.new-parent"}, isUsable && m_trees.chosenEdge().has_value());
  enable({"schedule.drag-edges"}, isUsable);
  enable({"schedule.lock-trees"}, isUsable && !m_trees.chosenTrees().empty());
  enable({"schedule.around-locked"}, isUsable && !m_trees.model().locked().empty());
}

void SculptFeature::setDragging(bool isDragging) {
  QAction* action = m_actions[u"schedule.drag-edges"_s];
  if (current() == nullptr) {
    return;
  }
  action->setChecked(isDragging);
  current()->canvas().setTool(isDragging ? ToolKind::point : ToolKind::select);
  current()->canvas().setFocus();
}

Result<TreeRef> SculptFeature::draggedTree(const EditorContext& context) const {
  const auto refused = [](const QString& why) { return Error{ErrorCode::badUsage, why.toStdString()}; };
  if (&context != m_workspace.current() || base() == nullptr) {
    return refused(tr("Choose a schedule of trees that fits the fabric"));
  }
  const std::vector<TreeRef> trees = m_trees.chosenTrees();
  return trees.size() == 1 ? Result<TreeRef>(trees.front())
                           : refused(tr("Choose one tree in Routes, whose edges you drag"));
}

void SculptFeature::preview(EditorContext& context, const ElementId& from, const ElementId& over) {
  if (!m_actions[u"schedule.drag-edges"_s]->isChecked() || !over.isValid()) {
    m_preview.clear();
    return;
  }
  if (const Result<TreeRef> tree = draggedTree(context)) {
    m_preview.show(context.canvas(), *base(), *tree, from, over);
  } else {
    m_preview.refuse(context.canvas(), over, tree.error());
  }
}

void SculptFeature::drop(EditorContext& context, const ElementId& from, const ElementId& to) {
  if (!m_actions[u"schedule.drag-edges"_s]->isChecked()) {
    return;
  }
  const Result<TreeRef> tree = draggedTree(context);
  if (!tree) {
    m_workspace.say(sentence(tree.error()));
    return;
  }
  const auto edge = draggedEdge(*base()->result, *tree, context.model(), from, to);
  if (!edge) {
    m_workspace.say(sentence(edge.error()));
    return;
  }
  giveParent(*tree, edge->change);
}

void SculptFeature::lockChosen() {
  const std::vector<TreeRef> trees = m_trees.chosenTrees();
  const bool areLocked = std::all_of(trees.begin(), trees.end(),
                                     [this](const TreeRef& tree) { return m_trees.model().locked().contains(tree); });
  for (const TreeRef& tree : trees) {
    m_trees.model().setLocked(tree, !areLocked);
  }
}

void SculptFeature::offerParents() {
  const auto edge = m_trees.chosenEdge();
  const ScheduleEntry* entry = base();
  if (!edge || entry == nullptr) {
    return;
  }
  const fabric::Fabric& fabric = *entry->result->fabric;
  schedule::TreeReader* reader = m_trees.model().readerOf(edge->tree.half);
  m_parents->clear();
  schedule::PathPool paths;
  schedule::RouteFinder routes(fabric, paths);
  const bool isOut = edge->tree.half == 1;
  for (const fabric::Rank parent :
       schedule::possibleParents(fabric.gpuCount(), reader->read(edge->tree.tree).edges, edge->child)) {
    const fabric::NodeIndex from = fabric.gpus()[isOut ? parent : edge->child];
    const fabric::NodeIndex to = fabric.gpus()[isOut ? edge->child : parent];
    if (routes.nodesBetween(from, to).empty()) {
      continue;  // only other GPUs join the two
    }
    const QString name = QString::fromStdString(fabric.nodes()[fabric.gpus()[parent]].id);
    m_parents->addAction(name, this,
                         [this, tree = edge->tree, change = schedule::NewParent{edge->tree.tree, edge->child, parent}] {
                           giveParent(tree, change);
                         });
  }
  if (m_parents->isEmpty()) {
    m_workspace.say(
        tr("No other GPU can be the parent: the others get the data through this one, or only GPUs join them"));
    return;
  }
  const QTreeView& view = m_trees.view();
  const QRect row = view.visualRect(view.currentIndex());
  m_parents->popup(view.viewport()->mapToGlobal(row.bottomLeft()));
  m_parents->setActiveAction(m_parents->actions().constFirst());
}

void SculptFeature::giveParent(const TreeRef& tree, const schedule::NewParent& change) {
  const ScheduleEntry* entry = base();
  if (entry == nullptr) {
    return;
  }
  m_isWanted = true;
  m_from = entry->result;
  m_changed = tree;
  // What was verified while it was shown need not be made again.
  const ScheduleResultPtr made = m_preview.verified(entry->result, tree, change);
  m_book->make([result = entry->result, name = entry->name, half = static_cast<std::size_t>(tree.half), change, made](
                   const fabric::Description&, const Progress& progress) {
    return made ? Result<ScheduleResultPtr>(made) : editTree(*result, name, half, change, progress);
  });
}

void SculptFeature::generateAround() {
  const ScheduleEntry* entry = base();
  if (entry == nullptr) {
    return;
  }
  std::array<forestcoll::LockedTrees, 2> locked;
  for (const TreeRef& tree : m_trees.model().locked()) {
    locked[static_cast<std::size_t>(tree.half)].insert(tree.tree);
  }
  m_isWanted = true;
  m_from = entry->result;
  m_changed.reset();
  m_book->make(
      [result = entry->result, name = entry->name, locked](const fabric::Description&, const Progress& progress) {
        return designer::generateAround(*result, name, locked, progress);
      });
}

void SculptFeature::show(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (!std::exchange(m_isWanted, false) || entry == nullptr || !entry->result) {
    return;
  }
  const ScheduleResult& result = *entry->result;
  if (m_changed) {
    // The next edge is dragged in the same tree; a copy that was split off stands behind the others.
    const auto half = static_cast<std::size_t>(m_changed->half);
    const bool isSplit = result.readers[half]->size() > m_from->readers[half]->size();
    m_trees.showTree({m_changed->half, m_changed->tree + (isSplit ? 1 : 0)});
  }
  m_workspace.say(tr("Verified: %1 GB/s, before %2 GB/s; %3 of the bound")
                      .arg(decimal(result.algbw), decimal(m_from->algbw), result.shareOfBound()));
}

}  // namespace coppice::designer
