// SPDX-License-Identifier: Apache-2.0
#include "io/infragraph.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/disjoint_sets.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "io/limits.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxInfragraphBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxInfragraphLinks = 1000000;

struct Component {
  std::string kind;
  int count = 0;
};

struct DeviceModel {
  std::map<std::string, Component> components;
  std::vector<std::string> order;
  std::map<std::string, std::optional<Bandwidth>> links;
  YAML::Node connections;
  YAML::Node edges;
};

/// One end of a connection: a part of a device, of an instance or of the device itself.
struct End {
  std::string instance;
  int instanceIndex = 0;
  std::string component;
  int index = 0;
};

std::vector<std::string> dotted(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<int> indexOf(std::string_view text) {
  const auto value = numberIn<int>(text);
  return value && *value >= 0 && *value < 1000000 ? value : std::nullopt;
}

class InfraGraphReader {
public:
  explicit InfraGraphReader(const std::string& fileName) : m_fileName(fileName) {}

  ImportResult run(std::string_view text) {
    YAML::Node root = YAML::Load(std::string(text));
    const YAML::Node graph = root["infrastructure"] && root["infrastructure"].IsMap() ? root["infrastructure"] : root;
    for (const YAML::Node& list : {graph["devices"], root["devices"]}) {
      for (const YAML::Node& device : list) {
        readDevice(device);
      }
    }
    readLinks(graph["links"], m_links);
    countByUse(graph);
    for (const YAML::Node& instance : graph["instances"]) {
      addInstance(instance);
    }
    if (m_nodes.empty()) {
      refuse(graph, "the graph has no instances", "list them: - name: server, device: dgx, count: 2");
    }
    for (const YAML::Node& connection : graph["connections"]) {
      const auto parts = dotted(textOf(connection));
      const auto ends = parts.size() == 9 ? endsOf(parts) : std::nullopt;
      if (!ends) {
        refuse(connection, inQuotes(textOf(connection)) + " is not instance.0.component.0.link.instance.0.component.0",
               "name both ends and the link");
      }
      connect(connection, ends->first, ends->second, linkOf(m_links, parts[4], connection), parts[4]);
    }
    for (const YAML::Node& edge : graph["edges"]) {
      connectEdge(edge, m_links, std::nullopt);
    }
    return finish(graph["name"] ? textOf(graph["name"]) : "InfraGraph");
  }

private:
  [[noreturn]] void refuse(const YAML::Node& at, std::string message, std::string fix,
                           ErrorCode code = ErrorCode::badInput) const {
    const int line = at.IsDefined() && !at.Mark().is_null() ? at.Mark().line + 1 : 0;
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, line, line > 0 ? 1 : 0, {}}}};
  }

  std::string textOf(const YAML::Node& node) const {
    if (!node || !node.IsScalar()) {
      refuse(node ? node : YAML::Node(), "a name or a text is expected", "write it as one value");
    }
    return node.Scalar();
  }

  void readLinks(const YAML::Node& list, std::map<std::string, std::optional<Bandwidth>>& links) {
    for (const YAML::Node& link : list) {
      const YAML::Node physical = link["physical"] ? link["physical"] : link;
      links[textOf(link["name"])] = bandwidthOf(physical["bandwidth"]);
    }
  }

  std::optional<Bandwidth> bandwidthOf(const YAML::Node& bandwidth) {
    if (!bandwidth || !bandwidth.IsMap()) {
      return std::nullopt;
    }
    for (const auto& entry : bandwidth) {
      std::string unit = entry.first.Scalar();
      std::erase(unit, '_');
      if (!unit.starts_with("giga")) {
        continue;
      }
      const auto value = Rational::parse(textOf(entry.second));
      if (!value || !value->isPositive()) {
        refuse(entry.second, inQuotes(entry.second.Scalar()) + " is not a bandwidth", "write a number above 0");
      }
      if (unit == "gigabytespersecond") {
        return Bandwidth(*value);
      }
      if (unit == "gigabitspersecond") {
        return Bandwidth(*value / Rational(8));
      }
      if (unit == "gigatransferspersecond") {
        m_hasTransfers = true;
        // 16 lanes, with the line code of the generation.
        return Bandwidth(*value * Rational(2) * (*value < Rational(8) ? Rational(4, 5) : Rational(64, 65)));
      }
      refuse(entry.first, "unit " + inQuotes(entry.first.Scalar()) + " is unknown",
             "use gigabytes_per_second, gigabits_per_second or giga_transfers_per_second");
    }
    return std::nullopt;
  }

  void readDevice(const YAML::Node& device) {
    DeviceModel model;
    for (const YAML::Node& component : device["components"]) {
      const std::string name = textOf(component["name"]);
      std::string kind = component["type"] && component["type"].IsScalar()       ? component["type"].Scalar()
                         : component["choice"] && component["choice"].IsScalar() ? component["choice"].Scalar()
                                                                                 : "custom";
      if (kind == "device") {
        refuse(component, "component " + inQuotes(name) + " is a device inside a device, which is not read",
               "write its components out");
      }
      int count = 0;
      if (component["count"]) {
        count = indexOf(textOf(component["count"])).value_or(-1);
        if (count < 1) {
          refuse(component["count"], inQuotes(component["count"].Scalar()) + " is not a count", "write 1 or more");
        }
      }
      model.order.push_back(name);
      model.components[name] = {kind, count};
    }
    readLinks(device["links"], model.links);
    if (device["connections"]) {
      model.connections.reset(device["connections"]);
    }
    if (device["edges"]) {
      model.edges.reset(device["edges"]);
    }
    m_devices[textOf(device["name"])] = std::move(model);
  }

  /// Older graphs state no counts: as many as the connections name.
  void countByUse(const YAML::Node& graph) {
    const auto use = [](DeviceModel& device, const std::string& component, int index) {
      const auto found = device.components.find(component);
      if (found != device.components.end()) {
        raiseCount(found->second, index);
      }
    };
    for (auto& [name, device] : m_devices) {
      for (const YAML::Node& connection : device.connections) {
        const auto parts = dotted(textOf(connection));
        if (parts.size() == 5) {
          use(device, parts[0], indexOf(parts[1]).value_or(0));
          use(device, parts[3], indexOf(parts[4]).value_or(0));
        }
      }
    }
    std::map<std::string, std::string> deviceOf;
    for (const YAML::Node& instance : graph["instances"]) {
      deviceOf[textOf(instance["name"])] = textOf(instance["device"]);
    }
    for (const YAML::Node& connection : graph["connections"]) {
      const auto parts = dotted(textOf(connection));
      for (const std::size_t at : {std::size_t{0}, std::size_t{5}}) {
        if (parts.size() != 9) {
          continue;
        }
        m_instances[parts[at]] = std::max(m_instances[parts[at]], indexOf(parts[at + 1]).value_or(0) + 1);
        const auto device = m_devices.find(deviceOf[parts[at]]);
        if (device != m_devices.end()) {
          use(device->second, parts[at + 2], indexOf(parts[at + 3]).value_or(0));
        }
      }
    }
  }

  static void raiseCount(Component& component, int index) { component.count = std::max(component.count, index + 1); }

  static std::string idOf(const End& end) {
    return end.instance + "." + std::to_string(end.instanceIndex) + "." + end.component + "." +
           std::to_string(end.index);
  }

  void addInstance(const YAML::Node& instance) {
    const std::string name = textOf(instance["name"]);
    const auto device = m_devices.find(textOf(instance["device"]));
    if (device == m_devices.end()) {
      refuse(instance, "instance " + inQuotes(name) + " is of a device that is not described",
             "add the device " + inQuotes(instance["device"].Scalar()));
    }
    const int stated = instance["count"] ? indexOf(textOf(instance["count"])).value_or(0) : 0;
    const int count = std::max({1, stated, m_instances[name]});
    m_instances[name] = count;
    m_deviceOf[name] = device->first;
    const DeviceModel& model = device->second;
    const bool hasGpu = std::any_of(model.components.begin(), model.components.end(),
                                    [](const auto& entry) { return entry.second.kind == "xpu"; });
    for (int i = 0; i < count; ++i) {
      for (const std::string& component : model.order) {
        const Component& part = model.components.at(component);
        for (int j = 0; j < std::max(part.count, 1); ++j) {
          if (m_nodes.size() >= kMaxNetworkNodes) {
            refuse(instance, "more than " + std::to_string(kMaxNetworkNodes) + " nodes", "give a smaller graph",
                   ErrorCode::limit);
          }
          fabric::NodeDescription node;
          node.id = idOf({name, i, component, j});
          const bool isNic = hasGpu && (part.kind == "nic" || part.kind == "port");
          node.kind = part.kind == "xpu" ? "gpu" : isNic ? "nic" : "switch";
          node.box = hasGpu ? name + std::to_string(i) : std::string();
          m_index[node.id] = static_cast<int>(m_nodes.size());
          m_nodes.push_back(std::move(node));
        }
      }
      connectInside(name, i, model);
    }
  }

  void connectInside(const std::string& name, int i, const DeviceModel& model) {
    for (const YAML::Node& connection : model.connections) {
      const auto parts = dotted(textOf(connection));
      const auto from = parts.size() == 5 ? indexOf(parts[1]) : std::nullopt;
      const auto to = parts.size() == 5 ? indexOf(parts[4]) : std::nullopt;
      if (!from || !to) {
        refuse(connection, inQuotes(textOf(connection)) + " is not component.0.link.component.0",
               "name both ends and the link");
      }
      connect(connection, {name, i, parts[0], *from}, {name, i, parts[3], *to},
              linkOf(model.links, parts[2], connection), parts[2]);
    }
    for (const YAML::Node& edge : model.edges) {
      connectEdge(edge, model.links, std::pair(name, i));
    }
  }

  std::optional<std::pair<End, End>> endsOf(const std::vector<std::string>& parts) const {
    const auto numbers = {indexOf(parts[1]), indexOf(parts[3]), indexOf(parts[6]), indexOf(parts[8])};
    if (std::any_of(numbers.begin(), numbers.end(), [](const auto& number) { return !number; })) {
      return std::nullopt;
    }
    return std::pair(End{parts[0], *indexOf(parts[1]), parts[2], *indexOf(parts[3])},
                     End{parts[5], *indexOf(parts[6]), parts[7], *indexOf(parts[8])});
  }

  std::optional<Bandwidth> linkOf(const std::map<std::string, std::optional<Bandwidth>>& links, const std::string& name,
                                  const YAML::Node& at) const {
    const auto found = links.find(name);
    if (found == links.end()) {
      refuse(at, "link " + inQuotes(name) + " is not described", "add it to links");
    }
    return found->second;
  }

  /// "xpu[0:3]", "xpu[2]", or all of "xpu".
  std::pair<std::string, std::vector<int>> sliceOf(const YAML::Node& at, int count) const {
    const std::string text = textOf(at);
    const std::size_t open = text.find('[');
    int from = 0;
    int to = count;
    if (open != std::string::npos) {
      const std::size_t close = text.find(']', open);
      const std::string inside = close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
      const std::size_t colon = inside.find(':');
      const auto first = indexOf(inside.substr(0, colon));
      const auto last = colon == std::string::npos ? first : indexOf(inside.substr(colon + 1));
      from = first.value_or(0);
      to = colon == std::string::npos ? from + 1 : last.value_or(count);
      if (close == std::string::npos || (colon == std::string::npos && !first) || from > to || to > count) {
        refuse(at, inQuotes(text) + " is not a slice of " + std::to_string(count), "write for example xpu[0:4]");
      }
    }
    std::pair<std::string, std::vector<int>> slice{text.substr(0, open), {}};
    for (int i = from; i < to; ++i) {
      slice.second.push_back(i);
    }
    return slice;
  }

  std::vector<End> endsIn(const YAML::Node& end, const std::optional<std::pair<std::string, int>>& inside) const {
    std::vector<End> ends;
    const auto nameOf = [&](const YAML::Node& node) {
      const std::string text = textOf(node);
      return text.substr(0, text.find('['));
    };
    const std::string instance = inside ? inside->first : nameOf(end["instance"]);
    const auto device = m_deviceOf.find(instance);
    if (device == m_deviceOf.end()) {
      refuse(end, "there is no instance " + inQuotes(instance), "add it to instances");
    }
    const auto& components = m_devices.at(device->second).components;
    const std::string component = nameOf(end["component"]);
    const auto part = components.find(component);
    if (part == components.end()) {
      refuse(end, inQuotes(instance) + " has no component " + inQuotes(component), "name one of its device");
    }
    const std::vector<int> instances =
        inside ? std::vector<int>{inside->second} : sliceOf(end["instance"], m_instances.at(instance)).second;
    const std::vector<int> parts = sliceOf(end["component"], std::max(part->second.count, 1)).second;
    for (const int i : instances) {
      for (const int j : parts) {
        ends.push_back({instance, i, component, j});
      }
    }
    return ends;
  }

  void connectEdge(const YAML::Node& edge, const std::map<std::string, std::optional<Bandwidth>>& links,
                   const std::optional<std::pair<std::string, int>>& inside) {
    if (!edge.IsMap() || !edge["ep1"] || !edge["ep2"] || !edge["link"]) {
      refuse(edge, "an edge without ep1, ep2 and link", "name both ends and the link");
    }
    const std::vector<End> a = endsIn(edge["ep1"], inside);
    const std::vector<End> b = endsIn(edge["ep2"], inside);
    const std::string name = textOf(edge["link"]);
    const auto bandwidth = linkOf(links, name, edge);
    const std::string scheme = edge["scheme"] ? textOf(edge["scheme"]) : "many2many";
    if (scheme == "one2one") {
      if (a.size() != b.size()) {
        refuse(edge, "one2one of " + std::to_string(a.size()) + " and " + std::to_string(b.size()) + " ends",
               "give both ends the same number");
      }
      for (std::size_t i = 0; i < a.size(); ++i) {
        connect(edge, a[i], b[i], bandwidth, name);
      }
    } else if (scheme == "ring") {
      for (std::size_t i = 0; i < a.size() && a.size() > 1; ++i) {
        if (i + 1 < a.size() || a.size() > 2) {
          connect(edge, a[i], a[(i + 1) % a.size()], bandwidth, name);
        }
      }
    } else if (scheme == "many2many") {
      std::set<std::pair<std::string, std::string>> done;
      for (const End& from : a) {
        for (const End& to : b) {
          if (idOf(from) != idOf(to) && done.insert(std::minmax(idOf(from), idOf(to))).second) {
            connect(edge, from, to, bandwidth, name);
          }
        }
      }
    } else {
      refuse(edge["scheme"], "scheme " + inQuotes(scheme) + " is unknown", "use one2one, many2many or ring");
    }
  }

  struct Link {
    int a = 0;
    int b = 0;
    std::optional<Bandwidth> bandwidth;
  };

  void connect(const YAML::Node& at, const End& a, const End& b, const std::optional<Bandwidth>& bandwidth,
               const std::string& name) {
    const auto from = m_index.find(idOf(a));
    const auto to = m_index.find(idOf(b));
    if (from == m_index.end() || to == m_index.end()) {
      refuse(at, inQuotes(idOf(from == m_index.end() ? a : b)) + " is not in the graph",
             "raise its count, or correct it");
    }
    if (from->second == to->second) {
      refuse(at, inQuotes(from->first) + " is connected to itself", "name two ends");
    }
    const auto isGpu = [&](int node) { return m_nodes[static_cast<std::size_t>(node)].kind == "gpu"; };
    if (!bandwidth && (isGpu(from->second) || isGpu(to->second))) {
      refuse(at, "link " + inQuotes(name) + " of a GPU has no bandwidth",
             "add bandwidth: gigabytes_per_second to the link");
    }
    if (m_joined.size() >= kMaxInfragraphLinks) {
      refuse(at, "more than " + std::to_string(kMaxInfragraphLinks) + " links", "give a smaller graph",
             ErrorCode::limit);
    }
    m_joined.push_back({from->second, to->second, bandwidth});
  }

  ImportResult finish(const std::string& name) {
    DisjointSets sets(m_nodes.size());
    bool isMerged = false;
    for (const Link& link : m_joined) {
      if (!link.bandwidth) {
        sets.join(link.a, link.b);
        isMerged = true;
      }
    }
    std::vector<bool> isUsed(m_nodes.size(), false);
    std::map<std::tuple<int, int, std::string>, int> counts;
    std::vector<std::tuple<int, int, std::string>> order;
    for (const Link& link : m_joined) {
      const int a = sets.find(link.a);
      const int b = sets.find(link.b);
      if (!link.bandwidth || a == b) {
        continue;
      }
      isUsed[static_cast<std::size_t>(a)] = true;
      isUsed[static_cast<std::size_t>(b)] = true;
      const std::tuple<int, int, std::string> key{std::min(a, b), std::max(a, b), toExactText(*link.bandwidth)};
      if (++counts[key] == 1) {
        order.push_back(key);
      }
    }
    ImportResult result;
    result.description.name = name;
    for (std::size_t i = 0; i < m_nodes.size(); ++i) {
      if (isUsed[i] || m_nodes[i].kind == "gpu") {
        result.description.nodes.push_back(m_nodes[i]);
      }
    }
    for (const auto& key : order) {
      const auto& [a, b, bandwidth] = key;
      result.description.links.push_back({m_nodes[static_cast<std::size_t>(a)].id,
                                          m_nodes[static_cast<std::size_t>(b)].id, bandwidth, true, counts[key]});
    }
    const auto tell = [&](std::string text, std::string fix) {
      result.findings.push_back(
          {Severity::note, ErrorCode::badInput, std::move(text), std::move(fix), Place{m_fileName, 0, 0, {}}});
    };
    if (isMerged) {
      tell("parts that links without bandwidth join are one node each", "give these links their bandwidths");
    }
    if (m_hasTransfers) {
      tell("transfers per second count as a PCIe link of 16 lanes", "write gigabytes_per_second if this is wrong");
    }
    return result;
  }

  const std::string& m_fileName;
  std::map<std::string, DeviceModel> m_devices;
  std::map<std::string, std::optional<Bandwidth>> m_links;
  std::map<std::string, int> m_instances;
  std::map<std::string, std::string> m_deviceOf;
  std::vector<fabric::NodeDescription> m_nodes;
  std::map<std::string, int> m_index;
  std::vector<Link> m_joined;
  bool m_hasTransfers = false;
};

}  // namespace

bool looksLikeInfraGraph(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return has("devices") && has("instances") && has("components") && (has("connections") || has("edges"));
}

Result<ImportResult> readInfraGraph(std::string_view text, const std::string& fileName) {
  const Place where{fileName, 0, 0, {}};
  if (text.size() > kMaxInfragraphBytes) {
    return Error{ErrorCode::limit, "the file is larger than 16 MiB", "give a smaller graph", where};
  }
  return guarded(
      [&]() -> Result<ImportResult> {
        try {
          return InfraGraphReader(fileName).run(text);
        } catch (const YAML::Exception& exception) {
          return Error{ErrorCode::badInput, "not valid YAML: " + exception.msg, "correct the file",
                       Place{fileName, exception.mark.is_null() ? 0 : exception.mark.line + 1, 0, {}}};
        }
      },
      {.overflowFix = "use smaller numbers",
       .memory = "the graph does not fit into memory",
       .memoryFix = "give a smaller one",
       .where = where});
}

}  // namespace coppice::io
