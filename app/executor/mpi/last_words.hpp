// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

/// Process 0 reports what a run came to. Where it is lost on another host, the other processes name it on standard
/// error at once, and leave later: its report may still come, and mpirun ends all processes as soon as one has left.
namespace coppice::executor {

/// From the loss until the others leave.
inline constexpr auto kLastWords = std::chrono::seconds(5);
/// The end of the line that names process 0 before that.
inline constexpr std::string_view kStillWaits = "; waiting 5 s for its report";

}  // namespace coppice::executor
