// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "workflow/generator.hpp"

/// Methods that search a front of schedules, none of which is the fastest at all sizes. As one of generators() such a
/// method makes the one of best throughput.
namespace coppice::workflow {

struct NamedSchedule {
  std::string name;  ///< "sccl (6, 3, 7)"
  AnySchedule schedule;
};

struct FrontMethod {
  std::string id;          ///< that of its generator
  std::string timeOption;  ///< of its generator: what limits its time, in seconds
  /// All schedules of the front, unverified. Stopped, it gives what was found until then. Errors: as
  /// Generator::generate; cancelled where nothing was found.
  std::function<Result<std::vector<NamedSchedule>>(const fabric::Fabric&, const Demand&, const OptionValues&,
                                                   const Progress&)>
      generate;
};

/// nullptr where the method makes one schedule.
[[nodiscard]] const FrontMethod* findFrontMethod(std::string_view id);

/// Adds one to those of this program, as addGenerator() does.
void addFrontMethod(FrontMethod method);

}  // namespace coppice::workflow
