// SPDX-License-Identifier: GPL-3.0-or-later
#include <map>
#include <utility>

#include "designer/document/edits.hpp"

namespace coppice::designer::edits {
namespace {

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

/// The j-th node of each box with the rail j.
Pairs railPairs(const Edit& edit, std::span<const NodeId> from, std::span<const NodeId> to) {
  Pairs pairs;
  std::map<BoxId, std::size_t> placeInBox;
  for (const NodeId id : from) {
    const std::size_t place = placeInBox[edit.find(id)->facts.box]++;
    pairs.emplace_back(id, to[place % to.size()]);
  }
  return pairs;
}

Pairs ringPairs(std::span<const NodeId> from, std::span<const NodeId> to) {
  std::vector<NodeId> ring(from.begin(), from.end());
  ring.insert(ring.end(), to.begin(), to.end());
  Pairs pairs;
  // Two nodes make one link, not two.
  const std::size_t count = ring.size() == 2 ? 1 : ring.size();
  for (std::size_t i = 0; i < count; ++i) {
    pairs.emplace_back(ring[i], ring[(i + 1) % ring.size()]);
  }
  return pairs;
}

Error lacks(const std::string& message, const std::string& fix) {
  return Error{ErrorCode::badUsage, message, fix};
}

}  // namespace

Result<std::vector<LinkId>> linkSets(Edit& edit, std::span<const NodeId> from, std::span<const NodeId> to,
                                     LinkPattern pattern, const LinkTemplate& link) {
  for (const auto& set : {from, to}) {
    for (const NodeId id : set) {
      if (edit.find(id) == nullptr) {
        return lacks("a node to be linked does not exist", "choose the nodes again");
      }
    }
  }
  if (from.empty() || (to.empty() && pattern != LinkPattern::ring)) {
    return lacks("nodes are needed on both sides", "select nodes, then choose where they link to");
  }
  const auto tooMany = [] {
    return Error{ErrorCode::limit, "more than " + std::to_string(kMaxPatternLinks) + " links", "link smaller sets"};
  };
  Pairs pairs;
  switch (pattern) {
    case LinkPattern::allToAll:
      if (from.size() > kMaxPatternLinks / to.size()) {
        return tooMany();
      }
      for (const NodeId a : from) {
        for (const NodeId b : to) {
          pairs.emplace_back(a, b);
        }
      }
      break;
    case LinkPattern::oneToOne:
      if (from.size() != to.size()) {
        return lacks("one to one needs the same number of nodes on both sides, not " + std::to_string(from.size()) +
                         " and " + std::to_string(to.size()),
                     "use round robin, or select equal numbers");
      }
      for (std::size_t i = 0; i < from.size(); ++i) {
        pairs.emplace_back(from[i], to[i]);
      }
      break;
    case LinkPattern::roundRobin:
      for (std::size_t i = 0; i < from.size(); ++i) {
        pairs.emplace_back(from[i], to[i % to.size()]);
      }
      break;
    case LinkPattern::rail:
      pairs = railPairs(edit, from, to);
      break;
    case LinkPattern::ring:
      if (from.size() + to.size() < 2) {
        return lacks("a ring needs two nodes or more", "select more nodes");
      }
      pairs = ringPairs(from, to);
      break;
  }
  if (pairs.size() > kMaxPatternLinks) {
    return tooMany();
  }
  std::vector<LinkId> made;
  made.reserve(pairs.size());
  for (const auto& [a, b] : pairs) {
    if (a != b) {
      made.push_back(edit.add(Link{LinkEnd{a, {}}, LinkEnd{b, {}}, link.bandwidth, link.duplex, link.count, {}, {}}));
    }
  }
  return made;
}

}  // namespace coppice::designer::edits
