// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "training/problem.hpp"

namespace coppice::training {

/// A way to compute a node: the states that it takes its inputs in, and that of its output.
struct Strategy {
  std::vector<State> inputs;  ///< by input
  State output;
  std::int64_t parts = 1;  ///< devices that share the work
  bool isDropped = false;  ///< computed a second time instead of held
};

/// All ways that sizes and `fixed` allow, without repetition. On each axis an operation divides one of its indices: its
/// inputs and output are divided by it where they have it; an output that lacks it is partial. Or it divides none. Or
/// it passes partial sums, where it is linear: an einsum from one input, the others replicated.
[[nodiscard]] std::vector<Strategy> strategiesOf(const Problem& problem, int node);

/// A collective of all groups of an axis, on a tensor.
struct ConversionStep {
  int axis = 0;
  Conversion conversion = Conversion::allgather;
  Rational time;  ///< ns
};

/// What brings the tensor of a node from one state to another in the least time, in order; as conversionTime.
[[nodiscard]] std::optional<std::vector<ConversionStep>> conversionSteps(const Problem& problem, int node,
                                                                         const State& from, const State& to);

/// The time (ns) to bring the tensor of a node from one state to another: one axis after the other, in the cheapest
/// order. Free from replicated; a partial sum cannot be made of a divided tensor. nullopt: there is no way.
[[nodiscard]] std::optional<Rational> conversionTime(const Problem& problem, int node, const State& from,
                                                     const State& to);

/// The time for each byte of the whole tensor; the same for all tensors with these dimensions.
[[nodiscard]] std::optional<Rational> conversionTimeOfByte(const Problem& problem, const State& from, const State& to);

/// Devices that a state divides a tensor over.
[[nodiscard]] std::int64_t partsOf(const Problem& problem, const State& state);
/// Whether the sizes of the dimensions divide.
[[nodiscard]] bool isValid(const Problem& problem, const State& state);
[[nodiscard]] Rational elementsOf(const Problem& problem, const std::vector<Dim>& dims);

/// Of a node alone, without conversions. Update: nothing.
[[nodiscard]] Cost ownCost(const Problem& problem, int node, const Strategy& strategy);

}  // namespace coppice::training
