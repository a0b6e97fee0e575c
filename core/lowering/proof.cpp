// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/disjoint_sets.hpp"
#include "base/rows.hpp"
#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

struct Traffic {
  std::vector<std::pair<int, int>> sends;  ///< step, count
  std::vector<std::pair<int, int>> receives;
};

Error broken(const std::string& what) {
  return {ErrorCode::internal, "the lowered program is wrong: " + what, "report this with the schedule", {}};
}

/// Kahn's algorithm. Nodes without edges do no harm.
bool isAcyclic(int nodes, const std::vector<std::pair<int, int>>& edges) {
  const Rows<int> after(static_cast<std::size_t>(nodes), [&](const auto& add) {
    for (const auto& [earlier, later] : edges) {
      add(earlier, later);
    }
  });
  std::vector<int> missing(nodes, 0);
  for (const int later : after.entries()) {
    ++missing[later];
  }
  std::vector<int> done;
  done.reserve(nodes);
  for (int n = 0; n < nodes; ++n) {
    if (missing[n] == 0) {
      done.push_back(n);
    }
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    for (const int later : after[done[i]]) {
      if (--missing[later] == 0) {
        done.push_back(later);
      }
    }
  }
  return static_cast<int>(done.size()) == nodes;
}

/// Chunks moved by all steps of a program that are looked at one by one.
constexpr std::int64_t kMaxChunks = 4'000'000;

using Endpoints = std::tuple<int, int, int>;  // sender, receiver, channel

/// What the steps of a program wait for, by the number of the step over all ranks.
struct WaitGraph {
  std::vector<int> counts;  ///< chunks of each step; a nop has its place in the order too
  std::map<Endpoints, Traffic> connections;
  std::vector<std::pair<int, int>> before;  ///< edges: step, later step

  [[nodiscard]] int steps() const { return static_cast<int>(counts.size()); }
};

Result<WaitGraph> waitsOf(const program::Program& program, const Progress& progress) {
  WaitGraph waits;
  std::map<Endpoints, std::pair<int, int>> owners;  // threadblocks at the two ends, how many
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    throwIfCancelled(progress);
    const program::RankProgram& mine = program.ranks[rank];
    const auto self = static_cast<int>(rank);
    std::vector<int> first;  // by threadblock
    for (const program::ThreadBlock& block : mine.threadBlocks) {
      first.push_back(waits.steps());
      for (const program::Step& step : block.steps) {
        waits.counts.push_back(std::max(1, step.count));
      }
    }
    for (std::size_t id = 0; id < mine.threadBlocks.size(); ++id) {
      const program::ThreadBlock& block = mine.threadBlocks[id];
      const Endpoints out{self, block.sendPeer, block.channel};
      const Endpoints in{block.recvPeer, self, block.channel};
      if ((block.sendPeer >= 0 && ++owners[out].first > 1) || (block.recvPeer >= 0 && ++owners[in].second > 1)) {
        return broken("two threadblocks of rank " + std::to_string(rank) + " own one end of a connection");
      }
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const program::Step& step = block.steps[s];
        const int event = first[id] + static_cast<int>(s);
        if (program::sends(step.type)) {
          waits.connections[out].sends.emplace_back(event, step.count);
        }
        if (program::receives(step.type)) {
          waits.connections[in].receives.emplace_back(event, step.count);
        }
        if (s > 0) {
          waits.before.emplace_back(event - 1, event);
        }
        if (step.dependsOnTb >= 0) {
          const program::Step& target = mine.threadBlocks[step.dependsOnTb].steps[step.dependsOnStep];
          if (!target.hasDependent) {
            return broken("rank " + std::to_string(rank) + " threadblock " + std::to_string(id) + " step " +
                          std::to_string(s) + " waits for a step that does not publish its end");
          }
          waits.before.emplace_back(first[step.dependsOnTb] + step.dependsOnStep, event);
        }
      }
    }
  }
  return waits;
}

Outcome checkPairs(const WaitGraph& waits) {
  for (const auto& [key, ends] : waits.connections) {
    const auto& [sender, receiver, channel] = key;
    const std::string name = "connection " + std::to_string(sender) + " -> " + std::to_string(receiver) + " channel " +
                             std::to_string(channel);
    if (ends.sends.size() != ends.receives.size()) {
      return broken(name + " has unequal numbers of sends and receives");
    }
    for (std::size_t i = 0; i < ends.sends.size(); ++i) {
      if (ends.sends[i].second != ends.receives[i].second) {
        return broken(name + " pairs steps of unequal counts");
      }
    }
  }
  return Done{};
}

/// A send and its receive as one event.
bool isAcyclicByStep(const WaitGraph& waits) {
  DisjointSets events(waits.steps());
  for (const auto& [key, ends] : waits.connections) {
    for (std::size_t i = 0; i < ends.sends.size(); ++i) {
      events.join(ends.sends[i].first, ends.receives[i].first);
    }
  }
  std::vector<std::pair<int, int>> contracted;
  contracted.reserve(waits.before.size());
  for (const auto& [earlier, later] : waits.before) {
    contracted.emplace_back(events.find(earlier), events.find(later));
  }
  return isAcyclic(waits.steps(), contracted);
}

/// A chunk's node stands for both halves of a fused step.
Outcome checkByChunk(const WaitGraph& waits, std::size_t depth) {
  std::vector<int> node{0};  // the first of each step, and their number
  std::int64_t chunks = 0;
  for (const int count : waits.counts) {
    chunks += count;
    if (chunks > kMaxChunks) {
      return broken("it is too large to be proven free of deadlock");
    }
    node.push_back(static_cast<int>(chunks));
  }
  std::vector<std::pair<int, int>> edges;
  for (int step = 0; step < waits.steps(); ++step) {
    for (int c = node[step] + 1; c < node[step + 1]; ++c) {
      edges.emplace_back(c - 1, c);
    }
  }
  for (const auto& [earlier, later] : waits.before) {
    edges.emplace_back(node[earlier + 1] - 1, node[later]);
  }
  std::vector<int> sent;
  std::vector<int> received;
  for (const auto& [key, traffic] : waits.connections) {
    sent.clear();
    received.clear();
    for (std::size_t i = 0; i < traffic.sends.size(); ++i) {
      for (int c = 0; c < traffic.sends[i].second; ++c) {
        sent.push_back(node[traffic.sends[i].first] + c);
        received.push_back(node[traffic.receives[i].first] + c);
      }
    }
    for (std::size_t k = 0; k < sent.size(); ++k) {
      edges.emplace_back(sent[k], received[k]);
      if (k + depth < sent.size()) {
        edges.emplace_back(received[k], sent[k + depth]);
      }
    }
  }
  if (!isAcyclic(static_cast<int>(chunks), edges)) {
    return broken("steps wait for each other");
  }
  return Done{};
}

}  // namespace

Outcome proveProgress(const program::Program& program, const Progress& progress) {
  const Result<WaitGraph> waits = waitsOf(program, progress);
  if (!waits) {
    return waits.error();
  }
  if (Outcome paired = checkPairs(*waits); !paired) {
    return paired;
  }
  throwIfCancelled(progress);
  if (isAcyclicByStep(*waits)) {
    return Done{};
  }
  throwIfCancelled(progress);
  return checkByChunk(*waits, static_cast<std::size_t>(program::connectionDepth(program.protocol)));
}

}  // namespace coppice::lowering
