// SPDX-License-Identifier: Apache-2.0
#include "training/model.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace coppice::training {
Rational Model::blockParameters() const {
  const Rational attention =
      Rational(2) * Rational(hidden) * Rational(headSize) * (Rational(heads) + Rational(keyHeads));
  return attention + feedForwardParameters() * Rational(std::max<std::int64_t>(experts, 1));
}

Rational Model::activeParameters() const {
  const Rational each = blockParameters() - feedForwardParameters() * Rational(std::max<std::int64_t>(experts, 1)) +
                        feedForwardParameters() * Rational(experts > 0 ? chosen : 1);
  return each * Rational(layers) + outerParameters();
}

Rational Model::feedForwardParameters() const {
  return Rational(isGated ? 3 : 2) * Rational(hidden) * Rational(feedForward);
}

Rational Model::outerParameters() const {
  return Rational(2) * Rational(vocabulary) * Rational(hidden);
}

std::span<const ModelPreset> modelPresets() {
  constexpr std::string_view kMegatron = "Narayanan et al. 2021, arXiv:2104.04473, table 1";
  static const std::vector<ModelPreset> kPresets{
      {{"llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, true}, "Touvron et al. 2023, arXiv:2307.09288"},
      {{"llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"llama-3-405b", 126, 16384, 128, 8, 128, 53248, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"mistral-7b", 32, 4096, 32, 8, 128, 14336, 32000, true}, "Jiang et al. 2023, arXiv:2310.06825, table 1"},
      {{"mixtral-8x7b", 32, 4096, 32, 8, 128, 14336, 32000, true, 8, 2},
       "Jiang et al. 2024, arXiv:2401.04088, table 1"},
      {{"gpt-2", 12, 768, 12, 12, 64, 3072, 50257, false}, "config.json of gpt2"},
      {{"gpt-3-175b", 96, 12288, 96, 96, 128, 49152, 50257, false}, "Brown et al. 2020, arXiv:2005.14165, table 2.1"},
      {{"megatron-1.7b", 24, 2304, 24, 24, 96, 9216, 51200, false}, kMegatron},
      {{"megatron-3.6b", 30, 3072, 32, 32, 96, 12288, 51200, false}, kMegatron},
      {{"megatron-7.5b", 36, 4096, 32, 32, 128, 16384, 51200, false}, kMegatron},
      {{"megatron-18b", 40, 6144, 48, 48, 128, 24576, 51200, false}, kMegatron},
      {{"megatron-39b", 48, 8192, 64, 64, 128, 32768, 51200, false}, kMegatron},
      {{"megatron-76b", 60, 10240, 80, 80, 128, 40960, 51200, false}, kMegatron},
      {{"megatron-145b", 80, 12288, 96, 96, 128, 49152, 51200, false}, kMegatron},
      {{"megatron-310b", 96, 16384, 128, 128, 128, 65536, 51200, false}, kMegatron},
      {{"megatron-530b", 105, 20480, 128, 128, 160, 81920, 51200, false}, kMegatron},
      {{"megatron-1t", 128, 25600, 160, 160, 160, 102400, 51200, false}, kMegatron},
  };
  return kPresets;
}

std::span<const Device> devicePresets() {
  constexpr std::int64_t kGigabyte = 1'000'000'000;
  static constexpr std::array<Device, 6> kDevices{{
      {"v100", 125'000, 32 * kGigabyte, "NVIDIA V100 data sheet, SXM2: tensor performance"},
      {"a100", 312'000, 80 * kGigabyte, "NVIDIA A100 80GB data sheet, SXM: BF16 without sparsity"},
      {"h100", 989'400, 80 * kGigabyte, "NVIDIA H100 data sheet, SXM: BF16, half of the rate with sparsity"},
      {"h200", 989'400, 141 * kGigabyte, "NVIDIA H200 data sheet, SXM: BF16, half of the rate with sparsity"},
      {"mi250x", 383'000, 128 * kGigabyte, "AMD Instinct MI250X data sheet: BF16"},
      {"mi300x", 1'307'400, 192 * kGigabyte, "AMD Instinct MI300X data sheet: BF16"},
  }};
  return kDevices;
}

Cost outerCost(const Model& model, const Job& job, std::int64_t devices, const Rational& gflops) {
  // The output matrix: forward, and backward for its input and itself. The embedding looks up.
  const Rational tokens = Rational(job.batch) * Rational(job.sequence);
  const Rational operations = Rational(6) * tokens * Rational(model.vocabulary) * Rational(model.hidden);
  return {operations / Rational(devices) / gflops, Rational(),
          model.outerParameters() * job.stateBytes / Rational(devices)};
}

}  // namespace coppice::training
