// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"
#include "verify/arc_index.hpp"

/// Rotations of a forest and the images under them, computed here from the data alone.
///
/// A forest with rotations s_1 .. s_n of counts d_1 .. d_n consists of the images of its written trees under
/// s = s_n^(e_n) ... s_1^(e_1), 0 <= e_i < d_i. Where every rotation is a symmetry of the fabric, the written trees
/// show the faults of all:
///  * Trees. A symmetry maps GPUs onto GPUs one to one, relays onto relays and links onto links. So an image reaches
///    each GPU once, from one that was reached before, over links that exist, if and only if the tree itself does.
///  * Roots. Each rank r has exactly one list of e_i (its digits in the number system of the steps) whose s takes rank
///  0
///    to r. So root r has the images of all written trees, each once, with their multiplicities.
///  * Loads. An image puts on link s(a) what the tree puts on link a. The images under the powers of s_1 alone put on
///    link a the sum of load(s_1^(-e) a) over e. Let the cycle of a have L links. L divides d_1, so e runs d_1 / L
///    times through the cycle, and the sum is d_1 / L times the load of the whole cycle. The same holds for s_2 and the
///    loads so found, and so on.
namespace coppice::verify {

/// What keeps the rotations from giving each rank its images, in words: steps and counts are no number system for the
/// ranks, or a rotation does not map the nodes one to one, and all of them back after `count` times.
[[nodiscard]] std::optional<std::string> rotationFault(std::span<const schedule::Rotation> rotations,
                                                       const fabric::Fabric& fabric);

/// The rank that the product of the rotations that takes rank 0 to `root` takes `rank` to. @pre rotationFault finds
/// nothing
[[nodiscard]] fabric::Rank imageOfRank(std::span<const schedule::Rotation> rotations, fabric::Rank rank,
                                       fabric::Rank root);

/// Where all nodes go under the product that takes rank 0 to each rank, rank by rank. @pre rotationFault finds nothing
class NodeImages {
public:
  NodeImages(std::span<const schedule::Rotation> rotations, int nodeCount);

  /// By node. First as they are, that is for rank 0.
  [[nodiscard]] const std::vector<fabric::NodeIndex>& current() const { return m_products.front(); }
  void next();

private:
  std::span<const schedule::Rotation> m_rotations;
  std::vector<int> m_exponents;
  std::vector<std::vector<fabric::NodeIndex>> m_products;  ///< [i]: of the rotations from i on
};

/// Where a symmetry takes each arc, or what keeps the rotation from being one.
struct ArcImages {
  std::vector<std::int32_t> imageOf;  ///< by arc
  std::optional<std::string> fault;
};
/// Checks kinds, ranks and the bandwidth of each link; also what switches can do with data in the network, where
/// `withSwitches`. @pre rotationFault finds nothing
[[nodiscard]] ArcImages arcImages(const fabric::Fabric& fabric, const ArcIndex& index,
                                  const schedule::Rotation& rotation, bool withSwitches);

/// Adds up by arc what all images put on the links, from what the written trees put there.
void addImages(const schedule::Rotation& rotation, const ArcImages& images, std::vector<Int128>& loadOfArc);

}  // namespace coppice::verify
