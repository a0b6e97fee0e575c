// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/model.hpp"
#include "fabric/edited_fabric.hpp"

namespace coppice::designer {

/// What a patch changes of the facts; keys are the values of the ids. Empty for what only moves or folds. Its cost goes
/// with the patch, and with the contents of boxes that get another name or parent.
/// @param model after the patch
[[nodiscard]] fabric::FabricDelta deltaOf(const Model& model, const Patch& patch);

}  // namespace coppice::designer
