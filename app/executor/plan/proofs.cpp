// SPDX-License-Identifier: Apache-2.0
#include "plan/proofs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "verify/happens_before.hpp"
#include "verify/program_execution.hpp"

namespace coppice::executor {
namespace {

using program::Buffer;
using program::StepType;
using verify::Event;
using verify::FlatProgram;
using verify::FlatStep;
using verify::Layout;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMaxEvents = std::size_t{1} << 23;
constexpr std::size_t kMaxQuestions = std::size_t{1} << 23;
constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 31;  // words merged by the second execution
constexpr std::size_t kColumns = 64;

/// Does `before` end before `after` acts? If not, the flag of the step is taken back.
struct Question {
  std::uint32_t before = 0;  ///< events
  std::uint32_t after = 0;
  std::uint32_t step = 0;
  bool isTarget = false;  ///< about targetFree; else about sourceStable
};

struct EventPlace {
  int block = 0;
  std::uint32_t number = 0;  ///< within its threadblock, from 1
};

/// The message of an event is a copy of what is at the step's dst afterwards (forwarding) or src.
bool sendsStored(StepType type) {
  return type == StepType::send || type == StepType::recvCopySend || type == StepType::recvReduceCopySend;
}
bool receivesAsIs(StepType type) {
  return type == StepType::recv || type == StepType::recvCopySend;
}

/// First execution: who touches each place, in order.
class AccessRun {
public:
  AccessRun(const FlatProgram& flat, const Layout& layout, std::uint32_t depth, Plan& plan)
      : m_flat(flat), m_layout(layout), m_depth(depth), m_plan(plan), m_inFlight(flat.connections.size() * depth) {
    for (int rank = 0; rank < plan.rankCount(); ++rank) {
      m_cells.emplace_back(layout.size(rank));
      for (std::size_t cell = 0; cell < m_cells.back().size(); ++cell) {
        m_cells.back()[cell].chunk = -1;
      }
      const auto name = [&](Buffer buffer, int chunks) {
        for (int chunk = 0; chunk < chunks; ++chunk) {
          Cell& cell = m_cells.back()[layout.location(rank, buffer, chunk)];
          cell.own = chunk % plan.chunksPerPart;
          cell.chunk = cell.own;
        }
      };
      name(Buffer::input, layout.caller().input);
      name(Buffer::output, layout.caller().output);
    }
    m_blockEvents.assign(flat.blocks.size(), 0);
    for (PlanStep& step : plan.steps) {
      step.sourceStable = sendsStored(step.type) && step.count > 0;
      step.targetFree = receivesAsIs(step.type) && step.count > 0;
      step.isFinal = program::usesDestination(step.type) && step.count > 0;
    }
  }

  void operator()(const Event& event);
  /// After the execution.
  void finish();

  [[nodiscard]] std::vector<Question>& questions() { return m_questions; }
  [[nodiscard]] const std::vector<EventPlace>& places() const { return m_places; }
  [[nodiscard]] bool isComplete() const { return !m_tooMany; }

private:
  struct Reader {
    std::uint32_t event;
    std::uint32_t next;
  };
  struct Cell {
    std::uint32_t writer = kNone;      ///< event
    std::uint32_t writerStep = kNone;  ///< its step
    std::uint32_t readers = kNone;     ///< since that write; list in m_readers
    std::int32_t own = -1;             ///< chunk number of this place; -1 = scratch
    std::int32_t chunk = -1;           ///< chunk number of the data in it; -1 = none
  };
  struct Message {
    std::uint32_t sender = kNone;  ///< event
    std::int32_t chunk = -1;
  };

  Cell& cell(int rank, Buffer buffer, int offset) { return m_cells[rank][m_layout.location(rank, buffer, offset)]; }
  void read(Cell& cell, std::uint32_t event);
  void write(Cell& cell, std::uint32_t event, std::uint32_t step, std::uint32_t messageFrom, std::int32_t chunk);
  void endOfContents(const Cell& cell, std::uint32_t event, std::uint32_t writeStep, std::uint32_t messageFrom);
  void ask(std::uint32_t before, std::uint32_t after, std::uint32_t step, bool isTarget);

  const FlatProgram& m_flat;
  const Layout& m_layout;
  std::uint32_t m_depth;
  Plan& m_plan;
  std::vector<std::vector<Cell>> m_cells;  ///< per rank
  std::vector<Reader> m_readers;
  std::uint32_t m_freeReaders = kNone;
  std::vector<Message> m_inFlight;
  std::vector<EventPlace> m_places;       ///< by event
  std::vector<std::uint32_t> m_receiver;  ///< by event: the one that took its message
  std::vector<std::uint32_t> m_stepOf;    ///< by event
  std::vector<std::uint32_t> m_blockEvents;
  std::vector<Question> m_questions;
  bool m_tooMany = false;
};

void AccessRun::operator()(const Event& event) {
  if (m_tooMany || m_places.size() >= kMaxEvents) {
    m_tooMany = true;
    return;
  }
  const auto number = static_cast<std::uint32_t>(m_places.size());
  m_places.push_back({.block = event.block, .number = ++m_blockEvents[event.block]});
  m_receiver.push_back(kNone);
  m_stepOf.push_back(event.step);
  const FlatStep& step = m_flat.steps[event.step];
  const int rank = m_flat.blocks[event.block].rank;
  std::uint32_t from = kNone;
  std::int32_t arrived = -1;
  if (event.recvConnection >= 0) {
    const Message& message = m_inFlight[static_cast<std::size_t>(event.recvConnection) * m_depth + event.recvSlot];
    from = message.sender;
    arrived = message.chunk;
    m_receiver[from] = number;
  }
  std::int32_t result = arrived;
  for (int chunk = event.firstChunk; chunk < event.firstChunk + event.chunks; ++chunk) {
    if (program::usesSource(step.type)) {
      Cell& source = cell(rank, step.srcBuffer, step.srcOffset + chunk);
      read(source, number);
      if (program::receives(step.type)) {
        m_plan.needsEqualChunks = m_plan.needsEqualChunks || source.chunk != arrived;
      }
      result = source.chunk;
    }
    if (program::usesDestination(step.type)) {
      Cell& target = cell(rank, step.dstBuffer, step.dstOffset + chunk);
      if (step.type == StepType::reduce) {
        m_plan.needsEqualChunks = m_plan.needsEqualChunks || target.chunk != result;
      }
      m_plan.needsEqualChunks = m_plan.needsEqualChunks || (target.own >= 0 && target.own != result);
      write(target, number, event.step, receivesAsIs(step.type) ? from : kNone, result);
    }
  }
  if (event.sendConnection >= 0) {
    m_inFlight[static_cast<std::size_t>(event.sendConnection) * m_depth + event.sendSlot] = {.sender = number,
                                                                                             .chunk = result};
  }
}

void AccessRun::read(Cell& cell, std::uint32_t event) {
  std::uint32_t entry = m_freeReaders;
  if (entry != kNone) {
    m_freeReaders = m_readers[entry].next;
  } else {
    entry = static_cast<std::uint32_t>(m_readers.size());
    m_readers.emplace_back();
  }
  m_readers[entry] = {.event = event, .next = cell.readers};
  cell.readers = entry;
}

/// The contents of a place end: those who pass them on by pointer must be through, and so must all who touched it if
/// the write may come early, with the message.
void AccessRun::endOfContents(const Cell& cell, std::uint32_t event, std::uint32_t writeStep,
                              std::uint32_t messageFrom) {
  const auto touched = [&](std::uint32_t access) {
    if (access == event) {
      return;
    }
    const std::uint32_t step = m_stepOf[access];
    std::uint32_t last = access;
    if (sendsStored(m_flat.steps[step].type)) {
      last = m_receiver[access];
      ask(last, event, step, false);
    }
    if (messageFrom != kNone) {
      ask(last, messageFrom, writeStep, true);
    }
  };
  if (cell.writer != kNone) {
    touched(cell.writer);
  }
  for (std::uint32_t reader = cell.readers; reader != kNone; reader = m_readers[reader].next) {
    touched(m_readers[reader].event);
  }
}

void AccessRun::write(Cell& cell, std::uint32_t event, std::uint32_t step, std::uint32_t messageFrom,
                      std::int32_t chunk) {
  endOfContents(cell, event, step, messageFrom);
  while (cell.readers != kNone) {
    const std::uint32_t next = m_readers[cell.readers].next;
    m_readers[cell.readers].next = m_freeReaders;
    m_freeReaders = cell.readers;
    cell.readers = next;
  }
  if (cell.writerStep != kNone) {
    m_plan.steps[cell.writerStep].isFinal = false;
  }
  cell.writer = event;
  cell.writerStep = step;
  cell.chunk = chunk;
}

void AccessRun::ask(std::uint32_t before, std::uint32_t after, std::uint32_t step, bool isTarget) {
  PlanStep& asked = m_plan.steps[step];
  bool& flag = isTarget ? asked.targetFree : asked.sourceStable;
  if (!flag) {
    return;
  }
  if (before == kNone || before >= after || m_questions.size() >= kMaxQuestions) {
    flag = false;
    return;
  }
  m_questions.push_back({.before = before, .after = after, .step = step, .isTarget = isTarget});
}

void AccessRun::finish() {
  for (const auto& memory : m_cells) {
    for (const Cell& cell : memory) {
      if (cell.writerStep != kNone && (cell.readers != kNone || sendsStored(m_flat.steps[cell.writerStep].type))) {
        m_plan.steps[cell.writerStep].isFinal = false;
      }
    }
  }
}

/// Second execution, for up to kColumns threadblocks that questions ask about.
using Knowledge = verify::KnowledgeRun<kColumns>;

void refute(Plan& plan, const Question& question) {
  PlanStep& step = plan.steps[question.step];
  (question.isTarget ? step.targetFree : step.sourceStable) = false;
}

void answer(const FlatProgram& flat, std::uint32_t depth, const std::vector<EventPlace>& places,
            const std::vector<Question>& questions, Plan& plan, const Progress& progress) {
  std::vector<std::uint32_t> columnOf(flat.blocks.size(), kNone);
  std::vector<int> asked;
  for (const Question& question : questions) {
    const int block = places[question.before].block;
    if (columnOf[block] == kNone) {
      columnOf[block] = static_cast<std::uint32_t>(asked.size());
      asked.push_back(block);
    }
  }
  const std::size_t batches = (asked.size() + kColumns - 1) / kColumns;
  const std::size_t affordable = kMaxWork / (std::max<std::size_t>(1, places.size()) * kColumns);
  std::vector<std::vector<Knowledge::Query>> ofBatch(std::min(batches, affordable));
  for (std::size_t index = 0; index < questions.size(); ++index) {
    const Question& question = questions[index];
    const EventPlace& before = places[question.before];
    const EventPlace& after = places[question.after];
    const std::size_t column = columnOf[before.block];
    if (column / kColumns >= ofBatch.size()) {
      refute(plan, question);
      continue;
    }
    ofBatch[column / kColumns].push_back({.block = after.block,
                                          .event = after.number,
                                          .column = column % kColumns,
                                          .needed = before.number,
                                          .tag = index});
  }
  for (std::size_t batch = 0; batch < ofBatch.size(); ++batch) {
    const std::vector<int> columns(
        asked.begin() + static_cast<std::ptrdiff_t>(batch * kColumns),
        asked.begin() + static_cast<std::ptrdiff_t>(std::min((batch + 1) * kColumns, asked.size())));
    Knowledge knowledge(flat, depth, columns, std::move(ofBatch[batch]));
    verify::Execution(flat, depth, 1, knowledge, progress).run();
    for (const std::size_t question : knowledge.unordered()) {
      refute(plan, questions[question]);
    }
  }
}

}  // namespace

void prove(const FlatProgram& flat, const Layout& layout, std::uint32_t depth, Plan& plan, const Progress& progress) {
  AccessRun accesses(flat, layout, depth, plan);
  verify::Execution(flat, depth, 1, accesses, progress).run();
  accesses.finish();
  if (!accesses.isComplete()) {
    plan.needsEqualChunks = true;
    for (PlanStep& step : plan.steps) {
      step.sourceStable = step.targetFree = step.isFinal = false;
    }
    return;
  }
  answer(flat, depth, accesses.places(), accesses.questions(), plan, progress);
}

}  // namespace coppice::executor
