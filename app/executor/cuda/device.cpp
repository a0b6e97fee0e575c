// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

#include <algorithm>
#include <array>

#include "cuda/kernels.hpp"

namespace coppice::executor::cuda {
namespace {

constexpr int kOldestCapability = 75;
constexpr std::int64_t kCopyBytes = std::int64_t{512} << 20;
constexpr int kCopyRounds = 5;

}  // namespace

Device::Device(int number)
    : id(number), buffers(number), slotRings(number), control(number), program(number), trace(number) {}

Result<std::unique_ptr<Device>> Device::open(int id) {
  auto device = std::unique_ptr<Device>(new Device(id));
  const std::string gpu = "GPU " + std::to_string(id);
  cudaDeviceProp properties = {};
  if (const Outcome known = checked(cudaGetDeviceProperties(&properties, id), gpu); !known) {
    return known.error();
  }
  device->name = properties.name;
  device->capability = properties.major * 10 + properties.minor;
  if (device->capability < kOldestCapability || properties.cooperativeLaunch == 0 ||
      properties.unifiedAddressing == 0 || properties.canMapHostMemory == 0) {
    return Error{.code = ErrorCode::unavailable,
                 .message = gpu + " (" + device->name + ", compute capability " + std::to_string(properties.major) +
                            "." + std::to_string(properties.minor) + ") cannot run the interpreter, which needs 7.5",
                 .fix = "use a newer GPU, or --backend threads"};
  }
  if (const Outcome used = device->use(); !used) {
    return used.error();
  }
  if (const Outcome made = checked(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking), gpu); !made) {
    return made.error();
  }
  for (std::vector<cudaEvent_t>* events : {&device->starts, &device->ends}) {
    for (int index = 0; index < kBatch; ++index) {
      cudaEvent_t event = nullptr;
      if (const Outcome made = checked(cudaEventCreate(&event), gpu); !made) {
        return made.error();
      }
      events->push_back(event);
    }
  }
  return device;
}

Device::~Device() {
  if (stream == nullptr || cudaSetDevice(id) != cudaSuccess) {
    return;
  }
  for (const std::vector<cudaEvent_t>* events : {&starts, &ends}) {
    for (const cudaEvent_t event : *events) {
      cudaEventDestroy(event);
    }
  }
  cudaStreamDestroy(stream);
}

void Device::forget() {
  stream = nullptr;
  for (DeviceMemory* memory : {&buffers, &slotRings, &control, &program, &trace}) {
    memory->forget();
  }
  progress.forget();
}

Outcome Device::use() {
  return checked(cudaSetDevice(id), "GPU " + std::to_string(id));
}

Result<DeviceRoom> Device::load(int type) {
  if (const Outcome used = use(); !used) {
    return used.error();
  }
  const Kernels kernels = kernelsOf(type);
  const std::string doing = "kernels on GPU " + std::to_string(id);
  for (const void* kernel : {kernels.interpret, kernels.divide}) {
    cudaFuncAttributes attributes = {};
    if (const Outcome loaded = checked(cudaFuncGetAttributes(&attributes, kernel), doing); !loaded) {
      return loaded.error();
    }
  }
  DeviceRoom room;
  if (const Outcome known =
          checked(cudaDeviceGetAttribute(&room.multiprocessors, cudaDevAttrMultiProcessorCount, id), doing);
      !known) {
    return known.error();
  }
  for (std::size_t choice = 0; choice < kThreadChoices.size(); ++choice) {
    if (const Outcome known = checked(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                          &room.blocksEach[choice], kernels.interpret, kThreadChoices[choice], 0),
                                      doing);
        !known) {
      return known.error();
    }
  }
  return room;
}

Result<std::int64_t> Device::available() {
  if (const Outcome used = use(); !used) {
    return used.error();
  }
  std::size_t free = 0;
  std::size_t total = 0;
  if (const Outcome known = checked(cudaMemGetInfo(&free, &total), "memory of GPU " + std::to_string(id)); !known) {
    return known.error();
  }
  return static_cast<std::int64_t>(free) + buffers.bytes() + slotRings.bytes() + control.bytes() + program.bytes() +
         trace.bytes();
}

// Everything goes through the device's own stream: it does not wait for the default stream, in which a copy may still
// be under way when the call has returned.
Outcome Device::copyTo(void* device, const void* host, std::int64_t bytes) {
  if (const Outcome used = use(); !used || bytes == 0) {
    return used;
  }
  cudaError_t error = cudaMemcpyAsync(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream);
  if (error == cudaSuccess) {
    error = cudaStreamSynchronize(stream);
  }
  return checked(error, "copy to GPU " + std::to_string(id));
}

Outcome Device::copyFrom(void* host, const void* device, std::int64_t bytes) {
  if (const Outcome used = use(); !used || bytes == 0) {
    return used;
  }
  cudaError_t error = cudaMemcpyAsync(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream);
  if (error == cudaSuccess) {
    error = cudaStreamSynchronize(stream);
  }
  return checked(error, "copy from GPU " + std::to_string(id));
}

Outcome Device::fill(void* device, int value, std::int64_t bytes) {
  if (const Outcome used = use(); !used || bytes == 0) {
    return used;
  }
  return checked(cudaMemsetAsync(device, value, static_cast<std::size_t>(bytes), stream),
                 "memory of GPU " + std::to_string(id));
}

double Device::measureCopies() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (!use() || cudaMemGetInfo(&free, &total) != cudaSuccess) {
    return 0;
  }
  const std::int64_t bytes = std::min(kCopyBytes, static_cast<std::int64_t>(free / 4));
  DeviceMemory from(id);
  DeviceMemory to(id);
  if (bytes == 0 || !from.reserve(bytes) || !to.reserve(bytes) || !fill(from.data(), 1, bytes)) {
    return 0;
  }
  double best = 0;
  for (int round = 0; round <= kCopyRounds; ++round) {  // the first warms up
    float milliseconds = 0;
    if (cudaEventRecord(starts[0], stream) != cudaSuccess ||
        cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream) !=
            cudaSuccess ||
        cudaEventRecord(ends[0], stream) != cudaSuccess || cudaEventSynchronize(ends[0]) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, starts[0], ends[0]) != cudaSuccess) {
      return 0;
    }
    if (round > 0 && milliseconds > 0) {
      best = std::max(best, 2.0 * static_cast<double>(bytes) / (static_cast<double>(milliseconds) * 1e-3));
    }
  }
  return best;
}

}  // namespace coppice::executor::cuda
