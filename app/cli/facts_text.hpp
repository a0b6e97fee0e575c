// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "workflow/facts.hpp"

namespace coppice::cli {

/// What becomes of a key that is there already.
enum class Keys { keep, replace };

/// Adds facts as keys of an object and as lines of text. @param isFull lines show all
void addFacts(const workflow::Facts& facts, Keys keys, bool isFull, Json& json, std::string& text);
inline void addFacts(const workflow::Facts& facts, Report& report) {
  addFacts(facts, Keys::replace, false, report.json, report.text);
}

/// "  throughput  325 GB/s", with the end of line; an empty label goes on from the line before.
[[nodiscard]] std::string factLine(const std::string& label, const std::string& text);

}  // namespace coppice::cli
