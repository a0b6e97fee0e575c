// SPDX-License-Identifier: Apache-2.0
#include "probe/contention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/comma_list.hpp"
#include "io/fabric_json.hpp"
#include "probe/median.hpp"

namespace coppice::probe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMinSamples = 7;
constexpr double kMinThreshold = 0.6;
constexpr double kMaxThreshold = 0.9;
constexpr double kLatencyMargin = 0.05;
constexpr std::size_t kMaxOrders = 64;
constexpr int kMaxAloneGpus = 64;

std::string listOf(const std::vector<int>& gpus) {
  return commaList(gpus, [](const int gpu) { return std::to_string(gpu); });
}

/// Unwinds to readContention.
struct BadRecord {
  std::string key;
  std::string what;
};

Samples readSamples(const Json& value, const std::string& key) {
  if (!value.is_array() || value.empty()) {
    throw BadRecord{key, "is not a list of measurements"};
  }
  Samples samples;
  for (const Json& each : value) {
    if (!each.is_number() || !(each.get<double>() > 0)) {
      throw BadRecord{key, "contains something other than numbers above 0"};
    }
    samples.push_back(each.get<double>());
  }
  return samples;
}

int readIndex(const Json& object, const char* key, int count, const std::string& list) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer() ||
      object[key].get<std::int64_t>() < 0 || object[key].get<std::int64_t>() >= count) {
    throw BadRecord{list,
                    "has an entry whose \"" + std::string(key) + "\" is not one of 0 to " + std::to_string(count - 1)};
  }
  return object[key].get<int>();
}

Samples readMember(const Json& object, const char* key, const std::string& list) {
  if (!object.contains(key)) {
    throw BadRecord{list, "has an entry without \"" + std::string(key) + "\""};
  }
  return readSamples(object[key], list);
}

class Inferrer {
public:
  explicit Inferrer(const ContentionRecord& record)
      : m_record(record), m_gpus(static_cast<int>(record.alone.size())), m_shares(record.alone.size()) {
    for (auto& row : m_shares) {
      row.assign(record.alone.size(), 1);
    }
  }

  Inference run() {
    countSamples();
    measureShares();
    group();
    findNics();
    order();
    return std::move(m_result);
  }

private:
  void note(std::string text, std::string fix) {
    m_result.findings.push_back({Severity::warning, ErrorCode::badInput, std::move(text), std::move(fix)});
  }

  [[nodiscard]] double alone(int gpu) const { return medianOf(m_record.alone[gpu]); }

  void countSamples() {
    std::size_t min = std::numeric_limits<std::size_t>::max();
    for (const Samples& samples : m_record.alone) {
      min = std::min(min, samples.size());
    }
    for (const TogetherSample& each : m_record.together) {
      min = std::min({min, each.ofA.size(), each.ofB.size()});
    }
    for (const LoopbackSample& each : m_record.loopbacks) {
      min = std::min(min, each.seconds.size());
    }
    for (const BesideNicSample& each : m_record.besideNic) {
      min = std::min(min, each.ofGpu.size());
    }
    if (min < kMinSamples) {
      note("a measurement was taken " + std::to_string(min) + " times only",
           "take " + std::to_string(kMinSamples) + " or more of each");
    }
  }

  void measureShares() {
    std::vector<double> shares;
    std::map<std::pair<int, int>, bool> isKnown;
    for (const TogetherSample& each : m_record.together) {
      const double share = (medianOf(each.ofA) + medianOf(each.ofB)) / (alone(each.a) + alone(each.b));
      m_shares[each.a][each.b] = m_shares[each.b][each.a] = share;
      isKnown[std::minmax(each.a, each.b)] = true;
      shares.push_back(share);
    }
    for (int a = 0; a < m_gpus; ++a) {
      for (int b = a + 1; b < m_gpus; ++b) {
        if (!isKnown[{a, b}]) {
          note("GPUs " + std::to_string(a) + " and " + std::to_string(b) + " were not measured together",
               "they are assumed to share nothing; measure every pair");
        }
      }
    }
    // Copies that share all have half of the bandwidth, copies that share nothing have all of it.
    shares.push_back(0.5);
    shares.push_back(1);
    std::sort(shares.begin(), shares.end());
    double widest = 0;
    m_result.threshold = (kMinThreshold + kMaxThreshold) / 2;
    for (std::size_t i = 1; i < shares.size(); ++i) {
      const double middle = (shares[i] + shares[i - 1]) / 2;
      if (middle >= kMinThreshold && middle <= kMaxThreshold && shares[i] - shares[i - 1] > widest) {
        widest = shares[i] - shares[i - 1];
        m_result.threshold = middle;
      }
    }
  }

  [[nodiscard]] bool share(int a, int b) const { return a != b && m_shares[a][b] < m_result.threshold; }

  void group() {
    bool isConsistent = true;
    for (int b = 0; b < m_gpus; ++b) {
      for (int a = 0; a < m_gpus; ++a) {
        for (int c = a + 1; c < m_gpus; ++c) {
          if (share(a, b) && share(b, c) && !share(a, c)) {
            note("GPU " + std::to_string(b) + " shares with " + std::to_string(a) + " and with " + std::to_string(c) +
                     ", but these two do not share",
                 "measure again on an idle machine");
            isConsistent = false;
          }
        }
      }
    }
    std::vector<bool> isTaken(m_gpus);
    for (int gpu = 0; gpu < m_gpus; ++gpu) {
      if (isTaken[gpu]) {
        continue;
      }
      std::vector<int> members = {gpu};
      for (int other = gpu + 1; other < m_gpus && isConsistent; ++other) {
        if (share(gpu, other)) {
          members.push_back(other);
          isTaken[other] = true;
        }
      }
      m_result.switches.push_back(std::move(members));
    }
    if (!isConsistent) {
      note("no switches are inferred", "the contradictions are listed");
    }
  }

  void findNics() {
    int nics = 0;
    for (const LoopbackSample& each : m_record.loopbacks) {
      nics = std::max(nics, each.nic + 1);
    }
    for (const BesideNicSample& each : m_record.besideNic) {
      nics = std::max(nics, each.nic + 1);
    }
    for (int nic = 0; nic < nics; ++nic) {
      std::vector<std::pair<double, int>> latencies;
      for (const LoopbackSample& each : m_record.loopbacks) {
        if (each.nic == nic) {
          latencies.emplace_back(medianOf(each.seconds), each.cpu);
        }
      }
      std::sort(latencies.begin(), latencies.end());
      m_result.nicCpu.emplace_back();
      if (latencies.size() == 1 ||
          (latencies.size() > 1 && latencies[1].first >= latencies[0].first * (1 + kLatencyMargin))) {
        m_result.nicCpu.back() = latencies[0].second;
      } else {
        note("the CPU of NIC " + std::to_string(nic) + " is undecided: two latencies are within 5 %",
             "measure again, or state it");
      }
      std::vector<int> beside;
      for (const BesideNicSample& each : m_record.besideNic) {
        if (each.nic == nic && medianOf(each.ofGpu) < m_result.threshold * alone(each.gpu)) {
          beside.push_back(each.gpu);
        }
      }
      std::sort(beside.begin(), beside.end());
      m_result.nicGpus.push_back(std::move(beside));
      checkNic(nic);
    }
  }

  /// All GPUs of a switch are beside its NIC, or none.
  void checkNic(int nic) {
    const std::vector<int>& beside = m_result.nicGpus[nic];
    for (const std::vector<int>& members : m_result.switches) {
      const auto count = std::count_if(members.begin(), members.end(), [&](int gpu) {
        return std::find(beside.begin(), beside.end(), gpu) != beside.end();
      });
      if (count != 0 && count != static_cast<std::ptrdiff_t>(members.size())) {
        note("NIC " + std::to_string(nic) + " slows some of the GPUs " + listOf(members) +
                 " that share a switch, and not the others",
             "measure again on an idle machine");
      }
    }
  }

  /// Relabellings that keep all NVLinks, such that a GPU beside the first NIC comes first.
  void order() {
    if (m_record.nvlinks.empty() || m_result.nicGpus.empty() || m_result.nicGpus.front().empty()) {
      return;
    }
    std::vector<int> chosen;
    std::vector<bool> isUsed(m_gpus);
    std::int64_t steps = 0;
    const std::function<void()> extend = [&] {
      if (m_result.orders.size() >= kMaxOrders || ++steps > 1'000'000) {
        return;
      }
      const int place = static_cast<int>(chosen.size());
      if (place == m_gpus) {
        m_result.orders.push_back(chosen);
        return;
      }
      for (int gpu = 0; gpu < m_gpus; ++gpu) {
        if (isUsed[gpu] || (place == 0 && !isBeside(gpu))) {
          continue;
        }
        bool fits = true;
        for (int other = 0; other < place && fits; ++other) {
          fits = m_record.nvlinks[gpu][chosen[other]] == m_record.nvlinks[place][other] &&
                 m_record.nvlinks[chosen[other]][gpu] == m_record.nvlinks[other][place];
        }
        if (fits) {
          isUsed[gpu] = true;
          chosen.push_back(gpu);
          extend();
          chosen.pop_back();
          isUsed[gpu] = false;
        }
      }
    };
    extend();
    if (m_result.orders.empty()) {
      note("no order of the GPUs keeps the NVLinks and puts the NIC beside the first one",
           "name other senders and receivers in the sketch");
    }
  }

  [[nodiscard]] bool isBeside(int gpu) const {
    const std::vector<int>& beside = m_result.nicGpus.front();
    return std::find(beside.begin(), beside.end(), gpu) != beside.end();
  }

  const ContentionRecord& m_record;
  int m_gpus;
  std::vector<std::vector<double>> m_shares;
  Inference m_result;
};

}  // namespace

Result<ContentionRecord> readContention(const std::string& text) {
  const Json all = Json::parse(text, nullptr, false);
  try {
    if (!all.is_object() || !all.contains("alone") || !all["alone"].is_array()) {
      throw BadRecord{"alone", "is missing"};
    }
    ContentionRecord record;
    for (const Json& each : all["alone"]) {
      record.alone.push_back(readSamples(each, "alone"));
    }
    const int gpus = static_cast<int>(record.alone.size());
    if (gpus < 1 || gpus > kMaxAloneGpus) {
      throw BadRecord{"alone",
                      "has " + std::to_string(gpus) + " GPUs; 1 to " + std::to_string(kMaxAloneGpus) + " can be"};
    }
    const auto entries = [&](const char* key) {
      if (!all.contains(key)) {
        return Json(Json::array());
      }
      if (!all[key].is_array()) {
        throw BadRecord{key, "is not a list"};
      }
      return all[key];
    };
    constexpr int kMaxParts = 1024;
    for (const Json& each : entries("together")) {
      TogetherSample sample{.a = readIndex(each, "a", gpus, "together"), .b = readIndex(each, "b", gpus, "together")};
      if (sample.a == sample.b) {
        throw BadRecord{"together", "measures GPU " + std::to_string(sample.a) + " beside itself"};
      }
      sample.ofA = readMember(each, "of_a", "together");
      sample.ofB = readMember(each, "of_b", "together");
      record.together.push_back(std::move(sample));
    }
    for (const Json& each : entries("beside_nic")) {
      BesideNicSample sample{.gpu = readIndex(each, "gpu", gpus, "beside_nic"),
                             .nic = readIndex(each, "nic", kMaxParts, "beside_nic")};
      sample.ofGpu = readMember(each, "of_gpu", "beside_nic");
      record.besideNic.push_back(std::move(sample));
    }
    for (const Json& each : entries("loopback")) {
      LoopbackSample sample{.cpu = readIndex(each, "cpu", kMaxParts, "loopback"),
                            .nic = readIndex(each, "nic", kMaxParts, "loopback")};
      sample.seconds = readMember(each, "seconds", "loopback");
      record.loopbacks.push_back(std::move(sample));
    }
    for (const Json& row : entries("nvlinks")) {
      std::vector<int> counts;
      for (const Json& each : row) {
        if (!each.is_number_integer() || each.get<std::int64_t>() < 0 || each.get<std::int64_t>() > 64) {
          throw BadRecord{"nvlinks", "contains something other than numbers of links"};
        }
        counts.push_back(each.get<int>());
      }
      record.nvlinks.push_back(std::move(counts));
    }
    const auto isSquare = [&](const std::vector<int>& row) { return static_cast<int>(row.size()) == gpus; };
    if (!record.nvlinks.empty() && (static_cast<int>(record.nvlinks.size()) != gpus ||
                                    !std::all_of(record.nvlinks.begin(), record.nvlinks.end(), isSquare))) {
      throw BadRecord{"nvlinks", "is not a matrix of " + std::to_string(gpus) + " rows and columns"};
    }
    if (all.contains("machine") && !all["machine"].is_null()) {
      if (!all["machine"].is_object()) {
        throw BadRecord{"machine", "is not a fabric"};
      }
      record.machine = all["machine"].dump();
    }
    return record;
  } catch (const BadRecord& bad) {
    return Error{ErrorCode::badInput,
                 "this is not a contention record: \"" + bad.key + "\" " + bad.what,
                 "see coppice-exec infer --help for the form",
                 {.element = {RefKind::key, bad.key}}};
  }
}

std::string writeContention(const ContentionRecord& record) {
  Json all = {{"t", "contention"}, {"format", 1}, {"alone", record.alone}};
  all["together"] = Json::array();
  for (const TogetherSample& each : record.together) {
    all["together"].push_back({{"a", each.a}, {"b", each.b}, {"of_a", each.ofA}, {"of_b", each.ofB}});
  }
  all["beside_nic"] = Json::array();
  for (const BesideNicSample& each : record.besideNic) {
    all["beside_nic"].push_back({{"gpu", each.gpu}, {"nic", each.nic}, {"of_gpu", each.ofGpu}});
  }
  all["loopback"] = Json::array();
  for (const LoopbackSample& each : record.loopbacks) {
    all["loopback"].push_back({{"cpu", each.cpu}, {"nic", each.nic}, {"seconds", each.seconds}});
  }
  all["nvlinks"] = record.nvlinks;
  if (!record.machine.empty()) {
    all["machine"] = Json::parse(record.machine, nullptr, false);
  }
  return all.dump() + "\n";
}

Inference inferSwitches(const ContentionRecord& record) {
  return Inferrer(record).run();
}

fabric::Description inferredFabric(const ContentionRecord& record, const Inference& inference) {
  fabric::Description description;
  description.name = "inferred";
  const std::string basis = R"({"basis":"inferred"})";
  const auto rateOf = [&](int gpu) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", std::max(0.01, medianOf(record.alone[gpu]) / 1e9));
    return std::string(text.data());
  };
  for (std::size_t gpu = 0; gpu < record.alone.size(); ++gpu) {
    description.nodes.push_back({.id = "gpu" + std::to_string(gpu), .kind = "gpu", .rank = static_cast<int>(gpu)});
  }
  description.nodes.push_back({.id = "host", .kind = "switch"});
  for (std::size_t i = 0; i < inference.switches.size(); ++i) {
    const std::string id = "pcie" + std::to_string(i);
    description.nodes.push_back({.id = id, .kind = "switch", .extra = basis});
    std::string max;
    double rate = 0;
    for (const int gpu : inference.switches[i]) {
      description.links.push_back(
          {.src = "gpu" + std::to_string(gpu), .dst = id, .bandwidth = rateOf(gpu), .extra = basis});
      if (medianOf(record.alone[gpu]) > rate) {
        rate = medianOf(record.alone[gpu]);
        max = rateOf(gpu);
      }
    }
    description.links.push_back({.src = id, .dst = "host", .bandwidth = max, .extra = basis});
    for (std::size_t nic = 0; nic < inference.nicGpus.size(); ++nic) {
      const std::vector<int>& beside = inference.nicGpus[nic];
      if (std::find(beside.begin(), beside.end(), inference.switches[i].front()) != beside.end()) {
        const std::string name = "nic" + std::to_string(nic);
        description.nodes.push_back({.id = name, .kind = "nic", .extra = basis});
        description.links.push_back({.src = id, .dst = name, .bandwidth = max, .extra = basis});
      }
    }
  }
  return description;
}

std::string inferenceText(const Inference& inference) {
  std::string text;
  for (std::size_t i = 0; i < inference.switches.size(); ++i) {
    text += "PCIe switch " + std::to_string(i) + " (inferred): GPU " + listOf(inference.switches[i]) + "\n";
  }
  for (std::size_t nic = 0; nic < inference.nicCpu.size(); ++nic) {
    text += "NIC " + std::to_string(nic) + ": CPU " +
            (inference.nicCpu[nic] ? std::to_string(*inference.nicCpu[nic]) : std::string("undecided")) +
            (inference.nicGpus[nic].empty() ? std::string(", beside no GPU")
                                            : ", beside GPU " + listOf(inference.nicGpus[nic])) +
            "\n";
  }
  if (!inference.orders.empty()) {
    std::string order;
    for (const int gpu : inference.orders.front()) {
      order += (order.empty() ? "" : ",") + std::to_string(gpu);
    }
    text += "CUDA_VISIBLE_DEVICES=" + order + "\n";
  }
  for (const Finding& finding : inference.findings) {
    text += describe(finding) + "\n";
  }
  return text;
}

std::string inferenceJson(const ContentionRecord& record, const Inference& inference) {
  Json nics = Json::array();
  for (std::size_t nic = 0; nic < inference.nicCpu.size(); ++nic) {
    Json entry = {{"cpu", nullptr}, {"gpus", inference.nicGpus[nic]}};
    if (inference.nicCpu[nic]) {
      entry["cpu"] = *inference.nicCpu[nic];
    }
    nics.push_back(std::move(entry));
  }
  Json findings = Json::array();
  for (const Finding& finding : inference.findings) {
    findings.push_back({{"text", finding.text}, {"fix", finding.fix}});
  }
  const Json all = {{"t", "inference"},
                    {"format", 1},
                    {"switches", inference.switches},
                    {"threshold", inference.threshold},
                    {"nics", nics},
                    {"orders", inference.orders},
                    {"findings", findings},
                    {"fabric", Json::parse(io::writeFabricJson(inferredFabric(record, inference)))},
                    {"machine", record.machine.empty() ? Json() : Json::parse(record.machine, nullptr, false)}};
  return all.dump() + "\n";
}

}  // namespace coppice::probe
