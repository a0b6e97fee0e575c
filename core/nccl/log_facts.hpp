// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl/run.hpp"

/// What single lines of a log say, before they are joined across ranks.
namespace coppice::nccl {

/// "comm 0x55d0 rank 1 nranks 16 cudaDev 1 nvmlDev 1 busId 1b000 commId 0x9ad1 - Init START"
struct RankLine {
  std::string_view comm;
  int rank = 0;
  int ranks = 0;
  int nodes = 0;  ///< 0 = not said
  int device = -1;
  int nvmlDevice = -1;
  std::string_view busId = {};
  std::string_view commId = {};
  std::string_view parent = {};
  std::string_view color = {};
  std::string_view splitCount = {};
  bool isComplete = false;
  bool isLayout = false;  ///< a line between the start and the end, where the start may be lost
};
/// "... comm 0x55d0 rank 0 nranks 8 cudaDev 0 ... - Init START", and since 2.20
/// "comm 0x55d0 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0".
[[nodiscard]] std::optional<RankLine> readRankLine(std::string_view text);

/// "Channel 00/08 :    0   1   2 ..."
struct RingLine {
  int channel = 0;
  int channels = 0;
  std::vector<int> ranks;
  bool isCut = false;  ///< ends with "..."
};
[[nodiscard]] std::optional<RingLine> readRingLine(std::string_view text);

/// "Ring 00 : 7 -> 0 -> 1"
struct HopLine {
  int channel = 0;
  int previous = -1;
  int rank = 0;
  int next = -1;
};
[[nodiscard]] std::optional<HopLine> readHopLine(std::string_view text);

struct TreeEntry {
  int channel = 0;
  int parent = -1;
  int rank = 0;
  int children[3] = {-1, -1, -1};
  bool isDoubtful = false;  ///< the line ends with the parent, and may be cut
};
/// "Trees [0] 1/8/-1->0->-1 [1] ...". The last entry may be cut.
[[nodiscard]] std::vector<TreeEntry> readTreesLine(std::string_view text);
/// "Tree 0 : -1 -> 0 -> 1/15/-1"
[[nodiscard]] std::optional<TreeEntry> readTreeLine(std::string_view text);

/// "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3(6)/GDRDMA"
struct EdgeLine {
  int channel = 0;
  int connection = 0;
  int from = 0;
  int to = 0;
  bool isReceive = false;
  std::string_view via = {};
  int net = -1;  ///< NIC number
};
[[nodiscard]] std::optional<EdgeLine> readEdgeLine(std::string_view text);

/// "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}". The whole size where ranks is given.
[[nodiscard]] std::optional<Choice> readChoiceLine(std::string_view text);
/// "Pattern 4, crossNic 0, nChannels 12, bw 30.000000/30.000000, type NVL/PIX, sameChannels 1"
[[nodiscard]] std::optional<SearchLine> readSearchLine(std::string_view text);
/// "NVLS Head  0:  0  8"
[[nodiscard]] std::optional<NvlsHeads> readNvlsLine(std::string_view text);

/// "CollNet 00/0 : 3 [send] via COLLNET/SHARP/0": the rank.
[[nodiscard]] std::optional<int> readCollnetHead(std::string_view text);
/// "Connected Collnet Chains  [0] 1->0->17 [1] ...": the parent may be above all ranks, which is the network.
[[nodiscard]] std::vector<TreeEntry> readCollnetChains(std::string_view text);

/// A block of the table of estimates: its columns, then its rows.
class EstimateTable {
public:
  void take(std::string_view text, std::vector<Estimate>& estimates);

private:
  std::vector<std::string> m_algorithms;
};

/// One of kAlgorithms for a name in any spelling or a number; as it is otherwise.
[[nodiscard]] std::string algorithmName(std::string_view word);
[[nodiscard]] std::string protocolName(std::string_view word);
/// "allreduce" for "AllReduce"; as it is otherwise.
[[nodiscard]] std::string collectiveName(std::string_view word);

/// The value behind " key " in a line of words; empty = none.
[[nodiscard]] std::string_view wordAfter(std::string_view text, std::string_view key);

}  // namespace coppice::nccl
