// SPDX-License-Identifier: Apache-2.0
#include "nccl/box_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "fabric/gpu_boxes.hpp"

namespace coppice::nccl {
namespace {

std::vector<int> arcsOf(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& nodes) {
  std::vector<int> arcs;
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    arcs.push_back(*fabric.findArc(nodes[i - 1], nodes[i]));
  }
  return arcs;
}

/// The link of a NIC to the network, or from it; none where it has several.
std::vector<int> outside(const fabric::Fabric& fabric, fabric::NodeIndex nic, bool isOut) {
  std::vector<int> found;
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    const fabric::Arc& each = fabric.arcs()[arc];
    const fabric::NodeIndex own = isOut ? each.tail : each.head;
    const fabric::NodeIndex other = isOut ? each.head : each.tail;
    if (own == nic && fabric.nodes()[other].box != fabric.nodes()[nic].box) {
      found.push_back(static_cast<int>(arc));
    }
  }
  return found.size() == 1 ? found : std::vector<int>();
}

[[noreturn]] void refuseBox(std::string message, std::string fix) {
  throw Failure{{ErrorCode::infeasible, std::move(message), std::move(fix)}};
}

}  // namespace

Result<std::vector<BoxModel>> boxModels(Ways& ways) {
  return guarded([&]() -> Result<std::vector<BoxModel>> {
    const fabric::Fabric& fabric = ways.fabric();
    std::vector<BoxModel> boxes;
    for (fabric::GpuBox& box : fabric::gpuBoxes(fabric).boxes) {
      if (box.ranks.size() > kMostGpusOfNode) {
        return Error{ErrorCode::limit,
                     (box.name.empty() ? "GPUs outside boxes are one node: it" : "box " + inQuotes(box.name)) +
                         " has " + std::to_string(box.ranks.size()) + " GPUs, and NCCL takes at most " +
                         std::to_string(kMostGpusOfNode) + " in one node",
                     "group the GPUs into boxes, one for each operating system"};
      }
      const auto nics = static_cast<int>(ways.nicsOf(box.ranks.front()).size());
      boxes.push_back({.gpus = std::move(box.ranks), .nics = nics});
    }
    for (BoxModel& box : boxes) {
      if (box.gpus.size() != boxes.front().gpus.size() || box.nics != boxes.front().nics) {
        refuseBox("boxes have " + counted(static_cast<std::int64_t>(boxes.front().gpus.size()), "GPU") + " and " +
                      std::to_string(box.gpus.size()) + ", or different numbers of NICs",
                  "NCCL's graph files serve equal nodes; keep some GPUs with --gpus");
      }
      const std::size_t count = box.gpus.size();
      box.way.assign(count, std::vector<std::vector<int>>(count));
      for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = 0; b < count; ++b) {
          if (a != b) {
            box.way[a][b] = arcsOf(fabric, orThrow(ways.nodesOf({box.gpus[a], box.gpus[b], -1, -1})));
          }
        }
      }
      if (boxes.size() == 1) {
        box.nics = 0;
        continue;
      }
      const auto& nics = ways.nicsOf(box.gpus.front());
      box.toNic.assign(count, std::vector<std::vector<int>>(nics.size()));
      box.fromNic.assign(nics.size(), std::vector<std::vector<int>>(count));
      std::vector<std::vector<int>> toNetwork;
      std::vector<std::vector<int>> fromNetwork;
      for (const fabric::NodeIndex nic : nics) {
        toNetwork.push_back(outside(fabric, nic, true));
        fromNetwork.push_back(outside(fabric, nic, false));
      }
      for (std::size_t gpu = 0; gpu < count; ++gpu) {
        for (std::size_t nic = 0; nic < nics.size(); ++nic) {
          const fabric::NodeIndex node = fabric.gpus()[box.gpus[gpu]];
          auto& out = box.toNic[gpu][nic] = arcsOf(fabric, orThrow(ways.leg(node, nics[nic])));
          auto& in = box.fromNic[nic][gpu] = arcsOf(fabric, orThrow(ways.leg(nics[nic], node)));
          out.insert(out.end(), toNetwork[nic].begin(), toNetwork[nic].end());
          in.insert(in.end(), fromNetwork[nic].begin(), fromNetwork[nic].end());
        }
      }
    }
    return boxes;
  });
}

std::vector<int> wiringKinds(const fabric::Fabric& fabric, const std::vector<BoxModel>& boxes) {
  // Links are numbered as the ways meet them, so that ways that share a link do so in both boxes.
  const auto wiringOf = [&](const BoxModel& box) {
    std::map<int, int> numbers;
    std::vector<std::pair<int, Bandwidth>> wiring;
    const auto add = [&](const std::vector<std::vector<std::vector<int>>>& ways) {
      for (const auto& row : ways) {
        for (const std::vector<int>& way : row) {
          wiring.emplace_back(-1, Bandwidth());
          for (const int arc : way) {
            const auto number = static_cast<int>(numbers.size());
            wiring.emplace_back(numbers.try_emplace(arc, number).first->second, fabric.arcs()[arc].bandwidth);
          }
        }
      }
    };
    add(box.way);
    add(box.toNic);
    add(box.fromNic);
    return wiring;
  };
  std::vector<std::vector<std::pair<int, Bandwidth>>> seen;
  std::vector<int> kindOf;
  for (const BoxModel& box : boxes) {
    auto wiring = wiringOf(box);
    const auto same = std::find(seen.begin(), seen.end(), wiring);
    kindOf.push_back(static_cast<int>(same - seen.begin()));
    if (same == seen.end()) {
      seen.push_back(std::move(wiring));
    }
  }
  return kindOf;
}

Result<ChannelSet> joinedOn(const std::vector<BoxModel>& boxes, const GraphSet& graphs, const JoinOptions& options) {
  return joinedOn(boxes, std::vector{graphs}, std::vector<int>(boxes.size(), 0), options);
}

Result<ChannelSet> joinedOn(const std::vector<BoxModel>& boxes, const std::vector<GraphSet>& graphs,
                            const std::vector<int>& kindOf, const JoinOptions& options) {
  std::vector<GraphNode> nodes;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const BoxModel& box = boxes[i];
    GraphNode node{.graphs = graphs[kindOf[i]]};
    for (std::size_t device = 0; device < box.gpus.size(); ++device) {
      node.rankOf[static_cast<int>(device)] = box.gpus[device];
    }
    nodes.push_back(std::move(node));
  }
  return joinNodes(std::move(nodes), options);
}

}  // namespace coppice::nccl
