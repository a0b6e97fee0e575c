// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "training/step.hpp"

/// The operations of a block in the order in which a device runs them, for one micro-batch.
namespace coppice::training {

/// A collective on a tensor, once.
struct Move {
  int axis = 0;  ///< a role
  Conversion conversion = Conversion::allgather;
  Rational time;   ///< ns
  Rational bytes;  ///< that a group holds together
};

struct OrderedInput {
  int producer = 0;
  std::vector<Move> moves;  ///< before the operation
};

struct OrderedOperation {
  int node = 0;
  Rational compute;  ///< ns
  std::vector<OrderedInput> inputs = {};
  std::vector<Move> gathers = {};         ///< of weights that it uses
  std::vector<Move> firstGathers = {};    ///< before those, for the first micro-batch
  std::vector<Move> reductions = {};      ///< of the gradient that it makes
  std::vector<Move> lastReductions = {};  ///< after those, for the last micro-batch
};

struct BlockOrder {
  std::vector<std::string> names;  ///< of the nodes
  std::vector<OrderedOperation> forward;
  std::vector<OrderedOperation> backward;  ///< what is computed again comes first
  int in = 0;                              ///< node of what enters the block
  int out = 0;                             ///< and of what leaves it
  int gradientIn = 0;                      ///< the same of the gradients, backward
  int gradientOut = 0;
  Rational sent;  ///< ns in a step: what the block adds to that which a stage hands on
};

/// @param problem  blockOf() of the plan
[[nodiscard]] BlockOrder orderOf(const Problem& problem, const StepPlan& plan);

}  // namespace coppice::training
