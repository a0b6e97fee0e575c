// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "cuda/pack.hpp"
#include "cuda/progress.hpp"
#include "cuda/seats.hpp"
#include "cuda/shape.hpp"
#include "executor/cuda/cases.hpp"
#include "executor/cuda/host_gpus.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::cuda::test;

class TestExecutorCuda : public QObject {
  Q_OBJECT

private slots:
  void typesAndOps_data();
  void typesAndOps();
  void sizesAndShapes_data();
  void sizesAndShapes();
  void strangeDepths();
  void lentMessages();
  void windows();
  void deadlock();
  void cancelled();
  void traces();
  void packing();
  void packingLimits();
  void occupancy();
  void spreading();
  void pieces();
  void verdicts();
  void seats_data();
  void seats();
  void placesOfCrew();
  void standings();
};

void TestExecutorCuda::typesAndOps_data() {
  QTest::addColumn<int>("type");
  for (const DataType type : kAllTypes) {
    QTest::addRow("%s", std::string(toString(type)).c_str()) << static_cast<int>(type);
  }
}

void TestExecutorCuda::typesAndOps() {
  QFETCH(int, type);
  for (const ReduceOp op : kAllOps) {
    for (const auto& program : {samples::ringAllreduce(4, true), samples::ringReduceScatter(4, false),
                                samples::chainAllreduce(3, 5), samples::chainReduce(3, 2, false)}) {
      const PlanSet set = plansOf(program);
      QVERIFY(set.ok);
      const auto backend = hostBackend(planOf(set), {.lanes = 3, .strands = 2});
      const QString fault =
          runAndCheck(*backend, planOf(set),
                      {.type = static_cast<DataType>(type), .op = op, .bytes = 3992, .piece = 256}, set.depth);
      QVERIFY2(fault.isEmpty(), qPrintable(fault + " " + QString::fromStdString(std::string(toString(op)))));
    }
  }
}

void TestExecutorCuda::sizesAndShapes_data() {
  QTest::addColumn<int>("lanes");
  QTest::addColumn<int>("strands");
  QTest::addColumn<QString>("reach");
  QTest::newRow("one lane, one device") << 1 << 1 << "1";
  QTest::newRow("four lanes, one device") << 4 << 1 << "1";
  QTest::newRow("five strands") << 1 << 5 << "1";
  QTest::newRow("two devices that reach each other") << 2 << 2 << "11 11";
  QTest::newRow("two devices through host memory") << 2 << 2 << "10 01";
  QTest::newRow("three devices, one apart") << 1 << 3 << "110 110 001";
  QTest::newRow("three devices, reached one way only") << 1 << 1 << "111 011 001";
}

void TestExecutorCuda::sizesAndShapes() {
  QFETCH(int, lanes);
  QFETCH(int, strands);
  QFETCH(QString, reach);
  cuda::Reach matrix;
  for (const QString& row : reach.split(' ')) {
    matrix.emplace_back();
    for (const QChar cell : row) {
      matrix.back().push_back(cell == '1');
    }
  }
  for (const auto& [name, program] : samples::allPrograms()) {
    if (program.ranks.size() != 3) {
      continue;
    }
    const PlanSet set = plansOf(program);
    QVERIFY(set.ok);
    for (const std::int64_t bytes : {0, 1, 97, 30001}) {
      for (const std::int64_t piece : {64, 4096}) {
        const auto backend =
            hostBackend(planOf(set), {.lanes = static_cast<unsigned>(lanes), .strands = strands, .reach = matrix});
        const QString fault =
            runAndCheck(*backend, planOf(set), {.type = DataType::int8, .bytes = bytes, .piece = piece}, set.depth);
        QVERIFY2(
            fault.isEmpty(),
            qPrintable(QString("%1, %2 bytes, piece %3: ").arg(QString::fromStdString(name)).arg(bytes).arg(piece) +
                       fault));
      }
    }
  }
}

void TestExecutorCuda::strangeDepths() {
  for (const int depth : {1, 2, 3, 8, 33}) {
    const PlanSet set = plansOf(samples::chainAllreduce(4, 6), depth);
    QVERIFY2(set.ok, set.findings.empty() ? "" : describe(set.findings.front()).c_str());
    const auto backend = hostBackend(planOf(set), {});
    const QString fault = runAndCheck(*backend, planOf(set), {.bytes = 40000, .piece = 128}, depth);
    QVERIFY2(fault.isEmpty(), qPrintable(QString("depth %1: ").arg(depth) + fault));
  }
}

/// An allgather only passes on what lies in its buffers: no slots. Where memory is not mapped, everything goes through
/// slots; partial sums that are never stored always do.
void TestExecutorCuda::lentMessages() {
  const auto slotsOf = [](const program::Program& program, bool reachable) {
    const PlanSet set = plansOf(program);
    const Plan& plan = planOf(set);
    const auto packed = cuda::packPlan(plan, std::vector<bool>(plan.connections.size(), reachable)).value();
    return std::count(packed.usesSlots.begin(), packed.usesSlots.end(), true);
  };
  QCOMPARE(slotsOf(samples::ringAllgather(4, 1, true), true), std::int64_t{0});
  QCOMPARE(slotsOf(samples::ringAllgather(4, 1, true), false), std::int64_t{4});
  QCOMPARE(slotsOf(samples::ringReduceScatter(4, true), true), std::int64_t{4});
}

/// More steps than the window holds.
void TestExecutorCuda::windows() {
  const PlanSet set = plansOf(samples::chainBroadcast(3, 700, true));
  QVERIFY(set.ok);
  const auto backend = hostBackend(planOf(set), {.lanes = 2});
  const QString fault = runAndCheck(*backend, planOf(set), {.bytes = 700 * 40 + 4, .piece = 24}, set.depth);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

/// Both ranks first receive.
void TestExecutorCuda::deadlock() {
  program::Program program = samples::ringAllgather(2, 1, true);
  for (auto& rank : program.ranks) {
    std::swap(rank.threadBlocks[0].steps[0], rank.threadBlocks[0].steps[1]);
  }
  const PlanSet set = makePlans(program, {.unchecked = true}).value();
  QVERIFY(set.ok);
  for (const unsigned lanes : {1U, 3U}) {
    const auto backend = hostBackend(planOf(set), {.lanes = lanes, .deadlockSeconds = 0.5});
    QVERIFY(backend->prepare(planOf(set), makeGeometry(planOf(set), {.bytes = 64}).value()));
    const RunResult result = backend->run({});
    QVERIFY(!result);
    QVERIFY(result.failure().exit == program::RunExit::hang);
    QVERIFY(result.failure().stuck);
    QVERIFY(result.failure().stuck->isDeadlock);
    QCOMPARE(result.failure().stuck->cycle.size(), 2U);
    QCOMPARE(result.failure().stuck->cycle[0].waitsFor, std::string("data"));
    QCOMPARE(result.failure().stuck->cycle[0].step, 0);
  }
}

/// An abort ends blocks that wait, with several lanes, and afterwards the backend can be prepared again.
void TestExecutorCuda::cancelled() {
  program::Program program = samples::ringAllgather(2, 1, true);
  for (auto& rank : program.ranks) {
    std::swap(rank.threadBlocks[0].steps[0], rank.threadBlocks[0].steps[1]);
  }
  const PlanSet stuck = makePlans(program, {.unchecked = true}).value();
  const auto backend = hostBackend(planOf(stuck), {.lanes = 2, .strands = 2});
  QVERIFY(backend->prepare(planOf(stuck), makeGeometry(planOf(stuck), {.bytes = 4096, .pieceBytes = 64}).value()));
  std::stop_source source;
  source.request_stop();
  const RunResult result = backend->run({.stop = source.get_token()});
  QVERIFY(!result);
  QVERIFY(result.failure().exit == program::RunExit::cancelled);
  const PlanSet good = plansOf(samples::ringAllgather(2, 1, true));
  const QString fault = runAndCheck(*backend, planOf(good), {.bytes = 4096}, good.depth);
  QVERIFY2(fault.isEmpty(), qPrintable(fault));
}

void TestExecutorCuda::traces() {
  const PlanSet set = plansOf(samples::ringAllgather(3, 1, true));
  const auto backend = hostBackend(planOf(set), {});
  const Geometry geometry = makeGeometry(planOf(set), {.bytes = 3 * 256, .pieceBytes = 64}).value();
  QCOMPARE(geometry.tiles, std::int64_t{4});
  QVERIFY(backend->prepare(planOf(set), geometry));
  QVERIFY(backend->run({.trace = true}));
  std::int64_t dropped = 0;
  const auto events = backend->takeTrace(dropped);
  QCOMPARE(dropped, std::int64_t{0});
  std::size_t messages = 0;
  for (const PlanStep& step : planOf(set).steps) {
    messages += step.count > 0 ? 1 : 0;
  }
  QCOMPARE(events.size(), messages * 4);
  for (const auto& event : events) {
    QVERIFY(event.start_ns <= event.end_ns);
    QVERIFY(event.tile >= 0 && event.tile < 4);
  }
}

void TestExecutorCuda::packing() {
  const PlanSet set = plansOf(samples::chainAllreduce(3, 2));
  const Plan& plan = planOf(set);
  const auto packed = cuda::packPlan(plan, std::vector<bool>(plan.connections.size(), true)).value();
  QCOMPARE(packed.ops.size(), plan.steps.size());
  QCOMPARE(packed.blocks.size(), plan.blocks.size());
  for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
    const PlanBlock& owner = plan.blocks[block];
    QCOMPARE(static_cast<int>(packed.blocks[block].opCount), owner.endStep - owner.firstStep);
    for (int index = owner.firstStep; index < owner.endStep; ++index) {
      const PlanStep& step = plan.steps[index];
      const cuda::PackedOp& op =
          packed.ops[packed.blocks[block].firstOp + static_cast<unsigned>(index - owner.firstStep)];
      QCOMPARE(static_cast<int>(op.type), static_cast<int>(step.type));
      QCOMPARE(static_cast<int>(op.count), step.count);
      QCOMPARE(op.has(cuda::kWaits), step.waitBlock >= 0);
      QCOMPARE(op.has(cuda::kPublishes), step.publishes);
      if (program::usesSource(step.type)) {
        QCOMPARE(static_cast<int>(op.src), step.srcOffset);
        QCOMPARE(op.srcBuffer(), static_cast<unsigned>(step.srcBuffer));
      }
      if (program::usesDestination(step.type)) {
        QCOMPARE(static_cast<int>(op.dst), step.dstOffset);
        QCOMPARE(op.dstBuffer(), static_cast<unsigned>(step.dstBuffer));
      }
      if (step.waitBlock >= 0) {
        QCOMPARE(static_cast<int>(op.waitStep), step.waitStep);
        QCOMPARE(static_cast<int>(op.waitBlock) + plan.ranks[owner.rank].firstBlock, step.waitBlock);
      }
    }
  }
  // What is lent on one side is pulled on the other.
  for (std::size_t index = 0; index < plan.steps.size(); ++index) {
    if (plan.steps[index].peerSend >= 0) {
      QCOMPARE(packed.ops[index].has(cuda::kLends), packed.ops[plan.steps[index].peerSend].has(cuda::kPulls));
    }
  }
  // Stamps keep their three parts apart.
  const cuda::Word stamp = cuda::makeStamp((1ULL << 32U) - 1, 15, (1 << 28) - 1);
  QVERIFY(cuda::isStampOf(stamp, (1ULL << 32U) - 1));
  QVERIFY(!cuda::isStampOf(stamp, 0));
  QCOMPARE(cuda::stampSkew(stamp), 15U);
  QCOMPARE(cuda::stampBytes(stamp), std::int64_t{(1 << 28) - 1});
}

void TestExecutorCuda::packingLimits() {
  PlanSet set = plansOf(samples::ringAllgather(2, 1, true));
  Plan plan = planOf(set);
  plan.steps[1].dstOffset = 70000;
  const auto packed = cuda::packPlan(plan, std::vector<bool>(plan.connections.size(), true));
  QVERIFY(!packed);
  QVERIFY(packed.error().code == ErrorCode::limit);
  QVERIFY(toText(packed.error().where.element).find("rank 0, threadblock 0, step 1") != std::string::npos);
  Geometry geometry;
  geometry.slotBytes = std::int64_t{1} << 28;
  QVERIFY(!cuda::makeRunView(planOf(set), geometry, ReduceOp::sum, 1));
}

void TestExecutorCuda::occupancy() {
  const cuda::DeviceRoom large = {.multiprocessors = 132, .blocksEach = {4, 8, 16, 32}};
  const cuda::DeviceRoom small = {.multiprocessors = 10, .blocksEach = {4, 8, 16, 16}};
  const auto shape = [](const std::vector<std::int64_t>& blocks, const std::vector<cuda::DeviceRoom>& rooms,
                        std::int64_t tiles) { return cuda::chooseShape(blocks, rooms, tiles); };
  QCOMPARE(shape({56}, {large}, 1000)->threads, 256);
  QCOMPARE(shape({56}, {large}, 1000)->strands, 9);
  QCOMPARE(shape({56}, {large}, 3)->strands, 3);
  QCOMPARE(shape({56}, {large}, 1)->strands, 1);
  QCOMPARE(shape({528}, {large}, 1000)->threads, 256);
  QCOMPARE(shape({529}, {large}, 1000)->threads, 128);
  QCOMPARE(shape({4224}, {large}, 1000)->threads, 32);
  QCOMPARE(shape({20, 20}, {large, small}, 1000)->strands, 2);
  QCOMPARE(shape({20, 0}, {large, small}, 1000)->strands, 26);
  QCOMPARE(shape({1}, {large}, 1000)->strands, 64);
  const auto refused = shape({4225}, {large}, 1000);
  QVERIFY(!refused);
  QVERIFY(refused.error().code == ErrorCode::unavailable);
  QVERIFY(refused.error().message.find("4225") != std::string::npos);
  QVERIFY(refused.error().message.find("4224") != std::string::npos);
  QVERIFY(!refused.error().fix.empty());
  const auto second = shape({20, 161}, {large, small}, 1);
  QVERIFY(!second);
  QVERIFY(second.error().message.find("GPU 1") != std::string::npos);
  QVERIFY(second.error().message.find("160") != std::string::npos);
  program::Program crowd = samples::chainBroadcast(64, 1, true);
  for (auto& rank : crowd.ranks) {
    rank.threadBlocks.resize(1024);
  }
  const PlanSet set = makePlans(crowd, {.unchecked = true}).value();
  QVERIFY(set.ok);
  const auto blocks = cuda::blocksOnDevices(planOf(set), cuda::spreadRanks(64, 2), 2);
  QCOMPARE(blocks, (std::vector<std::int64_t>{32768, 32768}));
  QVERIFY(!shape(blocks, {large, large}, 1));
}

void TestExecutorCuda::spreading() {
  QCOMPARE(cuda::spreadRanks(8, 1), std::vector<int>(8, 0));
  QCOMPARE(cuda::spreadRanks(4, 4), (std::vector<int>{0, 1, 2, 3}));
  QCOMPARE(cuda::spreadRanks(5, 2), (std::vector<int>{0, 0, 0, 1, 1}));
  QCOMPARE(cuda::spreadRanks(2, 8), (std::vector<int>{0, 1}));
}

void TestExecutorCuda::pieces() {
  const PlanSet set = plansOf(samples::ringAllgather(8, 1, true));
  const Plan& plan = planOf(set);
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 20, std::int64_t{256} << 20, std::int64_t{16} << 30}) {
    for (const int strands : {1, 9, 64}) {
      const std::int64_t piece = cuda::choosePiece(plan, bytes, strands);
      QVERIFY(piece >= 16 << 10 && piece <= (512 << 10) + 128);
      const Geometry geometry = makeGeometry(plan, {.bytes = bytes, .pieceBytes = piece}).value();
      if (piece > 16 << 10) {
        QVERIFY(geometry.tiles >= 16 * strands - strands);
      }
    }
  }
}

void TestExecutorCuda::verdicts() {
  using Verdict = cuda::StallWatch::Verdict;
  using cuda::BlockState;
  const auto word = [](BlockState state, unsigned step) { return cuda::makeProgress(state, 77, step); };
  QCOMPARE(cuda::tileOf(word(BlockState::waitsForFlag, 65535)), std::int64_t{77});
  QCOMPARE(cuda::stepOf(word(BlockState::waitsForFlag, 65535)), 65535U);
  QVERIFY(cuda::stateOf(word(BlockState::waitsForFlag, 65535)) == BlockState::waitsForFlag);
  {
    cuda::StallWatch watch(10, 1);
    const cuda::ProgressWords waiting = {{word(BlockState::waitsForData, 1), word(BlockState::done, 0)}};
    const cuda::ProgressWords running = {{word(BlockState::waitsForData, 1), word(BlockState::runs, 0)}};
    QVERIFY(watch.look(waiting, 0) == Verdict::moves);
    QVERIFY(watch.look(waiting, 0.9) == Verdict::moves);
    QVERIFY(watch.look(waiting, 1.1) == Verdict::deadlock);
    QVERIFY(watch.look(running, 1.2) == Verdict::moves);
    QVERIFY(watch.look(running, 9) == Verdict::moves);
    QVERIFY(watch.look(running, 11.3) == Verdict::stall);
  }
  cuda::StallWatch patient(0, 1);
  const cuda::ProgressWords running = {{word(BlockState::runs, 0)}};
  QVERIFY(patient.look(running, 0) == Verdict::moves);
  QVERIFY(patient.look(running, 1e9) == Verdict::moves);
  const cuda::ProgressWords ended = {{word(BlockState::done, 0)}};
  QVERIFY(patient.look(ended, 1e9) == Verdict::moves);
  QVERIFY(patient.look(ended, 2e9) == Verdict::moves);
}

void TestExecutorCuda::seats_data() {
  QTest::addColumn<QString>("gpus");      // of each process, letters
  QTest::addColumn<QString>("ranks");     // of each process
  QTest::addColumn<QString>("expected");  // positions
  QTest::addColumn<int>("crowd");
  QTest::addColumn<int>("used");
  QTest::newRow("one each") << "ab ab"
                            << "1 1"
                            << "0 1" << 1 << 2;
  QTest::newRow("shares of eight") << "abcdefgh abcdefgh"
                                   << "4 4"
                                   << "0123 4567" << 1 << 8;
  QTest::newRow("no more than ranks") << "abcdefgh abcdefgh"
                                      << "1 1"
                                      << "0 4" << 1 << 2;
  QTest::newRow("given out by the launcher") << "a b c"
                                             << "1 1 1"
                                             << "0 0 0" << 1 << 3;
  QTest::newRow("two hosts") << "ab ab cd cd"
                             << "1 1 1 1"
                             << "0 1 0 1" << 1 << 4;
  QTest::newRow("more processes than GPUs") << "a a a a"
                                            << "1 1 1 1"
                                            << "0 0 0 0" << 4 << 1;
  QTest::newRow("uneven") << "ab ab ab"
                          << "1 1 1"
                          << "0 0 1" << 2 << 2;
  QTest::newRow("several ranks on a GPU") << "a b"
                                          << "3 2"
                                          << "0 0" << 3 << 2;
  QTest::newRow("a process without ranks") << "ab ab ab"
                                           << "1 1 0"
                                           << "0 1 -" << 1 << 2;
  QTest::newRow("a process without GPUs and ranks") << "ab -"
                                                    << "2 0"
                                                    << "01 -" << 1 << 2;
}

void TestExecutorCuda::seats() {
  QFETCH(QString, gpus);
  QFETCH(QString, ranks);
  QFETCH(QString, expected);
  QFETCH(int, crowd);
  QFETCH(int, used);
  std::vector<cuda::SeatRequest> requests;
  const QStringList counts = ranks.split(' ');
  for (const QString& own : gpus.split(' ')) {
    cuda::SeatRequest& request = requests.emplace_back();
    request.ranks = counts[static_cast<qsizetype>(requests.size()) - 1].toInt();
    for (const QChar gpu : own == "-" ? QString() : own) {
      request.gpus.push_back(QString(gpu).toStdString());
    }
  }
  const auto seats = cuda::seatProcesses(requests);
  QStringList found;
  for (const std::vector<int>& own : seats) {
    QString text = own.empty() ? "-" : "";
    for (const int position : own) {
      text += QString::number(position);
    }
    found.push_back(text);
  }
  QCOMPARE(found.join(' '), expected);
  QCOMPARE(cuda::maxRanksOnGpu(requests, seats), crowd);
  QCOMPARE(cuda::countUsed(requests, seats), used);
  const std::vector<int> shares = cuda::processesOnGpus(requests, seats, 0);
  QCOMPARE(shares.size(), seats[0].size());
  for (const int share : shares) {
    QVERIFY(share >= 1 && share <= crowd);
  }
}

/// Three processes on two hosts: within a process, mapped, through memory of the host, through the network.
void TestExecutorCuda::placesOfCrew() {
  const PlanSet set = plansOf(samples::ringReduceScatter(4, true));
  const Plan& plan = planOf(set);
  cuda::Crew crew = {
      .processOfDevice = {0, 1, 2}, .hostOfProcess = {0, 0, 1}, .deviceOfRank = {0, 0, 1, 2}, .reach = {}};
  const auto wired = [&](bool maps) {
    crew.reach = {{true, maps, false}, {maps, true, false}, {false, false, true}};
    cuda::Placement placement = cuda::placeConnections(plan, crew);
    cuda::placeRings(cuda::packPlan(plan, placement.canPull).value(), placement);
    return placement;
  };
  for (const bool maps : {true, false}) {
    const cuda::Placement placement = wired(maps);
    QCOMPARE(placement.places(), 3 + 2 + 3);
    for (std::size_t index = 0; index < plan.connections.size(); ++index) {
      const int from = plan.connections[index].sendRank;
      const int to = plan.connections[index].recvRank;
      const cuda::ConnectionEnd& sending = placement.sendEnd[index];
      const cuda::ConnectionEnd& receiving = placement.recvEnd[index];
      QVERIFY(placement.isNetworked[index] ||
              (sending.dataPlace == receiving.dataPlace && sending.ring == receiving.ring));
      QVERIFY(sending.ring >= 0 && receiving.ring >= 0);
      if (from == 0 && to == 1) {
        QCOMPARE(sending.dataPlace, 0);
        QCOMPARE(sending.headPlace, 0);
      } else if (from == 1 && to == 2) {
        QCOMPARE(sending.dataPlace, maps ? 1 : placement.sharedPlace(0));
        QCOMPARE(sending.headPlace, maps ? 0 : placement.sharedPlace(0));
        QCOMPARE(static_cast<bool>(placement.canPull[index]), maps);
      } else {
        QVERIFY(placement.isNetworked[index]);
        QVERIFY(!placement.canPull[index]);
        QCOMPARE(sending.dataPlace, placement.privatePlace(crew.processOf(from)));
        QCOMPARE(receiving.dataPlace, placement.privatePlace(crew.processOf(to)));
      }
    }
    QCOMPARE(placement.isUsed(placement.sharedPlace(0)), !maps);
    QVERIFY(!placement.isUsed(placement.sharedPlace(1)));
    QVERIFY(placement.isUsed(placement.privatePlace(2)));
  }
}

/// Words go to other processes and come back.
void TestExecutorCuda::standings() {
  cuda::Grid grid;
  grid.blocks = {1, 3};
  grid.views.resize(4);
  cuda::StrandWords own(2, 4);
  own.add(grid, {11, 13, 21, 23});
  cuda::StrandWords all(2, 4);
  all.add(own.text());
  all.add("too short");
  QCOMPARE(all.strands(), std::size_t{2});
  QCOMPARE(all.at(0, 0), cuda::Word{0});
  QCOMPARE(all.at(0, 1), cuda::Word{11});
  QCOMPARE(all.at(0, 3), cuda::Word{13});
  QCOMPARE(all.at(1, 1), cuda::Word{21});
  QCOMPARE(all.at(1, 3), cuda::Word{23});
}

QTEST_GUILESS_MAIN(TestExecutorCuda)
#include "tst_executor_cuda.moc"
