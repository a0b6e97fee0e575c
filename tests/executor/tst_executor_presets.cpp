// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>

#include "executor/support.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "support/preset_fabrics.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;
using coppice::test::presetFabric;

namespace {

constexpr int kMaxGpus = 16;

}  // namespace

/// All presets up to 16 GPUs, all collectives, from the fabric to the data.
class ExecutorPresetsTest : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
};

void ExecutorPresetsTest::presets_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("arguments");
  for (const presets::Preset& preset : presets::catalogue()) {
    if (presetFabric(preset.name, {}).gpuCount() <= kMaxGpus) {
      QTest::newRow(preset.name.c_str()) << QString::fromStdString(preset.name) << QString();
    }
  }
  for (const auto& [preset, arguments] : std::vector<std::pair<const char*, const char*>>{{"dgx1-v100", "boxes=2"},
                                                                                          {"dgx2", "boxes=1"},
                                                                                          {"dgx-a100", "boxes=1"},
                                                                                          {"dgx-h100", "boxes=1"},
                                                                                          {"dgx-b200", "boxes=1"},
                                                                                          {"gb200-nvl72", "gpus=16"},
                                                                                          {"hgx-mi300x", "boxes=1"},
                                                                                          {"mi250", "boxes=1"},
                                                                                          {"azure-ndv2", "boxes=1"},
                                                                                          {"ring", "gpus=2"},
                                                                                          {"ring", "gpus=16"},
                                                                                          {"complete", "gpus=4"}}) {
    QTest::newRow((std::string(preset) + " " + arguments).c_str()) << QString(preset) << QString(arguments);
  }
}

void ExecutorPresetsTest::presets() {
  QFETCH(QString, preset);
  QFETCH(QString, arguments);
  const fabric::Fabric fabric = presetFabric(preset + u' ' + arguments);
  QVERIFY(fabric.gpuCount() <= kMaxGpus);
  auto backend = makeThreads(2);
  std::size_t turn = 0;
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                      Collective::broadcast, Collective::reduce}) {
    forestcoll::Request request;
    request.collective = collective;
    request.plainSwitches = true;  // programs send between GPUs
    if (collective == Collective::broadcast || collective == Collective::reduce) {
      request.root = fabric.gpuCount() / 3;
    }
    const schedule::Schedule schedule = forestcoll::generate(fabric, request).value().schedule;
    for (const bool inPlace : {false, true}) {
      const auto program = lowering::lower(fabric, schedule, {.inPlace = inPlace});
      QVERIFY2(program.hasValue(), program ? "" : describe(program.error()).c_str());
      const Job job = jobOf(*program, {.root = schedule.root.value_or(-1)});
      QVERIFY(job.inPlace.has_value() == inPlace && job.outOfPlace.has_value() != inPlace);
      QVERIFY(!job.any().needsEqualChunks);
      BenchOptions options = checking(0);
      options.firstBytes = 4 * 1021;
      options.lastBytes = 200000;
      options.factor = 40;
      options.types = {kAllTypes[turn % std::size(kAllTypes)], DataType::float32};
      options.ops = {kAllOps[turn % std::size(kAllOps)]};
      ++turn;
      const Ran ran = runJob(*backend, job, options);
      QVERIFY2(
          ran.fault().empty(),
          (std::string(toString(collective)) + (inPlace ? " in place: " : " out of place: ") + ran.fault()).c_str());
    }
  }
}

QTEST_GUILESS_MAIN(ExecutorPresetsTest)
#include "tst_executor_presets.moc"
