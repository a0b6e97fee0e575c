// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "fabric/fabric.hpp"
#include "io/fabric_json.hpp"
#include "io/nccl_topo_xml.hpp"
#include "io/profile_json.hpp"
#include "probe/probe.hpp"
#include "probe/profile.hpp"
#include "probe/taccl_profile.hpp"
#include "threads/threads_backend.hpp"

using namespace coppice;
using namespace coppice::probe;

namespace {

/// A machine as a folder with sys, proc and etc, and what its driver answers.
class Recorded {
public:
  Recorded() {
    put("proc/sys/kernel/hostname", "box7");
    put("proc/sys/kernel/osrelease", "6.1.0");
    put("proc/sys/kernel/ostype", "Linux");
    put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 12\"\n");
  }

  [[nodiscard]] Machine read() {
    RecordedGpus source(gpus.gpus.empty() ? "" : recordGpus(gpus));
    const Tree tree(root());
    return readMachine(tree, source);
  }
  [[nodiscard]] std::string root() const { return m_folder.path().toStdString(); }

  void put(const std::string& path, const std::string& text) {
    const QString full = m_folder.filePath(QString::fromStdString(path));
    QDir().mkpath(QFileInfo(full).path());
    QFile file(full);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(text + "\n"));
  }
  /// `target` is a path below the root too.
  void link(const std::string& path, const std::string& target) {
    const QString full = m_folder.filePath(QString::fromStdString(path));
    QDir().mkpath(QFileInfo(full).path());
    QVERIFY(QFile::link(m_folder.filePath(QString::fromStdString(target)), full));
  }

  void cpus(int sockets, int coresEach, const std::string& vendor, int family, int model) {
    std::string info;
    for (int socket = 0; socket < sockets; ++socket) {
      for (int core = 0; core < coresEach; ++core) {
        const int cpu = socket * coresEach + core;
        const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        put(folder + "physical_package_id", std::to_string(socket));
        put(folder + "core_id", std::to_string(core));
        info += "processor : " + std::to_string(cpu) + "\nvendor_id\t: " + vendor +
                "\ncpu family\t: " + std::to_string(family) + "\nmodel\t\t: " + std::to_string(model) +
                "\nmodel name\t: CPU of " + vendor + "\n\n";
      }
      const std::string node = "sys/devices/system/node/node" + std::to_string(socket);
      put(node + "/cpulist", std::to_string(socket * coresEach) + "-" + std::to_string((socket + 1) * coresEach - 1));
      put(node + "/meminfo", "Node " + std::to_string(socket) + " MemTotal:       1048576 kB");
      put(node + "/distance", socket == 0 ? "10 21" : "21 10");
    }
    const std::string all = "0-" + std::to_string(sockets * coresEach - 1);
    put("proc/cpuinfo", info);
    put("sys/devices/system/cpu/online", all);
    put("proc/self/status", "Name: x\nCpus_allowed_list:\t" + all);
    put("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB");
  }

  struct Pci {
    std::string classCode;
    std::string vendor = "0x8086";
    int numa = 0;
    std::string maxSpeed = "16.0 GT/s PCIe";
    int maxWidth = 16;
    std::string speed = "16.0 GT/s PCIe";
    int width = 16;
  };
  /// The device at the end of a chain of addresses from the root bus; the ones above must be there already.
  std::string pci(const std::string& chain, const Pci& facts) {
    const std::string folder = "sys/devices/" + chain;
    put(folder + "/class", facts.classCode);
    put(folder + "/vendor", facts.vendor);
    put(folder + "/device", "0x1234");
    put(folder + "/numa_node", std::to_string(facts.numa));
    if (facts.maxWidth > 0) {
      put(folder + "/max_link_speed", facts.maxSpeed);
      put(folder + "/max_link_width", std::to_string(facts.maxWidth));
      put(folder + "/current_link_speed", facts.speed);
      put(folder + "/current_link_width", std::to_string(facts.width));
    }
    link("sys/bus/pci/devices/" + chain.substr(chain.rfind('/') + 1), folder);
    return folder;
  }
  void rdma(const std::string& name, const std::string& pciFolder, const std::string& rate, const std::string& state) {
    const std::string folder = pciFolder + "/infiniband/" + name;
    put(folder + "/ports/1/rate", rate);
    put(folder + "/ports/1/state", state);
    put(folder + "/ports/1/link_layer", "InfiniBand");
    put(folder + "/fw_ver", "20.31.1014");
    link(folder + "/device", pciFolder);
    link("sys/class/infiniband/" + name, folder);
  }
  void ethernet(const std::string& name, const std::string& pciFolder, const std::string& speed,
                const std::string& state) {
    const std::string folder = pciFolder + "/net/" + name;
    put(folder + "/operstate", state);
    if (!speed.empty()) {
      put(folder + "/speed", speed);
    }
    link(folder + "/device", pciFolder);
    link("sys/class/net/" + name, folder);
  }
  Gpu& gpu(const std::string& address, int major, int minor) {
    Gpu one;
    one.index = static_cast<int>(gpus.gpus.size());
    one.name = "NVIDIA Test";
    one.address = address;
    one.computeMajor = major;
    one.computeMinor = minor;
    one.memoryBytes = std::int64_t{80} << 30;
    one.freeBytes = std::int64_t{79} << 30;
    gpus.gpus.push_back(one);
    return gpus.gpus.back();
  }

  GpuAnswer gpus;

private:
  QTemporaryDir m_folder;
};

std::string hex(int number) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%02x", number);
  return text.data();
}

/// 8 GPUs with NVLinks to switches; each with a NIC below a PCIe switch of their own; two sockets.
void makeDgx(Recorded& machine, int linksEach, int links7) {
  machine.cpus(2, 4, "AuthenticAMD", 25, 1);
  machine.gpus.driver = "535.161.08";
  machine.gpus.cudaDriver = "12.2";
  for (int i = 0; i < 8; ++i) {
    const std::string bus = hex(0x10 + 0x10 * i).substr(0, 1);
    const int numa = i / 4;
    const std::string domain = "0000:" + bus;
    const std::string top = "pci0000:" + bus + "0/" + domain + "0:01.1";
    const Recorded::Pci bridge = {.classCode = "0x060400", .numa = numa};
    machine.pci(top, bridge);
    machine.pci(top + "/" + domain + "1:00.0", bridge);
    const std::string down = top + "/" + domain + "1:00.0/" + domain + "2:0";
    machine.pci(down + "0.0", bridge);
    machine.pci(down + "1.0", bridge);
    // Idle GPUs lower their speed.
    machine.pci(down + "0.0/" + domain + "3:00.0",
                {.classCode = "0x030200", .vendor = "0x10de", .numa = numa, .speed = "2.5 GT/s PCIe"});
    const std::string card =
        machine.pci(down + "1.0/" + domain + "4:00.0", {.classCode = "0x020700", .vendor = "0x15b3", .numa = numa});
    machine.rdma("mlx5_" + std::to_string(i), card, "200 Gb/sec (4X HDR)", "4: ACTIVE");
    Gpu& gpu = machine.gpu("00000000:" + bus + "3:00.0", 8, 0);
    for (int link = 0; link < linksEach; ++link) {
      gpu.links.push_back({.index = link,
                           .isUp = i != 7 || link < links7,
                           .version = 4,
                           .remote = RemoteKind::nvSwitch,
                           .remoteAddress = "0000:c" + std::to_string(link % 6) + ":00.0"});
    }
  }
}

std::string findingAt(const Machine& machine, const std::string& element) {
  for (const Finding& finding : machine.findings) {
    if (toText(finding.where.element).starts_with(element)) {
      return finding.text;
    }
  }
  return {};
}

const fabric::LinkDescription* findLink(const fabric::Description& description, const std::string& a,
                                        const std::string& b) {
  for (const fabric::LinkDescription& link : description.links) {
    if ((link.src == a && link.dst == b) || (link.src == b && link.dst == a)) {
      return &link;
    }
  }
  return nullptr;
}

}  // namespace

class ExecutorProbeTest : public QObject {
  Q_OBJECT

private slots:
  void addresses();
  void cpuLists();
  void staysBelowRoot();
  void dgx();
  void missingNvlink();
  void pairs();
  void narrowSlot();
  void twoSockets();
  void cloudMachine();
  void groupLimits();
  void noDriver();
  void recordings();
  void emptyRoot();
  void thisMachine();
  void fits();
  void fitRefuses();
  void passes();
  void passesAdditions();
  void passesTogether();
};

void ExecutorProbeTest::addresses() {
  QCOMPARE(normalAddress("00000000:3B:00.0"), std::string("0000:3b:00.0"));
  QCOMPARE(normalAddress("0000:3b:00.1"), std::string("0000:3b:00.1"));
  QCOMPARE(normalAddress("00010000:3b:1f.7"), std::string("10000:3b:1f.7"));
  for (const char* text : {"", "3b:00.0", "0000:3b:00", "0000:3b:00.0 ", "pci0000:00", "0000:3b:00.0/../x"}) {
    QCOMPARE(normalAddress(text), std::string());
  }
}

void ExecutorProbeTest::cpuLists() {
  QCOMPARE(parseCpuList("0-2,8").value(), (std::vector<int>{0, 1, 2, 8}));
  QCOMPARE(parseCpuList("").value(), std::vector<int>());
  for (const char* text : {"a", "3-1", "1-", "-1", "1;2", "0-99999999", "0-65536"}) {
    QVERIFY2(!parseCpuList(text), text);
  }
}

void ExecutorProbeTest::staysBelowRoot() {
  Recorded machine;
  QVERIFY(QFile::link("/etc/passwd", QString::fromStdString(machine.root() + "/proc/cpuinfo")));
  QVERIFY(QDir().mkpath(QString::fromStdString(machine.root() + "/proc/meminfo")));
  const Tree tree(machine.root());
  QVERIFY(!tree.text("/proc/cpuinfo"));
  QVERIFY(!tree.text("/proc/meminfo"));  // a folder
  QVERIFY(!tree.text("/../../etc/passwd"));
  QCOMPARE(tree.text("/proc/sys/kernel/hostname").value(), std::string("box7"));
}

void ExecutorProbeTest::dgx() {
  Recorded recorded;
  makeDgx(recorded, 12, 12);
  const Machine machine = recorded.read();
  QCOMPARE(machine.host, std::string("box7"));
  QCOMPARE(machine.distribution, std::string("Some Linux 12"));
  QCOMPARE(machine.processor.sockets, 2);
  QCOMPARE(machine.processor.cores, 8);
  QCOMPARE(machine.numa.size(), 2U);
  QCOMPARE(machine.numa[1].cpus, (std::vector<int>{4, 5, 6, 7}));
  QCOMPARE(machine.gpus.size(), 8U);
  QCOMPARE(machine.nics.size(), 8U);
  QCOMPARE(machine.nics[3].megabitsPerSecond, 200000);
  QCOMPARE(machine.nics[3].state, std::string("active"));
  QCOMPARE(machine.software.at("nvidia_driver"), std::string("535.161.08"));
  QVERIFY2(machine.findings.empty(), machine.findings.empty() ? "" : describe(machine.findings.front()).c_str());
  // An idle link counts with what its ends are able to.
  const PciDevice* gpu = machine.findPci("0000:13:00.0");
  QVERIFY(gpu != nullptr);
  QCOMPARE(gpu->linkSpeed, std::string("16.0 GT/s PCIe"));
  QCOMPARE(gpu->linkWidth, 16);
  QCOMPARE(gpu->above, std::string("0000:11:00.0"));

  const auto drawn = drawFabric(machine);
  QVERIFY2(drawn.hasValue(), drawn ? "" : describe(drawn.error()).c_str());
  const auto fabric = fabric::Fabric::build(drawn->description);
  QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
  QCOMPARE(fabric->gpuCount(), 8);
  const auto* nvlink = findLink(drawn->description, "gpu0", "nvswitch");
  QVERIFY(nvlink != nullptr);
  QCOMPARE(nvlink->count, 12);
  QCOMPARE(nvlink->bandwidth, std::string("25"));
  QCOMPARE(nvlink->extra, std::string(R"({"kind":"nvlink","basis":"nominal"})"));
  const auto* pcie = findLink(drawn->description, "gpu0", "pci-0000:11:00.0");
  QVERIFY(pcie != nullptr);
  QCOMPARE(pcie->bandwidth, std::string("32"));
  QCOMPARE(pcie->extra, std::string(R"({"kind":"pcie","basis":"nominal"})"));
  const auto* cpus = findLink(drawn->description, "cpu0", "cpu1");
  QVERIFY(cpus != nullptr);
  QCOMPARE(cpus->extra, std::string(R"({"kind":"cpu","basis":"prior"})"));
  QVERIFY(findLink(drawn->description, "nic7", "pci-0000:81:00.0") != nullptr);
  // What the designer opens.
  const auto again = io::readFabricJson(io::writeFabricJson(drawn->description));
  QVERIFY(again.hasValue());
  QCOMPARE(again->links.size(), drawn->description.links.size());
  // Two such boxes on rails, by the importer.
  const auto two =
      io::readNcclTopology(*ncclTopology(machine), "box", {.box = {.count = 2, .scaleOut = io::ScaleOut::rails}});
  QVERIFY(two.hasValue());
  QCOMPARE(fabric::Fabric::build(two->description)->gpuCount(), 16);
}

void ExecutorProbeTest::missingNvlink() {
  Recorded recorded;
  makeDgx(recorded, 12, 11);
  const Machine machine = recorded.read();
  QCOMPARE(findingAt(machine, "GPU 7"), std::string("11 NVLinks are up, 12 on its equals; down: 11"));
  QCOMPARE(findingAt(machine, "GPU 6"), std::string());
  QCOMPARE(findLink(drawFabric(machine)->description, "gpu7", "nvswitch")->count, 11);
  QVERIFY(machineText(machine).find("11 of 12 NVLinks up") != std::string::npos);
}

/// Two GPUs joined by a bridge of four NVLinks, one of them down at both ends.
void ExecutorProbeTest::pairs() {
  Recorded recorded;
  recorded.cpus(1, 4, "GenuineIntel", 6, 0x8f);
  for (const char* bus : {"3b", "5e"}) {
    const std::string root = std::string("pci0000:") + bus + "/0000:" + bus + ":01.0";
    recorded.pci(root, {.classCode = "0x060400"});
    recorded.pci(root + "/0000:" + hex(std::stoi(bus, nullptr, 16) + 1) + ":00.0",
                 {.classCode = "0x030200", .vendor = "0x10de"});
  }
  for (int i = 0; i < 2; ++i) {
    Gpu& gpu = recorded.gpu(i == 0 ? "0000:3c:00.0" : "0000:5f:00.0", 8, 0);
    for (int link = 0; link < 4; ++link) {
      gpu.links.push_back({.index = link,
                           .isUp = link != 2,
                           .remote = RemoteKind::gpu,
                           .remoteAddress = i == 0 ? "0000:5f:00.0" : "0000:3c:00.0"});
    }
  }
  const Machine machine = recorded.read();
  const auto drawn = drawFabric(machine, Rates::prior);
  QVERIFY2(drawn.hasValue(), drawn ? "" : describe(drawn.error()).c_str());
  const auto* link = findLink(drawn->description, "gpu0", "gpu1");
  QVERIFY(link != nullptr);
  QCOMPARE(link->count, 3);
  QCOMPARE(link->bandwidth, std::string("20"));
  QCOMPARE(link->extra, std::string(R"({"kind":"nvlink","basis":"prior"})"));
  QVERIFY(findingAt(machine, "GPU 0").find("down") != std::string::npos);
}

void ExecutorProbeTest::narrowSlot() {
  Recorded recorded;
  recorded.cpus(1, 4, "GenuineIntel", 6, 0x8f);
  const Recorded::Pci port = {.classCode = "0x060400"};
  const Recorded::Pci narrowPort = {.classCode = "0x060400", .maxWidth = 8, .width = 8};
  Recorded::Pci gpu = {.classCode = "0x030200", .vendor = "0x10de"};
  recorded.pci("pci0000:10/0000:10:01.0", port);
  gpu.width = 8;  // trained with half its lanes
  recorded.pci("pci0000:10/0000:10:01.0/0000:11:00.0", gpu);
  recorded.pci("pci0000:20/0000:20:01.0", narrowPort);
  recorded.pci("pci0000:20/0000:20:01.0/0000:21:00.0", gpu);
  recorded.gpu("0000:11:00.0", 8, 9);
  recorded.gpu("0000:21:00.0", 8, 9);
  const Machine machine = recorded.read();
  QCOMPARE(findingAt(machine, "GPU 0"), std::string("its PCIe link runs at x8, both ends support x16"));
  QCOMPARE(findingAt(machine, "GPU 1"), std::string("its slot has x8, the device supports x16"));
  const auto drawn = drawFabric(machine);
  QVERIFY2(drawn.hasValue(), drawn ? "" : describe(drawn.error()).c_str());
  QCOMPARE(findLink(drawn->description, "gpu0", "cpu0")->bandwidth, std::string("16"));
  QCOMPARE(findLink(drawn->description, "gpu1", "cpu0")->bandwidth, std::string("16"));
}

/// PCIe only, a GPU at each socket, an Ethernet card that is up and one that is not.
void ExecutorProbeTest::twoSockets() {
  Recorded recorded;
  recorded.cpus(2, 2, "GenuineIntel", 6, 0x6a);
  for (int socket = 0; socket < 2; ++socket) {
    const std::string bus = socket == 0 ? "10" : "90";
    const std::string root = "pci0000:" + bus + "/0000:" + bus + ":01.0";
    recorded.pci(root, {.classCode = "0x060400", .numa = socket});
    const std::string address = "0000:" + std::string(socket == 0 ? "11" : "91") + ":00.0";
    recorded.pci(root + "/" + address, {.classCode = "0x030200", .vendor = "0x10de", .numa = socket});
    recorded.gpu(address, 7, 5);
  }
  recorded.pci("pci0000:10/0000:10:02.0", {.classCode = "0x060400"});
  const std::string card = recorded.pci("pci0000:10/0000:10:02.0/0000:12:00.0", {.classCode = "0x020000"});
  recorded.ethernet("ens1f0", card, "100000", "up");
  const std::string other = recorded.pci("pci0000:10/0000:10:02.0/0000:12:00.1", {.classCode = "0x020000"});
  recorded.ethernet("ens1f1", other, "", "down");
  const Machine machine = recorded.read();
  QCOMPARE(machine.nics.size(), 2U);
  const auto drawn = drawFabric(machine);
  QVERIFY2(drawn.hasValue(), drawn ? "" : describe(drawn.error()).c_str());
  QVERIFY(fabric::Fabric::build(drawn->description).hasValue());
  QVERIFY(findLink(drawn->description, "gpu0", "cpu0") != nullptr);
  QVERIFY(findLink(drawn->description, "gpu1", "cpu1") != nullptr);
  QCOMPARE(findLink(drawn->description, "cpu0", "cpu1")->bandwidth, std::string("10"));
  int nics = 0;
  for (const fabric::NodeDescription& node : drawn->description.nodes) {
    nics += node.kind == "nic" ? 1 : 0;
  }
  QCOMPARE(nics, 1);
}

void ExecutorProbeTest::cloudMachine() {
  Recorded recorded;
  recorded.cpus(1, 2, "AuthenticAMD", 26, 2);
  const std::string card =
      recorded.pci("pci0000:00/0000:00:03.0", {.classCode = "0x020000", .vendor = "0x1af4", .maxWidth = 0});
  recorded.ethernet("eth0", card, "-1", "up");
  const Machine machine = recorded.read();
  QVERIFY(machine.gpus.empty());
  QCOMPARE(machine.nics.size(), 1U);
  QCOMPARE(machine.nics[0].megabitsPerSecond, 0);
  std::string all;
  for (const Unreadable& entry : machine.unreadable) {
    all += entry.what + "; ";
  }
  QVERIFY2(all.find("rate of NIC eth0") != std::string::npos, all.c_str());
  QVERIFY2(all.find("GPUs through NVML") != std::string::npos, all.c_str());
  const auto drawn = drawFabric(machine);
  QVERIFY(!drawn.hasValue());
  QCOMPARE(drawn.error().code, ErrorCode::infeasible);
  const auto json = QJsonDocument::fromJson(QByteArray::fromStdString(machineJson(machine))).object();
  QCOMPARE(json["t"].toString(), QString("probe"));
  QVERIFY(json["fabric"].isNull());
  QVERIFY(!json["fabric_reason"].toString().isEmpty());
  QVERIFY(json["machine"].toObject()["limits"].toObject()["usable_cores"].toInt() == 2);
}

void ExecutorProbeTest::groupLimits() {
  Recorded recorded;
  recorded.cpus(1, 8, "AuthenticAMD", 25, 1);
  recorded.put("proc/self/cgroup", "0::/a/b");
  recorded.put("sys/fs/cgroup/a/cpu.max", "250000 100000");
  recorded.put("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  recorded.put("sys/fs/cgroup/a/b/memory.max", "1073741824");
  recorded.put("sys/fs/cgroup/a/memory.max", "max");
  Machine machine = recorded.read();
  QCOMPARE(machine.limits.quotaCores.value(), 2.5);
  QCOMPARE(machine.limits.memoryBytes.value(), std::int64_t{1} << 30);
  QCOMPARE(machine.limits.usableCores, 2);
  recorded.put("proc/self/cgroup", "4:memory:/m\n1:cpu,cpuacct:/c");
  recorded.put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1");
  recorded.put("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712");
  recorded.put("proc/self/status", "Cpus_allowed_list:\t1,3-5");
  machine = recorded.read();
  QVERIFY(!machine.limits.quotaCores);
  QVERIFY(!machine.limits.memoryBytes);
  QCOMPARE(machine.limits.affinity, (std::vector<int>{1, 3, 4, 5}));
  QCOMPARE(machine.limits.usableCores, 4);
}

void ExecutorProbeTest::noDriver() {
  Recorded recorded;
  recorded.cpus(1, 2, "GenuineIntel", 6, 0x8f);
  recorded.pci("pci0000:10/0000:10:01.0", {.classCode = "0x060400"});
  recorded.pci("pci0000:10/0000:10:01.0/0000:11:00.0", {.classCode = "0x030200", .vendor = "0x10de"});
  const Machine machine = recorded.read();
  QCOMPARE(findingAt(machine, "PCI 0000:11:00.0"), std::string("an NVIDIA GPU is there, but no driver answers for it"));
}

void ExecutorProbeTest::recordings() {
  Recorded recorded;
  makeDgx(recorded, 18, 3);
  const std::string text = recordGpus(recorded.gpus);
  const auto answer = RecordedGpus(text).read();
  QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
  QCOMPARE(recordGpus(*answer), [&] {
    GpuAnswer normal = recorded.gpus;
    for (Gpu& gpu : normal.gpus) {
      gpu.address = normalAddress(gpu.address);
    }
    return recordGpus(normal);
  }());
  for (const char* bad :
       {"{", "[]", "{\"gpus\":3}", "{\"gpus\":[{}]}", "{\"gpus\":[{\"compute\":[9]}]}",
        "{\"gpus\":[{\"compute\":[9,0],\"nvlinks\":[{}]}]}", "{\"gpus\":[{\"compute\":[\"a\",0]}]}"}) {
    QVERIFY2(!RecordedGpus(bad).read(), bad);
  }
}

/// A machine that says nothing at all.
void ExecutorProbeTest::emptyRoot() {
  const QTemporaryDir folder;
  RecordedGpus source("");
  const Tree tree(folder.path().toStdString());
  const Machine machine = readMachine(tree, source);
  QVERIFY(machine.unreadable.size() >= 4);
  QVERIFY(machine.limits.usableCores >= 1);
  QVERIFY(!machineText(machine).empty());
  QVERIFY(!QJsonDocument::fromJson(QByteArray::fromStdString(machineJson(machine))).isNull());
}

void ExecutorProbeTest::thisMachine() {
  NvmlLibrary source;
  const Tree tree("/");
  Machine machine = readMachine(tree, source);
  readSoftware(machine);
  QVERIFY(machine.memoryBytes > 0);
  QVERIFY(machine.processor.threads >= 1);
  QVERIFY(machine.software.at("libc").starts_with("glibc "));
  QVERIFY(!QJsonDocument::fromJson(QByteArray::fromStdString(machineJson(machine))).isNull());
}

/// Made from known numbers, with the noise of a clock.
void ExecutorProbeTest::fits() {
  for (const double alpha : {0.0, 2e-6, 30e-6}) {
    for (const double beta : {1.0 / 25e9, 1.0 / 3e9}) {
      std::vector<Point> points;
      int sign = 1;
      for (const int hops : {1, 2, 4, 8, 16}) {
        for (std::int64_t bytes = 1024; bytes <= std::int64_t{64} << 20; bytes *= 8) {
          const double seconds = 5e-6 + hops * (alpha + beta * static_cast<double>(bytes));
          points.push_back({.hops = hops, .bytes = bytes, .seconds = seconds * (1 + 0.01 * sign)});
          sign = -sign;
        }
      }
      const auto fit = fitAlphaBeta(points);
      QVERIFY(fit.hasValue());
      QVERIFY2(std::abs(fit->beta / beta - 1) < 0.02, std::to_string(1e-9 / fit->beta).c_str());
      QVERIFY2(std::abs(fit->alpha - alpha) < 0.5e-6, std::to_string(fit->alpha * 1e6).c_str());
      QVERIFY(fit->residual > 0.005 && fit->residual < 0.02);
    }
  }
}

void ExecutorProbeTest::fitRefuses() {
  QVERIFY(!fitAlphaBeta({}));
  QVERIFY(!fitAlphaBeta({{1, 1000, 1e-6}, {1, 1000, 1e-6}, {1, 1000, 1e-6}, {1, 1000, 1e-6}}));
  QVERIFY(!fitAlphaBeta({{1, 1000, 3e-6}, {1, 100000, 2e-6}, {2, 1000, 6e-6}, {2, 100000, 1e-6}}));  // faster with more
  QVERIFY(!fitAlphaBeta({{1, 1000, 0}, {1, 100000, 2e-6}, {2, 1000, 6e-6}}));
  QVERIFY(!fitAlphaBeta({{1, 1000, std::nan("")}, {1, 100000, 2e-6}, {2, 1000, 6e-6}}));
}

/// The whole way over the threads backend, and the fabric that comes of it.
void ExecutorProbeTest::passes() {
  auto backend = executor::threadsBackend().create({.ranks = 3, .workers = 2});
  QVERIFY(backend.hasValue());
  const auto pairs = profileRanks(
      **backend, {.ranks = 3, .firstBytes = 1 << 12, .lastBytes = 1 << 24, .hops = {1, 2, 5}, .repeats = 5});
  if (!pairs) {
    // A machine under load may give times that no line fits; that must be said, not drawn.
    QVERIFY2(pairs.error().code == ErrorCode::infeasible, describe(pairs.error()).c_str());
    QSKIP("skipped: needs a quieter machine");
  }
  QCOMPARE(pairs->size(), 6U);
  const auto fabric = fabric::Fabric::build(profileFabric(*pairs, 3, "p"));
  QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
  QCOMPARE(fabric->gpuCount(), 3);
  QCOMPARE(fabric->arcs().size(), 6U);
  const Profile profile{.ranks = 3, .pairs = *pairs};
  QVERIFY(!profileText(profile, (*backend)->info()).empty());
  const auto json = QJsonDocument::fromJson(QByteArray::fromStdString(profileJson(profile, (*backend)->info())));
  QCOMPARE(json.object()["links"].toArray().size(), 6);
  QVERIFY(!json.object().contains("together"));
  QVERIFY(!json.object().contains("addition"));
}

/// Messages that are added: how much longer they take, written, read again and fitted again; and the backend runs them.
void ExecutorProbeTest::passesAdditions() {
  const auto pairOf = [](int source, int target, double secondsPerByte) {
    std::vector<Point> points;
    for (const int hops : {1, 2, 8}) {
      for (const std::int64_t bytes : {4096, 65536, 1 << 20}) {
        points.push_back({hops, bytes, 5e-6 + hops * (1e-6 + static_cast<double>(bytes) * secondsPerByte)});
      }
    }
    return PairProfile{source, target, *fitAlphaBeta(points), points};
  };
  Profile profile{.ranks = 3};
  for (int source = 0; source < 3; ++source) {
    profile.pairs.push_back(pairOf(source, (source + 1) % 3, 1e-10));
  }
  QVERIFY(!additionSecondsPerByte(profile));
  // 30 and 50 ps longer, and one that noise made shorter.
  profile.additions = {pairOf(0, 1, 1.3e-10), pairOf(1, 2, 1.5e-10), pairOf(2, 0, 0.9e-10)};
  const auto seconds = additionSecondsPerByte(profile);
  QVERIFY(seconds && std::abs(*seconds - 30e-12) < 1e-14);
  const executor::BackendInfo info{.name = "threads"};
  QVERIFY(profileText(profile, info).find("adding (float32): 30 ps per byte") != std::string::npos);
  const std::string text = profileJson(profile, info);
  const auto again = readProfile(text);
  QVERIFY2(again.hasValue(), again ? "" : describe(again.error()).c_str());
  QCOMPARE(again->additions.size(), std::size_t{3});
  QVERIFY(std::abs(*additionSecondsPerByte(*again) - 30e-12) < 1e-14);
  const auto read = io::readProfileJson(text, "p.json");
  QVERIFY(read && std::abs(read->additionTime.count() - 30e-6) < 1e-9);

  auto backend = executor::threadsBackend().create({.ranks = 2, .workers = 2});
  QVERIFY(backend.hasValue());
  const auto measured = profileAdditions(
      **backend, {.ranks = 2, .firstBytes = 1 << 12, .lastBytes = 1 << 20, .hops = {1, 3}, .repeats = 3});
  QVERIFY(measured ? measured->size() == 2 : measured.error().code == ErrorCode::infeasible);
}

/// All ranks at once: what one message costs then, written, read again, and handed to the simulator.
void ExecutorProbeTest::passesTogether() {
  const int ranks = 4;
  std::vector<Point> points;
  // 4 messages of 0.5 us and 1 ns per 10 bytes in each round, and 20 us for the run.
  for (const int rounds : {1, 2, 8}) {
    for (const std::int64_t bytes : {64, 4096, 262144}) {
      points.push_back({rounds, bytes, 20e-6 + rounds * ranks * (0.5e-6 + static_cast<double>(bytes) * 1e-10)});
    }
  }
  const auto fit = fitTogether(points, ranks);
  QVERIFY(fit.hasValue());
  QVERIFY(std::abs(fit->alpha - 0.5e-6) < 1e-9);
  QVERIFY(std::abs(fit->beta - 1e-10) < 1e-13);
  const GroupProfile group{ranks, *fit, points};
  const std::vector<Point> ofPair{{1, 1000, 1.1e-6}, {1, 100000, 11e-6}, {2, 1000, 2.2e-6}, {2, 100000, 22e-6}};
  const std::vector<PairProfile> pairs{{0, 1, *fitAlphaBeta(ofPair), ofPair}};
  const executor::BackendInfo info{.name = "threads"};
  const std::string text = profileJson({ranks, pairs, group}, info);
  QVERIFY(profileText({ranks, pairs, group}, info).find("next") != std::string::npos);
  const auto read = readProfile(text);
  QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());
  QCOMPARE(read->ranks, ranks);
  QVERIFY(read->together && read->together->points.size() == points.size());
  const auto costs = io::readProfileJson(text, "p.json");
  QVERIFY(costs.hasValue());
  QVERIFY(costs->together);
  QVERIFY(std::abs(costs->together->latency.count() - 0.5) < 1e-3);
  QVERIFY(std::abs(costs->together->microsecondsPerByte - 1e-4) < 1e-7);
  // Without it, the pairs count.
  const auto alone = io::readProfileJson(profileJson({ranks, pairs}, info), "p.json");
  QVERIFY(alone.hasValue() && !alone->together);
  QVERIFY(std::abs(alone->pairs.front().bandwidth.gigabytesPerSecond() - 10) < 0.1);
  // The backend runs it.
  auto backend = executor::threadsBackend().create({.ranks = ranks, .workers = 2});
  QVERIFY(backend.hasValue());
  const auto measured =
      profileTogether(**backend, {.ranks = ranks, .lastBytes = 1 << 16, .hops = {1, 3}, .repeats = 3});
  QVERIFY(measured.hasValue() || measured.error().code == ErrorCode::infeasible);
}

QTEST_GUILESS_MAIN(ExecutorProbeTest)
#include "tst_executor_probe.moc"
