// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/disjoint_sets.hpp"
#include "sketch/propose.hpp"

namespace coppice::sketch {
namespace {

using Ends = std::tuple<int, int, int>;

/// By link its image; empty where one has none of the same kind and costs.
std::vector<int> imagesOf(const Model& model, const Permutation& permutation) {
  std::map<Ends, int> byEnds;
  for (std::size_t i = 0; i < model.links.size(); ++i) {
    byEnds.emplace(Ends(model.links[i].from, model.links[i].to, model.links[i].lane), static_cast<int>(i));
  }
  std::vector<int> images;
  for (const Link& link : model.links) {
    const auto image = byEnds.find(Ends(permutation[link.from], permutation[link.to], link.lane));
    if (image == byEnds.end()) {
      return {};
    }
    const Link& other = model.links[image->second];
    if (link.alpha != other.alpha || link.beta != other.beta || link.isRemote != other.isRemote) {
      return {};
    }
    images.push_back(image->second);
  }
  return images;
}

bool keepsRelays(const Model& model, const Permutation& permutation) {
  for (const Link& link : model.links) {
    for (int gpu = 0; link.isRemote && gpu < model.gpusPerNode; ++gpu) {
      // Data of the sender's node, or backwards of the receiver's, may go where its image may.
      for (const int end : {link.from, link.to}) {
        const int owner = model.nodeOf(end) * model.gpusPerNode + gpu;
        if (model.mayRelay(owner, link.from) != model.mayRelay(permutation[owner], permutation[link.from]) ||
            model.mayRelay(owner, link.to) != model.mayRelay(permutation[owner], permutation[link.to])) {
          return false;
        }
      }
    }
  }
  return true;
}

bool keepsMachines(const Model& model, const std::vector<int>& images) {
  std::set<std::vector<int>> machines;
  for (const Machine& machine : model.machines) {
    machines.insert(machine.links);
  }
  return std::all_of(model.machines.begin(), model.machines.end(), [&](const Machine& machine) {
    std::vector<int> links;
    for (const int link : machine.links) {
      links.push_back(images[link]);
    }
    std::sort(links.begin(), links.end());
    return machines.contains(links);
  });
}

}  // namespace

bool isSymmetry(const Model& model, const Permutation& permutation) {
  for (int gpu = 0; gpu < model.gpus(); ++gpu) {
    const int first = model.nodeOf(gpu) * model.gpusPerNode;
    if (model.nodeOf(permutation[gpu]) != model.nodeOf(permutation[first])) {
      return false;
    }
  }
  const std::vector<int> images = imagesOf(model, permutation);
  return images.size() == model.links.size() && keepsRelays(model, permutation) && keepsMachines(model, images);
}

std::vector<std::pair<int, int>> symmetricOffsets(const Model& model) {
  std::vector<std::pair<int, int>> offsets;
  const auto tryOffset = [&](int offset, int size) {
    if (!isSymmetry(model, rotation(model.gpus(), offset, size))) {
      return false;
    }
    offsets.emplace_back(offset, size);
    return true;
  };
  const int m = model.gpusPerNode;
  // Within nodes: groups as large as can be, turned as finely as can be.
  bool isFound = false;
  for (int size = m; size > 1 && !isFound; --size) {
    for (int offset = 1; m % size == 0 && offset < size && !isFound; ++offset) {
      isFound = size % offset == 0 && tryOffset(offset, size);
    }
  }
  if (model.nodes > 1) {
    tryOffset(m, model.gpus());
  }
  return offsets;
}

std::optional<std::string> differenceUnder(const Model& model, const Permutation& permutation) {
  if (isSymmetry(model, permutation)) {
    return std::nullopt;
  }
  for (int gpu = 0; gpu < model.gpus(); ++gpu) {
    const int first = model.nodeOf(gpu) * model.gpusPerNode;
    if (model.nodeOf(permutation[gpu]) != model.nodeOf(permutation[first])) {
      return "GPUs " + std::to_string(first) + " and " + std::to_string(gpu) + " of one node become GPUs of two";
    }
  }
  std::map<Ends, const Link*> byEnds;
  for (const Link& link : model.links) {
    byEnds.emplace(Ends(link.from, link.to, link.lane), &link);
  }
  for (const Link& link : model.links) {
    const int from = permutation[link.from];
    const int to = permutation[link.to];
    const auto image = byEnds.find(Ends(from, to, link.lane));
    const std::string text = "link " + std::to_string(link.from) + " -> " + std::to_string(link.to) + " becomes " +
                             std::to_string(from) + " -> " + std::to_string(to);
    if (image == byEnds.end()) {
      return text + ", which does not exist";
    }
    if (image->second->alpha != link.alpha || image->second->beta != link.beta) {
      return text + ", which has other costs";
    }
  }
  return keepsRelays(model, permutation) ? "links share machines whose images share none"
                                         : "data would leave its node by another sender";
}

Permutation rotation(int gpus, int offset, int size) {
  Permutation permutation(static_cast<std::size_t>(gpus));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    permutation[gpu] = (gpu % size + offset) % size + gpu / size * size;
  }
  return permutation;
}

std::vector<std::vector<int>> orbitsOf(int gpus, const std::vector<std::pair<int, int>>& offsets) {
  DisjointSets sets(static_cast<std::size_t>(gpus));
  for (const auto& [offset, size] : offsets) {
    const Permutation image = rotation(gpus, offset, size);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      sets.join(gpu, image[gpu]);
    }
  }
  std::map<int, std::vector<int>> orbits;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    orbits[sets.find(gpu)].push_back(gpu);
  }
  std::vector<std::vector<int>> result;
  for (auto& [gpu, members] : orbits) {
    result.push_back(std::move(members));
  }
  return result;
}

}  // namespace coppice::sketch
