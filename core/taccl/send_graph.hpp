// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "taccl/problem.hpp"

namespace coppice::taccl {

/// A chunk over a link, as the sketch allows it.
struct Send {
  int item = 0;  ///< that it comes to
  int from = 0;  ///< item
  int link = 0;
  int block = -1;  ///< of Problem::blocks, of sends between nodes
};

/// All sends of a problem whose symmetries are not divided out.
struct SendGraph {
  std::vector<Send> sends;
  std::vector<std::vector<int>> in;       ///< by item
  std::vector<std::vector<int>> out;      ///< by item
  std::vector<std::vector<int>> entries;  ///< by block
  std::vector<int> chunkAt;               ///< by chunk of allChunks: its place in Problem::chunks; -1 = no target
  std::unordered_map<std::int64_t, int> itemAt;
  int gpus = 0;

  /// The item of a chunk of Problem::chunks at a GPU; -1 where it never is.
  [[nodiscard]] int find(int chunk, int gpu) const {
    const auto known = itemAt.find(static_cast<std::int64_t>(chunk) * gpus + gpu);
    return known == itemAt.end() ? -1 : known->second;
  }
};

[[nodiscard]] SendGraph sendGraphOf(const Problem& problem);

/// By item: the send that brings the chunk there, -1 at origins and where nothing is sent.
using Trees = std::vector<int>;

/// Items with a send, each after the one that sends to it.
[[nodiscard]] std::vector<int> downwards(const Problem& problem, const SendGraph& graph, const Trees& trees);

}  // namespace coppice::taccl
