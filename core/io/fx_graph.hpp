// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "training/problem.hpp"

/// Graphs of torch.fx as training problems (dissertation, section 5.3): what only changes how a tensor lies in memory
/// (view, permute, transpose, expand, alias) vanishes, and dimensions that must be equal become one.
namespace coppice::io {

struct FxOptions {
  Rational stateBytes = 16;   ///< per parameter: weights, gradients and optimizer states
  bool mayRecompute = false;  ///< activations may be dropped and computed again
};

struct FxProblem {
  training::Problem problem;            ///< without a mesh
  std::vector<std::string> parameters;  ///< have gradients, and each an update
  std::vector<std::string> inputs;
  std::vector<std::string> notes;  ///< what is not counted
  std::string text;                ///< the graph as figure 5.2b writes it
};

/// The graph of a step, forward and backward in one or one after the other, as readCalls() reads it. What is read from
/// outside and has a gradient is a parameter, unless its first dimension is that of an input or of a gradient that
/// comes from outside. A result has the state of its gradient, and an input that of its own. What the forward part
/// makes and the backward part uses is held. Errors: badInput with the line.
[[nodiscard]] Result<FxProblem> readFxGraph(std::string_view text, const std::string& fileName,
                                            const FxOptions& options = {});

}  // namespace coppice::io
