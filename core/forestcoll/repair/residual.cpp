// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/repair/residual.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "flow/feasibility.hpp"
#include "forestcoll/even_balance.hpp"
#include "forestcoll/fixed_k.hpp"
#include "lp/balance.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// What is known of a set Q.
struct SetFacts {
  int64_t needed = 0;  ///< S - s(Q) + L(in Q)
  int64_t bandwidth = 0;
  std::vector<int> arcs = {};  ///< into Q
  std::vector<char> in = {};   ///< by node
};

SetFacts factsOf(const Network& network, const KeptTrees& kept, std::span<const int> nodes) {
  SetFacts facts;
  facts.in.assign(static_cast<std::size_t>(network.nodeCount), 0);
  for (const int node : nodes) {
    facts.in[node] = 1;
  }
  facts.needed = kept.lostCopies();
  for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
    facts.needed -= facts.in[network.gpus[rank]] != 0 ? kept.lost()[rank] : 0;
  }
  for (std::size_t i = 0; i < network.arcs.size(); ++i) {
    const TreeArc& arc = network.arcs[i];
    if (facts.in[arc.tail] == 0 && facts.in[arc.head] != 0) {
      facts.arcs.push_back(static_cast<int>(i));
      facts.needed = checkedAdd(facts.needed, kept.load()[i]);
      facts.bandwidth = checkedAdd(facts.bandwidth, arc.capacity);
    }
  }
  return facts;
}

/// The residual network at a time t = p/q: capacities p*b - q*L, supplies q*s.
template <typename Cap>
class Residual {
public:
  Residual(const Network& network, const KeptTrees& kept, const Rational& time)
      : m_network(network), m_kept(kept), m_oracle(network.nodeCount, arcsAt(time), suppliesAt(time), network.gpus) {}

  void set(const Rational& time) {
    const auto arcs = arcsAt(time);
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      m_oracle.setCapacity(static_cast<int>(i), arcs[i].capacity);
    }
    const auto supplies = suppliesAt(time);
    for (const int gpu : m_network.gpus) {
      m_oracle.setSupply(gpu, supplies[gpu]);
    }
  }

  /// One pass; for each violated set `correct(nodes)` changes the time or the trees and returns the time.
  template <typename Correct>
  void pass(const Progress& progress, std::string_view stage, Correct&& correct) {
    const std::vector<int> order(m_oracle.sinkOrder().begin(), m_oracle.sinkOrder().end());
    for (std::size_t i = 0; i < order.size(); ++i) {
      throwIfCancelled(progress);
      progress.report(stage, static_cast<double>(i) / static_cast<double>(order.size()));
      while (m_oracle.flowInto(order[i], m_oracle.target()) < m_oracle.target()) {
        throwIfCancelled(progress);
        bool isClosed = false;
        const int seeds[] = {order[i]};
        const std::vector<int> violated = m_oracle.reaching(seeds, isClosed);
        m_oracle.undo();
        set(correct(violated));
      }
      m_oracle.undo();
      m_oracle.absorb(order[i]);
    }
  }

private:
  [[nodiscard]] std::vector<flow::CapacityArc<Cap>> arcsAt(const Rational& time) const {
    std::vector<flow::CapacityArc<Cap>> arcs;
    arcs.reserve(m_network.arcs.size());
    for (std::size_t i = 0; i < m_network.arcs.size(); ++i) {
      const TreeArc& arc = m_network.arcs[i];
      arcs.push_back(
          {arc.tail, arc.head, Cap{arc.capacity} * time.numerator() - Cap{m_kept.load()[i]} * time.denominator()});
    }
    return arcs;
  }
  [[nodiscard]] std::vector<Cap> suppliesAt(const Rational& time) const {
    std::vector<Cap> supplies(static_cast<std::size_t>(m_network.nodeCount), 0);
    for (std::size_t rank = 0; rank < m_network.gpus.size(); ++rank) {
      supplies[m_network.gpus[rank]] = Cap{m_kept.lost()[rank]} * time.denominator();
    }
    return supplies;
  }

  const Network& m_network;
  const KeptTrees& m_kept;
  flow::FeasibilityOracle<Cap> m_oracle;
};

/// Whether all sums of the residual network fit 64 bits, at the given time and at those that its sets show.
bool fits64(const Network& network, const KeptTrees& kept, const Rational& time) {
  Int128 bandwidth = 0;
  Int128 load = kept.allCopies();
  for (std::size_t i = 0; i < network.arcs.size(); ++i) {
    bandwidth += network.arcs[i].capacity;
    load += kept.load()[i];
  }
  constexpr Int128 kMax = std::numeric_limits<int64_t>::max() / 4;
  const Int128 numerator = std::max<Int128>(time.numerator(), load);
  const Int128 denominator = std::max<Int128>(time.denominator(), bandwidth);
  return bandwidth <= kMax / numerator && load <= kMax / denominator;
}

template <typename Cap>
LeastTime newton(const Network& network, const KeptTrees& kept, Rational time, const Progress& progress) {
  LeastTime least;
  Residual<Cap> residual(network, kept, time);
  residual.pass(progress, "repair", [&](const std::vector<int>& violated) {
    const SetFacts facts = factsOf(network, kept, violated);
    if (facts.bandwidth == 0) {
      throw Failure{{ErrorCode::infeasible, "some GPUs cannot reach the others, so the collective can never finish",
                     "add links until every GPU reaches every other"}};
    }
    time = Rational(facts.needed, facts.bandwidth);
    least.tight = {violated};
    return time;
  });
  least.time = time;
  return least;
}

/// A kept tree that enters a set more often than it must.
struct Waste {
  int64_t excess = 0;
  std::int32_t tree = 0;
  bool isRerouted = false;
};

/// Those on other routes first: what they give back is enough wherever unaffected trees alone would be.
void sortForRelease(std::vector<Waste>& wastes) {
  std::stable_sort(wastes.begin(), wastes.end(), [](const Waste& a, const Waste& b) {
    return a.isRerouted != b.isRerouted ? a.isRerouted : a.excess > b.excess;
  });
}

std::vector<Waste> wasteAt(const Network& network, const KeptTrees& kept, const SetFacts& facts) {
  std::map<std::int32_t, int64_t> entries;
  for (const int arc : facts.arcs) {
    for (const KeptTrees::Use& use : kept.usesOfArc(static_cast<std::size_t>(arc))) {
      entries[use.tree] += use.times;
    }
  }
  std::vector<Waste> wastes;
  for (const auto& [tree, times] : entries) {
    const KeptTrees::Tree& of = kept.trees()[tree];
    const int64_t excess = times - (facts.in[network.gpus[of.root]] == 0 ? 1 : 0);
    if (of.copies > 0 && excess > 0) {
      wastes.push_back({excess, tree, of.isRerouted});
    }
  }
  sortForRelease(wastes);
  return wastes;
}

/// Releases copies with at least that much waste in all.
void releaseWaste(KeptTrees& kept, std::span<const Waste> wastes, int64_t needed) {
  for (const Waste& waste : wastes) {
    if (needed <= 0) {
      return;
    }
    const auto tree = static_cast<std::size_t>(waste.tree);
    const int64_t copies = std::min(kept.trees()[tree].copies, (needed + waste.excess - 1) / waste.excess);
    kept.release(tree, copies);
    needed -= copies * waste.excess;
  }
  if (needed > 0) {
    throw Failure{{ErrorCode::internal, "a repair is asked to be faster than the fabric allows", {}}};
  }
}

int64_t ceilOf(const Rational& value) {
  return -(-value).floor();
}

/// Arcs that carry more than t*b.
void releaseOverloads(const Network& network, KeptTrees& kept, const Rational& time) {
  for (std::size_t i = 0; i < network.arcs.size(); ++i) {
    const int64_t over = ceilOf(Rational(kept.load()[i]) - time * Rational(network.arcs[i].capacity));
    if (over <= 0) {
      continue;
    }
    std::vector<Waste> wastes;
    for (const KeptTrees::Use& use : kept.usesOfArc(i)) {
      if (kept.trees()[use.tree].copies > 0) {
        wastes.push_back({use.times, use.tree, kept.trees()[use.tree].isRerouted});
      }
    }
    sortForRelease(wastes);
    releaseWaste(kept, wastes, over);
  }
}

template <typename Cap>
void releaseAt(const Network& network, KeptTrees& kept, const Rational& time, const Progress& progress) {
  Residual<Cap> residual(network, kept, time);
  residual.pass(progress, "repair", [&](const std::vector<int>& violated) {
    const SetFacts facts = factsOf(network, kept, violated);
    const Rational short_ = Rational(facts.needed) - time * Rational(facts.bandwidth);
    releaseWaste(kept, wasteAt(network, kept, facts), ceilOf(short_));
    return time;
  });
}

std::vector<int64_t> supplyTimes(const Network& network, const KeptTrees& kept, int64_t factor) {
  std::vector<int64_t> supply(static_cast<std::size_t>(network.nodeCount), 0);
  for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
    supply[network.gpus[rank]] = checkedMul(kept.lost()[rank], factor);
  }
  return supply;
}

/// What whole trees leave with this factor; nothing where an arc has not enough for the kept ones.
std::optional<Room> wholeRoom(const Network& network, const KeptTrees& kept, const Rational& time, int64_t factor) {
  Room room;
  room.factor = factor;
  room.time = time;
  room.capacities = scaledArcs(network, time * Rational(factor));
  room.supply = supplyTimes(network, kept, factor);
  for (std::size_t i = 0; i < room.capacities.size(); ++i) {
    room.capacities[i].capacity -= checkedMul(kept.load()[i], factor);
    if (room.capacities[i].capacity < 0) {
      return std::nullopt;
    }
  }
  requireFits(room.capacities, network, checkedMul(factor, std::max<int64_t>(1, kept.lostCopies())));
  return room;
}

/// Balanced at switches, if that is easily done.
bool balance(const Network& network, Room& room, const Progress& progress) {
  if (unbalancedSwitches(network, room.capacities).empty()) {
    flow::FeasibilityOracle<int64_t> oracle(network.nodeCount, room.capacities, room.supply, network.gpus);
    return oracle.isFeasible(progress);
  }
  const auto even = evenlyBalanced(network, room.capacities, room.supply, progress);
  for (std::size_t i = 0; even && i < room.capacities.size(); ++i) {
    room.capacities[i].capacity = (*even)[i];
  }
  return even.has_value();
}

/// The same by an integer program.
void balanceByProgram(const Network& network, Room& room, const Progress& progress) {
  lp::BalanceProblem problem;
  problem.nodeCount = network.nodeCount;
  problem.isGpu.assign(network.isGpu.begin(), network.isGpu.end());
  problem.arcs = room.capacities;
  problem.supplies = room.supply;
  const lp::SubCapacity sub = orThrow(lp::balancedSubCapacity(problem, progress));
  if (sub.status != lp::BalanceStatus::found) {
    throw Failure{{ErrorCode::unbalanced,
                   "beside the trees that stay, switches that only forward cannot use the links that are left (" +
                       sub.reason + ")",
                   "generate a schedule of the fabric without the failed part"}};
  }
  for (std::size_t i = 0; i < room.capacities.size(); ++i) {
    room.capacities[i].capacity = sub.capacities[i];
  }
}

/// Every factor that keeps t at the tight sets is a multiple of this.
int64_t factorStep(const Network& network, const LeastTime& least) {
  int64_t step = 1;
  for (const std::vector<int>& nodes : least.tight) {
    std::vector<char> in(static_cast<std::size_t>(network.nodeCount), 0);
    for (const int node : nodes) {
      in[node] = 1;
    }
    for (const TreeArc& arc : network.arcs) {
      if (in[arc.tail] == 0 && in[arc.head] != 0) {
        step = leastCommonMultiple(step, (least.time * Rational(arc.capacity)).denominator());
      }
    }
  }
  return step;
}

}  // namespace

LeastTime leastTime(const Network& network, const KeptTrees& kept, const Rational& start, const Progress& progress) {
  Rational time = start;
  for (std::size_t i = 0; i < network.arcs.size(); ++i) {
    time = std::max(time, Rational(kept.load()[i], network.arcs[i].capacity));
  }
  if (kept.lostCopies() == 0) {
    return {time, {}};
  }
  return fits64(network, kept, time) ? newton<int64_t>(network, kept, time, progress)
                                     : newton<Int128>(network, kept, time, progress);
}

void releaseUntil(const Network& network, KeptTrees& kept, const Rational& time, const Progress& progress) {
  releaseOverloads(network, kept, time);
  if (kept.lostCopies() == 0) {
    return;
  }
  if (fits64(network, kept, time)) {
    releaseAt<int64_t>(network, kept, time, progress);
  } else {
    releaseAt<Int128>(network, kept, time, progress);
  }
}

Room roomAt(const Network& network, const KeptTrees& kept, const LeastTime& least, const Rational& limit,
            const Progress& progress) {
  constexpr int kTries = 12;
  const auto tried = [&](const Rational& time, int64_t factor) {
    auto room = wholeRoom(network, kept, time, factor);
    return room && balance(network, *room, progress) ? std::move(room) : std::nullopt;
  };
  const int64_t whole = least.time.denominator();  // makes every t*b a whole number
  for (int64_t factor = 1; limit > least.time && factor <= kTries && factor < whole; ++factor) {
    if (auto room = tried(limit, factor)) {
      return *std::move(room);
    }
  }
  const int64_t step = factorStep(network, least);
  int64_t factor = step;
  for (int i = 0; i < kTries && factor < whole; ++i, factor += step) {
    if (auto room = tried(least.time, factor)) {
      return *std::move(room);
    }
  }
  auto room = wholeRoom(network, kept, least.time, whole);
  if (!room) {
    throw Failure{{ErrorCode::internal, "kept trees overload a link", {}}};
  }
  if (!balance(network, *room, progress)) {
    balanceByProgram(network, *room, progress);
  }
  return *std::move(room);
}

}  // namespace coppice::forestcoll
