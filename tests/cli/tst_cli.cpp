// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The built coppice-cli, run as a user runs it.
namespace {

QString data(const QString& name) {
  return QStringLiteral(COPPICE_TEST_DATA) + "/" + name;
}

QString example() {
  return QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json";
}

}  // namespace

class TestCli : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void help_data();
  void help();
  void version();
  void generateOfTheExample();
  void jsonEverywhere_data();
  void jsonEverywhere();
  void exitCodes_data();
  void exitCodes();
  void badFabrics_data();
  void badFabrics();
  void badImports_data();
  void badImports();
  void badPrograms_data();
  void badPrograms();
  void presetToVerifiedProgram_data();
  void presetToVerifiedProgram();
  void exportOptions_data();
  void exportOptions();
  void exportOptionsReachTheFile();
  void treesOutAndIn();
  void pruned();
  void untrustedNames();
  void programWithoutRanks();
  void brokenProgramsAreExplained();
  void showTrees();
  void severalFaults();
  void convertRoundTrip_data();
  void convertRoundTrip();
  void imports_data();
  void imports();
  void standardInputAndOutput();
  void tamperedScheduleIsRefused();
  void tamperedProgramIsRefused();
  void planThatCannotFit();
  void whatWouldFit();
  void peerLimits();
  void outputIsWholeOrAbsent();
  void interrupted();

private:
  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  QTemporaryDir m_folder;
};

void TestCli::initTestCase() {
  QVERIFY(m_folder.isValid());
  QVERIFY2(QFileInfo(QStringLiteral(COPPICE_CLI)).isExecutable(), COPPICE_CLI);
}

void TestCli::help_data() {
  QTest::addColumn<QString>("subcommand");
  for (const char* name : {"preset", "check", "convert", "optimum", "generate", "export", "verify"}) {
    QTest::newRow(name) << name;
  }
}

void TestCli::help() {
  QFETCH(QString, subcommand);
  const Outcome outcome = run({subcommand, "--help"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(outcome.out.contains("Examples:") && outcome.out.contains("--json"), outcome);
  VERIFY_TOLD(outcome.out.contains("coppice-cli " + subcommand.toUtf8()), outcome);
  VERIFY_TOLD(outcome.err.isEmpty(), outcome);
}

void TestCli::version() {
  const Outcome outcome = run({"--version"});
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(outcome.out.startsWith("coppice-cli 0."), outcome);
}

void TestCli::generateOfTheExample() {
  const QString file = path("example.forest.json");
  const Outcome outcome = run({"generate", example(), "--collective", "allgather", "-o", file, "--json"});
  VERIFY_TOLD(outcome.code == 0 && isOneObject(outcome.out), outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["trees"].toInt(), 208);
  QCOMPARE(json["algbw"].toString(), "1040/3");
  QCOMPARE(json["verified"].toBool(), true);
  QVERIFY(json["max_height"].toInt() >= 2 && json["max_height"].toInt() <= 15);
  const QJsonObject seconds = json["seconds"].toObject();
  for (const char* stage : {"optimum", "packing", "verifying", "total"}) {
    QVERIFY2(seconds[stage].isDouble(), stage);
  }
  QCOMPARE(json["file"].toString(), file);
  const Outcome verified = run({"verify", file, "--json"});
  VERIFY_TOLD(verified.code == 0 && isOneObject(verified.out), verified);
  QCOMPARE(verified.json()["ok"].toBool(), true);
  QCOMPARE(verified.json()["collective"].toString(), "allgather");
  QCOMPARE(verified.json()["ranks"].toInt(), 16);
  QCOMPARE(verified.json()["reason"].toString(), "");
  QCOMPARE(verified.json()["algbw"].toString(), "1040/3");

  // The same question gives the same bytes.
  const QString again = path("again.forest.json");
  QCOMPARE(run({"generate", example(), "-o", again}).code, 0);
  QCOMPARE(contents(again), contents(file));
}

void TestCli::jsonEverywhere_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::newRow("preset list") << QStringList{"preset", "list"};
  QTest::newRow("preset list one") << QStringList{"preset", "list", "torus"};
  QTest::newRow("preset") << QStringList{"preset", "ring", "gpus=4"};
  QTest::newRow("preset to a file") << QStringList{"preset", "ring", "gpus=4", "-o", path("ring.fabric.json")};
  QTest::newRow("check") << QStringList{"check", example()};
  QTest::newRow("convert") << QStringList{"convert", example(), "-o", path("copy.fabric.json")};
  QTest::newRow("optimum") << QStringList{"optimum", example(), "-c", "allreduce"};
  QTest::newRow("generate") << QStringList{"generate", example()};
}

void TestCli::jsonEverywhere() {
  QFETCH(QStringList, arguments);
  const Outcome outcome = run(arguments + QStringList{"--json"});
  VERIFY_TOLD(outcome.code == 0 && outcome.err.isEmpty(), outcome);
  VERIFY_TOLD(isOneObject(outcome.out), outcome);
  QCOMPARE(outcome.json()["ok"].toBool(), true);
}

void TestCli::exitCodes_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("message");  // part of the first line of standard error
  const auto row = [](const char* name, const QStringList& arguments, int code, const char* message) {
    QTest::newRow(name) << arguments << code << message;
  };
  row("no subcommand", {}, 2, "subcommand");
  row("unknown subcommand", {"frobnicate"}, 2, "\"frobnicate\" is not a subcommand; see coppice-cli --help");
  row("unknown option", {"optimum", example(), "--speed", "9"}, 2, "coppice-cli optimum --help");
  row("no fabric", {"optimum"}, 2, "fabric is required");
  row("no such file", {"optimum", "nowhere.fabric.json"}, 2, "nowhere.fabric.json");
  row("a folder", {"check", "."}, 2, "irectory");
  row("unknown preset", {"preset", "dgx-a1000"}, 2, "dgx-a100");
  row("unknown parameter", {"preset", "ring", "gpu=4"}, 2, "gpus");
  row("parameter without value", {"preset", "ring", "4"}, 2, "key=value");
  row("parameter twice", {"preset", "ring", "gpus=4", "gpus=5"}, 2, "twice");
  row("unknown preset as input", {"optimum", "preset:nothing"}, 2, "nothing");
  row("unknown collective", {"optimum", example(), "-c", "scan"}, 2, "reduce_scatter");
  row("collective without a bound", {"optimum", example(), "-c", "custom"}, 2, "the bound of custom is not known");
  row("gather without root", {"optimum", example(), "-c", "gather"}, 2, "--root");
  row("trees of a gather", {"optimum", example(), "-c", "gather", "--root", "0", "--k", "2"}, 2, "no trees");
  row("trees of an alltoall", {"optimum", example(), "-c", "alltoall", "--k", "2"}, 2, "--k");
  row("height of a scatter", {"generate", example(), "-c", "scatter", "--root", "0", "--max-height", "2"}, 2,
      "--max-height: it does not apply to scatter");
  row("gather from the root alone",
      {"optimum", "preset:ring,gpus=3", "-c", "gather", "--root", "0", "--amounts", "1,0,0"}, 1,
      "only the root has data");
  row("prices of an alltoall", {"prices", example(), "-c", "alltoall"}, 2, "--collective");
  row("broadcast without root", {"optimum", example(), "-c", "broadcast"}, 2, "--root");
  row("allgather with root", {"optimum", example(), "--root", "0"}, 2, "no root");
  row("root that is not a GPU", {"optimum", example(), "-c", "reduce", "--root", "ib0"}, 2, "not a GPU");
  row("root out of range", {"optimum", example(), "-c", "reduce", "--root", "16"}, 2, "0 to 15");
  row("k of zero", {"optimum", example(), "--k", "0"}, 2, "1 or more");
  row("negative k", {"optimum", example(), "--k", "-3"}, 2, "1 or more");
  row("k that is not a number", {"optimum", example(), "--k", "many"}, 2, "--k: \"many\" is not a whole number");
  row("format that nothing tells", {"optimum", "/dev/null"}, 2, "--from: json");
  row("suffix of no format", {"convert", example(), "-o", path("x.unknown")}, 2,
      "--to json, dot, adjacency, simai, astra-sim or infragraph");
  row("fewer trees than none", {"generate", example(), "--show-trees", "-1"}, 2, "not in range 0 to");
  row("k with a fraction", {"optimum", example(), "--k", "1.5"}, 2, "is not a whole number");
  row("k beyond 64 bits", {"optimum", example(), "--k", "99999999999999999999"}, 2, "does not fit 64 bits");
  row("k and k-max", {"optimum", example(), "--k", "2", "--k-max", "3"}, 2, "cannot be combined with");
  row("huge k", {"optimum", example(), "--k", "9000000000000000000"}, 2, "");
  row("k beyond 64 bits", {"optimum", example(), "--k", "9223372036854775808"}, 2, "64 bits");
  row("negative k beyond 64 bits", {"optimum", example(), "--k", "-99999999999999999999"}, 2, "64 bits");
  row("k-max beyond 64 bits", {"optimum", example(), "--k-max", "99999999999999999999"}, 2, "64 bits");
  row("too few amounts", {"optimum", example(), "--amounts", "1,2"}, 2, "16 GPUs");
  row("amounts of an allreduce", {"optimum", example(), "-c", "allreduce", "--amounts", "1"}, 2, "has no shares");
  row("empty list of GPUs", {"optimum", example(), "--gpus", ""}, 2, "--gpus: the value is empty");
  row("amounts of an unknown GPU", {"optimum", example(), "--amounts", "b7g0=2"}, 2, "no GPU is called \"b7g0\"");
  row("amounts half by name", {"optimum", example(), "--amounts", "b0g0=2,3"}, 2, "names no GPU");
  row("amount by name that is not a number", {"optimum", example(), "--amounts", "b0g0=2.5"}, 2, "\"2.5\"");
  row("amount beyond 64 bits", {"optimum", example(), "--amounts", "b*=99999999999999999999"}, 2, "--amounts");
  row("negative amount", {"optimum", "preset:ring,gpus=3", "--amounts", "1,-1,1"}, 2, "--amounts");
  row("no data at all", {"optimum", "preset:ring,gpus=3", "--amounts", "0,0,0"}, 2, "");
  row("unknown GPU", {"optimum", example(), "--gpus", "0-3,g99"}, 2, "g99");
  row("GPU range too long", {"optimum", example(), "--gpus", "0-99"}, 2, "0 to 15");
  row("one GPU", {"optimum", example(), "--gpus", "0"}, 2, "");
  row("unknown format", {"check", example(), "--from", "yaml"}, 2, "nccl-xml");
  row("unknown target format", {"convert", example(), "--to", "yaml", "-o", path("x")}, 2,
      "json, dot, adjacency, simai, astra-sim or infragraph");
  row("import-only format", {"convert", example(), "--to", "nccl-xml", "-o", path("x")}, 2, "");
  row("generate into no folder", {"generate", example(), "-o", path("no/such/folder.forest.json")}, 2, "no/such");
  row("document and JSON at once", {"generate", example(), "-o", "-", "--json"}, 2, "--json");
  row("export of a fabric", {"export", example(), "-o", path("x.xml")}, 2, "2x-dgx-a100.fabric.json");
  row("verification of a fabric", {"verify", example()}, 2, "this is not a forest file");
  row("trees without fabric", {"verify", "-"}, 2, "");
  row("islands", {"optimum", data("fabric_bad/islands.fabric.json")}, 1, "islands.fabric.json");
  row("check of islands", {"check", data("fabric_bad/islands.fabric.json")}, 1, "islands.fabric.json");
}

void TestCli::exitCodes() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  const Outcome outcome = run(arguments, "<Algo nchunkspernode=\"1\"></Algo>", m_folder.path());
  QTEST(outcome.code, "code");
  VERIFY_TOLD(outcome.firstErrorLine().startsWith("coppice-cli: "), outcome);
  VERIFY_TOLD(outcome.firstErrorLine().contains(message.toUtf8()), outcome);

  const Outcome json = run(arguments + QStringList{"--json"}, "<Algo nchunkspernode=\"1\"></Algo>", m_folder.path());
  QTEST(json.code, "code");
  VERIFY_TOLD(isOneObject(json.out), json);
  QCOMPARE(json.json()["ok"], QJsonValue(false));
  VERIFY_TOLD(json.firstErrorLine().startsWith("coppice-cli: "), json);
}

void TestCli::badFabrics_data() {
  QTest::addColumn<QJsonObject>("expected");
  const QJsonObject all = QJsonDocument::fromJson(contents(data("fabric_bad/expected.json"))).object();
  QVERIFY(all.size() > 50);
  for (auto entry = all.begin(); entry != all.end(); ++entry) {
    QTest::newRow(qPrintable(entry.key())) << entry.value().toObject();
  }
}

/// A file that cannot be read is bad input; one that reads but makes no fabric is a negative answer of `check`.
void TestCli::badFabrics() {
  QFETCH(QJsonObject, expected);
  const QString file = data(QStringLiteral("fabric_bad/") + QTest::currentDataTag());
  const bool isUnreadable = expected.contains("read");
  const Outcome checked = run({"check", file, "--json"});
  VERIFY_TOLD(isOneObject(checked.out), checked);
  if (isUnreadable) {
    QCOMPARE(checked.code, 2);
  }
  QCOMPARE(checked.json()["ok"].toBool(), checked.code == 0);
  QCOMPARE(checked.err.isEmpty(), checked.code == 0);
  for (const auto& text : expected["text"].toArray()) {
    // Reader's errors name the file as the reader was given it.
    const QString wanted = text.toString().remove(QStringLiteral("error: "));
    const QString rest = isUnreadable ? wanted.mid(wanted.indexOf(QLatin1Char(':')) + 1) : wanted;
    const bool isTold = checked.err.contains(rest.toUtf8()) || run({"check", file}).out.contains(rest.toUtf8());
    QVERIFY2(isTold, qPrintable(rest + "\n" + told(checked)));
  }
  const Outcome optimum = run({"optimum", file, "--json"});
  VERIFY_TOLD(isOneObject(optimum.out), optimum);
  QCOMPARE(optimum.json()["ok"].toBool(), optimum.code == 0);
  VERIFY_TOLD(checked.code == 0 || optimum.code == 1 || optimum.code == 2, optimum);
}

void TestCli::badImports_data() {
  QTest::addColumn<QString>("file");
  const QDir folder(data("import/bad"));
  for (const QString& name : folder.entryList(QDir::Files)) {
    if (name != QLatin1String("expected.json") && (COPPICE_HAS_DOT || !name.endsWith(QLatin1String(".dot")))) {
      QTest::newRow(qPrintable(name)) << folder.filePath(name);
    }
  }
}

void TestCli::badImports() {
  QFETCH(QString, file);
  const Outcome outcome = run({"check", file, "--json"});
  VERIFY_TOLD(isOneObject(outcome.out), outcome);
  VERIFY_TOLD(outcome.code == 1 || outcome.code == 2, outcome);
  QCOMPARE(outcome.json()["ok"], QJsonValue(false));
  VERIFY_TOLD(outcome.firstErrorLine().startsWith("coppice-cli: "), outcome);
}

void TestCli::badPrograms_data() {
  QTest::addColumn<QString>("runtime");
  QTest::addColumn<int>("line");
  QTest::addColumn<QString>("message");
  for (const QByteArray& row : contents(data("msccl/bad/expected.txt")).split('\n')) {
    const QList<QByteArray> parts = row.split('|');
    if (parts.size() == 4 && !row.startsWith('#')) {
      QTest::newRow(parts[0].trimmed().constData())
          << QString::fromUtf8(parts[1].trimmed()) << parts[2].trimmed().toInt()
          << QString::fromUtf8(parts[3].trimmed());
    }
  }
}

void TestCli::badPrograms() {
  QFETCH(QString, runtime);
  QFETCH(QString, message);
  const QString file = data(QStringLiteral("msccl/bad/") + QTest::currentDataTag() + ".xml");
  const Outcome outcome = run({"verify", file, "--runtime", runtime, "--json"});
  VERIFY_TOLD(isOneObject(outcome.out), outcome);
  // Some of these are only read differently than a person would: a warning, and no failure.
  VERIFY_TOLD(outcome.code == 1 || outcome.code == 2 || outcome.out.contains("\"warning\""), outcome);
  QCOMPARE(outcome.json()["ok"].toBool(), outcome.code == 0);
  QCOMPARE(outcome.firstErrorLine().startsWith("coppice-cli: "), outcome.code != 0);
  VERIFY_TOLD(outcome.out.contains(QJsonDocument(QJsonArray{message}).toJson(QJsonDocument::Compact).mid(2).chopped(2)),
              outcome);
}

void TestCli::presetToVerifiedProgram_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QStringList>("collective");
  for (const char* preset : {"dgx1-v100,boxes=1", "dgx-a100,boxes=2", "dgx-h100,boxes=1", "mi250,boxes=1",
                             "ring,gpus=2", "torus,dims=3x2", "fat-tree-2"}) {
    for (const char* collective :
         {"allgather", "reduce_scatter", "allreduce", "broadcast --root 1", "reduce --root 1"}) {
      QTest::newRow(qPrintable(QStringLiteral("%1 %2").arg(preset, collective)))
          << QStringLiteral("preset:") + preset << QString(collective).split(' ');
    }
  }
}

void TestCli::presetToVerifiedProgram() {
  QFETCH(QString, preset);
  QFETCH(QStringList, collective);
  const QString schedule = path("run.forest.json");
  const QString program = path("run.xml");
  // Programs send between GPUs.
  const QStringList plain = collective.front() == "allreduce" ? QStringList{"--plain-switches"} : QStringList();
  const Outcome generated = run(QStringList{"generate", preset, "-o", schedule, "--json", "-c"} + collective + plain);
  VERIFY_TOLD(generated.code == 0, generated);
  const Outcome exported = run({"export", schedule, "--format", "msccl", "-o", program, "--json"});
  VERIFY_TOLD(exported.code == 0 && isOneObject(exported.out), exported);
  const Outcome verified = run({"verify", program, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QCOMPARE(verified.json()["collective"].toString(), collective.front());
  QCOMPARE(verified.json()["ranks"].toInt(), generated.json()["gpus"].toInt());
  if (collective.size() == 3) {
    QCOMPARE(verified.json()["root"].toInt(), 1);
    VERIFY_TOLD(run({"verify", program, "--root", "1"}).code == 0, verified);
    const Outcome other = run({"verify", program, "--root", "0"});
    VERIFY_TOLD(other.code == 1, other);
  }
}

void TestCli::exportOptions_data() {
  QTest::addColumn<QStringList>("options");
  QTest::addColumn<QString>("runtime");
  QTest::addColumn<int>("code");
  const auto row = [](const char* name, const QString& options, const char* runtime, int code) {
    QTest::newRow(name) << options.split(' ', Qt::SkipEmptyParts) << runtime << code;
  };
  row("defaults", "", "msccl", 0);
  row("executor", "--target msccl-executor-nccl", "msccl-executor-nccl", 0);
  row("rccl", "--target rccl", "rccl", 0);
  row("out of place", "--out-of-place", "msccl", 0);
  row("two instances", "--instances 2", "msccl", 0);
  row("LL window", "--protocol LL --min-bytes 4KiB --max-bytes 1MiB", "msccl", 0);
  row("NIC planes", "--channels nic-planes", "msccl", 0);
  row("unknown target", "--target nccl", "msccl", 2);
  row("protocol in lower case", "--protocol simple", "msccl", 0);
  row("unknown protocol", "--protocol LL256", "msccl", 2);
  row("unknown channels", "--channels many", "msccl", 2);
  row("no instances", "--instances 0", "msccl", 2);
  row("bytes without number", "--max-bytes big", "msccl", 2);
  row("part of a byte", "--max-bytes 0.3", "msccl", 2);
  row("more bytes than fit", "--max-bytes 99999999999TiB", "msccl", 2);
  row("empty window", "--min-bytes 2MiB --max-bytes 1MiB", "msccl", 2);
  row("both buffers", "--in-place --out-of-place", "msccl", 2);
  row("unknown format", "--format yaml", "msccl", 2);
}

void TestCli::exportOptions() {
  QFETCH(QStringList, options);
  QFETCH(QString, runtime);
  QFETCH(int, code);
  const QString schedule = path("options.forest.json");
  QCOMPARE(run({"generate", example(), "--k", "2", "-o", schedule}).code, 0);
  const QString program = path("options.xml");
  QFile::remove(program);
  const Outcome exported = run(QStringList{"export", schedule, "-o", program} + options);
  VERIFY_TOLD(exported.code == code, exported);
  QCOMPARE(QFile::exists(program), code == 0);
  if (code == 0) {
    const Outcome verified = run({"verify", program, "--runtime", runtime});
    VERIFY_TOLD(verified.code == 0, verified);
  }
}

void TestCli::exportOptionsReachTheFile() {
  const QString schedule = path("reach.forest.json");
  QCOMPARE(run({"generate", example(), "-c", "reduce_scatter", "--k", "1", "-o", schedule}).code, 0);
  const Outcome exported = run({"export", schedule, "-o", "-", "--target", "msccl-executor-nccl", "--protocol", "LL",
                                "--min-bytes", "64KiB", "--max-bytes", "2 MB", "--out-of-place", "--name", "mine"});
  VERIFY_TOLD(exported.code == 0, exported);
  for (const char* part : {"coll=\"reducescatter\"", "proto=\"LL\"", "minBytes=\"65536\"", "maxBytes=\"2000000\"",
                           "inplace=\"0\"", "outofplace=\"1\"", "name=\"mine\""}) {
    QVERIFY2(exported.out.contains(part), part);
  }
}

void TestCli::treesOutAndIn() {
  const QString schedule = path("trees.forest.json");
  const QString trees = path("trees.xml");
  QCOMPARE(run({"generate", example(), "-o", schedule}).code, 0);
  const Outcome exported = run({"export", schedule, "--format", "trees", "-o", trees});
  VERIFY_TOLD(exported.code == 0, exported);
  const Outcome verified = run({"verify", trees, "--fabric", example(), "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QCOMPARE(verified.json()["kind"].toString(), "trees");
  QCOMPARE(verified.json()["algbw"].toString(), "1040/3");
  // The trees load links that the slower fabric has less bandwidth for.
  const Outcome slower = run({"verify", trees, "--fabric", "preset:dgx-a100,nic=5", "--json"});
  VERIFY_TOLD(slower.json()["algbw"].toString() != "1040/3", slower);
}

void TestCli::pruned() {
  const QString schedule = path("pruned.forest.json");
  const Outcome generated =
      run({"generate", "preset:dgx-h100", "-c", "allreduce", "--prune", "-o", schedule, "--json"});
  VERIFY_TOLD(generated.code == 0, generated);
  VERIFY_TOLD(run({"verify", schedule}).code == 0, generated);
  QVERIFY(contents(schedule).size() > 0);
  const QString bound = generated.json()["allreduce_bound"].toObject()["algbw"].toString();
  QCOMPARE(generated.json()["allreduce_bound"].toObject()["reached"].toBool(), true);
  // What the file states of other trees is reported as a statement.
  QCOMPARE(run({"verify", schedule, "--json"}).json()["stated_allreduce_bound"].toString(), bound);
}

void TestCli::untrustedNames() {
  const QByteArray text =
      "{\"name\":\"a\\u001b[31m\\u009bb\",\"nodes\":[{\"id\":\"a\",\"kind\":\"gpu\"},{\"id\":\"b\",\"kind\":\"gpu\"}],"
      "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bandwidth\":\"1/1000000\"}]}";
  const Outcome outcome = run({"optimum", "-"}, text);
  QCOMPARE(outcome.code, 0);
  VERIFY_TOLD(outcome.out.contains("a\\x1b[31m\\x9bb") && !outcome.out.contains('\x1b'), outcome);
  VERIFY_TOLD(outcome.out.contains("1/500000 = 2e-06 GB/s"), outcome);
}

void TestCli::programWithoutRanks() {
  const Outcome outcome = run({"verify", "-"}, "<algo name=\"cut off\"");
  QCOMPARE(outcome.code, 1);
  VERIFY_TOLD(outcome.firstErrorLine().contains(":1:1: tag \"algo\" is not closed"), outcome);
}

void TestCli::brokenProgramsAreExplained() {
  QFile file(QStringLiteral(COPPICE_TEST_DATA "/msccl/good/minimal_allgather.xml"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const QByteArray good = file.readAll();
  QByteArray stuck = good;
  stuck.replace("type=\"s\"", "type=\"x\"").replace("type=\"r\"", "type=\"s\"").replace("type=\"x\"", "type=\"r\"");
  const Outcome ring = run({"verify", "-"}, stuck);
  QCOMPARE(ring.code, 1);
  VERIFY_TOLD(ring.out.contains("  ring        2 steps, each waiting for the next"), ring);
  VERIFY_TOLD(ring.out.contains("rank 0, threadblock 0, step 0 (r from rank 1) waits for data from rank 1, "
                                "threadblock 0, step 1\n"),
              ring);
  const Outcome json = run({"verify", "-", "--json"}, stuck);
  QCOMPARE(json.json()["ring"].toArray().size(), 2);
  QCOMPARE(json.json()["ring"][0]["needs"]["rank"].toInt(), 1);
  QByteArray wrong = good;
  const qsizetype at = wrong.lastIndexOf("dstoff=\"0\"");
  wrong.replace(at, 10, "dstoff=\"1\"");
  const Outcome traced = run({"verify", "-"}, wrong);
  QCOMPARE(traced.code, 1);
  VERIFY_TOLD(traced.out.contains("  first wrong in place: rank 1, threadblock 0, step 1 (r from rank 0) writes chunk "
                                  "0 of rank 0 to o[1], where chunk 0 of rank 1 belongs"),
              traced);
  VERIFY_TOLD(!run({"verify", "-"}, good).out.contains("first wrong"), traced);
}

void TestCli::showTrees() {
  const Outcome none = run({"generate", example()});
  VERIFY_TOLD(none.code == 0 && !none.out.contains("  tree "), none);
  const Outcome two = run({"generate", example(), "--show-trees", "2"});
  VERIFY_TOLD(two.code == 0 && two.out.contains("  tree 1 of ") && two.out.contains("  tree 2 of "), two);
  VERIFY_TOLD(!two.out.contains("  tree 3 of "), two);
  // Each tree names every GPU once, below its root; relays stand behind "via".
  const QByteArray first =
      two.out.mid(two.out.indexOf("  tree 1 of"), two.out.indexOf("  tree 2 of") - two.out.indexOf("  tree 1 of"));
  QCOMPARE(first.count('\n'), 17);  // heading and 16 GPUs
  VERIFY_TOLD(first.contains("\n    b0g0\n") && first.contains("via b0nvs") && first.contains(", ib"), two);
}

void TestCli::severalFaults() {
  const QByteArray text =
      R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"}],"links":[{"src":"a","dst":"c","bandwidth":0}]})";
  const Outcome outcome = run({"optimum", "-"}, text);
  QCOMPARE(outcome.code, 2);
  VERIFY_TOLD(outcome.firstErrorLine().contains("coppice-cli check lists all"), outcome);
  VERIFY_TOLD(run({"check", "-"}, text).out.startsWith("unnamed fabric: not a valid fabric\n"), outcome);
}

void TestCli::convertRoundTrip_data() {
  QTest::addColumn<QString>("file");
  QTest::newRow("json") << path("round.fabric.json");
  QTest::newRow("adjacency") << path("round.adj.json");
  if (COPPICE_HAS_DOT) {
    QTest::newRow("dot") << path("round.dot");
  }
}

void TestCli::convertRoundTrip() {
  QFETCH(QString, file);
  const Outcome converted = run({"convert", example(), "-o", file});
  VERIFY_TOLD(converted.code == 0, converted);
  // The adjacency form has no NICs: kinds differ, the optimum does not.
  const Outcome optimum = run({"optimum", file, "--json"});
  VERIFY_TOLD(optimum.code == 0, optimum);
  QCOMPARE(optimum.json()["algbw"].toString(), "1040/3");
  const QString back = path("back.fabric.json");
  QCOMPARE(run({"convert", file, "-o", back}).code, 0);
  if (!file.endsWith(QLatin1String(".adj.json"))) {
    QCOMPARE(run({"check", back, "--json"}).json()["digest"], run({"check", example(), "--json"}).json()["digest"]);
  }
}

void TestCli::imports_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("gpus");
  QTest::newRow("one box") << QStringList{data("import/dgx_a100.xml")} << 8;
  QTest::newRow("four boxes on rails") << QStringList{data("import/dgx_a100.xml"), "--boxes", "4", "--scale-out",
                                                      "rails"}
                                       << 32;
  QTest::newRow("nvidia-smi") << QStringList{data("import/h100_topo.txt")} << 8;
  QTest::newRow("nvidia-smi, two boxes") << QStringList{data("import/h100_topo.txt"),
                                                        "--boxes",
                                                        "2",
                                                        "--scale-out",
                                                        "switch",
                                                        "--nic-bandwidth",
                                                        "400Gb/s"}
                                         << 16;
}

void TestCli::imports() {
  QFETCH(QStringList, arguments);
  const Outcome outcome = run(QStringList{"generate", "--json"} + arguments);
  VERIFY_TOLD(outcome.code == 0, outcome);
  QTEST(outcome.json()["gpus"].toInt(), "gpus");
}

void TestCli::standardInputAndOutput() {
  const Outcome preset = run({"preset", "ring", "gpus=3", "bandwidth=10"});
  VERIFY_TOLD(preset.code == 0, preset);
  const Outcome checked = run({"check", "-", "--json"}, preset.out);
  VERIFY_TOLD(checked.code == 0, checked);
  QCOMPARE(checked.json()["gpus"].toInt(), 3);
  const Outcome generated = run({"generate", "-", "-o", "-"}, preset.out);
  VERIFY_TOLD(generated.code == 0, generated);
  QVERIFY(generated.err.contains("allgather 30 GB/s"));
  const Outcome program = run({"export", "-", "-o", "-"}, generated.out);
  VERIFY_TOLD(program.code == 0, program);
  const Outcome verified = run({"verify", "-"}, program.out);
  VERIFY_TOLD(verified.code == 0, verified);
  VERIFY_TOLD(verified.out.contains("verified"), verified);
}

void TestCli::tamperedScheduleIsRefused() {
  const QString schedule = path("tampered.forest.json");
  QCOMPARE(run({"generate", example(), "--k", "1", "-o", schedule}).code, 0);
  QByteArray text = contents(schedule);
  const QByteArray honest = "\"multiplicity\":";
  const auto at = text.indexOf(honest);
  QVERIFY(at > 0);
  // One tree counts twice.
  const auto digits = text.indexOf('1', at);
  text[digits] = '2';
  QVERIFY(write(schedule, text));
  const Outcome verified = run({"verify", schedule, "--json"});
  VERIFY_TOLD(verified.code == 1, verified);
  QCOMPARE(verified.json()["ok"], QJsonValue(false));
  QVERIFY(!verified.json()["reason"].toString().isEmpty());
  VERIFY_TOLD(verified.firstErrorLine().contains("not verified"), verified);
  const QString program = path("tampered.xml");
  QVERIFY(write(program, "what was there before"));
  const Outcome exported = run({"export", schedule, "-o", program});
  VERIFY_TOLD(exported.code == 1, exported);
  QCOMPARE(contents(program), QByteArray("what was there before"));
}

void TestCli::tamperedProgramIsRefused() {
  const QString schedule = path("honest.forest.json");
  const QString program = path("honest.xml");
  QCOMPARE(run({"generate", example(), "--k", "1", "-o", schedule}).code, 0);
  QCOMPARE(run({"export", schedule, "-o", program}).code, 0);
  QByteArray text = contents(program);
  // A step that receives into the wrong place.
  const auto at = text.indexOf("type=\"r\"");
  QVERIFY(at > 0);
  const auto offset = text.indexOf("dstoff=\"", at) + 8;
  text.replace(offset, text.indexOf('"', offset) - offset, text.mid(offset, 1) == "0" ? "1" : "0");
  QVERIFY(write(program, text));
  const Outcome verified = run({"verify", program, "--json"});
  VERIFY_TOLD(verified.code == 1, verified);
  QVERIFY(!verified.json()["reason"].toString().isEmpty());
  QCOMPARE(verified.json()["collective"].toString(), "allgather");
  QCOMPARE(verified.json()["ranks"].toInt(), 16);
}

void TestCli::planThatCannotFit() {
  const QString schedule = path("large.forest.json");
  const QString program = path("large.xml");
  QCOMPARE(run({"generate", "preset:dgx-a100,boxes=8", "--k", "1", "-o", schedule}).code, 0);
  const Outcome exported = run({"export", schedule, "-o", program, "--instances", "32", "--json"});
  VERIFY_TOLD(exported.code == 1, exported);
  QCOMPARE(exported.json()["code"].toString(), "limit");
  QVERIFY(!exported.json()["fix"].toString().isEmpty());
  QVERIFY(!QFile::exists(program));
}

/// What export offers in place of a schedule that does not fit can be generated and exported as it says.
void TestCli::whatWouldFit() {
  const QString schedule = path("wide.forest.json");
  const QString program = path("wide.xml");
  const QString preset = "preset:dgx-a100,boxes=2,network=simple";
  QCOMPARE(run({"generate", preset, "-o", schedule}).code, 0);
  const QStringList exporting{"export", schedule, "-o", program, "--instances", "32"};
  const Outcome quick = run(exporting + QStringList{"--no-advice", "--json"});
  VERIFY_TOLD(quick.code == 1, quick);
  QVERIFY(!quick.json().contains("would_fit"));
  const Outcome refused = run(exporting + QStringList{"--json"});
  VERIFY_TOLD(refused.code == 1, refused);
  QCOMPARE(refused.json()["code"].toString(), "limit");
  const QJsonArray fits = refused.json()["would_fit"].toArray();
  QVERIFY(!fits.isEmpty());
  const QJsonObject fit = fits[0].toObject();
  VERIFY_TOLD(fit["share_of_optimum"].toString() == "1", refused);
  const Outcome words = run(exporting);
  VERIFY_TOLD(words.code == 1 && words.out.contains("generate " + fit["settings"].toString().toUtf8()), words);
  QVERIFY(!QFile::exists(program));

  const Outcome again =
      run(QStringList{"generate", preset, "-o", schedule, "--json"} + fit["settings"].toString().split(' '));
  VERIFY_TOLD(again.code == 0, again);
  QCOMPARE(again.json()["algbw"].toString(), fit["algbw"].toString());
  QCOMPARE(again.json()["max_height"].toInt(), fit["max_height"].toInt());
  QVERIFY(again.json()["max_peers"].toInt() <= again.json()["peer_limit"].toInt());
  const Outcome exported = run(exporting);
  VERIFY_TOLD(exported.code == 0, exported);
}

void TestCli::peerLimits() {
  const Outcome free = run({"generate", "preset:dgx-a100,boxes=8", "--json"});
  QVERIFY(free.json()["max_peers"].toInt() > 9);
  const Outcome limited = run({"generate", "preset:dgx-a100,boxes=8", "--max-peers", "9", "--json"});
  VERIFY_TOLD(limited.code == 0, limited);
  QCOMPARE(limited.json()["peer_limit"].toInt(), 9);
  QVERIFY(limited.json()["max_peers"].toInt() <= 9);
  QCOMPARE(limited.json()["share_of_optimum"].toString(), "1");
  const Outcome none = run({"generate", example(), "--max-peers", "0"});
  QCOMPARE(none.code, 2);
  const Outcome tooFew = run({"generate", example(), "--max-peers", "1", "--json"});
  VERIFY_TOLD(tooFew.code == 1, tooFew);
  QCOMPARE(tooFew.json()["code"].toString(), "infeasible");
  VERIFY_TOLD(tooFew.json()["fix"].toString().startsWith("allow at least "), tooFew);
}

void TestCli::outputIsWholeOrAbsent() {
  QTemporaryDir folder;
  QVERIFY(folder.isValid());
  const QString file = folder.filePath("out.forest.json");
  QCOMPARE(run({"generate", example(), "-o", file}).code, 0);
  QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"out.forest.json"});
  const QByteArray before = contents(file);
  QCOMPARE(run({"generate", data("fabric_bad/islands.fabric.json"), "-o", file}).code, 1);
  QCOMPARE(contents(file), before);
}

void TestCli::interrupted() {
  QTemporaryDir folder;
  QVERIFY(folder.isValid());
  QProcess process;
  // Large enough to be at work for long.
  process.start(QStringLiteral(COPPICE_CLI),
                {"generate", "preset:torus,dims=48x48", "-o", folder.filePath("torus.forest.json")});
  QVERIFY(process.waitForStarted());
  QTRY_VERIFY_WITH_TIMEOUT(handles(process, SIGINT), kTimeoutMilliseconds);
  QCOMPARE(kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
  QVERIFY(process.waitForFinished(kTimeoutMilliseconds));
  QCOMPARE(process.exitStatus(), QProcess::NormalExit);
  QCOMPARE(process.exitCode(), 130);
  QVERIFY(process.readAllStandardError().startsWith("coppice-cli: "));
  QVERIFY(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden).isEmpty());
}

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
