// SPDX-License-Identifier: Apache-2.0
#include "verify/plan_model.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace coppice::verify {

using sketch::Chunk;
using sketch::Link;
using sketch::Model;

bool mayLeaveBy(const Model& model, int owner, int sender) {
  if (model.relays.empty()) {
    return true;
  }
  const std::vector<int>& senders = model.relays[owner % model.gpusPerNode];
  return std::find(senders.begin(), senders.end(), sender % model.gpusPerNode) != senders.end();
}

Model turnedRound(const Model& model) {
  std::map<std::tuple<int, int, int>, int> turned;  // by new ends: the link as it was
  for (std::size_t i = 0; i < model.links.size(); ++i) {
    turned[{model.links[i].to, model.links[i].from, model.links[i].lane}] = static_cast<int>(i);
  }
  Model result = model;
  result.links.clear();
  std::vector<int> now(model.links.size());
  for (const auto& [ends, before] : turned) {
    now[before] = static_cast<int>(result.links.size());
    Link link = model.links[before];
    std::swap(link.from, link.to);
    result.links.push_back(link);
  }
  for (sketch::Machine& machine : result.machines) {
    std::transform(machine.links.begin(), machine.links.end(), machine.links.begin(),
                   [&](int link) { return now[link]; });
    std::sort(machine.links.begin(), machine.links.end());
  }
  return result;
}

std::optional<std::vector<Chunk>> chunksMoved(const Model& model, Collective collective, int root) {
  const int gpus = model.nodes * model.gpusPerNode;
  const bool toAll = collective == Collective::allgather || collective == Collective::reduceScatter ||
                     collective == Collective::broadcast || collective == Collective::reduce;
  const bool toOne =
      collective == Collective::alltoall || collective == Collective::gather || collective == Collective::scatter;
  if ((!toAll && !toOne) || (isRooted(collective) && (root < 0 || root >= gpus))) {
    return std::nullopt;
  }
  // Data goes from its origin to all, or a part for each target to one.
  const bool fromRoot =
      collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::scatter;
  std::vector<Chunk> chunks;
  for (int origin = fromRoot ? root : 0; origin < (fromRoot ? root + 1 : gpus); ++origin) {
    const bool toRoot = collective == Collective::gather;
    for (int target = toRoot ? root : 0; target < (toAll ? 1 : toRoot ? root + 1 : gpus); ++target) {
      Chunk chunk{.origin = origin, .targets = {}};
      for (int gpu = 0; gpu < gpus; ++gpu) {
        if (gpu != origin && (toAll || gpu == target)) {
          chunk.targets.push_back(gpu);
        }
      }
      chunks.insert(chunks.end(), static_cast<std::size_t>(model.chunksPerGpu), chunk);
    }
  }
  return chunks;
}

}  // namespace coppice::verify
