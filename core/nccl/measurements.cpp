// SPDX-License-Identifier: Apache-2.0
#include "nccl/measurements.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/failure.hpp"
#include "io/table_collective.hpp"
#include "nccl/log_facts.hpp"

namespace coppice::nccl {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxRows = 100'000;
constexpr std::size_t kMaxRecords = std::size_t{1} << 22;

std::optional<double> numberIn(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_number()) {
      const double value = found->get<double>();
      return std::isfinite(value) && value >= 0 && value < 1e18 ? std::optional(value) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::string wordIn(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) {
    return {};
  }
  return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : std::string();
}

std::optional<io::NcclTime> halfIn(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_object()) {
    return std::nullopt;
  }
  const auto time = numberIn(*found, {"time", "cpu_time"});
  const auto algbw = numberIn(*found, {"alg_bw", "algbw"});
  const auto busbw = numberIn(*found, {"bus_bw", "busbw"});
  if (!time || *time <= 0) {
    return std::nullopt;
  }
  io::NcclTime half{
      .time = Microseconds(*time), .algbw = Throughput(algbw.value_or(0)), .busbw = Throughput(busbw.value_or(0))};
  if (const auto wrong = numberIn(*found, {"nwrong"})) {
    half.wrong = static_cast<std::int64_t>(*wrong);
  }
  return half;
}

/// The program's name, wherever a string of the settings ends with it.
void findProgram(const json& value, std::string& collective, int depth) {
  constexpr int kMaxDepth = 4;
  if (value.is_string()) {
    const auto named = io::collectiveOfProgram(value.get_ref<const std::string&>());
    if (collective.empty() && named) {
      collective = toString(*named);
    }
  } else if (value.is_structured() && depth < kMaxDepth) {
    for (const auto& [key, each] : value.items()) {
      if (key != "env" && key != "results") {
        findProgram(each, collective, depth + 1);
      }
    }
  }
}

/// The rank that came last to a call, if one did.
void addLate(std::vector<std::pair<int, double>> times, std::map<int, LateRank>& late) {
  constexpr double kClearly = 0.9;  // of the median: less is noise
  if (times.size() < 2) {
    return;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  const auto byTime = [](const auto& a, const auto& b) { return a.second < b.second; };
  std::nth_element(times.begin(), middle, times.end(), byTime);
  const double median = middle->second;
  const auto least = std::min_element(times.begin(), times.end(), byTime);
  if (least->first >= 0 && least->second < median * kClearly) {
    LateRank& entry = late[least->first];
    entry.rank = least->first;
    ++entry.calls;
    entry.lost += Microseconds(median - least->second);
  }
}

}  // namespace

bool isTestsJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && text.find("\"results\"") != std::string_view::npos &&
         (text.find("\"out_of_place\"") != std::string_view::npos ||
          text.find("\"in_place\"") != std::string_view::npos);
}

Result<io::NcclTable> readTestsJson(std::string_view text, const std::string& fileName) {
  const auto refuse = [&](const std::string& message) {
    return Error{ErrorCode::badInput, message, "give what nccl-tests wrote with -J", {.file = fileName}};
  };
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) {
    return refuse("not well-formed JSON");
  }
  const auto results = document.find("results");
  if (results == document.end() || !results->is_array()) {
    return refuse("there is no list of results");
  }
  if (results->size() > kMaxRows) {
    return Error{ErrorCode::limit, "there are more than 100,000 results", "give fewer sizes", {.file = fileName}};
  }
  io::NcclTable table;
  findProgram(document, table.collective, 0);
  if (const auto config = document.find("config"); config != document.end() && config->is_object()) {
    if (const auto devices = config->find("devices"); devices != config->end() && devices->is_array()) {
      table.ranks = static_cast<int>(std::min<std::size_t>(devices->size(), 1 << 20));
    }
  }
  std::map<std::int64_t, io::NcclRow> rows;
  for (const json& each : *results) {
    const auto size = each.is_object() ? numberIn(each, {"size"}) : std::nullopt;
    if (!size || *size < 1) {
      continue;
    }
    io::NcclRow row{.size = static_cast<std::int64_t>(*size)};
    row.outOfPlace = halfIn(each, "out_of_place");
    row.inPlace = halfIn(each, "in_place");
    if (row.outOfPlace || row.inPlace) {
      rows[row.size] = std::move(row);
    }
  }
  if (rows.empty()) {
    return refuse("no result has a size and a time");
  }
  for (auto& [size, row] : rows) {
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool isInspector(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && text.find("\"coll_perf\"") != std::string_view::npos;
}

Result<std::vector<InspectedCalls>> readInspector(std::string_view text, const std::string& fileName) {
  struct Call {
    double time = 0;
    double algbw = 0;
    double busbw = 0;
    int rank = -1;
    std::vector<std::pair<int, double>> times = {};  // by rank
  };
  struct Size {
    int ranks = 0;
    std::map<std::int64_t, Call> calls;  // by sequence number
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Size> sizes;
  std::size_t records = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const json record = json::parse(text.substr(at, end - at), nullptr, false);
    at = end + 1;
    if (!record.is_object() || !record.contains("coll_perf") || !record["coll_perf"].is_object()) {
      continue;
    }
    const json none = json::object();
    const json& header = record.contains("header") && record["header"].is_object() ? record["header"] : none;
    const json& perf = record["coll_perf"];
    const auto bytes = numberIn(perf, {"coll_msg_size_bytes"});
    const auto time = numberIn(perf, {"coll_exec_time_us"});
    if (!bytes || *bytes < 1 || !time || *time <= 0) {
      continue;
    }
    if (++records > kMaxRecords) {
      return Error{ErrorCode::limit, "there are more than 4,194,304 records", "give fewer files", {.file = fileName}};
    }
    Size& size = sizes[{wordIn(header, "id"), collectiveName(wordIn(perf, "coll")), static_cast<std::int64_t>(*bytes)}];
    size.ranks = std::max(size.ranks, static_cast<int>(std::min(numberIn(header, {"n_ranks"}).value_or(0), 1e6)));
    const auto number = static_cast<std::int64_t>(numberIn(perf, {"coll_sn"}).value_or(static_cast<double>(records)));
    Call& call = size.calls[number];
    const auto rank = static_cast<int>(std::min(numberIn(header, {"rank"}).value_or(-1), 1e6));
    call.times.emplace_back(rank, *time);
    if (*time > call.time) {
      call.time = *time;
      call.algbw = numberIn(perf, {"coll_algobw_gbs"}).value_or(0);
      call.busbw = numberIn(perf, {"coll_busbw_gbs"}).value_or(0);
      call.rank = rank;
    }
  }
  if (sizes.empty()) {
    return Error{ErrorCode::badInput,
                 "there is no record of a collective",
                 "give the files that NCCL's Inspector wrote (NCCL_PROFILER_PLUGIN, NCCL_INSPECTOR_ENABLE=1, "
                 "NCCL_INSPECTOR_DUMP_DIR)",
                 {.file = fileName}};
  }
  std::vector<InspectedCalls> all;
  for (const auto& [key, size] : sizes) {
    std::vector<Call> calls;
    std::map<int, int> last;
    std::map<int, LateRank> late;
    bool hasSeveral = false;
    for (const auto& [number, call] : size.calls) {
      calls.push_back(call);
      ++last[call.rank];
      hasSeveral = hasSeveral || call.times.size() > 1;
      addLate(call.times, late);
    }
    const auto middle = calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
    std::nth_element(calls.begin(), middle, calls.end(), [](const Call& a, const Call& b) { return a.time < b.time; });
    InspectedCalls made{.communicator = std::get<0>(key),
                        .collective = std::get<1>(key),
                        .ranks = size.ranks,
                        .bytes = std::get<2>(key),
                        .calls = static_cast<int>(calls.size()),
                        .time = Microseconds(middle->time),
                        .algbw = Throughput(middle->algbw),
                        .busbw = Throughput(middle->busbw)};
    if (hasSeveral) {
      made.slowestRank = std::max_element(last.begin(), last.end(), [](const auto& a, const auto& b) {
                           return a.second < b.second;
                         })->first;
    }
    for (const auto& [unused, rank] : late) {
      made.late.push_back(rank);
    }
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace coppice::nccl
