// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.cuh"

namespace coppice::executor::cuda {

Kernels floatKernels() {
  return kernelsOfElement<PlainElement<float>>();
}

Kernels doubleKernels() {
  return kernelsOfElement<PlainElement<double>>();
}

Kernels kernelsOf(int type) {
  switch (type) {
    case 0:
      return int8Kernels();
    case 1:
      return uint8Kernels();
    case 2:
      return int32Kernels();
    case 3:
      return int64Kernels();
    case 4:
      return halfKernels();
    case 5:
      return bfloatKernels();
    case 6:
      return floatKernels();
    default:
      return doubleKernels();
  }
}

}  // namespace coppice::executor::cuda
