// SPDX-License-Identifier: Apache-2.0
#include "io/nvlink_status.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/numbers.hpp"
#include "io/words.hpp"

namespace coppice::io {
namespace {

constexpr int kMaxStatusGpus = 1024;
constexpr int kMaxStatusLinks = 256;

struct StatusLink {
  std::optional<Bandwidth> rate = {};
  bool isDown = false;
  std::string remote = {};
};

/// "3:" or "3," of "GPU 3:" and "Link 3,".
std::optional<int> statusNumber(std::string_view word, int limit) {
  if (word.empty() || (word.back() != ':' && word.back() != ',')) {
    return std::nullopt;
  }
  word.remove_suffix(1);
  const auto value = numberIn<int>(word);
  return value && *value >= 0 && *value < limit ? value : std::nullopt;
}

/// "00000000:C8:00.0:" as "0:c8:00.0", so that bus ids compare whatever the length of their domain.
std::string busOf(std::string_view word) {
  std::string bus = lowered(word);
  while (!bus.empty() && bus.back() == ':') {
    bus.pop_back();
  }
  const std::size_t colon = bus.find(':');
  if (colon == std::string::npos || bus.find(':', colon + 1) == std::string::npos) {
    return bus.find('.') == std::string::npos ? std::string() : "0:" + bus;
  }
  std::size_t zeros = 0;
  while (zeros + 1 < colon && bus[zeros] == '0') {
    ++zeros;
  }
  return bus.substr(zeros);
}

/// A line of the status that is `words`, of the GPU before; false: another line.
bool takeLine(const std::vector<std::string_view>& words, std::optional<int>& gpu,
              std::map<int, std::map<int, StatusLink>>& gpus) {
  if (words.size() >= 2 && words[0] == "GPU") {
    if (const auto number = statusNumber(words[1], kMaxStatusGpus)) {
      gpu = number;
      gpus[*number];
      return true;
    }
    return false;
  }
  const auto number =
      words.size() >= 2 && words[0] == "Link" ? statusNumber(words[1], kMaxStatusLinks) : std::optional<int>();
  if (!number || !gpu) {
    return false;
  }
  // "Link 0: 25.781 GB/s", "Link 0: <inactive>", "Link 0: Remote Device 0000:06:00.0: Link 2", "Link 0: 0000:06:00.0",
  // "Link 0, P2P is supported: true"; counters and errors say nothing of what there is.
  if (words.size() == 4 && words[3] == "GB/s") {
    if (const auto rate = Rational::parse(std::string(words[2])); rate && rate->isPositive()) {
      gpus[*gpu][*number].rate = Bandwidth(*rate);
    }
  } else if (words.size() >= 3 && words[2].find("inactive") != std::string_view::npos) {
    gpus[*gpu][*number].isDown = true;
  } else if (words.size() >= 5 && words[2] == "Remote" && words[3] == "Device") {
    gpus[*gpu][*number].remote = busOf(words[4]);
  } else if (words.size() == 3 && words[1].back() == ':' && words[2].find(':') != std::string_view::npos) {
    gpus[*gpu][*number].remote = busOf(words[2]);
  } else if (words.size() == 6 && words[2] == "P2P" && words[5] == "true") {
    gpus[*gpu][*number];
  }
  return true;
}

using Counts = std::vector<std::vector<int>>;

/// Links between every two GPUs, if the remote devices are the GPUs.
std::optional<Counts> meshOf(const std::vector<std::vector<const StatusLink*>>& up) {
  std::set<std::string> remotes;
  for (const auto& links : up) {
    for (const StatusLink* link : links) {
      remotes.insert(link->remote);
    }
  }
  if (remotes.size() != up.size() || remotes.contains({})) {
    return std::nullopt;
  }
  // Domains of unequal length would sort apart from their numbers; shorter ones are smaller.
  std::vector<std::string> sorted(remotes.begin(), remotes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.find(':'), a) < std::pair(b.find(':'), b);
  });
  std::map<std::string, std::size_t> indexOf;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    indexOf[sorted[i]] = i;
  }
  Counts counts(up.size(), std::vector<int>(up.size(), 0));
  for (std::size_t i = 0; i < up.size(); ++i) {
    for (const StatusLink* link : up[i]) {
      ++counts[i][indexOf[link->remote]];
    }
  }
  for (std::size_t i = 0; i < up.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (counts[i][j] != counts[j][i] || (i == j && counts[i][j] > 0)) {
        return std::nullopt;
      }
    }
  }
  return counts;
}

}  // namespace

bool looksLikeNvlinkStatus(std::string_view text) {
  bool hasGpu = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = wordsOf(text.substr(at, end - at));
    at = end + 1;
    if (words.size() >= 2 && words[0] == "GPU" && statusNumber(words[1], kMaxStatusGpus)) {
      hasGpu = true;
    } else if (hasGpu && words.size() >= 3 && words[0] == "Link" && statusNumber(words[1], kMaxStatusLinks)) {
      return true;
    }
  }
  return false;
}

std::optional<NvlinkStatus> readNvlinkStatus(std::string_view text) {
  NvlinkStatus status;
  std::map<int, std::map<int, StatusLink>> gpus;
  std::optional<int> gpu;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!takeLine(wordsOf(line), gpu, gpus)) {
      status.rest += std::string(line) + "\n";
    }
  }
  const auto tell = [&](Severity severity, std::string message, std::string fix) {
    status.findings.push_back({severity, ErrorCode::badInput, std::move(message), std::move(fix)});
  };
  std::vector<std::vector<const StatusLink*>> up;
  std::set<std::string> rates;
  int most = 0;
  bool hasRemotes = false;
  for (const auto& [number, links] : gpus) {
    auto& mine = up.emplace_back();
    int down = 0;
    for (const auto& [index, link] : links) {
      if (link.isDown) {
        ++down;
        continue;
      }
      mine.push_back(&link);
      hasRemotes = hasRemotes || !link.remote.empty();
      if (link.rate) {
        rates.insert(toFraction(*link.rate));
        status.rate = status.rate ? std::min(*status.rate, *link.rate) : *link.rate;
      }
    }
    most = std::max(most, static_cast<int>(mine.size()));
    if (down > 0) {
      tell(Severity::note,
           "GPU" + std::to_string(number) + ": " + counted(down, "NVLink") + " of " + std::to_string(links.size()) +
               (down == 1 ? " is" : " are") + " inactive",
           "look at: nvidia-smi nvlink -e; inactive links of a machine that has no more are as they should be");
    }
  }
  if (up.empty() || most == 0) {
    return std::nullopt;
  }
  if (rates.size() > 1) {
    tell(Severity::warning,
         "NVLinks have " + std::to_string(rates.size()) + " rates; the least, " + toExactText(*status.rate) +
             " GB/s, counts for all",
         "look at: nvidia-smi nvlink -s");
  }
  const auto mesh = hasRemotes ? meshOf(up) : std::nullopt;
  if (hasRemotes) {
    status.isSwitched = !mesh;
  } else if (up.size() == 2) {
    status.isSwitched = false;
  }
  status.matrix = "\t";
  for (const auto& [number, links] : gpus) {
    status.matrix += "GPU" + std::to_string(number) + "\t";
  }
  status.matrix += "\n";
  std::size_t row = 0;
  for (const auto& [number, links] : gpus) {
    status.matrix += "GPU" + std::to_string(number) + "\t";
    for (std::size_t column = 0; column < up.size(); ++column) {
      const int count = mesh ? (*mesh)[row][column] : static_cast<int>(std::min(up[row].size(), up[column].size()));
      status.matrix += (row == column ? "X" : count > 0 ? "NV" + std::to_string(count) : "SYS") + "\t";
    }
    status.matrix += "\n";
    ++row;
  }
  return status;
}

}  // namespace coppice::io
