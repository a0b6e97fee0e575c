// SPDX-License-Identifier: Apache-2.0
#include <QRegularExpression>
#include <QTest>

#include "io/import_support.hpp"
#include "io/nccl_topo_xml.hpp"
#include "io/nvidia_smi.hpp"
#include "io/nvlink_domains.hpp"

using namespace coppice;
using namespace coppice::io;
using namespace coppice::io::test;

namespace {

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

/// What programs print of one machine, and files that describe one: nvidia-smi, rocm-smi, hwloc, NCCL.
class TestBoxImport : public QObject {
  Q_OBJECT

private slots:
  void nvlinkDomains_data();
  void nvlinkDomains();
  void nvlinkDomainsOfHosts();
  void nvlinkDomainOfOneFile();
  void peerAccess();
  void rocmSmi();
  void olderAmdSmi();
  void hwloc();
  void hwlocDevices_data();
  void hwlocDevices();
  void hwlocCpuLinks();
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
};

void TestBoxImport::nvlinkDomains_data() {
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

void TestBoxImport::nvlinkDomains() {
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

void TestBoxImport::nvlinkDomainsOfHosts() {
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

void TestBoxImport::peerAccess() {
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

void TestBoxImport::nvlinkDomainOfOneFile() {
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

void TestBoxImport::rocmSmi() {
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

void TestBoxImport::olderAmdSmi() {
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

void TestBoxImport::hwlocDevices_data() {
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

void TestBoxImport::hwlocDevices() {
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

void TestBoxImport::hwlocCpuLinks() {
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

void TestBoxImport::hwloc() {
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

void TestBoxImport::busIds_data() {
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

void TestBoxImport::busIds() {
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

void TestBoxImport::xgmiGenerations_data() {
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

void TestBoxImport::xgmiGenerations() {
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

void TestBoxImport::hintFile() {
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

void TestBoxImport::severalServers() {
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

void TestBoxImport::ncclOddities() {
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

void TestBoxImport::pastedMatrices_data() {
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

void TestBoxImport::pastedMatrices() {
  QFETCH(QByteArray, text);
  const std::string bytes = text.toStdString();
  const auto format = detectFormat("x.txt", bytes);
  QVERIFY2(format, qPrintable(format ? QString() : QString::fromStdString(describe(format.error()))));
  QVERIFY(*format == FabricFormat::nvidiaSmi);
  const auto result = importFabric(bytes, *format, "x.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), (QStringList{"gpu0=gpu1 25", "gpu0=gpu2 25x2", "gpu1=gpu2 25"}));
}

void TestBoxImport::nvlinkStatus_data() {
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

void TestBoxImport::nvlinkStatus() {
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

void TestBoxImport::matrixFindings_data() {
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

void TestBoxImport::matrixFindings() {
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

QTEST_GUILESS_MAIN(TestBoxImport)
#include "tst_box_import.moc"
