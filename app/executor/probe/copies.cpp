// SPDX-License-Identifier: Apache-2.0
#include "probe/copies.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include "probe/nvml.hpp"

namespace coppice::probe {
namespace {

// What we use of CUDA's driver interface (CUDA Driver API reference): machines have the library without its header.
constexpr int kSuccess = 0;
constexpr int kMissing = -1;
constexpr unsigned kPortable = 1;
constexpr int kCopies = 8;
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using DeviceMemory = unsigned long long;

/// One GPU with its memory.
struct Device {
  int device = 0;
  Context context = nullptr;
  DeviceMemory memory = 0;
  void* host = nullptr;
  Stream stream = nullptr;
  Event begin = nullptr;
  Event end = nullptr;
  std::string address = {};
};

class CudaCopies : public CopySource {
public:
  CudaCopies(void* library, std::int64_t bytes) : m_library(library), m_bytes(bytes) {}
  ~CudaCopies() override {
    for (const Device& each : m_devices) {
      call<int(Context)>("cuCtxSetCurrent", each.context);
      release<int(Event)>("cuEventDestroy_v2", each.begin);
      release<int(Event)>("cuEventDestroy_v2", each.end);
      release<int(Stream)>("cuStreamDestroy_v2", each.stream);
      release<int(void*)>("cuMemFreeHost", each.host);
      if (each.memory != 0) {
        call<int(DeviceMemory)>("cuMemFree_v2", each.memory);
      }
      call<int(int)>("cuDevicePrimaryCtxRelease_v2", each.device);
    }
    ::dlclose(m_library);
  }

  Outcome start() {
    int count = 0;
    if (Outcome done = require(call<int(unsigned)>("cuInit", 0U), "cuInit"); !done) {
      return done;
    }
    if (Outcome done = require(call<int(int*)>("cuDeviceGetCount", &count), "cuDeviceGetCount"); !done) {
      return done;
    }
    if (count < 1) {
      return Error{ErrorCode::unavailable, "there is no GPU", "run it on a machine with NVIDIA GPUs"};
    }
    for (int i = 0; i < count; ++i) {
      if (Outcome done = open(i); !done) {
        return done;
      }
    }
    return Done{};
  }

  [[nodiscard]] int gpus() const override { return static_cast<int>(m_devices.size()); }
  [[nodiscard]] std::string address(int gpu) const override { return m_devices[gpu].address; }

  Result<std::vector<double>> copy(const std::vector<int>& gpus) override {
    for (const int gpu : gpus) {
      const Device& each = m_devices[gpu];
      int answer = call<int(Context)>("cuCtxSetCurrent", each.context);
      answer = answer != kSuccess ? answer : call<int(Event, Stream)>("cuEventRecord", each.begin, each.stream);
      for (int i = 0; i < kCopies && answer == kSuccess; ++i) {
        answer = call<int(void*, DeviceMemory, std::size_t, Stream)>("cuMemcpyDtoHAsync_v2", each.host, each.memory,
                                                                     static_cast<std::size_t>(m_bytes), each.stream);
      }
      answer = answer != kSuccess ? answer : call<int(Event, Stream)>("cuEventRecord", each.end, each.stream);
      if (Outcome done = require(answer, "a copy to host memory"); !done) {
        return done.error();
      }
    }
    std::vector<double> rates;
    for (const int gpu : gpus) {
      const Device& each = m_devices[gpu];
      float milliseconds = 0;
      int answer = call<int(Context)>("cuCtxSetCurrent", each.context);
      answer = answer != kSuccess ? answer : call<int(Event)>("cuEventSynchronize", each.end);
      answer = answer != kSuccess
                   ? answer
                   : call<int(float*, Event, Event)>("cuEventElapsedTime", &milliseconds, each.begin, each.end);
      if (Outcome done = require(answer, "a copy to host memory"); !done) {
        return done.error();
      }
      rates.push_back(static_cast<double>(m_bytes) * kCopies / (std::max(milliseconds, 1e-3F) * 1e-3));
    }
    return rates;
  }

private:
  template <typename Signature, typename... Arguments>
  int call(const char* name, Arguments... arguments) const {
    void* const symbol = ::dlsym(m_library, name);
    return symbol == nullptr ? kMissing : reinterpret_cast<Signature*>(symbol)(arguments...);
  }
  template <typename Signature, typename Handle>
  void release(const char* name, Handle handle) const {
    if (handle != nullptr) {
      call<Signature>(name, handle);
    }
  }

  [[nodiscard]] Outcome require(int answer, const std::string& what) const {
    if (answer == kSuccess) {
      return Done{};
    }
    const char* text = nullptr;
    call<int(int, const char**)>("cuGetErrorString", answer, &text);
    return Error{ErrorCode::io, what + " failed: " + (text == nullptr ? "CUDA error " + std::to_string(answer) : text),
                 "check the driver with nvidia-smi"};
  }

  Outcome open(int index) {
    Device one;
    int answer = call<int(int*, int)>("cuDeviceGet", &one.device, index);
    answer =
        answer != kSuccess ? answer : call<int(Context*, int)>("cuDevicePrimaryCtxRetain", &one.context, one.device);
    if (Outcome done = require(answer, "opening GPU " + std::to_string(index)); !done) {
      return done;
    }
    m_devices.push_back(one);
    Device& device = m_devices.back();
    std::array<char, 32> bus{};
    if (call<int(char*, int, int)>("cuDeviceGetPCIBusId", bus.data(), static_cast<int>(bus.size()), device.device) ==
        kSuccess) {
      bus.back() = '\0';
      device.address = normalAddress(bus.data());
    }
    const auto bytes = static_cast<std::size_t>(m_bytes);
    answer = call<int(Context)>("cuCtxSetCurrent", device.context);
    answer =
        answer != kSuccess ? answer : call<int(DeviceMemory*, std::size_t)>("cuMemAlloc_v2", &device.memory, bytes);
    answer = answer != kSuccess
                 ? answer
                 : call<int(void**, std::size_t, unsigned)>("cuMemHostAlloc", &device.host, bytes, kPortable);
    answer = answer != kSuccess ? answer : call<int(Stream*, unsigned)>("cuStreamCreate", &device.stream, 1U);
    answer = answer != kSuccess ? answer : call<int(Event*, unsigned)>("cuEventCreate", &device.begin, 0U);
    answer = answer != kSuccess ? answer : call<int(Event*, unsigned)>("cuEventCreate", &device.end, 0U);
    return require(answer, "memory of GPU " + std::to_string(index));
  }

  void* m_library;
  std::int64_t m_bytes;
  std::vector<Device> m_devices;
};

}  // namespace

Result<std::unique_ptr<CopySource>> cudaCopies(std::int64_t bytes) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::unavailable, "there is no NVIDIA driver: libcuda.so.1 cannot be loaded",
                 "run it on a machine with NVIDIA GPUs, or run infer on a recording"};
  }
  auto source = std::make_unique<CudaCopies>(library, bytes);
  if (Outcome started = source->start(); !started) {
    return started.error();
  }
  return std::unique_ptr<CopySource>(std::move(source));
}

Result<ContentionRecord> measureContention(CopySource& source, int repeats, const std::stop_token& stop) {
  ContentionRecord record;
  const auto measure = [&](const std::vector<int>& gpus, std::vector<Samples*> into) -> Outcome {
    for (int i = 0; i <= repeats; ++i) {
      if (stop.stop_requested()) {
        return Error{ErrorCode::cancelled, "stopped"};
      }
      const auto rates = source.copy(gpus);
      if (!rates) {
        return rates.error();
      }
      for (std::size_t k = 0; k < into.size() && i > 0; ++k) {
        into[k]->push_back((*rates)[k]);
      }
    }
    return Done{};
  };
  record.alone.resize(source.gpus());
  for (int gpu = 0; gpu < source.gpus(); ++gpu) {
    if (Outcome done = measure({gpu}, {&record.alone[gpu]}); !done) {
      return done.error();
    }
  }
  for (int a = 0; a < source.gpus(); ++a) {
    for (int b = a + 1; b < source.gpus(); ++b) {
      TogetherSample sample{.a = a, .b = b};
      if (Outcome done = measure({a, b}, {&sample.ofA, &sample.ofB}); !done) {
        return done.error();
      }
      record.together.push_back(std::move(sample));
    }
  }
  return record;
}

std::vector<std::vector<int>> nvlinkCounts(const std::vector<Gpu>& gpus, const std::vector<std::string>& addresses) {
  const auto placeOf = [&](const std::string& address) {
    const auto at = std::find(addresses.begin(), addresses.end(), address);
    return address.empty() || at == addresses.end() ? -1 : static_cast<int>(at - addresses.begin());
  };
  std::vector<std::vector<int>> counts(addresses.size(), std::vector<int>(addresses.size()));
  bool hasAny = false;
  for (const Gpu& gpu : gpus) {
    const int from = placeOf(gpu.address);
    for (const NvLink& link : gpu.links) {
      if (from < 0 || !link.isUp) {
        continue;
      }
      for (int to = 0; to < static_cast<int>(addresses.size()); ++to) {
        const bool isThere = link.remote == RemoteKind::nvSwitch ? to != from : placeOf(link.remoteAddress) == to;
        counts[from][to] += isThere ? 1 : 0;
        hasAny = hasAny || isThere;
      }
    }
  }
  return hasAny ? counts : std::vector<std::vector<int>>();
}

}  // namespace coppice::probe
