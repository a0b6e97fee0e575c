// SPDX-License-Identifier: Apache-2.0
#include "workflow/network_variants.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/comma_list.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "presets/presets.hpp"
#include "workflow/options.hpp"

namespace coppice::workflow {
namespace {

constexpr int kMaxSpines = 256;

std::vector<int> divisorsOf(int number) {
  std::vector<int> divisors;
  for (int i = 1; i <= std::min(number, kMaxSpines); ++i) {
    if (number % i == 0) {
      divisors.push_back(i);
    }
  }
  return divisors;
}

std::string ratioText(const Rational& ratio) {
  return toExactText(ratio) + ":1";
}

const presets::Parameter* parameterOf(const presets::Preset& preset, std::string_view name) {
  const auto found = std::find_if(preset.parameters.begin(), preset.parameters.end(),
                                  [&](const presets::Parameter& each) { return each.name == name; });
  return found == preset.parameters.end() ? nullptr : &*found;
}

class Lister {
public:
  explicit Lister(const VariantRequest& request) : m_request(request) {}

  std::vector<Variant> run() {
    readBox();
    for (const Bandwidth& nic : m_request.nics.empty() ? std::vector<Bandwidth>{Bandwidth()} : m_request.nics) {
      m_nic = nic;
      for (const std::string& network : networks()) {
        list(network);
      }
    }
    return std::move(m_variants);
  }

private:
  using Arguments = std::map<std::string, std::string>;

  void readBox() {
    const presets::Preset* preset = presets::find(m_request.box);
    if (preset == nullptr || parameterOf(*preset, "network") == nullptr) {
      const std::string names = commaList(presetsWithNetwork());
      throw Failure{optionError("box", inQuotes(m_request.box) + " is not a preset of boxes that a network joins",
                                "use one of " + names)};
    }
    m_countName = parameterOf(*preset, "racks") != nullptr ? "racks" : "boxes";
    Arguments one = m_request.arguments;
    one[m_countName] = "1";
    const auto description = presets::make(m_request.box, one);
    if (!description) {
      throw Failure{description.error()};
    }
    m_gpusOfBox =
        static_cast<int>(std::count_if(description->nodes.begin(), description->nodes.end(),
                                       [](const fabric::NodeDescription& node) { return node.kind == "gpu"; }));
    m_boxes = m_request.gpus / m_gpusOfBox;
    if (m_boxes < 2 || m_request.gpus % m_gpusOfBox != 0) {
      throw Failure{optionError(
          "gpus", std::to_string(m_request.gpus) + " is not two or more boxes of " + counted(m_gpusOfBox, "GPU"),
          "give a multiple of " + std::to_string(m_gpusOfBox) + " from " + std::to_string(2 * m_gpusOfBox))};
    }
  }

  [[nodiscard]] std::vector<std::string> networks() const {
    static const std::vector<std::string> kAll = {"simple",     "planes",    "rail-only", "rails",
                                                  "leaf-spine", "two-plane", "three-tier"};
    for (const std::string& network : m_request.networks) {
      if (std::find(kAll.begin(), kAll.end(), network) == kAll.end()) {
        const std::string names = commaList(kAll);
        throw Failure{optionError("network", inQuotes(network) + " is not a network", "use " + names)};
      }
    }
    return m_request.networks.empty() ? kAll : m_request.networks;
  }

  /// @param group what decides the bounds; @param rest the numbers of switches that share
  void add(const std::string& group, const std::string& rest, Arguments arguments) {
    const std::string nic = m_nic.isZero() ? std::string() : ", NICs of " + toExactText(m_nic) + " GB/s";
    arguments.insert(m_request.arguments.begin(), m_request.arguments.end());
    arguments[m_countName] = std::to_string(m_boxes);
    if (!m_nic.isZero()) {
      arguments["nic"] = toExactText(m_nic);
    }
    m_variants.push_back({group + rest + nic, group + nic, std::move(arguments)});
  }

  void list(const std::string& network) {
    const Arguments base{{"network", network}};
    if (network == "simple" || network == "rail-only") {
      add(network, "", base);
    } else if (network == "planes") {
      for (const int planes : m_request.planes) {
        Arguments arguments = base;
        arguments["planes"] = std::to_string(planes);
        add(counted(planes, "plane"), "", arguments);
      }
    } else {
      for (const Rational& ratio : m_request.oversubscriptions) {
        Arguments arguments = base;
        arguments["oversubscription"] = toExactText(ratio);
        const std::string group = network + " " + ratioText(ratio);
        if (network == "rails") {
          add(group, "", arguments);
        } else if (network == "three-tier") {
          listUnits(group, arguments);
        } else {
          listLeaves(network, group, arguments);
        }
      }
    }
  }

  void listLeaves(const std::string& network, const std::string& group, Arguments arguments) {
    for (const int boxes : divisorsOf(m_boxes)) {
      // One leaf has no spines; with one plane it is the network "simple".
      const bool isOneLeaf = boxes == m_boxes;
      if (isOneLeaf && (network == "leaf-spine" || arguments["oversubscription"] != "1")) {
        continue;
      }
      arguments["boxes_per_leaf"] = std::to_string(boxes);
      const std::string grouped = group + ", " + counted(boxes, "box", "boxes") + " per leaf";
      for (const int spines : isOneLeaf ? std::vector<int>{1} : divisorsOf(boxes * m_gpusOfBox)) {
        arguments["spines"] = std::to_string(spines);
        add(grouped, isOneLeaf ? std::string() : ", " + counted(spines, "spine"), arguments);
      }
    }
  }

  void listUnits(const std::string& group, Arguments arguments) {
    for (const int boxes : divisorsOf(m_boxes)) {
      if (boxes == 1 || boxes == m_boxes) {
        continue;  // a leaf of one box has nothing to share; a single unit has no cores
      }
      arguments["boxes_per_unit"] = std::to_string(boxes);
      for (const Rational& taper : m_request.tapers) {
        arguments["core_oversubscription"] = toExactText(taper);
        const std::string grouped =
            group + ", " + counted(boxes, "box", "boxes") + " per unit, cores " + ratioText(taper);
        for (const int spines : divisorsOf(boxes)) {
          arguments["spines"] = std::to_string(spines);
          for (const int cores : divisorsOf(m_gpusOfBox * boxes / spines)) {
            arguments["cores"] = std::to_string(cores);
            add(grouped, ", " + counted(spines, "spine") + " per unit, " + counted(cores, "core"), arguments);
          }
        }
      }
    }
  }

  const VariantRequest& m_request;
  std::string m_countName;
  int m_gpusOfBox = 0;
  int m_boxes = 0;
  Bandwidth m_nic;
  std::vector<Variant> m_variants;
};

}  // namespace

std::vector<std::string> presetsWithNetwork() {
  std::vector<std::string> names;
  for (const presets::Preset& each : presets::catalogue()) {
    if (parameterOf(each, "network") != nullptr) {
      names.push_back(each.name);
    }
  }
  return names;
}

Result<std::vector<Variant>> networkVariants(const VariantRequest& request) {
  return coppice::guarded([&] { return Lister(request).run(); });
}

}  // namespace coppice::workflow
