// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.hpp"
#include "base/rational.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "presets/presets.hpp"

namespace coppice::presets {

enum class ValueKind {
  integer,     ///< one whole number in [low, high]
  integers,    ///< comma list of whole numbers in [low, high], at most kMaxListLength
  list,        ///< comma list of whole numbers in [low, high], not one per box
  sides,       ///< "4x4x2": whole numbers in [low, high] joined by x
  bandwidth,   ///< one positive bandwidth
  bandwidths,  ///< comma list of positive bandwidths
  ratio,       ///< oversubscription "2", "3/2" or "4:1"
  flag,        ///< true or false
  choice,      ///< one of a list of words
  gpuSets      ///< "0-7" or one set per box "0-9/0-5"; numbers in [low, high]
};

inline constexpr int kMaxListLength = 4096;

/// One parameter and what it accepts.
struct Rule {
  std::string name;
  ValueKind kind = ValueKind::integer;
  std::string defaultText;
  std::string description;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::vector<std::string> words = {};       ///< choice only
  std::string switchedBy = {};               ///< name of a choice parameter; empty = always in use
  std::vector<std::string> switchedOn = {};  ///< its words for which this parameter is in use
};

/// A whole number from `low` to `high`.
[[nodiscard]] Rule integerRule(const std::string& name, std::int64_t value, std::int64_t low, std::int64_t high,
                               const std::string& description);
[[nodiscard]] Rule bandwidthRule(const std::string& name, const std::string& value, const std::string& description);
/// "bandwidth": 25 GB/s for each link.
[[nodiscard]] Rule linkBandwidthRule();
/// Off unless given.
[[nodiscard]] Rule flagRule(const std::string& name, const std::string& description);

[[nodiscard]] std::string allowedText(const Rule& rule);

/// "abc" in quotes with control characters and what is beyond 60 bytes replaced, fit for a message.
[[nodiscard]] std::string quoted(std::string_view text);

/// The candidate with the smallest edit distance, or "" where none is at all near.
[[nodiscard]] std::string nearest(std::string_view text, const std::vector<std::string>& candidates);

/// Checked and typed arguments of one preset. The constructor throws Failure; the getters cannot fail on a name that
/// the rules have.
class Arguments {
public:
  Arguments(const std::string& presetName, const std::vector<Rule>& rules,
            const std::map<std::string, std::string>& given);

  [[nodiscard]] int integer(std::string_view name) const { return static_cast<int>(value(name).integers.front()); }
  [[nodiscard]] const std::vector<std::int64_t>& integers(std::string_view name) const { return value(name).integers; }
  [[nodiscard]] Bandwidth bandwidth(std::string_view name) const { return value(name).bandwidths.front(); }
  [[nodiscard]] const std::vector<Bandwidth>& bandwidths(std::string_view name) const { return value(name).bandwidths; }
  [[nodiscard]] Rational ratio(std::string_view name) const { return value(name).ratio; }
  [[nodiscard]] bool flag(std::string_view name) const { return value(name).text == "true"; }
  [[nodiscard]] const std::string& text(std::string_view name) const { return value(name).text; }
  /// One sorted set per box, or a single one for all boxes.
  [[nodiscard]] const std::vector<std::vector<int>>& gpuSets(std::string_view name) const { return value(name).sets; }
  /// Whether the preset has the parameter at all.
  [[nodiscard]] bool has(std::string_view name) const { return m_values.find(name) != m_values.end(); }

private:
  struct Value {
    std::string text;
    std::vector<std::int64_t> integers = {};
    std::vector<Bandwidth> bandwidths = {};
    Rational ratio = {};
    std::vector<std::vector<int>> sets = {};
  };

  [[nodiscard]] const Value& value(std::string_view name) const;
  [[nodiscard]] static Value read(const std::string& presetName, const Rule& rule, const std::string& text);

  std::map<std::string, Value, std::less<>> m_values;
};

/// One list entry for each of `count` boxes: the list itself, or its only entry repeated.
/// Throws Failure where the list has another length.
template <typename T>
[[nodiscard]] std::vector<T> perBox(const std::vector<T>& list, int count, std::string_view parameter) {
  if (list.size() == 1) {
    return std::vector<T>(static_cast<std::size_t>(count), list.front());
  }
  if (list.size() != static_cast<std::size_t>(count)) {
    throw Failure{Error{ErrorCode::badUsage,
                        std::string(parameter) + " has " + std::to_string(list.size()) + " entries for " +
                            std::to_string(count) + " boxes",
                        "give one entry for all boxes or exactly one per box",
                        Place{.element = {RefKind::parameter, std::string(parameter)}}}};
  }
  return list;
}

}  // namespace coppice::presets
