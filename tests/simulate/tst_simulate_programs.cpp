// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "compare_time.hpp"
#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "simulate/fits.hpp"
#include "simulate/measured.hpp"
#include "simulate/program_job.hpp"
#include "simulate/report.hpp"
#include "simulate/routes.hpp"
#include "simulate/sweep.hpp"
#include "support/large_fabrics.hpp"
#include "support/must.hpp"
#include "support/recorded_events.hpp"
#include "support/sample_programs.hpp"

using namespace coppice;
using program::Program;
using simulate::Model;
using test::must;

namespace {

constexpr double kRate = 25'000;  // bytes per us of a link

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

/// Two boxes of four GPUs with NVLink switches and one switch between them.
fabric::Fabric twoBoxes() {
  return must(fabric::Fabric::build(must(presets::make("cluster", {{"boxes", "2"}, {"gpus", "4"}}))));
}

Program fileOf(const char* name) {
  QFile file(QStringLiteral(COPPICE_TEST_DATA) + "/simulate/" + name);
  if (!file.open(QIODevice::ReadOnly)) {
    qFatal("cannot read %s", name);
  }
  return must(program::readMscclXml(file.readAll().toStdString(), program::Runtime::msccl, name)).program;
}

simulate::Row simulated(const fabric::Fabric& fabric, const Program& program, const Model& model, std::int64_t bytes) {
  return must(simulate::subjectOf(fabric, program, model)->simulate(bytes, {})).row;
}

}  // namespace

class TestSimulatePrograms : public QObject {
  Q_OBJECT

private slots:
  void ringAllgather();
  void ringAllreduce();
  void chainBroadcast();
  void directAlltoall();
  void slots_();
  void turns();
  void protocols();
  void allSamples();
  void thirdParty_data();
  void thirdParty();
  void routes();
  void errors();
  void trace();
  void reports();
  void measured();
  void measuredFaults_data();
  void measuredFaults();
  void fits();
};

/// N - 1 steps, each with its message alone on the link.
void TestSimulatePrograms::ringAllgather() {
  for (const int ranks : {2, 3, 8}) {
    constexpr double kBytes = 1 << 20;
    const double step = 0.75 + 2 + kBytes / ranks / kRate;
    COMPARE_TIME(simulated(mesh(ranks), samples::ringAllgather(ranks, 1, true),
                           {.linkLatency = Microseconds(0.75), .messageOverhead = Microseconds(2)}, 1 << 20)
                     .time,
                 (ranks - 1) * step);
  }
}

void TestSimulatePrograms::ringAllreduce() {
  constexpr int kRanks = 4;
  constexpr double kBytes = 1 << 20;
  COMPARE_TIME(simulated(mesh(kRanks), samples::ringAllreduce(kRanks, true),
                         {.linkLatency = Microseconds(1), .messageOverhead = Microseconds(2)}, 1 << 20)
                   .time,
               2 * (kRanks - 1) * (3 + kBytes / kRanks / kRate));
}

/// Fused steps pass chunk after chunk down a chain.
void TestSimulatePrograms::chainBroadcast() {
  constexpr int kRanks = 5;
  constexpr int kChunks = 6;
  constexpr double kBytes = 6 << 20;
  COMPARE_TIME(simulated(mesh(kRanks), samples::chainBroadcast(kRanks, kChunks, true),
                         {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(4)}, 6 << 20)
                   .time,
               (kRanks - 2 + kChunks) * (4 + kBytes / kChunks / kRate));
}

void TestSimulatePrograms::directAlltoall() {
  constexpr int kRanks = 6;
  constexpr double kBytes = 6 << 20;
  const simulate::Row row = simulated(mesh(kRanks), samples::directAlltoall(kRanks),
                                      {.linkLatency = Microseconds(1), .messageOverhead = Microseconds(2)}, 6 << 20);
  COMPARE_TIME(row.time, 3 + kBytes / kRanks / kRate);
  COMPARE_TIME(row.busbw, row.algbw * (5.0 / 6));
}

/// A receiver that takes nothing lets a sender run ahead by the slots of its connection, then the sender waits.
void TestSimulatePrograms::slots_() {
  using program::StepType;
  using samples::step;
  // Rank 0 sends five chunks; rank 1 takes them only after a slow message of its own has left.
  Program program = samples::empty(Collective::allgather, 2, 8, true, 0, 8);
  program.ranks[0].threadBlocks = {{.sendPeer = 1, .recvPeer = 1}};
  program.ranks[1].threadBlocks = {{.sendPeer = 0, .recvPeer = 0}};
  for (int chunk = 0; chunk < 4; ++chunk) {
    program.ranks[0].threadBlocks[0].steps.push_back(step(StepType::send, {program::Buffer::output, chunk}));
    program.ranks[1].threadBlocks[0].steps.push_back(step(StepType::recv, {program::Buffer::output, chunk}));
  }
  for (int chunk = 4; chunk < 8; ++chunk) {
    program.ranks[0].threadBlocks[0].steps.push_back(step(StepType::recv, {program::Buffer::output, chunk}));
    program.ranks[1].threadBlocks[0].steps.push_back(step(StepType::send, {program::Buffer::output, chunk}));
  }
  const fabric::Fabric fabric = mesh(2);
  constexpr double kBytes = 8 << 20;
  // Latency 100: messages 0 and 1 leave at once, the next two when those have been taken.
  const double send = kBytes / 8 / kRate;
  const double oneWay = 2 * (100 + send) + send;
  const auto subject =
      simulate::subjectOf(fabric, program, {.linkLatency = Microseconds(100), .messageOverhead = Microseconds(0)});
  const auto details = must(subject->simulate(8 << 20, {.record = true}));
  COMPARE_TIME(details.row.time, 2 * oneWay);
  const auto& path = details.phases.front().run.criticalPath;
  QVERIFY(std::any_of(path.begin(), path.end(), [](const simulate::CriticalMessage& message) {
    return message.waitedFor == simulate::Wait::space;
  }));
}

/// Chunks larger than a slot take several turns of the program.
void TestSimulatePrograms::turns() {
  const fabric::Fabric fabric = mesh(4);
  const Program program = samples::ringAllgather(4, 1, true);
  QCOMPARE(simulated(fabric, program, {}, 8 << 20).pieces, 1U);
  QCOMPARE(simulated(fabric, program, {}, 64 << 20).pieces, 8U);
  // Without latencies the turns follow each other without a gap: every link carries 3/4 of the bytes all the time.
  const simulate::Row row =
      simulated(fabric, program, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)}, 1LL << 32);
  const double min = 0.75 * static_cast<double>(1LL << 32) / kRate;
  QVERIFY(row.time.count() >= min * (1 - 1e-9));
  QVERIFY2(row.time.count() <= min * 1.05, qPrintable(QString::number(row.time.count() / min)));
}

/// LL doubles the bytes on the wire, LL128 adds a fifteenth; slots are smaller.
void TestSimulatePrograms::protocols() {
  const fabric::Fabric fabric = mesh(3);
  const Model model{.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)};
  Program program = samples::ringAllgather(3, 1, true);
  const Microseconds simple = simulated(fabric, program, model, 3000).time;
  program.protocol = program::Protocol::ll;
  COMPARE_TIME(simulated(fabric, program, model, 3000).time, 2 * simple);
  program.protocol = program::Protocol::ll128;
  COMPARE_TIME(simulated(fabric, program, model, 3000).time, simple * 16 / 15);
}

/// Every sample runs to its end at every size, no faster than its links.
void TestSimulatePrograms::allSamples() {
  for (const auto& [name, program] : samples::allPrograms()) {
    const fabric::Fabric fabric = mesh(static_cast<int>(program.ranks.size()));
    const auto subject = simulate::subjectOf(fabric, program, {});
    Microseconds last(0);
    for (const std::int64_t bytes : {1LL, 1000LL, 1LL << 20, 1LL << 28}) {
      const auto details = must(subject->simulate(bytes, {}));
      QVERIFY2(details.row.time > last, name.c_str());
      for (const simulate::LinkLoad& load : simulate::linkLoads(details)) {
        QVERIFY2(load.utilization <= 1 + 1e-9, name.c_str());
      }
      last = details.row.time;
    }
  }
}

void TestSimulatePrograms::thirdParty_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<double>("crossing");  // share of the bytes that every GPU sends to the other box
  QTest::newRow("two-level alltoall") << "two_level_alltoall.xml"
                                      << "alltoall" << 0.5;
  QTest::newRow("hierarchical allreduce") << "hierarchical_allreduce.xml"
                                          << "allreduce" << 0.25;
}

/// Files of others, without a schedule, on a fabric: time, and the bytes that have to cross between the boxes.
void TestSimulatePrograms::thirdParty() {
  QFETCH(QString, file);
  QFETCH(QString, collective);
  QFETCH(double, crossing);
  const fabric::Fabric fabric = twoBoxes();
  const Program program = fileOf(qPrintable(file));
  const auto subject = simulate::subjectOf(fabric, program, {});
  QCOMPARE(QString::fromStdString(subject->collectiveName()), collective);
  constexpr std::int64_t kBytes = 1 << 24;
  const auto details = must(subject->simulate(kBytes, {.record = true}));
  QVERIFY(details.row.time > Microseconds(0));
  QVERIFY(subject->notes().empty());
  int ports = 0;
  for (const simulate::LinkLoad& load : simulate::linkLoads(details)) {
    const fabric::Arc& arc = fabric.arcs()[load.arc];
    if (fabric.nodes()[arc.tail].kind == fabric::NodeKind::gpu && fabric.nodes()[arc.head].box.empty()) {
      COMPARE_TIME(load.bytes, crossing * kBytes);
      ++ports;
    }
  }
  QCOMPARE(ports, 8);
  Microseconds sum(0);
  for (const simulate::PathPart& part : simulate::pathParts(details)) {
    sum += part.overhead + part.sending + part.sharing + part.latency;
  }
  COMPARE_TIME(sum, details.row.time);
}

/// Shortest, over switches where that is possible, wide before narrow, and spread over equal ways.
void TestSimulatePrograms::routes() {
  test::Sketch sketch("ways");
  for (const char* id : {"g0", "g1", "g2"}) {
    sketch.gpu(id);
  }
  for (const char* id : {"wide0", "wide1", "narrow"}) {
    sketch.relay(id);
    for (const char* gpu : {"g0", "g1"}) {
      sketch.link(gpu, id, std::string(id) == "narrow" ? 5 : 50);
    }
  }
  sketch.link("g1", "g2", 10);
  const fabric::Fabric fabric = must(fabric::Fabric::build(sketch.take()));
  simulate::ShortestRoutes routes(fabric);
  std::map<std::string, int> used;
  for (int channel = 0; channel < 4; ++channel) {
    const auto& route = routes.find(0, 1, channel);
    QCOMPARE(route.size(), std::size_t{3});
    ++used[fabric.nodes()[route[1]].id];
  }
  QCOMPARE(used, (std::map<std::string, int>{{"wide0", 2}, {"wide1", 2}}));
  QCOMPARE(routes.throughGpus(), 0);
  // g2 hangs on g1 alone.
  QCOMPARE(routes.find(0, 2, 0).size(), std::size_t{4});
  QCOMPARE(routes.throughGpus(), 1);
}

void TestSimulatePrograms::errors() {
  const auto other = simulate::programJob(mesh(3), samples::ringAllgather(4, 1, true), 1, {});
  QVERIFY(!other);
  QCOMPARE(QString::fromStdString(other.error().message), QString("the program is for 4 ranks, the fabric has 3 GPUs"));
  Program lonely = samples::ringAllgather(3, 1, true);
  lonely.ranks[1].threadBlocks.clear();
  const auto broken = simulate::programJob(mesh(3), lonely, 1, {});
  QVERIFY(!broken);
  QVERIFY(!broken.error().message.empty());
  // Two ranks that both receive first.
  Program stuck = samples::empty(Collective::allgather, 2, 2, true, 0, 2);
  for (int rank = 0; rank < 2; ++rank) {
    using samples::step;
    stuck.ranks[rank].threadBlocks = {{.sendPeer = 1 - rank,
                                       .recvPeer = 1 - rank,
                                       .steps = {step(program::StepType::recv, {program::Buffer::output, 1 - rank}),
                                                 step(program::StepType::send, {program::Buffer::output, rank})}}};
  }
  const fabric::Fabric fabric = mesh(2);
  const auto circle = simulate::subjectOf(fabric, stuck, {})->simulate(1000, {});
  QVERIFY(!circle);
  QVERIFY2(circle.error().message.find("in a cycle") != std::string::npos, circle.error().message.c_str());
}

/// One JSON object; each message once, and no two at a time in one row.
void TestSimulatePrograms::trace() {
  const fabric::Fabric fabric = twoBoxes();
  const Program program = fileOf("two_level_alltoall.xml");
  const auto subject = simulate::subjectOf(fabric, program, {});
  const auto details = must(subject->simulate(1 << 22, {.record = true}));
  std::ostringstream out;
  simulate::writeTrace(out, details);
  QJsonParseError fault;
  const QJsonDocument document = QJsonDocument::fromJson(QByteArray::fromStdString(out.str()), &fault);
  QVERIFY2(document.isObject(), qPrintable(fault.errorString()));
  std::map<std::pair<int, int>, double> freeFrom;
  int messages = 0;
  for (const QJsonValue& value : document["traceEvents"].toArray()) {
    const QJsonObject event = value.toObject();
    if (event["ph"].toString() != "X") {
      continue;
    }
    ++messages;
    double& from = freeFrom[{event["pid"].toInt(), event["tid"].toInt()}];
    QVERIFY(event["ts"].toDouble() >= from - 1e-5);
    from = event["ts"].toDouble() + event["dur"].toDouble();
  }
  QCOMPARE(messages, 8 * 7);  // six messages in the box, one between the boxes
}

void TestSimulatePrograms::reports() {
  const simulate::Row row{
      .size = 1048576, .time = Microseconds(12.5), .algbw = Throughput(83.89), .busbw = Throughput(73.4), .pieces = 3};
  QCOMPARE(QString::fromStdString(simulate::csvOf(std::vector{row})),
           QString("size,pieces,time_us,algbw_GBps,busbw_GBps,resolution_us\n"
                   "1048576,3,12.5,83.890000000000001,73.400000000000006,0\n"));
  const QStringList lines =
      QString::fromStdString(simulate::ncclTestsTextOf(std::vector{row}, "allreduce", -1)).split('\n');
  QVERIFY(lines[0].startsWith("#"));
  const QStringList fields = lines[4].simplified().split(' ');
  QCOMPARE(fields, QStringList({"1048576", "262144", "float", "sum", "-1", "12.50", "83.89", "73.40", "N/A", "12.50",
                                "83.89", "73.40", "N/A"}));
  QVERIFY(QString::fromStdString(simulate::tableOf(std::vector{row}, true)).contains("12.50"));
}

/// Times count from the first step; the link on which steps took longer leads the lists, and it alone lost time.
void TestSimulatePrograms::measured() {
  constexpr int kRanks = 4;
  constexpr std::int64_t kBytes = 1 << 20;
  constexpr int kSlow = 2;
  const fabric::Fabric fabric = mesh(kRanks);
  const Program program = samples::ringAllgather(kRanks, 1, true);
  const auto subject =
      simulate::subjectOf(fabric, program, {.linkLatency = Microseconds(0), .messageOverhead = Microseconds(0)});
  const auto planned = must(subject->simulate(kBytes, {.record = true}));
  const auto hop = static_cast<std::int64_t>(1000 * kBytes / kRanks / kRate);
  const auto isSlow = [&](const program::StepPlace& place) {
    return place.rank == kSlow &&
           program::sends(program.ranks[kSlow].threadBlocks[place.threadBlock].steps[place.step].type);
  };
  const auto steps = [&](std::int64_t slow) {
    return test::recordedEvents(program, [&](const program::StepPlace& place) {
      const auto type = program.ranks[place.rank].threadBlocks[place.threadBlock].steps[place.step].type;
      return type == program::StepType::recv ? 1 : isSlow(place) ? slow : hop;
    });
  };
  const auto even = must(simulate::measuredRun(fabric, program, kBytes, steps(hop)));
  QCOMPARE(even.phases.front().run.messages, std::int64_t{kRanks * (kRanks - 1)});
  QVERIFY(std::abs(even.row.time.count() - (kRanks - 1) * static_cast<double>(hop) / 1000) < 0.1);
  QVERIFY(std::abs(even.row.algbw.gigabytesPerSecond() - kBytes / even.row.time.count() / 1000) < 1e-9);
  const auto sameBytes = [](const simulate::LinkUse& a, const simulate::LinkUse& b) {
    return std::abs(a.bytes - b.bytes) < 1e-6;
  };
  QVERIFY(std::ranges::equal(even.phases.front().run.links, planned.phases.front().run.links, sameBytes));
  const simulate::Comparison same = simulate::compared(planned, even);
  QCOMPARE(same.links.size(), std::size_t{kRanks});
  for (const simulate::ComparedPart& part : same.links) {
    QVERIFY(std::abs(part.lost().count()) < 0.1);
    QVERIFY(part.ratio() && std::abs(*part.ratio() - 1) < 0.01);
  }
  const simulate::Comparison late =
      simulate::compared(planned, must(simulate::measuredRun(fabric, program, kBytes, steps(5 * hop))));
  const fabric::Arc& guilty = fabric.arcs()[late.links.front().index];
  QCOMPARE(QString::fromStdString(fabric.nodes()[guilty.tail].id), QString("g2"));
  QCOMPARE(QString::fromStdString(fabric.nodes()[guilty.head].id), QString("g3"));
  QCOMPARE(late.ranks.front().index, kSlow);
  QVERIFY(std::abs(*late.links.front().ratio() - 5) < 0.05);
  QVERIFY(late.measured > 2 * late.planned);
  for (std::size_t i = 1; i < late.links.size(); ++i) {
    QVERIFY2(std::abs(late.links[i].lost().count()) < 0.1, "only one link is slow");
  }
}

void TestSimulatePrograms::measuredFaults_data() {
  QTest::addColumn<int>("rank");
  QTest::addColumn<int>("step");
  QTest::addColumn<int>("begin");
  QTest::addColumn<int>("end");
  QTest::addColumn<QString>("part");
  QTest::newRow("another rank") << 9 << 0 << 0 << 1 << "rank 9, threadblock 0, step 0, which the program does not have";
  QTest::newRow("another step") << 0 << 99 << 0 << 1 << "step 99";
  QTest::newRow("backwards") << 0 << 0 << 5 << 4 << "ends before it begins";
  QTest::newRow("before the run") << 0 << 0 << -5 << 4 << "ends before it begins";
}

void TestSimulatePrograms::measuredFaults() {
  QFETCH(int, rank);
  QFETCH(int, step);
  QFETCH(int, begin);
  QFETCH(int, end);
  QFETCH(QString, part);
  const Program program = samples::ringAllgather(4, 1, true);
  const std::vector<program::TraceEvent> events{{rank, 0, step, 0, begin, end}};
  const auto refused = simulate::measuredRun(mesh(4), program, 1024, events);
  QVERIFY(!refused);
  QVERIFY2(QString::fromStdString(describe(refused.error())).contains(part), describe(refused.error()).c_str());
  QVERIFY(!refused.error().fix.empty());
  QVERIFY(!simulate::measuredRun(mesh(4), program, 1024, {}));
  QVERIFY(!simulate::measuredRun(mesh(3), program, 1024, events));
}

/// Latency and rate of a pair replace those of its messages; links that are not the slowest of a route stay.
void TestSimulatePrograms::fits() {
  const fabric::Fabric fabric = mesh(2);
  const std::vector<simulate::PairFit> pairs{{.from = 0, .to = 1, .latency = Microseconds(7), .rate = Throughput(10)},
                                             {.from = 1, .to = 0, .latency = Microseconds(7), .rate = Throughput(10)}};
  const Model model{.fits = must(simulate::fitsFor(fabric, pairs))};
  constexpr double kBytes = 1 << 20;
  COMPARE_TIME(simulated(fabric, samples::ringAllgather(2, 1, true), model, 1 << 20).time, 7 + kBytes / 2 / 10'000);
  const fabric::Fabric boxes = twoBoxes();
  const auto across =
      must(simulate::fitsFor(boxes, std::vector<simulate::PairFit>{{0, 4, Microseconds(3), Throughput(1)}}));
  for (std::size_t arc = 0; arc < across->linkRates.size(); ++arc) {
    const bool isNamed = across->linkRates[arc] > Throughput();
    const auto kind = [&](fabric::NodeIndex node) { return boxes.nodes()[node].kind; };
    QVERIFY2(!isNamed || kind(boxes.arcs()[arc].tail) != fabric::NodeKind::gpu ||
                 kind(boxes.arcs()[arc].head) != fabric::NodeKind::gpu,
             "only links of the route");
  }
  QVERIFY(std::ranges::count_if(across->linkRates, [](Throughput rate) { return rate > Throughput(); }) >= 1);
  QVERIFY(!simulate::fitsFor(fabric, std::vector<simulate::PairFit>{{0, 2, Microseconds(1), Throughput(1)}}));
  QVERIFY(!simulate::fitsFor(fabric, std::vector<simulate::PairFit>{{0, 1, Microseconds(1), Throughput(0)}}));
  QVERIFY(!simulate::fitsFor(fabric, std::vector<simulate::PairFit>{{0, 1, Microseconds(-1), Throughput(5)}}));
}

QTEST_APPLESS_MAIN(TestSimulatePrograms)
#include "tst_simulate_programs.moc"
