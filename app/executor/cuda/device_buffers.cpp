// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_buffers.hpp"

#include <algorithm>
#include <vector>

namespace coppice::executor::cuda {
namespace {

constexpr int kGuardValue = 0xC5;

std::string gigabytes(std::int64_t bytes) {
  const std::int64_t hundredths = bytes / 10'000'000;
  return std::to_string(hundredths / 100) + "." + (hundredths % 100 < 10 ? "0" : "") +
         std::to_string(hundredths % 100) + " GB";
}

}  // namespace

Result<std::optional<Error>> lackOfRoom(Gpus& gpus, int device, std::int64_t needed, std::int64_t size) {
  const auto available = gpus.available(device);
  if (!available) {
    return available.error();
  }
  if (needed <= *available) {
    return std::optional<Error>();
  }
  return std::optional<Error>(Error{.code = ErrorCode::limit,
                                    .message = "size " + std::to_string(size) + " needs " + gigabytes(needed) + " on " +
                                               gpus.name(device) + ", and " + gigabytes(*available) + " are free",
                                    .fix = "use a smaller -e, or fewer ranks on a GPU"});
}

Outcome writeGuards(Gpus& gpus, int device, unsigned char* block, const BufferLayout& layout) {
  for (const Range& guard : layout.guards) {
    if (Outcome filled = gpus.fill(device, block + guard.begin, kGuardValue, guard.size()); !filled) {
      return filled;
    }
  }
  return Done{};
}

std::int64_t damagedGuards(Gpus& gpus, int device, const unsigned char* block, const BufferLayout& layout) {
  std::int64_t damaged = 0;
  for (const Range& guard : layout.guards) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(guard.size()), 0);
    (void)gpus.copyFrom(device, bytes.data(), block + guard.begin, guard.size());
    damaged += guard.size() - std::count(bytes.begin(), bytes.end(), static_cast<unsigned char>(kGuardValue));
  }
  return damaged;
}

}  // namespace coppice::executor::cuda
