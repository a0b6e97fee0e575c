// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "fabric/edited_fabric.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/forest.hpp"

/// The cut bound of a collective, from nothing in milliseconds, and what is asked of it: shadow prices (prices.hpp) and
/// single failures (failures.hpp).
namespace coppice::live {

/// The bound of a fabric.
struct Answer {
  /// The cut bound in GB/s: no schedule is faster. 0 when some GPU cannot be reached (see `finding`).
  Bandwidth algbw;
  /// 1/x*, as forestcoll::Optimum states it; absent when algbw is 0.
  std::optional<InverseBandwidth> inverseRate = {};
  int gpuCount = 0;
  /// Of an allreduce: algbw is what no trees can beat, with all that switches can do. Otherwise an allreduce is a
  /// reduce-scatter and then an allgather.
  bool isForTrees = false;
  /// A cut that proves the bound (where isForTrees, that of the slower half of a reduce-scatter and an allgather). Its
  /// exit is 0 when algbw is 0, and it is empty when there is nothing to send.
  schedule::Cut cut = {};
  /// The cut counts what enters it: reduce_scatter, reduce, scatter, and an allreduce whose slower half is the
  /// reduction.
  bool isReduction = false;
  /// Ingress equals egress at every switch and nic. If not, forestcoll::optimum, whose switches never copy, may be
  /// lower than this cut bound; if so, both agree. They always agree for gather and scatter, where nothing is copied.
  bool isBalanced = true;
  /// Why the bound is 0: the place and a fix.
  std::optional<Finding> finding = {};
};

struct BoundState;

/// The bound of one fabric with what further questions need. Immutable: copies are cheap and may be used by any
/// threads. Nodes are numbered as in fabric::Fabric and fabric::EditedFabric::Indexed.
class CutBound {
public:
  /// Any collective but alltoall and custom. fixedK and maxK of the request are ignored: this is the bound over all k.
  /// That of an allreduce is the bound of all trees, where its program is solved within allreduceBudget, for each
  /// question again; with a budget of 0 an allreduce is a reduce-scatter followed by an allgather. Errors: badUsage
  /// (root or amounts that do not fit), overflow, cancelled, limit.
  static Result<CutBound> create(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                 const Progress& progress = {});
  /// The same of a fabric that may be unable to work (GPUs cut off, fewer than two of them): then the answer has a
  /// finding. @pre fabric.isSound()
  static Result<CutBound> create(const fabric::EditedFabric& fabric, const forestcoll::Request& request,
                                 const Progress& progress = {});

  [[nodiscard]] const Answer& answer() const;
  /// For the rest of core/live.
  [[nodiscard]] const BoundState& state() const { return *m_state; }

private:
  explicit CutBound(std::shared_ptr<const BoundState> state) : m_state(std::move(state)) {}
  std::shared_ptr<const BoundState> m_state;
};

}  // namespace coppice::live
