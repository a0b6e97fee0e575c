// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>
#include <variant>

#include "held_schedule.hpp"
#include "modules.hpp"
#include "schedule/bound_scope.hpp"
#include "unwrap.hpp"
#include "workflow/compare.hpp"
#include "workflow/drill.hpp"
#include "workflow/exchange_request.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/request.hpp"

namespace coppice::python {
namespace {

using workflow::LoadedFabric;
using workflow::Values;

const std::string& idOf(const fabric::Fabric& fabric, fabric::NodeIndex node) {
  return fabric.nodes()[static_cast<std::size_t>(node)].id;
}

py::tuple linkOf(const fabric::Fabric& fabric, int arc) {
  const fabric::Arc& ends = fabric.arcs()[static_cast<std::size_t>(arc)];
  return py::make_tuple(idOf(fabric, ends.tail), idOf(fabric, ends.head));
}

// ---- uneven all-to-all

/// [(source, target, bandwidth, price)], one entry for each link that limits it.
py::list limitsOf(const fabric::Fabric& fabric, const workflow::ExchangeTime& time) {
  py::list list;
  for (const workflow::CutLinks& links : workflow::limitingLinks(fabric, time)) {
    for (const int arc : links.arcs) {
      const fabric::Arc& ends = fabric.arcs()[static_cast<std::size_t>(arc)];
      list.append(py::make_tuple(idOf(fabric, ends.tail), idOf(fabric, ends.head), fraction(links.bandwidth),
                                 fraction(links.price)));
    }
  }
  return list;
}

/// (time in ns, least, exact, direct or None, GB/s over NICs, GB/s in the box, worst rank, [(sent, received, alone)],
/// limits)
py::tuple exchangeOf(const fabric::Fabric& fabric, const workflow::ExchangeTime& time) {
  py::list ranks;
  for (const workflow::RankTraffic& each : time.ranks) {
    ranks.append(py::make_tuple(fraction(each.sent), fraction(each.received), fraction(each.nanoseconds)));
  }
  return py::make_tuple(fraction(time.nanoseconds), fraction(time.leastNanoseconds), time.isExact(),
                        fraction(time.directNanoseconds), time.networkGBps, time.boxGBps, time.worst, std::move(ranks),
                        limitsOf(fabric, time));
}

/// {"exchanges": {name: exchange}, "before": exchange or None, "placement": [rank]}
py::dict exchange(const LoadedFabric& loaded, const Values& options, const py::object& listener) {
  const auto answer = compute(listener, [&](const Progress& progress) -> Result<workflow::ExchangeAnswer> {
    const auto request = workflow::readExchange(loaded.fabric, options);
    return request ? workflow::answerExchange(loaded.fabric, *request, progress) : request.error();
  });
  py::dict exchanges;
  for (const workflow::NamedExchange& each : answer.exchanges) {
    exchanges[py::str(each.name)] = exchangeOf(loaded.fabric, each.time);
  }
  py::dict dict;
  dict["exchanges"] = std::move(exchanges);
  dict["before"] = answer.before ? py::object(exchangeOf(loaded.fabric, answer.before->time)) : py::object(py::none());
  dict["placement"] = answer.placement;
  return dict;
}

// ---- the failure drill

struct Drilled {
  std::vector<workflow::DrillCase> cases;
  std::vector<workflow::DrillAnswer> answers;  ///< by case; those that stand for no class are empty
  Bandwidth bound;                             ///< without a failure
};

Result<workflow::DrillBase> drillBase(
    const std::variant<std::shared_ptr<LoadedFabric>, std::shared_ptr<HeldSchedule>>& base,
    const workflow::DemandText& text, const Progress& progress) {
  if (const auto* held = std::get_if<std::shared_ptr<HeldSchedule>>(&base)) {
    const auto* forest = std::get_if<schedule::Schedule>(&(*held)->schedule);
    if (forest == nullptr) {
      return Error{ErrorCode::badUsage, "a schedule in steps cannot be repaired", "give a schedule of trees"};
    }
    if (const Outcome verified = workflow::requireVerified((*held)->fabric(), (*held)->schedule, progress); !verified) {
      return verified.error();
    }
    return workflow::DrillBase{*(*held)->loaded, *forest, (*held)->origin};
  }
  const LoadedFabric& loaded = *std::get<std::shared_ptr<LoadedFabric>>(base);
  const auto demand = workflow::readDemand(loaded.fabric, text);
  return demand ? workflow::makeDrillBase(loaded, *demand, progress) : demand.error();
}

Result<std::set<live::Part>> partsOf(const std::vector<std::string>& names) {
  std::set<live::Part> parts;
  for (const std::string& name : names) {
    const auto known = {live::Part::link, live::Part::nic, live::Part::switchNode, live::Part::gpu, live::Part::box};
    const auto* found =
        std::find_if(known.begin(), known.end(), [&](live::Part part) { return live::toString(part) == name; });
    if (found == known.end()) {
      return workflow::optionError("parts", "\"" + name + "\" is not a part that can fail",
                                   "use link, nic, switch, gpu or box");
    }
    parts.insert(*found);
  }
  return parts;
}

py::dict caseOf(const workflow::DrillCase& drilled, const workflow::DrillAnswer& answer, bool keepsSchedules) {
  py::dict dict;
  dict["part"] = std::string(live::toString(drilled.failure.part));
  dict["name"] = drilled.failure.name;
  dict["alike"] = drilled.alike;
  dict["gpus"] = answer.fabric ? answer.fabric->gpuCount() : 0;
  dict["reason"] = answer.impossible ? describe(*answer.impossible) : std::string();
  const forestcoll::Repaired none{};
  const forestcoll::Repaired& repaired = answer.repaired ? *answer.repaired : none;
  dict["bound"] = fraction(repaired.optimum);
  dict["algbw"] = fraction(repaired.schedule.algbw);
  dict["keeping_all"] = fraction(repaired.keepingAll);
  dict["from_nothing"] = repaired.isFromNothing;
  dict["unaffected_trees"] = repaired.count.unaffectedTrees;
  dict["kept_trees"] = repaired.count.keptTrees;
  dict["rerouted_trees"] = repaired.count.reroutedTrees;
  dict["new_trees"] = repaired.count.newTrees;
  dict["unaffected"] = fraction(repaired.count.unaffected);
  dict["kept"] = fraction(repaired.count.kept);
  dict["rerouted"] = fraction(repaired.count.rerouted);
  dict["schedule"] = py::none();
  if (keepsSchedules && answer.repaired) {
    auto damaged = std::make_shared<LoadedFabric>(LoadedFabric{answer.description, *answer.fabric, {}});
    dict["schedule"] = HeldSchedule{std::move(damaged), repaired.schedule, {}, repaired.optimum, {}};
  }
  return dict;
}

/// The classes, the largest loss first.
py::list drill(const std::variant<std::shared_ptr<LoadedFabric>, std::shared_ptr<HeldSchedule>>& given,
               const std::string& collective, const std::string& root, const std::string& amounts,
               const std::vector<std::string>& parts, const std::string& group, bool pairs, const std::string& within,
               bool keepAll, bool keepsSchedules, const py::object& listener) {
  const Drilled drilled = compute(listener, [&](const Progress& progress) -> Result<Drilled> {
    forestcoll::RepairOptions repair;
    repair.keepAll = keepAll;
    if (!within.empty()) {
      const auto loss = workflow::parseLoss(within);
      if (!loss) {
        return workflow::optionError("within", loss.error().message, loss.error().fix);
      }
      repair.maxLoss = *loss;
    }
    const auto kinds = partsOf(parts);
    if (!kinds) {
      return kinds.error();
    }
    const auto base = drillBase(given, {collective, root, amounts}, progress);
    if (!base) {
      return base.error();
    }
    auto cases = workflow::drillCases(*base, {.parts = *kinds, .group = group, .pairs = pairs}, progress);
    if (!cases) {
      return cases.error();
    }
    Drilled all{*std::move(cases), {}, base->schedule.bound};
    all.answers.resize(all.cases.size());
    const auto use = [&](std::size_t i, const workflow::DrillAnswer& answer) -> Outcome {
      all.answers[i] = answer;
      return Done{};
    };
    const Outcome done = workflow::drillAll(*base, all.cases, repair, use, progress);
    return done ? Result<Drilled>(std::move(all)) : done.error();
  });
  std::vector<std::size_t> order(drilled.cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return drilled.cases[i].first != i; });
  const auto left = [&](std::size_t i) {
    return drilled.answers[i].repaired ? drilled.answers[i].repaired->optimum : Bandwidth();
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return left(a) < left(b); });
  py::list list;
  for (const std::size_t i : order) {
    list.append(caseOf(drilled.cases[i], drilled.answers[i], keepsSchedules));
  }
  return list;
}

// ---- comparison

struct Compared {
  std::vector<workflow::Contender> contenders;
  std::vector<workflow::Refused> refused;
  workflow::Comparison comparison;
};

py::dict contenderOf(const workflow::Contender& contender, const std::vector<simulate::Row>& rows) {
  const fabric::Fabric& fabric = contender.playable.fabric();
  py::dict dict;
  dict["name"] = contender.playable.name;
  dict["method"] = contender.method;
  dict["algbw"] = fraction(contender.algbw);
  dict["bound"] = fraction(contender.bound);
  dict["scope"] = contender.bound ? std::string(schedule::sentenceOf(contender.boundScope)) : std::string();
  dict["steps"] = contender.steps;
  dict["traffic"] =
      contender.exactTraffic ? fraction(*contender.exactTraffic) : py::object(py::float_(contender.traffic));
  dict["least_traffic"] = fraction(contender.minTraffic);
  dict["busiest_link"] =
      contender.busiestArc >= 0 ? py::object(linkOf(fabric, contender.busiestArc)) : py::object(py::none());
  py::list played;
  for (const simulate::Row& row : rows) {
    played.append(py::make_tuple(row.size, row.time.count(), row.algbw.gigabytesPerSecond(),
                                 row.busbw.gigabytesPerSecond(), row.pieces));
  }
  dict["rows"] = std::move(played);
  return dict;
}

/// Of the methods (none: all that make the collective), unless there are schedules alone.
Result<Compared> compared(const std::shared_ptr<LoadedFabric>& loaded, const workflow::DemandText& text,
                          const std::vector<std::string>& methods,
                          const std::vector<std::pair<std::string, std::shared_ptr<HeldSchedule>>>& schedules,
                          const workflow::SweepOptions& sweep, const workflow::PlayOptions& play,
                          const Progress& progress) {
  Compared all;
  if (loaded) {
    auto demand = workflow::readDemand(loaded->fabric, text);
    if (!demand) {
      return demand.error();
    }
    const auto chosen = workflow::methodsOf(methods, demand->collective);
    if (!chosen) {
      return chosen.error();
    }
    auto made = workflow::contendersOfMethods(loaded, *chosen, *demand, play, progress);
    if (!made) {
      return made.error();
    }
    all.contenders = std::move(made->contenders);
    all.refused = std::move(made->refused);
  }
  for (const auto& [name, held] : schedules) {
    auto playable = workflow::playableOf(name, held->loaded, held->schedule, play.model, play.barriers, progress);
    if (!playable) {
      return playable.error();
    }
    auto contender = workflow::contenderOf(*std::move(playable), progress);
    if (!contender) {
      return contender.error();
    }
    contender->method = held->origin.method;
    all.contenders.push_back(*std::move(contender));
  }
  if (all.contenders.empty()) {
    return all.refused.size() == 1 ? all.refused.front().error
                                   : Error{ErrorCode::infeasible, "no method generated a schedule",
                                           "choose other methods or another collective"};
  }
  if (const Outcome comparable = workflow::requireComparable(all.contenders); !comparable) {
    return comparable.error();
  }
  workflow::agreeOnBound(all.contenders);
  auto comparison = workflow::compare(all.contenders, sweep, progress);
  if (!comparison) {
    return comparison.error();
  }
  all.comparison = *std::move(comparison);
  return all;
}

py::dict compare(const std::shared_ptr<LoadedFabric>& loaded, const std::string& collective, const std::string& root,
                 const std::vector<std::string>& methods,
                 const std::vector<std::pair<std::string, std::shared_ptr<HeldSchedule>>>& schedules,
                 const std::vector<std::int64_t>& sizes, const std::optional<std::int64_t>& resolution, bool bestPieces,
                 double timeLimit, const py::object& listener) {
  const Compared answer = compute(listener, [&](const Progress& progress) {
    return compared(loaded, {.collective = collective, .root = root}, methods, schedules,
                    {.sizes = sizes, .resolution = resolution, .bestPieces = bestPieces},
                    {.secondsPerMethod = timeLimit}, progress);
  });
  py::list contenders;
  for (std::size_t i = 0; i < answer.contenders.size(); ++i) {
    contenders.append(contenderOf(answer.contenders[i], answer.comparison.rows[i]));
  }
  py::list bands;
  for (const workflow::Band& band : answer.comparison.bands) {
    bands.append(py::make_tuple(band.from, band.contender, band.resolution));
  }
  py::list refused;
  for (const workflow::Refused& each : answer.refused) {
    refused.append(py::make_tuple(each.method, describe(each.error)));
  }
  py::dict dict;
  dict["contenders"] = std::move(contenders);
  dict["best"] = answer.comparison.best;
  dict["bands"] = std::move(bands);
  dict["refused"] = std::move(refused);
  return dict;
}

// ---- runs of NCCL

py::object timeOf(const std::optional<Microseconds>& time) {
  return time ? py::object(py::float_(time->count())) : py::object(py::none());
}

/// (id, ranks, hosts, channels, [ring ranks], [tree parents], [(collective, bytes, algorithm, protocol, channels)],
/// missing, notes)
py::tuple communicatorOf(const nccl::Communicator& communicator) {
  py::list rings;
  for (const nccl::LoggedRing& ring : communicator.rings) {
    rings.append(ring.ranks);
  }
  py::list trees;
  for (const nccl::LoggedTree& tree : communicator.trees) {
    trees.append(tree.parents);
  }
  py::list choices;
  for (const nccl::Choice& choice : communicator.choices) {
    choices.append(py::make_tuple(choice.collective, choice.bytes, choice.algorithm, choice.protocol, choice.channels));
  }
  return py::make_tuple(communicator.id, communicator.ranks, communicator.hosts, communicator.channels,
                        std::move(rings), std::move(trees), std::move(choices), communicator.missing,
                        communicator.notes);
}

py::object loadOf(const fabric::Fabric& fabric, const nccl::Load* load) {
  return load ? py::object(py::make_tuple(fraction(load->algbw), linkOf(fabric, load->arc))) : py::object(py::none());
}

/// (collective, bytes, algorithm, protocol, channels, estimated us, measured us, reachable algbw, faster, slowest rank)
py::tuple sizeOf(const workflow::RunSize& size) {
  return py::make_tuple(size.collective, size.bytes, size.algorithm, size.protocol, size.channels,
                        timeOf(size.estimated), timeOf(size.measured), fraction(size.reachable), size.faster,
                        size.slowestRank);
}

struct RunHere {
  workflow::ImportedRun run;
  std::optional<workflow::RunOnFabric> on;
  std::vector<workflow::RunSize> sizes;
  std::optional<schedule::StepSchedule> rings;
};

Outcome putOnFabric(const fabric::Fabric& fabric, const std::string& collective, RunHere& here,
                    const Progress& progress) {
  const auto wanted = workflow::comparedCollective(here.run, collective);
  if (!wanted) {
    return wanted.error();
  }
  const auto channels = workflow::channelsOf(fabric, here.run);
  if (!channels) {
    return channels.error();
  }
  auto on = workflow::runOnFabric(fabric, *channels, *wanted, progress);
  if (!on) {
    return on.error();
  }
  here.sizes = workflow::runSizes(here.run, *on);
  here.on = *std::move(on);
  if (here.on->loadOf("Ring") != nullptr) {
    auto rings = workflow::ringSchedule(fabric, channels->rings, *wanted, 0, "nccl-run", progress);
    if (!rings) {
      return rings.error();
    }
    here.rings = *std::move(rings);
  }
  return Done{};
}

py::dict importRun(const std::vector<std::pair<std::string, std::string>>& files,
                   const std::shared_ptr<LoadedFabric>& loaded, const std::string& collective,
                   const py::object& listener) {
  const RunHere here = compute(listener, [&](const Progress& progress) -> Result<RunHere> {
    std::vector<workflow::RunFile> read;
    for (const auto& [name, text] : files) {
      read.push_back({name, text});
    }
    auto run = workflow::importRun(read);
    if (!run) {
      return run.error();
    }
    RunHere all{*std::move(run), {}, {}, {}};
    const Outcome put = loaded ? putOnFabric(loaded->fabric, collective, all, progress) : Outcome(Done{});
    return put ? Result<RunHere>(std::move(all)) : put.error();
  });
  py::list communicators;
  for (const nccl::Communicator& each : here.run.log.communicators) {
    communicators.append(communicatorOf(each));
  }
  py::dict dict;
  dict["version"] = here.run.log.version;
  dict["library"] = here.run.log.library;
  dict["communicators"] = std::move(communicators);
  dict["topologies"] = here.run.topologies;
  dict["missing"] = here.run.missing;
  dict["warnings"] = here.run.log.warnings;
  dict["on"] = py::none();
  if (here.on) {
    py::list sizes;
    for (const workflow::RunSize& size : here.sizes) {
      sizes.append(sizeOf(size));
    }
    const py::object rings =
        here.rings ? py::cast(HeldSchedule{loaded, *here.rings, {"nccl-run"}, here.on->bound, {}}) : py::none();
    dict["on"] = py::make_tuple(std::string(toString(here.on->collective)), fraction(here.on->bound),
                                loadOf(loaded->fabric, here.on->loadOf("Ring")),
                                loadOf(loaded->fabric, here.on->loadOf("Tree")), std::move(sizes), rings);
  }
  return dict;
}

}  // namespace

void defineStudies(py::module_& module) {
  module.def("exchange", &exchange);
  module.def("drill", &drill);
  module.def("compare", &compare);
  module.def("import_run", &importRun);
}

}  // namespace coppice::python
