// SPDX-License-Identifier: Apache-2.0
#include "verify/program_messages.hpp"

#include <algorithm>
#include <cstdint>

namespace coppice::verify {
namespace {

using program::Program;
using program::Protocol;
using program::Runtime;

/// Bytes of one FIFO slot with the runtimes' default buffer sizes (formats note, 1.6); 0 = not known.
std::int64_t slotBytes(Protocol protocol, Runtime runtime) {
  switch (protocol) {
    case Protocol::simple:
      return std::int64_t{2} << 20;
    case Protocol::ll:
      return program::isRccl(runtime) ? 16 << 10 : 32 << 10;
    case Protocol::ll128:
      return program::isRccl(runtime) ? 0 : 576000;
  }
  return 0;
}

}  // namespace

int fullestMessage(const Program& program, Runtime runtime) {
  const int max = program::limits(runtime).count;
  if (program.maxBytes <= 0) {
    return 1;
  }
  const std::int64_t chunkBytes = (program.maxBytes - 1) / program.chunksPerLoop + 1;
  const std::int64_t fit = slotBytes(program.protocol, runtime) / chunkBytes;
  return static_cast<int>(std::clamp<std::int64_t>(fit, 1, max));
}

std::int64_t largestWindow(const Program& program, Runtime runtime, int chunks) {
  return slotBytes(program.protocol, runtime) / chunks * program.chunksPerLoop;
}

}  // namespace coppice::verify
