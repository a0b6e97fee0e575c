// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/make_model.hpp"

namespace coppice::sketch {

struct ProposalOptions {
  std::int64_t chunkBytes = 1 << 20;  ///< of all chunks of a GPU together where their number is left open
  /// 0 = the fewest of 1, 2, 4 and 8 with which links into a GPU that each take whole chunks are not much slower than
  /// with the most of these.
  int chunksPerGpu = 1;
};

/// A sketch and a topology for a fabric, with the way that each link of their model takes.
struct Proposal {
  Sketch sketch;
  Topology topology;  ///< custom, in microseconds
  Model model;
  std::vector<std::vector<fabric::NodeIndex>> routes;  ///< by link of the model
};

/// What a person would draw first. Nodes are the fabric's boxes where these are equal and follow each other by rank,
/// otherwise all is one node. Links within a node are those between GPUs with no GPU between: direct ones where these
/// join all, else routes through switches, of which each GPU's share is a port. Unequal boxes are joined in a ring,
/// each GPU to its counterpart in the next. Of several shortest routes, the widest counts. Between nodes, GPUs that
/// share a NIC have one sender and one receiver, two different ones if there are; a GPU with a NIC of its own sends to
/// its counterparts. Symmetry offsets are those rotations, within nodes and of whole nodes, that keep everything.
/// Costs: chunkBytes over the minimum bandwidth of the way, plus its latencies between nodes. Errors: infeasible (GPUs
/// that no way joins), overflow, those of makeModel.
Result<Proposal> propose(const fabric::Fabric& fabric, const ProposalOptions& options = {});

/// The sketch of a person on a fabric: topology, model and routes as propose() makes them, with the links, relays,
/// switches, offsets and chunks of the sketch. Errors: badInput naming the key, with a fix (what makeModel refuses, and
/// a number of nodes that is not the fabric's); infeasible; overflow.
Result<Proposal> fit(const fabric::Fabric& fabric, const Sketch& sketch, const ProposalOptions& options = {});

/// Rotations (offset, group size) that keep links, costs, machines and relays, the finest first.
[[nodiscard]] std::vector<std::pair<int, int>> symmetricOffsets(const Model& model);

/// Links, costs, machines, relays and nodes stay as they are.
[[nodiscard]] bool isSymmetry(const Model& model, const Permutation& permutation);

/// The first thing that the permutation maps to something else, as "link 0 -> 1 becomes 1 -> 2, which does not exist";
/// nullopt for a symmetry.
[[nodiscard]] std::optional<std::string> differenceUnder(const Model& model, const Permutation& permutation);

/// GPU r becomes (r + offset) modulo size within its group of that size.
[[nodiscard]] Permutation rotation(int gpus, int offset, int size);
/// The sets of GPUs that the rotations map to each other, each ascending, by their first GPU.
[[nodiscard]] std::vector<std::vector<int>> orbitsOf(int gpus, const std::vector<std::pair<int, int>>& offsets);

}  // namespace coppice::sketch
