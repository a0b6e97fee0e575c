// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QFile>
#include <QRegularExpression>
#include <QTest>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/fabric_json.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using Pairs = std::map<std::string, std::string>;

Q_DECLARE_METATYPE(Pairs)

namespace {

/// Rewrites of a reference id into a preset's id, the first that matches.
using Renaming = std::vector<std::pair<QString, QString>>;

QByteArray read(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// "boxes=2 network=simple" as arguments.
Pairs parsed(const QString& text) {
  Pairs pairs;
  for (const QString& part : text.split(' ', Qt::SkipEmptyParts)) {
    const qsizetype at = part.indexOf('=');
    pairs[part.left(at).toStdString()] = part.mid(at + 1).toStdString();
  }
  return pairs;
}

QString shown(const Error& error) {
  return QString::fromStdString(describe(error));
}

fabric::Description made(const QString& name, const QString& arguments = {}) {
  auto result = presets::make(name.toStdString(), parsed(arguments));
  if (!result) {
    qWarning("%s", qPrintable(shown(result.error())));
    return {};
  }
  return *std::move(result);
}

fabric::Fabric built(const fabric::Description& description) {
  auto result = fabric::Fabric::build(description);
  if (!result) {
    qFatal("%s", qPrintable(shown(result.error())));
  }
  return *std::move(result);
}

QString bandwidthOf(const fabric::Fabric& fabric, const char* tail, const char* head) {
  const auto from = fabric.find(tail);
  const auto to = fabric.find(head);
  if (!from || !to) {
    return "no such node";
  }
  const auto arc = fabric.findArc(*from, *to);
  return arc ? QString::fromStdString(toExactText(fabric.arcs()[*arc].bandwidth)) : "no link";
}

std::string renamed(const std::string& id, const Renaming& renaming) {
  const QString text = QString::fromStdString(id);
  for (const auto& [pattern, replacement] : renaming) {
    const QRegularExpression expression(QRegularExpression::anchoredPattern(pattern));
    if (expression.match(text).hasMatch()) {
      return QString(text).replace(QRegularExpression("^(?:" + pattern + ")$"), replacement).toStdString();
    }
  }
  return id;
}

using Arcs = std::map<std::pair<std::string, std::string>, std::string>;
using Kinds = std::map<std::string, fabric::NodeKind>;

Kinds kindsOf(const fabric::Fabric& fabric, const Renaming& renaming) {
  Kinds kinds;
  for (const fabric::Node& node : fabric.nodes()) {
    kinds[renamed(node.id, renaming)] = node.kind;
  }
  return kinds;
}

Arcs arcsOf(const fabric::Fabric& fabric, const Renaming& renaming, Rational scale) {
  std::vector<std::string> ids;
  for (const fabric::Node& node : fabric.nodes()) {
    ids.push_back(renamed(node.id, renaming));
  }
  Arcs arcs;
  for (const fabric::Arc& arc : fabric.arcs()) {
    arcs[{ids[arc.tail], ids[arc.head]}] = toExactText(arc.bandwidth * scale);
  }
  return arcs;
}

struct Example {
  const char* file;
  const char* preset;
  const char* arguments;
  const char* note;
};

const Example kExamples[] = {
    {"2x-dgx-a100", "dgx-a100", "boxes=2",
     "Two DGX A100 boxes as the official ForestColl programs model them: a NIC per GPU, even NICs on one InfiniBand "
     "switch, odd NICs on another. Optimum: allgather 1040/3 GB/s, k 13, U 3/5."},
    {"8x-dgx-a100", "dgx-a100", "boxes=8",
     "Eight DGX A100 boxes (64 GPUs), NICs on two InfiniBand planes. The NICs of a box are the bottleneck. Optimum: "
     "allgather 1600/7 GB/s, k 1, U 7/25."},
    {"2x-mi250", "mi250", "boxes=2",
     "Two MI250 boxes of 16 GCDs. A pair of GCDs is the bottleneck, not the network between the boxes. Optimum: "
     "allgather 5312/15 GB/s, k 83, U 15/2."},
    {"2x-dgx-h100", "dgx-h100", "boxes=2",
     "Two DGX H100 boxes, NVLink SHARP inside. What enters one GPU is the bottleneck. Optimum: allgather 1600/3 GB/s, "
     "k 2, U 3/50."},
    {"4x-dgx-h100-rails", "dgx-h100", "boxes=4 network=rails",
     "Four DGX H100 boxes on eight rails under one spine. What enters one GPU is the bottleneck. Optimum: allgather "
     "16000/31 GB/s, k 10, U 31/50."},
    {"fat-tree-64", "fat-tree-2", "leaves=8 gpus_per_leaf=8 spines=4 oversubscription=2",
     "64 GPUs on eight leaves and four spines, 2:1 oversubscribed, which costs an allgather nothing: each GPU's port "
     "is the bottleneck. Optimum: allgather 3200/63 GB/s, k 1, U 63/50."},
    {"dragonfly-12", "dragonfly", "a=2 p=2 h=1",
     "Dragonfly of three groups with two routers of two GPUs each. Each GPU's port is the bottleneck. Optimum: "
     "allgather 300/11 GB/s, k 1, U 11/25."},
    {"torus-4x4x4", "torus", "dims=4x4x4",
     "Torus of 64 GPUs, six links each. What enters one GPU is the bottleneck. Optimum: allgather 3200/21 GB/s, k 2, U "
     "21/25."},
    {"fig-4-5", "fig-4-5", "b=1",
     "Worked example of the ForestColl dissertation, Figure 4.5 with b = 1 GB/s: x* = b. Optimum: allgather 8 GB/s, k "
     "1, U 1."},
    {"a100-h100-cluster", "cluster", "boxes=4 gpus=8 nvlink=300,300,450,450 nic=25,25,50,50",
     "Two DGX A100 (b0, b1) and two DGX H100 (b2, b3) on one switch. The NICs of an A100 box are the bottleneck. "
     "Optimum: allgather 800/3 GB/s, k 1, U 3/25."},
};

}  // namespace

class TestPresets : public QObject {
  Q_OBJECT
private slots:
  void catalogueIsComplete();
  void defaultsAreValid_data();
  void defaultsAreValid();
  void makesWhatWasAsked_data();
  void makesWhatWasAsked();
  void equalsReference_data();
  void equalsReference();
  void handCheckedArcs();
  void handCalculatedBounds_data();
  void handCalculatedBounds();
  void capabilities();
  void refuses_data();
  void refuses();
  void namesTheNearest_data();
  void namesTheNearest();
  void survivesHostileArguments_data();
  void survivesHostileArguments();
  void largestSizes_data();
  void largestSizes();
  void examplesAreInStep_data();
  void examplesAreInStep();
  void examplesStateTheirBound_data();
  void examplesStateTheirBound();
};

void TestPresets::catalogueIsComplete() {
  std::set<std::string> names;
  for (const presets::Preset& preset : presets::catalogue()) {
    QVERIFY2(names.insert(preset.name).second, preset.name.c_str());
    QVERIFY2(!preset.title.empty() && !preset.description.empty(), preset.name.c_str());
    QVERIFY2(preset.sources.size() > 20, preset.name.c_str());
    QVERIFY2(preset.sources.find("://") == std::string::npos, preset.name.c_str());
    QCOMPARE(presets::find(preset.name), &preset);
    std::set<std::string> parameters;
    for (const presets::Parameter& parameter : preset.parameters) {
      QVERIFY(parameters.insert(parameter.name).second);
      QVERIFY(!parameter.description.empty() && !parameter.defaultText.empty() && !parameter.allowed.empty());
    }
  }
  for (const char* name : {"dgx1-v100",
                           "dgx2",
                           "dgx-a100",
                           "dgx-h100",
                           "dgx-h200",
                           "dgx-b200",
                           "gb200-nvl72",
                           "hgx-mi300x",
                           "mi250",
                           "azure-ndv2",
                           "fig-4-5",
                           "gigabyte-z52-mi50",
                           "rail-optimised",
                           "rail-only",
                           "fat-tree-2",
                           "fat-tree-3",
                           "dragonfly",
                           "ring",
                           "torus",
                           "mesh",
                           "hypercube",
                           "complete",
                           "circulant",
                           "cayley",
                           "kautz",
                           "debruijn",
                           "hamming",
                           "twisted-torus",
                           "twisted-cube",
                           "distance-regular",
                           "cluster",
                           "complete-bipartite",
                           "hgx-b300",
                           "gb300-nvl72",
                           "hgx-mi325x",
                           "hgx-mi355x",
                           "gaudi3",
                           "trainium2",
                           "tpu-v5p",
                           "tpu-v7",
                           "aws-p5",
                           "aws-p6-b200",
                           "aws-p6-b300",
                           "aws-p6e-gb200",
                           "two-plane",
                           "azure-nd-h100-v5",
                           "rail-optimised-3",
                           "azure-nd-gb200-v6"}) {
    QVERIFY2(names.contains(name), name);
  }
  QCOMPARE(presets::find("dgx"), nullptr);
  QVERIFY(presets::find("DGX-H100") != nullptr);
  QCOMPARE(presets::find("DGX-H100"), presets::find("dgx-h100"));
}

void TestPresets::defaultsAreValid_data() {
  QTest::addColumn<QString>("name");
  for (const presets::Preset& preset : presets::catalogue()) {
    QTest::newRow(preset.name.c_str()) << QString::fromStdString(preset.name);
  }
}

void TestPresets::defaultsAreValid() {
  QFETCH(QString, name);
  const fabric::Description description = made(name);
  for (const Finding& finding : fabric::validate(description)) {
    QVERIFY2(finding.severity == Severity::note, describe(finding).c_str());
  }
  const fabric::Fabric fabric = built(description);
  QVERIFY(fabric.isBalanced());
  QVERIFY(!fabric.name().empty());
  // Stating every default changes nothing, unless the parameter belongs to another choice.
  Pairs stated;
  for (const presets::Parameter& parameter : presets::find(name.toStdString())->parameters) {
    if (parameter.description.find("(only with") == std::string::npos) {
      stated[parameter.name] = parameter.defaultText;
    }
  }
  const auto again = presets::make(name.toStdString(), stated);
  QVERIFY(again.hasValue());
  QCOMPARE(*again, description);
}

void TestPresets::makesWhatWasAsked_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("nodes");
  QTest::addColumn<QString>("egressSum");  // over all nodes, GB/s, by hand
  const auto row = [](const char* name, const char* arguments, int gpus, int nodes, const char* sum) {
    QTest::addRow("%s %s", name, arguments) << name << arguments << gpus << nodes << sum;
  };
  row("dgx1-v100", "", 8, 8, "1200");
  row("circulant", "", 16, 16, "1600");
  row("circulant", "nodes=6 jumps=1,3 bandwidth=10", 6, 6, "180");  // a jump of half the nodes is one link
  row("cayley", "", 16, 16, "1600");
  row("cayley", "m=8 n=1 r=1 generators=1,0,3,0", 8, 8, "400");
  row("kautz", "", 20, 20, "2000");
  row("kautz", "nodes=10 degree=2", 10, 10, "450");  // two self-loops
  row("debruijn", "", 8, 8, "350");
  row("hamming", "", 9, 9, "900");
  row("twisted-torus", "", 32, 32, "3200");
  row("twisted-cube", "", 8, 8, "600");
  row("distance-regular", "", 14, 14, "1050");
  row("distance-regular", "graph=gq-3 bandwidth=1", 80, 80, "320");
  row("gaudi3", "", 16, 17, "10800");                // 2 * (2 * 28 * 75 + 16 * 75)
  row("hgx-mi355x", "boxes=1", 8, 8, "4300.8");      // 2 * 28 * 76.8
  row("trainium2", "", 16, 16, "8192");              // 16 * 4 * 128
  row("trainium2", "instances=2", 32, 32, "18432");  // 32 * (4 * 128 + 64): two instances are joined once
  row("trainium2", "instances=4", 64, 64, "40960");
  row("tpu-v5p", "", 64, 64, "38400");
  row("tpu-v5p", "dims=2x2x1", 4, 4, "800");
  row("tpu-v7", "dims=4x8x4", 128, 128, "76800");
  row("tpu-v7", "dims=4x4x8 twist=true", 128, 128, "76800");
  row("two-plane", "", 32, 76, "38400");                // 2 * (32 * (450 + 50 + 50) + 1600)
  row("two-plane", "boxes=2", 16, 36, "17600");         // one leaf a plane: no spines
  row("rail-optimised-3", "", 64, 114, "76800");        // 2 * (64 * 500 + 3200 + 3200)
  row("rail-optimised-3", "boxes=2", 16, 28, "17600");  // one unit: no cores
  row("hgx-b300", "network=three-tier boxes=4 core_oversubscription=4", 32, 58,
      "72000");                                 // 2 * (32 * 1000 + 3200 + 800)
  row("dgx1-v100", "boxes=2", 16, 33, "3312");  // 2 * (1200 + 2 * (8 * 16 + 8 * 12.5))
  row("dgx2", "boxes=1", 16, 17, "4800");
  row("dgx2", "boxes=3", 48, 100, "17136");  // 3 * 2 * (16 * 150 + 16 * 16 + 16 * 12.5)
  row("dgx-a100", "", 16, 36, "11200");      // 2 * 16 * (300 + 2 * 25)
  row("dgx-a100", "boxes=1", 8, 9, "4800");
  row("dgx-a100", "boxes=3 network=simple", 24, 28, "15600");  // 2 * 24 * 325
  row("dgx-a100", "gpus=3", 6, 16, "4200");
  row("dgx-a100", "gpus=1 planes=1", 2, 7, "1400");
  row("dgx-a100", "planes=8 boxes=4", 32, 76, "22400");
  row("dgx-h100", "network=rails oversubscription=4:1 boxes=4", 32, 45, "32800");  // 2 * (32 * 500 + 8 * 50)
  row("dgx-h100", "network=rail-only", 16, 26, "16000");
  row("dgx-h100", "network=leaf-spine boxes=5 spines=3 oversubscription=2", 40, 91, "46000");  // 2*(40*550 + 1000)
  row("dgx-h100", "network=leaf-spine boxes=2", 16, 35, "17600");                              // one leaf: no spines
  row("dgx-b200", "nic=800Gb/s", 16, 19, "32000");
  row("gb200-nvl72", "", 72, 73, "129600");
  row("gb200-nvl72", "racks=2 gpus=36", 72, 75, "136800");
  row("hgx-mi300x", "", 16, 17, "8768");     // 2 * (2 * 28 * 64 + 16 * 50)
  row("mi250", "", 32, 33, "12224");         // 32 * 350 + 2 * 32 * 16
  row("mi250", "gpus=0-7", 16, 17, "5512");  // 2 * (2 * 25 * 50 + 2 * 8 * 16): 25 links stay
  row("mi250", "gpus=0-7 network=planes planes=2 boxes=2", 16, 34, "6024");  // each NIC node counts twice
  row("gigabyte-z52-mi50", "", 8, 8, "504");                                 // 2 * (6 * 33 + 2 * 27)
  row("azure-ndv2", "boxes=1", 8, 8, "1200");
  row("azure-ndv2", "", 16, 31, "3207.2");     // 2 * (1200 + 2 * (12 * 13 + 20.8 + 2 * 12.5))
  row("rail-optimised", "", 32, 45, "35200");  // 2 * (32 * 500 + 8 * 4 * 50)
  row("rail-only", "boxes=2 gpus=4 nvlink=40 nic=25", 8, 14, "1040");
  row("cluster", "boxes=3 gpus=8,4,2 nvlink=300 nic=25,25,50", 14, 18, "9200");
  row("fat-tree-2", "", 16, 22, "3200");  // 2 * (16 * 50 + 4 * 200)
  row("fat-tree-2", "leaves=8 gpus_per_leaf=8 spines=4 oversubscription=2", 64, 76, "9600");
  row("fat-tree-3", "", 16, 36, "4800");
  row("fat-tree-3", "wiring=full cores=3", 16, 35, "4800");
  row("dragonfly", "", 12, 18, "900");  // 2 * 25 * (12 + 3 + 3)
  row("dragonfly", "a=1 p=3 h=2", 9, 12, "600");
  row("ring", "gpus=2", 2, 2, "50");
  row("ring", "gpus=2 direction=one-way", 2, 2, "50");
  row("ring", "gpus=5 direction=one-way bandwidth=7", 5, 5, "35");
  row("torus", "dims=4x4x2", 32, 32, "4000");  // degree 5
  row("torus", "dims=5x1x3 bandwidth=1", 15, 15, "60");
  row("torus", "dims=2x2 bandwidth=1,10", 4, 4, "44");
  row("mesh", "dims=4x3 bandwidth=1", 12, 12, "34");
  row("hypercube", "dimension=5 bandwidth=1", 32, 32, "160");
  row("complete", "gpus=5 bandwidth=1", 5, 5, "20");
  row("complete-bipartite", "left=3 right=5 bandwidth=1", 8, 8, "30");
  row("fig-4-5", "b=25", 8, 11, "4400");
}

void TestPresets::makesWhatWasAsked() {
  QFETCH(QString, name);
  QFETCH(QString, arguments);
  QFETCH(int, gpus);
  QFETCH(int, nodes);
  QFETCH(QString, egressSum);
  const fabric::Description description = made(name, arguments);
  const fabric::Fabric fabric = built(description);
  QCOMPARE(fabric.gpuCount(), gpus);
  QCOMPARE(fabric.nodeCount(), nodes);
  Bandwidth sum;
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    sum = sum + fabric.egress(node);
  }
  QCOMPARE(QString::fromStdString(toExactText(sum)), egressSum);
  QVERIFY(fabric.isBalanced());
  for (const Finding& finding : fabric::validate(description)) {
    QVERIFY2(finding.severity == Severity::note, describe(finding).c_str());
  }
  // Ranks follow the order of the nodes.
  int rank = 0;
  for (const fabric::NodeDescription& node : description.nodes) {
    QVERIFY(!node.position);
    QCOMPARE(node.rank.has_value(), node.kind == "gpu");
    if (node.rank) {
      QCOMPARE(*node.rank, rank++);
    }
  }
}

void TestPresets::equalsReference_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<int>("unitsPerGigabyte");
  QTest::addColumn<QString>("renaming");  // "pattern -> replacement" lines
  const QString numbers = "(\\d+) -> g\\1";
  const QString fatTree =
      "h(\\d+)_(\\d+)_(\\d+) -> p\\1l\\2g\\3\ne(\\d+)_(\\d+) -> p\\1leaf\\2\n"
      "a(\\d+)_(\\d+) -> p\\1spine\\2\nc(\\d+) -> core\\1";
  const QString clos3 =
      "g(\\d+)_(\\d+)_(\\d+) -> p\\1l\\2g\\3\nleaf(\\d+)_(\\d+) -> p\\1leaf\\2\n"
      "spine(\\d+)_(\\d+) -> p\\1spine\\2";
  const QString dragonfly = "t(\\d+)_(\\d+)_(\\d+) -> b\\1r\\2g\\3\nr(\\d+)_(\\d+) -> b\\1r\\2";
  // Two rings numbered as nvidia-smi numbers the hybrid cube mesh.
  const QString rings = "b0g1 -> b0g0\nb0g0 -> b0g3\nb0g2 -> b0g1\nb0g3 -> b0g2\nb0g7 -> b0g5\nb0g5 -> b0g7";
  const auto row = [](const char* graph, const char* preset, const char* arguments, const QString& renaming = {},
                      int units = 1) { QTest::newRow(graph) << preset << arguments << units << renaming; };
  row("dgx1_v100", "dgx1-v100", "", rings);
  row("dgx1_v100_4box", "dgx1-v100", "boxes=4 wiring=sccl nic=12");
  row("dgx2_1box", "dgx2", "boxes=1", {}, 2);
  row("dgx2_4box", "dgx2", "boxes=4", {}, 2);
  row("dgx_a100_1box_nic", "dgx-a100", "boxes=1");
  row("dgx_a100_2box_nic", "dgx-a100", "");
  row("dgx_a100_8box_nic", "dgx-a100", "boxes=8");
  row("dgx_a100_32box_nic", "dgx-a100", "boxes=32");
  row("dgx_a100_128box_nic", "dgx-a100", "boxes=128");
  row("dgx_a100_2box_simple", "dgx-a100", "network=simple");
  row("dgx_a100_8box_simple", "dgx-a100", "network=simple boxes=8");
  row("dgx_h100_1box", "dgx-h100", "boxes=1");
  row("dgx_h100_2box", "dgx-h100", "");
  row("dgx_h100_4box", "dgx-h100", "boxes=4");
  row("dgx_h100_16box", "dgx-h100", "boxes=16");
  row("dgx_h100_2box_rail_only", "dgx-h100", "network=rail-only");
  row("dgx_h100_4box_rail_only", "rail-only", "");
  row("dgx_h100_2box_rail_over1", "dgx-h100", "network=rails");
  row("dgx_h100_4box_rail_over2", "rail-optimised", "oversubscription=2");
  row("dgx_h100_16box_rail_over1", "rail-optimised", "boxes=16");
  row("dgx_h100_16box_rail_over4", "rail-optimised", "boxes=16 oversubscription=4");
  row("nvl72_1rack", "gb200-nvl72", "");
  row("nvl72_2rack", "gb200-nvl72", "racks=2");
  row("mi250_1box", "mi250", "boxes=1");
  row("mi250_2box", "mi250", "");
  row("mi250_8box", "mi250", "boxes=8");
  row("mi250_16box", "mi250", "boxes=16");
  row("mi250_2box_4plus4", "mi250", "gpus=0-3");
  row("mi250_2box_12plus12", "mi250", "gpus=0-11");
  row("mi250_2box_10plus6", "mi250", "gpus=0-9/0-5");
  row("mi250_2box_sparse", "mi250", "gpus=0,2,4,6,8,10,12,14/1,3,5,7,9,11,13,15");
  row("mi250_3box_8plus8plus8", "mi250", "boxes=3 gpus=0-7");
  row("mixed_gen_a100_h100", "cluster", "gpus=8,8 nvlink=300,450 nic=25,50");
  row("mixed_sizes_1_7", "cluster", "gpus=1,7 nvlink=100 nic=90,13");
  row("mixed_sizes_8_4_2", "cluster", "boxes=3 gpus=8,4,2 nic=25,25,50");
  row("clos_boxes_4x4_over2", "cluster", "boxes=4 gpus=4 nic=50 network=leaf-spine oversubscription=2");
  row("clos_boxes_6x8_over4", "cluster", "boxes=6 nvlink=450 nic=50 network=leaf-spine spines=4 oversubscription=4");
  row("rail_only_4box_4gpu_weak_nvlink", "rail-only", "gpus=4 nvlink=40 nic=25");
  row("rail_only_8box_4gpu_slow_intra", "rail-only", "boxes=8 gpus=4 nvlink=10");
  row("fattree_k4", "fat-tree-3", "bandwidth=1", fatTree);
  row("fattree_k4_over", "fat-tree-3", "bandwidth=10 oversubscription=2 core_oversubscription=5/2", fatTree);
  row("fattree_k8", "fat-tree-3", "pods=8 leaves_per_pod=4 gpus_per_leaf=4 spines_per_pod=4 cores=16 bandwidth=1",
      fatTree);
  row("fattree_k16", "fat-tree-3", "pods=16 leaves_per_pod=8 gpus_per_leaf=8 spines_per_pod=8 cores=64 bandwidth=1",
      fatTree);
  row("clos3_over", "fat-tree-3",
      "pods=3 gpus_per_leaf=3 cores=2 wiring=full bandwidth=40 oversubscription=2 core_oversubscription=3", clos3);
  row("dragonfly_a2p2h1", "dragonfly", "terminal=10 local=6 global=7", dragonfly);
  row("dragonfly_a4p2h2", "dragonfly", "a=4 h=2", dragonfly);
  row("ring_bidir_3", "ring", "gpus=3 bandwidth=1", numbers);
  row("ring_bidir_6_bw50", "ring", "gpus=6 bandwidth=50", numbers);
  row("ring_bidir_8", "ring", "bandwidth=1", numbers);
  row("ring_bidir_16", "ring", "gpus=16 bandwidth=1", numbers);
  row("ring_unidir_3", "ring", "gpus=3 direction=one-way bandwidth=1", numbers);
  row("ring_unidir_7", "ring", "gpus=7 direction=one-way bandwidth=1", numbers);
  row("torus_2x3", "torus", "dims=2x3 bandwidth=1", numbers);
  row("torus_3x3", "torus", "dims=3x3 bandwidth=1", numbers);
  row("torus_3x3x2", "torus", "dims=3x3x2 bandwidth=1", numbers);
  row("torus_3x4x5_bw", "torus", "dims=3x4x5 bandwidth=7,4,2", numbers);
  row("torus_4x4", "torus", "bandwidth=1", numbers);
  row("torus_8x8", "torus", "dims=8x8 bandwidth=1", numbers);
  row("mesh_4x3", "mesh", "dims=4x3 bandwidth=1", numbers);
  row("mesh_8x8", "mesh", "dims=8x8 bandwidth=1", numbers);
  row("hypercube_3", "hypercube", "bandwidth=1", numbers);
  row("hypercube_4", "hypercube", "dimension=4 bandwidth=1", numbers);
  row("hypercube_5", "hypercube", "dimension=5 bandwidth=1", numbers);
  row("complete_3", "complete", "gpus=3 bandwidth=1", numbers);
  row("complete_5", "complete", "gpus=5 bandwidth=1", numbers);
  row("complete_bipartite_2_2", "complete-bipartite", "left=2 right=2 bandwidth=1", numbers);
  row("complete_bipartite_2_3", "complete-bipartite", "left=2 right=3 bandwidth=1", numbers);
  row("complete_bipartite_3_5", "complete-bipartite", "left=3 right=5 bandwidth=1", numbers);
  row("paper_fig4_5_b1", "fig-4-5", "");
  row("paper_fig4_5_b25", "fig-4-5", "b=25");
}

void TestPresets::equalsReference() {
  QFETCH(QString, preset);
  QFETCH(QString, arguments);
  QFETCH(int, unitsPerGigabyte);
  QFETCH(QString, renaming);
  const QString path = QString(COPPICE_TEST_DATA "/reference/graphs/%1.json").arg(QTest::currentDataTag());
  const QByteArray text = read(path);
  QVERIFY2(!text.isEmpty(), qPrintable(path));
  const auto reference = io::readFabricJson({text.constData(), static_cast<std::size_t>(text.size())});
  QVERIFY2(reference.hasValue(), reference ? "" : qPrintable(shown(reference.error())));
  Renaming rules;
  for (const QString& line : renaming.split('\n', Qt::SkipEmptyParts)) {
    const QStringList sides = line.split(" -> ");
    rules.emplace_back(sides[0], sides[1]);
  }
  const fabric::Fabric expected = built(*reference);
  const fabric::Fabric actual = built(made(preset, arguments));
  QCOMPARE(kindsOf(actual, {}), kindsOf(expected, rules));
  QCOMPARE(arcsOf(actual, {}, Rational(unitsPerGigabyte)), arcsOf(expected, rules, Rational(1)));
}

void TestPresets::handCheckedArcs() {
  {
    const fabric::Fabric dgx1 = built(made("dgx1-v100", "boxes=2"));
    QCOMPARE(bandwidthOf(dgx1, "b0g0", "b0g3"), "50");
    QCOMPARE(bandwidthOf(dgx1, "b1g1", "b1g0"), "25");
    QCOMPARE(bandwidthOf(dgx1, "b0g0", "b0g5"), "no link");
    QCOMPARE(bandwidthOf(dgx1, "b1nic3", "ib"), "12.5");
    QCOMPARE(bandwidthOf(dgx1, "b0g6", "b0pcie3"), "16");
  }
  {
    const fabric::Fabric a100 = built(made("dgx-a100"));
    QCOMPARE(bandwidthOf(a100, "b0g3", "b0nvs"), "300");
    QCOMPARE(bandwidthOf(a100, "b1nic5", "ib1"), "25");
    QCOMPARE(bandwidthOf(a100, "b1nic5", "ib0"), "no link");
  }
  {
    const fabric::Description mi250 = made("mi250", "gpus=0-7");
    const fabric::Fabric fabric = built(mi250);
    QCOMPARE(bandwidthOf(fabric, "b0g0", "b0g1"), "200");
    QCOMPARE(bandwidthOf(fabric, "b0g0", "b0g4"), "100");
    QCOMPARE(bandwidthOf(fabric, "b0g0", "b0g8"), "no such node");
    QCOMPARE(bandwidthOf(fabric, "ib", "b1g7"), "16");
    QCOMPARE(mi250.links.front().bandwidth, "50");
    QCOMPARE(mi250.links.front().count, 4);
    // Every GCD of a full box has seven links.
    const fabric::Fabric box = built(made("mi250", "boxes=1"));
    for (int node = 0; node < box.nodeCount(); ++node) {
      QCOMPARE(toExactText(box.egress(node)), "350");
    }
    // The subset by name is the preset's own subset.
    std::vector<std::string> kept;
    for (const fabric::NodeDescription& node : mi250.nodes) {
      if (node.kind == "gpu") {
        kept.push_back(node.id);
      }
    }
    const auto subset = fabric::subset(made("mi250"), kept);
    QVERIFY(subset.hasValue());
    QCOMPARE(built(*subset).digest(), fabric.digest());
  }
  {
    const fabric::Fabric z52 = built(made("gigabyte-z52-mi50"));
    QCOMPARE(bandwidthOf(z52, "b0g0", "b0g2"), "33");
    QCOMPARE(bandwidthOf(z52, "b0g0", "b0g3"), "33");
    QCOMPARE(bandwidthOf(z52, "b0g2", "b0g3"), "no link");
    QCOMPARE(bandwidthOf(z52, "b0g1", "b0g3"), "27");
    for (int node = 0; node < z52.nodeCount(); ++node) {
      QVERIFY(toExactText(z52.egress(node)) == "66" || toExactText(z52.egress(node)) == "60");
    }
  }
  {
    const fabric::Fabric ndv2 = built(made("azure-ndv2"));
    QCOMPARE(bandwidthOf(ndv2, "b1pcie0", "b1nic0"), "12.5");
    QCOMPARE(bandwidthOf(ndv2, "b0pcie3", "b0cpu1"), "13");
    QCOMPARE(bandwidthOf(ndv2, "b0cpu0", "b0cpu1"), "20.8");
  }
  {
    const fabric::Fabric mi300x = built(made("hgx-mi300x", "boxes=1"));
    QCOMPARE(toExactText(mi300x.egress(0)), "448");
  }
  {
    // FCC: the short lines close half of the long side further on; every chip still has six links.
    const fabric::Fabric slice = built(made("tpu-v5p", "dims=4x4x8 twist=true"));
    QCOMPARE(bandwidthOf(slice, "x3y1z1", "x0y1z5"), "100");
    QCOMPARE(bandwidthOf(slice, "x3y1z1", "x0y1z1"), "no link");
    QCOMPARE(bandwidthOf(slice, "x2y3z6", "x2y0z2"), "100");
    QCOMPARE(bandwidthOf(slice, "x2y3z7", "x2y3z0"), "100");
    // BCC: the one short side moves both long ones.
    const fabric::Fabric large = built(made("tpu-v5p", "dims=4x8x8 twist=true"));
    QCOMPARE(bandwidthOf(large, "x3y1z6", "x0y5z2"), "100");
    for (const fabric::Fabric* fabric : {&slice, &large}) {
      for (int node = 0; node < fabric->nodeCount(); ++node) {
        QCOMPARE(toExactText(fabric->egress(node)), "600");
      }
    }
  }
  {
    const fabric::Fabric server = built(made("trainium2", "instances=4"));
    QCOMPARE(bandwidthOf(server, "x0y1z3", "x0y1z0"), "128");
    QCOMPARE(bandwidthOf(server, "x3y1z3", "x0y1z3"), "64");
  }
  {
    const fabric::Fabric planes = built(made("two-plane", "oversubscription=2"));
    QCOMPARE(bandwidthOf(planes, "b0g3", "b0nic3"), "50");
    QCOMPARE(bandwidthOf(planes, "b3nic7", "plane1leaf1"), "25");
    QCOMPARE(bandwidthOf(planes, "plane0leaf1", "plane0spine1"), "100");  // 16 * 25 / (2 * 2)
  }
  {
    const fabric::Fabric tiers = built(made("rail-optimised-3", "boxes=4 oversubscription=2"));
    QCOMPARE(bandwidthOf(tiers, "b3g5", "u1rail5"), "50");
    QCOMPARE(bandwidthOf(tiers, "u1rail5", "spine3"), "25");  // 2 * 50 / (2 * 2)
    QCOMPARE(bandwidthOf(tiers, "spine3", "core0"), "100");   // 8 * 25 / 2
  }
  {
    const fabric::Fabric tree = built(made("fat-tree-2", "gpus_per_leaf=3 spines=7 oversubscription=2"));
    QCOMPARE(bandwidthOf(tree, "leaf0", "spine6"), "75/7");
  }
}

void TestPresets::handCalculatedBounds_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("algbw");  // GB/s of an allgather
  const auto row = [](const char* name, const char* arguments, const char* algbw) {
    QTest::addRow("%s %s", name, arguments) << name << arguments << algbw;
  };
  // With N GPUs: one GPU receives the other N - 1 shards over all it has; a box receives the shards of all others over
  // its NICs. The smaller of N times these is the bound.
  row("hgx-b300", "boxes=4", "32000/31");       // GPU: 32 * (900 + 100) / 31; box: 32 * 800 / 24 is more
  row("gb300-nvl72", "", "64800/71");           // 72 * 900 / 71
  row("gb300-nvl72", "racks=2", "144000/143");  // 144 * (900 + 100) / 143
  row("hgx-mi325x", "boxes=1", "512");          // 8 * 7 * 64 / 7
  row("hgx-mi325x", "boxes=4", "15936/31");     // 32 * (448 + 50) / 31; box: 32 * 400 / 24 is more
  row("hgx-mi355x", "boxes=1", "3072/5");       // 8 * 76.8
  row("hgx-mi355x", "boxes=4", "1600/3");       // box: 32 * 400 / 24; GPU: 32 * 587.6 / 31 is more
  row("gaudi3", "boxes=1", "600");              // 8 * 525 / 7, the peak of Intel's documentation
  row("gaudi3", "boxes=4", "19200/31");         // 32 * (525 + 75) / 31
  row("trainium2", "", "8192/15");              // 16 * 4 * 128 / 15
  row("trainium2", "instances=4", "40960/63");  // 64 * (4 * 128 + 2 * 64) / 63
  row("tpu-v5p", "", "12800/21");               // 64 * 600 / 63
  row("tpu-v5p", "dims=2x2x1", "800/3");        // 4 * 200 / 3
  row("tpu-v5p", "dims=2x2x2", "2400/7");       // 8 * 300 / 7
  row("tpu-v7", "dims=4x4x8", "76800/127");     // 128 * 600 / 127
  row("tpu-v7", "dims=4x4x8 twist=true", "76800/127");
  row("aws-p5", "boxes=4", "16000/31");     // GPU: 32 * (450 + 50) / 31
  row("aws-p6-b200", "boxes=4", "1600/3");  // box: 32 * 400 / 24
  row("aws-p6-b300", "boxes=4", "32000/31");
  row("aws-p6e-gb200", "gpus=36", "6480/7");          // 36 * 900 / 35
  row("azure-nd-h100-v5", "boxes=8", "3200/7");       // box: 64 * 400 / 56
  row("azure-nd-gb200-v6", "racks=2", "136800/143");  // 144 * (900 + 50) / 143
  row("two-plane", "", "16000/31");                   // GPU: 32 * 500 / 31
  // Half of the GPUs get the other half's shards over the uplinks of their leaves: 16 * 50 / 8 = 100 for 16 shards.
  row("two-plane", "oversubscription=8", "200");
  row("rail-optimised-3", "boxes=4", "16000/31");
  row("rail-optimised-3", "boxes=4 core_oversubscription=8", "200");
}

void TestPresets::handCalculatedBounds() {
  QFETCH(QString, name);
  QFETCH(QString, arguments);
  QFETCH(QString, algbw);
  const auto optimum = forestcoll::optimum(built(made(name, arguments)), {});
  QVERIFY2(optimum.hasValue(), optimum ? "" : qPrintable(shown(optimum.error())));
  QCOMPARE(QString::fromStdString(toFraction(optimum->algbw)), algbw);
}

void TestPresets::capabilities() {
  const auto capable = [](const fabric::Fabric& fabric, const char* id) {
    const fabric::Node& node = fabric.nodes()[*fabric.find(id)];
    return node.multicast && node.aggregation ? "yes" : node.multicast || node.aggregation ? "half" : "no";
  };
  for (const char* name : {"dgx-h100", "dgx-h200", "dgx-b200"}) {
    const fabric::Fabric fabric = built(made(name));
    QCOMPARE(capable(fabric, "b0nvs"), "yes");
    QCOMPARE(capable(fabric, "ib"), "no");
    QCOMPARE(capable(built(made(name, "nvls=false")), "b1nvs"), "no");
  }
  QCOMPARE(capable(built(made("gb200-nvl72")), "b0nvs"), "yes");
  QCOMPARE(capable(built(made("dgx-a100")), "b0nvs"), "no");
  QCOMPARE(capable(built(made("dgx-a100", "sharp=true")), "ib1"), "yes");
  QCOMPARE(capable(built(made("dgx-a100", "sharp=true")), "b0nvs"), "no");
  QCOMPARE(capable(built(made("rail-optimised", "sharp=true")), "spine"), "yes");
  QCOMPARE(capable(built(made("fat-tree-3", "sharp=true")), "p0leaf1"), "yes");
}

void TestPresets::refuses_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("arguments");
  QTest::addColumn<QString>("message");
  QTest::addColumn<QString>("fix");
  const auto row = [](const char* name, const char* arguments, const char* message, const char* fix) {
    QTest::addRow("%s %s", name, arguments) << name << arguments << message << fix;
  };
  row("dgx-a10", "", "no preset \"dgx-a10\"", "did you mean \"dgx-a100\"?");
  row("", "", "no preset \"\"", "Presets are dgx1-v100, dgx2,");
  row("dgx-a100", "box=2", "no parameter \"box\"", "did you mean \"boxes\"? It takes boxes, gpus, nvlink");
  row("dgx-a100", "boxes=0", "boxes=\"0\"", "1 to 10000");
  row("dgx-a100", "boxes=-1", "boxes=\"-1\"", "1 to 10000");
  row("torus", "dims=1", "dims makes a single GPU", "2 or more");
  row("dgx-a100", "boxes=2.5", "boxes=\"2.5\"", "whole number");
  row("dgx-a100", "boxes=99999999999999999999", "boxes=", "1 to 10000");
  row("cayley", "r=2", "2^2 = 4 mod 8, not 1", "r^n = 1 mod m");
  row("cayley", "generators=0,1,0,1", "(0,1) is given twice", "once");
  row("cayley", "generators=0,0", "identity", "leave it out");
  row("cayley", "generators=2,0,0,1", "reach 8 of the 16 elements", "add a generator");
  row("cayley", "generators=0,1,1", "3 numbers", "pairs a,b");
  row("cayley", "generators=9,0", "not an element", "0 <= a < m");
  row("circulant", "jumps=9", "jump 9", "1 to 8");
  row("circulant", "jumps=4,8", "no path leads from g0 to g1", "join all nodes");
  row("kautz", "nodes=4", "at least one node more", "5 nodes");
  row("twisted-cube", "dimension=4", "odd dimension", "odd");
  row("distance-regular", "graph=pg-4", "pg-4", "did you mean");
  row("dgx-a100", "gpus=9", "gpus=\"9\"", "1 to 8");
  row("dgx-a100", "nvlink=0", "nvlink=\"0\"", "above 0");
  row("dgx-a100", "nvlink=-5", "nvlink=\"-5\"", "above 0");
  row("dgx-a100", "nvlink=1e300", "nvlink=\"1e300\"", "at most 1000000");
  row("dgx-a100", "nic=fast", "nic=\"fast\"", "400Gb/s");
  row("dgx-a100", "network=plane", "network=\"plane\"", "did you mean \"planes\"?");
  row("dgx-a100", "spines=2", "spines has no effect with network=planes", "leaf-spine");
  row("dgx-a100", "oversubscription=2", "oversubscription has no effect", "leaf-spine, rails");
  row("dgx-h100", "planes=2", "planes has no effect with network=simple", "planes");
  row("dgx-h100", "network=rails oversubscription=0", "oversubscription=\"0\"", "4:1");
  row("dgx-h100", "network=rails oversubscription=2:0", "oversubscription=\"2:0\"", "4:1");
  row("dgx-h100", "nvls=yes", "nvls=\"yes\"", "true or false");
  row("dgx-a100", "boxes=1 gpus=1", "GPU", "");
  row("dgx2", "boxes=10000", "330001 nodes", "at most 200000 nodes");
  row("gb200-nvl72", "racks=10000", "nodes", "at most 200000 nodes");
  row("mi250", "gpus=16", "gpus=\"16\"", "0 to 15");
  row("mi250", "gpus=7-0", "gpus=\"7-0\"", "0-7");
  row("mi250", "gpus=", "gpus=\"\"", "0-7");
  row("mi250", "gpus=0-7/0-7/0-7", "gpus has 3 entries for 2 boxes", "one per box");
  row("mi250", "boxes=1 gpus=0,7", "preset mi250 with these parameters", "");
  row("cluster", "boxes=3 gpus=8,4", "gpus has 2 entries for 3 boxes", "one per box");
  row("cluster", "nic=25,0", "nic=\"25,0\"", "above 0");
  row("rail-only", "boxes=20000 gpus=1024", "nodes", "at most 200000 nodes");
  row("fat-tree-2", "leaves=4096 spines=4096", "16793600 links", "at most");  // 4096 * 4096 and 4 GPUs a leaf
  row("fat-tree-2", "leaves=1", "leaves=\"1\"", "2 to 4096");
  row("fat-tree-3", "cores=3", "3 cores do not divide over 2 spines", "wiring=full");
  row("fat-tree-3", "pods=4096 leaves_per_pod=4096 gpus_per_leaf=4096", "nodes", "at most 200000 nodes");
  row("dragonfly", "a=4096 h=4096", "nodes", "at most 200000 nodes");
  row("ring", "gpus=1", "gpus=\"1\"", "2 to 200000");
  row("ring", "direction=both", "direction=\"both\"", "two-way, one-way");
  row("torus", "dims=0x3", "dims=\"0x3\"", "4x4x2");
  row("torus", "dims=1x1", "GPU", "");
  row("torus", "dims=99999x99999x99999x99999x99999x99999", "nodes", "at most 200000 nodes");
  row("torus", "dims=2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2", "17 sides", "at most 16");
  row("torus", "dims=2x3 bandwidth=1,2,3", "bandwidth has 3 entries for 2 dimensions", "one per dimension");
  row("tpu-v5p", "dims=4x6x4", "no slice of cubes has the sides 4x6x4", "multiples of 4");
  row("tpu-v5p", "dims=4x4", "dims has 2 sides", "4x4x8");
  row("tpu-v5p", "dims=1x1x1", "dims makes a single GPU", "2 or more");
  row("tpu-v7", "dims=4x4x4 twist=true", "4x4x4 cannot be twisted", "4x4x8");
  row("tpu-v7", "dims=64x64x64", "262144 nodes", "at most 200000 nodes");
  row("trainium2", "instances=5", "instances=\"5\"", "1 to 4");
  row("aws-p5", "sharp=true", "no parameter \"sharp\"", "");
  row("dgx-h100", "cores=2", "cores has no effect with network=simple", "three-tier");
  row("hypercube", "dimension=18", "dimension=\"18\"", "1 to 17");
  row("complete", "gpus=2000", "gpus=\"2000\"", "2 to 1414");
  row("complete-bipartite", "left=200000 right=200000", "nodes", "at most 200000 nodes");
  row("complete-bipartite", "left=2000 right=2000", "4000000 links", "1000000 links");
}

void TestPresets::refuses() {
  QFETCH(QString, name);
  QFETCH(QString, arguments);
  QFETCH(QString, message);
  QFETCH(QString, fix);
  const auto result = presets::make(name.toStdString(), parsed(arguments));
  QVERIFY(!result.hasValue());
  const QString text = QString::fromStdString(result.error().message);
  QVERIFY2(result.error().code == ErrorCode::badUsage, qPrintable(text));
  QVERIFY2(text.contains(message), qPrintable(text));
  const QString fixText = QString::fromStdString(result.error().fix);
  QVERIFY2(fixText.contains(fix) && !fixText.isEmpty(), qPrintable(fixText));
}

void TestPresets::namesTheNearest_data() {
  QTest::addColumn<QString>("typed");
  QTest::addColumn<QString>("guess");
  QTest::newRow("American spelling") << "rail-optimized"
                                     << "rail-optimised";
  QTest::newRow("underscore") << "dgx_h100"
                              << "dgx-h100";
  QTest::newRow("part") << "mi300x"
                        << "hgx-mi300x";
  QTest::newRow("longer") << "dgx-b200-nvl8"
                          << "dgx-b200";
  QTest::newRow("nothing like it") << "zzzzzzzzzzzzzzzz"
                                   << "";
}

void TestPresets::namesTheNearest() {
  QFETCH(QString, typed);
  QFETCH(QString, guess);
  const auto result = presets::make(typed.toStdString(), {});
  QVERIFY(!result.hasValue());
  const QString fix = QString::fromStdString(result.error().fix);
  QCOMPARE(fix.startsWith("did you mean"), !guess.isEmpty());
  QVERIFY2(guess.isEmpty() || fix.startsWith("did you mean \"" + guess + "\"?"), qPrintable(fix));
}

void TestPresets::survivesHostileArguments_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QByteArray>("value");
  const QByteArray values[] = {QByteArray(1 << 20, '9'),
                               QByteArray(1 << 20, ','),
                               QByteArray(1 << 20, '/'),
                               QByteArray("0-").repeated(100'000),
                               QByteArray("1x").repeated(100'000),
                               QByteArray("1,").repeated(5000) + "1",
                               QByteArray("\0\x01\xff\xfe", 4),
                               QByteArray("\xc3\xa4").repeated(200),
                               "nan",
                               "inf",
                               "0x10",
                               "9223372036854775807",
                               "-9223372036854775808",
                               "1/0",
                               "1/9223372036854775807",
                               "9223372036854775807/9223372036854775806",
                               " "};
  for (const presets::Preset& preset : presets::catalogue()) {
    int i = 0;
    for (const QByteArray& value : values) {
      QTest::addRow("%s %d", preset.name.c_str(), i++) << QString::fromStdString(preset.name) << value;
    }
  }
}

void TestPresets::survivesHostileArguments() {
  QFETCH(QString, name);
  QFETCH(QByteArray, value);
  for (const presets::Parameter& parameter : presets::find(name.toStdString())->parameters) {
    const auto result = presets::make(name.toStdString(), {{parameter.name, value.toStdString()}});
    if (result) {
      // Accepted (a tiny or odd bandwidth): then it is a sound fabric or overflows where the sums are made.
      const auto fabric = fabric::Fabric::build(*result);
      QVERIFY(fabric.hasValue() || fabric.error().code == ErrorCode::overflow);
    } else {
      QVERIFY(result.error().message.size() < 400);
    }
  }
  const auto unknown = presets::make(name.toStdString(), {{value.toStdString(), "1"}});
  QVERIFY(!unknown.hasValue());
  QVERIFY(unknown.error().message.size() < 400);
}

void TestPresets::largestSizes_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("arguments");
  QTest::newRow("boxes") << "dgx-a100"
                         << "boxes=10000";
  QTest::newRow("clique") << "complete"
                          << "gpus=1414";
  QTest::newRow("hypercube") << "hypercube"
                             << "dimension=16";
  QTest::newRow("ring") << "ring"
                        << "gpus=200000";
}

void TestPresets::largestSizes() {
  QFETCH(QString, name);
  QFETCH(QString, arguments);
  const fabric::Description description = made(name, arguments);
  QVERIFY(description.nodes.size() >= 1414);
  QVERIFY(description.nodes.size() <= static_cast<std::size_t>(presets::kMaxNodes));
  QVERIFY(description.links.size() <= static_cast<std::size_t>(presets::kMaxLinks));
  // What a preset makes, the file format holds.
  QVERIFY(static_cast<std::size_t>(presets::kMaxLinks) <= io::kMaxFabricLinks);
  QVERIFY(static_cast<std::size_t>(presets::kMaxNodes) <= io::kMaxFabricNodes);
}

void TestPresets::examplesAreInStep_data() {
  QTest::addColumn<int>("index");
  int index = 0;
  for (const Example& example : kExamples) {
    QTest::newRow(example.file) << index++;
  }
}

// The example files are what `coppice-cli preset` writes, with a note; set COPPICE_UPDATE_EXAMPLES to write them again.
void TestPresets::examplesAreInStep() {
  QFETCH(int, index);
  const Example& example = kExamples[index];
  fabric::Description description = made(example.preset, example.arguments);
  description.extra = "{\"note\":\"" + std::string(example.note) + "\"}";
  const std::string expected = io::writeFabricJson(description);
  const QString path = QString(COPPICE_EXAMPLES "/%1.fabric.json").arg(example.file);
  if (qEnvironmentVariableIsSet("COPPICE_UPDATE_EXAMPLES")) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(expected.data(), static_cast<qint64>(expected.size()));
    return;
  }
  const std::string text = read(path).toStdString();
  QCOMPARE(text, expected);
  const auto loaded = io::readFabricJson(text);
  QVERIFY(loaded.hasValue());
  QCOMPARE(*loaded, description);
}

void TestPresets::examplesStateTheirBound_data() {
  QTest::addColumn<QString>("path");
  const QDir folder(COPPICE_EXAMPLES);
  for (const QString& file : folder.entryList({"*.fabric.json"}, QDir::Files, QDir::Name)) {
    QTest::newRow(qPrintable(file)) << folder.filePath(file);
  }
}

// Every example, made by a preset or by hand, is sound and its note states its exact optimum.
void TestPresets::examplesStateTheirBound() {
  QFETCH(QString, path);
  const auto description = io::readFabricJson(read(path).toStdString(), path.toStdString());
  QVERIFY2(description.hasValue(), description ? "" : qPrintable(shown(description.error())));
  for (const Finding& finding : fabric::validate(*description)) {
    QVERIFY2(finding.severity != Severity::error, describe(finding).c_str());
  }
  static const QRegularExpression kBound(R"(Optimum: allgather (\d+(?:/\d+)?) GB/s, k (\d+), U (\d+(?:/\d+)?)\.)");
  const QString extra = QString::fromStdString(description->extra);
  const QRegularExpressionMatch bound = kBound.match(extra);
  QVERIFY2(bound.hasMatch(), qPrintable("no bound in the note: " + extra));
  const auto optimum = forestcoll::optimum(built(*description), {});
  QVERIFY2(optimum.hasValue(), optimum ? "" : qPrintable(shown(optimum.error())));
  QCOMPARE(QString::fromStdString(toFraction(optimum->algbw)), bound.captured(1));
  QCOMPARE(QString::number(optimum->treesPerRoot), bound.captured(2));
  QCOMPARE(QString::fromStdString(toFraction(optimum->scale)), bound.captured(3));
}

QTEST_GUILESS_MAIN(TestPresets)
#include "tst_presets.moc"
