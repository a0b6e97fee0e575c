// SPDX-License-Identifier: Apache-2.0
#include "remote/several.hpp"

#include <algorithm>
#include <charconv>

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "remote/quoting.hpp"
#include "remote/ssh_fault.hpp"

namespace coppice::remote {
namespace {

constexpr std::size_t kMaxMembers = 1024;

Error notMember(std::string_view word, const std::string& why) {
  return {ErrorCode::badUsage, inQuotes(std::string(word)) + " is not a machine for a run over several: " + why,
          "write names from your ssh configuration, with ranks if you like: node1:4,node2:4"};
}

}  // namespace

Result<std::vector<Member>> parseMembers(std::string_view text) {
  std::vector<Member> members;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (!word.empty() && word.front() == ' ') {
      word.remove_prefix(1);
    }
    while (!word.empty() && word.back() == ' ') {
      word.remove_suffix(1);
    }
    const std::size_t colon = word.find(':');
    Member member;
    if (colon != std::string_view::npos) {
      const std::string_view number = word.substr(colon + 1);
      member.ranks = numberIn<int>(number).value_or(0);
      constexpr int kMaxRanks = 1 << 20;
      if (member.ranks < 1 || member.ranks > kMaxRanks) {
        return notMember(word, "a number of ranks must follow the colon");
      }
    }
    auto target = parseTarget(word.substr(0, colon));
    if (!target) {
      return notMember(word, target.error().message);
    }
    member.target = std::move(*target);
    if (std::any_of(members.begin(), members.end(), [&](const Member& each) { return each.target == member.target; })) {
      return notMember(word, "it is named twice");
    }
    members.push_back(std::move(member));
    if (members.size() > kMaxMembers) {
      return notMember(word, "the maximum is 1024");
    }
    if (comma == std::string_view::npos) {
      return members;
    }
    text.remove_prefix(comma + 1);
  }
}

std::string membersText(const std::vector<Member>& members) {
  std::string text;
  for (const Member& member : members) {
    text += (text.empty() ? "" : ",") + member.target.text() +
            (member.ranks > 0 ? ":" + std::to_string(member.ranks) : std::string());
  }
  return text;
}

std::string attachCommand(const std::vector<Member>& members, const std::string& sshConfig, const std::string& run) {
  return "coppice-cli run " +
         (members.size() > 1 ? "--hosts " + membersText(members) : "--host " + fullText(members.front().target)) +
         (sshConfig.empty() ? "" : " --ssh-config " + shellWord(sshConfig)) + " --attach " + run;
}

std::vector<std::string> namesOf(const std::string& ownName, const std::string& ourName, const std::string& address) {
  std::vector<std::string> names;
  for (const std::string& name : {ownName, ourName, address}) {
    // mpirun takes what is behind a colon for a number of ranks, and "localhost" for itself.
    if (isHostName(name) && name.find(':') == std::string::npos && name.rfind("localhost", 0) != 0 &&
        name.rfind("127.", 0) != 0 && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::string reachScript(const std::string& run, const std::vector<std::vector<std::string>>& others) {
  std::string script = scriptHead() + R"sh(reach() {
  index=$1
  shift
  for name do
    said=$(ssh -n -o BatchMode=yes -o ConnectTimeout=10 -- "$name" 'test -d )sh" +
                       runFolder(run) +
                       R"sh( && echo coppice-is-there || echo coppice-is-elsewhere' 2>&1)
    case $said in
      *coppice-is-there*) say "reached $index $name"; return ;;
    esac
    say "missed $index $name $(printf %s "$said" | tr '\n' ' ')"
  done
}
if ! command -v ssh >/dev/null 2>&1; then
  say 'tool none'
  exit 0
fi
)sh";
  for (std::size_t i = 0; i < others.size(); ++i) {
    script += "reach " + std::to_string(i);
    for (const std::string& name : others[i]) {
      script += " " + name;
    }
    script += " &\n";
  }
  return script + "wait\nsay 'tried all'\n";
}

std::vector<Reach> reachesIn(const Facts& facts, const std::vector<std::string>& titles, const std::string& first) {
  std::vector<Reach> reaches(titles.size());
  const auto each = [&](const char* key, const auto& use) {
    const auto [from, to] = facts.equal_range(key);
    for (auto it = from; it != to; ++it) {
      std::string_view text = it->second;
      std::size_t index = 0;
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), index);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (fault == std::errc() && index < reaches.size() && text.size() > 1) {
        text.remove_prefix(1);
        use(reaches[index], text);
      }
    }
  };
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    reaches[i].error = {ErrorCode::unavailable, first + " does not reach " + titles[i],
                        facts.contains("tool") ? "install ssh on " + first : "check ssh from there"};
  }
  each("reached", [](Reach& reach, std::string_view text) {
    if (isHostName(text)) {
      reach.name = text;
    }
  });
  // Of several names the one that led furthest tells most.
  std::vector<int> depths(reaches.size(), -1);
  each("missed", [&](Reach& reach, std::string_view text) {
    const auto at = static_cast<std::size_t>(&reach - reaches.data());
    const std::string name(text.substr(0, text.find(' ')));
    const std::string said(text.size() > name.size() ? text.substr(name.size() + 1) : std::string_view());
    const std::string way = first + " does not reach " + titles[at] + " as " + inQuotes(name) + ": ";
    int depth = 1;
    Error error{ErrorCode::unavailable, way, "check ssh " + name + " on " + first};
    if (said.find("coppice-is-elsewhere") != std::string::npos) {
      depth = 4;
      error.message += "this name leads to another machine or user from there";
      error.fix = "name the same user and HostName for it in ~/.ssh/config of " + first;
    } else {
      const SshFault fault = sshFault(said, name);
      switch (fault.trouble) {
        case SshTrouble::keyRefused:
          depth = 3;
          error.message += "the login is refused";
          error.fix = "let a key of " + first + " log in there (ssh-copy-id), or set ForwardAgent yes for " + first +
                      " in your ssh configuration";
          break;
        case SshTrouble::hostKeyUnknown:
        case SshTrouble::hostKeyChanged:
        case SshTrouble::hostKeyRevoked:
          depth = 3;
          error.message += fault.trouble == SshTrouble::hostKeyUnknown ? "its host key is not known there"
                                                                       : "its host key is not the one known there";
          error.fix = fault.trouble == SshTrouble::hostKeyUnknown
                          ? "log in to " + first + ", connect once with ssh " + name + ", and compare the fingerprint"
                          : "ask its administrator";
          break;
        case SshTrouble::nameUnknown:
          depth = 0;
          error.message += "the name is not known there";
          error.fix = "name its HostName in ~/.ssh/config of " + first;
          break;
        default:
          depth = 2;
          error.message += fault.message;
          error.fix = fault.fix;
          break;
      }
    }
    if (depth > depths[at]) {
      depths[at] = depth;
      reach.error = std::move(error);
    }
  });
  return reaches;
}

Error differenceOf(const std::string& first, const std::string& firstMpi, const std::string& other,
                   const std::string& otherMpi) {
  if (firstMpi.empty() || otherMpi.empty()) {
    const std::string& who = firstMpi.empty() ? first : other;
    return {ErrorCode::unavailable, who + " has no MPI that the executor can use",
            "install Open MPI there (Debian: openmpi-bin), and keep libcoppice-exec-mpi.so beside coppice-exec here"};
  }
  if (firstMpi != otherMpi) {
    return {ErrorCode::unavailable, first + " has " + firstMpi + ", " + other + " has " + otherMpi,
            "install the same MPI on all of them"};
  }
  return {};
}

}  // namespace coppice::remote
