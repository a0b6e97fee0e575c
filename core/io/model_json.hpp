// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "training/model.hpp"

namespace coppice::io {

/// The config.json of a transformer as Hugging Face writes it: Llama, Mistral, Mixtral, Qwen2 and
/// Qwen3 with their mixtures of experts, GPT-2 and GPT-NeoX.
/// Errors: badInput (a size is missing or does not fit the others), unavailable (experts, which the graph of a block
/// does not have).
[[nodiscard]] Result<training::Model> readModelConfig(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
