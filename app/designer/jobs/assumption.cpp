// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/jobs/assumption.hpp"

#include <string>
#include <utility>

#include "base/units.hpp"

namespace coppice::designer {

Snapshot assumed(const Snapshot& snapshot, const Assumption& assumption) {
  Snapshot result;
  result.factRevision = snapshot.factRevision;
  const fabric::Description& before = *snapshot.facts;
  fabric::Description facts = before;
  facts.nodes.clear();
  facts.links.clear();
  std::set<std::string> gone;
  bool isGpuGone = false;
  for (std::size_t i = 0; i < before.nodes.size(); ++i) {
    if (assumption.failed.contains(snapshot.nodes[i])) {
      gone.insert(before.nodes[i].id);
      isGpuGone = isGpuGone || before.nodes[i].kind == "gpu";
    } else {
      facts.nodes.push_back(before.nodes[i]);
      result.nodes.push_back(snapshot.nodes[i]);
    }
  }
  for (fabric::NodeDescription& node : facts.nodes) {
    node.multicast = node.multicast && !assumption.plainSwitches;
    node.aggregation = node.aggregation && !assumption.plainSwitches;
  }
  if (isGpuGone) {
    // The ranks that are left would have a gap.
    for (fabric::NodeDescription& node : facts.nodes) {
      node.rank.reset();
    }
  }
  for (std::size_t i = 0; i < before.links.size(); ++i) {
    fabric::LinkDescription link = before.links[i];
    bool isGone = gone.contains(link.src) || gone.contains(link.dst);
    if (assumption.failed.contains(snapshot.links[i])) {
      --link.count;
      isGone = isGone || link.count < 1;
    }
    if (assumption.changed.contains(snapshot.links[i])) {
      if (const auto bandwidth = Bandwidth::parse(link.bandwidth)) {
        const Bandwidth now = *bandwidth + assumption.change;
        isGone = isGone || !now.isPositive();
        link.bandwidth = toFraction(now);
      }
    }
    if (!isGone) {
      facts.links.push_back(std::move(link));
      result.links.push_back(snapshot.links[i]);
      result.ends.push_back(snapshot.ends[i]);
    }
  }
  result.facts = std::make_shared<const fabric::Description>(std::move(facts));
  return result;
}

}  // namespace coppice::designer
