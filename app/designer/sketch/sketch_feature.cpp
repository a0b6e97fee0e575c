// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/sketch_feature.hpp"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/sketch/sketch_edits.hpp"
#include "designer/sketch/sketch_overlay.hpp"
#include "io/taccl_fabric.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

SketchFeature::SketchFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host), m_schedules(schedules), m_panel(new SketchPanel(m_window)), m_seen(*m_panel, [this](bool isSeen) {
        show();
        // The tool is about what the dock shows.
        if (!isSeen && current() != nullptr && current()->canvas().tool() == ToolKind::point) {
          current()->canvas().setTool(ToolKind::select);
        }
      }) {
  addFileActions();
  addDrawingActions();
  addSearchActions();
  // Opened when it is asked for: from the methods, the menu or a file.
  host.addDock({u"sketch"_s, tr("Sketch"), m_panel, Qt::BottomDockWidgetArea, {}});
  connect(m_panel, &SketchPanel::proposeWanted, this, &SketchFeature::propose);
  connect(m_panel, &SketchPanel::openWanted, this, &SketchFeature::open);
  connect(m_panel, &SketchPanel::saveWanted, this, &SketchFeature::save);
  connect(m_panel, &SketchPanel::topologyWanted, this, &SketchFeature::saveTopology);
  connect(m_panel, &SketchPanel::areaChanged, this, &SketchFeature::show);
  connect(m_panel, &SketchPanel::undoWanted, this, [this] {
    if (SketchDesk* desk = m_panel->desk()) {
      desk->undo();
    }
  });
  connect(&m_panel->relays(), &RelayPage::sendersWanted, this, [this] { makeRelays(true); });
  connect(&m_panel->relays(), &RelayPage::receiversWanted, this, [this] { makeRelays(false); });
  connect(&m_panel->relays(), &RelayPage::pointingWanted, this, &SketchFeature::setPointing);
  connect(&m_panel->switches(), &SwitchPage::switchWanted, this, &SketchFeature::makeSwitch);
  connect(&m_panel->search(), &SearchPanel::startWanted, m_actions[u"sketch.start"_s], &QAction::trigger);
  connect(&m_panel->search(), &SearchPanel::stopWanted, m_actions[u"sketch.stop"_s], &QAction::trigger);
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) {
    SketchDesk* desk = &SketchDesk::of(context->file());
    connect(desk, &SketchDesk::found, context, [this, context, desk] { take(*context, *desk); });
    connect(desk, &SketchDesk::notSaved, context,
            [this](const QString& why) { m_prompts.failure(m_window, tr("Save Sketch"), why); });
    connect(&context->canvas(), &CanvasView::pointed, context,
            [this, context](const ElementId& from, const ElementId& to) {
              if (from.node().isValid() && to.node().isValid()) {
                point(*context, from.node(), to.node());
              }
            });
    connect(&context->canvas(), &CanvasView::toolChanged, this, &SketchFeature::updateActions);
  });
  connect(&m_workspace, &Workspace::currentChanged, this, &SketchFeature::follow);
  connect(&m_workspace, &Workspace::modeChanged, this, &SketchFeature::show);
}

void SketchFeature::addFileActions() {
  m_actions.add({u"sketch.propose"_s,
                 tr("&Propose Sketch"),
                 tr("Propose a communication sketch for the drawn fabric"),
                 {QKeySequence(u"Ctrl+K, X"_s)},
                 u"sketch"_s},
                [this](bool) { propose(); });
  m_actions.add({u"sketch.open"_s,
                 tr("&Open Sketch…"),
                 tr("Open a communication sketch of TACCL for the drawn fabric"),
                 {QKeySequence(u"Ctrl+K, O"_s)},
                 u"open"_s},
                [this](bool) { open(); });
  m_actions.add({u"sketch.save"_s,
                 tr("&Save Sketch…"),
                 tr("Save the communication sketch as TACCL JSON"),
                 {QKeySequence(u"Ctrl+K, S"_s)},
                 u"save"_s},
                [this](bool) { save(); });
  m_actions.add({u"sketch.save-topology"_s,
                 tr("Save &Topology…"),
                 tr("Save the costs of the drawn fabric as a TACCL topology"),
                 {QKeySequence(u"Ctrl+K, G"_s)},
                 u"export"_s},
                [this](bool) { saveTopology(); });
}

void SketchFeature::addDrawingActions() {
  m_actions.add({u"sketch.make-senders"_s,
                 tr("Make S&enders"),
                 tr("The selected GPUs send to other boxes, in every box"),
                 {QKeySequence(u"Ctrl+K, U"_s)},
                 u"arrow-up"_s},
                [this](bool) { makeRelays(true); });
  m_actions.add({u"sketch.make-receivers"_s,
                 tr("Make &Receivers"),
                 tr("The selected GPUs receive from other boxes, in every box"),
                 {QKeySequence(u"Ctrl+K, R"_s)},
                 u"arrow-down"_s},
                [this](bool) { makeRelays(false); });
  m_actions.add({u"sketch.point"_s,
                 tr("&Draw Relays"),
                 tr("Drag from GPU to GPU: to one of another box, or to the sender that relays its data"),
                 {QKeySequence(u"Ctrl+K, J"_s)},
                 u"link"_s,
                 true},
                [this](bool isOn) { setPointing(isOn); });
}

void SketchFeature::addSearchActions() {
  m_actions.add({u"sketch.start"_s,
                 tr("S&ynthesize"),
                 tr("Search for a schedule within the sketch, or a proposed one; the best is kept with the schedules"),
                 {QKeySequence(u"Ctrl+K, Return"_s)},
                 u"generate"_s},
                [this](bool) {
                  if (SketchDesk* desk = m_panel->desk()) {
                    bring();
                    askAsBound(*desk);
                    desk->start();
                  }
                });
  m_actions.add({u"sketch.stop"_s,
                 tr("Stop &and Keep"),
                 tr("End the search; the best schedule so far is verified and kept"),
                 {QKeySequence(u"Ctrl+K, ."_s)},
                 u"stop"_s},
                [this](bool) {
                  if (SketchDesk* desk = m_panel->desk()) {
                    desk->stop();
                  }
                });
}

void SketchFeature::follow() {
  EditorContext* context = current();
  m_followed.clear();
  m_panel->setDesk(context != nullptr ? &SketchDesk::of(context->file()) : nullptr);
  if (context != nullptr) {
    SketchDesk* desk = m_panel->desk();
    for (const auto signal : {&SketchDesk::changed, &SketchDesk::runningChanged}) {
      m_followed.connect(desk, signal, [this] {
        updateActions();
        show();
      });
    }
    m_followed.connect(&context->selection(), &Selection::changed, [this] { followSelection(); });
    m_followed.connect(&context->document(), &Document::changed, [this] { show(); });
  }
  updateActions();
  show();
}

void SketchFeature::updateActions() {
  const SketchDesk* desk = m_panel->desk();
  const bool hasSketch = desk != nullptr && desk->current() != nullptr;
  const bool isRunning = desk != nullptr && desk->isRunning();
  enable({"sketch.propose", "sketch.open"}, desk != nullptr);
  enable({"sketch.save"}, hasSketch);
  enable({"sketch.save-topology"}, hasSketch && desk->fit() != nullptr);
  enable({"sketch.make-senders", "sketch.make-receivers", "sketch.point"},
         hasSketch && desk->current()->remote.has_value());
  const bool isPointing = current() != nullptr && current()->canvas().tool() == ToolKind::point && !isTreeDragged();
  m_actions[u"sketch.point"_s]->setChecked(isPointing);
  m_panel->relays().setPointing(isPointing);
  // Without a sketch, one is proposed first.
  enable({"sketch.start"}, desk != nullptr && !isRunning && (!hasSketch || desk->fit() != nullptr));
  enable({"sketch.stop"}, isRunning && !desk->isStopping());
}

void SketchFeature::followSelection() {
  if (current() == nullptr || m_panel->desk() == nullptr || m_panel->desk()->current() == nullptr) {
    return;
  }
  const std::set<int> gpus = selectedGpus();
  m_panel->relays().setSelected(gpus);
  const std::vector<NodeId> nodes = current()->selection().nodes();
  if (nodes.size() == 1) {
    m_panel->symmetry().chooseOrbitOf(m_panel->desk()->numberOf(current()->model().find(nodes.front())->facts.name));
  }
}

void SketchFeature::show() {
  const SketchDesk* desk = m_panel->desk();
  EditorContext* context = current();
  if (!m_seen.isSeen() || context == nullptr || desk == nullptr || !desk->fit() ||
      m_workspace.mode() != Mode::schedule) {
    m_schedules.setGuest(this, std::nullopt);
    return;
  }
  m_schedules.setGuest(this, sketchOverlay(*desk->fit(), context->model(), m_panel->view()));
}

void SketchFeature::bring() {
  m_workspace.setMode(Mode::schedule);
  m_actions[u"view.sketch"_s]->trigger();
}

// ---- commands

void SketchFeature::propose() {
  if (SketchDesk* desk = m_panel->desk()) {
    bring();
    askAsBound(*desk);
    desk->propose();
  }
}

void SketchFeature::askAsBound(SketchDesk& desk) {
  if (desk.current() == nullptr) {
    SearchQuestion question = desk.question();
    question.collective = current()->bound().question().collective;
    desk.setQuestion(question);
  }
}

void SketchFeature::open() {
  SketchDesk* desk = m_panel->desk();
  if (desk == nullptr) {
    return;
  }
  const QString folder = QFileInfo(desk->path().isEmpty() ? current()->file().path() : desk->path()).path();
  const QStringList paths = m_prompts.filesToOpen(m_window, folder, tr("Communication sketches (*.json)"));
  if (!paths.isEmpty() && m_panel->desk() == desk) {
    openFile(*desk, paths.front());
  }
}

void SketchFeature::openFile(SketchDesk& desk, const QString& path) {
  if (const Outcome opened = desk.open(path); !opened) {
    m_prompts.failure(m_window, tr("Open Sketch"), errorText(opened.error()));
    return;
  }
  bring();
}

bool SketchFeature::take(const QString& path) {
  SketchDesk* desk = m_panel->desk();
  constexpr qint64 kMax = 1 << 20;
  QFile file(path);
  if (desk == nullptr || current()->model().nodes().isEmpty() || file.size() > kMax ||
      !file.open(QIODevice::ReadOnly) || !io::looksLikeTacclSketch(file.readAll().toStdString())) {
    return false;
  }
  openFile(*desk, path);
  return true;
}

void SketchFeature::save() {
  SketchDesk* desk = m_panel->desk();
  if (desk == nullptr || desk->current() == nullptr) {
    return;
  }
  const QString suggestion = desk->path().isEmpty() ? u"sketch.json"_s : desk->path();
  const QString path = m_prompts.fileToSave(m_window, suggestion, tr("Communication sketches (*.json)"));
  if (path.isEmpty() || m_panel->desk() != desk) {
    return;
  }
  if (const Outcome saved = desk->save(path); !saved) {
    m_prompts.failure(m_window, tr("Save Sketch"), errorText(saved.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

void SketchFeature::saveTopology() {
  SketchDesk* desk = m_panel->desk();
  if (desk == nullptr) {
    return;
  }
  const QString path = m_prompts.fileToSave(m_window, u"topology.json"_s, tr("Topologies (*.json)"));
  if (path.isEmpty() || m_panel->desk() != desk) {
    return;
  }
  if (const Outcome saved = desk->saveTopology(path); !saved) {
    m_prompts.failure(m_window, tr("Save Topology"), errorText(saved.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

std::set<int> SketchFeature::selectedGpus() const {
  std::set<int> gpus;
  const SketchDesk* desk = m_panel->desk();
  const int perNode = desk != nullptr ? desk->gpusPerNode() : 0;
  if (perNode > 0) {
    for (const NodeId id : current()->selection().nodes()) {
      const int number = desk->numberOf(current()->model().find(id)->facts.name);
      if (number >= 0) {
        gpus.insert(number % perNode);
      }
    }
  }
  return gpus;
}

void SketchFeature::makeRelays(bool areSenders) {
  SketchDesk* desk = m_panel->desk();
  if (desk == nullptr || desk->current() == nullptr) {
    return;
  }
  bring();
  const std::set<int> gpus = selectedGpus();
  if (gpus.empty()) {
    m_panel->refuse(tr("No GPU is selected. Select GPUs on the drawing first."));
    return;
  }
  const int perNode = desk->gpusPerNode();
  desk->edit([&](sketch::Sketch& sketch) {
    const std::set<int> others = areSenders ? receiversOf(sketch, perNode) : sendersOf(sketch, perNode);
    joinRelays(sketch, perNode, areSenders ? gpus : others, areSenders ? others : gpus);
  });
}

void SketchFeature::setPointing(bool isPointing) {
  if (current() != nullptr) {
    if (isPointing) {
      bring();
    }
    current()->canvas().setTool(isPointing ? ToolKind::point : ToolKind::select);
    current()->canvas().setFocus();
  }
  updateActions();
}

bool SketchFeature::isTreeDragged() const {
  return m_actions[u"schedule.drag-edges"_s]->isChecked();
}

void SketchFeature::point(const EditorContext& context, NodeId from, NodeId to) {
  SketchDesk* desk = m_panel->desk();
  if (&context != current() || isTreeDragged() || desk == nullptr || desk->current() == nullptr ||
      desk->gpusPerNode() < 1) {
    return;
  }
  const int perNode = desk->gpusPerNode();
  const int first = desk->numberOf(context.model().find(from)->facts.name);
  const int second = desk->numberOf(context.model().find(to)->facts.name);
  if (first < 0 || second < 0) {
    m_panel->refuse(tr("Relays are GPUs. Drag from a GPU to a GPU."));
    return;
  }
  PointFault fault = PointFault::none;
  desk->edit([&](sketch::Sketch& sketch) {
    fault = first / perNode != second / perNode ? pointToReceiver(sketch, perNode, first % perNode, second % perNode)
                                                : pointToRelay(sketch, perNode, first % perNode, second % perNode);
  });
  if (fault == PointFault::lastReceiver) {
    m_panel->refuse(tr("It is the only link between boxes. Draw another one first."));
  } else if (fault == PointFault::noSender) {
    m_panel->refuse(
        tr("%1 sends to no other box. Drag from it to a GPU of another box first.").arg(desk->nameOf(second)));
  }
}

void SketchFeature::makeSwitch() {
  SketchDesk* desk = m_panel->desk();
  if (desk == nullptr || desk->current() == nullptr) {
    return;
  }
  const std::set<int> gpus = selectedGpus();
  if (gpus.size() < 2) {
    m_panel->refuse(tr("A switch joins two GPUs or more. Select them on the drawing first."));
    return;
  }
  desk->edit([&](sketch::Sketch& sketch) { addSwitch(sketch, std::vector<int>(gpus.begin(), gpus.end())); });
}

void SketchFeature::take(EditorContext& context, SketchDesk& desk) {
  const auto& answer = desk.answer();
  const QString file = QFileInfo(desk.path()).completeBaseName();
  const QString name = ScheduleBook::nameFor(*answer->schedule) + u' ' + (file.isEmpty() ? tr("sketch") : file);
  ScheduleBook::of(context.file(), context.bound())->add(answer->schedule, name);
  m_workspace.say(tr("%1: %2 µs, verified").arg(name, decimal(answer->makespan.count())));
}

}  // namespace coppice::designer
