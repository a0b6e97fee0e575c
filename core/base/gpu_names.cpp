// SPDX-License-Identifier: Apache-2.0
#include "base/gpu_names.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/ascii.hpp"

namespace coppice {
namespace {

constexpr int kAnyMultiprocessors = 108;

struct GpuKind {
  std::string_view name;  ///< in lower case
  int capability;         ///< 0 = not of NVIDIA
  int multiprocessors;    ///< that are enabled
};

/// From the architecture white papers of NVIDIA and the data sheets of AMD Instinct. The H100 has 132 multiprocessors
/// as a module of such boxes, and 114 as a card.
constexpr GpuKind kKinds[] = {{"b300", 103, 148},   {"b200", 100, 148},  {"dgx h100", 90, 132}, {"hgx h100", 90, 132},
                              {"nd h100", 90, 132}, {"aws p5", 90, 132}, {"h100", 90, 114},     {"h200", 90, 132},
                              {"h800", 90, 114},    {"a100", 80, 108},   {"v100", 70, 80},      {"dgx 2", 70, 80},
                              {"ndv2", 70, 80},     {"mi355", 0, 256},   {"mi325", 0, 304},     {"mi300", 0, 304},
                              {"mi250", 0, 104},    {"mi50", 0, 60}};

struct LinkRate {
  std::string_view name;  ///< in lower case
  std::int64_t numerator;
  std::int64_t denominator;  ///< GB/s of one link in each direction
};

constexpr LinkRate kLinkRates[] = {
    {"gb300", 50, 1},      {"b300", 50, 1},      {"gb200", 50, 1},    {"b200", 50, 1},    {"b100", 50, 1},
    {"gh200", 25, 1},      {"h200", 25, 1},      {"h100", 25, 1},     {"h800", 25, 1},    {"h20", 25, 1},
    {"a100", 25, 1},       {"a800", 25, 1},      {"a30", 25, 1},      {"v100", 25, 1},    {"v100s", 25, 1},
    {"gv100", 25, 1},      {"titan rtx", 25, 1}, {"rtx 2080", 25, 1}, {"p100", 20, 1},    {"a40", 225, 16},
    {"rtx 3090", 225, 16}, {"a6000", 225, 16},   {"a5500", 225, 16},  {"a5000", 225, 16}, {"a4500", 225, 16},
    {"mi355x", 384, 5},    {"mi350x", 384, 5},   {"mi325x", 64, 1},   {"mi308x", 64, 1},  {"mi300x", 64, 1},
    {"mi300a", 64, 1},     {"mi250x", 50, 1},    {"mi250", 50, 1},    {"mi210", 50, 1},   {"mi100", 46, 1},
    {"mi60", 46, 1},       {"mi50", 46, 1}};

/// Between characters that are neither letters nor digits.
bool hasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !isAlphanumeric(text[at - 1])) && (end == text.size() || !isAlphanumeric(text[end]))) {
      return true;
    }
  }
  return false;
}

std::string printedName(std::string_view name) {
  std::string out(name);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

std::string plain(std::string_view text) {
  std::string names = lowered(text);
  std::replace_if(
      names.begin(), names.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
  return names;
}

}  // namespace

std::vector<std::size_t> wordsIn(std::string_view text, std::span<const std::string_view> words) {
  std::vector<std::size_t> longestFirst(words.size());
  std::iota(longestFirst.begin(), longestFirst.end(), std::size_t{0});
  std::stable_sort(longestFirst.begin(), longestFirst.end(),
                   [&](std::size_t a, std::size_t b) { return words[a].size() > words[b].size(); });
  std::string left = plain(text);
  std::vector<std::size_t> found;
  for (const std::size_t i : longestFirst) {
    const std::size_t first = left.find(words[i]);
    if (first != std::string::npos) {
      found.push_back(i);
    }
    for (std::size_t at = first; at != std::string::npos; at = left.find(words[i], at)) {
      left.replace(at, words[i].size(), words[i].size(), ' ');
    }
  }
  return found;
}

std::optional<int> namedCapability(std::string_view text) {
  const std::string names = plain(text);
  for (const GpuKind& kind : kKinds) {
    if (kind.capability > 0 && names.find(kind.name) != std::string::npos) {
      return kind.capability;
    }
  }
  return std::nullopt;
}

std::optional<NamedLinkRate> namedLinkRate(std::string_view text) {
  const std::string names = plain(text);
  std::optional<NamedLinkRate> found;
  for (const LinkRate& kind : kLinkRates) {
    if (!hasWord(names, kind.name)) {
      continue;
    }
    const Rational rate(kind.numerator, kind.denominator);
    if (found && found->gigabytes != rate) {
      return std::nullopt;
    }
    if (!found) {
      found = NamedLinkRate{printedName(kind.name), rate};
    }
  }
  return found;
}

int namedMultiprocessors(std::string_view text) {
  std::vector<std::string_view> names;
  for (const GpuKind& kind : kKinds) {
    names.push_back(kind.name);
  }
  const std::vector<std::size_t> found = wordsIn(text, names);
  int least = found.empty() ? kAnyMultiprocessors : std::numeric_limits<int>::max();
  for (const std::size_t i : found) {
    least = std::min(least, kKinds[i].multiprocessors);
  }
  return least;
}

}  // namespace coppice
