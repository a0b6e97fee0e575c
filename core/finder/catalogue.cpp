// SPDX-License-Identifier: Apache-2.0
#include "finder/catalogue.hpp"

#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace coppice::finder {

/// resources/finder/catalogue.txt, which says how it is laid out.
extern const std::string_view kCatalogueText;

namespace {

using DrawLists = std::vector<std::vector<std::uint32_t>>;

struct Catalogue {
  int lastNodes = 0;
  std::map<std::pair<int, bool>, DrawLists> draws;  ///< by degree and whether they are duplex, then by nodes
  std::map<int, std::vector<KautzValue>> kautz;     ///< by degree, then by nodes
};

/// Takes what is in front of the separator, and the separator.
std::string_view taken(std::string_view& text, char separator) {
  const auto end = text.find(separator);
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return front;
}

template <typename Number = std::int64_t>
Number numberOf(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Rational fractionOf(std::string_view text) {
  const auto numerator = numberOf(taken(text, '/'));
  return text.empty() ? Rational(numerator) : Rational(numerator, numberOf(text));
}

Catalogue readCatalogue() {
  Catalogue catalogue;
  DrawLists* draws = nullptr;
  std::vector<KautzValue>* kautz = nullptr;
  for (std::string_view text = kCatalogueText; !text.empty();) {
    std::string_view line = taken(text, '\n');
    if (line.starts_with('#')) {
      continue;
    }
    if (line.find(':') == std::string_view::npos) {
      const std::string_view kind = taken(line, ' ');
      const int number = numberOf<int>(taken(line, ' '));
      draws = nullptr;
      if (kind == "nodes") {
        catalogue.lastNodes = number;
      } else if (kind == "draws") {
        draws = &catalogue.draws[{number, line == "duplex"}];
        draws->resize(static_cast<std::size_t>(catalogue.lastNodes) + 1);
      } else {
        kautz = &catalogue.kautz[number];
        kautz->resize(static_cast<std::size_t>(catalogue.lastNodes) + 1);
      }
      continue;
    }
    while (!line.empty()) {
      std::string_view entry = taken(line, ' ');
      const auto nodes = numberOf<std::size_t>(taken(entry, ':'));
      if (draws == nullptr) {
        const int steps = numberOf<int>(taken(entry, ':'));
        (*kautz)[nodes] = {steps, fractionOf(entry)};
        continue;
      }
      while (!entry.empty()) {
        (*draws)[nodes].push_back(numberOf<std::uint32_t>(taken(entry, ',')));
      }
    }
  }
  return catalogue;
}

const Catalogue& catalogue() {
  static const Catalogue kCatalogue = readCatalogue();
  return kCatalogue;
}

}  // namespace

const std::vector<std::uint32_t>* cataloguedDraws(int nodes, int degree, bool isDuplex) {
  const auto it = catalogue().draws.find({degree, isDuplex});
  return it == catalogue().draws.end() || nodes > catalogue().lastNodes ? nullptr : &it->second[nodes];
}

std::optional<KautzValue> cataloguedKautz(int degree, int nodes) {
  const auto it = catalogue().kautz.find(degree);
  if (it == catalogue().kautz.end() || nodes > catalogue().lastNodes || it->second[nodes].steps == 0) {
    return std::nullopt;
  }
  return it->second[nodes];
}

}  // namespace coppice::finder
