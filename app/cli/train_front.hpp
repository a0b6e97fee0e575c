// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "text.hpp"
#include "training/model.hpp"
#include "training/search.hpp"

/// Fronts of plans of a graph, as `coppice-cli train` shows them.
namespace coppice::cli {

/// At least so wide, with spaces behind it.
[[nodiscard]] std::string cell(std::string text, std::size_t width);

/// "70.55 billion parameters"; of a mixture of experts also those that a token passes.
[[nodiscard]] std::string parametersText(const training::Model& model);

/// A table of the plans, and the states of all tensors of the fastest.
[[nodiscard]] std::string frontText(const training::Problem& problem, const training::Front& front);

/// "front" and "exact". @param hasStates  the states of all tensors of each plan as well
void addFront(const training::Problem& problem, const training::Front& front, bool hasStates, Json& json);

}  // namespace coppice::cli
