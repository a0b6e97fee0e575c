// SPDX-License-Identifier: Apache-2.0
#include "remote/ssh_fault.hpp"

#include <array>

namespace coppice::remote {
namespace {

struct Pattern {
  std::string_view text;
  SshTrouble trouble;
};

/// The first that is found decides: what is more dangerous or more exact comes first.
constexpr std::array<Pattern, 29> kPatterns{{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", SshTrouble::hostKeyChanged},
    {"POSSIBLE DNS SPOOFING DETECTED", SshTrouble::hostKeyChanged},
    {"REVOKED HOST KEY DETECTED", SshTrouble::hostKeyRevoked},
    {"Control socket connect(", SshTrouble::lost},
    {"read from master failed", SshTrouble::lost},
    {"Host key for ", SshTrouble::hostKeyChanged},  // "… has changed and you have requested strict checking."
    {"Bad configuration option", SshTrouble::badConfiguration},
    {"Bad owner or permissions on", SshTrouble::badConfiguration},
    {"bad configuration options", SshTrouble::badConfiguration},
    {"Can't open user config file", SshTrouble::badConfiguration},
    {"keyword extra arguments", SshTrouble::badConfiguration},
    {"host key is known for", SshTrouble::hostKeyUnknown},
    {"Host key verification failed", SshTrouble::hostKeyUnknown},
    {"Permission denied (", SshTrouble::keyRefused},
    {"Too many authentication failures", SshTrouble::keyRefused},
    {"No more authentication methods", SshTrouble::keyRefused},
    {"Could not resolve hostname", SshTrouble::nameUnknown},
    {"Name or service not known", SshTrouble::nameUnknown},
    {"No route to host", SshTrouble::noRoute},
    {"Network is unreachable", SshTrouble::noRoute},
    {"Host is down", SshTrouble::noRoute},
    {"timed out", SshTrouble::timeout},
    {"Timeout, server", SshTrouble::timeout},
    {"Connection refused", SshTrouble::refused},
    {"kex_exchange_identification", SshTrouble::closed},
    {"Connection reset", SshTrouble::closed},
    {"Connection closed", SshTrouble::closed},
    {"Broken pipe", SshTrouble::closed},
    {"no matching", SshTrouble::closed},
}};

SshTrouble troubleIn(std::string_view text) {
  for (const Pattern& pattern : kPatterns) {
    if (text.find(pattern.text) != std::string_view::npos) {
      return pattern.trouble;
    }
  }
  return SshTrouble::other;
}

/// Without the lines of -v, which tell of every try, also those that did not matter.
std::string plainLines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.substr(0, 5) != "debug" && line.substr(0, 7) != "OpenSSH") {
      result += line;
      result += '\n';
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return result;
}

std::string lastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  const std::size_t start = text.rfind('\n');
  return std::string(start == std::string_view::npos ? text : text.substr(start + 1));
}

}  // namespace

SshFault sshMissing() {
  return {SshTrouble::noSsh, "the program ssh was not found", "install OpenSSH (Debian: openssh-client)"};
}

SshFault sshFault(std::string_view errorOutput, const std::string& host) {
  const std::string plain = plainLines(errorOutput);
  SshFault fault;
  fault.trouble = troubleIn(plain);
  if (fault.trouble == SshTrouble::other) {
    fault.trouble = troubleIn(errorOutput);
  }
  switch (fault.trouble) {
    case SshTrouble::hostKeyChanged:
      fault.message = "the host key of " + host + " is not the one that is known; nothing was sent to it";
      fault.fix =
          "someone may be intercepting the connection, or the machine was reinstalled: ask its administrator, then "
          "remove the old key with ssh-keygen -R";
      break;
    case SshTrouble::hostKeyRevoked:
      fault.message = "the host key of " + host + " is marked as revoked";
      fault.fix = "ask the administrator of the machine";
      break;
    case SshTrouble::hostKeyUnknown:
      fault.message = "the host key of " + host + " is not known yet";
      fault.fix = "compare its fingerprint with the one from its owner, then accept it";
      break;
    case SshTrouble::keyRefused:
      fault.message = host + " refused the login: none of your keys was accepted";
      fault.fix = "load the key into your agent (ssh-add), or name the user and the key in ~/.ssh/config";
      break;
    case SshTrouble::nameUnknown:
      fault.message = "no host is called " + host;
      fault.fix = "check the spelling and HostName in ~/.ssh/config; a VPN may be needed";
      break;
    case SshTrouble::noRoute:
      fault.message = "there is no route to " + host;
      fault.fix = "check the network or VPN, and ProxyJump in ~/.ssh/config";
      break;
    case SshTrouble::timeout:
      fault.message = host + " did not answer in time";
      fault.fix = "it may be down or behind a firewall; a VPN or ProxyJump may be needed";
      break;
    case SshTrouble::refused:
      fault.message = host + " refuses connections on this port";
      fault.fix = "check that sshd runs there, and on which port";
      break;
    case SshTrouble::closed:
      fault.message = host + " closed the connection during the handshake";
      fault.fix = "look at the raw output; sshd may limit logins, or support other ciphers only";
      break;
    case SshTrouble::badConfiguration:
      fault.message = "the ssh configuration is not accepted: " + lastLine(plain);
      fault.fix = "correct the line that is named";
      break;
    case SshTrouble::noSsh:
      return sshMissing();
    case SshTrouble::lost:
      fault.message = "the connection to " + host + " was lost";
      fault.fix = "connect again";
      break;
    case SshTrouble::none:
    case SshTrouble::other:
      fault.message = plain.empty() ? "ssh ended without a message" : "ssh: " + lastLine(plain);
      fault.fix = "look at the raw output";
      break;
  }
  return fault;
}

}  // namespace coppice::remote
