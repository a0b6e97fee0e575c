// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "base/result.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "designer/window/command_line.hpp"
#include "designer/workspace/editor_context.hpp"

/// What `coppice --export-image`, `--export-film` and `--export-replay` show of schedules and programs, besides trees
/// and loads. All of it runs an event loop where it has to wait.
namespace coppice::designer {

/// The overlay of one step (ImageRequest::step) on the canvas. Errors: badUsage (not in steps, no such step).
[[nodiscard]] Outcome showStep(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result);
/// The data under way at ImageRequest::time on the canvas, and a caption. Errors: of the simulation.
[[nodiscard]] Outcome showMoment(EditorContext& editor, ImageRequest& request, const ScheduleResultPtr& result);

/// The lanes of a simulated run. Errors: of the simulation, and of writing.
[[nodiscard]] Outcome saveTimeline(const ImageRequest& request, const ScheduleResultPtr& result);
/// The Compare dock with these schedules. Errors: of writing.
[[nodiscard]] Outcome saveComparison(const ImageRequest& request, const std::vector<ScheduleResultPtr>& results);
/// The Program dock with the MSCCL XML that the request names. Errors: io, badInput, of writing.
[[nodiscard]] Outcome saveProgramPicture(const ImageRequest& request);
/// All frames of a simulated run. Errors: of the simulation, of drawing and of FilmWriter.
[[nodiscard]] Outcome saveFilm(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result);
/// A simulated run as one HTML file. Errors: of the simulation and of replayPage; io.
[[nodiscard]] Outcome saveReplay(EditorContext& editor, const ImageRequest& request, const ScheduleResultPtr& result);

}  // namespace coppice::designer
