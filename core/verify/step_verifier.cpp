// SPDX-License-Identifier: Apache-2.0
#include "verify/step_verifier.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "verify/arc_index.hpp"
#include "verify/demand.hpp"
#include "verify/fault_log.hpp"
#include "verify/step_loads.hpp"
#include "verify/step_order.hpp"
#include "verify/step_state.hpp"

namespace coppice::verify {
namespace {

using fabric::Rank;
using schedule::PathId;
using schedule::StepSchedule;
using schedule::Transfer;
using std::int64_t;

class StepCheck {
public:
  StepCheck(const fabric::Fabric& fabric, const StepSchedule& schedule, const Progress& progress)
      : m_fabric(fabric), m_schedule(schedule), m_progress(progress), m_demand(schedule.goal) {}

  Result<StepVerdict> run() {
    StepVerdict verdict;
    if (checkFrame()) {
      checkRoutes();
      checkTransfers();
    }
    if (m_log.faultCount() == 0) {
      checkData();
    }
    if (m_log.faultCount() == 0) {
      auto cost = addUpLoads(m_fabric, m_schedule, m_demand, m_routes, m_depth, m_progress);
      if (!cost) {
        return cost.error();
      }
      if (cost->algbw != m_schedule.algbw) {
        m_log.fault("claims " + toFraction(m_schedule.algbw) + " GB/s, its loads give " + toFraction(cost->algbw),
                    wholeSchedule());
      }
      verdict.cost = std::move(*cost);
    }
    m_progress.report("verifying", 1);
    verdict.ok = m_log.faultCount() == 0;
    verdict.findings = m_log.take();
    return verdict;
  }

private:
  bool checkFrame() {
    if (m_schedule.fabricDigest != m_fabric.digest()) {
      m_log.fault("made for the fabric with digest " + m_schedule.fabricDigest.substr(0, 64) + ", this one has " +
                      m_fabric.digest(),
                  wholeSchedule(), "verify it against the fabric it was made for, or generate it again");
      return false;
    }
    if (m_schedule.goal.rankCount() != m_fabric.gpuCount()) {
      m_log.fault("is for " + std::to_string(m_schedule.goal.rankCount()) + " ranks, the fabric has " +
                      std::to_string(m_fabric.gpuCount()) + " GPUs",
                  wholeSchedule());
    }
    if (m_schedule.denominator < 1) {
      m_log.fault("the denominator of its pieces is " + std::to_string(m_schedule.denominator), wholeSchedule());
    }
    if (m_schedule.stepCount < 1) {
      m_log.fault("has no steps", wholeSchedule());
    }
    if (m_schedule.isSynchronous && m_schedule.keepsOrder) {
      m_log.fault("orders transfers between two GPUs, but is synchronous", wholeSchedule());
    }
    if (!m_schedule.rounds.empty()) {
      const auto& rounds = m_schedule.rounds;
      if (static_cast<std::int32_t>(rounds.size()) != m_schedule.stepCount) {
        m_log.fault("states the rounds of " + std::to_string(rounds.size()) + " steps, it has " +
                        std::to_string(m_schedule.stepCount),
                    wholeSchedule());
      } else if (*std::min_element(rounds.begin(), rounds.end()) < 1) {
        m_log.fault("a step has fewer than one round", wholeSchedule());
      }
    }
    return m_log.faultCount() == 0;
  }

  void checkRoutes() {
    const ArcIndex links(m_fabric);
    m_isRouteSound.assign(m_schedule.paths.size(), 0);
    for (PathId route = 0; route < m_schedule.paths.size(); ++route) {
      m_isRouteSound[route] = checkRoute(links, route) ? 1 : 0;
      m_routes.first.push_back(static_cast<int64_t>(m_routes.arcs.size()));
    }
  }

  /// Notes its arcs.
  bool checkRoute(const ArcIndex& links, PathId route) {
    const auto nodes = m_schedule.paths[route];
    const ElementRef element{RefKind::route, route};
    const auto isNode = [&](fabric::NodeIndex node) { return node >= 0 && node < m_fabric.nodeCount(); };
    if (nodes.size() < 2 || !std::all_of(nodes.begin(), nodes.end(), isNode)) {
      m_log.fault("it does not join two nodes of the fabric: " + routeName(m_fabric, nodes), element);
      return false;
    }
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      m_routes.arcs.push_back(links.find(nodes[i - 1], nodes[i]));
      if (m_routes.arcs.back() == ArcIndex::kNone) {
        m_log.fault("there is no link " + nodeName(m_fabric, nodes[i - 1]) + " -> " + nodeName(m_fabric, nodes[i]),
                    element);
        return false;
      }
      if (i + 1 < nodes.size() && m_fabric.nodes()[nodes[i]].kind == fabric::NodeKind::gpu) {
        m_log.fault("it passes through the GPU " + nodeName(m_fabric, nodes[i]) + ", which is not a relay", element,
                    "make it two transfers");
        return false;
      }
    }
    return true;
  }

  void checkTransfers() {
    const auto& transfers = m_schedule.transfers;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const Transfer transfer = transfers[i];
      const std::string text = shapeFault(transfer);
      if (!text.empty()) {
        m_log.fault(text, {RefKind::transfer, i});
      } else if (i > 0 && transfer.step < transfers.steps()[i - 1]) {
        m_log.fault("its step " + std::to_string(transfer.step) + " comes after step " +
                        std::to_string(transfers.steps()[i - 1]),
                    {RefKind::transfer, i}, "sort the transfers by step");
      }
      if (!m_log.wantsMore()) {
        return;
      }
    }
  }

  [[nodiscard]] std::string shapeFault(const Transfer& transfer) const {
    const Demand& goal = m_demand;
    if (transfer.shard < 0 || transfer.shard >= goal.shardCount()) {
      return "there is no shard " + std::to_string(transfer.shard);
    }
    if (transfer.begin < 0 || transfer.end > m_schedule.denominator || transfer.begin >= transfer.end) {
      return "its piece [" + std::to_string(transfer.begin) + ", " + std::to_string(transfer.end) + ") of " +
             std::to_string(m_schedule.denominator) + " is empty or outside of the shard";
    }
    const auto isRank = [&](Rank rank) { return rank >= 0 && rank < goal.rankCount(); };
    if (!isRank(transfer.from) || !isRank(transfer.to)) {
      return "there is no rank " + std::to_string(isRank(transfer.from) ? transfer.to : transfer.from);
    }
    if (transfer.from == transfer.to) {
      return gpuName(m_fabric, transfer.from) + " sends to itself";
    }
    if (transfer.step < 0 || transfer.step >= m_schedule.stepCount) {
      return "there is no step " + std::to_string(transfer.step);
    }
    if (transfer.reduces && !goal.combines(transfer.shard)) {
      return "it reduces shard " + std::to_string(transfer.shard) + ", which is not combined";
    }
    if (transfer.route < 0 || transfer.route >= m_schedule.paths.size()) {
      return transfer.route == schedule::kNoRoute ? "it has no route"
                                                  : "there is no route " + std::to_string(transfer.route);
    }
    const auto nodes = m_schedule.paths[transfer.route];
    if (m_isRouteSound[transfer.route] != 0 &&
        (nodes.front() != m_fabric.gpus()[transfer.from] || nodes.back() != m_fabric.gpus()[transfer.to])) {
      return "its route " + routeName(m_fabric, nodes) + " does not join " + gpuName(m_fabric, transfer.from) + " to " +
             gpuName(m_fabric, transfer.to);
    }
    return {};
  }

  void checkData() {
    StepOrder order;
    if (!m_schedule.isSynchronous) {
      order = orderOf(m_schedule, m_demand.shardCount(), m_progress);
      if (!order.cycle.empty()) {
        m_log.fault("Transfers wait for each other in a cycle: " + order.cycle, wholeSchedule(),
                    "remove one of these waits");
        return;
      }
      m_depth = order.depth;
    }
    playShards(order.place);
  }

  /// Blocks of shards on all cores; findings in the order of the shards.
  void playShards(const std::vector<std::uint32_t>& place) {
    const int64_t shards = m_demand.shardCount();
    const ShardTransfers byShard(m_schedule, shards);
    const int64_t blocks = std::min<int64_t>(shards, 256);
    std::vector<std::vector<StepFault>> faults(blocks);
    std::vector<int64_t> counts(blocks, 0);
    std::atomic<int64_t> done = 0;
    std::mutex reporting;
    parallelFor(static_cast<std::size_t>(blocks), [&](std::size_t block) {
      ShardPlayer player(m_fabric, m_schedule, m_demand, place);
      const auto first = shards * static_cast<int64_t>(block) / blocks;
      const auto last = shards * (static_cast<int64_t>(block) + 1) / blocks;
      for (int64_t shard = first; shard < last; ++shard) {
        throwIfCancelled(m_progress);
        player.play(shard, byShard.of(shard));
      }
      counts[block] = player.faultCount();
      faults[block] = player.takeFaults();
      const std::scoped_lock lock(reporting);
      m_progress.report("verifying", static_cast<double>(++done) / static_cast<double>(blocks));
    });
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t listed = 0;
      for (StepFault& fault : faults[block]) {
        if (fault.isWarning) {
          m_log.note(std::move(fault.text), std::move(fault.element));
        } else {
          m_log.fault(std::move(fault.text), std::move(fault.element));
          ++listed;
        }
      }
      constexpr int64_t kMaxCounted = 1'000'000;
      for (; listed < std::min(counts[block], kMaxCounted); ++listed) {
        m_log.fault({}, {});  // counted; the list is full
      }
    }
  }

  const fabric::Fabric& m_fabric;
  const StepSchedule& m_schedule;
  const Progress& m_progress;
  Demand m_demand;
  FaultLog m_log;
  std::vector<char> m_isRouteSound;
  RouteArcs m_routes;
  std::int32_t m_depth = 0;  ///< asynchronous: of the order that was played
};

}  // namespace

Result<StepVerdict> verifySteps(const fabric::Fabric& fabric, const StepSchedule& schedule, const Progress& progress) {
  try {
    return StepCheck(fabric, schedule, progress).run();
  } catch (const TooManyPieces&) {
    return Error{ErrorCode::limit, "The pieces of the transfers overlap too often to be verified",
                 "cut the shards into pieces with common ends"};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The loads of the schedule leave the 64-bit range",
                 "use pieces or bandwidths with a smaller common denominator"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::verify
