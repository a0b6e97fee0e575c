// SPDX-License-Identifier: Apache-2.0
#include "remote/ssh_config.hpp"

#include <glob.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

#include "base/ascii.hpp"
#include "remote/host.hpp"

namespace coppice::remote {
namespace {

constexpr int kDeepest = 16;
constexpr int kMaxFiles = 256;
constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 20;
constexpr std::size_t kMaxHosts = 4096;

/// Words of a line; quotes hold a word together, "#" in front of one begins a comment.
std::vector<std::string> wordsOf(std::string_view line) {
  std::vector<std::string> words;
  std::size_t i = 0;
  while (i < line.size()) {
    const char c = line[i];
    if (c == ' ' || c == '\t' || c == '\r' || (c == '=' && words.size() == 1)) {
      ++i;
      continue;
    }
    if (c == '#') {
      break;
    }
    std::string word;
    if (c == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        word += line[i];
      }
      i += i < line.size() ? 1 : 0;
    } else {
      while (i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r' &&
             !(line[i] == '=' && words.empty())) {
        word += line[i++];
      }
    }
    words.push_back(std::move(word));
  }
  return words;
}

class Reader {
public:
  Reader(std::filesystem::path folder, std::filesystem::path home)
      : m_folder(std::move(folder)), m_home(std::move(home)) {}

  void read(const std::filesystem::path& path, int depth) {
    std::error_code error;
    // A pipe or a device would never end.
    if (depth > kDeepest || ++m_files > kMaxFiles || !std::filesystem::is_regular_file(path, error) ||
        std::filesystem::file_size(path, error) > kLargestFile || error) {
      return;
    }
    std::ifstream stream(path);
    std::string line;
    while (std::getline(stream, line)) {
      const std::vector<std::string> words = wordsOf(line);
      if (words.size() < 2) {
        continue;
      }
      if (equalWords(words[0], "host")) {
        for (std::size_t i = 1; i < words.size(); ++i) {
          if (isHostName(words[i]) && m_hosts.size() < kMaxHosts && m_seen.insert(words[i]).second) {
            m_hosts.push_back(words[i]);
          }
        }
      } else if (equalWords(words[0], "include")) {
        for (std::size_t i = 1; i < words.size(); ++i) {
          include(words[i], depth);
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::string> hosts() && { return std::move(m_hosts); }

private:
  void include(const std::string& pattern, int depth) {
    std::filesystem::path path = pattern;
    if (pattern.rfind("~/", 0) == 0) {
      path = m_home / pattern.substr(2);
    } else if (path.is_relative()) {
      path = m_folder / path;
    }
    glob_t found = {};
    if (glob(path.c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc && m_files <= kMaxFiles; ++i) {
        read(found.gl_pathv[i], depth + 1);
      }
    }
    globfree(&found);
  }

  std::filesystem::path m_folder;
  std::filesystem::path m_home;
  std::vector<std::string> m_hosts;
  std::set<std::string> m_seen;
  int m_files = 0;
};

}  // namespace

std::vector<std::string> configuredHosts(const std::filesystem::path& file, const std::filesystem::path& folder,
                                         const std::filesystem::path& home) {
  Reader reader(folder, home);
  reader.read(file, 0);
  return std::move(reader).hosts();
}

}  // namespace coppice::remote
