// SPDX-License-Identifier: Apache-2.0
#include "verify/step_loads.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.hpp"

namespace coppice::verify {
namespace {

using schedule::StepCost;
using schedule::StepSchedule;
using std::int64_t;

class Loads {
public:
  Loads(const fabric::Fabric& fabric, const StepSchedule& schedule, const Demand& demand, const RouteArcs& routes)
      : m_schedule(schedule), m_routes(routes), m_inStep(fabric.arcs().size(), 0), m_inAll(fabric.arcs().size(), 0) {
    std::vector<Rational> shares(demand.shardCount());
    for (std::size_t shard = 0; shard < shares.size(); ++shard) {
      shares[shard] = demand.share(static_cast<int64_t>(shard)) / Rational(schedule.denominator);
      m_parts = leastCommonMultiple(m_parts, shares[shard].denominator());
    }
    for (const Rational& share : shares) {
      m_weights.push_back((share * Rational(m_parts)).numerator());
    }
    std::map<Bandwidth, std::int32_t> known;
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_class.push_back(known.try_emplace(arc.bandwidth, static_cast<std::int32_t>(known.size())).first->second);
    }
    m_bandwidths.resize(known.size());
    for (const auto& [bandwidth, index] : known) {
      m_bandwidths[index] = bandwidth;
    }
    m_busiest.resize(known.size());
    m_sums.assign(known.size(), 0);
  }

  Result<StepCost> run(std::int32_t depth, const Progress& progress) {
    const schedule::TransferList& transfers = m_schedule.transfers;
    if (transfers.empty()) {
      return Error{ErrorCode::infeasible, "The schedule has no transfer"};
    }
    m_cost.stepLoads.resize(m_schedule.stepCount);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      constexpr std::size_t kMany = 65536;
      if (i % kMany == 0) {
        throwIfCancelled(progress);
      }
      add(transfers[i]);
      if (i + 1 == transfers.size() || transfers.steps()[i + 1] != transfers.steps()[i]) {
        endStep(transfers.steps()[i]);
      }
    }
    for (std::size_t index = 0; index < m_sums.size(); ++index) {
      m_cost.timePerByte += timeOf(m_sums[index], m_bandwidths[index]);
    }
    if (m_cost.timePerByte.isZero()) {
      return Error{ErrorCode::infeasible, "The transfers carry no data"};
    }
    m_cost.algbw = m_cost.timePerByte.inverse();
    for (const int64_t load : m_inAll) {
      m_cost.traffic.emplace_back(load, m_parts);
      m_cost.totalTraffic += m_cost.traffic.back();
    }
    m_cost.meanStretch = m_hops / m_bytes;
    m_cost.steps = m_schedule.isSynchronous ? m_schedule.stepCount : depth;
    m_cost.rounds = m_cost.steps;
    if (m_schedule.isSynchronous && !m_schedule.rounds.empty()) {
      m_cost.rounds = 0;
      for (const std::int32_t rounds : m_schedule.rounds) {
        m_cost.rounds += rounds;
      }
    }
    return std::move(m_cost);
  }

private:
  void add(const schedule::Transfer& transfer) {
    const int64_t load = checkedMul(transfer.end - transfer.begin, m_weights[transfer.shard]);
    const auto arcs = m_routes.of(transfer.route);
    for (const std::int32_t arc : arcs) {
      if (load > 0 && m_inStep[arc] == 0) {
        m_used.push_back(arc);
      }
      m_inStep[arc] = checkedAdd(m_inStep[arc], load);
    }
    m_cost.maxStretch = std::max(m_cost.maxStretch, static_cast<int>(arcs.size()));
    m_hops += static_cast<double>(load) * static_cast<double>(arcs.size());
    m_bytes += static_cast<double>(load);
  }

  /// The time of a step is that of its busiest link. Of links of one bandwidth it has the largest load.
  void endStep(std::int32_t step) {
    for (std::size_t i = 0; i < m_used.size(); ++i) {
      const std::int32_t index = m_class[m_used[i]];
      Busiest& busiest = m_busiest[index];
      if (busiest.load == 0) {
        m_usedClasses.push_back(index);
      }
      if (m_inStep[m_used[i]] > busiest.load) {
        busiest = {m_inStep[m_used[i]], i};
      }
    }
    schedule::StepLoad longest;
    std::size_t at = 0;
    std::int32_t longestClass = 0;
    for (const std::int32_t index : m_usedClasses) {
      const Busiest busiest = std::exchange(m_busiest[index], {});
      const InverseBandwidth time = timeOf(busiest.load, m_bandwidths[index]);
      if (longest.arc < 0 || time > longest.time || (time == longest.time && busiest.at < at)) {
        longest = {m_used[busiest.at], time};
        at = busiest.at;
        longestClass = index;
      }
    }
    if (longest.arc >= 0) {
      m_cost.stepLoads[step] = longest;
      m_sums[longestClass] = checkedAdd(m_sums[longestClass], m_inStep[longest.arc]);
    }
    for (const std::int32_t arc : m_used) {
      m_inAll[arc] = checkedAdd(m_inAll[arc], m_inStep[arc]);
      m_inStep[arc] = 0;
    }
    m_used.clear();
    m_usedClasses.clear();
  }

  [[nodiscard]] InverseBandwidth timeOf(int64_t load, const Bandwidth& bandwidth) const {
    return Rational(load, m_parts) / bandwidth;
  }

  struct Busiest {
    int64_t load = 0;
    std::size_t at = 0;  ///< into m_used
  };

  const StepSchedule& m_schedule;
  const RouteArcs& m_routes;
  int64_t m_parts = 1;                  ///< loads are in 1/m_parts of M
  std::vector<int64_t> m_weights;       ///< by shard: parts in the smallest piece
  std::vector<int64_t> m_inStep;        ///< by arc
  std::vector<int64_t> m_inAll;         ///< by arc
  std::vector<std::int32_t> m_used;     ///< arcs with a load in this step, as they come
  std::vector<std::int32_t> m_class;    ///< by arc: which of m_bandwidths it has
  std::vector<Bandwidth> m_bandwidths;  ///< all different
  std::vector<std::int32_t> m_usedClasses;
  std::vector<Busiest> m_busiest;  ///< by bandwidth, of this step
  std::vector<int64_t> m_sums;     ///< by bandwidth: loads of the steps whose busiest link has it
  double m_hops = 0;
  double m_bytes = 0;
  StepCost m_cost;
};

}  // namespace

Result<StepCost> addUpLoads(const fabric::Fabric& fabric, const StepSchedule& schedule, const Demand& demand,
                            const RouteArcs& routes, std::int32_t depth, const Progress& progress) {
  return Loads(fabric, schedule, demand, routes).run(depth, progress);
}

}  // namespace coppice::verify
