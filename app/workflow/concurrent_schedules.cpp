// SPDX-License-Identifier: Apache-2.0
#include "workflow/concurrent_schedules.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/one_line.hpp"
#include "groups/shares.hpp"
#include "groups/tree_images.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "verify/concurrent_check.hpp"
#include "workflow/plan_files.hpp"

namespace coppice::workflow {
namespace {

using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;

const char* methodOf(Collective collective) {
  switch (collective) {
    case Collective::alltoall:
      return "alltoall";
    case Collective::allreduce:
      return "forestcoll-overlap";
    default:
      return kDefaultMethod;
  }
}

/// GPUs that only pass data on become relays.
fabric::Description partOf(const fabric::Fabric& fabric, const ConcurrentGroup& group, std::size_t index,
                           const std::vector<schedule::LinkShare>& shares) {
  fabric::Description part;
  part.name = fabric.name() + ", group " + std::to_string(index);
  std::set<fabric::NodeIndex> used;
  for (const schedule::LinkShare& share : shares) {
    used.insert({fabric.arcs()[share.arc].tail, fabric.arcs()[share.arc].head});
  }
  const auto add = [&](fabric::NodeIndex at, const char* kind) -> fabric::NodeDescription& {
    const fabric::Node& node = fabric.nodes()[at];
    part.nodes.push_back({.id = node.id, .kind = kind, .box = node.box});
    return part.nodes.back();
  };
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    const fabric::NodeIndex node = fabric.gpus()[group.ranks[place]];
    add(node, "gpu").rank = static_cast<int>(place);
    used.erase(node);
  }
  for (const fabric::NodeIndex node : used) {
    add(node, fabric.nodes()[node].kind == fabric::NodeKind::switchNode ? "switch" : "nic");
  }
  for (const schedule::LinkShare& share : shares) {
    const fabric::Arc& arc = fabric.arcs()[share.arc];
    part.links.push_back({.src = fabric.nodes()[arc.tail].id,
                          .dst = fabric.nodes()[arc.head].id,
                          .bandwidth = share.bandwidth.gigabytesPerSecond().toString(),
                          .duplex = false});
  }
  return part;
}

constexpr std::size_t kMaxProofTrees = 20'000;

/// One direction of an allreduce's trees, on the group's part of the fabric.
schedule::Forest forestOf(const std::vector<schedule::ConcurrentTree>& trees, const fabric::Fabric& fabric,
                          const fabric::Fabric& part, schedule::Direction direction, const Bandwidth& algbw) {
  const bool isOut = direction == schedule::Direction::out;
  schedule::Forest forest;
  forest.direction = direction;
  forest.gpuCount = part.gpuCount();
  forest.treesOfRoot.assign(part.gpus().size(), 0);
  std::vector<const schedule::ConcurrentTree*> ordered;
  for (const schedule::ConcurrentTree& tree : trees) {
    ordered.push_back(&tree);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* a, const auto* b) { return a->root < b->root; });
  std::int64_t count = 0;
  for (const schedule::ConcurrentTree* tree : ordered) {
    // By parent: its children, each with the route.
    std::multimap<fabric::Rank, std::pair<fabric::Rank, schedule::PathId>> children;
    for (const std::vector<std::int32_t>& path : isOut ? tree->outPaths : tree->inPaths) {
      std::vector<fabric::NodeIndex> nodes{*part.find(fabric.nodes()[fabric.arcs()[path.front()].tail].id)};
      for (const std::int32_t arc : path) {
        nodes.push_back(*part.find(fabric.nodes()[fabric.arcs()[arc].head].id));
      }
      const fabric::Rank from = part.nodes()[nodes.front()].rank;
      const fabric::Rank to = part.nodes()[nodes.back()].rank;
      children.emplace(isOut ? from : to, std::pair(isOut ? to : from, forest.paths.add(nodes)));
    }
    forest.trees.push_back({tree->root, tree->weight, static_cast<std::int64_t>(forest.edges.size())});
    std::vector<fabric::Rank> reached{tree->root};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const auto [first, last] = children.equal_range(reached[i]);
      for (auto child = first; child != last; ++child) {
        forest.edges.push_back({reached[i], child->second.first, child->second.second});
        reached.push_back(child->second.first);
      }
    }
    std::int64_t& own = forest.treesOfRoot[tree->root];
    own = checkedAdd(own, tree->weight);
    count = checkedAdd(count, tree->weight);
  }
  forest.scale = Rational(count) / algbw;
  return forest;
}

/// Replaces the trees of an allreduce by those of the proof, which reach the group's rate on its shares. Errors: those
/// of requireJudged; overflow.
Result<Judged> withProofTrees(Judged judged, const std::vector<schedule::ConcurrentTree>& trees,
                              const fabric::Fabric& fabric, const fabric::Fabric& part, const Bandwidth& algbw,
                              const Progress& progress) {
  return guarded([&]() -> Result<Judged> {
    Made made = std::move(judged.made);
    auto& schedule = std::get<schedule::Schedule>(made.schedule);
    schedule.reduceForest = forestOf(trees, fabric, part, schedule::Direction::in, algbw);
    schedule.broadcastForest = forestOf(trees, fabric, part, schedule::Direction::out, algbw);
    schedule.algbw = algbw;
    made.optimum.reset();
    return requireJudged(part, std::move(made), progress);
  });
}

}  // namespace

std::string groupsText(const ConcurrentDemand& demand) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson groups = OrderedJson::array();
  for (const ConcurrentGroup& group : demand.groups) {
    groups.push_back(
        {{"ranks", group.ranks}, {"collective", toString(group.collective)}, {"weight", group.weight.toString()}});
    if (isRooted(group.collective)) {
      groups.back()["root"] = group.ranks[group.root];
    }
  }
  OrderedJson relays = OrderedJson::array();
  for (std::size_t rank = 0; rank < demand.relays.size(); ++rank) {
    if (demand.relays[rank]) {
      relays.push_back(rank);
    }
  }
  OrderedJson all = {{"groups", std::move(groups)}};
  if (!relays.empty()) {
    all["relay"] = relays.size() == demand.relays.size() ? OrderedJson(true) : std::move(relays);
  }
  return all.dump() + "\n";
}

Result<std::vector<GroupSchedule>> scheduleGroups(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                                                  const groups::Optimum& optimum, const Progress& progress) {
  const auto shares = groups::linkShares(fabric, demand, optimum, progress);
  if (!shares) {
    return shares.error();
  }
  if (const Outcome checked = verify::checkShares(fabric, demand, *shares); !checked) {
    return checked.error();
  }
  Progress quiet = progress;
  quiet.onReport = {};
  std::vector<GroupSchedule> schedules;
  bool hasProofTrees = false;
  std::optional<std::vector<std::vector<schedule::ConcurrentTree>>> proofTrees;
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    progress.report("generating", static_cast<double>(i) / static_cast<double>(demand.groups.size()));
    const ConcurrentGroup& group = demand.groups[i];
    fabric::Description description = partOf(fabric, group, i, (*shares)[i]);
    auto part = fabric::Fabric::build(description);
    if (!part) {
      return part.error();
    }
    Demand wanted{.collective = group.collective};
    if (isRooted(group.collective)) {
      wanted.root = group.root;
    }
    io::Origin origin{.method = methodOf(group.collective)};
    auto judged = makeSchedule(*part, *findMethod(origin.method), wanted, {}, quiet);
    if (!judged) {
      Error error = judged.error();
      error.message = "group " + std::to_string(i) + ": " + error.message;
      return error;
    }
    const Bandwidth rate = optimum.lower * group.weight;
    if (group.collective == Collective::allreduce && schedule::algbwOf(judged->made.schedule) < rate) {
      if (!hasProofTrees) {
        hasProofTrees = true;
        proofTrees = groups::treesWithImages(fabric, demand, optimum, kMaxProofTrees, quiet);
      }
      if (proofTrees) {
        if (auto better = withProofTrees(*judged, (*proofTrees)[i], fabric, *part, rate, quiet)) {
          judged = std::move(better);
          origin = {};
        }
      }
    }
    schedules.push_back({std::move(description), *std::move(part), *std::move(judged), rate, std::move(origin)});
  }
  return schedules;
}

Result<std::vector<std::string>> writeGroups(const std::filesystem::path& folder, const ConcurrentDemand& demand,
                                             const std::vector<GroupSchedule>& schedules,
                                             const fabric::Description* whole, const Progress& progress) {
  if (const Outcome made = io::makeFolder(folder); !made) {
    return made.error();
  }
  if (Outcome saved = io::saveFile(folder / kGroupsFile, groupsText(demand)); !saved) {
    return saved.error();
  }
  if (whole != nullptr) {
    if (Outcome saved = io::saveFile(folder / kGroupsFabric, io::writeFabricJson(*whole)); !saved) {
      return saved.error();
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const GroupSchedule& each = schedules[i];
    const bool isForest = std::holds_alternative<schedule::Schedule>(each.judged.made.schedule);
    const std::size_t digits = std::to_string(schedules.size() - 1).size();
    std::string number = std::to_string(i);
    number.insert(0, digits - number.size(), '0');
    names.push_back("group-" + number + (isForest ? ".forest.json" : ".schedule.json"));
    const auto write = [&](std::ostream& out) {
      return writeSchedule(out, each.judged.made.schedule, each.fabric, each.description, each.origin, progress);
    };
    if (Outcome saved = io::saveFile(folder / names.back(), write); !saved) {
      return saved.error();
    }
  }
  return names;
}

}  // namespace coppice::workflow
