// SPDX-License-Identifier: Apache-2.0
#include "simulate/fits.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulate/routes.hpp"

namespace coppice::simulate {
namespace {

std::string textOf(const PairFit& pair) {
  return "rank " + std::to_string(pair.from) + " to rank " + std::to_string(pair.to);
}

/// Raises the rates of the slowest links of the route to that of the pair.
Outcome addRate(const fabric::Fabric& fabric, const std::vector<fabric::NodeIndex>& nodes, const PairFit& pair,
                std::vector<Throughput>& rates) {
  std::vector<std::int32_t> arcs;
  for (std::size_t at = 0; at + 1 < nodes.size(); ++at) {
    const auto arc = fabric.findArc(nodes[at], nodes[at + 1]);
    if (!arc) {
      return Error{ErrorCode::badInput, "no route leads from " + textOf(pair), "give the profile of this fabric"};
    }
    arcs.push_back(static_cast<std::int32_t>(*arc));
  }
  const auto bandwidth = [&](std::int32_t arc) { return fabric.arcs()[arc].bandwidth; };
  for (const std::int32_t arc : arcs) {
    const bool isSlowest =
        std::none_of(arcs.begin(), arcs.end(), [&](std::int32_t other) { return bandwidth(other) < bandwidth(arc); });
    if (isSlowest) {
      rates[arc] = std::max(rates[arc], pair.rate);
    }
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const Fits>> fitsFor(const fabric::Fabric& fabric, std::span<const PairFit> pairs,
                                            Microseconds additionTime) {
  auto fits = std::make_shared<Fits>();
  fits->additionTime = additionTime;
  fits->linkRates.resize(fabric.arcs().size());
  ShortestRoutes routes(fabric);
  std::vector<PairFit> sorted(pairs.begin(), pairs.end());
  // Routes are searched once for each sender.
  std::stable_sort(sorted.begin(), sorted.end(), [](const PairFit& a, const PairFit& b) { return a.from < b.from; });
  for (const PairFit& pair : sorted) {
    if (std::min(pair.from, pair.to) < 0 || std::max(pair.from, pair.to) >= fabric.gpuCount() || pair.from == pair.to) {
      return Error{ErrorCode::badInput,
                   "the profile measures " + textOf(pair) + ", the fabric has ranks 0 to " +
                       std::to_string(fabric.gpuCount() - 1),
                   "give the profile of this fabric"};
    }
    if (!std::isfinite(pair.latency.count()) || !std::isfinite(pair.rate.gigabytesPerSecond()) ||
        pair.latency.count() < 0 || !(pair.rate > Throughput())) {
      return Error{ErrorCode::badInput, "the profile has no valid latency and bandwidth from " + textOf(pair),
                   "measure again, on an idle machine"};
    }
    fits->latencies[Fits::pairKey(pair.from, pair.to)] = pair.latency;
    if (Outcome added = addRate(fabric, routes.find(pair.from, pair.to, 0), pair, fits->linkRates); !added) {
      return added.error();
    }
  }
  return std::shared_ptr<const Fits>(std::move(fits));
}

}  // namespace coppice::simulate
