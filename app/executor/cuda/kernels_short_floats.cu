// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/kernels.cuh"

namespace coppice::executor::cuda {
namespace {

struct HalfConvert {
  __device__ static float toFloat(std::uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
  __device__ static std::uint16_t fromFloat(float value) { return __half_as_ushort(__float2half_rn(value)); }
};

struct BfloatConvert {
  __device__ static float toFloat(std::uint16_t bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); }
  __device__ static std::uint16_t fromFloat(float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); }
};

}  // namespace

Kernels halfKernels() {
  return kernelsOfElement<ShortFloatElement<HalfConvert>>();
}

Kernels bfloatKernels() {
  return kernelsOfElement<ShortFloatElement<BfloatConvert>>();
}

}  // namespace coppice::executor::cuda
