// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// What runs on the other machine: fixed POSIX shell scripts, given to `/bin/sh -s` on standard input, so that neither
/// the login shell nor a name can change their meaning. Names that go into them are isPlainName().
namespace coppice::remote {

/// The command that reads a script from standard input.
inline constexpr const char* kScriptCommand = "/bin/sh -s";
/// Below the home folder of the other machine.
inline constexpr const char* kCacheFolder = ".cache/coppice";

/// Lines that begin with "coppice:", as "key value"; anything else that a login prints is ignored.
using Facts = std::multimap<std::string, std::string>;
[[nodiscard]] Facts factsIn(std::string_view output);
/// The first with this key; empty = none.
[[nodiscard]] std::string fact(const Facts& facts, const std::string& key);

/// What every script begins with: `say FACT`, `own FOLDER`, umask 077, and the home folder as the current one.
[[nodiscard]] std::string scriptHead();

/// uname, host, libc, cores, and "boot", which no two machines share.
[[nodiscard]] std::string systemScript();
/// Makes the cache folder (0700) and says how much room there is: "space" in KiB, "home"; or "refused FOLDER WHY", see
/// folderFault().
[[nodiscard]] std::string spaceScript();
/// "library NAME" for each library that the dynamic linker's cache has; "linker none" where it cannot tell.
[[nodiscard]] std::string librariesScript();
/// "partition NAME|STATE|NODES|GRES|LIMIT" for each; nothing where sinfo is absent.
[[nodiscard]] std::string partitionsScript();
/// Makes a new folder for a run (0700): "run made"; or "refused FOLDER WHY".
[[nodiscard]] std::string runFolderScript(const std::string& run);
/// The same on a machine that may share its home folder with one that has it already: "run made" or "run shared".
[[nodiscard]] std::string sameRunFolderScript(const std::string& run);

/// Removes the folder of a run.
[[nodiscard]] std::string dropRunScript(const std::string& run);

/// ".cache/coppice/0.1.0-x86_64", relative to the home folder.
[[nodiscard]] std::string installFolder(const std::string& architecture);
/// ".cache/coppice/runs/ID".
[[nodiscard]] std::string runFolder(const std::string& run);

}  // namespace coppice::remote
