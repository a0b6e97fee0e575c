// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <sstream>

#include "baselines/baselines.hpp"
#include "fabric/fabric.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "program/msccl_xml.hpp"
#include "schedule/chunk_grid.hpp"
#include "schedule/step_cost.hpp"
#include "verify/program_verifier.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using program::Runtime;
using schedule::StepSchedule;

namespace {

constexpr int kMaxGpus = 32;

fabric::Fabric makeFabric(const std::string& name, const std::string& arguments = {}) {
  std::map<std::string, std::string> map;
  std::istringstream in(arguments);
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    map[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return fabric::Fabric::build(presets::make(name, map).value()).value();
}

bool isRare(Collective collective) {
  return collective == Collective::gather || collective == Collective::scatter;
}

/// Lowers, writes the XML, reads it back, has it verified, and executed. Empty, or what went wrong.
std::string examine(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                    const lowering::Options& options, bool executes) {
  const Result<program::Program> lowered = lowering::lower(fabric, schedule, options);
  if (!lowered) {
    return describe(lowered.error());
  }
  const std::string text = program::writeMscclXml(*lowered, options.runtime);
  const Result<program::MscclFile> file = program::readMscclXml(text, options.runtime);
  if (!file || !file->findings.empty()) {
    return "reader: " + (file ? describe(file->findings.front()) : describe(file.error()));
  }
  const int root = schedule::rootOf(schedule).value_or(-1);
  const auto verdict = verify::verifyProgram(file->program, {.runtime = options.runtime, .root = root});
  if (!verdict || !verdict->ok) {
    return "verifier: " + (!verdict                    ? describe(verdict.error())
                           : verdict->findings.empty() ? std::string("no")
                                                       : describe(verdict->findings.front()));
  }
  // Only where one threadblock adds to what another one has added to does RCCL leave a read unordered.
  const bool mayBeStale = program::isRccl(options.runtime) && reduces(schedule::collectiveOf(schedule));
  if (!verdict->findings.empty() && !mayBeStale) {
    return "verifier: " + describe(verdict->findings.front());
  }
  if (std::string limits = lowering::test::checkLimits(file->program, options.runtime); !limits.empty()) {
    return "limits: " + limits;
  }
  if (!executes) {
    return {};
  }
  lowering::test::RunOptions run;
  run.depth = program::connectionDepth(file->program.protocol);
  run.chunksPerMessage = 1;
  run.checkRaces = false;
  run.root = root;
  return lowering::test::run(file->program, run);
}

std::string nameOf(Collective collective, const lowering::Options& options) {
  return std::string(toString(collective)) + " " + std::string(toString(options.runtime)) +
         (options.inPlace ? " in place: " : " out of place: ");
}

}  // namespace

class LoweringStepsTest : public QObject {
  Q_OBJECT

private slots:
  void baselines_data();
  void baselines();
};

/// Every baseline, for every collective that it makes, on every preset up to 32 GPUs that it supports.
void LoweringStepsTest::baselines_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("baseline");
  for (const presets::Preset& preset : presets::catalogue()) {
    if (makeFabric(preset.name).gpuCount() > kMaxGpus) {
      continue;
    }
    for (const baselines::Baseline& baseline : baselines::list()) {
      QTest::addRow("%s %s", preset.name.c_str(), std::string(baseline.name).c_str())
          << QString::fromStdString(preset.name) << QString::fromStdString(std::string(baseline.name));
    }
  }
}

void LoweringStepsTest::baselines() {
  QFETCH(QString, preset);
  QFETCH(QString, baseline);
  const fabric::Fabric fabric = makeFabric(preset.toStdString());
  bool inPlace = true;
  std::size_t turn = baseline.size();
  constexpr std::array kTargets{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl};
  for (const Collective collective : baselines::find(baseline.toStdString())->collectives) {
    baselines::Request request{.collective = collective};
    if (isRooted(collective)) {
      request.root = fabric.gpuCount() / 3;
    }
    const auto schedule = baselines::generate(baseline.toStdString(), fabric, request);
    if (!schedule) {
      QVERIFY2(schedule.error().code == ErrorCode::infeasible, describe(schedule.error()).c_str());
      continue;
    }
    if (const auto* steps = std::get_if<StepSchedule>(&*schedule)) {
      const auto verdict = verify::verifySteps(fabric, *steps);
      QVERIFY(verdict && verdict->ok);
    }
    lowering::Options options;
    options.runtime = kTargets[turn++ % kTargets.size()];
    if (isRare(collective) && options.runtime == Runtime::msccl) {
      options.runtime = Runtime::mscclExecutorNccl;
    }
    options.inPlace = inPlace;
    inPlace = !inPlace;
    const std::string wrong = examine(fabric, *schedule, options, turn % 4 == 0);
    QVERIFY2(wrong.empty(), (nameOf(collective, options) + wrong).c_str());
  }
}

QTEST_GUILESS_MAIN(LoweringStepsTest)
#include "tst_lowering_steps.moc"
