// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/palette/part_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "designer/document/edit.hpp"

namespace coppice::designer {
namespace {

struct Numbered {
  std::string_view stem;
  long number = 0;
};

/// "b12" = "b", 12; nullopt without digits at the end, or with too many.
std::optional<Numbered> split(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  constexpr std::size_t kMaxDigits = 9;
  if (digits == name.size() || name.size() - digits > kMaxDigits) {
    return std::nullopt;
  }
  Numbered result{name.substr(0, digits)};
  std::from_chars(name.data() + digits, name.data() + name.size(), result.number);
  return result;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Model numberedOn(const Model& part, const Model& here) {
  std::map<std::string_view, long> next;  // free number after those that are here
  std::set<std::string_view> taken;
  for (const BoxId id : here.boxesIn({})) {
    const std::string& name = here.find(id)->name;
    taken.insert(name);
    if (const auto numbered = split(name)) {
      long& after = next[numbered->stem];
      after = std::max(after, numbered->number + 1);
    }
  }
  std::map<std::string_view, long> shift;
  std::set<std::string_view> clashing;
  for (const BoxId id : part.boxesIn({})) {
    const std::string& name = part.find(id)->name;
    if (const auto numbered = split(name)) {
      const auto [found, isNew] = shift.try_emplace(numbered->stem, -numbered->number);
      found->second = std::max(found->second, -numbered->number);
      if (taken.contains(name)) {
        clashing.insert(numbered->stem);
      }
    }
  }
  Model result = part;
  Edit edit(result);
  for (const BoxId id : part.boxesIn({})) {
    const std::string& name = part.find(id)->name;
    const auto numbered = split(name);
    if (!numbered || !clashing.contains(numbered->stem)) {
      continue;
    }
    const std::string now =
        std::string(numbered->stem) + std::to_string(numbered->number + shift[numbered->stem] + next[numbered->stem]);
    edit.change(id, [&](Box& box) { box.name = now; });
    for (const NodeId node : part.allNodesIn(id)) {
      const std::string& old = part.find(node)->facts.name;
      if (old.size() > name.size() && old.starts_with(name) && !isDigit(old[name.size()])) {
        edit.change(node, [&](Node& changed) { changed.facts.name = now + old.substr(name.size()); });
      }
    }
  }
  result.applyTrusted(edit.patch());
  return result;
}

}  // namespace coppice::designer
