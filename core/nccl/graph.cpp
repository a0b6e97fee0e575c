// SPDX-License-Identifier: Apache-2.0
#include "nccl/graph.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <set>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/xml_text.hpp"

namespace coppice::nccl {
namespace {

constexpr std::size_t kMaxGraphBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxChannels = 128;
constexpr std::size_t kMaxDevices = 4096;
constexpr int kMaxInteger = 1 << 20;

class GraphReader {
public:
  GraphReader(std::string_view text, const std::string& fileName) : m_xml(text, fileName, {kMaxGraphBytes, "give NCCL's graph file of one node (NCCL_GRAPH_DUMP_FILE)",
                               "correct the file, or dump it again"}) {}

  GraphSet run() {
    const pugi::xml_node root = m_xml.parse();
    if (std::string_view(root.name()) != "graphs") {
      m_xml.refuseAt(0, "there is no <graphs>", "give NCCL's graph file (NCCL_GRAPH_DUMP_FILE)");
    }
    GraphSet set;
    for (const pugi::xml_node node : root.children("graph")) {
      set.graphs.push_back(graphOf(node));
    }
    if (set.graphs.empty()) {
      m_xml.refuse(root, "there is no <graph>", "give NCCL's graph file (NCCL_GRAPH_DUMP_FILE)");
    }
    return set;
  }

private:
  [[nodiscard]] std::string text(pugi::xml_node node, const char* name) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    if (!attribute) {
      m_xml.refuse(node, "<" + std::string(node.name()) + "> has no attribute " + name,
             "NCCL makes no communicator without it; write it as the dump of your version has it");
    }
    const std::string value = attribute.value();
    if (value.size() > 64 || value.find_first_of("<>&\"'") != std::string::npos) {
      m_xml.refuse(node, "attribute " + std::string(name) + "=" + inQuotes(value) + " is no word", "write it as NCCL does");
    }
    return value;
  }

  [[nodiscard]] std::uint64_t integer(pugi::xml_node node, const char* name, std::uint64_t max) const {
    const std::string value = text(node, name);
    std::string_view digits = value;
    const bool isHex = digits.starts_with("0x");
    digits.remove_prefix(isHex ? 2 : 0);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, isHex ? 16 : 10);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || number > max) {
      m_xml.refuse(node, "attribute " + std::string(name) + "=" + inQuotes(value) + " is not a whole number in range",
             "write for example " + std::string(name) + "=\"1\"");
    }
    return number;
  }

  [[nodiscard]] int small(pugi::xml_node node, const char* name) const {
    return static_cast<int>(integer(node, name, kMaxInteger));
  }

  [[nodiscard]] std::string speed(pugi::xml_node node, const char* name) const {
    std::string value = text(node, name);
    const auto number = Rational::parse(value);
    if (!number || *number < Rational(0)) {
      m_xml.refuse(node, "attribute " + std::string(name) + "=" + inQuotes(value) + " is no speed", "write GB/s, as 20");
    }
    return value;
  }

  [[nodiscard]] Graph graphOf(pugi::xml_node node) const {
    Graph graph;
    graph.id = small(node, "id");
    graph.pattern = small(node, "pattern");
    graph.crossNic = small(node, "crossnic");
    graph.channelCount = small(node, "nchannels");
    graph.speedIntra = speed(node, "speedintra");
    graph.speedInter = speed(node, "speedinter");
    if (node.attribute("latencyinter")) {
      graph.latencyInter = speed(node, "latencyinter");
    }
    graph.typeIntra = text(node, "typeintra");
    graph.typeInter = text(node, "typeinter");
    graph.sameChannels = small(node, "samechannels");
    std::size_t devices = 0;
    for (const pugi::xml_node child : node.children("channel")) {
      graph.channels.push_back(channelOf(child));
      devices += graph.channels.back().devices.size();
      if (graph.channels.size() > kMaxChannels || devices > kMaxDevices) {
        m_xml.refuse(child, "a graph has more than 128 channels or 4,096 GPUs", "NCCL has room for 32 channels",
               ErrorCode::limit);
      }
    }
    return graph;
  }

  [[nodiscard]] GraphChannel channelOf(pugi::xml_node node) const {
    GraphChannel channel;
    bool hasRank = false;
    for (const pugi::xml_node child : node.children()) {
      const std::string_view name = child.name();
      if (name == "net") {
        channel.nets.push_back(integer(child, "dev", ~std::uint64_t{0}));
      } else if (name == "gpu") {
        channel.devices.push_back(small(child, "dev"));
        channel.ranks.emplace_back();
        if (child.attribute("rank")) {
          channel.ranks.back() = small(child, "rank");
          hasRank = true;
        }
      }
      if (channel.nets.size() > 2) {
        m_xml.refuse(child, "a channel has more than two NICs", "write one before and one behind the GPUs");
      }
    }
    if (!hasRank) {
      channel.ranks.clear();
    }
    return channel;
  }

  io::XmlText m_xml;
};

std::string hexOf(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

const Graph* GraphSet::find(int id) const {
  const auto found = std::find_if(graphs.begin(), graphs.end(), [&](const Graph& graph) { return graph.id == id; });
  return found == graphs.end() ? nullptr : &*found;
}

bool isGraphFile(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<' &&
         text.substr(0, std::min<std::size_t>(text.size(), 4096)).find("<graphs") != std::string_view::npos;
}

Result<GraphSet> readGraphs(std::string_view text, const std::string& fileName) {
  return guarded([&]() -> Result<GraphSet> { return GraphReader(text, fileName).run(); },
                 {.memory = "the graph file does not fit into memory", .where = {.file = fileName}});
}

std::string writeGraphs(const GraphSet& set) {
  std::string out = "<graphs version=\"1\">\n";
  const auto number = [](int value) { return std::to_string(value); };
  for (const Graph& graph : set.graphs) {
    out += "  <graph id=\"" + number(graph.id) + "\" pattern=\"" + number(graph.pattern) + "\" crossnic=\"" +
           number(graph.crossNic) + "\" nchannels=\"" + number(graph.channelCount) + "\" speedintra=\"" +
           graph.speedIntra + "\" speedinter=\"" + graph.speedInter + "\"";
    if (graph.latencyInter) {
      out += " latencyinter=\"" + *graph.latencyInter + "\"";
    }
    out += " typeintra=\"" + graph.typeIntra + "\" typeinter=\"" + graph.typeInter + "\" samechannels=\"" +
           number(graph.sameChannels) + "\"";
    if (graph.channels.empty()) {
      out += "/>\n";
      continue;
    }
    out += ">\n";
    for (const GraphChannel& channel : graph.channels) {
      out += "    <channel>\n";
      const auto net = [&](std::uint64_t device) { out += "      <net dev=\"" + hexOf(device) + "\"/>\n"; };
      if (!channel.nets.empty()) {
        net(channel.nets.front());
      }
      for (std::size_t i = 0; i < channel.devices.size(); ++i) {
        out += "      <gpu dev=\"" + number(channel.devices[i]) + "\"";
        if (i < channel.ranks.size() && channel.ranks[i]) {
          out += " rank=\"" + number(*channel.ranks[i]) + "\"";
        }
        out += "/>\n";
      }
      if (channel.nets.size() > 1) {
        net(channel.nets.back());
      }
      out += "    </channel>\n";
    }
    out += "  </graph>\n";
  }
  return out + "</graphs>\n";
}

std::vector<Finding> checkGraphs(const GraphSet& set, const std::vector<int>& devices, bool isAlone,
                                 const std::string& fileName) {
  std::vector<Finding> findings;
  const auto find = [&](Severity severity, std::string text, std::string fix) {
    findings.push_back({severity, ErrorCode::badInput, std::move(text), std::move(fix), {.file = fileName}});
  };
  for (const int id : {kRingGraph, kTreeGraph}) {
    if (set.find(id) == nullptr) {
      find(Severity::warning, "graph " + std::to_string(id) + " is absent: NCCL searches it",
           "write graphs 0 and 1 with as many channels, because the smaller count holds for both");
    }
  }
  for (const Graph& graph : set.graphs) {
    const std::string name = "graph " + std::to_string(graph.id);
    if (graph.id > kTreeGraph) {
      continue;  // one head a channel, and others
    }
    const auto written = static_cast<int>(graph.channels.size());
    if (graph.channelCount > written) {
      find(Severity::error,
           name + " states " + std::to_string(graph.channelCount) + " channels and has " + std::to_string(written),
           "write nchannels=\"" + std::to_string(written) + "\"");
    } else if (graph.channelCount < written) {
      find(Severity::warning,
           name + " states " + std::to_string(graph.channelCount) + " channels: the rest of the " +
               std::to_string(written) + " is not used",
           "write nchannels=\"" + std::to_string(written) + "\"");
    }
    if (graph.channelCount > 32) {
      find(Severity::error, name + " has more than 32 channels, for which NCCL has no room", "write fewer channels");
    }
    if (graph.id == kRingGraph && graph.pattern != kRing) {
      find(Severity::error, "graph 0 has pattern " + std::to_string(graph.pattern), "a ring has pattern 4");
    }
    for (std::size_t i = 0; i < graph.channels.size(); ++i) {
      const GraphChannel& channel = graph.channels[i];
      const std::string where = name + ", channel " + std::to_string(i) + ": ";
      std::set<int> seen;
      for (const int device : channel.devices) {
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
          find(Severity::error, where + "the node has no GPU with dev " + std::to_string(device),
               "write the NVML index of each GPU");
        } else if (!seen.insert(device).second) {
          find(Severity::error, where + "GPU " + std::to_string(device) + " is there twice", "write each GPU once");
        }
      }
      if (seen.size() < devices.size()) {
        find(Severity::error,
             where + "only " + std::to_string(seen.size()) + " of " + std::to_string(devices.size()) + " GPUs",
             "write all GPUs of the node");
      }
      if (!isAlone && channel.nets.size() < 2) {
        find(Severity::warning, where + "no NIC at an end: NCCL takes NIC 0", "write <net> before and behind the GPUs");
      }
      if (!channel.ranks.empty()) {
        find(Severity::warning, where + "rank ties the file to one node",
             "leave rank out, so that it serves all nodes");
      }
    }
  }
  return findings;
}

}  // namespace coppice::nccl
