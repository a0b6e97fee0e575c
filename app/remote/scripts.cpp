// SPDX-License-Identifier: Apache-2.0
#include "remote/scripts.hpp"

#include "coppice/version.hpp"

namespace coppice::remote {
namespace {

constexpr std::string_view kMark = "coppice:";
constexpr std::size_t kMaxFacts = 20'000;

/// Each fact begins on a line of its own, whatever a login printed before without ending its line. `own FOLDER` makes a
/// folder, or says why it is not used: another user could put programs behind a link or into a folder of their own.
constexpr const char* kHead = R"sh(umask 077
say() { printf '\ncoppice:%s\n' "$*"; }
own() {
  if [ -L "$1" ]; then
    say "refused $1 link"
    exit 1
  fi
  if [ -e "$1" ] && ! [ -d "$1" ]; then
    say "refused $1 file"
    exit 1
  fi
  if ! mkdir -p "$1"; then
    say "refused $1 make"
    exit 1
  fi
  if [ "$(ls -ldn "$1" | awk '{ print $3 }')" != "$(id -u)" ]; then
    say "refused $1 owner $(ls -ld "$1" | awk '{ print $3 }')"
    exit 1
  fi
}
cd || exit 1
)sh";

}  // namespace

Facts factsIn(std::string_view output) {
  Facts facts;
  while (!output.empty() && facts.size() < kMaxFacts) {
    const std::size_t end = output.find('\n');
    std::string_view line = output.substr(0, end);
    output = end == std::string_view::npos ? std::string_view() : output.substr(end + 1);
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (line.substr(0, kMark.size()) != kMark) {
      continue;
    }
    line.remove_prefix(kMark.size());
    const std::size_t space = line.find(' ');
    facts.emplace(std::string(line.substr(0, space)),
                  space == std::string_view::npos ? std::string() : std::string(line.substr(space + 1)));
  }
  return facts;
}

std::string fact(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found != facts.end() ? found->second : std::string();
}

std::string scriptHead() {
  return kHead;
}

std::string systemScript() {
  return scriptHead() + R"sh(say "system $(uname -s)"
say "architecture $(uname -m)"
say "host $(uname -n)"
say "libc $( { getconf GNU_LIBC_VERSION || ldd --version 2>&1 | head -n 1; } 2>/dev/null)"
say "cores $(getconf _NPROCESSORS_ONLN 2>/dev/null)"
say "boot $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
)sh";
}

std::string spaceScript() {
  return scriptHead() + R"sh(own .cache/coppice
chmod 700 .cache/coppice || exit 1
own .cache/coppice/runs
say "home $(pwd)"
say "space $(df -Pk .cache/coppice | awk 'NR == 2 { print $4 }')"
)sh";
}

std::string librariesScript() {
  return scriptHead() + R"sh(PATH="$PATH:/sbin:/usr/sbin"
if command -v ldconfig >/dev/null 2>&1 && ldconfig -p >/dev/null 2>&1; then
  echo
  ldconfig -p | awk 'NR > 1 && $2 ~ /^\(/ { print "coppice:library " $1 }' | sort -u
else
  say 'linker none'
fi
)sh";
}

std::string installFolder(const std::string& architecture) {
  return std::string(kCacheFolder) + "/" + kVersion + "-" + architecture;
}

std::string runFolder(const std::string& run) {
  return std::string(kCacheFolder) + "/runs/" + run;
}

std::string partitionsScript() {
  return scriptHead() + R"sh(if command -v sinfo >/dev/null 2>&1; then
  echo
  sinfo --noheader --format='coppice:partition %P|%a|%D|%G|%l'
fi
true
)sh";
}

std::string dropRunScript(const std::string& run) {
  return scriptHead() + "rm -rf -- " + runFolder(run) + "\nsay 'run dropped'\n";
}

std::string runFolderScript(const std::string& run) {
  return scriptHead() + "own .cache/coppice\nown .cache/coppice/runs\nmkdir " + runFolder(run) +
         " || exit 1\nsay 'run made'\n";
}

std::string sameRunFolderScript(const std::string& run) {
  return scriptHead() + "if [ -d " + runFolder(run) + " ]; then\n  say 'run shared'\n  exit 0\nfi\n" +
         runFolderScript(run);
}

}  // namespace coppice::remote
