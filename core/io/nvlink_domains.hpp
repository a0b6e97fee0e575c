// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

/// Which GPUs share an NVLink domain, as nvidia-smi tells it of each GPU that a fabric manager registers.
namespace coppice::io {

/// What a GPU says of its NVLink fabric; empty texts where the output has no such field.
struct GpuDomain {
  std::string state = {};    ///< "Completed", "In Progress", "Not Started", "N/A"
  std::string status = {};   ///< "Success", or why it is not
  std::string cluster = {};  ///< UUID in lower case; empty where it is all zeros: the domain is of one host
  std::string clique = {};   ///< GPUs of one cluster and clique reach each other over NVLink
  std::string health = {};   ///< "Full", "Degraded": the bandwidth of its links

  /// The GPU has a fabric that it has not joined: it has no NVLink until it does.
  [[nodiscard]] bool isOutside() const;
};

struct HostDomains {
  std::string host;               ///< as a launcher wrote it before each line; empty where none did
  std::map<int, GpuDomain> gpus;  ///< by the number that nvidia-smi gives the GPU
  /// Pairs without access to each other's memory, the lesser number first, and why ("CNS"); of topo -p2p.
  std::map<std::pair<int, int>, std::string> apart = {};
  bool hasPeers = false;  ///< the text has a table of topo -p2p
};

struct NvlinkDomains {
  std::string file = {};           ///< where they are from
  std::vector<HostDomains> hosts;  ///< in order of appearance; at least one, and each has a GPU or a table of -p2p
};

[[nodiscard]] bool looksLikeNvlinkDomains(std::string_view text);
/// The text has a table of `nvidia-smi topo -p2p`, which is read by readNvlinkDomains().
[[nodiscard]] bool looksLikePeerAccess(std::string_view text);
/// The lines of a terminal with those of such tables blank, so that a matrix before or after them is read alone.
[[nodiscard]] std::string withoutPeerAccess(std::string_view lines);

/// Reads the section Fabric of `nvidia-smi -q`, the element <fabric> of `nvidia-smi -q -x`, or the table of
/// `nvidia-smi --query-gpu=index,fabric.state,fabric.status,fabric.clusterUuid,fabric.cliqueId --format=csv`, of one
/// host, or of several whose lines begin with the host's name and a colon (pdsh, clush, srun). GPUs without an index
/// are numbered in the order of the text. Tables of `nvidia-smi topo -p2p` say which pairs have no access to each
/// other. Limit: 64 MiB. Errors: badInput, limit.
Result<NvlinkDomains> readNvlinkDomains(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
