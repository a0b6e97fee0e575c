// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rational.hpp"

/// Communication sketches and topologies as TACCL's files hold them (Shah et al., NSDI 2023, sections 3 and 4 and
/// appendix A). GPUs of a sketch are counted within one node; a node is a box of equal GPUs.
namespace coppice::sketch {

/// Members that this version does not know, kept for writing: key and JSON text.
using UnknownMembers = std::vector<std::pair<std::string, std::string>>;

enum class LocalStrategy {
  none,         ///< every link of the node is used as it is
  switchPorts,  ///< GPUs of a list share a switch: each sends and receives one chunk at a time
  minmax,       ///< stage 1 minimizes the largest load of a link
  maxmin        ///< stage 1 maximizes the minimum load of a link
};

/// "none", "switch", "minmax", "maxmin".
[[nodiscard]] std::string_view toString(LocalStrategy strategy);

enum class Connections {
  listed,          ///< sender -> receivers
  fullyConnected,  ///< every GPU to every GPU of another node
  directMap        ///< every GPU to the one of its number
};

/// How data goes from any node to any other.
struct RemoteSketch {
  Connections connections = Connections::listed;
  std::map<int, std::vector<int>> receivers;        ///< by sender; listed only
  std::map<int, std::vector<int>> relayedBy;        ///< by sender: the GPUs whose data it sends; empty = any may
  std::optional<std::pair<int, int>> chunkToRelay;  ///< (r1, r2): GPU p sends through p / r1 * r1 + r2
  std::map<int, Rational> betaSplit;                ///< by sender: its links have 1/n of the bandwidth
  bool enforceOrdering = false;                     ///< a relay's own chunks leave first on its links
  bool sharesNics = false;                          ///< "coppice_share": "nic"; links share whole NICs
  UnknownMembers unknown;

  friend bool operator==(const RemoteSketch&, const RemoteSketch&) = default;
};

struct Sketch {
  std::optional<int> nodes;
  LocalStrategy local = LocalStrategy::none;
  std::vector<std::vector<int>> switches;
  std::vector<std::string> policies;  ///< by switch: "uc-min", "uc-max"; anything else is free
  std::optional<RemoteSketch> remote;
  std::vector<std::pair<int, int>> symmetryOffsets;  ///< (offset, group size)
  int chunksPerGpu = 1;                              ///< "input_chunkup"
  std::optional<std::string> inputSize;              ///< as written; topology files are made for one size already
  UnknownMembers unknown;
  UnknownMembers unknownLocal;
  UnknownMembers unknownParameters;

  friend bool operator==(const Sketch&, const Sketch&) = default;
};

/// Which links a node has.
enum class MachineType {
  ndv2,   ///< Azure NDv2: 8 GPUs, double and single NVLinks, 1 NIC
  dgx2,   ///< all pairs, 8 NICs
  hub,    ///< all pairs
  custom  ///< as the file's matrices say
};

/// "ndv2", "dgx2", "hub", "custom".
[[nodiscard]] std::string_view toString(MachineType type);
[[nodiscard]] std::optional<MachineType> parseMachineType(std::string_view text);

template <typename T>
using Matrix = std::vector<std::vector<T>>;

/// Costs of one chunk in a time unit that the file does not name.
struct Topology {
  std::string name;
  int gpusPerNode = 0;
  std::optional<int> nicsPerNode;
  Rational alpha;               ///< of a link within a node
  std::vector<Rational> betas;  ///< by class of links within a node
  std::vector<Rational> costs;  ///< "node_invbws_list": alpha + beta by class
  Matrix<int> links;            ///< custom: [to][from]
  Matrix<Rational> linkBetas;   ///< custom
  Matrix<Rational> linkCosts;   ///< custom: "invbws"
  std::optional<Rational> remoteAlpha;
  std::optional<Rational> remoteBeta;
  std::optional<Rational> remoteCost;  ///< "remote_invbw": alpha + beta
  UnknownMembers unknown;

  [[nodiscard]] bool isCustom() const { return !links.empty(); }
  friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace coppice::sketch
