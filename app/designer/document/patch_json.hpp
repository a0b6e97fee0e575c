// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "designer/document/model.hpp"

/// Patches as text, for the journal. Only the `after` values are written; reading takes the `before` values from the
/// model that the patch is to be applied to.
namespace coppice::designer {

[[nodiscard]] std::string patchToJson(const Patch& patch);
/// The patch that makes the model from an empty one, with the same ids.
[[nodiscard]] std::string modelToJson(const Model& model);
/// Errors: badInput, where the text is not a patch. Whether it fits is for Model::apply to say.
Result<Patch> patchFromJson(std::string_view text, const Model& model);

}  // namespace coppice::designer
