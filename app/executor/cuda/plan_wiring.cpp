// SPDX-License-Identifier: Apache-2.0
#include "cuda/plan_wiring.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace coppice::executor::cuda {
namespace {

using mscclpp::ChannelType;
using mscclpp::ExecutionPlan;
using mscclpp::Operation;
using PlanOpType = mscclpp::OpType;

constexpr std::int64_t kTableAlignment = 64;

template <typename T>
std::int64_t tableBytes(const std::vector<T>& table) {
  const auto bytes = static_cast<std::int64_t>(table.size() * sizeof(T));
  return (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

PlanAct actOf(PlanOpType type) {
  switch (type) {
    case PlanOpType::nop:    // lanes meet after every operation
    case PlanOpType::flush:  // ports are never behind
      return PlanAct::nothing;
    case PlanOpType::barrier:
      return PlanAct::barrier;
    case PlanOpType::semAcquire:
      return PlanAct::acquire;
    case PlanOpType::semRelease:
      return PlanAct::release;
    case PlanOpType::signal:
    case PlanOpType::relaxedSignal:
      return PlanAct::signal;
    case PlanOpType::wait:
    case PlanOpType::relaxedWait:
      return PlanAct::wait;
    case PlanOpType::pipeline:
      return PlanAct::pipeline;
    default:
      return PlanAct::move;
  }
}

/// Writes the tables of one device.
class Wirer {
public:
  Wirer(const ExecutionPlan& plan, std::int64_t chunkBytes, const PlanControl& control, const PlanAddresses& addresses)
      : m_plan(plan), m_chunkBytes(chunkBytes), m_control(control), m_addresses(addresses) {}

  void addBlock(int rank, int index) {
    PlanGrid::Block& block =
        m_grid.blocks.emplace_back(PlanGrid::Block{.rank = rank, .index = index, .firstOp = m_grid.ops.size()});
    const auto& ops = m_plan.gpus[rank].blocks[index].ops;
    for (std::size_t op = 0; op < ops.size(); ++op) {
      mscclpp::OpPlace place{.rank = rank, .block = index, .op = static_cast<int>(op)};
      add(place, ops[op], ops[op]);
      for (std::size_t inner = 0; inner < ops[op].inner.size(); ++inner) {
        place.inner = static_cast<int>(inner);
        add(place, ops[op], ops[op].inner[inner]);
      }
    }
    block.opCount = m_grid.ops.size() - block.firstOp;
  }
  [[nodiscard]] PlanGrid take() { return std::move(m_grid); }

private:
  void add(const mscclpp::OpPlace& place, const Operation& outer, const Operation& op) {
    DeviceOp& made = m_grid.ops.emplace_back();
    m_grid.places.push_back(place);
    made.act = actOf(op.type);
    made.isRelaxed = op.type == PlanOpType::relaxedSignal;
    made.firstWord = static_cast<std::uint32_t>(m_grid.words.size());
    switch (made.act) {
      case PlanAct::barrier:
        made.blocks = static_cast<std::uint32_t>(op.barrierBlocks);
        addWord(place.rank, m_control.barrierAt(place.rank, op.barrier));
        break;
      case PlanAct::acquire:
      case PlanAct::release:
        for (const int semaphore : op.semaphores) {
          addWord(place.rank, m_control.semaphoreAt(place.rank, semaphore));
        }
        break;
      case PlanAct::wait:
        for (std::size_t i = 0; i < op.channels.size(); ++i) {
          addWord(place.rank, m_control.endAt(endOf(place, op, i)));
        }
        break;
      case PlanAct::signal:
        addSignals(place, op, op.channels.size());
        break;
      case PlanAct::pipeline:
        made.inner = static_cast<std::uint32_t>(op.inner.size());
        made.pieces = static_cast<std::uint32_t>(piecesOf(op, m_chunkBytes));
        made.unitBytes = op.unitBytes;
        break;
      case PlanAct::move:
        addTransfers(place, outer, op, made);
        if (op.type == PlanOpType::putWithSignal || op.type == PlanOpType::putWithSignalAndFlush) {
          addSignals(place, op, op.channelType == ChannelType::port ? op.destinations.size() : 0);
        }
        break;
      case PlanAct::nothing:
        break;
    }
    made.words = static_cast<std::uint16_t>(m_grid.words.size() - made.firstWord);
  }

  [[nodiscard]] int endOf(const mscclpp::OpPlace& place, const Operation& op, std::size_t index) const {
    return m_control.channels().endOf(place.rank, place.block, op, index);
  }
  void addWord(int rank, std::int64_t word) {
    m_grid.words.push_back(m_addresses.control[rank] + static_cast<std::uintptr_t>(word) * sizeof(Word));
  }
  /// Nobody can wait at ends that are not paired.
  void addSignals(const mscclpp::OpPlace& place, const Operation& op, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const int other = m_control.channels().all()[endOf(place, op, i)].other;
      if (other >= 0) {
        addWord(m_control.channels().all()[other].rank, m_control.endAt(other));
      }
    }
  }

  void addTransfers(const mscclpp::OpPlace& place, const Operation& outer, const Operation& op, DeviceOp& made) {
    made.firstTransfer = static_cast<std::uint32_t>(m_grid.transfers.size());
    for (const RunTransfer& transfer : transfersOf(m_plan, m_chunkBytes, place.rank, place.block, outer, op)) {
      DeviceTransfer& to = m_grid.transfers.emplace_back();
      to.firstRun = static_cast<std::uint32_t>(m_grid.runs.size());
      to.bytes = transfer.sources.front().bytes;
      to.copiesFlags = transfer.sources.front().isPacked && !transfer.waits;
      addRuns(transfer.sources, to, to.plainSources, to.packedSources);
      addRuns(transfer.destinations, to, to.plainDestinations, to.packedDestinations);
      ++made.transfers;
    }
  }

  void addRuns(const std::vector<RunPlace>& runs, DeviceTransfer& transfer, std::uint16_t& plain,
               std::uint16_t& packed) {
    for (const bool wantsPacked : {false, true}) {
      for (const RunPlace& run : runs) {
        if (run.isPacked != wantsPacked) {
          continue;
        }
        ++(run.isPacked ? packed : plain);
        transfer.bytes = std::min(transfer.bytes, run.bytes);
        transfer.isSliced = transfer.isSliced || run.unitBytes > 0;
        const std::uintptr_t base = m_addresses.buffers[run.start.rank][static_cast<std::size_t>(run.start.buffer)];
        m_grid.runs.push_back(
            {.at = reinterpret_cast<unsigned char*>(base + static_cast<std::uintptr_t>(run.start.offset)),
             .half = run.half,
             .wrap = run.wrap,
             .isSliced = run.unitBytes > 0});
      }
    }
  }

  const ExecutionPlan& m_plan;
  std::int64_t m_chunkBytes;
  const PlanControl& m_control;
  const PlanAddresses& m_addresses;
  PlanGrid m_grid;
};

Outcome requireReach(int from, int to, const std::vector<int>& deviceOfRank, const Reach& reach) {
  if (to < 0 || reach[deviceOfRank[from]][deviceOfRank[to]]) {
    return Done{};
  }
  return Error{.code = ErrorCode::unavailable,
               .message = "rank " + std::to_string(from) + " reads or writes memory of rank " + std::to_string(to) +
                          ", but GPU " + std::to_string(deviceOfRank[from]) + " of the run has no peer access to GPU " +
                          std::to_string(deviceOfRank[to]),
               .fix = "use --backend threads; plans of MSCCL++ have no other way between GPUs of one process"};
}

}  // namespace

PlanControl::PlanControl(const ExecutionPlan& plan) : m_plan(plan), m_channels(plan) {
  int ends = 0;
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    m_firstEnd.push_back(ends);
    ends += static_cast<int>(gpu.memoryPeers.size() + gpu.portPeers.size());
  }
}

std::int64_t PlanControl::wordsOf(int rank) const {
  return barrierAt(rank, mscclpp::kMaxBarriers);
}

std::int64_t PlanControl::endAt(int end) const {
  return std::int64_t{kPlanLine} * (end - m_firstEnd[m_channels.all()[end].rank]);
}

std::int64_t PlanControl::semaphoreAt(int rank, int semaphore) const {
  const mscclpp::Gpu& gpu = m_plan.gpus[rank];
  return kPlanLine * (static_cast<std::int64_t>(gpu.memoryPeers.size() + gpu.portPeers.size()) + semaphore);
}

std::int64_t PlanControl::barrierAt(int rank, int barrier) const {
  return semaphoreAt(rank, static_cast<int>(m_plan.gpus[rank].semaphores.size()) + barrier);
}

std::array<std::int64_t, 5> PlanGrid::starts() const {
  std::array<std::int64_t, 5> starts = {};
  starts[1] = starts[0] + tableBytes(ops);
  starts[2] = starts[1] + tableBytes(transfers);
  starts[3] = starts[2] + tableBytes(runs);
  starts[4] = starts[3] + tableBytes(words);
  return starts;
}

std::int64_t PlanGrid::bytes() const {
  return starts()[4] + static_cast<std::int64_t>(blocks.size() * sizeof(PlanView));
}

std::vector<unsigned char> PlanGrid::packed(unsigned char* at, Word* progress) const {
  std::vector<unsigned char> image(static_cast<std::size_t>(bytes()));
  const auto [opsAt, transfersAt, runsAt, wordsAt, viewsAt] = starts();
  const auto copy = [&image](std::int64_t start, const auto& table) {
    if (!table.empty()) {
      std::memcpy(image.data() + start, table.data(), table.size() * sizeof(table[0]));
    }
  };
  copy(opsAt, ops);
  copy(transfersAt, transfers);
  copy(runsAt, runs);
  copy(wordsAt, words);
  std::vector<PlanView> all;
  for (const Block& block : blocks) {
    all.push_back({.ops = reinterpret_cast<const DeviceOp*>(at + opsAt) + block.firstOp,
                   .transfers = reinterpret_cast<const DeviceTransfer*>(at + transfersAt),
                   .runs = reinterpret_cast<const DeviceRun*>(at + runsAt),
                   .words = reinterpret_cast<Word* const*>(at + wordsAt),
                   .progress = progress++,
                   .opCount = static_cast<std::uint32_t>(block.opCount)});
  }
  copy(viewsAt, all);
  return image;
}

const PlanView* PlanGrid::views(const unsigned char* at) const {
  return reinterpret_cast<const PlanView*>(at + starts()[4]);
}

PlanGrid wirePlan(const ExecutionPlan& plan, std::int64_t chunkBytes, const PlanControl& control,
                  const PlanAddresses& addresses, const std::vector<int>& ranks) {
  Wirer wirer(plan, chunkBytes, control, addresses);
  for (const int rank : ranks) {
    for (int index = 0; index < static_cast<int>(plan.gpus[rank].blocks.size()); ++index) {
      wirer.addBlock(rank, index);
    }
  }
  return wirer.take();
}

Outcome requirePlanOnGpus(const ExecutionPlan& plan, const std::vector<int>& deviceOfRank, const Reach& reach) {
  for (int rank = 0; rank < static_cast<int>(plan.gpus.size()); ++rank) {
    const mscclpp::Gpu& gpu = plan.gpus[rank];
    std::set<int> others(gpu.memoryPeers.begin(), gpu.memoryPeers.end());
    others.insert(gpu.portPeers.begin(), gpu.portPeers.end());
    for (const mscclpp::RemoteBuffer& remote : gpu.remoteBuffers) {
      others.insert(remote.rank);
    }
    for (const mscclpp::SwitchGroup& group : gpu.switchGroups) {
      others.insert(group.ranks.begin(), group.ranks.end());
      // A sum by a switch reads and writes the whole group.
      if (2 * group.ranks.size() > kMaxRuns) {
        return Error{.code = ErrorCode::unavailable,
                     .message = "a switch of rank " + std::to_string(rank) + " joins " +
                                std::to_string(group.ranks.size()) + " GPUs; on GPUs without it plans run with " +
                                std::to_string(kMaxRuns / 2) + " at most",
                     .fix = "use --backend threads"};
      }
    }
    for (const int other : others) {
      if (Outcome reached = requireReach(rank, other, deviceOfRank, reach); !reached) {
        return reached;
      }
    }
  }
  return Done{};
}

std::string waitText(const ExecutionPlan& plan, const mscclpp::OpPlace& place) {
  const mscclpp::Gpu& gpu = plan.gpus[place.rank];
  const mscclpp::ThreadBlock& block = gpu.blocks[place.block];
  const Operation& outer = block.ops[place.op];
  const Operation& op = place.inner < 0 ? outer : outer.inner[place.inner];
  std::string text = placeText(place) + " (" + std::string(mscclpp::toString(op.type)) + ") waits";
  switch (actOf(op.type)) {
    case PlanAct::wait: {
      const bool isPort = op.channelType == ChannelType::port;
      std::set<int> peers;
      for (const int channel : op.channels) {
        peers.insert(
            (isPort ? gpu.portPeers : gpu.memoryPeers)[(isPort ? block.portChannels : block.memoryChannels)[channel]]);
      }
      text += peers.size() == 1 ? " for a signal from rank" : " for signals from ranks";
      for (const int peer : peers) {
        text += (peer == *peers.begin() ? " " : ", ") + std::to_string(peer);
      }
      return text;
    }
    case PlanAct::barrier:
      return text + " for the other threadblocks at barrier " + std::to_string(op.barrier);
    case PlanAct::acquire:
      return text + " for a semaphore";
    default:
      return text + " for packets";
  }
}

}  // namespace coppice::executor::cuda
