// SPDX-License-Identifier: Apache-2.0
#include "verify/program_races.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "verify/happens_before.hpp"
#include "verify/program_execution.hpp"

namespace coppice::verify {
namespace {

constexpr std::size_t kMaxBlocks = 1024;                      // per rank; no runtime has more
constexpr std::size_t kMaxClockWords = std::size_t{1} << 27;  // stored clocks of one rank: 512 MiB
constexpr std::size_t kMaxSuspects = std::size_t{1} << 22;
constexpr std::size_t kEnoughRaces = 10;
constexpr std::uint32_t kNoEvent = ~std::uint32_t{0};

/// Two accesses that a rank's own clocks do not order; `earlier` came first in the execution. Events are counted from 1
/// per threadblock; blocks are flat.
struct Suspect {
  int earlierBlock = 0;
  std::uint32_t earlierEvent = 0;
  bool earlierWrites = false;
  int laterBlock = 0;
  std::uint32_t laterEvent = 0;
  bool laterWrites = false;
  std::uint32_t location = 0;
};

int eventsOf(const FlatStep& step, int chunksPerMessage) {
  return step.exchanges ? (step.count + chunksPerMessage - 1) / chunksPerMessage : 1;
}

/// First stage: one rank, its own synchronisation only.
class RankRaces {
public:
  RankRaces(const FlatProgram& flat, const Layout& layout, int rank, const RankHistory& history, int chunksPerMessage,
            std::vector<Suspect>& suspects)
      : m_flat(flat),
        m_layout(layout),
        m_rank(rank),
        m_history(history),
        m_chunksPerMessage(chunksPerMessage),
        m_suspects(suspects),
        m_first(flat.firstBlock[rank]),
        m_blocks(static_cast<std::size_t>(flat.firstBlock[static_cast<std::size_t>(rank) + 1] - m_first)) {}

  void run();

private:
  struct Cursor {
    std::uint32_t step = 0;
    int chunk = 0;
  };
  struct Cell {
    std::uint32_t writer = kNoEvent;  ///< threadblock id of the last write
    std::uint32_t writeEvent = 0;
    std::uint32_t readers = kNoEvent;  ///< list in m_readers: the last read of each threadblock since that write
  };
  struct Reader {
    std::uint32_t block;
    std::uint32_t event;
    std::uint32_t next;
  };

  void step(std::uint32_t number, std::uint32_t block);
  void access(std::uint32_t block, const FlatStep& step, int firstChunk, int chunks);
  void read(std::uint32_t block, std::uint32_t location);
  void write(std::uint32_t block, std::uint32_t location);
  void suspect(std::uint32_t earlier, std::uint32_t event, bool earlierWrites, std::uint32_t later, bool laterWrites,
               std::uint32_t location);
  void join(std::uint32_t block, std::uint32_t clock);
  std::uint32_t store(std::uint32_t block);
  std::uint32_t* clockOf(std::uint32_t block) { return m_clocks.data() + block * m_blocks; }

  const FlatProgram& m_flat;
  const Layout& m_layout;
  int m_rank;
  const RankHistory& m_history;
  int m_chunksPerMessage;
  std::vector<Suspect>& m_suspects;
  int m_first;
  std::size_t m_blocks;

  std::vector<std::uint32_t> m_clocks;       ///< per threadblock a row: events of each threadblock that happened before
  std::vector<std::uint32_t> m_stored;       ///< rows kept for later joins
  std::vector<std::uint32_t> m_clockOfStep;  ///< stored row at the end of each awaited step of the rank
  std::vector<std::uint32_t> m_echoSources;  ///< sorted events
  std::vector<std::uint32_t> m_clockOfSource;  ///< stored row of each
  std::size_t m_nextSource = 0;
  std::size_t m_nextEcho = 0;
  std::vector<Cursor> m_cursors;
  std::vector<Cell> m_cells;
  std::vector<Reader> m_readers;
  std::uint32_t m_freeReaders = kNoEvent;
  std::unordered_map<std::uint64_t, std::size_t> m_suspectOf;  ///< (later event, both threadblocks) -> suspect
};

void RankRaces::run() {
  m_clocks.assign(m_blocks * m_blocks, 0);
  m_cells.resize(m_layout.size(m_rank));
  for (std::size_t block = 0; block < m_blocks; ++block) {
    m_cursors.push_back({.step = m_flat.blocks[static_cast<std::size_t>(m_first) + block].firstStep});
  }
  const std::uint32_t firstStep = m_cursors.front().step;
  const std::uint32_t endStep = m_flat.blocks[static_cast<std::size_t>(m_first) + m_blocks - 1].endStep;
  m_clockOfStep.assign(endStep - firstStep, kNoEvent);
  for (const auto& [later, earlier] : m_history.echoes) {
    m_echoSources.push_back(earlier);
  }
  std::sort(m_echoSources.begin(), m_echoSources.end());
  m_echoSources.erase(std::unique(m_echoSources.begin(), m_echoSources.end()), m_echoSources.end());
  if (m_echoSources.size() * m_blocks > kMaxClockWords) {
    m_echoSources.clear();  // the second stage finds what these would have proved
    m_nextEcho = m_history.echoes.size();
  }
  for (std::uint32_t number = 0; number < m_history.events.size(); ++number) {
    step(number, m_history.events[number]);
  }
}

void RankRaces::step(std::uint32_t number, std::uint32_t block) {
  Cursor& cursor = m_cursors[block];
  const FlatStep& step = m_flat.steps[cursor.step];
  const std::uint32_t firstStep = m_flat.blocks[m_first].firstStep;
  ++clockOf(block)[block];
  if (cursor.chunk == 0 && step.waitsForBlock >= 0) {
    join(block, m_clockOfStep[step.waitsForStep - firstStep]);
  }
  for (; m_nextEcho < m_history.echoes.size() && m_history.echoes[m_nextEcho].first == number; ++m_nextEcho) {
    const auto source =
        std::lower_bound(m_echoSources.begin(), m_echoSources.end(), m_history.echoes[m_nextEcho].second);
    join(block, m_clockOfSource[source - m_echoSources.begin()]);
  }
  const int chunks = step.exchanges ? std::min(m_chunksPerMessage, step.count - cursor.chunk) : step.count;
  access(block, step, cursor.chunk, chunks);
  if (m_nextSource < m_echoSources.size() && m_echoSources[m_nextSource] == number) {
    m_clockOfSource.push_back(store(block));
    ++m_nextSource;
  }
  cursor.chunk += chunks;
  if (cursor.chunk >= step.count) {
    if (step.isTarget) {
      m_clockOfStep[cursor.step - firstStep] = store(block);
    }
    ++cursor.step;
    cursor.chunk = 0;
  }
}

void RankRaces::access(std::uint32_t block, const FlatStep& step, int firstChunk, int chunks) {
  const auto each = [&](program::Buffer buffer, int offset, auto touch) {
    const std::uint32_t first = m_layout.location(m_rank, buffer, offset + firstChunk);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      touch(first + static_cast<std::uint32_t>(chunk));
    }
  };
  const auto reads = [&](std::uint32_t location) { read(block, location); };
  if (usesSource(step.type)) {
    each(step.srcBuffer, step.srcOffset, reads);
  }
  if (step.type == program::StepType::reduce) {
    each(step.dstBuffer, step.dstOffset, reads);
  }
  if (usesDestination(step.type)) {
    each(step.dstBuffer, step.dstOffset, [&](std::uint32_t location) { write(block, location); });
  }
}

void RankRaces::read(std::uint32_t block, std::uint32_t location) {
  Cell& cell = m_cells[location];
  const std::uint32_t* clock = clockOf(block);
  if (cell.writer != kNoEvent && clock[cell.writer] < cell.writeEvent) {
    suspect(cell.writer, cell.writeEvent, true, block, false, location);
  }
  for (std::uint32_t reader = cell.readers; reader != kNoEvent; reader = m_readers[reader].next) {
    if (m_readers[reader].block == block) {
      m_readers[reader].event = clock[block];
      return;
    }
  }
  const Reader entry = {.block = block, .event = clock[block], .next = cell.readers};
  if (m_freeReaders != kNoEvent) {
    cell.readers = m_freeReaders;
    m_freeReaders = m_readers[m_freeReaders].next;
    m_readers[cell.readers] = entry;
  } else {
    cell.readers = static_cast<std::uint32_t>(m_readers.size());
    m_readers.push_back(entry);
  }
}

void RankRaces::write(std::uint32_t block, std::uint32_t location) {
  Cell& cell = m_cells[location];
  const std::uint32_t* clock = clockOf(block);
  if (cell.writer != kNoEvent && clock[cell.writer] < cell.writeEvent) {
    suspect(cell.writer, cell.writeEvent, true, block, true, location);
  }
  while (cell.readers != kNoEvent) {
    Reader& reader = m_readers[cell.readers];
    if (clock[reader.block] < reader.event) {
      suspect(reader.block, reader.event, false, block, true, location);
    }
    const std::uint32_t next = reader.next;
    reader.next = m_freeReaders;
    m_freeReaders = cell.readers;
    cell.readers = next;
  }
  cell.writer = block;
  cell.writeEvent = clock[block];
}

void RankRaces::suspect(std::uint32_t earlier, std::uint32_t event, bool earlierWrites, std::uint32_t later,
                        bool laterWrites, std::uint32_t location) {
  const std::uint32_t laterEvent = clockOf(later)[later];
  const std::uint64_t key = (std::uint64_t{laterEvent} << 20) | (std::uint64_t{earlier} << 10) | later;
  const auto [known, isNew] = m_suspectOf.emplace(key, m_suspects.size());
  if (isNew) {
    if (m_suspects.size() >= kMaxSuspects) {
      throw MemoryLimitError{};
    }
    m_suspects.emplace_back();
  }
  // Of several earlier accesses by one threadblock, the last is the one to be proved.
  if (Suspect& entry = m_suspects[known->second]; entry.earlierEvent < event) {
    entry = {.earlierBlock = m_first + static_cast<int>(earlier),
             .earlierEvent = event,
             .earlierWrites = earlierWrites,
             .laterBlock = m_first + static_cast<int>(later),
             .laterEvent = laterEvent,
             .laterWrites = laterWrites,
             .location = location};
  }
}

void RankRaces::join(std::uint32_t block, std::uint32_t clock) {
  std::uint32_t* into = clockOf(block);
  const std::uint32_t* from = m_stored.data() + std::size_t{clock} * m_blocks;
  for (std::size_t index = 0; index < m_blocks; ++index) {
    into[index] = std::max(into[index], from[index]);
  }
}

std::uint32_t RankRaces::store(std::uint32_t block) {
  const auto clock = static_cast<std::uint32_t>(m_stored.size() / m_blocks);
  m_stored.insert(m_stored.end(), clockOf(block), clockOf(block) + m_blocks);
  return clock;
}

/// Second stage: what suspected threadblocks know of each other, through all ranks.
constexpr std::size_t kColumns = 32;
using Knowledge = KnowledgeRun<kColumns>;

std::uint32_t stepOfEvent(const FlatProgram& flat, int block, std::uint32_t event, int chunksPerMessage) {
  const FlatBlock& owner = flat.blocks[block];
  std::uint32_t step = owner.firstStep;
  for (std::uint32_t events = 0; step < owner.endStep; ++step) {
    events += static_cast<std::uint32_t>(eventsOf(flat.steps[step], chunksPerMessage));
    if (events >= event) {
      break;
    }
  }
  return step;
}

void report(const program::Program& program, const FlatProgram& flat, const Layout& layout, const Suspect& race,
            int chunksPerMessage, program::FindingSink& sink) {
  if (!sink.wants(static_cast<int>(Check::race), Severity::error)) {
    return;
  }
  const std::uint32_t earlier = stepOfEvent(flat, race.earlierBlock, race.earlierEvent, chunksPerMessage);
  const std::uint32_t later = stepOfEvent(flat, race.laterBlock, race.laterEvent, chunksPerMessage);
  const int rank = flat.blocks[race.laterBlock].rank;
  sink.add(static_cast<int>(Check::race),
           {.severity = Severity::error,
            .code = ErrorCode::verification,
            .text = std::string(layout.inPlace() ? "in place: " : "out of place: ") + "race on " +
                    nameLocation(layout, rank, race.location) + ": " +
                    nameOperation(program, flat, race.earlierBlock, earlier) +
                    (race.earlierWrites ? " writes it and " : " reads it and ") +
                    nameOperation(program, flat, race.laterBlock, later) +
                    (race.laterWrites ? " writes it, in undefined order" : " reads it, in undefined order"),
            .fix = "let the one that must come later depend on the other",
            .where = {.element = stepElement(flat, race.laterBlock, later)}});
}

}  // namespace

void checkRaces(const program::Program& program, const FlatProgram& flat, const Layout& layout,
                const std::vector<RankHistory>& history, std::uint32_t depth, int chunksPerMessage,
                const Progress& progress, program::FindingSink& sink) {
  std::vector<Suspect> suspects;
  const int ranks = static_cast<int>(history.size());
  for (int rank = 0; rank < ranks; ++rank) {
    throwIfCancelled(progress);
    const auto index = static_cast<std::size_t>(rank);
    const auto blocks = static_cast<std::size_t>(flat.firstBlock[index + 1] - flat.firstBlock[index]);
    if (blocks > kMaxBlocks) {
      if (sink.wants(static_cast<int>(Check::notExamined), Severity::error)) {
        sink.add(static_cast<int>(Check::notExamined),
                 {.severity = Severity::error,
                  .code = ErrorCode::limit,
                  .text = "races are not examined beyond " + std::to_string(kMaxBlocks) + " threadblocks",
                  .where = {.element = {RefKind::rank, rank}}});
      }
    } else if (blocks > 1) {
      RankRaces(flat, layout, rank, history[index], chunksPerMessage, suspects).run();
    }
    progress.report("verifying races", static_cast<double>(rank + 1) / ranks);
  }
  std::vector<int> sources;
  for (const Suspect& suspect : suspects) {
    sources.push_back(suspect.earlierBlock);
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  std::stable_sort(suspects.begin(), suspects.end(),
                   [](const Suspect& left, const Suspect& right) { return left.earlierBlock < right.earlierBlock; });
  std::size_t races = 0;
  std::size_t next = 0;
  for (std::size_t first = 0; first < sources.size() && races < kEnoughRaces; first += kColumns) {
    const std::size_t end = std::min(first + kColumns, sources.size());
    const std::vector<int> columns(sources.begin() + static_cast<std::ptrdiff_t>(first),
                                   sources.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<Knowledge::Query> queries;
    for (; next < suspects.size() && suspects[next].earlierBlock <= columns.back(); ++next) {
      const auto column = std::lower_bound(columns.begin(), columns.end(), suspects[next].earlierBlock);
      queries.push_back({.block = suspects[next].laterBlock,
                         .event = suspects[next].laterEvent,
                         .column = static_cast<std::size_t>(column - columns.begin()),
                         .needed = suspects[next].earlierEvent,
                         .tag = next});
    }
    Knowledge knowledge(flat, depth, columns, std::move(queries));
    Execution(flat, depth, chunksPerMessage, knowledge, progress).run();
    for (const std::size_t suspect : knowledge.unordered()) {
      report(program, flat, layout, suspects[suspect], chunksPerMessage, sink);
      ++races;
    }
    progress.report("verifying races", static_cast<double>(end) / static_cast<double>(sources.size()));
  }
}

}  // namespace coppice::verify
