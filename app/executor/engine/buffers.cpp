// SPDX-License-Identifier: Apache-2.0
#include "engine/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.hpp"

namespace coppice::executor {
namespace {

constexpr std::int64_t kGuardBytes = 256;
constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kPage = 4096;
constexpr std::byte kGuard{0xC5};

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return checkedAdd(value, unit - 1) / unit * unit;
}

}  // namespace

BufferLayout layOutBuffers(const Plan& plan, const Geometry& geometry, int rank) {
  const std::int64_t inputBytes = checkedMul(geometry.inputElements, geometry.elementBytes);
  const std::int64_t outputBytes = checkedMul(geometry.outputElements, geometry.elementBytes);
  const std::int64_t scratchBytes =
      checkedMul(geometry.scratchElements(plan.ranks[rank].scratchChunks), geometry.elementBytes);
  BufferLayout layout;
  std::int64_t end = 0;
  std::size_t guard = 0;
  const auto place = [&](std::int64_t bytes) {
    const std::int64_t begin = roundUp(checkedAdd(end, kGuardBytes), kAlignment);
    layout.guards[guard++] = {.begin = end, .end = begin};
    end = checkedAdd(begin, bytes);
    return begin;
  };
  if (plan.place == Place::inPlace) {
    const std::int64_t offset = aliasOffset(plan, geometry, rank) * geometry.elementBytes;
    const bool inputIsLonger = inputBytes > outputBytes;
    const std::int64_t whole = place(std::max(inputBytes, outputBytes));
    layout.input = inputIsLonger ? whole : whole + offset;
    layout.output = inputIsLonger ? whole + offset : whole;
  } else {
    layout.input = place(inputBytes);
    layout.output = place(outputBytes);
  }
  layout.scratch = place(scratchBytes);
  layout.bytes = roundUp(checkedAdd(end, kGuardBytes), kPage);
  layout.guards[guard] = {.begin = end, .end = end + kGuardBytes};
  return layout;
}

void writeGuards(std::byte* block, const BufferLayout& layout) {
  for (const Range& guard : layout.guards) {
    std::fill(block + guard.begin, block + guard.end, kGuard);
  }
}

std::int64_t damagedGuards(const std::byte* block, const BufferLayout& layout) {
  std::int64_t damaged = 0;
  for (const Range& guard : layout.guards) {
    damaged += guard.size() - std::count(block + guard.begin, block + guard.end, kGuard);
  }
  return damaged;
}

Mapping::Mapping(Mapping&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_size(std::exchange(other.m_size, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    release();
    m_data = std::exchange(other.m_data, nullptr);
    m_size = std::exchange(other.m_size, 0);
  }
  return *this;
}

Result<bool> Mapping::reserve(std::int64_t bytes) {
  if (bytes <= m_size) {
    return false;
  }
  release();
  void* mapped =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return Error{.code = ErrorCode::limit,
                 .message = "the system does not provide " + std::to_string(bytes) + " bytes of memory",
                 .fix = "use smaller sizes or fewer ranks"};
  }
  madvise(mapped, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // a wish; runs without it too
  m_data = static_cast<std::byte*>(mapped);
  m_size = bytes;
  return true;
}

void Mapping::release() {
  if (m_data != nullptr) {
    munmap(m_data, static_cast<std::size_t>(m_size));
    m_data = nullptr;
    m_size = 0;
  }
}

}  // namespace coppice::executor
