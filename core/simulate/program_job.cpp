// SPDX-License-Identifier: Apache-2.0
#include "simulate/program_job.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "program/finding_sink.hpp"
#include "simulate/routes.hpp"
#include "verify/program_flat.hpp"

namespace coppice::simulate {
namespace {

using program::Protocol;
using verify::FlatBlock;
using verify::FlatProgram;
using verify::FlatStep;

constexpr std::int64_t kMaxMessages = std::int64_t{1} << 26;
/// Maximum number of chunks of one message (formats note, 1.6).
constexpr double kMaxChunks = 71;

struct Wire {
  double slot = 0;    ///< bytes of data in one slot of a connection
  double factor = 1;  ///< bytes on the wire for one byte of data
};

Wire wireOf(Protocol protocol) {
  switch (protocol) {
    case Protocol::simple:
      return {2.0 * 1024 * 1024, 1};
    case Protocol::ll:
      return {32.0 * 1024, 2};
    case Protocol::ll128:
      return {576'000, 128.0 / 120};
  }
  return {};
}

class Builder {
public:
  Builder(const fabric::Fabric& fabric, const program::Program& program, const FlatProgram& flat, double bytes,
          const Model& model, const Progress& progress)
      : m_program(program), m_flat(flat), m_progress(progress), m_routes(fabric), m_job(fabric, model) {
    const Wire wire = wireOf(program.protocol);
    const double chunks = chunksOf(program);
    const double chunkBytes = bytes / chunks;
    m_turns = std::max(1.0, std::ceil(chunkBytes / wire.slot));
    m_chunkShare = wire.factor / chunks;
    m_chunksPerMessage = static_cast<int>(std::clamp(std::floor(wire.slot * m_turns / chunkBytes), 1.0, kMaxChunks));
    m_job.setWindowed(false);
    m_job.setLabels(LabelKind::instruction);
  }

  Result<ProgramJob> build() {
    m_lastOfStep.resize(m_flat.steps.size());
    m_sends.resize(m_flat.connections.size());
    m_receives.resize(m_flat.connections.size());
    for (std::size_t block = 0; block < m_flat.blocks.size(); ++block) {
      throwIfCancelled(m_progress);
      if (const Outcome added = addBlock(m_flat.blocks[block]); !added) {
        return added.error();
      }
    }
    for (const auto& [message, step] : m_awaits) {
      m_job.wait({.before = m_lastOfStep[step], .after = message, .why = Wait::dependency});
    }
    connect();
    constexpr std::int64_t kWireParts = 15;  // wire factors are 1, 2 and 16/15
    ProgramJob result{std::move(m_job), static_cast<std::uint32_t>(m_turns), kWireParts * chunksOf(m_program), {}};
    if (m_routes.throughGpus() > 0) {
      result.notes.push_back({Severity::note,
                              ErrorCode::infeasible,
                              std::to_string(m_routes.throughGpus()) +
                                  " connections have no route over NICs and switches alone and pass other GPUs",
                              "",
                              {}});
    }
    return result;
  }

private:
  Outcome addBlock(const FlatBlock& block) {
    std::optional<MessageId> first;
    std::optional<MessageId> previous;
    for (std::uint32_t index = block.firstStep; index < block.endStep; ++index) {
      const FlatStep& step = m_flat.steps[index];
      int chunk = 0;
      do {  // once for steps that exchange nothing
        const int chunks = step.exchanges ? std::min(m_chunksPerMessage, step.count - chunk) : step.count;
        const auto message = addMessage(block, index, chunks);
        if (!message) {
          return message.error();
        }
        if (chunk == 0 && step.waitsForBlock >= 0) {
          m_awaits.emplace_back(*message, step.waitsForStep);
        }
        if (previous) {
          m_job.wait({.before = *previous, .after = *message, .why = Wait::threadblock});
        }
        first = first.value_or(*message);
        previous = *message;
        chunk += chunks;
      } while (step.exchanges && chunk < step.count);
      m_lastOfStep[index] = *previous;
    }
    if (first && first != previous) {
      m_job.wait({.before = *previous, .after = *first, .delay = 1, .why = Wait::threadblock});
    }
    return Done{};
  }

  Result<MessageId> addMessage(const FlatBlock& block, std::uint32_t index, int chunks) {
    const FlatStep& step = m_flat.steps[index];
    Message message{.from = block.rank, .to = block.rank, .label = static_cast<std::int32_t>(index - block.firstStep)};
    message.block = block.id;
    const bool sends = step.exchanges && program::sends(step.type);
    const bool receives = step.exchanges && program::receives(step.type);
    const program::ThreadBlock& written = m_program.ranks[block.rank].threadBlocks[block.id];
    if (sends) {
      const auto route = routeTo(block.rank, written.sendPeer, written.channel);
      if (!route) {
        return route.error();
      }
      message.route = *route;
      message.share = m_chunkShare * chunks;
      message.to = written.sendPeer;
    } else if (receives) {
      message.from = written.recvPeer;
    }

    if (static_cast<std::int64_t>(m_job.messages().size()) >= kMaxMessages) {
      return Error{ErrorCode::limit, "the program has more than " + std::to_string(kMaxMessages) + " messages",
                   "simulate a smaller program or size"};
    }
    const MessageId id = m_job.add(message);
    if (sends) {
      m_sends[block.sendConnection].push_back(id);
    }
    if (receives) {
      m_receives[block.recvConnection].push_back({id, addsUp(step.type)});
    }
    return id;
  }

  Result<RouteId> routeTo(fabric::Rank from, fabric::Rank to, int channel) {
    const auto [place, isNew] = m_known.try_emplace({from, to, channel}, kNoRoute);
    if (isNew) {
      auto route = m_job.route(m_routes.find(from, to, channel));
      if (!route) {
        return route;
      }
      place->second = *route;
    }
    return place->second;
  }

  /// The k-th message that a connection's sender sends is the k-th that its receiver takes, and waits until all but
  /// depth - 1 of those before it are taken.
  void connect() {
    const std::int64_t depth = program::connectionDepth(m_program.protocol);
    for (std::size_t connection = 0; connection < m_sends.size(); ++connection) {
      const std::vector<MessageId>& sends = m_sends[connection];
      const std::vector<Receive>& receives = m_receives[connection];
      const auto count = static_cast<std::int64_t>(std::min(sends.size(), receives.size()));
      for (std::int64_t k = 0; k < count; ++k) {
        m_job.wait({.before = sends[k], .after = receives[k].message, .why = Wait::data});
        if (receives[k].reduces) {
          m_job.setReducing(sends[k]);
        }
        std::int64_t taken = k - depth;
        std::uint32_t turns = 0;
        for (; taken < 0; taken += count) {
          ++turns;
        }
        m_job.wait({.before = receives[taken].message, .after = sends[k], .delay = turns, .why = Wait::space});
      }
    }
  }

  const program::Program& m_program;
  const FlatProgram& m_flat;
  const Progress& m_progress;
  ShortestRoutes m_routes;
  Job m_job;
  double m_turns = 1;
  double m_chunkShare = 0;  ///< of the collective's bytes, on the wire
  int m_chunksPerMessage = 1;
  std::map<std::tuple<fabric::Rank, fabric::Rank, int>, RouteId> m_known;
  std::vector<MessageId> m_lastOfStep;
  std::vector<std::pair<MessageId, std::uint32_t>> m_awaits;
  std::vector<std::vector<MessageId>> m_sends;  ///< by connection
  struct Receive {
    MessageId message = 0;
    bool reduces = false;
  };
  std::vector<std::vector<Receive>> m_receives;
};

}  // namespace

int chunksOf(const program::Program& program) {
  const Collective goal = verify::goalOf(program);
  if (goal == Collective::custom) {
    return std::max(program.chunksPerLoop, 1);
  }
  const verify::BufferSizes sizes = verify::callerBuffers(program, goal);
  return std::max({sizes.input, sizes.output, 1});
}

Result<ProgramJob> programJob(const fabric::Fabric& fabric, const program::Program& program, double bytes,
                              const Model& model, const Progress& progress) {
  if (static_cast<int>(program.ranks.size()) != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the program is for " + std::to_string(program.ranks.size()) + " ranks, the fabric has " +
                     std::to_string(fabric.gpuCount()) + " GPUs",
                 "give the fabric that the program is for"};
  }
  return guarded(
      [&]() -> Result<ProgramJob> {
        program::FindingSink sink;
        const auto flat = verify::checkStructure(program, {}, progress, sink);
        if (!flat) {
          // A limit of a runtime does not matter here, a step that cannot be executed does.
          const std::vector<Finding> findings = sink.take();
          for (const bool anyCode : {false, true}) {
            for (const Finding& finding : findings) {
              if (finding.severity == Severity::error && (anyCode || finding.code != ErrorCode::limit)) {
                return Error{finding.code, finding.text, finding.fix, finding.where};
              }
            }
          }
          return Error{ErrorCode::badInput, "the program cannot be executed", "verify says why"};
        }
        return Builder(fabric, program, *flat, bytes, model, progress).build();
      },
      {.cancelled = "the simulation was cancelled"});
}

}  // namespace coppice::simulate
