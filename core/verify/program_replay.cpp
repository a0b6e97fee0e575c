// SPDX-License-Identifier: Apache-2.0
#include "verify/program_replay.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "verify/program_data.hpp"
#include "verify/program_deadlock.hpp"
#include "verify/program_execution.hpp"
#include "verify/program_flat.hpp"
#include "verify/program_messages.hpp"
#include "verify/program_values.hpp"

namespace coppice::verify {
namespace {

using program::Buffer;
using program::Program;

constexpr std::size_t kMaxEvents = std::size_t{1} << 24;
constexpr std::size_t kMaxWrites = std::size_t{1} << 24;
constexpr std::size_t kMaxTraced = 256;  // wrong chunks whose way is followed back
constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

struct IgnoreReplay {
  void operator()(const Event& /*event*/) const {}
};

struct Timed {
  Event event;
  std::uint32_t round = 0;
};

/// Notes every event, with the longest chain of waits before it.
class Recorder {
public:
  Recorder(const FlatProgram& flat, std::uint32_t depth)
      : m_flat(flat),
        m_depth(depth),
        m_next(flat.blocks.size()),
        m_done(flat.steps.size()),
        m_sent(flat.connections.size()),
        m_taken(flat.connections.size()) {}

  void operator()(const Event& event) {
    if (m_events.size() >= kMaxEvents) {
      throw MemoryLimitError{};
    }
    std::uint32_t round = m_next[event.block];
    const FlatStep& step = m_flat.steps[event.step];
    if (event.isFirst && step.waitsForBlock >= 0) {
      round = std::max(round, m_done[step.waitsForStep]);
    }
    if (event.recvConnection >= 0) {
      round = std::max(round, m_sent[event.recvConnection][m_taken[event.recvConnection].size()]);
    }
    if (event.sendConnection >= 0 && m_sent[event.sendConnection].size() >= m_depth) {
      round = std::max(round, m_taken[event.sendConnection][m_sent[event.sendConnection].size() - m_depth]);
    }
    m_events.push_back({event, round});
    const std::uint32_t after = round + 1;
    m_next[event.block] = after;
    m_done[event.step] = after;
    if (event.recvConnection >= 0) {
      m_taken[event.recvConnection].push_back(after);
    }
    if (event.sendConnection >= 0) {
      m_sent[event.sendConnection].push_back(after);
    }
  }

  /// Round by round; within one, by rank and threadblock.
  std::vector<Timed> take() {
    std::sort(m_events.begin(), m_events.end(), [](const Timed& a, const Timed& b) {
      return std::pair(a.round, a.event.block) < std::pair(b.round, b.event.block);
    });
    return std::move(m_events);
  }

private:
  const FlatProgram& m_flat;
  std::uint32_t m_depth;
  std::vector<std::uint32_t> m_next;               ///< by threadblock: the earliest round of its next event
  std::vector<std::uint32_t> m_done;               ///< by step: the round after its last event
  std::vector<std::vector<std::uint32_t>> m_sent;  ///< by connection and message: the round after it
  std::vector<std::vector<std::uint32_t>> m_taken;
  std::vector<Timed> m_events;
};

struct Write {
  std::uint32_t event = 0;
  std::uint32_t location = 0;
  Value value = kUnwritten;
};

}  // namespace

struct ProgramReplay::State {
  State(FlatProgram program, const Program& source, bool isInPlace)
      : inPlace(isInPlace),
        flat(std::move(program)),
        layout(source, goalOf(source), isInPlace),
        values(flat, static_cast<int>(source.ranks.size())) {}

  void run(const Program& program, const ProgramCheckOptions& options, const Progress& progress);
  void play(const Program& program, const ProgramCheckOptions& options, std::uint32_t depth, int chunksPerMessage,
            const std::vector<Timed>& timed, const Progress& progress);
  void note(const Timed& timed, const DataRun& data, std::size_t& written);
  [[nodiscard]] int ranks() const { return static_cast<int>(flat.firstBlock.size()) - 1; }
  [[nodiscard]] std::vector<int> ranksOf(Value value) const;

  bool inPlace;
  FlatProgram flat;
  Layout layout;
  Values values;
  std::vector<RingStep> ring;
  std::string remedy;
  std::vector<ReplayEvent> events;
  std::vector<std::uint32_t> flatSteps;            ///< by event
  std::vector<std::uint32_t> doneAfter;            ///< by flat step: events until it is done; 0 = never
  std::vector<std::vector<Write>> writes;          ///< by rank, in order
  std::vector<std::vector<Value>> initial;         ///< by rank and location
  std::vector<std::vector<Value>> wanted;          ///< by rank and chunk of the output
  std::vector<std::uint32_t> senders;              ///< by event: the one that sent what it receives, or kNoStep
  std::vector<std::vector<std::uint32_t>> onWire;  ///< by connection, while playing: sending events in order
  std::vector<std::size_t> taken;                  ///< by connection, while playing: messages received
  std::optional<WrongStep> firstWrong;
};

namespace {

struct WrongChunk {
  int rank = 0;
  int chunk = 0;
  std::uint32_t location = 0;
  Value holds = kUnwritten;
  Value wanted = kUnwritten;
  std::uint32_t lastWrite = kNoStep;  ///< event
};

/// The event to blame for a wrong chunk, and why.
struct Blame {
  std::uint32_t event = kNoStep;
  std::string text = {};
  WrongChunk of = {};
};

/// `State` is ProgramReplay's own.
template <typename State>
class WayBack {
public:
  WayBack(const State& state, const Progress& progress) : m_state(state), m_progress(progress) {
    m_byLocation.resize(state.writes.size());
    for (std::size_t rank = 0; rank < state.writes.size(); ++rank) {
      m_byLocation[rank].resize(state.initial[rank].size());
      for (std::uint32_t at = 0; at < state.writes[rank].size(); ++at) {
        m_byLocation[rank][state.writes[rank][at].location].push_back(at);
      }
    }
  }

  std::optional<WrongStep> firstWrong() {
    std::vector<WrongChunk> wrong = wrongChunks();
    if (wrong.empty()) {
      return std::nullopt;
    }
    std::stable_sort(wrong.begin(), wrong.end(),
                     [](const WrongChunk& a, const WrongChunk& b) { return a.lastWrite < b.lastWrite; });
    Blame first{.of = wrong.front()};
    first.text = "nothing is written there";
    for (std::size_t at = 0; at < wrong.size() && at < kMaxTraced; ++at) {
      throwIfCancelled(m_progress);
      Blame blame = blameFor(wrong[at]);
      if (blame.event < first.event) {
        first = std::move(blame);
      }
    }
    WrongStep step;
    if (first.event != kNoStep) {
      step.place = m_state.events[first.event].place;
    }
    step.text = std::move(first.text);
    step.rank = first.of.rank;
    step.chunk = first.of.chunk;
    step.wanted = m_state.values.describe(first.of.wanted);
    step.holds = m_state.values.describe(first.of.holds);
    step.wrongChunks = wrong.size();
    return step;
  }

private:
  std::vector<WrongChunk> wrongChunks() const {
    std::vector<WrongChunk> wrong;
    for (int rank = 0; rank < m_state.ranks(); ++rank) {
      for (std::size_t chunk = 0; chunk < m_state.wanted[rank].size(); ++chunk) {
        WrongChunk one{.rank = rank, .chunk = static_cast<int>(chunk), .wanted = m_state.wanted[rank][chunk]};
        one.location = m_state.layout.location(rank, Buffer::output, one.chunk);
        const auto& writes = m_byLocation[rank][one.location];
        one.holds = writes.empty() ? m_state.initial[rank][one.location] : m_state.writes[rank][writes.back()].value;
        one.lastWrite = writes.empty() ? kNoStep : m_state.writes[rank][writes.back()].event;
        if (one.wanted != kUnwritten && one.holds != one.wanted) {
          wrong.push_back(one);
        }
      }
    }
    return wrong;
  }

  /// Further reductions can still make `value` what is wanted.
  [[nodiscard]] bool canBecome(Value value, Value wanted) const {
    if (!isSound(value)) {
      return value == kUnwritten;
    }
    if (chunkOf(value) != chunkOf(wanted)) {
      return false;
    }
    const std::vector<int> has = m_state.ranksOf(value);
    const std::vector<int> needs = m_state.ranksOf(wanted);
    return std::includes(needs.begin(), needs.end(), has.begin(), has.end());
  }

  Blame blameFor(const WrongChunk& wrong) {
    if (wrong.lastWrite == kNoStep) {
      return {.of = wrong};
    }
    if (isFlawed(wrong.holds)) {
      const Values::Origin origin = m_state.values.originOf(wrong.holds);
      const std::uint32_t done = m_state.doneAfter[origin.step];
      return {.event = done == 0 ? wrong.lastWrite : done - 1, .text = origin.act, .of = wrong};
    }
    return canBecome(wrong.holds, wrong.wanted) ? blameForMissing(wrong) : blameForForeign(wrong);
  }

  /// The first write from which on the chunk never holds anything that could become right.
  Blame blameForForeign(const WrongChunk& wrong) const {
    const auto& writes = m_byLocation[wrong.rank][wrong.location];
    std::size_t first = writes.size() - 1;
    while (first > 0 && !canBecome(m_state.writes[wrong.rank][writes[first - 1]].value, wrong.wanted)) {
      --first;
    }
    const Write& write = m_state.writes[wrong.rank][writes[first]];
    std::string text = "writes " + m_state.values.describe(write.value) + " to " +
                       nameLocation(m_state.layout, wrong.rank, wrong.location) + ", where " +
                       m_state.values.describe(wrong.wanted) + " belongs";
    if (const std::uint32_t sender = m_state.senders[write.event]; sender != kNoStep) {
      text += "; " + placeText(m_state.events[sender].place) + " sent it";
    }
    return {.event = write.event, .text = std::move(text), .of = wrong};
  }

  /// The sum passes a rank whose own part it lacks: there, if anywhere, that part was left out.
  Blame blameForMissing(const WrongChunk& wrong) {
    const std::vector<int> has = m_state.ranksOf(wrong.holds);
    const std::vector<int> needs = m_state.ranksOf(wrong.wanted);
    std::vector<int> missing;
    std::set_difference(needs.begin(), needs.end(), has.begin(), has.end(), std::back_inserter(missing));
    const std::string what = "chunk " + std::to_string(chunkOf(wrong.wanted)) + " of rank ";
    std::uint32_t passed = kNoStep;
    std::set<std::pair<std::uint32_t, int>> seen;  // event, chunk within the step
    std::vector<std::pair<std::uint32_t, int>> open{{wrong.lastWrite, chunkWritten(wrong)}};
    while (!open.empty()) {
      const auto [event, chunk] = open.back();
      open.pop_back();
      if (!seen.emplace(event, chunk).second) {
        continue;
      }
      const FlatStep& step = m_state.flat.steps[m_state.flatSteps[event]];
      const int rank = m_state.events[event].place.rank;
      if (m_state.senders[event] != kNoStep || step.type == program::StepType::reduce) {
        if (event < passed && std::binary_search(missing.begin(), missing.end(), rank)) {
          passed = event;
        }
      }
      if (const std::uint32_t sender = m_state.senders[event]; sender != kNoStep) {
        open.emplace_back(sender, m_state.events[sender].firstChunk + chunk - m_state.events[event].firstChunk);
      }
      if (usesSource(step.type)) {
        addWriter(open, rank, step.srcBuffer, step.srcOffset + chunk, event);
      }
      if (step.type == program::StepType::reduce) {
        addWriter(open, rank, step.dstBuffer, step.dstOffset + chunk, event);
      }
    }
    if (passed != kNoStep) {
      const int rank = m_state.events[passed].place.rank;
      return {.event = passed, .text = "leaves out " + what + std::to_string(rank), .of = wrong};
    }
    return {.event = wrong.lastWrite,
            .text = "writes the last value of o[" + std::to_string(wrong.chunk) + "], which lacks " + what +
                    std::to_string(missing.front()) +
                    (missing.size() > 1 ? " and of " + std::to_string(missing.size() - 1) + " more" : ""),
            .of = wrong};
  }

  /// Which chunk of its step wrote the wrong one.
  [[nodiscard]] int chunkWritten(const WrongChunk& wrong) const {
    const FlatStep& step = m_state.flat.steps[m_state.flatSteps[wrong.lastWrite]];
    return static_cast<int>(wrong.location - m_state.layout.location(wrong.rank, step.dstBuffer, step.dstOffset));
  }

  void addWriter(std::vector<std::pair<std::uint32_t, int>>& open, int rank, Buffer buffer, int offset,
                 std::uint32_t before) const {
    const std::uint32_t location = m_state.layout.location(rank, buffer, offset);
    const auto& writes = m_byLocation[rank][location];
    const auto later = std::lower_bound(
        writes.begin(), writes.end(), before,
        [&](std::uint32_t write, std::uint32_t event) { return m_state.writes[rank][write].event < event; });
    if (later != writes.begin()) {
      const std::uint32_t event = m_state.writes[rank][*std::prev(later)].event;
      const FlatStep& step = m_state.flat.steps[m_state.flatSteps[event]];
      open.emplace_back(event,
                        static_cast<int>(location - m_state.layout.location(rank, step.dstBuffer, step.dstOffset)));
    }
  }

  const State& m_state;
  const Progress& m_progress;
  std::vector<std::vector<std::vector<std::uint32_t>>> m_byLocation;  ///< by rank and location: into writes
};

}  // namespace

std::vector<int> ProgramReplay::State::ranksOf(Value value) const {
  std::vector<int> in;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (values.sets().contains(setOf(value), rank)) {
      in.push_back(rank);
    }
  }
  return in;
}

void ProgramReplay::State::run(const Program& program, const ProgramCheckOptions& options, const Progress& progress) {
  const auto depth = static_cast<std::uint32_t>(program::connectionDepth(program.protocol));
  IgnoreReplay ignore;
  int chunksPerMessage = 1;
  Recorder recorder(flat, depth);
  Execution single(flat, depth, 1, recorder, progress);
  bool isComplete = single.run();
  std::vector<BlockState> states = single.states();
  std::vector<Timed> timed = recorder.take();
  // Where only the size window prevents a deadlock, messages are as full as it lets them be.
  const int fuller = fullestMessage(program, options.runtime);
  if (!isComplete && fuller > 1 && Execution(flat, depth, fuller, ignore, progress).run()) {
    chunksPerMessage = fuller;
    Recorder again(flat, depth);
    Execution full(flat, depth, fuller, again, progress);
    isComplete = full.run();
    timed = again.take();
  }
  if (!isComplete) {
    Deadlock deadlock = explainDeadlock(program, flat, states, depth, chunksPerMessage, progress);
    ring = std::move(deadlock.ring);
    remedy = std::move(deadlock.remedy);
  }
  play(program, options, depth, chunksPerMessage, timed, progress);
}

void ProgramReplay::State::play(const Program& program, const ProgramCheckOptions& options, std::uint32_t depth,
                                int chunksPerMessage, const std::vector<Timed>& timed, const Progress& progress) {
  const Collective goal = goalOf(program);
  program::FindingSink sink;
  DataRun data(flat, layout, values, depth, chunksPerMessage, sink);
  for (int rank = 0; rank < ranks(); ++rank) {
    std::vector<Value>& memory = initial.emplace_back();
    for (std::uint32_t location = 0; location < layout.size(rank); ++location) {
      memory.push_back(data.at(rank, location));
    }
  }
  writes.resize(ranks());
  doneAfter.assign(flat.steps.size(), 0);
  onWire.resize(flat.connections.size());
  taken.resize(flat.connections.size());
  std::size_t written = 0;
  for (const Timed& one : timed) {
    if ((events.size() & 0xFFFU) == 0) {
      throwIfCancelled(progress);
    }
    data(one.event);
    note(one, data, written);
  }
  const bool isJudged = ring.empty() && goal != Collective::custom;
  const int asked = options.root >= 0 && options.root < ranks() ? options.root : program.root;
  const int root = isJudged ? data.checkResult(goal, asked) : asked;
  for (int rank = 0; rank < ranks(); ++rank) {
    const bool isKnown = isJudged || (goal != Collective::custom && (!isRooted(goal) || root >= 0));
    wanted.push_back(isKnown ? data.wanted(goal, root, rank) : std::vector<Value>());
  }
  if (isJudged) {
    firstWrong = WayBack(*this, progress).firstWrong();
  }
}

void ProgramReplay::State::note(const Timed& timed, const DataRun& data, std::size_t& written) {
  const Event& event = timed.event;
  const auto number = static_cast<std::uint32_t>(events.size());
  const FlatStep& step = flat.steps[event.step];
  const int rank = flat.blocks[event.block].rank;
  events.push_back({.place = placeOf(flat, event.block, event.step),
                    .round = timed.round,
                    .firstChunk = event.firstChunk,
                    .chunks = event.chunks,
                    .isLast = event.isLast});
  flatSteps.push_back(event.step);
  senders.push_back(event.recvConnection >= 0 ? onWire[event.recvConnection][taken[event.recvConnection]++] : kNoStep);
  if (event.sendConnection >= 0) {
    onWire[event.sendConnection].push_back(number);
  }
  if (event.isLast) {
    doneAfter[event.step] = number + 1;
  }
  if (!usesDestination(step.type)) {
    return;
  }
  written += static_cast<std::size_t>(event.chunks);
  if (written > kMaxWrites) {
    throw MemoryLimitError{};
  }
  for (int chunk = event.firstChunk; chunk < event.firstChunk + event.chunks; ++chunk) {
    const std::uint32_t location = layout.location(rank, step.dstBuffer, step.dstOffset + chunk);
    writes[rank].push_back({number, location, data.at(rank, location)});
  }
}

ProgramReplay::ProgramReplay(std::unique_ptr<State> state) : m(std::move(state)) {}
ProgramReplay::~ProgramReplay() = default;

Result<std::shared_ptr<const ProgramReplay>> ProgramReplay::play(const Program& program,
                                                                 const ProgramCheckOptions& options, bool inPlace,
                                                                 const Progress& progress) {
  if (program.ranks.empty()) {
    return Error{.code = ErrorCode::badInput, .message = "the program has no ranks"};
  }
  try {
    program::FindingSink sink;
    auto flat = checkStructure(program, options, progress, sink);
    if (!flat) {
      return Error{.code = ErrorCode::verification,
                   .message = "the program cannot be executed",
                   .fix = "correct what the checks name first"};
    }
    auto state = std::make_unique<State>(*std::move(flat), program, inPlace);
    state->run(program, options, progress);
    return std::shared_ptr<const ProgramReplay>(new ProgramReplay(std::move(state)));
  } catch (const CancelledError&) {
    return Error{.code = ErrorCode::cancelled, .message = "the replay was cancelled"};
  } catch (const MemoryLimitError&) {
    return Error{.code = ErrorCode::limit, .message = "the program moves too many chunks to keep them all"};
  } catch (const std::bad_alloc&) {
    return Error{.code = ErrorCode::limit, .message = "not enough memory to replay the program"};
  } catch (const OverflowError& error) {
    return Error{.code = ErrorCode::overflow, .message = error.what()};
  }
}

bool ProgramReplay::inPlace() const {
  return m->inPlace;
}
const std::vector<RingStep>& ProgramReplay::ring() const {
  return m->ring;
}
const std::string& ProgramReplay::remedy() const {
  return m->remedy;
}
const std::vector<ReplayEvent>& ProgramReplay::events() const {
  return m->events;
}
const std::optional<WrongStep>& ProgramReplay::firstWrong() const {
  return m->firstWrong;
}

std::optional<std::size_t> ProgramReplay::positionAfter(const program::StepPlace& place) const {
  const FlatBlock& block = m->flat.blocks[static_cast<std::size_t>(m->flat.firstBlock[place.rank]) +
                                          static_cast<std::size_t>(place.threadBlock)];
  const std::uint32_t done = m->doneAfter[block.firstStep + static_cast<std::uint32_t>(place.step)];
  return done == 0 ? std::nullopt : std::optional<std::size_t>(done);
}

int ProgramReplay::size(int rank, Buffer buffer) const {
  switch (buffer) {
    case Buffer::input:
      return m->layout.caller().input;
    case Buffer::output:
      return m->layout.caller().output;
    case Buffer::scratch:
      return static_cast<int>(m->layout.size(rank) - m->layout.location(rank, Buffer::scratch, 0));
  }
  return 0;
}

std::vector<SlotContent> ProgramReplay::contents(int rank, Buffer buffer, std::size_t position) const {
  const std::uint32_t first = m->layout.location(rank, buffer, 0);
  std::vector<Value> held(m->initial[rank].begin() + first, m->initial[rank].begin() + first + size(rank, buffer));
  std::vector<SlotContent> slots(held.size());
  for (const Write& write : m->writes[rank]) {
    if (write.event >= position) {
      break;
    }
    if (write.location >= first && write.location - first < held.size()) {
      held[write.location - first] = write.value;
      slots[write.location - first].writer = write.event;
    }
  }
  const std::uint32_t output = m->layout.location(rank, Buffer::output, 0);
  for (std::size_t at = 0; at < slots.size(); ++at) {
    SlotContent& slot = slots[at];
    const Value value = held[at];
    slot.text = m->values.describe(value);
    if (value == kUnwritten) {
      slot.text = "nothing yet";
    } else if (isFlawed(value)) {
      slot.kind = SlotContent::Kind::flawed;
    } else {
      slot.chunk = static_cast<int>(chunkOf(value));
      slot.ranks = m->ranksOf(value);
      slot.kind = slot.ranks.size() == 1 ? SlotContent::Kind::one : SlotContent::Kind::sum;
    }
    const std::uint32_t location = first + static_cast<std::uint32_t>(at);
    if (location >= output && location - output < m->wanted[rank].size()) {
      const Value goal = m->wanted[rank][location - output];
      slot.wanted = goal == kUnwritten ? std::string() : m->values.describe(goal);
      slot.isFinal = goal != kUnwritten && goal == value;
    }
  }
  return slots;
}

}  // namespace coppice::verify
