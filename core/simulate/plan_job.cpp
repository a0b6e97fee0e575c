// SPDX-License-Identifier: Apache-2.0
#include "simulate/plan_job.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/bus_factor.hpp"
#include "simulate/routes.hpp"

namespace coppice::simulate {
namespace {

using mscclpp::ChannelType;
using mscclpp::ChunkRun;
using mscclpp::ExecutionPlan;
using mscclpp::Operation;
using mscclpp::OpType;

constexpr std::int64_t kMaxPieces = 64;

class PlanBuilder {
public:
  PlanBuilder(const fabric::Fabric& fabric, const ExecutionPlan& plan, double bytes, const Model& model,
              const Progress& progress)
      : m_fabric(fabric), m_plan(plan), m_progress(progress), m_routes(fabric), m_job(fabric, model) {
    const mscclpp::Gpu& first = plan.gpus.front();
    m_chunks = std::max({first.inputChunks, first.outputChunks, 1});
    m_chunkBytes = bytes / m_chunks;
    m_job.setWindowed(false);
    m_job.setLabels(LabelKind::instruction);
  }

  Result<Job> build() {
    for (m_rank = 0; m_rank < static_cast<int>(m_plan.gpus.size()); ++m_rank) {
      const auto& blocks = m_plan.gpus[m_rank].blocks;
      for (m_block = 0; m_block < static_cast<int>(blocks.size()); ++m_block) {
        throwIfCancelled(m_progress);
        m_hasPrevious = false;
        for (m_op = 0; m_op < static_cast<int>(blocks[m_block].ops.size()); ++m_op) {
          if (const Outcome added = addOp(blocks[m_block].ops[m_op]); !added) {
            return added.error();
          }
        }
      }
    }
    if (const Outcome paired = pair(); !paired) {
      return paired.error();
    }
    return std::move(m_job);
  }

private:
  /// One end of a channel, as its own rank sees it.
  using Channel = std::tuple<bool, int, int, int>;  // port, rank, peer, which of those to this peer

  Outcome addOp(const Operation& op) {
    if (op.type != OpType::pipeline) {
      return addPiece(op, 1);
    }
    const auto pieces = static_cast<std::int64_t>(
        std::clamp(std::ceil(op.unitChunks * m_chunkBytes / static_cast<double>(op.unitBytes)), 1.0,
                   static_cast<double>(kMaxPieces)));
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      for (const Operation& inner : op.inner) {
        if (const Outcome added = addPiece(inner, 1.0 / static_cast<double>(pieces)); !added) {
          return added;
        }
      }
    }
    return Done{};
  }

  MessageId addMessage(Message message, bool holds = true) {
    message.label = m_op;
    message.block = m_block;
    const MessageId id = m_job.add(message);
    if (m_hasPrevious) {
      m_job.wait({.before = m_previous, .after = id, .why = Wait::threadblock});
    }
    if (holds || !m_hasPrevious) {
      m_previous = id;
      m_hasPrevious = true;
    }
    return id;
  }
  MessageId addLocal() { return addMessage({.from = m_rank, .to = m_rank}); }

  [[nodiscard]] const mscclpp::ThreadBlock& tb() const { return m_plan.gpus[m_rank].blocks[m_block]; }

  Channel channelOf(const Operation& op, std::size_t index) const {
    const bool isPort = op.channelType == ChannelType::port;
    const int number = (isPort ? tb().portChannels : tb().memoryChannels)[op.channels[index]];
    const auto& peers = isPort ? m_plan.gpus[m_rank].portPeers : m_plan.gpus[m_rank].memoryPeers;
    const int peer = peers[number];
    const auto same = std::count(peers.begin(), peers.begin() + number, peer);
    return {isPort, m_rank, peer, static_cast<int>(same)};
  }

  Result<RouteId> routeTo(int from, int to) {
    const auto [place, isNew] = m_known.try_emplace({from, to}, kNoRoute);
    if (isNew) {
      auto route = m_job.route(m_routes.find(from, to, 0));
      if (!route) {
        return route;
      }
      place->second = *route;
    }
    return place->second;
  }

  /// The rank and buffer of a run; of a switch group, all of them.
  [[nodiscard]] std::vector<std::pair<int, mscclpp::Buffer>> ownersOf(const Operation& op, const ChunkRun& run) const {
    const mscclpp::Gpu& gpu = m_plan.gpus[m_rank];
    if (run.place == ChunkRun::Place::local) {
      return {{m_rank, run.buffer}};
    }
    if (run.place == ChunkRun::Place::remote) {
      const auto& list = op.channelType == ChannelType::port ? tb().portBuffers : tb().memoryBuffers;
      return {{gpu.remoteBuffers[list[run.id]].rank, gpu.remoteBuffers[list[run.id]].buffer}};
    }
    std::vector<std::pair<int, mscclpp::Buffer>> all;
    const mscclpp::SwitchGroup& group = gpu.switchGroups[tb().switchGroups[run.id]];
    for (const int member : group.ranks) {
      all.emplace_back(member, group.buffer);
    }
    return all;
  }

  Outcome addPiece(const Operation& op, double part) {
    switch (op.type) {
      case OpType::nop:
      case OpType::flush:
      case OpType::pipeline:
        return Done{};
      case OpType::signal:
      case OpType::relaxedSignal:
        for (std::size_t i = 0; i < op.channels.size(); ++i) {
          signal(channelOf(op, i), addLocal());
        }
        return Done{};
      case OpType::wait:
      case OpType::relaxedWait:
        for (std::size_t i = 0; i < op.channels.size(); ++i) {
          const auto [isPort, rank, peer, which] = channelOf(op, i);
          m_waits[{isPort, peer, rank, which}].push_back(addLocal());
        }
        return Done{};
      case OpType::semRelease:
      case OpType::semAcquire:
        for (const int id : op.semaphores) {
          auto& both = m_semaphores[{m_rank, id}];
          (op.type == OpType::semRelease ? both.first : both.second).push_back(addLocal());
        }
        return Done{};
      case OpType::barrier: {
        const MessageId before = addLocal();
        const MessageId after = addLocal();
        m_barriers[{m_rank, op.barrier, m_visits[{m_rank, m_block, op.barrier}]++}].emplace_back(before, after);
        return Done{};
      }
      default:
        return move(op, part);
    }
  }

  void signal(const Channel& channel, MessageId message) {
    std::vector<MessageId> brought{message};
    std::vector<MessageId>& puts = m_puts[{m_rank, m_block, std::get<2>(channel)}];
    brought.insert(brought.end(), puts.begin(), puts.end());
    puts.clear();
    m_signals[channel].push_back(std::move(brought));
  }

  Outcome move(const Operation& op, double part) {
    const mscclpp::OpShape& shape = mscclpp::shapeOf(op.type);
    const bool isPort = op.channelType == ChannelType::port && shape.port;
    const int chunks = op.sources.empty() ? 0 : op.sources.front().size;
    const double share = part * chunks / m_chunks / op.groupSize;
    const bool passesOn = op.type == OpType::readPutPackets;
    const bool reduces = op.sources.size() > 1;
    const MessageId start = addLocal();
    if (op.type == OpType::multiLoadReduceStore || op.type == OpType::multiStore ||
        op.type == OpType::multiStorePackets) {
      return moveBySwitch(op, share, start);
    }
    if (shape.readsPackets) {
      for (std::size_t i = op.sources.size() > 1 ? 1 : 0; i < op.sources.size(); ++i) {
        m_reads.push_back({start, m_rank, op.sources[i].index, op.sources[i].size});
      }
    }
    for (const ChunkRun& source : op.sources) {
      for (const auto& [owner, buffer] : ownersOf(op, source)) {
        if (owner != m_rank) {
          const auto route = routeTo(owner, m_rank);
          if (!route) {
            return route.error();
          }
          addMessage({.route = *route,
                      .share = share,
                      .from = owner,
                      .to = m_rank,
                      .reduces = reduces,
                      .added = reduces ? share : 0});
        }
      }
    }
    for (std::size_t i = 0; i < op.destinations.size(); ++i) {
      const ChunkRun& run = op.destinations[i];
      const bool isPacked =
          shape.writesPackets && (passesOn || op.type == OpType::copyPackets || op.type == OpType::putPackets || i > 0);
      for (const auto& [owner, buffer] : ownersOf(op, run)) {
        MessageId message = m_previous;
        if (owner != m_rank) {
          const auto route = routeTo(m_rank, owner);
          if (!route) {
            return route.error();
          }
          message =
              addMessage({.route = *route, .share = share * (isPacked ? 2 : 1), .from = m_rank, .to = owner}, !isPort);
          if (isPort) {
            follow(channelOf(op, i), message);
          }
          m_puts[{m_rank, m_block, owner}].push_back(message);
        }
        for (int chunk = run.index; isPacked && chunk < run.index + run.size; ++chunk) {
          m_packets[{owner, chunk}].push_back(message);
        }
      }
      if (isPort && (op.type == OpType::putWithSignal || op.type == OpType::putWithSignalAndFlush)) {
        const Channel channel = channelOf(op, i);
        const MessageId last = m_puts[{m_rank, m_block, std::get<2>(channel)}].back();
        signal(channel, last);
      }
    }
    return Done{};
  }

  /// Every member of a group sends its part to the switch, which sums it up and sends one stream on; a store goes to
  /// the switch once, and from there to every member. The threadblock goes on when all has left.
  Outcome moveBySwitch(const Operation& op, double share, MessageId start) {
    const mscclpp::OpShape& shape = mscclpp::shapeOf(op.type);
    for (std::size_t i = 0; shape.readsPackets && i < op.sources.size(); ++i) {
      m_reads.push_back({start, m_rank, op.sources[i].index, op.sources[i].size});
    }
    std::vector<MessageId> parts;
    if (op.type == OpType::multiLoadReduceStore) {
      if (const Outcome added = addStreams(op, op.sources[0], share, true, parts); !added) {
        return added;
      }
    }
    const double stored = share * (shape.writesPackets ? 2 : 1);
    if (const Outcome added = addStreams(op, op.destinations[0], stored, false, parts); !added) {
      return added;
    }
    const MessageId end = addLocal();
    for (const MessageId part : parts) {
      m_job.wait({.before = part, .after = end, .why = Wait::data});
    }
    return Done{};
  }

  /// @param in  to this rank, from all members; else from it to all of them
  Outcome addStreams(const Operation& op, const ChunkRun& run, double share, bool in, std::vector<MessageId>& parts) {
    bool isFirst = true;
    int hub = -1;  // the switch next to this rank
    for (const auto& [owner, buffer] : ownersOf(op, run)) {
      if (owner == m_rank) {
        continue;
      }
      const std::vector<fabric::NodeIndex> path =
          in ? m_routes.find(owner, m_rank, 0) : m_routes.find(m_rank, owner, 0);
      const bool hasSwitch = path.size() > 2;
      hub = hasSwitch ? (in ? path[path.size() - 2] : path[1]) : hub;
      // The link between this rank and the switch carries one stream for all.
      const int shared = hasSwitch && !isFirst ? 1 : 0;
      const auto route = m_job.route(path, in ? 0 : shared, in ? shared : 0);
      if (!route) {
        return route.error();
      }
      isFirst = isFirst && !hasSwitch;
      parts.push_back(addMessage(
          {.route = *route, .share = share, .from = in ? owner : m_rank, .to = in ? m_rank : owner, .reduces = in},
          false));
      if (!in) {
        m_puts[{m_rank, m_block, owner}].push_back(parts.back());
      }
      for (int chunk = run.index; op.type == OpType::multiStorePackets && chunk < run.index + run.size; ++chunk) {
        m_packets[{owner, chunk}].push_back(parts.back());
      }
    }
    if (hub < 0) {
      return Done{};
    }
    // Its own part goes over the switch as well.
    const fabric::NodeIndex self = m_fabric.gpus()[m_rank];
    const std::vector<fabric::NodeIndex> path =
        in ? std::vector<fabric::NodeIndex>{self, hub} : std::vector<fabric::NodeIndex>{hub, self};
    const auto route = m_job.route(path);
    if (!route) {
      return route.error();
    }
    parts.push_back(addMessage({.route = *route, .share = share, .from = m_rank, .to = m_rank, .reduces = in}, false));
    for (int chunk = run.index; op.type == OpType::multiStorePackets && chunk < run.index + run.size; ++chunk) {
      m_packets[{m_rank, chunk}].push_back(parts.back());
    }
    return Done{};
  }

  /// A port takes its transfers one after the other.
  void follow(const Channel& channel, MessageId message) {
    const auto [place, isNew] = m_lastOfPort.try_emplace(channel, message);
    if (!isNew) {
      m_job.wait({.before = place->second, .after = message, .why = Wait::order});
      place->second = message;
    }
  }

  Outcome pair() {
    const auto lost = [](int rank, const std::string& what) {
      return Error{ErrorCode::badInput, "rank " + std::to_string(rank) + " waits for " + what + " that never come",
                   "coppice-cli verify says where"};
    };
    for (const auto& [channel, waits] : m_waits) {
      const auto signals = m_signals.find(channel);
      if (signals == m_signals.end() || signals->second.size() < waits.size()) {
        return lost(std::get<2>(channel), "signals");
      }
      for (std::size_t k = 0; k < waits.size(); ++k) {
        for (const MessageId before : signals->second[k]) {
          m_job.wait({.before = before, .after = waits[k], .why = Wait::data});
        }
      }
    }
    for (const auto& [key, both] : m_semaphores) {
      const auto free = static_cast<std::size_t>(std::max(0, m_plan.gpus[key.first].semaphores[key.second]));
      for (std::size_t k = free; k < both.second.size(); ++k) {
        if (k - free >= both.first.size()) {
          return lost(key.first, "semaphores");
        }
        m_job.wait({.before = both.first[k - free], .after = both.second[k], .why = Wait::dependency});
      }
    }
    for (const auto& [key, members] : m_barriers) {
      for (const auto& one : members) {
        for (const auto& other : members) {
          if (&one != &other) {
            m_job.wait({.before = one.first, .after = other.second, .why = Wait::dependency});
          }
        }
      }
    }
    for (const Read& read : m_reads) {
      MessageId last = read.message;
      for (int chunk = read.first; chunk < read.first + read.count; ++chunk) {
        const auto written = m_packets.find({read.rank, chunk});
        if (written == m_packets.end()) {
          return lost(read.rank, "packets");
        }
        for (const MessageId before : written->second) {
          if (before != read.message && before != last) {
            m_job.wait({.before = before, .after = read.message, .why = Wait::data});
            last = before;
          }
        }
      }
    }
    return Done{};
  }

  struct Read {
    MessageId message = 0;
    int rank = 0;
    int first = 0;
    int count = 0;
  };

  const fabric::Fabric& m_fabric;
  const ExecutionPlan& m_plan;
  const Progress& m_progress;
  ShortestRoutes m_routes;
  Job m_job;
  int m_chunks = 1;
  double m_chunkBytes = 0;
  int m_rank = 0;
  int m_block = 0;
  int m_op = 0;
  bool m_hasPrevious = false;
  MessageId m_previous = 0;
  std::map<std::pair<int, int>, RouteId> m_known;
  std::map<Channel, std::vector<std::vector<MessageId>>> m_signals;  ///< by the signalling end: what each brings
  std::map<Channel, std::vector<MessageId>> m_waits;                 ///< by the signalling end
  std::map<Channel, MessageId> m_lastOfPort;
  std::map<std::tuple<int, int, int>, std::vector<MessageId>> m_puts;  ///< rank, threadblock, peer: not yet told
  std::map<std::pair<int, int>, std::pair<std::vector<MessageId>, std::vector<MessageId>>> m_semaphores;
  std::map<std::tuple<int, int, int>, int> m_visits;
  std::map<std::tuple<int, int, int>, std::vector<std::pair<MessageId, MessageId>>> m_barriers;
  std::map<std::pair<int, int>, std::vector<MessageId>> m_packets;  ///< rank and chunk of scratch
  std::vector<Read> m_reads;
};

class PlanSubject : public Subject {
public:
  PlanSubject(const fabric::Fabric& fabric, std::shared_ptr<const ExecutionPlan> plan, const Model& model)
      : m_fabric(fabric), m_plan(std::move(plan)), m_model(model) {}

  [[nodiscard]] Collective collective() const override {
    return parseCollective(m_plan->collective).value_or(Collective::custom);
  }
  [[nodiscard]] std::string collectiveName() const override { return m_plan->collective; }
  [[nodiscard]] const fabric::Fabric& fabric() const override { return m_fabric; }
  [[nodiscard]] bool hasPieces() const override { return false; }
  [[nodiscard]] std::uint32_t defaultPieces(double /*bytes*/) const override { return 1; }
  [[nodiscard]] Result<Details> simulate(std::int64_t bytes, const SizeOptions& options,
                                         const Progress& progress) override {
    auto made = planJob(m_fabric, *m_plan, static_cast<double>(bytes), m_model, progress);
    if (!made) {
      return made.error();
    }
    const auto job = std::make_shared<const Job>(*std::move(made));
    auto played = run(*job,
                      {.bytes = static_cast<double>(bytes),
                       .repeats = 1,
                       .resolution = options.resolution,
                       .record = options.record,
                       .limit = options.limit},
                      progress);
    if (!played) {
      return played.error();
    }
    Details details{.owner = job};
    details.row = {.size = bytes, .time = played->time, .pieces = 1};
    if (played->time > Microseconds(0)) {
      details.row.algbw = Throughput(static_cast<double>(bytes), played->time);
    }
    details.row.busbw = details.row.algbw * busFactor(collective(), m_fabric.gpuCount()).toDouble();
    details.row.resolution = played->resolution;
    details.phases.push_back({job.get(), *std::move(played)});
    return details;
  }

private:
  const fabric::Fabric& m_fabric;
  std::shared_ptr<const ExecutionPlan> m_plan;
  Model m_model;
};

}  // namespace

std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric, std::shared_ptr<const ExecutionPlan> plan,
                                   const Model& model) {
  return std::make_unique<PlanSubject>(fabric, std::move(plan), model);
}

Result<Job> planJob(const fabric::Fabric& fabric, const ExecutionPlan& plan, double bytes, const Model& model,
                    const Progress& progress) {
  if (static_cast<int>(plan.gpus.size()) != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the plan is for " + std::to_string(plan.gpus.size()) + " ranks, the fabric has " +
                     std::to_string(fabric.gpuCount()) + " GPUs",
                 "give the fabric that the plan is for"};
  }
  try {
    return PlanBuilder(fabric, plan, bytes, model, progress).build();
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "the simulation was cancelled"};
  }
}

}  // namespace coppice::simulate
