// SPDX-License-Identifier: Apache-2.0
#include <QJsonArray>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

/// The built coppice-cli where it simulates schedules and programs.
using namespace coppice::test;

class TestCliSimulate : public QObject {
  Q_OBJECT

private slots:
  void initTestCase();
  void help();
  void rows();
  void bandwidthOnly();
  void pieces();
  void profile();
  void text();
  void outputs();
  void criticalPath();
  void programs_data();
  void programs();
  void measuredTable();
  void measuredTrace();
  void errors_data();
  void errors();

private:
  [[nodiscard]] QString file(const QString& name) const { return m_folder.filePath(name); }

  QTemporaryDir m_folder;
  QString m_schedule;
};

void TestCliSimulate::initTestCase() {
  QVERIFY(m_folder.isValid());
  m_schedule = file("ag.forest.json");
  const Outcome made =
      run({"generate", QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json", "-o", m_schedule});
  VERIFY_TOLD(made.code == 0, made);
}

void TestCliSimulate::help() {
  const Outcome outcome = run({"simulate", "--help"});
  QCOMPARE(outcome.code, 0);
  for (const char* word :
       {"--fabric", "--begin", "--end", "--factor", "--pieces", "--link-latency", "--message-overhead", "--total-rate",
        "--profile", "--trace", "--csv", "--json", "Examples:"}) {
    VERIFY_TOLD(outcome.out.contains(word), outcome);
  }
  VERIFY_TOLD(run({"--help"}).out.contains("simulate"), outcome);
}

/// One row for each size, with the fields that scripts read.
void TestCliSimulate::rows() {
  const Outcome outcome = run({"simulate", m_schedule, "-b", "1M", "-e", "16M", "-f", "4", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray rows = outcome.json()["rows"].toArray();
  QCOMPARE(rows.size(), 3);
  qint64 size = 1 << 20;
  double lastTime = 0;
  for (const QJsonValue& row : rows) {
    QCOMPARE(row["size"].toInteger(), size);
    const double time = row["time_us"].toDouble();
    QVERIFY(time > lastTime);
    QVERIFY(std::abs(row["algbw"].toDouble() - static_cast<double>(size) / time / 1000) < 1e-6);
    QVERIFY(std::abs(row["busbw"].toDouble() - row["algbw"].toDouble() * 15 / 16) < 1e-6);
    QVERIFY(row["pieces"].toInt() >= 1);
    size *= 4;
    lastTime = time;
  }
  // The same twice.
  QCOMPARE(run({"simulate", m_schedule, "-b", "1M", "-e", "16M", "-f", "4", "--json"}).json()["rows"].toArray(), rows);
  // -b alone is one size.
  QCOMPARE(run({"simulate", m_schedule, "-b", "1000", "--json"}).json()["rows"].toArray().size(), 1);
}

/// With both latencies 0 and enough pieces only bandwidth counts: 1040/3 from below, whatever the size.
void TestCliSimulate::bandwidthOnly() {
  const QStringList free{"--link-latency", "0", "--message-overhead", "0", "--json"};
  double last = 0;
  for (const char* pieces : {"1", "10", "1000"}) {
    const Outcome outcome = run(QStringList{"simulate", m_schedule, "-b", "1G", "--pieces", pieces} + free);
    VERIFY_TOLD(outcome.code == 0, outcome);
    const double algbw = outcome.json()["rows"][0]["algbw"].toDouble();
    QVERIFY(algbw > last && algbw <= 1040.0 / 3 * (1 + 1e-9));
    last = algbw;
  }
  QVERIFY(last > 0.99 * 1040 / 3);
  const Outcome small = run(QStringList{"simulate", m_schedule, "-b", "16", "--pieces", "1000"} + free);
  QVERIFY(std::abs(small.json()["rows"][0]["algbw"].toDouble() - last) < 1e-6 * last);
}

void TestCliSimulate::pieces() {
  const auto timeOf = [&](const QStringList& more) {
    const Outcome outcome = run(QStringList{"simulate", m_schedule, "-b", "64M", "--json"} + more);
    return outcome.code == 0 ? outcome.json()["rows"][0]["time_us"].toDouble() : -1;
  };
  const double best = timeOf({"--best-pieces"});
  QVERIFY(best > 0);
  for (const char* pieces : {"1", "4", "64"}) {
    QVERIFY(best <= timeOf({"--pieces", pieces}));
  }
}

/// What a profile says of messages takes the place of the latencies of the fabric.
void TestCliSimulate::profile() {
  const auto write = [&](const QString& name, const QByteArray& text) {
    QFile out(file(name));
    return out.open(QIODevice::WriteOnly) && out.write(text) == text.size() ? out.fileName() : QString();
  };
  const QString together = write("together.json",
                                 R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":9,"bandwidth_GBps":2}],
          "together":{"ranks":16,"alpha_us":0.5,"beta_us_per_MB":100}})");
  const QString pairs =
      write("pairs.json", R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":200,"bandwidth_GBps":20}]})");
  const auto rowsOf = [&](const QStringList& more) {
    const Outcome outcome =
        run(QStringList{"simulate", m_schedule, "-b", "1K", "-e", "4M", "-f", "64", "--json"} + more);
    return outcome.code == 0 ? outcome.json()["rows"].toArray() : QJsonArray{};
  };
  const QJsonArray shared = rowsOf({"--profile", together});
  QVERIFY(!shared.isEmpty());
  // The same by hand: 100 us per MB are 10 GB/s, and 0.5 us as long as 5,000 bytes.
  QCOMPARE(shared,
           rowsOf({"--link-latency", "0", "--message-overhead", "0", "--total-rate", "10", "--message-bytes", "5000"}));
  // What each of 16 ranks gets from 15 others goes through the one rate.
  const double last = shared.last()["time_us"].toDouble();
  QVERIFY(last > 15 * 4194304.0 / 10000);
  // Between two ranks alone: only what crosses there takes longer.
  const QJsonArray slowPair = rowsOf({"--profile", pairs});
  QVERIFY(!slowPair.isEmpty());
  QVERIFY(slowPair.first()["time_us"].toDouble() > rowsOf({}).first()["time_us"].toDouble());
  // The time of additions, unless the command line gives one.
  const QJsonArray reducing = [&] {
    const QString adds =
        write("adds.json", R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":1,"bandwidth_GBps":20}],
          "addition":{"ps_per_byte":500}})");
    const QString none =
        write("none-added.json", R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":1,"bandwidth_GBps":20}]})");
    const QString reduce = file("profiled.reduce.json");
    if (run({"generate", QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json", "-c", "reduce_scatter", "-o",
             reduce})
            .code != 0) {
      return QJsonArray{};
    }
    QJsonArray times;
    for (const QStringList& more : {QStringList{"--profile", adds},
                                    {"--profile", none, "--addition-time", "500"},
                                    {"--profile", none},
                                    {"--profile", adds, "--addition-time", "200"}}) {
      const Outcome outcome = run(QStringList{"simulate", reduce, "-b", "64M", "-e", "64M", "--json"} + more);
      times.append(outcome.json()["rows"].toArray().first()["time_us"]);
    }
    return times;
  }();
  QCOMPARE(reducing.size(), 4);
  QCOMPARE(reducing[0], reducing[1]);
  QVERIFY(reducing[0].toDouble() > reducing[3].toDouble());
  QVERIFY(reducing[3].toDouble() > reducing[2].toDouble());
  for (const QByteArray text :
       {"{", "{}", R"({"t":"profile","links":[]})",
        R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":1,"bandwidth_GBps":0}]})",
        R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":1,"bandwidth_GBps":2}],"addition":{}})",
        R"({"t":"profile","links":[],"together":{"alpha_us":-1,"beta_us_per_MB":1}})"}) {
    const Outcome refused = run({"simulate", m_schedule, "-b", "1K", "--profile", write("bad.json", text)});
    QCOMPARE(refused.code, 2);
    VERIFY_TOLD(refused.err.contains("bad.json") && refused.err.contains("profile"), refused);
  }
  VERIFY_TOLD(run({"simulate", m_schedule, "-b", "1K", "--profile", file("none.json")}).code == 2, Outcome{});
}

void TestCliSimulate::text() {
  const Outcome outcome = run({"simulate", m_schedule, "-b", "1M", "-e", "2M", "--links", "3"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  VERIFY_TOLD(outcome.out.contains("algbw (GB/s)") && outcome.out.contains("1048576") &&
                  outcome.out.contains("busiest links") && outcome.out.contains("1040/3"),
              outcome);
}

void TestCliSimulate::outputs() {
  const Outcome outcome = run({"simulate", m_schedule, "-b", "1M", "-e", "4M", "--trace", file("trace.json"), "--csv",
                               file("rows.csv"), "--nccl-tests", file("rows.txt"), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["trace"].toString(), file("trace.json"));
  QVERIFY(QJsonDocument::fromJson(contents(file("trace.json"))).object()["traceEvents"].toArray().size() > 100);
  const QByteArrayList csv = contents(file("rows.csv")).split('\n');
  QCOMPARE(csv.size(), 5);
  QVERIFY(csv[0].startsWith("size,pieces,time_us,algbw_GBps,busbw_GBps"));
  QVERIFY(csv[3].startsWith("4194304,"));
  QVERIFY(contents(file("rows.txt")).contains("out-of-place"));
  // To standard output, with the table on standard error.
  const Outcome piped = run({"simulate", m_schedule, "-b", "1M", "--csv", "-"});
  VERIFY_TOLD(piped.code == 0 && piped.out.startsWith("size,") && piped.err.contains("algbw"), piped);
}

void TestCliSimulate::criticalPath() {
  const Outcome outcome = run({"simulate", m_schedule, "-b", "1M", "--critical-path", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  double sum = 0;
  for (const QJsonValue& part : outcome.json()["critical_path"].toArray()) {
    for (const char* key : {"overhead_us", "sending_us", "sharing_us", "latency_us"}) {
      sum += part[key].toDouble();
    }
    QVERIFY(!part["waited_for"].toString().isEmpty());
  }
  const double time = outcome.json()["rows"][0]["time_us"].toDouble();
  QVERIFY(std::abs(sum - time) < 1e-6 * time);
  VERIFY_TOLD(run({"simulate", m_schedule, "-b", "1M", "--critical-path"}).out.contains("critical path"), outcome);
}

void TestCliSimulate::programs_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("collective");
  QTest::addColumn<double>("factor");
  QTest::newRow("two-level alltoall") << "two_level_alltoall.xml"
                                      << "alltoall" << 7.0 / 8;
  QTest::newRow("hierarchical allreduce") << "hierarchical_allreduce.xml"
                                          << "allreduce" << 14.0 / 8;
}

/// Programs of others on a fabric, without a schedule.
void TestCliSimulate::programs() {
  QFETCH(QString, file);
  QFETCH(QString, collective);
  QFETCH(double, factor);
  const Outcome outcome = run({"simulate", QStringLiteral(COPPICE_TEST_DATA) + "/simulate/" + file, "--fabric",
                               "preset:cluster,boxes=2,gpus=4", "-b", "1M", "-e", "64M", "-f", "8", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["kind"].toString(), "program");
  QCOMPARE(outcome.json()["collective"].toString(), collective);
  for (const QJsonValue& row : outcome.json()["rows"].toArray()) {
    QVERIFY(row["time_us"].toDouble() > 0);
    QVERIFY(std::abs(row["busbw"].toDouble() - factor * row["algbw"].toDouble()) < 1e-6);
  }
}

/// A table of nccl-tests beside the prediction: its sizes are simulated, and the ratios are those of the times.
void TestCliSimulate::measuredTable() {
  const Outcome made = run({"simulate", m_schedule, "-b", "1M", "-e", "16M", "-f", "4", "--nccl-tests", file("t.txt")});
  VERIFY_TOLD(made.code == 0, made);
  const Outcome outcome = run({"simulate", m_schedule, "--measured", file("t.txt"), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["rows"].toArray().size(), 3);
  const QJsonObject measured = outcome.json()["measured"].toObject();
  QVERIFY(measured["label"].toString().contains("simulated"));
  QCOMPARE(measured["rows"].toArray().size(), 3);
  for (const QJsonValue& row : measured["rows"].toArray()) {
    QVERIFY(std::abs(row["out_of_place"]["ratio"].toDouble() - 1) < 0.001);
  }
  const Outcome text = run({"simulate", m_schedule, "--measured", file("t.txt")});
  VERIFY_TOLD(text.out.contains("predicted (us)") && text.out.contains("ratio"), text);
}

/// What coppice-exec records is compared with the program that it made of the same schedule.
void TestCliSimulate::measuredTrace() {
#ifndef COPPICE_EXEC
  QSKIP("coppice-exec is not built");
#else
  const QString schedule = file("ring.schedule.json");
  VERIFY_TOLD(run({"baseline", "ring", "preset:complete,gpus=4", "-o", schedule}).code == 0, Outcome());
  const Outcome ran = runProgram(
      QStringLiteral(COPPICE_EXEC),
      {"run", schedule, "--backend", "threads", "-b", "64K", "-e", "64K", "-n", "2", "-w", "1", "--trace", "--json"});
  VERIFY_TOLD(ran.code == 0, ran);
  QFile records(file("run.jsonl"));
  QVERIFY(records.open(QIODevice::WriteOnly) && records.write(ran.out) == ran.out.size());
  records.close();
  const Outcome outcome = run({"simulate", schedule, "--measured", file("run.jsonl"), "--links", "3", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject measured = outcome.json()["measured"].toObject();
  QVERIFY(!measured["label"].toString().isEmpty());
  const QJsonArray traces = measured["traces"].toArray();
  VERIFY_TOLD(!traces.isEmpty(), outcome);
  for (const QJsonValue& trace : traces) {
    QVERIFY(trace["measured_us"].toDouble() > 0 && trace["planned_us"].toDouble() > 0);
    const QJsonArray links = trace["links"].toArray();
    QCOMPARE(links.size(), 3);
    QVERIFY(links[0]["lost_us"].toDouble() >= links[1]["lost_us"].toDouble());
    QVERIFY(!links[0]["from"].toString().isEmpty());
    QCOMPARE(trace["ranks"].toArray().size(), 3);
  }
  const Outcome other = run({"simulate", m_schedule, "--measured", file("run.jsonl")});
  QCOMPARE(other.code, 2);
  VERIFY_TOLD(other.err.contains("4 ranks, the fabric has 16 GPUs"), other);
#endif
}

void TestCliSimulate::errors_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QString>("message");
  const QString program = QStringLiteral(COPPICE_TEST_DATA) + "/simulate/two_level_alltoall.xml";
  const auto row = [](const char* name, const QStringList& arguments, const char* message) {
    QTest::newRow(name) << arguments << message;
  };
  row("no file", {}, "file is required");
  row("neither", {QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json"}, "neither a schedule nor a program");
  row("program without fabric", {program}, "add --fabric");
  row("pieces of a program", {program, "--fabric", "preset:dgx-a100", "--pieces", "2"}, "--pieces");
  row("other number of ranks", {program, "--fabric", "preset:dgx-a100,boxes=2"}, "8 ranks");
  row("sizes upside down", {"AG", "-b", "2M", "-e", "1M"}, "-e is smaller");
  row("no bytes", {"AG", "-b", "0"}, "-b");
  row("no size", {"AG", "-b", "much"}, "--begin");
  row("factor one", {"AG", "-f", "1"}, "-f");
  row("too many sizes", {"AG", "-b", "1", "-e", "1T", "-f", "1.0001"}, "too many");
  row("no pieces", {"AG", "--pieces", "0"}, "--pieces");
  row("negative latency", {"AG", "--link-latency", "-1"}, "--link-latency");
  row("latency that is not a number", {"AG", "--link-latency", "nan"}, "latenc");
  row("other fabric", {"AG", "--fabric", "preset:dgx-a100,boxes=1"}, "16 GPUs");
  row("its own input", {"AG", "--csv", "AG"}, "is the input file");
  row("measured is not a table", {"AG", "--measured", QStringLiteral(COPPICE_EXAMPLES) + "/2x-dgx-a100.fabric.json"},
      "2x-dgx-a100.fabric.json:1");
  row("profile is none", {"AG", "--profile", "AG"}, "not a recorded profile");
  row("two files on one output", {"AG", "-b", "1M", "--csv", "-", "--trace", "-"}, "standard output");
}

void TestCliSimulate::errors() {
  QFETCH(QStringList, arguments);
  QFETCH(QString, message);
  arguments.replaceInStrings("AG", m_schedule);
  const Outcome outcome = run(QStringList{"simulate"} + arguments);
  VERIFY_TOLD(outcome.code == 2, outcome);
  VERIFY_TOLD(outcome.err.contains(message.toUtf8()), outcome);
}

QTEST_APPLESS_MAIN(TestCliSimulate)
#include "tst_cli_simulate.moc"
