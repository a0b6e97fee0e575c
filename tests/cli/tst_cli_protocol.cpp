// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "support/cli_runner.hpp"

using namespace coppice::test;

/// What coppice-cli says of protocols, roots and inputs that the runtimes or a terminal would take otherwise.
namespace {

/// Four GPUs in a ring, two in each box; `link` is the bandwidth of the first link, `name` the fabric's name as JSON.
QByteArray fabric(const QByteArray& link = "10", const QByteArray& name = "ring") {
  QByteArray text = "{\"name\":\"" + name + "\",\"nodes\":[";
  for (int i = 0; i < 4; ++i) {
    text += QByteArray(i > 0 ? "," : "") + "{\"id\":\"g" + QByteArray::number(i) + "\",\"kind\":\"gpu\",\"box\":\"b" +
            QByteArray::number(i / 2) + "\"}";
  }
  text += "],\"links\":[";
  for (int i = 0; i < 4; ++i) {
    text += QByteArray(i > 0 ? "," : "") + "{\"src\":\"g" + QByteArray::number(i) + "\",\"dst\":\"g" +
            QByteArray::number((i + 1) % 4) + "\",\"bandwidth\":\"" + (i == 0 ? link : QByteArray("10")) + "\"}";
  }
  return text + "]}";
}

}  // namespace

class TestCliProtocol : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void broadcastBetweenBoxes();
  void warningsOfThePrograms();
  void releasesOfRccl();
  void emptyWindowOnce();
  void undefinedResult();
  void plansOfMscclPlusPlus();
  void inputsThatStay();
  void bandwidthThatIsNone();
  void namesStayOnTheirLines();
  void variablesWithoutAHost();
  void bundleNamesTheRoot();

private:
  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  QTemporaryDir m_folder;
};

void TestCliProtocol::initTestCase() {
  QVERIFY(m_folder.isValid());
  QVERIFY(write(path("ring.fabric.json"), fabric()));
  for (const char* collective : {"broadcast", "allgather"}) {
    QStringList words{
        "generate", path("ring.fabric.json"), "-c", collective, "-o", path(QString(collective) + ".forest.json")};
    if (words[3] == "broadcast") {
      words << "--root"
            << "g2";
    }
    const Outcome outcome = run(words);
    VERIFY_TOLD(outcome.code == 0, outcome);
  }
}

void TestCliProtocol::broadcastBetweenBoxes() {
  const QString schedule = path("broadcast.forest.json");
  const Outcome chosen = run({"export", schedule, "-o", path("b.xml")});
  VERIFY_TOLD(chosen.code == 0 && chosen.out.contains("LL, because Simple hangs in a broadcast between boxes"), chosen);
  QVERIFY(contents(path("b.xml")).contains("proto=\"LL\""));
  const Outcome refused = run({"export", schedule, "-o", path("s.xml"), "--protocol", "Simple"});
  VERIFY_TOLD(refused.code == 2 && refused.err.contains("broadcast in Simple hangs between boxes"), refused);
  QVERIFY(!QFile::exists(path("s.xml")));
  const Outcome asked = run({"export", schedule, "-o", path("l.xml"), "--protocol", "LL128"});
  VERIFY_TOLD(asked.code == 0 && !asked.out.contains("because"), asked);
  const Outcome other = run({"export", path("allgather.forest.json"), "-o", path("a.xml"), "--protocol", "Simple"});
  VERIFY_TOLD(other.code == 0 && !other.out.contains("warning"), other);
}

void TestCliProtocol::warningsOfThePrograms() {
  Outcome outcome = run({"export", path("broadcast.forest.json"), "-o", path("b.xml")});
  VERIFY_TOLD(outcome.code == 0, outcome);
  VERIFY_TOLD(outcome.out.contains("warning: no runtime compares the root: a call with another root than rank 2"),
              outcome);
  VERIFY_TOLD(outcome.out.contains("for example b-root2.xml"), outcome);
  outcome = run({"export", path("broadcast.forest.json"), "-o", path("b.xml"), "--json"});
  VERIFY_TOLD(outcome.json()["root"].toInt() == 2 && !outcome.json()["findings"].toArray().isEmpty(), outcome);
  outcome = run({"verify", path("b.xml")});
  VERIFY_TOLD(outcome.code == 0 && outcome.out.contains("no runtime compares the root"), outcome);
  VERIFY_TOLD(!outcome.out.contains("Simple hangs"), outcome);
  outcome = run({"verify", "-"}, contents(path("b.xml")).replace("proto=\"LL\"", "proto=\"Simple\""));
  VERIFY_TOLD(outcome.code == 0 && outcome.out.contains("broadcast in Simple hangs on all runtimes"), outcome);
}

void TestCliProtocol::releasesOfRccl() {
  QByteArray text;
  for (const char* target : {"rccl", "rccl-6.1", "rccl-6.0"}) {
    const Outcome outcome = run({"export", path("allgather.forest.json"), "--target", target, "-o", path("r.xml")});
    VERIFY_TOLD(outcome.code == 0 && outcome.out.contains(QByteArray(" for ") + target + "\n"), outcome);
    text = contents(path("r.xml"));
  }
  text.replace(text.indexOf("nchannels=\""), text.indexOf("nchunksperloop") - text.indexOf("nchannels=\""),
               "nchannels=\"100\" ");
  for (const auto& [runtime, limit] : {std::pair{"rccl", 128}, std::pair{"rccl-6.1", 64}, std::pair{"rccl-6.0", 32}}) {
    const Outcome outcome = run({"verify", "-", "--runtime", runtime}, text);
    VERIFY_TOLD(outcome.code == (limit > 100 ? 0 : 1), outcome);
    VERIFY_TOLD(limit > 100 || outcome.out.contains("must be 1 to " + QByteArray::number(limit) + " for " + runtime),
                outcome);
  }
  const Outcome outcome = run({"verify", "-", "--runtime", "rccl-5.5"}, text);
  VERIFY_TOLD(outcome.code == 2 && outcome.err.contains("use msccl, msccl-executor-nccl, rccl, rccl-6.1 or rccl-6.0"),
              outcome);
}

void TestCliProtocol::emptyWindowOnce() {
  const Outcome exported = run({"export", path("allgather.forest.json"), "-o", path("a.xml"), "--max-bytes", "1MiB"});
  VERIFY_TOLD(exported.code == 0, exported);
  QByteArray text = contents(path("a.xml"));
  text.replace("minBytes=\"0\"", "minBytes=\"1048576\"");
  const Outcome outcome = run({"verify", "-"}, text);
  VERIFY_TOLD(outcome.code == 0 && outcome.out.count("the size window is empty") == 1, outcome);
}

void TestCliProtocol::undefinedResult() {
  QVERIFY(run({"export", path("allgather.forest.json"), "-o", path("a.xml")}).code == 0);
  QByteArray text = contents(path("a.xml"));
  text.replace("coll=\"allgather\"", "coll=\"custom\"");
  Outcome outcome = run({"verify", "-"}, text);
  VERIFY_TOLD(outcome.code == 1, outcome);
  VERIFY_TOLD(outcome.out.contains("  result      not judged: coll=\"custom\" does not define one\n"), outcome);
  VERIFY_TOLD(outcome.out.contains("races, deadlock and the limits of msccl: no fault found"), outcome);
  outcome = run({"verify", "-", "--json"}, text);
  VERIFY_TOLD(!outcome.json()["result_judged"].toBool(true), outcome);
}

void TestCliProtocol::plansOfMscclPlusPlus() {
  const QByteArray plan =
      "{\"name\": \"allreduce_2nodes\", \"collective\": \"allreduce\", \"protocol\": \"LL\", \"inplace\": true,"
      "\"gpus\": [{\"id\": 0, \"input_chunks\": 1, \"threadblocks\": []}]}";
  QVERIFY(write(path("plan.json"), plan));
  for (const QStringList& words :
       {QStringList{"optimum", path("plan.json"), "--from", "json"},
        QStringList{"export", path("plan.json"), "-o", path("x.xml")}}) {
    const Outcome outcome = run(words);
    VERIFY_TOLD(outcome.code == 2 && outcome.err.contains("\"allreduce_2nodes\" is an execution plan of MSCCL++"),
                outcome);
    VERIFY_TOLD(!outcome.err.contains("forest file"), outcome);
  }
  const Outcome judged = run({"verify", path("plan.json")});
  VERIFY_TOLD(judged.code == 2 && judged.err.contains("rank 0: no \"output_chunks\""), judged);
}

/// -o on the input would replace the fabric by its schedule.
void TestCliProtocol::inputsThatStay() {
  const QByteArray before = fabric();
  QVERIFY(write(path("only.fabric.json"), before));
  Outcome outcome = run({"generate", path("only.fabric.json"), "-o", path("./only.fabric.json")});
  VERIFY_TOLD(outcome.code == 2 && outcome.err.contains("is the input file, which would be overwritten"), outcome);
  QCOMPARE(contents(path("only.fabric.json")), before);
  outcome = run({"export", path("allgather.forest.json"), "-o", path("allgather.forest.json")});
  VERIFY_TOLD(outcome.code == 2 && outcome.err.contains("is the input file, which would be overwritten"), outcome);
}

void TestCliProtocol::bandwidthThatIsNone() {
  for (const char* suffix : {".dot", ".adj.json", ".fabric.json"}) {
    const Outcome outcome =
        run({"convert", "-", "--from", "json", "-o", path(QString("banana") + suffix)}, fabric("banana"));
    VERIFY_TOLD(outcome.code == 2, outcome);
    VERIFY_TOLD(outcome.err.contains("link 0 \"g0\" -> \"g1\": \"banana\" is not a bandwidth; write GB/s"), outcome);
    QVERIFY(!QFile::exists(path(QString("banana") + suffix)));
  }
}

void TestCliProtocol::namesStayOnTheirLines() {
  QVERIFY(write(path("forged.fabric.json"), fabric("10", "ring\\n  busbw       900 GB/s")));
  for (const QStringList& words : {QStringList{"check"}, QStringList{"optimum"}, QStringList{"generate"},
                                   QStringList{"convert", "-o", path("out.fabric.json")}}) {
    QStringList line = words;
    line.insert(1, path("forged.fabric.json"));
    const Outcome outcome = run(line);
    VERIFY_TOLD(outcome.code == 0 && outcome.out.contains("ring\\n  busbw       900 GB/s"), outcome);
    VERIFY_TOLD(!outcome.out.contains("\n  busbw       900"), outcome);
  }
}

void TestCliProtocol::variablesWithoutAHost() {
  const Outcome outcome = run({"run", path("allgather.forest.json"), "--env", "NCCL_DEBUG=INFO"});
  VERIFY_TOLD(outcome.code == 2 && outcome.err.contains("--env sets variables of a run on another machine"), outcome);
}

void TestCliProtocol::bundleNamesTheRoot() {
  QVERIFY(run({"export", path("broadcast.forest.json"), "-o", path("b.xml")}).code == 0);
  for (const QString& file : {path("broadcast.forest.json"), path("b.xml"), path("allgather.forest.json")}) {
    const QString folder = file + ".bundle";
    const Outcome outcome = run({"run", file, "--bundle", folder});
    VERIFY_TOLD(outcome.code == 0, outcome);
    const QByteArray text = contents(folder + "/README.md");
    QCOMPARE(text.contains("The root is rank 2.") && text.contains("`name-root2.xml`"), !file.contains("allgather"));
    QCOMPARE(text.contains("do not compare roots"), !file.contains("allgather"));
  }
}

QTEST_GUILESS_MAIN(TestCliProtocol)
#include "tst_cli_protocol.moc"
