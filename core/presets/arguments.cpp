// SPDX-License-Identifier: Apache-2.0
#include "presets/arguments.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "base/numbers.hpp"

namespace coppice::presets {
namespace {

constexpr std::size_t kMaxArgumentBytes = 65'536;
const Bandwidth kMaxBandwidth{Rational(1'000'000)};
constexpr std::int64_t kMaxRatio = 1000;

/// Pieces between separators, blanks trimmed; an empty text is one empty piece. Stops after kMaxListLength + 1.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = text.find(separator);
    pieces.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos || pieces.size() > static_cast<std::size_t>(kMaxListLength)) {
      return pieces;
    }
    text.remove_prefix(at + 1);
  }
}

std::optional<std::int64_t> wholeNumber(std::string_view text, std::int64_t low, std::int64_t high) {
  const auto number = numberIn<std::int64_t>(text);
  return number && *number >= low && *number <= high ? number : std::nullopt;
}

/// "0-7" or "0,2,4-6" as a sorted set.
std::optional<std::vector<int>> gpuSet(std::string_view text, std::int64_t low, std::int64_t high) {
  std::set<int> members;
  const auto pieces = split(text, ',');
  if (pieces.size() > static_cast<std::size_t>(kMaxListLength)) {
    return std::nullopt;
  }
  for (const std::string_view piece : pieces) {
    const std::size_t dash = piece.find('-');
    const auto first = wholeNumber(trimmed(piece.substr(0, dash)), low, high);
    const auto last = dash == std::string_view::npos ? first : wholeNumber(trimmed(piece.substr(dash + 1)), low, high);
    if (!first || !last || *first > *last) {
      return std::nullopt;
    }
    for (std::int64_t gpu = *first; gpu <= *last; ++gpu) {
      members.insert(static_cast<int>(gpu));
    }
  }
  return std::vector<int>(members.begin(), members.end());
}

std::optional<Bandwidth> positiveBandwidth(std::string_view text) {
  const auto bandwidth = Bandwidth::parse(text);
  if (!bandwidth || !bandwidth->isPositive() || *bandwidth > kMaxBandwidth) {
    return std::nullopt;
  }
  return *bandwidth;
}

/// "2", "3/2", "2.5" or "4:1".
std::optional<Rational> oversubscription(std::string_view text) {
  Rational ratio;
  const std::size_t colon = text.find(':');
  const auto numerator = Rational::parse(trimmed(text.substr(0, colon)));
  if (!numerator) {
    return std::nullopt;
  }
  ratio = *numerator;
  if (colon != std::string_view::npos) {
    const auto denominator = Rational::parse(trimmed(text.substr(colon + 1)));
    if (!denominator || !denominator->isPositive()) {
      return std::nullopt;
    }
    ratio /= *denominator;
  }
  if (ratio < Rational(1, kMaxRatio) || ratio > Rational(kMaxRatio)) {
    return std::nullopt;
  }
  return ratio;
}

std::vector<std::string> namesOf(const std::vector<Rule>& rules) {
  std::vector<std::string> names;
  names.reserve(rules.size());
  for (const Rule& rule : rules) {
    names.push_back(rule.name);
  }
  return names;
}

std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (text.size() > kShown) {
    // Do not cut a UTF-8 sequence in two.
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xc0U) == 0x80U) {
      shown.pop_back();
    }
    if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xc0U) {
      shown.pop_back();
    }
    shown += "...";
  }
  return "\"" + shown + "\"";
}

std::string nearest(std::string_view text, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 64;
  if (text.empty() || text.size() > kLongestName) {
    return {};
  }
  std::string best;
  std::size_t bestDistance = std::max<std::size_t>(2, text.size() / 2);
  for (const std::string& candidate : candidates) {
    const bool contains =
        text.size() >= 3 && (candidate.find(text) != std::string::npos || text.find(candidate) != std::string::npos);
    const std::size_t distance = contains ? 1 : editDistance(text, candidate);
    if (distance < bestDistance || (distance == bestDistance && best.empty())) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

Rule integerRule(const std::string& name, std::int64_t value, std::int64_t low, std::int64_t high,
                 const std::string& description) {
  return {.name = name,
          .kind = ValueKind::integer,
          .defaultText = std::to_string(value),
          .description = description,
          .low = low,
          .high = high};
}

Rule bandwidthRule(const std::string& name, const std::string& value, const std::string& description) {
  return {.name = name, .kind = ValueKind::bandwidth, .defaultText = value, .description = description};
}

Rule linkBandwidthRule() {
  return bandwidthRule("bandwidth", "25", "each link");
}

Rule flagRule(const std::string& name, const std::string& description) {
  return {.name = name, .kind = ValueKind::flag, .defaultText = "false", .description = description};
}

std::string allowedText(const Rule& rule) {
  const std::string range = std::to_string(rule.low) + " to " + std::to_string(rule.high);
  std::string bandwidth =
      "above 0, at most " + toExactText(kMaxBandwidth) + " GB/s per direction, such as 25, 12.5, 25/2 or 400Gb/s";
  switch (rule.kind) {
    case ValueKind::integer:
      return "a whole number, " + range;
    case ValueKind::integers:
      return "a whole number, " + range + ", or a comma list of them, one per box";
    case ValueKind::list:
      return "whole numbers, " + range + ", joined by commas";
    case ValueKind::sides:
      return "whole numbers, " + range + ", joined by x, such as 4x4x2";
    case ValueKind::bandwidth:
      return bandwidth;
    case ValueKind::bandwidths:
      return bandwidth + "; or a comma list";
    case ValueKind::ratio:
      return "a ratio, 1/" + std::to_string(kMaxRatio) + " to " + std::to_string(kMaxRatio) + ", such as 2, 3/2 or 4:1";
    case ValueKind::flag:
      return "true or false";
    case ValueKind::choice:
      return "one of " + commaList(rule.words);
    case ValueKind::gpuSets:
      return "GPU numbers, " + range + ", such as 0-7 or 0,2,4; one set for all boxes, or one per box joined by /";
  }
  return {};
}

Arguments::Arguments(const std::string& presetName, const std::vector<Rule>& rules,
                     const std::map<std::string, std::string>& given) {
  for (const auto& [name, text] : given) {
    const bool known =
        std::any_of(rules.begin(), rules.end(), [&wanted = name](const Rule& rule) { return rule.name == wanted; });
    if (!known) {
      const std::vector<std::string> names = namesOf(rules);
      const std::string guess = nearest(name, names);
      throw Failure{Error{ErrorCode::badUsage, "preset " + presetName + " has no parameter " + quoted(name),
                          (guess.empty() ? "" : "did you mean \"" + guess + "\"? ") + "It takes " + commaList(names),
                          Place{.element = {RefKind::parameter, presetName}}}};
    }
  }
  for (const Rule& rule : rules) {
    const auto it = given.find(rule.name);
    m_values.emplace(rule.name, read(presetName, rule, it == given.end() ? rule.defaultText : it->second));
  }
  for (const Rule& rule : rules) {
    if (rule.switchedBy.empty() || given.find(rule.name) == given.end()) {
      continue;
    }
    const std::string& word = text(rule.switchedBy);
    if (std::find(rule.switchedOn.begin(), rule.switchedOn.end(), word) == rule.switchedOn.end()) {
      throw Failure{
          Error{ErrorCode::badUsage,
                "preset " + presetName + ": " + rule.name + " has no effect with " + rule.switchedBy + "=" + word,
                "leave it out, or choose " + rule.switchedBy + " from " + commaList(rule.switchedOn),
                Place{.element = {RefKind::parameter, rule.name}}}};
    }
  }
}

Arguments::Value Arguments::read(const std::string& presetName, const Rule& rule, const std::string& text) {
  Value value;
  value.text = std::string(trimmed(text));
  bool isGood = value.text.size() <= kMaxArgumentBytes;
  const auto keep = [&isGood](const auto& parsed, auto& list) {
    if (parsed) {
      list.push_back(*parsed);
    } else {
      isGood = false;
    }
  };
  const auto keepAll = [&](char separator, auto& list, const auto& parse) {
    const auto pieces = split(value.text, separator);
    isGood = isGood && pieces.size() <= static_cast<std::size_t>(kMaxListLength);
    for (std::size_t i = 0; isGood && i < pieces.size(); ++i) {
      keep(parse(pieces[i]), list);
    }
  };
  const auto number = [&rule](std::string_view piece) { return wholeNumber(piece, rule.low, rule.high); };
  if (isGood) {
    switch (rule.kind) {
      case ValueKind::integer:
        keep(number(value.text), value.integers);
        break;
      case ValueKind::integers:
      case ValueKind::list:
        keepAll(',', value.integers, number);
        break;
      case ValueKind::sides:
        keepAll('x', value.integers, number);
        break;
      case ValueKind::bandwidth:
        keep(positiveBandwidth(value.text), value.bandwidths);
        break;
      case ValueKind::bandwidths:
        keepAll(',', value.bandwidths, positiveBandwidth);
        break;
      case ValueKind::ratio: {
        const auto ratio = oversubscription(value.text);
        isGood = ratio.has_value();
        value.ratio = ratio.value_or(Rational());
        break;
      }
      case ValueKind::flag:
        isGood = value.text == "true" || value.text == "false";
        break;
      case ValueKind::choice:
        isGood = std::find(rule.words.begin(), rule.words.end(), value.text) != rule.words.end();
        break;
      case ValueKind::gpuSets:
        keepAll('/', value.sets, [&rule](std::string_view piece) { return gpuSet(piece, rule.low, rule.high); });
        break;
    }
  }
  if (!isGood) {
    const std::string guess = rule.kind == ValueKind::choice ? nearest(value.text, rule.words) : std::string();
    throw Failure{Error{ErrorCode::badUsage,
                        "preset " + presetName + ": " + rule.name + "=" + quoted(text) + " is not allowed",
                        (guess.empty() ? "" : "did you mean \"" + guess + "\"? ") + "give " + allowedText(rule),
                        Place{.element = {RefKind::parameter, rule.name}}}};
  }
  return value;
}

const Arguments::Value& Arguments::value(std::string_view name) const {
  const auto it = m_values.find(name);
  if (it == m_values.end()) {
    throw Failure{Error{ErrorCode::internal, "a preset asks for its unlisted parameter " + std::string(name)}};
  }
  return it->second;
}

}  // namespace coppice::presets
