// SPDX-License-Identifier: Apache-2.0
#include "bfb/logical.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/switch_removal.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

Logical direct(const fabric::Fabric& fabric) {
  Logical logical;
  logical.graph.nodeCount = fabric.gpuCount();
  logical.unit = commonUnit(fabric.arcs(), &fabric::Arc::bandwidth);
  for (const fabric::Arc& arc : fabric.arcs()) {
    const Rational width = arc.bandwidth / logical.unit;
    logical.graph.links.push_back({fabric.nodes()[arc.tail].rank, fabric.nodes()[arc.head].rank, width.numerator()});
    logical.routes.push_back({arc.tail, arc.head});
  }
  return logical;
}

Result<Logical> withoutSwitches(const fabric::Fabric& fabric, const Progress& progress) {
  const std::vector<int64_t> demand(fabric.gpuCount(), 1);
  const forestcoll::Network network = forestcoll::makeNetwork(fabric, demand);
  if (const auto culprits = forestcoll::unbalancedSwitches(network, network.arcs); !culprits.empty()) {
    const std::string name = inQuotes(fabric.nodes()[culprits.front()].id);
    return Error{ErrorCode::unbalanced,
                 "Ingress and egress differ at " + name + ", so that its links cannot be joined in pairs",
                 "make them equal, or use ForestColl, which leaves part of the links unused",
                 {.element = {RefKind::node, fabric.nodes()[culprits.front()].id}}};
  }
  const Rational ratio = forestcoll::worstCut(network, progress).value();
  std::vector<forestcoll::TreeArc> capacities = network.arcs;
  for (forestcoll::TreeArc& arc : capacities) {
    arc.capacity = checkedMul(arc.capacity, ratio.numerator());
  }
  forestcoll::requireFits(capacities, network, ratio.denominator());
  const forestcoll::LogicalTopology topology =
      forestcoll::removeSwitches(network, capacities, forestcoll::supplies(network, ratio.denominator()), progress);
  Logical logical;
  logical.name = "as switch removal splits the links";
  logical.graph.nodeCount = fabric.gpuCount();
  int64_t divisor = 0;
  for (const forestcoll::Atom& atom : topology.atoms) {
    divisor = std::gcd(divisor, atom.capacity);
  }
  logical.unit = network.unit * Rational(divisor, ratio.numerator());
  for (std::size_t i = 0; i < topology.atoms.size(); ++i) {
    const forestcoll::Atom& atom = topology.atoms[i];
    if (atom.capacity > 0) {
      logical.graph.links.push_back(
          {fabric.nodes()[atom.tail].rank, fabric.nodes()[atom.head].rank, atom.capacity / divisor});
      logical.routes.push_back(forestcoll::route(topology.atoms, static_cast<int>(i)));
    }
  }
  return logical;
}

}  // namespace

Result<Logical> logicalGraph(const fabric::Fabric& fabric, bool throughSwitches, const Progress& progress) {
  const auto isRelay = [](const fabric::Node& node) { return node.kind != fabric::NodeKind::gpu; };
  const auto relay = std::find_if(fabric.nodes().begin(), fabric.nodes().end(), isRelay);
  if (relay == fabric.nodes().end()) {
    return direct(fabric);
  }
  if (!throughSwitches) {
    const std::string name = inQuotes(relay->id);
    return Error{
        ErrorCode::badUsage,
        "BFB needs links between GPUs alone, and " + name + " is a " + std::string(fabric::toString(relay->kind)),
        "add --through-switches to split the links of switches into routes between GPUs",
        {.element = {RefKind::node, relay->id}}};
  }
  return guarded([&] { return withoutSwitches(fabric, progress); });
}

}  // namespace coppice::bfb
