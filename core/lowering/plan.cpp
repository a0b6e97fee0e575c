// SPDX-License-Identifier: Apache-2.0
#include "lowering/plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/checked.hpp"
#include "lowering/sums.hpp"

namespace coppice::lowering {

namespace {

/// More parallel channels between one pair of ranks than any link can use.
constexpr int kMaxLanes = 16;

/// How hard to press the program into the limits.
struct Tactics {
  std::int64_t blockRate = kBlockRate;  ///< GB/s per channel
  bool separatePhases = true;  ///< allreduce: both halves on channels of their own, so that neither waits for the other
  /// Threadblocks that serve both directions though these have little in common.
  enum class Sharing { none, whereScarce, everywhere } sharing = Sharing::none;
};

/// All messages between two ranks that ask for the same channel parity.
struct Group {
  int from = 0;
  int to = 0;
  Parity parity = Parity::any;
  int phase = -1;  ///< -1 = both
  std::int64_t load = 0;
  int messages = 0;
  int steps = 0;
  int longest = 1;         ///< steps that one message takes
  std::vector<int> lanes;  ///< connections
};

class Planner {
public:
  Planner(const Work& work, const Options& options, const Style& style, const std::vector<CopyNeed>& copies,
          const Progress& progress)
      : m_work(work),
        m_options(options),
        m_copies(copies),
        m_progress(progress),
        m_limit(program::limits(options.runtime)),
        m_style(style),
        m_splitsReduce(program::isRccl(options.runtime)),
        m_fuses(style.fuses && !m_splitsReduce) {
    m_channelsEach = std::min(m_limit.channels, 32) / options.instances;
    if (options.channels == ChannelPolicy::nicPlanes) {
      m_channelsEach -= m_channelsEach % 2;
    }
    m_blocksEach = std::min(m_limit.threadBlocksPerRank, kResidentBlocks) / options.instances;
    if (m_splitsReduce) {
      countArrivalSteps();
    }
  }

  Result<Plan> run() {
    if (m_channelsEach < 1) {
      return Error{ErrorCode::limit,
                   std::to_string(m_options.instances) + " instances need " +
                       (m_options.channels == ChannelPolicy::nicPlanes ? "two channels each" : "a channel each") +
                       ", and " + std::string(program::toString(m_options.runtime)) + " has " +
                       std::to_string(std::min(m_limit.channels, 32)),
                   "use fewer instances",
                   {}};
    }
    Tactics tactics;
    tactics.blockRate = m_style.blockRate;
    // The halves of an allreduce need different channels, of either parity where that matters.
    const int classes = m_options.channels == ChannelPolicy::nicPlanes ? 2 : 1;
    tactics.separatePhases = m_work.phases.size() == 2 && m_channelsEach >= 2 * classes;
    makeGroups(tactics);
    if (const std::optional<Error> failed = checkPeers()) {
      return *failed;
    }
    estimateTimes();
    while (true) {
      throwIfCancelled(m_progress);
      const std::optional<Error> failed = attempt(tactics);
      if (failed) {
        return *failed;
      }
      const int most = busiestRank([&](int rank) { return blocksOf(rank); });
      const int comfortable = std::min(m_blocksEach, m_style.blocks / m_options.instances);
      if (blocksOf(most) > comfortable && m_hasSpareLanes) {
        tactics.blockRate += std::max<std::int64_t>(tactics.blockRate / 4, 1);
        continue;
      }
      if (blocksOf(most) > m_blocksEach && tactics.separatePhases) {
        tactics.separatePhases = false;
        makeGroups(tactics);
        continue;
      }
      if (blocksOf(most) > m_blocksEach && tactics.sharing == Tactics::Sharing::none) {
        tactics.sharing = Tactics::Sharing::whereScarce;
        continue;
      }
      if (blocksOf(most) > m_blocksEach) {
        return tooManyBlocks(most, blocksOf(most));
      }
      const int fullest = busiestRank([&](int rank) { return elementsOf(rank); });
      if (elementsOf(fullest) > m_limit.xmlNodes && tactics.sharing != Tactics::Sharing::everywhere) {
        tactics.sharing = Tactics::Sharing::everywhere;
        continue;
      }
      if (elementsOf(fullest) > m_limit.xmlNodes) {
        return tooManyElements(fullest);
      }
      break;
    }
    sortArrivals();
    if (m_style.asTheyCome) {
      orderAsTheyCome();
    } else {
      orderChains();
    }
    if (static_cast<int>(m_plan.order.size()) != m_events) {
      return Error{ErrorCode::infeasible, "the steps wait for each other in this order", {}, {}};
    }
    return std::move(m_plan);
  }

private:
  [[nodiscard]] Ends ends(int message) const { return endsOf(m_work, message); }
  [[nodiscard]] int countOf(int message) const { return m_work.parts[m_work.partOf(message)].count; }
  [[nodiscard]] const TreeShape& treeOf(int message) const {
    return m_work.tree(m_work.partOf(message), m_work.phaseOf(message));
  }
  /// Steps at the receiving end.
  [[nodiscard]] int receiveSteps(int message) const { return m_arrivalSteps.empty() ? 1 : m_arrivalSteps[message]; }
  /// RCCL receives and reduces in steps of their own.
  void countArrivalSteps() {
    m_arrivalSteps.assign(static_cast<std::size_t>(m_work.messageCount()), 1);
    m_sums = planSums(m_work);
    std::vector<int> children;
    for (int part = 0; m_work.hasPhase(Phase::reduce) && part < static_cast<int>(m_work.parts.size()); ++part) {
      for (int v = 0; v < m_work.gpuCount; ++v) {
        arrivalsAt(part, v, children);
        for (std::size_t i = 0; i < children.size(); ++i) {
          m_arrivalSteps[m_work.message(part, Phase::reduce, children[i])] =
              stepsOfArrival(static_cast<int>(i), static_cast<int>(children.size()));
        }
      }
    }
  }

  template <typename Visit>
  void forEachMessage(const Visit& visit) const {
    for (int part = 0; part < static_cast<int>(m_work.parts.size()); ++part) {
      for (const Phase phase : m_work.phases) {
        const TreeShape& tree = m_work.tree(part, phase);
        for (std::size_t i = 1; i < tree.breadthFirst.size(); ++i) {
          visit(m_work.message(part, phase, tree.breadthFirst[i]));
        }
      }
    }
  }

  /// However they are shared: every peer that a rank sends to takes a threadblock, and so does every one it receives
  /// from.
  [[nodiscard]] std::optional<Error> checkPeers() const {
    std::vector<std::pair<int, int>> out;
    std::vector<std::pair<int, int>> in;
    for (const Group& group : m_groups) {
      out.emplace_back(group.from, group.to);
      in.emplace_back(group.to, group.from);
    }
    std::vector<int> need(static_cast<std::size_t>(m_work.gpuCount), 0);
    for (std::vector<std::pair<int, int>>* const pairs : {&out, &in}) {
      std::sort(pairs->begin(), pairs->end());
      pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
      std::vector<int> peers(static_cast<std::size_t>(m_work.gpuCount), 0);
      for (const auto& [rank, peer] : *pairs) {
        need[rank] = std::max(need[rank], ++peers[rank]);
      }
    }
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
      if (need[rank] + m_copies[rank].blocks > m_blocksEach) {
        return tooManyBlocks(rank, need[rank] + m_copies[rank].blocks);
      }
    }
    return std::nullopt;
  }

  void makeGroups(const Tactics& tactics) {
    m_groups.clear();
    m_groupOf.assign(static_cast<std::size_t>(m_work.messageCount()), -1);
    std::unordered_map<std::int64_t, int> known;
    forEachMessage([&](int m) {
      const Ends e = ends(m);
      const Parity parity = treeOf(m).parityOf[m_work.childOf(m)];
      const int phase = tactics.separatePhases ? static_cast<int>(m_work.phaseOf(m)) : -1;
      const std::int64_t key =
          ((static_cast<std::int64_t>(e.from) * m_work.gpuCount + e.to) * 3 + static_cast<std::int64_t>(parity)) * 3 +
          phase + 1;
      const auto [it, isNew] = known.try_emplace(key, static_cast<int>(m_groups.size()));
      if (isNew) {
        m_groups.push_back({e.from, e.to, parity, phase, 0, 0, 0, 1, {}});
      }
      Group& group = m_groups[it->second];
      group.load += countOf(m);
      ++group.messages;
      group.steps += receiveSteps(m);
      group.longest = std::max(group.longest, receiveSteps(m));
      m_groupOf[m] = it->second;
    });
    // Busy pairs choose their channels first.
    m_groupOrder.resize(m_groups.size());
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      m_groupOrder[g] = static_cast<int>(g);
    }
    std::stable_sort(m_groupOrder.begin(), m_groupOrder.end(),
                     [&](int a, int b) { return m_groups[a].load > m_groups[b].load; });
  }

  /// Channels that this much traffic should have: its share of the collective's bandwidth over one channel's rate.
  [[nodiscard]] int wantedLanes(const Group& group, const Tactics& tactics, int least) const {
    const Int128 rate = static_cast<Int128>(std::max<std::int64_t>(m_work.algbw.numerator(), 0)) * group.load;
    const Int128 unit = static_cast<Int128>(m_work.algbw.denominator()) *
                        (static_cast<std::int64_t>(m_work.chunks) * m_options.instances) * tactics.blockRate;
    const Int128 wanted = (rate + unit - 1) / unit;
    const int most = std::min({kMaxLanes, group.messages, m_channelsEach});
    return std::max(least, static_cast<int>(std::min<Int128>(wanted, most)));
  }

  std::optional<Error> attempt(const Tactics& tactics) {
    m_plan = Plan{};
    m_plan.connectionOf.assign(static_cast<std::size_t>(m_work.messageCount()), -1);
    m_plan.next.assign(static_cast<std::size_t>(m_work.messageCount()), -1);
    m_plan.previous.assign(static_cast<std::size_t>(m_work.messageCount()), -1);
    if (std::optional<Error> failed = openConnections(tactics)) {
      return failed;
    }
    assignMessages();
    dropUnused();
    pairConnections(tactics);
    fuse();
    cutChains();
    m_events = 0;
    m_steps.assign(static_cast<std::size_t>(m_work.gpuCount), 0);
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
      m_steps[rank] = m_copies[rank].steps;
    }
    forEachMessage([&](int m) {
      const Ends e = ends(m);
      m_steps[e.from] += m_plan.previous[m] < 0 ? 1 : 0;
      m_steps[e.to] += receiveSteps(m);
      m_events += m_plan.previous[m] < 0 ? 2 : 1;
    });
    return std::nullopt;
  }

  std::optional<Error> openConnections(const Tactics& tactics) {
    const int n = m_work.gpuCount;
    std::vector<int> senders(static_cast<std::size_t>(n) * static_cast<std::size_t>(m_channelsEach), 0);
    std::vector<int> receivers(senders.size(), 0);
    std::unordered_map<std::int64_t, int> known;
    m_hasSpareLanes = false;
    const int classes = m_options.channels == ChannelPolicy::nicPlanes ? 2 : 1;
    for (const int g : m_groupOrder) {
      Group& group = m_groups[g];
      group.lanes.clear();
      // The steps of one message stay together, so a threadblock may be full before its end.
      const int capacity = m_limit.stepsPerThreadBlock - (group.longest - 1);
      const int least = (group.steps + capacity - 1) / capacity;
      const int wanted = wantedLanes(group, tactics, least);
      m_hasSpareLanes = m_hasSpareLanes || wanted > least;
      for (int channel = 0; channel < m_channelsEach && static_cast<int>(group.lanes.size()) < wanted; ++channel) {
        if (group.parity != Parity::any && channel % 2 != static_cast<int>(group.parity)) {
          continue;
        }
        if (group.phase >= 0 && channel / classes % 2 != group.phase) {
          continue;
        }
        const std::size_t out = static_cast<std::size_t>(group.from * m_channelsEach + channel);
        const std::size_t in = static_cast<std::size_t>(group.to * m_channelsEach + channel);
        const std::int64_t key = (static_cast<std::int64_t>(group.from) * n + group.to) * m_channelsEach + channel;
        const auto it = known.find(key);
        if (it != known.end()) {
          group.lanes.push_back(it->second);
          continue;
        }
        if (senders[out] >= m_limit.peersPerChannel || receivers[in] >= m_limit.peersPerChannel) {
          continue;
        }
        ++senders[out];
        ++receivers[in];
        known.emplace(key, static_cast<int>(m_plan.connections.size()));
        group.lanes.push_back(static_cast<int>(m_plan.connections.size()));
        m_plan.connections.push_back({group.from, group.to, channel, -1, -1, 0, 0});
      }
      if (static_cast<int>(group.lanes.size()) < least) {
        return tooFewChannels(group, least);
      }
    }
    return std::nullopt;
  }

  /// Puts every message on one of its pair's channels.
  void assignMessages() {
    if (m_fuses) {
      assignAlongTrees();
    } else {
      assignByTime();
    }
  }

  /// When each message would be received if there were nothing else, one time unit per chunk.
  void estimateTimes() {
    m_time.assign(static_cast<std::size_t>(m_work.messageCount()), 0);
    std::vector<std::int64_t> done(static_cast<std::size_t>(m_work.gpuCount), 0);
    std::vector<int> children;
    for (int part = 0; part < static_cast<int>(m_work.parts.size()); ++part) {
      const std::int64_t count = m_work.parts[part].count;
      std::int64_t start = 0;
      if (m_work.hasPhase(Phase::reduce)) {
        const TreeShape& tree = m_work.tree(part, Phase::reduce);
        for (std::size_t i = tree.breadthFirst.size(); i-- > 0;) {
          const int v = tree.breadthFirst[i];
          std::int64_t time = 0;
          arrivalsAt(part, v, children);
          for (const int c : children) {
            time = std::max(time, done[c]) + count;
            m_time[m_work.message(part, Phase::reduce, c)] = time;
          }
          done[v] = time;
        }
        start = done[tree.root];
      }
      if (m_work.hasPhase(Phase::broadcast)) {
        const TreeShape& tree = m_work.tree(part, Phase::broadcast);
        for (std::size_t i = 1; i < tree.breadthFirst.size(); ++i) {
          const int v = tree.breadthFirst[i];
          m_time[m_work.message(part, Phase::broadcast, v)] = start + count * tree.depth[v];
        }
      }
    }
  }

  /// The children of v in the order in which it adds up what they send: shallow subtrees first, the fused one last.
  /// Among equals the same order of peers for all parts: then every threadblock works at the same place of the sequence
  /// for all of them, and the sequence is a pipeline.
  void arrivalsAt(int part, int v, std::vector<int>& children) const {
    const TreeShape& tree = m_work.tree(part, Phase::reduce);
    children.assign(tree.childrenOf(v).begin(), tree.childrenOf(v).end());
    const auto key = [&](int c) {
      const bool isFused = !m_plan.next.empty() && m_plan.next[m_work.message(part, Phase::reduce, c)] >= 0;
      const bool isLast = m_splitsReduce &&
                          m_sums.lastChild[static_cast<std::size_t>(part) * static_cast<std::size_t>(m_work.gpuCount) +
                                           static_cast<std::size_t>(v)] == c;
      return std::tuple(isFused, tree.height[c], isLast, (c - v + m_work.gpuCount) % m_work.gpuCount);
    };
    std::sort(children.begin(), children.end(), [&](int a, int b) { return key(a) < key(b); });
  }

  /// Every channel carries messages of about the same depth in their trees. The threadblocks of a channel then have
  /// their work close together in time, so that one iteration need not end before the next begins.
  void assignByTime() {
    std::vector<std::vector<int>> messagesOf(m_groups.size());
    forEachMessage([&](int m) { messagesOf[m_groupOf[m]].push_back(m); });
    const auto key = [&](int m) { return std::pair(m_time[m], m); };
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      const Group& group = m_groups[g];
      std::sort(messagesOf[g].begin(), messagesOf[g].end(), [&](int a, int b) { return key(a) < key(b); });
      std::int64_t before = 0;
      for (const int m : messagesOf[g]) {
        const auto lanes = static_cast<std::int64_t>(group.lanes.size());
        const auto wanted = static_cast<std::size_t>(before * lanes / group.load);
        before += countOf(m);
        const auto hasRoom = [&](int lane) {
          return m_plan.connections[lane].steps + receiveSteps(m) <= m_limit.stepsPerThreadBlock;
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

  void put(int message, int connection) {
    m_plan.connectionOf[message] = connection;
    m_plan.connections[connection].load += countOf(message);
    m_plan.connections[connection].steps += receiveSteps(message);
  }

  /// Every message goes on the channel that its tree already uses, where that keeps the channels evenly loaded (then a
  /// threadblock can forward), else on the emptiest.
  void assignAlongTrees() {
    for (int part = 0; part < static_cast<int>(m_work.parts.size()); ++part) {
      for (const Phase phase : m_work.phases) {
        const TreeShape& tree = m_work.tree(part, phase);
        for (std::size_t i = 1; i < tree.breadthFirst.size(); ++i) {
          const int v = tree.breadthFirst[i];
          const int m = m_work.message(part, phase, v);
          const int above = tree.parent[v];
          const int upper = above == tree.root ? -1 : m_plan.connectionOf[m_work.message(part, phase, above)];
          const int preferred = upper < 0 ? -1 : m_plan.connections[upper].channel;
          put(m, pickLane(m, preferred));
        }
      }
    }
  }

  /// Large counts can leave a channel without any message.
  void dropUnused() {
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

  [[nodiscard]] int pickLane(int message, int preferredChannel) const {
    const Group& group = m_groups[m_groupOf[message]];
    const std::int64_t count = countOf(message);
    const int steps = receiveSteps(message);
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

  /// A message that arrives at v and one that leaves v and can be the same step.
  template <typename Visit>
  void forEachFusible(const Visit& visit) const {
    for (int part = 0; part < static_cast<int>(m_work.parts.size()); ++part) {
      for (const Phase phase : m_work.phases) {
        const TreeShape& tree = m_work.tree(part, phase);
        for (const int v : tree.breadthFirst) {
          for (const int c : tree.childrenOf(v)) {
            if (v != tree.root) {
              const int outer = m_work.message(part, phase, v);
              const int inner = m_work.message(part, phase, c);
              phase == Phase::broadcast ? visit(outer, inner) : visit(inner, outer);
            } else if (phase == Phase::reduce && m_work.phases.size() == 2 &&
                       m_work.tree(part, Phase::broadcast).parent[c] == v) {
              visit(m_work.message(part, Phase::reduce, c), m_work.message(part, Phase::broadcast, c));
            }
          }
        }
      }
    }
  }

  /// Decides which threadblocks own both a receiving and a sending end.
  void pairConnections(const Tactics& tactics) {
    struct Pair {
      int in = 0;
      int out = 0;
      std::int64_t load = 0;
      int messages = 0;
    };
    std::vector<Pair> pairs;
    if (m_fuses) {
      std::unordered_map<std::int64_t, int> known;
      forEachFusible([&](int arriving, int leaving) {
        const int in = m_plan.connectionOf[arriving];
        const int out = m_plan.connectionOf[leaving];
        if (m_plan.connections[in].channel != m_plan.connections[out].channel) {
          return;
        }
        const std::int64_t key =
            static_cast<std::int64_t>(in) * static_cast<std::int64_t>(m_plan.connections.size()) + out;
        const auto [it, isNew] = known.try_emplace(key, static_cast<int>(pairs.size()));
        if (isNew) {
          pairs.push_back({in, out, 0, 0});
        }
        pairs[it->second].load += countOf(arriving);
        ++pairs[it->second].messages;
      });
      std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.load > b.load; });
    }

    m_plan.blocks.assign(static_cast<std::size_t>(m_work.gpuCount), {});
    m_mateOfIn.assign(m_plan.connections.size(), -1);
    std::vector<bool> outTaken(m_plan.connections.size(), false);
    std::vector<int> blocks(static_cast<std::size_t>(m_work.gpuCount), 0);
    for (int rank = 0; rank < m_work.gpuCount; ++rank) {
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
    for (int c = 0; c < static_cast<int>(m_plan.connections.size()); ++c) {
      Connection& connection = m_plan.connections[c];
      std::vector<BlockPlan>& mine = m_plan.blocks[connection.to];
      connection.recvBlock = static_cast<int>(mine.size());
      mine.push_back({-1, c});
    }
    for (int c = 0; c < static_cast<int>(m_plan.connections.size()); ++c) {
      if (const int out = m_mateOfIn[c]; out >= 0) {
        m_plan.connections[out].sendBlock = m_plan.connections[c].recvBlock;
        m_plan.blocks[m_plan.connections[c].to][m_plan.connections[c].recvBlock].sendConnection = out;
      }
    }
    for (int c = 0; c < static_cast<int>(m_plan.connections.size()); ++c) {
      Connection& connection = m_plan.connections[c];
      if (!outTaken[c]) {
        std::vector<BlockPlan>& mine = m_plan.blocks[connection.from];
        connection.sendBlock = static_cast<int>(mine.size());
        mine.push_back({c, -1});
      }
    }
  }

  /// Where threadblocks are scarce, one also serves a receiving and a sending end that have nothing in common but that
  /// their messages come at about the same time.
  template <typename IsScarce, typename Join>
  void packRest(const std::vector<bool>& outTaken, const IsScarce& isScarce, const Join& join) {
    std::vector<double> meanTime(m_plan.connections.size(), 0);
    forEachMessage([&](int m) {
      const auto c = static_cast<std::size_t>(m_plan.connectionOf[m]);
      meanTime[c] += static_cast<double>(m_time[m]) * countOf(m) / static_cast<double>(m_plan.connections[c].load);
    });
    std::vector<int> byTime(m_plan.connections.size());
    for (std::size_t c = 0; c < byTime.size(); ++c) {
      byTime[c] = static_cast<int>(c);
    }
    std::stable_sort(byTime.begin(), byTime.end(), [&](int a, int b) { return meanTime[a] < meanTime[b]; });
    std::unordered_map<std::int64_t, std::vector<int>> freeOut;
    const auto place = [&](int rank, int channel) {
      return static_cast<std::int64_t>(rank) * m_channelsEach + channel;
    };
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

  void fuse() {
    // A root sums everything up before it sends: only one arrival, the last, can be the same step as a sending.
    std::vector<bool> hasTurned(m_work.parts.size(), false);
    forEachFusible([&](int arriving, int leaving) {
      if (!m_fuses || m_mateOfIn[m_plan.connectionOf[arriving]] != m_plan.connectionOf[leaving]) {
        return;
      }
      if (m_work.phaseOf(arriving) != m_work.phaseOf(leaving)) {
        if (m_style.asTheyCome || hasTurned[m_work.partOf(arriving)]) {
          return;
        }
        hasTurned[m_work.partOf(arriving)] = true;
      }
      m_plan.next[arriving] = leaving;
      m_plan.previous[leaving] = arriving;
    });
  }

  [[nodiscard]] int sendBlockOf(int message) const {
    const Connection& c = m_plan.connections[m_plan.connectionOf[message]];
    return m_blockBase[c.from] + c.sendBlock;
  }
  [[nodiscard]] int recvBlockOf(int message) const {
    const Connection& c = m_plan.connections[m_plan.connectionOf[message]];
    return m_blockBase[c.to] + c.recvBlock;
  }

  /// Splits chains that come back to a threadblock they already went through (up one tree and down another): such a
  /// chain would wait for itself.
  void cutChains() {
    m_blockBase.assign(1, 0);
    for (const std::vector<BlockPlan>& mine : m_plan.blocks) {
      m_blockBase.push_back(m_blockBase.back() + static_cast<int>(mine.size()));
    }
    m_heads.clear();
    std::vector<int> seen(static_cast<std::size_t>(m_blockBase.back()), -1);
    std::vector<int> waiting;
    forEachMessage([&](int m) {
      if (m_plan.previous[m] < 0) {
        waiting.push_back(m);
      }
    });
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const int head = waiting[i];
      m_heads.push_back(head);
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

  template <typename Measure>
  [[nodiscard]] int busiestRank(const Measure& measure) const {
    int best = 0;
    for (int rank = 1; rank < m_work.gpuCount; ++rank) {
      if (measure(rank) > measure(best)) {
        best = rank;
      }
    }
    return best;
  }
  [[nodiscard]] int blocksOf(int rank) const {
    return static_cast<int>(m_plan.blocks[rank].size()) + m_copies[rank].blocks;
  }
  /// XML elements that the rank's parser counts: algo, gpus, its threadblocks and its steps.
  [[nodiscard]] std::int64_t elementsOf(int rank) const {
    return std::int64_t{1} + m_work.gpuCount + std::int64_t{m_options.instances} * (blocksOf(rank) + m_steps[rank]);
  }
  [[nodiscard]] std::string runtimeName() const { return std::string(program::toString(m_options.runtime)); }
  [[nodiscard]] std::string fix() const { return suggestedFix(m_work, m_options); }
  [[nodiscard]] Error tooManyBlocks(int rank, int blocks) const {
    const int need = blocks * m_options.instances;
    const int have = std::min(m_limit.threadBlocksPerRank, kResidentBlocks);
    return {ErrorCode::limit,
            "rank " + std::to_string(rank) + " needs " + std::to_string(need) + " threadblocks, " +
                (m_options.instances > 1 ? std::to_string(m_options.instances) : "one") +
                " for each peer it exchanges data with; " + runtimeName() + " runs at most " + std::to_string(have) +
                " at once (" + std::to_string(need - have) + " too many)",
            fix(),
            {}};
  }
  [[nodiscard]] Error tooManyElements(int rank) const {
    return {ErrorCode::limit,
            "rank " + std::to_string(rank) + " needs " + std::to_string(elementsOf(rank)) +
                " XML elements (its steps, its threadblocks and one per gpu); " + runtimeName() + " reads at most " +
                std::to_string(m_limit.xmlNodes) + " (" + std::to_string(elementsOf(rank) - m_limit.xmlNodes) +
                " too many)",
            fix(),
            {}};
  }
  [[nodiscard]] Error tooFewChannels(const Group& group, int least) const {
    return {ErrorCode::limit,
            "rank " + std::to_string(group.from) + " sends " + std::to_string(group.steps) + " steps to rank " +
                std::to_string(group.to) + ", which takes " + std::to_string(least) + " channels of " +
                std::to_string(m_limit.stepsPerThreadBlock) + " steps and at most " +
                std::to_string(m_limit.peersPerChannel) + " peers; " + runtimeName() + " leaves " +
                std::to_string(group.lanes.size()) + " of " + std::to_string(m_channelsEach) + " for them (" +
                std::to_string(least - static_cast<int>(group.lanes.size())) + " too few)",
            fix(),
            {}};
  }

  [[nodiscard]] int remainingOf(int message) const;
  template <typename Visit>
  void forEachDependent(int arriving, const Visit& visit) const;
  void sortArrivals();
  void orderChains();
  void orderAsTheyCome();
  [[nodiscard]] std::vector<Event> greedyRun(Phase phase) const;

  const Work& m_work;
  const Options& m_options;
  const std::vector<CopyNeed>& m_copies;
  const Progress& m_progress;
  const program::RuntimeLimits& m_limit;
  const Style& m_style;
  const bool m_splitsReduce;
  const bool m_fuses;
  Sums m_sums;                      ///< RCCL alone
  std::vector<int> m_arrivalSteps;  ///< RCCL alone: by message
  int m_channelsEach = 1;
  int m_blocksEach = 1;
  bool m_hasSpareLanes = false;
  std::vector<Group> m_groups;
  std::vector<int> m_groupOrder;
  std::vector<int> m_groupOf;
  std::vector<std::int64_t> m_time;  ///< by message
  std::vector<int> m_mateOfIn;
  std::vector<int> m_blockBase;
  std::vector<int> m_heads;
  std::vector<int> m_steps;        ///< by rank
  int m_events = 0;                ///< steps of all ranks but copies
  std::vector<int> m_nextArrival;  ///< by reducing message: the one that its receiver adds next, -1 = none
  Plan m_plan;
};

/// Hops still to come after a message.
int Planner::remainingOf(int message) const {
  const TreeShape& tree = treeOf(message);
  if (m_work.phaseOf(message) == Phase::broadcast) {
    return tree.height[m_work.childOf(message)];
  }
  const int rest =
      m_work.phases.size() == 2 ? m_work.tree(m_work.partOf(message), Phase::broadcast).height[tree.root] : 0;
  return tree.depth[m_work.childOf(message)] - 1 + rest;
}

void Planner::sortArrivals() {
  m_nextArrival.assign(static_cast<std::size_t>(m_work.messageCount()), -1);
  std::vector<int> children;
  for (int part = 0; m_work.hasPhase(Phase::reduce) && part < static_cast<int>(m_work.parts.size()); ++part) {
    for (int v = 0; v < m_work.gpuCount; ++v) {
      arrivalsAt(part, v, children);
      for (std::size_t i = 1; i < children.size(); ++i) {
        m_nextArrival[m_work.message(part, Phase::reduce, children[i - 1])] =
            m_work.message(part, Phase::reduce, children[i]);
      }
    }
  }
}

/// Calls visit(event) for everything that waits, on its own rank, for this arrival.
template <typename Visit>
void Planner::forEachDependent(int arriving, const Visit& visit) const {
  const int part = m_work.partOf(arriving);
  const int v = ends(arriving).to;
  const auto start = [&](int message) {
    if (m_plan.previous[message] < 0) {
      visit(Event{message, false});
    }
  };
  if (m_work.phaseOf(arriving) == Phase::reduce) {
    if (m_nextArrival[arriving] >= 0) {
      visit(Event{m_nextArrival[arriving], true});
      return;
    }
    if (v != treeOf(arriving).root) {
      start(m_work.message(part, Phase::reduce, v));
      return;
    }
    if (m_work.phases.size() == 1) {
      return;
    }
  }
  for (const int c : m_work.tree(part, Phase::broadcast).childrenOf(v)) {
    start(m_work.message(part, Phase::broadcast, c));
  }
}

/// List scheduling with one time unit per chunk: of all chains whose inputs are there, the one that would finish first
/// goes next; among equals the one with most hops still to come. The clock only ranks the chains. That every chain
/// comes after those it waits for is what the proof needs, and holds whatever the clock says.
void Planner::orderChains() {
  struct Candidate {
    std::int64_t finish = 0;
    int remaining = 0;
    int head = 0;
    bool operator>(const Candidate& other) const {
      return std::tie(finish, other.remaining, head) > std::tie(other.finish, remaining, other.head);
    }
  };
  const int messages = m_work.messageCount();
  std::vector<int> headOf(static_cast<std::size_t>(messages), -1);
  for (const int head : m_heads) {
    for (int m = head; m >= 0; m = m_plan.next[m]) {
      headOf[m] = head;
    }
  }
  std::vector<int> missing(static_cast<std::size_t>(messages), 0);  // by head: arrivals that other chains still owe it
  forEachMessage([&](int m) { forEachDependent(m, [&](Event waiting) { ++missing[headOf[waiting.message]]; }); });
  std::vector<std::int64_t> ready(static_cast<std::size_t>(messages), 0);
  std::vector<std::int64_t> free(static_cast<std::size_t>(m_blockBase.back()), 0);
  const auto startOf = [&](int head) {
    std::int64_t start = ready[head];
    std::int64_t hop = 0;
    for (int m = head; m >= 0; m = m_plan.next[m], ++hop) {
      start = std::max({start, free[sendBlockOf(m)] - hop, free[recvBlockOf(m)] - hop});
    }
    return start;
  };
  const auto candidate = [&](int head) {
    std::int64_t hops = 0;
    for (int m = head; m_plan.next[m] >= 0; m = m_plan.next[m]) {
      ++hops;
    }
    return Candidate{startOf(head) + hops + countOf(head), remainingOf(head), head};
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  for (const int head : m_heads) {
    if (missing[head] == 0) {
      queue.push(candidate(head));
    }
  }
  m_plan.order.reserve(static_cast<std::size_t>(m_events));
  while (!queue.empty()) {
    throwIfCancelled(m_progress);
    const Candidate top = queue.top();
    queue.pop();
    if (const Candidate now = candidate(top.head); now.finish > top.finish) {
      queue.push(now);
      continue;
    }
    m_plan.order.push_back({top.head, false});
    std::int64_t time = startOf(top.head);
    for (int m = top.head; m >= 0; m = m_plan.next[m], ++time) {
      m_plan.order.push_back({m, true});
      const std::int64_t done = time + countOf(m);
      free[sendBlockOf(m)] = std::max(free[sendBlockOf(m)], done);
      free[recvBlockOf(m)] = std::max(free[recvBlockOf(m)], done);
      forEachDependent(m, [&](Event waiting) {
        const int head = headOf[waiting.message];
        ready[head] = std::max(ready[head], done);
        if (--missing[head] == 0) {
          queue.push(candidate(head));
        }
      });
    }
  }
}

/// Reducing is gathering run backwards, and so is a good order for it: forwards, a greedy run would send every share as
/// early as it can, and shares that are needed late would block the connections.
void Planner::orderAsTheyCome() {
  m_plan.order.reserve(static_cast<std::size_t>(m_events));
  for (const Phase phase : m_work.phases) {
    std::vector<Event> order = greedyRun(phase);
    if (phase == Phase::reduce) {
      std::reverse(order.begin(), order.end());
    }
    m_plan.order.insert(m_plan.order.end(), order.begin(), order.end());
  }
}

/// A greedy run of the whole machine, one time unit per chunk, with connections as deep as the protocol's: whenever a
/// threadblock is free it takes the step that can start first; among equals the one with most hops still to come.
/// The reduce phase runs backwards in time: messages go from receiver to sender, and steps wait for those that
/// really come after them. The order is incomplete if the run gets stuck.
std::vector<Event> Planner::greedyRun(Phase phase) const {
  struct Candidate {
    std::int64_t start = 0;
    int remaining = 0;
    int id = 0;  // 2 * message + receives
    bool operator>(const Candidate& other) const {
      return std::tie(start, other.remaining, id) > std::tie(other.start, remaining, other.id);
    }
  };
  struct Fifo {
    std::vector<int> sent;  // messages
    std::size_t received = 0;
    std::vector<int> blocked;  // ids that wait for room
  };
  const bool backwards = phase == Phase::reduce;
  const auto depth =
      static_cast<std::size_t>(program::connectionDepth(m_options.protocol.value_or(program::Protocol::simple)));
  const std::size_t ids = 2 * static_cast<std::size_t>(m_work.messageCount());
  const auto comesIn = [&](int id) {
    if (backwards) {
      return id % 2 == 0 ? id / 2 : m_plan.next[id / 2];
    }
    return id % 2 == 0 ? -1 : id / 2;
  };
  const auto goesOut = [&](int id) {
    if (backwards) {
      return id % 2 == 0 ? -1 : id / 2;
    }
    return id % 2 == 0 ? id / 2 : m_plan.next[id / 2];
  };

  std::vector<int> missing(ids, 0);
  std::vector<int> receiverOf(static_cast<std::size_t>(m_work.messageCount()),
                              -1);         // id of the step that takes a message in
  std::vector<std::pair<int, int>> waits;  // id, id that waits for it
  std::vector<int> all;
  forEachMessage([&](int m) {
    if (m_work.phaseOf(m) != phase) {
      return;
    }
    if (m_plan.previous[m] < 0) {
      all.push_back(2 * m);
    }
    all.push_back(2 * m + 1);
    forEachDependent(m, [&](Event waiting) {
      if (m_work.phaseOf(waiting.message) == phase) {
        const int id = 2 * waiting.message + (waiting.receives ? 1 : 0);
        waits.emplace_back(backwards ? id : 2 * m + 1, backwards ? 2 * m + 1 : id);
      }
    });
  });
  std::sort(waits.begin(), waits.end());
  for (const auto& [id, waiting] : waits) {
    ++missing[waiting];
  }
  for (const int id : all) {
    if (const int in = comesIn(id); in >= 0) {
      receiverOf[in] = id;
      ++missing[id];
    }
  }

  std::vector<std::int64_t> ready(ids, 0);
  std::vector<std::int64_t> free(static_cast<std::size_t>(m_blockBase.back()), 0);
  std::vector<Fifo> fifos(m_plan.connections.size());
  const auto blockOf = [&](int id) { return id % 2 == 0 ? sendBlockOf(id / 2) : recvBlockOf(id / 2); };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto push = [&](int id) {
    const int m = id / 2;
    const int hops = backwards ? treeOf(m).height[m_work.childOf(m)] + id % 2 : remainingOf(m) + 1 - id % 2;
    queue.push({std::max(ready[id], free[blockOf(id)]), hops, id});
  };
  const auto release = [&](int id, std::int64_t time) {
    ready[id] = std::max(ready[id], time);
    if (--missing[id] == 0) {
      push(id);
    }
  };
  for (const int id : all) {
    if (missing[id] == 0) {
      push(id);
    }
  }
  std::vector<Event> order;
  order.reserve(all.size());
  while (!queue.empty()) {
    throwIfCancelled(m_progress);
    const Candidate top = queue.top();
    queue.pop();
    const int block = blockOf(top.id);
    if (std::max(ready[top.id], free[block]) > top.start) {
      push(top.id);
      continue;
    }
    const int leaving = goesOut(top.id);
    Fifo* const out = leaving < 0 ? nullptr : &fifos[m_plan.connectionOf[leaving]];
    if (out != nullptr && out->sent.size() - out->received >= depth) {
      out->blocked.push_back(top.id);
      continue;
    }
    const std::int64_t done = top.start + countOf(top.id / 2);
    free[block] = done;
    order.push_back({top.id / 2, top.id % 2 != 0});
    if (out != nullptr) {
      const int receiver = receiverOf[leaving];
      out->sent.push_back(leaving);
      if (out->sent.size() - out->received == 1) {
        release(receiver, done);
      } else {
        ready[receiver] = std::max(ready[receiver], done);
      }
    }
    if (const int arriving = comesIn(top.id); arriving >= 0) {
      Fifo& in = fifos[m_plan.connectionOf[arriving]];
      ++in.received;
      if (in.received < in.sent.size()) {
        release(receiverOf[in.sent[in.received]], 0);
      }
      for (const int id : std::exchange(in.blocked, {})) {
        ready[id] = std::max(ready[id], done);
        push(id);
      }
    }
    for (auto it = std::lower_bound(waits.begin(), waits.end(), std::pair(top.id, -1));
         it != waits.end() && it->first == top.id; ++it) {
      release(it->second, done);
    }
  }
  return order;
}

}  // namespace

Ends endsOf(const Work& work, int message) {
  const Phase phase = work.phaseOf(message);
  const int child = work.childOf(message);
  const int parent = work.tree(work.partOf(message), phase).parent[child];
  return phase == Phase::reduce ? Ends{child, parent} : Ends{parent, child};
}

Result<Plan> makePlan(const Work& work, const Options& options, const Style& style, const std::vector<CopyNeed>& copies,
                      const Progress& progress) {
  return Planner(work, options, style, copies, progress).run();
}

}  // namespace coppice::lowering
