// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <QSizeF>

#include "designer/document/model.hpp"

/// How large things are, in scene units: what alignment, layout, frames of boxes and the canvas agree on.
namespace coppice::designer {

/// Width and height of a node as drawn. A switch is a bar: as wide as its `width`, or by how many links it has.
[[nodiscard]] QSizeF nodeSize(const Model& model, NodeId id);
/// Width of a switch that nothing else decides: its own where it was stretched, else by how many links it has.
[[nodiscard]] double portsWidth(const Model& model, NodeId id);
/// The node's rectangle, centred at its position.
[[nodiscard]] QRectF nodeRect(const Model& model, NodeId id);
/// An estimate, without fonts: lines of `width` or of their own length.
[[nodiscard]] QRectF noteRect(const Model& model, NoteId id);
/// Outline of an unfolded box: its contents with a margin and room for the title, united with its frame. A folded box
/// inside counts as what it is drawn as.
[[nodiscard]] QRectF boxOutline(const Model& model, BoxId id);
/// Where a folded box is drawn: centred in its outline, at most as large as that.
[[nodiscard]] QRectF foldedRect(const Model& model, BoxId id);
/// What is drawn of the element (links: null): nodeRect, noteRect, boxOutline or foldedRect.
[[nodiscard]] QRectF elementRect(const Model& model, const ElementId& id);
/// Union over everything drawn.
[[nodiscard]] QRectF contentsRect(const Model& model);

/// Distance of the grid that things snap to.
inline constexpr double kGridStep = 20;

}  // namespace coppice::designer
