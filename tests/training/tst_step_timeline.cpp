// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <numeric>

#include "training/step_timeline.hpp"

using namespace coppice;
using namespace coppice::training;

namespace {

StepDemand smallDemand(std::int64_t experts, bool mayRecompute, std::int64_t memory) {
  StepDemand demand;
  demand.model = {"small", 4, 128, 4, 2, 32, 256, 512, true, experts, 2};
  demand.job = {.batch = 8, .sequence = 64, .stateBytes = 16, .mayRecompute = mayRecompute};
  demand.gflops = 1000;
  demand.memory = Rational(memory);
  return demand;
}

PricedLayout pricedAt(const Layout& layout, std::int64_t rate) {
  PricedLayout priced{layout, {}, Rational(rate, 3)};
  for (int role = 0; role < kRoles; ++role) {
    priced.axes[role] = {layout.sizes[role], {Rational(rate), Rational(rate), Rational(rate, 2), Rational(rate, 7)}};
  }
  return priced;
}

/// Plans of all layouts and numbers of micro-batches.
std::vector<StepPlan> plansOf(StepDemand demand, std::int64_t gpus, std::int64_t rate) {
  std::vector<StepPlan> plans;
  for (const Layout& layout : layoutsOf(demand.model, demand.job, gpus, {.fixed = {}, .leastTokens = 32})) {
    if (layout.order.back() != kPipeline || layout.order.front() != static_cast<int>(Role::tensor)) {
      continue;  // the order changes the rates, which are given here
    }
    for (const std::int64_t microBatches : microBatchesOf(demand.job, layout)) {
      demand.microBatches = microBatches;
      auto answer = bestStep(demand, pricedAt(layout, rate), nullptr, {});
      if (answer && answer->best) {
        plans.push_back(*std::move(answer->best));
      }
    }
  }
  return plans;
}

Ticks sumOf(const std::array<Ticks, kParallelAxes>& exposed) {
  return std::accumulate(exposed.begin(), exposed.end(), Ticks{0});
}

/// A plan whose only communication is that of gradients.
bool onlyReduces(const StepTimeline& timeline) {
  return std::none_of(timeline.events.begin(), timeline.events.end(), [](const StepEvent& each) {
    return each.kind == StepEvent::Kind::communication && each.node >= 0;
  });
}

}  // namespace

class TestStepTimeline : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void everyPlan_data() {
    QTest::addColumn<std::int64_t>("experts");
    QTest::addColumn<bool>("again");
    QTest::addColumn<std::int64_t>("memory");
    QTest::addColumn<std::int64_t>("rate");
    QTest::newRow("slow links") << std::int64_t{0} << false << std::int64_t{1'000'000'000} << std::int64_t{3};
    QTest::newRow("fast links") << std::int64_t{0} << false << std::int64_t{1'000'000'000} << std::int64_t{300};
    QTest::newRow("tight") << std::int64_t{0} << false << std::int64_t{15'000'000} << std::int64_t{30};
    QTest::newRow("computed again") << std::int64_t{0} << true << std::int64_t{10'000'000} << std::int64_t{30};
    QTest::newRow("experts") << std::int64_t{4} << false << std::int64_t{80'000'000} << std::int64_t{30};
    QTest::newRow("experts computed again") << std::int64_t{4} << true << std::int64_t{22'000'000} << std::int64_t{30};
  }
  /// Sums are those of the plan, the length lies between its bounds, and no stream does two things at a time.
  void everyPlan() {
    QFETCH(std::int64_t, experts);
    QFETCH(bool, again);
    QFETCH(std::int64_t, memory);
    QFETCH(std::int64_t, rate);
    const StepDemand demand = smallDemand(experts, again, memory);
    const std::vector<StepPlan> plans = plansOf(demand, 4, rate);
    QVERIFY(plans.size() > 10);
    for (const StepPlan& plan : plans) {
      for (const bool isPrefetched : {true, false}) {
        for (const std::int64_t bucket : {std::int64_t{1}, std::int64_t{100'000}, std::int64_t{1'000'000'000}}) {
          const auto made = timelineOf(demand, plan, {.bucket = bucket, .isPrefetched = isPrefetched}, {});
          QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
          const StepTimeline& timeline = *made;
          const std::string name = plan.priced.layout.text();
          QVERIFY2(timeline.compute == timeline.ticksOf(plan.cost.compute), name.c_str());
          QVERIFY2(timeline.communication == timeline.ticksOf(plan.cost.communication), name.c_str());
          QVERIFY2(timeline.bubble == timeline.ticksOf(plan.bubble), name.c_str());
          QVERIFY2(timeline.length >= std::max(timeline.compute + timeline.bubble, timeline.communication),
                   name.c_str());
          QVERIFY2(timeline.length <= timeline.compute + timeline.bubble + timeline.communication, name.c_str());
          QVERIFY2(sumOf(timeline.exposed) + timeline.compute + timeline.bubble == timeline.length, name.c_str());
          std::array<Ticks, 2> free{};
          for (const StepEvent& event : timeline.events) {
            Ticks& stream = free[event.kind == StepEvent::Kind::communication ? 1 : 0];
            QVERIFY2(event.begin >= stream && event.end >= event.begin, name.c_str());
            stream = event.end;
          }
        }
      }
    }
  }

  /// One bucket for all gradients is reduced after the computation; small ones hide behind it.
  void buckets() {
    const StepDemand demand = smallDemand(0, false, 1'000'000'000);
    int compared = 0;
    for (const StepPlan& plan : plansOf(demand, 2, 300)) {
      const auto whole = timelineOf(demand, plan, {.bucket = 1'000'000'000}, {});
      const auto parts = timelineOf(demand, plan, {.bucket = 1}, {});
      QVERIFY(whole.hasValue() && parts.hasValue());
      if (plan.microBatches == 1 && plan.priced.layout.stages() == 1 && plan.cost.communication.isPositive() &&
          onlyReduces(*whole)) {
        QVERIFY(whole->length == whole->compute + whole->communication);
        QVERIFY(parts->length < whole->length);
        ++compared;
      }
    }
    QVERIFY(compared > 0);
  }

  /// Weights that are divided are there earlier where they are gathered ahead.
  void prefetch() {
    const StepDemand demand = smallDemand(0, false, 6'500'000);
    int shorter = 0;
    for (const StepPlan& plan : plansOf(demand, 4, 30)) {
      const auto ahead = timelineOf(demand, plan, {.isPrefetched = true}, {});
      const auto late = timelineOf(demand, plan, {.isPrefetched = false}, {});
      QVERIFY(ahead.hasValue() && late.hasValue());
      shorter += ahead->length < late->length ? 1 : 0;
    }
    QVERIFY(shorter > 0);
  }

  /// 1F1B of the first of two stages with four micro-batches.
  void order() {
    const StepDemand demand = smallDemand(0, false, 1'000'000'000);
    for (const StepPlan& plan : plansOf(demand, 2, 30)) {
      if (plan.priced.layout.stages() != 2 || plan.microBatches != 4) {
        continue;
      }
      const auto timeline = timelineOf(demand, plan, {}, {});
      QVERIFY(timeline.hasValue());
      QString units;
      for (const StepEvent& event : timeline->events) {
        if (event.kind == StepEvent::Kind::communication) {
          continue;
        }
        const QString unit = event.kind == StepEvent::Kind::bubble
                                 ? QStringLiteral(" -")
                                 : QStringLiteral(" %1%2").arg(event.isBackward ? "B" : "F").arg(event.microBatch);
        units += units.endsWith(unit) ? QString() : unit;
      }
      QCOMPARE(units, QStringLiteral(" F0 F1 - B0 F2 B1 F3 B2 - B3"));
      return;
    }
    QFAIL("no plan of two stages");
  }
};

QTEST_APPLESS_MAIN(TestStepTimeline)
#include "tst_step_timeline.moc"
