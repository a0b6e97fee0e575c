// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "base/counted.hpp"
#include "coppice/version.hpp"
#include "io/fabric_json.hpp"
#include "probe/gpu_json.hpp"
#include "probe/probe.hpp"

namespace coppice::probe {
namespace {

std::string bytesText(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return buffer.data();
}

/// {0,1,2,5} as "0-2,5".
std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) {
      ++j;
    }
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (j > i) {
      text += "-" + std::to_string(numbers[j]);
    }
    i = j + 1;
  }
  return text;
}

/// Texts of drivers and files must not steer a terminal.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = '?';
    }
  }
  return text;
}

std::string_view word(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

std::string pcieText(const PciDevice* device) {
  if (device == nullptr || (device->linkSpeed.empty() && device->linkWidth == 0)) {
    return "PCIe link not stated";
  }
  std::string speed = device->linkSpeed;
  if (const std::size_t end = speed.find(" PCIe"); end != std::string::npos) {
    speed.resize(end);
  }
  return "PCIe " + (speed.empty() ? std::string("of unknown speed") : speed) +
         (device->linkWidth > 0 ? " x" + std::to_string(device->linkWidth) : "") +
         (device->fullWidth > device->linkWidth ? " (of x" + std::to_string(device->fullWidth) + ")" : "");
}

Json toJson(const PcieEnd& end) {
  return {{"speed", end.speed}, {"width", end.width}, {"max_speed", end.maxSpeed}, {"max_width", end.maxWidth}};
}

template <typename Value>
Json orNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json machineObject(const Machine& machine) {
  Json numa = Json::array();
  for (const NumaNode& node : machine.numa) {
    numa.push_back(
        {{"id", node.id}, {"cpus", ranges(node.cpus)}, {"memory", node.memoryBytes}, {"distances", node.distances}});
  }
  Json gpus = Json::array();
  for (const Gpu& gpu : machine.gpus) {
    gpus.push_back(toJson(gpu));
  }
  Json nics = Json::array();
  for (const Nic& nic : machine.nics) {
    nics.push_back({{"name", nic.name},
                    {"port", nic.port},
                    {"interface", nic.netName},
                    {"address", nic.address},
                    {"rdma", nic.isRdma},
                    {"state", nic.state},
                    {"link_layer", nic.linkLayer},
                    {"megabits", nic.megabitsPerSecond},
                    {"driver", nic.driver},
                    {"firmware", nic.firmware}});
  }
  Json pci = Json::array();
  for (const PciDevice& device : machine.pci) {
    pci.push_back({{"address", device.address},
                   {"class", device.classCode},
                   {"vendor", device.vendor},
                   {"device", device.device},
                   {"above", device.above},
                   {"numa", device.numaNode},
                   {"own", toJson(device.own)},
                   {"port", toJson(device.port)},
                   {"speed", device.linkSpeed},
                   {"width", device.linkWidth},
                   {"full_width", device.fullWidth}});
  }
  const Processor& cpu = machine.processor;
  const Limits& limits = machine.limits;
  return {{"host", machine.host},
          {"system", machine.system},
          {"kernel", machine.kernel},
          {"distribution", machine.distribution},
          {"cpu",
           {{"model", cpu.model},
            {"vendor", cpu.vendor},
            {"family", cpu.family},
            {"model_number", cpu.modelNumber},
            {"sockets", cpu.sockets},
            {"cores", cpu.cores},
            {"threads", cpu.threads}}},
          {"numa", numa},
          {"memory", {{"total", machine.memoryBytes}, {"available", machine.availableBytes}}},
          {"limits",
           {{"usable_cores", limits.usableCores},
            {"affinity", ranges(limits.affinity)},
            {"quota_cores", orNull(limits.quotaCores)},
            {"memory", orNull(limits.memoryBytes)},
            {"locked_memory", orNull(limits.lockedMemoryBytes)},
            {"shared_memory", orNull(limits.sharedMemoryBytes)}}},
          {"gpus", gpus},
          {"nics", nics},
          {"pci", pci},
          {"software", machine.software}};
}

}  // namespace

std::string machineJson(const Machine& machine, Rates rates) {
  Json unreadable = Json::array();
  for (const Unreadable& entry : machine.unreadable) {
    unreadable.push_back({{"what", entry.what}, {"why", entry.why}, {"fix", entry.fix}});
  }
  Json all = {{"t", "probe"},
              {"format", 1},
              {"version", kVersion},
              {"machine", machineObject(machine)},
              {"unreadable", unreadable}};
  std::vector<Finding> findings = machine.findings;
  auto drawn = drawFabric(machine, rates);
  if (drawn) {
    findings.insert(findings.end(), drawn->findings.begin(), drawn->findings.end());
  }
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", word(finding.severity)},
                    {"text", finding.text},
                    {"fix", finding.fix},
                    {"element", toText(finding.where.element)}});
  }
  all["findings"] = list;
  all["fabric"] = drawn ? Json::parse(io::writeFabricJson(drawn->description)) : Json(nullptr);
  all["fabric_reason"] = drawn ? std::string() : describe(drawn.error());
  const auto topology = ncclTopology(machine);
  all["nccl_topology"] = topology ? Json(*topology) : Json(nullptr);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string machineText(const Machine& machine) {
  std::string text;
  const auto line = [&](const std::string& key, const std::string& value) {
    std::array<char, 32> head{};
    std::snprintf(head.data(), head.size(), "%-13s ", key.c_str());
    text += head.data() + plain(value) + "\n";
  };
  const Processor& cpu = machine.processor;
  const Limits& limits = machine.limits;
  line("Host", machine.host + ", " + machine.system + " " + machine.kernel +
                   (machine.distribution.empty() ? "" : ", " + machine.distribution));
  line("Processor", (cpu.model.empty() ? std::string("unknown model") : cpu.model) + ": " +
                        counted(cpu.sockets, "socket") + ", " + counted(cpu.cores, "core") + ", " +
                        counted(cpu.threads, "thread"));
  std::string use = counted(limits.usableCores, "core") + " usable (affinity " +
                    (limits.affinity.empty() ? std::string("not known") : ranges(limits.affinity));
  if (limits.quotaCores) {
    std::array<char, 48> quota{};
    std::snprintf(quota.data(), quota.size(), ", control group quota %.3g", *limits.quotaCores);
    use += quota.data();
  }
  line("", use + ")");
  line("Memory", bytesText(machine.memoryBytes) + ", " + bytesText(machine.availableBytes) + " available" +
                     (limits.memoryBytes ? ", control group limit " + bytesText(*limits.memoryBytes) : "") +
                     (limits.sharedMemoryBytes ? ", /dev/shm " + bytesText(*limits.sharedMemoryBytes) : "") +
                     (limits.lockedMemoryBytes ? ", lockable " + bytesText(*limits.lockedMemoryBytes) : ""));
  for (const NumaNode& node : machine.numa) {
    line(node.id == machine.numa.front().id ? "NUMA" : "",
         "node " + std::to_string(node.id) + ": cpus " + ranges(node.cpus) + ", " + bytesText(node.memoryBytes));
  }
  if (machine.gpus.empty()) {
    line("GPUs", "none with a working driver");
  }
  for (const Gpu& gpu : machine.gpus) {
    std::size_t up = 0;
    for (const NvLink& link : gpu.links) {
      up += link.isUp ? 1U : 0U;
    }
    const PciDevice* const device = machine.findPci(gpu.address);
    line(&gpu == machine.gpus.data() ? "GPUs" : "",
         std::to_string(gpu.index) + ": " + gpu.name + ", " + gpu.address + ", compute " +
             std::to_string(gpu.computeMajor) + "." + std::to_string(gpu.computeMinor) + ", " +
             bytesText(gpu.memoryBytes) + " (" + bytesText(gpu.freeBytes) + " free), " + pcieText(device) + ", " +
             (gpu.links.empty() ? std::string("no NVLink")
                                : std::to_string(up) + " of " + counted(gpu.links.size(), "NVLink") + " up"));
  }
  if (machine.nics.empty()) {
    line("Network", "only software devices");
  }
  for (const Nic& nic : machine.nics) {
    std::array<char, 48> rate{};
    std::snprintf(rate.data(), rate.size(), "%.4g Gbit/s", static_cast<double>(nic.megabitsPerSecond) / 1000);
    line(&nic == machine.nics.data() ? "Network" : "",
         nic.name + (nic.isRdma ? " port " + std::to_string(nic.port) : "") + ": " + nic.linkLayer + ", " + nic.state +
             ", " + (nic.megabitsPerSecond > 0 ? std::string(rate.data()) : std::string("rate not stated")) +
             (nic.address.empty() ? "" : ", " + nic.address + ", " + pcieText(machine.findPci(nic.address))));
  }
  std::string software;
  for (const auto& [name, version] : machine.software) {
    line(software.empty() ? "Software" : "", name + ": " + version);
    software = name;
  }
  for (const Unreadable& entry : machine.unreadable) {
    line(&entry == machine.unreadable.data() ? "Not readable" : "",
         entry.what + ": " + entry.why + (entry.fix.empty() ? "" : "; " + entry.fix));
  }
  for (const Finding& finding : machine.findings) {
    line(&finding == machine.findings.data() ? "Noticed" : "", describe(finding));
  }
  return text;
}

}  // namespace coppice::probe
