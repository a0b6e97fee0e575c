// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <sstream>

#include "held_schedule.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "modules.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/tree_reader.hpp"
#include "unwrap.hpp"
#include "workflow/concurrent_schedules.hpp"
#include "workflow/export_program.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/playable.hpp"
#include "workflow/request.hpp"
#include "workflow/schedule_file.hpp"

namespace coppice::python {
namespace {

using workflow::LoadedFabric;
using workflow::Values;

HeldSchedule generate(const std::shared_ptr<LoadedFabric>& loaded, const std::string& collective,
                      const std::string& root, const std::string& amounts, const std::string& methodId,
                      const Values& options, const py::object& listener) {
  auto judged = compute(listener, [&](const Progress& progress) -> Result<workflow::Judged> {
    const workflow::Method* method = workflow::findMethod(methodId);
    if (method == nullptr) {
      return Error{ErrorCode::badUsage, "there is no method " + methodId, "use " + workflow::methodNames()};
    }
    const auto demand = workflow::readDemand(loaded->fabric, {collective, root, amounts});
    if (!demand) {
      return demand.error();
    }
    return workflow::makeSchedule(loaded->fabric, *method, *demand, options, progress);
  });
  return {loaded, std::move(judged.made.schedule), {methodId, options}, judged.bound, judged.boundScope};
}

/// One of each group, with its group's part of the fabric.
std::vector<HeldSchedule> generateGroups(const LoadedFabric& loaded, const std::string& groups, const std::string& mesh,
                                         const std::string& axes, const std::string& collective, bool relay,
                                         const py::object& listener) {
  const workflow::ConcurrentText text = groupsText(groups, mesh, axes, collective, relay);
  auto schedules = compute(listener, [&](const Progress& progress) -> Result<std::vector<workflow::GroupSchedule>> {
    const auto demand = workflow::readConcurrent(loaded.description, loaded.fabric, text);
    if (!demand) {
      return demand.error();
    }
    const auto optimum = workflow::provedConcurrent(loaded.fabric, *demand, progress);
    return optimum ? workflow::scheduleGroups(loaded.fabric, *demand, *optimum, progress) : optimum.error();
  });
  std::vector<HeldSchedule> held;
  for (workflow::GroupSchedule& each : schedules) {
    auto part = std::make_shared<LoadedFabric>(LoadedFabric{std::move(each.description), std::move(each.fabric), {}});
    held.push_back({std::move(part), std::move(each.judged.made.schedule), std::move(each.origin), each.judged.bound,
                    each.judged.boundScope});
  }
  return held;
}

HeldSchedule read(const std::string& text, const std::string& name) {
  return compute(py::none(), [&](const Progress&) -> Result<HeldSchedule> {
    if (workflow::scheduleFileKind(text) == workflow::ScheduleFileKind::steps) {
      auto steps = io::loadSchedule(text, name);
      if (!steps) {
        return steps.error();
      }
      auto loaded = std::make_shared<LoadedFabric>(LoadedFabric{steps->description, std::move(steps->fabric), {}});
      io::Origin origin = steps->origin.method.empty() ? io::Origin{steps->schedule.method} : std::move(steps->origin);
      return HeldSchedule{std::move(loaded), std::move(steps->schedule), std::move(origin), {}, {}};
    }
    auto forest = io::loadForest(text, name);
    if (!forest) {
      return forest.error();
    }
    auto loaded = std::make_shared<LoadedFabric>(LoadedFabric{forest->description, std::move(forest->fabric), {}});
    const Bandwidth bound = forest->schedule.allreduceBound.value_or(forest->schedule.bound);
    return HeldSchedule{std::move(loaded), std::move(forest->schedule), std::move(forest->origin), bound, {}};
  });
}

std::string written(const HeldSchedule& held) {
  return compute(py::none(), [&](const Progress& progress) -> Result<std::string> {
    std::ostringstream out;
    const auto* steps = std::get_if<schedule::StepSchedule>(&held.schedule);
    const Outcome done =
        steps != nullptr
            ? io::writeScheduleJson(out, *steps, held.fabric(), &held.loaded->description, progress, held.origin)
            : io::writeForestJson(out, std::get<schedule::Schedule>(held.schedule), held.fabric(),
                                  &held.loaded->description, progress, held.origin);
    if (!done) {
      return done.error();
    }
    return std::move(out).str();
  });
}

py::dict verify(const HeldSchedule& held, const py::object& listener) {
  const auto judged = compute(listener, [&](const Progress& progress) {
    return workflow::judge(held.fabric(), {.schedule = held.schedule}, progress);
  });
  py::dict dict;
  dict["ok"] = judged.verdict.ok;
  dict["algbw"] = fraction(judged.verdict.algbw);
  dict["bound_proved"] = judged.verdict.boundProved;
  dict["findings"] = findingsOf(judged.verdict.findings);
  return dict;
}

/// [(root, multiplicity, [(parent, child, [node ids of the route], pruned hops)])] of one direction; ranks.
py::list treesOf(const HeldSchedule& held, const schedule::Forest& forest) {
  schedule::TreeReader reader(forest);
  py::list trees;
  for (std::int64_t i = 0; i < reader.size(); ++i) {
    const schedule::TreeReader::View tree = reader.read(i);
    py::list edges;
    for (const schedule::TreeEdge& edge : tree.edges) {
      py::list route;
      for (const fabric::NodeIndex node : reader.path(edge)) {
        route.append(held.fabric().nodes()[node].id);
      }
      edges.append(py::make_tuple(edge.parent, edge.child, std::move(route), edge.pruned));
    }
    trees.append(py::make_tuple(tree.root, tree.multiplicity, std::move(edges)));
  }
  return trees;
}

/// {"reduce": trees or None, "broadcast": trees or None, trees per GB/s}; None of a schedule in steps.
py::object forestsOf(const HeldSchedule& held) {
  const auto* forest = std::get_if<schedule::Schedule>(&held.schedule);
  if (forest == nullptr) {
    return py::none();
  }
  const auto half = [&](const std::optional<schedule::Forest>& trees) {
    return trees ? py::object(treesOf(held, *trees)) : py::object(py::none());
  };
  py::dict dict;
  dict["reduce"] = half(forest->reduceForest);
  dict["broadcast"] = half(forest->broadcastForest);
  dict["overlapped"] = forest->overlapped;
  return dict;
}

/// [(step, from, to, shard, begin, end, reduces, [node ids])], begin and end as parts of the shard; None of trees.
py::object transfersOf(const HeldSchedule& held) {
  const auto* steps = std::get_if<schedule::StepSchedule>(&held.schedule);
  if (steps == nullptr) {
    return py::none();
  }
  py::list list;
  for (std::size_t i = 0; i < steps->transfers.size(); ++i) {
    const schedule::Transfer transfer = steps->transfers[i];
    py::list route;
    if (transfer.route != schedule::kNoRoute) {
      for (const fabric::NodeIndex node : steps->paths[transfer.route]) {
        route.append(held.fabric().nodes()[node].id);
      }
    }
    list.append(py::make_tuple(transfer.step, transfer.from, transfer.to, transfer.shard,
                               fraction(Rational(transfer.begin, steps->denominator)),
                               fraction(Rational(transfer.end, steps->denominator)), transfer.reduces,
                               std::move(route)));
  }
  return list;
}

struct PlayedAt {
  std::vector<simulate::Row> rows;
};

/// [(bytes, time in us, algbw, busbw, pieces)].
py::list simulate(const HeldSchedule& held, const std::vector<std::int64_t>& sizes,
                  const std::optional<double>& linkLatency, const std::optional<double>& messageOverhead,
                  const std::optional<double>& additionTime, std::uint32_t window,
                  const std::optional<std::uint32_t>& pieces, const py::object& listener) {
  const PlayedAt played = compute(listener, [&](const Progress& progress) -> Result<PlayedAt> {
    const auto microseconds = [](const std::optional<double>& value) {
      return value ? std::optional(Microseconds(*value)) : std::nullopt;
    };
    simulate::Model model{.linkLatency = microseconds(linkLatency), .messageOverhead = microseconds(messageOverhead)};
    model.window = window;
    if (additionTime) {
      model.additionTime = simulate::additionTime(*additionTime);
    }
    auto playable =
        workflow::playableOf("schedule", held.loaded, held.schedule, model, simulate::Barriers::steps, progress);
    if (!playable) {
      return playable.error();
    }
    PlayedAt all;
    for (const std::int64_t size : sizes) {
      if (size < 1) {
        return Error{ErrorCode::badUsage, "a size of " + std::to_string(size) + " bytes cannot be sent",
                     "use sizes of 1 byte or more"};
      }
      const auto one = playable->subject->simulate(size, {.pieces = pieces}, progress);
      if (!one) {
        return one.error();
      }
      all.rows.push_back(one->row);
    }
    return all;
  });
  py::list list;
  for (const simulate::Row& row : played.rows) {
    list.append(py::make_tuple(row.size, row.time.count(), row.algbw.gigabytesPerSecond(),
                               row.busbw.gigabytesPerSecond(), row.pieces));
  }
  return list;
}

std::string exported(const HeldSchedule& held, const std::string& target, bool inPlace, int instances,
                     const std::optional<std::string>& protocol, std::int64_t minBytes,
                     const std::optional<std::int64_t>& maxBytes, const py::object& listener) {
  return compute(listener, [&](const Progress& progress) -> Result<std::string> {
    if (const Outcome verified = workflow::requireVerified(held.fabric(), held.schedule, progress); !verified) {
      return verified.error();
    }
    if (target == "trees") {
      const auto* forest = std::get_if<schedule::Schedule>(&held.schedule);
      if (forest == nullptr) {
        return Error{ErrorCode::badUsage, "a schedule in steps has no trees", "use another target"};
      }
      return workflow::exportTrees(held.fabric(), *forest, progress);
    }
    const auto runtime = program::parseRuntime(target, "target");
    if (!runtime) {
      return runtime.error();
    }
    lowering::Options options{.runtime = *runtime, .inPlace = inPlace, .instances = instances, .minBytes = minBytes};
    options.maxBytes = maxBytes.value_or(options.maxBytes);
    if (protocol) {
      for (const program::Protocol each :
           {program::Protocol::simple, program::Protocol::ll, program::Protocol::ll128}) {
        if (program::toString(each) == *protocol) {
          options.protocol = each;
        }
      }
      if (!options.protocol) {
        return Error{ErrorCode::badUsage, "there is no protocol " + *protocol, "use Simple, LL or LL128"};
      }
    }
    auto program = workflow::requireProgram(held.fabric(), held.schedule, options, "program.xml", progress);
    if (!program) {
      return program.error();
    }
    return std::move(program->xml);
  });
}

/// (id, title, description, collectives, [(option, help, default)]).
py::list methods() {
  py::list list;
  for (const workflow::Method& method : workflow::methods()) {
    py::list collectives;
    for (const Collective collective : method.collectives) {
      collectives.append(std::string(toString(collective)));
    }
    py::list options;
    for (const workflow::Option& option : method.options) {
      options.append(py::make_tuple(option.name, option.help, option.defaultText));
    }
    list.append(
        py::make_tuple(method.id, method.title, method.description, std::move(collectives), std::move(options)));
  }
  return list;
}

}  // namespace

void defineSchedules(py::module_& module) {
  py::class_<HeldSchedule, std::shared_ptr<HeldSchedule>>(module, "Schedule")
      .def_property_readonly("fabric", [](const HeldSchedule& held) { return held.loaded; })
      .def_property_readonly(
          "collective", [](const HeldSchedule& held) { return std::string(toString(collectiveOf(held.schedule))); })
      .def_property_readonly("method", [](const HeldSchedule& held) { return held.origin.method; })
      .def_property_readonly("root", [](const HeldSchedule& held) { return rootOf(held.schedule); })
      .def_property_readonly("algbw", [](const HeldSchedule& held) { return fraction(algbwOf(held.schedule)); })
      .def_property_readonly("bound", [](const HeldSchedule& held) { return fraction(held.bound); })
      .def_property_readonly("scope",
                             [](const HeldSchedule& held) {
                               return held.scope ? std::string(schedule::sentenceOf(*held.scope)) : std::string();
                             })
      .def("forests", &forestsOf)
      .def("transfers", &transfersOf)
      .def("json", &written);
  module.def("generate_groups", &generateGroups);
  module.def("generate", &generate);
  module.def("read_schedule", &read);
  module.def("verify", &verify);
  module.def("simulate", &simulate);
  module.def("export", &exported);
  module.def("methods", &methods);
}

}  // namespace coppice::python
