// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// At which sizes runtimes use what coppice-cli makes, as it says and as it is asked for.
namespace {

QString example(const QString& name) {
  return QStringLiteral(COPPICE_EXAMPLES) + "/" + name + ".fabric.json";
}

QString chunksOf(const QString& program) {
  static const QRegularExpression kChunks(QStringLiteral("nchunksperloop=\"(\\d+)\""));
  QFile file(program);
  return file.open(QIODevice::ReadOnly) ? kChunks.match(QString::fromUtf8(file.readAll())).captured(1) : QString();
}

}  // namespace

class TestCliSizes : public QObject {
  Q_OBJECT

private slots:
  void powersOfTwo_data();
  void powersOfTwo();
  void sizesAsAsked_data();
  void sizesAsAsked();
  void refusals_data();
  void refusals();
  void usedAtEverywhere();
  void exportNamesTheSetting();
  void instancesAlone();
  void scheduleAsFabric();
  void guides_data();
  void guides();
  void windowIsEmptyOnce();

private:
  [[nodiscard]] QString path(const QString& name) const { return m_folder.filePath(name); }
  QTemporaryDir m_folder;
};

void TestCliSizes::powersOfTwo_data() {
  QTest::addColumn<QString>("fabric");
  QTest::addColumn<int>("k");
  QTest::addColumn<QString>("loss");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("chunks");
  QTest::newRow("2x A100") << "2x-dgx-a100" << 8 << "1/481"
                           << "1/481 = 0.21 % of the optimum"
                           << "128";
  QTest::newRow("4x H100, rails") << "4x-dgx-h100-rails" << 1 << "1/280"
                                  << "1/280 = 0.36 % of the optimum"
                                  << "32";
  QTest::newRow("2x MI250") << "2x-mi250" << 32 << "7/2407"
                            << "7/2407 = 0.29 % of the optimum"
                            << "1024";
  QTest::newRow("2x H100") << "2x-dgx-h100" << 2 << "0"
                           << "it loses nothing"
                           << "32";
}

void TestCliSizes::powersOfTwo() {
  QFETCH(QString, fabric);
  QFETCH(QString, text);
  const QString schedule = path(fabric + ".forest.json");
  const Outcome made = run({"generate", example(fabric), "--sizes", "pow2", "-o", schedule, "--json"});
  VERIFY_TOLD(made.code == 0, made);
  QTEST(made.in("sizes")["k"].toInt(), "k");
  QTEST(made.json()["k"].toInt(), "k");
  QTEST(made.in("sizes")["loss"].toString(), "loss");
  QVERIFY(made.in("used_at")["powers_of_two"].toBool());
  const Outcome said = run({"generate", example(fabric), "--sizes", "pow2"});
  VERIFY_TOLD(said.out.contains(text.toUtf8()), said);
  const QString program = path(fabric + ".xml");
  const Outcome exported = run({"export", schedule, "-o", program, "--json"});
  VERIFY_TOLD(exported.code == 0, exported);
  QVERIFY(exported.in("used_at")["powers_of_two"].toBool());
  QVERIFY(!exported.json().contains("setting"));
  QVERIFY(!exported.json().contains("warnings"));
  QTEST(chunksOf(program), "chunks");
  const Outcome verified = run({"verify", program, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
  QVERIFY(verified.in("used_at")["powers_of_two"].toBool());
}

void TestCliSizes::sizesAsAsked_data() {
  QTest::addColumn<QStringList>("options");
  QTest::addColumn<int>("k");
  QTest::newRow("a multiple of all chunks") << QStringList{"--sizes", "208KiB"} << 13;
  QTest::newRow("two powers") << QStringList{"--sizes", "1MiB,1GiB"} << 8;
  QTest::newRow("both kinds") << QStringList{"--sizes", "pow2,208KiB"} << 8;
  QTest::newRow("up to 4 trees") << QStringList{"--sizes", "pow2", "--k-max", "4"} << 1;
  QTest::newRow("up to 64 trees") << QStringList{"--sizes", "pow2", "--k-max", "64"} << 64;
}

void TestCliSizes::sizesAsAsked() {
  QFETCH(QStringList, options);
  const Outcome made = run(QStringList{"generate", example("2x-dgx-a100"), "--json"} + options);
  VERIFY_TOLD(made.code == 0, made);
  QTEST(made.in("sizes")["k"].toInt(), "k");
}

void TestCliSizes::refusals_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QByteArray>("text");
  const auto row = [](const char* name, const QStringList& arguments, int code, const QByteArray& text) {
    QTest::newRow(name) << arguments << code << text;
  };
  row("no size", {"--sizes", "pow3"}, 2, "--sizes: \"pow3\" is not a whole number of bytes");
  row("nothing", {"--sizes", "pow2,"}, 2, "--sizes: \"\" is not");
  row("zero", {"--sizes", "0"}, 2, "is not a size");
  row("with k", {"--sizes", "pow2", "--k", "3"}, 2, "cannot be combined with");
  row("amounts", {"--sizes", "pow2", "--amounts", "b0g0=2"}, 2, "--sizes: programs give every rank an equal part");
  row("too small a size", {"--sizes", "8"}, 1, "no number of trees per root from 1 to 13");
}

void TestCliSizes::refusals() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QByteArray, text);
  const Outcome outcome = run(QStringList{"generate", example("2x-dgx-a100")} + arguments);
  VERIFY_TOLD(outcome.code == code, outcome);
  VERIFY_TOLD(outcome.err.contains(text), outcome);
}

/// The optimal allgather of two A100 boxes has 16 x 13 chunks.
void TestCliSizes::usedAtEverywhere() {
  const QString schedule = path("plain.forest.json");
  const QString program = path("plain.xml");
  const auto isOdd = [](const QJsonObject& json, const QString& unit) {
    const QJsonObject at = json["used_at"].toObject();
    return at["multiple_of"].toInt() == 208 && !at["powers_of_two"].toBool(true) && at["unit"].toString() == unit;
  };
  const Outcome made = run({"generate", example("2x-dgx-a100"), "-o", schedule, "--json"});
  VERIFY_TOLD(made.code == 0 && isOdd(made.json(), "elements"), made);
  const Outcome judged = run({"verify", schedule, "--json"});
  VERIFY_TOLD(judged.code == 0 && isOdd(judged.json(), "elements"), judged);
  // MSCCL counts an allgather in bytes, the others in elements.
  const Outcome exported = run({"export", schedule, "-o", program, "--json"});
  VERIFY_TOLD(exported.code == 0 && isOdd(exported.json(), "bytes"), exported);
  const Outcome bytes = run({"verify", program, "--json"});
  VERIFY_TOLD(bytes.code == 0 && isOdd(bytes.json(), "bytes"), bytes);
  const Outcome elements = run({"verify", program, "--runtime", "msccl-executor-nccl", "--json"});
  VERIFY_TOLD(elements.code == 0 && isOdd(elements.json(), "elements"), elements);
  for (const QStringList& arguments : {QStringList{"generate", example("2x-dgx-a100")},
                                       {"verify", schedule},
                                       {"export", schedule, "-o", program},
                                       {"verify", program}}) {
    const Outcome said = run(arguments);
    VERIFY_TOLD(said.out.contains("  used at     ") && said.out.contains("multiples of 208") &&
                    said.out.contains("not at powers of two"),
                said);
  }
}

/// The command that export names does what it says.
void TestCliSizes::exportNamesTheSetting() {
  const QString schedule = path("with space.forest.json");
  QCOMPARE(
      run({"generate", example("2x-dgx-a100"), "-c", "broadcast", "--root", "b1g2", "--k", "3", "-o", schedule}).code,
      0);
  const Outcome said = run({"export", schedule, "-o", path("broadcast.xml"), "--json"});
  VERIFY_TOLD(said.code == 0, said);
  const QJsonObject setting = said.json()["setting"].toObject();
  QVERIFY(!setting["price"].toString().isEmpty());
  QCOMPARE(said.json()["warnings"].toArray().size(), 1);
  QString command = setting["command"].toString();
  QVERIFY2(command.startsWith("coppice-cli generate '"), qPrintable(command));
  QVERIFY2(command.contains("--root b1g2"), qPrintable(command));
  QProcess shell;
  shell.start("/bin/sh", {"-c", command.replace(0, int(qstrlen("coppice-cli")), QStringLiteral(COPPICE_CLI))});
  const Outcome made = finish(shell);
  VERIFY_TOLD(made.code == 0, made);
  const QString better = path("with space-k" + QString::number(setting["k"].toInt()) + ".forest.json");
  QVERIFY2(QFileInfo::exists(better), qPrintable(better));
  const Outcome exported = run({"export", better, "-o", path("broadcast.xml"), "--json"});
  VERIFY_TOLD(exported.code == 0 && exported.in("used_at")["powers_of_two"].toBool(), exported);

  QCOMPARE(run({"generate", example("2x-dgx-a100"), "-o", schedule}).code, 0);
  const Outcome text = run({"export", schedule, "-o", path("plain.xml")});
  VERIFY_TOLD(text.out.contains("k = 8 is used there, at a loss of 1/481 = 0.21 % of the throughput:"), text);
  VERIFY_TOLD(text.out.contains("-c allgather --k 8 -o "), text);
}

void TestCliSizes::instancesAlone() {
  const QString schedule = path("instances.forest.json");
  QCOMPARE(run({"generate", example("2x-dgx-a100"), "--k", "1", "-o", schedule}).code, 0);
  const Outcome said = run({"export", schedule, "-o", path("three.xml"), "--instances", "3"});
  VERIFY_TOLD(said.code == 0 && said.out.contains("export with --instances 2"), said);
  VERIFY_TOLD(!said.out.contains("coppice-cli generate"), said);
}

void TestCliSizes::scheduleAsFabric() {
  const QString schedule = path("source.forest.json");
  QCOMPARE(run({"generate", example("2x-dgx-a100"), "-c", "allreduce", "--k", "1", "-o", schedule}).code, 0);
  const Outcome optimum = run({"optimum", schedule, "--json"});
  VERIFY_TOLD(optimum.code == 0, optimum);
  QCOMPARE(optimum.json()["algbw"].toString(), "1040/3");
  QCOMPARE(optimum.json()["digest"].toString(),
           run({"optimum", example("2x-dgx-a100"), "--json"}).json()["digest"].toString());
  const Outcome broken = run({"optimum", path("none.forest.json")});
  VERIFY_TOLD(broken.code == 2 && broken.err.contains("none.forest.json"), broken);
}

void TestCliSizes::guides_data() {
  QTest::addColumn<QString>("target");
  QTest::addColumn<QString>("variable");
  QTest::newRow("msccl") << "msccl"
                         << "MSCCL_XML_FILES";
  QTest::newRow("executor") << "msccl-executor-nccl"
                            << "MSCCL_ALGO_DIR";
  QTest::newRow("rccl") << "rccl"
                        << "MSCCL_ALGO_DIR";
}

void TestCliSizes::guides() {
  QFETCH(QString, target);
  QFETCH(QString, variable);
  const QString schedule = path("guide.forest.json");
  const QString program = path("guide.xml");
  QCOMPARE(run({"generate", example("2x-dgx-a100"), "--sizes", "pow2", "--k-max", "1", "-o", schedule}).code, 0);
  const Outcome exported = run({"export", schedule, "--target", target, "-o", program, "--json"});
  VERIFY_TOLD(exported.code == 0, exported);
  const QJsonObject guide = exported.json()["run"].toObject();
  QVERIFY2(guide["environment"].toObject().contains(variable), told(exported).constData());
  QVERIFY(guide["command"].toString().contains("all_gather_perf"));
  const Outcome said = run({"export", schedule, "--target", target, "-o", program});
  VERIFY_TOLD(said.out.contains("How to run it:\n") && said.out.contains(guide["text"].toString().toUtf8()), said);
}

void TestCliSizes::windowIsEmptyOnce() {
  QFile file(QStringLiteral(COPPICE_TEST_DATA) + "/executor/ring-allgather.xml");
  QVERIFY(file.open(QIODevice::ReadOnly));
  QString text = QString::fromUtf8(file.readAll());
  text.replace(QRegularExpression("minBytes=\"\\d+\""), "minBytes=\"0\"");
  text.replace(QRegularExpression("maxBytes=\"\\d+\""), "maxBytes=\"0\"");
  QVERIFY(text.contains("minBytes=\"0\" maxBytes=\"0\""));
  QFile copy(path("empty.xml"));
  QVERIFY(copy.open(QIODevice::WriteOnly));
  copy.write(text.toUtf8());
  copy.close();
  const Outcome said = run({"verify", path("empty.xml")});
  VERIFY_TOLD(said.code == 0, said);
  QCOMPARE(said.out.count("the size window is empty"), 1);
  VERIFY_TOLD(said.out.contains("none of them lies in the size window"), said);
}

QTEST_GUILESS_MAIN(TestCliSizes)
#include "tst_cli_sizes.moc"
