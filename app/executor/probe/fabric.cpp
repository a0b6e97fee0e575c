// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "io/nccl_topo_xml.hpp"
#include "probe/probe.hpp"

namespace coppice::probe {
namespace {

/// "pcie" generations by what NVML counts, as sysfs words.
std::string speedOfGeneration(int generation) {
  switch (generation) {
    case 1:
      return "2.5 GT/s PCIe";
    case 2:
      return "5.0 GT/s PCIe";
    case 3:
      return "8.0 GT/s PCIe";
    case 4:
      return "16.0 GT/s PCIe";
    case 5:
      return "32.0 GT/s PCIe";
    case 6:
      return "64.0 GT/s PCIe";
    default:
      return {};
  }
}

/// The ports that carry a collective: active RDMA ports, or Ethernet that is up where there is no RDMA device.
std::vector<const Nic*> usableNics(const Machine& machine) {
  std::vector<const Nic*> nics;
  const bool hasRdma = std::any_of(machine.nics.begin(), machine.nics.end(), [](const Nic& nic) { return nic.isRdma; });
  for (const Nic& nic : machine.nics) {
    const bool isUp = nic.state == "active" || nic.state == "up";
    if (nic.isRdma == hasRdma && isUp && nic.megabitsPerSecond > 0) {
      nics.push_back(&nic);
    }
  }
  return nics;
}

class TopologyWriter {
public:
  explicit TopologyWriter(const Machine& machine) : m_machine(machine) {}

  std::string run() {
    m_system = m_document.append_child("system");
    m_system.append_attribute("version") = 1;
    if (!m_machine.host.empty()) {
      m_system.append_attribute("name") = m_machine.host.c_str();
    }
    for (const NumaNode& node : m_machine.numa) {
      addCpu(node.id);
    }
    if (m_machine.numa.empty()) {
      addCpu(0);
    }
    for (const Gpu& gpu : m_machine.gpus) {
      if (!gpu.address.empty()) {
        addGpu(gpu);
      }
    }
    int number = 0;
    for (const Nic* nic : usableNics(m_machine)) {
      addNic(*nic, number++);
    }
    std::ostringstream text;
    m_document.save(text, "  ", pugi::format_indent | pugi::format_no_declaration);
    return text.str();
  }

private:
  void addCpu(int id) {
    pugi::xml_node cpu = m_system.append_child("cpu");
    cpu.append_attribute("numaid") = id;
    const Processor& processor = m_machine.processor;
    if (!processor.vendor.empty()) {
      cpu.append_attribute("arch") = "x86_64";
      cpu.append_attribute("vendor") = processor.vendor.c_str();
      cpu.append_attribute("familyid") = processor.family;
      cpu.append_attribute("modelid") = processor.modelNumber;
    }
    m_cpus.emplace(id, cpu);
  }

  /// The element that a PCI device hangs on: a switch, made with all above it, or the CPU.
  pugi::xml_node above(const PciDevice* device) {
    if (device != nullptr && !device->above.empty()) {
      if (const PciDevice* bridge = m_machine.findPci(device->above)) {
        return element(*bridge);
      }
    }
    const auto found = m_cpus.find(device == nullptr ? -1 : device->numaNode);
    return found == m_cpus.end() ? m_cpus.begin()->second : found->second;
  }

  pugi::xml_node element(const PciDevice& device) {
    if (const auto known = m_elements.find(device.address); known != m_elements.end()) {
      return known->second;
    }
    pugi::xml_node pci = above(&device).append_child("pci");
    pci.append_attribute("busid") = device.address.c_str();
    pci.append_attribute("class") = device.classCode.substr(0, 8).c_str();
    if (!device.linkSpeed.empty()) {
      pci.append_attribute("link_speed") = device.linkSpeed.c_str();
    }
    if (device.linkWidth > 0) {
      pci.append_attribute("link_width") = device.linkWidth;
    }
    m_elements.emplace(device.address, pci);
    return pci;
  }

  void addGpu(const Gpu& gpu) {
    pugi::xml_node pci;
    if (const PciDevice* device = m_machine.findPci(gpu.address)) {
      pci = element(*device);
    } else {
      pci = above(nullptr).append_child("pci");
      pci.append_attribute("busid") = gpu.address.c_str();
      m_elements.emplace(gpu.address, pci);
    }
    if (std::string_view(pci.attribute("class").value()).empty()) {
      pci.remove_attribute("class");
      pci.append_attribute("class") = "0x030200";
    }
    // Where sysfs says nothing, NVML may.
    if (!pci.attribute("link_speed") && !speedOfGeneration(gpu.pcieGeneration).empty()) {
      pci.append_attribute("link_speed") = speedOfGeneration(gpu.pcieGeneration).c_str();
    }
    if (!pci.attribute("link_width") && gpu.pcieWidth > 0) {
      pci.append_attribute("link_width") = gpu.pcieWidth;
    }
    if (pci.child("gpu")) {
      return;  // two entries of one address: MIG instances
    }
    pugi::xml_node element = pci.append_child("gpu");
    element.append_attribute("dev") = gpu.index;
    element.append_attribute("sm") = gpu.computeMajor * 10 + gpu.computeMinor;
    std::map<std::pair<std::string, std::string>, int> counts;  // (target, class): links
    for (const NvLink& link : gpu.links) {
      if (!link.isUp) {
        continue;
      }
      const bool isGpu = std::any_of(m_machine.gpus.begin(), m_machine.gpus.end(),
                                     [&](const Gpu& peer) { return peer.address == link.remoteAddress; });
      // A remote that the driver does not name is a switch in every machine that has been sold with that driver.
      const RemoteKind kind =
          link.remote == RemoteKind::unknown ? (isGpu ? RemoteKind::gpu : RemoteKind::nvSwitch) : link.remote;
      const char* const code = kind == RemoteKind::gpu ? "0x030200" : kind == RemoteKind::cpu ? "0x068001" : "0x068000";
      ++counts[{link.remoteAddress.empty() ? "fffffff:ffff:ff" : link.remoteAddress, code}];
    }
    for (const auto& [target, count] : counts) {
      pugi::xml_node line = element.append_child("nvlink");
      line.append_attribute("target") = target.first.c_str();
      line.append_attribute("count") = count;
      line.append_attribute("tclass") = target.second.c_str();
    }
  }

  void addNic(const Nic& nic, int number) {
    const PciDevice* const device = m_machine.findPci(nic.address);
    pugi::xml_node pci = device == nullptr ? above(nullptr) : element(*device);
    if (device != nullptr && std::string_view(pci.attribute("class").value()).empty()) {
      pci.attribute("class").set_value("0x020000");
    }
    pugi::xml_node card = pci.child("nic");
    if (!card) {
      card = pci.append_child("nic");
    }
    pugi::xml_node net = card.append_child("net");
    net.append_attribute("name") = nic.name.c_str();
    net.append_attribute("dev") = number;
    net.append_attribute("speed") = static_cast<long long>(nic.megabitsPerSecond);
    net.append_attribute("port") = nic.port;
  }

  const Machine& m_machine;
  pugi::xml_document m_document;
  pugi::xml_node m_system;
  std::map<int, pugi::xml_node> m_cpus;
  std::map<std::string, pugi::xml_node> m_elements;
};

bool isCpu(const std::string& id) {
  return id.starts_with("cpu");
}
bool isGpuLike(const std::string& id) {
  return id.starts_with("gpu") || id == "nvswitch";
}

}  // namespace

Result<std::string> ncclTopology(const Machine& machine) {
  const bool hasGpu =
      std::any_of(machine.gpus.begin(), machine.gpus.end(), [](const Gpu& gpu) { return !gpu.address.empty(); });
  if (!hasGpu) {
    return Error{ErrorCode::infeasible, "the machine has no GPU that a driver answers for, so there is no fabric",
                 "probe a machine with GPUs, or draw the fabric by hand; coppice-exec profile measures between ranks"};
  }
  return TopologyWriter(machine).run();
}

Result<DrawnFabric> drawFabric(const Machine& machine, Rates rates) {
  const auto topology = ncclTopology(machine);
  if (!topology) {
    return topology.error();
  }
  io::NcclTopoOptions options;
  options.box.keepPcie = true;
  options.rates = rates == Rates::nominal ? io::LinkRates::nominal : io::LinkRates::nccl;
  auto drawn = io::readNcclTopology(*topology, "this machine", options);
  if (!drawn) {
    return drawn.error();
  }
  DrawnFabric fabric{std::move(drawn->description), std::move(drawn->findings)};
  for (Finding& finding : fabric.findings) {
    finding.where.file.clear();  // lines of a text that the user has not seen
    finding.where.line = 0;
    finding.where.column = 0;
  }
  // Devices whose PCIe link nothing states: the importer took NCCL's default.
  std::set<std::string> guessed;
  pugi::xml_document document;
  document.load_string(topology->c_str());
  for (const pugi::xpath_node& found : document.select_nodes("//pci[not(@link_speed) or not(@link_width)]")) {
    const pugi::xml_node pci = found.node();
    if (const pugi::xml_node gpu = pci.child("gpu")) {
      guessed.insert("gpu" + std::string(gpu.attribute("dev").value()));
    } else if (const pugi::xml_node nic = pci.child("nic")) {
      guessed.insert("nic" + std::string(nic.child("net").attribute("dev").value()));
    }
    guessed.insert("pci-" + std::string(pci.attribute("busid").value()));
  }
  for (fabric::LinkDescription& link : fabric.description.links) {
    const bool isNvlink = isGpuLike(link.src) && isGpuLike(link.dst);
    const bool isBetweenCpus = isCpu(link.src) && isCpu(link.dst);
    // What joins CPUs is never stated by a machine: NCCL's table has it by family.
    const bool isPrior = rates == Rates::prior || isBetweenCpus ||
                         (!isNvlink && (guessed.contains(link.src) || guessed.contains(link.dst)));
    const nlohmann::ordered_json marks = {{"kind", isNvlink        ? "nvlink"
                                                   : isBetweenCpus ? "cpu"
                                                                   : "pcie"},
                                          {"basis", isPrior ? "prior" : "nominal"}};
    link.extra = marks.dump();
  }
  return fabric;
}

}  // namespace coppice::probe
