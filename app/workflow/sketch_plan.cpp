// SPDX-License-Identifier: Apache-2.0
#include "workflow/sketch_plan.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "io/taccl_origin.hpp"
#include "sketch/make_model.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/claims.hpp"
#include "workflow/clock.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

/// Keys of topology files; the others are those of sketches.
bool isTopologyKey(std::string_view key) {
  static constexpr std::array<std::string_view, 11> kKeys = {
      "name",  "gpus_per_node", "nics_per_node", "alpha",      "node_betas_list", "links", "node_invbws_list",
      "betas", "invbws",        "remote_alpha",  "remote_beta"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

void nameFile(Place& place, const SketchFiles& files) {
  const ElementPart* const key = place.element.as(RefKind::key);
  if (place.file.empty() && key != nullptr) {
    place.file = inputName(isTopologyKey(key->name) ? files.topology : files.sketch);
  }
}

Error verificationError(const std::vector<Finding>& findings) {
  const Finding* fault = firstFault(findings);
  return {ErrorCode::verification, "the verifier rejects the plan: " + (fault != nullptr ? describe(*fault) : ""),
          "nothing was written; please report this sketch"};
}

}  // namespace

Result<io::TacclFile<sketch::Sketch>> loadSketchFile(const std::string& path) {
  const auto text = readText(path, {});
  if (!text) {
    return text.error();
  }
  return io::readTacclSketch(*text, inputName(path));
}

Result<LoadedSketch> loadSketch(const SketchFiles& files, const sketch::ModelOptions& options) {
  auto sketch = loadSketchFile(files.sketch);
  if (!sketch) {
    return sketch.error();
  }
  const auto topologyText = readText(files.topology, {});
  if (!topologyText) {
    return topologyText.error();
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

namespace {

/// By the verifier of plans, then by that of schedules.
template <typename Routes>
Result<JudgedPlan> judgeOn(const sketch::Model& model, taccl::Synthesis synthesis, LoadedFabric loaded,
                           const Routes& routes, const Progress& progress) {
  Clock clock;
  const Claims claims{.plan = std::make_shared<const PlanClaim>(PlanClaim{model, synthesis.plan})};
  const auto claimed = checkClaims(loaded.fabric, nullptr, claims, progress);
  if (!claimed) {
    return claimed.error();
  }
  if (!claimed->findings.empty()) {
    return verificationError(claimed->findings);
  }
  auto schedule = sketch::stepScheduleOf(model, synthesis.plan, loaded.fabric, routes);
  if (!schedule) {
    return schedule.error();
  }
  const auto verdict = verify::verifySteps(loaded.fabric, *schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (!verdict->ok) {
    return verificationError(verdict->findings);
  }
  return JudgedPlan{std::move(synthesis), std::move(loaded), *std::move(schedule), clock.lap()};
}

std::vector<std::string> differencesOf(const sketch::Proposal& fit) {
  std::vector<std::string> differences;
  for (const auto& [offset, size] : fit.sketch.symmetryOffsets) {
    const int within = (offset % size + size) % size;
    differences.push_back(
        sketch::differenceUnder(fit.model, sketch::rotation(fit.model.gpus(), within, size)).value_or(std::string()));
  }
  return differences;
}

FittedSketch joined(LoadedFabric fabric, sketch::Proposal fit, std::int64_t chunkBytes) {
  FittedSketch result{std::move(fabric), std::move(fit), chunkBytes};
  result.differences = differencesOf(result.fit);
  return result;
}

Result<LoadedFabric> built(const fabric::Description& facts) {
  auto fabric = fabric::Fabric::build(facts);
  if (!fabric) {
    return fabric.error();
  }
  return LoadedFabric{facts, *std::move(fabric), {}};
}

}  // namespace

Result<JudgedPlan> judgePlan(const sketch::Model& model, taccl::Synthesis synthesis, const sketch::Scale& scale,
                             const Progress& progress) {
  auto described = sketch::fabricOf(model, scale);
  if (!described) {
    return described.error();
  }
  auto fabric = built(described->description);
  if (!fabric) {
    return fabric.error();
  }
  return judgeOn(model, std::move(synthesis), *std::move(fabric), described->routes, progress);
}

Result<JudgedPlan> judgePlan(const sketch::Model& model, taccl::Synthesis synthesis, LoadedFabric fabric,
                             const std::vector<std::vector<fabric::NodeIndex>>& routes, const Progress& progress) {
  return judgeOn(model, std::move(synthesis), std::move(fabric), routes, progress);
}

double gapOf(const sketch::Plan& plan) {
  return plan.makespan.isZero() ? 0 : ((plan.makespan - plan.bound) / plan.makespan).toDouble();
}

Result<std::int64_t> chunkBytesOf(const sketch::Sketch& sketch) {
  const auto refuse = [](const std::string& key, std::string message, std::string fix) {
    return Error{
        ErrorCode::badInput, std::move(message), std::move(fix), {.element = {RefKind::key, std::string(key)}}};
  };
  if (sketch.chunksPerGpu < 1) {
    return refuse("input_chunkup", "each GPU has " + std::to_string(sketch.chunksPerGpu) + " chunks", "use 1 or more");
  }
  std::int64_t bytes = kSketchBytes;
  if (sketch.inputSize && !sketch.inputSize->empty()) {
    const auto read = parseBytes(*sketch.inputSize, "input_size");
    if (!read || *read < 1) {
      return refuse("input_size", inQuotes(*sketch.inputSize) + " is not a number of bytes",
                    "write it as 1MiB, 32K or 65536");
    }
    bytes = *read;
  }
  if (bytes < sketch.chunksPerGpu) {
    return refuse("input_size",
                  std::to_string(bytes) + " bytes are fewer than " + std::to_string(sketch.chunksPerGpu) + " chunks",
                  "use more data or fewer chunks");
  }
  // The last chunk may be the shorter one.
  return bytes / sketch.chunksPerGpu + (bytes % sketch.chunksPerGpu != 0 ? 1 : 0);
}

namespace {

/// The sketch that the fabric was made of, if there is one and it still fits.
std::optional<FittedSketch> originalSketch(const fabric::Description& facts) {
  const auto origin = io::readTacclOrigin(facts.extra);
  if (!origin || !*origin || (*origin)->sketch.empty()) {
    return std::nullopt;
  }
  auto read = io::readTacclSketch((*origin)->sketch);
  if (!read) {
    return std::nullopt;
  }
  sketch::Sketch& sketch = read->value;
  constexpr std::int64_t kMaxFactor = std::int64_t{1} << 30;
  if (!sketch.inputSize && (*origin)->chunkBytes <= kMaxFactor && sketch.chunksPerGpu <= kMaxFactor) {
    // The costs of the file are those of such chunks.
    sketch.inputSize = std::to_string((*origin)->chunkBytes * sketch.chunksPerGpu);
  }
  auto fitted = fitSketch(facts, sketch);
  return fitted ? std::optional(*std::move(fitted)) : std::nullopt;
}

}  // namespace

Result<FittedSketch> proposeSketch(const fabric::Description& facts, const sketch::Sketch& sizes) {
  if (auto original = originalSketch(facts)) {
    return *std::move(original);
  }
  // Without a number of chunks, the bytes are those of all.
  sketch::Sketch whole = sizes;
  whole.chunksPerGpu = std::max(1, sizes.chunksPerGpu);
  const auto bytes = chunkBytesOf(whole);
  if (!bytes) {
    return bytes.error();
  }
  auto fabric = built(facts);
  if (!fabric) {
    return fabric.error();
  }
  auto proposed = sketch::propose(fabric->fabric, {*bytes, sizes.chunksPerGpu});
  if (!proposed) {
    return proposed.error();
  }
  proposed->sketch.inputSize = sizes.inputSize;
  const auto chunkBytes = chunkBytesOf(proposed->sketch);
  if (!chunkBytes) {
    return chunkBytes.error();
  }
  return joined(*std::move(fabric), *std::move(proposed), *chunkBytes);
}

Result<FittedSketch> fitSketch(const fabric::Description& facts, const sketch::Sketch& sketch) {
  const auto chunkBytes = chunkBytesOf(sketch);
  if (!chunkBytes) {
    return chunkBytes.error();
  }
  auto fabric = built(facts);
  if (!fabric) {
    return fabric.error();
  }
  auto fit = sketch::fit(fabric->fabric, sketch, {*chunkBytes, sketch.chunksPerGpu});
  if (!fit) {
    return fit.error();
  }
  return joined(*std::move(fabric), *std::move(fit), *chunkBytes);
}

}  // namespace coppice::workflow
