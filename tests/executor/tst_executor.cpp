// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <QtTest>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "check/reference.hpp"
#include "engine/buffers.hpp"
#include "engine/kernels.hpp"
#include "engine/script.hpp"
#include "executor/support.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"
#include "support/sample_programs.hpp"
#include "threads/cores.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;
using program::RunExit;

namespace {

const char* const kStrangers[] = {"ring-allgather.xml", "ring-allreduce.xml", "all-pairs-allreduce.xml", "gather.xml",
                                  "scatter.xml"};

template <typename Flag>
int countSteps(const Plan& plan, Flag flag) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), flag));
}

/// A backend that spoils what the real one computed.
class Saboteur : public Backend {
public:
  enum class Deed { output, guard, input };
  Saboteur(std::unique_ptr<Backend> real, Deed deed) : m_real(std::move(real)), m_deed(deed) {}

  BackendInfo info() const override { return m_real->info(); }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override { return m_real->need(plan, geometry); }
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override {
    return m_real->pieceBytes(plan, type, bytes);
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override {
    m_bytes = geometry.outputElements * geometry.elementBytes;
    return m_real->prepare(plan, geometry);
  }
  std::vector<int> localRanks() const override { return m_real->localRanks(); }
  RankBuffers buffers(int rank) override { return m_real->buffers(rank); }
  std::int64_t damagedGuards() override { return m_real->damagedGuards(); }
  RunResult run(const RunRequest& request) override {
    RunResult result = m_real->run(request);
    const RankBuffers last = m_real->buffers(m_real->localRanks().back());
    switch (m_deed) {
      case Deed::output:
        last.output[m_bytes - 1] ^= std::byte{1};
        break;
      case Deed::guard:
        last.output[m_bytes] ^= std::byte{1};
        break;
      case Deed::input:
        last.input[0] ^= std::byte{1};
        break;
    }
    return result;
  }
  void abort() noexcept override { m_real->abort(); }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override { return m_real->takeTrace(dropped); }
  double measureMemory(std::stop_token stop) override { return m_real->measureMemory(stop); }

private:
  std::unique_ptr<Backend> m_real;
  Deed m_deed;
  std::int64_t m_bytes = 0;
};

/// A backend whose memory the host cannot see: everything goes through read and write.
class Remote : public Backend {
public:
  explicit Remote(std::unique_ptr<Backend> real) : m_real(std::move(real)) {}

  BackendInfo info() const override { return m_real->info(); }
  MemoryNeed need(const Plan& plan, const Geometry& geometry) const override { return m_real->need(plan, geometry); }
  std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const override {
    return m_real->pieceBytes(plan, type, bytes);
  }
  Outcome prepare(const Plan& plan, const Geometry& geometry) override { return m_real->prepare(plan, geometry); }
  std::vector<int> localRanks() const override { return m_real->localRanks(); }
  RankBuffers buffers(int /*rank*/) override { return {}; }
  Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data) override {
    const RankBuffers real = m_real->buffers(rank);
    std::memcpy((kind == BufferKind::input ? real.input : real.output) + offset, data.data(), data.size());
    return Done{};
  }
  Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data) override {
    const RankBuffers real = m_real->buffers(rank);
    std::memcpy(data.data(), (kind == BufferKind::input ? real.input : real.output) + offset, data.size());
    return Done{};
  }
  RunResult run(const RunRequest& request) override { return m_real->run(request); }
  void abort() noexcept override { m_real->abort(); }
  std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) override { return m_real->takeTrace(dropped); }
  double measureMemory(std::stop_token stop) override { return m_real->measureMemory(stop); }

private:
  std::unique_ptr<Backend> m_real;
};

/// Two exchanges of two ranks at once, so that a message can be written where a slow reader still reads.
program::Program overwrittenSource() {
  using namespace samples;
  // Rank 0 sends i[0] to rank 1 and then overwrites it with what rank 1 sends; nothing makes rank 1 read before that.
  Program program = empty(Collective::allreduce, 2, 1, true, 1, 1);
  for (int rank = 0; rank < 2; ++rank) {
    ThreadBlock block = {.sendPeer = 1 - rank, .recvPeer = 1 - rank};
    block.steps = {step(StepType::send, {kIn, 0}), step(StepType::recvReduceCopy, {kIn, 0})};
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

program::Program deepSends(int messages) {
  using namespace samples;
  // Both ranks send all their chunks before they receive any.
  Program program = empty(Collective::allgather, 2, 2 * messages, true, messages, 2 * messages);
  for (int rank = 0; rank < 2; ++rank) {
    ThreadBlock block = {.sendPeer = 1 - rank, .recvPeer = 1 - rank};
    for (int chunk = 0; chunk < messages; ++chunk) {
      block.steps.push_back(step(StepType::send, {kOut, rank * messages + chunk}));
    }
    for (int chunk = 0; chunk < messages; ++chunk) {
      block.steps.push_back(step(StepType::recv, {kOut, (1 - rank) * messages + chunk}));
    }
    program.ranks[rank].threadBlocks = {block};
  }
  return program;
}

/// Rank 0's chunk 0 rests in rank 1's place of chunk 1 on its way: of another length when the last chunk is short.
program::Program misplacedChunk() {
  using namespace samples;
  Program program = empty(Collective::broadcast, 2, 2, false, 2, 2);
  program.ranks[0].threadBlocks = {
      {.sendPeer = 1, .steps = {step(StepType::send, {kIn, 0}), step(StepType::send, {kIn, 1})}},
      {.steps = {step(StepType::copy, {kIn, 0}, {kOut, 0}, 2)}}};
  program.ranks[1].threadBlocks = {
      {.recvPeer = 0,
       .steps = {step(StepType::recv, {kOut, 1}), step(StepType::copy, {kOut, 1}, {kOut, 0}),
                 step(StepType::recv, {kOut, 1})}}};
  return program;
}

}  // namespace

class ExecutorTest : public QObject {
  Q_OBJECT

private slots:
  void halfIsExact();
  void kernelsMatchPlainLoops_data();
  void kernelsMatchPlainLoops();
  void division();
  void geometry_data();
  void geometry();
  void geometryRefuses();
  void buffersAreGuarded();
  void proofs();
  void chunksOfEqualLength();
  void refusals_data();
  void refusals();
  void depth();
  void limits();
  void samplesOnThreads_data();
  void samplesOnThreads();
  void thirdPartyOnThreads_data();
  void thirdPartyOnThreads();
  void typesAndOps_data();
  void typesAndOps();
  void manySizes();
  void depthsAndWorkers_data();
  void depthsAndWorkers();
  void smallOperations_data();
  void smallOperations();
  void sameBitsEveryTime();
  void deadlockIsFound_data();
  void deadlockIsFound();
  void wrongDataIsFound();
  void sabotageIsFound();
  void memoryThatHostsDoNotSee();
  void stops();
  void tooMuchMemory();
  void traceCoversEveryMessage();
  void sizes();
  void coresInGroups();
  void coresLeft();
  void recordsReadBack_data();
  void recordsReadBack();
  void recordsAreStrict_data();
  void recordsAreStrict();
  void longRecordsAreCut();
  void commands();
};

/// Every half and every bfloat16 survives; rounding is to nearest even, checked against the neighbours.
void ExecutorTest::halfIsExact() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    const float half = halfToFloat(word);
    const int exponent = (word >> 10) & 31;
    const int fraction = word & 0x3FF;
    const float sign = (word & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 31 && fraction != 0) {
      QVERIFY(std::isnan(half));
      QVERIFY(std::isnan(halfToFloat(floatToHalf(half))));
    } else {
      const float expected = exponent == 31  ? sign * std::numeric_limits<float>::infinity()
                             : exponent == 0 ? sign * std::ldexp(static_cast<float>(fraction), -24)
                                             : sign * std::ldexp(1024.0F + static_cast<float>(fraction), exponent - 25);
      QCOMPARE(half, expected);
      QCOMPARE(floatToHalf(half), word);
    }
    const float bfloat = bfloatToFloat(word);
    if (!std::isnan(bfloat)) {
      QCOMPARE(floatToBfloat(bfloat), word);
    }
  }
  for (std::uint32_t bits = 0; bits < 0x7BFF; ++bits) {  // between each half and the next
    const float low = halfToFloat(static_cast<std::uint16_t>(bits));
    const float high = halfToFloat(static_cast<std::uint16_t>(bits + 1));
    const float middle = (low + high) / 2;
    QCOMPARE(floatToHalf(std::nextafter(middle, low)), static_cast<std::uint16_t>(bits));
    QCOMPARE(floatToHalf(std::nextafter(middle, high)), static_cast<std::uint16_t>(bits + 1));
    QCOMPARE(floatToHalf(middle), static_cast<std::uint16_t>(bits % 2 == 0 ? bits : bits + 1));
  }
  QCOMPARE(floatToHalf(65519.0F), std::uint16_t{0x7BFF});
  QCOMPARE(floatToHalf(65520.0F), std::uint16_t{0x7C00});
  QCOMPARE(floatToHalf(-1e30F), std::uint16_t{0xFC00});
  QCOMPARE(floatToBfloat(1.00390625F), std::uint16_t{0x3F80});  // a tie, to even
  QCOMPARE(floatToBfloat(1.01171875F), std::uint16_t{0x3F82});
  QVERIFY(std::isnan(bfloatToFloat(floatToBfloat(std::numeric_limits<float>::quiet_NaN()))));
}

void ExecutorTest::kernelsMatchPlainLoops_data() {
  QTest::addColumn<int>("type");
  for (const DataType type : kAllTypes) {
    QTest::newRow(std::string(toString(type)).c_str()) << static_cast<int>(type);
  }
}

/// Streamed and cached stores, with the destination apart, or being one operand, at every alignment of elements.
void ExecutorTest::kernelsMatchPlainLoops() {
  QFETCH(int, type);
  const auto kind = static_cast<DataType>(type);
  const std::int64_t width = elementBytes(kind);
  std::mt19937 random(7);
  const auto value = [&](std::byte* to) {
    if (kind == DataType::float32) {
      const auto real = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
      std::memcpy(to, &real, sizeof(real));
    } else if (kind == DataType::float64) {
      const double real = (static_cast<double>(random() % 20001) - 10000) / 8;
      std::memcpy(to, &real, sizeof(real));
    } else if (kind == DataType::float16 || kind == DataType::bfloat16) {
      const auto real = static_cast<float>(static_cast<int>(random() % 101) - 50) / 4;
      const std::uint16_t bits = kind == DataType::float16 ? floatToHalf(real) : floatToBfloat(real);
      std::memcpy(to, &bits, sizeof(bits));
    } else {
      for (std::int64_t byte = 0; byte < width; ++byte) {
        to[byte] = static_cast<std::byte>(random());
      }
    }
  };
  for (const std::int64_t count : {0, 1, 7, 63, 64, 65, 1000, 5001}) {
    for (const std::int64_t shift : {0, 1, 3}) {
      std::vector<std::byte> a(static_cast<std::size_t>((count + 8) * width));
      std::vector<std::byte> b(a.size());
      for (std::int64_t index = 0; index < count + 8; ++index) {
        value(a.data() + index * width);
        value(b.data() + index * width);
      }
      for (const ReduceOp op : kAllOps) {
        std::vector<std::byte> plain(a.size());
        for (std::int64_t index = 0; index < count; ++index) {  // one element at a time cannot go wrong with lines
          const std::int64_t at = (index + shift) * width;
          reduceBytes(kind, op, plain.data() + at, a.data() + at, b.data() + at, width, Store::cached);
        }
        for (const Store store : {Store::cached, Store::streamed}) {
          std::vector<std::byte> apart(a.size());
          std::vector<std::byte> onto = b;
          const std::int64_t at = shift * width;
          reduceBytes(kind, op, apart.data() + at, a.data() + at, b.data() + at, count * width, store);
          reduceBytes(kind, op, onto.data() + at, a.data() + at, onto.data() + at, count * width, store);
          QVERIFY(std::memcmp(apart.data(), plain.data(), apart.size()) == 0);
          QVERIFY(std::memcmp(onto.data() + at, plain.data() + at, static_cast<std::size_t>(count * width)) == 0);
          QVERIFY(std::memcmp(onto.data() + at + count * width, b.data() + at + count * width,
                              b.size() - static_cast<std::size_t>(at + count * width)) == 0);
          std::vector<std::byte> copied(a.size());
          copyBytes(copied.data() + at + 1, a.data() + at, std::max<std::int64_t>(0, count * width - 1), store);
          QVERIFY(count == 0 ||
                  std::memcmp(copied.data() + at + 1, a.data() + at, static_cast<std::size_t>(count * width - 1)) == 0);
        }
      }
    }
  }
  // And one element by hand.
  std::byte two[8] = {};
  std::byte three[8] = {};
  const auto set = [&](std::byte* to, int whole) {
    const auto real = static_cast<float>(whole);
    const double wide = whole;
    const std::int64_t integer = whole;
    const std::uint16_t bits = kind == DataType::float16 ? floatToHalf(real) : floatToBfloat(real);
    const void* from = kind == DataType::float32   ? static_cast<const void*>(&real)
                       : kind == DataType::float64 ? static_cast<const void*>(&wide)
                       : isFloating(kind)          ? static_cast<const void*>(&bits)
                                                   : static_cast<const void*>(&integer);
    std::memcpy(to, from, static_cast<std::size_t>(width));
  };
  set(two, 2);
  set(three, 3);
  for (const auto& [op, expected] : {std::pair{ReduceOp::sum, 5}, std::pair{ReduceOp::prod, 6},
                                     std::pair{ReduceOp::min, 2}, std::pair{ReduceOp::max, 3}}) {
    std::byte result[8] = {};
    std::byte wanted[8] = {};
    reduceBytes(kind, op, result, two, three, width, Store::cached);
    set(wanted, expected);
    QVERIFY(std::memcmp(result, wanted, static_cast<std::size_t>(width)) == 0);
  }
}

void ExecutorTest::division() {
  std::int8_t small[3] = {-7, 100, 127};
  divideBytes(DataType::int8, reinterpret_cast<std::byte*>(small), 3, 256);  // a divisor that int8 cannot hold
  QCOMPARE(small[0], std::int8_t{0});
  QCOMPARE(small[2], std::int8_t{0});
  float real[2] = {10, -3};
  divideBytes(DataType::float32, reinterpret_cast<std::byte*>(real), 8, 4);
  QCOMPARE(real[0], 2.5F);
  QCOMPARE(real[1], -0.75F);
  std::int32_t whole[2] = {-7, 7};
  divideBytes(DataType::int32, reinterpret_cast<std::byte*>(whole), 8, 2);
  QCOMPARE(whole[0], -3);
  QCOMPARE(whole[1], 3);
}

void ExecutorTest::geometry_data() {
  QTest::addColumn<int>("bytes");
  QTest::addColumn<int>("piece");
  for (const int bytes : {0, 1, 4, 60, 1000, 4097, 1 << 20}) {
    for (const int piece : {1, 64, 1000, 1 << 17}) {
      QTest::addRow("%d bytes in pieces of %d", bytes, piece) << bytes << piece;
    }
  }
}

/// Chunks tile the buffers without gaps; slices tile the chunks; no piece is longer than its slot.
void ExecutorTest::geometry() {
  QFETCH(int, bytes);
  QFETCH(int, piece);
  for (const auto& [name, sample] : samples::allPrograms()) {
    const Job job = jobOf(sample);
    QVERIFY2(job.inPlace || job.outOfPlace, name.c_str());
    const Plan& plan = job.any();
    const auto geometry = makeGeometry(plan, {.type = DataType::float32, .bytes = bytes, .pieceBytes = piece});
    QVERIFY(geometry);
    QVERIFY(geometry->size <= std::max(bytes, plan.needsEqualChunks ? 4 * plan.chunksPerLoop + bytes : 0));
    std::int64_t end = 0;
    const int chunks = std::max(plan.inputChunks, plan.outputChunks);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const Range whole = geometry->chunk(chunk);
      QCOMPARE(whole.begin, end);
      std::int64_t at = whole.begin;
      for (std::int64_t tile = 0; tile < geometry->tiles; ++tile) {
        const Range slice = geometry->slice(program::Buffer::output, chunk, tile);
        QCOMPARE(slice.begin, at);
        at = slice.end;
        QVERIFY(slice.size() * 4 * geometry->chunksPerMessage <= geometry->slotBytes);
      }
      QCOMPARE(at, whole.end);
      end = whole.end;
    }
    QCOMPARE(end, std::max(geometry->inputElements, geometry->outputElements));
    const Script script = makeScript(plan, *geometry, true);
    for (const Op& op : script.ops) {
      QVERIFY(op.bytes >= 0);
      QVERIFY(script.tiles > 1 || op.bytes <= script.slotBytes);
    }
  }
}

void ExecutorTest::geometryRefuses() {
  const Job job = jobOf(samples::ringAllgather(4, 1, true));
  QVERIFY(!makeGeometry(*job.inPlace, {.bytes = -1}));
  QVERIFY(!makeGeometry(*job.inPlace, {.bytes = 8, .pieceBytes = 0}));
  const auto huge = makeGeometry(*job.inPlace, {.bytes = std::numeric_limits<std::int64_t>::max()});
  QVERIFY(!huge || huge->size > 0);
}

void ExecutorTest::buffersAreGuarded() {
  const Job job = jobOf(samples::ringAllgather(4, 1, true));
  const auto geometry = makeGeometry(*job.inPlace, {.type = DataType::int8, .bytes = 28});
  for (int rank = 0; rank < 4; ++rank) {
    const BufferLayout layout = layOutBuffers(*job.inPlace, *geometry, rank);
    QCOMPARE(layout.input, layout.output + rank * 7);
    std::vector<std::byte> block(static_cast<std::size_t>(layout.bytes));
    writeGuards(block.data(), layout);
    QCOMPARE(damagedGuards(block.data(), layout), 0);
    std::fill(block.begin() + layout.output, block.begin() + layout.output + 28, std::byte{0});
    QCOMPARE(damagedGuards(block.data(), layout), 0);
    block[layout.output + 28] = std::byte{0};
    block[layout.output - 1] = std::byte{0};
    QCOMPARE(damagedGuards(block.data(), layout), 2);
  }
}

/// What may go by pointer and what may not.
void ExecutorTest::proofs() {
  const Job gather = jobOf(samples::ringAllgather(4, 1, true));
  // Nothing is ever written twice: all sends are stable, all places free from the start.
  QCOMPARE(countSteps(*gather.inPlace, [](const PlanStep& s) { return program::sends(s.type) && !s.sourceStable; }), 0);
  QCOMPARE(countSteps(*gather.inPlace, [](const PlanStep& s) { return program::receives(s.type) && !s.targetFree; }),
           0);
  for (const PlanStep& step : gather.inPlace->steps) {
    QVERIFY(step.peerSend < 0 || gather.inPlace->steps[step.peerSend].count == step.count);
  }
  // Up a chain and down again: only the round trip orders the reading of a source and its overwriting.
  const Job chain = jobOf(samples::chainAllreduce(4, 2));
  QVERIFY(countSteps(*chain.inPlace, [](const PlanStep& s) { return s.sourceStable; }) > 0);
  QCOMPARE(countSteps(*chain.inPlace,
                      [](const PlanStep& s) {
                        return (s.type == program::StepType::send || s.type == program::StepType::recvCopySend) &&
                               !s.sourceStable;
                      }),
           0);
  const Job exchange = jobOf(overwrittenSource());
  QVERIFY(exchange.inPlace);
  QCOMPARE(countSteps(*exchange.inPlace, [](const PlanStep& s) { return s.sourceStable; }), 0);
  QVERIFY(countSteps(*exchange.inPlace, [](const PlanStep& s) { return s.isFinal; }) > 0);
  auto backend = makeThreads(2);
  for (int round = 0; round < 20; ++round) {
    QCOMPARE(runJob(*backend, exchange, checking(1 << 18)).fault(), std::string());
  }
}

void ExecutorTest::chunksOfEqualLength() {
  const Job job = jobOf(misplacedChunk());
  QVERIFY(job.outOfPlace);
  QVERIFY(job.outOfPlace->needsEqualChunks);
  QVERIFY(!jobOf(samples::chainBroadcast(3, 2, false)).outOfPlace->needsEqualChunks);
  auto backend = makeThreads(2);
  QCOMPARE(runJob(*backend, job, checking(4 * 7)).fault(), std::string());
  QCOMPARE(makeGeometry(*job.outOfPlace, {.bytes = 28})->count, 8);
}

void ExecutorTest::refusals_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("word");
  QTest::newRow("deadlock") << "deadlock.xml"
                            << "deadlock";
  QTest::newRow("race") << "race.xml"
                        << "race";
  QTest::newRow("wrong") << "wrong.xml"
                         << "twice";
  QTest::newRow("gather, deadlock") << "gather-deadlock.xml"
                                    << "deadlock";
  QTest::newRow("gather, race") << "gather-race.xml"
                                << "reads s[1], where nothing was written";
  QTest::newRow("gather, wrong") << "gather-wrong.xml"
                                 << "o[2] of rank 0 must hold chunk 0 of rank 2, but holds chunk 0 of rank 3";
  QTest::newRow("scatter, deadlock") << "scatter-deadlock.xml"
                                     << "deadlock";
  QTest::newRow("scatter, race") << "scatter-race.xml"
                                 << "race on s[0]";
  QTest::newRow("scatter, wrong") << "scatter-wrong.xml"
                                  << "o[0] of rank 1 must hold chunk 1 of rank 0, but holds chunk 2 of rank 0";
}

void ExecutorTest::refusals() {
  QFETCH(QString, file);
  QFETCH(QString, word);
  const auto set = makePlans(readProgram(file.toStdString()), {});
  QVERIFY(set);
  QVERIFY(!set->ok);
  QVERIFY(!set->inPlace && !set->outOfPlace);
  QVERIFY2(firstError(set->findings).find(word.toStdString()) != std::string::npos, firstError(set->findings).c_str());
}

/// The depth that the protocol has is what counts, unless another is asked for.
void ExecutorTest::depth() {
  const program::Program two = deepSends(2);
  const program::Program five = deepSends(5);
  QVERIFY(makePlans(two, {})->ok);
  const auto refused = makePlans(five, {});
  QVERIFY(!refused->ok);
  QVERIFY(firstError(refused->findings).find("5 messages deep") != std::string::npos);
  QVERIFY(firstError(refused->findings).find("--depth 5") != std::string::npos);
  const auto deep = makePlans(five, {.depth = 5});
  QVERIFY2(deep->ok, firstError(deep->findings).c_str());
  QCOMPARE(deep->inPlace->smallestDepth, 5);
  QVERIFY(!makePlans(two, {.depth = 1})->ok);
  Job job;
  job.inPlace = deep->inPlace;
  job.depth = 5;
  auto backend = makeThreads(1);
  QCOMPARE(runJob(*backend, job, checking(1 << 16)).fault(), std::string());
}

void ExecutorTest::limits() {
  program::Program program = samples::ringAllgather(2, 1, true);
  program.ranks.resize(1025);
  QVERIFY(!makePlans(program, {})->ok);
  QVERIFY(!makePlans({}, {})->ok);
  program = samples::ringAllgather(2, 1, true);
  program.chunksPerLoop = 1 << 20;
  QVERIFY(!makePlans(program, {})->ok);
  QVERIFY(!makePlans(samples::ringAllgather(2, 1, true), {.depth = 100000})->ok);
  program = samples::ringAllgather(2, 1, true);
  program.collectiveText = "custom";
  QVERIFY(firstError(makePlans(program, {})->findings).find("custom") != std::string::npos);
  // What only GPU runtimes refuse is a warning: 300 steps in one threadblock.
  const program::Program many = deepSends(1);
  program = many;
  for (program::RankProgram& rank : program.ranks) {
    auto& steps = rank.threadBlocks[0].steps;
    const program::Step send = steps[0];
    steps.insert(steps.begin(), 0, send);
  }
  using namespace samples;
  Program longOne = empty(Collective::broadcast, 2, 300, false, 300, 300);
  longOne.ranks[0].threadBlocks = {{.sendPeer = 1}, {.steps = {}}};
  longOne.ranks[1].threadBlocks = {{.recvPeer = 0}};
  for (int chunk = 0; chunk < 300; ++chunk) {
    longOne.ranks[0].threadBlocks[0].steps.push_back(step(StepType::send, {kIn, chunk}));
    longOne.ranks[0].threadBlocks[1].steps.push_back(step(StepType::copy, {kIn, chunk}, {kOut, chunk}));
    longOne.ranks[1].threadBlocks[0].steps.push_back(step(StepType::recv, {kOut, chunk}));
  }
  const auto set = makePlans(longOne, {});
  QVERIFY2(set->ok, firstError(set->findings).c_str());
  QVERIFY(std::any_of(set->findings.begin(), set->findings.end(),
                      [](const Finding& finding) { return finding.code == ErrorCode::limit; }));
  Job job;
  job.outOfPlace = set->outOfPlace;
  auto backend = makeThreads(2);
  QCOMPARE(runJob(*backend, job, checking(4099)).fault(), std::string());
}

void ExecutorTest::samplesOnThreads_data() {
  QTest::addColumn<int>("index");
  const auto programs = samples::allPrograms();
  for (std::size_t index = 0; index < programs.size(); ++index) {
    QTest::newRow(programs[index].first.c_str()) << static_cast<int>(index);
  }
}

void ExecutorTest::samplesOnThreads() {
  QFETCH(int, index);
  const Job job = jobOf(samples::allPrograms()[index].second);
  QVERIFY(job.inPlace || job.outOfPlace);
  auto backend = makeThreads(3);
  for (const int bytes : {0, 4, 20, 4 * 997, 1 << 15, (1 << 20) + 12}) {
    QCOMPARE(runJob(*backend, job, checking(bytes)).fault(), std::string());
  }
}

void ExecutorTest::thirdPartyOnThreads_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<int>("workers");
  for (const char* file : kStrangers) {
    for (const int workers : {1, 2, 4}) {
      QTest::newRow((std::string(file) + ", " + std::to_string(workers) + " workers").c_str())
          << QString(file) << workers;
    }
  }
}

void ExecutorTest::thirdPartyOnThreads() {
  QFETCH(QString, file);
  QFETCH(int, workers);
  const Job job = jobOf(readProgram(file.toStdString()));
  QVERIFY(job.inPlace || job.outOfPlace);
  auto backend = makeThreads(workers);
  BenchOptions options = checking(0);
  options.firstBytes = 1;
  options.lastBytes = 4 << 20;
  options.factor = 37;
  options.iterations = 3;
  options.warmup = 1;
  const Ran ran = runJob(*backend, job, options);
  QCOMPARE(ran.fault(), std::string());
  const auto results = ran.all<program::ResultRecord>();
  QCOMPARE(results.size(), std::size_t{job.inPlace && job.outOfPlace ? 10U : 5U});
  for (const auto& result : results) {
    QCOMPARE(result.wrong.value_or(-1), 0);
    QVERIFY(result.time_us > 0 && result.min_us <= result.median_us && result.median_us <= result.p99_us);
  }
}

void ExecutorTest::typesAndOps_data() {
  QTest::addColumn<int>("type");
  QTest::addColumn<int>("op");
  for (const DataType type : kAllTypes) {
    for (const ReduceOp op : kAllOps) {
      QTest::newRow((std::string(toString(type)) + " " + std::string(toString(op))).c_str())
          << static_cast<int>(type) << static_cast<int>(op);
    }
  }
}

void ExecutorTest::typesAndOps() {
  QFETCH(int, type);
  QFETCH(int, op);
  auto backend = makeThreads(2);
  for (const auto& program :
       {samples::ringAllreduce(5, true), samples::ringAllreduce(3, false), samples::ringReduceScatter(4, true),
        samples::chainReduce(3, 2, false), samples::directAllreduce(3), readProgram("all-pairs-allreduce.xml")}) {
    const Job job = jobOf(program);
    for (const int bytes : {8, 8 * 1009, 1 << 18}) {
      BenchOptions options = checking(bytes);
      options.types = {static_cast<DataType>(type)};
      options.ops = {static_cast<ReduceOp>(op)};
      QCOMPARE(runJob(*backend, job, options).fault(), std::string());
    }
  }
}

/// Every count from nothing on: chunks of unequal length, empty chunks, unaligned pieces.
void ExecutorTest::manySizes() {
  auto backend = makeThreads(2);
  for (const auto& program :
       {samples::ringAllgather(3, 3, true), samples::ringAllgather(3, 3, false), samples::directAlltoall(3),
        samples::directAllreduce(3), readProgram("all-pairs-allreduce.xml"), readProgram("ring-allreduce.xml")}) {
    const Job job = jobOf(program);
    BenchOptions options = checking(0);
    options.lastBytes = 64;
    options.stepBytes = 1;
    options.types = {DataType::int8};
    QCOMPARE(runJob(*backend, job, options).fault(), std::string());
    options.firstBytes = 1;
    options.lastBytes = 1000;
    options.stepBytes = 37;
    options.pieceBytes = 5;  // many tiles
    QCOMPARE(runJob(*backend, job, options).fault(), std::string());
  }
}

void ExecutorTest::depthsAndWorkers_data() {
  QTest::addColumn<int>("depth");
  QTest::addColumn<int>("workers");
  for (int depth = 2; depth <= 8; ++depth) {
    for (int workers = 1; workers <= 4; ++workers) {
      QTest::addRow("depth %d, %d workers", depth, workers) << depth << workers;
    }
  }
}

void ExecutorTest::depthsAndWorkers() {
  QFETCH(int, depth);
  QFETCH(int, workers);
  auto backend = makeThreads(workers);
  for (const auto& program : {samples::ringAllreduce(4, true), samples::chainAllreduce(4, 3),
                              samples::directAllreduce(4), readProgram("ring-allgather.xml")}) {
    Job job = jobOf(program, {.depth = depth});
    QVERIFY(job.inPlace || job.outOfPlace);
    BenchOptions options = checking(1 << 19);
    options.pieceBytes = 4096;
    options.iterations = 2;
    options.warmup = 1;
    QCOMPARE(runJob(*backend, job, options).fault(), std::string());
    // And without any proof: every message through its slot.
    if (job.inPlace) {
      for (PlanStep& step : job.inPlace->steps) {
        step.sourceStable = step.targetFree = step.isFinal = false;
      }
      QCOMPARE(runJob(*backend, job, options).fault(), std::string());
    }
  }
}

void ExecutorTest::smallOperations_data() {
  QTest::addColumn<int>("workers");
  for (int workers = 1; workers <= 4; ++workers) {
    QTest::addRow("%d workers", workers) << workers;
  }
}

/// Pieces so small that tasks stay with who wakes them, and so much of them that several workers share; right data,
/// also after many runs, and a deadlock is still known at once.
void ExecutorTest::smallOperations() {
  QFETCH(int, workers);
  auto backend = makeThreads(workers);
  for (const auto& program : {samples::ringAllreduce(6, true), samples::directAllreduce(5), samples::directAlltoall(5),
                              readProgram("gather.xml"), readProgram("all-pairs-allreduce.xml")}) {
    BenchOptions options = checking(2 << 20);
    options.pieceBytes = 2 << 10;
    options.iterations = 3;
    options.warmup = 1;
    options.ops = {ReduceOp::avg};
    QCOMPARE(runJob(*backend, jobOf(program), options).fault(), std::string());
  }
  BenchOptions options = checking(24 << 20);
  options.pieceBytes = 8 << 10;
  const Ran stuck = runJob(*backend, jobOf(readProgram("deadlock.xml"), {.unchecked = true}), options);
  QVERIFY(stuck.end.exit == RunExit::hang);
  QCOMPARE(stuck.all<program::StuckRecord>().at(0).cycle.size(), std::size_t{2});
  Job deep = jobOf(deepSends(5), {.depth = 5});
  deep.depth = 3;
  QVERIFY(runJob(*backend, deep, options).end.exit == RunExit::hang);
}

/// Floats that rounding would tell apart: the order of additions is the schedule's, not the scheduler's.
void ExecutorTest::sameBitsEveryTime() {
  const Job job = jobOf(samples::directAllreduce(4));
  const Plan& plan = job.any();
  std::vector<std::byte> first;
  for (const int workers : {1, 2, 4, 2}) {
    auto backend = makeThreads(workers);
    const auto geometry = makeGeometry(plan, {.bytes = 1 << 20, .pieceBytes = 1 << 14, .depth = job.depth});
    QVERIFY(backend->prepare(plan, *geometry));
    std::mt19937 random(11);
    for (int rank = 0; rank < 4; ++rank) {
      auto* input = reinterpret_cast<float*>(backend->buffers(rank).input);
      for (int index = 0; index < 1 << 18; ++index) {
        input[index] = std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 40));
      }
    }
    QVERIFY(backend->run({}));
    const std::byte* output = backend->buffers(2).output;
    if (first.empty()) {
      first.assign(output, output + (1 << 20));
    }
    QVERIFY(std::memcmp(first.data(), output, first.size()) == 0);
  }
}

void ExecutorTest::deadlockIsFound_data() {
  QTest::addColumn<int>("workers");
  QTest::newRow("1 worker") << 1;
  QTest::newRow("4 workers") << 4;
}

void ExecutorTest::deadlockIsFound() {
  QFETCH(int, workers);
  auto backend = makeThreads(workers);
  const Ran ran = runJob(*backend, jobOf(readProgram("deadlock.xml"), {.unchecked = true}), checking(1 << 20));
  QVERIFY(ran.end.exit == RunExit::hang);
  for (const char* file : {"gather-deadlock.xml", "scatter-deadlock.xml"}) {
    const Ran other = runJob(*backend, jobOf(readProgram(file), {.unchecked = true}), checking(1 << 12));
    QVERIFY(other.end.exit == RunExit::hang);
    QCOMPARE(other.all<program::StuckRecord>().at(0).cycle.at(0).waitsFor, std::string("flag"));
  }
  const auto stuck = ran.all<program::StuckRecord>();
  QCOMPARE(stuck.size(), std::size_t{1});
  QVERIFY(stuck[0].isDeadlock);
  QCOMPARE(stuck[0].cycle.size(), std::size_t{2});
  QCOMPARE(stuck[0].cycle[0].waitsFor, std::string("data"));
  QCOMPARE(stuck[0].cycle[0].peerRank, 1 - stuck[0].cycle[0].rank);
  QVERIFY(stuck[0].text.find("rank 1, threadblock 0, step 0") != std::string::npos);
  // Too many sends for the depth, with a flag in the ring.
  Job deep = jobOf(deepSends(5), {.depth = 5});
  deep.depth = 3;
  const Ran full = runJob(*backend, deep, checking(1 << 10));
  QVERIFY(full.end.exit == RunExit::hang);
  QCOMPARE(full.all<program::StuckRecord>().at(0).cycle.at(0).waitsFor, std::string("space"));
  QCOMPARE(full.all<program::StuckRecord>().at(0).cycle.at(0).step, 3);
  // The backend can continue with another plan.
  QCOMPARE(runJob(*backend, jobOf(samples::ringAllreduce(4, true)), checking(1 << 12)).fault(), std::string());
}

void ExecutorTest::wrongDataIsFound() {
  auto backend = makeThreads(2);
  const Ran ran = runJob(*backend, jobOf(readProgram("wrong.xml"), {.unchecked = true}), checking(1 << 12));
  QVERIFY(ran.end.exit == RunExit::wrongResult);
  const auto wrong = ran.all<program::WrongRecord>();
  QCOMPARE(wrong.size(), std::size_t{32});  // 16 of each rank
  QVERIFY(!wrong[0].writers.empty());
  QVERIFY(wrong[0].writers.back().find("step 2 (rrc") != std::string::npos);
  QVERIFY(ran.all<program::SummaryRecord>().at(0).wrong > 500);
}

void ExecutorTest::sabotageIsFound() {
  for (const auto deed : {Saboteur::Deed::output, Saboteur::Deed::guard, Saboteur::Deed::input}) {
    Saboteur backend(makeThreads(2), deed);
    const Ran ran = runJob(backend, jobOf(samples::directAllreduce(3)), checking(4 * 1013));
    QVERIFY(ran.end.exit == RunExit::wrongResult);
    QCOMPARE(ran.all<program::SummaryRecord>().at(0).wrong, 1);
    QCOMPARE(ran.all<program::LogRecord>().size(), std::size_t{deed == Saboteur::Deed::guard ? 1U : 0U});
  }
}

void ExecutorTest::memoryThatHostsDoNotSee() {
  Remote backend(makeThreads(2));
  QCOMPARE(runJob(backend, jobOf(samples::ringAllreduce(3, true)), checking((9 << 20) + 4)).fault(), std::string());
  QCOMPARE(runJob(backend, jobOf(samples::ringAllgather(3, 1, false)), checking(999)).fault(), std::string());
}

void ExecutorTest::stops() {
  auto backend = makeThreads(2);
  std::stop_source stop;
  BenchOptions options = checking(1 << 20);
  options.iterations = 1000000;
  options.stop = stop.get_token();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const Ran ran = runJob(*backend, jobOf(samples::ringAllreduce(4, true)), options);
  later.join();
  QVERIFY(ran.end.exit == RunExit::cancelled);
  options.stop = {};
  options.iterations = 1;
  QCOMPARE(runJob(*backend, jobOf(samples::ringAllreduce(4, true)), options).fault(), std::string());
}

void ExecutorTest::tooMuchMemory() {
  auto backend = makeThreads(1);
  const Ran ran = runJob(*backend, jobOf(samples::ringAllreduce(4, true)), checking(std::int64_t{1} << 46));
  QVERIFY(ran.end.exit == RunExit::machineLacks);
  QVERIFY(ran.end.reason.find("memory") != std::string::npos);
}

void ExecutorTest::traceCoversEveryMessage() {
  auto backend = makeThreads(2);
  BenchOptions options = checking(1 << 16);
  options.iterations = 1;
  options.warmup = 0;
  options.traces = true;
  const Job job = jobOf(samples::ringAllgather(4, 1, true));
  const Ran ran = runJob(*backend, job, options);
  const auto traces = ran.all<program::TraceRecord>();
  QCOMPARE(traces.size(), std::size_t{1});
  QCOMPARE(traces[0].dropped, 0);
  QCOMPARE(traces[0].events.size(), job.inPlace->steps.size());
  for (const program::TraceEvent& event : traces[0].events) {
    QVERIFY(event.start_ns >= 0 && event.end_ns >= event.start_ns);
  }
}

void ExecutorTest::sizes() {
  BenchOptions options;
  options.firstBytes = 1 << 10;
  options.lastBytes = 8 << 10;
  QCOMPARE(*sizesOf(options), (std::vector<std::int64_t>{1 << 10, 2 << 10, 4 << 10, 8 << 10}));
  options.stepBytes = 3 << 10;
  QCOMPARE(*sizesOf(options), (std::vector<std::int64_t>{1 << 10, 4 << 10, 7 << 10}));
  options = {};
  options.firstBytes = 0;
  options.lastBytes = 5;
  QCOMPARE(*sizesOf(options), (std::vector<std::int64_t>{0, 1, 2, 4}));
  options.factor = 1;
  QVERIFY(!sizesOf(options));
  options = {};
  options.lastBytes = 3;
  QVERIFY(!sizesOf(options));
  options = {};
  options.stepBytes = 1;
  QVERIFY(!sizesOf(options));
}

/// A quota of a control group counts as cores.
void ExecutorTest::coresInGroups() {
  const int here = allowedCores();
  QVERIFY(here >= 1);
  QTemporaryDir folder;
  const std::filesystem::path root = folder.path().toStdString();
  std::filesystem::create_directories(root / "proc/self");
  std::filesystem::create_directories(root / "sys/fs/cgroup/a/b");
  std::ofstream(root / "proc/self/cgroup") << "0::/a/b\n";
  std::ofstream(root / "sys/fs/cgroup/a/b/cpu.max") << "max 100000\n";
  QCOMPARE(allowedCores(root), here);
  std::ofstream(root / "sys/fs/cgroup/a/cpu.max") << "100000 100000\n";
  QCOMPARE(allowedCores(root), 1);
  std::ofstream(root / "sys/fs/cgroup/a/cpu.max") << "nonsense\n";
  QCOMPARE(allowedCores(root), here);
}

/// Only the thread moves: what it may use stays as it was.
void ExecutorTest::coresLeft() {
  const auto mask = [] {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    return cores;
  };
  const cpu_set_t before = mask();
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &before)) {
      all.push_back(core);
    }
  }
  QVERIFY(!moveOffCores(all));
  cpu_set_t after = mask();
  QVERIFY(CPU_EQUAL(&before, &after));
  for (const int core : all) {
    QCOMPARE(moveOffCores({core, -1, CPU_SETSIZE}), all.size() > 1);
    after = mask();
    QVERIFY(CPU_EQUAL(&before, &after));
  }
}

namespace {

std::vector<std::pair<const char*, program::Record>> sampleRecords() {
  using namespace program;
  const WaitRecord wait = {.rank = 1,
                           .threadBlock = 2,
                           .step = 3,
                           .tile = 4,
                           .operation = "rrc",
                           .waitsFor = "data",
                           .peerRank = 5,
                           .peerThreadBlock = 6,
                           .peerStep = -1,
                           .channel = 0};
  ErrorRecord error;
  error.exit = RunExit::machineLacks;
  error.error = {
      .code = ErrorCode::limit, .message = "no \"memory\"\n", .fix = "more", .where = {.file = "a", .line = 3}};
  PlanRecord plan = {
      .ok = true, .name = "näme", .file = "f.xml", .digest = "0123", .collective = "allreduce", .ranks = 8};
  plan.boundGBps = 12.5;
  plan.findings = {{.severity = Severity::warning,
                    .code = ErrorCode::limit,
                    .text = "t",
                    .fix = "x",
                    .where = {.element = ElementRef(RefKind::rank, 1)
                                             .with({RefKind::threadblock, 0})
                                             .with(ElementPart{RefKind::link, 3, "a", "b"})}}};
  return {
      {"hello", HelloRecord{.version = "1.2.3", .pid = 42, .processGroup = 41}},
      {"state", StateRecord{.state = "running", .detail = "d"}},
      {"env", EnvRecord{.host = "h",
                        .cores = 3,
                        .memoryBytes = 1LL << 40,
                        .backends = {{.name = "threads", .available = true}},
                        .facts = {{"a", "b"}}}},
      {"plan", plan},
      {"progress", ProgressRecord{.stage = "time", .size = 1 << 20, .inPlace = true, .fraction = 0.5}},
      {"result", ResultRecord{.size = 8,
                              .count = 2,
                              .type = "float",
                              .redop = "sum",
                              .iterations = 20,
                              .time_us = 1.5,
                              .wrong = 0,
                              .boundPercent = 99.5}},
      {"wrong",
       WrongRecord{
           .rank = 3, .size = 8, .buffer = "o", .element = 7, .expected = "1", .found = "2", .writers = {"rank 3"}}},
      {"trace",
       TraceRecord{.size = 1,
                   .events = {{.rank = 1, .threadBlock = 2, .step = 3, .tile = 4, .start_ns = 5, .end_ns = 6}}}},
      {"stuck", StuckRecord{.isDeadlock = true, .text = "t", .cycle = {wait, wait}, .waiting = {wait}}},
      {"error", error},
      {"log", LogRecord{.severity = Severity::warning, .text = "x", .source = "rank 3"}},
      {"summary", SummaryRecord{.wrong = 1, .checked = true, .averageBusbw_GBps = 2.5, .memory_GBps = 20.0}},
      {"pong", PongRecord{}},
      {"end", EndRecord{.code = RunExit::hang, .reason = "r"}}};
}

}  // namespace

void ExecutorTest::recordsReadBack_data() {
  QTest::addColumn<int>("index");
  const auto samples = sampleRecords();
  for (std::size_t index = 0; index < samples.size(); ++index) {
    QTest::newRow(samples[index].first) << static_cast<int>(index);
  }
}

void ExecutorTest::recordsReadBack() {
  QFETCH(int, index);
  const auto [name, record] = sampleRecords()[index];
  const std::string line = program::writeRecord(record);
  QVERIFY(line.find("\"t\":\"" + std::string(name) + "\"") != std::string::npos);
  QCOMPARE(std::count(line.begin(), line.end(), '\n'), 1);
  const auto back = program::readRecord(line);
  QVERIFY2(back.hasValue(), back ? "" : back.error().message.c_str());
  QVERIFY(*back == record);
  // Each member is needed, and extra ones are not minded.
  QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(line)).object();
  for (const QString& key : object.keys()) {
    QJsonObject less = object;
    less.remove(key);
    QVERIFY(!program::readRecord(QJsonDocument(less).toJson(QJsonDocument::Compact).toStdString()));
    QJsonObject odd = object;
    odd[key] = QJsonObject{{"x", 1.5}};
    const auto read = program::readRecord(QJsonDocument(odd).toJson(QJsonDocument::Compact).toStdString());
    QVERIFY2(!read || key == "where", qPrintable(key));
  }
  object["more"] = 3;
  QVERIFY(program::readRecord(QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString()));
}

void ExecutorTest::recordsAreStrict_data() {
  QTest::addColumn<QByteArray>("line");
  QTest::newRow("nothing") << QByteArray("");
  QTest::newRow("no object") << QByteArray("[1]");
  QTest::newRow("no type") << QByteArray("{}");
  QTest::newRow("type is a number") << QByteArray("{\"t\":3}");
  QTest::newRow("half a line") << QByteArray("{\"t\":\"pong\"");
  QTest::newRow("two objects") << QByteArray("{\"t\":\"pong\"}{\"t\":\"pong\"}");
  QTest::newRow("not UTF-8") << QByteArray("{\"t\":\"log\",\"severity\":\"note\",\"text\":\"\xff\",\"source\":\"\"}");
  QTest::newRow("deep") << "{\"t\":\"pong\",\"x\":" + QByteArray(40, '[') + QByteArray(40, ']') + "}";
  QTest::newRow("long") << "{\"t\":\"pong\",\"x\":\"" + QByteArray(70000, 'x') + "\"}";
  QTest::newRow("exit code") << QByteArray("{\"t\":\"end\",\"code\":99,\"reason\":\"\"}");
  QTest::newRow("too large") << QByteArray("{\"t\":\"end\",\"code\":4294967296,\"reason\":\"\"}");
  QTest::newRow("fraction") << QByteArray("{\"t\":\"end\",\"code\":1.0,\"reason\":\"\"}");
  QTest::newRow("other protocol") << QByteArray("{\"t\":\"hello\",\"proto\":2,\"version\":\"\",\"pid\":1,\"pgid\":1}");
}

void ExecutorTest::recordsAreStrict() {
  QFETCH(QByteArray, line);
  QVERIFY(!program::readRecord(line.toStdString()));
}

void ExecutorTest::longRecordsAreCut() {
  program::PlanRecord plan;
  for (int index = 0; index < 3000; ++index) {
    plan.findings.push_back({.text = std::string(300, 'x')});
  }
  const std::string line = program::writeRecord(plan);
  QVERIFY(line.size() <= program::kMaxRecordBytes);
  const auto back = program::readRecord(line);
  QVERIFY(back);
  QVERIFY(std::get<program::PlanRecord>(*back).findings.size() > 50);
  const std::string text = program::writeRecord(program::LogRecord{.text = std::string(1 << 20, '\xC3')});
  QVERIFY(program::readRecord(text));
  program::TraceRecord trace;
  trace.events.assign(program::kMaxTraceEvents, {.rank = 1 << 30,
                                                 .threadBlock = 1 << 30,
                                                 .step = 1 << 30,
                                                 .tile = 1 << 30,
                                                 .start_ns = std::numeric_limits<std::int64_t>::max(),
                                                 .end_ns = std::numeric_limits<std::int64_t>::max()});
  const auto traced = program::readRecord(program::writeRecord(trace));
  QVERIFY(traced);
  QVERIFY(std::get<program::TraceRecord>(*traced) == trace);
  trace.events.emplace_back();
  QCOMPARE(program::writeRecord(trace), std::string("\n"));
  const auto unknown = program::readRecord("{\"t\":\"from the future\",\"x\":[1]}");
  QVERIFY(unknown && std::get<program::UnknownRecord>(*unknown).type == "from the future");
}

void ExecutorTest::commands() {
  for (const auto command : {program::RunCommand::start, program::RunCommand::cancel, program::RunCommand::ping}) {
    QVERIFY(*program::readCommand(program::writeCommand(command)) == command);
  }
  QVERIFY(!program::readCommand("cancel"));
  QVERIFY(!program::readCommand("{\"t\":\"explode\"}"));
  QCOMPARE(static_cast<int>(program::exitFor({.code = ErrorCode::limit, .message = "x"})), 3);
  QCOMPARE(static_cast<int>(program::exitFor({.code = ErrorCode::verification, .message = "x"})), 2);
}

QTEST_GUILESS_MAIN(ExecutorTest)
#include "tst_executor.moc"
