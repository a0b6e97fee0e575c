// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/rows.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "schedule/placement.hpp"

namespace coppice::groups {

/// Whole numbers from 0 to a limit.
class NumberSet {
public:
  explicit NumberSet(int limit) : m_limit(limit), m_words(static_cast<std::size_t>(limit) / kBits + 1, 0) {}

  void add(int number) { m_words[static_cast<std::size_t>(number) / kBits] |= std::uint64_t{1} << number % kBits; }
  [[nodiscard]] bool has(int number) const {
    return number >= 0 && number <= m_limit &&
           (m_words[static_cast<std::size_t>(number) / kBits] >> number % kBits & 1U) != 0;
  }
  /// Adds every number of the other set, larger by `shift`, up to the limit.
  void addShifted(const NumberSet& other, int shift);

private:
  static constexpr int kBits = 64;
  int m_limit;
  std::vector<std::uint64_t> m_words;
};

/// Single GPUs, boxes, and what hangs together below a layer of switches, as far as they form a tree, with what their
/// links allow (schedule/placement.hpp). The last one is the whole fabric.
class Regions {
public:
  Regions(const fabric::Fabric& fabric, const schedule::PlacementQuestion& question);

  [[nodiscard]] const std::vector<schedule::PlacementRegion>& list() const { return m_regions; }
  /// The largest algbw that some numbers of members allow, and no height forbids. Throws CancelledError, OverflowError.
  [[nodiscard]] Bandwidth bound(const Progress& progress) const;

  enum class Taste { packed, spread };
  /// GPUs whose numbers allow this algbw: as many as possible in the first regions, or evenly in all. Nothing where no
  /// numbers do.
  [[nodiscard]] std::optional<std::vector<fabric::Rank>> choose(const Bandwidth& algbw, Taste taste) const;

private:
  struct Capacity {
    std::vector<Bandwidth> out;  ///< by members, from 0: of what leaves it, what these may use at most
    std::vector<Bandwidth> in;
  };

  /// Of an allreduce: by the sets of each height.
  [[nodiscard]] std::optional<Bandwidth> heightBound() const;
  void addRegions();
  void addCapacity(std::size_t region);
  [[nodiscard]] bool isUsable(fabric::NodeIndex node) const;
  [[nodiscard]] Rational demand(int inside) const;
  [[nodiscard]] bool allows(std::size_t region, int members, const Bandwidth& algbw) const;
  [[nodiscard]] std::vector<Bandwidth> thresholds() const;
  /// By region which numbers of members are possible.
  [[nodiscard]] std::vector<NumberSet> possible(const Bandwidth& algbw) const;
  [[nodiscard]] NumberSet sumsOf(const NumberSet& sums, std::size_t child, const NumberSet& of) const;

  const fabric::Fabric& m_fabric;
  const schedule::PlacementQuestion& m_question;
  Rows<int> m_arcsAt;                   ///< by node: those from it, then those to it
  std::vector<std::size_t> m_insideOf;  ///< by node: the region + 1 that was looked at last of those with it
  std::vector<schedule::PlacementRegion> m_regions;
  std::vector<std::vector<std::size_t>> m_children;
  std::vector<int> m_most;    ///< by region: members that it can have
  std::vector<int> m_height;  ///< by region: 0 = it has no children
  std::vector<Capacity> m_capacity;
};

}  // namespace coppice::groups
