// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "schedule/min_traffic.hpp"
#include "support/large_fabrics.hpp"
#include "support/must.hpp"

using namespace coppice;
using schedule::CollectiveTable;
using test::must;

namespace {

/// Two boxes of two GPUs on a switch each, which a third switch joins.
fabric::Fabric twoBoxes() {
  test::Sketch sketch("two boxes");
  for (const char* relay : {"a", "b", "top"}) {
    sketch.relay(relay);
  }
  sketch.link(sketch.gpu("g0"), "a", 10);
  sketch.link(sketch.gpu("g1"), "a", 10);
  sketch.link(sketch.gpu("g2"), "b", 10);
  sketch.link(sketch.gpu("g3"), "b", 10);
  sketch.link("a", "top", 5);
  sketch.link("b", "top", 5);
  return must(fabric::Fabric::build(sketch.take()));
}

}  // namespace

class TestMinTraffic : public QObject {
  Q_OBJECT

private slots:
  void boxes_data();
  void boxes();
  void unknown();
};

void TestMinTraffic::boxes_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("traffic");
  // A spanning tree: two hops in each box, one of four links between the boxes.
  QTest::newRow("allgather") << Collective::allgather << "8";
  QTest::newRow("broadcast") << Collective::broadcast << "8";
  QTest::newRow("reduce_scatter") << Collective::reduceScatter << "8";
  QTest::newRow("allreduce") << Collective::allreduce << "16";
  // From rank 0: 2 links to its neighbour, 4 to each of the others; a quarter of the data each.
  QTest::newRow("scatter") << Collective::scatter << "5/2";
  QTest::newRow("gather") << Collective::gather << "5/2";
  QTest::newRow("alltoall") << Collective::alltoall << "10";
}

void TestMinTraffic::boxes() {
  QFETCH(Collective, collective);
  QFETCH(QString, traffic);
  const auto goal =
      must(CollectiveTable::make(collective, 4, isRooted(collective) ? std::optional<fabric::Rank>(0) : std::nullopt));
  const auto min = must(schedule::minTraffic(twoBoxes(), goal));
  QVERIFY(min.has_value());
  QCOMPARE(QString::fromStdString(min->toString()), traffic);
}

/// One-way rings have no spanning tree that serves all roots; custom tables have no closed form.
void TestMinTraffic::unknown() {
  const auto custom = must(CollectiveTable::custom(4, {{{.share = 1, .sources = {0}, .destinations = {1}}}}));
  QVERIFY(!must(schedule::minTraffic(twoBoxes(), custom)).has_value());
  fabric::Description ring;
  for (const char* id : {"g0", "g1", "g2"}) {
    ring.nodes.push_back({.id = id, .kind = "gpu"});
  }
  for (const auto& [from, to] : {std::pair("g0", "g1"), {"g1", "g2"}, {"g2", "g0"}}) {
    ring.links.push_back({.src = from, .dst = to, .bandwidth = "10", .duplex = false});
  }
  const fabric::Fabric oneWay = must(fabric::Fabric::build(ring));
  QVERIFY(!must(schedule::minTraffic(oneWay, must(CollectiveTable::make(Collective::allgather, 3)))).has_value());
  const auto scatter = must(schedule::minTraffic(oneWay, must(CollectiveTable::make(Collective::scatter, 3, 0))));
  QCOMPARE(QString::fromStdString(scatter->toString()), QString("1"));
}

QTEST_APPLESS_MAIN(TestMinTraffic)
#include "tst_min_traffic.moc"
