// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/trees_feature.hpp"

#include <QFileInfo>
#include <QSplitter>
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/checked.hpp"
#include "designer/charts/picture_file.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/trees/transfer_panel.hpp"
#include "designer/trees/tree_drawing.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

TreesFeature::TreesFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host),
      m_schedules(schedules),
      m_trees(new TreePanel(m_window)),
      m_drawing(new TreeDrawing(m_window)),
      m_transfers(new TransferPanel(m_window)),
      m_routes(new QStackedWidget(m_window)),
      m_loads(new LoadsPanel(m_window)),
      m_histogram(new ChartPanel(ChartPanel::Which::histogram, m_window)),
      m_treeCounts(new ChartPanel(ChartPanel::Which::treeCount, m_window)),
      m_treesJob(
          [this](const FoundTrees& found) {
            if (found.trees && found.result == m_trees->model().result()) {
              showTreesOfLink(found.link, *found.trees);
            }
          },
          0ms) {
  addActions();
  addDocks(host);
  connectPanels();
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &TreesFeature::follow);
  connect(&m_schedules, &ScheduleFeature::overlayChanged, this, &TreesFeature::showOverlay);
  connect(&m_workspace, &Workspace::modeChanged, this, [this](Mode mode) {
    if (mode == Mode::schedule) {
      showOverlay();
    } else {
      // The canvas is the next mode's already.
      m_hasOverlay = false;
    }
  });
}

TreesFeature::~TreesFeature() = default;

void TreesFeature::addDocks(const FeatureHost& host) {
  auto* trees = new QSplitter(Qt::Horizontal, m_routes);
  trees->setChildrenCollapsible(false);
  trees->addWidget(m_trees);
  trees->addWidget(m_drawing);
  constexpr int kListShare = 3;
  constexpr int kDrawingShare = 2;
  trees->setStretchFactor(0, kListShare);
  trees->setStretchFactor(1, kDrawingShare);
  m_routes->setObjectName(u"routesPanel"_s);
  m_routes->addWidget(trees);
  m_routes->addWidget(m_transfers);
  const std::vector<Mode> modes{Mode::schedule};
  const DockGroup loads{u"loads"_s, tr("Loads")};
  host.addDock({u"routes"_s, tr("Routes"), m_routes, Qt::BottomDockWidgetArea, modes});
  host.addDock({u"link-loads"_s, tr("Links"), m_loads, Qt::BottomDockWidgetArea, modes, true, loads});
  host.addDock({u"histogram"_s, tr("Histogram"), m_histogram, Qt::BottomDockWidgetArea, modes, true, loads});
}

void TreesFeature::addActions() {
  m_actions.add({u"schedule.trees-of-selection"_s,
                 tr("&Trees of the Selected GPU"),
                 tr("Show the trees whose root is selected on the drawing"),
                 {QKeySequence(u"Ctrl+Shift+R"_s)},
                 u"trees"_s},
                [this](bool) {
                  m_workspace.setMode(Mode::schedule);
                  m_actions[u"view.routes"_s]->trigger();
                  showRootOfSelection();
                });
  m_actions.add({u"schedule.clear-trees"_s,
                 tr("Hide Tree&s and Transfers"),
                 tr("Draw the fabric without trees and transfers"),
                 {QKeySequence(u"Ctrl+Shift+E"_s)}},
                [this](bool) {
                  m_trees->clearChoice();
                  m_transfers->clearChoice();
                });
  QAction* heat = m_actions.add({u"schedule.heat"_s,
                                 tr("Link &Heat Map"),
                                 tr("Colour the links by their load while no tree is drawn"),
                                 {QKeySequence(u"Ctrl+Shift+H"_s)},
                                 u"heat"_s,
                                 true},
                                [this](bool isOn) { m_loads->setHeatWanted(isOn); });
  heat->setChecked(true);
  connect(m_loads, &LoadsPanel::heatToggled, this, [this, heat] { heat->setChecked(m_loads->isHeatWanted()); });
  enable({"schedule.trees-of-selection", "schedule.clear-trees"}, false);
}

void TreesFeature::connectPanels() {
  connect(m_trees, &TreePanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_trees, &TreePanel::chosenChanged, this, [this] {
    drawTree();
    showOverlay();
  });
  connect(m_trees, &TreePanel::hovered, this, [this](const std::optional<TreeRef>& tree) {
    if (m_hovered != tree) {
      m_hovered = tree;
      showOverlay();
    }
  });
  const auto show = [this](const QString& tail, const QString& head) { m_schedules.goToLink(tail, head); };
  connect(m_trees, &TreePanel::endsActivated, this, show);
  connect(m_transfers, &TransferPanel::endsActivated, this, show);
  connect(m_transfers, &TransferPanel::chosenChanged, this, [this] {
    m_loads->setStep(m_transfers->step());
    showOverlay();
  });
  connect(m_loads, &LoadsPanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_loads, &LoadsPanel::heatToggled, this, &TreesFeature::showOverlay);
  connect(m_loads, &LoadsPanel::linkChosen, this, show);
  for (const auto& [chart, name] :
       {std::pair(m_histogram, u"loads.svg"_s), std::pair(m_treeCounts, u"throughput.svg"_s)}) {
    connect(chart, &ChartPanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
    connect(chart, &ChartPanel::pictureWanted, this, [this, chart, name] { savePicture(*chart, name); });
  }
}

// ---- the current schedule

void TreesFeature::follow() {
  if (m_context != current()) {
    followDocument();
  }
  const ScheduleEntry* entry = m_schedules.currentEntry();
  m_hovered.reset();
  m_result = entry != nullptr ? entry->result : nullptr;
  m_trees->setResult(m_result);
  m_loads->setResult(m_result);
  m_histogram->setResult(m_result);
  m_treeCounts->setResult(m_result);
  m_transfers->setResult(m_result);
  m_routes->setCurrentIndex(m_result && m_result->forests() == nullptr ? 1 : 0);
  drawTree();
  enable({"schedule.trees-of-selection", "schedule.clear-trees"}, m_result != nullptr);
  showOverlay();
}

void TreesFeature::followDocument() {
  m_followed.clear();
  m_treesJob.cancel();
  if (m_canvas && m_hasOverlay) {
    m_canvas->setOverlay({});
    m_hasOverlay = false;
  }
  m_map.reset();
  m_mapResult.reset();
  m_context = current();
  m_canvas = m_context ? &m_context->canvas() : nullptr;
  if (m_context) {
    m_followed.connect(m_canvas, &CanvasView::hovered, [this](const ElementId& id) { lookAtLink(id); });
    // A link may have gone, or come back, under a tree that is drawn.
    m_followed.connect(&m_context->document(), &Document::changed, [this] { showOverlay(); });
  }
}

void TreesFeature::drawTree() {
  const ScheduleResultPtr& result = m_trees->model().result();
  const std::vector<TreeRef> chosen = m_trees->chosenTrees();
  std::optional<TreeRef> tree;
  if (!chosen.empty()) {
    tree = chosen.front();
  } else if (result && m_trees->model().rowCount() > 0) {
    // Any tree says what trees are; those of large fabrics are laid out when they are asked for.
    constexpr int kMaxGpus = 128;
    QModelIndex root = m_trees->model().index(0, 0);
    if (static_cast<TreeModel::Level>(root.data(TreeModel::kLevelRole).toInt()) == TreeModel::Level::half) {
      root = m_trees->model().index(0, 0, root);
    }
    const std::vector<TreeRef> first = m_trees->model().treesAt(root, 1);
    if (!first.empty() && result->fabric->gpuCount() <= kMaxGpus) {
      tree = first.front();
    }
  }
  m_drawing->setTree(result, tree);
}

const FabricMap* TreesFeature::map() {
  const ScheduleResultPtr& result = m_result;
  if (!result || !m_context) {
    return nullptr;
  }
  const std::uint64_t revision = m_context->document().factRevision();
  if (!m_map || m_mapResult != result || m_mapRevision != revision) {
    m_map = std::make_unique<FabricMap>(*result, m_context->document().model());
    m_mapResult = result;
    m_mapRevision = revision;
  }
  return m_map.get();
}

std::vector<TreeMark> TreesFeature::treeMarks(const ScheduleResult& result, const QString& note) {
  std::vector<TreeRef> trees = m_trees->chosenTrees();
  if (m_hovered && std::find(trees.begin(), trees.end(), *m_hovered) == trees.end()) {
    trees.push_back(*m_hovered);
  }
  std::vector<TreeMark> marks;
  for (const TreeRef& tree : trees) {
    schedule::TreeReader* reader = m_trees->model().readerOf(tree.half);
    TreeMark mark = markOf(result, *reader, tree, *map());
    mark.category = static_cast<int>(marks.size());
    mark.label = m_trees->model().titleOf(tree) + note;
    marks.push_back(std::move(mark));
  }
  return marks;
}

void TreesFeature::showOverlay() {
  if (!m_canvas || !isActive()) {
    return;
  }
  Overlay overlay;
  const ScheduleEntry* entry = m_schedules.currentEntry();
  if (m_schedules.isPlayed()) {
    // The player draws.
  } else if (m_schedules.guest()) {
    overlay = *m_schedules.guest();
  } else if (entry != nullptr && entry->result == m_result) {
    const ScheduleResult& result = *entry->result;
    const bool isFresh = m_schedules.book()->isFresh(*entry);
    const QString note = isFresh ? QString() : u' ' + tr("(stale)");
    overlay.trees = result.forests() != nullptr
                        ? treeMarks(result, note)
                        : transferMarks(m_transfers->model(), m_transfers->chosenTransfers(), *map(), note);
    if (!overlay.trees.empty()) {
      overlay.isRestDimmed = true;
    } else if (m_loads->isHeatWanted() && isFresh) {
      // Loads of a fabric that has changed would be a lie.
      overlay.heat = heatOf(result, *map());
    }
  }
  if (overlay.isEmpty() && !m_hasOverlay) {
    return;
  }
  m_hasOverlay = !overlay.isEmpty();
  m_canvas->setOverlay(std::move(overlay));
}

void TreesFeature::lookAtLink(const ElementId& id) {
  m_treesJob.cancel();
  const ScheduleEntry* entry = m_schedules.currentEntry();
  if (!isActive() || !id.link().isValid() || entry == nullptr || entry->result != m_result ||
      m_result->forests() == nullptr) {
    return;
  }
  const LineItem* line = m_canvas->scene().line(id.link());
  if (line == nullptr) {
    return;
  }
  // All links that are one line on the drawing.
  const std::set<LinkId> links(line->links.begin(), line->links.end());
  std::set<std::pair<fabric::NodeIndex, fabric::NodeIndex>> arcs;
  const ScheduleResult& result = *entry->result;
  for (std::size_t arc = 0; arc < result.loads.size(); ++arc) {
    const std::vector<LinkStep>& steps = map()->stepsOf(arc);
    if (std::any_of(steps.begin(), steps.end(), [&](const LinkStep& step) { return links.contains(step.link); })) {
      arcs.emplace(result.loads[arc].tail, result.loads[arc].head);
    }
  }
  constexpr std::size_t kMaxTold = 8;
  m_treesJob.submit([id, shared = entry->result, arcs = std::move(arcs)](const std::stop_token& stop) {
    FoundTrees found{id, shared, nullptr};
    try {
      found.trees = std::make_shared<const TreesOnLink>(treesOn(*shared, arcs, kMaxTold, stop));
    } catch (const OverflowError&) {
      // Amounts beyond the exact range are left out.
    }
    return found;
  });
}

void TreesFeature::showTreesOfLink(const ElementId& id, const TreesOnLink& trees) {
  if (!m_canvas || !isActive()) {
    return;
  }
  HoverNote note;
  note.title =
      trees.different == 0
          ? tr("No tree uses this link")
          : counted(trees.copies, tr("tree"), tr("trees")) +
                (trees.different < trees.copies ? u", "_s + tr("%1 different").arg(trees.different) : QString());
  for (const TreeOnLink& each : trees.first) {
    note.rows.emplace_back(
        m_trees->model().titleOf(each.tree) + (each.copies > 1 ? u" ×"_s + QString::number(each.copies) : QString()),
        decimal(each.rate) + u" GB/s"_s);
  }
  if (trees.different > static_cast<std::int64_t>(trees.first.size())) {
    note.rows.emplace_back(tr("and %1 more").arg(trees.different - static_cast<std::int64_t>(trees.first.size())),
                           QString());
  }
  m_canvas->setHoverNote(id, std::move(note));
}

// ---- commands

void TreesFeature::showRootOfSelection() {
  const ScheduleResultPtr& result = m_trees->model().result();
  if (!result || !m_context) {
    return;
  }
  for (const NodeId id : m_context->selection().nodes()) {
    const auto node = result->fabric->find(m_context->model().find(id)->facts.name);
    if (node && result->fabric->nodes()[*node].rank >= 0) {
      m_trees->showRoot(result->fabric->nodes()[*node].rank);
      return;
    }
  }
  m_workspace.say(tr("Select a GPU to see its trees"));
}

void TreesFeature::savePicture(const ChartPanel& chart, const QString& name) {
  const QString path = m_prompts.fileToSave(m_window, name, pictureFilter());
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome saved = chart.savePicture(path); !saved) {
    m_prompts.failure(m_window, tr("Save Picture"), errorText(saved.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

}  // namespace coppice::designer
