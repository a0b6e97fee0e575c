// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/fabric_map.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "designer/document/figures.hpp"
#include "schedule/own_copies.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

FabricMap::FabricMap(const fabric::Fabric& fabric, const Model& model) : m_arcs(fabric, schedule::Direction::out) {
  const std::span<const fabric::Node> nodes = fabric.nodes();
  std::unordered_map<NodeId, fabric::NodeIndex> indexOf;
  m_nodes.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    m_nodes.push_back(model.nodeNamed(nodes[i].id));
    if (m_nodes.back().isValid()) {
      indexOf.try_emplace(m_nodes.back(), static_cast<fabric::NodeIndex>(i));
    }
  }
  m_steps.resize(fabric.arcs().size());
  for (const auto& [id, link] : model.links()) {
    const auto tail = indexOf.find(link.tail.node);
    const auto head = indexOf.find(link.head.node);
    if (tail == indexOf.end() || head == indexOf.end()) {
      continue;
    }
    if (const std::int32_t arc = m_arcs.find(tail->second, head->second); arc != schedule::kNoArc) {
      m_steps[arc].push_back({id, true});
    }
    if (const std::int32_t arc = m_arcs.find(head->second, tail->second); link.duplex && arc != schedule::kNoArc) {
      m_steps[arc].push_back({id, false});
    }
  }
}

LinkStep FabricMap::stepOf(fabric::NodeIndex tail, fabric::NodeIndex head) const {
  const std::int32_t arc = m_arcs.find(tail, head);
  return arc == schedule::kNoArc || m_steps[arc].empty() ? LinkStep{} : m_steps[arc].front();
}

TreeMark markOf(const ScheduleResult& result, schedule::TreeReader& reader, const TreeRef& ref, const FabricMap& map) {
  TreeMark mark;
  const bool isIn = ref.half == 0;
  const schedule::TreeReader::View view = reader.read(ref.tree);
  mark.roots.insert(map.nodeOf(result.fabric->gpus()[view.root]));
  mark.paths.reserve(view.edges.size());
  for (const schedule::TreeEdge& edge : view.edges) {
    const std::span<const fabric::NodeIndex> path = reader.path(edge);
    std::vector<LinkStep> steps;
    // The hops that multicast (of an in-tree: aggregation) makes needless stand at that end of the route.
    const auto pruned = static_cast<std::size_t>(edge.pruned);
    const std::size_t end = path.size() - 1 - (isIn ? pruned : 0);
    if (pruned > 0) {
      (isIn ? mark.summing : mark.copying).insert(map.nodeOf(path[isIn ? end : pruned]));
    }
    for (std::size_t hop = isIn ? 0 : pruned; hop < end; ++hop) {
      if (const LinkStep step = map.stepOf(path[hop], path[hop + 1]); step.link.isValid()) {
        steps.push_back(step);
      }
    }
    mark.paths.push_back(std::move(steps));
  }
  if (result.forests()->ownCopies) {
    const schedule::Direction direction = isIn ? schedule::Direction::in : schedule::Direction::out;
    for (const int index : schedule::ownCopies(*result.fabric, direction, reader, view)) {
      const fabric::Arc& arc = result.fabric->arcs()[index];
      if (const LinkStep step = map.stepOf(arc.tail, arc.head); step.link.isValid()) {
        mark.paths.push_back({step});
      }
    }
  }
  return mark;
}

namespace {

/// More would not be told apart on the drawing.
constexpr std::size_t kMaxTransferMarks = 12;

/// Transfers that are drawn alike; routes that several of them take are drawn once.
struct TransferGroup {
  std::int64_t transfers = 0;
  std::set<schedule::PathId> routes;
  std::set<fabric::Rank> senders;
};

TreeMark markOf(const ScheduleResult& result, const TransferGroup& group, const FabricMap& map, QString label) {
  TreeMark mark;
  mark.label = std::move(label);
  for (const fabric::Rank rank : group.senders) {
    mark.roots.insert(map.nodeOf(result.fabric->gpus()[rank]));
  }
  for (const schedule::PathId route : group.routes) {
    const std::span<const fabric::NodeIndex> path = result.stepSchedule()->paths[route];
    std::vector<LinkStep> steps;
    for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) {
      if (const LinkStep step = map.stepOf(path[hop], path[hop + 1]); step.link.isValid()) {
        steps.push_back(step);
      }
    }
    mark.paths.push_back(std::move(steps));
  }
  return mark;
}

void addTo(TransferGroup& group, const schedule::Transfer& transfer) {
  ++group.transfers;
  if (transfer.route != schedule::kNoRoute) {
    group.routes.insert(transfer.route);
  }
}

std::vector<TreeMark> marksOfRows(const TransferModel& model, const std::vector<std::size_t>& chosen,
                                  const FabricMap& map) {
  std::vector<TreeMark> marks;
  for (const std::size_t index : chosen) {
    const schedule::Transfer transfer = model.schedule()->transfers[index];
    TransferGroup group;
    addTo(group, transfer);
    group.senders.insert(transfer.from);
    marks.push_back(markOf(*model.result(), group, map,
                           model.gpuName(transfer.from) + u" → "_s + model.gpuName(transfer.to) + u" · "_s +
                               stepTitle(*model.schedule(), transfer.step)));
  }
  return marks;
}

}  // namespace

std::vector<TreeMark> transferMarks(const TransferModel& model, const std::vector<std::size_t>& chosen,
                                    const FabricMap& map, const QString& note) {
  std::vector<TreeMark> marks;
  const schedule::StepSchedule* schedule = model.schedule();
  const TransferFilter& filter = model.filter();
  if (!chosen.empty()) {
    marks = marksOfRows(model, chosen, map);
  } else if (schedule != nullptr && (filter.step || filter.shard)) {
    // Of one step by shard; of one shard by step.
    std::map<std::int64_t, TransferGroup> groups;
    TransferGroup all;
    for (int row = 0; row < model.rowCount(); ++row) {
      const schedule::Transfer transfer = schedule->transfers[model.transferAt(row)];
      const std::int64_t key = filter.step ? transfer.shard : transfer.step;
      if (groups.size() <= kMaxTransferMarks) {
        addTo(groups[key], transfer);
      }
      addTo(all, transfer);
    }
    const QString title = filter.step ? stepTitle(*schedule, *filter.step) : model.nameOfShard(*filter.shard);
    if (groups.size() > kMaxTransferMarks) {
      marks.push_back(markOf(*model.result(), all, map, title + u" (%1)"_s.arg(all.transfers)));
    } else {
      for (const auto& [key, group] : groups) {
        const QString part = filter.step ? model.nameOfShard(key) : stepTitle(*schedule, static_cast<int>(key));
        marks.push_back(markOf(*model.result(), group, map, part + u" (%1)"_s.arg(group.transfers)));
      }
    }
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    marks[i].category = static_cast<int>(i);
    marks[i].label += note;
  }
  return marks;
}

Heat heatOf(const ScheduleResult& result, const FabricMap& map) {
  Heat heat;
  for (std::size_t arc = 0; arc < result.loads.size(); ++arc) {
    const ArcLoad& load = result.loads[arc];
    const double share = toGBps(load.rate) / toGBps(load.bandwidth);
    for (const LinkStep& step : map.stepsOf(arc)) {
      LinkLoad& drawn = heat.load[step.link];
      (step.isForward ? drawn.forward : drawn.backward) = share;
      drawn.isBottleneck = drawn.isBottleneck || load.isBusiest;
    }
  }
  const auto fullest =
      std::count_if(heat.load.begin(), heat.load.end(), [](const auto& drawn) { return drawn.second.isBottleneck; });
  const bool areFew = 2 * static_cast<std::size_t>(fullest) <= heat.load.size();
  constexpr std::size_t kMaxTexts = 40;
  for (auto& [link, drawn] : heat.load) {
    // Where most are equally full, a mark on each hides the drawing; so do texts that lie over each other.
    drawn.isBottleneck = drawn.isBottleneck && areFew;
    if (heat.load.size() > kMaxTexts) {
      continue;
    }
    constexpr double kHundred = 100;
    drawn.text = QString::number(static_cast<int>(kHundred * std::max(drawn.forward, drawn.backward))) + u" %"_s;
  }
  heat.title = QCoreApplication::translate("Schedule", "Load of links");
  heat.low = u"0 %"_s;
  heat.high = u"100 %"_s;
  heat.bottleneck = QCoreApplication::translate("Schedule", "most loaded");
  return heat;
}

}  // namespace coppice::designer
