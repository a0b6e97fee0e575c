// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "forestcoll/forestcoll.hpp"
#include "forestcoll/overlapped_allreduce.hpp"
#include "lp/allreduce_bound.hpp"
#include "presets/presets.hpp"
#include "random_fabrics.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/to_forest.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/step_verifier.hpp"

/// Allreduce by in-trees and out-trees at the same time, against the linear program and the verifier.
using namespace coppice;
using test::built;

namespace {

/// Two GPUs with a wide link, and a third behind a narrow one.
fabric::Description narrowLeaf() {
  fabric::Description description;
  for (const char* id : {"a", "b", "c"}) {
    fabric::NodeDescription node;
    node.id = id;
    node.kind = "gpu";
    description.nodes.push_back(node);
  }
  for (const auto& [from, to, bandwidth] : {std::tuple("a", "b", "10"), std::tuple("a", "c", "1")}) {
    fabric::LinkDescription link;
    link.src = from;
    link.dst = to;
    link.bandwidth = bandwidth;
    link.duplex = true;
    description.links.push_back(link);
  }
  return description;
}

/// As trees whose halves overlap, and back as transfers, the schedule is as fast. Empty, or what is wrong.
std::string treeFault(const fabric::Fabric& fabric, const schedule::StepSchedule& steps) {
  auto trees = schedule::forestOf(fabric, steps);
  if (!trees) {
    return describe(trees.error());
  }
  if (!trees->overlapped || trees->algbw != steps.algbw) {
    return "the trees reach " + toFraction(trees->algbw) + " of " + toFraction(steps.algbw);
  }
  trees->bound = steps.algbw;
  trees->allreduceBound = steps.algbw;
  const auto verdict = verify::verifySchedule(fabric, *trees);
  if (!verdict || !verdict->ok) {
    return verdict ? verdict->findings.front().text : describe(verdict.error());
  }
  const auto again = schedule::stepScheduleOf(fabric, *trees);
  if (!again || again->stepCount != 1 || again->algbw != steps.algbw) {
    return again ? "the transfers have " + std::to_string(again->stepCount) + " phases" : describe(again.error());
  }
  const auto checked = verify::verifySteps(fabric, *again);
  return checked && checked->ok ? std::string() : "the transfers are not verified";
}

const forestcoll::Request kAllreduce{.collective = Collective::allreduce};

}  // namespace

class TestOverlappedAllreduce : public QObject {
  Q_OBJECT

private slots:
  void leafOfOneTree();
  void neverSlowerThanTwoHalves_data();
  void neverSlowerThanTwoHalves();
  void randomFabrics();
  void refuses();
};

/// The narrow GPU sends its data once and gets the sum once: 1 GB/s, where its shard of a reduce-scatter and allgather
/// takes 3/4.
void TestOverlappedAllreduce::leafOfOneTree() {
  const fabric::Fabric fabric = built(narrowLeaf());
  QVERIFY(forestcoll::optimum(fabric, kAllreduce)->algbw == Bandwidth(3, 4));
  const auto made = forestcoll::overlapAllreduce(fabric, kAllreduce);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QVERIFY2(made->schedule.algbw == Bandwidth(1), toFraction(made->schedule.algbw).c_str());
  const auto verdict = verify::verifySteps(fabric, made->schedule);
  QVERIFY(verdict && verdict->ok);
}

void TestOverlappedAllreduce::neverSlowerThanTwoHalves_data() {
  QTest::addColumn<QString>("preset");
  for (const char* preset : {"dgx-a100", "mi250", "dgx1-v100", "ring", "torus", "azure-ndv2"}) {
    QTest::newRow(preset) << preset;
  }
}

void TestOverlappedAllreduce::neverSlowerThanTwoHalves() {
  QFETCH(QString, preset);
  const auto description = presets::make(preset.toStdString(), {});
  QVERIFY2(description.hasValue(), description ? "" : describe(description.error()).c_str());
  const fabric::Fabric fabric = built(*description);
  const auto made = forestcoll::overlapAllreduce(fabric, kAllreduce);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QVERIFY(made->schedule.algbw >= forestcoll::optimum(fabric, kAllreduce)->algbw);
  const auto verdict = verify::verifySteps(fabric, made->schedule);
  QVERIFY2(verdict && verdict->ok, preset.toUtf8());
  QCOMPARE(QString::fromStdString(treeFault(fabric, made->schedule)), QString());
}

void TestOverlappedAllreduce::randomFabrics() {
  int faster = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric(
        {.gpus = 2 + int(seed % 5), .switches = int(seed % 4), .largestBandwidth = 9, .duplex = seed % 3 != 0}, seed));
    const std::string what = "seed " + std::to_string(seed);
    const auto halves = forestcoll::optimum(fabric, kAllreduce);
    const auto bound = lp::allreduceBound(fabric);
    QVERIFY2(halves && bound, what.c_str());
    const auto made = forestcoll::overlapAllreduce(fabric, kAllreduce);
    if (!made) {
      QVERIFY2(made.error().code == ErrorCode::limit && bound->status != lp::BoundStatus::exact,
               (what + ": " + describe(made.error())).c_str());
      continue;
    }
    QVERIFY2(made->schedule.algbw == bound->algbw, what.c_str());
    QVERIFY2(made->schedule.algbw >= halves->algbw, what.c_str());
    faster += made->schedule.algbw > halves->algbw ? 1 : 0;
    const auto verdict = verify::verifySteps(fabric, made->schedule);
    QVERIFY2(verdict.hasValue(), what.c_str());
    const std::string fault = verdict->findings.empty() ? std::string() : verdict->findings.front().text;
    QVERIFY2(verdict->ok, (what + ": " + fault).c_str());
    const std::string treeProblem = treeFault(fabric, made->schedule);
    QVERIFY2(treeProblem.empty(), (what + ": " + treeProblem).c_str());
  }
  qInfo("%d of 150 are faster than reduce-scatter then allgather", faster);
  QVERIFY(faster > 0);
}

void TestOverlappedAllreduce::refuses() {
  const fabric::Fabric fabric = built(narrowLeaf());
  const auto other = forestcoll::overlapAllreduce(fabric, {.collective = Collective::allgather});
  QVERIFY(!other && other.error().code == ErrorCode::badUsage);
  const auto noTime =
      forestcoll::overlapAllreduce(fabric, {.collective = Collective::allreduce, .allreduceBudget = {}});
  QVERIFY(!noTime && noTime.error().code == ErrorCode::limit);
}

QTEST_APPLESS_MAIN(TestOverlappedAllreduce)
#include "tst_overlapped_allreduce.moc"
