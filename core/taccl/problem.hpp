// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "sketch/model.hpp"

/// The synthesis problem with its symmetries divided out: one chunk of each orbit, machines up to symmetry, times in
/// whole ticks.
namespace coppice::taccl {

using sketch::Chunk;
using sketch::Link;
using sketch::Machine;
using sketch::Model;
using sketch::Permutation;

using Ticks = std::int64_t;

/// A chunk at a GPU: the vertices of the tree that the chunk goes along.
struct Item {
  int chunk = 0;  ///< index into Problem::chunks
  int gpu = 0;
  bool isTarget = false;
  int block = -1;  ///< into Problem::blocks where the GPU is in another node than the chunk's origin
  int firstOption = 0;
  int optionCount = 0;  ///< of Problem::options: links that may bring the chunk here
};

struct Option {
  int link = 0;
  int from = 0;  ///< item
};

/// The items of one chunk in one other node. Exactly one of them is entered from the origin's node.
struct Block {
  int chunk = 0;
  std::vector<int> items;
  std::vector<Option> entries;  ///< remote links into it
  std::vector<int> entered;     ///< by entry: the item
};

struct Problem {
  const Model* model = nullptr;
  std::vector<Chunk> allChunks;
  bool sendsOneAtATime = false;  ///< a GPU sends one chunk to one GPU at a time (reduce_scatter, backwards)

  std::vector<Permutation> group;    ///< all elements, the identity first
  std::vector<std::string> ignored;  ///< offsets that are not symmetries, for a warning
  std::vector<int> chunks;           ///< one of each orbit, into allChunks
  std::vector<int> linkOrbit;
  int linkOrbitCount = 0;
  std::vector<int> machineOrbit;
  int machineCount = 0;                        ///< orbits of machines
  std::vector<std::vector<int>> linkMachines;  ///< by link: orbits, each once

  std::vector<Item> items;      ///< by chunk; a chunk's first is its origin
  std::vector<int> firstItem;   ///< by chunk, and one past the last
  std::vector<Option> options;  ///< links within nodes, by item
  std::vector<Block> blocks;
  std::vector<int> targetItems;

  std::int64_t ticksPerUnit = 1;
  std::vector<Ticks> alpha;                       ///< by link
  std::vector<Ticks> beta;                        ///< by link
  std::vector<std::vector<Ticks>> localDistance;  ///< GPU to GPU within nodes, least sum of costs; -1 = none

  std::vector<std::vector<int>> hops;  ///< GPU to GPU, over links of all kinds

  /// By chunk of allChunks: relays leave no way along these, so shortest ones among those allowed count instead.
  std::vector<char> takesDetour;

  /// The GPU is on a shortest way in hops from the chunk's origin to one of its targets.
  [[nodiscard]] bool mayVisit(const Chunk& chunk, int gpu) const;
  [[nodiscard]] Ticks cost(int link) const { return alpha[link] + beta[link]; }
};

/// The image of chunk `chunk` of allChunks under a permutation of the GPUs.
[[nodiscard]] int imageOf(const Problem& problem, Collective collective, int chunk, const Permutation& permutation);

struct ProblemOptions {
  bool usesSymmetry = true;
  bool sendsOneAtATime = false;
  std::int64_t maxPairs = 10'000'000;  ///< (chunk, link) after symmetry
};

/// The model must outlive the problem. Errors: badUsage, infeasible naming chunk and GPU, limit, overflow.
Result<Problem> makeProblem(const Model& model, Collective collective, int root, const ProblemOptions& options = {});

}  // namespace coppice::taccl
