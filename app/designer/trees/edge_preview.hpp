// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QPointer>
#include <memory>
#include <optional>

#include "designer/canvas/canvas_view.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "designer/trees/dragged_edge.hpp"
#include "designer/trees/fabric_map.hpp"
#include "workflow/sculpt.hpp"

namespace coppice::designer {

/// What would come of an edge that is dragged over the drawing, as a note beside the place: the throughput that
/// results, the share of the bound and the busiest link at once, and whether it is verified a moment later. Nothing of
/// it holds up the window.
class EdgePreview : public QObject {
  Q_OBJECT

public:
  explicit EdgePreview(QObject* parent = nullptr);

  /// The drag leads there now.
  void show(CanvasView& canvas, const ScheduleEntry& base, const TreeRef& tree, const ElementId& from,
            const ElementId& over);
  /// Why nothing would come of it.
  void refuse(CanvasView& canvas, const ElementId& over, const Error& why);
  void clear();
  /// The schedule with that change, where it has been made and verified while it was shown; nullptr else.
  [[nodiscard]] ScheduleResultPtr verified(const ScheduleResultPtr& base, const TreeRef& tree,
                                           const schedule::NewParent& change) const;

private:
  /// What is shown.
  struct Shown {
    ScheduleResultPtr base;
    TreeRef tree;
    DraggedEdge edge;
    workflow::Forecast forecast;
    ElementId over;
  };
  using Answer = std::shared_ptr<const Result<ScheduleResultPtr>>;
  struct Made {
    std::shared_ptr<const Shown> of;
    Answer answer;
  };
  /// What of the schedule before does not change from one place to the next.
  void prepare(const Document& document, const ScheduleResultPtr& base);
  void tell(const QString& verification);
  void receive(const Made& made);
  void startVerification(const QString& name);

  QPointer<CanvasView> m_canvas;
  std::shared_ptr<const Shown> m_shown;
  ScheduleResultPtr m_base;
  std::uint64_t m_revision = 0;
  workflow::LoadsOfHalves m_loads;
  std::unique_ptr<FabricMap> m_map;
  std::optional<Made> m_made;
  LatestJob<Made> m_job;
};

}  // namespace coppice::designer
