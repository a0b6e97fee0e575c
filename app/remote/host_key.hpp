// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "remote/limits.hpp"
#include "remote/ssh.hpp"

namespace coppice::remote {

/// The key that a host showed. It proves nothing until a person has compared its fingerprint.
struct HostKey {
  std::string lines = {};                      ///< as in known_hosts
  std::vector<std::string> fingerprints = {};  ///< "ED25519 SHA256:…"
};

/// Asks a host for its key, through a file in `folder`. Errors: io (the host shows none, or it cannot be read),
/// cancelled.
Result<HostKey> fetchHostKey(const SshOptions& ssh, const Target& target, const Limits& limits,
                             const std::filesystem::path& folder, const std::stop_token& stop);

/// Adds exactly this key to a file of known hosts, which is made if it is not there. Errors: io.
Outcome addKnownHost(const std::filesystem::path& file, const HostKey& key);

}  // namespace coppice::remote
