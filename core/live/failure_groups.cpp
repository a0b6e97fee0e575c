// SPDX-License-Identifier: Apache-2.0
#include "live/failure_groups.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "base/wildcard.hpp"
#include "fabric/box_path.hpp"

namespace coppice::live {
namespace {

using fabric::Description;
using fabric::NodeIndex;
using fabric::NodeKind;

struct Leaf {
  NodeIndex node = 0;
  std::set<std::pair<bool, int>> places;  ///< of what is linked to it: whether it is a NIC, and its place in its box
};

/// Leaf switches in the description's order.
std::vector<Leaf> leavesOf(const Description& description) {
  std::unordered_map<std::string_view, NodeIndex> byId;
  std::vector<std::pair<bool, int>> places;
  std::map<std::pair<std::string_view, bool>, int> counts;
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    const fabric::NodeDescription& node = description.nodes[i];
    byId.emplace(node.id, static_cast<NodeIndex>(i));
    const bool isNic = fabric::parseNodeKind(node.kind) == NodeKind::nic;
    const bool isSwitch = fabric::parseNodeKind(node.kind) == NodeKind::switchNode;
    places.emplace_back(isNic, isSwitch ? -1 : counts[{fabric::boxAtLevel(node.box, 1), isNic}]++);
  }
  std::map<NodeIndex, Leaf> leaves;
  for (const fabric::LinkDescription& link : description.links) {
    const auto src = byId.find(link.src);
    const auto dst = byId.find(link.dst);
    if (src == byId.end() || dst == byId.end()) {
      continue;
    }
    for (const auto& [node, other] : {std::pair(src->second, dst->second), std::pair(dst->second, src->second)}) {
      const fabric::NodeDescription& facts = description.nodes[node];
      const bool isOutside = facts.box.empty() && fabric::parseNodeKind(facts.kind) == NodeKind::switchNode;
      if (isOutside && places[other].second >= 0) {
        Leaf& leaf = leaves[node];
        leaf.node = node;
        leaf.places.insert(places[other]);
      }
    }
  }
  std::vector<Leaf> list;
  for (auto& [node, leaf] : leaves) {
    list.push_back(std::move(leaf));
  }
  return list;
}

/// Adds the nodes that an item names; false where there are none.
bool addMatches(const Description& description, std::string_view item, std::set<NodeIndex>& nodes) {
  bool isFound = false;
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    const fabric::NodeDescription& node = description.nodes[i];
    bool isMatch = matchesWildcard(item, node.id);
    for (int level = 1; !isMatch && !fabric::boxAtLevel(node.box, level).empty(); ++level) {
      isMatch = matchesWildcard(item, fabric::boxAtLevel(node.box, level));
    }
    if (isMatch) {
      nodes.insert(static_cast<NodeIndex>(i));
      isFound = true;
    }
  }
  return isFound;
}

}  // namespace

Result<std::vector<PartFailure>> leafFailures(const Description& description) {
  std::vector<PartFailure> failures;
  for (const Leaf& leaf : leavesOf(description)) {
    failures.push_back({Part::switchNode, description.nodes[leaf.node].id, {}, {leaf.node}});
  }
  if (failures.empty()) {
    return Error{ErrorCode::badUsage, "no switch outside the boxes has a GPU or NIC linked to it",
                 "name the groups in a file"};
  }
  return failures;
}

Result<std::vector<PartFailure>> railFailures(const Description& description) {
  std::map<std::pair<bool, int>, PartFailure> rails;
  for (const Leaf& leaf : leavesOf(description)) {
    if (leaf.places.size() != 1) {
      return Error{ErrorCode::badUsage,
                   "switch " + inQuotes(description.nodes[leaf.node].id) + " serves several GPUs or NICs of a box",
                   "on rails each leaf switch serves those of one place; use --group leaf, or a file"};
    }
    PartFailure& rail = rails[*leaf.places.begin()];
    rail.part = Part::group;
    rail.nodes.push_back(leaf.node);
  }
  if (rails.size() < 2) {
    return Error{ErrorCode::badUsage, "the fabric has no rails", "use --group leaf, or a file"};
  }
  std::vector<PartFailure> failures;
  for (auto& [place, rail] : rails) {
    rail.name = "rail " + std::to_string(place.second);
    failures.push_back(std::move(rail));
  }
  return failures;
}

Result<std::vector<PartFailure>> parseGroups(const Description& description, std::string_view text) {
  std::vector<PartFailure> groups;
  std::set<std::string, std::less<>> names;
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
    at = end + 1;
    ++line;
    if (content.empty()) {
      continue;
    }
    const Place place{.line = line};
    const std::size_t colon = content.find(':');
    const std::string_view name = trimmed(content.substr(0, colon));
    if (colon == std::string_view::npos || name.empty()) {
      return Error{ErrorCode::badInput, inQuotes(content) + " is no group of parts",
                   "write a name, a colon, and ids or boxes: shelf-1: b0, b1, leaf*", place};
    }
    if (!names.emplace(name).second) {
      return Error{ErrorCode::badInput, "the group " + inQuotes(name) + " is named twice",
                   "give each group a name of its own", place};
    }
    std::set<NodeIndex> nodes;
    std::string_view items = content.substr(colon + 1);
    while (true) {
      const std::size_t comma = items.find(',');
      const std::string_view item = trimmed(items.substr(0, comma));
      if (item.empty() || !addMatches(description, item, nodes)) {
        return Error{ErrorCode::badInput,
                     item.empty() ? "an item of the group " + inQuotes(name) + " is empty"
                                  : "no node or box is called " + inQuotes(item),
                     "use ids of nodes and names of boxes; * stands for any characters", place};
      }
      if (comma == std::string_view::npos) {
        break;
      }
      items.remove_prefix(comma + 1);
    }
    groups.push_back({Part::group, std::string(name), {}, {nodes.begin(), nodes.end()}});
  }
  if (groups.empty()) {
    return Error{ErrorCode::badInput, "the file names no group", "write one per line: shelf-1: b0, b1, leaf*"};
  }
  return groups;
}

}  // namespace coppice::live
