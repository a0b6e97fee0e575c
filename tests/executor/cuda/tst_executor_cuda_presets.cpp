// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "executor/cuda/cases.hpp"
#include "executor/cuda/host_gpus.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::cuda::test;

/// Schedules of all small presets, interpreted on host threads.
class TestExecutorCudaPresets : public QObject {
  Q_OBJECT

private slots:
  void presets_data();
  void presets();
};

void TestExecutorCudaPresets::presets_data() {
  constexpr int kMaxGpus = 16;
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  for (const presets::Preset& preset : presets::catalogue()) {
    const auto description = presets::make(preset.name, {});
    if (!description) {
      continue;
    }
    const auto fabric = fabric::Fabric::build(*description);
    if (!fabric || fabric->gpuCount() > kMaxGpus) {
      continue;
    }
    for (const Collective collective : kCollectives) {
      QTest::addRow("%s %s", preset.name.c_str(), std::string(toString(collective)).c_str())
          << QString::fromStdString(preset.name) << collective;
    }
  }
}

/// A small size with an odd element count, on a thread for each threadblock: in place in two tiles, out of place in one
/// with several chunks to a message.
void TestExecutorCudaPresets::presets() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  const auto made = generated(preset.toStdString(), {}, collective);
  QVERIFY2(made, describe(made ? Error{} : made.error()).c_str());
  for (const bool inPlace : {true, false}) {
    const auto program = made->lowered(inPlace);
    QVERIFY2(program, describe(program ? Error{} : program.error()).c_str());
    const PlanSet set = plansOf(*program);
    QVERIFY2(set.ok, set.findings.empty() ? "" : describe(set.findings.front()).c_str());
    const auto backend = hostBackend(planOf(set), {});
    const std::int64_t bytes = std::int64_t{planOf(set).rankCount()} * planOf(set).chunksPerPart * 132 + 20;
    const QString fault =
        runAndCheck(*backend, planOf(set),
                    {.type = DataType::int32, .bytes = bytes, .piece = inPlace ? 96 : 512, .rounds = 1}, set.depth);
    QVERIFY2(fault.isEmpty(), qPrintable(fault));
  }
}

QTEST_GUILESS_MAIN(TestExecutorCudaPresets)
#include "tst_executor_cuda_presets.moc"
