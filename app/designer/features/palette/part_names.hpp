// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/model.hpp"

namespace coppice::designer {

/// The part with its numbered outermost boxes, and the nodes named after them, numbered on from those of `here`: b0
/// with b0g0 … becomes b4 with b4g0 … where b0 to b3 are taken. A part whose boxes are free stays as it is.
[[nodiscard]] Model numberedOn(const Model& part, const Model& here);

}  // namespace coppice::designer
