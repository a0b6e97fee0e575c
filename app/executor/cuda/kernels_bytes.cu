// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.cuh"

namespace coppice::executor::cuda {

Kernels int8Kernels() {
  return kernelsOfElement<PlainElement<std::int8_t>>();
}

Kernels uint8Kernels() {
  return kernelsOfElement<PlainElement<std::uint8_t>>();
}

}  // namespace coppice::executor::cuda
