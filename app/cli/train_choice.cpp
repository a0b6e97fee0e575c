// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "base/text.hpp"
#include "fabric/likely_gpu.hpp"
#include "io/files.hpp"
#include "text.hpp"
#include "train_front.hpp"
#include "train_model.hpp"
#include "workflow/clock.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_choice.hpp"
#include "workflow/training_export.hpp"
#include "workflow/training_timeline.hpp"
#include "workflow/training_words.hpp"

namespace coppice::cli {
namespace {

using training::StepPlan;
using workflow::TrainingChoice;

constexpr std::size_t kMaxRows = 12;

std::string gigabytesOf(const Rational& bytes) {
  return toDecimal(bytes / Rational(1'000'000'000), 2);
}

class Writer {
public:
  Writer(const fabric::Fabric& fabric, const workflow::TrainingRequest& request, const TrainingChoice& choice)
      : m_fabric(fabric), m_request(request), m_choice(choice) {}

  [[nodiscard]] workflow::StepFigures figuresOf(const StepPlan& plan) const {
    return workflow::figuresOf(m_request, m_fabric.gpuCount(), plan.overlapped());
  }

  [[nodiscard]] Json json(const StepPlan& plan) const {
    Json sizes = Json::object();
    for (int axis = 0; axis < training::kParallelAxes; ++axis) {
      sizes[training::kParallelWords[axis]] = plan.priced.layout.sizes[axis];
    }
    Json order = Json::array();
    for (const int axis : plan.priced.layout.order) {
      order.push_back(training::kParallelWords[axis]);
    }
    const workflow::StepFigures figures = figuresOf(plan);
    return {{"sizes", std::move(sizes)},
            {"order", std::move(order)},
            {"micro_batches", plan.microBatches},
            {"compute", plan.cost.compute.toString()},
            {"bubble", plan.bubble.toString()},
            {"communication", plan.cost.communication.toString()},
            {"memory", plan.cost.memory.toString()},
            {"step_ms", (plan.overlapped() / Rational(1'000'000)).toDouble()},
            {"step_without_overlap_ms", (plan.inSequence() / Rational(1'000'000)).toDouble()},
            {"tokens_per_second", figures.tokensPerSecond.toDouble()},
            {"mfu", figures.utilization.toDouble()}};
  }

  [[nodiscard]] std::string table() const {
    const workflow::StepUnit unit = workflow::stepUnit(m_choice.plans.front().overlapped().toDouble());
    std::string text = "     " + cell("step " + std::string(unit.name), 12) +
                       "compute     bubble      communication  without overlap  memory GB  plan, fastest axis first\n";
    for (std::size_t i = 0; i < std::min(m_choice.plans.size(), kMaxRows); ++i) {
      const StepPlan& plan = m_choice.plans[i];
      text += std::string(i == 0 ? "  *  " : "     ") + cell(unit.text(plan.overlapped()), 12) +
              cell(unit.text(plan.cost.compute), 12) + cell(unit.text(plan.bubble), 12) +
              cell(unit.text(plan.cost.communication), 15) + cell(unit.text(plan.inSequence()), 17) +
              cell(gigabytesOf(plan.cost.memory), 11) + plan.priced.layout.text() + ", " +
              counted(plan.microBatches, "micro-batch", "micro-batches") + "\n";
    }
    if (m_choice.plans.size() > kMaxRows) {
      text += "     and " + std::to_string(m_choice.plans.size() - kMaxRows) + " more; --json lists all\n";
    }
    return text;
  }

  [[nodiscard]] Outcome best(const StepPlan& plan, const Progress& progress, Report& report) const {
    std::string& text = report.text;
    Json& json = report.json["best"];
    json = this->json(plan);
    const workflow::StepFigures figures = figuresOf(plan);
    const training::StepDemand& demand = m_request.demand;
    text += "  best        at most " + toDecimal(figures.tokensPerSecond, 0) + " tokens/s, " +
            toDecimal(figures.tokensPerSecond / Rational(m_fabric.gpuCount()), 1) + " of each GPU, " +
            percent(figures.utilization) + " of the peak (MFU), if computation and communication overlap\n";
    if (figures.days) {
      text += "              " + toDecimal(*figures.days, 2) + " days at least for the whole training\n";
      json["days"] = figures.days->toDouble();
    }
    json["axes"] = Json::array();
    for (const workflow::AxisUse& use : workflow::axisUses(demand, plan)) {
      json["axes"].push_back({{"axis", use.word}, {"size", use.size}, {"stride", use.stride}, {"use", use.text}});
      text += "  " + cell(use.word + " " + std::to_string(use.size), 12) + use.text + "\n";
    }
    const workflow::Limits limits = workflow::limitsOf(demand, m_choice, plan);
    text += "  limited by  " + std::string(limits.isCommunication ? "communication" : "computation") +
            (plan.bubble.isZero() ? "" : ", with " + workflow::stepTime(plan.bubble) + " of the pipeline's bubble") +
            "\n";
    json["limited_by"] = limits.isCommunication ? "communication" : "computation";
    json["communication_parts"] = Json::array();
    for (const workflow::CommunicationPart& part : limits.parts) {
      json["communication_parts"].push_back({{"axis", part.word},
                                             {"collective", part.collective},
                                             {"time", part.time.toString()},
                                             {"rate", part.rate.gigabytesPerSecond().toString()},
                                             {"cut", workflow::cutWords(m_fabric, part.cut)},
                                             {"through_other_groups", part.passesOthers}});
      text += "              " + workflow::stepTime(part.time) + " " + part.collective + " of " + part.word + " at " +
              gigabytes(part.rate) + ": " + workflow::limitWords(m_fabric, part) + "\n";
    }
    const auto gains = workflow::gainsOf(demand, limits, plan, progress);
    json["gains"] = Json::array();
    if (!gains) {
      if (gains.error().code != ErrorCode::overflow) {
        return gains.error();
      }
      text += "  gains       not told: " + gains.error().message + "\n";
      return Done{};
    }
    for (const workflow::Gain& gain : *gains) {
      const std::string what = workflow::gainWords(m_fabric, gain);
      const Rational saved = plan.overlapped() - gain.overlapped;
      const Rational inSequence = plan.inSequence() - gain.inSequence;
      json["gains"].push_back({{"of", what},
                               {"saved_ms", (saved / Rational(1'000'000)).toDouble()},
                               {"saved_without_overlap_ms", (inSequence / Rational(1'000'000)).toDouble()}});
      text += std::string(&gain == &gains->front() ? "  gains       " : "              ") + what + ": " +
              workflow::stepTime(saved) + ", without overlap " + workflow::stepTime(inSequence) + " at most\n";
    }
    return Done{};
  }

private:
  const fabric::Fabric& m_fabric;
  const workflow::TrainingRequest& m_request;
  const TrainingChoice& m_choice;
};

/// One step of the best plan with its two streams, and the file for Perfetto. Where exact times are too large, it says
/// so instead, unless the file is asked.
Outcome addTimeline(const workflow::TrainingRequest& request, const StepPlan& plan, const std::string& file,
                    const Progress& progress, Report& report) {
  const auto timeline = training::timelineOf(request.demand, plan, request.timeline, progress);
  if (!timeline) {
    const ErrorCode code = timeline.error().code;
    if (!file.empty() || (code != ErrorCode::overflow && code != ErrorCode::limit)) {
      return timeline.error();
    }
    report.text += "  timeline    not told: " + timeline.error().message + "\n";
    return Done{};
  }
  Json& json = report.json["best"]["timeline"];
  constexpr double kMilli = 1e6;
  json = {{"step_ms", timeline->nanoseconds(timeline->length) / kMilli},
          {"bucket_bytes", request.timeline.bucket.toString()},
          {"prefetch", request.timeline.isPrefetched},
          {"exposed_ms", Json::object()}};
  for (const workflow::ExposedPart& part : workflow::exposedParts(*timeline)) {
    json["exposed_ms"][part.word] = part.milliseconds;
  }
  report.text += "  timeline    " + workflow::timelineWords(*timeline) + "\n";
  if (file.empty()) {
    return Done{};
  }
  const auto written = io::saveFile(file, [&](std::ostream& out) -> Outcome {
    workflow::writeStepTrace(*timeline, out);
    return Done{};
  });
  if (!written) {
    return written.error();
  }
  json["trace"] = file;
  report.text += "  trace       " + file + ", " + counted(timeline->events.size(), "event") + "\n";
  return Done{};
}

/// The best plan on each of the other fabrics.
Outcome compareFabrics(const ModelOptions& options, const FabricOptions& source, const Progress& progress,
                       Report& report) {
  report.json["compared"] = Json::array();
  for (const std::string& other : options.compare) {
    FabricOptions another = source;
    another.source = other;
    another.gpus.clear();
    const auto loaded = loadFabric(another, progress);
    if (!loaded) {
      return loaded.error();
    }
    const auto request = workflow::readTraining(options.values, fabric::namesOf(loaded->fabric));  // its own GPU
    if (!request) {
      return request.error();
    }
    const auto choice = workflow::chooseTraining(loaded->fabric, request->demand, request->limits, progress);
    if (!choice) {
      return choice.error();
    }
    const Writer writer(loaded->fabric, *request, *choice);
    Json json{{"fabric", loaded->fabric.name()}, {"gpu", std::string(request->device.name)}, {"best", nullptr}};
    std::string line = "no plan fits";
    if (!choice->plans.empty()) {
      const StepPlan& best = choice->plans.front();
      json["best"] = writer.json(best);
      const workflow::Limits limits = workflow::limitsOf(request->demand, *choice, best);
      const Rational rate = writer.figuresOf(best).tokensPerSecond;
      line = workflow::stepTime(best.overlapped()) + ", at most " + toDecimal(rate, 0) + " tokens/s, " +
             toDecimal(rate / Rational(loaded->fabric.gpuCount()), 1) + " of each GPU, limited by " +
             (limits.isCommunication ? limits.parts.front().collective + " of " + limits.parts.front().word + ": " +
                                           workflow::cutWords(loaded->fabric, limits.parts.front().cut)
                                     : std::string("computation")) +
             "; " + best.priced.layout.text();
    }
    report.json["compared"].push_back(std::move(json));
    report.text += "  compared    " + named(loaded->fabric.name()) + ", " + counted(loaded->fabric.gpuCount(), "GPU") +
                   " (" + std::string(request->device.title) + "): " + line + "\n";
  }
  return Done{};
}

}  // namespace

Result<Report> trainChoice(const ModelOptions& options, const FabricOptions& source, const Progress& progress) {
  const auto asked = readModelRequest(options, source, progress);
  if (!asked) {
    return asked.error();
  }
  const workflow::TrainingRequest& request = asked->training;
  const fabric::Fabric& fabric = asked->loaded.fabric;
  workflow::Clock clock;
  const auto choice = workflow::chooseTraining(fabric, request.demand, request.limits, progress);
  if (!choice) {
    return choice.error();
  }
  const double seconds = clock.lap();
  const training::Model& model = request.demand.model;
  const training::Job& job = request.demand.job;
  const Writer writer(fabric, request, *choice);
  Report report;
  Json& json = report.json;
  json["fabric"] = fabric.name();
  json["model"] = model.name;
  json["parameters"] = model.parameters().toString();
  json["active_parameters"] = model.activeParameters().toString();
  json["gpu"] = std::string(request.device.name);
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
      named(model.name) + ", " + parametersText(model) + ", on " + counted(fabric.gpuCount(), "GPU") + " (" +
      std::string(request.device.title) + "); a step has " + std::to_string(job.batch) + " sequences of " +
      std::to_string(job.sequence) + " tokens\n" + counted(choice->layouts, "layout") + " of the GPUs, " +
      counted(choice->searches, "search", "searches") +
      (choice->least ? "; no step of these is shorter than " + duration(*choice->least * 1e-9) : std::string()) + "\n";
  if (choice->leftOut > 0) {
    report.text += "     " + counted(choice->leftOut, "layout") + " left out: " + choice->leftOutFor + "\n";
    json["left_out"] = choice->leftOut;
  }
  if (choice->plans.empty()) {
    report.failure = workflow::noPlanWords(request, *choice);
    return report;
  }
  report.text += writer.table();
  if (auto written = writer.best(choice->plans.front(), progress, report); !written) {
    return written.error();
  }
  if (const Outcome kept = keepInput(source.source, options.trace); !kept) {
    return kept.error();
  }
  if (auto told = addTimeline(request, choice->plans.front(), options.trace, progress, report); !told) {
    return told.error();
  }
  if (!options.output.empty()) {
    const auto written = workflow::writeTraining(options.output, fabric, request, choice->plans.front(), progress);
    if (!written) {
      return written.error();
    }
    json["files"] = *written;
    report.text += "  written     " + counted(written->size(), "file or folder", "files and folders") + " in " +
                   options.output + ": the plan, flags of Megatron-LM and torchtitan, groups and their schedules\n";
  }
  if (auto compared = compareFabrics(options, source, progress, report); !compared) {
    return compared.error();
  }
  report.text += std::string("  not in it   norms, biases, latencies, the communication of embedding and output\n") +
                 lines(asked->loaded.findings) + "  time        " + duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
