// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <string>

#include "io/nccl_table.hpp"
#include "io/profile_json.hpp"

using namespace coppice;
using namespace Qt::StringLiterals;

namespace {

constexpr const char* kTable =
    R"(# nThread 1 nGpus 4 minBytes 8388608 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid 418402 on    node1 device  0 [0x07] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid 418402 on    node1 device  1 [0x0a] NVIDIA A100-SXM4-80GB
#  Rank  3 Group  0 Pid 418402 on    node1 device  3 [0x4b] NVIDIA A100-SXM4-80GB
node1:418402:418402 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608        524288     float    none      -1    69.31  121.03   90.77      0    68.52  122.43   91.82      0
node1:418402:418500 [2] NCCL INFO comm 0x55 rank 2
   134217728       8388608     float    none      -1    12345  228.52  171.39    N/A    571.4  234.90  176.17      3
# Out of bounds values : 3 FAILED
# Avg bus bandwidth    : 132.54
)";

QString told(const Error& error) {
  return QString::fromStdString(describe(error));
}

}  // namespace

class TestMeasurements : public QObject {
  Q_OBJECT

private slots:
  /// Comments and lines of others are ignored; both halves are read.
  void table() {
    const auto tables = io::readNcclTables(kTable, "out.txt");
    QVERIFY2(tables, tables ? "" : qPrintable(told(tables.error())));
    QCOMPARE(tables->size(), std::size_t{1});
    const io::NcclTable* read = &tables->front();
    QCOMPARE(read->rows.size(), std::size_t{2});
    QCOMPARE(read->ranks, 4);
    QVERIFY(!read->isSimulated);
    const io::NcclRow& first = read->rows.front();
    QCOMPARE(first.size, std::int64_t{8388608});
    QCOMPARE(first.line, 12);
    QVERIFY(first.outOfPlace && first.inPlace);
    QCOMPARE(first.outOfPlace->time.count(), 69.31);
    QCOMPARE(first.outOfPlace->busbw.gigabytesPerSecond(), 90.77);
    QCOMPARE(first.inPlace->algbw.gigabytesPerSecond(), 122.43);
    QVERIFY(first.inPlace->wrong == 0);
    // A time of more than 10 ms has no point; a check that was left out is N/A.
    const io::NcclRow& last = read->rows.back();
    QCOMPARE(last.outOfPlace->time.count(), 12345.0);
    QVERIFY(!last.outOfPlace->wrong);
    QVERIFY(last.inPlace->wrong == 3);
  }

  void variants_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("time");
    QTest::addColumn<double>("inPlace");  // 0 = none
    QTest::addColumn<QString>("collective");
    const auto row = [](const char* name, const char* text, double time, double inPlace, const char* collective) {
      QTest::newRow(name) << QString::fromLatin1(text) << time << inPlace << QString::fromLatin1(collective);
    };
    row("rows alone", "1048576 65536 float none -1 35.21 29.78 27.92 0 34.88 30.06 28.18 0\r\n", 35.21, 34.88,
        "allgather");
    row("rows alone, long", "1048576 65536 float none -1 12345 29.78 27.92 0 12346 30.06 28.18 0\n", 12345, 12346,
        "allgather");
    row("one half", "1048576 65536 float sum -1 35.21 29.78 27.92 0\n", 35.21, 0, "reduce_scatter");
    row("older columns, with errors",
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "     1048576        262144   float     sum    46.67   22.47   39.32  5e-07    44.58   23.52   41.16  5e-07\n",
        46.67, 44.58, "allreduce");
    row("with shares of the bound",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong  %bound     time   algbw "
        "  busbw #wrong  %bound\n"
        "     1048576         65536     float    none      -1    35.21   29.78   27.92      0   62.5    34.88   30.06  "
        " 28.18      0   63.1\n",
        35.21, 34.88, "allgather");
    row("not run in place",
        "#size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        "1048576 65536 float none -1 35.21 29.78 27.92 0 N/A N/A N/A N/A\n",
        35.21, 0, "");
    row("named", "# Collective test starting: reduce_scatter_perf\n1024 256 float sum -1 5.2 0.2 0.2 0 5.1 0.2 0.2 0\n",
        5.2, 5.1, "reduce_scatter");
    row("the last of one size", "1024 256 float sum -1 9.9 0.1 0.1 0\n1024 256 float sum -1 5.2 0.2 0.2 0\n", 5.2, 0,
        "allreduce");
  }

  void variants() {
    QFETCH(QString, text);
    QFETCH(double, time);
    QFETCH(double, inPlace);
    QFETCH(QString, collective);
    const auto tables = io::readNcclTables(text.toStdString(), "");
    QVERIFY2(tables, tables ? "" : qPrintable(told(tables.error())));
    QCOMPARE(tables->size(), std::size_t{1});
    const io::NcclTable* read = &tables->front();
    QCOMPARE(read->rows.size(), std::size_t{1});
    QVERIFY(read->rows.front().outOfPlace);
    QCOMPARE(read->rows.front().outOfPlace->time.count(), time);
    QCOMPARE(read->rows.front().inPlace ? read->rows.front().inPlace->time.count() : 0, inPlace);
    QCOMPARE(QString::fromStdString(read->collective), collective);
  }

  void collectives_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("collective");
    QTest::addColumn<QString>("fits");
    const QByteArray old = "#       size         count    type";
    const QByteArray halves = "     time   algbw   busbw  error     time   algbw   busbw  error\n";
    const QByteArray head = "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
    const auto row = [](const char* name, const QByteArray& text, const char* collective, const char* fits) {
      QTest::newRow(name) << QString::fromLatin1(text) << QString::fromLatin1(collective) << QString::fromLatin1(fits);
    };
    row("allgather, old",
        old + halves +
            "  8589934592     268435456   float    33646  255.31  223.39    N/A    32669  262.94  230.07    N/A\n",
        "allgather", "allgather");
    row("alltoall, old",
        old + "   redop" + halves +
            "  4294967296     134217728   float            16860  254.74  222.90    N/A    16678  257.53  225.34    "
            "N/A\n",
        "alltoall", "alltoall");
    row("reduce_scatter, old",
        old + "   redop" + halves +
            "  8589934592     268435456   float     sum    32464  264.60  231.52    N/A    32502  264.29  231.25    "
            "N/A\n",
        "reduce_scatter", "reduce_scatter");
    row("broadcast, old",
        old + "    root" + halves +
            "  8589934592    2147483648   float       0    36896  232.81  232.81    N/A    36599  234.70  234.70    "
            "N/A\n",
        "broadcast", "broadcast");
    row("reduce", head + "8589934592 2147483648 float sum 0 37613 228.38 228.38 0\n", "reduce", "reduce");
    row("allreduce", head + "134217728 33554432 float sum -1 590.1 227.45 398.04 0\n", "allreduce", "allreduce");
    row("alltoall, which is not checked in place",
        "1048576 32768 float none -1 37.84 27.71 24.25 0 31.79 32.99 28.86 N/A\n", "alltoall", "alltoall");
    row("not checked", "1048576 32768 float none -1 37.84 27.71 24.25 N/A 31.79 32.99 28.86 N/A\n", "",
        "allgather alltoall");
    row("gather or scatter", "1048576 32768 float none 0 37.84 27.71 24.25 0\n", "", "gather scatter");
    row("sendrecv", "1048576 262144 float none -1 37.84 27.71 27.71 0\n", "", "");
    row("by a command",
        "$ mpirun -np 8 ./build/alltoall_perf -b 8 -g 1\n"
        "1048576 32768 float none -1 37.84 27.71 24.25 N/A 31.79 32.99 28.86 N/A\n",
        "alltoall", "allgather alltoall");
    row("by prose", "Run `alltoall_perf` first.\n134217728 33554432 float sum -1 590.1 227.45 398.04 0\n", "allreduce",
        "allreduce");
    row("named wrongly",
        "# Collective test starting: all_reduce_perf\n8589934592 268435456 float sum -1 20464 419.76 367.29 0\n",
        "allreduce", "reduce_scatter");
    row("of coppice-exec",
        "# ring: alltoall on 8 ranks, up to 4 threadblocks\n1048576 32768 float none -1 38 27.71 24.25 0\n", "alltoall",
        "allgather alltoall");
  }

  /// By the reduction, the root, the count of a shard, busbw by algbw, and what is checked.
  void collectives() {
    QFETCH(QString, text);
    QFETCH(QString, collective);
    QFETCH(QString, fits);
    const auto tables = io::readNcclTables(text.toStdString(), "t.txt");
    QVERIFY2(tables, tables ? "" : qPrintable(told(tables.error())));
    QCOMPARE(QString::fromStdString(tables->front().collective), collective);
    QStringList fitting;
    for (const std::string& each : tables->front().fits) {
      fitting << QString::fromStdString(each);
    }
    QCOMPARE(fitting.join(' '), fits);
  }

  void runs_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("runs");
    const QString threads = u"# nThread 1 nGpus 8 minBytes 8 maxBytes 1024\n"_s;
    const QString head = u"#size count type redop root time algbw busbw #wrong\n"_s;
    const QString shards = u"8589934592 268435456 float sum -1 20464 419.76 367.29 0\n"_s;
    const QString whole = u"8589934592 2147483648 float sum -1 20464 419.76 734.58 0\n"_s;
    QTest::newRow("two headers") << head + shards + head + whole << u"1 reduce_scatter 0, 3 allreduce 0"_s;
    QTest::newRow("two lines of threads") << threads + head + shards + "# Avg bus bandwidth\n" + threads + whole
                                          << u"1 reduce_scatter 0, 5 allreduce 0"_s;
    QTest::newRow("a command") << shards + u"$ ./all_reduce_perf -g 8\n"_s + threads + head + whole
                               << u"1 reduce_scatter 0, 2 allreduce 0"_s;
    QTest::newRow("ranks of the second") << shards + "#  Rank  0 Pid 1 on a\n#  Rank  7 Pid 1 on a\n" + head + whole
                                         << u"1 reduce_scatter 0, 2 allreduce 8"_s;
    QTest::newRow("the first printed no row")
        << "./reduce_scatter_perf\n" + threads + head + "./all_reduce_perf\n" + threads + head + whole
        << u"4 allreduce 0"_s;
    QTest::newRow("one") << threads + u"# Collective test starting: reduce_scatter_perf\n"_s + head + shards + shards
                         << u"1 reduce_scatter 0"_s;
  }

  /// A table for each run, with the line where it begins and its ranks.
  void runs() {
    QFETCH(QString, text);
    QFETCH(QString, runs);
    const auto tables = io::readNcclTables(text.toStdString(), "t.txt");
    QVERIFY2(tables, tables ? "" : qPrintable(told(tables.error())));
    QStringList found;
    for (const io::NcclTable& table : *tables) {
      QCOMPARE(table.rows.size(), std::size_t{1});
      found << u"%1 %2 %3"_s.arg(table.line).arg(QString::fromStdString(table.collective)).arg(table.ranks);
    }
    QCOMPARE(found.join(u", "_s), runs);
  }

  void launchers_data() {
    QTest::addColumn<QString>("tag");
    for (const char* tag : {"0: ", "12: ", "[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "nccl-launcher-abc: ",
                            "2025-03-03T10:11:12.345Z ", "[pod/test-7/nccl] ", "\x1b[32m"}) {
      QTest::newRow(tag) << QString::fromLatin1(tag);
    }
  }

  void launchers() {
    QFETCH(QString, tag);
    QString text;
    for (const QByteArray& line : QByteArray(kTable).split('\n')) {
      text += tag + QString::fromLatin1(line) + '\n';
    }
    const auto tables = io::readNcclTables(text.toStdString(), "t.txt");
    QVERIFY2(tables, tables ? "" : qPrintable(told(tables.error())));
    QCOMPARE(tables->size(), std::size_t{1});
    QCOMPARE(tables->front().rows.size(), std::size_t{2});
    QCOMPARE(tables->front().ranks, 4);
    QCOMPARE(tables->front().rows.front().outOfPlace->time.count(), 69.31);
  }

  void faults_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("part");
    QTest::addColumn<int>("line");
    QTest::newRow("nothing") << u""_s << u"no row of an nccl-tests table"_s << 0;
    QTest::newRow("prose") << u"hello\n# a comment\n"_s << u"no row"_s << 0;
    QTest::newRow("no number")
        << u"#size count type redop root time algbw busbw #wrong\n1024 256 float sum -1 5.2 fast 0.2 0\n"_s
        << u"\"fast\" in column 7"_s << 2;
    QTest::newRow("cut off") << u"#size count type redop root time algbw busbw #wrong\n\n1024 256 float sum -1\n"_s
                             << u"5 columns, not 9"_s << 3;
    QTest::newRow("negative") << u"1024 256 float sum -1 5.2 -0.2 0.2 0\n"_s << u"\"-0.2\" in column 7"_s << 1;
    QTest::newRow("infinite") << u"1024 256 float sum -1 5.2 inf 0.2 0\n"_s << u"\"inf\""_s << 1;
  }

  void faults() {
    QFETCH(QString, text);
    QFETCH(QString, part);
    QFETCH(int, line);
    const auto read = io::readNcclTables(text.toStdString(), "t.txt");
    QVERIFY(!read);
    QVERIFY2(told(read.error()).contains(part), qPrintable(told(read.error())));
    QVERIFY(!read.error().fix.empty());
    QCOMPARE(read.error().where.line, line);
  }

  void profile() {
    const auto read = io::readProfileJson(
        R"({"t":"profile","format":1,"backend":"cuda","label":"","links":[
          {"src":0,"dst":1,"alpha_us":2.5,"beta_us_per_MB":5,"bandwidth_GBps":200,"residual":0.01,"points":[]},
          {"src":1,"dst":0,"alpha_us":0,"bandwidth_GBps":180}]})",
        "p.json");
    QVERIFY2(read, read ? "" : qPrintable(told(read.error())));
    QCOMPARE(read->ranks, 2);
    QCOMPARE(read->pairs.size(), std::size_t{2});
    QCOMPARE(read->pairs[0].latency.count(), 2.5);
    QCOMPARE(read->pairs[1].bandwidth.gigabytesPerSecond(), 180.0);
    for (const char* text :
         {"", "{}", R"({"t":"profile","links":[]})", R"({"t":"profile","links":[{"src":0,"dst":0}]})",
          R"({"t":"profile","links":[{"src":0,"dst":1,"alpha_us":-1,"bandwidth_GBps":3}]})",
          R"({"t":"profile","links":[{"src":0,"dst":99999,"alpha_us":1,"bandwidth_GBps":3}]})"}) {
      const auto bad = io::readProfileJson(text, "p.json");
      QVERIFY2(!bad, text);
      QVERIFY(bad.error().fix.find("profile --json") != std::string::npos);
    }
  }
};

QTEST_APPLESS_MAIN(TestMeasurements)
#include "tst_measurements.moc"
