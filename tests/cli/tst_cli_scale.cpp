// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

/// The built coppice-cli on large schedules: the trees of one GPU and their rotations, heights, the limit of memory.
class TestCliScale : public QObject {
  Q_OBJECT

private slots:
  void initTestCase() { QVERIFY(m_folder.isValid()); }

  /// What is said of the trees is said again of their file, which is exported too.
  void heightsAndFiles_data() {
    QTest::addColumn<QString>("fabric");
    QTest::addColumn<QString>("collective");
    QTest::newRow("allgather") << "preset:dgx-a100,boxes=4"
                               << "allgather";
    QTest::newRow("reduce-scatter") << "preset:dgx-a100,boxes=4"
                                    << "reduce_scatter";
    QTest::newRow("allreduce") << "preset:dgx-a100,boxes=4"
                               << "allreduce";
    QTest::newRow("other boxes") << "preset:mi250,boxes=2"
                                 << "allgather";
  }

  void heightsAndFiles() {
    QFETCH(QString, fabric);
    QFETCH(QString, collective);
    const QString file = path("heights.forest.json");
    const Outcome made = run({"generate", fabric, "-c", collective, "-o", file, "--json"});
    VERIFY_TOLD(made.code == 0 && made.json()["ok"].toBool() && made.json()["verified"].toBool(), made);
    QCOMPARE(made.json()["form"].toString(), QStringLiteral("trees"));
    const Outcome verified = run({"verify", file, "--json"});
    VERIFY_TOLD(verified.code == 0 && verified.json()["ok"].toBool(), verified);
    for (const char* key : {"algbw", "max_height", "max_physical_height", "max_latency_us", "mean_height",
                            "mean_physical_height", "mean_latency_us", "trees", "tree_batches", "form"}) {
      VERIFY_TOLD(made.json().contains(key), made);
      QCOMPARE(verified.json()[key], made.json()[key]);
    }
    QVERIFY(made.json()["mean_height"].toDouble() <= made.json()["max_height"].toDouble());
    QVERIFY(made.json()["mean_latency_us"].toDouble() <= made.json()["max_latency_us"].toDouble() + 1e-9);
    QVERIFY(made.json()["mean_physical_height"].toDouble() >= made.json()["mean_height"].toDouble());
    QVERIFY(made.json()["default_latencies"].toInt() > 0);

    const QString trees = path("heights.xml");
    const Outcome exported = run({"export", file, "--format", "trees", "-o", trees});
    VERIFY_TOLD(exported.code == 0, exported);
    const Outcome read = run({"verify", trees, "--fabric", fabric, "--json"});
    VERIFY_TOLD(read.code == 0, read);
    QCOMPARE(read.json()["algbw"], made.json()["algbw"]);
  }

  void treesToProgram() {
    const QString file = path("program.forest.json");
    const Outcome made = run({"generate", "preset:dgx-a100,boxes=4", "-o", file, "--show-trees", "2"});
    VERIFY_TOLD(made.code == 0, made);
    VERIFY_TOLD(made.out.contains("tree 2 of") && made.out.contains("via b0nvs"), made);
    VERIFY_TOLD(made.out.contains("us along the links from root to leaf"), made);
    const Outcome exported = run({"export", file, "--format", "msccl", "-o", path("program.xml"), "--json"});
    VERIFY_TOLD(exported.code == 0 && exported.json()["verified"].toBool(), exported);
    const Outcome verified = run({"verify", path("program.xml")});
    VERIFY_TOLD(verified.code == 0, verified);
  }

  /// More edges than are verified one by one.
  void manyGpus() {
    const QString file = path("many.forest.json");
    const Outcome made = run(
        {"generate", "preset:dgx-a100,boxes=513", "--memory-limit", "1G", "--show-trees", "1", "-o", file, "--json"});
    VERIFY_TOLD(made.code == 0, made);
    QCOMPARE(made.json()["gpus"].toInt(), 4104);
    QCOMPARE(made.json()["form"].toString(), QStringLiteral("rotations"));
    QVERIFY(made.json()["verified_by_parts"].toBool());
    QVERIFY(QFileInfo(file).size() < 8 << 20);
    const Outcome verified = run({"verify", file, "--memory-limit", "256M", "--json"});
    VERIFY_TOLD(verified.code == 0 && verified.json()["bound_proved"].toBool(), verified);
    QCOMPARE(verified.json()["form"].toString(), QStringLiteral("rotations"));
    QVERIFY(verified.json()["verified_by_parts"].toBool());
  }

  void badOptions_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("no amount") << QStringList{"--memory-limit", "much"} << QByteArray("is not a whole number of bytes");
    QTest::newRow("nothing") << QStringList{"--memory-limit", "0"} << QByteArray("are not enough");
    QTest::newRow("little") << QStringList{"--memory-limit", "63M"} << QByteArray("at least 64.0 MiB");
    QTest::newRow("negative") << QStringList{"--memory-limit=-4G"} << QByteArray("--memory-limit");
    QTest::newRow("beyond 64 bits") << QStringList{"--memory-limit", "99999999T"} << QByteArray("more than 2^63");
  }

  void badOptions() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, says);
    const Outcome outcome = run(QStringList{"generate", "preset:dgx-a100,boxes=2"} + arguments);
    VERIFY_TOLD(outcome.code == 2, outcome);
    VERIFY_TOLD(outcome.err.contains(says), outcome);
    QCOMPARE(outcome.err.count('\n'), 1);
  }

  /// Refused before the work, with what it takes and what helps.
  void tooLargeWrittenOut() {
    const QStringList arguments{"generate", "preset:mi250,boxes=256", "--memory-limit", "128M",
                                "-o",       path("never.forest.json")};
    const Outcome outcome = run(arguments);
    VERIFY_TOLD(outcome.code == 1, outcome);
    VERIFY_TOLD(outcome.err.contains("the 4096 different trees take about 256 MiB"), outcome);
    VERIFY_TOLD(outcome.err.contains("use a smaller k or fewer GPUs"), outcome);
    QCOMPARE(outcome.err.count('\n'), 1);
    const Outcome json = run(arguments + QStringList{"--json"});
    VERIFY_TOLD(json.code == 1, json);
    QCOMPARE(json.json()["code"].toString(), QStringLiteral("limit"));
    QVERIFY(!QFileInfo::exists(path("never.forest.json")));
  }

  /// Running out in the middle ends in a message too, under its own limit and under the shell's.
  void outOfMemory_data() {
    QTest::addColumn<bool>("byShell");
    QTest::newRow("--memory-limit") << false;
    QTest::newRow("ulimit -v") << true;
  }

  void outOfMemory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QSKIP("sanitizers end the program where memory runs out");
#endif
    QFETCH(bool, byShell);
    const QString fabric = QStringLiteral("preset:dgx-a100,boxes=1024");
    const Outcome outcome = byShell ? runProgram(QStringLiteral("/bin/sh"),
                                                 {"-c", "ulimit -v 150000; exec \"$0\" generate " + fabric + " --json",
                                                  QStringLiteral(COPPICE_CLI)})
                                    : run({"generate", fabric, "--memory-limit", "64M", "--json"});
    VERIFY_TOLD(outcome.code == 1, outcome);
    QCOMPARE(outcome.json()["code"].toString(), QStringLiteral("limit"));
    VERIFY_TOLD(outcome.json()["error"].toString().contains("memory"), outcome);
    QCOMPARE(outcome.err.count('\n'), 1);
  }

  /// A file that asks for more than there is.
  void hugeFile() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    QSKIP("sanitizers end the program where memory runs out");
#endif
    const QString file = path("huge.forest.json");
    {
      QFile out(file);
      QVERIFY(out.open(QIODevice::WriteOnly));
      out.write("{\"format\": \"coppice-forest\", \"version\": 1, \"broadcast_forest\": {\"paths\": [");
      const QByteArray many = QByteArray("[0,1],").repeated(1 << 19);
      for (int i = 0; i < 24; ++i) {
        out.write(many);
      }
    }
    const Outcome outcome = run({"verify", file, "--memory-limit", "192M"});
    VERIFY_TOLD(outcome.code == 1, outcome);
    VERIFY_TOLD(outcome.err.contains("not enough memory"), outcome);
    QFile::remove(file);
  }

private:
  [[nodiscard]] QString path(const QString& name) const {
    return m_folder.filePath(name);
  }

  QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestCliScale)
#include "tst_cli_scale.moc"
