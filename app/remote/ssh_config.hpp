// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace coppice::remote {

/// The names that Host lines of an ssh configuration give to machines, in order, each once: no patterns, no negations,
/// nothing that is not a host name. Include lines are followed (relative to `folder`, "~" is `home`), at most 16 deep
/// and 256 files of 1 MiB; what cannot be read is ignored, as ssh does.
/// Source: ssh_config(5), "Host", "Include".
[[nodiscard]] std::vector<std::string> configuredHosts(const std::filesystem::path& file,
                                                       const std::filesystem::path& folder,
                                                       const std::filesystem::path& home);

}  // namespace coppice::remote
