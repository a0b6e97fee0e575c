// SPDX-License-Identifier: Apache-2.0
#include "workflow/expert_layer.hpp"

#include <algorithm>
#include <utility>

#include "base/failure.hpp"
#include "fabric/gpu_boxes.hpp"
#include "fabric/structural_boxes.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/options.hpp"

namespace coppice::workflow {
namespace {

using fabric::Rank;

/// What each rank sends and receives, and the one that needs the longest.
/// @param egress by rank, the bandwidth of all its links
void addRanks(const std::vector<Bandwidth>& egress, const std::vector<Bandwidth>& ingress, ExchangeTime& time) {
  const auto count = static_cast<Rank>(egress.size());
  const auto alone = [](const Rational& bytes, const Bandwidth& rate) {
    return rate.isPositive() ? bytes / rate.gigabytesPerSecond() : Rational();
  };
  const auto& demand = time.table.demand;
  for (Rank rank = 0; rank < count; ++rank) {
    RankTraffic traffic;
    for (Rank other = 0; other < count; ++other) {
      traffic.sent += Rational(demand.amount(rank, other, count));
      traffic.received += Rational(demand.amount(other, rank, count));
    }
    traffic.sent *= time.table.unit;
    traffic.received *= time.table.unit;
    traffic.nanoseconds = std::max(alone(traffic.sent, egress[rank]), alone(traffic.received, ingress[rank]));
    time.ranks.push_back(traffic);
    if (traffic.nanoseconds > time.worstTraffic().nanoseconds) {
      time.worst = rank;
    }
  }
}

/// Rates that people print, and the traffic of each rank.
void addFigures(const fabric::Fabric& fabric, const std::vector<Rational>& loads, ExchangeTime& time) {
  const fabric::Fabric boxed = fabric::withBoxes(fabric);
  double outOfBoxes = 0;
  double intoGpus = 0;
  double intoBoxes = 0;
  std::vector<Bandwidth> egress(static_cast<std::size_t>(fabric.gpuCount()));
  std::vector<Bandwidth> ingress(egress);
  for (std::size_t arc = 0; arc < loads.size(); ++arc) {
    const fabric::Arc& ends = boxed.arcs()[arc];
    const fabric::Node& tail = boxed.nodes()[ends.tail];
    const fabric::Node& head = boxed.nodes()[ends.head];
    const double bytes = loads[arc].toDouble() * time.table.unit.toDouble();
    const bool crosses = tail.box != head.box;
    outOfBoxes += crosses && !tail.box.empty() ? bytes : 0;
    intoBoxes += crosses && !head.box.empty() ? bytes : 0;
    if (head.kind == fabric::NodeKind::gpu) {
      intoGpus += bytes;
      ingress[head.rank] += ends.bandwidth;
    }
    if (tail.kind == fabric::NodeKind::gpu) {
      egress[tail.rank] += ends.bandwidth;
    }
  }
  const double share = time.nanoseconds.toDouble() * fabric.gpuCount();
  time.networkGBps = share > 0 ? outOfBoxes / share : 0;
  time.boxGBps = share > 0 ? std::max(0.0, intoGpus - intoBoxes) / share : 0;
  addRanks(egress, ingress, time);
}

}  // namespace

bool ExchangeTime::areRanksAlike() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const RankTraffic& each) { return each.nanoseconds == worstTraffic().nanoseconds; });
}

Result<ExchangeTime> exchangeTime(const fabric::Fabric& fabric, alltoall::DemandTable table, bool withDirect,
                                  const alltoall::Request& limits, const Progress& progress) {
  return guarded(
      [&]() -> Result<ExchangeTime> {
        ExchangeTime time;
        time.table = std::move(table);
        alltoall::Request request = limits;
        request.demand = time.table.demand;
        time.optimum = orThrow(verifiedAlltoall(fabric, request, progress));
        time.nanoseconds = alltoall::nanosecondsOf(time.table.unit, time.optimum->lower, true);
        time.leastNanoseconds = alltoall::nanosecondsOf(time.table.unit, time.optimum->upper, false);
        addFigures(fabric, orThrow(alltoall::loadsOf(fabric, time.table.demand, time.optimum->routing)), time);
        if (withDirect) {
          request.demand.relays = false;
          if (const auto direct = verifiedAlltoall(fabric, request, progress)) {
            time.directNanoseconds = alltoall::nanosecondsOf(time.table.unit, (*direct)->lower, true);
          } else if (direct.error().code != ErrorCode::badUsage) {
            return direct.error();
          }
        }
        return time;
      },
      {.overflow = "the bytes leave the 64-bit range", .overflowFix = "use numbers with fewer digits"});
}

Result<ExpertAnswer> expertLayer(const fabric::Fabric& fabric, const ExpertQuestion& question,
                                 const alltoall::Request& limits, const Progress& progress) {
  return guarded([&]() -> Result<ExpertAnswer> {
    const bool isCounted = !question.counts.empty();
    if (isCounted && question.oncePerBox) {
      return optionError("once-per-box", "tokens for each expert do not say how many of them go to the same box",
                         "leave it out, or the table of tokens for expected numbers");
    }
    if (!isCounted && question.improves) {
      return optionError("improve-placement", "expected numbers are the same for every expert: no placement is better",
                         "give the tokens of each GPU for each expert with --counts");
    }
    ExpertAnswer answer;
    answer.boxOf = fabric::gpuBoxes(fabric::withBoxes(fabric)).boxOf;
    answer.placement = question.placement;
    const auto traffic = [&](std::int64_t bytes) {
      auto table = isCounted ? alltoall::countedTraffic(answer.placement, fabric.gpuCount(), question.counts, bytes)
                             : alltoall::expectedTraffic(answer.placement, answer.boxOf,
                                                         {question.tokens, question.topK, question.maxBoxes}, bytes,
                                                         question.oncePerBox);
      const ElementPart* const parameter = table ? nullptr : table.error().where.element.as(RefKind::parameter);
      if (parameter != nullptr) {
        throw Failure{optionError(parameter->name, table.error().message, table.error().fix)};
      }
      return orThrow(std::move(table));
    };
    // Once per box, GPUs pass on what the demand says already.
    const bool withDirect = !question.oncePerBox;
    const auto exchange = [&] {
      answer.dispatch = orThrow(exchangeTime(fabric, traffic(question.dispatchBytes), withDirect, limits, progress));
      answer.combine = orThrow(exchangeTime(
          fabric, alltoall::reversed(traffic(question.combineBytes), fabric.gpuCount()), withDirect, limits, progress));
    };
    exchange();
    if (question.improves) {
      const ExpertAnswer given = answer;
      answer.placement =
          alltoall::improvedPlacement(fabric, answer.boxOf, std::move(answer.placement), question.counts);
      exchange();
      if (answer.nanoseconds() > given.nanoseconds()) {
        answer = given;  // it was chosen by what GPUs and boxes send and receive, which routes may not reach
      }
      answer.before = given.dispatch;
    }
    return answer;
  });
}

}  // namespace coppice::workflow
