// SPDX-License-Identifier: Apache-2.0
#include "nccl/ras.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/ascii.hpp"
#include "base/counted.hpp"

namespace coppice::nccl {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOutliers = 1 << 16;

std::optional<std::int64_t> numberAt(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// What stands between two marks; empty = one is missing.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = text.substr(from + begin.size());
  return rest.substr(0, std::min(rest.find(end), rest.size()));
}

/// "26 ranks have launched up to operation 6650", "Rank 3 has launched up to operation 9".
std::optional<std::int64_t> launchedIn(std::string_view line) {
  constexpr std::string_view kUpTo = "launched up to operation ";
  if (const std::size_t at = line.find(kUpTo); at != std::string_view::npos) {
    return numberAt(line.substr(at + kUpTo.size()));
  }
  return line.find("not launched any operations") != std::string_view::npos ? std::optional<std::int64_t>(0)
                                                                            : std::nullopt;
}

/// Reads the text line by line.
class RasText {
public:
  RasStatus read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      take(trimmed(text.substr(at, end - at)));
      at = end + 1;
    }
    return std::move(m_status);
  }

private:
  void take(std::string_view line) {
    if (m_status.version.empty() && line.starts_with("NCCL version ")) {
      const std::string_view number = line.substr(std::string_view("NCCL version ").size());
      m_status.version = number.substr(0, std::min(number.find_first_not_of("0123456789."), number.size()));
    }
    if (line.empty()) {
      m_isOfJob = false;
      return;
    }
    if (line.size() > 1 && line[0] == '#' && line[1] >= '0' && line[1] <= '9') {
      begin(line);
    } else if (line == "DEAD" || line == "INCOMPLETE" || line == "TIMEOUT") {
      m_isOfJob = true;
      m_current = -1;
    } else if (m_isOfJob && line.front() != '=') {
      m_status.problems.emplace_back(line);
    } else if (m_current >= 0) {
      takeDetail(line);
    }
  }

  /// "#0-0 (27a079b828ff1a75) MISMATCH"
  void begin(std::string_view line) {
    const std::string id = "0x" + std::string(between(line, "(", ")"));
    const auto known = std::find_if(m_status.communicators.begin(), m_status.communicators.end(),
                                    [&](const RasCommunicator& each) { return each.id == id; });
    m_current = static_cast<int>(known - m_status.communicators.begin());
    if (known == m_status.communicators.end()) {
      m_status.communicators.push_back({.id = id});
    }
    m_most.reset();
    m_group.clear();
    m_operation.clear();
    m_isOfJob = false;
  }

  void takeDetail(std::string_view line) {
    RasCommunicator& communicator = m_status.communicators[m_current];
    constexpr std::string_view kCounts = "Communicator ranks have different ";
    if (line.starts_with("The missing rank")) {
      takeMissing(line);
    } else if (line.starts_with("Rank ")) {
      takeRank(line);
    } else if (line.find(" ranks have ") != std::string_view::npos && line.front() >= '0' && line.front() <= '9') {
      // The group that most ranks are in is printed first.
      const auto launched = launchedIn(line);
      m_most = m_most ? m_most : launched;
      m_group = launched ? launchedText(*launched) : std::string(line.substr(line.find("have ") + 5));
      m_behind = launched && m_most ? std::max<std::int64_t>(*m_most - *launched, 0) : 0;
    } else {
      if (line.starts_with(kCounts)) {
        const std::string_view what = between(line, kCounts, " operation counts");
        m_operation = what == "collective" || what == "status" ? std::string() : std::string(what) + " ";
        m_most.reset();
        m_group.clear();
        m_behind = 0;
      }
      communicator.problems.emplace_back(line);
    }
  }

  [[nodiscard]] std::string launchedText(std::int64_t launched) const {
    return launched > 0 ? "launched up to " + m_operation + "operation " + std::to_string(launched)
                        : "launched no " + m_operation + "operation";
  }

  /// "The missing ranks: 21 22" of 2.24.
  void takeMissing(std::string_view line) {
    const std::size_t colon = line.find(':');
    for (std::size_t at = colon; at < line.size(); ++at) {
      const bool isStart = line[at] >= '0' && line[at] <= '9' && (line[at - 1] < '0' || line[at - 1] > '9');
      if (const auto rank = isStart ? numberAt(line.substr(at)) : std::nullopt) {
        add({.rank = static_cast<int>(std::min<std::int64_t>(*rank, 1 << 20)), .what = "missing"});
      }
    }
  }

  /// "Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210", with what it did before the dashes where it is
  /// alone.
  void takeRank(std::string_view line) {
    const auto rank = numberAt(line.substr(5));
    if (!rank || *rank < 0 || *rank > (1 << 20)) {
      return;
    }
    RasRank made{.rank = static_cast<int>(*rank), .gpu = std::string(between(line, "-- GPU ", " managed"))};
    made.process = static_cast<int>(numberAt(between(line, "process ", " ")).value_or(0));
    if (const std::size_t node = line.find(" on node "); node != std::string_view::npos) {
      made.host = line.substr(node + 9, std::min(line.find(' ', node + 9), line.size()) - node - 9);
    }
    const std::string_view head = line.substr(0, std::min(line.find(" --"), line.size()));
    const auto launched = launchedIn(head);
    if (launched) {
      made.what = launchedText(*launched);
      made.behind = m_most ? std::max<std::int64_t>(*m_most - *launched, 0) : 0;
    } else if (const std::size_t has = head.find(" has "); has != std::string_view::npos) {
      made.what = head.substr(has + 5);
    } else {
      made.what = m_group.empty() ? "missing" : m_group;
      made.behind = m_group.empty() ? 0 : m_behind;
    }
    add(std::move(made));
  }

  void add(RasRank rank) {
    auto& outliers = m_status.communicators[m_current].outliers;
    if (outliers.size() < kMaxOutliers) {
      outliers.push_back(std::move(rank));
    }
  }

  RasStatus m_status;
  int m_current = -1;
  bool m_isOfJob = false;
  std::optional<std::int64_t> m_most;  ///< operations that most ranks have launched
  std::string m_group;
  std::string m_operation;
  std::int64_t m_behind = 0;
};

std::int64_t integerIn(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string textOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

RasRank rankIn(const json& object) {
  return {.rank = static_cast<int>(std::clamp<std::int64_t>(integerIn(object, "rank"), 0, 1 << 20)),
          .host = textOf(object, "host"),
          .process = static_cast<int>(integerIn(object, "pid")),
          .gpu = std::to_string(integerIn(object, "nvml_dev"))};
}

/// Ranks that launched fewer operations of a kind than the furthest.
void addBehind(const json& ranks, RasCommunicator& made) {
  std::map<std::string, std::int64_t> most;
  const auto countsOf = [](const json& rank) {
    const auto found = rank.find("collective_counts");
    return found != rank.end() && found->is_object() ? *found : json::object();
  };
  for (const json& rank : ranks) {
    const json counts = rank.is_object() ? countsOf(rank) : json::object();
    for (const auto& [operation, count] : counts.items()) {
      most[operation] = std::max(most[operation], count.is_number_integer() ? count.get<std::int64_t>() : 0);
    }
  }
  for (const json& rank : ranks) {
    const json counts = rank.is_object() ? countsOf(rank) : json::object();
    for (const auto& [operation, count] : counts.items()) {
      const std::int64_t own = count.is_number_integer() ? count.get<std::int64_t>() : 0;
      if (own < most[operation] && made.outliers.size() < kMaxOutliers) {
        RasRank outlier = rankIn(rank);
        outlier.what = "launched up to " + operation + " operation " + std::to_string(own);
        outlier.behind = most[operation] - own;
        made.outliers.push_back(std::move(outlier));
      }
    }
  }
  if (!made.outliers.empty()) {
    made.problems.emplace_back("ranks have launched different numbers of operations");
  }
}

RasStatus readJson(const json& document) {
  RasStatus status{.version = textOf(document, "nccl_version")};
  for (const json& each : document["communicators"]) {
    if (!each.is_object()) {
      continue;
    }
    RasCommunicator made{.id = textOf(each, "hash"), .ranks = static_cast<int>(integerIn(each, "size"))};
    if (const auto ranks = each.find("ranks"); ranks != each.end() && ranks->is_array()) {
      addBehind(*ranks, made);
    }
    if (const auto absent = each.find("missing_ranks"); absent != each.end() && absent->is_array()) {
      for (const json& rank : *absent) {
        if (rank.is_object() && made.outliers.size() < kMaxOutliers) {
          made.outliers.push_back(rankIn(rank));
          made.outliers.back().what = "missing";
        }
      }
      if (!absent->empty()) {
        made.problems.push_back(counted(static_cast<std::int64_t>(absent->size()), "rank") + " did not answer");
      }
    }
    status.communicators.push_back(std::move(made));
  }
  if (const auto ras = document.find("ras"); ras != document.end() && ras->is_object()) {
    if (const std::int64_t timeouts = integerIn(*ras, "timeouts_count"); timeouts > 0) {
      status.problems.push_back(counted(timeouts, "process") + " did not answer in time");
    }
  }
  return status;
}

bool isRasJson(std::string_view text) {
  const std::string_view body = trimmed(text.substr(0, 4096));
  return body.starts_with('{') && body.find("\"communicators_count\"") != std::string_view::npos;
}

}  // namespace

bool isRas(std::string_view text) {
  return isRasJson(text) ||
         (text.find("Job summary") != std::string_view::npos &&
          text.find("Communicators...") != std::string_view::npos) ||
         (text.find("#0-0 (") != std::string_view::npos && text.find(") MISMATCH") != std::string_view::npos);
}

Result<RasStatus> readRas(std::string_view text, const std::string& fileName) {
  if (!isRasJson(text)) {
    return RasText().read(text);
  }
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("communicators") || !document["communicators"].is_array()) {
    return Error{ErrorCode::badInput,
                 "not the JSON of NCCL's RAS",
                 "give what localhost:28028 answers to SET FORMAT json and STATUS, or what ncclras prints",
                 {.file = fileName}};
  }
  return readJson(document);
}

}  // namespace coppice::nccl
