// SPDX-License-Identifier: Apache-2.0
#include "io/taccl_origin.hpp"

#include <nlohmann/json.hpp>

namespace coppice::io {
namespace {

using OriginJson = nlohmann::ordered_json;

constexpr const char* kKey = "taccl";

}  // namespace

std::string writeTacclOrigin(const TacclOrigin& origin) {
  const OriginJson all = {{kKey,
                           {{"sketch", origin.sketch},
                            {"topology", origin.topology},
                            {"type", origin.type},
                            {"nodes", origin.nodes},
                            {"time_unit_us", origin.timeUnit},
                            {"chunk_bytes", origin.chunkBytes},
                            {"truncates", origin.truncates}}}};
  return all.dump(-1, ' ', false, OriginJson::error_handler_t::replace);
}

Result<std::optional<TacclOrigin>> readTacclOrigin(const std::string& extra) {
  const OriginJson all = OriginJson::parse(extra, nullptr, false);
  if (all.is_discarded() || !all.is_object() || !all.contains(kKey)) {
    return std::optional<TacclOrigin>();
  }
  const OriginJson& own = all[kKey];
  const auto text = [&](const char* key) { return own.is_object() && own.contains(key) && own[key].is_string(); };
  const auto number = [&](const char* key) { return own.contains(key) && own[key].is_number_integer(); };
  if (!text("sketch") || !text("topology") || !text("type") || !text("time_unit_us") || !number("nodes") ||
      !number("chunk_bytes") || !own.contains("truncates") || !own["truncates"].is_boolean()) {
    return Error{ErrorCode::badInput,
                 "the sketch that the fabric was made of is not complete",
                 "remove the key \"taccl\"; a sketch is proposed then",
                 {.element = {RefKind::key, "taccl"}}};
  }
  TacclOrigin origin;
  origin.sketch = own["sketch"].get<std::string>();
  origin.topology = own["topology"].get<std::string>();
  origin.type = own["type"].get<std::string>();
  origin.nodes = own["nodes"].get<int>();
  origin.timeUnit = own["time_unit_us"].get<std::string>();
  origin.chunkBytes = own["chunk_bytes"].get<std::int64_t>();
  origin.truncates = own["truncates"].get<bool>();
  return std::optional(std::move(origin));
}

}  // namespace coppice::io
