// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "fabric/description.hpp"
#include "io/fabric_json.hpp"
#include "modules.hpp"
#include "presets/presets.hpp"
#include "unwrap.hpp"
#include "workflow/fabric_source.hpp"

namespace coppice::python {
namespace {

using workflow::LoadedFabric;

std::shared_ptr<LoadedFabric> shared(LoadedFabric&& loaded) {
  return std::make_shared<LoadedFabric>(std::move(loaded));
}

std::shared_ptr<LoadedFabric> load(const std::string& source, const std::string& format, const std::string& gpus) {
  return shared(compute(py::none(), [&](const Progress& progress) {
    return workflow::loadFabric({.source = source, .from = format, .gpus = gpus}, progress);
  }));
}

std::shared_ptr<LoadedFabric> fromJson(const std::string& text, const std::string& name) {
  return shared(compute(py::none(), [&](const Progress&) -> Result<LoadedFabric> {
    auto description = io::readFabricJson(text, name);
    if (!description) {
      return description.error();
    }
    auto built = fabric::Fabric::build(*description);
    if (!built) {
      return built.error();
    }
    return LoadedFabric{*std::move(description), *std::move(built), {}};
  }));
}

/// (id, kind, box, rank or None, multicast, aggregation), ranks as built.
py::list nodesOf(const LoadedFabric& loaded) {
  py::list list;
  for (const fabric::Node& node : loaded.fabric.nodes()) {
    list.append(py::make_tuple(node.id, std::string(fabric::toString(node.kind)), node.box,
                               node.rank < 0 ? py::object(py::none()) : py::int_(node.rank), node.multicast,
                               node.aggregation));
  }
  return list;
}

/// (source, target, bandwidth in GB/s, duplex, count), as the file has them.
py::list linksOf(const LoadedFabric& loaded) {
  py::list list;
  for (const fabric::LinkDescription& link : loaded.description.links) {
    list.append(py::make_tuple(link.src, link.dst, fraction(unwrap(Bandwidth::parse(link.bandwidth))), link.duplex,
                               link.count));
  }
  return list;
}

/// (source, target, bandwidth in GB/s), parallel links added up, one entry for each direction.
py::list arcsOf(const LoadedFabric& loaded) {
  py::list list;
  for (const fabric::Arc& arc : loaded.fabric.arcs()) {
    list.append(py::make_tuple(loaded.fabric.nodes()[arc.tail].id, loaded.fabric.nodes()[arc.head].id,
                               fraction(arc.bandwidth)));
  }
  return list;
}

/// (name, title, description, sources, [(name, description, default, allowed)]).
py::list presets() {
  py::list list;
  for (const presets::Preset& preset : presets::catalogue()) {
    py::list parameters;
    for (const presets::Parameter& parameter : preset.parameters) {
      parameters.append(
          py::make_tuple(parameter.name, parameter.description, parameter.defaultText, parameter.allowed));
    }
    list.append(py::make_tuple(preset.name, preset.title, preset.description, preset.sources, std::move(parameters)));
  }
  return list;
}

}  // namespace

void defineFabrics(py::module_& module) {
  py::class_<LoadedFabric, std::shared_ptr<LoadedFabric>>(module, "Fabric")
      .def_property_readonly("name", [](const LoadedFabric& loaded) { return loaded.fabric.name(); })
      .def_property_readonly("digest", [](const LoadedFabric& loaded) { return loaded.fabric.digest(); })
      .def_property_readonly("gpu_count", [](const LoadedFabric& loaded) { return loaded.fabric.gpuCount(); })
      .def_property_readonly("findings", [](const LoadedFabric& loaded) { return findingsOf(loaded.findings); })
      .def("nodes", &nodesOf)
      .def("links", &linksOf)
      .def("arcs", &arcsOf)
      .def("json", [](const LoadedFabric& loaded) { return io::writeFabricJson(loaded.description); });
  module.def("load_fabric", &load);
  module.def("fabric_from_json", &fromJson);
  module.def("presets", &presets);
}

}  // namespace coppice::python
