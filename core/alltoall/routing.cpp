// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "alltoall/alltoall.hpp"
#include "alltoall/network.hpp"
#include "base/failure.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/step_cost.hpp"

namespace coppice::alltoall {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::ExchangeRouting;
using schedule::ExchangeTree;
using std::int64_t;

/// By node: the symmetries that map the source of a tree to the same GPU. It is the same for every image.
int64_t copiesOf(const ExchangeRouting& routing, NodeIndex source) {
  return std::count_if(routing.symmetries.begin(), routing.symmetries.end(),
                       [&](const std::vector<NodeIndex>& image) { return image[source] == source; });
}

/// The least common multiple over the sources of their copies.
int64_t commonCopies(const ExchangeRouting& routing) {
  int64_t common = 1;
  NodeIndex last = -1;
  for (const ExchangeTree& tree : routing.trees) {
    if (tree.source != last) {
      common = leastCommonMultiple(common, copiesOf(routing, tree.source));
      last = tree.source;
    }
  }
  return common;
}

/// A tree's nodes behind their parents, nearest first.
std::vector<NodeIndex> topDown(const fabric::Fabric& fabric, const ExchangeTree& tree) {
  std::vector<std::vector<NodeIndex>> children(fabric.nodeCount());
  for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
    if (tree.arcInto[node] >= 0) {
      children[fabric.arcs()[tree.arcInto[node]].tail].push_back(node);
    }
  }
  std::vector<NodeIndex> order = {tree.source};
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  }
  return order;
}

/// Loads of all arcs in parts of 1 / (denominator * copies) of the unit of amounts.
std::vector<Int128> loadsInParts(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                 const ExchangeRouting& routing, int64_t copies) {
  const schedule::ArcFinder finder(fabric, schedule::Direction::out);
  std::vector<Int128> load(fabric.arcs().size(), 0);
  // All trees together first, each symmetry once.
  std::vector<Int128> once(fabric.arcs().size(), 0);
  for (const ExchangeTree& tree : routing.trees) {
    const std::vector<NodeIndex> order = topDown(fabric, tree);
    std::vector<int64_t> behind(fabric.nodeCount(), 0);
    const int64_t share = checkedMul(tree.weight, copies / copiesOf(routing, tree.source));
    for (std::size_t i = order.size(); i-- > 1;) {
      const NodeIndex node = order[i];
      if (fabric.nodes()[node].kind == fabric::NodeKind::gpu) {
        const int64_t amount =
            demand.amount(fabric.nodes()[tree.source].rank, fabric.nodes()[node].rank, fabric.gpuCount());
        behind[node] = checkedAdd(behind[node], amount);
      }
      Int128& onArc = once[tree.arcInto[node]];
      onArc = checkedAdd(onArc, checkedMul<Int128>(share, behind[node]));
      int64_t& before = behind[fabric.arcs()[tree.arcInto[node]].tail];
      before = checkedAdd(before, behind[node]);
    }
  }
  for (const auto& image : routing.symmetries) {
    for (std::size_t arc = 0; arc < once.size(); ++arc) {
      if (once[arc] > 0) {
        Int128& mirrored = load[finder.find(image[fabric.arcs()[arc].tail], image[fabric.arcs()[arc].head])];
        mirrored = checkedAdd(mirrored, once[arc]);
      }
    }
  }
  return load;
}

/// What one pair of GPUs exchanges, path by path.
class Exchange {
public:
  Exchange(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand, const ExchangeRouting& routing,
           int64_t maxTransfers, const Progress& progress)
      : m_fabric(fabric),
        m_demand(demand),
        m_routing(routing),
        m_maxTransfers(maxTransfers),
        m_progress(progress),
        m_copies(commonCopies(routing)),
        m_filled(static_cast<std::size_t>(fabric.gpuCount()) * static_cast<std::size_t>(fabric.gpuCount()), 0) {}

  Result<schedule::StepSchedule> run() {
    auto goal = schedule::CollectiveTable::make(Collective::alltoall, m_fabric.gpuCount(), {}, m_demand.amounts);
    if (!goal) {
      return goal.error();
    }
    m_schedule.goal = *std::move(goal);
    m_schedule.method = "alltoall";
    m_schedule.fabricName = m_fabric.name();
    m_schedule.fabricDigest = m_fabric.digest();
    m_schedule.isSynchronous = false;
    m_schedule.denominator = checkedMul(m_routing.denominator, m_copies);
    for (std::size_t i = 0; i < m_routing.trees.size();) {
      std::size_t last = i + 1;
      while (last < m_routing.trees.size() && m_routing.trees[last].source == m_routing.trees[i].source) {
        ++last;
      }
      if (auto failure = addSource(i, last)) {
        return *failure;
      }
      i = last;
    }
    reduceDenominator();
    auto cost = schedule::stepCost(m_fabric, m_schedule, m_progress);
    if (!cost) {
      return cost.error();
    }
    m_schedule.algbw = cost->algbw;
    return std::move(m_schedule);
  }

private:
  using Path = std::vector<NodeIndex>;

  /// All images of the trees of a source. Equal paths of a pair become one piece.
  std::optional<Error> addSource(std::size_t first, std::size_t last) {
    const int64_t share = m_copies / copiesOf(m_routing, m_routing.trees[first].source);
    for (const NodeIndex gpu : m_fabric.gpus()) {
      std::map<Path, int64_t> weights;
      for (const auto& image : m_routing.symmetries) {
        if (image[m_routing.trees[first].source] != gpu) {
          continue;
        }
        throwIfCancelled(m_progress);
        for (std::size_t i = first; i < last; ++i) {
          addPaths(m_routing.trees[i], image, checkedMul(m_routing.trees[i].weight, share), weights);
        }
      }
      for (const auto& [path, weight] : weights) {
        addPath(path, weight);
      }
      if (static_cast<int64_t>(m_schedule.transfers.size()) > m_maxTransfers) {
        return Error{ErrorCode::limit, "The routing has more than " + std::to_string(m_maxTransfers) + " transfers",
                     "keep fewer GPUs with --gpus"};
      }
    }
    return std::nullopt;
  }

  void addPaths(const ExchangeTree& tree, const std::vector<NodeIndex>& image, int64_t weight,
                std::map<Path, int64_t>& weights) const {
    for (const NodeIndex gpu : m_fabric.gpus()) {
      const Rank from = m_fabric.nodes()[image[tree.source]].rank;
      if (m_demand.amount(from, m_fabric.nodes()[image[gpu]].rank, m_fabric.gpuCount()) == 0) {
        continue;
      }
      Path path;
      for (NodeIndex node = gpu; node != tree.source; node = m_fabric.arcs()[tree.arcInto[node]].tail) {
        path.push_back(image[node]);
      }
      path.push_back(image[tree.source]);
      std::reverse(path.begin(), path.end());
      weights[std::move(path)] += weight;
    }
  }

  /// One transfer from GPU to GPU.
  void addPath(const Path& path, int64_t weight) {
    const Rank source = m_fabric.nodes()[path.front()].rank;
    const Rank destination = m_fabric.nodes()[path.back()].rank;
    const int64_t shard = int64_t{source} * m_fabric.gpuCount() + destination;
    int64_t& begin = m_filled[shard];
    const int64_t end = begin + weight;
    for (std::size_t from = 0, at = 1; at < path.size(); ++at) {
      if (m_fabric.nodes()[path[at]].kind == fabric::NodeKind::gpu) {
        const Path hop(path.begin() + static_cast<std::ptrdiff_t>(from),
                       path.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        const auto [found, isNew] = m_routes.try_emplace(hop, schedule::kNoRoute);
        if (isNew) {
          found->second = m_schedule.paths.add(hop);
        }
        m_schedule.transfers.add({shard, begin, end, m_fabric.nodes()[path[from]].rank, m_fabric.nodes()[path[at]].rank,
                                  found->second, 0, false});
        from = at;
      }
    }
    begin = end;
  }

  void reduceDenominator() {
    int64_t divisor = m_schedule.denominator;
    for (std::size_t i = 0; i < m_schedule.transfers.size(); ++i) {
      divisor = std::gcd(divisor, m_schedule.transfers.begins()[i]);
      divisor = std::gcd(divisor, m_schedule.transfers.ends()[i]);
    }
    if (divisor == 1) {
      return;
    }
    schedule::TransferList reduced;
    reduced.reserve(m_schedule.transfers.size());
    for (std::size_t i = 0; i < m_schedule.transfers.size(); ++i) {
      schedule::Transfer transfer = m_schedule.transfers[i];
      transfer.begin /= divisor;
      transfer.end /= divisor;
      reduced.add(transfer);
    }
    m_schedule.transfers = std::move(reduced);
    m_schedule.denominator /= divisor;
  }

  const fabric::Fabric& m_fabric;
  const schedule::ExchangeDemand& m_demand;
  const ExchangeRouting& m_routing;
  int64_t m_maxTransfers;
  const Progress& m_progress;
  int64_t m_copies;
  std::vector<int64_t> m_filled;  ///< by shard: where its next piece begins
  std::map<Path, schedule::PathId> m_routes;
  schedule::StepSchedule m_schedule;
};

}  // namespace

ExchangeRouting inParts(const ExchangeRouting& routing, int64_t parts) {
  ExchangeRouting rounded{routing.symmetries, parts, {}};
  for (std::size_t first = 0; first < routing.trees.size();) {
    std::size_t last = first;
    int64_t left = parts;
    std::vector<std::pair<Int128, std::size_t>> remainders;
    std::vector<int64_t> weights;
    for (; last < routing.trees.size() && routing.trees[last].source == routing.trees[first].source; ++last) {
      const Int128 share = Int128{routing.trees[last].weight} * parts;
      weights.push_back(static_cast<int64_t>(share / routing.denominator));
      remainders.emplace_back(-(share % routing.denominator), last - first);
      left -= weights.back();
    }
    std::sort(remainders.begin(), remainders.end());
    for (int64_t i = 0; i < left; ++i) {
      ++weights[remainders[i].second];
    }
    for (std::size_t i = first; i < last; ++i) {
      if (weights[i - first] > 0) {
        rounded.trees.push_back({routing.trees[i].source, weights[i - first], routing.trees[i].arcInto});
      }
    }
    first = last;
  }
  return rounded;
}

Result<schedule::StepSchedule> scheduleOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                          const ExchangeRouting& routing, int64_t maxTransfers,
                                          const Progress& progress) {
  return guarded(
      [&] { return Exchange(fabric, demand, routing, maxTransfers, progress).run(); },
      {.overflow = "The pieces of the routing have no common denominator within 64 bits", .overflowFix = {}});
}

Result<Bandwidth> boundOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                          const schedule::ExchangeLengths& lengths) {
  if (lengths.size() != fabric.arcs().size()) {
    return Error{ErrorCode::badUsage, "There are " + std::to_string(lengths.size()) + " lengths for " +
                                          std::to_string(fabric.arcs().size()) + " links"};
  }
  return guarded(
      [&]() -> Result<Bandwidth> {
        const Network network(fabric, demand);
        ShortestPaths paths(network);
        const std::vector<double> second(lengths.size(), 1.0);
        Int128 distances = 0;
        for (const NodeIndex gpu : fabric.gpus()) {
          paths.run(gpu, lengths, second);
          distances = checkedAdd(distances, paths.gpuDistances());
        }
        Int128 weight = 0;
        for (std::size_t arc = 0; arc < lengths.size(); ++arc) {
          weight = checkedAdd(weight, checkedMul<Int128>(network.capacity[arc], lengths[arc]));
        }
        if (distances <= 0) {
          return Error{ErrorCode::badUsage, "Lengths of 0 prove nothing", "give at least one link a length"};
        }
        Int128 a = weight;
        Int128 b = distances;
        while (b != 0) {
          a = std::exchange(b, a % b);
        }
        return Rational(narrow64(weight / a), narrow64(distances / a)) * network.unit;
      },
      {.overflow = "The bound leaves the 64-bit range", .overflowFix = {}});
}

Result<std::vector<Rational>> loadsOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                      const ExchangeRouting& routing) {
  return guarded(
      [&]() -> Result<std::vector<Rational>> {
        const int64_t copies = commonCopies(routing);
        const Int128 whole = checkedMul<Int128>(routing.denominator, copies);
        std::vector<Rational> loads;
        for (const Int128 load : loadsInParts(fabric, demand, routing, copies)) {
          Int128 a = whole;
          for (Int128 b = load; b != 0;) {
            a = std::exchange(b, a % b);
          }
          loads.emplace_back(narrow64(load / a), narrow64(whole / a));
        }
        return loads;
      },
      {.overflow = "The loads of the routing leave the 64-bit range", .overflowFix = {}});
}

Result<Bandwidth> rateOf(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                         const ExchangeRouting& routing) {
  const auto loads = loadsOf(fabric, demand, routing);
  if (!loads) {
    return loads.error();
  }
  return guarded(
      [&]() -> Result<Bandwidth> {
        std::optional<Bandwidth> min;
        for (std::size_t arc = 0; arc < loads->size(); ++arc) {
          if ((*loads)[arc].isPositive()) {
            const Bandwidth rate = fabric.arcs()[arc].bandwidth / (*loads)[arc];
            min = min ? std::min(*min, rate) : rate;
          }
        }
        return min.value_or(Bandwidth());
      },
      {.overflow = "The loads of the routing leave the 64-bit range", .overflowFix = {}});
}

}  // namespace coppice::alltoall
