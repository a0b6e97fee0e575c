// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "training/block.hpp"

/// A model on all GPUs: sizes of the parallel axes, the stages of a pipeline, and micro-batches.
namespace coppice::training {

/// Place of the pipeline among the axes, behind the roles.
inline constexpr int kPipeline = kRoles;
inline constexpr int kParallelAxes = kRoles + 1;
/// "dp", "cp", "ep", "tp", "pp": as people write them.
inline constexpr std::array<const char*, kParallelAxes> kParallelWords{"dp", "cp", "ep", "tp", "pp"};

/// The GPUs as a mesh: the ranks count through the first axis of `order` fastest.
struct Layout {
  std::array<std::int64_t, kParallelAxes> sizes{1, 1, 1, 1, 1};  ///< by role, then the pipeline
  std::array<int, kParallelAxes> order{};                        ///< roles and kPipeline

  [[nodiscard]] std::int64_t size(Role role) const { return sizes[static_cast<std::size_t>(role)]; }
  [[nodiscard]] std::int64_t stages() const { return sizes[kPipeline]; }
  /// Ranks from one GPU to the next along an axis.
  [[nodiscard]] std::int64_t stride(int axis) const;
  /// GPUs that divide sequences.
  [[nodiscard]] std::int64_t sequenceParts() const { return size(Role::data) * size(Role::expert); }
  /// The axes of size above 1, fastest first: "tp8 dp16".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// What layouts there may be.
struct LayoutLimits {
  std::array<std::int64_t, kParallelAxes> fixed{};  ///< sizes that are given; 0 = any
  std::int64_t leastTokens = 4096;                  ///< of a sequence on a GPU, where `context` divides it
};

/// All that make sense, each once: stages of at least one layer, heads and inner sizes that the tensor axis divides,
/// experts for the expert axis, sequences for data and expert together; in three orders: tensor innermost and the
/// pipeline outermost, the same with data outermost, and data innermost. An axis that is given may be anything.
[[nodiscard]] std::vector<Layout> layoutsOf(const Model& model, const Job& job, std::int64_t gpus,
                                            const LayoutLimits& limits = {});

/// A divisor of what each GPU that divides sequences has, ascending: how many micro-batches a step may have.
[[nodiscard]] std::vector<std::int64_t> microBatchesOf(const Job& job, const Layout& layout);

}  // namespace coppice::training
