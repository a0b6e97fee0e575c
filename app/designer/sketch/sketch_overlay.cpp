// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/sketch_overlay.hpp"

#include <QCoreApplication>
#include <map>
#include <set>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Sketch)
};

/// The first link of the drawing that runs from one node to another.
class Steps {
public:
  Steps(const fabric::Fabric& fabric, const Model& model) : m_fabric(fabric), m_model(model) {
    for (const auto& [id, link] : model.links()) {
      m_steps.try_emplace({link.tail.node, link.head.node}, LinkStep{id, true});
      if (link.duplex) {
        m_steps.try_emplace({link.head.node, link.tail.node}, LinkStep{id, false});
      }
    }
  }

  [[nodiscard]] NodeId node(fabric::NodeIndex index) const {
    return m_model.nodeNamed(m_fabric.nodes()[index].id);
  }
  [[nodiscard]] NodeId gpu(int rank) const { return node(m_fabric.gpus()[rank]); }

  [[nodiscard]] std::vector<LinkStep> along(const std::vector<fabric::NodeIndex>& route) const {
    std::vector<LinkStep> steps;
    for (std::size_t i = 0; i + 1 < route.size(); ++i) {
      const auto found = m_steps.find({node(route[i]), node(route[i + 1])});
      if (found != m_steps.end()) {
        steps.push_back(found->second);
      }
    }
    return steps;
  }

private:
  const fabric::Fabric& m_fabric;
  const Model& m_model;
  std::map<std::pair<NodeId, NodeId>, LinkStep> m_steps;
};

TreeMark ring(int category, const QString& label, std::set<NodeId> nodes) {
  TreeMark mark;
  mark.category = category;
  mark.dash = Qt::SolidLine;
  mark.label = label;
  mark.roots = std::move(nodes);
  return mark;
}

/// Paths of the links between boxes, with those who send and who receive.
struct Relays {
  std::set<int> senders;
  std::set<int> receivers;
  std::vector<std::vector<LinkStep>> paths;
};

Relays relaysOf(const workflow::FittedSketch& sketch, const Steps& steps) {
  // More would cover the drawing, and take long where there are thousands.
  constexpr std::size_t kMaxPaths = 600;
  const sketch::Model& made = sketch.fit.model;
  Relays relays;
  for (std::size_t i = 0; i < made.links.size(); ++i) {
    const sketch::Link& link = made.links[i];
    if (!link.isRemote) {
      continue;
    }
    relays.senders.insert(link.from);
    relays.receivers.insert(link.to);
    if (relays.paths.size() < kMaxPaths) {
      relays.paths.push_back(steps.along(sketch.fit.routes[i]));
    }
  }
  return relays;
}

std::vector<TreeMark> relayRings(const Relays& relays, const Steps& steps) {
  enum Kind { kSends, kReceives, kBoth };
  std::set<NodeId> only[kBoth + 1];
  for (const int gpu : relays.senders) {
    only[relays.receivers.contains(gpu) ? kBoth : kSends].insert(steps.gpu(gpu));
  }
  for (const int gpu : relays.receivers) {
    if (!relays.senders.contains(gpu)) {
      only[kReceives].insert(steps.gpu(gpu));
    }
  }
  const QString labels[] = {Texts::tr("sender"), Texts::tr("receiver"), Texts::tr("sender and receiver")};
  std::vector<TreeMark> rings;
  for (const Kind kind : {kSends, kReceives, kBoth}) {
    if (!only[kind].empty()) {
      rings.push_back(ring(kind, labels[kind], std::move(only[kind])));
    }
  }
  if (!rings.empty()) {
    rings.front().paths = relays.paths;
  }
  return rings;
}

/// Colours repeat where there are many orbits; the area of the chosen one tells them apart.
std::vector<TreeMark> orbitRings(const std::vector<std::vector<int>>& orbits, const Steps& steps) {
  std::vector<TreeMark> rings;
  for (std::size_t i = 0; i < orbits.size(); ++i) {
    std::set<NodeId> nodes;
    for (const int gpu : orbits[i]) {
      nodes.insert(steps.gpu(gpu));
    }
    rings.push_back(ring(static_cast<int>(i), Texts::tr("orbit %1").arg(i + 1), std::move(nodes)));
  }
  return rings;
}

}  // namespace

Overlay sketchOverlay(const workflow::FittedSketch& sketch, const Model& model, const SketchView& view) {
  const Steps steps(sketch.fabric.fabric, model);
  Overlay overlay;
  overlay.trees = view.orbits.empty() ? relayRings(relaysOf(sketch, steps), steps) : orbitRings(view.orbits, steps);
  if (!view.area.gpus.empty()) {
    Hull hull;
    for (const int gpu : view.area.gpus) {
      hull.nodes.insert(steps.gpu(gpu));
    }
    hull.line = Token::accent;
    hull.fill = Token::accentSoft;
    hull.isDashed = false;
    hull.label = view.area.label;
    overlay.hulls.push_back(std::move(hull));
  }
  return overlay;
}

}  // namespace coppice::designer
