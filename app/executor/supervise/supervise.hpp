// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

/// Runs in folders of their own. A supervisor in a session of its own starts coppice-exec with the arguments of
/// `job.json`, writes its records and its other output into files, and ends the whole session with it: on request, at a
/// time limit, or when the starter is gone (for runs that end with it). Those that are attached read the files, so a
/// lost connection loses nothing.
///
/// The folder (0700): job.json, the schedule; then records.jsonl (what coppice-exec says, and an `end` in any case),
/// log.txt (its standard error), lock (held while the supervisor lives, with its process id; touched every second as a
/// heartbeat), cancel (a request), ended (the exit code), reserve (room for the last record on a full disk).
namespace coppice::executor {

/// The sub-commands:
///   supervise DIR  starts the run and attaches to it
///   attach DIR     shows the run from its beginning to its end
///   cancel DIR     asks it to end
///   runs DIR       one line for each run below DIR: {"t":"run","run":…,"running":…,"code":…,"started":…}
/// Attached, standard output has the records, between them {"t":"alive"} every two seconds, before them
/// {"t":"attached"}; standard error has the log; standard input takes the commands of the protocol. End of input, or no
/// ping for 30 s after the first one, ends a run that was started to end with its starter, and leaves any other alone.
/// Returns the exit code, or nullopt where argv names none of these.
[[nodiscard]] std::optional<int> superviseMain(int argc, char** argv);

}  // namespace coppice::executor
