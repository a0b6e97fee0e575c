// SPDX-License-Identifier: Apache-2.0
#include <QTemporaryDir>
#include <QTest>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>

#include "base/gpu_names.hpp"
#include "baselines/baselines.hpp"
#include "coppice/test_paths.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "schedule/step_routes.hpp"
#include "support/preset_fabrics.hpp"
#include "support/recorded_events.hpp"
#include "support/sample_schedules.hpp"
#include "workflow/export_program.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/forestcoll_method.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/measured_run.hpp"
#include "workflow/request.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/sizes.hpp"

using namespace coppice;
using namespace coppice::workflow;
using test::presetFabric;

namespace {

/// A method with an option of each kind; its schedules are those of ForestColl with this many trees.
Method trialMethod() {
  Method method;
  method.id = "trial";
  method.title = "Trial";
  method.collectives = {Collective::allgather};
  method.options = {
      {.name = "trees",
       .title = "Trees",
       .help = "Trees per root",
       .kind = OptionKind::integer,
       .defaultText = "1",
       .min = 1,
       .max = 8},
      {.name = "any", .title = "Any", .help = "Any number", .kind = OptionKind::integer, .min = -5},
      {.name = "direction",
       .title = "Direction",
       .help = "Direction",
       .kind = OptionKind::choice,
       .words = {"up", "down"}},
      {.name = "fast", .title = "Fast", .help = "Fast", .kind = OptionKind::flag, .excludes = {"note"}},
      {.name = "note", .title = "Note", .help = "Note"},
      {.name = "wrong", .title = "Wrong", .help = "States a throughput that it has not", .kind = OptionKind::flag}};
  method.front = frontOfOne([](const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                               const Progress& progress) -> Result<Made> {
    forestcoll::Request request = requestOf(demand);
    request.fixedK = values.integer("trees");
    auto generated = forestcoll::generate(fabric, request, progress);
    if (!generated) {
      return generated.error();
    }
    schedule::Schedule schedule = std::move(generated->schedule);
    // Methods other than ForestColl know no bound.
    schedule.bound = {};
    schedule.bottlenecks.clear();
    if (values.flag("wrong")) {
      schedule.algbw = schedule.algbw * Rational(2);
    }
    return Made{.schedule = std::move(schedule)};
  });
  return method;
}

const Method kTrial = trialMethod();

/// The method with one of its claims spoilt.
Method spoilt(const Method& method, const std::function<void(Claims&)>& spoil) {
  Method wrong = method;
  wrong.front = [front = method.front, spoil](const fabric::Fabric& fabric, const Demand& demand,
                                              const OptionValues& values, Wanted wanted,
                                              const Progress& progress) -> Result<Front> {
    auto found = front(fabric, demand, values, wanted, progress);
    if (found) {
      spoil(found->made.back().claims);
    }
    return found;
  };
  return wrong;
}

using Spoil = std::function<void(Claims&)>;

/// An allreduce whose halves overlap, on three GPUs at 10 GB/s round a switch that copies and sums: 10 GB/s, because
/// all data leave g0, as contributions or as copies of its sums.
struct OverlappedStar {
  OverlappedStar() : sample(samples::allreduced(samples::prunedStar())) {
    schedule::Schedule& schedule = sample.schedule;
    schedule.overlapped = true;
    for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      (*forest)->scale = InverseBandwidth(3, 10);
    }
    schedule.algbw = schedule.bound = Bandwidth(10);
    schedule.allreduceBound = schedule.bound;
    schedule.bottlenecks.clear();
    schedule::TreeBoundProof proof;
    proof.bound = Bandwidth(10);
    proof.linkPrice = {1, 0, 0, 0, 0, 0};
    proof.cuts = {{{1, 2, 3}, schedule::Direction::out, 1}, {{0}, schedule::Direction::in, 1}};
    claims.treeBound = std::move(proof);
  }

  [[nodiscard]] Result<Judged> judged() const {
    return requireJudged(sample.fabric, {.schedule = sample.schedule, .claims = claims}, {});
  }

  samples::Sample sample;
  Claims claims;
};
using SpoilStar = std::function<void(OverlappedStar&)>;

}  // namespace

Q_DECLARE_METATYPE(Spoil)
Q_DECLARE_METATYPE(SpoilStar)
Q_DECLARE_METATYPE(Values)

class TestWorkflow : public QObject {
  Q_OBJECT

private slots:
  void optionsAreChecked_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("fault");
    const auto row = [](const char* title, const char* name, const char* value, const char* fault) {
      QTest::newRow(title) << name << value << fault;
    };
    row("least", "trees", "1", "");
    row("largest", "trees", "8", "");
    row("too small", "trees", "0", "0 is out of range; give a number from 1 to 8");
    row("too large", "trees", "9", "9 is out of range; give a number from 1 to 8");
    row("no number", "trees", "many", "\"many\" is not a whole number");
    row("a fraction", "trees", "1.5", "\"1.5\" is not a whole number");
    row("only a sign", "trees", "-", "\"-\" is not a whole number");
    row("64 bits", "any", "9223372036854775807", "");
    row("beyond 64 bits", "any", "9223372036854775808", "does not fit 64 bits");
    row("negative", "any", "-5", "");
    row("too negative", "any", "-6", "-6 is out of range; give -5 or more");
    row("word", "direction", "down", "");
    row("unknown word", "direction", "sideways", "\"sideways\" is not a direction; use up or down");
    row("flag", "fast", "true", "");
    row("flag that is neither", "fast", "perhaps", "\"perhaps\" is neither true nor false");
    row("text", "note", "anything at all", "");
    row("unknown option", "colour", "red", "this method has no such option; it has trees, any, direction");
  }
  void optionsAreChecked() {
    QFETCH(QString, name);
    QFETCH(QString, value);
    QFETCH(QString, fault);
    const auto read = OptionValues::read(kTrial.options, {{name.toStdString(), value.toStdString()}});
    QCOMPARE(static_cast<bool>(read), fault.isEmpty());
    if (!read) {
      QCOMPARE(read.error().code, ErrorCode::badUsage);
      QCOMPARE(QString::fromStdString(toText(read.error().where.element)), "--" + name);
      const QString said = QString::fromStdString(read.error().message + "; " + read.error().fix);
      QVERIFY2(said.contains(fault), qPrintable(said));
    }
  }

  void optionsHaveDefaults() {
    const auto read = OptionValues::read(kTrial.options, {{"any", "-3"}});
    QVERIFY(read);
    QCOMPARE(read->integer("trees"), std::optional<std::int64_t>(1));
    QCOMPARE(read->integer("any"), std::optional<std::int64_t>(-3));
    QVERIFY(!read->flag("fast"));
    QVERIFY(read->text("note").empty());
  }

  void wordsAreReadInAnyCase() {
    const auto read = OptionValues::read(kTrial.options, {{"direction", "Down"}, {"note", "As It Is"}});
    QVERIFY(read);
    QCOMPARE(read->text("direction"), std::string("down"));
    QCOMPARE(read->text("note"), std::string("As It Is"));
    QCOMPARE(findMethod("ForestColl"), findMethod("forestcoll"));
    QVERIFY(findMethod("forestcoll") != nullptr);
  }

  void multiprocessorsByName_data() {
    QTest::addColumn<QString>("names");
    QTest::addColumn<int>("count");
    const auto row = [](const char* names, int count) { QTest::newRow(names) << names << count; };
    row("4x HGX B300", 148);
    row("GB200 NVL72", 148);
    row("2x DGX H100", 132);
    row("H100 NVL in two servers", 114);
    row("coppice allreduce on 2x dgx a100", 108);
    row("DGX-1 V100", 80);
    row("A100 boxes beside V100 boxes", 80);
    row("2x MI250", 104);
    row("my cluster", 108);
    row("dgx-h100_rack", 132);
    row("aws-p5", 132);
  }
  void multiprocessorsByName() {
    QFETCH(QString, names);
    QTEST(namedMultiprocessors(names.toStdString()), "count");
  }

  void optionsThatExcludeEachOther() {
    const auto read = OptionValues::read(kTrial.options, {{"fast", "true"}, {"note", "x"}});
    QVERIFY(!read);
    QVERIFY(read.error().message.find("cannot be combined with --note") != std::string::npos);
  }

  void registry() {
    QCOMPARE(methods().front().id, kDefaultMethod);
    QVERIFY(findMethod("bfb") != nullptr);
    QVERIFY(findMethod("none of these") == nullptr);
    QVERIFY(methodNames().find("forestcoll") != std::string::npos);
  }

  /// A method that knows no bound still gets it, and its schedule is verified against it.
  void anotherMethod() {
    const fabric::Fabric fabric = presetFabric("mi250", {{"boxes", "2"}});
    const auto made = makeSchedule(fabric, kTrial, {}, {{"trees", "2"}}, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    const auto& schedule = std::get<schedule::Schedule>(made->made.schedule);
    QCOMPARE(toFraction(schedule.algbw), std::string("1024/3"));
    QVERIFY(schedule.bound > schedule.algbw);
    QVERIFY(!schedule.bottlenecks.empty());
    QVERIFY(made->verdict.ok);
    QVERIFY(made->verdict.boundProved);
  }

  /// Either form of a schedule comes out of makeSchedule, verified.
  void stepSchedules_data() {
    QTest::addColumn<bool>("isWrong");
    QTest::newRow("good") << false;
    QTest::newRow("one transfer is missing") << true;
  }
  void stepSchedules() {
    QFETCH(bool, isWrong);
    Method method = kTrial;
    method.front = frontOfOne([isWrong](const fabric::Fabric& fabric, const Demand&, const OptionValues&,
                                        const Progress& progress) -> Result<Made> {
      schedule::StepSchedule steps;
      steps.goal = *schedule::CollectiveTable::make(Collective::allgather, fabric.gpuCount());
      steps.fabricName = fabric.name();
      steps.fabricDigest = fabric.digest();
      for (int from = 0; from < fabric.gpuCount(); ++from) {
        for (int to = 0; to < fabric.gpuCount(); ++to) {
          if (from != to && !(isWrong && from == 0 && to == 1)) {
            steps.transfers.add({.shard = from, .begin = 0, .end = 1, .from = from, .to = to});
          }
        }
      }
      if (Outcome routed = schedule::addRoutes(fabric, steps); !routed) {
        return routed.error();
      }
      const auto cost = schedule::stepCost(fabric, steps, progress);
      if (!cost) {
        return cost.error();
      }
      steps.algbw = cost->algbw;
      return Made{.schedule = std::move(steps)};
    });
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "1"}});
    const auto made = makeSchedule(fabric, method, {}, {}, {});
    if (isWrong) {
      QVERIFY(!made);
      QCOMPARE(made.error().code, ErrorCode::verification);
      return;
    }
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    QVERIFY(std::holds_alternative<schedule::StepSchedule>(made->made.schedule));
    QVERIFY(made->stepCost);
    QCOMPARE(made->stepCost->steps, 1);
    QVERIFY(made->bound);
    QVERIFY(*made->bound >= schedule::algbwOf(made->made.schedule));
  }

  /// The baselines are methods too: figures of the ForestColl preprint for two DGX A100.
  void baselines_data() {
    QTest::addColumn<QString>("method");
    QTest::addColumn<QString>("algbw");
    QTest::newRow("multi-ring") << "multi-ring"
                                << "640/3";
  }
  void baselines() {
    QFETCH(QString, method);
    QFETCH(QString, algbw);
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "2"}});
    const Method* found = findMethod(method.toStdString());
    QVERIFY(found != nullptr);
    const auto made = makeSchedule(fabric, *found, {}, {}, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    QCOMPARE(QString::fromStdString(toFraction(schedule::algbwOf(made->made.schedule))), algbw);
    QVERIFY(made->stepCost);
    QCOMPARE(toFraction(*made->bound), std::string("1040/3"));
    const auto refused = makeSchedule(fabric, *found, {.amounts = std::vector<std::int64_t>(16, 2)}, {}, {});
    QVERIFY(!refused);
    QCOMPARE(toText(refused.error().where.element), std::string("--amounts"));
  }

  void wrongSchedulesDoNotLeave() {
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "1"}});
    const auto made = makeSchedule(fabric, kTrial, {}, {{"wrong", "true"}}, {});
    QVERIFY(!made);
    QCOMPARE(made.error().code, ErrorCode::verification);
  }

  /// What a method claims of its schedule is checked with the schedule at every door.
  void wrongClaimsDoNotLeave_data() {
    QTest::addColumn<QString>("method");
    QTest::addColumn<QString>("preset");
    QTest::addColumn<Values>("options");
    QTest::addColumn<Spoil>("spoil");
    const auto row = [](const char* title, const char* method, const char* preset, Values options, Spoil spoil) {
      QTest::newRow(title) << method << preset << std::move(options) << std::move(spoil);
    };
    row("rounds", "sccl", "hypercube", {{"max-steps", "3"}},
        [](Claims& claims) { claims.rounds->unit = *claims.rounds->unit * Rational(2); });
    row("time of a step", "bfb", "torus", {},
        [](Claims& claims) { claims.steps.front().time = claims.steps.front().time * Rational(2); });
    row("number of steps", "bfb", "torus", {}, [](Claims& claims) { claims.steps.pop_back(); });
    row("steps of the trees of steps", "bfb", "torus", {{"trees", "true"}},
        [](Claims& claims) { claims.steps.pop_back(); });
    row("algbw of a rule", "bfb", "torus", {{"by-rule", "true"}},
        [](Claims& claims) { claims.depths->algbw = claims.depths->algbw * Rational(2); });
    row("load of a depth", "bfb", "torus", {{"by-rule", "true"}},
        [](Claims& claims) { claims.depths->atMost.front() = claims.depths->atMost.front() * Rational(1, 2); });
    row("rate of an all-to-all", "alltoall", "torus", {}, [](Claims& claims) {
      auto wrong = std::make_shared<alltoall::Optimum>(*claims.exchange);
      wrong->lower = wrong->lower * Rational(1, 2);
      claims.exchange = wrong;
    });
    row("bound of an all-to-all", "alltoall", "torus", {}, [](Claims& claims) {
      auto wrong = std::make_shared<alltoall::Optimum>(*claims.exchange);
      wrong->upper = wrong->upper * Rational(2);
      claims.exchange = wrong;
    });
    row("makespan of a plan", "taccl", "ring", {{"search-effort", "40"}}, [](Claims& claims) {
      auto wrong = std::make_shared<PlanClaim>(*claims.plan);
      wrong->plan.makespan = wrong->plan.makespan * Rational(2);
      claims.plan = wrong;
    });
  }
  void wrongClaimsDoNotLeave() {
    QFETCH(QString, method);
    QFETCH(QString, preset);
    QFETCH(Values, options);
    QFETCH(Spoil, spoil);
    const fabric::Fabric fabric = presetFabric(preset);
    const Method& honest = *findMethod(method.toStdString());
    const Demand demand{.collective = method == "alltoall" ? Collective::alltoall : Collective::allgather};
    const auto good = makeSchedule(fabric, honest, demand, options, {});
    QVERIFY2(good, good ? "" : describe(good.error()).c_str());
    const auto wrong = makeSchedule(fabric, spoilt(honest, spoil), demand, options, {});
    QVERIFY(!wrong);
    QCOMPARE(wrong.error().code, ErrorCode::verification);
  }

  /// The proof of the bound of trees is checked with the schedule that states it.
  void wrongTreeBounds_data() {
    QTest::addColumn<SpoilStar>("spoil");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* title, const char* message, SpoilStar spoil) {
      QTest::newRow(title) << std::move(spoil) << QString(message);
    };
    row("price", "its price is 1/2", [](OverlappedStar& star) {
      star.claims.treeBound->linkPrice[0] = Rational(1, 2);
      star.claims.treeBound->bound = Bandwidth(5);
    });
    row("weight", "weigh 1/2", [](OverlappedStar& star) { star.claims.treeBound->cuts[0].weight = Rational(1, 2); });
    row("sum of the prices", "the prices of the links give 10",
        [](OverlappedStar& star) { star.claims.treeBound->bound = Bandwidth(12); });
    row("bound of the schedule", "shows a bound of 20 GB/s, the schedule states 10", [](OverlappedStar& star) {
      star.claims.treeBound->linkPrice[0] = 2;
      star.claims.treeBound->bound = Bandwidth(20);
    });
    row("plain switches", "takes all switches as plain",
        [](OverlappedStar& star) { star.claims.plainSwitches = true; });
    row("no allreduce bound", "the schedule states none as the bound of all allreduces",
        [](OverlappedStar& star) { star.sample = samples::allreduced(samples::prunedStar()); });
  }
  void wrongTreeBounds() {
    QFETCH(SpoilStar, spoil);
    QFETCH(QString, message);
    OverlappedStar star;
    const auto good = star.judged();
    QVERIFY2(good, good ? "" : describe(good.error()).c_str());
    QVERIFY(good->verdict.boundProved);
    QCOMPARE(good->bound, std::optional(Bandwidth(10)));
    spoil(star);
    const auto wrong = star.judged();
    QVERIFY(!wrong);
    QCOMPARE(wrong.error().code, ErrorCode::verification);
    QVERIFY2(wrong.error().message.find(message.toStdString()) != std::string::npos, describe(wrong.error()).c_str());
  }

  void treeBounds() {
    OverlappedStar star;
    const auto withoutSchedule = checkClaims(star.sample.fabric, nullptr, star.claims, {});
    QVERIFY(!withoutSchedule && withoutSchedule.error().code == ErrorCode::badInput);
    star.claims.treeBound.reset();
    // Without a claim the bound of all trees is computed and proved.
    const auto judged = star.judged();
    QVERIFY2(judged, judged ? "" : describe(judged.error()).c_str());
    QVERIFY(judged->verdict.boundProved);
    QCOMPARE(judged->bound, std::optional(Bandwidth(10)));

    // Allgather: g0 receives two thirds of the data at 10 GB/s.
    star.sample = samples::prunedStar();
    schedule::TreeBoundProof proof;
    proof.bound = Bandwidth(15);
    proof.linkPrice = {0, 0, 0, Rational(3, 2), 0, 0};
    proof.cuts = {{{0}, schedule::Direction::out, Rational(3, 2)}};
    star.claims.treeBound = std::move(proof);
    const auto gathered = star.judged();
    QVERIFY2(gathered, gathered ? "" : describe(gathered.error()).c_str());
  }

  void collectiveThatAMethodDoesNotMake() {
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "1"}});
    const auto made = makeSchedule(fabric, kTrial, {.collective = Collective::allreduce}, {}, {});
    QVERIFY(!made);
    QCOMPARE(made.error().code, ErrorCode::badUsage);
    QVERIFY(made.error().message.find("allreduce") != std::string::npos);
  }

  void forestCollOptions() {
    const fabric::Fabric fabric = presetFabric("mi250", {{"boxes", "2"}});
    const auto made = makeSchedule(fabric, *findMethod(kDefaultMethod), {}, {{"k", "3"}}, {});
    QVERIFY2(made, made ? "" : describe(made.error()).c_str());
    QCOMPARE(toFraction(std::get<schedule::Schedule>(made->made.schedule).algbw), std::string("2400/7"));
    QVERIFY(made->made.optimum);
    const auto values =
        OptionValues::read(findMethod(kDefaultMethod)->options, {{"max-height", "6"}, {"within", "1%"}});
    QVERIFY(values);
    const auto request = forestCollRequest({.collective = Collective::reduce, .root = 3}, *values);
    QVERIFY(request);
    QCOMPARE(request->root, std::optional<fabric::Rank>(3));
    QCOMPARE(request->maxLoss, std::optional<Rational>(Rational(1, 100)));
    QCOMPARE(request->maxHeight, std::optional<int>(6));
  }

  /// The linear programs behind an allreduce have some work, and more for those who ask for it.
  void allreduceBoundOnRequest() {
    const auto options = findMethod(kDefaultMethod)->options;
    const auto silent = OptionValues::read(options, {});
    QVERIFY(silent);
    const auto quick = forestCollRequest({.collective = Collective::allreduce}, *silent);
    QVERIFY(quick);
    QCOMPARE(quick->allreduceBudget, std::chrono::milliseconds(2000));
    const auto cluster = forestcoll::optimum(presetFabric("dgx-a100", {{"boxes", "2"}}), *quick);
    QVERIFY(cluster);
    QVERIFY(cluster->allreduceLimit && cluster->allreduceLimit->isExact && cluster->allreduceLimit->isReached);
    const auto asked = OptionValues::read(options, {{"allreduce-time", "60"}});
    QVERIFY(asked);
    const auto slow = forestCollRequest({.collective = Collective::allreduce}, *asked);
    QVERIFY(slow);
    QCOMPARE(slow->allreduceBudget, std::chrono::milliseconds(60000));
    fabric::Description ring;
    ring.name = "ring";
    for (const char* id : {"a", "b", "c"}) {
      fabric::NodeDescription node;
      node.id = id;
      node.kind = "gpu";
      ring.nodes.push_back(node);
    }
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "a")}) {
      fabric::LinkDescription link;
      link.src = from;
      link.dst = to;
      link.bandwidth = "1";
      link.duplex = true;
      ring.links.push_back(link);
    }
    const auto built = fabric::Fabric::build(ring);
    QVERIFY(built);
    const auto exact = forestcoll::optimum(*built, *slow);
    QVERIFY(exact && exact->allreduceLimit && exact->allreduceLimit->isExact);
  }

  void demands_data() {
    QTest::addColumn<QString>("collective");
    QTest::addColumn<QString>("root");
    QTest::addColumn<QString>("amounts");
    QTest::addColumn<QString>("element");  ///< empty = good
    QTest::newRow("allgather") << "allgather"
                               << ""
                               << ""
                               << "";
    QTest::newRow("root by rank") << "reduce"
                                  << "7"
                                  << ""
                                  << "";
    QTest::newRow("root by id") << "broadcast"
                                << "b0g3"
                                << ""
                                << "";
    QTest::newRow("amounts") << "reduce_scatter"
                             << ""
                             << "b0g3=2"
                             << "";
    QTest::newRow("unknown collective") << "shuffle"
                                        << ""
                                        << ""
                                        << "--collective";
    QTest::newRow("root of nothing") << "allgather"
                                     << "b0g0"
                                     << ""
                                     << "--root";
    QTest::newRow("root that is not a GPU") << "reduce"
                                            << "b0nvs"
                                            << ""
                                            << "--root";
    QTest::newRow("rank beyond the last") << "reduce"
                                          << "8"
                                          << ""
                                          << "--root";
    QTest::newRow("amounts of allreduce") << "allreduce"
                                          << ""
                                          << "1,2"
                                          << "--amounts";
    QTest::newRow("bad amounts") << "allgather"
                                 << ""
                                 << "1,2"
                                 << "--amounts";
  }
  void demands() {
    QFETCH(QString, collective);
    QFETCH(QString, root);
    QFETCH(QString, amounts);
    QFETCH(QString, element);
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "1"}});
    const auto demand = readDemand(fabric, {collective.toStdString(), root.toStdString(), amounts.toStdString()});
    QCOMPARE(demand ? QString() : QString::fromStdString(toText(demand.error().where.element)), element);
  }

  void sources_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("gpus");
    QTest::addColumn<int>("count");  ///< 0 = refused
    QTest::addColumn<QString>("said");
    QTest::newRow("preset") << "preset:dgx-a100,boxes=2"
                            << "" << 16 << "";
    QTest::newRow("some of it") << "preset:dgx-a100,boxes=2"
                                << "0-3,b1g0" << 5 << "";
    QTest::newRow("no such rank") << "preset:dgx-a100,boxes=1"
                                  << "0-8" << 0 << "is not a range of ranks";
    QTest::newRow("no such GPU") << "preset:dgx-a100,boxes=1"
                                 << "zed" << 0 << "there is no GPU";
    QTest::newRow("parameter twice") << "preset:dgx-a100,boxes=2,boxes=3"
                                     << "" << 0 << "given twice";
    QTest::newRow("no such file") << "there/is/none.fabric.json"
                                  << "" << 0 << "none.fabric.json";
    QTest::newRow("standard input") << "-"
                                    << "" << 64 << "";
  }
  void sources() {
    QFETCH(QString, source);
    QFETCH(QString, gpus);
    QFETCH(int, count);
    QFETCH(QString, said);
    FabricSource asked{.source = source.toStdString(), .gpus = gpus.toStdString()};
    asked.standardInput = [](std::size_t) -> Result<std::string> {
      return io::readFile(std::string(COPPICE_EXAMPLES) + "/torus-4x4x4.fabric.json");
    };
    const auto loaded = loadFabric(asked, {});
    if (count == 0) {
      QVERIFY(!loaded);
      QVERIFY2(QString::fromStdString(describe(loaded.error())).contains(said), describe(loaded.error()).c_str());
      return;
    }
    QVERIFY2(loaded, loaded ? "" : describe(loaded.error()).c_str());
    QCOMPARE(loaded->fabric.gpuCount(), count);
  }

  void standardInputIsAskedFor() {
    const auto loaded = loadFabric({.source = "-"}, {});
    QVERIFY(!loaded);
    QCOMPARE(loaded.error().code, ErrorCode::badUsage);
  }

  void programs() {
    const fabric::Fabric fabric = presetFabric("dgx-a100", {{"boxes", "1"}});
    const auto made = makeSchedule(fabric, *findMethod(kDefaultMethod), {}, {{"k", "1"}}, {});
    QVERIFY(made);
    const auto& schedule = std::get<schedule::Schedule>(made->made.schedule);
    const auto exported = exportProgram(fabric, schedule, {}, "a.xml", {});
    QVERIFY2(exported, exported ? "" : describe(exported.error()).c_str());
    QVERIFY(exported->judgement.ok);
    QCOMPARE(exported->judgement.verdict.ranks, 8);
    QVERIFY(exported->xml.starts_with("<algo"));
    const auto trees = exportTrees(fabric, schedule, {});
    QVERIFY(trees);
    QCOMPARE(scheduleFileKind(*trees), ScheduleFileKind::trees);
    QCOMPARE(scheduleFileKind(exported->xml), ScheduleFileKind::program);
    QVERIFY(!mustStreamTrees(schedule));
    // Without the switch 2 * 2/3 of the data cross each link of 10 GB/s.
    const OverlappedStar star;
    const auto refused = exportProgram(star.sample.fabric, star.sample.schedule, {}, "a.xml", {});
    QVERIFY(!refused && refused.error().code == ErrorCode::unavailable);
    QVERIFY2(refused.error().fix.find("which gives 15/2 = 7.5 GB/s, 75 % of this schedule") != std::string::npos,
             refused.error().fix.c_str());
    const auto tooMany = exportProgram(fabric, schedule, {.instances = 1000}, "a.xml", {});
    QVERIFY(!tooMany);
  }

  void fileKinds_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("kind");
    const auto row = [](const char* title, const char* text, ScheduleFileKind kind) {
      QTest::newRow(title) << QByteArray(text) << static_cast<int>(kind);
    };
    row("nothing", " \n", ScheduleFileKind::none);
    row("schedule", " {\"format\": \"coppice-forest\"", ScheduleFileKind::forest);
    row("fabric", "{\"format\": \"coppice-fabric\"", ScheduleFileKind::none);
    row("trees", "<Algo name='x'>", ScheduleFileKind::trees);
    row("program", "<algo name='x'>", ScheduleFileKind::program);
    row("another element", "<algorithm>", ScheduleFileKind::none);
  }
  void fileKinds() {
    QFETCH(QByteArray, text);
    QFETCH(int, kind);
    QCOMPARE(static_cast<int>(scheduleFileKind(text.toStdString())), kind);
  }

  /// Records of a run and the schedule that was run: the program is the one that coppice-exec makes.
  void measuredRun() {
    const fabric::Fabric fabric = presetFabric("ring", {{"gpus", "4"}});
    auto made = baselines::generate("ring", fabric, {.collective = Collective::allgather, .root = {}}, {});
    QVERIFY(made);
    const schedule::AnySchedule schedule = *std::move(made);
    auto program = executedProgram(fabric, schedule, true, {});
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    const auto shared = std::make_shared<const program::Program>(*std::move(program));
    std::string records = program::writeRecord(program::HelloRecord{});
    records += "login message of the machine\n";
    records += program::writeRecord(program::PlanRecord{.ok = true, .collective = "allgather", .ranks = 4});
    records += program::writeRecord(program::ResultRecord{.size = 4096, .time_us = 12, .algbw_GBps = 0.3});
    records += program::writeRecord(program::ResultRecord{.size = 4096, .inPlace = true, .time_us = 11});
    const auto events =
        test::recordedEvents(*shared, [](const program::StepPlace& place) { return place.rank == 3 ? 9'000 : 1'000; });
    records +=
        program::writeRecord(program::TraceRecord{.size = 4096, .inPlace = true, .events = events, .dropped = 2});
    const auto run = readMeasuredRun(records, "records.jsonl", "allgather");
    QVERIFY2(run, run ? "" : describe(run.error()).c_str());
    QCOMPARE(run->rows.size(), std::size_t{1});
    QCOMPARE(run->rows.front().inPlace->time.count(), 11.0);
    QCOMPARE(run->droppedEvents, std::int64_t{2});
    QCOMPARE(run->traces.size(), std::size_t{1});
    QCOMPARE(run->traces.front().events.size(), events.size());
    QVERIFY(checkSubject(*run, "allgather", 4));
    QVERIFY(!checkSubject(*run, "allreduce", 4));
    QVERIFY(!checkSubject(*run, "allgather", 8));
    const auto compared = compareTrace(fabric, shared, run->traces.front(), {}, {});
    QVERIFY2(compared, compared ? "" : describe(compared.error()).c_str());
    QCOMPARE(compared->comparison.ranks.front().index, 3);
    QVERIFY(compared->comparison.ranks.front().lost() > Microseconds(0));
    // A trace of another schedule is refused with the step that does not exist.
    MeasuredTrace other = run->traces.front();
    other.events.front().threadBlock = 77;
    QVERIFY(!compareTrace(fabric, shared, other, {}, {}));
  }

  void measuredFaults_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("line");
    QTest::newRow("nothing") << QByteArray() << 0;
    QTest::newRow("no result") << QByteArray("{\"t\":\"pong\"}\n") << 0;
    QTest::newRow("broken record") << QByteArray("{\"t\":\"pong\"}\n{\"t\":\"result\"}\n") << 2;
    QTest::newRow("broken table") << QByteArray("1024 256 float sum -1 5.2 x 0.2 0\n") << 1;
  }
  void measuredFaults() {
    QFETCH(QByteArray, text);
    QFETCH(int, line);
    const auto run = readMeasuredRun(text.toStdString(), "r", "allreduce");
    QVERIFY(!run);
    QCOMPARE(run.error().where.line, line);
    QVERIFY(!run.error().fix.empty());
  }

  void bytes() {
    QCOMPARE(parseBytes("64KiB", "x").value(), std::int64_t{65536});
    QCOMPARE(parseBytes("1.5K", "x").value(), std::int64_t{1536});
    QVERIFY(!parseBytes("1.5", "x"));
    QVERIFY(!parseBytes("9999999T", "x"));
    QCOMPARE(byteSize(1536), std::string("1.5 KiB"));
    QVERIFY(parseSizes("pow2,1MiB")->powersOfTwo);
  }
};

QTEST_GUILESS_MAIN(TestWorkflow)
#include "tst_workflow.moc"
