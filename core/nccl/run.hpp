// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.hpp"
#include "base/throughput.hpp"

/// What NCCL or RCCL decided in a run, as its log says it.
namespace coppice::nccl {

/// How NCCL names its algorithms: "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT".
inline constexpr std::string_view kAlgorithms[] = {"Tree",     "Ring", "CollNetDirect", "CollNetChain", "NVLS",
                                                   "NVLSTree", "PAT"};
/// "LL", "LL128", "Simple".
inline constexpr std::string_view kProtocols[] = {"LL", "LL128", "Simple"};

/// Where a rank runs.
struct RankPlace {
  std::string host = {};
  int process = 0;         ///< its id; 0 = not said
  int device = -1;         ///< NVML index; -1 = not said
  std::string busId = {};  ///< as NCCL writes it, "1b000"; empty = not said
};

/// All ranks once, in the order in which data goes round, from rank 0 on.
struct LoggedRing {
  int channel = 0;
  std::vector<int> ranks = {};
};

struct LoggedTree {
  int channel = 0;
  std::vector<int> parents = {};  ///< by rank; -1 at the root
};

/// The GPUs that sum and multicast for the others, one for each channel, in one node.
struct NvlsHeads {
  int channel = 0;
  std::vector<int> ranks = {};
};

/// A connection between two ranks.
struct LoggedEdge {
  int channel = 0;
  int from = 0;
  int to = 0;
  std::string via = {};  ///< "P2P/IPC", "NET/IB/3/GDRDMA"
  int sendNet = -1;      ///< NIC number at the sender; -1 = none or not said
  int receiveNet = -1;   ///< at the receiver
};

/// What NCCL chose for one collective of one size.
struct Choice {
  std::string collective = {};       ///< as base/collective has it; NCCL's name where it has none; empty = not said
  std::int64_t bytes = 0;            ///< of the whole collective
  std::int64_t loggedBytes = 0;      ///< as the log says: one shard of allgather and reduce-scatter, from 2.24 on
  std::string algorithm = {};        ///< one of kAlgorithms, or "Symmetric" with the kernel's name
  std::string protocol = {};         ///< one of kProtocols; empty with "Symmetric"
  std::optional<int> channels = {};  ///< in use; absent = not said
  std::optional<Microseconds> time = {};  ///< that NCCL expects
  int times = 1;                          ///< how often it is in the log
};

/// A graph that NCCL's search found in one node.
struct SearchLine {
  int pattern = 0;  ///< 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 collnet direct
  int crossNic = 0;
  int channels = 0;
  std::string intra = {};  ///< GB/s per channel, as written
  std::string inter = {};
  std::string typeIntra = {};
  std::string typeInter = {};
};

/// One entry of the table of NCCL's own estimates.
struct Estimate {
  std::string collective = {};
  std::string algorithm = {};
  std::string protocol = {};
  Microseconds latency{};
  Throughput algbw = {};
};

/// One communicator, of all its ranks that the logs have.
struct Communicator {
  std::string id = {};  ///< NCCL's commId; empty = not said
  int ranks = 0;
  std::vector<RankPlace> places = {};   ///< by rank
  std::vector<std::string> hosts = {};  ///< that the logs name, in the order of their lowest rank
  int nodes = 0;                        ///< as a line says them; 0 = not said
  int channels = 0;                     ///< 0 = not said
  std::vector<LoggedRing> rings = {};   ///< those that are known, by channel
  std::vector<LoggedTree> trees = {};
  std::vector<NvlsHeads> nvls = {};
  std::vector<int> collnetHeads = {};          ///< ranks that send into the network for CollNet
  std::vector<LoggedTree> collnetChains = {};  ///< -1 at the head of each node
  std::vector<LoggedEdge> edges = {};
  std::vector<Choice> choices = {};
  std::vector<SearchLine> searches = {};
  std::vector<Estimate> estimates = {};
  std::vector<std::string> missing = {};  ///< sentences with the variable to set
  std::vector<std::string> notes = {};

  /// Logs of some ranks alone do not name all hosts.
  [[nodiscard]] int hostCount() const { return std::max(nodes, static_cast<int>(hosts.size())); }
};

struct Run {
  std::string library = {};  ///< "NCCL" or "RCCL"; empty = not said
  std::string version = {};  ///< "2.28.9"; empty = not said
  std::vector<Communicator> communicators = {};
  std::vector<std::string> warnings = {};  ///< NCCL's own, each once
  std::vector<std::string> settings = {};  ///< "NCCL_ALGO=Ring", as "set by environment to" says them
  std::vector<std::string> missing = {};   ///< of all communicators, each once, and of the run as a whole
};

}  // namespace coppice::nccl
