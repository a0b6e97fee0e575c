// SPDX-License-Identifier: Apache-2.0
#include "nccl/communicator_join.hpp"

#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "nccl/ring_puzzle.hpp"

namespace coppice::nccl {
namespace {

void keepDistinctSearches(Communicator& made) {
  const auto key = [](const SearchLine& line) {
    return std::tie(line.pattern, line.crossNic, line.channels, line.intra, line.inter, line.typeIntra, line.typeInter);
  };
  std::vector<SearchLine> distinct;
  for (const SearchLine& line : made.searches) {
    if (std::none_of(distinct.begin(), distinct.end(),
                     [&](const SearchLine& other) { return key(other) == key(line); })) {
      distinct.push_back(line);
    }
  }
  made.searches = std::move(distinct);
}

void finishChoices(Communicator& made) {
  // One shard from 2.24 on, where the algorithm is a word.
  for (Choice& choice : made.choices) {
    const bool isShard = choice.collective == "allgather" || choice.collective == "reduce_scatter";
    if (isShard && !choice.time && made.ranks > 0 && choice.bytes < (std::int64_t{1} << 62) / made.ranks) {
      choice.bytes = choice.loggedBytes * made.ranks;
    }
  }
}

/// Who may follow a rank.
struct Candidate {
  int rank = 0;
  int place = 0;  ///< among the connections of the channel that a process printed: those of rings come first
};

struct ChannelFacts {
  std::vector<std::vector<int>> hops;        // by rank: its next by hop lines, which agree but for those that are cut
  std::vector<int> whole;                    // a ring line with all ranks
  std::vector<std::pair<int, int>> partial;  // of a ring line that is cut
  std::vector<std::vector<Candidate>> byPhase[3];  // by rank: edges of rings; of no phase; of trees
};

/// False: the line is not whole.
bool addRingLine(ChannelFacts& entry, const RingLine& line, int ranks) {
  std::vector<int> listed = line.ranks;
  const auto isWhole = [&] {
    if (static_cast<int>(listed.size()) != ranks) {
      return false;
    }
    std::vector<bool> seen(static_cast<std::size_t>(ranks), false);
    for (const int rank : listed) {
      if (rank >= ranks || seen[rank]) {
        return false;
      }
      seen[rank] = true;
    }
    return true;
  };
  if (isWhole()) {
    std::rotate(listed.begin(), std::find(listed.begin(), listed.end(), 0), listed.end());
    entry.whole = std::move(listed);
    return true;
  }
  listed.pop_back();  // its digits may be cut
  if (!line.isCut && ranks > 1000) {
    // Old versions print three digits of each number.
    listed.erase(std::find_if(listed.begin(), listed.end(), [](int rank) { return rank >= 100; }), listed.end());
  }
  for (std::size_t i = 1; i < listed.size(); ++i) {
    if (listed[i - 1] < ranks && listed[i] < ranks) {
      entry.partial.emplace_back(listed[i - 1], listed[i]);
    }
  }
  return false;
}

/// By rank: the next one that all hop lines agree on; -1.
std::vector<int> agreedHops(const ChannelFacts& entry) {
  std::vector<int> next;
  for (const std::vector<int>& votes : entry.hops) {
    next.push_back(votes.size() == 1 ? votes.front() : -1);
  }
  return next;
}

void addCandidates(RingFacts& facts, const std::vector<std::vector<Candidate>>& rows, int rank) {
  if (rows.empty()) {
    return;
  }
  std::vector<Candidate> sorted = rows[rank];
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Candidate& a, const Candidate& b) { return a.place < b.place; });
  std::vector<int>& list = facts.candidates[rank];
  for (const Candidate& each : sorted) {
    if (std::find(list.begin(), list.end(), each.rank) == list.end()) {
      list.push_back(each.rank);
    }
  }
}

/// Whose next one nobody says may be followed by all whom nobody else precedes; only a few are filled in so, and only
/// where nothing else is open.
void fillGaps(RingFacts& facts) {
  constexpr std::size_t kMaxGaps = 3;
  std::vector<std::size_t> gaps;
  std::vector<bool> isTaken(facts.next.size(), false);
  for (std::size_t rank = 0; rank < facts.next.size(); ++rank) {
    if (facts.next[rank] >= 0) {
      isTaken[facts.next[rank]] = true;
    } else if (facts.candidates[rank].empty()) {
      gaps.push_back(rank);
    } else if (facts.candidates[rank].size() == 1) {
      isTaken[facts.candidates[rank].front()] = true;
    } else {
      return;
    }
  }
  for (const std::size_t gap : gaps.size() <= kMaxGaps ? gaps : std::vector<std::size_t>()) {
    for (std::size_t rank = 0; rank < facts.next.size(); ++rank) {
      if (rank != gap && !isTaken[rank]) {
        facts.candidates[gap].push_back(static_cast<int>(rank));
      }
    }
  }
}

std::optional<std::vector<int>> solve(const ChannelFacts& entry, int ranks) {
  if (!entry.whole.empty()) {
    return entry.whole;
  }
  RingFacts facts{.next = agreedHops(entry)};
  if (auto ring = cycleOf(facts.next)) {
    return ring;
  }
  std::vector<bool> isTaken(static_cast<std::size_t>(ranks), false);
  for (const int next : facts.next) {
    if (next >= 0) {
      isTaken[next] = true;
    }
  }
  for (const auto& [from, to] : entry.partial) {
    if (facts.next[from] < 0 && !isTaken[to]) {
      facts.next[from] = to;
      isTaken[to] = true;
    }
  }
  facts.candidates.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    facts.candidates[rank] = entry.hops.empty() ? std::vector<int>() : entry.hops[rank];
    addCandidates(facts, entry.byPhase[0], rank);
    if (facts.candidates[rank].empty()) {
      addCandidates(facts, entry.byPhase[1], rank);
    }
  }
  // Where trees were connected first, rings use their connections without a line of their own.
  RingFacts wider = facts;
  for (int rank = 0; rank < ranks; ++rank) {
    if (wider.candidates[rank].empty()) {
      addCandidates(wider, entry.byPhase[2], rank);
    }
  }
  if (auto ring = solveRing(facts)) {
    return ring;
  }
  if (auto ring = solveRing(wider)) {
    return ring;
  }
  fillGaps(facts);
  return solveRing(facts);
}

/// NCCL repeats the channels that its search found, so that the second half of them is the first.
void repeat(Communicator& made, std::map<int, std::vector<int>>& rings, int channels) {
  if (channels % 2 != 0 || static_cast<int>(rings.size()) == channels) {
    return;
  }
  const int half = channels / 2;
  bool hasPair = false;
  for (const auto& [channel, ring] : rings) {
    const auto other = rings.find(channel < half ? channel + half : channel - half);
    if (other != rings.end()) {
      if (other->second != ring) {
        return;
      }
      hasPair = true;
    }
  }
  const bool isDoubled = std::any_of(made.searches.begin(), made.searches.end(), [&](const SearchLine& line) {
    return line.pattern == 4 && line.channels > 0 && line.channels <= half && half % line.channels == 0;
  });
  if (!hasPair && !isDoubled) {
    return;
  }
  int filled = 0;
  for (int channel = 0; channel < channels; ++channel) {
    const auto other = rings.find(channel < half ? channel + half : channel - half);
    if (!rings.contains(channel) && other != rings.end()) {
      rings[channel] = other->second;
      ++filled;
    }
  }
  if (filled > 0) {
    made.notes.push_back(counted(filled, "ring") + " whose lines are cut " + (filled == 1 ? "is" : "are") +
                         " taken from the other half of the channels, which NCCL makes equal");
  }
}

void joinRings(Communicator& made, const std::vector<const Facts*>& facts, int channels) {
  const auto count = static_cast<std::size_t>(made.ranks);
  std::map<int, ChannelFacts> byChannel;
  const auto at = [&](int channel) -> ChannelFacts& {
    ChannelFacts& entry = byChannel[channel];
    if (entry.hops.empty()) {
      entry.hops.assign(count, {});
    }
    return entry;
  };
  const auto isRank = [&](int rank) { return rank >= 0 && rank < made.ranks; };
  const auto vote = [&](ChannelFacts& entry, int from, int to) {
    if (isRank(from) && isRank(to) &&
        std::find(entry.hops[from].begin(), entry.hops[from].end(), to) == entry.hops[from].end()) {
      entry.hops[from].push_back(to);
    }
  };
  bool hasCut = false;
  for (const Facts* one : facts) {
    for (const HopLine& hop : one->hops) {
      ChannelFacts& entry = at(hop.channel);
      vote(entry, hop.rank, hop.next);
      vote(entry, hop.previous, hop.rank);
    }
    for (const RingLine& line : one->rings) {
      ChannelFacts& entry = at(line.channel);
      hasCut = !addRingLine(entry, line, made.ranks) || hasCut;
    }
  }
  // Only where it is needed: a thousand ranks have hundreds of thousands of connections.
  std::set<int> open;
  for (int channel = 0; channel < channels || (!byChannel.empty() && channel <= byChannel.rbegin()->first); ++channel) {
    const auto found = byChannel.find(channel);
    const bool isSolved =
        found != byChannel.end() && (!found->second.whole.empty() || cycleOf(agreedHops(found->second)));
    if (!isSolved) {
      open.insert(channel);
    }
  }
  for (const Facts* one : open.empty() ? std::vector<const Facts*>() : facts) {
    std::map<std::pair<int, bool>, int> printed;  // by channel and direction
    for (const SeenEdge& edge : one->edges) {
      if (edge.line.connection == 0 && open.contains(edge.line.channel) && isRank(edge.line.from) &&
          isRank(edge.line.to)) {
        const int phase = edge.phase == Phase::ring ? 0 : edge.phase == Phase::open ? 1 : 2;
        if (phase == 2 && !one->hasAllRings) {
          continue;  // its rings may be in lines that are lost
        }
        auto& rows = at(edge.line.channel).byPhase[phase];
        rows.resize(count);
        rows[edge.line.from].push_back({edge.line.to, printed[{edge.line.channel, edge.line.isReceive}]++});
      }
    }
  }
  std::map<int, std::vector<int>> rings;
  for (auto& [channel, entry] : byChannel) {
    if (auto ring = solve(entry, made.ranks)) {
      rings[channel] = *std::move(ring);
    }
  }
  repeat(made, rings, channels);
  std::vector<int> absent;
  for (int channel = 0; channel < channels; ++channel) {
    if (!rings.contains(channel)) {
      absent.push_back(channel);
    }
  }
  for (auto& [channel, ring] : rings) {
    made.rings.push_back({channel, std::move(ring)});
  }
  if (made.rings.empty()) {
    made.missing.emplace_back(
        "the rings: set NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING and give the logs of all ranks "
        "(NCCL_DEBUG_FILE=log.%h.%p)");
  } else if (!absent.empty()) {
    constexpr std::size_t kMost = 8;
    const std::string list = commaListOfFirst(kMost, absent, [](int channel) { return std::to_string(channel); });
    made.missing.push_back("the rings of " + counted(static_cast<std::int64_t>(absent.size()), "channel") + " (" +
                           list + ")" + (hasCut ? ", whose lines are cut" : "") +
                           ": add GRAPH to NCCL_DEBUG_SUBSYS and give the logs of all ranks "
                           "(NCCL_DEBUG_FILE=log.%h.%p)");
  }
}

bool isTree(const std::vector<int>& parents) {
  const auto roots = std::count(parents.begin(), parents.end(), -1);
  if (roots != 1) {
    return false;
  }
  std::vector<char> state(parents.size(), 0);  // 0 new, 1 on the way, 2 reaches the root
  for (std::size_t start = 0; start < parents.size(); ++start) {
    std::vector<std::size_t> way;
    std::size_t at = start;
    while (state[at] == 0) {
      state[at] = 1;
      way.push_back(at);
      if (parents[at] == -1) {
        break;
      }
      if (parents[at] < 0) {
        return false;
      }
      at = static_cast<std::size_t>(parents[at]);
      if (state[at] == 1) {
        return false;
      }
    }
    for (const std::size_t node : way) {
      state[node] = 2;
    }
  }
  return true;
}

void joinTrees(Communicator& made, const std::vector<const Facts*>& facts) {
  constexpr int kUnknown = -2;
  std::map<int, std::vector<int>> parents;
  std::map<int, std::vector<std::pair<int, int>>> doubtful;  // rank, parent
  std::set<std::pair<int, int>> printed;                     // channel, rank
  const auto isRank = [&](int rank) { return rank >= 0 && rank < made.ranks; };
  for (const Facts* one : facts) {
    for (const TreeEntry& entry : one->trees) {
      std::vector<int>& tree = parents[entry.channel];
      tree.resize(static_cast<std::size_t>(made.ranks), kUnknown);
      if (!isRank(entry.rank) || entry.parent >= made.ranks) {
        continue;
      }
      printed.insert({entry.channel, entry.rank});
      if (entry.isDoubtful) {
        doubtful[entry.channel].emplace_back(entry.rank, entry.parent);
      } else {
        tree[entry.rank] = entry.parent;
      }
      for (const int child : entry.children) {
        if (isRank(child)) {
          tree[child] = entry.rank;
        }
      }
    }
  }
  int open = 0;
  for (auto& [channel, tree] : parents) {
    for (const auto& [rank, parent] : doubtful[channel]) {
      // Its digits may be cut: then the parent has other children.
      if (tree[rank] == kUnknown && (parent < 0 || !printed.contains({channel, parent}))) {
        tree[rank] = parent;
      }
    }
    if (isTree(tree)) {
      made.trees.push_back({channel, std::move(tree)});
    } else {
      ++open;
    }
  }
  if (made.trees.empty()) {
    made.missing.emplace_back("the trees: set NCCL_DEBUG_SUBSYS=INIT,GRAPH and give the logs of all ranks");
  } else if (open > 0) {
    made.missing.push_back("the trees of " + counted(open, "channel") +
                           ": give the logs of all ranks (NCCL_DEBUG_FILE=log.%h.%p)");
  }
}

void joinCollnet(Communicator& made, const std::vector<const Facts*>& facts) {
  std::set<int> heads;
  std::map<int, LoggedTree> chains;
  for (const Facts* one : facts) {
    for (const int rank : one->collnetHeads) {
      if (rank < made.ranks) {
        heads.insert(rank);
      }
    }
    for (const TreeEntry& entry : one->collnetChains) {
      LoggedTree& chain = chains[entry.channel];
      chain.channel = entry.channel;
      chain.parents.resize(static_cast<std::size_t>(made.ranks), -2);
      if (entry.rank < made.ranks) {
        // The network is a rank above all others.
        chain.parents[entry.rank] = entry.parent < made.ranks ? entry.parent : -1;
      }
    }
  }
  made.collnetHeads.assign(heads.begin(), heads.end());
  for (auto& [channel, chain] : chains) {
    if (std::find(chain.parents.begin(), chain.parents.end(), -2) == chain.parents.end()) {
      made.collnetChains.push_back(std::move(chain));
    }
  }
}

void joinEdges(Communicator& made, const std::vector<const Facts*>& facts) {
  std::map<std::tuple<int, int, int>, LoggedEdge> edges;
  for (const Facts* one : facts) {
    for (const SeenEdge& edge : one->edges) {
      if (edge.line.connection != 0) {
        continue;
      }
      LoggedEdge& entry = edges[{edge.line.channel, edge.line.from, edge.line.to}];
      entry.channel = edge.line.channel;
      entry.from = edge.line.from;
      entry.to = edge.line.to;
      if (entry.via.empty() || !edge.line.isReceive) {
        entry.via = edge.line.via;
      }
      (edge.line.isReceive ? entry.receiveNet : entry.sendNet) = edge.line.net;
    }
  }
  made.edges.reserve(edges.size());
  for (auto& [key, edge] : edges) {
    made.edges.push_back(std::move(edge));
  }
}

}  // namespace

void joinFacts(Communicator& made, const std::vector<const Facts*>& facts) {
  for (const Facts* one : facts) {
    made.channels = std::max(made.channels, one->channels);
    made.searches.insert(made.searches.end(), one->searches.begin(), one->searches.end());
    for (const Choice& choice : one->choices) {
      made.choices.push_back(choice);
    }
    for (const NvlsHeads& heads : one->nvls) {
      const bool isNew = std::none_of(made.nvls.begin(), made.nvls.end(), [&](const NvlsHeads& other) {
        return other.channel == heads.channel && other.ranks == heads.ranks;
      });
      if (isNew) {
        made.nvls.push_back(heads);
      }
    }
    if (made.estimates.empty()) {
      made.estimates = one->estimates;
    }
  }
  keepDistinctSearches(made);
  int loggedChannels = 0;  // as ring lines have them
  int seenChannels = 0;
  for (const Facts* one : facts) {
    for (const RingLine& line : one->rings) {
      loggedChannels = std::max(loggedChannels, line.channels);
      seenChannels = std::max(seenChannels, line.channel + 1);
    }
    for (const HopLine& line : one->hops) {
      seenChannels = std::max(seenChannels, line.channel + 1);
    }
    for (const TreeEntry& entry : one->trees) {
      seenChannels = std::max(seenChannels, entry.channel + 1);
    }
    for (const SeenEdge& edge : one->edges) {
      seenChannels = std::max(seenChannels, edge.line.connection == 0 ? edge.line.channel + 1 : 0);
    }
  }
  made.channels = made.channels > 0 ? made.channels : std::max(loggedChannels, seenChannels);
  const int ringChannels = std::max({made.channels, loggedChannels, 1});
  if (made.ranks > 1) {
    joinRings(made, facts, std::max(loggedChannels, seenChannels) > 0 ? std::max(loggedChannels, ringChannels) : 0);
    joinTrees(made, facts);
  }
  joinCollnet(made, facts);
  joinEdges(made, facts);
  finishChoices(made);
}

}  // namespace coppice::nccl
