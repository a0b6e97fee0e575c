// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QProcessEnvironment>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "base/rational.hpp"
#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// coppice-cli synthesize, and generate with the methods behind it.
class TestCliSketch : public QObject {
  Q_OBJECT

private slots:
  void tacclAnswersExactly();
  void tacclFilesCanBeUsed();
  void tacclRefusesBadQuestions_data();
  void tacclRefusesBadQuestions();
  void fabricsTakeSketches();
  void nicsAreShared();
  void proposalsChooseTheirChunks();
  void costsWithoutACommonUnit();
  void sizesScaleTheAnswer();
  void interruptedSearchKeepsTheBest();
  void generateProposesASketch();
  void stagesAreReported();
  void stagesNeedTheSolver();
  void filesBecomeAFabricAndComeBack_data();
  void filesBecomeAFabricAndComeBack();
  void changedFabricGetsAProposal();
};

namespace {

const QString kFolder = QStringLiteral(COPPICE_EXAMPLES "/taccl/");

QStringList tacclArguments(const QString& sketch, const QString& topology, const QStringList& more) {
  return QStringList{"synthesize",
                     "--method",
                     "taccl",
                     "--sketch",
                     kFolder + "sketch-" + sketch + ".json",
                     "--topology",
                     kFolder + "topology-" + topology + ".json",
                     "--json"} +
         more;
}

}  // namespace

void TestCliSketch::tacclAnswersExactly() {
  const Outcome outcome =
      run(tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"-c", "alltoall", "--effort", "1000", "--type", "ndv2"}));
  QVERIFY2(outcome.code == 0, told(outcome));
  const QJsonObject json = outcome.json();
  QCOMPARE(json["makespan"].toString(), QString("33743/5"));
  QCOMPARE(json["bound"].toString(), QString("33743/5"));
  QCOMPARE(json["gap"].toDouble(), 0.0);
  QVERIFY(json["connections"].toInt() > 0);
  QVERIFY(json["seconds"].isDouble());
  QVERIFY(json["verified"].toBool());
}

void TestCliSketch::tacclFilesCanBeUsed() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("found.schedule.json");
  const QString plan = folder.filePath("found.plan.json");
  const Outcome outcome = run(tacclArguments("dgx2-direct-n2", "dgx2-1kb",
                                             {"-c", "allreduce", "--effort", "800", "-o", schedule, "--plan", plan}));
  QVERIFY2(outcome.code == 0, told(outcome));
  const Outcome verified = run({"verify", schedule, "--json"});
  QVERIFY2(verified.code == 0, told(verified));
  const Outcome simulated = run({"simulate", schedule, "-b", "32K", "-e", "32K", "--json"});
  QVERIFY2(simulated.code == 0, told(simulated));
  QFile file(plan);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonObject messages = QJsonDocument::fromJson(file.readAll()).object();
  QCOMPARE(messages["makespan"].toString(), outcome.json()["makespan"].toString());
}

void TestCliSketch::tacclRefusesBadQuestions_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("message");
  QTest::newRow("method") << QStringList{"synthesize", "--method", "guess"} << 2 << "no method";
  QTest::newRow("no sketch") << QStringList{"synthesize", "--method", "taccl"} << 2 << "--sketch";
  QTest::newRow("no file") << QStringList{"synthesize", "--method",   "taccl",    "--sketch",
                                          "none.json",  "--topology", "none.json"}
                           << 2 << "none.json";
  QTest::newRow("type") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"--type", "dgx3"}) << 2 << "dgx3";
  QTest::newRow("root") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"-c", "broadcast", "--root", "16"}) << 2
                        << "--root";
  QTest::newRow("engine") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"--engine", "gurobi"}) << 2
                          << "search or milp";
  QTest::newRow("effort of the stages") << tacclArguments("ndv2-relay-n2", "ndv2-1mb",
                                                          {"--engine", "milp", "--effort", "5"})
                                        << 2 << "--effort";
  QTest::newRow("share") << tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"--share", "half"}) << 2 << "link";
  QTest::newRow("share of a proposal") << QStringList{"synthesize", "preset:dgx2", "--method",
                                                      "taccl",      "--share",     "nic"}
                                       << 2 << "--share";
  QTest::newRow("nothing to convert") << QStringList{"convert", "-o", "x.fabric.json"} << 2 << "nothing to convert";
  QTest::newRow("one file for two") << QStringList{"convert", "preset:dgx2", "--sketch",
                                                   "x.json",  "--topology",  "x.json"}
                                    << 2 << "the same file";
  QTest::newRow("half of a sketch") << QStringList{"convert", "--sketch", "s.json", "-o", "x.fabric.json"} << 2
                                    << "--topology";
  QTest::newRow("files of other machines") << tacclArguments("dgx2-direct-n2", "ndv2-1mb", {}) << 2 << "GPU 8";
}

void TestCliSketch::tacclRefusesBadQuestions() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments);
  QCOMPARE(outcome.code, code);
  QVERIFY2(outcome.err.contains(message.toUtf8()), told(outcome));
}

/// A fabric instead of a topology file, with a sketch of the user or a proposed one.
void TestCliSketch::fabricsTakeSketches() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("found.schedule.json");
  const Outcome given =
      run({"synthesize", "preset:azure-ndv2,boxes=2", "--method", "taccl", "--sketch",
           kFolder + "sketch-ndv2-relay-n2.json", "-c", "allgather", "--effort", "300", "-o", schedule, "--json"});
  QVERIFY2(given.code == 0, told(given));
  QVERIFY(given.json()["verified"].toBool());
  QCOMPARE(given.json()["time_unit_us"].toString(), QString("1"));
  const Outcome verified = run({"verify", schedule});
  QVERIFY2(verified.code == 0, told(verified));
  const Outcome proposed = run({"synthesize", "preset:dgx2", "--method", "taccl", "-c", "broadcast", "--root", "3",
                                "--effort", "100", "--json"});
  QVERIFY2(proposed.code == 0, told(proposed));
  QCOMPARE(proposed.json()["root"].toInt(), 3);
  const Outcome twice =
      run({"synthesize", "preset:dgx2", "--method", "taccl", "--topology", kFolder + "topology-dgx2-1mb.json"});
  QCOMPARE(twice.code, 2);
  QVERIFY2(twice.err.contains("--topology"), told(twice));
}

/// --size says how many bytes a file's chunk has; algbw follows it.
void TestCliSketch::nicsAreShared() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("found.schedule.json");
  const Outcome whole = run(tacclArguments(
      "ndv2-full-n2", "ndv2-1mb", {"-c", "allgather", "--effort", "300", "--share", "nic", "-o", schedule, "--json"}));
  QVERIFY2(whole.code == 0, told(whole));
  QCOMPARE(whole.json()["share"].toString(), QString("nic"));
  QVERIFY(whole.out.contains("not the paper's model"));
  const Outcome parts =
      run(tacclArguments("ndv2-full-n2", "ndv2-1mb", {"-c", "allgather", "--effort", "300", "--json"}));
  QVERIFY2(parts.code == 0, told(parts));
  QCOMPARE(parts.json()["share"].toString(), QString("link"));
  QVERIFY(!parts.out.contains("not the paper's model"));
  const auto time = [](const Outcome& outcome) {
    return *coppice::Rational::parse(outcome.json()["makespan"].toString().toStdString());
  };
  QVERIFY(time(whole) < time(parts));
  const Outcome verified = run({"verify", schedule});
  QVERIFY2(verified.code == 0, told(verified));
  // A sketch for a fabric.
  const Outcome fitted =
      run({"synthesize", "preset:azure-ndv2,boxes=2", "--method", "taccl", "--sketch",
           kFolder + "sketch-ndv2-full-n2.json", "--share", "nic", "-c", "allgather", "--effort", "100", "--json"});
  QVERIFY2(fitted.code == 0, told(fitted));
  QCOMPARE(fitted.json()["share"].toString(), QString("nic"));
}

/// One chunk for each GPU would pass 4 links of a ring of 8 in one direction and 3 in the other.
void TestCliSketch::proposalsChooseTheirChunks() {
  const Outcome whole = run({"synthesize", "preset:ring", "--method", "taccl", "--effort", "400", "--json"});
  QVERIFY2(whole.code == 0, told(whole));
  QCOMPARE(whole.json()["chunk_bytes"].toInt(), 1 << 19);
  // Through a switch, more chunks would not be faster.
  const Outcome switched = run({"synthesize", "preset:dgx2", "--method", "taccl", "--effort", "40", "--json"});
  QVERIFY2(switched.code == 0, told(switched));
  QCOMPARE(switched.json()["chunk_bytes"].toInt(), 1 << 20);
}

/// Measured costs, of which no sum has a denominator of 64 bits.
void TestCliSketch::costsWithoutACommonUnit() {
  QTemporaryDir folder;
  constexpr int kGpus = 8;
  QStringList links;
  QStringList costs;
  for (int to = 0; to < kGpus; ++to) {
    QStringList counts;
    QStringList row;
    for (int from = 0; from < kGpus; ++from) {
      counts << (from == to ? "0" : "1");
      row << QString::number(20.03 + 0.59 * (to * kGpus + from), 'f', 2);
    }
    links << "[" + counts.join(", ") + "]";
    costs << "[" + row.join(", ") + "]";
  }
  const auto write = [&](const QString& name, const QString& text) {
    QFile file(folder.filePath(name));
    return file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) == text.size();
  };
  const QString matrix = "[" + costs.join(", ") + "]";
  QVERIFY(write("t.json", R"({"name": "measured", "gpus_per_node": 8, "alpha": 0, "links": [)" + links.join(", ") +
                              R"(], "betas": )" + matrix + R"(, "invbws": )" + matrix + "}"));
  QVERIFY(write("s.json", R"({"nnodes": 1, "intranode_sketch": {"strategy": "none"}, "symmetry_offsets": [],
                             "hyperparameters": {"input_chunkup": 1}})"));
  const QString schedule = folder.filePath("found.schedule.json");
  const QStringList files = {"--sketch", folder.filePath("s.json"), "--topology", folder.filePath("t.json"), "--type",
                             "custom"};
  const Outcome made = run(
      QStringList{"synthesize", "--method", "taccl", "-c", "allgather", "--effort", "300", "-o", schedule, "--json"} +
      files);
  QVERIFY2(made.code == 0, told(made));
  QCOMPARE(made.json()["makespan"].toString(), made.json()["bound"].toString());
  const QString fabric = folder.filePath("measured.fabric.json");
  for (const QStringList& command :
       {QStringList{"verify", schedule}, QStringList{"simulate", schedule, "-b", "1M", "-e", "1M"},
        QStringList{"export", schedule, "-o", folder.filePath("x.xml")}, QStringList{"convert", "-o", fabric} + files,
        QStringList{"check", fabric}}) {
    const Outcome outcome = run(command);
    QVERIFY2(outcome.code == 0, told(outcome));
  }
  // What needs one unit for all links says so.
  const Outcome optimum = run({"optimum", fabric});
  QVERIFY(optimum.code != 0);
  QVERIFY2(optimum.err.contains("fewer digits"), told(optimum));
}

void TestCliSketch::sizesScaleTheAnswer() {
  QJsonObject answers[2];
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = run(tacclArguments("dgx2-direct-n2", "dgx2-1kb",
                                               {"-c", "allgather", "--effort", "100", "--size", i == 0 ? "1K" : "2K"}));
    QVERIFY2(outcome.code == 0, told(outcome));
    answers[i] = outcome.json();
  }
  QCOMPARE(answers[0]["chunk_bytes"].toInt(), 1024);
  QCOMPARE(answers[0]["makespan"], answers[1]["makespan"]);
  // 32 GPUs of 1 KiB each in 930 units of 0.01 us.
  QVERIFY(qFuzzyCompare(answers[0]["algbw_GBps"].toDouble(), 32 * 1024 / 9.3 / 1000));
  QVERIFY(qFuzzyCompare(answers[1]["algbw_GBps"].toDouble(), 2 * answers[0]["algbw_GBps"].toDouble()));
  const Outcome bad = run(tacclArguments("dgx2-direct-n2", "dgx2-1kb", {"--size", "much"}));
  QCOMPARE(bad.code, 2);
  QVERIFY2(bad.err.contains("--size"), told(bad));
}

/// Stopped in the first or second half of an allreduce, whose bound is not reached.
void TestCliSketch::interruptedSearchKeepsTheBest() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("found.schedule.json");
  QJsonObject json;
  // Before there is a first schedule, there is nothing to keep; a slow machine gets more time.
  for (int wait = 500; !json.contains("makespan") && wait < 60'000; wait *= 2) {
    QProcess process;
    process.start(QStringLiteral(COPPICE_CLI),
                  tacclArguments("ndv2-relay-n2", "ndv2-1kb", {"-c", "allreduce", "--time", "600", "-o", schedule}));
    QTRY_VERIFY_WITH_TIMEOUT(handles(process, SIGTERM), kTimeoutMilliseconds);
    QVERIFY(!process.waitForFinished(wait));
    process.terminate();
    const Outcome outcome = finish(process);
    QVERIFY2(outcome.code == 130, told(outcome));
    json = outcome.json();
  }
  QVERIFY(json["verified"].toBool());
  QVERIFY(json["interrupted"].toBool());
  const Outcome verified = run({"verify", schedule});
  QVERIFY2(verified.code == 0, told(verified));
}

void TestCliSketch::generateProposesASketch() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("proposed.schedule.json");
  const QByteArray unequal = QByteArray(COPPICE_EXAMPLES) + "/a100-h100-cluster.fabric.json";
  for (const char* fabric :
       {"preset:dgx-a100,boxes=2", "preset:dgx2,boxes=2", "preset:torus,dims=3x3", unequal.constData()}) {
    for (const char* collective : {"allgather", "allreduce", "alltoall"}) {
      const Outcome outcome = run({"generate", fabric, "--method", "taccl", "-c", collective, "--search-effort", "200",
                                   "-o", schedule, "--json"});
      QVERIFY2(outcome.code == 0, told(outcome));
      QVERIFY(outcome.json()["verified"].toBool());
      const Outcome verified = run({"verify", schedule});
      QVERIFY2(verified.code == 0, told(verified));
    }
  }
  // GPUs of a DGX-2 that share a PCIe switch talk over the NVSwitch, too: each has one port there, and all are alike.
  const QStringList files = {folder.filePath("sketch.json"), folder.filePath("topology.json")};
  const Outcome converted =
      run({"convert", "preset:dgx2,boxes=2", "--sketch", files[0], "--topology", files[1], "--json"});
  QVERIFY2(converted.code == 0, told(converted));
  QFile file(files[0]);
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QJsonObject sketch = QJsonDocument::fromJson(file.readAll()).object();
  QCOMPARE(sketch["intranode_sketch"].toObject()["strategy"].toString(), QString("switch"));
  QVERIFY(sketch["symmetry_offsets"].toArray().contains(QJsonArray({2, 16})));
}

void TestCliSketch::stagesAreReported() {
  const QStringList question =
      tacclArguments("dgx2-direct-n2", "dgx2-1kb", {"-c", "allgather", "--engine", "milp", "--time", "60"});
  const Outcome outcome = run(question);
  if (outcome.code == 3 || outcome.err.contains("coinor-cbc")) {
    QSKIP("skipped: needs cbc (Debian package coinor-cbc)");
  }
  QVERIFY2(outcome.code == 0, told(outcome));
  const QJsonObject json = outcome.json();
  QCOMPARE(json["engine"].toString(), QString("milp"));
  QCOMPARE(json["makespan"].toString(), QString("930"));
  QCOMPARE(json["bound"].toString(), QString("930"));
  QVERIFY(json["verified"].toBool());
  const QJsonArray stages = json["stages"].toArray();
  QCOMPARE(stages.size(), 3);
  QStringList names;
  for (const auto& stage : stages) {
    names << stage.toObject()["stage"].toString();
    QVERIFY(stage.toObject()["seconds"].isDouble());
    QVERIFY(!stage.toObject()["status"].toString().isEmpty());
  }
  QCOMPARE(names, QStringList({"routing", "ordering", "scheduling"}));
  QCOMPARE(stages[0].toObject()["cost"].toDouble(), 927.6);
}

void TestCliSketch::stagesNeedTheSolver() {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("PATH", "/nowhere");
  process.setProcessEnvironment(environment);
  process.start(QStringLiteral(COPPICE_CLI),
                tacclArguments("ndv2-relay-n2", "ndv2-1mb", {"-c", "allgather", "--engine", "milp"}));
  const Outcome outcome = finish(process);
  QVERIFY(outcome.code > 0);
  QVERIFY2(outcome.err.contains("coinor-cbc"), told(outcome));
}

void TestCliSketch::filesBecomeAFabricAndComeBack_data() {
  QTest::addColumn<QString>("sketch");
  QTest::addColumn<QString>("topology");
  QTest::newRow("relays") << "ndv2-relay-n2"
                          << "ndv2-1mb";
  QTest::newRow("switches") << "dgx2-pairs-n2"
                            << "dgx2-1mb";
}

/// Every field comes back, comments too; and the fabric is one that all commands take.
void TestCliSketch::filesBecomeAFabricAndComeBack() {
  QFETCH(QString, sketch);
  QFETCH(QString, topology);
  QTemporaryDir folder;
  const QString fabric = folder.filePath("cluster.fabric.json");
  const QStringList files = {kFolder + "sketch-" + sketch + ".json", kFolder + "topology-" + topology + ".json"};
  const Outcome made = run({"convert", "--sketch", files[0], "--topology", files[1], "-o", fabric, "--json"});
  QVERIFY2(made.code == 0, told(made));
  QCOMPARE(made.json()["from"].toString(), QString("taccl"));
  const Outcome checked = run({"check", fabric});
  QVERIFY2(checked.code == 0, told(checked));
  const QStringList back = {folder.filePath("sketch.json"), folder.filePath("topology.json")};
  const Outcome returned = run({"convert", fabric, "--sketch", back[0], "--topology", back[1], "--json"});
  QVERIFY2(returned.code == 0, told(returned));
  QVERIFY(returned.json()["original"].toBool());
  // The sketch that the fabric was made of is the proposed one.
  const Outcome proposed = run({"synthesize", fabric, "--method", "taccl", "--effort", "200", "--json"});
  QVERIFY2(proposed.code == 0, told(proposed));
  // A chunk has 1 MiB in the files of both, and there are one or two for each GPU.
  const QString size = sketch == "ndv2-relay-n2" ? "1M" : "2M";
  const Outcome stated = run(
      {"synthesize", fabric, "--method", "taccl", "--sketch", files[0], "--size", size, "--effort", "200", "--json"});
  QVERIFY2(stated.code == 0, told(stated));
  QCOMPARE(proposed.json()["makespan"], stated.json()["makespan"]);
  QCOMPARE(proposed.json()["connections"], stated.json()["connections"]);
  for (int i = 0; i < 2; ++i) {
    QFile before(files[i]);
    QFile after(back[i]);
    QVERIFY(before.open(QIODevice::ReadOnly) && after.open(QIODevice::ReadOnly));
    QCOMPARE(after.readAll(), before.readAll());
  }
}

void TestCliSketch::changedFabricGetsAProposal() {
  QTemporaryDir folder;
  const QString fabric = folder.filePath("cluster.fabric.json");
  const Outcome made = run({"convert", "--sketch", kFolder + "sketch-ndv2-relay-n2.json", "--topology",
                            kFolder + "topology-ndv2-1mb.json", "-o", fabric});
  QVERIFY2(made.code == 0, told(made));
  QFile file(fabric);
  QVERIFY(file.open(QIODevice::ReadOnly));
  QJsonObject changed = QJsonDocument::fromJson(file.readAll()).object();
  file.close();
  QJsonArray links = changed["links"].toArray();
  QJsonObject first = links[0].toObject();
  first["bandwidth"] = "1";
  links[0] = first;
  changed["links"] = links;
  QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
  file.write(QJsonDocument(changed).toJson());
  file.close();
  const QStringList back = {folder.filePath("sketch.json"), folder.filePath("topology.json")};
  const Outcome returned = run({"convert", fabric, "--sketch", back[0], "--topology", back[1], "--json"});
  QVERIFY2(returned.code == 0, told(returned));
  QVERIFY(!returned.json()["original"].toBool());
  QCOMPARE(returned.json()["findings"].toArray().size(), 1);
  const Outcome solved = run({"synthesize", "--method", "taccl", "--sketch", back[0], "--topology", back[1], "-c",
                              "allgather", "--effort", "100", "--no-truncate", "--json"});
  QVERIFY2(solved.code == 0, told(solved));
  QVERIFY(solved.json()["verified"].toBool());
}

QTEST_GUILESS_MAIN(TestCliSketch)
#include "tst_cli_sketch.moc"
