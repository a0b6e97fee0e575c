// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace coppice::executor::cuda {

/// The kernel void(Word* words, unsigned rounds), of one thread. Answers this many questions for the device's time: the
/// host writes the number of the question to words[0]; the time goes to words[2], and then the number to words[1].
[[nodiscard]] const void* clockKernel();

}  // namespace coppice::executor::cuda
