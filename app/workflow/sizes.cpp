// SPDX-License-Identifier: Apache-2.0
#include "workflow/sizes.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/rational.hpp"
#include "base/text.hpp"
#include "workflow/options.hpp"

namespace coppice::workflow {

Result<std::int64_t> parseBytes(const std::string& text, const std::string& option) {
  struct Unit {
    std::string_view name;
    std::int64_t bytes;
  };
  constexpr std::int64_t kKibi = 1024;
  constexpr std::int64_t kKilo = 1000;
  constexpr std::array<Unit, 14> kUnits{{{"", 1},
                                         {"B", 1},
                                         {"K", kKibi},
                                         {"KiB", kKibi},
                                         {"kB", kKilo},
                                         {"M", kKibi * kKibi},
                                         {"MiB", kKibi * kKibi},
                                         {"MB", kKilo * kKilo},
                                         {"G", kKibi * kKibi * kKibi},
                                         {"GiB", kKibi * kKibi * kKibi},
                                         {"GB", kKilo * kKilo * kKilo},
                                         {"T", kKibi * kKibi * kKibi * kKibi},
                                         {"TiB", kKibi * kKibi * kKibi * kKibi},
                                         {"TB", kKilo * kKilo * kKilo * kKilo}}};
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t unitStart = std::min(text.find_first_not_of(' ', end), text.size());
  const auto number = Rational::parse(text.substr(0, end));
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& known) { return known.name == text.substr(unitStart); });
  if (number && unit != kUnits.end()) {
    try {
      const Rational bytes = *number * Rational(unit->bytes);
      if (bytes.isInteger()) {
        return bytes.numerator();
      }
    } catch (const OverflowError&) {
      return optionError(option, inQuotes(text) + " is more than 2^63 bytes", "give a smaller size");
    }
  }
  if (!number && number.error().code == ErrorCode::overflow) {
    return optionError(option, inQuotes(text) + " is more than 2^63 bytes", "give a smaller size");
  }
  return optionError(option, inQuotes(text) + " is not a whole number of bytes",
                     "write for example 65536, 64KiB or 1GiB");
}

std::string byteSize(std::int64_t bytes) {
  constexpr std::array<std::pair<const char*, int>, 4> kUnits{{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};
  std::array<char, 32> text{};
  for (const auto& [name, shift] : kUnits) {
    if (bytes >= std::int64_t{1} << shift) {
      std::snprintf(text.data(), text.size(), "%.1f %s",
                    static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << shift), name);
      return text.data();
    }
  }
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

Result<advice::WantedSizes> parseSizes(const std::string& text) {
  const std::string option = "sizes";
  advice::WantedSizes sizes;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    start = std::min(text.find_first_not_of(' ', start), end);
    const std::string item = text.substr(start, end - start);
    if (item == "pow2") {
      sizes.powersOfTwo = true;
    } else {
      const auto bytes = parseBytes(item, option);
      if (!bytes) {
        return optionError(option, bytes.error().message, "write pow2, or sizes such as 1MiB,100MiB");
      }
      if (*bytes < 1) {
        return optionError(option, inQuotes(item) + " is not a size", "give 1 byte or more");
      }
      sizes.bytes.push_back(*bytes);
    }
    start = end + 1;
  }
  return sizes;
}

}  // namespace coppice::workflow
