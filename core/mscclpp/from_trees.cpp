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
        for (const int other : {ends.up, ends.down}) {
          if (other >= 0) {
            openChannel(static_cast<int>(p), rank, other);
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
          m_groups.try_emplace({group, reads[rank] != 0 ? m_result : Buffer::input}, 0);
          m_groups.try_emplace({std::move(group), m_result}, 0);
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

  void openChannel(int part, int a, int b) {
    const std::array<int, 3> key{part, std::min(a, b), std::max(a, b)};
    if (!m_channelAt.try_emplace(key).second) {
      return;
    }
    const auto open = [&](int rank, int peer) {
      std::vector<int>& peers = isPort(a, b) ? m_plan.gpus[rank].portPeers : m_plan.gpus[rank].memoryPeers;
      peers.push_back(peer);
      return static_cast<int>(peers.size()) - 1;
    };
    const int first = open(key[1], key[2]);
    m_channelAt[key] = {first, open(key[2], key[1])};
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
  int channelTo(OpenBlock& block, int part, int rank, int peer) {
    const auto& both = m_channelAt.at({part, std::min(rank, peer), std::max(rank, peer)});
    return placeIn(isPort(rank, peer) ? block.lists.portChannels : block.lists.memoryChannels,
                   rank < peer ? both.first : both.second);
  }
  Operation withPeer(OpenBlock& block, OpType type, int part, int rank, int peer) {
    return onChannels(type, isPort(rank, peer), {channelTo(block, part, rank, peer)});
  }
  /// One operation for up to 8 peers of the domain.
  template <typename Add>
  void withPeers(OpenBlock& block, OpType type, int part, int rank, const std::vector<int>& peers, const Add& add) {
    for (std::size_t first = 0; first < peers.size(); first += kMaxOpChannels) {
      std::vector<int> channels;
      for (std::size_t i = first; i < std::min(peers.size(), first + kMaxOpChannels); ++i) {
        channels.push_back(channelTo(block, part, rank, peers[i]));
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
  void send(OpenBlock& block, int part, int rank, int peer, const ChunkRun& source, const ChunkRun& destination) {
    if (isPort(rank, peer)) {
      Operation op = withPeer(block, OpType::putWithSignal, part, rank, peer);
      op.sources = {source};
      op.destinations = {destination};
      block.writer.move(std::move(op), {{source, false}}, true);
      return;
    }
    block.writer.move(
        {.type = OpType::put, .channelType = ChannelType::memory, .sources = {source}, .destinations = {destination}},
        {{source, false}});
    block.writer.tell(withPeer(block, OpType::signal, part, rank, peer));
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
        members.emplace_back(part, ends.up == ends.down ? 1 : 2);
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
      const auto all = [&](OpType type, int piece, int TreeEnds::*peer, const auto& add) {
        block.writer.startBundle();
        std::vector<int> channels;
        for (std::size_t i = first; i < end; ++i) {
          const int part = members[i].first;
          if (piece < m_trees.parts[part].pieces) {
            channels.push_back(channelTo(block, part, rank, m_trees.parts[part].ends[rank].*peer));
          }
          if (!channels.empty() && (channels.size() == kMaxOpChannels || i + 1 == end)) {
            add(onChannels(type, false, std::exchange(channels, {})));
          }
        }
      };
      for (int piece = 0; piece < pieces; ++piece) {
        all(OpType::relaxedSignal, piece, &TreeEnds::up, [&](Operation op) { block.writer.relaxed(std::move(op)); });
      }
      for (int piece = 0; piece < pieces; ++piece) {
        all(OpType::wait, piece, &TreeEnds::down, [&](Operation op) { block.writer.hear(std::move(op)); });
      }
      m_blocks.push_back(std::move(block));
      first = end;
    }
  }

  /// One piece is summed up while the one before is on its way: all threadblocks of a part in the same order, so that
  /// none waits for what another does later.
  template <typename Reduce, typename Broadcast>
  void eachPiece(int part, const Reduce& reduce, const Broadcast& broadcast) {
    const int pieces = m_trees.parts[part].pieces;
    for (int piece = 0; piece <= pieces; ++piece) {
      if (piece < pieces) {
        reduce(piece);
      }
      if (piece > 0) {
        broadcast(piece - 1);
      }
    }
  }

  /// Peers of groups that the threadblock has no channels for, by helper.
  struct Helpers {
    std::vector<int> in = {};  ///< of the threadblock itself
    std::vector<int> out = {};
    std::vector<std::pair<int, int>> semaphores = {};  ///< by helper: when its peers are ready, when all is stored
    std::vector<std::vector<int>> peers = {};          ///< by helper
  };

  Result<Helpers> shareOut(int part, int rank) {
    const TreeEnds& ends = m_trees.parts[part].ends[rank];
    std::vector<int> direct = ends.inDirect;
    direct.insert(direct.end(), ends.outDirect.begin(), ends.outDirect.end());
    for (const int other : {ends.up, ends.down}) {
      if (other >= 0) {
        direct.push_back(other);
      }
    }
    std::sort(direct.begin(), direct.end());
    direct.erase(std::unique(direct.begin(), direct.end()), direct.end());
    if (direct.size() > kMaxBlockChannels) {
      return Error{ErrorCode::limit,
                   "rank " + std::to_string(rank) + " has " + std::to_string(direct.size()) +
                       " neighbours in one tree that it reaches without a switch; a threadblock has " +
                       std::to_string(kMaxChannelsOfBlock) + " channels",
                   "use trees with fewer neighbours",
                   {.element = {RefKind::rank, rank}}};
    }
    std::vector<int> bySwitch;
    std::set_union(ends.inBySwitch.begin(), ends.inBySwitch.end(), ends.outBySwitch.begin(), ends.outBySwitch.end(),
                   std::back_inserter(bySwitch));
    Helpers helpers;
    std::size_t room = kMaxBlockChannels - direct.size();
    std::vector<int> later;
    for (const int peer : bySwitch) {
      const bool isOpen = std::binary_search(direct.begin(), direct.end(), peer);
      if (!isOpen && room == 0) {
        later.push_back(peer);
        continue;
      }
      room -= isOpen ? 0 : 1;
      keep(ends.inBySwitch, peer, helpers.in);
      keep(ends.outBySwitch, peer, helpers.out);
    }
    for (std::size_t first = 0; first < later.size(); first += kMaxBlockChannels) {
      helpers.peers.emplace_back(
          later.begin() + static_cast<std::ptrdiff_t>(first),
          later.begin() + static_cast<std::ptrdiff_t>(std::min(later.size(), first + kMaxBlockChannels)));
      helpers.semaphores.emplace_back(m_semaphores, m_semaphores + 1);
      m_semaphores += 2;
    }
    return helpers;
  }
  static void keep(const std::vector<int>& among, int peer, std::vector<int>& into) {
    if (std::binary_search(among.begin(), among.end(), peer)) {
      into.push_back(peer);
    }
  }

  Outcome writePart(int part, int rank) {
    const auto helpers = shareOut(part, rank);
    if (!helpers) {
      return helpers.error();
    }
    OpenBlock block;
    // The scratch that the senders write is free.
    block.writer.startBundle();
    for (const int child : m_trees.parts[part].ends[rank].inDirect) {
      block.writer.relaxed(withPeer(block, OpType::relaxedSignal, part, rank, child));
    }
    eachPiece(
        part,
        [&](int piece) {
          block.writer.startBundle();
          reduce(block, part, piece, rank, *helpers);
        },
        [&](int piece) {
          block.writer.startBundle();
          broadcast(block, part, piece, rank, *helpers);
        });
    m_blocks.push_back(std::move(block));
    for (std::size_t i = 0; i < helpers->peers.size(); ++i) {
      writeHelper(part, rank, helpers->peers[i], helpers->semaphores[i]);
    }
    return Done{};
  }

  void writeHelper(int part, int rank, const std::vector<int>& peers, const std::pair<int, int>& semaphores) {
    const TreeEnds& ends = m_trees.parts[part].ends[rank];
    OpenBlock block;
    std::vector<int> in;
    std::vector<int> out;
    for (const int peer : peers) {
      keep(ends.inBySwitch, peer, in);
      keep(ends.outBySwitch, peer, out);
    }
    eachPiece(
        part,
        [&](int) {
          block.writer.startBundle();
          withPeers(block, OpType::wait, part, rank, in, [&](Operation op) { block.writer.hear(std::move(op)); });
          block.writer.tell({.type = OpType::semRelease, .semaphores = {semaphores.first}});
        },
        [&](int) {
          block.writer.startBundle();
          block.writer.hear({.type = OpType::semAcquire, .semaphores = {semaphores.second}});
          withPeers(block, OpType::signal, part, rank, out, [&](Operation op) { block.writer.tell(std::move(op)); });
        });
    m_blocks.push_back(std::move(block));
  }

  /// The root sums up through the switch that copies the result, to the same ranks.
  static bool isStored(const TreeEnds& ends) {
    return ends.up < 0 && !ends.inBySwitch.empty() && ends.inBySwitch == ends.outBySwitch;
  }

  /// Sums up what the tree brings, and hands it on.
  void reduce(OpenBlock& block, int number, int piece, int rank, const Helpers& helpers) {
    const TreePart& part = m_trees.parts[number];
    const TreeEnds& ends = part.ends[rank];
    BlockWriter& writer = block.writer;
    Buffer sum = Buffer::input;
    const int start = part.start + piece * part.count;
    const ChunkRun result = run(m_result, start, part.count);
    for (const int child : ends.inDirect) {
      writer.hear(withPeer(block, OpType::wait, number, rank, child));
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
      withPeers(block, OpType::wait, number, rank, helpers.in, [&](Operation op) { writer.hear(std::move(op)); });
      for (const auto& [ready, stored] : helpers.semaphores) {
        writer.hear({.type = OpType::semAcquire, .semaphores = {ready}});
      }
      const std::vector<int> group = groupOf(rank, ends.inBySwitch);
      const Buffer from = m_readsResult[number][rank] != 0 ? m_result : Buffer::input;
      writer.move({.type = OpType::multiLoadReduceStore,
                   .channelType = ChannelType::switched,
                   .sources = {ofGroup(block, rank, group, from, result)},
                   .destinations = {ofGroup(block, rank, group, m_result, result)}},
                  {{run(from, start, part.count), false}, {result, true}});
      sum = m_result;
    }
    if (ends.up < 0) {
      return;
    }
    if (ends.upBySwitch) {
      writer.tell(withPeer(block, OpType::signal, number, rank, ends.up));
      return;
    }
    if (piece == 0) {
      writer.hear(withPeer(block, OpType::relaxedWait, number, rank, ends.up));
    }
    send(block, number, rank, ends.up, run(sum, start, part.count),
         ofPeer(block, rank, ends.up, Buffer::scratch, m_landing.at({number, rank}) + piece * part.count, part.count));
  }

  void broadcast(OpenBlock& block, int number, int piece, int rank, const Helpers& helpers) {
    const TreePart& part = m_trees.parts[number];
    const TreeEnds& ends = part.ends[rank];
    BlockWriter& writer = block.writer;
    const ChunkRun result = run(m_result, part.start + piece * part.count, part.count);
    if (ends.down >= 0) {
      writer.hear(withPeer(block, OpType::wait, number, rank, ends.down));
    }
    if (!ends.outBySwitch.empty()) {
      if (!isStored(ends)) {
        writer.move({.type = OpType::multiStore,
                     .channelType = ChannelType::switched,
                     .sources = {result},
                     .destinations = {ofGroup(block, rank, groupOf(rank, ends.outBySwitch), m_result, result)}},
                    {{result, false}, {result, true}});
      }
      withPeers(block, OpType::signal, number, rank, helpers.out, [&](Operation op) { writer.tell(std::move(op)); });
    }
    for (const auto& [ready, stored] : helpers.semaphores) {
      writer.tell({.type = OpType::semRelease, .semaphores = {stored}});
    }
    for (const int child : ends.outDirect) {
      send(block, number, rank, child, result, ofPeer(block, rank, child, m_result, result.index, result.size));
    }
    if (piece + 1 < part.pieces) {
      return;
    }
    // What a port has to send is read in the sender's buffer: it stays until the receiver has all.
    if (ends.down >= 0 && !ends.downBySwitch && isPort(rank, ends.down)) {
      writer.tell(withPeer(block, OpType::signal, number, rank, ends.down));
    }
    for (const int child : ends.outDirect) {
      if (isPort(rank, child)) {
        writer.hear(withPeer(block, OpType::wait, number, rank, child));
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
  std::map<std::array<int, 3>, std::pair<int, int>> m_channelAt;  ///< by part, lower and higher rank: their channels
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
