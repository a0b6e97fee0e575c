// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.cuh"

namespace coppice::executor::cuda {

Kernels int32Kernels() {
  return kernelsOfElement<PlainElement<std::int32_t>>();
}

Kernels int64Kernels() {
  return kernelsOfElement<PlainElement<std::int64_t>>();
}

}  // namespace coppice::executor::cuda
