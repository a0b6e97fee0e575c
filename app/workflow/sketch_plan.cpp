// SPDX-License-Identifier: Apache-2.0
#include "workflow/sketch_plan.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "verify/plan_check.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/clock.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {
namespace {

/// Keys of topology files; the others are those of sketches.
bool isTopologyKey(std::string_view element) {
  static constexpr std::array<std::string_view, 11> kKeys = {
      "\"name\"",       "\"gpus_per_node\"",    "\"nics_per_node\"", "\"alpha\"",  "\"node_betas_list\"",
      "\"links\"",      "\"node_invbws_list\"", "\"betas\"",         "\"invbws\"", "\"remote_alpha\"",
      "\"remote_beta\""};
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](std::string_view key) { return element == "key " + std::string(key); });
}

void nameFile(Place& place, const SketchFiles& files) {
  if (place.file.empty() && place.element.starts_with("key ")) {
    place.file = inputName(isTopologyKey(place.element) ? files.topology : files.sketch);
  }
}

Error verificationError(const std::vector<Finding>& findings) {
  const Finding* fault = firstFault(findings);
  return {ErrorCode::verification, "the verifier refuses the plan: " + (fault != nullptr ? describe(*fault) : ""),
          "nothing was written; please report this sketch"};
}

}  // namespace

Result<LoadedSketch> loadSketch(const SketchFiles& files, const sketch::ModelOptions& options) {
  const auto sketchText = readText(files.sketch, {});
  if (!sketchText) {
    return sketchText.error();
  }
  const auto topologyText = readText(files.topology, {});
  if (!topologyText) {
    return topologyText.error();
  }
  auto sketch = io::readTacclSketch(*sketchText, inputName(files.sketch));
  if (!sketch) {
    return sketch.error();
  }
  auto topology = io::readTacclTopology(*topologyText, inputName(files.topology));
  if (!topology) {
    return topology.error();
  }
  auto made = sketch::makeModel(sketch->value, topology->value, options);
  if (!made) {
    Error error = made.error();
    nameFile(error.where, files);
    return error;
  }
  for (Finding& finding : made->findings) {
    nameFile(finding.where, files);
  }
  auto& findings = made->findings;
  findings.insert(findings.begin(), topology->findings.begin(), topology->findings.end());
  findings.insert(findings.begin(), sketch->findings.begin(), sketch->findings.end());
  return LoadedSketch{std::move(sketch->value), std::move(topology->value), *std::move(made)};
}

Result<JudgedPlan> judgePlan(const sketch::Model& model, taccl::Synthesis synthesis, const sketch::Scale& scale,
                             const Progress& progress) {
  Clock clock;
  const auto planned = verify::checkPlan(model, synthesis.plan, progress);
  if (!planned) {
    return planned.error();
  }
  if (!planned->ok) {
    return verificationError(planned->findings);
  }
  auto described = sketch::fabricOf(model, scale);
  if (!described) {
    return described.error();
  }
  auto fabric = fabric::Fabric::build(described->description);
  if (!fabric) {
    return fabric.error();
  }
  auto schedule = sketch::stepScheduleOf(model, synthesis.plan, *fabric, described->routes);
  if (!schedule) {
    return schedule.error();
  }
  const auto verdict = verify::verifySteps(*fabric, *schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    return verificationError(verdict->findings);
  }
  return JudgedPlan{std::move(synthesis), LoadedFabric{std::move(described->description), *std::move(fabric), {}},
                    *std::move(schedule), clock.lap()};
}

}  // namespace coppice::workflow
