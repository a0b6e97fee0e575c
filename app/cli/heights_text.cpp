// SPDX-License-Identifier: Apache-2.0
#include "heights_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/formatted.hpp"
#include "schedule/peers.hpp"
#include "schedule/tree_reader.hpp"
#include "text.hpp"

namespace coppice::cli {

void describeTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Progress& progress,
                   Json& json, std::string& text) {
  std::int64_t trees = 0;
  std::int64_t batches = 0;
  bool hasRotations = false;
  schedule::Heights max;
  std::array<std::string, 3> means;
  std::array<double, 3> sums{};
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    const schedule::Heights heights = schedule::heights(**forest, fabric, progress);
    trees += (*forest)->treeCount();
    batches += schedule::sizeOf(**forest).trees;
    hasRotations = hasRotations || !(*forest)->rotations.empty();
    max.logicalMax = std::max(max.logicalMax, heights.logicalMax);
    max.physicalMax = std::max(max.physicalMax, heights.physicalMax);
    max.latencyMax = std::max(max.latencyMax, heights.latencyMax);
    const std::array<double, 3> values{heights.logicalMean, heights.physicalMean, heights.latencyMean.count()};
    for (std::size_t i = 0; i < values.size(); ++i) {
      means[i] += (means[i].empty() ? "" : " and ") + withPlaces(values[i], 1);
      sums[i] += values[i] * static_cast<double>((*forest)->treeCount());
    }
  }
  const auto arcs = fabric.arcs();
  const auto unstated = std::count_if(arcs.begin(), arcs.end(), [](const fabric::Arc& arc) { return !arc.latency; });
  const char* const source = unstated == 0                                        ? "as the fabric states"
                             : unstated == static_cast<std::int64_t>(arcs.size()) ? "by default latencies"
                                                                                  : "partly by default latencies";
  json["trees"] = trees;
  json["tree_batches"] = batches;
  json["form"] = hasRotations ? "rotations" : "trees";
  json["max_height"] = max.logicalMax;
  json["max_physical_height"] = max.physicalMax;
  json["max_latency_us"] = max.latencyMax.count();
  json["mean_height"] = sums[0] / static_cast<double>(trees);
  json["mean_physical_height"] = sums[1] / static_cast<double>(trees);
  json["mean_latency_us"] = sums[2] / static_cast<double>(trees);
  json["default_latencies"] = unstated;
  const int peers = schedule::maxPeers(schedule, fabric, progress);
  json["max_peers"] = peers;
  text += "  forest      " + counted(trees, "tree") + ", " + std::to_string(batches) + " distinct" +
          (hasRotations ? ", stored as those of rank 0 and their rotations" : "") + "; height at most " + counted(max.logicalMax, "GPU hop") +
          " (mean " + means[0] + "), " + counted(max.physicalMax, "link") + " (mean " + means[1] + ")\n";
  text += "  peers       each GPU sends to or receives from at most " + counted(peers, "other GPU") + "\n";
  text += "  latency     at most " + withPlaces(max.latencyMax.count(), 1) +
          " us along the links from root to leaf (mean " + means[2] + "), " + source + "\n";
}

}  // namespace coppice::cli
