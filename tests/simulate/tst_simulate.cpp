// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <cmath>
#include <stop_token>
#include <string>
#include <vector>

#include "compare_time.hpp"
#include "fabric/fabric.hpp"
#include "simulate/difference.hpp"
#include "simulate/engine.hpp"
#include "simulate/job.hpp"
#include "simulate/report.hpp"
#include "support/large_fabrics.hpp"
#include "support/must.hpp"

using namespace coppice;
using simulate::Job;
using simulate::MessageId;
using simulate::Model;
using simulate::Run;
using simulate::Wait;
using test::must;

/// The engine against times that can be worked out with a pencil.
namespace {

constexpr double kBytes = 1e9;
constexpr double kBandwidth = 25;                           // GB/s
constexpr double kBytesPerMicrosecond = kBandwidth * 1000;  // of that link

QByteArray told(const std::string& text) {
  return QByteArray::fromStdString(text);
}

/// Every GPU joined to every other by a link of its own, both ways.
fabric::Fabric mesh(int gpus) {
  test::Sketch sketch("mesh");
  for (int i = 0; i < gpus; ++i) {
    sketch.gpu("g" + std::to_string(i));
  }
  for (int i = 0; i < gpus; ++i) {
    for (int j = 0; j < i; ++j) {
      sketch.link("g" + std::to_string(i), "g" + std::to_string(j), 25);
    }
  }
  return must(fabric::Fabric::build(sketch.take()));
}

fabric::Fabric star(int gpus) {
  test::Sketch sketch("star");
  sketch.relay("sw");
  for (int i = 0; i < gpus; ++i) {
    sketch.link(sketch.gpu("g" + std::to_string(i)), "sw", 25);
  }
  return must(fabric::Fabric::build(sketch.take()));
}

MessageId send(Job& job, const std::vector<fabric::NodeIndex>& nodes, double share, int from, int to) {
  return job.add({.route = must(job.route(nodes)), .share = share, .from = from, .to = to});
}

Run play(const Job& job, std::uint32_t repeats = 1, double bytes = kBytes) {
  return must(simulate::run(job, {.bytes = bytes, .repeats = repeats, .record = true}));
}

/// Steps of a ring: every rank passes on what came in the step before.
Job ringSteps(const fabric::Fabric& fabric, const Model& model, int ranks, int steps) {
  Job job(fabric, model);
  std::vector<MessageId> before;
  for (int step = 0; step < steps; ++step) {
    std::vector<MessageId> now;
    for (int rank = 0; rank < ranks; ++rank) {
      const int next = (rank + 1) % ranks;
      now.push_back(send(job, {rank, next}, 1.0 / ranks, rank, next));
      if (step > 0) {
        job.wait({.before = before[(rank + ranks - 1) % ranks], .after = now.back()});
        job.wait({.before = before[rank], .after = now.back(), .why = Wait::order});
      }
    }
    before = now;
  }
  return job;
}

void models() {
  QTest::addColumn<int>("ranks");
  QTest::addColumn<int>("pieces");
  QTest::addColumn<double>("latency");
  QTest::addColumn<double>("overhead");
  for (const int ranks : {2, 4, 8, 16}) {
    for (const int pieces : {1, 3, 64}) {
      for (const auto& [latency, overhead] : {std::pair(0.0, 0.0), {2.5, 0.0}, {0.0, 1.25}, {0.7, 3.0}}) {
        QTest::addRow("%d ranks, %d pieces, latency %g, overhead %g", ranks, pieces, latency, overhead)
            << ranks << pieces << latency << overhead;
      }
    }
  }
}

}  // namespace

class TestSimulate : public QObject {
  Q_OBJECT

private slots:
  void chain_data() { models(); }
  void chain();
  void chainWithWindow();
  void sharedMachine();
  void ring_data() { models(); }
  void ring();
  void recursiveDoubling_data() { models(); }
  void recursiveDoubling();
  void binomialBroadcast_data() { models(); }
  void binomialBroadcast();
  void alltoallThroughASwitch_data() { models(); }
  void alltoallThroughASwitch();
  void twoFlowsOneLink();
  void threeFlowsTwoLinks();
  void bandwidthThatIsLeft();
  void weights();
  void connectionRate();
  void barrier();
  void linkUse();
  void pathAddsUp();
  void waits();
  void coarse();
  void limits();
  void sameTwice();
  void differences();
  void errors();
  void cancelled();
};

void TestSimulate::chain() {
  QFETCH(int, ranks);
  QFETCH(int, pieces);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = mesh(ranks);
  Job job(fabric, {.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)});
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    const MessageId message = send(job, {rank, rank + 1}, 1, rank, rank + 1);
    if (rank > 0) {
      job.wait({.before = message - 1, .after = message});
    }
  }
  const Run run = play(job, pieces);
  COMPARE_TIME(run.time, (ranks - 2 + pieces) * (latency + overhead + kBytes / pieces / kBytesPerMicrosecond));
  QCOMPARE(run.messages, std::int64_t{ranks - 1} * pieces);
}

/// A wide window hides the latency of all but the last hop's way.
void TestSimulate::chainWithWindow() {
  constexpr int kRanks = 5;
  constexpr int kPieces = 7;
  const fabric::Fabric fabric = mesh(kRanks);
  Job job(fabric, {.linkLatency = Microseconds(50), .messageOverhead = Microseconds(2), .window = 1000});
  for (int rank = 0; rank + 1 < kRanks; ++rank) {
    const MessageId message = send(job, {rank, rank + 1}, 1, rank, rank + 1);
    if (rank > 0) {
      job.wait({.before = message - 1, .after = message});
    }
  }
  const double sending = 2 + kBytes / kPieces / kBytesPerMicrosecond;
  COMPARE_TIME(play(job, kPieces).time, (kRanks - 1) * (50 + sending) + (kPieces - 1) * sending);
}

/// Links of their own do not help where the ranks share a machine: all messages together have its rate, and each costs
/// as much as some bytes more.
void TestSimulate::sharedMachine() {
  constexpr int kRanks = 5;
  constexpr int kPieces = 4;
  constexpr double kTotal = 10;  // GB/s
  constexpr double kMessageBytes = 3e6;
  const fabric::Fabric fabric = mesh(kRanks);
  const auto timeOf = [&](const Model& model) {
    Job job(fabric, model);
    for (int rank = 0; rank < kRanks; ++rank) {
      send(job, {rank, (rank + 1) % kRanks}, 1, rank, (rank + 1) % kRanks);
    }
    const Run run = play(job, kPieces);
    // The rate of all is not a link.
    return run.links.size() == fabric.arcs().size() && job.linkShares().size() == fabric.arcs().size()
               ? run.time.count()
               : -1;
  };
  const Model free{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
  COMPARE_TIME(timeOf(free), kBytes / kBytesPerMicrosecond);
  Model shared = free;
  shared.totalRate = Throughput(kTotal);
  COMPARE_TIME(timeOf(shared), kRanks * kBytes / (kTotal * 1000));
  shared.messageBytes = kMessageBytes;
  COMPARE_TIME(timeOf(shared), kRanks * (kBytes + kPieces * kMessageBytes) / (kTotal * 1000));
  Model headers = free;
  headers.messageBytes = kMessageBytes;
  COMPARE_TIME(timeOf(headers), (kBytes + kPieces * kMessageBytes) / kBytesPerMicrosecond);
}

/// Allgather and reduce_scatter are N - 1 steps, allreduce twice as many.
void TestSimulate::ring() {
  QFETCH(int, ranks);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = mesh(ranks);
  const Model model{.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)};
  const double step = latency + overhead + kBytes / ranks / kBytesPerMicrosecond;
  COMPARE_TIME(play(ringSteps(fabric, model, ranks, ranks - 1)).time, (ranks - 1) * step);
  COMPARE_TIME(play(ringSteps(fabric, model, ranks, 2 * (ranks - 1))).time, 2 * (ranks - 1) * step);
}

void TestSimulate::recursiveDoubling() {
  QFETCH(int, ranks);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = mesh(ranks);
  Job job(fabric, {.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)});
  std::vector<MessageId> before;
  int steps = 0;
  for (int distance = 1; distance < ranks; distance *= 2, ++steps) {
    std::vector<MessageId> now;
    for (int rank = 0; rank < ranks; ++rank) {
      const int peer = rank ^ distance;
      now.push_back(send(job, {rank, peer}, static_cast<double>(distance) / ranks, rank, peer));
      if (distance > 1) {
        job.wait({.before = before[rank ^ (distance / 2)], .after = now.back()});
      }
    }
    before = now;
  }
  COMPARE_TIME(play(job).time, steps * (latency + overhead) + (ranks - 1.0) / ranks * kBytes / kBytesPerMicrosecond);
}

void TestSimulate::binomialBroadcast() {
  QFETCH(int, ranks);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = mesh(ranks);
  Job job(fabric, {.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)});
  constexpr MessageId kNone = ~MessageId{0};
  std::vector<MessageId> into(ranks, kNone);
  std::vector<MessageId> lastOf(ranks, kNone);  // a rank sends one message after another
  int steps = 0;
  for (int distance = 1; distance < ranks; distance *= 2, ++steps) {
    for (int rank = 0; rank < distance; ++rank) {
      const MessageId message = send(job, {rank, rank + distance}, 1, rank, rank + distance);
      if (into[rank] != kNone) {
        job.wait({.before = into[rank], .after = message});
      }
      if (lastOf[rank] != kNone) {
        job.wait({.before = lastOf[rank], .after = message});
      }
      lastOf[rank] = message;
      into[rank + distance] = message;
    }
  }
  COMPARE_TIME(play(job).time, steps * (latency + overhead + kBytes / kBytesPerMicrosecond));
}

/// All at once: every port carries N - 1 messages of one rank's buffer over N.
void TestSimulate::alltoallThroughASwitch() {
  QFETCH(int, ranks);
  QFETCH(double, latency);
  QFETCH(double, overhead);
  const fabric::Fabric fabric = star(ranks);
  Job job(fabric, {.linkLatency = Microseconds(latency), .messageOverhead = Microseconds(overhead)});
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) {
        send(job, {fabric.gpus()[from], 0, fabric.gpus()[to]}, 1.0 / ranks, from, to);
      }
    }
  }
  COMPARE_TIME(play(job).time, 2 * latency + overhead + (ranks - 1.0) / ranks * kBytes / kBytesPerMicrosecond);
}

void TestSimulate::twoFlowsOneLink() {
  const fabric::Fabric fabric = mesh(2);
  Job job(fabric, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)});
  const MessageId small = send(job, {0, 1}, 0.25, 0, 1);
  const MessageId large = send(job, {0, 1}, 0.75, 0, 1);
  const Run run = play(job);
  const double whole = kBytes / kBytesPerMicrosecond;
  COMPARE_TIME(run.intervals[small].arrived, 0.5 * whole);  // half the link each
  COMPARE_TIME(run.intervals[large].arrived, whole);        // then all of it
}

/// The textbook's line: one flow over both links, one over each. Equal links: half each. A second link of a third: the
/// long flow gets half of that, the other flow of the first link all the rest.
void TestSimulate::threeFlowsTwoLinks() {
  for (const int second : {30, 10}) {
    test::Sketch sketch("line");
    for (const char* id : {"g0", "g1", "g2"}) {
      sketch.gpu(id);
    }
    sketch.link("g0", "g1", 30);
    sketch.link("g1", "g2", second);
    const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
    Job job(fabric, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)});
    // As large as they flow, so that all end at once.
    const double slow = second / 2.0;
    send(job, {0, 1, 2}, slow, 0, 2);
    send(job, {0, 1}, 30 - slow, 0, 1);
    send(job, {1, 2}, slow, 1, 2);
    const Run run = play(job);
    for (const simulate::Interval& interval : run.intervals) {
      COMPARE_TIME(interval.arrived, kBytes / 1000);
    }
  }
}

/// A flow that its own bottleneck holds back leaves the rest of a shared link to the others, and they get it back when
/// it ends.
void TestSimulate::bandwidthThatIsLeft() {
  test::Sketch sketch("narrow");
  for (const char* id : {"g0", "g1", "g2", "g3"}) {
    sketch.gpu(id);
  }
  sketch.relay("sw");
  sketch.link("g0", "sw", 30);
  sketch.link("sw", "g1", 5);
  sketch.link("sw", "g2", 30);
  sketch.link("sw", "g3", 30);
  const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
  const int relay = *fabric.find("sw");
  Job job(fabric, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)});
  send(job, {0, relay, 1}, 5, 0, 1);     // 5 GB/s all the time
  send(job, {0, relay, 2}, 12.5, 0, 2);  // 12.5 GB/s
  send(job, {0, relay, 3}, 17.5, 0, 3);  // 12.5 GB/s, the last fifth at 30 GB/s
  const Run run = play(job);
  const double unit = kBytes / 1000;
  COMPARE_TIME(run.intervals[0].arrived, unit);
  COMPARE_TIME(run.intervals[1].arrived, unit);
  COMPARE_TIME(run.intervals[2].arrived, unit + 5.0 / 30 * unit);
}

/// A message of weight w is w equal ones.
void TestSimulate::weights() {
  const fabric::Fabric fabric = mesh(2);
  Job one(fabric, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)});
  one.add({.route = must(one.route(std::vector{0, 1})), .weight = 3, .share = 0.75, .from = 0, .to = 1});
  one.add({.route = must(one.route(std::vector{0, 1})), .share = 0.25, .from = 0, .to = 1});
  const Run run = play(one);
  COMPARE_TIME(run.intervals[0].arrived, kBytes / kBytesPerMicrosecond);
  COMPARE_TIME(run.intervals[1].arrived, kBytes / kBytesPerMicrosecond);
}

void TestSimulate::connectionRate() {
  const fabric::Fabric fabric = mesh(2);
  Job job(fabric, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0), .rateCap = Throughput(10)});
  for (const double share : {0.2, 0.8}) {
    send(job, {0, 1}, share, 0, 1);
  }
  const Run run = play(job);
  COMPARE_TIME(run.intervals[0].arrived, 0.2 * kBytes / 10'000);
  COMPARE_TIME(run.intervals[1].arrived, 0.8 * kBytes / 10'000);
}

/// What waits for a barrier waits for the slowest before it.
void TestSimulate::barrier() {
  const fabric::Fabric fabric = mesh(4);
  Job job(fabric, {.linkLatency = Microseconds(1), .messageOverhead = Microseconds(0)});
  const MessageId barrier = job.add({});
  job.wait({.before = send(job, {0, 1}, 0.1, 0, 1), .after = barrier, .why = Wait::barrier});
  job.wait({.before = send(job, {2, 3}, 0.9, 2, 3), .after = barrier, .why = Wait::barrier});
  job.wait({.before = barrier, .after = send(job, {1, 0}, 0.2, 1, 0), .why = Wait::barrier});
  const Run run = play(job);
  COMPARE_TIME(run.time, 2 + 1.1 * kBytes / kBytesPerMicrosecond);
  QCOMPARE(run.messages, 3);
  QCOMPARE(run.criticalPath.size(), std::size_t{3});
}

void TestSimulate::linkUse() {
  const fabric::Fabric fabric = mesh(3);
  Job job(fabric, {.linkLatency = Microseconds(3), .messageOverhead = Microseconds(4)});
  send(job, {0, 1}, 0.5, 0, 1);
  job.wait({.before = 0, .after = send(job, {1, 2}, 0.25, 1, 2)});
  const Run run = play(job, 2);
  const auto use = [&](int from, int to) { return run.links[*fabric.findArc(from, to)]; };
  COMPARE_TIME(use(0, 1).bytes, 0.5 * kBytes);
  COMPARE_TIME(use(1, 2).bytes, 0.25 * kBytes);
  COMPARE_TIME(use(0, 1).busy, 0.5 * kBytes / kBytesPerMicrosecond);
  COMPARE_TIME(use(1, 2).busy, 0.25 * kBytes / kBytesPerMicrosecond);
  QCOMPARE(use(2, 0).bytes, 0.0);
  QCOMPARE(use(2, 0).busy.count(), 0.0);
}

/// The parts of the critical path are the time of the run, with every kind of wait in it.
void TestSimulate::pathAddsUp() {
  const fabric::Fabric fabric = star(6);
  for (const std::uint32_t window : {1U, 2U, 5U}) {
    test::Dice dice(window);
    Job job(fabric, {.window = window});
    for (int i = 0; i < 60; ++i) {
      const int from = dice.index(0, 5);
      const int to = (from + dice.index(1, 5)) % 6;
      const MessageId message =
          send(job, {fabric.gpus()[from], 0, fabric.gpus()[to]}, static_cast<double>(dice.pick(1, 9)) / 100, from, to);
      for (int j = 0; message > 0 && j < 2; ++j) {
        job.wait({.before = static_cast<MessageId>(dice.pick(0, message - 1)),
                  .after = message,
                  .why = dice.oneIn(2) ? Wait::data : Wait::order});
      }
    }
    simulate::Details details;
    details.phases.push_back({&job, play(job, 4)});
    details.row.time = details.phases.front().run.time;
    Microseconds sum(0);
    for (const simulate::PathPart& part : simulate::pathParts(details)) {
      sum += part.overhead + part.sending + part.sharing + part.latency;
    }
    COMPARE_TIME(sum, details.row.time);
    for (const simulate::LinkLoad& load : simulate::linkLoads(details)) {
      QVERIFY(load.busy <= details.row.time * (1 + 1e-9));
      QVERIFY(load.bytes <= load.busy.count() * kBytesPerMicrosecond * (1 + 1e-9));
    }
  }
}

/// Each message of the path says what it waited for.
void TestSimulate::waits() {
  const fabric::Fabric fabric = mesh(3);
  Job job(fabric, {.linkLatency = Microseconds(1), .messageOverhead = Microseconds(1)});
  const MessageId first = send(job, {0, 1}, 0.5, 0, 1);
  const MessageId second = send(job, {1, 2}, 0.25, 1, 2);
  job.wait({.before = first, .after = second});
  const Run run = play(job, 2);
  QCOMPARE(run.criticalPath.size(), std::size_t{3});
  QVERIFY(run.criticalPath[0].waitedFor == Wait::nothing);
  QVERIFY(run.criticalPath[1].waitedFor == Wait::window);
  QCOMPARE(run.criticalPath[1].when.message, first);
  QVERIFY(run.criticalPath[2].waitedFor == Wait::data);
  QCOMPARE(run.criticalPath[2].when.message, second);
  QCOMPARE(told(simulate::nameOf(job, second, 1)), QByteArray("rank 1 to rank 2, tree 0, piece 1"));
}

/// Rates that are computed at intervals make a run longer, not shorter, and never overload a link.
void TestSimulate::coarse() {
  const fabric::Fabric fabric = star(8);
  test::Dice dice(5);
  Job job(fabric, {.linkLatency = Microseconds(0.1), .messageOverhead = Microseconds(0.2)});
  for (int i = 0; i < 200; ++i) {
    const int from = dice.index(0, 7);
    const int to = (from + dice.index(1, 7)) % 8;
    send(job, {fabric.gpus()[from], 0, fabric.gpus()[to]}, static_cast<double>(dice.pick(1, 99)) / 1000, from, to);
  }
  const Run exact = must(simulate::run(job, {.bytes = kBytes, .repeats = 10, .resolution = Microseconds(0)}));
  QCOMPARE(exact.resolution.count(), 0.0);
  const Microseconds min = job.timePerByte() * kBytes;
  for (const double share : {0.0001, 0.001, 0.01}) {
    const Run coarse = must(simulate::run(job, {.bytes = kBytes, .repeats = 10, .resolution = share * exact.time}));
    QVERIFY(coarse.resolution > Microseconds(0));
    QVERIFY(coarse.fills < exact.fills);
    QVERIFY(coarse.time >= min);
    QVERIFY2(coarse.time <= exact.time * (1 + 40 * share), qPrintable(QString::number(coarse.time / exact.time)));
  }
}

/// A limit changes no time up to it.
void TestSimulate::limits() {
  constexpr int kRanks = 4;
  const fabric::Fabric fabric = mesh(kRanks);
  const Job job = ringSteps(fabric, {.linkLatency = Microseconds(1)}, kRanks, 2 * (kRanks - 1));
  const Microseconds time = must(simulate::run(job, {.bytes = kBytes, .repeats = 10})).time;
  for (const double share : {1.0, 1.5}) {
    QCOMPARE(must(simulate::run(job, {.bytes = kBytes, .repeats = 10, .limit = share * time})).time.count(),
             time.count());
  }
  QVERIFY(std::isinf(must(simulate::run(job, {.bytes = kBytes, .repeats = 10, .limit = 0.5 * time})).time.count()));
}

void TestSimulate::sameTwice() {
  const fabric::Fabric fabric = star(5);
  test::Dice dice(9);
  Job job(fabric, {});
  for (int i = 0; i < 100; ++i) {
    const int from = dice.index(0, 4);
    const int to = (from + dice.index(1, 4)) % 5;
    send(job, {fabric.gpus()[from], 0, fabric.gpus()[to]}, static_cast<double>(dice.pick(1, 99)) / 1000, from, to);
  }
  const Run one = play(job, 3);
  const Run two = play(job, 3);
  QCOMPARE(one.time, two.time);
  QCOMPARE(one.fills, two.fills);
  for (std::size_t i = 0; i < one.intervals.size(); ++i) {
    QCOMPARE(one.intervals[i].left, two.intervals[i].left);
  }
}

/// 0 tells 1 and 2 at once; or it tells 1, which tells 2.
void TestSimulate::differences() {
  const fabric::Fabric fabric = mesh(3);
  const Model still{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
  const auto details = [](const Job& job) {
    return simulate::Details{.row = {.size = static_cast<std::int64_t>(kBytes)}, .phases = {{&job, play(job)}}};
  };
  Job star(fabric, still);
  send(star, {0, 1}, 1, 0, 1);
  send(star, {0, 2}, 1, 0, 2);
  Job chain(fabric, still);
  const MessageId early = send(chain, {0, 1}, 1, 0, 1);
  const MessageId late = send(chain, {1, 2}, 1, 1, 2);
  chain.wait({.before = early, .after = late});
  const simulate::Details first = details(star);
  const simulate::Details second = details(chain);
  const double whole = kBytes / kBytesPerMicrosecond;

  const auto links = simulate::linkDifferences(first, second);
  QCOMPARE(links.size(), std::size_t{3});
  QCOMPARE(told(links[0].tail + links[0].head), QByteArray("g1g2"));
  COMPARE_TIME(links[0].busyDifference(), whole);
  QCOMPARE(links[0].first.bytes, 0.0);
  COMPARE_TIME(links[0].second.bytes, kBytes);
  COMPARE_TIME(links[0].bandwidth, kBandwidth);
  QCOMPARE(told(links[1].tail + links[1].head), QByteArray("g0g1"));
  COMPARE_TIME(links[1].first.busy, whole);
  QVERIFY(std::abs(links[1].busyDifference().count()) < 1e-9 * whole);
  QCOMPARE(told(links[2].tail + links[2].head), QByteArray("g0g2"));
  COMPARE_TIME(links[2].busyDifference(), -whole);

  const auto gpus = simulate::rankDifferences(first, second);
  QCOMPARE(gpus.size(), std::size_t{3});
  QCOMPARE(told(gpus[0].gpu), QByteArray("g2"));
  COMPARE_TIME(gpus[0].doneDifference(), whole);
  COMPARE_TIME(gpus[0].first.received, kBytes);
  QCOMPARE(told(gpus[1].gpu), QByteArray("g0"));
  COMPARE_TIME(gpus[1].first.sent, 2 * kBytes);
  // Both messages leave at the same time.
  COMPARE_TIME(gpus[1].first.sending, whole);
  QCOMPARE(gpus[1].first.done.count(), 0.0);
  QCOMPARE(told(gpus[2].gpu), QByteArray("g1"));
  COMPARE_TIME(gpus[2].second.sending, whole);
  QCOMPARE(gpus[2].first.sending.count(), 0.0);

  // A GPU and links that one of the fabrics alone has.
  const fabric::Fabric smaller = mesh(2);
  Job pair(smaller, still);
  send(pair, {0, 1}, 1, 0, 1);
  const auto others = simulate::linkDifferences(details(pair), second);
  QCOMPARE(others.size(), std::size_t{2});
  QCOMPARE(told(others[0].tail + others[0].head), QByteArray("g1g2"));
  QCOMPARE(simulate::rankDifferences(details(pair), second).size(), std::size_t{3});
}

void TestSimulate::errors() {
  const fabric::Fabric fabric = mesh(3);
  Job job(fabric, {});
  const auto missing = Job(star(3), {}).route(std::vector{1, 2});
  QVERIFY(!missing);
  QVERIFY2(missing.error().message.find("the fabric has no such link") != std::string::npos,
           missing.error().message.c_str());
  send(job, {0, 1}, 0.5, 0, 1);
  send(job, {1, 2}, 0.5, 1, 2);
  QVERIFY(!simulate::run(job, {.bytes = 0}));
  QVERIFY(!simulate::run(job, {.bytes = 1, .repeats = 0}));
  const auto tooMany = simulate::run(job, {.bytes = 1, .repeats = 1U << 30, .record = true});
  QVERIFY(!tooMany);
  QVERIFY(tooMany.error().code == ErrorCode::limit);
  job.wait({.before = 0, .after = 1});
  job.wait({.before = 1, .after = 0});
  const auto circle = simulate::run(job, {.bytes = 1});
  QVERIFY(!circle);
  QVERIFY(circle.error().code == ErrorCode::badInput);
  QCOMPARE(told(circle.error().message), QByteArray("messages wait for each other in a cycle: rank 0 to rank 1, tree "
                                                    "0, piece 0, which waits for rank 1 to rank 2, tree 0, piece 0"));
}

void TestSimulate::cancelled() {
  const fabric::Fabric fabric = mesh(3);
  Job job(fabric, {});
  send(job, {0, 1}, 1, 0, 1);
  std::stop_source stop;
  stop.request_stop();
  const auto run = simulate::run(job, {.bytes = 1, .repeats = 1000}, {.stop = stop.get_token()});
  QVERIFY(!run);
  QVERIFY(run.error().code == ErrorCode::cancelled);
}

QTEST_APPLESS_MAIN(TestSimulate)
#include "tst_simulate.moc"
