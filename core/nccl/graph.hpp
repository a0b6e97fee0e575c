// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

/// Graph files of NCCL: NCCL_GRAPH_DUMP_FILE writes them, NCCL_GRAPH_FILE reads them (src/graph/search.cc).
namespace coppice::nccl {

/// Ids of graphs.
inline constexpr int kRingGraph = 0;
inline constexpr int kTreeGraph = 1;
inline constexpr int kNvlsGraph = 3;

/// Patterns of graphs.
inline constexpr int kBalancedTree = 1;
inline constexpr int kSplitTree = 2;
inline constexpr int kTree = 3;
inline constexpr int kRing = 4;
inline constexpr int kNvls = 5;

/// One channel in one node. With several nodes data enter through the first NIC and leave through the last.
struct GraphChannel {
  std::vector<std::uint64_t> nets = {};        ///< numbers of NICs: before and behind the GPUs; empty = none
  std::vector<int> devices = {};               ///< NVML indices, in order
  std::vector<std::optional<int>> ranks = {};  ///< by device, as 2.30 writes them; empty = none

  friend bool operator==(const GraphChannel&, const GraphChannel&) = default;
};

struct Graph {
  int id = kRingGraph;
  int pattern = kRing;
  int crossNic = 0;
  int channelCount = 0;          ///< as written
  std::string speedIntra = "0";  ///< GB/s per channel, as written
  std::string speedInter = "0";
  std::optional<std::string> latencyInter = {};
  std::string typeIntra = "LOC";
  std::string typeInter = "LOC";
  int sameChannels = 1;
  std::vector<GraphChannel> channels = {};

  friend bool operator==(const Graph&, const Graph&) = default;
};

/// The graphs of one node.
struct GraphSet {
  std::vector<Graph> graphs = {};

  [[nodiscard]] const Graph* find(int id) const;
  friend bool operator==(const GraphSet&, const GraphSet&) = default;
};

[[nodiscard]] bool isGraphFile(std::string_view text);

/// Numbers of NICs without 0x are decimal, as versions up to 2.20 wrote them. Errors: badInput with line and column
/// (not XML, a missing attribute, a number out of range), limit (32 channels, 4,096 GPUs in a graph).
[[nodiscard]] Result<GraphSet> readGraphs(std::string_view text, const std::string& fileName);

/// As NCCL's own dump has it, with 0x before numbers of NICs: every version reads it.
[[nodiscard]] std::string writeGraphs(const GraphSet& set);

/// What NCCL would do with a file on a node that has these devices: it refuses (error), or works with something else
/// than is written (warning).
[[nodiscard]] std::vector<Finding> checkGraphs(const GraphSet& set, const std::vector<int>& devices, bool isAlone,
                                               const std::string& fileName = {});

}  // namespace coppice::nccl
