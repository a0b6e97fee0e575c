// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFileInfo>
#include <QPointer>

#include "designer/window/context_menus.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

/// What is done to single elements where they are drawn or listed, and what a document has to say itself.
namespace coppice::designer {

void MainWindow::createElementActions() {
  m_menus = new ContextMenus(
      m_actions, [this] { return currentEditor(); }, this);
  m_actions.add({u"edit.bandwidth"_s, tr("Set Band&width…"), tr("Set the bandwidth of the selected links")},
                [this](bool) {
                  Editor* editor = currentEditor();
                  if (editor != nullptr && !editor->selection().links().empty()) {
                    editor->canvas().editBandwidth(editor->selection().links());
                  }
                });
  m_actions.add({u"view.context-menu"_s,
                 tr("Context &Menu"),
                 tr("Show the actions for the selected element"),
                 {QKeySequence(u"Shift+F10"_s)}},
                [](bool) { ContextMenus::openAtFocus(); });
}

void MainWindow::boxSelection() {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  Document& document = editor->document();
  // The name belongs to the same step of the history.
  const GestureId gesture = document.beginGesture();
  const std::set<ElementId> elements = editor->selection().elements();
  BoxId made;
  document.edit(
      tr("Box"), [&](Edit& edit) { made = edits::box(edit, elements); }, gesture);
  if (!editor->model().contains(made)) {
    return;
  }
  editor->selection().set({made});
  editor->selection().setCurrent(made);
  const QRectF rect = editor->canvas().scene().rectOf(made);
  editor->canvas().askName(
      {rect.center().x(), rect.top()}, editor->model().title(made),
      [editor, made](const QString& name) {
        const Outcome check = edits::checkName(editor->model(), made, name.toStdString());
        return check ? QString() : QString::fromStdString(describe(check.error()));
      },
      [this, editor, made, gesture](const QString& name) {
        Outcome outcome = Done{};
        editor->document().edit(
            tr("Box"), [&](Edit& edit) { outcome = edits::rename(edit, made, name.toStdString()); }, gesture);
        if (!outcome) {
          m_strip->setHint(QString::fromStdString(describe(outcome.error())));
        }
      });
}

void MainWindow::tellOfChangeOnDisk(Editor* editor) {
  const QString name = editor->file().displayName();
  if (!QFileInfo::exists(editor->file().path())) {
    // What is here is all that is left of it.
    editor->notice().withdraw();
    editor->file().markUnsaved();
    m_strip->setHint(tr("%1 was deleted from disk. Save writes it again.").arg(name));
    return;
  }
  editor->notice().tell(
      tr("%1 was changed by another program.").arg(name) +
          (editor->file().isModified() ? u' ' + tr("Reloading discards your unsaved changes.") : QString()),
      {{tr("&Reload"), u"noticeReload"_s, [this, editor] { reloadFromDisk(editor); }},
       {tr("&Keep Mine"), u"noticeKeep"_s, [editor] {
          editor->file().markUnsaved();
          editor->canvas().setFocus();
        }}});
}

void MainWindow::reloadFromDisk(Editor* editor) {
  const QPointer<Editor> watched(editor);
  if (const Outcome opened = editor->file().open(editor->file().path()); !opened && watched) {
    editor->file().markUnsaved();
    m_prompts->failure(this, tr("Open"),
                       tr("%1 could not be reloaded. The document is unchanged.").arg(editor->file().displayName()) +
                           u"\n\n"_s + QString::fromStdString(describe(opened.error())));
  }
  if (watched) {
    editor->canvas().setFocus();
  }
}

}  // namespace coppice::designer
