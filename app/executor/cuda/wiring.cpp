// SPDX-License-Identifier: Apache-2.0
#include "cuda/wiring.hpp"

#include <algorithm>

namespace coppice::executor::cuda {
namespace {

constexpr auto kStride = static_cast<std::int64_t>(kFlagStride);

}  // namespace

Placement placeConnections(const Plan& plan, const std::vector<int>& deviceOfRank, const Reach& reach) {
  Placement placement;
  placement.devices = static_cast<int>(reach.size());
  placement.deviceOfRank = deviceOfRank;
  for (const PlanConnection& connection : plan.connections) {
    const int sender = deviceOfRank[static_cast<std::size_t>(connection.sendRank)];
    const int receiver = deviceOfRank[static_cast<std::size_t>(connection.recvRank)];
    const auto reaches = [&](int from, int to) {
      return reach[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
    };
    const bool isDirect = reaches(sender, receiver) && reaches(receiver, sender);
    placement.dataPlace.push_back(isDirect ? receiver : placement.host());
    placement.headPlace.push_back(isDirect ? sender : placement.host());
    placement.canPull.push_back(isDirect);
  }
  return placement;
}

void placeRings(const PackedPlan& packed, Placement& placement) {
  placement.ring.assign(packed.usesSlots.size(), -1);
  placement.ringsAt.assign(static_cast<std::size_t>(placement.devices) + 1, 0);
  for (std::size_t connection = 0; connection < packed.usesSlots.size(); ++connection) {
    if (packed.usesSlots[connection]) {
      placement.ring[connection] = placement.ringsAt[static_cast<std::size_t>(placement.dataPlace[connection])]++;
    }
  }
}

ControlLayout layOutControl(const Plan& plan, int depth) {
  const auto connections = static_cast<std::int64_t>(plan.connections.size());
  const auto blocks = static_cast<std::int64_t>(plan.blocks.size());
  ControlLayout layout;
  layout.stampStride = (depth + kStride - 1) / kStride * kStride;
  layout.heads = layout.stampStride * connections;
  layout.flags = layout.heads + kStride * connections;
  layout.counters = layout.flags + kStride * blocks;
  layout.strandWords = layout.counters + std::int64_t{kCounters} * blocks;
  return layout;
}

std::vector<Grid> wire(const Plan& plan, const PackedPlan& packed, const Placement& placement, const RunView& run,
                       const Addresses& addresses) {
  const ControlLayout layout = layOutControl(plan, static_cast<int>(run.depth));
  std::vector<Grid> grids(static_cast<std::size_t>(placement.devices));
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    const auto rank = static_cast<std::size_t>(plan.blocks[block].rank);
    grids[static_cast<std::size_t>(placement.deviceOfRank[rank])].blocks.push_back(static_cast<int>(block));
  }
  for (std::size_t device = 0; device < grids.size(); ++device) {
    Grid& grid = grids[device];
    for (std::int64_t strand = 0; strand < run.strands; ++strand) {
      const auto words = [&](int place) {
        return addresses.control[static_cast<std::size_t>(place)] + strand * layout.strandWords;
      };
      const auto ringOf = [&](int connection) -> unsigned char* {
        const auto index = static_cast<std::size_t>(connection);
        if (placement.ring[index] < 0) {
          return nullptr;
        }
        const auto place = static_cast<std::size_t>(placement.dataPlace[index]);
        const std::int64_t ring = strand * placement.ringsAt[place] + placement.ring[index];
        return addresses.rings[place] + ring * run.depth * run.slotStride;
      };
      for (const int number : grid.blocks) {
        const PlanBlock& block = plan.blocks[static_cast<std::size_t>(number)];
        const PackedBlock& own = packed.blocks[static_cast<std::size_t>(number)];
        const std::size_t view = grid.views.size();
        const auto base = [&](int rank) { return addresses.base[static_cast<std::size_t>(rank)]; };
        Word* control = words(static_cast<int>(device));
        BlockView out;
        out.ops = addresses.ops[device] + own.firstOp;
        out.opCount = own.opCount;
        out.strand = static_cast<std::uint32_t>(strand);
        std::copy_n(base(block.rank).begin(), 3, out.base);
        out.flags = control + layout.flags + kStride * plan.ranks[static_cast<std::size_t>(block.rank)].firstBlock;
        out.ownFlag = control + layout.flags + kStride * number;
        out.counters = control + layout.counters + std::int64_t{kCounters} * number;
        out.progress = addresses.progress[device] + view;
        if (block.recvConnection >= 0) {
          const auto connection = static_cast<std::size_t>(block.recvConnection);
          if (placement.canPull[connection]) {
            std::copy_n(base(plan.connections[connection].sendRank).begin(), 3, out.peerBase);
          }
          out.recvStamps = words(placement.dataPlace[connection]) + layout.stampStride * block.recvConnection;
          out.recvHead = words(placement.headPlace[connection]) + layout.heads + kStride * block.recvConnection;
          out.recvSlots = ringOf(block.recvConnection);
        }
        if (block.sendConnection >= 0) {
          const auto connection = static_cast<std::size_t>(block.sendConnection);
          out.sendStamps = words(placement.dataPlace[connection]) + layout.stampStride * block.sendConnection;
          out.sendHead = words(placement.headPlace[connection]) + layout.heads + kStride * block.sendConnection;
          out.sendSlots = ringOf(block.sendConnection);
        }
        if (addresses.trace[device] != nullptr) {
          out.trace = addresses.trace[device] + view * addresses.traceRoom;
          out.traceRoom = addresses.traceRoom;
        }
        grid.views.push_back(out);
      }
    }
  }
  return grids;
}

}  // namespace coppice::executor::cuda
