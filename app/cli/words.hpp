// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
          if (value == word) {
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

}  // namespace coppice::cli
