// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

/// Sets of steps that form one event.
class Events {
public:
  explicit Events(int steps) : m_parent(static_cast<std::size_t>(steps)) {
    std::iota(m_parent.begin(), m_parent.end(), 0);
  }
  int find(int step) {
    while (m_parent[step] != step) {
      m_parent[step] = m_parent[m_parent[step]];
      step = m_parent[step];
    }
    return step;
  }
  void join(int a, int b) { m_parent[find(a)] = find(b); }

private:
  std::vector<int> m_parent;
};

struct Traffic {
  std::vector<std::pair<int, int>> sends;  ///< step, count
  std::vector<std::pair<int, int>> receives;
};

Error broken(const std::string& what) {
  return {ErrorCode::internal, "the lowered program is wrong: " + what, "report this with the schedule", {}};
}

/// Kahn's algorithm. Nodes without edges do no harm.
bool isAcyclic(int nodes, const std::vector<std::pair<int, int>>& edges) {
  std::vector<int> start(static_cast<std::size_t>(nodes) + 1, 0);
  std::vector<int> missing(static_cast<std::size_t>(nodes), 0);
  for (const auto& [earlier, later] : edges) {
    ++start[static_cast<std::size_t>(earlier) + 1];
    ++missing[later];
  }
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<int> after(edges.size());
  std::vector<int> next(start.begin(), start.end() - 1);
  for (const auto& [earlier, later] : edges) {
    after[next[earlier]++] = later;
  }
  std::vector<int> done;
  done.reserve(static_cast<std::size_t>(nodes));
  for (int n = 0; n < nodes; ++n) {
    if (missing[n] == 0) {
      done.push_back(n);
    }
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    for (int e = start[done[i]]; e < start[static_cast<std::size_t>(done[i]) + 1]; ++e) {
      if (--missing[after[e]] == 0) {
        done.push_back(after[e]);
      }
    }
  }
  return static_cast<int>(done.size()) == nodes;
}

/// Chunks moved by all steps of a program that are looked at one by one.
constexpr std::int64_t kMaxChunks = 4'000'000;

}  // namespace

Outcome proveProgress(const program::Program& program) {
  std::vector<std::vector<int>> first(program.ranks.size());
  int steps = 0;
  std::vector<int> counts;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (const program::ThreadBlock& block : program.ranks[rank].threadBlocks) {
      first[rank].push_back(steps);
      steps += static_cast<int>(block.steps.size());
      for (const program::Step& step : block.steps) {
        counts.push_back(std::max(1, step.count));  // a nop has its place in the order too
      }
    }
  }
  std::map<std::tuple<int, int, int>, Traffic> connections;
  std::map<std::tuple<int, int, int>, std::pair<int, int>> owners;  // threadblocks at the two ends, how many
  std::vector<std::pair<int, int>> before;                          // edges: step, later step
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const program::RankProgram& mine = program.ranks[rank];
    const auto self = static_cast<int>(rank);
    for (std::size_t id = 0; id < mine.threadBlocks.size(); ++id) {
      const program::ThreadBlock& block = mine.threadBlocks[id];
      const std::tuple out{self, block.sendPeer, block.channel};
      const std::tuple in{block.recvPeer, self, block.channel};
      if ((block.sendPeer >= 0 && ++owners[out].first > 1) || (block.recvPeer >= 0 && ++owners[in].second > 1)) {
        return broken("two threadblocks of rank " + std::to_string(rank) + " own one end of a connection");
      }
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const program::Step& step = block.steps[s];
        const int event = first[rank][id] + static_cast<int>(s);
        if (program::sends(step.type)) {
          connections[out].sends.emplace_back(event, step.count);
        }
        if (program::receives(step.type)) {
          connections[in].receives.emplace_back(event, step.count);
        }
        if (s > 0) {
          before.emplace_back(event - 1, event);
        }
        if (step.dependsOnTb >= 0) {
          const program::Step& target = mine.threadBlocks[step.dependsOnTb].steps[step.dependsOnStep];
          if (!target.hasDependent) {
            return broken("rank " + std::to_string(rank) + " threadblock " + std::to_string(id) + " step " +
                          std::to_string(s) + " waits for a step that does not publish its end");
          }
          before.emplace_back(first[rank][step.dependsOnTb] + step.dependsOnStep, event);
        }
      }
    }
  }
  Events events(steps);
  for (const auto& [key, ends] : connections) {
    const std::string name = "connection " + std::to_string(std::get<0>(key)) + " -> " +
                             std::to_string(std::get<1>(key)) + " channel " + std::to_string(std::get<2>(key));
    if (ends.sends.size() != ends.receives.size()) {
      return broken(name + " has unequal numbers of sends and receives");
    }
    for (std::size_t i = 0; i < ends.sends.size(); ++i) {
      if (ends.sends[i].second != ends.receives[i].second) {
        return broken(name + " pairs steps of unequal counts");
      }
      events.join(ends.sends[i].first, ends.receives[i].first);
    }
  }
  std::vector<std::pair<int, int>> contracted;
  contracted.reserve(before.size());
  for (const auto& [earlier, later] : before) {
    contracted.emplace_back(events.find(earlier), events.find(later));
  }
  if (isAcyclic(steps, contracted)) {
    return Done{};
  }

  // By chunk. A chunk's node stands for both halves of a fused step.
  std::vector<int> node(static_cast<std::size_t>(steps) + 1, 0);
  std::int64_t chunks = 0;
  for (int step = 0; step < steps; ++step) {
    chunks += counts[step];
    if (chunks > kMaxChunks) {
      return broken("it is too large to be proven free of deadlock");
    }
    node[static_cast<std::size_t>(step) + 1] = static_cast<int>(chunks);
  }
  std::vector<std::pair<int, int>> fine;
  for (int step = 0; step < steps; ++step) {
    for (int c = node[step] + 1; c < node[static_cast<std::size_t>(step) + 1]; ++c) {
      fine.emplace_back(c - 1, c);
    }
  }
  for (const auto& [earlier, later] : before) {
    fine.emplace_back(node[static_cast<std::size_t>(earlier) + 1] - 1, node[later]);
  }
  const auto depth = static_cast<std::size_t>(program::connectionDepth(program.protocol));
  std::vector<int> sent;
  std::vector<int> received;
  for (const auto& [key, traffic] : connections) {
    sent.clear();
    received.clear();
    for (std::size_t i = 0; i < traffic.sends.size(); ++i) {
      for (int c = 0; c < traffic.sends[i].second; ++c) {
        sent.push_back(node[traffic.sends[i].first] + c);
        received.push_back(node[traffic.receives[i].first] + c);
      }
    }
    for (std::size_t k = 0; k < sent.size(); ++k) {
      fine.emplace_back(sent[k], received[k]);
      if (k + depth < sent.size()) {
        fine.emplace_back(received[k], sent[k + depth]);
      }
    }
  }
  if (!isAcyclic(static_cast<int>(chunks), fine)) {
    return broken("steps wait for each other");
  }
  return Done{};
}

}  // namespace coppice::lowering
