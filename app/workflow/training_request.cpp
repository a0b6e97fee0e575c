// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_request.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <sstream>

#include "base/ascii.hpp"
#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/gpu_names.hpp"
#include "base/text.hpp"
#include "io/fx_text.hpp"
#include "io/model_json.hpp"
#include "workflow/request.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

using std::int64_t;

constexpr const char* kByNames = "auto";

/// A preset, or a file config.json.
Result<training::Model> readModel(const std::string& nameOrFile) {
  for (const training::ModelPreset& preset : training::modelPresets()) {
    const auto isMeant = [&nameOrFile](std::string_view name) { return !name.empty() && equalWords(name, nameOrFile); };
    if (isMeant(preset.model.name) || std::any_of(preset.otherNames.begin(), preset.otherNames.end(), isMeant)) {
      return preset.model;
    }
  }
  if (!nameOrFile.ends_with(".json")) {
    if (const auto text = readText(nameOrFile, {}); text && io::fx::isFxText(*text)) {
      return optionError("model", "a graph of torch.fx has no layers and no batch to divide",
                         "use train, which searches its states on meshes");
    }
    const std::string names = commaList(training::modelPresets(), [](const auto& preset) { return preset.model.name; });
    return optionError("model", "there is no model " + inQuotes(nameOrFile), "use " + names + ", or a config.json");
  }
  const auto text = readText(nameOrFile, {});
  return text ? io::readModelConfig(*text, nameOrFile) : text.error();
}

Result<training::Device> readDevice(const std::string& name) {
  for (const training::Device& device : training::devicePresets()) {
    if (equalWords(device.name, name)) {
      return device;
    }
  }
  return optionError("gpu", "there is no GPU " + inQuotes(name),
                     "use " + commaList(training::devicePresets(), &training::Device::name));
}

training::Device deviceNamed(std::string_view text) {
  std::vector<std::string_view> words;
  std::vector<const training::Device*> devices;  // by word
  for (const training::Device& device : training::devicePresets()) {
    words.push_back(device.name);
    std::copy_if(device.words.begin(), device.words.end(), std::back_inserter(words),
                 [](std::string_view word) { return !word.empty(); });
    devices.resize(words.size(), &device);
  }
  const std::vector<std::size_t> found = wordsIn(text, words);
  if (!found.empty()) {
    return *devices[*std::min_element(found.begin(), found.end(), [&](std::size_t a, std::size_t b) {
      return devices[a]->gflops < devices[b]->gflops;
    })];
  }
  const int capability = namedCapability(text).value_or(90);
  return *readDevice(capability >= 100 ? "b200" : capability >= 90 ? "h100" : capability >= 80 ? "a100" : "v100");
}

/// Of these sequences and their multiples each expert gets a whole number of tokens.
int64_t sequencesOfExperts(const training::Model& model, int64_t sequence) {
  if (model.experts == 0) {
    return 1;
  }
  const int64_t once = std::gcd(model.experts, sequence);
  return model.experts / once / std::gcd(model.experts / once, model.chosen);
}

/// A power of two times `factor`: about as many, which many numbers of GPUs divide.
int64_t nearestBatch(int64_t sequences, int64_t factor) {
  int64_t batch = factor;
  while (batch < sequences - batch / 2) {
    batch *= 2;
  }
  return batch;
}

/// "tp=8,dp=16,pp=4,mb=2": sizes of axes, and micro-batches of a step.
struct PlanText {
  training::LayoutLimits limits = {};
  std::int64_t microBatches = 0;
  std::int64_t interleave = 1;
};

Result<PlanText> readPlan(const std::string& text) {
  PlanText plan;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    const std::size_t equals = item.find('=');
    const std::string word = item.substr(0, equals);
    const auto value = parseInteger(equals == std::string::npos ? std::string() : item.substr(equals + 1)).value_or(0);
    const auto axis = std::find(training::kParallelWords.begin(), training::kParallelWords.end(), word);
    if (value < 1 || value > (int64_t{1} << 32) ||
        (axis == training::kParallelWords.end() && word != "mb" && word != "vp")) {
      return optionError("plan", inQuotes(item) + " is not part of a plan",
                         "use dp, cp, ep, tp and pp with their sizes, mb with the micro-batches of a step and vp with "
                         "the parts of a stage, as in tp=8,pp=4");
    }
    if (word == "mb") {
      plan.microBatches = value;
    } else if (word == "vp") {
      plan.interleave = value;
    } else {
      plan.limits.fixed[static_cast<std::size_t>(axis - training::kParallelWords.begin())] = value;
    }
  }
  return plan;
}

/// "15T", "300B", "1000000".
Result<Rational> readTokens(const std::string& text) {
  const std::string_view letters = "KMBT";
  const std::size_t unit = text.empty() ? std::string::npos : letters.find(text.back());
  const auto number =
      Rational::parse(std::string_view(text).substr(0, text.size() - (unit != std::string::npos ? 1 : 0)));
  if (!number || !number->isPositive()) {
    return optionError("tokens", inQuotes(text) + " is not a number of tokens",
                       "write for example 15T, 300B or 1000000");
  }
  Rational tokens = *number;
  for (std::size_t i = 0; unit != std::string::npos && i <= unit; ++i) {
    tokens *= Rational(1000);
  }
  return tokens;
}

/// Part of the peak that matrix products reach.
Result<Rational> readEfficiency(const std::string& text) {
  const auto part = Rational::parse(text);
  if (!part || !part->isPositive() || *part > Rational(1)) {
    return optionError("efficiency", inQuotes(text) + " is not above 0 and at most 1",
                       "give the part of the peak that matrix products reach, such as 0.6");
  }
  return *part;
}

/// For Option::check, of a reader that names the option itself.
template <typename Read>
std::function<Outcome(const std::string&)> checkedBy(Read read) {
  return [read](const std::string& value) -> Outcome {
    const auto result = read(value);
    return result ? Outcome(Done{}) : Outcome(result.error());
  };
}

}  // namespace

const std::vector<Option>& trainingOptions() {
  static const std::vector<Option> kOptions = [] {
    std::vector<std::string> models;
    for (const training::ModelPreset& preset : training::modelPresets()) {
      models.push_back(preset.model.name);
    }
    std::vector<std::string> devices{kByNames};
    std::vector<std::pair<std::string, std::string>> titles{{kByNames, "automatic"}};
    for (const training::Device& device : training::devicePresets()) {
      devices.emplace_back(device.name);
      titles.emplace_back(device.name, device.title);
    }
    std::string deviceHelp = "Peak rate and memory; auto is the GPU that the fabric names, else h100: ";
    for (std::size_t i = 0; i < devices.size(); ++i) {
      deviceHelp += (i == 0 ? "" : i + 1 == devices.size() ? " or " : ", ") + devices[i];
    }
    return std::vector<Option>{
        {.name = "model",
         .title = "Model",
         .help = "Preset, such as llama-3-70b, a config.json of Hugging Face, a graph of torch.fx as text, or a "
                 "training problem with its own mesh",
         .words = models,
         .example = "llama-3-70b",
         .isFile = true},
        {.name = "gpu",
         .title = "GPU",
         .help = deviceHelp,
         .kind = OptionKind::choice,
         .defaultText = kByNames,
         .words = devices,
         .spoken = titles},
        {.name = "precision",
         .title = "Precision",
         .help = "Bits of what matrix products multiply: their peak rate; what moves and stays in memory has 16 bits",
         .kind = OptionKind::choice,
         .defaultText = "bf16",
         .words = {"bf16", "fp8"}},
        {.name = "batch",
         .title = "Sequences per step",
         .help = "Sequences of a step; by default, as many as about 4 million tokens have",
         .kind = OptionKind::integer,
         .min = 1,
         .suggestion = "512"},
        {.name = "sequence",
         .title = "Tokens per sequence",
         .help = "Tokens of a sequence; by default 8192",
         .kind = OptionKind::integer,
         .min = 1,
         .suggestion = "8192"},
        {.name = "plan",
         .title = "Parallelism",
         .help = "Only plans of these sizes: dp, cp, ep, tp, pp, micro-batches of a step mb, parts of a stage vp, for "
                 "example tp=8,pp=4",
         .example = "any, or tp=8,pp=4",
         .check = checkedBy(readPlan)},
        {.name = "memory",
         .title = "Memory per GPU",
         .help = "Memory of a GPU, for example 80GB; by default what the GPU has",
         .example = "what the GPU has",
         .check = checkedBy([](const std::string& value) { return parseBytes(value, "memory"); })},
        {.name = "efficiency",
         .title = "Efficiency",
         .help = "Part of the peak rate that computation reaches; by default 1, so that the step is a bound",
         .example = "1",
         .check = checkedBy(readEfficiency)},
        {.name = "recompute",
         .title = "Recompute activations",
         .help = "Activations may be dropped and computed again",
         .kind = OptionKind::flag},
        {.name = "tokens",
         .title = "Training tokens",
         .help = "Tokens of a whole training, for example 15T: days at least",
         .example = "15T",
         .check = checkedBy(readTokens)},
        {.name = "bucket",
         .title = "Gradient bucket",
         .help = "On the timeline of a step: gradients of a GPU that are reduced together, for example 100MB; by "
                 "default 25MiB, as in PyTorch",
         .example = "25MiB",
         .check = checkedBy([](const std::string& value) { return parseBytes(value, "bucket"); })},
        {.name = "no-prefetch",
         .title = "Gather weights when they are used",
         .help = "On the timeline of a step: divided weights are gathered when they are used, not a layer ahead",
         .kind = OptionKind::flag},
    };
  }();
  return kOptions;
}

Result<TrainingMachine> readTrainingMachine(const OptionValues& values, std::string_view names) {
  const std::string gpu = values.text("gpu");
  const auto device = gpu == kByNames ? Result(deviceNamed(names)) : readDevice(gpu);
  if (!device) {
    return device.error();
  }
  TrainingMachine machine{*device, Rational(device->gflops), Rational(device->gflops), Rational(device->memory),
                          values.flag("recompute")};
  if (values.text("precision") == "fp8") {
    if (device->fp8Gflops == 0) {
      return optionError("precision", "a " + std::string(device->title) + " has no products of 8 bits", "use bf16");
    }
    machine.peakGflops = machine.gflops = Rational(device->fp8Gflops);
  }
  if (const std::string memory = values.text("memory"); !memory.empty()) {
    const auto bytes = parseBytes(memory, "memory");
    if (!bytes) {
      return bytes.error();
    }
    machine.memory = Rational(*bytes);
  }
  if (const std::string efficiency = values.text("efficiency"); !efficiency.empty()) {
    const auto part = readEfficiency(efficiency);
    if (!part) {
      return part.error();
    }
    machine.gflops *= *part;
  }
  return machine;
}

Result<TrainingRequest> readTraining(const Values& given, std::string_view names) {
  const auto values = OptionValues::read(trainingOptions(), given);
  if (!values) {
    return values.error();
  }
  auto model = readModel(values->text("model"));
  if (!model) {
    return model.error();
  }
  const auto machine = readTrainingMachine(*values, names);
  if (!machine) {
    return machine.error();
  }
  const auto plan = readPlan(values->text("plan"));
  if (!plan) {
    return plan.error();
  }
  TrainingRequest request{
      .device = machine->device, .peakGflops = machine->peakGflops, .demand = {.model = *std::move(model), .job = {}}};
  constexpr int64_t kSequence = 8192;
  constexpr int64_t kTokens = int64_t{1} << 22;
  training::Job& job = request.demand.job;
  job.sequence = values->integer("sequence").value_or(kSequence);
  const int64_t evenly = sequencesOfExperts(request.demand.model, job.sequence);
  job.batch = values->integer("batch").value_or(nearestBatch(kTokens / job.sequence, evenly));
  if (job.batch % evenly != 0) {
    return optionError("batch",
                       "the tokens of " + counted(job.batch, "sequence") + " do not divide evenly among the " +
                           std::to_string(request.demand.model.experts) + " experts of the model",
                       "give a multiple of " + std::to_string(evenly) + " sequences");
  }
  job.mayRecompute = machine->mayRecompute;
  request.limits = plan->limits;
  request.demand.microBatches = plan->microBatches;
  request.demand.interleave = plan->interleave;
  request.demand.memory = machine->memory;
  request.demand.gflops = machine->gflops;
  request.timeline.isPrefetched = !values->flag("no-prefetch");
  if (const std::string bucket = values->text("bucket"); !bucket.empty()) {
    const auto bytes = parseBytes(bucket, "bucket");
    if (!bytes) {
      return bytes.error();
    }
    request.timeline.bucket = Rational(*bytes);
  }
  if (const std::string text = values->text("tokens"); !text.empty()) {
    const auto tokens = readTokens(text);
    if (!tokens) {
      return tokens.error();
    }
    request.tokens = *tokens;
  }
  return request;
}

}  // namespace coppice::workflow
