// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "program/run_job.hpp"
#include "supervise/files.hpp"

namespace coppice::executor {

/// Runs the job in its folder and returns when nothing of it is left. The process must be in a session of its own, with
/// nothing open but what it gets here.
/// @param lock      held; its time of change is renewed every second
/// @param lifeline  read end of a pipe whose closing ends the run; none for a run that outlives its starter
void supervise(const std::string& folder, const program::RunJob& job, Handle lock, Handle lifeline);

}  // namespace coppice::executor
