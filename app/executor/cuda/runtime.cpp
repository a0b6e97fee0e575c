// SPDX-License-Identifier: Apache-2.0
#include "cuda/runtime.hpp"

namespace coppice::executor::cuda {

Error describeCuda(cudaError_t error, const std::string& doing) {
  Error out = {.code = ErrorCode::internal,
               .message = doing + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")"};
  switch (error) {
    case cudaErrorMemoryAllocation:
      out.code = ErrorCode::limit;
      out.fix = "use smaller sizes, or fewer ranks on a GPU";
      break;
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
      out.code = ErrorCode::unavailable;
      out.fix = "install the NVIDIA driver that CUDA " + std::to_string(CUDART_VERSION / 1000) + " needs";
      break;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      out.code = ErrorCode::unavailable;
      out.fix =
          "this build has code for GPUs of compute capability 7.5 and newer; use another GPU or --backend threads";
      break;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError:
      out.code = ErrorCode::unavailable;
      out.fix = "see whether nvidia-smi lists the GPU, and who else uses it; or use --backend threads";
      break;
    case cudaErrorCooperativeLaunchTooLarge:
      out.code = ErrorCode::unavailable;
      out.fix = "make the schedule with fewer channels or instances, or run fewer ranks on a GPU";
      break;
    default:
      break;
  }
  return out;
}

Outcome checked(cudaError_t error, const std::string& doing) {
  if (error == cudaSuccess) {
    return Done{};
  }
  cudaGetLastError();  // so that the next call does not answer for this one
  return describeCuda(error, doing);
}

Outcome DeviceMemory::reserve(std::int64_t bytes) {
  if (bytes <= m_bytes) {
    return Done{};
  }
  release();
  void* data = nullptr;
  cudaError_t error = cudaSetDevice(m_device);
  if (error == cudaSuccess) {
    error = cudaMalloc(&data, static_cast<std::size_t>(bytes));
  }
  if (error == cudaSuccess) {
    m_data = static_cast<unsigned char*>(data);
    m_bytes = bytes;
  }
  return checked(error, std::to_string(bytes) + " bytes on GPU " + std::to_string(m_device));
}

void DeviceMemory::release() {
  if (m_data != nullptr) {
    cudaSetDevice(m_device);
    cudaFree(m_data);
    m_data = nullptr;
  }
  m_bytes = 0;
}

Outcome PinnedMemory::reserve(std::int64_t bytes) {
  if (bytes <= m_bytes) {
    return Done{};
  }
  release();
  void* data = nullptr;
  const cudaError_t error =
      cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable | cudaHostAllocMapped);
  if (error == cudaSuccess) {
    m_data = static_cast<unsigned char*>(data);
    m_bytes = bytes;
  }
  return checked(error, std::to_string(bytes) + " bytes of pinned memory");
}

void PinnedMemory::release() {
  if (m_data != nullptr) {
    cudaFreeHost(m_data);
    m_data = nullptr;
  }
  m_bytes = 0;
}

}  // namespace coppice::executor::cuda
