// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/files.hpp"
#include "io/groups_json.hpp"
#include "support/preset_fabrics.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_export.hpp"
#include "workflow/training_words.hpp"

using namespace coppice;
using test::presetFabric;

/// What is written of a plan of a training step.
namespace {

struct Chosen {
  fabric::Fabric fabric;
  workflow::TrainingRequest request;
  workflow::TrainingChoice choice;
};

Chosen chosen(const QString& preset, workflow::Values values) {
  fabric::Fabric fabric = presetFabric(preset);
  auto request = workflow::readTraining(values);
  auto choice = workflow::chooseTraining(fabric, request->demand, request->limits, {});
  return {std::move(fabric), *std::move(request), *std::move(choice)};
}

/// Of "--name value"; `usual` where it is left out.
std::int64_t valueOf(const workflow::LaunchFlags& flags, const std::string& name, std::int64_t usual) {
  for (const std::string& flag : flags.flags) {
    if (flag.starts_with(name + " ")) {
      return std::stoll(flag.substr(name.size() + 1));
    }
  }
  return usual;
}

bool has(const workflow::LaunchFlags& flags, const std::string& name) {
  return std::find(flags.flags.begin(), flags.flags.end(), name) != flags.flags.end();
}

}  // namespace

class TestTrainingExport : public QObject {
  Q_OBJECT

private slots:
  void flagsMultiplyToTheGpus_data();
  void flagsMultiplyToTheGpus();
  void impossiblePlans_data();
  void impossiblePlans();
  void unequalStages();
  void figures();
  void ratesOfAlltoall();
  void orderOfRanks();
  void files();
  void groupsPassEachOther();
  void badFolder();
  void gpuByNames_data();
  void gpuByNames();
  void evenTokens_data();
  void evenTokens();
  void stepTimes_data();
  void stepTimes();
};

/// Four digits, in milliseconds or, from ten seconds on, in seconds.
void TestTrainingExport::stepTimes_data() {
  QTest::addColumn<double>("nanoseconds");
  QTest::addColumn<QString>("text");
  QTest::newRow("nothing") << 0.0 << "0 ms";
  QTest::newRow("ms") << 1.2345e6 << "1.234 ms";
  QTest::newRow("tens of ms") << 12.345e6 << "12.35 ms";
  QTest::newRow("below a second") << 512.34e6 << "512.3 ms";
  QTest::newRow("seconds") << 9999.4e6 << "9999 ms";
  QTest::newRow("long") << 60222.54e6 << "60.22 s";
  QTest::newRow("longer") << 602225.4e6 << "602.2 s";
}

void TestTrainingExport::stepTimes() {
  QFETCH(double, nanoseconds);
  QTEST(QString::fromStdString(workflow::stepTime(nanoseconds)), "text");
  // Others beside it, in its unit.
  const workflow::StepUnit unit = workflow::stepUnit(60222.54e6);
  QCOMPARE(unit.text(Rational(1'234'567'890)), "1.23");
}

void TestTrainingExport::gpuByNames_data() {
  QTest::addColumn<QString>("names");
  QTest::addColumn<QString>("gpu");
  const auto row = [](const char* names, const char* gpu) { QTest::newRow(names) << names << gpu; };
  row("2x DGX A100", "a100");
  row("DGX-1 V100", "v100");
  row("DGX-2", "v100");
  row("HGX MI300X", "mi300x");
  row("MI250", "mi250x");
  row("Gigabyte Z52 MI50", "mi50");
  row("GB200 NVL72", "gb200");
  row("GB300 NVL72", "gb300");
  row("HGX B300", "b300");
  row("aws-p6-b300", "b300");
  row("Gaudi 3 HLS-3", "gaudi3");
  row("Trn2 UltraServer of 4", "trainium2");
  row("TPU v5p slice 4x4x4", "tpu-v5p");
  row("tpu-v7", "tpu-v7");
  row("DGX B200", "b200");
  row("AWS P5", "h100");
  row("aws-p5", "h100");
  row("dgx-a100", "a100");
  row("A100 boxes beside H100 boxes", "a100");
  row("my cluster", "h100");
}

void TestTrainingExport::gpuByNames() {
  QFETCH(QString, names);
  const auto request = workflow::readTraining({{"model", "llama-3-8b"}}, names.toStdString());
  QVERIFY(request);
  QTEST(QString::fromStdString(std::string(request->device.name)), "gpu");
  const auto given = workflow::readTraining({{"model", "llama-3-8b"}, {"gpu", "h200"}}, names.toStdString());
  QVERIFY(given && given->device.name == "h200");
}

void TestTrainingExport::evenTokens_data() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<qint64>("batch");
  QTest::addColumn<qint64>("odd");
  QTest::newRow("no experts") << QString("llama-3.1-8b") << qint64{512} << qint64{0};
  QTest::newRow("128 experts") << QString("qwen3-235b") << qint64{512} << qint64{0};
  QTest::newRow("160 experts") << QString("deepseek-v2") << qint64{640} << qint64{512};
  QTest::newRow("384 experts") << QString("Kimi-K2") << qint64{384} << qint64{512};
}

/// A step without a batch gives each expert a whole number of tokens; one that does not is refused.
void TestTrainingExport::evenTokens() {
  QFETCH(QString, model);
  QFETCH(qint64, odd);
  const auto request = workflow::readTraining({{"model", model.toStdString()}}, "");
  QVERIFY(request);
  QTEST(static_cast<qint64>(request->demand.job.batch), "batch");
  if (odd > 0) {
    const auto refused = workflow::readTraining({{"model", model.toStdString()}, {"batch", std::to_string(odd)}}, "");
    QVERIFY(!refused && refused.error().message.find("experts") != std::string::npos);
  }
}

void TestTrainingExport::flagsMultiplyToTheGpus_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("model");
  QTest::newRow("one box") << QString("dgx-h100 boxes=1") << QString("llama-3-8b");
  QTest::newRow("boxes") << QString("dgx-h100 boxes=4") << QString("llama-3-70b");
  QTest::newRow("experts") << QString("dgx-h100 boxes=4") << QString("mixtral-8x7b");
}

/// The sizes of each tool are those of every plan that was found, and its batches fill the step.
void TestTrainingExport::flagsMultiplyToTheGpus() {
  QFETCH(QString, preset);
  QFETCH(QString, model);
  const Chosen found = chosen(preset, {{"model", model.toStdString()}, {"batch", "128"}, {"sequence", "4096"}});
  QVERIFY(!found.choice.plans.empty());
  const std::int64_t gpus = found.fabric.gpuCount();
  for (const training::StepPlan& plan : found.choice.plans) {
    const auto flags = workflow::launchFlags(found.request, plan);
    QCOMPARE(flags.size(), std::size_t{2});
    const workflow::LaunchFlags& megatron = flags[0];
    const std::int64_t parallel = valueOf(megatron, "--tensor-model-parallel-size", 0) *
                                  valueOf(megatron, "--pipeline-model-parallel-size", 0) *
                                  valueOf(megatron, "--context-parallel-size", 1);
    const std::int64_t data = gpus / parallel;
    QCOMPARE(data * parallel, gpus);
    QCOMPARE(valueOf(megatron, "--micro-batch-size", 0) * plan.microBatches * data, std::int64_t{128});
    QCOMPARE(data % valueOf(megatron, "--expert-model-parallel-size", 1), std::int64_t{0});
    const workflow::LaunchFlags& titan = flags[1];
    QCOMPARE(valueOf(titan, "--parallelism.data_parallel_replicate_degree", 0) *
                 valueOf(titan, "--parallelism.data_parallel_shard_degree", 0),
             data);
    QCOMPARE(valueOf(titan, "--parallelism.tensor_parallel_degree", 0) *
                 valueOf(titan, "--parallelism.context_parallel_degree", 0) *
                 valueOf(titan, "--parallelism.pipeline_parallel_degree", 0),
             parallel);
    const std::int64_t experts = valueOf(titan, "--parallelism.expert_parallel_degree", 1);
    QCOMPARE(valueOf(titan, "--parallelism.data_parallel_shard_degree", 0) *
                 valueOf(titan, "--parallelism.context_parallel_degree", 0) % experts,
             std::int64_t{0});
    const std::int64_t local = valueOf(titan, "--training.local_batch_size", 0);
    QCOMPARE(128 % (local * data), std::int64_t{0});
  }
}

void TestTrainingExport::impossiblePlans_data() {
  QTest::addColumn<std::string>("plan");
  QTest::addColumn<bool>("isPossible");
  const auto row = [](const char* plan, bool isPossible) { QTest::newRow(plan) << std::string(plan) << isPossible; };
  row("mb=2", true);
  row("mb=3", false);
  row("pp=4,vp=8", true);
  row("pp=4,vp=9", false);  // 32 layers
  row("pp=4,vp=2,mb=2", false);
  row("pp=1,vp=2", false);
}
void TestTrainingExport::impossiblePlans() {
  QFETCH(std::string, plan);
  QFETCH(bool, isPossible);
  const Chosen found = chosen(
      "dgx-h100 boxes=2",
      {{"model", "llama-3-8b"}, {"batch", "16"}, {"sequence", "2048"}, {"memory", "1TB"}, {"plan", std::string(plan)}});
  QCOMPARE(!found.choice.plans.empty(), isPossible);
  const std::string words = workflow::noPlanWords(found.request, found.choice);
  QCOMPARE(words.starts_with("no layout of the GPUs fits the plan"), !isPossible);
  QVERIFY(isPossible || !found.choice.least);
}

void TestTrainingExport::unequalStages() {
  const Chosen found = chosen("dgx-h100 boxes=2", {{"model", "llama-3-8b"}, {"batch", "16"}, {"plan", "pp=2,tp=8"}});
  QVERIFY(!found.choice.plans.empty());
  workflow::TrainingRequest request = found.request;
  const auto notes = [&] { return workflow::launchFlags(request, found.choice.plans.front()).front().missing.size(); };
  const std::size_t equal = notes();
  request.demand.model.layers = 33;
  QCOMPARE(notes(), equal + 1);
}

/// The utilization is a part of the peak rate, whatever is said to be reached, and no scores that are computed again
/// count.
void TestTrainingExport::figures() {
  for (const auto& [efficiency, most] : {std::pair("1", 1.0), std::pair("0.5", 0.5)}) {
    const Chosen found = chosen("dgx-h100 boxes=1", {{"model", "llama-3-8b"},
                                                     {"batch", "8"},
                                                     {"sequence", "4096"},
                                                     {"memory", "1TB"},
                                                     {"plan", "dp=8"},
                                                     {"efficiency", efficiency}});
    const double part =
        workflow::figuresOf(found.request, 8, found.choice.plans.front().overlapped()).utilization.toDouble();
    QVERIFY2(part < most && part > 0.95 * most, std::to_string(part).c_str());
  }
}

/// As nccl-tests counts it: what one GPU has.
void TestTrainingExport::ratesOfAlltoall() {
  const Chosen found =
      chosen("dgx-h100 boxes=2", {{"model", "gemma-3-27b"}, {"batch", "512"}, {"plan", "tp=4,cp=2,dp=2"}});
  QVERIFY(!found.choice.plans.empty());
  const auto limits = workflow::limitsOf(found.request.demand, found.choice, found.choice.plans.front());
  const auto part = std::find_if(limits.parts.begin(), limits.parts.end(),
                                 [](const workflow::CommunicationPart& each) { return each.collective == "alltoall"; });
  QVERIFY(part != limits.parts.end());
  QCOMPARE(part->word, std::string("tp"));
  // Four GPUs, each behind links of 450 and 50 GB/s, which a quarter of its buffer does not use.
  QCOMPARE(part->rate.gigabytesPerSecond().toString(), Rational(2000, 3).toString());
}

/// Megatron-LM counts through tensor, context, expert, data, pipeline, or with pipeline and data exchanged; nothing
/// else.
void TestTrainingExport::orderOfRanks() {
  const Chosen found = chosen("dgx-h100 boxes=4", {{"model", "llama-3-8b"}, {"batch", "128"}, {"plan", "tp=4,pp=2"}});
  QVERIFY(!found.choice.plans.empty());
  training::StepPlan plan = found.choice.plans.front();
  using training::Role;
  const auto ordered = [&](std::array<int, training::kParallelAxes> order) {
    plan.priced.layout.order = order;
    return workflow::launchFlags(found.request, plan).front();
  };
  constexpr int kTensor = static_cast<int>(Role::tensor);
  constexpr int kContext = static_cast<int>(Role::context);
  constexpr int kExpert = static_cast<int>(Role::expert);
  constexpr int kData = static_cast<int>(Role::data);
  const auto usual = ordered({kTensor, kContext, kExpert, kData, training::kPipeline});
  QVERIFY(!has(usual, "--use-tp-pp-dp-mapping"));
  const auto exchanged = ordered({kTensor, kContext, kExpert, training::kPipeline, kData});
  QVERIFY(has(exchanged, "--use-tp-pp-dp-mapping"));
  const auto other = ordered({kData, kContext, kExpert, kTensor, training::kPipeline});
  QVERIFY(!has(other, "--use-tp-pp-dp-mapping"));
  QCOMPARE(other.missing.size(), usual.missing.size() + 1);
}

void TestTrainingExport::files() {
  const Chosen found = chosen("dgx-h100 boxes=2", {{"model", "llama-3-8b"}, {"batch", "64"}, {"plan", "tp=8,dp=2"}});
  QVERIFY(!found.choice.plans.empty());
  const QTemporaryDir folder;
  const std::filesystem::path path = folder.filePath("plan").toStdString();
  const auto names = workflow::writeTraining(path, found.fabric, found.request, found.choice.plans.front(), {});
  QVERIFY2(names, names ? "" : describe(names.error()).c_str());
  const auto json = nlohmann::json::parse(*io::readFile(path / "plan.json"));
  QCOMPARE(json.at("axes").size(), std::size_t{2});
  QCOMPARE(json.at("digest").get<std::string>(), found.fabric.digest());
  QVERIFY(json.at("tensors").size() > 20);
  int schedules = 0;
  for (const std::string& name : *names) {
    if (!name.ends_with('/')) {
      QVERIFY(io::readFile(path / name));
      continue;
    }
    const QDir group(QString::fromStdString((path / name).string()));
    const QStringList files = group.entryList({"*.forest.json", "*.schedule.json"}, QDir::Files);
    // 16 GPUs in groups of 8 or of 2.
    QVERIFY2(files.size() == 2 || files.size() == 8, name.c_str());
    const auto read = workflow::readSchedule(*io::readFile(group.filePath(files.front()).toStdString()), name);
    QVERIFY(read);
    QVERIFY(workflow::requireVerified(read->fabric, read->schedule, {}));
    ++schedules;
  }
  QVERIFY(schedules >= 2);
}

/// Every other GPU of a ring has no path of its own: the groups pass each other, in the price, the words and the files.
void TestTrainingExport::groupsPassEachOther() {
  const Chosen found =
      chosen("torus dims=4x4", {{"model", "llama-3-8b"}, {"batch", "64"}, {"plan", "tp=2,dp=8"}, {"gpu", "h200"}});
  QCOMPARE(found.choice.leftOut, std::size_t{0});
  const auto isPassing = [&](const training::StepPlan& plan) {
    const workflow::Limits limits = workflow::limitsOf(found.request.demand, found.choice, plan);
    return std::any_of(limits.parts.begin(), limits.parts.end(), [&](const workflow::CommunicationPart& part) {
      return part.passesOthers &&
             workflow::limitWords(found.fabric, part).find("GPUs of other groups") != std::string::npos;
    });
  };
  const auto plan = std::find_if(found.choice.plans.begin(), found.choice.plans.end(), isPassing);
  QVERIFY(plan != found.choice.plans.end());
  QTemporaryDir folder;
  const std::filesystem::path path = folder.filePath("plan").toStdString();
  const auto names = workflow::writeTraining(path, found.fabric, found.request, *plan, {});
  QVERIFY2(names, names ? "" : describe(names.error()).c_str());
  int passing = 0;
  for (const std::string& name : *names) {
    if (name.starts_with("groups-")) {
      const auto demand = io::readGroups(*io::readFile(path / name), name, found.fabric);
      QVERIFY(demand);
      passing += demand->relays.empty() ? 0 : 1;
      QVERIFY(workflow::provedConcurrent(found.fabric, *demand, {}));
    }
  }
  QVERIFY(passing > 0);
}

void TestTrainingExport::badFolder() {
  const QTemporaryDir folder;
  const std::filesystem::path file = folder.filePath("file").toStdString();
  QVERIFY(io::saveFile(file, "x"));
  const Chosen found = chosen("dgx-h100 boxes=1", {{"model", "llama-3-8b"}, {"batch", "64"}, {"plan", "tp=8"}});
  const auto names =
      workflow::writeTraining(file / "plan", found.fabric, found.request, found.choice.plans.front(), {});
  QVERIFY(!names);
  QCOMPARE(names.error().code, ErrorCode::io);
}

QTEST_APPLESS_MAIN(TestTrainingExport)
#include "tst_training_export.moc"
