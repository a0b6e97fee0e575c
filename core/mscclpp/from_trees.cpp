// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/from_trees.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "mscclpp/block_writer.hpp"
#include "mscclpp/finish_plan.hpp"
#include "mscclpp/switch_trees.hpp"

namespace coppice::mscclpp {

namespace {

constexpr auto kMaxOpChannels = static_cast<std::size_t>(kMaxChannelsOfOp);
constexpr auto kMaxBlockChannels = static_cast<std::size_t>(kMaxChannelsOfBlock);

/// Sums go up a tree, and the result down. Where a part goes in pieces, each half has threadblocks and channels of its
/// own, so that neither waits for the other.
enum class Half : std::uint8_t { sums, result };

/// Whose operations are written.
struct Spot {
  int part = 0;
  Half half = Half::sums;
  int rank = 0;
};

/// A threadblock of the plan while it is written: its lists, and its operations.
struct OpenBlock {
  ThreadBlock lists = {};
  BlockWriter writer = {};
};

int placeIn(std::vector<int>& list, int id) {
  const auto found = std::find(list.begin(), list.end(), id);
  if (found != list.end()) {
    return static_cast<int>(found - list.begin());
  }
  list.push_back(id);
  return static_cast<int>(list.size()) - 1;
}

class TreeLowering {
public:
  TreeLowering(const SwitchTrees& trees, const TreePlanOptions& options, int ranks)
      : m_trees(trees), m_options(options), m_scratchOf(static_cast<std::size_t>(ranks), 0) {
    m_plan.name = options.name;
    m_plan.collective = "allreduce";
    m_plan.inPlace = options.inPlace;
    m_plan.gpus.resize(static_cast<std::size_t>(ranks));
    for (Gpu& gpu : m_plan.gpus) {
      gpu.inputChunks = trees.chunks;
      gpu.outputChunks = trees.chunks;
    }
  }

  Result<ExecutionPlan> run(const Progress& progress) {
    m_result = m_options.inPlace ? Buffer::input : Buffer::output;
    place();
    for (int rank = 0; rank < static_cast<int>(m_plan.gpus.size()); ++rank) {
      throwIfCancelled(progress);
      if (const Outcome written = writeRank(rank); !written) {
        return written.error();
      }
      m_plan.gpus[rank].scratchChunks = m_scratchOf[rank];
    }
    const Outcome bounded = setWindow(m_plan, {m_trees.chunks, m_options.minBytes, m_options.maxBytes});
    if (!bounded) {
      return bounded.error();
    }
    return std::move(m_plan);
  }

private:
  [[nodiscard]] bool isPort(int a, int b) const {
    return !m_options.boxOf.empty() && m_options.boxOf[a] != m_options.boxOf[b];
  }

  // Channels, groups and scratch of all ranks, in one order, since both ends of a channel and all members of a group
  // have to agree on it.

  void place() {
    const std::size_t ranks = m_plan.gpus.size();
    m_readsResult.resize(m_trees.parts.size());
    for (std::size_t p = 0; p < m_trees.parts.size(); ++p) {
      const TreePart& part = m_trees.parts[p];
      std::vector<char>& reads = m_readsResult[p];
      reads.assign(ranks, 0);
      for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
        const TreeEnds& ends = part.ends[rank];
        for (const auto& [other, half] : {std::pair(ends.up, Half::sums), std::pair(ends.down, Half::result)}) {
          if (other >= 0) {
            openChannel({static_cast<int>(p), half, rank}, other);
          }
        }
        for (const int child : ends.inDirect) {
          m_landing[{static_cast<int>(p), child}] = m_scratchOf[rank];
          m_scratchOf[rank] += part.count * part.pieces;
        }
        if (!ends.inBySwitch.empty()) {
          std::vector<int> group = groupOf(rank, ends.inBySwitch);
          const bool hasSums = std::any_of(group.begin(), group.end(), [&](int member) {
            const TreeEnds& its = part.ends[member];
            return !its.inDirect.empty() || (member != rank && !its.inBySwitch.empty());
          });
          reads[rank] = hasSums || m_options.inPlace ? 1 : 0;
          m_groups.try_emplace({storeGroupOf(rank, ends), m_result}, 0);
          m_groups.try_emplace({std::move(group), reads[rank] != 0 ? m_result : Buffer::input}, 0);
        }
        if (!ends.outBySwitch.empty()) {
          m_groups.try_emplace({groupOf(rank, ends.outBySwitch), m_result}, 0);
        }
      }
    }
    for (const auto& [key, unused] : m_groups) {
      for (const int member : key.first) {
        Gpu& gpu = m_plan.gpus[member];
        m_groupAt[{key, member}] = static_cast<int>(gpu.switchGroups.size());
        gpu.switchGroups.push_back({key.second, m_trees.chunks, key.first});
      }
    }
  }

  static std::vector<int> groupOf(int rank, std::vector<int> others) {
    others.push_back(rank);
    std::sort(others.begin(), others.end());
    return others;
  }

  /// The root sums up through the switch that copies the result, to the same ranks.
  static bool isStored(const TreeEnds& ends) {
    return ends.up < 0 && !ends.inBySwitch.empty() && ends.inBySwitch == ends.outBySwitch;
  }
  /// Where a rank stores the sum of its group. A sum that goes on is wanted at this rank alone; a group has at least
  /// two ranks, and another one holds a place for the result that may hold anything until then.
  static std::vector<int> storeGroupOf(int rank, const TreeEnds& ends) {
    std::vector<int> group = groupOf(rank, ends.inBySwitch);
    if (isStored(ends)) {
      return group;
    }
    const auto at = static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
    const std::size_t other = (at ^ 1U) < group.size() ? at ^ 1U : at - 1;
    return {group[std::min(at, other)], group[std::max(at, other)]};
  }

  [[nodiscard]] bool isSplit(int part) const { return m_trees.parts[part].pieces > 1; }

  [[nodiscard]] std::array<int, 4> channelKey(const Spot& at, int peer) const {
    const int half = isSplit(at.part) ? static_cast<int>(at.half) : 0;
    return {at.part, half, std::min(at.rank, peer), std::max(at.rank, peer)};
  }
  void openChannel(const Spot& at, int peer) {
    const std::array<int, 4> key = channelKey(at, peer);
    if (!m_channelAt.try_emplace(key).second) {
      return;
    }
    const bool byPort = isPort(at.rank, peer);
    const auto open = [&](int rank, int other) {
      std::vector<int>& peers = byPort ? m_plan.gpus[rank].portPeers : m_plan.gpus[rank].memoryPeers;
      peers.push_back(other);
      return static_cast<int>(peers.size()) - 1;
    };
    const int first = open(key[2], key[3]);
    m_channelAt[key] = {first, open(key[3], key[2])};
  }

  // Operations.

  [[nodiscard]] static ChunkRun run(Buffer buffer, int index, int count) {
    return {ChunkRun::Place::local, buffer, -1, index, count};
  }

  Operation onChannels(OpType type, bool isPortChannel, std::vector<int> channels) {
    return {.type = type,
            .channelType = isPortChannel ? ChannelType::port : ChannelType::memory,
            .channels = std::move(channels)};
  }
  /// The channel to a rank, by its place in the threadblock's list.
  int channelTo(OpenBlock& block, const Spot& at, int peer) {
    const auto& both = m_channelAt.at(channelKey(at, peer));
    return placeIn(isPort(at.rank, peer) ? block.lists.portChannels : block.lists.memoryChannels,
                   at.rank < peer ? both.first : both.second);
  }
  Operation withPeer(OpenBlock& block, OpType type, const Spot& at, int peer) {
    return onChannels(type, isPort(at.rank, peer), {channelTo(block, at, peer)});
  }
  /// One operation for up to 8 peers of the domain.
  template <typename Add>
  void withPeers(OpenBlock& block, OpType type, const Spot& at, const std::vector<int>& peers, const Add& add) {
    for (std::size_t first = 0; first < peers.size(); first += kMaxOpChannels) {
      std::vector<int> channels;
      for (std::size_t i = first; i < std::min(peers.size(), first + kMaxOpChannels); ++i) {
        channels.push_back(channelTo(block, at, peers[i]));
      }
      add(onChannels(type, false, std::move(channels)));
    }
  }

  ChunkRun ofGroup(OpenBlock& block, int rank, std::vector<int> group, Buffer buffer, const ChunkRun& like) {
    const int id = m_groupAt.at({{std::move(group), buffer}, rank});
    return {ChunkRun::Place::switched, Buffer::input, placeIn(block.lists.switchGroups, id), like.index, like.size};
  }
  ChunkRun ofPeer(OpenBlock& block, int rank, int peer, Buffer buffer, int index, int count) {
    const bool byPort = isPort(rank, peer);
    const int id = remoteBuffer(m_plan.gpus[rank], peer, buffer, byPort);
    return {ChunkRun::Place::remote, Buffer::input,
            placeIn(byPort ? block.lists.portBuffers : block.lists.memoryBuffers, id), index, count};
  }

  /// Puts own chunks into a peer's, and tells it.
  void send(OpenBlock& block, const Spot& at, int peer, const ChunkRun& source, const ChunkRun& destination) {
    if (isPort(at.rank, peer)) {
      Operation op = withPeer(block, OpType::putWithSignal, at, peer);
      op.sources = {source};
      op.destinations = {destination};
      block.writer.move(std::move(op), {{source, false}}, true);
      return;
    }
    block.writer.move(
        {.type = OpType::put, .channelType = ChannelType::memory, .sources = {source}, .destinations = {destination}},
        {{source, false}});
    block.writer.tell(withPeer(block, OpType::signal, at, peer));
  }

  // Ranks.

  /// It takes part in groups alone: it moves nothing, and says when its own chunks may be read.
  [[nodiscard]] bool isMember(int part, int rank) const {
    const TreeEnds& ends = m_trees.parts[part].ends[rank];
    return ends.upBySwitch && ends.downBySwitch && ends.inDirect.empty() && ends.inBySwitch.empty() &&
           ends.outDirect.empty() && ends.outBySwitch.empty() && !copiesInput(part, rank);
  }
  /// The group that reads its chunks reads the result's buffer, and nothing has been added there.
  [[nodiscard]] bool copiesInput(int part, int rank) const {
    if (m_options.inPlace) {
      return false;
    }
    const TreeEnds& ends = m_trees.parts[part].ends[rank];
    if (!ends.inDirect.empty()) {
      return false;
    }
    if (!ends.inBySwitch.empty()) {
      return m_readsResult[part][rank] != 0;
    }
    return ends.upBySwitch && m_readsResult[part][ends.up] != 0;
  }

  Outcome writeRank(int rank) {
    m_blocks.clear();
    m_semaphores = 0;
    std::vector<std::pair<int, int>> members;  // part, channels
    for (int part = 0; part < static_cast<int>(m_trees.parts.size()); ++part) {
      if (isMember(part, rank)) {
        const TreeEnds& ends = m_trees.parts[part].ends[rank];
        members.emplace_back(part, ends.up == ends.down && !isSplit(part) ? 1 : 2);
        continue;
      }
      if (const Outcome written = writePart(part, rank); !written) {
        return written;
      }
    }
    writeMembers(rank, members);
    Gpu& gpu = m_plan.gpus[rank];
    gpu.semaphores.assign(static_cast<std::size_t>(m_semaphores), 0);
    for (const OpenBlock& block : m_blocks) {
      appendBlock(gpu, block.lists, block.writer);
    }
    return requireBlocks(gpu, rank, m_options.maxBlocks, "use a smaller k or fewer instances");
  }

  /// First all say that they are ready, then all wait: nobody waits for what another part has still to say.
  void writeMembers(int rank, const std::vector<std::pair<int, int>>& members) {
    for (std::size_t first = 0; first < members.size();) {
      std::size_t end = first;
      int pieces = 0;
      for (int channels = 0; end < members.size() && channels + members[end].second <= kMaxChannelsOfBlock; ++end) {
        channels += members[end].second;
        pieces = std::max(pieces, m_trees.parts[members[end].first].pieces);
      }
      OpenBlock block;
      const auto all = [&](OpType type, int piece, Half half, const auto& add) {
        block.writer.startBundle();
        std::vector<int> channels;
        for (std::size_t i = first; i < end; ++i) {
          const int part = members[i].first;
          if (piece < m_trees.parts[part].pieces) {
            const TreeEnds& ends = m_trees.parts[part].ends[rank];
            channels.push_back(channelTo(block, {part, half, rank}, half == Half::sums ? ends.up : ends.down));
          }
          if (!channels.empty() && (channels.size() == kMaxOpChannels || i + 1 == end)) {
            add(onChannels(type, false, std::exchange(channels, {})));
          }
        }
      };
      for (int piece = 0; piece < pieces; ++piece) {
        all(OpType::relaxedSignal, piece, Half::sums, [&](Operation op) { block.writer.relaxed(std::move(op)); });
      }
      for (int piece = 0; piece < pieces; ++piece) {
        all(OpType::wait, piece, Half::result, [&](Operation op) { block.writer.hear(std::move(op)); });
      }
      m_blocks.push_back(std::move(block));
      first = end;
    }
  }

  /// Peers of a group that the threadblock has no channels for, by helper.
  struct Helpers {
    std::vector<int> own = {};                 ///< peers of the threadblock itself
    std::vector<int> semaphores = {};          ///< by helper: its peers are ready, or all is stored
    std::vector<std::vector<int>> peers = {};  ///< by helper
  };

  /// @param taken channels that the threadblock needs besides
  Helpers shareOut(const std::vector<int>& bySwitch, const std::vector<int>& taken) {
    Helpers helpers;
    std::size_t room = kMaxBlockChannels - taken.size();
    std::vector<int> later;
    for (const int peer : bySwitch) {
      const bool isOpen = std::binary_search(taken.begin(), taken.end(), peer);
      if (!isOpen && room == 0) {
        later.push_back(peer);
        continue;
      }
      room -= isOpen ? 0 : 1;
      helpers.own.push_back(peer);
    }
    for (std::size_t first = 0; first < later.size(); first += kMaxBlockChannels) {
      helpers.peers.emplace_back(
          later.begin() + static_cast<std::ptrdiff_t>(first),
          later.begin() + static_cast<std::ptrdiff_t>(std::min(later.size(), first + kMaxBlockChannels)));
      helpers.semaphores.push_back(m_semaphores++);
    }
    return helpers;
  }

  /// Neighbours without a switch, of one half or of both.
  [[nodiscard]] std::vector<int> directOf(const TreeEnds& ends, bool sums, bool result) const {
    std::vector<int> direct;
    if (sums) {
      direct = ends.inDirect;
      direct.push_back(ends.up);
    }
    if (result) {
      direct.insert(direct.end(), ends.outDirect.begin(), ends.outDirect.end());
      direct.push_back(ends.down);
    }
    std::sort(direct.begin(), direct.end());
    direct.erase(std::unique(direct.begin(), direct.end()), direct.end());
    direct.erase(direct.begin(), std::upper_bound(direct.begin(), direct.end(), -1));
    return direct;
  }

  [[nodiscard]] Outcome requireChannels(int rank, const std::vector<int>& direct) const {
    if (direct.size() > kMaxBlockChannels) {
      return Error{ErrorCode::limit,
                   "rank " + std::to_string(rank) + " has " + std::to_string(direct.size()) +
                       " neighbours in one tree that it reaches without a switch; a threadblock has " +
                       std::to_string(kMaxBlockChannels) + " channels",
                   "use trees with fewer neighbours",
                   {.element = {RefKind::rank, rank}}};
    }
    return Done{};
  }

  Outcome writePart(int part, int rank) {
    const TreePart& tree = m_trees.parts[part];
    const TreeEnds& ends = tree.ends[rank];
    const bool split = isSplit(part);
    std::vector<int> taken = directOf(ends, true, !split);
    if (const Outcome fits = requireChannels(rank, taken); !fits) {
      return fits;
    }
    const Helpers summing = shareOut(ends.inBySwitch, taken);
    if (split) {
      taken = directOf(ends, false, true);
    } else {
      taken.insert(taken.end(), summing.own.begin(), summing.own.end());
      std::sort(taken.begin(), taken.end());
      taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    }
    if (const Outcome fits = requireChannels(rank, taken); !fits) {
      return fits;
    }
    const Helpers storing = shareOut(ends.outBySwitch, taken);
    // The root's sums are the result, in another threadblock.
    const int summed = split && ends.up < 0 ? m_semaphores++ : -1;
    OpenBlock first;
    // The scratch that the senders write is free.
    first.writer.startBundle();
    for (const int child : ends.inDirect) {
      first.writer.relaxed(withPeer(first, OpType::relaxedSignal, {part, Half::sums, rank}, child));
    }
    for (int piece = 0; piece < tree.pieces; ++piece) {
      first.writer.startBundle();
      reduce(first, {part, Half::sums, rank}, piece, summing);
      if (summed >= 0) {
        first.writer.tell({.type = OpType::semRelease, .semaphores = {summed}});
      }
    }
    OpenBlock second;
    OpenBlock& result = split ? second : first;
    for (int piece = 0; piece < tree.pieces; ++piece) {
      result.writer.startBundle();
      if (summed >= 0) {
        result.writer.hear({.type = OpType::semAcquire, .semaphores = {summed}});
      }
      broadcast(result, {part, Half::result, rank}, piece, storing);
    }
    m_blocks.push_back(std::move(first));
    if (split) {
      m_blocks.push_back(std::move(second));
    }
    for (std::size_t i = 0; i < summing.peers.size(); ++i) {
      writeHelper({part, Half::sums, rank}, summing.peers[i], summing.semaphores[i]);
    }
    for (std::size_t i = 0; i < storing.peers.size(); ++i) {
      writeHelper({part, Half::result, rank}, storing.peers[i], storing.semaphores[i]);
    }
    return Done{};
  }

  void writeHelper(const Spot& at, const std::vector<int>& peers, int semaphore) {
    OpenBlock block;
    for (int piece = 0; piece < m_trees.parts[at.part].pieces; ++piece) {
      block.writer.startBundle();
      if (at.half == Half::sums) {
        withPeers(block, OpType::wait, at, peers, [&](Operation op) { block.writer.hear(std::move(op)); });
        block.writer.tell({.type = OpType::semRelease, .semaphores = {semaphore}});
      } else {
        block.writer.hear({.type = OpType::semAcquire, .semaphores = {semaphore}});
        withPeers(block, OpType::signal, at, peers, [&](Operation op) { block.writer.tell(std::move(op)); });
      }
    }
    m_blocks.push_back(std::move(block));
  }

  /// Sums up what the tree brings, and hands it on.
  void reduce(OpenBlock& block, const Spot& at, int piece, const Helpers& helpers) {
    const auto [number, half, rank] = at;
    const TreePart& part = m_trees.parts[number];
    const TreeEnds& ends = part.ends[rank];
    BlockWriter& writer = block.writer;
    Buffer sum = Buffer::input;
    const int start = part.start + piece * part.count;
    const ChunkRun result = run(m_result, start, part.count);
    for (const int child : ends.inDirect) {
      writer.hear(withPeer(block, OpType::wait, at, child));
      const ChunkRun own = run(sum, start, part.count);
      const ChunkRun landed = run(Buffer::scratch, m_landing.at({number, child}) + piece * part.count, part.count);
      writer.move({.type = OpType::reduce, .sources = {own, landed}, .destinations = {result}},
                  {{own, false}, {landed, false}, {result, true}});
      sum = m_result;
    }
    if (copiesInput(number, rank)) {
      const ChunkRun own = run(Buffer::input, start, part.count);
      writer.move({.type = OpType::copy, .sources = {own}, .destinations = {result}}, {{own, false}, {result, true}});
      sum = m_result;
    }
    if (!ends.inBySwitch.empty()) {
      withPeers(block, OpType::wait, at, helpers.own, [&](Operation op) { writer.hear(std::move(op)); });
      for (const int ready : helpers.semaphores) {
        writer.hear({.type = OpType::semAcquire, .semaphores = {ready}});
      }
      const std::vector<int> group = groupOf(rank, ends.inBySwitch);
      const Buffer from = m_readsResult[number][rank] != 0 ? m_result : Buffer::input;
      writer.move({.type = OpType::multiLoadReduceStore,
                   .channelType = ChannelType::switched,
                   .sources = {ofGroup(block, rank, group, from, result)},
                   .destinations = {ofGroup(block, rank, storeGroupOf(rank, ends), m_result, result)}},
                  {{run(from, start, part.count), false}, {result, true}});
      sum = m_result;
    }
    if (ends.up < 0) {
      return;
    }
    if (ends.upBySwitch) {
      writer.tell(withPeer(block, OpType::signal, at, ends.up));
      return;
    }
    if (piece == 0) {
      writer.hear(withPeer(block, OpType::relaxedWait, at, ends.up));
    }
    send(block, at, ends.up, run(sum, start, part.count),
         ofPeer(block, rank, ends.up, Buffer::scratch, m_landing.at({number, rank}) + piece * part.count, part.count));
  }

  void broadcast(OpenBlock& block, const Spot& at, int piece, const Helpers& helpers) {
    const auto [number, half, rank] = at;
    const TreePart& part = m_trees.parts[number];
    const TreeEnds& ends = part.ends[rank];
    BlockWriter& writer = block.writer;
    const ChunkRun result = run(m_result, part.start + piece * part.count, part.count);
    if (ends.down >= 0) {
      writer.hear(withPeer(block, OpType::wait, at, ends.down));
    }
    if (!ends.outBySwitch.empty()) {
      if (!isStored(ends)) {
        writer.move({.type = OpType::multiStore,
                     .channelType = ChannelType::switched,
                     .sources = {result},
                     .destinations = {ofGroup(block, rank, groupOf(rank, ends.outBySwitch), m_result, result)}},
                    {{result, false}, {result, true}});
      }
      withPeers(block, OpType::signal, at, helpers.own, [&](Operation op) { writer.tell(std::move(op)); });
    }
    for (const int stored : helpers.semaphores) {
      writer.tell({.type = OpType::semRelease, .semaphores = {stored}});
    }
    for (const int child : ends.outDirect) {
      send(block, at, child, result, ofPeer(block, rank, child, m_result, result.index, result.size));
    }
    if (piece + 1 < part.pieces) {
      return;
    }
    // What a port has to send is read in the sender's buffer: it stays until the receiver has all.
    if (ends.down >= 0 && !ends.downBySwitch && isPort(rank, ends.down)) {
      writer.tell(withPeer(block, OpType::signal, at, ends.down));
    }
    for (const int child : ends.outDirect) {
      if (isPort(rank, child)) {
        writer.hear(withPeer(block, OpType::wait, at, child));
      }
    }
  }

  using GroupKey = std::pair<std::vector<int>, Buffer>;

  const SwitchTrees& m_trees;
  const TreePlanOptions& m_options;
  ExecutionPlan m_plan;
  Buffer m_result = Buffer::input;
  std::vector<int> m_scratchOf;                  ///< by rank: chunks taken
  std::map<std::pair<int, int>, int> m_landing;  ///< by part and sender: chunk of its receiver's scratch
  std::map<std::array<int, 4>, std::pair<int, int>> m_channelAt;  ///< by part, half, lower and higher rank
  std::map<GroupKey, int> m_groups;
  std::map<std::pair<GroupKey, int>, int> m_groupAt;  ///< by group and member: its number at that rank
  std::vector<std::vector<char>> m_readsResult;       ///< by part and rank: its group reads the buffer of the result
  std::vector<OpenBlock> m_blocks;                    ///< of the rank being written
  int m_semaphores = 0;
};

}  // namespace

Result<ExecutionPlan> fromTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                const TreePlanOptions& options, const Progress& progress) {
  if (options.name.empty()) {
    return Error{ErrorCode::badUsage, "a plan needs a name", "give one with --name"};
  }
  const auto trees = readSwitchTrees(fabric, schedule, options.boxOf, options.instances, options.pieces, progress);
  if (!trees) {
    return trees.error();
  }
  return TreeLowering(*trees, options, fabric.gpuCount()).run(progress);
}

}  // namespace coppice::mscclpp
