// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <map>
#include <memory>

#include "baselines/baselines.hpp"
#include "executor/support.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/collective_file.hpp"
#include "lowering/lowering.hpp"
#include "mscclpp/from_program.hpp"
#include "mscclpp/from_trees.hpp"
#include "mscclpp/plan_backend.hpp"
#include "mscclpp/plan_json.hpp"
#include "mscclpp/plan_shell.hpp"
#include "presets/presets.hpp"
#include "schedule/from_forest.hpp"
#include "verify/custom_goal.hpp"
#include "verify/mscclpp_verifier.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;

namespace {

fabric::Fabric fabricOf(const std::string& preset, const std::map<std::string, std::string>& arguments) {
  return fabric::Fabric::build(presets::make(preset, arguments).value()).value();
}

std::vector<int> boxesIn(const fabric::Fabric& fabric) {
  std::map<std::string, int> numbers;
  std::vector<int> boxes;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    boxes.push_back(numbers.try_emplace(fabric.nodes()[gpu].box, static_cast<int>(numbers.size())).first->second);
  }
  return boxes;
}

/// Runs a plan at one size in three types; empty, or what is wrong.
std::string faultOfRun(const mscclpp::ExecutionPlan& plan, int root,
                       const std::vector<verify::CustomShard>& custom = {}) {
  const auto shared = std::make_shared<const mscclpp::ExecutionPlan>(plan);
  Job job;
  (plan.inPlace ? job.inPlace : job.outOfPlace) = shellOf(*shared, root, custom);
  BenchOptions options;
  options.firstBytes = options.lastBytes = sizeUnit(*shared) * 4;
  options.iterations = 2;
  options.warmup = 1;
  options.calibrates = false;
  options.types = {DataType::float32, DataType::int8, DataType::float16};
  const auto backend = makePlanBackend(shared, 2);
  const Ran ran = runJob(*backend, job, options);
  if (ran.fault().empty() && ran.all<program::ResultRecord>().size() != 3) {
    return "not every type was run";
  }
  return ran.fault();
}

}  // namespace

/// Schedules become execution plans of MSCCL++, which the verifier accepts and which give the right data on threads.
class ExecutionPlansTest : public QObject {
  Q_OBJECT

private slots:
  void runs_data();
  void runs();
  void runsBySwitches_data();
  void runsBySwitches();
  void runsUnequalShares_data();
  void runsUnequalShares();
  void runsCustomCollective();
  void runsRootedShares_data();
  void runsRootedShares();
  void refusesSwitches_data();
  void refusesSwitches();
  void tellsSizesThatItCannotCut();
  void stopsWhereNothingMoves();
};

void ExecutionPlansTest::runs_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<int>("collective");
  for (const auto& [preset, boxes] : std::vector<std::pair<const char*, const char*>>{
           {"dgx1-v100", "1"}, {"dgx-a100", "2"}, {"mi250", "1"}, {"azure-ndv2", "2"}, {"fig-4-5", ""}}) {
    for (const Collective collective : kForestCollectives) {
      QTest::newRow((std::string(preset) + " " + std::string(toString(collective))).c_str())
          << QString(preset) << QString(boxes) << static_cast<int>(collective);
    }
  }
}

void ExecutionPlansTest::runs() {
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(int, collective);
  std::map<std::string, std::string> arguments;
  if (!boxes.isEmpty()) {
    arguments["boxes"] = boxes.toStdString();
  }
  const fabric::Fabric fabric = fabricOf(preset.toStdString(), arguments);
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  request.plainSwitches = true;
  if (isRooted(request.collective)) {
    request.root = fabric.gpuCount() / 3;
  }
  const schedule::Schedule schedule = forestcoll::generate(fabric, request).value().schedule;
  for (const program::Protocol protocol : {program::Protocol::simple, program::Protocol::ll}) {
    for (const bool inPlace : {false, true}) {
      const std::string title =
          std::string(program::toString(protocol)) + (inPlace ? " in place: " : " out of place: ");
      const auto program = lowering::lower(
          fabric, schedule, {.runtime = program::Runtime::mscclpp, .protocol = protocol, .inPlace = inPlace});
      QVERIFY2(program.hasValue(), program ? "" : (title + describe(program.error())).c_str());
      const auto written = mscclpp::fromProgram(*program, {.boxOf = boxesIn(fabric)});
      QVERIFY2(written.hasValue(), written ? "" : (title + describe(written.error())).c_str());
      const auto plan = mscclpp::readPlan(mscclpp::writePlan(*written));
      QVERIFY2(plan.hasValue(), plan ? "" : (title + describe(plan.error())).c_str());
      QVERIFY(*plan == *written);
      const auto verdict = verify::verifyExecutionPlan(*plan);
      QVERIFY(verdict.hasValue());
      QVERIFY2(verdict->ok, (title + firstError(verdict->findings)).c_str());
      QCOMPARE(verdict->root, schedule.root.value_or(-1));

      const std::string fault = faultOfRun(*plan, verdict->root);
      QVERIFY2(fault.empty(), (title + fault).c_str());
    }
  }
}

void ExecutionPlansTest::runsBySwitches_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<QString>("gpus");
  QTest::addColumn<int>("instances");
  QTest::newRow("one box") << "dgx-h100"
                           << "1"
                           << "" << 1;
  QTest::newRow("one box, four instances") << "dgx-h100"
                                           << "1"
                                           << "" << 4;
  QTest::newRow("two boxes") << "dgx-h100"
                             << "2"
                             << "" << 1;
  QTest::newRow("three boxes") << "dgx-h100"
                               << "3"
                               << "" << 1;
  QTest::newRow("four boxes") << "dgx-h100"
                              << "4"
                              << "" << 1;
  QTest::newRow("more peers than channels") << "gb200-nvl72"
                                            << "1"
                                            << "20" << 1;
}

void ExecutionPlansTest::runsBySwitches() {
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(QString, gpus);
  QFETCH(int, instances);
  std::map<std::string, std::string> arguments{{"boxes", boxes.toStdString()}, {"nvls", "true"}};
  if (!gpus.isEmpty()) {
    arguments = {{"racks", boxes.toStdString()}, {"nvls", "true"}, {"gpus", gpus.toStdString()}};
  }
  const fabric::Fabric fabric = fabricOf(preset.toStdString(), arguments);
  const schedule::Schedule schedule =
      forestcoll::generate(fabric, {.collective = Collective::allreduce}).value().schedule;
  for (const bool inPlace : {true, false}) {
    const std::string title = inPlace ? "in place: " : "out of place: ";
    const auto written = mscclpp::fromTrees(
        fabric, schedule, {.boxOf = boxesIn(fabric), .inPlace = inPlace, .instances = instances, .name = "switches"});
    QVERIFY2(written.hasValue(), written ? "" : (title + describe(written.error())).c_str());
    const auto plan = mscclpp::readPlan(mscclpp::writePlan(*written));
    QVERIFY2(plan.hasValue(), plan ? "" : (title + describe(plan.error())).c_str());
    QVERIFY(*plan == *written);
    const auto verdict = verify::verifyExecutionPlan(*plan);
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok, (title + firstError(verdict->findings)).c_str());
    const std::string fault = faultOfRun(*plan, -1);
    QVERIFY2(fault.empty(), (title + fault).c_str());
  }
}

void ExecutionPlansTest::runsUnequalShares_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("bySteps");
  QTest::addColumn<int>("instances");
  QTest::addColumn<bool>("someHaveNone");
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
    for (const bool bySteps : {false, true}) {
      for (const int instances : {1, 2}) {
        QTest::addRow("%s, %s, %d", std::string(toString(collective)).c_str(), bySteps ? "steps" : "trees", instances)
            << static_cast<int>(collective) << bySteps << instances << (instances == 2);
      }
    }
  }
}

void ExecutionPlansTest::runsUnequalShares() {
  QFETCH(int, collective);
  QFETCH(bool, bySteps);
  QFETCH(int, instances);
  QFETCH(bool, someHaveNone);
  const fabric::Fabric fabric = fabricOf("azure-ndv2", {{"boxes", "1"}});
  // The first and the last of those without data have no chunk behind or before them.
  const std::vector<std::int64_t> amounts = someHaveNone ? std::vector<std::int64_t>{3, 1, 0, 1, 1, 4, 1, 0}
                                                         : std::vector<std::int64_t>{3, 1, 2, 1, 1, 4, 1, 2};
  forestcoll::Request request{.collective = static_cast<Collective>(collective)};
  request.amounts = amounts;
  request.plainSwitches = true;
  const schedule::Schedule forests = forestcoll::generate(fabric, request).value().schedule;
  const schedule::AnySchedule schedule =
      bySteps ? schedule::AnySchedule(schedule::stepScheduleOf(fabric, forests).value()) : forests;
  for (const program::Protocol protocol : {program::Protocol::simple, program::Protocol::ll}) {
    for (const bool inPlace : {false, true}) {
      const std::string title =
          std::string(program::toString(protocol)) + (inPlace ? " in place: " : " out of place: ");
      const auto program = lowering::lower(
          fabric, schedule,
          {.runtime = program::Runtime::mscclpp, .protocol = protocol, .inPlace = inPlace, .instances = instances});
      QVERIFY2(program.hasValue(), program ? "" : (title + describe(program.error())).c_str());
      const auto plan = mscclpp::fromProgram(*program, {.boxOf = boxesIn(fabric), .amounts = amounts});
      QVERIFY2(plan.hasValue(), plan ? "" : (title + describe(plan.error())).c_str());
      const mscclpp::Gpu& first = plan->gpus[0];
      const mscclpp::Gpu& second = plan->gpus[1];
      const bool gathers = request.collective == Collective::allgather;
      QCOMPARE(gathers ? first.inputChunks : first.outputChunks,
               3 * (gathers ? second.inputChunks : second.outputChunks));
      QCOMPARE(plan->gpus[7].hasNoShare, someHaveNone);
      QVERIFY(mscclpp::readPlan(mscclpp::writePlan(*plan)).value() == *plan);
      const auto verdict = verify::verifyExecutionPlan(*plan);
      QVERIFY(verdict.hasValue());
      QVERIFY2(verdict->ok, (title + firstError(verdict->findings)).c_str());
      const std::string fault = faultOfRun(*plan, -1);
      QVERIFY2(fault.empty(), (title + fault).c_str());
    }
  }
  // MSCCL's calls give every rank the same.
  QVERIFY(!lowering::lower(fabric, schedule, {}));
}

/// What is computed stands in a table beside the plan.
void ExecutionPlansTest::runsCustomCollective() {
  program::Program program = readProgram("custom.xml");
  program.collective = Collective::custom;  // as lowering says it; files name it in words
  program.collectiveText.clear();
  const auto table =
      io::readGoal(readText(std::string(COPPICE_TEST_DATA) + "/executor/custom.csv"), "custom.csv", 4, nullptr);
  const auto rows = verify::customGoal(table.value(), 4, program.chunksPerLoop);
  for (const program::Protocol protocol : {program::Protocol::simple, program::Protocol::ll}) {
    program.protocol = protocol;
    const auto plan = mscclpp::fromProgram(program, {.boxOf = {0, 0, 1, 1}});
    QVERIFY2(plan.hasValue(), plan ? "" : describe(plan.error()).c_str());
    QVERIFY(!verify::verifyExecutionPlan(*plan)->isResultJudged);
    const auto verdict = verify::verifyExecutionPlan(*plan, {.custom = rows.value()});
    QVERIFY2(verdict->ok && verdict->isResultJudged, firstError(verdict->findings).c_str());
    const std::string fault = faultOfRun(*plan, -1, rows.value());
    QVERIFY2(fault.empty(), fault.c_str());
  }
  const auto plan = mscclpp::fromProgram(program, {.boxOf = {0, 0, 1, 1}});
  // Another table.
  std::vector<verify::CustomShard> others = rows.value();
  std::swap(others.front().destinations, others.back().destinations);
  QVERIFY(!verify::verifyExecutionPlan(*plan, {.custom = others})->ok);
  QVERIFY(!faultOfRun(*plan, -1, others).empty());
}

void ExecutionPlansTest::runsRootedShares_data() {
  QTest::addColumn<int>("collective");
  QTest::newRow("gather") << static_cast<int>(Collective::gather);
  QTest::newRow("scatter") << static_cast<int>(Collective::scatter);
}

void ExecutionPlansTest::runsRootedShares() {
  QFETCH(int, collective);
  const fabric::Fabric fabric = fabricOf("azure-ndv2", {{"boxes", "2"}});
  const auto made =
      baselines::generate("direct", fabric, {.collective = static_cast<Collective>(collective), .root = 3});
  const program::Program program =
      lowering::lower(fabric, made.value(), {.runtime = program::Runtime::mscclpp, .inPlace = false}).value();
  const auto plan = mscclpp::fromProgram(program, {.boxOf = boxesIn(fabric)});
  QVERIFY2(plan.hasValue(), plan ? "" : describe(plan.error()).c_str());
  for (const int root : {3, -1}) {
    const auto verdict = verify::verifyExecutionPlan(*plan, {.root = root});
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok, firstError(verdict->findings).c_str());
    QCOMPARE(verdict->root, 3);
  }
  QVERIFY(!verify::verifyExecutionPlan(*plan, {.root = 2})->ok);
  const std::string fault = faultOfRun(*plan, 3);
  QVERIFY2(fault.empty(), fault.c_str());
}

void ExecutionPlansTest::refusesSwitches_data() {
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<bool>("plain");
  QTest::addColumn<QString>("says");
  QTest::newRow("no capable switch") << "boxes=1,nvls=false"
                                     << "allreduce" << false << "no switch of this fabric copies and sums";
  QTest::newRow("switches are not used") << "boxes=1,nvls=true"
                                         << "allreduce" << true << "no tree of this schedule";
  QTest::newRow("another collective") << "boxes=1,nvls=true"
                                      << "allgather" << false << "for allreduce, not for allgather";
  QTest::newRow("switches of the network") << "boxes=4,sharp=true"
                                           << "allreduce" << false << "not SHARP of a network";
}

void ExecutionPlansTest::refusesSwitches() {
  QFETCH(QString, arguments);
  QFETCH(QString, collective);
  QFETCH(bool, plain);
  QFETCH(QString, says);
  std::map<std::string, std::string> words;
  for (const QString& word : arguments.split(',')) {
    words[word.section('=', 0, 0).toStdString()] = word.section('=', 1).toStdString();
  }
  const fabric::Fabric fabric = fabricOf("dgx-h100", words);
  forestcoll::Request request{.collective = parseCollective(collective.toStdString()).value()};
  request.plainSwitches = plain;
  const schedule::Schedule schedule = forestcoll::generate(fabric, request).value().schedule;
  const auto plan = mscclpp::fromTrees(fabric, schedule, {.boxOf = boxesIn(fabric), .name = "switches"});
  QVERIFY(!plan);
  QVERIFY2(plan.error().message.find(says.toStdString()) != std::string::npos, describe(plan.error()).c_str());
  QVERIFY(!plan.error().fix.empty());
}

/// One rank that copies its input.
mscclpp::ExecutionPlan copying() {
  return {.name = "copy",
          .collective = "allreduce",
          .gpus = {{.inputChunks = 3,
                    .outputChunks = 3,
                    .semaphores = {0},
                    .blocks = {{.ops = {{.type = mscclpp::OpType::copy,
                                         .sources = {{.buffer = program::Buffer::input, .size = 3}},
                                         .destinations = {{.buffer = program::Buffer::output, .size = 3}}}}}}}}};
}

void ExecutionPlansTest::tellsSizesThatItCannotCut() {
  const auto plan = std::make_shared<const mscclpp::ExecutionPlan>(copying());
  QCOMPARE(sizeUnit(*plan), std::int64_t{48});
  Job job;
  job.outOfPlace = shellOf(*plan, -1);
  BenchOptions options;
  options.calibrates = false;
  options.firstBytes = options.lastBytes = 3 * 20;
  const auto backend = makePlanBackend(plan, 1);
  const Ran ran = runJob(*backend, job, options);
  QVERIFY2(ran.fault().find("multiples of 48 bytes") != std::string::npos ||
               ran.end.reason.find("chunks of 20 bytes") != std::string::npos,
           ran.fault().c_str());
}

void ExecutionPlansTest::stopsWhereNothingMoves() {
  mscclpp::ExecutionPlan hanging = copying();
  hanging.gpus[0].blocks[0].ops.push_back({.type = mscclpp::OpType::semAcquire, .semaphores = {0}});
  const auto plan = std::make_shared<const mscclpp::ExecutionPlan>(hanging);
  Job job;
  job.outOfPlace = shellOf(*plan, -1);
  BenchOptions options;
  options.calibrates = false;
  options.firstBytes = options.lastBytes = 48;
  options.stallSeconds = 0.2;
  const auto backend = makePlanBackend(plan, 1);
  const Ran ran = runJob(*backend, job, options);
  QVERIFY(ran.end.exit == program::RunExit::hang);
  QVERIFY2(ran.end.reason.find("operation 1 (sem_acquire)") != std::string::npos, ran.end.reason.c_str());
}

QTEST_APPLESS_MAIN(ExecutionPlansTest)
#include "tst_execution_plans.moc"
