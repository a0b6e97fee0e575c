// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// Training steps by coppice-cli train, and the traffic of their experts by moe and alltoall.
namespace {

/// A job that fits one box.
QStringList job(const QStringList& more) {
  return QStringList{"train", "preset:dgx-h100,boxes=1", "--model", "llama-3-8b", "--batch", "16", "--sequence",
                     "2048"} +
         more;
}

}  // namespace

class TestCliTraining : public QObject {
  Q_OBJECT

private slots:
  void unevenAllToAll();
  void frontOfAProblem();
  void meshOfAJob();
  void choosesAPlan();
  void tracesAPlan();
  void comparesFabrics();
  void graphOfTorch();
  void wrongOptions();

private:
  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  QTemporaryDir m_folder;
};

void TestCliTraining::unevenAllToAll() {
  const QStringList layer{"moe", "preset:dgx-h100,boxes=2", "--experts", "32", "--top-k", "2", "--tokens", "1000"};
  const QString demand = path("dispatch.csv");
  const Outcome moe = run(layer + QStringList{"--demand-output", demand, "--json"});
  QCOMPARE(moe.code, 0);
  VERIFY_TOLD(isOneObject(moe.out) && moe.err.isEmpty(), moe);
  const QJsonObject dispatch = moe.json()["dispatch"].toObject();
  QVERIFY(dispatch["exact"].toBool());
  const QString schedule = path("dispatch.schedule.json");
  const Outcome routes = run({"alltoall", "preset:dgx-h100,boxes=2", "--demand", demand, "-o", schedule, "--json"});
  QCOMPARE(routes.code, 0);
  QCOMPARE(routes.json()["demand_nanoseconds"].toString(), dispatch["nanoseconds"].toString());
  QCOMPARE(run({"verify", schedule}).code, 0);
  const Outcome direct = run({"alltoall", "preset:dgx-h100,boxes=2", "--demand", demand, "--direct", "--json"});
  QCOMPARE(direct.json()["demand_nanoseconds"].toString(), dispatch["direct_nanoseconds"].toString());
  VERIFY_TOLD(run(layer).out.contains("no routes are faster"), run(layer));
  for (const QStringList& bad :
       {QStringList{"--max-boxes", "3"}, {"--improve-placement"}, {"--counts", path("absent")}}) {
    QCOMPARE(run(layer + bad).code, 2);
  }
  const Outcome absent = run({"alltoall", "preset:dgx-h100,boxes=2", "--demand", path("absent.csv")});
  QCOMPARE(absent.code, 2);
}

void TestCliTraining::frontOfAProblem() {
  const QString problem = QStringLiteral(COPPICE_TEST_DATA) + "/reference/training/matmul_fsdp_2.json";
  const Outcome outcome = run({"train", "--problem", problem, "--plans", "--json"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(isOneObject(outcome.out) && outcome.err.isEmpty(), outcome);
  const QJsonArray front = outcome.json()["front"].toArray();
  QCOMPARE(front.size(), 2);
  QCOMPARE(front[0].toObject()["communication"].toString(), "4096/25");
  QCOMPARE(front[1].toObject()["communication"].toString(), "6144/25");
  QCOMPARE(front[1].toObject()["memory"].toString(), "32768");
  QVERIFY(front[1].toObject()["nodes"].toObject().contains("w"));
  QCOMPARE(run({"train", "--problem", problem}).code, 0);
  // With a fabric it keeps its own mesh.
  const QStringList train{"train", "preset:dgx-h100,boxes=1", "--model", problem};
  const Outcome same = run(train + QStringList{"--json"});
  VERIFY_TOLD(same.code == 0 && same.json()["mesh"].toString() == "2", same);
  QCOMPARE(same.json()["front"].toArray().size(), 2);
  QCOMPARE(same.json()["front"].toArray()[0].toObject()["communication"].toString(), "4096/25");
  for (const QStringList& bad : {QStringList{"--mesh", "8"}, {"--efficiency", "0.5"}, {"--batch", "8"}}) {
    QCOMPARE(run(train + bad).code, 2);
  }
  QCOMPARE(run({"train", "--problem", path("absent.json")}).code, 2);
}

void TestCliTraining::meshOfAJob() {
  const QStringList mesh{"train", "preset:dgx-h100,boxes=1", "--batch", "16", "--sequence", "4096", "--mesh", "8"};
  const Outcome model = run(mesh + QStringList{"--model", "llama-3-8b", "--json"});
  QCOMPARE(model.code, 0);
  const QJsonObject best = model.json()["best"].toObject();
  VERIFY_TOLD(best["fits"].toBool() && best["mfu"].toDouble() > 0 && best["mfu"].toDouble() <= 1, model);
  QCOMPARE(best["axes"].toArray().size(), 1);
  // Of the peak, whatever part of it is reached.
  const QJsonObject half = run(mesh + QStringList{"--model", "llama-3-8b", "--efficiency", "0.5", "--json"}).json();
  QVERIFY(half["best"].toObject()["mfu"].toDouble() <= 0.5);
  QCOMPARE(run(mesh + QStringList{"--model", "llama-3-70b"}).code, 1);  // 1.1 TB of states
  QCOMPARE(run(mesh + QStringList{"--model", "llama-9"}).code, 2);
  QCOMPARE(run({"train", "preset:dgx-h100,boxes=1", "--mesh", "8"}).code, 2);
}

void TestCliTraining::choosesAPlan() {
  const Outcome choice = run(job({"--recompute", "--tokens", "1B", "--json"}));
  VERIFY_TOLD(choice.code == 0 && isOneObject(choice.out), choice);
  const QJsonObject chosen = choice.json()["best"].toObject();
  VERIFY_TOLD(chosen["tokens_per_second"].toDouble() > 0 && chosen["days"].toDouble() > 0, choice);
  VERIFY_TOLD(chosen["step_ms"].toDouble() >= choice.json()["bound_ms"].toDouble() * 0.999999, choice);
  VERIFY_TOLD(chosen["limited_by"].isString() && !choice.json()["plans"].toArray().isEmpty(), choice);
  VERIFY_TOLD(chosen["gains"].toArray().size() >= 2, choice);
  const double played = chosen["timeline"].toObject()["step_ms"].toDouble();
  VERIFY_TOLD(played >= chosen["step_ms"].toDouble() * 0.999999 &&
                  played <= chosen["step_without_overlap_ms"].toDouble() * 1.000001,
              choice);
  const Outcome fixed = run(job({"--plan", "tp=8"}));
  VERIFY_TOLD(fixed.code == 0 && fixed.out.contains("  tp 8  ") && fixed.out.contains("limited by"), fixed);
}

void TestCliTraining::tracesAPlan() {
  const Outcome traced =
      run(job({"--plan", "dp=8", "--recompute", "--bucket", "100MB", "--no-prefetch", "--trace", path("step.json")}));
  VERIFY_TOLD(traced.code == 0 && traced.out.contains("with this overlap"), traced);
  QFile trace(path("step.json"));
  QVERIFY(trace.open(QIODevice::ReadOnly));
  const QJsonArray events = QJsonDocument::fromJson(trace.readAll()).object()["traceEvents"].toArray();
  QVERIFY(events.size() > 1000 && events.last().toObject()["ph"].toString() == "X");
}

void TestCliTraining::comparesFabrics() {
  const Outcome compared = run(job({"--recompute", "--compare", "preset:dgx-a100,boxes=1", "--json"}));
  const QJsonObject other = compared.json()["compared"].toArray()[0].toObject();
  VERIFY_TOLD(other["best"].toObject()["tokens_per_second"].toDouble() > 0, compared);
  VERIFY_TOLD(other["gpu"] == "a100", compared);
}

void TestCliTraining::graphOfTorch() {
  const QString graph = QStringLiteral(COPPICE_EXAMPLES) + "/mlp.fx.txt";
  const QStringList train{"train", "preset:dgx-h100,boxes=1", "--model", graph};
  const Outcome all = run(train + QStringList{"--json"});
  VERIFY_TOLD(all.code == 0 && isOneObject(all.out) && all.err.isEmpty(), all);
  QCOMPARE(all.json()["parameters"].toArray().size(), 4);
  QCOMPARE(all.json()["meshes"].toArray().size(), 3);  // 8, 4x2, 2x4
  const Outcome axes = run(train + QStringList{"--mesh", "4x2", "--json"});
  VERIFY_TOLD(axes.code == 0 && axes.json()["exact"].toBool(), axes);
  const Outcome mesh = run(train + QStringList{"--mesh", "8", "--plans", "--json"});
  VERIFY_TOLD(mesh.code == 0 && mesh.json()["exact"].toBool(), mesh);
  const QJsonObject plan = mesh.json()["front"].toArray()[0].toObject();
  VERIFY_TOLD(plan["nodes"].toObject()["mm_3"].toObject()["state"].toArray().size() == 1, mesh);
  const Outcome limited = run(train + QStringList{"--mesh", "8"});
  VERIFY_TOLD(limited.code == 0 && limited.out.contains("limited by"), limited);
  const Outcome shown = run({"train", "--problem", graph});
  VERIFY_TOLD(shown.code == 0 && shown.out.contains("mm_3: EINSUM \"acd,cdb->ab\"(where, primals_5) -> [ab]"), shown);
  // As a problem it needs a mesh, and is then the same.
  QJsonObject problem = run({"train", "--problem", graph, "--json"}).json()["problem"].toObject();
  problem["mesh"] = QJsonArray{
      QJsonObject{{"size", 8}, {"allgather", 450}, {"reduce_scatter", 450}, {"allreduce", 225}, {"alltoall", 450}}};
  problem["gflops"] = 989400;
  QFile file(path("graph.json"));
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(QJsonDocument(problem).toJson());
  file.close();
  const Outcome again = run({"train", "--problem", path("graph.json"), "--json"});
  VERIFY_TOLD(again.code == 0, again);
  QCOMPARE(again.json()["front"].toArray()[0].toObject()["compute"].toString(), plan["compute"].toString());
  QCOMPARE(run(train + QStringList{"--batch", "8"}).code, 2);
  QCOMPARE(run(train + QStringList{"--mesh", "8", "--memory", "100000"}).code, 1);
}

void TestCliTraining::wrongOptions() {
  QCOMPARE(run(job({"--gpu", "a100", "--precision", "fp8"})).code, 2);
  QCOMPARE(run(job({"--bucket", "big"})).code, 2);
  QCOMPARE(run(job({"--memory", "2GB"})).code, 1);
  QCOMPARE(run(job({"--plan", "tp=3"})).code, 2);
  QCOMPARE(run(job({"--plan", "xp=2"})).code, 2);
  QCOMPARE(run(job({"--efficiency", "2"})).code, 2);
}

QTEST_GUILESS_MAIN(TestCliTraining)
#include "tst_cli_training.moc"
