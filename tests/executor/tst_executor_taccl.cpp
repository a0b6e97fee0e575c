// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "executor/support.hpp"
#include "fabric/fabric.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "lowering/lowering.hpp"
#include "probe/contention.hpp"
#include "probe/copies.hpp"
#include "probe/taccl_profile.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/make_model.hpp"
#include "taccl/synthesis.hpp"
#include "verify/plan_check.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using namespace coppice::probe;

/// The profiler of TACCL on recorded measurements: topology files, PCIe switches and NICs.
class ExecutorTacclTest : public QObject {
  Q_OBJECT

private slots:
  void topologyOfAProfile();
  void oneNodeHasClasses();
  void profilesAreRefused_data();
  void profilesAreRefused();
  void switchesAreInferred();
  void recordsComeBack();
  void copiesAreMeasured();
  void failedCopiesEndIt();
  void nvlinksAreCounted();
  void fabricIsOne();
  void doubtsAreNamed_data();
  void doubtsAreNamed();
  void recordsAreRefused_data();
  void recordsAreRefused();
  void sketchesRun_data();
  void sketchesRun();

private:
  std::unique_ptr<executor::Backend> m_backend = executor::test::makeThreads(2);
};

namespace {

std::string textOf(const char* name) {
  const auto text = io::readFile(std::string(COPPICE_TEST_DATA "/executor/") + name);
  if (!text) {
    qFatal("%s", describe(text.error()).c_str());
  }
  return *text;
}

ContentionRecord sample() {
  const auto record = readContention(textOf("contention-ndv2.json"));
  if (!record) {
    qFatal("%s", describe(record.error()).c_str());
  }
  return *record;
}

/// GPUs in pairs behind switches that carry one full stream.
class ModelCopies : public CopySource {
public:
  explicit ModelCopies(int good) : m_good(good) {}
  [[nodiscard]] int gpus() const override { return 4; }
  [[nodiscard]] std::string address(int gpu) const override { return "0000:0" + std::to_string(gpu) + ":00.0"; }
  Result<std::vector<double>> copy(const std::vector<int>& gpus) override {
    if (m_good-- == 0) {
      return Error{ErrorCode::io, "the GPU is lost"};
    }
    const bool isShared = gpus.size() == 2 && gpus[0] / 2 == gpus[1] / 2;
    return std::vector<double>(gpus.size(), isShared ? 6e9 : 12e9);
  }

private:
  int m_good;
};

}  // namespace

/// 0.7 us and 46.5 GB/s within nodes, 2.6 us and 105 us for 10^6 bytes between them.
void ExecutorTacclTest::topologyOfAProfile() {
  const auto profile = readProfile(textOf("profile-two-nodes.json"));
  QVERIFY2(profile.hasValue(), profile ? "" : describe(profile.error()).c_str());
  QCOMPARE(profile->ranks, 4);
  const auto topology = tacclTopology(profile->pairs, 4, {.chunkBytes = 1'000'000, .gpusPerNode = 2, .nicsPerNode = 1});
  QVERIFY2(topology.hasValue(), topology ? "" : describe(topology.error()).c_str());
  QCOMPARE(topology->gpusPerNode, 2);
  QVERIFY(topology->links == (sketch::Matrix<int>{{0, 1}, {1, 0}}));
  // 22.2 us is below 30 units, so the unit is a tenth.
  QCOMPARE(topology->linkCosts[0][1].toDouble(), 222.0);
  QCOMPARE(topology->alpha.toDouble(), 7.0);
  QCOMPARE(topology->remoteAlpha->toDouble(), 26.0);
  QCOMPARE(topology->remoteBeta->toDouble(), 1050.0);
  const auto read = io::readTacclTopology(io::writeTacclTopology(*topology));
  QVERIFY(read && read->value == *topology);
  const sketch::Scale scale = sketch::guessScale(*topology);
  QCOMPARE(scale.timeUnit.count().toString(), std::string("1/10"));
  QCOMPARE(scale.chunkBytes, std::int64_t{1'000'000});
  const auto sketch = io::readTacclSketch(R"({"nnodes": 2, "intranode_sketch": {"strategy": "none"},
    "internode_sketch": {"strategy": "relay", "internode_conn": {"0": [1]}}, "symmetry_offsets": [[2, 4]],
    "hyperparameters": {"input_chunkup": 1}})");
  QVERIFY2(sketch.hasValue(), sketch ? "" : describe(sketch.error()).c_str());
  const auto made = sketch::makeModel(sketch->value, *topology);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QCOMPARE(made->model.links.size(), std::size_t{6});
}

void ExecutorTacclTest::oneNodeHasClasses() {
  std::vector<PairProfile> pairs;
  const auto add = [&](int source, int target, double beta) {
    pairs.push_back({.source = source, .target = target, .fit = {.alpha = 1e-6, .beta = beta}});
  };
  // Two near each other, one a fifth and more above.
  add(0, 1, 40e-12);
  add(1, 0, 44e-12);
  add(0, 2, 80e-12);
  add(2, 0, 80e-12);
  add(1, 2, 84e-12);
  add(2, 1, 90e-12);
  const auto topology = tacclTopology(pairs, 3, {.chunkBytes = 1'000'000});
  QVERIFY2(topology.hasValue(), topology ? "" : describe(topology.error()).c_str());
  QVERIFY(!topology->remoteAlpha);
  QCOMPARE(topology->linkBetas[1][0].toDouble(), 42.0);
  QVERIFY(topology->linkBetas[1][0] == topology->linkBetas[0][1]);
  QCOMPARE(topology->linkBetas[2][1].toDouble(), 82.0);
  QVERIFY(topology->linkBetas[2][0] == topology->linkBetas[2][1]);
  pairs.pop_back();
  QVERIFY(!tacclTopology(pairs, 3, {}));
  QVERIFY(!tacclTopology(pairs, 3, {.gpusPerNode = 2}));
}

void ExecutorTacclTest::profilesAreRefused_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("expected");
  QTest::newRow("not JSON") << QByteArray("{") << "links";
  QTest::newRow("no links") << QByteArray(R"({"t":"profile"})") << "links";
  QTest::newRow("other file") << QByteArray(R"({"t":"probe","links":[]})") << "links";
  QTest::newRow("no points") << QByteArray(R"({"t":"profile","links":[{"src":0,"dst":1}]})") << "points";
  QTest::newRow("rank") << QByteArray(R"({"t":"profile","links":[{"src":-1,"dst":1,"points":[]}]})") << "rank";
  QTest::newRow("point") << QByteArray(R"({"t":"profile","links":[{"src":0,"dst":1,"points":[[1,2]]}]})") << "hops";
  QTest::newRow("no fit") << QByteArray(R"({"t":"profile","links":[{"src":0,"dst":1,"points":[[1,2,3]]}]})")
                          << "do not separate";
}

void ExecutorTacclTest::profilesAreRefused() {
  QFETCH(QByteArray, text);
  QFETCH(QString, expected);
  const auto profile = readProfile(text.toStdString());
  QVERIFY(!profile);
  QVERIFY2(QString::fromStdString(profile.error().message).contains(expected), profile.error().message.c_str());
}

/// An NDv2 of which the NIC is beside GPUs 4 and 5.
void ExecutorTacclTest::switchesAreInferred() {
  const Inference inference = inferSwitches(sample());
  QVERIFY2(inference.findings.empty(), inference.findings.empty() ? "" : describe(inference.findings[0]).c_str());
  QVERIFY(inference.switches == (std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  QVERIFY(inference.threshold > 0.6 && inference.threshold < 0.9);
  QVERIFY(inference.nicCpu == (std::vector<std::optional<int>>{1}));
  QVERIFY(inference.nicGpus == (std::vector<std::vector<int>>{{4, 5}}));
  // Of the four relabellings that keep double and single NVLinks, the one that brings GPU 4 to the first place.
  QVERIFY(inference.orders == (std::vector<std::vector<int>>{{4, 5, 6, 7, 0, 1, 2, 3}}));
  QVERIFY(QString::fromStdString(inferenceText(inference)).contains("CUDA_VISIBLE_DEVICES=4,5,6,7,0,1,2,3"));
}

void ExecutorTacclTest::recordsComeBack() {
  const ContentionRecord record = sample();
  const auto read = readContention(writeContention(record));
  QVERIFY(read.hasValue());
  QVERIFY(inferSwitches(*read).switches == inferSwitches(record).switches);
  QVERIFY(read->alone == record.alone);
  QVERIFY(read->nvlinks == record.nvlinks);
}

void ExecutorTacclTest::copiesAreMeasured() {
  ModelCopies source(-1);
  const auto record = measureContention(source, 7, {});
  QVERIFY(record.hasValue());
  QCOMPARE(record->alone.size(), std::size_t{4});
  QCOMPARE(record->together.size(), std::size_t{6});
  QCOMPARE(record->together[0].ofB.size(), std::size_t{7});
  const Inference inference = inferSwitches(*record);
  QVERIFY(inference.switches == (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  QVERIFY(inference.findings.empty());
}

void ExecutorTacclTest::failedCopiesEndIt() {
  ModelCopies source(20);
  const auto record = measureContention(source, 7, {});
  QVERIFY(!record);
  QCOMPARE(record.error().code, ErrorCode::io);
  std::stop_source stop;
  stop.request_stop();
  ModelCopies other(-1);
  const auto stopped = measureContention(other, 7, stop.get_token());
  QVERIFY(!stopped);
  QCOMPARE(stopped.error().code, ErrorCode::cancelled);
}

void ExecutorTacclTest::nvlinksAreCounted() {
  std::vector<Gpu> gpus(2);
  gpus[0].address = "0000:0b:00.0";
  gpus[1].address = "0000:0a:00.0";
  gpus[0].links = {{.index = 0, .isUp = true, .remote = RemoteKind::gpu, .remoteAddress = "0000:0a:00.0"},
                   {.index = 1, .isUp = true, .remote = RemoteKind::gpu, .remoteAddress = "0000:0a:00.0"},
                   {.index = 2, .isUp = false, .remote = RemoteKind::gpu, .remoteAddress = "0000:0a:00.0"}};
  // In the order of the record, which need not be that of the driver.
  QVERIFY(nvlinkCounts(gpus, {"0000:0a:00.0", "0000:0b:00.0"}) == (std::vector<std::vector<int>>{{0, 0}, {2, 0}}));
  QVERIFY(nvlinkCounts({}, {"0000:0a:00.0"}).empty());
}

void ExecutorTacclTest::fabricIsOne() {
  const ContentionRecord record = sample();
  const auto fabric = fabric::Fabric::build(inferredFabric(record, inferSwitches(record)));
  QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
  QCOMPARE(fabric->gpuCount(), 8);
  QVERIFY(QString::fromStdString(inferenceJson(record, inferSwitches(record))).contains("\"inferred\""));
}

void ExecutorTacclTest::doubtsAreNamed_data() {
  QTest::addColumn<QString>("change");
  QTest::addColumn<QString>("expected");
  QTest::newRow("contradiction") << "contradiction"
                                 << "GPU 1 shares with 0 and with 2";
  QTest::newRow("equal latencies") << "latencies"
                                   << "undecided";
  QTest::newRow("few values") << "few"
                              << "3 times only";
  QTest::newRow("pair left out") << "pair"
                                 << "GPUs 0 and 1 were not measured";
  QTest::newRow("half a switch") << "half"
                                 << "slows some of the GPUs 4, 5";
  QTest::newRow("no order") << "order"
                            << "no order of the GPUs";
}

void ExecutorTacclTest::doubtsAreNamed() {
  QFETCH(QString, change);
  QFETCH(QString, expected);
  ContentionRecord record = sample();
  if (change == "contradiction") {
    for (TogetherSample& each : record.together) {
      if (each.a == 1 && each.b == 2) {
        each.ofA = each.ofB = Samples(7, 6.2e9);
      }
    }
  } else if (change == "latencies") {
    record.loopbacks[1].seconds = record.loopbacks[0].seconds;
  } else if (change == "few") {
    record.alone[0].resize(3);
  } else if (change == "pair") {
    record.together.erase(record.together.begin());
  } else if (change == "half") {
    record.besideNic[5].ofGpu = record.alone[5];
  } else {
    record.nvlinks[4][5] = record.nvlinks[5][4] = 1;
  }
  const Inference inference = inferSwitches(record);
  QVERIFY(std::any_of(inference.findings.begin(), inference.findings.end(),
                      [&](const Finding& finding) { return QString::fromStdString(finding.text).contains(expected); }));
  if (change == "contradiction") {
    QCOMPARE(inference.switches.size(), std::size_t{8});
  }
}

void ExecutorTacclTest::recordsAreRefused_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("key");
  QTest::newRow("not JSON") << QByteArray("[") << "alone";
  QTest::newRow("nothing") << QByteArray("{}") << "alone";
  QTest::newRow("no GPU") << QByteArray(R"({"alone":[]})") << "alone";
  QTest::newRow("no value") << QByteArray(R"({"alone":[[]]})") << "alone";
  QTest::newRow("zero") << QByteArray(R"({"alone":[[0]]})") << "alone";
  QTest::newRow("other GPU") << QByteArray(R"({"alone":[[1],[1]],"together":[{"a":0,"b":2,"of_a":[1],"of_b":[1]}]})")
                             << "together";
  QTest::newRow("itself") << QByteArray(R"({"alone":[[1],[1]],"together":[{"a":0,"b":0,"of_a":[1],"of_b":[1]}]})")
                          << "together";
  QTest::newRow("half a pair") << QByteArray(R"({"alone":[[1],[1]],"together":[{"a":0,"b":1,"of_a":[1]}]})")
                               << "together";
  QTest::newRow("no list") << QByteArray(R"({"alone":[[1]],"loopback":7})") << "loopback";
  QTest::newRow("NIC") << QByteArray(R"({"alone":[[1]],"beside_nic":[{"gpu":0,"nic":-1,"of_gpu":[1]}]})")
                       << "beside_nic";
  QTest::newRow("not square") << QByteArray(R"({"alone":[[1],[1]],"nvlinks":[[0,1]]})") << "nvlinks";
  QTest::newRow("links") << QByteArray(R"({"alone":[[1]],"nvlinks":[["two"]]})") << "nvlinks";
}

void ExecutorTacclTest::recordsAreRefused() {
  QFETCH(QByteArray, text);
  QFETCH(QString, key);
  const auto record = readContention(text.toStdString());
  QVERIFY(!record);
  QVERIFY2(QString::fromStdString(toText(record.error().where.element)).contains(key),
           toText(record.error().where.element).c_str());
}

void ExecutorTacclTest::sketchesRun_data() {
  QTest::addColumn<QString>("sketch");
  QTest::addColumn<QString>("topology");
  QTest::addColumn<bool>("isLarge");  // one collective is enough
  const auto add = [](const char* sketch, const char* topology, bool isLarge = false) {
    QTest::addRow("%s on %s", sketch, topology) << sketch << topology << isLarge;
  };
  for (const char* sketch : {"ndv2-relay-n2", "ndv2-full-n2", "ndv2-direct-n2", "ndv2-n1", "ndv2-n1-chunks6"}) {
    add(sketch, "ndv2-1mb");
  }
  for (const char* sketch : {"ndv2-relay-n4", "ndv2-full-n4", "ndv2-relay-n8"}) {
    add(sketch, "ndv2-1mb", true);
  }
  add("ndv2-relay-n2", "ndv2-32kb");
  add("ndv2-relay-n2", "ndv2-1kb");
  for (const char* sketch :
       {"dgx2-pairs-n2", "dgx2-direct-n2", "dgx2-full-n2", "dgx2-n1", "dgx2-n1-chunks2", "listing1-dgx2"}) {
    add(sketch, "dgx2-1mb", true);
  }
  add("dgx2-pairs-n8", "dgx2-1mb", true);
  add("dgx2-direct-n2", "dgx2-32kb", true);
  add("dgx2-direct-n2", "dgx2-1kb", true);
  add("hub-two-switches-n1", "hub");
  add("hub-split-n2", "hub");
  add("ring-minmax-n2", "custom-ring");
  add("ring-maxmin-n3", "custom-ring");
}

/// From the official files to data that arrived: found, verified, lowered, and run on threads.
void ExecutorTacclTest::sketchesRun() {
  QFETCH(QString, sketch);
  QFETCH(QString, topology);
  QFETCH(bool, isLarge);
  const auto file = [](const QString& name) {
    const QString own = QStringLiteral(COPPICE_TEST_DATA "/taccl/") + name + ".json";
    const QString path = QFile::exists(own) ? own : QStringLiteral(COPPICE_EXAMPLES "/taccl/") + name + ".json";
    return io::readFile(path.toStdString()).value();
  };
  const auto drawn = io::readTacclSketch(file("sketch-" + sketch));
  const auto costs = io::readTacclTopology(file("topology-" + topology));
  QVERIFY(drawn && costs);
  const auto made = sketch::makeModel(drawn->value, costs->value);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  const auto described = sketch::fabricOf(made->model, sketch::guessScale(costs->value));
  QVERIFY2(described.hasValue(), described ? "" : describe(described.error()).c_str());
  const auto fabric = fabric::Fabric::build(described->description);
  QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
  const std::vector<Collective> all = {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                       Collective::alltoall,  Collective::broadcast,     Collective::reduce,
                                       Collective::scatter,   Collective::gather};
  for (const Collective collective : isLarge ? std::vector{Collective::allgather, Collective::reduceScatter} : all) {
    const std::string name(toString(collective));
    taccl::SynthesisOptions search;
    search.effort = 40;
    const int root = isRooted(collective) ? 1 : 0;
    const auto found = taccl::synthesize(made->model, collective, root, search);
    QVERIFY2(found.hasValue(), found ? "" : (name + ": " + describe(found.error())).c_str());
    const auto planned = verify::checkPlan(made->model, found->plan);
    QVERIFY2(planned && planned->ok, name.c_str());
    const auto steps = sketch::stepScheduleOf(made->model, found->plan, *fabric, described->routes);
    QVERIFY2(steps.hasValue(), steps ? "" : (name + ": " + describe(steps.error())).c_str());
    const auto verdict = verify::verifySteps(*fabric, *steps);
    QVERIFY2(verdict && verdict->ok, name.c_str());
    const bool isRare =
        collective == Collective::gather || collective == Collective::scatter || collective == Collective::alltoall;
    const auto runtime = isRare ? program::Runtime::mscclExecutorNccl : program::Runtime::msccl;
    const auto program =
        lowering::lower(*fabric, *steps, {.runtime = runtime, .inPlace = lowering::hasInPlace(collective)});
    QVERIFY2(program.hasValue(), program ? "" : (name + ": " + describe(program.error())).c_str());
    const executor::Job job =
        executor::test::jobOf(*program, {.runtime = runtime, .root = isRooted(collective) ? root : -1});
    const auto ran = executor::test::runJob(*m_backend, job, executor::test::checking(4 * 1021));
    QVERIFY2(ran.fault().empty(), (name + ": " + ran.fault()).c_str());
  }
}

QTEST_GUILESS_MAIN(ExecutorTacclTest)
#include "tst_executor_taccl.moc"
