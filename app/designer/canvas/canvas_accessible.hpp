// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/ids.hpp"

namespace coppice::designer {

class CanvasView;

/// From now on screen readers and test programs find each node and folded box of a drawing below its canvas: name,
/// kind, place, and whether it is selected; pressing it selects it. More calls do nothing.
void makeCanvasesAccessible();

/// The keyboard is at this element now. Does nothing while nobody listens.
void tellFocus(CanvasView& view, const ElementId& id);

}  // namespace coppice::designer
