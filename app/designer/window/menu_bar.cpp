// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/window/menu_bar.hpp"

#include <QDockWidget>
#include <QMenuBar>

#include "designer/theme/icons.hpp"
#include "designer/window/dock_layouts.hpp"
#include "designer/window/main_window.hpp"
#include "designer/workspace/action_registry.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// An empty id is a separator.
void fill(QMenu* menu, const ActionRegistry& actions, const QStringList& ids) {
  for (const QString& id : ids) {
    if (id.isEmpty()) {
      menu->addSeparator();
    } else {
      menu->addAction(actions[id]);
    }
  }
}

QStringList editMenu() {
  return {u"edit.undo"_s,
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
          u"edit.go-to"_s,
          {},
          u"edit.preferences"_s};
}

QStringList arrangeMenu() {
  return {{},
          u"arrange.left"_s,
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
          u"arrange.unpin"_s};
}

QStringList layoutMenu() {
  return {u"layout.best"_s,     u"layout.rails"_s,
          u"layout.circle"_s,   u"layout.grid"_s,
          u"layout.distance"_s, {},
          u"layout.layered"_s,  u"layout.force"_s,
          u"layout.circular"_s, {},
          u"layout.stop"_s};
}

QStringList scheduleMenu() {
  return {u"schedule.generate"_s,
          u"schedule.options"_s,
          u"schedule.synthesize"_s,
          u"schedule.rerun"_s,
          u"schedule.fail-selection"_s,
          u"schedule.repair"_s,
          u"schedule.cancel"_s,
          {},
          u"schedule.trees-of-selection"_s,
          u"schedule.clear-trees"_s,
          u"schedule.new-parent"_s,
          u"schedule.drag-edges"_s,
          u"schedule.lock-trees"_s,
          u"schedule.around-locked"_s,
          u"schedule.heat"_s,
          u"schedule.play"_s,
          u"schedule.side-by-side"_s,
          u"schedule.traffic"_s,
          u"schedule.program"_s,
          {},
          u"schedule.open-run"_s,
          u"schedule.paste-run"_s,
          u"schedule.expect-nccl"_s,
          u"schedule.profile"_s,
          u"schedule.addition-time"_s,
          {},
          u"schedule.export"_s,
          u"schedule.export-plan"_s,
          u"schedule.copy-command"_s,
          {},
          u"schedule.rename"_s,
          u"schedule.delete"_s,
          {},
          u"schedule.folder"_s};
}

QStringList sketchMenu() {
  return {u"sketch.propose"_s,
          u"sketch.open"_s,
          u"sketch.save"_s,
          u"sketch.save-topology"_s,
          {},
          u"sketch.point"_s,
          u"sketch.make-senders"_s,
          u"sketch.make-receivers"_s,
          {},
          u"sketch.start"_s,
          u"sketch.stop"_s};
}

QStringList runMenu() {
  return {u"run.start"_s,  u"run.stop"_s,   u"run.again"_s, u"run.join"_s, {}, u"run.file"_s, u"run.bundle"_s, {},
          u"run.detect"_s, u"run.compare"_s};
}

void addViewMenu(QMenuBar& bar, const ActionRegistry& actions, const DockLayouts& layouts) {
  QMenu* view = bar.addMenu(MainWindow::tr("&View"));
  fill(view, actions,
       {u"mode.draw"_s,
        u"mode.analyse"_s,
        u"mode.schedule"_s,
        u"mode.run"_s,
        u"analyse.next-cut"_s,
        u"analyse.next-problem"_s,
        u"analyse.fabrics"_s,
        u"analyse.against-plan"_s,
        u"analyse.rank-order"_s,
        {}});
  fill(view->addMenu(MainWindow::tr("&Zoom")), actions,
       {u"zoom.fit"_s, u"zoom.selection"_s, u"zoom.actual"_s, u"zoom.in"_s, u"zoom.out"_s});
  fill(view->addMenu(MainWindow::tr("&Tools")), actions,
       {u"tool.select"_s, u"tool.pan"_s, u"tool.link"_s, u"tool.box"_s, u"tool.text"_s});
  QMenu* docks = view->addMenu(MainWindow::tr("Doc&ks"));
  for (const DockLayouts::Place& place : layouts.places()) {
    docks->addAction(place.dock->toggleViewAction());
  }
  fill(view, actions, {u"view.wheel-scrolls"_s});
  fill(view->addMenu(MainWindow::tr("T&heme")), actions, {u"theme.system"_s, u"theme.light"_s, u"theme.dark"_s});
  fill(view, actions,
       {{},
        u"view.palette"_s,
        {},
        u"view.toggle-docks"_s,
        u"view.reset-layout"_s,
        u"view.next-pane"_s,
        u"view.previous-pane"_s,
        u"view.context-menu"_s});
}

}  // namespace

QMenu* fillMenuBar(QMenuBar& bar, const ActionRegistry& actions, const DockLayouts& layouts) {
  QMenu* file = bar.addMenu(MainWindow::tr("&File"));
  fill(file, actions,
       {u"file.new"_s, u"file.find-topology"_s, u"file.price-networks"_s, u"file.open"_s, u"file.import-run"_s});
  QMenu* recent = file->addMenu(MainWindow::tr("Open &Recent"));
  fill(file, actions,
       {{},
        u"file.save"_s,
        u"file.save-as"_s,
        u"file.export"_s,
        u"file.export-nccl"_s,
        u"file.export-picture"_s,
        u"file.export-film"_s,
        u"file.export-replay"_s,
        u"file.report"_s,
        u"file.cables"_s,
        u"file.copy-link"_s,
        {},
        u"file.print"_s,
        {},
        u"file.close"_s,
        u"file.quit"_s});
  fill(bar.addMenu(MainWindow::tr("&Edit")), actions, editMenu());
  addViewMenu(bar, actions, layouts);
  fill(bar.addMenu(MainWindow::tr("&Insert")), actions,
       {u"insert.search"_s,
        {},
        u"insert.gpu"_s,
        u"insert.nic"_s,
        u"insert.nvswitch"_s,
        u"insert.switch"_s,
        u"insert.pcie"_s,
        {},
        u"tool.link"_s,
        u"tool.box"_s,
        u"tool.text"_s});
  QMenu* arrange = bar.addMenu(MainWindow::tr("&Arrange"));
  fill(arrange->addMenu(MainWindow::tr("&Layout")), actions, layoutMenu());
  fill(arrange, actions, arrangeMenu());
  QMenu* schedule = bar.addMenu(MainWindow::tr("S&chedule"));
  fill(schedule, actions, scheduleMenu());
  QMenu* sketch = schedule->addMenu(MainWindow::tr("Comm&unication Sketch"));
  fill(sketch, actions, sketchMenu());
  sketch->setIcon(icon(u"sketch"_s));
  fill(bar.addMenu(MainWindow::tr("&Run")), actions, runMenu());
  fill(bar.addMenu(MainWindow::tr("&Help")), actions,
       {u"help.contents"_s,
        u"help.glossary"_s,
        u"help.tour"_s,
        u"help.explain"_s,
        {},
        u"help.shortcuts"_s,
        {},
        u"help.about"_s});
  for (const QAction* menu : bar.actions()) {
    for (QAction* action : menu->menu()->actions()) {
      if (action->menu() != nullptr && action->icon().isNull()) {
        action->setIcon(blankIcon());
      }
    }
  }
  return recent;
}

}  // namespace coppice::designer
