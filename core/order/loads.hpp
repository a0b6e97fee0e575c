// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/progress.hpp"
#include "base/rows.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "order/pattern.hpp"

namespace coppice::simulate {
class ShortestRoutes;
}

namespace coppice::order {

inline constexpr fabric::Rank kNobody = -1;

/// How good an order is: the time first, then how many links are as busy as the busiest one of a step, then the time
/// of all links together. In whole units, which grow finer as more routes are known.
struct Score {
  Int128 time = 0;
  std::int64_t busiest = 0;
  Int128 total = 0;
  std::int64_t unit = 1;  ///< parts of a whole route
  bool isKnown = true;    ///< false = the loads leave the exact range: worse than all others

  friend bool operator<(const Score& a, const Score& b);
};

/// The load of each link under an order that changes a little at a time. Routes are those of simulate::ShortestRoutes,
/// all equally short ones evenly.
class Loads {
public:
  /// The fabric and the pattern must outlive it. Throws OverflowError, Failure (limit: steps times links).
  Loads(const fabric::Fabric& fabric, const Pattern& pattern);
  ~Loads();
  Loads(const Loads&) = delete;
  Loads& operator=(const Loads&) = delete;

  /// @param order the GPU at each place, or kNobody, whose messages are not sent. Throws OverflowError; the order is
  /// the one before then.
  void set(std::span<const fabric::Rank> order);
  [[nodiscard]] Score score();
  /// Links looked at so far.
  [[nodiscard]] std::uint64_t work() const { return m_work; }

  /// Time per byte of M: of the steps one after another, each as long as its fullest link.
  [[nodiscard]] InverseBandwidth time();
  /// Time of a link over all steps.
  [[nodiscard]] InverseBandwidth timeOf(int arc) const;
  /// The link with the longest of these; -1 where nothing is sent.
  [[nodiscard]] int busiestArc() const;
  /// Places that send or receive over a fullest link, of the steps that take longest.
  [[nodiscard]] std::vector<int> busyPlaces();

private:
  struct Sent {
    int step = 0;
    int from = 0;
    int to = 0;
    std::int64_t amount = 0;  ///< in 1 / m_amountUnit
  };
  struct Part {
    std::int32_t arc = 0;
    std::int64_t units = 0;  ///< in 1 / m_routeUnit of what is sent
  };
  struct Peak {
    Int128 time = 0;         ///< of the fullest link; no link is fuller
    std::int64_t links = 0;  ///< that are as full; 0 = the time has to be found again
  };

  void readPattern(const Pattern& pattern);
  void weighLinks();
  void checkRange(std::int64_t routeUnit) const;
  std::pair<std::size_t, std::size_t> routeOf(fabric::Rank from, fabric::Rank to);
  void refine(std::int64_t factor);
  void add(const Sent& sent, const std::pair<std::size_t, std::size_t>& route, int sign);
  [[nodiscard]] Int128 totalOf(int arc) const;
  [[nodiscard]] InverseBandwidth inTime(Int128 units) const;

  const fabric::Fabric& m_fabric;
  std::unique_ptr<simulate::ShortestRoutes> m_routes;
  std::vector<Sent> m_sent;            ///< by step
  Rows<std::int32_t> m_atPlace;        ///< messages by place, from it or to it
  std::vector<std::int64_t> m_count;   ///< by step
  std::vector<std::int64_t> m_weight;  ///< by arc: m_weightUnit / bandwidth
  std::int64_t m_amountUnit = 1;
  std::int64_t m_weightUnit = 1;
  std::int64_t m_routeUnit = 1;
  std::unordered_map<std::uint64_t, std::pair<std::size_t, std::size_t>> m_routeAt;  ///< by pair: into m_parts
  std::vector<Part> m_parts;
  std::vector<fabric::Rank> m_order;
  std::vector<std::int64_t> m_loads;  ///< by step, then arc
  std::vector<Peak> m_peaks;          ///< by step
  Int128 m_total = 0;
  std::vector<std::uint32_t> m_mark;  ///< by message: the change that it was taken up in
  std::uint32_t m_change = 0;
  std::uint64_t m_work = 0;
};

}  // namespace coppice::order
