// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "presets/presets.hpp"
#include "support/large_fabrics.hpp"
#include "support/preset_fabrics.hpp"
#include "support/small_symmetries.hpp"
#include "symmetry/fabric_parts.hpp"

/// Orbits of the nodes of fabrics are true, and change no optimum.
using namespace coppice;
using std::int64_t;
using test::built;
using test::describedBy;
using test::isImage;
using test::twoBoxes;

namespace {

/// By node the lowest node of its orbit.
std::vector<int> orbitsOf(const fabric::Fabric& fabric, const std::vector<int64_t>& demand) {
  const symmetry::ColouredDigraph graph = symmetry::graphOf(fabric, demand);
  return symmetry::orbitsOf(graph, symmetry::candidateParts(graph, fabric), int64_t{1} << 24).ofNode;
}

}  // namespace

class TestFabricOrbits : public QObject {
  Q_OBJECT

private slots:
  void orbits_data();
  void orbits();
  void groups_data();
  void groups();
  void optimumStays_data();
  void optimumStays();
};

void TestFabricOrbits::orbits_data() {
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QList<int>>("demand");
  QTest::addColumn<int>("orbitCount");
  QTest::newRow("equal") << QStringList{"5", "5", ""} << QList<int>{1, 1, 1, 1} << 3;
  QTest::newRow("another bandwidth") << QStringList{"5", "6", ""} << QList<int>{1, 1, 1, 1} << 5;
  QTest::newRow("another demand") << QStringList{"5", "5", ""} << QList<int>{1, 1, 1, 2} << 6;
  QTest::newRow("equal demands in another order") << QStringList{"5", "5", ""} << QList<int>{1, 2, 2, 1} << 4;
  QTest::newRow("a link between the boxes") << QStringList{"5", "5", "3"} << QList<int>{1, 1, 1, 1} << 4;
}

void TestFabricOrbits::orbits() {
  QFETCH(QStringList, links);
  QFETCH(QList<int>, demand);
  const fabric::Fabric fabric = built(twoBoxes(links[0].toStdString(), links[1].toStdString(), links[2].toStdString()));
  const std::vector<int64_t> byRank(demand.begin(), demand.end());
  const std::vector<int> orbitOf = orbitsOf(fabric, byRank);
  std::vector<int> distinct = orbitOf;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  QTEST(static_cast<int>(distinct.size()), "orbitCount");
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    QVERIFY(isImage(fabric, byRank, {orbitOf[node]}, {node}));
  }
}

/// Two leaf switches under a spine, with a box of one GPU or a GPU alone on each.
void TestFabricOrbits::groups_data() {
  QTest::addColumn<QString>("box");
  QTest::addColumn<QString>("uplink");
  QTest::addColumn<QString>("across");
  QTest::addColumn<int>("orbitCount");
  QTest::newRow("boxes on leaves") << "b"
                                   << "4"
                                   << "" << 3;
  QTest::newRow("GPUs on leaves") << ""
                                  << "4"
                                  << "" << 3;
  QTest::newRow("another uplink") << "b"
                                  << "5"
                                  << "" << 5;
  QTest::newRow("a way past its leaf") << "b"
                                       << "4"
                                       << "1" << 5;
}

void TestFabricOrbits::groups() {
  QFETCH(QString, box);
  QFETCH(QString, uplink);
  QFETCH(QString, across);
  fabric::Description description;
  description.name = "two leaves";
  description.nodes.push_back({.id = "spine", .kind = "switch"});
  for (const std::string leaf : {"0", "1"}) {
    description.nodes.push_back({.id = "leaf" + leaf, .kind = "switch"});
    description.nodes.push_back(
        {.id = "g" + leaf, .kind = "gpu", .box = box.isEmpty() ? std::string() : box.toStdString() + leaf});
    description.links.push_back({.src = "g" + leaf, .dst = "leaf" + leaf, .bandwidth = "4"});
    description.links.push_back(
        {.src = "leaf" + leaf, .dst = "spine", .bandwidth = leaf == "0" ? "4" : uplink.toStdString()});
  }
  if (!across.isEmpty()) {
    description.links.push_back({.src = "g0", .dst = "spine", .bandwidth = across.toStdString()});
  }
  const fabric::Fabric fabric = built(description);
  const std::vector<int64_t> demand(2, 1);
  const std::vector<int> orbitOf = orbitsOf(fabric, demand);
  QTEST(static_cast<int>(std::set<int>(orbitOf.begin(), orbitOf.end()).size()), "orbitCount");
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    QVERIFY(isImage(fabric, demand, {orbitOf[node]}, {node}));
  }
}

void TestFabricOrbits::optimumStays_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<int>("lost");  // one GPU in this many
  QTest::newRow("boxes") << "dgx-h100 boxes=40" << 0;
  QTest::newRow("rails") << "dgx-h100 boxes=40 network=rails" << 0;
  QTest::newRow("leaves") << "dgx-a100 boxes=40 network=leaf-spine" << 0;
  QTest::newRow("the last leaf has fewer boxes") << "dgx-h100 boxes=38 network=leaf-spine boxes_per_leaf=4" << 0;
  QTest::newRow("leaves with lost GPUs") << "dgx-h100 boxes=48 network=leaf-spine boxes_per_leaf=3" << 40;
  QTest::newRow("pods") << "fat-tree-3 pods=4 leaves_per_pod=4 gpus_per_leaf=4 spines_per_pod=2 cores=4" << 0;
  QTest::newRow("racks") << "gb200-nvl72 racks=5" << 0;
  QTest::newRow("direct links") << "mi250 boxes=24" << 0;
  QTest::newRow("unequal boxes") << "cluster boxes=5 gpus=64,64,32,64,80 nic=50" << 0;
  QTest::newRow("GPUs lost") << "dgx-h100 boxes=48" << 9;
  QTest::newRow("many GPUs lost") << "cluster boxes=48 gpus=8 nvlink=200 nic=50" << 3;
  QTest::newRow("no boxes") << "torus dims=20x20" << 0;
}

void TestFabricOrbits::optimumStays() {
  QFETCH(QString, preset);
  QFETCH(int, lost);
  fabric::Description description = describedBy(preset);
  if (lost > 0) {
    test::Dice dice(7);
    std::vector<std::string> kept;
    for (const fabric::NodeDescription& node : description.nodes) {
      if (node.kind == "gpu" && !dice.oneIn(lost)) {
        kept.push_back(node.id);
      }
    }
    description = *fabric::subset(description, kept);
  }
  const fabric::Fabric fabric = built(description);
  const std::vector<int64_t> demand(static_cast<std::size_t>(fabric.gpuCount()), 1);
  forestcoll::Network network = forestcoll::makeNetwork(fabric, demand);
  network.orbitOf = orbitsOf(fabric, demand);
  const forestcoll::CutRatio quick = forestcoll::worstCut(network, {});
  network.orbitOf.clear();
  const forestcoll::CutRatio plain = forestcoll::worstCut(network, {});
  QCOMPARE(quick.value(), plain.value());
}

QTEST_GUILESS_MAIN(TestFabricOrbits)
#include "tst_fabric_orbits.moc"
