// SPDX-License-Identifier: Apache-2.0
#include "lowering/interpreter.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace coppice::lowering::test {

namespace {

using program::Buffer;
using program::Program;
using program::RankProgram;
using program::Slot;
using program::Step;
using program::StepType;
using program::ThreadBlock;
using Clock = std::vector<int>;

struct Message {
  std::vector<std::uint64_t> values;
  Clock clock;
};

struct Access {
  int block = -1;  ///< global threadblock number
  int time = 0;
};

/// One chunk of memory in one iteration.
struct Cell {
  std::uint64_t value = 0;
  bool isDefined = false;
  Access written;
  std::vector<Access> read;
};

struct Block {
  int rank = 0;
  int id = 0;
  const ThreadBlock* plan = nullptr;
  int iteration = 0;
  int step = 0;
  int piece = 0;
  int published = -1;  ///< iteration * steps + step
  Clock clock;
  std::map<int, Clock> publishedClock;
};

struct Failure {
  std::string text;
};

class Machine {
public:
  Machine(const Program& program, const RunOptions& options)
      : m_program(program), m_options(options), m_random(options.seed) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const RankProgram& mine = program.ranks[rank];
      m_base.push_back(static_cast<int>(m_blocks.size()));
      for (int id = 0; id < static_cast<int>(mine.threadBlocks.size()); ++id) {
        Block block;
        block.rank = rank;
        block.id = id;
        block.plan = &mine.threadBlocks[id];
        m_blocks.push_back(block);
      }
    }
    if (m_options.checkRaces) {
      for (Block& block : m_blocks) {
        block.clock.assign(m_blocks.size(), 0);
      }
    }
    m_memory.resize(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      m_memory[rank].resize(static_cast<std::size_t>(options.iterations));
      for (auto& buffers : m_memory[rank]) {
        fill(rank, buffers);
      }
    }
  }

  void run() {
    std::vector<int> order(m_blocks.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int>(i);
    }
    std::size_t left = m_blocks.size();
    while (left > 0) {
      std::shuffle(order.begin(), order.end(), m_random);
      bool moved = false;
      left = 0;
      for (const int b : order) {
        const int turns = 1 + static_cast<int>(m_random() % 5);
        for (int turn = 0; turn < turns && advance(m_blocks[b], b); ++turn) {
          moved = true;
        }
        left += isDone(m_blocks[b]) ? 0 : 1;
      }
      if (left > 0 && !moved) {
        std::string text = "deadlock:";
        for (std::size_t b = 0; b < m_blocks.size() && text.size() < 400; ++b) {
          if (!isDone(m_blocks[b])) {
            text += " " + name(m_blocks[b]);
          }
        }
        throw Failure{text};
      }
    }
    for (const auto& [key, fifo] : m_fifos) {
      if (!fifo.empty()) {
        throw Failure{"a message was never received"};
      }
    }
    checkResult();
  }

private:
  using Buffers = std::vector<std::vector<Cell>>;  // input, output, scratch

  [[nodiscard]] int ranks() const { return static_cast<int>(m_program.ranks.size()); }
  [[nodiscard]] bool is(Collective collective) const {
    return m_program.collectiveText.empty() && m_program.collective == collective;
  }
  [[nodiscard]] bool is(const char* other) const { return m_program.collectiveText == other; }
  /// Of the longer buffer: what is said of it, where nchunksperloop counts one rank's share.
  [[nodiscard]] int chunks() const {
    int max = m_program.chunksPerLoop;
    for (const RankProgram& rank : m_program.ranks) {
      const int longer = is("gather") ? rank.outputChunks : is("scatter") ? rank.inputChunks : 0;
      max = std::max(max, longer);
    }
    return max;
  }
  [[nodiscard]] int slice() const { return chunks() / ranks(); }
  [[nodiscard]] static bool isDone(const Block& block) { return block.plan->steps.empty() || block.iteration < 0; }
  [[nodiscard]] std::string name(const Block& block) const {
    return "rank " + std::to_string(block.rank) + " tb " + std::to_string(block.id) + " step " +
           std::to_string(block.step) + " (iteration " + std::to_string(block.iteration) + ");";
  }

  [[nodiscard]] std::uint64_t original(int rank, int chunk) const {
    std::uint64_t x = (static_cast<std::uint64_t>(rank) * 1'000'003 + static_cast<std::uint64_t>(chunk)) * 2 + 1;
    x *= 0x9e3779b97f4a7c15ULL;
    return x ^ (x >> 29);
  }

  /// A gather or scatter in place may also claim one memory of all chunks on every rank, as other collectives do.
  [[nodiscard]] bool isWholeInPlace(int rank) const {
    const RankProgram& mine = m_program.ranks[rank];
    return m_program.inPlace && (mine.inputChunks == 0 || mine.outputChunks == 0);
  }

  /// Length of the caller's buffers; what the program says must agree with them.
  void fill(int rank, Buffers& buffers) {
    const bool gathers = is(Collective::allgather) || is("gather");
    const bool scatters = is(Collective::reduceScatter) || is("scatter");
    const bool isGiver = (!is(Collective::broadcast) && !is("scatter")) || rank == m_options.root;
    const RankProgram& mine = m_program.ranks[rank];
    const std::vector<int> said{mine.inputChunks, mine.outputChunks};
    const std::vector<int> real{gathers ? slice() : chunks(), scatters ? slice() : chunks()};
    buffers.resize(3);
    buffers[2].resize(static_cast<std::size_t>(mine.scratchChunks));
    if (m_program.inPlace && (is("gather") || is("scatter")) && !isWholeInPlace(rank)) {
      // Only the root's buffers are one memory; it needs the larger one. The others have the buffer that they give from
      // or get into.
      const bool isRoot = rank == m_options.root;
      const int used = isRoot == is("gather") ? 1 : 0;
      if (said != real) {
        throw Failure{"rank " + std::to_string(rank) + " claims buffers of the wrong size"};
      }
      buffers[used].resize(static_cast<std::size_t>(isRoot ? chunks() : slice()));
      for (int c = 0; c < static_cast<int>(buffers[used].size()); ++c) {
        if (is("gather") ? !isRoot || c / slice() == rank : isRoot) {
          set(buffers[used][c], original(rank, is("gather") && !isRoot ? rank * slice() + c : c));
        }
      }
      return;
    }
    if (m_program.inPlace) {
      // One memory: the larger buffer.
      if (std::max(said[0], said[1]) != chunks() || (said[0] != 0 && said[1] != 0)) {
        throw Failure{"rank " + std::to_string(rank) + " claims odd buffers in place"};
      }
      std::vector<Cell>& all = buffers[said[0] != 0 ? 0 : 1];
      all.resize(static_cast<std::size_t>(chunks()));
      for (int c = 0; c < chunks(); ++c) {
        if (gathers ? c / slice() == rank : isGiver) {
          set(all[c], original(rank, c));
        }
      }
      return;
    }
    if (said != real) {
      throw Failure{"rank " + std::to_string(rank) + " claims buffers of the wrong size"};
    }
    buffers[0].resize(static_cast<std::size_t>(real[0]));
    buffers[1].resize(static_cast<std::size_t>(real[1]));
    for (int c = 0; c < real[0]; ++c) {
      if (isGiver) {
        set(buffers[0][c], original(rank, gathers ? rank * slice() + c : c));
      }
    }
    if (is(Collective::reduce) && rank != m_options.root) {
      buffers[1].clear();  // callers may pass no output buffer there
    }
  }
  static void set(Cell& cell, std::uint64_t value) {
    cell.value = value;
    cell.isDefined = true;
  }

  Cell& cellAt(const Block& block, Slot slot, int offset, bool writes) {
    std::vector<Cell>& buffer = m_memory[block.rank][block.iteration][static_cast<int>(slot.buffer)];
    const int at = slot.offset + offset;
    if (slot.offset < 0 || at >= static_cast<int>(buffer.size())) {
      throw Failure{name(block) + " leaves its buffer"};
    }
    if (writes && !m_program.inPlace && slot.buffer == Buffer::input) {
      throw Failure{name(block) + " writes the caller's input"};
    }
    return buffer[at];
  }

  void mustPrecede(const Access& earlier, const Block& block, int number, const char* what) const {
    if (earlier.block >= 0 && earlier.block != number && block.clock[earlier.block] < earlier.time) {
      throw Failure{name(block) + " " + what + " of " + name(m_blocks[earlier.block])};
    }
  }

  std::uint64_t load(Block& block, int number, Slot slot, int offset) {
    Cell& cell = cellAt(block, slot, offset, false);
    if (!cell.isDefined) {
      throw Failure{name(block) + " reads what nobody wrote"};
    }
    if (m_options.checkRaces) {
      mustPrecede(cell.written, block, number, "reads beside a write");
      cell.read.push_back({number, block.clock[number]});
    }
    return cell.value;
  }

  void store(Block& block, int number, Slot slot, int offset, std::uint64_t value) {
    Cell& cell = cellAt(block, slot, offset, true);
    if (m_options.checkRaces) {
      mustPrecede(cell.written, block, number, "writes beside a write");
      for (const Access& access : cell.read) {
        mustPrecede(access, block, number, "writes beside a read");
      }
      cell.read.clear();
      cell.written = {number, block.clock[number]};
    }
    set(cell, value);
  }

  static void join(Clock& clock, const Clock& other) {
    for (std::size_t i = 0; i < clock.size(); ++i) {
      clock[i] = std::max(clock[i], other[i]);
    }
  }

  bool advance(Block& block, int number) {
    if (isDone(block)) {
      return false;
    }
    const Step& step = block.plan->steps[block.step];
    if (block.piece == 0 && step.dependsOnTb >= 0) {
      Block& other = m_blocks[m_base[block.rank] + step.dependsOnTb];
      const int wanted = block.iteration * static_cast<int>(other.plan->steps.size()) + step.dependsOnStep;
      if (other.published < wanted) {
        return false;
      }
      if (m_options.checkRaces) {
        join(block.clock, other.publishedClock.lower_bound(wanted)->second);
      }
    }
    const std::tuple in{block.plan->recvPeer, block.rank, block.plan->channel};
    const std::tuple out{block.rank, block.plan->sendPeer, block.plan->channel};
    if (program::receives(step.type) && m_fifos[in].empty()) {
      return false;
    }
    if (program::sends(step.type) && static_cast<int>(m_fifos[out].size()) >= m_options.depth) {
      return false;
    }
    if (m_options.checkRaces) {
      ++block.clock[number];
    }
    const int first = block.piece * m_options.chunksPerMessage;
    const int last = std::min(first + m_options.chunksPerMessage, step.count);
    Message arrived;
    if (program::receives(step.type)) {
      arrived = std::move(m_fifos[in].front());
      m_fifos[in].pop_front();
      if (m_options.checkRaces) {
        join(block.clock, arrived.clock);
      }
      if (static_cast<int>(arrived.values.size()) != last - first) {
        throw Failure{name(block) + " gets a message of another size"};
      }
    }
    Message leaving;
    for (int c = first; c < last; ++c) {
      std::uint64_t x = program::receives(step.type) ? arrived.values[c - first] : 0;
      switch (step.type) {
        case StepType::send:
          x = load(block, number, step.src, c);
          break;
        case StepType::recv:
        case StepType::recvCopySend:
          store(block, number, step.dst, c, x);
          break;
        case StepType::recvReduceSend:
          x += load(block, number, step.src, c);
          break;
        case StepType::recvReduceCopy:
        case StepType::recvReduceCopySend:
          x += load(block, number, step.src, c);
          store(block, number, step.dst, c, x);
          break;
        case StepType::copy:
          store(block, number, step.dst, c, load(block, number, step.src, c));
          break;
        case StepType::reduce:
          store(block, number, step.dst, c, load(block, number, step.dst, c) + load(block, number, step.src, c));
          break;
        case StepType::nop:
          break;
      }
      leaving.values.push_back(x);
    }
    if (program::sends(step.type)) {
      leaving.clock = block.clock;
      m_fifos[out].push_back(std::move(leaving));
    }
    ++block.piece;
    if (last < step.count) {
      return true;
    }
    if (step.hasDependent) {
      block.published = block.iteration * static_cast<int>(block.plan->steps.size()) + block.step;
      if (m_options.checkRaces) {
        block.publishedClock[block.published] = block.clock;
      }
    }
    block.piece = 0;
    if (++block.step == static_cast<int>(block.plan->steps.size())) {
      block.step = 0;
      block.iteration = block.iteration + 1 < m_options.iterations ? block.iteration + 1 : -1;
    }
    return true;
  }

  void expect(int rank, int iteration, int buffer, int offset, std::uint64_t value) const {
    const Cell& cell = m_memory[rank][iteration][buffer][offset];
    if (!cell.isDefined || cell.value != value) {
      throw Failure{"rank " + std::to_string(rank) + " ends with a wrong chunk " + std::to_string(offset) +
                    " in iteration " + std::to_string(iteration)};
    }
  }
  [[nodiscard]] std::uint64_t sum(int chunk) const {
    std::uint64_t total = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      total += original(rank, chunk);
    }
    return total;
  }

  void checkResult() const {
    for (int rank = 0; rank < ranks(); ++rank) {
      for (int iteration = 0; iteration < m_options.iterations; ++iteration) {
        const bool usesInput = m_program.inPlace && m_program.ranks[rank].inputChunks > 0;
        const int result = usesInput ? 0 : 1;
        for (int c = 0; c < chunks(); ++c) {
          if (is("alltoall")) {
            expect(rank, iteration, result, c, original(c / slice(), rank * slice() + c % slice()));
            continue;
          }
          if (is("gather") || is("scatter")) {
            const bool isRootInPlace = m_program.inPlace && rank == m_options.root;
            if (is("gather") && rank == m_options.root) {
              expect(rank, iteration, isWholeInPlace(rank) ? result : 1, c, original(c / slice(), c));
            } else if (is("scatter") && c / slice() == rank && isWholeInPlace(rank)) {
              expect(rank, iteration, result, c, original(m_options.root, c));
            } else if (is("scatter") && c / slice() == rank) {
              expect(rank, iteration, isRootInPlace ? 0 : 1, isRootInPlace ? c : c % slice(),
                     original(m_options.root, c));
            }
            continue;
          }
          switch (m_program.collective) {
            case Collective::allgather:
              expect(rank, iteration, result, c, original(c / slice(), c));
              break;
            case Collective::broadcast:
              expect(rank, iteration, result, c, original(m_options.root, c));
              break;
            case Collective::allreduce:
              expect(rank, iteration, result, c, sum(c));
              break;
            case Collective::reduce:
              if (rank == m_options.root) {
                expect(rank, iteration, result, c, sum(c));
              }
              break;
            case Collective::reduceScatter:
              if (c / slice() == rank) {
                expect(rank, iteration, result, m_program.inPlace ? c : c % slice(), sum(c));
              }
              break;
            default:
              break;
          }
        }
      }
    }
  }

  const Program& m_program;
  const RunOptions& m_options;
  std::mt19937_64 m_random;
  std::vector<Block> m_blocks;
  std::vector<int> m_base;
  std::vector<std::vector<Buffers>> m_memory;  // by rank, iteration
  std::map<std::tuple<int, int, int>, std::deque<Message>> m_fifos;
};

}  // namespace

std::string run(const Program& program, const RunOptions& options) {
  try {
    Machine(program, options).run();
  } catch (const Failure& failure) {
    return failure.text;
  }
  return {};
}

std::string checkLimits(const Program& program, program::Runtime runtime) {
  const program::RuntimeLimits& limit = program::limits(runtime);
  if (program.channels > std::min(limit.channels, 32) || program.chunksPerLoop > limit.offset + 1) {
    return "channels or chunks";
  }
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const RankProgram& mine = program.ranks[rank];
    const std::string where = "rank " + std::to_string(rank);
    const auto blocks = static_cast<int>(mine.threadBlocks.size());
    if (blocks == 0 || blocks > std::min(limit.threadBlocksPerRank, 108)) {
      return where + ": " + std::to_string(blocks) + " threadblocks";
    }
    std::size_t elements = 1 + program.ranks.size() + mine.threadBlocks.size();
    std::map<int, int> senders;
    std::map<int, int> receivers;
    std::set<std::pair<int, int>> owned;
    std::set<std::pair<int, int>> awaited;
    std::set<std::pair<int, int>> published;
    for (int id = 0; id < blocks; ++id) {
      const ThreadBlock& block = mine.threadBlocks[id];
      elements += block.steps.size();
      if (block.steps.empty() || static_cast<int>(block.steps.size()) > limit.stepsPerThreadBlock) {
        return where + ": " + std::to_string(block.steps.size()) + " steps";
      }
      if (block.channel < 0 || block.channel >= program.channels) {
        return where + ": channel outside nchannels";
      }
      if (block.sendPeer >= 0 && (++senders[block.channel] > limit.peersPerChannel ||
                                  !owned.insert({block.sendPeer * 2, block.channel}).second)) {
        return where + ": senders of a channel";
      }
      if (block.recvPeer >= 0 && (++receivers[block.channel] > limit.peersPerChannel ||
                                  !owned.insert({block.recvPeer * 2 + 1, block.channel}).second)) {
        return where + ": receivers of a channel";
      }
      for (int s = 0; s < static_cast<int>(block.steps.size()); ++s) {
        const Step& step = block.steps[s];
        if ((program::sends(step.type) && block.sendPeer < 0) || (program::receives(step.type) && block.recvPeer < 0)) {
          return where + ": a step without its peer";
        }
        const bool isNop = step.type == StepType::nop;
        if (isNop && (step.dependsOnTb < 0 || step.hasDependent || s + 1 == static_cast<int>(block.steps.size()) ||
                      block.steps[s + 1].dependsOnTb < 0)) {
          return where + ": a nop that shifts the numbers of the steps, or waits for nothing";
        }
        if (!isNop && (step.count < 1 || step.count > limit.count)) {
          return where + ": a count";
        }
        if (program::isRccl(runtime) && program::sends(step.type) && program::receives(step.type)) {
          return where + ": a type that ROCm lacks";
        }
        if (isNop) {
          // Nothing is moved.
        } else if (step.src.offset < 0 || step.src.offset > limit.offset || step.dst.offset < 0 ||
                   step.dst.offset > limit.offset) {
          return where + ": an offset";
        }
        if (step.hasDependent) {
          published.insert({id, s});
        }
        if (step.dependsOnTb >= 0) {
          if (step.dependsOnTb >= blocks || step.dependsOnTb > limit.dependencyTb || step.dependsOnTb == id ||
              step.dependsOnStep < 0 ||
              step.dependsOnStep >= static_cast<int>(mine.threadBlocks[step.dependsOnTb].steps.size())) {
            return where + ": a dependency";
          }
          awaited.insert({step.dependsOnTb, step.dependsOnStep});
        }
      }
    }
    if (awaited != published) {
      return where + ": steps publish without being waited for, or the reverse";
    }
    if (static_cast<int>(elements) > limit.xmlNodes) {
      return where + ": " + std::to_string(elements) + " XML elements";
    }
  }
  return {};
}

}  // namespace coppice::lowering::test
