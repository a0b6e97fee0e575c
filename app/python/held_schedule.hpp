// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "io/origin.hpp"
#include "schedule/bound_scope.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/judged_schedule.hpp"

namespace coppice::python {

/// A schedule of any kind with its fabric.
struct HeldSchedule {
  std::shared_ptr<workflow::LoadedFabric> loaded;
  schedule::AnySchedule schedule;
  io::Origin origin = {};
  std::optional<Bandwidth> bound = {};  ///< absent where it is not known
  std::optional<schedule::BoundScope> scope = {};

  [[nodiscard]] const fabric::Fabric& fabric() const { return loaded->fabric; }
};

}  // namespace coppice::python
