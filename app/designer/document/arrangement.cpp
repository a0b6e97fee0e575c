// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/arrangement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace coppice::designer {
namespace {

constexpr double kSpacing = 100;
constexpr double kTierGap = 200;
constexpr std::size_t kRowLength = 8;

/// Columns of a block of `count`: one row up to 8, then rows of 8 up to 32, then about twice as wide as high.
std::size_t columnsFor(std::size_t count) {
  if (count <= kRowLength * 4) {
    return std::clamp<std::size_t>(count, 1, kRowLength);
  }
  return static_cast<std::size_t>(std::ceil(std::sqrt(2.0 * static_cast<double>(count))));
}

/// Nodes of one box, or those in none that are GPUs, as a block around its own origin (top left).
struct Block {
  std::map<NodeId, Point> places;
  double width = 0;
  double height = 0;
};

/// Rows of nodes under each other, each row centred.
Block stacked(const std::vector<std::vector<NodeId>>& tiers) {
  Block block;
  for (const std::vector<NodeId>& tier : tiers) {
    if (!tier.empty()) {
      block.width = std::max(block.width, kSpacing * static_cast<double>(columnsFor(tier.size()) - 1));
    }
  }
  double y = 0;
  for (const std::vector<NodeId>& tier : tiers) {
    if (tier.empty()) {
      continue;
    }
    const std::size_t columns = columnsFor(tier.size());
    const std::size_t rows = (tier.size() + columns - 1) / columns;
    const double left = (block.width - kSpacing * static_cast<double>(columns - 1)) / 2;
    for (std::size_t i = 0; i < tier.size(); ++i) {
      block.places[tier[i]] = {left + kSpacing * static_cast<double>(i % columns),
                               y + kSpacing * static_cast<double>(i / columns)};
    }
    y += kSpacing * static_cast<double>(rows);
  }
  block.height = std::max(0.0, y - kSpacing);
  return block;
}

}  // namespace

std::map<NodeId, Point> quickArrangement(const Model& model, const std::vector<NodeId>& ids) {
  const std::set<NodeId> wanted(ids.begin(), ids.end());
  // The outermost box decides the block, so that nested boxes stay together.
  std::map<BoxId, std::vector<NodeId>> byBox;
  std::vector<NodeId> freeRelays;
  for (const NodeId id : ids) {
    const Node* node = model.find(id);
    if (node == nullptr) {
      continue;
    }
    BoxId box = node->facts.box;
    for (const Box* at = model.find(box); at != nullptr && at->parent.isValid(); at = model.find(box)) {
      box = at->parent;
    }
    if (!box.isValid() && node->kind() != fabric::NodeKind::gpu) {
      freeRelays.push_back(id);
    } else {
      byBox[box].push_back(id);
    }
  }

  std::vector<Block> blocks;
  for (auto& [box, members] : byBox) {
    std::vector<std::vector<NodeId>> tiers(3);
    std::stable_sort(members.begin(), members.end(), [&](NodeId a, NodeId b) {
      return model.boxPath(model.find(a)->facts.box) < model.boxPath(model.find(b)->facts.box);
    });
    for (const NodeId id : members) {
      const auto kind = model.find(id)->kind();
      tiers[kind == fabric::NodeKind::nic ? 0 : (kind == fabric::NodeKind::switchNode ? 2 : 1)].push_back(id);
    }
    blocks.push_back(stacked(tiers));
  }

  // Tier of a free relay: links from the nearest wanted GPU or box node.
  std::map<NodeId, int> tierOf;
  std::vector<NodeId> front;
  for (const auto& [box, members] : byBox) {
    front.insert(front.end(), members.begin(), members.end());
  }
  const std::set<NodeId> relays(freeRelays.begin(), freeRelays.end());
  for (int tier = 1; !front.empty(); ++tier) {
    std::vector<NodeId> next;
    for (const NodeId id : front) {
      for (const LinkId linkId : model.linksOf(id)) {
        const Link& link = *model.find(linkId);
        for (const LinkEnd* end : {&link.tail, &link.head}) {
          if (relays.contains(end->node) && tierOf.try_emplace(end->node, tier).second) {
            next.push_back(end->node);
          }
        }
      }
    }
    front = std::move(next);
  }
  std::map<int, std::vector<NodeId>> tiers;
  for (const NodeId id : freeRelays) {
    const auto found = tierOf.find(id);
    tiers[found != tierOf.end() ? found->second : 1].push_back(id);
  }

  // Blocks in rows, each as wide as the widest.
  double blockWidth = 0;
  double blockHeight = 0;
  for (const Block& block : blocks) {
    blockWidth = std::max(blockWidth, block.width);
    blockHeight = std::max(blockHeight, block.height);
  }
  const std::size_t columns = columnsFor(blocks.size());
  std::map<NodeId, Point> result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double x = static_cast<double>(i % columns) * (blockWidth + kTierGap);
    const double y = static_cast<double>(i / columns) * (blockHeight + kTierGap);
    for (const auto& [id, place] : blocks[i].places) {
      result[id] = {x + (blockWidth - blocks[i].width) / 2 + place.x, y + place.y};
    }
  }
  const double width =
      blocks.empty() ? 0
                     : static_cast<double>(std::min(columns, blocks.size()) - 1) * (blockWidth + kTierGap) + blockWidth;
  for (const auto& [tier, members] : tiers) {
    const double step = std::max(kSpacing, width / static_cast<double>(members.size()));
    const double left = (width - step * static_cast<double>(members.size() - 1)) / 2;
    for (std::size_t i = 0; i < members.size(); ++i) {
      result[members[i]] = {std::round(left + step * static_cast<double>(i)), -kTierGap * tier};
    }
  }

  // Clear of what has its place already: below it.
  double bottom = -std::numeric_limits<double>::infinity();
  double leftmost = std::numeric_limits<double>::infinity();
  for (const auto& [id, node] : model.nodes()) {
    if (!wanted.contains(id)) {
      bottom = std::max(bottom, node.drawing.position.y);
      leftmost = std::min(leftmost, node.drawing.position.x);
    }
  }
  if (std::isfinite(bottom) && std::isfinite(leftmost) && !result.empty()) {
    double top = std::numeric_limits<double>::infinity();
    for (const auto& [id, place] : result) {
      top = std::min(top, place.y);
    }
    for (auto& [id, place] : result) {
      place = {place.x + leftmost, place.y - top + bottom + kTierGap};
    }
  }
  return result;
}

}  // namespace coppice::designer
