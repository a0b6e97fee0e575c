// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "training/model.hpp"

namespace coppice::io {

/// The config.json of a transformer with a decoder as Hugging Face writes it, whatever its family; of models of
/// pictures or sound the part for text. A window of attention counts as the mean of all layers. What transformers
/// assumes where the file leaves something out is known for usual families; others are taken to have gated feed-forward
/// parts and an output matrix of their own. Errors: badInput (a size is missing or does not fit the others; layers of
/// several kinds, since blocks have to be equal).
[[nodiscard]] Result<training::Model> readModelConfig(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
