// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <functional>
#include <sstream>

#include "base/text.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/schedule_json.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/step_schedule.hpp"
#include "schedule/transfer_order.hpp"
#include "verify/demand.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using schedule::StepSchedule;
using schedule::Transfer;

namespace {

/// Three GPUs in a ring of direct links of 10 GB/s, and a switch that joins all with 5 GB/s each.
fabric::Fabric triangle() {
  fabric::Description description;
  for (const char* id : {"a", "b", "c"}) {
    fabric::NodeDescription node;
    node.id = id;
    description.nodes.push_back(node);
  }
  fabric::NodeDescription hub;
  hub.id = "sw";
  hub.kind = "switch";
  description.nodes.push_back(hub);
  const auto link = [&](const char* from, const char* to, const char* bandwidth) {
    fabric::LinkDescription item;
    item.src = from;
    item.dst = to;
    item.bandwidth = bandwidth;
    description.links.push_back(item);
  };
  link("a", "b", "10");
  link("b", "c", "10");
  link("c", "a", "10");
  for (const char* id : {"a", "b", "c"}) {
    link(id, "sw", "5");
  }
  return *fabric::Fabric::build(description);
}

StepSchedule empty(const fabric::Fabric& fabric, Collective collective, std::optional<fabric::Rank> root = {}) {
  StepSchedule schedule;
  schedule.goal = *schedule::CollectiveTable::make(collective, fabric.gpuCount(), root);
  schedule.method = "by hand";
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  return schedule;
}

void complete(const fabric::Fabric& fabric, StepSchedule& schedule) {
  QVERIFY(schedule::addRoutes(fabric, schedule).hasValue());
  const auto cost = schedule::stepCost(fabric, schedule);
  QVERIFY2(cost.hasValue(), cost ? "" : describe(cost.error()).c_str());
  schedule.algbw = cost->algbw;
}

/// Allgather in two steps round the ring.
StepSchedule ringAllgather(const fabric::Fabric& fabric) {
  StepSchedule schedule = empty(fabric, Collective::allgather);
  schedule.stepCount = 2;
  for (int step = 0; step < 2; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      schedule.transfers.add(
          {.shard = (rank + 3 - step) % 3, .begin = 0, .end = 1, .from = rank, .to = (rank + 1) % 3, .step = step});
    }
  }
  complete(fabric, schedule);
  return schedule;
}

/// Reduce_scatter in two steps round the ring.
StepSchedule ringReduceScatter(const fabric::Fabric& fabric) {
  StepSchedule schedule = empty(fabric, Collective::reduceScatter);
  schedule.stepCount = 2;
  for (int step = 0; step < 2; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      schedule.transfers.add({.shard = (rank + 2 - step + 3) % 3,
                              .begin = 0,
                              .end = 1,
                              .from = rank,
                              .to = (rank + 1) % 3,
                              .step = step,
                              .reduces = true});
    }
  }
  complete(fabric, schedule);
  return schedule;
}

/// Reduce to rank 0 along a chain, then broadcast back: allreduce without steps, in two halves.
StepSchedule chainAllreduce(const fabric::Fabric& fabric) {
  StepSchedule schedule = empty(fabric, Collective::allreduce);
  schedule.isSynchronous = false;
  schedule.denominator = 2;
  for (int half = 0; half < 2; ++half) {
    schedule.transfers.add({.shard = 0, .begin = half, .end = half + 1, .from = 2, .to = 1, .reduces = true});
    schedule.transfers.add({.shard = 0, .begin = half, .end = half + 1, .from = 1, .to = 0, .reduces = true});
    schedule.transfers.add({.shard = 0, .begin = half, .end = half + 1, .from = 0, .to = 1});
    schedule.transfers.add({.shard = 0, .begin = half, .end = half + 1, .from = 1, .to = 2});
  }
  complete(fabric, schedule);
  return schedule;
}

using Plant = std::function<void(StepSchedule&)>;

/// The same transfers with one of them changed, or left out where `change` returns false.
Plant changed(std::size_t index, const std::function<bool(Transfer&)>& change) {
  return [index, change](StepSchedule& schedule) {
    schedule::TransferList list;
    for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
      Transfer transfer = schedule.transfers[i];
      if (i != index || change(transfer)) {
        list.add(transfer);
      }
    }
    schedule.transfers = list;
  };
}

}  // namespace

Q_DECLARE_METATYPE(Plant)

class TestStepVerifier : public QObject {
  Q_OBJECT

private slots:
  void tables();
  void soundOnes();
  void bandwidthsWithoutAUnit();
  void plantedFaults_data();
  void plantedFaults();
  void loadsAgree_data();
  void loadsAgree();
  void demandsAgree_data();
  void demandsAgree();
  void forests_data();
  void forests();
  void files();
  void brokenFiles_data();
  void brokenFiles();
};

void TestStepVerifier::tables() {
  const auto alltoall = schedule::CollectiveTable::make(Collective::alltoall, 4);
  QVERIFY(alltoall.hasValue());
  QCOMPARE(alltoall->shardCount(), std::int64_t{16});
  QCOMPARE(alltoall->sources(7).size(), std::size_t{1});
  QCOMPARE(alltoall->sources(7)[0], 1);
  QCOMPARE(alltoall->destinations(7)[0], 3);
  QVERIFY(alltoall->share(7) == Rational(1, 4));
  const std::vector<std::int64_t> amounts{1, 2, 5};
  const auto gather = schedule::CollectiveTable::make(Collective::gather, 3, 1, amounts);
  QVERIFY(gather->share(2) == Rational(5, 8));
  QCOMPARE(gather->destinations(2)[0], 1);
  const auto allreduce = schedule::CollectiveTable::make(Collective::allreduce, 3);
  QVERIFY(allreduce->combines(0));
  QCOMPARE(allreduce->sources(0).size(), std::size_t{3});
  QVERIFY(!schedule::CollectiveTable::make(Collective::gather, 3));
  QVERIFY(!schedule::CollectiveTable::make(Collective::allgather, 3, 0));
  QVERIFY(!schedule::CollectiveTable::make(Collective::broadcast, 3, 3));
  QVERIFY(!schedule::CollectiveTable::custom(3, std::vector<schedule::CustomShard>{{1, {0, 0}, {1}, false}}));
  QVERIFY(!schedule::CollectiveTable::custom(3, std::vector<schedule::CustomShard>{{1, {0}, {3}, false}}));
  QVERIFY(!schedule::CollectiveTable::custom(3, std::vector<schedule::CustomShard>{{0, {0}, {1}, false}}));
}

void TestStepVerifier::soundOnes() {
  const auto fabric = triangle();
  for (const StepSchedule& schedule : {ringAllgather(fabric), ringReduceScatter(fabric), chainAllreduce(fabric)}) {
    const auto verdict = verify::verifySteps(fabric, schedule);
    QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
    QVERIFY2(verdict->ok, verdict->findings.empty() ? "" : describe(verdict->findings.front()).c_str());
  }
  // Two steps, each a third of M over links of 10 GB/s.
  QVERIFY(ringAllgather(fabric).algbw == Bandwidth(15));
  // Every link a -> b ... carries M; b -> a and c -> b go over the links of 10 GB/s in the other direction.
  QVERIFY(chainAllreduce(fabric).algbw == Bandwidth(10));
  QCOMPARE(schedule::transferOrder(chainAllreduce(fabric))->depth, 4);
}

/// A ring whose bandwidths have no common unit within 64 bits: the slowest link still gives the exact time.
void TestStepVerifier::bandwidthsWithoutAUnit() {
  constexpr int kGpus = 12;
  const char* const bandwidths[kGpus] = {"1000/101", "1000/103", "1000/107", "1000/109", "1000/113", "1000/127",
                                         "1000/131", "1000/137", "1000/139", "1000/149", "1000/151", "1000/157"};
  fabric::Description description;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    fabric::NodeDescription node;
    node.id = "g" + std::to_string(gpu);
    description.nodes.push_back(node);
  }
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    fabric::LinkDescription link;
    link.src = "g" + std::to_string(gpu);
    link.dst = "g" + std::to_string((gpu + 1) % kGpus);
    link.bandwidth = bandwidths[gpu];
    description.links.push_back(link);
  }
  const auto fabric = *fabric::Fabric::build(description);
  StepSchedule schedule = empty(fabric, Collective::allgather);
  schedule.stepCount = kGpus - 1;
  for (int step = 0; step < kGpus - 1; ++step) {
    for (int rank = 0; rank < kGpus; ++rank) {
      schedule.transfers.add({.shard = (rank + kGpus - step) % kGpus,
                              .begin = 0,
                              .end = 1,
                              .from = rank,
                              .to = (rank + 1) % kGpus,
                              .step = step});
    }
  }
  complete(fabric, schedule);
  QVERIFY(schedule.algbw == Bandwidth(12'000, 11 * 157));
  const auto verdict = verify::verifySteps(fabric, schedule);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY2(verdict->ok, verdict->findings.empty() ? "" : describe(verdict->findings.front()).c_str());
}

void TestStepVerifier::plantedFaults_data() {
  QTest::addColumn<int>("base");
  QTest::addColumn<Plant>("plant");
  QTest::addColumn<QString>("says");
  const auto row = [](const char* name, int base, const Plant& plant, const char* says) {
    QTest::newRow(name) << base << plant << says;
  };
  row(
      "other fabric", 0, [](StepSchedule& s) { s.fabricDigest = "0"; }, "digest");
  row(
      "no step", 0, [](StepSchedule& s) { s.stepCount = 0; }, "no steps");
  row(
      "rounds", 0, [](StepSchedule& s) { s.rounds = {1}; }, "rounds");
  row(
      "round of zero", 0,
      [](StepSchedule& s) {
        s.rounds = {1, 0};
      },
      "fewer than one round");
  row(
      "denominator", 0, [](StepSchedule& s) { s.denominator = 0; }, "denominator");
  row(
      "ordered and synchronous", 0, [](StepSchedule& s) { s.keepsOrder = true; }, "synchronous");
  row("no such shard", 0,
      changed(0,
              [](Transfer& t) {
                t.shard = 3;
                return true;
              }),
      "no shard 3");
  row("piece outside", 0,
      changed(0,
              [](Transfer& t) {
                t.end = 2;
                return true;
              }),
      "outside of the shard");
  row("piece before 0", 0,
      changed(0,
              [](Transfer& t) {
                t.begin = -1;
                return true;
              }),
      "outside of the shard");
  row("empty piece", 0,
      changed(0,
              [](Transfer& t) {
                t.end = 0;
                return true;
              }),
      "empty");
  row("no such rank", 0,
      changed(0,
              [](Transfer& t) {
                t.to = 7;
                return true;
              }),
      "no rank 7");
  row("to itself", 0,
      changed(0,
              [](Transfer& t) {
                t.to = t.from;
                return true;
              }),
      "sends to itself");
  row("no such step", 0,
      changed(5,
              [](Transfer& t) {
                t.step = 2;
                return true;
              }),
      "no step 2");
  row("steps out of order", 0,
      changed(0,
              [](Transfer& t) {
                t.step = 1;
                return true;
              }),
      "comes after step");
  row("reduces a plain shard", 0,
      changed(0,
              [](Transfer& t) {
                t.reduces = true;
                return true;
              }),
      "not combined");
  row("no route", 0,
      changed(0,
              [](Transfer& t) {
                t.route = schedule::kNoRoute;
                return true;
              }),
      "no route");
  row("unknown route", 0,
      changed(0,
              [](Transfer& t) {
                t.route = 99;
                return true;
              }),
      "no route 99");
  row("route of another pair", 0,
      changed(0,
              [](Transfer& t) {
                t.route = t.route == 0 ? 1 : 0;
                return true;
              }),
      "does not join");
  row(
      "route through a GPU", 0,
      [](StepSchedule& s) {
        const std::vector<fabric::NodeIndex> nodes{0, 1, 2};
        s.paths.add(nodes);
      },
      "passes through the GPU");
  row(
      "route over no link", 0,
      [](StepSchedule& s) {
        const std::vector<fabric::NodeIndex> nodes{0, 0};
        s.paths.add(nodes);
      },
      "no link");
  row("sent before it is there", 0,
      changed(3,
              [](Transfer& t) {
                t.shard = 1;
                return true;
              }),
      "before it has it");
  row("read in the step of its arrival", 0,
      changed(3,
              [](Transfer& t) {
                t.step = 0;
                return true;
              }),
      "before it has it");
  row("never delivered", 0, changed(5, [](Transfer&) { return false; }), "never gets");
  row(
      "claims too much", 0, [](StepSchedule& s) { s.algbw = Bandwidth(16); }, "claims 16 GB/s");
  row(
      "added twice", 1,
      [](StepSchedule& s) {
        Transfer again = s.transfers[0];
        again.step = 1;
        s.transfers.add(again);
      },
      "added twice");
  row("contribution missing", 1, changed(0, [](Transfer&) { return false; }), "without the contribution");
  row(
      "stored beside an addition", 1,
      [](StepSchedule& s) {
        Transfer copy = s.transfers[3];
        copy.reduces = false;
        s.transfers.add(copy);
      },
      "in the same step");
  row("partial sum stored", 2,
      changed(1,
              [](Transfer& t) {
                t.reduces = false;
                return true;
              }),
      "in a cycle");
  row("half never reduced", 2, changed(4, [](Transfer&) { return false; }), "without the contribution");
  row(
      "cycle", 2,
      [](StepSchedule& s) {
        schedule::TransferList list;
        for (const auto& [from, to] : {std::pair{0, 1}, {1, 2}, {2, 0}}) {
          Transfer t = s.transfers[0];
          t.from = from;
          t.to = to;
          t.begin = 0;
          t.end = 2;
          list.add(t);
        }
        s.transfers = list;
        for (std::size_t i = 0; i < 3; ++i) {
          s.transfers.setRoute(i, schedule::kNoRoute);
        }
        QVERIFY(schedule::addRoutes(triangle(), s).hasValue());
      },
      "in a cycle");
}

void TestStepVerifier::plantedFaults() {
  QFETCH(int, base);
  QFETCH(Plant, plant);
  QFETCH(QString, says);
  const auto fabric = triangle();
  StepSchedule schedule = base == 0   ? ringAllgather(fabric)
                          : base == 1 ? ringReduceScatter(fabric)
                                      : chainAllreduce(fabric);
  plant(schedule);
  const auto verdict = verify::verifySteps(fabric, schedule);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY(!verdict->ok);
  const bool isSaid = std::any_of(verdict->findings.begin(), verdict->findings.end(), [&](const Finding& finding) {
    return finding.severity == Severity::error && QString::fromStdString(finding.text).contains(says);
  });
  QVERIFY2(isSaid, describe(verdict->findings.front()).c_str());
}

void TestStepVerifier::forests_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("pieces");
  for (const Collective collective : kForestCollectives) {
    for (const int pieces : {1, 3}) {
      QTest::addRow("%s, %d pieces", std::string(toString(collective)).c_str(), pieces) << int(collective) << pieces;
    }
  }
}

void TestStepVerifier::forests() {
  QFETCH(int, collective);
  QFETCH(int, pieces);
  const auto fabric = triangle();
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  request.allreduceBudget = std::chrono::milliseconds(0);
  if (isRooted(request.collective)) {
    request.root = 1;
  }
  const auto generated = forestcoll::generate(fabric, request);
  QVERIFY2(generated.hasValue(), generated ? "" : describe(generated.error()).c_str());
  const auto steps = schedule::stepScheduleOf(fabric, generated->schedule, pieces);
  QVERIFY2(steps.hasValue(), steps ? "" : describe(steps.error()).c_str());
  // The verifier finds the forest's exact throughput in the transfers.
  const auto verdict = verify::verifySteps(fabric, *steps);
  QVERIFY2(verdict.hasValue(), verdict ? "" : describe(verdict.error()).c_str());
  QVERIFY2(verdict->ok, verdict->findings.empty() ? "" : describe(verdict->findings.front()).c_str());
  QVERIFY(verdict->cost->algbw == generated->schedule.algbw);
}

void TestStepVerifier::files() {
  const auto fabric = triangle();
  for (const StepSchedule& schedule : {ringAllgather(fabric), ringReduceScatter(fabric), chainAllreduce(fabric)}) {
    std::ostringstream out;
    QVERIFY(io::writeScheduleJson(out, schedule, fabric).hasValue());
    const auto loaded = io::loadSchedule(out.str());
    QVERIFY2(loaded.hasValue(), loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY(loaded->schedule == schedule);
    QVERIFY(loaded->fabric.digest() == fabric.digest());
    std::ostringstream again;
    QVERIFY(io::writeScheduleJson(again, loaded->schedule, loaded->fabric).hasValue());
    QCOMPARE(again.str(), out.str());
    QVERIFY(loaded->origin == io::Origin());
    const io::Origin origin{"ring", {{"k", "2"}}};
    std::ostringstream told;
    QVERIFY(io::writeScheduleJson(told, schedule, fabric, nullptr, {}, origin).hasValue());
    const auto read = io::loadSchedule(told.str());
    QVERIFY(read && read->origin == origin && read->schedule == schedule);
  }
}

void TestStepVerifier::brokenFiles_data() {
  QTest::addColumn<QString>("find");
  QTest::addColumn<QString>("replace");
  QTest::addColumn<QString>("element");
  const auto row = [](const char* name, const char* find, const char* replace, const char* element) {
    QTest::newRow(name) << find << replace << element;
  };
  row("another format", "coppice-schedule", "coppice-forest", "format");
  row("another version", "\"version\": 1", "\"version\": 9", "version");
  row("collective", "\"allgather\"", "\"allgatherv\"", "collective");
  row("a key is missing", "\"denominator\"", "\"denominators\"", "denominator");
  row("not a fraction", "\"algbw\": \"15\"", "\"algbw\": \"fast\"", "algbw");
  row("beyond 64 bits", "\"denominator\": 1", "\"denominator\": 92233720368547758080", "denominator");
  row("node outside of the table", "[0, 1]", "[0, 41]", "routes[0]");
  row("unknown node", "\"nodes\": [\"a\"", "\"nodes\": [\"z\"", "nodes");
  row("short row", "[0, 0, 0, 1, 0, 1, 0, 0]", "[0, 0, 0, 1, 0, 1, 0]", "transfers[0]");
  row("text in a row", "[0, 0, 0, 1, 0, 1, 0, 0]", "[0, 0, 0, 1, 0, 1, 0, \"0\"]", "transfers[0]");
  row("rank beyond 32 bits", "[0, 0, 0, 1, 0, 1, 0, 0]", "[0, 0, 0, 1, 0, 4294967296, 0, 0]", "transfers[0]");
  row("method", "\"denominator\"", "\"made_by\": {\"method\": 3}, \"denominator\"", "made_by.method");
  row("reduces is not a flag", "[0, 0, 0, 1, 0, 1, 0, 0]", "[0, 0, 0, 1, 0, 1, 0, 2]", "transfers[0]");
}

void TestStepVerifier::brokenFiles() {
  QFETCH(QString, find);
  QFETCH(QString, replace);
  QFETCH(QString, element);
  const auto fabric = triangle();
  std::ostringstream out;
  QVERIFY(io::writeScheduleJson(out, ringAllgather(fabric), fabric).hasValue());
  QString text = QString::fromStdString(out.str());
  const auto at = text.indexOf(find);
  QVERIFY2(at >= 0, qPrintable(find));
  text.replace(at, find.size(), replace);
  const auto loaded = io::loadSchedule(text.toStdString(), "a.schedule.json");
  QVERIFY(!loaded);
  QCOMPARE(QString::fromStdString(toText(loaded.error().where.element)), element);
  QCOMPARE(QString::fromStdString(loaded.error().where.file), QString("a.schedule.json"));
  QVERIFY(loaded.error().where.line > 0);
}

void TestStepVerifier::loadsAgree_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("bandwidth");
  QTest::newRow("reduce-scatter, then allgather") << Collective::allreduce << "7";
  QTest::newRow("allgather") << Collective::allgather << "7";
  QTest::newRow("allgather, fractions") << Collective::allgather << "100/13";
}

/// The verifier's sums of loads, chains and stretches against those of the generators, which it does not use.
void TestStepVerifier::loadsAgree() {
  QFETCH(Collective, collective);
  QFETCH(QString, bandwidth);
  fabric::Description description;
  for (const char* id : {"a", "b", "c", "d"}) {
    description.nodes.push_back({.id = id});
    description.links.push_back({.src = id, .dst = "sw", .bandwidth = bandwidth.toStdString()});
  }
  description.nodes.push_back({.id = "sw", .kind = "switch"});
  description.links.push_back({.src = "a", .dst = "b", .bandwidth = "3"});
  const auto fabric = fabric::Fabric::build(description);
  QVERIFY(fabric);
  const auto forest = forestcoll::generate(*fabric, {.collective = collective});
  QVERIFY2(forest, forest ? "" : describe(forest.error()).c_str());
  const auto steps = schedule::stepScheduleOf(*fabric, forest->schedule, 1);
  QVERIFY2(steps, steps ? "" : describe(steps.error()).c_str());
  const auto verdict = verify::verifySteps(*fabric, *steps);
  QVERIFY(verdict && verdict->ok && verdict->cost);
  const auto cost = schedule::stepCost(*fabric, *steps);
  QVERIFY(cost);
  QCOMPARE(verdict->cost->steps, cost->steps);
  QCOMPARE(verdict->cost->rounds, cost->rounds);
  QVERIFY(verdict->cost->timePerByte == cost->timePerByte && verdict->cost->algbw == cost->algbw);
  QVERIFY(verdict->cost->traffic == cost->traffic && verdict->cost->totalTraffic == cost->totalTraffic);
  QCOMPARE(verdict->cost->stepLoads.size(), cost->stepLoads.size());
  for (std::size_t i = 0; i < cost->stepLoads.size(); ++i) {
    QCOMPARE(verdict->cost->stepLoads[i].arc, cost->stepLoads[i].arc);
    QVERIFY(verdict->cost->stepLoads[i].time == cost->stepLoads[i].time);
  }
  QCOMPARE(verdict->cost->maxStretch, cost->maxStretch);
  QCOMPARE(verdict->cost->meanStretch, cost->meanStretch);
}

void TestStepVerifier::demandsAgree_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QList<int>>("amounts");
  QTest::newRow("allgather") << Collective::allgather << QList<int>();
  QTest::newRow("allgather, amounts") << Collective::allgather << QList<int>{1, 0, 3};
  QTest::newRow("reduce-scatter") << Collective::reduceScatter << QList<int>();
  QTest::newRow("allreduce") << Collective::allreduce << QList<int>();
  QTest::newRow("broadcast") << Collective::broadcast << QList<int>();
  QTest::newRow("reduce") << Collective::reduce << QList<int>();
  QTest::newRow("gather") << Collective::gather << QList<int>{2, 5, 1};
  QTest::newRow("scatter") << Collective::scatter << QList<int>();
  QTest::newRow("alltoall") << Collective::alltoall << QList<int>();
  QTest::newRow("alltoall, amounts") << Collective::alltoall << QList<int>{0, 1, 2, 3, 0, 4, 5, 6, 0};
}

/// The verifier derives what a collective asks for by itself.
void TestStepVerifier::demandsAgree() {
  QFETCH(Collective, collective);
  QFETCH(QList<int>, amounts);
  const std::vector<std::int64_t> values(amounts.begin(), amounts.end());
  const auto root = isRooted(collective) ? std::optional<fabric::Rank>(1) : std::nullopt;
  const auto table = schedule::CollectiveTable::make(collective, 3, root, values);
  QVERIFY(table);
  const verify::Demand demand(*table);
  QCOMPARE(demand.shardCount(), table->shardCount());
  for (std::int64_t shard = 0; shard < table->shardCount(); ++shard) {
    QVERIFY(demand.share(shard) == table->share(shard));
    QCOMPARE(demand.combines(shard), table->combines(shard));
    QVERIFY(std::ranges::equal(demand.sources(shard), table->sources(shard)));
    QVERIFY(std::ranges::equal(demand.destinations(shard), table->destinations(shard)));
  }
}

QTEST_APPLESS_MAIN(TestStepVerifier)
#include "tst_step_verifier.moc"
