// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

#include "base/rational.hpp"
#include "designer/document/ids.hpp"
#include "fabric/box_tree.hpp"
#include "fabric/edited_fabric.hpp"
#include "schedule/forest.hpp"

namespace coppice::designer {

/// A link that crosses a cut.
struct Crossing {
  NodeId tail;
  NodeId head;
  Rational bandwidth;  ///< GB/s from tail to head, all parallel links together
};

/// One cut as the designer shows it.
struct CutView {
  std::vector<NodeId> inside;  ///< S, ascending
  int gpusInside = 0;          ///< |S ∩ Vc|
  int gpusOutside = 0;
  std::int64_t demand = 0;
  Rational exitBandwidth;  ///< B+(S), GB/s
  std::vector<Crossing> crossings;
  /// "into b1 · 8 GPUs · 200 GB/s"
  QString words;
  /// The whole sentence: which GPUs must send what over which links.
  QString sentence;
  /// Nouns of the sentence as they stand in it, to be clicked: "24 GPUs" (those inside), "b1 and switch0" (the side
  /// with fewer GPUs), "8 links" (the crossings).
  QString senders;
  QString place;
  QString links;
};

/// Describes cuts of one fabric.
class CutViews {
public:
  /// @param fabric, boxes must outlive this @param isReduction what enters S counts, not what leaves it
  CutViews(const fabric::EditedFabric::Indexed& fabric, const fabric::BoxTree& boxes, bool isReduction);
  /// @param cut nodes are indices into the fabric's nodes
  [[nodiscard]] CutView of(const schedule::Cut& cut) const;

private:
  /// "b0", "b0 and b1", "b0, b1, b2 and 5 more": the GPUs named by their boxes where they fill them, outermost first,
  /// else by themselves; then the switches and NICs that stand in none of these boxes.
  [[nodiscard]] QString sideName(const std::vector<bool>& isIn) const;

  const fabric::EditedFabric::Indexed& m_fabric;
  const fabric::BoxTree& m_boxes;
  bool m_isReduction;
  std::vector<int> m_gpusIn;  ///< by box
};

}  // namespace coppice::designer
