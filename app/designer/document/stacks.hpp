// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "designer/document/model.hpp"

/// Equal boxes that are drawn as one: a large fabric is its network and "DGX A100 × 128".
namespace coppice::designer {

/// Up to this many folded boxes side by side are drawn one by one.
inline constexpr std::size_t kMaxBoxesApart = 32;

/// The boxes in groups of equal ones, by their first box. Equal: they hold the same nodes and links, in the same order,
/// and their links lead to the same nodes outside; so exchanging two of them gives the same fabric.
[[nodiscard]] std::vector<std::vector<BoxId>> equalBoxes(const Model& model, std::span<const BoxId> boxes);

/// The outermost boxes that would be drawn in stacks if they were folded.
[[nodiscard]] std::vector<BoxId> stackableBoxes(const Model& model);

/// Which folded boxes are drawn together: equal siblings, where more than kMaxBoxesApart siblings are folded and at
/// most as many shapes remain. A function of the model as it is; valid until the model changes.
class Stacks {
public:
  Stacks() = default;
  explicit Stacks(const Model& model);

  [[nodiscard]] bool isEmpty() const { return m_stacks.empty(); }
  /// All that are drawn with the box, itself among them, ascending; empty: it is drawn alone, or not at all.
  [[nodiscard]] std::span<const BoxId> with(BoxId box) const;
  /// The element whose shape stands for it: the first box of its stack, or the element itself.
  [[nodiscard]] ElementId shapeOf(const ElementId& id) const;

private:
  void collect(const Model& model, BoxId parent);

  std::vector<std::vector<BoxId>> m_stacks;
  std::unordered_map<BoxId, std::size_t> m_stackOf;
};

/// "8 GPUs"; "3 nodes" where none is a GPU.
[[nodiscard]] QString countedNodes(const Model& model, std::span<const NodeId> nodes);

/// What equal boxes are called together: their type, the machine that the fabric is named after ("128x DGX A100"), or
/// the first and the last of them.
[[nodiscard]] QString stackTitle(const Model& model, std::span<const BoxId> boxes);

/// GB/s that leave the box, all links together; absent where one cannot be read, or the sum leaves the exact range.
[[nodiscard]] std::optional<Bandwidth> bandwidthOut(const Model& model, BoxId box);

}  // namespace coppice::designer
