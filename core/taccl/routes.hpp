// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "taccl/decoder.hpp"
#include "taccl/problem.hpp"

namespace coppice::taccl {

/// Random numbers that are the same everywhere (splitmix64).
class Random {
public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}
  std::uint64_t next() {
    m_state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = m_state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  /// 0 .. n - 1. @pre n > 0
  int below(int n) { return static_cast<int>((next() >> 32U) * static_cast<std::uint64_t>(n) >> 32U); }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

private:
  std::uint64_t m_state;
};

/// How starts are made.
struct StartStyle {
  double noise = 0;         ///< relative, of costs
  double loadWeight = 0;    ///< of the loads of machines, for routed starts
  double remoteLead = 0.3;  ///< a remote send counts as this many of its costs earlier, for greedy starts
  double depthWeight = 0.05;
};

/// Messages of a start: the first of a link takes `first` chunks, the last one `last`, the others `rest`.
struct MessageStyle {
  int first = 1;
  int rest = 1;
  int last = 0;         ///< 0 = what is left over
  bool byTail = false;  ///< order by -tail after the first message, else by head - tail
  int taper = 0;        ///< with several other nodes, what goes to the last of them goes in single chunks: how many

  friend bool operator==(const MessageStyle&, const MessageStyle&) = default;
};

/// Makes the trees, priorities and messages that searches start from.
class StartMaker {
public:
  StartMaker(const Problem& problem, Random& random);

  /// Only these orbits of links within nodes may be used; empty = all.
  void allow(std::vector<char> orbits) { m_allowed = std::move(orbits); }
  [[nodiscard]] bool isAllowed(int link) const {
    return m_allowed.empty() || m_problem.model->links[link].isRemote || m_allowed[m_problem.linkOrbit[link]] != 0;
  }

  /// Every chunk has all its items as targets, so that a greedy start can be made.
  [[nodiscard]] bool canBeGreedy() const { return m_canBeGreedy; }
  /// Sends what can start first, again and again; the priorities keep that order. False where the allowed links do not
  /// join all.
  bool greedy(const StartStyle& style, Solution& solution);
  /// Shortest ways by noisy costs and the loads of the chunks before. False as above.
  bool routed(const StartStyle& style, Solution& solution);
  /// One chunk along shortest ways by noisy costs.
  bool routeChunk(int chunk, const StartStyle& style, Solution& solution);

  void setPriorities(const StartStyle& style, Decoder& decoder, Solution& solution) const;
  void setMessages(const MessageStyle& style, Decoder& decoder, Solution& solution) const;
  [[nodiscard]] Solution blank() const;

private:
  struct Way {
    int to = 0;
    int link = 0;
  };
  struct Candidate {
    double key = 0;
    Ticks start = 0;
    int from = 0;
    int to = 0;
    int link = 0;
    friend bool operator>(const Candidate& a, const Candidate& b) {
      return std::tie(a.key, a.to, a.from, a.link) > std::tie(b.key, b.to, b.from, b.link);
    }
  };
  [[nodiscard]] double noisy(int link, const StartStyle& style);
  void spread(std::vector<std::pair<double, int>>& heap, int block, const StartStyle& style, Solution& solution);
  bool enter(int block, const StartStyle& style, Solution& solution);
  void addLoad(int chunk, const Solution& solution);
  [[nodiscard]] Ticks earliest(const Candidate& candidate) const;
  [[nodiscard]] double bias(const Candidate& candidate, const StartStyle& style);
  void offer(int item, const StartStyle& style);
  void findCrossings();

  const Problem& m_problem;
  Random& m_random;
  std::vector<char> m_allowed;
  bool m_canBeGreedy = true;
  std::vector<std::vector<Way>> m_out;  ///< by item
  std::vector<Ticks> m_crossing;        ///< by item: what is left to cross from the best sender; 0 elsewhere
  std::vector<double> m_distance;       ///< by item
  std::vector<double> m_load;           ///< by machine orbit
  std::vector<Ticks> m_free;            ///< greedy: by machine orbit
  std::vector<Ticks> m_sendFree;
  std::vector<Ticks> m_arrival;
  std::vector<char> m_isHeld;
  std::vector<char> m_isEntered;  ///< by block
  std::vector<Candidate> m_heap;
};

}  // namespace coppice::taccl
