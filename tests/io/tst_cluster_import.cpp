// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QRegularExpression>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "io/cluster_files.hpp"
#include "io/foreign_formats.hpp"
#include "io/import_choices.hpp"
#include "io/nccl_topo_xml.hpp"
#include "io/nvidia_smi.hpp"
#include "io/nvlink_domains.hpp"
#include "io/pasted_text.hpp"
#include "io/tree_network.hpp"

using namespace coppice;
using namespace coppice::io;

namespace {

const QString kFolder = QStringLiteral(COPPICE_TEST_DATA "/cluster/");

std::string contents(const QString& name) {
  QFile file(kFolder + name);
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

QStringList linksOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::LinkDescription& link : description.links) {
    QString line = QString::fromStdString(link.src + (link.duplex ? "=" : ">") + link.dst + " " + link.bandwidth);
    lines << (link.count == 1 ? line : line + QStringLiteral("x%1").arg(link.count));
  }
  return lines;
}

QStringList nodesOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::NodeDescription& node : description.nodes) {
    lines << QString::fromStdString(node.id + (node.box.empty() ? "" : "@" + node.box));
  }
  return lines;
}

QString texts(const std::vector<Finding>& findings) {
  QString all;
  for (const Finding& finding : findings) {
    all += QString::fromStdString(describe(finding)) + QLatin1Char('\n');
  }
  return all;
}

QString failure(const Result<ImportResult>& result) {
  return result ? QStringLiteral("accepted") : QString::fromStdString(describe(result.error()));
}

/// Detected and read, as a window or a command line would.
Result<ImportResult> read(const QString& name, const ImportOptions& options = {}) {
  const std::string text = contents(name);
  const auto format = detectFormat("x", text);
  return format ? importFabric(text, *format, name.toStdString(), options) : format.error();
}

ClusterFile clusterFile(const QString& name) {
  ClusterFile file{contents(name), name.toStdString(), {}};
  const auto format = detectFormat("x", file.text);
  if (format) {
    file.format = *format;
  }
  return file;
}

/// One device of NCCL's file: a GPU with NVLinks to another.
std::string gpuXml(const std::string& busId, const std::string& attributes, const std::string& target) {
  return "<pci busid=\"" + busId + "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu " +
         attributes + "><nvlink target=\"" + target + "\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>";
}

std::string systemXml(const std::string& inside, const std::string& version = "1") {
  return "<system version=\"" + version +
         "\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"175\" modelid=\"1\">" + inside +
         "</cpu></system>";
}

}  // namespace

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
  void nvlinkDomains_data();
  void nvlinkDomains();
  void nvlinkDomainsOfHosts();
  void nvlinkDomainOfOneFile();
  void peerAccess();
  void largeNetwork();
  void hostLists_data();
  void hostLists();
  void rocmSmi();
  void slurmTrees_data();
  void slurmTrees();
  void olderAmdSmi();
  void hwloc();
  void hwlocDevices_data();
  void hwlocDevices();
  void hwlocCpuLinks();
  void simaiRoundTrip();
  void infraGraphRoundTrip_data();
  void infraGraphRoundTrip();
  void astraSimRoundTrip_data();
  void astraSimRoundTrip();
  void astraSimRefuses_data();
  void astraSimRefuses();
  void busIds_data();
  void busIds();
  void xgmiGenerations_data();
  void xgmiGenerations();
  void hintFile();
  void severalServers();
  void ncclOddities();
  void pastedMatrices_data();
  void pastedMatrices();
  void nvlinkStatus_data();
  void nvlinkStatus();
  void matrixFindings_data();
  void matrixFindings();
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

void TestClusterImport::nvlinkDomains_data() {
  QTest::addColumn<QString>("text");
  QTest::newRow("table") << "index, fabric.state, fabric.status, fabric.clusterUuid, fabric.cliqueId\n"
                            "0, Completed, Success, 0A1B-2C, 7\n1, In Progress, N/A, N/A, N/A\n";
  QTest::newRow("-q") << "==============NVSMI LOG==============\nAttached GPUs   : 2\n"
                         "GPU 00000000:0F:00.0\n    Product Name   : NVIDIA GB200\n    Fabric\n"
                         "        State      : Completed\n        Status     : Success\n        CliqueId   : 7\n"
                         "        ClusterUUID  : 0A1B-2C\n        Health\n            Bandwidth   : Full\n"
                         "    Processes      : None\nGPU 00000000:1F:00.0\n    Fabric\n        State   : In Progress\n"
                         "        Status   : N/A\n        CliqueId  : N/A\n        ClusterUUID  : N/A\n";
  QTest::newRow("-q -x")
      << "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\t<gpu id=\"00000000:0F:00.0\">\n"
         "\t\t<fabric>\n\t\t\t<state>Completed</state>\n\t\t\t<status>Success</status>\n"
         "\t\t\t<cliqueId>7</cliqueId>\n\t\t\t<clusterUuid>0a1b-2c</clusterUuid>\n\t\t</fabric>\n"
         "\t</gpu>\n\t<gpu id=\"00000000:1F:00.0\">\n\t\t<fabric>\n\t\t\t<state>In Progress</state>\n"
         "\t\t</fabric>\n\t</gpu>\n</nvidia_smi_log>\n";
}

void TestClusterImport::nvlinkDomains() {
  QFETCH(QString, text);
  const std::string bytes = text.toStdString();
  const auto format = detectFormat("x.txt", bytes);
  QVERIFY2(format, qPrintable(format ? QString() : QString::fromStdString(describe(format.error()))));
  QVERIFY(*format == FabricFormat::nvlinkDomains);
  const auto read = readNvlinkDomains(bytes, "x.txt");
  QVERIFY(read);
  QCOMPARE(read->hosts.size(), std::size_t{1});
  const auto& gpus = read->hosts[0].gpus;
  QCOMPARE(gpus.size(), std::size_t{2});
  QCOMPARE(gpus.at(0).cluster, std::string("0a1b-2c"));
  QCOMPARE(gpus.at(0).clique, std::string("7"));
  QVERIFY(!gpus.at(0).isOutside());
  QVERIFY(gpus.at(1).isOutside());
  const auto alone = importFabric(bytes, *format, "x.txt");
  QVERIFY2(failure(alone).contains("nothing of their links"), qPrintable(failure(alone)));
}

void TestClusterImport::nvlinkDomainsOfHosts() {
  // Two trays of one domain and one of another, told by pdsh; one GPU has not joined.
  std::string domains;
  for (const char* host : {"t1", "t2", "t3"}) {
    const std::string tag = std::string(host) + ": ";
    const std::string cluster = host == std::string("t3") ? "bb" : "aa";
    domains += tag + "index, fabric.state, fabric.status, fabric.clusterUuid, fabric.cliqueId\n";
    for (int gpu = 0; gpu < 3; ++gpu) {
      const bool isOut = host == std::string("t2") && gpu == 2;
      domains += tag + std::to_string(gpu) +
                 (isOut ? ", Not Started, N/A, N/A, N/A\n" : ", Completed, Success, " + cluster + ", 1\n");
    }
  }
  const std::string matrix =
      "\tGPU0\tGPU1\tGPU2\tNIC0\nGPU0\tX\tNV18\tNV18\tPIX\nGPU1\tNV18\tX\tNV18\tNODE\nGPU2\tNV18\tNV18\tX\tNODE\n"
      "NIC0\tPIX\tNODE\tNODE\tX\n";
  const std::vector<ClusterFile> files{{domains, "domains.txt", FabricFormat::nvlinkDomains},
                                       {matrix, "t1.txt", FabricFormat::nvidiaSmi}};
  ImportOptions options;
  options.box.scaleOut = ScaleOut::oneSwitch;
  const auto result = importCluster(files, options);
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const char* link : {"t1.gpu0=nvlink 25x18", "t2.gpu1=nvlink 25x18", "t3.gpu0=t3.nvswitch 25x18"}) {
    QVERIFY2(links.contains(link), qPrintable(links.join('\n')));
  }
  QVERIFY2(links.filter("t2.gpu2=nvlink").isEmpty(), qPrintable(links.join('\n')));
  const QString findings = texts(result->findings);
  QVERIFY2(findings.contains("2 hosts share the NVLink domain") && findings.contains("t2 GPU2 (Not Started)"),
           qPrintable(findings));
  // Without a network, what nothing joins is left out.
  std::string pair = domains;
  for (std::size_t at = pair.find("bb"); at != std::string::npos; at = pair.find("bb")) {
    pair.replace(at, 2, "aa");
  }
  const auto rack =
      importCluster({{pair, "domains.txt", FabricFormat::nvlinkDomains}, {matrix, "t1.txt", FabricFormat::nvidiaSmi}});
  QVERIFY2(rack, qPrintable(failure(rack)));
  QCOMPARE(linksOf(rack->description).filter("=nvlink 25x18").size(), 8);
  QCOMPARE(rack->description.nodes.size(), std::size_t{9});
  QVERIFY(fabric::Fabric::build(rack->description));
  // Of one host alone, GPUs that have not joined lose their NVLinks; the name of the file tells the host.
  const std::string one = "index, fabric.state, fabric.cliqueId\n0, Completed, 0\n1, Completed, 0\n2, Completed, 0\n";
  const auto alone =
      importCluster({{matrix, "t1.txt", FabricFormat::nvidiaSmi}, {one, "t1-fabric.txt", FabricFormat::nvlinkDomains}});
  QVERIFY2(alone, qPrintable(failure(alone)));
  QCOMPARE(linksOf(alone->description),
           (QStringList{"t1.gpu0=t1.nvswitch 25x18", "t1.gpu1=t1.nvswitch 25x18", "t1.gpu2=t1.nvswitch 25x18"}));
}

void TestClusterImport::peerAccess() {
  const std::string text =
      " \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tOK\n GPU2\tCNS\tOK\tX\n\nLegend:\n\n  X    = Self\n";
  const auto format = detectFormat("x.txt", text);
  QVERIFY(format && *format == FabricFormat::nvlinkDomains);
  const auto alone = importFabric(text, *format, "x.txt");
  QVERIFY2(failure(alone).contains("nvidia-smi topo -p2p"), qPrintable(failure(alone)));
  const std::string matrix = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tNV4\nGPU1\tNV4\tX\tNV4\nGPU2\tNV4\tNV4\tX\n";
  const auto both = importCluster({{matrix, "n1.txt", FabricFormat::nvidiaSmi}, {text, "p2p.txt", *format}});
  QVERIFY2(both, qPrintable(failure(both)));
  QVERIFY2(
      texts(both->findings).contains("1 pair of GPUs without access to each other's memory: n1 GPU0 and GPU2 (CNS)"),
      qPrintable(texts(both->findings)));
  QCOMPARE(both->description.links.size(), std::size_t{3});
}

void TestClusterImport::nvlinkDomainOfOneFile() {
  // NCCL's dump of a rack names no host: as many hosts of the network, in order, are one domain.
  std::string dump = "<system version=\"1\">";
  for (int host = 0; host < 2; ++host) {
    dump += "<cpu numaid=\"0\" host_hash=\"0x" + std::to_string(host + 1) + "\" arch=\"arm64\">";
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::string bus = "000" + std::to_string(gpu) + ":01:00.0";
      dump += "<pci busid=\"" + bus + "\" class=\"0x030200\" link_speed=\"32.0 GT/s\" link_width=\"16\"><gpu dev=\"" +
              std::to_string(gpu) + "\" sm=\"100\" rank=\"" + std::to_string(2 * host + gpu) +
              "\"><nvlink target=\"0001:00:00.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>";
    }
    dump +=
        "<pci busid=\"0009:01:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s\" link_width=\"16\"><nic>"
        "<net name=\"mlx5_0\" dev=\"" +
        std::to_string(host) + "\" speed=\"400000\"/></nic></pci></cpu>";
  }
  dump += "</system>";
  std::string network = "Switch 65 \"S-1\" # \"leaf\"\n";
  for (int host = 1; host <= 4; ++host) {
    const std::string number = std::to_string(host);
    network += "[" + number + "] \"H-" + number + "\"[1](1) # \"tray" + number + " mlx5_0\" lid 1 4xNDR\n";
  }
  const auto result =
      importCluster({{network, "net.txt", FabricFormat::ibnetdiscover}, {dump, "rack.xml", FabricFormat::ncclXml}});
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const char* link : {"tray1.gpu0=nvlink0 40.1x18", "tray2.gpu1=nvlink0 40.1x18", "tray3.gpu0=nvlink1 40.1x18",
                           "tray4.nic0=leaf 50"}) {
    QVERIFY2(links.contains(link), qPrintable(links.join('\n')));
  }
  QVERIFY2(texts(result->findings).contains("2 hosts of one NVLink domain without their names"),
           qPrintable(texts(result->findings)));
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

void TestClusterImport::rocmSmi() {
  const auto result = read("showtopo.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  // Weight 30 is a way through a third GPU, whatever the hops say. GPU3 is joined over PCIe alone, so all PCIe stays.
  QCOMPARE(linksOf(result->description), (QStringList{"gpu0=gpu1 50", "gpu1=gpu2 50", "gpu0=numa0 32", "gpu1=numa1 32",
                                                      "gpu2=numa1 32", "gpu3=numa0 32", "numa0=numa1 16"}));
  QVERIFY(texts(result->findings).contains("1 pair of GPUs reach each other through other GPUs"));
  QVERIFY(texts(result->findings).contains("no product"));
  QString page = QString::fromStdString(contents("showtopo.txt"));
  const auto detected = detectFormat("x", page.replace(' ', QChar(0xA0)).toStdString());
  QVERIFY(detected && *detected == FabricFormat::rocmSmi);
  const auto pasted = importFabric(page.toStdString(), *detected, "x");
  QVERIFY2(pasted, qPrintable(failure(pasted)));
  QCOMPARE(linksOf(pasted->description), linksOf(result->description));
  const auto named =
      importFabric("Card Series: AMD Instinct MI300X\n" + contents("showtopo.txt"), FabricFormat::rocmSmi, "x");
  QVERIFY2(named, qPrintable(failure(named)));
  QVERIFY(linksOf(named->description).contains("gpu0=gpu1 64"));
  NvidiaSmiOptions stated;
  stated.linkBandwidth = Bandwidth(200);
  ImportOptions options;
  options.nvidiaSmi = stated;
  const auto fast = read("showtopo.txt", options);
  QVERIFY(fast && linksOf(fast->description).contains("gpu0=gpu1 200"));
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

void TestClusterImport::olderAmdSmi() {
  const std::string text = R"([{"gpu": 0, "bdf": "0000:01:00.0", "weight": {"gpu_0": 0, "gpu_1": 15},
    "hops": {"gpu_0": 0, "gpu_1": 1}, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"},
    "numa_bandwidth": {"gpu_0": "N/A", "gpu_1": "50000-100000"}},
    {"gpu": 1, "bdf": "0000:02:00.0", "weight": {"gpu_0": 15, "gpu_1": 0},
    "hops": {"gpu_0": 1, "gpu_1": 0}, "link_type": {"gpu_0": "XGMI", "gpu_1": "SELF"},
    "numa_bandwidth": {"gpu_0": "50000-100000", "gpu_1": "N/A"}}])";
  const auto format = detectFormat("x.json", text);
  QVERIFY(format && *format == FabricFormat::rocmSmi);
  const auto result = importFabric(text, *format, "x.json");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 100"});
}

void TestClusterImport::hwlocDevices_data() {
  QTest::addColumn<QByteArray>("devices");
  QTest::addColumn<int>("gpus");
  QTest::addColumn<QString>("left");
  const QByteArray tesla = R"(<object type="PCIDev" gp_index="11" pci_busid="0000:05:00.0" pci_type="0302 [10de:06d2]"
    pci_link_speed="4.0"/><object type="PCIDev" gp_index="12" pci_busid="0000:06:00.0" pci_type="0302 [10de:06d2]"
    pci_link_speed="4.0"/>)";
  const auto vga = [](const char* busId, const char* id, const char* speed) {
    return QByteArray("<object type=\"PCIDev\" gp_index=\"13\" pci_busid=\"") + busId + "\" pci_type=\"0300 [" + id +
           "]\" pci_link_speed=\"" + speed + "\"/>";
  };
  QTest::newRow("VGA of the board") << tesla + vga("0000:01:03.0", "1002:515e", "0") << 2
                                    << "1002:515e at 0000:01:03.0";
  QTest::newRow("a slow link") << tesla + vga("0000:01:03.0", "1002:68f9", "0.25") << 2 << "1002:68f9 at 0000:01:03.0";
  QTest::newRow("inside the processor") << tesla + vga("0000:00:02.0", "8086:9bc5", "0") << 2 << "8086:9bc5";
  QTest::newRow("a workstation card") << tesla + vga("0000:07:00.0", "1002:73a3", "15.753846") << 3 << QString();
  QTest::newRow("workstation cards alone")
      << vga("0000:07:00.0", "1002:73a3", "0.25") + vga("0000:08:00.0", "1002:73a3", "15.753846") << 2 << QString();
}

void TestClusterImport::hwlocDevices() {
  QFETCH(QByteArray, devices);
  QFETCH(int, gpus);
  QFETCH(QString, left);
  const QByteArray text = R"(<topology version="2.0"><object type="Machine" gp_index="1"><object type="Package"
    gp_index="2"><object type="Bridge" gp_index="3" bridge_type="0-1">)" +
                          devices + "</object></object></object></topology>";
  const auto result = importFabric(text.toStdString(), FabricFormat::hwloc, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(nodesOf(result->description).filter(QRegularExpression("^gpu")).size(), gpus);
  QVERIFY2(texts(result->findings).contains(left), qPrintable(texts(result->findings)));
  QCOMPARE(texts(result->findings).contains("not counted as a GPU"), !left.isEmpty());
}

void TestClusterImport::hwlocCpuLinks() {
  const std::string text = R"(<topology version="2.0"><object type="Machine" gp_index="1"><object type="Package"
    gp_index="2"><object type="Bridge" gp_index="3" bridge_type="0-1"><object type="PCIDev" gp_index="4"
    pci_busid="0002:01:00.0" pci_type="0302 [10de:15f9]" pci_link_speed="16.0"/></object></object><object
    type="Package" gp_index="5"><object type="Bridge" gp_index="6" bridge_type="0-1"><object type="PCIDev"
    gp_index="7" pci_busid="0003:01:00.0" pci_type="0302 [10de:15f9]" pci_link_speed="16.0"/></object></object></object>
    <distances2hetero nbobjs="4" kind="25" name="NVLinkBandwidth"><indexes length="36">PCIDev:4 PCIDev:7 Package:2
    Package:5</indexes><u64values length="70">1000000 0 40000 0 0 1000000 0 40000 40000 0 1000000 0 0 40000 0
    1000000</u64values></distances2hetero></topology>)";
  ImportOptions options;
  options.box.keepPcie = true;
  const auto result = importFabric(text, FabricFormat::hwloc, "x.xml", options);
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  QVERIFY2(links.contains("gpu0=package0 40"), qPrintable(links.join('\n')));
  QVERIFY2(links.contains("gpu1=package1 40"), qPrintable(links.join('\n')));
}

void TestClusterImport::hwloc() {
  // The matrix has twice what an A100 has, as older versions wrote it.
  const auto result = read("lstopo.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 300"});
  QVERIFY(texts(result->findings).contains("half of them is used"));
  ImportOptions options;
  options.box.keepPcie = true;
  options.nvidiaSmi.nicBandwidth = Bandwidth(25);
  const auto whole = read("lstopo.xml", options);
  QVERIFY2(whole, qPrintable(failure(whole)));
  QCOMPARE(linksOf(whole->description),
           (QStringList{"gpu0=gpu1 300", "gpu0=pci-0000:00:01.0 2048/65", "gpu1=package1 2048/65",
                        "nic0=pci-0000:00:01.0 2048/65", "package0=package1 16", "package0=pci-0000:00:01.0 2048/65"}));
  // Without the matrix PCIe alone joins the GPUs.
  std::string text = contents("lstopo.xml");
  text.replace(text.find("NVLinkBandwidth"), 15, "SomethingElse__");
  const auto pcie = importFabric(text, FabricFormat::hwloc, "x");
  QVERIFY2(pcie, qPrintable(failure(pcie)));
  QVERIFY(texts(pcie->findings).contains("PCIe alone joins the GPUs"));
  // As a host of a network.
  const auto joined = importCluster({clusterFile("two_rails.ibnetdiscover.txt"), clusterFile("lstopo.xml")});
  QVERIFY2(joined, qPrintable(failure(joined)));
  QVERIFY(linksOf(joined->description).contains("node10.nic0=leaf1 50"));
}

void TestClusterImport::simaiRoundTrip() {
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

void TestClusterImport::infraGraphRoundTrip_data() {
  QTest::addColumn<QString>("name");
  for (const char* name : {"infragraph.yaml", "two_rails.ibnetdiscover.txt", "topology.yaml", "simai.topo",
                           "astra_sim.yml", "showtopo.txt"}) {
    QTest::newRow(name) << name;
  }
}

/// Kinds, boxes and links stay; names become those of instances.
void TestClusterImport::infraGraphRoundTrip() {
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

void TestClusterImport::astraSimRoundTrip_data() {
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
void TestClusterImport::astraSimRoundTrip() {
  QFETCH(QString, text);
  const auto first = importFabric(text.toStdString(), FabricFormat::astraSim, "x");
  QVERIFY2(first, qPrintable(failure(first)));
  const auto written = exportFabric(first->description, FabricFormat::astraSim);
  QVERIFY2(written, written ? "" : describe(written.error()).c_str());
  const QString body = QString::fromStdString(*written).section('\n', 1);
  QCOMPARE(body.simplified().remove(' '), text.simplified().remove(' '));
}

void TestClusterImport::astraSimRefuses_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("message");
  QTest::newRow("tree") << "two_rails.ibnetdiscover.txt"
                        << "ASTRA-sim's dimensions join GPUs alone";
  QTest::newRow("one-way") << "tacos.csv"
                           << "ASTRA-sim's links are duplex";
  QTest::newRow("unequal links") << "amd_smi.txt"
                                 << "not those of a product of dimensions";
}

void TestClusterImport::astraSimRefuses() {
  QFETCH(QString, name);
  QFETCH(QString, message);
  const auto first = read(name);
  QVERIFY2(first, qPrintable(failure(first)));
  const auto written = exportFabric(first->description, FabricFormat::astraSim);
  QVERIFY(!written);
  QVERIFY2(written.error().message.find(message.toStdString()) != std::string::npos, written.error().message.c_str());
  QVERIFY(!written.error().fix.empty());
}

void TestClusterImport::busIds_data() {
  QTest::addColumn<QString>("written");
  QTest::addColumn<QString>("target");
  QTest::newRow("upper case") << "0000:0A:00.0"
                              << "0000:0a:00.0";
  QTest::newRow("eight digits") << "0000:0a:00.0"
                                << "00000000:0A:00.0";
  QTest::newRow("no domain") << "0a:00.0"
                             << "0000:0a:00.0";
  QTest::newRow("leading zeros") << "0001:0a:00.0"
                                 << "1:a:0.0";
  QTest::newRow("no function") << "0001:0a:00"
                               << "0001:0A:00.0";
  QTest::newRow("blanks") << " 0001:0a:00.0"
                          << "0001:0a:00.0 ";
}

void TestClusterImport::busIds() {
  QFETCH(QString, written);
  QFETCH(QString, target);
  const std::string text = systemXml(gpuXml(written.toStdString(), "dev=\"0\" sm=\"80\" rank=\"0\"", "0000:0b:00.0") +
                                     gpuXml("0000:0b:00.0", "dev=\"1\" sm=\"80\" rank=\"1\"", target.toStdString()));
  const auto result = readNcclTopology(text, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 20x4"});
  // Another device is another device.
  const auto other =
      readNcclTopology(systemXml(gpuXml("0000:1a:00.0", "dev=\"0\" sm=\"80\" rank=\"0\"", "0000:0b:00.0") +
                                 gpuXml("0000:0b:00.0", "dev=\"1\" sm=\"80\" rank=\"1\"", target.toStdString())),
                       "x.xml");
  QVERIFY2(other, qPrintable(failure(other)));
  QVERIFY(texts(other->findings).contains("a link to a GPU that the file does not describe was ignored"));
}

void TestClusterImport::xgmiGenerations_data() {
  QTest::addColumn<QString>("bandwidth");
  for (const char* name : {"gfx942", "940", "gfx950:sramecc+:xnack-", "gfx941"}) {
    QTest::newRow(name) << "48";
  }
  for (const char* name : {"gfx90a", "910", "gfx90a:sramecc+:xnack-"}) {
    QTest::newRow(name) << "36";
  }
  for (const char* name : {"908", "906", "gfx908", "gfx1094"}) {
    QTest::newRow(name) << "24";
  }
}

void TestClusterImport::xgmiGenerations() {
  QFETCH(QString, bandwidth);
  std::string text;
  for (const auto& [own, other, rank] : {std::tuple("01", "02", "0"), std::tuple("02", "01", "1")}) {
    text += std::string("<pci busid=\"0000:") + own + ":00.0\" class=\"0x038000\"><gpu dev=\"" + rank +
            "\" sm=\"304\" gcn=\"" + QTest::currentDataTag() + "\" rank=\"" + rank + "\"><xgmi target=\"0000:" + other +
            ":00.0\" count=\"1\" tclass=\"0x038000\"/></gpu></pci>";
  }
  const auto result = readNcclTopology(systemXml(text, "2"), "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 " + bandwidth});
}

void TestClusterImport::hintFile() {
  const std::string text = systemXml(
      "<pci busid=\"ffff:ff:01.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
      "<pci busid=\"0001:00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>"
      "<pci busid=\"0101:00:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"16\"/>"
      "<pci busid=\"0002:00:00.0\" class=\"0x030000\" link_speed=\"16 GT/s\" link_width=\"16\"/></pci>");
  const auto result = readNcclTopology(text, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  bool isWarned = false;
  for (const Finding& finding : result->findings) {
    isWarned = isWarned || (finding.severity == Severity::warning && finding.text.find("NVLink") != std::string::npos &&
                            finding.fix.find("NCCL_TOPO_DUMP_FILE") != std::string::npos);
  }
  QVERIFY2(isWarned, qPrintable(texts(result->findings)));
  NcclTopoOptions options;
  options.box.count = 2;
  options.box.scaleOut = ScaleOut::rails;
  const auto noNics = readNcclTopology(text, "x.xml", options);
  QVERIFY2(failure(noNics).contains("NCCL_TOPO_DUMP_FILE"), qPrintable(failure(noNics)));
  options.nvlinkBandwidth = Bandwidth(300);
  options.nicBandwidth = Bandwidth(25);
  const auto complete = readNcclTopology(text, "x.xml", options);
  QVERIFY2(complete, qPrintable(failure(complete)));
  const QStringList links = linksOf(complete->description);
  QVERIFY2(links.contains("box1.gpu1=box1.nvswitch 300"), qPrintable(links.join('\n')));
  QVERIFY(links.contains("box0.nic0=rail0 25"));
}

void TestClusterImport::severalServers() {
  // Two trays of an NVLink domain: the same bus ids, one NVSwitch.
  std::string text = "<system version=\"1\">";
  for (int host = 0; host < 2; ++host) {
    text += "<cpu host_hash=\"0x" + std::to_string(7 + host) + "\" numaid=\"0\" arch=\"arm64\">";
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::string number = std::to_string(gpu + 1);
      text += "<pci busid=\"000" + number +
              ":01:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" + "<gpu dev=\"" +
              std::to_string(gpu) + "\" sm=\"100\" rank=\"" + std::to_string(2 * (1 - host) + gpu) +
              "\"><nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/></gpu></pci><pci busid=\"000" +
              number +
              ":02:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"mlx5_" +
              std::to_string(gpu) + "\" dev=\"" + std::to_string(gpu) + "\" speed=\"400000\"/></nic></pci>";
    }
    text += "</cpu>";
  }
  text += "</system>";
  const auto result = readNcclTopology(text, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), (QStringList{"gpu0=nvswitch 40.1x18", "gpu1=nvswitch 40.1x18",
                                                      "gpu2=nvswitch 40.1x18", "gpu3=nvswitch 40.1x18"}));
  // Ranks decide the order; the box of each GPU is its server.
  QCOMPARE(nodesOf(result->description),
           (QStringList{"gpu0@box0/host1", "gpu1@box0/host1", "gpu2@box0/host0", "gpu3@box0/host0", "nvswitch@box0"}));
  NcclTopoOptions options;
  options.box.count = 2;
  options.box.scaleOut = ScaleOut::rails;
  const auto racks = readNcclTopology(text, "x.xml", options);
  QVERIFY2(racks, qPrintable(failure(racks)));
  const QStringList links = linksOf(racks->description);
  QVERIFY2(links.contains("box1.host1.nic1=rail1 50"), qPrintable(links.join('\n')));
  QCOMPARE(links.filter("=rail1").size(), 4);
}

void TestClusterImport::ncclOddities() {
  // A bridge's bus id twice, a link to itself, and a device whose class NCCL would read on the machine.
  const std::string pair = gpuXml("0000:0a:00.0", "dev=\"0\" sm=\"80\" rank=\"0\"", "0000:0b:00.0") +
                           gpuXml("0000:0b:00.0", "dev=\"1\" sm=\"80\" rank=\"1\"", "0000:0a:00.0");
  const auto twice = readNcclTopology(
      systemXml("<pci busid=\"0000:c5:00.0\" class=\"0x060400\"></pci><pci busid=\"0000:C5:00.0\" class=\"0x060400\">" +
                pair + "</pci>"),
      "x.xml");
  QVERIFY2(twice, qPrintable(failure(twice)));
  QVERIFY(texts(twice->findings).contains("a bus id appears twice"));
  const auto self = readNcclTopology(
      systemXml(pair + gpuXml("0000:0c:00.0", "dev=\"2\" sm=\"80\" rank=\"2\"", "0000:0c:00.0")), "x.xml");
  QVERIFY2(self, qPrintable(failure(self)));
  QVERIFY(texts(self->findings).contains("leads nowhere"));
  std::string twoCpus = systemXml(gpuXml("0000:0a:00.0", "dev=\"0\" sm=\"80\" rank=\"0\"", "0000:0b:00.0"));
  twoCpus.insert(twoCpus.rfind("</system>"),
                 "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"AMD\" familyid=\"159\" modelid=\"2\">" +
                     gpuXml("0000:0b:00.0", "dev=\"1\" sm=\"80\" rank=\"1\"", "0000:0a:00.0") + "</cpu>");
  const auto vendor = readNcclTopology(twoCpus, "x.xml");
  QVERIFY2(vendor, qPrintable(failure(vendor)));
  QVERIFY2(texts(vendor->findings).contains("does not know the CPU vendor \"AMD\": it assumes 6 GB/s"),
           qPrintable(texts(vendor->findings)));
  const auto classless = readNcclTopology(systemXml("<pci busid=\"0000:01:00.0\" vendor=\"0x10de\"/>"), "x.xml");
  QVERIFY2(failure(classless).contains("looks like a GPU by its vendor"), qPrintable(failure(classless)));
  QVERIFY(failure(classless).contains("NCCL_TOPO_DUMP_FILE"));
}

void TestClusterImport::pastedMatrices_data() {
  QTest::addColumn<QByteArray>("text");
  const QString plain =
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV1\tNV2\t0-7\nGPU1\tNV1\t X \tNV1\t0-7\n"
      "GPU2\tNV2\tNV1\t X \t0-7\n";
  const auto prefixed = [&](const QString& prefix) {
    QString out;
    for (const QString& line : plain.split('\n', Qt::SkipEmptyParts)) {
      out += prefix + line + '\n';
    }
    return out.toUtf8();
  };
  QTest::newRow("plain") << plain.toUtf8();
  QTest::newRow("byte order mark") << QByteArray("\xEF\xBB\xBF") + plain.toUtf8();
  QTest::newRow("no-break spaces") << QString(plain).replace('\t', QChar(0xA0)).toUtf8();
  QTest::newRow("wide spaces") << QString(plain).replace('\t', QChar(0x2003)).toUtf8();
  QTest::newRow("mpirun") << prefixed("[1,0]<stdout>:");
  QTest::newRow("mpirun 5") << prefixed("[prterun-host-1@1,0]<stdout>: ");
  QTest::newRow("srun -l") << prefixed("0: ");
  QTest::newRow("pdsh") << prefixed("node-1.cluster: ");
  QTest::newRow("a time") << prefixed("2026-01-02 03:04:05 INFO ");
  QTest::newRow("a mail") << prefixed("> ");
  QTest::newRow("a mail of a mail") << prefixed("> > ");
  QTest::newRow("Windows") << QString(plain).replace("\n", "\r\n").toUtf8();
  QTest::newRow("two ranks") << prefixed("[1,0]<stdout>:") + prefixed("[1,1]<stdout>:");
  QTest::newRow("double spaced") << QString(plain).replace("\n", "\n\n").toUtf8();
  QTest::newRow("table of a page") << QByteArray(
      "  | GPU0 | GPU1 | GPU2 | CPU Affinity\n-- | -- | -- | -- | --\nGPU0 | X | NV1 | NV2 | 0-7\n"
      "GPU1 | NV1 | X | NV1 | 0-7\nGPU2 | NV2 | NV1 | X | 0-7\n");
  QTest::newRow("quotation marks") << QByteArray(
      "\"\"\t\"GPU0\"\t\"GPU1\"\t\"GPU2\"\n\"GPU0\"\t\"X\"\t\"NV1\"\t\"NV2\"\n\"GPU1\"\t\"NV1\"\t\"X\"\t\"NV1\"\n"
      "\"GPU2\"\t\"NV2\"\t\"NV1\"\t\"X\"\n");
  QTest::newRow("cells run together") << QByteArray(
      "\tGPU0\tGPU1\tGPU2\nGPU0 X NV1NV2\nGPU1 NV1 X NV1\nGPU2 NV2NV1 X\n");
  QTest::newRow("a spreadsheet") << QByteArray(
      ",GPU0,GPU1,GPU2,CPU Affinity\nGPU0,X,NV1,NV2,0-7\nGPU1,NV1,X,NV1,0-7\nGPU2,NV2,NV1,X,0-7\n");
  QTest::newRow("entities of HTML") << QByteArray(
      "&nbsp;GPU0 GPU1 GPU2\nGPU0&nbsp;X&nbsp;NV1 NV2\nGPU1 NV1 X NV1\nGPU2 NV2 NV1 X\n");
  QTest::newRow("single quotation marks")
      << QByteArray("'\tGPU0\tGPU1\tGPU2'\n'GPU0\tX\tNV1\tNV2'\n'GPU1\tNV1\tX\tNV1'\n'GPU2\tNV2\tNV1\tX'\n");
  QTest::newRow("colours that lost their escape")
      << ("[4m" + QString(plain).replace("Affinity\n", "Affinity[0m\n")).toUtf8();
  QTest::newRow("an old Mac") << QString(plain).replace('\n', '\r').toUtf8();
  QTest::newRow("a string of JSON") << QString(plain).replace('\n', "\\n").replace('\t', "\\t").toUtf8();
  QTest::newRow("bold in Markdown") << QByteArray(
      "| | **GPU0** | **GPU1** | **GPU2** |\n|:--|:-:|:-:|:-:|\n| **GPU0** | X | NV1 | NV2 |\n"
      "| **GPU1** | NV1 | X | NV1 |\n| **GPU2** | NV2 | NV1 | X |\n");
  QTest::newRow("a quoted spreadsheet") << QByteArray(
      "\"\",\"GPU0\",\"GPU1\",\"GPU2\"\n\"GPU0\",\"X\",\"NV1\",\"NV2\"\n"
      "\"GPU1\",\"NV1\",\"X\",\"NV1\"\n\"GPU2\",\"NV2\",\"NV1\",\"X\"\n");
  QTest::newRow("a shell before and after") << ("$ nvidia-smi topo -m\n" + plain + "$ exit\n").toUtf8();
  QTest::newRow("two hosts alike") << prefixed("n1: ") + prefixed("n2: ");
  QByteArray wide("\xFF\xFE", 2);
  QByteArray big;
  for (const QChar c : plain) {
    wide += static_cast<char>(c.unicode() & 0xFF);
    wide += static_cast<char>(c.unicode() >> 8);
    big += static_cast<char>(c.unicode() >> 8);
    big += static_cast<char>(c.unicode() & 0xFF);
  }
  QTest::newRow("UTF-16") << wide;
  QTest::newRow("UTF-16, big, without mark") << big;
}

void TestClusterImport::pastedMatrices() {
  QFETCH(QByteArray, text);
  const std::string bytes = text.toStdString();
  const auto format = detectFormat("x.txt", bytes);
  QVERIFY2(format, qPrintable(format ? QString() : QString::fromStdString(describe(format.error()))));
  QVERIFY(*format == FabricFormat::nvidiaSmi);
  const auto result = importFabric(bytes, *format, "x.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), (QStringList{"gpu0=gpu1 25", "gpu0=gpu2 25x2", "gpu1=gpu2 25"}));
}

void TestClusterImport::nvlinkStatus_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QString>("finding");
  // Eight GPUs of twelve links, of which GPU 3 has lost two.
  QString eight;
  for (int gpu = 0; gpu < 8; ++gpu) {
    eight += QStringLiteral("GPU %1: NVIDIA A100-SXM4-80GB (UUID: GPU-%1)\n").arg(gpu);
    for (int link = 0; link < 12; ++link) {
      eight += QStringLiteral("\t Link %1: %2\n")
                   .arg(link)
                   .arg(gpu == 3 && link > 9 ? QStringLiteral("<inactive>") : QStringLiteral("25 GB/s"));
    }
  }
  QTest::newRow("-s of an NVSwitch machine")
      << eight << QStringList{"gpu0=nvswitch 25x12", "gpu3=nvswitch 25x10", "gpu7=nvswitch 25x12"}
      << "GPU3: 2 NVLinks of 12 are inactive";
  QTest::newRow("-s alone says not what they join") << eight << QStringList{} << "an NVSwitch is assumed";
  QTest::newRow("two cards") << "GPU 0: NVIDIA A40 (UUID: a)\n\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n"
                                "GPU 1: NVIDIA A40 (UUID: b)\n\t Link 0: 14.062 GB/s\n\t Link 1: 14.062 GB/s\n"
                             << QStringList{"gpu0=gpu1 14.062x2"} << QString();
  // Bus ids in both spellings; -R after -s.
  QTest::newRow("-s and -R of a mesh")
      << "GPU 0: Tesla V100 (UUID: a)\n Link 0: 25.781 GB/s\n Link 1: 25.781 GB/s\n"
         "GPU 1: Tesla V100 (UUID: b)\n Link 0: 25.781 GB/s\n Link 1: 25.781 GB/s\n Link 2: 25.781 GB/s\n"
         "GPU 2: Tesla V100 (UUID: c)\n Link 0: 25.781 GB/s\n"
         "GPU 0: Tesla V100 (UUID: a)\n Link 0: Remote Device 00000000:0A:00.0: Link 1\n"
         " Link 1: Remote Device 00000000:0A:00.0: Link 0\n"
         "GPU 1: Tesla V100 (UUID: b)\n Link 0: Remote Device 0000:06:00.0: Link 1\n"
         " Link 1: Remote Device 0000:06:00.0: Link 0\n Link 2: Remote Device 00000000:B1:00.0: Link 0\n"
         "GPU 2: Tesla V100 (UUID: c)\n Link 0: Remote Device 00000000:0A:00.0: Link 2\n"
      << QStringList{"gpu0=gpu1 25.781x2", "gpu1=gpu2 25.781"} << QString();
  QTest::newRow("-R that ends at NVSwitches")
      << "GPU 0: H100 (UUID: a)\n Link 0: Remote Device 00000000:06:00.0: Link 1\n"
         " Link 1: Remote Device 00000000:07:00.0: Link 0\n"
         "GPU 1: H100 (UUID: b)\n Link 0: Remote Device 00000000:06:00.0: Link 2\n"
         " Link 1: Remote Device 00000000:07:00.0: Link 2\n"
      << QStringList{"gpu0=nvswitch 25x2", "gpu1=nvswitch 25x2"} << QString();
  QTest::newRow("topo -m and -s") << "\tGPU0\tGPU1\tmlx5_0\nGPU0\tX\tNV18\tPIX\nGPU1\tNV18\tX\tSYS\n"
                                     "mlx5_0\tPIX\tSYS\tX\n\nGPU 0: NVIDIA H100 (UUID: a)\n\t Link 0: 26.562 GB/s\n"
                                     "GPU 1: NVIDIA H100 (UUID: b)\n\t Link 0: 26.562 GB/s\n"
                                  << QStringList{"gpu0=gpu1 26.562x18"} << QString();
  QTest::newRow("-c") << "GPU 0: A (UUID: a)\n\t Link 0, P2P is supported: true\n\t Link 1, P2P is supported: true\n"
                         "GPU 1: B (UUID: b)\n\t Link 0, P2P is supported: true\n\t Link 1, P2P is supported: true\n"
                      << QStringList{"gpu0=gpu1 25x2"} << QString();
  QTest::newRow("unequal rates") << "GPU 0: A (UUID: a)\n Link 0: 25 GB/s\nGPU 1: B (UUID: b)\n Link 0: 12.5 GB/s\n"
                                 << QStringList{"gpu0=gpu1 12.5"} << "NVLinks have 2 rates";
}

void TestClusterImport::nvlinkStatus() {
  QFETCH(QString, text);
  QFETCH(QStringList, links);
  QFETCH(QString, finding);
  const auto format = detectFormat("x.txt", text.toStdString());
  QVERIFY(format && *format == FabricFormat::nvidiaSmi);
  const auto result = importFabric(text.toStdString(), FabricFormat::nvidiaSmi, "x.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList made = linksOf(result->description);
  for (const QString& link : links) {
    QVERIFY2(made.contains(link), qPrintable(link + " not in\n" + made.join('\n')));
  }
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
}

void TestClusterImport::matrixFindings_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("keepPcie");
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QString>("finding");
  QTest::newRow("a bridge of two cards") << "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"
                                         << false << QStringList{"gpu0=gpu1 14.0625x4"} << "RTX 3090";
  QTest::newRow("P100 has several peers")
      << "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV2\tNV2\nGPU1\tNV2\t X \tNV2\nGPU2\tNV2\tNV2\t X \n"
      << false << QStringList{"gpu0=gpu1 20x2", "gpu0=gpu2 20x2", "gpu1=gpu2 20x2"} << "look like P100";
  QTest::newRow("PCIe is left out") << "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n"
                                    << false << QStringList{"gpu0=gpu1 25x12"} << "PCIe and CPU links left out";
  // GPU2 has 11 links: its cells show 11, and so do those of the others with it.
  QTest::newRow("a dead link")
      << "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV12\tNV11\nGPU1\tNV12\t X \tNV11\nGPU2\tNV11\tNV11\t X \n"
      << false << QStringList{"gpu0=nvswitch 25x12", "gpu1=nvswitch 25x12", "gpu2=nvswitch 25x11"}
      << "GPU2 has 11 NVLinks to the NVSwitch where others have 12: 1 may be down";
  QTest::newRow("topo -mp") << "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n\nLegend:\n\n  PHB  = a host bridge\n"
                               "  PIX  = one bridge\n"
                            << false << QStringList{"gpu0=gpu1 16"} << "which hides NVLink";
  QTest::newRow("the text names the GPU") << "GPU 0,1: NVIDIA B200\n\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n"
                                          << false << QStringList{"gpu0=gpu1 50x18"} << "an NVLink of B200";
  QTest::newRow("as nvidia-smi -L names it")
      << "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n"
      << false << QStringList{"gpu0=gpu1 25x18"} << "an NVLink of H100";
  QTest::newRow("two kinds are named") << "GPU0: NVIDIA B200\nGPU1: NVIDIA H100\n\tGPU0\tGPU1\nGPU0\t X \tNV18\n"
                                          "GPU1\tNV18\t X \n"
                                       << false << QStringList{"gpu0=gpu1 25x18"} << "look like H100";
  QTest::newRow("topo -p2p after the matrix")
      << "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n\nLegend:\n\n  X = Self\n\n"
         " \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n"
      << false << QStringList{"gpu0=gpu1 16"} << "topo -p2p beside the matrix is left out";
  QTest::newRow("topo -p2p before the matrix")
      << " \tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tNS\tX\n\tGPU0\tGPU1\nGPU0\t X \tNODE\nGPU1\tNODE\t X \n"
      << false << QStringList{"gpu0=gpu1 16"} << "topo -p2p beside the matrix is left out";
  QTest::newRow("no NVLink") << "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n"
                             << false << QStringList{"gpu0=gpu1 16"} << "no cell shows NVLink";
  // SYS inside one NUMA node is no way between sockets; two nodes are joined by one.
  QTest::newRow("affinity") << "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tSYS\tSYS\t0-7\t0\n"
                               "GPU1\tSYS\t X \tSYS\t0-7\t0\nGPU2\tSYS\tSYS\t X \t8-15\t1\n"
                            << true
                            << QStringList{"gpu0=numa0 16", "gpu1=numa0 16", "gpu2=sockets0 10", "numa0=sockets0 10"}
                            << "sockets is assumed";
}

void TestClusterImport::matrixFindings() {
  QFETCH(QString, text);
  QFETCH(bool, keepPcie);
  QFETCH(QStringList, links);
  QFETCH(QString, finding);
  NvidiaSmiOptions options;
  options.box.keepPcie = keepPcie;
  options.reading = links.first().contains("nvswitch") ? NvlinkReading::nvSwitch : NvlinkReading::guess;
  if (keepPcie) {
    options.socketBandwidth = Bandwidth(10);
    finding.clear();
  }
  const auto format = detectFormat("x.txt", text.toStdString());
  QVERIFY(format && *format == FabricFormat::nvidiaSmi);
  const auto result = readNvidiaSmi(text.toStdString(), "x.txt", options);
  QVERIFY2(result, qPrintable(failure(result)));
  QStringList sorted = linksOf(result->description);
  sorted.sort();
  links.sort();
  QCOMPARE(sorted, links);
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
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
