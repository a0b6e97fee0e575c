// SPDX-License-Identifier: Apache-2.0
#include "schedule/traffic.hpp"

#include <cstdint>
#include <utility>
#include <variant>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

constexpr std::int64_t kReportEvery = 256;

void tell(const Progress& progress, std::int64_t done, std::int64_t all) {
  if (done % kReportEvery == 0) {
    throwIfCancelled(progress);
    progress.report("adding up traffic", static_cast<double>(done) / static_cast<double>(all));
  }
}

void addForest(const Forest& forest, Traffic& traffic, const Progress& progress) {
  std::vector<std::int64_t> trees(traffic.shares.size(), 0);
  TreeReader reader(forest);
  const bool isOut = forest.direction == Direction::out;
  const auto size = static_cast<std::size_t>(traffic.size);
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    tell(progress, tree, reader.size());
    const TreeReader::View view = reader.read(tree);
    for (const TreeEdge& edge : view.edges) {
      const auto from = static_cast<std::size_t>(isOut ? edge.parent : edge.child);
      const auto to = static_cast<std::size_t>(isOut ? edge.child : edge.parent);
      std::int64_t& count = trees[from * size + to];
      count = checkedAdd(count, view.multiplicity);
    }
  }
  // Every tree carries one K-th of the M bytes.
  const std::int64_t all = forest.treeCount();
  for (std::size_t pair = 0; pair < trees.size(); ++pair) {
    if (trees[pair] > 0) {
      traffic.shares[pair] += Rational(trees[pair], all);
    }
  }
}

void addTransfers(const StepSchedule& schedule, Traffic& traffic, const Progress& progress) {
  const auto all = static_cast<std::int64_t>(schedule.transfers.size());
  const auto size = static_cast<std::size_t>(traffic.size);
  for (std::int64_t i = 0; i < all; ++i) {
    tell(progress, i, all);
    const Transfer transfer = schedule.transfers[i];
    traffic.shares[static_cast<std::size_t>(transfer.from) * size + static_cast<std::size_t>(transfer.to)] +=
        schedule.goal.share(transfer.shard) * Rational(transfer.end - transfer.begin, schedule.denominator);
  }
}

}  // namespace

Result<Traffic> trafficOf(const fabric::Fabric& fabric, const AnySchedule& schedule, const Progress& progress) {
  return guarded(
      [&]() -> Result<Traffic> {
        Traffic traffic{fabric.gpuCount(), {}};
        traffic.shares.resize(static_cast<std::size_t>(traffic.size) * static_cast<std::size_t>(traffic.size));
        if (const auto* steps = std::get_if<StepSchedule>(&schedule)) {
          addTransfers(*steps, traffic, progress);
        } else {
          const auto& trees = std::get<Schedule>(schedule);
          for (const auto* half : {&trees.reduceForest, &trees.broadcastForest}) {
            if (*half) {
              addForest(**half, traffic, progress);
            }
          }
        }
        return traffic;
      },
      {.overflowFix = {}, .cancelled = "adding up the traffic was cancelled"});
}

Traffic groupedTraffic(const Traffic& traffic, std::span<const int> groupOf, int groups) {
  Traffic sums{groups, std::vector<Rational>(static_cast<std::size_t>(groups) * static_cast<std::size_t>(groups))};
  for (int from = 0; from < traffic.size; ++from) {
    const auto row = static_cast<std::size_t>(groupOf[from]);
    for (int to = 0; to < traffic.size; ++to) {
      if (const Rational& share = traffic.share(from, to); share.isPositive()) {
        sums.shares[row * static_cast<std::size_t>(groups) + static_cast<std::size_t>(groupOf[to])] += share;
      }
    }
  }
  return sums;
}

}  // namespace coppice::schedule
