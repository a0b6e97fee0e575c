// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lowering/planner.hpp"

/// Which threadblock owns which end of a connection, and what it forwards in one step.
namespace coppice::lowering {

/// Where threadblocks are scarce, one also serves a receiving and a sending end that have nothing in common but that
/// their messages come at about the same time.
template <typename IsScarce, typename Join>
void Planner::packRest(const std::vector<bool>& outTaken, const IsScarce& isScarce, const Join& join) {
  std::vector<double> meanTime(m_plan.connections.size(), 0);
  for (const int m : m_moves.order) {
    const auto c = static_cast<std::size_t>(m_plan.connectionOf[m]);
    meanTime[c] += static_cast<double>(at(m).time) * countOf(m) / static_cast<double>(m_plan.connections[c].load);
  }
  std::vector<int> byTime(m_plan.connections.size());
  for (std::size_t c = 0; c < byTime.size(); ++c) {
    byTime[c] = static_cast<int>(c);
  }
  std::stable_sort(byTime.begin(), byTime.end(), [&](int a, int b) { return meanTime[a] < meanTime[b]; });
  std::unordered_map<std::int64_t, std::vector<int>> freeOut;
  const auto place = [&](int rank, int channel) { return static_cast<std::int64_t>(rank) * m_channelsEach + channel; };
  for (const int c : byTime) {
    if (!outTaken[c]) {
      freeOut[place(m_plan.connections[c].from, m_plan.connections[c].channel)].push_back(c);
    }
  }
  for (const int c : byTime) {
    const Connection& in = m_plan.connections[c];
    const auto it = freeOut.find(place(in.to, in.channel));
    if (m_mateOfIn[c] >= 0 || it == freeOut.end() || !isScarce(in.to)) {
      continue;
    }
    auto fits = it->second.end();
    for (auto out = it->second.begin(); out != it->second.end(); ++out) {
      const auto gap = [&](int other) { return std::abs(meanTime[other] - meanTime[c]); };
      if (in.steps + m_plan.connections[*out].steps <= m_limit.stepsPerThreadBlock &&
          (fits == it->second.end() || gap(*out) < gap(*fits))) {
        fits = out;
      }
    }
    if (fits != it->second.end()) {
      join(c, *fits);
      it->second.erase(fits);
    }
  }
}

/// Connections between which a rank can forward in one step; busy ones first.
std::vector<Planner::Pair> Planner::forwardingPairs() const {
  std::vector<Pair> pairs;
  if (!m_fuses) {
    return pairs;
  }
  std::unordered_map<std::int64_t, int> known;
  for (const Fusible& fusible : m_moves.fusible) {
    const int in = m_plan.connectionOf[fusible.arriving];
    const int out = m_plan.connectionOf[fusible.leaving];
    if (m_plan.connections[in].channel != m_plan.connections[out].channel) {
      continue;
    }
    const std::int64_t key = static_cast<std::int64_t>(in) * static_cast<std::int64_t>(m_plan.connections.size()) + out;
    const auto [it, isNew] = known.try_emplace(key, static_cast<int>(pairs.size()));
    if (isNew) {
      pairs.push_back({in, out, 0, 0});
    }
    pairs[it->second].load += countOf(fusible.arriving);
    ++pairs[it->second].messages;
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.load > b.load; });
  return pairs;
}

/// Decides which threadblocks own both a receiving and a sending end.
void Planner::pairConnections(const Tactics& tactics) {
  const std::vector<Pair> pairs = forwardingPairs();
  m_plan.blocks.assign(m_moves.gpuCount, {});
  m_mateOfIn.assign(m_plan.connections.size(), -1);
  std::vector<bool> outTaken(m_plan.connections.size(), false);
  std::vector<int> blocks(m_moves.gpuCount, 0);
  for (int rank = 0; rank < m_moves.gpuCount; ++rank) {
    blocks[rank] = m_copies[rank].blocks;
  }
  for (const Connection& connection : m_plan.connections) {
    ++blocks[connection.from];
    ++blocks[connection.to];
  }
  const auto isScarce = [&](int rank) {
    return tactics.sharing == Tactics::Sharing::everywhere ||
           (tactics.sharing == Tactics::Sharing::whereScarce && blocks[rank] > m_blocksEach);
  };
  const auto join = [&](int in, int out) {
    m_mateOfIn[in] = out;
    outTaken[out] = true;
    --blocks[m_plan.connections[in].to];
  };
  // First the pairs where sharing pays: at least half of the threadblock's work is forwarding.
  for (const bool mustPay : {true, false}) {
    for (const Pair& pair : pairs) {
      const Connection& in = m_plan.connections[pair.in];
      const Connection& out = m_plan.connections[pair.out];
      const bool pays = 2 * pair.load >= in.load + out.load - pair.load;
      if (m_mateOfIn[pair.in] < 0 && !outTaken[pair.out] && (mustPay ? pays : isScarce(in.to)) &&
          in.steps + out.steps - pair.messages <= m_limit.stepsPerThreadBlock) {
        join(pair.in, pair.out);
      }
    }
  }
  packRest(outTaken, isScarce, join);
  makeBlocks(outTaken);
}

void Planner::makeBlocks(const std::vector<bool>& outTaken) {
  const int connections = static_cast<int>(m_plan.connections.size());
  for (int c = 0; c < connections; ++c) {
    Connection& connection = m_plan.connections[c];
    std::vector<BlockPlan>& mine = m_plan.blocks[connection.to];
    connection.recvBlock = static_cast<int>(mine.size());
    mine.push_back({-1, c});
  }
  for (int c = 0; c < connections; ++c) {
    if (const int out = m_mateOfIn[c]; out >= 0) {
      m_plan.connections[out].sendBlock = m_plan.connections[c].recvBlock;
      m_plan.blocks[m_plan.connections[c].to][m_plan.connections[c].recvBlock].sendConnection = out;
    }
  }
  for (int c = 0; c < connections; ++c) {
    Connection& connection = m_plan.connections[c];
    if (!outTaken[c]) {
      std::vector<BlockPlan>& mine = m_plan.blocks[connection.from];
      connection.sendBlock = static_cast<int>(mine.size());
      mine.push_back({c, -1});
    }
  }
  m_plan.firstBlock.assign(1, 0);
  for (const std::vector<BlockPlan>& mine : m_plan.blocks) {
    m_plan.firstBlock.push_back(m_plan.firstBlock.back() + static_cast<int>(mine.size()));
  }
}

void Planner::fuse() {
  std::vector<bool> hasTurned(m_moves.moves.size(), false);
  for (const Fusible& fusible : m_moves.fusible) {
    const auto [arriving, leaving, turn] = fusible;
    if (!m_fuses || m_mateOfIn[m_plan.connectionOf[arriving]] != m_plan.connectionOf[leaving] ||
        m_plan.next[arriving] >= 0 || m_plan.previous[leaving] >= 0) {
      continue;
    }
    if (turn >= 0) {
      if (m_style.order == StepOrder::asTheyCome || hasTurned[turn]) {
        continue;
      }
      hasTurned[turn] = true;
    }
    m_plan.next[arriving] = leaving;
    m_plan.previous[leaving] = arriving;
  }
}

/// Splits chains that come back to a threadblock they already went through (up one tree and down another): such a
/// chain would wait for itself.
void Planner::cutChains() {
  m_plan.heads.clear();
  std::vector<int> seen(m_plan.firstBlock.back(), -1);
  std::vector<int> waiting;
  for (const int m : m_moves.order) {
    if (m_plan.previous[m] < 0) {
      waiting.push_back(m);
    }
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const int head = waiting[i];
    m_plan.heads.push_back(head);
    seen[sendBlockOf(head)] = head;
    seen[recvBlockOf(head)] = head;
    for (int m = head; m_plan.next[m] >= 0;) {
      const int after = m_plan.next[m];
      int& mark = seen[recvBlockOf(after)];
      if (mark == head) {
        m_plan.next[m] = -1;
        m_plan.previous[after] = -1;
        waiting.push_back(after);
        break;
      }
      mark = head;
      m = after;
    }
  }
}

}  // namespace coppice::lowering
