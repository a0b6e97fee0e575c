// SPDX-License-Identifier: Apache-2.0
#include "io/nccl_topo_xml.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/limits.hpp"
#include "io/nccl_topo_facts.hpp"
#include "io/xml_text.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxTopologyBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxElements = 100000;
constexpr int kMaxAttributes = 64;
constexpr std::size_t kMaxCpus = 64;

struct Cpu {
  int node = 0;
  int host = 0;  // index into the reader's hosts
  CpuModel model;
  pugi::xml_node element;
};

struct Gpu {
  int node = 0;
  int cpu = 0;  // index into the reader's CPUs
  int host = 0;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> dev;
  std::int64_t sm = 0;
  std::string architecture;
  pugi::xml_node element;
};

class NcclTopologyReader {
public:
  NcclTopologyReader(std::string_view text, const std::string& fileName, const NcclTopoOptions& options)
      : m_fileName(fileName),
        m_xml(text, fileName,
              {kMaxTopologyBytes, "give NCCL's topology file of one server (NCCL_TOPO_DUMP_FILE)",
               "correct the file, or dump it again"}),
        m_options(options) {}

  Result<ImportResult> run() {
    const pugi::xml_node system = parse();
    m_isHint = !system.find_node([](pugi::xml_node node) { return std::string_view(node.name()) == "gpu"; });
    walk(system);
    if (m_gpus.empty()) {
      m_xml.refuse(system, "the file describes no GPU",
                   "dump it with NCCL_TOPO_DUMP_FILE from a job that uses the GPUs");
    }
    orderNodes();
    for (const Gpu& gpu : m_gpus) {
      readGpuLinks(gpu);
    }
    addGpuPairs();
    addPciLinks();
    addCpuPairs();
    m_box.name = system.attribute("name").as_string();
    if (m_box.name.empty()) {
      m_box.name = "server";
    }
    if (m_bareNics > 0) {
      m_box.nicFix =
          "the file has network controllers without <nic>: state their bandwidth, or dump the file with "
          "NCCL_TOPO_DUMP_FILE from a job that uses them";
    }
    auto assembled = assembleBoxes(m_box, m_options.box);
    if (!assembled) {
      Error error = assembled.error();
      error.where.file = m_fileName;
      return error;
    }
    noteIgnored();
    for (Finding& finding : assembled->findings) {
      finding.where.file = m_fileName;
    }
    m_findings.insert(m_findings.end(), assembled->findings.begin(), assembled->findings.end());
    // What a hint leaves open: shown with 0 until it is stated.
    if (std::any_of(m_gpus.begin(), m_gpus.end(), [](const Gpu& gpu) { return !gpu.element; })) {
      assembled->server->nvlinkBandwidth = m_options.nvlinkBandwidth.value_or(Bandwidth());
    }
    if (m_bareNics > 0 || m_options.nicBandwidth) {
      assembled->server->nicBandwidth = m_options.nicBandwidth.value_or(Bandwidth());
    }
    return ImportResult{std::move(assembled->description), std::move(m_findings), std::move(assembled->server)};
  }

private:
  void find(Severity severity, pugi::xml_node node, std::string text, std::string fix = {}) {
    m_findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix), m_xml.placeOf(node)});
  }

  /// Counts what is ignored, by kind; each kind becomes one note.
  void ignore(pugi::xml_node node, const std::string& what, Severity severity = Severity::note,
              const std::string& fix = {}) {
    const auto [entry, isNew] = m_ignored.try_emplace(what, Ignored{0, severity, fix, m_xml.placeOf(node)});
    ++entry->second.times;
  }

  void noteIgnored() {
    for (auto& [what, seen] : m_ignored) {
      m_findings.push_back({seen.severity, ErrorCode::badInput,
                            what + (seen.times > 1 ? " (" + std::to_string(seen.times) + " times, first here)" : ""),
                            seen.fix, seen.first});
    }
  }

  pugi::xml_node parse() {
    const pugi::xml_node system = m_xml.parse();
    for (const pugi::xml_node child : m_xml.document().children()) {
      if (child.type() == pugi::node_element && child != system) {
        m_xml.refuse(child, "a second root element", "give one <system> element");
      }
    }
    if (std::string_view(system.name()) != "system") {
      m_xml.refuse(system, "the root element is " + inQuotes(system.name()) + ", not \"system\"",
                   "give NCCL's topology file (NCCL_TOPO_DUMP_FILE)");
    }
    if (const auto version = m_xml.integer(system, "version"); version && *version != 1 && *version != 2) {
      m_xml.refuse(system, "topology file version " + std::to_string(*version) + " is unknown",
                   "versions 1 (NCCL) and 2 (RCCL) are readable");
    }
    return system;
  }

  [[nodiscard]] std::int64_t integerIn(pugi::xml_node node, const char* name, std::int64_t low,
                                       std::int64_t high) const {
    const auto value = m_xml.integer(node, name);
    if (!value) {
      m_xml.refuse(
          node, std::string("attribute ") + name + " is missing",
          "add " + std::string(name) + "=\"...\" (" + std::to_string(low) + " to " + std::to_string(high) + ")");
    }
    if (*value < low || *value > high) {
      m_xml.refuse(node, std::string("attribute ") + name + "=\"" + std::to_string(*value) + "\" is out of range",
                   "write " + std::to_string(low) + " to " + std::to_string(high));
    }
    return *value;
  }

  /// An id that no other node of the host has.
  std::string uniqueId(int host, const std::string& id) {
    std::string unique = id;
    for (int i = 2; !m_ids.insert({host, unique}).second; ++i) {
      unique = id + "#" + std::to_string(i);
    }
    return unique;
  }

  int addNode(pugi::xml_node element, BoxRole role, const std::string& id, int parent, const Bandwidth& uplink,
              int host) {
    std::string unique = uniqueId(host, id);
    if (m_box.nodes.size() >= kMaxElements) {
      m_xml.refuse(element, "too many devices", "give NCCL's topology file of one server", ErrorCode::limit);
    }
    m_box.nodes.push_back({role, std::move(unique), {}, parent, uplink, {}, host});
    return static_cast<int>(m_box.nodes.size()) - 1;
  }

  /// Depth first in document order, without recursion.
  void walk(pugi::xml_node system) {
    struct Frame {
      pugi::xml_node element;
      int parent;  // node index, -1 under system
      int cpu;     // index into m_cpus
      int depth;
    };
    std::vector<Frame> stack{{system, -1, -1, 0}};
    std::size_t elements = 0;
    while (!stack.empty()) {
      const Frame frame = stack.back();
      stack.pop_back();
      if (++elements > kMaxElements) {
        m_xml.refuse(frame.element, "more than " + std::to_string(kMaxElements) + " elements",
                     "give NCCL's topology file of one server", ErrorCode::limit);
      }
      if (frame.depth > kMaxXmlDepth) {
        m_xml.refuse(frame.element, "elements are nested more than " + std::to_string(kMaxXmlDepth) + " deep",
                     "give NCCL's topology file as NCCL wrote it", ErrorCode::limit);
      }
      int attributes = 0;
      for (auto attribute = frame.element.first_attribute(); attribute; attribute = attribute.next_attribute()) {
        if (++attributes > kMaxAttributes) {
          m_xml.refuse(frame.element, "more than " + std::to_string(kMaxAttributes) + " attributes",
                       "give NCCL's topology file as NCCL wrote it", ErrorCode::limit);
        }
      }
      int cpu = frame.cpu;
      const int node = enter(frame.element, frame.parent, cpu);
      if (node == kSkip) {
        continue;
      }
      std::vector<Frame> children;
      for (const pugi::xml_node child : frame.element.children()) {
        if (child.type() == pugi::node_element) {
          children.push_back({child, node, cpu, frame.depth + 1});
        } else if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
          ignore(frame.element, "text between the elements was ignored");
        }
      }
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
  }

  static constexpr int kSkip = -2;

  /// Makes the nodes for an element. Returns the node that its children hang on, or kSkip.
  int enter(pugi::xml_node element, int parent, int& cpu) {
    const std::string_view name = element.name();
    if (name == "system" && parent < 0 && cpu < 0 && element.parent() == m_xml.document()) {
      return -1;
    }
    if (name == "cpu" && parent < 0) {
      return enterCpu(element, cpu);
    }
    if (name == "pci" && parent >= 0 && m_box.nodes[parent].role != BoxRole::gpu) {
      return enterPci(element, parent, cpu);
    }
    if (name == "nic" && parent >= 0) {
      return enterNic(element, parent);
    }
    if (name == "net" && std::string_view(element.parent().name()) == "nic") {
      return kSkip;  // read with its nic
    }
    if ((name == "nvlink" || name == "xgmi" || name == "c2c") && std::string_view(element.parent().name()) == "gpu") {
      return kSkip;  // read once all GPUs are known
    }
    if (name == "gpu" && std::string_view(element.parent().name()) == "pci") {
      return parent;  // read with its pci; its links are its children
    }
    if (name == "pcilink" && parent >= 0) {
      m_pciLinks.emplace_back(parent, element);
      return kSkip;
    }
    ignore(element, "element <" + std::string(name).substr(0, 32) + "> was ignored here");
    return kSkip;
  }

  int enterCpu(pugi::xml_node element, int& cpu) {
    const std::string hash = element.attribute("host_hash").as_string();
    const auto host = m_hosts.try_emplace(hash, static_cast<int>(m_hosts.size())).first->second;
    if (m_cpus.size() >= kMaxCpus) {
      m_xml.refuse(element, "more than " + std::to_string(kMaxCpus) + " CPUs",
                   "give NCCL's topology file of one server", ErrorCode::limit);
    }
    Cpu entry;
    entry.host = host;
    entry.element = element;
    const auto numa = m_xml.integer(element, "numaid");
    entry.model = {element.attribute("arch").as_string(), element.attribute("vendor").as_string(),
                   m_xml.integer(element, "familyid").value_or(0), m_xml.integer(element, "modelid").value_or(0)};
    const std::int64_t number = numa && *numa >= 0 ? *numa : static_cast<std::int64_t>(m_cpus.size());
    entry.node = addNode(element, BoxRole::cpu, "cpu" + std::to_string(number), -1, {}, host);
    cpu = static_cast<int>(m_cpus.size());
    m_cpus.push_back(std::move(entry));
    return m_cpus.back().node;
  }

  Bandwidth pciRate(pugi::xml_node element) {
    std::int64_t width = m_xml.integer(element, "link_width").value_or(0);
    if (width < 0 || width > 64) {
      m_xml.refuse(element, "link_width=\"" + std::to_string(width) + "\" is out of range", "write 1 to 32");
    }
    if (width == 0) {
      width = 16;
      ignore(element, "a PCIe link without width counts as x16, as in NCCL");
    }
    auto lane = laneRate(element.attribute("link_speed").as_string(), m_options.rates);
    if (!lane) {
      lane = laneRate("8 GT/s", m_options.rates);
      ignore(element, "a PCIe link without a known speed counts as 8 GT/s (Gen3), as in NCCL");
    }
    return *lane * Rational(width);
  }

  int enterPci(pugi::xml_node element, int parent, int cpu) {
    const std::string busId = element.attribute("busid").as_string();
    if (busId.empty()) {
      m_xml.refuse(element, "attribute busid is missing", "write for example busid=\"0000:10:00.0\"");
    }
    if (busId.size() > 64) {
      m_xml.refuse(element, "busid is longer than 64 characters", "write for example busid=\"0000:10:00.0\"");
    }
    const int host = m_cpus[cpu].host;
    const BusKey key{host, canonicalBusId(busId)};
    const pugi::xml_node gpu = element.child("gpu");
    const DeviceClass kind = kindOf(element);
    int node = kSkip;
    if (gpu || (kind == DeviceClass::gpu && isComputeDevice(element))) {
      node = enterGpu(element, gpu, parent, cpu, busId);
      if (!m_gpuByBusId.emplace(key, node).second) {
        m_xml.refuse(element, "bus id " + inQuotes(busId) + " appears twice",
                     "give each GPU its own busid; links name their target by it");
      }
    } else if (kind == DeviceClass::gpu) {
      ignore(element, "a display controller without <gpu> was ignored");
      return kSkip;
    } else if (kind == DeviceClass::nic && !element.child("nic") && !element.child("pci")) {
      return enterBareNic(element, parent, host);
    } else {
      node = addNode(element, BoxRole::bridge, "pci-" + busId, parent, pciRate(element), host);
    }
    if (!m_byBusId.emplace(key, node).second) {
      ignore(element, "a bus id appears twice; each element counts as a device of its own, as in NCCL",
             Severity::warning, "give each PCI device its own busid");
    }
    return node;
  }

  /// What a <pci> is by its class; by its children where the class is missing. NCCL reads a missing class from /sys of
  /// the machine.
  DeviceClass kindOf(pugi::xml_node element) {
    const std::string_view text = element.attribute("class").as_string();
    if (!text.empty()) {
      return deviceClass(text);
    }
    if (element.child("gpu")) {
      return DeviceClass::gpu;
    }
    if (element.child("nic")) {
      return DeviceClass::nic;
    }
    if (element.child("pci")) {
      ignore(element, "a <pci> without class that has others below it counts as a bridge");
      return DeviceClass::bridge;
    }
    const std::string_view vendor = element.attribute("vendor").as_string();
    const bool isGpuMaker = vendor == "0x10de" || vendor == "0x1002";
    m_xml.refuse(element,
                 std::string("attribute class is missing; ") +
                     (isGpuMaker ? "the device looks like a GPU by its vendor"
                                 : "a device with nothing below it looks like a GPU or a NIC") +
                     ", and NCCL reads what it is on the machine",
                 "dump the complete file there with NCCL_TOPO_DUMP_FILE, or write class=\"0x030200\" for a GPU, "
                 "class=\"0x020700\" for a NIC, with link_speed and link_width");
  }

  /// A device of a GPU's class without <gpu>: 3-D controllers and accelerators always; display controllers in a file
  /// that has no <gpu> at all, unless their maker is known for consoles.
  bool isComputeDevice(pugi::xml_node element) const {
    const std::string_view text = element.attribute("class").as_string();
    if (text.starts_with("0x0302") || text.starts_with("0x12")) {
      return true;
    }
    const std::string_view vendor = element.attribute("vendor").as_string();
    return m_isHint && (vendor.empty() || vendor == "0x10de" || vendor == "0x1002" || vendor == "0x8086");
  }

  int enterGpu(pugi::xml_node element, pugi::xml_node gpu, int parent, int cpu, const std::string& busId) {
    if (m_gpus.size() >= kMaxServerGpus) {
      m_xml.refuse(element, "more than " + std::to_string(kMaxServerGpus) + " GPUs",
                   "give NCCL's topology file of one server", ErrorCode::limit);
    }
    Gpu entry;
    entry.cpu = cpu;
    entry.host = m_cpus[cpu].host;
    entry.element = gpu;
    if (gpu) {
      if (gpu.next_sibling("gpu")) {
        m_xml.refuse(gpu.next_sibling("gpu"), "a second <gpu> in one PCI device",
                     "partitioned GPUs cannot be imported");
      }
      entry.rank = m_xml.integer(gpu, "rank");
      entry.dev = m_xml.integer(gpu, "dev");
      entry.sm = m_xml.integer(gpu, "sm").value_or(0);
      entry.architecture = gpu.attribute("gcn").as_string(gpu.attribute("arch").as_string());
    } else if (m_options.nvlinkBandwidth) {
      ignore(element, "a GPU has no <gpu> element; the stated NVLink bandwidth to an NVSwitch counts");
    } else {
      ignore(element,
             m_isHint ? "the file has no <gpu> elements: NCCL fills them in on the machine; the NVLinks are unknown, "
                        "and PCIe alone counts"
                      : "a GPU has no <gpu> element: its NVLinks are unknown",
             Severity::warning,
             "dump the complete file on the machine with NCCL_TOPO_DUMP_FILE, complete it from the preset of the "
             "machine (--complete-from dgx-a100), or state the NVLink bandwidth of a GPU (as 12x25) and the NICs' "
             "bandwidth");
    }
    entry.node = addNode(element, BoxRole::gpu, "gpu at " + busId, parent, pciRate(element), entry.host);
    m_gpus.push_back(std::move(entry));
    return m_gpus.back().node;
  }

  /// A network controller without <nic>: a NIC if its bandwidth is stated.
  int enterBareNic(pugi::xml_node element, int parent, int host) {
    if (!m_options.nicBandwidth || m_box.nodes[parent].role == BoxRole::gpu) {
      ++m_bareNics;
      ignore(element, "a network controller without <nic> was ignored", Severity::note,
             "dump the file with NCCL_TOPO_DUMP_FILE from a job that uses the NICs, or state the NICs' bandwidth");
      return kSkip;
    }
    std::int64_t number = 0;
    while (std::any_of(m_netNumbers.begin(), m_netNumbers.end(), [&](const auto& entry) {
      return entry.second == number && m_box.nodes[entry.first].host == host;
    })) {
      ++number;
    }
    const int node = addNode(element, BoxRole::nic, "nic" + std::to_string(number), parent, pciRate(element), host);
    m_netNumbers[node] = number;
    m_box.nodes[node].netBandwidth = *m_options.nicBandwidth;
    ignore(element, "a network controller without <nic> counts as a NIC of the stated bandwidth");
    return node;
  }

  /// The net elements of a NIC. Two ports of one card share its PCIe link.
  int enterNic(pugi::xml_node element, int parent) {
    std::vector<pugi::xml_node> ports;
    for (const pugi::xml_node net : element.children("net")) {
      if (net.attribute("dev")) {
        ports.push_back(net);
      } else {
        ignore(net, "a <net> without dev was ignored, as in NCCL");
      }
    }
    const bool isCard = std::string_view(element.parent().name()) == "pci";
    if (m_box.nodes[parent].role == BoxRole::gpu) {
      ignore(element, "a <nic> inside a GPU's <pci> was ignored");
      return kSkip;
    }
    if (ports.empty()) {
      ignore(element, "a <nic> without a usable <net> was ignored");
      return kSkip;
    }
    for (const pugi::xml_node net : ports) {
      const std::int64_t number = integerIn(net, "dev", 0, 1 << 20);
      std::int64_t speed = m_xml.integer(net, "speed").value_or(0);
      if (speed > std::int64_t{1} << 40) {
        m_xml.refuse(net, "attribute speed=\"" + std::to_string(speed) + "\" is out of range",
                     "write Mbit/s, as 200000");
      }
      if (speed <= 0) {
        speed = 10000;
        ignore(net, "a <net> without speed counts as 10 Gbit/s, as in NCCL");
      }
      const Bandwidth bandwidth(speed, 8000);
      // Alone on its card, a port takes the card's place in the tree; else it hangs on the card.
      const bool isAlone = isCard && ports.size() == 1 && !element.next_sibling("nic") &&
                           !element.previous_sibling("nic") && !element.parent().child("pci");
      int node = parent;
      const std::string id = "nic" + std::to_string(number);
      if (isAlone) {
        BoxNode& card = m_box.nodes[parent];
        card.role = BoxRole::nic;
        m_ids.erase({card.host, card.id});
        card.id = uniqueId(card.host, id);
      } else {
        node = addNode(net, BoxRole::nic, id, parent, bandwidth, m_box.nodes[parent].host);
      }
      m_netNumbers[node] = number;
      m_box.nodes[node].device = std::string(net.attribute("name").as_string()).substr(0, 64);
      m_box.nodes[node].netBandwidth = bandwidth;
    }
    return kSkip;
  }

  /// GPUs come first in the box, in rank order, and get their ids; then the NICs by number, which is the order of the
  /// rails; everything else keeps its order.
  void orderNodes() {
    // Ranks go through all hosts of the file; devices are numbered in each.
    const auto areDistinct = [&](auto keyOf) {
      std::set<std::pair<int, std::int64_t>> seen;
      return std::all_of(m_gpus.begin(), m_gpus.end(), [&](const Gpu& gpu) {
        const auto key = keyOf(gpu);
        return key && seen.insert(*key).second;
      });
    };
    const auto sortBy = [&](auto keyOf) {
      std::stable_sort(m_gpus.begin(), m_gpus.end(), [&](const Gpu& a, const Gpu& b) { return *keyOf(a) < *keyOf(b); });
    };
    using Key = std::optional<std::pair<int, std::int64_t>>;
    const auto byRank = [](const Gpu& gpu) { return gpu.rank ? Key({0, *gpu.rank}) : Key(); };
    const auto byRankOfHost = [](const Gpu& gpu) { return gpu.rank ? Key({gpu.host, *gpu.rank}) : Key(); };
    const auto byDevice = [](const Gpu& gpu) { return gpu.dev ? Key({gpu.host, *gpu.dev}) : Key(); };
    if (areDistinct(byRank)) {
      sortBy(byRank);
    } else if (areDistinct(byRankOfHost)) {
      sortBy(byRankOfHost);
    } else if (areDistinct(byDevice)) {
      sortBy(byDevice);
    } else if (!m_isHint) {
      find(Severity::note, m_gpus.front().element,
           "the GPUs have neither distinct ranks nor distinct dev numbers; they are used in the order of the file");
    }
    std::vector<int> order;
    for (const Gpu& gpu : m_gpus) {
      order.push_back(gpu.node);
    }
    std::vector<std::tuple<int, std::int64_t, int>> nics;
    for (const auto& [node, number] : m_netNumbers) {
      nics.emplace_back(m_box.nodes[node].host, number, node);
    }
    std::sort(nics.begin(), nics.end());
    for (const auto& [host, number, node] : nics) {
      order.push_back(node);
    }
    for (int i = 0; i < static_cast<int>(m_box.nodes.size()); ++i) {
      const BoxRole role = m_box.nodes[i].role;
      if (role != BoxRole::gpu && role != BoxRole::nic) {
        order.push_back(i);
      }
    }
    std::vector<int> placeOfOld(order.size());
    std::vector<BoxNode> nodes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      placeOfOld[order[i]] = static_cast<int>(i);
      nodes.push_back(m_box.nodes[order[i]]);
    }
    for (BoxNode& node : nodes) {
      node.parent = node.parent < 0 ? -1 : placeOfOld[node.parent];
    }
    for (std::size_t i = 0; i < m_gpus.size(); ++i) {
      m_gpus[i].node = static_cast<int>(i);
      nodes[i].id = "gpu" + std::to_string(i);
    }
    for (Cpu& cpu : m_cpus) {
      cpu.node = placeOfOld[cpu.node];
    }
    for (auto& [parent, element] : m_pciLinks) {
      parent = placeOfOld[parent];
    }
    for (auto* byBusId : {&m_byBusId, &m_gpuByBusId}) {
      for (auto& [busId, node] : *byBusId) {
        node = placeOfOld[node];
      }
    }
    if (m_hosts.size() > 1) {
      for (BoxNode& node : nodes) {
        if (node.role != BoxRole::gpu) {
          node.id = "host" + std::to_string(node.host) + "." + node.id;
        }
      }
      find(Severity::note, m_cpus.front().element,
           "the file describes " + std::to_string(m_hosts.size()) +
               " servers (host_hash differs); they are read as one NVLink domain");
    } else {
      for (BoxNode& node : nodes) {
        node.host = -1;
      }
    }
    m_box.nodes = std::move(nodes);
  }

  int nvSwitch() {
    if (m_nvSwitch < 0) {
      m_box.nodes.push_back({BoxRole::nvSwitch, "nvswitch", {}, -1, {}, {}, -1});
      m_nvSwitch = static_cast<int>(m_box.nodes.size()) - 1;
    }
    return m_nvSwitch;
  }

  void readGpuLinks(const Gpu& gpu) {
    if (!gpu.element) {
      if (m_options.nvlinkBandwidth) {
        m_box.gpuLinks.push_back({gpu.node, nvSwitch(), *m_options.nvlinkBandwidth, 1});
      }
      return;
    }
    std::int64_t toSwitch = 0;
    std::int64_t toCpu = 0;
    const Bandwidth nvlink = nvlinkRate(gpu.sm, m_options.rates);
    for (const pugi::xml_node link : gpu.element.children()) {
      const std::string_view name = link.name();
      if (name == "c2c") {
        const std::int64_t megabytes = integerIn(link, "bw", 1, std::int64_t{1} << 32);
        const auto count = static_cast<int>(integerIn(link, "count", 1, 1024));
        addCpuLink(link, gpu, Bandwidth(megabytes, 1000), count);
        continue;
      }
      if (name != "nvlink" && name != "xgmi") {
        continue;
      }
      const std::int64_t count = integerIn(link, "count", 1, 1024);
      if (name == "nvlink" && gpu.sm <= 0) {
        m_xml.refuse(gpu.element, "attribute sm is missing, and NVLink's rate depends on it",
                     "write for example sm=\"80\" for A100");
      }
      const std::string target = link.attribute("target").as_string();
      const auto found = m_gpuByBusId.find({gpu.host, canonicalBusId(target)});
      const bool isKnownGpu = found != m_gpuByBusId.end();
      const std::string_view text = link.attribute("tclass").as_string();
      if (text.empty() && !isKnownGpu) {
        m_xml.refuse(link, "attribute tclass is missing, and no GPU has bus id " + inQuotes(target),
                     "write tclass=\"0x068000\" for an NVSwitch, or the target's bus id");
      }
      const DeviceClass kind = text.empty() ? DeviceClass::gpu : deviceClass(text);
      if (kind == DeviceClass::cpu) {
        toCpu += count;
      } else if (kind != DeviceClass::gpu) {
        toSwitch += count;
      } else if (!isKnownGpu) {
        ignore(link, "a link to a GPU that the file does not describe was ignored", Severity::warning,
               "compare the target with the busid of the GPUs, or dump the file from a job that uses all GPUs");
      } else if (found->second == gpu.node) {
        ignore(link, "a link of a GPU to itself leads nowhere and was ignored", Severity::warning,
               "write the peer's bus id as the target");
      } else {
        PairEnd& end = m_pairs[{gpu.node, found->second}];
        end.count += count;
        end.rate = name == "xgmi" ? xgmiRate(gpu.architecture, m_options.rates) : nvlink;
        end.element = link;
      }
    }
    constexpr std::int64_t kMax = 1 << 20;
    if (toSwitch > 0) {
      const int hub = nvSwitch();
      m_box.gpuLinks.push_back({gpu.node, hub, nvlink, static_cast<int>(std::min(toSwitch, kMax))});
    }
    if (toCpu > 0) {
      addCpuLink(gpu.element, gpu, nvlink, static_cast<int>(std::min(toCpu, kMax)));
    }
  }

  void addCpuLink(pugi::xml_node element, const Gpu& gpu, const Bandwidth& bandwidth, int count) {
    if (gpu.cpu < 0) {
      m_xml.refuse(element, "the GPU is not inside a CPU", "put its <pci> inside a <cpu>");
    }
    m_box.hostLinks.push_back({gpu.node, m_cpus[gpu.cpu].node, bandwidth, count});
  }

  void addGpuPairs() {
    for (const auto& [ends, there] : m_pairs) {
      const auto [a, b] = ends;
      const auto back = m_pairs.find({b, a});
      if (back == m_pairs.end()) {
        find(Severity::warning, there.element, "only one of the two GPUs lists this link; it is taken for duplex",
             "list it at the peer too");
        m_box.gpuLinks.push_back({a, b, there.rate, narrow(there.count)});
        continue;
      }
      if (a > b) {
        continue;  // done from the other end
      }
      if (there.count != back->second.count) {
        find(Severity::warning, there.element,
             "the two GPUs list " + std::to_string(there.count) + " and " + std::to_string(back->second.count) +
                 " links to each other; the smaller one is used",
             "make both counts equal");
      }
      m_box.gpuLinks.push_back(
          {a, b, std::min(there.rate, back->second.rate), narrow(std::min(there.count, back->second.count))});
    }
  }

  static int narrow(std::int64_t count) { return static_cast<int>(std::min<std::int64_t>(count, 1 << 20)); }

  void addPciLinks() {
    std::set<std::pair<int, int>> done;
    for (const auto& [from, element] : m_pciLinks) {
      const auto found = m_byBusId.find({hostOf(from), canonicalBusId(element.attribute("target").as_string())});
      if (found == m_byBusId.end() || found->second == from) {
        ignore(element, "a <pcilink> whose target is not in the file was ignored");
        continue;
      }
      if (done.insert(std::minmax(from, found->second)).second) {
        m_box.hostLinks.push_back({from, found->second, Bandwidth(5000), 1});
      }
    }
  }

  [[nodiscard]] int hostOf(int node) const { return std::max(m_box.nodes[node].host, 0); }

  void tellUnknownVendor() {
    const auto unknown =
        std::find_if(m_cpus.begin(), m_cpus.end(), [](const auto& cpu) { return !isKnownVendor(cpu.model); });
    if (unknown != m_cpus.end()) {
      find(Severity::warning, unknown->element,
           "NCCL does not know the CPU vendor " + inQuotes(unknown->model.vendor) + ": it assumes " +
               toExactText(interCpuRate(unknown->model)) + " GB/s per direction between CPUs, and so does this import",
           "write vendor=\"AuthenticAMD\" (16 GB/s) or \"GenuineIntel\" if the CPUs are like those");
    }
  }

  void addCpuPairs() {
    bool hasPair = false;
    for (std::size_t i = 0; i < m_cpus.size(); ++i) {
      for (std::size_t j = i + 1; j < m_cpus.size(); ++j) {
        if (m_cpus[i].host != m_cpus[j].host) {
          continue;
        }
        hasPair = true;
        m_box.hostLinks.push_back({m_cpus[i].node, m_cpus[j].node,
                                   std::min(interCpuRate(m_cpus[i].model), interCpuRate(m_cpus[j].model)), 1});
      }
    }
    if (hasPair) {
      tellUnknownVendor();
    }
  }

  struct Ignored {
    int times = 0;
    Severity severity = Severity::note;
    std::string fix;
    Place first;
  };

  using BusKey = std::pair<int, std::string>;  // host, canonical bus id

  struct PairEnd {
    std::int64_t count = 0;
    Bandwidth rate;
    pugi::xml_node element;
  };

  std::string m_fileName;
  XmlText m_xml;
  const NcclTopoOptions& m_options;
  Box m_box;
  std::vector<Cpu> m_cpus;
  std::vector<Gpu> m_gpus;
  std::vector<std::pair<int, pugi::xml_node>> m_pciLinks;
  std::map<BusKey, int> m_byBusId;  // the first of each
  std::map<BusKey, int> m_gpuByBusId;
  std::map<std::pair<int, int>, PairEnd> m_pairs;
  std::map<int, std::int64_t> m_netNumbers;
  std::set<std::pair<int, std::string>> m_ids;  // host, id
  std::map<std::string, int> m_hosts;           // host_hash, in order of appearance
  std::map<std::string, Ignored> m_ignored;
  int m_bareNics = 0;
  bool m_isHint = false;  // no <gpu> in the whole file
  std::vector<Finding> m_findings;
  int m_nvSwitch = -1;
};

}  // namespace

Result<ImportResult> readNcclTopology(std::string_view text, const std::string& fileName,
                                      const NcclTopoOptions& options) {
  return guarded([&] { return NcclTopologyReader(text, fileName, options).run(); },
                 {.overflowFix = "use smaller numbers",
                  .memory = "the topology file does not fit into memory",
                  .memoryFix = "import a smaller file",
                  .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
