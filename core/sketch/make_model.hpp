// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "sketch/model.hpp"
#include "sketch/sketch.hpp"

namespace coppice::sketch {

struct ModelOptions {
  std::optional<MachineType> type;  ///< absent: guessed from the file, with a note
  std::optional<int> nodes;         ///< instead of the sketch's
  bool sharesNics = false;          ///< as RemoteSketch::sharesNics, also where the sketch does not say so
  bool truncates = true;            ///< costs are cut to whole units where the official program cuts them
  int maxTogether = 6;              ///< chunks of one message between nodes
};

struct ModelResult {
  Model model;
  MachineType type = MachineType::custom;
  std::vector<Finding> findings;  ///< notes and warnings
};

/// Errors: badInput naming the key, with a fix: everything of a sketch or topology that cannot be meant.
Result<ModelResult> makeModel(const Sketch& sketch, const Topology& topology, const ModelOptions& options = {});

/// All links turned round: a reduce_scatter is an allgather on it, played backwards. Relays keep naming the senders of
/// the links as they were.
[[nodiscard]] Model transposed(const Model& model);

/// The chunks of a collective that only moves data; reduce_scatter counts as the allgather that it is played backwards.
/// allgather, gather: chunk k of GPU r is r * chunksPerGpu + k; alltoall: (r * gpus + target) * chunksPerGpu + k;
/// broadcast: k; scatter: target * chunksPerGpu + k. Errors: badUsage.
Result<std::vector<Chunk>> chunksOf(const Model& model, Collective collective, int root);

}  // namespace coppice::sketch
