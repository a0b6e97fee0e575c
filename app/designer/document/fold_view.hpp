// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <map>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "designer/document/model.hpp"
#include "designer/document/stacks.hpp"

/// The fabric as it is to be drawn: folded boxes stand for what they hold, and links that run between the same two
/// visible things are one line.
namespace coppice::designer {

/// The outermost folded box around the node, or the node itself.
[[nodiscard]] ElementId visibleEnd(const Model& model, NodeId id);
/// Not inside a folded box. (A folded box itself is visible unless it is in another folded one.)
[[nodiscard]] bool isVisible(const Model& model, const ElementId& id);

/// All links between two visible things: one line of the canvas.
struct LinkBundle {
  ElementId a;  ///< node or folded box; a < b
  ElementId b;
  std::vector<LinkId> links;  ///< ascending
  std::int64_t lines = 0;     ///< parallel links in all, counts included
  /// The bandwidth that all of them share, GB/s per direction; absent where they differ or one cannot be read.
  std::optional<Bandwidth> each;
  /// Sums, GB/s; absent where one cannot be read or the sum leaves the exact range.
  std::optional<Bandwidth> forward;   ///< a to b
  std::optional<Bandwidth> backward;  ///< b to a
  bool hasForward = false;
  bool hasBackward = false;

  /// "25 GB/s", "×4 · 25 GB/s", "3 links · 75 GB/s", per direction.
  [[nodiscard]] QString label() const;
};

/// Every line to be drawn, ascending by (a, b). Links inside a folded box or a stack and links with a missing end have
/// none.
[[nodiscard]] std::vector<LinkBundle> linkBundles(const Model& model, const Stacks& stacks = {});

}  // namespace coppice::designer
