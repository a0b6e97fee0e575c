// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "io/origin.hpp"
#include "io/tree_xml.hpp"
#include "schedule/forest.hpp"
#include "schedule/step_schedule.hpp"

/// Files that hold a schedule or a program.
namespace coppice::workflow {

enum class ScheduleFileKind {
  none,     ///< something else: a fabric, perhaps
  forest,   ///< `.forest.json`
  steps,    ///< `.schedule.json`
  trees,    ///< ForestColl's tree XML
  program,  ///< MSCCL XML, or a file of a target
};

/// By the first words of a file.
[[nodiscard]] ScheduleFileKind scheduleFileKind(std::string_view beginning);

/// A schedule with the fabric that its file holds.
struct ReadSchedule {
  fabric::Fabric fabric;
  schedule::AnySchedule schedule;
  io::Origin origin = {};  ///< without a method where the file has no made_by
};
/// Of a `.forest.json` or `.schedule.json`, not verified. Errors: those of io::loadForest and io::loadSchedule.
[[nodiscard]] Result<ReadSchedule> readSchedule(const std::string& text, const std::string& fileName);

/// The trees of a file as a schedule of this fabric, with the bound that such a file does not hold. Errors: those of
/// io::scheduleFromTrees and forestcoll::optimum.
[[nodiscard]] Result<schedule::Schedule> scheduleOfTrees(const io::TreeXml& trees, const fabric::Fabric& fabric,
                                                         Collective collective, const Progress& progress);

}  // namespace coppice::workflow
