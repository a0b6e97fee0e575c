// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/units.hpp"
#include "forestcoll/network.hpp"
#include "schedule/forest.hpp"

/// Divide and conquer on the network itself, switches included, before any switch is split.
///
/// A set Q of nodes is TIGHT when in(Q) + r(Q) = K: every tree that starts outside enters it exactly once. Where all
/// arcs into and out of Q end at GPUs of Q, the problem falls apart exactly:
///  * outside: Q contracted to one GPU with supply r(Q);
///  * inside:  the network induced on Q, with supply r(h) + a(h), a(h) being the capacity that enters Q at h.
/// Both are feasible iff the whole is: cuts of the outside are cuts of the whole, and a set S inside Q has
/// in_Q(S) + r(S) + a(S) = in(S) + r(S). Switches stay balanced on both sides. Any inside tree rooted at the entry may
/// continue an outside tree there, since it spans Q and so reaches every GPU from which the outside tree continues.
///
/// Where arcs across the border end at a switch w of Q (a leaf switch, a router), they are first moved to GPU
/// endpoints: splitting off pairs (v, w), (w, z) moves the capacity of w -> z to an arc v -> z with a route through w,
/// v being nearer to the GPUs than w. Splitting keeps the balance of every node and the tightness of Q; whether it
/// keeps all other cuts is checked by one pass of the feasibility oracle over the whole network.
namespace coppice::forestcoll {

/// How one part is solved: a forest of the part's own network. Ranks and route nodes of the result are those of the
/// network given; the full capacities are those before trimming.
using SolvePart = std::function<schedule::Forest(const Network& network, const std::vector<TreeArc>& capacities,
                                                 const std::vector<TreeArc>& fullCapacities,
                                                 const std::vector<std::int64_t>& supply)>;

/// A forest made of trees over the parts of a network and of trees of the parts hung into them, in three steps:
/// split(), grow(), write(). Trees are written edge by edge in the last one alone, which takes more memory than all
/// before.
class PartForest {
public:
  /// Nothing where no useful family of tight sets with borders at GPUs is found.
  /// @param capacities trees per arc of the network, feasible and balanced at switches
  /// @param fullCapacities the same before trimming
  /// @pre the network and the supply outlive the result. Throws Failure, OverflowError, CancelledError.
  [[nodiscard]] static std::optional<PartForest> split(const Network& network, const std::vector<TreeArc>& capacities,
                                                       const std::vector<TreeArc>& fullCapacities,
                                                       const std::vector<std::int64_t>& supply,
                                                       const Progress& progress);
  ~PartForest();
  PartForest(PartForest&&) noexcept;
  PartForest& operator=(PartForest&&) noexcept;

  /// The trees over the parts are stars. Others are higher, and finding them can cost much more than all the rest.
  [[nodiscard]] bool hasStars() const;
  /// Grows the trees of all. Afterwards the other functions may be called.
  /// @param solve called for every distinct part, on several threads at once
  /// Throws Failure, OverflowError, CancelledError.
  void grow(const SolvePart& solve, const Progress& progress);

  [[nodiscard]] int maxHeight() const;
  /// Different ones.
  [[nodiscard]] std::size_t treeCount() const;
  /// Edges in breadth-first order, equal routes shared and numbered in the order of their first use.
  /// Throws Failure (limit: about more than maxBytes), OverflowError, CancelledError.
  [[nodiscard]] schedule::Forest write(const InverseBandwidth& scale, std::int64_t maxBytes,
                                       const Progress& progress) const;

private:
  class Work;
  class Writer;

  explicit PartForest(std::unique_ptr<Work> work);

  std::unique_ptr<Work> m_work;
};

}  // namespace coppice::forestcoll
