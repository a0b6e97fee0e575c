// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

#include "base/result.hpp"
#include "designer/document/model.hpp"

namespace coppice::designer {

/// One thing in which a drawing and a machine differ.
struct FabricDifference {
  Severity severity = Severity::warning;
  QString place;  ///< "gpu0 – gpu1"
  QString drawn;
  QString found;
  QString text;
  ElementId element = {};  ///< in the drawing; invalid = nothing there
};

/// How a drawing differs from what was found in one machine.
///
/// Nodes go together by name, then by the last part of the name, then by kind and order. A drawing of several machines
/// is compared box by box if `box` names one: what is in it and the links between. Bandwidths are those of all links
/// from one node to another, in one direction; nodes that only one side has are named once, without their links.
[[nodiscard]] std::vector<FabricDifference> compareFabrics(const Model& drawing, BoxId box, const Model& machine);

}  // namespace coppice::designer
