// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QDockWidget>
#include <QHash>
#include <QHeaderView>
#include <QLabel>
#include <QMenuBar>
#include <QTableView>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>
#include <QUndoGroup>
#include <QUndoView>

#include "designer/analysis/ranking_panel.hpp"
#include "designer/analysis/what_if_panel.hpp"
#include "designer/canvas/minimap.hpp"
#include "designer/document/instances.hpp"
#include "designer/window/bound_card.hpp"
#include "designer/window/context_menus.hpp"
#include "designer/window/filter_table.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/outline_view.hpp"
#include "designer/window/properties_panel.hpp"
#include "designer/window/shortcut_dialog.hpp"

using namespace Qt::StringLiterals;

/// The parts of MainWindow that list things: actions, menus, tool bar, docks.
namespace coppice::designer {

void MainWindow::createActions() {
  createFileActions();
  createEditActions();
  createArrangeActions();
  createViewActions();
}

void MainWindow::createFileActions() {
  m_actions.add({u"file.new"_s, tr("&New"), tr("Open an empty fabric in a new tab"), {QKeySequence::New}, u"new"_s},
                [this](bool) { newDocument(); });
  m_actions.add(
      {u"file.open"_s,
       tr("&Open…"),
       tr("Open fabrics, or import them from another format"),
       {QKeySequence::Open},
       u"open"_s},
      [this](bool) {
        openFiles(m_prompts->filesToOpen(
            this, {}, tr("All fabrics (*.fabric.json *.json *.xml *.txt *.dot *.gv *.csv *.adj);;All files (*)")));
      });
  m_actions.add({u"file.save"_s, tr("&Save"), tr("Write the file"), {QKeySequence::Save}, u"save"_s}, [this](bool) {
    if (Editor* editor = currentEditor()) {
      save(editor);
    }
  });
  m_actions.add(
      {u"file.save-as"_s, tr("Save &As…"), tr("Save the file under another name"), {QKeySequence(u"Ctrl+Shift+S"_s)}},
      [this](bool) {
        if (Editor* editor = currentEditor()) {
          saveAs(editor);
        }
      });
  m_actions.add({u"file.export"_s, tr("&Export Fabric…"), tr("Write the fabric in another format"), {}, u"export"_s},
                [this](bool) { exportAs(); });
  createPictureActions();
  createScheduleActions();
  createRunActions();
  m_actions.add({u"file.close"_s, tr("&Close"), tr("Close this tab"), {QKeySequence::Close}, u"close"_s},
                [this](bool) { closeEditor(currentEditor()); });
  m_actions.add({u"file.quit"_s, tr("&Quit"), tr("Close all tabs and quit"), {QKeySequence(u"Ctrl+Q"_s)}},
                [this](bool) { close(); });
}

void MainWindow::createEditActions() {
  m_actions.add({u"edit.undo"_s, tr("&Undo"), tr("Undo the last step"), {QKeySequence::Undo}, u"undo"_s},
                [this](bool) { m_undoGroup->undo(); });
  m_actions.add({u"edit.redo"_s,
                 tr("&Redo"),
                 tr("Redo the step"),
                 {QKeySequence(u"Ctrl+Shift+Z"_s), QKeySequence(u"Ctrl+Y"_s)},
                 u"redo"_s},
                [this](bool) { m_undoGroup->redo(); });
  m_actions.add({u"edit.cut"_s, tr("Cu&t"), tr("Copy and delete the selection"), {QKeySequence::Cut}, u"cut"_s},
                [this](bool) {
                  copy();
                  edit(tr("Cut"), [](Edit& edit, const auto& elements) { edits::remove(edit, elements); });
                });
  m_actions.add({u"edit.copy"_s, tr("&Copy"), tr("Copy the selection, also as text"), {QKeySequence::Copy}, u"copy"_s},
                [this](bool) { copy(); });
  m_actions.add(
      {u"edit.paste"_s, tr("&Paste"), tr("Paste a fabric or a table of links"), {QKeySequence::Paste}, u"paste"_s},
      [this](bool) { paste(); });
  m_actions.add({u"edit.duplicate"_s,
                 tr("&Duplicate"),
                 tr("Copy the selection beside itself"),
                 {QKeySequence(u"Ctrl+D"_s)},
                 u"duplicate"_s},
                [this](bool) {
                  constexpr double kBeside = 40;
                  std::set<ElementId> made;
                  edit(tr("Duplicate"), [&](Edit& edit, const auto& elements) {
                    made = edits::duplicate(edit, elements, {kBeside, kBeside});
                  });
                  if (Editor* editor = currentEditor(); editor != nullptr && !made.empty()) {
                    editor->selection().set(std::move(made));
                  }
                });
  m_actions.add({u"edit.array"_s,
                 tr("Arra&y…"),
                 tr("Make copies with numbered names and links"),
                 {QKeySequence(u"Ctrl+Shift+D"_s)},
                 u"array"_s},
                [this](bool) { replicate(); });
  m_actions.add({u"edit.link-pattern"_s,
                 tr("&Link by Pattern…"),
                 tr("Many links at once: between two sets, or by names"),
                 {QKeySequence(u"Ctrl+Shift+L"_s)},
                 u"all-to-all"_s},
                [this](bool) { linkByPattern(); });
  m_actions.add(
      {u"edit.delete"_s,
       tr("D&elete"),
       tr("Delete the selection with its links"),
       {QKeySequence::Delete, QKeySequence(Qt::Key_Backspace)},
       u"delete"_s},
      [this](bool) { edit(tr("Delete"), [](Edit& edit, const auto& elements) { edits::remove(edit, elements); }); });
  m_actions.add(
      {u"edit.rename"_s, tr("Rena&me…"), tr("Rename the node or box"), {QKeySequence(Qt::Key_F2)}, u"rename"_s},
      [this](bool) {
        Editor* editor = currentEditor();
        if (editor == nullptr || editor->selection().elements().size() != 1) {
          return;
        }
        const ElementId id = *editor->selection().elements().begin();
        const auto name = m_prompts->text(this, tr("Rename"), tr("New name:"), editor->model().title(id));
        if (!name) {
          return;
        }
        Outcome outcome = Done{};
        editor->document().edit(tr("Rename"),
                                [&](Edit& edit) { outcome = edits::rename(edit, id, name->trimmed().toStdString()); });
        if (!outcome) {
          m_strip->setHint(QString::fromStdString(describe(outcome.error())));
        }
      });
  createElementActions();
  createFindActions();
  const auto select = [this](const QString& id, const QString& text, const QString& tip,
                             const QList<QKeySequence>& keys, void (Selection::*run)()) {
    m_actions.add({id, text, tip, keys}, [this, run](bool) {
      if (Editor* editor = currentEditor()) {
        (editor->selection().*run)();
      }
    });
  };
  select(u"select.all"_s, tr("Select &All"), tr("Everything"), {QKeySequence::SelectAll}, &Selection::selectAll);
  select(u"select.none"_s, tr("Select N&one"), tr("Nothing"), {QKeySequence(u"Ctrl+Shift+A"_s)}, &Selection::clear);
  select(u"select.same-kind"_s, tr("Select Same &Kind"), tr("All elements of the kinds that are selected"),
         {QKeySequence(u"Ctrl+Shift+K"_s)}, &Selection::selectSameKind);
  select(u"select.neighbours"_s, tr("Add &Neighbours"), tr("The nodes one link away, and the links"),
         {QKeySequence(u"Ctrl+Shift+N"_s)}, &Selection::addNeighbours);
  select(u"select.box"_s, tr("Select Whole &Box"), tr("Select the boxes around the selection with their content"),
         {QKeySequence(u"Ctrl+Shift+B"_s)}, &Selection::selectWholeBox);
  const auto insert = [this](const QString& id, const QString& text, fabric::NodeKind kind, const QString& icon) {
    m_actions.add({id, text, tr("A new node below the drawing"), {}, icon}, [this, kind](bool) { insertNode(kind); });
  };
  createPaletteActions();
  insert(u"insert.gpu"_s, tr("&GPU"), fabric::NodeKind::gpu, u"gpu"_s);
  insert(u"insert.nic"_s, tr("&NIC"), fabric::NodeKind::nic, u"nic"_s);
  insert(u"insert.switch"_s, tr("&Switch"), fabric::NodeKind::switchNode, u"switch"_s);
}

void MainWindow::createArrangeActions() {
  createLayoutActions();
  const auto arrange = [this](const QString& id, const QString& text, const QString& tip,
                              const QList<QKeySequence>& keys,
                              std::function<void(Edit&, const std::set<ElementId>&)> run) {
    static const QHash<QString, QString> kIcons = {{u"left"_s, u"align-left"_s},
                                                   {u"centre"_s, u"align-centre"_s},
                                                   {u"right"_s, u"align-right"_s},
                                                   {u"top"_s, u"align-top"_s},
                                                   {u"middle"_s, u"align-middle"_s},
                                                   {u"bottom"_s, u"align-bottom"_s},
                                                   {u"circle"_s, u"circle"_s},
                                                   {u"grid"_s, u"grid"_s},
                                                   {u"unbox"_s, u"unbox"_s},
                                                   {u"fold"_s, u"fold"_s},
                                                   {u"pin"_s, u"pin"_s},
                                                   {u"distribute-h"_s, u"distribute-horizontal"_s},
                                                   {u"distribute-v"_s, u"distribute-vertical"_s}};
    m_actions.add({id, text, tip, keys, kIcons.value(id.section(u'.', 1))},
                  [this, text, run = std::move(run)](bool) { edit(QString(text).remove(u'&'), run); });
  };
  using edits::Axis;
  using edits::Side;
  const auto align = [&](const QString& id, const QString& text, Side side) {
    arrange(id, text, tr("Align the selection"), {},
            [side](Edit& edit, const auto& elements) { edits::align(edit, elements, side); });
  };
  align(u"arrange.left"_s, tr("Align L&eft"), Side::left);
  align(u"arrange.centre"_s, tr("Align Centre&s"), Side::horizontalCentre);
  align(u"arrange.right"_s, tr("Align &Right"), Side::right);
  align(u"arrange.top"_s, tr("Align &Top"), Side::top);
  align(u"arrange.middle"_s, tr("Align &Middles"), Side::verticalCentre);
  align(u"arrange.bottom"_s, tr("Align &Bottom"), Side::bottom);
  arrange(u"arrange.distribute-h"_s, tr("Distribute &Horizontally"), tr("Equal gaps from left to right"), {},
          [](Edit& edit, const auto& elements) { edits::distribute(edit, elements, Axis::horizontal); });
  arrange(u"arrange.distribute-v"_s, tr("Distribute &Vertically"), tr("Equal gaps from top to bottom"), {},
          [](Edit& edit, const auto& elements) { edits::distribute(edit, elements, Axis::vertical); });
  arrange(u"arrange.circle"_s, tr("On a &Circle"), tr("Around their middle"), {},
          [](Edit& edit, const auto& elements) { edits::toCircle(edit, elements); });
  arrange(u"arrange.grid"_s, tr("In a &Grid"), tr("Row by row"), {},
          [](Edit& edit, const auto& elements) { edits::toGrid(edit, elements); });
  m_actions.add({u"arrange.box"_s, tr("Bo&x"), tr("A box around the selection"), {QKeySequence(u"Ctrl+G"_s)}, u"box"_s},
                [this](bool) { boxSelection(); });
  const auto boxesOf = [](const std::set<ElementId>& elements) {
    std::vector<BoxId> boxes;
    for (const ElementId& id : elements) {
      if (id.kind == ElementKind::box) {
        boxes.push_back(id.box());
      }
    }
    return boxes;
  };
  arrange(u"arrange.unbox"_s, tr("&Unbox"), tr("Remove the boxes and keep their content"),
          {QKeySequence(u"Ctrl+Shift+G"_s)},
          [boxesOf](Edit& edit, const auto& elements) { edits::unbox(edit, boxesOf(elements)); });
  arrange(u"arrange.fold"_s, tr("&Fold"), tr("Draw the boxes as one node each"), {QKeySequence(u"Ctrl+["_s)},
          [boxesOf](Edit& edit, const auto& elements) { edits::fold(edit, boxesOf(elements), true); });
  arrange(u"arrange.unfold"_s, tr("U&nfold"), tr("Show the content of the boxes"), {QKeySequence(u"Ctrl+]"_s)},
          [boxesOf](Edit& edit, const auto& elements) { edits::fold(edit, boxesOf(elements), false); });
  const auto foldAll = [](bool isFolded) {
    return [isFolded](Edit& edit, const std::set<ElementId>&) { edits::fold(edit, edit.base().boxesIn({}), isFolded); };
  };
  arrange(u"arrange.fold-all"_s, tr("Fold &All"), tr("Every outermost box"), {QKeySequence(u"Ctrl+Shift+["_s)},
          foldAll(true));
  arrange(u"arrange.unfold-all"_s, tr("Unf&old All"), tr("Every outermost box"), {QKeySequence(u"Ctrl+Shift+]"_s)},
          foldAll(false));
  const auto pin = [](bool isPinned) {
    return [isPinned](Edit& edit, const std::set<ElementId>& elements) {
      for (const ElementId& id : elements) {
        edit.change(id.node(), [isPinned](Node& node) { node.drawing.isPinned = isPinned; });
      }
    };
  };
  arrange(u"arrange.pin"_s, tr("&Pin"), tr("Automatic layout leaves the nodes where they are"), {}, pin(true));
  arrange(u"arrange.unpin"_s, tr("Unp&in"), tr("Automatic layout may move the nodes"), {}, pin(false));
  arrange(u"arrange.detach"_s, tr("&Detach Instance"), tr("Edit the box independently of its type"), {},
          [boxesOf](Edit& edit, const auto& elements) {
            for (const BoxId id : boxesOf(elements)) {
              detach(edit, id);
            }
          });
}

void MainWindow::createViewActions() {
  const auto mode = [this](const QString& id, const QString& text, const QString& tip, const QString& keys,
                           Mode value) {
    m_actions.add({id, text, tip, {QKeySequence(keys)}, id.section(u'.', 1), true},
                  [this, value](bool) { setMode(value); });
  };
  mode(u"mode.draw"_s, tr("&Draw"), tr("Build the fabric"), u"Ctrl+1"_s, Mode::draw);
  mode(u"mode.analyse"_s, tr("&Analyse"), tr("See what limits it"), u"Ctrl+2"_s, Mode::analyse);
  mode(u"mode.schedule"_s, tr("&Schedule"), tr("See the trees"), u"Ctrl+3"_s, Mode::schedule);
  mode(u"mode.run"_s, tr("&Run"), tr("Measure it on real machines"), u"Ctrl+4"_s, Mode::run);
  m_actions[u"mode.draw"_s]->setChecked(true);
  createFrameActions();
  m_actions.add({u"analyse.next-cut"_s,
                 tr("&Next Tied Cut"),
                 tr("Show the next of the cuts that are equally tight"),
                 {QKeySequence(u"C"_s)}},
                [this](bool) {
                  if (Editor* editor = currentEditor()) {
                    if (m_layouts.mode() == Mode::analyse) {
                      editor->showNextCut();
                    } else {
                      setMode(Mode::analyse);
                    }
                  }
                });
  const auto tool = [this](const QString& id, const QString& text, const QString& tip, const QString& keys,
                           ToolKind kind) {
    m_actions.add({id, text, tip, {QKeySequence(keys)}, id.section(u'.', 1), true}, [this, kind](bool) {
      if (Editor* editor = currentEditor()) {
        editor->canvas().setTool(kind);
        editor->canvas().setFocus();
      }
      updateActions();
    });
  };
  tool(u"tool.select"_s, tr("&Select"), tr("Select and move"), u"V"_s, ToolKind::select);
  tool(u"tool.pan"_s, tr("&Pan"), tr("Move the view"), u"H"_s, ToolKind::pan);
  tool(u"tool.link"_s, tr("&Link"), tr("Draw links from node to node, or between sets"), u"L"_s, ToolKind::link);
  tool(u"tool.box"_s, tr("&Box"), tr("Draw a box"), u"B"_s, ToolKind::box);
  tool(u"tool.text"_s, tr("&Text"), tr("Write a note"), u"T"_s, ToolKind::text);
  const auto zoom = [this](const QString& id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                           std::function<void(CanvasView&)> run) {
    m_actions.add({id, text, tip, keys}, [this, run = std::move(run)](bool) {
      if (Editor* editor = currentEditor()) {
        run(editor->canvas());
      }
    });
  };
  constexpr double kZoomStep = 1.25;
  zoom(u"zoom.fit"_s, tr("Zoom to &Fit"), tr("Show everything"), {QKeySequence(u"Shift+1"_s)},
       [](CanvasView& view) { view.zoomToFit(); });
  zoom(u"zoom.selection"_s, tr("Zoom to &Selection"), tr("Show what is selected"), {QKeySequence(u"Shift+2"_s)},
       [](CanvasView& view) { view.zoomToSelection(); });
  zoom(u"zoom.actual"_s, tr("&Actual Size"), tr("100 %"), {QKeySequence(u"Ctrl+0"_s)},
       [](CanvasView& view) { view.setZoom(1); });
  zoom(u"zoom.in"_s, tr("Zoom &In"), tr("Larger"), {QKeySequence::ZoomIn, QKeySequence(u"Ctrl+="_s)},
       [](CanvasView& view) { view.setZoom(view.zoom() * kZoomStep); });
  zoom(u"zoom.out"_s, tr("Zoom &Out"), tr("Smaller"), {QKeySequence::ZoomOut},
       [](CanvasView& view) { view.setZoom(view.zoom() / kZoomStep); });
  m_actions.add({u"view.palette"_s,
                 tr("&Command Palette…"),
                 tr("Run any command by its name"),
                 {QKeySequence(u"Ctrl+Shift+P"_s)}},
                [this](bool) { showPalette(); });
  m_actions.add(
      {u"help.shortcuts"_s, tr("&Keyboard Shortcuts…"), tr("See and change the shortcuts"), {QKeySequence(u"?"_s)}},
      [this](bool) {
        auto* dialog = new ShortcutDialog(m_actions, this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->open();
      });
  createHelpActions();
}

void MainWindow::createMenus() {
  const auto fill = [this](QMenu* menu, const QStringList& ids) {
    for (const QString& id : ids) {
      if (id.isEmpty()) {
        menu->addSeparator();
      } else {
        menu->addAction(m_actions[id]);
      }
    }
  };
  QMenu* file = menuBar()->addMenu(tr("&File"));
  fill(file, {u"file.new"_s, u"file.open"_s});
  m_recentMenu = file->addMenu(tr("Open &Recent"));
  fill(file, {{},
              u"file.save"_s,
              u"file.save-as"_s,
              u"file.export"_s,
              u"file.export-picture"_s,
              {},
              u"file.close"_s,
              u"file.quit"_s});
  fill(menuBar()->addMenu(tr("&Edit")), {u"edit.undo"_s,
                                         u"edit.redo"_s,
                                         {},
                                         u"edit.cut"_s,
                                         u"edit.copy"_s,
                                         u"edit.paste"_s,
                                         {},
                                         u"edit.duplicate"_s,
                                         u"edit.array"_s,
                                         u"edit.link-pattern"_s,
                                         u"edit.delete"_s,
                                         u"edit.rename"_s,
                                         u"edit.bandwidth"_s,
                                         u"edit.save-template"_s,
                                         {},
                                         u"select.all"_s,
                                         u"select.none"_s,
                                         u"select.same-kind"_s,
                                         u"select.neighbours"_s,
                                         u"select.box"_s,
                                         {},
                                         u"edit.find"_s,
                                         u"edit.find-next"_s,
                                         u"edit.find-previous"_s,
                                         u"edit.go-to"_s});
  QMenu* view = menuBar()->addMenu(tr("&View"));
  fill(view, {u"mode.draw"_s,
              u"mode.analyse"_s,
              u"mode.schedule"_s,
              u"mode.run"_s,
              u"analyse.next-cut"_s,
              u"analyse.next-problem"_s,
              {}});
  fill(view->addMenu(tr("&Zoom")), {u"zoom.fit"_s, u"zoom.selection"_s, u"zoom.actual"_s, u"zoom.in"_s, u"zoom.out"_s});
  fill(view->addMenu(tr("&Tools")), {u"tool.select"_s, u"tool.pan"_s, u"tool.link"_s, u"tool.box"_s, u"tool.text"_s});
  QMenu* docks = view->addMenu(tr("D&ocks"));
  for (const QDockWidget* dock : findChildren<QDockWidget*>()) {
    docks->addAction(dock->toggleViewAction());
  }
  fill(view->addMenu(tr("T&heme")), {u"theme.system"_s, u"theme.light"_s, u"theme.dark"_s});
  fill(view, {{}, u"view.palette"_s, {}});
  fill(view, {u"view.toggle-docks"_s, u"view.reset-layout"_s, u"view.next-pane"_s, u"view.previous-pane"_s,
              u"view.context-menu"_s});
  fill(menuBar()->addMenu(tr("&Insert")),
       {u"insert.search"_s, {}, u"insert.gpu"_s, u"insert.nic"_s, u"insert.switch"_s});
  QMenu* arrange = menuBar()->addMenu(tr("&Arrange"));
  createLayoutMenu(arrange);
  arrange->addSeparator();
  fill(arrange, {u"arrange.left"_s,
                 u"arrange.centre"_s,
                 u"arrange.right"_s,
                 u"arrange.top"_s,
                 u"arrange.middle"_s,
                 u"arrange.bottom"_s,
                 {},
                 u"arrange.distribute-h"_s,
                 u"arrange.distribute-v"_s,
                 u"arrange.circle"_s,
                 u"arrange.grid"_s,
                 {},
                 u"arrange.box"_s,
                 u"arrange.unbox"_s,
                 u"arrange.fold"_s,
                 u"arrange.unfold"_s,
                 u"arrange.fold-all"_s,
                 u"arrange.unfold-all"_s,
                 u"arrange.detach"_s,
                 {},
                 u"arrange.pin"_s,
                 u"arrange.unpin"_s});
  createScheduleMenu();
  createRunMenu();
  fill(menuBar()->addMenu(tr("&Help")),
       {u"help.contents"_s, u"help.glossary"_s, u"help.tour"_s, {}, u"help.shortcuts"_s, {}, u"help.about"_s});
  for (const QAction* menu : menuBar()->actions()) {
    for (QAction* action : menu->menu()->actions()) {
      if (action->menu() != nullptr && action->icon().isNull()) {
        action->setIcon(blankIcon());
      }
    }
  }
  // Shortcuts work also where no menu shows the action.
  for (QAction* action : m_actions.all()) {
    addAction(action);
  }
}

void MainWindow::createDocks() {
  const auto table = [this](const QString& name, const QString& title) {
    auto* view = new QTableView(this);
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
    return view;
  };
  createPalette();
  createScheduleDocks();
  createRunDocks();
  m_outline = new OutlineView(this);
  for (const auto chosen : {&QTreeView::pressed, &QTreeView::activated}) {
    connect(m_outline, chosen, this, [this](const QModelIndex& index) {
      Editor* editor = currentEditor();
      if (editor != nullptr && !editor->selection().contains(editor->outline().elementAt(index))) {
        editor->goTo(editor->outline().elementAt(index));
      }
    });
  }
  addDock(u"outline"_s, tr("Outline"), m_outline, Qt::LeftDockWidgetArea, {Mode::draw, Mode::analyse});

  m_minimap = new Minimap(this);
  // Schedule and Run mode need the room for what they are about.
  addDock(u"minimap"_s, tr("Minimap"), m_minimap, Qt::LeftDockWidgetArea, {Mode::draw, Mode::analyse}, false);

  m_boundCard = new BoundCard(this);
  // Schedule mode has the bound in its own card, Run mode in its results.
  addDock(u"bound"_s, tr("Bound"), m_boundCard, Qt::RightDockWidgetArea, {Mode::draw, Mode::analyse});
  m_properties = new PropertiesPanel(this);
  addDock(u"properties"_s, tr("Properties"), m_properties, Qt::RightDockWidgetArea, {Mode::draw, Mode::analyse});

  m_menus->attach(*m_outline);
  m_problems = table(u"problemsTable"_s, tr("Problems"));
  m_problemsPane = new FilterTable(m_problems, tr("No problems: the fabric follows every rule."), false, this);
  addDock(u"problems"_s, tr("Problems"), m_problemsPane, Qt::BottomDockWidgetArea);
  m_nodes = table(u"nodesTable"_s, tr("Nodes"));
  m_nodesPane = new FilterTable(
      m_nodes, tr("No nodes yet. Drag a device or a template from the palette onto the drawing."), true, this);
  addDock(u"nodes"_s, tr("Nodes"), m_nodesPane, Qt::BottomDockWidgetArea, {Mode::draw, Mode::analyse});
  m_links = table(u"linksTable"_s, tr("Links"));
  m_linksPane = new FilterTable(m_links, tr("No links yet. Press L and drag from node to node."), true, this);
  addDock(u"links"_s, tr("Links"), m_linksPane, Qt::BottomDockWidgetArea, {Mode::draw, Mode::analyse});
  m_history = new QUndoView(m_undoGroup, this);
  m_history->setObjectName(u"historyList"_s);
  m_history->setAccessibleName(tr("History"));
  m_history->setEmptyLabel(tr("On open"));
  m_history->setFrameShape(QFrame::NoFrame);
  addDock(u"history"_s, tr("History"), m_history, Qt::BottomDockWidgetArea, {Mode::draw});
  m_upgrades = new RankingPanel(upgradesKind(), this);
  addDock(u"upgrades"_s, tr("Upgrades"), m_upgrades, Qt::BottomDockWidgetArea, {Mode::analyse});
  m_damage = new RankingPanel(damageKind(), this);
  addDock(u"damage"_s, tr("Failures (N-1)"), m_damage, Qt::BottomDockWidgetArea, {Mode::analyse});
  for (RankingPanel* panel : {m_upgrades, m_damage}) {
    connect(panel, &RankingPanel::elementsChosen, this,
            [this, panel](const std::set<ElementId>& elements, const QString& name) {
              if (Editor* editor = currentEditor()) {
                editor->selection().set(elements);
                if (panel == m_damage) {
                  editor->assume(Assumption{.title = tr("If %1 fails").arg(name), .failed = elements});
                }
              }
            });
  }
  m_whatIf = new WhatIfPanel(this);
  addDock(u"what-if"_s, tr("What If"), m_whatIf, Qt::BottomDockWidgetArea, {Mode::analyse});
  connect(m_whatIf, &WhatIfPanel::tried, this,
          [this](const std::set<LinkId>& links, const Rational& change, const QString& title) {
            Editor* editor = currentEditor();
            if (editor != nullptr && !change.isZero()) {
              editor->assume(Assumption{.title = title, .changed = links, .change = change});
            } else if (editor != nullptr && editor->assumption() && !editor->assumption()->changed.empty()) {
              editor->assume({});
            }
          });
  connect(m_whatIf, &WhatIfPanel::refused, m_strip, &StatusStrip::setHint);
  connect(m_problems, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (Editor* editor = currentEditor()) {
      editor->goTo(index.data(kElementRole).value<ElementId>());
    }
  });
  connect(m_problems, &QTableView::activated, m_problems, &QTableView::clicked);
  for (QTableView* view : {m_nodes, m_links, m_problems}) {
    m_menus->attach(*view);
  }
}

void MainWindow::updateActions() {
  Editor* editor = currentEditor();
  const bool isOpen = editor != nullptr;
  const bool hasSelection = isOpen && !editor->selection().isEmpty();
  const bool hasBox = isOpen && !editor->selection().boxes().empty();
  for (const char* id :
       {"file.save-as", "file.export", "file.export-picture", "file.close", "edit.link-pattern", "edit.find",
        "edit.find-next", "edit.find-previous", "edit.go-to", "analyse.next-problem", "select.all", "select.none",
        "insert.gpu", "insert.nic", "insert.switch", "arrange.fold-all", "arrange.unfold-all"}) {
    m_actions[QLatin1String(id)]->setEnabled(isOpen);
  }
  updateLayoutActions(isOpen);
  m_actions[u"file.save"_s]->setEnabled(isOpen && (editor->file().isModified() || editor->file().path().isEmpty()));
  const std::pair<const char*, ToolKind> tools[] = {{"tool.select", ToolKind::select},
                                                    {"tool.pan", ToolKind::pan},
                                                    {"tool.link", ToolKind::link},
                                                    {"tool.box", ToolKind::box},
                                                    {"tool.text", ToolKind::text}};
  for (const auto& [id, kind] : tools) {
    m_actions[QLatin1String(id)]->setEnabled(isOpen);
    m_actions[QLatin1String(id)]->setChecked(isOpen && editor->canvas().tool() == kind);
  }
  for (const char* id : {"zoom.fit", "zoom.actual", "zoom.in", "zoom.out"}) {
    m_actions[QLatin1String(id)]->setEnabled(isOpen);
  }
  m_actions[u"zoom.selection"_s]->setEnabled(hasSelection);
  m_actions[u"analyse.next-cut"_s]->setEnabled(isOpen);
  m_actions[u"edit.undo"_s]->setEnabled(m_undoGroup->canUndo());
  m_actions[u"edit.redo"_s]->setEnabled(m_undoGroup->canRedo());
  m_actions[u"edit.undo"_s]->setText(m_undoGroup->canUndo() ? tr("&Undo %1").arg(m_undoGroup->undoText())
                                                            : tr("&Undo"));
  m_actions[u"edit.redo"_s]->setText(m_undoGroup->canRedo() ? tr("&Redo %1").arg(m_undoGroup->redoText())
                                                            : tr("&Redo"));
  for (QAction* action : m_actions.all()) {
    const QString id = ActionRegistry::idOf(action);
    if (id.startsWith(u"arrange."_s) && !id.endsWith(u"-all"_s)) {
      action->setEnabled(hasSelection);
    }
  }
  for (const char* id : {"edit.cut", "edit.copy", "edit.duplicate", "edit.array", "edit.delete", "edit.save-template",
                         "select.same-kind", "select.neighbours", "select.box"}) {
    m_actions[QLatin1String(id)]->setEnabled(hasSelection);
  }
  for (const char* id : {"arrange.unbox", "arrange.fold", "arrange.unfold", "arrange.detach"}) {
    m_actions[QLatin1String(id)]->setEnabled(hasBox);
  }
  m_actions[u"edit.bandwidth"_s]->setEnabled(isOpen && !editor->selection().links().empty());
  m_actions[u"edit.rename"_s]->setEnabled(hasSelection && editor->selection().elements().size() == 1 &&
                                          editor->selection().links().empty() && editor->selection().notes().empty());
}

}  // namespace coppice::designer
