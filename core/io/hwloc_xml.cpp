// SPDX-License-Identifier: Apache-2.0
#include "io/hwloc_xml.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "base/rational.hpp"
#include "base/text.hpp"
#include "io/limits.hpp"
#include "io/xml_text.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxObjects = 100000;

/// GB/s per direction of all NVLinks of a GPU together, by the words of its model.
struct Model {
  std::string_view word;
  std::int64_t total;
};
constexpr Model kModels[] = {{"GB200", 900}, {"GB300", 900}, {"B200", 900}, {"B300", 900}, {"H100", 450},
                             {"H200", 450},  {"GH200", 450}, {"H800", 200}, {"A100", 300}, {"A800", 200}};

/// "0302 [10de:20b0] ..." begins with the class; the vendor follows in brackets.
std::string_view classOf(pugi::xml_node object) {
  return std::string_view(object.attribute("pci_type").as_string()).substr(0, 4);
}

std::string_view vendorOf(pugi::xml_node object) {
  const std::string_view type = object.attribute("pci_type").as_string();
  const std::size_t open = type.find('[');
  return open == std::string_view::npos ? std::string_view{} : type.substr(open + 1, 4);
}

/// "1002:515e".
std::string_view idOf(pugi::xml_node object) {
  const std::string_view type = object.attribute("pci_type").as_string();
  const std::size_t open = type.find('[');
  return open == std::string_view::npos ? std::string_view{} : type.substr(open + 1, 9);
}

bool isGraphicsVendor(std::string_view vendor) {
  return vendor == "10de" || vendor == "1002" || vendor == "8086";
}

/// VGA controllers that server boards carry: ES1000, Rage XL and Radeon 7000.
bool isBoardVga(pugi::xml_node device) {
  const std::string_view id = idOf(device);
  return id == "1002:515e" || id == "1002:4752" || id == "1002:5159";
}

/// The link is known, and slower than four lanes of PCIe 1.0.
bool isOnSlowLink(pugi::xml_node device) {
  const auto speed = Rational::parse(device.attribute("pci_link_speed").as_string("0"));
  return speed && speed->isPositive() && *speed < Rational(1);
}

/// Graphics inside the processor; Intel's are always here.
bool isIntegrated(pugi::xml_node device) {
  return vendorOf(device) == "8086" && std::string_view(device.attribute("pci_busid").as_string()) == "0000:00:02.0";
}

/// A GPU for computing by its vendor or class, not a VGA controller that could be one of the board.
bool isComputeGpu(pugi::xml_node device) {
  const std::string_view kind = classOf(device);
  return (kind.starts_with("03") && vendorOf(device) == "10de") || kind.starts_with("12") ||
         ((kind == "0302" || kind == "0380") && isGraphicsVendor(vendorOf(device)));
}

bool isType(pugi::xml_node object, std::string_view type) {
  return std::string_view(object.name()) == "object" && object.attribute("type").as_string() == type;
}

/// The names of the devices of the system below a PCI device.
std::vector<pugi::xml_node> systemDevices(pugi::xml_node device) {
  std::vector<pugi::xml_node> devices;
  for (const pugi::xml_node child : device.children("object")) {
    if (isType(child, "OSDev")) {
      devices.push_back(child);
    }
  }
  return devices;
}

/// A runtime for GPUs sees the device.
bool isOfRuntime(pugi::xml_node device) {
  const std::string_view name = device.attribute("name").as_string();
  constexpr std::string_view kPrefixes[] = {"cuda", "nvml", "rsmi", "ze", "opencl"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

class HwlocReader {
public:
  HwlocReader(std::string_view text, const std::string& fileName, const NvidiaSmiOptions& options)
      : m_fileName(fileName),
        m_xml(text, fileName,
              {kMaxNetworkBytes, "give the XML of hwloc: lstopo machine.xml", "write it again: lstopo machine.xml"}),
        m_options(options) {}

  Result<ImportResult> run() {
    const pugi::xml_node topology = parse();
    m_hasComputeGpu = bool(topology.find_node(isComputeGpu));
    for (const pugi::xml_node object : topology.children("object")) {
      walk(object, -1, 0);
    }
    if (m_gpus.empty()) {
      m_xml.refuse(topology, "the file has no GPU",
                   "run lstopo where the GPUs are, with I/O devices: lstopo --whole-io x.xml");
    }
    order();
    for (const pugi::xml_node distances : topology.children()) {
      if (std::string_view(distances.name()).starts_with("distances2")) {
        readDistances(distances);
      }
    }
    addLinks();
    joinPackages();
    m_box.name = "server";
    return assembleServer(m_box, m_options.box, std::move(m_findings), std::move(m_taken), m_fileName);
  }

private:
  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix)});
  }

  pugi::xml_node parse() {
    const pugi::xml_node topology = m_xml.parse();
    if (std::string_view(topology.name()) != "topology") {
      m_xml.refuseAt(0, "there is no <topology>", "give the XML of hwloc: lstopo machine.xml");
    }
    return topology;
  }

  /// GB/s of a device's link to its parent. hwloc states it in GB/s, with six places; 0 where it is unknown.
  Bandwidth speedOf(pugi::xml_node device) {
    const auto speed = Rational::parse(device.attribute("pci_link_speed").as_string("0"));
    if (speed && speed->isPositive() && *speed < Rational(10000)) {
      // The exact speed of the generation and width that was rounded.
      for (const Rational& lane :
           {Rational(1, 4), Rational(1, 2), Rational(64, 65), Rational(128, 65), Rational(256, 65)}) {
        for (const int width : {1, 2, 4, 8, 12, 16, 32}) {
          const Rational exact = lane * Rational(width);
          const Rational off = exact < *speed ? *speed - exact : exact - *speed;
          if (off < Rational(1, 100000)) {
            return Bandwidth(exact);
          }
        }
      }
      return Bandwidth(*speed);
    }
    m_hasUnknownSpeed = true;
    return m_options.pcieBandwidth.value_or(Bandwidth(16));
  }

  int addNode(pugi::xml_node object, BoxRole role, std::string id, int parent, const Bandwidth& uplink) {
    if (m_box.nodes.size() >= kMaxObjects) {
      m_xml.refuse(object, "too many devices", "give the file of one machine", ErrorCode::limit);
    }
    std::string unique = id;
    for (int i = 2; !m_ids.insert(unique).second; ++i) {
      unique = id + "#" + std::to_string(i);
    }
    m_box.nodes.push_back({role, std::move(unique), {}, parent, uplink, {}});
    return static_cast<int>(m_box.nodes.size()) - 1;
  }

  /// @param parent node that PCI devices below hang on; -1 = none yet, so that the nearest package becomes it
  void walk(pugi::xml_node object, int parent, int depth) {
    if (depth > kMaxXmlDepth) {
      m_xml.refuse(object, "objects are nested more than " + std::to_string(kMaxXmlDepth) + " deep",
                   "give the file as hwloc wrote it", ErrorCode::limit);
    }
    int below = parent;
    if (isType(object, "PCIDev")) {
      below = enterDevice(object, parent);
    } else if (isType(object, "Bridge")) {
      const bool isPci = object.attribute("pci_busid");
      if (parent < 0) {
        below = packageOf(object);
      }
      if (isPci) {
        below = addNode(object, BoxRole::bridge, std::string("pci-") + object.attribute("pci_busid").as_string(), below,
                        speedOf(object));
      }
    }
    for (const pugi::xml_node child : object.children("object")) {
      if (!isType(child, "OSDev")) {
        walk(child, below, depth + 1);
      }
    }
  }

  /// The package (or machine) around a host bridge, as a node.
  int packageOf(pugi::xml_node object) {
    pugi::xml_node at = object.parent();
    while (at && !isType(at, "Package") && !isType(at, "Socket") && !isType(at, "Machine") && !isType(at, "Group")) {
      at = at.parent();
    }
    const auto [entry, isNew] = m_packages.try_emplace(at.offset_debug(), 0);
    if (isNew) {
      m_packageOfIndex[at.attribute("gp_index").as_string()] = at.offset_debug();
      entry->second = addNode(object, BoxRole::cpu, "package" + std::to_string(m_packages.size() - 1), -1, {});
    }
    return entry->second;
  }

  int enterDevice(pugi::xml_node object, int parent) {
    if (parent < 0) {
      parent = packageOf(object);
    }
    const std::string_view kind = classOf(object);
    const std::string_view vendor = vendorOf(object);
    const std::vector<pugi::xml_node> devices = systemDevices(object);
    const bool isComputing = std::any_of(devices.begin(), devices.end(), isOfRuntime);
    const bool isScreen = !isComputing && isScreenAlone(object);
    const bool isGpu = isComputing || (kind.starts_with("03") && isGraphicsVendor(vendor)) || kind.starts_with("12");
    bool hasVerbs = kind == "0207";
    std::string verbs;
    std::string model;
    for (const pugi::xml_node device : devices) {
      const std::string_view name = device.attribute("name").as_string();
      const std::string_view type = device.attribute("osdev_type").as_string();
      if (type == "3" || name.starts_with("mlx") || name.starts_with("ib") || name.starts_with("bnxt_re")) {
        hasVerbs = true;
        verbs = verbs.empty() || type == "3" ? std::string(name.substr(0, 64)) : verbs;
      }
    }
    for (const pugi::xml_node device : devices) {
      for (const pugi::xml_node info : device.children("info")) {
        if (std::string_view(info.attribute("name").as_string()) == "GPUModel") {
          model = info.attribute("value").as_string();
        }
      }
    }
    const std::string busId = object.attribute("pci_busid").as_string("unknown");
    if (isScreen) {
      tell(Severity::note, "the graphics device " + std::string(idOf(object)) + " at " + busId +
                               " serves a screen alone and is not counted as a GPU");
      return parent;
    }
    int node = -1;
    if (std::string_view(object.attribute("subtype").as_string()) == "NVSwitch" ||
        (kind == "0680" && vendor == "10de")) {
      remember(object, devices, kNvSwitch);
      return parent;
    }
    if (isGpu) {
      if (m_gpus.size() >= kMaxServerGpus) {
        m_xml.refuse(object, "more than " + std::to_string(kMaxServerGpus) + " GPUs", "give the file of one machine",
                     ErrorCode::limit);
      }
      node = addNode(object, BoxRole::gpu, "gpu at " + busId, parent, speedOf(object));
      m_gpus.push_back({node, model});
      remember(object, devices, static_cast<int>(m_gpus.size()) - 1);
    } else if (hasVerbs) {
      const Bandwidth pcie = speedOf(object);
      node = addNode(object, BoxRole::nic, "nic" + std::to_string(m_nics++), parent, pcie);
      m_box.nodes[static_cast<std::size_t>(node)].device = verbs;
      const Bandwidth guess = pcie >= Bandwidth(50)   ? Bandwidth(50)
                              : pcie >= Bandwidth(25) ? Bandwidth(25)
                                                      : Bandwidth(25, 2);
      m_box.nodes[static_cast<std::size_t>(node)].netBandwidth = m_options.nicBandwidth.value_or(guess);
      m_taken.nicBandwidth = m_options.nicBandwidth.value_or(guess);
    }
    return node < 0 ? parent : node;
  }

  /// VGA of the board. A card of AMD may be of this class too: it counts, unless it stands beside other GPUs on a link
  /// that no such card has.
  [[nodiscard]] bool isScreenAlone(pugi::xml_node device) const {
    return classOf(device) == "0300" && vendorOf(device) != "10de" &&
           (isBoardVga(device) || (m_hasComputeGpu && (isOnSlowLink(device) || isIntegrated(device))));
  }

  static constexpr int kNvSwitch = -2;

  /// Which GPU (or the NVSwitch) the indices of matrices mean.
  void remember(pugi::xml_node object, const std::vector<pugi::xml_node>& devices, int gpu) {
    for (const pugi::xml_node device : devices) {
      m_byIndex[device.attribute("gp_index").as_string()] = gpu;
    }
    m_byIndex[object.attribute("gp_index").as_string()] = gpu;
  }

  /// GPUs first, in the order of the file; then NICs.
  void order() {
    std::vector<int> order;
    for (const auto& gpu : m_gpus) {
      order.push_back(gpu.first);
    }
    for (const BoxRole role : {BoxRole::nic, BoxRole::cpu, BoxRole::bridge}) {
      for (std::size_t i = 0; i < m_box.nodes.size(); ++i) {
        if (m_box.nodes[i].role == role) {
          order.push_back(static_cast<int>(i));
        }
      }
    }
    std::vector<int> placeOf(order.size());
    std::vector<BoxNode> nodes;
    for (std::size_t i = 0; i < order.size(); ++i) {
      placeOf[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
      nodes.push_back(m_box.nodes[static_cast<std::size_t>(order[i])]);
    }
    for (BoxNode& node : nodes) {
      node.parent = node.parent < 0 ? -1 : placeOf[static_cast<std::size_t>(node.parent)];
    }
    for (std::size_t i = 0; i < m_gpus.size(); ++i) {
      m_gpus[i].first = static_cast<int>(i);
      nodes[i].id = "gpu" + std::to_string(i);
    }
    for (auto& [offset, node] : m_packages) {
      node = placeOf[static_cast<std::size_t>(node)];
    }
    m_box.nodes = std::move(nodes);
  }

  static std::vector<std::string> wordsIn(pugi::xml_node parent, const char* name) {
    std::vector<std::string> words;
    for (const pugi::xml_node list : parent.children(name)) {
      std::string_view text = list.child_value();
      while (!text.empty() && words.size() < 1 << 21) {
        const std::size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos) {
          break;
        }
        const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
        words.emplace_back(text.substr(begin, end - begin));
        text.remove_prefix(end);
      }
    }
    return words;
  }

  void readDistances(pugi::xml_node distances) {
    const std::string_view name = distances.attribute("name").as_string();
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") {
      return;
    }
    std::vector<std::string> indexes = wordsIn(distances, "indexes");
    for (std::string& index : indexes) {  // "OSDev:12" where the types differ
      if (const std::size_t colon = index.find(':'); colon != std::string::npos) {
        index.erase(0, colon + 1);
      }
    }
    const std::vector<std::string> values = wordsIn(distances, "u64values");
    const std::size_t n = indexes.size();
    if (n == 0 || values.size() != n * n) {
      m_xml.refuse(distances,
                   "the matrix " + std::string(name) + " has " + std::to_string(values.size()) + " values for " +
                       std::to_string(n) + " objects",
                   "give the file as hwloc wrote it");
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto a = m_byIndex.find(indexes[i]);
      for (std::size_t j = 0; j < n && a != m_byIndex.end() && a->second >= 0; ++j) {
        const auto b = m_byIndex.find(indexes[j]);
        const auto package = m_packageOfIndex.find(indexes[j]);
        const bool isCpu = b == m_byIndex.end() && package != m_packageOfIndex.end();
        if (i == j || (!isCpu && (b == m_byIndex.end() || b->second == a->second))) {
          continue;
        }
        const auto megabytes = Rational::parse(values[i * n + j]);
        if (!megabytes || *megabytes < Rational(0)) {
          m_xml.refuse(distances, inQuotes(values[i * n + j]) + " is not a bandwidth in MB/s",
                       "give the file as hwloc wrote it");
        }
        if (megabytes->isPositive()) {
          Bandwidth& sum = isCpu ? m_cpuLinks[{a->second, package->second}] : m_links[{a->second, b->second}];
          sum = sum + Bandwidth(*megabytes / Rational(1000));
        }
      }
    }
  }

  /// Twice the bandwidth that the model has.
  [[nodiscard]] bool isDoubled() const {
    std::map<int, Bandwidth> sums;
    for (const auto& [ends, bandwidth] : m_links) {
      sums[ends.first] = sums[ends.first] + bandwidth;
    }
    for (const auto& [ends, bandwidth] : m_cpuLinks) {
      sums[ends.first] = sums[ends.first] + bandwidth;
    }
    return std::any_of(sums.begin(), sums.end(), [&](const auto& entry) {
      const std::string& model = m_gpus[static_cast<std::size_t>(entry.first)].second;
      const auto* const found = std::find_if(std::begin(kModels), std::end(kModels), [&](const Model& each) {
        return model.find(each.word) != std::string::npos;
      });
      return found != std::end(kModels) && entry.second > Bandwidth(found->total) * Rational(3, 2);
    });
  }

  void addLinks() {
    const bool isHalved = isDoubled();
    if (isHalved) {
      tell(Severity::warning,
           "NVLink bandwidths are twice those of the GPU's model, as hwloc before 2.12 writes them; half of "
           "them is used",
           "compare with: nvidia-smi nvlink -s");
    }
    int hub = -1;
    for (const auto& [ends, stated] : m_links) {
      const Bandwidth bandwidth = isHalved ? stated / Rational(2) : stated;
      if (ends.second == kNvSwitch) {
        if (hub < 0) {
          hub = static_cast<int>(m_box.nodes.size());
          m_box.nodes.push_back({BoxRole::nvSwitch, "nvswitch", {}, -1, {}, {}});
        }
        m_box.gpuLinks.push_back({ends.first, hub, bandwidth, 1});
      } else if (ends.first < ends.second) {
        const auto back = m_links.find({ends.second, ends.first});
        const Bandwidth other = back == m_links.end() ? stated : back->second;
        m_box.gpuLinks.push_back(
            {ends.first, ends.second, isHalved ? std::min(stated, other) / Rational(2) : std::min(stated, other), 1});
      }
    }
    for (const auto& [ends, stated] : m_cpuLinks) {
      m_box.hostLinks.push_back({ends.first, m_packages.at(ends.second), isHalved ? stated / Rational(2) : stated, 1});
    }
    if (m_links.empty() && m_gpus.size() > 1) {
      tell(Severity::warning, "the file has no matrix of NVLink or xGMI bandwidths: PCIe alone joins the GPUs",
           "if they have NVLink or xGMI, use an hwloc that was built with NVML or ROCm SMI");
    }
  }

  void joinPackages() {
    if (m_hasUnknownSpeed) {
      tell(Severity::note, "hwloc gives no speed of some PCIe links (it needs root): 16 GB/s per direction is assumed",
           "run lstopo as root, or give the bandwidth of a PCIe link");
    }
    if (m_nics > 0 && !m_options.nicBandwidth) {
      tell(Severity::note, "hwloc gives no speeds of NICs: they are assumed by their PCIe links",
           "give the NICs' bandwidth if this is wrong");
    }
    if (m_packages.size() < 2) {
      return;
    }
    const Bandwidth socket = m_options.socketBandwidth.value_or(Bandwidth(16));
    m_taken.socketBandwidth = socket;
    if (!m_options.socketBandwidth) {
      tell(Severity::note, "hwloc gives no speed between packages: 16 GB/s per direction is assumed",
           "give it if this is wrong");
    }
    for (auto a = m_packages.begin(); a != m_packages.end(); ++a) {
      for (auto b = std::next(a); b != m_packages.end(); ++b) {
        m_box.hostLinks.push_back({a->second, b->second, socket, 1});
      }
    }
  }

  const std::string& m_fileName;
  XmlText m_xml;
  const NvidiaSmiOptions& m_options;
  Box m_box;
  std::vector<std::pair<int, std::string>> m_gpus;  // node, model
  std::map<std::ptrdiff_t, int> m_packages;         // by where they are in the file
  std::map<std::string, int> m_byIndex;
  std::map<std::string, std::ptrdiff_t> m_packageOfIndex;  // as m_packages has it
  std::map<std::pair<int, std::ptrdiff_t>, Bandwidth> m_cpuLinks;
  std::map<std::pair<int, int>, Bandwidth> m_links;  // GB/s of one direction
  std::set<std::string> m_ids;
  int m_nics = 0;
  bool m_hasUnknownSpeed = false;
  bool m_hasComputeGpu = false;
  ImportedServer m_taken;
  std::vector<Finding> m_findings;
};

}  // namespace

Result<ImportResult> readHwloc(std::string_view text, const std::string& fileName, const NvidiaSmiOptions& options) {
  return guarded([&] { return HwlocReader(text, fileName, options).run(); },
                 {.overflowFix = "use smaller numbers",
                  .memory = "the file does not fit into memory",
                  .memoryFix = "give the file of one machine",
                  .where = Place{fileName, 0, 0, {}}});
}

}  // namespace coppice::io
