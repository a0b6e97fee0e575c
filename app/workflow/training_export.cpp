// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_export.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/counted.hpp"
#include "io/files.hpp"
#include "workflow/concurrent_schedules.hpp"
#include "workflow/plan_files.hpp"
#include "workflow/training_job.hpp"
#include "workflow/training_words.hpp"

namespace coppice::workflow {
namespace {

using Json = nlohmann::ordered_json;
using std::int64_t;
using training::kParallelAxes;
using training::kParallelWords;
using training::kPipeline;
using training::Layout;
using training::Role;
using training::StepPlan;

/// The axes of size above 1 come in this order, fastest first.
bool isInOrder(const Layout& layout, const std::vector<int>& order) {
  std::size_t at = 0;
  for (const int axis : layout.order) {
    if (layout.sizes[axis] > 1) {
      at = static_cast<std::size_t>(std::find(order.begin() + static_cast<std::ptrdiff_t>(at), order.end(), axis) -
                                    order.begin());
      if (at == order.size()) {
        return false;
      }
    }
  }
  return true;
}

/// What of a plan the flags of both tools speak of.
struct Spoken {
  int zeroStage = 0;   ///< the highest of all axes
  bool isEven = true;  ///< all axes have the same stage
  bool isSequence = false;
  bool isUsual = true;
  int64_t experts = 1;    ///< GPUs among which the experts are divided
  int64_t again = 0;      ///< tensors that are computed again
  int64_t sequences = 1;  ///< of a micro-batch on a GPU
};

Spoken spokenOf(const TrainingRequest& request, const StepPlan& plan) {
  Spoken spoken;
  std::set<int> stages;
  for (const AxisUse& use : axisUses(request.demand, plan)) {
    if (use.zeroStage >= 0) {
      stages.insert(use.zeroStage);
    }
    spoken.isSequence = spoken.isSequence || use.isSequence;
    spoken.isUsual = spoken.isUsual && use.isUsual;
    if (use.word == training::kParallelWords[static_cast<int>(Role::expert)] && use.zeroStage < 0) {
      spoken.experts = use.size;
    }
    spoken.again += use.stride == 0 ? use.size : 0;
  }
  spoken.zeroStage = stages.empty() ? 0 : *stages.rbegin();
  spoken.isEven = stages.size() <= 1;
  spoken.sequences = request.demand.job.batch / plan.priced.layout.sequenceParts() / plan.microBatches;
  return spoken;
}

/// Adds "name value".
class Flags {
public:
  explicit Flags(std::vector<std::string>& flags) : m_flags(flags) {}
  void add(const std::string& name, int64_t value) { m_flags.push_back(name + " " + std::to_string(value)); }
  void add(const std::string& name) { m_flags.push_back(name); }
  void addAbove(const std::string& name, int64_t value, int64_t usual) {
    if (value != usual) {
      add(name, value);
    }
  }

private:
  std::vector<std::string>& m_flags;
};

void addMissing(const Spoken& spoken, std::vector<std::string>& missing) {
  if (!spoken.isEven) {
    missing.push_back("axes have different stages of ZeRO in the plan; the flags give all of them the highest");
  }
  if (!spoken.isUsual) {
    missing.push_back("the tensor axis divides attention or the feed-forward part in another way: see plan.json");
  }
  if (spoken.again > 0) {
    missing.push_back("which tensors are computed again: see plan.json");
  }
}

LaunchFlags megatron(const TrainingRequest& request, const StepPlan& plan) {
  LaunchFlags result{"Megatron-LM", "megatron.sh", {}, {}};
  Flags flags(result.flags);
  const training::Model& model = request.demand.model;
  const training::Job& job = request.demand.job;
  const Layout& layout = plan.priced.layout;
  const Spoken spoken = spokenOf(request, plan);
  flags.add("--num-layers", model.layers);
  flags.add("--hidden-size", model.hidden);
  flags.add("--num-attention-heads", model.heads);
  flags.add("--kv-channels", model.headSize);
  if (model.keyHeads != model.heads) {
    flags.add("--group-query-attention");
    flags.add("--num-query-groups", model.keyHeads);
  }
  if (model.latent.keyRank > 0) {
    flags.add("--multi-latent-attention");
    flags.addAbove("--q-lora-rank", model.latent.queryRank, 0);
    flags.add("--kv-lora-rank", model.latent.keyRank);
    flags.add("--qk-head-dim", model.headSize);
    flags.add("--qk-pos-emb-head-dim", model.latent.ropeSize);
    flags.add("--v-head-dim", model.latent.valueSize);
  }
  flags.add("--ffn-hidden-size", model.denseLayers > 0 ? model.denseFeedForward : model.feedForward);
  if (model.isGated) {
    flags.add("--swiglu");
  }
  if (!model.isTied) {
    flags.add("--untie-embeddings-and-output-weights");
  }
  if (model.window.layers > 0) {
    result.missing.push_back("the window of attention of " + counted(model.window.layers, "layer"));
  }
  if (model.experts > 0) {
    flags.add("--num-experts", model.experts);
    flags.add("--moe-router-topk", model.chosen);
    flags.addAbove("--moe-ffn-hidden-size", model.feedForward, 0);
    flags.addAbove("--moe-shared-expert-intermediate-size", model.sharedFeedForward, 0);
    if (model.denseLayers > 0) {
      flags.add("--moe-layer-freq '([0]*" + std::to_string(model.denseLayers) + "+[1]*" +
                std::to_string(model.blockLayers()) + ")'");
    }
  }
  flags.add("--seq-length", job.sequence);
  flags.add("--max-position-embeddings", job.sequence);
  flags.add("--micro-batch-size", spoken.sequences);
  flags.add("--global-batch-size", job.batch);
  flags.add("--tensor-model-parallel-size", layout.size(Role::tensor));
  flags.add("--pipeline-model-parallel-size", layout.stages());
  flags.addAbove("--num-virtual-stages-per-pipeline-rank", request.demand.interleave, 1);
  flags.addAbove("--context-parallel-size", layout.size(Role::context), 1);
  flags.addAbove("--expert-model-parallel-size", spoken.experts, 1);
  if (const int64_t parts = layout.stages() * request.demand.interleave; model.layers % parts != 0) {
    result.missing.push_back(counted(model.layers, "layer") + " do not divide into " + std::to_string(parts) +
                             " parts of equal length");
  }
  if (spoken.isSequence) {
    flags.add("--sequence-parallel");
  }
  if (spoken.zeroStage >= 1) {
    flags.add("--use-distributed-optimizer");
  }
  if (spoken.zeroStage >= 2) {
    flags.add("--use-megatron-fsdp");
    flags.add(std::string("--data-parallel-sharding-strategy ") +
              (spoken.zeroStage == 2 ? "optim_grads" : "optim_grads_params"));
    flags.add("--no-gradient-accumulation-fusion");
    flags.add("--ckpt-format fsdp_dtensor");
  }
  constexpr int kTensor = static_cast<int>(Role::tensor);
  constexpr int kContext = static_cast<int>(Role::context);
  constexpr int kExpert = static_cast<int>(Role::expert);
  constexpr int kData = static_cast<int>(Role::data);
  if (!isInOrder(layout, {kTensor, kContext, kExpert, kData, kPipeline})) {
    if (isInOrder(layout, {kTensor, kContext, kExpert, kPipeline, kData})) {
      flags.add("--use-tp-pp-dp-mapping");
    } else {
      result.missing.push_back("the order of the ranks, " + layout.text() +
                               " from the fastest: Megatron-LM counts through the tensor axis first");
    }
  }
  addMissing(spoken, result.missing);
  return result;
}

LaunchFlags torchtitan(const TrainingRequest& request, const StepPlan& plan) {
  LaunchFlags result{"torchtitan", "torchtitan.sh", {}, {}};
  Flags flags(result.flags);
  const training::Job& job = request.demand.job;
  const Layout& layout = plan.priced.layout;
  const Spoken spoken = spokenOf(request, plan);
  const bool isSharded = spoken.zeroStage >= 1;
  flags.add("--training.seq_len", job.sequence);
  // Without a pipeline, what a step has more than that is accumulated.
  flags.add("--training.local_batch_size", layout.stages() > 1 ? job.batch / layout.sequenceParts() : spoken.sequences);
  flags.add("--training.global_batch_size", job.batch);
  // Experts are divided among GPUs that divide the other weights as well.
  const int64_t shards = isSharded ? layout.sequenceParts() : spoken.experts;
  flags.add("--parallelism.data_parallel_replicate_degree", layout.sequenceParts() / shards);
  flags.add("--parallelism.data_parallel_shard_degree", shards);
  if (!isSharded && spoken.experts > 1) {
    result.missing.push_back("replicated weights: torchtitan divides them among the GPUs that divide the experts");
  }
  flags.add("--parallelism.tensor_parallel_degree", layout.size(Role::tensor));
  flags.add("--parallelism.context_parallel_degree", layout.size(Role::context));
  flags.add("--parallelism.pipeline_parallel_degree", layout.stages());
  if (layout.stages() > 1) {
    flags.add("--parallelism.pipeline_parallel_microbatch_size", spoken.sequences);
    flags.add(std::string("--parallelism.pipeline_parallel_schedule ") +
              (request.demand.interleave > 1 ? "Interleaved1F1B" : "1F1B"));
  }
  flags.addAbove("--parallelism.expert_parallel_degree", spoken.experts, 1);
  if (isSharded) {
    flags.add(std::string("--parallelism.fsdp_reshard_after_forward ") + (spoken.zeroStage == 3 ? "always" : "never"));
  }
  if (spoken.zeroStage == 1) {
    result.missing.push_back("ZeRO-1: torchtitan divides gradients and weights as well");
  }
  constexpr int kTensor = static_cast<int>(Role::tensor);
  if (!isInOrder(layout, {kTensor, static_cast<int>(Role::context), static_cast<int>(Role::expert),
                          static_cast<int>(Role::data), kPipeline})) {
    result.missing.push_back("the order of the ranks, " + layout.text() +
                             " from the fastest: torchtitan counts tensor, context, data, pipeline");
  }
  addMissing(spoken, result.missing);
  return result;
}

Json planJson(const fabric::Fabric& fabric, const TrainingRequest& request, const StepPlan& plan) {
  Json json{{"fabric", fabric.name()},
            {"digest", fabric.digest()},
            {"model", request.demand.model.name},
            {"batch", request.demand.job.batch},
            {"sequence", request.demand.job.sequence},
            {"micro_batches", plan.microBatches},
            {"interleave", request.demand.interleave},
            {"step_ns", plan.overlapped().toString()},
            {"memory", plan.cost.memory.toString()},
            {"axes", Json::array()},
            {"tensors", Json::object()}};
  for (const AxisUse& use : axisUses(request.demand, plan)) {
    if (use.stride > 0) {
      json["axes"].push_back({{"axis", use.word}, {"size", use.size}, {"stride", use.stride}, {"use", use.text}});
    }
  }
  const auto problem = blockOf(request.demand, plan.priced, plan.microBatches);
  const std::vector<Role> roles = plan.priced.roles();
  for (std::size_t i = 0; problem && i < problem->nodes.size(); ++i) {
    Json states = Json::object();
    for (std::size_t axis = 0; axis < roles.size(); ++axis) {
      const training::Dim state = plan.block.strategies[i].output[axis];
      states[kParallelWords[static_cast<std::size_t>(roles[axis])]] = state >= 0
                                                                          ? "Shard(" + problem->dims[state].name + ")"
                                                                      : state == training::kPartial ? "Partial()"
                                                                                                    : "Replicate()";
    }
    if (plan.block.strategies[i].isDropped) {
      states["again"] = true;
    }
    json["tensors"][problem->nodes[i].name] = std::move(states);
  }
  return json;
}

std::string scriptOf(const LaunchFlags& launch) {
  std::string text = "# Flags of " + launch.tool + " for this plan, to be added to a launch script.\n";
  for (const std::string& missing : launch.missing) {
    text += "# Not in them: " + missing + ".\n";
  }
  text += "PLAN_ARGS=(\n";
  for (const std::string& flag : launch.flags) {
    text += "  " + flag + "\n";
  }
  return text + ")\n";
}

/// The collectives of a plan, each once for its axis.
std::set<std::pair<int, Collective>> collectivesOf(const TrainingRequest& request, const StepPlan& plan) {
  std::set<std::pair<int, Collective>> used;
  const auto problem = blockOf(request.demand, plan.priced, plan.microBatches);
  const std::vector<Role> roles = plan.priced.roles();
  for (const ConversionTime& each : problem ? conversionTimes(*problem, plan.block) : std::vector<ConversionTime>()) {
    used.emplace(static_cast<int>(roles[static_cast<std::size_t>(each.axis)]), collectiveOf(each.conversion));
  }
  return used;
}

}  // namespace

std::vector<LaunchFlags> launchFlags(const TrainingRequest& request, const StepPlan& plan) {
  return {megatron(request, plan), torchtitan(request, plan)};
}

Result<std::vector<std::string>> writeTraining(const std::filesystem::path& folder, const fabric::Fabric& fabric,
                                               const TrainingRequest& request, const StepPlan& plan,
                                               const Progress& progress) {
  if (const Outcome made = io::makeFolder(folder); !made) {
    return made.error();
  }
  std::vector<std::string> names;
  const auto save = [&](const std::string& name, const std::string& text) {
    names.push_back(name);
    return io::saveFile(folder / name, text);
  };
  if (const Outcome saved = save("plan.json", planJson(fabric, request, plan).dump(2) + "\n"); !saved) {
    return saved.error();
  }
  for (const LaunchFlags& launch : launchFlags(request, plan)) {
    if (const Outcome saved = save(launch.file, scriptOf(launch)); !saved) {
      return saved.error();
    }
  }
  const Layout& layout = plan.priced.layout;
  for (const auto& [axis, collective] : collectivesOf(request, plan)) {
    const std::string word = kParallelWords[static_cast<std::size_t>(axis)];
    const std::int64_t size = layout.sizes[static_cast<std::size_t>(axis)];
    const auto priced =
        priceGroups(fabric, groups::axisGroups(size, layout.stride(axis), fabric.gpuCount(), collective), progress);
    if (!priced) {
      return priced.error();
    }
    const std::string name = word + "-" + std::string(toString(collective));
    if (const Outcome saved = save("groups-" + name + ".json", groupsText(priced->demand)); !saved) {
      return saved.error();
    }
    const auto schedules = scheduleGroups(fabric, priced->demand, priced->optimum, progress);
    if (!schedules) {
      return schedules.error();
    }
    const auto written = writeGroups(folder / name, priced->demand, *schedules, nullptr, progress);
    if (!written) {
      return written.error();
    }
    names.push_back(name + "/");
  }
  return names;
}

}  // namespace coppice::workflow
