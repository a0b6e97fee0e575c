// SPDX-License-Identifier: Apache-2.0
#include "probe/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
#include <new>

#include "probe/gpu_json.hpp"

namespace coppice::probe {
namespace {

// What we use of NVML's interface (NVIDIA's NVML API reference): the toolkit often comes without its header.
using Device = struct OpaqueDevice*;
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kDriverNotLoaded = 9;
constexpr int kMismatch = 18;
constexpr unsigned kMaxLinks = 36;
constexpr unsigned kMaxGpus = 1024;

struct PciInfo {
  char busIdLegacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pciDeviceId;
  unsigned pciSubSystemId;
  char busId[32];
};
struct MemoryInfo {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// The loaded library. A function that an old driver lacks is null and answers kNotSupported.
class Library {
public:
  explicit Library(void* handle) : m_handle(handle) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (m_isStarted) {
      call<int()>("nvmlShutdown");
    }
    ::dlclose(m_handle);
  }

  int start() {
    const int answer = call<int()>("nvmlInit_v2");
    m_isStarted = answer == kSuccess;
    return answer;
  }

  template <typename Signature, typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    void* const symbol = ::dlsym(m_handle, name);
    return symbol == nullptr ? kNotSupported : reinterpret_cast<Signature*>(symbol)(arguments...);
  }

  [[nodiscard]] std::string words(int code) const {
    void* const symbol = ::dlsym(m_handle, "nvmlErrorString");
    const char* const text = symbol == nullptr ? nullptr : reinterpret_cast<const char* (*)(int)>(symbol)(code);
    return text == nullptr ? "NVML error " + std::to_string(code) : text;
  }

private:
  void* m_handle;
  bool m_isStarted = false;
};

template <std::size_t Size>
std::string fromBuffer(std::array<char, Size>& buffer) {
  buffer.back() = '\0';
  return buffer.data();
}

std::string systemText(const Library& library, const char* function) {
  std::array<char, 96> buffer{};
  const int answer = library.call<int(char*, unsigned)>(function, buffer.data(), static_cast<unsigned>(buffer.size()));
  return answer == kSuccess ? fromBuffer(buffer) : std::string();
}

std::string deviceText(const Library& library, const char* function, Device device) {
  std::array<char, 128> buffer{};
  const int answer =
      library.call<int(Device, char*, unsigned)>(function, device, buffer.data(), static_cast<unsigned>(buffer.size()));
  return answer == kSuccess ? fromBuffer(buffer) : std::string();
}

unsigned deviceNumber(const Library& library, const char* function, Device device) {
  unsigned value = 0;
  return library.call<int(Device, unsigned*)>(function, device, &value) == kSuccess ? value : 0;
}

std::vector<NvLink> readLinks(const Library& library, Device device) {
  std::vector<NvLink> links;
  for (unsigned i = 0; i < kMaxLinks; ++i) {
    int state = 0;
    if (library.call<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkState", device, i, &state) != kSuccess) {
      continue;
    }
    NvLink link;
    link.index = static_cast<int>(i);
    link.isUp = state == 1;
    unsigned version = 0;
    if (library.call<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkVersion", device, i, &version) == kSuccess) {
      link.version = static_cast<int>(version);
    }
    int kind = 255;
    if (library.call<int(Device, unsigned, int*)>("nvmlDeviceGetNvLinkRemoteDeviceType", device, i, &kind) ==
        kSuccess) {
      link.remote = kind == 0   ? RemoteKind::gpu
                    : kind == 1 ? RemoteKind::cpu
                    : kind == 2 ? RemoteKind::nvSwitch
                                : RemoteKind::unknown;
    }
    PciInfo pci{};
    if (library.call<int(Device, unsigned, PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, i, &pci) ==
        kSuccess) {
      pci.busId[sizeof(pci.busId) - 1] = '\0';
      link.remoteAddress = normalAddress(pci.busId);
    }
    links.push_back(std::move(link));
  }
  return links;
}

Gpu readGpu(const Library& library, Device device, unsigned index, std::vector<Unreadable>& unreadable) {
  Gpu gpu;
  gpu.index = static_cast<int>(index);
  gpu.name = deviceText(library, "nvmlDeviceGetName", device);
  gpu.uuid = deviceText(library, "nvmlDeviceGetUUID", device);
  PciInfo pci{};
  if (const int answer = library.call<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3", device, &pci);
      answer == kSuccess) {
    pci.busId[sizeof(pci.busId) - 1] = '\0';
    gpu.address = normalAddress(pci.busId);
  } else {
    unreadable.push_back({"PCI address of GPU " + std::to_string(index), library.words(answer)});
  }
  library.call<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability", device, &gpu.computeMajor,
                                        &gpu.computeMinor);
  MemoryInfo memory{};
  if (library.call<int(Device, MemoryInfo*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) {
    gpu.memoryBytes = static_cast<std::int64_t>(memory.total);
    gpu.freeBytes = static_cast<std::int64_t>(memory.free);
  }
  unsigned mode = 0;
  unsigned pending = 0;
  gpu.isPartitioned =
      library.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device, &mode, &pending) == kSuccess &&
      mode == 1;
  // Asked with no room, it answers how many there are.
  unsigned processes = 0;
  const int answer = library.call<int(Device, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3", device,
                                                                 &processes, static_cast<void*>(nullptr));
  gpu.processes = answer == kSuccess || answer == kInsufficientSize ? static_cast<int>(processes) : 0;
  gpu.pcieGeneration = static_cast<int>(deviceNumber(library, "nvmlDeviceGetMaxPcieLinkGeneration", device));
  gpu.pcieWidth = static_cast<int>(deviceNumber(library, "nvmlDeviceGetMaxPcieLinkWidth", device));
  gpu.links = readLinks(library, device);
  return gpu;
}

Error startError(const Library& library, int answer) {
  Error error{ErrorCode::unavailable, "the NVIDIA driver does not answer: " + library.words(answer)};
  if (answer == kDriverNotLoaded) {
    error.fix = "load the driver's kernel module (nvidia-smi should list the GPUs)";
  } else if (answer == kNoPermission) {
    error.fix = "allow this user to open /dev/nvidiactl";
  } else if (answer == kMismatch) {
    error.fix = "the driver was updated under a running kernel module: reload it or restart the machine";
  }
  return error;
}

}  // namespace

std::string normalAddress(std::string_view text) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  int used = 0;
  const std::string copy(text.substr(0, 64));
  if (std::sscanf(copy.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
      static_cast<std::size_t>(used) != copy.size()) {
    return {};
  }
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
  return buffer.data();
}

Result<GpuAnswer> NvmlLibrary::read() {
  void* const handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Error{ErrorCode::unavailable, "no NVIDIA driver library (libnvidia-ml.so.1)",
                 "install the NVIDIA driver, or pass the library into the container"};
  }
  Library library(handle);
  if (const int answer = library.start(); answer != kSuccess) {
    return startError(library, answer);
  }
  GpuAnswer result;
  result.driver = systemText(library, "nvmlSystemGetDriverVersion");
  result.nvml = systemText(library, "nvmlSystemGetNVMLVersion");
  int cuda = 0;
  if (library.call<int(int*)>("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kSuccess) {
    result.cudaDriver = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10);
  }
  unsigned count = 0;
  if (const int answer = library.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count); answer != kSuccess) {
    return startError(library, answer);
  }
  for (unsigned i = 0; i < std::min(count, kMaxGpus); ++i) {
    Device device = nullptr;
    const int answer = library.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &device);
    if (answer != kSuccess) {
      result.unreadable.push_back(
          {"GPU " + std::to_string(i), library.words(answer), "see what nvidia-smi and the kernel log say about it"});
      continue;
    }
    result.gpus.push_back(readGpu(library, device, i, result.unreadable));
  }
  return result;
}

std::string recordGpus(const GpuAnswer& answer) {
  Json gpus = Json::array();
  for (const Gpu& gpu : answer.gpus) {
    gpus.push_back(toJson(gpu));
  }
  const Json all = {
      {"driver", answer.driver}, {"cuda_driver", answer.cudaDriver}, {"nvml", answer.nvml}, {"gpus", gpus}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<GpuAnswer> RecordedGpus::read() {
  GpuAnswer answer;
  if (m_text.empty()) {
    return Error{ErrorCode::unavailable, "the recording has no nvml.json",
                 "record it on the machine with coppice-exec probe --record -o nvml.json"};
  }
  try {
    const Json all = Json::parse(m_text);
    answer.driver = all.value("driver", "");
    answer.cudaDriver = all.value("cuda_driver", "");
    answer.nvml = all.value("nvml", "");
    if (all.at("gpus").size() > kMaxGpus) {
      return Error{ErrorCode::limit, "the recording lists more than 1024 GPUs", "record one machine"};
    }
    for (const Json& entry : all.at("gpus")) {
      if (entry.value("nvlinks", Json::array()).size() > kMaxLinks) {
        return Error{ErrorCode::limit, "the recording lists more than 36 NVLinks of one GPU", "record one machine"};
      }
      Gpu gpu = readGpu(entry);
      if (!entry.contains("index")) {
        gpu.index = static_cast<int>(answer.gpus.size());
      }
      answer.gpus.push_back(std::move(gpu));
    }
  } catch (const Json::exception& exception) {
    return Error{ErrorCode::badInput, std::string("not a recording of GPUs: ") + exception.what(),
                 "record it with coppice-exec probe --record"};
  }
  return answer;
}

}  // namespace coppice::probe
