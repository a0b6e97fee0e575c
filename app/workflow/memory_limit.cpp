// SPDX-License-Identifier: Apache-2.0
#include "workflow/memory_limit.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "base/memory.hpp"
#include "workflow/options.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

/// The program itself, its threads' stacks and the reports take some.
constexpr std::int64_t kMinLimit = std::int64_t{64} << 20;

/// What others may need while this program runs.
std::int64_t margin(std::int64_t available) {
  constexpr std::int64_t kMinMargin = std::int64_t{64} << 20;
  constexpr std::int64_t kShare = 16;
  return std::max(kMinMargin, available / kShare);
}

std::optional<std::int64_t> g_limit;
std::unique_ptr<char[]> g_reserve;  // given back where memory has run out

}  // namespace

Outcome applyMemoryLimit(const std::string& limit) {
  // Destructors that run while an allocation has failed may need a little themselves.
  constexpr std::size_t kReserve = std::size_t{1} << 20;
  g_reserve = std::make_unique<char[]>(kReserve);
  std::set_new_handler([] {
    g_reserve.reset();
    std::set_new_handler(nullptr);
    throw std::bad_alloc();
  });
  std::optional<std::int64_t> max;
  if (!limit.empty()) {
    const auto bytes = parseBytes(limit, "memory-limit");
    if (!bytes) {
      return bytes.error();
    }
    if (*bytes < kMinLimit) {
      return optionError("memory-limit", byteSize(*bytes) + " are not enough", "give at least " + byteSize(kMinLimit));
    }
    max = *bytes;
  }
  if (const auto available = availableMemory()) {
    const std::int64_t free = std::max(*available - margin(*available), kMinLimit);
    max = max ? std::min(*max, free) : free;
  }
  if (max && limitMemory(*max)) {
    g_limit = max;
  }
  return Done{};
}

Error outOfMemory() {
  return {ErrorCode::limit, "not enough memory" + (g_limit ? ": the limit is " + byteSize(*g_limit) : ""),
          "free memory or raise --memory-limit; use a smaller fabric or a smaller k"};
}

}  // namespace coppice::workflow
