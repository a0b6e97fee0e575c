// SPDX-License-Identifier: Apache-2.0
#include "finder/catalogue.hpp"

#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace coppice::finder {
namespace {

/// Reads the number at the front of `text` and the separator after it.
std::int64_t takeNumber(std::string_view& text) {
  std::int64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

char takeSeparator(std::string_view& text) {
  const char separator = text.front();
  text.remove_prefix(1);
  return separator;
}

using DrawLists = std::vector<std::vector<std::uint32_t>>;

std::map<std::pair<int, bool>, DrawLists> readDraws() {
  std::map<std::pair<int, bool>, DrawLists> all;
  for (const data::DrawTable& table : data::kDraws) {
    DrawLists& lists = all[{table.degree, table.isDuplex}];
    lists.resize(static_cast<std::size_t>(data::kLastNodes) + 1);
    for (std::string_view text = table.text; !text.empty();) {
      const auto nodes = static_cast<std::size_t>(takeNumber(text));
      while (takeSeparator(text) != ' ') {
        lists[nodes].push_back(static_cast<std::uint32_t>(takeNumber(text)));
      }
    }
  }
  return all;
}

std::map<int, std::vector<KautzValue>> readKautz() {
  std::map<int, std::vector<KautzValue>> all;
  for (const data::KautzTable& table : data::kKautz) {
    std::vector<KautzValue>& values = all[table.degree];
    values.resize(static_cast<std::size_t>(data::kLastNodes) + 1);
    for (std::string_view text = table.text; !text.empty();) {
      const auto nodes = static_cast<std::size_t>(takeNumber(text));
      takeSeparator(text);
      KautzValue& value = values[nodes];
      value.steps = static_cast<int>(takeNumber(text));
      takeSeparator(text);
      const std::int64_t numerator = takeNumber(text);
      value.loadSum = Rational(numerator);
      if (takeSeparator(text) == '/') {
        value.loadSum = Rational(numerator, takeNumber(text));
        takeSeparator(text);
      }
    }
  }
  return all;
}

}  // namespace

const std::vector<std::uint32_t>* cataloguedDraws(int nodes, int degree, bool isDuplex) {
  static const std::map<std::pair<int, bool>, DrawLists> kLists = readDraws();
  const auto it = kLists.find({degree, isDuplex});
  return it == kLists.end() || nodes > data::kLastNodes ? nullptr : &it->second[nodes];
}

std::optional<KautzValue> cataloguedKautz(int degree, int nodes) {
  static const std::map<int, std::vector<KautzValue>> kValues = readKautz();
  const auto it = kValues.find(degree);
  if (it == kValues.end() || nodes > data::kLastNodes || it->second[nodes].steps == 0) {
    return std::nullopt;
  }
  return it->second[nodes];
}

}  // namespace coppice::finder
