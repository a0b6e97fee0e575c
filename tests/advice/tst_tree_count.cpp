// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "advice/tree_count.hpp"
#include "coppice/test_paths.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "program/used_sizes.hpp"
#include "support/preset_fabrics.hpp"

using namespace coppice;
using advice::WantedSizes;
using test::presetFabric;

namespace {

fabric::Fabric example(const QString& name) {
  const QString path = QStringLiteral(COPPICE_EXAMPLES) + "/" + name + ".fabric.json";
  const auto text = io::readFile(path.toStdString());
  return fabric::Fabric::build(io::readFabricJson(text.value(), name.toStdString()).value()).value();
}

forestcoll::Request request(Collective collective, std::optional<std::int64_t> maxK = {}) {
  forestcoll::Request request;
  request.collective = collective;
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    request.root = 0;
  }
  request.maxK = maxK;
  return request;
}

}  // namespace

class TestTreeCount : public QObject {
  Q_OBJECT

private slots:
  void powersOfTwo_data();
  void powersOfTwo();
  void bestOfAll_data();
  void bestOfAll();
  void lists_data();
  void lists();
  void refusals_data();
  void refusals();
  void cancelled();
  void chunksOfPrograms_data();
  void chunksOfPrograms();
  void settings();
};

void TestTreeCount::powersOfTwo_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<std::int64_t>("k");
  QTest::addColumn<QString>("loss");
  QTest::newRow("2x A100") << "2x-dgx-a100" << std::int64_t{8} << "1/481";
  QTest::newRow("4x H100, rails") << "4x-dgx-h100-rails" << std::int64_t{1} << "1/280";
  QTest::newRow("2x MI250") << "2x-mi250" << std::int64_t{32} << "7/2407";
  QTest::newRow("2x H100") << "2x-dgx-h100" << std::int64_t{2} << "0";
}

void TestTreeCount::powersOfTwo() {
  QFETCH(QString, fabric);
  const auto found = advice::treeCountFor(example(fabric), request(Collective::allgather), {.powersOfTwo = true});
  QVERIFY2(found, found ? "" : found.error().message.c_str());
  QTEST(found->k, "k");
  QTEST(QString::fromStdString(found->loss.toString()), "loss");
}

void TestTreeCount::bestOfAll_data() {
  QTest::addColumn<Collective>("collective");
  QTest::newRow("allgather") << Collective::allgather;
  QTest::newRow("reduce_scatter") << Collective::reduceScatter;
  QTest::newRow("allreduce") << Collective::allreduce;
  QTest::newRow("broadcast") << Collective::broadcast;
}

/// None of the ones that are ignored is better, and the program is used where it was asked for.
void TestTreeCount::bestOfAll() {
  QFETCH(Collective, collective);
  const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "2"}});
  const forestcoll::Request asked = request(collective, 16);
  const auto found = advice::treeCountFor(fabric, asked, {.powersOfTwo = true});
  QVERIFY2(found, found ? "" : found.error().message.c_str());
  QCOMPARE(found->maxK, std::int64_t{16});
  for (const std::int64_t k : {1, 2, 4, 8, 16}) {
    forestcoll::Request one = request(collective);
    one.fixedK = k;
    const auto with = forestcoll::optimum(fabric, one);
    QVERIFY(with);
    QVERIFY(k < found->k ? with->algbw < found->algbw : with->algbw <= found->algbw);
  }
  forestcoll::Request taken = request(collective);
  taken.fixedK = found->k;
  const auto generated = forestcoll::generate(fabric, taken);
  QVERIFY(generated);
  QCOMPARE(generated->schedule.algbw, found->algbw);
  QCOMPARE(found->loss, Rational(1) - found->algbw / found->optimum);
  for (const auto runtime : {program::Runtime::msccl, program::Runtime::mscclExecutorNccl, program::Runtime::rccl}) {
    const auto program = lowering::lower(fabric, generated->schedule, {.runtime = runtime});
    QVERIFY2(program, program ? "" : program.error().message.c_str());
    QVERIFY(program::usedSizes(program::sizeFacts(*program), runtime).powersOfTwo);
  }
}

void TestTreeCount::lists_data() {
  QTest::addColumn<QList<std::int64_t>>("bytes");
  QTest::addColumn<std::int64_t>("k");
  QTest::newRow("every k divides") << QList<std::int64_t>{208 * 1024, 416 * 1024} << std::int64_t{13};
  QTest::newRow("powers of two") << QList<std::int64_t>{1 << 20, 1 << 26} << std::int64_t{8};
  // 12 elements for each rank.
  QTest::newRow("a divisor of 12") << QList<std::int64_t>{16 * 12 * 4} << std::int64_t{12};
}

void TestTreeCount::lists() {
  QFETCH(QList<std::int64_t>, bytes);
  WantedSizes sizes;
  sizes.bytes.assign(bytes.begin(), bytes.end());
  const auto found = advice::treeCountFor(example("2x-dgx-a100"), request(Collective::allgather), sizes);
  QVERIFY2(found, found ? "" : found.error().message.c_str());
  QTEST(found->k, "k");
  QCOMPARE(found->optimumK, std::int64_t{13});
}

void TestTreeCount::refusals_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<QString>("message");
  QTest::addColumn<QString>("fix");
  QTest::newRow("24 ranks, allreduce") << Collective::allreduce << "3"
                                       << "its chunks are a multiple of 24"
                                       << "nccl-tests -b 96 -f 2";
}

void TestTreeCount::refusals() {
  QFETCH(Collective, collective);
  QFETCH(QString, boxes);
  QFETCH(QString, message);
  QFETCH(QString, fix);
  const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", boxes.toStdString()}});
  const auto found = advice::treeCountFor(fabric, request(collective), {.powersOfTwo = true});
  QVERIFY(!found);
  QCOMPARE(found.error().code, ErrorCode::infeasible);
  QVERIFY2(QString::fromStdString(found.error().message).contains(message), found.error().message.c_str());
  QVERIFY2(QString::fromStdString(found.error().fix).contains(fix), found.error().fix.c_str());
  QCOMPARE(advice::treeCountFor(fabric, request(collective), {}).error().code, ErrorCode::badUsage);
  // Each rank of 24 gets a multiple of 16 bytes from nccl-tests.
  QVERIFY(advice::treeCountFor(fabric, request(Collective::allgather), {.powersOfTwo = true}));
  forestcoll::Request unequal = request(Collective::allgather);
  unequal.amounts.assign(24, 1);
  unequal.amounts[3] = 2;
  QCOMPARE(advice::treeCountFor(fabric, unequal, {.powersOfTwo = true}).error().code, ErrorCode::badUsage);
}

void TestTreeCount::cancelled() {
  std::stop_source stop;
  stop.request_stop();
  Progress progress;
  progress.stop = stop.get_token();
  const auto found =
      advice::treeCountFor(example("2x-dgx-a100"), request(Collective::allgather), {.powersOfTwo = true}, progress);
  QVERIFY(!found);
  QCOMPARE(found.error().code, ErrorCode::cancelled);
}

void TestTreeCount::chunksOfPrograms_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<std::int64_t>("k");
  for (const std::int64_t k : {0, 1, 2, 3, 6}) {
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      QTest::addRow("%s k=%d", std::string(toString(collective)).c_str(), static_cast<int>(k)) << collective << k;
    }
  }
}

/// As many as the program really has.
void TestTreeCount::chunksOfPrograms() {
  QFETCH(Collective, collective);
  QFETCH(std::int64_t, k);
  const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "2"}, {"gpus", "4"}});
  forestcoll::Request asked = request(collective);
  if (k > 0) {
    asked.fixedK = k;
  }
  const auto generated = forestcoll::generate(fabric, asked);
  QVERIFY2(generated, generated ? "" : generated.error().message.c_str());
  const auto chunks = advice::programChunks(generated->schedule);
  QVERIFY(chunks);
  const auto program = lowering::lower(fabric, generated->schedule);
  QVERIFY2(program, program ? "" : program.error().message.c_str());
  QCOMPARE(*chunks, std::int64_t{program->chunksPerLoop});
}

void TestTreeCount::settings() {
  const fabric::Fabric fabric = example("2x-dgx-a100");
  const auto best = forestcoll::generate(fabric, request(Collective::allgather));
  QVERIFY(best);
  const auto setting = advice::settingForPowersOfTwo(fabric, best->schedule, 3);
  QVERIFY(setting && *setting && (*setting)->trees);
  QCOMPARE((*setting)->trees->k, std::int64_t{8});
  QCOMPARE((*setting)->instances, 2);
  QCOMPARE((*setting)->price, Rational(1, 481));

  forestcoll::Request eight = request(Collective::allgather);
  eight.fixedK = 8;
  const auto right = forestcoll::generate(fabric, eight);
  QVERIFY(right);
  const auto none = advice::settingForPowersOfTwo(fabric, right->schedule, 4);
  QVERIFY(none && !*none);
  const auto fewer = advice::settingForPowersOfTwo(fabric, right->schedule, 6);
  QVERIFY(fewer && *fewer && !(*fewer)->trees);
  QCOMPARE((*fewer)->instances, 4);
  QCOMPARE((*fewer)->price, Rational(0));

  const fabric::Fabric three = presetFabric("dgx-a100", {{"boxes", "3"}});
  const auto odd = forestcoll::generate(three, request(Collective::allreduce));
  QVERIFY(odd);
  const auto nothing = advice::settingForPowersOfTwo(three, odd->schedule, 1);
  QVERIFY(nothing && !*nothing);
}

QTEST_GUILESS_MAIN(TestTreeCount)
#include "tst_tree_count.moc"
