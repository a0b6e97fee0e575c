// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <set>
#include <string>

#include "baselines/baselines.hpp"
#include "executor/support.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "presets/presets.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;

namespace {

constexpr int kMaxGpus = 32;

const std::map<std::string, fabric::Fabric>& fabrics() {
  static const std::map<std::string, fabric::Fabric> kFabrics = [] {
    std::map<std::string, fabric::Fabric> made;
    for (const presets::Preset& preset : presets::catalogue()) {
      fabric::Fabric fabric = fabric::Fabric::build(presets::make(preset.name, {}).value()).value();
      if (fabric.gpuCount() <= kMaxGpus) {
        made.emplace(preset.name, std::move(fabric));
      }
    }
    return made;
  }();
  return kFabrics;
}

std::string faultOf(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule) {
  if (const auto* forest = std::get_if<schedule::Schedule>(&schedule)) {
    const auto verdict = verify::verifySchedule(fabric, *forest, {.maxFlow = false});
    return verdict && verdict->ok ? "" : "the trees are wrong";
  }
  const auto verdict = verify::verifySteps(fabric, std::get<schedule::StepSchedule>(schedule));
  return !verdict ? describe(verdict.error()) : verdict->ok ? "" : describe(verdict->findings.front());
}

}  // namespace

/// Every baseline, for every collective that it makes, on every preset up to 32 GPUs that supports it: generated,
/// verified, lowered, verified as a program, and run on real data.
class ExecutorBaselinesTest : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
  void allRan();

private:
  std::unique_ptr<Backend> m_backend = makeThreads(2);
  std::set<std::string> m_ran;  ///< "ring allgather"
  std::size_t m_turn = 0;
};

void ExecutorBaselinesTest::presets_data() {
  QTest::addColumn<QString>("preset");
  for (const auto& [name, fabric] : fabrics()) {
    QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
}

void ExecutorBaselinesTest::presets() {
  QFETCH(QString, preset);
  const fabric::Fabric& fabric = fabrics().at(preset.toStdString());
  int ran = 0;
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const std::string name = std::string(baseline.name) + " " + std::string(toString(collective));
      baselines::Request request{.collective = collective};
      if (isRooted(collective)) {
        request.root = fabric.gpuCount() / 3;
      }
      const auto schedule = baselines::generate(baseline.name, fabric, request);
      if (!schedule) {
        QVERIFY2(schedule.error().code == ErrorCode::infeasible, (name + ": " + describe(schedule.error())).c_str());
        continue;
      }
      const std::string fault = faultOf(fabric, *schedule);
      QVERIFY2(fault.empty(), (name + ": " + fault).c_str());
      const bool isRare = collective == Collective::gather || collective == Collective::scatter;
      const auto runtime = isRare ? program::Runtime::mscclExecutorNccl : program::Runtime::msccl;
      // In place and out of place change places from one program to the next.
      const bool inPlace = ++m_turn % 2 == 0 && lowering::hasInPlace(collective);
      const auto program = lowering::lower(fabric, *schedule, {.runtime = runtime, .inPlace = inPlace});
      QVERIFY2(program.hasValue(), program ? "" : (name + ": " + describe(program.error())).c_str());
      const Job job = jobOf(*program, {.runtime = runtime, .root = request.root.value_or(-1)});
      QVERIFY2(job.inPlace.has_value() == inPlace && job.outOfPlace.has_value() != inPlace, name.c_str());
      BenchOptions options = checking(4 * 1021 * (1 + static_cast<std::int64_t>(m_turn % 3)));
      options.types = {kAllTypes[m_turn % std::size(kAllTypes)]};
      options.ops = {kAllOps[m_turn % std::size(kAllOps)]};
      const Ran outcome = runJob(*m_backend, job, options);
      QVERIFY2(outcome.fault().empty(),
               (name + (inPlace ? " in place: " : " out of place: ") + outcome.fault()).c_str());
      m_ran.insert(name);
      ++ran;
    }
  }
  QVERIFY(ran > 0);
}

/// Some preset supports each of them.
void ExecutorBaselinesTest::allRan() {
  for (const baselines::Baseline& baseline : baselines::list()) {
    for (const Collective collective : baseline.collectives) {
      const std::string name = std::string(baseline.name) + " " + std::string(toString(collective));
      QVERIFY2(m_ran.contains(name), name.c_str());
    }
  }
}

QTEST_GUILESS_MAIN(ExecutorBaselinesTest)
#include "tst_executor_baselines.moc"
