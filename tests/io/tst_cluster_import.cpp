// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "io/import_choices.hpp"
#include "io/import_support.hpp"
#include "io/tree_network.hpp"

using namespace coppice;
using namespace coppice::io;
using namespace coppice::io::test;

/// Networks and hosts of clusters: ibnetdiscover, Slurm, lists of hosts.
class TestClusterImport : public QObject {
  Q_OBJECT

private slots:
  void formats_data();
  void formats();
  void ibnetdiscover();
  void networkWithHost();
  void hostsWithoutNetwork();
  void networkOptions();
  void hostsOfOtherKinds();
  void adaptersOfOneName();
  void severalHostFiles();
  void settings();
  void largeNetwork();
  void hostLists_data();
  void hostLists();
  void slurmTrees_data();
  void slurmTrees();
  void foreign_data();
  void foreign();
  void bad_data();
  void bad();
};

void TestClusterImport::formats_data() {
  QTest::addColumn<QString>("format");
  QTest::addColumn<QStringList>("some");
  QTest::newRow("two_rails.ibnetdiscover.txt") << "ibnetdiscover" << QStringList{"leaf1=spine 50x2"};
  QTest::newRow("topology.conf") << "slurm"
                                 << QStringList{"a0.nic0=leaf0 50", "leaf0=spine 100", "far=spine 200",
                                                "n08.nic0=far 50"};
  QTest::newRow("topology.yaml") << "slurm" << QStringList{"a2.nic0=leaf1 50", "leaf2=top 150", "b3.gpu0=b3.nic0 50"};
  QTest::newRow("blocks.conf") << "slurm" << QStringList{"g4.nic0=rack2 50", "rack1=network 100"};
  QTest::newRow("instances.json") << "slurm" << QStringList{"i3.nic0=leafB 50", "leafA=spine 100"};
  QTest::newRow("model.yaml") << "slurm" << QStringList{"I25.nic0=leaf1 50", "leaf1=core 150"};
  QTest::newRow("amd_smi.json") << "rocm-smi" << QStringList{"gpu0=gpu1 100"};
  QTest::newRow("amd_smi.txt") << "rocm-smi" << QStringList{"gpu0=gpu2 100", "gpu0=gpu1 50", "gpu1=gpu2 50"};
  QTest::newRow("simai.topo") << "simai" << QStringList{"gpu0=nvswitch4 300", "gpu3=switch5 50"};
  QTest::newRow("ns3.txt") << "simai" << QStringList{"gpu0=switch2 12.5", "gpu1=switch2 12.5"};
  QTest::newRow("astra_sim.yml") << "astra-sim"
                                 << QStringList{"npu0=switch0.0 400", "npu0=npu2 12.5", "npu2=npu4 12.5",
                                                "npu4=npu0 12.5", "npu5=npu1 12.5"};
  QTest::newRow("infragraph.yaml") << "infragraph"
                                   << QStringList{"host.0.xpu.1=host.0.nvsw.0 300", "host.0.xpu.0=host.0.nic.0 2048/65",
                                                  "host.1.nic.1=leafsw.0.asic.0 25"};
  QTest::newRow("tacos.csv") << "tacos" << QStringList{"npu0>npu1 50", "npu1>npu2 50", "npu2>npu0 25"};
}

void TestClusterImport::formats() {
  QFETCH(QString, format);
  QFETCH(QStringList, some);
  const QString name = QTest::currentDataTag();
  const auto detected = detectFormat("x", contents(name));
  QVERIFY2(detected, qPrintable(detected ? QString() : QString::fromStdString(describe(detected.error()))));
  QCOMPARE(QString::fromUtf8(toString(*detected).data()), format);
  QCOMPARE(parseFabricFormat(toString(*detected)), std::optional(*detected));
  const auto result = read(name);
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const QString& link : some) {
    QVERIFY2(links.contains(link), qPrintable(link + " not in\n" + links.join('\n')));
  }
  const auto built = fabric::Fabric::build(result->description);
  QVERIFY2(built, qPrintable(built ? QString() : QString::fromStdString(describe(built.error()))));
  // What shells and pages make of the text.
  const QString plain = QString::fromStdString(contents(name));
  QByteArray wide("\xFF\xFE", 2);
  for (const QChar c : plain) {
    wide += static_cast<char>(c.unicode() & 0xFF);
    wide += static_cast<char>(c.unicode() >> 8);
  }
  const std::pair<const char*, QByteArray> changed[] = {
      {"byte order mark", QByteArray("\xEF\xBB\xBF") + plain.toUtf8()},
      {"Windows", QString(plain).replace("\n", "\r\n").toUtf8()},
      {"no-break spaces", QString(plain).replace("  ", QString(2, QChar(0xA0))).toUtf8()},
      {"UTF-16", wide}};
  for (const auto& [how, bytes] : changed) {
    const std::string text = bytes.toStdString();
    const auto again = detectFormat("x", text);
    QVERIFY2(again && *again == *detected, how);
    const auto other = importFabric(text, *again, name.toStdString());
    QVERIFY2(other, qPrintable(how + QStringLiteral(": ") + failure(other)));
    QCOMPARE(linksOf(other->description), links);
  }
}

void TestClusterImport::ibnetdiscover() {
  const auto result = read("two_rails.ibnetdiscover.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  // Hosts in natural order; a stub and a card without a host's name are left out.
  QCOMPARE(nodesOf(result->description),
           (QStringList{"node2.gpu0@node2", "node2.gpu1@node2", "node2.HCA-1@node2", "node2.HCA-2@node2",
                        "node10.gpu0@node10", "node10.gpu1@node10", "node10.mlx5_0@node10", "node10.mlx5_1@node10",
                        "leaf1", "leaf2", "spine"}));
  QCOMPARE(linksOf(result->description),
           (QStringList{"node2.gpu0=node2.HCA-1 25", "node2.gpu1=node2.HCA-2 50", "node10.gpu0=node10.mlx5_0 50",
                        "node10.gpu1=node10.mlx5_1 50", "node2.HCA-1=leaf1 25", "node2.HCA-2=leaf2 50",
                        "node10.mlx5_0=leaf1 50", "node10.mlx5_1=leaf2 50", "leaf1=spine 50x2", "leaf2=spine 25"}));
  QVERIFY(result->description.nodes[8].aggregation);
  QVERIFY(!result->description.nodes[9].aggregation);
  const QString findings = texts(result->findings);
  for (const char* text : {"1 adapter left out: the name says the maker", "1 switch left out: no way between the hosts",
                           "1 switch can copy and sum", "each cable of a host counts as one GPU"}) {
    QVERIFY2(findings.contains(text), qPrintable(findings));
  }
}

void TestClusterImport::networkWithHost() {
  const auto result = importCluster({clusterFile("two_rails.ibnetdiscover.txt"), clusterFile("host.xml")});
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  // HCA-1 of node2 is mlx5_0 of the host's file; a GPU's way to its NIC stays.
  for (const char* link : {"node2.gpu0=node2.gpu1 20x12", "node2.gpu0=node2.nic0 24", "node2.nic0=leaf1 25",
                           "node2.nic1=leaf2 50", "node10.gpu1=node10.nic1 24", "node10.nic1=leaf2 50"}) {
    QVERIFY2(links.contains(link), qPrintable(links.join('\n')));
  }
  QCOMPARE(links.size(), 2 * (1 + 2 + 2) + 2);
  bool hasFile = false;
  bool hasTable = false;
  for (const NumberOrigin& origin : result->origins) {
    hasFile = hasFile || (origin.what == "a cable between host and switch" && origin.bandwidth == Bandwidth(50) &&
                          origin.links == 3 && origin.source == NumberOrigin::Source::file);
    hasTable = hasTable || (origin.source == NumberOrigin::Source::table && origin.bandwidth == Bandwidth(20) &&
                            origin.links == 24);
  }
  QVERIFY(hasFile);
  QVERIFY(hasTable);
  QVERIFY(!texts(result->findings).contains("counts as one GPU"));
  // A host's file without NICs: each cable has one at a GPU.
  const auto bare = importCluster({clusterFile("two_rails.ibnetdiscover.txt"), clusterFile("showtopo.txt")});
  QVERIFY2(bare, qPrintable(failure(bare)));
  QVERIFY2(linksOf(bare->description).contains("node10.gpu2=node10.nic1 50"),
           qPrintable(linksOf(bare->description).join(' ')));
  QVERIFY(texts(bare->findings).contains("the host's file has no NICs"));
  // A tree of Slurm has no names of adapters: all NICs of a host are on its switch.
  const auto tree = importCluster({clusterFile("host.xml"), clusterFile("topology.conf")});
  QVERIFY2(tree, qPrintable(failure(tree)));
  QVERIFY(linksOf(tree->description).contains("a0.nic1=leaf0 25"));
  QVERIFY(linksOf(tree->description).contains("far=spine 200"));
}

void TestClusterImport::hostsWithoutNetwork() {
  ImportOptions options;
  const std::vector<ClusterFile> files{clusterFile("host.xml"), clusterFile("host.xml")};
  const auto none = importCluster(files, options);
  QVERIFY2(failure(none).contains("2 hosts need a network that joins them"), qPrintable(failure(none)));
  options.box.scaleOut = ScaleOut::rails;
  const auto rails = importCluster(files, options);
  QVERIFY2(rails, qPrintable(failure(rails)));
  QVERIFY(linksOf(rails->description).contains("host#2.nic1=rail1 25"));
  const auto wrong = importCluster({clusterFile("host.xml"), clusterFile("simai.topo")}, options);
  QVERIFY2(failure(wrong).contains("joins no other"), qPrintable(failure(wrong)));
}

void TestClusterImport::networkOptions() {
  ImportAnswers answers;
  answers.hosts = "node1*";
  answers.adapters = "mlx5_?";
  const auto options = importOptions(answers);
  QVERIFY(options);
  const auto one = read("two_rails.ibnetdiscover.txt", *options);
  QVERIFY2(one, qPrintable(failure(one)));
  QCOMPARE(nodesOf(one->description).filter("gpu"), (QStringList{"node10.gpu0@node10", "node10.gpu1@node10"}));
  answers.hosts = "storage*";
  const auto none = read("two_rails.ibnetdiscover.txt", *importOptions(answers));
  QVERIFY2(failure(none).contains("no host with a cable is left"), qPrintable(failure(none)));
  ImportAnswers speeds;
  speeds.nicBandwidth = "200Gb/s";
  speeds.uplinkBandwidth = "40";
  const auto tree = read("topology.conf", *importOptions(speeds));
  QVERIFY2(tree, qPrintable(failure(tree)));
  QVERIFY(linksOf(tree->description).contains("a0.nic0=leaf0 25"));
  QVERIFY(linksOf(tree->description).contains("leaf0=spine 40"));
  speeds.uplinkBandwidth = "0";
  QVERIFY(!importOptions(speeds));
}

void TestClusterImport::hostsOfOtherKinds() {
  // A host of storage has one of two adapters; a compute host whose port is down keeps its place.
  std::string text = "switchguid=0x1(1)\nSwitch 65 \"S-1\" # \"leaf\"\n";
  const auto cable = [&](const std::string& port, const std::string& guid, const std::string& name) {
    text += "[" + port + "]\t\"H-" + guid + "\"[1](1)\t# \"" + name + "\" lid 1 4xHDR\n";
  };
  cable("1", "11", "gpu1 mlx5_0");
  cable("2", "12", "gpu1 mlx5_1");
  cable("3", "13", "gpu2 mlx5_0");
  cable("4", "14", "gpu2 mlx5_1");
  cable("5", "15", "gpu3 mlx5_1");
  cable("6", "16", "store1 mlx5_0");
  const ClusterFile network{text, "net.txt", FabricFormat::ibnetdiscover};
  const auto result = importCluster({network, clusterFile("host.xml")});
  QVERIFY2(result, qPrintable(failure(result)));
  QVERIFY(nodesOf(result->description).contains("gpu3.gpu0@gpu3"));
  QVERIFY(nodesOf(result->description).filter("store1").isEmpty());
  QVERIFY2(texts(result->findings).contains("1 host left out as storage or login"),
           qPrintable(texts(result->findings)));
  // The same of a host's file without NICs.
  const auto bare = importCluster({network, clusterFile("showtopo.txt")});
  QVERIFY2(bare, qPrintable(failure(bare)));
  QVERIFY(nodesOf(bare->description).filter("gpu3.gpu").size() > 0 &&
          nodesOf(bare->description).filter("store1").isEmpty());
  const auto twice = importCluster({network, network, clusterFile("host.xml")});
  QVERIFY2(failure(twice).contains("the network is given twice"), qPrintable(failure(twice)));
  ImportAnswers answers;
  answers.hosts = "*";
  const auto all = importCluster({network, clusterFile("host.xml")}, *importOptions(answers));
  QVERIFY2(all, qPrintable(failure(all)));
  QVERIFY(nodesOf(all->description).contains("store1.gpu0@store1"));
}

void TestClusterImport::adaptersOfOneName() {
  // Without rdma-ndd a description is the host's name alone; GUIDs tell the adapters apart.
  const std::string text =
      "switchguid=0x1(1)\nSwitch 65 \"S-1\" # \"leaf\"\n[1]\t\"H-0a\"[1](1)\t# \"n1\" lid 1 4xHDR\n"
      "[2]\t\"H-0b\"[1](1)\t# \"n1\" lid 1 4xHDR\n[3][ext 7]\t\"H-0c\"[1](1)\t# \"n2\" lid 1 4xHDR\n"
      "[4]\t\"H-0d\"[1](1)\t# \"n2\" lid 1 4xHDR\n";
  const auto result = importFabric(text, FabricFormat::ibnetdiscover, "x");
  QVERIFY2(result, qPrintable(failure(result)));
  QVERIFY(nodesOf(result->description).contains("n1.HCA-2@n1"));
  QVERIFY(nodesOf(result->description).contains("n2.HCA-2@n2"));
  QVERIFY2(texts(result->findings).contains("2 hosts with adapters of one name"), qPrintable(texts(result->findings)));
  // Tags of pdsh and a prompt do no harm.
  QString tagged = QString::fromStdString("vendid=0x2c9\ndevid=0x1\n" + text + "\ndevid=0x2\n");
  tagged.prepend("head: ").replace("\n", "\nhead: ");
  const auto piped = importFabric(tagged.toStdString(), FabricFormat::ibnetdiscover, "x");
  QVERIFY2(piped, qPrintable(failure(piped)));
  QCOMPARE(linksOf(piped->description), linksOf(result->description));
  const auto unnamed = importFabric(
      "Switch 65 \"S-1\" # \"leaf\"\n[1] \"H-1\"[1](1) # \"MT4129 ConnectX7   Mellanox Technologies\" lid 3 4xNDR\n",
      FabricFormat::ibnetdiscover, "x");
  QVERIFY2(failure(unnamed).contains("no adapter carries the name of a host"), qPrintable(failure(unnamed)));
}

void TestClusterImport::severalHostFiles() {
  // The file of the host itself counts, with its domain or without; of others, that of the same kind of name.
  std::string slow = contents("host.xml");
  for (std::size_t at = slow.find("count=\"12\""); at != std::string::npos; at = slow.find("count=\"12\"")) {
    slow.replace(at, 10, "count=\"6\"");
  }
  const std::string text =
      "Switch 65 \"S-1\" # \"leaf\"\n[1] \"H-1\"[1](1) # \"new1.site mlx5_0\" lid 1 4xHDR\n"
      "[2] \"H-2\"[1](1) # \"old1.site mlx5_0\" lid 1 4xHDR\n[3] \"H-3\"[1](1) # \"old2.site mlx5_0\" lid 1 4xHDR\n";
  const auto result = importCluster({{text, "net.txt", FabricFormat::ibnetdiscover},
                                     {contents("host.xml"), "new1.xml", FabricFormat::ncclXml},
                                     {slow, "old1.xml", FabricFormat::ncclXml}});
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const char* link : {"new1.site.gpu0=new1.site.gpu1 20x12", "old1.site.gpu0=old1.site.gpu1 20x6",
                           "old2.site.gpu0=old2.site.gpu1 20x6"}) {
    QVERIFY2(links.contains(link), qPrintable(links.join('\n')));
  }
  // Nothing tells which: said.
  const auto unsure = importCluster({{text, "net.txt", FabricFormat::ibnetdiscover},
                                     {contents("host.xml"), "a.xml", FabricFormat::ncclXml},
                                     {slow, "b.xml", FabricFormat::ncclXml}});
  QVERIFY2(unsure, qPrintable(failure(unsure)));
  QVERIFY2(texts(unsure->findings).contains("several files of hosts fit"), qPrintable(texts(unsure->findings)));
}

void TestClusterImport::settings() {
  const std::vector<ClusterFile> files{clusterFile("two_rails.ibnetdiscover.txt"), clusterFile("host.xml")};
  ImportAnswers answers;
  answers.numbers = {"a cable between switches=80", "a cable between host and switch@25=40", "nothing=1"};
  const auto result = importCluster(files, *importOptions(answers));
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const char* link : {"leaf1=spine 80x2", "leaf2=spine 80", "node2.nic0=leaf1 40", "node2.nic1=leaf2 50"}) {
    QVERIFY2(links.contains(link), qPrintable(links.join('\n')));
  }
  QVERIFY(texts(result->findings).contains("no number is set"));
  QCOMPARE(std::count_if(result->origins.begin(), result->origins.end(),
                         [](const NumberOrigin& origin) {
                           return origin.source == NumberSource::stated && origin.given.isPositive();
                         }),
           3);
  for (const char* wrong : {"80", "=80", "a cable=", "a cable=0", "a cable@x=5"}) {
    answers.numbers = {wrong};
    QVERIFY2(!importOptions(answers), wrong);
  }
}

void TestClusterImport::largeNetwork() {
  // 1,000 hosts of 8 adapters on 8 x 32 leaves and 32 spines.
  std::string text;
  const auto record = [&](const std::string& line) { text += "\nvendid=0x2c9\nswitchguid=0x1(1)\n" + line + "\n"; };
  constexpr int kHosts = 1000;
  for (int leaf = 0; leaf < 256; ++leaf) {
    record("Switch\t65 \"S-" + std::to_string(1000 + leaf) + "\"\t# \"leaf" + std::to_string(leaf) + "\"");
    for (int host = leaf / 8; host < kHosts; host += 32) {
      const std::string number = std::to_string(100000 + host * 8 + leaf % 8);
      text += "[" + std::to_string(host / 32 + 1) + "]\t\"H-" + number + "\"[1](1)\t# \"n" + std::to_string(host) +
              " mlx5_" + std::to_string(leaf % 8) + "\" lid 1 4xNDR\n";
    }
    for (int spine = 0; spine < 32; ++spine) {
      text += "[" + std::to_string(40 + spine) + "]\t\"S-" + std::to_string(5000 + spine) + "\"[" +
              std::to_string(leaf + 1) + "]\t# \"spine" + std::to_string(spine) + "\" lid 1 4xNDR\n";
    }
  }
  const auto result = importFabric(text, FabricFormat::ibnetdiscover, "x");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(result->description.nodes.size(), std::size_t{kHosts * 16 + 256 + 32});
  QCOMPARE(result->description.links.size(), std::size_t{kHosts * 16 + 256 * 32});
}

void TestClusterImport::hostLists_data() {
  QTest::addColumn<QString>("names");
  QTest::newRow("n[1-3]") << "n1 n2 n3";
  QTest::newRow("n[08-10],m") << "n08 n09 n10 m";
  QTest::newRow("r[1-2]n[0,2]x") << "r1n0x r1n2x r2n0x r2n2x";
  QTest::newRow("a,b") << "a b";
  QTest::newRow("n[1-") << "error: a bracket is not closed";
  QTest::newRow("n]1") << "error: a bracket closes that was not opened";
  QTest::newRow("n[3-1]") << "error: \"3-1\" is not a range of numbers";
  QTest::newRow("n[0-999999999]") << "error: \"0-999999999\" is too long a range";
  QTest::newRow("n[0-9999][0-9999]") << "error: has too many names";
  QTest::newRow("n[]") << "error: empty brackets";
}

void TestClusterImport::hostLists() {
  QFETCH(QString, names);
  const auto list = hostNames(QTest::currentDataTag());
  if (names.startsWith("error: ")) {
    QVERIFY(!list);
    QVERIFY2(QString::fromStdString(list.error().message).contains(names.mid(7)), list.error().message.c_str());
    return;
  }
  QVERIFY(list);
  QStringList got;
  for (const std::string& name : *list) {
    got << QString::fromStdString(name);
  }
  QCOMPARE(got.join(' '), names);
}

void TestClusterImport::slurmTrees_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QStringList>("switches");
  QTest::addColumn<QString>("finding");
  QTest::newRow("one topology without a list")
      << "---\ntopology: t\ntree:\n  switches:\n    - switch: top\n      children: s[1-2]\n    - switch: s1\n"
         "      nodes: n[1-2]\n    - switch: s2\n      nodes: n[3-4]\n"
      << QStringList{"top", "s1", "s2"} << QString();
  QTest::newRow("a child without an entry in YAML")
      << "- topology: t\n  tree:\n    switches:\n      - switch: top\n        children: s[1-3]\n"
         "      - switch: s1\n        nodes: n1\n      - switch: s2\n        nodes: n2\n"
      << QStringList{"top", "s1", "s2"} << "x:4:1: 1 child switch has no entry: \"s3\"";
  QTest::newRow("children without entries")
      << "SwitchName=s1 Nodes=n[1-2]\nSwitchName=top Switches=s[1-3]\n"
      << QStringList{"s1"} << "x:2:1: 2 child switches have no entry: \"s2\", \"s3\"";
}

void TestClusterImport::slurmTrees() {
  QFETCH(QString, text);
  QFETCH(QStringList, switches);
  QFETCH(QString, finding);
  const auto format = detectFormat("x", text.toStdString());
  QVERIFY(format && *format == FabricFormat::treeNetwork);
  const auto result = importFabric(text.toStdString(), *format, "x");
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList nodes = nodesOf(result->description);
  for (const QString& name : switches) {
    QVERIFY2(nodes.contains(name), qPrintable(nodes.join(' ')));
  }
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
  QCOMPARE(texts(result->findings).contains("no entry"), !finding.isEmpty());
}

void TestClusterImport::foreign_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("what");
  QTest::newRow("GraphML") << "<?xml version=\"1.0\"?><graphml><graph/></graphml>"
                           << "GraphML";
  QTest::newRow("unknown XML") << "<topologies><x/></topologies>"
                               << "XML with the root element <topologies>";
  QTest::newRow("GML") << "graph [\n node [\n id 0\n ]\n edge [\n source 0\n target 1\n ]\n]\n"
                       << "GML";
  QTest::newRow("NetBox") << R"({"results": [{"a_terminations": [], "b_terminations": []}]})"
                          << "NetBox";
  QTest::newRow("containerlab") << "name: x\ntopology:\n  nodes:\n    a:\n      kind: linux\n  links:\n"
                                   "    - endpoints: [\"a:1\", \"b:1\"]\n"
                                << "containerlab";
  QTest::newRow("iblinkinfo") << "CA: host mlx5_0:\n  0x1 5 1[ ] ==( 4X 25.78 Gbps Active/ LinkUp)==> 1 1[ ] \"leaf\"\n"
                              << "iblinkinfo";
  QTest::newRow("lldpctl") << "---\nLLDP neighbors:\n---\nInterface:    eth0, via: LLDP\n"
                           << "lldpctl";
  QTest::newRow("ibhosts") << "Ca\t: 0x1 ports 1 \"n1 mlx5_0\"\n"
                           << "ibhosts";
  QTest::newRow("nvidia-smi -L") << "GPU 0: NVIDIA H100 (UUID: GPU-1)\n"
                                 << "nvidia-smi -L";
  QTest::newRow("lspci") << "1b:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n"
                         << "lspci";
  QTest::newRow("slurm.conf") << "NodeName=a[0-3] CPUs=64\nPartitionName=all Nodes=ALL\n"
                              << "slurm.conf";
  QTest::newRow("sinfo") << "PARTITION AVAIL NODES STATE NODELIST\nall up 4 idle a[0-3]\n"
                         << "sinfo";
  QTest::newRow("numactl") << "available: 2 nodes (0-1)\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n"
                           << "numactl";
  QTest::newRow("p2pBandwidthLatencyTest") << "   D\\D     0      1\n     0 1550 391\n     1 391 1560\n"
                                           << "p2pBandwidthLatencyTest";
  QTest::newRow("ibdiagnet") << "START_NODES\nNodeDesc,NumPorts\nEND_NODES\n"
                             << "ibdiagnet";
  QTest::newRow("NVIDIA Air") << R"({"oob": false, "nodes": {"a": {}}, "links": [[{"node": "a"}, {"node": "b"}]]})"
                              << "NVIDIA Air";
  QTest::newRow("JSON Graph Format") << R"({"graph": {"nodes": {"a": {}}, "edges": [{"source": "a", "target": "b"}]}})"
                                     << "JSON Graph Format";
  QTest::newRow("NetQ") << R"([{"links": [{"compounded_links": [{"id": "a-*-b"}]}]}])"
                        << "NetQ";
  QTest::newRow("a list of objects") << R"([{"name": "a", "ports": 3}])"
                                     << "cannot be detected";
  QTest::newRow("Chakra") << R"({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1}]})"
                          << "Chakra";
  QTest::newRow("TE-CCL") << R"({"1-Epoch_Duration": 1.5, "8-Flows": {}})"
                          << "TE-CCL";
  QTest::newRow("BookSim") << "topology = mesh;\nk = 4;\nrouting_function = dor;\n"
                           << "BookSim";
  QTest::newRow("a log") << "host:1:1 [0] NCCL INFO Bootstrap\n"
                         << "a log of NCCL";
  QTest::newRow("Pajek") << "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2 1\n"
                         << "Pajek";
  QTest::newRow("gzip") << QStringLiteral("\u001f\u008b") << "gzip";
  QTest::newRow("table of links") << "source,target,bandwidth\na,b,10\nb,c,10\n"
                                  << "this is a table of links";
  QTest::newRow("table of ports") << "interface,peer,speed\neth0,sw1,100G\n"
                                  << "cannot be detected";
  QTest::newRow("edge list") << "0 1\n1 2\n2 3\n3 4\n4 0\n"
                             << "cannot be detected";
  QTest::newRow("a line of numbers") << "1 2 3 4\n"
                                     << "cannot be detected";
}

void TestClusterImport::foreign() {
  QFETCH(QString, text);
  QFETCH(QString, what);
  const std::string bytes = text.contains(QChar(0x8b)) ? text.toLatin1().toStdString() : text.toStdString();
  const bool isTable = text.startsWith("source") || text.startsWith("interface");
  const auto format = detectFormat(isTable ? "x.csv" : "x.txt", bytes);
  QVERIFY(!format);
  QVERIFY2(QString::fromStdString(format.error().message).contains(what), format.error().message.c_str());
  QVERIFY(!format.error().fix.empty());
}

void TestClusterImport::bad_data() {
  QTest::addColumn<int>("format");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("message");
  const int ib = static_cast<int>(FabricFormat::ibnetdiscover);
  const int tree = static_cast<int>(FabricFormat::treeNetwork);
  const int rocm = static_cast<int>(FabricFormat::rocmSmi);
  const int simai = static_cast<int>(FabricFormat::simai);
  const int astra = static_cast<int>(FabricFormat::astraSim);
  const int tacos = static_cast<int>(FabricFormat::tacos);
  const int hwloc = static_cast<int>(FabricFormat::hwloc);
  const int infra = static_cast<int>(FabricFormat::infraGraph);
  QTest::newRow("no node") << ib << "# nothing\n"
                           << "the text has no switch and no adapter";
  QTest::newRow("cable first") << ib << "[1]\t\"H-1\"[1]\t# \"a\" lid 1 4xNDR\n"
                               << "x:1:1: a cable before the line of its node";
  QTest::newRow("no speed") << ib << "Switch 2 \"S-1\" # \"s\"\n[1] \"H-1\"[1] # \"a mlx5_0\" lid 1\n"
                            << "x:2:1: a cable without its width and speed";
  QTest::newRow("unknown speed") << ib << "Switch 2 \"S-1\" # \"s\"\n[1] \"H-1\"[1] # \"a mlx5_0\" lid 1 4xQQQ\n"
                                 << "width and speed \"4xQQQ\" are unknown";
  QTest::newRow("twice") << ib << "Switch 2 \"S-1\" # \"s\"\n\nSwitch 2 \"S-1\" # \"s\"\n"
                         << "node \"S-1\" appears twice";
  QTest::newRow("odd node") << ib << "Switch 2 \"X-1\" # \"s\"\n"
                            << "neither a switch (S-), an adapter (H-) nor a router (R-)";
  QTest::newRow("no hosts") << ib << "Switch 2 \"S-1\" # \"s\"\n"
                            << "no host with a cable is left";
  QTest::newRow("cycle") << tree << "SwitchName=a Switches=b\nSwitchName=b Switches=a Nodes=n1\n"
                         << "the switches form a cycle";
  QTest::newRow("self") << tree << "SwitchName=a Switches=a Nodes=n1\n"
                        << "a switch below itself";
  QTest::newRow("no nodes") << tree << "SwitchName=a Switches=b\n"
                            << "the file names no nodes";
  QTest::newRow("word") << tree << "SwitchName=a Nodes\n"
                        << "x:1:1: a word without \"=\": \"Nodes\"";
  QTest::newRow("yaml") << tree << "- topology: [\n"
                        << "not valid YAML";
  QTest::newRow("yaml without tree") << tree << "- topology: x\n  flat: true\n"
                                     << "neither a tree nor blocks";
  QTest::newRow("yaml tree of text") << tree << "- topology: x\n  tree: \"SwitchName=a Nodes=n1\"\n"
                                     << "x:2:1: \"tree\" must be a mapping";
  QTest::newRow("yaml switches of text") << tree << "- topology: x\n  tree:\n    switches: a\n"
                                         << "x:3:1: tree has no list of switches";
  QTest::newRow("yaml block of text") << tree << "- topology: x\n  block: a\n"
                                      << "x:2:1: \"block\" must be a mapping";
  QTest::newRow("yaml torus") << tree << "- topology: x\n  torus3d:\n    toruses: []\n"
                              << "Slurm's torus3d topology is not read";
  QTest::newRow("yaml ring") << tree << "topology: x\nring:\n  rings: []\n"
                             << "Slurm's ring topology is not read";
  QTest::newRow("ring") << tree << "RingName=r0 Nodes=n[1-4]\n"
                        << "x:1:1: Slurm's ring topology is not read";
  QTest::newRow("no layers") << tree << R"({"instances": [{"id": "a", "network_layers": []}]})"
                             << "an instance needs an id and network_layers";
  QTest::newRow("one GPU") << rocm << "Link Type between two GPUs\n GPU0\nGPU0 0\n"
                           << "no table of at least two GPUs";
  QTest::newRow("cells") << rocm << "Link Type between two GPUs\n GPU0 GPU1\nGPU0 0\n"
                         << "row \"GPU0\" has 1 cells for 2 columns";
  QTest::newRow("link type") << rocm << "Link Type between two GPUs\n GPU0 GPU1\nGPU0 0 ROPE\n"
                             << "link type \"ROPE\" is unknown";
  QTest::newRow("count") << simai << "a 1 1 0 4 A100\n0\n"
                         << "\"a\" is not a count";
  QTest::newRow("switch") << simai << "2 1 1 0 1 A100\n7\n"
                          << "\"7\" is not the number of a switch";
  QTest::newRow("link") << simai << "2 1 1 0 1 A100\n1\n0 1 fast 1us 0\n"
                        << "x:3:1: not a link";
  QTest::newRow("dimensions") << astra << "topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [1]\nlatency: [1]\n"
                              << "do not have the same number of dimensions";
  QTest::newRow("shape") << astra << "topology: [Tree]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n"
                         << "topology \"Tree\" is unknown";
  QTest::newRow("NPUs") << astra << "topology: [Ring]\nnpus_count: [99999999]\nbandwidth: [1]\nlatency: [1]\n"
                        << "is not a number of NPUs";
  QTest::newRow("no list") << astra << "topology: [Ring]\n"
                           << "npus_count is missing";
  QTest::newRow("tacos") << tacos << "2\n0,5,1,1\n"
                         << "x:2:1: not a link of TACOS";
  QTest::newRow("no instances") << infra << "devices: []\n"
                                << "the graph has no instances";
  QTest::newRow("no device") << infra << "instances: [{name: a, device: b}]\n"
                             << "is of a device that is not described";
  QTest::newRow("no link") << infra
                           << "devices: [{name: d, components: [{name: x, type: xpu, count: 2}], connections: "
                              "[x.0.l.x.1]}]\ninstances: [{name: a, device: d}]\n"
                           << "link \"l\" is not described";
  QTest::newRow("a GPU's link") << infra
                                << "devices: [{name: d, components: [{name: x, type: xpu, count: 2}], links: "
                                   "[{name: l}], connections: [x.0.l.x.1]}]\ninstances: [{name: a, device: d}]\n"
                                << "link \"l\" of a GPU has no bandwidth";
  QTest::newRow("slice") << infra
                         << "devices: [{name: d, components: [{name: x, type: xpu, count: 2}], links: [{name: l, "
                            "bandwidth: {gigabytes_per_second: 1}}], edges: [{ep1: {component: 'x[0:9]'}, ep2: "
                            "{component: x}, link: l}]}]\ninstances: [{name: a, device: d}]\n"
                         << "\"x[0:9]\" is not a slice of 2";
  QTest::newRow("no topology") << hwloc << "<x/>"
                               << "there is no <topology>";
  QTest::newRow("no GPUs") << hwloc << "<topology><object type=\"Machine\"/></topology>"
                           << "the file has no GPU";
  QTest::newRow("cut") << hwloc << "<topology><object"
                       << "not well-formed XML";
  QTest::newRow("tacos head") << tacos << "a,b\n"
                              << "the first line is not the number of NPUs";
}

void TestClusterImport::bad() {
  QFETCH(int, format);
  QFETCH(QString, text);
  QFETCH(QString, message);
  const auto result = importFabric(text.toStdString(), static_cast<FabricFormat>(format), "x");
  QVERIFY2(failure(result).contains(message), qPrintable(failure(result)));
}

QTEST_GUILESS_MAIN(TestClusterImport)
#include "tst_cluster_import.moc"
