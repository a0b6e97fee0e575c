// SPDX-License-Identifier: Apache-2.0
#include "probe/gpu_json.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "probe/nvml.hpp"

namespace coppice::probe {
namespace {

std::string_view word(RemoteKind kind) {
  switch (kind) {
    case RemoteKind::gpu:
      return "gpu";
    case RemoteKind::nvSwitch:
      return "nvswitch";
    case RemoteKind::cpu:
      return "cpu";
    case RemoteKind::unknown:
      break;
  }
  return "unknown";
}

RemoteKind remoteKind(const std::string& text) {
  for (const RemoteKind kind : {RemoteKind::gpu, RemoteKind::nvSwitch, RemoteKind::cpu}) {
    if (text == word(kind)) {
      return kind;
    }
  }
  return text == "switch" ? RemoteKind::nvSwitch : RemoteKind::unknown;  // of older recordings
}

/// 0 where the text is no number.
int numberIn(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Json toJson(const Gpu& gpu) {
  Json links = Json::array();
  for (const NvLink& link : gpu.links) {
    links.push_back({{"link", link.index},
                     {"up", link.isUp},
                     {"version", link.version},
                     {"remote", word(link.remote)},
                     {"remote_address", link.remoteAddress}});
  }
  return {{"index", gpu.index},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"address", gpu.address},
          {"compute", std::to_string(gpu.computeMajor) + "." + std::to_string(gpu.computeMinor)},
          {"memory", gpu.memoryBytes},
          {"free", gpu.freeBytes},
          {"mig", gpu.isPartitioned},
          {"processes", gpu.processes},
          {"pcie_generation", gpu.pcieGeneration},
          {"pcie_width", gpu.pcieWidth},
          {"nvlinks", links}};
}

Gpu readGpu(const Json& object) {
  Gpu gpu;
  gpu.index = object.value("index", 0);
  gpu.name = object.value("name", "");
  gpu.uuid = object.value("uuid", "");
  gpu.address = normalAddress(object.value("address", ""));
  if (const Json& compute = object.at("compute"); compute.is_array()) {  // of older recordings
    gpu.computeMajor = compute.at(0).get<int>();
    gpu.computeMinor = compute.at(1).get<int>();
  } else {
    const auto text = compute.get<std::string>();
    const std::size_t point = text.find('.');
    gpu.computeMajor = numberIn(std::string_view(text).substr(0, point));
    gpu.computeMinor = point == std::string::npos ? 0 : numberIn(std::string_view(text).substr(point + 1));
  }
  gpu.memoryBytes = object.value("memory", std::int64_t{0});
  gpu.freeBytes = object.value("free", std::int64_t{0});
  gpu.isPartitioned = object.value("mig", false);
  gpu.processes = object.value("processes", 0);
  gpu.pcieGeneration = object.value("pcie_generation", 0);
  gpu.pcieWidth = object.value("pcie_width", 0);
  for (const Json& line : object.value("nvlinks", Json::array())) {
    NvLink link;
    link.index = line.at("link").get<int>();
    link.isUp = line.at("up").get<bool>();
    link.version = line.value("version", 0);
    link.remote = remoteKind(line.value("remote", ""));
    link.remoteAddress = normalAddress(line.value("remote_address", ""));
    gpu.links.push_back(std::move(link));
  }
  return gpu;
}

}  // namespace coppice::probe
