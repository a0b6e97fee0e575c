// SPDX-License-Identifier: Apache-2.0
#include "remote/host.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace coppice::remote {
namespace {

constexpr std::size_t kLongestName = 253;

bool consistsOf(std::string_view name, std::string_view others) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isAlphanumeric(c) || others.find(c) != std::string_view::npos; });
}

}  // namespace

bool isHostName(std::string_view name) {
  return consistsOf(name, "._:-");
}

bool isUserName(std::string_view name) {
  return consistsOf(name, "._-");
}

bool isPlainName(std::string_view name) {
  return consistsOf(name, "._-") && name.front() != '.';
}

std::string fullText(const Target& target) {
  const std::string user = target.user.empty() ? "" : target.user + "@";
  if (target.port == 0) {
    return user + target.host;
  }
  const bool isNumeric = target.host.find(':') != std::string::npos;
  return user + (isNumeric ? "[" + target.host + "]" : target.host) + ":" + std::to_string(target.port);
}

Result<Target> parseTarget(std::string_view text) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::badUsage, inQuotes(std::string(text)) + " is not a host: " + why,
                 "write host, user@host or user@host:port"};
  };
  Target target;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    target.user = rest.substr(0, at);
    rest = rest.substr(at + 1);
    if (!isUserName(target.user)) {
      return refuse("a user name consists of letters, digits, '.', '_' and '-'");
    }
  }
  std::string_view port;
  if (rest.substr(0, 1) == "[") {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) {
      return refuse("the bracket is not closed");
    }
    const std::string_view behind = rest.substr(close + 1);
    if (!behind.empty() && behind.front() != ':') {
      return refuse("only a port may follow the bracket");
    }
    port = behind.empty() ? behind : behind.substr(1);
    if (!behind.empty() && port.empty()) {
      return refuse("the port is missing");
    }
    rest = rest.substr(1, close - 1);
  } else if (std::count(rest.begin(), rest.end(), ':') == 1) {
    const std::size_t colon = rest.find(':');
    port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (port.empty()) {
      return refuse("the port is missing");
    }
  }
  if (!isHostName(rest)) {
    return refuse("a host name consists of letters, digits, '.', '_', ':' and '-', and does not begin with '-'");
  }
  target.host = rest;
  if (!port.empty()) {
    target.port = numberIn<int>(port).value_or(0);
    constexpr int kMaxPort = 65535;
    if (target.port < 1 || target.port > kMaxPort) {
      return refuse("a port is a number from 1 to 65535");
    }
  }
  return target;
}

}  // namespace coppice::remote
