// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>

#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using program::Runtime;
using test::presetFabric;

namespace {

const std::vector<Collective> kCollectives{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                           Collective::broadcast, Collective::reduce};

schedule::Schedule generate(const fabric::Fabric& fabric, Collective collective, std::int64_t k) {
  forestcoll::Request request;
  request.collective = collective;
  request.plainSwitches = true;  // programs send between GPUs
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    request.root = fabric.gpuCount() / 3;
  }
  if (k > 0) {
    request.fixedK = k;
  }
  return forestcoll::generate(fabric, request).value().schedule;
}

/// Lowers, writes the XML, reads it back and has it verified and executed. Empty, or what went wrong.
std::string examine(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                    const lowering::Options& options) {
  const Result<program::Program> lowered = lowering::lower(fabric, schedule, options);
  if (!lowered) {
    return describe(lowered.error());
  }
  const std::string text = program::writeMscclXml(*lowered, options.runtime);
  const Result<program::MscclFile> file = program::readMscclXml(text, options.runtime);
  if (!file || !file->findings.empty()) {
    return "reader: " + (file ? describe(file->findings.front()) : describe(file.error()));
  }
  verify::ProgramCheckOptions check;
  check.runtime = options.runtime;
  check.root = schedule.root.value_or(-1);
  const Result<verify::ProgramVerdict> verdict = verify::verifyProgram(file->program, check);
  if (!verdict || !verdict->ok || !verdict->findings.empty()) {
    return "verifier: " + (!verdict                    ? describe(verdict.error())
                           : verdict->findings.empty() ? std::string("no")
                                                       : describe(verdict->findings.front()));
  }
  if (std::string limits = lowering::test::checkLimits(file->program, options.runtime); !limits.empty()) {
    return "limits: " + limits;
  }
  lowering::test::RunOptions run;
  run.depth = program::connectionDepth(file->program.protocol);
  run.chunksPerMessage = 1;
  run.checkRaces = false;
  run.root = schedule.root.value_or(-1);
  return lowering::test::run(file->program, run);
}

std::string nameOf(Collective collective, const lowering::Options& options) {
  return std::string(toString(collective)) + " " + std::string(toString(options.runtime)) +
         (options.inPlace ? " in place: " : " out of place: ");
}

}  // namespace

class LoweringPresetsTest : public QObject {
  Q_OBJECT

private slots:
  void fabrics_data();
  void fabrics();
  void twoA100Boxes_data();
  void twoA100Boxes();
  void largeClusters_data();
  void largeClusters();
};

/// All presets as they come, up to 32 GPUs, and some with more boxes.
void LoweringPresetsTest::fabrics_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("arguments");
  for (const presets::Preset& preset : presets::catalogue()) {
    if (presetFabric(preset.name, {}).gpuCount() <= 32) {
      QTest::newRow(preset.name.c_str()) << QString::fromStdString(preset.name) << QString();
    }
  }
  for (const auto& [preset, arguments] : std::vector<std::pair<const char*, const char*>>{{"dgx1-v100", "boxes=2"},
                                                                                          {"dgx2", "boxes=1"},
                                                                                          {"dgx-a100", "boxes=4"},
                                                                                          {"dgx-h100", "boxes=1"},
                                                                                          {"gb200-nvl72", "gpus=18"},
                                                                                          {"azure-ndv2", "boxes=4"},
                                                                                          {"ring", "gpus=2"},
                                                                                          {"ring", "gpus=32"}}) {
    QTest::addRow("%s %s", preset, arguments) << preset << arguments;
  }
}

void LoweringPresetsTest::fabrics() {
  QFETCH(QString, preset);
  QFETCH(QString, arguments);
  const fabric::Fabric fabric = presetFabric(preset + u' ' + arguments);
  for (const Collective collective : kCollectives) {
    const schedule::Schedule schedule = generate(fabric, collective, 0);
    // Each runtime with one of the two modes; the modes change places from collective to collective.
    bool inPlace = collective == Collective::allgather || collective == Collective::allreduce;
    for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl}) {
      lowering::Options options;
      options.runtime = runtime;
      options.inPlace = inPlace;
      const std::string wrong = examine(fabric, schedule, options);
      QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
      inPlace = !inPlace;
    }
  }
}

void LoweringPresetsTest::twoA100Boxes_data() {
  QTest::addColumn<int>("k");
  for (const int k : {1, 2, 3, 4, 13}) {
    QTest::addRow("k%d", k) << k;
  }
}

void LoweringPresetsTest::twoA100Boxes() {
  QFETCH(int, k);
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=2");
  for (const Collective collective : kCollectives) {
    const schedule::Schedule schedule = generate(fabric, collective, k);
    for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl}) {
      for (const bool inPlace : {true, false}) {
        for (const auto channels : {lowering::ChannelPolicy::compact, lowering::ChannelPolicy::nicPlanes}) {
          lowering::Options options;
          options.runtime = runtime;
          options.inPlace = inPlace;
          options.channels = channels;
          if (channels != lowering::ChannelPolicy::compact) {
            options.protocol = program::Protocol::ll;
          }
          const std::string wrong = examine(fabric, schedule, options);
          QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
        }
      }
    }
  }
}

void LoweringPresetsTest::largeClusters_data() {
  QTest::addColumn<int>("boxes");
  QTest::newRow("64 GPUs") << 8;
  QTest::newRow("128 GPUs") << 16;
}

void LoweringPresetsTest::largeClusters() {
  QFETCH(int, boxes);
  const fabric::Fabric fabric = presetFabric("dgx-a100 boxes=" + QString::number(boxes));
  for (const Collective collective : kCollectives) {
    const schedule::Schedule schedule = generate(fabric, collective, 1);
    for (const Runtime runtime : {Runtime::msccl, Runtime::mscclExecutorNccl}) {
      for (const bool inPlace : {true, false}) {
        lowering::Options options;
        options.runtime = runtime;
        options.inPlace = inPlace;
        const std::string wrong = examine(fabric, schedule, options);
        QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
      }
    }
  }
}

QTEST_GUILESS_MAIN(LoweringPresetsTest)
#include "tst_lowering_presets.moc"
