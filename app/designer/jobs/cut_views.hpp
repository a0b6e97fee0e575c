// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "designer/document/ids.hpp"
#include "fabric/box_tree.hpp"
#include "fabric/edited_fabric.hpp"
#include "schedule/exchange.hpp"
#include "schedule/forest.hpp"

namespace coppice::designer {

/// A link that crosses a cut.
struct Crossing {
  NodeId tail;
  NodeId head;
  Bandwidth bandwidth;  ///< from tail to head, all parallel links together
};

/// What limits a collective, as the designer shows it: a cut, or for an all-to-all, and an allreduce whose halves share
/// the links, the links of its proof.
struct CutView {
  std::vector<NodeId> inside;  ///< S, ascending; empty where it is no cut
  int gpusInside = 0;          ///< |S ∩ Vc|
  int gpusOutside = 0;
  std::int64_t demand = 0;  ///< all-to-all: the sum of the distances, 0 where it leaves the exact range
  Bandwidth exitBandwidth;  ///< B+(S), GB/s; all-to-all: the sum of bandwidth times length
  std::vector<Crossing> crossings;
  /// "into b1 · 8 GPUs · 200 GB/s"
  QString words;
  /// The whole sentence: which GPUs must send what over which links.
  QString sentence;
  /// Nouns of the sentence as they are in it, to be clicked: "24 GPUs" (those inside), "b1 and switch0" (the side
  /// with fewer GPUs), "8 links" (the crossings).
  QString senders;
  QString place;
  QString links;
  /// All-to-all: the parts of the drawing between which the crossings run, each with its GPUs; empty where there are
  /// many, or one alone.
  std::vector<std::vector<NodeId>> areas;
};

/// What crosses a cut S.
enum class CutTraffic {
  shardsOut,  ///< shards that must leave S
  shardsIn,   ///< shards that must enter S, for a scatter
  sumsIn,     ///< sums that must enter S, for reductions
};

/// Describes cuts of one fabric.
class CutViews {
public:
  /// @param fabric, boxes must outlive this
  CutViews(const fabric::EditedFabric::Indexed& fabric, const fabric::BoxTree& boxes, CutTraffic traffic);
  /// @param cut nodes are indices into the fabric's nodes
  [[nodiscard]] CutView of(const schedule::Cut& cut) const;

private:
  /// "b0", "b0 and b1", "b0, b1, b2 and 5 more": the GPUs named by their boxes where they fill them, outermost first,
  /// else by themselves; then the switches and NICs that are in none of these boxes.
  [[nodiscard]] QString sideName(const std::vector<bool>& isIn) const;

  const fabric::EditedFabric::Indexed& m_fabric;
  const fabric::BoxTree& m_boxes;
  CutTraffic m_traffic;
  std::vector<int> m_gpusIn;  ///< by box
};

/// The proof of an all-to-all's bound: links of a positive length, which all routes must share.
/// @param arcs as the lengths are numbered @param bound GB/s per ordered pair of GPUs
[[nodiscard]] CutView exchangeView(const fabric::EditedFabric::Indexed& fabric, std::span<const fabric::Arc> arcs,
                                   const schedule::ExchangeLengths& lengths, const Bandwidth& bound);

/// The proof of a bound by trees: links of a positive price, all of which such an allreduce must fill.
/// @param prices by arc
[[nodiscard]] CutView pricedLinksView(const fabric::EditedFabric::Indexed& fabric, std::span<const fabric::Arc> arcs,
                                      const std::vector<Rational>& prices);

}  // namespace coppice::designer
