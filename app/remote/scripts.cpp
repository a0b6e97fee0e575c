// SPDX-License-Identifier: Apache-2.0
#include "remote/scripts.hpp"

#include "coppice/version.hpp"

namespace coppice::remote {
namespace {

constexpr std::string_view kMark = "coppice:";
constexpr std::size_t kMostFacts = 20'000;

/// Defines `digest FILE`, which prints the SHA-256 in hex or nothing.
constexpr const char* kDigest = R"sh(digest() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
  else printf 'coppice:tool none\n'; fi
}
)sh";

}  // namespace

Facts factsIn(std::string_view output) {
  Facts facts;
  while (!output.empty() && facts.size() < kMostFacts) {
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

std::string systemScript() {
  return R"sh(printf 'coppice:system %s\n' "$(uname -s)"
printf 'coppice:architecture %s\n' "$(uname -m)"
printf 'coppice:host %s\n' "$(uname -n)"
printf 'coppice:libc %s\n' "$( { getconf GNU_LIBC_VERSION || ldd --version 2>&1 | head -n 1; } 2>/dev/null)"
printf 'coppice:cores %s\n' "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
printf 'coppice:boot %s\n' "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
)sh";
}

std::string spaceScript() {
  return R"sh(umask 077
cd || exit 1
mkdir -p .cache/coppice/runs || exit 1
chmod 700 .cache/coppice || exit 1
printf 'coppice:home %s\n' "$(pwd)"
printf 'coppice:space %s\n' "$(df -Pk .cache/coppice | awk 'NR == 2 { print $4 }')"
)sh";
}

std::string librariesScript() {
  return R"sh(PATH="$PATH:/sbin:/usr/sbin"
if command -v ldconfig >/dev/null 2>&1 && ldconfig -p >/dev/null 2>&1; then
  ldconfig -p | awk 'NR > 1 && $2 ~ /^\(/ { print "coppice:library " $1 }' | sort -u
else
  printf 'coppice:linker none\n'
fi
)sh";
}

std::string installFolder(const std::string& architecture) {
  return std::string(kCacheFolder) + "/" + kVersion + "-" + architecture;
}

std::string runFolder(const std::string& run) {
  return std::string(kCacheFolder) + "/runs/" + run;
}

std::string installedScript(const std::string& folder, const std::vector<std::string>& names) {
  std::string script = std::string(kDigest) + "umask 077\ncd || exit 1\nmkdir -p " + folder + " || exit 1\ncd " +
                       folder + " || exit 1\n";
  for (const std::string& name : names) {
    script += "if [ -f " + name + " ]; then printf 'coppice:sha " + name + " %s\\n' \"$(digest " + name + ")\"; fi\n";
  }
  return script;
}

std::string installScript(const std::string& folder, const std::map<std::string, std::string>& digests) {
  std::string script = std::string(kDigest) + "umask 077\ncd || exit 1\ncd " + folder + " || exit 1\n";
  for (const auto& [name, expected] : digests) {
    script += "found=\"$(digest " + name + ".part)\"\nif [ \"$found\" != " + expected +
              " ]; then\n  printf 'coppice:bad " + name + " %s\\n' \"$found\"\n  rm -f";
    for (const auto& [other, ignored] : digests) {
      script += " " + other + ".part";
    }
    script += "\n  exit 1\nfi\n";
  }
  for (const auto& [name, ignored] : digests) {
    script += "chmod 700 " + name + ".part && mv -f " + name + ".part " + name + " || exit 1\n";
  }
  script += "printf 'coppice:installed yes\\n'\n";
  return script;
}

std::string partitionsScript() {
  return R"sh(if command -v sinfo >/dev/null 2>&1; then
  sinfo --noheader --format='coppice:partition %P|%a|%D|%G|%l'
fi
)sh";
}

std::string dropRunScript(const std::string& run) {
  return "cd || exit 1\nrm -rf -- " + runFolder(run) + "\nprintf 'coppice:run dropped\\n'\n";
}

std::string runFolderScript(const std::string& run) {
  return "umask 077\ncd || exit 1\nmkdir -p " + std::string(kCacheFolder) + "/runs || exit 1\nmkdir " + runFolder(run) +
         " || exit 1\nprintf 'coppice:run made\\n'\n";
}

std::string sameRunFolderScript(const std::string& run) {
  return "umask 077\ncd || exit 1\nif [ -d " + runFolder(run) +
         " ]; then\n  printf 'coppice:run shared\\n'\n  exit 0\nfi\n" + runFolderScript(run);
}

}  // namespace coppice::remote
