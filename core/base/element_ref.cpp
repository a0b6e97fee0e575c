// SPDX-License-Identifier: Apache-2.0
#include "base/element_ref.hpp"

#include <algorithm>
#include <array>

#include "base/comma_list.hpp"
#include "base/text.hpp"

namespace coppice {
namespace {

struct KindNames {
  std::string_view name;  ///< in JSON
  std::string_view word;  ///< before its number or name; empty = the name alone
};

/// In the order of RefKind.
constexpr std::array<KindNames, 21> kKindNames = {{{"field", ""},
                                                   {"key", "key"},
                                                   {"option", ""},
                                                   {"parameter", ""},
                                                   {"device", ""},
                                                   {"node", "node"},
                                                   {"link", "link"},
                                                   {"rank", "rank"},
                                                   {"threadblock", "threadblock"},
                                                   {"step", "step"},
                                                   {"root", "root"},
                                                   {"tree", "tree"},
                                                   {"edge", "edge"},
                                                   {"route", "route"},
                                                   {"transfer", "transfer"},
                                                   {"shard", "shard"},
                                                   {"cut", "cut"},
                                                   {"chunk", "chunk"},
                                                   {"message", "message"},
                                                   {"symmetry", "symmetry"},
                                                   {"arc", "arc"}}};
static_assert(kKindNames.size() == static_cast<std::size_t>(RefKind::arc) + 1);

std::string textOf(const ElementPart& part) {
  const std::string_view word = kKindNames[static_cast<std::size_t>(part.kind)].word;
  if (word.empty()) {
    return part.name;
  }
  std::string text(word);
  const bool hasNumber = part.index >= 0;
  const bool joinsTwo = part.kind == RefKind::link || part.kind == RefKind::edge;
  if (joinsTwo && !(part.name.empty() && part.head.empty())) {
    return text + (hasNumber ? " " + std::to_string(part.index) : "") + " " + inQuotes(part.name) + " -> " +
           inQuotes(part.head);
  }
  if (part.kind == RefKind::tree && hasNumber) {
    return text + " " + std::to_string(part.index) + (part.name.empty() ? "" : " (root " + inQuotes(part.name) + ")");
  }
  return text + " " + (part.name.empty() && hasNumber ? std::to_string(part.index) : inQuotes(part.name));
}

}  // namespace

std::string_view toString(RefKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)].name;
}

std::optional<RefKind> refKindNamed(std::string_view name) {
  const auto found =
      std::find_if(kKindNames.begin(), kKindNames.end(), [&](const KindNames& each) { return each.name == name; });
  return found == kKindNames.end() ? std::nullopt : std::optional(static_cast<RefKind>(found - kKindNames.begin()));
}

ElementRef ElementRef::with(const ElementRef& inner) const {
  ElementRef both = *this;
  both.m_parts.insert(both.m_parts.end(), inner.m_parts.begin(), inner.m_parts.end());
  return both;
}

const ElementPart* ElementRef::as(RefKind kind) const {
  return !m_parts.empty() && m_parts.back().kind == kind ? &m_parts.back() : nullptr;
}

std::string toText(const ElementRef& element) {
  return commaList(element.parts(), [](const ElementPart& part) { return textOf(part); });
}

}  // namespace coppice
