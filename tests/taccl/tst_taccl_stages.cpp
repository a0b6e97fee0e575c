// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <stop_token>
#include <string>

#include "coppice/test_paths.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "lp/mixed_program.hpp"
#include "sketch/make_model.hpp"
#include "support/must.hpp"
#include "taccl/problem.hpp"
#include "taccl/send_graph.hpp"
#include "taccl/stages.hpp"
#include "taccl/synthesis.hpp"
#include "verify/plan_check.hpp"

using namespace coppice;
using test::must;

namespace {

std::string textOf(const QString& name) {
  const QString own = QStringLiteral(COPPICE_TEST_DATA "/taccl/") + name;
  const QString file = QFile::exists(own) ? own : QStringLiteral(COPPICE_EXAMPLES "/taccl/") + name;
  return must(io::readFile(file.toStdString()));
}

sketch::Model modelOf(const QString& sketch, const QString& topology) {
  return must(sketch::makeModel(must(io::readTacclSketch(textOf("sketch-" + sketch + ".json"))).value,
                                must(io::readTacclTopology(textOf("topology-" + topology + ".json"))).value))
      .model;
}

QString faultOf(const sketch::Model& model, const sketch::Plan& plan) {
  const auto verdict = verify::checkPlan(model, plan);
  return !verdict      ? QString::fromStdString(describe(verdict.error()))
         : verdict->ok ? QString()
                       : QString::fromStdString(describe(verdict->findings.front()));
}

const taccl::StageReport& stage(const taccl::Synthesis& made, const std::string& name) {
  for (const taccl::StageReport& each : made.stages) {
    if (each.stage == name) {
      return each;
    }
  }
  qFatal("no stage %s", name.c_str());
}

}  // namespace

/// The three stages of the paper with the solver CBC.
class TestTacclStages : public QObject {
  Q_OBJECT

private slots:
  void routesAreOptimal_data();
  void routesAreOptimal();
  void plansAreSound_data();
  void plansAreSound();
  void messagesAreFormed();
  void ordersAreKept();
  void offsetsThatAreNoSymmetryAreNamed();
  void missingSolverIsNamed();
  void failingSolverKeepsTheStart();
  void cancelBeforeRoutes();
};

/// The first stage's optima, as known by hand: the load of a port or of a link, and 0.01 for each connection of the
/// first node.
void TestTacclStages::routesAreOptimal_data() {
  QTest::addColumn<QString>("sketch");
  QTest::addColumn<QString>("topology");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<QString>("makespan");
  QTest::addColumn<double>("cost");
  QTest::newRow("dgx2 direct allgather") << "dgx2-direct-n2"
                                         << "dgx2-1kb"
                                         << "allgather"
                                         << "930" << 927.6;
  QTest::newRow("dgx2 direct alltoall") << "dgx2-direct-n2"
                                        << "dgx2-1kb"
                                        << "alltoall"
                                        << "4480" << 4477.6;
  QTest::newRow("ndv2 allgather 1MB") << "ndv2-relay-n2"
                                      << "ndv2-1mb"
                                      << "allgather"
                                      << "856" << 856.0;
  QTest::newRow("ndv2 allgather 32KB") << "ndv2-relay-n2"
                                       << "ndv2-32kb"
                                       << "allgather"
                                       << "464" << 464.0;
  QTest::newRow("ndv2 full alltoall") << "ndv2-full-n2"
                                      << "ndv2-1kb"
                                      << "alltoall"
                                      << "916" << 916.0;
}

void TestTacclStages::routesAreOptimal() {
  QFETCH(QString, sketch);
  QFETCH(QString, topology);
  QFETCH(QString, collective);
  QFETCH(QString, makespan);
  QFETCH(double, cost);
  if (!lp::findMixedSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  const sketch::Model model = modelOf(sketch, topology);
  const Collective what = *parseCollective(collective.toStdString());
  const auto problem = must(taccl::makeProblem(model, what, 0, {.usesSymmetry = false}));
  const taccl::SendGraph graph = taccl::sendGraphOf(problem);
  taccl::StageOptions options;
  options.goal = model.policy == "uc-max"   ? taccl::ConnectionGoal::more
                 : model.policy == "uc-min" ? taccl::ConnectionGoal::fewer
                                            : taccl::ConnectionGoal::free;
  const auto routing = must(taccl::chooseRoutes(problem, graph, what, 0, options, 200, {}));
  QCOMPARE(QString::fromStdString(routing.report.status), QString("optimal"));
  QCOMPARE(QString::fromStdString(routing.report.makespan.toString()), makespan);
  QVERIFY2(std::abs(*routing.report.cost - cost) < 1e-6, qPrintable(QString::number(*routing.report.cost)));
}

void TestTacclStages::plansAreSound_data() {
  QTest::addColumn<QString>("sketch");
  QTest::addColumn<QString>("topology");
  const auto add = [](const char* sketch, const char* topology) {
    QTest::addRow("%s on %s", sketch, topology) << sketch << topology;
  };
  add("hub-two-switches-n1", "hub");
  add("hub-split-n2", "hub");
  add("ring-minmax-n2", "custom-ring");
  add("ring-maxmin-n3", "custom-ring");
}

void TestTacclStages::plansAreSound() {
  QFETCH(QString, sketch);
  QFETCH(QString, topology);
  if (!lp::findMixedSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  const sketch::Model model = modelOf(sketch, topology);
  for (const Collective collective :
       {Collective::allgather, Collective::allreduce, Collective::alltoall, Collective::reduce, Collective::scatter}) {
    taccl::SynthesisOptions options;
    options.engine = taccl::Engine::stages;
    options.seconds = 2;
    const auto made = must(taccl::synthesize(model, collective, isRooted(collective) ? 1 : 0, options));
    const QString name = QString::fromStdString(std::string(toString(collective)));
    const QString fault = faultOf(model, made.plan);
    QVERIFY2(fault.isEmpty(), qPrintable(name + ": " + fault));
    QCOMPARE(made.stages.size(), collective == Collective::allreduce ? 6U : 3U);
    QVERIFY(made.plan.bound <= made.plan.makespan);
    QVERIFY(stage(made, "scheduling").makespan <= stage(made, "ordering").makespan);
  }
}

/// Messages of several chunks save latencies where there are any.
void TestTacclStages::messagesAreFormed() {
  if (!lp::findMixedSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  const sketch::Model model = modelOf("ndv2-relay-n2", "ndv2-1kb");
  taccl::SynthesisOptions options;
  options.engine = taccl::Engine::stages;
  options.seconds = 40;
  const auto made = must(taccl::synthesize(model, Collective::allgather, 0, options));
  QCOMPARE(faultOf(model, made.plan), QString());
  QVERIFY2(made.plan.makespan < stage(made, "ordering").makespan, made.plan.makespan.toString().c_str());
  QVERIFY(std::any_of(made.plan.messages.begin(), made.plan.messages.end(),
                      [](const sketch::Message& message) { return message.chunks.size() > 1; }));
}

/// Times follow from an order and from what goes together; what cannot be kept is refused.
void TestTacclStages::ordersAreKept() {
  const sketch::Model model = modelOf("ndv2-relay-n2", "ndv2-1mb");
  const auto problem = must(taccl::makeProblem(model, Collective::alltoall, 0, {.usesSymmetry = false}));
  const taccl::SendGraph graph = taccl::sendGraphOf(problem);
  // Ways with the fewest hops.
  taccl::Trees trees(problem.items.size(), -1);
  std::vector<int> queue(problem.firstItem.begin(), problem.firstItem.end() - 1);
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (const int send : graph.out[queue[at]]) {
      const int item = graph.sends[send].item;
      if (trees[item] < 0) {
        trees[item] = send;
        queue.push_back(item);
      }
    }
  }
  const std::vector<int> order = taccl::orderSends(problem, graph, trees, {});
  QCOMPARE(order.size(), taccl::downwards(problem, graph, trees).size());
  std::vector<char> isFirst(trees.size(), 1);
  const auto single = taccl::timetableOf(problem, graph, trees, order, isFirst);
  QVERIFY(single.has_value());
  // All that goes over a link in one message: more than six chunks.
  std::fill(isFirst.begin(), isFirst.end(), char{0});
  QVERIFY(!taccl::timetableOf(problem, graph, trees, order, isFirst).has_value());
}

void TestTacclStages::offsetsThatAreNoSymmetryAreNamed() {
  if (!lp::findMixedSolver()) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  sketch::Model model = modelOf("ndv2-full-n2", "ndv2-1kb");
  model.offsets = {{1, 8}, {8, 16}};
  taccl::SynthesisOptions options;
  options.engine = taccl::Engine::stages;
  options.seconds = 4;
  const auto made = must(taccl::synthesize(model, Collective::alltoall, 0, options));
  QCOMPARE(made.findings.size(), std::size_t{1});
  QVERIFY(QString::fromStdString(made.findings.front().text).contains("[1, 8]"));
  QCOMPARE(faultOf(model, made.plan), QString());
}

void TestTacclStages::missingSolverIsNamed() {
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", "/nowhere");
  const sketch::Model model = modelOf("ring-minmax-n2", "custom-ring");
  taccl::SynthesisOptions options;
  options.engine = taccl::Engine::stages;
  const auto made = taccl::synthesize(model, Collective::allgather, 0, options);
  qputenv("PATH", path);
  QVERIFY(!made);
  QCOMPARE(made.error().code, ErrorCode::unavailable);
}

/// A solver that is stopped too early may claim that nothing is possible.
void TestTacclStages::failingSolverKeepsTheStart() {
  const QTemporaryDir folder;
  QFile file(folder.filePath("cbc"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(
      "#!/bin/sh\nwhile [ \"$1\" != -solution ]; do shift; done\necho 'Infeasible - objective value 3' > \"$2\"\n");
  file.close();
  file.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", folder.path().toUtf8());
  const sketch::Model model = modelOf("ndv2-relay-n2", "ndv2-1kb");
  taccl::SynthesisOptions options;
  options.engine = taccl::Engine::stages;
  const auto made = taccl::synthesize(model, Collective::allgather, 0, options);
  qputenv("PATH", path);
  QVERIFY2(made.hasValue(), made ? "" : describe(made.error()).c_str());
  QCOMPARE(faultOf(model, made->plan), QString());
  for (const char* name : {"routing", "scheduling"}) {
    QCOMPARE(QString::fromStdString(stage(*made, name).status), QString("undecided"));
    QVERIFY(!stage(*made, name).reason.empty());
  }
}

void TestTacclStages::cancelBeforeRoutes() {
  std::stop_source stop;
  stop.request_stop();
  Progress cancelled;
  cancelled.stop = stop.get_token();
  const sketch::Model model = modelOf("dgx2-direct-n2", "dgx2-1kb");
  taccl::SynthesisOptions options;
  options.engine = taccl::Engine::stages;
  const auto made = taccl::synthesize(model, Collective::allgather, 0, options, cancelled);
  QVERIFY(!made);
  QCOMPARE(made.error().code, ErrorCode::cancelled);
}

QTEST_GUILESS_MAIN(TestTacclStages)
#include "tst_taccl_stages.moc"
