// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.hpp"
#include "text.hpp"
#include "train_model.hpp"
#include "workflow/clock.hpp"
#include "workflow/training_choice.hpp"
#include "workflow/training_words.hpp"

namespace coppice::cli {
namespace {

using training::StepPlan;
using workflow::TrainingChoice;

constexpr std::size_t kMaxRows = 12;

std::string gigabytesOf(const Rational& bytes) {
  return toDecimal(bytes / Rational(1'000'000'000), 2);
}

std::string cell(std::string value, std::size_t width) {
  value.resize(std::max(value.size(), width), ' ');
  return value;
}

/// "15T", "300B", "1000000". Errors: badUsage naming --tokens.
Result<Rational> readTokens(const std::string& text) {
  const std::string_view letters = "KMBT";
  const std::size_t unit = text.empty() ? std::string::npos : letters.find(text.back());
  const auto number =
      Rational::parse(std::string_view(text).substr(0, text.size() - (unit != std::string::npos ? 1 : 0)));
  if (!number || !number->isPositive()) {
    return workflow::optionError("tokens", inQuotes(text) + " is not a number of tokens",
                                 "write for example 15T, 300B or 1000000");
  }
  Rational tokens = *number;
  for (std::size_t i = 0; unit != std::string::npos && i <= unit; ++i) {
    tokens *= Rational(1000);
  }
  return tokens;
}

class Writer {
public:
  Writer(const ModelRequest& request, const TrainingChoice& choice)
      : m_fabric(request.loaded.fabric), m_demand(request.demand), m_choice(choice) {
    m_tokens = Rational(m_demand.job.batch) * Rational(m_demand.job.sequence);
    m_needed = training::neededTime(m_demand, m_fabric.gpuCount());
  }

  [[nodiscard]] Rational rateOf(const StepPlan& plan) const {
    return m_tokens * Rational(1'000'000'000) / plan.overlapped();
  }
  [[nodiscard]] Rational utilization(const StepPlan& plan) const { return m_needed / plan.overlapped(); }

  [[nodiscard]] Json json(const StepPlan& plan) const {
    Json sizes = Json::object();
    for (int axis = 0; axis < training::kParallelAxes; ++axis) {
      sizes[training::kParallelWords[axis]] = plan.priced.layout.sizes[axis];
    }
    Json order = Json::array();
    for (const int axis : plan.priced.layout.order) {
      order.push_back(training::kParallelWords[axis]);
    }
    return {{"sizes", std::move(sizes)},
            {"order", std::move(order)},
            {"micro_batches", plan.microBatches},
            {"compute", plan.cost.compute.toString()},
            {"bubble", plan.bubble.toString()},
            {"communication", plan.cost.communication.toString()},
            {"memory", plan.cost.memory.toString()},
            {"step_ms", (plan.overlapped() / Rational(1'000'000)).toDouble()},
            {"step_without_overlap_ms", (plan.inSequence() / Rational(1'000'000)).toDouble()},
            {"tokens_per_second", rateOf(plan).toDouble()},
            {"mfu", utilization(plan).toDouble()}};
  }

  [[nodiscard]] std::string table() const {
    std::string text =
        "     step ms     compute     bubble      communication  without overlap  memory GB  plan, fastest axis "
        "first\n";
    for (std::size_t i = 0; i < std::min(m_choice.plans.size(), kMaxRows); ++i) {
      const StepPlan& plan = m_choice.plans[i];
      text += std::string(i == 0 ? "  *  " : "     ") + cell(milliseconds(plan.overlapped()), 12) +
              cell(milliseconds(plan.cost.compute), 12) + cell(milliseconds(plan.bubble), 12) +
              cell(milliseconds(plan.cost.communication), 15) + cell(milliseconds(plan.inSequence()), 17) +
              cell(gigabytesOf(plan.cost.memory), 11) + plan.priced.layout.text() + ", " +
              counted(plan.microBatches, "micro-batch", "micro-batches") + "\n";
    }
    if (m_choice.plans.size() > kMaxRows) {
      text += "     and " + std::to_string(m_choice.plans.size() - kMaxRows) + " more; --json lists all\n";
    }
    return text;
  }

  [[nodiscard]] Outcome best(const StepPlan& plan, const std::optional<Rational>& all, const Progress& progress,
                             Report& report) const {
    std::string& text = report.text;
    Json& json = report.json["best"];
    json = this->json(plan);
    text += "  best        at most " + toDecimal(rateOf(plan), 0) + " tokens/s, " +
            toDecimal(rateOf(plan) / Rational(m_fabric.gpuCount()), 1) + " of each GPU, " + percent(utilization(plan)) +
            " of the peak (MFU), if computation and communication overlap\n";
    if (all) {
      const Rational days = *all / rateOf(plan) / Rational(86'400);
      text += "              " + toDecimal(days, 2) + " days at least for the whole training\n";
      json["days"] = days.toDouble();
    }
    json["axes"] = Json::array();
    for (const workflow::AxisUse& use : workflow::axisUses(m_demand, plan)) {
      json["axes"].push_back({{"axis", use.word}, {"size", use.size}, {"stride", use.stride}, {"use", use.text}});
      text += "  " + cell(use.word + " " + std::to_string(use.size), 12) + use.text + "\n";
    }
    const workflow::Limits limits = workflow::limitsOf(m_demand, m_choice, plan);
    text += "  limited by  " + std::string(limits.isCommunication ? "communication" : "computation") +
            (plan.bubble.isZero() ? "" : ", with " + milliseconds(plan.bubble) + " ms of the pipeline's bubble") + "\n";
    json["limited_by"] = limits.isCommunication ? "communication" : "computation";
    json["communication_parts"] = Json::array();
    for (const workflow::CommunicationPart& part : limits.parts) {
      json["communication_parts"].push_back({{"axis", part.word},
                                             {"collective", part.collective},
                                             {"time", part.time.toString()},
                                             {"rate", part.rate.gigabytesPerSecond().toString()},
                                             {"cut", cutText(m_fabric, part.cut)}});
      text += "              " + milliseconds(part.time) + " ms " + part.collective + " of " + part.word + " at " +
              gigabytes(part.rate) + ": " + cutText(m_fabric, part.cut) + "\n";
    }
    const auto gains = workflow::gainsOf(m_demand, limits, plan, progress);
    json["gains"] = Json::array();
    if (!gains) {
      if (gains.error().code != ErrorCode::overflow) {
        return gains.error();
      }
      text += "  gains       not told: " + gains.error().message + "\n";
      return Done{};
    }
    for (const workflow::Gain& gain : *gains) {
      const std::string what = gain.of == workflow::Gain::Of::compute ? "one more TFLOP/s of each GPU"
                               : gain.of == workflow::Gain::Of::memory
                                   ? "one more GB of memory, in this layout"
                                   : "one more GB/s on each of " + cutText(m_fabric, {gain.links});
      const Rational saved = plan.overlapped() - gain.overlapped;
      const Rational inSequence = plan.inSequence() - gain.inSequence;
      json["gains"].push_back({{"of", what},
                               {"saved_ms", (saved / Rational(1'000'000)).toDouble()},
                               {"saved_without_overlap_ms", (inSequence / Rational(1'000'000)).toDouble()}});
      text += std::string(&gain == &gains->front() ? "  gains       " : "              ") + what + ": " +
              milliseconds(saved) + " ms, without overlap " + milliseconds(inSequence) + " ms at most\n";
    }
    return Done{};
  }

private:
  const fabric::Fabric& m_fabric;
  const training::StepDemand& m_demand;
  const TrainingChoice& m_choice;
  Rational m_tokens;
  Rational m_needed;
};

/// The best plan on each of the other fabrics.
Outcome compareFabrics(const ModelOptions& options, const FabricOptions& source, const workflow::PlanText& plan,
                       const ModelRequest& request, const Progress& progress, Report& report) {
  report.json["compared"] = Json::array();
  for (const std::string& other : options.compare) {
    FabricOptions another = source;
    another.source = other;
    another.gpus.clear();
    const auto loaded = loadFabric(another, progress);
    if (!loaded) {
      return loaded.error();
    }
    const auto choice = workflow::chooseTraining(loaded->fabric, request.demand, plan.limits, progress);
    if (!choice) {
      return choice.error();
    }
    const ModelRequest asked{*loaded, request.device, request.demand};
    const Writer writer(asked, *choice);
    Json json{{"fabric", loaded->fabric.name()}, {"best", nullptr}};
    std::string line = "no plan fits";
    if (!choice->plans.empty()) {
      const StepPlan& best = choice->plans.front();
      json["best"] = writer.json(best);
      const workflow::Limits limits = workflow::limitsOf(request.demand, *choice, best);
      line = milliseconds(best.overlapped()) + " ms, at most " + toDecimal(writer.rateOf(best), 0) + " tokens/s, " +
             toDecimal(writer.rateOf(best) / Rational(loaded->fabric.gpuCount()), 1) + " of each GPU, limited by " +
             (limits.isCommunication ? limits.parts.front().collective + " of " + limits.parts.front().word + ": " +
                                           cutText(loaded->fabric, limits.parts.front().cut)
                                     : std::string("computation")) +
             "; " + best.priced.layout.text();
    }
    report.json["compared"].push_back(std::move(json));
    report.text += "  compared    " + named(loaded->fabric.name()) + ", " + counted(loaded->fabric.gpuCount(), "GPU") +
                   ": " + line + "\n";
  }
  return Done{};
}

}  // namespace

Result<Report> trainChoice(const ModelOptions& options, const FabricOptions& source, const Progress& progress) {
  auto request = readModelRequest(options, source, progress);
  if (!request) {
    return request.error();
  }
  const auto plan = workflow::readPlan(options.plan);
  if (!plan) {
    return plan.error();
  }
  std::optional<Rational> all;
  if (!options.tokens.empty()) {
    const auto tokens = readTokens(options.tokens);
    if (!tokens) {
      return tokens.error();
    }
    all = *tokens;
  }
  request->demand.microBatches = plan->microBatches;
  request->demand.interleave = plan->interleave;
  workflow::Clock clock;
  const auto choice = workflow::chooseTraining(request->loaded.fabric, request->demand, plan->limits, progress);
  if (!choice) {
    return choice.error();
  }
  const double seconds = clock.lap();
  const fabric::Fabric& fabric = request->loaded.fabric;
  const training::Model& model = request->demand.model;
  const training::Job& job = request->demand.job;
  const Writer writer(*request, *choice);
  Report report;
  Json& json = report.json;
  json["fabric"] = fabric.name();
  json["model"] = model.name;
  json["parameters"] = model.parameters().toString();
  json["gpu"] = std::string(request->device.name);
  json["batch"] = job.batch;
  json["sequence"] = job.sequence;
  json["layouts"] = choice->layouts;
  json["searches"] = choice->searches;
  json["bound_ms"] = choice->least ? Json(*choice->least / 1e6) : Json(nullptr);
  json["plans"] = Json::array();
  for (const StepPlan& each : choice->plans) {
    json["plans"].push_back(writer.json(each));
  }
  json["best"] = nullptr;
  json["seconds"] = seconds;
  report.text =
      named(model.name) + ", " + toDecimal(model.parameters() / Rational(1'000'000'000), 2) +
      " billion parameters, on " + counted(fabric.gpuCount(), "GPU") + " (" + std::string(request->device.name) +
      "); a step has " + std::to_string(job.batch) + " sequences of " + std::to_string(job.sequence) + " tokens\n" +
      counted(choice->layouts, "layout") + " of the GPUs, " + counted(choice->searches, "search", "searches") +
      (choice->least ? "; no step of these is shorter than " + duration(*choice->least * 1e-9) : std::string()) + "\n";
  if (choice->leftOut > 0) {
    report.text += "     " + counted(choice->leftOut, "layout") + " left out: " + choice->leftOutFor + "\n";
    json["left_out"] = choice->leftOut;
  }
  if (choice->plans.empty()) {
    report.failure = "no plan fits into the " + gigabytesOf(request->demand.memory) + " GB of a GPU" +
                     (choice->smallest ? "; " + choice->smallest->priced.layout.text() + " with " +
                                             counted(choice->smallest->microBatches, "micro-batch", "micro-batches") +
                                             " takes " + gigabytesOf(choice->smallest->cost.memory) + " GB" +
                                             (job.mayRecompute ? "" : "; --recompute takes less")
                                       : "");
    return report;
  }
  report.text += writer.table();
  if (auto written = writer.best(choice->plans.front(), all, progress, report); !written) {
    return written.error();
  }
  if (auto compared = compareFabrics(options, source, *plan, *request, progress, report); !compared) {
    return compared.error();
  }
  report.text += std::string("  not in it   norms, biases, latencies, the communication of embedding and output\n") +
                 lines(request->loaded.findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
