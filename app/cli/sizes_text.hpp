// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "advice/tree_count.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "command.hpp"
#include "fabric/fabric.hpp"
#include "program/run_guide.hpp"
#include "program/used_sizes.hpp"
#include "schedule/forest.hpp"

/// At which sizes programs are used: as asked for, and as answered.
namespace coppice::cli {

/// What --sizes took, and its price.
void describeTreeCount(const std::string& wanted, const advice::TreeCount& count, Json& json, std::string& text);

/// "used_at" of a program for a runtime.
void describeUsedSizes(const program::UsedSizes& used, Json& json, std::string& text);

/// "used_at" of the programs that a schedule can become with one instance, for any runtime; nothing for amounts that no
/// program can have. Errors: overflow.
[[nodiscard]] Outcome describeUsedSizes(const fabric::Fabric& fabric, const schedule::Schedule& schedule, Json& json,
                                        std::string& text);

/// A warning where nccl-tests over powers of two never runs the program.
void warnOfSizes(const program::UsedSizes& used, Json& json, std::string& text);

/// The same with the setting that would change it, its
/// price and its command. Errors: cancelled, overflow.
[[nodiscard]] Outcome adviseSizes(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                  const std::string& schedulePath, int instances, const program::UsedSizes& used,
                                  const Progress& progress, Json& json, std::string& text);

/// "run" and, in the text, how to run it.
void describeGuide(const program::RunGuide& guide, Json& json, std::string& text);

}  // namespace coppice::cli
