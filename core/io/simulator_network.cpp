// SPDX-License-Identifier: Apache-2.0
#include "io/simulator_network.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "io/limits.hpp"

namespace coppice::io {
namespace {

constexpr std::int64_t kMaxSimaiNodes = 200000;
constexpr std::int64_t kMaxNpus = 65536;

struct Line {
  int number = 0;
  std::vector<std::string_view> words;
};

/// The words of each line that is not blank, apart at blanks and commas; comments begin with # or %.
std::vector<Line> linesOf(std::string_view text, std::size_t most) {
  std::vector<Line> lines;
  int number = 0;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = line.substr(0, line.find_first_of("#%"));
    Line entry{number, {}};
    std::size_t at = 0;
    while (at < line.size()) {
      at = std::min(line.find_first_not_of(" \t\r,", at), line.size());
      const std::size_t stop = std::min(line.find_first_of(" \t\r,", at), line.size());
      if (stop > at) {
        entry.words.push_back(line.substr(at, stop - at));
      }
      at = stop;
    }
    if (!entry.words.empty()) {
      lines.push_back(std::move(entry));
    }
  }
  return lines;
}

/// "400Gbps", "2880Gbps", "100Mbps".
std::optional<Bandwidth> bitsPerSecond(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t perGigabyte;  // units in one GB/s
  };
  for (const Unit& unit : {Unit{"Gbps", 8}, Unit{"Mbps", 8000}, Unit{"Kbps", 8000000}, Unit{"bps", 8000000000}}) {
    if (text.ends_with(unit.name)) {
      const auto value = Rational::parse(std::string(text.substr(0, text.size() - unit.name.size())));
      return value && value->isPositive() ? std::optional(Bandwidth(*value / Rational(unit.perGigabyte)))
                                          : std::nullopt;
    }
  }
  return std::nullopt;
}

/// "0.0005ms", "1us", "25ns" in microseconds.
std::optional<Rational> microseconds(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t numerator;
    std::int64_t denominator;
  };
  for (const Unit& unit : {Unit{"ms", 1000, 1}, Unit{"us", 1, 1}, Unit{"ns", 1, 1000}, Unit{"s", 1000000, 1}}) {
    if (text.ends_with(unit.name)) {
      const auto value = Rational::parse(std::string(text.substr(0, text.size() - unit.name.size())));
      return value ? std::optional(*value * Rational(unit.numerator, unit.denominator)) : std::nullopt;
    }
  }
  return std::nullopt;
}

class SimulatorReader {
public:
  explicit SimulatorReader(const std::string& fileName) : m_fileName(fileName) {}

  [[noreturn]] void refuse(int line, std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, line > 0 ? 1 : 0, {}}}};
  }

  void tell(Severity severity, std::string text, std::string fix = {}) {
    m_result.findings.push_back(
        {severity, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName, 0, 0, {}}});
  }

  void addNode(std::string id, const char* kind, std::string box = {}) {
    fabric::NodeDescription node;
    node.id = std::move(id);
    node.kind = kind;
    node.box = std::move(box);
    m_result.description.nodes.push_back(std::move(node));
  }

  void addLink(std::string a, std::string b, const Bandwidth& bandwidth, bool isDuplex,
               const std::optional<Rational>& latency) {
    fabric::LinkDescription link{std::move(a), std::move(b), toExactText(bandwidth), isDuplex, 1};
    if (latency && latency->isPositive()) {
      link.latency = toExactText(*latency);
    }
    m_result.description.links.push_back(std::move(link));
  }

  ImportResult simai(std::string_view text) {
    const std::vector<Line> lines = linesOf(text, std::string_view::npos);
    if (lines.empty()) {
      refuse(0, "the file is empty", "give SimAI's topology");
    }
    const std::vector<std::string_view>& head = lines[0].words;
    const bool isNs3 = head.size() == 3;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < std::min<std::size_t>(head.size(), isNs3 ? 3 : 5); ++i) {
      const auto value = numberIn<std::int64_t>(head[i]);
      if (!value || *value < 0) {
        refuse(lines[0].number, inQuotes(head[i]) + " is not a count",
               "the first line is: nodes GPUs-per-server NVSwitches switches links type");
      }
      counts.push_back(*value);
    }
    if (!isNs3 && counts.size() < 5) {
      refuse(lines[0].number, "the first line has " + counted(static_cast<std::int64_t>(head.size()), "word"),
             "the first line is: nodes GPUs-per-server NVSwitches switches links type");
    }
    const std::int64_t nodes = counts[0];
    const std::int64_t perServer = isNs3 ? 0 : counts[1];
    const std::int64_t nvSwitches = isNs3 ? 0 : counts[2];
    const std::int64_t links = isNs3 ? counts[2] : counts[4];
    if (nodes > kMaxSimaiNodes) {
      refuse(lines[0].number, "more than " + std::to_string(kMaxSimaiNodes) + " nodes", "give a smaller topology",
             ErrorCode::limit);
    }
    const std::int64_t switches = isNs3 ? counts[1] : checkedAdd(nvSwitches, counts[3]);
    std::vector<std::int64_t> switchIds;
    std::size_t at = 1;
    for (; at < lines.size() && static_cast<std::int64_t>(switchIds.size()) < switches; ++at) {
      for (const std::string_view word : lines[at].words) {
        const auto id = numberIn<std::int64_t>(word);
        if (!id || *id < 0 || *id >= nodes) {
          refuse(lines[at].number, inQuotes(word) + " is not the number of a switch",
                 "name " + std::to_string(switches) + " of the nodes 0 to " + std::to_string(nodes - 1));
        }
        switchIds.push_back(*id);
      }
    }
    std::map<std::int64_t, std::string> ids;
    for (std::size_t i = 0; i < switchIds.size(); ++i) {
      const bool isNvSwitch = static_cast<std::int64_t>(i) < nvSwitches;
      ids[switchIds[i]] = (isNvSwitch ? "nvswitch" : "switch") + std::to_string(switchIds[i]);
    }
    if (static_cast<std::int64_t>(ids.size()) != switches) {
      refuse(lines[0].number,
             "the first line counts " + std::to_string(switches) + " switches, the file names " +
                 std::to_string(ids.size()),
             "list each switch once after the first line");
    }
    std::int64_t gpus = 0;
    for (std::int64_t i = 0; i < nodes; ++i) {
      if (!ids.contains(i)) {
        ids[i] = "gpu" + std::to_string(i);
        const std::string box = perServer > 0 ? "server" + std::to_string(gpus / perServer) : std::string();
        addNode(ids[i], "gpu", box);
        ++gpus;
      } else {
        addNode(ids[i], "switch");
      }
    }
    std::int64_t read = 0;
    for (; at < lines.size(); ++at, ++read) {
      const std::vector<std::string_view>& words = lines[at].words;
      const std::int64_t from = words.size() >= 3 ? numberIn<std::int64_t>(words[0]).value_or(-1) : -1;
      const std::int64_t to = words.size() >= 3 ? numberIn<std::int64_t>(words[1]).value_or(-1) : -1;
      const auto bandwidth = words.size() >= 3 ? bitsPerSecond(words[2]) : std::nullopt;
      if (!ids.contains(from) || !ids.contains(to) || !bandwidth) {
        refuse(lines[at].number, "not a link: two nodes below " + std::to_string(nodes) + " and a speed",
               "write for example: 0 4 400Gbps 0.0005ms 0");
      }
      addLink(ids[from], ids[to], *bandwidth, true, words.size() > 3 ? microseconds(words[3]) : std::nullopt);
    }
    if (read != links) {
      tell(Severity::warning,
           "the first line counts " + std::to_string(links) + " links, the file has " + std::to_string(read),
           "correct the count");
    }
    m_result.description.name = isNs3 ? "ns-3 topology" : "SimAI topology";
    return std::move(m_result);
  }

  ImportResult tacos(std::string_view text) {
    const std::vector<Line> lines = linesOf(text, std::string_view::npos);
    const auto npus =
        lines.empty() || lines[0].words.size() != 1 ? std::nullopt : numberIn<std::int64_t>(lines[0].words[0]);
    if (!npus || *npus < 1) {
      refuse(lines.empty() ? 0 : lines[0].number, "the first line is not the number of NPUs", "write for example: 4");
    }
    if (*npus > kMaxNpus) {
      refuse(lines[0].number, "more than " + std::to_string(kMaxNpus) + " NPUs", "give a smaller topology",
             ErrorCode::limit);
    }
    for (std::int64_t i = 0; i < *npus; ++i) {
      addNode("npu" + std::to_string(i), "gpu");
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto& words = lines[i].words;
      if (i == 1 && !words.empty() && !numberIn<std::int64_t>(words[0])) {
        continue;  // names of the columns
      }
      const std::int64_t from = words.size() == 4 ? numberIn<std::int64_t>(words[0]).value_or(-1) : -1;
      const std::int64_t to = words.size() == 4 ? numberIn<std::int64_t>(words[1]).value_or(-1) : -1;
      const auto latency = words.size() == 4 ? Rational::parse(std::string(words[2])) : Result<Rational>(Error{});
      const auto bandwidth = words.size() == 4 ? Rational::parse(std::string(words[3])) : Result<Rational>(Error{});
      if (from < 0 || to < 0 || from >= *npus || to >= *npus || !latency || !bandwidth || !bandwidth->isPositive()) {
        refuse(lines[i].number, "not a link of TACOS", "write from,to,latency in ns,GB/s, as in 0,1,500,50");
      }
      addLink("npu" + std::to_string(from), "npu" + std::to_string(to), Bandwidth(*bandwidth), false,
              *latency / Rational(1000));
    }
    m_result.description.name = "TACOS topology";
    return std::move(m_result);
  }

  ImportResult astraSim(std::string_view text) {
    const YAML::Node root = YAML::Load(std::string(text));
    const std::vector<YAML::Node> shapes = listOf(root, "topology");
    const std::vector<YAML::Node> counts = listOf(root, "npus_count");
    const std::vector<YAML::Node> speeds = listOf(root, "bandwidth");
    const std::vector<YAML::Node> delays = listOf(root, "latency");
    if (shapes.empty() || counts.size() != shapes.size() || speeds.size() != shapes.size() ||
        delays.size() != shapes.size()) {
      refuse(0, "topology, npus_count, bandwidth and latency do not have the same number of dimensions",
             "give one value of each for every dimension");
    }
    std::int64_t npus = 1;
    std::vector<std::int64_t> sizes;
    for (const YAML::Node& node : counts) {
      const auto size = numberIn<std::int64_t>(node.Scalar());
      if (!size || *size < 1 || *size > kMaxNpus) {
        refuse(node.Mark().line + 1, inQuotes(node.Scalar()) + " is not a number of NPUs", "write 1 to 65536");
      }
      sizes.push_back(*size);
      npus *= *size;
      if (npus > kMaxNpus) {
        refuse(node.Mark().line + 1, "more than " + std::to_string(kMaxNpus) + " NPUs", "give a smaller network",
               ErrorCode::limit);
      }
    }
    for (std::int64_t i = 0; i < npus; ++i) {
      addNode("npu" + std::to_string(i), "gpu",
              sizes.size() > 1 ? "group" + std::to_string(i / sizes[0]) : std::string());
    }
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      addDimension(d, shapes[d], sizes[d], stride, npus, positive(speeds[d]), latencyOf(delays[d]));
      stride *= sizes[d];
    }
    m_result.description.name = "ASTRA-sim network";
    return std::move(m_result);
  }

private:
  std::vector<YAML::Node> listOf(const YAML::Node& root, const char* key) const {
    std::vector<YAML::Node> values;
    const YAML::Node list = root.IsMap() ? root[key] : YAML::Node();
    if (!list || list.IsNull()) {
      refuse(0, std::string(key) + " is missing", "give topology, npus_count, bandwidth and latency");
    }
    if (list.IsScalar()) {
      values.push_back(list);
    }
    for (const YAML::Node& value : list) {
      if (!value.IsScalar()) {
        refuse(value.Mark().line + 1, std::string(key) + " is not a list of values", "write one value per dimension");
      }
      values.push_back(value);
    }
    return values;
  }

  Bandwidth positive(const YAML::Node& node) const {
    const auto value = Rational::parse(node.Scalar());
    if (!value || !value->isPositive()) {
      refuse(node.Mark().line + 1, inQuotes(node.Scalar()) + " is not a bandwidth in GB/s", "write for example 50");
    }
    return Bandwidth(*value);
  }

  Rational latencyOf(const YAML::Node& node) const {
    const auto value = Rational::parse(node.Scalar());
    if (!value || *value < Rational(0)) {
      refuse(node.Mark().line + 1, inQuotes(node.Scalar()) + " is not a latency in ns", "write for example 500");
    }
    return *value / Rational(1000);
  }

  void addDimension(std::size_t dimension, const YAML::Node& shape, std::int64_t size, std::int64_t stride,
                    std::int64_t npus, const Bandwidth& bandwidth, const Rational& latency) {
    const std::string& name = shape.Scalar();
    if (name != "Ring" && name != "FullyConnected" && name != "Switch") {
      refuse(shape.Mark().line + 1, "topology " + inQuotes(name) + " is unknown",
             "dimensions are Ring, FullyConnected and Switch");
    }
    std::int64_t group = 0;
    for (std::int64_t first = 0; first < npus; ++first) {
      if (first / stride % size != 0) {
        continue;
      }
      const auto npu = [&](std::int64_t i) { return "npu" + std::to_string(first + i * stride); };
      if (name == "Switch") {
        const std::string id = "switch" + std::to_string(dimension) + "." + std::to_string(group);
        addNode(id, "switch");
        for (std::int64_t i = 0; i < size; ++i) {
          addLink(npu(i), id, bandwidth, true, latency);
        }
      } else if (name == "Ring") {
        for (std::int64_t i = 0; i + 1 < size; ++i) {
          addLink(npu(i), npu(i + 1), bandwidth, true, latency);
        }
        if (size > 2) {
          addLink(npu(size - 1), npu(0), bandwidth, true, latency);
        }
      } else {
        for (std::int64_t i = 0; i < size; ++i) {
          for (std::int64_t j = i + 1; j < size; ++j) {
            if (m_result.description.links.size() > 1000000) {
              refuse(shape.Mark().line + 1, "more than 1000000 links", "give a smaller network", ErrorCode::limit);
            }
            addLink(npu(i), npu(j), bandwidth, true, latency);
          }
        }
      }
      ++group;
    }
  }

  static std::int64_t checkedAdd(std::int64_t a, std::int64_t b) {
    if (a > kMaxSimaiNodes || b > kMaxSimaiNodes) {
      throw OverflowError("the counts of switches are too large");
    }
    return a + b;
  }

  const std::string& m_fileName;
  ImportResult m_result;
};

template <typename Work>
Result<ImportResult> readSimulator(std::string_view text, const std::string& fileName, Work work) {
  if (text.size() > kMaxNetworkBytes) {
    return Error{ErrorCode::limit, "the file is larger than 64 MiB", "give a smaller topology",
                 Place{fileName, 0, 0, {}}};
  }
  return guarded(
      [&]() -> Result<ImportResult> {
        try {
          SimulatorReader reader(fileName);
          return work(reader);
        } catch (const YAML::Exception& exception) {
          return Error{ErrorCode::badInput, "not valid YAML: " + exception.msg, "correct the file",
                       Place{fileName, exception.mark.is_null() ? 0 : exception.mark.line + 1, 0, {}}};
        }
      },
      {.overflowFix = "use smaller numbers",
       .memory = "the topology does not fit into memory",
       .memoryFix = "give a smaller one",
       .where = Place{fileName, 0, 0, {}}});
}

}  // namespace

bool looksLikeSimai(std::string_view text) {
  const std::vector<Line> lines = linesOf(text.substr(0, 65536), 4096);
  if (lines.size() < 2 || (lines[0].words.size() != 3 && lines[0].words.size() < 5) ||
      !numberIn<std::int64_t>(lines[0].words[0])) {
    return false;
  }
  return std::any_of(lines.begin() + 1, lines.end(),
                     [](const Line& line) { return line.words.size() >= 3 && bitsPerSecond(line.words[2]); });
}

bool looksLikeAstraSim(std::string_view text) {
  return text.find("npus_count:") != std::string_view::npos && text.find("topology:") != std::string_view::npos;
}

bool looksLikeTacos(std::string_view text) {
  const std::vector<Line> lines = linesOf(text.substr(0, 65536), 3);
  return lines.size() >= 2 && lines[0].words.size() == 1 && numberIn<std::int64_t>(lines[0].words[0]) &&
         lines.back().words.size() == 4 && numberIn<std::int64_t>(lines.back().words[0]) &&
         numberIn<std::int64_t>(lines.back().words[1]);
}

Result<ImportResult> readSimai(std::string_view text, const std::string& fileName) {
  return readSimulator(text, fileName, [&](SimulatorReader& reader) { return reader.simai(text); });
}

Result<ImportResult> readAstraSim(std::string_view text, const std::string& fileName) {
  return readSimulator(text, fileName, [&](SimulatorReader& reader) { return reader.astraSim(text); });
}

Result<ImportResult> readTacos(std::string_view text, const std::string& fileName) {
  return readSimulator(text, fileName, [&](SimulatorReader& reader) { return reader.tacos(text); });
}

Result<std::string> writeSimai(const fabric::Description& description) {
  return guarded([&]() -> Result<std::string> {
    // GPUs first, then switches and NICs, as SimAI numbers them.
    std::map<std::string, std::size_t> numberOf;
    std::size_t gpus = 0;
    for (const fabric::NodeDescription& node : description.nodes) {
      gpus += node.kind == "gpu" ? 1 : 0;
    }
    std::string switches;
    std::size_t nextGpu = 0;
    std::size_t nextSwitch = gpus;
    std::map<std::string, std::size_t> boxes;
    for (const fabric::NodeDescription& node : description.nodes) {
      const bool isGpu = node.kind == "gpu";
      numberOf[node.id] = isGpu ? nextGpu++ : nextSwitch++;
      if (isGpu) {
        ++boxes[node.box];
      } else {
        switches += (switches.empty() ? "" : " ") + std::to_string(numberOf[node.id]);
      }
    }
    const bool areBoxesEqual = !boxes.empty() && std::all_of(boxes.begin(), boxes.end(), [&](const auto& box) {
      return box.second == boxes.begin()->second;
    });
    std::string links;
    std::size_t count = 0;
    for (const fabric::LinkDescription& link : description.links) {
      const auto src = numberOf.find(link.src);
      const auto dst = numberOf.find(link.dst);
      const auto bandwidth = Bandwidth::parse(link.bandwidth);
      if (src == numberOf.end() || dst == numberOf.end() || !bandwidth || !bandwidth->isPositive() || link.count < 1) {
        return Error{ErrorCode::invalidFabric, "a link without ends or bandwidth cannot be written",
                     "coppice-cli check lists what is wrong"};
      }
      if (src == dst) {
        return Error{ErrorCode::invalidFabric, "a link joins " + inQuotes(link.src) + " to itself",
                     "coppice-cli check lists what is wrong"};
      }
      if (!link.duplex) {
        return Error{ErrorCode::badUsage,
                     "SimAI's links are duplex, and the fabric has a one-way link from " + inQuotes(link.src) + " to " +
                         inQuotes(link.dst),
                     "write it as JSON or DOT"};
      }
      const Rational gigabits = bandwidth->gigabytesPerSecond() * Rational(8) * Rational(link.count);
      const auto latency = link.latency ? Rational::parse(*link.latency) : Result<Rational>(Rational(1, 2));
      links += std::to_string(src->second) + " " + std::to_string(dst->second) + " " + toDecimal(gigabits, 9) +
               "Gbps " + toDecimal(latency ? *latency / Rational(1000) : Rational(1, 2000), 9) + "ms 0\n";
      ++count;
    }
    return std::to_string(description.nodes.size()) + " " +
           std::to_string(areBoxesEqual ? boxes.begin()->second : gpus) + " 0 " + std::to_string(nextSwitch - gpus) +
           " " + std::to_string(count) + " GPU\n" + switches + "\n" + links;
  });
}

}  // namespace coppice::io
