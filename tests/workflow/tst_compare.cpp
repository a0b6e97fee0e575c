// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "baselines/baselines.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"
#include "workflow/compare.hpp"
#include "workflow/switch_plan.hpp"

using namespace coppice;
using namespace coppice::workflow;
using test::must;

namespace {

std::shared_ptr<const LoadedFabric> loaded() {
  auto description = must(presets::make("dgx-a100", {{"boxes", "2"}}));
  auto fabric = must(fabric::Fabric::build(description));
  return std::make_shared<const LoadedFabric>(LoadedFabric{std::move(description), std::move(fabric), {}});
}

Method methodNamed(const char* id) {
  Method method;
  method.id = id;
  method.title = id;
  method.collectives = {Collective::allgather};
  return method;
}

std::vector<const Method*> methodsNamed(const std::vector<std::string>& ids) {
  return must(methodsOf(ids, Collective::allgather));
}

}  // namespace

class TestCompare : public QObject {
  Q_OBJECT

private slots:
  void everyMethodTakesPart();
  void frontsTakePart();
  void bandsChangeWhereTheFastestDoes();
  void plansOnlyPrograms();
  void plansForATarget();
  void differentFabrics();
};

/// One that fails, is wrong or takes too long is named with its reason.
void TestCompare::everyMethodTakesPart() {
  Method ring = methodNamed("late");
  ring.front = frontOfOne([](const fabric::Fabric& fabric, const Demand& demand, const OptionValues&,
                             const Progress& progress) -> Result<Made> {
    auto made = baselines::generate("ring", fabric, {.collective = demand.collective, .root = {}}, progress);
    return made ? Result<Made>(Made{.schedule = *std::move(made)}) : made.error();
  });
  Method failing = methodNamed("failing");
  failing.front =
      frontOfOne([](const fabric::Fabric&, const Demand&, const OptionValues&, const Progress&) -> Result<Made> {
        return Error{ErrorCode::infeasible, "not today"};
      });
  Method slow = methodNamed("slow");
  slow.front = frontOfOne(
      [](const fabric::Fabric&, const Demand&, const OptionValues&, const Progress& progress) -> Result<Made> {
        for (;;) {
          throwIfCancelled(progress);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
  auto all = must(methodsOf({}, Collective::allgather));
  all.insert(all.end(), {&ring, &failing, &slow});
  const auto made = must(contendersOfMethods(loaded(), all, {}, {.secondsPerMethod = 5}, {}));
  const auto has = [&](const char* id) {
    return std::any_of(made.contenders.begin(), made.contenders.end(),
                       [&](const Contender& contender) { return contender.playable.name == id; });
  };
  QVERIFY(has("late"));
  QVERIFY(has("forestcoll"));
  QVERIFY(!has("failing"));
  QVERIFY(!has("slow"));
  QStringList reasons;
  for (const Refused& refused : made.refused) {
    reasons << QString::fromStdString(refused.method + ": " + refused.error.message);
  }
  QVERIFY(reasons.contains("failing: not today"));
  QVERIFY(reasons.contains("slow: it exceeded its time limit"));
  for (const Contender& contender : made.contenders) {
    QVERIFY(contender.algbw && contender.bound && *contender.algbw <= *contender.bound);
  }
  const std::vector<std::string> unknown{"nothing"};
  QVERIFY(!methodsOf(unknown, Collective::allgather));
}

/// Of a method that searches a front all schedules take part; where its time ends, those that were found until then.
void TestCompare::frontsTakePart() {
  Method front = methodNamed("front");
  front.options = {{.name = "time",
                    .title = "Time",
                    .help = "Seconds",
                    .kind = OptionKind::integer,
                    .defaultText = "100",
                    .min = 1}};
  front.timeOption = "time";
  std::int64_t seconds = 0;
  front.front = [&seconds](const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                           Wanted wanted, const Progress& progress) -> Result<Front> {
    seconds = values.integer("time").value_or(0);
    if (wanted != Wanted::all) {
      return Error{ErrorCode::infeasible, "not alone"};
    }
    Front found;
    for (const char* name : {"ring", "recursive-doubling"}) {
      auto made = baselines::generate(name, fabric, {.collective = demand.collective, .root = {}}, {});
      if (!made) {
        return made.error();
      }
      found.made.push_back({.schedule = *std::move(made), .name = std::string("front ") + name});
    }
    while (!progress.isCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return found;
  };
  const std::vector<const Method*> fronts{&front};
  const auto made = must(contendersOfMethods(loaded(), fronts, {}, {.secondsPerMethod = 2}, {}));
  QCOMPARE(made.contenders.size(), 2U);
  QVERIFY(made.refused.empty());
  QCOMPARE(made.contenders[0].playable.name, std::string("front ring"));
  QCOMPARE(made.contenders[1].method, std::string("front"));
  QCOMPARE(seconds, std::int64_t{1});
  const std::vector<const Method*> sccl{findMethod("sccl")};
  const auto found = must(contendersOfMethods(loaded(), sccl, {}, {.secondsPerMethod = 4}, {}));
  QVERIFY(found.contenders.size() >= 2);
  for (const Contender& contender : found.contenders) {
    QVERIFY2(contender.playable.name.starts_with("sccl ("), contender.playable.name.c_str());
    QVERIFY(contender.algbw && contender.minTraffic && contender.maxStretch >= 1);
  }
}

void TestCompare::bandsChangeWhereTheFastestDoes() {
  const auto methods = methodsNamed({"forestcoll", "recursive-doubling", "ring"});
  const auto made = must(contendersOfMethods(loaded(), methods, {.collective = Collective::allreduce}, {}, {}));
  const SweepOptions options{.sizes = simulate::sizesOf(1024, std::int64_t{1} << 30, 16), .resolution = 1};
  const Comparison comparison = must(compare(made.contenders, options, {}));
  QCOMPARE(comparison.rows.size(), std::size_t{3});
  QVERIFY(comparison.bands.size() >= 2);
  QCOMPARE(comparison.bands.front().from, std::int64_t{1024});
  for (std::size_t i = 0; i < options.sizes.size(); ++i) {
    for (const auto& rows : comparison.rows) {
      QVERIFY(comparison.rows[comparison.best[i]][i].time <= rows[i].time);
    }
  }
  for (std::size_t band = 1; band < comparison.bands.size(); ++band) {
    const std::int64_t from = comparison.bands[band].from;
    QVERIFY(comparison.bands[band].resolution == 1);
    const auto timeAt = [&](std::size_t contender, std::int64_t bytes) {
      return must(made.contenders[contender].playable.subject->simulate(bytes, {})).row.time;
    };
    const std::size_t after = comparison.bands[band].contender;
    const std::size_t before = comparison.bands[band - 1].contender;
    QVERIFY(timeAt(after, from) <= timeAt(before, from));
    QVERIFY(timeAt(after, from - 1) >= timeAt(before, from - 1));
  }
}

void TestCompare::plansOnlyPrograms() {
  const auto methods = methodsNamed({"forestcoll", "recursive-doubling"});
  const auto made = must(contendersOfMethods(loaded(), methods, {.collective = Collective::allreduce}, {}, {}));
  const SweepOptions options{.sizes = simulate::sizesOf(1024, std::int64_t{1} << 30, 32)};
  const SwitchPlan plan =
      must(switchPlan(made.contenders, must(compare(made.contenders, options, {})), options, Destination{}, {}));
  QVERIFY(!plan.programs.empty());
  std::int64_t next = 1024;
  for (const PlannedProgram& program : plan.programs) {
    QCOMPARE(program.first, next);
    QVERIFY(program.text.find("minBytes=\"" + std::to_string(program.first) + "\"") != std::string::npos);
    QVERIFY(program.text.find("maxBytes=\"" + std::to_string(program.last + 1) + "\"") != std::string::npos);
    next = program.last + 1;
  }
  QCOMPARE(next, (std::int64_t{1} << 30) + 1);
  QCOMPARE(plan.programs.size(), plan.comparison.bands.size());
}

/// Windows follow each other, and no two plans have one name.
void TestCompare::plansForATarget() {
  const auto methods = methodsNamed({"forestcoll"});
  const auto made = must(contendersOfMethods(loaded(), methods, {.collective = Collective::allreduce}, {}, {}));
  const SweepOptions options{.sizes = simulate::sizesOf(1024, std::int64_t{1} << 28, 16)};
  const Destination destination{program::Runtime::mscclpp, findTarget("mscclpp")};
  const SwitchPlan plan =
      must(switchPlan(made.contenders, must(compare(made.contenders, options, {})), options, destination, {}));
  std::int64_t next = 1024;
  std::set<std::string> names;
  for (const PlannedProgram& program : plan.programs) {
    QCOMPARE(program.first, next);
    next = program.last + 1;
    const auto file = must(destination.target->read(program.text, program.name, {}, {}));
    QVERIFY(file.isOk);
    QVERIFY(program.text.find("\"min_message_size\": " + std::to_string(program.first) + ",") != std::string::npos);
    QVERIFY(program.text.find("\"max_message_size\": " + std::to_string(program.last) + ",") != std::string::npos);
    for (const Fact& fact : file.facts) {
      if (fact.key == "name") {
        QVERIFY(names.insert(fact.value.get<std::string>()).second);
      }
    }
  }
  QCOMPARE(next, options.sizes.back() + 1);
  QCOMPARE(names.size(), plan.programs.size());
}

void TestCompare::differentFabrics() {
  const auto methods = methodsNamed({"ring"});
  auto made = must(contendersOfMethods(loaded(), methods, {}, {}, {}));
  auto description = must(presets::make("dgx-a100", {{"boxes", "1"}}));
  auto fabric = must(fabric::Fabric::build(description));
  auto other = must(contendersOfMethods(
      std::make_shared<const LoadedFabric>(LoadedFabric{std::move(description), std::move(fabric), {}}), methods, {},
      {}, {}));
  made.contenders.push_back(std::move(other.contenders.front()));
  const Outcome outcome = requireComparable(made.contenders);
  QVERIFY(!outcome);
  QCOMPARE(outcome.error().code, ErrorCode::badUsage);
}

QTEST_APPLESS_MAIN(TestCompare)
#include "tst_compare.moc"
