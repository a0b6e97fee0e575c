// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"
#include "schedule/forest.hpp"

/// Rotations of fabrics whose GPUs are all alike, and the images of trees under them (Forest::rotations).
namespace coppice::schedule {

/// The rank that the rotation, applied `times` times, takes the rank to.
[[nodiscard]] inline fabric::Rank rotated(fabric::Rank rank, const Rotation& rotation, int times = 1) {
  const int place = rank / rotation.step % rotation.count;
  const int next = static_cast<int>((std::int64_t{place} + times) % rotation.count);
  return rank + (next - place) * rotation.step;
}

/// What keeps the steps and counts from being a number system for the ranks, in words; nothing where they are one.
[[nodiscard]] std::optional<std::string> rankFault(std::span<const Rotation> rotations, int gpuCount);

/// What keeps the rotations of a forest from giving each rank its trees, in words; nothing where they do: steps and
/// counts are a number system, each rotation maps the fabric's nodes one to one and all of them back after `count`
/// times, and all written trees are rooted at rank 0. Whether the rotations are symmetries is for the verifier.
[[nodiscard]] std::optional<std::string> rotationFault(const Forest& forest, int nodeCount);

/// The rotation of the fabric with that step and count, or nothing where the fabric does not look the same after it.
/// GPUs follow from their ranks. Each other node goes where its neighbors that are nearer to the GPUs go, with links of
/// the same bandwidth; nodes with the same neighbors keep their order. Depends on the facts that the fabric's digest
/// covers alone.
[[nodiscard]] std::optional<Rotation> rotationOf(const fabric::Fabric& fabric, int step, int count);

/// Rotations that together take rank 0 to every rank, each exactly once; none where none are found. At every step the
/// largest count that works is taken. Near linear in nodes and links for each count that is tried.
[[nodiscard]] std::vector<Rotation> rotationsOf(const fabric::Fabric& fabric);

/// What keeps a rotation from being a symmetry of the fabric, in words. Checks all of it, independent of its source:
/// kinds, ranks and the bandwidth of each link. @pre the rotation maps the fabric's nodes one to one
[[nodiscard]] std::optional<std::string> symmetryFault(const fabric::Fabric& fabric, const Rotation& rotation);

/// By arc of the fabric where a rotation takes it. @pre symmetryFault finds nothing
[[nodiscard]] std::vector<std::int32_t> rotatedArcs(const fabric::Fabric& fabric, const Rotation& rotation);

/// The links keep the latencies that the fabric states for them.
[[nodiscard]] bool keepsLatencies(const fabric::Fabric& fabric, std::span<const Rotation> rotations);

/// Adds up what all images of some trees put on the links, from what these trees put there.
///
/// With rotations s_1 .. s_n of counts d_1 .. d_n, the images are those under s_n^(e_n) ... s_1^(e_1), 0 <= e_i < d_i.
/// The images under the powers of s_1 alone put on link a the sum of load(s_1^(-e) a) over e. Let the cycle of a have L
/// links. L divides d_1, so e runs d_1 / L times through the cycle, and the sum is d_1 / L times the load of the whole
/// cycle. The same holds for s_2 and the loads so found, and so on.
/// @pre symmetryFault finds nothing, and the cycles of each rotation divide its count
template <typename Load>
void addImages(const fabric::Fabric& fabric, std::span<const Rotation> rotations, std::vector<Load>& loadOfArc) {
  for (const Rotation& rotation : rotations) {
    const std::vector<std::int32_t> next = rotatedArcs(fabric, rotation);
    std::vector<bool> isDone(next.size(), false);
    for (std::size_t first = 0; first < next.size(); ++first) {
      if (isDone[first]) {
        continue;
      }
      Load sum = 0;
      int length = 0;
      for (std::size_t arc = first; !isDone[arc]; arc = static_cast<std::size_t>(next[arc])) {
        isDone[arc] = true;
        sum += loadOfArc[arc];
        ++length;
      }
      sum *= rotation.count / length;
      std::size_t arc = first;
      do {
        loadOfArc[arc] = sum;
        arc = static_cast<std::size_t>(next[arc]);
      } while (arc != first);
    }
  }
}

/// Images of ranks and nodes under products of rotations. Immutable; threads may share it.
/// @pre each rotation maps nodes one to one
class RotationPowers {
public:
  explicit RotationPowers(std::vector<Rotation> rotations);

  [[nodiscard]] bool isEmpty() const { return m_rotations.empty(); }
  /// Where the rank goes under the product that takes rank 0 to `root`.
  [[nodiscard]] fabric::Rank imageOfRank(fabric::Rank rank, fabric::Rank root) const {
    for (const Rotation& rotation : m_rotations) {
      rank = rotated(rank, rotation, root / rotation.step % rotation.count);
    }
    return rank;
  }
  /// Where the node goes, likewise.
  [[nodiscard]] fabric::NodeIndex imageOfNode(fabric::NodeIndex node, fabric::Rank root) const {
    for (std::size_t i = 0; i < m_rotations.size(); ++i) {
      const int times = root / m_rotations[i].step % m_rotations[i].count;
      const Cycles& cycles = m_cycles[i];
      const int first = cycles.first[node];
      const int length = cycles.length[node];
      node = cycles.order[first + (cycles.place[node] - first + times % length) % length];
    }
    return node;
  }

private:
  /// The cycles of one rotation, one after the other.
  struct Cycles {
    std::vector<fabric::NodeIndex> order;
    std::vector<int> place;  ///< by node: in `order`
    std::vector<int> first;  ///< by node: where its cycle begins in `order`
    std::vector<int> length;
  };

  std::vector<Rotation> m_rotations;
  std::vector<Cycles> m_cycles;
};

}  // namespace coppice::schedule
