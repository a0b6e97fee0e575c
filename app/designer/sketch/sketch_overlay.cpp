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
    return m_model.nodeNamed(m_fabric.nodes()[static_cast<std::size_t>(index)].id);
  }
  [[nodiscard]] NodeId gpu(int rank) const { return node(m_fabric.gpus()[static_cast<std::size_t>(rank)]); }

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

}  // namespace

Overlay sketchOverlay(const workflow::FittedSketch& sketch, const Model& model, const SketchArea& area) {
  // More would cover the drawing, and take long where there are thousands.
  constexpr std::size_t kMaxPaths = 600;
  enum Kind { kSends, kReceives, kBoth };
  const Steps steps(sketch.fabric.fabric, model);
  const sketch::Model& made = sketch.fit.model;
  std::set<int> senders;
  std::set<int> receivers;
  TreeMark relays = ring(kSends, {}, {});
  for (std::size_t i = 0; i < made.links.size(); ++i) {
    const sketch::Link& link = made.links[i];
    if (!link.isRemote) {
      continue;
    }
    senders.insert(link.from);
    receivers.insert(link.to);
    if (relays.paths.size() < kMaxPaths) {
      relays.paths.push_back(steps.along(sketch.fit.routes[i]));
    }
  }
  std::set<NodeId> only[kBoth + 1];
  for (const int gpu : senders) {
    only[receivers.contains(gpu) ? kBoth : kSends].insert(steps.gpu(gpu));
  }
  for (const int gpu : receivers) {
    if (!senders.contains(gpu)) {
      only[kReceives].insert(steps.gpu(gpu));
    }
  }
  Overlay overlay;
  const QString labels[] = {Texts::tr("sender"), Texts::tr("receiver"), Texts::tr("sender and receiver")};
  for (const Kind kind : {kSends, kReceives, kBoth}) {
    if (!only[kind].empty()) {
      overlay.trees.push_back(ring(kind, labels[kind], std::move(only[kind])));
    }
  }
  if (!overlay.trees.empty()) {
    overlay.trees.front().paths = std::move(relays.paths);
  }
  if (!area.gpus.empty()) {
    Hull hull;
    for (const int gpu : area.gpus) {
      hull.nodes.insert(steps.gpu(gpu));
    }
    hull.line = Token::accent;
    hull.fill = Token::accentSoft;
    hull.isDashed = false;
    hull.label = area.label;
    overlay.hulls.push_back(std::move(hull));
  }
  return overlay;
}

}  // namespace coppice::designer
