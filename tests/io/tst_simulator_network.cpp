// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "io/import_support.hpp"

using namespace coppice;
using namespace coppice::io;
using namespace coppice::io::test;

/// Networks of simulators, read and written: SimAI, ASTRA-sim, InfraGraph.
class TestSimulatorNetwork : public QObject {
  Q_OBJECT

private slots:
  void simaiRoundTrip();
  void infraGraphRoundTrip_data();
  void infraGraphRoundTrip();
  void astraSimRoundTrip_data();
  void astraSimRoundTrip();
  void astraSimRefuses_data();
  void astraSimRefuses();
};

void TestSimulatorNetwork::simaiRoundTrip() {
  const auto first = read("simai.topo");
  QVERIFY2(first, qPrintable(failure(first)));
  const auto text = exportFabric(first->description, FabricFormat::simai);
  QVERIFY(text);
  const auto again = importFabric(*text, FabricFormat::simai, "y");
  QVERIFY2(again, qPrintable(failure(again)));
  QCOMPARE(again->description.links.size(), first->description.links.size());
  for (std::size_t i = 0; i < first->description.links.size(); ++i) {
    QCOMPARE(again->description.links[i].bandwidth, first->description.links[i].bandwidth);
    QCOMPARE(again->description.links[i].latency, first->description.links[i].latency);
  }
  // A link to itself can be read, to be shown, and is not written.
  fabric::Description self;
  self.nodes = {{"a", "gpu"}, {"b", "gpu"}};
  self.links = {{"a", "b", "10"}, {"a", "a", "10"}};
  for (const FabricFormat format : {FabricFormat::simai, FabricFormat::infraGraph, FabricFormat::astraSim}) {
    const auto refused = exportFabric(self, format);
    QVERIFY(!refused && refused.error().code == ErrorCode::invalidFabric);
  }
  const auto oneWay = exportFabric(read("tacos.csv")->description, FabricFormat::simai);
  QVERIFY(!oneWay);
  QCOMPARE(oneWay.error().code, ErrorCode::badUsage);
}

void TestSimulatorNetwork::infraGraphRoundTrip_data() {
  QTest::addColumn<QString>("name");
  for (const char* name : {"infragraph.yaml", "two_rails.ibnetdiscover.txt", "topology.yaml", "simai.topo",
                           "astra_sim.yml", "showtopo.txt"}) {
    QTest::newRow(name) << name;
  }
}

/// Kinds, boxes and links stay; names become those of instances.
void TestSimulatorNetwork::infraGraphRoundTrip() {
  QFETCH(QString, name);
  const auto first = read(name);
  QVERIFY2(first, qPrintable(failure(first)));
  const auto text = exportFabric(first->description, FabricFormat::infraGraph);
  QVERIFY2(text, text ? "" : describe(text.error()).c_str());
  QVERIFY(detectFormat("x", *text) && *detectFormat("x", *text) == FabricFormat::infraGraph);
  const auto again = importFabric(*text, FabricFormat::infraGraph, "y");
  QVERIFY2(again, qPrintable(failure(again)));
  const auto shape = [](const fabric::Description& description) {
    std::map<std::string, std::string> signature;
    for (const fabric::NodeDescription& node : description.nodes) {
      signature[node.id] = node.kind + (node.box.empty() ? "" : " in a box");
    }
    QStringList nodes;
    QStringList links;
    for (const auto& [id, kind] : signature) {
      nodes << QString::fromStdString(kind);
    }
    for (const fabric::LinkDescription& link : description.links) {
      QStringList ends{QString::fromStdString(signature[link.src]), QString::fromStdString(signature[link.dst])};
      ends.sort();
      for (int i = 0; i < link.count; ++i) {
        links << ends.join(" to ") + " " + QString::fromStdString(toDecimal(*Bandwidth::parse(link.bandwidth), 9));
      }
    }
    nodes.sort();
    links.sort();
    return nodes.join("\n") + "\n" + links.join("\n");
  };
  // A switch in a box that has no GPU, and a GPU in none, come back with a box and without one.
  QString before = shape(first->description);
  QString after = shape(again->description);
  if (name == "simai.topo" || name == "astra_sim.yml" || name == "showtopo.txt") {
    before.remove(" in a box");
    after.remove(" in a box");
  }
  QCOMPARE(after, before);
}

void TestSimulatorNetwork::astraSimRoundTrip_data() {
  QTest::addColumn<QString>("text");
  const auto row = [](const char* shapes, const char* counts, const char* bandwidths, const char* latency) {
    const QString latencies = QStringList(QString(shapes).count(',') + 1, latency).join(", ");
    QTest::addRow("%s %s", shapes, counts) << QString(
                                                  "topology: [ %1 ]\nnpus_count: [ %2 ]\nbandwidth: [ %3 ]\n"
                                                  "latency: [ %4 ]\n")
                                                  .arg(shapes, counts, bandwidths, latencies);
  };
  row("Ring", "8", "50", "500");
  row("Ring", "2", "12.5", "1");
  row("FullyConnected", "5", "64", "936.25");
  row("Switch", "16", "450", "500");
  row("Switch, Switch", "8, 4", "450, 50", "500");
  row("Switch, Ring", "2, 3", "400, 12.5", "1000");
  row("Ring, Ring, Ring", "4, 4, 4", "100, 100, 100", "500");
  row("FullyConnected, Switch", "8, 16", "64, 50", "500");
  row("Ring, FullyConnected, Switch", "4, 6, 2", "100, 25, 12.5", "500");
}

/// What is written is what was read, so that no other dimensions were found for it.
void TestSimulatorNetwork::astraSimRoundTrip() {
  QFETCH(QString, text);
  const auto first = importFabric(text.toStdString(), FabricFormat::astraSim, "x");
  QVERIFY2(first, qPrintable(failure(first)));
  const auto written = exportFabric(first->description, FabricFormat::astraSim);
  QVERIFY2(written, written ? "" : describe(written.error()).c_str());
  const QString body = QString::fromStdString(*written).section('\n', 1);
  QCOMPARE(body.simplified().remove(' '), text.simplified().remove(' '));
}

void TestSimulatorNetwork::astraSimRefuses_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("message");
  QTest::newRow("tree") << "two_rails.ibnetdiscover.txt"
                        << "ASTRA-sim's dimensions join GPUs alone";
  QTest::newRow("one-way") << "tacos.csv"
                           << "ASTRA-sim's links are duplex";
  QTest::newRow("unequal links") << "amd_smi.txt"
                                 << "not those of a product of dimensions";
}

void TestSimulatorNetwork::astraSimRefuses() {
  QFETCH(QString, name);
  QFETCH(QString, message);
  const auto first = read(name);
  QVERIFY2(first, qPrintable(failure(first)));
  const auto written = exportFabric(first->description, FabricFormat::astraSim);
  QVERIFY(!written);
  QVERIFY2(written.error().message.find(message.toStdString()) != std::string::npos, written.error().message.c_str());
  QVERIFY(!written.error().fix.empty());
}

QTEST_GUILESS_MAIN(TestSimulatorNetwork)
#include "tst_simulator_network.moc"
