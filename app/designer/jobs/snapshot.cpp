// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/snapshot.hpp"

#include <utility>

namespace coppice::designer {
namespace {

Snapshot withFacts(const Model& model, std::shared_ptr<const fabric::Description> facts) {
  Snapshot result;
  result.facts = std::move(facts);
  result.nodes.reserve(model.nodes().size());
  for (const auto& [id, node] : model.nodes()) {
    result.nodes.push_back(id);
  }
  result.links.reserve(model.links().size());
  result.ends.reserve(model.links().size());
  for (const auto& [id, link] : model.links()) {
    result.links.push_back(id);
    result.ends.emplace_back(link.tail.node, link.head.node);
  }
  return result;
}

}  // namespace

Snapshot Snapshot::of(const Model& model) {
  return withFacts(model, std::make_shared<const fabric::Description>(model.description()));
}

Snapshot Snapshot::of(const Document& document) {
  Snapshot result = withFacts(document.model(), document.facts());
  result.factRevision = document.factRevision();
  return result;
}

fabric::FabricDelta Snapshot::delta() const {
  fabric::FabricDelta delta;
  delta.nodes.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    delta.nodes.push_back({nodes[i].value, facts->nodes[i]});
  }
  delta.links.reserve(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    delta.links.push_back({links[i].value, ends[i].first.value, ends[i].second.value, facts->links[i]});
  }
  return delta;
}

}  // namespace coppice::designer
