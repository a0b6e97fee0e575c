// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "coppice/test_paths.hpp"
#include "support/cli_runner.hpp"

using namespace coppice::test;

namespace {

QString data(const char* name) {
  return QStringLiteral(COPPICE_TEST_DATA) + "/nccl/" + name;
}

constexpr const char* kTwoBoxes = "preset:dgx-h100,boxes=2";

/// Boxes of four GPUs each with one NIC of its own; in box b a slow link joins two of them.
QByteArray unlikeBoxes() {
  QJsonArray nodes;
  QJsonArray links;
  const auto link = [&](const QString& a, const QString& b, const char* bandwidth) {
    links.append(QJsonObject{{"src", a}, {"dst", b}, {"bandwidth", bandwidth}, {"duplex", true}});
  };
  nodes.append(QJsonObject{{"id", "net"}, {"kind", "switch"}});
  for (const QString& box : {QStringLiteral("a"), QStringLiteral("b")}) {
    for (int i = 0; i < 4; ++i) {
      nodes.append(QJsonObject{{"id", box + QString::number(i)}, {"kind", "gpu"}, {"box", box}});
    }
    nodes.append(QJsonObject{{"id", box + "n"}, {"kind", "nic"}, {"box", box}});
    link(box + "n", "net", "100");
    link(box + "0", box + "n", "100");
    link(box + "3", box + "n", "100");
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j) {
        const bool isSlow = box == "b" && i == 0 && j == 1;
        link(box + QString::number(i), box + QString::number(j), isSlow ? "1" : "50");
      }
    }
  }
  return QJsonDocument(QJsonObject{{"name", "unlike"}, {"nodes", nodes}, {"links", links}}).toJson();
}

}  // namespace

/// The built coppice-cli on stock NCCL: what a run chose, and files that make it do better.
class TestCliNccl : public QObject {
  Q_OBJECT

private slots:
  void rankOrder();
  void rankOrderOfTheManual();
  void rankOrderFiles();
  void rankOrderRefuses_data();
  void rankOrderRefuses();
  void importRun();
  void mixedLines();
  void tableAlone();
  void doubts_data();
  void doubts();
  void comparedRun();
  void hostsOfOneLog();
  void ringsAsSchedule();
  void badRuns_data();
  void badRuns();
  void lostTime();
  void runsBesideEachOther();
  void baselineWithoutSchedule();
  void graphFile();
  void tunerFile();
  void tunerFileOfPcie();
  void tunerFileOfNvls();
  void bundle();
  void bundleOfUnlikeBoxes();
};

/// Six boxes of four GPUs, a rail for each GPU, rails joined by a spine with a third of their bandwidth. A ring in rank
/// order enters each box at GPU 0 and leaves it at GPU 3, over both rails and the spine: 23/12 bytes of six boxes over
/// 50 GB/s times 6 / 3. The best one stays on a rail from box to box: 23/12 bytes over the 50 GB/s of a NIC.
void TestCliNccl::rankOrder() {
  const QString fabric = "preset:rail-optimised,boxes=6,gpus=4,oversubscription=3";
  const Outcome outcome = run({"rank-order", fabric, "--algorithm", "ring", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(outcome.in("given")["algbw"].toString(), QString("200/23"));
  QCOMPARE(outcome.in("best")["algbw"].toString(), QString("600/23"));
  QCOMPARE(json["gain"].toString(), QString("400/23"));
  QVERIFY(json["proved"].toBool());
  QCOMPARE(json["order"].toArray().size(), 24);
  QCOMPARE(json["hosts"].toArray().size(), 6);
  // NCCL's rings are on rails whatever the order.
  const Outcome rails = run({"rank-order", fabric, "--json"});
  QCOMPARE(rails.json()["algorithm"].toString(), QString("multi-ring"));
  QCOMPARE(rails.json()["gain"].toString(), QString("0"));
  // Less work finds no more, and the same each time.
  const QStringList little = {"rank-order", fabric, "--algorithm", "ring", "--work", "1", "--json"};
  QCOMPARE(run(little).json(), run(little).json());
}

/// The example of the manual: leaves of two hosts with a quarter of their bandwidth to the spines. NCCL's rings leave
/// every host over all rails; 63/32 bytes of each leaf, or of each host of a leaf, over 200 GB/s.
void TestCliNccl::rankOrderOfTheManual() {
  const QString fabric = "preset:dgx-h100,boxes=8,network=leaf-spine,oversubscription=4";
  QTemporaryDir folder;
  QFile present(folder.filePath("hostfile"));
  QVERIFY(present.open(QIODevice::WriteOnly));
  present.write("b0\nb2\nb4\nb6\nb1\nb3\nb5\nb7\n");
  present.close();
  const Outcome outcome = run({"rank-order", fabric, "--present", present.fileName(), "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.in("given")["algbw"].toString(), QString("3200/63"));
  QCOMPARE(outcome.in("best")["algbw"].toString(), QString("6400/63"));
  QCOMPARE(outcome.in("bound")["algbw"].toString(), QString("6400/63"));
  QVERIFY(outcome.json()["proved"].toBool());
  const QString manual =
      QString::fromUtf8(contents(QStringLiteral(COPPICE_EXAMPLES) + "/../resources/doc/command-line.md"));
  QVERIFY(manual.contains("reach 50.79 GB/s with the hosts in the order b0, b2, b4, b6, b1, b3, b5, b7, and 101.59"));
}

/// What launchers read gives each GPU the rank of the answer.
void TestCliNccl::rankOrderFiles() {
  QTemporaryDir folder;
  QFile present(folder.filePath("present"));
  QVERIFY(present.open(QIODevice::WriteOnly));
  present.write("# as it is\nb2 slots=4\nb0 slots=4\n\nb1\n");
  present.close();
  const QString out = folder.filePath("order");
  const Outcome outcome = run({"rank-order", "preset:rail-optimised,boxes=3,gpus=4,oversubscription=3", "--algorithm",
                               "ring", "--present", present.fileName(), "-o", out, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonArray order = outcome.json()["order"].toArray();
  QStringList hosts;
  QStringList wanted;
  QMap<QString, QStringList> devices;
  for (int rank = 0; rank < order.size(); ++rank) {
    const QJsonObject place = order[rank].toObject();
    const QString host = place["host"].toString();
    hosts << host;
    wanted << QStringLiteral("rank %1=%2 slot=%3").arg(rank).arg(host).arg(devices[host].size());
    devices[host] << QString::number(place["device"].toInt());
    QCOMPARE(place["gpu"].toString(), host + "g" + QString::number(place["device"].toInt()));
  }
  const auto lines = [&](const char* name) {
    return QString::fromUtf8(contents(out + "/" + name)).split('\n', Qt::SkipEmptyParts);
  };
  QCOMPARE(lines("slurm-hostfile"), hosts);
  QCOMPARE(lines("rankfile"), wanted);
  QStringList hostLines = lines("hostfile");
  QVERIFY(hostLines.takeFirst().startsWith("#"));
  QStringList nodes;
  for (const QString& line : hostLines) {
    QVERIFY(line.endsWith(" slots=4"));
    nodes << line.section(' ', 0, 0);
  }
  for (int host = 0; host < 3; ++host) {
    QCOMPARE(nodes[host], hosts[4 * host]);
    // The scripts, with what they start replaced.
    const QString name = "RANK_ORDER_HOST=" + nodes[host];
    const Outcome gpu =
        runProgram("env", {name, "sh", out + "/gpu-order.sh", "sh", "-c", "printf %s \"$CUDA_VISIBLE_DEVICES\""});
    QCOMPARE(QString::fromUtf8(gpu.out), devices[nodes[host]].join(','));
    QFile torchrun(folder.filePath("torchrun"));
    QVERIFY(torchrun.open(QIODevice::WriteOnly));
    torchrun.write("#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES $*\"\n");
    torchrun.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
    torchrun.close();
    const Outcome torch = runProgram("env", {name, "PATH=" + folder.path() + ":" + qEnvironmentVariable("PATH"), "sh",
                                             out + "/torchrun.sh", "train.py"});
    VERIFY_TOLD(torch.code == 0, torch);
    QCOMPARE(QString::fromUtf8(torch.out).trimmed(),
             devices[nodes[host]].join(',') +
                 QStringLiteral(" --rdzv-backend=static --nnodes=3 --nproc-per-node=4 --node-rank=%1 --master-addr=%2 "
                                "--master-port=29500 train.py")
                     .arg(host)
                     .arg(nodes[0]));
    QFile::remove(torchrun.fileName());
  }
  const Outcome unknown = runProgram("env", {"RANK_ORDER_HOST=other", "sh", out + "/gpu-order.sh", "true"});
  QCOMPARE(unknown.code, 1);
  QVERIFY(unknown.err.contains("does not name the host other"));
}

void TestCliNccl::rankOrderRefuses_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QByteArray>("hostfile");
  QTest::addColumn<QString>("message");
  const auto row = [](const char* name, const QStringList& arguments, const char* hostfile, const char* message) {
    QTest::newRow(name) << QStringList{"rank-order", kTwoBoxes} + arguments << QByteArray(hostfile) << message;
  };
  row("algorithm", {"--algorithm", "rings"}, "", "there is no algorithm \"rings\"");
  row("collective", {"-c", "alltoall"}, "", "multi-ring has no alltoall");
  row("free", {"--free"}, "", "takes hosts as wholes");
  row("mesh", {"--algorithm", "ring", "--mesh", "3x4"}, "", "multiply to 12");
  row("axis", {"--algorithm", "ring", "--axis", "1"}, "", "there is no mesh");
  row("unknown host", {}, "b0\nb7\n", ":2: the fabric has no host \"b7\"");
  row("twice", {}, "b0\nb0\n", "named twice");
  row("too few", {}, "b0\n", "names 1 host");
}

void TestCliNccl::rankOrderRefuses() {
  QFETCH(QStringList, arguments);
  QFETCH(QByteArray, hostfile);
  QFETCH(QString, message);
  QTemporaryDir folder;
  if (!hostfile.isEmpty()) {
    QFile file(folder.filePath("hosts"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(hostfile);
    arguments += {"--present", file.fileName()};
  }
  const Outcome outcome = run(arguments);
  QCOMPARE(outcome.code, 2);
  QVERIFY2(outcome.firstErrorLine().contains(message.toUtf8()), outcome.firstErrorLine());
}

void TestCliNccl::importRun() {
  const Outcome outcome =
      run({"import-run", data("two_h100.log"), data("two_h100_all_reduce.txt"), "--fabric", kTwoBoxes, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject json = outcome.json();
  QCOMPARE(json["version"].toString(), QString("2.28.9"));
  const QJsonObject communicator = json["communicators"][0].toObject();
  QCOMPARE(communicator["ranks"].toInt(), 16);
  QCOMPARE(communicator["hosts"].toArray(), (QJsonArray{"node1", "node2"}));
  QCOMPARE(communicator["rings"].toArray().size(), 4);
  QCOMPARE(communicator["rings"][1].toArray(), (QJsonArray{0, 1, 10, 11, 12, 13, 14, 15, 8, 9, 2, 3, 4, 5, 6, 7}));
  QCOMPARE(communicator["trees"][0].toArray(), (QJsonArray{-1, 0, 1, 2, 3, 4, 5, 6, 0, 8, 9, 10, 11, 12, 13, 14}));
  const QJsonObject fabric = json["fabric"].toObject();
  QCOMPARE(fabric["bound"]["algbw"].toString(), QString("400"));
  // Four rings over four of the eight NICs, each 50 GB/s: 200 GB/s * 16 / 30.
  QCOMPARE(fabric["rings"]["algbw"].toString(), QString("320/3"));
  QCOMPARE(fabric["trees"]["algbw"].toString(), QString("200"));
  QVERIFY(fabric["rings"]["limited_by"]["from"].isString());
  const QJsonArray sizes = fabric["choices"].toArray();
  QCOMPARE(sizes.size(), 6);
  QCOMPARE(sizes[0]["algorithm"].toString(), QString("Tree"));
  QVERIFY(sizes[0]["faster"].isNull());
  QCOMPARE(sizes[1]["algorithm"].toString(), QString("Ring"));
  QCOMPARE(sizes[1]["faster"].toString(), QString("Tree"));
  QCOMPARE(sizes[1]["measured_us"].toDouble(), 74.15);
  QCOMPARE(sizes[1]["algbw"].toString(), QString("320/3"));
}

/// Lines in any order, with prefixes of mpirun and time stamps, in one file or several, say the same.
void TestCliNccl::mixedLines() {
  QList<QByteArray> lines = contents(data("two_h100.log")).split('\n');
  std::mt19937 random(1);
  std::shuffle(lines.begin() + 1, lines.end(), random);
  QByteArray mixed;
  for (const QByteArray& line : lines) {
    mixed += "[1,3]<stdout>:" + line + '\n';
  }
  const Outcome whole = run({"import-run", data("two_h100.log"), "--json"});
  const Outcome shuffled = run({"import-run", "-", "--json"}, mixed);
  VERIFY_TOLD(shuffled.code == 0, shuffled);
  for (const char* key : {"ranks", "hosts", "rings", "trees"}) {
    QCOMPARE(shuffled.json()["communicators"][0][QLatin1String(key)],
             whole.json()["communicators"][0][QLatin1String(key)]);
  }
}

/// Without a log the bound stands beside what was measured.
void TestCliNccl::tableAlone() {
  const Outcome outcome = run({"import-run", data("two_h100_all_reduce.txt"), "--fabric", kTwoBoxes, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject fabric = outcome.in("fabric");
  QVERIFY(fabric["rings"].isNull());
  QCOMPARE(fabric["choices"].toArray().size(), 6);
  QVERIFY(!outcome.json()["missing"].toArray().isEmpty());
}

void TestCliNccl::doubts_data() {
  QTest::addColumn<QByteArray>("table");
  QTest::addColumn<QString>("doubt");
  const QByteArray ranks = "#  Rank  7 Group  0 Pid 1 on a device  7 [0x07] A100\n";
  QTest::newRow("none") << ranks + "134217728 33554432 float sum -1 1162.2 115.49 202.11 0\n"
                        << "";
  QTest::newRow("wrong results")
      << QByteArray("524288 131072 float sum -1 663.1 0.79 1.38 237858 569.4 0.92 1.61 1\n")
      << "wrong results at 524288 bytes: 237858 elements out of place and 1 element in place";
  QTest::newRow("above the bound") << QByteArray("134217728 33554432 float sum -1 590.1 227.45 398.04 0\n")
                                   << "the collective or the fabric cannot be right";
  QTest::newRow("other ranks") << QByteArray(
                                      "#  Rank  3 Group  0 Pid 1 on a device  3 [0x07] A100\n"
                                      "134217728 33554432 float sum -1 1162.2 115.49 173.24 0\n")
                               << "the run has 4 ranks, the fabric 8 GPUs";
  QTest::newRow("named wrongly") << QByteArray(
                                        "# Collective test starting: all_reduce_perf\n"
                                        "8589934592 268435456 float sum -1 32464 264.60 231.52 0\n")
                                 << "the run is named allreduce, but its columns fit reduce_scatter";
}

/// On one DGX A100: 1200/7 GB/s for allreduce.
void TestCliNccl::doubts() {
  QFETCH(QByteArray, table);
  QFETCH(QString, doubt);
  const QStringList arguments{"import-run", "-", "--fabric", "preset:dgx-a100,boxes=1"};
  const Outcome outcome = run(arguments, table);
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.out.contains("warning: "), !doubt.isEmpty());
  QVERIFY2(outcome.out.contains(doubt.toUtf8()), outcome.out.constData());
  QCOMPARE(run(arguments + QStringList{"--json"}, table).json()["doubts"].toArray().isEmpty(), doubt.isEmpty());
}

/// Of several runs in a file the first of the collective; a collective that is not clear is asked for.
void TestCliNccl::comparedRun() {
  const QByteArray head = "#size count type redop root time algbw busbw #wrong\n";
  const QByteArray runs = head + "1048576 32768 float sum -1 50 20.97 18.35 0\n" + head +
                          "1048576 262144 float sum -1 60 17.48 30.59 0\n" + head +
                          "2097152 524288 float sum -1 70 29.96 52.43 0\n";
  const QStringList arguments{"import-run", "-", "--fabric", "preset:dgx-a100,boxes=1", "--json"};
  const auto compared = [&](const char* collective) {
    const QJsonArray choices = run(arguments + QStringList{"-c", collective}, runs).in("fabric")["choices"].toArray();
    return choices.size() == 1 ? choices[0]["measured_us"].toDouble() : 0;
  };
  QCOMPARE(compared("reduce_scatter"), 50.0);
  QCOMPARE(compared("allreduce"), 60.0);
  const Outcome listed = run({"import-run", "-"}, runs);
  QVERIFY2(listed.out.contains("3 runs, from lines 1 (reduce_scatter), 3 (allreduce), 5 (allreduce)"),
           listed.out.constData());
  const QByteArray unclear = "1048576 32768 float none -1 37.84 27.71 24.25 N/A\n";
  const Outcome refused = run(arguments, unclear);
  VERIFY_TOLD(refused.code == 2, refused);
  VERIFY_TOLD(refused.err.contains("fit several: allgather, alltoall") && refused.err.contains("-c allgather"),
              refused);
  VERIFY_TOLD(run(arguments + QStringList{"-c", "alltoall"}, unclear).code == 0, refused);
}

/// A log of one rank names its own host alone.
void TestCliNccl::hostsOfOneLog() {
  const Outcome outcome = run({"import-run", "-"},
                              "box1:1:2 [0] NCCL INFO comm 0x5639 rank 0 nRanks 24 nNodes 3 localRanks 8 localRank 0 "
                              "MNNVL 0\n");
  VERIFY_TOLD(outcome.code == 0, outcome);
  QVERIFY2(outcome.out.contains("24 ranks on 3 hosts (box1 and others)"), outcome.out.constData());
}

void TestCliNccl::ringsAsSchedule() {
  QTemporaryDir folder;
  const QString schedule = folder.filePath("rings.schedule.json");
  const Outcome made = run({"import-run", data("two_h100.log"), "--fabric", kTwoBoxes, "-o", schedule});
  VERIFY_TOLD(made.code == 0, made);
  const Outcome verified = run({"verify", schedule, "--json"});
  VERIFY_TOLD(verified.code == 0, verified);
}

void TestCliNccl::badRuns_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<QByteArray>("input");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("error");
  const QStringList standardInput{"import-run", "-"};
  QTest::newRow("empty") << standardInput << QByteArray() << 2 << "no line of NCCL";
  QTest::newRow("no run") << standardInput << QByteArray("hello\nworld\n") << 2 << "no line of NCCL";
  QTest::newRow("other fabric") << QStringList{"import-run", data("two_h100.log"), "--fabric",
                                               "preset:dgx-h100,boxes=4"}
                                << QByteArray() << 2 << "the communicator has 16 ranks, the fabric 32 GPUs";
  QTest::newRow("schedule without a fabric")
      << QStringList{"import-run", data("two_h100.log"), "-o", "rings.json"} << QByteArray() << 2 << "--fabric";
  QTest::newRow("no such file") << QStringList{"import-run", data("none.log")} << QByteArray() << 2 << "none.log";
}

void TestCliNccl::badRuns() {
  QFETCH(QStringList, arguments);
  QFETCH(QByteArray, input);
  QFETCH(QString, error);
  const Outcome outcome = run(arguments, input);
  VERIFY_TOLD(outcome.code > 0, outcome);
  VERIFY_TOLD(QString::fromUtf8(outcome.err).contains(error), outcome);
}

/// What NCCL reads: graphs 0 and 1, numbers of NICs with 0x, no ranks.
void TestCliNccl::graphFile() {
  QTemporaryDir folder;
  const QString file = folder.filePath("graph.xml");
  const Outcome outcome =
      run({"export", kTwoBoxes, "--target", "nccl-graph", "--compute-capability", "90", "-o", file, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.in("bound").value("algbw").toString(), QString("400"));
  const QByteArray xml = contents(file);
  QVERIFY(xml.contains("<graph id=\"0\""));
  QVERIFY(xml.contains("<graph id=\"1\""));
  QVERIFY(xml.contains("<net dev=\"0x"));
  QVERIFY(!xml.contains("rank="));
  const Outcome read = run({"import-run", file, "--fabric", kTwoBoxes, "--json"});
  VERIFY_TOLD(read.code == 0, read);
  QVERIFY(read.json()["graphs"][0]["findings"].toArray().isEmpty());
  // Joined over the boxes they reach what the exporter says.
  const QJsonObject joined = read.in("fabric");
  const QJsonObject written = outcome.in("best");
  QCOMPARE(joined["rings"]["algbw"].toString(), written["rings"]["algbw"].toString());
}

/// Where the time went: by hand, rings of two DGX H100 with rails take 30/16 over 4 NICs of 50 GB/s, the bound is 400.
void TestCliNccl::lostTime() {
  QTemporaryDir folder;
  const QString ras = folder.filePath("ras.txt");
  QFile file(ras);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(
      "Job summary\n===========\n\nCommunicators... (0.00s)\n=============\n\nWarnings\n========\n\n"
      "#0-0 (9ad1) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n"
      "  15 ranks have launched up to operation 6650\n"
      "  Rank 3 has launched up to operation 6648 -- GPU 3 managed by process 4103 on node 10.0.0.1\n\n");
  file.close();
  const Outcome outcome = run({"import-run", data("two_h100.log"), data("two_h100_all_reduce.txt"), ras, "--fabric",
                               "preset:dgx-h100,boxes=2,network=rails", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  const QJsonObject lost = outcome.in("fabric")["lost"].toObject();
  double measured = 0;
  double bound = 0;
  for (const QJsonValue& choice : outcome.in("fabric")["choices"].toArray()) {
    measured += choice["measured_us"].toDouble();
    bound += choice["bytes"].toDouble() / 400e3;
    QVERIFY(choice["predicted_us"].toDouble() > 0);
  }
  QVERIFY(std::abs(lost["measured_us"].toDouble() - measured) < 1e-6 * measured);
  QVERIFY(std::abs(lost["bound_us"].toDouble() - bound) < 1e-6 * bound);
  QVERIFY(lost["congestion_us"].toDouble() > 0);
  const QJsonObject link = lost["links"][0].toObject();
  QVERIFY(link["lost_us"].toDouble() > 0 && link["lost_us"].toDouble() < link["busy_us"].toDouble());
  const QJsonArray ranks = lost["ranks"].toArray();
  QCOMPARE(ranks.size(), 1);
  QCOMPARE(ranks[0]["rank"].toInt(), 3);
  QCOMPARE(ranks[0]["state"].toString(), QString("launched up to AllReduce operation 6648"));
  QCOMPARE(outcome.json()["ras"][0]["communicators"][0]["outliers"][0]["behind"].toInt(), 2);
}

void TestCliNccl::runsBesideEachOther() {
  QTemporaryDir folder;
  const QString other = folder.filePath("graph.txt");
  QVERIFY(QFile::copy(data("two_h100_all_reduce.txt"), other));
  const Outcome outcome = run({"import-run", data("two_h100.log"), data("two_h100_all_reduce.txt"), other, "--fabric",
                               "preset:dgx-h100,boxes=2,network=rails"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QVERIFY(outcome.out.contains("graph.txt"));
  QVERIFY(outcome.out.contains("        67108864      400.00           91.13           91.13\n"));
}

/// Two DGX A100: the rings leave through another GPU; 30/16 of the data over eight NICs of 25 GB/s.
void TestCliNccl::baselineWithoutSchedule() {
  const Outcome outcome = run({"baseline", "nccl", "preset:dgx-a100,boxes=2", "-c", "allreduce", "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["algbw"].toString(), QString("320/3"));
  QCOMPARE(outcome.json()["optimum_algbw"].toString(), QString("520/3"));
  QCOMPARE(outcome.json()["share_of_optimum"].toString(), QString("8/13"));
  QCOMPARE(outcome.json()["nccl_trees_algbw"].toString(), QString("1200/7"));
  QVERIFY(outcome.json()["schedule"].isNull());
  // What its model chooses covers all sizes, and changes from one band to the next.
  const QJsonArray choices = outcome.json()["nccl_choices"].toArray();
  QVERIFY(choices.size() > 2);
  QCOMPARE(choices.first()["min_bytes"].toInteger(), 0);
  QCOMPARE(choices.last()["max_bytes"].toInteger(), std::numeric_limits<qint64>::max());
  QCOMPARE(choices.last()["protocol"].toString(), QString("Simple"));
  for (qsizetype i = 1; i < choices.size(); ++i) {
    QCOMPARE(choices[i]["min_bytes"].toInteger(), choices[i - 1]["max_bytes"].toInteger() + 1);
    QVERIFY(choices[i]["algorithm"] != choices[i - 1]["algorithm"] ||
            choices[i]["protocol"] != choices[i - 1]["protocol"]);
  }
  QTemporaryDir folder;
  const Outcome refused =
      run({"baseline", "nccl", "preset:dgx-a100,boxes=2", "-o", folder.filePath("x.schedule.json")});
  VERIFY_TOLD(refused.code != 0 && refused.err.contains("PXN"), refused);
}

/// Bands cover all sizes of each collective, and follow what was measured.
void TestCliNccl::tunerFile() {
  QTemporaryDir folder;
  QByteArray before;
  for (const bool isFitted : {false, true}) {
    const QString file = folder.filePath(isFitted ? "fitted.csv" : "plain.csv");
    QStringList arguments{"export", kTwoBoxes, "--target", "nccl-tuner", "-o", file, "--json"};
    if (isFitted) {
      arguments << "--measured" << data("two_h100.log") << data("two_h100_all_reduce.txt");
    }
    const Outcome outcome = run(arguments);
    VERIFY_TOLD(outcome.code == 0, outcome);
    QCOMPARE(outcome.json()["fitted_to"].toInt(), isFitted ? 6 : 0);
    qint64 next = 0;
    QString collective;
    for (const QJsonValue& band : outcome.json()["bands"].toArray()) {
      if (band["collective"].toString() != collective) {
        collective = band["collective"].toString();
        next = 0;
      }
      QCOMPARE(band["min_bytes"].toInteger(), next);
      QVERIFY(band["channels"].toInt() > 0);
      next = band["max_bytes"].toInteger() + 1;
    }
    const QByteArray csv = contents(file);
    QVERIFY(csv.startsWith("allreduce,0,"));
    QVERIFY(csv != before);
    before = csv;
  }
}

/// LL128 is not safe on PCIe, so NCCL does not take it there.
void TestCliNccl::tunerFileOfPcie() {
  QTemporaryDir folder;
  const QString file = folder.filePath("tuner.csv");
  const QString box = QString(COPPICE_EXAMPLES "/pcie-8-gpus.fabric.json");
  for (const QString& fabric : {box, QString(kTwoBoxes)}) {
    const Outcome outcome = run({"export", fabric, "--target", "nccl-tuner", "--compute-capability", "90", "-o", file});
    VERIFY_TOLD(outcome.code == 0, outcome);
    QCOMPARE(contents(file).contains(",ll128,"), fabric != box);
  }
}

/// NCCL takes NVLS on a DGX H100 for large data: a file that says ring there would make it slower.
void TestCliNccl::tunerFileOfNvls() {
  QTemporaryDir folder;
  const QString file = folder.filePath("tuner.csv");
  const Outcome one = run({"export", "preset:dgx-h100,boxes=1", "--target", "nccl-tuner", "-o", file, "--json"});
  VERIFY_TOLD(one.code == 0, one);
  // Own copies, by hand (in-network.md): 450 GB/s over 1 + 1/8.
  const QJsonObject nvls = one.in("stock")["nvls"].toObject();
  QCOMPARE(nvls["algorithm"].toString(), QString("NVLS"));
  QCOMPARE(nvls["algbw"].toString(), QString("400"));
  QCOMPARE(one.json()["compute_capability"].toInt(), 90);
  QVERIFY(contents(file).contains("9223372036854775807,nvls,simple,16,1,8\n"));
  // Another communicator may have no NVLS.
  QVERIFY(!contents(file).contains("nvls,simple,16,-1,-1"));
  const Outcome several = run({"export", kTwoBoxes, "--target", "nccl-tuner", "-o", file, "--json"});
  VERIFY_TOLD(several.code == 0, several);
  QCOMPARE(several.in("stock")["nvls"].toObject()["algorithm"].toString(), QString("NVLSTree"));
  const Outcome older =
      run({"export", kTwoBoxes, "--target", "nccl-tuner", "--compute-capability", "80", "-o", file, "--json"});
  VERIFY_TOLD(older.code == 0 && !older.in("stock").contains("nvls"), older);
  // By the name, else by switches that sum and copy.
  for (const auto& [fabric, capability] :
       {std::pair("preset:dgx-b200,boxes=1", 100), {"preset:dgx-a100,boxes=1", 80}, {"preset:cluster,boxes=1", 80}}) {
    const Outcome other = run({"export", fabric, "--target", "nccl-tuner", "-o", file, "--json"});
    VERIFY_TOLD(other.code == 0, other);
    QCOMPARE(other.json()["compute_capability"].toInt(), capability);
  }
}

void TestCliNccl::bundle() {
  QTemporaryDir folder;
  const QString bundle = folder.filePath("bundle");
  const Outcome outcome = run({"export", "preset:mi250,boxes=1", "--target", "nccl-bundle", "-o", bundle, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QVERIFY(outcome.json()["gains"].toBool());
  QCOMPARE(QDir(bundle).entryList(QDir::Files, QDir::Name),
           (QStringList{"README.md", "graph.sh", "graph.xml", "measure.py", "run-nccl-tests.sh", "run-pytorch.sh",
                        "stock.sh", "tuned.sh", "tuner.csv"}));
  for (const QString& script : QDir(bundle).entryList({"*.sh"})) {
    const Outcome parsed = runProgram("/bin/sh", {"-n", script}, {}, bundle);
    VERIFY_TOLD(parsed.code == 0, parsed);
  }
  // What the environments give to the program that they start.
  const Outcome given = runProgram("/bin/sh", {"graph.sh", "env"}, {}, bundle);
  VERIFY_TOLD(given.code == 0, given);
  QVERIFY(given.out.contains("NCCL_GRAPH_FILE=" + QDir(bundle).canonicalPath().toUtf8() + "/graph.xml\n"));
  QVERIFY(given.out.contains("NCCL_ALGO=Ring\n"));
  QVERIFY(!runProgram("/bin/sh", {"stock.sh", "env"}, {}, bundle).out.contains("NCCL_GRAPH_FILE"));
  QVERIFY(contents(bundle + "/README.md").contains("Channel 00/"));
  // A launcher that only says what it starts; its output is kept for import-run.
  const Outcome ran = runProgram("/bin/sh", {"run-nccl-tests.sh", "echo", "all_reduce_perf"}, {}, bundle);
  VERIFY_TOLD(ran.code == 0, ran);
  QVERIFY(contents(bundle + "/logs/graph.txt").contains("graph.sh all_reduce_perf -b 1M"));
  const Outcome again = run({"export", "preset:mi250,boxes=1", "--target", "nccl-bundle", "-o", bundle});
  VERIFY_TOLD(again.code != 0, again);
}

/// Each kind of box has its graph file, which the scripts choose by host.
void TestCliNccl::bundleOfUnlikeBoxes() {
  QTemporaryDir folder;
  const QString fabric = folder.filePath("unlike.fabric.json");
  QFile file(fabric);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(unlikeBoxes());
  file.close();
  const QString bundle = folder.filePath("bundle");
  const Outcome outcome = run({"export", fabric, "--target", "nccl-bundle", "-o", bundle, "--json"});
  VERIFY_TOLD(outcome.code == 0, outcome);
  QCOMPARE(outcome.json()["kinds_of_boxes"].toInt(), 2);
  if (outcome.json()["gains"].toBool()) {
    QVERIFY(contents(bundle + "/graph-0.xml") != contents(bundle + "/graph-1.xml"));
    QVERIFY(contents(bundle + "/graph.sh").contains("  b) file=graph-1.xml ;;"));
  }
  const Outcome single = run({"export", fabric, "--target", "nccl-graph", "-o", folder.filePath("g.xml")});
  VERIFY_TOLD(single.code != 0 && single.err.contains("nccl-bundle"), single);
}

QTEST_APPLESS_MAIN(TestCliNccl)
#include "tst_cli_nccl.moc"
