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

/// The built coppice-cli on large schedules: forests by parts, heights, and the limit of memory.
class TestCliScale : public QObject {
  Q_OBJECT

private slots:
  void initTestCase() { QVERIFY(m_folder.isValid()); }

  /// The same schedule in both forms: same answer, each file verified, exported and shown.
  void bothForms_data() {
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

  void bothForms() {
    QFETCH(QString, fabric);
    QFETCH(QString, collective);
    QJsonObject answers[2];
    int number = 0;
    for (const QString& form : {QStringLiteral("trees"), QStringLiteral("parts")}) {
      const QString file = path(form + ".forest.json");
      const Outcome made = run({"generate", fabric, "-c", collective, "--form", form, "-o", file, "--json"});
      VERIFY_TOLD(made.code == 0 && made.json()["ok"].toBool() && made.json()["verified"].toBool(), made);
      QCOMPARE(made.json()["form"].toString(), form);
      QCOMPARE(contents(file).contains("\"version\": 2"), form == "parts");
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

      const QString trees = path(form + ".xml");
      const Outcome exported = run({"export", file, "--format", "trees", "-o", trees});
      VERIFY_TOLD(exported.code == 0, exported);
      const Outcome read = run({"verify", trees, "--fabric", fabric, "--json"});
      VERIFY_TOLD(read.code == 0, read);
      QCOMPARE(read.json()["algbw"], made.json()["algbw"]);
      answers[number++] = made.json();
    }
    QCOMPARE(answers[0]["algbw"], answers[1]["algbw"]);
    QCOMPARE(answers[0]["trees"], answers[1]["trees"]);
  }

  void partsToProgram() {
    const QString file = path("program.forest.json");
    const Outcome made =
        run({"generate", "preset:dgx-a100,boxes=4", "--form", "parts", "-o", file, "--show-trees", "2"});
    VERIFY_TOLD(made.code == 0, made);
    VERIFY_TOLD(made.out.contains("stored by their parts"), made);
    VERIFY_TOLD(made.out.contains("tree 2 of") && made.out.contains("via b0nvs"), made);
    VERIFY_TOLD(made.out.contains("us along the links from root to leaf"), made);
    const Outcome exported = run({"export", file, "--format", "msccl", "-o", path("program.xml"), "--json"});
    VERIFY_TOLD(exported.code == 0 && exported.json()["verified"].toBool(), exported);
    const Outcome verified = run({"verify", path("program.xml")});
    VERIFY_TOLD(verified.code == 0, verified);
  }

  void pruningNeedsTheTrees() {
    const Outcome pruned = run({"generate", "preset:dgx-a100,boxes=4", "--form", "parts", "--prune", "--json"});
    VERIFY_TOLD(pruned.code == 0, pruned);
    QCOMPARE(pruned.json()["form"].toString(), QStringLiteral("trees"));
  }

  /// What has no parts is written out whatever is asked.
  void fabricWithoutParts() {
    const Outcome made =
        run({"generate", QStringLiteral(COPPICE_EXAMPLES) + "/torus-4x4x4.fabric.json", "--form", "parts", "--json"});
    VERIFY_TOLD(made.code == 0, made);
    QCOMPARE(made.json()["form"].toString(), QStringLiteral("trees"));
    const Outcome text =
        run({"generate", QStringLiteral(COPPICE_EXAMPLES) + "/torus-4x4x4.fabric.json", "--form", "parts"});
    VERIFY_TOLD(text.out.contains("has no parts by which"), text);
  }

  void manyGpusByParts() {
    const QString file = path("many.forest.json");
    const Outcome made =
        run({"generate", "preset:dgx-a100,boxes=256", "--form", "parts", "--memory-limit", "1G", "-o", file, "--json"});
    VERIFY_TOLD(made.code == 0, made);
    QCOMPARE(made.json()["gpus"].toInt(), 2048);
    QCOMPARE(made.json()["form"].toString(), QStringLiteral("parts"));
    QVERIFY(QFileInfo(file).size() < 8 << 20);
    const Outcome verified = run({"verify", file, "--memory-limit", "256M", "--json"});
    VERIFY_TOLD(verified.code == 0 && verified.json()["bound_proved"].toBool(), verified);
  }

  void badOptions_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("says");
    QTest::newRow("form") << QStringList{"--form", "leaves"} << QByteArray("--form: \"leaves\" is not a form");
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
    const QStringList arguments{"generate", "preset:dgx-a100,boxes=512", "--form", "trees", "--memory-limit", "64M",
                                "-o",       path("never.forest.json")};
    const Outcome outcome = run(arguments);
    VERIFY_TOLD(outcome.code == 1, outcome);
    VERIFY_TOLD(outcome.err.contains("take at least 255.9 MiB") && outcome.err.contains("--form parts"), outcome);
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
    const Outcome outcome =
        byShell ? runProgram(QStringLiteral("/bin/sh"),
                             {"-c", "ulimit -v 150000; exec \"$0\" generate " + fabric + " --form parts --json",
                              QStringLiteral(COPPICE_CLI)})
                : run({"generate", fabric, "--form", "parts", "--memory-limit", "64M", "--json"});
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
      out.write(
          "{\"format\": \"coppice-forest\", \"version\": 2, \"broadcast_forest\": {\"parts\": {\"shapes\": [{\"vias\": "
          "[");
      const QByteArray many = QByteArray("[],").repeated(1 << 20);
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
