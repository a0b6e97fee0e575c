// SPDX-License-Identifier: Apache-2.0
#include "schedule/step_cost.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/transfer_order.hpp"

namespace coppice::schedule {
namespace {

using fabric::NodeIndex;
using std::int64_t;

/// Bandwidths as whole numbers of the largest unit, which are quick to compare. Empty where there is no unit within 64
/// bits: costs of a topology file are decimals, and bandwidths their inverses.
std::vector<int64_t> wholeBandwidths(const fabric::Fabric& fabric) {
  try {
    int64_t denominator = 1;
    int64_t common = 0;
    for (const fabric::Arc& arc : fabric.arcs()) {
      const Rational& rate = arc.bandwidth.gigabytesPerSecond();
      denominator = leastCommonMultiple(denominator, rate.denominator());
      common = std::gcd(common, rate.numerator());
    }
    common = std::max<int64_t>(common, 1);
    std::vector<int64_t> whole;
    whole.reserve(fabric.arcs().size());
    for (const fabric::Arc& arc : fabric.arcs()) {
      const Rational& rate = arc.bandwidth.gigabytesPerSecond();
      whole.push_back(checkedMul(rate.numerator() / common, denominator / rate.denominator()));
    }
    return whole;
  } catch (const OverflowError&) {
    return {};
  }
}

class Cost {
public:
  Cost(const fabric::Fabric& fabric, const StepSchedule& schedule, const Progress& progress,
       std::optional<std::int32_t> depth)
      : m_fabric(fabric),
        m_schedule(schedule),
        m_progress(progress),
        m_depth(depth),
        m_whole(wholeBandwidths(fabric)),
        m_stepLoad(fabric.arcs().size(), 0),
        m_total(fabric.arcs().size(), 0) {}

  Result<StepCost> run() {
    if (m_schedule.transfers.empty()) {
      return Error{ErrorCode::infeasible, "The schedule has no transfer"};
    }
    weigh();
    findRoutes();
    if (m_fault) {
      return *m_fault;
    }
    addLoads();
    if (m_fault) {
      return *m_fault;
    }
    return finish();
  }

private:
  /// By shard: share * m_shareUnits, a whole number.
  void weigh() {
    const CollectiveTable& goal = m_schedule.goal;
    for (int64_t shard = 0; shard < goal.shardCount(); ++shard) {
      m_shareUnits = leastCommonMultiple(m_shareUnits, goal.share(shard).denominator());
    }
    m_weight.resize(goal.shardCount());
    for (int64_t shard = 0; shard < goal.shardCount(); ++shard) {
      const Rational share = goal.share(shard);
      m_weight[shard] = checkedMul(share.numerator(), m_shareUnits / share.denominator());
    }
  }

  /// The arcs of every route of the pool.
  void findRoutes() {
    const ArcFinder finder(m_fabric, Direction::out);
    m_routeStart.push_back(0);
    for (PathId route = 0; route < m_schedule.paths.size(); ++route) {
      const auto nodes = m_schedule.paths[route];
      for (std::size_t i = 1; i < nodes.size(); ++i) {
        const bool isInside =
            std::min(nodes[i - 1], nodes[i]) >= 0 && std::max(nodes[i - 1], nodes[i]) < m_fabric.nodeCount();
        const std::int32_t arc = isInside ? finder.find(nodes[i - 1], nodes[i]) : kNoArc;
        if (arc == kNoArc) {
          m_fault = Error{ErrorCode::verification,
                          "The route uses a link that the fabric does not have",
                          "verify the schedule against the fabric it was made for",
                          {.element = {RefKind::route, route}}};
          return;
        }
        m_routeArcs.push_back(arc);
      }
      m_routeStart.push_back(static_cast<int64_t>(m_routeArcs.size()));
    }
  }

  void addLoads() {
    m_cost.stepLoads.resize(m_schedule.stepCount);
    const TransferList& transfers = m_schedule.transfers;
    std::int32_t step = -1;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (i % 65536 == 0) {
        throwIfCancelled(m_progress);
      }
      const Transfer transfer = transfers[i];
      if (transfer.route == kNoRoute) {
        m_fault = Error{ErrorCode::verification,
                        "The transfer has no route",
                        "add routes first",
                        {.element = {RefKind::transfer, i}}};
        return;
      }
      if (transfer.step != step) {
        closeStep(step);
        step = transfer.step;
      }
      add(transfer);
    }
    closeStep(step);
  }

  void add(const Transfer& transfer) {
    const int64_t amount = checkedMul(transfer.end - transfer.begin, m_weight[transfer.shard]);
    const int64_t first = m_routeStart[transfer.route];
    const int64_t last = m_routeStart[transfer.route + 1];
    for (int64_t i = first; i < last; ++i) {
      const std::int32_t arc = m_routeArcs[i];
      if (m_stepLoad[arc] == 0 && amount > 0) {
        m_touched.push_back(arc);
      }
      m_stepLoad[arc] = checkedAdd(m_stepLoad[arc], amount);
    }
    const int hops = static_cast<int>(last - first);
    m_maxStretch = std::max(m_maxStretch, hops);
    m_hopSum += static_cast<double>(amount) * hops;
    m_amountSum += static_cast<double>(amount);
  }

  void closeStep(std::int32_t step) {
    std::int32_t busiest = kNoArc;
    for (const std::int32_t arc : m_touched) {
      if (busiest == kNoArc || isBusier(arc, busiest)) {
        busiest = arc;
      }
    }
    if (busiest != kNoArc) {
      int64_t& sum = m_loadOnBandwidth[bandwidth(busiest)];
      sum = checkedAdd(sum, m_stepLoad[busiest]);
      m_cost.stepLoads[step] = {busiest, perByte(m_stepLoad[busiest], bandwidth(busiest))};
    }
    for (const std::int32_t arc : m_touched) {
      m_total[arc] = checkedAdd(m_total[arc], m_stepLoad[arc]);
      m_stepLoad[arc] = 0;
    }
    m_touched.clear();
  }

  [[nodiscard]] const Bandwidth& bandwidth(std::int32_t arc) const { return m_fabric.arcs()[arc].bandwidth; }

  [[nodiscard]] bool isBusier(std::int32_t arc, std::int32_t other) const {
    return m_whole.empty() ? Rational(m_stepLoad[arc]) / bandwidth(arc) > Rational(m_stepLoad[other]) / bandwidth(other)
                           : Int128{m_stepLoad[arc]} * m_whole[other] > Int128{m_stepLoad[other]} * m_whole[arc];
  }

  [[nodiscard]] InverseBandwidth perByte(int64_t load, const Bandwidth& bandwidth) const {
    return Rational(load) / bandwidth / Rational(m_schedule.denominator) / Rational(m_shareUnits);
  }

  Result<StepCost> finish() {
    for (const auto& [bandwidth, load] : m_loadOnBandwidth) {
      m_cost.timePerByte += perByte(load, bandwidth);
    }
    if (m_cost.timePerByte.isZero()) {
      return Error{ErrorCode::infeasible, "The transfers carry no data"};
    }
    m_cost.algbw = m_cost.timePerByte.inverse();
    m_cost.traffic.reserve(m_total.size());
    for (const int64_t load : m_total) {
      m_cost.traffic.push_back(Rational(load, m_schedule.denominator) / Rational(m_shareUnits));
      m_cost.totalTraffic += m_cost.traffic.back();
    }
    m_cost.maxStretch = m_maxStretch;
    m_cost.meanStretch = m_hopSum / m_amountSum;
    if (m_schedule.isSynchronous) {
      m_cost.steps = m_schedule.stepCount;
      m_cost.rounds = m_schedule.rounds.empty()
                          ? m_cost.steps
                          : std::accumulate(m_schedule.rounds.begin(), m_schedule.rounds.end(), int64_t{0});
    } else {
      if (!m_depth) {
        const auto order = transferOrder(m_schedule, m_progress);
        if (!order) {
          return order.error();
        }
        m_depth = order->depth;
      }
      m_cost.steps = *m_depth;
      m_cost.rounds = *m_depth;
    }
    return std::move(m_cost);
  }

  const fabric::Fabric& m_fabric;
  const StepSchedule& m_schedule;
  const Progress& m_progress;
  std::optional<std::int32_t> m_depth;
  std::vector<int64_t> m_whole;  ///< bandwidth by arc
  int64_t m_shareUnits = 1;
  std::vector<int64_t> m_weight;
  std::vector<std::int32_t> m_routeArcs;
  std::vector<int64_t> m_routeStart;
  std::vector<int64_t> m_stepLoad;  ///< by arc, in 1/(denominator * m_shareUnits) of M
  std::vector<int64_t> m_total;
  std::vector<std::int32_t> m_touched;
  std::map<Bandwidth, int64_t> m_loadOnBandwidth;  ///< sum of the busiest loads of steps, by bandwidth
  int m_maxStretch = 0;
  double m_hopSum = 0;
  double m_amountSum = 0;
  std::optional<Error> m_fault;
  StepCost m_cost;
};

}  // namespace

Result<StepCost> stepCost(const fabric::Fabric& fabric, const StepSchedule& schedule, const Progress& progress,
                          std::optional<std::int32_t> depth) {
  return guarded([&] { return Cost(fabric, schedule, progress, depth).run(); },
                 {.overflow = "The loads of the schedule leave the 64-bit range",
                  .overflowFix = "use pieces or bandwidths with a smaller common denominator"});
}

}  // namespace coppice::schedule
