// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coppice/test_paths.hpp"
#include "schedule/concurrent.hpp"
#include "support/preset_fabrics.hpp"

/// tests/data/reference/groups.json.
namespace coppice::test {

inline const nlohmann::json& referenceTable() {
  static const nlohmann::json kTable = [] {
    std::ifstream file(std::string(COPPICE_TEST_DATA) + "/reference/groups.json");
    return nlohmann::json::parse(file);
  }();
  return kTable;
}

inline fabric::Fabric fabricOf(const nlohmann::json& json) {
  fabric::Description description;
  for (const auto& node : json.at("nodes")) {
    fabric::NodeDescription of;
    of.id = node.at("id");
    of.kind = node.at("kind");
    of.box = node.value("box", "");
    description.nodes.push_back(of);
  }
  for (const auto& link : json.at("links")) {
    fabric::LinkDescription of;
    of.src = link.at("src");
    of.dst = link.at("dst");
    of.bandwidth = link.at("bandwidth").dump();
    description.links.push_back(of);
  }
  return test::built(description);
}

inline schedule::ConcurrentDemand demandOf(const nlohmann::json& entry, int gpus) {
  schedule::ConcurrentDemand demand;
  for (const auto& group : entry.at("groups")) {
    schedule::ConcurrentGroup of;
    of.ranks = group.at("ranks").get<std::vector<int>>();
    of.collective = *parseCollective(group.at("collective").get<std::string>());
    of.weight = Rational(group.value("weight", 1));
    demand.groups.push_back(of);
  }
  if (entry.at("relay").get<bool>()) {
    demand.relays.assign(static_cast<std::size_t>(gpus), true);
  }
  return demand;
}

}  // namespace coppice::test
