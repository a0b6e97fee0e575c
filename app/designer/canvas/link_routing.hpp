// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QTimer>
#include <functional>
#include <memory>

#include "designer/canvas/canvas_scene.hpp"
#include "designer/jobs/latest_job.hpp"

namespace coppice::designer {

/// Has the links of a scene routed around nodes on another thread, once nothing has changed for a moment. Until then
/// they run straight.
class LinkRouting : public QObject {
  Q_OBJECT

public:
  /// @param isWanted false: the links are not seen, and wait until they are. The scene must outlive this object.
  LinkRouting(CanvasScene& scene, std::function<bool()> isWanted);

  /// The scene has changed: what is being computed is out of date.
  void restart();
  /// Routes what is missing, unless that has been requested already.
  void ensure();
  /// Routes what is missing now.
  void finish();

Q_SIGNALS:
  /// The links in the region run differently now; the region may be empty.
  void routed(const coppice::designer::Region& dirty);

private:
  void request();

  struct Found {
    std::shared_ptr<const Wiring> of;
    std::shared_ptr<Routes> routes;
  };
  CanvasScene& m_scene;
  std::function<bool()> m_isWanted;
  LatestJob<Found> m_job;
  std::shared_ptr<const Wiring> m_requested;
  QTimer m_timer;
};

}  // namespace coppice::designer
