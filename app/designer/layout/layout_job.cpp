// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/layout/layout_job.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/progress.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"
#include "designer/layout/distance_layers.hpp"
#include "designer/layout/graphviz.hpp"

namespace coppice::designer {
namespace {

constexpr std::size_t kMaxForce = 300;

QString nameOf(LayoutKind kind) {
  switch (kind) {
    case LayoutKind::best:
      return LayoutJob::tr("Layout");
    case LayoutKind::rails:
      return LayoutJob::tr("Rail Grid");
    case LayoutKind::circle:
      return LayoutJob::tr("Circle");
    case LayoutKind::grid:
      return LayoutJob::tr("Grid");
    case LayoutKind::distance:
      return LayoutJob::tr("Layers by Distance");
    case LayoutKind::layered:
      return LayoutJob::tr("Layered Layout");
    case LayoutKind::force:
      return LayoutJob::tr("Force Layout");
    case LayoutKind::circular:
      return LayoutJob::tr("Circular Layout");
  }
  return {};
}

std::optional<ArrangementStyle> styleOf(LayoutKind kind) {
  switch (kind) {
    case LayoutKind::best:
      return ArrangementStyle::tiered;
    case LayoutKind::rails:
      return ArrangementStyle::rails;
    case LayoutKind::circle:
      return ArrangementStyle::circle;
    case LayoutKind::grid:
      return ArrangementStyle::grid;
    case LayoutKind::distance:
    case LayoutKind::layered:
    case LayoutKind::force:
    case LayoutKind::circular:
      break;
  }
  return std::nullopt;
}

/// The GPU that comes first by rank, then by name; else any node.
NodeId firstGpu(const Model& model, const std::vector<NodeId>& ids) {
  NodeId first;
  for (const NodeId id : ids) {
    const Node& node = *model.find(id);
    if (node.kind() != fabric::NodeKind::gpu) {
      continue;
    }
    const Node* best = model.find(first);
    if (best == nullptr || node.facts.rank < best->facts.rank) {
      first = id;
    }
  }
  return first.isValid() || ids.empty() ? first : ids.front();
}

std::set<NodeId> selectedNodes(const Model& model, const std::set<ElementId>& elements) {
  std::set<NodeId> nodes;
  for (const ElementId& id : elements) {
    if (model.find(id.node()) != nullptr) {
      nodes.insert(id.node());
    } else if (model.find(id.box()) != nullptr) {
      const std::vector<NodeId> inside = model.allNodesIn(id.box());
      nodes.insert(inside.begin(), inside.end());
    }
  }
  return nodes;
}

}  // namespace

std::vector<NodeId> nodesToArrange(const Model& model, const std::set<ElementId>& elements) {
  std::set<NodeId> nodes = selectedNodes(model, elements);
  if (nodes.size() < 2) {
    nodes.clear();
    for (const auto& [id, node] : model.nodes()) {
      nodes.insert(id);
    }
  }
  return {nodes.begin(), nodes.end()};
}

Result<std::map<NodeId, Point>> computeLayout(const Model& model, const std::vector<NodeId>& ids, LayoutKind kind,
                                              std::stop_token stop, std::chrono::milliseconds timeLimit,
                                              const std::set<NodeId>& sources) {
  try {
    if (kind == LayoutKind::distance) {
      // Rows cut through boxes, whose switches would then be over other boxes.
      const auto boxed =
          std::find_if(ids.begin(), ids.end(), [&](NodeId id) { return model.find(id)->facts.box.isValid(); });
      if (boxed != ids.end()) {
        return Error{ErrorCode::badUsage, "nodes in boxes cannot be placed in rows by distance",
                     "unbox them, or choose another layout"};
      }
      const std::set<NodeId> from = sources.empty() ? std::set<NodeId>{firstGpu(model, ids)} : sources;
      return fitted(model, ids, layersByDistance(model, ids, from, Progress{.onReport = {}, .stop = stop, .work = {}}));
    }
    if (const auto style = styleOf(kind)) {
      return rearranged(model, ids, *style, Progress{.onReport = {}, .stop = stop, .work = {}});
    }
    const io::DotLayout engine = kind == LayoutKind::layered    ? io::DotLayout::layered
                                 : kind == LayoutKind::circular ? io::DotLayout::circular
                                 : ids.size() > kMaxForce       ? io::DotLayout::scalable
                                                                : io::DotLayout::force;
    auto places = laidOut(model, ids, engine, {.program = {}, .timeLimit = timeLimit, .stop = stop});
    if (!places) {
      return places.error();
    }
    return fitted(model, ids, std::move(*places));
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "the layout was stopped"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory for this layout", "lay out a part of the fabric"};
  }
}

void applyLayout(Edit& edit, const std::map<NodeId, Point>& places) {
  edits::place(edit, places);
  for (const auto& [id, box] : edit.base().boxes()) {
    if (!box.frame) {
      continue;
    }
    const std::vector<NodeId> inside = edit.base().allNodesIn(id);
    const bool isMoved = !inside.empty() &&
                         std::all_of(inside.begin(), inside.end(), [&](NodeId node) { return places.contains(node); });
    if (isMoved) {
      edit.change(id, [](Box& changed) { changed.frame.reset(); });
    }
  }
}

LayoutJob::LayoutJob(QObject* parent)
    : QObject(parent), m_job([this](Answer answer) { take(std::move(answer)); }, std::chrono::milliseconds(0)) {}

void LayoutJob::submit(Document& document, const std::set<ElementId>& elements, LayoutKind kind) {
  const bool isByDistance = kind == LayoutKind::distance;
  const std::vector<NodeId> ids = nodesToArrange(document.model(), isByDistance ? std::set<ElementId>() : elements);
  const std::set<NodeId> sources = isByDistance ? selectedNodes(document.model(), elements) : std::set<NodeId>();
  if (ids.empty()) {
    Q_EMIT statusMessage(tr("There is nothing to lay out yet"));
    Q_EMIT finished();
    return;
  }
  m_document = &document;
  Q_EMIT statusMessage(tr("Laying out %n node(s)…", nullptr, static_cast<int>(ids.size())));
  m_job.submit([model = document.model(), ids, kind, sources, name = nameOf(kind),
                revision = document.factRevision()](std::stop_token stop) {
    return Answer{computeLayout(model, ids, kind, stop, std::chrono::seconds(20), sources), name, revision};
  });
}

void LayoutJob::cancel() {
  if (m_job.isRunning()) {
    m_job.cancel();
    Q_EMIT statusMessage(tr("Layout stopped"));
    Q_EMIT finished();
  }
  m_document.clear();
}

void LayoutJob::take(Answer answer) {
  Document* document = m_document;
  m_document.clear();
  if (document == nullptr) {
    return;
  }
  if (!answer.places) {
    const Error& error = answer.places.error();
    Q_EMIT statusMessage(sentence(error));
  } else if (answer.revision != document->factRevision()) {
    Q_EMIT statusMessage(tr("The fabric changed during the layout. Start it again."));
  } else {
    Q_EMIT aboutToMove(document);
    document->edit(answer.name, [&](Edit& edit) { applyLayout(edit, *answer.places); });
    Q_EMIT statusMessage(
        tr("%1: %n node(s) placed", nullptr, static_cast<int>(answer.places->size())).arg(answer.name));
  }
  Q_EMIT finished();
}

}  // namespace coppice::designer
