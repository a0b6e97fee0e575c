// SPDX-License-Identifier: Apache-2.0
#include "program/run_job.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace coppice::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxArguments = 256;
constexpr std::size_t kMaxHosts = 1024;
constexpr std::int64_t kLongestLimit = 30LL * 24 * 3600;

bool isWord(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= 253 && text.front() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return isAlphanumeric(c) || others.find(c) != std::string_view::npos; });
}

/// Digits with an optional K, M or G, as nccl-tests reads sizes.
std::optional<std::int64_t> bytesOf(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  int shift = 0;
  if (!rest.empty()) {
    const char unit = rest.front();
    shift = unit == 'k' || unit == 'K' ? 10 : unit == 'm' || unit == 'M' ? 20 : unit == 'g' || unit == 'G' ? 30 : -1;
    rest.remove_prefix(1);
  }
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  if (fault != std::errc() || shift < 0 || !rest.empty() || value < 0 || value > (kLargest >> shift)) {
    return std::nullopt;
  }
  return value << shift;
}

std::string shortNumber(double value) {
  std::string text(32, '\0');
  const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), value);
  text.resize(end - text.data());
  return text;
}

Error wrong(const std::string& why) {
  return {ErrorCode::badInput, "job.json: " + why, "start the run again"};
}

}  // namespace

std::string_view toString(Launch launch) {
  switch (launch) {
    case Launch::single:
      return "single";
    case Launch::mpirun:
      return "mpirun";
    case Launch::srun:
      return "srun";
  }
  return {};
}

std::vector<Finding> faultsOf(const RunRequest& request) {
  std::vector<Finding> faults;
  const auto fault = [&](std::string text, std::string fix, const char* setting) {
    faults.push_back({Severity::error,
                      ErrorCode::badUsage,
                      std::move(text),
                      std::move(fix),
                      {.element = {RefKind::field, setting}}});
  };
  if (request.schedule.empty() || request.schedule.front() == '-') {
    fault("no schedule is chosen", "choose one, or generate it with F5", "schedule");
  }
  if (!request.goal.empty() && request.goal.front() == '-') {
    fault(inQuotes(request.goal) + " is not a table of shards", "name a file", "goal");
  }
  const auto min = bytesOf(request.minBytes);
  const auto max = bytesOf(request.maxBytes);
  if (!min || *min == 0) {
    fault(inQuotes(request.minBytes) + " is not a size", "write bytes, or 64K, 1M, 2G", "sizes");
  } else if (!max) {
    fault(inQuotes(request.maxBytes) + " is not a size", "write bytes, or 64K, 1M, 2G", "sizes");
  } else if (*min > *max) {
    fault("the smallest size is above the largest", "swap them", "sizes");
  }
  const auto factor = numberIn<double>(request.factor);
  if (!factor || !(*factor > 1 && *factor <= 1e6)) {
    fault(inQuotes(request.factor) + " is not a step between sizes", "write a number above 1, for example 2", "sizes");
  }
  constexpr int kMaxIterations = 1'000'000;
  if (request.iterations < 1 || request.iterations > kMaxIterations) {
    fault("the number of iterations is out of range", "write 1 to 1000000", "iterations");
  }
  if (request.warmup < 0 || request.warmup > kMaxIterations) {
    fault("the number of warm-up iterations is out of range", "write 0 to 1000000", "iterations");
  }
  for (const std::string* word : {&request.backend, &request.type, &request.operation}) {
    if (!word->empty() && !isWord(*word, "_")) {
      fault(inQuotes(*word) + " is not a backend, data type or operation", "choose one from the list", "type");
    }
  }
  if (!request.partition.empty() && !isWord(request.partition, "._-")) {
    fault(inQuotes(request.partition) + " is not a Slurm partition", "choose one from the list", "machines");
  }
  for (const std::string& host : request.hosts) {
    if (!isWord(host, "._:-")) {
      fault(inQuotes(host) + " is not a host", "use letters, digits, '.', '_', ':' and '-'", "machines");
    }
  }
  if (request.hosts.size() > kMaxHosts) {
    fault("too many hosts", "use at most 1024", "machines");
  }
  return faults;
}

std::vector<std::string> executorArguments(const RunRequest& request, bool records) {
  std::vector<std::string> words{"run", request.schedule};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  if (!request.goal.empty()) {
    add("--goal", request.goal);
  }
  if (!request.backend.empty()) {
    add("--backend", request.backend);
  }
  if (request.launch != Launch::single) {
    add("--launch", std::string(toString(request.launch)));
    if (!request.hosts.empty()) {
      std::string list;
      for (const std::string& host : request.hosts) {
        list += (list.empty() ? "" : ",") + host;
      }
      add("--host", list);
    }
    if (!request.partition.empty()) {
      add("--partition", request.partition);
    }
  }
  add("-b", request.minBytes);
  add("-e", request.maxBytes);
  add("-f", request.factor);
  add("--iters", std::to_string(request.iterations));
  add("--warmup", std::to_string(request.warmup));
  add("--type", request.type);
  add("--op", request.operation);
  if (!request.checks) {
    add("--check", "0");
  }
  if (request.boundGBps) {
    add("--bound", shortNumber(*request.boundGBps));
  }
  if (request.traces) {
    words.emplace_back("--trace");
  }
  if (records) {
    words.emplace_back("--json");
    words.emplace_back("--lifeline");
  }
  return words;
}

bool mayBeSet(std::string_view variable) {
  for (const std::string_view prefix : {"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "UCX_", "NCCL_", "OMP_", "COPPICE_"}) {
    if (variable.size() > prefix.size() && variable.substr(0, prefix.size()) == prefix) {
      // Some of them name files to load.
      for (const std::string_view part : {"PLUGIN", "PATH", "EXEC", "AGENT", "MODULE", "LIB"}) {
        if (variable.find(part) != std::string_view::npos) {
          return false;
        }
      }
      return std::all_of(variable.begin(), variable.end(), [](char c) { return isAlphanumeric(c) || c == '_'; }) &&
             variable.find("_path") == std::string_view::npos && variable.find("_agent") == std::string_view::npos;
    }
  }
  return variable == "CUDA_VISIBLE_DEVICES";
}

std::string writeJob(const RunJob& job) {
  const Json json = {{"arguments", job.arguments},
                     {"environment", Json(job.environment)},
                     {"ends_with_starter", job.endsWithStarter},
                     {"limit_s", job.limitSeconds}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunJob> readJob(std::string_view text) {
  if (text.size() > kMaxJobBytes) {
    return Error{ErrorCode::limit, "job.json is longer than 64 KiB", "start the run again"};
  }
  // The parser recurses; a job needs two levels.
  if (std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{') > 1000) {
    return wrong("it is nested too deeply");
  }
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return wrong("it is not a JSON object");
  }
  RunJob job;
  const auto arguments = json.find("arguments");
  if (arguments == json.end() || !arguments->is_array() || arguments->empty() || arguments->size() > kMaxArguments) {
    return wrong("\"arguments\" is not a list of 1 to 256 texts");
  }
  for (const Json& word : *arguments) {
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos) {
      return wrong("\"arguments\" holds something that is not a text");
    }
    job.arguments.push_back(word.get<std::string>());
  }
  if (const auto environment = json.find("environment"); environment != json.end()) {
    if (!environment->is_object()) {
      return wrong("\"environment\" is not an object");
    }
    for (const auto& [name, value] : environment->items()) {
      if (!mayBeSet(name) || !value.is_string() ||
          value.get_ref<const std::string&>().find('\0') != std::string::npos) {
        return wrong("the variable " + inQuotes(name) + " may not be set");
      }
      job.environment[name] = value.get<std::string>();
    }
  }
  if (const auto ends = json.find("ends_with_starter"); ends != json.end()) {
    if (!ends->is_boolean()) {
      return wrong("\"ends_with_starter\" is not true or false");
    }
    job.endsWithStarter = ends->get<bool>();
  }
  if (const auto limit = json.find("limit_s"); limit != json.end()) {
    if (!limit->is_number_integer() || limit->get<std::int64_t>() < 0 || limit->get<std::int64_t>() > kLongestLimit) {
      return wrong("\"limit_s\" is not a number of seconds");
    }
    job.limitSeconds = limit->get<std::int64_t>();
  }
  return job;
}

}  // namespace coppice::program
