// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/builder.hpp"
#include "forestcoll/forestcoll.hpp"
#include "schedule/from_forest.hpp"

/// Switches unwound into rings, as TACCL and TACOS prepare a fabric: the neighbors of a switch become a ring in their
/// order, each hop as wide as the narrower of its two links. The best forest of what is left, which has GPUs alone,
/// runs on the true fabric through the switches. Dissertation B.1 (figure B.1d) shows what this loses.
namespace coppice::baselines {
namespace {

using fabric::NodeIndex;

/// A route between two nodes through relays that are unwound already.
struct Route {
  Rational rate;                 ///< GB/s
  std::vector<NodeIndex> nodes;  ///< both ends included
};

class Unwinding {
public:
  explicit Unwinding(const fabric::Fabric& fabric) : m_fabric(fabric) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      keepWidest({arc.bandwidth.gigabytesPerSecond(), {arc.tail, arc.head}});
    }
    // NICs first: they only pass on.
    for (const fabric::NodeKind kind : {fabric::NodeKind::nic, fabric::NodeKind::switchNode}) {
      for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
        if (fabric.nodes()[node].kind == kind) {
          unwind(node);
        }
      }
    }
  }

  [[nodiscard]] fabric::Description description() const {
    fabric::Description description;
    description.name = m_fabric.name();
    for (const NodeIndex gpu : m_fabric.gpus()) {
      const fabric::Node& node = m_fabric.nodes()[gpu];
      fabric::NodeDescription copy;
      copy.id = node.id;
      copy.box = node.box;
      copy.rank = node.rank;
      description.nodes.push_back(copy);
    }
    for (const auto& [ends, route] : m_routes) {
      fabric::LinkDescription link;
      link.src = m_fabric.nodes()[ends.first].id;
      link.dst = m_fabric.nodes()[ends.second].id;
      link.bandwidth = route.rate.toString();
      link.duplex = false;
      description.links.push_back(link);
    }
    return description;
  }

  [[nodiscard]] const std::vector<NodeIndex>& nodes(NodeIndex from, NodeIndex to) const {
    return m_routes.at({from, to}).nodes;
  }

private:
  void keepWidest(Route route) {
    const auto [found, isNew] = m_routes.try_emplace({route.nodes.front(), route.nodes.back()}, route);
    if (!isNew && found->second.rate < route.rate) {
      found->second = std::move(route);
    }
  }

  void unwind(NodeIndex relay) {
    std::set<NodeIndex> neighbors;
    for (const auto& [ends, route] : m_routes) {
      if (ends.first == relay || ends.second == relay) {
        neighbors.insert(ends.first == relay ? ends.second : ends.first);
      }
    }
    const std::vector<NodeIndex> ring(neighbors.begin(), neighbors.end());
    std::vector<Route> hops;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const auto in = m_routes.find({ring[i], relay});
      const auto out = m_routes.find({relay, ring[(i + 1) % ring.size()]});
      if (ring.size() > 1 && in != m_routes.end() && out != m_routes.end()) {
        Route hop{std::min(in->second.rate, out->second.rate), in->second.nodes};
        hop.nodes.insert(hop.nodes.end(), out->second.nodes.begin() + 1, out->second.nodes.end());
        hops.push_back(std::move(hop));
      }
    }
    std::erase_if(m_routes,
                  [&](const auto& entry) { return entry.first.first == relay || entry.first.second == relay; });
    for (Route& hop : hops) {
      keepWidest(std::move(hop));
    }
  }

  const fabric::Fabric& m_fabric;
  std::map<std::pair<NodeIndex, NodeIndex>, Route> m_routes;
};

}  // namespace

void addUnwound(Builder& builder) {
  const fabric::Fabric& fabric = builder.fabric();
  const Unwinding unwinding(fabric);
  const auto unwound = coppice::fabric::Fabric::build(unwinding.description());
  if (!unwound) {
    builder.refuse("The rings that replace the switches do not connect all GPUs: " + unwound.error().message,
                   "choose multitree or blink");
  }
  forestcoll::Request request;
  request.collective = builder.collective();
  request.root = isRooted(builder.collective()) ? std::optional(builder.root()) : std::nullopt;
  request.allreduceBudget = std::chrono::milliseconds(0);
  const auto generated = orThrow(forestcoll::generate(*unwound, request, builder.progress()));
  const auto trees = orThrow(schedule::stepScheduleOf(*unwound, generated.schedule, 1, builder.progress()));
  builder.setAsynchronous();
  builder.setDenominator(trees.denominator);
  const auto gpus = fabric.gpus();
  std::map<std::pair<fabric::Rank, fabric::Rank>, schedule::PathId> routes;
  for (std::size_t i = 0; i < trees.transfers.size(); ++i) {
    const schedule::Transfer hop = trees.transfers[i];
    const auto [found, isNew] = routes.try_emplace({hop.from, hop.to}, schedule::kNoRoute);
    if (isNew) {
      found->second = builder.addRoute(unwinding.nodes(gpus[hop.from], gpus[hop.to]));
    }
    builder.send(hop.step, hop.shard, hop.begin, hop.end, hop.from, hop.to, found->second, hop.reduces);
  }
}

}  // namespace coppice::baselines
