// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <utility>

#include "bom/tables.hpp"
#include "finder/construction.hpp"
#include "finder/distances.hpp"
#include "modules.hpp"
#include "unwrap.hpp"
#include "workflow/find_topology.hpp"
#include "workflow/frontier_request.hpp"
#include "workflow/rank_order.hpp"

namespace coppice::python {
namespace {

using workflow::LoadedFabric;
using workflow::Values;

std::shared_ptr<LoadedFabric> heldFabric(const fabric::Description& description) {
  return std::make_shared<LoadedFabric>(LoadedFabric{description, unwrap(fabric::Fabric::build(description)), {}});
}

// ---- prices

/// {"price", "watts", "port_rate", "uplink_rate", "lines": [(kind, part, pieces, metres, price, watts)], "cables":
/// [(from, to, count, metres, part)], "boxes", "racks", "network_racks", "csv", "cable_csv"}
py::dict billOf(const fabric::Fabric& fabric, const bom::Bill& bill, const bom::Parts& parts) {
  py::list lines;
  for (const bom::BillLine& line : bill.lines) {
    const bom::Part& part = parts.rows[static_cast<std::size_t>(line.part)];
    lines.append(py::make_tuple(std::string(toString(part.kind)), part.name, line.pieces,
                                part.isCable() ? fraction(line.metres) : py::object(py::none()),
                                fraction(line.cost.price), fraction(line.cost.watts)));
  }
  py::list cables;
  for (const bom::CableRun& run : bill.runs) {
    cables.append(py::make_tuple(fabric.nodes()[run.from].id, fabric.nodes()[run.to].id, run.count,
                                 fraction(run.length), parts.rows[static_cast<std::size_t>(run.part)].name));
  }
  py::dict dict;
  dict["price"] = fraction(bill.total.price);
  dict["watts"] = fraction(bill.total.watts);
  dict["port_rate"] = fraction(bill.portRate);
  dict["uplink_rate"] = fraction(bill.uplinkRate);
  dict["lines"] = std::move(lines);
  dict["cables"] = std::move(cables);
  dict["boxes"] = bill.plan.boxes;
  dict["racks"] = bill.plan.racks;
  dict["network_racks"] = bill.plan.networkRacks;
  dict["csv"] = bom::billCsv(bill, parts);
  dict["cable_csv"] = bom::cableCsv(fabric, bill, parts);
  return dict;
}

py::dict bom(const LoadedFabric& loaded, const Values& options, bool isForWatts, const py::object& listener) {
  struct PricedBill {
    bom::Parts parts;
    bom::Bill bill;
  };
  const PricedBill priced = compute(listener, [&](const Progress& progress) -> Result<PricedBill> {
    auto table = workflow::readPartsAndFloor(options);
    if (!table) {
      return table.error();
    }
    auto bill = bom::billOf(loaded.fabric, table->parts, table->floor,
                            isForWatts ? bom::Preference::watts : bom::Preference::price, progress);
    return bill ? Result<PricedBill>(PricedBill{std::move(table->parts), *std::move(bill)}) : bill.error();
  });
  return billOf(loaded.fabric, priced.bill, priced.parts);
}

/// {"points": [{"name", "chosen_for", "on_front", "allreduce", "allreduce_at_most", "alltoall", "alltoall_at_most",
/// "step", "fabric", "bill"}], "not_built": [(name, reason)], "variants", "sample"}
py::dict frontier(const Values& options, const py::object& listener) {
  struct Found {
    workflow::FrontierQuestion question;
    workflow::Frontier frontier;
  };
  const Found found = compute(listener, [&](const Progress& progress) -> Result<Found> {
    auto question = workflow::readFrontier(options);
    if (!question) {
      return question.error();
    }
    auto frontier = workflow::findFrontier(question->request, question->priced.parts, progress);
    return frontier ? Result<Found>(Found{*std::move(question), *std::move(frontier)}) : frontier.error();
  });
  py::list points;
  for (const workflow::FrontierPoint& point : found.frontier.points) {
    const auto held = heldFabric(point.description);
    py::dict dict;
    dict["name"] = point.name;
    dict["chosen_for"] = point.preference == bom::Preference::price ? "price" : "watts";
    dict["on_front"] = point.isOnFront;
    dict["allreduce"] = fraction(point.bounds.allreduce);
    dict["allreduce_at_most"] = fraction(point.bounds.allreduceUpper);
    dict["alltoall"] = fraction(point.bounds.alltoall);
    dict["alltoall_at_most"] = fraction(point.bounds.alltoallUpper);
    dict["step"] = fraction(point.bounds.step);
    dict["bill"] = billOf(held->fabric, point.bill, found.question.priced.parts);
    dict["fabric"] = held;
    points.append(std::move(dict));
  }
  py::list notBuilt;
  for (const workflow::NotBuilt& each : found.frontier.notBuilt) {
    notBuilt.append(py::make_tuple(each.name, each.reason));
  }
  py::dict dict;
  dict["points"] = std::move(points);
  dict["not_built"] = std::move(notBuilt);
  dict["variants"] = found.frontier.variants;
  dict["sample"] = found.question.priced.isSample;
  return dict;
}

// ---- topologies

/// An entry of a front; fabric() builds it.
struct HeldTopology {
  workflow::FoundTopology found;
  Bandwidth bandwidth;  ///< of a node
};

py::object alltoallOf(const std::optional<workflow::AlltoallTime>& time) {
  return time ? py::object(py::make_tuple(fraction(time->least), fraction(time->reached))) : py::object(py::none());
}

struct TopologyQuestion {
  finder::Query query;
  workflow::TopologyTimesText times;
  std::shared_ptr<LoadedFabric> present;
  workflow::ChangeText change;
};

struct TopologyAnswer {
  std::vector<workflow::FoundTopology> found;
  std::vector<std::string> notes;
  workflow::TopologyTimes times;
  std::optional<std::size_t> fastest;
  std::vector<std::optional<workflow::Change>> changes;
};

Outcome addChanges(const TopologyQuestion& question, TopologyAnswer& answer, const Progress& progress) {
  if (!question.present && question.change.time.empty()) {
    return Done{};
  }
  if (!question.present || question.change.time.empty() || answer.times.sizes.empty()) {
    return Error{ErrorCode::badUsage, "a change is judged by its time, the present fabric and the calls of a step",
                 "give reconfiguration, present and sizes"};
  }
  const auto change = workflow::readChange(question.change);
  if (!change) {
    return change.error();
  }
  if (question.present->fabric.gpuCount() != question.query.nodes) {
    return Error{ErrorCode::badUsage,
                 "the present fabric has " + std::to_string(question.present->fabric.gpuCount()) + " GPUs",
                 "give a fabric of " + std::to_string(question.query.nodes)};
  }
  const auto present = workflow::presentTopology(question.present->fabric, answer.times, progress);
  if (!present) {
    return present.error();
  }
  for (const workflow::FoundTopology& each : answer.found) {
    answer.changes.push_back(workflow::changeTo(each, *present, answer.times, *change));
  }
  return Done{};
}

Result<TopologyAnswer> answerTopologies(const TopologyQuestion& question, const Progress& progress) {
  auto times = workflow::readTopologyTimes(question.times);
  if (!times) {
    return times.error();
  }
  TopologyAnswer answer;
  finder::Finder finder;
  auto found = workflow::findTopologies(finder, question.query, progress, &answer.notes);
  if (!found) {
    return found.error();
  }
  answer.found = *std::move(found);
  answer.times = *std::move(times);
  if (!answer.times.sizes.empty()) {
    answer.fastest = workflow::fastestFor(answer.found, answer.times);
  }
  const Outcome added = addChanges(question, answer, progress);
  return added ? Result<TopologyAnswer>(std::move(answer)) : added.error();
}

py::object changeOf(const std::optional<workflow::Change>& change) {
  return change ? py::object(py::make_tuple(fraction(change->present.count()), fraction(change->changed.count()),
                                            change->paysFrom,
                                            change->gain ? fraction(change->gain->count()) : py::object(py::none())))
                : py::object(py::none());
}

/// {"topologies": [{…, "core"}], "fastest", "changes", "notes", "least_steps", "least_t_b", "least_t_a"}
py::dict findTopologies(int nodes, int degree, bool duplex, bool paper, int maxSteps, bool optimal,
                        const std::string& goal, const std::string& alpha, const std::string& bandwidth,
                        const std::vector<std::string>& sizes, const std::string& collective,
                        const std::shared_ptr<LoadedFabric>& present, const std::string& reconfiguration,
                        std::int64_t jobSteps, const py::object& listener) {
  TopologyQuestion question;
  question.query.nodes = nodes;
  question.query.degree = degree;
  question.query.isDuplex = duplex;
  question.query.isPaper = paper;
  question.query.maxSteps = maxSteps > 0 ? std::optional(maxSteps) : std::nullopt;
  question.query.onlyOptimal = optimal;
  question.query.hasAlltoall = goal == "alltoall";
  question.times = {.alpha = alpha, .bandwidth = bandwidth, .sizes = sizes, .collective = collective};
  question.present = present;
  question.change = {.time = reconfiguration, .jobSteps = jobSteps};
  const TopologyAnswer answer =
      compute(listener, [&](const Progress& progress) { return answerTopologies(question, progress); });
  py::list topologies;
  for (const workflow::FoundTopology& each : answer.found) {
    py::dict dict;
    dict["steps"] = each.entry.steps;
    dict["bandwidth_time"] = fraction(each.entry.bandwidthTime);
    dict["reduce_scatter_time"] = fraction(each.reduceScatterTime);
    dict["diameter"] = each.diameter;
    dict["alltoall"] = alltoallOf(each.alltoall);
    dict["construction"] = finder::nameOf(*each.entry.construction);
    dict["duplex"] = each.entry.isDuplex;
    dict["exact"] = each.entry.isExact;
    dict["checked"] = each.isChecked;
    dict["core"] = HeldTopology{each, answer.times.model.bandwidth};
    topologies.append(std::move(dict));
  }
  py::list changes;
  for (const auto& each : answer.changes) {
    changes.append(changeOf(each));
  }
  py::dict dict;
  dict["topologies"] = std::move(topologies);
  dict["fastest"] = answer.fastest;
  dict["changes"] = std::move(changes);
  dict["notes"] = answer.notes;
  dict["least_steps"] = finder::mooreSteps(nodes, degree);
  dict["least_t_b"] = fraction(Rational(nodes - 1, nodes));
  dict["least_t_a"] = fraction(finder::leastMeanDistance(nodes, degree));
  return dict;
}

// ---- the order of ranks

/// (algbw, (source, target) of the busiest link)
py::tuple worthOf(const fabric::Fabric& fabric, const order::Worth& worth) {
  const fabric::Arc& arc = fabric.arcs()[static_cast<std::size_t>(worth.busiestArc)];
  return py::make_tuple(fraction(worth.algbw()),
                        py::make_tuple(fabric.nodes()[arc.tail].id, fabric.nodes()[arc.head].id));
}

/// @param present text of a hostfile; empty = the order of the fabric
py::dict rankOrder(const LoadedFabric& loaded, const std::string& algorithm, const std::string& collective,
                   const std::string& mesh, const std::string& axes, const std::string& present, bool isFree,
                   std::uint64_t work, std::uint64_t seed, const std::string& folder, const py::object& listener) {
  constexpr std::uint64_t kMillion = 1'000'000;
  const workflow::RankOrder made = compute(listener, [&](const Progress& progress) -> Result<workflow::RankOrder> {
    workflow::RankOrderText text{.algorithm = algorithm,
                                 .collective = collective,
                                 .mesh = mesh,
                                 .axes = axes,
                                 .present = present.empty() ? "" : "present"};
    text.request.isFree = isFree;
    text.request.work = work * kMillion;
    text.request.seed = seed;
    auto found = workflow::rankOrder(loaded.fabric, text, present, progress);
    if (found && !folder.empty()) {
      if (const Outcome written = workflow::writeRankOrder(folder, *found); !written) {
        return written.error();
      }
    }
    return found;
  });
  py::list hosts;
  for (const int host : workflow::hostOrder(made)) {
    hosts.append(py::make_tuple(made.hosts[static_cast<std::size_t>(host)].name, workflow::devicesOf(made, host)));
  }
  py::list gpus;
  for (const fabric::Rank rank : made.answer.order) {
    gpus.append(made.fabric.nodes()[made.fabric.gpus()[static_cast<std::size_t>(rank)]].id);
  }
  py::dict dict;
  dict["algorithm"] = made.algorithm;
  dict["collective"] = std::string(toString(made.collective));
  dict["given"] = worthOf(made.fabric, made.answer.given);
  dict["best"] = worthOf(made.fabric, made.answer.best);
  dict["bound"] = made.answer.bound ? fraction(made.answer.bound->time.inverse()) : py::object(py::none());
  dict["proved"] = made.answer.isProved();
  dict["hosts"] = std::move(hosts);
  dict["gpus"] = std::move(gpus);
  return dict;
}

}  // namespace

void defineNetworks(py::module_& module) {
  py::class_<HeldTopology>(module, "Topology").def("fabric", [](const HeldTopology& held) {
    return heldFabric(unwrap(workflow::fabricOf(held.found.entry, held.bandwidth)));
  });
  module.def("bom", &bom);
  module.def("frontier", &frontier);
  module.def("find_topologies", &findTopologies);
  module.def("rank_order", &rankOrder);
}

}  // namespace coppice::python
