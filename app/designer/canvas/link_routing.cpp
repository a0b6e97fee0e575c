// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/link_routing.hpp"

#include <utility>

#include "designer/jobs/threads.hpp"

namespace coppice::designer {
namespace {

constexpr int kRest = 120;  // ms without a change after which links are routed

}  // namespace

LinkRouting::LinkRouting(CanvasScene& scene, std::function<bool()> isWanted)
    : m_scene(scene),
      m_isWanted(std::move(isWanted)),
      m_job(
          [this](Found found) {
            if (const auto dirty = m_scene.applyRoutes(found.of, std::move(*found.routes))) {
              m_requested.reset();
              Q_EMIT routed(*dirty);
            }
          },
          std::chrono::milliseconds(0), routingThreads()) {
  m_timer.setSingleShot(true);
  connect(&m_timer, &QTimer::timeout, this, &LinkRouting::request);
}

void LinkRouting::restart() {
  m_job.cancel();
  m_timer.start(kRest);
}

void LinkRouting::ensure() {
  if (!m_scene.isRouted() && !m_timer.isActive() && m_requested != m_scene.unrouted()) {
    m_timer.start(0);
  }
}

void LinkRouting::request() {
  if (!m_isWanted()) {
    return;
  }
  m_requested = m_scene.unrouted();
  if (m_requested) {
    m_job.submit([of = m_requested](const std::stop_token& stop) {
      std::optional<Routes> routes = routesOf(*of, stop);
      return Found{of, routes ? std::make_shared<Routes>(std::move(*routes)) : nullptr};
    });
  }
}

void LinkRouting::finish() {
  m_job.cancel();
  m_timer.stop();
  const QRectF before = m_scene.bounds();
  if (m_scene.finishRouting()) {
    m_requested.reset();
    Q_EMIT routed({m_scene.bounds(), before});
  }
}

}  // namespace coppice::designer
