// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/edited_fabric.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/forest.hpp"

/// The cut bound of a collective on a fabric that is being edited: after each edit the new exact bound and bottleneck
/// cut from the state of the last one. Shadow prices (prices.hpp) and the N-1 sweep (failures.hpp) are built on it.
namespace coppice::live {

/// A node of the edited fabric: its index in the fabric that LiveBound was made of; added nodes follow. An id keeps its
/// number forever, also when the node is removed and added again.
using NodeId = int;

/// The whole bandwidth from one node to another, parallel links added up; 0 takes it away.
struct SetArc {
  std::string src;
  std::string dst;
  Bandwidth bandwidth;
};
/// The same in both directions.
struct SetLink {
  std::string a;
  std::string b;
  Bandwidth bandwidth;
};
/// Raises (or, below zero, lowers) the whole bandwidth between two nodes; it may not fall below 0.
struct ChangeBandwidth {
  std::string src;
  std::string dst;
  Bandwidth change;
  bool duplex = true;
};
struct AddNode {
  std::string id;
  fabric::NodeKind kind = fabric::NodeKind::gpu;
  std::string box = {};
  /// A GPU's data relative to the others'; ignored for broadcast and reduce.
  std::int64_t amount = 1;
};
/// The node with all its links.
struct RemoveNode {
  std::string id;
};
/// All nodes of the box and of the boxes inside it ("outer" has "outer/inner"), with their links. Adding a box is a
/// list of AddNode and SetLink.
struct RemoveBox {
  std::string box;
};
/// Another id and box for a node. Two nodes may exchange their ids. @pre ids are distinct after all edits of the list
struct ChangeNode {
  NodeId node = 0;
  std::string id;
  std::string box;
};
using Edit = std::variant<SetArc, SetLink, ChangeBandwidth, AddNode, RemoveNode, RemoveBox, ChangeNode>;

/// The bound of the fabric as it stands.
struct Answer {
  /// The cut bound in GB/s: no schedule is faster. 0 when some GPU cannot be reached (see `finding`).
  Bandwidth algbw;
  /// 1/x*, as forestcoll::Optimum states it; absent when algbw is 0.
  std::optional<InverseBandwidth> inverseRate = {};
  int gpuCount = 0;
  /// A cut that proves the bound; nodes are NodeIds, ascending. Which of several tied cuts may depend on the edits
  /// before. Its exit is 0 when algbw is 0, and it is empty when there is nothing to send.
  schedule::Cut cut = {};
  /// The cut counts what enters it: reduce_scatter, reduce, scatter, and an allreduce whose slower half is the
  /// reduction.
  bool isReduction = false;
  /// Ingress equals egress at every switch and nic. If not, forestcoll::optimum, whose switches never copy, may be
  /// lower than this cut bound; if so, both agree. They always agree for gather and scatter, where nothing is copied.
  bool isBalanced = true;
  /// Why the bound is 0: the place and a fix.
  std::optional<Finding> finding = {};
  /// Sinks that had to be looked at again for this answer; the rest stood by what was known.
  int solvedAgain = 0;
};

/// One link between two nodes as it stands: bandwidths per direction, 0 where there is none.
struct LiveLink {
  NodeId a = 0;
  NodeId b = 0;
  Bandwidth forward;   ///< a to b
  Bandwidth backward;  ///< b to a
};

struct LiveState;

/// Not thread-safe; copies are independent, so that a copy can answer on another thread.
class LiveBound {
public:
  /// Any collective but alltoall and custom.
  /// fixedK, maxK and allreduceBudget of the request are ignored: this is the bound over all k, and allreduce is
  /// reduce-scatter followed by allgather. Errors: badUsage (root or amounts that do not fit), overflow, cancelled,
  /// limit.
  static Result<LiveBound> create(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                  const Progress& progress = {});
  /// Also of a description whose GPUs cannot all reach each other; ranks as Fabric::build gives them. Besides: the
  /// first error of fabric::validate in nodes or links.
  static Result<LiveBound> create(const fabric::Description& description, const forestcoll::Request& request,
                                  const Progress& progress = {});
  /// Of a sound edited fabric. Does not solve yet: bound() does.
  static Result<LiveBound> create(const fabric::EditedFabric& fabric, const forestcoll::Request& request);
  ~LiveBound();
  LiveBound(LiveBound&& other) noexcept;
  LiveBound& operator=(LiveBound&& other) noexcept;
  LiveBound(const LiveBound& other);
  LiveBound& operator=(const LiveBound& other);

  /// The bound as it stands; computes what a cancelled call left open.
  Result<Answer> bound(const Progress& progress = {});
  /// All edits at once, or none when one is wrong: badUsage names the edit's node; overflow. After `cancelled` the
  /// edits are in and only the answer is missing: the next call continues from there. Fabrics that cannot work (GPUs
  /// cut off, fewer than two of them) are answers with a finding, not errors.
  Result<Answer> apply(std::span<const Edit> edits, const Progress& progress = {});
  /// Takes back the last apply, which need not be answered; badUsage when there is none.
  Result<Answer> undo(const Progress& progress = {});
  [[nodiscard]] bool canUndo() const;
  /// The bound after the edits, which are not kept. Errors as apply.
  Result<Answer> probe(std::span<const Edit> edits, const Progress& progress = {});

  [[nodiscard]] std::optional<NodeId> find(std::string_view id) const;
  /// @pre 0 <= node < nodeLimit()
  [[nodiscard]] const std::string& id(NodeId node) const;
  [[nodiscard]] fabric::NodeKind kind(NodeId node) const;
  [[nodiscard]] const std::string& box(NodeId node) const;
  /// False for a removed node.
  [[nodiscard]] bool isAlive(NodeId node) const;
  /// One above the largest NodeId.
  [[nodiscard]] NodeId nodeLimit() const;
  [[nodiscard]] Bandwidth bandwidth(NodeId src, NodeId dst) const;
  /// Sorted by (a, b), a < b.
  [[nodiscard]] std::vector<LiveLink> links() const;

  /// For the rest of core/live.
  [[nodiscard]] LiveState& state() { return *m_state; }

private:
  explicit LiveBound(std::unique_ptr<LiveState> state);
  std::unique_ptr<LiveState> m_state;
};

}  // namespace coppice::live
