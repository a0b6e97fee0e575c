// SPDX-License-Identifier: Apache-2.0
#include "live/damaged_fabric.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"

namespace coppice::live {
namespace {

using fabric::Description;
using fabric::LinkDescription;
using fabric::NodeIndex;

bool isGpu(const fabric::NodeDescription& node) {
  return fabric::parseNodeKind(node.kind) == fabric::NodeKind::gpu;
}

/// Takes one link of the entry that is like the loss; false where there is none.
bool takeLink(Description& description, const PartFailure::Loss& loss, bool isDuplex) {
  const std::string& tail = description.nodes[loss.tail].id;
  const std::string& head = description.nodes[loss.head].id;
  const auto found = std::ranges::find_if(description.links, [&](const LinkDescription& link) {
    const bool isThere = link.src == tail && link.dst == head;
    const bool isBack = isDuplex && link.src == head && link.dst == tail;
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    return link.count > 0 && link.duplex == isDuplex && (isThere || isBack) && bandwidth &&
           *bandwidth == loss.bandwidth;
  });
  if (found != description.links.end()) {
    --found->count;
  }
  return found != description.links.end();
}

void renumber(Description& description) {
  std::vector<fabric::NodeDescription*> ranked;
  for (fabric::NodeDescription& node : description.nodes) {
    if (isGpu(node) && node.rank) {
      ranked.push_back(&node);
    }
  }
  std::ranges::stable_sort(ranked, {}, [](const fabric::NodeDescription* node) { return *node->rank; });
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    ranked[i]->rank = static_cast<int>(i);
  }
}

}  // namespace

Result<DamagedFabric> damagedFabric(const Description& description, const PartFailure& failure) {
  DamagedFabric damaged{description, {}};
  Description& left = damaged.description;
  for (std::size_t i = 0; i < failure.losses.size(); ++i) {
    const PartFailure::Loss& loss = failure.losses[i];
    // Both directions of a duplex link stand one after the other.
    const bool isDuplex = i + 1 < failure.losses.size() && failure.losses[i + 1].tail == loss.head &&
                          failure.losses[i + 1].head == loss.tail;
    const bool isTaken = (isDuplex && takeLink(left, loss, true)) || takeLink(left, loss, false);
    if (!isTaken) {
      return Error{ErrorCode::badUsage, inQuotes(failure.name) + " is no link of the fabric", "name one that it has"};
    }
    i += isDuplex ? 1 : 0;
  }
  std::vector<char> isGone(left.nodes.size(), 0);
  std::unordered_map<std::string_view, char> isGoneById;
  for (const NodeIndex node : failure.nodes) {
    isGone[node] = 1;
    isGoneById.emplace(description.nodes[node].id, 1);
  }
  std::erase_if(left.links, [&](const LinkDescription& link) {
    return link.count == 0 || isGoneById.contains(link.src) || isGoneById.contains(link.dst);
  });
  left.nodes.clear();
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    damaged.nodes.push_back(isGone[i] != 0 ? -1 : static_cast<NodeIndex>(left.nodes.size()));
    if (isGone[i] == 0) {
      left.nodes.push_back(description.nodes[i]);
    }
  }
  renumber(left);
  return damaged;
}

PartFailure onDamaged(const DamagedFabric& damaged, PartFailure failure) {
  std::vector<PartFailure::Loss> losses;
  for (PartFailure::Loss loss : failure.losses) {
    loss.tail = damaged.nodes[loss.tail];
    loss.head = damaged.nodes[loss.head];
    if (loss.tail >= 0 && loss.head >= 0) {
      losses.push_back(loss);
    }
  }
  std::vector<NodeIndex> nodes;
  for (const NodeIndex node : failure.nodes) {
    if (damaged.nodes[node] >= 0) {
      nodes.push_back(damaged.nodes[node]);
    }
  }
  failure.losses = std::move(losses);
  failure.nodes = std::move(nodes);
  return failure;
}

std::string described(const PartFailure& failure) {
  return failure.part == Part::group ? failure.name : std::string(toString(failure.part)) + " " + failure.name;
}

PartFailure together(const PartFailure& first, const PartFailure& second) {
  PartFailure both{Part::group, described(first) + " and " + described(second)};
  both.nodes = first.nodes;
  both.nodes.insert(both.nodes.end(), second.nodes.begin(), second.nodes.end());
  std::ranges::sort(both.nodes);
  both.nodes.erase(std::unique(both.nodes.begin(), both.nodes.end()), both.nodes.end());
  const auto isGone = [&](NodeIndex node) { return std::ranges::binary_search(both.nodes, node); };
  for (const PartFailure* failure : {&first, &second}) {
    for (const PartFailure::Loss& loss : failure->losses) {
      if (!isGone(loss.tail) && !isGone(loss.head)) {
        both.losses.push_back(loss);
      }
    }
  }
  return both;
}

}  // namespace coppice::live
