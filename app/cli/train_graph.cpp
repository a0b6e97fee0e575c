// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "fabric/likely_gpu.hpp"
#include "io/training_json.hpp"
#include "text.hpp"
#include "train_front.hpp"
#include "train_model.hpp"
#include "workflow/clock.hpp"
#include "workflow/training_graph.hpp"

namespace coppice::cli {
namespace {

using workflow::GraphRequest;
using workflow::MeshAnswer;

std::string microseconds(const Rational& nanoseconds) {
  return toDecimal(nanoseconds / Rational(1000), 3);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  return commaListOfFirst(kMost, names, [](const std::string& name) { return name; });
}

std::string contents(const io::FxProblem& graph) {
  std::string text =
      counted(graph.problem.nodes.size(), "tensor") + ", " + counted(graph.problem.dims.size(), "dimension") + "\n";
  if (!graph.parameters.empty()) {
    text += "  parameters  " + listed(graph.parameters) + "\n";
  }
  if (!graph.inputs.empty()) {
    text += "  inputs      " + listed(graph.inputs) + "\n";
  }
  for (const std::string& note : graph.notes) {
    text += "  note        " + note + "\n";
  }
  return text;
}

void addContents(const io::FxProblem& graph, Json& json) {
  json["parameters"] = graph.parameters;
  json["inputs"] = graph.inputs;
  json["notes"] = graph.notes;
}

std::string meshTable(const std::vector<MeshAnswer>& answers) {
  std::string text = "     mesh        step µs         compute µs      communication µs  memory MB\n";
  for (const MeshAnswer& answer : answers) {
    text += (&answer == &answers.front() && answer.best ? "  *  " : "     ") + cell(answer.mesh, 12);
    text += answer.best ? cell(microseconds(answer.step()), 16) + cell(microseconds(answer.cost().compute), 16) +
                              cell(microseconds(answer.cost().communication), 18) +
                              toDecimal(answer.cost().memory / Rational(1'000'000), 3) + "\n"
                        : "no plan fits into the memory\n";
  }
  return text;
}

/// What the best plan moves, and what limits it.
std::string limits(const fabric::Fabric& fabric, const MeshAnswer& answer, Json& json) {
  json["limited_by"] = answer.cost().compute >= answer.cost().communication ? "computation" : "communication";
  json["conversions"] = Json::array();
  std::string text;
  for (const workflow::ConversionTime& each :
       workflow::conversionTimes(answer.problem, answer.front.plans[*answer.best])) {
    const auto conversion = static_cast<std::size_t>(each.conversion);
    const std::string name(toString(workflow::collectiveOf(each.conversion)));
    const workflow::PricedAxis& axis = answer.axes[static_cast<std::size_t>(each.axis)];
    json["conversions"].push_back({{"axis", each.axis}, {"collective", name}, {"time", each.time.toString()}});
    text += "              " + microseconds(each.time) + " µs " + name + " on axis " + std::to_string(each.axis) +
            " at " + gigabytes(workflow::algbwOf(each.conversion, axis.axis.rates[conversion], axis.axis.size));
    const std::string cut = workflow::cutWords(fabric, axis.cuts[conversion]);
    text += (cut.empty() ? "" : ": " + cut) + "\n";
  }
  return text;
}

}  // namespace

Result<Report> showGraph(const std::string& text, const std::string& file) {
  const auto graph = io::readFxGraph(text, file);
  if (!graph) {
    return graph.error();
  }
  Report report;
  addContents(*graph, report.json);
  report.json["problem"] = Json::parse(io::writeTrainingProblem(graph->problem));
  report.text = file + ": " + contents(*graph) + graph->text +
                "  give a fabric as well for plans: train FABRIC --model " + file + "\n";
  return report;
}

Result<Report> trainGraph(const ModelOptions& options, const FabricOptions& source, bool hasStates,
                          const Progress& progress) {
  for (const auto& [name, isGiven] :
       {std::pair("compare", !options.compare.empty()), std::pair("output", !options.output.empty()),
        std::pair("trace", !options.trace.empty())}) {
    if (isGiven) {
      return workflow::optionError(name, "a graph has no layers to repeat", "leave it out");
    }
  }
  auto loaded = loadFabric(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto request = workflow::readTrainingGraph(options.values, fabric::namesOf(loaded->fabric));
  if (!request) {
    return request.error();
  }
  workflow::Clock clock;
  const auto answers = workflow::searchGraph(loaded->fabric, *request, options.mesh, progress);
  if (!answers) {
    return answers.error();
  }
  const double seconds = clock.lap();
  const MeshAnswer& best = answers->front();
  Report report;
  Json& json = report.json;
  json["fabric"] = loaded->fabric.name();
  json["graph"] = request->file;
  if (!request->hasMesh()) {
    json["gpu"] = std::string(request->machine.device.name);
  }
  addContents(request->graph, json);
  json["meshes"] = Json::array();
  for (const MeshAnswer& answer : *answers) {
    Json each{{"mesh", answer.mesh}, {"exact", answer.front.isExact()}, {"fits", answer.best.has_value()}};
    if (answer.best) {
      each["step"] = answer.step().toString();
    }
    json["meshes"].push_back(std::move(each));
  }
  json["mesh"] = best.mesh;
  addFront(best.problem, best.front, hasStates, json);
  json["seconds"] = seconds;
  report.text = request->file + " on " +
                (request->hasMesh() ? "its own mesh: "
                                    : counted(loaded->fabric.gpuCount(), "GPU") + " (" +
                                          std::string(request->machine.device.title) + "): ") +
                contents(request->graph);
  if (answers->size() > 1) {
    report.text += meshTable(*answers);
  }
  if (!best.best) {
    report.failure = workflow::noPlanWords(*request);
    return report;
  }
  report.text += "  mesh        " + best.mesh + "\n" + frontText(best.problem, best.front);
  report.text +=
      limits(loaded->fabric, best, json) + lines(loaded->findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
