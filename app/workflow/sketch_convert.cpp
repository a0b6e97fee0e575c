// SPDX-License-Identifier: Apache-2.0
#include "workflow/sketch_convert.hpp"

#include <utility>

#include "fabric/fabric.hpp"
#include "io/taccl_fabric.hpp"
#include "io/taccl_json.hpp"
#include "io/taccl_origin.hpp"
#include "sketch/make_model.hpp"

namespace coppice::workflow {
namespace {

/// What of a fabric says how fast it is.
bool isSameFabric(const fabric::Description& a, const fabric::Description& b) {
  const auto isSameNode = [](const fabric::NodeDescription& x, const fabric::NodeDescription& y) {
    return x.id == y.id && x.kind == y.kind && x.box == y.box && x.rank == y.rank && x.multicast == y.multicast &&
           x.aggregation == y.aggregation;
  };
  const auto isSameLink = [](const fabric::LinkDescription& x, const fabric::LinkDescription& y) {
    return x.src == y.src && x.dst == y.dst && x.bandwidth == y.bandwidth && x.duplex == y.duplex &&
           x.count == y.count && x.latency == y.latency;
  };
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), isSameNode) &&
         std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(), isSameLink);
}

/// The fabric that the texts gave.
Result<fabric::Description> fabricOfTexts(const io::TacclOrigin& origin) {
  const auto unit = Rational::parse(origin.timeUnit);
  if (!unit) {
    return unit.error();
  }
  if (origin.sketch.empty()) {
    auto opened = io::readTacclFabric(origin.topology, {},
                                      {sketch::parseMachineType(origin.type), origin.nodes, ExactMicroseconds(*unit)});
    return opened ? Result<fabric::Description>(std::move(opened->description)) : opened.error();
  }
  const auto sketch = io::readTacclSketch(origin.sketch);
  if (!sketch) {
    return sketch.error();
  }
  const auto topology = io::readTacclTopology(origin.topology);
  if (!topology) {
    return topology.error();
  }
  sketch::ModelOptions options;
  options.type = sketch::parseMachineType(origin.type);
  options.nodes = origin.nodes;
  options.truncates = origin.truncates;
  const auto made = sketch::makeModel(sketch->value, topology->value, options);
  if (!made) {
    return made.error();
  }
  auto fabric = sketch::fabricOf(made->model, {.timeUnit = ExactMicroseconds(*unit), .chunkBytes = origin.chunkBytes});
  return fabric ? Result<fabric::Description>(std::move(fabric->description)) : fabric.error();
}

}  // namespace

Result<SketchedFabric> fabricOfFiles(const SketchFiles& files, const sketch::ModelOptions& options,
                                     const std::optional<ExactMicroseconds>& timeUnit) {
  auto loaded = loadSketch(files, options);
  if (!loaded) {
    return loaded.error();
  }
  const auto sketchText = readText(files.sketch, {});
  const auto topologyText = readText(files.topology, {});
  if (!sketchText || !topologyText) {
    return sketchText ? topologyText.error() : sketchText.error();
  }
  sketch::Scale scale = sketch::guessScale(loaded->topology);
  scale.timeUnit = timeUnit.value_or(scale.timeUnit);
  auto made = sketch::fabricOf(loaded->made.model, scale);
  if (!made) {
    return made.error();
  }
  made->description.extra = io::writeTacclOrigin({.sketch = *sketchText,
                                                  .topology = *topologyText,
                                                  .type = std::string(toString(loaded->made.type)),
                                                  .nodes = loaded->made.model.nodes,
                                                  .timeUnit = scale.timeUnit.count().toString(),
                                                  .chunkBytes = scale.chunkBytes,
                                                  .truncates = options.truncates});
  return SketchedFabric{*std::move(loaded), std::move(made->description)};
}

Result<SketchTexts> filesOfFabric(const fabric::Description& description, const sketch::ProposalOptions& options) {
  SketchTexts texts;
  const auto origin = io::readTacclOrigin(description.extra);
  if (!origin) {
    return origin.error();
  }
  if (origin->has_value()) {
    const auto made = fabricOfTexts(**origin);
    if (made && isSameFabric(*made, description)) {
      if (!(*origin)->sketch.empty()) {
        return SketchTexts{(*origin)->sketch, (*origin)->topology, true, {}};
      }
      texts.topology = (*origin)->topology;
    } else {
      texts.findings.push_back({Severity::warning, ErrorCode::badInput,
                                "the fabric was changed after it was created from TACCL's files",
                                "a new sketch is proposed for the current fabric"});
    }
  }
  const auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    return fabric.error();
  }
  const auto proposal = sketch::propose(*fabric, options);
  if (!proposal) {
    return proposal.error();
  }
  texts.sketch = io::writeTacclSketch(proposal->sketch);
  if (!texts.topology.empty()) {
    return texts;
  }
  sketch::Topology topology = proposal->topology;
  topology.unknown.emplace_back("coppice_time_unit_us", "1");
  topology.unknown.emplace_back("coppice_chunk_bytes", std::to_string(options.chunkBytes));
  texts.topology = io::writeTacclTopology(topology);
  return texts;
}

}  // namespace coppice::workflow
