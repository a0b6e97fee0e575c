// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "forestcoll/network.hpp"
#include "live/equal_parts.hpp"
#include "support/preset_fabrics.hpp"
#include "support/small_symmetries.hpp"

/// What equal parts say of nodes, arcs and boxes is true.
using namespace coppice;
using live::EqualParts;
using std::int64_t;
using test::built;
using test::isImage;
using test::twoBoxes;

namespace {

std::vector<std::string_view> boxesOf(const fabric::Fabric& fabric) {
  std::vector<std::string_view> boxes;
  for (const fabric::Node& node : fabric.nodes()) {
    boxes.emplace_back(node.box);
  }
  return boxes;
}

}  // namespace

class TestLiveEqualParts : public QObject {
  Q_OBJECT

private slots:
  void classes_data();
  void classes();
};

void TestLiveEqualParts::classes_data() {
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QList<int>>("demand");
  QTest::addColumn<int>("classCount");
  QTest::newRow("equal") << QStringList{"5", "5", ""} << QList<int>{1, 1, 1, 1} << 4;
  QTest::newRow("another bandwidth") << QStringList{"5", "6", ""} << QList<int>{1, 1, 1, 1} << 7;
  QTest::newRow("another demand") << QStringList{"5", "5", ""} << QList<int>{1, 1, 1, 2} << 7;
  QTest::newRow("equal demands in another order") << QStringList{"5", "5", ""} << QList<int>{1, 2, 2, 1} << 7;
  QTest::newRow("a link between the boxes") << QStringList{"5", "5", "3"} << QList<int>{1, 1, 1, 1} << 7;
}

void TestLiveEqualParts::classes() {
  QFETCH(QStringList, links);
  QFETCH(QList<int>, demand);
  const fabric::Fabric fabric = built(twoBoxes(links[0].toStdString(), links[1].toStdString(), links[2].toStdString()));
  const std::vector<int64_t> byRank(demand.begin(), demand.end());
  const forestcoll::Network network = forestcoll::makeNetwork(fabric, byRank);
  const EqualParts parts(network, boxesOf(fabric));
  const std::vector<int> classOf = parts.nodeClasses();
  std::vector<int> distinct = classOf;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  QTEST(static_cast<int>(distinct.size()), "classCount");
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    QVERIFY(isImage(fabric, byRank, {classOf[node]}, {node}));
  }
  const std::vector<int> arcClassOf = parts.arcClasses();
  for (std::size_t arc = 0; arc < arcClassOf.size(); ++arc) {
    const auto& first = network.arcs[arcClassOf[arc]];
    QVERIFY(isImage(fabric, byRank, {first.tail, first.head}, {network.arcs[arc].tail, network.arcs[arc].head}));
  }
  const bool areEqual = distinct.size() < classOf.size();
  QCOMPARE(std::set<int>(arcClassOf.begin(), arcClassOf.end()).size(), arcClassOf.size() / (areEqual ? 2 : 1));
  // A box with a fixed node is exchanged no more.
  const int fixed[] = {2};
  const std::vector<int> rest = parts.nodeClasses(fixed);
  QCOMPARE(std::set<int>(rest.begin(), rest.end()).size(), rest.size());
}

QTEST_GUILESS_MAIN(TestLiveEqualParts)
#include "tst_live_equal_parts.moc"
