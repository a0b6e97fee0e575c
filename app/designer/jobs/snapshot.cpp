// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/snapshot.hpp"

#include <charconv>

#include "base/text.hpp"

namespace coppice::designer {

Snapshot Snapshot::of(const Document& document) {
  Snapshot result;
  result.factRevision = document.factRevision();
  result.facts = document.facts();
  result.nodes.reserve(document.model().nodes().size());
  for (const auto& [id, node] : document.model().nodes()) {
    result.nodes.push_back(id);
  }
  result.links.reserve(document.model().links().size());
  for (const auto& [id, link] : document.model().links()) {
    result.links.push_back(id);
  }
  return result;
}

ElementFinder::ElementFinder(const Snapshot& snapshot) : m_links(snapshot.links) {
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    m_nodes.try_emplace("node " + inQuotes(snapshot.facts->nodes[i].id), snapshot.nodes[i]);
  }
}

ElementId ElementFinder::find(const Place& place) const {
  constexpr std::string_view kLink = "link ";
  const std::string_view element = place.element;
  if (element.starts_with(kLink)) {
    std::size_t index = 0;
    const char* const end = element.data() + element.size();
    if (std::from_chars(element.data() + kLink.size(), end, index).ec == std::errc() && index < m_links.size()) {
      return m_links[index];
    }
    return {};
  }
  const auto node = m_nodes.find(place.element);
  return node != m_nodes.end() ? ElementId(node->second) : ElementId();
}

}  // namespace coppice::designer
