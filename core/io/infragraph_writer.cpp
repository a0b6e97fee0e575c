// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "io/infragraph.hpp"

namespace coppice::io {
namespace {

constexpr std::size_t kMaxConnections = 1'000'000;
constexpr std::array<const char*, 3> kComponentOf = {"xpu", "nic", "switch"};  ///< by fabric::NodeKind

/// A part of the fabric that becomes an instance: a box, or a node that is in none.
struct Part {
  std::vector<std::size_t> nodes;
  std::vector<std::string> connections;  ///< inside, "xpu.0.link0.switch.0"
};

struct PlaceInPart {
  std::size_t part = 0;
  std::string component;
  std::size_t index = 0;  ///< among those of its component
};

class InfraGraphWriter {
public:
  explicit InfraGraphWriter(const fabric::Description& description) : m_description(description) {}

  std::string run() {
    makeParts();
    for (const fabric::LinkDescription& link : m_description.links) {
      addLink(link);
    }
    makeDevices();
    return emit();
  }

private:
  /// GPUs, NICs and switches of a box, each kind in the order of ranks or of the file.
  void makeParts() {
    std::map<std::string, std::size_t> partOf;
    std::vector<std::size_t> order(m_description.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return m_description.nodes[a].rank.value_or(0) < m_description.nodes[b].rank.value_or(0);
    });
    // GPUs first, so that parts are in the order of their ranks.
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t node) { return m_description.nodes[node].kind == "gpu"; });
    std::map<std::pair<std::size_t, std::string>, std::size_t> counts;
    for (const std::size_t node : order) {
      const fabric::NodeDescription& one = m_description.nodes[node];
      const auto kind = fabric::parseNodeKind(one.kind);
      if (!kind) {
        refuse("node " + inQuotes(one.id) + " has the unknown kind " + inQuotes(one.kind));
      }
      const std::string box = one.box.substr(0, one.box.find('/'));
      const std::string key = box.empty() ? "n" + one.id : "b" + box;
      const auto [known, isNew] = partOf.try_emplace(key, m_parts.size());
      if (isNew) {
        m_parts.emplace_back();
      }
      const std::string component = kComponentOf[static_cast<std::size_t>(*kind)];
      m_parts[known->second].nodes.push_back(node);
      if (!m_places.try_emplace(one.id, PlaceInPart{known->second, component, counts[{known->second, component}]++})
               .second) {
        refuse("two nodes are called " + inQuotes(one.id));
      }
    }
  }

  void addLink(const fabric::LinkDescription& link) {
    const auto a = m_places.find(link.src);
    const auto b = m_places.find(link.dst);
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (a == m_places.end() || b == m_places.end() || !bandwidth || !bandwidth->isPositive() || link.count < 1) {
      refuse("a link without ends or bandwidth cannot be written");
    }
    if (link.src == link.dst) {
      refuse("a link joins " + inQuotes(link.src) + " to itself");
    }
    if (!link.duplex) {
      throw Failure{Error{ErrorCode::badUsage,
                          "InfraGraph's links are duplex, and the fabric has a one-way link from " +
                              inQuotes(link.src) + " to " + inQuotes(link.dst),
                          "write it as JSON or DOT"}};
    }
    m_connectionCount += static_cast<std::size_t>(link.count);
    if (m_connectionCount > kMaxConnections) {
      throw Failure{
          Error{ErrorCode::limit, "more than " + std::to_string(kMaxConnections) + " connections", "write it as JSON"}};
    }
    const std::string name = nameOf(toDecimal(*bandwidth, 9));
    const auto text = [](const PlaceInPart& place) { return place.component + "." + std::to_string(place.index); };
    for (int i = 0; i < link.count; ++i) {
      if (a->second.part == b->second.part) {
        m_parts[a->second.part].connections.push_back(text(a->second) + "." + name + "." + text(b->second));
      } else {
        m_between.push_back({a->second, name, b->second});
      }
    }
  }

  std::string nameOf(const std::string& bandwidth) {
    const auto [known, isNew] = m_linkNames.try_emplace(bandwidth, "link" + std::to_string(m_linkNames.size()));
    if (isNew) {
      m_linkOrder.push_back(bandwidth);
    }
    return known->second;
  }

  [[nodiscard]] std::array<int, 3> countsOf(const Part& part) const {
    std::array<int, 3> counts{};
    for (const std::size_t node : part.nodes) {
      ++counts[static_cast<std::size_t>(*fabric::parseNodeKind(m_description.nodes[node].kind))];
    }
    return counts;
  }

  /// Parts that look the same are instances of one device.
  void makeDevices() {
    std::map<std::pair<std::array<int, 3>, std::vector<std::string>>, std::size_t> known;
    for (const Part& part : m_parts) {
      const auto [device, isNew] = known.try_emplace({countsOf(part), part.connections}, m_devices.size());
      if (isNew) {
        m_devices.push_back({{}, countsOf(part), &part.connections, 0});
      }
      Device& one = m_devices[device->second];
      m_instanceOf.push_back({device->second, one.instances++});
    }
    std::map<std::string, int> names;
    for (Device& device : m_devices) {
      const std::string base = device.counts[0] > 0 ? "server" : device.counts[1] > 0 ? "adapter" : "switch";
      const int number = names[base]++;
      device.name = base + (number == 0 ? std::string() : "_" + std::to_string(number));
    }
  }

  [[nodiscard]] std::string emit() const {
    YAML::Emitter out;
    out << YAML::BeginMap << YAML::Key << "infrastructure" << YAML::Value << YAML::BeginMap;
    out << YAML::Key << "name" << YAML::Value << YAML::DoubleQuoted
        << (m_description.name.empty() ? "fabric" : m_description.name);
    out << YAML::Key << "devices" << YAML::Value << YAML::BeginSeq;
    for (const Device& device : m_devices) {
      out << YAML::BeginMap << YAML::Key << "name" << YAML::Value << device.name;
      out << YAML::Key << "components" << YAML::Value << YAML::BeginSeq;
      for (std::size_t kind = 0; kind < kComponentOf.size(); ++kind) {
        if (device.counts[kind] > 0) {
          out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << kComponentOf[kind] << YAML::Key
              << "type" << YAML::Value << kComponentOf[kind] << YAML::Key << "count" << YAML::Value
              << device.counts[kind] << YAML::EndMap;
        }
      }
      out << YAML::EndSeq;
      if (!device.connections->empty()) {
        emitLinks(out);
        out << YAML::Key << "connections" << YAML::Value << *device.connections;
      }
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
    if (!m_between.empty()) {
      emitLinks(out);
    }
    out << YAML::Key << "instances" << YAML::Value << YAML::BeginSeq;
    for (const Device& device : m_devices) {
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << device.name << YAML::Key << "device"
          << YAML::Value << device.name << YAML::Key << "count" << YAML::Value << device.instances << YAML::EndMap;
    }
    out << YAML::EndSeq;
    if (!m_between.empty()) {
      out << YAML::Key << "connections" << YAML::Value << YAML::BeginSeq;
      for (const Between& one : m_between) {
        out << endOf(one.a) + "." + one.link + "." + endOf(one.b);
      }
      out << YAML::EndSeq;
    }
    out << YAML::EndMap << YAML::EndMap;
    return std::string(out.c_str(), out.size()) + "\n";
  }

  void emitLinks(YAML::Emitter& out) const {
    out << YAML::Key << "links" << YAML::Value << YAML::BeginSeq;
    for (const std::string& bandwidth : m_linkOrder) {
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << m_linkNames.at(bandwidth)
          << YAML::Key << "bandwidth" << YAML::Value << YAML::BeginMap << YAML::Key << "choice" << YAML::Value
          << "gigabytes_per_second" << YAML::Key << "gigabytes_per_second" << YAML::Value << bandwidth << YAML::EndMap
          << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }

  [[nodiscard]] std::string endOf(const PlaceInPart& place) const {
    const auto& [device, number] = m_instanceOf[place.part];
    return m_devices[device].name + "." + std::to_string(number) + "." + place.component + "." +
           std::to_string(place.index);
  }

  [[noreturn]] static void refuse(std::string message) {
    throw Failure{Error{ErrorCode::invalidFabric, std::move(message), "coppice-cli check lists what is wrong"}};
  }

  struct Device {
    std::string name;
    std::array<int, 3> counts;
    const std::vector<std::string>* connections;
    int instances;
  };
  struct Between {
    PlaceInPart a;
    std::string link;
    PlaceInPart b;
  };

  const fabric::Description& m_description;
  std::vector<Part> m_parts;
  std::map<std::string, PlaceInPart> m_places;
  std::map<std::string, std::string> m_linkNames;
  std::vector<std::string> m_linkOrder;
  std::vector<Between> m_between;
  std::vector<Device> m_devices;
  std::vector<std::pair<std::size_t, int>> m_instanceOf;  ///< by part
  std::size_t m_connectionCount = 0;
};

}  // namespace

Result<std::string> writeInfraGraph(const fabric::Description& description) {
  return guarded([&]() -> Result<std::string> { return InfraGraphWriter(description).run(); },
                 {.overflowFix = "use smaller numbers",
                  .memory = "the graph does not fit into memory",
                  .memoryFix = "write it as JSON"});
}

}  // namespace coppice::io
