// SPDX-License-Identifier: Apache-2.0
#include "workflow/schedule_file.hpp"

#include <utility>

#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/target.hpp"

namespace coppice::workflow {

ScheduleFileKind scheduleFileKind(std::string_view beginning) {
  const std::size_t first = beginning.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return ScheduleFileKind::none;
  }
  const std::string_view body = beginning.substr(first);
  if (body.front() == '{') {
    const bool isForest = body.find("\"coppice-forest\"") != std::string_view::npos;
    if (!isForest && targetOfFile(body) != nullptr) {
      return ScheduleFileKind::program;
    }
    return isForest                   ? ScheduleFileKind::forest
           : io::isScheduleJson(body) ? ScheduleFileKind::steps
                                      : ScheduleFileKind::none;
  }
  const auto hasElement = [&](std::string_view tag) {
    const std::size_t start = body.find(tag);
    return start != std::string_view::npos && start + tag.size() < body.size() &&
           std::string_view(" \t\r\n>/").find(body[start + tag.size()]) != std::string_view::npos;
  };
  if (body.front() == '<') {
    if (hasElement("<Algo")) {
      return ScheduleFileKind::trees;
    }
    if (hasElement("<algo")) {
      return ScheduleFileKind::program;
    }
  }
  return ScheduleFileKind::none;
}

Result<ReadSchedule> readSchedule(const std::string& text, const std::string& fileName) {
  if (scheduleFileKind(text) == ScheduleFileKind::steps) {
    auto steps = io::loadSchedule(text, fileName);
    if (!steps) {
      return steps.error();
    }
    return ReadSchedule{std::move(steps->fabric), std::move(steps->schedule), std::move(steps->origin)};
  }
  auto forest = io::loadForest(text, fileName);
  if (!forest) {
    return forest.error();
  }
  return ReadSchedule{std::move(forest->fabric), std::move(forest->schedule), std::move(forest->origin)};
}

Result<schedule::Schedule> scheduleOfTrees(const io::TreeXml& trees, const fabric::Fabric& fabric,
                                           Collective collective, const Progress& progress) {
  auto schedule = io::scheduleFromTrees(trees, fabric, collective);
  if (schedule) {
    if (Outcome stated = stateBound(fabric, *schedule, progress); !stated) {
      return stated.error();
    }
  }
  return schedule;
}

}  // namespace coppice::workflow
