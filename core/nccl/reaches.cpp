// SPDX-License-Identifier: Apache-2.0
#include "nccl/reaches.hpp"

#include <algorithm>
#include <utility>

#include "base/failure.hpp"
#include "fabric/gpu_boxes.hpp"
#include "nccl/in_network_load.hpp"

namespace coppice::nccl {
namespace {

/// Share of the bandwidth that a protocol leaves to the data.
double shareOf(std::string_view protocol) {
  return protocol == "LL" ? 0.5 : protocol == "LL128" ? 0.92 : 1;
}

}  // namespace

Result<std::vector<Reach>> reachesOf(Ways& ways, const ChannelSet& channels, Collective collective) {
  return coppice::guarded([&]() -> Result<std::vector<Reach>> {
    std::vector<Reach> reaches;
    const auto addIfPossible = [&](std::string_view algorithm, Result<Load> load) {
      if (load) {
        reaches.push_back({algorithm, *std::move(load)});
      }
    };
    const bool isAllreduce = collective == Collective::allreduce;
    const bool isOfRings =
        std::find(kForestCollectives.begin(), kForestCollectives.end(), collective) != kForestCollectives.end();
    if (!channels.rings.empty() && isOfRings) {
      reaches.push_back({"Ring", orThrow(ringLoad(ways, channels.rings, collective))});
    }
    if (!channels.trees.empty() && isAllreduce) {
      reaches.push_back({"Tree", orThrow(treeLoad(ways, channels.trees))});
    }
    const bool isAlone = fabric::gpuBoxes(ways.fabric()).boxes.size() == 1;
    if (!channels.nvlsHeads.empty() && (isAlone || !channels.collnetHeads.empty())) {
      addIfPossible("NVLS", nvlsLoad(ways, channels.nvlsHeads, collective));
    }
    if (!channels.nvlsHeads.empty() && isAllreduce && !isAlone) {
      addIfPossible("NVLSTree", nvlsTreeLoad(ways, channels.nvlsHeads));
    }
    if (!channels.collnetHeads.empty()) {
      addIfPossible("CollNetDirect", collnetDirectLoad(ways, channels.collnetHeads, collective));
    }
    if (!channels.collnetChains.empty() && isAllreduce) {
      addIfPossible("CollNetChain", collnetChainLoad(ways, channels.collnetChains));
    }
    return reaches;
  });
}

const Reach* findReach(const std::vector<Reach>& reaches, std::string_view algorithm) {
  const auto found =
      std::find_if(reaches.begin(), reaches.end(), [&](const Reach& each) { return each.algorithm == algorithm; });
  return found == reaches.end() ? nullptr : &*found;
}

const Reach* findNvls(const std::vector<Reach>& reaches) {
  const Reach* nvls = findReach(reaches, "NVLS");
  return nvls != nullptr ? nvls : findReach(reaches, "NVLSTree");
}

Estimate limitedBy(const std::vector<Reach>& reaches, Estimate estimate) {
  if (const Reach* reach = findReach(reaches, estimate.algorithm)) {
    estimate.algbw = std::min(estimate.algbw, Throughput(toGBps(reach->load.algbw) * shareOf(estimate.protocol)));
  }
  return estimate;
}

}  // namespace coppice::nccl
