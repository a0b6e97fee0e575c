// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <cmath>
#include <string>
#include <vector>

#include "compare_time.hpp"
#include "fabric/fabric.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/step_schedule.hpp"
#include "simulate/step_job.hpp"
#include "simulate/sweep.hpp"
#include "support/large_fabrics.hpp"
#include "support/must.hpp"
#include "support/sample_schedules.hpp"

using namespace coppice;
using schedule::CollectiveTable;
using schedule::StepSchedule;
using simulate::Barriers;
using simulate::Model;
using test::must;

namespace {

constexpr std::int64_t kBytes = 1 << 30;
constexpr double kWhole = static_cast<double>(kBytes) / 25'000;  // us for all bytes over one link

/// Every GPU joined to every other at 25 GB/s.
fabric::Fabric mesh(int gpus) {
  test::Sketch sketch("mesh");
  for (int i = 0; i < gpus; ++i) {
    sketch.gpu("g" + std::to_string(i));
    for (int j = 0; j < i; ++j) {
      sketch.link("g" + std::to_string(i), "g" + std::to_string(j), 25);
    }
  }
  return must(fabric::Fabric::build(sketch.take()));
}

StepSchedule empty(Collective collective, int ranks, int steps, std::optional<int> root = {}) {
  StepSchedule schedule;
  schedule.goal = must(CollectiveTable::make(collective, ranks, root));
  schedule.stepCount = steps;
  return schedule;
}

/// Shards, or for allreduce N-ths of the one shard, go round the ring.
StepSchedule ring(Collective collective, int ranks) {
  const bool whole = collective == Collective::allreduce;
  StepSchedule schedule = empty(collective, ranks, (whole ? 2 : 1) * (ranks - 1));
  schedule.denominator = whole ? ranks : 1;
  for (int step = 0; step < schedule.stepCount; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      // What a rank sends in a step: in an allgather its own part first, when it reduces what ends at itself last.
      const bool reduces = collective != Collective::allgather && step < ranks - 1;
      const int lag = collective == Collective::allgather || !reduces ? step % (ranks - 1) : step + 1;
      const int part = (rank + 2 * ranks - lag) % ranks;
      schedule.transfers.add({.shard = whole ? 0 : part,
                              .begin = whole ? part : 0,
                              .end = whole ? part + 1 : 1,
                              .from = rank,
                              .to = (rank + 1) % ranks,
                              .step = step,
                              .reduces = reduces});
    }
  }
  return schedule;
}

/// Shards travel one by one, but what goes to a peer in a step is one message.
StepSchedule recursiveDoubling(int ranks) {
  StepSchedule schedule = empty(Collective::allgather, ranks, 0);
  for (int distance = 1; distance < ranks; distance *= 2, ++schedule.stepCount) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int shard = rank / distance * distance; shard < rank / distance * distance + distance; ++shard) {
        schedule.transfers.add(
            {.shard = shard, .end = 1, .from = rank, .to = rank ^ distance, .step = schedule.stepCount});
      }
    }
  }
  return schedule;
}

StepSchedule binomialBroadcast(int ranks) {
  StepSchedule schedule = empty(Collective::broadcast, ranks, 0, 0);
  for (int distance = 1; distance < ranks; distance *= 2, ++schedule.stepCount) {
    for (int rank = 0; rank < distance; ++rank) {
      schedule.transfers.add({.end = 1, .from = rank, .to = rank + distance, .step = schedule.stepCount});
    }
  }
  return schedule;
}

StepSchedule directAlltoall(int ranks) {
  StepSchedule schedule = empty(Collective::alltoall, ranks, 1);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) {
        schedule.transfers.add({.shard = std::int64_t{from} * ranks + to, .end = 1, .from = from, .to = to, .step = 0});
      }
    }
  }
  return schedule;
}

double timeOf(const fabric::Fabric& fabric, const StepSchedule& schedule, const Model& model, Barriers barriers) {
  return must(must(simulate::subjectOf(fabric, schedule, model, barriers))->simulate(kBytes, {.pieces = 1}))
      .row.time.count();
}

}  // namespace

class TestSimulateSteps : public QObject {
  Q_OBJECT

private slots:
  void closedForms_data();
  void closedForms();
  void messagesOfAStep();
  void barriersWait();
  void noFasterThanItsCost();
  void forestAsTransfers();
  void partsOfPieces();
  void defaultPieces();
  void errors();
};

void TestSimulateSteps::closedForms_data() {
  QTest::addColumn<int>("ranks");
  QTest::addColumn<double>("latency");
  QTest::addColumn<double>("overhead");
  for (const int ranks : {2, 4, 8, 16}) {
    for (const auto& [latency, overhead] : {std::pair(0.0, 0.0), {2.5, 0.0}, {0.0, 1.25}, {0.7, 3.0}}) {
      QTest::addRow("%d ranks, latency %g, overhead %g", ranks, latency, overhead) << ranks << latency << overhead;
    }
  }
}

/// On equal links a step takes the same time at all ranks, so that barriers change nothing.
void TestSimulateSteps::closedForms() {
  QFETCH(int, ranks);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = mesh(ranks);
  const Model model{.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)};
  const double start = latency + overhead;
  const double ringStep = start + kWhole / ranks;
  const double doublings = std::log2(ranks);
  for (const Barriers barriers : {Barriers::steps, Barriers::none}) {
    COMPARE_TIME(timeOf(fabric, ring(Collective::allgather, ranks), model, barriers), (ranks - 1) * ringStep);
    COMPARE_TIME(timeOf(fabric, ring(Collective::reduceScatter, ranks), model, barriers), (ranks - 1) * ringStep);
    COMPARE_TIME(timeOf(fabric, ring(Collective::allreduce, ranks), model, barriers), 2 * (ranks - 1) * ringStep);
    COMPARE_TIME(timeOf(fabric, recursiveDoubling(ranks), model, barriers),
                 doublings * start + (ranks - 1.0) / ranks * kWhole);
    COMPARE_TIME(timeOf(fabric, binomialBroadcast(ranks), model, barriers), doublings * (start + kWhole));
    COMPARE_TIME(timeOf(fabric, directAlltoall(ranks), model, barriers), start + kWhole / ranks);
  }
}

void TestSimulateSteps::messagesOfAStep() {
  const fabric::Fabric fabric = mesh(8);
  const auto job = must(simulate::stepJobs(fabric, recursiveDoubling(8), {}, Barriers::none)).front();
  QCOMPARE(job.messages().size(), std::size_t{24});  // eight in each of three steps
  // A message waits for the one message that brought what its sender did not have, not for its own shard.
  QCOMPARE(job.dependencies().size(), std::size_t{24});  // eight in the second step, sixteen in the third
  const auto withBarriers = must(simulate::stepJobs(fabric, recursiveDoubling(8), {}, Barriers::steps)).front();
  QCOMPARE(withBarriers.messages().size(), std::size_t{26});
}

/// A slow link holds everyone up where steps are kept, and only those behind it where they are not.
void TestSimulateSteps::barriersWait() {
  test::Sketch sketch("slow");
  for (const char* id : {"g0", "g1", "g2", "g3"}) {
    sketch.gpu(id);
  }
  sketch.link("g0", "g1", 5);
  for (const auto& [a, b] : {std::pair("g0", "g2"), {"g0", "g3"}, {"g1", "g2"}, {"g1", "g3"}, {"g2", "g3"}}) {
    sketch.link(a, b, 25);
  }
  const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
  const StepSchedule schedule = recursiveDoubling(4);
  const Model model{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
  const double quarter = kWhole / 4;
  // g2 and g3 exchange in `quarter`; g0 and g1 need five of it, and so do all that follow.
  COMPARE_TIME(timeOf(fabric, schedule, model, Barriers::steps), 7 * quarter);
  const auto free =
      must(must(simulate::subjectOf(fabric, schedule, model, Barriers::none))->simulate(kBytes, {.record = true}));
  COMPARE_TIME(free.row.time, 7 * quarter);
  const auto& run = free.phases.front().run;
  int early = 0;
  for (const simulate::Interval& interval : run.intervals) {
    early += std::abs(interval.left.count() - 3 * quarter) < 1e-6 ? 1 : 0;
  }
  QCOMPARE(early, 2);  // the second messages of g2 and g3 need nothing of the slow link
  const schedule::StepCost cost = [&] {
    StepSchedule routed = schedule;
    if (const auto added = schedule::addRoutes(fabric, routed); !added) {
      qFatal("%s", describe(added.error()).c_str());
    }
    return must(schedule::stepCost(fabric, routed));
  }();
  COMPARE_TIME(7 * quarter, cost.timePerByte.perGBps().toDouble() * kBytes / 1000);
}

/// Without latencies and with barriers a run takes at least what the schedule's links need step by step, and exactly
/// that where every route is one link.
void TestSimulateSteps::noFasterThanItsCost() {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    test::Dice dice(seed);
    const int gpus = dice.index(2, 8);
    const bool direct = dice.oneIn(2);
    test::Sketch sketch("random");
    sketch.relay("sw");
    for (int i = 0; i < gpus; ++i) {
      sketch.link(sketch.gpu("g" + std::to_string(i)), "sw", dice.pick(1, 50));
      for (int j = 0; direct && j < i; ++j) {
        sketch.link("g" + std::to_string(i), "g" + std::to_string(j), dice.pick(1, 50));
      }
    }
    const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
    for (StepSchedule schedule :
         {ring(Collective::allgather, gpus), ring(Collective::reduceScatter, gpus), directAlltoall(gpus)}) {
      QVERIFY(schedule::addRoutes(fabric, schedule));
      const schedule::StepCost cost = must(schedule::stepCost(fabric, schedule));
      const double min = cost.timePerByte.perGBps().toDouble() * kBytes / 1000;
      const Model model{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
      const double time = timeOf(fabric, schedule, model, Barriers::steps);
      QVERIFY2(time >= min * (1 - 1e-9), qPrintable(QString("%1 below %2").arg(time).arg(min)));
      if (direct) {
        COMPARE_TIME(time, min);
      }
    }
  }
}

/// The trees of a forest written as transfers take what the forest takes, in any number of pieces.
void TestSimulateSteps::forestAsTransfers() {
  for (const samples::Sample& sample : {samples::twoGpus(), samples::ring(), samples::star(),
                                        samples::reduceScattered(samples::star()), samples::broadcastStar()}) {
    for (const Model& model : {Model{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)}, Model{}}) {
      const StepSchedule transfers = must(schedule::stepScheduleOf(sample.fabric, sample.schedule));
      const auto forest = must(simulate::subjectOf(sample.fabric, sample.schedule, model));
      const auto steps = must(simulate::subjectOf(sample.fabric, transfers, model));
      QVERIFY(steps->hasPieces());
      for (const std::uint32_t pieces : {1U, 4U, 32U}) {
        const Microseconds expected = must(forest->simulate(kBytes, {.pieces = pieces})).row.time;
        COMPARE_TIME(must(steps->simulate(kBytes, {.pieces = pieces})).row.time, expected);
      }
      COMPARE_TIME(must(steps->simulate(kBytes, {})).row.time, must(forest->simulate(kBytes, {})).row.time);
    }
  }
}

/// Transfers that cover each other in part: what goes on begins when its own part is there, not the whole.
void TestSimulateSteps::partsOfPieces() {
  test::Sketch sketch("line");
  for (const char* id : {"g0", "g1", "g2"}) {
    sketch.gpu(id);
  }
  sketch.link("g0", "g1", 25);
  sketch.link("g1", "g2", 25);
  const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
  StepSchedule schedule = empty(Collective::broadcast, 3, 1, 0);
  schedule.isSynchronous = false;
  schedule.denominator = 2;
  schedule.transfers.add({.end = 2, .from = 0, .to = 1});
  schedule.transfers.add({.end = 1, .from = 1, .to = 2});
  schedule.transfers.add({.begin = 1, .end = 2, .from = 1, .to = 2});
  const auto jobs = must(simulate::stepJobs(fabric, schedule, {}, Barriers::steps));
  QCOMPARE(jobs.size(), std::size_t{1});
  QCOMPARE(jobs.front().messages().size(), std::size_t{4});
  QCOMPARE(jobs.front().dependencies().size(), std::size_t{2});
  const auto subject =
      must(simulate::subjectOf(fabric, schedule, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)}));
  // Both halves share the first link, then both the second: as with two pieces on one tree, but side by side.
  COMPARE_TIME(must(subject->simulate(kBytes, {.pieces = 1})).row.time, 2 * kWhole);
  COMPARE_TIME(must(subject->simulate(kBytes, {.pieces = 100})).row.time, 1.01 * kWhole);
}

/// The number of pieces that is taken by default is not slower than half or twice as many.
void TestSimulateSteps::defaultPieces() {
  const fabric::Fabric fabric = mesh(8);
  StepSchedule chain = empty(Collective::broadcast, 8, 1, 0);
  chain.isSynchronous = false;
  for (int rank = 0; rank < 7; ++rank) {
    chain.transfers.add({.end = 1, .from = rank, .to = rank + 1});
  }
  const auto subject =
      must(simulate::subjectOf(fabric, chain, {.linkLatency = Microseconds(1), .messageOverhead = Microseconds(2)}));
  for (const std::int64_t size : {std::int64_t{1} << 10, std::int64_t{1} << 20, std::int64_t{1} << 30}) {
    const simulate::Row row = must(subject->simulate(size, {})).row;
    for (const std::uint32_t other : {row.pieces / 2, row.pieces * 2}) {
      QVERIFY(other == 0 || must(subject->simulate(size, {.pieces = other})).row.time >= row.time);
    }
  }
}

void TestSimulateSteps::errors() {
  const auto other = simulate::stepJobs(mesh(3), ring(Collective::allgather, 4), {}, Barriers::steps);
  QVERIFY(!other);
  QVERIFY(other.error().code == ErrorCode::badInput);
  const samples::Sample line = samples::ring();  // ranks 0 and 2 have no link
  const auto apart = simulate::stepJobs(line.fabric, recursiveDoubling(4), {}, Barriers::steps);
  QVERIFY(!apart);
  QVERIFY(apart.error().code == ErrorCode::infeasible);
}

QTEST_APPLESS_MAIN(TestSimulateSteps)
#include "tst_simulate_steps.moc"
