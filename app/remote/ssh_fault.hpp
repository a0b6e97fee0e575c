// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace coppice::remote {

enum class SshTrouble {
  none,
  nameUnknown,
  noRoute,
  refused,
  timeout,
  closed,          ///< by the other side before anything was agreed
  hostKeyUnknown,  ///< may be accepted by a person
  hostKeyChanged,  ///< may not
  hostKeyRevoked,
  keyRefused,  ///< authentication
  lost,        ///< the shared connection has ended
  badConfiguration,
  noSsh,  ///< the program itself is missing
  other
};

struct SshFault {
  SshTrouble trouble = SshTrouble::other;
  std::string message = {};
  std::string fix = {};
};

/// The program ssh is not here.
[[nodiscard]] SshFault sshMissing();
/// Why ssh gave up, from what it wrote to standard error. Its exit status says little: 255 stands for all of these and
/// for a command that was killed on the remote machine.
[[nodiscard]] SshFault sshFault(std::string_view errorOutput, const std::string& host);

}  // namespace coppice::remote
