// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"
#include "designer/document/measures.hpp"
#include "designer/document/ranks.hpp"

namespace coppice::designer {

void continueRanks(Edit& edit, const std::set<ElementId>& made) {
  constexpr int kMax = 1 << 24;
  int next = 0;
  for (const auto& [id, node] : edit.base().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu) {
      if (!node.facts.rank || *node.facts.rank < 0 || *node.facts.rank >= kMax) {
        return;
      }
      next = std::max(next, *node.facts.rank + 1);
    }
  }
  if (next == 0) {
    return;
  }
  for (const ElementId& id : made) {
    if (const Node* node = edit.find(id.node()); node != nullptr && node->kind() == fabric::NodeKind::gpu) {
      edit.change(id.node(), [rank = next++](Node& changed) { changed.facts.rank = rank; });
    }
  }
}

namespace edits {
namespace {

/// Everything that a copy of the elements holds, each once and ascending.
struct Whole {
  std::vector<NodeId> nodes;
  std::vector<BoxId> boxes;
  std::vector<NoteId> notes;
  std::vector<LinkId> links;  ///< both ends inside
};

Whole wholeOf(const Model& model, const std::set<ElementId>& elements) {
  std::set<NodeId> nodes;
  std::set<BoxId> boxes;
  Whole whole;
  for (const ElementId& id : elements) {
    if (model.find(id.node()) != nullptr) {
      nodes.insert(id.node());
    } else if (model.find(id.box()) != nullptr) {
      for (const BoxId box : model.allBoxesIn(id.box())) {
        boxes.insert(box);
      }
      for (const NodeId node : model.allNodesIn(id.box())) {
        nodes.insert(node);
      }
    } else if (model.find(id.note()) != nullptr) {
      whole.notes.push_back(id.note());
    }
  }
  std::set<LinkId> links;
  for (const NodeId node : nodes) {
    for (const LinkId id : model.linksOf(node)) {
      const Link& link = *model.find(id);
      if (nodes.contains(link.tail.node) && nodes.contains(link.head.node)) {
        links.insert(id);
      }
    }
  }
  whole.nodes.assign(nodes.begin(), nodes.end());
  whole.boxes.assign(boxes.begin(), boxes.end());
  whole.links.assign(links.begin(), links.end());
  return whole;
}

Point shifted(Point point, Point by) {
  return {point.x + by.x, point.y + by.y};
}

/// How a copy is made.
struct CopyRules {
  Point by;
  BoxId outside = {};             ///< where top-level things go that have no box of their own to stay in
  bool keepsSurroundings = true;  ///< nodes and boxes stay in the boxes around them that are not copied
  bool keepsRoles = false;
  bool keepsTypes = false;
  bool dropsRanks = true;
};

struct Copy {
  std::unordered_map<NodeId, NodeId> nodes;
  std::unordered_map<BoxId, BoxId> boxes;
  std::set<ElementId> made;
};

Copy copyInto(Edit& edit, const Model& source, const Whole& whole, const CopyRules& rules) {
  Copy copy;
  const auto home = [&](BoxId box) {
    if (const auto found = copy.boxes.find(box); found != copy.boxes.end()) {
      return found->second;
    }
    return rules.keepsSurroundings ? box : rules.outside;
  };
  // Parents before children, whatever their ids.
  std::vector<std::pair<int, BoxId>> byDepth;
  for (const BoxId id : whole.boxes) {
    int depth = 0;
    for (BoxId at = source.find(id)->parent; at.isValid(); at = source.find(at)->parent) {
      ++depth;
    }
    byDepth.emplace_back(depth, id);
  }
  std::sort(byDepth.begin(), byDepth.end());
  for (const auto& [depth, id] : byDepth) {
    Box box = *source.find(id);
    box.parent = home(box.parent);
    box.name = edit.freeBoxName(box.name, box.parent);
    if (box.frame) {
      const Point corner = shifted({box.frame->x, box.frame->y}, rules.by);
      box.frame->x = corner.x;
      box.frame->y = corner.y;
    }
    if (!rules.keepsTypes) {
      box.type.clear();
    }
    const BoxId made = edit.add(std::move(box));
    copy.boxes.emplace(id, made);
    copy.made.insert(made);
  }
  for (const NodeId id : whole.nodes) {
    Node node = *source.find(id);
    node.facts.name = edit.freeNodeName(node.facts.name);
    const bool isInCopiedBox = copy.boxes.contains(node.facts.box);
    node.facts.box = home(node.facts.box);
    if (rules.dropsRanks) {
      node.facts.rank.reset();
    }
    node.drawing.position = shifted(node.drawing.position, rules.by);
    node.drawing.isPlaced = true;
    if (!rules.keepsRoles || !isInCopiedBox) {
      node.drawing.role.clear();
    }
    const NodeId made = edit.add(std::move(node));
    copy.nodes.emplace(id, made);
    copy.made.insert(made);
  }
  for (const LinkId id : whole.links) {
    Link link = *source.find(id);
    link.tail.node = copy.nodes.at(link.tail.node);
    link.head.node = copy.nodes.at(link.head.node);
    copy.made.insert(edit.add(std::move(link)));
  }
  for (const NoteId id : whole.notes) {
    Note note = *source.find(id);
    note.position = shifted(note.position, rules.by);
    copy.made.insert(edit.add(std::move(note)));
  }
  return copy;
}

/// Ranks are for all GPUs or for none.
bool hasGpu(const Model& model) {
  for (const auto& [id, node] : model.nodes()) {
    if (node.kind() == fabric::NodeKind::gpu) {
      return true;
    }
  }
  return false;
}

QRectF rectOf(const Model& model, const std::set<ElementId>& elements) {
  QRectF rect;
  for (const ElementId& id : elements) {
    rect |= elementRect(model, id);
  }
  return rect;
}

}  // namespace

Model extract(const Model& model, const std::set<ElementId>& elements) {
  Model result;
  Edit edit(result);
  copyInto(edit, model, wholeOf(model, elements),
           {.by = {}, .keepsSurroundings = false, .keepsRoles = true, .keepsTypes = true, .dropsRanks = false});
  result.applyTrusted(edit.patch());
  return result;
}

std::set<ElementId> insert(Edit& edit, const Model& part, Point by, BoxId box) {
  std::set<ElementId> all;
  for (const auto& [id, node] : part.nodes()) {
    all.insert(id);
  }
  for (const auto& [id, inner] : part.boxes()) {
    all.insert(id);
  }
  for (const auto& [id, note] : part.notes()) {
    all.insert(id);
  }
  const bool isFirst = !hasGpu(edit.base());
  const Copy copy = copyInto(edit, part, wholeOf(part, all),
                             {.by = by,
                              .outside = edit.find(box) != nullptr ? box : BoxId{},
                              .keepsSurroundings = false,
                              .keepsRoles = true,
                              .keepsTypes = true,
                              .dropsRanks = !isFirst});
  if (!isFirst) {
    continueRanks(edit, copy.made);
  }
  // Links that were broken in the part arrive as broken, so that Problems can name them.
  for (const auto& [id, link] : part.links()) {
    if (!link.tail.node.isValid() || !link.head.node.isValid()) {
      Link broken = link;
      for (LinkEnd* end : {&broken.tail, &broken.head}) {
        if (end->node.isValid()) {
          end->node = copy.nodes.at(end->node);
        }
      }
      edit.add(std::move(broken));
    }
  }
  std::set<ElementId> top;
  for (const ElementId& id : copy.made) {
    const Node* node = edit.find(id.node());
    const Box* inner = edit.find(id.box());
    const BoxId parent = node != nullptr ? node->facts.box : (inner != nullptr ? inner->parent : BoxId{});
    if (id.kind == ElementKind::note || (id.kind != ElementKind::link && !copy.made.contains(parent))) {
      top.insert(id);
    }
  }
  return top;
}

std::set<ElementId> duplicate(Edit& edit, const std::set<ElementId>& elements, Point by) {
  const Copy copy =
      copyInto(edit, edit.base(), wholeOf(edit.base(), elements), {.by = by, .keepsRoles = true, .keepsTypes = true});
  continueRanks(edit, copy.made);
  return copy.made;
}

std::vector<Point> arrayOffsets(const Model& model, const std::set<ElementId>& elements, const ArrayOptions& options) {
  constexpr double kGap = 60;
  const QRectF rect = rectOf(model, elements);
  const Point step{options.step.x != 0 ? options.step.x : std::ceil((rect.width() + kGap) / kGridStep) * kGridStep,
                   options.step.y != 0 ? options.step.y : std::ceil((rect.height() + kGap) / kGridStep) * kGridStep};
  std::vector<Point> offsets;
  const int columns = options.columns > 0 ? options.columns : options.copies + 1;
  for (int i = 1; i <= options.copies; ++i) {
    offsets.push_back({step.x * (i % columns), step.y * (i / columns)});
  }
  return offsets;
}

Result<std::set<ElementId>> replicate(Edit& edit, const std::set<ElementId>& elements, const ArrayOptions& options) {
  const Whole whole = wholeOf(edit.base(), elements);
  if (options.copies < 1 || (whole.nodes.empty() && whole.boxes.empty() && whole.notes.empty())) {
    return Error{ErrorCode::badUsage, "nothing to copy", "select nodes or boxes, and make at least one copy"};
  }
  std::set<NodeId> inside(whole.nodes.begin(), whole.nodes.end());
  std::vector<std::pair<LinkId, Link>> outer;
  if (options.keepOuterLinks) {
    std::set<LinkId> seen;
    for (const NodeId id : whole.nodes) {
      for (const LinkId linkId : edit.base().linksOf(id)) {
        const Link& link = *edit.base().find(linkId);
        const NodeId other = inside.contains(link.tail.node) ? link.head.node : link.tail.node;
        if (!inside.contains(other) && other.isValid() &&
            (options.outerNodes.empty() || options.outerNodes.contains(other)) && seen.insert(linkId).second) {
          outer.emplace_back(linkId, link);
        }
      }
    }
  }
  const std::size_t each =
      whole.nodes.size() + whole.boxes.size() + whole.notes.size() + whole.links.size() + outer.size();
  if (static_cast<std::size_t>(options.copies) > kMaxArrayElements / each) {
    return Error{ErrorCode::limit, "the copies would have more than " + std::to_string(kMaxArrayElements) + " elements",
                 "make fewer copies"};
  }

  // The outermost copied boxes become instances, so that their roles are set before they are copied.
  const std::set<BoxId> boxes(whole.boxes.begin(), whole.boxes.end());
  if (options.asInstances) {
    for (const BoxId id : whole.boxes) {
      if (!boxes.contains(edit.find(id)->parent)) {
        makeType(edit, id);
      }
    }
  }
  Model source = edit.base();
  source.applyTrusted(edit.patch());

  std::set<ElementId> made;
  for (const Point& by : arrayOffsets(edit.base(), elements, options)) {
    const Copy copy =
        copyInto(edit, source, whole, {.by = by, .keepsRoles = options.asInstances, .keepsTypes = options.asInstances});
    for (const auto& [id, link] : outer) {
      Link again = link;
      for (LinkEnd* end : {&again.tail, &again.head}) {
        if (const auto found = copy.nodes.find(end->node); found != copy.nodes.end()) {
          end->node = found->second;
        }
      }
      made.insert(edit.add(std::move(again)));
    }
    made.insert(copy.made.begin(), copy.made.end());
  }
  continueRanks(edit, made);
  return made;
}

}  // namespace edits
}  // namespace coppice::designer
