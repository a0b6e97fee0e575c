// SPDX-License-Identifier: Apache-2.0
#include "verify/schedule_verifier.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "verify/bound_check.hpp"
#include "verify/fault_log.hpp"
#include "verify/forest_check.hpp"

namespace coppice::verify {
namespace {

using schedule::Cut;
using schedule::Direction;
using schedule::Schedule;

class ScheduleCheck {
public:
  ScheduleCheck(const fabric::Fabric& fabric, const Schedule& schedule, const ScheduleCheckOptions& options,
                const Progress& progress)
      : m_fabric(fabric), m_schedule(schedule), m_options(options), m_progress(progress) {}

  ScheduleVerdict run() {
    if (checkFrame()) {
      checkForests();
      checkClaims();
      checkBound();
    }
    m_progress.report("verifying", 1);
    m_verdict.ok = m_log.faultCount() == 0;
    m_verdict.findings = m_log.take();
    return std::move(m_verdict);
  }

private:
  [[nodiscard]] bool reduces() const {
    return m_schedule.collective == Collective::reduceScatter || m_schedule.collective == Collective::reduce ||
           m_schedule.collective == Collective::allreduce;
  }
  [[nodiscard]] bool broadcasts() const {
    return m_schedule.collective == Collective::allgather || m_schedule.collective == Collective::broadcast ||
           m_schedule.collective == Collective::allreduce;
  }
  [[nodiscard]] bool isRooted() const {
    return m_schedule.collective == Collective::broadcast || m_schedule.collective == Collective::reduce;
  }

  /// Digest, root, amounts, which forests there are. False where the rest cannot be judged.
  bool checkFrame() {
    if (m_schedule.fabricDigest != m_fabric.digest()) {
      m_log.fault("made for the fabric with digest " + m_schedule.fabricDigest.substr(0, 64) + ", this one has " +
                      m_fabric.digest(),
                  wholeSchedule(), "verify it against the fabric it was made for, or generate it again");
      return false;
    }
    const std::int64_t before = m_log.faultCount();
    const auto gpuCount = static_cast<std::size_t>(m_fabric.gpuCount());
    if (isRooted() != m_schedule.root.has_value()) {
      m_log.fault(isRooted() ? "names no root" : "names a root, but this collective has none", wholeSchedule());
    } else if (m_schedule.root && (*m_schedule.root < 0 || *m_schedule.root >= m_fabric.gpuCount())) {
      m_log.fault("its root, rank " + std::to_string(*m_schedule.root) + ", is not in the fabric", wholeSchedule());
    }
    if (!m_schedule.amounts.empty()) {
      const bool negative = std::any_of(m_schedule.amounts.begin(), m_schedule.amounts.end(),
                                        [](std::int64_t amount) { return amount < 0; });
      const bool allZero = std::all_of(m_schedule.amounts.begin(), m_schedule.amounts.end(),
                                       [](std::int64_t amount) { return amount == 0; });
      if (isRooted()) {
        m_log.fault("states amounts per rank, but only the root's data counts here", wholeSchedule());
      } else if (m_schedule.amounts.size() != gpuCount) {
        m_log.fault("states " + std::to_string(m_schedule.amounts.size()) + " amounts for " + std::to_string(gpuCount) +
                        " GPUs",
                    wholeSchedule());
      } else if (negative || allZero) {
        m_log.fault(negative ? "an amount is negative" : "all amounts are zero", wholeSchedule());
      }
    }
    if (m_schedule.reduceForest.has_value() != reduces()) {
      m_log.fault(reduces() ? "has no reduce forest" : "has a reduce forest, but this collective sums nothing",
                  wholeSchedule());
    }
    if (m_schedule.broadcastForest.has_value() != broadcasts()) {
      m_log.fault(broadcasts() ? "has no broadcast forest" : "has a broadcast forest, but this collective only sums",
                  wholeSchedule());
    }
    if (m_schedule.fixedK && *m_schedule.fixedK < 1) {
      m_log.fault("fixed k is " + std::to_string(*m_schedule.fixedK) + "; it must be at least 1", wholeSchedule());
    }
    checkOverlapFrame();
    if (m_log.faultCount() != before) {
      return false;
    }
    if (isRooted()) {
      m_demand.assign(gpuCount, 0);
      m_demand[*m_schedule.root] = 1;
    } else if (m_schedule.amounts.empty()) {
      m_demand.assign(gpuCount, 1);
    } else {
      m_demand = m_schedule.amounts;
    }
    for (const std::int64_t amount : m_demand) {
      m_totalDemand = checkedAdd(m_totalDemand, amount);
    }
    return true;
  }

  /// What cannot be stated beside halves that overlap.
  void checkOverlapFrame() {
    if (!m_schedule.overlapped) {
      return;
    }
    if (m_schedule.collective != Collective::allreduce) {
      m_log.fault("its halves overlap, but only an allreduce has two halves", wholeSchedule(), "remove overlapped");
    }
    if (m_schedule.fixedK) {
      m_log.fault("states a fixed k, but where the halves overlap each root has its own number of trees",
                  wholeSchedule(), "remove fixed_k");
    }
    if (!m_schedule.amounts.empty()) {
      m_log.fault("states amounts per rank, but where the halves overlap each root has its own number of trees",
                  wholeSchedule(), "remove the amounts");
    }
  }

  void checkForests() {
    if (m_schedule.overlapped) {
      checkOverlappedForests();
      return;
    }
    const bool both = reduces() && broadcasts();
    if (reduces()) {
      const ForestFacts facts =
          checkForest(m_fabric, *m_schedule.reduceForest,
                      {Direction::in, m_demand, m_schedule.fixedK, both ? "reduce forest" : "forest",
                       m_options.maxEdges, m_schedule.ownCopies},
                      m_log, m_progress);
      m_reduceAlgbw = facts.algbw;
      m_verdict.isBySymmetry = m_verdict.isBySymmetry || facts.isBySymmetry;
      m_verdict.algbw = facts.algbw;
      m_verdict.busiestLoad = facts.busiestLoad;
    }
    if (broadcasts()) {
      const ForestFacts facts =
          checkForest(m_fabric, *m_schedule.broadcastForest,
                      {Direction::out, m_demand, m_schedule.fixedK, both ? "broadcast forest" : "forest",
                       m_options.maxEdges, m_schedule.ownCopies},
                      m_log, m_progress);
      m_broadcastAlgbw = facts.algbw;
      m_verdict.isBySymmetry = m_verdict.isBySymmetry || facts.isBySymmetry;
      m_verdict.algbw = facts.algbw;
      m_verdict.busiestLoad = std::max(m_verdict.busiestLoad, facts.busiestLoad);
    }
    if (both) {
      // One half after the other: times add up.
      m_verdict.algbw = m_reduceAlgbw.isPositive() && m_broadcastAlgbw.isPositive()
                            ? (m_reduceAlgbw.inverse() + m_broadcastAlgbw.inverse()).inverse()
                            : Bandwidth();
    }
  }

  /// Both halves at the same time: equal trees per root and scales, and the sum of the loads on each link.
  void checkOverlappedForests() {
    const schedule::Forest& reduce = *m_schedule.reduceForest;
    const schedule::Forest& broadcast = *m_schedule.broadcastForest;
    ForestFacts in = checkForest(
        m_fabric, reduce,
        {Direction::in, {}, {}, "reduce forest", m_options.maxEdges, m_schedule.ownCopies, /*sharesLinks=*/true}, m_log,
        m_progress);
    const ForestFacts out = checkForest(
        m_fabric, broadcast,
        {Direction::out, {}, {}, "broadcast forest", m_options.maxEdges, m_schedule.ownCopies, /*sharesLinks=*/true},
        m_log, m_progress);
    m_verdict.isBySymmetry = in.isBySymmetry || out.isBySymmetry;
    if (!in.algbw.isPositive() || !out.algbw.isPositive()) {
      return;
    }
    for (fabric::Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      if (reduce.treesOfRoot[rank] != broadcast.treesOfRoot[rank]) {
        m_log.fault("root " + gpuName(m_fabric, rank) + " has " + counted(reduce.treesOfRoot[rank], "tree") +
                        " in the reduce forest and " + std::to_string(broadcast.treesOfRoot[rank]) +
                        " in the broadcast forest; where the halves overlap both are equal, as a root sends out what "
                        "it has summed",
                    wholeSchedule());
      }
    }
    if (reduce.scale != broadcast.scale) {
      m_log.fault("the scale of the reduce forest is " + toFraction(reduce.scale) + ", that of the broadcast forest " +
                      toFraction(broadcast.scale) + "; where the halves overlap both are equal",
                  wholeSchedule());
      return;
    }
    m_verdict.algbw = std::min(in.algbw, out.algbw);
    if (!in.loadOfArc.empty() && !out.loadOfArc.empty()) {
      for (std::size_t arc = 0; arc < in.loadOfArc.size(); ++arc) {
        in.loadOfArc[arc] = checkedAdd(in.loadOfArc[arc], out.loadOfArc[arc]);
      }
      m_verdict.busiestLoad = checkLoads(m_fabric, in.loadOfArc, reduce.scale, " of both forests", {}, m_log);
    }
  }

  void checkClaims() {
    const Bandwidth& algbw = m_verdict.algbw;
    if (!algbw.isPositive()) {
      return;
    }
    if (m_schedule.algbw != algbw) {
      m_log.fault("claims algbw " + toFraction(m_schedule.algbw) + " GB/s, the trees reach " + toFraction(algbw),
                  wholeSchedule());
    }
    if (algbw > m_schedule.bound) {
      m_log.fault("the trees reach " + toFraction(algbw) + " GB/s, more than the stated bound of " +
                      toFraction(m_schedule.bound),
                  wholeSchedule());
    } else if (!m_schedule.fixedK && !m_schedule.overlapped && !m_schedule.ownCopies && algbw != m_schedule.bound) {
      m_log.fault("the trees reach " + toFraction(algbw) + " GB/s of the bound's " + toFraction(m_schedule.bound) +
                      "; only a fixed k may fall short",
                  wholeSchedule());
    }
    if (m_schedule.allreduceBound) {
      if (m_schedule.collective != Collective::allreduce) {
        m_log.fault("states an allreduce bound, but is not an allreduce", wholeSchedule());
      } else if (*m_schedule.allreduceBound < algbw) {
        m_log.fault("states an allreduce bound of " + toFraction(*m_schedule.allreduceBound) +
                        " GB/s, which the trees exceed with " + toFraction(algbw),
                    wholeSchedule());
      }
    }
    if (m_schedule.overlapped && !m_schedule.allreduceBound) {
      m_log.fault("states no allreduce bound; where the halves overlap it is the bound", wholeSchedule(),
                  "state the bound as the allreduce bound too");
    } else if (m_schedule.overlapped && *m_schedule.allreduceBound != m_schedule.bound) {
      m_log.fault("states a bound of " + toFraction(m_schedule.bound) + " GB/s and an allreduce bound of " +
                      toFraction(*m_schedule.allreduceBound) + "; where the halves overlap both are equal",
                  wholeSchedule());
    }
  }

  /// Rate that a cut with this crossing bandwidth allows.
  [[nodiscard]] Bandwidth rateOf(const Cut& cut, const Bandwidth& bandwidth) const {
    return Rational(m_totalDemand, cut.demand) * bandwidth;
  }

  void checkBound() {
    if (!m_schedule.bound.isPositive()) {
      m_log.fault("states a bound of " + toFraction(m_schedule.bound) + " GB/s", wholeSchedule());
      return;
    }
    if (m_schedule.overlapped) {
      checkOverlapBound();
      return;
    }
    if (m_schedule.bottlenecks.empty() && m_fabric.isBalanced()) {
      m_log.fault("states no bottleneck cut, so nothing proves its bound", wholeSchedule());
      return;
    }
    const std::int64_t before = m_log.faultCount();
    if (m_schedule.collective == Collective::allreduce) {
      checkAllreduceBound();
    } else {
      checkPlainBound(broadcasts() ? Direction::out : Direction::in);
    }
    if (!m_verdict.boundProved && m_log.faultCount() == before) {
      const std::string bound = "the bound of " + toFraction(m_schedule.bound) + " GB/s";
      m_log.note(!m_options.maxFlow ? bound + " was not proved: max flow was not run, and the trees do not reach a cut"
                 : !m_fabric.isBalanced() ? "the fabric is not balanced and no cut proves " + bound +
                                                "; it holds for a balanced part of the fabric"
                                          : bound + " was not proved",
                 wholeSchedule());
    }
  }

  /// Where the halves overlap. Of the two trees of any part of the data, one enters a node set that separates GPUs and
  /// the other leaves it, wherever the root is. So all data cross each cut in each direction, and a cut allows no more
  /// than its bandwidth. Without a cut nothing in the schedule proves the bound.
  void checkOverlapBound() {
    for (std::size_t i = 0; i < m_schedule.bottlenecks.size(); ++i) {
      throwIfCancelled(m_progress);
      const Cut& cut = m_schedule.bottlenecks[i];
      const ElementRef element{RefKind::cut, i};
      if (!isSoundCut(m_fabric, cut, m_demand, element, m_log) || !hasStatedBandwidth(cut, element)) {
        return;
      }
      if (cut.exitBandwidth != m_schedule.bound) {
        m_log.fault(
            "allows " + toFraction(cut.exitBandwidth) + " GB/s, the stated bound is " + toFraction(m_schedule.bound),
            element);
        return;
      }
    }
    m_verdict.boundProved = !m_schedule.bottlenecks.empty();
  }

  /// Whether the stated bandwidth leaves or enters the cut.
  bool hasStatedBandwidth(const Cut& cut, const ElementRef& element) {
    const Bandwidth leaving = crossingBandwidth(m_fabric, cut.nodes, Direction::out);
    const Bandwidth entering = crossingBandwidth(m_fabric, cut.nodes, Direction::in);
    if (cut.exitBandwidth != leaving && cut.exitBandwidth != entering) {
      m_log.fault("states " + toFraction(cut.exitBandwidth) + " GB/s, but " + toFraction(leaving) + " GB/s leave and " +
                      toFraction(entering) + " GB/s enter it",
                  element);
      return false;
    }
    return true;
  }

  void checkPlainBound(Direction direction) {
    bool cutsHold = true;
    for (std::size_t i = 0; i < m_schedule.bottlenecks.size(); ++i) {
      throwIfCancelled(m_progress);
      cutsHold = checkCut(i, direction) && cutsHold;
    }
    if (!cutsHold) {
      return;
    }
    const bool hasCut = !m_schedule.bottlenecks.empty();
    const auto rate = m_options.maxFlow ? prove(direction, m_schedule.bound) : std::nullopt;
    if (!rate) {
      m_verdict.boundProved = hasCut && treesReachBound();
      return;
    }
    if (rate->proof == RateProof::tooHigh) {
      faultTooHigh(*rate, direction, m_schedule.bound);
      return;
    }
    m_verdict.boundProved = hasCut || rate->proof == RateProof::exact;
  }

  /// proveRate, or nullopt and a note where its integers leave 64 bits.
  std::optional<RateVerdict> prove(Direction direction, const Bandwidth& rate) {
    try {
      // The rotations were shown to be symmetries; their products take rank 0 to every rank.
      const bool isTransitive =
          m_verdict.isBySymmetry && m_log.faultCount() == 0 && m_schedule.amounts.empty() && !isRooted();
      return proveRate(m_fabric, m_demand, direction, rate, isTransitive, m_progress);
    } catch (const OverflowError&) {
      m_log.note("the bound was not checked by max flow: as whole numbers, the bandwidths leave 64 bits",
                 wholeSchedule(), "use bandwidths with smaller numerators and denominators");
      return std::nullopt;
    }
  }

  /// Trees that reach the value of a true cut prove both.
  [[nodiscard]] bool treesReachBound() const { return m_verdict.algbw == m_schedule.bound && m_log.faultCount() == 0; }

  bool checkCut(std::size_t index, Direction direction) {
    const Cut& cut = m_schedule.bottlenecks[index];
    const ElementRef element{RefKind::cut, index};
    if (!isSoundCut(m_fabric, cut, m_demand, element, m_log)) {
      return false;
    }
    const Bandwidth bandwidth = crossingBandwidth(m_fabric, cut.nodes, direction);
    if (bandwidth != cut.exitBandwidth) {
      m_log.fault("states " + toFraction(cut.exitBandwidth) + " GB/s, but " + toFraction(bandwidth) + " GB/s " +
                      (direction == Direction::out ? "leave it" : "enter it"),
                  element);
      return false;
    }
    const Bandwidth allowed = rateOf(cut, bandwidth);
    if (allowed != m_schedule.bound) {
      m_log.fault("allows " + toFraction(allowed) + " GB/s, the stated bound is " + toFraction(m_schedule.bound),
                  element);
      return false;
    }
    return true;
  }

  void faultTooHigh(const RateVerdict& rate, Direction direction, const Bandwidth& claimed) {
    std::int64_t cutDemand = 0;
    std::string names;
    int gpus = 0;
    for (const fabric::NodeIndex node : rate.cutNodes) {
      const fabric::Node& info = m_fabric.nodes()[node];
      if (info.kind == fabric::NodeKind::gpu) {
        cutDemand += m_demand[info.rank];
        if (++gpus <= 8) {
          names += (names.empty() ? "" : ", ") + nodeName(m_fabric, node);
        }
      }
    }
    const Bandwidth bandwidth = crossingBandwidth(m_fabric, rate.cutNodes, direction);
    const Bandwidth allowed = cutDemand > 0 ? Rational(m_totalDemand, cutDemand) * bandwidth : Bandwidth();
    m_log.fault("a bound of " + toFraction(claimed) + " GB/s is too high: " + gpuName(m_fabric, rate.starved) +
                    " cannot receive it, because the cut of " + std::to_string(rate.cutNodes.size()) +
                    " nodes around " + names + (gpus > 8 ? " and more" : "") + " allows " + toFraction(allowed),
                wholeSchedule());
  }

  /// bound = 1/(1/h + 1/o) with h the bound of the half whose cut is stated (the slower) and o that of the other.
  void checkAllreduceBound() {
    const bool hasCut = !m_schedule.bottlenecks.empty();
    if (!hasCut) {
      checkHalvesWithoutCut();
      return;
    }
    Bandwidth slower;
    bool fitsOut = true;
    bool fitsIn = true;
    for (std::size_t i = 0; i < m_schedule.bottlenecks.size(); ++i) {
      const Cut& cut = m_schedule.bottlenecks[i];
      const ElementRef element{RefKind::cut, i};
      if (!isSoundCut(m_fabric, cut, m_demand, element, m_log)) {
        return;
      }
      const Bandwidth leaving = crossingBandwidth(m_fabric, cut.nodes, Direction::out);
      const Bandwidth entering = crossingBandwidth(m_fabric, cut.nodes, Direction::in);
      fitsOut = fitsOut && cut.exitBandwidth == leaving;
      fitsIn = fitsIn && cut.exitBandwidth == entering;
      if (!fitsOut && !fitsIn) {
        m_log.fault("states " + toFraction(cut.exitBandwidth) + " GB/s, but " + toFraction(leaving) +
                        " GB/s leave and " + toFraction(entering) + " GB/s enter it",
                    element);
        return;
      }
      const Bandwidth allowed = rateOf(cut, cut.exitBandwidth);
      if (i > 0 && allowed != slower) {
        m_log.fault("allows " + toFraction(allowed) + " GB/s, the cut before it " + toFraction(slower), element);
        return;
      }
      slower = allowed;
    }
    const InverseBandwidth restInverse = m_schedule.bound.inverse() - slower.inverse();
    if (!restInverse.isPositive() || restInverse > slower.inverse() ||
        (m_fabric.isBalanced() && restInverse != slower.inverse())) {
      m_log.fault("its cuts allow " + toFraction(slower) +
                      " GB/s for the slower half, which does not give the bound of " + toFraction(m_schedule.bound),
                  wholeSchedule());
      return;
    }
    const Bandwidth faster = restInverse.inverse();
    if (m_fabric.isBalanced()) {
      // What leaves a set equals what enters it, so one direction proves both.
      const auto rate = m_options.maxFlow ? prove(Direction::out, slower) : std::nullopt;
      if (!rate) {
        m_verdict.boundProved = std::min(m_reduceAlgbw, m_broadcastAlgbw) == slower && treesReachBound();
      } else if (rate->proof == RateProof::tooHigh) {
        faultTooHigh(*rate, Direction::out, slower);
      } else {
        m_verdict.boundProved = rate->proof == RateProof::exact;
      }
      return;
    }
    if (m_options.maxFlow) {
      checkHalves(fitsOut, fitsIn, slower, faster);
    }
  }

  /// Unbalanced fabric with cuts: the slower half may be either, where the cuts fit both.
  void checkHalves(bool slowerMayBeOut, bool slowerMayBeIn, const Bandwidth& slower, const Bandwidth& faster) {
    bool achievable = false;
    RateVerdict failed;
    Direction failedDirection = Direction::out;
    Bandwidth failedRate;
    for (const Direction slowDirection : {Direction::in, Direction::out}) {
      const bool isOut = slowDirection == Direction::out;
      if (!(isOut ? slowerMayBeOut : slowerMayBeIn)) {
        continue;
      }
      const Direction otherDirection = isOut ? Direction::in : Direction::out;
      const auto slow = prove(slowDirection, slower);
      const auto fast = slow ? prove(otherDirection, faster) : std::nullopt;
      if (!fast) {
        return;
      }
      if (slow->proof == RateProof::tooHigh || fast->proof == RateProof::tooHigh) {
        const bool slowFails = slow->proof == RateProof::tooHigh;
        failed = slowFails ? *slow : *fast;
        failedDirection = slowFails ? slowDirection : otherDirection;
        failedRate = slowFails ? slower : faster;
        continue;
      }
      achievable = true;
      m_verdict.boundProved = m_verdict.boundProved || fast->proof == RateProof::exact;
    }
    if (!achievable) {
      faultTooHigh(failed, failedDirection, failedRate);
    }
  }

  /// Unbalanced fabric, no cut: with a free k the trees state the halves' bounds, and max flow may show them exact.
  void checkHalvesWithoutCut() {
    if (!m_options.maxFlow || m_schedule.fixedK || !m_reduceAlgbw.isPositive() || !m_broadcastAlgbw.isPositive()) {
      return;
    }
    const auto reduce = prove(Direction::in, m_reduceAlgbw);
    const auto broadcast = reduce ? prove(Direction::out, m_broadcastAlgbw) : std::nullopt;
    if (!broadcast) {
      return;
    }
    if (reduce->proof == RateProof::tooHigh) {
      faultTooHigh(*reduce, Direction::in, m_reduceAlgbw);
    }
    if (broadcast->proof == RateProof::tooHigh) {
      faultTooHigh(*broadcast, Direction::out, m_broadcastAlgbw);
    }
    m_verdict.boundProved = reduce->proof == RateProof::exact && broadcast->proof == RateProof::exact &&
                            m_verdict.algbw == m_schedule.bound;
  }

  const fabric::Fabric& m_fabric;
  const Schedule& m_schedule;
  const ScheduleCheckOptions& m_options;
  const Progress& m_progress;
  FaultLog m_log;
  ScheduleVerdict m_verdict;
  std::vector<std::int64_t> m_demand;
  std::int64_t m_totalDemand = 0;
  Bandwidth m_reduceAlgbw;
  Bandwidth m_broadcastAlgbw;
};

}  // namespace

Result<ScheduleVerdict> verifySchedule(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                       const ScheduleCheckOptions& options, const Progress& progress) {
  try {
    return ScheduleCheck(fabric, schedule, options, progress).run();
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, std::string("the schedule cannot be checked exactly: ") + error.what(),
                 "use bandwidths with smaller numerators and denominators"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "verification was cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "not enough memory to verify the schedule"};
  }
}

}  // namespace coppice::verify
