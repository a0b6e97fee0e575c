// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// The fabric as a person or a file states it. A Description may be wrong in any way (duplicate ids, dangling ends,
/// unreadable bandwidths) and still loses nothing on a load and save; validate() says what is wrong, and
/// Fabric::build() turns a right one into the immutable, indexed form that the algorithms use.
namespace coppice::fabric {

enum class NodeKind {
  gpu,        ///< compute node: holds a rank
  nic,        ///< relays, like a switch
  switchNode  ///< relays; multicasts or aggregates only if marked capable
};

/// "gpu", "nic", "switch".
[[nodiscard]] std::string_view toString(NodeKind kind);
[[nodiscard]] std::optional<NodeKind> parseNodeKind(std::string_view text);

/// Place on the canvas, in scene units. Never a fact: it changes neither digest nor any bound.
struct Position {
  double x = 0;
  double y = 0;
  std::string extra = {};  ///< JSON object text of keys this version does not know; empty = none

  friend bool operator==(const Position&, const Position&) = default;
};

struct NodeDescription {
  std::string id;
  std::string kind = "gpu";      ///< as written; parseNodeKind reads it
  std::string box = {};          ///< name of the enclosing box; "outer/inner" nests; empty = none
  std::optional<int> rank = {};  ///< gpu only; all or none of a fabric's GPUs have one
  std::optional<Position> position = {};
  bool multicast = false;    ///< can send one incoming stream to several ports
  bool aggregation = false;  ///< can reduce several incoming streams into one
  std::string extra = {};    ///< JSON object text of keys this version does not know; empty = none

  friend bool operator==(const NodeDescription&, const NodeDescription&) = default;
};

struct LinkDescription {
  std::string src;
  std::string dst;
  std::string bandwidth;  ///< per direction and per parallel link, as written: "25", "12.5", "25/2", "400Gb/s"
  bool duplex = true;     ///< true: the bandwidth holds in each direction; false: src to dst only
  int count = 1;          ///< parallel links of this bandwidth
  std::optional<std::string> latency = {};  ///< microseconds, as written
  std::string extra = {};

  friend bool operator==(const LinkDescription&, const LinkDescription&) = default;
};

struct Description {
  std::string name;
  std::vector<NodeDescription> nodes;
  std::vector<LinkDescription> links;
  std::string extra = {};  ///< unknown top-level keys

  friend bool operator==(const Description&, const Description&) = default;
};

/// Everything that is wrong or noteworthy, all at once. Errors make Fabric::build fail; an unbalanced node is a
/// warning, because some unbalanced fabrics can be solved exactly (forestcoll decides).
/// Place::element is the node or link, with its index here; the field "nodes" where it is the fabric as a whole.
[[nodiscard]] std::vector<Finding> validate(const Description& description);

}  // namespace coppice::fabric
