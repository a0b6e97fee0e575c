// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "workflow/generator.hpp"

/// What methods do where all schedules of a fabric are held against each other: several schedules, none of which is the
/// fastest at all sizes, options that the fabric asks for, and a time limit. As one of generators() such a method makes
/// the one schedule that it is asked for.
namespace coppice::workflow {

struct NamedError {
  std::string name;
  Error error;
};

struct NamedSchedule {
  std::string name;  ///< "sccl (6, 3, 7)"
  AnySchedule schedule;
};

struct FrontSchedules {
  std::vector<NamedSchedule> schedules;
  std::vector<NamedError> refused = {};  ///< schedules that it could not make, with the reasons
};

struct FrontMethod {
  std::string id;          ///< that of its generator
  std::string timeOption;  ///< of its generator: what limits its time, in seconds; empty = it needs no limit
  /// All its schedules, unverified. Stopped, it gives what was found until then. Errors: as Generator::generate;
  /// cancelled where nothing was found.
  std::function<Result<FrontSchedules>(const fabric::Fabric&, const Demand&, const OptionValues&, const Progress&)>
      generate;
};

/// One schedule, within a time.
[[nodiscard]] FrontMethod timedMethod(const Generator& generator, std::string timeOption);

/// nullptr where the method makes one schedule and needs no limit.
[[nodiscard]] const FrontMethod* findFrontMethod(std::string_view id);

/// Adds one to those of this program, as addGenerator() does.
void addFrontMethod(FrontMethod method);

}  // namespace coppice::workflow
