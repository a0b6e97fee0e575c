// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/overlay_layer.hpp"

#include <QCoreApplication>
#include <QPolygonF>
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "designer/canvas/canvas_painter.hpp"

namespace coppice::designer {
namespace {

double share(double load) {
  return std::isfinite(load) ? std::clamp(load, 0.0, 1.0) : 0.0;
}

}  // namespace

bool runsAlong(const CanvasScene& scene, const LineItem& line, LinkId id) {
  const Link* link = scene.model().find(id);
  return link != nullptr && scene.shapeOf(link->tail.node) == scene.nodes()[line.a].id;
}

OverlayLayer::OverlayLayer(const CanvasScene& scene, const Overlay& overlay) : m_overlay(overlay) {
  for (const Hull& hull : overlay.hulls) {
    m_hulls.push_back(hullOf(scene, hull.nodes));
    std::vector<QRectF>& parts = m_hullParts.emplace_back();
    for (const QPolygonF& region : m_hulls.back().toSubpathPolygons()) {
      parts.push_back(region.boundingRect());
    }
  }
  for (std::uint32_t i = 0; i < overlay.marks.size(); ++i) {
    if (const auto at = scene.lineAt(overlay.marks[i].link)) {
      m_lines[*at].marks.push_back(i);
    }
  }
  addLoads(scene);
  addTrees(scene);

  m_bright.resize(scene.nodes().size(), !overlay.isRestDimmed);
  if (overlay.isRestDimmed) {
    const auto brighten = [&](NodeId id) {
      if (scene.model().find(id) != nullptr) {
        if (const auto at = scene.nodeAt(scene.shapeOf(id))) {
          m_bright[*at] = true;
        }
      }
    };
    for (const ElementId& id : overlay.failed) {
      brighten(id.node());
    }
    for (const Hull& hull : overlay.hulls) {
      std::for_each(hull.nodes.begin(), hull.nodes.end(), brighten);
    }
    for (const TreeMark& tree : overlay.trees) {
      std::for_each(tree.roots.begin(), tree.roots.end(), brighten);
      for (const std::vector<LinkStep>& path : tree.paths) {
        for (const LinkStep& step : path) {
          // Also what runs wholly inside a folded box.
          if (const Link* link = scene.model().find(step.link)) {
            brighten(link->tail.node);
            brighten(link->head.node);
          }
        }
      }
    }
    for (const auto& [at, onLine] : m_lines) {
      m_bright[scene.lines()[at].a] = true;
      m_bright[scene.lines()[at].b] = true;
    }
  }
}

const OverlayLayer::OnLine* OverlayLayer::on(std::uint32_t line) const {
  const auto found = m_lines.find(line);
  return found != m_lines.end() ? &found->second : nullptr;
}

const OverlayLayer::CellLoad* OverlayLayer::onCell(BoxId box) const {
  const auto found = m_cells.find(box);
  return found != m_cells.end() ? &found->second : nullptr;
}

void OverlayLayer::addToCells(const CanvasScene& scene, LinkId id, const LinkLoad& load) {
  const Link* link = scene.model().find(id);
  if (link == nullptr) {
    return;
  }
  const double max = std::max(share(load.forward), link->duplex ? share(load.backward) : 0);
  for (const NodeId end : {link->tail.node, link->head.node}) {
    if (const BoxId box = scene.stackedBoxOf(end); box.isValid()) {
      CellLoad& cell = m_cells[box];
      cell.max = std::max(cell.max, max);
      cell.isBottleneck = cell.isBottleneck || load.isBottleneck;
    }
  }
}

void OverlayLayer::addLoads(const CanvasScene& scene) {
  std::unordered_map<std::uint32_t, double> hottest;  // whose text it is
  std::set<std::uint32_t> mixedTexts;
  for (const auto& [id, link] : m_overlay.heat.load) {
    addToCells(scene, id, link);
    const auto at = scene.lineAt(id);
    if (!at) {
      continue;
    }
    const LineItem& line = scene.lines()[*at];
    std::optional<Load>& load = m_lines[*at].load;
    const bool isNew = !load;
    if (isNew) {
      load.emplace();
    }
    double forward = share(link.forward);
    double backward = scene.model().find(id)->duplex ? share(link.backward) : 0;
    if (!runsAlong(scene, line, id)) {
      std::swap(forward, backward);
    }
    load->forward = std::max(load->forward, forward);
    load->backward = std::max(load->backward, backward);
    load->isBottleneck = load->isBottleneck || link.isBottleneck;
    m_hasBottleneck = m_hasBottleneck || link.isBottleneck;
    if (!isNew && link.text != load->text) {
      mixedTexts.insert(*at);
    }
    const double max = std::max(forward, backward);
    if (isNew || max > hottest[*at]) {
      hottest[*at] = max;
      load->text = link.text;
    }
  }
  for (const std::uint32_t at : mixedTexts) {
    Load& load = *m_lines[at].load;
    if (!load.text.isEmpty()) {
      load.text = QCoreApplication::translate("Canvas", "up to %1").arg(load.text);
    }
  }
}

void OverlayLayer::addTrees(const CanvasScene& scene) {
  std::set<std::tuple<std::uint32_t, bool, std::uint32_t>> lanes;  // line, is forward, tree
  for (std::uint32_t tree = 0; tree < m_overlay.trees.size(); ++tree) {
    for (const std::vector<LinkStep>& path : m_overlay.trees[tree].paths) {
      for (const LinkStep& step : path) {
        if (const auto at = scene.lineAt(step.link)) {
          lanes.emplace(*at, step.isForward == runsAlong(scene, scene.lines()[*at], step.link), tree);
        }
      }
    }
  }
  // In their order, what comes back is left of what goes.
  for (const auto& [line, isForward, tree] : lanes) {
    m_lines[line].lanes.push_back({tree, isForward, 0});
  }
  for (auto& [line, onLine] : m_lines) {
    const double middle = (static_cast<double>(onLine.lanes.size()) - 1) / 2;
    for (std::size_t i = 0; i < onLine.lanes.size(); ++i) {
      onLine.lanes[i].place = static_cast<double>(i) - middle;
    }
  }
}

}  // namespace coppice::designer
