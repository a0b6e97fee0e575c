// SPDX-License-Identifier: Apache-2.0
#include "check/reference.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <numeric>
#include <type_traits>

#include "base/parallel.hpp"
#include "engine/kernels.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{64} << 20;  // of all ranks
constexpr std::int64_t kRotation = 7919;
constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;  // of one parallel task
constexpr std::int64_t kMaxExamples = 16;                    // of a rank
constexpr int kPoison = 0xFF;

std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

/// Calls visit with a value of the C++ type that holds an element's bits.
template <typename Visit>
auto withType(DataType type, Visit visit) {
  switch (type) {
    case DataType::int8:
      return visit(std::int8_t{});
    case DataType::uint8:
      return visit(std::uint8_t{});
    case DataType::int32:
      return visit(std::int32_t{});
    case DataType::int64:
      return visit(std::int64_t{});
    case DataType::float16:
    case DataType::bfloat16:
      return visit(std::uint16_t{});
    case DataType::float32:
      return visit(float{});
    case DataType::float64:
      break;
  }
  return visit(double{});
}

/// Exact value of a floating element.
double toReal(DataType type, const std::byte* element) {
  std::uint16_t bits = 0;
  float single = 0;
  double real = 0;
  switch (type) {
    case DataType::float16:
      std::memcpy(&bits, element, sizeof(bits));
      return halfToFloat(bits);
    case DataType::bfloat16:
      std::memcpy(&bits, element, sizeof(bits));
      return bfloatToFloat(bits);
    case DataType::float32:
      std::memcpy(&single, element, sizeof(single));
      return single;
    default:
      std::memcpy(&real, element, sizeof(real));
      return real;
  }
}

void fromReal(DataType type, double real, std::byte* element) {
  std::uint16_t bits = 0;
  const auto single = static_cast<float>(real);
  switch (type) {
    case DataType::float16:
      bits = floatToHalf(single);
      std::memcpy(element, &bits, sizeof(bits));
      return;
    case DataType::bfloat16:
      bits = floatToBfloat(single);
      std::memcpy(element, &bits, sizeof(bits));
      return;
    case DataType::float32:
      std::memcpy(element, &single, sizeof(single));
      return;
    default:
      std::memcpy(element, &real, sizeof(real));
      return;
  }
}

/// Whole numbers up to this are exact in the type.
std::int64_t exactWhole(DataType type) {
  switch (type) {
    case DataType::float16:
      return 2048;
    case DataType::bfloat16:
      return 256;
    case DataType::float32:
      return std::int64_t{1} << 24;
    default:
      return std::int64_t{1} << 50;
  }
}

/// One floating input. Any part of all ranks' values, reduced in any order, is exact.
double realInput(DataType type, ReduceOp op, int ranks, int rank, std::uint64_t shared, std::uint64_t own) {
  const std::int64_t exact = exactWhole(type);
  if (op == ReduceOp::min || op == ReduceOp::max) {
    return static_cast<double>(static_cast<std::int64_t>(own % static_cast<std::uint64_t>(2 * exact + 1)) - exact);
  }
  // Ranks in an order that differs from element to element: only the first of them get the values that grow results.
  const auto turn = (static_cast<std::uint64_t>(rank) + shared) % static_cast<std::uint64_t>(ranks);
  if (op == ReduceOp::prod) {
    const double sign = (own & 1U) != 0 ? -1 : 1;
    return turn < 4 ? 2 * sign : turn < 6 ? 0.5 * sign : sign;
  }
  const std::int64_t max = std::clamp<std::int64_t>(exact / ranks, 1, 64);
  if (turn >= static_cast<std::uint64_t>(exact)) {
    return 0;
  }
  return static_cast<double>(static_cast<std::int64_t>(own % static_cast<std::uint64_t>(2 * max + 1)) - max);
}

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::prod:
      return a * b;
    case ReduceOp::min:
      return std::min(a, b);
    case ReduceOp::max:
      return std::max(a, b);
    case ReduceOp::sum:
    case ReduceOp::avg:
      break;
  }
  return a + b;
}

template <typename T>
T combineWhole(ReduceOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::prod:
      return static_cast<T>(static_cast<U>(std::uint64_t{static_cast<U>(a)} * static_cast<U>(b)));
    case ReduceOp::min:
      return std::min(a, b);
    case ReduceOp::max:
      return std::max(a, b);
    case ReduceOp::sum:
    case ReduceOp::avg:
      break;
  }
  return static_cast<T>(static_cast<U>(std::uint64_t{static_cast<U>(a)} + static_cast<U>(b)));
}

/// @param of the tables to reduce, at least one
template <typename T>
std::vector<std::byte> reduceWhole(ReduceOp op, const std::vector<std::vector<std::byte>>& tables,
                                   const std::vector<int>& of, std::int64_t period) {
  std::vector<std::byte> result = tables[of.front()];
  const auto at = [](const std::vector<std::byte>& table, std::int64_t index) {
    T value{};
    std::memcpy(&value, table.data() + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return value;
  };
  for (std::int64_t index = 0; index < period; ++index) {
    T value = at(tables[of.front()], index);
    for (std::size_t i = 1; i < of.size(); ++i) {
      value = combineWhole(op, value, at(tables[of[i]], index));
    }
    if (op == ReduceOp::avg) {
      value = static_cast<T>(value / static_cast<std::int64_t>(of.size()));
    }
    std::memcpy(result.data() + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
  }
  return result;
}

/// @param of the tables to reduce, at least one
std::vector<std::byte> reduceReal(DataType type, ReduceOp op, const std::vector<std::vector<std::byte>>& tables,
                                  const std::vector<int>& of, std::int64_t period) {
  std::vector<std::byte> result(tables.front().size());
  const std::int64_t width = elementBytes(type);
  for (std::int64_t index = 0; index < period; ++index) {
    double value = toReal(type, tables[of.front()].data() + index * width);
    for (std::size_t i = 1; i < of.size(); ++i) {
      value = combine(op, value, toReal(type, tables[of[i]].data() + index * width));
    }
    if (op == ReduceOp::avg) {
      const auto ranks = static_cast<double>(of.size());
      // Rounded to float first where the division is done in float.
      value = type == DataType::float64 ? value / ranks
                                        : static_cast<double>(static_cast<float>(value) / static_cast<float>(ranks));
    }
    fromReal(type, value, result.data() + index * width);
  }
  return result;
}

/// Pieces of a buffer, in elements, for parallel work.
struct Piece {
  int rank = 0;
  BufferKind kind = BufferKind::output;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

void addPieces(std::vector<Piece>& pieces, int rank, BufferKind kind, std::int64_t elements, std::int64_t width) {
  const std::int64_t step = kPieceBytes / width;
  for (std::int64_t begin = 0; begin < elements; begin += step) {
    pieces.push_back({.rank = rank, .kind = kind, .begin = begin, .end = std::min(begin + step, elements)});
  }
}

bool isHostMemory(const RankBuffers& buffers) {
  return buffers.output != nullptr || buffers.input != nullptr;
}

}  // namespace

Reference::Reference(const Plan& plan, const Geometry& geometry, ReduceOp op, std::uint64_t seed)
    : m_plan(plan), m_geometry(geometry), m_op(op), m_period(61) {
  nameSums();
  const std::int64_t tables = plan.rankCount() + static_cast<std::int64_t>(m_sums.size());
  const std::int64_t longest = std::max<std::int64_t>(1, std::max(geometry.inputElements, geometry.outputElements));
  // No longer: each round begins elsewhere, and the tables stay in the cache.
  for (const std::int64_t prime : {std::int64_t{251}, std::int64_t{1021}, std::int64_t{4093}}) {
    if (prime * geometry.elementBytes * tables <= kMaxTableBytes && m_period < longest) {
      m_period = prime;
    }
  }
  makeTables(seed);
}

void Reference::nameSums() {
  if (m_plan.operation != Collective::custom) {
    if (reduces(m_plan.operation)) {
      m_sums.emplace_back(static_cast<std::size_t>(m_plan.rankCount()));
      std::iota(m_sums.back().begin(), m_sums.back().end(), 0);
    }
    return;
  }
  std::map<std::vector<int>, std::size_t> known;
  m_shardOf.assign(m_plan.chunksPerPart, 0);
  for (std::size_t shard = 0; shard < m_plan.custom.size(); ++shard) {
    const verify::CustomShard& row = m_plan.custom[shard];
    std::fill_n(m_shardOf.begin() + row.first, row.count, shard);
    m_sumOf.push_back(0);
    if (row.combines) {
      const auto [place, isNew] = known.emplace(row.sources, m_sums.size());
      m_sumOf.back() = place->second;
      if (isNew) {
        m_sums.push_back(row.sources);
      }
    }
  }
}

void Reference::makeTables(std::uint64_t seed) {
  const std::int64_t width = m_geometry.elementBytes;
  const auto ranks = static_cast<std::size_t>(m_plan.rankCount());
  const bool real = m_plan.combines() && isFloating(m_geometry.type);
  std::vector<std::uint64_t> sharedBy(static_cast<std::size_t>(m_period));
  for (std::size_t index = 0; index < sharedBy.size(); ++index) {
    sharedBy[index] = mix(seed ^ mix(index));
  }
  m_tables.resize(ranks);
  parallelFor(ranks, [&](std::size_t rank) {
    std::vector<std::byte>& table = m_tables[rank];
    table.resize(m_period * width);
    for (std::int64_t index = 0; index < m_period; ++index) {
      const std::uint64_t shared = sharedBy[static_cast<std::size_t>(index)];
      const std::uint64_t own = mix(shared ^ mix(rank + 1));
      std::byte* element = table.data() + index * width;
      if (real) {
        fromReal(m_geometry.type,
                 realInput(m_geometry.type, m_op, m_plan.rankCount(), static_cast<int>(rank), shared, own), element);
      } else {
        std::memcpy(element, &own, static_cast<std::size_t>(width));
      }
    }
  });
  std::vector<std::vector<std::byte>> sums(m_sums.size());
  parallelFor(m_sums.size(), [&](std::size_t sum) {
    if (isFloating(m_geometry.type)) {
      sums[sum] = reduceReal(m_geometry.type, m_op, m_tables, m_sums[sum], m_period);
      return;
    }
    sums[sum] = withType(m_geometry.type, [&](auto sample) -> std::vector<std::byte> {
      using T = decltype(sample);
      if constexpr (std::is_integral_v<T>) {
        return reduceWhole<T>(m_op, m_tables, m_sums[sum], m_period);
      }
      return {};
    });
  });
  std::move(sums.begin(), sums.end(), std::back_inserter(m_tables));
}

std::size_t Reference::position(std::int64_t element) const {
  const std::int64_t round = element / m_period;
  return static_cast<std::size_t>((element % m_period + round % m_period * kRotation) % m_period);
}

std::int64_t Reference::run(std::int64_t element) const {
  const std::int64_t toWrap = m_period - static_cast<std::int64_t>(position(element));
  const std::int64_t toNextRound = m_period - element % m_period;
  return std::min(toWrap, toNextRound);
}

const std::byte* Reference::value(int table, std::int64_t element) const {
  return m_tables[table].data() + position(element) * static_cast<std::size_t>(m_geometry.elementBytes);
}

bool Reference::isDefined(int rank) const {
  const bool onlyRoot = m_plan.operation == Collective::reduce || m_plan.operation == Collective::gather;
  return !onlyRoot || rank == m_plan.root;
}

Reference::Source Reference::sourceOf(int rank, std::int64_t element) const {
  const std::int64_t part = m_geometry.partElements;
  const std::int64_t left = m_geometry.outputElements - element;
  switch (m_plan.operation) {
    case Collective::allgather:
    case Collective::gather:
      return {.table = static_cast<int>(element / part), .first = element % part, .count = part - element % part};
    case Collective::alltoall:
      return {.table = static_cast<int>(element / part),
              .first = rank * part + element % part,
              .count = part - element % part};
    case Collective::reduceScatter:
      return {.table = m_plan.rankCount(), .first = rank * part + element, .count = left};
    case Collective::allreduce:
    case Collective::reduce:
      return {.table = m_plan.rankCount(), .first = element, .count = left};
    case Collective::broadcast:
      return {.table = m_plan.root, .first = element, .count = left};
    case Collective::scatter:
      return {.table = m_plan.root, .first = rank * part + element, .count = left};
    case Collective::custom:
      break;
  }
  return customSource(rank, element, true);
}

Reference::Source Reference::inputOf(int rank, std::int64_t element) const {
  return m_plan.operation == Collective::custom
             ? customSource(rank, element, false)
             : Source{.table = rank, .first = element, .count = m_geometry.inputElements - element};
}

/// All sources of a shard that does not combine have the data of the first one; who is not a source has its own.
Reference::Source Reference::customSource(int rank, std::int64_t element, bool ofOutput) const {
  const std::size_t shard = m_shardOf[element / m_geometry.chunkElements];
  const verify::CustomShard& row = m_plan.custom[shard];
  const auto holds = [&](const std::vector<int>& ranks) {
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  };
  Source source{.table = ofOutput ? -1 : rank,
                .first = element,
                .count = m_geometry.chunk(row.first + row.count - 1).end - element};
  if (holds(ofOutput ? row.destinations : row.sources)) {
    source.table = !row.combines ? row.sources.front()
                   : ofOutput    ? m_plan.rankCount() + static_cast<int>(m_sumOf[shard])
                                 : rank;
  }
  return source;
}

void Reference::copyTo(std::byte* to, int table, std::int64_t first, std::int64_t count) const {
  while (count > 0) {
    const std::int64_t now = std::min(count, run(first));
    std::memcpy(to, value(table, first), static_cast<std::size_t>(now * m_geometry.elementBytes));
    to += now * m_geometry.elementBytes;
    first += now;
    count -= now;
  }
}

Outcome Reference::fill(Backend& backend) const {
  const std::int64_t width = m_geometry.elementBytes;
  for (const bool poisons : {true, false}) {  // in place, the inputs are in the outputs
    std::vector<Piece> pieces;
    for (const int rank : backend.localRanks()) {
      addPieces(pieces, rank, poisons ? BufferKind::output : BufferKind::input,
                poisons ? m_geometry.outputElements : m_geometry.inputElements, width);
    }
    const auto write = [&](const Piece& piece, std::byte* to) {
      if (poisons) {
        std::memset(to, kPoison, static_cast<std::size_t>((piece.end - piece.begin) * width));
      } else {
        for (std::int64_t element = piece.begin; element < piece.end;) {
          const Source source = inputOf(piece.rank, element);
          const std::int64_t now = std::min(source.count, piece.end - element);
          copyTo(to + (element - piece.begin) * width, source.table, source.first, now);
          element += now;
        }
      }
    };
    const bool onHost = pieces.empty() || isHostMemory(backend.buffers(pieces.front().rank));
    if (onHost) {
      parallelFor(pieces.size(), [&](std::size_t index) {
        const Piece& piece = pieces[index];
        const RankBuffers buffers = backend.buffers(piece.rank);
        write(piece, (piece.kind == BufferKind::input ? buffers.input : buffers.output) + piece.begin * width);
      });
      continue;
    }
    std::vector<std::byte> staging(kPieceBytes);
    for (const Piece& piece : pieces) {
      write(piece, staging.data());
      const auto bytes = static_cast<std::size_t>((piece.end - piece.begin) * width);
      if (const Outcome written =
              backend.write(piece.rank, piece.kind, piece.begin * width, std::span(staging.data(), bytes));
          !written) {
        return written.error();
      }
    }
  }
  return Done{};
}

Result<CheckReport> Reference::check(Backend& backend) const {
  const std::int64_t width = m_geometry.elementBytes;
  std::vector<Piece> pieces;
  for (const int rank : backend.localRanks()) {
    if (isDefined(rank)) {
      addPieces(pieces, rank, BufferKind::output, m_geometry.outputElements, width);
    }
    if (m_plan.place == Place::outOfPlace) {
      addPieces(pieces, rank, BufferKind::input, m_geometry.inputElements, width);
    }
  }
  std::vector<CheckReport> reports(pieces.size());
  const bool onHost = pieces.empty() || isHostMemory(backend.buffers(pieces.front().rank));
  if (onHost) {
    parallelFor(pieces.size(), [&](std::size_t index) {
      const Piece& piece = pieces[index];
      const RankBuffers buffers = backend.buffers(piece.rank);
      compare((piece.kind == BufferKind::input ? buffers.input : buffers.output) + piece.begin * width, piece.rank,
              piece.kind, piece.begin, piece.end, reports[index]);
    });
  } else {
    std::vector<std::byte> staging(kPieceBytes);
    for (std::size_t index = 0; index < pieces.size(); ++index) {
      const Piece& piece = pieces[index];
      const auto bytes = static_cast<std::size_t>((piece.end - piece.begin) * width);
      if (const Outcome read =
              backend.read(piece.rank, piece.kind, piece.begin * width, std::span(staging.data(), bytes));
          !read) {
        return read.error();
      }
      compare(staging.data(), piece.rank, piece.kind, piece.begin, piece.end, reports[index]);
    }
  }
  CheckReport all;
  all.damagedGuards = backend.damagedGuards();
  std::vector<std::int64_t> examples(m_plan.rankCount());
  for (CheckReport& report : reports) {
    all.wrong += report.wrong;
    for (program::WrongRecord& example : report.examples) {
      if (examples[example.rank]++ < kMaxExamples) {
        all.examples.push_back(std::move(example));
      }
    }
  }
  return all;
}

void Reference::compare(const std::byte* data, int rank, BufferKind kind, std::int64_t begin, std::int64_t end,
                        CheckReport& report) const {
  const std::int64_t width = m_geometry.elementBytes;
  for (std::int64_t element = begin; element < end;) {
    const Source source = kind == BufferKind::output ? sourceOf(rank, element) : inputOf(rank, element);
    if (source.table < 0) {
      element += source.count;
      continue;
    }
    const std::int64_t now = std::min({source.count, run(source.first), end - element});
    const std::byte* found = data + (element - begin) * width;
    const std::byte* expected = value(source.table, source.first);
    if (std::memcmp(found, expected, static_cast<std::size_t>(now * width)) != 0) {
      for (std::int64_t index = 0; index < now; ++index) {
        if (std::memcmp(found + index * width, expected + index * width, static_cast<std::size_t>(width)) == 0) {
          continue;
        }
        if (report.wrong++ < kMaxExamples) {
          describe(rank, kind, element + index, found + index * width, source.table, source.first + index, report);
        }
      }
    }
    element += now;
  }
}

void Reference::describe(int rank, BufferKind kind, std::int64_t element, const std::byte* found, int table,
                         std::int64_t from, CheckReport& report) const {
  program::WrongRecord wrong = {.rank = rank,
                                .size = m_geometry.size,
                                .inPlace = m_plan.place == Place::inPlace,
                                .buffer = kind == BufferKind::output ? "o" : "i",
                                .element = element,
                                .expected = elementText(m_geometry.type, value(table, from)),
                                .found = elementText(m_geometry.type, found)};
  const std::int64_t part = m_geometry.partElements;
  wrong.chunk = static_cast<int>(element / part * m_geometry.chunksPerPart +
                                 element % part / std::max<std::int64_t>(1, m_geometry.chunkElements));
  // Chunks of i and o, counted from where the longer buffer begins.
  const auto shift = [&](program::Buffer buffer) {
    const bool inputIsShorter = m_plan.inputChunks < m_plan.outputChunks;
    const bool isShorter = buffer == (inputIsShorter ? program::Buffer::input : program::Buffer::output);
    const bool shifted = m_plan.inputChunks != m_plan.outputChunks && isShorter && m_plan.place == Place::inPlace;
    return shifted ? rank * m_plan.chunksPerPart : 0;
  };
  const program::Buffer own = kind == BufferKind::output ? program::Buffer::output : program::Buffer::input;
  const int chunk = wrong.chunk + shift(own);
  const PlanRank& blocks = m_plan.ranks[rank];
  for (int block = blocks.firstBlock; block < blocks.endBlock; ++block) {
    const PlanBlock& owner = m_plan.blocks[block];
    for (int index = owner.firstStep; index < owner.endStep; ++index) {
      const PlanStep& step = m_plan.steps[index];
      const bool sameMemory =
          m_plan.place == Place::inPlace ? step.dstBuffer != program::Buffer::scratch : step.dstBuffer == own;
      const int first = step.dstOffset + shift(step.dstBuffer);
      if (program::usesDestination(step.type) && sameMemory && chunk >= first && chunk < first + step.count) {
        wrong.writers.push_back(nameStep(m_plan, block, index));
      }
    }
  }
  report.examples.push_back(std::move(wrong));
}

std::string elementText(DataType type, const std::byte* element) {
  std::array<char, 64> text{};
  if (isFloating(type)) {
    std::snprintf(text.data(), text.size(), "%.9g", toReal(type, element));
    return text.data();
  }
  return withType(type, [&](auto value) {
    std::memcpy(&value, element, sizeof(value));
    if constexpr (std::is_integral_v<decltype(value)>) {
      return std::to_string(value);
    } else {
      return std::string();
    }
  });
}

}  // namespace coppice::executor
