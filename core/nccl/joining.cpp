// SPDX-License-Identifier: Apache-2.0
#include "nccl/joining.hpp"

#include <algorithm>
#include <utility>

#include "base/failure.hpp"

namespace coppice::nccl {
namespace {

constexpr int kManyChannels = 16;
constexpr int kHopper = 90;

/// ncclGetBtree: the root is 0, odd numbers are leaves.
DoubleTreePlace binaryTreePlace(int count, int rank) {
  DoubleTreePlace place;
  int bit = 1;
  while (bit < count && (bit & rank) == 0) {
    bit <<= 1;
  }
  if (rank == 0) {
    place.down[1] = count > 1 ? bit >> 1 : -1;
    return place;
  }
  place.up = (rank ^ bit) | (bit << 1);
  if (place.up >= count) {
    place.up = rank ^ bit;
  }
  place.childType = rank < place.up ? 0 : 1;
  int low = bit >> 1;
  place.down[0] = low == 0 ? -1 : rank - low;
  place.down[1] = low == 0 ? -1 : rank + low;
  while (place.down[1] >= count) {
    place.down[1] = low == 0 ? -1 : rank + low;
    low >>= 1;
  }
  return place;
}

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Failure{{ErrorCode::badInput, std::move(message), std::move(fix)}};
}

class Joiner {
public:
  Joiner(std::vector<GraphNode> nodes, const JoinOptions& options) : m_nodes(std::move(nodes)), m_options(options) {}

  ChannelSet run() {
    std::sort(m_nodes.begin(), m_nodes.end(),
              [](const GraphNode& a, const GraphNode& b) { return lowest(a) < lowest(b); });
    check();
    ChannelSet set;
    set.ranks = m_ranks;
    for (int channel = 0; channel < m_channels; ++channel) {
      set.rings.push_back(ring(channel));
      set.trees.push_back(tree(channel, 0));
    }
    for (int channel = 0; channel < m_channels; ++channel) {
      set.rings.push_back(Ring(set.rings[channel]));
      set.trees.push_back(tree(channel, 1));
    }
    const Rational intra = orThrow(Rational::parse(graph(0, kRingGraph).speedIntra));
    if (m_options.computeCapability >= kHopper && m_nodes.size() > 1 && intra > Rational(45) &&
        static_cast<int>(set.rings.size()) < kManyChannels) {
      repeatTo(set, 2 * set.rings.size());
    }
    const auto max = static_cast<std::size_t>(std::max(1, m_options.maxChannels));
    if (set.rings.size() > max) {
      set.rings.resize(max);
      set.trees.resize(max);
    }
    repeatTo(set, std::max<std::size_t>(set.rings.size(), std::min(m_options.minChannels, m_options.maxChannels)));
    return set;
  }

private:
  static int lowest(const GraphNode& node) {
    int rank = 1 << 30;
    for (const auto& [device, held] : node.rankOf) {
      rank = std::min(rank, held);
    }
    return rank;
  }

  static void repeatTo(ChannelSet& set, std::size_t count) {
    const std::size_t before = set.rings.size();
    for (std::size_t i = before; i < count; ++i) {
      set.rings.push_back(Ring(set.rings[i % before]));
      set.trees.push_back(Tree(set.trees[i % before]));
    }
  }

  [[nodiscard]] const Graph& graph(std::size_t node, int id) const { return *m_nodes[node].graphs.find(id); }

  void check() {
    if (m_nodes.empty()) {
      refuse("there is no node", "give the graphs of at least one node");
    }
    std::vector<bool> seen;
    m_channels = 1 << 20;
    for (std::size_t n = 0; n < m_nodes.size(); ++n) {
      const GraphNode& node = m_nodes[n];
      std::vector<int> devices;
      for (const auto& [device, rank] : node.rankOf) {
        devices.push_back(device);
        ++m_ranks;
        if (rank < 0 || rank >= (1 << 20)) {
          refuse("rank " + std::to_string(rank) + " is out of range", "number the ranks from 0 on");
        }
        if (static_cast<std::size_t>(rank) >= seen.size()) {
          seen.resize(static_cast<std::size_t>(rank) + 1, false);
        }
        if (seen[rank]) {
          refuse("rank " + std::to_string(rank) + " is there twice", "number the ranks from 0 on");
        }
        seen[rank] = true;
      }
      for (const int id : {kRingGraph, kTreeGraph}) {
        if (node.graphs.find(id) == nullptr) {
          refuse("node " + std::to_string(n) + " has no graph " + std::to_string(id),
                 "give the graph file that NCCL_GRAPH_DUMP_FILE wrote");
        }
        m_channels = std::min(m_channels, node.graphs.find(id)->channelCount);
      }
      for (const Finding& finding : checkGraphs(node.graphs, devices, true)) {
        if (finding.severity == Severity::error) {
          refuse(finding.text, finding.fix);
        }
      }
    }
    if (m_channels < 1) {
      refuse("a graph has no channel", "give a graph file with channels");
    }
    if (static_cast<int>(seen.size()) != m_ranks) {
      refuse("the ranks are not 0 to " + std::to_string(m_ranks - 1), "number the ranks from 0 on");
    }
  }

  /// The channel of one node; odd nodes exchange neighbours where rings cross NICs.
  [[nodiscard]] const GraphChannel& channelOf(std::size_t node, int id, int channel) const {
    const Graph& of = graph(node, id);
    const bool isCrossed = id == kRingGraph && of.crossNic == 2 && node % 2 == 1 && (channel ^ 1) < m_channels;
    return of.channels[static_cast<std::size_t>(isCrossed ? channel ^ 1 : channel)];
  }

  [[nodiscard]] int rankAt(std::size_t node, const GraphChannel& channel, std::size_t place) const {
    return m_nodes[node].rankOf.at(channel.devices[std::min(place, channel.devices.size() - 1)]);
  }

  [[nodiscard]] int netAt(const GraphChannel& channel, bool isFirst) const {
    if (m_nodes.size() == 1) {
      return -1;
    }
    if (channel.nets.empty()) {
      return 0;
    }
    return static_cast<int>((isFirst ? channel.nets.front() : channel.nets.back()) & 0xffffff);
  }

  Ring ring(int number) {
    std::vector<Hop> hops;
    for (std::size_t node = 0; node < m_nodes.size(); ++node) {
      const GraphChannel& channel = channelOf(node, kRingGraph, number);
      const std::size_t next = (node + 1) % m_nodes.size();
      const GraphChannel& nextChannel = channelOf(next, kRingGraph, number);
      const std::size_t count = channel.devices.size();
      for (std::size_t i = 0; i + 1 < count; ++i) {
        hops.push_back({rankAt(node, channel, i), rankAt(node, channel, i + 1), -1, -1});
      }
      hops.push_back({rankAt(node, channel, count - 1), rankAt(next, nextChannel, 0), netAt(channel, false),
                      netAt(nextChannel, true)});
    }
    const auto zero = std::find_if(hops.begin(), hops.end(), [](const Hop& hop) { return hop.from == 0; });
    std::rotate(hops.begin(), zero, hops.end());
    return {std::move(hops)};
  }

  Tree tree(int number, int which) {
    Tree made;
    made.parents.assign(static_cast<std::size_t>(m_ranks), -1);
    made.up.assign(static_cast<std::size_t>(m_ranks), {});
    made.children.assign(static_cast<std::size_t>(m_ranks), {});
    const auto attach = [&](int child, int parent, int sendNet, int receiveNet) {
      made.parents[child] = parent;
      made.up[child] = {child, parent, sendNet, receiveNet};
      made.children[parent].push_back(child);
    };
    for (std::size_t node = 0; node < m_nodes.size(); ++node) {
      const GraphChannel& channel = channelOf(node, kTreeGraph, number);
      for (std::size_t i = 1; i < channel.devices.size(); ++i) {
        attach(rankAt(node, channel, i), rankAt(node, channel, i - 1), -1, -1);
      }
    }
    const auto count = static_cast<int>(m_nodes.size());
    for (int node = 0; node < count; ++node) {
      const DoubleTreePlace place = doubleTreePlace(count, node)[which];
      if (place.up < 0) {
        continue;
      }
      const GraphChannel& channel = channelOf(static_cast<std::size_t>(node), kTreeGraph, number);
      const auto above = static_cast<std::size_t>(place.up);
      const GraphChannel& parentChannel = channelOf(above, kTreeGraph, number);
      const int pattern = graph(above, kTreeGraph).pattern;
      // Where the parent's node meets its children: at its first or its second GPU.
      const bool isSecond = pattern == kSplitTree || (pattern == kBalancedTree && place.childType == 0);
      attach(rankAt(static_cast<std::size_t>(node), channel, 0), rankAt(above, parentChannel, isSecond ? 1 : 0),
             netAt(channel, true), netAt(parentChannel, !isSecond));
    }
    return made;
  }

  std::vector<GraphNode> m_nodes;
  JoinOptions m_options;
  int m_ranks = 0;
  int m_channels = 0;
};

}  // namespace

std::array<DoubleTreePlace, 2> doubleTreePlace(int count, int node) {
  std::array<DoubleTreePlace, 2> places;
  places[0] = binaryTreePlace(count, node);
  const bool isOdd = count % 2 == 1;
  places[1] = binaryTreePlace(count, isOdd ? (node - 1 + count) % count : count - 1 - node);
  const auto moved = [&](int other) { return other < 0 ? -1 : isOdd ? (other + 1) % count : count - 1 - other; };
  places[1].up = moved(places[1].up);
  places[1].down = {moved(places[1].down[0]), moved(places[1].down[1])};
  return places;
}

Result<ChannelSet> joinNodes(std::vector<GraphNode> nodes, const JoinOptions& options) {
  return guarded([&]() -> Result<ChannelSet> { return Joiner(std::move(nodes), options).run(); });
}

}  // namespace coppice::nccl
