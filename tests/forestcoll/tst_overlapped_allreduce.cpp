// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "forestcoll/forestcoll.hpp"
#include "presets/presets.hpp"
#include "random_fabrics.hpp"
#include "schedule/from_forest.hpp"
#include "schedule/to_forest.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/step_verifier.hpp"

/// Allreduce by in-trees and out-trees at the same time, against its bound and the verifier.
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

/// As transfers, and back as trees whose halves overlap, the schedule is as fast. Empty, or what is wrong.
std::string stepFault(const fabric::Fabric& fabric, const schedule::Schedule& made) {
  const auto steps = schedule::stepScheduleOf(fabric, made);
  if (!steps || steps->stepCount != 1 || steps->algbw != made.algbw) {
    return steps ? "the transfers have " + std::to_string(steps->stepCount) + " phases" : describe(steps.error());
  }
  const auto checked = verify::verifySteps(fabric, *steps);
  if (!checked || !checked->ok) {
    return "the transfers are not verified";
  }
  auto trees = schedule::forestOf(fabric, *steps);
  if (!trees) {
    return describe(trees.error());
  }
  if (!trees->overlapped || trees->algbw != made.algbw) {
    return "the trees reach " + toFraction(trees->algbw) + " of " + toFraction(made.algbw);
  }
  trees->bound = made.bound;
  trees->allreduceBound = made.bound;
  const auto verdict = verify::verifySchedule(fabric, *trees);
  return verdict && verdict->ok ? std::string() : verdict ? verdict->findings.front().text : describe(verdict.error());
}

const forestcoll::Request kAllreduce{.collective = Collective::allreduce};
const forestcoll::Request kOverlapped{.collective = Collective::allreduce, .overlap = forestcoll::Overlap::always};
const forestcoll::Request kHalves{.collective = Collective::allreduce, .overlap = forestcoll::Overlap::never};

}  // namespace

class TestOverlappedAllreduce : public QObject {
  Q_OBJECT

private slots:
  void leafOfOneTree();
  void neverSlowerThanTwoHalves_data();
  void neverSlowerThanTwoHalves();
  void randomFabrics();
  void onlyWhereItMay();
};

/// The narrow GPU sends its data once and gets the sum once: 1 GB/s, where its shard of a reduce-scatter and allgather
/// takes 3/4.
void TestOverlappedAllreduce::leafOfOneTree() {
  const fabric::Fabric fabric = built(narrowLeaf());
  QVERIFY(forestcoll::optimum(fabric, kHalves)->algbw == Bandwidth(3, 4));
  const auto made = forestcoll::generate(fabric, kAllreduce);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QVERIFY2(made->schedule.algbw == Bandwidth(1), toFraction(made->schedule.algbw).c_str());
  const auto verdict = verify::verifySchedule(fabric, made->schedule);
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
  const auto made = forestcoll::generate(fabric, kOverlapped);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QVERIFY(made->schedule.overlapped);
  QVERIFY(made->schedule.algbw >= forestcoll::optimum(fabric, kHalves)->algbw);
  const auto verdict = verify::verifySchedule(fabric, made->schedule);
  QVERIFY2(verdict && verdict->ok, preset.toUtf8());
  QCOMPARE(QString::fromStdString(stepFault(fabric, made->schedule)), QString());
}

void TestOverlappedAllreduce::randomFabrics() {
  int faster = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    const fabric::Fabric fabric = built(test::randomFabric(
        {.gpus = 2 + int(seed % 5), .switches = int(seed % 4), .largestBandwidth = 9, .duplex = seed % 3 != 0}, seed));
    const std::string what = "seed " + std::to_string(seed);
    const auto halves = forestcoll::optimum(fabric, kHalves);
    QVERIFY2(halves && halves->allreduceLimit && halves->allreduceLimit->isExact, what.c_str());
    const auto made = forestcoll::generate(fabric, kOverlapped);
    QVERIFY2(made.hasValue(), (what + ": " + (made ? "" : describe(made.error()))).c_str());
    QVERIFY2(made->schedule.overlapped, what.c_str());
    QVERIFY2(made->schedule.algbw == halves->allreduceLimit->algbw, what.c_str());
    QVERIFY2(made->schedule.algbw >= halves->algbw, what.c_str());
    faster += made->schedule.algbw > halves->algbw ? 1 : 0;
    const auto verdict = verify::verifySchedule(fabric, made->schedule);
    QVERIFY2(verdict.hasValue(), what.c_str());
    const std::string fault = verdict->findings.empty() ? std::string() : verdict->findings.front().text;
    QVERIFY2(verdict->ok, (what + ": " + fault).c_str());
    const std::string treeProblem = stepFault(fabric, made->schedule);
    QVERIFY2(treeProblem.empty(), (what + ": " + treeProblem).c_str());
  }
  qInfo("%d of 150 are faster than reduce-scatter then allgather", faster);
  QVERIFY(faster > 0);
}

/// Without work for the program, and where the trees have limits, an allreduce is a reduce-scatter and then an
/// allgather.
void TestOverlappedAllreduce::onlyWhereItMay() {
  const fabric::Fabric fabric = built(narrowLeaf());
  forestcoll::Request request = kOverlapped;
  request.allreduceBudget = {};
  const auto noWork = forestcoll::generate(fabric, request);
  QVERIFY(noWork && !noWork->schedule.overlapped && noWork->schedule.algbw == Bandwidth(3, 4));
  for (const forestcoll::Request& limited :
       {forestcoll::Request{.collective = Collective::allreduce, .fixedK = 2},
        forestcoll::Request{.collective = Collective::allreduce, .maxHeight = 3}, kHalves}) {
    const auto made = forestcoll::generate(fabric, limited);
    QVERIFY(made && !made->schedule.overlapped);
    QVERIFY(made->schedule.algbw <= Bandwidth(3, 4));
    QVERIFY(made->schedule.allreduceBound == Bandwidth(1));
  }
}

QTEST_APPLESS_MAIN(TestOverlappedAllreduce)
#include "tst_overlapped_allreduce.moc"
