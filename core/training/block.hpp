// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "training/model.hpp"

namespace coppice::training {

/// What an axis of the mesh is for. It limits what the axis may divide, so that a block is searched in milliseconds:
/// all but `tensor` divide every activation.
enum class Role {
  data,     ///< sequences; parameters along their hidden size (ZeRO, FSDP)
  context,  ///< tokens of a sequence; parameters as data
  expert,   ///< as data, and experts instead of sequences in the feed-forward part
  tensor,   ///< heads and the inner size of the feed-forward part; tokens where nothing is multiplied by heads
};
inline constexpr int kRoles = 4;
/// "data", "context", "expert", "tensor".
[[nodiscard]] std::string_view toString(Role role);

/// How the work of a step comes to one block.
struct Division {
  /// By axis. Empty: each axis may divide anything, and a step is one micro-batch.
  std::vector<Role> roles = {};
  std::int64_t microBatches = 1;  ///< of a step, one after the other
  std::int64_t inFlight = 1;      ///< micro-batches whose activations are held at the same time
  Rational sent = 0;              ///< Node::sent of what enters the block: a pipeline hands it on
};

/// One block with its backward pass and updates, for a whole step. What enters a block has the state of what leaves it,
/// and so for the gradient. Attention is one operation of which half is masked; its backward pass takes 2.5 times as
/// long. Experts get their tokens in equal numbers, by an alltoall where an axis divides sequences before and experts
/// after. With roles, each parameter has three tensors: the state of the optimizer (all but 4 of the bytes), what the
/// operations use (2 bytes, made once a step), and the sum of its gradients (2 bytes, to which each micro-batch adds):
/// their states are the stages of ZeRO.
/// Errors: badInput (the sizes do not divide as the micro-batches and experts need).
[[nodiscard]] Result<Problem> blockOf(const Model& model, const Job& job, std::vector<Axis> mesh,
                                      const Rational& gflops, const Division& division = {});

}  // namespace coppice::training
