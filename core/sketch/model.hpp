// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/rational.hpp"
#include "sketch/sketch.hpp"

/// A sketch on a topology as links and machines with times per message: what all engines, the bounds and the verifier
/// of plans speak about.
namespace coppice::sketch {

/// A logical link between two GPUs. A message of n chunks takes alpha + n * beta.
struct Link {
  int from = 0;
  int to = 0;
  int lane = 0;  ///< of parallel ones
  Rational alpha;
  Rational beta;
  Rational routingCost;  ///< of one chunk in stage 1
  bool isRemote = false;

  friend bool operator==(const Link&, const Link&) = default;
};

/// Something that carries one message at a time.
struct Machine {
  std::string name;
  std::vector<int> links;  ///< ascending
};

struct Model {
  std::string name;
  int nodes = 1;
  int gpusPerNode = 0;
  int chunksPerGpu = 1;
  int maxTogether = 6;
  std::vector<Link> links;        ///< ascending by (from, to, lane)
  std::vector<Machine> machines;  ///< one for each link, then ports
  /// By GPU of a node: the senders that its data may leave by, ascending; empty = any.
  std::vector<std::vector<int>> relays;
  bool ownFirst = false;  ///< a relay's own chunks leave first
  /// By GPU of a node: the NIC that it sends and receives with, which takes one message out and one in at a time, at
  /// its full bandwidth. Empty in the paper's model, where each link has its part of the bandwidth at all times.
  std::vector<int> nics;
  LocalStrategy local = LocalStrategy::none;
  std::string policy;                         ///< of the first switch; empty = free
  std::vector<std::vector<int>> switches;     ///< as listed, within a node
  std::vector<std::pair<int, int>> offsets;   ///< symmetries that the sketch asks for
  std::optional<ExactMicroseconds> timeUnit;  ///< guessed from remote_alpha (see guessScale)

  [[nodiscard]] int gpus() const { return nodes * gpusPerNode; }
  [[nodiscard]] int nodeOf(int gpu) const { return gpu / gpusPerNode; }
  /// The data of `owner` may leave its node by `sender`.
  [[nodiscard]] bool mayRelay(int owner, int sender) const;
};

/// A permutation of the GPUs.
using Permutation = std::vector<int>;

/// One chunk of a collective.
struct Chunk {
  int origin = 0;
  std::vector<int> targets;  ///< ascending, without the origin
};

}  // namespace coppice::sketch
