// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTest>
#include <map>
#include <optional>

#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "io/adjacency.hpp"
#include "io/fabric_formats.hpp"
#include "io/fabric_json.hpp"
#include "io/import_choices.hpp"
#include "io/nccl_topo_xml.hpp"
#include "io/nvidia_smi.hpp"

using namespace coppice;
using namespace coppice::io;

namespace {

const QString kFolder = QStringLiteral(COPPICE_TEST_DATA "/import/");

std::string contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

/// "a=b 25x12" for a duplex link, "a>b 25" for a one-way one.
QStringList linksOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::LinkDescription& link : description.links) {
    QString line = QString::fromStdString(link.src + (link.duplex ? "=" : ">") + link.dst + " " + link.bandwidth);
    lines << (link.count == 1 ? line : line + QStringLiteral("x%1").arg(link.count));
  }
  return lines;
}

/// "gpu0:gpu", with "@1" for a stated rank.
QStringList nodesOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::NodeDescription& node : description.nodes) {
    QString line = QString::fromStdString(node.id + ":" + node.kind);
    lines << (node.rank ? line + QStringLiteral("@%1").arg(*node.rank) : line);
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

/// Valid, and balanced at every node.
QString faults(const fabric::Description& description) {
  const auto built = fabric::Fabric::build(description);
  if (!built) {
    return QString::fromStdString(describe(built.error()));
  }
  return built->isBalanced() ? QString() : QStringLiteral("unbalanced");
}

BoxOptions boxes(int count, ScaleOut scaleOut, bool keepPcie = false) {
  BoxOptions options;
  options.count = count;
  options.scaleOut = scaleOut;
  options.keepPcie = keepPcie;
  return options;
}

FabricFormat formatOf(const QString& name) {
  return name.endsWith(QLatin1String(".xml"))   ? FabricFormat::ncclXml
         : name.endsWith(QLatin1String(".txt")) ? FabricFormat::nvidiaSmi
                                                : FabricFormat::adjacency;
}

}  // namespace

class TestImport : public QObject {
  Q_OBJECT

private slots:
  void ncclLinks_data();
  void ncclLinks();
  void ncclA100();
  void ncclReplicates_data();
  void ncclReplicates();
  void ncclOneSidedLinkWarns();
  void ncclUnequalCountsTakeTheLesser();
  void ncclIgnoredThingsAreNoted();
  void boxOptionsAreChecked_data();
  void boxOptionsAreChecked();
  void smiMesh();
  void smiSwitch();
  void whatTheFileLeavesOpen();
  void answersAsTyped_data();
  void answersAsTyped();
  void smiSpacesInsteadOfTabs();
  void smiReading_data();
  void smiReading();
  void smiPcieBox();
  void smiBandwidthsAreTaken();
  void adjacencyForms_data();
  void adjacencyForms();
  void adjacencyRoundTrip();
  void adjacencyWriteErrors_data();
  void adjacencyWriteErrors();
  void detect_data();
  void detect();
  void doorway();
  void badInput_data();
  void badInput();
};

void TestImport::ncclLinks_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<bool>("keepPcie");
  QTest::addColumn<bool>("isNominal");
  QTest::addColumn<QStringList>("links");
  QTest::newRow("two GPUs, four NVLinks") << "two_a100.xml" << false << false << QStringList{"gpu0=gpu1 20x4"};
  QTest::newRow("nominal") << "two_a100.xml" << false << true << QStringList{"gpu0=gpu1 25x4"};
  QTest::newRow("with PCIe") << "two_a100.xml" << true << false
                             << QStringList{"gpu0=gpu1 20x4", "gpu0=pci-0000:10:00.0 24", "gpu1=pci-0000:10:00.0 24",
                                            "nic0=pci-0000:10:00.0 24", "cpu0=pci-0000:10:00.0 24"};
  QTest::newRow("with nominal PCIe") << "two_a100.xml" << true << true
                                     << QStringList{"gpu0=gpu1 25x4", "gpu0=pci-0000:10:00.0 32",
                                                    "gpu1=pci-0000:10:00.0 32", "nic0=pci-0000:10:00.0 32",
                                                    "cpu0=pci-0000:10:00.0 32"};
  QTest::newRow("NVSwitch") << "two_h100_nvswitch.xml" << false << false
                            << QStringList{"gpu0=nvswitch 20.6x18", "gpu1=nvswitch 20.6x18"};
  // Bridges with two links merge; the two NUMA nodes are joined by Skylake's 10 GB/s.
  QTest::newRow("PCIe only") << "pcie_only.xml" << false << false
                             << QStringList{"gpu0=cpu0 12", "gpu1=cpu0 12", "gpu2=cpu1 12", "gpu3=cpu1 12",
                                            "cpu0=cpu1 10"};
  QTest::newRow("xGMI, ranks against the order") << "mi250_pair.xml" << false << false << QStringList{"gpu0=gpu1 36x4"};
}

void TestImport::ncclLinks() {
  QFETCH(QString, file);
  QFETCH(bool, keepPcie);
  QFETCH(bool, isNominal);
  QFETCH(QStringList, links);
  const auto result =
      readNcclTopology(contents(kFolder + file), file.toStdString(),
                       {boxes(1, ScaleOut::none, keepPcie), isNominal ? LinkRates::nominal : LinkRates::nccl});
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), links);
  QCOMPARE(faults(result->description), QString());
}

void TestImport::ncclA100() {
  const auto result = readNcclTopology(contents(kFolder + "dgx_a100.xml"), "dgx_a100.xml",
                                       {boxes(1, ScaleOut::none, true), LinkRates::nccl});
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (int gpu = 0; gpu < 8; ++gpu) {
    // Six switches of two links each count as one switch.
    QCOMPARE(links[gpu], QStringLiteral("gpu%1=nvswitch 20x12").arg(gpu));
  }
  QVERIFY(links.contains("gpu0=pci-0000:01:00.0 24"));
  QVERIFY(links.contains("gpu1=pci-0000:01:00.0 24"));
  QVERIFY(links.contains("nic7=pci-0000:b1:00.0 24"));
  QVERIFY(links.contains("cpu0=cpu1 16"));
  QCOMPARE(links.size(), 8 + 16 + 4 + 1);
  QCOMPARE(nodesOf(result->description).mid(0, 9),
           (QStringList{"gpu0:gpu", "gpu1:gpu", "gpu2:gpu", "gpu3:gpu", "gpu4:gpu", "gpu5:gpu", "gpu6:gpu", "gpu7:gpu",
                        "nic0:nic"}));
  QCOMPARE(faults(result->description), QString());
}

void TestImport::ncclReplicates_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<int>("count");
  QTest::addColumn<int>("scaleOut");
  QTest::addColumn<QStringList>("some");
  QTest::addColumn<int>("switches");  // outside the boxes
  QTest::newRow("planes") << "dgx_a100.xml" << 2 << int(ScaleOut::oddEvenPlanes)
                          << QStringList{"box0.gpu0=box0.nic0 24", "box1.gpu7=box1.nic7 24", "box1.nic3=plane1 25",
                                         "box0.nic6=plane0 25"}
                          << 2;
  QTest::newRow("rails") << "dgx_a100.xml" << 4 << int(ScaleOut::rails)
                         << QStringList{"box3.nic5=rail5 25", "box3.gpu5=box3.nvswitch 20x12"} << 8;
  QTest::newRow("one switch") << "dgx_a100.xml" << 3 << int(ScaleOut::oneSwitch) << QStringList{"box2.nic5=network 25"}
                              << 1;
  // One NIC for two GPUs: the bridge stays, because they share the NIC's link.
  QTest::newRow("shared bridge") << "two_a100.xml" << 2 << int(ScaleOut::oneSwitch)
                                 << QStringList{"box0.gpu0=box0.pci-0000:10:00.0 24",
                                                "box0.gpu1=box0.pci-0000:10:00.0 24",
                                                "box0.nic0=box0.pci-0000:10:00.0 24", "box0.nic0=network 25"}
                                 << 1;
  // Two ports share the card's PCIe link; the GPU under the same CPU has PCIe and NVLink-C2C to it.
  QTest::newRow("dual port") << "dual_port.xml" << 2 << int(ScaleOut::rails)
                             << QStringList{"box0.nic0=box0.pci-0000:02:00.0 50", "box0.nic1=box0.pci-0000:02:00.0 50",
                                            "box0.cpu0=box0.pci-0000:02:00.0 48", "box0.gpu0=box0.cpu0 48",
                                            "box0.gpu0=box0.cpu0 44.712x10"}
                             << 2;
  QTest::newRow("NIC on a CPU") << "pcie_only.xml" << 2 << int(ScaleOut::oneSwitch)
                                << QStringList{"box1.nic0=box1.cpu0 1.25", "box1.nic0=network 1.25",
                                               "box1.cpu0=box1.cpu1 10"}
                                << 1;
}

void TestImport::ncclReplicates() {
  QFETCH(QString, file);
  QFETCH(int, count);
  QFETCH(int, scaleOut);
  QFETCH(QStringList, some);
  QFETCH(int, switches);
  const auto result = readNcclTopology(contents(kFolder + file), file.toStdString(),
                                       {boxes(count, static_cast<ScaleOut>(scaleOut)), {}});
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  for (const QString& link : some) {
    QVERIFY2(links.contains(link), qPrintable(link + " not in\n" + links.join('\n')));
  }
  int outside = 0;
  for (const fabric::NodeDescription& node : result->description.nodes) {
    outside += node.box.empty() ? 1 : 0;
  }
  QCOMPARE(outside, switches);
  QCOMPARE(faults(result->description), QString());
  // The paths between the GPUs over PCIe are gone where NVLink joins them.
  QVERIFY(file != "dgx_a100.xml" || !links.join(' ').contains("cpu"));
}

void TestImport::ncclOneSidedLinkWarns() {
  std::string text = contents(kFolder + "two_a100.xml");
  const std::string second = "<nvlink target=\"0000:11:00.0\" count=\"4\" tclass=\"0x030200\"/>";
  text.replace(text.find(second), second.size(), "");
  const auto result = readNcclTopology(text, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 20x4"});
  QVERIFY(texts(result->findings).contains("warning: x.xml:5:47: <nvlink>: only one of the two GPUs lists this link"));
}

void TestImport::ncclUnequalCountsTakeTheLesser() {
  std::string text = contents(kFolder + "two_a100.xml");
  text.replace(text.find("count=\"4\""), 9, "count=\"3\"");
  const auto result = readNcclTopology(text, "x.xml");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description), QStringList{"gpu0=gpu1 20x3"});
  QVERIFY(texts(result->findings).contains("list 3 and 4 links to each other; the smaller one is used"));
}

void TestImport::ncclIgnoredThingsAreNoted() {
  std::string text = contents(kFolder + "two_a100.xml");
  text.replace(text.find("</cpu>"), 6, "<fan speed=\"9\"/><nic><net name=\"x\"/></nic></cpu>");
  text.replace(text.find("speed=\"200000\" "), 15, "");
  text.replace(text.find("link_speed=\"16.0 GT/s PCIe\""), 27, "link_speed=\"Unknown\"");
  const auto result = readNcclTopology(text, "x.xml", {boxes(2, ScaleOut::oneSwitch), {}});
  QVERIFY2(result, qPrintable(failure(result)));
  const QString findings = texts(result->findings);
  QVERIFY2(findings.contains("element <fan> was ignored here"), qPrintable(findings));
  QVERIFY2(findings.contains("a <net> without dev was ignored"), qPrintable(findings));
  QVERIFY2(findings.contains("a <net> without speed counts as 10 Gbit/s"), qPrintable(findings));
  QVERIFY2(findings.contains("a PCIe link without a known speed counts as 8 GT/s"), qPrintable(findings));
  QVERIFY(linksOf(result->description).contains("box0.nic0=network 1.25"));
}

void TestImport::boxOptionsAreChecked_data() {
  QTest::addColumn<int>("count");
  QTest::addColumn<int>("scaleOut");
  QTest::addColumn<QString>("nic");
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("message");
  QTest::newRow("no boxes") << 0 << int(ScaleOut::none) << ""
                            << "two_a100.xml"
                            << "number of boxes is 0";
  QTest::newRow("too many") << 100000 << int(ScaleOut::rails) << ""
                            << "two_a100.xml"
                            << "number of boxes is 100000";
  QTest::newRow("no network") << 2 << int(ScaleOut::none) << ""
                              << "two_a100.xml"
                              << "need a network that joins them";
  QTest::newRow("no NICs") << 2 << int(ScaleOut::rails) << ""
                           << "mi250_pair.xml"
                           << "has no NICs to join";
  QTest::newRow("unknown NIC") << 2 << int(ScaleOut::rails) << "mlx5_9"
                               << "two_a100.xml"
                               << "no NIC called \"mlx5_9\"; it has nic0 (mlx5_0)";
}

void TestImport::boxOptionsAreChecked() {
  QFETCH(int, count);
  QFETCH(int, scaleOut);
  QFETCH(QString, nic);
  QFETCH(QString, file);
  QFETCH(QString, message);
  BoxOptions options = boxes(count, static_cast<ScaleOut>(scaleOut));
  if (!nic.isEmpty()) {
    options.nics = {nic.toStdString()};
  }
  const auto result = readNcclTopology(contents(kFolder + file), file.toStdString(), {options, {}});
  QVERIFY2(failure(result).contains(message), qPrintable(failure(result)));
  QCOMPARE(result.error().code, ErrorCode::badUsage);
}

void TestImport::smiMesh() {
  const auto result = readNvidiaSmi(contents(kFolder + "dgx1_v100_topo.txt"), "topo.txt");
  QVERIFY2(result, qPrintable(failure(result)));
  // The hybrid cube mesh: six links at every GPU.
  QCOMPARE(
      linksOf(result->description),
      (QStringList{"gpu0=gpu1 25", "gpu0=gpu2 25", "gpu0=gpu3 25x2", "gpu0=gpu4 25x2", "gpu1=gpu2 25x2", "gpu1=gpu3 25",
                   "gpu1=gpu5 25x2", "gpu2=gpu3 25x2", "gpu2=gpu6 25", "gpu3=gpu7 25", "gpu4=gpu5 25", "gpu4=gpu6 25",
                   "gpu4=gpu7 25x2", "gpu5=gpu6 25x2", "gpu5=gpu7 25", "gpu6=gpu7 25x2"}));
  QVERIFY(texts(result->findings).contains("6 NVLinks per GPU look like V100: 25 GB/s"));
  QCOMPARE(faults(result->description), QString());

  NvidiaSmiOptions cluster;
  cluster.box = boxes(2, ScaleOut::oneSwitch);
  const auto two = readNvidiaSmi(contents(kFolder + "dgx1_v100_topo.txt"), "topo.txt", cluster);
  QVERIFY2(two, qPrintable(failure(two)));
  const QStringList links = linksOf(two->description);
  QVERIFY(links.contains("box1.gpu7=box1.pcie3 16"));
  QVERIFY(links.contains("box1.nic3=box1.pcie3 12.5"));
  QVERIFY(links.contains("box1.nic3=network 12.5"));
  QCOMPARE(links.size(), 2 * (16 + 8 + 4 + 4));
  QCOMPARE(faults(two->description), QString());
}

void TestImport::smiSwitch() {
  NvidiaSmiOptions options;
  options.box = boxes(2, ScaleOut::rails);
  const auto result = readNvidiaSmi(contents(kFolder + "h100_topo.txt"), "topo.txt", options);
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  QVERIFY(links.contains("box0.gpu0=box0.nvswitch 25x18"));
  QVERIFY(links.contains("box1.gpu7=box1.nic7 50"));
  QVERIFY(links.contains("box1.nic7=rail7 50"));
  QCOMPARE(links.size(), 2 * (8 + 8 + 8));
  QVERIFY(texts(result->findings).contains("18 NVLinks per GPU look like H100 (B200 would be 50)"));
  QCOMPARE(faults(result->description), QString());

  // The legend's names choose NICs too.
  options.box.nics = {"mlx5_6", "nic1"};
  const auto some = readNvidiaSmi(contents(kFolder + "h100_topo.txt"), "topo.txt", options);
  QVERIFY2(some, qPrintable(failure(some)));
  QCOMPARE(nodesOf(some->description).filter(":nic"),
           (QStringList{"box0.nic1:nic", "box0.nic4:nic", "box1.nic1:nic", "box1.nic4:nic"}));
}

void TestImport::whatTheFileLeavesOpen() {
  // The reader tells what it took, so that it can be shown and said otherwise.
  const std::string matrix = contents(kFolder + "h100_topo.txt");
  const auto alone = readNvidiaSmi(matrix, "topo.txt", {});
  QVERIFY2(alone, qPrintable(failure(alone)));
  QVERIFY(alone->server);
  QCOMPARE(alone->server->nics.size(), 8U);
  QCOMPARE(alone->server->nics[1].device, std::string("mlx5_1"));
  QCOMPARE(alone->server->hasNvSwitch, std::optional(true));
  QVERIFY(alone->server->nvlinkBandwidth == Bandwidth(25));
  QVERIFY(!alone->server->nicBandwidth);
  ImportAnswers answers;
  answers.scaleOut = "rails";
  answers.boxes = 2;
  answers.nicBandwidth = "200Gb/s";
  answers.nvlink = "switch";
  const auto options = importOptions(answers);
  QVERIFY(options);
  const auto two = importFabric(matrix, FabricFormat::nvidiaSmi, "topo.txt", *options);
  QVERIFY2(two, qPrintable(failure(two)));
  QVERIFY(two->server->nicBandwidth == Bandwidth(25));
  QVERIFY(two->server->pcieBandwidth == Bandwidth(64));
  QVERIFY(!texts(two->findings).contains("choose switch or mesh"));
  QCOMPARE(faults(two->description), QString());
  // A file with nothing open.
  QVERIFY(choicesOf(FabricFormat::adjacency).empty());
  QVERIFY(choicesOf(FabricFormat::json).empty());
  const auto nccl = readNcclTopology(contents(kFolder + "dgx_a100.xml"), "a.xml", {});
  QVERIFY(nccl && nccl->server);
  QCOMPARE(nccl->server->nics.size(), 8U);
  QVERIFY(!nccl->server->hasNvSwitch);
}

void TestImport::answersAsTyped_data() {
  QTest::addColumn<QString>("choice");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("error");  // empty: taken
  QTest::newRow("rails") << "scale-out"
                         << "rails"
                         << "";
  QTest::newRow("ring") << "scale-out"
                        << "ring"
                        << "\"ring\" is not known";
  QTest::newRow("mesh") << "nvlink"
                        << "mesh"
                        << "";
  QTest::newRow("cable") << "nvlink"
                         << "cable"
                         << "\"cable\" is not known";
  QTest::newRow("bits") << "socket-bandwidth"
                        << "160Gb/s"
                        << "";
  QTest::newRow("fast") << "pcie-bandwidth"
                        << "fast"
                        << "fast";
}

void TestImport::answersAsTyped() {
  QFETCH(QString, choice);
  QFETCH(QString, text);
  QFETCH(QString, error);
  ImportAnswers answers;
  answers.nics = " mlx5_0, nic3 ,";
  const std::map<QString, std::string*> fields{{"scale-out", &answers.scaleOut},
                                               {"nvlink", &answers.nvlink},
                                               {"socket-bandwidth", &answers.socketBandwidth},
                                               {"pcie-bandwidth", &answers.pcieBandwidth}};
  *fields.at(choice) = text.toStdString();
  const auto options = importOptions(answers);
  QCOMPARE(static_cast<bool>(options), error.isEmpty());
  if (options) {
    QCOMPARE(options->box.nics, (std::vector<std::string>{"mlx5_0", "nic3"}));
  } else {
    QCOMPARE(QString::fromStdString(toText(options.error().where.element)), "--" + choice);
    QVERIFY2(QString::fromStdString(options.error().message).contains(error), options.error().message.c_str());
  }
}

void TestImport::smiSpacesInsteadOfTabs() {
  const QString tabs = QString::fromStdString(contents(kFolder + "dgx1_v100_topo.txt"));
  QString spaces = tabs;
  spaces.replace(QRegularExpression("[ \t]+"), QStringLiteral("   "));
  const auto a = readNvidiaSmi(tabs.toStdString(), "t");
  const auto b = readNvidiaSmi(spaces.toStdString(), "t");
  QVERIFY(a && b);
  QCOMPARE(linksOf(b->description), linksOf(a->description));
}

void TestImport::smiReading_data() {
  QTest::addColumn<int>("gpus");
  QTest::addColumn<QString>("cell");
  QTest::addColumn<int>("reading");
  QTest::addColumn<int>("linksPerGpu");
  QTest::addColumn<QString>("first");
  QTest::addColumn<QString>("finding");
  const int guess = int(NvlinkReading::guess);
  QTest::newRow("A100 box") << 8 << "NV12" << guess << 0 << "gpu0=nvswitch 25x12"
                            << "read as links to an NVSwitch";
  QTest::newRow("four A100 in a mesh") << 4 << "NV4" << guess << 0 << "gpu0=gpu1 25x4"
                                       << "read as direct links";
  QTest::newRow("ambiguous without a hint") << 4 << "NV6" << guess << 0 << "gpu0=gpu1 25x6"
                                            << "would look the same";
  QTest::newRow("V100 known") << 4 << "NV6" << guess << 6 << "gpu0=nvswitch 25x6"
                              << "links to an NVSwitch";
  QTest::newRow("said to be a switch") << 4 << "NV4" << int(NvlinkReading::nvSwitch) << 0 << "gpu0=nvswitch 25x4"
                                       << "";
  QTest::newRow("said to be a mesh") << 8 << "NV12" << int(NvlinkReading::mesh) << 0 << "gpu0=gpu1 25x12"
                                     << "";
  QTest::newRow("two GPUs") << 2 << "NV12" << guess << 0 << "gpu0=gpu1 25x12"
                            << "look like A100";
}

void TestImport::smiReading() {
  QFETCH(int, gpus);
  QFETCH(QString, cell);
  QFETCH(int, reading);
  QFETCH(int, linksPerGpu);
  QFETCH(QString, first);
  QFETCH(QString, finding);
  QString text;
  for (int i = 0; i < gpus; ++i) {
    text += QStringLiteral("\tGPU%1").arg(i);
  }
  for (int i = 0; i < gpus; ++i) {
    text += QStringLiteral("\nGPU%1").arg(i);
    for (int j = 0; j < gpus; ++j) {
      text += '\t' + (i == j ? QStringLiteral(" X ") : cell);
    }
  }
  NvidiaSmiOptions options;
  options.reading = static_cast<NvlinkReading>(reading);
  options.linksPerGpu = linksPerGpu;
  const auto result = readNvidiaSmi(text.toStdString(), "t", options);
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(linksOf(result->description).first(), first);
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
}

void TestImport::smiPcieBox() {
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\n"
      "GPU0\t X \tPIX\tSOC\tPHB\t0-7\n"
      "GPU1\tPIX\t X \tSOC\tPHB\t0-7\n"
      "GPU2\tSOC\tSOC\t X \tSOC\t8-15\n"
      "mlx5_0\tPHB\tPHB\tSOC\t X \t\n";
  const auto result = readNvidiaSmi(text, "t");
  QVERIFY2(result, qPrintable(failure(result)));
  // The host bridge above gpu0 and gpu1 has only the way to the other socket left, so it merged.
  QCOMPARE(linksOf(result->description), (QStringList{"gpu0=pcie0 16", "gpu1=pcie0 16", "gpu2=pcie0 16"}));
  NvidiaSmiOptions options;
  options.box = boxes(2, ScaleOut::oneSwitch);
  options.socketBandwidth = Bandwidth(Rational(9));
  const auto two = readNvidiaSmi(text, "t", options);
  QVERIFY2(two, qPrintable(failure(two)));
  const QStringList links = linksOf(two->description);
  QVERIFY2(links.contains("box0.gpu2=box0.hostbridge0 9"), qPrintable(links.join('\n')));
  QVERIFY(links.contains("box0.nic0=box0.hostbridge0 12.5"));
  QVERIFY(links.contains("box0.pcie0=box0.hostbridge0 16"));
  QCOMPARE(faults(two->description), QString());
}

void TestImport::smiBandwidthsAreTaken() {
  NvidiaSmiOptions options;
  options.box = boxes(2, ScaleOut::rails);
  options.linkBandwidth = Bandwidth(Rational(50));
  options.nicBandwidth = Bandwidth(Rational(100));
  options.pcieBandwidth = Bandwidth(Rational(225, 2));
  options.socketBandwidth = Bandwidth(Rational(40));
  const auto result = readNvidiaSmi(contents(kFolder + "h100_topo.txt"), "topo.txt", options);
  QVERIFY2(result, qPrintable(failure(result)));
  const QStringList links = linksOf(result->description);
  QVERIFY(links.contains("box0.gpu0=box0.nvswitch 50x18"));
  QVERIFY(links.contains("box0.gpu0=box0.nic0 100"));
  QVERIFY(links.contains("box0.nic0=rail0 100"));
  QVERIFY(!texts(result->findings).contains("is taken"));

  options.nicBandwidth = Bandwidth(Rational(0));
  QCOMPARE(readNvidiaSmi("", "t", options).error().code, ErrorCode::badUsage);
}

void TestImport::adjacencyForms_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QStringList>("nodes");
  QTest::addColumn<QStringList>("links");
  QTest::addColumn<QString>("finding");
  QTest::newRow("edge list") << R"({"compute_nodes": ["a", "b"], "nodes": ["a", "b", "s"],
      "edges": [["a","s",12.50],["s","a",12.5],["s","b","25/2"],["b","s",12.5]]})"
                             << QStringList{"a:gpu", "b:gpu", "s:switch"} << QStringList{"a=s 12.50", "s=b 25/2"} << "";
  QTest::newRow("capacities that differ") << R"({"compute_nodes": ["a","b"], "edges": [["a","b",0.1],["b","a",0.2]]})"
                                          << QStringList{"a:gpu", "b:gpu"} << QStringList{"a>b 0.1", "b>a 0.2"} << "";
  QTest::newRow("equal values in other words")
      << R"({"compute_nodes": ["a","b"], "edges": [["a","b",50],["b","a","400Gb/s"]]})" << QStringList{"a:gpu", "b:gpu"}
      << QStringList{"a=b 50"} << "";
  QTest::newRow("parallel edges pair one to one")
      << R"({"compute_nodes": ["a","b"], "edges": [["a","b",5],["a","b",5],["b","a",5]]})"
      << QStringList{"a:gpu", "b:gpu"} << QStringList{"a>b 5", "a=b 5"} << "";
  QTest::newRow("networkx node-link")
      << R"({"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": 0}, {"id": 1, "color": "red"}, {"id": 2}],
      "links": [{"capacity": 3, "source": 0, "target": 2}, {"capacity": 3, "source": 2, "target": 0},
      {"capacity": 4, "source": 1, "target": 2}, {"capacity": 4, "source": 2, "target": 1}], "compute_nodes": [0, 1]})"
      << QStringList{"0:gpu", "1:gpu", "2:switch"} << QStringList{"0=2 3", "1=2 4"} << "1 attribute";
  QTest::newRow("undirected") << R"({"directed": false, "nodes": [{"id": "a"}, {"id": "b", "kind": "nic"}, {"id": "c"}],
      "links": [{"source": "a", "target": "b", "capacity": 1.5}, {"source": "b", "target": "c", "capacity": 1.5}]})"
                              << QStringList{"a:gpu", "b:nic", "c:gpu"} << QStringList{"a=b 1.5", "b=c 1.5"} << "";
  QTest::newRow("tuples as labels") << R"({"edges": [[[0,"GPU",1],[-1,"IB",0],25],[[-1,"IB",0],[0,"GPU",1],25],
      [[0,"GPU",0],[-1,"IB",0],25],[[-1,"IB",0],[0,"GPU",0],25]]})"
                                    << QStringList{"(0, 'GPU', 1):gpu@1", "(-1, 'IB', 0):switch", "(0, 'GPU', 0):gpu@0"}
                                    << QStringList{"(0, 'GPU', 1)=(-1, 'IB', 0) 25", "(0, 'GPU', 0)=(-1, 'IB', 0) 25"}
                                    << "the nodes labelled (server, 'GPU', index) are the GPUs";
  QTest::newRow("ranks follow compute_nodes")
      << R"({"nodes": ["a", "b"], "compute_nodes": ["b", "a"], "edges": [["a","b",1],["b","a",1]]})"
      << QStringList{"a:gpu@1", "b:gpu@0"} << QStringList{"a=b 1"} << "";
  QTest::newRow("self edge") << R"({"compute_nodes": ["a","b"], "edges": [["a","a",1],["a","b",1],["b","a",1]]})"
                             << QStringList{"a:gpu", "b:gpu"} << QStringList{"a=b 1"}
                             << "left out 1 edge from a node to itself";
  QTest::newRow("exact beyond 64-bit floats")
      << R"({"compute_nodes": ["a","b"], "edges": [["a","b",0.300000000000000001],["b","a",0.300000000000000002]]})"
      << QStringList{"a:gpu", "b:gpu"} << QStringList{"a>b 0.300000000000000001", "b>a 0.300000000000000002"} << "";
  QTest::newRow("JSON matrix") << "[[0, 5, 0], [5, 0, 2.5], [0, 2.5, 0]]" << QStringList{"0:gpu", "1:gpu", "2:gpu"}
                               << QStringList{"0=1 5", "1=2 2.5"} << "every node is taken for a GPU";
  QTest::newRow("JSON matrix, named")
      << R"({"matrix": [[0,5,5],[5,0,0],[5,0,0]], "nodes": ["s","a","b"], "compute_nodes": ["a","b"]})"
      << QStringList{"s:switch", "a:gpu", "b:gpu"} << QStringList{"s=a 5", "s=b 5"} << "";
  QTest::newRow("text matrix") << "# a comment\n# compute_nodes: 0 2\n0 5 0\n5, 0, 7\n0\t7\t0\n"
                               << QStringList{"0:gpu", "1:switch", "2:gpu"} << QStringList{"0=1 5", "1=2 7"} << "";
  QTest::newRow("table with names") << ",a,b\r\na,0,5\r\nb,4,0\r\n"
                                    << QStringList{"a:gpu", "b:gpu"} << QStringList{"a>b 5", "b>a 4"} << "";
  QTest::newRow("names that hold commas")
      << "(0, 'GPU', 0) (0, 'GPU', 1)\n0 5\n5 0\n"
      << QStringList{"(0, 'GPU', 0):gpu", "(0, 'GPU', 1):gpu"} << QStringList{"(0, 'GPU', 0)=(0, 'GPU', 1) 5"} << "";
}

void TestImport::adjacencyForms() {
  QFETCH(QString, text);
  QFETCH(QStringList, nodes);
  QFETCH(QStringList, links);
  QFETCH(QString, finding);
  const auto result = readAdjacency(text.toStdString(), "x");
  QVERIFY2(result, qPrintable(failure(result)));
  QCOMPARE(nodesOf(result->description), nodes);
  QCOMPARE(linksOf(result->description), links);
  QVERIFY2(texts(result->findings).contains(finding), qPrintable(texts(result->findings)));
  if (finding.isEmpty() && !text.startsWith(',') && !text.startsWith('(')) {
    QCOMPARE(texts(result->findings), QString());
  }
}

void TestImport::adjacencyRoundTrip() {
  fabric::Description in;
  in.name = "small \"one\"";
  in.nodes = {{"g0", "gpu"}, {"sw", "switch"}, {"g1", "gpu"}};
  in.nodes[0].rank = 1;
  in.nodes[2].rank = 0;
  in.links = {{"g0", "sw", "12.5"}, {"sw", "g1", "25/3"}, {"g0", "g1", "3", false}, {"g1", "g0", "2", false}};
  const auto text = writeAdjacency(in);
  QVERIFY(text);
  const auto out = readAdjacency(*text, "x");
  QVERIFY2(out, qPrintable(failure(out)));
  QCOMPARE(out->description.name, in.name);
  QCOMPARE(nodesOf(out->description), nodesOf(in));
  QCOMPARE(linksOf(out->description), linksOf(in));
  QCOMPARE(texts(out->findings), QString());

  // Parallel links and counts merge into one capacity for each direction.
  in.links = {{"g0", "g1", "0.1"}, {"g0", "g1", "0.2"}, {"g0", "g1", "5", true, 3}};
  const auto merged = writeAdjacency(in);
  QVERIFY(merged);
  QCOMPARE(linksOf(readAdjacency(*merged, "x")->description), QStringList{"g0=g1 15.3"});
}

void TestImport::adjacencyWriteErrors_data() {
  QTest::addColumn<QString>("src");
  QTest::addColumn<QString>("bandwidth");
  QTest::addColumn<int>("count");
  QTest::addColumn<QString>("message");
  QTest::newRow("dangling") << "z"
                            << "1" << 1 << "link 0 \"z\" -> \"b\": one end of the link is not a node";
  QTest::newRow("unreadable") << "a"
                              << "fast" << 1 << "link 0 \"a\" -> \"b\": \"fast\" is not a bandwidth";
  QTest::newRow("zero") << "a"
                        << "0" << 1 << "the link has no bandwidth";
  QTest::newRow("no count") << "a"
                            << "1" << 0 << "the link has no bandwidth";
  QTest::newRow("overflow") << "a"
                            << "9000000000000000000" << 2 << "leaves the exact 64-bit range";
  QTest::newRow("long id") << QString(4097, u'x') << "1" << 1 << "node 2: its id has 4097 bytes; the format reads";
}

void TestImport::adjacencyWriteErrors() {
  QFETCH(QString, src);
  QFETCH(QString, bandwidth);
  QFETCH(int, count);
  QFETCH(QString, message);
  fabric::Description in;
  in.nodes = {{"a", "gpu"}, {"b", "gpu"}};
  in.links = {{src.toStdString(), "b", bandwidth.toStdString(), true, count}};
  if (src.size() > 1) {
    in.nodes.push_back({src.toStdString(), "gpu"});
  }
  const auto text = writeAdjacency(in);
  QVERIFY(!text);
  const QString got = QString::fromStdString(describe(text.error()));
  QVERIFY2(got.contains(message), qPrintable(got));
}

void TestImport::detect_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("format");
  QTest::newRow("native") << "a.json"
                          << R"({"name": "x", "nodes": [{"id": "a", "kind": "gpu"}], "links": []})"
                          << "json";
  QTest::newRow("native, links first") << "a"
                                       << R"({"links": [{"src": "a", "dst": "b", "bandwidth": 1}], "nodes": []})"
                                       << "json";
  QTest::newRow("native with a strange name") << "a.txt"
                                              << R"({"nodes": [{"id": "compute_nodes"}], "links": []})"
                                              << "json";
  QTest::newRow("edge list") << "a.json"
                             << R"({"compute_nodes": [], "edges": []})"
                             << "adjacency";
  QTest::newRow("edges called links") << "a.json"
                                      << R"({"nodes": ["a"], "links": [["a", "b", 1]]})"
                                      << "adjacency";
  QTest::newRow("node-link") << "a.json"
                             << R"({"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]})"
                             << "adjacency";
  QTest::newRow("matrix") << "a.json"
                          << "[[0,1],[1,0]]"
                          << "adjacency";
  QTest::newRow("csv") << "a.csv"
                       << "a b\n0 1\n1 0"
                       << "adjacency";
  QTest::newRow("numbers") << "topo"
                           << "0 1\n1 0\n"
                           << "adjacency";
  QTest::newRow("compute line") << "a.txt"
                                << "compute_nodes: GPU0 GPU1\nGPU0 GPU1\n0 1\n1 0\n"
                                << "adjacency";
  QTest::newRow("dot") << "a.txt"
                       << "strict graph { a }"
                       << "dot";
  QTest::newRow("dot by name") << "a.gv"
                               << "{}"
                               << "dot";
  QTest::newRow("xml") << "a.txt"
                       << "<system version=\"1\"/>"
                       << "nccl-xml";
  QTest::newRow("trees") << "a.xml"
                         << "<?xml version=\"1.0\"?>\n<!-- <system> -->\n<Algo nchunkspernode=\"1\">"
                         << "trees";
  QTest::newRow("smi") << "topo.txt"
                       << "\tGPU0\tGPU1\nGPU0\t X \tNV1\n"
                       << "nvidia-smi";
  QTest::newRow("smi after a prompt") << "topo.txt"
                                      << "$ nvidia-smi topo -m\n\tGPU0\tGPU1\nGPU0\t X \tNV1\n"
                                      << "nvidia-smi";
  QTest::newRow("taccl") << "topo.json"
                         << "// for 1MB\n{\"name\": \"a\", \"gpus_per_node\": 8, \"alpha\": 1}"
                         << "taccl";
  QTest::newRow("taccl of matrices") << "topo.json"
                                     << "{\"alpha\": 1, \"gpus_per_node\": 2, \"links\": [[0, 1], [1, 0]]}"
                                     << "taccl";
  QTest::newRow("fabric that keeps a topology") << "a.json"
                                                << R"({"nodes": [], "taccl": "{\"gpus_per_node\": 8, \"alpha\": 1}"})"
                                                << "json";
  QTest::newRow("byte order mark") << "a"
                                   << "\xEF\xBB\xBF{\"edges\": []}"
                                   << "adjacency";
  QTest::newRow("new .json") << "out.json"
                             << ""
                             << "json";
  QTest::newRow("new .fabric.json") << "out.fabric.json"
                                    << ""
                                    << "json";
  QTest::newRow("new .csv") << "out.csv"
                            << ""
                            << "adjacency";
  QTest::newRow("new .adj.json") << "out.adj.json"
                                 << ""
                                 << "adjacency";
  QTest::newRow("new .dot") << "out.DOT"
                            << ""
                            << "dot";
  QTest::newRow("prose") << "readme.txt"
                         << "hello there"
                         << "";
  QTest::newRow("new without ending") << "out"
                                      << ""
                                      << "";
}

void TestImport::detect() {
  QFETCH(QString, path);
  QFETCH(QString, text);
  QFETCH(QString, format);
  const auto found = detectFormat(path.toStdString(), text.toStdString());
  QCOMPARE(found ? QString::fromUtf8(toString(*found).data()) : QString(), format);
  if (found) {
    QCOMPARE(parseFabricFormat(toString(*found)), std::optional(*found));
  } else {
    QCOMPARE(found.error().code, ErrorCode::badInput);
  }
}

void TestImport::doorway() {
  ImportOptions options;
  options.box = boxes(2, ScaleOut::oddEvenPlanes);
  options.rates = LinkRates::nominal;
  const auto nccl = importFabric(contents(kFolder + "dgx_a100.xml"), FabricFormat::ncclXml, "x", options);
  QVERIFY2(nccl, qPrintable(failure(nccl)));
  QVERIFY(linksOf(nccl->description).contains("box0.gpu0=box0.nvswitch 25x12"));
  QVERIFY(linksOf(nccl->description).contains("box0.gpu0=box0.nic0 25"));  // 32 over PCIe, but the network takes 25
  for (const FabricFormat format : {FabricFormat::json, FabricFormat::adjacency}) {
    const auto text = exportFabric(nccl->description, format);
    QVERIFY(text);
    const auto again = importFabric(*text, format, "y", options);
    QVERIFY2(again, qPrintable(failure(again)));
    const auto before = fabric::Fabric::build(nccl->description);
    const auto after = fabric::Fabric::build(again->description);
    QVERIFY(before && after);
    QCOMPARE(after->gpuCount(), before->gpuCount());
    QCOMPARE(after->arcs().size(), before->arcs().size());
    for (std::size_t i = 0; i < before->arcs().size(); ++i) {
      QCOMPARE(after->arcs()[i].bandwidth, before->arcs()[i].bandwidth);
    }
  }
  for (const FabricFormat format :
       {FabricFormat::ncclXml, FabricFormat::nvidiaSmi, FabricFormat::treeXml, FabricFormat::taccl}) {
    const auto text = exportFabric(nccl->description, format);
    QVERIFY(!text);
    QCOMPARE(text.error().code, ErrorCode::badUsage);
  }
  const auto smi = importFabric(contents(kFolder + "h100_topo.txt"), FabricFormat::nvidiaSmi, "x", options);
  QVERIFY2(smi, qPrintable(failure(smi)));
  QVERIFY(linksOf(smi->description).contains("box1.nic7=plane1 50"));
  const auto trees = importFabric(
      "<Algo nchunkspernode=\"2\"><tree root=\"0\" index=\"0\" nchunks=\"2\" height=\"1\">"
      "<send src=\"0\" dst=\"1\" path=\"0,sw,1\"/></tree>"
      "<tree root=\"1\" index=\"0\" nchunks=\"2\" height=\"1\">"
      "<send src=\"1\" dst=\"0\" path=\"1,sw,0\"/></tree></Algo>",
      FabricFormat::treeXml, "x");
  QVERIFY2(trees, qPrintable(failure(trees)));
  QCOMPARE(trees->description.nodes.size(), std::size_t{3});
  QCOMPARE(trees->description.links.size(), std::size_t{4});
  QCOMPARE(trees->description.links.front().bandwidth, std::string("2"));
  QVERIFY(!trees->findings.empty());
}

void TestImport::badInput_data() {
  QTest::addColumn<QString>("message");
  const auto expected =
      QJsonDocument::fromJson(QByteArray::fromStdString(contents(kFolder + "bad/expected.json"))).object();
  QVERIFY(expected.size() > 60);
  for (auto entry = expected.begin(); entry != expected.end(); ++entry) {
    if (!entry.key().endsWith(".dot")) {
      QTest::newRow(qPrintable(entry.key())) << entry.value().toString();
    }
  }
}

void TestImport::badInput() {
  QFETCH(QString, message);
  const QString name = QTest::currentDataTag();
  QVERIFY(QFile::exists(kFolder + "bad/" + name));
  const auto result = importFabric(contents(kFolder + "bad/" + name), formatOf(name), name.toStdString());
  QCOMPARE(failure(result), message);
}

QTEST_GUILESS_MAIN(TestImport)
#include "tst_import.moc"
