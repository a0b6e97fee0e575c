// SPDX-License-Identifier: Apache-2.0
#include "probe/probe.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>

#include "base/ascii.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"

namespace coppice::probe {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices/";

/// Value of the first line "key : value".
std::string valueOf(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(std::string_view(line).substr(0, colon)) == key) {
      return std::string(trimmed(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

std::int64_t leadingNumber(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "Node 0 MemTotal: 16 kB" and "MemTotal: 16 kB" as bytes.
std::int64_t kilobytesOf(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key + ":");
  if (at == std::string::npos) {
    return 0;
  }
  return leadingNumber(trimmed(std::string_view(text).substr(at + key.size() + 1))) * 1024;
}

/// "16.0 GT/s PCIe" as 16; 0 where there is no number.
double transfers(const std::string& speed) {
  double value = 0;
  std::from_chars(speed.data(), speed.data() + speed.size(), value);
  return value;
}

const std::string& lesserSpeed(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) {
    return a.empty() ? b : a;
  }
  return transfers(b) < transfers(a) ? b : a;
}

int lesserWidth(int a, int b) {
  return a <= 0 || b <= 0 ? std::max({a, b, 0}) : std::min(a, b);
}

class Reader {
public:
  Reader(const Tree& tree, GpuSource& gpus) : m_tree(tree), m_gpuSource(gpus) {}

  Machine run() {
    readSystem();
    readProcessor();
    readNuma();
    readMemory();
    readLimits();
    readGpus();
    readNics();
    judge();
    for (const auto& [path, why] : m_tree.refused()) {
      // A port that is down refuses its speed: that is said of the port.
      if (!path.starts_with("/sys/class/net/")) {
        lacks(path, why);
      }
    }
    return std::move(m_machine);
  }

private:
  void lacks(std::string what, std::string why, std::string fix = {}) {
    m_machine.unreadable.push_back({std::move(what), std::move(why), std::move(fix)});
  }
  void find(Severity severity, std::string text, std::string fix, std::string device) {
    m_machine.findings.push_back({severity,
                                  ErrorCode::unavailable,
                                  std::move(text),
                                  std::move(fix),
                                  {.element = {RefKind::device, std::move(device)}}});
  }

  void readSystem() {
    m_machine.host = m_tree.text("/proc/sys/kernel/hostname").value_or("");
    m_machine.kernel = m_tree.text("/proc/sys/kernel/osrelease").value_or("");
    m_machine.system = m_tree.text("/proc/sys/kernel/ostype").value_or("Linux");
    if (utsname names{}; m_tree.isLive() && ::uname(&names) == 0) {
      m_machine.system += std::string(" ") + names.machine;
    }
    std::istringstream lines(m_tree.text("/etc/os-release").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("PRETTY_NAME=")) {
        std::string name = line.substr(12);
        std::erase(name, '"');
        m_machine.distribution = name;
      }
    }
  }

  void readProcessor() {
    Processor& cpu = m_machine.processor;
    const auto info = m_tree.text("/proc/cpuinfo");
    if (!info) {
      lacks("processor model", "/proc/cpuinfo cannot be read");
    } else {
      cpu.model = valueOf(*info, "model name");
      cpu.vendor = valueOf(*info, "vendor_id");
      cpu.family = static_cast<int>(leadingNumber(valueOf(*info, "cpu family")));
      cpu.modelNumber = static_cast<int>(leadingNumber(valueOf(*info, "model")));
    }
    std::set<long long> sockets;
    std::set<std::pair<long long, long long>> cores;
    const std::string folder = "/sys/devices/system/cpu/";
    const auto online = parseCpuList(m_tree.text(folder + "online").value_or(""));
    if (!online || online->empty()) {
      lacks("cores and sockets", folder + "online cannot be read");
      return;
    }
    for (const int thread : *online) {
      const std::string topology = folder + "cpu" + std::to_string(thread) + "/topology/";
      const auto socket = m_tree.number(topology + "physical_package_id");
      sockets.insert(socket.value_or(0));
      cores.insert({socket.value_or(0), m_tree.number(topology + "core_id").value_or(thread)});
    }
    cpu.threads = static_cast<int>(online->size());
    cpu.cores = static_cast<int>(cores.size());
    cpu.sockets = static_cast<int>(sockets.size());
  }

  void readNuma() {
    const std::string folder = "/sys/devices/system/node";
    for (const std::string& name : m_tree.names(folder)) {
      if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos ||
          name.size() < 5) {
        continue;
      }
      NumaNode node;
      node.id = static_cast<int>(leadingNumber(std::string_view(name).substr(4)));
      const std::string path = folder + "/" + name;
      node.cpus = parseCpuList(m_tree.text(path + "/cpulist").value_or("")).value_or(std::vector<int>{});
      node.memoryBytes = kilobytesOf(m_tree.text(path + "/meminfo").value_or(""), "MemTotal");
      std::istringstream distances(m_tree.text(path + "/distance").value_or(""));
      for (int distance = 0; distances >> distance;) {
        node.distances.push_back(distance);
      }
      m_machine.numa.push_back(std::move(node));
    }
    if (m_machine.numa.empty()) {
      lacks("NUMA nodes", folder + " has none", "the machine counts as one node");
    }
  }

  void readMemory() {
    const auto info = m_tree.text("/proc/meminfo");
    if (!info) {
      lacks("memory", "/proc/meminfo cannot be read");
      return;
    }
    m_machine.memoryBytes = kilobytesOf(*info, "MemTotal");
    m_machine.availableBytes = kilobytesOf(*info, "MemAvailable");
  }

  /// The folder of this process's group under each controller's mount: "/sys/fs/cgroup/…", nearest first.
  [[nodiscard]] std::vector<std::string> groupFolders(const std::string& controller) const {
    std::vector<std::string> folders;
    std::istringstream lines(m_tree.text("/proc/self/cgroup").value_or(""));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find(':');
      const std::size_t second = line.find(':', first + 1);
      if (first == std::string::npos || second == std::string::npos) {
        continue;
      }
      const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
      const bool isUnified = names == ",,";
      if (!isUnified && names.find("," + controller + ",") == std::string::npos) {
        continue;
      }
      const std::string mount = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
      std::string path = line.substr(second + 1);
      for (int depth = 0; depth < 64; ++depth) {
        folders.push_back(mount + path);
        const std::size_t slash = path.rfind('/');
        if (slash == std::string::npos) {
          break;
        }
        path.resize(slash);
      }
    }
    return folders;
  }

  void readLimits() {
    Limits& limits = m_machine.limits;
    const auto status = m_tree.text("/proc/self/status");
    limits.affinity = parseCpuList(valueOf(status.value_or(""), "Cpus_allowed_list")).value_or(std::vector<int>{});
    if (m_tree.isLive()) {
      // The list names processors that the machine could have; the call those that it has.
      cpu_set_t set;
      CPU_ZERO(&set);
      if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
        limits.affinity.clear();
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
          if (CPU_ISSET(cpu, &set)) {
            limits.affinity.push_back(cpu);
          }
        }
      }
    }
    for (const std::string& folder : groupFolders("cpu")) {
      std::optional<double> cores;
      std::istringstream pair(m_tree.text(folder + "/cpu.max").value_or(""));
      double quota = 0;
      double period = 0;
      if (pair >> quota >> period && period > 0) {
        cores = quota / period;
      } else if (const auto microseconds = m_tree.number(folder + "/cpu.cfs_quota_us"); microseconds.value_or(-1) > 0) {
        const auto each = m_tree.number(folder + "/cpu.cfs_period_us").value_or(100000);
        cores = static_cast<double>(*microseconds) / static_cast<double>(std::max(each, 1LL));
      }
      if (cores && (!limits.quotaCores || *cores < *limits.quotaCores)) {
        limits.quotaCores = cores;
      }
    }
    for (const std::string& folder : groupFolders("memory")) {
      auto bytes = m_tree.number(folder + "/memory.max");
      if (!bytes) {
        bytes = m_tree.number(folder + "/memory.limit_in_bytes");
      }
      // Version 1 says "none" by a number near the largest.
      if (bytes && *bytes < (1LL << 60) && (!limits.memoryBytes || *bytes < *limits.memoryBytes)) {
        limits.memoryBytes = *bytes;
      }
    }
    const int threads =
        limits.affinity.empty() ? m_machine.processor.threads : static_cast<int>(limits.affinity.size());
    limits.usableCores = std::max(threads, 1);
    if (limits.quotaCores) {
      limits.usableCores = std::clamp(static_cast<int>(std::floor(*limits.quotaCores + 0.001)), 1, limits.usableCores);
    }
    if (m_tree.isLive()) {
      rlimit locked{};
      if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY) {
        limits.lockedMemoryBytes = static_cast<std::int64_t>(locked.rlim_cur);
      }
      struct statvfs shared {};
      if (::statvfs("/dev/shm", &shared) == 0) {
        limits.sharedMemoryBytes =
            static_cast<std::int64_t>(shared.f_bavail) * static_cast<std::int64_t>(shared.f_frsize);
      }
      if (const auto left = availableMemory()) {
        m_machine.availableBytes = *left;
      }
    }
  }

  // ---- PCI

  [[nodiscard]] PcieEnd readEnd(const std::string& folder) const {
    const auto speedOf = [&](const char* name) {
      std::string text = m_tree.text(folder + name).value_or("");
      return transfers(text) > 0 ? text : std::string();
    };
    const auto widthOf = [&](const char* name) {
      const long long width = m_tree.number(folder + name).value_or(0);
      return width > 0 && width <= 32 ? static_cast<int>(width) : 0;
    };
    return {speedOf("/current_link_speed"), widthOf("/current_link_width"), speedOf("/max_link_speed"),
            widthOf("/max_link_width")};
  }

  static void settleLink(PciDevice& device) {
    const std::string& able = lesserSpeed(device.own.maxSpeed, device.port.maxSpeed);
    device.linkSpeed = able.empty() ? lesserSpeed(device.own.speed, device.port.speed) : able;
    device.fullWidth = lesserWidth(device.own.maxWidth, device.port.maxWidth);
    device.linkWidth = lesserWidth(device.fullWidth, lesserWidth(device.own.width, device.port.width));
    if (device.fullWidth == 0) {
      device.fullWidth = device.linkWidth;
    }
  }

  /// Adds the device and the switches above it. A PCIe switch is two PCI devices deep, an upstream and a downstream
  /// port; it goes by its upstream port, as in NCCL.
  void addPci(const std::string& address) {
    if (m_machine.findPci(address) != nullptr) {
      return;
    }
    const auto path = m_tree.resolved(kDevices + address);
    if (!path) {
      lacks("PCI device " + address, "the kernel does not list it", "look whether /sys is that of the host");
      return;
    }
    struct Hop {
      std::string address;
      std::string folder;
    };
    std::vector<Hop> hops;  // from the root port down
    std::string folder;
    std::istringstream parts(*path);
    for (std::string part; std::getline(parts, part, '/');) {
      if (part.empty()) {
        continue;
      }
      folder += "/" + part;
      if (const std::string known = normalAddress(part); !known.empty()) {
        hops.push_back({known, folder});
      }
    }
    for (int at = static_cast<int>(hops.size()) - 1; at >= 0; at -= 2) {
      const Hop& hop = hops[at];
      if (m_machine.findPci(hop.address) != nullptr) {
        return;
      }
      PciDevice device;
      device.address = hop.address;
      device.classCode = m_tree.text(hop.folder + "/class").value_or("");
      device.vendor = m_tree.text(hop.folder + "/vendor").value_or("");
      device.device = m_tree.text(hop.folder + "/device").value_or("");
      device.numaNode = static_cast<int>(m_tree.number(hop.folder + "/numa_node").value_or(-1));
      device.own = readEnd(hop.folder);
      if (at >= 1) {
        device.port = readEnd(hops[at - 1].folder);
      }
      if (at >= 2) {
        device.above = hops[at - 2].address;
      }
      settleLink(device);
      m_machine.pci.push_back(std::move(device));
    }
  }

  // ---- devices

  void readGpus() {
    auto answer = m_gpuSource.read();
    if (answer) {
      m_machine.gpus = std::move(answer->gpus);
      if (!answer->driver.empty()) {
        m_machine.software["nvidia_driver"] = answer->driver;
      }
      if (!answer->cudaDriver.empty()) {
        m_machine.software["cuda_driver"] = answer->cudaDriver;
      }
      for (Unreadable& entry : answer->unreadable) {
        m_machine.unreadable.push_back(std::move(entry));
      }
    } else {
      lacks("GPUs through NVML", answer.error().message, answer.error().fix);
    }
    for (const Gpu& gpu : m_machine.gpus) {
      if (!gpu.address.empty()) {
        addPci(gpu.address);
      }
    }
    // Devices that no driver answers for.
    for (const std::string& address : m_tree.names(kDevices)) {
      const std::string code = m_tree.text(kDevices + address + "/class").value_or("");
      const std::string vendor = m_tree.text(kDevices + address + "/vendor").value_or("");
      const bool isNvidia = vendor == "0x10de" && code.starts_with("0x0302");
      const bool isAmd = vendor == "0x1002" && (code.starts_with("0x12") || code.starts_with("0x0380"));
      if ((isNvidia || isAmd) && m_machine.findPci(normalAddress(address)) == nullptr) {
        find(Severity::warning,
             std::string(isNvidia ? "an NVIDIA" : "an AMD") + " GPU is there, but no driver answers for it",
             isNvidia ? "install or load the NVIDIA driver; look at what nvidia-smi says"
                      : "AMD GPUs cannot be probed yet",
             "PCI " + address);
      }
    }
  }

  void readNics() {
    std::set<std::string> rdmaAddresses;
    const std::string folder = "/sys/class/infiniband/";
    for (const std::string& name : m_tree.names(folder)) {
      const std::string address = pciAddressOf(folder + name + "/device");
      for (const std::string& port : m_tree.names(folder + name + "/ports")) {
        const std::string path = folder + name + "/ports/" + port;
        Nic nic;
        nic.name = name;
        nic.port = static_cast<int>(leadingNumber(port));
        nic.address = address;
        nic.isRdma = true;
        const std::string state = m_tree.text(path + "/state").value_or("");
        const std::size_t colon = state.find(": ");
        nic.state = lowered(colon == std::string::npos ? state : state.substr(colon + 2));
        nic.linkLayer = m_tree.text(path + "/link_layer").value_or("");
        // "200 Gb/sec (4X HDR)", "2.5 Gb/sec (1X SDR)".
        const double gigabits = transfers(m_tree.text(path + "/rate").value_or(""));
        nic.megabitsPerSecond = gigabits > 0 && gigabits < 1e6 ? std::llround(gigabits * 1000) : 0;
        nic.firmware = m_tree.text(folder + name + "/fw_ver").value_or("");
        nic.driver = driverOf(folder + name + "/device");
        if (!address.empty()) {
          const auto interfaces = m_tree.names(folder + name + "/device/net");
          nic.netName = interfaces.empty() ? "" : interfaces.front();
          rdmaAddresses.insert(address);
          addPci(address);
        }
        m_machine.nics.push_back(std::move(nic));
      }
    }
    for (const std::string& name : m_tree.names("/sys/class/net")) {
      const std::string path = "/sys/class/net/" + name;
      if (!m_tree.exists(path + "/device")) {
        continue;  // made of software: loopback, bridges, tunnels
      }
      const std::string address = pciAddressOf(path + "/device");
      if (rdmaAddresses.contains(address)) {
        continue;
      }
      Nic nic;
      nic.name = name;
      nic.netName = name;
      nic.address = address;
      nic.state = m_tree.text(path + "/operstate").value_or("");
      nic.linkLayer = "Ethernet";
      const long long speed = m_tree.number(path + "/speed").value_or(0);
      nic.megabitsPerSecond = speed > 0 && speed < 10'000'000 ? speed : 0;  // -1 = not known, as virtio says
      nic.driver = driverOf(path + "/device");
      if (!address.empty()) {
        addPci(address);
      }
      m_machine.nics.push_back(std::move(nic));
    }
  }

  [[nodiscard]] std::string pciAddressOf(const std::string& link) const {
    // A virtio device is below the PCI device: the nearest PCI part of the path counts.
    std::string address;
    std::istringstream parts(m_tree.resolved(link).value_or(""));
    for (std::string part; std::getline(parts, part, '/');) {
      if (std::string known = normalAddress(part); !known.empty()) {
        address = std::move(known);
      }
    }
    return address;
  }

  [[nodiscard]] std::string driverOf(const std::string& device) const {
    const auto driver = m_tree.resolved(device + "/driver");
    return driver ? driver->substr(driver->rfind('/') + 1) : std::string();
  }

  // ---- what looks wrong

  static std::string gpuName(const Gpu& gpu) {
    return "GPU " + std::to_string(gpu.index) + (gpu.address.empty() ? "" : " (" + gpu.address + ")");
  }

  void judge() {
    for (const Gpu& gpu : m_machine.gpus) {
      judgeLinks(gpu);
      if (gpu.isPartitioned) {
        find(Severity::warning, "MIG is on: the GPU is cut into instances, which have neither NVLink nor peer access",
             "turn it off with nvidia-smi -mig 0", gpuName(gpu));
      }
      if (gpu.processes > 0) {
        find(Severity::note,
             std::to_string(gpu.processes) + (gpu.processes == 1 ? " process computes" : " processes compute") +
                 " on it now",
             "measure when it is free", gpuName(gpu));
      }
      if (const PciDevice* device = m_machine.findPci(gpu.address)) {
        judgePcie(*device, gpuName(gpu));
      }
    }
    for (const Nic& nic : m_machine.nics) {
      const std::string name = "NIC " + nic.name + (nic.isRdma ? " port " + std::to_string(nic.port) : "");
      if (nic.isRdma && nic.state != "active") {
        find(Severity::warning, "the port is " + (nic.state.empty() ? "in an unknown state" : nic.state),
             "check the cable, the switch and the subnet manager", name);
      }
      if (nic.megabitsPerSecond == 0 && (nic.state == "active" || nic.state == "up")) {
        lacks("rate of " + name, "its driver does not state one (usual in virtual machines)",
              "measure it with coppice-exec profile");
      }
      if (const PciDevice* device = m_machine.findPci(nic.address); device != nullptr && nic.port == 1) {
        judgePcie(*device, name);
      }
    }
    for (const PciDevice& device : m_machine.pci) {
      if (device.classCode.starts_with("0x0604")) {
        judgePcie(device, "PCIe switch " + device.address);
      }
    }
  }

  void judgeLinks(const Gpu& gpu) {
    std::string down;
    std::size_t up = 0;
    for (const NvLink& link : gpu.links) {
      if (link.isUp) {
        ++up;
      } else {
        down += (down.empty() ? "" : ", ") + std::to_string(link.index);
      }
    }
    std::size_t max = 0;
    for (const Gpu& peer : m_machine.gpus) {
      if (peer.name == gpu.name) {
        max = std::max(max, static_cast<std::size_t>(std::count_if(peer.links.begin(), peer.links.end(),
                                                                   [](const NvLink& link) { return link.isUp; })));
      }
    }
    if (up < max) {
      find(Severity::warning,
           std::to_string(up) + " NVLinks are up, " + std::to_string(max) + " on its equals" +
               (down.empty() ? "" : "; down: " + down),
           "see nvidia-smi nvlink --status, and the kernel log for NVLink errors", gpuName(gpu));
    } else if (!down.empty() && up > 0) {
      find(Severity::note, "NVLinks that are down, as on its equals: " + down, "", gpuName(gpu));
    }
  }

  void judgePcie(const PciDevice& device, const std::string& name) {
    if (device.linkWidth > 0 && device.linkWidth < device.fullWidth) {
      find(Severity::warning,
           "its PCIe link runs at x" + std::to_string(device.linkWidth) + ", both ends support x" +
               std::to_string(device.fullWidth),
           "reseat the card or riser, and look for PCIe errors in the kernel log", name);
    } else if (device.own.maxWidth > device.fullWidth && device.fullWidth > 0) {
      find(Severity::note,
           "its slot has x" + std::to_string(device.fullWidth) + ", the device supports x" +
               std::to_string(device.own.maxWidth),
           "", name);
    }
    if (transfers(device.own.maxSpeed) > transfers(device.port.maxSpeed) && !device.port.maxSpeed.empty()) {
      find(Severity::note, "its slot supports " + device.port.maxSpeed + ", the device supports " + device.own.maxSpeed,
           "", name);
    }
  }

  const Tree& m_tree;
  GpuSource& m_gpuSource;
  Machine m_machine;
};

}  // namespace

const PciDevice* Machine::findPci(const std::string& address) const {
  const auto found = std::find_if(pci.begin(), pci.end(), [&](const PciDevice& d) { return d.address == address; });
  return found == pci.end() ? nullptr : &*found;
}

Machine readMachine(const Tree& tree, GpuSource& gpus) {
  return Reader(tree, gpus).run();
}

}  // namespace coppice::probe
