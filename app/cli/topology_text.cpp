// SPDX-License-Identifier: Apache-2.0
#include "topology_text.hpp"

namespace coppice::cli {

Json toJson(const finder::Construction& construction) {
  Json json = {{"operation", finder::word(construction.operation)}, {"name", finder::nameOf(construction)}};
  if (!construction.numbers.empty()) {
    json["numbers"] = construction.numbers;
  }
  if (!construction.parts.empty()) {
    json["parts"] = Json::array();
    for (const finder::ConstructionPtr& part : construction.parts) {
      json["parts"].push_back(toJson(*part));
    }
  }
  return json;
}

}  // namespace coppice::cli
