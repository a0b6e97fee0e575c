// SPDX-License-Identifier: Apache-2.0
#include "cuda/wiring.hpp"

#include <algorithm>

#include "cuda/shape.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr auto kStride = static_cast<std::int64_t>(kFlagStride);

}  // namespace

Crew crewOfOne(int ranks, const Reach& reach) {
  return {.processOfDevice = std::vector<int>(reach.size(), 0),
          .hostOfProcess = {0},
          .deviceOfRank = spreadRanks(ranks, static_cast<int>(reach.size())),
          .reach = reach};
}

bool Placement::isUsed(int place) const {
  const auto lies = [place](const ConnectionEnd& end) { return end.dataPlace == place || end.headPlace == place; };
  return std::any_of(sendEnd.begin(), sendEnd.end(), lies) || std::any_of(recvEnd.begin(), recvEnd.end(), lies);
}

Placement placeConnections(const Plan& plan, const Crew& crew) {
  Placement placement;
  placement.devices = crew.devices();
  placement.processes = crew.processes();
  placement.hosts =
      crew.hostOfProcess.empty() ? 0 : *std::max_element(crew.hostOfProcess.begin(), crew.hostOfProcess.end()) + 1;
  placement.deviceOfRank = crew.deviceOfRank;
  for (const PlanConnection& connection : plan.connections) {
    const int sender = crew.deviceOfRank[connection.sendRank];
    const int receiver = crew.deviceOfRank[connection.recvRank];
    const int from = crew.processOfDevice[sender];
    const int to = crew.processOfDevice[receiver];
    const auto hostOf = [&](int process) { return crew.hostOfProcess[process]; };
    const auto reaches = [&](int a, int b) { return crew.reach[a][b]; };
    const bool isDirect = reaches(sender, receiver) && reaches(receiver, sender);
    const bool isNetworked = !isDirect && hostOf(from) != hostOf(to);
    ConnectionEnd end = {.dataPlace = receiver, .headPlace = sender};
    if (!isDirect && !isNetworked) {
      const int place = from == to ? placement.privatePlace(from) : placement.sharedPlace(hostOf(from));
      end = {.dataPlace = place, .headPlace = place};
    }
    const auto own = [&](int process) {
      return ConnectionEnd{.dataPlace = placement.privatePlace(process), .headPlace = placement.privatePlace(process)};
    };
    placement.sendEnd.push_back(isNetworked ? own(from) : end);
    placement.recvEnd.push_back(isNetworked ? own(to) : end);
    placement.isNetworked.push_back(isNetworked);
    placement.canPull.push_back(isDirect);
  }
  return placement;
}

void placeRings(const PackedPlan& packed, Placement& placement) {
  placement.ringsAt.assign(static_cast<std::size_t>(placement.places()), 0);
  const auto next = [&](const ConnectionEnd& end) { return placement.ringsAt[end.dataPlace]++; };
  for (std::size_t connection = 0; connection < packed.usesSlots.size(); ++connection) {
    ConnectionEnd& from = placement.sendEnd[connection];
    ConnectionEnd& to = placement.recvEnd[connection];
    const bool needs = packed.usesSlots[connection];
    from.ring = needs ? next(from) : -1;
    to.ring = needs && placement.isNetworked[connection] ? next(to) : from.ring;
  }
}

ControlLayout layOutControl(const Plan& plan, int depth) {
  const auto connections = static_cast<std::int64_t>(plan.connections.size());
  const auto blocks = static_cast<std::int64_t>(plan.blocks.size());
  ControlLayout layout;
  layout.stampStride = (depth + kStride - 1) / kStride * kStride;
  layout.heads = connections * layout.stampStride;
  layout.flags = layout.heads + connections * kStride;
  layout.counters = layout.flags + blocks * kStride;
  layout.strandWords = (layout.counters + blocks * std::int64_t{kCounters} + kStride - 1) / kStride * kStride;
  return layout;
}

Grid wire(const Plan& plan, const PackedPlan& packed, const Placement& placement, const RunView& run,
          const Addresses& addresses, int device) {
  const ControlLayout layout = layOutControl(plan, static_cast<int>(run.depth));
  Grid grid;
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    if (placement.deviceOfRank[plan.blocks[block].rank] == device) {
      grid.blocks.push_back(static_cast<int>(block));
    }
  }
  for (std::int64_t strand = 0; strand < run.strands; ++strand) {
    const auto words = [&](int place) { return addresses.control[place] + strand * layout.strandWords; };
    const auto base = [&](int rank) { return addresses.base[rank]; };
    for (const int number : grid.blocks) {
      const PlanBlock& block = plan.blocks[number];
      const PackedBlock& own = packed.blocks[number];
      const std::size_t view = grid.views.size();
      Word* control = words(device);
      BlockView out;
      out.ops = addresses.ops + own.firstOp;
      out.opCount = own.opCount;
      out.strand = static_cast<std::uint32_t>(strand);
      std::copy_n(base(block.rank).begin(), 3, out.base);
      out.flags = control + layout.flags + kStride * plan.ranks[block.rank].firstBlock;
      out.ownFlag = control + layout.flags + kStride * number;
      out.counters = control + layout.counters + std::int64_t{kCounters} * number;
      out.progress = addresses.progress + view;
      if (block.recvConnection >= 0) {
        const auto connection = static_cast<std::size_t>(block.recvConnection);
        const ConnectionEnd& end = placement.recvEnd[connection];
        if (placement.canPull[connection]) {
          std::copy_n(base(plan.connections[connection].sendRank).begin(), 3, out.peerBase);
        }
        out.recvStamps = words(end.dataPlace) + layout.stampsOf(block.recvConnection);
        out.recvHead = words(end.headPlace) + layout.headOf(block.recvConnection);
        out.recvSlots = addresses.ring(placement, end, run, strand);
      }
      if (block.sendConnection >= 0) {
        const ConnectionEnd& end = placement.sendEnd[block.sendConnection];
        out.sendStamps = words(end.dataPlace) + layout.stampsOf(block.sendConnection);
        out.sendHead = words(end.headPlace) + layout.headOf(block.sendConnection);
        out.sendSlots = addresses.ring(placement, end, run, strand);
      }
      if (addresses.trace != nullptr) {
        out.trace = addresses.trace + view * addresses.traceRoom;
        out.traceRoom = addresses.traceRoom;
      }
      grid.views.push_back(out);
    }
  }
  return grid;
}

}  // namespace coppice::executor::cuda
