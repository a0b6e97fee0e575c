// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::remote {

/// A name that may be on an ssh command line: letters, digits, ". _ : -", no "-" in front, at most 253 bytes. So no
/// host name is ever an option, a shell word or a pattern.
[[nodiscard]] bool isHostName(std::string_view name);
/// As a host name, without ":".
[[nodiscard]] bool isUserName(std::string_view name);
/// Letters, digits, "_ -" and ".", not in front: a folder or file name that needs no quotes anywhere.
[[nodiscard]] bool isPlainName(std::string_view name);

/// Where ssh goes: an alias of the user's configuration or a host, with what the user gave beside it.
struct Target {
  std::string host = {};
  std::string user = {};  ///< empty = as ssh decides
  int port = 0;           ///< 0 = as ssh decides

  /// "user@host"
  [[nodiscard]] std::string text() const { return user.empty() ? host : user + "@" + host; }
  friend bool operator==(const Target&, const Target&) = default;
};

/// As parseTarget reads it: "user@host:22", "[fe80::1]:22".
[[nodiscard]] std::string fullText(const Target& target);

/// Reads "host", "user@host", "user@host:22" or "[fe80::1]:22"; more than one ":" without brackets is an IPv6 address.
/// Errors: badUsage.
Result<Target> parseTarget(std::string_view text);

}  // namespace coppice::remote
