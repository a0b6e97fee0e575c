// SPDX-License-Identifier: Apache-2.0
#include "io/groups_json.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"
#include "io/text_place.hpp"

namespace coppice::io {
namespace {

using fabric::Rank;
using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using Kind = JsonValue::Kind;

class GroupsReader {
public:
  GroupsReader(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric)
      : m_text(text), m_fileName(fileName), m_fabric(fabric) {}

  ConcurrentDemand run(const JsonValue& top) {
    ConcurrentDemand demand;
    const JsonValue* list = top.kind == Kind::object ? top.find("groups") : &top;
    if (list == nullptr || list->kind != Kind::array || list->items.empty()) {
      refuse(top, "there is no list of groups", kExample);
    }
    for (const JsonValue& item : list->items) {
      m_element = {RefKind::field, "groups[" + std::to_string(demand.groups.size()) + "]"};
      demand.groups.push_back(group(item));
    }
    m_element = {RefKind::field, "relay"};
    const JsonValue* relay = top.kind == Kind::object ? top.find("relay") : nullptr;
    if (relay != nullptr && !(relay->kind == Kind::boolean && relay->text == "false")) {
      demand.relays.assign(m_fabric.gpus().size(), relay->kind == Kind::boolean);
      if (relay->kind != Kind::boolean) {
        for (const Rank rank : ranks(*relay)) {
          demand.relays[rank] = true;
        }
      }
    }
    return demand;
  }

private:
  static constexpr const char* kExample = R"(write for example [{"ranks": [0, 1], "collective": "allgather"}])";

  [[noreturn]] void refuse(const JsonValue& at, std::string message, std::string fix) const {
    throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix),
                   TextPlaces(m_text, m_fileName).at(at.offset, m_element)}};
  }

  ConcurrentGroup group(const JsonValue& item) const {
    if (item.kind != Kind::object) {
      refuse(item, "a group is not an object", kExample);
    }
    ConcurrentGroup group;
    for (const auto& [key, value] : item.members) {
      if (key != "ranks" && key != "collective" && key != "weight" && key != "root" && key != "name") {
        refuse(value, inQuotes(key) + " is not a key of a group", "use ranks, collective, weight, root and name");
      }
    }
    const JsonValue* members = item.find("ranks");
    if (members == nullptr) {
      refuse(item, "a group has no ranks", kExample);
    }
    group.ranks = ranks(*members);
    if (group.ranks.size() < 2) {
      refuse(*members, "a group has fewer than two ranks", "leave it out, or add ranks");
    }
    std::vector<Rank> sorted(group.ranks);
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
      refuse(*members, "rank " + std::to_string(*twice) + " is in a group twice", "list each rank once");
    }
    if (const JsonValue* collective = item.find("collective")) {
      const auto parsed = collective->kind == Kind::string ? parseCollective(collective->text) : std::nullopt;
      if (!parsed || *parsed == Collective::custom) {
        refuse(*collective, inQuotes(collective->text) + " is not a collective",
               "use allgather, reduce_scatter, allreduce, broadcast, reduce, alltoall, gather or scatter");
      }
      group.collective = *parsed;
    }
    if (const JsonValue* weight = item.find("weight")) {
      const bool isText = weight->kind == Kind::number || weight->kind == Kind::string;
      const auto parsed = isText ? std::optional(Rational::parse(weight->text)) : std::nullopt;
      if (!parsed || !*parsed || !(*parsed)->isPositive()) {
        refuse(*weight, "a weight is not a number above 0", "write for example 2, 0.5 or \"3/2\"");
      }
      group.weight = **parsed;
    }
    if (const JsonValue* root = item.find("root")) {
      const std::vector<Rank> named = ranks(*root);
      const auto at = std::find(group.ranks.begin(), group.ranks.end(), named.front());
      if (named.size() != 1 || at == group.ranks.end()) {
        refuse(*root, "the root of a group is not one of its ranks", "name one of its ranks");
      }
      group.root = static_cast<int>(at - group.ranks.begin());
    }
    return group;
  }

  [[nodiscard]] std::optional<Rank> number(std::string_view text) const {
    const auto rank = numberIn<Rank>(text);
    return rank && *rank >= 0 && *rank < m_fabric.gpuCount() ? rank : std::nullopt;
  }

  /// A list, or one entry of a list.
  std::vector<Rank> ranks(const JsonValue& value) const {
    std::vector<Rank> found;
    if (value.kind == Kind::array) {
      for (const JsonValue& item : value.items) {
        if (item.kind == Kind::array) {
          refuse(item, "a list of ranks has a list in it", kExample);
        }
        const std::vector<Rank> more = ranks(item);
        found.insert(found.end(), more.begin(), more.end());
      }
      return found;
    }
    if (value.kind == Kind::string) {
      if (const auto node = m_fabric.find(value.text); node && m_fabric.nodes()[*node].rank >= 0) {
        return {m_fabric.nodes()[*node].rank};
      }
      const std::size_t dash = value.text.find('-');
      const bool isAll = value.text == "all";
      const auto first = isAll ? std::optional<Rank>(0) : number(std::string_view(value.text).substr(0, dash));
      const auto last =
          isAll ? std::optional<Rank>(m_fabric.gpuCount() - 1)
                : (dash == std::string::npos ? first : number(std::string_view(value.text).substr(dash + 1)));
      if (first && last && *first <= *last) {
        for (Rank rank = *first; rank <= *last; ++rank) {
          found.push_back(rank);
        }
        return found;
      }
    } else if (value.kind == Kind::number) {
      if (const auto rank = number(value.text)) {
        return {*rank};
      }
    }
    refuse(
        value, (value.text.empty() ? std::string("this") : inQuotes(value.text)) + " is not a GPU of the fabric",
        "use ranks from 0 to " + std::to_string(m_fabric.gpuCount() - 1) + ", ids of GPUs, or ranges such as \"0-7\"");
  }

  std::string_view m_text;
  const std::string& m_fileName;
  const fabric::Fabric& m_fabric;
  ElementRef m_element;
};

}  // namespace

Result<ConcurrentDemand> readGroups(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric) {
  const auto top = parseExactJson(text, fileName);
  if (!top) {
    return top.error();
  }
  return guarded([&] { return GroupsReader(text, fileName, fabric).run(*top); });
}

}  // namespace coppice::io
