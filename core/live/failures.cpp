// SPDX-License-Identifier: Apache-2.0
#include "live/failures.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "live/live_state.hpp"

namespace coppice::live {

std::string_view toString(Part part) {
  switch (part) {
    case Part::link:
      return "link";
    case Part::nic:
      return "nic";
    case Part::switchNode:
      return "switch";
    case Part::gpu:
      return "gpu";
    case Part::box:
      break;
  }
  return "box";
}

std::vector<Failure> singleFailures(const fabric::Description& description, bool boxes) {
  std::vector<Failure> failures;
  for (const fabric::LinkDescription& link : description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (bandwidth) {
      const Bandwidth lost = -*bandwidth;
      failures.push_back({Part::link,
                          link.src + (link.duplex ? " - " : " -> ") + link.dst,
                          {ChangeBandwidth{link.src, link.dst, lost, link.duplex}}});
    }
  }
  constexpr std::pair<fabric::NodeKind, Part> kKinds[] = {{fabric::NodeKind::nic, Part::nic},
                                                          {fabric::NodeKind::switchNode, Part::switchNode},
                                                          {fabric::NodeKind::gpu, Part::gpu}};
  for (const auto& [kind, part] : kKinds) {
    for (const fabric::NodeDescription& node : description.nodes) {
      if (fabric::parseNodeKind(node.kind) == kind) {
        failures.push_back({part, node.id, {RemoveNode{node.id}}});
      }
    }
  }
  if (boxes) {
    std::set<std::string> seen;
    for (const fabric::NodeDescription& node : description.nodes) {
      if (!node.box.empty() && seen.insert(node.box).second) {
        failures.push_back({Part::box, node.box, {RemoveBox{node.box}}});
      }
    }
  }
  return failures;
}

Result<std::vector<Damage>> rankFailures(LiveBound& live, std::span<const Failure> failures, const Progress& progress) {
  return guarded<std::vector<Damage>>([&] {
    const Answer before = live.state().solve(progress);
    if (before.finding) {
      throw EditFailure{{before.finding->code, before.finding->text, before.finding->fix, before.finding->where}};
    }
    std::vector<Damage> ranking;
    ranking.reserve(failures.size());
    for (std::size_t i = 0; i < failures.size(); ++i) {
      progress.report("failures", static_cast<double>(i) / static_cast<double>(failures.size()));
      auto after = live.probe(failures[i].edits, {.stop = progress.stop});
      if (!after) {
        throw EditFailure{after.error()};
      }
      const Rational loss = Rational(1) - after->algbw / before.algbw;
      ranking.push_back({i, after->algbw, after->gpuCount, std::move(after->finding), loss});
    }
    progress.report("failures", 1);
    std::stable_sort(ranking.begin(), ranking.end(), [](const Damage& a, const Damage& b) { return b.loss < a.loss; });
    return ranking;
  });
}

}  // namespace coppice::live
