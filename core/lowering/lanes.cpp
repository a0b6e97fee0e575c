// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "lowering/planner.hpp"

/// Which channel carries which message.
namespace coppice::lowering {

namespace {

/// More parallel channels between one pair of ranks than any link can use.
constexpr int kMaxLanes = 16;

}  // namespace

void Planner::makeGroups(const Tactics& tactics) {
  m_groups.clear();
  m_groupOf.assign(m_moves.moves.size(), -1);
  std::unordered_map<std::int64_t, int> known;
  for (const int m : m_moves.order) {
    const Move& move = at(m);
    const int phase = tactics.separatePhases ? move.phase : -1;
    const std::int64_t key = ((static_cast<std::int64_t>(move.from) * m_moves.gpuCount + move.to) * 3 +
                              static_cast<std::int64_t>(move.parity)) *
                                 3 +
                             phase + 1;
    const auto [it, isNew] = known.try_emplace(key, static_cast<int>(m_groups.size()));
    if (isNew) {
      m_groups.push_back({move.from, move.to, move.parity, phase, 0, 0, 0, 1, {}});
    }
    Group& group = m_groups[it->second];
    group.load += move.count;
    ++group.messages;
    group.steps += stepsOf(m);
    group.longest = std::max(group.longest, stepsOf(m));
    m_groupOf[m] = it->second;
  }
  // Busy pairs choose their channels first.
  m_groupOrder.resize(m_groups.size());
  for (std::size_t g = 0; g < m_groups.size(); ++g) {
    m_groupOrder[g] = static_cast<int>(g);
  }
  std::stable_sort(m_groupOrder.begin(), m_groupOrder.end(),
                   [&](int a, int b) { return m_groups[a].load > m_groups[b].load; });
}

/// Channels that this much traffic should have: its share of the collective's bandwidth over one channel's rate.
int Planner::wantedLanes(const Group& group, const Tactics& tactics, int min) const {
  const Int128 rate =
      static_cast<Int128>(std::max<std::int64_t>(m_moves.algbw.gigabytesPerSecond().numerator(), 0)) * group.load;
  const Int128 unit = static_cast<Int128>(m_moves.algbw.gigabytesPerSecond().denominator()) *
                      (m_moves.chunks * m_options.instances) * tactics.blockRate;
  const Int128 wanted = (rate + unit - 1) / unit;
  const int max = std::min({kMaxLanes, group.messages, m_channelsEach});
  return std::max(min, static_cast<int>(std::min<Int128>(wanted, max)));
}

std::optional<Error> Planner::openConnections(const Tactics& tactics) {
  m_senders.assign(static_cast<std::size_t>(m_moves.gpuCount) * static_cast<std::size_t>(m_channelsEach), 0);
  m_receivers.assign(m_senders.size(), 0);
  m_known.clear();
  m_hasSpareLanes = false;
  for (const int g : m_groupOrder) {
    Group& group = m_groups[g];
    group.lanes.clear();
    // The steps of one message stay together, so a threadblock may be full before its end.
    const int capacity = std::max(1, m_limit.stepsPerThreadBlock - (group.longest - 1));
    const int min = (group.steps + capacity - 1) / capacity;
    const int wanted = wantedLanes(group, tactics, min);
    m_hasSpareLanes = m_hasSpareLanes || wanted > min;
    openLanes(group, wanted);
    if (static_cast<int>(group.lanes.size()) < min) {
      return tooFewChannels(group, min);
    }
  }
  return std::nullopt;
}

/// As many of the wanted channels as are free.
void Planner::openLanes(Group& group, int wanted) {
  const int classes = m_options.channels == ChannelPolicy::nicPlanes ? 2 : 1;
  for (int channel = 0; channel < m_channelsEach && static_cast<int>(group.lanes.size()) < wanted; ++channel) {
    if (group.parity != Parity::any && channel % 2 != static_cast<int>(group.parity)) {
      continue;
    }
    if (group.phase >= 0 && channel / classes % 2 != group.phase) {
      continue;
    }
    const auto out = static_cast<std::size_t>(group.from * m_channelsEach + channel);
    const auto in = static_cast<std::size_t>(group.to * m_channelsEach + channel);
    const std::int64_t key =
        (static_cast<std::int64_t>(group.from) * m_moves.gpuCount + group.to) * m_channelsEach + channel;
    const auto it = m_known.find(key);
    if (it != m_known.end()) {
      group.lanes.push_back(it->second);
      continue;
    }
    if (m_senders[out] >= m_limit.peersPerChannel || m_receivers[in] >= m_limit.peersPerChannel) {
      continue;
    }
    ++m_senders[out];
    ++m_receivers[in];
    m_known.emplace(key, static_cast<int>(m_plan.connections.size()));
    group.lanes.push_back(static_cast<int>(m_plan.connections.size()));
    m_plan.connections.push_back({group.from, group.to, channel, -1, -1, 0, 0});
  }
}

/// Every channel carries messages of about the same time. The threadblocks of a channel then have
/// their work close together in time, so that one iteration need not end before the next begins.
void Planner::assignByTime() {
  std::vector<std::vector<int>> messagesOf(m_groups.size());
  for (const int m : m_moves.order) {
    messagesOf[m_groupOf[m]].push_back(m);
  }
  const auto key = [&](int m) { return std::pair(at(m).time, m); };
  for (std::size_t g = 0; g < m_groups.size(); ++g) {
    const Group& group = m_groups[g];
    std::sort(messagesOf[g].begin(), messagesOf[g].end(), [&](int a, int b) { return key(a) < key(b); });
    std::int64_t before = 0;
    for (const int m : messagesOf[g]) {
      const auto lanes = static_cast<std::int64_t>(group.lanes.size());
      const auto wanted = static_cast<std::size_t>(before * lanes / group.load);
      before += countOf(m);
      const auto hasRoom = [&](int lane) {
        return m_plan.connections[lane].steps + stepsOf(m) <= m_limit.stepsPerThreadBlock;
      };
      auto lane = group.lanes.begin() + static_cast<std::ptrdiff_t>(wanted);
      if (!hasRoom(*lane)) {
        const auto other = std::find_if(group.lanes.begin(), group.lanes.end(), hasRoom);
        lane = other != group.lanes.end() ? other : lane;
      }
      put(m, *lane);
    }
  }
}

void Planner::put(int message, int connection) {
  m_plan.connectionOf[message] = connection;
  m_plan.connections[connection].load += countOf(message);
  m_plan.connections[connection].steps += stepsOf(message);
}

/// Every message uses the channel that its neighbour already uses, where that keeps the channels evenly loaded (then
/// a threadblock can forward), else on the emptiest.
void Planner::assignAlongNeighbours() {
  for (const int m : m_moves.order) {
    const int neighbour = at(m).neighbour;
    put(m, pickLane(m, neighbour < 0 ? -1 : m_plan.connections[m_plan.connectionOf[neighbour]].channel));
  }
}

/// Large counts can leave a channel without any message.
void Planner::dropUnused() {
  std::vector<int> renumbered(m_plan.connections.size(), -1);
  std::vector<Connection> used;
  for (std::size_t c = 0; c < m_plan.connections.size(); ++c) {
    if (m_plan.connections[c].steps > 0) {
      renumbered[c] = static_cast<int>(used.size());
      used.push_back(m_plan.connections[c]);
      m_plan.channels = std::max(m_plan.channels, used.back().channel + 1);
    }
  }
  m_plan.connections = std::move(used);
  for (int& connection : m_plan.connectionOf) {
    connection = connection < 0 ? -1 : renumbered[connection];
  }
}

int Planner::pickLane(int message, int preferredChannel) const {
  const Group& group = m_groups[m_groupOf[message]];
  const std::int64_t count = countOf(message);
  const int steps = stepsOf(message);
  const auto lanes = static_cast<std::int64_t>(group.lanes.size());
  const std::int64_t quota = (group.load + lanes - 1) / lanes;
  int best = -1;
  for (const int lane : group.lanes) {
    const Connection& connection = m_plan.connections[lane];
    if (connection.steps + steps > m_limit.stepsPerThreadBlock) {
      continue;
    }
    if (connection.channel == preferredChannel && connection.load + count <= quota) {
      best = lane;
      break;
    }
    if (best < 0 || connection.load < m_plan.connections[best].load) {
      best = lane;
    }
  }
  // Connections that two groups share may be full of the other's steps; then the check of the steps reports it.
  return best < 0 ? group.lanes.front() : best;
}

}  // namespace coppice::lowering
