// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/edit/edit_feature.hpp"

#include <QClipboard>
#include <QDialog>
#include <QGuiApplication>
#include <QUndoGroup>
#include <QUndoView>
#include <algorithm>
#include <cmath>
#include <utility>

#include "designer/document/exchange.hpp"
#include "designer/document/measures.hpp"
#include "designer/features/edit/array_dialog.hpp"
#include "designer/features/edit/link_dialog.hpp"
#include "io/link_csv.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The text is a table of links between nodes that are here.
bool linksNodesOf(const Model& here, const std::string& text, const Model& part) {
  bool isTable = io::looksLikeLinkCsv(text) && !part.links().isEmpty();
  for (const auto& [id, node] : part.nodes()) {
    isTable = isTable && here.nodeNamed(node.facts.name).isValid();
  }
  return isTable;
}

std::set<ElementId> addLinks(Edit& edit, const Model& here, const Model& part) {
  std::set<ElementId> made;
  for (const auto& [id, link] : part.links()) {
    Link copy = link;
    copy.tail.node = here.nodeNamed(part.nameOf(link.tail));
    copy.head.node = here.nodeNamed(part.nameOf(link.head));
    made.insert(edit.add(std::move(copy)));
  }
  return made;
}

/// By how much a part moves to be below what is drawn.
Point belowDrawing(const Model& here, const Model& part) {
  if (here.nodes().isEmpty()) {
    return {};
  }
  const QRectF drawn = contentsRect(here);
  const QRectF incoming = contentsRect(part);
  return {std::round(drawn.left() - incoming.left()), std::round(drawn.bottom() + 4 * kGridStep - incoming.top())};
}

}  // namespace

EditFeature::EditFeature(const FeatureHost& host) : Feature(host), m_history(new QUndoGroup(this)) {
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) {
    // A double click changes the name of a node, as it changes the bandwidth of a link and the text of a note.
    connect(&context->canvas(), &CanvasView::activated, this, [this, context](const ElementId& id) {
      if (id.node().isValid() && m_workspace.mode() == Mode::draw) {
        context->selection().set({id});
        rename(*context);
      }
    });
  });
  addHistory(host);
  addClipboardActions();
  addCopyActions();
  addNameActions();
  addSelectActions();
  addInsertActions();
  connect(&m_workspace, &Workspace::stateChanged, this, &EditFeature::updateActions);
}

void EditFeature::addHistory(const FeatureHost& host) {
  m_actions.add({u"edit.undo"_s, tr("&Undo"), tr("Undo the last step"), {QKeySequence::Undo}, u"undo"_s},
                [this](bool) { m_history->undo(); });
  m_actions.add({u"edit.redo"_s,
                 tr("&Redo"),
                 tr("Redo the step"),
                 {QKeySequence(u"Ctrl+Shift+Z"_s), QKeySequence(u"Ctrl+Y"_s)},
                 u"redo"_s},
                [this](bool) { m_history->redo(); });
  auto* list = new QUndoView(m_history, m_window);
  list->setObjectName(u"historyList"_s);
  list->setAccessibleName(tr("History"));
  list->setEmptyLabel(tr("On open"));
  list->setFrameShape(QFrame::NoFrame);
  list->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
  list->setProperty("fitsContent", true);
  host.addDock({u"history"_s, tr("History"), list, Qt::BottomDockWidgetArea, {Mode::draw}});
  connect(&m_workspace, &Workspace::added, m_history,
          [this](EditorContext* context) { m_history->addStack(context->document().undoStack()); });
  connect(&m_workspace, &Workspace::removed, m_history,
          [this](EditorContext* context) { m_history->removeStack(context->document().undoStack()); });
  connect(&m_workspace, &Workspace::currentChanged, m_history,
          [this] { m_history->setActiveStack(current() != nullptr ? current()->document().undoStack() : nullptr); });
  // A document tells of its change while the stack is still at the step before.
  for (const auto signal : {&QUndoGroup::canUndoChanged, &QUndoGroup::canRedoChanged}) {
    connect(m_history, signal, this, &EditFeature::updateHistoryActions);
  }
  for (const auto signal : {&QUndoGroup::undoTextChanged, &QUndoGroup::redoTextChanged}) {
    connect(m_history, signal, this, &EditFeature::updateHistoryActions);
  }
  updateHistoryActions();
}

void EditFeature::updateHistoryActions() {
  const auto show = [this](const QString& id, bool isEnabled, const QString& text) {
    m_actions[id]->setEnabled(isEnabled);
    m_actions[id]->setText(text);
  };
  show(u"edit.undo"_s, m_history->canUndo(),
       m_history->canUndo() ? tr("&Undo %1").arg(m_history->undoText()) : tr("&Undo"));
  show(u"edit.redo"_s, m_history->canRedo(),
       m_history->canRedo() ? tr("&Redo %1").arg(m_history->redoText()) : tr("&Redo"));
}

void EditFeature::addClipboardActions() {
  addForCurrent({u"edit.cut"_s, tr("Cu&t"), tr("Copy and delete the selection"), {QKeySequence::Cut}, u"cut"_s},
                [this](EditorContext& context) {
                  copy(context);
                  context.editSelection(tr("Cut"),
                                        [](Edit& edit, const auto& elements) { edits::remove(edit, elements); });
                });
  addForCurrent({u"edit.copy"_s, tr("&Copy"), tr("Copy the selection, also as text"), {QKeySequence::Copy}, u"copy"_s},
                [this](EditorContext& context) { copy(context); });
  m_actions.add(
      {u"edit.paste"_s, tr("&Paste"), tr("Paste a fabric or a table of links"), {QKeySequence::Paste}, u"paste"_s},
      [this](bool) { pasteText(QGuiApplication::clipboard()->text()); });
}

void EditFeature::addCopyActions() {
  addForCurrent({u"edit.duplicate"_s,
                 tr("&Duplicate"),
                 tr("Copy the selection beside itself"),
                 {QKeySequence(u"Ctrl+D"_s)},
                 u"duplicate"_s},
                [this](EditorContext& context) { duplicate(context); });
  addForCurrent({u"edit.array"_s,
                 tr("Arra&y…"),
                 tr("Make copies with numbered names and links"),
                 {QKeySequence(u"Ctrl+Shift+D"_s)},
                 u"array"_s},
                [this](EditorContext& context) {
                  if (!context.selection().isEmpty()) {
                    openBeside(context, new ArrayDialog(context, m_window));
                  }
                });
  addForCurrent({u"edit.link-pattern"_s,
                 tr("&Link by Pattern…"),
                 tr("Many links at once: between two sets, or by names"),
                 {QKeySequence(u"Ctrl+Shift+L"_s)},
                 u"all-to-all"_s},
                [this](EditorContext& context) { openBeside(context, new LinkDialog(context, m_window)); });
}

void EditFeature::addNameActions() {
  addForCurrent({u"edit.delete"_s,
                 tr("D&elete"),
                 tr("Delete the selection with its links"),
                 {QKeySequence::Delete, QKeySequence(Qt::Key_Backspace)},
                 u"delete"_s},
                [this](EditorContext& context) {
                  context.editSelection(tr("Delete"),
                                        [](Edit& edit, const auto& elements) { edits::remove(edit, elements); });
                });
  addForCurrent(
      {u"edit.rename"_s, tr("Rena&me…"), tr("Rename the node or box"), {QKeySequence(Qt::Key_F2)}, u"rename"_s},
      [this](EditorContext& context) { rename(context); });
}

void EditFeature::addSelectActions() {
  const auto add = [this](const QString& id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                          void (Selection::*run)()) {
    addForCurrent({id, text, tip, keys}, [run](EditorContext& context) { (context.selection().*run)(); });
  };
  add(u"select.all"_s, tr("Select &All"), tr("Everything"), {QKeySequence::SelectAll}, &Selection::selectAll);
  add(u"select.none"_s, tr("Select N&one"), tr("Nothing"), {QKeySequence(u"Ctrl+Shift+A"_s)}, &Selection::clear);
  add(u"select.same-kind"_s, tr("Select Same &Kind"), tr("All elements of the kinds that are selected"),
      {QKeySequence(u"Ctrl+Shift+K"_s)}, &Selection::selectSameKind);
  add(u"select.neighbours"_s, tr("Add &Neighbours"), tr("The nodes one link away, and the links"),
      {QKeySequence(u"Ctrl+Shift+N"_s)}, &Selection::addNeighbours);
  add(u"select.box"_s, tr("Select Whole &Box"), tr("Select the boxes around the selection with their content"),
      {QKeySequence(u"Ctrl+Shift+B"_s)}, &Selection::selectWholeBox);
}

void EditFeature::addInsertActions() {
  const auto add = [this](const QString& id, const QString& text, fabric::NodeKind kind, const QString& icon) {
    addForCurrent({id, text, tr("A new node below the drawing"), {}, icon},
                  [this, kind](EditorContext& context) { insertNode(context, kind); });
  };
  add(u"insert.gpu"_s, tr("&GPU"), fabric::NodeKind::gpu, u"gpu"_s);
  add(u"insert.nic"_s, tr("&NIC"), fabric::NodeKind::nic, u"nic"_s);
  add(u"insert.switch"_s, tr("&Switch"), fabric::NodeKind::switchNode, u"switch"_s);
}

void EditFeature::updateActions() {
  EditorContext* context = current();
  const bool isOpen = context != nullptr;
  const bool hasSelection = isOpen && !context->selection().isEmpty();
  enable({"edit.link-pattern", "select.all", "select.none", "insert.gpu", "insert.nic", "insert.switch"}, isOpen);
  enable({"edit.cut", "edit.copy", "edit.duplicate", "edit.array", "edit.delete", "select.same-kind",
          "select.neighbours", "select.box"},
         hasSelection);
  enable({"edit.rename"}, hasSelection && context->selection().elements().size() == 1 &&
                              context->selection().links().empty() && context->selection().notes().empty());
}

void EditFeature::copy(EditorContext& context) {
  const std::string text = clipboardText(context.model(), context.selection().elements());
  if (!text.empty()) {
    QGuiApplication::clipboard()->setText(QString::fromStdString(text));
  }
}

void EditFeature::duplicate(EditorContext& context) {
  constexpr double kBeside = 40;
  std::set<ElementId> made;
  context.editSelection(tr("Duplicate"), [&](Edit& edit, const auto& elements) {
    made = edits::duplicate(edit, elements, {kBeside, kBeside});
  });
  if (!made.empty()) {
    context.selection().set(std::move(made));
  }
}

void EditFeature::rename(EditorContext& context) {
  if (context.selection().elements().size() != 1) {
    return;
  }
  const ElementId id = *context.selection().elements().begin();
  const auto name = m_prompts.text(m_window, tr("Rename"), tr("New name:"), context.model().title(id));
  if (!name) {
    return;
  }
  Outcome outcome = Done{};
  context.document().edit(tr("Rename"),
                          [&](Edit& edit) { outcome = edits::rename(edit, id, name->trimmed().toStdString()); });
  if (!outcome) {
    m_workspace.say(QString::fromStdString(describe(outcome.error())));
  }
}

void EditFeature::insertNode(EditorContext& context, fabric::NodeKind kind) {
  const QRectF all = contentsRect(context.model());
  const Point place = all.isNull() ? Point{} : Point{all.left(), all.bottom() + 4 * kGridStep};
  NodeId made;
  const QString what = kind == fabric::NodeKind::gpu          ? tr("Insert GPU")
                       : kind == fabric::NodeKind::switchNode ? tr("Insert switch")
                                                              : tr("Insert NIC");
  context.document().edit(what, [&](Edit& edit) { made = edits::addNode(edit, kind, place); });
  context.goTo(made);
}

void EditFeature::pasteText(const QString& text) {
  if (text.trimmed().isEmpty()) {
    m_workspace.say(tr("Nothing to paste: the clipboard has no text"));
    return;
  }
  if (m_textTaker && m_textTaker(text)) {
    return;
  }
  const std::string bytes = text.toStdString();
  auto read = readAnyFabric(bytes, {});
  if (!read) {
    m_workspace.say(tr("Nothing to paste: %1").arg(QString::fromStdString(read.error().message)));
    return;
  }
  if (const auto open = withOpenChoices(bytes, {})) {
    auto chosen = m_prompts.import(m_window, *open);
    if (!chosen) {
      return;
    }
    read = *std::move(chosen);
  }
  EditorContext& context = current() != nullptr ? *current() : *m_workspace.newDocument();
  const Model& part = read->model;
  const Model& here = context.model();
  std::set<ElementId> made;
  if (linksNodesOf(here, bytes, part)) {
    context.document().edit(tr("Paste links"), [&](Edit& edit) { made = addLinks(edit, here, part); });
  } else {
    const Point by = belowDrawing(here, part);
    context.document().edit(tr("Paste"), [&](Edit& edit) { made = edits::insert(edit, part, by); });
  }
  const bool wasEmpty = here.nodes().size() == part.nodes().size();
  context.selection().set(std::move(made));
  // All of it is in view: nothing else can be meant.
  if (wasEmpty) {
    context.canvas().zoomToFit();
  }
}

void EditFeature::openBeside(EditorContext& context, QDialog* dialog) {
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->adjustSize();
  const CanvasView& canvas = context.canvas();
  constexpr int kGap = 24;
  dialog->move(canvas.mapToGlobal(QPoint(std::max(0, canvas.width() - dialog->width() - kGap), kGap)));
  dialog->open();
}

}  // namespace coppice::designer
