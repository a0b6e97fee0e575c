// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <memory>
#include <optional>
#include <vector>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/followed.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/trees/chart_panel.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/trees/loads_panel.hpp"
#include "designer/trees/tree_panel.hpp"
#include "designer/trees/trees_on_link.hpp"

namespace coppice::designer {

class TreeDrawing;
class TransferPanel;

/// The trees and transfers of the current schedule, its loads and charts: in docks, and over the drawing in Schedule
/// mode.
class TreesFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives the current schedule
  TreesFeature(const FeatureHost& host, ScheduleFeature& schedules);
  ~TreesFeature() override;

  [[nodiscard]] TreePanel* trees() const { return m_trees; }
  /// What fixed numbers of trees would give.
  [[nodiscard]] ChartPanel* treeCounts() const { return m_treeCounts; }
  [[nodiscard]] TreeDrawing* drawing() const { return m_drawing; }

private:
  void addActions();
  void addDocks(const FeatureHost& host);
  void connectPanels();
  void follow();
  void followDocument();
  /// The chosen tree, or the first one.
  void drawTree();
  void showOverlay();
  [[nodiscard]] std::vector<TreeMark> treeMarks(const ScheduleResult& result, const QString& note);
  /// Looks up what runs over the link under the pointer, for the canvas to tell.
  void lookAtLink(const ElementId& id);
  void showTreesOfLink(const ElementId& id, const TreesOnLink& trees);
  void showRootOfSelection();
  void savePicture(const ChartPanel& chart, const QString& name);
  [[nodiscard]] bool isActive() const { return m_workspace.mode() == Mode::schedule; }
  [[nodiscard]] const FabricMap* map();

  ScheduleFeature& m_schedules;
  TreePanel* m_trees;
  TreeDrawing* m_drawing;
  TransferPanel* m_transfers;
  QStackedWidget* m_routes;  ///< trees with the drawing of one, or transfers, whichever the schedule has
  LoadsPanel* m_loads;
  ChartPanel* m_histogram;
  ChartPanel* m_treeCounts;
  QPointer<EditorContext> m_context;
  QPointer<CanvasView> m_canvas;
  Followed m_followed;  ///< connections to the document
  bool m_hasOverlay = false;
  std::optional<TreeRef> m_hovered;
  struct FoundTrees {
    ElementId link;
    ScheduleResultPtr result;
    std::shared_ptr<const TreesOnLink> trees;  // nullptr: they are not known
  };
  LatestJob<FoundTrees> m_treesJob;

  ScheduleResultPtr m_result;  ///< that the docks show
  std::unique_ptr<FabricMap> m_map;
  ScheduleResultPtr m_mapResult;
  std::uint64_t m_mapRevision = 0;
};

}  // namespace coppice::designer
