// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "workflow/sizes.hpp"

/// Options whose values are more than text.
namespace coppice::cli {

template <typename Enum>
using Words = std::vector<std::pair<std::string, Enum>>;

/// An option that takes one of these words for an enum. CLI::CheckedTransformer does the same, but also takes the
/// numbers behind the words, and its message shows them.
template <typename Enum, typename Variable>
CLI::Option* addWord(CLI::App& sub, const std::string& name, Variable& variable, const Words<Enum>& words,
                     const std::string& help) {
  const CLI::Validator toNumber(
      [words](std::string& value) -> std::string {
        std::string known;
        for (const auto& [word, meaning] : words) {
          if (equalWords(value, word)) {
            value = std::to_string(static_cast<std::int64_t>(meaning));
            return {};
          }
          known += (known.empty() ? "" : ", ") + word;
        }
        return inQuotes(value) + " is none of " + known;
      },
      "");
  return sub.add_option(name, variable, help)->transform(toNumber)->type_name("TEXT");
}

/// An option that takes a number of bytes, as in 64KiB.
inline CLI::Option* addBytes(CLI::App& sub, const std::string& name, std::int64_t& variable, const std::string& help) {
  const CLI::Validator toNumber(
      [](std::string& value) -> std::string {
        const auto bytes = workflow::parseBytes(value, {});
        if (!bytes) {
          return bytes.error().message + "; " + bytes.error().fix;
        }
        value = std::to_string(*bytes);
        return {};
      },
      "");
  return sub.add_option(name, variable, help)->transform(toNumber)->type_name("TEXT");
}

/// An option that takes a time in seconds, or with its unit, as in 500ms, 60s, 5m or 1h; more than 0.
template <typename Variable>
CLI::Option* addSeconds(CLI::App& sub, const std::string& name, Variable& variable, const std::string& help) {
  const CLI::Validator toNumber(
      [](std::string& value) -> std::string {
        constexpr std::pair<std::string_view, double> kUnits[] = {
            {"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"h", 3600}};
        constexpr double kLongest = 1e7;
        double number = 0;
        const char* const end = value.data() + value.size();
        const auto read = std::from_chars(value.data(), end, number);
        const std::string_view suffix(read.ptr, static_cast<std::size_t>(end - read.ptr));
        for (const auto& [unit, seconds] : kUnits) {
          if (read.ec == std::errc() && suffix == unit && number > 0 && number * seconds <= kLongest) {
            value = CLI::detail::to_string(number * seconds);
            return {};
          }
        }
        return inQuotes(value) + " is not a time; give for example 60s, 500ms or 5m";
      },
      "");
  return sub.add_option(name, variable, help)->transform(toNumber)->type_name("TIME");
}

}  // namespace coppice::cli
