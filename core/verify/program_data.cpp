// SPDX-License-Identifier: Apache-2.0
#include "verify/program_data.hpp"

#include <algorithm>
#include <string>

namespace coppice::verify {
namespace {

using program::Buffer;
using program::StepType;

constexpr std::size_t kMaxChunks = std::size_t{1} << 26;  // all ranks; 8 bytes each

}  // namespace

Layout::Layout(const program::Program& program, Collective goal, bool inPlace)
    : m_caller(callerBuffers(program, goal)), m_inPlace(inPlace) {
  std::size_t total = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    int input = 0;
    int output = m_caller.input;
    int scratch = m_caller.input + m_caller.output;
    if (inPlace) {
      const int own = static_cast<int>(rank);
      input = goal == Collective::allgather || goal == Collective::gather ? own * m_caller.input : 0;
      output = goal == Collective::reduceScatter || goal == Collective::scatter ? own * m_caller.output : 0;
      scratch = std::max(m_caller.input, m_caller.output);
    }
    m_base.push_back({input, output, scratch});
    m_size.push_back(static_cast<std::size_t>(scratch + program.ranks[rank].scratchChunks));
    total += m_size.back();
  }
  if (total > kMaxChunks) {
    throw MemoryLimitError{};
  }
}

std::string nameLocation(const Layout& layout, int rank, std::uint32_t location) {
  for (const Buffer buffer : {Buffer::scratch, Buffer::output, Buffer::input}) {
    const std::uint32_t base = layout.location(rank, buffer, 0);
    const auto size = buffer == Buffer::scratch  ? layout.size(rank) - base
                      : buffer == Buffer::output ? static_cast<std::size_t>(layout.caller().output)
                                                 : static_cast<std::size_t>(layout.caller().input);
    if (location >= base && location - base < size) {
      return std::string(1, letter(buffer)) + "[" + std::to_string(location - base) + "]";
    }
  }
  return "the buffer";
}

DataRun::DataRun(const FlatProgram& flat, const Layout& layout, Values& values, std::uint32_t depth,
                 int chunksPerMessage, program::FindingSink& sink)
    : m_flat(flat),
      m_layout(layout),
      m_values(values),
      m_chunksPerMessage(chunksPerMessage),
      m_sink(sink),
      m_ranks(static_cast<int>(flat.firstBlock.size()) - 1),
      m_slotsPerConnection(std::size_t{depth} * static_cast<std::size_t>(chunksPerMessage)),
      m_memory(static_cast<std::size_t>(m_ranks)),
      m_inFlight(flat.connections.size() * m_slotsPerConnection),
      m_history(static_cast<std::size_t>(m_ranks)),
      m_sentIn(static_cast<std::size_t>(m_ranks)) {
  const int chunks = layout.caller().input;
  for (int rank = 0; rank < m_ranks; ++rank) {
    auto& memory = m_memory[rank];
    memory.assign(layout.size(rank), kUnwritten);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      memory[layout.location(rank, Buffer::input, chunk)] =
          makeValue(static_cast<std::uint32_t>(chunk), static_cast<std::uint32_t>(rank));
    }
    m_sentIn[rank].assign(chunks, 0);
  }
}

Value DataRun::read(int block, const Event& event, Buffer buffer, int offset) {
  const int rank = m_flat.blocks[block].rank;
  const Value value = m_memory[rank][m_layout.location(rank, buffer, offset)];
  if (value != kUnwritten) {
    return value;
  }
  if (m_sink.wants(static_cast<int>(Check::unwrittenRead), Severity::error)) {
    m_sink.add(static_cast<int>(Check::unwrittenRead),
               {.severity = Severity::error,
                .code = ErrorCode::verification,
                .text = std::string(m_layout.inPlace() ? "in place: " : "out of place: ") + "reads " + letter(buffer) +
                        "[" + std::to_string(offset) + "], where nothing was written before",
                .fix = "write it first, or wait for the step that does",
                .where = {.element = stepElement(m_flat, block, event.step)}});
  }
  return m_values.unwrittenRead(block, event.step);
}

void DataRun::write(int rank, const FlatStep& step, int chunk, Value value) {
  m_memory[rank][m_layout.location(rank, step.dstBuffer, step.dstOffset + chunk)] = value;
}

void DataRun::noteSent(int rank, Value value, std::uint32_t event) {
  if (isSound(value) && m_values.sets().contains(setOf(value), rank)) {
    std::uint32_t& sent = m_sentIn[rank][chunkOf(value)];
    sent = sent == 0 || sent == event + 1 ? event + 1 : kSeveral;
  }
}

void DataRun::noteReceived(int rank, Value value, std::uint32_t event) {
  if (!isSound(value) || !m_values.sets().contains(setOf(value), rank)) {
    return;
  }
  const std::uint32_t sent = m_sentIn[rank][chunkOf(value)];
  auto& echoes = m_history[rank].echoes;
  const std::pair echo(event, sent - 1);
  if (sent != 0 && sent != kSeveral && (echoes.empty() || echoes.back() != echo)) {
    echoes.push_back(echo);
  }
}

void DataRun::operator()(const Event& event) {
  const FlatBlock& owner = m_flat.blocks[event.block];
  const FlatStep& step = m_flat.steps[event.step];
  const int rank = owner.rank;
  auto& events = m_history[rank].events;
  const auto number = static_cast<std::uint32_t>(events.size());
  events.push_back(static_cast<std::uint32_t>(owner.id));
  if (step.type == StepType::nop) {
    return;
  }
  const bool storing = usesDestination(step.type);
  if (storing && step.dstBuffer == Buffer::input && !m_layout.inPlace() && event.isFirst && step.count > 0 &&
      m_sink.wants(static_cast<int>(Check::inputWrite), Severity::error)) {
    m_sink.add(static_cast<int>(Check::inputWrite),
               {.severity = Severity::error,
                .code = ErrorCode::verification,
                .text = "out of place: writes i[" + std::to_string(step.dstOffset) +
                        "], the caller's input, which must stay as it is",
                .fix = "keep partial results in o or s",
                .where = {.element = stepElement(m_flat, event.block, event.step)}});
  }
  const auto slotOf = [&](int connection, std::uint32_t slot) {
    return m_inFlight.data() + static_cast<std::size_t>(connection) * m_slotsPerConnection +
           std::size_t{slot} * static_cast<std::size_t>(m_chunksPerMessage);
  };
  const Value* incoming = event.recvConnection >= 0 ? slotOf(event.recvConnection, event.recvSlot) : nullptr;
  Value* outgoing = event.sendConnection >= 0 ? slotOf(event.sendConnection, event.sendSlot) : nullptr;
  for (int chunk = 0; chunk < event.chunks; ++chunk) {
    const int at = event.firstChunk + chunk;
    Value value = kUnwritten;
    if (incoming != nullptr) {
      value = incoming[chunk];
      noteReceived(rank, value, number);
    }
    if (step.type == StepType::reduce) {
      value = read(event.block, event, step.dstBuffer, step.dstOffset + at);
    }
    if (usesSource(step.type)) {
      const Value local = read(event.block, event, step.srcBuffer, step.srcOffset + at);
      value = value == kUnwritten ? local : m_values.reduce(value, local, event.block, event.step);
    }
    if (storing) {
      write(rank, step, at, value);
    }
    if (outgoing != nullptr) {
      outgoing[chunk] = value;
      noteSent(rank, value, number);
    }
  }
}

Value DataRun::output(int rank, int chunk) const {
  return m_memory[rank][m_layout.location(rank, Buffer::output, chunk)];
}

/// What a chunk of a rank's output must hold in the end. @param root of rooted goals
Value DataRun::expected(Collective goal, int root, int rank, int chunk) const {
  const BufferSizes caller = m_layout.caller();
  const int part = goal == Collective::alltoall ? caller.input / m_ranks : caller.input;
  const std::uint32_t all = m_values.sets().all();
  switch (goal) {
    case Collective::allgather:
    case Collective::gather:
      return makeValue(static_cast<std::uint32_t>(chunk % part), static_cast<std::uint32_t>(chunk / part));
    case Collective::alltoall:
      return makeValue(static_cast<std::uint32_t>(rank * part + chunk % part),
                       static_cast<std::uint32_t>(chunk / part));
    case Collective::reduceScatter:
      return makeValue(static_cast<std::uint32_t>(rank * caller.output + chunk), all);
    case Collective::scatter:
      return makeValue(static_cast<std::uint32_t>(rank * caller.output + chunk), static_cast<std::uint32_t>(root));
    case Collective::broadcast:
      return makeValue(static_cast<std::uint32_t>(chunk), static_cast<std::uint32_t>(root));
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::custom:
      break;
  }
  return makeValue(static_cast<std::uint32_t>(chunk), all);
}

std::vector<Value> DataRun::wanted(Collective goal, int root, int rank) const {
  std::vector<Value> values(m_layout.caller().output, kUnwritten);
  const bool isAtRoot = goal == Collective::reduce || goal == Collective::gather;
  if (goal != Collective::custom && (!isAtRoot || rank == root)) {
    for (std::size_t chunk = 0; chunk < values.size(); ++chunk) {
      values[chunk] = expected(goal, root, rank, static_cast<int>(chunk));
    }
  }
  return values;
}

/// The root that makes this chunk right on this rank, -1 = none.
int DataRun::rootOf(Collective goal, int chunk, int rank) const {
  const Value value = output(rank, chunk);
  if (!isSound(value)) {
    return -1;
  }
  const bool isOfOne = setOf(value) < static_cast<std::uint32_t>(m_ranks);
  const int giver = goal == Collective::gather ? rank : isOfOne ? static_cast<int>(setOf(value)) : -1;
  const int root = goal == Collective::reduce ? rank : giver;
  return root >= 0 && value == expected(goal, root, rank, chunk) ? root : -1;
}

int DataRun::inferRoot(Collective goal) {
  std::vector<std::size_t> votes(m_ranks);
  for (int rank = 0; rank < m_ranks; ++rank) {
    for (int chunk = 0; chunk < m_layout.caller().output; ++chunk) {
      if (const int root = rootOf(goal, chunk, rank); root >= 0) {
        ++votes[root];
      }
    }
  }
  return static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

int DataRun::checkResult(Collective goal, int root) {
  if (goal == Collective::custom) {
    return -1;
  }
  const bool rooted = isRooted(goal);
  if (!rooted) {
    root = -1;
  } else if (root < 0) {
    root = inferRoot(goal);
  }
  const BufferSizes caller = m_layout.caller();
  std::size_t wrong = 0;
  std::size_t wrongRanks = 0;
  int firstRank = -1;
  int firstChunk = -1;
  for (int rank = 0; rank < m_ranks; ++rank) {
    if ((goal == Collective::reduce || goal == Collective::gather) && rank != root) {
      continue;
    }
    const std::size_t before = wrong;
    for (int chunk = 0; chunk < caller.output; ++chunk) {
      if (output(rank, chunk) != expected(goal, root, rank, chunk) && wrong++ == 0) {
        firstRank = rank;
        firstChunk = chunk;
      }
    }
    wrongRanks += wrong > before ? 1 : 0;
  }
  if (wrong > 0 && m_sink.wants(static_cast<int>(Check::result), Severity::error)) {
    std::string text = std::string(m_layout.inPlace() ? "in place: " : "out of place: ") + "o[" +
                       std::to_string(firstChunk) + "] of rank " + std::to_string(firstRank) + " must hold " +
                       m_values.describe(expected(goal, root, firstRank, firstChunk)) + ", but holds " +
                       m_values.describe(output(firstRank, firstChunk));
    if (m_layout.inPlace() && (goal == Collective::reduceScatter || goal == Collective::scatter)) {
      text += "; in place, that chunk is i[" + std::to_string(firstRank * caller.output + firstChunk) + "]";
    }
    if (wrong > 1) {
      text += "; " + std::to_string(wrong) + " chunks on " + std::to_string(wrongRanks) +
              (wrongRanks == 1 ? " rank are wrong" : " ranks are wrong");
    }
    m_sink.add(static_cast<int>(Check::result), {.severity = Severity::error,
                                                 .code = ErrorCode::verification,
                                                 .text = std::move(text),
                                                 .fix = rooted ? "root " + std::to_string(root) + " was assumed" : "",
                                                 .where = {.element = {RefKind::rank, firstRank}}});
  }
  return root;
}

void DataRun::checkCustom(const std::vector<CustomShard>& shards) {
  for (const CustomShard& shard : shards) {
    const auto isRank = [&](int rank) { return rank >= 0 && rank < m_ranks; };
    if (shard.first < 0 || shard.count < 0 || shard.first > m_layout.caller().output - shard.count ||
        !std::all_of(shard.sources.begin(), shard.sources.end(), isRank) ||
        !std::all_of(shard.destinations.begin(), shard.destinations.end(), isRank) || shard.sources.empty()) {
      reportCustom(shard, -1, shard.first);
      return;
    }
    auto sum = static_cast<std::uint32_t>(shard.sources.front());
    for (std::size_t i = 1; shard.combines && i < shard.sources.size(); ++i) {
      sum = m_values.sets().disjointUnion(sum, static_cast<std::uint32_t>(shard.sources[i]));
    }
    for (const int rank : shard.destinations) {
      for (int chunk = shard.first; chunk < shard.first + shard.count; ++chunk) {
        const Value value = output(rank, chunk);
        const bool isRight = isSound(value) && chunkOf(value) == static_cast<std::uint32_t>(chunk) &&
                             (shard.combines ? setOf(value) == sum
                                             : std::find(shard.sources.begin(), shard.sources.end(),
                                                         static_cast<int>(setOf(value))) != shard.sources.end());
        if (!isRight) {
          reportCustom(shard, rank, chunk);
          return;
        }
      }
    }
  }
}

namespace {

/// " of rank 3", " of one of the ranks 0 3", " of the ranks 0 1 2".
std::string sourcesText(const CustomShard& shard) {
  constexpr std::size_t kMax = 8;
  const bool isOne = shard.sources.size() == 1;
  std::string text = isOne ? " of rank" : shard.combines ? " of the ranks" : " of one of the ranks";
  for (std::size_t i = 0; i < std::min(kMax, shard.sources.size()); ++i) {
    text += " " + std::to_string(shard.sources[i]);
  }
  return shard.sources.size() > kMax ? text + " ..." : text;
}

}  // namespace

void DataRun::reportCustom(const CustomShard& shard, int rank, int chunk) {
  if (!m_sink.wants(static_cast<int>(Check::result), Severity::error)) {
    return;
  }
  std::string text = "the goal of the custom collective names ranks or chunks that the program does not have";
  if (rank >= 0) {
    text = std::string(m_layout.inPlace() ? "in place: " : "out of place: ") + "o[" + std::to_string(chunk) +
           "] of rank " + std::to_string(rank) + " must hold " +
           (shard.combines ? "the sum of chunk " : "a copy of chunk ") + std::to_string(chunk) + sourcesText(shard) +
           ", but holds " + m_values.describe(output(rank, chunk));
  }
  m_sink.add(static_cast<int>(Check::result),
             {.severity = Severity::error,
              .code = ErrorCode::verification,
              .text = std::move(text),
              .where = {.element = rank < 0 ? ElementRef() : ElementRef(RefKind::rank, rank)}});
}

}  // namespace coppice::verify
