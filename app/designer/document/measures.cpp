// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/measures.hpp"

#include <QString>
#include <QStringList>
#include <algorithm>
#include <cmath>

namespace coppice::designer {
namespace {

constexpr QSizeF kGpuSize(56, 56);
constexpr QSizeF kNicSize(28, 28);
constexpr double kSwitchHeight = 40;
constexpr double kSwitchMinWidth = 120;
constexpr double kSwitchMaxWidth = 900;
constexpr double kWidthPerPort = 20;
constexpr double kMaxReach = 2000;
constexpr double kNextRow = 125;
constexpr double kBarGap = 16;
constexpr double kMinBar = 56;
constexpr QSizeF kFoldedSize(160, 72);
constexpr QSizeF kEmptyBox(200, 120);
constexpr double kBoxMargin = 28;
constexpr double kBoxRoom = 42;  // above and below: the title is on either side
constexpr double kNoteLine = 20;
constexpr double kNoteCharacter = 8;

/// Of a switch without a width of its own: by its ports, and over all that it connects within its box; but never into
/// a neighbour of its row.
double barWidth(const Model& model, NodeId id, const Node& node) {
  const Point at = node.drawing.position;
  const std::vector<LinkId>& links = model.linksOf(id);
  double width = portsWidth(model, id);
  // Over what it joins in its box; in no box, over a row of devices next to it.
  const bool isBoxed = node.facts.box.isValid();
  double reach = 0;
  bool isNext = true;
  for (const LinkId linkId : links) {
    const Link& link = *model.find(linkId);
    const Node* other = model.find(link.tail.node == id ? link.head.node : link.tail.node);
    if (other == nullptr || other->kind() == fabric::NodeKind::switchNode) {
      isNext = isNext && other == nullptr;
      continue;
    }
    // What is beside it is reached from its end.
    const bool isBeside = std::abs(other->drawing.position.y - at.y) < kSwitchHeight;
    if (other->facts.box == node.facts.box && !isBeside) {
      reach = std::max(reach, std::abs(other->drawing.position.x - at.x));
    }
    isNext = isNext && !other->facts.box.isValid() && std::abs(other->drawing.position.y - at.y) <= kNextRow;
  }
  if (reach > 0 && (isBoxed || isNext)) {
    width = std::max(width, 2 * std::min(reach, kMaxReach) + kGpuSize.width());
  }
  double room = width;
  for (const NodeId sibling : model.nodesIn(node.facts.box)) {
    const Node& other = *model.find(sibling);
    if (sibling == id || std::abs(other.drawing.position.y - at.y) >= kSwitchHeight) {
      continue;
    }
    const double distance = std::abs(other.drawing.position.x - at.x);
    const bool isBar = other.kind() == fabric::NodeKind::switchNode;
    room = std::min(room, isBar ? distance - kBarGap : 2 * (distance - kBarGap) - kGpuSize.width());
  }
  return std::max(room, kMinBar);
}

/// Size by content, for boxes nested at most as deep as the file format allows.
QRectF contentsOf(const Model& model, BoxId id) {
  QRectF rect;
  for (const NodeId node : model.nodesIn(id)) {
    rect |= nodeRect(model, node);
  }
  for (const BoxId box : model.boxesIn(id)) {
    rect |= elementRect(model, box);
  }
  return rect;
}

}  // namespace

double portsWidth(const Model& model, NodeId id) {
  const Node* node = model.find(id);
  if (node != nullptr && node->drawing.width > 0) {
    return node->drawing.width;
  }
  const auto ports = static_cast<double>(model.linksOf(id).size());
  const double width = std::clamp(kWidthPerPort * ports, kSwitchMinWidth, kSwitchMaxWidth);
  // Between many boxes links that meet at a short bar are one dark mass, whatever their loads.
  constexpr double kWidthPerFurtherPort = 8;
  constexpr double kMaxBetweenBoxes = 4800;
  const double further = std::max(0.0, ports - kSwitchMaxWidth / kWidthPerPort);
  return node != nullptr && !node->facts.box.isValid()
             ? std::min(width + kWidthPerFurtherPort * further, kMaxBetweenBoxes)
             : width;
}

QSizeF nodeSize(const Model& model, NodeId id) {
  const Node* node = model.find(id);
  if (node == nullptr) {
    return {};
  }
  const auto kind = node->kind();
  if (kind == fabric::NodeKind::nic) {
    return kNicSize;
  }
  if (kind == fabric::NodeKind::switchNode) {
    return {node->drawing.width > 0 ? node->drawing.width : barWidth(model, id, *node), kSwitchHeight};
  }
  return kGpuSize;
}

QRectF nodeRect(const Model& model, NodeId id) {
  const Node* node = model.find(id);
  if (node == nullptr) {
    return {};
  }
  QRectF rect(QPointF(), nodeSize(model, id));
  rect.moveCenter(node->drawing.position.toPointF());
  return rect;
}

QRectF noteRect(const Model& model, NoteId id) {
  const Note* note = model.find(id);
  if (note == nullptr) {
    return {};
  }
  double width = note->width;
  double lines = 0;
  for (const QString& line : QString::fromStdString(note->text).split(QLatin1Char('\n'))) {
    const double length = kNoteCharacter * static_cast<double>(line.size());
    width = note->width > 0 ? width : std::max(width, length);
    lines += note->width > 0 ? std::max(1.0, std::ceil(length / note->width)) : 1;
  }
  return {note->position.x, note->position.y, std::max(width, kNoteLine), lines * kNoteLine};
}

QRectF boxOutline(const Model& model, BoxId id) {
  const Box* box = model.find(id);
  if (box == nullptr) {
    return {};
  }
  QRectF rect = contentsOf(model, id);
  if (!rect.isNull()) {
    rect.adjust(-kBoxMargin, -kBoxRoom, kBoxMargin, kBoxRoom);
  } else if (!box->frame) {
    rect = QRectF(QPointF(), kEmptyBox);
  }
  return box->frame ? rect.united(box->frame->toRectF()) : rect;
}

QRectF foldedRect(const Model& model, BoxId id) {
  // What is around a folded box does not move, so the shape takes the room that the box has: a drawing of folded
  // boxes is as compact as one of open ones, and its names can be read.
  const QRectF outline = boxOutline(model, id);
  constexpr double kShare = 0.8;
  constexpr double kMax = 6;
  const double grow = std::clamp(
      std::min(outline.width() / kFoldedSize.width(), outline.height() / kFoldedSize.height()) * kShare, 1.0, kMax);
  QRectF rect(QPointF(), kFoldedSize * grow);
  rect.moveCenter(outline.center());
  return rect;
}

QRectF elementRect(const Model& model, const ElementId& id) {
  switch (id.kind) {
    case ElementKind::node:
      return nodeRect(model, id.node());
    case ElementKind::note:
      return noteRect(model, id.note());
    case ElementKind::box: {
      const Box* box = model.find(id.box());
      return box != nullptr && box->isFolded ? foldedRect(model, id.box()) : boxOutline(model, id.box());
    }
    case ElementKind::link:
      break;
  }
  return {};
}

QRectF contentsRect(const Model& model) {
  QRectF rect = contentsOf(model, {});
  for (const auto& [id, note] : model.notes()) {
    rect |= noteRect(model, id);
  }
  return rect;
}

}  // namespace coppice::designer
