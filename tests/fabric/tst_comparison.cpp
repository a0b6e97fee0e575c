// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "fabric/comparison.hpp"
#include "fabric/structural_boxes.hpp"

using namespace coppice;
using namespace coppice::fabric;

namespace {

/// Hosts of two GPUs on an NVSwitch, each with a NIC to the leaf of its number; a spine joins the leaves.
/// @param prefix of the hosts' names  @param named whether nodes have boxes
Description cluster(int hosts, const std::string& prefix, bool named = true) {
  Description description;
  const auto node = [&](const std::string& id, const char* kind, const std::string& box) {
    NodeDescription described;
    described.id = id;
    described.kind = kind;
    described.box = named ? box : std::string();
    description.nodes.push_back(std::move(described));
  };
  for (int host = 0; host < hosts; ++host) {
    const std::string name = prefix + std::to_string(host);
    for (int i = 0; i < 2; ++i) {
      node(name + "g" + std::to_string(i), "gpu", name);
    }
    node(name + "s", "switch", name);
    for (int i = 0; i < 2; ++i) {
      node(name + "n" + std::to_string(i), "nic", name);
      description.links.push_back({name + "g" + std::to_string(i), name + "s", "300"});
      description.links.push_back({name + "g" + std::to_string(i), name + "n" + std::to_string(i), "25"});
      description.links.push_back({name + "n" + std::to_string(i), prefix + "leaf" + std::to_string(i), "25"});
    }
  }
  for (int i = 0; i < 2; ++i) {
    node(prefix + "leaf" + std::to_string(i), "switch", {});
    description.links.push_back({prefix + "leaf" + std::to_string(i), prefix + "spine", "50"});
  }
  node(prefix + "spine", "switch", {});
  return description;
}

Fabric built(const Description& description) {
  auto fabric = Fabric::build(description);
  if (!fabric) {
    qFatal("%s", describe(fabric.error()).c_str());
  }
  return *std::move(fabric);
}

QStringList kindsOf(const FabricComparison& comparison) {
  QStringList kinds;
  for (const Difference& difference : comparison.differences) {
    kinds << QString::fromUtf8(toString(difference.kind).data());
  }
  return kinds;
}

LinkDescription& linkOf(Description& description, const std::string& src, const std::string& dst) {
  for (LinkDescription& link : description.links) {
    if (link.src == src && link.dst == dst) {
      return link;
    }
  }
  qFatal("no link");
}

}  // namespace

class TestComparison : public QObject {
  Q_OBJECT

private slots:
  void sameUnderOtherNames();
  void differences_data();
  void differences();
  void nicsOfOneSide();
  void costs();
  void boxesByStructure_data();
  void boxesByStructure();
};

void TestComparison::sameUnderOtherNames() {
  const auto byName = compareWired(built(cluster(4, "a")), built(cluster(4, "b")));
  QVERIFY(!byName.isById);
  QCOMPARE(kindsOf(byName), QStringList());
  const auto byId = compareWired(built(cluster(4, "a")), built(cluster(4, "a")));
  QVERIFY(byId.isById);
  QCOMPARE(kindsOf(byId), QStringList());
}

void TestComparison::differences_data() {
  QTest::addColumn<QString>("what");
  QTest::addColumn<QStringList>("kinds");
  QTest::addColumn<QString>("text");
  QTest::newRow("missing host") << "host" << QStringList{"missing_host"} << "host \"a3\" of the plan is missing";
  QTest::newRow("port down") << "down" << QStringList{"missing_cable"}
                             << "no link between \"b1n0\" and \"bleaf0\": a port is down";
  QTest::newRow("half width") << "half" << QStringList{"less_bandwidth"}
                              << "joined by 12.5 of 25 GB/s: half the width, half the speed";
  QTest::newRow("fewer NVLinks") << "nvlink" << QStringList{"less_bandwidth"}
                                 << "joined by 275 of 300 GB/s: fewer or slower links of the GPU";
  QTest::newRow("wrong leaf") << "leaf" << QStringList{"other_switch"}
                              << "\"b2n1\" is on \"bleaf0\" in place of \"bleaf1\": wrong rail or leaf";
  QTest::newRow("another generation")
      << "rate" << QStringList{"less_bandwidth"}
      << "all 8 links between gpu and switch inside hosts have 290 GB/s, not the planned 300";
  QTest::newRow("another generation with a fault") << "rates" << QStringList{"less_bandwidth", "less_bandwidth"}
                                                   << "7 of 8 links between gpu and switch inside hosts have 290 GB/s";
  QTest::newRow("more") << "extra" << QStringList{"extra_cable"} << "is not in the plan";
}

void TestComparison::differences() {
  QFETCH(QString, what);
  QFETCH(QStringList, kinds);
  QFETCH(QString, text);
  Description wired = cluster(what == "host" ? 3 : 4, "b");
  if (what == "down") {
    std::erase_if(wired.links, [](const auto& link) { return link.src == "b1n0" && link.dst == "bleaf0"; });
  } else if (what == "half") {
    linkOf(wired, "b1n0", "bleaf0").bandwidth = "12.5";
  } else if (what == "nvlink") {
    linkOf(wired, "b0g1", "b0s").bandwidth = "275";
  } else if (what == "rate" || what == "rates") {
    for (LinkDescription& link : wired.links) {
      link.bandwidth = link.bandwidth == "300" ? "290" : link.bandwidth;
    }
    linkOf(wired, "b3g1", "b3s").bandwidth = what == "rate" ? "290" : "270";
  } else if (what == "leaf") {
    linkOf(wired, "b2n1", "bleaf1").dst = "bleaf0";
  } else if (what == "extra") {
    wired.links.push_back({"bleaf0", "bleaf1", "25"});
  }
  const auto comparison = compareWired(built(cluster(4, "a")), built(wired));
  QCOMPARE(kindsOf(comparison), kinds);
  QVERIFY2(QString::fromStdString(comparison.differences.front().text).contains(text),
           comparison.differences.front().text.c_str());
}

void TestComparison::nicsOfOneSide() {
  // A plan that joins GPUs to leaves, and a machine with NICs between them.
  Description plan = cluster(4, "a");
  std::erase_if(plan.nodes, [](const auto& node) { return node.kind == "nic"; });
  std::erase_if(plan.links, [](const auto& link) { return link.src.find('n') == 2 || link.dst.find('n') == 2; });
  for (int host = 0; host < 4; ++host) {
    for (int i = 0; i < 2; ++i) {
      plan.links.push_back({"a" + std::to_string(host) + "g" + std::to_string(i), "aleaf" + std::to_string(i), "25"});
    }
  }
  Description wired = cluster(4, "b");
  QVERIFY(!withoutNics(built(plan)));
  const auto folded = withoutNics(built(wired));
  QVERIFY(folded);
  QCOMPARE(kindsOf(compareWired(built(plan), *folded)), QStringList());
  linkOf(wired, "b1n0", "bleaf0").bandwidth = "12.5";
  const auto half = compareWired(built(plan), *withoutNics(built(wired)));
  QCOMPARE(kindsOf(half), QStringList{"less_bandwidth"});
  QVERIFY2(half.differences.front().text.find("\"b1g0\" and \"bleaf0\"") != std::string::npos,
           half.differences.front().text.c_str());
}

void TestComparison::costs() {
  const Fabric plan = built(cluster(4, "a"));
  Description wired = cluster(4, "b");
  linkOf(wired, "b2n1", "bleaf1").dst = "bleaf0";
  const auto moved = compareWired(plan, built(wired));
  QCOMPARE(moved.differences.size(), std::size_t{1});
  QCOMPARE(moved.differences.front().movedTo, std::string("aleaf0"));
  const auto changed = withDifference(plan, moved.differences.front());
  QVERIFY(changed);
  const Fabric fabric = built(*changed);
  QVERIFY(fabric.findArc(*fabric.find("a2n1"), *fabric.find("aleaf0")));
  QVERIFY(!fabric.findArc(*fabric.find("a2n1"), *fabric.find("aleaf1")));
  QVERIFY(!withDifference(plan, {.kind = DifferenceKind::missingHost, .text = {}}));
  // A missing host: the plan without it, with ranks that close up.
  const auto smaller = compareWired(plan, built(cluster(3, "b")));
  QCOMPARE(kindsOf(smaller), QStringList{"missing_host"});
  const auto without = withDifference(plan, smaller.differences.front());
  QVERIFY(without);
  const Fabric rest = built(*without);
  QCOMPARE(rest.gpuCount(), plan.gpuCount() / 4 * 3);
  QVERIFY(rest.find("aleaf0") && rest.find("aleaf1"));
  // A kind of links with another rate: all of them.
  Description slower = cluster(4, "b");
  for (LinkDescription& link : slower.links) {
    link.bandwidth = link.bandwidth == "300" ? "290" : link.bandwidth;
  }
  const auto generation = compareWired(plan, built(slower));
  QCOMPARE(generation.differences.size(), std::size_t{1});
  QCOMPARE(generation.differences.front().planned.size(), std::size_t{16});
  const auto all = withDifference(plan, generation.differences.front());
  QVERIFY(all);
  const Fabric changedAll = built(*all);
  for (const char* gpu : {"a0g0", "a3g1"}) {
    const auto arc = changedAll.findArc(*changedAll.find(gpu), *changedAll.find(std::string(gpu, 2) + "s"));
    QVERIFY(arc && changedAll.arcs()[*arc].bandwidth == Bandwidth(290));
  }
  // A missing NIC: its links go, its GPU stays.
  const auto bare = withDifference(plan, {.kind = DifferenceKind::missingNode, .text = {}, .planned = {"a1n0"}});
  QVERIFY(bare && built(*bare).gpuCount() == plan.gpuCount() && !built(*bare).find("a1n0"));
}

void TestComparison::boxesByStructure_data() {
  QTest::addColumn<QString>("what");
  QTest::addColumn<QStringList>("boxes");  // of the nodes
  const QStringList two{"box0", "box0", "box0", "box0", "box0", "box1", "box1", "box1", "box1", "box1", "", "", ""};
  QTest::newRow("NICs") << "nics" << two;
  QTest::newRow("slow links to the network") << "switches" << two;
  QTest::newRow("a ring of GPUs") << "ring" << QStringList{"", "", "", ""};
}

void TestComparison::boxesByStructure() {
  QFETCH(QString, what);
  QFETCH(QStringList, boxes);
  Description description;
  if (what == "ring") {
    // A fast and a slow link in turn: no switch joins the pairs.
    description.nodes = {{"a", "gpu"}, {"b", "gpu"}, {"c", "gpu"}, {"d", "gpu"}};
    description.links = {{"a", "b", "50"}, {"b", "c", "25"}, {"c", "d", "50"}, {"d", "a", "25"}};
  } else {
    description = cluster(2, "a", false);
    for (NodeDescription& node : description.nodes) {
      node.kind = what == "switches" && node.kind == "nic" ? "switch" : node.kind;
    }
  }
  if (what == "switches") {
    // NICs that are switches end no box; they stay with the network.
    for (QString& box : boxes) {
      box = {};
    }
    for (const int host : {0, 1}) {
      for (const int i : {0, 1, 2}) {
        boxes[host * 5 + i] = QStringLiteral("box%1").arg(host);
      }
    }
  }
  const Fabric fabric = built(description);
  QStringList found;
  for (const std::string& box : structuralBoxes(fabric)) {
    found << QString::fromStdString(box);
  }
  QCOMPARE(found, boxes);
  const Fabric boxed = withBoxes(fabric);
  QCOMPARE(boxed.digest(), fabric.digest());
  QCOMPARE(QString::fromStdString(boxed.nodes()[0].box), boxes.front());
}

QTEST_GUILESS_MAIN(TestComparison)
#include "tst_comparison.moc"
