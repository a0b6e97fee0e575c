// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "lowering/lowering.hpp"
#include "schedule/forest.hpp"

/// Internal to core/lowering: limits that trees exceed in any program, found before their images are written.
namespace coppice::lowering {

/// Errors: limit (ranks, XML elements, threadblocks), with the least that any program takes.
/// Nothing where the trees are not those of the fabric, or not sound: reading them says what is wrong.
[[nodiscard]] Outcome checkEarly(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                 const Options& options);

/// Threadblocks of a rank that run at once. @pre options.multiprocessors
[[nodiscard]] int blocksAtOnce(const Options& options);

/// `elements` of a rank are more than the runtime reads.
[[nodiscard]] Error tooManyElements(int rank, std::int64_t elements, bool isAtLeast, const Options& options,
                                    const std::string& fix);
/// `blocks` of each instance of a rank are more than the runtime runs at once.
[[nodiscard]] Error tooManyBlocks(int rank, int blocks, const Options& options, const std::string& fix);
/// What makes a program smaller: fewer trees where roots have several, else fewer GPUs.
[[nodiscard]] std::string smallerFix(bool hasSeveralTrees, const Options& options);

}  // namespace coppice::lowering
