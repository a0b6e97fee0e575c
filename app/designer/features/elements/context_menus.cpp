// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/elements/context_menus.hpp"

#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QContextMenuEvent>
#include <QLineEdit>
#include <QMenu>

#include "designer/models/element_table_model.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Ids of actions; an empty one is a separator.
QStringList entriesFor(const Model& model, const ElementId& id) {
  if (!id.isValid()) {
    return {u"edit.paste"_s,
            u"select.all"_s,
            {},
            u"insert.search"_s,
            u"insert.gpu"_s,
            u"insert.nic"_s,
            u"insert.nvswitch"_s,
            u"insert.switch"_s,
            u"insert.pcie"_s,
            {},
            u"layout.best"_s,
            u"zoom.fit"_s,
            {},
            u"edit.find"_s,
            u"view.properties"_s};
  }
  const QStringList copies = {{}, u"edit.cut"_s, u"edit.copy"_s, u"edit.duplicate"_s, u"edit.array"_s, u"edit.delete"_s,
                              {}};
  switch (id.kind) {
    case ElementKind::node:
      return QStringList{u"edit.rename"_s, u"tool.link"_s, u"edit.link-pattern"_s} + copies +
             QStringList{u"select.same-kind"_s,
                         u"select.neighbours"_s,
                         u"select.box"_s,
                         {},
                         u"arrange.box"_s,
                         model.find(id.node())->drawing.isPinned ? u"arrange.unpin"_s : u"arrange.pin"_s,
                         {},
                         u"schedule.trees-of-selection"_s,
                         u"sketch.make-senders"_s,
                         u"sketch.make-receivers"_s,
                         u"view.properties"_s};
    case ElementKind::link:
      return {u"edit.bandwidth"_s, u"edit.delete"_s,    {}, u"select.same-kind"_s, u"zoom.selection"_s, {},
              u"view.what-if"_s,   u"view.properties"_s};
    case ElementKind::box:
      return QStringList{u"edit.rename"_s,
                         model.find(id.box())->isFolded ? u"arrange.unfold"_s : u"arrange.fold"_s,
                         u"arrange.unbox"_s,
                         u"arrange.detach"_s,
                         {},
                         u"tool.link"_s,
                         u"edit.link-pattern"_s} +
             copies +
             QStringList{u"edit.save-template"_s, u"select.same-kind"_s, u"zoom.selection"_s, {}, u"view.properties"_s};
    case ElementKind::note:
      break;
  }
  return {u"edit.copy"_s, u"edit.delete"_s, {}, u"view.properties"_s};
}

}  // namespace

ContextMenus::ContextMenus(const ActionRegistry& actions, const Workspace& workspace, QWidget* window)
    : m_actions(actions), m_workspace(workspace), m_window(window) {}

void ContextMenus::attach(EditorContext& editor) {
  connect(&editor.canvas(), &CanvasView::contextMenuWanted, this,
          [this, &editor](const ElementId& id, const QPoint& place) { open(editor, id, place); });
}

void ContextMenus::attach(QAbstractItemView& view) {
  view.setContextMenuPolicy(Qt::CustomContextMenu);
  connect(&view, &QWidget::customContextMenuRequested, this, [this, &view](const QPoint& place) {
    EditorContext* editor = m_workspace.current();
    const QModelIndex at = view.indexAt(place);
    const QModelIndex index = at.isValid() ? at : view.currentIndex();
    const auto id = index.data(kElementRole).value<ElementId>();
    if (editor == nullptr || !editor->model().contains(id)) {
      return;
    }
    if (!editor->selection().contains(id)) {
      editor->selection().set({id});
      editor->selection().setCurrent(id);
    }
    open(*editor, id, view.viewport()->mapToGlobal(place));
  });
}

void ContextMenus::open(EditorContext& editor, const ElementId& id, const QPoint& globalPlace) {
  auto* menu = new QMenu(m_window);
  menu->setObjectName(u"contextMenu"_s);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const QString& entry : entriesFor(editor.model(), id)) {
    if (entry.isEmpty()) {
      menu->addSeparator();
    } else if (QAction* action = m_actions.find(entry);
               action != nullptr && (action->isEnabled() || !entry.startsWith(u"sketch."_s))) {
      // What is about a sketch stays away while there is none.
      menu->addAction(action);
    }
  }
  menu->popup(globalPlace);
}

void ContextMenus::openAtFocus() {
  QWidget* focus = QApplication::focusWidget();
  if (focus == nullptr) {
    return;
  }
  const QPoint place = focus->inputMethodQuery(Qt::ImCursorRectangle).toRect().center();
  if (auto* spin = qobject_cast<QAbstractSpinBox*>(focus)) {
    // A spin box would wait here until its menu is closed; that of its text does not.
    if (auto* text = spin->findChild<QLineEdit*>()) {
      QMenu* menu = text->createStandardContextMenu();
      menu->setAttribute(Qt::WA_DeleteOnClose);
      menu->popup(focus->mapToGlobal(place));
    }
    return;
  }
  QContextMenuEvent event(QContextMenuEvent::Keyboard, place, focus->mapToGlobal(place), Qt::NoModifier);
  QCoreApplication::sendEvent(focus, &event);
}

}  // namespace coppice::designer
