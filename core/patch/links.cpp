// SPDX-License-Identifier: Apache-2.0
#include "patch/links.hpp"

#include <optional>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace coppice::patch {
namespace {

/// The first arc whose opposite has another bandwidth.
std::optional<fabric::Arc> arcWithoutEqual(const fabric::Fabric& fabric) {
  for (const fabric::Arc& arc : fabric.arcs()) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    if (!back || fabric.arcs()[*back].bandwidth != arc.bandwidth) {
      return arc;
    }
  }
  return std::nullopt;
}

}  // namespace

bool isDuplex(const fabric::Fabric& fabric) {
  return !arcWithoutEqual(fabric);
}

Result<Links> readLinks(const fabric::Fabric& fabric, CableKind kind) {
  const auto idOf = [&](fabric::NodeIndex node) { return fabric.nodes()[node].id; };
  for (const fabric::Node& node : fabric.nodes()) {
    if (node.kind != fabric::NodeKind::gpu) {
      return Error{ErrorCode::badUsage, inQuotes(node.id) + " is not a GPU; patch panels join GPUs directly",
                   "use a fabric whose GPUs are linked directly"};
    }
  }
  if (const auto arc = kind == CableKind::duplex ? arcWithoutEqual(fabric) : std::nullopt) {
    return Error{ErrorCode::badUsage,
                 "the link " + inQuotes(idOf(arc->tail)) + " -> " + inQuotes(idOf(arc->head)) +
                     " has no equal one back, so a duplex cable does not fit",
                 "use simplex cables"};
  }
  Links links;
  links.kind = kind;
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    links.ids.push_back(idOf(gpu));
  }
  links.perCable = commonUnit(fabric.arcs(), &fabric::Arc::bandwidth);
  std::int64_t cables = 0;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const int from = fabric.nodes()[arc.tail].rank;
    const int to = fabric.nodes()[arc.head].rank;
    if (kind == CableKind::duplex && from > to) {
      continue;
    }
    const std::int64_t count = (arc.bandwidth / links.perCable).numerator();
    cables = checkedAdd(cables, count);
    if (cables > kMaxCables) {
      return Error{ErrorCode::limit,
                   "with cables of " + toExactText(links.perCable) + " GB/s there would be more than " +
                       std::to_string(kMaxCables),
                   "give links bandwidths that are small multiples of one another"};
    }
    links.ends.insert(links.ends.end(), static_cast<std::size_t>(count), std::pair(from, to));
  }
  return links;
}

}  // namespace coppice::patch
