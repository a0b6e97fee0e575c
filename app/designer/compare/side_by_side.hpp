// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <array>
#include <cstdint>
#include <memory>

#include "designer/compare/page_split.hpp"
#include "designer/compare/second_drawing.hpp"
#include "designer/compare/side_by_side_panel.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/trees/fabric_map.hpp"
#include "designer/workspace/workspace.hpp"

namespace coppice::designer {

/// While the dock "Side by Side" is seen: two drawings of the current document, each with the loads of its schedule, or
/// with what is under way there at the time of the dock's clock.
class SideBySide : public QObject {
  Q_OBJECT

public:
  /// @param window takes the panel, which outlives this object
  SideBySide(Workspace& workspace, ScheduleFeature& schedules, QWidget* window, QObject* parent);
  ~SideBySide() override;

  [[nodiscard]] SideBySidePanel& panel() const { return *m_panel; }

private:
  void follow();
  /// Brings the second drawing, or takes it away.
  void show();
  void leave();
  /// Loads, or data under way.
  void draw();
  void goToGpu(const QString& name);
  [[nodiscard]] const FabricMap& mapOf(int side);

  Workspace& m_workspace;
  ScheduleFeature& m_schedules;
  SideBySidePanel* m_panel;
  QPointer<EditorContext> m_context;  ///< whose page is split
  std::unique_ptr<PageSplit> m_split;
  QPointer<DrawingCaption> m_caption;
  QPointer<SecondDrawing> m_second;
  struct Map {
    std::unique_ptr<FabricMap> map;
    ScheduleResultPtr result;
    std::uint64_t revision = 0;
  };
  std::array<Map, SideBySidePanel::kSides> m_maps;
};

}  // namespace coppice::designer
