// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "schedule/rank_pattern.hpp"

/// Which rank of a communicator each GPU should get, so that an algorithm which sends between ranks, whatever the
/// fabric, loads the busiest link least.
namespace coppice::order {

using Message = schedule::RankMessage;
using Step = schedule::RankStep;
using Pattern = schedule::RankPattern;

struct Algorithm {
  std::string_view name;
  std::string_view about;  ///< one sentence
  Collective usual;        ///< what is meant where no collective is named
};
[[nodiscard]] std::span<const Algorithm> algorithms();
/// Errors: badUsage.
[[nodiscard]] Result<Algorithm> findAlgorithm(std::string_view name);

/// A pipelined ring is one step with all that passes; the others are the baselines of the same names, with their steps.
/// @param hostSizes GPUs of each host, at consecutive places
/// Errors: badUsage (no such algorithm, or not for this collective), infeasible (number of ranks, hosts of different
/// sizes), overflow, cancelled.
[[nodiscard]] Result<Pattern> patternOf(std::string_view algorithm, Collective collective,
                                        std::span<const int> hostSizes, const Progress& progress = {});

/// The algorithm in all groups of these axes of a mesh of the ranks, the last axis fastest. Groups of one axis go step
/// by step together; several axes run at the same time, as one step.
/// Errors: those of patternOf and groups::meshGroups; badUsage (the algorithm treats hosts apart).
[[nodiscard]] Result<Pattern> meshPattern(std::string_view algorithm, Collective collective, std::span<const int> sizes,
                                          std::span<const int> axes, int ranks, const Progress& progress = {});

/// Every pair gets the same in every step, so that all orders are alike.
[[nodiscard]] bool isUniform(const Pattern& pattern);

}  // namespace coppice::order
