// SPDX-License-Identifier: Apache-2.0
#include "training/model.hpp"

#include <algorithm>
#include <vector>

namespace coppice::training {

namespace {

Model tied(Model model) {
  model.isTied = true;
  return model;
}

Model windowed(Model model, const Window& window) {
  model.window = window;
  return model;
}

/// Products of tokens by tokens in a layer: of the size of a query's head, and of a value's. Each element of a product
/// is a multiplication and a sum.
Rational attentionProducts(const Model& model, const Job& job, std::int64_t ofQueries, std::int64_t ofValues) {
  const Rational sizes =
      Rational(ofQueries) * Rational(model.queryHeadSize()) + Rational(ofValues) * Rational(model.valueHeadSize());
  return Rational(2) * Rational(job.batch) * Rational(job.sequence) * Rational(job.sequence) *
         model.attendedPart(job.sequence) * Rational(model.heads) * sizes;
}

}  // namespace

Rational Model::attentionParameters() const {
  const Rational width(hidden);
  if (latent.keyRank == 0) {
    return Rational(2) * width * Rational(headSize) * (Rational(heads) + Rational(keyHeads));
  }
  const Rational queries = Rational(heads) * Rational(queryHeadSize());
  const Rational rank(latent.queryRank);
  return (rank.isZero() ? width * queries : rank * (width + queries)) +
         width * Rational(latent.keyRank + latent.ropeSize) +
         Rational(latent.keyRank) * Rational(heads) * Rational(headSize + latent.valueSize) +
         Rational(heads) * Rational(latent.valueSize) * width;
}

Rational Model::feedForwardParameters(std::int64_t inner) const {
  return Rational(isGated ? 3 : 2) * Rational(hidden) * Rational(inner);
}

Rational Model::blockParameters() const {
  return attentionParameters() + feedForwardParameters(feedForward) * Rational(std::max<std::int64_t>(experts, 1)) +
         feedForwardParameters(sharedFeedForward);
}

Rational Model::denseParameters() const {
  return attentionParameters() + feedForwardParameters(denseFeedForward);
}

Rational Model::parameters() const {
  return blockParameters() * Rational(blockLayers()) + denseParameters() * Rational(denseLayers) + outerParameters();
}

Rational Model::activeBlockParameters() const {
  return attentionParameters() + feedForwardParameters(feedForward) * Rational(experts > 0 ? chosen : 1) +
         feedForwardParameters(sharedFeedForward);
}

Rational Model::activeParameters() const {
  return activeBlockParameters() * Rational(blockLayers()) + denseParameters() * Rational(denseLayers) +
         outerParameters();
}

Rational Model::outerParameters() const {
  return Rational(isTied ? 1 : 2) * Rational(vocabulary) * Rational(hidden);
}

Rational Model::attendedPart(std::int64_t sequence) const {
  const Rational square = Rational(sequence) * Rational(sequence);
  const Rational all = square / Rational(2);
  if (window.layers == 0 || window.tokens >= sequence) {
    return all / square;
  }
  // A triangle for each chunk, or one that is as long as the window, and a band.
  const Rational tokens(window.tokens);
  const Rational rest(sequence % window.tokens);
  const Rational seen = window.isChunked
                            ? (Rational(sequence / window.tokens) * tokens * tokens + rest * rest) / Rational(2)
                            : tokens * Rational(sequence) - tokens * tokens / Rational(2);
  const Rational mean = (Rational(window.layers) * seen + Rational(layers - window.layers) * all) / Rational(layers);
  return Rational(mean.floor()) / square;
}

std::span<const ModelPreset> modelPresets() {
  constexpr std::string_view kLlama3 = "Llama team 2024, arXiv:2407.21783, table 3";
  constexpr std::string_view kMegatron = "Narayanan et al. 2021, arXiv:2104.04473, table 1";
  static const std::vector<ModelPreset> kPresets{
      {{"llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, true}, "Touvron et al. 2023, arXiv:2307.09288"},
      {{"llama-2-13b", 40, 5120, 40, 40, 128, 13824, 32000, true}, "Touvron et al. 2023, arXiv:2307.09288"},
      {{"llama-2-70b", 80, 8192, 64, 8, 128, 28672, 32000, true}, "Touvron et al. 2023, arXiv:2307.09288"},
      {{"llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, true}, kLlama3, {"llama-3.1-8b"}},
      {{"llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, true}, kLlama3, {"llama-3.1-70b", "llama-3.3-70b"}},
      {{"llama-3-405b", 126, 16384, 128, 8, 128, 53248, 128256, true}, kLlama3, {"llama-3.1-405b"}},
      {windowed({"llama-4-scout", 48, 5120, 40, 8, 128, 8192, 202048, true, 16, 1, {}, 8192}, {36, 8192, true}),
       "config.json of Llama-4-Scout-17B-16E"},
      {{"mistral-7b", 32, 4096, 32, 8, 128, 14336, 32000, true}, "Jiang et al. 2023, arXiv:2310.06825, table 1"},
      {{"mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, true, 8, 2},
       "Jiang et al. 2024, arXiv:2401.04088, table 1"},
      {{"mixtral-8x22b", 56, 6144, 48, 8, 128, 16384, 32768, true, 8, 2}, "config.json of Mixtral-8x22B-v0.1"},
      {{"qwen2-72b", 80, 8192, 64, 8, 128, 29568, 152064, true},
       "Qwen team 2024, arXiv:2407.10671, table 1",
       {"qwen2.5-72b"}},
      {{"qwen3-235b", 94, 4096, 64, 4, 128, 1536, 151936, true, 128, 8}, "config.json of Qwen3-235B-A22B"},
      {{"qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936, true}, "config.json of Qwen3-8B"},
      {{"qwen3-30b", 48, 2048, 32, 4, 128, 768, 151936, true, 128, 8}, "config.json of Qwen3-30B-A3B"},
      {{"qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936, true}, "config.json of Qwen3-32B"},
      {{"deepseek-v2", 60, 5120, 128, 128, 128, 1536, 102400, true, 160, 6, {1536, 512, 64, 128}, 3072, 1, 12288},
       "DeepSeek-AI 2024, arXiv:2405.04434, section 3.1.2"},
      {{"deepseek-v3", 61, 7168, 128, 128, 128, 2048, 129280, true, 256, 8, {1536, 512, 64, 128}, 2048, 3, 18432},
       "DeepSeek-AI 2024, arXiv:2412.19437, section 4.2",
       {"deepseek-r1"}},
      {{"kimi-k2", 61, 7168, 64, 64, 128, 2048, 163840, true, 384, 8, {1536, 512, 64, 128}, 2048, 1, 18432},
       "config.json of Kimi-K2-Base"},
      {{"glm-4.5", 92, 5120, 96, 8, 128, 1536, 151552, true, 160, 8, {}, 1536, 3, 12288}, "config.json of GLM-4.5"},
      {{"minimax-m2", 62, 3072, 48, 8, 128, 1536, 200064, true, 256, 8}, "config.json of MiniMax-M2"},
      {windowed({"gpt-oss-20b", 24, 2880, 64, 8, 64, 2880, 201088, true, 32, 4}, {12, 128}),
       "config.json of gpt-oss-20b"},
      {windowed({"gpt-oss-120b", 36, 2880, 64, 8, 64, 2880, 201088, true, 128, 4}, {18, 128}),
       "config.json of gpt-oss-120b"},
      {tied(windowed({"gemma-3-27b", 62, 5376, 32, 16, 128, 21504, 262208, true}, {52, 1024})),
       "config.json of gemma-3-27b-pt"},
      {{"gpt-neox-20b", 44, 6144, 64, 64, 96, 24576, 50432, false}, "Black et al. 2022, arXiv:2204.06745, section 2"},
      {tied({"mpt-7b", 32, 4096, 32, 32, 128, 16384, 50368, false}),
       "llm-foundry, scripts/train/yamls/pretrain/mpt-7b.yaml"},
      {tied({"mpt-30b", 48, 7168, 64, 64, 112, 28672, 50368, false}),
       "llm-foundry, scripts/train/yamls/pretrain/mpt-30b.yaml"},
      {tied({"mpt-70b", 80, 8192, 64, 64, 128, 32768, 50368, false}),
       "llm-foundry, scripts/train/yamls/pretrain/mpt-70b.yaml"},
      {tied({"gpt-2", 12, 768, 12, 12, 64, 3072, 50257, false}), "config.json of gpt2"},
      {tied({"gpt-3-175b", 96, 12288, 96, 96, 128, 49152, 50257, false}),
       "Brown et al. 2020, arXiv:2005.14165, table 2.1"},
      {tied({"megatron-1.7b", 24, 2304, 24, 24, 96, 9216, 51200, false}), kMegatron},
      {tied({"megatron-3.6b", 30, 3072, 32, 32, 96, 12288, 51200, false}), kMegatron},
      {tied({"megatron-7.5b", 36, 4096, 32, 32, 128, 16384, 51200, false}), kMegatron},
      {tied({"megatron-18b", 40, 6144, 48, 48, 128, 24576, 51200, false}), kMegatron},
      {tied({"megatron-39b", 48, 8192, 64, 64, 128, 32768, 51200, false}), kMegatron},
      {tied({"megatron-76b", 60, 10240, 80, 80, 128, 40960, 51200, false}), kMegatron},
      {tied({"megatron-145b", 80, 12288, 96, 96, 128, 49152, 51200, false}), kMegatron},
      {tied({"megatron-310b", 96, 16384, 128, 128, 128, 65536, 51200, false}), kMegatron},
      {tied({"megatron-530b", 105, 20480, 128, 128, 160, 81920, 51200, false}), kMegatron},
      {tied({"megatron-1t", 128, 25600, 160, 160, 160, 102400, 51200, false}), kMegatron},
  };
  return kPresets;
}

std::span<const Device> devicePresets() {
  constexpr std::int64_t kGigabyte = 1'000'000'000;
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  static const std::vector<Device> kDevices{
      {"v100", "V100", 125'000, 0, 32 * kGigabyte, "NVIDIA V100 data sheet, SXM2: tensor performance"},
      {"a100", "A100", 312'000, 0, 80 * kGigabyte, "NVIDIA A100 80GB data sheet, SXM: BF16 without sparsity"},
      {"h100", "H100", 989'400, 1'978'900, 80 * kGigabyte,
       "NVIDIA H100 data sheet, SXM: half of the rates with sparsity"},
      {"h800", "H800", 989'400, 1'978'900, 80 * kGigabyte, "as H100, with fewer NVLinks"},
      {"h200", "H200", 989'400, 1'978'900, 141 * kGigabyte,
       "NVIDIA H200 data sheet, SXM: half of the rates with sparsity"},
      {"b200", "B200", 2'250'000, 4'500'000, 180 * kGigabyte,
       "NVIDIA DGX B200 data sheet: an eighth, without sparsity"},
      {"gb200", "GB200", 2'500'000, 5'000'000, 186 * kGigabyte,
       "NVIDIA GB200 NVL72 data sheet: a 72nd, without sparsity"},
      {"b300", "B300", 2'250'000, 4'500'000, 270 * kGigabyte,
       "NVIDIA HGX platform page, HGX B300: an eighth, without sparsity"},
      {"gb300", "GB300", 2'500'000, 5'000'000, 279 * kGigabyte,
       "NVIDIA GB300 NVL72 data sheet: a 72nd, without sparsity"},
      {"mi50", "MI50", 26'500, 0, 32 * kGigabyte, "AMD Instinct MI50 (32 GB) data sheet: FP16"},
      {"mi250x",
       "MI250X",
       191'500,
       0,
       64 * kGigabyte,
       "AMD Instinct MI250X data sheet: one of its two dies, BF16",
       {"mi250"}},
      {"mi300x", "MI300X", 1'307'400, 2'614'900, 192 * kGigabyte, "AMD Instinct MI300X data sheet", {"mi300"}},
      {"mi325x", "MI325X", 1'307'400, 2'614'900, 256 * kGigabyte, "AMD Instinct MI325X data sheet", {"mi325"}},
      {"mi355x", "MI355X", 2'516'600, 5'033'200, 288 * kGigabyte, "AMD Instinct MI355X data sheet", {"mi355"}},
      {"gaudi3",
       "Gaudi 3",
       1'835'000,
       1'835'000,
       128 * kGigabyte,
       "R. Kaplan, Intel Gaudi 3 AI Accelerator (Hot Chips 2024): matrix engines",
       {"gaudi 3"}},
      {"trainium2",
       "Trainium 2",
       667'000,
       1'299'000,
       96 * kGibibyte,
       "AWS Neuron documentation, Trainium2 Architecture: without sparsity",
       {"trainium 2", "trn2"}},
      {"tpu-v5p", "TPU v5p", 459'000, 0, 95 * kGibibyte, "Google Cloud documentation, TPU v5p", {"tpu v5p"}},
      {"tpu-v7",
       "TPU v7",
       2'307'000,
       4'614'000,
       192 * kGibibyte,
       "Google Cloud documentation, TPU7x",
       {"tpu v7", "tpu7x", "ironwood"}},
  };
  return kDevices;
}

Rational attentionOperations(const Model& model, const Job& job) {
  // Forward one of each; backward three, of which one makes the scores again, and two.
  return attentionProducts(model, job, 4, 3);
}

Rational modelOperations(const Model& model, const Job& job) {
  const Rational tokens = Rational(job.batch) * Rational(job.sequence);
  const Rational parameters = model.activeBlockParameters() * Rational(model.blockLayers()) +
                              model.denseParameters() * Rational(model.denseLayers) +
                              Rational(model.vocabulary) * Rational(model.hidden);
  return Rational(6) * tokens * parameters + attentionProducts(model, job, 3, 3) * Rational(model.layers);
}

Cost outerCost(const Model& model, const Job& job, std::int64_t devices, const Rational& gflops) {
  // The output matrix: forward, and backward for its input and itself. The embedding looks up.
  const Rational tokens = Rational(job.batch) * Rational(job.sequence);
  const Rational first(model.denseLayers);
  const Rational operations =
      Rational(6) * tokens * (Rational(model.vocabulary) * Rational(model.hidden) + model.denseParameters() * first) +
      attentionOperations(model, job) * first;
  return {operations / Rational(devices) / gflops, Rational(),
          (model.outerParameters() + model.denseParameters() * first) * job.stateBytes / Rational(devices)};
}

}  // namespace coppice::training
