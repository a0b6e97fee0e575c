// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lowering/emit.hpp"

namespace coppice::lowering {

namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Sets of steps that form one event.
class Events {
public:
  explicit Events(int steps) : m_parent(at(steps)) { std::iota(m_parent.begin(), m_parent.end(), 0); }
  int find(int step) {
    while (m_parent[at(step)] != step) {
      m_parent[at(step)] = m_parent[at(m_parent[at(step)])];
      step = m_parent[at(step)];
    }
    return step;
  }
  void join(int a, int b) { m_parent[at(find(a))] = find(b); }

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

}  // namespace

Outcome proveProgress(const program::Program& program) {
  std::vector<std::vector<int>> first(program.ranks.size());
  int steps = 0;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    for (const program::ThreadBlock& block : program.ranks[rank].threadBlocks) {
      first[rank].push_back(steps);
      steps += static_cast<int>(block.steps.size());
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
          const program::Step& target = mine.threadBlocks[at(step.dependsOnTb)].steps[at(step.dependsOnStep)];
          if (!target.hasDependent) {
            return broken("rank " + std::to_string(rank) + " threadblock " + std::to_string(id) + " step " +
                          std::to_string(s) + " waits for a step that does not publish its end");
          }
          before.emplace_back(first[rank][at(step.dependsOnTb)] + step.dependsOnStep, event);
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
  std::vector<std::vector<int>> after(at(steps));
  std::vector<int> missing(at(steps), 0);
  for (const auto& [earlier, later] : before) {
    after[at(events.find(earlier))].push_back(events.find(later));
    ++missing[at(events.find(later))];
  }
  std::vector<int> done;
  int left = 0;
  for (int event = 0; event < steps; ++event) {
    if (events.find(event) == event) {
      ++left;
      if (missing[at(event)] == 0) {
        done.push_back(event);
      }
    }
  }
  for (std::size_t i = 0; i < done.size(); ++i, --left) {
    for (const int later : after[at(done[i])]) {
      if (--missing[at(later)] == 0) {
        done.push_back(later);
      }
    }
  }
  if (left > 0) {
    return broken(std::to_string(left) + " events wait for each other");
  }
  return Done{};
}

}  // namespace coppice::lowering
