// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <string>

#include "io/synthesizer_results.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using schedule::CollectiveTable;
using schedule::StepSchedule;
using test::must;

namespace {

fabric::Fabric presetOf(const std::string& name, const std::map<std::string, std::string>& arguments) {
  return must(fabric::Fabric::build(must(presets::make(name, arguments))));
}

CollectiveTable goalOf(Collective collective, int ranks, std::optional<int> root = {}) {
  return must(CollectiveTable::make(collective, ranks, root));
}

bool isVerified(const fabric::Fabric& fabric, const StepSchedule& schedule) {
  return must(verify::verifySteps(fabric, schedule)).ok;
}

/// Three GPUs in a ring, numbered 1, 2, 4: the switch 0 is no GPU.
constexpr const char* kAllgather = R"({
  "1-Epoch_Duration": 1e-06, "3-Epochs_Required": 2,
  "7-Flows": [
    "Chunk 0 from 1 traveled over 2->4 in epoch 1 via switches 0",
    "Chunk 0 from 1 traveled over 1->2 in epoch 0",
    "Chunk 0 from 2 traveled over 2->4 in epoch 0",
    "Chunk 0 from 4 traveled over 4->1 in epoch 0",
    "Chunk 0 from 2 traveled over 4->1 in epoch 1",
    "Chunk 0 from 4 traveled over 1->2 in epoch 1"
  ],
  "8-Chunk paths": {"Demand at 2 for chunk 0 from 1 met by epoch 0": ["1->2 in epoch 0"]}
})";

/// Two chunks of a half of each pair; the thirds of one go two ways.
constexpr const char* kAlltoall = R"({"6-Flows": [
  "Chunk 1 from 0 traveled over 0->1 with volume 0.33333333 in epoch 0",
  "Chunk 1 from 0 traveled over 0->2 with volume 0.66666667 in epoch 0",
  "Chunk 1 from 0 traveled over 2->1 with volume 0.66666667 in epoch 1",
  "Chunk 2 from 0 traveled over 0->2 with volume 1.0 in epoch 0",
  "Chunk 0 from 1 traveled over 1->0 with volume 1.0 in epoch 0",
  "Chunk 2 from 1 traveled over 1->2 with volume 1.0 in epoch 0",
  "Chunk 0 from 2 traveled over 2->0 with volume 1.0 in epoch 0",
  "Chunk 1 from 2 traveled over 2->1 with volume 1.0 in epoch 0"]})";

constexpr const char* kTacos =
    "NPUs Count,4\nLinks Count,8\nChunks Count,4\nChunk Size,1048576,B\n"
    "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks\n"
    "0,1,500,50,0,3:1500\n0,3,500,50,0\n1,0,500,50,1\n1,2,500,50,1,0\n"
    "2,1,500,50,2\n2,3,500,50,2,1\r\n3,0,500,50,3,2\n3,2,500,50,3\n";

}  // namespace

class TestSynthesizerResults : public QObject {
  Q_OBJECT

private slots:
  void teCclAllgather();
  void teCclVolumes();
  void teCclChunkPaths();
  void teCclBroadcast();
  void tacos();
  void teCclRefuses_data();
  void teCclRefuses();
  void tacosRefuses_data();
  void tacosRefuses();
};

void TestSynthesizerResults::teCclAllgather() {
  const fabric::Fabric ring = presetOf("ring", {{"gpus", "3"}});
  QVERIFY(io::looksLikeTeCcl(kAllgather));
  const StepSchedule schedule = must(io::readTeCcl(kAllgather, "x", ring, goalOf(Collective::allgather, 3)));
  QCOMPARE(schedule.transfers.size(), std::size_t{6});
  QVERIFY(isVerified(ring, schedule));
  // Each link of 25 GB/s carries two thirds of the data.
  QCOMPARE(toExactText(schedule.algbw), "37.5");
  // Without the last flow GPU 2 lacks a shard.
  std::string cut = kAllgather;
  const std::string last = ",\n    \"Chunk 0 from 4 traveled over 1->2 in epoch 1\"";
  cut.erase(cut.find(last), last.size());
  QVERIFY(!isVerified(ring, must(io::readTeCcl(cut, "x", ring, goalOf(Collective::allgather, 3)))));
}

void TestSynthesizerResults::teCclVolumes() {
  const fabric::Fabric mesh = presetOf("complete", {{"gpus", "3"}});
  const StepSchedule schedule = must(io::readTeCcl(kAlltoall, "x", mesh, goalOf(Collective::alltoall, 3)));
  QCOMPARE(schedule.denominator, std::int64_t{3});
  QVERIFY(isVerified(mesh, schedule));
}

void TestSynthesizerResults::teCclChunkPaths() {
  // Two GPUs, two chunks for the other one: the paths say so, as numbers of chunks beyond the GPUs cannot.
  const fabric::Fabric pair = presetOf("ring", {{"gpus", "2"}});
  const std::string text = R"({"7-Flows": [
    "Chunk 4 from 0 traveled over 0->1 in epoch 0", "Chunk 5 from 0 traveled over 0->1 in epoch 1",
    "Chunk 4 from 1 traveled over 1->0 in epoch 0", "Chunk 5 from 1 traveled over 1->0 in epoch 1"],
    "8-Chunk paths": {"Demand at 1 for chunk 4 from 0 met by epoch 0": [], "Demand at 1 for chunk 5 from 0 met by epoch 1": [],
    "Demand at 0 for chunk 4 from 1 met by epoch 0": [], "Demand at 0 for chunk 5 from 1 met by epoch 1": []}})";
  QVERIFY(isVerified(pair, must(io::readTeCcl(text, "x", pair, goalOf(Collective::alltoall, 2)))));
}

void TestSynthesizerResults::teCclBroadcast() {
  const fabric::Fabric ring = presetOf("ring", {{"gpus", "3"}});
  const std::string text = R"({"7-Flows": ["Chunk 0 from 1 traveled over 1->0 in epoch 0",
    "Chunk 1 from 1 traveled over 1->2 in epoch 0", "Chunk 0 from 1 traveled over 0->2 in epoch 1",
    "Chunk 1 from 1 traveled over 2->0 in epoch 1"]})";
  QVERIFY(isVerified(ring, must(io::readTeCcl(text, "x", ring, goalOf(Collective::broadcast, 3, 1)))));
  const auto wrong = io::readTeCcl(text, "x", ring, goalOf(Collective::broadcast, 3, 0));
  QVERIFY(!wrong && wrong.error().fix == "give the root with --root");
}

void TestSynthesizerResults::tacos() {
  const fabric::Fabric ring = presetOf("ring", {{"gpus", "4"}});
  QVERIFY(io::looksLikeTacosResult(kTacos));
  const StepSchedule schedule = must(io::readTacosResult(kTacos, "x", ring, goalOf(Collective::allgather, 4)));
  QCOMPARE(schedule.transfers.size(), std::size_t{12});
  QVERIFY(schedule.keepsOrder);
  QVERIFY(isVerified(ring, schedule));
  // A chunk that its sender never gets.
  std::string wrong = kTacos;
  wrong.replace(wrong.find("50,3,2\n"), 7, "50,3,1\n");
  const auto read = io::readTacosResult(wrong, "x", ring, goalOf(Collective::allgather, 4));
  QVERIFY(!read || !isVerified(ring, *read));
}

void TestSynthesizerResults::teCclRefuses_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("collective");
  QTest::addColumn<QString>("message");
  const int allgather = static_cast<int>(Collective::allgather);
  QTest::newRow("no JSON") << "{\"7-Flows\": [" << allgather << "not valid JSON";
  QTest::newRow("a list") << "[1, 2]" << allgather << "not valid JSON";
  QTest::newRow("no flows") << "{\"7-Flows\": []}" << allgather << "the result has no flows";
  QTest::newRow("a number") << "{\"7-Flows\": [7]}" << allgather << "a flow is not a text";
  QTest::newRow("words") << R"({"7-Flows": ["Chunk 0 from 1 went over 1->2 in epoch 0"]})" << allgather
                         << "is not a flow of TE-CCL";
  QTest::newRow("negative") << R"({"7-Flows": ["Chunk -1 from 1 traveled over 1->2 in epoch 0"]})" << allgather
                            << "is not a flow of TE-CCL";
  QTest::newRow("to itself") << R"({"7-Flows": ["Chunk 0 from 1 traveled over 1->1 in epoch 0"]})" << allgather
                             << "is not a flow of TE-CCL";
  QTest::newRow("cut") << R"({"7-Flows": ["Chunk 0 from 1 traveled over 1->2 in epoch"]})" << allgather
                       << "is not a flow of TE-CCL";
  QTest::newRow("volume") << R"({"7-Flows": ["Chunk 0 from 1 traveled over 1->2 with volume 7 in epoch 0"]})"
                          << allgather << "is not a flow of TE-CCL";
  QTest::newRow("GPUs") << R"({"7-Flows": ["Chunk 0 from 1 traveled over 1->2 in epoch 0"]})" << allgather
                        << "the flows name 2 GPUs, the fabric has 3";
  QTest::newRow("collective") << kAllgather << static_cast<int>(Collective::allreduce) << "TE-CCL has no allreduce";
  QTest::newRow("more than held") << R"({"7-Flows": ["Chunk 1 from 0 traveled over 0->2 with volume 0.5 in epoch 0",
             "Chunk 1 from 0 traveled over 2->1 with volume 1.0 in epoch 1"]})"
                                  << static_cast<int>(Collective::alltoall) << "sends more than GPU 2 holds then";
  QTest::newRow("no destination") << R"({"7-Flows": ["Chunk 9 from 0 traveled over 0->2 in epoch 0",
             "Chunk 1 from 0 traveled over 2->1 in epoch 1"]})"
                                  << static_cast<int>(Collective::alltoall) << "has no destination";
}

void TestSynthesizerResults::teCclRefuses() {
  QFETCH(QString, text);
  QFETCH(int, collective);
  QFETCH(QString, message);
  const fabric::Fabric ring = presetOf("ring", {{"gpus", "3"}});
  const auto read = io::readTeCcl(text.toStdString(), "x", ring, goalOf(static_cast<Collective>(collective), 3));
  QVERIFY(!read);
  QVERIFY2(describe(read.error()).find(message.toStdString()) != std::string::npos, describe(read.error()).c_str());
  QVERIFY(!read.error().fix.empty());
}

void TestSynthesizerResults::tacosRefuses_data() {
  QTest::addColumn<QString>("from");
  QTest::addColumn<QString>("to");
  QTest::addColumn<QString>("message");
  QTest::newRow("other fabric") << "NPUs Count,4"
                                << "NPUs Count,8"
                                << "the result is of 8 NPUs, the fabric has 4 GPUs";
  QTest::newRow("no count") << "NPUs Count,4\n"
                            << ""
                            << "the numbers of NPUs and chunks are missing";
  QTest::newRow("chunks") << "Chunks Count,4"
                          << "Chunks Count,6"
                          << "6 chunks are not the same number";
  QTest::newRow("chunk") << "50,3,2\n"
                         << "50,3,9\n"
                         << "x:12:1: \"9\" is not a chunk";
  QTest::newRow("word") << "50,3,2\n"
                        << "50,all\n"
                        << "\"all\" is not a chunk";
  QTest::newRow("link") << "3,0,500"
                        << "3,7,500"
                        << "x:12:1: not a link of a result of TACOS";
  QTest::newRow("huge") << "Chunks Count,4"
                        << "Chunks Count,99999999999999999999"
                        << "missing";
}

void TestSynthesizerResults::tacosRefuses() {
  QFETCH(QString, from);
  QFETCH(QString, to);
  QFETCH(QString, message);
  const QString text = QString(kTacos).replace(from, to);
  QVERIFY(text != kTacos);
  const fabric::Fabric ring = presetOf("ring", {{"gpus", "4"}});
  const auto read = io::readTacosResult(text.toStdString(), "x", ring, goalOf(Collective::allgather, 4));
  QVERIFY(!read);
  QVERIFY2(describe(read.error()).find(message.toStdString()) != std::string::npos, describe(read.error()).c_str());
  const auto reduce = io::readTacosResult(kTacos, "x", ring, goalOf(Collective::reduceScatter, 4));
  QVERIFY(!reduce && reduce.error().fix == "read it with -c allgather");
}

QTEST_GUILESS_MAIN(TestSynthesizerResults)
#include "tst_synthesizer_results.moc"
