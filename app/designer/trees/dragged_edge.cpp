// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/dragged_edge.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "schedule/route_through.hpp"

namespace coppice::designer {
namespace {

using fabric::NodeIndex;
using fabric::Rank;

struct DragTexts {
  Q_DECLARE_TR_FUNCTIONS(DraggedEdge)
};

[[noreturn]] void refuseDrag(const QString& message, const QString& fix) {
  throw Failure{{ErrorCode::badUsage, message.toStdString(), fix.toStdString()}};
}

/// One drag, by the nodes of the schedule's fabric.
class Drag {
public:
  Drag(const ScheduleResult& result, const TreeRef& tree, const Model& model)
      : m_fabric(*result.fabric),
        m_model(model),
        m_tree(tree),
        m_reader(*result.readers[static_cast<std::size_t>(tree.half)]),
        m_view(m_reader.read(tree.tree)) {}

  [[nodiscard]] DraggedEdge edge(const ElementId& from, const ElementId& to) {
    const Rank child = from.link().isValid() ? childOver(from.link()) : gpuOf(from.node());
    const auto old =
        std::find_if(m_view.edges.begin(), m_view.edges.end(), [&](const auto& each) { return each.child == child; });
    if (old == m_view.edges.end()) {
      refuseDrag(DragTexts::tr("%1 is the root of the tree and has no parent").arg(nameOf(child)),
                 DragTexts::tr("drag another GPU"));
    }
    schedule::NewParent change{m_tree.tree, child, old->parent, {}};
    if (to.link().isValid()) {
      change.route = routeOver(to.link(), change);
      return {change, DragTexts::tr("%1 over %2").arg(nameOf(child), nameOf(to.link()))};
    }
    const NodeIndex node = nodeOf(to.node());
    if (const Rank parent = m_fabric.nodes()[node].rank; parent >= 0) {
      change.parent = parent;
      return {change, DragTexts::tr("%1 below %2").arg(nameOf(child), nameOf(parent))};
    }
    const auto [start, end] = endsOf(change);
    change.route = orThrow(schedule::routeThrough(m_fabric, start, end, std::array{node}));
    return {change,
            DragTexts::tr("%1 through %2").arg(nameOf(child), QString::fromStdString(m_fabric.nodes()[node].id))};
  }

private:
  [[nodiscard]] QString nameOf(Rank rank) const {
    return QString::fromStdString(m_fabric.nodes()[m_fabric.gpus()[rank]].id);
  }
  [[nodiscard]] QString nameOf(LinkId id) const {
    const auto [tail, head] = endsOf(id);
    return QString::fromStdString(m_fabric.nodes()[tail].id + " – " + m_fabric.nodes()[head].id);
  }
  /// Sender and receiver of the edge.
  [[nodiscard]] std::pair<NodeIndex, NodeIndex> endsOf(const schedule::NewParent& change) const {
    const NodeIndex parent = m_fabric.gpus()[change.parent];
    const NodeIndex child = m_fabric.gpus()[change.child];
    return m_tree.half == 1 ? std::pair(parent, child) : std::pair(child, parent);
  }
  [[nodiscard]] NodeIndex nodeOf(NodeId id) const {
    const Node* node = m_model.find(id);
    const auto found = node != nullptr ? m_fabric.find(node->facts.name) : std::nullopt;
    if (!found) {
      refuseDrag(DragTexts::tr("This is not part of the schedule"),
                 DragTexts::tr("drag to a GPU, switch or link of it"));
    }
    return *found;
  }
  [[nodiscard]] Rank gpuOf(NodeId id) const {
    const Rank rank = m_fabric.nodes()[nodeOf(id)].rank;
    if (rank < 0) {
      refuseDrag(DragTexts::tr("Only GPUs and the edges of the tree can be dragged"), DragTexts::tr("drag from a GPU"));
    }
    return rank;
  }
  [[nodiscard]] std::pair<NodeIndex, NodeIndex> endsOf(LinkId id) const {
    const Link* link = m_model.find(id);
    return {nodeOf(link != nullptr ? link->tail.node : NodeId()), nodeOf(link != nullptr ? link->head.node : NodeId())};
  }

  /// The GPU whose edge runs over the link.
  [[nodiscard]] Rank childOver(LinkId id) {
    const auto [tail, head] = endsOf(id);
    std::optional<Rank> child;
    for (const schedule::TreeEdge& edge : m_view.edges) {
      const auto path = m_reader.path(edge);
      for (std::size_t i = 0; i + 1 < path.size(); ++i) {
        if (std::minmax(path[i], path[i + 1]) != std::minmax(tail, head)) {
          continue;
        }
        if (child && *child != edge.child) {
          refuseDrag(DragTexts::tr("Several edges of the tree run over this link"),
                     DragTexts::tr("drag from the GPU of one of them"));
        }
        child = edge.child;
      }
    }
    if (!child) {
      refuseDrag(DragTexts::tr("No edge of the tree runs over this link"), DragTexts::tr("drag from a GPU"));
    }
    return *child;
  }

  [[nodiscard]] std::vector<NodeIndex> routeOver(LinkId id, const schedule::NewParent& change) const {
    const auto [tail, head] = endsOf(id);
    const auto [start, end] = endsOf(change);
    return orThrow(schedule::routeThrough(m_fabric, start, end, std::array{tail, head}));
  }

  const fabric::Fabric& m_fabric;
  const Model& m_model;
  TreeRef m_tree;
  schedule::TreeReader m_reader;
  schedule::TreeReader::View m_view;
};

}  // namespace

Result<DraggedEdge> draggedEdge(const ScheduleResult& result, const TreeRef& tree, const Model& model,
                                const ElementId& from, const ElementId& to) {
  return guarded([&]() -> Result<DraggedEdge> { return Drag(result, tree, model).edge(from, to); });
}

}  // namespace coppice::designer
