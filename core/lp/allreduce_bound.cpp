// SPDX-License-Identifier: Apache-2.0
#include "lp/allreduce_bound.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "lp/allreduce_partition.hpp"
#include "lp/cut_finder.hpp"
#include "lp/program_support.hpp"
#include "lp/simplex.hpp"

namespace coppice::lp {

namespace {

constexpr Milliseconds kProofWork(2000);

class AllreduceSearch {
public:
  AllreduceSearch(const fabric::Fabric& fabric, const AllreduceOptions& options, const Progress& progress);

  Result<AllreduceBound> run();

private:
  enum class Direction { broadcast, reduce };

  [[nodiscard]] int broadcastColumn(int arc) const { return m_gpuCount + arc; }
  [[nodiscard]] int reduceColumn(int arc) const { return m_gpuCount + m_arcCount + arc; }
  [[nodiscard]] int columnCount() const { return m_gpuCount + (m_mirrored ? 1 : 2) * m_arcCount; }
  [[nodiscard]] bool mayEnd() const;
  Simplex buildProgram() const;
  bool addCut(Simplex& simplex, const NodeSet& set, Direction direction);
  bool addCuts(Simplex& simplex, const std::vector<NodeSet>& sets, Direction direction);
  /// Adds what the floating-point solution violates.
  bool separate(Simplex& simplex);
  /// Adds what the exact point violates.
  bool separateExactly(Simplex& simplex, const ExactPoint& point);
  [[nodiscard]] Bandwidth inGigabytes(const WideFraction& value) const;
  [[nodiscard]] AllreduceShares sharesOf(const ExactPoint& point) const;
  Result<AllreduceBound> conclude(Simplex& simplex, BoundStatus status, std::string reason) const;

  const AllreduceOptions& m_options;
  const Progress& m_progress;
  WorkBudget m_budget;
  int m_nodeCount = 0;
  int m_gpuCount = 0;
  int m_arcCount = 0;
  bool m_mirrored = true;
  std::vector<bool> m_isGpu;
  std::vector<int> m_gpuOf;     // node -> x column, or -1
  std::vector<ArcEnds> m_arcs;  // first m_arcCount
  std::vector<ArcEnds> m_reversed;
  std::vector<int> m_opposite;  // arc -> the arc back, or -1
  std::vector<std::int64_t> m_capacities;
  std::int64_t m_unit = 1;
  double m_largest = 1;
  CutFinder m_forward;
  CutFinder m_backward;
  std::set<NodeSet> m_knownBroadcast;
  std::set<NodeSet> m_knownReduce;
};

std::vector<bool> gpuFlags(const fabric::Fabric& fabric) {
  std::vector<bool> flags;
  for (const fabric::Node& node : fabric.nodes()) {
    flags.push_back(node.kind == fabric::NodeKind::gpu);
  }
  return flags;
}

std::vector<ArcEnds> arcEnds(const fabric::Fabric& fabric, bool reversed) {
  std::vector<ArcEnds> ends;
  for (const fabric::Arc& arc : fabric.arcs()) {
    ends.push_back(reversed ? ArcEnds{arc.head, arc.tail} : ArcEnds{arc.tail, arc.head});
  }
  return ends;
}

AllreduceSearch::AllreduceSearch(const fabric::Fabric& fabric, const AllreduceOptions& options,
                                 const Progress& progress)
    : m_options(options),
      m_progress(progress),
      m_budget(options.budget),
      m_nodeCount(fabric.nodeCount()),
      m_gpuCount(fabric.gpuCount()),
      m_arcCount(static_cast<int>(fabric.arcs().size())),
      m_isGpu(gpuFlags(fabric)),
      m_gpuOf(static_cast<std::size_t>(fabric.nodeCount()), -1),
      m_arcs(arcEnds(fabric, false)),
      m_reversed(arcEnds(fabric, true)),
      m_forward(m_nodeCount, m_isGpu, m_arcs),
      m_backward(m_nodeCount, m_isGpu, m_reversed) {
  for (int rank = 0; rank < m_gpuCount; ++rank) {
    m_gpuOf[fabric.gpus()[rank]] = rank;
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    m_unit = leastCommonMultiple(m_unit, arc.bandwidth.gigabytesPerSecond().denominator());
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    const Rational& bandwidth = arc.bandwidth.gigabytesPerSecond();
    m_capacities.push_back(checkedMul(bandwidth.numerator(), m_unit / bandwidth.denominator()));
    m_largest = std::max(m_largest, static_cast<double>(m_capacities.back()));
    const auto back = fabric.findArc(arc.head, arc.tail);
    m_opposite.push_back(back ? *back : -1);
    m_mirrored = m_mirrored && back && fabric.arcs()[*back].bandwidth == arc.bandwidth;
  }
}

Simplex AllreduceSearch::buildProgram() const {
  std::vector<std::int64_t> ingress(m_nodeCount, 0);
  std::vector<std::int64_t> egress(m_nodeCount, 0);
  for (std::size_t i = 0; i < m_arcs.size(); ++i) {
    egress[m_arcs[i].tail] = checkedAdd(egress[m_arcs[i].tail], m_capacities[i]);
    ingress[m_arcs[i].head] = checkedAdd(ingress[m_arcs[i].head], m_capacities[i]);
  }
  std::vector<Column> columns(m_gpuCount);
  for (int node = 0; node < m_nodeCount; ++node) {
    if (const int gpu = m_gpuOf[node]; gpu >= 0) {
      // Everything rooted at v leaves v in the broadcast and enters v in the reduction.
      columns[gpu] = {.lower = 0,
                      .upper = std::min(ingress[node], egress[node]),
                      .cost = 1,
                      .scale = m_largest,
                      .preference = 1e-7 * spread(gpu)};
    }
  }
  for (int i = 0; i < columnCount() - m_gpuCount; ++i) {
    columns.push_back({.lower = 0,
                       .upper = m_capacities[i % m_arcCount],
                       .cost = 0,
                       .scale = m_largest,
                       .preference = -1e-7 * (0.5 + spread(m_gpuCount + i))});
  }
  Simplex simplex(std::move(columns));
  for (int i = 0; i < m_arcCount; ++i) {
    const int partner = m_mirrored ? broadcastColumn(m_opposite[i]) : reduceColumn(i);
    if (broadcastColumn(i) < partner) {
      simplex.addRow({{{broadcastColumn(i), 1}, {partner, 1}}, std::nullopt, m_capacities[i]});
    }
  }
  for (const int first : {broadcastColumn(0), reduceColumn(0)}) {
    if (first >= columnCount()) {
      break;
    }
    std::vector<std::vector<Term>> balance = balanceTerms(m_nodeCount, m_arcs, first);
    for (int node = 0; node < m_nodeCount; ++node) {
      if (!m_isGpu[node] && !balance[node].empty()) {
        simplex.addRow({std::move(balance[node]), 0, 0});
      }
    }
  }
  return simplex;
}

// Broadcast: in(Q) >= x outside Q. Reduction: the same on the reversed arcs.
bool AllreduceSearch::addCut(Simplex& simplex, const NodeSet& set, Direction direction) {
  const bool forward = direction == Direction::broadcast;
  if (!(forward ? m_knownBroadcast : m_knownReduce).insert(set).second) {
    return false;
  }
  const std::vector<ArcEnds>& arcs = forward ? m_arcs : m_reversed;
  Row row;
  for (int node = 0; node < m_nodeCount; ++node) {
    if (const int gpu = m_gpuOf[node]; gpu >= 0 && !set[node]) {
      row.terms.push_back({gpu, -1});
    }
  }
  for (int i = 0; i < m_arcCount; ++i) {
    if (set[arcs[i].head] && !set[arcs[i].tail]) {
      row.terms.push_back({forward ? broadcastColumn(i) : reduceColumn(i), 1});
    }
  }
  row.lower = 0;
  simplex.addRow(std::move(row));
  return true;
}

bool AllreduceSearch::addCuts(Simplex& simplex, const std::vector<NodeSet>& sets, Direction direction) {
  bool added = false;
  for (const NodeSet& set : sets) {
    added = addCut(simplex, set, direction) || added;
  }
  return added;
}

bool AllreduceSearch::separate(Simplex& simplex) {
  double largest = m_largest;
  for (int gpu = 0; gpu < m_gpuCount; ++gpu) {
    largest = std::max(largest, simplex.value(gpu));
  }
  std::vector<std::int64_t> supplies(m_nodeCount, 0);
  for (int node = 0; node < m_nodeCount; ++node) {
    if (const int gpu = m_gpuOf[node]; gpu >= 0) {
      supplies[node] = toCutUnits(simplex.value(gpu), largest);
    }
  }
  bool added = false;
  for (const Direction direction : {Direction::broadcast, Direction::reduce}) {
    if (m_mirrored && direction == Direction::reduce) {
      break;
    }
    const bool forward = direction == Direction::broadcast;
    std::vector<std::int64_t> units(m_arcCount);
    for (int i = 0; i < m_arcCount; ++i) {
      units[i] = toCutUnits(simplex.value(forward ? broadcastColumn(i) : reduceColumn(i)), largest);
    }
    CutFinder& finder = forward ? m_forward : m_backward;
    added = addCuts(simplex, finder.violated(units, supplies, kCutTolerance, false, m_progress), direction) || added;
  }
  return added;
}

bool AllreduceSearch::separateExactly(Simplex& simplex, const ExactPoint& point) {
  std::vector<std::int64_t> supplies(m_nodeCount, 0);
  for (int node = 0; node < m_nodeCount; ++node) {
    if (const int gpu = m_gpuOf[node]; gpu >= 0) {
      supplies[node] = point.numerators[gpu];
    }
  }
  const std::span<const std::int64_t> all(point.numerators);
  const auto share = all.subspan(static_cast<std::size_t>(m_gpuCount), static_cast<std::size_t>(m_arcCount));
  bool added = addCuts(simplex, m_forward.violated(share, supplies, 0, false, m_progress), Direction::broadcast);
  if (!m_mirrored) {
    const auto reduce =
        all.subspan(static_cast<std::size_t>(m_gpuCount + m_arcCount), static_cast<std::size_t>(m_arcCount));
    added = addCuts(simplex, m_backward.violated(reduce, supplies, 0, false, m_progress), Direction::reduce) || added;
  }
  return added;
}

Bandwidth AllreduceSearch::inGigabytes(const WideFraction& value) const {
  Int128 a = value.numerator;
  Int128 b = checkedMul<Int128>(value.denominator, m_unit);
  Int128 x = a;
  for (Int128 y = b; y != 0;) {
    x = std::exchange(y, x % y);
  }
  a /= x;
  b /= x;
  return {narrow64(a), narrow64(b)};
}

AllreduceShares AllreduceSearch::sharesOf(const ExactPoint& point) const {
  AllreduceShares shares;
  shares.denominator = checkedMul(point.denominator, m_unit);
  const auto begin = point.numerators.begin();
  shares.roots.assign(begin, begin + m_gpuCount);
  shares.broadcast.assign(begin + m_gpuCount, begin + m_gpuCount + m_arcCount);
  for (int i = 0; i < m_arcCount; ++i) {
    shares.reduction.push_back(point.numerators[m_mirrored ? broadcastColumn(m_opposite[i]) : reduceColumn(i)]);
  }
  return shares;
}

Result<AllreduceBound> AllreduceSearch::conclude(Simplex& simplex, BoundStatus status, std::string reason) const {
  AllreduceBound bound;
  // The proof may take a little more than the budget: without it the work was done for nothing.
  WorkBudget grace(kProofWork);
  const auto proved = simplex.provedBound(stopTest(grace, m_progress));
  throwIfCancelled(m_progress);
  if (!proved || proved->numerator <= 0) {
    bound.reason = std::move(reason);
    return bound;
  }
  try {
    bound.algbw = inGigabytes(*proved);
  } catch (const OverflowError&) {
    bound.reason = "the bound has more digits than 64 bits hold";
    return bound;
  }
  bound.status = status;
  bound.cuts = static_cast<int>(m_knownBroadcast.size() + m_knownReduce.size());
  bound.knownIsOptimal = m_options.known && bound.algbw == *m_options.known;
  if (bound.knownIsOptimal) {
    bound.status = BoundStatus::exact;
  }
  bound.reason = std::move(reason);
  if (m_options.known && bound.algbw < *m_options.known) {
    return Error{ErrorCode::internal,
                 "the known allreduce bandwidth " + toFraction(*m_options.known) + " is above the proved bound " +
                     toFraction(bound.algbw),
                 "report this with the fabric file"};
  }
  return bound;
}

/// A pivot touches all of the dense dictionary, and about as many are needed as there are rows. By size alone, not by
/// speed, so that the same fabric is treated alike on all machines.
bool AllreduceSearch::mayEnd() const {
  const std::int64_t rows = 2 * std::int64_t{m_nodeCount} + m_arcCount;
  return Int128{rows} * rows * columnCount() <= Int128{kNumbersPerMillisecond} * m_options.budget.count();
}

Result<AllreduceBound> AllreduceSearch::run() {
  if (isTooLarge(static_cast<std::size_t>(2 * m_nodeCount + m_arcCount), static_cast<std::size_t>(columnCount()))) {
    return AllreduceBound{.reason = "the fabric is too large for the allreduce linear program"};
  }
  if (!mayEnd()) {
    return AllreduceBound{.reason = "the allreduce linear program would not end within its budget"};
  }
  m_progress.report("allreduce bound", 0.0);
  Simplex simplex = buildProgram();
  for (int node = 0; node < m_nodeCount; ++node) {
    if (!m_isGpu[node]) {
      continue;
    }
    NodeSet alone(static_cast<std::size_t>(m_nodeCount), false);
    alone[node] = true;
    NodeSet others(static_cast<std::size_t>(m_nodeCount), true);
    others[node] = false;
    for (const NodeSet& set : {alone, others}) {
      addCut(simplex, set, Direction::broadcast);
      if (!m_mirrored) {
        addCut(simplex, set, Direction::reduce);
      }
    }
  }
  const double known = m_options.known ? toGBps(*m_options.known) * static_cast<double>(m_unit) : 0;
  const auto stop = stopTest(m_budget, m_progress);
  int refinements = 0;
  for (;;) {
    throwIfCancelled(m_progress);
    const SimplexStatus status = simplex.solve(stop);
    throwIfCancelled(m_progress);
    if (status == SimplexStatus::stopped) {
      return conclude(simplex, BoundStatus::upperBound,
                      "out of work; the bound is valid, but whether it can be reached is unknown");
    }
    bool added = false;
    if (status == SimplexStatus::optimal) {
      double objective = 0;
      for (int gpu = 0; gpu < m_gpuCount; ++gpu) {
        objective += simplex.value(gpu);
      }
      if (!m_options.wantsShares && m_options.known && objective <= known * (1 + 1e-7)) {
        Result<AllreduceBound> bound = conclude(simplex, BoundStatus::upperBound, "equal to the known value");
        if (!bound || bound->knownIsOptimal) {
          return bound;
        }
      }
      added = separate(simplex);
      if (!added) {
        if (const auto point = simplex.exactPoint(stop)) {
          added = separateExactly(simplex, *point);
          const auto proved = simplex.provedBound(stop);
          Int128 sum = 0;
          for (int gpu = 0; gpu < m_gpuCount; ++gpu) {
            sum += point->numerators[gpu];
          }
          if (!added && proved &&
              checkedMul<Int128>(proved->numerator, point->denominator) ==
                  checkedMul<Int128>(sum, proved->denominator)) {
            Result<AllreduceBound> bound = conclude(simplex, BoundStatus::exact, "optimum of the linear program");
            if (bound && bound->status == BoundStatus::exact && m_options.wantsShares) {
              bound->shares = sharesOf(*point);
            }
            return bound;
          }
        }
      }
    }
    if (isTooLarge(simplex.rows().size(), static_cast<std::size_t>(columnCount()))) {
      return conclude(simplex, BoundStatus::upperBound,
                      "too many cuts; the bound is valid, but whether it can be reached is unknown");
    }
    if (!added) {
      if (++refinements > kMaxRefinements || !simplex.refine(stop)) {
        return conclude(simplex, BoundStatus::upperBound,
                        "the numbers grew too large to prove that the bound is reached");
      }
    }
  }
}

/// The best of the bounds that partitions prove.
AllreduceBound partitionBound(const fabric::Fabric& fabric, const AllreduceOptions& options) {
  AllreduceBound best;
  for (const Partition& partition : naturalPartitions(fabric)) {
    const Bandwidth algbw = allreducePartitionBound(fabric, partition);
    if (best.status == BoundStatus::notComputed || algbw < best.algbw) {
      best.status = BoundStatus::upperBound;
      best.algbw = algbw;
      best.cuts = 1 + *std::max_element(partition.begin(), partition.end());
    }
  }
  if (options.known && best.status != BoundStatus::notComputed && best.algbw == *options.known) {
    best.status = BoundStatus::exact;
    best.knownIsOptimal = true;
    best.reason = "equal to the known value";
  }
  return best;
}

}  // namespace

Result<AllreduceBound> allreduceBound(const fabric::Fabric& fabric, const AllreduceOptions& options,
                                      const Progress& progress) {
  try {
    AllreduceBound simple = partitionBound(fabric, options);
    if (simple.knownIsOptimal && !options.wantsShares) {
      return simple;
    }
    auto bound = AllreduceSearch(fabric, options, progress).run();
    // A search that was stopped early may know less.
    const bool isOpen = bound && bound->status != BoundStatus::exact;
    if (isOpen && (bound->status == BoundStatus::notComputed || simple.algbw < bound->algbw)) {
      simple.reason = bound->reason;
      return simple;
    }
    return bound;
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use bandwidths with smaller numerators and denominators"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled while bounding allreduce"};
  } catch (const std::bad_alloc&) {
    return AllreduceBound{.reason = "out of memory in the allreduce linear program"};
  }
}

}  // namespace coppice::lp
