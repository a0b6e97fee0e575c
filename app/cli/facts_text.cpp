// SPDX-License-Identifier: Apache-2.0
#include "facts_text.hpp"

#include <algorithm>

namespace coppice::cli {

std::string factLine(const std::string& label, const std::string& text) {
  constexpr std::size_t kWidth = 12;
  std::string line = "  " + label;
  line.resize(std::max(line.size() + 1, kWidth + 2), ' ');
  return line + text + "\n";
}

void addFacts(const workflow::Facts& facts, Keys keys, bool isFull, Json& json, std::string& text) {
  for (const workflow::Fact& fact : facts) {
    if (!fact.key.empty() && (keys == Keys::replace || !json.contains(fact.key))) {
      json[fact.key] = fact.value;
    }
    const std::string& line = isFull && !fact.full.empty() ? fact.full : fact.text;
    if (!line.empty()) {
      text += factLine(fact.label, line);
    }
  }
}

}  // namespace coppice::cli
