// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/amounts.hpp"

#include <optional>
#include <string>

#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/wildcard.hpp"

namespace coppice::forestcoll {
namespace {

std::vector<std::string_view> itemsOf(std::string_view text) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = text.find(',');
    items.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return items;
    }
    text.remove_prefix(comma + 1);
  }
}

/// Digits alone, within 64 bits.
std::optional<std::int64_t> parseAmount(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : numberIn<std::int64_t>(text);
}

Error notANumber(std::string_view item) {
  return {.code = ErrorCode::badUsage,
          .message = inQuotes(item) + " is not a whole number, 0 or more",
          .fix = "give one per rank, for example 1,1,2,0, or numbers by GPU, for example b0g3=2"};
}

}  // namespace

Result<std::vector<std::int64_t>> parseAmounts(const fabric::Fabric& fabric, std::string_view text) {
  std::vector<std::int64_t> amounts;
  if (trimmed(text).empty()) {
    return amounts;
  }
  const std::vector<std::string_view> items = itemsOf(text);
  const auto gpus = static_cast<std::size_t>(fabric.gpuCount());
  const bool isByName = text.find('=') != std::string_view::npos;
  if (isByName) {
    amounts.assign(gpus, 1);
  }
  for (const std::string_view item : items) {
    // An id may hold the sign itself.
    const std::size_t sign = item.rfind('=');
    const std::string_view number = isByName && sign != std::string_view::npos ? trimmed(item.substr(sign + 1)) : item;
    const auto amount = parseAmount(number);
    if (!amount) {
      return notANumber(number);
    }
    if (!isByName) {
      amounts.push_back(*amount);
      continue;
    }
    if (sign == std::string_view::npos) {
      return Error{.code = ErrorCode::badUsage,
                   .message = inQuotes(item) + " names no GPU",
                   .fix = "give for example b0g3=2, or one number per rank without names"};
    }
    const std::string_view pattern = trimmed(item.substr(0, sign));
    bool isKnown = false;
    for (std::size_t rank = 0; rank < gpus; ++rank) {
      const fabric::Node& gpu = fabric.nodes()[fabric.gpus()[rank]];
      if (matchesWildcard(pattern, gpu.id)) {
        amounts[rank] = *amount;
        isKnown = true;
      }
    }
    if (!isKnown) {
      return Error{.code = ErrorCode::badUsage,
                   .message = "no GPU is called " + inQuotes(pattern),
                   .fix = "use the ids of GPUs that take part; * stands for any characters"};
    }
  }
  if (amounts.size() != gpus) {
    return Error{.code = ErrorCode::badUsage,
                 .message = std::to_string(amounts.size()) + (amounts.size() == 1 ? " number for " : " numbers for ") +
                            std::to_string(gpus) + " GPUs",
                 .fix = "give one per rank, or numbers by GPU, for example b0g3=2"};
  }
  return amounts;
}

}  // namespace coppice::forestcoll
