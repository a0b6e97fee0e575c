// SPDX-License-Identifier: Apache-2.0
#include "presets/scale_out.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace coppice::presets {
namespace {

const char* const kSimple = "simple";
const char* const kPlanes = "planes";
const char* const kRails = "rails";
const char* const kRailOnly = "rail-only";
const char* const kLeafSpine = "leaf-spine";
const char* const kTwoPlane = "two-plane";
const char* const kThreeTier = "three-tier";

constexpr int kMaxPlanes = 64;
constexpr int kMaxSpines = 1024;
constexpr int kMaxBoxesPerLeaf = 1024;
constexpr int kPlanesOfNic = 2;

std::string nicId(const Port& port) {
  return "b" + std::to_string(port.box) + "nic" + std::to_string(port.number);
}

/// Joins each port, over its NIC node where the network has them, to the switch that `switchOf` names; returns the sum
/// of bandwidths per switch number.
template <typename SwitchOf>
std::map<int, Bandwidth> attach(Builder& builder, const std::vector<Port>& ports, bool withNics,
                                const std::string& prefix, SwitchOf switchOf) {
  std::map<int, Bandwidth> sums;
  for (const Port& port : ports) {
    const int number = switchOf(port);
    const std::string target = prefix + (number < 0 ? std::string() : std::to_string(number));
    if (withNics) {
      const std::string nic = nicId(port);
      builder.link(port.node, nic, port.bandwidth);
      builder.link(nic, target, port.bandwidth);
    } else {
      builder.link(port.node, target, port.bandwidth);
    }
    Bandwidth& sum = sums[number];
    sum = sum + port.bandwidth;
  }
  return sums;
}

void addSwitches(Builder& builder, const std::map<int, Bandwidth>& sums, const std::string& prefix,
                 Capability capability) {
  for (const auto& [number, sum] : sums) {
    builder.relay(prefix + (number < 0 ? std::string() : std::to_string(number)), "", capability);
  }
}

/// `count` switches above those of `sums`, each joined to all of them; an uplink carries its share of what comes from
/// below, divided by the oversubscription. A single switch reaches everything: then there is nothing above it.
void addTier(Builder& builder, const std::map<int, Bandwidth>& sums, const std::string& below, const std::string& above,
             int count, const Rational& oversubscription, Capability capability) {
  if (sums.size() < 2) {
    return;
  }
  builder.expect(0, static_cast<std::int64_t>(sums.size()) * count);
  for (int i = 0; i < count; ++i) {
    builder.relay(above + std::to_string(i), "", capability);
  }
  const Rational share = (oversubscription * Rational(count)).inverse();
  for (const auto& [number, sum] : sums) {
    for (int i = 0; i < count; ++i) {
      builder.link(below + std::to_string(number), above + std::to_string(i), sum * share);
    }
  }
}

/// Units of boxes with one leaf for each GPU number, spines of the unit, and cores above all spines.
void addThreeTiers(Builder& builder, const Arguments& arguments, const std::vector<Port>& ports,
                   Capability capability) {
  const int boxesPerUnit = arguments.integer("boxes_per_unit");
  const int spines = arguments.integer("spines");
  std::map<int, std::vector<Port>> units;
  for (const Port& port : ports) {
    units[port.box / boxesPerUnit].push_back(port);
  }
  std::map<int, Bandwidth> spineSums;
  for (const auto& [unit, members] : units) {
    const std::string prefix = "u" + std::to_string(unit);
    const auto sums = attach(builder, members, false, prefix + "rail", [](const Port& port) { return port.number; });
    addSwitches(builder, sums, prefix + "rail", capability);
    Bandwidth total;
    for (const auto& [number, sum] : sums) {
      total = total + sum;
    }
    builder.expect(0, static_cast<std::int64_t>(sums.size()) * spines);
    const Rational share = (arguments.ratio("oversubscription") * Rational(spines)).inverse();
    for (int spine = 0; spine < spines; ++spine) {
      const int number = unit * spines + spine;
      builder.relay("spine" + std::to_string(number), "", capability);
      for (const auto& [rail, sum] : sums) {
        builder.link(prefix + "rail" + std::to_string(rail), "spine" + std::to_string(number), sum * share);
      }
      spineSums[number] = total * share;
    }
  }
  if (units.size() > 1) {
    addTier(builder, spineSums, "spine", "core", arguments.integer("cores"), arguments.ratio("core_oversubscription"),
            capability);
  }
}

}  // namespace

std::vector<Rule> scaleOutRulesOf(const std::string& network) {
  std::vector<Rule> rules;
  if (network == kPlanes) {
    rules.push_back(
        integerRule("planes", 2, 1, kMaxPlanes, "separate switch planes; the NIC of GPU i is on plane i modulo this"));
  }
  if (network == kLeafSpine || network == kTwoPlane) {
    rules.push_back(integerRule("boxes_per_leaf", 2, 1, kMaxBoxesPerLeaf, "boxes whose NICs share one leaf switch"));
  }
  if (network == kThreeTier) {
    rules.push_back(integerRule("boxes_per_unit", 2, 1, kMaxBoxesPerLeaf,
                                "boxes of one unit, which has a leaf switch for each rail"));
  }
  if (network == kLeafSpine || network == kTwoPlane || network == kThreeTier) {
    rules.push_back(integerRule("spines", 2, 1, kMaxSpines,
                                "spine switches (of each plane, of each unit), each joined to every leaf"));
  }
  if (network == kThreeTier) {
    rules.push_back(integerRule("cores", 2, 1, kMaxSpines, "core switches, each joined to every spine"));
    rules.push_back({.name = "core_oversubscription",
                     .kind = ValueKind::ratio,
                     .defaultText = "1",
                     .description = "bandwidth into a spine from below over that to the cores"});
  }
  if (network == kLeafSpine || network == kRails || network == kTwoPlane || network == kThreeTier) {
    rules.push_back({.name = "oversubscription",
                     .kind = ValueKind::ratio,
                     .defaultText = "1",
                     .description = "bandwidth into a leaf or rail switch from below over that to the spines"});
  }
  return rules;
}

std::vector<Rule> scaleOutRules(const std::string& defaultNetwork) {
  std::vector<Rule> rules = {
      {.name = "network",
       .kind = ValueKind::choice,
       .defaultText = defaultNetwork,
       .description = "how boxes are joined: simple = one switch for all NICs; planes = NIC nodes on separate "
                      "switches by number; rails = one switch per GPU number and a spine; rail-only = no spine; "
                      "leaf-spine = NIC nodes, leaves of some boxes, spines (none above a single leaf); two-plane = "
                      "NIC nodes with half of their bandwidth on each of two leaf-spine networks; three-tier = "
                      "units of boxes with one leaf per GPU number, spines of the unit, cores (none above a single "
                      "unit). Without effect for one box",
       .words = {kSimple, kPlanes, kRails, kRailOnly, kLeafSpine, kTwoPlane, kThreeTier}}};
  for (const char* const network : {kPlanes, kLeafSpine, kRails, kTwoPlane, kThreeTier}) {
    for (Rule rule : scaleOutRulesOf(network)) {
      const auto it =
          std::find_if(rules.begin(), rules.end(), [&](const Rule& other) { return other.name == rule.name; });
      if (it != rules.end()) {
        it->switchedOn.emplace_back(network);
        continue;
      }
      rule.switchedBy = "network";
      rule.switchedOn = {network};
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

Rule sharpRule() {
  return flagRule(
      "sharp",
      "scale-out switches multicast and aggregate (InfiniBand SHARP; Quantum and later, once set up: NVIDIA "
      "SHARP manual, rev. 3.13)");
}

bool hasNicNodes(const std::string& network) {
  return network == kPlanes || network == kLeafSpine || network == kTwoPlane;
}

std::int64_t scaleOutNodes(std::int64_t ports, const std::string& network) {
  return hasNicNodes(network) ? ports : 0;
}

std::int64_t scaleOutLinks(std::int64_t ports, const std::string& network) {
  return network == kTwoPlane ? (1 + kPlanesOfNic) * ports : hasNicNodes(network) ? 2 * ports : ports;
}

void addScaleOut(Builder& builder, const Arguments& arguments, const std::string& network, int boxes,
                 const std::vector<Port>& ports) {
  if (boxes < 2) {
    return;
  }
  const Capability capability = capableIf(arguments.has("sharp") && arguments.flag("sharp"));
  const bool withNics = hasNicNodes(network);
  if (withNics) {
    for (const Port& port : ports) {
      builder.nic(nicId(port), port.boxName);
    }
  }
  if (network == kSimple) {
    const auto sums = attach(builder, ports, withNics, "ib", [](const Port&) { return -1; });
    addSwitches(builder, sums, "ib", capability);
    return;
  }
  if (network == kPlanes) {
    const int planes = arguments.integer("planes");
    const auto sums = attach(builder, ports, withNics, "ib", [&](const Port& port) { return port.number % planes; });
    addSwitches(builder, sums, "ib", capability);
    return;
  }
  if (network == kRails || network == kRailOnly) {
    const auto sums = attach(builder, ports, withNics, "rail", [](const Port& port) { return port.number; });
    addSwitches(builder, sums, "rail", capability);
    if (network == kRails) {
      const std::string spine = builder.relay("spine", "", capability);
      const Rational share = arguments.ratio("oversubscription").inverse();
      for (const auto& [number, sum] : sums) {
        builder.link("rail" + std::to_string(number), spine, sum * share);
      }
    }
    return;
  }
  if (network == kThreeTier) {
    addThreeTiers(builder, arguments, ports, capability);
    return;
  }
  const int boxesPerLeaf = arguments.integer("boxes_per_leaf");
  const int spines = arguments.integer("spines");
  const auto leafOf = [&](const Port& port) { return port.box / boxesPerLeaf; };
  if (network == kTwoPlane) {
    for (const Port& port : ports) {
      builder.link(port.node, nicId(port), port.bandwidth);
    }
    for (int plane = 0; plane < kPlanesOfNic; ++plane) {
      const std::string prefix = "plane" + std::to_string(plane);
      std::map<int, Bandwidth> sums;
      for (const Port& port : ports) {
        const Bandwidth share = port.bandwidth * Rational(1, kPlanesOfNic);
        builder.link(nicId(port), prefix + "leaf" + std::to_string(leafOf(port)), share);
        Bandwidth& sum = sums[leafOf(port)];
        sum = sum + share;
      }
      addSwitches(builder, sums, prefix + "leaf", capability);
      addTier(builder, sums, prefix + "leaf", prefix + "spine", spines, arguments.ratio("oversubscription"),
              capability);
    }
    return;
  }
  const auto sums = attach(builder, ports, withNics, "leaf", leafOf);
  addSwitches(builder, sums, "leaf", capability);
  addTier(builder, sums, "leaf", "spine", spines, arguments.ratio("oversubscription"), capability);
}

}  // namespace coppice::presets
