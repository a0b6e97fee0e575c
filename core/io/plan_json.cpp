// SPDX-License-Identifier: Apache-2.0
#include "io/plan_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace coppice::io {

std::string planJson(const PlanHead& head, std::span<const PlanEntry> entries) {
  using Json = nlohmann::ordered_json;
  Json programs = Json::array();
  for (const PlanEntry& entry : entries) {
    programs.push_back({{"method", entry.method},
                        {"first", entry.first},
                        {"last", entry.last},
                        {"program", entry.program},
                        {"schedule_file", entry.schedule}});
  }
  const Json plan = {{"format", "coppice-plan"},       {"version", 1},
                     {"fabric", head.fabric},          {"digest", head.digest},
                     {"collective", head.collective},  {"target", head.target},
                     {"programs", std::move(programs)}};
  return plan.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace coppice::io
